"""Which evaluators agree with humans at all: permutation tests for a column of stars."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from nlgbench.analysis.coefficients.pair_statistics import Floats
from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.inference import orders_of, permutation_p
from nlgbench.analysis.correlation.judged import judged_scores
from nlgbench.analysis.correlation.multiplicity import adjust, cannot_answer, draws_needed
from nlgbench.analysis.correlation.samples import samples_of, system_means
from nlgbench.inference import check_coverage
from nlgbench.names import known

_STATISTICS = ("pearson", "spearman", "kendall_b")
#: Orders whose pairs are compared at a time.
_BLOCK = 1 << 14


def permutation_tests(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    statistics: Sequence[str] = _STATISTICS,
    alpha: float = 0.05,
    dimension: str | None = None,
    include_human: bool = False,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Test for each evaluator whether it agrees with humans over systems at all.

    Parameters
    ----------
    outputs, scores, judgments, dimension, include_human
        As in `correlation.correlate`.
    statistics : sequence of str
        Of ``pearson``, ``spearman``, ``kendall_b``; each is a family of its own.
    alpha : float
        Family-wise level.
    seed : int or Generator
        Where random orders come from.

    Returns
    -------
    DataFrame
        A row per evaluator and statistic: dataset, evaluator, statistic, estimate (of the means of
        the systems), p (two-sided), p_adjusted (Holm over the evaluators), p_least (the least
        p_adjusted that the family could have), p_method, n (systems), reason (why there is no
        answer, or "").

    Raises
    ------
    ValueError
        As `correlate`.

    Notes
    -----
    The judgments are dealt out to the systems anew: all orders up to eight systems, from nine on as
    many random ones as the family needs (`multiplicity.draws_needed`), the same for all evaluators.
    p is the share of orders with a correlation at least as far from 0, the order of the data
    counted among them. It is exact for the null that scores and judgments are independent.

    Examples
    --------
    >>> from nlgbench import tables
    >>> outputs = pd.DataFrame([("d", s, "1", s, "", False, "") for s in "abcde"],
    ...     columns=tables.columns("outputs"))
    >>> keys = outputs[["dataset", "output_id"]]
    >>> scores = keys.assign(evaluator="e", score=[1.0, 2.0, 3.0, 4.0, 5.0], signature="")
    >>> judgments = keys.assign(annotator_id="w", dimension="q", value=[1.0, 2.0, 4.0, 3.0, 5.0],
    ...     group_id="")
    >>> found = permutation_tests(outputs, scores, judgments, statistics=["kendall_b"], seed=0)
    >>> found[["estimate", "p", "p_adjusted", "p_least"]].round(3).values.tolist()
    [[0.8, 0.083, 0.083, 0.017]]
    """
    if isinstance(statistics, str) or not len(statistics):
        raise ValueError(f"statistics must be a list of names. Got {statistics!r}.")
    for name in statistics:
        known(name, _STATISTICS, "statistics")
    check_coverage(alpha, "alpha")
    judged = judged_scores(
        outputs, scores, judgments, dimension=dimension, include_human=include_human
    )
    m, rng = judged.scores.shape[1], np.random.default_rng(seed)
    dealt: dict[int, tuple[NDArray[np.int64], bool]] = {}
    rows = []
    for names, sample in samples_of(judged):
        x, y, there = system_means(sample, np.ones((1, sample.n_clusters)))
        x, y = x[:, 0, there[0]], y[0, there[0]]
        n = len(y)
        if n not in dealt:
            dealt[n] = orders_of(n, draws_needed(m, alpha=alpha), rng)
        orders, is_all = dealt[n]
        for statistic in statistics:
            estimates = np.full(len(x), np.nan)
            if n > 1:
                estimates = coefficients(x, y, statistics=[statistic])[statistic]
            values = permuted(x, y, orders, statistic)
            p = permutation_p(values, estimates[:, None], exact=is_all, two_sided=True)
            farthest = np.abs(values).max(axis=1, keepdims=True)
            least = permutation_p(values, farthest, exact=True, two_sided=True)
            for name, estimate, one, its_least in zip(names, estimates, p, least, strict=True):
                rows.append(
                    {
                        "dataset": judged.dataset,
                        "evaluator": name,
                        "statistic": statistic,
                        "estimate": estimate,
                        "p": one,
                        "p_least": its_least if is_all else 1 / (1 + len(orders)),
                        "p_method": f"permutation, {'all' if is_all else f'{len(orders)} drawn'}",
                        "n": n,
                    }
                )
    table = pd.DataFrame(rows)
    table.loc[table["p"].isna(), "p_least"] = np.nan
    families = table.groupby("statistic", sort=False)
    table.insert(5, "p_adjusted", families["p"].transform(adjust))
    smallest = families["p_least"].transform("min") * families["p"].transform("count")
    table["p_least"] = smallest.where(smallest < 1, 1.0).where(smallest.notna())
    table["reason"] = [
        cannot_answer(least, alpha, n)
        if np.isfinite(p)
        else "undefined: fewer than two systems, or scores that do not vary"
        for p, least, n in zip(table["p"], table["p_least"], table["n"], strict=True)
    ]
    order = {name: place for place, name in enumerate(judged.scores.columns)}
    return table.sort_values(
        "evaluator", key=lambda one: one.map(order), kind="stable", ignore_index=True
    )


def permuted(x: Floats, y: Floats, orders: NDArray[np.int64], statistic: str) -> Floats:
    """Correlate evaluators (m, n) with y in each order (r, n): products, as no order changes ties.

    A variable that does not vary gives 0.
    """
    if statistic == "kendall_b":
        i, j = np.triu_indices(x.shape[1], 1)
        of_x, of_y = np.sign(x[:, i] - x[:, j]), np.sign(y[:, None] - y)
        over = np.sqrt(np.abs(of_x).sum(axis=1, keepdims=True) * np.abs(of_y).sum() / 2)
        of_x = of_x / np.where(over > 0, over, 1)
        blocks = np.split(orders, range(_BLOCK, len(orders), _BLOCK))
        return np.concatenate([of_x @ of_y[one[:, i], one[:, j]].T for one in blocks], axis=1)
    if statistic == "spearman":
        x, y = rankdata(x, axis=1), rankdata(y)
    # The first value off makes exact zeros of a constant.
    x, y = x - x[:, :1], y - y[:1]
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean()
    over = np.sqrt((x**2).sum(axis=1, keepdims=True) * (y**2).sum())
    return (x / np.where(over > 0, over, 1)) @ y[orders].T
