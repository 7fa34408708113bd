"""Evaluators against human judgments: one as a scatter plot, or the correlations of all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation import correlate
from nlgbench.evaluators.names import label
from nlgbench.explorer.tables import output_table
from nlgbench.explorer.view import (
    Values,
    View,
    choice,
    estimated,
    image,
    jump,
    place,
    several,
    table,
)
from nlgbench.plots.atlas import plot_atlas
from nlgbench.plots.figures import Drawing, axes_for, drawn_on, in_paper_style
from nlgbench.plots.style import HUMAN, TWO_COLUMN
from nlgbench.study import Study

_LEVELS = {"output": "outputs", "system": "systems", "item": "systems of each item"}
#: Evaluators of the atlas that are shown at first: as many as a screen holds.
N_SHOWN = 12
#: Pixels of the figure between a click and the point that it opens.
_NEAR = 8


class EvaluatorsView(View):
    """How well evaluators agree with annotators."""

    name = "evaluators"
    title = "Evaluators"
    hint = "Click a point to read its text, or the row of an evaluator to see its scatter plot."

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.correlated = lru_cache(maxsize=64)(self._correlated)

    def supported(self) -> bool:
        """Ask for scores, and judgments that they are compared with."""
        scored = self.study.scores is not None
        return self.possible("correlate") or (scored and self.study.judgments is not None)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The numbers of each output."""
        return output_table(self.study)

    def evaluators(self, level: str) -> dict[str, str]:
        """Name the evaluators that scored outputs, or also systems."""
        tables = [self.study.scores, self.study.system_scores if level == "system" else None]
        names = [
            str(name) for one in tables if one is not None for name in one["evaluator"].unique()
        ]
        return {name: label(name) for name in names}

    def _correlated(self, level: str, dimension: str, evaluators: tuple[str, ...]) -> pd.DataFrame:
        given: dict[str, Any] = {"granularity": level, "dimension": dimension}
        return correlate(self.study, evaluators=list(evaluators), **given)

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the figure, the dimension, the points and the evaluators."""
        study = self.study
        figures = {"scatter": "one evaluator", "atlas": "correlations of all"}
        if not self.possible("correlate"):
            del figures["atlas"]
        if study.scores is None:
            del figures["scatter"]
        figure = choice("figure", "Show", figures, values.get("figure"))
        made = [figure]
        made.append(choice("dimension", "Judgments", study.dimensions, study.main_dimension))
        if figure["value"] == "scatter":
            return [*made, choice("evaluator", "Evaluator", self.evaluators("output"))]
        levels = _LEVELS if study.scores is not None else {"system": "systems"}
        made.append(choice("level", "Over", levels))
        there = self.evaluators(values.get("level", "output"))
        return [*made, several("evaluators", "Evaluators", there, N_SHOWN)]

    def points(self, values: Values) -> pd.DataFrame:
        """Give a row for each output that is not human: score and mean judgment."""
        columns = [f"score: {values['evaluator']}", f"mean: {values['dimension']}"]
        return self.table.loc[~self.table["is_human"], columns].dropna()

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the figure and the correlations."""
        is_atlas, dimension = values["figure"] == "atlas", values["dimension"]
        side = []
        if is_atlas:
            rows = self.rows(values)
            rows = rows[rows["statistic"] == "spearman"].sort_values("estimate", ascending=False)
            listed = [[label(one["evaluator"]), estimated(one)] for _, one in rows.iterrows()]
            columns = ["evaluator", "Spearman (95% interval)"]
            opens = [
                jump(self.name, figure="scatter", evaluator=one, dimension=dimension)
                for one in rows["evaluator"]
            ]
            side = [table("Scatter plot of an evaluator", columns, listed, opens)]
        elif self.possible("correlate"):
            rows = self.correlated("output", dimension, (values["evaluator"],))
            listed = [[one["statistic"], estimated(one)] for _, one in rows.iterrows()]
            n = rows["n"].max()
            columns = ["correlation", "estimate (95% interval)"]
            side = [table(f"Agreement over {n:,} outputs", columns, listed)]
        return {"main": [image(self.drawings(values)[0])], "side": side}

    def _open(self, values: Values, at: int) -> dict[str, Any]:
        """Open an output among those on which evaluator and annotators disagree."""
        chosen = {"evaluator": f"score: {values['evaluator']}", "dimension": values["dimension"]}
        return jump("outputs", preset="disagree", **chosen) | {"output": int(at)}

    def rows(self, values: Values) -> pd.DataFrame:
        """Give the correlations of the evaluators that are selected."""
        if not values["evaluators"]:
            raise ValueError("No evaluator is selected: select at least one.")
        chosen = tuple(values["evaluators"])
        return self.correlated(values["level"], values["dimension"], chosen)

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Open the text of the point nearest to a click."""
        if content["type"] != "at" or values["figure"] == "atlas":
            return None
        points, drawn = self.points(values), self.drawings(values)[0]
        drawn.figure.draw_without_rendering()  # which lays it out as it is on the screen
        ax = drawn.axes[0]
        clicked = place(ax, content["x"], content["y"])
        far = np.hypot(*(ax.transData.transform(points.to_numpy()) - clicked).T)
        near = len(far) > 0 and far.min() < _NEAR
        return self._open(values, points.index[far.argmin()]) if near else None

    def drawings(self, values: Values) -> list[Drawing]:
        """Draw the scatter plot, or what notebook 05b does."""
        if values["figure"] == "atlas":
            return [plot_atlas(self.rows(values))]
        x, y = label(values["evaluator"]), f"mean {values['dimension']}"
        return [_scatter(self.points(values), f"{x} score", y)]

    def code(self, values: Values) -> str:
        """Write the call of the correlations."""
        if values["figure"] != "atlas":
            return ""
        given = f"granularity={values['level']!r}, dimension={values['dimension']!r}"
        call = f"nb.correlate(study, evaluators={values['evaluators']!r}, {given})"
        return f"nb.plot_atlas({call})"


@in_paper_style
def _scatter(points: pd.DataFrame, x: str, y: str) -> Drawing:
    """Draw a point for each output, fainter where there are many."""
    (ax,) = axes_for(None, TWO_COLUMN, 4.2)
    alpha = float(np.clip(200 / max(1, len(points)), 0.08, 0.8))
    look: dict[str, Any] = {"s": 14, "color": HUMAN, "linewidth": 0, "rasterized": True}
    ax.scatter(*points.to_numpy().T, alpha=alpha, **look)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    return drawn_on(ax, points, f"{y} against {x} of {len(points):,} outputs.")
