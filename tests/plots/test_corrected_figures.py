"""Corrected means are drawn with the means that they correct."""

from plot_samples import CORRECTED

import nlgbench as nb


def test_each_of_three_methods_has_its_mark():
    drawn = nb.plot_corrected(CORRECTED)
    (ax,) = drawn.axes
    lines = {line.get_label(): line for line in ax.lines}
    for name, places in {
        "labels alone": [[3, -0.24], [1, 0.76]],
        "evaluator alone": [[5, 0], [4, 1]],
        "corrected": [[3.2, 0.24]],
    }.items():
        assert lines[name].get_xydata().round(2).tolist() == places
    assert [text.get_text() for text in ax.texts] == ["labels\nsaved by\ncorrection", "\u22123"]
    is_evaluator = CORRECTED["method"] == "evaluator alone"
    percent = CORRECTED.assign(estimate=CORRECTED["estimate"] * (1 + 99 * is_evaluator))
    scaled = nb.plot_corrected(percent)
    assert max(scaled.axes[0].get_xlim()) < 5 and "means are on another scale" in scaled.notes
    assert drawn.alt.startswith("Means by system (labels alone, evaluator alone, ")


def test_a_result_is_drawn_and_says_what_was_labelled():
    study = nb.simulate("own", n_items=30, seed=0)
    found = nb.corrected_quality(study, evaluator="close", sampling="random")
    drawn = nb.plot_corrected(found)
    assert drawn.data[list(found.systems)].equals(found.systems)
    n = found.systems.query("method == 'labels alone'")[["n_labels", "n_outputs"]].sum()
    covers = "Intervals generalize to other items and other annotators."
    start = f"Labels for {n['n_labels']} of {n['n_outputs']} outputs. {covers} Thin lines: 95%"
    assert drawn.notes.startswith(start)
