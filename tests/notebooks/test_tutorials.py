"""The tutorials of docs/ are followed, from an empty folder to the figure."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_own_study_docs import change

import nlgbench as nb

DOCS = Path(__file__).parent.parent.parent / "docs" / "tutorials"
PROGRAM = [sys.executable, "-c", "from nlgbench.runner.cli import main; main()"]


@pytest.mark.release
@pytest.mark.parametrize(
    ("page", "data", "figure", "counts"),
    [
        ("which-system", "webnlg-2020", "systems", [17, 178, 5, 5 * 8453]),
        ("which-evaluator", "hanna", "atlas", [11, 96, 6, 11 * 96 * 3 * 6]),
    ],
)
def test_first_figure_takes_five_commands_at_most(page, data, figure, counts, tmp_path):
    home = Path(os.environ.get("NLGBENCH_DATA", ""), data)
    if not os.environ.get("NLGBENCH_DATA") or not home.is_dir():
        pytest.skip(f"NLGBENCH_DATA names no folder with {data}")
    (tmp_path / data).mkdir()
    (tmp_path / data / "raw").symlink_to(home.resolve())
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    n_commands = 0
    for kind, content in re.findall(r"^```(sh|diff)\b.*\n((?s:.*?))^```$", text, re.MULTILINE):
        if kind == "diff":
            change(tmp_path / data / "study.yml", content.splitlines())
            continue
        for command in content.splitlines():
            program, *arguments = shlex.split(command)
            assert program == "nlgbench"
            done = subprocess.run(
                [*PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr
            n_commands += 1
    assert n_commands <= 5
    (drawn,) = (tmp_path / "figures" / "mine").glob(f"08-own-study*/figures/{figure}.pdf")
    assert drawn.read_bytes().startswith(b"%PDF")
    study = nb.read_study(tmp_path / data)
    judged = study.judgments.merge(study.outputs, on="output_id", validate="m:1")
    found = [judged[name].nunique() for name in ("system", "item_id", "dimension")]
    assert [*found, len(judged)] == counts
