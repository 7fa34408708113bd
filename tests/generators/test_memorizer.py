import numpy as np
import pytest

from nlgbench.generators.review_systems import Memorizer


def test_a_memorizer_says_each_sentence_as_often_as_it_read_it():
    system = Memorizer(("x", "y", "x", "x"))
    assert np.exp(system.logprob(["x", "y", "w"])).tolist() == pytest.approx([0.75, 0.25, 0])
    texts = system.sample(4000, seed=0)
    assert texts.count("x") / 4000 == pytest.approx(0.75, abs=0.03)
