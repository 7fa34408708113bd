"""Judgments joined with their outputs, and intervals over the clusters that they come in."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from nlgbench import tables
from nlgbench.inference import check_coverage
from nlgbench.names import known

Floats = NDArray[np.float64]

METHOD = "delete-one-cluster jackknife, t"

#: An interval from fewer clusters than these is given, and marked.
FEWEST_CLUSTERS = 10


def judged(
    outputs: pd.DataFrame, judgments: pd.DataFrame, *, dimension: str = "real_or_fake"
) -> pd.DataFrame:
    """Join judgments with the outputs they are about, and name their clusters.

    Parameters
    ----------
    outputs, judgments : DataFrame
        Tables of one dataset.
    dimension : str
        Which judgments.

    Returns
    -------
    DataFrame
        A row per judgment: the columns of both tables, and ``cluster``: the ``group_id`` (HIT), or
        the output itself where that is empty.

    Raises
    ------
    ValueError
        When a table breaks its rules, there are several datasets, the dimension is unknown, a
        judgment is about no output, an output is in two HITs, or a system is called as a row is.

    Examples
    --------
    >>> from nlgbench.worlds.crowd import review_crowd
    >>> study = review_crowd(systems=["grammar_t0.7"], n_outputs=10, n_truth=0, seed=0).study
    >>> judged(study.outputs, study.judgments)["cluster"].unique().tolist()
    ['hit001']
    """
    outputs = tables.check(outputs, "outputs")
    judgments = tables.check(judgments, "judgments")
    datasets = pd.concat([outputs["dataset"], judgments["dataset"]]).unique()
    if len(datasets) != 1:
        raise ValueError(
            f"there must be one dataset. Found {', '.join(datasets) or 'none'}: choose the rows of "
            "one in both tables."
        )
    known(dimension, list(judgments["dimension"].unique()), "dimension")
    judgments = judgments[judgments["dimension"] == dimension]
    strange = judgments.loc[~judgments["output_id"].isin(outputs["output_id"]), "output_id"]
    if len(strange):
        raise ValueError(
            "judgments are about outputs that the outputs table does not have "
            f"({strange.nunique()}, as {strange.iloc[0]!r}): add them, or drop these judgments."
        )
    named = sorted({"all", "real", "fake"} & set(outputs["system"]))
    if named:
        raise ValueError(f"system {named[0]!r} is called as a row of the results is: rename it.")
    frame = judgments.merge(outputs, on=["dataset", "output_id"], validate="many_to_one")
    own = frame["group_id"] == ""
    frame["cluster"] = frame["group_id"].mask(own, "output " + frame["output_id"])
    several = frame.groupby("output_id")["cluster"].transform("nunique") > 1
    if several.any():
        raise ValueError(
            f"output {frame.loc[several, 'output_id'].iloc[0]!r} has judgments of several group_id "
            f"(outputs like it: {frame.loc[several, 'output_id'].nunique()}): give one group to "
            "the groups that share outputs, or empty group_id to take outputs for clusters."
        )
    return frame


def rows_of(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Say which rows of a frame are real, fake and of each system.

    Parameters
    ----------
    frame : DataFrame
        With is_human and system.

    Returns
    -------
    dict of str to Series of bool
        ``all``, ``real`` (human outputs), ``fake`` (all others), then each system in order.

    Examples
    --------
    >>> frame = pd.DataFrame({"system": ["human", "lstm"], "is_human": [True, False]})
    >>> list(rows_of(frame))
    ['all', 'real', 'fake', 'lstm']
    """
    human = frame["is_human"]
    systems = frame.loc[~human, "system"].unique()
    parts = {"all": human | True, "real": human, "fake": ~human}
    return parts | {name: ~human & (frame["system"] == name) for name in systems}


def jackknife(
    parts: Floats,
    clusters: Sequence[str] | pd.Series,
    statistic: Callable[[Floats], Floats],
    *,
    level: float = 0.95,
) -> dict[str, float | int | str]:
    """Put a clustered interval around a function of sums.

    Parameters
    ----------
    parts : ndarray of shape (n, m)
        What each of n outputs or votes adds to m sums.
    clusters : sequence of length n
        Which cluster each belongs to: clusters are independent of each other.
    statistic : callable
        From sums of shape (..., m) to values of shape (...); NaN where undefined.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    dict
        estimate, se, ci_low, ci_high (not clipped), level, n_clusters, reason (why there is no
        interval, or why not to trust it, as with fewer than 10 clusters; or ""), method.

    Raises
    ------
    ValueError
        When `level` is not between 0 and 1.

    Notes
    -----
    The variance is ``(G - 1) / G`` times the sum of squared deviations of the G values without
    one cluster from their mean, and t has G - 1 degrees of freedom (Cameron and Miller 2015,
    doi:10.3368/jhr.50.2.317). For a share of votes it is close to the cluster-robust variance of
    a ratio. Where all these values are equal, the data give no spread, and there is no interval.

    Examples
    --------
    >>> parts = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> found = jackknife(parts, ["a", "b", "c"], lambda sums: sums[..., 0] / sums[..., 1])
    >>> round(found["estimate"], 3), round(found["se"], 3), found["n_clusters"]
    (0.667, 0.333, 3)
    >>> found["reason"]
    '3 clusters: an interval from fewer than 10 cannot be trusted'
    """
    check_coverage(level, "level")
    place, names = pd.factorize(np.asarray(clusters))
    n = len(names)
    sums = np.zeros((n, parts.shape[1]))
    np.add.at(sums, place, parts)
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = float(statistic(total))
        without = np.asarray(statistic(total - sums)) if n else np.empty(0)
    n_undefined = int(np.isnan(without).sum())
    se = float("nan")
    if np.isnan(estimate):
        reason = "undefined: nothing to compare, or no variation"
    elif n < 2:
        reason = "one cluster: its spread is unknown"
    elif n_undefined:
        reason = f"undefined without one of {n_undefined} clusters"
    else:
        reason = ""
        se = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
    if se < 1e-12:
        reason = "all clusters give the same: their spread is unknown"
    half = student.ppf(0.5 + level / 2, n - 1) * se if not reason else float("nan")
    reason = reason or few_clusters(n)
    return {
        "estimate": estimate,
        "se": se,
        "ci_low": float(estimate - half),
        "ci_high": float(estimate + half),
        "level": level,
        "n_clusters": n,
        "reason": reason,
        "method": METHOD,
    }


def few_clusters(n: int) -> str:
    """Say that an interval rests on too few clusters to be trusted, or nothing."""
    few = f"{n} clusters: an interval from fewer than {FEWEST_CLUSTERS} cannot be trusted"
    return few if n < FEWEST_CLUSTERS else ""


def correct_votes(frame: pd.DataFrame) -> pd.Series:
    """Say which votes are right: real for a human output, fake for any other.

    Parameters
    ----------
    frame : DataFrame
        From `judged`; values 1 (real) or 0 (fake).

    Returns
    -------
    Series of float64
        1 where right, else 0.

    Raises
    ------
    ValueError
        When a value is neither 0 nor 1.
    """
    bad = ~frame["value"].isin([0, 1])
    if bad.any():
        row = frame[bad].iloc[0]
        raise ValueError(
            f"votes must be 1 (real) or 0 (fake). Annotator {row['annotator_id']!r} gave output "
            f"{row['output_id']!r} {row['value']} (others like it: {int(bad.sum()) - 1}): name the "
            "dimension that holds votes."
        )
    return (frame["value"] == frame["is_human"]).astype("float64")
