"""Tables as readers see them: in notebooks, in reports, in LaTeX, and when results are printed.

>>> table = pd.DataFrame({"system": ["s_1", "s_2"], "estimate": [0.534, None], "n_items": [9, 9]})
>>> print(to_text(table.assign(ci_low=[0.391, None], ci_high=[0.672, None], status="ok")))
system          estimate items
   s 1 0.53 [0.39, 0.67]     9
Rows without an estimate, not shown: 1.
"""

from __future__ import annotations

import math
import re
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: The most rows of a table on a screen.
MOST_ROWS = 12
#: In wider tables, columns with a single value become a note.
_MOST_COLUMNS = 3
#: Columns that serve other computations, or that describe a whole table; files have them.
_HIDDEN = [
    *("source", "status", "label", "signature", "se", "confidence", "method", "exact", "center"),
    *("log10_labelings", "n_permutations", "null_mean", "null_sd", "tie", "stage"),
    "prediction_status",
]
#: Numbers that are compared digit by digit.
_COMPARED = ("published", "recomputed")
_ESTIMATES = ("estimate", *_COMPARED)
_HEADINGS = {"slug": "statement", "p_adjusted": "adjusted p", "p_value": "p"}
#: Values that stand for something else in a column.
_VALUES = {
    "comparator": {"people": "annotators"},
    "row": {"real": "human", "fake": "machine"},
    "score": {"huse": "HUSE", "huse_q": "HUSE-Q", "huse_d": "HUSE-D"},
}


class Reported:
    """A result of several tables, of which the first is displayed."""

    def _shown(self) -> pd.DataFrame:
        """Return the main table."""
        main: pd.DataFrame = next(iter(vars(self).values()))
        return main

    def __repr__(self) -> str:
        return to_text(self._shown())

    def _repr_html_(self) -> str:
        return to_html(self._shown())


def to_text(table: pd.DataFrame) -> str:
    """Lay out a table for a terminal, with texts such as reasons in full."""
    shown = readable(table, MOST_ROWS)
    with pd.option_context("display.max_colwidth", None):
        return "\n".join([shown.to_string(index=False), *shown.attrs["notes"]])


def to_html(table: pd.DataFrame, *, header: bool = True) -> str:
    """Lay out a table for a notebook; without a header, as it is."""
    shown = readable(table, MOST_ROWS) if header else table
    with pd.option_context("display.max_colwidth", None):
        html = shown.to_html(index=False, header=header, escape=True, na_rep="", border=0)
    return html + "".join(f"<p>{escape(note)}</p>" for note in shown.attrs.get("notes", []))


def readable(table: pd.DataFrame, most_rows: int | None = None) -> pd.DataFrame:
    """Write the cells of a table as texts, such as '0.53 [0.39, 0.67]', for reading.

    Rows without an estimate, empty columns, and columns with codes are omitted; intervals and
    ranges of ranks are joined. `attrs` has ``notes`` on rows that are not shown, and the names of
    columns with ``numbers``.
    """
    frame, notes = _with_estimates(_flatten(table))
    if most_rows is not None and len(frame) > most_rows:
        notes.append(f"Rows shown: the first {most_rows} of {len(frame):,}.")
    columns: dict[str, list[str]] = {}
    numbers, constant = [], []
    for name, block in _blocks(frame):
        texts, is_number = _write_cells(name, block)
        if not any(texts) and len(texts):
            continue
        heading = _HEADINGS.get(name, re.sub("^n_(?=.)", "", name).replace("_", " "))
        heading = name.replace("_", " ") if heading in columns else heading
        numbers += [heading] * is_number
        constant += [heading] * (name not in _ESTIMATES and len({*texts}) == 1)
        columns[heading] = texts[:most_rows]
    if len(columns) > max(_MOST_COLUMNS, len(constant)) and len(frame) > 1:
        same = [f"{name} {columns.pop(name)[0]}" for name in constant]
        same = [text for text in same if not text.endswith((" 0", " no"))]
        notes += [f"In all rows: {'; '.join(same)}."] * bool(same)
    written = pd.DataFrame(columns)
    written.attrs |= {"notes": notes, "numbers": numbers}
    return written


def _write_cells(name: str, block: pd.DataFrame) -> tuple[list[str], bool]:
    """Write the cells of a column, and return whether they are numbers."""
    kinds = block.dtypes
    if not all(pd.api.types.is_numeric_dtype(kind) and kind.kind != "b" for kind in kinds):
        return [_write_text(name, value) for value in block.iloc[:, 0]], False
    if name in _COMPARED:
        return [f"{x:.4g}".replace("-", "−").replace("nan", "") for x in block.iloc[:, 0]], True
    is_sparse = len(block) > 0 and block.iloc[:, 0].isna().mean() > 2 / 3
    if is_sparse and name not in _ESTIMATES:  # takes more space than it is worth
        return [""] * len(block), True
    return _write_numbers(block, is_p=bool(re.search(r"(^|_)p(_|$)", name))), True


def _flatten(table: pd.DataFrame) -> pd.DataFrame:
    """Turn an index that names rows into columns, and several levels of columns into one."""
    index = table.index
    is_named = any(name is not None for name in index.names) or index.dtype == object
    names = [" " * n if name is None else str(name) for n, name in enumerate(index.names)]
    frame = table.reset_index(names=names) if is_named else table
    labels = [name if isinstance(name, tuple) else (name,) for name in frame.columns]
    frame = frame.set_axis([" ".join(map(str, filter(None, name))) for name in labels], axis=1)
    keys = [*frame][: [*frame].index("estimate")] if "estimate" in frame else []
    hidden = {*_HIDDEN} - {"method"}.intersection(keys)  # the method may identify rows
    return frame.loc[:, ~(frame.columns.isin(hidden) | frame.columns.duplicated())]


def _with_estimates(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Omit rows without an estimate if others have one; return a note on them, with the reason."""
    notes = []
    if "estimate" in frame and frame["estimate"].notna().any():
        is_empty = frame["estimate"].isna()
        if is_empty.any():
            reasons = frame.loc[is_empty].get("reason", pd.Series(dtype=str))
            reasons = reasons[reasons.notna() & (reasons != "")]
            why = f" ({reasons.mode()[0]})" if len(reasons) else ""
            notes = [f"Rows without an estimate, not shown: {is_empty.sum():,}{why}."]
        frame = frame[~is_empty]
    if "row" in frame and not frame["row"].eq("real").any():  # all texts are the machine's
        frame = frame[frame["row"].ne("fake")]
    return frame, notes


def _blocks(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Group each column with those of the ends of its interval or range."""
    names = list(map(str, frame))
    blocks = {name: [name] for name in names}
    for low in [name for name in names if name.endswith("_low")]:
        start = low.removesuffix("_low")
        high = f"{start}_high"
        if high not in names:
            continue
        if start == "ci":
            start = "estimate" if "estimate" in names else names[max(names.index(low) - 1, 0)]
        del blocks[low], blocks[high]
        # A range of ranks says more than the rank itself.
        blocks[start] = [*([] if start == "rank" else blocks.get(start, [])), low, high]
    return [(name, frame[columns]) for name, columns in blocks.items()]


def _write_text(name: str, value: object) -> str:
    """Write a cell of a column of texts."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if math.isnan(value) else write_number(value, digits(np.array([value])))
    if value is None or value is pd.NA:
        return ""
    text = _VALUES.get(name, {}).get(str(value), str(value))
    is_name = not {" ", "/"} & {*text} and name != "text" and not name.endswith("_id")
    return text.replace("_", " ") if is_name else text


def _write_numbers(block: pd.DataFrame, *, is_p: bool = False) -> list[str]:
    """Write numbers with their intervals, with two or three digits."""
    values = block.to_numpy(dtype=np.float64, na_value=np.nan).round(10)
    is_whole = (values == values.round())[np.isfinite(values)].all()
    texts = []
    for row in values:
        written = [write_number(value, 0 if is_whole else digits(row)) for value in row]
        if is_p and row[0] < 0.001:
            written[0] = "<0.001"
        ends = [] if len(row) == 1 or np.isnan(row[-2:]).any() else written[-2:]
        if len(row) == 2 or np.isnan(row[0]):
            texts.append(" to ".join(dict.fromkeys(ends)))
        else:
            texts.append(written[0] + f" [{', '.join(ends)}]" * bool(ends))
    return texts


def write_estimates(table: pd.DataFrame) -> list[str]:
    """Write each estimate with its interval, if it has one."""
    return _write_numbers(table[["estimate", "ci_low", "ci_high"]])


def write_number(value: float, decimals: int) -> str:
    """Write a number with a minus sign, without a sign for zero; the smallest with an exponent."""
    if decimals > 5:
        return f"{value:.1e}".replace("-", "−")
    comma = "," if abs(value) >= 10_000 else ""
    return f"{value:z{comma}.{decimals}f}".replace("-", "−")


def digits(values: NDArray[np.float64]) -> int:
    """Return the decimals with which an estimate and its interval have two or three digits."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0) or 1.0
    exponent = math.floor(math.log10(largest))
    return max(0, 2 - exponent) if exponent >= 0 else 1 - exponent
