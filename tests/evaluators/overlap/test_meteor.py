"""METEOR is its authors' program's, which is ended and reported when it fails."""

import importlib.util
import os
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


@pytest.mark.release
@NEEDS_JAVA
def test_scores_are_pycocoevalcaps_whatever_the_texts():
    odd = ["it\nbroke", "the ||| lid", "caf\u00e9", "", "no reference"]
    odd_references = [["it broke"], ["the\r\nlid |||"], ["caf\u00e9"], ["a lid"], [" "]]
    outputs = pd.DataFrame({"text": TEXTS + odd})
    outputs["output_id"] = outputs["item_id"] = [f"{n:02}" for n in outputs.index]
    references = pd.DataFrame({"item_id": outputs["item_id"], "text": REFERENCES + odd_references})
    references = references.explode("text").assign(reference_id=lambda rows: range(len(rows)))
    study = Study(outputs.assign(system="s"), references=references.astype(str))
    scores = score(study, ["meteor"]).scores
    # Of pycocoevalcap 1.2, Meteor().compute_score on these texts and references.
    each = [0.48704502558483637, 0.18320610687022898, 0.3565754573117009, 0.0]
    assert scores["score"][:4].tolist() == each
    assert scores["score"][4:].tolist() == pytest.approx([1, 1, 1, 0, np.nan], nan_ok=True)
    assert "METEOR 1.5" in scores["signature"].iloc[0]


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    pytest.importorskip("pycocoevalcap")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no `java` is on PATH"):
        meteor(["a"], [["a"]])
    for name in [name for name in sys.modules if name.startswith("pycocoevalcap")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pycocoevalcap", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nlgbench\[meteor\]'"):
        meteor(["a"], [["a"]])


def put_java(monkeypatch, tmp_path, script):
    """Put a shell script in the place of Java."""
    pytest.importorskip("pycocoevalcap")
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_program_that_fails_is_reported(monkeypatch, tmp_path):
    put_java(monkeypatch, tmp_path, "echo 'Could not reserve enough space' >&2; exit 3")
    with pytest.raises(RuntimeError, match=r"code 3 and 0 of 3 scores.*: Could not reserve"):
        meteor(["a"] * 3, [["a"]] * 3)


def test_a_program_that_hangs_is_ended(monkeypatch, tmp_path):
    put_java(monkeypatch, tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60")
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    with pytest.raises(subprocess.TimeoutExpired):
        meteor(["a"], [["a"]])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
