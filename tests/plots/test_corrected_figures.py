"""Corrected means: what is on the axes."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb

METHODS = ["labels alone", "evaluator alone", "corrected"]
TABLE = pd.DataFrame(
    {
        "system": np.repeat(["b_1", "a"], 3),
        "method": METHODS * 2,
        "estimate": [3.0, 5.0, 3.2, 1.0, 4.0, np.nan],
        "ci_low": [2.0, 4.9, 2.8, 0.5, 3.9, np.nan],
        "ci_high": [4.0, 5.1, 3.6, 1.5, 4.1, np.nan],
        "labels_saved": [0, np.nan, -3.2, 0, np.nan, np.nan],
    }
)


def test_three_methods_stand_in_lanes_and_the_biased_one_is_gray():
    drawn = nb.plot_corrected(TABLE)
    (ax,) = drawn.axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b 1", "a"]
    lines = {
        line.get_label(): line
        for line in ax.lines
        if len(line.get_xydata()) != 2 or not str(line.get_label()).startswith("_")
    }
    shown = {name: line.get_xydata().round(2).tolist() for name, line in lines.items()}
    assert shown == {
        "labels alone": [[3, -0.24], [1, 0.76]],
        "evaluator alone (biased)": [[5, 0], [4, 1]],
        "corrected": [[3.2, 0.24]],
    }
    assert lines["evaluator alone (biased)"].get_color() == "#999999"
    ends = [one[:, 0].tolist() for part in ax.collections for one in part.get_segments()]
    assert ends == [[2, 4], [0.5, 1.5], [4.9, 5.1], [3.9, 4.1], [2.8, 3.6]]
    assert [text.get_text() for text in ax.texts] == ["labels\nsaved", "\u22123"]
    assert drawn.alt.startswith("Mean judgments of 2 systems, by labels alone, evaluator alone and")


def test_a_result_is_drawn_and_wrong_tables_are_refused():
    found = nb.corrected_quality(
        nb.simulate("own", n_items=30, seed=0), evaluator="close", sampling="random"
    )
    assert nb.plot_corrected(found).data.equals(found.systems)
    with pytest.raises(ValueError, match="method 'corected', which is unknown"):
        nb.plot_corrected(TABLE.replace("corrected", "corected"))
    with pytest.raises(ValueError, match="'labels alone' of system 'b_1' twice"):
        nb.plot_corrected(pd.concat([TABLE, TABLE]))
