"""Tests of whether a measure increases or decreases with a known truth over a series of systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.arrays import Floats
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study.checks import checked, read_table

#: Measures of distance from human texts, for which lower is better.
LOWER_IS_BETTER = ("mmd_gaussian", "mmd_linear")
#: True values that measures are compared with by default.
TRUTHS = ("l_star", "huse_q", "huse_d", "entropy")
#: The fewest systems of a series.
_FEWEST = 3
#: A true value with a smaller range, in its own unit, counts as constant, because the range may be
#: Monte Carlo error.
_LEAST_RANGE = 0.1


@checked
def measure_trends(
    table: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    systems: Sequence[str] | None = None,
    against: Sequence[str] = TRUTHS,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Test whether measures follow a known truth over a series of systems.

    Parameters
    ----------
    table : DataFrame
        A table with columns system, measure, estimate and se, from `compare_distributions`, or from
        `huse` with its column ``score`` renamed to ``measure``.
    truth : DataFrame
        A table with a column system and one for each true value (higher is better), such as
        ``study.truth["systems"]``.
    systems : sequence of str, optional
        The systems of the series, at least three. Default: all of `truth`.
    against : sequence of str
        Columns of `truth`. ``l_star`` is 1 - TV (total variation distance from human texts).
        ``huse_q`` and ``huse_d`` are HUSE's quality and diversity; ``entropy`` is in nats per text.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per measure and true value: measure, truth (the column), estimate (the slope of the
        measure per unit of the truth, sign-flipped where lower is better), se, ci_low, ci_high,
        confidence, n_systems, verdict, status (a code; ``ok``), reason, method. ``verdict`` is
        "detects" if the interval is above 0, "detects the reverse" if it is below, "inconclusive"
        if it contains 0, and "not monotone" if some pairs of systems differ significantly in the
        direction of the truth and others against it. It is empty, with a reason, if fewer than
        three systems have values, the truth varies by less than .1, or missing values leave it
        open.

    Raises
    ------
    ValueError
        When a column is missing, a system is repeated or missing, or the series has fewer than
        three systems.

    Notes
    -----
    The least-squares slope of the estimates e on the truth t is ``sum w e``, with ``w = (t - mean
    t) / sum (t - mean t)^2``. All systems share human texts, so errors are correlated. The
    variance is an upper bound if no errors are negatively correlated: ``se^2 = (sum of w se over
    w > 0)^2 + (sum of w se over w < 0)^2``. "Not monotone" is based on Bonferroni-adjusted tests of
    all pairs of systems whose truth differs by .1 or more. Verdicts are not adjusted for the number
    of measures. docs/validation.md reports their error rates.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"system": [*"abc"] * 2, "measure": ["mmd_linear"] * 3 + ["vendi"] * 3, "se": 0.01,
    ...      "estimate": [0.0, 0.1, 0.3, 50, 50.01, 50]}
    ... )
    >>> truth = pd.DataFrame({"system": [*"abc"], "l_star": [1.0, 0.7, 0.2]})
    >>> measure_trends(table, truth, against=["l_star"])[["measure", "verdict"]]
          measure       verdict
    0  mmd_linear       detects
    1       vendi  inconclusive
    """
    table = read_table(table, "system measure estimate:float se:float", "tables have")
    values = " ".join(f"{name}:float" for name in against)
    truth = read_table(truth, f"system {values}", "truth has")
    chosen = truth["system"].tolist() if systems is None else list(dict.fromkeys(systems))
    for name, frame, key in (
        ("truth has", truth, ["system"]),
        ("tables have", table, ["measure", "system"]),
    ):
        twice = frame[frame.duplicated(key)]
        if len(twice):
            key_text = " of ".join(twice[key].iloc[0])
            raise ValueError(f"{name} two rows for {key_text}: keep one.")
        missing = [system for system in chosen if system not in set(frame["system"])]
        if missing:
            raise ValueError(f"{name} no row of system {missing[0]!r}: leave it out of systems.")
    if len(chosen) < _FEWEST:
        message = f"a series needs at least {_FEWEST} systems. Got {len(chosen)}: {chosen}."
        raise Unsupported("few_systems", message)
    true = truth.set_index("system").loc[chosen]
    rows = []
    for measure, measured in table.groupby("measure", sort=False):
        series = measured.set_index("system").reindex(chosen)[["estimate", "se"]].astype(float)
        series["estimate"] *= -1.0 if measure in LOWER_IS_BETTER else 1.0
        for name in against:
            trend = _slope(series.assign(true=true[name].astype(float)), confidence)
            rows.append({"measure": measure, "truth": name, **trend})
    return split_status(pd.DataFrame(rows)).assign(
        method="least squares on the truth; assumes normal, not negatively correlated errors"
    )


def _both_ways(true: Floats, estimate: Floats, se: Floats, confidence: float) -> bool:
    """Test whether some pairs differ significantly in the truth's direction, others against it."""
    i, j = np.triu_indices(len(true), 1)
    apart = np.abs(true[i] - true[j]) >= _LEAST_RANGE
    i, j = i[apart], j[apart]
    if not len(i):
        return False
    z = (estimate[i] - estimate[j]) * np.sign(true[i] - true[j])
    reach = norm.isf((1 - confidence) / 2 / len(i)) * np.hypot(se[i], se[j])
    return bool((z > reach).any() and (z < -reach).any())


def _slope(systems: pd.DataFrame, confidence: float) -> dict[str, float | str | Status]:
    """Fit a line through the systems without missing values, and derive the verdict."""
    complete = systems.dropna()
    left_out = ", ".join(systems.index.difference(complete.index, sort=False))
    true, estimate, se = (complete[name].to_numpy() for name in ("true", "estimate", "se"))
    slope = error = float("nan")
    status = explain("excluded", systems=left_out) if left_out else OK
    if len(complete) < _FEWEST:
        status = explain("few_complete", n=len(complete), least=_FEWEST) + status
    elif np.ptp(true) < _LEAST_RANGE:
        status = explain("small_range", least=_LEAST_RANGE) + status
    else:
        away = true - true.mean()
        spread = float(away @ away)
        slope = float(away @ estimate) / spread
        pulls = away * se / spread
        error = float(np.hypot(pulls[pulls > 0].sum(), pulls[pulls < 0].sum()))
        if error <= 1e-12 * abs(slope):
            error, status = float("nan"), explain("no_variation") + status
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    verdict = ""
    if np.isfinite(slope) and _both_ways(true, estimate, se, confidence):
        verdict = "not monotone"
    elif slope - half > 0:
        verdict = "detects"
    elif slope + half < 0:
        verdict = "detects the reverse"
    elif np.isfinite(error) and not left_out:
        verdict = "inconclusive"
    some = systems[["estimate", "true"]].dropna()
    if not verdict and left_out and len(some) >= _FEWEST and np.ptp(some["true"]) >= _LEAST_RANGE:
        away = (some["true"] - some["true"].mean()).to_numpy()
        slope, error, half = float(away @ some["estimate"]) / float(away @ away), np.nan, np.nan
    return {
        "estimate": slope,
        "se": error,
        "ci_low": slope - half,
        "ci_high": slope + half,
        "confidence": confidence,
        "n_systems": len(complete),
        "verdict": verdict,
        "status": status,
    }
