"""Scores of partitions are those of the whole, or are refused."""

import pandas as pd
import pytest

import nlgbench as nb

OUTPUTS = pd.DataFrame({"output_id": [*"123456"], "item_id": [*"aabbcc"], "system": [*"xyxyxy"]})
OUTPUTS["text"] = ["it leaks", "it leaks a lot", "good lid", "a good lid", "it broke", "it is good"]
REFERENCES = pd.DataFrame({"item_id": [*"abc"], "reference_id": "r"})
REFERENCES["text"] = ["it leaks badly", "a good lid", "it broke at once"]


class Parts:
    """Partitions as Dask has them, worked on at once."""

    def __init__(self, parts):
        self.parts = parts

    def map_partitions(self, function, *args, meta):
        found = [function(part, *args) for part in self.parts]
        assert all(list(part) == list(meta) for part in found)
        return pd.concat(found)


def in_order(scores):
    return scores.sort_values(["evaluator", "output_id"]).reset_index(drop=True)


def test_partitions_are_scored_as_the_whole():
    names = ["rouge_l", "chrf", "minus_self_bleu_2"]
    whole = nb.score(nb.Study(OUTPUTS, references=REFERENCES), names).scores
    parts = Parts([OUTPUTS[:0], *(rows for _, rows in OUTPUTS.groupby("system"))])
    found = nb.score(parts, names, references=REFERENCES)
    pd.testing.assert_frame_equal(in_order(found), in_order(whole[list(found)]))


def test_what_is_not_of_one_output_is_refused():
    for name in ("self_bleu_4", "corpus_chrf", "svm_meta", "perplexity"):
        with pytest.raises(ValueError, match="can be scored in partitions"):
            nb.score(Parts([OUTPUTS]), [name])
