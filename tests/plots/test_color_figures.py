"""Violins, contexts and reliability diagrams: what is on the axes, and at print size."""

import numpy as np
import pandas as pd
import pytest
from gray import alike_in_gray
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from scipy.stats import gaussian_kde

from nlgbench.plots.reliability import plot_reliability
from nlgbench.plots.style import ONE_COLUMN, TWO_COLUMN, paper_style
from nlgbench.plots.swatches import plot_context, plot_contexts
from nlgbench.plots.violins import plot_violins

QUALITIES = ("descriptive", "ambiguous", "misleading")


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = [
        (evaluator, quality, value)
        for evaluator in ("BLEU-1", "Human")
        for quality in QUALITIES
        for value in rng.beta(0.5, 0.5, 50)
    ]
    table = pd.DataFrame(rows, columns=["evaluator", "quality", "score"])
    table.loc[table["evaluator"] == "Human", "score"] = table["score"].round()
    table.loc[(table["evaluator"] == "Human") & (table["quality"] == "misleading"), "score"] = 0.0
    return table


def test_each_evaluator_has_a_panel_and_each_quality_a_violin(scores):
    panels = plot_violins(scores)
    assert [panel.get_title() for panel in panels] == ["BLEU-1", "Human"]
    assert [label.get_text() for label in panels[0].get_xticklabels()] == list(QUALITIES)
    bodies = [
        c for c in panels[0].collections if hasattr(c, "get_paths") and len(c.get_facecolor())
    ]
    assert len(bodies) == 3
    for place, quality in enumerate(QUALITIES):
        chosen = scores["evaluator"].eq("BLEU-1") & scores["quality"].eq(quality)
        values = scores.loc[chosen, "score"].to_numpy()
        outline = bodies[place].get_paths()[0].vertices
        # Nothing outside what was scored, and SciPy's density at factor .2 within it.
        assert outline[:, 1].min() == values.min()
        assert outline[:, 1].max() == values.max()
        density = gaussian_kde(values, bw_method=0.2)
        grid = np.linspace(values.min(), values.max(), 200)
        half = np.abs(outline[:, 0] - place)
        want = 0.4 * density(outline[:, 1]) / density(grid).max()
        drawn = half > 1e-12
        np.testing.assert_allclose(half[drawn], want[drawn], rtol=1e-6)


def test_means_and_extremes_are_drawn(scores):
    panel = plot_violins(scores)[0]
    heights = {
        round(float(segment[0, 1]), 9)
        for lines in panel.collections
        if hasattr(lines, "get_segments")
        for segment in lines.get_segments()
    }
    values = scores.query("evaluator == 'BLEU-1'").groupby("quality")["score"]
    for part in (values.mean(), values.min(), values.max()):
        assert {round(float(value), 9) for value in part} <= heights


@pytest.mark.parametrize("noise", [0.0, 1e-17])
def test_constant_scores_are_a_line_that_says_so(scores, noise):
    at = scores["quality"].eq("misleading") & scores["evaluator"].eq("Human")
    scores.loc[at, "score"] = noise * np.arange(at.sum())
    panel = plot_violins(scores)[1]
    assert [text.get_text() for text in panel.texts] == ["constant"]
    one = pd.DataFrame({"evaluator": ["A"], "quality": ["fine"], "score": [0.7]})
    assert [text.get_text() for text in plot_violins(one, axes=[plt.figure().gca()])[0].texts]


def test_undefined_scores_are_counted(scores):
    scores.loc[[3, 60], "score"] = np.nan
    assert plot_violins(scores)[0].get_title() == "BLEU-1\n2 undefined"
    with pytest.raises(ValueError, match="no number to draw"):
        plot_violins(scores.assign(score=np.nan))


def test_a_score_out_of_bounds_is_refused(scores):
    scores.loc[0, "score"] = 7.5
    with pytest.raises(ValueError, match=r"BLEU-1 has a score of 7\.5 outside its range, 0 to 1"):
        plot_violins(scores)
    low, high = plot_violins(scores, bounds={"BLEU-1": (0, 10)})[0].get_ylim()
    assert low < 0
    assert high > 10
    with pytest.raises(ValueError, match="2 evaluators need as many axes, not 1"):
        plot_violins(scores, bounds={"BLEU-1": (0, 10)}, axes=[plt.figure().gca()])


def context():
    return pd.DataFrame(
        {
            "item_id": "i",
            "state": ["c1", "c2", "c3"],
            "is_target": [False, True, False],
            "hue": [0.0, 120.0, 240.0],
            "saturation": 100.0,
            "lightness": 50.0,
        }
    )


def rectangles(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_swatches_have_the_context_s_colors_and_mark_the_target():
    ax = plot_context(context(), "the $green$ one", note="(descriptive)")
    swatches = rectangles(ax)
    assert [patch.get_facecolor() for patch in swatches] == [
        to_rgba(color) for color in ("#FF0000", "#00FF00", "#0000FF")
    ]
    assert np.argmax([patch.get_linewidth() for patch in swatches]) == 1
    (marker,) = ax.lines
    assert marker.get_xdata()[0] == 1.5
    assert ax.get_title(loc="left") == "“the $green$ one” (descriptive)"
    ax.figure.draw_without_rendering()


def test_bars_are_as_wide_as_probable():
    ax = plot_context(
        context(), probabilities={"literal": [0.2, 0.5, 0.3], "human": [0, 1, np.nan]}
    )
    bars = [p for p in rectangles(ax) if p.get_facecolor() == to_rgba("#BBBBBB")]
    np.testing.assert_allclose([p.get_width() / 0.9 for p in bars], [0.2, 0.5, 0.3, 0, 1])
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["literal", "0.20", "0.50", "0.30", "human", "0.00", "1.00", "–"]


@pytest.mark.parametrize(
    ("changes", "probabilities", "message"),
    [
        ({"is_target": False}, {}, "context has 0 targets: mark exactly one"),
        ({"hue": 361.0}, {}, r"hue \(0 to 360\).*got \[361\.0, 100\.0, 50\.0\]"),
        ({}, {"L": [0.5, 0.5]}, "probabilities of 'L' must be 3 numbers"),
        ({}, {"L": [0.5, 0.5, 1.1]}, "between 0 and 1"),
    ],
)
def test_what_is_no_context_is_refused(changes, probabilities, message):
    with pytest.raises(ValueError, match=message):
        plot_context(context().assign(**changes), probabilities=probabilities)


def small_multiples(n):
    contexts = pd.concat([context().assign(item_id=f"i{k}") for k in range(n)])
    captions = pd.DataFrame({"output_id": [f"o{k}" for k in range(n)], "text": "a green that is"})
    captions = captions.assign(item_id=[f"i{k}" for k in range(n)], system="descriptive")
    rows = [
        (f"o{k}", state, listener, value)
        for k in range(n)
        for listener in ("literal", "human")
        # in another order than the context's
        for state, value in (("c3", 0.1), ("c1", 0.2), ("c2", 0.7))
    ]
    names = ["output_id", "state", "listener", "probability"]
    return contexts, captions, pd.DataFrame(rows, columns=names)


def test_probabilities_are_joined_by_state():
    panels = plot_contexts(*small_multiples(3))
    assert len(panels) == 3
    assert [t.get_text() for t in panels[2].texts][:4] == ["literal", "0.20", "0.70", "0.10"]
    contexts, captions, probabilities = small_multiples(1)
    twice = pd.concat([probabilities, probabilities])
    with pytest.raises(ValueError, match="two of one listener"):
        plot_contexts(contexts, captions, twice)
    with pytest.raises(ValueError, match="no item 'i9'"):
        plot_contexts(contexts, captions.assign(item_id="i9"), probabilities)


def test_ten_contexts_fit_a_page_without_touching():
    with plt.rc_context(paper_style()):
        fig = plt.figure(figsize=(TWO_COLUMN, 6.5), layout="constrained")
        panels = plot_contexts(*small_multiples(10))
        fig.draw_without_rendering()
        boxes = [panel.get_tightbbox() for panel in panels]
        page = fig.bbox
        for n, box in enumerate(boxes):
            assert page.x0 <= box.x0
            assert box.x1 <= page.x1 + 1
            assert not any(box.overlaps(other) for other in boxes[n + 1 :])


@pytest.fixture
def bins():
    rows = [
        (stage, p, p if stage == "after" else 0.5 + (p - 0.5) / 2)
        for stage in ("before", "after")
        for p in np.linspace(0.05, 0.95, 10)
    ]
    table = pd.DataFrame(rows, columns=["stage", "probability", "share"])
    table["ci_low"], table["ci_high"] = table["share"] - 0.02, table["share"] + 0.02
    return table.assign(ece=np.where(table["stage"] == "before", 0.225, 0.0))


def test_a_reliability_diagram_has_a_line_for_each_stage(bins):
    with plt.rc_context(paper_style()):
        _, ax = plt.subplots(figsize=(ONE_COLUMN, 3.2), layout="constrained")
        plot_reliability(bins, ax=ax)
    diagonal, before, after = ax.lines
    assert np.array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    assert np.allclose(after.get_xdata(), after.get_ydata())
    assert np.allclose(before.get_ydata(), bins.query("stage == 'before'")["share"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["before (ECE 0.225)", "after (ECE 0.000)"]
    assert not alike_in_gray(ax)


def test_empty_bins_are_left_out_and_percentages_refused(bins):
    bins.loc[2, "share"] = np.nan
    plain = bins[["probability", "share"]].head(5)
    ax = plot_reliability(plain)
    assert len(ax.lines[1].get_xdata()) == 4
    assert ax.get_legend() is None
    with pytest.raises(ValueError, match=r"probability = 5: it must be between 0 and 1"):
        plot_reliability(plain.assign(probability=plain["probability"] * 100))
    with pytest.raises(ValueError, match="only 4 can be told apart"):
        plot_reliability(pd.concat([plain.assign(stage=n) for n in range(5)]))
