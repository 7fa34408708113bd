"""Notebooks that take any study end well on one that supports next to nothing."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main


def pilot(kind):
    """Two systems, five items, one annotator, with texts; with judgments, scores or votes."""
    outputs = pd.DataFrame(
        [(f"{system}{n}", f"i{n}", system) for system in "ab" for n in range(5)],
        columns=["output_id", "item_id", "system"],
    )
    outputs["text"] = [f"word {n} of {n % 3} words" for n in range(10)]
    keys = outputs[["output_id"]]
    judgments = keys.assign(annotator_id="w", value=[1, 2, 4, 4, 5, 2, 3, 3, 5, 4])
    scores = keys.assign(evaluator="e", score=[n / 10 for n in range(10)])
    if kind == "votes":
        votes = {"output_a": [f"a{n}" for n in range(5)], "output_b": [f"b{n}" for n in range(5)]}
        return nb.Study(
            outputs, preferences=pd.DataFrame(votes).assign(annotator_id="w", choice="a")
        )
    return nb.Study(outputs, judgments, scores=None if kind == "no scores" else scores)


@pytest.mark.parametrize("kind", ["tiny", "votes", "no scores"])
@pytest.mark.parametrize("number", ["11", "12"])
def test_a_pilot_is_analyzed_as_far_as_it_goes(number, kind, tmp_path):
    pilot(kind).write(tmp_path / "pilot")
    asked = ["run", number, "-p", f"study={tmp_path / 'pilot'}", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    (made,) = (tmp_path / "out").glob("*/notebook.ipynb")
    cells = json.loads(made.read_text("utf-8"))["cells"]
    streams = [one for cell in cells for one in cell.get("outputs", ()) if "text" in one]
    said = "".join("".join(one["text"]) for one in streams)
    assert "Skipped" in said
    assert " nan" not in said
