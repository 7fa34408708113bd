"""How often intervals hold in studies like one's own, found by simulating them."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, norm, pearsonr, spearmanr

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.coefficients import coefficients
from nlgbench.analysis.people import agreement, compare_systems
from nlgbench.analysis.planning.parametric_bootstrap import FittedModel, fit_model
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Analysis = Literal["compare_systems", "correlate", "agreement"]

STATISTICS = ("pearson", "spearman", "kendall_b")
#: Draws inside an analysis of one simulated study.
_DRAWS = 1000
#: Outputs of simulated studies that a truth over outputs is computed from.
_MOST_POOLED = 50_000


@checked
def coverage(
    study: Study,
    *,
    analysis: Analysis = "compare_systems",
    dimension: str | None = None,
    n_worlds: int = 200,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Say how often intervals hold in studies like this one, by simulating such studies.

    Parameters
    ----------
    study : Study
        With judgments of at least two systems; human outputs are left out.
    analysis : {"compare_systems", "correlate", "agreement"}
        Whose intervals. ``"correlate"``: of systems' means and of single outputs, for all
        evaluators of the study, over other items. ``"agreement"``: Krippendorff's alpha (interval)
        and the intraclass correlation of single judgments.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    n_worlds : int
        Simulated studies. The standard error of a coverage of .95 is ``.22 / sqrt(n_worlds)``.
        Time is that of as many analyses: a fifth of a second each for 5 systems, 100 items and 20
        annotators, growing with systems times judgments.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row for each of the analysis' intervals: quantity (``mean``, ``difference``, ``rank``,
        ``all ranks``; a correlation; a coefficient), name (system, evaluator, or which outputs),
        opponent (of a difference), granularity (of a correlation), estimate, ci_low, ci_high (in
        the study itself), truth (in the simulated studies), coverage (share of their intervals that
        hold it), coverage_se (Monte Carlo standard error), n_worlds (with an interval), width
        (mean), width_ratio (to an oracle's, who knows the estimates' standard deviation), reason.

    Raises
    ------
    ValueError
        As the analysis does of this study.

    Notes
    -----
    Simulated studies keep systems, items, annotators and who judged what. Effects and the rest are
    normal, with the variances of `variance_components` (0 where these are not told apart), cut to
    the study's own values so that shares and ties follow; systems' expectations are their adjusted
    means, and scores correlate with judgments as the study's do, within and between systems. The
    truth of a correlation over outputs is that of all simulated outputs together, of a coefficient
    of agreement the mean over simulated studies, so that bias of the latter is not seen. What the
    simulation leaves out does not show: effects that do not add, documents, drift.

    Votes are left out: how often intervals of ratings hold is in docs/preferences.md.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[0.5, 0.0], n_items=20, seed=1)
    >>> table = coverage(study, n_worlds=10)
    >>> table[["quantity", "name", "opponent", "truth", "coverage", "n_worlds"]].round(2)
         quantity name opponent  truth  coverage  n_worlds
    0        mean  s01            0.35       0.9        10
    1        mean  s02           -0.14       1.0        10
    2  difference  s01      s02   0.49       1.0        10
    3        rank  s01            1.00       1.0        10
    4        rank  s02            2.00       1.0        10
    5   all ranks                  NaN       1.0        10
    """
    check_n(n_worlds, "n_worlds")
    rng = np.random.default_rng(seed)
    dimension = study.dimension(dimension)
    own = _asked(study, analysis, dimension, confidence, rng.spawn(1)[0])
    made = fit_model(study, dimension, analysis == "correlate")
    worlds: list[pd.DataFrame] = []
    pooled: list[Study] = []
    for stream in rng.spawn(n_worlds):
        world = made.draw(stream)
        worlds.append(_asked(world, analysis, dimension, confidence, stream))
        if analysis == "correlate" and len(pooled) * len(world.outputs) < _MOST_POOLED:
            pooled.append(world)
    every = pd.concat(worlds, keys=range(n_worlds), names=["world"]).reset_index("world")
    truth = _truth(made, analysis, every, pooled)
    by_key = dict(list(every.groupby(_KEYS, sort=False)))
    rows: list[dict[str, Any]] = []
    for row in cast(list[dict[str, Any]], own.to_dict("records")):
        key = tuple(row[name] for name in _KEYS)
        rows.append(row | _held(by_key[key], truth[key], row["reason"], confidence, n_worlds))
    if analysis == "compare_systems":
        rows.append(_all_ranks(every, truth, own, n_worlds))
    return pd.DataFrame(rows)[list(_COLUMNS)]


_KEYS = ["quantity", "name", "opponent", "granularity"]
_COLUMNS = (
    *(*_KEYS, "estimate", "ci_low", "ci_high", "truth", "coverage", "coverage_se", "n_worlds"),
    *("width", "width_ratio", "reason"),
)
_Key = tuple[str, str, str, str]
Truth = dict[_Key, tuple[float, float]]


def _asked(
    study: Study, analysis: Analysis, dimension: str, confidence: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Do the analysis, and lay its intervals out one below another."""
    asked: dict[str, Any] = {"dimension": dimension, "confidence": confidence}
    ends = ["estimate", "ci_low", "ci_high"]
    if analysis == "agreement":
        found = agreement(
            study, coefficients=("krippendorff_alpha", "icc_1"), metric="interval", **asked
        )
        found = found[found["row"].eq("all") | found["row"].isin(study.systems)]
        found = found.rename(columns={"coefficient": "quantity", "row": "name"})
    elif analysis == "correlate":
        parts = [
            correlate(
                study,
                granularity=granularity,
                statistics=STATISTICS,
                n_resamples=_DRAWS,
                seed=rng,
                **asked,
            )
            for granularity in ("system", "output")
        ]
        found = pd.concat(parts).rename(columns={"statistic": "quantity", "evaluator": "name"})
    else:
        compared = compare_systems(study, annotators="random", **asked)
        systems, pairs = compared.systems.rename(columns={"system": "name"}), compared.pairs
        if (systems["better"] == "lower").all():
            systems[ends] = -systems[["estimate", "ci_high", "ci_low"]].to_numpy()
        systems = systems.sort_values("name", kind="stable")
        pairs = pairs[pairs["system"] < pairs["opponent"]].sort_values(["system", "opponent"])
        ranks = systems[["name", "reason"]].assign(quantity="rank")
        ranks[ends] = systems[["rank", "rank_low", "rank_high"]].astype(np.float64)
        pairs = pairs.rename(columns={"system": "name", "difference": "estimate"})
        found = pd.concat(
            [systems.assign(quantity="mean"), pairs.assign(quantity="difference"), ranks]
        )
    for name in ("opponent", "granularity"):
        found[name] = found[name].fillna("") if name in found else ""
    return found[[*_KEYS, *ends, "reason"]].reset_index(drop=True)


def _truth(
    made: FittedModel, analysis: Analysis, every: pd.DataFrame, pooled: list[Study]
) -> Truth:
    """Give what each interval should hold: any value between two, which are mostly the same."""
    if analysis == "agreement":
        means = every.groupby(_KEYS, sort=False)["estimate"].mean()
        return {cast(_Key, key): (mean, mean) for key, mean in means.items()}
    if analysis == "correlate":
        return _correlations(made, pooled)
    level = dict(zip(made.names, made.scale.expected, strict=True))
    truth: Truth = {}
    # Equal ones are so but for rounding.
    near = 1e-3 * float(np.sqrt(made.components["variance"].sum()))
    values = np.array(list(level.values()))
    for name, value in level.items():
        truth["mean", name, "", ""] = (value, value)
        best, worst = 1 + (values > value + near).sum(), (values > value - near).sum()
        truth["rank", name, "", ""] = (float(best), float(worst))
        for opponent, other in level.items():
            truth["difference", name, opponent, ""] = (value - other, value - other)
    return truth


def _correlations(made: FittedModel, pooled: list[Study]) -> Truth:
    """Correlate systems' expectations, and all simulated outputs together."""
    people = np.concatenate(
        [
            world.judgments.groupby("output_id")["value"].mean().reindex(ids).to_numpy()  # type: ignore[union-attr]
            for world, ids in ((world, world.outputs["output_id"]) for world in pooled)
        ]
    )
    truth: Truth = {}
    for one in made.scores:
        sign = -1.0 if "direction:lower" in one.signature else 1.0
        of_systems = coefficients(
            sign * one.scale.expected, made.scale.expected, statistics=STATISTICS
        )
        scores = np.concatenate(
            [
                world.scores[world.scores["evaluator"] == one.name]  # type: ignore[index]
                .set_index("output_id")["score"]
                .reindex(world.outputs["output_id"])
                .to_numpy()
                for world in pooled
            ]
        )
        both = np.isfinite(scores) & np.isfinite(people)
        x, y = sign * scores[both], people[both]
        of_outputs = (pearsonr(x, y), spearmanr(x, y), kendalltau(x, y))
        for name, found in zip(STATISTICS, of_outputs, strict=True):
            value = float(of_systems[name])
            truth[name, one.name, "", "system"] = (value, value)
            truth[name, one.name, "", "output"] = (float(found.statistic),) * 2
    return truth


def _held(
    found: pd.DataFrame, truth: tuple[float, float], reason: str, confidence: float, n: int
) -> dict[str, Any]:
    """Count how often an interval of one kind held its truth in n simulated studies."""
    there = found["ci_low"].notna() & found["ci_high"].notna() & np.isfinite(truth[0])
    low, high = found.loc[there, "ci_low"], found.loc[there, "ci_high"]
    width = float((high - low).mean()) if there.any() else np.nan
    oracle = 2 * norm.ppf(0.5 + confidence / 2) * found["estimate"].std()
    is_rank = found["quantity"].iloc[0] == "rank"
    if is_rank:
        width += 1
    lost = n - int(there.sum())
    if lost:
        why = Counter(one for one in found.loc[~there, "reason"] if one)
        most = f": {why.most_common(1)[0][0]}" if why else ""
        words = f"no interval in {lost} of {n} simulated studies"
        reason = "; ".join(filter(None, [reason, words + (most if not reason else "")]))
    return {
        "truth": sum(truth) / 2,
        **_share((low <= truth[1] + 1e-9) & (high >= truth[0] - 1e-9)),
        "width": width,
        "width_ratio": np.nan if is_rank or not oracle > 0 else width / oracle,
        "reason": reason,
    }


def _all_ranks(every: pd.DataFrame, truth: Truth, own: pd.DataFrame, n: int) -> dict[str, Any]:
    """Count in how many studies all ranges of ranks held at once."""
    ranks = every[(every["quantity"] == "rank") & every["ci_low"].notna()]
    ends = np.array([truth["rank", name, "", ""] for name in ranks["name"]]).reshape(-1, 2)
    held = (ranks["ci_low"] <= ends[:, 1]) & (ranks["ci_high"] >= ends[:, 0])
    all_held = held.groupby(ranks["world"]).all()
    lost = n - len(all_held)
    words = f"no ranges in {lost} of {n} simulated studies" if lost else ""
    mine = own.loc[own["quantity"] == "rank", "reason"].iloc[0]
    return {
        **dict.fromkeys(_COLUMNS, np.nan),
        **dict.fromkeys(_KEYS, ""),
        "quantity": "all ranks",
        **_share(all_held),
        "reason": "; ".join(filter(None, [mine, words])),
    }


def _share(held: pd.Series) -> dict[str, float | int]:
    """Give a share with its standard error, which two more studies, one of each, keep above 0."""
    n = len(held)
    near = (held.sum() + 1) / (n + 2)
    return {
        "coverage": float(held.mean()) if n else np.nan,
        "coverage_se": float(np.sqrt(near * (1 - near) / n)) if n else np.nan,
        "n_worlds": n,
    }
