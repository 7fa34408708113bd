"""Rows of the ledger from results: what the modules of all papers answer claims with."""

from __future__ import annotations

import re
import string

import numpy as np
import pandas as pd

from nlgbench.study import Study

COLUMNS = ["claim_id", "variant", "value", "ci_low", "ci_high", "reason", "source", "comparable"]


def is_release(study: Study) -> bool:
    """Tell whether a study is as it was released: what a paper's claims ask of."""
    return study.pristine and study.source == "released"


def own_place(study: Study, world: str) -> str:
    """Say how ids of a study's own results begin: a simulated world's, or one's own study's."""
    if study.source == "simulated":
        return f"simulated/{world}"
    # A folder may be called as it likes, "My pilot" too.
    name = re.sub(r"[^a-z0-9._-]+", "_", study.name.lower()).strip("_")
    return f"study/{name or 'study'}"


def slugs_of(names: pd.Series) -> pd.Series:
    """Write names with what may stand in an id."""
    return names.str.replace(r"[^a-z0-9.]+", "_", regex=True)


def smaller_than(threshold: float, value: float, ci_low: float, ci_high: float) -> dict[str, float]:
    """Put a sentence that something is small as a direction, where no number says how small.

    Words like "accurate", "perfect" or "does not matter" support no tolerance: one of our own must
    not decide. The interval holds the difference for half and for twice the threshold, so that the
    verdict is "undecided" unless it is the same for both.
    """
    return {
        "value": threshold - value,
        "ci_low": threshold / 2 - ci_high,
        "ci_high": 2 * threshold - ci_low,
    }


def claim_rows(
    table: pd.DataFrame,
    claim: str | pd.Series,
    *,
    value: str = "estimate",
    variant: str | pd.Series = "",
    reason: str | pd.Series = "",
    source: str = "",
    comparable: bool | pd.Series = True,
) -> pd.DataFrame:
    """Make a row of the ledger of each row of results.

    Texts may hold the table's columns in braces; a Series is taken as it is. An empty source is
    that of the run.
    """
    texts = {"claim_id": claim, "variant": variant, "reason": reason}
    plain = [text for text in texts.values() if isinstance(text, str)]
    fields = {name for text in plain for _, name, _, _ in string.Formatter().parse(text) if name}
    if missing := sorted((fields | {value}) - set(table.columns)):
        raise ValueError(
            f"the table has no column {missing[0]!r}, which the id, variant, reason or value asks "
            f"for; it has {', '.join(map(str, table.columns))}."
        )
    records = table.to_dict("records") if fields else [{}] * len(table)
    made = {
        name: [text.format_map(row) for row in records] if isinstance(text, str) else text
        for name, text in texts.items()
    }
    ends = {end: table.get(end, np.nan) for end in ("ci_low", "ci_high")}
    rows = pd.DataFrame(
        made | {"value": table[value]} | ends | {"source": source, "comparable": comparable},
        index=table.index,
        columns=COLUMNS,
    )
    return rows.astype(dict.fromkeys(["value", "ci_low", "ci_high"], "float64"))
