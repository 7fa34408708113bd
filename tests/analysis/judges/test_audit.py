"""Planted biases of judges are found, fair judges left alone, and released counts follow."""

from math import comb

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.clustering import THESE_ANNOTATORS
from nlgbench.datasets.llmbar import RAW_FILES
from tests.released import needs

RELEASED = needs(*RAW_FILES["llmbar-natural"])
BIASES = ["position", "length", "own"]


@pytest.fixture(scope="module")
def study():
    return nb.simulate("judges", n_items=400, seed=5)


def wrote(study):
    return study.truth["judges"].set_index("judge")["system"].to_dict()


@pytest.fixture(scope="module")
def found(study):
    return nb.audit(study, authors=wrote(study))


def whole(found):
    """Findings with their details."""
    return found.findings.merge(found.details, on=["evaluator", "test"])


@pytest.fixture(scope="module")
def rows(found):
    return whole(found).set_index(["evaluator", "test"])


def test_what_was_planted_is_found_and_nothing_else(found):
    assert len(found.findings.columns) == 14
    tests = whole(found)
    sentinels = tests[tests["is_sentinel"]]
    assert sentinels[["p", "p_adjusted"]].isna().all(axis=None)
    assert sentinels["verdict"].eq("").all()
    tests = tests[tests["test"].isin(BIASES) & ~tests["is_sentinel"]]
    said = tests.set_index("verdict")[["evaluator", "test"]]
    assert said.loc["found"].to_numpy().tolist() == [["wordy", "length"], ["vain", "own"]]
    # What is shown first gains less than the margin: significant, but no bias that matters.
    assert said.loc[["significant"]].to_numpy().tolist() == [["hasty", "position"]]
    assert set(said.index) <= {"found", "significant", "ruled out", "not shown"}
    # Acquitted is who lies within the margin, not who was not found.
    inside = tests[["inner_low", "inner_high"]].abs().max(axis=1) < 0.05
    assert ((tests["verdict"] == "ruled out") == (inside & (tests["p_adjusted"] >= 0.05))).all()


@pytest.mark.parametrize(("margin", "n_found"), [(0.01, 3), (0.4, 0)])
def test_a_bias_is_found_only_beyond_the_margin(study, margin, n_found):
    table = nb.audit(study, authors=wrote(study), margin=margin).findings
    said = table["verdict"].isin(["found", "significant"])
    assert said.equals(table["p_adjusted"] < 0.05)
    beyond = (table["ci_low"] > margin) | (table["ci_high"] < -margin)
    assert ((table["verdict"] == "found") == (said & beyond)).all()
    assert (table["verdict"] == "found").sum() == n_found


def test_sentinels_do_what_they_are_called(rows):
    assert rows.loc[("first", "position"), "estimate"] == 0.5
    assert rows.loc[("constant", "position"), "estimate"] == 0
    assert rows.loc[("longest", "length"), "estimate"] > 0.05


def test_fewer_than_ten_annotators_are_these_annotators():
    found = nb.audit(nb.simulate("judges", n_items=60, n_annotators=7, seed=1)).findings
    covers = found[found["evaluator"] == "fair"].set_index("test")["covers"]
    assert covers[["length", "agreement", "ties"]].tolist() == [THESE_ANNOTATORS] * 3
    assert covers["position"] == "other items"


def test_flips_are_counted_and_tested_exactly(found, rows):
    counts = found.orders.set_index("evaluator").loc["hasty"]
    most = int(counts["n_first"])
    n = most + int(counts["n_second"])
    exact = 2 * sum(comb(n, k) for k in range(most, n + 1)) / 2**n
    assert rows.loc[("hasty", "position"), "p"] == pytest.approx(exact)
    assert counts["n_same"] + n + counts["n_tied"] == counts["n_both"] == 1_200
    # What is shown first gains as a share of all verdicts: half of what flips differ by.
    gain = (counts["n_first"] - counts["n_second"]) / counts["n_both"] / 2
    assert rows.loc[("hasty", "position"), "estimate"] == pytest.approx(gain)


def test_holm_is_over_a_judges_three_tests(rows):
    own = rows.loc["vain"].loc[BIASES].sort_values("p")
    steps = np.maximum.accumulate(np.array([3, 2, 1]) * own["p"])
    assert own["p_adjusted"].tolist() == pytest.approx(np.minimum(steps, 1).tolist())


def test_calibration_is_that_of_the_formula():
    """Shares by bins, each pair an item of its own, one vote each."""
    rng = np.random.default_rng(0)
    n = 400
    said = rng.choice([0.55, 0.75, 0.95], n)
    vote = np.where(rng.random(n) < said - 0.1, "a", "b")
    found = nb.audit(of_pairs(said, vote, [f"w{k}" for k in rng.integers(40, size=n)]))
    bins = found.calibration
    assert bins["probability"].tolist() == pytest.approx([0.55, 0.75, 0.95])
    right = pd.Series(vote == "a").groupby(said)
    assert bins["estimate"].tolist() == pytest.approx(right.mean().tolist())
    over = whole(found).set_index(["evaluator", "test"]).loc[("judge", "overconfidence")]
    assert over["estimate"] == pytest.approx(np.mean(said - (vote == "a")))


def of_pairs(said, vote, people, lengths=None, **settings):
    """A study of pairs, each an item of its own, whose first output was shown first."""
    n = len(said)
    sides = [(f"{k}{side}", str(k), system) for k in range(n) for side, system in ("ax", "by")]
    outputs = pd.DataFrame(sides, columns=["output_id", "item_id", "system"])
    outputs["text"] = ["o" * one for both in lengths or [(5, 5)] * n for one in both]
    ids = outputs["output_id"].to_numpy().reshape(n, 2)
    pairs = pd.DataFrame(ids, columns=["output_a", "output_b"])
    return nb.Study(
        outputs,
        preferences=pairs.assign(annotator_id=people, choice=vote),
        comparisons=pairs.assign(comparator="judge", prob_a=said, prob_tie=0.0, prob_b=1 - said),
        settings=settings,
    )


def test_length_is_what_people_do_not_explain():
    """Gold votes: least squares of the verdict on the vote and the doublings."""
    rng, n = np.random.default_rng(1), 60
    lengths = [(int(a), int(b)) for a, b in rng.integers(2, 40, (n, 2))]
    doublings, vote = np.log2([a / b for a, b in lengths]), rng.choice([-0.5, 0.5], n)
    said = np.where(vote + 0.4 * doublings + rng.normal(0, 1, n) > 0, 1.0, 0.0)
    found = nb.audit(
        of_pairs(said, np.where(vote > 0, "a", "b"), ["w1"] * n, lengths, votes="gold")
    )
    row = whole(found).set_index(["evaluator", "test"]).loc[("judge", "length")]
    design = np.column_stack([vote, doublings])

    def slope(kept):
        return np.linalg.lstsq(design[kept], said[kept] - 0.5, rcond=None)[0][1]

    assert row["estimate"] == pytest.approx(slope(np.arange(n)))
    without = [slope(np.arange(n) != k) for k in range(n)]
    assert row["se"] == pytest.approx(np.sqrt((n - 1) * np.var(without)))
    assert (row["status"], row["n"]) == ("gold_votes", n)
    # A pair without a text on one side has no length to regress on.
    unwritten = [(0, 7)] * 6 + lengths[6:]
    found = nb.audit(
        of_pairs(said, np.where(vote > 0, "a", "b"), ["w1"] * n, unwritten, votes="gold")
    )
    row = found.findings.set_index(["evaluator", "test"]).loc[("judge", "length")]
    assert row["estimate"] == pytest.approx(slope(np.arange(6, n))) and row["n"] == n - 6


def test_a_fair_judge_is_not_convicted_by_one_noisy_vote_on_each_pair():
    """Better texts are longer; votes are noisy, and the judge sees quality alone."""
    rng, n = np.random.default_rng(0), 400
    lengths = [(int(a), int(b)) for a, b in rng.integers(5, 60, (n, 2))]
    gap = np.log2([a / b for a, b in lengths]) + rng.normal(0, 1, n)
    said = (gap + rng.normal(0, 0.3, n) > 0).astype(float)
    votes = np.where(gap[:, None] + rng.logistic(0, 1, (n, 3)) > 0, "a", "b")
    people = [f"w{k}" for k in range(n)]
    study = of_pairs(said, votes[:, 0], people, lengths)
    pairs = study.comparisons
    swapped = pairs.rename(columns={"output_a": "output_b", "output_b": "output_a"})
    swapped = swapped.rename(columns={"prob_a": "prob_b", "prob_b": "prob_a"})
    study = study.replace(comparisons=pd.concat([pairs, swapped]))

    def judge(study):
        found = whole(nb.audit(study, authors={"judge": "x"}))
        return found[found["evaluator"] == "judge"].set_index("test")

    rows = judge(study)
    for test in ("length", "own"):
        assert rows.loc[test, ["status", "verdict"]].tolist() == ["one_vote", "not shown"]
        assert rows.loc[test, ["estimate", "ci_low", "p", "p_adjusted"]].isna().all()
    # Holm's family is position alone, and agreement with the votes needs no second vote.
    assert rows.loc["position", "p_adjusted"] == rows.loc["position", "p"] == 1
    right = said == (votes[:, 0] == "a")
    assert rows.loc["agreement", ["estimate", "status"]].tolist() == [right.mean(), "ok"]
    assert rows.loc["agreement_of_annotators", "status"] == "one_vote"
    # As a truth, the same votes would convict it; three on each pair do not.
    assert judge(study.replace(settings={"votes": "gold"})).loc["length", "verdict"] == "found"
    each = pd.concat(
        study.preferences.assign(choice=votes[:, k], annotator_id=f"v{k}") for k in range(3)
    )
    assert judge(study.replace(preferences=each)).loc["length", "p"] > 0.05


def test_people_are_held_against_the_others_as_judges_are():
    """Three votes of a pair: who dissents alone is wrong, who is with the majority is not asked."""
    single = of_pairs(np.full(4, 1.0), ["a"] * 4, ["w1"] * 4)
    ids = single.comparisons[["output_a", "output_b"]]
    votes = ids.loc[ids.index.repeat(3)].reset_index(drop=True)
    votes = votes.assign(annotator_id=["w1", "w2", "w3"] * 4, choice=list("aaaaabbbbabb"))
    found = nb.audit(single.replace(preferences=votes)).findings
    rows = found.set_index(["evaluator", "test"])["estimate"]
    # Unanimous pairs have three votes that can be held against others, split ones only one.
    assert rows[("judge", "agreement_of_annotators")] == pytest.approx(6 / 8)
    assert rows[("judge", "agreement")] == pytest.approx((3 + 1 + 0 + 0) / 8)


def test_ratings_at_equal_length_undo_a_wordy_systems_lead(study, found):
    table = found.ratings.set_index(["evaluator", "system"])
    voted = nb.rate(study, of="preferences", ties="half").systems.set_index("system")["estimate"]
    assert table.loc["people", "rating"].to_dict() == pytest.approx(voted.to_dict())
    gain = table["rating"] - table["equal_length"]
    # s03 writes most; with the wordy judge that is worth more than with people.
    assert gain[("wordy", "s03")] > 20 > gain[("people", "s03")] > 0
    assert table["rating"].groupby("evaluator").mean().tolist() == pytest.approx([1500.0] * 10)


def in_one_order(shown, said):
    """A judge's probabilities for what was shown first, each pair an item: rows (first, second)."""
    rows = [(str(k), *one) for k, one in enumerate(shown)]
    sides = [(f"{item}{one}", item, one) for item, *both in rows for one in both]
    outputs = pd.DataFrame(sides, columns=["output_id", "item_id", "system"]).assign(text="same")
    pairs = [(f"{item}{first}", f"{item}{second}") for item, first, second in rows]
    said, tied = np.asarray(said), np.equal(said, 0.5)
    chances = {"prob_a": said, "prob_tie": 0.0, "prob_b": 1 - said}
    table = pd.DataFrame(pairs, columns=["output_a", "output_b"]).assign(**chances)
    table.loc[tied, list(chances)] = [0.0, 1.0, 0.0]
    return nb.Study(outputs, comparisons=table.assign(comparator="judge"))


def position(study):
    return whole(nb.audit(study)).set_index(["evaluator", "test"]).loc[("judge", "position")]


def test_pairs_in_one_order_are_held_against_other_pairs_of_the_same_systems():
    # Of a against b, the one wins 3 of 4 where it is first and 2 of 6 where it is second; of a
    # against c, 1 of 2 and 1 of 2. One is a tie, and c and d met in one order only.
    shown = [*"ab"] * 4 + [*"ba"] * 6 + [*"ac"] * 2 + [*"ca"] * 2 + [*"ab"] + [*"cd"] * 2
    shown = list(zip(shown[::2], shown[1::2], strict=True))
    said = np.array([1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0.5, 1, 1])
    row = position(in_one_order(shown, said))
    assert row["n"] == 14 and row["reason"].endswith(
        "assumed to be random; excluded (ties): 1; excluded (systems rarely swapped): 2"
    )
    halves = [10 * (3 / 4 - 2 / 6) / 2, 4 * (1 / 2 - 1 / 2) / 2]
    share = 16 / 17
    assert row["estimate"] == pytest.approx(share * sum(halves) / 14)
    # Variances of the four means, which are of items of their own.
    of_mean = [(5, 4, 3 / 4), (5, 6, 4 / 6), (2, 2, 1 / 2), (2, 2, 1 / 2)]
    squares = sum((weight / 14) ** 2 * p * (1 - p) / (n - 1) for weight, n, p in of_mean)
    assert row["se"] == pytest.approx(share * np.sqrt(squares * 14 / 13))


@pytest.mark.parametrize(("gain", "verdict"), [(0.3, "found"), (0.0, "ruled out")])
def test_position_is_found_in_one_order_whoever_is_better(gain, verdict):
    rng = np.random.default_rng(3)
    shown = [("good", "bad") if one else ("bad", "good") for one in rng.integers(2, size=2_000)]
    won = [rng.random() < 0.5 + gain / 2 + (0.3 if one == "good" else -0.3) for one, _ in shown]
    row = position(in_one_order(shown, np.where(won, 0.9, 0.1)))
    assert row["verdict"] == verdict and row["ci_low"] < gain / 2 < row["ci_high"]


@pytest.mark.parametrize("said", [[1.0] * 12, [0.5] * 12])
def test_a_fixed_order_says_nothing_of_position(said):
    row = position(in_one_order([("a", "b")] * 12, said))
    assert np.isnan(row["estimate"]) and row["verdict"] == ""
    assert "no two systems have at least two verdicts in each order" in row["reason"]


@RELEASED
def test_chatgpt_prefers_the_first_answer_of_llmbar():
    found = nb.audit(nb.load("llmbar-natural"))
    row = whole(found).set_index(["evaluator", "test"]).loc[("ChatGPT", "position")]
    counts = found.orders.set_index("evaluator").loc["ChatGPT", ["n_first", "n_second"]]
    assert counts.tolist() == [25, 4] and row["verdict"] == "found"
    assert row["p"] == pytest.approx(2 * sum(comb(29, k) for k in range(5)) / 2**29)


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        ({"comparisons": None}, {}, "has no comparisons"),
        ({}, {"authors": {"faire": "s01"}}, "'fair'"),
        ({}, {"authors": {"fair": "s1"}}, "'s01'"),
        ({}, {"margin": 0.0}, "margin, .* must be above 0"),
    ],
)
def test_what_is_wrong_is_named(study, change, asked, said):
    with pytest.raises(ValueError, match=said):
        nb.audit(study.replace(**change), **asked)
