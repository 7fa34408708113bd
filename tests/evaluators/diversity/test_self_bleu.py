"""Self-BLEU is exactly what NLTK computes with all other texts as references."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlgbench.evaluators.diversity import self_bleu, self_bleu_of_subsets
from nlgbench.text import ngram_counts

# Few words, so that texts share n-grams and repeat them; empty, one-token and equal texts come up.
TEXT = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12).map(" ".join)
TEXTS = st.lists(TEXT, min_size=2, max_size=8)


def nltk_self_bleu(texts, max_n=4):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    tokens = [text.split() for text in texts]
    smooth = SmoothingFunction().method1
    weights = (1 / max_n,) * max_n
    return [
        sentence_bleu(tokens[:i] + tokens[i + 1 :], one, weights, smoothing_function=smooth)
        for i, one in enumerate(tokens)
    ]


@settings(max_examples=150)
@given(TEXTS, st.integers(1, 5))
@example(["", ""], 4)
@example(["", "a"], 4)
@example(["a", "a"], 4)
@example(["a b", "c d"], 2)
@example(["a a a a", "a a", "a a a"], 4)
@example(["a b c", "a b", "a b c d"], 3)  # two lengths equally near: the shorter
def test_it_is_nltks_value(texts, max_n):
    np.testing.assert_allclose(
        self_bleu(texts, max_n=max_n), nltk_self_bleu(texts, max_n), rtol=1e-12, atol=1e-15
    )


@settings(max_examples=50)
@given(TEXTS, st.integers(0, 2**8 - 1))
def test_a_subset_is_scored_as_if_it_were_all(texts, bits):
    member = np.array([bool(bits >> at & 1) for at in range(len(texts))])
    members = np.vstack([np.ones(len(texts), dtype=bool), member])
    found = self_bleu_of_subsets(ngram_counts(texts, max_n=4), members)
    np.testing.assert_array_equal(found[0], self_bleu(texts))
    alone = self_bleu([text for text, is_in in zip(texts, member, strict=True) if is_in])
    np.testing.assert_array_equal(found[1][member], alone)
    assert np.isnan(found[1][~member]).all()


def test_a_text_alone_has_no_reference_and_one_string_is_refused():
    assert np.isnan(self_bleu(["it leaks"])).tolist() == [True]
    assert self_bleu([]).tolist() == []
    with pytest.raises(ValueError, match="texts is a single string"):
        self_bleu("it leaks")
