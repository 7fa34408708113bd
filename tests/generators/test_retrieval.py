import numpy as np
import pytest

from nlgbench.generators.retrieval import Memorizer, Retrieval


def test_a_memorizer_says_each_sentence_as_often_as_it_read_it():
    system = Memorizer(("x", "y", "x", "x"))
    assert np.exp(system.logprob(["x", "y", "w"])).tolist() == pytest.approx([0.75, 0.25, 0])
    texts = system.sample(4000, seed=0)
    assert texts.count("x") / 4000 == pytest.approx(0.75, abs=0.03)


def test_bm25_by_hand():
    # idf(lid) = ln(1 + 1.5 / 2.5), df 2 of 3; lengths 2, 1, 3 with mean 2, so the shorter text
    # wins: tf 1, norm 1.2 (.25 + .75 / 2) = .75 and 2.2 / 1.75 against 2.2 / 2.2 for length 2.
    system = Retrieval(("pan lid", "lid", "phone screen case"), ("one", "two", "three"))
    index, weights = system._weights
    idf = np.log(1 + 1.5 / 2.5)
    assert weights[index["lid"]] == pytest.approx([idf, idf * 2.2 / 1.75, 0])
    assert system.respond(["lid", "pan lid", "case"]) == ["two", "one", "three"]


def test_of_equals_the_first_and_unknown_words_count_nothing():
    system = Retrieval(("pan lid", "pan lid"), ("one", "two"))
    assert system.respond(["pan", "nothing known", "pan"]) == ["one", "one", "one"]


def test_given_the_context_the_answer_is_certain():
    system = Retrieval(("pan", "tent"), ("one", "two"))
    assert system.logprob(["one", "two", "one"], ["pan", "pan", "tent"]).tolist() == [
        0.0,
        -np.inf,
        -np.inf,
    ]
