"""The uncertainty of HUSE: permutation tests, stability, and interval widths by sample size."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, product
from typing import Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.stats import chi2, norm

from nlgbench.analysis.huse import score
from nlgbench.analysis.huse.score import Compared
from nlgbench.arrays import Bools, Ints, Seed
from nlgbench.inference import half_samples, interval, undefined
from nlgbench.status import Unsupported, estimate_columns, explain, first_status, split_status
from nlgbench.study import Study, with_tables
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Over = Literal["outputs", "annotators"]

#: Default sizes of `stability`, which leaves out sizes above that of the study.
SIZES = {"outputs": (30, 40, 50, 75, 100, 150, 200), "annotators": (1, 2, 3, 5, 10, 15, 20)}
_N_SAMPLES = 20  # samples of annotators, whose mean HUSE is compared
_UNIT = ["group_id", "annotator_id"]


@checked
def permutation_test(
    study: Study,
    *,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    n_permutations: int = 1000,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Test whether HUSE distinguishes a system's outputs from human ones.

    Parameters
    ----------
    study, systems, dimension, n_neighbors
        As in `huse`.
    n_permutations : int, default 1000
        Number of permutations. If at most this many labelings exist, each is used once.
    seed : int or Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    DataFrame
        A row per system, way of permuting and score (huse, huse_q): ``system``, ``score``,
        ``estimate``, ``p`` (small: distinguishable), ``null_mean`` and ``null_sd`` (of the permuted
        scores), ``within`` ("items": labels are permuted among the outputs of one item; "hits":
        whole HITs (``group_id``) exchange labels, if each output was judged in one HIT and each HIT
        contains only one class), ``n_units`` (items with both classes, or HITs),
        ``log10_labelings``, ``n_permutations`` (labelings used), ``exact`` (whether these are all),
        ``status``, ``reason``.

    Raises
    ------
    ValueError
        Under the same conditions as `huse`, or when no item has outputs of both classes.

    Notes
    -----
    The test is one-sided. p is the share of labelings whose score is at most the observed one; for
    random labelings, ``(1 + #(permuted <= observed)) / (n_permutations + 1)`` (Phipson and Smyth
    2010, doi:10.2202/1544-6115.1585). If every HIT contains one class, "items" confounds class with
    the leniency of the HIT's annotators. "hits" avoids this, but has little power.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", seed=0)
    >>> nb.permutation_test(study, systems="t0.5", n_permutations=99)["p"].tolist()[0]
    0.01
    """
    check_n(n_permutations, "n_permutations")
    tables = []
    for system in score.chosen_systems(study, systems):
        compared = score.compare(study, system, dimension=dimension, n_neighbors=n_neighbors)
        item, n_items = _item_units(compared)
        ways = {"items": (n_items, np.arange(len(item)), compared.is_machine, item)}
        if (hits := _hit_units(compared)) is not None:
            hit, label = hits
            ways["hits"] = (len(label), hit, label, np.zeros(len(label), dtype=np.int64))
        for within, (n_units, label_of_output, is_machine, units) in ways.items():
            # Class labels are permuted within units.
            counts = zip(np.bincount(units), np.bincount(units, weights=is_machine), strict=True)
            n_labelings = math.prod(math.comb(int(n), int(m)) for n, m in counts)
            exact = n_labelings <= n_permutations
            if exact:
                labels = _all_labelings(is_machine, units)
            else:
                rng = np.random.default_rng(seed)
                labels = _permuted_within(is_machine, units, n_permutations, rng)
            permuted = score.output_replicates(compared, True, labels[:, label_of_output])
            permuted = permuted[list(score.MAPS)]
            estimate = pd.Series(compared.scores)[list(score.MAPS)]
            # Equal scores may differ by rounding.
            n_low = (permuted <= estimate + 1e-12).sum()
            rows = {
                "system": system,
                "score": list(score.MAPS),
                "estimate": estimate,
                "p": n_low / n_labelings if exact else (1 + n_low) / (n_permutations + 1),
                "null_mean": permuted.mean(),
                "null_sd": permuted.std(ddof=0),
                "within": within,
                "n_units": n_units,
                "log10_labelings": math.log10(n_labelings),
                "n_permutations": len(labels),
                "exact": exact,
                "status": "ok",
                "reason": "",
            }
            tables.append(pd.DataFrame(rows))
    return pd.concat(tables, ignore_index=True)


def _item_units(compared: Compared) -> tuple[Ints, int]:
    """Enumerate the outputs' items, and count the items with both classes."""
    item = pd.factorize(compared.outputs["item_id"])[0].astype(np.int64)
    machine = np.bincount(item, weights=compared.is_machine).astype(int)
    mixed = (machine > 0) & (machine < np.bincount(item))
    if not mixed.any():
        raise Unsupported(
            "disconnected",
            f"no item has outputs of both humans and {compared.system!r}, so labels cannot be "
            "permuted within items. Correct item_id.",
        )
    return item, int(mixed.sum())


def _hit_units(compared: Compared) -> tuple[Ints, Bools] | None:
    """Enumerate the outputs' HITs, and return the HITs' labels, or None if HITs mix classes."""
    pairs = compared.judged[["output_id", "group_id"]].drop_duplicates()
    joined = compared.outputs[["output_id", "is_human"]].merge(pairs, on="output_id", how="left")
    if joined["output_id"].duplicated().any() or joined["group_id"].eq("").any():
        return None
    hit = pd.factorize(joined["group_id"])[0].astype(np.int64)
    share = np.bincount(hit, weights=~joined["is_human"]) / np.bincount(hit)
    return (hit, share == 1) if np.isin(share, [0, 1]).all() else None


def _all_labelings(label: Bools, unit: Ints) -> Bools:
    """List every way to permute labels among the rows of each unit."""
    rows_of = [np.flatnonzero(unit == number) for number in range(int(unit.max()) + 1)]
    chosen = (combinations(rows, int(label[rows].sum())) for rows in rows_of)
    machine = [list(chain.from_iterable(row_sets)) for row_sets in product(*chosen)]
    labels = np.zeros((len(machine), len(label)), dtype=bool)
    for labeling, rows in zip(labels, machine, strict=True):
        labeling[rows] = True
    return labels


def _permuted_within(label: Bools, item: Ints, n_permutations: int, rng: Generator) -> Bools:
    """Permute labels among the rows of each item."""
    ordered = np.argsort(item, kind="stable")
    permuted = np.empty((n_permutations, len(label)), dtype=bool)
    # Sort random keys within each item: the item's number, which is added, keeps items in order.
    keys = np.argsort(item[ordered] + rng.random((n_permutations, len(label))), axis=1)
    permuted[:, ordered] = label[ordered][keys]
    return permuted


@checked
def stability(
    study: Study,
    *,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    over: Over | Sequence[Over] = ("outputs", "annotators"),
    sizes: Sequence[int] | None = None,
    n_resamples: int = 200,
    confidence: float = 0.9,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Compute HUSE of subsamples of increasing size.

    Parameters
    ----------
    study, systems, dimension
        As in `huse`.
    over : {"outputs", "annotators"} or a sequence of them
        Which units are drawn, without replacement.
    sizes : sequence of int, optional
        Numbers of outputs in total, or of annotators of each ``group_id`` (HIT). Default: 30 to 200
        outputs and 1 to 20 annotators, up to the size of the study.
    n_resamples : int, default 200
        Number of subsamples of each size; one if the size is that of the study.
    confidence : float, default 0.9
        Share of the subsamples between ci_low and ci_high, between 0 and 1.
    seed : int or Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    DataFrame
        A row per system, unit, size and score: ``system``, ``over``, ``size``, ``score``, ``mean``
        (over subsamples; higher is better), ``ci_low``, ``ci_high`` (quantiles of the subsamples),
        ``confidence``, ``n_resamples``, ``n_undefined``, ``status`` (a code; ``ok``), ``reason``.

    Raises
    ------
    ValueError
        Under the same conditions as `huse`, or when a size is out of range.

    Notes
    -----
    ci_low and ci_high show the spread of subsamples of *this* study, without its sampling error, so
    use `huse` for confidence intervals. At the full size, they are undefined. The analysis follows
    figure 5 of Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", seed=0)
    >>> curve = nb.stability(
    ...     study, systems="t0.7", over="annotators", sizes=[1, 20], n_resamples=20
    ... )
    >>> curve.loc[curve["score"] == "huse", ["size", "n_resamples"]].values.tolist()
    [[1, 20], [20, 1]]
    """
    check_n(n_resamples, "n_resamples")
    tables = []
    for system in score.chosen_systems(study, systems):
        compared = score.compare(study, system, dimension=dimension)
        for kind in [over] if isinstance(over, str) else over:
            n_all = len(compared.outputs)
            if kind == "annotators":
                n_all = _smallest_group(compared.annotators)
            rng = np.random.default_rng(seed)
            for size in [n for n in SIZES[kind] if n <= n_all] if sizes is None else sizes:
                check_n(size, "a size")
                if size > n_all:
                    most = f"{n_all}, the number of {kind}"
                    most += " in the smallest group" if kind == "annotators" else ""
                    raise ValueError(f"sizes must be at most {most}. Got {size}.")
                subsamples = _subsampled(compared, kind, size, n_resamples, rng)[list(score.SCORES)]
                ends = subsamples.quantile([0.5 - confidence / 2, 0.5 + confidence / 2]).to_numpy()
                n_undefined, n_drawn = subsamples.isna().sum().to_numpy(), len(subsamples)
                constant = (subsamples.max() - subsamples.min() <= 1e-12).to_numpy()
                status = first_status(
                    len(score.SCORES),
                    (n_drawn == 1, explain("one_subsample")),
                    (n_undefined > 0, [undefined(n, n_drawn, "subsamples") for n in n_undefined]),
                    (constant, explain("constant_resamples")),
                )
                ends = np.where(constant, np.nan, ends)
                rows = {
                    "system": system,
                    "over": kind,
                    "size": size,
                    "score": list(score.SCORES),
                    "mean": subsamples.mean(),
                    "ci_low": ends[0],
                    "ci_high": ends[1],
                    "confidence": confidence,
                    "n_resamples": n_drawn,
                    "n_undefined": n_undefined,
                    "status": status,
                }
                tables.append(pd.DataFrame(rows))
    return split_status(pd.concat(tables, ignore_index=True))


def _smallest_group(annotators: pd.DataFrame) -> int:
    return int(annotators["group_id"].value_counts().min())


def _subsampled(
    compared: Compared, over: str, size: int, n_resamples: int, rng: Generator
) -> pd.DataFrame:
    """Score subsamples of one size, or the full sample once."""
    if over == "annotators":
        groups = compared.annotators["group_id"]
        n_drawn = 1 if groups.value_counts().eq(size).all() else n_resamples
        members = half_samples(groups, per_stratum=size, n_resamples=n_drawn, seed=rng)
        return score.annotator_replicates(compared, members)
    n_all = len(compared.outputs)
    if size == n_all:
        return score.output_replicates(compared, np.ones((1, size)))
    is_human = compared.outputs["is_human"]
    members = half_samples(is_human, fraction=size / n_all, n_resamples=n_resamples, seed=rng)
    return score.output_replicates(compared, members)


@checked
def length_difference(
    study: Study,
    *,
    systems: str | Iterable[str] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Estimate how much higher HUSE is if log-probabilities are not divided by length.

    A row per system and score (huse, huse_d; length does not affect huse_q): system, score,
    whole_text and per_token (the scores), estimate (their difference), se, ci_low, ci_high,
    confidence, status, reason. Both scores use the same halves of the outputs, so the difference is
    paired.

    >>> import nlgbench as nb
    >>> found = length_difference(nb.simulate("gaussian", seed=0), systems="t0.7", n_resamples=50)
    >>> bool((found["estimate"] == found["whole_text"] - found["per_token"]).all())
    True
    """
    tables = []
    for system in score.chosen_systems(study, systems):
        per_token, whole_text = (
            score.compare(study, system, length=length) for length in ("per token", "whole text")
        )
        is_human = per_token.outputs["is_human"]
        members = score.with_complements(half_samples(is_human, n_resamples=n_resamples, seed=seed))
        gaps = score.output_replicates(whole_text, members)
        gaps -= score.output_replicates(per_token, members)
        scores = pd.DataFrame({"whole_text": whole_text.scores, "per_token": per_token.scores})
        scores = scores.loc[["huse", "huse_d"]]
        gap = scores["whole_text"] - scores["per_token"]
        estimates = {str(name): float(value) for name, value in gap.items()}
        scores = scores.rename_axis("score").reset_index()
        scores.insert(0, "system", system)
        n_units = int(is_human.value_counts().min())
        table = score.halves_interval(gaps, estimates, n_units, confidence).drop(columns="center")
        tables.append(pd.concat([scores, table], axis=1))
    return pd.concat(tables, ignore_index=True)


@checked
def annotator_difference(
    study: Study,
    *,
    n_annotators: int,
    system: str | None = None,
    n_resamples: int = 1000,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Estimate how much higher HUSE is with fewer annotators than with all.

    The result has one row: system, n_annotators, estimate (the mean of HUSE over 20 samples of
    annotators of each ``group_id`` (HIT), minus HUSE with all of them), ci_low, ci_high (95%, over
    half-samples of outputs and samples of these annotators; conservative), se, status, reason.

    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", n_outputs=30, seed=0)
    >>> found = annotator_difference(study, system="t0.7", n_annotators=20, n_resamples=20)
    >>> float(found["estimate"].iloc[0])  # the study has 20 annotators
    0.0
    """
    system = score.the_system(study, system)
    all_judging = score.compare(study, system)
    rng = np.random.default_rng(seed)
    members = half_samples(all_judging.outputs["is_human"], n_resamples=n_resamples, seed=rng)
    full_replicates = score.output_replicates(all_judging, members)["huse"].to_numpy()
    assert study.judgments is not None  # `compare` has checked this
    units = study.judgments[_UNIT].drop_duplicates(ignore_index=True)
    fewest = _smallest_group(units)
    if not 1 <= n_annotators <= fewest:
        raise ValueError(
            f"n_annotators must be between 1 and {fewest}, the size of the smallest group of "
            f"annotators. Got {n_annotators}."
        )
    samples = half_samples(
        units["group_id"], per_stratum=n_annotators, n_resamples=_N_SAMPLES, seed=rng
    )
    differences, replicates = np.empty(_N_SAMPLES), np.empty((_N_SAMPLES, n_resamples))
    for number, chosen in enumerate(samples):
        judgments = study.judgments.merge(units[chosen], on=_UNIT)
        fewer = score.compare(with_tables(study, judgments=judgments), system)
        differences[number] = fewer.scores["huse"] - all_judging.scores["huse"]
        replicates[number] = score.output_replicates(fewer, members)["huse"] - full_replicates
    pooled = interval(replicates.mean(axis=0), float(differences.mean()))
    se = float(np.hypot(float(pooled["se"]), differences.std(ddof=1) / np.sqrt(_N_SAMPLES)))
    half = norm.ppf(0.975) * se if se > 0 else np.nan
    mean = differences.mean()
    row = {"system": system, "n_annotators": n_annotators}
    row |= estimate_columns(mean, mean - half, mean + half, se=se)
    row |= {name: pooled[name] for name in ("status", "reason")}
    return pd.DataFrame([row])


@checked
def interval_widths(
    study: Study,
    *,
    n_outputs: int,
    n_studies: int = 50,
    system: str | None = None,
    confidence: float = 0.95,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Estimate the width of intervals with fewer outputs of each class, from subsamples.

    The standard deviation over subsamples is divided by ``sqrt(1 - f)``, with ``f`` the share of
    the smaller class that is drawn, to correct for outputs (but not annotators) that they share.

    A row per score: n_outputs (of each class), n_annotators (of each group), score, mean (over
    subsamples), sd, width (``2 z sd``, for a normal interval), width_low, width_high (95% interval
    of the width over simulations, if scores are normal), confidence, n_studies.

    >>> import nlgbench as nb
    >>> found = interval_widths(nb.simulate("gaussian", systems={"lstm": (0.5, 0.5)}), n_outputs=20)
    >>> found["score"].tolist()
    ['huse', 'huse_q', 'huse_d']
    """
    check_n(n_studies, "n_studies", 2)
    rng = np.random.default_rng(seed)
    # Run all checks once, then keep only the compared outputs.
    compared = score.compare(study, score.the_system(study, system))
    outputs = study.outputs[study.outputs["output_id"].isin(compared.outputs["output_id"])]
    source = with_tables(study, outputs=outputs, judgments=compared.judged)
    n_all = compared.outputs["is_human"].value_counts().min()
    n_annotators = _smallest_group(compared.annotators)
    subsamples = (_subsample(source, n_outputs, n_annotators, rng) for _ in range(n_studies))
    values = pd.DataFrame(
        [score.compare(smaller, compared.system).scores for smaller in subsamples]
    )
    sd = values.std() / np.sqrt(1 - n_outputs / n_all)
    width = 2 * norm.ppf(0.5 + confidence / 2) * sd
    high, low = np.sqrt((n_studies - 1) / chi2.ppf([0.025, 0.975], n_studies - 1))
    return pd.DataFrame(
        {
            "n_outputs": n_outputs,
            "n_annotators": n_annotators,
            "score": list(score.SCORES),
            "mean": values.mean(),
            "sd": sd,
            "width": width,
            "width_low": width * low,
            "width_high": width * high,
            "confidence": confidence,
            "n_studies": n_studies,
        }
    ).reset_index(drop=True)


def _subsample(study: Study, n_each: int, n_judging: int, rng: Generator) -> Study:
    """Draw outputs of each class, and annotators of each group, without replacement."""
    smallest = study.outputs["is_human"].value_counts().min()
    if not 1 <= n_each < smallest:
        raise ValueError(
            f"n_outputs must be at least 1 and below {smallest}, the size of the study's smaller "
            f"class, so that subsamples differ. Got {n_each}."
        )
    chosen = half_samples(study.outputs["is_human"], per_stratum=n_each, n_resamples=1, seed=rng)
    outputs = study.outputs[chosen[0]]
    assert study.judgments is not None
    judged = study.judgments[study.judgments["output_id"].isin(outputs["output_id"])]
    units = judged[_UNIT].drop_duplicates()
    judging = half_samples(units["group_id"], per_stratum=n_judging, n_resamples=1, seed=rng)
    return with_tables(study, outputs=outputs, judgments=judged.merge(units[judging[0]], on=_UNIT))
