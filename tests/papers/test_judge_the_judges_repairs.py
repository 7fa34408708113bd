"""Which printed accuracies would let rows follow that do not: what the ledger says of them."""

from itertools import product
from math import sqrt

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from nlgbench.datasets.published import load_printed
from nlgbench.papers.judges_in_print import (
    _SUSPECTS,
    STATISTICS,
    correlation,
    generators,
    inputs,
)

INPUTS = inputs()
# A unit of the last digit: some cells are cut off, and ours come from accuracies rounded to .01.
TOLERANCE = 1e-4 + 1e-9
SVM_CELLS = ["scheduled_sampling", "seqgan", "rankgan", "leakgan"]


def repairs(number, row, cells, values):
    """Find what some printed accuracies would have to be for a row of correlations to follow.

    `cells` are generators whose accuracy is in doubt (all others stay as printed), `values`
    accuracies (percent) to try in each, in every combination; give them rounded to .01, as ties
    with other cells count. The combinations that give all six printed coefficients of `row` in
    Table 6, 9 or 10 are returned, a column per cell.
    """
    quality = INPUTS[number][0][row]
    free = quality.index.get_indexer(pd.Index(cells))
    human = generators(3)
    target = load_printed(f"judge-the-judges/table{number}").loc[row]
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
        near = (np.abs(total[:, 2:] / spread[:, None] - pearson) <= TOLERANCE).all(axis=1)
        found += [(*head, *tail) for tail in block[near]]
    sets = np.array(found).reshape(-1, len(free))
    whole = np.tile(quality.to_numpy(), (len(sets), 1))
    whole[:, free] = sets
    ranks, of = np.unique(rankdata(whole, axis=1), axis=0, return_inverse=True)
    wanted = [name for name in target.index if not name.endswith("pearson")]
    follows = [
        all(
            abs(STATISTICS[name[3:]](rank, 100 - human[name[:2]]).statistic - target[name])
            <= TOLERANCE
            for name in wanted
        )
        for rank in ranks
    ]
    good = np.array(follows, dtype=bool)[of.reshape(-1)]
    return pd.DataFrame(np.round(100 - sets[good], 10), columns=list(cells))


def _sums(block, z):
    """Return, per row, sum, sum of squares and products with H1 and H2."""
    return np.column_stack([block.sum(axis=1), (block**2).sum(axis=1), block @ z.to_numpy()])


def test_one_cell_of_table_5_can_make_its_row_of_table_6_follow():
    values = np.arange(10001) / 100
    found = {
        name: repairs(6, "svm_individual_discriminators", [name], values)[name]
        for name in generators(5).index
    }
    assert [name for name, repaired in found.items() if len(repaired)] == ["mle_seqgan"]
    repaired = found["mle_seqgan"]
    assert (repaired.min(), repaired.max(), len(repaired)) == (65.03, 65.12, 10)
    assert "65.03 to 65.12" in _SUSPECTS["table6/svm_individual_discriminators"]


def test_the_repeated_cells_of_table_8_can_make_svms_row_of_table_9_follow():
    table7, table8 = generators(7)["svm"], generators(8)["svm"]
    assert list(table8.index[table7 == table8]) == SVM_CELLS
    counts = np.arange(72, 109)  # of 150 reviews: 48% to 72%
    found = repairs(9, "svm_meta_discriminator", SVM_CELLS, (counts / 1.5).round(2))
    assert len(found) == 2
    said = _SUSPECTS["table9/svm_meta_discriminator"]
    first, second = found.to_dict("records")
    labels = ["Scheduled Sampling", "SeqGAN", "RankGAN", "LeakGAN"]
    named = zip(labels, SVM_CELLS, strict=True)
    assert ", ".join(f"{label} {first[cell]:.2f}" for label, cell in named) in said
    assert ", ".join(f"{second[cell]:.2f}" for cell in SVM_CELLS) in said
    # The cells then add up to near the printed average, 839 of 1,800, not 873 as printed.
    total = 1.5 * (table8.drop(SVM_CELLS).sum() + found.sum(axis=1))
    assert (round(total.min()), round(total.max())) == (842, 843)
    # Each set gives all six cells, computed anew.
    human, row = 100 - generators(3), load_printed("judge-the-judges/table9")
    for repaired in found.to_dict("records"):
        score = 100 - table8.mask(table8.index.isin(SVM_CELLS), table8.index.map(repaired))
        for name, printed in row.loc["svm_meta_discriminator"].items():
            value = correlation(name[3:], score.astype(float), human[name[:2]])["value"]
            assert abs(value - printed) <= TOLERANCE


def test_a_row_that_follows_accepts_what_is_printed():
    printed = generators(7)["cnn"]
    cells = ["seqgan", "leakgan"]
    values = [*printed[cells], 20.0]
    found = repairs(10, "cnn_meta_discriminator", cells, values)
    assert found.to_numpy().tolist() == [printed[cells].tolist()]
