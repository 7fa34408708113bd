"""Coefficients of agreement, and their intervals over units and annotators.

A unit is an output, or a pair of outputs, with several judgments. All coefficients average over
pairs of a unit's judgments. They are functions of sums, to which a unit contributes a weighted
quadratic function of its counts of judgments. The contribution of a cluster of units, or of the
pairs that involve an annotator, can therefore be subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from nlgbench.arrays import Floats, Ints
from nlgbench.clustering import Statistic, factors, incidence, jackknife, t_interval
from nlgbench.inference import ratio
from nlgbench.status import OK, Status

Metric = Literal["nominal", "ordinal", "interval"]
#: With more distinct values, equal values are rare and do not measure agreement.
MOST_VALUES = 30


class UnitJudgments(NamedTuple):
    """Judgments as arrays, and the k clusters of each unit (units, k)."""

    unit: Ints
    annotator: Ints
    cluster: Ints


class Sums(NamedTuple):
    """How to compute sums from judgments, and an estimate from sums."""

    #: What each judgment contributes to its unit's row (judgments, m).
    rows: Floats
    #: Maps units' rows (n, m) to their unweighted contributions to the sums (n, ...).
    parts_of: Callable[[Floats], Floats]
    statistic: Statistic
    #: The weight of each unit.
    weight: Floats
    #: An evaluator's verdicts by unit (units, classes), which are crossed with the judgments.
    verdicts: Floats | None = None

    def of(self, rows: Floats, unit: Ints) -> Floats:
        """Compute the contribution of some units' rows to the sums."""
        contributions = self.parts_of(rows) * self.weight[unit][:, None]
        if self.verdicts is None:
            return contributions
        crossed = self.verdicts[unit][:, :, None] * contributions[:, None, :]
        # The size is not -1, which NumPy cannot derive without units.
        return crossed.reshape(len(unit), crossed.shape[1] * crossed.shape[2])


def interval_over(
    judged: UnitJudgments,
    sums: Sums,
    n: float,
    *,
    over_annotators: bool,
    units: str = "clusters",
    missing: Status = OK,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """Compute a jackknife interval of a function of sums, over clusters (and annotators)."""
    table = added(judged.unit, sums.rows, len(judged.cluster))
    contributions = sums.of(table, np.arange(len(table)))
    lost = [incidence(judged.cluster) @ contributions]
    if over_annotators:
        times = int(judged.annotator.max(initial=-1)) + 1
        cells, cell = np.unique(judged.unit * times + judged.annotator, return_inverse=True)
        unit, annotator = np.divmod(cells, times)
        without = table[unit] - added(cell, sums.rows, len(cells))
        changed = contributions[unit] - sums.of(without, unit)
        labels = factors(judged.cluster[unit], annotator[:, None])
        lost += [incidence(label) @ changed for label in labels[1:]]
    estimate, se = jackknife(sums.statistic, contributions.sum(axis=0), lost)
    interval = t_interval(estimate, se, n, units=units, missing=missing, confidence=confidence)
    if sums.statistic is percent_agreement and np.isfinite(interval["ci_low"]):
        half = float(interval["ci_high"]) - float(estimate)
        interval["ci_low"], interval["ci_high"] = map(float, logit_interval(estimate, half))
    interval["ci_high"] = np.minimum(interval["ci_high"], 1.0)  # no coefficient exceeds 1
    return interval


def logit_interval(share: Any, half_width: Any) -> tuple[Any, Any]:
    """Transform an interval of a share, given by half its width, to stay between 0 and 1."""
    middle, half = logit(share), half_width / (share * (1 - share))
    return expit(middle - half), expit(middle + half)


def sums_of(coefficient: str, metric: Metric, values: Floats, scale: Floats, unit: Ints) -> Sums:
    """Return the sums that a coefficient needs; `scale` lists the distinct values."""
    m = np.bincount(unit)
    if coefficient != "krippendorff_alpha":
        statistic = fleiss_kappa if coefficient == "fleiss_kappa" else percent_agreement
        return Sums(one_hot(values, scale), of_counts, statistic, 1 / (m * (m - 1)))
    if metric == "interval":
        return Sums(_moments(values), of_moments, interval_alpha, 1 / (m - 1))
    parts_of, statistic = of_counts, nominal_alpha
    if metric == "ordinal":
        parts_of, statistic = of_pairs, ordinal_alpha
    return Sums(one_hot(values, scale), parts_of, statistic, 1 / (m - 1))


def of_counts(counts: Floats) -> Floats:
    """Count ordered pairs of a unit's judgments: all, equal ones, and those by first value."""
    m = counts.sum(axis=1)
    equal = (counts * (counts - 1)).sum(axis=1)
    return np.column_stack([m * (m - 1), equal, (m - 1)[:, None] * counts])


def percent_agreement(sums: Floats) -> Floats:
    """Compute the mean over units of the share of equal pairs of judgments."""
    return np.asarray(ratio(sums[..., 1], sums[..., 0]))


def fleiss_kappa(sums: Floats) -> Floats:
    """Compute ``(P - P_e) / (1 - P_e)``, with equal weights (Fleiss 1971, doi:10.1037/h0031619)."""
    by_chance = (ratio(sums[..., 2:], sums[..., :1]) ** 2).sum(axis=-1)
    return np.asarray(ratio(percent_agreement(sums) - by_chance, 1 - by_chance))


def cohen_kappa(table: Floats, distance: Floats) -> Floats:
    """Compute Cohen's kappa from counts (..., classes, classes) and distances of classes."""
    n = table.sum(axis=(-2, -1))
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    observed, by_chance = ((counts * distance).sum(axis=(-2, -1)) for counts in (table, expected))
    return np.asarray(1 - ratio(n * observed, by_chance))


def gwet_ac1(table: Floats) -> Floats:
    """Compute Gwet's AC1 from counts (..., classes, classes)."""
    n = table.sum(axis=(-2, -1))
    same = ratio(np.trace(table, axis1=-2, axis2=-1), n)
    shares = ratio(table.sum(axis=-1) + table.sum(axis=-2), 2 * n[..., None])
    by_chance = (shares * (1 - shares)).sum(axis=-1) / (table.shape[-1] - 1)
    return np.asarray(ratio(same - by_chance, 1 - by_chance))


def nominal_alpha(sums: Floats) -> Floats:
    """Compute Krippendorff's alpha of labels; judgments weigh equally."""
    n, equal = sums[..., 0], sums[..., 1]
    return np.asarray(1 - (n - 1) * ratio(n - equal, n**2 - (sums[..., 2:] ** 2).sum(axis=-1)))


def of_moments(moments: Floats) -> Floats:
    """Sum over ordered pairs of a unit's judgments: 1, value, square, half the squared gap."""
    m, total, squares = moments.T
    gaps = np.maximum(m * squares - total**2, 0)
    return np.column_stack([m * (m - 1), (m - 1) * total, (m - 1) * squares, gaps])


def interval_alpha(sums: Floats) -> Floats:
    """Compute alpha of numbers; sums of squares replace the differences of all pairs."""
    n, total, squares, gaps = np.moveaxis(sums, -1, 0)
    return np.asarray(1 - (n - 1) * ratio(gaps, n * squares - total**2))


def of_pairs(counts: Floats) -> Floats:
    """Count ordered pairs of a unit's judgments by both their values."""
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    return pairs.reshape(len(counts), counts.shape[1] ** 2)


def ordinal_alpha(sums: Floats) -> Floats:
    """Compute alpha of ranks, with differences of mid-ranks among all judgments."""
    k = round(sums.shape[-1] ** 0.5)
    observed = sums.reshape(*sums.shape[:-1], k, k)
    totals = observed.sum(axis=-1)
    mid_ranks = np.cumsum(totals, axis=-1) - totals / 2
    gap = (mid_ranks[..., :, None] - mid_ranks[..., None, :]) ** 2
    by_chance = (totals[..., :, None] * totals[..., None, :] * gap).sum(axis=(-2, -1))
    n = totals.sum(axis=-1)
    return np.asarray(1 - (n - 1) * ratio((observed * gap).sum(axis=(-2, -1)), by_chance))


def one_hot(values: Floats, scale: Floats) -> Floats:
    """Encode each judgment's value as a one-hot row."""
    return (values[:, None] == scale).astype(np.float64)


def _moments(values: Floats) -> Floats:
    """Return 1, value and square of each judgment, scaled to -1 to 1 for precision."""
    value = values - values.mean() if len(values) else values
    size = np.abs(value).max(initial=0)
    # The mean of equal values can have a rounding error.
    value = value / size if size > 1e-12 * np.abs(values).max(initial=0) else 0 * value
    return np.column_stack([np.ones(len(value)), value, value**2])


def added(label: Ints, rows: Floats, n: int) -> Floats:
    """Sum rows (m, columns) by label, 0 to n - 1."""
    members = csr_array((np.ones(len(label)), (label, np.arange(len(label)))), (n, len(label)))
    return np.asarray(members @ rows)
