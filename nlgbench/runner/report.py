"""Report a folder of runs: one page to share, files for LaTeX, a datasheet and a checklist."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import mistune
import pandas as pd
from markupsafe import Markup, escape
from PIL import Image

import nlgbench
from nlgbench.analysis.reproduction import by_paper
from nlgbench.datasets.published import load_claims, study_title
from nlgbench.plots.reproduction import plot_reproduction
from nlgbench.reported import MOST_ROWS, readable
from nlgbench.runner import claims, latex, listing, run_folder, runs
from nlgbench.runner.facts import legible
from nlgbench.runner.gathering import degrees, recomputed
from nlgbench.runner.run_folder import Folder, Run, Table
from nlgbench.study import schema
from nlgbench.study.csv_files import harmless
from nlgbench.text import counted

#: The report's folder, next to those of the runs, and the page in it.
PLACE, PAGE = "report", "report.html"
#: Tables of a run: answers of `nlgbench.datasheet`, findings, and doubts about the study.
_DATASHEET, _FINDINGS, _DOUBTS = "datasheet", "findings", "doubts"
_APART = (_FINDINGS, _DOUBTS, "printed_numbers")
#: The end of a doubt that tells a study's author which setting to choose.
_ADVICE = re.compile(r"[.:;]( if [^.:;]*,)? (set|exclude them with|add it to) `settings:.*$", re.I)
#: CSS pixels per pixel of a picture with 300 per inch: a quarter larger than in print.
_SCALE = 96 / 300 * 1.25
#: Packages that the checklist names; the page lists all.
_PACKAGES = ("nlgbench", "numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "sacrebleu")


def write(out: Path) -> Path:
    """Write the report of a folder of runs; return the path of its page."""
    folder = run_folder.read_runs(out)
    report = out / PLACE
    if report.exists() and not (report / PAGE).is_file():
        raise OSError(
            f"{report} was not made by nlgbench and would be replaced: move it away, or rename it."
        )
    with runs.writing(out):
        draft = runs.aside(out, PLACE)
        (draft / "tables").mkdir()
        for name, text in _files(folder).items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
        runs.promote(draft, report)
    return report / PAGE


def _files(folder: Folder) -> dict[str, str]:
    """Return every file of the report, by name."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": _cell, "picture": _picture, "prose": _prose}
    environment.filters["readable"] = lambda table, *rows: readable(legible(table), *rows)
    copies = _harmless_copies(folder)
    environment.filters["link"] = lambda path: quote(
        copies[path][0] if path in copies else f"../{path.relative_to(folder.path).as_posix()}"
    )

    titles = _titles(folder)

    def rendered(template: str, **values: Any) -> str:
        return environment.get_template(template).render(values)

    tables = latex.tables(folder)
    texts = {f"tables/{name}.tex": text for name, text in tables.items()} | dict(copies.values())
    texts["numbers.tex"] = latex.numbers_tex(folder)
    texts["tables.tex"] = latex.tables_tex(tables)
    texts["figures.tex"] = latex.figures_tex(folder)
    answers = {table.run: table.frame for table in folder.tables if table.name == _DATASHEET}
    sheets = {"checklist.md": rendered("checklist.md.j2", **_checklist(folder, answers))}
    for run, table in answers.items():
        end = f"-{run}" if len(answers) > 1 else ""
        by_question = {str(key): rows.to_dict("records") for key, rows in table.groupby("question")}
        sheets[f"heds{end}.md"] = rendered("heds.md.j2", title=titles[run], answers=by_question)
    texts |= sheets
    markdown = mistune.create_markdown(escape=True, plugins=["table"])
    pages = {
        name: str(markdown(body)).replace("<th ", '<th scope="col" ')
        for name, body in (text.removeprefix("# ").split("\n", 1) for text in sheets.values())
    }
    texts[PAGE] = rendered(
        "report.html.j2",
        folder=folder,
        title=_title(folder, titles),
        titles=titles,
        answers={run.folder: _answer(run) for run in folder.runs},
        about={run.folder: _about(run) for run in folder.runs},
        tables={run.folder: _shown_tables(run) for run in folder.runs},
        published=not folder.ledger["claim_id"].map(claims.is_own).all(),
        verdicts=readable(_verdicts(folder.ledger)),
        verdict_names=[
            name for name in schema.VERDICTS if (folder.ledger["verdict"] == name).any()
        ],
        ledger=readable(_ledger(folder.ledger)),
        **_reproduction(folder.ledger),
        most_rows=MOST_ROWS,
        versions=_versions(folder),
        version=nlgbench.__version__,
        sheets=pages,
        files=[name for name in texts if not name.startswith("tables/")],
    )
    return texts


def _harmless_copies(folder: Folder) -> dict[Path, tuple[str, str]]:
    """Return harmless copies of CSV files in which a spreadsheet would run cells as formulas."""
    copies = {}
    figures = [figure.path.with_suffix(".csv") for figure in folder.figures]
    for path in [*(table.path for table in folder.tables), *figures]:
        cells = pd.read_csv(path, dtype="str", keep_default_na=False, header=None)
        safe = cells.apply(harmless)
        if not safe.equals(cells):
            text = safe.to_csv(index=False, header=False, lineterminator="\n")
            copies[path] = (f"tables/{path.parent.parent.name}-{path.name}", text)
    return copies


def _titles(folder: Folder) -> dict[str, str]:
    """Name each run by its title, with its study if several runs share the title."""
    titles = [run.title for run in folder.runs]
    return {
        run.folder: f"{run.title} ({_study(run)})" if titles.count(run.title) > 1 else run.title
        for run in folder.runs
    }


def _study(run: Run) -> str:
    """Name the study of a run, from its findings or else from its folder, as people do."""
    folder = Path(run.manifest["parameters"].get("study") or run.source).name
    name = str(next(filter(None, [*_rows(run, _FINDINGS).get("study", [])[:1], folder])))
    return study_title(name) if run.source == "released" else name


def _rows(run: Run, name: str) -> pd.DataFrame:
    """Return a table of a run, without rows if there is none."""
    return next((table.frame for table in run.tables if table.name == name), pd.DataFrame())


def _title(folder: Folder, titles: dict[str, str]) -> str:
    """Name the report after the study if all runs have the same one, else after the runs."""
    folders = {run.manifest["parameters"].get("study") for run in folder.runs}
    is_named = any(len(_rows(run, _FINDINGS)) for run in folder.runs)
    if is_named and len(folders) == 1 and (len(folder.runs) == 1 or None not in folders):
        return _study(folder.runs[0])
    n = len(folder.runs)
    return f"Report of {n} runs" if n > 1 else titles[folder.runs[0].folder]


def _answer(run: Run) -> dict[str, Any]:
    """Return a run's findings and doubts, and a line on its date and data."""
    findings = _rows(run, _FINDINGS)
    day = pd.Timestamp(run.manifest["started"]).strftime("%-d %B %Y")
    answer: dict[str, Any] = {"findings": [], "about": f"{day} · data: {run.source}."}
    if len(findings):
        # The line above the findings names the study and the source of all of them.
        suffix = rf" \((?:{re.escape(findings['study'].iloc[0])}, )?{run.source}\)\.$"
        is_source = findings["quantity"] == "source"
        sentences = findings.loc[~is_source, "finding"].unique()
        answer["findings"] = [re.sub(suffix, ".", sentence) for sentence in sentences]
        parts = [*findings.loc[is_source, "data"], *findings.loc[is_source, "subject"]]
        answer["about"] = " · ".join([day, *filter(None, parts)]) + "."
    doubts = _rows(run, _DOUBTS).get("could change a conclusion", ())
    first_three = " ".join(answer["findings"][:3])
    answer["doubts"] = [_ADVICE.sub(".", text) for text in doubts if text not in first_three]
    # The first finding, up to the sentence with its first estimate.
    answer["short"] = re.sub(r"^(.*?\[.*?\.) [A-Z].*", r"\1", " ".join(answer["findings"][:1]))
    return answer


def _shown_tables(run: Run) -> list[Table]:
    """Return the tables of a run for readers: those with ranks, with other estimates, others."""
    tables = [table for table in run.tables if len(table.frame) and table.name not in _APART]
    return sorted(
        tables, key=lambda table: ("rank_low" not in table.frame, "ci_low" not in table.frame)
    )


def _prose(text: str) -> Markup:
    """Set text between backticks as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _cell(text: str) -> str:
    """Escape a text, so that it stays in its cell of a Markdown table, without markup."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))


def _picture(png: bytes) -> dict[str, Any]:
    """Embed a PNG as a data URL, with 256 colors, and its size on the page."""
    small = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    width, height = (round(size * _SCALE) for size in image.size)
    data = f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"
    return {"src": data, "width": width, "height": height}


def _versions(folder: Folder) -> list[str]:
    """List the packages of all runs with their versions."""
    versions = (package for run in folder.runs for package in run.manifest["dependencies"].items())
    return sorted({" ".join(package) for package in versions})


def _about(run: Run) -> dict[str, str]:
    """Describe how a run was made."""
    manifest = run.manifest
    # Readers of the report have a study's folder elsewhere, or not at all.
    study = Path(manifest["parameters"].get("study") or "").name or None
    used = {**manifest["parameters"], "study": study, "source": run.source}
    parameters = [f"{name} = {value}" for name, value in used.items() if value is not None]
    memory = manifest["peak_memory_bytes"]
    return {
        "parameters": ", ".join(parameters) or "none",
        "nlgbench": f"{manifest['nlgbench']}, commit {manifest['commit'] or 'unknown'}",
        "Python": f"{manifest['python']} on {manifest['machine']}",
        "started": f"{manifest['started']}, {manifest['seconds']:.0f} s",
        "memory": f"{memory / 2**20:.0f} MiB" if memory else "not measured",
        "digest": manifest["digest"],
        **{f"SHA-256 of {name}": value for name, value in sorted(manifest["data"].items())},
    }


def _verdicts(ledger: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts by the evidence for them."""
    counts = claims.summary(ledger, load_claims()) if len(ledger) else ledger
    return counts.loc[:, [name for name in counts if counts[name].any()]]


def _ledger(ledger: pd.DataFrame) -> pd.DataFrame:
    """Lay out the ledger for reading."""
    table = ledger.assign(
        printed=ledger["published"].map(listing.short), recomputed=listing.with_interval(ledger)
    )
    variant = ("(" + ledger["variant"] + ")").where(ledger["variant"] != "", "")
    table["claim or result"] = (ledger["claim_id"] + " " + variant).str.strip()
    table["data"] = (ledger["source"] + ", " + ledger["run"]).str.removesuffix(", ")
    columns = "claim or result, printed, recomputed, verdict, data, reason"
    return table[columns.split(", ")]


def _reproduction(ledger: pd.DataFrame) -> dict[str, Any]:
    """Count degrees of reproduction by paper; draw them unless all papers' outcomes are drawn."""
    full = recomputed(ledger)
    if not ledger[["published", "recomputed"]].notna().all(axis=1).any():
        return {"papers": pd.DataFrame(), "drawings": []}
    near = degrees(ledger)
    compared = near[near["kind"].eq("number") & near["recomputed"].notna()]
    names = [] if full else compared["paper"].unique().tolist()
    drawings = [full] * bool(full) + [plot_reproduction(near, paper=paper) for paper in names]
    return {"papers": by_paper(near), "drawings": drawings}


def _checklist(folder: Folder, answers: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Answer the questions of the ARR checklist that these runs can answer."""

    def answered(question: str) -> str:
        texts = []
        for run, table in answers.items():
            rows = table[(table["question"] == question) & (table["answer"] != "")]
            named = rows[["criterion", "answer"]].to_numpy().tolist()
            texts += [": ".join(filter(None, [run, *answer])) for answer in named]
        return "; ".join(texts)

    memory = max(run.manifest["peak_memory_bytes"] or 0 for run in folder.runs)
    seconds = sum(run.manifest["seconds"] for run in folder.runs)
    machines = sorted({run.manifest["machine"] for run in folder.runs})
    packages = [package for package in _versions(folder) if package.split()[0] in _PACKAGES]
    return {
        "sizes": answered("3.1.1"),
        "budget": f"{counted(len(folder.runs), 'run')}, {seconds:.0f} s in all, at most "
        f"{memory / 2**20:.0f} MiB of memory; {', '.join(machines)}",
        "settings": "; ".join(f"{run.title}: {_about(run)['parameters']}" for run in folder.runs),
        "statistics": _statistics(folder),
        "packages": ", ".join(packages),
        "annotators": answered("3.2.1"),
        "agreement": answered("4.3.11.2"),
    }


def _statistics(folder: Folder) -> str:
    """Count the estimates with and without an interval, and describe their methods."""
    ends = ["estimate", "ci_low", "ci_high"]
    frames = [t.frame for t in folder.tables if t.has_estimates and "ci_low" in t.frame]
    rows = pd.concat([pd.DataFrame(columns=ends), *frames]).dropna(subset="estimate")
    texts = [f"{rows[ends].notna().all(axis=1).sum()} of {len(rows)} estimates have an interval"]
    names = {"confidence": "confidence levels", "method": "methods", "n_resamples": "resamples"}
    for column, title in names.items():
        cells = rows.get(column, pd.Series(dtype=str)).dropna().unique()
        used = {cell if isinstance(cell, str) else f"{cell:.4g}" for cell in cells} - {"", "none"}
        texts += [f"{title}: {', '.join(sorted(used))}"] * bool(used)
    return "; ".join(texts)
