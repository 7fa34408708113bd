"""What the command line says."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench
from nlgbench import schema
from nlgbench.runner.cli import main


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def ledger_dir(tmp_path):
    rows = [
        (
            "huse/table1/lm_t1.0/huse_d",
            "equation 9",
            1.02,
            0.98,
            "differs",
            "A reason_.",
            "published",
        ),
        (
            "huse/table1/lm_t1.0/huse",
            "",
            0.86,
            np.nan,
            "not recomputable",
            'No, "none".',
            "released",
        ),
    ]
    names = ["claim_id", "variant", "published", "recomputed", "verdict", "reason", "source"]
    frame = pd.DataFrame(rows, columns=names).assign(
        ci_low=np.nan, ci_high=np.nan, tolerance=0.005, run=""
    )
    schema.write(frame[schema.columns("ledgers")], "ledgers", tmp_path / "ledger.csv")
    return tmp_path


def test_version_and_list():
    assert call("version").output == f"{nlgbench.__version__}\n"
    listed = call("list").output
    assert "01-huse-tradeoff: " in listed
    assert "n_neighbors = 16  # " in listed


def test_ledger_in_every_format(ledger_dir):
    table = call("ledger", ledger_dir).output
    assert "0.98" in table
    assert "1 differs, 1 not recomputable" in table
    counted = [line.split() for line in table.splitlines()[-4:]]
    assert counted[0] == ["rests", "on", "claims", "rows", "differs", "not", "recomputable"]
    assert counted[2:] == [
        ["identities", "1", "1", "1", "0"],
        ["not", "recomputable", "1", "1", "0", "1"],
    ]
    assert call("ledger", ledger_dir, "--verdict", "matches").output.startswith("claim")
    shown = call("ledger", ledger_dir, "--verdict", "differs", "--format", "csv").output
    assert shown.count("\n") == 2
    assert call("ledger", ledger_dir, "--format", "json").output.count("claim_id") == 2
    latex = call("ledger", ledger_dir, "--format", "latex").output
    assert r"lm\_t1.0" in latex
    assert r"\toprule" in latex


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ledger", "nowhere"], "nowhere holds no ledger.csv: run `nlgbench run --out nowhere`"),
        (["run", "04-no-such"], "no notebook '04-no-such'"),
        (["run", "-p", "k"], "'k' is not NAME=VALUE"),
        (["run", "01", "-p", "n_neighbours=5"], "Did you mean 'n_neighbors'"),
        (["run", "01", "-p", "n_neighbors=five"], "is declared 'int, at least 1'; got 'five'"),
        (["run", "07", "-p", "patience=-1"], "is declared 'int, at least 1'; got '-1'"),
        (["run", "01", "-p", "seed=1", "-p", "seed=2"], "'seed' is given twice"),
        (["fetch", "hues"], "Did you mean 'huse'"),
        (["run", "--source", "releesed"], "is not one of 'auto', 'released', 'simulated'"),
        (["run", "--jobs", "0"], "0 is not in the range"),
    ],
)
def test_mistakes_get_one_line_and_a_way_out(args, message):
    result = call(*args)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def test_an_unknown_verdict_gets_the_nearest(ledger_dir):
    assert "Did you mean 'differs'" in call("ledger", ledger_dir, "--verdict", "difers").output


HEAVY = "pandas pandera papermill torch transformers xgboost dask matplotlib scipy sklearn numpy"


@pytest.mark.parametrize("code", ["import nlgbench", "from nlgbench.runner import cli"])
def test_starting_loads_nothing_heavy(code):
    probe = f"import sys; {code}; print([m for m in {HEAVY.split()!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"
