"""LLMBar: pairs and verdicts in both orders, and the counts that its release prints."""

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.clustering import THESE_ANNOTATORS
from nlgbench.datasets.llmbar import JUDGES, RAW_FILES
from tests.released import needs

RELEASED = needs(*RAW_FILES["llmbar-natural"])
# Pairs; then of each judge: right with the release's order, with the other, the same output in
# both, right in both. As the release's statistics.json print, beside each judge's result.json.
COUNTS = """
llmbar-natural 100  80 83 71 67  95 96 95 93  71 77 52 50  79 82 79 70  78 88 80 73
llmbar-neighbor 134  30 22 96 7  104 107 125 101  70 65 57 29  34 32 104 18  82 86 90 62
llmbar-gptinst 92  25 24 57 7  78 81 87 77  44 48 28 14  28 28 67 16  66 69 63 53
llmbar-gptout 47  17 22 28 10  35 38 44 35  26 25 14 9  27 26 34 20  27 29 31 20
llmbar-manual 46  18 14 24 5  35 39 38 33  22 25 23 12  17 17 30 9  32 28 40 27
"""
PRINTED = {}
for _line in COUNTS.split("\n")[1:-1]:
    _name, *_cells = _line.split()
    _n, *_counts = map(int, _cells)
    _by = {one: tuple(_counts[4 * at : 4 * at + 4]) for at, one in enumerate(JUDGES)}
    PRINTED[_name] = (_n, _by)


@RELEASED
@pytest.mark.parametrize("name", PRINTED)
def test_the_printed_counts_follow(name):
    study = nb.load(name)
    n, printed = PRINTED[name]
    better = study.preferences.set_index("output_a")["choice"].map({"a": "1", "b": "2"})
    assert len(better) == n
    accuracy = nb.vote_accuracy(study).set_index(["evaluator", "against", "measure"])
    for judge, counts in printed.items():
        rows = study.comparisons[study.comparisons["comparator"] == judge]
        won = rows["output_a"].where(rows["prob_a"] == 1, rows["output_b"]).str[-1]
        in_order = rows["output_a"].str.endswith("-1").to_numpy()
        item = rows["output_a"].str[:3] + "-1"
        orders = [won[chosen].set_axis(item[chosen]) for chosen in (in_order, ~in_order)]
        one, other = (order.reindex(better.index).fillna("none") for order in orders)
        right = [(order == better).to_numpy() for order in (one, other)]
        found = [right[0].sum(), right[1].sum(), (one == other).sum(), (right[0] & right[1]).sum()]
        assert found == list(counts), judge
        # Against the gold choice an answer in either order counts half.
        row = accuracy.loc[(judge, "votes", "accuracy")]
        both = (one != "none") & (other != "none")
        if both.all():
            assert row["estimate"] == pytest.approx(np.mean(right))
        none = int(((one == "none") & (other == "none")).sum())
        assert row[["covers", "n", "n_left_out"]].tolist() == [THESE_ANNOTATORS, n - none, none]
