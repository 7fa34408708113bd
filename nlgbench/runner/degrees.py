"""Degrees of reproduction of a folder of runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench import files
from nlgbench.analysis.reproduction import reproduction
from nlgbench.runner import runs
from nlgbench.study import schema


def of_runs(ledger: pd.DataFrame) -> pd.DataFrame:
    """Compute the degrees of runs with default parameters; a study's runs answer its own claims."""
    whole = ledger[ledger["run"].map(runs.is_default).astype(bool)]
    own = whole["claim_id"].str.startswith("study/")
    rows = whole[own | whole["run"].eq("")]
    # Two studies of one name answer claims of one name.
    twice = rows.duplicated(["claim_id", "variant"], keep=False)
    apart = (rows["variant"] + ", " + rows["run"]).str.removeprefix(", ")
    return reproduction(rows.assign(variant=rows["variant"].where(~twice, apart)))


def gather(out: Path) -> None:
    """Write reproduction.csv, where a printed number was recomputed."""
    table = out / f"{runs.DEGREES}.csv"
    ledger = schema.read(out / "ledger.csv", "ledgers")
    if not ledger[["published", "recomputed"]].notna().all(axis=1).any():
        table.unlink(missing_ok=True)
        return
    written = of_runs(ledger).to_csv(index=False, lineterminator="\n")
    files.replace_bytes(table, written.encode())
