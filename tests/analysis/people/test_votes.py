"""Agreement of votes is that of plain counts, and evaluators' figures are scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from plain_coefficients import coefficient_of, of_counts
from sklearn.metrics import cohen_kappa_score

import nlgbench as nb
from nlgbench.clustering import OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.study import Study

SWAP = {"a": "b", "b": "a", "tie": "tie"}


def turn(choices):
    return pd.Series(choices).map(SWAP)


def voted(rows, **tables):
    """A study of systems x and y: outputs x1, y1 of item 1 and so on, and votes on them."""
    columns = ["output_a", "output_b", "annotator_id", "choice", "group_id"]
    votes = pd.DataFrame(rows, columns=columns[: len(rows[0])])
    outputs = pd.DataFrame({"output_id": sorted({*votes["output_a"], *votes["output_b"]})})
    one, item = outputs["output_id"].str[0], outputs["output_id"].str[1:]
    return Study(outputs.assign(system=one, item_id=item, text=""), preferences=votes, **tables)


def measures(table, evaluator, against="votes"):
    own = table[(table["evaluator"] == evaluator) & (table["against"] == against)]
    return own.set_index("measure")


def test_agreement_is_that_of_tables_of_counts():
    study = nb.simulate("votes", n_items=60, n_votes=4, seed=3)
    # Some pairs are left with fewer votes.
    votes = study.preferences[np.random.default_rng(0).random(len(study.preferences)) < 0.6]
    low, high = (votes[["output_a", "output_b"]].agg(end, axis=1) for end in ("min", "max"))
    choice = votes["choice"].where(votes["output_a"] == low, votes["choice"].map(SWAP))
    counts = pd.crosstab([low, high], choice).to_numpy()
    table = nb.vote_agreement(study.replace(preferences=votes)).set_index(["row", "coefficient"])
    found = table.loc["all"]
    paired = counts[counts.sum(axis=1) > 1]
    both = np.vstack([paired, paired[:, [1, 0, 2]]])  # each pair also with its outputs exchanged
    kappa, alpha = (of_counts(name, both) for name in ("fleiss_kappa", "krippendorff_alpha"))
    assert found.loc["fleiss_kappa", "estimate"] == pytest.approx(kappa)
    size = (paired.sum() - 1) / (paired.sum() - 0.5)  # these are the same votes, not twice as many
    assert found.loc["krippendorff_alpha", "estimate"] == pytest.approx(1 - (1 - alpha) * size)
    n = [len(paired), paired.sum(), (counts.sum(axis=1) == 1).sum(), 0]
    assert (found[["n_pairs", "n_votes", "n_left_out", "n_repeated"]] == n).all(axis=None)
    assert (found["ci_low"] < found["estimate"]).all()
    assert found["covers"].eq(OTHER_ANNOTATORS).all()
    # There are fewer annotators than items: they decide the degrees of freedom.
    several = votes.groupby([low, high])["choice"].transform("size") > 1
    each = votes.loc[several, "annotator_id"].value_counts()
    assert found["n_clusters"].tolist() == pytest.approx([each.sum() ** 2 / (each**2).sum()] * 3)
    # Each system's pairs: every pair is in two of the six rows.
    of_systems = table.drop(index="all").xs("fleiss_kappa", level="coefficient")
    assert of_systems["n_pairs"].sum() == 2 * len(paired)


@pytest.mark.parametrize(("seed", "largest"), [(1, "annotators"), (3, "items")])
def test_variance_of_agreement_is_the_largest_of_three(seed, largest):
    """V_items, V_annotators, or V_items + V_annotators - V_both of plain refits."""
    # With two votes on a pair, a pair without one of them has none that agree.
    world = {"n_items": 8, "n_pairs": 3, "n_votes": 2, "n_annotators": 12, "of_taste": 0.8}
    study = nb.simulate("votes", **world, seed=seed)
    votes = study.preferences
    item, who = votes["output_a"].str.split("-").str[0], votes["annotator_id"]
    answer = votes["choice"].map({"a": 0.0, "tie": 1.0, "b": 2.0})
    answer = answer.where(votes["output_a"] < votes["output_b"], 2 - answer).to_numpy()
    ids = votes[["output_a", "output_b"]]
    place = pd.factorize(ids.min(axis=1) + ids.max(axis=1))[0]
    variance = {}
    for name, of in (("items", item), ("annotators", who), ("both", item + who)):
        kept = [(of != one).to_numpy() for one in of.unique()]
        both = [
            (np.append(answer[k], 2 - answer[k]), np.append(2 * place[k], 2 * place[k] + 1))
            for k in kept
        ]
        one = [coefficient_of("fleiss_kappa", *each, "nominal") for each in both]
        variance[name] = np.var(one) * (len(one) - 1)
    variance["sum"] = variance["items"] + variance["annotators"] - variance.pop("both")
    assert max(variance, key=variance.get) == largest
    for annotators, expected in ((None, variance[largest]), ("fixed", variance["items"])):
        table = nb.vote_agreement(study, annotators=annotators).set_index(["row", "coefficient"])
        assert table.loc[("all", "fleiss_kappa"), "se"] ** 2 == pytest.approx(expected)


def test_a_second_vote_of_an_annotator_on_a_page_of_its_own_counts():
    rows = [("x1", "y1", "w1", "a", "h1"), ("x1", "y1", "w1", "b", "h2")]
    study = voted([*rows, ("y1", "x1", "w2", "b", "")])
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
    table, votes = nb.vote_accuracy(study), study.preferences
    system = study.outputs.set_index("output_id")["system"]
    turned = (votes["output_a"].map(system) > votes["output_b"].map(system)).to_numpy()
    choice = votes["choice"].where(~turned, votes["choice"].map(SWAP)).to_numpy()
    for name, own in rounded.groupby("evaluator"):
        score = own.set_index("output_id")["score"]
        gap = (votes["output_a"].map(score) - votes["output_b"].map(score)).to_numpy()
        gap = np.where(turned, -gap, gap)
        has = ~np.isnan(gap)
        said, asked = np.array(["b", "tie", "a"])[np.sign(gap[has]).astype(int) + 1], choice[has]
        n = [(~has).sum(), (asked == "tie").sum(), (said == "tie").sum()]
        found = measures(table, name)
        assert (found[["n_left_out", "n_ties", "n_said_tie"]] == n).all(axis=None)
        decided = (said != "tie") & (asked != "tie")
        for measure, expected in (
            ("accuracy", (said == asked).mean()),
            ("accuracy_decided", (said == asked)[decided].mean()),
            ("cohen_kappa", cohen_kappa_score([*said, *turn(said)], [*asked, *turn(asked)])),
        ):
            assert found.loc[measure, "estimate"] == pytest.approx(expected)


def test_the_majority_is_of_all_and_without_oneself():
    # Of item 1 most say a, of item 2 there is no majority, and item 3 is a tie.
    rows = [("x1", "y1", "u", "a"), ("x1", "y1", "v", "a"), ("x1", "y1", "w", "b")]
    rows += [("y2", "x2", "u", "a"), ("y2", "x2", "v", "b"), ("y2", "x2", "w", "tie")]
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
    with pytest.raises(ValueError, match="the reserved name 'people': rename it"):
        nb.vote_accuracy(people)
    for function in (nb.vote_agreement, nb.vote_accuracy):
        for none in (None, study.preferences.iloc[:0]):
            with pytest.raises(ValueError, match="has no preferences"):
                function(study.replace(preferences=none))
