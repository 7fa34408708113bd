"""Whether a judge's probabilities are what people's votes come to: bins, and a debiased error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench.analysis.judges.verdicts import Clusters, Floats, Ints, around, jackknifed, ratio

#: Bins of as many answers each, where there are enough.
N_BINS = 10


def calibrate(
    chance: Floats,
    pair: Ints,
    vote: Floats,
    weight: Floats,
    clusters: Clusters,
    confidence: float,
) -> tuple[dict[str, Any], dict[str, Any], pd.DataFrame]:
    """Hold probabilities (pairs, order) against votes: calibration error, overconfidence, bins.

    `clusters` are of two rows per vote, one for each order.
    """
    lead = chance[pair].T.ravel()  # of each vote, first the one order, then the other
    there = ~np.isnan(lead)
    sure = np.where(there, np.abs(lead), 0.0)
    # Of two equally likely sides either may be called favored: the one is.
    right = np.where(lead < 0, -1.0, 1.0) * np.tile(vote, 2)
    w = np.where(there, np.tile(weight, 2), 0.0)
    used = sure[w > 0]
    blank = {"estimate": np.nan, "se": np.nan, "ci_low": np.nan, "ci_high": np.nan, "p": np.nan}
    columns = ["bin", "low", "high", "said", "people", "ci_low", "ci_high", "n"]
    reason = ""
    if not len(used):
        reason = "people did not vote on pairs that were judged"
    elif not ((used > 1e-9) & (used < 0.5 - 1e-9)).any():
        reason = "verdicts alone, no probabilities"
    if reason:
        none = blank | {"reason": reason, "covers": clusters.covers}
        return none, none, pd.DataFrame(columns=columns)
    cuts = np.unique(np.quantile(used, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    number = np.searchsorted(cuts, sure, side="right")
    in_bin = number[:, None] == np.arange(len(cuts) + 1)
    in_bin = in_bin[:, (in_bin & (w > 0)[:, None]).any(axis=0)]
    mass = w[:, None] * in_bin
    total = mass.sum(axis=0)
    said, people = sure @ mass / total, right @ mass / total
    gap = people - said
    # What each row adds to the mean of its bin, less what is expected of it there.
    rows = mass / total * ((right - sure)[:, None] - gap)
    covariance = clusters.variance(rows)
    share = total / total.sum()
    squared = float(share @ (gap**2 - clusters.unbiased(rows)))
    own = np.diag(covariance)
    # The variance of a quadratic form of normal gaps; the true gaps' squares are estimated, too.
    known = np.where(gap**2 > own, gap * np.sqrt(np.maximum(0, 1 - own / gap**2)), 0.0)
    slope = share * known
    weights = share[:, None] * share
    variance = 4 * slope @ covariance @ slope + 2 * (weights * covariance**2).sum()
    error = around(squared, float(np.sqrt(variance)), clusters, confidence)
    for name in ("estimate", "ci_low", "ci_high", "inner_low", "inner_high"):
        error[name] = (
            float(np.sqrt(max(0.0, error[name]))) if error[name] == error[name] else np.nan
        )
    error |= {"p": np.nan, "se": np.nan}

    parts = np.column_stack([w * (sure - right), w])
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., 0], sums[..., 1]), clusters)
    over = around(found[0], se[0], clusters, confidence)
    half = student.ppf(0.5 + confidence / 2, clusters.df) * np.sqrt(own)
    bins = pd.DataFrame(
        {
            "bin": np.arange(1, len(total) + 1),
            "low": 0.5 + np.array([sure[one & (w > 0)].min() for one in in_bin.T]),
            "high": 0.5 + np.array([sure[one & (w > 0)].max() for one in in_bin.T]),
            "said": 0.5 + said,
            "people": 0.5 + people,
            "ci_low": 0.5 + people - half,
            "ci_high": 0.5 + people + half,
            "n": (in_bin & (w > 0)[:, None]).sum(axis=0),
        }
    )
    return error, over, bins
