"""How results that hold several tables are shown."""

from __future__ import annotations

import pandas as pd


class Reported:
    """A result of several tables, of which the main one is shown: the first."""

    def _shown(self) -> pd.DataFrame:
        """Shorten its main table for reading."""
        main: pd.DataFrame = next(iter(vars(self).values()))
        return main.round(3)

    def __str__(self) -> str:
        return self._shown().to_string(index=False)

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):  # reasons in full
            return self._shown().to_html(index=False, escape=True, na_rep="", border=0)
