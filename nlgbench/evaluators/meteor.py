"""METEOR 1.5, computed by its authors' Java program, with one process per batch."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgbench.evaluators.references import usable

TIMEOUT = 3600.0  # seconds; it takes about 7 to start, then scores hundreds of texts per second


def meteor(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Score texts by METEOR 1.5 (English), against the best-matching reference.

    Denkowski and Lavie (2014, doi:10.3115/v1/W14-3348), with the options of pycocoevalcap: matches
    of words, stems, WordNet synonyms and paraphrases, alpha .85, beta .2, gamma .6, delta .75. The
    program lower-cases, tokenizes and normalizes punctuation itself (``-norm``). As in
    pycocoevalcap, line breaks, other white space and ``|||`` become single spaces.
    """
    lists = usable(references)
    rows = [row for row, texts in enumerate(lists) if texts]
    scores = np.full(len(lists), np.nan)
    if rows:
        most = max(len(lists[row]) for row in rows)
        # Each text needs the same number of references; repeating the last changes no maximum.
        padded = [text for row in rows for text in (lists[row] + [lists[row][-1]] * most)[:most]]
        scores[rows] = _run_java([hypotheses[row] for row in rows], padded, most)
    return scores


def _run_java(hypotheses: list[str], references: list[str], n_references: int) -> list[float]:
    try:
        from pycocoevalcap.meteor import meteor as package
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "METEOR needs pycocoevalcap, which is not installed. Run pip install "
            "'nlgbench[meteor]', or remove meteor from the evaluators."
        ) from error
    java = shutil.which("java")
    if java is None:
        raise FileNotFoundError(
            "METEOR needs Java, but no `java` is on PATH. Install it (conda install -c conda-forge "
            "openjdk, or apt-get install default-jre-headless), or remove meteor."
        )
    jar = Path(package.__file__).resolve().parent / package.METEOR_JAR
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "texts"), Path(folder, "references")
        for path, texts in zip(paths, (hypotheses, references), strict=True):
            lines = [" ".join(text.replace("|||", " ").split()) + "\n" for text in texts]
            path.write_bytes("".join(lines).encode(errors="replace"))
        command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", jar, *paths]
        command += ["-l", "en", "-norm", "-r", str(n_references)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    scores = re.findall(r"^Segment \d+ score:\t(\S+)$", done.stdout, re.MULTILINE)
    if done.returncode or len(scores) != len(hypotheses):
        raise RuntimeError(
            f"METEOR's Java program ended with code {done.returncode} and "
            f"{len(scores)} of {len(hypotheses)} scores. Its message: "
            f"{done.stderr.strip()[-500:] or 'none'}. Check that 2 GB of memory and Java 8 or "
            "later are available."
        )
    return [float(score) for score in scores]
