"""The report's page: one file of HTML that needs no other, and no network."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd

import nlgbench
from nlgbench.datasets.published import load_claims
from nlgbench.runner import claims
from nlgbench.runner.report import checklist, heds, latex
from nlgbench.runner.report.folder import SUBJECTS, Folder, Run, Table, rankings
from nlgbench.study import schema

#: Rows of a table that a page shows; its file has all.
_MOST_ROWS = 50
#: Where the ends of an interval stand in the little pictures, in pixels.
_LEFT, _RIGHT = 6.0, 164.0


def html(folder: Folder, files: list[tuple[str, str]]) -> str:
    """Fill the page. `files` lie beside it: name, and what it is in words."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    n = len(folder.runs)
    ranked = [
        {"anchor": subject + "s", "heading": heading, "rankings": found}
        for subject, heading in SUBJECTS.items()
        if (found := _ranked(folder, subject))
    ]
    reproduction = _reproduction(folder.path)
    parts: dict[str, Any] = {
        "title": f"Report of {n} run{'s' * (n != 1)}: {', '.join(run.place for run in folder.runs)}"
        if n <= 3
        else f"Report of {n} runs",
        "sources": ", ".join(sorted({_source(run) for run in folder.runs})),
        "others": folder.others,
        "failed": folder.failed,
        "runs": [_about(run) for run in folder.runs],
        "ranked": ranked,
        **_ledger(folder.ledger),
        "reproduction": reproduction,
        "figures": [_figure(folder, n) for n in range(len(folder.figures))],
        "tables": [_table(folder, table) for table in folder.tables],
        "versions": _versions(folder),
        "checklist": _grid(pd.DataFrame(checklist.items(folder))),
        "sheets": [
            {"caption": f"Datasheet of {run}", **_grid(pd.DataFrame(heds.sheet(found)))}
            for run, found in heds.answers(folder).items()
        ],
        "files": files,
        "version": nlgbench.__version__,
    }
    parts["sections"] = [
        ("asked", "What was asked"),
        *((part["anchor"], part["heading"]) for part in ranked),
        *([("verdicts", "Verdicts"), ("ledger", "Ledger")] if parts["verdicts"] else []),
        *([("reproduction", "Reproduction")] if reproduction else []),
        ("figures", "Figures"),
        ("tables", "Tables"),
        ("runs", "Parameters, data, versions"),
        ("sheets", "Datasheet and checklist"),
    ]
    return environment.get_template("page.html").render(parts)


def _link(folder: Folder, path: Path) -> str:
    """Give the address of a file of a run, from the report's folder beside it."""
    return quote("../" + path.relative_to(folder.path).as_posix())


def _source(run: Run) -> str:
    """Say where a run's data come from; one without any works on printed numbers."""
    return run.manifest["source"] or "published"


def _about(run: Run) -> dict[str, Any]:
    about = run.manifest
    memory = about["peak_memory_bytes"]
    given = {name: value for name, value in about["parameters"].items() if value is not None}
    lines = [
        ("parameters", ", ".join(f"{name} = {value}" for name, value in given.items()) or "none"),
        ("nlgbench", f"{about['nlgbench']}, commit {about['commit'] or 'unknown'}"),
        ("Python", f"{about['python']} on {about['machine']}"),
        ("started", f"{about['started']}, {about['seconds']:.0f} s"),
        ("memory", f"{memory / 2**20:.0f} MiB" if memory else "not measured"),
        ("digest", about["digest"]),
    ]
    return {
        "place": run.place,
        "title": run.title,
        "question": run.question,
        "asked": run.asked,
        "source": _source(run),
        "link": quote(f"../{run.place}/notebook.ipynb"),
        "about": lines,
        "hashes": sorted(about["data"].items()),
    }


def _versions(folder: Folder) -> list[tuple[str, str]]:
    """Give the versions of what was installed; several where runs differ."""
    found: dict[str, set[str]] = {}
    for run in folder.runs:
        for name, version in run.manifest["dependencies"].items():
            found.setdefault(name, set()).add(version)
    return [(name, " and ".join(sorted(of))) for name, of in sorted(found.items())]


def _number(value: object) -> str:
    """Write a number for reading; nothing where there is none."""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}".replace("-", "−")
    return str(value)


def _interval(low: float, high: float) -> str:
    if pd.isna(low) or pd.isna(high):
        return ""
    return f"[{low:.3g}, {high:.3g}]".replace("-", "−")


def _grid(frame: pd.DataFrame) -> dict[str, Any]:
    """Lay out a table: its columns, and its cells as they are read."""
    columns = [
        {
            "name": str(name),
            "number": pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind),
        }
        for name, kind in frame.dtypes.items()
    ]
    cells = frame.astype(object).where(frame.notna(), "")
    return {"columns": columns, "rows": [[_number(one) for one in row] for row in cells.to_numpy()]}


def _ranked(folder: Folder, subject: str) -> list[dict[str, Any]]:
    """Lay out the rankings of systems, or of evaluators; the first of each run is open."""
    found: list[dict[str, Any]] = []
    opened: set[str] = set()
    for table in folder.tables:
        for of, words, rows in rankings(table):
            if of != subject:
                continue
            caption = f"{table.run}: {table.name.replace('_', ' ')}" + f" ({words})" * bool(words)
            one = _ranking(rows, subject, table.value)
            first = table.run not in opened
            opened.add(table.run)
            found.append({"caption": f"{caption}, {table.source}", "open": first, **one})
    return found


def _ranking(rows: pd.DataFrame, subject: str, value: str) -> dict[str, Any]:
    numbers = rows[[value, "ci_low", "ci_high"]].apply(pd.to_numeric, errors="coerce")
    known = numbers.to_numpy()[np.isfinite(numbers.to_numpy())]
    least, most = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    size = (most - least) or 1.0

    def place(number: float) -> str | None:
        if not np.isfinite(number):
            return None
        return f"{_LEFT + (number - least) / size * (_RIGHT - _LEFT):.1f}"

    ranks = rows[value].rank(ascending=False, method="min")
    has_ranks = {"rank_low", "rank_high"} <= set(rows.columns)
    reasons = rows["reason"] if "reason" in rows else pd.Series("", rows.index)
    made = []
    for n, (at, low, high) in enumerate(numbers.to_numpy()):
        bounded = np.isfinite([low, high]).all()
        held = rows.iloc[n]
        made.append(
            {
                "rank": "" if np.isnan(at) else f"{ranks.iloc[n]:.0f}",
                "name": held[subject],
                "value": _number(float(at)),
                "interval": _interval(low, high),
                "at": place(at),
                "low": place(low) if bounded else None,
                "high": place(high) if bounded else None,
                "ranks": f"{held['rank_low']:g} to {held['rank_high']:g}"
                if has_ranks and isinstance(held["rank_low"], float) and held["rank_low"] > 0
                else "",
                "reason": reasons.iloc[n],
            }
        )
    return {
        "subject": subject,
        "value": value,
        "low": _number(float(least)),
        "high": _number(float(most)),
        "rows": made,
        "has_ranks": has_ranks,
        "has_reasons": bool((reasons != "").any()),
    }


def _ledger(ledger: pd.DataFrame) -> dict[str, Any]:
    """Lay out the ledger, with the reasons that rows share as numbered notes."""
    if ledger.empty:
        return {"verdicts": None}
    notes = {reason: n for n, reason in enumerate(filter(None, ledger["reason"].unique()), 1)}
    counts = claims.summary(ledger, load_claims())
    used = [name for name in schema.VERDICTS if (ledger["verdict"] == name).any()]
    rows = [
        {
            "claim": " ".join(
                filter(None, [row["claim_id"], row["variant"] and f"({row['variant']})"])
            ),
            "paper": row["claim_id"].partition("/")[0],
            "published": _number(row["published"]),
            "recomputed": _number(row["recomputed"]),
            "interval": _interval(row["ci_low"], row["ci_high"]),
            "verdict": row["verdict"],
            "source": row["source"] + f", {row['run']}" * bool(row["run"]),
            "note": notes.get(row["reason"], ""),
        }
        for row in ledger.to_dict("records")
    ]
    return {
        "verdicts": _grid(counts[["rests on", "claims", "rows", *used]]),
        "ledger": rows,
        "notes": list(notes),
        "papers": list(dict.fromkeys(row["paper"] for row in rows)),
        "verdict_names": used,
    }


def _image(path: Path) -> dict[str, Any]:
    """Put a PNG into the page; its size as it prints, in CSS pixels."""
    content = path.read_bytes()
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    data = base64.b64encode(content).decode()
    scale = 96 / 300 * 1.25  # of 300 dots to the inch, a quarter larger for the screen
    return {
        "data": f"data:image/png;base64,{data}",
        "width": round(width * scale),
        "height": round(height * scale),
    }


def _figure(folder: Folder, n: int) -> dict[str, Any]:
    figure = folder.figures[n]
    return {
        **_image(figure.path.with_suffix(".png")),
        "alt": figure.alt,
        "caption": latex.caption(figure),
        "run": figure.run,
        "name": figure.name,
        "pdf": _link(folder, figure.path),
        "csv": _link(folder, figure.path.with_suffix(".csv")),
        "sizes": latex.sizes(figure),
    }


def _table(folder: Folder, table: Table) -> dict[str, Any]:
    n = len(table.frame)
    return {
        "run": table.run,
        "name": table.name,
        "source": table.source,
        "n": n,
        "cut": n > _MOST_ROWS,
        "link": _link(folder, table.path),
        **_grid(table.frame.head(_MOST_ROWS)),
    }


def _reproduction(path: Path) -> dict[str, Any] | None:
    """Take in degrees of reproduction, where the folder has them."""
    table = path / "reproduction.csv"
    pictures = sorted((path / "reproduction").glob("*.png"))
    if not table.is_file() and not pictures:
        return None
    frame = pd.read_csv(table) if table.is_file() else pd.DataFrame()
    figures = []
    for picture in pictures:
        words = picture.with_suffix(".txt")
        alt = words.read_text(encoding="utf-8").strip() if words.is_file() else picture.stem
        figures.append({**_image(picture), "alt": alt})
    caption = f"reproduction.csv, {len(frame)} rows"
    caption += f", of which the first {_MOST_ROWS}" * (len(frame) > _MOST_ROWS)
    return {**_grid(frame.head(_MOST_ROWS)), "caption": caption, "figures": figures}
