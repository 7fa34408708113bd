"""Evaluators against human judgments: a scatter plot of one, or the correlations of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.evaluators.names import label, labelled
from nlgbench.explorer import view
from nlgbench.explorer.stored import name_run
from nlgbench.explorer.tables import SCORE, output_table
from nlgbench.explorer.view import Values, View, choice
from nlgbench.plots.style import ESTIMATE, TWO_COLUMN
from nlgbench.study import Study
from nlgbench.text import counted

_LEVELS = {"output": "outputs", "system": "systems", "item": "systems within an item"}
#: The number of evaluators selected at first, so that the atlas fits the screen.
N_SHOWN = 12
#: The greatest distance, in pixels of the figure, between a click and the point that it opens.
_NEAR = 8


class EvaluatorsView(View):
    """How well evaluators agree with annotators."""

    name = "evaluators"
    title = "Evaluators"
    hint = "Click a point to read its text, or the row of an evaluator to see its scatter plot."

    def supported(self) -> bool:
        """Require scores, and judgments to compare them with."""
        scored = self.study.scores is not None
        return self.possible("correlate") or (scored and self.study.judgments is not None)

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the figure, the dimension, the points and the evaluators."""
        study = self.study
        figures = {"scatter": "one evaluator", "atlas": "correlations of several"}
        if not self.possible("correlate"):
            del figures["atlas"]
        if study.scores is None:
            del figures["scatter"]
        figure = choice("figure", "Show", figures, values.get("figure"))
        dimension = choice("dimension", "Judgments", study.dimensions, study.main_dimension)
        controls = [figure, dimension]
        if figure["value"] == "scatter":
            return [*controls, choice("evaluator", "Evaluator", self.once(_labels, level="output"))]
        levels = _LEVELS if study.scores is not None else {"system": "systems"}
        controls.append(choice("level", "Over", levels))
        evaluators = self.once(_labels, level=values.get("level", next(iter(levels))))
        return [*controls, view.several("evaluators", "Evaluators", evaluators, N_SHOWN)]

    def points(self, values: Values) -> pd.DataFrame:
        """Return one row for each system output: score and mean judgment."""
        columns = [f"{SCORE}{values['evaluator']}", f"mean: {values['dimension']}"]
        outputs = self.once(output_table)
        return outputs.loc[~outputs["is_human"], columns].dropna()

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Lay out the figure and the correlations."""
        side = []
        if values["figure"] == "atlas":
            rows = self.rows(values)
            rows = rows[rows["statistic"] == "spearman"].sort_values("estimate", ascending=False)
            cells = [[label(row["evaluator"]), *view.estimated(row)] for _, row in rows.iterrows()]
            columns = ["evaluator", "Spearman", view.interval_name(rows)]
            scatter = {"figure": "scatter", "dimension": values["dimension"]}
            opens = [view.jump(self.name, **scatter, evaluator=name) for name in rows["evaluator"]]
            side = [view.describe_table("Scatter plot of an evaluator", columns, cells, opens)]
        elif self.possible("correlate"):
            rows = labelled(self.rows(values))
            cells = [[row["statistic"], *view.estimated(row)] for _, row in rows.iterrows()]
            columns = ["correlation", "estimate", view.interval_name(rows)]
            caption = f"Agreement over {rows['n'].max():,} outputs"
            side = [view.describe_table(caption, columns, cells)]
        return {"main": [view.image(self.drawings(values)[0])], "side": side}

    def rows(self, values: Values) -> pd.DataFrame:
        """Correlate the selected evaluators with judgments."""
        chosen = values.get("evaluators", [values.get("evaluator")])
        if not chosen:
            raise ValueError("No evaluator is selected: select at least one.")
        options = {"granularity": values.get("level", "output"), "dimension": values["dimension"]}
        return self.once(nb.correlate, evaluators=tuple(chosen), **options)

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Open the output nearest to a click, in the preset of disagreements."""
        if content["type"] != "at" or values["figure"] == "atlas":
            return None
        points, drawing = self.points(values), self.drawings(values)[0]
        drawing.figure.draw_without_rendering()  # sets the same layout as on the screen
        clicked = np.multiply(drawing.figure.bbox.size, [content["x"], 1 - content["y"]])
        far = np.hypot(*(drawing.axes[0].transData.transform(points.to_numpy()) - clicked).T)
        if len(far) == 0 or far.min() >= _NEAR:
            return None
        options = {"evaluator": f"{SCORE}{values['evaluator']}", "dimension": values["dimension"]}
        opened = view.jump("outputs", preset="disagree", **options)
        return opened | {"output": int(points.index[far.argmin()])}

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the scatter plot, or the figure of notebook 05b."""
        if values["figure"] == "atlas":
            return [nb.plot_atlas(self.rows(values))]
        from nlgbench.plots.figures import in_paper_style

        x, y = label(values["evaluator"]), f"mean {values['dimension']}"
        points, n = self.points(values), int((~self.once(output_table)["is_human"]).sum())
        return [in_paper_style(_scatter)(points, f"{x} score", y, n - len(points))]

    def says(self, values: Values) -> str:
        """Name the run that computed the correlations."""
        return name_run(self.rows(values)) if self.possible("correlate") else ""

    def code(self, values: Values) -> str:
        """Return the call that computes the correlations."""
        if values["figure"] != "atlas":
            return ""
        options = f"granularity={values['level']!r}, dimension={values['dimension']!r}"
        call = f"nb.correlate(study, evaluators={values['evaluators']!r}, {options})"
        return f"nb.plot_atlas({call})"


def _labels(study: Study, level: str) -> dict[str, str]:
    """Label the evaluators that scored outputs or, at the level of systems, systems."""
    tables = [study.scores, study.system_scores if level == "system" else None]
    evaluators = [scores["evaluator"] for scores in tables if scores is not None]
    return {str(name): label(str(name)) for name in pd.concat(evaluators).unique()}


def _scatter(points: pd.DataFrame, x: str, y: str, n_undefined: int) -> nb.Drawing:
    """Draw one point per output, fainter if there are many."""
    from nlgbench.plots import figures

    (ax,) = figures.axes_for(None, TWO_COLUMN, 4.2)
    alpha = float(np.clip(200 / max(1, len(points)), 0.08, 0.8))
    style: dict[str, Any] = {"s": 14, "color": ESTIMATE, "linewidth": 0, "rasterized": True}
    ax.scatter(*points.to_numpy().T, alpha=alpha, **style)
    ax.set(xlabel=x, ylabel=y)
    omitted = f"{counted(n_undefined, 'output')} omitted: undefined" if n_undefined else ""
    ax.set_title(omitted, loc="left")
    alt = f"Scatter plot of {counted(len(points), 'output')}: {y} against {x}. {omitted}".strip()
    return figures.as_drawing(ax, points, alt)
