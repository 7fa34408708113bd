"""Violins, contexts and reliability diagrams show the scores, colors and shares of their data."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from plot_samples import bins, colored

from nlgbench.plots.reliability import plot_reliability
from nlgbench.plots.swatches import plot_contexts
from nlgbench.plots.violins import plot_violins
from nlgbench.study import Study

QUALITIES = ("descriptive", "ambiguous", "misleading")


def scored(table):
    """A study of texts by quality, with the scores of two evaluators."""
    outputs = table[["output_id", "system"]].drop_duplicates("output_id").assign(item_id="i")
    columns = ["output_id", "evaluator", "score", "signature"]
    return Study(outputs, scores=table.assign(signature="")[columns])


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    one = pd.DataFrame({"system": np.repeat(QUALITIES, 50), "score": rng.beta(0.5, 0.5, 150)})
    one["output_id"] = one["system"] + one.index.astype(str)
    judged = one["score"].round().where(one["system"] != "misleading", 0.0)
    both = [one.assign(evaluator="bleu_1"), one.assign(evaluator="human", score=judged)]
    return pd.concat(both, ignore_index=True)


def test_each_evaluator_has_a_panel_and_each_quality_a_violin(scores):
    panels = plot_violins(scored(scores)).axes
    assert [panel.get_title() for panel in panels] == ["BLEU-1", "Human"]
    assert [label.get_text() for label in panels[0].get_xticklabels()] == list(QUALITIES)
    bodies = panels[0].collections
    heights = np.concatenate([line.get_ydata() for line in panels[0].lines])
    for place, quality in enumerate(QUALITIES):
        chosen = scores["evaluator"].eq("bleu_1") & scores["system"].eq(quality)
        values = scores.loc[chosen, "score"].to_numpy()
        outline = bodies[place].get_paths()[0].vertices
        ends = [values.min(), values.max()]
        assert [outline[:, 1].min(), outline[:, 1].max()] == ends
        assert np.isclose(heights, values.mean()).any()


def test_a_score_out_of_bounds_is_refused(scores):
    scores.loc[0, "score"] = 7.5
    study = scored(scores)
    with pytest.raises(ValueError, match=r"bleu_1 has a score of 7\.5 outside its range, 0 to 1"):
        plot_violins(study)
    # The range is what the signature says; it is shown up to the highest.
    said = study.replace(scores=study.scores.assign(signature="CIDEr|scale:0-10|level:output"))
    low, high = plot_violins(said).axes[0].get_ylim()
    assert low < 0
    assert high == pytest.approx(1.05 * 7.5)


def rectangles(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def test_swatches_have_the_context_s_colors_and_mark_the_target():
    study, believed = colored(text="the $green$ one")
    (ax,) = plot_contexts(study, believed).axes
    swatches = [patch for patch in rectangles(ax) if patch.get_height() == 0.8]
    assert [patch.get_facecolor() for patch in swatches] == [*map(to_rgba, ("red", "lime", "blue"))]
    assert np.argmax([patch.get_linewidth() for patch in swatches]) == 1
    assert ax.get_title(loc="left") == "“the $green$ one”\ndescriptive"
    ax.figure.draw_without_rendering()
    scores = pd.DataFrame({"output_id": ["o0"], "evaluator": "bleu_1", "score": 0.5})
    (ax,) = plot_contexts(study.replace(scores=scores), believed, evaluators=["bleu_1"]).axes
    assert ax.get_title(loc="left").endswith("\ndescriptive, BLEU-1 0.50")


def test_the_width_of_a_bar_is_its_probability():
    study, believed = colored()
    believed.loc[believed["evaluator"].eq("human"), "probability"] = [np.nan, 0, 1]
    drawn = plot_contexts(study, believed)
    (ax,) = drawn.axes
    bars = [p for p in rectangles(ax) if p.get_facecolor() == to_rgba("#BBBBBB")]
    np.testing.assert_allclose([p.get_width() / 0.6 for p in bars], [0.2, 0.7, 0.1, 0, 1])
    assert drawn.data["listener"].unique().tolist() == ["literal", "human"]
    two = plot_contexts(*colored(3), outputs=["o2", "o0"])
    assert len(two.axes) == 2 and set(two.data["output_id"]) == {"o0", "o2"}
    # Two of one kind keep their numbers.
    more = believed[believed["evaluator"].eq("literal_0")].assign(evaluator="literal_1")
    two = pd.concat([believed, more])
    assert plot_contexts(study, two).data["listener"].nunique() == 3


def test_a_reliability_diagram_has_a_line_for_each_stage():
    drawn = plot_reliability(bins())
    (ax,) = drawn.axes
    _, before, _ = ax.lines
    assert np.allclose(before.get_ydata(), bins().query("stage == 'before'")["estimate"])
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["before", "after"]
    assert "before 0.225; after 0.000" in drawn.alt
