"""Outputs that evaluators and annotators both scored, as arrays by system and item."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.analysis.coefficients.pair_statistics import Floats, divide, equalized
from nlgbench.analysis.correlation.judged import Judged


@dataclass(frozen=True)
class Sample:
    """Outputs that some evaluators have all scored, as arrays.

    Attributes
    ----------
    x : ndarray of shape (m, n)
        Scores of m evaluators for n outputs.
    y : ndarray of shape (n,)
        Judgments.
    item, system, cluster : ndarray of int of shape (n,)
        Numbers, from 0; some may not occur.
    n_systems, n_clusters : int
        How many numbers there are.
    """

    x: Floats
    y: Floats
    item: NDArray[np.int64]
    system: NDArray[np.int64]
    cluster: NDArray[np.int64]
    n_systems: int
    n_clusters: int


def samples_of(judged: Judged) -> Iterator[tuple[list[str], Sample]]:
    """Group evaluators that have scored the same outputs.

    Parameters
    ----------
    judged : Judged
        From `judged_scores`.

    Yields
    ------
    tuple of (list of str, Sample)
        Evaluators, and the outputs that have both a score of theirs and a judgment. Numbers of
        systems and clusters are those of `judged`, for all samples.

    Raises
    ------
    ValueError
        When an evaluator has no score for any judged output.
    """
    values, there = judged.scores.to_numpy(dtype=np.float64), judged.scores.notna()
    names = ("item_id", "system", "cluster")
    number = {name: pd.factorize(judged.rows[name])[0] for name in names}
    patterns: dict[bytes, list[int]] = {}
    for place, name in enumerate(there.columns):
        if not there[name].any():
            raise ValueError(
                f"evaluator {name!r} has no score for any judged output: check its output_id, or "
                "leave it out."
            )
        patterns.setdefault(there[name].to_numpy().tobytes(), []).append(place)
    for places in patterns.values():
        kept = there.iloc[:, places[0]].to_numpy()
        yield (
            [str(there.columns[place]) for place in places],
            Sample(
                values[kept][:, places].T,
                judged.rows.loc[kept, "judgment"].to_numpy(dtype=np.float64),
                item=number["item_id"][kept],
                system=number["system"][kept],
                cluster=number["cluster"][kept],
                n_systems=int(number["system"].max()) + 1,
                n_clusters=int(number["cluster"].max()) + 1,
            ),
        )


def item_grids(sample: Sample) -> tuple[Floats, Floats]:
    """Lay scores and judgments out by item and system.

    Parameters
    ----------
    sample : Sample
        Several outputs of a system for an item are averaged.

    Returns
    -------
    tuple of ndarray
        Scores (m, items, systems) and judgments (items, systems); NaN where missing.
    """
    items, row = np.unique(sample.item, return_inverse=True)
    cell, n_cells = row * sample.n_systems + sample.system, len(items) * sample.n_systems
    count = np.bincount(cell, minlength=n_cells).astype(np.float64)
    grids = [
        equalized(
            divide(np.bincount(cell, weights=values, minlength=n_cells).astype(np.float64), count)
        ).reshape(len(items), -1)
        for values in (*sample.x, sample.y)
    ]
    return np.stack(grids[:-1]), grids[-1]


def system_means(sample: Sample, of_clusters: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Average the outputs of each system.

    Parameters
    ----------
    sample : Sample
        The outputs.
    of_clusters : ndarray of shape (r, clusters)
        How often each cluster counts.

    Returns
    -------
    tuple of ndarray
        Mean scores (m, r, systems), mean judgments (r, systems), and whether the resample has an
        output of the system (r, systems); NaN where not. Equal means are tied, whatever their
        last bits.
    """
    cell = sample.cluster * sample.n_systems + sample.system
    n_cells = sample.n_clusters * sample.n_systems

    def sums(values: Floats) -> Floats:
        table = np.bincount(cell, weights=values, minlength=n_cells)
        return of_clusters @ table.reshape(sample.n_clusters, -1)

    count = sums(np.ones(len(sample.y)))
    x, y = np.stack([divide(sums(one), count) for one in sample.x]), divide(sums(sample.y), count)
    return np.stack([equalized(one) for one in x]), equalized(y), count > 0


def clusters_of_items(sample: Sample) -> NDArray[np.int64]:
    """Give each item's cluster.

    Parameters
    ----------
    sample : Sample
        The outputs.

    Returns
    -------
    ndarray of int of shape (items,)
        In the order of `item_grids`.

    Raises
    ------
    ValueError
        When an item lies in several clusters.
    """
    pairs = np.unique(np.stack([sample.item, sample.cluster]), axis=1)
    if pairs.shape[1] != len(np.unique(pairs[0])):
        raise ValueError(
            "some items lie in several clusters, so that items cannot be resampled by cluster: "
            "leave `clusters` out, or use level='output'."
        )
    return pairs[1]
