"""Comparators on a pretrained encoder learn the order, whichever side a text is on.

What needs transformers is skipped without it; the network on top needs torch alone.
"""

import importlib.util
import json

import numpy as np
import pandas as pd
import pytest

from nlgbench.evaluators.comparator import encoder as neural
from nlgbench.evaluators.comparator.comparators import compare, order_agreement, train_comparator
from nlgbench.evaluators.comparator.pairs import supervise, system_pairs
from nlgbench.evaluators.comparator.splits import split
from nlgbench.study import Study

TRANSFORMERS = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)
PROBABILITIES = ["prob_a", "prob_tie", "prob_b"]
WORDS = [*"abcdefgh", *"stuvwxyz"]


def world():
    """Texts of eight letters; a system's quality is how many come from the alphabet's start."""
    rng = np.random.default_rng(0)
    rows = []
    for system, n_good in [("poor", 1), ("fair", 4), ("good", 7)]:
        for n in range(60):
            letters = [*rng.choice(WORDS[:8], n_good), *rng.choice(WORDS[8:], 8 - n_good)]
            rows.append((f"{system}{n}", system, " ".join(rng.permutation(letters)), n_good))
    outputs = pd.DataFrame(rows, columns=["output_id", "system", "text", "quality"])
    outputs = outputs.assign(item_id="i", is_human=False)
    judged = outputs[["output_id"]].assign(annotator_id="w", dimension="q")
    judged = judged.assign(value=outputs["quality"].astype(float))
    return Study(outputs.drop(columns="quality"), judged)


STUDY = world()
OUTPUTS = STUDY.outputs
LEARN, HELD_OUT = split(STUDY, seed=0)
TEST = HELD_OUT.outputs
PAIRS = supervise(LEARN, kinds=["human"], threshold=1, n=400, seed=0)


def counting_encoder():
    """An encoder that has read every text: which letters it has, with noise beside them."""
    rng = np.random.default_rng(1)
    known = {
        text: np.array([*(text.count(word) for word in WORDS), *rng.normal(size=8)], np.float32)
        for text in ["", *OUTPUTS["text"]]
    }
    vectors = pd.DataFrame([*known.values()], index=[*known])
    return neural.Encoder("counts", True, 0, None, None, "counts of letters", vectors)


def system_of(ids):
    return ids.str.rstrip("0123456789")


def wins(table, better, worse):
    """Mean probability that one system's texts beat another's, less that they lose."""
    a, b = system_of(table["output_a"]), system_of(table["output_b"])
    gap = table["prob_a"] - table["prob_b"]
    return pd.concat([gap[(a == better) & (b == worse)], -gap[(a == worse) & (b == better)]]).mean()


@pytest.mark.parametrize("options", [{}, {"ties": False}])
def test_a_frozen_encoder_learns_the_order(options):
    comparator = train_comparator(PAIRS, encoder=counting_encoder(), seed=0, **options)
    assert comparator.name.startswith("frozen") and "counts of letters" in comparator.signature
    pairs = system_pairs(TEST, n_per_pair=50, seed=0)
    found = compare(comparator, TEST, pairs)
    for better, worse in [("good", "fair"), ("fair", "poor"), ("good", "poor")]:
        assert wins(found, better, worse) > 0.2
    again = train_comparator(PAIRS, encoder=counting_encoder(), seed=0, **options)
    swapped = pairs.rename(columns={"output_a": "output_b", "output_b": "output_a"})[::-1]
    turned = compare(again, TEST, swapped)[PROBABILITIES].to_numpy()
    assert np.array_equal(turned[::-1, ::-1], found[PROBABILITIES].to_numpy())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two small layers with random weights, saved as Hugging Face saves models."""
    transformers = pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("bert")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (place / "vocab.txt").write_text("\n".join([*special, *WORDS]))
    (place / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    size |= {"vocab_size": len(special) + len(WORDS), "intermediate_size": 64}
    with neural.seeded(0):
        transformers.BertModel(transformers.BertConfig(**size)).save_pretrained(place)
    return str(place)


@TRANSFORMERS
def test_embeddings_do_not_depend_on_what_is_beside_them(folder):
    together = neural.embed(neural.load_encoder(folder), ["a b", "c d e f", ""])
    assert np.linalg.norm(together, axis=1).round(5).tolist() == [1, 1, 0]
    alone = neural.embed(neural.load_encoder(folder), ["a b"])
    np.testing.assert_allclose(alone, together[:1], atol=1e-6)
    untrained = neural.load_encoder(folder, pretrained=False, seed=1)
    assert "untrained" in untrained.signature
    assert not np.allclose(neural.embed(untrained, ["a b"]), together[:1], atol=1e-3)


@TRANSFORMERS
def test_a_cross_encoder_learns_the_order(folder, monkeypatch):
    monkeypatch.setattr(neural, "_FINE_RATE", 2e-3)  # the small model is not pretrained
    many = supervise(LEARN, kinds=["human"], threshold=1, n=1_000, seed=0)
    comparator = train_comparator(many, backend="cross_encoder", encoder=folder, seed=0)
    pairs = system_pairs(TEST, n_per_pair=30, seed=0)
    found = compare(comparator, TEST, pairs)
    assert wins(found, "good", "poor") > 0.3
    swapped = pairs.rename(columns={"output_a": "output_b", "output_b": "output_a"})
    other = compare(comparator, TEST, swapped)[PROBABILITIES].to_numpy()
    assert np.array_equal(other[:, ::-1], found[PROBABILITIES].to_numpy())
    assert 0 < order_agreement(comparator, TEST, pairs)["estimate"][0] <= 1
