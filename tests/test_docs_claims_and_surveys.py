"""What docs/own-claims.md and docs/surveys.md write, followed block by block."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page):
    """Give the blocks of a page with their languages."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL)


def run(code, names):
    """Run a block; give what its last line makes."""
    *first, last = code.strip().split("\n")
    exec("\n".join(first), names)
    if " = " in last:
        return exec(last, names)
    return eval(last, names)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of three systems whose annotators follow a score."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(f"{s}{n}", f"i{n}", s, f"Text {s}{n}.") for s in "abcd" for n in range(12)]
    outputs = pd.DataFrame(rows, columns=["output_id", "item_id", "system", "text"])
    quality = rng.integers(1, 6, len(outputs))
    rated = outputs[["output_id"]].assign(dimension="fluency", value=quality)
    judgments = pd.concat([rated.assign(annotator_id=name) for name in ("w1", "w2")])
    scores = outputs[["output_id"]].assign(evaluator="bleu", score=quality + rng.normal(size=48))
    Path("my-study").mkdir()
    for name, table in {"outputs": outputs, "judgments": judgments, "scores": scores}.items():
        table.to_csv(f"my-study/{name}.csv", index=False)
    return tmp_path


def test_own_claims_are_checked_as_written(folder):
    (csv, table), (python, code) = blocks("own-claims.md")
    assert (csv, python) == ("csv", "python")
    Path("my-study/claims.csv").write_text(table)
    rows = run(code, {}).set_index("claim_id")
    assert rows["verdict"].to_dict() == {
        "study/my-study/table2/bleu/spearman": "differs",
        "study/my-study/table1/alpha": "differs",  # both annotators say the same: 1
        "study/my-study/direction/bleu": "same direction",
        "study/my-study/table3/time": "not recomputable",
    }
    assert rows.loc["study/my-study/table1/alpha", "recomputed"] == 1
    assert rows.iloc[-1]["reason"] == "The log files were not kept."


def test_surveys_are_laid_out_and_read_as_written(folder):
    languages, codes = zip(*blocks("surveys.md"), strict=True)
    assert languages == ("console", "console", "csv", "python", "python")
    Path("my-study/judgments.csv").unlink()

    def call(line):
        done = CliRunner().invoke(main, line.split()[1:])
        assert done.exit_code == 0, done.output

    call(codes[0])
    key = pd.read_csv("my-study/survey/survey-key.csv", dtype=str, keep_default_na=False)
    assert set(key["dimension"]) == {"fluency"}
    fields = codes[2].splitlines()[0].split(",")
    for worker in ("x", "y", "z"):
        rows = key.assign(worker=worker, value=key["expected"].where(key["expected"] != "", "4"))
        more = Path("results.csv").is_file()
        rows[fields].to_csv("results.csv", mode="a", header=not more, index=False)
    call(codes[1])
    judged = nb.read_study("my-study").judgments
    assert judged.groupby("output_id").size().eq(3).all() and len(judged) == 3 * 48
    names = {}
    run(codes[3], names)
    key = names["key"]
    rows = key.assign(worker="x", value=key["expected"].where(key["expected"] != "", "tie"))
    rows[fields].to_csv("results.csv", index=False)
    counts = run(codes[4], names)
    assert counts.iloc[0].tolist() == ["kept", key["page"].nunique(), (key["expected"] == "").sum()]
    assert set(names["study"].preferences["choice"]) == {"tie"}
