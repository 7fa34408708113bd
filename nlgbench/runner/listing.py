"""Tables for reading on a terminal or pasting into a paper."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nlgbench.datasets import cache
from nlgbench.datasets.published import load_claims
from nlgbench.evaluators.stored import stored_dir
from nlgbench.names import did_you_mean
from nlgbench.runner import runs
from nlgbench.runner.claims import OTHER_DATA, summary
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import UsageError
from nlgbench.runner.plan import Outcome
from nlgbench.study import schema

#: Columns of a terminal that tables are laid out for, at least and at most.
_NARROW, _WIDE = 80, 100
#: Columns of a recomputed value, below which its interval stands where there is little room.
_OF_VALUE = 18


def width() -> int:
    """Give the columns to lay text out for: those of the terminal, 100 where there is none."""
    if not sys.stdout.isatty():
        return _WIDE
    return min(_WIDE, max(_NARROW, shutil.get_terminal_size((_WIDE, 24)).columns))


def notebooks(*, form: str | None) -> str:
    """Describe every notebook: title, data, claims, parameters; as text, or as JSON."""
    claims = load_claims()
    owned, columns = claims["notebook"].value_counts(), width()
    parts, found = [], []
    for path in find_notebooks():
        notebook = read_notebook(path)
        shown = [one for one in notebook.parameters.values() if one.name != "output_dir"]
        n_claims = int(owned.get(notebook.name, 0))
        found.append(
            {
                "name": notebook.name,
                "title": notebook.title,
                "path": str(path),
                "data": notebook.datasets,
                "claims": n_claims,
                "parameters": [
                    {
                        "name": one.name,
                        "default": one.default,
                        "declared": one.declared,
                        "note": one.note,
                    }
                    for one in shown
                ],
            }
        )
        lines = [
            f"{notebook.name}: {notebook.title}",
            f"    data: {', '.join(notebook.datasets) or 'none'}; claims: {n_claims}",
        ]
        own = claims[claims["notebook"] == notebook.name]
        for paper, of_paper in own.groupby("paper", sort=False):
            counts = of_paper["where"].value_counts(sort=False)
            tables = ", ".join(f"{where} ({n})" for where, n in counts.items())
            lines.append(f"    {paper}: {tables}")
        for one in shown:
            about = "; ".join(filter(None, [one.note, one.declared]))
            lines.append(f"    {one.name} = {one.default!r}  # {about}")
        parts.append("\n".join(_filled(line, columns, "        ") for line in lines))
    if form == "json":
        return _json(found)
    papers = claims["paper"].value_counts(sort=False)
    about = ", ".join(f"{paper} {n}" for paper, n in papers.items())
    summed = f"{len(found)} notebooks; {len(claims):,} printed numbers: {about}"
    return "\n\n".join([_filled(summed, columns, "    "), *parts])


def _filled(text: str, columns: int, indent: str) -> str:
    """Break a line that is too long."""
    return textwrap.fill(text, columns, subsequent_indent=indent, break_on_hyphens=False)


def outcomes(ended: Sequence[Outcome], out: Path) -> str:
    """Say how each run ended, and where its result is, as JSON."""
    return _json(
        [
            {
                "notebook": one.plan.name,
                "status": one.status,
                "folder": str(out / one.plan.place) + ".failed" * (one.status == "failed"),
                "source": one.plan.source,
                "parameters": one.plan.parameters,
                "seconds": round(one.seconds, 2),
                "message": one.message,
            }
            for one in ended
        ]
    )


def ended(outcomes: Sequence[Outcome], out: Path) -> str:
    """Say in a line of each run how it ended, and where its figures are."""
    lines = []
    wide = max(len(visible(one.plan.place)) for one in outcomes)
    for one in outcomes:
        failed = one.status == "failed"
        folder = out / (one.plan.place + ".failed" * failed)
        figures = folder / "figures"
        n = len([*figures.glob("*.pdf")])
        where = f"{n} figure{'s' * (n != 1)} in {figures}" if n else "no figures"
        took = "" if one.status == "skipped" else f"{one.seconds:.0f} s"
        how = "unchanged" if one.status == "skipped" else one.status
        where = str(folder) if failed else where
        lines.append(f"{visible(one.plan.place):<{wide}}  {how:<9}  {took:>6}  {visible(where)}")
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def ledger(
    directory: Path, *, verdict: str | None = None, form: str = "table", all_runs: bool = False
) -> str:
    """Render the gathered ledger of a folder of runs."""
    if verdict is not None and verdict not in schema.VERDICTS:
        hint = did_you_mean(verdict, schema.VERDICTS)
        raise UsageError(f"no verdict {verdict!r}.{hint} There are: {', '.join(schema.VERDICTS)}.")
    rows = _ledgers(directory)
    if not all_runs:
        rows = rows[rows["run"].map(runs.is_default).astype(bool)]
    if verdict is not None:
        rows = rows[rows["verdict"] == verdict]
    if form == "csv":
        return rows.to_csv(index=False, lineterminator="\n")
    if form == "json":
        return rows.to_json(orient="records", indent=1, force_ascii=False) + "\n"
    if form == "latex":
        shown = rows[["claim_id", "variant", "published", "recomputed", "verdict"]]
        names = {name: name.replace("_id", "").capitalize() for name in shown.columns}
        return shown.rename(columns=names).to_latex(
            index=False, escape=True, na_rep="--", float_format="{:.4g}".format
        )
    columns = width()
    total = f"{len(rows)} rows, {rows['claim_id'].nunique()} claims and results: {_counted(rows)}"
    first = [_filled(total, columns, "    "), ""]
    by_kind = summary(rows, load_claims())
    for one in by_kind.to_dict("records"):
        of_kind = ", ".join(f"{one[name]} {name}" for name in schema.VERDICTS if one[name])
        line = f"{one['rests on']:<29}{one['claims']} claims, {one['rows']} rows: {of_kind}"
        first.append(_filled(line, columns, " " * 29))
    return "\n".join([*first, "", _for_reading(rows, columns)])


def _counted(rows: pd.DataFrame) -> str:
    counts = rows["verdict"].value_counts()
    return ", ".join(f"{counts[name]} {name}" for name in schema.VERDICTS if name in counts)


def degrees(directory: Path, *, form: str) -> str:
    """Render how near recomputed numbers come to printed ones, by paper."""
    from nlgbench.analysis.reproduction import by_paper
    from nlgbench.runner.degrees import of_runs

    papers = by_paper(of_runs(_ledgers(directory)))
    if form == "csv":
        return papers.to_csv(index=False, lineterminator="\n")
    if form == "json":
        return papers.to_json(orient="records", indent=1, force_ascii=False) + "\n"
    if form == "latex":
        return papers.to_latex(index=False, escape=True, na_rep="--", float_format="{:.3g}".format)
    lines = ["Printed against recomputed, of each paper:", ""]
    for one in papers.to_dict("records"):
        verdicts = ", ".join(f"{one[name]} {name}" for name in schema.VERDICTS if one[name])
        text = f"{one['paper']} ({one['source']}): {verdicts}"
        if one["n_cv_star"]:
            text += f"; median CV* {one['median_cv_star']:.3g}% of {one['n_cv_star']} numbers"
        lines.append(_filled(visible(text), width(), "    "))
    lines += ["", "CV* of each number, and reasons: reproduction.csv."]
    return "\n".join(lines) + "\n"


def _ledgers(directory: Path) -> pd.DataFrame:
    """Read the gathered ledger of a folder of runs."""
    path = directory / "ledger.csv"
    if not path.is_file():
        raise UsageError(
            f"{directory} holds no ledger.csv: run `nlgbench run --out {directory}` first, or name "
            "the folder that you gave as --out."
        )
    return schema.read(path, "ledgers")


def _short(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.4g}"


def cached() -> pd.DataFrame:
    """Say where released data and kept scores are, and how much there is."""
    rows = [("released data", cache.cache_dir()), ("kept scores and models", stored_dir())]
    return pd.DataFrame(
        [
            {"what": what, "files": n, "MiB": f"{size / 2**20:.1f}", "folder": str(folder)}
            for what, folder in rows
            for n, size in [runs.size(folder)]
        ]
    )


def _for_reading(rows: pd.DataFrame, columns: int = _WIDE) -> str:
    """Lay out claims by paper and table, with notes, so that a shared reason is read once."""
    notes = {reason: n for n, reason in enumerate(filter(None, rows["reason"].unique()), 1)}
    parts = rows["claim_id"].str.split("/")
    n_first = [1 + (part[0] in OTHER_DATA) for part in parts]
    paper = ["/".join(part[:n]) for part, n in zip(parts, n_first, strict=True)]
    where = [part[n] if len(part) > n + 1 else "" for part, n in zip(parts, n_first, strict=True)]
    claim = [
        "/".join(part[n + (len(part) > n + 1) :]) for part, n in zip(parts, n_first, strict=True)
    ]
    interval = [
        "" if pd.isna(low) else f"[{low:.3g}, {high:.3g}]"
        for low, high in zip(rows["ci_low"], rows["ci_high"], strict=True)
    ]
    shown = pd.DataFrame(
        {
            "claim": [
                f"{name} ({variant})" if variant else name
                for name, variant in zip(claim, rows["variant"], strict=True)
            ],
            "printed": rows["published"].map(_short).to_numpy(),
            "recomputed": rows["recomputed"].map(_short).to_numpy(),
            "interval": interval,
            "verdict": rows["verdict"].to_numpy(),
            "note": rows["reason"].map(lambda reason: str(notes.get(reason, ""))).to_numpy(),
        }
    )
    if columns < _WIDE:  # an interval stands below its value
        shown["recomputed"] = (shown["recomputed"] + " " + shown["interval"]).str.strip()
        shown = shown.drop(columns="interval")
    keys = [paper, where, rows["source"].to_numpy(), rows["run"].to_numpy()]
    lines = []
    for (name, table, source, run), part in shown.groupby(keys, sort=False):
        head = ", ".join(filter(None, map(str, (name, table, source, run))))
        verdicts = _counted(part)
        lines.append(_filled(visible(f"{head}: {verdicts}"), columns, "    "))
        lines += [_fitted(part, columns, "claim"), ""]
    foot = [
        textwrap.fill(visible(f"{n}. {reason}"), columns, subsequent_indent="   ")
        for reason, n in notes.items()
    ]
    return "\n".join([*lines, *foot, ""])


def _fitted(frame: pd.DataFrame, columns: int, wide: str) -> str:
    """Lay out a table below a heading, without what is empty; break its widest cells to fit."""
    kept = [str(name) for name in frame if name == wide or frame[name].astype("str").any()]
    cells = {name: [visible(str(cell)) for cell in frame[name]] for name in kept}
    if not any(cells[wide]):
        del cells[wide]
    limit = {name: max(map(len, [name, *column])) for name, column in cells.items()}
    if "recomputed" in limit:
        limit["recomputed"] = min(limit["recomputed"], _OF_VALUE)
    if wide in limit:
        others = sum(n + 2 for name, n in limit.items() if name != wide)
        limit[wide] = max(16, min(limit[wide], columns - 2 - others))
    lines = ["  " + "  ".join(name.ljust(n) for name, n in limit.items()).rstrip()]
    lines.append("  " + "  ".join("-" * n for n in limit.values()))
    for row in zip(*cells.values(), strict=True):
        broken = [_broken(cell, n) for cell, n in zip(row, limit.values(), strict=True)]
        for at in range(max(map(len, broken))):
            texts = [part[at] if at < len(part) else "" for part in broken]
            line = "  ".join(map(str.ljust, texts, limit.values()))
            lines.append(f"  {line}".rstrip())
    return "\n".join(lines)


def _broken(cell: str, n: int) -> list[str]:
    """Break a cell, an id at its parts."""
    lines = [""]
    for part in re.findall(r"[^/_ ]*[/_ ]|[^/_ ]+", cell):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > n:
            lines.append("")
        lines[-1] += part
    whole = [line.rstrip() for line in lines]
    return [line[at : at + n] for line in whole for at in range(0, len(line) or 1, n)]


def visible(text: str) -> str:
    r"""Write what would steer a terminal, or break a line, as in a Python string: `\x1b`."""
    steers = {"Cc", "Cf", "Zl", "Zp"}  # of Unicode: controls, directions, ends of lines
    return "".join(
        one.encode("unicode_escape").decode() if unicodedata.category(one) in steers else one
        for one in text
    )


def plain(frame: pd.DataFrame) -> str:
    """Lay out a table for a terminal, a line per row."""
    cells = [list(map(str, frame.columns)), *frame.astype("str").to_numpy().tolist()]
    cells = [[visible(cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return "\n".join(lines)
