"""HUSE of fewer outputs, fewer annotators and other conventions is that of `huse`, one by one."""

import numpy as np
import pandas as pd
import pytest
from classified import RELEASED, scored

import nlgbench as nb
from nlgbench.analysis.huse import annotator_difference, interval_widths, length_difference
from nlgbench.analysis.huse.score import compare, output_replicates, outputs_of
from nlgbench.inference import half_samples
from nlgbench.worlds.gaussian import gaussian_world


@pytest.fixture(scope="module")
def study():
    return nb.simulate("gaussian", n_outputs=60, n_annotators=8, seed=11)


@pytest.mark.parametrize(("over", "sizes"), [("outputs", [40, 80, 120]), ("annotators", [1, 4, 8])])
def test_a_curve_ends_at_the_full_result(study, over, sizes):
    curve = nb.stability(study, systems="t0.7", over=over, sizes=sizes, n_resamples=40)
    full = scored(study, systems="t0.7")
    assert curve["size"].tolist() == np.repeat(sizes, 3).tolist()
    last = curve[curve["size"] == sizes[-1]].set_index("score")
    for score in ("huse", "huse_q", "huse_d"):
        assert last["mean"][score] == pytest.approx(full[score], abs=1e-12)
    assert last["ci_low"].isna().all() and last["status"].eq("one_subsample").all()
    smaller = curve[curve["size"] < sizes[-1]]
    assert (smaller["ci_low"] <= smaller["mean"]).all() and smaller["status"].eq("ok").all()
    assert (smaller["mean"] <= smaller["ci_high"]).all()
    assert curve["n_resamples"].tolist() == [40] * 6 + [1] * 3
    widths = (smaller["ci_high"] - smaller["ci_low"])[smaller["score"] == "huse"]
    assert widths.is_monotonic_decreasing


def test_what_fewer_annotators_add_has_an_interval_over_outputs(study):
    noisy = nb.simulate("gaussian", systems={"lstm": (0.9, 0.2)}, seed=2)
    one = annotator_difference(noisy, n_annotators=1, n_resamples=30).iloc[0]
    assert 0 < one["ci_low"] < one["estimate"] < one["ci_high"]
    # Means over 20 and over 60 samples of annotators: both are of the same.
    mean = nb.stability(noisy, over="annotators", sizes=[1], n_resamples=60).set_index("score")[
        "mean"
    ]["huse"]
    assert one["estimate"] == pytest.approx(mean - scored(noisy)["huse"], abs=0.05)
    everybody = annotator_difference(study, system="t0.7", n_annotators=8, n_resamples=20).iloc[0]
    assert everybody["estimate"] == 0 and np.isnan(everybody["ci_low"])
    assert everybody["status"] == "constant_resamples"
    with pytest.raises(ValueError, match=r"between 1 and 8, the size of .* Got 9"):
        annotator_difference(study, system="t0.7", n_annotators=9)


def test_the_difference_by_length_is_that_of_shared_halves(study):
    found = length_difference(study, systems="t0.7", n_resamples=9, seed=4).set_index("score")
    whole, own = scored(study, systems="t0.7", length="whole text"), scored(study, systems="t0.7")
    assert found["estimate"].to_dict() == (whole - own)[["huse", "huse_d"]].to_dict()
    one, other = (compare(study, "t0.7", length=name) for name in ("per token", "whole text"))
    halves = half_samples(one.outputs["is_human"], n_resamples=9, seed=4)
    gaps = [
        (output_replicates(other, rows) - output_replicates(one, rows))["huse"]
        for rows in (halves, ~halves)
    ]
    se = np.sqrt(((gaps[0] - gaps[1]) ** 2 / 4).mean())
    assert found.loc["huse", "se"] == pytest.approx(se, rel=1e-12)
    # Texts of one length: dividing by it changes nothing.
    same = study.replace(logprobs=study.logprobs.assign(n_tokens=8))
    assert (length_difference(same, systems="t0.7", n_resamples=5)["estimate"] == 0).all()


def test_widths_of_subsamples_are_those_of_new_studies():
    def world(n_outputs, seed):
        sizes = {"n_outputs": n_outputs, "n_annotators": 6}
        return gaussian_world(**sizes, systems={"lstm": (0.5, 0.5)}, seed=seed)

    new = pd.DataFrame([scored(world(40, seed)) for seed in range(100)])
    widths = [interval_widths(world(50, seed), n_outputs=40, n_studies=20) for seed in range(4)]
    # Without the correction for shared outputs, the ratio would be .45 of this.
    ratios = [table.set_index("score")["sd"] / new.std() for table in widths]
    assert pd.concat(ratios).groupby(level=0).mean().between(0.7, 1.6).all()
    widths = widths[0]
    np.testing.assert_allclose(widths["width"], 2 * 1.959964 * widths["sd"])
    ends = widths["width_low"] / widths["width"], widths["width_high"] / widths["width"]
    for end, quantile in zip(ends, (32.8523, 8.9065), strict=True):  # chi-square, 19 df
        np.testing.assert_allclose(end, np.sqrt(19 / quantile), rtol=1e-4)


def test_each_row_of_the_multiverse_is_a_huse(study):
    table = nb.multiverse(study, systems="t0.7", n_neighbors=[5, 16])
    assert len(table) == 2 * 2 * 3 * 3 * 2 * 3
    conventions = ["n_neighbors", "ties", "label_ties", "scaling", "length"]
    assert not table.duplicated([*conventions, "score"]).any()
    paper = table[table["paper"]]
    assert paper["score"].tolist() == ["huse", "huse_q", "huse_d"]
    for row in [0, 50, 99, 151, 215, *paper.index]:
        one = table.loc[row]
        found = scored(study, systems="t0.7", **one[conventions].to_dict())
        assert one["estimate"] == pytest.approx(found[one["score"]], abs=1e-12)


def test_scaling_and_length_do_what_they_say(study):
    raw = outputs_of(compare(study, "t0.7", scaling="none", length="whole text"))
    logprob = study.logprobs[study.logprobs["model"] == "t0.7"].set_index("output_id")["logprob"]
    expected = raw["output_id"].map(logprob).to_numpy()
    np.testing.assert_array_equal(raw["logprob_per_token"], expected)
    np.testing.assert_array_equal(raw["scaled_logprob"], expected)
    ranked = outputs_of(compare(study, "t0.7", scaling="rank"))
    assert (ranked["scaled_judgment"].rank() == ranked["judgment"].rank()).all()
    assert ranked["scaled_judgment"].std(ddof=0) == pytest.approx(1)


def test_ranks_take_rounding_for_what_it_is(study):
    monotone = study.logprobs.assign(logprob=study.logprobs["logprob"] * 3)
    after = scored(study.replace(logprobs=monotone), systems="t0.7", scaling="rank")
    assert after.equals(scored(study, systems="t0.7", scaling="rank"))


@RELEASED
def test_released_with_and_without_length():
    # Measured by a separate implementation: .53 with length normalization, .48 without.
    table = nb.multiverse(nb.load("huse"), n_neighbors=[16])
    table = table[table["scaling"] == "unit variance"]
    rows = table[(table["score"] == "huse") & (table["label_ties"] == "human")]
    found = rows.groupby(["ties", "length"])["estimate"].first().unstack()
    np.testing.assert_allclose(found["per token"], 0.53)
    np.testing.assert_allclose(found["whole text"], 0.48)
    paper = table[table["paper"]].set_index("score")["estimate"]
    assert paper.tolist() == pytest.approx([0.53, 0.58, 0.95])
