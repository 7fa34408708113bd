"""Each cell has a measure's verdict on a change and its slope; untested ones are marked."""

from gray import contrast
from plot_samples import TRENDS

import nlgbench as nb


def test_one_matrix_has_slope_and_verdict_of_each_measure_and_change():
    drawn = nb.plot_distributions(TRENDS)
    (ax,) = drawn.axes
    assert {one.get_text(): one.get_position() for one in ax.texts} == {
        "sees the wrong way\n−0.5 [−0.6, −0.4]": (0, 0),
        "not tested\n0.83": (0, 1),
        "not monotone\n0.01 [−0.1, 0.1]": (1, 0),
        "does not see\n0 [−1, 1]": (1, 1),
    }
    said = 'temperature: MMD², linear "sees the wrong way" (slope -0.5), Coverage "not tested"'
    assert said in drawn.alt


def test_what_was_not_tested_is_hatched_and_explained():
    (ax,) = nb.plot_distributions(TRENDS).axes
    assert [bool(one.get_hatch()) for one in ax.patches] == [False, True, False, False]
    assert ax.get_xlabel().endswith("Hatched: not tested (see the column reason).")
    (ax,) = nb.plot_distributions(TRENDS[TRENDS["verdict"] != ""]).axes
    assert "Hatched" not in ax.get_xlabel()
    for patch in ax.patches:
        assert contrast(patch.get_facecolor(), "black") > 7
