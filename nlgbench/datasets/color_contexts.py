"""Contexts of three colors: as tables, in CIELAB, and by how near the colors are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench import tables

#: Features of a color in a ``contexts`` table: degrees, percent, percent.
FEATURES = ("hue", "saturation", "lightness")

#: Colors count as near up to this difference (CIEDE2000), and parted from more than it on.
NEAR = 20.0

#: The greatest value of each feature; the least is 0.
LIMITS = np.array([360.0, 100.0, 100.0])


def context_rows(
    dataset: str, items: Sequence[str], colors: np.ndarray, *, source: Path | None = None
) -> pd.DataFrame:
    """Lay out color contexts as a ``contexts`` table, in an order that hides the target.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    items : sequence of str, length n
        One id per context.
    colors : ndarray, shape (n, 3, 3)
        Target first, then its distractors; hue (0 to 360), saturation and lightness (0 to 100).
    source : Path, optional
        Where they came from, for messages.

    Returns
    -------
    DataFrame
        Three rows per context. States are ``c1`` to ``c3`` by hue, then saturation, then lightness:
        contexts of the same colors have the same states, whatever their target.

    Raises
    ------
    TableError
        If an item stands twice.

    Notes
    -----
    Roles as an order would give answers away: in the games of Monroe et al. (2017), where exactly
    one distractor is near the target, the first always is. An order by hue says no more than
    the colors do. They do say something: the odd one out of a split context is never its target.

    Examples
    --------
    >>> rows = context_rows("d", ["i"], np.array([[[240, 50, 50], [0, 90, 50], [120, 50, 50]]]))
    >>> rows[["state", "is_target", "hue"]].to_numpy().tolist()
    [['c1', False, 0.0], ['c2', False, 120.0], ['c3', True, 240.0]]
    """
    # lexsort takes its last key first.
    order = np.lexsort(np.moveaxis(colors[..., ::-1], -1, 0), axis=1)
    ordered = np.take_along_axis(colors, order[..., None], axis=1).reshape(-1, 3)
    rows = pd.DataFrame(
        {
            "dataset": dataset,
            "item_id": np.repeat(np.asarray(items, dtype=object), 3),
            "state": np.tile(["c1", "c2", "c3"], len(colors)),
            "is_target": (order == 0).ravel(),
        }
    )
    rows[list(FEATURES)] = ordered
    return tables.check(rows, "contexts", source=source)


def lab(colors: np.ndarray) -> np.ndarray:
    """Convert HSL to CIELAB (D65), in which differences are measured.

    Parameters
    ----------
    colors : ndarray, shape (..., 3)
        Hue (0 to 360), saturation and lightness (0 to 100), of sRGB.

    Returns
    -------
    ndarray, shape (..., 3)
        L* (0 to 100), a* and b*.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> lab(np.array([0.0, 100.0, 50.0])).round(1).tolist()  # pure red
    [53.2, 80.1, 67.2]
    """
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
    """Measure how far the three colors of contexts lie apart.

    Parameters
    ----------
    colors : ndarray, shape (n, 3, 3)
        Hue, saturation and lightness of three colors.

    Returns
    -------
    ndarray, shape (n, 3)
        CIEDE2000 of the first and second, first and third, second and third color. (Sharma, Wu and
        Dalal 2005, doi:10.1002/col.20070.)

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> differences(np.array([[[0, 0, 50], [0, 0, 50], [0, 0, 100]]])).round(1).tolist()
    [[0.0, 33.4, 33.4]]
    """
    from skimage.color import deltaE_ciede2000

    found = lab(colors)
    return np.stack(
        [deltaE_ciede2000(found[:, a], found[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))], axis=1
    )


def conditions(contexts: pd.DataFrame) -> pd.DataFrame:
    """Tell from its colors how hard each context is.

    Parameters
    ----------
    contexts : DataFrame
        A ``contexts`` table of three colors per item.

    Returns
    -------
    DataFrame
        ``dataset``, ``item_id``, ``condition``: ``close`` where no two colors differ by more than
        `NEAR` in CIEDE2000, ``far`` where all do, ``split`` where exactly one distractor is within
        it of the target, ``other`` where none of these holds (both distractors are, but they differ
        by more; or neither is, but they are near each other).

    Raises
    ------
    ValueError
        If an item has not three colors and one target, or a color is out of range.

    Notes
    -----
    Monroe et al. (2017), section 3. Their differences were rounded, and made by another program: on
    their rounds 99.8% of these conditions are those that the file states.

    Examples
    --------
    >>> colors = np.array([[[240, 90, 50], [242, 90, 50], [120, 90, 50]]])
    >>> conditions(context_rows("d", ["i"], colors))["condition"].tolist()
    ['split']
    """
    rows = contexts.sort_values(["dataset", "item_id", "is_target"], ascending=[True, True, False])
    sizes = rows.groupby(["dataset", "item_id"])["is_target"].agg(["size", "sum"])
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
    found = sizes.reset_index()[["dataset", "item_id"]]
    return found.assign(condition=pd.Series(condition, dtype="str"))
