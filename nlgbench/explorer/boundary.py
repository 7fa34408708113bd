"""The decision boundary behind a HUSE: why an output is taken for a person's or a model's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from contourpy import contour_generator

from nlgbench.analysis.huse import Boundary, boundary, neighbors
from nlgbench.analysis.huse.score import TOLERANCE, compare
from nlgbench.explorer.view import Values, View, axis, choice, segment, slider, told, written
from nlgbench.plots.boundary import plot_boundary
from nlgbench.plots.figures import Drawing
from nlgbench.plots.style import HUMAN, SCORE_NAMES, SYSTEM
from nlgbench.study import Study

#: Human, undecided, model: pale, so that points read on them (as in `plot_boundary`).
SHADES = ("#86B6DA", "#FFFFFF", "#FAD3B4")
#: Points of the grid along an axis: on the screen as smooth as the figure's 200, in a quarter of
#: the time.
N_GRID = 80
_TEMPERATURE = re.compile(r"(?:(?P<family>.+?)[ _])?t(?P<value>\d[\d.]*)")


class BoundaryView(View):
    """Judgment against log-probability, over the classifier whose error is HUSE."""

    name = "boundary"
    title = "Decision boundary"
    hint = "Pick a point, by a click or by arrow keys and Enter, to read its text, its judgments "
    hint += "and why it was classified so."
    needs = ("huse",)

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.compared = lru_cache(maxsize=32)(self._compared)
        self.found = lru_cache(maxsize=64)(self._found)

    def _compared(self, **options: Any) -> Any:
        return compare(self.study, **options)

    def _found(self, **options: Any) -> Boundary:
        return boundary(self.study, n_grid=N_GRID, **options)

    def systems(self) -> dict[tuple[str, str], str]:
        """Give systems by family and temperature; both are in a name such as lstm_t0.7."""
        families = {}
        for system in self.study.systems:
            found = _TEMPERATURE.fullmatch(system)
            family, value = (found["family"] or "", found["value"]) if found else (system, "")
            families[family, value] = system
        return families

    def controls(self, values: Values) -> list[dict[str, Any]]:
        """Offer system, temperature where names have one, k and the rules for ties."""
        there = self.systems()
        families = list(dict.fromkeys(family for family, _ in there))
        family = values.get("system")
        family = family if family in families else families[0]
        labels = {one: self.study.label(one) if one else "system" for one in families}
        controls = [choice("system", "System", labels)]
        temperatures = [value for one, value in there if one == family]
        if temperatures != [""]:
            named = {one: one or "none" for one in temperatures}
            controls.append(choice("temperature", "Temperature", named))
        outputs = self.study.outputs
        fewest = outputs["system"].value_counts().min() + 1 if len(outputs) else 2
        n = int(outputs["is_human"].sum() + fewest - 1)
        equal = {"exact": "equal distances count as equal", "released": "raw floats, as released"}
        tied = {"human": "say human", "system": "say model", "half": "are half an error"}
        return [
            *controls,
            slider("n_neighbors", "Neighbors k", 16, 1, max(1, min(100, n - 1))),
            choice("ties", "Tied distances", equal),
            choice("label_ties", "Tied votes", tied),
        ]

    def options(self, values: Values) -> dict[str, Any]:
        """Give the keywords of `nlgbench.boundary`."""
        system = self.systems()[values["system"], values.get("temperature", "")]
        return {"system": system, **{name: values[name] for name in list(values) if name in _KEYS}}

    def picture(self, values: Values) -> dict[str, Any]:
        """Lay out points over the classifier's share."""
        found = self.found(**self.options(values))
        x, y = found.grid.columns.to_numpy(), found.grid.index.to_numpy()
        share = found.grid.to_numpy()
        raster = {"type": "raster", "size": [len(x), len(y)], "colors": list(SHADES)}
        # A cell of the grid has its point in the middle.
        raster |= {
            "x": _edges(x),
            "y": _edges(y),
            "shares": np.uint8(np.rint(254 * share)).tobytes(),
        }
        lines: list[Any] = []
        if share.min() < 0.5 < share.max():
            lines = list(contour_generator(x, y, share).lines(0.5))
        marks = [raster]
        for line in lines:
            marks.append(segment(line[:, 0], line[:, 1], color="#444444", width=1))
        looks = _looks()
        for is_human, look in ((True, looks[0]), (False, looks[1])):
            rows = found.outputs[found.outputs["is_human"] == is_human]
            marks.append(
                {key: value for key, value in look.items() if key != "label"}
                | {
                    "type": "points",
                    "x": rows["logprob_per_token"].tolist(),
                    "y": rows["judgment"].tolist(),
                    "ids": rows["output_id"].tolist(),
                    "names": [_name(row) for row in rows.to_dict("records")],
                }
            )
        boxes = [
            {"label": "classified human", "box": SHADES[0]},
            {"label": "classified model", "box": SHADES[2]},
        ]
        return {
            "title": f"HUSE = {found.scores['huse']:.2f} ({found.label})",
            "alt": self.says(values),
            "x": axis(x[0], x[-1], "Log-probability per token (nats)"),
            "y": axis(y[0], y[-1], "Mean human judgment"),
            "top": _histograms(found.outputs, x),
            "marks": marks,
            "legend": [*looks, *boxes],
        }

    def says(self, values: Values) -> str:
        """Say the three scores."""
        found = self.found(**self.options(values))
        told = ", ".join(f"{SCORE_NAMES[name]} {value:.2f}" for name, value in found.scores.items())
        return f"{found.label}, k = {found.n_neighbors}: {told} ({found.source})."

    def detail(self, values: Values, picked: str) -> dict[str, Any] | None:
        """Show a text, its judgments, its neighbors and how they voted."""
        options = self.options(values)
        outputs = self.found(**options).outputs
        rows = np.flatnonzero(outputs["output_id"] == picked)
        if not len(rows):
            return None
        row = int(rows[0])
        one = outputs.iloc[row]
        # `compare` lists outputs as `boundary` does.
        compared = self.compared(**options)
        tolerance = TOLERANCE[compared.ties]
        near, distance = neighbors.nearest_to(
            compared.points, row, compared.n_neighbors, tolerance=tolerance
        )
        text = self.study.outputs.set_index("output_id").loc[picked]
        judged = compared.judged[compared.judged["output_id"] == picked]
        judgments = [f"{row.annotator_id} {row.value:g}" for row in judged.itertuples()]
        texts = self.study.outputs.set_index("output_id")["text"]
        listed = [
            [
                "human" if outputs["is_human"].iloc[at] else "model",
                f"{far:.2f}",
                _cut(str(texts[outputs["output_id"].iloc[at]])),
            ]
            for at, far in zip(near, distance, strict=True)
        ]
        says = [
            f"Mean judgment {written(one['judgment'])} of {len(judged)}; log-probability per token "
            f"{written(one['logprob_per_token'])} nats.",
            f"Judgments: {', '.join(judgments)}.",
            _why(one, outputs, near),
        ]
        if text["context"]:
            says.insert(0, f"Context: {text['context']}")
        title = f"{picked}: {'human' if one['is_human'] else self.study.label(one['system'])}"
        columns = ["who", "distance", "text"]
        return {
            **told(picked, title, says, "Neighbors, the nearest first", columns, listed),
            "near": outputs["output_id"].iloc[near].tolist(),
            "text": str(text["text"]) or "(the study has no text of it)",
        }

    def drawing(self, values: Values) -> Drawing:
        """Draw it as notebook 02 does."""
        return plot_boundary(boundary(self.study, **self.options(values)))

    def code(self, values: Values) -> list[str]:
        """Write its two calls."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.options(values).items())
        return [f"found = nb.boundary(study, {given})", "drawn = nb.plot_boundary(found)"]


_KEYS = ("n_neighbors", "ties", "label_ties")


def _looks() -> list[dict[str, Any]]:
    return [
        {"label": "human reference", "shape": "s", "color": HUMAN, "filled": True},
        {"label": "model output", "shape": "o", "color": SYSTEM, "filled": False},
    ]


def _edges(centers: np.ndarray) -> list[float]:
    half = (centers[1] - centers[0]) / 2
    return [float(centers[0] - half), float(centers[-1] + half)]


def _histograms(outputs: pd.DataFrame, x: np.ndarray) -> list[dict[str, Any]]:
    edges = np.linspace(x[0], x[-1], 25)
    made = []
    for is_human, color in ((True, HUMAN), (False, SYSTEM)):
        values = outputs.loc[outputs["is_human"] == is_human, "logprob_per_token"]
        counts = np.histogram(values, edges)[0].tolist()
        made.append({"edges": edges.tolist(), "counts": counts, "color": color, "filled": is_human})
    return made


def _name(row: dict[Any, Any]) -> str:
    who = "human reference" if row["is_human"] else "model output"
    predicted = row["predicted_human_huse"]
    said = "undecided" if predicted is pd.NA else "human" if predicted else "model"
    return (
        f"{who} {row['output_id']}, judgment {row['judgment']:.2f}, log-probability "
        f"{row['logprob_per_token']:.2f}, classified as {said}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def _why(one: pd.Series, outputs: pd.DataFrame, near: np.ndarray) -> str:
    """Say how the neighbors of an output voted, and what that makes of it."""
    n_human = int(outputs["is_human"].iloc[near].sum())
    n_model = len(near) - n_human
    predicted, share = one["predicted_human_huse"], one["machine_share_huse"]
    if predicted is pd.NA:
        said = "left undecided, as its votes are tied"
    else:
        said = f"classified as {'human' if predicted else 'model'}"
        said += " by the rule for tied votes" if share == 0.5 else ""
        said += ", which it is" if bool(predicted) == bool(one["is_human"]) else ", wrongly"
    votes = f"{n_human} of its {len(near)} neighbors are human and {n_model} a model's"
    if 2 * outputs["is_human"].sum() != len(outputs):  # classes of other sizes: votes weigh unlike
        votes += f" (by the inverse of their classes' sizes the model's share is {share:.2f})"
    return f"It is {said}: {votes}."
