"""Colors as numbers that a network can tell apart: Fourier features of HSL."""

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Columns of a ``contexts`` table that hold a color, and the greatest value of each.
COLOR = ("hue", "saturation", "lightness")
LIMITS = (360.0, 100.0, 100.0)
SPACES = ("hsv", "rgb")

_FREQUENCIES = np.array(list(product(range(3), repeat=3)), dtype=np.float64)


def fourier_features(colors: ArrayLike, *, space: str = "hsv") -> Floats:
    """Represent colors by waves over their color space.

    Parameters
    ----------
    colors : array-like of shape (..., 3)
        Hue from 0 to 360 (0 and 360 are one hue), saturation and lightness from 0 to 100.
    space : {"hsv", "rgb"}
        Whose three coordinates, each from 0 to 1, the waves run along.

    Returns
    -------
    ndarray of shape (..., 54)
        Cosines, then sines, for all frequencies from 0 to 2 along each coordinate.

    Raises
    ------
    ValueError
        When a color is out of range, or the space unknown.

    Notes
    -----
    ``exp(-2 pi i (j x + k y + l z))`` for j, k, l in 0, 1, 2, real and imaginary parts, as in
    Monroe, Hawkins, Goodman and Potts (2017, doi:10.1162/tacl_a_00064). A network sees a hue as the
    circle that it is, and can draw regions that are not convex. The hue of gray shows on no
    screen, but it is still a coordinate of HSV.

    Examples
    --------
    >>> red, also_red = fourier_features([[0, 100, 50], [360, 100, 50]])
    >>> red.shape, bool(np.allclose(red, also_red))
    ((54,), True)
    """
    if space not in SPACES:
        raise ValueError(f"space {space!r} is unknown. There are: {', '.join(SPACES)}.")
    hsl = check_colors(colors)
    phase = -2 * np.pi * (_to_hsv(hsl) if space == "hsv" else _to_rgb(hsl)) @ _FREQUENCIES.T
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)


def check_colors(colors: ArrayLike) -> Floats:
    """Refuse what is no HSL.

    Parameters
    ----------
    colors : array-like of shape (..., 3)
        Or something else.

    Returns
    -------
    ndarray of shape (..., 3)
        The colors.

    Raises
    ------
    ValueError
        With the place and value of the first that is out of range.

    Examples
    --------
    >>> check_colors([[200, 150, 50]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: the saturation at [0] is 150; it must be from 0 to 100: ...
    """
    hsl = np.asarray(colors, dtype=np.float64)
    if hsl.ndim < 1 or hsl.shape[-1] != 3:
        raise ValueError(
            f"colors must have the three numbers {', '.join(COLOR)} last. Got shape {hsl.shape}: "
            "for states of another kind, give listeners features='raw'."
        )
    bad = ~((hsl >= 0) & (hsl <= LIMITS))
    if bad.any():
        *place, part = (int(at) for at in np.argwhere(bad)[0])
        raise ValueError(
            f"the {COLOR[part]} at {place} is {hsl[(*place, part)]:g}; it must be from 0 to "
            f"{LIMITS[part]:g}: scale fractions, and turn RGB into HSL (colorsys.rgb_to_hls)."
        )
    return hsl


def _to_hsv(hsl: Floats) -> Floats:
    hue, saturation, lightness = np.moveaxis(hsl / LIMITS, -1, 0)
    value = lightness + saturation * np.minimum(lightness, 1 - lightness)
    bright = np.where(value > 0, value, 1.0)
    return np.stack([hue, 2 * (1 - lightness / bright) * (value > 0), value], axis=-1)


def _to_rgb(hsl: Floats) -> Floats:
    hue, saturation, lightness = np.moveaxis(hsl / LIMITS, -1, 0)
    reach = saturation * np.minimum(lightness, 1 - lightness)
    # The CSS Color Module's formula: each channel is a clipped triangle wave of the hue.
    turn = (np.array([0.0, 8.0, 4.0]) + 12 * hue[..., None]) % 12
    wave = np.clip(np.minimum(turn - 3, 9 - turn), -1, 1)
    return lightness[..., None] - reach[..., None] * wave
