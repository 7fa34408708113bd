"""Exact tests of pairs of systems that differ on few sampled units, such as items or documents."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgbench.arrays import Floats, Ints

#: With fewer units that differ, and at least as many that do not, a t test rejects too often.
FEWEST_DECISIVE = 30


class Units(NamedTuple):
    """For each pair of systems, the units (clusters of items) with judgments of both."""

    n: Ints
    n_decisive: Ints
    #: Whether few units differ, and at least as many do not.
    few: NDArray[np.bool_]
    #: Of an exact test; NaN for pairs that are not tested.
    p: Floats


def compare_units(
    value: Floats,
    labels: tuple[Ints, Ints, Ints],
    pairs: tuple[Ints, Ints],
    flat: NDArray[np.bool_],
) -> Units:
    """Count the units on which two systems differ; test those that differ on few, or are `flat`."""
    # The system, the unit, and the combination of item and annotator of each judgment.
    system, unit, cell = labels
    k = int(system.max()) + 1
    size, cells, total = (
        np.bincount(label * k + system, weight, (int(label.max()) + 1) * k).reshape(-1, k)
        for label, weight in ((unit, None), (cell, None), (unit, value))
    )
    rounding = 1e-11 * np.abs(value).max()
    counted = []
    for first, second, constant in zip(*pairs, flat, strict=True):
        shared = (size[:, first] > 0) & (size[:, second] > 0)
        sums, sizes = total[shared][:, [first, second]], size[shared][:, [first, second]]
        decisive = np.abs(np.subtract(*(sums / sizes).T)) > rounding
        n, n_decisive = int(shared.sum()), int(decisive.sum())
        few = n_decisive < FEWEST_DECISIVE and n >= 2 * n_decisive and n > 0
        # Both were judged on the same items by the same annotators, equally often.
        is_tested = (constant or few) and n > 0 and (cells[:, first] == cells[:, second]).all()
        p = flip_signs(np.subtract(*sums[decisive].T)) if is_tested else np.nan
        counted.append((n, n_decisive, few, p))
    return Units(*map(np.array, zip(*counted, strict=True)))


def flip_signs(difference: Floats) -> float:
    """Return the share of all flips of signs whose sum is at least as far from 0."""
    # From 30 differences, only equal ones occur (a pair without variance).
    if len(difference) >= FEWEST_DECISIVE:
        return float(2.0 ** (1 - len(difference)))
    # The sums of all flips are those of one half plus those of the other.
    halves = []
    for half in np.array_split(np.sort(np.abs(difference)), 2):
        sums = np.zeros(1)
        for size in half:
            sums = np.append(sums - size, sums + size)
        halves.append(np.sort(sums))
    least = np.abs(difference.sum()) - 1e-9 * np.abs(difference).sum()
    n_larger = len(halves[1]) - np.searchsorted(halves[1], least - halves[0])
    return min(1.0, float(2 * n_larger.sum() / 2 ** len(difference)))
