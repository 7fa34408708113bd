"""The display of studies and results that consist of several tables."""

from __future__ import annotations

import pandas as pd


class Reported:
    """A result of several tables, of which the first is displayed."""

    def _shown(self) -> pd.DataFrame:
        """Return the main table, rounded for display."""
        main: pd.DataFrame = next(iter(vars(self).values()))
        return main.round(3)

    def __repr__(self) -> str:
        return self._shown().to_string(index=False)

    def _repr_html_(self) -> str:
        return to_html(self._shown())


def to_html(frame: pd.DataFrame, *, header: bool = True) -> str:
    """Lay out a table for a notebook, with texts such as reasons in full."""
    with pd.option_context("display.max_colwidth", None):
        return frame.to_html(index=False, header=header, escape=True, na_rep="", border=0)
