"""Systems, pairs and annotators are sorted, with intervals; doubtful ones have open marks."""

import numpy as np
import pandas as pd
from plot_samples import PEOPLE, SYSTEMS

import nlgbench as nb

PAIRS = pd.DataFrame({"system": [*"aabbcc"], "opponent": [*"bcacab"]})
PAIRS["superiority"] = [0.6, 0.9, 0.4, np.nan, 0.1, np.nan]
PAIRS["verdict"] = ["undecided", "better, equivalent", "undecided", "", "worse", ""]


def test_systems_are_sorted_with_intervals_and_ranks():
    drawn = nb.plot_systems(SYSTEMS)
    (ax,) = drawn.axes
    points, doubtful = ax.lines
    assert points.get_xydata().tolist() == [[4, 0], [3, 1], [1, 2]]
    assert doubtful.get_xydata().tolist() == [[1, 2]] and doubtful.get_mfc() == "white"
    outer, inner = ([one[:, 0] for one in lines.get_segments()] for lines in ax.collections)
    assert np.array(outer).tolist() == [[3.5, 4.5], [2.5, 3.5]]
    assert np.allclose(inner[0], [4 - 0.5 * 0.3441, 4 + 0.5 * 0.3441], atol=1e-4), "half of errors"
    assert [text.get_text() for text in ax.texts] == ["ranks", "1\u20132", "1\u20132", "3"]
    assert "Best first: a 4.00, b 1 3.00, c 1.00. Thin lines:" in drawn.alt


def test_the_axis_names_dimension_scale_and_direction_and_notes_what_intervals_cover():
    more = {"dimension": "MQM error", "scale": "0 to 25", "better": "lower", "confidence": 0.9}
    drawn = nb.plot_systems(SYSTEMS.assign(**more, covers="other items, these annotators"))
    (ax,) = drawn.axes
    assert ax.get_xlabel() == "Mean MQM error (0 to 25, lower is better)"
    covers = "90% intervals generalize to other items with these annotators."
    marks = "Open marks: only 1 item (1 of 3). Ranks: simultaneous ranges."
    lines = "Thin lines: 90% intervals; thick lines: 50%, assuming normal errors."
    assert drawn.notes == f"{covers} {lines} {marks}"
    assert "90% intervals (no interval: 1)" in drawn.alt


def test_superiority_is_shaded_with_a_dot_where_significant():
    drawn = nb.plot_win_rates(PAIRS)
    (ax,) = drawn.axes
    assert ax.collections[-1].get_array().compressed().tolist() == [60, 90]
    assert ax.lines[0].get_xydata().tolist() == [[1.5, 0.5]]
    said = "a, b, c. Significant differences of means: 1 of 2 pairs tested. Undefined: 1 pair."
    assert drawn.alt.endswith(f"{said} {drawn.notes}")


def test_annotators_are_sorted_by_severity():
    (ax,) = nb.plot_severity(PEOPLE).axes
    assert ax.lines[1].get_xydata().tolist() == [[0, 0.5], [1, 0.1], [2, -0.6]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["w3", "w1", "w2"]
    doubtful = PEOPLE.assign(status="few_items")
    assert "that exclude 0: 2 (2 unreliable)." in nb.plot_severity(doubtful).alt


def test_one_endless_interval_does_not_flatten_the_others():
    many = pd.DataFrame({"annotator_id": [f"w{n}" for n in range(60)], "estimate": 0.5})
    many = many.assign(ci_low=0.0, ci_high=1.0)
    many.loc[0, ["ci_low", "ci_high"]] = [-500.0, 500.0]
    (ax,) = nb.plot_severity(many).axes
    assert ax.get_xlabel() == "60 annotators" and not ax.get_xticklabels()
    low, high = ax.get_ylim()
    assert -1 < low < 0 and 1 < high < 2
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "interval exceeds the axis (1 of 60)" in legend
