"""What an answer's cell means: words for missing values, and numbers with decimal commas."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable

import pandas as pd

from nlgbench.study import file_types

#: Words for a missing value, in lower case, with a blank for what is not a letter or digit.
_MISSING = {
    "",  # of a dash, and so on
    *("na", "n a", "nan", "nil", "null", "none", "missing", "blank", "empty", "undefined", "dk"),
    *("unknown", "unsure", "not sure", "no idea", "no opinion", "skip", "skipped", "refused"),
    *("not applicable", "not available", "prefer not to say", "prefer not to answer", "idk"),
}
_MISSING_FORM = re.compile(
    r"(?:i )?(?:don t|dont|do not) know|(?:i )?(?:can ?t|can ?not) (?:say|tell|judge|decide|rate)|"
    r"(?:no|without) (?:answer|response|rating|judge?ment|score|value|data)|"
    r"(?:not |un)(?:answered|rated|judged|scored)"
)
_COMMA = re.compile(r"[+-]?\d*,\d+")
#: A number whose comma may separate thousands.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def plain_words(cell: str) -> str:
    """Write a cell in lower case, with a blank for what is not a letter or digit."""
    return re.sub(r"[\W_]+", " ", cell).strip().lower()


def flat(cells: Iterable[str]) -> list[str]:
    """List cells, with the elements of those that are lists."""
    elements = (("[" in cell and file_types.as_list(cell)) or [cell] for cell in cells)
    return list(itertools.chain.from_iterable(elements))


def missing_words(cells: Iterable[str]) -> list[str]:
    """List the cells that mean a missing value, such as N/A or a dash, but are not empty."""
    wordy = [cell for cell in dict.fromkeys(cells) if cell.strip() and not re.search(r"\d", cell)]
    plain = {cell: plain_words(cell) for cell in wordy}
    return [
        cell for cell in wordy if plain[cell] in _MISSING or _MISSING_FORM.fullmatch(plain[cell])
    ]


def empty_missing(cells: pd.Series, missing: Iterable[str]) -> pd.Series:
    """Empty the cells, and the elements of lists, that are words for a missing value."""
    missing = {word.strip() for word in missing}
    new = {}
    for cell in cells.unique() if missing else ():
        elements = file_types.as_list(cell) if cell.lstrip().startswith("[") else None
        if cell.strip() in missing:
            new[cell] = ""
        elif elements and missing & {*map(str.strip, elements)}:
            answers = ["" if element.strip() in missing else element for element in elements]
            new[cell] = json.dumps(answers, ensure_ascii=False)
    return cells.map(lambda cell: new.get(cell, cell)) if new else cells


def has_decimal_commas(cells: pd.Series) -> bool:
    """Check whether a column has numbers with decimal commas, which cannot separate thousands."""
    filled = {cell.strip() for cell in cells.tolist()} - {""}
    commas = {cell for cell in filled if "," in cell and _COMMA.fullmatch(cell)}
    if not commas or all(map(_THOUSANDS.fullmatch, commas)):
        return False
    numbers = filled - commas
    missing = missing_words(numbers)
    return all(cell in missing or re.fullmatch(r"[+-]?\d+", cell) for cell in numbers)


def point_commas(cells: pd.Series) -> pd.Series:
    """Replace decimal commas by points in cells that are numbers."""
    return cells.where(~cells.str.strip().str.fullmatch(_COMMA), cells.str.replace(",", "."))


def number_rule(cells: Iterable[str]) -> str:
    """Explain how cells that should be numbers can be read; empty if neither kind occurs."""
    cells = [str(cell).strip() for cell in cells]
    if missing := missing_words(cells):
        return (
            "must be a number: drop the row or, if these words mean a missing value, write "
            f"`settings: {{missing: {json.dumps(missing[:8], ensure_ascii=False)}}}` in study.yml; "
            "if they mean a number, map them to it in `values`"
        )
    if any(map(_COMMA.fullmatch, cells)):
        return (
            "must be a number with a decimal point: if the comma separates decimals, replace it, "
            "or write `decimal: ','` beside `file` in study.yml; if it separates thousands, "
            "remove it"
        )
    return ""
