"""Contexts of three colors: their tables, and differences of colors in CIELAB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.study import schema

#: Features of a color in a ``contexts`` table: degrees, percent, percent.
FEATURES = ("hue", "saturation", "lightness")

#: Colors are near up to this difference (CIEDE2000), and distant above it.
NEAR = 20.0

_XYZ_FROM_RGB = (
    (0.412453, 0.35758, 0.180423),
    (0.212671, 0.71516, 0.072169),
    (0.019334, 0.119193, 0.950227),
)
_WHITE = (0.95047, 1.0, 1.08883)


def context_rows(items: Sequence[str], colors: np.ndarray) -> pd.DataFrame:
    """Build a ``contexts`` table of colors, in an order that does not reveal the target.

    Colors are sorted by hue, because in the games of Monroe et al. (2017) the only distractor that
    is near the target always comes first.
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


def hsl_to_rgb(hsl: np.ndarray) -> np.ndarray:
    """Convert degrees and percent of HSL to RGB from 0 to 1."""
    hue, saturation, lightness = np.moveaxis(hsl / (30, 100, 100), -1, 0)
    chroma = saturation * np.minimum(lightness, 1 - lightness)
    steps = (hue[..., None] + (0, 8, 4)) % 12
    ramp = np.clip(np.minimum(steps - 3, 9 - steps), -1, 1)
    return lightness[..., None] - chroma[..., None] * ramp


def hsl_to_lab(hsl: np.ndarray) -> np.ndarray:
    """Convert degrees and percent of HSL to CIELAB, the space of perceptual differences."""
    return rgb_to_lab(hsl_to_rgb(hsl))


def rgb_to_lab(rgb: np.ndarray) -> np.ndarray:
    """Convert sRGB (IEC 61966-2-1) to CIELAB under the illuminant D65, observed at 2 degrees."""
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    xyz = linear @ np.transpose(_XYZ_FROM_RGB) / _WHITE
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def color_difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Compute CIEDE2000 of CIELAB colors (Sharma et al., 2005)."""
    (light_1, a_1, b_1), (light_2, a_2, b_2) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    gray = (np.hypot(a_1, b_1) + np.hypot(a_2, b_2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(gray**7 / (gray**7 + 25**7))
    chroma_1, chroma_2 = np.hypot(stretch * a_1, b_1), np.hypot(stretch * a_2, b_2)
    hue_1, hue_2 = np.arctan2(b_1, stretch * a_1), np.arctan2(b_2, stretch * a_2)
    # The shorter way around the circle, and the hue in the middle of that way.
    turn = hue_2 - hue_1 - 2 * np.pi * np.round((hue_2 - hue_1) / (2 * np.pi))
    hue = (hue_1 + turn / 2) % (2 * np.pi)
    light, chroma = (light_1 + light_2) / 2 - 50, (chroma_1 + chroma_2) / 2
    weight = 1 - 0.17 * np.cos(hue - np.deg2rad(30)) + 0.24 * np.cos(2 * hue)
    weight += 0.32 * np.cos(3 * hue + np.deg2rad(6)) - 0.20 * np.cos(4 * hue - np.deg2rad(63))
    by_light = (light_2 - light_1) / (1 + 0.015 * light**2 / np.sqrt(20 + light**2))
    by_chroma = (chroma_2 - chroma_1) / (1 + 0.045 * chroma)
    by_hue = 2 * np.sqrt(chroma_1 * chroma_2) * np.sin(turn / 2) / (1 + 0.015 * chroma * weight)
    blue = np.deg2rad(60) * np.exp(-(((np.rad2deg(hue) - 275) / 25) ** 2))
    rotation = -2 * np.sqrt(chroma**7 / (chroma**7 + 25**7)) * np.sin(blue)
    squares = by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue
    return np.sqrt(np.maximum(squares, 0))
