"""Each cell has a measure's verdict on a change and its slope; untested ones are marked."""

import numpy as np
from gray import contrast
from plot_samples import TRENDS

import nlgbench as nb


def test_one_matrix_has_slope_and_verdict_of_each_measure_and_change():
    drawn = nb.plot_distributions(TRENDS)
    (ax,) = drawn.axes
    assert {one.get_text(): one.get_position() for one in ax.texts} == {
        "detects the reverse\n−0.5 [−0.6, −0.4]": (0.5, 0.5),
        "not tested\n0.83": (0.5, 1.5),
        "not monotone\n0.01 [−0.1, 0.1]": (1.5, 0.5),
        "inconclusive\n0 [−1, 1]": (1.5, 1.5),
    }
    said = 'temperature: MMD², linear "detects the reverse" (slope -0.5), Coverage "not tested"'
    assert said in drawn.alt


def test_what_was_not_tested_is_gray_and_explained():
    (ax,) = nb.plot_distributions(TRENDS).axes
    ax.figure.draw_without_rendering()
    colors = ax.collections[0].get_facecolors()
    assert [np.ptp(color[:3]) == 0 for color in colors] == [False, False, True, True]
    assert [color[0] == 1 for color in colors[2:]] == [False, True], "white has a verdict"
    assert min(contrast(color, "black") for color in colors) > 7
    assert ax.get_xlabel().endswith("Gray: not tested (see the column reason).")
    (ax,) = nb.plot_distributions(TRENDS[TRENDS["verdict"] != ""]).axes
    assert "Gray" not in ax.get_xlabel() and len(ax.texts) == 3
