import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgbench import tables
from nlgbench.analysis.huse import huse
from nlgbench.analysis.huse.diagnosis import decision_grid, failures
from nlgbench.analysis.huse.neighbors import leave_one_out, neighborhoods, twice_error
from nlgbench.worlds import reviews as worlds

RELEASED_FILE = Path(os.environ.get("NLGBENCH_DATA", ""), "huse/summarization_raw_outputs.csv")
RELEASED = pytest.mark.skipif(
    not RELEASED_FILE.is_file(), reason="NLGBENCH_DATA names no folder with the HUSE release"
)


def study_of(logprob_per_token, values, is_human, *, n_tokens=4):
    """Tables of one system, `values` holding a row of judgments for each output."""
    values = np.asarray(values, dtype=float).reshape(len(is_human), -1)
    ids = [f"o{n:03d}" for n in range(len(is_human))]
    outputs = pd.DataFrame(
        {
            "dataset": "d",
            "output_id": ids,
            "item_id": [f"c{n // 2:03d}" for n in range(len(ids))],
            "system": np.where(is_human, "human", "lstm"),
            "text": [f"text {n}" for n in range(len(ids))],
            "is_human": is_human,
            "context": "context",
        }
    )
    logprobs = pd.DataFrame(
        {
            "dataset": "d",
            "output_id": ids,
            "model": "lstm",
            "logprob": np.asarray(logprob_per_token, dtype=float) * n_tokens,
            "n_tokens": n_tokens,
        }
    )
    judgments = pd.DataFrame(
        {
            "dataset": "d",
            "output_id": np.repeat(ids, values.shape[1]),
            "annotator_id": np.tile([f"w{n}" for n in range(values.shape[1])], len(ids)),
            "dimension": "typicality",
            "value": values.ravel(),
            "group_id": "",
        }
    )
    return outputs, logprobs, judgments


def random_study(seed, n=40, n_human=20):
    rng = np.random.default_rng(seed)
    is_human = rng.permutation(np.arange(n) < n_human)
    logprob, values = -rng.integers(1, 6, size=n), rng.integers(1, 7, size=(n, 3))
    logprob[:2], values[0], values[1] = [-1, -5], 1, 6  # never constant
    return study_of(logprob, values, is_human)


@st.composite
def studies(draw):
    n = draw(st.integers(4, 30))
    return random_study(draw(st.integers(0, 10**6)), n, draw(st.integers(1, n - 1))), draw(
        st.integers(1, n - 1)
    )


@settings(max_examples=40, deadline=None)
@given(
    studies(), st.sampled_from(["exact", "released"]), st.sampled_from(["human", "system", "half"])
)
def test_decomposition_and_features_give_the_scores_again(study, ties, label_ties):
    frames, k = study
    result = huse(*frames, n_neighbors=k, ties=ties, label_ties=label_ties)
    assert result.huse == pytest.approx(result.huse_q + result.huse_d - 1, abs=1e-12)
    assert 0 <= min(result.huse, result.huse_q) <= max(result.huse, result.huse_q) <= 2
    features = result.features
    for name, score in {"huse": result.huse, "huse_q": result.huse_q}.items():
        wrong = 1 - features[f"correct_{name}"].astype("Float64").fillna(0.5).astype(float)
        assert wrong.groupby(features["is_human"]).mean().sum() == pytest.approx(score, abs=1e-12)
        assert (features[f"neighbors_{name}"] >= k).all()
        assert features[f"machine_share_{name}"].between(0, 1).all()


@settings(max_examples=30, deadline=None)
@given(studies(), st.integers(0, 10**6), st.floats(0.01, 100), st.floats(0.01, 100))
def test_row_order_and_units_change_nothing(study, seed, factor, other):
    (outputs, logprobs, judgments), k = study
    before = huse(outputs, logprobs, judgments, n_neighbors=k)
    rng = np.random.default_rng(seed)
    logprobs = logprobs.assign(logprob=logprobs["logprob"] * factor)
    judgments = judgments.assign(value=judgments["value"] * other)
    shuffled = [frame.iloc[rng.permutation(len(frame))] for frame in (outputs, logprobs, judgments)]
    after = huse(*shuffled, n_neighbors=k)
    assert (after.huse, after.huse_q) == (before.huse, before.huse_q)
    columns = ["output_id", "neighbors_huse", "neighbors_huse_q", "predicted_human_huse"]
    pd.testing.assert_frame_equal(
        after.features[columns].sort_values("output_id", ignore_index=True),
        before.features[columns].sort_values("output_id", ignore_index=True),
    )


@pytest.mark.parametrize("seed", range(5))
def test_powers_of_two_change_no_bit_even_in_raw_floats(seed):
    outputs, logprobs, judgments = random_study(seed)
    before = huse(outputs, logprobs, judgments, ties="released")
    after = huse(
        outputs,
        logprobs.assign(logprob=logprobs["logprob"] * 8),
        judgments.assign(value=judgments["value"] / 4),
        ties="released",
    )
    columns = [name for name in before.features if name not in ("logprob_per_token", "judgment")]
    pd.testing.assert_frame_equal(
        before.features[columns], after.features[columns], check_exact=True
    )


def test_separated_classes_score_0_and_the_judgment_alone_tells():
    is_human = np.arange(40) % 2 == 0
    values = np.where(is_human, 5.0, 1.0) + np.arange(40) % 3 * 0.1
    result = huse(*study_of(-1 - np.arange(40) % 5, values, is_human), n_neighbors=5)
    assert (result.huse, result.huse_q, result.huse_d) == (0, 0, 1)
    assert (failures(result)["kind"] == "quality failure").all()
    assert (result.features["machine_share_huse"] == np.where(is_human, 0, 1)).all()


def test_a_system_that_is_only_too_sure_fails_in_diversity():
    rng = np.random.default_rng(5)
    is_human = np.arange(200) % 2 == 0
    values = rng.integers(1, 7, size=(200, 3))
    logprob = np.where(is_human, -5.0, -1.0) + rng.normal(0, 0.1, size=200)
    result = huse(*study_of(logprob, values, is_human))
    assert result.huse == 0
    assert result.huse_q > 0.8
    told = result.features["correct_huse_q"].astype(bool)
    kinds = failures(result).set_index("output_id")["kind"]
    expected = np.where(told, "quality failure", "diversity failure")
    assert (kinds.loc[result.features["output_id"]] == expected).all()


def test_no_signal_is_near_1_015_and_is_not_clipped():
    # Measured by a separate implementation: mean 1.015, range about .83 to 1.20, at n = 200 and
    # k = 16. The mean of 400 has a standard error near .004.
    rng = np.random.default_rng(2019)
    is_machine = np.arange(200) % 2 == 0
    found = []
    for _ in range(400):
        features = np.column_stack(
            [rng.normal(size=200), rng.integers(1, 7, size=(200, 20)).mean(axis=1)]
        )
        features /= features.std(axis=0)
        found.append(twice_error(*leave_one_out(features, is_machine, 16), is_machine))
    assert np.mean(found) == pytest.approx(1.015, abs=0.015)
    assert max(found) > 1.1


def test_minus_infinity_is_floored_one_nat_below_the_least():
    outputs, logprobs, judgments = random_study(1)
    logprobs.loc[[3, 7], "logprob"] = -np.inf
    result = huse(outputs, logprobs, judgments)
    per_token = logprobs["logprob"] / 4
    least = per_token[np.isfinite(per_token)].min()
    assert result.n_floored == 2
    assert result.features["logprob_per_token"].iloc[[3, 7]].tolist() == [least - 1] * 2


def test_counts_and_scales_are_those_of_the_outputs_compared():
    study = worlds.gaussian_world(n_outputs=30, n_annotators=4, seed=3).study
    result = huse(study.outputs, study.logprobs, study.judgments, system="t0.5")
    assert (result.n_human, result.n_system, result.n_outputs) == (30, 30, 60)
    assert result.n_judgments == 240
    assert set(result.features["system"]) == {"human", "t0.5"}
    scaled = result.features[["scaled_logprob", "scaled_judgment"]]
    np.testing.assert_allclose(scaled.std(ddof=0), 1)


def test_unequal_classes_count_one_half_each():
    # 30 human and 10 machine outputs that all look alike but for the judgments: a vote among all
    # others is won by the class that the held-out output is not of, so every vote is wrong.
    is_human = np.arange(40) < 30
    result = huse(*study_of(-1 - np.arange(40) / 40, np.arange(40), is_human), n_neighbors=39)
    assert (result.huse, result.huse_q) == (2, 2)


def test_a_tie_under_half_is_missing_and_tells_nothing_apart():
    outputs, logprobs, judgments = random_study(9)
    result = huse(outputs, logprobs, judgments, n_neighbors=2, label_ties="half")
    tied = result.features["machine_share_huse"] == 0.5
    assert result.n_label_ties == tied.sum() > 0
    assert result.features.loc[tied, ["predicted_human_huse", "correct_huse"]].isna().all(axis=None)
    kinds = failures(result).set_index("output_id")["kind"]
    assert (kinds[result.features.loc[tied, "output_id"]] == "indistinguishable").all()


def test_the_grid_is_the_classifier_of_the_number():
    outputs, logprobs, judgments = random_study(4, n=60, n_human=25)
    result = huse(outputs, logprobs, judgments, n_neighbors=7)
    grid = decision_grid(result, n_grid=30, pad=0.1)
    assert grid.machine_share.shape == (30, 30)
    features = result.features
    low, high = features["judgment"].min(), features["judgment"].max()
    assert grid.judgment[0] == pytest.approx(low - 0.1 * (high - low))
    scaled = features[["scaled_logprob", "scaled_judgment"]].to_numpy()
    is_human = features["is_human"].to_numpy()
    for row, column in ((0, 0), (3, 20), (15, 15), (29, 7)):
        here = [
            grid.logprob_per_token[column] / result.scale_logprob,
            grid.judgment[row] / result.scale_judgment,
        ]
        distance = np.sqrt(((scaled - here) ** 2).sum(axis=1))
        inside = distance <= np.sort(distance)[6] + 1e-9
        machine, human = (inside & ~is_human).sum() / 35, (inside & is_human).sum() / 25
        assert grid.machine_share[row, column] == pytest.approx(machine / (machine + human))


def test_a_grid_on_an_output_counts_the_output_itself():
    outputs, logprobs, judgments = random_study(4)
    features = huse(outputs, logprobs, judgments).features
    scaled = features[["scaled_logprob", "scaled_judgment"]]
    is_machine = ~features["is_human"]
    size, machine = neighborhoods(scaled, is_machine, scaled, 17)
    np.testing.assert_array_equal(size - 1, features["neighbors_huse"])
    share = (machine - is_machine) / (size - 1)
    np.testing.assert_allclose(share, features["machine_share_huse"])


def test_failures_carry_texts_by_key_and_come_by_context():
    outputs, logprobs, judgments = random_study(6)
    result = huse(outputs, logprobs, judgments)
    table = failures(result, outputs.sample(frac=1, random_state=0))
    assert len(table) == 40
    assert table["item_id"].is_monotonic_increasing
    assert (table["text"] == "text " + table["output_id"].str[1:].astype(int).astype(str)).all()
    assert "text" not in failures(result)
    with pytest.raises(ValueError, match="1 of 40 outputs are not in `outputs`: o000"):
        failures(result, outputs.iloc[1:])


def drop(table, **where):
    def change(frames):
        ((column, value),) = where.items()
        frames[table] = frames[table][frames[table][column] != value]

    return change


def put(table, column, row, value):
    def change(frames):
        frames[table] = frames[table].copy()
        frames[table].loc[row, column] = value

    return change


def every(table, **values):
    def change(frames):
        frames[table] = frames[table].assign(**values)

    return change


def twice(table, **values):
    def change(frames):
        frames[table] = pd.concat([frames[table], frames[table].assign(**values)])

    return change


@pytest.mark.parametrize(
    ("change", "options", "match"),
    [
        (drop("judgments", output_id="o003"), {}, "1 of 40 outputs have no judgment .*: o003"),
        (drop("logprobs", output_id="o003"), {}, "no log-probability under model 'lstm': o003"),
        (every("logprobs", model="lstn"), {}, "'lstm' is unknown. Did you mean 'lstn'"),
        (every("logprobs", logprob=-np.inf), {}, "every log-probability under model 'lstm' is inf"),
        (every("logprobs", logprob=-4.0), {}, "logprob feature is constant .-1 for all 40"),
        (every("judgments", value=0.1), {}, "judgment feature is constant"),
        (put("logprobs", "logprob", 2, np.nan), {}, "logprob"),
        (put("judgments", "value", 2, np.nan), {}, "value"),
        (put("logprobs", "n_tokens", 2, 0), {}, "n_tokens"),
        (drop("outputs", system="human"), {}, "both classes. Found 0 human and 20 machine"),
        (drop("outputs", system="lstm"), {}, "Found 20 human and 0 machine outputs: add machine"),
        (twice("outputs", dataset="e"), {}, r"must hold one dataset. Got 2 \(d, e\): filter"),
        (every("judgments", dataset="e"), {}, "no judgment is of an output compared"),
        (twice("judgments", dimension="fluency"), {}, r"2 dimensions are there \(fluency, typ"),
        (every("judgments"), {"dimension": "typicalty"}, "Did you mean 'typicality'"),
        (put("outputs", "system", 1, "gpt"), {}, "2 systems are there"),
        (every("outputs"), {"system": "lstn"}, "system: 'lstn' is unknown. Did you mean 'lstm'"),
        (every("outputs"), {"system": "human"}, "system: 'human' is unknown"),
        (every("outputs"), {"ties": "exactly"}, "ties: 'exactly' is unknown. Did you mean 'exact'"),
        (every("outputs"), {"label_ties": "model"}, "There are: human, system, half"),
        (every("outputs"), {"n_neighbors": 40}, "needs at least 41 outputs, .* Got 40: add"),
        (every("outputs"), {"n_neighbors": 0}, "a whole number, at least 1. Got 0"),
        (every("outputs"), {"n_neighbors": 2.5}, "a whole number, at least 1. Got 2.5"),
        (twice("outputs"), {}, "output_id"),
    ],
)
def test_bad_studies_are_refused(change, options, match):
    frames = dict(zip(("outputs", "logprobs", "judgments"), random_study(0), strict=True))
    # Both classes keep a system each when one output is renamed below.
    is_human = np.arange(40) % 2 == 0
    frames["outputs"] = frames["outputs"].assign(
        is_human=is_human, system=np.where(is_human, "human", "lstm")
    )
    change(frames)
    with pytest.raises(ValueError, match=match):
        huse(frames["outputs"], frames["logprobs"], frames["judgments"], **options)


@pytest.mark.parametrize("wrong", [{"n_grid": 1}, {"pad": -0.1}, {"pad": np.nan}])
def test_a_bad_grid_is_refused(wrong):
    result = huse(*random_study(0))
    with pytest.raises(ValueError, match="n_grid must be at least 2 and pad at least 0"):
        decision_grid(result, **wrong)


def released_study() -> tables.Study:
    from nlgbench.datasets.huse import load_huse

    return load_huse()


@RELEASED
def test_released_summarization_at_t_1_0():
    # Table 1 of Hashimoto, Zhang and Liang (2019): .53, .58, .95, as printed to two decimals.
    study = released_study()
    released = huse(study.outputs, study.logprobs, study.judgments, ties="released")
    found = (released.huse, released.huse_q, released.huse_d)
    assert found == pytest.approx((0.53, 0.58, 0.95), abs=1e-12)
    # With ties taken for what they are, measured by a separate implementation.
    exact = huse(study.outputs, study.logprobs, study.judgments)
    assert (exact.huse, exact.huse_q, exact.huse_d) == pytest.approx((0.53, 0.60, 0.93), abs=1e-12)
    assert (exact.n_label_ties, exact.n_enlarged_q) == (13, 169)
    assert exact.features["neighbors_huse_q"].max() == 30


@RELEASED
@pytest.mark.parametrize(
    ("k", "expected"), [(5, 0.44), (10, 0.56), (15, 0.52), (20, 0.48), (30, 0.43)]
)
def test_released_huse_moves_with_k(k, expected):
    # Measured by a separate implementation.
    study = released_study()
    result = huse(study.outputs, study.logprobs, study.judgments, n_neighbors=k)
    assert result.huse == pytest.approx(expected, abs=1e-12)
