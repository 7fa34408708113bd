"""The table of outputs: sort it, filter it, turn pages, and open items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer import tables
from nlgbench.explorer.items import cut, item_of
from nlgbench.explorer.view import Values, View, choice, control, several, table
from nlgbench.names import spaced
from nlgbench.study import Study

#: The number of rows per page, which fits below the controls.
N_ROWS = 15
#: The number of evaluators whose scores are shown at first.
N_SCORES = 2
#: The largest number of characters shown of a text in a row.
N_PREVIEW = 140
#: Preset -> its title.
PRESETS = {
    "all": "All outputs",
    "disputed": "Most disputed",
    "worst": "Worst of a system",
    "disagree": "Evaluator and annotators disagree most",
    "lost": "Pairs that a system lost",
    "better": "A better than B",
    "poor": "Both A and B poor",
}


class OutputsView(View):
    """All outputs, or the outputs or pairs of a preset."""

    name = "outputs"
    title = "Outputs"
    hint = "Open a row to read the item with all its outputs."
    formats = ("csv",)

    def __init__(self, study: Study, once: Callable[..., Any]) -> None:
        super().__init__(study, once)
        self.page = 0
        self.opened: int | None = None
        self.sort: tuple[str, bool] | None = None
        self._selected: tuple[str, pd.DataFrame] = ("", pd.DataFrame())
        self.table, self.pairs = once(tables.output_table), tables.pair_table(study)
        self.measures = tables.measures(study, self.table)
        self.labels = {one: study.label(one) for one in map(str, self.table["system"].unique())}

    @cached_property
    def needs(self) -> dict[str, dict[str, list[str]]]:
        """Return the controls that each possible preset needs, with their options."""
        systems, by, dimensions = list(self.labels), list(self.measures), self.study.dimensions
        judges, scores = ([one for one in by if one.startswith(kind)] for kind in _KINDS)
        disputed = [one for one in dimensions if self.table[f"spread: {one}"].notna().any()]
        met = systems if self.table.groupby("item_id")["system"].nunique().max() > 1 else []
        found = {
            "all": {"dimension": dimensions} if dimensions else {},
            "disputed": {"dimension": disputed},
            "worst": {"system": systems, "by": by},
            "disagree": {"evaluator": scores, "dimension": dimensions},
            "lost": {"system": systems, "by": judges},
            "better": {"a": met, "b": met, "by": by},
            "poor": {"a": met, "b": met, "by": [one for one in by if one not in judges]},
        }
        return {preset: needed for preset, needed in found.items() if all(needed.values())}

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer presets with their controls, filters, and the scores to show."""
        titles = {name: PRESETS[name] for name in self.needs}
        preset = choice("preset", "Show", titles, values.get("preset"))
        main = self.study.main_dimension
        default = {"dimension": main, "by": main, "b": list(self.labels)[-1]}
        made = [preset]
        for name, options in self.needs[preset["value"]].items():
            label = "Judgments" if name == "dimension" else name.capitalize()
            named = {one: self.labels.get(one, one) for one in options}
            made.append(choice(name, label, named, default.get(name)))
        made.append(control("words", "words", "Words in the text", ""))
        made.append(several("systems", "Systems", self.labels))
        made.append(choice("column", "Range of", _or_none(tables.numeric(self.table))))
        if values.get("column"):
            made += [control("number", "low", "from", None), control("number", "high", "to", None)]
        made.append(choice("extra", "Column", _or_none(tables.searchable(self.table))))
        if values.get("extra"):
            made.append(control("words", "part", "contains", ""))
        scores = [one for one in self.measures if one.startswith("score: ")]
        return [*made, several("scores", "Scores", scores, N_SCORES)] if scores else made

    def selection(self, values: Values) -> pd.DataFrame:
        """Select the rows of the preset, filtered and sorted."""
        key = json.dumps([values, self.sort], sort_keys=True)
        if self._selected[0] != key:
            self._selected = (key, self._found(values))
        return self._selected[1]

    def _found(self, values: Values) -> pd.DataFrame:
        whole, pairs, good = self.table, self.pairs, self.measures
        name = values.get("by") or values.get("dimension", "")
        judge = name.removeprefix("won: ")
        kept = tables.matching(whole, self.study.outputs["text"], values)
        rows: Any = np.arange(len(whole))
        match values["preset"]:
            case "disputed":
                rows = tables.descending(whole[f"spread: {name}"])
            case "worst":
                rows = tables.descending(-good[name].where(whole["system"] == values["system"]))
            case "disagree":
                rows = tables.disagreements(good[values["evaluator"]], good[name])
            case "lost":
                rows = tables.lost(pairs, judge, values["system"])
            case "better" if judge != name:
                rows = tables.won(pairs, judge, values["a"], values["b"])
            case "better":
                rows = tables.better(whole, values["a"], values["b"], good[name])
            case "poor":
                rows = tables.both_poor(whole, values["a"], values["b"], good[name])
        if isinstance(rows, pd.DataFrame):
            rows = rows[kept[rows["first"]] | kept[rows["second"]]]
            shown = f"mean: {name}" if name in self.study.dimensions else name
            found = tables.as_pairs(whole, rows, shown)
        else:
            found = tables.as_selection(whole, rows[kept[rows]], self.shown(values))
        if self.sort is None or self.sort[0] not in found:
            return found
        return tables.ordered(found, *self.sort)

    def shown(self, values: Values) -> list[str]:
        """List the numeric columns to show: judgments, votes and scores."""
        dimension = values.get("dimension") or values.get("by", "")
        names = [f"{kind}: {dimension}" for kind in ("mean", "spread", "judgments")]
        judge = next((name for name in self.measures if name.startswith("won: ")), "won: ")
        names += [judge, judge.replace("won", "n", 1), values.get("by", "")]
        names += [values.get("evaluator", ""), *values.get("scores", [])]
        there = (name for name in dict.fromkeys(names) if name in self.table)
        return [name for name in there if self.table[name].notna().any()]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out a page of the table, or the open item."""
        found = self.selection(values)
        if self.opened is None:
            return {"main": [self._page(found)]}
        one = found.iloc[self.opened]
        places = [int(place) for place in (one["first"], one["second"]) if place >= 0]
        item = item_of(self.study, self.table, places)
        return {"main": [{**item, "at": f"{self.opened + 1:,} of {len(found):,}"}]}

    def _page(self, found: pd.DataFrame) -> dict[str, Any]:
        start = self.page * N_ROWS
        page = found.iloc[start : start + N_ROWS]
        columns = {str(name): page[name] for name in found if name not in ("first", "second")}
        for side, name in tables.sides(found).items():
            texts = self.study.outputs["text"].iloc[page[side]]
            columns[f"text{name}"] = texts.str.slice(0, N_PREVIEW + 1)
        cells, kinds = [], []
        for name, column in columns.items():
            is_number = pd.api.types.is_numeric_dtype(column)
            kinds.append("number" if is_number else "words" if name.startswith("text") else "")
            if is_number:
                cells.append([tables.number(one) for one in column])
            else:
                cells.append([cut(self.labels.get(one, one), N_PREVIEW) for one in column])
        ends = f"{start + 1:,} to {start + len(page):,} of {len(found):,}" if len(page) else "No"
        what = "pairs" if (found["second"] >= 0).any() else "outputs"
        return table(
            f"{ends} {what}",
            list(spaced(columns).values()),
            zip(*cells, strict=True),
            [{"type": "pick", "n": start + n} for n in range(len(page))],
            keys=[name if name in found else "" for name in columns],
            kinds=kinds,
            sort=self.sort,
            pages=[self.page + 1, max(1, -(-len(found) // N_ROWS))],
        )

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Sort, turn pages, open an item, go to the next or previous one, or close it."""
        found, n, column = self.selection(values), content.get("n"), content.get("column")
        last = len(found) - 1
        match content["type"]:
            case "set":
                self.page, self.opened = 0, None
                self.sort = None if content["name"] == "preset" else self.sort
            case "sort" if isinstance(column, str) and column in found:
                first = (column, pd.api.types.is_numeric_dtype(found[column]))
                self.sort = (column, not first[1]) if self.sort == first else first
                self.page = 0
            case "page" if isinstance(n, int):
                self.page = min(max(0, self.page + n), max(0, last) // N_ROWS)
            case "pick" if isinstance(n, int) and 0 <= n <= last:
                self._open(n)
            case "step" if isinstance(n, int) and self.opened is not None:
                self._open(min(max(0, self.opened + n), last))
            case "close":
                self.opened = None
        return None

    def open_output(self, values: Values, place: int | None) -> None:
        """Open the item of an output, or show the first page."""
        self.page, self.opened, self.sort = 0, None, None
        at = np.flatnonzero(self.selection(values)["first"] == place)
        if len(at):
            self._open(int(at[0]))

    def _open(self, n: int) -> None:
        """Open a row, and go to its page."""
        self.opened, self.page = n, n // N_ROWS

    def files(self, values: Values, form: str) -> list[bytes]:
        """Return all selected rows, with full texts, as CSV."""
        return [tables.as_csv(self.selection(values), self.study.outputs)]


_KINDS = ("won: ", "score: ")


def _or_none(names: list[str]) -> dict[str, str]:
    return {"": "(none)"} | {name: name for name in names}
