"""The table of outputs: sort it, filter it, turn pages, and open items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.explorer import tables
from nlgbench.explorer.items import describe_item, truncate
from nlgbench.explorer.view import Values, View, choice, control, describe_table, jump, several
from nlgbench.names import spaced
from nlgbench.study import Study
from nlgbench.text import counted, span

#: The number of rows per page, which fits below the controls.
N_ROWS = 13
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
    formats, has_state = ("csv",), True

    def __init__(self, study: Study, once: Callable[..., Any]) -> None:
        super().__init__(study, once)
        self.page = 0
        self.opened: int | None = None
        self.sort: tuple[str, bool] | None = None
        self._selected: tuple[str, pd.DataFrame] = ("", pd.DataFrame())
        self.has_texts = bool((study.outputs["text"] != "").any())
        self.table, self.pairs = once(tables.output_table), tables.pair_table(study)
        self.measures = tables.measures(study, self.table)
        self.labels = {name: study.label(name) for name in map(str, self.table["system"].unique())}

    @cached_property
    def needs(self) -> dict[str, dict[str, list[str]]]:
        """Return the controls that each possible preset needs, with their options."""
        systems, names, dimensions = list(self.labels), list(self.measures), self.study.dimensions
        judges, scores = ([name for name in names if name.startswith(kind)] for kind in _KINDS)
        disputed = [name for name in dimensions if self.table[f"SD: {name}"].notna().any()]
        repeated = self.pairs.loc[self.pairs["n"] > 1, "judge"].unique()
        divided = [f"won: {judge}" for judge in repeated]
        met = systems if self.table.groupby("item_id")["system"].nunique().max() > 1 else []
        needs = {
            "all": {"dimension": dimensions} if dimensions else {},
            "disputed": {"dimension": disputed} if disputed else {"by": divided},
            "worst": {"system": systems, "by": names},
            "disagree": {"evaluator": scores, "dimension": dimensions},
            "lost": {"system": systems, "by": judges},
            "better": {"a": met, "b": met, "by": names},
            "poor": {"a": met, "b": met, "by": [name for name in names if name not in judges]},
        }
        return {preset: needed for preset, needed in needs.items() if all(needed.values())}

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer presets with their controls, filters, and the scores to show."""
        titles = {name: PRESETS[name] for name in self.needs}
        preset = choice("preset", "Show", titles, values.get("preset"))
        main, needs = self.study.main_dimension, self.needs[preset["value"]]
        default = {"dimension": main, "by": main, "b": list(self.labels)[-1]}
        if preset["value"] == "better":
            measures = [name for name in (values.get("by"), main) if name in needs["by"]]
            default["a"], default["b"] = self._best((measures or needs["by"])[0])
        controls = [preset]
        for name, options in needs.items():
            label = "Judgments" if name == "dimension" else name.capitalize()
            named = {option: self.labels.get(option, option) for option in options}
            controls.append(choice(name, label, named, default.get(name)))
        if self.has_texts:
            controls.append(control("words", "words", "Words in the text", ""))
        controls.append(several("systems", "Systems", self.labels))
        controls.append(choice("column", "Range of", _or_none(tables.numeric(self.table))))
        if values.get("column"):
            controls.append(control("number", "low", "from", None))
            controls.append(control("number", "high", "to", None))
        controls.append(choice("extra", "Column", _or_none(tables.searchable(self.table))))
        if values.get("extra"):
            controls.append(control("words", "part", "contains", ""))
        scores = [name for name in self.measures if name.startswith(tables.SCORE)]
        return [*controls, several("scores", "Scores", scores, N_SCORES)] if scores else controls

    def _best(self, measure: str) -> list[str]:
        """Name the two systems with the best means."""
        means = self.measures[measure].groupby(self.table["system"]).mean()
        ranked = means.sort_values(ascending=False).index
        systems = [name for name in ranked if name in self.study.systems]
        return list(dict.fromkeys([*systems, *self.labels]))[:2]

    def sorting(self, values: Values) -> tuple[str, bool] | None:
        """Return the column to sort by, and whether it falls; at first, the most disputed lead."""
        if self.sort is None and values["preset"] == "all" and "dimension" in values:
            return f"SD: {values['dimension']}", True
        return self.sort

    def selection(self, values: Values) -> pd.DataFrame:
        """Select the rows of the preset, filtered and sorted."""
        key = json.dumps([values, self.sort], sort_keys=True)
        if self._selected[0] != key:
            self._selected = (key, self._found(values))
        return self._selected[1]

    def _found(self, values: Values) -> pd.DataFrame:
        outputs, pairs, measures = self.table, self.pairs, self.measures
        measure = values.get("by") or values.get("dimension", "")
        judge = measure.removeprefix("won: ")
        passes = tables.pass_filters(outputs, self.study.outputs["text"], values)
        rows: Any = np.arange(len(outputs))
        match values["preset"]:
            case "disputed" if judge != measure:
                rows = tables.divided(pairs, judge)
            case "disputed":
                rows = tables.descending(outputs[f"SD: {measure}"])
            case "worst":
                is_system = outputs["system"] == values["system"]
                rows = tables.descending(-measures[measure].where(is_system))
            case "disagree":
                rows = tables.disagreements(measures[values["evaluator"]], measures[measure])
            case "lost":
                rows = tables.lost(pairs, judge, values["system"])
            case "better" if judge != measure:
                rows = tables.won(pairs, judge, values["a"], values["b"])
            case "better":
                rows = tables.better(outputs, values["a"], values["b"], measures[measure])
            case "poor":
                rows = tables.both_poor(outputs, values["a"], values["b"], measures[measure])
        if isinstance(rows, pd.DataFrame):
            rows = rows[passes[rows["first"]] | passes[rows["second"]]]
            column = f"mean: {measure}" if measure in self.study.dimensions else measure
            selection = tables.as_pairs(outputs, rows, column)
        else:
            selection = tables.as_selection(outputs, rows[passes[rows]], self.shown(values))
        sort = self.sorting(values)
        return tables.ordered(selection, *sort) if sort and sort[0] in selection else selection

    def shown(self, values: Values) -> list[str]:
        """List the numeric columns to show: judgments, votes and scores."""
        dimension = values.get("dimension") or values.get("by", "")
        names = [f"{kind}: {dimension}" for kind in ("mean", "SD", "judgments")]
        judge = next((name for name in self.measures if name.startswith("won: ")), "won: ")
        names += [judge, judge.replace("won", "n", 1), values.get("by", "")]
        names += [values.get("evaluator", ""), *values.get("scores", [])]
        columns = (name for name in dict.fromkeys(names) if name in self.table)
        return [name for name in columns if self.table[name].notna().any()]

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out a page of the table, or the open item."""
        selection = self.selection(values)
        if self.opened is None:
            table = self._page(selection, self.sorting(values)) | {"bars": self._bars(values)}
            names = ("preset", "scores", *self.needs[values["preset"]])
            chosen = {name: values.get(name) for name in names}
            if len(selection) or self.settle(chosen) == values:
                return {"main": [table]}
            clear = {"type": "action", "label": "Clear filters", "sends": jump(self.name, **chosen)}
            return {"main": [table, clear]}
        row = selection.iloc[self.opened]
        places = [int(position) for position in (row["first"], row["second"]) if position >= 0]
        item = describe_item(self.study, self.table, places)
        return {"main": [{**item, "at": f"{self.opened + 1:,} of {len(selection):,}"}]}

    def _bars(self, values: Values) -> dict[str, Any] | None:
        """Describe a histogram of the sorted column over outputs that pass the other filters."""
        name = (self.sorting(values) or ("", False))[0]
        if name not in tables.numeric(self.table):
            return None
        texts = self.study.outputs["text"]
        passes = tables.pass_filters(self.table, texts, values | {"column": ""})
        numbers = self.table.loc[passes, name].dropna()
        if numbers.nunique() < 2:
            return None
        bars = tables.histogram(numbers)
        chosen = (values.get("low"), values.get("high")) if values["column"] == name else None
        described = [
            {
                "name": f"{name}, {span([low, high], '.3g')}: {counted(n, 'output')}",
                "height": n / int(bars["n"].max()),
                "chosen": (low, high) == chosen,
                "sends": {"type": "range", "column": name, "low": low, "high": high},
            }
            for low, high, n in bars.astype(object).itertuples(index=False)
        ]
        caption = f"{name}, {span(numbers, '.3g')}: select a bar to list its outputs"
        return {"caption": caption, "bars": described}

    def _page(self, selection: pd.DataFrame, sort: tuple[str, bool] | None) -> dict[str, Any]:
        start = self.page * N_ROWS
        page = selection.iloc[start : start + N_ROWS]
        columns = {str(name): page[name] for name in selection if name not in ("first", "second")}
        for side, name in tables.position_columns(selection).items():
            if self.has_texts:
                texts = self.study.outputs["text"].iloc[page[side]]
                columns[f"text{name}"] = texts.str.slice(0, N_PREVIEW + 1)
        cells, kinds = [], []
        for name, column in columns.items():
            is_number = pd.api.types.is_numeric_dtype(column)
            kinds.append("number" if is_number else "words" if name.startswith("text") else "")
            if is_number:
                cells.append(tables.format_numbers(column))
            else:
                cells.append([truncate(text, N_PREVIEW) for text in column.replace(self.labels)])
        ends = "No"
        if len(page):
            ends = f"{start + 1:,} to {start + len(page):,} of {len(selection):,}"
        unit = "pairs" if (selection["second"] >= 0).any() else "outputs"
        return describe_table(
            f"{ends} {unit}",
            list(spaced(columns).values()),
            zip(*cells, strict=True),
            [{"type": "pick", "n": start + n} for n in range(len(page))],
            keys=[name if name in selection else "" for name in columns],
            kinds=kinds,
            sort=sort,
            pages=[self.page + 1, max(1, -(-len(selection) // N_ROWS))],
        )

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Sort, turn pages, open an item, go to the next or previous one, or close it."""
        selection, n, column = self.selection(values), content.get("n"), content.get("column")
        last = len(selection) - 1
        match content["type"]:
            case "set":
                self.page, self.opened = 0, None
                self.sort = None if content["name"] == "preset" else self.sort
            case "sort" if isinstance(column, str) and column in selection:
                first = (column, pd.api.types.is_numeric_dtype(selection[column]))
                self.sort = (column, not first[1]) if self.sorting(values) == first else first
                self.page = 0
            case "range":  # of a bar; the bar that is chosen is let go
                limits = {name: content.get(name) for name in ("column", "low", "high")}
                is_chosen = all(values.get(name) == limit for name, limit in limits.items())
                values |= {"column": ""} if is_chosen else limits
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

    def open_output(self, values: Values, position: int | None) -> None:
        """Open the item of an output, or show the first page."""
        self.page, self.opened, self.sort = 0, None, None
        rows = np.flatnonzero(self.selection(values)["first"] == position)
        if len(rows):
            self._open(int(rows[0]))

    def _open(self, n: int) -> None:
        """Open a row, and go to its page."""
        self.opened, self.page = n, n // N_ROWS

    def files(self, values: Values, form: str) -> list[bytes]:
        """Return all selected rows, with full texts, as CSV."""
        return [tables.as_csv(self.selection(values), self.study.outputs)]


_KINDS = ("won: ", tables.SCORE)


def _or_none(names: list[str]) -> dict[str, str]:
    return {"": "(none)"} | {name: name for name in names}
