"""Degrees of reproduction of a folder of runs: tables, and a figure for each paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgbench import files
from nlgbench.analysis.reproduction import Reproduction, reproduction
from nlgbench.hashing import content_hash
from nlgbench.runner import runs
from nlgbench.study import schema

#: A row for each printed number, and the folder of figures and of the tables by set and paper.
TABLE, FOLDER = f"{runs.DEGREES}.csv", runs.DEGREES
#: Of what the figures were made: where it is the same they are not made again.
_MADE_OF = runs.MADE_OF


def of_runs(ledger: pd.DataFrame) -> Reproduction:
    """Compute the degrees of runs with default parameters; a study's runs answer its own claims."""
    whole = ledger[ledger["run"].map(runs.is_default).astype(bool)]
    own = whole["claim_id"].str.startswith("study/")
    rows = whole[own | whole["run"].eq("")]
    # Two folders of one name answer claims of one name.
    twice = rows.duplicated(["claim_id", "variant"], keep=False)
    told_apart = (rows["variant"] + ", " + rows["run"]).str.removeprefix(", ")
    return reproduction(rows.assign(variant=rows["variant"].where(~twice, told_apart)))


def gather(out: Path, *, package: str) -> None:
    """Write reproduction.csv and the folder beside it, where a printed number was recomputed.

    Figures are drawn again where these numbers, or the `package` by its hash, have changed.
    """
    ledger = schema.read(out / "ledger.csv", "ledgers")
    place = out / FOLDER
    if not ledger[["published", "recomputed"]].notna().all(axis=1).any():
        if place.is_dir():
            (out / TABLE).unlink(missing_ok=True)
            runs.remove(place)
        return
    found = of_runs(ledger)
    files.replace_bytes(out / TABLE, _csv(found.claims))
    made_of = f"{content_hash(out / TABLE)} {package}\n"
    if (place / _MADE_OF).is_file() and (place / _MADE_OF).read_text("utf-8") == made_of:
        return
    from nlgbench.plots.reproduction import plot_reproduction

    aside = runs.aside(out, FOLDER)
    files.replace_bytes(aside / "sets.csv", _csv(found.sets))
    files.replace_bytes(aside / "papers.csv", _csv(found.papers))
    drawn = found.claims[found.claims["kind"].eq("number") & found.claims["recomputed"].notna()]
    for paper in dict.fromkeys(drawn["paper"]):
        plot_reproduction(found, paper=paper).save(aside / f"{paper.replace('/', '-')}.png")
    (aside / _MADE_OF).write_text(made_of, encoding="utf-8")
    runs.promote(aside, place)


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()
