"""Coverage for one's own design: simulated studies are like the study, and truths are theirs."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.people import additive
from nlgbench.analysis.planning.components import components_of
from nlgbench.analysis.planning.parametric_bootstrap import fit_model

WORLDS = {
    "ordinal": {"scale": "ordinal"},
    "continuous": {"scale": "continuous"},
    "missing": {"scale": "ordinal", "missing": 0.1, "n_items": 30},
}


@pytest.mark.parametrize("name", WORLDS)
def test_simulated_studies_have_the_studys_components_means_and_shares(name):
    study = nb.simulate(
        "judgments", means=[0.8, 0.0, -0.4], n_annotators=12, seed=3, **WORLDS[name]
    )
    made = fit_model(study, "quality", False)
    item, annotator = made.numbers[:2]
    rng = np.random.default_rng(0)
    found, means, shares = [], [], []
    for _ in range(25 if name != "missing" else 12):
        value = made.draw(rng).judgments["value"].to_numpy()
        table = components_of(value, made.system, item, annotator)
        found.append(table["variance"])
        data, _ = additive.tabulate(value, made.system, item, annotator)
        means.append(additive.fit(data).level)
        shares.append([(value <= cut).mean() for cut in (1, 2, 3, 4)])
    found, means, shares = np.array(found), np.array(means), np.array(shares)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    # Cutting bends effects, which then add up less well: 4 hundredths are allowed for that.
    off = np.abs(found.mean(axis=0) - made.components["variance"])
    assert (off < 4 * error + 0.04 * made.components["variance"].sum() / 5).all()
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    data, _ = additive.tabulate(study.judgments["value"].to_numpy(), made.system, item, annotator)
    truth = additive.fit(data).level
    np.testing.assert_allclose(made.scale.expected, truth, atol=0.005)
    assert (np.abs(means.mean(axis=0) - truth) < 4 * error + 0.005).all()
    expected = [(study.judgments["value"] <= cut).mean() for cut in (1, 2, 3, 4)]
    error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert (np.abs(shares.mean(axis=0) - expected) < 4 * error + 0.005).all()


def test_simulated_studies_keep_who_judged_what_and_the_scale():
    study = nb.simulate("judgments", design="scattered", scale="ordinal", n_items=20, seed=4)
    human = study.outputs.assign(is_human=study.outputs["system"] == "s02")
    study = study.replace(
        outputs=human, settings={"lower_is_better": ["quality"], "labels": {"s01": "One"}}
    )
    drawn = fit_model(study, "quality", False).draw(np.random.default_rng(0))
    keys = ["output_id", "annotator_id", "dimension", "group_id"]
    left = study.judgments[~study.judgments["output_id"].str.contains("s02")]
    pd.testing.assert_frame_equal(drawn.judgments[keys], left[keys].reset_index(drop=True))
    assert drawn.systems == ["s01", "s03", "s04", "s05"]
    # Values are turned, so that higher is better: nothing is left to be turned.
    assert set(drawn.judgments["value"]) <= {-1.0, -2.0, -3.0, -4.0, -5.0}
    assert "lower_is_better" not in drawn.settings and drawn.label("s01") == "One"


def test_evaluators_correlate_in_simulated_studies_as_in_the_study():
    study = nb.simulate("own", n_annotators=15, n_items=60, seed=5)
    lower = study.scores["evaluator"] == "coarse"
    scores = study.scores.assign(
        score=study.scores["score"].where(~lower, -study.scores["score"]),
        signature=lower.map({True: "direction:lower", False: ""}),
    )
    study = study.replace(scores=scores)
    made = fit_model(study, "quality", True)
    rng = np.random.default_rng(1)
    drawn = [made.draw(rng) for _ in range(30)]

    def of_outputs(one):
        means = one.judgments.groupby("output_id")["value"].mean()
        wide = one.scores.pivot(index="output_id", columns="evaluator", values="score")
        return wide.corrwith(means)

    each = pd.DataFrame([of_outputs(one) for one in drawn])
    assert (np.abs(each.mean() - of_outputs(study)) < 4 * each.std() / np.sqrt(30) + 0.02).all()


def test_intervals_of_systems_hold_as_often_as_they_say():
    study = nb.simulate("judgments", means=[0.6, 0.3, 0.0], n_items=20, n_annotators=14, seed=6)
    table = nb.coverage(study, n_worlds=30)
    assert list(table["quantity"]) == ["mean"] * 3 + ["difference"] * 3 + ["rank"] * 3 + [
        "all ranks"
    ]
    found = nb.compare_systems(study).systems.sort_values("system")
    np.testing.assert_allclose(table["estimate"][:3], found["estimate"])
    np.testing.assert_allclose(table["truth"][:3], found["estimate"], atol=0.005)
    assert (table["n_worlds"] == 30).all() and (table["reason"] == "").all()
    # 4 standard errors of a share of 30; the three go together.
    assert table.loc[table["quantity"] == "difference", "coverage"].mean() > 0.95 - 4 * 0.04
    assert table["coverage"].iloc[-1] > 0.95 - 4 * 0.04
    assert table["width_ratio"][:6].between(0.7, 1.5).all()
    pd.testing.assert_frame_equal(*(nb.coverage(study, n_worlds=2) for _ in range(2)))


def test_correlations_and_agreement_have_rows_and_truths():
    study = nb.simulate("own", n_annotators=15, n_items=30, seed=7)
    table = nb.coverage(study, analysis="correlate", n_worlds=12)
    assert len(table) == 2 * 3 * 3
    close = table[(table["name"] == "close") & (table["granularity"] == "output")]
    assert (np.abs(close["truth"] - close["estimate"]) < 0.1).all()
    assert close["coverage"].gt(0.6).all()
    blind = table[(table["name"] == "blind") & (table["granularity"] == "system")]
    assert blind["n_worlds"].lt(12).all()
    assert blind["reason"].str.contains("simulated studies").all()
    table = nb.coverage(study, analysis="agreement", n_worlds=12)
    assert list(table["name"].unique()) == ["all", *study.systems]


def test_a_design_without_intervals_has_no_coverage():
    study = nb.simulate("judgments", means=[0.5, 0.0], n_items=20, n_annotators=4, seed=8)
    table = nb.coverage(study, n_worlds=3)
    assert table["coverage"].isna().all() and (table["n_worlds"] == 0).all()
    assert table["reason"].str.contains("effective annotators").all()


def test_no_worlds_are_refused():
    with pytest.raises(ValueError, match="n_worlds must be a whole number, at least 1"):
        nb.coverage(nb.simulate("judgments", n_items=3), n_worlds=0)
