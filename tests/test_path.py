"""A reader's path: how many files of the package one call runs through."""

import sys
from pathlib import Path

import pytest

import nlgbench as nb

PACKAGE = Path(nb.__file__).parent


def files_of(call) -> set[str]:
    """Name the files of the package whose functions a call runs."""
    seen = set()

    def look(frame, event, argument):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    inside = {Path(name) for name in seen if Path(name).is_relative_to(PACKAGE)}
    # All public functions check their parameters and name statuses in files that are not about any.
    checks = {"study/checks.py", "text.py", "names.py", "status.py"}
    return {path.relative_to(PACKAGE).as_posix() for path in inside} - checks


def test_huse_runs_through_four_files():
    study = nb.simulate("gaussian", n_outputs=30, seed=0)
    huse = nb.huse
    for options in ({}, {"ties": ("exact", "released")}, {"resample": "annotators"}):
        files = files_of(lambda options=options: huse(study, n_resamples=20, **options))
        assert len(files) <= 4, files


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_correlate_is_read_in_six_files(granularity):
    study = nb.simulate("reviews", n_outputs=10, n_truth=0)
    outputs = study.outputs
    scores = outputs[["output_id"]].assign(evaluator="e", score=outputs["text"].str.len() * 1.0)
    study = study.replace(scores=scores)
    statistics = ["pearson", "kendall_b", "pairwise_accuracy"]
    options = {"granularity": granularity, "statistics": statistics, "n_resamples": 20}
    nb.correlate(study, **options)  # names are loaded when they are used
    assert files_of(lambda: nb.correlate(study, **options)) <= {
        "analysis/correlation/correlations.py",
        "analysis/correlation/coefficients.py",
        "analysis/correlation/intervals.py",
        "study/study.py",
        "crossed.py",
        "inference.py",
    }
