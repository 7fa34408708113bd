"""The decision boundary of HUSE: why an output is classified as human or as a model's."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.explorer import view
from nlgbench.explorer.items import truncate
from nlgbench.explorer.view import Values, View, choice
from nlgbench.plots.style import HUMAN, SCORE_NAMES, SYSTEM

#: Colors of human, undecided and model regions; pale, so that points stay visible.
SHADES = ("#86B6DA", "#FFFFFF", "#FAD3B4")
#: The largest number of characters shown of a neighbor's text.
N_PREVIEW = 60
#: Grid points per axis. On the screen, 80 look as smooth as the printed figure's 200, and they take
#: a quarter of the time.
N_GRID = 80
_LOOKS: tuple[dict[str, Any], ...] = (
    {"label": "human reference", "shape": "s", "color": HUMAN, "filled": True},
    {"label": "model output", "shape": "o", "color": SYSTEM, "filled": False},
)


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

    def picture(self, values: Values) -> dict[str, Any]:
        """Describe the points, over a map of the neighbors' votes."""
        from contourpy import contour_generator  # here, so that the explorer opens without it

        boundary = self.once(nb.boundary, n_grid=N_GRID, **values)
        x, y = boundary.grid.columns.to_numpy(), boundary.grid.index.to_numpy()
        share = boundary.grid.to_numpy()
        lines: Any = contour_generator(x, y, share).lines(0.5)
        points = []
        for style in _LOOKS:
            rows = boundary.outputs[boundary.outputs["is_human"] == style["filled"]]
            x_y = {"x": rows["logprob_per_token"].tolist(), "y": rows["judgment"].tolist()}
            names = [_describe_point(row) for _, row in rows.iterrows()]
            points.append({**style, "ids": rows["output_id"].tolist(), "names": names} | x_y)
        boxes = [
            {"label": "classified human", "box": SHADES[0]},
            {"label": "classified model", "box": SHADES[2]},
        ]
        return {
            "type": "picture",
            "picked": self.picked,
            "title": f"HUSE = {boundary.scores['huse']:.2f} ({boundary.label})",
            "alt": self.says(values),
            "x": axis(x[0], x[-1], "Log-probability per token (nats)"),
            "y": axis(y[0], y[-1], "Mean human judgment"),
            "top": _histograms(boundary.outputs, x),
            "map": {"href": _shade(share), "x": _edges(x), "y": _edges(y)},
            "lines": [line.tolist() for line in lines],
            "points": points,
            "legend": [*_LOOKS, *boxes],
        }

    def says(self, values: Values) -> str:
        """Report the three scores."""
        boundary = self.once(nb.boundary, n_grid=N_GRID, **values)
        scores = ", ".join(f"{SCORE_NAMES[name]} {x:.2f}" for name, x in boundary.scores.items())
        return f"{boundary.label}, k = {boundary.n_neighbors}: {scores} ({boundary.source})."

    def parts(self, values: Values) -> dict[str, list[dict[str, Any]]]:
        """Describe the picture and the selected point."""
        detail, picture = self.detail(values, self.picked), self.picture(values)
        if detail is None:
            return {"main": [picture]}
        return {"main": [picture | {"near": detail.pop("near")}], "side": [detail]}

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


def _shade(shares: np.ndarray) -> str:
    """Return an image of the model's shares of votes, as a data URL."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.image import imsave

    buffer, colors = io.BytesIO(), LinearSegmentedColormap.from_list("shares", SHADES)
    imsave(buffer, shares, cmap=colors, vmin=0, vmax=1, origin="lower", format="png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _edges(centers: np.ndarray) -> list[float]:
    half = (centers[1] - centers[0]) / 2
    return [float(centers[0] - half), float(centers[-1] + half)]


def axis(low: float, high: float, label: str) -> dict[str, Any]:
    """Describe a numeric axis, with the ticks that Matplotlib would choose."""
    from matplotlib.ticker import MaxNLocator

    if not high > low:
        low, high = low - 0.5, high + 0.5
    ticks = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    inside = [float(tick) for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]
    labels = [f"{tick:,.6g}".replace("-", "−") for tick in np.round(inside, 9) + 0.0]
    return {"limits": [float(low), float(high)], "label": label, "ticks": inside, "labels": labels}


def _histograms(outputs: pd.DataFrame, x: np.ndarray) -> list[dict[str, Any]]:
    edges = np.linspace(x[0], x[-1], 25)
    histograms = []
    for style in _LOOKS:
        values = outputs.loc[outputs["is_human"] == style["filled"], "logprob_per_token"]
        counts = np.histogram(values, edges)[0].tolist()
        histograms.append({**style, "edges": edges.tolist(), "counts": counts})
    return histograms


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
