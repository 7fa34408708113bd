"""Which printed accuracies would let rows of correlations follow."""

import numpy as np

from nlgbench.datasets.published import load_printed
from nlgbench.papers.judge_the_judges import _SUSPECTS, TOLERANCE, correlation, generators, repairs

SVM_CELLS = ["scheduled_sampling", "seqgan", "rankgan", "leakgan"]


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
