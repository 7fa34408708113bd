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
from nlgbench.evaluators.references import similar_references, usable
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


def coco(scorer, hypotheses, references):
    """Score by pycocoevalcap: the number for all texts, and those of each."""
    return scorer.compute_score(
        dict(enumerate(references)), {at: [text] for at, text in enumerate(hypotheses)}
    )


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
    hypotheses, references = split(corpus)
    assert rouge_l(hypotheses, references).tolist() == pytest.approx(
        coco(scorer, hypotheses, references)[1].tolist(), rel=1e-14
    )


def test_rouge_l_of_shared_references_is_that_of_each():
    references = [["a b c", "b c"], ["d"], ["a b c", "b c"], ["b c", "a b c"], [], ["a b c", "b c"]]
    texts = ["a b", "d", "c", "a", "a", ""]
    each = [rouge_l([text], [lists])[0] for text, lists in zip(texts, references, strict=True)]
    np.testing.assert_array_equal(rouge_l(texts, references), each)


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


def test_sacrebleus_documented_example():
    # README of sacrebleu, "Using SacreBLEU from Python": BLEU = 48.53 and chrF2 = 59.73 there,
    # with its own tokenizer; full stops are set apart here as that tokenizer does.
    system = ["The dog bit the man .", "It wasn't surprising .", "The man had just bitten him ."]
    references = [
        ["The dog bit the man .", "The dog had bit the man ."],
        ["It was not unexpected .", "No one was surprised ."],
        ["The man bit him first .", "The man had bitten the dog ."],
    ]
    assert corpus_bleu(system, references)[3] == pytest.approx(0.4853, abs=5e-5)
    assert corpus_chrf(system, references) == pytest.approx(0.5973, abs=5e-5)


def test_noise_of_short_texts_in_the_coco_style():
    # An exact match of 2 words: no 3-grams, so (1 * 1 * 1e-15/1e-9)^(1/3), and so on.
    found = bleu(["light blue"], [["light blue"]], style="coco")[0]
    assert found.tolist() == pytest.approx([1, 1, 1e-6 ** (1 / 3), 1e-12 ** (1 / 4)], rel=1e-8)
    assert found[0] != 1
    assert bleu(["light blue"], [["light blue"]])[0].tolist() == pytest.approx([1, 1, 1, 1])


def test_rouge_of_lin_2004():
    # Lin (2004, section 3.1): to "police killed the gunman", "police kill the gunman" and "the
    # gunman kill police" have the same ROUGE-2 (one bigram of three), but ROUGE-L 3/4 and 2/4.
    hypotheses = ["police kill the gunman", "the gunman kill police"]
    references = [["police killed the gunman"]] * 2
    assert rouge_n(hypotheses, references, n=2).tolist() == [1 / 3, 1 / 3]
    assert rouge_l(hypotheses, references, beta=1.0).tolist() == [0.75, 0.5]
    # Section 3.1, third candidate: "the gunman police killed" has LCS "the gunman": 2/4 again.
    assert rouge_l(["the gunman police killed"], references[:1], beta=1.0).tolist() == [0.5]


def test_rouge_n_clips_counts_and_takes_the_best_reference():
    # "the the" against "the lid": one match, precision 1/2, recall 1/2; "a" matches nothing.
    assert rouge_n(["the the"], [["a", "the lid"]], n=1).tolist() == [0.5]
    # recall 1/3 and precision 1/2: F1 = 2 * 1 / (2 + 3)
    assert rouge_n(["the the"], [["the lid leaks"]], n=1).tolist() == [0.4]
    # A reference of one word has no bigram to recall.
    assert rouge_n(["the lid", "lid"], [["lid"], ["the lid"]], n=2).tolist() == pytest.approx(
        [np.nan, 0.0], nan_ok=True
    )


@QUICK
@given(CORPORA)
def test_scores_are_proportions_and_an_own_text_scores_highest(corpus):
    hypotheses, references = split(corpus)
    own = [[*texts, text] for text, texts in corpus]
    for metric in (
        lambda texts, lists: bleu(texts, lists, max_n=1)[:, 0],
        lambda texts, lists: rouge_n(texts, lists, n=1),
        rouge_l,
        chrf,
    ):
        before, after = metric(hypotheses, references), metric(hypotheses, own)
        assert (before >= 0).all()
        assert (before <= after + 1e-12).all()
        assert after.tolist() == pytest.approx([1] * len(corpus))
    backward = [texts[::-1] for texts in references]
    assert rouge_l(hypotheses, references).tolist() == rouge_l(hypotheses, backward).tolist()


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
    nothing = metric(["a b"], [[]])
    assert np.isnan(nothing).all()
    assert len(metric([], [])) == 0


def test_nothing_to_score_together_is_undefined():
    assert np.isnan(corpus_bleu(["a"], [[]])).all()
    assert np.isnan(corpus_chrf(["a"], [[" "]]))
    assert (
        corpus_bleu(["a b", "c"], [["a b"], []]).tolist()
        == corpus_bleu(["a b"], [["a b"]]).tolist()
    )


def test_references_without_words_are_none():
    assert usable([["it drips", " "], []]) == [["it drips"], []]


POOL = ["the lid leaks", "the zipper broke", "the lid broke", "the lid leaks", "a joy"]


def test_similar_references_leave_out_a_texts_repetitions_or_nothing():
    assert similar_references(POOL[:1], POOL, n=2) == [["the lid broke", "the zipper broke"]]
    assert similar_references(POOL[:1], POOL, n=2, copies=True) == [["the lid leaks"] * 2]
    # whitespace is no difference in words
    assert similar_references(["the  lid leaks "], POOL, n=1) == [["the lid broke"]]


def test_similar_references_are_those_of_a_plain_computation(monkeypatch):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    from nlgbench.evaluators import references
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
    monkeypatch.setattr(references, "_CELLS", 200)
    assert similar_references(texts, pool, n=60, copies=True) == found


def test_ties_come_in_the_order_of_the_pool():
    # mirrored words have the same cosine, whose sums are added up in another order
    pool = ["c b a", "a b c", "b a c", "d"]
    assert similar_references(["a b c"], pool, n=4, copies=True) == [pool]
    assert similar_references(["unknown"], pool, n=4) == [pool]


def test_similar_references_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="n=5; text 0 has 3 of 5 left"):
        similar_references(POOL[:1], POOL, n=5)
    with pytest.raises(ValueError, match="a pool with words"):
        similar_references(["a"], [" "], n=1)


@pytest.fixture
def study():
    """Two systems and a human; item i3 has no reference, and a human output is one of i1's."""
    outputs = pd.DataFrame(
        [
            ("o1", "i1", "s", "the lid leaks badly"),
            ("o2", "i2", "s", "it broke"),
            ("o3", "i3", "s", "a joy"),
            ("o4", "i1", "t", "a lid leaks"),
            ("o5", "i2", "t", ""),
            ("h1", "i1", "human", "the lid leaks"),
        ],
        columns=["output_id", "item_id", "system", "text"],
    )
    references = pd.DataFrame(
        [
            ("i1", "h1", "the lid leaks"),
            ("i1", "h2", "the lid leaks a lot"),
            ("i2", "h3", "the zipper broke again"),
        ],
        columns=["item_id", "reference_id", "text"],
    )
    return Study(outputs, references=references)


LISTS = [
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    [],
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    ["the lid leaks a lot"],
]
WITHOUT_JAVA = [metric for metric in _FAMILIES[0].shown if metric != "meteor"]


def test_outputs_are_scored_against_their_items_but_not_themselves(study):
    table = score(study, WITHOUT_JAVA).scores
    assert table["evaluator"].unique().tolist() == WITHOUT_JAVA
    texts = study.outputs["text"].tolist()
    wide = table.pivot(index="output_id", columns="evaluator", values="score")
    wide = wide.loc[study.outputs["output_id"]]
    np.testing.assert_array_equal(wide[["bleu_1", "bleu_2"]], bleu(texts, LISTS, max_n=2))
    np.testing.assert_array_equal(wide["bleu_2_to_4"], bleu(texts, LISTS)[:, 1:].mean(axis=1))
    np.testing.assert_array_equal(
        wide[["bleu_1@coco", "bleu_4@coco"]], bleu(texts, LISTS, style="coco")[:, [0, 3]]
    )
    np.testing.assert_array_equal(wide["rouge_2"], rouge_n(texts, LISTS, n=2))
    np.testing.assert_array_equal(wide["rouge_l"], rouge_l(texts, LISTS))
    np.testing.assert_array_equal(wide["chrf"], chrf(texts, LISTS))
    by_system = cider(texts, LISTS, group=study.outputs["system"].tolist())
    np.testing.assert_array_equal(wide["cider_d"], by_system)
    pooled = score(study, ["cider"], options={"cider": {"group": None}}).scores
    np.testing.assert_array_equal(pooled["score"], cider(texts, LISTS, variant="cider"))
    assert table["signature"].nunique() == len(WITHOUT_JAVA)
    assert "df per:study" in pooled["signature"].iloc[0]


def test_systems_are_scored_by_summed_counts(study):
    names = list(_FAMILIES[1].shown)
    table = score(study, names).system_scores
    assert table["evaluator"].unique().tolist() == names
    assert table["system"].unique().tolist() == ["s", "t", "human"]
    of = table[table["system"] == "s"].set_index("evaluator")
    texts = study.outputs["text"].tolist()[:3]
    found = of.loc["corpus_bleu_4", "score"]
    np.testing.assert_array_equal(found, corpus_bleu(texts, LISTS[:3])[3])
    np.testing.assert_array_equal(
        of.loc["corpus_bleu_1@coco", "score"], corpus_bleu(texts, LISTS[:3], style="coco")[0]
    )
    assert of.loc["corpus_chrf", "score"] == corpus_chrf(texts, LISTS[:3])
    assert of["signature"].str.endswith("outputs:2/3").all()


def test_what_is_compared_in_lower_case_says_so(study):
    shouted = study.replace(outputs=study.outputs.assign(text=study.outputs["text"].str.upper()))
    lower = {"overlap": {"lower": True}}
    for names in (["rouge_l", "cider_d", "chrf"], ["corpus_bleu_4"]):
        found, plain = score(shouted, names, options=lower), score(study, names)
        ours, theirs = (
            one.scores if one.scores is not None else one.system_scores for one in (found, plain)
        )
        pd.testing.assert_frame_equal(
            ours.drop(columns="signature"), theirs.drop(columns="signature")
        )
        assert ours["signature"].str.contains("case:lower").all()
        assert theirs["signature"].str.contains("case:as given").all()


def test_nearest_references_are_human_texts_of_each_item():
    texts = ["My lid leaks", "the zipper broke", "The lid leaks", "the lid leaks", "a joy"]
    outputs = pd.DataFrame({"output_id": list("abcde"), "item_id": list("12345"), "text": texts})
    study = Study(outputs.assign(system=["s", "s", "human", "human", "human"]))
    found = nearest_references(study, n=2, lower=True)
    assert found["item_id"].tolist() == ["1", "1", "2", "2"]
    assert found["reference_id"].tolist() == ["r01", "r02"] * 2
    assert found["text"].tolist()[:3] == ["the lid leaks"] * 3
    assert nearest_references(study, n=1)["text"].tolist()[0] == "The lid leaks"  # the first
    everyone = nearest_references(study, n=1, include_human=True)
    assert everyone["item_id"].tolist() == list("12345")
    assert everyone["text"].tolist()[3] == "The lid leaks"  # not itself
    shared = study.replace(outputs=study.outputs.assign(item_id="1"))
    with pytest.raises(ValueError, match="item '1' has several outputs"):
        nearest_references(shared)
    with pytest.raises(ValueError, match="no human texts to take references from"):
        nearest_references(study.only(is_human=False))


def test_the_mean_of_bleus_is_that_of_its_parts(study):
    metrics = ["bleu_2", "bleu_3", "bleu_4"]
    scores = score(study, ["rouge_1", *metrics, "bleu_2_to_4"]).scores
    found = scores[scores["evaluator"] == "bleu_2_to_4"]
    assert found["output_id"].tolist() == study.outputs["output_id"].tolist()
    parts = [scores["score"][scores["evaluator"] == metric].to_numpy() for metric in metrics]
    np.testing.assert_allclose(found["score"], np.mean(parts, axis=0), rtol=1e-14)
