"""Power curves are drawn by number of annotators."""

import pandas as pd

import nlgbench as nb

CURVE = pd.DataFrame(
    {"n_items": [100, 50, 50, 100], "n_annotators": [10, 10, 20, 20], "power": [0.4, 0.3, 0.5, 0.9]}
)


def test_lines_are_the_power_by_number_of_annotators():
    drawn = nb.plot_plan(CURVE)
    (ax,) = drawn.axes
    wanted, *lines = [line for line in ax.lines if len(line.get_xdata())]
    assert wanted.get_ydata() == [0.8, 0.8]
    assert lines[0].get_xydata().tolist() == [[50, 0.3], [100, 0.4]]
    assert lines[1].get_xydata().tolist() == [[50, 0.5], [100, 0.9]]
    assert "with 20 annotators, 0.50 at 50 and 0.90 at 100" in drawn.alt


def test_plans_are_drawn_as_they_come():
    stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    drawn = nb.plot_plan(nb.plan_study(stated, difference=0.3))
    assert len(drawn.data) == 16
    (ring,) = (line for line in drawn.axes[0].lines if line.get_marker() == "o")
    assert ring.get_label() == "cheapest design"
    effect = "difference of 0.3 between two means, in points"
    assert effect in drawn.alt and "Ring: the cheapest design with a power of 0.8" in drawn.notes
    blocked = nb.plan_study(stated, difference=0.3, design="blocked", n_votes=3)
    assert " with 3 annotators per output or pair by number" in nb.plot_plan(blocked).alt
