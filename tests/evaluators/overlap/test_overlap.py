import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from nlgbench import tables
from nlgbench.evaluators.overlap import METRICS, mean_of, score_overlap, score_systems
from nlgbench.evaluators.overlap.bleu import bleu, chrf, corpus_bleu, corpus_chrf
from nlgbench.evaluators.overlap.cider import cider
from nlgbench.evaluators.overlap.references import similar_references, usable
from nlgbench.evaluators.overlap.rouge import rouge_l, rouge_n

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "the", "lid"]), min_size=1, max_size=9).map(
    " ".join
)
CORPORA = st.lists(
    st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=6
)
QUICK = settings(max_examples=60, deadline=None)


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
    assert rouge_n(hypotheses, references, n=2, statistic="recall").tolist() == [1 / 3, 1 / 3]
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
    for score in (
        lambda texts, lists: bleu(texts, lists, max_n=1)[:, 0],
        lambda texts, lists: rouge_n(texts, lists, n=1),
        rouge_l,
        chrf,
    ):
        before, after = score(hypotheses, references), score(hypotheses, own)
        assert (before >= 0).all()
        assert (before <= after + 1e-12).all()
        assert after.tolist() == pytest.approx([1] * len(corpus))
    backward = [texts[::-1] for texts in references]
    assert rouge_l(hypotheses, references).tolist() == rouge_l(hypotheses, backward).tolist()


@pytest.mark.parametrize(
    "score",
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
def test_empty_texts(score):
    hypotheses = ["", "a b", "a b", "a b", " \n", "a c"]
    references = [["a b"], [], [" ", ""], ["", "a b"], ["a"], ["d"]]
    found = score(hypotheses, references).reshape(6, -1)
    assert (found[[0, 4]] == 0).all()
    assert np.isnan(found[[1, 2]]).all()
    assert (found[3] > 0).all()
    nothing = score(["a b"], [[]])
    assert np.isnan(nothing).all()
    assert len(score([], [])) == 0


def test_nothing_to_score_together_is_undefined():
    assert np.isnan(corpus_bleu(["a"], [[]])).all()
    assert np.isnan(corpus_chrf(["a"], [[" "]]))
    assert (
        corpus_bleu(["a b", "c"], [["a b"], []]).tolist()
        == corpus_bleu(["a b"], [["a b"]]).tolist()
    )


def test_texts_that_are_none_are_refused():
    with pytest.raises(ValueError, match="references of hypothesis 0 must be a list: put 'a b'"):
        usable(["a"], ["a b"])
    with pytest.raises(ValueError, match=r"Got 1 lists for 2 hypotheses"):
        rouge_l(["a", "b"], [["a"]])
    with pytest.raises(ValueError, match=r"hypothesis 1 must be a text. Got nan"):
        chrf(["a", float("nan")], [["a"], ["a"]])
    with pytest.raises(ValueError, match=r"a reference of hypothesis 0 must be a text. Got None"):
        bleu(["a"], [[None]])
    with pytest.raises(ValueError, match="Did you mean 'sacrebleu'"):
        bleu(["a"], [["a"]], style="sacreblue")
    with pytest.raises(ValueError, match=r"statistic: 'f2' is unknown. Did you mean 'f1'"):
        rouge_n(["a"], [["a"]], n=1, statistic="f2")


POOL = ["the lid leaks", "the zipper broke", "the lid broke", "the lid leaks", "a joy"]


def test_similar_references_leave_out_a_text_its_repetitions_or_nothing():
    assert similar_references(POOL[:1], POOL, n=2) == [["the lid broke", "the zipper broke"]]
    by_position = similar_references(POOL, POOL, n=1, exclude_self="position")
    assert by_position[0] == by_position[3] == ["the lid leaks"]
    assert similar_references(POOL[:1], POOL, n=2, exclude_self="no") == [["the lid leaks"] * 2]
    # whitespace is no difference in words
    assert similar_references(["the  lid leaks "], POOL, n=1) == [["the lid broke"]]


def test_similar_references_are_those_of_a_plain_computation(monkeypatch):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    from nlgbench.evaluators.overlap import references
    from nlgbench.generators.reviews import review_grammar

    pool = review_grammar().sample(60, seed=0)
    texts = review_grammar().sample(25, seed=1)
    tfidf = TfidfVectorizer(tokenizer=str.split, token_pattern=None, lowercase=False)
    weights = tfidf.fit_transform(pool)
    cosine = cosine_similarity(tfidf.transform(texts), weights)
    found = similar_references(texts, pool, n=60, exclude_self="no")
    for row, listed in zip(cosine, found, strict=True):
        of_text = dict(zip(pool, row, strict=True))
        assert sorted(row, reverse=True) == pytest.approx([of_text[text] for text in listed])
    monkeypatch.setattr(references, "_CELLS", 200)
    assert similar_references(texts, pool, n=60, exclude_self="no") == found


def test_ties_come_in_the_order_of_the_pool():
    # mirrored words have the same cosine, whose sums are added up in another order
    pool = ["c b a", "a b c", "b a c", "d"]
    assert similar_references(["a b c"], pool, n=4, exclude_self="no") == [pool]
    assert similar_references(["unknown"], pool, n=4) == [pool]


def test_similar_references_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="n=5; text 0 has 3 of 5 left"):
        similar_references(POOL[:1], POOL, n=5)
    with pytest.raises(ValueError, match="the same texts in the same order"):
        similar_references(POOL[:1], POOL, n=1, exclude_self="position")
    with pytest.raises(ValueError, match="a pool with words"):
        similar_references(["a"], [" "], n=1)
    with pytest.raises(ValueError, match="Did you mean 'position'"):
        similar_references(["a"], POOL, exclude_self="positions")


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
    ).assign(dataset="d", context="")
    outputs["is_human"] = outputs["system"] == "human"
    references = pd.DataFrame(
        [
            ("i1", "h1", "the lid leaks"),
            ("i1", "h2", "the lid leaks a lot"),
            ("i2", "h3", "the zipper broke again"),
        ],
        columns=["item_id", "reference_id", "text"],
    ).assign(dataset="d")
    return outputs, references


LISTS = [
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    [],
    ["the lid leaks", "the lid leaks a lot"],
    ["the zipper broke again"],
    ["the lid leaks a lot"],
]
WITHOUT_JAVA = [metric for metric in METRICS if metric != "meteor"]


def test_outputs_are_scored_against_their_items_but_not_themselves(study):
    table = score_overlap(*study, metrics=WITHOUT_JAVA)
    pd.testing.assert_frame_equal(table, tables.check(table, "scores"))
    texts = study[0]["text"].tolist()
    wide = table.pivot(index="output_id", columns="evaluator", values="score")
    wide = wide.loc[study[0]["output_id"]]
    np.testing.assert_array_equal(wide[["bleu_1", "bleu_2"]], bleu(texts, LISTS, max_n=2))
    np.testing.assert_array_equal(
        wide[["bleu_1@coco", "bleu_4@coco"]], bleu(texts, LISTS, style="coco")[:, [0, 3]]
    )
    np.testing.assert_array_equal(wide["rouge_2"], rouge_n(texts, LISTS, n=2))
    np.testing.assert_array_equal(wide["rouge_l"], rouge_l(texts, LISTS))
    np.testing.assert_array_equal(wide["chrf"], chrf(texts, LISTS))
    by_system = cider(texts, LISTS, group=study[0]["system"].tolist())
    np.testing.assert_array_equal(wide["cider_d"], by_system)
    pooled = score_overlap(*study, metrics=["cider"], group=None)
    np.testing.assert_array_equal(pooled["score"], cider(texts, LISTS, variant="cider"))
    assert table["signature"].nunique() == len(WITHOUT_JAVA)
    assert "df per:dataset" in pooled["signature"].iloc[0]


def test_systems_are_scored_by_summed_counts_or_means(study):
    table = score_systems(*study, metrics=WITHOUT_JAVA)
    pd.testing.assert_frame_equal(table, tables.check(table, "system_scores"))
    assert table["system"].unique().tolist() == ["s", "t", "human"]
    of = table[table["system"] == "s"].set_index("evaluator")
    texts = study[0]["text"].tolist()[:3]
    np.testing.assert_array_equal(of.loc["bleu_4", "score"], corpus_bleu(texts, LISTS[:3])[3])
    np.testing.assert_array_equal(
        of.loc["bleu_1@coco", "score"], corpus_bleu(texts, LISTS[:3], style="coco")[0]
    )
    assert of.loc["chrf", "score"] == corpus_chrf(texts, LISTS[:3])
    assert of.loc["rouge_l", "score"] == pytest.approx(rouge_l(texts[:2], LISTS[:2]).mean())
    assert of["signature"].str.endswith("outputs:2/3").all()
    # one output with references: no n-gram is rarer than another
    human = table[table["system"] == "human"].set_index("evaluator")
    assert human["score"].isna().sum() == 2
    assert human.loc["cider_d", "signature"].endswith("outputs:0/1")


def test_other_rows_change_no_score(study):
    outputs, references = study
    table = score_overlap(outputs, references)
    twin = [frame.assign(dataset="e") for frame in study]
    both = score_overlap(pd.concat([outputs, twin[0]]), pd.concat([references, twin[1]]))
    again = both[both["dataset"] == "d"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, table)


def test_metrics_that_are_none_are_refused(study):
    with pytest.raises(ValueError, match=r"metrics: 'bleu4' is unknown. Did you mean 'bleu_4'"):
        score_overlap(*study, metrics=["bleu4"])
    with pytest.raises(ValueError, match="must name different metrics"):
        score_systems(*study, metrics=["chrf", "chrf"])
    with pytest.raises(ValueError, match="must name different metrics"):
        score_overlap(*study, metrics="chrf")
    with pytest.raises(ValueError, match=r"group: 'systems' is unknown. Did you mean 'system'"):
        score_overlap(*study, group="systems")


def test_the_mean_of_bleus_is_that_of_its_parts(study):
    outputs, references = study
    metrics = ["bleu_2", "bleu_3", "bleu_4"]
    scores = score_overlap(outputs, references, metrics=["rouge_1", *metrics])
    found = mean_of(scores, metrics, "bleu_2_to_4")
    assert found["output_id"].tolist() == outputs["output_id"].tolist()
    parts = [scores["score"][scores["evaluator"] == metric].to_numpy() for metric in metrics]
    np.testing.assert_allclose(found["score"], np.mean(parts, axis=0), rtol=1e-14)
    assert found["evaluator"].eq("bleu_2_to_4").all()
    assert found["signature"][0].startswith("mean of bleu_2, bleu_3, bleu_4: BLEU-2|")
    assert found["signature"][0].count("smooth:exp") == 3
    scores.loc[scores["evaluator"] == "bleu_3", "score"] = np.nan
    assert mean_of(scores, metrics, "x")["score"].isna().all()


def test_a_mean_of_what_is_not_there_is_refused(study):
    scores = score_overlap(*study, metrics=["bleu_2", "bleu_3"])
    with pytest.raises(ValueError, match=r"no scores of 'bleu_4'.*There are: bleu_2, bleu_3"):
        mean_of(scores, ["bleu_2", "bleu_4"], "x")
    with pytest.raises(ValueError, match=r"1 lack some of \['bleu_2', 'bleu_3'\]"):
        mean_of(scores[1:], ["bleu_2", "bleu_3"], "x")
    with pytest.raises(ValueError, match="name one at least"):
        mean_of(scores, [], "x")
