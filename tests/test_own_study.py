"""A notebook on a folder of one's own gives what it gives on the world that the folder holds."""

import pandas as pd

import nlgbench as nb
from nlgbench.runner.notebooks import find_notebooks, read_notebook


def run(number, folder, monkeypatch, **parameters):
    """Run a notebook's cells here; give its data and ledger."""
    monkeypatch.setattr("IPython.display.display", lambda *shown, **_: None)
    names: dict = {}
    for cell in read_notebook(find_notebooks([number])[0]).node.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, cell.id, "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            names |= parameters | {"output_dir": str(folder)}
    return names


def test_02_on_a_written_study(monkeypatch, tmp_path):
    sizes = {"n_outputs": 30, "seed": 5}
    simulated = run("02", tmp_path / "simulated", monkeypatch, **sizes)
    simulated["data"].write(tmp_path / "study")
    own = run("02", tmp_path / "own", monkeypatch, study=str(tmp_path / "study"), **sizes)
    assert own["data"].source == "study" and own["data"].origin.startswith("simulated:reviews")
    figures = sorted(path.name for path in (tmp_path / "simulated" / "figures").iterdir())
    assert figures == sorted(path.name for path in (tmp_path / "own" / "figures").iterdir())
    for place in ("figures/boundary.csv", "tables/failures.csv", "tables/failure_kinds.csv"):
        one, other = (
            pd.read_csv(tmp_path / name / place).drop(columns="source")
            for name in ("simulated", "own")
        )
        pd.testing.assert_frame_equal(one, other)
    tails = [
        ledger.loc[ledger["verdict"] == "new", ["claim_id", "recomputed"]]
        for ledger in (simulated["ledger"], own["ledger"])
    ]
    start = {0: "simulated/huse-boundary/", 1: f"study/{own['data'].name}/"}
    rows = [
        tail.assign(claim_id=tail["claim_id"].str.removeprefix(start[n])).reset_index(drop=True)
        for n, tail in enumerate(tails)
    ]
    pd.testing.assert_frame_equal(*rows)
    assert isinstance(own["data"], nb.Study)
