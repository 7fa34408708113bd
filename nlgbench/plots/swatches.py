"""Captions of colors, with the probabilities that listeners assign to each color."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from colorsys import hls_to_rgb
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from nlgbench.evaluators.listeners.features import COLOR, LIMITS
from nlgbench.evaluators.names import label
from nlgbench.names import known
from nlgbench.plots.figures import Drawing, as_drawing, axes_for, in_paper_style
from nlgbench.plots.style import TWO_COLUMN
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import read_table


@in_paper_style
def plot_contexts(
    study: Study,
    beliefs: pd.DataFrame,
    *,
    outputs: Sequence[str] | None = None,
    evaluators: Sequence[str] = (),
    ax: Axes | Sequence[Axes] | None = None,
) -> Drawing:
    """Draw captions with the colors of their contexts, the target, and listeners' probabilities.

    Parameters
    ----------
    study : Study
        Its contexts need hue (0 to 360), saturation and lightness (0 to 100).
    beliefs : DataFrame
        From `nlgbench.beliefs`; listeners appear in the order of this table.
    outputs : sequence of str, optional
        Output IDs to draw, in this order. Default: all in `beliefs`.
    evaluators : sequence of str, default ()
        Evaluators whose scores follow each caption, such as those used to select it.
    ax : Axes or sequence of Axes, optional
        Where to draw, one per output; a new figure by default.

    Returns
    -------
    Drawing
        The target has a thick frame and a triangle above it. Each listener has a row of bars whose
        widths are probabilities. Its data have a row per bar.

    Raises
    ------
    ValueError
        If the contexts are not colors, or an output or evaluator is unknown.

    Examples
    --------
    >>> output = pd.DataFrame({"output_id": ["o"], "item_id": "i", "system": "s", "text": "red"})
    >>> context = pd.DataFrame({"item_id": "i", "state": ["1", "2"], "hue": [0.0, 120.0]})
    >>> context = context.assign(saturation=90.0, lightness=50.0, is_target=[True, False])
    >>> believed = context[["state", "is_target"]].assign(
    ...     output_id="o", evaluator="guess", probability=0.5
    ... )
    >>> plot_contexts(Study(output, contexts=context), believed).data["listener"].tolist()
    ['guess', 'guess']
    """
    needed = "output_id:text evaluator state:text is_target:bool probability:float"
    beliefs = read_table(beliefs, needed, "beliefs have")
    contexts = study.contexts
    if contexts is None or not set(COLOR) <= set(contexts):
        message = f"contexts of {study.name} need hue, saturation and lightness."
        raise Unsupported("no_contexts", message)
    chosen = list(dict.fromkeys(beliefs["output_id"])) if outputs is None else list(outputs)
    for name in chosen:
        known(name, beliefs["output_id"].unique().tolist(), "outputs")
    data = beliefs[beliefs["output_id"].isin(chosen)]
    # Numbers distinguish listeners of one kind; omit them if each kind has one listener.
    kinds = data["evaluator"].str.replace(r"_\d+$", "", regex=True)
    unique = kinds.nunique() == data["evaluator"].nunique()
    data = data.assign(listener=kinds if unique else data["evaluator"])
    height = 1.75 * -(-len(chosen) // 2)
    panels = axes_for(ax, TWO_COLUMN, height, n=len(chosen), columns=2)
    captions = study.outputs.set_index("output_id").loc[chosen]
    listeners = list(dict.fromkeys(data["listener"]))
    all_scores = pd.DataFrame(columns=["evaluator"]) if study.scores is None else study.scores
    scores = []
    for evaluator in evaluators:
        known(evaluator, all_scores["evaluator"].unique().tolist(), "evaluators")
        rows = all_scores[all_scores["evaluator"] == evaluator]
        text = study.labels.get(evaluator, label(evaluator))
        scores.append((text, rows.set_index("output_id")["score"]))
    for panel, (name, row) in zip(panels, captions.iterrows(), strict=True):
        context = contexts[contexts["item_id"] == row["item_id"]]
        rows = data[data["output_id"] == name]
        probabilities = rows.pivot(index="listener", columns="state", values="probability")
        probabilities = probabilities.reindex(index=listeners, columns=context["state"].tolist())
        facts = [str(row["system"])]
        facts += [f"{text} {values.get(name, np.nan):.2f}" for text, values in scores]
        caption = textwrap.shorten(f"“{row['text']}”", 50, placeholder=" …”")
        _draw_context(panel, context, probabilities, f"{caption}\n{', '.join(facts)}")
    return as_drawing(
        panels,
        data[["output_id", "state", "is_target", "listener", "probability"]],
        f"Captions ({len(chosen)}) with their colors, and probabilities from "
        f"listeners ({', '.join(listeners)}).",
        "Thick frame: the target. Bars: probabilities.",
    )


def _draw_context(ax: Axes, context: pd.DataFrame, probabilities: pd.DataFrame, title: str) -> None:
    """Draw the colors of one context above the listeners' bars."""
    for i, (color, target) in enumerate(
        zip(colors_of(context), context["is_target"].tolist(), strict=True)
    ):
        style: dict[str, Any] = {"facecolor": color, "edgecolor": "black" if target else "#999999"}
        style |= {"linewidth": 1.8 if target else 0.4, "zorder": 3 if target else 2}
        ax.add_patch(Rectangle((i + 0.05, 0.0), 0.9, 0.8, **style))
    for n, (name, row) in enumerate(probabilities.iterrows(), 1):
        bottom = -0.5 * n
        ax.text(-0.08, bottom + 0.16, str(name), ha="right", va="center", fontsize=7)
        for i, value in enumerate(row):
            frame = (i + 0.05, bottom), 0.6, 0.32
            ax.add_patch(Rectangle(*frame, facecolor="white", edgecolor="#999999", linewidth=0.4))
            text = "–"
            if not np.isnan(value):
                text = f"{value:.2f}"
                bar = Rectangle(frame[0], 0.6 * value, 0.32, facecolor="#BBBBBB", linewidth=0)
                ax.add_patch(bar)
            ax.text(i + 0.95, bottom + 0.15, text, ha="right", va="center", fontsize=7)
    ax.set_xlim(0, len(context))
    ax.set_ylim(-0.5 * len(probabilities) - 0.1, 0.85)
    ax.axis("off")
    # A caption is data: a dollar sign in it must not start a formula.
    ax.set_title(title, loc="left", fontsize=7, parse_math=False)


def colors_of(context: pd.DataFrame) -> list[tuple[float, float, float]]:
    """Convert the colors of a context to red, green and blue, 0 to 1."""
    colors = context[list(COLOR)].to_numpy(dtype=float)
    bad = ~((colors >= 0) & (colors <= LIMITS)).all(axis=1)
    if bad.any():
        raise ValueError(
            "a color needs hue (0 to 360), saturation and lightness (0 to 100); got "
            f"{colors[bad][0].tolist()}."
        )
    return [hls_to_rgb(hue / 360, light / 100, pure / 100) for hue, pure, light in colors]
