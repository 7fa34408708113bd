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
from nlgbench.inference import Floats, beyond

#: An instrument whose F is below this is weak, by the usual rule of thumb (Staiger and Stock 1997).
WEAK = 10.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Of each coefficient, its score and slope of the score, and their covariance (q, 2, 2, 2).

    The covariance is what items make of it, and what annotators add.
    """

    sums: Floats
    covariance: Floats
    weak: bool


def scores(left: Floats, right: Floats, weight: Floats, clusters: Clusters) -> Scores:
    """Sum rows of normal equations, (n, q, q) and (n, q); the first regressor is the noisy one."""
    left, right = left * weight[:, None, None], right * weight[:, None]
    a, b = left.sum(axis=0), right.sum(axis=0)
    q = len(b)
    sums, covariance = np.full((q, 2), np.nan), np.full((q, 2, 2, 2), np.nan)
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
            covariance[place] = clusters.parts(rows)
    # How much of the expected vote is seen at all: its square, less what the others explain.
    seen = -sums[0, 1]
    weak = not (seen > 0 and seen**2 > WEAK * covariance[0, :, 1, 1].sum())
    return Scores(sums, covariance, weak)


def inverted(found: Scores, place: int, clusters: Clusters, confidence: float) -> dict[str, Any]:
    """Give a coefficient, its p-value and intervals, and its ``score`` for `power_of_slope`."""
    (score, slope), spread = found.sums[place], found.covariance[place].sum(axis=0)
    estimate = float(-score / slope) if slope else float("nan")
    reason = clusters.reason
    none = ("se", "ci_low", "ci_high", "inner_low", "inner_high", "p")
    row: dict[str, Any] = {"estimate": estimate, **dict.fromkeys(none, float("nan"))}
    row |= {"df": clusters.df, "covers": clusters.covers}
    if np.isnan(estimate):
        return row | {"reason": reason or "undefined: nothing to compare, or no variation"}
    if np.isnan(spread).any():
        return row | {"reason": reason}
    if found.weak:
        why = "people's votes agree too little to say what they think of a pair"
        return row | {"reason": why}
    at = np.array([1.0, estimate])
    variance = at @ spread @ at
    if variance < 1e-18 * slope**2 or spread[0, 0] <= 0:
        return row | {"reason": "all clusters give the same: their spread is unknown"}
    row["se"] = float(np.sqrt(variance) / abs(slope))
    row["score"] = found.sums[place], found.covariance[place]
    row["p"] = float(2 * student.sf(abs(score) / np.sqrt(spread[0, 0]), clusters.df))
    for kind, level in (("ci", 0.5 + confidence / 2), ("inner", confidence)):
        t2 = student.ppf(level, clusters.df) ** 2
        # (score + slope v)^2 <= t^2 (s00 + 2 s01 v + s11 v^2)
        square = slope**2 - t2 * spread[1, 1]
        linear = score * slope - t2 * spread[0, 1]
        constant = score**2 - t2 * spread[0, 0]
        inside = linear**2 - square * constant
        if square <= 0 or inside < 0:
            reason = "no value can be rejected: there are too few votes"
            continue
        half = np.sqrt(inside)
        row[f"{kind}_low"] = float((-linear - half) / square)
        row[f"{kind}_high"] = float((-linear + half) / square)
    return row | {"reason": reason}


def power_of_slope(
    score: tuple[Floats, Floats], times: float, bias: float, df: float, level: float
) -> float:
    """Give the power of the two-sided test of 0 on so many times the items, where `bias` is true.

    Under the bias the score of 0 has the spread that it has now that far from the estimate: more
    than at the truth, as what the bias moves is part of it. What annotators add does not average
    out with more items. The spread is at its upper 80% limit, as a pilot's own is too small half of
    the time (Browne 1995, doi:10.1002/sim.4780141709).
    """
    (value, slope), parts = score
    spread = (parts[0] / times + parts[1]) * df / chdtri(df, 0.8)
    at = np.array([[1.0, -value / slope], [1.0, -value / slope - bias]])
    true, tested = np.sqrt(np.einsum("ki,ij,kj->k", at, spread, at))
    if not tested > 0:
        return float("nan")
    away = abs(slope) * bias / true
    critical = student.ppf(1 - level / 2, df) * tested / true
    return float(beyond(critical, away, df))
