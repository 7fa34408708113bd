"""How results that hold several tables are shown."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd


class Reported:
    """A result with a table to show, and below it its ``report`` in words, if it has one."""

    def _shown(self) -> pd.DataFrame:
        """Shorten its main table for reading."""
        raise NotImplementedError

    def __str__(self) -> str:
        lines = [f"{what}: {value}" for what, value in self._said()]
        return "\n".join([self._shown().to_string(index=False), *[""] * bool(lines), *lines])

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):  # reasons in full
            shown = self._shown().to_html(index=False, escape=True, na_rep="", border=0)
        rows = "".join(
            f"<dt>{html.escape(what)}</dt><dd>{html.escape(value)}</dd>"
            for what, value in self._said()
        )
        return f"{shown}<dl>{rows}</dl>" if rows else shown

    def _said(self) -> list[tuple[str, str]]:
        report = getattr(self, "report", None)
        return [] if report is None else list(report.itertuples(index=False, name=None))


def in_words(entries: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Lay out a report."""
    return pd.DataFrame(list(entries), columns=["what", "value"])
