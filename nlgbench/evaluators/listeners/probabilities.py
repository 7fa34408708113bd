"""Calibration of the probabilities of states: measures, and temperature scaling."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from nlgbench.arrays import Floats
from nlgbench.status import OK, explain, split_status

_LOWEST, _HIGHEST = 0.05, 20.0
_N_BINS = 15


def temper(proba: ArrayLike, temperature: float) -> Floats:
    """Normalize rows of ``proba ** (1 / temperature)``: flatter if the temperature is above 1."""
    with np.errstate(divide="ignore"):
        return softmax(np.log(np.asarray(proba, dtype=np.float64)) / temperature, axis=1)


def fit_temperature(proba: ArrayLike, targets: ArrayLike) -> float:
    """Fit the temperature, .05 to 20, that makes the targets most probable.

    Temperature scaling (Guo et al. 2017, arXiv:1706.04599, section 4.2) by maximum likelihood keeps
    the order of states, but may change that of targets across contexts.
    """
    probabilities, target = np.asarray(proba, dtype=np.float64), np.asarray(targets)

    def loss(log_temperature: float) -> float:
        scaled = temper(probabilities, float(np.exp(log_temperature)))
        return -float(np.log(scaled[np.arange(len(probabilities)), target]).mean())

    bounds = (np.log(_LOWEST), np.log(_HIGHEST))
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(best.x))


def measure_calibration(
    proba: ArrayLike, targets: ArrayLike, *, confidence: float = 0.95
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure accuracy, log loss and calibration error, and accuracy by bin of probability."""
    probabilities, target = np.asarray(proba, dtype=np.float64), np.asarray(targets)
    used = ~np.isnan(probabilities).any(axis=1)
    if not used.any():
        raise ValueError(
            "All probabilities are NaN, so calibration is undefined. Check the listener."
        )
    probabilities, target = probabilities[used], target[used]
    n = len(probabilities)
    best = np.isclose(probabilities, probabilities.max(axis=1, keepdims=True), rtol=1e-9, atol=0)
    right = best[np.arange(n), target] / best.sum(axis=1)
    bins = _bins(probabilities, right)
    ece = float(((bins["probability"] - bins["estimate"]).abs() * bins["n"]).sum() / n)
    with np.errstate(divide="ignore"):
        losses = -np.log(probabilities[np.arange(n), target])
    half, nll_status = np.nan, explain("one_output" if n < 2 else "impossible")
    if n > 1 and np.isfinite(losses).all():
        half, nll_status = norm.ppf(0.5 + confidence / 2) * losses.std(ddof=1) / np.sqrt(n), OK
    if half <= 1e-12 * losses.mean():
        half, nll_status = np.nan, explain("no_variation")
    alpha = 1 - confidence
    rows = [
        ("accuracy", right.mean(), *proportion_confint(right.sum(), n, alpha, "wilson")),
        ("nll", losses.mean(), losses.mean() - half, losses.mean() + half),
        ("ece", ece, np.nan, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["measure", "estimate", "ci_low", "ci_high"])
    table = table.assign(confidence=confidence, n=n, n_undefined=int((~used).sum()))
    n_of = bins["n"].where(bins["n"] > 0)
    low, high = proportion_confint(bins["estimate"] * n_of, n_of, alpha, "wilson")
    bins = bins.assign(ci_low=low, ci_high=high, confidence=confidence, ece=ece)
    names = "bin_low bin_high probability estimate ci_low ci_high confidence n ece"
    statuses = [OK, nll_status, explain("biased_upward")]
    return split_status(table.assign(status=pd.Series(statuses, dtype=object))), bins[names.split()]


def _bins(proba: Floats, right: Floats) -> pd.DataFrame:
    highest = proba.max(axis=1)
    bin_codes = np.clip(np.ceil(highest * _N_BINS).astype(np.int64) - 1, 0, _N_BINS - 1)
    n = np.bincount(bin_codes, minlength=_N_BINS)
    some = np.where(n > 0, n, np.nan)
    edges = np.arange(_N_BINS + 1) / _N_BINS
    bins = pd.DataFrame({"bin_low": edges[:-1], "bin_high": edges[1:], "n": n})
    bins["probability"] = np.bincount(bin_codes, highest, _N_BINS) / some
    return bins.assign(estimate=np.bincount(bin_codes, right, _N_BINS) / some)


def check_proba(proba: ArrayLike, *, n: int, n_states: int) -> Floats:
    """Raise ValueError for invalid probabilities, (n, n_states); rows of all NaN are valid."""
    probabilities = np.asarray(proba, dtype=np.float64)
    if probabilities.shape != (n, n_states):
        raise ValueError(
            f"probabilities must have the shape ({n}, {n_states}), with a row per caption and a "
            f"column per state. Got {probabilities.shape}."
        )
    inside = ((probabilities >= 0) & (probabilities <= 1)).all(axis=1)
    inside &= abs(probabilities.sum(axis=1) - 1) <= 1e-6
    bad = ~(inside | np.isnan(probabilities).all(axis=1))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"row {row} of the probabilities is {probabilities[row].tolist()}. Each row must have "
            "numbers from 0 to 1 that sum to 1: divide each row by its sum."
        )
    return probabilities
