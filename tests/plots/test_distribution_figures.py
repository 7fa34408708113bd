"""Measures over a series, and power curves: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from gray import MARKS, lightness

import nlgbench as nb
from nlgbench.plots.figures import canvas
from nlgbench.plots.style import GROUPS

TABLE = pd.DataFrame(
    {
        "system": ["t0.5", "t1.0"] * 2,
        "measure": ["mmd_linear"] * 2 + ["huse"] * 2,
        "estimate": [0.3, 0.0, 0.4, 0.9],
        "ci_low": [0.2, -0.1, 0.3, 0.8],
        "ci_high": [0.4, 0.1, 0.5, np.nan],
        "p_value": [0.01, 0.6, np.nan, np.nan],
        "between_people": [0.01, 0.01, np.nan, np.nan],
    }
)
LEVELS = {"t1.0": 1.0, "t0.5": 0.5}
TRUTH = pd.DataFrame({"system": ["t1.0", "t0.5"], "huse": [1.0, 0.35], "l_star": [1.0, 0.3]})
TRENDS = pd.DataFrame(
    {"measure": ["mmd_linear", "huse"], "truth": "l_star", "verdict": ["sees the wrong way", ""]}
)
POWERS = pd.DataFrame(
    {
        "measure": ["vendi"] * 2 + ["recall"] * 2,
        "n": [100, 50] * 2,
        "power": [0.9, 0.4, 0.3, 0.1],
        "se": 0.03,
    }
)


def test_a_panel_for_each_measure_in_the_order_of_levels():
    drawn = nb.plot_distributions(TABLE, levels=LEVELS, xlabel="temperature", truth=TRUTH)
    mmd, huse = drawn.axes
    assert mmd.lines[0].get_xydata().tolist() == [[0, 0.0], [1, 0.3]]
    assert [one.get_text() for one in mmd.get_xticklabels()] == ["1.0", "0.5"]
    assert mmd.get_title().endswith("↓") and huse.get_title() == "HUSE ↑"
    crosses = huse.collections[-1]
    assert crosses.get_offsets().tolist() == [[0, 1.0], [1, 0.35]]
    assert drawn.data.query("measure == 'huse'")["true"].tolist() == [0.35, 1.0]
    (between,) = [line for line in mmd.lines if set(line.get_ydata()) == {0.01}]
    assert between.get_linestyle() == ":"


def test_points_are_filled_by_their_test():
    drawn = nb.plot_distributions(TABLE, levels=LEVELS)
    found, missed, untested = (one for one in drawn.axes[0].collections[1:4])
    assert found.get_offsets().tolist() == [[1, 0.3]]
    assert missed.get_offsets().tolist() == [[0, 0.0]] and not len(untested.get_offsets())
    light = sorted(lightness(one.get_facecolor()[0]) for one in drawn.axes[0].collections[1:4])
    assert min(np.diff(light)) > MARKS


def test_verdicts_stand_below_the_names_and_in_the_words():
    drawn = nb.plot_distributions(TABLE, levels=LEVELS, xlabel="temperature", trends=TRENDS)
    said = [[text.get_text() for text in ax.texts] for ax in drawn.axes]
    assert said == [["sees the wrong way: L*"], ["no verdict"]]
    assert drawn.alt == (
        "2 measures of 2 systems by temperature (1.0, 0.5), with intervals; verdicts say whether "
        "each follows the truth. MMD², linear (sees the wrong way: L*): 0, 0.3; HUSE (no verdict): "
        "0.9, 0.4."
    )


def test_without_levels_systems_are_named_and_axes_may_be_given():
    figure, axes = canvas(4, 2, columns=2)
    drawn = nb.plot_distributions(TABLE, ax=axes)
    assert drawn.figure is figure and drawn.axes == axes
    assert [one.get_text() for one in axes[0].get_yticklabels()] == ["t0.5", "t1.0"]
    assert axes[0].collections[1].get_offsets().tolist() == [[0.3, 0]], "values go to the right"
    assert axes[0].yaxis_inverted(), "the first system is on top"
    with pytest.raises(ValueError, match="ax must be 2 Axes"):
        nb.plot_distributions(TABLE, ax=axes[0])


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(ValueError, match=r"no row of system 't0.1': leave it out of levels"):
        nb.plot_distributions(TABLE, levels=LEVELS | {"t0.1": 0.1})
    with pytest.raises(ValueError, match=r"'mmd_linear' of system 't0.5' twice"):
        nb.plot_distributions(pd.concat([TABLE, TABLE]))
    with pytest.raises(ValueError, match=r"truth has system 't1.0' twice"):
        nb.plot_distributions(TABLE, truth=pd.concat([TRUTH, TRUTH]))
    with pytest.raises(ValueError, match="several rows of 'mmd_linear'"):
        nb.plot_distributions(TABLE, trends=pd.concat([TRENDS, TRENDS]))


def test_power_is_a_line_per_measure_in_order_of_n():
    drawn = nb.plot_power(POWERS)
    (ax,) = drawn.axes
    lines = [one for one in ax.lines if len(one.get_xdata()) == 2 and one.get_marker() != "None"]
    assert [one.get_ydata().tolist() for one in lines] == [[0.4, 0.9], [0.1, 0.3]]
    assert len({one.get_marker() for one in lines}) == 2, "or gray would leave them alike"
    bars = ax.containers[0].lines[2][0].get_segments()
    assert [round(top - low, 4) for (_, low), (_, top) in bars] == [2 * 1.96 * 0.03] * 2
    assert drawn.alt == (
        "Power by the number of texts, 50 to 100. Vendi score: 0.40, 0.90; Recall: 0.10, 0.30."
    )


def test_power_has_panels_and_refuses_more_lines_than_looks():
    both = pd.concat([POWERS.assign(panel=one) for one in ("memory", "corruption")])
    drawn = nb.plot_power(both)
    assert [ax.get_title() for ax in drawn.axes] == ["memory", "corruption"]
    assert "memory, Vendi score: 0.40, 0.90" in drawn.alt
    many = [POWERS.assign(measure=f"m{n}") for n in range(2 * len(GROUPS) + 1)]
    with pytest.raises(ValueError, match="15 measures, and 14 lines"):
        nb.plot_power(pd.concat(many).drop_duplicates(["measure", "n"]))
    with pytest.raises(ValueError, match="ax must be 2 Axes"):
        nb.plot_power(both, ax=canvas(3, 3)[1])
