"""Find values far outside the range of the others, and groups of judgments on another scale."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats

#: A value is extreme if it exceeds the next lower one, or the 99th percentile, this many times.
EXTREME = 20
#: The fewest judgments in which a value is called extreme.
FEWEST = 12
#: The most values of a rating scale, such as 0 to 10.
_LEVELS = 11
#: The least share of values on that scale.
_MOST = 0.8
#: The fewest judgments on a scale: of the group that may use another one, and of all others.
_GROUP, _OTHERS = 8, 12
#: The fewest judgments, and the least share of an end of a scale, that show where it begins.
_MANY, _SHARE = 20, 0.05


def extremes(values: pd.Series, *, declared: bool = False) -> tuple[pd.Series, str]:
    """Return the extreme values, and the rule that they break; empty if there are none."""
    n = values.size
    if n < FEWEST:
        return values.iloc[:0], ""
    sizes = values.abs().sort_values(ascending=False).to_numpy()
    limits = {"the 99th percentile": float(values.abs().quantile(0.99, interpolation="lower"))}
    # A gap may separate several extreme values from the others, and so hide in the percentile.
    gaps = np.flatnonzero(sizes[: n // 10 + 1] > EXTREME * sizes[1 : n // 10 + 2])
    if len(gaps):
        limits["the next lower value"] = float(sizes[gaps[-1] + 1])
    for name, limit in limits.items():
        found = values[values.abs() > EXTREME * limit]
        if limit > 0 and len(found):
            return found, f"above {EXTREME * limit:,g} ({EXTREME} times {name})"
    levels = np.unique(values[values >= 0])
    # Counts of errors begin at 0 and have long tails; ratings rarely do.
    runs = np.split(levels, np.flatnonzero(np.diff(levels) > 2) + 1)
    shares = [values.between(run[0], run[-1]).mean() for run in runs]
    low, high = runs[int(np.argmax(shares))][[0, -1]] if len(levels) else (0, 0)
    is_scale = 1 <= low <= high - 2 < _LEVELS - 2 and max(shares) >= _MOST
    if declared or not is_scale or (levels % 1 != 0).any():
        return values.iloc[:0], ""
    span = 2 * (high - low)
    found = values[(values > high + span) | (values < max(low - span, 0))]
    return found, f"far from the scale of most others, {low:g} to {high:g}"


def other_scale(values: pd.Series, groups: pd.Series, *, declared: bool = False) -> list[str]:
    """Describe each group whose values are on another scale than those of all other groups."""
    found = []
    codes, names = pd.factorize(groups)
    numbers = values.to_numpy(dtype=np.float64)
    for code, group in enumerate(names):
        inside, others = numbers[codes == code], numbers[codes != code]
        if len(inside) < _GROUP or len(others) < _OTHERS:
            continue
        ends = inside.min(), inside.max(), others.min(), others.max()
        is_shifted = _begins_at_0(inside, others) or _begins_at_0(others, inside)
        is_other = _is_larger(inside, others) or _is_fraction(inside, others)
        if is_other or (is_shifted and not declared):
            found.append((group, ends))
    return [
        f"{group} uses {a:g} to {b:g}, all others {c:g} to {d:g}" for group, (a, b, c, d) in found
    ]


def _is_larger(inside: Floats, others: Floats) -> bool:
    """Check whether many values exceed all others, and the greatest at least twice."""
    top = others.max()
    return bool(0 < 2 * top <= inside.max() and (inside > top).mean() >= 0.25)


def _is_fraction(inside: Floats, others: Floats) -> bool:
    """Check whether values are shares of 1, and the others whole numbers up to a larger one."""
    is_share = inside.min() >= 0 and inside.max() <= 1 and (inside % 1 != 0).mean() > 0.25
    return bool(is_share and (others % 1 == 0).all() and others.max() > 1)


def _begins_at_0(inside: Floats, others: Floats) -> bool:
    """Check whether a scale is 0 to n - 1 where the others' is 1 to n."""
    low, high = inside.min(), others.max()
    if min(len(inside), len(others)) < _MANY or low != 0 or others.min() != 1:
        return False
    is_short = 3 <= high < _LEVELS and inside.max() == high - 1
    is_whole = (inside % 1 == 0).all() and (others % 1 == 0).all()
    ends = (inside == 0).mean(), (others == 1).mean(), (others == high).mean()
    return bool(is_short and is_whole and min(ends) >= _SHARE)
