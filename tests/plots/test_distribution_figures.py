"""Measures over changes, and power curves: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from gray import contrast

import nlgbench as nb
from nlgbench.plots.figures import canvas
from nlgbench.plots.style import GROUPS

TRENDS = pd.DataFrame(
    {
        "measure": ["mmd_linear", "coverage"] * 2,
        "change": ["temperature"] * 2 + ["corruption"] * 2,
        "slope": [-0.5, 0.83, 0.01, 0.0],
        "ci_low": [-0.6, np.nan, -0.1, -1.0],
        "ci_high": [-0.4, np.nan, 0.1, 1.0],
        "verdict": ["sees the wrong way", "", "not monotone", "does not see"],
    }
)
POWERS = pd.DataFrame(
    {
        "measure": ["vendi"] * 2 + ["recall"] * 2,
        "n": [100, 50] * 2,
        "power": [0.9, 0.4, 0.3, 0.1],
        "se": 0.03,
    }
)


def test_one_matrix_has_slope_and_verdict_of_each_measure_and_change():
    drawn = nb.plot_distributions(TRENDS)
    (ax,) = drawn.axes
    assert [one.get_text() for one in ax.get_yticklabels()] == ["MMD², linear", "Coverage"]
    assert [one.get_text() for one in ax.get_xticklabels()] == ["temperature", "corruption"]
    assert {one.get_text(): one.get_position() for one in ax.texts} == {
        "sees the wrong way\n−0.5 [−0.6, −0.4]": (0, 0),
        "not tested\n0.83": (0, 1),
        "not monotone\n0.01 [−0.1, 0.1]": (1, 0),
        "does not see\n0 [−1, 1]": (1, 1),
    }
    assert drawn.alt == (
        "Whether each measure follows the truth. temperature: MMD², linear sees the wrong way "
        "(slope -0.5), Coverage not tested (slope 0.83); corruption: MMD², linear not monotone "
        "(slope 0.01), Coverage does not see (slope 0)."
    )


def test_what_was_not_tested_is_hatched_and_explained():
    (ax,) = nb.plot_distributions(TRENDS).axes
    assert [bool(one.get_hatch()) for one in ax.patches] == [False, True, False, False]
    assert ax.get_xlabel().endswith("Hatched: some systems have no standard error.")
    (ax,) = nb.plot_distributions(TRENDS[TRENDS["verdict"] != ""]).axes
    assert "Hatched" not in ax.get_xlabel()
    for patch in ax.patches:
        assert contrast(patch.get_facecolor(), "black") > 7


def test_a_cell_holds_one_slope():
    with pytest.raises(ValueError, match="several rows of 'mmd_linear' for the change 'temperat"):
        nb.plot_distributions(pd.concat([TRENDS, TRENDS]))


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
