"""How many outputs per item, or how many items, would make a difference of scores precise."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as student

#: Columns of the table `details` when scores are compared.
COLUMNS = ("sd_within", "n_repeats", "repeats_needed", "items_needed", "needed_status")


def plan_repeats(
    by_item: pd.DataFrame, pairs: pd.DataFrame, margin: float | None, confidence: float
) -> pd.DataFrame:
    """Return `COLUMNS` by evaluator and system, for the system's least precise difference."""
    squares = by_item["var"] * (by_item["size"] - 1)
    values = by_item.assign(squares=squares, share=1 / by_item["size"])
    by_system = values.groupby(["evaluator", "system"]).agg(
        squares=("squares", "sum"),
        n=("size", "sum"),
        items=("size", "size"),
        share=("share", "mean"),
    )
    n_free = by_system["n"] - by_system["items"]
    within = by_system["squares"] / n_free.where(n_free > 0)
    table = pd.DataFrame({"sd_within": np.sqrt(within), "n_repeats": 1 / by_system["share"]})
    table = table.assign(repeats_needed=np.nan, items_needed=np.nan, needed_status="")
    if margin is None:
        return table
    ends = [pd.MultiIndex.from_frame(pairs[["dimension", end]]) for end in ("system", "opponent")]
    noise = sum(within.reindex(end).to_numpy() for end in ends)
    present = sum((within * by_system["share"]).reindex(end).to_numpy() for end in ends)
    n_items = pairs["df"].to_numpy() + 1
    largest = (margin / student.ppf(0.5 + confidence / 2, pairs["df"])) ** 2
    variance = pairs["se"].to_numpy() ** 2
    of_items = np.maximum(variance - present / n_items, 0)
    repeats = np.ceil(noise / n_items / np.where(largest > of_items, largest - of_items, np.nan))
    needed = pd.DataFrame({"items_needed": np.ceil(n_items * variance / largest)}, index=ends[0])
    needed["repeats_needed"] = np.maximum(repeats, 1)
    needed["dominate"] = (largest <= of_items) & ~np.isnan(variance)
    worst = needed.groupby(level=["dimension", "system"]).max().reindex(table.index)
    dominate = worst["dominate"].eq(True)
    missing = [worst["items_needed"].isna(), dominate, worst["repeats_needed"].isna()]
    return table.assign(
        repeats_needed=worst["repeats_needed"].mask(dominate),
        items_needed=worst["items_needed"],
        needed_status=np.select(missing, ["no_interval", "items_dominate", "no_repeats"], "ok"),
    )
