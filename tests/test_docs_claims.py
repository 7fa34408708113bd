"""What docs/own-claims.md writes, followed block by block."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
