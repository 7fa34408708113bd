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

#: What precedes an evaluator's name in the columns of scores.
SCORE = "score: "


def list_verdicts(study: Study) -> pd.DataFrame:
    """List votes and comparisons: judge, output_a, output_b, won (by a; a tie counts as 0.5)."""
    tables = []
    if study.preferences is not None:
        votes = study.preferences
        alone = (votes["dimension"] == votes["dimension"].iloc[0]).all()
        judge = "votes" if alone else "votes, " + votes["dimension"]
        won = votes["choice"].map({"a": 1.0, "tie": 0.5, "b": 0.0}).astype(float)
        tables.append(votes[["output_a", "output_b"]].assign(judge=judge, won=won))
    if study.comparisons is not None:
        games = study.comparisons
        judge, won = "judge " + games["comparator"], games["prob_a"] + games["prob_tie"] / 2
        tables.append(games[["output_a", "output_b"]].assign(judge=judge, won=won))
    if not tables:
        return pd.DataFrame(columns=["judge", "output_a", "output_b", "won"])
    return pd.concat(tables, ignore_index=True)


def output_table(study: Study) -> pd.DataFrame:
    """Gather each output's numbers: judgments by dimension, shares of votes won, and scores."""
    ids = pd.Index(study.outputs["output_id"])
    numbers: dict[str, Any] = {}
    if study.judgments is not None:
        for dimension, rows in study.judgments.groupby("dimension", sort=False):
            by_output = rows.groupby("output_id")["value"]
            judged = by_output.agg(mean="mean", SD="std", judgments="size").reindex(ids)
            numbers |= {f"{name}: {dimension}": judged[name].to_numpy(float) for name in judged}
    for judge, rows in list_verdicts(study).groupby("judge", sort=False):
        output_ids = pd.concat([rows["output_a"], rows["output_b"]])
        won = pd.concat([rows["won"], 1 - rows["won"]]).groupby(output_ids.to_numpy())
        numbers[f"won: {judge}"] = won.mean().reindex(ids).to_numpy()
        numbers[f"n: {judge}"] = won.size().reindex(ids).to_numpy(dtype=float)
    if study.scores is not None:
        for name, rows in study.scores.groupby("evaluator", sort=False):
            scores = rows.set_index("output_id")["score"]
            numbers[f"{SCORE}{name}"] = scores.reindex(ids).to_numpy()
    return study.outputs.drop(columns="text").assign(**numbers).reset_index(drop=True)


def pair_table(study: Study) -> pd.DataFrame:
    """Gather votes and comparisons by judge and pair, from both sides."""
    table, systems = list_verdicts(study), study.outputs["system"].to_numpy()
    ids, won = pd.Index(study.outputs["output_id"]), table["won"].astype(float)
    a, b = (ids.get_indexer(pd.Index(table[side])) for side in ("output_a", "output_b"))
    sides = [
        pd.DataFrame({"judge": table["judge"], "first": first, "second": second, "won": share})
        for first, second, share in ((a, b, won), (b, a, 1 - won))
    ]
    by_pair = pd.concat(sides).groupby(["judge", "first", "second"], sort=False)["won"]
    pairs = by_pair.agg(won="mean", n="size").reset_index()
    return pairs.assign(a=systems[pairs["first"]], b=systems[pairs["second"]])


def measures(study: Study, table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the values that rank outputs, negated if lower is better, by measure."""
    values = {name: study.sign(name) * table[f"mean: {name}"] for name in study.dimensions}
    judges = list_verdicts(study)["judge"].unique()
    values |= {f"won: {judge}": table[f"won: {judge}"] for judge in judges}
    if study.scores is not None:
        evaluators = study.scores.drop_duplicates("evaluator")
        for name, is_lower in zip(evaluators["evaluator"], is_reversed(evaluators), strict=True):
            values[f"{SCORE}{name}"] = (-1 if is_lower else 1) * table[f"{SCORE}{name}"]
    return values


def numeric(table: pd.DataFrame) -> list[str]:
    """List the columns that can be filtered by range."""
    names = [str(name) for name in table if pd.api.types.is_numeric_dtype(table[name])]
    return [name for name in names if name != "is_human"]


def searchable(table: pd.DataFrame) -> list[str]:
    """List the columns that can be searched: ids, context and extra columns."""
    return [str(name) for name in table if name != "system" and ": " not in str(name)]


def pass_filters(table: pd.DataFrame, texts: pd.Series, values: Mapping[str, Any]) -> np.ndarray:
    """Mark the outputs that pass all filters; words may be in any order and in either case.

    The filters are `systems`, `words` in the text, a range of a `column` (from `low` to `high`),
    and the column `extra`, which must contain `part`.
    """
    passes = table["system"].isin(values["systems"]).to_numpy(copy=True)
    if values["column"]:
        numbers = table[values["column"]].to_numpy(dtype=float)
        low, high = values.get("low"), values.get("high")
        passes &= True if low is None else numbers >= low
        passes &= True if high is None else numbers <= high
    conditions = [(texts, word) for word in values.get("words", "").split()]
    if values["extra"]:
        conditions.append((table[values["extra"]].astype("str"), values.get("part", "")))
    for column, text in conditions:
        passes &= column.str.contains(text, case=False, regex=False).fillna(False).to_numpy(bool)
    return passes


def as_selection(table: pd.DataFrame, rows: np.ndarray, columns: Sequence[str]) -> pd.DataFrame:
    """Select outputs in the given order, with their item, system and some columns."""
    selection = table.iloc[rows][["item_id", "system", *columns]].reset_index(drop=True)
    selection.insert(0, "first", rows)
    return selection.assign(second=-1)


def ordered(selection: pd.DataFrame, column: str, descending: bool) -> pd.DataFrame:
    """Sort by a column; ties keep their order, and undefined numbers come last."""
    key = selection[column]
    if not pd.api.types.is_numeric_dtype(key):
        key = key.astype("str").str.casefold()
    order = key.sort_values(ascending=not descending, kind="stable", na_position="last").index
    return selection.loc[order].reset_index(drop=True)


def descending(values: pd.Series) -> np.ndarray:
    """Return the positions of defined values, largest first."""
    defined = values.dropna()
    return defined.sort_values(ascending=False, kind="stable").index.to_numpy()


def disagreements(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Sort outputs by the difference between their ranks on two measures, largest first."""
    ranks = pd.concat([first, second], axis=1, keys=["first", "second"]).dropna().rank(pct=True)
    return descending((ranks["first"] - ranks["second"]).abs())


def histogram(values: pd.Series, n_bars: int = 20) -> pd.DataFrame:
    """Count values in bars of equal width, with the least and the largest value in each."""
    n_bars = min(n_bars, values.nunique())
    by_bar = values.groupby(pd.cut(values, n_bars), observed=False)
    return by_bar.agg(low="min", high="max", n="size").query("n > 0")


def divided(pairs: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Find the pairs on which several verdicts divide most equally, each pair once."""
    is_candidate = (pairs["judge"] == judge) & (pairs["first"] < pairs["second"]) & (pairs["n"] > 1)
    split = pairs[is_candidate].assign(lead=(pairs["won"] - 0.5).abs())
    return split.sort_values(["lead", "n"], ascending=[True, False], kind="stable")


def lost(pairs: pd.DataFrame, judge: str, system: str) -> pd.DataFrame:
    """Find the pairs that a system lost, clearest first; its output comes first in each pair."""
    is_candidate = (pairs["judge"] == judge) & (pairs["a"] == system) & (pairs["b"] != system)
    losses = pairs[is_candidate & (pairs["won"] < 0.5)]
    return losses.sort_values(["won", "n"], ascending=[True, False], kind="stable")


def won(pairs: pd.DataFrame, judge: str, system_a: str, system_b: str) -> pd.DataFrame:
    """Find the pairs that one system won against another, clearest first."""
    is_candidate = (pairs["judge"] == judge) & (pairs["a"] == system_a) & (pairs["b"] == system_b)
    wins = pairs[is_candidate & (pairs["won"] > 0.5)]
    return wins.sort_values(["won", "n"], ascending=False, kind="stable")


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
    items = same_item(table, system_a, system_b, values)
    items["lead"] = items["value_x"] - items["value_y"]
    return items[items["lead"] > 0].sort_values("lead", ascending=False, kind="stable")


def both_poor(table: pd.DataFrame, system_a: str, system_b: str, values: pd.Series) -> pd.DataFrame:
    """Find the items for which both systems' outputs are in the lowest quarter of all outputs."""
    items = same_item(table, system_a, system_b, values.rank(pct=True))
    items["rank"] = items[["value_x", "value_y"]].max(axis=1, skipna=False)
    return items[items["rank"] <= 0.25].sort_values("rank", kind="stable")


def as_pairs(table: pd.DataFrame, pairs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Select pairs, with their item, both systems, and the values by which they were selected."""
    first, second = (table.iloc[pairs[side]].reset_index() for side in ("first", "second"))
    selection = first[["index", "item_id"]].set_axis(["first", "item_id"], axis=1)
    selection.insert(1, "second", second["index"])
    selection = selection.assign(**{"system A": first["system"], "system B": second["system"]})
    if "won" in pairs:
        return selection.assign(**{"won by A": pairs["won"].to_numpy(), "n": pairs["n"].to_numpy()})
    return selection.assign(**{f"{column}, A": first[column], f"{column}, B": second[column]})


def as_csv(selection: pd.DataFrame, outputs: pd.DataFrame) -> bytes:
    """Write a selection as CSV with full texts, in which spreadsheets find no formulas to run."""
    written = selection.drop(columns=["first", "second"])
    for side, name in position_columns(selection).items():
        rows = outputs.iloc[selection[side]]
        written[f"output_id{name}"] = rows["output_id"].to_numpy()
        written[f"text{name}"] = rows["text"].to_numpy()
    for name in written.columns[~written.dtypes.map(pd.api.types.is_numeric_dtype)]:
        written[name] = harmless(written[name])
    written.columns = harmless(pd.Series(written.columns))
    return written.to_csv(index=False, lineterminator="\n").encode("utf-8", "replace")


def format_numbers(values: pd.Series) -> list[str]:
    """Format numbers with equal decimals, so that digits align; NaN becomes an empty string."""
    sizes = values.abs()[np.isfinite(values.astype(float))]
    digits = 0
    if (sizes % 1 != 0).any():
        digits = min(9, max(2, 3 - int(np.floor(np.log10(sizes.max())))))
    texts = [f"{value:z,.{digits}f}".replace("-", "−") for value in values.astype(float)]
    return [text if text != "nan" else "" for text in texts]


def position_columns(selection: pd.DataFrame) -> dict[str, str]:
    """Return the position columns that a selection uses, and the suffixes of their headings."""
    if (selection["second"] < 0).all():
        return {"first": ""}
    return {"first": " A", "second": " B"}
