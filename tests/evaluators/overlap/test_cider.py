"""CIDEr is the paper's, and CIDEr-D pycocoevalcap's, within groups of outputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench.evaluators.overlap import cider

TEXTS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9).map(" ".join)
CORPORA = st.lists(
    st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=2, max_size=6
)
QUICK = settings(max_examples=60)


def coco(corpus):
    scorer = pytest.importorskip("pycocoevalcap.cider.cider").Cider()
    texts, references = (
        dict(enumerate([text] for text, _ in corpus)),
        [lists for _, lists in corpus],
    )
    return scorer.compute_score(dict(enumerate(references)), texts)[1]


@QUICK
@given(CORPORA)
def test_cider_d_is_what_pycocoevalcap_calls_cider(corpus):
    np.testing.assert_allclose(cider(*zip(*corpus, strict=True)), coco(corpus), atol=1e-12)


@QUICK
@given(CORPORA, CORPORA)
def test_document_frequencies_are_counted_within_groups(one, other):
    expected = np.concatenate([coco(one), coco(other)])
    labels = ["one"] * len(one) + ["other"] * len(other)
    order = np.random.default_rng(0).permutation(len(labels))
    mixed = [(one + other)[at] for at in order]
    found = cider(*zip(*mixed, strict=True), group=[labels[at] for at in order])
    np.testing.assert_allclose(found, expected[order], atol=1e-12)


def plain_cider(corpus):
    """Equations 1 to 3 of Vedantam et al. (2015) as they stand, times 10."""

    def grams(text, n):
        words = text.split()
        return [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]

    def tfidf(text, n):
        found = grams(text, n)
        df = {g: sum(any(g in grams(r, n) for r in refs) for _, refs in corpus) for g in found}
        return {
            g: found.count(g) / len(found) * np.log(len(corpus) / max(1, df[g])) for g in set(found)
        }

    def cosine(h, r):
        norms = np.sqrt(sum(v * v for v in h.values()) * sum(v * v for v in r.values()))
        return sum(v * r.get(g, 0) for g, v in h.items()) / norms if norms > 0 else 0.0

    return [
        10
        * np.mean(
            [np.mean([cosine(tfidf(text, n), tfidf(r, n)) for r in refs]) for n in range(1, 5)]
        )
        for text, refs in corpus
    ]


@QUICK
@given(CORPORA)
def test_cider_is_the_papers(corpus):
    found = cider(*zip(*corpus, strict=True), variant="cider")
    np.testing.assert_allclose(found, plain_cider(corpus), atol=1e-12)


def test_one_document_is_undefined():
    found = cider(["a b", "a", "c"], [["a b"], [], ["c d"]], group=["x", "x", "y"])
    assert np.isnan(found).all()
