"""Extreme values and other scales are named in small studies, and ordinary data are not."""

import json

import numpy as np
import pandas as pd
import pytest

from nlgbench.runner import check_study
from nlgbench.study import summary
from nlgbench.study.ranges import extremes, other_scale


def likert(n, seed=0):
    return np.random.default_rng(seed).choice([1.0, 2, 3, 4, 5], n, p=[0.1, 0.2, 0.3, 0.25, 0.15])


@pytest.mark.parametrize("n", [12, 30, 96, 400])
@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ([5000], "20 times the"),
        ([5000, 4000], "20 times the"),
        ([-999], "20 times the"),
        ([44, 44], "far from the scale of most others"),
        ([33], "far from the scale of most others"),
        ([-9], "far from the scale of most others"),
    ],
)
def test_what_is_typed_wrong_is_extreme_from_twelve_judgments_on(n, typed, rule):
    values = likert(n)
    values[: len(typed)] = typed
    found, why = extremes(pd.Series(values))
    if n // 10 < len(typed) - 1:  # two of twelve are not rare
        typed = []
    assert sorted(found) == sorted(typed) and (rule in why or not typed)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.lognormal(3, 1, n),
        lambda rng, n: rng.poisson(0.3, n),
        lambda rng, n: rng.negative_binomial(0.5, 0.1, n),
        lambda rng, n: rng.choice(range(1, 8), n, p=[0.7, 0.15, 0.07, 0.04, 0.02, 0.01, 0.01]),
        lambda rng, n: np.round(100 * rng.beta(0.5, 3, n)),
        lambda rng, n: -5.0 * rng.poisson(0.3, n) - 25 * (rng.random(n) < 0.01),
    ],
)
def test_skewed_data_have_no_extremes(draw):
    rng = np.random.default_rng(1)
    alarms = [
        extremes(pd.Series(np.asarray(draw(rng, n), dtype=float)))[0].size > 0
        for n in (12, 24, 96)
        for _ in range(60)
    ]
    assert np.mean(alarms) <= 0.02


#: The judgments of one annotator, whether they are on another scale, and how.
OTHER = [
    (lambda values: values * 20, "uses 20 to 100, all others 1 to 5"),
    (lambda values: values - 1, "uses 0 to 4, all others 1 to 5"),
    (lambda values: values / 5, "uses 0.2 to 1, all others 1 to 5"),
    (lambda values: values * 2, "uses 2 to 10, all others 1 to 5"),
    (lambda values: values, ""),
    (lambda values: np.maximum(values - 1, 1), ""),
    (lambda values: np.full_like(values, 1), ""),
]


@pytest.mark.parametrize("files", [["*.csv"], ["p.csv", "q.csv", "r.csv"]])
@pytest.mark.parametrize(("change", "named"), OTHER)
def test_an_annotator_or_file_on_another_scale_is_named(change, named, tmp_path, files):
    values = {name: likert(40, seed) for seed, name in enumerate("pqr")}
    values["q"] = change(values["q"])
    groups = pd.Series(np.repeat(list(values), 40))
    lines = other_scale(pd.Series(np.concatenate(list(values.values()))), groups)
    assert lines == ([f"q {named}"] if named else [])
    sources = [{"file": name, "constants": {"annotator_id": "all"}} for name in files]
    (tmp_path / "study.yml").write_text(json.dumps({"tables": {"judgments": sources}}))
    for name, of_file in values.items():
        rows = {"item_id": np.arange(40), "system": name, "value": of_file}
        pd.DataFrame(rows).to_csv(tmp_path / f"{name}.csv", index=False)
    report = " ".join(check_study.check(tmp_path)[0].split())
    assert ("files seem to use different scales" in report) == bool(named)
    assert f"q.csv {named}" in report or not named


def test_a_doubt_names_annotators_on_another_scale_and_a_declared_scale_settles_the_start(crowd):
    scored = crowd.judgments["annotator_id"] == crowd.judgments["annotator_id"].iloc[0]
    shifted = crowd.judgments["value"].where(~scored, crowd.judgments["value"] - 1)
    study = crowd.replace(judgments=crowd.judgments.assign(value=shifted))
    (doubt,) = summary.doubts(study)
    assert "annotators seem to use different scales" in doubt and "set scale=z" in doubt
    ends = {"scales": {"quality": {"min": 0, "max": 5}}}
    assert summary.doubts(study.replace(settings=ends)) == []
