import math
import os
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from nlgbench import tables
from nlgbench.analysis.huse import huse
from nlgbench.analysis.huse.neighbors import leave_one_out, twice_error
from nlgbench.analysis.huse.permutation import permutation_test
from nlgbench.analysis.huse.replicates import annotator_replicates
from nlgbench.analysis.huse.uncertainty import huse_difference, huse_intervals
from nlgbench.inference import half_samples
from nlgbench.worlds import reviews as worlds

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "coverage.py"
RELEASED_FILE = Path(os.environ.get("NLGBENCH_DATA", ""), "huse/summarization_raw_outputs.csv")
RELEASED = pytest.mark.skipif(
    not RELEASED_FILE.is_file(), reason="NLGBENCH_DATA names no folder with the HUSE release"
)


@pytest.fixture(scope="module")
def study():
    return worlds.gaussian_world(n_outputs=60, seed=7).study


@pytest.fixture(scope="module")
def same():
    """A system that writes as humans do."""
    return worlds.gaussian_world(n_outputs=60, systems={"twin": (0.0, 0.0)}, seed=5).study


def frames(study):
    return study.outputs, study.logprobs, study.judgments


def in_hits(study, per_hit=10):
    """Put the outputs of each system into HITs of their own."""
    place = study.outputs.groupby("system").cumcount() // per_hit
    hit = study.outputs["system"] + "_" + place.astype(str)
    of = dict(zip(study.outputs["output_id"], hit, strict=True))
    return study.judgments.assign(group_id=study.judgments["output_id"].map(of))


@pytest.mark.parametrize("over", ["outputs", "items", "annotators"])
def test_intervals_are_around_the_full_estimate(study, over):
    options = {"system": "t0.7", "n_neighbors": 9, "label_ties": "half"}
    table = huse_intervals(*frames(study), over=over, n_resamples=50, seed=0, **options)
    full = huse(*frames(study), **options)
    assert table["score"].tolist() == ["huse", "huse_q", "huse_d"]
    assert table["estimate"].tolist() == [full.huse, full.huse_q, full.huse_d]
    np.testing.assert_allclose((table["ci_low"] + table["ci_high"]) / 2, table["estimate"])
    units, df = {"annotators": (20, 19)}.get(over, (60, 30))
    half = student.ppf(0.975, df) * table["se"]
    np.testing.assert_allclose(table["ci_high"] - table["estimate"], half)
    what = "half-samples of annotators" if over == "annotators" else f"splits of {over} into halves"
    assert table["method"].unique().tolist() == [f"{what}, k = 9, t"]
    assert table["n_clusters"].eq(units).all()
    assert table["n_undefined"].eq(0).all()
    assert table["reason"].eq("").all()
    again = huse_intervals(*frames(study), over=over, n_resamples=50, seed=0, **options)
    pd.testing.assert_frame_equal(table, again)


@pytest.mark.parametrize("over", ["outputs", "items"])
def test_the_error_is_that_of_the_two_halves_of_each_split(study, over):
    table = huse_intervals(*frames(study), system="t0.7", over=over, n_resamples=8, seed=3)
    features = huse(*frames(study), system="t0.7").features
    drawn = half_samples(
        features["is_human"],
        clusters=features["item_id"] if over == "items" else None,
        n_resamples=8,
        seed=3,
    )
    points, label = (
        features[["scaled_logprob", "scaled_judgment"]].to_numpy(),
        ~features["is_human"],
    )

    def score(rows):
        own = label[rows].to_numpy()
        return twice_error(*leave_one_out(points[rows], own, 16), own)

    squares = [(score(rows) - score(~rows)) ** 2 / 4 for rows in drawn]
    assert table["se"].iloc[0] == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-12)


def test_intervals_from_little_are_marked():
    small = worlds.gaussian_world(n_outputs=30, seed=1).study
    table = huse_intervals(*frames(small), system="t0.7", n_resamples=30, seed=0)
    assert table["reason"].eq("halves of 30 outputs, fewer than 3 k: coverage is not known").all()
    assert table["se"].notna().all()
    few = small.outputs["item_id"].isin(["i00001", "i00002", "i00003"])
    skewed = small.outputs[few | ~small.outputs["is_human"]]
    table = huse_intervals(
        skewed, *frames(small)[1:], system="t0.7", n_neighbors=4, n_resamples=30, seed=0
    )
    assert table["reason"].eq("3 of a class, fewer than 10: coverage is not known").all()
    whole = worlds.gaussian_world(n_outputs=60, n_annotators=3, seed=1).study
    whole = whole.outputs, whole.logprobs, whole.judgments.round({"value": 0})
    table = huse_intervals(*whole, system="t0.7", n_resamples=30, seed=0)
    assert table["reason"].iloc[0] == ""
    assert table["reason"].iloc[1:].str.endswith("values, fewer than 20: a little narrow").all()
    both = huse_difference(*whole, system_a="t0.7", system_b="t0.5", n_resamples=30, seed=0)
    assert (both["reason"] == "").tolist() == (table["reason"] == "").tolist()
    three = small.judgments[small.judgments["annotator_id"].isin(["w001", "w002", "w003"])]
    table = huse_intervals(
        small.outputs,
        small.logprobs,
        three,
        system="t0.7",
        over="annotators",
        n_resamples=30,
        seed=0,
    )
    assert table["reason"].str.startswith("3 annotators of a HIT, fewer than 10").all()
    assert table[["se", "ci_low", "ci_high"]].isna().all(axis=None)
    assert table["n_clusters"].eq(3).all()


def test_intervals_hold_the_expectation_and_are_no_wider_than_they_must():
    # A small run of benchmarks/coverage.py: 80 worlds, each with three systems.
    study = runpy.run_path(str(BENCHMARK))
    cell = study["Cell"]("", study["gaussian_studies"], (50, 50), 20, 80)
    found = study["measure"](cell, n_resamples=25, n_crews=1, seed=3)
    table = study["report"](found, n_crews=1)
    error = np.sqrt(0.95 * 0.05 / 80)
    assert table["coverage"].between(0.93 - 3 * error, 1).all()
    assert 0.93 - error < table["coverage"].mean() < 0.97 + error
    assert table["marked"].eq(0).all()
    # Spreads of half-samples were 1.33 times the oracle's for scores near 1. The standard
    # deviation over 80 worlds is known to 8%, and these four are of two systems.
    near_one = table.query("system in ('t0.5', 'twin') and score != 'huse'")
    assert 0.85 < near_one["width"].mean() < 1.15


def test_a_wider_level_gives_a_wider_interval_and_the_same_error(study):
    wide, narrow = (
        huse_intervals(*frames(study), system="t0.7", level=level, n_resamples=50, seed=0)
        for level in (0.99, 0.5)
    )
    assert (wide["se"] == narrow["se"]).all()
    assert (wide["ci_low"] < narrow["ci_low"]).all()


def test_halves_too_small_for_k_are_undefined_with_a_reason(study):
    table = huse_intervals(*frames(study), system="t0.7", n_neighbors=60, n_resamples=20, seed=0)
    assert table["n_undefined"].eq(20).all()
    assert table[["se", "ci_low", "ci_high", "center"]].isna().all(axis=None)
    assert table["reason"].str.contains("20 of 20 splits are undefined").all()
    fewer = huse_intervals(
        *frames(study),
        system="t0.7",
        n_neighbors=60,
        replicate_neighbors=30,
        n_resamples=20,
        seed=0,
    )
    assert fewer["n_undefined"].eq(0).all()


def test_all_annotators_give_the_full_result_again(study):
    full = huse(*frames(study), system="t0.7")
    judgments = tables.check(study.judgments, "judgments")
    every = annotator_replicates(full, judgments, lambda groups: np.ones((1, len(groups)), bool))
    assert every.iloc[0].tolist() == [full.huse, full.huse_q, full.huse_d]


def test_a_draw_of_annotators_is_the_study_of_their_judgments(study):
    full = huse(*frames(study), system="t0.7")
    judgments = tables.check(study.judgments, "judgments")
    keep = np.arange(20) % 3 == 0
    found = annotator_replicates(full, judgments, lambda groups: keep[None])
    names = judgments["annotator_id"].drop_duplicates()[keep]
    fewer = judgments[judgments["annotator_id"].isin(names)]
    other = huse(study.outputs, study.logprobs, fewer, system="t0.7")
    assert found.iloc[0].tolist() == [other.huse, other.huse_q, other.huse_d]


def test_annotators_are_drawn_within_their_hit(study):
    judgments = tables.check(in_hits(study), "judgments")
    full = huse(study.outputs, study.logprobs, judgments, system="t0.7")
    seen = []

    def draw(groups):
        seen.extend(groups)
        return np.ones((1, len(groups)), bool)

    annotator_replicates(full, judgments, draw)
    assert pd.Series(seen).value_counts().eq(20).all()
    assert set(seen) == {f"{system}_{n}" for system in ("human", "t0.7") for n in range(6)}


def test_one_annotator_leaves_outputs_without_judgment(study):
    one = study.judgments[study.judgments["annotator_id"] == "w001"]
    table = huse_intervals(
        study.outputs, study.logprobs, one, system="t0.7", over="annotators", n_resamples=30, seed=0
    )
    # Half of the draws keep the one annotator there is, and all of these are alike.
    assert 5 < table["n_undefined"].iloc[0] < 25
    few = huse_intervals(
        study.outputs,
        study.logprobs,
        one.assign(group_id=one["output_id"]),
        system="t0.7",
        over="annotators",
        n_resamples=30,
        seed=0,
    )
    assert few["se"].isna().all()
    assert few["reason"].ne("").all()


def test_a_difference_is_paired_and_changes_sign(study):
    options = {"n_resamples": 60, "seed": 0}
    ab = huse_difference(*frames(study), system_a="t0.7", system_b="t0.5", **options)
    ba = huse_difference(*frames(study), system_a="t0.5", system_b="t0.7", **options)
    full = [huse(*frames(study), system=system) for system in ("t0.7", "t0.5")]
    assert ab["estimate"].tolist() == [
        getattr(full[0], score) - getattr(full[1], score) for score in ab["score"]
    ]
    assert (ab["estimate"] == -ba["estimate"]).all()
    assert ab["se"].tolist() == pytest.approx(ba["se"].tolist(), rel=0.35)
    assert ab[["system_a", "system_b"]].drop_duplicates().to_numpy().tolist() == [["t0.7", "t0.5"]]


def test_two_names_for_the_same_outputs_differ_by_nothing():
    study = worlds.gaussian_world(n_outputs=40, systems={"a": (0.5, 0.5)}, seed=1).study
    copies = []
    for frame, name in zip(frames(study), ("outputs", "logprobs", "judgments"), strict=True):
        other = frame.copy()
        for column in ("system", "model"):
            if column in other:
                other[column] = other[column].replace("a", "b")
        ids = other["output_id"]
        other["output_id"] = np.where(ids.str.startswith("a_"), "b" + ids.str[1:], ids)
        whole = pd.concat([frame, other])
        copies.append(whole.drop_duplicates(tables.keys(name)))
    table = huse_difference(*copies, system_a="a", system_b="b", n_resamples=20, seed=0)
    assert table["estimate"].eq(0).all()
    assert table["se"].eq(0).all()
    assert table["ci_low"].isna().all()
    assert table["reason"].eq("all subsamples give the same: their spread is unknown").all()


def test_a_difference_needs_shared_items(study):
    with pytest.raises(ValueError, match="two systems with outputs for the same items"):
        huse_difference(*frames(study), system_a="t0.7", system_b="t0.7", seed=0)
    apart = study.outputs.assign(item_id=study.outputs["output_id"])
    with pytest.raises(ValueError, match="They share 0 items"):
        huse_difference(apart, *frames(study)[1:], system_a="t0.7", system_b="t0.5", seed=0)


@pytest.mark.parametrize("within", ["items", "hits"])
def test_permutations_find_a_difference_and_none_where_none_is(study, same, within):
    judgments = in_hits(study)
    different = permutation_test(
        study.outputs,
        study.logprobs,
        judgments,
        system="t0.5",
        within=within,
        n_permutations=199,
        seed=0,
    )
    assert different["p"].iloc[0] <= 0.03
    alike = permutation_test(
        same.outputs, same.logprobs, in_hits(same), within=within, n_permutations=199, seed=0
    )
    assert (alike["p"] > 0.05).all()
    assert alike["null_mean"].between(0.8, 1.2).all()
    assert different["n_units"].tolist() == [{"items": 60, "hits": 12}[within]] * 2
    labelings = {"items": 2.0**60, "hits": math.comb(12, 6)}[within]
    assert different["log10_labelings"].iloc[0] == pytest.approx(math.log10(labelings))


def test_permuted_scores_are_those_of_relabeled_outputs(study):
    from nlgbench.analysis.huse.permutation import _item_units, _permuted_scores, _permuted_within

    full = huse(*frames(study), system="t0.7", n_neighbors=8)
    label = ~full.features["is_human"].to_numpy()
    item, _ = _item_units(full)
    labels = _permuted_within(label, item, 30, np.random.default_rng(0))
    for one in labels:  # a pair stays a pair
        assert (np.bincount(item, weights=one) == 1).all()
    assert 0.4 < labels.mean() < 0.6
    assert len(np.unique(labels, axis=0)) == 30
    found = _permuted_scores(full, "huse", labels)
    points = full.features[["scaled_logprob", "scaled_judgment"]]
    expected = [twice_error(*leave_one_out(points, one, 8), one) for one in labels]
    assert found.tolist() == expected
    assert _permuted_scores(full, "huse_q", label[None])[0] == full.huse_q


@pytest.mark.parametrize(("within", "labelings"), [("hits", math.comb(8, 4)), ("items", 2**6)])
def test_few_labelings_are_all_gone_through(within, labelings):
    from itertools import product

    n = {"hits": 40, "items": 6}[within]
    few = worlds.gaussian_world(n_outputs=n, systems={"twin": (0.0, 0.0)}, seed=3).study
    judgments = in_hits(few)
    options = {"within": within, "n_neighbors": 4}
    tables_of = (few.outputs, few.logprobs, judgments)
    tests = [permutation_test(*tables_of, **options, seed=seed) for seed in (0, 1)]
    pd.testing.assert_frame_equal(*tests)  # nothing is drawn
    assert tests[0]["exact"].all()
    assert (tests[0]["n_permutations"] == labelings).all()

    # By hand: every labeling of the units, scored from scratch.
    full = huse(*tables_of, n_neighbors=4)
    unit = {
        "hits": full.features["output_id"].map(
            judgments.drop_duplicates("output_id").set_index("output_id")["group_id"]
        ),
        "items": full.features["item_id"],
    }[within]
    own = ~full.features["is_human"].to_numpy()
    code, names = pd.factorize(unit)
    if within == "hits":
        ways = [np.array(way)[code] for way in product([False, True], repeat=len(names))]
        ways = [way for way in ways if way.sum() == own.sum()]
    else:  # each pair as it is, or swapped
        ways = [own ^ np.array(way)[code] for way in product([False, True], repeat=len(names))]
    assert len(ways) == labelings
    points = full.features[["scaled_logprob", "scaled_judgment"]]
    scores = np.array([twice_error(*leave_one_out(points, way, 4), way) for way in ways])
    row = tests[0].set_index("score").loc["huse"]
    assert row["p"] == pytest.approx((scores <= full.huse + 1e-12).mean())
    assert row["null_mean"] == pytest.approx(scores.mean())

    fewer = permutation_test(*tables_of, **options, n_permutations=labelings - 1, seed=0)
    assert not fewer["exact"].any()
    assert (fewer["n_permutations"] == labelings - 1).all()


def test_p_values_of_twins_are_spread_evenly():
    found = []
    for seed in range(40):
        study = worlds.gaussian_world(
            n_outputs=15, n_annotators=3, systems={"twin": (0.0, 0.0)}, seed=seed
        ).study
        test = permutation_test(*frames(study), n_neighbors=4, n_permutations=99, seed=seed)
        found += [test["p"].iloc[0]]
    # Under the null P(p <= .2) <= .2: 8 of 40 expected; 16 or more has a probability of .003.
    assert sum(p <= 0.2 for p in found) < 16
    assert 0.35 < np.mean(found) < 0.75
    assert min(found) >= 1 / 100


def test_permutations_that_cannot_be_are_refused(study):
    apart = study.outputs.assign(item_id=study.outputs["output_id"])
    with pytest.raises(ValueError, match="no label can be swapped within one"):
        permutation_test(apart, *frames(study)[1:], system="t0.7", seed=0)
    with pytest.raises(ValueError, match=r"several HITs or in none named \(outputs like it: 120"):
        permutation_test(*frames(study), system="t0.7", within="hits", seed=0)
    mixed = study.judgments.assign(group_id="hit1")
    with pytest.raises(ValueError, match="'hit1' holds both classes"):
        permutation_test(study.outputs, study.logprobs, mixed, system="t0.7", within="hits", seed=0)
    with pytest.raises(ValueError, match=r"within: 'item' is unknown. Did you mean 'items'"):
        permutation_test(*frames(study), system="t0.7", within="item", seed=0)
    with pytest.raises(ValueError, match="over: 'output' is unknown"):
        huse_intervals(*frames(study), system="t0.7", over="output", seed=0)
    with pytest.raises(ValueError, match="replicate_neighbors must be a whole number"):
        huse_intervals(*frames(study), system="t0.7", replicate_neighbors=0, seed=0)


@RELEASED
def test_released_intervals():
    # .386-.674, .456-.744 and .747-1.113 from 1,000 splits; a separate implementation's spread of
    # half-samples gave .37-.69, .44-.76 and .73-1.13, which was known to be wide.
    from nlgbench.datasets.huse import load_huse

    table = huse_intervals(*frames(load_huse()), seed=0).set_index("score")
    assert table["estimate"].tolist() == pytest.approx([0.53, 0.60, 0.93])
    low, high = table["ci_low"].to_numpy(), table["ci_high"].to_numpy()
    np.testing.assert_allclose(low, [0.39, 0.46, 0.75], atol=0.02)
    np.testing.assert_allclose(high, [0.67, 0.74, 1.11], atol=0.02)
    assert (low > np.array([0.37, 0.44, 0.73])).all()


@RELEASED
def test_released_hits_hold_one_class_each():
    from nlgbench.datasets.huse import load_huse

    test = permutation_test(*frames(load_huse()), within="hits", n_permutations=200, seed=0)
    assert test["n_units"].tolist() == [8, 8]
    # No other labeling of the HITs scores as low as the true one.
    assert test["exact"].all()
    assert test["p"].iloc[0] == 1 / 70
    assert test["log10_labelings"].iloc[0] == pytest.approx(math.log10(70))
