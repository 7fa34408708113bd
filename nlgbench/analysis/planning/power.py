"""The power of a t test over items and annotators, by formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student

from nlgbench.arrays import Floats
from nlgbench.inference import beyond

Design = Literal["crossed", "blocked", "scattered", "distinct"]


@dataclass(frozen=True)
class Spread:
    """Variances of a judgment's (or vote's) contribution to the difference of two systems."""

    item: float
    annotator: float
    residual: float


def standard_error(
    design: Design,
    spread: Spread,
    n_items: Any,
    n_annotators: Any,
    n_votes: Any,
    fixed: bool = False,
) -> Floats:
    """Compute the standard error of two systems' difference; NaN if severities are unknown."""
    i, a, v = (np.asarray(n, dtype=np.float64) for n in (n_items, n_annotators, n_votes))
    residual = spread.residual / (i * v)
    if design == "scattered":
        lost = (a - 1) * (1 - v / a) / (i * np.maximum(2 * v - 1 - v / a, 1e-9))
        residual = residual / np.where(lost < 0.5, 1 - lost, np.nan)
    share = (0 if fixed else 1 / a) + (1 - v / a) / (i * v)
    if design == "distinct":
        share = 1 / (i * v)
    return np.asarray(np.sqrt(spread.item / i + spread.annotator * share + residual))


def degrees_of_freedom(
    design: Design, n_items: Any, n_annotators: Any, fixed: bool = False
) -> Floats:
    """Return the degrees of freedom of `compare_systems`: the fewest sampled clusters, minus 1."""
    least = n_items if fixed or design == "distinct" else np.minimum(n_items, n_annotators)
    return np.asarray(least, dtype=np.float64) - 1


def power_of(difference: Any, se: Any, df: Any, alpha: float) -> Floats:
    """Compute the power of a two-sided t test from the noncentral t distribution."""
    with np.errstate(divide="ignore"):  # without variance, power is 1
        away = np.divide(difference, se)
    return beyond(student.isf(alpha / 2, df), away, df)


def noncentrality(power: float, df: float, alpha: float) -> float:
    """Compute the difference, in standard errors, that a test detects with this power."""
    return float(brentq(lambda away: power_of(away, 1.0, df, alpha) - power, 0.0, 1000.0))
