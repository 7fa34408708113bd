"""Bradley-Terry ratings of systems with text length as a covariate: ratings at equal length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as student

from nlgbench.analysis.judges.verdicts import summarize
from nlgbench.analysis.ratings.glicko import POINTS, START
from nlgbench.arrays import Floats
from nlgbench.clustering import Clusters, contrast_variance, few_clusters
from nlgbench.status import OK, explain

#: Abilities beyond this, in nats, mean that the likelihood has no maximum.
_ENDLESS = 15.0


def rate_at_equal_length(
    share: Floats,
    systems: NDArray[np.object_],
    doublings: Floats,
    weight: Floats,
    clusters: Clusters,
    confidence: float,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Fit log odds as the difference of abilities plus a slope times the doublings of length.

    `share` (n,) is the share of the first of `systems` (n, 2), with ties as one half. Rows with
    weight 0 are ignored. Returns the slope, and each system's rating without and with it.
    """
    codes, names = pd.factorize(systems.ravel(), sort=True)
    index = codes.reshape(-1, 2)
    k, n = len(names), len(share)
    weight = np.where(index[:, 0] != index[:, 1], weight, 0.0)
    if not np.isnan(doublings[weight > 0]).all():
        weight = np.where(np.isnan(doublings), 0.0, weight)
    who = np.zeros((n, k))
    who[np.arange(n), index[:, 0]] += 1
    who[np.arange(n), index[:, 1]] -= 1
    met = np.abs(who[weight > 0]).any(axis=0)
    who, names = who[:, met], names[met]
    table = pd.DataFrame({"system": names})
    design_of_both = np.column_stack([who, np.nan_to_num(doublings)])
    center = np.eye(len(names)) - 1 / max(1, len(names))
    slope = {"estimate": float("nan"), "se": float("nan")}
    missing = OK
    for name, design in (("rating", design_of_both[:, :-1]), ("equal_length", design_of_both)):
        if name == "equal_length" and not design[weight > 0, -1].any():
            table[[name, f"{name}_low", f"{name}_high"]] = np.nan
            missing = explain("no_lengths" if weight.any() else "same_system")
            continue
        fit = _maximize(design, share, weight)
        value, se = np.full(len(names), np.nan), np.full(len(names), np.nan)
        if fit is None:
            missing = explain("separated", which="some systems, or some lengths, never lose")
        else:
            theta, bread = fit
            residual = weight * (share - expit(design @ theta))
            added = design * residual[:, None] @ bread
            value = START + POINTS * (center @ theta[: len(names)])
            se = POINTS * _errors(added[:, : len(names)] @ center, clusters)
            if se.max(initial=0) < 1e-9:
                missing = explain("no_variation" if clusters.n >= 2 else "one_cluster")
                se = se * np.nan
            if name == "equal_length":
                slope = {"estimate": theta[-1], "se": _errors(added[:, -1:], clusters)[0]}
        half = student.ppf(0.5 + confidence / 2, clusters.n - 1) * se
        table[name] = value
        table[f"{name}_low"], table[f"{name}_high"] = value - half, value + half
    row = summarize(slope["estimate"], slope["se"], clusters, confidence, missing)
    status: Any = missing or few_clusters(clusters.n, clusters.units)
    return row, table.assign(status=[status] * len(table))


def _errors(rows: Floats, clusters: Clusters) -> Floats:
    """Compute the standard error of each sum of rows (n, m)."""
    return np.sqrt(contrast_variance(np.eye(rows.shape[1]), clusters.covariances(rows)))


def _maximize(design: Floats, share: Floats, weight: Floats) -> tuple[Floats, Floats] | None:
    """Maximize the likelihood by Newton's method; return coefficients and inverse information."""
    if not weight.sum():
        return None
    theta = np.zeros(design.shape[1])
    for _ in range(40):
        chance = expit(design @ theta)
        information = (design * (weight * chance * (1 - chance))[:, None]).T @ design
        # Adding a constant to all abilities changes nothing, so use the pseudoinverse.
        bread = np.linalg.pinv(information, hermitian=True)
        step = bread @ (design.T @ (weight * (share - chance)))
        theta = theta + step
        if np.abs(theta).max() > _ENDLESS:
            return None
        if np.abs(step).max() < 1e-9:
            return theta, bread
    return None
