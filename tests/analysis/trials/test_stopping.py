"""Checkpoints meet those before them, rates have intervals, and patience stops by one rule."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from nlgbench.analysis.ratings.bradley_terry import wilson
from nlgbench.analysis.trials.choosing import checkpoint_pairs, stop, win_and_loss


def written(n_checkpoints: int, n: int, model: str = "m") -> tuple[pd.DataFrame, pd.DataFrame]:
    steps = pd.DataFrame({"system": [f"{model}@{at + 1}" for at in range(n_checkpoints)]})
    steps = steps.assign(model=model, progress=np.arange(1, n_checkpoints + 1) / n_checkpoints)
    rows = [(f"{name}_{k}", f"i{k}", name) for name in steps["system"] for k in range(n)]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system"])
    return outputs.assign(is_human=False, context="", text=outputs["output_id"]), steps


def test_each_checkpoint_meets_the_two_before_it_in_equal_parts():
    outputs, steps = written(4, 5)
    pairs = checkpoint_pairs(outputs, steps, n=7, seed=0)
    of = outputs.set_index("output_id")["system"]
    met = pairs.groupby([pairs["output_a"].map(of), pairs["output_b"].map(of)]).size()
    assert met["m@2"].to_dict() == {"m@1": 7}
    assert met["m@3"].to_dict() == {"m@2": 4, "m@1": 3}
    assert met["m@4"].to_dict() == {"m@3": 4, "m@2": 3}
    assert not pairs.duplicated(["output_a", "output_b"]).any()


def test_models_do_not_meet_and_the_order_of_rows_does_not_matter():
    (one, its), (other, other_steps) = written(3, 4), written(2, 4, model="b")
    outputs, steps = pd.concat([one, other]), pd.concat([its, other_steps])
    for n in (1, 2, 6):
        pairs = checkpoint_pairs(outputs, steps, n=n, seed=1)
        assert (pairs["output_a"].str[0] == pairs["output_b"].str[0]).all()
        assert len(pairs) == 3 * n
    shuffled = steps.sample(frac=1, random_state=0)
    assert checkpoint_pairs(outputs, shuffled, n=6, seed=1).equals(pairs)


def compared(pairs: pd.DataFrame, won: np.ndarray) -> pd.DataFrame:
    chances = {"prob_a": np.where(won > 0, 0.8, 0.1), "prob_b": np.where(won < 0, 0.8, 0.1)}
    table = pairs.assign(comparator="c", **chances)
    return table.assign(prob_tie=1 - table["prob_a"] - table["prob_b"])


WON = np.array([1, 1, 1, 1, 1, 0, 0, -1, -1, -1])


def test_rates_are_the_newer_ones():
    outputs, steps = written(2, 6)
    pairs = checkpoint_pairs(outputs, steps, n=10, seed=0)
    found = win_and_loss(compared(pairs, WON), outputs, steps)
    assert found["n"].tolist() == [0, 10] and np.isnan(found["win"].iloc[0])
    assert found["status"].iloc[0] == "nothing_to_compare"
    row = found[["win", "tie", "loss", "estimate"]].iloc[1]
    assert row.tolist() == pytest.approx([0.5, 0.2, 0.3, 0.2])


def test_where_no_output_stands_twice_the_interval_is_that_of_a_mean():
    outputs, steps = written(2, 10)
    pairs = pd.DataFrame({"output_a": [f"m@2_{n}" for n in range(10)]})
    pairs["output_b"] = pairs["output_a"].str.replace("m@2", "m@1")
    row = win_and_loss(compared(pairs, WON), outputs, steps).iloc[1]
    # Wilson's of the win rate, .6, for as many games as its variance asks for (a cluster each, so
    # with nine degrees of freedom), on the scale of the difference.
    variance = ((WON / 2 - 0.1) ** 2).sum() / 9**2
    low, high = wilson(np.array([0.6]), np.array([0.24 / variance]), t.ppf(0.975, 9))
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([2 * low[0] - 1, 2 * high[0] - 1])
    assert (row["n_clusters"], row["status"]) == (10, "ok")
    alike = win_and_loss(compared(pairs, np.ones(10)), outputs, steps).iloc[1]
    assert alike["status"] == "alike" and "as 10 independent games" in alike["reason"]
    assert alike["ci_low"] < 1 == alike["ci_high"]


def test_intervals_hold_the_difference_though_outputs_stand_in_many_pairs():
    # Outputs have strengths; each of 30 stands in about 10 of 300 pairs, which are far from
    # independent: taken so, the interval would hold the truth in half of the samples.
    outputs, steps = written(2, 30)
    rng = np.random.default_rng(0)
    held = []
    for seed in range(20):
        strength = pd.Series(rng.normal(size=60), index=outputs["output_id"])
        pairs = checkpoint_pairs(outputs, steps, n=300, seed=seed)
        gap = pairs["output_a"].map(strength) - pairs["output_b"].map(strength)
        row = win_and_loss(compared(pairs, np.sign(gap)), outputs, steps).iloc[1]
        held.append(row["ci_low"] <= 0 <= row["ci_high"])
    assert np.mean(held) >= 0.85


def rates_of(lost: list[bool]) -> pd.DataFrame:
    win = [0.2 if each else 0.5 for each in lost]
    table = pd.DataFrame({"system": [str(at) for at in range(len(lost) + 1)]})
    table["progress"] = np.arange(1, len(lost) + 2) / (len(lost) + 1)
    return table.assign(evaluator="c", group="m", win=[np.nan, *win], loss=0.3)


@settings(max_examples=30)
@given(st.lists(st.booleans(), min_size=1, max_size=25), st.integers(1, 6))
def test_the_rule_of_losses(lost, patience):
    found = stop(rates_of(lost), patience).iloc[0]
    fires = [at for at in range(patience, len(lost) + 1) if all(lost[at - patience : at])]
    kept = fires[0] - patience if fires else len(lost)
    assert found["system"] == str(kept)
    assert found["group"] == "m"
    at = (fires[0] + 1) / (len(lost) + 1) if fires else np.nan
    assert found["stopped_at"] == pytest.approx(at, nan_ok=True)


@settings(max_examples=30)
@given(
    st.lists(st.one_of(st.just(np.nan), st.integers(0, 9)), min_size=1, max_size=25),
    st.integers(1, 6),
)
def test_the_rule_of_scores(scores, patience):
    table = rates_of([True] * (len(scores) - 1)).drop(columns=["win", "loss"])
    table = table.assign(score=np.array(scores, dtype=float))
    found = stop(table, patience).iloc[0]
    best = -1
    for at, score in enumerate(scores):
        if score > (scores[best] if best >= 0 else -1):
            best = at
        if at - best == patience:
            break
    if best < 0:
        assert found["system"] is None and np.isnan(found["progress"])
    else:
        assert found["system"] == str(best)
