"""Grammars: probabilities equal those by hand, sum to 1 and are the frequencies of samples."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from nlgbench.generators.grammar import Corrupted, Grammar, Slot
from nlgbench.generators.review_systems import Memorizer
from nlgbench.generators.reviews import review_grammar


def tiny() -> Grammar:
    who = Slot("who", ("cats", "big dogs"), np.log([0.25, 0.75]))
    how = Slot("how", ("", "never", "often"), np.log([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), ("who",))
    table = np.array([0.9, 0.1]) * np.ones((2, 3, 2))
    table[1, 2] = [0.4, 0.6]
    return Grammar((who, how, Slot("what", ("bark", "purr purr"), np.log(table), ("who", "how"))))


def everything(grammar: Grammar) -> list[str]:
    sizes = [range(len(slot.phrases)) for slot in grammar.slots]
    return grammar.render(np.array(list(itertools.product(*sizes))))


@pytest.mark.parametrize("grammar", [tiny(), tiny().annealed(0.5), tiny().leaky(0.2)])
def test_all_sentences_differ_and_their_probabilities_sum_to_one(grammar):
    texts = everything(grammar)
    assert len(set(texts)) == len(texts)
    assert np.exp(grammar.logprob(texts)).sum() == pytest.approx(1)


def test_probabilities_by_hand():
    grammar = tiny()
    assert np.exp(grammar.logprob(["big dogs often purr purr"])) == pytest.approx(0.75 * 0.8 * 0.6)
    cold = grammar.annealed(0.5)
    share = 0.75**2 / (0.25**2 + 0.75**2) * 0.64 / 0.66 * 0.36 / 0.52
    assert np.exp(cold.logprob(["big dogs often purr purr"])) == pytest.approx(share)
    leaky = grammar.leaky(0.2)
    wrong = ["big dogs oftenn purr purr", "big dogs often purrr purr", "big dogss bark"]
    expected = [0.36 * 0.8 * 0.2 * 0.8, 0.36 * 0.8 * 0.8 * 0.2, 0.75 * 0.1 * 0.9 * 0.2 * 0.8]
    assert np.exp(leaky.logprob(wrong)) == pytest.approx(expected)
    assert (grammar.logprob(wrong) == -np.inf).all()


@pytest.mark.parametrize(
    "system", [tiny(), tiny().leaky(0.3).annealed(0.8), Corrupted(tiny(), 0.5)]
)
def test_samples_have_the_frequencies_that_logprob_says(system):
    texts, counts = np.unique(system.sample(20_000, seed=3), return_counts=True)
    expected = 20_000 * np.exp(system.logprob(texts.tolist()))
    assert expected.sum() == pytest.approx(20_000, rel=0.01)
    often = expected > 10
    observed = counts[often]
    wanted = expected[often] * observed.sum() / expected[often].sum()
    assert chisquare(observed, wanted).pvalue > 1e-4


def test_a_corrupted_grammar_sums_to_one_even_where_words_repeat_anyway():
    system = Corrupted(tiny(), 0.3)
    plain = everything(tiny())
    stuttered = {
        " ".join([*words[: at + 1], *words[at:]])
        for words in (text.split(" ") for text in plain)
        for at in range(len(words))
    }
    assert np.exp(system.logprob(sorted({*plain, *stuttered}))).sum() == pytest.approx(1)


SYSTEMS = [
    review_grammar(),
    review_grammar().annealed(0.5),
    review_grammar().leaky(0.3),
    review_grammar().leaky(0.03).annealed(0.7),
]


@given(st.integers(0, 2**32 - 1), st.sampled_from(SYSTEMS))
@settings(max_examples=60)
def test_parsing_recovers_the_decisions(seed, grammar):
    decisions = grammar.decide(50, seed=seed)
    np.testing.assert_array_equal(grammar.parse(grammar.render(decisions)), decisions)


def test_outside_the_grammar_is_minus_infinity():
    grammar = review_grammar()
    texts = grammar.sample(1, seed=0)
    broken = [texts[0] + " .", " " + texts[0], "", texts[0].upper(), texts[0].replace(" ", "  ")]
    assert (grammar.logprob(broken) == -np.inf).all()


def test_a_memorizer_says_each_sentence_as_often_as_it_read_it():
    system = Memorizer(("x", "y", "x", "x"))
    assert np.exp(system.logprob(["x", "y", "w"])).tolist() == pytest.approx([0.75, 0.25, 0])
    assert system.sample(4000, seed=0).count("x") / 4000 == pytest.approx(0.75, abs=0.03)
