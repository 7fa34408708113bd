"""Discriminators score unseen texts as scikit-learn does."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import diags_array
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score
from sklearn.svm import LinearSVC

from nlgbench import Study, discriminator_accuracy, score
from nlgbench.evaluators.discriminators import DEEP, SHALLOW, assign_folds, score_fold
from nlgbench.generators.grammar import Corrupted
from nlgbench.generators.reviews import review_grammar


def table(texts_of, *, human="human"):
    """Make outputs from texts by system."""
    rows = [(system, text) for system, texts in texts_of.items() for text in texts]
    frame = pd.DataFrame(rows, columns=["system", "text"])
    frame = frame.assign(output_id=[f"o{at}" for at in range(len(frame))], item_id="i")
    return Study(frame.assign(is_human=frame["system"] == human)).outputs


def score_discriminators(
    outputs, labels=None, *, models=SHALLOW, scope="meta", n_folds=10, search=0, seed
):
    """Score by the public call, whose names say model, scope and labels."""
    study, ending = Study(outputs), ""
    if labels is not None:  # as the votes of one annotator
        votes = labels.dropna().rename("value").rename_axis("output_id").reset_index()
        study = Study(outputs, judgments=votes.assign(annotator_id="w"))
        ending = "@majority"
    return score(
        study,
        [f"{model}_{scope}{ending}" for model in models],
        options={"discriminators": {"n_folds": n_folds, "search": search}},
        seed=seed,
    ).scores


def accuracy_of(outputs, scores, **how):
    return discriminator_accuracy(Study(outputs, scores=scores), **how)


@pytest.fixture(scope="module")
def outputs():
    """Human reviews; others of the same grammar, as they are, with stutters, and backwards."""
    grammar = review_grammar()
    return table(
        {
            "human": grammar.sample(90, seed=0),
            "same": grammar.sample(30, seed=1),
            "stutter": Corrupted(grammar, 1.0).sample(30, seed=2),
            "backwards": [" ".join(text.split()[::-1]) for text in grammar.sample(30, seed=3)],
        }
    )


@pytest.fixture(scope="module")
def scores(outputs):
    return score_discriminators(outputs, n_folds=4, seed=0)


def test_each_output_has_a_score_by_each_model_and_human_ones_higher(outputs, scores):
    assert scores["evaluator"].unique().tolist() == [f"{model}_meta@natural" for model in SHALLOW]
    for _, own in scores.groupby("evaluator"):
        assert own["output_id"].tolist() == outputs["output_id"].tolist()
    assert scores["score"].between(0, 1).all()
    assert scores["signature"].str.contains("4 folds, equal texts in one; seed 0").all()
    mean = scores.merge(outputs, on="output_id").pivot_table("score", "evaluator", "system")
    assert (mean["human"] > mean["backwards"] + 0.1).all()


def test_the_same_seed_gives_the_same_scores_whatever_else_is_asked(outputs, scores):
    again = score_discriminators(outputs, models=("naive_bayes", "svm"), n_folds=4, seed=0)
    same = scores[scores["evaluator"].isin(again["evaluator"])]
    pd.testing.assert_frame_equal(
        *(one.sort_values(list(one), ignore_index=True) for one in (again, same))
    )
    for change in ({"seed": 1}, {"seed": 0, "search": 2}):
        other = score_discriminators(outputs, models=["svm"], n_folds=4, **change)
        assert (other["score"] != scores.loc[: len(other) - 1, "score"]).any()
    assert other["signature"].str.contains("random search of 2 draws").all()


@settings(max_examples=25)
@given(
    copies=st.lists(st.integers(1, 30), min_size=6, max_size=25),
    n_folds=st.integers(2, 3),
    seed=st.integers(0, 5),
)
def test_equal_texts_share_a_fold_even_across_systems(copies, n_folds, seed):
    texts = [f"text {at}" for at, n in enumerate(copies) for _ in range(n)]
    planted = table({"human": texts, "m": [f"other {at}" for at in range(9)], "copier": texts[::2]})
    dealt = assign_folds(planted, n_folds, seed)
    assert pd.Series(dealt.fold).groupby(planted["text"].to_numpy()).nunique().eq(1).all()
    assert set(dealt.fold) == set(range(n_folds))


def test_a_score_is_scikit_learn_s(outputs):
    """One fold of the SVM, written out with scikit-learn's own vectorizer on the other folds."""
    label = outputs["is_human"].to_numpy(dtype=float)
    texts = assign_folds(outputs, 4, 7)
    ours = score_fold(texts, label, 2, "svm", "meta", 0, 7)
    train, test = outputs[texts.fold != 2], outputs[texts.fold == 2]
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 3), binary=True, min_df=2, token_pattern=r"\w+(?:'\w+)*|[^\w\s]"
    )
    plain = LinearSVC(class_weight="balanced", tol=1e-8, max_iter=100_000)
    plain.fit(vectorizer.fit_transform(train["text"]), train["is_human"])
    theirs = expit(plain.decision_function(vectorizer.transform(test["text"])))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_labels_of_the_test_fold_do_not_reach_its_scores(outputs):
    """Wrong labels in a fold change nothing in that fold, with or without a search."""
    label = outputs["is_human"].to_numpy(dtype=float)
    texts = assign_folds(outputs, 4, 0)
    wrong = np.where(texts.fold == 1, 1 - label, label)
    for model, search in (("svm", 0), ("naive_bayes", 3)):
        right, other = (
            score_fold(texts, given, 1, model, "meta", search, 0) for given in (label, wrong)
        )
        np.testing.assert_array_equal(right, other)


def test_an_individual_discriminator_knows_one_system(outputs):
    """What other systems write changes nothing."""
    label = outputs["is_human"].to_numpy(dtype=float)
    ours = assign_folds(outputs, 4, 0)
    own = ours.stratum == "backwards"
    others = ~own & (label == 0)
    changed = ours._replace(presence=diags_array(1.0 * ~others).tocsr() @ ours.presence)
    first, second = (
        score_fold(each, label, 0, "svm", "individual", 0, 0) for each in (ours, changed)
    )
    own = own[ours.fold == 0]
    np.testing.assert_allclose(first[own], second[own], rtol=1e-12)
    stutter = (ours.stratum == "stutter")[ours.fold == 0]
    assert (abs(first[stutter] - second[stutter]) > 0.01).any()


def test_accuracy_is_scikit_learn_s_and_states_its_labels(outputs, scores):
    rng = np.random.default_rng(0)
    votes = pd.Series(rng.integers(0, 2, len(outputs)), index=outputs["output_id"])[5:]
    judged = votes.rename("value").rename_axis("output_id").reset_index().assign(annotator_id="w")
    study = Study(outputs, judgments=judged, scores=scores)
    found = discriminator_accuracy(study, labels="majority")
    assert set(found["labels_trained"] + found["labels_scored"]) == {"naturalmajority"}
    first = found.iloc[0]
    assert (first["system"], first["n"], first["n_unlabeled"]) == ("human", 85, 5)
    rows = scores.merge(outputs, on="output_id").set_index("output_id")
    rows = rows[(rows["evaluator"] == "svm_meta@natural") & (rows["system"] == "human")].iloc[5:]
    assert first["estimate"] == pytest.approx(
        accuracy_score(votes[rows.index], rows["score"] > 0.5)
    )


def test_equal_texts_count_as_one_in_the_interval():
    """Wilson's interval for 4 of 5, and the same where each text stands three times."""
    base = table({"human": ["a", "b"], "m": ["c", "d", "e", "f", "g"]})
    score = [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9]
    thrice = pd.concat([base] * 3, ignore_index=True)
    thrice["output_id"] = [str(at) for at in range(len(thrice))]
    for frame, times in ((base, 1), (thrice, 3)):
        made = frame[["output_id"]].assign(evaluator="svm_meta@natural", score=score * times)
        row = accuracy_of(frame, made).set_index("system").loc["m"]
        # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E,
        # method 3, worked by its formula: (2np + z^2 -+ z sqrt(z^2 + 4npq)) / 2(n + z^2).
        n, p, z = 5, 0.8, 1.959964
        half = z * np.sqrt(z**2 + 4 * n * p * (1 - p))
        wanted = [(2 * n * p + z**2 + sign * half) / (2 * (n + z**2)) for sign in (-1, 1)]
        np.testing.assert_allclose([row["ci_low"], row["ci_high"]], wanted, rtol=1e-6)
        assert (row["n"], row["n_effective"], row["estimate"]) == (5 * times, 5, 0.8)


def test_a_missing_score_is_counted_and_a_tie_is_half():
    base = table({"human": ["a", "b"], "m": ["c", "d"]})
    made = base[["output_id"]].assign(evaluator="svm_meta@natural", score=0.5)
    made.loc[0, "score"] = np.nan
    found = accuracy_of(base, made.drop(index=2)).set_index("system")
    assert found["estimate"].tolist() == [0.5, 0.5]
    assert found["n_undefined"].tolist() == [1, 1]
    by_class = accuracy_of(base, made, by="class").set_index("system")
    assert by_class["n"].to_dict() == {"human": 1, "machine": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ["svn"]}, r"'svn_meta' is unknown\. Did you mean 'svm_meta"),
        ({"n_folds": 1}, "n_folds must be a whole number, at least 2"),
        ({"search": -1}, "search must be a whole number"),
        ({"n_folds": 200}, "in the smaller class .*: 90"),
    ],
)
def test_what_cannot_be_trained_is_refused(outputs, options, message):
    with pytest.raises(ValueError, match=message):
        score_discriminators(outputs, **{"seed": 0, **options})
    with pytest.raises(ValueError, match="no scores of discriminators"):
        accuracy_of(outputs, None)


def test_a_call_is_wrong_by_the_source_or_by_the_majority_of_votes(outputs):
    """Of five votes of each output (the first has four), most are wrong about the backwards."""
    human = outputs["is_human"].to_numpy()
    majority = human ^ (outputs["system"] == "backwards").to_numpy()
    votes = [
        outputs[["output_id"]].assign(annotator_id=f"w{n}", value=1.0 * (majority ^ (n > 2)))
        for n in range(5)
    ]
    study = Study(outputs, judgments=pd.concat(votes, ignore_index=True)[1:])
    names = ["svm_meta@natural", "svm_meta@natural/natural", "svm_meta@natural/majority"]
    options = {"discriminators": {"n_folds": 4}}
    scores = score(study, [*names, "svm_meta@majority"], options=options).scores
    wide = scores.pivot(index="output_id", columns="evaluator", values="score")
    wide = wide.loc[outputs["output_id"]]
    says = (wide[names[0]] > 0.5).to_numpy()
    np.testing.assert_array_equal(wide[names[1]], says != human)
    np.testing.assert_array_equal(wide[names[2]].iloc[1:], (says != majority)[1:])
    assert np.isnan(wide[names[2]].iloc[0])  # four votes: no majority of five
    ratings = study.replace(judgments=study.judgments.assign(value=3.0))
    with pytest.raises(ValueError, match=r"need votes of 0 \(machine\) and 1 \(human\)"):
        score(ratings, ["svm_meta@majority"])


torch = pytest.importorskip("torch", reason="the extra neural is not installed")

from nlgbench.evaluators import neural_discriminators as neural  # noqa: E402

INDEX = {str(at): at for at in range(2, 9)}


def test_deep_discriminators_learn_and_repeat():
    """Only the order of the words tells."""
    orders = {"human": "it is good", "m": "good it is"}
    texts = table({name: [f"{words} {at}" for at in range(100)] for name, words in orders.items()})
    first = score_discriminators(texts, models=DEEP, n_folds=2, seed=0)
    again = score_discriminators(texts, models=["cnn_lstm"], n_folds=2, seed=0)
    same = first[first["evaluator"] == "cnn_lstm_meta@natural"].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, again)
    assert (accuracy_of(texts, first)["estimate"] > 0.9).all()
    assert first["signature"].str.contains("embedding").all()


@pytest.mark.parametrize("architecture", DEEP)
def test_a_deep_score_does_not_depend_on_its_batch(architecture):
    network = neural._Network(architecture, 9).eval()
    texts = [["2", "3"], ["4"], [], ["5", "6", "7", "8"] * 20]
    together = network(neural._indexes(texts, INDEX))
    apart = [network(neural._indexes([text], INDEX)) for text in texts]
    torch.testing.assert_close(together, torch.cat(apart))


@pytest.mark.parametrize(
    ("model", "module", "extra"), [("xgboost", "xgboost", "boosting"), ("cnn", "torch", "neural")]
)
def test_a_missing_extra_is_named(outputs, monkeypatch, model, module, extra):
    monkeypatch.delitem(sys.modules, "nlgbench.training", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"nlgbench\[{extra}\]"):
        score_discriminators(outputs, models=[model], seed=0)
