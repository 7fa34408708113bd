"""The display of results that consist of several tables."""

from __future__ import annotations

import pandas as pd


class Reported:
    """A result of several tables, of which the first is displayed."""

    def _shown(self) -> pd.DataFrame:
        """Return the main table, rounded for display."""
        main: pd.DataFrame = next(iter(vars(self).values()))
        return main.round(3)

    def __str__(self) -> str:
        return self._shown().to_string(index=False)

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):  # reasons in full
            return self._shown().to_html(index=False, escape=True, na_rep="", border=0)
