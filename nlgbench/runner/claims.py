"""From published claims and recomputed values to the rows of a ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.names import did_you_mean
from nlgbench.study import schema

#: Why a run on other data than the paper's says nothing of its claims.
OTHER_DATA = {
    "simulated": "simulated source: the paper's own data were not used in this run",
    "study": "one's own study: the paper's own data were not used in this run",
}

# Half a unit of the last digit can be missed by the rounding of binary fractions: .165 printed as
# .16 is off by a little more than .005.
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


#: What a row of the ledger rests on, from the strongest evidence to none.
KINDS = (
    "recomputed from data",
    "directions",
    "coefficients from print",
    "stars",
    "identities",
    "power from stated variances",
    "not recomputable",
    "one's own claims",
    "our own results",
)


def kinds(ledger: pd.DataFrame, claims: pd.DataFrame) -> pd.Series:
    """Say what each row of a ledger rests on."""
    by_id = claims.set_index("claim_id")
    unit = ledger["claim_id"].map(by_id["unit"]).fillna("")
    direction = ledger["claim_id"].map(by_id["where"]).eq("direction")
    printed = ledger["source"] == "published"
    # Arithmetic on printed cells has no interval.
    computed = unit.str.startswith("correlation") & ledger["ci_low"].notna()
    found = pd.Series("recomputed from data", ledger.index)
    found = found.mask(direction, "directions").mask(printed, "identities")
    found = found.mask(printed & computed, "coefficients from print")
    found = found.mask(printed & unit.str.contains("printed with a star"), "stars")
    power = unit.str.contains("simulated studies")
    found = found.mask(printed & power, "power from stated variances")
    found = found.mask(ledger["verdict"] == "not recomputable", "not recomputable")
    own = ledger["claim_id"].map(is_own).astype(bool)
    return found.mask(own, "our own results").mask(own & (ledger["verdict"] != "new"), KINDS[-2])


def summary(ledger: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Count a ledger's verdicts by what they rest on: what was recomputed is not what follows."""
    of_kind = ledger.groupby(kinds(ledger, claims))
    counts = of_kind["claim_id"].agg(claims="nunique", rows="size")
    verdicts = of_kind["verdict"].value_counts().unstack(fill_value=0)
    verdicts = verdicts.reindex(columns=list(schema.VERDICTS), fill_value=0)
    table = counts.join(verdicts).loc[[kind for kind in KINDS if kind in counts.index]]
    return table.rename_axis("rests on").reset_index()


def check_known(claim_ids: Iterable[str], claims: pd.DataFrame) -> None:
    """Refuse ids that are no claim of `claims`, naming the nearest that is."""
    known = set(claims["claim_id"])
    for claim_id in claim_ids:
        if claim_id not in known:
            hint = did_you_mean(claim_id, known)
            raise ValueError(
                f"no claim has the id {claim_id!r}.{hint} Claims are listed in "
                "data/published/claims.csv; a finding of our own is '<paper>/finding/...', "
                "a simulated result 'simulated/...'."
            )


def is_own(claim_id: str) -> bool:
    """Tell whether an id names a result of ours rather than a printed number."""
    parts = claim_id.split("/")
    return parts[0] in OTHER_DATA or (len(parts) > 2 and parts[1] == "finding")


def ledger(
    claims: pd.DataFrame,
    records: pd.DataFrame,
    *,
    source: str,
    skipped: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Join owned claims with what a notebook recorded; complete by construction."""
    skipped = skipped or {}
    own = records["claim_id"].map(is_own).astype(bool)
    check_known(records.loc[~own, "claim_id"], claims)
    misplaced = records[~own & records["source"].isin(list(OTHER_DATA))]
    if len(misplaced):
        raise ValueError(
            f"{misplaced['claim_id'].iloc[0]!r} is a paper's claim, and "
            f"{misplaced['source'].iloc[0]} data cannot speak to it: record such results under an "
            f"id that begins with '{misplaced['source'].iloc[0]}/'."
        )
    twice = records[records.duplicated(["claim_id", "variant"])]
    if len(twice):
        raise ValueError(
            f"{twice['claim_id'].iloc[0]!r} was recorded twice with "
            f"variant={twice['variant'].iloc[0]!r}: give the second its own variant."
        )

    by_claim = dict(list(records.groupby("claim_id", sort=False)))
    rows: list[dict[Any, Any]] = []
    silent: list[str] = []
    for claim in claims.to_dict("records"):
        printed = {name: claim[name] for name in ("claim_id", "published", "tolerance")}
        recorded = by_claim.pop(claim["claim_id"], records.iloc[:0])
        rows += [
            {**one, **printed, "verdict": _says(claim, one)} for one in recorded.to_dict("records")
        ]
        reason = ""
        if claim["unavailable"] and not recorded["source"].eq("released").any():
            reason = claim["unavailable"]
        elif recorded.empty:
            fits = [why for of, why in skipped.items() if fnmatchcase(claim["claim_id"], of)]
            reason = fits[0] if fits else OTHER_DATA.get(source, "")
        if reason:
            about = {"variant": "", "verdict": "not recomputable", "reason": reason}
            rows.append({**printed, **about, "source": source})
        elif recorded.empty:
            silent.append(claim["claim_id"])
    if silent:
        raise ValueError(
            f"{len(silent)} claims were neither recorded nor excused, the first {silent[0]!r}: "
            "record them with run.claims(...), or say why not with run.skip(ids, reason)."
        )
    for extra in by_claim.values():
        rows += [{**record, "verdict": "new"} for record in extra.to_dict("records")]
    numbers = ["published", "recomputed", "ci_low", "ci_high", "tolerance"]
    whole = pd.DataFrame(rows, columns=schema.columns("ledger"))
    return schema.check(whole.astype(dict.fromkeys(numbers, float)), "ledger")


def _says(claim: dict, record: dict) -> str:
    """Give the verdict on one recorded value."""
    if not record["comparable"]:
        return "new"
    return verdict(
        claim["published"],
        record["recomputed"],
        claim["tolerance"],
        directional=claim["where"] == "direction",
        ci_low=record["ci_low"],
        ci_high=record["ci_high"],
    )
