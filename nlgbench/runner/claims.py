"""Combine published claims and recomputed values into the rows of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

import numpy as np
import pandas as pd

from nlgbench.names import did_you_mean
from nlgbench.study import schema

#: Why a run on other data cannot check a paper's claims.
OTHER_DATA = {
    "simulated": "simulated source: the paper's own data were not used in this run",
    "study": "your own study: the paper's own data were not used in this run",
}

_NO_REASONS: Mapping[str, str] = MappingProxyType({})
#: The evidence of most rows in a ledger.
_DATA = "recomputed from data"

# Binary fractions can make a difference exceed half a unit of the last digit: .165 printed as .16
# is off by slightly more than .005.
_ROUNDING = 1e-9


def verdict(
    published: float,
    recomputed: float,
    tolerance: float,
    *,
    directional: bool = False,
    ci_low: float = np.nan,
    ci_high: float = np.nan,
) -> str:
    """Compare one recomputed value with the printed one."""
    if np.isnan(recomputed):
        return "undecided"
    if directional:
        if not (ci_low > 0 or ci_high < 0):
            return "undecided"
        return "same direction" if (ci_low > 0) == (published > 0) else "differs"
    return "matches" if abs(recomputed - published) <= tolerance + _ROUNDING else "differs"


def kinds(ledger: pd.DataFrame, claims: pd.DataFrame) -> pd.Series:
    """Classify the evidence for each row of a ledger, from the strongest to none."""
    by_id = claims.set_index("claim_id")
    unit = ledger["claim_id"].map(by_id["unit"]).fillna("")
    is_ours = ledger["claim_id"].map(is_own).astype(bool)
    printed = ledger["source"] == "published"
    # Calculations from printed numbers have no interval.
    computed = unit.str.startswith("correlation") & ledger["ci_low"].notna()
    starred = unit.str.contains("printed with a star")
    rests_on = {
        "our own results": is_ours & (ledger["verdict"] == "new"),
        "your own claims": is_ours,
        "not recomputable": ledger["verdict"] == "not recomputable",
        "power from stated variances": printed & unit.str.contains("simulated studies"),
        "identities": printed & ~starred & ~computed,
        "stars": printed & starred,
        "coefficients from print": printed & computed,
        "directions": ledger["claim_id"].map(by_id["where"]) == "direction",
    }
    kind = np.select(list(rests_on.values()), list(rests_on), _DATA)
    return pd.Series(pd.Categorical(kind, [_DATA, *reversed(rests_on)]), ledger.index)


def summary(ledger: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Count a ledger's verdicts by the evidence for its rows."""
    of_kind = ledger.groupby(kinds(ledger, claims), observed=True)
    counts = of_kind["claim_id"].agg(claims="nunique", rows="size")
    verdicts = of_kind["verdict"].value_counts().unstack(fill_value=0)
    verdicts = verdicts.reindex(columns=list(schema.VERDICTS), fill_value=0)
    table = counts.join(verdicts).rename_axis("rests on").reset_index()
    return table.astype({"rests on": "str"})


def check_known(claim_ids: Iterable[str], claims: pd.DataFrame) -> None:
    """Refuse ids that are not in `claims`, and suggest the nearest one."""
    ids = set(claims["claim_id"])
    for claim_id in claim_ids:
        if claim_id not in ids:
            hint = did_you_mean(claim_id, ids)
            raise ValueError(
                f"no claim has the id {claim_id!r}.{hint} Claims are listed in "
                "data/published/claims.csv; ids of our own findings are '<paper>/finding/...', and "
                "those of simulated results 'simulated/...'."
            )


def is_own(claim_id: str) -> bool:
    """Check whether an id names a result of ours rather than a printed number."""
    steps = claim_id.split("/")
    return steps[0] in OTHER_DATA or (len(steps) > 2 and steps[1] == "finding")


def ledger(
    claims: pd.DataFrame,
    records: pd.DataFrame,
    *,
    source: str,
    skipped: Mapping[str, str] = _NO_REASONS,
) -> pd.DataFrame:
    """Join a notebook's claims with what it recorded, so that every claim has a row."""
    is_ours = records["claim_id"].map(is_own).astype(bool)
    check_known(records.loc[~is_ours, "claim_id"], claims)
    misplaced = records[~is_ours & records["source"].isin(list(OTHER_DATA))]
    if len(misplaced):
        raise ValueError(
            f"{misplaced['claim_id'].iloc[0]!r} is a paper's claim, which "
            f"cannot be checked with data of source {misplaced['source'].iloc[0]!r}: record such "
            f"results under an id that begins with '{misplaced['source'].iloc[0]}/'."
        )
    return join(claims, records, source=source, skipped=skipped)


def join(
    claims: pd.DataFrame, records: pd.DataFrame, *, source: str, skipped: Mapping[str, str]
) -> pd.DataFrame:
    """Give each record its verdict, and each claim without a record its excuse."""
    printed = claims[["claim_id", "published", "tolerance"]]
    answered = records.merge(claims[[*printed, "where"]], on="claim_id", how="left")
    answered["verdict"] = [_says(row) for row in answered.to_dict("records")]

    def excuse(claim_id: str) -> str:
        fits = (why for pattern, why in skipped.items() if fnmatchcase(claim_id, pattern))
        return next(fits, OTHER_DATA.get(source, ""))

    released = records.loc[records["source"] == "released", "claim_id"]
    reason = claims["unavailable"].mask(claims["claim_id"].isin(released), "")
    is_open = (reason == "") & ~claims["claim_id"].isin(records["claim_id"])
    reason = reason.mask(is_open, claims["claim_id"].map(excuse))
    silent = claims.loc[is_open & (reason == ""), "claim_id"]
    if len(silent):
        raise ValueError(
            f"claims neither recorded nor excused: {len(silent)} (first: "
            f"{silent.iloc[0]!r}). Record them with run.claims(...), or give the reason with "
            "run.skip(ids, reason)."
        )
    excused = printed.assign(reason=reason, source=source, variant="", verdict="not recomputable")
    tables = [answered, excused[reason != ""]]
    rows = pd.concat([table for table in tables if len(table)] or tables)
    order = dict.fromkeys([*claims["claim_id"], *records["claim_id"]])
    position = rows["claim_id"].map({claim_id: n for n, claim_id in enumerate(order)})
    rows = rows.iloc[position.argsort(kind="stable")]
    rows = rows.reindex(columns=schema.columns("ledger"))
    return schema.check(rows, "ledger", source="the ledger")


def _says(row: dict) -> str:
    """Return the verdict on a recorded value; values that no paper prints are new."""
    if not row["comparable"] or np.isnan(row["published"]):
        return "new"
    numbers = ("published", "recomputed", "tolerance", "ci_low", "ci_high")
    values = {name: row[name] for name in numbers}
    return verdict(**values, directional=row["where"] == "direction")
