import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nlgbench import tables
from nlgbench.analysis.huse import huse, stability
from nlgbench.analysis.huse.multiverse import multiverse
from nlgbench.analysis.huse.stability import (
    annotator_difference,
    interval_widths,
    needed_outputs,
    stability_curve,
)
from nlgbench.worlds import reviews as worlds

RELEASED_FILE = Path(os.environ.get("NLGBENCH_DATA", ""), "huse/summarization_raw_outputs.csv")
RELEASED = pytest.mark.skipif(
    not RELEASED_FILE.is_file(), reason="NLGBENCH_DATA names no folder with the HUSE release"
)


@pytest.fixture(scope="module")
def study():
    return worlds.gaussian_world(n_outputs=60, n_annotators=8, seed=11).study


def frames(study):
    return study.outputs, study.logprobs, study.judgments


@pytest.mark.parametrize(("over", "sizes"), [("outputs", [40, 80, 120]), ("annotators", [1, 4, 8])])
def test_a_curve_ends_at_the_full_result(study, over, sizes):
    curve = stability_curve(
        *frames(study), system="t0.7", over=over, sizes=sizes, n_resamples=40, seed=0
    )
    full = huse(*frames(study), system="t0.7")
    assert curve["size"].tolist() == np.repeat(sizes, 3).tolist()
    last = curve[curve["size"] == sizes[-1]].set_index("score")
    for score in ("huse", "huse_q", "huse_d"):
        ends = last.loc[score, ["mean", "ci_low", "ci_high"]].astype(float)
        assert ends.tolist() == pytest.approx([getattr(full, score)] * 3, abs=1e-12)
    assert (curve["ci_low"] <= curve["mean"]).all()
    assert (curve["mean"] <= curve["ci_high"]).all()
    assert curve["n_resamples"].tolist() == [40] * 6 + [1] * 3
    widths = (curve["ci_high"] - curve["ci_low"])[curve["score"] == "huse"]
    assert widths.is_monotonic_decreasing


def test_sizes_too_small_for_k_are_nan_and_counted(study):
    curve = stability_curve(*frames(study), system="t0.7", sizes=[10], n_resamples=15, seed=0)
    assert curve["n_undefined"].tolist() == [15] * 3
    assert curve[["mean", "ci_low", "ci_high"]].isna().all(axis=None)


def test_more_annotators_lower_huse():
    study = worlds.gaussian_world(systems={"lstm": (0.9, 0.2)}, seed=2).study
    curve = stability_curve(*frames(study), over="annotators", sizes=[1, 5, 20], seed=0)
    means = curve.loc[curve["score"] == "huse_q", "mean"].tolist()
    assert means[0] > means[1] > means[2]


def test_what_fewer_annotators_add_has_an_interval_over_outputs(study):
    noisy = worlds.gaussian_world(systems={"lstm": (0.9, 0.2)}, seed=2).study
    one = annotator_difference(*frames(noisy), n_annotators=1, n_resamples=100, seed=0)
    assert 0 < one["ci_low"] < one["estimate"] < one["ci_high"]
    curve = stability_curve(*frames(noisy), over="annotators", sizes=[1], seed=0)
    mean = curve.loc[curve["score"] == "huse", "mean"].iloc[0]
    # Means over 20 and over 200 draws of annotators: both are of the same.
    expected = mean - huse(*frames(noisy)).huse
    assert one["estimate"] == pytest.approx(expected, abs=0.05)
    everybody = annotator_difference(
        *frames(study), system="t0.7", n_annotators=8, n_resamples=20, seed=0
    )
    assert everybody["estimate"] == everybody["ci_low"] == everybody["ci_high"] == 0
    with pytest.raises(ValueError, match=r"between 1 and 8, the annotators .* Got 9"):
        annotator_difference(*frames(study), system="t0.7", n_annotators=9, seed=0)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"sizes": [121]}, "sizes must not pass 120, the outputs. Got 121"),
        ({"sizes": [9], "over": "annotators"}, "must not pass 8, the annotators of the smallest"),
        ({"sizes": [0]}, "a size must be a whole number, at least 1. Got 0"),
        ({"sizes": [40], "over": "annotator"}, "Did you mean 'annotators'"),
        ({"sizes": [40], "level": 90}, "level must be between 0 and 1. Got 90"),
        ({"sizes": [40], "n_resamples": 0}, "n_resamples must be a whole number"),
    ],
)
def test_bad_curves_are_refused(study, wrong, match):
    with pytest.raises(ValueError, match=match):
        stability_curve(*frames(study), system="t0.7", seed=0, **wrong)


def gaussian(n_outputs, n_annotators, rng):
    sizes = {"n_outputs": n_outputs, "n_annotators": n_annotators}
    return worlds.gaussian_world(**sizes, systems={"lstm": (0.5, 0.5)}, seed=rng).study


def test_widths_fall_with_the_root_of_the_outputs():
    table = interval_widths(gaussian, n_outputs=[30, 120], n_annotators=[3], n_studies=40, seed=0)
    width = table[table["score"] == "huse"].set_index("n_outputs")["width"]
    # A factor of 2 in the limit; each width has a relative standard error of .11.
    assert 1.3 < width[30] / width[120] < 2.9
    np.testing.assert_allclose(table["width"], 2 * 1.959964 * table["sd"])
    assert needed_outputs(table, width=width[120] + 1e-9).set_index("score").loc[
        "huse", "n_outputs"
    ] == pytest.approx(120)


def test_a_study_stands_for_its_world():
    study = gaussian(150, 6, 0)
    kwargs = {"n_outputs": [50], "n_annotators": [6], "n_studies": 40, "seed": 1}
    from_study = interval_widths(study, **kwargs)
    from_world = interval_widths(gaussian, **kwargs)
    ratio = from_study["sd"] / from_world["sd"]
    # Two standard deviations, each of a relative standard error of .11.
    assert ratio.between(0.5, 2).all()


@pytest.mark.parametrize("kind", ["study", "world", "texts"])
def test_widths_are_of_huse_and_check_no_table_in_every_study(kind, monkeypatch):
    """A world that gives numbers as texts is converted in each study, and comes out the same."""
    study = gaussian(40, 4, 0)
    drawn, n_checked = [], 0
    check = tables.check

    def counting(*args, **options):
        nonlocal n_checked
        n_checked += 1
        return check(*args, **options)

    def texts(n_outputs, n_annotators, rng):
        return replace(
            (made := gaussian(n_outputs, n_annotators, rng)),
            outputs=made.outputs.astype({"is_human": str}),
            judgments=made.judgments.astype({"value": str}),
        )

    def scored(*args, **options):
        drawn.append(huse(*args, **options))
        return drawn[-1]

    world = {"study": study, "world": gaussian, "texts": texts}[kind]
    options = {"n_outputs": [20, 30], "n_annotators": [3], "seed": 2}
    found = interval_widths(world, n_studies=6, **options)
    # By the public door, which checks, in every study: the same to the last bit.
    with monkeypatch.context() as patch:
        for name in ("huse", "huse_of_checked"):
            patch.setattr(stability, name, scored)
        pd.testing.assert_frame_equal(
            interval_widths(world, n_studies=6, **options), found, check_exact=True
        )
    means = found[found["score"] == "huse"]["mean"]
    assert means.tolist() == [np.mean([each.huse for each in part]) for part in split(drawn)]
    monkeypatch.setattr(tables, "check", counting)
    counts = []
    for n_studies in (2, 6):
        n_checked = 0
        interval_widths(world, n_studies=n_studies, **options)
        counts.append(n_checked)
    more = (counts[1] - counts[0]) / 8  # in each study that was added, at two sizes
    assert more == {"study": 0, "world": 3, "texts": 6}[kind]  # a Gaussian world checks its own


def split(results):
    return results[: len(results) // 2], results[len(results) // 2 :]


def test_needed_outputs_is_nan_where_none_suffices():
    widths = pd.DataFrame(
        {
            "score": ["huse"] * 3 + ["huse_q"] * 3,
            "n_annotators": 5,
            "n_outputs": [50, 100, 200] * 2,
            "width": [0.2, 0.3, 0.1, 0.5, 0.4, 0.3],
        }
    )
    found = needed_outputs(widths, width=0.25).set_index("score")["n_outputs"]
    # A narrow width by chance at 50 does not count when 100 is wider again.
    assert found["huse"] == 200
    assert np.isnan(found["huse_q"])


def test_bad_widths_are_refused(study):
    kwargs = {"system": "t0.7", "n_annotators": [4], "seed": 0}
    with pytest.raises(ValueError, match="n_outputs must be below 60"):
        interval_widths(study, n_outputs=[60], **kwargs)
    with pytest.raises(ValueError, match="n_studies must be at least 2"):
        interval_widths(study, n_outputs=[30], n_studies=1, **kwargs)
    bare = tables.Study(study.outputs, study.judgments)
    with pytest.raises(ValueError, match="the study has no logprobs"):
        interval_widths(bare, n_outputs=[30], **kwargs)


def test_each_row_of_the_multiverse_is_a_huse(study):
    table = multiverse(*frames(study), system="t0.7")
    assert len(table) == 6 * 2 * 3 * 3 * 2 * 3
    conventions = ["n_neighbors", "ties", "label_ties", "scaling", "length"]
    assert not table.duplicated([*conventions, "score"]).any()
    paper = table[table["paper"]]
    assert paper["score"].tolist() == ["huse", "huse_q", "huse_d"]
    for row in [0, 100, 250, 399, 511, 647, *paper.index]:
        one = table.loc[row]
        result = huse(*frames(study), system="t0.7", **one[conventions].to_dict())
        assert one["estimate"] == pytest.approx(getattr(result, one["score"]), abs=1e-12)


def test_scaling_and_length_do_what_they_say(study):
    raw = huse(*frames(study), system="t0.7", scaling="none", length="whole text").features
    logprob = study.logprobs[study.logprobs["model"] == "t0.7"].set_index("output_id")["logprob"]
    expected = raw["output_id"].map(logprob).to_numpy()
    np.testing.assert_array_equal(raw["logprob_per_token"], expected)
    np.testing.assert_array_equal(raw["scaled_logprob"], expected)
    ranked = huse(*frames(study), system="t0.7", scaling="rank")
    assert (ranked.features["scaled_judgment"].rank() == ranked.features["judgment"].rank()).all()
    assert ranked.features["scaled_judgment"].std(ddof=0) == pytest.approx(1)
    assert np.isnan(ranked.scale_judgment)
    with pytest.raises(ValueError, match=r"scaling: 'ranks' is unknown. Did you mean 'rank'"):
        huse(*frames(study), system="t0.7", scaling="ranks")
    with pytest.raises(ValueError, match="length: 'token' is unknown"):
        huse(*frames(study), system="t0.7", length="token")


def test_ranks_take_rounding_for_what_it_is(study):
    before = huse(*frames(study), system="t0.7", scaling="rank")
    monotone = study.logprobs.assign(logprob=study.logprobs["logprob"] * 3)
    after = huse(study.outputs, monotone, study.judgments, system="t0.7", scaling="rank")
    assert (before.huse, before.huse_q) == (after.huse, after.huse_q)


@RELEASED
def test_released_with_and_without_length():
    # Measured by a separate implementation: .53 with length normalization, .48 without.
    from nlgbench.datasets.huse import load_huse

    table = multiverse(*frames(load_huse()), n_neighbors=[16], scaling=["unit variance"])
    rows = table[(table["score"] == "huse") & (table["label_ties"] == "human")]
    found = rows.groupby(["ties", "length"])["estimate"].first().unstack()
    np.testing.assert_allclose(found["per token"], 0.53)
    np.testing.assert_allclose(found["whole text"], 0.48)
    paper = table[table["paper"]].set_index("score")["estimate"]
    assert paper.tolist() == pytest.approx([0.53, 0.58, 0.95])
