"""A wrong command line is told what is wrong and what to write; nothing is started or written."""

import json
import os

import pytest
from click.testing import CliRunner

from nlgbench.runner import execute
from nlgbench.runner.cli import main

PARAMETERS = "k: int = 1\noutput_dir: str | None = None"
NAMING = "source: str = 'simulated'\nstudy: str | None = None\nevaluators: str | None = None"
LONG = "x" * 20_000


def cell(source=PARAMETERS, **more):
    metadata = {"tags": ["parameters"]}
    about = {"cell_type": "code", "metadata": metadata, "outputs": [], "execution_count": None}
    return {**about, "source": source, **more}


def node(*cells, **more):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*cells], **more}


#: Notebooks that are wrong in one thing: their content as JSON or bytes, and what is said of them.
WRONG_NOTEBOOKS = {
    "cut": (b'{"cells": [', "restore it from version control"),
    "latin": ('{"cells": "\xe9"}'.encode("latin-1"), "UnicodeDecodeError"),
    "deep": (b"[" * 100_000, "RecursionError"),
    "format3": ({"nbformat": 3, "worksheets": []}, "notebook format 3, not 4"),
    "untagged": (node(cell(metadata={})), "has 0 code cells tagged 'parameters'"),
    "tagged_twice": (node(cell(), cell()), "has 2 code cells tagged 'parameters'"),
    "x" * 200: (node(cell()), "have at most 150 bytes"),
    "two\nlines": (node(cell()), "the name must be printable"),
    ".hidden": (node(cell()), "not begin with a dot"),
}
GOOD_NOTEBOOKS = {"good": node(cell()), "other/good": node(cell()), "naming": node(cell(NAMING))}
FILES = {
    "file": "a file",
    "judged/outputs.csv": "output_id,item_id,system\n1,1,a\n2,1,b\n",
    "judged/judgments.csv": "output_id,annotator_id,dimension,value\n1,me,fluency,3\n"
    "2,me,fluency,2\n",
    "judged/scores.csv": "output_id,evaluator,score\n1,bleu,.3\n2,bleu,.2\n1,chrf,.3\n2,chrf,.2\n",
    "judged/comparisons.csv": "output_a,output_b,comparator,prob_a,prob_tie,prob_b\n"
    "1,2,judge,.5,0,.5\n",
    "twice.yml": "- k: [1, 2]\n  k: [3]\n",
    "grid.yml": "k: [1, 2]\n",
    "plain.csv": "item,model,fluency\n1,a,3\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a folder of what one may name by mistake."""
    home = tmp_path_factory.mktemp("place")
    for name in ("other", "empty_study", "data", "judged"):
        (home / name).mkdir()
    wrong = {name: content for name, (content, _) in WRONG_NOTEBOOKS.items()}
    for name, content in (wrong | GOOD_NOTEBOOKS).items():
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (home / f"{name}.ipynb").write_bytes(raw)
    for name, text in FILES.items():
        (home / name).write_text(text)
    os.mkfifo(home / "pipe.ipynb")
    return home


WRONG = [
    # What is no command or no option.
    ("frobnicate", 2, "No such command 'frobnicate'"),
    # Options of run.
    ("run --jobs 0", 2, "0 is not in the range"),
    ("run good.ipynb --cluster lokal", 2, "'lokal' is not an address: use local, tcp://HOST:PORT"),
    ("run --cluster tcp://127.0.0.1:1 --jobs 2", 2, "omit --jobs if you give the address"),
    ("run good.ipynb --cluster tcp://127.0.0.1:1", 1, "no scheduler answers at tcp://127.0.0.1:1"),
    ("run -q -v", 2, "-q and -v contradict each other"),
    ("run --out=", 2, "is empty, is not printable, or begins with ~"),
    ("run --out=~/figures", 2, "which the shell did not expand"),
    ("run --out file", 2, "'file' is a file: name a folder"),
    # Notebooks that are not there.
    ("run 01-huse-tradeof", 2, "Did you mean '01-huse-tradeoff'"),
    (["run", LONG], 2, "(20,002 characters)"),
    ("run good", 2, "For your own notebook, give its path, which ends in"),
    ("run god.ipynb", 2, "there is no such file. Did you mean 'good.ipynb'?"),
    ("run pipe.ipynb", 2, "it is not a regular file"),
    (
        "run good.ipynb other/good.ipynb",
        2,
        "have the same name, so their results would share a folder",
    ),
    # Parameters: names, types, ranges.
    ("run -p k", 2, "'k' is not NAME=VALUE"),
    ("run 01 -p seed=1 -p seed=2", 2, "'seed' appears twice"),
    ("run 07 01 -p n_groups=2", 2, "01-huse-tradeoff has no parameter 'n_groups'"),
    ("run 01 -p output_dir=x", 2, "use --out"),
    ("run 01 -p source=released", 2, "use --source"),
    ("run 01 -p n_neighbors=0", 2, "n_neighbors must be a whole number of at least 1. Got '0'."),
    ("run 02 -p ties=exakt", 2, "Got 'exakt'. Did you mean 'exact'"),
    # A study of one's own, and what parameters name in it.
    ("run 01 -p study=empty_studi", 2, "empty_studi. Did you mean 'empty_study'? A study"),
    ("run 01 -p study=empty_study", 2, "has none of study.yml, study.py and outputs.csv."),
    ("check empty_studi", 1, "empty_study'? A study is a folder with study.yml, study.py or outp"),
    ("explore empty_studi", 1, "there is no folder empty_studi. Did you"),
    ("run 01 -p study=other --source simulated", 2, "name two studies: omit one"),
    ("run 08 -p study=judged -p dimension=fluancy", 2, "Did you mean 'fluency'? Available: flue"),
    ("run 09 -p study=judged -p evaluator=bleau", 2, "Did you mean 'bleu'? Available: bleu, chrf"),
    ("run 09 -p study=judged -p authors=judge=a,juge=b", 2, "no 'juge=b'. Did you mean 'judge=b'?"),
    ("run naming.ipynb -p study=judged -p evaluators=bleu,chfr", 2, "Did you mean 'chrf'?"),
    # Grids, cleaning, beginning.
    ("run good.ipynb --grid twice.yml", 2, "'k' is repeated"),
    ("run good.ipynb --grid grid.yml -p k=3", 2, "-p and --grid both set 'k': omit one"),
    ("clean nope", 2, "no folder nope"),
    ("new begun --from plain.csv --as mturk", 1, "plain.csv has no column `Answer.*`"),
    # Released data, ledgers.
    ("run 01 --source released", 1, "NLGBENCH_DATA names that folder"),
    ("fetch hues", 2, "Did you mean 'huse'"),
    ("fetch huse", 1, "2 of 2 files failed"),
    ("ledger other", 2, "has no ledger.csv: run `nlgbench run --out other`"),
    *((["run", f"{name}.ipynb", "-p", "k=1"], 2, of) for name, (_, of) in WRONG_NOTEBOOKS.items()),
]


def named(part):
    text = part if isinstance(part, str) else " ".join(map(str, part))
    return text[:40].encode("unicode_escape").decode()


@pytest.mark.parametrize(
    ("line", "code", "message"), WRONG, ids=lambda part: named(part) if part not in (1, 2) else ""
)
def test_a_wrong_command_names_what_is_wrong(place, monkeypatch, line, code, message):
    monkeypatch.chdir(place)
    monkeypatch.setenv("NLGBENCH_DATA", str(place / "data"))
    monkeypatch.setattr(execute, "execute", lambda *_, **__: pytest.fail("a kernel was started"))
    before = sorted(place.rglob("*"))
    result = CliRunner().invoke(main, line.split() if isinstance(line, str) else line)
    assert message in result.stderr
    assert (result.exit_code, result.stdout) == (code, "")
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert len(result.stderr) < 5_000
    assert sorted(place.rglob("*")) == before, "something was written"
