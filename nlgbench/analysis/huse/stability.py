"""How HUSE settles as outputs and annotators are added, and how many are needed."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench import tables
from nlgbench.analysis.huse.features import compared
from nlgbench.analysis.huse.replicates import annotator_replicates, output_replicates
from nlgbench.analysis.huse.scores import SCORES, huse, huse_of_checked
from nlgbench.inference import half_samples, interval
from nlgbench.names import known
from nlgbench.text import check_n

_DRAWS = 20  # of annotators, whose mean is compared


def stability_curve(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    over: Literal["outputs", "annotators"] = "outputs",
    sizes: Sequence[int],
    n_resamples: int = 200,
    level: float = 0.9,
    seed: int | np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Score subsamples of growing size: Figure 5.

    Parameters
    ----------
    outputs, logprobs, judgments, system
        As in `huse`.
    over : {"outputs", "annotators"}
        What is drawn, without replacement.
    sizes : sequence of int
        Outputs in all, both classes in their shares of the full sample; or annotators of each
        ``group_id`` (HIT), of all where it is empty.
    n_resamples : int
        Subsamples of each size; one where everything is drawn.
    level : float
        Share of the subsamples within the band, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.
    **options
        Handed to `huse`: dimension, n_neighbors, ties, label_ties, scaling, length.

    Returns
    -------
    DataFrame
        A row per size and score: dataset, system, over, size, score, mean (over subsamples; higher
        is better), ci_low, ci_high (quantiles of the subsamples), level, n_resamples, n_undefined.
        NaN where all are undefined: fewer than k + 1 outputs, or judgments missing.

    Raises
    ------
    ValueError
        As `huse`, or when a size is out of range.

    Notes
    -----
    The band is the spread of subsamples of *this* study. Near the full size they overlap, and it
    closes whatever the sampling error is: for an interval use `uncertainty.huse_intervals`.

    Figure 5 of Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169, subsamples likewise;
    but in the released code the annotators' curve is of log-probabilities that are not divided by
    length, and of another classifier. Here both curves are of one HUSE. Over outputs, features
    stay divided by the full sample's standard deviations; over annotators they are scaled anew.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> curve = stability_curve(
    ...     study.outputs, study.logprobs, study.judgments, system="t0.7",
    ...     over="annotators", sizes=[1, 20], n_resamples=20, seed=0,
    ... )
    >>> curve.loc[curve["score"] == "huse", ["size", "n_resamples"]].values.tolist()
    [[1, 20], [20, 1]]
    """
    known(over, ["outputs", "annotators"], "over")
    check_n(n_resamples, "n_resamples")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1. Got {level}: 0.9 is usual.")
    full = huse(outputs, logprobs, judgments, system=system, **options)
    rng = np.random.default_rng(seed)
    checked = tables.check(judgments, "judgments")
    rows: list[dict[str, object]] = []
    for size in sizes:
        check_n(size, "a size")

        def draw(groups: np.ndarray, size: int = size) -> np.ndarray:
            n_all = int(np.unique(groups, return_counts=True)[1].min())
            if size > n_all:
                raise ValueError(
                    f"sizes must not pass {n_all}, the annotators of the smallest group. "
                    f"Got {size}."
                )
            complete = bool((np.unique(groups, return_counts=True)[1] == size).all())
            n_drawn = 1 if complete else n_resamples
            return half_samples(groups, per_stratum=size, n_resamples=n_drawn, seed=rng)

        if over == "annotators":
            found = annotator_replicates(full, checked, draw)
        elif size > full.n_outputs:
            raise ValueError(f"sizes must not pass {full.n_outputs}, the outputs. Got {size}.")
        elif size == full.n_outputs:
            found = output_replicates(full, np.ones((1, size)))
        else:
            members = half_samples(
                full.features["is_human"],
                fraction=size / full.n_outputs,
                n_resamples=n_resamples,
                seed=rng,
            )
            found = output_replicates(full, members)
        names = {"dataset": full.dataset, "system": full.system, "over": over, "size": size}
        rows += [{**names, "score": score, **_band(found[score], level)} for score in SCORES]
    return pd.DataFrame(rows)


def _band(values: pd.Series, level: float) -> dict[str, float | int]:
    defined = values.dropna()
    low, high = defined.quantile([0.5 - level / 2, 0.5 + level / 2])
    return {
        "mean": float(defined.mean()),
        "ci_low": float(low),
        "ci_high": float(high),
        "level": level,
        "n_resamples": len(values),
        "n_undefined": int(values.isna().sum()),
    }


def annotator_difference(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    n_annotators: int,
    n_resamples: int = 1000,
    seed: int | np.random.Generator,
) -> dict[str, float | int | str]:
    """Say how much higher HUSE is with fewer annotators than with all.

    Parameters
    ----------
    outputs, logprobs, judgments, system
        As in `huse`.
    n_annotators : int
        Annotators drawn from each ``group_id`` (HIT), or from all where it is empty.
    n_resamples : int
        Half-samples of outputs for the interval.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    dict
        As `resampling.interval`: estimate is the mean of HUSE over 20 draws of annotators, minus
        HUSE with all; the 95% interval is over outputs and draws, for these annotators.

    Raises
    ------
    ValueError
        As `huse`, or when there are not so many annotators.

    Notes
    -----
    The half-samples of outputs are shared, so that the difference is paired. The spread of
    `stability_curve` over draws of annotators is no interval of this difference: it is that of a
    single draw, and knows no other outputs. What more annotators than all would give, nothing says.
    The interval is conservative, as those of HUSE are: in 280 Gaussian worlds of 50 outputs per
    class, with 5 of 20 annotators, it held the mean difference in .98 (standard error .01), and was
    1.2 times as wide as the true spread asks for.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(n_outputs=30, seed=0).study
    >>> found = annotator_difference(
    ...     study.outputs, study.logprobs, study.judgments, system="t0.7", n_annotators=20,
    ...     n_resamples=20, seed=0)
    >>> float(found["estimate"])  # twenty are all
    0.0
    """
    full = huse(outputs, logprobs, judgments, system=system)
    rng = np.random.default_rng(seed)
    members = half_samples(full.features["is_human"], n_resamples=n_resamples, seed=rng)
    whole = output_replicates(full, members)["huse"].to_numpy()
    unit = ["group_id", "annotator_id"]
    units = judgments[unit].drop_duplicates(ignore_index=True)
    fewest = int(units["group_id"].value_counts().min())
    if not 1 <= n_annotators <= fewest:
        raise ValueError(
            f"n_annotators must be between 1 and {fewest}, the annotators of the smallest group. "
            f"Got {n_annotators}."
        )
    drawn = half_samples(units["group_id"], per_stratum=n_annotators, n_resamples=_DRAWS, seed=rng)
    differences, replicates = np.empty(_DRAWS), np.empty((_DRAWS, n_resamples))
    for draw, kept in enumerate(drawn):
        fewer = huse(outputs, logprobs, judgments.merge(units[kept], on=unit), system=system)
        differences[draw] = fewer.huse - full.huse
        replicates[draw] = output_replicates(fewer, members)["huse"] - whole
    found = interval(replicates.mean(axis=0), float(differences.mean()))
    se = float(np.hypot(float(found["se"]), differences.std(ddof=1) / np.sqrt(_DRAWS)))
    half = norm.ppf(0.975) * se
    ends = {"ci_low": differences.mean() - half, "ci_high": differences.mean() + half}
    return found | {"se": se} | {name: float(end) for name, end in ends.items()}


def interval_widths(
    world: Callable[[int, int, np.random.Generator], tables.Study] | tables.Study,
    *,
    n_outputs: Sequence[int],
    n_annotators: Sequence[int],
    n_studies: int = 50,
    system: str | None = None,
    level: float = 0.95,
    seed: int | np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Simulate how wide an interval is at each number of outputs and annotators.

    Parameters
    ----------
    world : callable or Study
        From (outputs of each class, annotators, Generator) to a new study. Or a study, whose
        subsamples stand for new ones.
    n_outputs : sequence of int
        Outputs of each class; below the study's own, where a study is given.
    n_annotators : sequence of int
        Annotators of each group; at most the study's own, where a study is given.
    n_studies : int
        Simulated studies at each pair of sizes, at least 2.
    system, **options
        As in `huse`.
    level : float
        Coverage of the interval, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per pair of sizes and score: n_outputs (of each class), n_annotators, score, mean
        (over studies), sd, width (``2 z sd``: of a normal interval that covers `level`), level,
        n_studies.

    Raises
    ------
    ValueError
        As `huse`, or when a size is out of range.

    Notes
    -----
    With a callable, outputs and annotators are new in every study, so the width is of both. The
    relative standard error of a width is about ``1 / sqrt(2 n_studies)``. With a study,
    the standard deviation is divided by ``sqrt(1 - f)``, ``f`` the share of outputs drawn, which
    undoes the overlap of the subsamples; the overlap of annotators is left, so widths are too small
    where nearly all annotators are drawn and few outputs.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> def world(n_outputs, n_annotators, rng):
    ...     sizes = {"n_outputs": n_outputs, "n_annotators": n_annotators}
    ...     return worlds.gaussian_world(**sizes, systems={"lstm": (0.5, 0.5)}, seed=rng).study
    >>> found = interval_widths(
    ...     world, n_outputs=[20, 80], n_annotators=[5], n_studies=10, seed=0
    ... )
    >>> width = found[found["score"] == "huse"]["width"]
    >>> bool(width.iloc[0] > width.iloc[1])
    True
    """
    check_n(n_studies, "n_studies")
    if n_studies < 2 or not 0 < level < 1:
        raise ValueError(
            f"n_studies must be at least 2 and level between 0 and 1. Got {n_studies}, {level}."
        )
    rng = np.random.default_rng(seed)
    given = _prepared(world, system) if isinstance(world, tables.Study) else None
    # Checking takes longer than scoring: a subsample of checked tables is not checked again, nor
    # are a world's later studies, where the tables of its first are as `tables.check` makes them.
    trusted = None if given is None else True
    rows: list[dict[str, object]] = []
    for n_each, n_judging in product(n_outputs, n_annotators):
        scores = []
        for _ in range(n_studies):
            if given is None:
                assert not isinstance(world, tables.Study)
                study = world(n_each, n_judging, rng)
            else:
                study = _smaller(given, n_each, n_judging, rng)
            assert study.logprobs is not None
            three = (study.outputs, study.logprobs, study.judgments)
            if trusted is None:
                trusted = _is_checked(study)
            score_study = huse_of_checked if trusted else huse
            found = score_study(*three, system=system, **options)
            scores.append([getattr(found, score) for score in SCORES])
        values = pd.DataFrame(scores, columns=list(SCORES))
        share = 0.0 if given is None else n_each / given.outputs["is_human"].value_counts().min()
        for score in SCORES:
            sd = float(values[score].std() / np.sqrt(1 - share))
            rows.append(
                {
                    "n_outputs": n_each,
                    "n_annotators": n_judging,
                    "score": score,
                    "mean": float(values[score].mean()),
                    "sd": sd,
                    "width": float(2 * norm.ppf(0.5 + level / 2) * sd),
                    "level": level,
                    "n_studies": n_studies,
                }
            )
    return pd.DataFrame(rows)


def _prepared(study: tables.Study, system: str | None) -> tables.Study:
    """Keep the outputs that are compared, in checked tables."""
    if study.logprobs is None:
        raise ValueError("the study has no logprobs, which HUSE needs: add the table.")
    outputs = tables.check(study.outputs, "outputs")
    rows = outputs.merge(compared(outputs, system)[0][["dataset", "output_id"]])
    judged = tables.check(study.judgments, "judgments")
    logprobs = tables.check(study.logprobs, "logprobs")
    return tables.Study(rows, judged[judged["output_id"].isin(rows["output_id"])], logprobs)


def _is_checked(study: tables.Study) -> bool:
    """Say whether checking would change nothing in a study's tables."""
    named = {"outputs": study.outputs, "logprobs": study.logprobs, "judgments": study.judgments}
    return all(
        frame is not None and tables.check(frame, name).equals(frame)
        for name, frame in named.items()
    )


def _smaller(
    study: tables.Study, n_each: int, n_judging: int, rng: np.random.Generator
) -> tables.Study:
    """Draw outputs of each class, and annotators of each group, without replacement."""
    smallest = int(study.outputs["is_human"].value_counts().min())
    if not 1 <= n_each < smallest:
        raise ValueError(
            f"n_outputs must be below {smallest}, the outputs of the study's smaller class, so "
            f"that subsamples differ. Got {n_each}."
        )
    kept = half_samples(study.outputs["is_human"], per_stratum=n_each, n_resamples=1, seed=rng)
    outputs = study.outputs[kept[0]]
    judged = study.judgments[study.judgments["output_id"].isin(outputs["output_id"])]
    unit = ["group_id", "annotator_id"]
    units = judged[unit].drop_duplicates()
    drawn = half_samples(units["group_id"], per_stratum=n_judging, n_resamples=1, seed=rng)
    return tables.Study(outputs, judged.merge(units[drawn[0]], on=unit), study.logprobs)


def needed_outputs(widths: pd.DataFrame, *, width: float) -> pd.DataFrame:
    """Read off how many outputs suffice for an interval of a given width.

    Parameters
    ----------
    widths : DataFrame
        From `interval_widths`.
    width : float
        Wanted: from ``ci_low`` to ``ci_high``.

    Returns
    -------
    DataFrame
        A row per score and number of annotators: score, n_annotators, n_outputs (the fewest of each
        class in `widths` from which on no width passes the wanted one; NaN: more are needed than
        were simulated), width (wanted).

    Examples
    --------
    >>> widths = pd.DataFrame(
    ...     {"score": "huse", "n_annotators": 20, "n_outputs": [50, 100], "width": [0.4, 0.3]}
    ... )
    >>> needed_outputs(widths, width=0.35)["n_outputs"].tolist()
    [100.0]
    """
    rows = []
    for (score, n_annotators), table in widths.groupby(["score", "n_annotators"], sort=False):
        wide = table.loc[table["width"] > width, "n_outputs"]
        enough = table.loc[table["n_outputs"] > wide.max() if len(wide) else slice(None)]
        rows.append(
            {
                "score": score,
                "n_annotators": n_annotators,
                "n_outputs": float(enough["n_outputs"].min()),
                "width": width,
            }
        )
    return pd.DataFrame(rows)
