"""Models of annotators have crowd-kit's values, and what must hold of any votes holds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench import Study
from nlgbench.analysis.people import aggregate_judgments
from nlgbench.analysis.people import annotator_models as models

MODELS = ("dawid_skene", "mace")


def study_of(rows: pd.DataFrame) -> Study:
    outputs = pd.DataFrame({"output_id": rows["output_id"].unique(), "system": "a"})
    return Study(outputs.assign(item_id=outputs["output_id"]), rows)


def drawn(seed: int, n: int, k: int) -> pd.DataFrame:
    """Four of six annotators of falling skill on each of n outputs."""
    rng = np.random.default_rng(seed)
    true, skill = rng.integers(k, size=n), [0.95, 0.85, 0.75, 0.6, 0.5, 0.33]
    rows = []
    for at in range(n):
        for who in sorted(rng.permutation(6)[:4]):
            value = true[at] if rng.random() < skill[who] else rng.integers(k)
            rows.append((f"t{at:02d}", f"w{who}", float(value)))
    return pd.DataFrame(rows, columns=["output_id", "annotator_id", "value"])


def test_dawid_and_skene_is_crowd_kits():
    """crowd-kit 1.4.2, DawidSkene(n_iter=250, tol=-1), on these votes."""
    found = aggregate_judgments(study_of(drawn(11, 30, 2)), method="dawid_skene")
    of = found.outputs.set_index("output_id")["p_1"]
    known = {"t02": 0.827816, "t17": 0.999604, "t25": 0.990281, "t00": 0.0, "t28": 1.0}
    assert of[list(known)].to_numpy() == pytest.approx(list(known.values()), abs=5e-6)
    assert of.mean() == pytest.approx(0.527257, abs=5e-6)  # its prior of class 1


def test_mace_is_crowd_kits():
    """crowd-kit 1.4.2, MACE(method="vb", n_iter=2000, n_restarts=1), ids as they appear.

    Annotators appear as w0, w2, w3, w4, w1, w5; posteriors are those of t02 and t04.
    """
    knows = [0.974224, 0.736651, 0.749755, 0.649717, 0.835560, 0.483558]
    posterior = [[0.001581, 0.000766, 0.997654], [0.015579, 0.982646, 0.001775]]
    votes = models._votes(study_of(drawn(7, 40, 3)), "quality")
    assert list(votes.annotators) == ["w0", "w2", "w3", "w4", "w1", "w5"]
    counts = votes.by_value()
    first = counts / counts.sum(axis=1, keepdims=True)
    state = (np.full(6, 0.5), np.full((6, 3), 0.5 / 3))
    run = models.converge(votes.said, first, state, close=1e-10)
    assert run.state[0] == pytest.approx(knows, abs=1e-6)
    assert run.posterior[[2, 4]] == pytest.approx(np.array(posterior), abs=1e-6)


@pytest.mark.parametrize("state", [(), (np.full(6, 0.5), np.full((6, 3), 0.5 / 3))])
def test_em_never_goes_down(monkeypatch, state):
    votes, ends = models._votes(study_of(drawn(5, 40, 3)), "quality"), []
    first = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    for most in range(2, 16):
        monkeypatch.setattr(models, "_MOST_STEPS", most)
        ends.append(models.converge(votes.said, first, state).objective)
    assert (np.diff(ends) > -1e-7).all()


VOTES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 4), st.sampled_from([1.0, 2.0, 5.0])),
    min_size=4,
    max_size=40,
    unique_by=lambda one: one[:2],
).filter(lambda votes: len({value for _, _, value in votes}) > 1)


@settings(max_examples=8, deadline=None)
@given(votes=VOTES, method=st.sampled_from(["majority", *MODELS]))
def test_what_holds_of_any_votes(votes, method):
    rows = pd.DataFrame(votes, columns=["output_id", "annotator_id", "value"])
    rows = rows.astype({"output_id": str, "annotator_id": str})
    found = aggregate_judgments(study_of(rows), method=method)
    shares = found.outputs.filter(regex="^p_").to_numpy()
    assert shares.sum(axis=1) == pytest.approx(1)
    assert set(found.outputs["label"].dropna()) <= set(rows["value"])
    assert found.systems["estimate"].sum() == pytest.approx(1)
    people = found.annotators
    assert people["accuracy"].between(-1e-9, 1 + 1e-9).all()
    # Other names and another order of values change nothing.
    if method == "majority":
        swapped = rows.assign(value=rows["value"].map({1.0: 7.0, 2.0: 3.0, 5.0: 4.0}))
        again = aggregate_judgments(study_of(swapped), method=method).outputs["label"]
        assert again.map({7.0: 1.0, 3.0: 2.0, 4.0: 5.0}).equals(found.outputs["label"])


def test_a_majority_is_the_commonest_value_and_a_tie_has_none():
    rows = zip("xxxyyz", "abcaba", [1.0, 1.0, 0.0, 0.0, 1.0, 0.0], strict=True)
    rows = pd.DataFrame(rows, columns=["output_id", "annotator_id", "value"])
    found = aggregate_judgments(study_of(rows), method="majority")
    np.testing.assert_array_equal(found.outputs["label"], [1, np.nan, 0])
    assert found.outputs["probability"][1] == 0.5
    assert found.judgments["output_id"].tolist() == ["x", "z"]
    assert found.systems["estimate"].tolist() == [0.5, 0.5]
    assert (found.annotators["status"] == "few_judgments").all()


def test_ratings_without_classes_are_refused_with_a_way_out():
    for values, said in ((np.arange(120) / 7, "Found 120 .* into bins"), (3, "Found 1 in")):
        with pytest.raises(ValueError, match=said):
            aggregate_judgments(study_of(drawn(1, 30, 2).assign(value=values)), method="mace")


def test_models_beat_the_majority_among_spammers_whose_accuracy_is_near_the_truth():
    rng = np.random.default_rng(0)
    true = rng.integers(2, size=400)
    skill = np.where(np.arange(30) < 15, 0.5, rng.uniform(0.6, 0.95, 30))
    who = rng.permuted(np.tile(np.arange(30), (400, 1)), axis=1)[:, :5]
    value = np.where(rng.random(who.shape) < skill[who], true[:, None], 1 - true[:, None])
    rows = [(f"t{t}", f"w{w}", value[t, n]) for t in range(400) for n, w in enumerate(who[t])]
    study, right = study_of(pd.DataFrame(rows, columns=drawn(0, 1, 2).columns)), {}
    for method in ("majority", *MODELS):
        found = aggregate_judgments(study, method=method)
        right[method] = (found.outputs["label"] == true).mean()
        people = found.annotators.set_index("annotator_id").loc[[f"w{w}" for w in range(30)]]
        if method == "dawid_skene":
            assert np.abs(people["accuracy"] - skill).mean() < 0.07
    assert min(right[method] for method in MODELS) > right["majority"] + 0.01


def test_the_labels_are_judgments_that_every_analysis_takes():
    study = nb.simulate("crowd", n_outputs=10, n_truth=0, seed=1)
    found = aggregate_judgments(study, method="mace", seed=1)
    table = nb.accuracy(study.replace(judgments=found.judgments), rule="majority")
    assert table["n_outputs"][0] == len(found.judgments)
    assert found.judgments["group_id"].str.startswith("hit").all()
    assert aggregate_judgments(study, method="mace", seed=1).systems.equals(found.systems)
