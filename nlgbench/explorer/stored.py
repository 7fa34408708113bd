"""Results of a run of notebook 08 on the same study, which need not be computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

import nlgbench
from nlgbench.hashing import folder_hash
from nlgbench.study import Study

Tables = Mapping[str, pd.DataFrame]


def stored_tables(name: str, out: Path) -> Tables:
    """Read the tables of a run with default parameters on the same files, by the same code."""
    try:
        from nlgbench.runner import notebooks, run_folder, runs

        notebook = notebooks.read_notebook(notebooks.find_notebooks(["08"])[0])
        code = {"package": folder_hash(Path(nlgbench.__file__).parent, "**/*.py")}
        options: dict[str, Any] = {"source": "auto", "effort": "quick", "environment": code}
        plan = runs.plan(notebook, {"study": name}, **options)
    except (ImportError, OSError, ValueError):  # without notebooks, for example
        return {}
    folder = out / plan.folder
    if runs.why_rerun(folder, plan.hashes, name):
        return {}
    tables = {path.stem: run_folder.frame(path) for path in folder.glob("tables/*.csv")}
    for table in tables.values():
        table.attrs["run"] = str(folder)
    return tables


def look_up(
    study: Study, stored: Callable[[], Tables], analysis: Callable[..., Any], **arguments: Any
) -> Any:
    """Return what a run computed with the same arguments, or compute it."""
    is_main = arguments.get("dimension") == study.main_dimension
    name = analysis.__name__ if is_main and not arguments.get("include_human") else ""
    if name == "compare_systems" and "systems" in stored():
        from nlgbench.analysis.people.comparing import SystemComparison

        names = ("systems", "pairs", "details", "annotators")
        return SystemComparison(**{name: stored()[name] for name in names}, groups=pd.DataFrame())
    if name == "correlate" and "correlations" in stored():
        rows = stored()["correlations"]
        rows = rows[rows["granularity"] == arguments["granularity"]]
        rows = rows[rows["evaluator"].isin(arguments["evaluators"])]
        if rows["evaluator"].nunique() == len(arguments["evaluators"]):
            return rows
    return analysis(study, **arguments)


def name_run(table: pd.DataFrame) -> str:
    """Report the run that a table is from, if any."""
    return f"Results of the run in {table.attrs['run']}." if "run" in table.attrs else ""
