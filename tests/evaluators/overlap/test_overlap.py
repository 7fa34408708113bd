"""Overlap metrics equal sacreBLEU, pycocoevalcap and Lin (2004), for outputs and systems."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from nlgbench import Study, nearest_references, score
from nlgbench.evaluators.overlap import (
    bleu,
    chrf,
    cider,
    corpus_bleu,
    corpus_chrf,
    rouge_l,
    rouge_n,
)
from nlgbench.evaluators.references import similar_references
from nlgbench.evaluators.score import _FAMILIES

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "the", "lid"]), min_size=1, max_size=9).map(
    " ".join
)
CORPORA = st.lists(
    st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=6
)
QUICK = settings(max_examples=60)


def split(corpus):
    return [text for text, _ in corpus], [texts for _, texts in corpus]


@QUICK
@given(CORPORA)
def test_coco_bleu_is_pycocoevalcaps(corpus):
    scorer = pytest.importorskip("pycocoevalcap.bleu.bleu").Bleu(4)
    hypotheses, references = split(corpus)
    total, each = scorer.compute_score(
        dict(enumerate(references)), {n: [text] for n, text in enumerate(hypotheses)}, verbose=0
    )
    found = bleu(hypotheses, references, style="coco")
    np.testing.assert_allclose(found, np.transpose(each), rtol=1e-12)
    np.testing.assert_allclose(corpus_bleu(hypotheses, references, style="coco"), total, rtol=1e-12)


@QUICK
@given(CORPORA)
def test_rouge_l_is_pycocoevalcaps(corpus):
    scorer = pytest.importorskip("pycocoevalcap.rouge.rouge").Rouge()
    hypotheses, references = split([*corpus, ("the lid", corpus[0][1])])  # some share references
    texts = {n: [text] for n, text in enumerate(hypotheses)}
    _, each = scorer.compute_score(dict(enumerate(references)), texts)
    np.testing.assert_allclose(rouge_l(hypotheses, references), each, rtol=1e-14)


@QUICK
@given(CORPORA)
def test_bleu_and_chrf_are_sacrebleus(corpus):
    hypotheses, references = split(corpus)
    for n in range(1, 5):
        sentence = BLEU(tokenize="none", max_ngram_order=n, effective_order=True)
        whole = BLEU(tokenize="none", max_ngram_order=n)
        expected = [sentence.sentence_score(*pair).score / 100 for pair in corpus]
        assert bleu(hypotheses, references)[:, n - 1].tolist() == pytest.approx(expected)
        most = max(len(texts) for texts in references)
        streams = [
            [texts[at] if at < len(texts) else None for texts in references] for at in range(most)
        ]
        expected = whole.corpus_score(hypotheses, streams).score / 100
        assert corpus_bleu(hypotheses, references)[n - 1] == pytest.approx(expected)
    expected = [CHRF().sentence_score(*pair).score / 100 for pair in corpus]
    assert chrf(hypotheses, references).tolist() == pytest.approx(expected)
    expected = CHRF().corpus_score(hypotheses, streams).score / 100
    assert corpus_chrf(hypotheses, references) == pytest.approx(expected)


def test_rouge_of_lin_2004():
    # Lin (2004, section 3.1): to "police killed the gunman", "police kill the gunman" and "the
    # gunman kill police" have the same ROUGE-2 (one bigram of three), but ROUGE-L 3/4 and 2/4.
    hypotheses = ["police kill the gunman", "the gunman kill police"]
    references = [["police killed the gunman"]] * 2
    assert rouge_n(hypotheses, references, n=2).tolist() == [1 / 3, 1 / 3]
    assert rouge_l(hypotheses, references, beta=1.0).tolist() == [0.75, 0.5]
    # Section 3.1, third candidate: "the gunman police killed" has LCS "the gunman": 2/4 again.
    assert rouge_l(["the gunman police killed"], references[:1], beta=1.0).tolist() == [0.5]


@QUICK
@given(CORPORA, st.integers(1, 3))
def test_rouge_n_is_f1_of_clipped_counts_with_the_best_reference(corpus, n):
    def grams(text):
        words = text.split()
        return Counter(zip(*(words[at:] for at in range(n)), strict=False))

    def f1(one, other):
        return 2 * (one & other).total() / (one.total() + other.total())

    for found, (text, texts) in zip(rouge_n(*split(corpus), n=n), corpus, strict=True):
        each = [f1(grams(text), grams(one)) for one in texts if grams(one)]
        assert found == pytest.approx(max(each, default=np.nan), nan_ok=True)


@pytest.mark.parametrize(
    "metric",
    [
        bleu,
        lambda *texts: bleu(*texts, style="coco"),
        chrf,
        rouge_l,
        lambda *texts: rouge_n(*texts, n=1),
        cider,
        lambda *texts: cider(*texts, variant="cider"),
    ],
)
def test_empty_texts(metric):
    hypotheses = ["", "a b", "a b", "a b", " \n", "a c"]
    references = [["a b"], [], [" ", ""], ["", "a b"], ["a"], ["d"]]
    found = metric(hypotheses, references).reshape(6, -1)
    assert (found[[0, 4]] == 0).all()
    assert np.isnan(found[[1, 2]]).all()
    assert (found[3] > 0).all()
    assert np.isnan(metric(["a b"], [[]])).all()
    assert len(metric([], [])) == 0
    assert np.isnan([*corpus_bleu(["a"], [[]]), corpus_chrf(["a"], [[" "]])]).all()
    assert corpus_bleu(["a b", "c"], [["a b"], []])[1] == corpus_bleu(["a b"], [["a b"]])[1]


POOL = ["the lid leaks", "the zipper broke", "the lid broke", "the lid leaks", "a joy"]


def test_similar_references_leave_out_a_texts_repetitions_or_nothing():
    assert similar_references(POOL[:1], POOL, n=2) == [["the lid broke", "the zipper broke"]]
    assert similar_references(POOL[:1], POOL, n=2, copies=True) == [["the lid leaks"] * 2]
    # White space is no difference in words.
    assert similar_references(["the  lid leaks "], POOL, n=1) == [["the lid broke"]]
    # Mirrored words have the same cosine, whose sums are added up in another order.
    ties = ["c b a", "a b c", "b a c", "d"]
    assert similar_references(["a b c"], ties, n=4, copies=True) == [ties]
    with pytest.raises(ValueError, match=r"at most the number of .* text 0 \(3 of "):
        similar_references(POOL[:1], POOL, n=5)
    with pytest.raises(ValueError, match="no human texts with words"):
        similar_references(["a"], [" "], n=1)


def test_similar_references_are_those_of_scikit_learn_s_cosines():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    from nlgbench.generators.reviews import review_grammar

    pool = review_grammar().sample(60, seed=0)
    texts = review_grammar().sample(25, seed=1)
    tfidf = TfidfVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False)
    weights = tfidf.fit_transform(pool)
    cosine = cosine_similarity(tfidf.transform(texts), weights)
    found = similar_references(texts, pool, n=60, copies=True)
    for row, listed in zip(cosine, found, strict=True):
        of_text = dict(zip(pool, row, strict=True))
        assert sorted(row, reverse=True) == pytest.approx([of_text[text] for text in listed])


@pytest.fixture
def study():
    """Two systems and a human; item i3 has no reference, and a human output is one of i1's."""
    texts = ["the lid leaks badly", "it broke", "a joy", "a lid leaks", "", "the lid leaks"]
    outputs = pd.DataFrame({"output_id": ["o1", "o2", "o3", "o4", "o5", "h1"], "text": texts})
    outputs["item_id"] = ["i1", "i2", "i3", "i1", "i2", "i1"]
    outputs["system"] = [*"ssstt", "human"]
    references = pd.DataFrame({"item_id": ["i1", "i1", "i2"], "reference_id": ["h1", "h2", "h3"]})
    references["text"] = ["the lid leaks", "the lid leaks a lot", "the zipper broke again"]
    return Study(outputs, references=references)


LISTS = [
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    [],
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    ["the lid leaks a lot"],
]
WITHOUT_JAVA = [metric for metric in _FAMILIES[0].examples if metric != "meteor"]


def test_outputs_are_scored_against_their_items_but_not_themselves(study):
    table = score(study, WITHOUT_JAVA).scores
    texts, systems = study.outputs["text"].tolist(), study.outputs["system"].tolist()
    wide = table.pivot(index="output_id", columns="evaluator", values="score")
    wide = wide.loc[study.outputs["output_id"]]
    expected = {
        "bleu_1": bleu(texts, LISTS)[:, 0],
        "bleu_2_to_4": bleu(texts, LISTS)[:, 1:].mean(axis=1),
        "bleu_4@coco": bleu(texts, LISTS, style="coco")[:, 3],
        "rouge_2": rouge_n(texts, LISTS, n=2),
        "chrf": chrf(texts, LISTS),
        "cider_d": cider(texts, LISTS, group=systems),
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(wide[name], values)
    pooled = score(study, ["cider"], options={"cider": {"group": None}}).scores
    np.testing.assert_array_equal(pooled["score"], cider(texts, LISTS, variant="cider"))
    assert table["signature"].nunique() == len(WITHOUT_JAVA)
    assert "df per:study" in pooled["signature"].iloc[0]


def test_systems_are_scored_by_summed_counts(study):
    table = score(study, list(_FAMILIES[1].examples)).system_scores
    of = table[table["system"] == "s"].set_index("evaluator")
    texts = study.outputs["text"].tolist()[:3]
    assert of.loc["corpus_bleu_4", "score"] == corpus_bleu(texts, LISTS[:3])[3]
    coco_bleu = corpus_bleu(texts, LISTS[:3], style="coco")
    assert of.loc["corpus_bleu_1@coco", "score"] == coco_bleu[0]
    assert of.loc["corpus_chrf", "score"] == corpus_chrf(texts, LISTS[:3])
    assert of["signature"].str.endswith("outputs:2/3").all()


def test_nearest_references_are_human_texts_of_each_item():
    texts = ["My lid leaks", "the zipper broke", "The lid leaks", "the lid leaks", "a joy"]
    outputs = pd.DataFrame({"output_id": list("abcde"), "item_id": list("12345"), "text": texts})
    study = Study(outputs.assign(system=["s", "s", "human", "human", "human"]))
    found = nearest_references(study, n=2, lower=True)
    assert found["item_id"].tolist() == ["1", "1", "2", "2"]
    assert found["reference_id"].tolist() == ["r01", "r02"] * 2
    assert found["text"].tolist()[:3] == ["the lid leaks"] * 3
    assert nearest_references(study, n=1)["text"].tolist()[0] == "The lid leaks"  # the first
    shared = study.replace(outputs=study.outputs.assign(item_id="1"))
    with pytest.raises(ValueError, match="item '1' has several outputs"):
        nearest_references(shared)
    with pytest.raises(ValueError, match="no human texts with words"):
        nearest_references(study.only(is_human=False))
