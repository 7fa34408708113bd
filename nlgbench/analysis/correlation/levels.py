"""Agreement of scores with judgments at the level of systems, outputs or items."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.analysis.coefficients.pair_statistics import OF_PAIRS, Floats, divide
from nlgbench.analysis.coefficients.pairwise import (
    accuracy_at,
    best_epsilon,
    pair_confidences,
    tie_calibration,
    weighted_accuracy_at,
)
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.coefficients.weighted import weighted_coefficients
from nlgbench.analysis.correlation.judged import Judged, draws
from nlgbench.analysis.correlation.samples import (
    Sample,
    clusters_of_items,
    item_grids,
    system_means,
)

LEVELS = ("system", "output", "item")
PLAIN = ("pearson", "spearman", "kendall_b", "kendall_c", "pairwise_accuracy")
#: All statistics, and where there is one the only level that has it.
STATISTICS = {
    **dict.fromkeys((*PLAIN, "tie_calibrated")),
    "tie_calibrated_held_out": "item",
    "soft_pairwise": "system",
}
ACCURACIES = ("pairwise_accuracy", "tie_calibrated", "tie_calibrated_held_out", "soft_pairwise")


def full_statistics(
    sample: Sample, level: str, statistics: Sequence[str], epsilons: dict[str, Floats]
) -> dict[str, Floats]:
    """Compute statistics of all data.

    Parameters
    ----------
    sample, level, statistics, epsilons
        As in `statistics_at`.

    Returns
    -------
    dict of ndarray of shape (m, 1)
        NaN where undefined.
    """
    ones = np.ones((1, sample.n_clusters)), np.ones((1, sample.n_systems))
    return statistics_at(sample, level, statistics, epsilons, *ones)


def resampled(
    judged: Judged,
    sample: Sample,
    level: str,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    resample: str | None,
    n_resamples: int,
    seed: int | np.random.Generator,
) -> dict[str, Floats]:
    """Compute statistics in bootstrap resamples.

    Parameters
    ----------
    judged : Judged
        All rows: their clusters and systems are what is drawn.
    sample, level, statistics, epsilons
        As in `statistics_at`.
    resample, n_resamples, seed
        As in `judged.draws`; None draws nothing.

    Returns
    -------
    dict of ndarray of shape (m, n_resamples)
        Of shape (m, 0) where nothing is drawn.
    """
    if resample is None:
        return {name: np.empty((len(sample.x), 0)) for name in statistics}
    drawn = draws(
        *(pd.factorize(judged.rows[name])[0] for name in ("cluster", "system")),
        resample=resample,
        n_resamples=n_resamples,
        seed=seed,
    )
    parts = [statistics_at(sample, level, statistics, epsilons, *one) for one in drawn]
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in statistics}


def statistics_at(
    sample: Sample,
    level: str,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_clusters: Floats,
    of_systems: Floats,
) -> dict[str, Floats]:
    """Compute statistics in every resample.

    Parameters
    ----------
    sample : Sample
        The outputs.
    level : {"system", "output", "item"}
        Where scores and judgments are compared.
    statistics : sequence of str
        Of `STATISTICS`, and ``chance_accuracy``.
    epsilons : dict of ndarray
        From `epsilons_of`, on all data.
    of_clusters, of_systems : ndarray of shape (r, clusters), (r, systems)
        How often each is in each resample.

    Returns
    -------
    dict of ndarray of shape (m, r)
        NaN where undefined.
    """
    if level == "system":
        return _of_systems(sample, statistics, epsilons, of_clusters, of_systems)
    if level == "output":
        weights = of_clusters[:, sample.cluster] * of_systems[:, sample.system]
        plain = [name for name in statistics if name in PLAIN or name in OF_PAIRS]
        found = weighted_coefficients(sample.x, sample.y, weights, statistics=plain)
        if "tie_calibrated" in statistics:
            found["tie_calibrated"] = np.stack(
                [
                    weighted_accuracy_at(x, sample.y, weights, epsilon=float(epsilon))
                    for x, epsilon in zip(sample.x, epsilons["tie_calibrated"], strict=True)
                ]
            )
        return found
    items = np.unique(sample.item)
    found = {name: np.empty((len(sample.x), len(of_clusters))) for name in statistics}
    cluster = clusters_of_items(sample)
    whole = (of_systems == 1).all()
    if whole:
        by_item = item_values(sample, statistics, epsilons, None)
    for at in range(1 if whole else len(of_systems)):
        rows = slice(None) if whole else slice(at, at + 1)
        if not whole:
            by_item = item_values(sample, statistics, epsilons, of_systems[at])
        weights = of_clusters[rows][:, cluster].reshape(-1, len(items))
        for name, values in by_item.items():
            there = np.isfinite(values)
            total = there @ weights.T
            above = np.where(there, values, 0) @ weights.T
            found[name][:, rows] = divide(above, total)
    return found


def item_values(
    sample: Sample,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_systems: Floats | None,
) -> dict[str, Floats]:
    """Compute statistics over the systems of each item.

    Parameters
    ----------
    sample, statistics, epsilons
        As in `statistics_at`.
    of_systems : ndarray of shape (systems,), optional
        How often each system counts.

    Returns
    -------
    dict of ndarray of shape (m, items)
        NaN where an item's systems, scores or judgments do not vary.
    """
    x, y = item_grids(sample)
    weights = np.isfinite(y) * (np.ones(sample.n_systems) if of_systems is None else of_systems)
    plain = [name for name in statistics if name in PLAIN or name in OF_PAIRS]
    found = coefficients(x, y, weights, statistics=plain) if plain else {}
    for name in ("tie_calibrated", "tie_calibrated_held_out"):
        if name in statistics:
            pairs = zip(x, epsilons[name], strict=True)
            found[name] = np.stack([accuracy_at(one, y, weights, epsilon=e) for one, e in pairs])
    return found


def _of_systems(
    sample: Sample,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_clusters: Floats,
    of_systems: Floats,
) -> dict[str, Floats]:
    # Where only systems are drawn, their means are the same in every resample.
    fixed = (of_clusters == 1).all()
    x, y, there = system_means(sample, of_clusters[:1] if fixed else of_clusters)
    weights = there * of_systems
    plain = [name for name in statistics if name in PLAIN or name in OF_PAIRS]
    found: dict[str, Floats] = {}
    if fixed and plain and len(of_systems) > 1:
        has = there[0]
        found = weighted_coefficients(x[:, 0, has], y[0, has], of_systems[:, has], statistics=plain)
    elif plain:
        none_absent = (weights == 1).all()
        each = [
            coefficients(one, y, None if none_absent else weights, statistics=plain) for one in x
        ]
        found = {name: np.stack([one[name] for one in each]) for name in plain}
    if "tie_calibrated" in statistics:
        pairs = zip(x, epsilons["tie_calibrated"], strict=True)
        wide = (len(weights), sample.n_systems)
        found["tie_calibrated"] = np.stack(
            [
                accuracy_at(
                    np.broadcast_to(one, wide), np.broadcast_to(y, wide), weights, epsilon=e
                )
                for one, e in pairs
            ]
        )
    if "soft_pairwise" in statistics:
        grid_x, grid_y = item_grids(sample)
        of_items = (of_clusters[:1] if fixed else of_clusters)[:, clusters_of_items(sample)]
        first, second = np.triu_indices(sample.n_systems, 1)
        p_y = pair_confidences(grid_y, of_items)
        rows = []
        for one in grid_x:
            gap = np.abs(pair_confidences(one, of_items) - p_y)
            weight = np.where(np.isfinite(gap), of_systems[:, first] * of_systems[:, second], 0)
            rows.append(1 - divide((weight * np.nan_to_num(gap)).sum(axis=1), weight.sum(axis=1)))
        found["soft_pairwise"] = np.stack(rows)
    return found


def epsilons_of(
    sample: Sample, level: str, statistics: Sequence[str], seed: int | np.random.Generator
) -> dict[str, Floats]:
    """Choose the thresholds of tie calibration on all data.

    Parameters
    ----------
    sample, level, statistics
        As in `statistics_at`.
    seed : int or Generator
        Which half of the items is held out.

    Returns
    -------
    dict of ndarray
        tie_calibrated (m,); tie_calibrated_held_out (m, items): each item's threshold is chosen
        on the other half of the items.
    """
    found = {}
    if level == "item":
        x, y = item_grids(sample)
    elif level == "output":
        x, y = sample.x[:, None], sample.y[None]
    else:
        x, y, _ = system_means(sample, np.ones((1, sample.n_clusters)))
    if "tie_calibrated" in statistics:
        found["tie_calibrated"] = np.array([best_epsilon(tie_calibration(one, y)) for one in x])
    if "tie_calibrated_held_out" in statistics:
        first = np.random.default_rng(seed).permutation(len(y)) < len(y) // 2
        held_out = np.empty((len(x), len(y)))
        for row, one in zip(held_out, x, strict=True):
            for half in (first, ~first):
                row[half] = best_epsilon(tie_calibration(one[~half], y[~half]))
        found["tie_calibrated_held_out"] = held_out
    return found
