"""The world of your own study has evaluators of known error, and judgments of known means."""

import pytest

import nlgbench as nb


@pytest.fixture(scope="module")
def study():
    return nb.simulate("own", n_items=400, n_annotators=15, seed=3)


def test_evaluators_score_the_outputs_with_their_errors(study):
    wide = study.scores.pivot(index="output_id", columns="evaluator", values="score")
    true = study.truth["outputs"].set_index("output_id")["value"].reindex(wide.index)
    errors = wide.sub(true, axis=0)
    # 2,000 outputs: the standard error of a standard deviation is 1.6 percent of it
    assert errors.std().to_dict() == pytest.approx(
        {"close": 0.5, "coarse": 1.5, "blind": 8}, rel=0.05
    )


def test_judgments_cover_the_truth_and_order_the_evaluators(study):
    found = nb.compare_systems(study).systems.merge(study.truth["systems"], on="system")
    # Five intervals at once: four of them hold in 97.7 of 100 worlds.
    held = (found["ci_low"] <= found["value"]) & (found["value"] <= found["ci_high"])
    assert held.sum() >= 4
    best = nb.correlate(study, statistics=["pearson"], granularity="output", resample=None)
    order = best.sort_values("estimate", ascending=False)["evaluator"].tolist()
    assert order == ["close", "coarse", "blind"]
