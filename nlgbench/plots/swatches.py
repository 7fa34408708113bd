"""Contexts of colors with what listeners make of a caption (Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from nlgbench.plots.columns import require_columns

_COLUMNS = ("state", "is_target", "hue", "saturation", "lightness")


def plot_context(
    context: pd.DataFrame,
    caption: str = "",
    *,
    probabilities: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
    note: str = "",
    **patch_kws: Any,
) -> Axes:
    """Draw the colors of a context, its target, and each listener's probabilities.

    Parameters
    ----------
    context : DataFrame
        Rows of a ``contexts`` table: ``state``, ``is_target``, ``hue`` (0 to 360), ``saturation``
        and ``lightness`` (0 to 100). Swatches are in its order.
    caption : str
        Written above, in quotes.
    probabilities : mapping of str to sequence of float, optional
        Listener -> probability of each state, in the order of `context`. Each is a row of bars
        under the swatches, as wide as it is probable, with its number. NaN is written as a dash.
    ax : Axes, optional
        Where to draw; the current axes by default.
    note : str
        Written after the caption, such as its quality.
    **patch_kws
        Handed to the swatches' `matplotlib.patches.Rectangle`.

    Returns
    -------
    Axes
        Without frame and ticks. The target has a thick frame and a triangle above it, so that it
        can be told without color.

    Raises
    ------
    ValueError
        If a column is missing, a color is out of range, the target is not one, or a listener has
        another number of probabilities, or one that is none.
    """
    require_columns(context, _COLUMNS, "context has")
    if context["is_target"].sum() != 1:
        raise ValueError(f"context has {context['is_target'].sum()} targets: mark exactly one.")
    listeners = {name: np.asarray(row, float) for name, row in (probabilities or {}).items()}
    for name, row in listeners.items():
        if len(row) != len(context) or not (np.isnan(row) | ((row >= 0) & (row <= 1))).all():
            raise ValueError(
                f"probabilities of {name!r} must be {len(context)} numbers between 0 and 1, one "
                f"for each state; got {row.tolist()}."
            )
    ax = plt.gca() if ax is None else ax
    for place, (color, target) in enumerate(
        zip(_rgb(context), context["is_target"].tolist(), strict=True)
    ):
        look: dict[str, Any] = {"facecolor": color, "edgecolor": "black" if target else "#999999"}
        look |= {"linewidth": 1.8 if target else 0.4, "zorder": 3 if target else 2, **patch_kws}
        ax.add_patch(Rectangle((place + 0.05, 0.0), 0.9, 0.8, **look))
        if target:
            ax.plot(place + 0.5, 0.96, marker="v", color="black", markersize=4, clip_on=False)
    for n, (name, row) in enumerate(listeners.items(), 1):
        bottom = -0.5 * n
        ax.text(-0.08, bottom + 0.16, name, ha="right", va="center", fontsize=6.5)
        for place, value in enumerate(row):
            frame = (place + 0.05, bottom), 0.9, 0.32
            ax.add_patch(Rectangle(*frame, facecolor="white", edgecolor="#999999", linewidth=0.4))
            if np.isnan(value):
                ax.text(place + 0.5, bottom + 0.15, "–", ha="center", va="center", fontsize=6.5)
                continue
            ax.add_patch(Rectangle(frame[0], 0.9 * value, 0.32, facecolor="#BBBBBB", linewidth=0))
            text = f"{value:.2f}"
            ax.text(place + 0.5, bottom + 0.15, text, ha="center", va="center", fontsize=6.5)
    ax.set_xlim(0, len(context))
    ax.set_ylim(-0.5 * len(listeners) - 0.1, 1.05)
    ax.axis("off")
    words = " ".join(part for part in (f"“{caption}”" if caption else "", note) if part)
    # A caption is data: a dollar sign in it starts no formula.
    ax.set_title(words, loc="left", fontsize=7, parse_math=False)
    return ax


def _rgb(context: pd.DataFrame) -> list[tuple[float, float, float]]:
    from colorsys import hls_to_rgb

    colors = context[["hue", "saturation", "lightness"]].to_numpy(dtype=float)
    bad = ~((colors >= 0) & (colors <= (360, 100, 100))).all(axis=1)
    if bad.any():
        raise ValueError(
            "a color must be hue (0 to 360), saturation and lightness (0 to 100); got "
            f"{colors[bad][0].tolist()}."
        )
    return [hls_to_rgb(hue / 360, light / 100, dull / 100) for hue, dull, light in colors]


def plot_contexts(
    contexts: pd.DataFrame,
    captions: pd.DataFrame,
    probabilities: pd.DataFrame,
    *,
    axes: Sequence[Axes] | np.ndarray | None = None,
    n_columns: int = 2,
    **patch_kws: Any,
) -> list[Axes]:
    """Draw several captions with their contexts, one to a panel.

    Parameters
    ----------
    contexts : DataFrame
        A ``contexts`` table of colors.
    captions : DataFrame
        Panels in its order: ``output_id``, ``item_id``, ``text``; optional ``system``, written
        behind the text.
    probabilities : DataFrame
        ``output_id``, ``state``, ``listener``, ``probability``; listeners in order of appearance.
    axes : sequence of Axes, optional
        At least one for each caption; without them, panels in the current figure, which must be
        empty.
    n_columns : int
        Panels beside each other, where `axes` is not given.
    **patch_kws
        As in `plot_context`.

    Returns
    -------
    list of Axes
        One for each caption; what is left over is switched off.

    Raises
    ------
    ValueError
        As `plot_context`, or if a caption has no context, axes are too few, or a listener has two
        probabilities for one state.
    """
    require_columns(contexts, ("item_id", *_COLUMNS), "contexts have")
    require_columns(captions, ("output_id", "item_id", "text"), "captions have")
    wanted = ("output_id", "state", "listener", "probability")
    require_columns(probabilities, wanted, "probabilities have")
    if probabilities.duplicated(list(wanted[:3])).any():
        raise ValueError("probabilities have two of one listener for one state: keep one.")
    if axes is None:
        n_rows = -(-len(captions) // n_columns)
        axes = plt.gcf().subplots(n_rows, n_columns, squeeze=False)
    panels: list[Axes] = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(panels) < len(captions):
        raise ValueError(f"{len(captions)} captions need as many axes, not {len(panels)}.")
    listeners = list(dict.fromkeys(probabilities["listener"]))
    for panel, (_, row) in zip(panels, captions.iterrows(), strict=False):
        context = contexts[contexts["item_id"] == row["item_id"]]
        if context.empty:
            raise ValueError(f"contexts have no item {row['item_id']!r}: hand over its rows, too.")
        own = probabilities[probabilities["output_id"] == row["output_id"]]
        found = own.pivot(index="listener", columns="state", values="probability")
        found = found.reindex(index=listeners, columns=context["state"].tolist())
        plot_context(
            context,
            row["text"],
            probabilities={str(name): values.tolist() for name, values in found.T.items()},
            ax=panel,
            note=f"({row['system']})" if "system" in captions else "",
            **patch_kws,
        )
    for panel in panels[len(captions) :]:
        panel.axis("off")
    return panels[: len(captions)]
