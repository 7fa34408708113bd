"""Find values far outside the range of the others, and groups of judgments on another scale."""

from __future__ import annotations

import math
from statistics import NormalDist  # scipy.stats takes longer to import than files take to read

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats
from nlgbench.text import listed

#: A value is extreme if it exceeds the next lower one, or the 99th percentile, this many times.
EXTREME = 20
#: The fewest judgments in which a value is called extreme.
FEWEST = 12
#: Standard errors beyond which the sign of a correlation is unlikely to be due to chance.
CLEAR = 3.29
#: The most values of a rating scale, such as 0 to 10.
_LEVELS = 11
#: The least share of values on that scale.
_MOST = 0.8
#: The fewest judgments on a scale: of the group that may use another one, and of all others.
_GROUP, _OTHERS = 8, 12
#: The fewest judgments, and the least share of an end of a scale, that show where it begins.
_MANY, _SHARE = 20, 0.05


def extremes(
    values: pd.Series, *, declared: bool = False, of_program: bool = False
) -> tuple[pd.Series, str]:
    """Return the extreme values, and the rule that they break; empty if there are none."""
    n = values.size
    if n < FEWEST:
        return values.iloc[:0], ""
    sizes = values.abs().sort_values(ascending=False).to_numpy()
    limits = {"the 99th percentile": float(values.abs().quantile(0.99, interpolation="lower"))}
    # A gap may separate several extreme values from the others, and so hide in the percentile.
    gaps = np.flatnonzero(sizes[: n // 6 + 1] > EXTREME * sizes[1 : n // 6 + 2])
    if len(gaps):
        limits["the next lower value"] = float(sizes[gaps[-1] + 1])
    for name, limit in limits.items():
        extreme = values[values.abs() > EXTREME * limit]
        if limit > 0 and len(extreme):
            return extreme, f"above {EXTREME * limit:,g} ({EXTREME} times {name})"
    if not declared and (code := _code(values, of_program)) is not None:
        return values[values == code], f"equal to {code:g}, which may mean no answer"
    levels = np.unique(values[values >= 0])
    if not len(levels):
        return values.iloc[:0], ""
    # Counts of errors begin at 0 and have long tails; ratings rarely do.
    runs = np.split(levels, np.flatnonzero(np.diff(levels) > 2) + 1)
    shares = [values.between(run[0], run[-1]).mean() for run in runs]
    low, high = runs[int(np.argmax(shares))][[0, -1]]
    is_scale = 1 <= low <= high - 2 < _LEVELS - 2 and max(shares) >= _MOST
    if declared or not is_scale or (levels % 1 != 0).any():
        return values.iloc[:0], ""
    span = 2 * (high - low)
    extreme = values[(values > high + span) | (values < max(low - span, 0))]
    return extreme, f"far from the scale of most others, {low:g} to {high:g}"


def _code(values: pd.Series, of_program: bool) -> int | None:
    """Return -1 or 0, if this is rare and below a scale, and so may be a code for no answer."""
    is_minus = values == -1
    regular = values[~is_minus]
    is_scale = (regular >= 0).all() and (regular.max() > 1 or (regular % 1 != 0).any())
    if is_scale and 0 < is_minus.mean() <= 1 / 6:
        return -1
    if of_program:
        return None
    regular = values[values != 0]
    is_scale = regular.min() == 1 and 3 <= regular.max() < _LEVELS and (regular % 1 == 0).all()
    # On a scale that begins at 0, its least value is hardly much rarer than the next.
    n_zeros, n_ones = int((values == 0).sum()), int((values == 1).sum())
    is_rare = 0 < 10 * n_zeros <= n_ones and n_zeros <= max(1, len(values) / 100)
    return 0 if is_scale and is_rare else None


def other_items(values: pd.Series, items: pd.Series) -> str:
    """Describe items on a larger scale, with even numbers alone, or on one from 0 to 1."""
    steps = (values * 1000).round().astype(int).groupby(items.to_numpy()).agg(np.gcd.reduce)
    numbers = values.to_numpy(dtype=np.float64)
    for rule, is_other, check in (
        ("even", steps % 2000 == 0, _is_larger),
        ("fractional", steps % 1000 != 0, _is_fraction),
    ):
        names = steps.index[is_other]
        is_inside = items.isin(names).to_numpy()
        inside, remaining = numbers[is_inside], numbers[~is_inside]
        if len(inside) >= _GROUP and len(remaining) >= _OTHERS and check(inside, remaining):
            return (
                f"{len(names):,} items with {rule} numbers ({listed(names[:3])}) use "
                f"{inside.min():g} to {inside.max():g}, all others {remaining.min():g} to "
                f"{remaining.max():g}"
            )
    return ""


def is_negative(r: float, n: int, limit: float = CLEAR) -> bool:
    """Check whether a correlation of n pairs is negative by many standard errors (Fisher's z)."""
    return math.atanh(max(r, -1 + 1e-12)) * math.sqrt(n - 3) < -limit


def contrary(answers: pd.DataFrame) -> list[str]:
    """Describe annotators whose answers clearly correlate negatively with the others' means."""
    means = answers.groupby(["output_id", "annotator_id"])["value"].mean().reset_index()
    sums = means.groupby("output_id")["value"].agg(["sum", "size"])
    means = means.join(sums, on="output_id").query("size > 1")
    means["others"] = (means["sum"] - means["value"]) / (means["size"] - 1)
    tail = NormalDist().cdf(-CLEAR) / max(1, means["annotator_id"].nunique())
    clear = -NormalDist().inv_cdf(tail)
    lines = []
    for annotator, ratings in means.groupby("annotator_id", sort=False):
        n = len(ratings)
        if n < FEWEST or min(ratings["value"].nunique(), ratings["others"].nunique()) < 2:
            continue
        r = float(ratings["value"].corr(ratings["others"]))
        if r < -0.5 and is_negative(r, n, clear):
            lines.append(f"{annotator} (r = {r:.2f}, {n:,} in common)")
    return lines


def other_scale(values: pd.Series, groups: pd.Series, *, declared: bool = False) -> list[str]:
    """Describe each group whose values are on another scale than those of all other groups."""
    lines = []
    codes, names = pd.factorize(groups)
    numbers = values.to_numpy(dtype=np.float64)
    for code, group in enumerate(names):
        inside, remaining = numbers[codes == code], numbers[codes != code]
        if len(inside) < _GROUP or len(remaining) < _OTHERS:
            continue
        is_shifted = _begins_at_0(inside, remaining) or _begins_at_0(remaining, inside)
        is_other = _is_larger(inside, remaining) or _is_fraction(inside, remaining)
        if is_other or (is_shifted and not declared):
            a, b, c, d = inside.min(), inside.max(), remaining.min(), remaining.max()
            lines.append(f"{group} uses {a:g} to {b:g}, all others {c:g} to {d:g}")
    return lines


def _is_larger(inside: Floats, remaining: Floats) -> bool:
    """Check whether many values exceed all others, and the greatest by at least a half."""
    top = remaining.max()
    return bool(0 < 1.5 * top <= inside.max() and (inside > top).mean() >= 0.25)


def _is_fraction(inside: Floats, remaining: Floats) -> bool:
    """Check whether values are shares of 1, and the others whole numbers up to a larger one."""
    is_share = inside.min() >= 0 and inside.max() <= 1 and (inside % 1 != 0).mean() > 0.25
    return bool(is_share and (remaining % 1 == 0).all() and remaining.max() > 1)


def _begins_at_0(inside: Floats, remaining: Floats) -> bool:
    """Check whether a scale is 0 to n - 1 where the others' is 1 to n."""
    low, high = inside.min(), remaining.max()
    if min(len(inside), len(remaining)) < _MANY or low != 0 or remaining.min() != 1:
        return False
    is_short = 3 <= high < _LEVELS and inside.max() == high - 1
    is_whole = (inside % 1 == 0).all() and (remaining % 1 == 0).all()
    ends = (remaining == 1).mean(), (remaining == high).mean()
    return bool(is_short and is_whole and min(ends) >= _SHARE)
