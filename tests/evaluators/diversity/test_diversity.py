"""Diversity equals plain counts, SciPy and NLTK, and its signature gives the direction."""

import math
from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from nlgbench import Study, score
from nlgbench.evaluators.diversity import diversity_of_subsets, draw_equal, self_bleu

NAMES = [f"{kind}_{n}" for kind in ("distinct", "entropy") for n in (1, 2, 3)] + ["self_bleu_4"]

TEXTS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=8).map(" ".join), min_size=1, max_size=6
)


def study_of(systems):
    rows = [
        (f"{system}{at}", f"i{at}", system, text)
        for system, texts in systems.items()
        for at, text in enumerate(texts)
    ]
    return Study(pd.DataFrame(rows, columns=["output_id", "item_id", "system", "text"]))


def pooled(texts, n):
    """Count n-grams with NLTK."""
    from nltk.util import ngrams

    return Counter(gram for text in texts for gram in ngrams(text.split(), n))


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 63))
def test_subsets_agree_with_plain_counting_and_scipys_entropy(texts, bits):
    member = np.array([bool(bits >> at & 1) for at in range(len(texts))])
    found = diversity_of_subsets(texts, member[None])
    chosen = [text for text, is_in in zip(texts, member, strict=True) if is_in]
    for n in (1, 2, 3):
        counts = list(pooled(chosen, n).values())
        distinct, nats = found[f"distinct_{n}"][0], found[f"entropy_{n}"][0]
        if counts:
            assert distinct == len(counts) / sum(counts)
            assert math.isclose(nats, entropy(counts), abs_tol=1e-12)
        else:
            assert np.isnan([distinct, nats]).all()


def test_scores_of_systems():
    study = study_of({"same": ["a b c d", "a b c d"], "other": ["a b c d", "e f g h"]})
    table = score(study, [*NAMES, "self_bleu_2"]).system_scores
    found = table.set_index(["system", "evaluator"])["score"].unstack()
    assert found.loc["same", ["distinct_1", "distinct_3", "self_bleu_4"]].tolist() == [0.5, 0.5, 1]
    assert found.loc["other", ["distinct_1", "distinct_3", "self_bleu_2"]].tolist() == [1, 1, 0]
    np.testing.assert_allclose(found["entropy_1"], [math.log(8), math.log(4)])
    lower = table["signature"].str.endswith("direction:lower is more diverse")
    assert set(table.loc[lower, "evaluator"]) == {"self_bleu_4", "self_bleu_2"}
    assert table.loc[~lower, "signature"].str.endswith("direction:higher is more diverse").all()
    mixed = study_of({"s": ["a b c d e", "a b c x y", "a b q r s"]})
    both = score(mixed, ["self_bleu_2", "self_bleu_4"]).system_scores["score"]
    texts = mixed.outputs["text"]
    assert both.tolist() == [self_bleu(texts, max_n=2).mean(), self_bleu(texts).mean()]


def test_self_bleu_of_outputs_refers_to_their_own_system():
    study = study_of({"a": ["x y z w", "x y z w", "q"], "b": ["x y z w"]})
    study = study.replace(outputs=study.outputs.iloc[[3, 0, 2, 1]])
    scores = score(study, ["minus_self_bleu_4"]).scores
    assert scores["output_id"].tolist() == ["b0", "a0", "a2", "a1"]
    np.testing.assert_array_equal(scores["score"], [np.nan, -1, 0, -1])
    assert scores["signature"].str.endswith("higher is more diverse").all()


def test_equal_numbers_are_drawn():
    study = study_of({"human": list("abcdef"), "s": list("abc")})
    drawn = draw_equal(study, seed=0).outputs
    assert drawn.value_counts("system").to_dict() == {"human": 3, "s": 3}
    assert drawn["output_id"].is_unique
    pd.testing.assert_frame_equal(drawn, draw_equal(study, seed=np.random.default_rng(0)).outputs)
