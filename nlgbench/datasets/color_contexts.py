"""Contexts of three colors: as tables, in CIELAB, and by how near the colors are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench import schema

#: Features of a color in a ``contexts`` table: degrees, percent, percent.
FEATURES = ("hue", "saturation", "lightness")

#: Colors count as near up to this difference (CIEDE2000), and parted from more than it on.
NEAR = 20.0

#: The greatest value of each feature; the least is 0.
LIMITS = np.array([360.0, 100.0, 100.0])


def context_rows(
    items: Sequence[str], colors: np.ndarray, *, source: Path | None = None
) -> pd.DataFrame:
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
    return schema.check(rows, "contexts", source=source)


def lab(colors: np.ndarray) -> np.ndarray:
    """Convert HSL to CIELAB (D65), in which differences are measured."""
    from skimage.color import hsv2rgb, rgb2lab

    colors = np.asarray(colors, dtype=float)
    bad = ~((colors >= 0) & (colors <= LIMITS)).all(axis=-1)
    if bad.any():
        raise ValueError(
            f"a color must be hue (0 to 360), saturation and lightness (0 to 100); got "
            f"{colors[bad][0].tolist()}. Multiply fractions by 360, 100 and 100."
        )
    hue, saturation, lightness = np.moveaxis(colors / LIMITS, -1, 0)
    value = lightness + saturation * np.minimum(lightness, 1 - lightness)
    chroma = 2 * (1 - lightness / np.where(value > 0, value, 1)) * (value > 0)
    return rgb2lab(hsv2rgb(np.stack([hue % 1, chroma, value], axis=-1)))


def differences(colors: np.ndarray) -> np.ndarray:
    """Measure how far the three colors of contexts lie apart."""
    from skimage.color import deltaE_ciede2000

    found = lab(colors)
    return np.stack(
        [deltaE_ciede2000(found[:, a], found[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))], axis=1
    )


def conditions(contexts: pd.DataFrame) -> pd.DataFrame:
    """Tell from its colors how hard each context is.

    Monroe et al. (2017), section 3. Their differences were rounded, and made by another program: on
    their rounds 99.8% of these conditions are those that the file states.
    """
    rows = contexts.sort_values(["item_id", "is_target"], ascending=[True, False])
    sizes = rows.groupby("item_id")["is_target"].agg(["size", "sum"])
    bad = (sizes["size"] != 3) | (sizes["sum"] != 1)
    if bad.any():
        raise ValueError(
            f"item {sizes.index[bad][0]} has {sizes['size'][bad].iloc[0]} colors, "
            f"{sizes['sum'][bad].iloc[0]} of them targets; a condition needs three and one."
        )
    near = differences(rows[list(FEATURES)].to_numpy().reshape(-1, 3, 3)) <= NEAR
    condition = np.select(
        [near.all(axis=1), ~near.any(axis=1), near[:, :2].sum(axis=1) == 1],
        ["close", "far", "split"],
        default="other",
    )
    found = sizes.reset_index()[["item_id"]]
    return found.assign(condition=pd.Series(condition, dtype="str"))
