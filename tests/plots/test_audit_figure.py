"""The page of an audit shows each estimate and verdict, and can be read at print size."""

import dataclasses

import numpy as np
import pytest
from gray import assert_readable

import nlgbench as nb
from nlgbench.plots.style import ACCENT, ESTIMATE


@pytest.fixture(scope="module")
def audited():
    study = nb.simulate("judges", n_items=400, seed=5)
    return nb.audit(study, authors=study.truth["judges"].set_index("judge")["system"].to_dict())


def test_the_look_of_an_estimate_is_that_of_its_verdict(audited):
    drawn = nb.plot_audit(audited)
    rows = audited.findings.set_index(["evaluator", "test"])
    lanes = [tick.get_text() for tick in drawn.axes[0].get_yticklabels()]
    at = dict(zip(lanes, drawn.axes[0].get_yticks(), strict=True))
    assert lanes[:5] == ["fair", "hasty", "wordy", "vain", "certain"] and len(lanes) == 9
    look = {"ruled out": (ESTIMATE, "o"), "not shown": ("#777777", "o")}
    look |= dict.fromkeys(["found", "significant"], (ACCENT, "s"))
    marks = {
        place: (line.get_color(), line.get_marker())
        for line in drawn.axes[2].lines
        for place in map(tuple, line.get_xydata().round(9))
    }
    for name in lanes[:5]:
        row = rows.loc[(name, "length")]
        place = tuple(np.round([row["estimate"], at[name]], 9))
        assert marks[place] == look[row["verdict"]]
    assert "Biases found: wordy (length), vain (own); inconclusive: 5 of 15 tests." in drawn.alt
    untested = audited.findings.copy()
    untested.loc[untested["test"] == "own", "p_adjusted"] = np.nan
    alt = nb.plot_audit(dataclasses.replace(audited, findings=untested)).alt
    assert "Biases found: wordy (length); inconclusive: " in alt and " of 10 tests." in alt


def test_the_page_can_be_read_and_tests_of_no_judge_have_no_panel(audited):
    assert_readable(nb.plot_audit(audited))
    known = audited.findings["test"].isin(["consistency", "position"])
    bare = dataclasses.replace(
        audited, findings=audited.findings[known], calibration=audited.calibration[:0]
    )
    drawn = nb.plot_audit(bare)
    titles = [ax.get_title() for ax in drawn.axes]
    assert titles == ["Same verdict\nin both orders", "Gain when\nshown first"]
