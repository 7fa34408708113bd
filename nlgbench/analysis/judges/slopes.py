"""Slopes beyond what is seen with noise: normal equations by rows, and tests by their scores.

The normal equations are sums of rows, in which the square of the regressor that is seen with noise
is the product of two independent sightings. A slope is tested by its score: what its own equation
leaves at a value of it, the others being fitted. That score is linear in the value, its variance
quadratic, so that the values that are not rejected are found by a quadratic equation (Fieller
1954, doi:10.1111/j.2517-6161.1954.tb00159.x). Wald's test rejects too often here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri
from scipy.stats import t as student

from nlgbench.analysis.judges.verdicts import Clusters
from nlgbench.analysis.ratings.bradley_terry import FEW
from nlgbench.crossed import contrast_variance, largest_variance
from nlgbench.inference import Floats, beyond

#: An instrument whose F is below this is weak, by the usual rule of thumb (Staiger and Stock 1997).
WEAK = 10.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Of each coefficient, its score and slope of the score, and their covariance (q, n, 2, 2).

    The covariance is that over items, or those over items, annotators, and both together.
    """

    sums: Floats
    covariance: Floats
    weak: bool


def variance_at(covariance: Floats, at: Floats) -> float:
    """Give the variance of a combination of score and slope: the largest of those over factors."""
    return float(contrast_variance(at[None], [*covariance])[0])


def scores(left: Floats, right: Floats, weight: Floats, clusters: Clusters) -> Scores:
    """Sum rows of normal equations, (n, q, q) and (n, q); the first regressor is the noisy one."""
    left, right = left * weight[:, None, None], right * weight[:, None]
    a, b = left.sum(axis=0), right.sum(axis=0)
    q = len(b)
    sums, covariance = np.full((q, 2), np.nan), np.full((q, len(clusters.kinds), 2, 2), np.nan)
    for place in range(q):
        rest = [other for other in range(q) if other != place]
        inner = a[np.ix_(rest, rest)]
        if np.linalg.cond(inner) > 1e10:
            continue
        direction, start = np.zeros(q), np.zeros(q)
        direction[place] = 1
        direction[rest] = -np.linalg.solve(inner, a[rest, place])
        start[rest] = np.linalg.solve(inner, b[rest])
        score = (right - left @ start) @ direction
        slope = -(left @ direction) @ direction
        rows = np.column_stack([score, slope])
        sums[place] = rows.sum(axis=0)
        # An annotator is in many rows: what rows have on average would pass for spread.
        rows -= np.outer(weight / weight.sum(), sums[place])
        if clusters.df + 1 >= FEW:
            covariance[place] = clusters.each(rows)
    # How much of the expected vote is seen at all: its square, less what the others explain.
    seen = -sums[0, 1]
    weak = not (seen > 0 and seen**2 > WEAK * variance_at(covariance[0], np.array([0.0, 1.0])))
    return Scores(sums, covariance, weak)


def inverted(found: Scores, place: int, clusters: Clusters, confidence: float) -> dict[str, Any]:
    """Give a coefficient, its p-value and intervals, and its ``score`` for `power_of_slope`."""
    (score, slope), covariance = found.sums[place], found.covariance[place]
    estimate = float(-score / slope) if slope else float("nan")
    reason = clusters.reason
    none = ("se", "ci_low", "ci_high", "inner_low", "inner_high", "p")
    row: dict[str, Any] = {"estimate": estimate, **dict.fromkeys(none, float("nan"))}
    row |= {"df": clusters.df, "covers": clusters.covers}
    if np.isnan(estimate):
        return row | {"reason": reason or "undefined: nothing to compare, or no variation"}
    if np.isnan(covariance).any():
        return row | {"reason": reason}
    if found.weak:
        why = "people's votes agree too little to say what they think of a pair"
        return row | {"reason": why}
    variance = variance_at(covariance, np.array([1.0, estimate]))
    at_zero = variance_at(covariance, np.array([1.0, 0.0]))
    if variance < 1e-18 * slope**2 or at_zero <= 0:
        return row | {"reason": "all clusters give the same: their spread is unknown"}
    row["se"] = float(np.sqrt(variance) / abs(slope))
    row["score"] = found.sums[place], covariance
    row["p"] = float(2 * student.sf(abs(score) / np.sqrt(at_zero), clusters.df))
    for kind, level in (("ci", 0.5 + confidence / 2), ("inner", confidence)):
        t2 = student.ppf(level, clusters.df) ** 2
        ends = [_not_rejected(score, slope, one, t2) for one in candidates(covariance)]
        if any(np.isinf(one).any() for one in ends):
            reason = "no value can be rejected: there are too few votes"
            continue
        # What one of the variances does not reject the largest does not.
        row[f"{kind}_low"] = float(np.nanmin([low for low, _ in ends]))
        row[f"{kind}_high"] = float(np.nanmax([high for _, high in ends]))
    return row | {"reason": reason}


def candidates(covariance: Floats) -> list[Floats]:
    """List the covariance matrices of which the largest variance counts."""
    if len(covariance) == 1:
        return [covariance[0]]
    items, annotators, both = covariance
    return [items, annotators, items + annotators - both]


def _not_rejected(score: float, slope: float, spread: Floats, t2: float) -> tuple[float, float]:
    """Find the values v with (score + slope v)^2 <= t^2 (s00 + 2 s01 v + s11 v^2).

    NaN where there is none (the matrix need not be positive), infinite where they have no end.
    """
    square = slope**2 - t2 * spread[1, 1]
    linear = score * slope - t2 * spread[0, 1]
    constant = score**2 - t2 * spread[0, 0]
    inside = linear**2 - square * constant
    if square <= 0:
        return -np.inf, np.inf
    if inside < 0:
        return np.nan, np.nan
    half = np.sqrt(inside)
    return (-linear - half) / square, (-linear + half) / square


def power_of_slope(
    score: tuple[Floats, Floats], times: float, bias: float, df: float, level: float
) -> float:
    """Give the power of the two-sided test of 0 on so many times the items, where `bias` is true.

    Under the bias the score of 0 has the spread that it has now that far from the estimate: more
    than at the truth, as what the bias moves is part of it. What annotators add does not average
    out with more items. The spread is at its upper 80% limit, as a pilot's own is too small half of
    the time (Browne 1995, doi:10.1002/sim.4780141709).
    """
    (value, slope), covariance = score
    at = np.array([[1.0, -value / slope], [1.0, -value / slope - bias]])
    items, *others = np.einsum("ki,nij,kj->nk", at, covariance, at)
    spread = items / times
    if others:
        added, both = np.maximum(others[0] - others[1], 0), others[1] / times
        spread = largest_variance(spread, added + both, both)
    true, tested = np.sqrt(spread * df / chdtri(df, 0.8))
    if not tested > 0:
        return float("nan")
    away = abs(slope) * bias / true
    critical = student.ppf(1 - level / 2, df) * tested / true
    return float(beyond(critical, away, df))
