"""Judges audited, on one page: what is on the panels, and that it can be read at print size."""

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.plots.style import HUMAN, SYSTEM


@pytest.fixture(scope="module")
def audited():
    study = nb.simulate("judges", n_items=400, seed=5)
    wrote = study.truth["judges"].set_index("judge")["system"].to_dict()
    return nb.audit(study, authors=wrote)


def test_estimates_stand_in_lanes_and_look_as_their_verdict(audited):
    drawn = nb.plot_audit(audited)
    rows = audited.findings.set_index(["evaluator", "test"])
    lanes = [tick.get_text() for tick in drawn.axes[0].get_yticklabels()]
    at = dict(zip(lanes, drawn.axes[0].get_yticks(), strict=True))
    assert lanes[:5] == ["fair", "hasty", "wordy", "vain", "certain"] and len(lanes) == 9
    look = {
        "found": (SYSTEM, "s"),
        "significant": (SYSTEM, "s"),
        "acquitted": (HUMAN, "o"),
        "not shown": ("#777777", "o"),
    }
    for ax, test in zip(drawn.axes[1:4], ("position", "length", "own"), strict=True):
        drawn_at = {}
        for line in ax.lines:
            for x, y in line.get_xydata():
                drawn_at[round(x, 9), round(y, 9)] = (line.get_color(), line.get_marker())
        for name in lanes[:5]:
            row = rows.loc[(name, test)]
            place = (round(row["estimate"], 9), round(at[name], 9))
            assert drawn_at[place] == look[row["verdict"]]
    assert "Found: wordy length, vain own." in drawn.alt


def test_only_judges_with_probabilities_are_in_the_reliability_diagram(audited):
    wide = nb.plot_audit(audited).axes[-1]
    assert [text.get_text() for text in wide.get_legend().get_texts()] == [
        *("fair", "hasty", "wordy", "vain", "certain")
    ]
    bins = audited.calibration.query("evaluator == 'certain'")
    points = wide.lines[-1].get_xydata()
    assert np.allclose(points, bins[["said", "people"]].to_numpy(dtype=float))


def test_nothing_overlaps_at_print_size(audited):
    drawn = nb.plot_audit(audited)
    drawn.figure.draw_without_rendering()
    texts = [
        text
        for ax in drawn.axes
        for text in [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.get_yticklabels()]
        if text.get_text()
    ]
    texts += drawn.figure.legends[0].get_texts()
    boxes = [text.get_window_extent() for text in texts]
    frame = drawn.figure.bbox
    for n, box in enumerate(boxes):
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1, texts[n]
        assert not any(box.overlaps(other) for other in boxes[n + 1 :]), texts[n]


def test_judges_without_probabilities_or_people_are_drawn(audited):
    study = nb.simulate("judges", n_items=20, seed=1)
    chance = study.comparisons[["prob_a", "prob_b"]].to_numpy()
    hard = study.comparisons.assign(prob_tie=0.0)
    hard[["prob_a", "prob_b"]] = (chance == chance.max(axis=1, keepdims=True)).astype(float)
    bare = study.replace(preferences=None, judgments=None, settings={}, comparisons=hard)
    drawn = nb.plot_audit(nb.audit(bare))
    # No panel of what is not known of any judge, and no mark in the legend that is not drawn.
    titles = [ax.get_title() for ax in drawn.axes]
    assert len(titles) == 2 and "Its own system gains" not in titles
    assert not any(title.startswith("Calibration") for title in titles)
    words = [text.get_text() for text in drawn.figure.legends[0].get_texts()]
    assert "an annotator's own" not in words and "not tested" in words
