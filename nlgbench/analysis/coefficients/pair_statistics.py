"""Statistics that follow from counts of pairs: Kendall's tau, pairwise accuracy."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PairCounts(NamedTuple):
    """Pairs of units, by how two variables order them.

    Attributes
    ----------
    balance : ndarray
        Concordant minus discordant pairs.
    untied_x, untied_y, untied_both : ndarray
        Pairs that x, y, or both do not tie.
    pairs : ndarray
        All pairs of different units. A unit with weight w counts w times; its copies are not
        pairs.
    distinct_x, distinct_y : ndarray
        Different values.
    size : ndarray
        Units, counted with their weights.
    """

    balance: Floats
    untied_x: Floats
    untied_y: Floats
    untied_both: Floats
    pairs: Floats
    distinct_x: Floats
    distinct_y: Floats
    size: Floats


def kendall_b(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-b from counts of pairs.

    Parameters
    ----------
    counts : PairCounts
        From `coefficients.pair_counts` or `weighted.weighted_pair_counts`.

    Returns
    -------
    ndarray
        -1 to 1; NaN where a variable ties all pairs.

    Notes
    -----
    ``(C - D) / sqrt(pairs untied in x * pairs untied in y)`` (Kendall 1945,
    doi:10.1093/biomet/33.3.239).

    Examples
    --------
    >>> from nlgbench.analysis.coefficients import pair_counts
    >>> round(float(kendall_b(pair_counts([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]))), 3)
    0.333
    """
    return divide(counts.balance, np.sqrt(counts.untied_x * counts.untied_y))


def kendall_c(counts: PairCounts) -> Floats:
    """Compute Kendall's tau-c (Stuart's) from counts of pairs.

    Parameters
    ----------
    counts : PairCounts
        From `coefficients.pair_counts` or `weighted.weighted_pair_counts`.

    Returns
    -------
    ndarray
        -1 to 1; NaN where a variable is constant.

    Notes
    -----
    ``2 m (C - D) / (n^2 (m - 1))``, m the lesser number of different values (Stuart 1953,
    doi:10.1093/biomet/40.1-2.105). In a resample the copies of a unit are ties, as in SciPy on the
    sample written out: perfect agreement of twelve systems falls to .97 on the average.

    Examples
    --------
    >>> from nlgbench.analysis.coefficients import pair_counts
    >>> round(float(kendall_c(pair_counts([1.0, 2.0, 3.0], [1.0, 3.0, 3.0]))), 3)
    0.889
    """
    m = np.minimum(counts.distinct_x, counts.distinct_y)
    return divide(2 * m * counts.balance, counts.size**2 * (m - 1))


def pairwise_accuracy(counts: PairCounts) -> Floats:
    """Compute the share of pairs that two variables order alike, ties included.

    Parameters
    ----------
    counts : PairCounts
        From `coefficients.pair_counts` or `weighted.weighted_pair_counts`.

    Returns
    -------
    ndarray
        0 to 1; NaN where there is no pair. A constant x is right about the ties of y.

    Notes
    -----
    ``(C + T_xy) / all pairs``, ``T_xy`` the pairs tied in both (Deutsch, Foster and Freitag 2023,
    *Ties Matter*, doi:10.18653/v1/2023.emnlp-main.798). Without ties it is the pairwise
    accuracy of Kocmi et al. (2021, https://aclanthology.org/2021.wmt-1.57).

    Examples
    --------
    >>> from nlgbench.analysis.coefficients import pair_counts
    >>> pairwise_accuracy(pair_counts([1.0, 2.0, 2.0], [1.0, 3.0, 3.0]))
    array(1.)
    """
    concordant = (counts.untied_both + counts.balance) / 2
    tied_both = counts.pairs - counts.untied_x - counts.untied_y + counts.untied_both
    return divide(concordant + tied_both, counts.pairs)


def chance_accuracy(counts: PairCounts) -> Floats:
    """Compute the expected pairwise accuracy of scores dealt out at random, with these ties.

    Parameters
    ----------
    counts : PairCounts
        From `coefficients.pair_counts` or `weighted.weighted_pair_counts`.

    Returns
    -------
    ndarray
        0 to 1: one half where neither variable has ties.

    Notes
    -----
    Under random pairing, a pair is tied by x and by y independently: ``u_x u_y / 2 + (1 - u_x)
    (1 - u_y)``, with ``u`` the share of pairs untied.

    Examples
    --------
    >>> from nlgbench.analysis.coefficients import pair_counts
    >>> round(float(chance_accuracy(pair_counts([1.0, 2.0, 2.0], [1.0, 3.0, 2.0]))), 3)
    0.333
    """
    untied_x, untied_y = (
        divide(counts.untied_x, counts.pairs),
        divide(counts.untied_y, counts.pairs),
    )
    return untied_x * untied_y / 2 + (1 - untied_x) * (1 - untied_y)


#: Statistics that follow from counts of pairs.
OF_PAIRS: dict[str, Callable[[PairCounts], Floats]] = {
    "kendall_b": kendall_b,
    "kendall_c": kendall_c,
    "pairwise_accuracy": pairwise_accuracy,
    "chance_accuracy": chance_accuracy,
}


def divide(above: Floats, below: Floats) -> Floats:
    """Divide; what is divided by 0 is undefined.

    Parameters
    ----------
    above, below : ndarray
        Which broadcast.

    Returns
    -------
    ndarray
        NaN where the divisor is 0.

    Examples
    --------
    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    above, below = np.broadcast_arrays(above, below)
    found = np.full(below.shape, np.nan)
    np.divide(above, below, out=found, where=below != 0)
    return found


def tolerance(values: Floats) -> float:
    """Give the difference up to which values count as equal.

    Means of equal values, and differences of equal steps, may differ in their last bits. The rule
    is that of HUSE's neighborhoods (``ties="exact"``): 1e-9 standard deviations. Where values
    hardly vary, 1e-12 of the largest.
    """
    finite = values[np.isfinite(values)]
    return float(max(1e-9 * finite.std(), 1e-12 * np.abs(finite).max())) if finite.size else 0.0


def equalized(values: Floats, limit: float | None = None) -> Floats:
    """Make values equal that differ by at most `limit`, along the last axis; NaN stays.

    Default: the `tolerance` of all values.
    """
    limit = tolerance(values) if limit is None else limit
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape).copy()
    place[..., 1:][ordered[..., 1:] - ordered[..., :-1] <= limit] = 0
    first = np.take_along_axis(ordered, np.maximum.accumulate(place, axis=-1), axis=-1)
    found = np.empty_like(values)
    np.put_along_axis(found, order, first, axis=-1)
    return found
