"""Intervals of diversity: around the scores, by subsamples, and with a reason where undefined."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.analysis.diversity import diversity
from nlgbench.evaluators.diversity import score_diversity
from nlgbench.study import Study


def random_texts(rng, n_texts):
    """Texts of about 12 words from a Zipf distribution over 300."""
    share = 1 / np.arange(1, 301)
    lengths = 1 + rng.poisson(11, size=n_texts)
    words = rng.choice(300, size=lengths.sum(), p=share / share.sum()).astype(str)
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def study_of(texts, per_item=1):
    rows = [(f"o{n}", f"i{n // per_item}", "s", t) for n, t in enumerate(texts)]
    return Study(pd.DataFrame(rows, columns=["output_id", "item_id", "system", "text"]))


def test_intervals_are_around_the_scores():
    study = study_of(random_texts(np.random.default_rng(0), 30), per_item=3)
    found = diversity(study, n_resamples=50, seed=1)
    scores = score_diversity(study, found["evaluator"].tolist())
    assert found["evaluator"].tolist() == scores["evaluator"].tolist()
    assert found["signature"].tolist() == scores["signature"].tolist()
    np.testing.assert_array_equal(found["estimate"], scores["score"])
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], 1.959964 * found["se"])
    assert (found["se"] > 0).all()
    assert found["status"].eq("ok").all()
    assert found["method"].unique().tolist() == ["subsamples of 2/3 of outputs, normal"]
    pd.testing.assert_frame_equal(found, diversity(study, n_resamples=50, seed=1))


def test_subsamples_show_more_diversity_than_the_whole():
    study = study_of(random_texts(np.random.default_rng(3), 60))
    found = diversity(study, n_resamples=50, seed=0).set_index("evaluator")
    bias = found["center"] - found["estimate"]
    assert (bias[["distinct_1", "distinct_2", "distinct_3"]] > 0).all()
    assert (bias[["entropy_1", "entropy_2", "entropy_3", "self_bleu_4"]] < 0).all()


def test_what_cannot_be_is_refused():
    human = study_of(["a"]).outputs.assign(is_human=True)
    with pytest.raises(ValueError, match="has no system outputs"):
        diversity(Study(human))
    assert len(diversity(Study(human), include_human=True, n_resamples=2))
