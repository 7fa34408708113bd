"""METEOR 1.5, computed by its authors' Java program: one process for a whole batch."""

import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from nlgbench.evaluators.references import usable

Floats = NDArray[np.float64]

TIMEOUT = 600.0  # seconds; the program starts in about 7, and then answers in milliseconds


def meteor(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Score texts by METEOR 1.5 (English), the best reference's.

    Denkowski and Lavie (2014, doi:10.3115/v1/W14-3348), with the options of pycocoevalcap: matches
    of words, stems, WordNet synonyms and paraphrases, alpha .85, beta .2, gamma .6, delta .75. The
    program lower-cases, tokenizes and normalizes punctuation itself (``-norm``). White space, line
    breaks included, becomes one space, and ``|||``, which separates texts in its input, becomes a
    space. It takes about 7 seconds to start, for its paraphrases.
    """
    found = usable(references)
    rows = [at for at, texts in enumerate(found) if texts]
    scores = np.full(len(found), np.nan)
    if not rows:
        return scores

    with tempfile.TemporaryFile("w+") as log:
        process = _start(log)
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            process.kill()  # which ends the wait for its answer

        try:

            def ask(line: str, n_answers: int = 1) -> list[str]:
                # The program answers a line only when it has read all of it, so one line at a time
                # cannot fill both pipes; its log goes to a file, which never fills.
                assert process.stdin is not None and process.stdout is not None
                watch = threading.Timer(TIMEOUT, give_up)
                watch.daemon = True
                watch.start()
                try:
                    process.stdin.write(line + "\n")
                    process.stdin.flush()
                except BrokenPipeError:
                    pass  # the missing answer says so below
                answers = [process.stdout.readline() for _ in range(n_answers)]
                watch.cancel()
                if "" in answers:  # not even the end of a line
                    process.wait(timeout=60)
                    log.seek(0)
                    said = f"it said: {log.read().strip()[-500:] or 'nothing'}"
                    if is_late.is_set():
                        raise TimeoutError(
                            f"METEOR's Java program did not answer within {TIMEOUT:g} seconds and "
                            f"was ended; {said}. See whether `java -version` answers and 2 GB of "
                            "memory are free, or leave meteor out."
                        )
                    raise RuntimeError(
                        f"METEOR's Java program ended with code {process.returncode} before it "
                        f"answered; {said}. It needs 2 GB of memory and Java 8 or later."
                    )
                return [answer.strip() for answer in answers]

            counts = []
            for at in rows:
                texts = [_one_line(text) for text in [*found[at], hypotheses[at]]]
                counts += ask(" ||| ".join(["SCORE", *texts]))
            *each, _ = ask(" ||| ".join(["EVAL", *counts]), len(rows) + 1)
            scores[rows] = [float(answer) for answer in each]
        finally:
            process.kill()
            process.communicate()
    return scores


def _one_line(text: str) -> str:
    return " ".join(text.replace("|||", " ").split())


def _start(log: IO[str]) -> subprocess.Popen[str]:
    try:
        from pycocoevalcap.meteor import meteor as package
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "METEOR needs pycocoevalcap, which is not installed: pip install 'nlgbench[meteor]', "
            "or leave meteor out."
        ) from error
    java = shutil.which("java")
    if java is None:
        raise FileNotFoundError(
            "METEOR needs Java, and no `java` is on PATH: install one (conda install -c "
            "conda-forge openjdk, or apt-get install default-jre-headless), or leave meteor out."
        )
    folder = Path(package.__file__).resolve().parent
    options = ["-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", package.METEOR_JAR]
    return subprocess.Popen(
        [java, *options, "-", "-", "-stdio", "-l", "en", "-norm"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
