"""Variance components equal those of statsmodels, and confounded ones are named."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

import nlgbench as nb
from nlgbench.analysis.planning import components

ALL = ["item", "annotator", "system x item", "system x annotator", "rest"]


def crossed(seed, *, k=3, n=5, m=4, r=1, spread=(1.0, 1.0, 1.0, 1.0)):
    """Judgments of every output by every annotator, as numbers."""
    rng = np.random.default_rng(seed)
    system, item, annotator, _ = (one.ravel() for one in np.indices((k, n, m, r)))
    y = rng.normal(size=len(system)) + system
    y += spread[0] * rng.normal(size=n)[item] + spread[1] * rng.normal(size=m)[annotator]
    y += spread[2] * rng.normal(size=(k, n))[system, item]
    y += spread[3] * rng.normal(size=(k, m))[system, annotator]
    return y, system, item, annotator


def moments(judged):
    """Estimate by moments, whatever the design."""
    y, system, item, annotator = judged
    y = y - (np.bincount(system, y) / np.bincount(system))[system]
    numbers = components.levels(system, item, annotator)
    return components._moments(y, numbers, components._gram(numbers, system), list(range(5)))


@pytest.mark.parametrize(("r", "seed"), [(1, 0), (2, 1)])
def test_balanced_estimates_are_those_of_an_analysis_of_variance(r, seed):
    y, system, item, annotator = crossed(seed, r=r, spread=(2.0, 2.0, 1.5, 1.5))
    frame = pd.DataFrame({"y": y, "s": system, "i": item, "a": annotator}).astype(
        {"s": str, "i": str, "a": str}
    )
    found = anova_lm(smf.ols("y ~ s + i + a + s:i + s:a", frame).fit())["mean_sq"]
    k, n, m = 3, 5, 4
    expected = [
        (found["i"] - found["s:i"]) / (k * m * r),
        (found["a"] - found["s:a"]) / (k * n * r),
        (found["s:i"] - found["Residual"]) / (m * r),
        (found["s:a"] - found["Residual"]) / (n * r),
        found["Residual"],
    ]
    assert min(expected) > 0
    table = components.components_of(y, system, item, annotator)
    np.testing.assert_allclose(table["estimate"], expected, rtol=1e-9)
    np.testing.assert_allclose(moments((y, system, item, annotator)), expected, rtol=1e-9)


def test_unbalanced_estimates_are_those_of_statsmodels():
    world = {"design": "scattered", "means": [0.5, 0.0, -0.5]}
    study = nb.simulate("judgments", n_items=12, n_annotators=8, seed=3, **world)
    frame = study.judgments.merge(study.outputs[["output_id", "item_id", "system"]])
    frame["si"] = frame["system"] + frame["item_id"]
    frame["sa"] = frame["system"] + frame["annotator_id"]
    columns = {"item": "item_id", "annotator": "annotator_id", "si": "si", "sa": "sa"}
    model = smf.mixedlm(
        "value ~ 0 + system",
        frame,
        groups=np.ones(len(frame)),
        vc_formula={name: f"0 + C({column})" for name, column in columns.items()},
    )
    fitted = model.fit(reml=True)
    theirs = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True))
    expected = [*(theirs[name] for name in columns), fitted.scale]
    np.testing.assert_allclose(nb.variance_components(study)["estimate"], expected, rtol=1e-3)


def test_moments_are_those_of_whole_matrices(monkeypatch):
    monkeypatch.setattr(components, "_MOST_LEVELS", 0)
    rows = np.random.default_rng(4).choice(288, 200, replace=False)
    judged = [one[rows] for one in crossed(4, k=3, n=12, m=8)]
    y, system, *factors = judged
    sums, covariances = [], []
    off = np.eye(len(y)) - (system[:, None] == system) / np.bincount(system)[system]
    for one in components.levels(system, *factors):
        covariances.append(off @ (one[:, None] == one) @ off)
        sums.append(y @ covariances[-1] @ y)
    gram = [[(one * other).sum() for other in covariances] for one in covariances]
    expected = np.maximum(np.linalg.solve(gram, sums), 0)
    table = components.components_of(*judged)
    assert table["estimate"].to_numpy() == pytest.approx(expected) and table["ci_low"].isna().all()
    assert set(table["method"]) == {"moments"}


def test_modified_large_sample_limits_are_exact_where_one_mean_square_is_known():
    """With no degrees of freedom to lose below, it is the chi-square interval, shifted."""
    low, high = components._modified_large_sample(5.0, 1.0, 9, 10**8, 0.025)
    assert low == pytest.approx(5 * 9 / 19.0228 - 1, abs=1e-3)
    assert high == pytest.approx(5 * 9 / 2.70039 - 1, abs=1e-3)


ALIKE, ONE = "confounded with rest, and counted there", "not identified: the factor has one level"
SYSTEM, ITEM, ANNOTATOR = (one.ravel() for one in np.indices((3, 8, 4)))
ONCE = ANNOTATOR == (ITEM + SYSTEM) % 4
#: Who judged what, and what that design cannot tell apart.
LAYOUTS = {
    "crossed": (ITEM, ANNOTATOR, {}),
    "one annotator": (ITEM, 0 * ANNOTATOR, {"annotator": ONE, "system x annotator": ONE}),
    "one judgment of an output": (ITEM, ANNOTATOR, {"system x item": ALIKE}),
    "items of a system": (ITEM + 8 * SYSTEM, ANNOTATOR, {"item": "confounded with system x item"}),
    "annotators of a system": (
        *(ITEM, ANNOTATOR + 4 * SYSTEM),
        {"annotator": "confounded with system x annotator"},
    ),
    "annotators of an item": (ITEM, ANNOTATOR + 4 * ITEM, {"system x annotator": ALIKE}),
    "judging once": (ITEM, np.arange(96), {"annotator": ALIKE, "system x annotator": ALIKE}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_components_that_a_design_confounds_are_named(name):
    *judged, unknown = LAYOUTS[name]
    rows = ONCE if name == "one judgment of an output" else slice(None)
    judged = [one[rows] for one in (np.random.default_rng(0).normal(size=96), SYSTEM, *judged)]
    table = components.components_of(*judged).set_index("component")
    assert list(table.index[table["estimate"].isna()]) == [one for one in ALL if one in unknown]
    for component, why in unknown.items():
        assert table.loc[component, "reason"].startswith(why)
        assert why != ALIKE or component in table.loc["rest", "reason"]
    assert table["share"].sum() == pytest.approx(1)
