"""Contexts of three colors: as tables, and in CIELAB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.study import schema

#: Features of a color in a ``contexts`` table: degrees, percent, percent.
FEATURES = ("hue", "saturation", "lightness")

#: Colors count as near up to this difference (CIEDE2000), and parted from more than it on.
NEAR = 20.0


def context_rows(items: Sequence[str], colors: np.ndarray) -> pd.DataFrame:
    """Lay out color contexts as a ``contexts`` table, in an order that hides the target.

    Roles as an order would give answers away: in the games of Monroe et al. (2017), where exactly
    one distractor is near the target, the first always is. An order by hue says no more than
    the colors do. They do say something: the odd one out of a split context is never its target.
    """
    # lexsort takes its last key first.
    order = np.lexsort(np.moveaxis(colors[..., ::-1], -1, 0), axis=1)
    ordered = np.take_along_axis(colors, order[..., None], axis=1).reshape(-1, 3)
    rows = pd.DataFrame(
        {
            "item_id": np.repeat(np.asarray(items, dtype=object), 3),
            "state": np.tile(["c1", "c2", "c3"], len(colors)),
            "is_target": (order == 0).ravel(),
        }
    )
    rows[list(FEATURES)] = ordered
    return schema.typed(rows, "contexts")


def lab(colors: np.ndarray) -> np.ndarray:
    """Convert HSL to CIELAB (D65), in which differences are measured."""
    from skimage.color import hsv2rgb, rgb2lab

    hue, saturation, lightness = np.moveaxis(colors / (360, 100, 100), -1, 0)
    value = lightness + saturation * np.minimum(lightness, 1 - lightness)
    chroma = 2 * (1 - lightness / np.where(value > 0, value, 1)) * (value > 0)
    return rgb2lab(hsv2rgb(np.stack([hue % 1, chroma, value], axis=-1)))
