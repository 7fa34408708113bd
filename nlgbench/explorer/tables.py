"""What the table of outputs shows: numbers of each output, filters, and presets.

Functions of frames, which know nothing of a browser. A row of `output_table` is a row of
``study.outputs``, and that place names an output everywhere in the explorer. A selection is a
frame with `first` and `second` (such places; -1 where a row is one output) and what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nlgbench.study import Study
from nlgbench.study.study import is_reversed

#: Columns of outputs that `output_table` does not show as extra columns.
_OWN = ("output_id", "item_id", "system", "text", "is_human", "context")


class Measure(NamedTuple):
    """A number of each output by which it is better or worse."""

    column: str
    #: 1, or -1 where lower is better.
    sign: float


def verdicts(study: Study) -> pd.DataFrame:
    """List all votes and comparisons: judge, output_a, output_b, won (a's share of a win)."""
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
            by_output = part.groupby("output_id")["value"].agg(["mean", "std", "size"])
            mean, spread, n = by_output.reindex(ids).to_numpy(dtype=float).T
            found |= {f"mean: {dimension}": mean, f"spread: {dimension}": spread}
            found[f"judgments: {dimension}"] = n
    for judge, part in verdicts(study).groupby("judge", sort=False):
        of = pd.concat([part["output_a"], part["output_b"]])
        won = pd.concat([part["won"], 1 - part["won"]]).groupby(of.to_numpy())
        found[f"won: {judge}"] = won.mean().reindex(ids).to_numpy()
        found[f"n: {judge}"] = won.size().reindex(ids).to_numpy(dtype=float)
    if study.scores is not None:
        row, (column, names) = _places(ids, study.scores), pd.factorize(study.scores["evaluator"])
        wide = np.full((len(ids), len(names)), np.nan)
        wide[row, column] = study.scores["score"].to_numpy()
        found |= {f"score: {name}": wide[:, n] for n, name in enumerate(names)}
    return study.outputs.drop(columns="text").assign(**found).reset_index(drop=True)


def _places(ids: pd.Index, table: pd.DataFrame, column: str = "output_id") -> np.ndarray:
    return ids.get_indexer(pd.Index(table[column]))


def pair_table(study: Study) -> pd.DataFrame:
    """Gather votes and comparisons by judge and pair: first, second, won (first's share), n."""
    table, ids = verdicts(study), pd.Index(study.outputs["output_id"])
    a, b = _places(ids, table, "output_a"), _places(ids, table, "output_b")
    won = np.where(a < b, table["won"], 1 - table["won"].astype(float))
    pairs = pd.DataFrame({"judge": table["judge"], "first": np.minimum(a, b)})
    pairs = pairs.assign(second=np.maximum(a, b), won=won)
    by_pair = pairs.groupby(["judge", "first", "second"], sort=False)["won"]
    return (
        by_pair.agg(["mean", "size"])
        .reset_index()
        .set_axis(["judge", "first", "second", "won", "n"], axis=1)
    )


def measures(study: Study) -> dict[str, Measure]:
    """Name what outputs can be ranked by: dimensions of judgments, judges and evaluators."""
    found = {one: Measure(f"mean: {one}", study.sign(one)) for one in study.dimensions}
    judges = verdicts(study)["judge"].unique()
    found |= {f"won: {one}": Measure(f"won: {one}", 1.0) for one in judges}
    if study.scores is not None:
        lower = is_reversed(study.scores).groupby(study.scores["evaluator"]).any()
        for one in study.scores["evaluator"].unique():
            found[f"score: {one}"] = Measure(f"score: {one}", -1.0 if lower[one] else 1.0)
    return found


def numeric(table: pd.DataFrame) -> list[str]:
    """Name the columns that can have a range."""
    kept = [str(name) for name in table if pd.api.types.is_numeric_dtype(table[name])]
    return [name for name in kept if name != "is_human"]


def searchable(table: pd.DataFrame) -> list[str]:
    """Name the columns whose words can be searched: ids, context and extra columns."""
    known = {"output_id", "item_id", "is_human", "context"}
    return [
        str(name) for name in table if name in known or (name not in _OWN and ": " not in str(name))
    ]


def matching(
    table: pd.DataFrame,
    texts: pd.Series,
    *,
    systems: Sequence[str] | None = None,
    words: str = "",
    ranges: Mapping[str, tuple[float | None, float | None]] | None = None,
    contains: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Mark the outputs that pass all filters; words are in any order, and case does not count."""
    kept = np.ones(len(table), dtype=bool)
    if systems is not None and len(systems) < table["system"].nunique():
        kept &= table["system"].isin(systems).to_numpy()
    for name, (low, high) in (ranges or {}).items():
        values = table[name].to_numpy(dtype=float)
        kept &= True if low is None else values >= low
        kept &= True if high is None else values <= high
    looked = [(texts, word) for word in words.split()]
    looked += [(table[name].astype("str"), part) for name, part in (contains or {}).items() if part]
    for column, part in looked:
        kept &= column.str.contains(part, case=False, regex=False).fillna(False).to_numpy(bool)
    return kept


def as_selection(table: pd.DataFrame, rows: np.ndarray, columns: Sequence[str]) -> pd.DataFrame:
    """Show outputs as they stand: item, system and some columns."""
    shown = table.iloc[rows][["item_id", "system", *columns]].reset_index(drop=True)
    shown.insert(0, "first", rows)
    return shown.assign(second=-1)


def ordered(selection: pd.DataFrame, column: str, descending: bool) -> pd.DataFrame:
    """Sort by a column, equal rows as they stood and undefined numbers last."""
    key = selection[column]
    if not pd.api.types.is_numeric_dtype(key):
        key = key.astype("str").str.casefold()
    order = key.sort_values(ascending=not descending, kind="stable", na_position="last").index
    return selection.loc[order].reset_index(drop=True)


def most_disputed(table: pd.DataFrame, dimension: str) -> np.ndarray:
    """Find the outputs whose judgments differ most from each other."""
    return _descending(table[f"spread: {dimension}"])


def worst_of(table: pd.DataFrame, system: str, by: Measure) -> np.ndarray:
    """Find the worst outputs of a system."""
    return _descending(-by.sign * table[by.column].where(table["system"] == system))


def disagreements(table: pd.DataFrame, by: Measure, other: Measure) -> np.ndarray:
    """Find the outputs whose ranks by two measures, of the outputs that have both, differ most."""
    both = table[[by.column, other.column]].dropna()
    ranks = (both * [by.sign, other.sign]).rank(pct=True)
    gap = ranks[by.column] - ranks[other.column]
    return _descending(gap.abs())


def _descending(values: pd.Series) -> np.ndarray:
    """Give the places of known values, the greatest first."""
    known = values.dropna()
    return known.sort_values(ascending=False, kind="stable").index.to_numpy()


def lost(table: pd.DataFrame, pairs: pd.DataFrame, system: str, by: Measure) -> pd.DataFrame:
    """Find the pairs that a system lost, the clearest first; the system's output is the first."""
    found = turned(table, pairs, system, by)
    found = found[found["won"] < 0.5]
    return found.sort_values(["won", "n"], ascending=[True, False], kind="stable")


def turned(table: pd.DataFrame, pairs: pd.DataFrame, system: str, by: Measure) -> pd.DataFrame:
    """Keep a judge's pairs of a system with another, turned so that its output is the first."""
    pairs = pairs[pairs["judge"] == by.column.removeprefix("won: ")]
    first, second = (
        table["system"].to_numpy()[pairs[name]] == system for name in ("first", "second")
    )
    own = pairs[first & ~second]
    other = pairs[second & ~first].rename(columns={"first": "second", "second": "first"})
    return pd.concat([own, other.assign(won=1 - other["won"])])


def same_item(table: pd.DataFrame, system_a: str, system_b: str) -> pd.DataFrame:
    """Pair the outputs of two systems: the first of an item with the first, and so on."""
    sides = []
    for system, name in ((system_a, "first"), (system_b, "second")):
        rows = table.loc[table["system"] == system, ["item_id"]]
        rows = rows.assign(turn=rows.groupby("item_id").cumcount())
        sides.append(rows.rename_axis(name).reset_index())
    return sides[0].merge(sides[1], on=["item_id", "turn"])


def better(
    table: pd.DataFrame, pairs: pd.DataFrame, system_a: str, system_b: str, by: Measure
) -> pd.DataFrame:
    """Find the pairs that one system wins, by votes or by a number of each output."""
    if by.column.startswith("won: "):
        met = turned(table, pairs, system_a, by)
        met = met[(table["system"].to_numpy()[met["second"]] == system_b) & (met["won"] > 0.5)]
        return met.sort_values(["won", "n"], ascending=False, kind="stable")
    met = same_item(table, system_a, system_b)
    values = by.sign * table[by.column].to_numpy(dtype=float)
    met["lead"] = values[met["first"]] - values[met["second"]]
    return met[met["lead"] > 0].sort_values("lead", ascending=False, kind="stable")


def both_poor(table: pd.DataFrame, system_a: str, system_b: str, by: Measure) -> pd.DataFrame:
    """Find the items on which both systems are in the lowest quarter of all outputs."""
    values = by.sign * table[by.column]
    rank = values.rank(pct=True).to_numpy()
    met = same_item(table, system_a, system_b)
    met["rank"] = np.maximum(rank[met["first"]], rank[met["second"]])
    return met[met["rank"] <= 0.25].sort_values("rank", kind="stable")


def as_pairs(table: pd.DataFrame, met: pd.DataFrame, by: Measure) -> pd.DataFrame:
    """Show pairs: item, both systems, and what they were chosen by."""
    first, second = met["first"].to_numpy(), met["second"].to_numpy()
    found = pd.DataFrame({"first": first, "second": second})
    found["item_id"] = table["item_id"].to_numpy()[first]
    for side, rows in (("A", first), ("B", second)):
        found[f"system {side}"] = table["system"].to_numpy()[rows]
    if "won" in met:
        return found.assign(**{"won by A": met["won"].to_numpy(), "n": met["n"].to_numpy()})
    for side, rows in (("A", first), ("B", second)):
        found[f"{by.column}, {side}"] = table[by.column].to_numpy()[rows]
    return found


def as_csv(selection: pd.DataFrame, outputs: pd.DataFrame) -> bytes:
    """Write a selection with ids and whole texts; no cell begins as a spreadsheet's formula."""
    written = selection.drop(columns=["first", "second"])
    for side, name in sides(selection).items():
        rows = outputs.iloc[selection[side]]
        written[f"output_id{name}"] = rows["output_id"].to_numpy()
        written[f"text{name}"] = rows["text"].to_numpy()
    for name in written.columns[~written.dtypes.map(pd.api.types.is_numeric_dtype)]:
        written[name] = _harmless(written[name])
    written.columns = _harmless(pd.Series(written.columns))
    return written.to_csv(index=False, lineterminator="\n").encode("utf-8", "replace")


def _harmless(texts: pd.Series) -> pd.Series:
    return texts.astype("str").str.replace(r"^([=+\-@\t\r])", r"'\1", regex=True)


def number(value: float) -> str:
    """Write a number of a column; one that is undefined is empty."""
    return "" if np.isnan(value) else f"{value:.4g}".replace("-", "−")


def sides(selection: pd.DataFrame) -> dict[str, str]:
    """Name the columns of places that a selection uses, and what is added to their headings."""
    if (selection["second"] < 0).all():
        return {"first": ""}
    return {"first": " A", "second": " B"}
