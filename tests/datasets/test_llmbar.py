import json
import os

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.crossed import THESE_ANNOTATORS
from nlgbench.datasets import cache
from nlgbench.datasets.llmbar import RAW_FILES, read_llmbar

RELEASED = pytest.mark.skipif(
    not os.environ.get("NLGBENCH_DATA") or not cache.available(RAW_FILES["llmbar-natural"]),
    reason="NLGBENCH_DATA names no folder with the LLMBar release",
)
# Pairs; then of each judge: right with the release's order, with the other, the same output in
# both, right in both. As the release's statistics.json print, beside each judge's result.json.
PRINTED = {
    "llmbar-natural": (
        100,
        {
            "ChatGPT": (80, 83, 71, 67),
            "GPT-4": (95, 96, 95, 93),
            "Falcon": (71, 77, 52, 50),
            "LLaMA2": (79, 82, 79, 70),
            "PaLM2": (78, 88, 80, 73),
        },
    ),
    "llmbar-neighbor": (
        134,
        {
            "ChatGPT": (30, 22, 96, 7),
            "GPT-4": (104, 107, 125, 101),
            "Falcon": (70, 65, 57, 29),
            "LLaMA2": (34, 32, 104, 18),
            "PaLM2": (82, 86, 90, 62),
        },
    ),
    "llmbar-gptinst": (
        92,
        {
            "ChatGPT": (25, 24, 57, 7),
            "GPT-4": (78, 81, 87, 77),
            "Falcon": (44, 48, 28, 14),
            "LLaMA2": (28, 28, 67, 16),
            "PaLM2": (66, 69, 63, 53),
        },
    ),
    "llmbar-gptout": (
        47,
        {
            "ChatGPT": (17, 22, 28, 10),
            "GPT-4": (35, 38, 44, 35),
            "Falcon": (26, 25, 14, 9),
            "LLaMA2": (27, 26, 34, 20),
            "PaLM2": (27, 29, 31, 20),
        },
    ),
    "llmbar-manual": (
        46,
        {
            "ChatGPT": (18, 14, 24, 5),
            "GPT-4": (35, 39, 38, 33),
            "Falcon": (22, 25, 23, 12),
            "LLaMA2": (17, 17, 30, 9),
            "PaLM2": (32, 28, 40, 27),
        },
    ),
}


def test_a_release_becomes_pairs_and_verdicts_in_both_orders(tmp_path):
    pairs = [
        {"input": "Add 1 and 1.", "output_1": "2", "output_2": "3", "label": 1},
        {"input": "Say hi.", "output_1": "No.", "output_2": "Hi.", "label": 2},
    ]
    winners = [("1", "2"), ("2", None)]
    results = [
        pair | {"results": [{"swap = False": {"winner": one}, "swap = True": {"winner": other}}]}
        for pair, (one, other) in zip(pairs, winners, strict=True)
    ]
    for name, table in (("dataset", pairs), ("Parrot", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    study = read_llmbar(tmp_path / "dataset.json", tmp_path / "Parrot.json")
    assert study.outputs[["output_id", "item_id", "system", "text"]].to_numpy().tolist() == [
        ["001-1", "001", "output_1", "2"],
        ["001-2", "001", "output_2", "3"],
        ["002-1", "002", "output_1", "No."],
        ["002-2", "002", "output_2", "Hi."],
    ]
    assert study.preferences["choice"].tolist() == ["a", "b"]
    # The winner is named by its place in the release, in either order; no answer is no row.
    assert study.comparisons.to_numpy().tolist() == [
        ["001-1", "001-2", "Parrot", 1.0, 0.0, 0.0],
        ["001-2", "001-1", "Parrot", 1.0, 0.0, 0.0],
        ["002-1", "002-2", "Parrot", 0.0, 0.0, 1.0],
    ]


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
