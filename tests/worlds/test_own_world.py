"""The world that is laid out as one's own study: judgments, votes, scores of the same outputs."""

import numpy as np
import pytest

import nlgbench as nb


@pytest.fixture(scope="module")
def study():
    return nb.simulate("own", n_items=400, n_annotators=15, seed=3)


def test_evaluators_see_the_outputs_with_their_errors(study):
    wide = study.scores.pivot(index="output_id", columns="evaluator", values="score")
    true = study.truth["outputs"].set_index("output_id")["value"].reindex(wide.index)
    errors = wide.sub(true, axis=0)
    # 2,000 outputs: the standard error of a standard deviation is 1.6 percent of it
    assert errors.std().to_dict() == pytest.approx(
        {"close": 0.5, "coarse": 1.5, "blind": 8}, rel=0.05
    )


def test_votes_are_davidsons(study):
    """Half the square of ties' share over wins' times losses' is Davidson's nu, gap by gap."""
    votes = study.preferences
    true = study.truth["outputs"].set_index("output_id")["value"]
    gap = true.loc[votes["output_a"]].to_numpy() - true.loc[votes["output_b"]].to_numpy()
    near = np.abs(gap) < 0.5
    share = votes.loc[near, "choice"].value_counts(normalize=True)
    # Among near outputs wins, ties and losses are nearly 1 : nu : 1, nu being .5.
    se = np.sqrt(0.2 * 0.8 / near.sum())
    assert share["tie"] == pytest.approx(0.2, abs=0.01 + 3 * se)
    clear = gap > 2
    assert (votes.loc[clear, "choice"] == "a").mean() > 0.6
    assert not votes.duplicated(["output_a", "output_b", "annotator_id"]).any()


def test_what_people_say_holds_the_truth(study):
    found = nb.compare_systems(study).systems.merge(study.truth["systems"], on="system")
    # Five intervals at once: four of them hold in 97.7 of 100 worlds.
    held = (found["ci_low"] <= found["value"]) & (found["value"] <= found["ci_high"])
    assert held.sum() >= 4
    best = nb.correlate(study, statistics=["pearson"], granularity="output", resample=None)
    order = best.sort_values("estimate", ascending=False)["evaluator"].tolist()
    assert order == ["close", "coarse", "blind"]
