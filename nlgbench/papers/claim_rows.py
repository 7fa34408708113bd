"""Convert results to rows of the ledger, for the modules of all papers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.study import Study

COLUMNS = ["claim_id", "variant", "value", "ci_low", "ci_high", "reason", "source", "comparable"]
_TYPES: dict[str, Any] = dict.fromkeys(COLUMNS, str) | {"comparable": bool}
_TYPES |= dict.fromkeys(["value", "ci_low", "ci_high"], "float64")

#: Paper's name in ids -> its citation in figures.
CITED = {
    "huse": "Hashimoto et al. 2019",
    "comm-eval": "Newman et al. 2020",
    "judge-the-judges": "Garbacea et al. 2019",
    "learning-to-compare": "Zhou and Xu 2020",
    "power": "Card et al. 2020",
    "hanna": "Chhun et al. 2022",
    "usr": "Mehri and Eskenazi 2020",
    "alpaca-eval": "Dubois et al. 2024",
}


def is_release(study: Study) -> bool:
    """Return whether a study is an unmodified release, as papers' claims require."""
    return study.pristine and study.source == "released"


def claim_prefix(study: Study, world: str) -> str:
    """Return the prefix of ids for results of a simulated study or of your own study."""
    if study.source == "simulated":
        return f"simulated/{world}"
    # Folder names such as "My pilot" contain characters that ids do not allow.
    name = re.sub(r"[^a-z0-9._-]+", "_", study.name.lower()).strip("_")
    return f"study/{name or 'study'}"


def to_slugs(names: pd.Series) -> pd.Series:
    """Convert names to characters that ids allow."""
    return names.str.lower().str.replace(r"[^a-z0-9.]+", "_", regex=True).str.strip("_")


def smaller_than(
    threshold: float, estimate: float, ci_low: float, ci_high: float
) -> dict[str, float]:
    """Express the claim that a quantity is small as a signed difference.

    The interval allows for half to twice the threshold, so the exact threshold is not decisive.
    """
    return {
        "estimate": threshold - estimate,
        "ci_low": threshold / 2 - ci_high,
        "ci_high": 2 * threshold - ci_low,
    }


def claim_rows(
    results: pd.DataFrame | None,
    claim: str,
    *,
    value: str = "estimate",
    variant: str = "",
    reason: str = "",
    source: str = "",
    comparable: bool | pd.Series = True,
) -> pd.DataFrame:
    """Convert each result to a row of the ledger; None gives no rows.

    Texts may name columns of `results` in braces, and ``{slug}``, the evaluator in ids.
    """
    if results is None:
        return pd.DataFrame(columns=COLUMNS).astype(_TYPES)
    texts = {"claim_id": claim, "variant": variant, "reason": reason}
    if "evaluator" in results and "slug" not in results:
        results = results.assign(slug=to_slugs(results["evaluator"]))
    fields = {value, *re.findall(r"{(\w+)", " ".join(texts.values()))}
    if missing := sorted(fields - set(results.columns)):
        raise ValueError(
            f"the table has no column {missing[0]!r}, which the id, variant, reason or value "
            f"needs; it has {', '.join(map(str, results.columns))}."
        )
    records = results.to_dict("records")
    columns: dict[str, Any] = {
        name: [text.format_map(row) for row in records] for name, text in texts.items()
    }
    columns |= {end: results.get(end, np.nan) for end in ("ci_low", "ci_high")}
    columns |= {"value": results[value], "source": source, "comparable": comparable}
    return pd.DataFrame(columns, index=results.index, columns=COLUMNS).astype(_TYPES)
