"""The power of a t test over items and annotators, by formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student

from nlgbench.inference import Floats, beyond

Design = Literal["crossed", "blocked", "scattered", "distinct"]


@dataclass(frozen=True)
class Spread:
    """Variances of what a judgment (or a vote) says of the difference of two systems."""

    item: float
    annotator: float
    rest: float


def standard_error(
    design: Design,
    spread: Spread,
    n_items: Any,
    n_annotators: Any,
    n_votes: Any,
    fixed: bool = False,
) -> Floats:
    """Give the standard error of the difference of two systems, of numbers or columns of them.

    NaN where scattered annotators meet so seldom that their severities are hardly known. Of `fixed`
    annotators only who judges which item varies.
    """
    i, a, v = (np.asarray(n, dtype=np.float64) for n in (n_items, n_annotators, n_votes))
    rest = spread.rest / (i * v)
    if design == "scattered":
        lost = (a - 1) * (1 - v / a) / (i * np.maximum(2 * v - 1 - v / a, 1e-9))
        rest = rest / np.where(lost < 0.5, 1 - lost, np.nan)
    share = (0 if fixed else 1 / a) + (1 - v / a) / (i * v)
    if design == "distinct":
        share = 1 / (i * v)
    return np.asarray(np.sqrt(spread.item / i + spread.annotator * share + rest))


def degrees_of_freedom(
    design: Design, n_items: Any, n_annotators: Any, fixed: bool = False
) -> Floats:
    """Count one less than there are of the fewer of both, which `compare_systems` takes."""
    least = n_items if fixed or design == "distinct" else np.minimum(n_items, n_annotators)
    return np.asarray(least, dtype=np.float64) - 1


def power_of(difference: Any, se: Any, df: Any, alpha: float) -> Floats:
    """Give the power of a two-sided t test; its statistic is noncentral t."""
    return beyond(student.isf(alpha / 2, df), np.asarray(difference / se), df)


def noncentrality(power: float, df: float, alpha: float) -> float:
    """Give how many standard errors a difference must be off 0 to be found with this power."""
    return float(brentq(lambda away: power_of(away, 1.0, df, alpha) - power, 0.0, 1000.0))
