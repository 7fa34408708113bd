"""Whether probabilities of states mean what they say, and one temperature to mend them."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from nlgbench.evaluators.listeners.contexts import check_proba, check_targets
from nlgbench.text import check_n

Floats = NDArray[np.float64]

_LOWEST, _HIGHEST = 0.05, 20.0


def temper(proba: ArrayLike, temperature: float) -> Floats:
    """Flatten or sharpen probabilities.

    Parameters
    ----------
    proba : array-like of shape (n, n_states)
        Rows with sum 1, or of NaN alone, which stay.
    temperature : float
        Above 1 flattens, below 1 sharpens.

    Returns
    -------
    ndarray of shape (n, n_states)
        Proportional to ``proba ** (1 / temperature)``; order and zeros stay.

    Raises
    ------
    ValueError
        When `proba` are no probabilities, or the temperature is not above 0.

    Examples
    --------
    >>> temper([[0.8, 0.2]], 2.0).round(3)
    array([[0.667, 0.333]])
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature must be above 0, and finite. Got {temperature}.")
    with np.errstate(divide="ignore"):
        return softmax(np.log(check_proba(proba)) / temperature, axis=1)


def fit_temperature(proba: ArrayLike, targets: ArrayLike) -> float:
    """Find the temperature at which targets are most probable.

    Parameters
    ----------
    proba : array-like of shape (n, n_states)
        Of captions that nothing was trained on; no NaN.
    targets : array-like of shape (n,)
        Position of the state that was meant.

    Returns
    -------
    float
        From 0.05 to 20; at an end where the likelihood still rises there, as when every target is
        the most probable state.

    Raises
    ------
    ValueError
        When there is no row, a row is NaN, or a target has probability 0, which no temperature
        changes.

    Notes
    -----
    Temperature scaling (Guo et al. 2017, arXiv:1706.04599, section 4.2): one number, fitted by
    maximum likelihood. It leaves the order of states as it is, so accuracy stays; over contexts,
    the order of the targets' probabilities may change.

    Examples
    --------
    >>> proba = [[0.99, 0.01]] * 4  # right three times of four: too sure
    >>> temperature = fit_temperature(proba, [0, 0, 0, 1])
    >>> temper(proba, temperature)[0].round(3)
    array([0.75, 0.25])
    """
    found, target = _known(proba, targets)
    chosen = found[np.arange(len(found)), target]
    if not chosen.all():
        raise ValueError(
            f"the target of row {int((chosen == 0).argmax())} has probability 0 "
            f"({int((chosen == 0).sum())} rows): no temperature changes that. Mix a little of the "
            "uniform distribution into the probabilities first."
        )

    def loss(log_temperature: float) -> float:
        scaled = temper(found, float(np.exp(log_temperature)))
        return -float(np.log(scaled[np.arange(len(found)), target]).mean())

    bounds = (np.log(_LOWEST), np.log(_HIGHEST))
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(best.x))


def calibration(
    proba: ArrayLike, targets: ArrayLike, *, n_bins: int = 15, level: float = 0.95
) -> pd.DataFrame:
    """Measure how good probabilities are: accuracy, log loss, calibration error.

    Parameters
    ----------
    proba : array-like of shape (n, n_states)
        Rows of NaN alone are left out, and counted.
    targets : array-like of shape (n,)
        Position of the state that was meant.
    n_bins : int
        Bins of equal width for the calibration error.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per measure: measure, estimate, ci_low, ci_high, level, n, n_undefined, reason.
        ``accuracy`` (0 to 1, higher is better): the most probable state is the target; where m are
        equally probable and the target is one of them, 1 / m. ``nll`` (nats, lower is better): mean
        minus log-probability of the target. ``ece`` (0 to 1, lower is better): see Notes.

    Raises
    ------
    ValueError
        When `proba` are no probabilities, `targets` no positions, or nothing is left.

    Notes
    -----
    Expected calibration error as in Guo et al. (2017, arXiv:1706.04599, section 2): the highest
    probability of each row falls into bins of equal width, and the error is
    ``sum(n_b / n * |share_b - probability_b|)`` with the columns of `reliability`. It has no
    interval: it is above 0 even for a calibrated listener, the more so the fewer rows there are,
    so resampling would put its interval too high.

    Intervals take rows as independent: Wilson's for accuracy, normal for nll.

    Examples
    --------
    >>> found = calibration([[0.9, 0.1], [0.6, 0.4]], [0, 1]).set_index("measure")["estimate"]
    >>> found.round(3).to_dict()
    {'accuracy': 0.5, 'nll': 0.511, 'ece': 0.35}
    """
    found, target, n_undefined = _answered(proba, targets)
    n = len(found)
    right = _right(found, target)
    with np.errstate(divide="ignore"):
        losses = -np.log(found[np.arange(n), target])
    half = np.nan
    if n > 1 and np.isfinite(losses).all():
        half = norm.ppf(0.5 + level / 2) * losses.std(ddof=1) / np.sqrt(n)
    low, high = proportion_confint(right.sum(), n, alpha=1 - level, method="wilson")
    no_nll = "" if np.isfinite(half) else "a target has probability 0, or there is one row"
    estimates: list[tuple[str, float, float, float, str]] = [
        ("accuracy", right.mean(), low, high, ""),
        ("nll", losses.mean(), losses.mean() - half, losses.mean() + half, no_nll),
        ("ece", _ece(_bins(found, right, n_bins)), np.nan, np.nan, "biased upward"),
    ]
    names = ["measure", "estimate", "ci_low", "ci_high", "reason"]
    table = pd.DataFrame(estimates, columns=names).assign(level=level, n=n, n_undefined=n_undefined)
    return table[[*names[:-1], "level", "n", "n_undefined", "reason"]]


def reliability(
    proba: ArrayLike, targets: ArrayLike, *, n_bins: int = 15, level: float = 0.95
) -> pd.DataFrame:
    """Say in each bin of probability how often the most probable state was the target.

    Parameters
    ----------
    proba, targets, n_bins, level
        As in `calibration`.

    Returns
    -------
    DataFrame
        A row per bin, of equal width: bin_low (exclusive), bin_high (inclusive), probability (mean
        in the bin), share (how often right, ties split), ci_low, ci_high (Wilson), level, n, ece
        (of all bins). NaN in an empty bin.

    Raises
    ------
    ValueError
        As `calibration`.

    Examples
    --------
    >>> reliability([[0.9, 0.1], [0.6, 0.4]], [0, 1], n_bins=2)[["probability", "share", "n"]]
       probability  share  n
    0          NaN    NaN  0
    1         0.75    0.5  2
    """
    found, target, _ = _answered(proba, targets)
    table = _bins(found, _right(found, target), n_bins)
    used = table["n"] > 0
    low, high = proportion_confint(
        (table["share"] * table["n"])[used], table["n"][used], alpha=1 - level, method="wilson"
    )
    table.loc[used, ["ci_low", "ci_high"]] = np.column_stack([low, high])
    table = table.assign(level=level, ece=_ece(table))
    names = "bin_low bin_high probability share ci_low ci_high level n ece"
    return table[names.split()]


def _known(proba: ArrayLike, targets: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    found = check_proba(proba)
    if not len(found) or np.isnan(found).any():
        raise ValueError("probabilities must have a row, and none of NaN: leave those rows out.")
    return found, check_targets(targets, *found.shape)


def _answered(proba: ArrayLike, targets: ArrayLike) -> tuple[Floats, NDArray[np.int64], int]:
    found = check_proba(proba)
    target = check_targets(targets, *found.shape)
    used = ~np.isnan(found[:, 0]) if found.size else np.zeros(len(found), dtype=bool)
    return *_known(found[used], target[used]), int((~used).sum())


def _right(proba: Floats, target: NDArray[np.int64]) -> Floats:
    """Return 1 where the most probable state is the target, its share where several are."""
    best = np.isclose(proba, proba.max(axis=1, keepdims=True), rtol=1e-9, atol=0)
    return best[np.arange(len(proba)), target] / best.sum(axis=1)


def _bins(proba: Floats, right: Floats, n_bins: int) -> pd.DataFrame:
    check_n(n_bins, "n_bins")
    highest = proba.max(axis=1)
    place = np.clip(np.ceil(highest * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    n = np.bincount(place, minlength=n_bins)
    some = np.where(n > 0, n, np.nan)
    columns: dict[str, Any] = {
        "bin_low": np.arange(n_bins) / n_bins,
        "bin_high": np.arange(1, n_bins + 1) / n_bins,
        "probability": np.bincount(place, highest, n_bins) / some,
        "share": np.bincount(place, right, n_bins) / some,
        "n": n,
    }
    return pd.DataFrame(columns)


def _ece(bins: pd.DataFrame) -> float:
    gap = (bins["probability"] - bins["share"]).abs()
    return float((gap * bins["n"]).sum() / bins["n"].sum())
