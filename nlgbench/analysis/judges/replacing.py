"""The alternative annotator test: whether an evaluator may replace an annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from nlgbench import clustering
from nlgbench.analysis.judges.verdicts import rounding_error
from nlgbench.arrays import Floats, Ints
from nlgbench.clustering import FEWEST, few_clusters, jackknife_variance
from nlgbench.inference import adjust
from nlgbench.reported import Reported
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

Agreement = Literal["accuracy", "rmse"]

#: Annotators with fewer items are not tested (Calderon, Reichart and Dror 2025, section 3).
FEWEST_ITEMS = 30
#: Epsilons of the tests; the curve has those up to .5.
_GRID = np.arange(1000) / 1000
_CURVE = _GRID <= 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Replacement(Reported):
    """Whether evaluators may replace annotators: the tables of `replaces_annotators`.

    >>> import nlgbench as nb
    >>> study = nb.simulate("own", means=[0.5, 0.0], n_items=40, n_annotators=3, seed=1)
    >>> found = replaces_annotators(study, epsilon=0.1, agreement="rmse")
    >>> isinstance(found, Replacement), len(found.annotators)
    (True, 9)
    """

    evaluators: pd.DataFrame
    details: pd.DataFrame
    annotators: pd.DataFrame
    curve: pd.DataFrame


@checked
def replaces_annotators(
    study: Study,
    *,
    epsilon: float,
    dimension: str | None = None,
    agreement: Agreement | None = None,
    confidence: float = 0.95,
) -> Replacement:
    """Test whether evaluators may replace annotators, with the alternative annotator test.

    For each annotator, it tests who agrees better with the others: the annotator or the evaluator.

    Parameters
    ----------
    study : Study
        A study with several annotators per output, and scores that are labels or numbers of the
        same kind as the judgments. All evaluators are tested.
    epsilon : float
        The evaluator's cost advantage, at least 0 and below 1: by how much the share of outputs
        where the annotator agrees better may exceed the share where the evaluator does. Choose it
        before seeing the data. Calderon et al. (2025) use .2 (experts), .15 (skilled), .1 (crowd).
    dimension : str, optional
        A dimension of the judgments. Default: the study's quality dimension.
    agreement : {"accuracy", "rmse"}, optional
        How to measure agreement with the other annotators of an output: the share of equal labels,
        or minus the root mean squared difference of numbers. Default: "accuracy" for at most two
        distinct values, where both are equivalent, and "rmse" if ``settings["scales"]`` has the
        dimension. Otherwise it is required, because labels may be coded as numbers.
    confidence : float
        Confidence level of intervals, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    Replacement
        ``evaluators``, sorted by estimate in descending order: evaluator, epsilon, estimate (rho:
        the probability that the evaluator agrees at least as well as an annotator, averaged over
        annotators), ci_low, ci_high, covers (what the interval generalizes to), omega (share of
        annotators for whom the null hypothesis is rejected), p (the smallest level of tests at
        which omega is at least one half), p_adjusted (Holm, over evaluators), n_tested (the number
        of evaluators tested), verdict ("replaces" if p_adjusted is at most 1 - confidence, which
        for a single evaluator means that omega is at least one half; else "not shown"),
        least_epsilon (the smallest epsilon, in steps of .001, at which omega is at least one half;
        NaN if none below 1 is enough), n_annotators (tested), status (a code; ``ok``), reason (its
        text).

        ``details``, by evaluator: label, agreement, omega_paper (omega by the t test of
        Calderon et al., which treats outputs as independent), se (of rho), power (mean over
        annotators), n_left_out (annotators with fewer than 30 outputs), n_outputs, n_clusters,
        n_missing (outputs without a score), confidence.

        ``annotators``, a row for each evaluator and annotator: evaluator, annotator_id, difference
        (share of outputs where the annotator agrees better, minus that where the evaluator does),
        advantage (share where the evaluator agrees at least as well; rho is its mean), p (of the
        null hypothesis, difference >= epsilon), p_adjusted (Benjamini and Yekutieli, over
        annotators), rejected, p_paper, rejected_paper, power (if the difference is 0, at the level
        required for omega = .5), n_outputs, n_ties, n_clusters (effective), design_effect, status,
        reason.

        ``curve``: evaluator, epsilon (0 to .5 in steps of .001), omega.

    Raises
    ------
    ValueError
        When there are no scores or judgments, no output has two annotators, `epsilon` is out of
        range, the dimension is unknown, or a required `agreement` is missing.

    Notes
    -----
    The test is by Calderon, Reichart and Dror (2025, doi:10.48550/arXiv.2501.10970). For an output,
    d is 1 if the annotator agrees better with the others, -1 if the evaluator does, and 0 if both
    agree equally. The paper tests mean d < epsilon by Student's t over outputs, which rejects too
    often if d is mostly 0 or outputs share a cluster (an item, or ``settings["clusters"]``). This
    function uses the score test of a difference of paired shares (Tango 1998, *Statistics in
    Medicine* 17, 891-908), with its variance multiplied by the design effect of clusters.

    With m annotators, an evaluator's p is the ceil(m / 2)-th smallest of their adjusted p, so p <=
    alpha means omega >= .5 at level alpha. If the evaluator may replace no annotator, this has a
    probability of at most alpha under any dependence, because Benjamini and Yekutieli bound the
    probability of any rejection. Holm's method over evaluators then bounds the probability that any
    of them passes: the paper tests each evaluator alone, and the best of many passes too often. The
    interval of rho is from a jackknife over clusters and, if there are at least ten, annotators.
    Numbers that differ by up to 1e-9 of the range are equal. docs/validation.md reports the level.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_annotators=12, seed=1)
    >>> found = replaces_annotators(study, epsilon=0.1, agreement="rmse")
    >>> found.evaluators[["evaluator", "omega", "verdict", "estimate"]].round(2)
      evaluator  omega    verdict  estimate
    0     close    1.0   replaces  0.69
    1    coarse    0.0  not shown  0.41
    2     blind    0.0  not shown  0.09
    """
    if not 0 <= epsilon < 1:
        raise ValueError(
            "epsilon, the evaluator's cost advantage, must be at least 0 and below 1. "
            f"Got {epsilon}; Calderon et al. (2025) use 0.2, 0.15 and 0.1."
        )
    scores = study.scores
    if scores is None or scores.empty:
        raise Unsupported(
            "no_scores",
            f"{study.name} has no scores: add a table of scores to the study, with an "
            "evaluator's labels or numbers for judged outputs, on the scale of the judgments.",
        )
    dimension = study.dimension(dimension)
    judged = _read_judgments(study, dimension)
    kind = agreement or _choose_agreement(study, judged, dimension)
    rows, people, curves = [], [], []
    for name in scores["evaluator"].unique():
        score = scores[scores["evaluator"] == name].set_index("output_id")["score"]
        scored = judged.assign(score=judged["output_id"].map(score).to_numpy(dtype=np.float64))
        row, tests, omega = _test_evaluator(scored, kind, epsilon, 1 - confidence)
        rows.append({"evaluator": name, "label": study.label(name), "agreement": kind} | row)
        people.append(tests.assign(evaluator=name))
        curve = pd.DataFrame({"epsilon": _GRID[_CURVE], "omega": omega})
        curves.append(curve.assign(evaluator=name)[["evaluator", "epsilon", "omega"]])
    table = split_status(pd.DataFrame(rows)).assign(epsilon=epsilon, confidence=confidence)
    table = table.assign(p_adjusted=adjust(table["p"]), n_tested=table["p"].notna().sum())
    replaces = table["p_adjusted"] <= 1 - confidence
    table["verdict"] = np.select([table["p"].isna(), replaces], ["", "replaces"], "not shown")
    table = table.sort_values("estimate", ascending=False, kind="stable", ignore_index=True)
    return Replacement(
        table.reindex(columns=list(_EVALUATORS)),
        table.reindex(columns=list(_DETAILS)),
        split_status(pd.concat(people, ignore_index=True)).reindex(columns=list(_ANNOTATORS)),
        pd.concat(curves, ignore_index=True),
    )


_EVALUATORS = (
    *("evaluator", "epsilon", "estimate", "ci_low", "ci_high", "covers", "omega", "p"),
    *("p_adjusted", "n_tested", "verdict", "least_epsilon", "n_annotators", "status", "reason"),
)
_DETAILS = (
    *("evaluator", "label", "agreement", "omega_paper", "se", "power", "n_left_out", "n_outputs"),
    *("n_clusters", "n_missing", "confidence"),
)
_ANNOTATORS = (
    *("evaluator", "annotator_id", "difference", "advantage", "p", "p_adjusted", "rejected"),
    *("p_paper", "rejected_paper", "power", "n_outputs", "n_ties", "n_clusters", "design_effect"),
    *("status", "reason"),
)


def _read_judgments(study: Study, dimension: str) -> pd.DataFrame:
    """Return a row per output and annotator, for outputs with at least two annotators."""
    # An annotator who judged an output in two groups must not count as another annotator.
    frame = study.judged(dimension).drop_duplicates(["output_id", "annotator_id"])
    frame = frame[frame.duplicated("output_id", keep=False)].reset_index(drop=True)
    if frame.empty:
        raise Unsupported(
            "one_annotator",
            f"no output of {study.name} has judgments of {dimension!r} by two annotators: add "
            "judgments, because the test compares annotators of the same output.",
        )
    cluster = frame["cluster"] if study.clusters in study.outputs else frame["item_id"]
    return frame.assign(
        cluster=pd.factorize(cluster)[0], value=study.sign(dimension) * frame["value"]
    )


def _choose_agreement(study: Study, judged: pd.DataFrame, dimension: str) -> Agreement:
    """Choose the measure of agreement from the values, or raise an error if it is ambiguous."""
    n_values = judged["value"].nunique()
    if n_values <= 2:
        return "accuracy"
    if study.scale(dimension) is not None:
        return "rmse"
    raise ValueError(
        f"judgments of {dimension!r} have {n_values} different values, which may be labels or "
        "numbers: set agreement='accuracy' for labels, or 'rmse' for numbers."
    )


def differences(output: Ints, value: Floats, score: Floats, kind: Agreement) -> NDArray[np.int8]:
    """Compare agreement with the others: 1 if the judgment's is better, -1 if the score's is."""
    if kind == "accuracy":
        names, label = np.unique(value, return_inverse=True)
        code = np.minimum(np.searchsorted(names, score), len(names) - 1)
        n_of = np.bincount(output * len(names) + label, minlength=(output.max() + 1) * len(names))
        of_value, of_score = n_of[output * len(names) + label], n_of[output * len(names) + code]
        equal = names[code] == score
        for_score = np.where(equal, of_score - (code == label), 0)
        return np.sign(of_value - 1 - for_score).astype(np.int8)
    # (score - o)^2 - (value - o)^2, summed over the others o, is factored to keep ties exact.
    near = rounding_error(value)
    center = value.mean()
    value, score = value - center, score - center
    n_others, total = np.bincount(output) - 1, np.bincount(output, value)
    apart = score - value
    middle = (score + value) / 2 - (total[output] - value) / n_others[output]
    sign = np.sign(apart) * np.sign(middle)
    return np.where((abs(apart) <= near) | (abs(middle) <= near), 0, sign).astype(np.int8)


def _differences_in(scored: pd.DataFrame, kind: Agreement) -> NDArray[np.int8]:
    output = pd.factorize(scored["output_id"])[0]
    value, score = (scored[name].to_numpy(dtype=np.float64) for name in ("value", "score"))
    return differences(output, value, score, kind)


@dataclass(frozen=True)
class Counts:
    """By annotator: numbers of outputs (all, agreeing better, agreeing worse), and clusters."""

    n: Floats
    better: Floats
    worse: Floats
    #: Variance of the mean difference, divided by that of n independent outputs; at least 1.
    design_effect: Floats
    #: Effective number of clusters.
    n_clusters: Floats


def count(difference: NDArray[np.int8], annotator: Ints, cluster: Ints) -> Counts:
    """Count each annotator's differences, with the design effect of clusters."""
    m = int(annotator.max(initial=-1)) + 1
    n = np.bincount(annotator, minlength=m).astype(float)
    better = np.bincount(annotator, difference > 0, minlength=m).astype(float)
    worse = np.bincount(annotator, difference < 0, minlength=m).astype(float)
    cells, cell = np.unique(annotator * (cluster.max(initial=0) + 1) + cluster, return_inverse=True)
    who = cells // (cluster.max(initial=0) + 1)
    size = np.bincount(cell).astype(float)
    total = np.bincount(cell, difference)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (better - worse) / n
        without = (n * mean)[who] - total
        without = without / (n[who] - size)
        n_cells = np.bincount(who, minlength=m)
        center = np.bincount(who, without, minlength=m) / n_cells
        spread = np.bincount(who, (without - center[who]) ** 2, minlength=m)
        jackknife = spread * (n_cells - 1) / n_cells
        plain = ((better + worse) / n - mean**2) / (n - 1)
        squares = np.bincount(who, size**2, minlength=m)
        effect = np.where(plain > 1e-15, np.maximum(jackknife / plain, 1), squares / n)
        # With few decided outputs, the correlation within clusters is uncertain: shrink it toward
        # full correlation, as if by one more output.
        decided = better + worse
        effect = (decided * effect + squares / n) / (decided + 1)
        return Counts(n, better, worse, effect, n**2 / squares)


def score_p(counts: Counts, epsilon: Floats) -> Floats:
    """Compute p of mean difference >= epsilon, by the score test: (annotators, epsilons)."""
    n, better, worse = (values[:, None] for values in (counts.n, counts.better, counts.worse))
    effect, df = counts.design_effect[:, None], counts.n_clusters[:, None] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        error = null_error(better / n, worse / n, epsilon) * np.sqrt(effect / n)
        return np.asarray(student.cdf(((better - worse) / n - epsilon) / error, df))


def null_error(better: Floats, worse: Floats, epsilon: Floats) -> Floats:
    """Compute the standard deviation of a difference under the null hypothesis.

    It uses the maximum likelihood shares under ``better - worse = epsilon`` (Tango 1998).
    """
    b = -better - worse + (2 - better + worse) * epsilon
    c = -worse * epsilon * (1 - epsilon)
    share = (np.sqrt(np.maximum(b**2 - 8 * c, 0)) - b) / 4
    return np.sqrt(np.maximum(2 * share + epsilon * (1 - epsilon), 0))


def t_p(counts: Counts, epsilon: float) -> Floats:
    """Compute p of mean difference >= epsilon by the paper's t test over outputs."""
    mean = (counts.better - counts.worse) / counts.n
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = ((counts.better + counts.worse) / counts.n - mean**2) / (counts.n - 1)
        return np.asarray(student.cdf((mean - epsilon) / np.sqrt(variance), counts.n - 1))


def adjust_dependent(p: Floats) -> Floats:
    """Adjust p over annotators, the first axis (Benjamini and Yekutieli 2001); NaN counts as 1."""
    return np.asarray(false_discovery_control(np.nan_to_num(p, nan=1.0), axis=0, method="by"))


def power(counts: Counts, epsilon: float, level: float) -> Floats:
    """Compute the power of each annotator's test if their mean difference is 0."""
    decided = (counts.better + counts.worse) / counts.n  # at the observed share of decided outputs
    root = np.sqrt(counts.design_effect / counts.n)
    with np.errstate(invalid="ignore", divide="ignore"):
        critical = student.ppf(1 - level, counts.n_clusters - 1)
        gap = epsilon - critical * null_error(decided / 2, decided / 2, np.array(epsilon)) * root
        values = norm.cdf(gap / (np.sqrt(decided) * root))
    return np.where(counts.n_clusters > 1, values, np.nan)


def _test_evaluator(
    judged: pd.DataFrame, kind: Agreement, epsilon: float, level: float
) -> tuple[dict[str, object], pd.DataFrame, Floats]:
    """Test one evaluator; return its row, its annotators, and omega by epsilon."""
    scored = judged.dropna(subset="score")
    if kind == "accuracy":  # labels may differ by rounding
        unit = min(1.0, scored["value"].abs().max()) or 1.0
        scored = scored.assign(
            value=(scored["value"] / unit).round(9), score=(scored["score"] / unit).round(9)
        )
    scores, values = scored.drop_duplicates("output_id")["score"], scored["value"]
    n_of = scored.groupby("annotator_id")["value"].transform("size")
    names = scored.loc[n_of >= FEWEST_ITEMS, "annotator_id"].drop_duplicates().to_numpy()
    row: dict[str, object] = {
        "n_annotators": len(names),
        "n_left_out": judged["annotator_id"].nunique() - len(names),
        "n_outputs": len(scores),
        "n_clusters": scored["cluster"].nunique(),
        "n_missing": judged["output_id"].nunique() - len(scores),
    }
    inside = scores.between(values.min(), values.max())
    if kind == "accuracy":
        inside = scores.isin(values)
    missing = OK
    if len(scores) and not inside.any():
        missing = explain("other_labels" if kind == "accuracy" else "other_scale")
    elif not len(names):
        missing = explain("few_scored", least=FEWEST_ITEMS)
    if missing:
        row |= {"p": np.nan, "estimate": np.nan, "covers": "", "status": missing}
        return row, pd.DataFrame(columns=list(_ANNOTATORS)), np.full(_CURVE.sum(), np.nan)
    who = pd.Index(names).get_indexer(pd.Index(scored["annotator_id"]))  # -1 marks the untested
    is_tested = who >= 0
    difference = _differences_in(scored, kind)
    counts = count(difference[is_tested], who[is_tested], scored["cluster"].to_numpy()[is_tested])
    annotators = _test_annotators(names, counts, epsilon, level)
    omegas = (adjust_dependent(score_p(counts, _GRID)) <= level).mean(axis=0)
    enough = _GRID[omegas >= 0.5]
    row |= {
        "omega": annotators["rejected"].mean(),
        "omega_paper": annotators["rejected_paper"].mean(),
        # At the level p, half of the annotators are rejected.
        "p": np.sort(adjust_dependent(annotators["p"].to_numpy()))[-(-len(names) // 2) - 1],
        "least_epsilon": enough[0] if len(enough) else np.nan,
        "power": annotators["power"].mean(),
        **_rho(scored, who, difference <= 0, kind, level),
    }
    return row, annotators, omegas[_CURVE]


def _test_annotators(names: NDArray, counts: Counts, epsilon: float, level: float) -> pd.DataFrame:
    n, p, p_paper = counts.n, score_p(counts, np.array([epsilon]))[:, 0], t_p(counts, epsilon)
    # If clusters do not vary, p is undefined and nothing is rejected.
    p_adjusted, m = adjust_dependent(p), len(names)
    # The level that half of the annotators must reach for omega to be one half.
    level_of_half = level * -(-m // 2) / (m * (1 / np.arange(1, m + 1)).sum())
    untested = np.isnan(p)
    return pd.DataFrame(
        {
            "annotator_id": names,
            "difference": (counts.better - counts.worse) / n,
            "advantage": 1 - counts.better / n,
            "p": p,
            "p_adjusted": np.where(untested, np.nan, p_adjusted),
            "rejected": p_adjusted <= level,
            "p_paper": p_paper,
            "rejected_paper": adjust_dependent(p_paper) <= level,
            "power": power(counts, epsilon, level_of_half),
            "n_outputs": n.astype(int),
            "n_ties": (n - counts.better - counts.worse).astype(int),
            "n_clusters": counts.n_clusters,
            "design_effect": counts.design_effect,
            "status": [
                explain("one_cluster") if undefined else few_clusters(k)
                for undefined, k in zip(untested, counts.n_clusters, strict=True)
            ],
        }
    )


def _rho(
    scored: pd.DataFrame, who: Ints, wins: NDArray[np.bool_], kind: Agreement, level: float
) -> dict[str, object]:
    """Compute rho with an interval over clusters, and over annotators if there are at least ten."""
    m, cluster = int(who.max()) + 1, pd.factorize(scored["cluster"])[0]
    is_tested = who >= 0
    n, won = np.zeros((2, m, int(cluster.max()) + 1))
    np.add.at(n, (who[is_tested], cluster[is_tested]), 1)
    np.add.at(won, (who[is_tested], cluster[is_tested]), wins[is_tested])
    rho = float((won.sum(axis=1) / n.sum(axis=1)).mean())
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (won.sum(axis=1, keepdims=True) - won) / (n.sum(axis=1, keepdims=True) - n)
    effective = clustering.effective_size(cluster[is_tested])
    variances, df = [jackknife_variance(without.mean(axis=0))], effective - 1
    if m >= FEWEST:
        left_out = np.array([_rho_of(scored[who != i], who[who != i], kind) for i in range(m)])
        of_cells = [jackknife_variance(without[i][n[i] > 0]) for i in range(m)]
        variances += [jackknife_variance(left_out), np.sum(of_cells) / m**2]
        df = min(effective, m) - 1  # annotators have equal weight in rho
    se = np.sqrt(clustering.largest_variance(*variances))
    interval: dict[str, Any] = clustering.t_interval(rho, se, df + 1, confidence=1 - level)
    row = {"estimate": rho, "se": se, "ci_low": interval["ci_low"], "ci_high": interval["ci_high"]}
    covers = clustering.OTHER_ANNOTATORS if m >= FEWEST else clustering.THESE_ANNOTATORS
    return row | {"covers": covers, "status": Status(interval["status"], interval["reason"])}


def _rho_of(scored: pd.DataFrame, who: Ints, kind: Agreement) -> float:
    """Compute rho from outputs that still have two judgments; who < 0 marks untested annotators."""
    again = scored.duplicated("output_id", keep=False).to_numpy()
    if not again.any():
        return float("nan")
    wins = pd.Series(_differences_in(scored[again], kind) <= 0)
    return float(wins[who[again] >= 0].groupby(who[again][who[again] >= 0]).mean().mean())
