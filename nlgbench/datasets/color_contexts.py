"""Contexts of three colors: their tables, and conversion to CIELAB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.study import schema

#: Features of a color in a ``contexts`` table: degrees, percent, percent.
FEATURES = ("hue", "saturation", "lightness")

#: Colors are near up to this difference (CIEDE2000), and distant above it.
NEAR = 20.0


def context_rows(items: Sequence[str], colors: np.ndarray) -> pd.DataFrame:
    """Build a ``contexts`` table of colors, in an order that does not reveal the target.

    Colors are sorted by hue, because their order in the games of Monroe et al. (2017) is
    informative: if exactly one distractor is near the target, it is always the first. The colors
    themselves still give a hint: in a split context, the outlier is never the target.
    """
    # The last key of lexsort is the primary one.
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
    """Convert HSL to CIELAB (D65), the space of perceptual differences."""
    from skimage.color import hsv2rgb, rgb2lab

    hue, saturation, lightness = np.moveaxis(colors / (360, 100, 100), -1, 0)
    value = lightness + saturation * np.minimum(lightness, 1 - lightness)
    chroma = 2 * (1 - lightness / np.where(value > 0, value, 1)) * (value > 0)
    return rgb2lab(hsv2rgb(np.stack([hue % 1, chroma, value], axis=-1)))
