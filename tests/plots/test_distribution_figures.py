"""Measures over changes, and power curves: what is on the axes."""

import numpy as np
import pandas as pd
import pytest
from gray import contrast

import nlgbench as nb

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
    with pytest.raises(ValueError, match="two rows for measure 'mmd_linear', change 'temperat"):
        nb.plot_distributions(pd.concat([TRENDS, TRENDS]))
