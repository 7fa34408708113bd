"""Variance over items and annotators, which are crossed, and what intervals generalize to.

An analysis chooses what its intervals generalize to (`choose_annotators`), assigns its rows to
clusters (`clusters_of`), leaves out one cluster at a time (`Clusters.jackknife`), and computes an
interval by Student's t (`t_interval`). Ratings use only the labels of clusters (`factors`), because
a game can belong to two items, one for each side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.stats import t as student

from nlgbench.arrays import Floats, Ints
from nlgbench.names import known
from nlgbench.status import OK, Status, estimate_columns, explain

#: Maps sums over rows (..., m) to a value (...), or to several on the last axis; NaN if undefined.
Statistic = Callable[[Floats], Floats]

#: An interval from fewer clusters or systems has a warning in its ``reason``.
FEWEST = 10
#: What an interval generalizes to (the column ``covers``).
OTHER_ITEMS = "other items"
THESE_ANNOTATORS = f"{OTHER_ITEMS}, these annotators"
OTHER_ANNOTATORS = "other items and annotators"
#: Standard errors below this share of the estimate are due to rounding.
_LEAST_SE = 1e-12


def write_scope(covers: Iterable[Any]) -> str:
    """Write what intervals generalize to, from a column ``covers``; empty if none has a value."""
    scopes = dict.fromkeys(x if "other " in x else f"other {x}" for x in covers if x)
    text = re.sub(r"(these \w+), (other \w+)", r"\2 with \1", "; ".join(scopes))
    return text.replace(", these ", " with these ").replace(" and a", " and other a")


def choose_annotators(
    annotators: Literal["fixed", "random"] | None, n_effective: float, *, persons: bool = True
) -> tuple[str, Status]:
    """Choose what intervals generalize to (``covers``); if they are undefined, explain why.

    By default, annotators count as a random sample if their effective number, rounded, is at least
    ten. Fewer annotators, and positions in a file (``persons=False``), count as fixed.
    """
    few = round(n_effective) < FEWEST
    if annotators == "fixed" or (annotators is None and (few or not persons)):
        return THESE_ANNOTATORS, OK
    if not persons:
        return OTHER_ANNOTATORS, explain("positions")
    if few:
        return OTHER_ANNOTATORS, explain("too_few_annotators", n=n_effective, least=FEWEST)
    return OTHER_ANNOTATORS, OK


def few_clusters(n: float, units: str = "clusters") -> Status:
    """Return a warning if an interval has too few clusters (of these units) to be trusted."""
    n = round(n)
    if n >= FEWEST:
        return OK
    few = f"{n} {units}" if n != 1 else re.sub(r"s\b", "", f"one {units}", count=1)
    kind = units.removeprefix("effective ").partition(" ")[0]
    return explain(f"few_{kind}", n=few, least=FEWEST)


def group_items(outputs: pd.DataFrame, by: str) -> pd.Series[str]:
    """Return the group of each item; all outputs of an item must have the same."""
    usual = {"output_id", "item_id", "system", "text", "context", "is_human"}
    known(by, [str(name) for name in outputs if name not in usual], "by")
    groups = outputs.set_index("item_id")[by].astype("object").replace("", None).dropna()
    groups = groups.astype(str).reset_index().drop_duplicates().set_index("item_id")[by]
    repeated = groups[groups.index.duplicated(keep=False)]
    if len(repeated):
        item = repeated.index[0]
        values = ", ".join(map(repr, repeated[[item]].iloc[:3]))
        raise ValueError(
            f"by={by!r} must be constant within an item, but outputs of item {item!r} have "
            f"{values}: correct the column, or choose one that describes items."
        )
    return groups


def effective_size(cluster: Ints) -> float:
    """Return the effective number of clusters of unequal sizes: ``(sum n)^2 / sum n^2``."""
    size = np.bincount(cluster).astype(np.float64)
    return float(size.sum() ** 2 / max(1.0, (size**2).sum()))


def effective_sizes(
    cluster: Ints, group: Ints, n_groups: int, weight: Floats | None = None
) -> Floats:
    """Return `effective_size` of each group of optionally weighted rows; NaN for empty groups."""
    n_clusters = int(cluster.max(initial=-1)) + 1
    cells, cell = np.unique(group.astype(np.int64) * n_clusters + cluster, return_inverse=True)
    size, group_of_cell = np.bincount(cell, weight), cells // max(1, n_clusters)
    total = np.bincount(group_of_cell, size, n_groups)
    squares = np.bincount(group_of_cell, size**2, n_groups)
    return np.asarray(total**2 / np.where(squares > 0, squares, np.nan))


def factors(item: Ints, annotator: Ints | None = None) -> list[Ints]:
    """List the labels of items and, if annotators are random, of annotators and combinations.

    A label array has shape (rows, k): a game can involve two items, and a comparison of two votes
    can involve two annotators. Each column of combinations pairs an item with an annotator.
    """
    if annotator is None:
        return [item]
    code = item[:, :, None].astype(np.int64) * (annotator.max(initial=0) + 1)
    code = (code + annotator[:, None, :]).reshape(len(item), item.shape[1] * annotator.shape[1])
    return [item, annotator, np.unique(code, return_inverse=True)[1].reshape(code.shape)]


def incidence(label: Ints) -> csr_array:
    """Return the clusters x rows matrix of memberships; repeated labels of a row count once."""
    row = np.repeat(np.arange(len(label)), label.shape[1])
    number = np.unique(label, return_inverse=True)[1].ravel()
    shape = (int(number.max(initial=-1)) + 1, len(label))
    members = csr_array((np.ones(label.size), (number, row)), shape=shape)
    members.data[:] = 1
    return members


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows are in which clusters of each factor, and the effective number of clusters."""

    #: Clusters x rows, by factor: items alone, or items, annotators, and combinations of both.
    kinds: list[csr_array]
    #: The effective number of items, or of annotators if these are random and fewer.
    n: float
    #: The units that n counts.
    units: str
    #: What intervals generalize to.
    covers: str

    def jackknife(self, summands: Floats, statistic: Statistic) -> tuple[Floats, Floats]:
        """Compute a statistic of the sums of `summands` (rows, m), and its standard error."""
        return jackknife(statistic, summands.sum(axis=0), [kind @ summands for kind in self.kinds])

    def covariances(self, rows: Floats) -> list[Floats]:
        """Compute, by factor, the covariance (m, m) of sums of rows whose expectation is 0."""
        sums_of_factors = [kind @ rows for kind in self.kinds]
        return [len(sums) / max(1, len(sums) - 1) * sums.T @ sums for sums in sums_of_factors]


def clusters_of(item: Ints, annotator: Ints | None = None, covers: str = "other items") -> Clusters:
    """Build clusters from labels as in `factors`; without `annotator`, annotators are fixed."""
    n, units = effective_size(item.ravel()), "items"
    if annotator is not None and effective_size(annotator.ravel()) < n:
        n, units = effective_size(annotator.ravel()), "annotators"
    kinds = [incidence(label) for label in factors(item, annotator)]
    return Clusters(kinds, n, f"effective {units}", covers)


def cluster_jackknife(
    summands: Floats, clusters: ArrayLike, statistic: Statistic, *, confidence: float = 0.95
) -> dict[str, Any]:
    """Compute an interval over G clusters of one factor, with G - 1 degrees of freedom."""
    cluster, names = pd.factorize(np.asarray(clusters))
    estimate, se = clusters_of(cluster[:, None]).jackknife(summands, statistic)
    return t_interval(estimate, se, len(names), confidence=confidence)


def jackknife(statistic: Statistic, total: Floats, lost: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Compute a statistic of sums, and its standard error by a delete-one-cluster jackknife.

    `lost` contains, by factor, what each cluster adds to the sums (clusters, m): items alone, or
    items, annotators, and combinations of both. For one factor of G clusters, the variance is
    ``(G - 1) / G`` times the sum of squared deviations of the G leave-one-out values from their
    mean (Cameron and Miller 2015, doi:10.3368/jhr.50.2.317); for two, see `largest_variance`.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = [jackknife_variance(np.asarray(statistic(total - sums))) for sums in lost]
        estimate = np.asarray(statistic(total), dtype=np.float64)
    return estimate, np.sqrt(largest_variance(*variances))


def jackknife_variance(without: Floats, strata: Ints | None = None) -> Any:
    """Compute the variance of an estimate from leave-one-out values, along the first axis.

    With strata, a label per value, deviations are from their stratum's mean (Tukey 1958).
    """
    if not len(without):
        return np.full(without.shape[1:], np.nan)
    label = np.zeros(len(without)) if strata is None else strata
    groups = [without[label == stratum] for stratum in np.unique(label)]
    with np.errstate(invalid="ignore"):  # z of a perfect correlation is infinite
        return sum(values.var(axis=0) * (len(values) - 1) for values in groups)


def jackknife_covariance(without: Floats, estimate: Floats) -> Floats:
    """Compute the covariance of estimates from leave-one-out values (clusters, m)."""
    off = without - estimate
    return (len(off) - 1) / len(off) * off.T @ off


def largest_variance(items: Any, *others: Any) -> Floats:
    """Combine variances over items, annotators and combinations: max(V_I, V_A, V_I + V_A - V_IA).

    Without `others` (V_A and V_IA), return V_I. V_I + V_A - V_IA alone (Cameron, Gelbach and Miller
    2011, doi:10.1198/jbes.2010.07136) is often positive and tiny where judgments are mostly noise,
    so tests based on it reject too often (MacKinnon, Nielsen and Webb 2024, arXiv:2406.08880).
    """
    if not others:
        return np.asarray(items)
    annotators, both = others
    return np.maximum(np.maximum(items, annotators), items + annotators - both)


def contrast_variance(contrasts: Floats, covariances: Sequence[Floats]) -> Floats:
    """Compute each contrast's variance (n, m) over items, or over items and annotators."""
    variances = [np.einsum("ps,st,pt->p", contrasts, matrix, contrasts) for matrix in covariances]
    return largest_variance(*variances)


def t_interval(
    estimate: Any,
    se: Any,
    n: float,
    *,
    units: str = "clusters",
    missing: Status = OK,
    confidence: float = 0.95,
) -> dict[str, float | str]:
    """Compute a t interval with n - 1 degrees of freedom, or none for the reason in `missing`."""
    if np.isnan(estimate):
        missing = missing or explain("nothing_to_compare")
    elif not missing and n < 2:
        few = explain("one_effective", n=n, units=units.removeprefix("effective "))
        missing = few if n > 1 + 1e-9 else explain("one_cluster")
    elif not missing and np.isnan(se):
        missing = explain("undefined_without_one")
    elif not missing and se <= _LEAST_SE * abs(estimate):
        missing = explain("no_variation")
    half = np.nan if missing else float(student.ppf(0.5 + confidence / 2, n - 1) * se)
    status = missing or few_clusters(n, units)
    about: dict[str, Any] = {"se": float(se), "confidence": confidence, "n_clusters": n}
    return estimate_columns(estimate, estimate - half, estimate + half, status, **about)


def rank_ranges(
    system: Ints, opponent: Ints, better: NDArray[np.bool_], n: int
) -> dict[str, Floats]:
    """Compute ranges of ranks from how many systems are significantly better or worse than each.

    Each pair (`system`, `opponent`) is listed in both directions; `better` is True where the first
    is significantly better. With p adjusted over all pairs, the ranges have simultaneous coverage.
    """
    ahead, behind = (
        np.bincount(opponent[better], minlength=n),
        np.bincount(system[better], minlength=n),
    )
    return {"rank_low": 1 + ahead.astype(np.float64), "rank_high": n - behind.astype(np.float64)}
