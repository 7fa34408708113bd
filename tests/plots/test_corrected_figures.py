"""Corrected means are drawn with the means that they correct."""

from plot_samples import CORRECTED

import nlgbench as nb
from nlgbench.plots.figures import canvas


def test_each_of_three_methods_has_its_mark():
    drawn = nb.plot_corrected(CORRECTED)
    ax, own = drawn.axes
    lines = {line.get_label(): line for line in [*ax.lines, *own.lines]}
    for name, places in {
        "labels alone": [[3, -0.24], [1, 0.76]],
        "evaluator alone": [[5, 0], [4, 1]],
        "corrected": [[3.2, 0.24]],
    }.items():
        assert lines[name].get_xydata().round(2).tolist() == places
    # An evaluator's own mean may be on another scale: it is not on the axis of judgments.
    assert own.collections and max(ax.get_xlim()) < 4.5 < max(own.get_xlim())
    assert [text.get_text() for text in own.texts] == ["labels\nsaved", "\u22123"]
    assert drawn.alt.startswith("Means by system (labels alone, evaluator alone, ")


def test_a_result_is_drawn_and_says_what_was_labelled():
    study = nb.simulate("own", n_items=30, seed=0)
    found = nb.corrected_quality(study, evaluator="close", sampling="random")
    drawn = nb.plot_corrected(found)
    assert drawn.data[list(found.systems)].equals(found.systems)
    n = found.systems.query("method == 'labels alone'")[["n_labels", "n_outputs"]].sum()
    title = drawn.axes[0].get_legend().get_title().get_text()
    covers = "intervals generalize to other items and annotators"
    assert title == f"Labels for {n['n_labels']} of {n['n_outputs']} outputs; {covers}"
    assert title in drawn.alt
    (one,) = nb.plot_corrected(found, ax=canvas(4, 2)[1][0]).axes
    assert len(one.lines) == 2 + len(found.systems["system"].unique()) - 1
