import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from nlgbench import Study, score
from nlgbench.evaluators import meteor as module
from nlgbench.evaluators.meteor import meteor

NEEDS_JAVA = pytest.mark.skipif(
    shutil.which("java") is None or importlib.util.find_spec("pycocoevalcap") is None,
    reason="METEOR needs Java and pycocoevalcap",
)
TEXTS = ["the lid leaks badly", "it broke", "a nice kettle", "the lids leaked"]
REFERENCES = [["the lid leaks", "it drips a lot"], ["the zipper broke"], ["a good kettle ."], ["a"]]


@NEEDS_JAVA
def test_scores_are_pycocoevalcaps_and_oddities_do_not_break_a_long_batch():
    odd = ["it\nbroke", "the ||| lid", "caf\u00e9", "", "no reference", "EVAL ||| 1"]
    odd_references = [["it broke"], ["the\r\nlid |||"], ["caf\u00e9"], ["a lid"], [" "], ["a"]]
    # More input in one line, and more answers, than pipes hold (64 KiB).
    long = [" ".join(f"{n:0200}" for n in range(350)), *["a lid"] * 1500]
    texts, references = TEXTS + odd + long, REFERENCES + odd_references + [[text] for text in long]
    found = meteor(texts, references)
    # Of pycocoevalcap 1.2, Meteor().compute_score on these texts and references.
    each = [0.48704502558483637, 0.18320610687022898, 0.3565754573117009, 0.0]
    assert found[:4].tolist() == each
    assert found[4:7].tolist() == pytest.approx([1, 1, 1])
    assert found[7] == 0
    assert np.isnan(found[8])
    assert found[10:].tolist() == pytest.approx([1] * len(long))


def test_a_study_is_scored_by_meteor(monkeypatch):
    pytest.importorskip("pycocoevalcap")
    from nlgbench.evaluators import overlap

    outputs = pd.DataFrame({"output_id": ["a", "b", "c"], "item_id": ["1", "2", "1"]})
    outputs = outputs.assign(system=["s", "t", "t"], text=TEXTS[:3])
    references = pd.DataFrame({"item_id": ["1"], "reference_id": ["r"], "text": ["the lid leaks"]})
    study = Study(outputs, references=references)
    lists = [["the lid leaks"], [], ["the lid leaks"]]

    def each(texts, found):
        assert (texts, found) == (TEXTS[:3], lists)
        return np.array([0.5, np.nan, 0.25])

    monkeypatch.setattr(overlap, "meteor", each)
    scored = score(study, ["meteor"])
    assert scored.scores["score"].tolist() == pytest.approx([0.5, np.nan, 0.25], nan_ok=True)
    assert "METEOR 1.5" in scored.scores["signature"].iloc[0]


def test_without_java(monkeypatch, tmp_path):
    pytest.importorskip("pycocoevalcap")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no `java` is on PATH: install one"):
        meteor(["a"], [["a"]])


def test_without_pycocoevalcap(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pycocoevalcap", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nlgbench\[meteor\]'"):
        meteor(["a"], [["a"]])


@pytest.fixture
def fake_java(monkeypatch, tmp_path):
    """Put a shell script in the place of Java, and give the processes that are started."""
    pytest.importorskip("pycocoevalcap")
    started = []
    start = module._start

    def kept(log):
        started.append(start(log))
        return started[-1]

    def put(script):
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(module, "_start", kept)
        return started

    return put


def assert_ended(started):
    assert isinstance(started[0], subprocess.Popen)
    assert started[0].poll() is not None
    assert started[0].stdin.closed
    assert started[0].stdout.closed


def test_a_program_that_ends_early_is_reported_and_ended(fake_java):
    started = fake_java("echo 'Could not reserve enough space' >&2; exit 3")
    with pytest.raises(RuntimeError, match="code 3 before it answered; it said: Could not reserve"):
        meteor(["a"] * 3, [["a"]] * 3)
    assert_ended(started)


@pytest.mark.parametrize("script", ["exec sleep 60", "read line; echo 1.0; exec sleep 60"])
def test_a_program_that_hangs_is_reported_and_ended(fake_java, monkeypatch, script):
    started = fake_java(f"echo 'loading' >&2; {script}")
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    long = "word " * 100_000  # more than the pipe holds, so that writing hangs as well
    with pytest.raises(TimeoutError, match=r"within 0.5 seconds .* it said: loading. See whether"):
        meteor(["a", long], [["a"], ["a"]])
    assert_ended(started)
