"""A finished run shows what it saved, warns of nothing, and its figures are as publishers ask.

Reads the run that NLGBENCH_FIGURES names, as `.ci/run` and `make release` do after their main job.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pypdf
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from nlgbench.papers.comm_eval import KINDS, OVERLAP
from nlgbench.plots.style import ONE_COLUMN, TWO_COLUMN
from nlgbench.runner.notebooks import find_notebooks
from tests import recomputed_findings


@pytest.fixture(scope="module")
def made():
    if not (finished := os.environ.get("NLGBENCH_FIGURES")):
        pytest.skip("NLGBENCH_FIGURES names no finished run")
    return Path(finished).resolve()


def index(out):
    with (out / "index.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def outputs(cell):
    return cell.get("outputs", [])


def test_every_notebook_shows_the_figures_it_saved_and_warns_of_nothing(made):
    found = sorted(made.glob("*/notebook.ipynb"))
    assert len(found) == len(find_notebooks())
    for path in found:
        said = [one for cell in nbformat.read(path, as_version=4).cells for one in outputs(cell)]
        assert [one.text for one in said if one.get("name") == "stderr"] == [], path
        shown = sum("image/png" in one.get("data", {}) for one in said)
        saved = [row for row in index(made) if row["kind"] == "figure"]
        assert shown == sum(row["path"].startswith(f"{path.parent.name}/") for row in saved), path


def test_simulated_summaries_are_those_that_the_notebooks_keep(made):
    for path in find_notebooks():
        run = made / path.stem
        manifest = json.loads((run / "manifest.json").read_text("utf-8"))
        if manifest["source"] == "released":
            continue
        assert "Source: " in (run / "tables" / "findings.csv").read_text("utf-8"), path
        kept, new = (
            [
                outputs(cell)
                for cell in nbformat.read(one, as_version=4).cells
                if cell.source.startswith("# NBVAL_CHECK_OUTPUT")
            ]
            for one in (path, run / "notebook.ipynb")
        )
        assert [[one.data["text/markdown"] for one in said] for said in new] == [
            [one.data["text/markdown"] for one in said] for said in kept
        ], path


def test_findings_follow_from_the_saved_tables_and_no_section_failed(made):
    runs = sorted(path.parent.parent for path in made.glob("*/tables/findings.csv"))
    assert len(runs) == len(find_notebooks())
    assert [wrong for run in runs for wrong in recomputed_findings.problems(run)] == []


GAIN = "experiment == 'hyperparameter_search' and variant == 'tolerance=0' and measure == 'gain' "
GAIN += "and evaluator in ['comparator', 'bleu']"
#: What simulated runs find that machines cannot change: notebook, table, rows, column, least value.
TRUE = [
    ("06-learning", "model_level", "evaluator == 'human alone'", "ci_low", 0),
    ("06b", "true_order", "`games of two systems` == 2000", "in true order", 1),
    ("07", "choices", GAIN, "ci_low", 0),
    ("05b", "with_truth", "evaluator == 'h1' and statistic == 'kendall_b'", "estimate", 0.85),
    ("08", "correlations", "evaluator == 'close' and statistic == 'pearson'", "ci_low", 0.8),
]


def table(made, notebook, name, folder="tables"):
    (run,) = made.glob(f"{notebook}-*")
    if json.loads((run / "manifest.json").read_text("utf-8"))["source"] == "released":
        pytest.skip("the truth is known of simulated runs alone")
    return pd.read_csv(run / folder / f"{name}.csv")


@pytest.mark.parametrize("notebook, name, rows, column, least", TRUE)
def test_simulated_runs_find_the_truth(made, notebook, name, rows, column, least):
    found = table(made, notebook, name).query(rows)[column]
    assert len(found) and (found >= least).all()


def test_temperature_costs_diversity_and_listeners_beat_overlap(made):
    sweep = table(made, "01", "sweep", "figures").set_index("system")
    if "recurrent_t1.0" in sweep.index:
        true = sweep["huse_true"].filter(like="recurrent").sort_values().index
        assert list(true)[:2] == ["recurrent_t0.5", "recurrent_t0.7"]
    rows = table(made, "04", "table1").query("statistic == 'pearson'")
    pearson = rows.set_index("evaluator")["estimate"]
    assert pearson[[f"{kind}_0" for kind in KINDS]].min() > pearson[list(OVERLAP)].max()


def figures(out):
    found = sorted(out.glob("*/figures/*.pdf"))
    assert found
    return found


def test_every_figure_has_the_width_of_a_column_or_of_the_text_block(made):
    for path in figures(made):
        box = pypdf.PdfReader(path).pages[0].mediabox
        width, height = float(box.width) / 72, float(box.height) / 72
        assert round(width, 2) in (ONE_COLUMN, TWO_COLUMN) and height <= 9.7, path


def texts(page):
    """The texts of a page, with where each begins and ends, in points."""
    found = []

    def keep(text, outer, inner, font, size):
        if text.strip():
            weight = "bold" if "Bold" in str(font.get("/BaseFont")) else "normal"
            width = TextPath((0, 0), text.strip(), size, prop=FontProperties(weight=weight))
            turned = np.reshape(outer[:4], (2, 2))
            begin = inner[4:] @ turned + outer[4:]
            way = [width.get_extents().x1, 0] @ np.reshape(inner[:4], (2, 2)) @ turned
            found.append((text.strip(), begin, begin + way))

    page.extract_text(visitor_text=keep)
    return found


def test_no_text_is_cut_and_simulated_figures_bear_a_mark(made):
    for path in figures(made):
        (page,) = pypdf.PdfReader(path).pages
        size = np.array([page.mediabox.width, page.mediabox.height], dtype=float)
        written = texts(page)
        for text, *ends in written:
            assert all(((end > -1) & (end < size + 1)).all() for end in ends), (path, text)
        if "Source: simulated." in path.with_suffix(".txt").read_text("utf-8"):
            assert any(text.endswith("simulated") for text, *_ in written), path


def test_every_figure_has_its_words_and_its_numbers(made):
    listed = {row["path"] for row in index(made) if row["kind"] == "figure"}
    assert listed == {path.relative_to(made).as_posix() for path in figures(made)}
    for path in figures(made):
        assert path.with_suffix(".png").is_file()
        words = path.with_suffix(".txt").read_text()
        assert len(words) > 60
        assert "Source: " in words
        with path.with_suffix(".csv").open(encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert rows
        manifest = json.loads((path.parent.parent / "manifest.json").read_text())
        assert {row["source"] for row in rows} <= {"published", "simulated", manifest["source"]}


def released(made, table):
    if not (made / table).is_file():
        pytest.skip(f"the run has no {table}")
    rows = pd.read_csv(made / table)
    if "source" in rows and set(rows["source"]) != {"released"}:
        pytest.skip(f"{table} is not from released data")
    return rows


def readme_has(*texts):
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text("utf-8").split())
    assert [text for text in texts if text not in readme] == []


def fact(made, notebook, **columns):
    """Return the row of a released run's findings with these columns, as its sentence prints it."""
    rows = released(made, f"{notebook}/tables/findings.csv")
    for name, value in columns.items():
        rows = rows[rows[name] == value]
    (row,) = rows.to_dict("records")
    form = f".{row['digits']:.0f}{row['unit'] if row['unit'] == '%' else 'f'}"
    numbers = (row["estimate"], row["ci_low"], row["ci_high"])
    return [f"{number:{form}}".replace("-", "−") for number in numbers]


def test_readme_states_findings_of_the_released_run(made):
    bleu = {"table": "pooled_summary", "subject": "BLEU-4"}
    mean = fact(made, "11-atlas", column="estimate", **bleu)
    ends = [
        fact(made, "11-atlas", column=f"prediction_{end}", **bleu)[0] for end in ("low", "high")
    ]
    short = [number.replace("0.", ".") for number in (*mean, *ends)]
    readme_has("is {} [{}, {}]".format(*short[:3]), "between {} and {}".format(*short[3:]))
    assert fact(made, "11-atlas", column="n_studies", **bleu)[0] == "9"
    first = fact(made, "08-own-study", table="systems", column="estimate")
    readme_has("bt5 has the highest mean correctness, {} [{}, {}]".format(*first))
    rows = released(made, "08-own-study/tables/systems.csv")
    readme_has(f"any of {sum(rows['rank_low'] == 1)} systems may be the best")
    wins = fact(made, "09-judges-and-people", table="alpaca_eval", column="estimate")
    games = fact(made, "09-judges-and-people", table="alpaca_eval", column="n_clusters")[0]
    readme_has("of {} [{}, {}]".format(*wins), f"over {games} prompts")


def test_readme_reports_how_many_numbers_were_recomputed(made):
    n = released(made, "recomputed.csv")["outcome"].value_counts()
    readme_has(f"Of {n.sum():,} numbers, {n['recomputed and equal']} match")
    readme_has(f"{n['differs']} differ")
    readme_has(f"{n['derived from other published numbers']} match when derived")
    readme_has(f"{n['not recomputable']} cannot be recomputed")


def test_pictures_of_the_readme_are_of_the_released_run(made):
    released(made, "recomputed.csv")
    released(made, "11-atlas/tables/findings.csv")
    script = Path(__file__).parents[2] / ".ci/pictures"
    checked = subprocess.run([sys.executable, script, made, "--check"], capture_output=True)
    assert not checked.returncode, checked.stderr.decode()
