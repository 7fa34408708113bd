"""Recomputed numbers are drawn against printed ones, with open marks for other conditions."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.plots.figures import canvas

ROWS = pd.DataFrame(
    {
        "claim_id": [f"huse/table1/lm_t1.0/{name}" for name in ("huse", "huse_q", "huse_d")]
        + ["huse/table2/quality_failure_model/hj", "comm-eval/table1/a/pearson"],
        "published": [0.5, 0.6, 0.7, 4.0, 0.5],
        "recomputed": [0.5, 0.65, 0.7, 4.1, np.nan],
        "ci_low": [0.4, np.nan, np.nan, np.nan, np.nan],
        "ci_high": [0.6, np.nan, np.nan, np.nan, np.nan],
        "variant": "",
        "verdict": ["matches", "differs", "new", "matches", "not recomputable"],
        "source": "released",
    }
)
FOUND = nb.reproduction(ROWS)


def test_each_value_has_a_point_and_those_of_other_conditions_are_open():
    drawn = nb.plot_reproduction(FOUND, paper="huse")
    left, right = drawn.axes
    assert right.get_title() == "Mean rating, from data"
    _, points = left.collections
    np.testing.assert_allclose(points.get_offsets(), [[0.5, 0.5], [0.6, 0.65], [0.7, 0.7]])
    faces = points.get_facecolor()
    assert (faces[0] == faces[1]).all() and faces[2].tolist() == [1, 1, 1, 1]
    assert "4 values. Verdicts: matches: 2, differs: 1, under other" in drawn.alt
    assert len(drawn.data) == 4


def test_one_paper_alone_need_not_be_named_and_others_are_refused():
    assert nb.plot_reproduction(FOUND).alt.startswith("huse")
    with pytest.raises(ValueError, match=r"paper: 'hus' is unknown. Did you mean 'huse'"):
        nb.plot_reproduction(FOUND, paper="hus")
    with pytest.raises(ValueError, match="no number was recomputed"):
        nb.plot_reproduction(FOUND[FOUND["recomputed"].isna()])
    axes = canvas(6, 3, columns=2)[1]
    assert nb.plot_reproduction(FOUND, ax=axes).axes == axes
