"""May an evaluator replace an annotator: the alternative annotator test, and how far it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from nlgbench.crossed import (
    FEWEST,
    OTHER_ANNOTATORS,
    THESE_ANNOTATORS,
    effective_size,
    few_clusters,
    jackknife_variance,
    largest_variance,
)
from nlgbench.inference import Floats
from nlgbench.names import known
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked

Ints = NDArray[np.int64]
Agreement = Literal["accuracy", "rmse"]

#: An annotator with fewer items is not tested (Calderon, Reichart and Dror 2025, section 3).
FEWEST_ITEMS = 30
#: The power at which something is called detectable.
POWER = 0.8
#: Where the test is asked, for curves and by inversion: every thousandth.
_GRID = np.arange(-999, 1000) / 1000
_CURVE = np.arange(0, 501) / 1000


@dataclass(frozen=True, eq=False)
class Replacement(Reported):
    """Whether evaluators may replace annotators: what `replaces_annotators` found, as tables.

    Parameters
    ----------
    evaluators, details, annotators, curve : DataFrame
        As `replaces_annotators` says.

    Examples
    --------
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

    def _shown(self) -> pd.DataFrame:
        return self.evaluators.round(3)


@checked
def replaces_annotators(
    study: Study,
    *,
    epsilon: float,
    dimension: str | None = None,
    agreement: Agreement | None = None,
    clusters: str | None = None,
    confidence: float = 0.95,
) -> Replacement:
    """Say whether evaluators may stand in for annotators: the alternative annotator test.

    Each annotator in turn is held against an evaluator: which of the two agrees better with the
    other annotators?

    Parameters
    ----------
    study : Study
        With judgments, several annotators of an output, and scores that are labels or numbers of
        the same kind as people's. All evaluators are tested.
    epsilon : float
        How much less often than the annotator the evaluator may be the better one, for its being
        cheaper: 0 or more, below 1, chosen before the data are looked at. The paper's: .2 for
        experts, .15 for skilled annotators, .1 for a crowd.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    agreement : {"accuracy", "rmse"}, optional
        How an annotation agrees with the others' of an output: the share that are equal
        (labels), or minus the root of the mean squared difference (numbers). Default: "accuracy"
        where people gave at most two different values, as both then say the same; "rmse" where
        ``settings["scales"]`` has the dimension. Else it must be said, as labels are coded as
        numbers.
    clusters : str, optional
        A column of outputs whose equal values go together. Default: ``settings["clusters"]`` where
        it is one, else ``item_id``.
    confidence : float
        Coverage asked for, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    Replacement
        ``evaluators``, the greatest rho first: evaluator, omega (share of annotators for whom the
        test rejects), verdict ("replaces" where that is one half or more, else "not shown"),
        least_epsilon (from which on omega is one half or more, in thousandths; NaN: nowhere below
        1), rho (the chance that the evaluator agrees at least as well as an annotator, mean over
        annotators), ci_low, ci_high, covers (what the interval of rho generalizes to), n_annotators
        (tested), reason.

        ``details``, by evaluator: label, epsilon, agreement, omega_paper (by the paper's own t
        test, which takes outputs for independent), se, power (mean of the annotators'), n_rejected,
        n_left_out (annotators with fewer than 30 outputs), n_outputs, n_clusters, n_missing
        (outputs without a score), n_outside (scores that are no label, or out of the range, of
        people's).

        ``annotators``, a row for each evaluator and annotator: evaluator, annotator_id, difference
        (share of outputs where the annotator agrees better, less that where the evaluator does),
        ci_low, ci_high, advantage (share where the evaluator agrees at least as well; rho is its
        mean), p (of difference >= epsilon), p_adjusted (Benjamini and Yekutieli, over annotators),
        rejected, p_paper, rejected_paper, power (to be one of the half that reject, were the
        difference 0), detectable (the greatest difference at which that power is .8; NaN: none),
        n_outputs, n_ties, n_clusters (effective), design_effect, reason.

        ``curve``: evaluator, epsilon (thousandths, 0 to .5), omega.

    Raises
    ------
    ValueError
        Without scores or judgments, or where no output has two annotators; for an epsilon out of
        its range, an unknown dimension or column, or where `agreement` must be said.

    Notes
    -----
    Calderon, Reichart and Dror (2025, doi:10.48550/arXiv.2501.10970). Of an output, d is 1 where
    the annotator agrees better with the others, -1 where the evaluator does, 0 where both do
    alike. The paper's test is Student's t of mean d < epsilon over outputs. d has three values,
    and where it is mostly 0 that test rejects too often. Here it is the score test of a difference
    of paired shares (Tango 1998, *Statistics in Medicine* 17, 891-908), its variance taken times
    the design effect of clusters (that of a delete-one-cluster jackknife over that of independent
    outputs, at least 1, and as if one more decided output had said that a cluster speaks as one)
    and held against t with one degree of freedom less than the effective number of clusters,
    ``(sum n)^2 / sum n^2``. docs/replacing-annotators.md has the level that was measured. Intervals
    of differences are its inversion. That of rho is a jackknife over clusters, and from ten
    annotators on over them, too (the largest of ``V_I``, ``V_A`` and ``V_I + V_A - V_IA``, each
    annotator left out as judge and as one of the others). Omega has none: it counts rejections at
    this study's size, and no population has such a number. Numbers within 1e-9 of the range of
    people's values are equal.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_annotators=12, seed=1)
    >>> found = replaces_annotators(study, epsilon=0.1, agreement="rmse")
    >>> found.evaluators[["evaluator", "omega", "verdict", "rho"]].round(2)
      evaluator  omega    verdict   rho
    0     close    1.0   replaces  0.69
    1    coarse    0.0  not shown  0.41
    2     blind    0.0  not shown  0.09
    """
    if not 0 <= epsilon < 1:
        raise ValueError(
            f"epsilon must be 0 or more, and below 1: how much less often the evaluator may be the "
            f"better one. Got {epsilon}: the paper's are 0.2, 0.15 and 0.1."
        )
    dimension = study.dimension(dimension)
    level, scores = 1 - confidence, _scores(study)
    judged = _judged(study, dimension, clusters)
    kind = _agreement(study, judged, dimension, agreement)
    rows, people, curves = [], [], []
    for name in scores["evaluator"].unique():
        own = scores[scores["evaluator"] == name].set_index("output_id")["score"]
        against = judged.assign(score=judged["output_id"].map(own).to_numpy(dtype=np.float64))
        row, tested, curve = _tested(against, kind, epsilon, level)
        of = {"evaluator": name}
        asked = {"label": study.label(name), "epsilon": epsilon, "agreement": kind}
        rows.append(of | asked | row)
        people.append(tested.assign(evaluator=name))
        curves.append(pd.DataFrame(of | {"epsilon": _CURVE, "omega": curve}))
    whole = pd.DataFrame(rows).sort_values("rho", ascending=False, kind="stable", ignore_index=True)
    return Replacement(
        whole[list(_EVALUATORS)],
        whole[list(_DETAILS)],
        pd.concat(people, ignore_index=True)[list(_ANNOTATORS)],
        pd.concat(curves, ignore_index=True),
    )


_EVALUATORS = (
    *("evaluator", "omega", "verdict", "least_epsilon", "rho", "ci_low", "ci_high", "covers"),
    *("n_annotators", "reason"),
)
_DETAILS = (
    *("evaluator", "label", "epsilon", "agreement", "omega_paper", "se", "power", "n_rejected"),
    *("n_left_out", "n_outputs", "n_clusters", "n_missing", "n_outside"),
)
_ANNOTATORS = (
    *("evaluator", "annotator_id", "difference", "ci_low", "ci_high", "advantage", "p"),
    *("p_adjusted", "rejected", "p_paper", "rejected_paper", "power", "detectable", "n_outputs"),
    *("n_ties", "n_clusters", "design_effect", "reason"),
)


def _scores(study: Study) -> pd.DataFrame:
    scores = study.scores
    if scores is None or scores.empty:
        raise ValueError(
            f"{study.name} has no scores: give Study(scores=...) with an evaluator's labels or "
            "numbers, of the kind that people gave, for outputs that they judged."
        )
    return scores


def _judged(study: Study, dimension: str, clusters: str | None) -> pd.DataFrame:
    """Give a row per output and annotator, of outputs with two annotators."""
    outputs = study.outputs
    if clusters is not None:
        known(clusters, [str(name) for name in outputs], "clusters")
    column = clusters or study.clusters
    column = column if column in outputs else "item_id"
    # An annotator who judged an output in two groups would be one of the others of themselves.
    frame = study.judged(dimension).drop_duplicates(["output_id", "annotator_id"])
    n_of = frame.groupby("output_id")["value"].transform("size")
    frame = frame.loc[n_of > 1, ["output_id", "annotator_id", "value"]].reset_index(drop=True)
    if frame.empty:
        raise ValueError(
            f"no output of {study.name} has judgments of {dimension!r} by two annotators: each "
            "annotator is held against the others of the same output."
        )
    place = pd.Index(outputs["output_id"]).get_indexer(frame["output_id"])
    of = outputs[column].to_numpy(dtype=object)[place]
    if pd.isna(of).any() or (of == "").any():
        raise ValueError(
            f"clusters={column!r} is empty for some judged outputs: fill it in, or choose another "
            "column."
        )
    return frame.assign(cluster=pd.factorize(of)[0], value=study.sign(dimension) * frame["value"])


def _agreement(
    study: Study, judged: pd.DataFrame, dimension: str, agreement: Agreement | None
) -> Agreement:
    """Say how agreement is measured."""
    if agreement is not None:
        return agreement
    n_values = judged["value"].nunique()
    if n_values <= 2:
        return "accuracy"
    if study.scale(dimension) is not None:
        return "rmse"
    raise ValueError(
        f"judgments of {dimension!r} have {n_values} different values, which may be labels or "
        "numbers: say agreement='accuracy' for labels, or 'rmse' for numbers."
    )


def differences(output: Ints, value: Floats, score: Floats, kind: Agreement) -> NDArray[np.int8]:
    """Say of each judgment whether it (1) or the score (-1) is nearer to the output's others."""
    if kind == "accuracy":
        names, label = np.unique(value, return_inverse=True)
        said = np.minimum(np.searchsorted(names, score), len(names) - 1)
        n_of = np.bincount(output * len(names) + label, minlength=(output.max() + 1) * len(names))
        own, of_score = n_of[output * len(names) + label], n_of[output * len(names) + said]
        equal = names[said] == score
        for_score = np.where(equal, of_score - (said == label), 0)
        return np.sign(own - 1 - for_score).astype(np.int8)
    # (score - o)^2 - (value - o)^2, summed over the others o, factored so that ties stay ties.
    near = 1e-9 * float(np.ptp(value)) + 1e-14 * float(np.abs(value).max())
    center = value.mean()
    value, score = value - center, score - center
    others, total = np.bincount(output) - 1, np.bincount(output, value)
    apart = score - value
    middle = (score + value) / 2 - (total[output] - value) / others[output]
    sign = np.sign(apart) * np.sign(middle)
    return np.where((abs(apart) <= near) | (abs(middle) <= near), 0, sign).astype(np.int8)


@dataclass(frozen=True)
class Counts:
    """Of each annotator: outputs, where they agree better, and worse; and what clusters do."""

    n: Floats
    better: Floats
    worse: Floats
    #: Variance of the mean difference, over that of as many independent outputs; at least 1.
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
        # Few decided outputs say little of how clusters hang together: as if one more had said that
        # a cluster speaks as one.
        decided = better + worse
        effect = (decided * effect + squares / n) / (decided + 1)
        return Counts(n, better, worse, effect, n**2 / squares)


def score_p(counts: Counts, epsilon: Floats) -> Floats:
    """Give p of mean difference >= epsilon, by the score test; shape (annotators, epsilons)."""
    n, better, worse = (each[:, None] for each in (counts.n, counts.better, counts.worse))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = null_error(better / n, worse / n, epsilon) * np.sqrt(
            counts.design_effect[:, None] / n
        )
        found = student.cdf(
            ((better - worse) / n - epsilon) / error, counts.n_clusters[:, None] - 1
        )
    return np.asarray(found)


def null_error(better: Floats, worse: Floats, epsilon: Floats) -> Floats:
    """Give the standard deviation of a difference whose mean is epsilon, nearest to these shares.

    The shares are those of greatest likelihood under ``better - worse = epsilon`` (Tango 1998).
    """
    b = -better - worse + (2 - better + worse) * epsilon
    c = -worse * epsilon * (1 - epsilon)
    share = (np.sqrt(np.maximum(b**2 - 8 * c, 0)) - b) / 4
    return np.sqrt(np.maximum(2 * share + epsilon * (1 - epsilon), 0))


def t_p(counts: Counts, epsilon: float) -> Floats:
    """Give p of mean difference >= epsilon by the paper's t test over outputs."""
    mean = (counts.better - counts.worse) / counts.n
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = ((counts.better + counts.worse) / counts.n - mean**2) / (counts.n - 1)
        return np.asarray(student.cdf((mean - epsilon) / np.sqrt(variance), counts.n - 1))


def adjusted(p: Floats) -> Floats:
    """Adjust p over annotators, the first axis (Benjamini and Yekutieli 2001)."""
    return np.asarray(false_discovery_control(p, axis=0, method="by")) if len(p) else p


def power(counts: Counts, epsilon: float, difference: Floats, level: float) -> Floats:
    """Give the power of each annotator's test (annotators, differences), by the normal law.

    Outputs are taken to be decided as often as they were here.
    """
    decided = ((counts.better + counts.worse) / counts.n)[:, None]
    true = np.clip(difference, -decided, decided)
    root = np.sqrt(counts.design_effect / counts.n)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        null = null_error((decided + true) / 2, (decided - true) / 2, np.array(epsilon)) * root
        critical = student.ppf(1 - level, counts.n_clusters - 1)[:, None]
        gap = epsilon - true - critical * null
        error = np.sqrt(np.maximum(decided - true**2, 0)) * root
        found = np.where(error > 0, norm.cdf(gap / np.where(error > 0, error, 1)), gap > 0)
    return np.where((abs(difference) <= decided) & (counts.n_clusters > 1)[:, None], found, np.nan)


def level_of_half(m: int, level: float) -> float:
    """Give the level that p of half the annotators must meet for omega to be one half."""
    return level * -(-m // 2) / (m * float((1 / np.arange(1, m + 1)).sum()))


def _tested(
    judged: pd.DataFrame, kind: Agreement, epsilon: float, level: float
) -> tuple[dict[str, object], pd.DataFrame, Floats]:
    """Test one evaluator: its row, its annotators, and omega along the curve."""
    is_first = ~judged["output_id"].duplicated()
    lacks = judged["score"].isna()
    there = judged[~lacks].reset_index(drop=True)
    value, said = there["value"], there.loc[~there["output_id"].duplicated(), "score"]
    outside = (
        ~said.round(9).isin(value.round(9).unique())
        if kind == "accuracy"
        else (said < value.min()) | (said > value.max())
    )
    n_of = there.groupby("annotator_id")["value"].transform("size")
    names = there.loc[n_of >= FEWEST_ITEMS, "annotator_id"].drop_duplicates().to_numpy()
    row: dict[str, object] = {
        "n_annotators": len(names),
        "n_left_out": judged["annotator_id"].nunique() - len(names),
        "n_outputs": len(said),
        "n_clusters": there["cluster"].nunique(),
        "n_missing": int((lacks & is_first).sum()),
        "n_outside": int(outside.sum()),
    }
    unknown = ""
    if len(said) and outside.all():
        unknown = "no score is a value that people gave: " + (
            "other labels" if kind == "accuracy" else "another scale"
        )
    elif not len(names):
        unknown = f"no annotator has {FEWEST_ITEMS} outputs that were scored"
    if unknown:
        missing = ("omega", "omega_paper", "least_epsilon", "rho", "ci_low", "ci_high", "se")
        row |= dict.fromkeys((*missing, "power"), np.nan)
        row |= {"verdict": "", "covers": "", "n_rejected": 0, "reason": unknown}
        return row, pd.DataFrame(columns=list(_ANNOTATORS)), np.full(len(_CURVE), np.nan)
    if kind == "accuracy":  # labels that differ by rounding are equal
        there = there.round({"value": 9, "score": 9})
    place = pd.Index(names).get_indexer(pd.Index(there["annotator_id"]))
    is_tested = place >= 0
    given = _Given(
        pd.factorize(there["output_id"])[0],
        there["value"].to_numpy(dtype=np.float64),
        there["score"].to_numpy(dtype=np.float64),
        place,
        kind,
    )
    difference = differences(given.output, given.value, given.score, kind)
    cluster = there["cluster"].to_numpy()
    counts = count(difference[is_tested], place[is_tested], cluster[is_tested])
    everywhere = score_p(counts, _GRID)
    annotators = _annotators(names, counts, everywhere, epsilon, level)
    omegas = (adjusted(np.nan_to_num(everywhere, nan=1.0)) <= level).mean(axis=0)
    enough = (omegas >= 0.5) & (_GRID >= 0)
    row |= {
        "omega": annotators["rejected"].mean(),
        "omega_paper": annotators["rejected_paper"].mean(),
        "n_rejected": int(annotators["rejected"].sum()),
        "verdict": "replaces" if annotators["rejected"].mean() >= 0.5 else "not shown",
        "least_epsilon": _GRID[enough][0] if enough.any() else np.nan,
        "power": annotators["power"].mean(),
        **_rho(given, difference, cluster, len(names), level),
    }
    return row, annotators, omegas[np.searchsorted(_GRID, _CURVE - 1e-9)]


def _annotators(
    names: NDArray, counts: Counts, everywhere: Floats, epsilon: float, level: float
) -> pd.DataFrame:
    n, m = counts.n, len(names)
    p, p_paper = score_p(counts, np.array([epsilon]))[:, 0], t_p(counts, epsilon)
    # Without a spread between clusters nothing can be said, and so nothing is rejected.
    p_adjusted = adjusted(np.nan_to_num(p, nan=1.0))
    untested = np.isnan(p)
    has_power = power(counts, epsilon, _GRID[None, :], level_of_half(m, level))
    detectable = np.where(has_power >= POWER, _GRID, -np.inf).max(axis=1)
    low, high = everywhere > 1 - level / 2, everywhere <= level / 2
    return pd.DataFrame(
        {
            "annotator_id": names,
            "difference": (counts.better - counts.worse) / n,
            "ci_low": np.where(untested, np.nan, np.where(low, _GRID, -1).max(axis=1)),
            "ci_high": np.where(untested, np.nan, np.where(high, _GRID, 1).min(axis=1)),
            "advantage": 1 - counts.better / n,
            "p": p,
            "p_adjusted": np.where(untested, np.nan, p_adjusted),
            "rejected": p_adjusted <= level,
            "p_paper": p_paper,
            "rejected_paper": adjusted(np.nan_to_num(p_paper, nan=1.0)) <= level,
            "power": has_power[:, len(_GRID) // 2],
            "detectable": np.where(np.isfinite(detectable), detectable, np.nan),
            "n_outputs": n.astype(int),
            "n_ties": (n - counts.better - counts.worse).astype(int),
            "n_clusters": counts.n_clusters,
            "design_effect": counts.design_effect,
            "reason": [
                "one cluster: its spread is unknown" if one else few_clusters(int(k))
                for one, k in zip(untested, counts.n_clusters + 1e-9, strict=True)
            ],
        }
    )


@dataclass(frozen=True)
class _Given:
    """Judgments that have a score, in numbers."""

    output: Ints
    value: Floats
    score: Floats
    #: Which tested annotator; below 0 for who is only one of the others.
    annotator: Ints
    kind: Agreement


def _rho(
    given: _Given, difference: NDArray[np.int8], cluster: Ints, m: int, level: float
) -> dict[str, object]:
    """Give rho with an interval over clusters, and over annotators where there are ten."""
    is_tested = given.annotator >= 0
    who, cluster = given.annotator[is_tested], pd.factorize(cluster[is_tested])[0]
    wins = (difference[is_tested] <= 0).astype(float)
    k = int(cluster.max()) + 1
    n, won = np.zeros((2, m, k))
    np.add.at(n, (who, cluster), 1)
    np.add.at(won, (who, cluster), wins)
    each = won.sum(axis=1) / n.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (won.sum(axis=1, keepdims=True) - won) / (n.sum(axis=1, keepdims=True) - n)
    rho = float(each.mean())
    effective = effective_size(cluster)
    v_items = jackknife_variance(without.mean(axis=0))
    variance, df, reasons = v_items, effective - 1, [few_clusters(int(effective + 1e-9))]
    if m >= FEWEST:
        left_out = np.array([_without(given, one, m) for one in range(m)])
        v_people = jackknife_variance(left_out)
        of_cells = [jackknife_variance(own[seen > 0]) for own, seen in zip(without, n, strict=True)]
        v_both = float(np.sum(of_cells)) / m**2
        variance = float(largest_variance(v_items, v_people, v_both))
        df = min(effective, m) - 1  # all annotators weigh alike in rho
    known_spread = np.isfinite(variance) and variance > 1e-24 and df > 0
    if not known_spread:
        reasons.append("without one of them rho is always the same, or undefined: no interval")
    half = student.ppf(1 - level / 2, df) * np.sqrt(variance) if known_spread else np.nan
    return {
        "rho": rho,
        "ci_low": rho - half,
        "ci_high": rho + half,
        "se": float(np.sqrt(variance)) if known_spread else np.nan,
        "covers": OTHER_ANNOTATORS if m >= FEWEST else THESE_ANNOTATORS,
        "reason": "; ".join(filter(None, reasons)),
    }


def _without(given: _Given, one: int, m: int) -> float:
    """Give rho without an annotator, who is then none of the others either."""
    kept = given.annotator != one
    kept &= np.bincount(given.output, kept)[given.output] > 1
    if not (given.annotator[kept] >= 0).any():
        return float("nan")
    who = given.annotator[kept]
    each = given.output[kept], given.value[kept], given.score[kept]
    wins = (differences(*each, given.kind) <= 0)[who >= 0].astype(float)
    n = np.bincount(who[who >= 0], minlength=m)
    won = np.bincount(who[who >= 0], wins, minlength=m)
    return float((won[n > 0] / n[n > 0]).mean())
