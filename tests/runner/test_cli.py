"""What the command line says: lists, ledgers, how runs ended; and that it starts light."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench
from nlgbench.runner import execute, listing
from nlgbench.runner.cli import main
from nlgbench.runner.runs import Outcome
from nlgbench.study import schema


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args], env={"COLUMNS": "100"})


@pytest.fixture
def ledger_dir(tmp_path):
    one, other = "huse/table1/lm_t1.0/huse_d", "huse/table1/lm_t1.0/huse"
    rows = [
        (one, "equation 9", 1.02, 0.98, "differs", "A reason_.", "published"),
        (other, "", 0.86, np.nan, "not recomputable", 'No, "none".', "released"),
    ]
    names = ["claim_id", "variant", "published", "recomputed", "verdict", "reason", "source"]
    frame = pd.DataFrame(rows, columns=names).assign(
        ci_low=np.nan, ci_high=np.nan, tolerance=0.005, run=""
    )
    schema.write(frame[schema.columns("ledgers")], "ledgers", tmp_path / "ledger.csv")
    return tmp_path


def test_version_and_list():
    assert call("--version").stdout == f"{nlgbench.__version__}\n"
    listed = call("list").stdout
    assert "01-huse-tradeoff: " in listed
    assert "n_neighbors: int = 16  # k of the nearest-neighbor classifier" in listed
    assert listed.startswith(f"{listed.count('claims: ')} notebooks; ")


def test_a_ledger_counts_verdicts_and_shows_those_of_one(ledger_dir):
    table = call("ledger", ledger_dir).output
    assert table.startswith("2 rows, 2 claims and results\n")
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert "identities 1 1 1 0" in lines and "not recomputable 1 1 0 1" in lines
    (row,) = [line for line in lines if "equation 9" in line]
    assert row == "huse/table1/lm_t1.0/huse_d (equation 9) published 1.02 0.98 differs 1"
    shown = call("ledger", ledger_dir, "--verdict", "differs").output
    assert shown.startswith("1 rows, 1 claims") and "not recomputable" not in shown


def test_degrees_stand_by_paper(ledger_dir):
    table = call("ledger", ledger_dir, "--degrees").output
    assert "huse published 1 1 1 0 3.988 1" in " ".join(table.split())
    wrong = call("ledger", ledger_dir, "--degrees", "--verdict", "differs")
    assert wrong.exit_code == 2 and "omit --verdict" in wrong.output


@pytest.mark.parametrize("columns", [80, 100])
def test_a_ledger_fits_the_terminal_and_cannot_steer_it(ledger_dir, monkeypatch, columns):
    rows = schema.read(ledger_dir / "ledger.csv", "ledgers")
    long = [f"{name}/{'a_long_name_' * 9}" for name in rows["claim_id"]]
    rows = rows.assign(
        claim_id=long, ci_low=-0.123456, ci_high=0.98765, reason="é\u202e🙂 " + "why " * 60
    )
    rows["variant"] = "\x1b[1mbold"
    schema.write(rows, "ledgers", ledger_dir / "ledger.csv")
    monkeypatch.setattr(listing, "width", lambda: columns)
    ledger = listing.ledger(ledger_dir)
    for text in (
        ledger,
        listing.plain(rows[["variant"]]),
        listing.degrees(ledger_dir),
        listing.notebooks(),
    ):
        assert max(map(len, text.splitlines())) <= columns
        assert not [one for one in text if unicodedata.category(one)[0] == "C" and one != "\n"]
    shown = "".join(ledger.split())
    assert "a_long_name_" in shown and "[-0.123,0.988]" in shown
    assert r"\x1b[1mbold" in shown and r"é\u202e🙂" in shown


WRITE = "from pathlib import Path\nPath(output_dir, 'made.txt').write_text('made')\n"
PRINT = "import sys\nprint('one', end=' ')\nprint('two')\nprint('to stderr', file=sys.stderr)\n"
PARAMETERS = "k: int = 1\noutput_dir: str | None = None"


def test_what_is_told_of_a_run(make_notebook, tmp_path):
    """What cells print and why they fail goes to stderr, stdout is JSON, braces are no fields."""
    good = make_notebook("good", PARAMETERS, WRITE + PRINT + "print('no end', end='')")
    bad = make_notebook("bad", PARAMETERS, "raise ValueError('a' * 20_000 + 'z')")
    out = tmp_path / "{k} of {nothing}"
    told = call("run", good, bad, "--out", out, "-v", "--json", "-p", "k=2")
    assert told.exit_code == 1
    done, failed = json.loads(told.stdout)
    assert (done["notebook"], done["status"], done["parameters"]) == ("good", "done", {"k": 2})
    assert Path(done["folder"], "made.txt").read_text() == "made"
    assert (failed["status"], failed["folder"]) == ("failed", str(out / "bad@k=2.failed"))
    assert Path(failed["folder"], "notebook.ipynb").is_file()
    lines = told.stderr.splitlines()
    for line in ("good | one two", "good | to stderr", "good | no end"):
        assert line in lines
    assert lines[-1] == "Error: 1 of 2 failed: bad@k=2"
    assert len(failed["message"]) < 1_500
    assert "ValueError: aaa" in told.stderr and "characters ...] aaa" in told.stderr
    assert "aaaz\nIts output until then is in" in told.stderr


@pytest.fixture
def ends(monkeypatch):
    """Let notebooks end as told, without a kernel."""

    def end(*statuses):
        left = iter(statuses)
        monkeypatch.setattr(
            execute,
            "execute",
            lambda plan, *_, **__: Outcome(plan, next(left), 1.0, "in cell [2]\nKeyError: 'k'"),
        )

    return end


def test_where_results_are_is_said_when_there_are_any(make_notebook, tmp_path, ends):
    paths, out = [make_notebook(name, PARAMETERS) for name in ("a", "b")], tmp_path / "out"
    ends("done", "failed", "failed", "failed")
    some, none = (call("run", *paths, "--out", out) for _ in range(2))
    assert some.exit_code == 1 and "Error: 1 of 2 failed: " in some.stderr
    assert some.stdout.splitlines()[-1].startswith(f"Results are in {out}: ")
    assert "Results are in" not in none.stdout
    ends("done", "incomplete")
    partly = call("run", *paths, "--out", out)
    assert partly.exit_code == 1 and f"Results are in {out}: " in partly.stdout
    assert "b: FAILED in part" in partly.stderr and "1 of 2 failed: b" in partly.stderr


HEAVY = "pandas pandera papermill torch transformers xgboost dask matplotlib scipy sklearn numpy "
HEAVY += "nbformat nbclient jsonschema rich pooch requests"
MISSPELT = """
from click.testing import CliRunner
from nlgbench.runner.cli import main
assert CliRunner().invoke(main, ["run", "-p", "n_neighbours=5"]).exit_code == 2
"""


@pytest.mark.parametrize(
    "code", ["import nlgbench", "from nlgbench.runner import cli", MISSPELT], ids=range(3)
)
def test_starting_loads_nothing_heavy(code):
    probe = f"import sys\n{code}\nprint([m for m in {HEAVY.split()!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


def test_a_missing_extra_is_named_before_anything_is_written(make_notebook, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "papermill", None)
    told = call("run", make_notebook("mine", PARAMETERS), "--out", tmp_path / "out")
    assert told.exit_code == 1 and not (tmp_path / "out").exists()
    assert "needs papermill, which is not installed: pip install 'nlgbench[run]'" in told.stderr
