"""N-gram models match Witten-Bell by hand, sum to 1 and give samples of these probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.generators.language_model import fit_ngram

TEXTS = ["a b", "a c", "b", "a b c"]
WORDS = st.sampled_from("abcd")
CORPORA = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=8)


@given(CORPORA, st.integers(2, 4), st.sampled_from([1.0, 0.7, 0.5]))
@settings(max_examples=60)
def test_each_step_is_a_distribution(texts, order, temperature):
    model = fit_ngram(texts, order).annealed(temperature)
    np.testing.assert_allclose(np.exp(model.logprobs).sum(axis=1), 1)
    assert np.isfinite(model.logprob(texts)).all()


def test_witten_bell_by_hand():
    # Counts of "a b", "a c": a 2, b 1, c 1, end 2; 4 types, so p(b) = (1 + 4/4) / 10 = .2, and
    # p(b | a) = (1 + 2 x .2) / (2 + 2) = .35; p(end | b) = (1 + .3) / 2; at the start, where the
    # end is excluded, p(a) = (2 + .3) / 3 over .9.
    model = fit_ngram(["a b", "a c"], 2)
    assert np.exp(model.logprob(["a b"]))[0] == pytest.approx(2.3 / 3 / 0.9 * 0.35 * 0.65)


@pytest.mark.parametrize("order", [2, 3])
def test_samples_have_the_frequencies_that_logprob_says(order):
    model = fit_ngram(TEXTS, order).annealed(0.7)
    texts, counts = np.unique(model.sample(20_000, seed=1), return_counts=True)
    expected = np.exp(model.logprob(texts.tolist()))
    often = expected > 0.005
    error = np.sqrt(expected * (1 - expected) / 20_000)
    assert often.sum() > 5
    assert (np.abs(counts / 20_000 - expected)[often] < 4 * error[often]).all()
    assert "" not in texts


def test_outside_the_vocabulary_is_minus_infinity():
    assert (fit_ngram(TEXTS, 3).logprob(["a z", "", "a  b"]) == -np.inf).all()
