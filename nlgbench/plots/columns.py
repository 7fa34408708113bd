"""The check that every figure makes of what it is handed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def require_columns(table: pd.DataFrame, wanted: Sequence[str], subject: str) -> None:
    """Refuse a table that lacks a column.

    Parameters
    ----------
    table : DataFrame
        What is to be drawn.
    wanted : sequence of str
        Columns that the figure reads.
    subject : str
        The parameter and its verb, such as ``"scores have"``.

    Raises
    ------
    ValueError
        Naming the first missing column, those that are needed, and those that are there.

    Examples
    --------
    >>> require_columns(pd.DataFrame({"a": [1]}), ["a", "b"], "curve has")
    Traceback (most recent call last):
    ValueError: curve has no column 'b': it needs a, b; found a.
    """
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        they_need = "they need" if subject.endswith("have") else "it needs"
        raise ValueError(
            f"{subject} no column {missing[0]!r}: {they_need} {', '.join(wanted)}; found "
            f"{', '.join(map(str, table.columns))}."
        )
