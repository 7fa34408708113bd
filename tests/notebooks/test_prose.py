"""What a notebook says of its results is computed from this run's tables and figures."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import joblib
import nbformat
import pandas as pd
import pytest
from IPython.display import Markdown

import nlgbench as nb
from nlgbench.runner.notebooks import find_notebooks


@dataclass
class Run:
    """What a notebook said and saved when it was run."""

    names: dict[str, object]
    folder: Path
    said: list[str] = field(default_factory=list)

    def sentence(self, start: str) -> str:
        """Find the one computed sentence that begins so."""
        (found,) = (text for text in self.said if text.startswith(start))
        return found

    def table(self, name: str) -> pd.DataFrame:
        """Read a table that was saved."""
        return pd.read_csv(self.folder / "tables" / f"{name}.csv")

    def figure(self, name: str) -> tuple[str, pd.DataFrame]:
        """Read a figure's alternative text and data."""
        at = self.folder / "figures" / name
        return at.with_suffix(".txt").read_text(encoding="utf-8"), pd.read_csv(f"{at}.csv")


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs a notebook's cells here: a kernel takes seconds to start."""

    def go(number: str, **parameters: object) -> Run:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (path,) = find_notebooks([number])
        done = Run({}, tmp_path / "out")
        monkeypatch.setattr(
            "IPython.display.display",
            lambda *shown, **_: done.said.extend(
                each.data for each in shown if isinstance(each, Markdown)
            ),
        )
        with joblib.parallel_config(backend="sequential"):
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, cell.id, "exec"), done.names)
                if "parameters" in cell.metadata.get("tags", []):
                    done.names |= parameters | {"output_dir": str(done.folder)}
        return done

    return go


def test_01_says_what_its_tables_say(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "nlgbench.generators.recurrent", None)  # as without torch
    done = run("01", n_outputs=40, n_neighbors=4, seed=7)
    said = done.sentence("At k = 4, the tie rule changes the classification of ")
    table = done.table("scores").query("score == 'huse_q'")
    moves = table.pivot(index="system", columns="ties", values="estimate")
    moves = moves[(moves["exact"] - moves["released"]).abs() > 1e-9]
    assert ("the HUSE-Q of no system." in said) == moves.empty
    assert all(
        f"{r.Index} ({r.exact:.3f} under exact, {r.released:.3f} under released)" in said
        for r in moves.itertuples()
    )

    equation = done.table("equation_9")
    (stray,) = equation[equation["off"].abs() > 0.015].itertuples()
    found = done.sentence(f"In {len(equation) - 1} of {len(equation)} rows, the printed")
    given = f"HUSE {stray.huse:.2f} and HUSE-Q {stray.huse_q:.2f} imply HUSE-D {stray.implied:.2f}"
    assert found.endswith(f"Exception: {stray.row} ({given}, but {stray.huse_d:.2f} is printed).")

    share = done.table("impossible_reviews").set_index("model")["share"]
    assert set(share.index) == set(table["system"])
    assert share.max() == 0  # these models can write all that people do
    assert done.sentence("Share of human reviews").endswith("(probability 0): none.")

    for name in ("sweep", "tradeoff"):
        alt, drawn = done.figure(name)
        for quantity in ("huse_q", "huse_d"):
            written = quantity.upper().replace("_", "-")
            found = [float(one) for one in re.findall(written + r" (-?\d\.\d+)", alt)]
            assert found == pytest.approx(drawn[quantity].round(2).tolist(), abs=0.0051)


def test_02_says_what_its_scores_are(run):
    done = run("02", n_outputs=30, n_neighbors=5, seed=3, ties="released")
    data = done.names["data"]
    said, (alt, _) = done.sentence("- HUSE is"), done.figure("boundary")
    assert "human references (squares)" in alt and "5-nearest-neighbor" in alt
    scores = nb.huse(data, n_neighbors=5, ties="released", n_resamples=0)
    for system, rows in scores.groupby("system"):
        found = rows.set_index("score")["estimate"]
        name = system.replace("_", " ")
        assert re.search(rf"HUSE is .*{found['huse']:.2f} \[[^]]*\] for {name}", said)
        assert re.search(rf"HUSE-Q.* {found['huse_q']:.2f} \[[^]]*\] for {name}", said)
        label = data.label(system)
        assert f"{label}: HUSE {found['huse']:.2f}, HUSE-Q {found['huse_q']:.2f}" in alt
