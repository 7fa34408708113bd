"""Tables for reading on a terminal or pasting into a paper."""

from __future__ import annotations

import json
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nlgbench import schema
from nlgbench.datasets import cache
from nlgbench.datasets.published import load_claims
from nlgbench.evaluators.stored import stored_dir
from nlgbench.names import did_you_mean
from nlgbench.runner import runs
from nlgbench.runner.claims import summary
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import UsageError
from nlgbench.runner.plan import Outcome


def notebooks(*, form: str | None) -> str:
    """Describe every notebook: title, data, claims, parameters; as text, or as JSON."""
    owned = load_claims()["notebook"].value_counts()
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
        for one in shown:
            about = "; ".join(filter(None, [one.note, one.declared]))
            lines.append(f"    {one.name} = {one.default!r}  # {about}")
        parts.append("\n".join(lines))
    return _json(found) if form == "json" else "\n\n".join(parts)


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


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def ledger(
    directory: Path, *, verdict: str | None = None, form: str = "table", all_runs: bool = False
) -> str:
    """Render the gathered ledger of a folder of runs."""
    if verdict is not None and verdict not in schema.VERDICTS:
        hint = did_you_mean(verdict, schema.VERDICTS)
        raise UsageError(f"no verdict {verdict!r}.{hint} There are: {', '.join(schema.VERDICTS)}.")
    path = directory / "ledger.csv"
    if not path.is_file():
        raise UsageError(
            f"{directory} holds no ledger.csv: run `nlgbench run --out {directory}` first, or name "
            "the folder that you gave as --out."
        )
    rows = schema.read(path, "ledgers")
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
    counts = rows["verdict"].value_counts()
    total = f"{len(rows)} rows, {rows['claim_id'].nunique()} claims and results: " + ", ".join(
        f"{counts[name]} {name}" for name in schema.VERDICTS if name in counts
    )
    by_kind = summary(rows, load_claims())
    by_kind = by_kind.drop(columns=[name for name in schema.VERDICTS if name not in counts])
    return f"{_for_reading(rows)}\n{total}\n\n{plain(by_kind)}\n"


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


def _for_reading(rows: pd.DataFrame) -> str:
    """Lay out claims with numbered notes, so that a reason shared by many rows is read once."""
    notes = {reason: n for n, reason in enumerate(filter(None, rows["reason"].unique()), 1)}

    def short(values: pd.Series) -> list[str]:
        return ["" if pd.isna(value) else f"{value:.4g}" for value in values]

    shown = pd.DataFrame(
        {
            "claim": rows["claim_id"],
            "variant": rows["variant"],
            "published": short(rows["published"]),
            "recomputed": short(rows["recomputed"]),
            "interval": [
                "" if pd.isna(low) else f"[{low:.3g}, {high:.3g}]"
                for low, high in zip(rows["ci_low"], rows["ci_high"], strict=True)
            ],
            "verdict": rows["verdict"],
            "source": rows["source"],
            "note": rows["reason"].map(lambda reason: str(notes.get(reason, ""))),
        }
    )
    empty = [name for name in ("variant", "interval", "note") if not shown[name].any()]
    foot = [
        textwrap.fill(visible(f"{n}. {reason}"), 100, subsequent_indent="   ")
        for reason, n in notes.items()
    ]
    return "\n".join([plain(shown.drop(columns=empty)), "", *foot, ""])


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
