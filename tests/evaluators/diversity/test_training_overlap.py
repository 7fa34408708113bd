"""Overlap with training texts is NLTK's BLEU against the nearest of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench import Study, score
from nlgbench.evaluators.diversity import overlap_with_training

TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=10).map(" ".join)


@settings(max_examples=60)
@given(st.lists(TEXT, max_size=5), st.lists(TEXT.filter(len), min_size=1, max_size=5))
def test_with_the_whole_corpus_it_is_nltks_bleu(texts, corpus):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth = SmoothingFunction().method1
    references = [text.split() for text in corpus]
    expected = [sentence_bleu(references, t.split(), smoothing_function=smooth) for t in texts]
    found = overlap_with_training(texts, corpus, n_neighbors=9)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_the_references_are_the_nearest_only():
    corpus = ["it leaks a lot .", "it leaks .", "great blender for my son"]
    found = overlap_with_training(
        ["it leaks a lot .", "for my son it leaks"], corpus, n_neighbors=1
    )
    assert found[0] == 1
    # 3 of 5 words, 2 of 4 bigrams, 1 of 3 trigrams, none of 2 fourgrams; equal lengths
    expected = (3 / 5 * 2 / 4 * 1 / 3 * 0.1 / 2) ** 0.25
    np.testing.assert_allclose(found[1], expected, rtol=1e-12)
    both = overlap_with_training(["for my son it leaks"], corpus, n_neighbors=2)[0]
    assert both > expected


def test_a_studys_human_texts_are_the_corpus_and_are_not_scored():
    outputs = pd.DataFrame({"output_id": [*"1234"], "system": ["a", "b", "human", "human"]})
    outputs["text"] = ["great blender", "It leaks a lot .", "it leaks a lot .", "bad"]
    options = {"training_overlap_4": {"n_neighbors": 1, "lower": True}}
    study = Study(outputs.assign(item_id="i"))
    scores = score(study, ["training_overlap_4"], options=options).scores
    np.testing.assert_array_equal(scores["score"], [0, 1, np.nan, np.nan])
    assert scores["signature"].str.contains("references:1 nearest of 2 by TF-IDF").all()
    assert scores["signature"].str.contains("case:lower").all()
    with pytest.raises(ValueError, match=r"may have learned from.*Add human outputs"):
        score(study.only(is_human=False), ["training_overlap_4"])
