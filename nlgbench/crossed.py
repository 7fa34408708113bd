"""The variance over items and annotators, two crossed factors, and what intervals generalize to.

An analysis chooses what its intervals cover (`choose_annotators`), says which clusters its rows are
in (`clusters_of`), leaves each cluster out in turn (`Clusters.jackknife`), and puts Student's t
around the estimate (`t_interval`). Ratings, whose rows hang together through either side, take
the labels alone (`factors`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.stats import t as student

from nlgbench.inference import laid_out

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Takes sums over rows (..., m) to a value (...), or several in the last axis; NaN where undefined.
Statistic = Callable[[Floats], Floats]

#: An interval from fewer clusters, or systems, than these is given, and marked.
FEWEST = 10
#: What an interval generalizes to (the column ``covers``).
THESE_ANNOTATORS = "other items, these annotators"
OTHER_ANNOTATORS = "other items and annotators"
#: A smaller standard error is a rounding error.
_ALIKE = 1e-12


def choose_annotators(
    annotators: Literal["fixed", "random"] | None, n_effective: float, *, persons: bool = True
) -> tuple[str, str]:
    """Choose what intervals generalize to: ``covers``, and why there are none, or "".

    By default annotators are a sample from ten effective ones on (rounded: ten with nearly equal
    loads are ten), and fixed below. Positions of a file (``persons=False``) are never a sample.
    """
    few = round(n_effective) < FEWEST
    if annotators == "fixed" or (annotators is None and (few or not persons)):
        return THESE_ANNOTATORS, ""
    if not persons:
        return OTHER_ANNOTATORS, (
            "annotator ids are positions in a file, not persons: say settings: annotators: "
            "persons if each position is one person, or use annotators='fixed'"
        )
    if few:
        return OTHER_ANNOTATORS, (
            f"{n_effective:.1f} effective annotators: an interval over other annotators needs "
            f"{FEWEST}. Use annotators='fixed' for these annotators"
        )
    return OTHER_ANNOTATORS, ""


def few_clusters(n: float, units: str = "clusters") -> str:
    """Say that an interval rests on too few clusters to be trusted, or nothing."""
    n = round(n)
    few = f"{n} {units}: an interval from fewer than {FEWEST} cannot be trusted"
    return few if n < FEWEST else ""


def effective_size(cluster: Ints) -> float:
    """Count clusters as if they were of one size: ``(sum n)^2 / sum n^2``."""
    size = np.bincount(cluster).astype(np.float64)
    return float(size.sum() ** 2 / max(1.0, (size**2).sum()))


def effective_sizes(
    cluster: Ints, group: Ints, n_groups: int, weight: Floats | None = None
) -> Floats:
    """Give `effective_size` by group, of rows that may have weights; NaN of a group without any."""
    times = int(cluster.max(initial=-1)) + 1
    cells, cell = np.unique(group.astype(np.int64) * times + cluster, return_inverse=True)
    size, of = np.bincount(cell, weight), cells // max(1, times)
    total, squares = (np.bincount(of, one, n_groups) for one in (size, size**2))
    return np.asarray(total**2 / np.where(squares > 0, squares, np.nan))


def factors(item: Ints, annotator: Ints | None = None) -> list[Ints]:
    """List the factors' labels: items, and if annotators are a sample annotators, and both.

    Each label is of shape (rows, any number): a game is between two items, and two votes that are
    compared have two annotators. What shares an item and an annotator has a column for each two.
    """
    if annotator is None:
        return [item]
    code = item[:, :, None].astype(np.int64) * (annotator.max(initial=0) + 1)
    code = (code + annotator[:, None, :]).reshape(len(item), item.shape[1] * annotator.shape[1])
    return [item, annotator, np.unique(code, return_inverse=True)[1].reshape(code.shape)]


def incidence(label: Ints) -> csr_array:
    """Say which rows are in which cluster; one with several labels is in each cluster once."""
    at = np.repeat(np.arange(len(label)), label.shape[1])
    number = np.unique(label, return_inverse=True)[1].ravel()
    shape = (int(number.max(initial=-1)) + 1, len(label))
    found = csr_array((np.ones(label.size), (number, at)), shape=shape)
    found.data[:] = 1
    return found


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows are in which clusters of each factor, and how many clusters they are worth."""

    #: Clusters x rows: items alone, or items, annotators, and what shares both.
    kinds: list[csr_array]
    #: The effective number of items, or of annotators where these are a sample and fewer.
    n: float
    #: What n counts.
    units: str
    #: What intervals generalize to.
    covers: str

    def jackknife(self, parts: Floats, statistic: Statistic) -> tuple[Floats, Floats]:
        """Give a function of sums of parts (rows, m), and its standard error."""
        return jackknife(statistic, parts.sum(axis=0), [kind @ parts for kind in self.kinds])

    def covariances(self, rows: Floats) -> list[Floats]:
        """Give the covariance (m, m), by factor, of sums of rows whose expectation is 0."""
        sums = [kind @ rows for kind in self.kinds]
        return [len(one) / max(1, len(one) - 1) * one.T @ one for one in sums]


def clusters_of(item: Ints, annotator: Ints | None = None, covers: str = "other items") -> Clusters:
    """Make clusters of labels as `factors` takes them; without annotators these are fixed."""
    n, units = effective_size(item.ravel()), "items"
    if annotator is not None and effective_size(annotator.ravel()) < n:
        n, units = effective_size(annotator.ravel()), "annotators"
    kinds = [incidence(label) for label in factors(item, annotator)]
    return Clusters(kinds, n, f"effective {units}", covers)


def cluster_jackknife(
    parts: Floats, clusters: ArrayLike, statistic: Statistic, *, confidence: float = 0.95
) -> dict[str, Any]:
    """Put an interval over G clusters of one factor, with G - 1 degrees of freedom."""
    place, names = pd.factorize(np.asarray(clusters))
    estimate, se = clusters_of(place[:, None]).jackknife(parts, statistic)
    return t_interval(estimate, se, len(names), confidence=confidence)


def jackknife(statistic: Statistic, total: Floats, lost: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Give a function of sums, and its standard error without each cluster in turn.

    `lost` holds by factor what the clusters add to the sums (clusters, m): items alone, or items,
    annotators, and what shares both. Of one factor's G clusters the variance is ``(G - 1) / G``
    times the sum of squared deviations of the G values without one from their mean (Cameron and
    Miller 2015, doi:10.3368/jhr.50.2.317); of both it is the `largest_variance`.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        each = [jackknife_variance(np.asarray(statistic(total - sums))) for sums in lost]
        estimate = np.asarray(statistic(total), dtype=np.float64)
    return estimate, np.sqrt(largest_variance(*each))


def jackknife_variance(without: Floats) -> Any:
    """Give the variance of an estimate from its values without one each, in the first axis."""
    n = len(without)
    if not n:
        return np.full(without.shape[1:], np.nan)
    return (n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0)


def largest_variance(items: Any, *others: Any) -> Floats:
    """Combine variances over two crossed factors: the largest of V_I, V_A and V_I + V_A - V_IA.

    Without `others` (V_A and V_IA) it is V_I. The difference alone (Cameron, Gelbach and Miller
    2011, doi:10.1198/jbes.2010.07136) is often positive and tiny where judgments are mostly noise,
    so its t rejects too often (MacKinnon, Nielsen and Webb 2024, arXiv:2406.08880).
    """
    if not others:
        return np.asarray(items)
    annotators, both = others
    return np.maximum(np.maximum(items, annotators), items + annotators - both)


def contrast_variance(contrasts: Floats, covariances: Sequence[Floats]) -> Floats:
    """Give each contrast's variance (n, m): over items, or over items, annotators and both."""
    each = [np.einsum("ps,st,pt->p", contrasts, one, contrasts) for one in covariances]
    return largest_variance(*each)


def t_interval(
    estimate: Any,
    se: Any,
    n: float,
    *,
    units: str = "clusters",
    missing: str = "",
    confidence: float = 0.95,
) -> dict[str, float | str]:
    """Lay out an interval by t with n - 1 degrees of freedom, n the (effective) number of clusters.

    `missing` says why there is none. ``reason`` says that, or why the interval may be doubted.
    """
    if np.isnan(estimate):
        missing = "undefined: nothing to compare, or no variation"
    elif not missing and n < 2:
        missing = "one cluster: its spread is unknown"
    elif not missing and np.isnan(se):
        missing = "undefined without one of the clusters"
    elif not missing and se < _ALIKE:
        missing = "all clusters give the same: their spread is unknown"
    half = np.nan if missing else float(student.ppf(0.5 + confidence / 2, n - 1) * se)
    reason = missing or few_clusters(n, units)
    return laid_out(estimate, se, half, confidence) | {"n_clusters": n, "reason": reason}


def rank_ranges(one: Ints, other: Ints, better: NDArray[np.bool_], n: int) -> dict[str, Floats]:
    """Count who is significantly better and worse than each of `n` systems: ranges of ranks.

    Each pair (`one` against `other`) stands here from both sides; `better` says where the first is
    significantly better, by p adjusted over all pairs, so that all ranges cover at once.
    """
    ahead, behind = np.bincount(other[better], minlength=n), np.bincount(one[better], minlength=n)
    return {"rank_low": 1 + ahead.astype(np.float64), "rank_high": n - behind.astype(np.float64)}
