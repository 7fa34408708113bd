"""The simulated color game has the layout of the release, and its truth is calibrated."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.datasets.color_contexts import FEATURES, color_difference, hsl_to_lab
from nlgbench.datasets.comm_eval import QUALITY, pairs
from nlgbench.worlds import color_speech
from nlgbench.worlds.colors import color_world


@pytest.fixture(scope="module")
def world():
    return color_world(n_contexts=60, n_rounds={"train": 300, "test": 60}, seed=3)


def every_truth(world):
    return pd.concat(one.truth["states"] for one in (world, *world.related.values()))


def test_the_world_is_shaped_as_the_release(world):
    outputs = world.outputs
    assert set(outputs["system"]) == set(QUALITY)
    assert set(outputs["item_id"]) == set(world.references["item_id"])
    described = outputs.loc[outputs["system"] == "descriptive", "output_id"]
    assert sorted(world.references["reference_id"]) == sorted(described)
    judged = world.judgments[world.judgments["dimension"] == "listener_success"]
    assert set(judged["group_id"]) == set(pairs(outputs))
    wrong = outputs[outputs["system"] == "misleading"]
    own = wrong["output_id"].str.removesuffix("-twin").str[:-3]
    assert (own.str[:-1] == wrong["item_id"].str[:-1]).all()
    assert (own != wrong["item_id"]).all()


@pytest.mark.parametrize("split", ["train", "test"])
def test_contexts_are_of_their_condition_and_never_of_the_same_colors(world, split):
    rounds = world.related[split]
    stated = rounds.outputs.set_index("item_id")["context"]
    assert set(stated) == {"close", "split", "far"}
    for item, rows in rounds.contexts.groupby("item_id"):
        seen = hsl_to_lab(rows.sort_values("is_target")[list(FEATURES)].to_numpy())
        between, *to_target = color_difference(seen[[0, 0, 1]], seen[[1, 2, 2]])
        assert min(between, *to_target) >= 5
        n_near = sum(gap <= 20 for gap in to_target)
        assert n_near == {"close": 2, "split": 1, "far": 0}[stated[item]]
        assert stated[item] == "split" or (between <= 20) == (n_near == 2)
    colors = rounds.contexts[list(FEATURES)].to_numpy().reshape(-1, 3, 3)
    keys = [three.tobytes() for three in colors]
    own = world.contexts[list(FEATURES)].to_numpy().reshape(-1, 3, 3)
    assert len(set(keys)) == len(keys)
    assert not set(keys) & {three.tobytes() for three in own}


def test_the_ideal_listener_is_bayes_rule_on_what_was_said():
    """In one context, Bayes against how often each caption was in fact said of each color."""
    triple = color_speech.draw_contexts(1, used=set(), seed=1)
    said, _, ideal = color_speech.speak(triple, np.eye(3)[None], n_captions=30_000, seed=2)
    captions, ideal = said[0].ravel(), ideal[0].reshape(-1, 3)
    target = np.repeat(np.arange(3), said.shape[2])
    for text in pd.Series(captions).value_counts().index[:5]:
        at = captions == text
        share = np.bincount(target[at], minlength=3) / at.sum()
        bound = 4 * np.sqrt(ideal[at][0] * (1 - ideal[at][0]) / at.sum()) + 1e-3
        assert (np.abs(share - ideal[at][0]) < bound).all()


def test_truth_is_calibrated(world):
    truth = every_truth(world)
    sums = truth.groupby("output_id")[["literal", "ideal", "success"]].sum()
    np.testing.assert_allclose(sums, 1)
    np.testing.assert_allclose(truth["success"], 0.9 * truth["ideal"] + 0.1 / 3)
    rounds = pd.concat(one.truth["states"] for one in world.related.values())
    # States to which the ideal listener gives much are the target as often as it says.
    off = rounds["is_target"] - rounds["ideal"]
    high = rounds["ideal"] > 0.8
    assert abs(off[high].mean()) < 4 * off[high].std() / np.sqrt(high.sum())
    targets = world.truth["states"].query("is_target")
    fresh = world.judgments[world.judgments["dimension"] == "fresh_success"]
    joined = fresh.merge(targets, on="output_id", validate="many_to_one")
    error = joined["value"] - joined["success"]
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))


def test_qualities_are_what_their_names_say(world):
    joined = world.truth["states"].query("is_target").merge(world.outputs, on="output_id")
    ideal = joined.groupby("system")["ideal"].mean()
    assert ideal["descriptive"] > 0.8
    assert 0.3 < ideal["ambiguous"] < 0.6
    assert ideal["misleading"] < 0.1
