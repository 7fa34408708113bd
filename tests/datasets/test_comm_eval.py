"""comm-eval: the paper's filter and counts, and contexts whose order hides the target."""

import colorsys
import csv

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
from nlgbench.datasets.comm_eval import QUALITY, pairs, read_comm_eval
from nlgbench.datasets.monroe import RAW_FILES
from tests.released import needs

RELEASED = needs("comm-eval")
RED, PINK, BLUE, GREEN = (0, 90, 50), (340, 80, 50), (240, 90, 50), (120, 90, 50)
PLACES = {"target": "click", "distr1": "alt1", "distr2": "alt2"}


def row(colors, picked, **cells):
    """A round in which `picked` was clicked; the others follow in the order of their roles."""
    roles = [picked, *(role for role in PLACES if role != picked)]
    by_role = dict(zip(PLACES, colors, strict=True))
    made = {}
    for place, role in zip(PLACES.values(), roles, strict=True):
        made[f"{place}Status"] = role
        for letter, value in zip("HSL", by_role[role], strict=True):
            made[f"{place}Col{letter}"] = str(value)
    return made | {"clickLocL": "1.0", "outcome": str(picked == "target")} | cells


def caption(context, number, text, picks, colors, *, condition="split"):
    quality = "ambiguous" if number < 10 and number % 2 else "descriptive"
    shared = {"contextId": context, "contextNum": str(number), "condition": condition}
    shared |= {"quality": quality, "contents": text}
    rows = [row(colors, pick or "target", **shared) for pick in picks]
    for made, pick in zip(rows, picks, strict=True):
        if pick is None:  # never heard, though the file says that they failed
            made |= {"clickLocL": "", "outcome": "False"}
    return rows


T, D1, D2 = "target", "distr1", "distr2"
OWN, TWIN = (RED, PINK, BLUE), (PINK, RED, BLUE)


def release(condition="split"):
    say = [
        ("ci0.0", 0, "red", [T, T, D2], OWN),  # kept by two of three
        ("ci0.0", 2, "rose", [T, D1, D2], OWN),  # dropped
        ("ci0.0", 1, " RED ", [T, D1, D2], OWN),  # ambiguous, but a reference: dropped
        ("ci0.0", 3, "warm", [T, D1, D1], OWN),
        ("ci0.0", 5, "color", [None] * 3, OWN),  # never heard: dropped
        ("ci0.0", 12, "the red", [T], (RED, GREEN, BLUE)),  # a game of other colors
        ("ci0.1", 0, "pink", [T, T, T], TWIN),
        ("ci0.1", 2, "Red", [T, T, T], TWIN),  # as a misleading caption it repeats a reference
    ]
    return [made for part in say for made in caption(*part, condition=condition)]


def saved(rows, path):
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def ids(study, system):
    return study.outputs.loc[study.outputs["system"] == system, "output_id"].tolist()


def test_the_paper_s_filter_keeps_what_listeners_understood(tmp_path):
    study = read_comm_eval(saved(release(), tmp_path / "clean.csv"))
    assert ids(study, "descriptive") == ["ci0.0-00", "ci0.0-m12", "ci0.1-00", "ci0.1-02"]
    assert ids(study, "ambiguous") == ["ci0.0-03"]
    twins = ["ci0.0-00-twin", "ci0.0-m12-twin", "ci0.1-00-twin", "ci0.1-02-twin"]
    assert ids(study, "misleading") == twins
    # A misleading caption that is a description of its context goes only where the file says far.
    far = read_comm_eval(saved(release("far"), tmp_path / "clean.csv"))
    # "red" describes ci0.1 too ("Red"), and "Red" describes ci0.0.
    assert ids(far, "misleading") == ["ci0.0-m12-twin", "ci0.1-00-twin"]
    whole = read_comm_eval(tmp_path / "clean.csv", filtered=False)
    assert whole.outputs["system"].value_counts().tolist() == [5, 5, 3]


def test_a_misleading_caption_is_heard_in_the_twins_context(tmp_path):
    study = read_comm_eval(saved(release(), tmp_path / "clean.csv"))
    items = study.outputs.set_index("output_id")["item_id"]
    targets = study.contexts[study.contexts["is_target"]].set_index("item_id")
    assert items["ci0.0-00"] == "ci0.0"
    assert items["ci0.0-00-twin"] == "ci0.1"
    assert items["ci0.0-m12"] == "ci0.0/2" and items["ci0.0-m12-twin"] == "ci0.1"
    found = {item: tuple(targets.loc[item, list(FEATURES)]) for item in items.unique()}
    assert found == {"ci0.0": RED, "ci0.1": PINK, "ci0.0/2": RED}
    assert set(pairs(study.outputs)) == {"ci0"}
    # Twins have the same states: nothing but the mark of the target tells them apart.
    one, other = (study.contexts[study.contexts["item_id"] == item] for item in ("ci0.0", "ci0.1"))
    columns = ["state", *FEATURES]
    assert one[columns].to_numpy().tolist() == other[columns].to_numpy().tolist()


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
