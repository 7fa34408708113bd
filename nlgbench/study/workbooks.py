"""Read a sheet of an Excel file as texts."""

from __future__ import annotations

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import pandas as pd

from nlgbench.names import unknown
from nlgbench.study.csv_files import TableError


def split(path: Path) -> tuple[Path, str]:
    """Separate the path of an Excel file from a sheet's name, as in ratings.xlsx#Sheet1."""
    name, mark, sheet = path.name.partition(".xlsx#")
    return (path.with_name(f"{name}.xlsx"), sheet) if mark else (path, "")


def read_workbook(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Read the named sheet, or the only one: whole numbers without a point, dates as ISO."""
    book, sheet = split(path)
    if importlib.util.find_spec("python_calamine") is None:
        raise TableError(
            f"{book} is an Excel file: pip install python-calamine, or save it as CSV."
        )
    if not book.is_file():
        raise FileNotFoundError(f"there is no file {book}.")
    from python_calamine import CalamineError

    try:
        options: Any = {"header": None, "dtype": object, "na_filter": False}
        sheets = pd.read_excel(book, sheet_name=None, engine="calamine", **options)
    except (CalamineError, OSError, ValueError) as error:
        raise TableError(f"{book} is not a valid Excel file ({error}): save it again.") from None
    filled = {str(name): cells.map(_as_text) for name, cells in sheets.items() if cells.size}
    if sheet and sheet not in filled:
        raise TableError(f"{book}: sheet {unknown(sheet, filled)}")
    if len(filled) != 1 and not sheet:
        names = ", ".join(filled) or "none with cells"
        example = f"{book.name}#{next(iter(filled), 'Sheet1')}"
        raise TableError(f"{book} has several sheets ({names}): name one, as in `{example}`.")
    cells = filled[sheet or next(iter(filled))]
    cells = cells.loc[(cells != "").any(axis=1), (cells != "").any()]
    header, rows = list(cells.iloc[0]), cells.iloc[1:]
    for name in header:
        if not name or header.count(name) > 1:
            defect = f"two columns named {name!r}" if name else "a column without a name"
            raise TableError(f"{path}, row {cells.index[0] + 1}, has {defect}: name each column.")
    places = [f"row {number + 1}" for number in rows.index]
    return rows.set_axis(header, axis=1).reset_index(drop=True).astype("str"), places


def _as_text(cell: Any) -> str:
    if isinstance(cell, datetime.datetime):
        is_day = cell.time() == datetime.time()
        return cell.date().isoformat() if is_day else cell.isoformat()
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
