"""The contents of the table of outputs: numbers for each output, filters, and presets.

These functions work on DataFrames, without a browser. Rows of `output_table` correspond to rows of
``study.outputs``; their positions identify outputs throughout the explorer. A selection has the
positions `first` and `second` (-1 if each row is one output) and the columns to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.study import Study
from nlgbench.study.csv_files import harmless
from nlgbench.study.study import is_reversed


def verdicts(study: Study) -> pd.DataFrame:
    """List votes and comparisons: judge, output_a, output_b, won (by a; a tie counts as 0.5)."""
    parts = []
    if study.preferences is not None:
        votes = study.preferences
        alone = (votes["dimension"] == votes["dimension"].iloc[0]).all()
        judge = "votes" if alone else "votes, " + votes["dimension"]
        won = votes["choice"].map({"a": 1.0, "tie": 0.5, "b": 0.0}).astype(float)
        parts.append(votes[["output_a", "output_b"]].assign(judge=judge, won=won))
    if study.comparisons is not None:
        games = study.comparisons
        judge, won = "judge " + games["comparator"], games["prob_a"] + games["prob_tie"] / 2
        parts.append(games[["output_a", "output_b"]].assign(judge=judge, won=won))
    if not parts:
        return pd.DataFrame(columns=["judge", "output_a", "output_b", "won"])
    return pd.concat(parts, ignore_index=True)


def output_table(study: Study) -> pd.DataFrame:
    """Gather each output's numbers: judgments by dimension, shares of votes won, and scores."""
    ids = pd.Index(study.outputs["output_id"])
    found: dict[str, Any] = {}
    if study.judgments is not None:
        for dimension, part in study.judgments.groupby("dimension", sort=False):
            by_output = part.groupby("output_id")["value"]
            numbers = by_output.agg(mean="mean", spread="std", judgments="size").reindex(ids)
            found |= {f"{name}: {dimension}": numbers[name].to_numpy(float) for name in numbers}
    for judge, part in verdicts(study).groupby("judge", sort=False):
        of = pd.concat([part["output_a"], part["output_b"]])
        won = pd.concat([part["won"], 1 - part["won"]]).groupby(of.to_numpy())
        found[f"won: {judge}"] = won.mean().reindex(ids).to_numpy()
        found[f"n: {judge}"] = won.size().reindex(ids).to_numpy(dtype=float)
    if study.scores is not None:
        for name, part in study.scores.groupby("evaluator", sort=False):
            scores = part.set_index("output_id")["score"]
            found[f"score: {name}"] = scores.reindex(ids).to_numpy()
    return study.outputs.drop(columns="text").assign(**found).reset_index(drop=True)


def pair_table(study: Study) -> pd.DataFrame:
    """Gather votes and comparisons by judge and pair, from both sides.

    The columns are judge, first, second, won (mean for first), n, and the two systems a and b.
    """
    table, systems = verdicts(study), study.outputs["system"].to_numpy()
    ids, won = pd.Index(study.outputs["output_id"]), table["won"].astype(float)
    a, b = (ids.get_indexer(pd.Index(table[side])) for side in ("output_a", "output_b"))
    sides = [
        pd.DataFrame({"judge": table["judge"], "first": one, "second": other, "won": share})
        for one, other, share in ((a, b, won), (b, a, 1 - won))
    ]
    by_pair = pd.concat(sides).groupby(["judge", "first", "second"], sort=False)["won"]
    pairs = by_pair.agg(won="mean", n="size").reset_index()
    return pairs.assign(a=systems[pairs["first"]], b=systems[pairs["second"]])


def measures(study: Study, table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the values that rank outputs, negated if lower is better, by measure."""
    found = {one: study.sign(one) * table[f"mean: {one}"] for one in study.dimensions}
    found |= {f"won: {one}": table[f"won: {one}"] for one in verdicts(study)["judge"].unique()}
    if study.scores is not None:
        one_each = study.scores.drop_duplicates("evaluator")
        for name, is_lower in zip(one_each["evaluator"], is_reversed(one_each), strict=True):
            found[f"score: {name}"] = (-1 if is_lower else 1) * table[f"score: {name}"]
    return found


def numeric(table: pd.DataFrame) -> list[str]:
    """List the columns that can be filtered by range."""
    kept = [str(name) for name in table if pd.api.types.is_numeric_dtype(table[name])]
    return [name for name in kept if name != "is_human"]


def searchable(table: pd.DataFrame) -> list[str]:
    """List the columns that can be searched: ids, context and extra columns."""
    return [str(name) for name in table if name != "system" and ": " not in str(name)]


def matching(table: pd.DataFrame, texts: pd.Series, values: Mapping[str, Any]) -> np.ndarray:
    """Mark the outputs that pass all filters; words may be in any order and in either case.

    The filters are `systems`, `words` in the text, a range of a `column` (from `low` to `high`),
    and the column `extra`, which must contain `part`.
    """
    kept = table["system"].isin(values["systems"]).to_numpy(copy=True)
    if values["column"]:
        numbers = table[values["column"]].to_numpy(dtype=float)
        low, high = values.get("low"), values.get("high")
        kept &= True if low is None else numbers >= low
        kept &= True if high is None else numbers <= high
    looked = [(texts, word) for word in values["words"].split()]
    if values["extra"]:
        looked.append((table[values["extra"]].astype("str"), values.get("part", "")))
    for column, part in looked:
        kept &= column.str.contains(part, case=False, regex=False).fillna(False).to_numpy(bool)
    return kept


def as_selection(table: pd.DataFrame, rows: np.ndarray, columns: Sequence[str]) -> pd.DataFrame:
    """Select outputs in the given order, with their item, system and some columns."""
    shown = table.iloc[rows][["item_id", "system", *columns]].reset_index(drop=True)
    shown.insert(0, "first", rows)
    return shown.assign(second=-1)


def ordered(selection: pd.DataFrame, column: str, descending: bool) -> pd.DataFrame:
    """Sort by a column; ties keep their order, and undefined numbers come last."""
    key = selection[column]
    if not pd.api.types.is_numeric_dtype(key):
        key = key.astype("str").str.casefold()
    order = key.sort_values(ascending=not descending, kind="stable", na_position="last").index
    return selection.loc[order].reset_index(drop=True)


def descending(values: pd.Series) -> np.ndarray:
    """Return the positions of defined values, largest first."""
    known = values.dropna()
    return known.sort_values(ascending=False, kind="stable").index.to_numpy()


def disagreements(one: pd.Series, other: pd.Series) -> np.ndarray:
    """Sort outputs by the difference between their ranks on two measures, largest first."""
    ranks = pd.DataFrame({"one": one, "other": other}).dropna().rank(pct=True)
    return descending((ranks["one"] - ranks["other"]).abs())


def lost(pairs: pd.DataFrame, judge: str, system: str) -> pd.DataFrame:
    """Find the pairs that a system lost, clearest first; its output comes first in each pair."""
    own = (pairs["judge"] == judge) & (pairs["a"] == system) & (pairs["b"] != system)
    found = pairs[own & (pairs["won"] < 0.5)]
    return found.sort_values(["won", "n"], ascending=[True, False], kind="stable")


def won(pairs: pd.DataFrame, judge: str, system_a: str, system_b: str) -> pd.DataFrame:
    """Find the pairs that one system won against another, clearest first."""
    own = (pairs["judge"] == judge) & (pairs["a"] == system_a) & (pairs["b"] == system_b)
    found = pairs[own & (pairs["won"] > 0.5)]
    return found.sort_values(["won", "n"], ascending=False, kind="stable")


def same_item(table: pd.DataFrame, system_a: str, system_b: str, values: pd.Series) -> pd.DataFrame:
    """Pair the outputs of two systems on each item, in their order, with their values."""
    sides = []
    for system, name in ((system_a, "first"), (system_b, "second")):
        rows = table.loc[table["system"] == system, ["item_id"]].assign(value=values)
        rows = rows.assign(turn=rows.groupby("item_id").cumcount())
        sides.append(rows.rename_axis(name).reset_index())
    return sides[0].merge(sides[1], on=["item_id", "turn"])


def better(table: pd.DataFrame, system_a: str, system_b: str, values: pd.Series) -> pd.DataFrame:
    """Find the items on which one system is better than another, clearest first."""
    found = same_item(table, system_a, system_b, values)
    found["lead"] = found["value_x"] - found["value_y"]
    return found[found["lead"] > 0].sort_values("lead", ascending=False, kind="stable")


def both_poor(table: pd.DataFrame, system_a: str, system_b: str, values: pd.Series) -> pd.DataFrame:
    """Find the items for which both systems' outputs are in the lowest quarter of all outputs."""
    found = same_item(table, system_a, system_b, values.rank(pct=True))
    found["rank"] = found[["value_x", "value_y"]].max(axis=1, skipna=False)
    return found[found["rank"] <= 0.25].sort_values("rank", kind="stable")


def as_pairs(table: pd.DataFrame, pairs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Select pairs, with their item, both systems, and the values by which they were selected."""
    first, second = (table.iloc[pairs[side]].reset_index() for side in ("first", "second"))
    found = first[["index", "item_id"]].set_axis(["first", "item_id"], axis=1)
    found.insert(1, "second", second["index"])
    found = found.assign(**{"system A": first["system"], "system B": second["system"]})
    if "won" in pairs:
        return found.assign(**{"won by A": pairs["won"].to_numpy(), "n": pairs["n"].to_numpy()})
    return found.assign(**{f"{by}, A": first[by], f"{by}, B": second[by]})


def as_csv(selection: pd.DataFrame, outputs: pd.DataFrame) -> bytes:
    """Write a selection as CSV with full texts, in which spreadsheets find no formulas to run."""
    written = selection.drop(columns=["first", "second"])
    for side, name in sides(selection).items():
        rows = outputs.iloc[selection[side]]
        written[f"output_id{name}"] = rows["output_id"].to_numpy()
        written[f"text{name}"] = rows["text"].to_numpy()
    for name in written.columns[~written.dtypes.map(pd.api.types.is_numeric_dtype)]:
        written[name] = harmless(written[name])
    written.columns = harmless(pd.Series(written.columns))
    return written.to_csv(index=False, lineterminator="\n").encode("utf-8", "replace")


def number(value: float) -> str:
    """Format a number; NaN becomes an empty string."""
    return "" if np.isnan(value) else f"{value:z.4g}".replace("-", "−")


def sides(selection: pd.DataFrame) -> dict[str, str]:
    """Return the position columns that a selection uses, and the suffixes of their headings."""
    if (selection["second"] < 0).all():
        return {"first": ""}
    return {"first": " A", "second": " B"}
