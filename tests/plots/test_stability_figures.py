"""Every subsample size, combination of settings and text is drawn, with the true values."""

import numpy as np
import pandas as pd
from plot_samples import MULTIVERSE, STABILITY, TYPICAL

from nlgbench.plots.multiverse import plot_multiverse
from nlgbench.plots.stability import plot_stability
from nlgbench.plots.typicality import plot_typicality

TRUTH = pd.DataFrame([{"system": "lstm", "huse": 0.45}])
R = pd.DataFrame({"x": ["logprob", "logprob_per_token"], "pearson": [0.7, 0.9]})
R = R.assign(ci_low=0.5, ci_high=0.94, confidence=0.9)


def test_stability_draws_a_line_and_a_band_for_each_score_in_order_of_size():
    drawn = plot_stability(STABILITY, truth=TRUTH)
    (huse, truth), (huse_q,) = (ax.lines for ax in drawn.axes)
    assert huse.get_xydata().tolist() == [[20, 0.7], [50, 0.5]]
    assert huse_q.get_ydata().tolist() == [0.8, 0.6]
    assert set(truth.get_ydata()) == {0.45}
    assert drawn.notes.startswith("Bands contain 90% of this") and "Dashed" in drawn.notes


def test_multiverse_draws_every_combination_and_marks_the_papers():
    drawn = plot_multiverse(MULTIVERSE)
    (ax,) = drawn.axes
    assert "lstm, HUSE: 0.40 to 0.60; lstm, HUSE-Q: 0.70 to 0.90." in drawn.alt
    dots = [c.get_offsets() for c in ax.collections if len(c.get_offsets())]
    drawn = np.sort(np.concatenate([one[:, 1] for one in dots]))
    marked = MULTIVERSE.loc[MULTIVERSE["paper"], "estimate"]
    lacking = plot_multiverse(MULTIVERSE.assign(estimate=[np.nan, *MULTIVERSE["estimate"][1:]]))
    assert "1 of 6 undefined" in lacking.alt
    assert np.allclose(drawn, np.sort(pd.concat([MULTIVERSE["estimate"], marked])))


def test_typicality_draws_each_text_with_its_interval_on_both_axes():
    drawn = plot_typicality(TYPICAL, r=R)
    whole, per_token = drawn.axes
    assert whole.lines[0].get_xydata().tolist() == [[-12, 2], [-8, 4]]
    assert per_token.lines[0].get_xydata().tolist() == [[-2, 2], [-1, 4]]
    assert "(nats): Pearson's r 0.70, 90% interval 0.50 to 0.94." in drawn.notes
    assert "Pearson's r 0.90" in drawn.notes and "text" not in drawn.data
