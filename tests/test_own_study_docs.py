"""Pages are followed: their files are written, their commands run, their output compared."""

import csv
import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
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
#: Published studies are drafted here, or in the tutorials.
DRAFTS = [*BLOCKS, *blocks("tutorials/which-system.md"), *blocks("tutorials/which-evaluator.md")]


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


def drafted(name, place):
    """Draft a published study by the page's command, and change the lines that it changes."""
    home = Path(os.environ.get("NLGBENCH_DATA", ""), name)
    if not os.environ.get("NLGBENCH_DATA") or not home.is_dir():
        pytest.skip(f"NLGBENCH_DATA names no folder with {name}")
    (place / name).mkdir()
    (place / name / "raw").symlink_to(home.resolve())
    (command,) = [text for kind, _, text in DRAFTS if kind == "sh" and f"new {name} " in text]
    done = CliRunner().invoke(main, shlex.split(command.removeprefix("nlgbench ")))
    assert done.exit_code == 0 and "To fix" not in done.stdout, done.output
    about = place / name / "study.yml"
    assert CliRunner().invoke(main, ["check", str(place / name)]).exit_code == 0
    for _, _, changes in [one for one in DRAFTS if one[:2] == ("diff", f"{name}/study.yml")]:
        change(about, changes.splitlines())
    return place / name


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


def released(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return nb.read_study(drafted(name, tmp_path))


@pytest.mark.release
def test_webnlg_is_read_from_raw_files(tmp_path, monkeypatch):
    study = released("webnlg-2020", tmp_path, monkeypatch)
    judged = study.judgments.merge(study.outputs, on="output_id", validate="m:1")
    counts = [judged[name].nunique() for name in ("system", "item_id", "annotator_id", "dimension")]
    assert counts == [17, 178, 88, 5] and "human" in set(judged["system"])
    assert study.settings["quality"] == "Fluency"
    # The authors' notebook prints 92.313 as the mean of items' means.
    rows = judged[judged["system"].eq("Baseline-FORGE2020") & judged["dimension"].eq("Correctness")]
    assert abs(rows.groupby("item_id")["value"].mean().mean() - 92.313) < 5e-4


@pytest.mark.release
def test_hanna_is_read_from_raw_files(tmp_path, monkeypatch):
    study = released("hanna", tmp_path, monkeypatch)
    assert len(study.outputs) == 11 * 96 and len(study.judgments) == 11 * 96 * 3 * 6
    # The file has the means of the three, too.
    path = tmp_path / "hanna" / "raw" / "hanna_metric_scores_llm.csv"
    judged = study.judgments[study.judgments["dimension"] == "CH"]
    means = judged.groupby("output_id")["value"].mean()
    with path.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            system = {"Human": "human"}.get(row["Model"], row["Model"])
            ids = [f"{number}/{system}" for number in range(1, 97)]
            np.testing.assert_allclose(means[ids], json.loads(row["Coherence"]), atol=1e-12)
    assert study.scores["evaluator"].nunique() == 4 and study.settings["quality"] == "CH"
