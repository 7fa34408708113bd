"""The agreement atlas: which evaluators rank as people do."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, to_hex

from nlgbench.analysis.correlation import correlate
from nlgbench.evaluators.names import label
from nlgbench.explorer.view import (
    Values,
    View,
    between,
    choice,
    names_axis,
    several,
    told,
    written,
)
from nlgbench.plots.atlas import plot_atlas
from nlgbench.plots.figures import Drawing
from nlgbench.study import Study

_STATISTICS = {"pearson": "Pearson", "spearman": "Spearman", "kendall_b": "Kendall's tau-b"}
_LEVELS = {"system": "systems", "output": "outputs", "item": "systems of each item"}
# As in `plot_atlas`: pale, so that black reads on all of it.
_SHADES = LinearSegmentedColormap.from_list("agreement", ["#F4B183", "#FFFFFF", "#4A90C4"])
#: Evaluators that are shown at first: as many as a page holds.
N_SHOWN = 30


class AtlasView(View):
    """Correlations of evaluators with people."""

    name = "atlas"
    title = "Evaluators and people"
    hint = "Pick an evaluator to read its correlations with their intervals."
    needs = ("correlate",)

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.table = lru_cache(maxsize=16)(self._table)

    def _table(self, granularity: str, dimension: str) -> pd.DataFrame:
        return correlate(
            self.study,
            granularity=granularity,  # type: ignore[arg-type]
            dimension=dimension,
        )

    def evaluators(self) -> list[str]:
        """Name the evaluators that scored outputs or systems."""
        tables = [one for one in (self.study.scores, self.study.system_scores) if one is not None]
        names = [str(name) for one in tables for name in one["evaluator"].unique()]
        return list(dict.fromkeys(names))

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer dimension, granularity, statistics and evaluators."""
        there, evaluators = self.study.dimensions, self.evaluators()
        quality = self.study.main_dimension
        return [
            choice("dimension", "Judgments of", there, quality if quality in there else None),
            choice("granularity", "Correlated over", _LEVELS),
            several("statistics", "Statistics", _STATISTICS),
            several(
                "evaluators",
                f"Evaluators ({len(evaluators)})",
                {name: label(name) for name in evaluators},
                N_SHOWN,
            ),
        ]

    def rows(self, values: Values) -> pd.DataFrame:
        """Pick rows from the table of all evaluators."""
        table = self.table(values["granularity"], values["dimension"])
        return table[
            table["evaluator"].isin(values["evaluators"])
            & table["statistic"].isin(values["statistics"])
        ]

    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out a cell for each evaluator and statistic."""
        rows = self.rows(values)
        wide = rows.pivot(index="evaluator", columns="statistic", values="estimate")
        # Those that were asked for; one that has no scores of outputs is not in the table.
        statistics = [name for name in _STATISTICS if name in wide]
        order = wide.mean(axis=1).sort_values(ascending=False, na_position="last").index
        cells = []
        for y, name in enumerate(order):
            for x, statistic in enumerate(statistics):
                value = wide.loc[name, statistic]
                shade = to_hex(_SHADES((value + 1) / 2)) if np.isfinite(value) else "#FFFFFF"
                cells.append({"x": x, "y": y, "color": shade, "text": written(value), "id": name})
        points = {
            "type": "points",
            "x": [-0.42] * len(order),
            "y": list(range(len(order))),
            "ids": list(order),
            "names": [
                f"{label(name)}: "
                + ", ".join(f"{_STATISTICS[s]} {written(wide.loc[name, s])}" for s in statistics)
                for name in order
            ],
            "shape": "o",
            "color": "#222222",
            "filled": False,
            "size": 4,
        }
        over = _LEVELS[values["granularity"]]
        across = {"label": "", "limits": [-0.5, len(statistics) - 0.5]}
        across |= {"ticks": list(range(len(statistics)))}
        across |= {"names": [_STATISTICS[name] for name in statistics]}
        return {
            "title": f"Correlation with {values['dimension']} over {over}",
            "alt": self.says(values),
            "x": across,
            "y": names_axis([label(name) for name in order]),
            "height": max(60, 26 * len(order)),
            "frameless": True,
            "marks": [{"type": "cells", "cells": cells}, points],
            "legend": [
                {"label": "−1", "box": to_hex(_SHADES(0.0))},
                {"label": "0", "box": to_hex(_SHADES(0.5))},
                {"label": "1", "box": to_hex(_SHADES(1.0))},
            ],
        }

    def says(self, values: Values) -> str:
        """Say how much is known, and how much is not."""
        rows = self.rows(values)
        undefined, doubted = int(rows["estimate"].isna().sum()), int((rows["reason"] != "").sum())
        return (
            f"{len(rows)} correlations of {rows['evaluator'].nunique()} evaluators; {undefined} "
            f"undefined, {doubted} with a reason to doubt the estimate or its interval."
        )

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """List an evaluator's correlations."""
        rows = self.rows(values)
        rows = rows[rows["evaluator"] == picked]
        if rows.empty:
            return None
        listed = [
            [
                _STATISTICS[row["statistic"]],
                written(row["estimate"]),
                between(row["ci_low"], row["ci_high"]),
                str(row["n"]),
            ]
            for row in rows.to_dict("records")
        ]
        columns = ["statistic", "estimate", "95% interval", "n"]
        return told(picked, label(picked), rows["reason"], "Correlations", columns, listed)

    def drawing(self, values: Values) -> Drawing:
        """Draw it as notebook 05b does."""
        return plot_atlas(self.rows(values))

    def code(self, values: Values) -> list[str]:
        """Write its calls."""
        given = f"granularity={values['granularity']!r}, dimension={values['dimension']!r}"
        return [
            f"table = nb.correlate(study, {given})",
            f"table = table[table['evaluator'].isin({values['evaluators']!r})]",
            f"table = table[table['statistic'].isin({values['statistics']!r})]",
            "drawn = nb.plot_atlas(table)",
        ]
