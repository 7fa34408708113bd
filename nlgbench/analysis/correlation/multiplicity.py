"""Many tests at once: adjusted p-values, and clusters that differ significantly."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.names import known


def adjust(p: ArrayLike, *, method: Literal["holm", "bh"] = "holm") -> Floats:
    """Adjust p-values for their number.

    Parameters
    ----------
    p : array-like
        Between 0 and 1; NaN where a test is undefined.
    method : {"holm", "bh"}
        ``"holm"``: any false rejection at all is held to the level (Holm 1979). ``"bh"``: the
        expected share of false among the rejections (Benjamini and Hochberg 1995,
        doi:10.1111/j.2517-6161.1995.tb02031.x; for independent or positively dependent tests).

    Returns
    -------
    ndarray of the same shape
        Adjusted, at most 1. NaN stays, and counts as no test.

    Raises
    ------
    ValueError
        When a value is no probability, or the method unknown.

    Examples
    --------
    >>> adjust([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    from statsmodels.stats.multitest import multipletests

    known(method, ("holm", "bh"), "method")
    values = np.asarray(p, dtype=np.float64)
    there = ~np.isnan(values)
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p must be between 0 and 1, or NaN: check what was passed.")
    found = np.full(values.shape, np.nan)
    if there.any():
        found[there] = multipletests(
            values[there], method={"holm": "holm", "bh": "fdr_bh"}[method]
        )[1]
    return found


def significance_clusters(
    estimates: pd.Series, tests: pd.DataFrame, *, alpha: float = 0.05
) -> pd.DataFrame:
    """Rank, and cut the ranking where everything above differs from everything below.

    Parameters
    ----------
    estimates : Series
        Of evaluators or systems, by name; higher is better.
    tests : DataFrame
        A row per pair: two columns of names that begin with ``evaluator_`` or ``system_`` and end
        with ``a`` and ``b``, and p (adjusted, if wanted).
    alpha : float
        p at or below it is significant.

    Returns
    -------
    DataFrame
        A row per name, best first: name, estimate, cluster (from 1). Names without an estimate
        come last, with cluster 0.

    Raises
    ------
    ValueError
        When a pair has no test, or columns are missing.

    Notes
    -----
    A line is drawn between two neighbors in the ranking when every name above is significantly
    better than every name below, as in the WMT shared tasks' tables of systems. A pair whose p is
    NaN is not significant. Within a cluster differences may be significant, too.

    Examples
    --------
    >>> tests = pd.DataFrame({"system_a": ["x", "x", "y"], "system_b": ["y", "z", "z"],
    ...     "p": [0.01, 0.01, 0.5]})
    >>> found = significance_clusters(pd.Series({"y": 0.3, "x": 0.9, "z": 0.2}), tests)
    >>> found[["name", "cluster"]].values.tolist()
    [['x', 1], ['y', 2], ['z', 2]]
    """
    ends = [
        [name for name in tests.columns if name in (f"evaluator_{side}", f"system_{side}")]
        for side in "ab"
    ]
    if [len(names) for names in ends] != [1, 1] or "p" not in tests:
        raise ValueError(
            "tests needs the columns evaluator_a and evaluator_b (or system_a and system_b) and p. "
            f"Found {', '.join(map(str, tests.columns))}."
        )
    ranked = estimates.dropna().sort_values(ascending=False, kind="stable")
    place = {name: number for number, name in enumerate(ranked.index)}
    p = np.full((len(ranked), len(ranked)), np.inf)
    for a, b, value in zip(tests[ends[0][0]], tests[ends[1][0]], tests["p"], strict=True):
        if a in place and b in place:
            p[place[a], place[b]] = p[place[b], place[a]] = value
    missing = np.argwhere(np.triu(np.isinf(p), 1))
    if len(missing):
        a, b = (ranked.index[number] for number in missing[0])
        raise ValueError(f"tests has no row for {a!r} and {b!r}: every pair needs its p.")
    significant = p <= alpha
    lines = [bool(significant[:at, at:].all()) for at in range(1, len(ranked))]
    table = pd.DataFrame({"name": ranked.index, "estimate": ranked.to_numpy()})
    table["cluster"] = np.cumsum([1, *lines])[: len(ranked)]
    rest = estimates[estimates.isna()]
    undefined = pd.DataFrame({"name": rest.index, "estimate": rest.to_numpy(), "cluster": 0})
    return pd.concat([table, undefined], ignore_index=True) if len(rest) else table


#: How many draws Holm's strictest level rests on: p there has a relative standard error of .1.
_BEYOND = 100


def draws_needed(n_tests: int, *, alpha: float) -> int:
    """Say how many random permutations a family of tests needs under Holm.

    Parameters
    ----------
    n_tests : int
        Tests of the family.
    alpha : float
        Its level.

    Returns
    -------
    int
        ``100 n_tests / alpha``: a p of ``alpha / n_tests``, the strictest that Holm asks for, then
        rests on 100 permutations, and the least p there is lies a hundredfold below it.

    Examples
    --------
    >>> draws_needed(38, alpha=0.05)
    76000
    """
    return round(_BEYOND * n_tests / alpha)


def cannot_answer(p_least: float, alpha: float, n_systems: int) -> str:
    """Say that no data of this many systems could reject, or "" where some could."""
    if not p_least > alpha:
        return ""
    return (
        f"cannot be answered with {n_systems} systems: the least adjusted p there is {p_least:.3g}"
    )


def max_t(values: Floats) -> tuple[Floats, float]:
    """Adjust the p-values of many tests by the largest of their statistics, step by step.

    Parameters
    ----------
    values : ndarray of shape (m, r)
        Statistics of m tests on comparable scales (divided by their standard deviations) under r
        permutations common to all; the first permutation is the data as they are.

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p, two-sided; NaN where the statistic of the data is.
    float
        The least that any of them could be: the share of permutations whose largest statistic is
        as large as any. NaN where there is no test.

    Notes
    -----
    With the tests in the order of |t|, the largest first, the adjusted p of the j-th is the share
    of permutations in which the largest of the j-th to the last is at least its |t|, and no less
    than that of the one before (Westfall and Young 1993, *Resampling-Based Multiple Testing*,
    algorithm 4.1; Romano and Wolf 2005, doi:10.1198/016214504000000539). It holds the family-wise
    error where permutations have the joint distribution of the true null hypotheses whichever those
    are (subset pivotality).

    Examples
    --------
    >>> p, least = max_t(np.array([[3.0, -3.0, 0.5, 0.1], [0.4, 0.3, -2.0, 0.2]]))
    >>> p.tolist(), least
    ([0.5, 0.5], 0.5)
    """
    p = np.full(len(values), np.nan)
    size = np.abs(np.where(np.isfinite(values), values, 0))
    order = np.flatnonzero(np.isfinite(values[:, 0]))
    if not len(order):
        return p, float("nan")
    largest = np.zeros(values.shape[1])
    # From the smallest statistic up; equal values may differ in their last bits.
    order = order[np.argsort(size[order, 0], kind="stable")]
    for at in order:
        np.maximum(largest, size[at], out=largest)
        p[at] = (largest >= size[at, 0] - 1e-9).mean()
    p[order[::-1]] = np.maximum.accumulate(p[order[::-1]])
    return p, float((largest >= largest.max() - 1e-9).mean())
