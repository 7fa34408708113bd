"""What runs answer of the Responsible NLP Research checklist of the ACL Rolling Review.

Its items on data, experiments, statistics and annotators, by their letters and in our words, as of
October 2024: https://aclrollingreview.org/responsibleNLPresearch/.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgbench.runner.report import heds
from nlgbench.runner.report.folder import Folder, Table

_COLUMNS = ["item", "about", "numbers", "left"]


def items(folder: Folder) -> list[dict[str, str]]:
    """List the items: item, about, numbers (of these runs), left (what the authors must say)."""
    found = heds.answers(folder)
    both = [
        ("B6", "Size of the data", _sizes(found), "splits, where anything was trained"),
        (
            "C1",
            "Computing budget",
            _budget(folder),
            "numbers of parameters of models, and the budget of all other experiments",
        ),
        ("C2", "Settings", _settings(folder), "how they were chosen, and what else was tried"),
        ("C3", "Descriptive statistics", _statistics(folder), "what the paper claims of them"),
        ("C4", "Packages", _packages(folder), "settings of packages outside these runs"),
        ("D1", "Instructions to annotators", "", "their full text, screenshots, warnings of risks"),
        (
            "D2",
            "Recruiting and payment",
            _people(found),
            "how people were found, what was paid, and whether that is adequate",
        ),
        ("D3", "Consent", "", "what people were told that their answers are used for"),
        ("D4", "Ethics review", "", "which board approved it, or why none was asked"),
        ("D5", "Who the annotators are", "", "demographic and geographic characteristics"),
    ]
    return [dict(zip(_COLUMNS, row, strict=True)) for row in both]


def as_markdown(rows: list[dict[str, str]]) -> str:
    """Write the items as a table."""
    lines = [
        "# Responsible NLP Research checklist: statistics and annotators",
        "",
        "Items of the ACL Rolling Review's checklist (October 2024), in our words. *Numbers* "
        "are those of these runs; the rest only the authors can say.",
        "",
        "| item | about | numbers | left to the authors |",
        "| :-- | :-- | :-- | :-- |",
    ]
    lines += ["| " + " | ".join(map(heds.markdown, row.values())) + " |" for row in rows]
    return "\n".join([*lines, ""])


def _each(found: dict[str, pd.DataFrame], *questions: str) -> str:
    """Give answers of the datasheets, study by study."""
    said = []
    for run, table in found.items():
        own = table[table["question"].isin(questions) & (table["answer"] != "")]
        words = [
            f"{row['criterion']}: {row['answer']}" if row["criterion"] else row["answer"]
            for row in own.to_dict("records")
        ]
        said += [f"{run}: {'; '.join(words)}"] * bool(words)
    return ". ".join(said)


def _sizes(found: dict[str, pd.DataFrame]) -> str:
    return _each(found, "3.1.1")


def _people(found: dict[str, pd.DataFrame]) -> str:
    people = {
        run: table.assign(
            answer=table["answer"].where(
                table["question"] != "3.2.1", table["answer"] + " annotators"
            )
        )
        for run, table in found.items()
    }
    return _each(people, "3.2.1", "4.3.11.2")


def _budget(folder: Folder) -> str:
    seconds = sum(run.manifest["seconds"] for run in folder.runs)
    memory = [run.manifest["peak_memory_bytes"] or 0 for run in folder.runs]
    machines = ", ".join(sorted({run.manifest["machine"] for run in folder.runs}))
    peak = f", at most {max(memory) / 2**20:.0f} MiB of memory" if any(memory) else ""
    return f"{len(folder.runs)} runs, {seconds:.0f} s in all{peak}; {machines}"


def _settings(folder: Folder) -> str:
    given = {
        run.place: ", ".join(
            f"{name} = {value}" for name, value in run.manifest["parameters"].items()
        )
        for run in folder.runs
    }
    return "; ".join(f"{place}: {said}" for place, said in given.items() if said)


def _statistics(folder: Folder) -> str:
    """Count the estimates with and without an interval, and say how these were made."""
    estimates = [table for table in folder.tables if table.value and "ci_low" in table.frame]
    known = [_numbers(table) for table in estimates]
    n = sum(int(one[:, 0].sum()) for one in known)
    bounded = sum(int(one.all(axis=1).sum()) for one in known)
    reasons = sum(
        int(((table.frame["reason"] != "").to_numpy() & ~one[:, 1]).sum())
        for table, one in zip(estimates, known, strict=True)
        if "reason" in table.frame
    )
    levels = _words(estimates, "confidence")
    methods = _words(estimates, "method") + _words(estimates, "ci_method")
    draws = _words(estimates, "n_resamples")
    said = f"{bounded} of {n} estimates have an interval"
    said += f"; {reasons} rows say why they have none" * bool(reasons)
    said += f"; levels {', '.join(levels)}" * bool(levels)
    said += f"; methods: {'; '.join(sorted(set(methods) - {'none'}))}" * bool(methods)
    said += f"; resamples: {', '.join(sorted(set(draws), key=float))}" * bool(draws)
    seeds = sorted({str(run.manifest["seed"]) for run in folder.runs} - {"None"})
    return said + f"; each run once, with seeds {', '.join(seeds)}" * bool(seeds)


def _numbers(table: Table) -> np.ndarray:
    """Say of each row whether there are an estimate and both ends of its interval."""
    columns = table.frame[[table.value, "ci_low", "ci_high"]]
    return columns.apply(pd.to_numeric, errors="coerce").notna().to_numpy()


def _words(tables: list[Table], column: str) -> list[str]:
    values = [table.frame[column].dropna() for table in tables if column in table.frame]
    if not values:
        return []
    found = pd.concat(values)
    found = found[found.astype(str) != ""]
    return sorted({f"{one:g}" if isinstance(one, float) else str(one) for one in found})


def _packages(folder: Folder) -> str:
    """Name the packages that numbers come from; the manifests have all."""
    named = ["numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "sacrebleu", "matplotlib"]
    versions: dict[str, set[str]] = {}
    for run in folder.runs:
        installed = {"nlgbench": run.manifest["nlgbench"], **run.manifest["dependencies"]}
        for name in ["nlgbench", *named, "torch"]:
            if name in installed:
                versions.setdefault(name, set()).add(installed[name])
    return ", ".join(f"{name} {' and '.join(sorted(of))}" for name, of in versions.items())
