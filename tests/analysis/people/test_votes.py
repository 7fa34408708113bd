"""Agreement of votes, and evaluators against votes."""

import numpy as np
import pandas as pd
import pytest
from plain_coefficients import coefficient_of
from sklearn.metrics import cohen_kappa_score

import nlgbench as nb
from nlgbench.crossed import OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.study import Study

KEY = ["output_a", "output_b", "annotator_id", "choice"]


def voted(rows, **tables):
    """A study of systems x and y: outputs x1, y1 of item 1 and so on, and votes on them."""
    votes = pd.DataFrame(
        rows, columns=KEY[: len(rows[0])] if len(rows[0]) == 4 else [*KEY, "group_id"]
    )
    ids = sorted({*votes["output_a"], *votes["output_b"]})
    outputs = pd.DataFrame({"output_id": ids, "system": [one[0] for one in ids]})
    outputs = outputs.assign(item_id=[one[1:] for one in ids], text="")
    return Study(outputs, preferences=votes, **tables)


def of_counts(coefficient, counts):
    unit, value = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    return coefficient_of(coefficient, value.astype(float), unit, "nominal")


def measures(table, evaluator, against="votes"):
    own = table[(table["evaluator"] == evaluator) & (table["against"] == against)]
    return own.set_index("measure")


def test_agreement_is_that_of_tables_of_counts():
    study = nb.simulate("votes", n_items=60, n_votes=4, seed=3)
    votes = study.preferences.assign(
        low=study.preferences[["output_a", "output_b"]].min(axis=1),
        high=study.preferences[["output_a", "output_b"]].max(axis=1),
    )
    # Some pairs are left with fewer votes.
    votes = votes[np.random.default_rng(0).random(len(votes)) < 0.6]
    study = study.replace(preferences=votes.drop(columns=["low", "high"]))
    turned = votes["output_a"] != votes["low"]
    choice = votes["choice"].where(~turned, votes["choice"].map({"a": "b", "b": "a", "tie": "tie"}))
    counts = pd.crosstab([votes["low"], votes["high"]], choice)[["a", "tie", "b"]].to_numpy()
    table = nb.vote_agreement(study).set_index(["row", "coefficient"])
    found = table.loc["all"]
    assert found.loc["fleiss_kappa", "estimate"] == pytest.approx(of_counts("fleiss_kappa", counts))
    alpha = of_counts("krippendorff_alpha", counts)
    assert found.loc["krippendorff_alpha", "estimate"] == pytest.approx(alpha)
    paired = counts[counts.sum(axis=1) > 1]
    assert found["n_pairs"].eq(len(paired)).all() and found["n_votes"].eq(paired.sum()).all()
    assert found["n_left_out"].eq((counts.sum(axis=1) == 1).sum()).all()
    assert found["n_repeated"].eq(0).all()
    assert (found["ci_low"] < found["estimate"]).all()
    assert found["covers"].eq(OTHER_ANNOTATORS).all()
    # Each system's pairs: every pair is in two of the six rows.
    of_systems = table.drop(index="all").xs("fleiss_kappa", level="coefficient")
    assert of_systems["n_pairs"].sum() == 2 * len(paired)
    # Who was shown first changes nothing.
    other = votes.rename(columns={"output_a": "output_b", "output_b": "output_a"}).assign(
        choice=votes["choice"].map({"a": "b", "b": "a", "tie": "tie"})
    )
    again = nb.vote_agreement(study.replace(preferences=other.drop(columns=["low", "high"])))
    numbers = ["estimate", "se", "n_pairs"]
    np.testing.assert_allclose(again[numbers], table[numbers].to_numpy())


@pytest.mark.parametrize(("seed", "largest"), [(1, "annotators"), (3, "items")])
def test_variance_of_agreement_is_the_largest_of_three(seed, largest):
    """V_items, V_annotators, or V_items + V_annotators - V_both of plain refits."""
    # With two votes on a pair, a pair without one of them has none that agree.
    world = {"n_items": 8, "n_pairs": 3, "n_votes": 2, "n_annotators": 12, "of_taste": 0.8}
    study = nb.simulate("votes", **world, seed=seed)
    votes = study.preferences
    item = votes["output_a"].str.split("-").str[0]
    swapped = (votes["output_a"] > votes["output_b"]).to_numpy()
    answer = votes["choice"].map({"a": 0, "tie": 1, "b": 2}).to_numpy()
    answer = np.where(swapped, 2 - answer, answer)
    pair = votes[["output_a", "output_b"]].agg(lambda row: "".join(sorted(row)), axis=1)
    place = pd.factorize(pair)[0]

    def kappa(kept):
        return coefficient_of("fleiss_kappa", answer[kept] * 1.0, place[kept], "nominal")

    variance = {}
    for name, of in (
        ("items", item),
        ("annotators", votes["annotator_id"]),
        ("both", item + votes["annotator_id"]),
    ):
        found = np.array([kappa(of != one) for one in of.unique()])
        variance[name] = found.var() * (len(found) - 1)
    variance["sum"] = variance["items"] + variance["annotators"] - variance.pop("both")
    assert max(variance, key=variance.get) == largest
    table = nb.vote_agreement(study).set_index(["row", "coefficient"])
    found = table.loc[("all", "fleiss_kappa"), "se"]
    assert found**2 == pytest.approx(variance[largest])
    few = nb.vote_agreement(study, annotators="fixed").set_index(["row", "coefficient"])
    assert few.loc[("all", "fleiss_kappa"), "se"] ** 2 == pytest.approx(variance["items"])


def test_a_second_vote_of_an_annotator_on_a_page_of_its_own_counts():
    rows = [
        ("x1", "y1", "w1", "a", "h1"),
        ("x1", "y1", "w1", "b", "h2"),
        ("y1", "x1", "w2", "b", ""),
    ]
    study = voted(rows)
    row = nb.vote_agreement(study).iloc[0]
    assert (row["n_votes"], row["n_repeated"]) == (3, 1)
    assert row["estimate"] == pytest.approx(1 / 3)
    assert nb.win_rates(study).iloc[0]["n_games"] == 3
    # w1 is never set against w1: the first vote of w1 and that of w2, against each other.
    accuracy = measures(nb.vote_accuracy(study), "people")
    assert accuracy.loc["accuracy", ["n", "n_left_out", "estimate"]].tolist() == [2, 1, 1]


def test_an_evaluators_figures_are_those_of_scikit_learn():
    study = nb.simulate("votes", n_items=50, seed=5)
    rounded = study.scores.assign(score=study.scores["score"].round(0))  # so that some tie
    rounded.loc[3, "score"] = np.nan
    study = study.replace(scores=rounded)
    table = nb.vote_accuracy(study)
    votes = study.preferences
    system = study.outputs.set_index("output_id")["system"]
    turned = system.loc[votes["output_a"]].to_numpy() > system.loc[votes["output_b"]].to_numpy()
    choice = votes["choice"].where(~turned, votes["choice"].map({"a": "b", "b": "a", "tie": "tie"}))
    for name, own in rounded.groupby("evaluator"):
        score = own.set_index("output_id")["score"]
        gap = score.loc[votes["output_a"]].to_numpy() - score.loc[votes["output_b"]].to_numpy()
        gap = np.where(turned, -gap, gap)
        has = ~np.isnan(gap)
        said = np.array(["b", "tie", "a"])[np.sign(gap[has]).astype(int) + 1]
        found = measures(table, name)
        assert found["n_left_out"].eq((~has).sum()).all()
        assert found["n_ties"].eq((choice[has] == "tie").sum()).all()
        assert found["n_said_tie"].eq((said == "tie").sum()).all()
        assert found.loc["accuracy", "estimate"] == pytest.approx((said == choice[has]).mean())
        both = (said != "tie") & (choice[has] != "tie").to_numpy()
        decided = (said == choice[has])[both].mean()
        assert found.loc["accuracy_decided", "estimate"] == pytest.approx(decided)
        kappa = cohen_kappa_score(said, choice[has])
        assert found.loc["cohen_kappa", "estimate"] == pytest.approx(kappa)


def test_the_majority_is_of_all_and_without_oneself():
    rows = [("x1", "y1", w, c) for w, c in zip("uvw", ["a", "a", "b"], strict=True)]
    rows += [("y2", "x2", w, c) for w, c in zip("uvw", ["a", "b", "tie"], strict=True)]  # none
    rows += [("x3", "y3", "u", "tie"), ("x3", "y3", "v", "tie")]
    scores = pd.DataFrame({"output_id": ["x1", "y1", "x2", "y2", "x3", "y3"], "evaluator": "e"})
    study = voted(rows, scores=scores.assign(score=[2.0, 1, 2, 1, 2, 1]))
    table = nb.vote_accuracy(study)
    found = measures(table, "e", "majority").loc["accuracy"]
    assert found[["estimate", "n", "n_ties", "n_left_out"]].tolist() == [0.5, 2, 1, 1]
    # Of the others: u and v disagree on item 1 (a against a tie of one a and one b), w sees a, a;
    # on item 2 two disagree; on item 3 each sees the other's tie.
    people = measures(table, "people", "majority").loc["accuracy"]
    assert people["n"] == 2
    assert people["estimate"] == pytest.approx((0 / 3 + 1) / (1 / 3 + 1))
    lower = study.scores.assign(signature="x|direction:lower")
    found = measures(nb.vote_accuracy(study.replace(scores=lower)), "e")
    assert found.loc["accuracy_decided", "estimate"] == pytest.approx(2 / 5)


def test_a_judge_asked_in_both_orders_counts_half_for_each():
    rows = [("x1", "y1", "w", "a"), ("x2", "y2", "w", "a")]
    verdicts = pd.DataFrame(
        [("x1", "y1", 1.0, 0.0), ("y1", "x1", 1.0, 0.0), ("y2", "x2", 0.0, 1.0)],
        columns=["output_a", "output_b", "prob_a", "prob_b"],
    )
    study = voted(rows, comparisons=verdicts.assign(comparator="j", prob_tie=0.0))
    found = measures(nb.vote_accuracy(study), "j")
    assert found.loc["accuracy", "estimate"] == pytest.approx((0.5 + 1) / 2)
    assert found["n"].eq(2).all() and found["covers"].eq(THESE_ANNOTATORS).all()


def test_names_that_would_be_two_things_are_refused():
    study = nb.simulate("votes", n_items=10, seed=0)
    people = study.replace(scores=study.scores.replace({"evaluator": {"noisy": "people"}}))
    with pytest.raises(ValueError, match="'people', as annotators are here: rename it"):
        nb.vote_accuracy(people)
    for function in (nb.vote_agreement, nb.vote_accuracy):
        with pytest.raises(ValueError, match="has no preferences"):
            function(study.replace(preferences=None))
        with pytest.raises(ValueError, match="has no preferences"):
            function(study.replace(preferences=study.preferences.iloc[:0]))
        with pytest.raises(ValueError, match="dimension: 'qualty' is unknown"):
            function(study, dimension="qualty")
