"""Pages are followed: their files are written, their commands run, their output compared."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page):
    """Give what stands behind each fence of a page, and what is in it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


BLOCKS = blocks("own-study.md")


def write(place, kind, name, content):
    """Write a block's file, or change it."""
    if kind == "diff":
        change(place / name, content.splitlines())
    elif name:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")


def change(path, changes):
    """Write the lines that begin with + in place of those that begin with -."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old[0] == "-" and new[0] == "+"
        (at,) = [at for at, line in enumerate(lines) if line.startswith(old[1:])]
        lines[at] = new[1:]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("page", "expected_commands"), [("own-study.md", 3), ("which-run.md", 1)])
def test_commands_say_what_the_page_says(page, expected_commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n_commands = 0
    for kind, name, content in blocks(page):
        write(tmp_path, kind, name, content)
        if kind != "console":
            continue
        command, _, expected = content.partition("\n")
        done = CliRunner().invoke(main, shlex.split(command.removeprefix("$ nlgbench ")))
        shown, cut, _ = expected.strip().partition("\n...")
        assert done.stdout.strip()[: len(shown) if cut else None] == shown
        assert done.exit_code == int("To fix" in expected)
        n_commands += 1
    assert n_commands == expected_commands


def test_every_layout_is_read(tmp_path):
    for block in BLOCKS:
        write(tmp_path, *block)
    read = {path.name: nb.read_study(path) for path in tmp_path.iterdir()}
    assert len(read) == 9
    values = {
        name: sorted(study.judgments["value"])
        for name, study in read.items()
        if study.judgments is not None
    }
    assert values == {
        "my-study": [1, *[2] * 3, *[3] * 8, *[4] * 8, *[5] * 4],
        "wide": [3, 4, 5],
        "slots": [0, 1],
        "lists": [0, 1, 1, 1],
        "errors": [0, 5.1],
        "judged-crowd": [2, 4],
    }
    coded = read["coded"].preferences[["output_a", "choice"]].to_numpy().tolist()
    assert coded == [["p1/lstm", "a"], ["p2/template", "tie"]]
    assert read["coded"].outputs["topic"].tolist() == [*["weather"] * 2, *["sports"] * 2]
    assert read["lists"].outputs["text"].tolist() == ["Hi.", "Hello."]
    assert read["judged"].comparisons["output_b"].tolist() == ["1/claude"]
    votes = read["votes"]
    assert votes.preferences["choice"].tolist() == ["a", "tie"]
    lower = votes.scores["signature"].eq("direction:lower")
    assert votes.scores.loc[lower, "evaluator"].unique().tolist() == ["ter"]
    assert votes.system_scores["score"].tolist() == [7, 70]
