"""E-values and confidence sequences are those of others' formulas, and one may stop by them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln

import nlgbench as nb
from nlgbench.analysis import betting


def whole(found):
    """Stops with their details."""
    return found.stops.merge(found.details, on=["system", "opponent"])


def votes_by(choices, annotators=None):
    """Give a table of votes between x and y, each by another annotator."""
    who = [f"w{n}" for n in range(len(choices))] if annotators is None else annotators
    table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": list(choices)})
    return table.assign(annotator_id=who)


def judged(values, **settings):
    """Give a study in which each annotator judged one output of each system; a row each."""
    values = np.asarray(values, dtype=float)
    systems = [f"s{n}" for n in range(values.shape[1])]
    outputs = pd.DataFrame({"output_id": systems, "item_id": "i", "system": systems})
    judgments = pd.DataFrame(
        {
            "output_id": np.tile(systems, len(values)),
            "annotator_id": np.repeat([f"w{n}" for n in range(len(values))], len(systems)),
            "value": values.ravel(),
        }
    )
    return nb.Study(outputs, judgments, settings=settings)


@pytest.mark.parametrize(
    ("n", "wins", "off"), [(8, 8, 0), (79, 50, 0), (79, 3, 0), (900, 520, 0.1)]
)
def test_votes_without_ties_have_the_beta_mixture(n, wins, off):
    """Laplace: the mean of (1 + c)^wins (1 - c)^losses over c is 2^n B(wins + 1, losses + 1)."""
    values = np.repeat([1.0, -1.0], [wins, n - wins])
    expected = betaln(wins + 1, n - wins + 1) + n * np.log(2)
    assert betting.log_e_values(values)[-1] == pytest.approx(expected, abs=1e-9 + off)


def test_an_e_value_that_ends_elsewhere_is_worth_one_on_average():
    """Under the null, over all 3^7 outcomes of win, tie and loss: E has the mean 1."""
    outcomes = np.array(np.meshgrid(*[[1.0, 0.0, -1.0]] * 7)).reshape(7, -1).T
    chance = np.array([0.2, 0.6, 0.2])[(1 - outcomes).astype(int)].prod(axis=1)
    assert chance @ np.exp(betting.log_e_values(outcomes)[:, -1]) == pytest.approx(1)
    # And against a mean that is not 0, with values of that mean.
    chance = np.array([0.5, 0.4, 0.1])[(1 - outcomes).astype(int)].prod(axis=1)
    assert chance @ np.exp(betting.log_e_values(outcomes, 0.4)[:, -1]) == pytest.approx(1)


def test_e_holm_is_the_closure_of_the_mean():
    rng = np.random.default_rng(1)
    for k in (1, 2, 5, 7):
        e = np.exp(rng.normal(1, 2, k))
        sets = [set(one) for size in range(1, k + 1) for one in combinations(range(k), size)]
        expected = [min(e[list(one)].mean() for one in sets if n in one) for n in range(k)]
        assert betting.e_holm(e) == pytest.approx(expected)
    assert betting.e_holm(np.array([1e304, np.exp(700), 1.0]))[1] > 1e300


def test_a_confidence_sequence_holds_what_no_e_value_so_far_refutes():
    values = np.random.default_rng(2).uniform(-0.4, 1, 150)
    low, high = betting.confidence_sequence(values, 0.95)
    each = np.array([betting.log_e_values(values, m) for m in betting.MEANS])
    ever = np.maximum.accumulate(each, axis=1) >= np.log(20)
    for n in (0, 5, 63, 64, 149):
        kept = betting.MEANS[~ever[:, n]]
        assert low[n] == pytest.approx(max(-1, kept.min() - 0.005))
        assert high[n] == pytest.approx(min(1, kept.max() + 0.005))
    assert (np.diff(low) >= 0).all() and (np.diff(high) <= 0).all()
    # At every time the test of 0 and the sequence say the same.
    refuted = np.maximum.accumulate(betting.log_e_values(values)) >= np.log(20)
    assert (refuted == (low >= 0)).all() and refuted.any()


def test_where_no_mean_fits_the_ends_cross():
    low, high = betting.confidence_sequence(np.repeat([1.0, -1.0], 60), 0.95)
    assert low[-1] > high[-1]
    found = nb.sequential(votes_by("a" * 60 + "b" * 60), block="annotator").stops.iloc[0]
    assert found["verdict"] == "better" and found["stopped_at"] == 8  # it stood, and stands
    assert np.isnan(found["ci_low"]) and found["status"] == "all_rejected"


def test_a_stop_is_where_the_e_value_reaches_the_level():
    found = nb.sequential(votes_by("a" * 30), block="annotator")
    row = whole(found).iloc[0]
    assert (row["system"], row["opponent"], row["verdict"]) == ("x", "y", "better")
    assert row["stopped_at"] == 8 and row["n_blocks"] == 30  # 2^8 / 9 is the first above 20
    assert row["e_value"] == pytest.approx(2**30 / 31)
    assert [row["p"], row["p_adjusted"]] == pytest.approx([31 / 2**30] * 2)
    assert (row["estimate"], row["status"]) == (1, "ok")
    last = found.path.iloc[-1]
    assert (last["lower"], last["upper"]) == (row["ci_low"], row["ci_high"])
    stop = found.path.set_index("block").loc[row["stopped_at"], ["estimate", "lower", "upper"]]
    assert row[["stopped_estimate", "stopped_low", "stopped_high"]].tolist() == stop.tolist()
    assert 0 <= row["stopped_low"] < row["ci_low"] and row["stopped_high"] == 1
    worse = nb.sequential(votes_by("b" * 30), block="annotator").stops.iloc[0]
    assert (worse["verdict"], worse["ci_high"]) == ("worse", -row["ci_low"])


def test_a_block_is_one_value_however_many_votes_it_has():
    """What hangs together within blocks cannot add up."""
    mixed = nb.sequential(votes_by("aaab", ["w1", "w1", "w2", "w2"]), block="annotator")
    assert mixed.path["log_e"].tolist() == pytest.approx(betting.log_e_values(np.array([1.0, 0.0])))


def test_pairs_meet_at_one_block_and_are_adjusted_there():
    study = nb.simulate("votes", systems={"x": 2.0, "y": 0.0, "z": 0.0}, seed=0)
    found = nb.sequential(study, block="item")
    logs = found.path.pivot(index="block", columns=["system", "opponent"], values="log_e")
    expected = betting.e_holm(np.exp(logs.to_numpy()))
    wide = found.path.pivot(index="block", columns=["system", "opponent"], values="log_e_adjusted")
    assert np.exp(wide.to_numpy()) == pytest.approx(expected)
    stops = whole(found).set_index(["system", "opponent"])
    assert stops["verdict"].tolist() == ["better", "better", "undecided"]
    p = np.minimum(1, 1 / expected.max(axis=0))
    assert stops["p_adjusted"].tolist() == pytest.approx(p) and (stops["p"] <= p + 1e-12).all()
    assert stops["stopped_at"].tolist()[:2] == ((expected >= 20).argmax(axis=0) + 1).tolist()[:2]


def test_judgments_are_differences_over_the_range():
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.integers(2, 6, 60), rng.integers(1, 5, 60)])
    found = nb.sequential(
        judged(values, scales={"quality": {"min": 1, "max": 5}}), block="annotator"
    )
    row, d = whole(found).iloc[0], values[:, 0] - values[:, 1]
    assert found.path["log_e"].to_numpy() == pytest.approx(betting.log_e_values(d / 4.0))
    assert row["estimate"] == pytest.approx(d.mean())
    low, high = betting.confidence_sequence(d / 4.0, 0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((4 * low[-1], 4 * high[-1]))
    settings = {"scales": {"quality": {"min": 100, "max": 500}}, "lower_is_better": ["quality"]}
    turned = nb.sequential(judged(100 * values, **settings), block="annotator")
    turned = whole(turned).iloc[0]
    assert turned["e_value"] == pytest.approx(row["e_value"])
    assert turned["estimate"] == pytest.approx(-100 * row["estimate"])
    assert (row["verdict"], turned["verdict"]) == ("better", "worse")


def scored(values, **settings):
    """Give a study in which an evaluator scored one output of each system by item; a row each."""
    study = judged(values)
    items = [f"i{n}" for n in range(len(values))]
    index = pd.MultiIndex.from_product([items, study.systems], names=["item_id", "system"])
    outputs = index.to_frame(index=False).assign(output_id=lambda rows: rows.agg("".join, axis=1))
    scores = outputs[["output_id"]].assign(evaluator="pass", score=np.ravel(values).astype(float))
    return nb.Study(outputs, scores=scores, settings=settings)


def test_scores_are_differences_over_the_range_item_by_item():
    values = np.random.default_rng(4).integers(0, 2, (60, 2))
    by_annotators = nb.sequential(
        judged(values, scales={"quality": {"min": 0, "max": 1}}), block="annotator"
    )
    found = nb.sequential(scored(values), block="item", evaluator="pass")
    assert found.path["log_e"].tolist() == by_annotators.path["log_e"].tolist()
    assert found.stops["covers"].tolist() == ["other items"]
    declared = scored(4 * values, scales={"pass": {"min": 0, "max": 4}})
    declared = nb.sequential(declared, block="item", evaluator="pass")
    assert declared.path["log_e"].tolist() == pytest.approx(found.path["log_e"].tolist())
    with pytest.raises(ValueError, match=r"'score' must be within its scale, 0 to 3: .* row \d+"):
        scored(4 * values, scales={"pass": {"min": 0, "max": 3}})


VOTES = votes_by("ab")
SCALE = {"scales": {"quality": {"min": 1, "max": 5}}}


@pytest.mark.parametrize(
    ("study", "options", "message"),
    [
        (VOTES, {"block": "item"}, "needs the item"),
        (VOTES.drop(columns="annotator_id"), {"block": "annotator"}, "column annotator_id"),
        (VOTES.assign(item_a=1, item_b=2), {"block": "item"}, "both outputs to belong to one item"),
        (VOTES.assign(comparator=["p", "q"]), {"block": "annotator"}, "2 comparators"),
        (judged([[1, 2]]), {"block": "annotator"}, "settings: scales"),
        (scored([[1, 2]]), {"block": "item", "evaluator": "pass"}, "settings: scales"),
        (scored([[1, 0]]), {"block": "annotator", "evaluator": "pass"}, "use block='item'"),
        (judged([[1], [2]], **SCALE), {"block": "annotator"}, "(Found 1 in|of two systems)"),
    ],
)
def test_what_cannot_be_asked_is_refused(study, options, message):
    with pytest.raises(ValueError, match=message):
        nb.sequential(study, **options)
