"""The figure shows the least epsilons and advantages of evaluators that may replace annotators."""

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.judges import Replacement

FOUND = Replacement(
    pd.DataFrame(
        {
            "evaluator": ["a_1", "b", "c"],
            "epsilon": 0.2,
            "omega": [1.0, 0.25, np.nan],
            "estimate": [0.8, 0.6, np.nan],
            "ci_low": [0.7, np.nan, np.nan],
            "ci_high": [0.9, np.nan, np.nan],
            "verdict": ["replaces", "not shown", ""],
            "least_epsilon": [0.1, 0.7, np.nan],
            "status": ["ok", "one_cluster", "other_labels"],
            "reason": ["", "one cluster", "no score is among the values: another scale"],
        }
    ),
    pd.DataFrame({"evaluator": ["a_1", "b", "c"], "label": ["a 1", "b", "c"]}),
    pd.DataFrame(),
    pd.DataFrame({"evaluator": np.repeat(["a_1", "b", "c"], 2), "epsilon": [0.0, 0.1] * 3}).assign(
        omega=[0.25, 1.0, 0.0, 0.25, np.nan, np.nan]
    ),
)


def test_least_epsilons_and_rho_are_those_of_the_tables():
    drawn = nb.plot_replacement(FOUND)
    left, right = drawn.axes
    _, later, passes = left.lines
    assert passes.get_xydata().tolist() == [[0.1, 0]] and passes.get_mfc() != "white"
    assert later.get_xydata()[0].tolist() == [0.7, 1] and later.get_mfc() == "white"
    assert left.get_xlim()[1] >= 0.7, "b's least epsilon is not hidden"
    assert [line.get_xydata()[0].tolist() for line in right.lines] == [[0.6, 1], [0.8, 0]]
    assert [text.get_text() for text in right.texts] == ["untested: other labels"]
    assert drawn.alt.startswith("Least epsilon at which evaluators replace half of the annotators")
    assert ": a 1 0.10, b 0.70. Right: rho" in drawn.alt
    assert "in tests adjusted over evaluators: 1 of 2. Not tested: 1." in drawn.notes
