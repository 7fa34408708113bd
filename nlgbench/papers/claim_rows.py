"""Rows of the ledger from results: what the modules of all papers answer claims with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.study import Study

COLUMNS = ["claim_id", "variant", "value", "ci_low", "ci_high", "reason", "source", "comparable"]
_NUMBERS = dict.fromkeys(["value", "ci_low", "ci_high"], "float64")
_TEXTS = dict.fromkeys(["claim_id", "variant", "reason", "source"], str)


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
    """Put a sentence that something is small, without a number, as a direction.

    The interval covers half and twice the threshold, so that our choice of it does not decide.
    """
    return {
        "value": threshold - value,
        "ci_low": threshold / 2 - ci_high,
        "ci_high": 2 * threshold - ci_low,
    }


def claim_rows(
    results: pd.DataFrame | list[dict[str, Any]],
    claim: str | pd.Series,
    *,
    value: str = "estimate",
    variant: str | pd.Series = "",
    reason: str | pd.Series = "",
    source: str = "",
    comparable: bool | pd.Series = True,
) -> pd.DataFrame:
    """Make a row of the ledger of each result; texts may hold the results' columns in braces."""
    table = pd.DataFrame(results)
    texts = {"claim_id": claim, "variant": variant, "reason": reason}
    fields = {value, *re.findall(r"{(\w+)", " ".join(t for t in texts.values() if type(t) is str))}
    if missing := sorted(fields - set(table.columns)):
        raise ValueError(
            f"the table has no column {missing[0]!r}, which the id, variant, reason or value asks "
            f"for; it has {', '.join(map(str, table.columns))}."
        )
    records = table.to_dict("records")
    made: dict[str, Any] = {
        name: [text.format_map(row) for row in records] if isinstance(text, str) else text
        for name, text in texts.items()
    }
    ends = {end: table.get(end, np.nan) for end in ("ci_low", "ci_high")}
    made |= {"value": table[value], **ends, "source": source, "comparable": comparable}
    return pd.DataFrame(made, index=table.index, columns=COLUMNS).astype(_NUMBERS)


def all_rows(parts: Iterable[pd.DataFrame | None], *, source: str = "") -> pd.DataFrame:
    """Put rows of the ledger together; None is left out, an empty `source` is that of the run."""
    found = [part for part in parts if part is not None and len(part)]
    table = pd.concat(found or [pd.DataFrame()], ignore_index=True).reindex(columns=COLUMNS)
    table = table.fillna({"variant": "", "reason": "", "comparable": True})
    table["source"] = table["source"].replace("", np.nan).fillna(source)
    return table.astype({**_TEXTS, **_NUMBERS, "comparable": bool})
