"""comm-eval: the paper's filter and counts, and contexts whose order hides the target."""

import colorsys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.color_contexts import (
    FEATURES,
    color_difference,
    context_rows,
    hsl_to_lab,
    rgb_to_lab,
)
from nlgbench.datasets.comm_eval import QUALITY, pairs
from nlgbench.datasets.monroe import RAW_FILES
from tests.released import needs

RELEASED = needs("comm-eval")


hsl = st.tuples(st.floats(0, 360), st.floats(0, 100), st.floats(0, 100))


@settings(max_examples=50)
@given(st.lists(hsl, min_size=2, max_size=5))
def test_colors_and_their_differences_are_those_of_scikit_image(colors):
    oracle = pytest.importorskip("skimage.color")
    rgb = [colorsys.hls_to_rgb(h / 360, light / 100, s / 100) for h, s, light in colors]
    lab = oracle.rgb2lab(np.array(rgb))
    np.testing.assert_allclose(hsl_to_lab(np.array(colors)), lab, atol=1e-9)
    np.testing.assert_allclose(rgb_to_lab(np.array(rgb)), lab, atol=1e-9)
    differences = oracle.deltaE_ciede2000(lab[:, None], lab[None])
    np.testing.assert_allclose(color_difference(lab[:, None], lab[None]), differences, atol=1e-9)


@settings(max_examples=50)
@given(st.lists(hsl, min_size=3, max_size=3), st.permutations([1, 2]))
def test_a_context_does_not_know_the_order_in_which_it_came(colors, others):
    target = colors[0]
    one = context_rows(["i"], np.array([colors]))
    two = context_rows(["i"], np.array([[target, *(colors[n] for n in others)]]))
    features = list(FEATURES)
    assert one[features].to_numpy().tolist() == two[features].to_numpy().tolist()
    assert one.loc[one["is_target"], features].to_numpy().tolist() == [list(map(float, target))]


@pytest.fixture(scope="module")
def released():
    return nb.load("comm-eval")


@RELEASED
def test_the_release_is_as_documented(released):
    outputs, contexts = released.outputs, released.contexts
    assert outputs["system"].map(QUALITY).value_counts().to_dict() == {3: 1912, 2: 1343, 1: 1909}
    assert outputs["context"].nunique() == 360
    assert pairs(outputs).nunique() == pairs(contexts).nunique() == 180
    assert outputs["output_id"].str.contains("-m").sum() == 2 * 461
    assert outputs["item_id"].str.contains("/").sum() == 405
    assert set(outputs["item_id"]) == set(released.references["item_id"])
    wrong = outputs[outputs["system"] == "misleading"]
    described = wrong["output_id"].str.split("-").str[0]
    assert (pairs(wrong) == described.str[:-2]).all() and (described != wrong["item_id"]).all()
    # Twins have the same states: nothing but the mark of the target tells them apart.
    plain = contexts[~contexts["item_id"].str.contains("/")]
    states = plain.groupby("item_id")[["state", *FEATURES]].apply(lambda rows: str(rows.to_numpy()))
    assert states.groupby(states.index.str[:-2]).nunique().eq(1).all()
    assert plain[plain["is_target"]].groupby(pairs(plain))["state"].nunique().eq(2).all()
    judged = released.judgments.groupby(["dimension", "output_id"]).size()
    assert set(judged["listener_success"]) == set(judged["twin_picked"]) == {3}
    assert len(judged["partner_success"]) == 461


@RELEASED
@pytest.mark.parametrize(("split", "n"), [("train", 15665), ("dev", 15670), ("test", 15659)])
def test_the_rounds_are_as_documented(split, n, released):
    study = released.related[split]
    assert len(study.outputs) == n
    raw = pd.read_csv(cache.path(RAW_FILES[split]), dtype=str, keep_default_na=False)
    assert (study.judgments["value"] == (raw["outcome"] == "True")).all()
    # The evaluation's colors occur in dev alone, so nothing leaks from train or into test.
    groups = [
        table.groupby("item_id")[list(FEATURES)].apply(lambda three: three.to_numpy().tobytes())
        for table in (study.contexts, released.contexts)
    ]
    assert bool(set(groups[0]) & set(groups[1])) == (split == "dev")
    written = study.outputs.to_csv() + study.judgments.to_csv()
    assert not [game for game in raw["gameid"].unique() if game in written]
