"""Gather what the runs in a folder found: ledger, index of results, degrees of reproduction."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench import files
from nlgbench.analysis.reproduction import reproduction
from nlgbench.datasets.published import load_claims
from nlgbench.plots.figures import Drawing
from nlgbench.plots.recomputed import plot_recomputed
from nlgbench.runner import runs
from nlgbench.study import schema

#: The file with recorded values and parameters, if a folder has several runs of a notebook.
SWEEP = "sweep.csv"
_VALUES = {"claim_id": "quantity", "recomputed": "estimate"}
_RESULT = ["variant", "estimate", "ci_low", "ci_high", "source"]


def gather(out: Path) -> list[str]:
    """Collect what all runs recorded; return what is wrong with it, in words."""
    ledgers, index, swept, problems = [schema.typed([], "ledgers")], [], [], []
    for folder, manifest in runs.finished(out):
        names = {"notebook": manifest["notebook"], "run": runs.run_of(folder)}
        rows = ledgers[0].iloc[:0]
        if (folder / "ledger.csv").is_file():
            try:
                rows = schema.read(folder / "ledger.csv", "ledger")
            except (OSError, ValueError) as error:
                problems.append(
                    f"{folder.name} is damaged, and left out of {out / 'index.csv'} and "
                    f"{out / 'ledger.csv'}: repeat its command, which makes it again. {error}"
                )
                continue
        for entry in manifest["made"]:
            index.append({**names, **entry, "path": f"{folder.name}/{entry['path']}"})
        index += [
            {**names, "source": manifest["source"], "kind": "failed section"}
            | {"name": failure["section"], "alt": failure["error"]}
            for failure in manifest.get("failed", [])
        ]
        if len(rows):
            rows = rows.assign(run=names["run"])
            values = {f"param_{key}": str(x) for key, x in manifest["parameters"].items()}
            swept.append(_values(rows, manifest["notebook"]).assign(**values))
            ledgers.append(rows)
    ledger = pd.concat([table for table in ledgers if len(table)] or ledgers, ignore_index=True)
    doubled = ledger.duplicated(schema.KEYS["ledgers"])
    schema.write(ledger[~doubled], "ledgers", out / "ledger.csv")
    columns = ["notebook", "source", "kind", "name", "path", "alt", "run"]
    _write(pd.DataFrame(index, columns=columns), out / "index.csv")
    sweep = pd.concat(swept, ignore_index=True) if swept else pd.DataFrame()
    if len(sweep) and sweep.groupby("notebook")["run"].nunique().max() > 1:
        _write(sweep, out / SWEEP)
    if ledger[["published", "recomputed"]].notna().all(axis=1).any():
        _write(degrees(ledger[~doubled]), out / runs.DEGREES)
    else:
        (out / runs.DEGREES).unlink(missing_ok=True)
    if (drawing := recomputed(ledger[~doubled])) is not None:
        drawing.save(out / runs.RECOMPUTED)
    elif (out / f"{runs.RECOMPUTED}.csv").is_file():
        for file in out.glob(f"{runs.RECOMPUTED}.*"):
            file.unlink()
    twice = ledger.loc[doubled, "claim_id"]
    return problems + [
        f"two notebooks record {name!r}; the first one's value is kept" for name in twice
    ]


def recomputed(ledger: pd.DataFrame) -> Drawing | None:
    """Draw which numbers can be recomputed, if runs on the papers' own data check every claim."""
    papers = ledger[ledger["run"].eq("") & ledger["source"].isin(["released", "published"])]
    claims = load_claims()["claim_id"]
    is_whole = claims.isin(papers["claim_id"]).all()
    return plot_recomputed(papers[papers["claim_id"].isin(claims)]) if is_whole else None


def _write(table: pd.DataFrame, path: Path) -> None:
    files.replace_bytes(path, table.to_csv(index=False, lineterminator="\n").encode())


def _values(ledger: pd.DataFrame, notebook: str) -> pd.DataFrame:
    """Return the recorded values; row and column are the last two parts of a quantity's name."""
    rows = ledger[ledger["recomputed"].notna()].rename(columns=_VALUES)
    steps = rows["quantity"].str.rsplit("/", n=2, expand=True).reindex(columns=range(3))
    rows = rows.assign(notebook=notebook, row=steps[1], column=steps[2].fillna(steps[1]))
    return rows[["notebook", "run", "quantity", "row", "column", *_RESULT]]


def degrees(ledger: pd.DataFrame) -> pd.DataFrame:
    """Compute degrees of reproduction from default runs, on papers' data and on your studies."""
    default = ledger[ledger["run"].map(runs.is_default).astype(bool)]
    is_own = default["claim_id"].str.startswith("study/")
    rows = default[is_own | default["run"].eq("")]
    # Claims of two studies with the same name have the same ids.
    twice = rows.duplicated(["claim_id", "variant"], keep=False)
    variant = (rows["variant"] + ", " + rows["run"]).str.removeprefix(", ")
    return reproduction(rows.assign(variant=rows["variant"].where(~twice, variant)))
