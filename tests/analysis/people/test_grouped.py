"""Systems are compared within groups of items, as one family of tests."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway

import nlgbench as nb
from nlgbench.inference import adjust
from nlgbench.plots.groups import plot_groups

SEGMENTS = Path(os.environ.get("NLGBENCH_DATA", ""), "judge-logs/truescore/support_segments.csv")


def scored(groups, **scores):
    """A study of scores of systems on items, which have groups."""
    outputs, rows = [], []
    for system, values in scores.items():
        ids = [f"{n}/{system}" for n in range(len(groups))]
        items = [str(n) for n in range(len(groups))]
        outputs.append(pd.DataFrame({"output_id": ids, "item_id": items, "topic": groups}))
        outputs[-1]["system"] = system
        rows.append(pd.DataFrame({"output_id": ids, "evaluator": "f1", "score": values}))
    outputs = pd.concat(outputs, ignore_index=True)
    return nb.Study(outputs, scores=pd.concat(rows), settings={"extra": ["topic"]})


RNG = np.random.default_rng(2)
TOPIC = np.repeat(["a", "b", "c", "rare", ""], [40, 30, 12, 4, 14])
SCORES = {name: RNG.normal(size=100) + n * (TOPIC == "a") for n, name in enumerate(("x", "y", "z"))}


@pytest.fixture(scope="module")
def compared():
    return nb.compare_systems(scored(TOPIC, **SCORES), evaluator="f1", by="topic")


def test_a_group_is_compared_as_if_it_were_the_study(compared):
    assert set(compared.groups["group"]) == {"a", "b", "c", "rare"}
    for topic in "abc":
        inside = topic == TOPIC
        alone = scored(TOPIC[inside], **{name: s[inside] for name, s in SCORES.items()})
        pairs = nb.compare_systems(alone, evaluator="f1").pairs.set_index(["system", "opponent"])
        rows = compared.groups[compared.groups["group"] == topic]
        rows = rows.set_index(["system", "opponent"])
        assert (rows["n_items"] == inside.sum()).all()
        for name in ("estimate", "ci_low", "ci_high", "p"):
            pd.testing.assert_series_equal(rows[name], pairs[name].reindex(rows.index))


def test_groups_and_pairs_are_one_family(compared):
    once = compared.groups[compared.groups["system"] < compared.groups["opponent"]]
    np.testing.assert_allclose(once["p_adjusted"], adjust(once["p"]))
    rare = compared.groups[compared.groups["group"] == "rare"]
    assert rare["estimate"].notna().all() and rare[["ci_low", "p", "shrunk"]].isna().all(axis=None)
    assert set(rare["status"]) == {"few_items"} and set(rare["verdict"]) == {""}


def test_shrunken_differences_lie_between_the_groups_and_their_mean(compared):
    rows = compared.groups.query("system == 'z' and opponent == 'x'").dropna(subset="shrunk")
    spread = rows["shrunk"].max() - rows["shrunk"].min()
    assert len(rows) == 3 and 0 < spread < rows["estimate"].max() - rows["estimate"].min()


def test_the_test_of_equal_differences_is_welchs(compared):
    """For two groups, Welch's t test; with equal variances and sizes, near the usual F test."""
    pytest.importorskip("scipy", "1.16")  # has Welch's test
    balanced = np.repeat(["a", "b", "c"], 30)
    x, y = RNG.normal(size=(2, 90))
    found = nb.compare_systems(scored(balanced, x=x, y=y), evaluator="f1", by="topic").groups
    peer = f_oneway(*((y - x)[balanced == topic] for topic in "abc"), equal_var=False)
    assert found["p_interaction"].to_numpy() == pytest.approx(peer.pvalue)
    assert (
        compared.groups.query("system == 'z' and opponent == 'x'")["p_interaction"] < 0.05
    ).all()


def test_groups_have_the_population_and_scale_of_all_items():
    """Few annotators of a group do not make them fixed, nor are their judgments standardized."""
    study = nb.simulate("judgments", n_items=40, n_annotators=12, seed=1)
    half = (study.outputs["item_id"] < "i0020").map({True: "a", False: "b"})
    outputs = study.outputs.assign(topic=half)
    first = study.judgments["output_id"].isin(outputs.loc[half == "a", "output_id"])
    few = study.judgments["annotator_id"].isin(study.judgments["annotator_id"].unique()[:6])
    judgments = study.judgments[first | few]
    study = study.replace(outputs=outputs, judgments=judgments, settings={"extra": ["topic"]})
    found = nb.compare_systems(study, by="topic", scale="z")
    assert set(found.groups["covers"]) == set(found.pairs["covers"])
    b = found.groups[found.groups["group"] == "b"]
    assert set(b["status"]) == {"too_few_annotators"} and b["ci_low"].isna().all()


def test_systems_without_common_items_have_intervals_within_groups():
    scores = pd.DataFrame({"output_id": map(str, range(80)), "evaluator": "f1"})
    outputs = scores[["output_id"]].assign(item_id=scores["output_id"])
    outputs = outputs.assign(system=["x", "y"] * 40, topic=["a"] * 40 + ["b"] * 40)
    scores["score"] = RNG.normal(size=80)
    study = nb.Study(outputs, scores=scores, settings={"extra": ["topic"]})
    groups = nb.compare_systems(study, evaluator="f1", by="topic").groups
    assert (groups["n_items"] == 20).all() and groups["ci_low"].notna().all()


def test_groups_must_describe_items():
    study = scored(TOPIC, **SCORES)
    outputs = study.outputs.assign(topic=study.outputs["system"])
    with pytest.raises(
        ValueError, match="must be constant within an item, but outputs of item '0'"
    ):
        nb.compare_systems(study.replace(outputs=outputs), evaluator="f1", by="topic")
    with pytest.raises(ValueError, match="Did you mean 'topic'"):
        nb.compare_systems(study, evaluator="f1", by="topics")


def test_the_figure_has_all_items_above_the_groups(compared):
    drawn = plot_groups(compared)
    assert len(drawn.axes) == 2 and drawn.data["row"].iloc[0] == "all items"
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert labels == ["all items", "a (40)", "b (30)", "c (12)", "rare (4)"]


@pytest.mark.skipif(not SEGMENTS.is_file(), reason="NLGBENCH_DATA has no truescore segments")
def test_judged_segments_are_those_of_truescore():
    """Differences and intervals of truescore 0.7.4, whose intervals are normal."""
    table = pd.read_csv(SEGMENTS)
    scores = {name: table[f"{name}_judge_passed"].astype(float) for name in ("v3", "v4")}
    found = nb.compare_systems(
        scored(table["segment"], **scores), evaluator="f1", by="topic"
    ).groups
    rows = found[found["system"] == "v4"].set_index("group")[["estimate", "ci_low", "ci_high"]]
    wanted = {
        "billing": [0.122337, 0.091867, 0.152807],
        "account": [0.110616, 0.077228, 0.144004],
        "technical": [0.152475, 0.115732, 0.189219],
    }
    for segment, values in wanted.items():
        assert rows.loc[segment].to_numpy() == pytest.approx(values, abs=2e-4)
        assert rows.loc[segment, "estimate"] == pytest.approx(values[0], abs=1e-6)
