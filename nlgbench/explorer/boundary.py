"""The decision boundary of HUSE: why an output is classified as human or as a model's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.explorer import view
from nlgbench.explorer.items import truncate
from nlgbench.explorer.view import Values, View, choice
from nlgbench.plots.style import SCORE_NAMES

if TYPE_CHECKING:
    from nlgbench.analysis.huse.diagnosis import Boundary

#: The largest number of characters shown of a neighbor's text.
N_PREVIEW = 60
#: Grid points per axis. The printed figure's 200 take three times as long.
N_GRID = 120
#: The size of the figure, relative to the printed one.
_SCALE = 1.6


class BoundaryView(View):
    """Judgments against log-probabilities, over the regions of HUSE's classifier."""

    name, analysis = "boundary", "huse"
    title = "Decision boundary"
    hint = "Select a point (click it, or use the arrow keys and Enter) to see its text, its "
    hint += "judgments, and the neighbors that determine its class."

    picked, has_state = "", True

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer the arguments of `nlgbench.boundary`: system, k and the rules for ties."""
        systems = {system: self.study.label(system) for system in self.study.systems}
        outputs = self.study.outputs
        n = int(outputs["is_human"].sum() + outputs["system"].value_counts().min())
        high = max(1, min(100, n - 1))
        equal = {"exact": "if equal up to rounding", "released": "as in the released code"}
        tied = {"human": "human", "system": "model", "half": "half an error"}
        return [
            choice("system", "System", systems),
            view.control("slider", "n_neighbors", "Neighbors k", min(16, high), low=1, high=high),
            choice("ties", "Distances tie", equal),
            choice("label_ties", "Tied votes count as", tied),
        ]

    def says(self, values: Values) -> str:
        """Report the three scores."""
        boundary = self.once(nb.boundary, n_grid=N_GRID, **values)
        scores = ", ".join(f"{SCORE_NAMES[name]} {x:.2f}" for name, x in boundary.scores.items())
        return f"{boundary.label}, k = {boundary.n_neighbors}: {scores} ({boundary.source})."

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Describe the figure with its points, and the selected point."""
        picture = _draw_points(self.once(nb.boundary, n_grid=N_GRID, **values))
        detail = self.detail(values, self.picked)
        if detail is None:
            return {"main": [picture | {"picked": "", "near": []}]}
        near = detail.pop("near")
        return {"main": [picture | {"picked": self.picked, "near": near}], "side": [detail]}

    def do(self, values: Values, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Select a point."""
        if content["type"] == "pick" and isinstance(content["id"], str):
            self.picked = content["id"]
        return None

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """Describe an output: its text, its judgments, and its neighbors with their votes."""
        from nlgbench.analysis.huse import neighbors
        from nlgbench.analysis.huse.score import TOLERANCE, compare

        outputs = self.once(nb.boundary, n_grid=N_GRID, **values).outputs
        rows = np.flatnonzero(outputs["output_id"] == picked)
        if not len(rows):
            return None
        row = int(rows[0])
        output = outputs.iloc[row]
        # `compare` lists outputs in the same order as `boundary`.
        compared = self.once(compare, **values)
        options = {"tolerance": TOLERANCE[compared.ties]}
        near, distance = neighbors.nearest_to(compared.points, row, compared.n_neighbors, **options)
        texts = self.study.outputs.set_index("output_id")
        text = texts.loc[picked]
        judged = compared.judged[compared.judged["output_id"] == picked]
        judgments = [f"{row.annotator_id}\xa0{row.value:zg}" for row in judged.itertuples()]
        nearest = outputs.iloc[near]
        who = ["human" if is_human else "model" for is_human in nearest["is_human"]]
        previews = [truncate(text, N_PREVIEW) for text in texts["text"][nearest["output_id"]]]
        listed = zip(who, (f"{d:.2f}" for d in distance), previews, strict=True)
        columns, kinds = ["class", "distance", "text"], ["", "number", ""]
        says = [
            f"Mean judgment: {view.written(output['judgment'])} (n = {len(judged)}). "
            f"Log-probability per token: {view.written(output['logprob_per_token'])} nats.",
            f"Judgments: {', '.join(judgments)}.",
            _explain_class(output, outputs, near),
        ]
        if text["context"]:
            says.insert(0, f"Context: {truncate(text['context'])}")
        wrote = "human" if output["is_human"] else self.study.label(output["system"])
        return {
            "type": "told",
            "title": f"{view.clean(picked)}: {view.clean(wrote)}",
            "says": says,
            "text": truncate(text["text"]) or "(the study does not contain this text)",
            "table": view.describe_table(
                "Nearest neighbors, closest first", columns, listed, kinds=kinds
            ),
            "near": nearest["output_id"].tolist(),
        }

    def drawings(self, values: Values) -> list[nb.Drawing]:
        """Draw the figure of notebook 02."""
        return [nb.plot_boundary(nb.boundary(self.study, **values))]

    def code(self, values: Values) -> str:
        """Return the call that draws the figure."""
        return f"nb.plot_boundary(nb.boundary(study, {view.keywords(values)}))"


@lru_cache(maxsize=8)
def _draw_points(boundary: Boundary) -> dict[str, Any]:
    """Describe the printed figure, and where its points are, from left to right."""
    drawing = nb.plot_boundary(boundary)
    content = view.image(drawing, scale=_SCALE)
    outputs = boundary.outputs.sort_values(["logprob_per_token", "judgment"])
    x_y = outputs[["logprob_per_token", "judgment"]].to_numpy()
    shares = drawing.axes[0].transData.transform(x_y) / drawing.figure.bbox.size
    rows = zip(shares.tolist(), outputs.iterrows(), strict=True)
    points = [
        {"id": row["output_id"], "x": x, "y": 1 - y, "name": _describe_point(row)}
        for (x, y), (_, row) in rows
    ]
    return content | {"points": points}


def _describe_point(row: pd.Series) -> str:
    who = "human reference" if row["is_human"] else "model output"
    predicted = row["predicted_human_huse"]
    classification = "undecided" if predicted is pd.NA else "human" if predicted else "model"
    return (
        f"{who} {row['output_id']}, judgment {row['judgment']:.2f}, log-probability "
        f"{row['logprob_per_token']:.2f}, classified as {classification}"
    )


def _explain_class(output: pd.Series, outputs: pd.DataFrame, neighbors: np.ndarray) -> str:
    """Report how an output is classified, and how its neighbors voted."""
    n_human = int(outputs["is_human"].iloc[neighbors].sum())
    n_model = len(neighbors) - n_human
    predicted, share = output["predicted_human_huse"], output["machine_share_huse"]
    if predicted is pd.NA:
        verdict = "Undecided, because the votes are tied"
    else:
        verdict = "Correctly" if bool(predicted) == bool(output["is_human"]) else "Incorrectly"
        verdict += f" classified as {'human' if predicted else 'model'}"
        verdict += " by the rule for tied votes" if share == 0.5 else ""
    votes = f"Votes of its neighbors: {n_human} human, {n_model} model"
    if 2 * outputs["is_human"].sum() != len(outputs):  # votes are weighted if class sizes differ
        votes += f" (weighted by inverse class size, the model's share is {share:.2f})"
    return f"{verdict}. {votes}."
