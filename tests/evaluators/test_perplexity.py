"""Perplexity is the textbook's, and undefined where probability is 0 or missing."""

import numpy as np
import pandas as pd

from nlgbench import Study, score


def table_of(texts):
    outputs = pd.DataFrame({"text": texts}).assign(item_id="i", system="s")
    return outputs.assign(output_id=[f"o{n}" for n in range(len(texts))])


def perplexity(outputs, logprobs, *, model):
    return score(Study(outputs, logprobs=logprobs), [f"perplexity@{model}"]).scores


def logprobs_of(outputs, logprob, n_tokens, model="m"):
    return outputs[["output_id"]].assign(model=model, logprob=logprob, n_tokens=n_tokens)


def test_the_textbook_example():
    """Jurafsky and Martin, Speech and Language Processing (3rd ed. draft), chapter 3.

    Perplexity as a branching factor: 3 where each of three colors has probability 1/3, and 1.89
    where red has .8 and the others .1.
    """
    outputs = table_of(["red red red red blue"])
    even, uneven = 5 * np.log(1 / 3), 4 * np.log(0.8) + np.log(0.1)
    found = [
        perplexity(outputs, logprobs_of(outputs, logprob, 5), model="m")["score"].item()
        for logprob in (even, uneven)
    ]
    assert np.round(found, 2).tolist() == [3.0, 1.89]


def test_a_gap_and_probability_zero_are_undefined_and_counted():
    outputs = table_of(["a", "b", "c", "d"])
    given = logprobs_of(outputs, [-np.inf, -1.0, 0.0, -9e4], 1)
    other = logprobs_of(outputs, -7.0, 1, model="other")
    # The order of log-probabilities is of no effect, nor are those of another model.
    both = pd.concat([other, given[given["output_id"] != "o1"][::-1]])
    found = perplexity(outputs, both, model="m")
    np.testing.assert_array_equal(found["score"], [np.nan, np.nan, 1.0, np.nan])
    assert found["output_id"].tolist() == ["o0", "o1", "o2", "o3"]
    assert found["evaluator"].unique().tolist() == ["perplexity@m"]
    for part in ("under m|", "outputs:4", "undefined:1", "infinite:2", "lower is better"):
        assert found["signature"].str.contains(part, regex=False).all()
