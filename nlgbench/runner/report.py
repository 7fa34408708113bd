"""The report of a folder of runs: one page to hand on, files for LaTeX, datasheet and checklist."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import mistune
import pandas as pd

import nlgbench
from nlgbench.analysis.reproduction import by_paper
from nlgbench.datasets.published import load_claims
from nlgbench.plots.reproduction import plot_reproduction
from nlgbench.runner import claims, degrees, heds, latex, run_folder, runs
from nlgbench.runner.run_folder import Figure, Folder, Run, Table, interval, rankings
from nlgbench.study import schema

#: The folder, beside those of the runs, and the page in it.
PLACE, PAGE = "report", "report.html"
#: Name of the table that a notebook records the answers of `nlgbench.datasheet` under.
_DATASHEET = "datasheet"
#: Rows of a table that a page shows; its file has all.
_MOST_ROWS = 50
#: CSS pixels of one of a picture's 300 to the inch: a quarter larger than in print.
_SCALE = 96 / 300 * 1.25
#: Packages that the checklist names; the page has all.
_PACKAGES = ("nlgbench", "numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "sacrebleu")


def write(out: Path) -> Path:
    """Write the report of a folder of runs; give the path of its page."""
    found = run_folder.read(out)
    place = out / PLACE
    if place.exists() and not (place / PAGE).is_file():
        raise OSError(
            f"{place} was not made by nlgbench and would be replaced: move it away, or rename it."
        )
    with runs.writing(out):
        aside = runs.aside(out, PLACE)
        (aside / "tables").mkdir()
        for name, text in _files(found).items():
            (aside / name).write_text(text, encoding="utf-8", newline="\n")
        runs.promote(aside, place)
    return place / PAGE


def _files(found: Folder) -> dict[str, str]:
    """Write every file of the report: its name, and its text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    tables = latex.tables(found)
    texts = {f"tables/{name}.tex": text for name, text in tables.items()}
    texts["numbers.tex"] = latex.numbers_tex(found)
    texts["tables.tex"] = latex.tables_tex(tables)
    texts["figures.tex"] = latex.figures_tex(found)
    answers = {
        table.run: pd.read_csv(table.path, dtype="str", keep_default_na=False)
        for table in found.tables
        if table.name == _DATASHEET
    }
    sheets: dict[str, tuple[str, dict[str, Any]]] = {
        "checklist.md": ("checklist.md.j2", _checklist(found, answers))
    }
    for run, given in answers.items():
        end = f"-{run}" if len(answers) > 1 else ""
        texts[f"heds{end}.json"] = heds.as_json(given)
        by_question = {str(key): rows.to_dict("records") for key, rows in given.groupby("question")}
        sheets[f"heds{end}.md"] = ("heds.md.j2", {"run": run, "answers": by_question})
    for name, (template, parts) in sheets.items():
        texts[name] = environment.get_template(template).render(parts)
    markdown = mistune.create_markdown(escape=True, plugins=["table"])
    shown = [str(markdown(texts[name].replace("# ", "### ", 1))) for name in sheets]
    page = _page(found) | {
        "sheets": [one.replace("<th ", '<th scope="col" ') for one in shown],
        "files": [name for name in texts if not name.startswith("tables/")],
    }
    texts[PAGE] = environment.get_template("report.html.j2").render(page)
    return texts


def _cell(text: str) -> str:
    """Write a text so that it stays in its cell of a Markdown table, and marks nothing up."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))


def _page(found: Folder) -> dict[str, Any]:
    """Gather what the page shows."""
    versions: dict[str, set[str]] = {}
    for run in found.runs:
        for name, version in run.manifest["dependencies"].items():
            versions.setdefault(name, set()).add(version)
    n = len(found.runs)
    title = f"Report of {n} run{'s' * (n != 1)}"
    if n <= 3:
        title += ": " + ", ".join(run.place for run in found.runs)
    return {
        "title": title,
        "sources": sorted({run.source for run in found.runs}),
        "others": found.others,
        "failed": found.failed,
        "runs": found.runs,
        "about": {run.place: _about(run) for run in found.runs},
        "rankings": [
            {"of": f"{table.run}: {table.name}", "words": words, **_grid(ranked)}
            for table in found.tables
            for words, ranked in rankings(table)
        ],
        **_ledger(found.ledger),
        "figures": [_figure(found, figure) for figure in found.figures],
        "tables": [_table(found, table) for table in found.tables],
        "versions": {name: " and ".join(sorted(of)) for name, of in sorted(versions.items())},
        "version": nlgbench.__version__,
    }


def _about(run: Run) -> dict[str, str]:
    """Say how a run was made."""
    about = run.manifest
    given = [f"{name} = {one}" for name, one in about["parameters"].items() if one is not None]
    memory = about["peak_memory_bytes"]
    return {
        "parameters": ", ".join(given) or "none",
        "nlgbench": f"{about['nlgbench']}, commit {about['commit'] or 'unknown'}",
        "Python": f"{about['python']} on {about['machine']}",
        "started": f"{about['started']}, {about['seconds']:.0f} s",
        "memory": f"{memory / 2**20:.0f} MiB" if memory else "not measured",
        "digest": about["digest"],
        **{f"SHA-256 of {name}": value for name, value in sorted(about["data"].items())},
    }


def _grid(frame: pd.DataFrame) -> dict[str, Any]:
    """Lay out a table: names of its columns, which of them hold numbers, and its cells."""
    kinds = pd.api.types
    return {
        "columns": list(map(str, frame.columns)),
        "numeric": [
            kinds.is_numeric_dtype(kind) and not kinds.is_bool_dtype(kind) for kind in frame.dtypes
        ],
        "rows": frame.astype(object).map(_shown).to_numpy().tolist(),
    }


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}".replace("-", "−")
    return str(value)


def _ledger(ledger: pd.DataFrame) -> dict[str, Any]:
    """Lay out the ledger, its verdicts counted by what they rest on, and degrees by paper."""
    used = [name for name in schema.VERDICTS if (ledger["verdict"] == name).any()]
    variant = ("(" + ledger["variant"] + ")").where(ledger["variant"] != "", "")
    rows = pd.DataFrame(
        {
            "claim or result": (ledger["claim_id"] + " " + variant).str.strip(),
            "printed": ledger["published"],
            "recomputed": ledger["recomputed"],
            "interval": list(map(interval, ledger["ci_low"], ledger["ci_high"])),
            "verdict": ledger["verdict"],
            "source": (ledger["source"] + ", " + ledger["run"]).str.removesuffix(", "),
            "reason": ledger["reason"],
        }
    )
    pictures: list[dict[str, Any]] = []
    papers = pd.DataFrame()
    if ledger[["published", "recomputed"]].notna().all(axis=1).any():
        near = degrees.of_runs(ledger)
        papers = by_paper(near)
        drawn = near[near["kind"].eq("number") & near["recomputed"].notna()]
        for paper in drawn["paper"].unique():
            drawing = plot_reproduction(near, paper=paper)
            width, height = (round(120 * inches) for inches in drawing.figure.get_size_inches())
            picture = {"data": _data(drawing.image("png")), "width": width, "height": height}
            pictures.append({**picture, "alt": drawing.alt})
    counts = claims.summary(ledger, load_claims()) if len(ledger) else ledger
    return {
        "ledger": _grid(rows),
        "verdict_names": used,
        "verdicts": _grid(counts[["rests on", "claims", "rows", *used]] if used else counts),
        "reproduction": {**_grid(papers), "figures": pictures},
    }


def _data(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _link(found: Folder, path: Path) -> str:
    """Give the address of a file of a run, from the report's folder beside it."""
    return quote("../" + path.relative_to(found.path).as_posix())


def _figure(found: Folder, figure: Figure) -> dict[str, Any]:
    width, height = (round(pixels * _SCALE) for pixels in figure.pixels)
    return {
        "data": _data(figure.path.with_suffix(".png").read_bytes()),
        "width": width,
        "height": height,
        "figure": figure,
        "pdf": _link(found, figure.path),
        "csv": _link(found, figure.path.with_suffix(".csv")),
    }


def _table(found: Folder, table: Table) -> dict[str, Any]:
    return {
        "table": table,
        "n": len(table.frame),
        "link": _link(found, table.path),
        **_grid(table.frame.head(_MOST_ROWS)),
    }


def _checklist(found: Folder, answers: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Give the numbers that these runs know of items of the ARR checklist."""
    memory = [run.manifest["peak_memory_bytes"] or 0 for run in found.runs]
    seconds = sum(run.manifest["seconds"] for run in found.runs)
    machines = sorted({run.manifest["machine"] for run in found.runs})
    versions = {
        f"{name} {one}"
        for run in found.runs
        for name, one in [
            ("nlgbench", run.manifest["nlgbench"]),
            *run.manifest["dependencies"].items(),
        ]
        if name in _PACKAGES
    }
    settings = [f"{run.place}: {_about(run)['parameters']}" for run in found.runs]
    return {
        "sizes": _each(answers, "3.1.1"),
        "budget": f"{len(found.runs)} runs, {seconds:.0f} s in all, at most "
        f"{max(memory) / 2**20:.0f} MiB of memory; {', '.join(machines)}",
        "settings": "; ".join(settings),
        "statistics": _statistics(found),
        "packages": ", ".join(sorted(versions)),
        "annotators": _each(answers, "3.2.1"),
        "agreement": _each(answers, "4.3.11.2"),
    }


def _each(answers: dict[str, pd.DataFrame], question: str) -> str:
    """Give the answers of all datasheets to one question."""
    said = []
    for run, table in answers.items():
        for row in table[(table["question"] == question) & (table["answer"] != "")].to_dict(
            "records"
        ):
            said.append(": ".join(filter(None, [run, row["criterion"], row["answer"]])))
    return "; ".join(said)


def _statistics(found: Folder) -> str:
    """Count the estimates with and without an interval, and say how these were made."""
    estimates = [table for table in found.tables if table.value and "ci_low" in table.frame]
    n = n_bounded = 0
    for table in estimates:
        columns = table.frame[[table.value, "ci_low", "ci_high"]]
        known = columns.apply(pd.to_numeric, errors="coerce").notna()
        n, n_bounded = n + known[table.value].sum(), n_bounded + known.all(axis=1).sum()
    said = [f"{n_bounded} of {n} estimates have an interval"]
    for column, called in (
        ("confidence", "levels"),
        ("method", "methods"),
        ("n_resamples", "resamples"),
    ):
        used = {one for table in estimates if column in table.frame for one in table.frame[column]}
        words = {_shown(one) for one in used} - {"", "none"}
        shown = sorted(words, key=lambda one: (len(one), one))  # 200 before 1000
        said += [f"{called}: {', '.join(shown)}"] * bool(words)
    seeds = sorted({str(run.manifest["seed"]) for run in found.runs} - {"None"})
    return "; ".join([*said, *[f"seeds: {', '.join(seeds)}"] * bool(seeds)])
