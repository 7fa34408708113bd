"""Printed against recomputed: what is on the axes."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.plots.figures import canvas

ROWS = pd.DataFrame(
    {
        "claim_id": [f"huse/table1/row{n}/huse" for n in range(3)]
        + ["huse/table2/a/hj", "comm-eval/table1/a/pearson"],
        "published": [0.5, 0.6, 0.7, 4.0, 0.5],
        "recomputed": [0.5, 0.65, 0.7, 4.1, np.nan],
        "ci_low": [0.4, np.nan, np.nan, np.nan, np.nan],
        "ci_high": [0.6, np.nan, np.nan, np.nan, np.nan],
        "variant": "",
        "verdict": ["matches", "differs", "new", "matches", "not recomputable"],
        "source": "released",
    }
)
UNITS = ROWS[["claim_id"]].assign(unit=["score, 0 to 1"] * 3 + ["mean rating", "correlation"])
FOUND = nb.reproduction(ROWS, claims=UNITS)


def test_values_stand_beside_the_line_and_the_differing_one_is_named():
    drawn = nb.plot_reproduction(FOUND, paper="huse")
    left, right = drawn.axes
    assert left.get_title() == "Share or score, from data"
    assert right.get_title() == "Mean rating, from data"
    line, alike, other = left.lines
    assert (line.get_xdata() == line.get_ydata()).all()
    np.testing.assert_allclose(alike.get_xydata(), [[0.5, 0.5], [0.6, 0.65]])
    np.testing.assert_allclose(other.get_xydata(), [[0.7, 0.7]])
    assert alike.get_markerfacecolor() != other.get_markerfacecolor() == "white"
    (segment,) = left.collections[0].get_segments()
    assert segment[:, 1].tolist() == [0.4, 0.6]
    assert [text.get_text() for text in left.texts] == ["1"]
    below = drawn.figure.get_supxlabel()
    assert "1  Table 1, row1, huse: printed 0.6, recomputed 0.65" in below
    assert "Open marks: recomputed under other conditions" in below
    assert drawn.alt == (
        "huse, printed against recomputed: 4 values, of which 2 match, 1 differs, 1 were "
        "recomputed under other conditions than the paper's."
    )
    assert len(drawn.data) == 4


def test_one_paper_alone_need_not_be_named_and_others_are_refused():
    assert nb.plot_reproduction(FOUND).alt.startswith("huse")
    with pytest.raises(ValueError, match="no number of 'comm-eval' was recomputed"):
        nb.plot_reproduction(FOUND, paper="comm-eval")
    with pytest.raises(ValueError, match="no paper 'hus'"):
        nb.plot_reproduction(FOUND, paper="hus")
    axes = canvas(6, 3, columns=2)[1]
    assert nb.plot_reproduction(FOUND, ax=axes).axes == axes
    with pytest.raises(ValueError, match="ax must be 2 Axes"):
        nb.plot_reproduction(FOUND, ax=axes[:1])


def test_many_tables_are_drawn_and_the_smallest_together():
    many = pd.concat([ROWS.iloc[:1].assign(claim_id=f"study/x/table{n}/row/col") for n in range(9)])
    drawn = nb.plot_reproduction(nb.reproduction(many))
    texts = [text.get_text() for text in drawn.axes[0].get_legend().get_texts()]
    assert len(texts) == 7 and "others" in texts
