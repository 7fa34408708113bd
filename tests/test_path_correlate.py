"""Who reads `correlate` goes through few files."""

import sys
from pathlib import Path

import pytest

import nlgbench as nb

PACKAGE = Path(nb.__file__).parent


def files_of(call):
    """Name the package's files whose functions a call runs."""
    found = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE) and frame.f_code.co_name != "<module>":
            found.add(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_correlate_is_read_in_four_files(granularity):
    study = nb.simulate("reviews", n_outputs=10, n_truth=0)
    outputs = study.outputs
    scores = outputs[["output_id"]].assign(evaluator="e", score=outputs["text"].str.len() * 1.0)
    study = study.replace(scores=scores)
    statistics = ["pearson", "kendall_b", "pairwise_accuracy", "tie_calibrated"]
    options = {"granularity": granularity, "statistics": statistics, "n_resamples": 20}
    nb.correlate(study, **options)  # names are loaded when they are used
    assert files_of(lambda: nb.correlate(study, **options)) <= {
        "analysis/correlation/meta_evaluation.py",
        "analysis/correlation/coefficients.py",
        "analysis/correlation/intervals.py",
        "inference.py",
    }
