"""Judge the Judges from print alone: which printed accuracy would let a row follow."""

from collections.abc import Sequence
from itertools import product
from math import sqrt

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from nlgbench.analysis.printed.judges import PAPER, STATISTICS, TOLERANCE, generators, inputs
from nlgbench.datasets.published import load_printed

Floats = NDArray[np.float64]


def repairs(
    number: int, row: str, cells: Sequence[str], values: ArrayLike, *, tolerance: float = TOLERANCE
) -> pd.DataFrame:
    """Find what some printed accuracies would have to be for a row of correlations to follow.

    Parameters
    ----------
    number : {6, 9, 10}
        Table of correlations with the annotators.
    row : str
        Its row, such as ``"svm_meta_discriminator"``.
    cells : sequence of str
        Generators whose accuracy is in doubt; all others stay as printed.
    values : array-like
        Accuracies (percent) to try in each of `cells`, in every combination. Give them as
        printed, rounded to .01: ties with other cells count.
    tolerance : float
        Largest absolute difference from each of the row's six printed coefficients.

    Returns
    -------
    DataFrame
        The combinations that give all six, a column per cell; empty if there is none.

    Raises
    ------
    ValueError
        If there is no such table, row or generator, or a cell is named twice.

    Examples
    --------
    >>> found = repairs(6, "svm_individual_discriminators", ["mle_seqgan"], [64.51, 65.03])
    >>> found["mle_seqgan"].tolist()
    [65.03]
    """
    known = {
        n: {name: score for name, score in rows.items() if "discriminator" in name}
        for n, (rows, _) in inputs().items()
        if n in (6, 9, 10)
    }
    if row not in known.get(number, {}):
        choices = "; ".join(f"Table {n}: {', '.join(rows)}" for n, rows in known.items())
        raise ValueError(f"number and row must be among {choices}; got {number} and {row!r}.")
    quality = known[number][row]
    free = quality.index.get_indexer(pd.Index(cells))
    if not len(free) or (free < 0).any() or len(set(free)) < len(free):
        raise ValueError(
            f"cells must be different generators among {', '.join(quality.index)}; got "
            f"{list(cells)}."
        )
    human = generators(3)
    target = load_printed(f"{PAPER}/table{number}").loc[row]
    # Pearson's r from sums, which add over cells: quick enough to go through millions.
    z = (human.mean() - human) / sqrt(len(human) - 1) / human.std()
    kept = np.delete(np.arange(len(quality)), free)
    tried = 100 - np.asarray(values, dtype=np.float64)
    # The last cells go through at once, as many as make a million combinations at most.
    at_once = max(1, int(6 / np.log10(max(2, len(tried)))))
    first, last = free[:-at_once], free[-at_once:]
    block = np.array(list(product(tried, repeat=len(last))))
    rest = _sums(block, z.iloc[last]) + _sums(quality.to_numpy()[None, kept], z.iloc[kept])
    pearson = target[["h1_pearson", "h2_pearson"]].to_numpy()
    found = []
    for head in product(tried, repeat=len(first)):
        total = rest + _sums(np.array([head]), z.iloc[first])
        spread = np.sqrt(total[:, 1] - total[:, 0] ** 2 / len(quality))
        near = (np.abs(total[:, 2:] / spread[:, None] - pearson) <= tolerance).all(axis=1)
        found += [(*head, *tail) for tail in block[near]]
    sets = np.array(found).reshape(-1, len(free))
    whole = np.tile(quality.to_numpy(), (len(sets), 1))
    whole[:, free] = sets
    ranks, of = np.unique(rankdata(whole, axis=1), axis=0, return_inverse=True)
    wanted = [name for name in target.index if not name.endswith("pearson")]
    follows = [
        all(
            abs(STATISTICS[name[3:]](rank, 100 - human[name[:2]]).statistic - target[name])
            <= tolerance
            for name in wanted
        )
        for rank in ranks
    ]
    good = np.array(follows, dtype=bool)[of.reshape(-1)]
    return pd.DataFrame(np.round(100 - sets[good], 10), columns=list(cells))


def _sums(block: Floats, z: pd.DataFrame) -> Floats:
    """Return, per row, sum, sum of squares and products with H1 and H2."""
    return np.column_stack([block.sum(axis=1), (block**2).sum(axis=1), block @ z.to_numpy()])
