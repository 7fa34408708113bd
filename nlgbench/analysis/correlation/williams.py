"""Williams' test of the difference of two correlations with the same variable."""

from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student

from nlgbench.analysis.coefficients.unweighted import coefficients

#: Correlations of a few hundred units are off by some 1e-15: what lies below is rounding.
_ROUNDING = 1e-12
#: Correlations whose determinant lies below minus this belong to no three variables.
_IMPOSSIBLE = 1e-9


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Test whether two correlations that share a variable differ.

    Parameters
    ----------
    r12, r13 : float
        Pearson correlations of two evaluators (2, 3) with the human judgments (1).
    r23 : float
        Correlation of the two evaluators.
    n : int
        Units (outputs or systems), at least 4.

    Returns
    -------
    tuple of float
        t, above 0 where r12 is larger, and its two-sided p at n - 3 degrees of freedom; NaN
        where the three correlations leave no variance (evaluators that are one, or one the
        other's opposite; or the humans are the difference of the two), to within 1e-12.

    Raises
    ------
    ValueError
        When a correlation is not within -1 to 1, `n` is below 4, or no three variables can have
        such correlations.

    Notes
    -----
    ``t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 K (n - 1)/(n - 3) + m^2 (1 - r23)^3))``, with ``K =
    1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23`` and ``m = (r12 + r13) / 2`` (Williams 1959,
    J. R. Stat. Soc. B 21, 396-399; Steiger 1980, equation 7,
    doi:10.1037/0033-2909.87.2.245; for metrics, Graham and Baldwin 2014, doi:10.3115/v1/D14-1020).
    It takes units as independent and the variables as normal. Where they are skewed, or several
    units share a context or an annotator, it rejects too often: ``benchmarks/comparing_level.py``
    says how often. Use `comparing.differences` there, with clusters.

    Examples
    --------
    >>> t, p = williams(0.5, 0.1, 0.7, 30)
    >>> round(t, 2), round(p, 4)
    (3.38, 0.0022)
    """
    if not all(abs(r) <= 1 for r in (r12, r13, r23)) or n < 4:
        raise ValueError(
            "correlations must be between -1 and 1, and n at least 4. Got "
            f"r12={r12}, r13={r13}, r23={r23}, n={n}."
        )
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -_IMPOSSIBLE:
        raise ValueError(
            f"no three variables correlate r12={r12}, r13={r13}, r23={r23}: check which is which."
        )
    mean = (r12 + r13) / 2
    below = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if 1 - abs(r23) < _ROUNDING or below < _ROUNDING:
        return float("nan"), float("nan")
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below)
    return float(t), float(2 * student.sf(abs(t), n - 3))


def williams_matrix(scores: pd.DataFrame, human: ArrayLike) -> pd.DataFrame:
    """Run Williams' test for all pairs of evaluators.

    Parameters
    ----------
    scores : DataFrame of shape (n, evaluators)
        A column per evaluator, a row per unit; NaN where missing.
    human : array-like of shape (n,)
        Judgments of the units, in the order of the rows; NaN where missing.

    Returns
    -------
    DataFrame
        A row per pair: evaluator_a, evaluator_b, estimate_a, estimate_b (Pearson with the
        humans, over the units that all three have), correlation (of the two), difference (a minus
        b), t, p (two-sided), n. NaN where one is constant or there are fewer than four units.

    Raises
    ------
    ValueError
        When lengths differ or there are fewer than two evaluators.

    Examples
    --------
    >>> scores = pd.DataFrame({"e": [1.0, 2.0, 3.0, 4.0, 6.0], "f": [2.0, 1.0, 4.0, 3.0, 5.0]})
    >>> found = williams_matrix(scores, [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> found[["estimate_a", "estimate_b", "n"]].round(3).values.tolist()
    [[0.986, 0.8, 5.0]]
    """
    y = np.asarray(human, dtype=np.float64)
    if y.shape != (len(scores),) or scores.shape[1] < 2:
        raise ValueError(
            "williams_matrix needs a judgment per row and two evaluators. Got "
            f"{y.shape} judgments for {len(scores)} rows and {scores.shape[1]} evaluators."
        )
    rows = []
    for a, b in combinations(scores.columns, 2):
        three = np.stack([y, scores[a].to_numpy(np.float64), scores[b].to_numpy(np.float64)])
        three = three[:, np.isfinite(three).all(axis=0)]
        n = three.shape[1]
        r12 = r13 = r23 = t = p = float("nan")
        if n:
            pairs = three[[0, 0, 1]], three[[1, 2, 2]]
            r12, r13, r23 = map(float, coefficients(*pairs, statistics=["pearson"])["pearson"])
        if n >= 4 and np.isfinite([r12, r13, r23]).all():
            t, p = williams(r12, r13, r23, n)
        rows.append(
            {
                "evaluator_a": a,
                "evaluator_b": b,
                "estimate_a": r12,
                "estimate_b": r13,
                "correlation": r23,
                "difference": r12 - r13,
                "t": t,
                "p": p,
                "n": n,
            }
        )
    return pd.DataFrame(rows)
