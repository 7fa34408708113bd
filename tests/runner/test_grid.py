"""A grid runs each set of parameters once, resumes, and is gathered with its intervals."""

import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner import execute, grid
from nlgbench.runner.cli import main
from nlgbench.runner.parameters import ParameterError, read_parameters

PARAMETERS = "k: int = 1\nname: str = 'a'\noutput_dir: str | None = None"
RECORD = """\
import pandas as pd
from nlgbench.runner import record
run = record.open("mine", source="simulated", output_dir=output_dir)
assert k != 3, "three is too much"
rows = pd.DataFrame({"claim_id": ["simulated/mine/x/huse"], "value": [k / 10], "ci_low": [k / 20]})
run.claims(rows.assign(ci_high=k / 5))
run.close();
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k: [1, 2]\nname: b", [{"k": "1", "name": "b"}, {"k": "2", "name": "b"}]),
        ("- k: [1, 2]\n- k: 7", [{"k": "1"}, {"k": "2"}, {"k": "7"}]),
        ("a: [1, 2]\nb: [3, 4]", [{"a": x, "b": y} for x in "12" for y in "34"]),
        ("units: [[1, 2], [3]]", [{"units": ["1", "2"]}, {"units": ["3"]}]),
    ],
)
def test_lists_in_one_block_are_combined(tmp_path, text, expected):
    (tmp_path / "grid.yml").write_text(text)
    assert grid.read_grid(tmp_path / "grid.yml") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("- k: 1\n- {}", "block 2 is {}, not names"),
        ("k: []", "block 1 is {'k': ..}, not names"),
        ("k: [1", "line 1, column 6 is not valid"),
    ],
)
def test_a_grid_that_is_none_is_refused(tmp_path, text, message):
    path = tmp_path / "grid.yml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        grid.read_grid(path)


def test_a_text_with_commas_is_spread_only_where_it_does_not_fit():
    parameters = read_parameters(PARAMETERS, where="mine")
    found = grid.spread(parameters, {"k": "1, 2", "name": "a,b"}, where="mine")
    assert found == [{"k": "1", "name": "a,b"}, {"k": "2", "name": "a,b"}]


def test_a_grid_runs_resumes_and_is_gathered(make_notebook, tmp_path, in_process):
    path, out = make_notebook("mine", PARAMETERS, RECORD), tmp_path / "out"
    said, failures = [], []
    options = {"out": out, "say": said.append, "complain": failures.append, "makers": in_process}
    outcomes = execute.run([str(path)], {"k": "1,2,3"}, **options)
    assert [one.status for one in outcomes] == ["done", "done", "failed"]
    assert len(failures) == 1 and "three is too much" in failures[0]
    table = pd.read_csv(out / "sweep.csv", keep_default_na=False)
    assert table["run"].tolist() == ["", "k=2"]
    assert table["param_k"].tolist() == [1, 2]
    assert table[["row", "column"]].drop_duplicates().to_numpy().tolist() == [["x", "huse"]]
    assert table[["estimate", "ci_low", "ci_high"]].to_numpy().tolist() == [
        [0.1, 0.05, 0.2],
        [0.2, 0.1, 0.4],
    ]

    (tmp_path / "grid.yml").write_text("k: [1, 2, 3, 4]")
    sets = grid.read_grid(tmp_path / "grid.yml")
    said.clear()
    execute.run([str(path)], {}, grid=sets, dry_run=True, **options)
    assert [line.split(" (")[0] for line in said] == [
        "mine: unchanged, would be skipped",
        "mine@k=2: unchanged, would be skipped",
        "mine@k=3: would run",
        "mine@k=4: would run",
    ]


@pytest.mark.release
def test_the_notebook_that_the_docs_write_sweeps(make_notebook, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")
    imports, *cells = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    path = make_notebook("my-study", *cells)
    node = nbformat.read(path, as_version=4)
    node.cells.insert(0, nbformat.v4.new_code_cell(imports))
    nbformat.write(node, path)
    (tmp_path / "grid.yml").write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    assert len(grid.read_grid(tmp_path / "grid.yml")) == 13
    out = tmp_path / "out"
    asked = ["run", str(path), "-p", "n_neighbors=4,16", "--jobs", "2", "--out", str(out)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    study = nb.simulate("gaussian", n_outputs=100, seed=0)
    table = pd.read_csv(out / "sweep.csv", keep_default_na=False).set_index(["quantity", "run"])
    for k, run in ((16, ""), (4, "n_neighbors=4")):
        scores = nb.huse(study, n_neighbors=k, n_resamples=100, seed=0)
        for _, row in scores[scores["label"] == "t1.0"].iterrows():
            found = table.loc[(f"simulated/my-study/t1.0/{row['score']}", run)]
            columns = ["estimate", "ci_low", "ci_high"]
            assert found[columns].tolist() == pytest.approx(row[columns].tolist(), abs=1e-12)
            assert found["param_n_neighbors"] == k
    assert (out / "my-study@n_neighbors=4" / "figures" / "tradeoff.pdf").is_file()
