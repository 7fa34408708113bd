"""How much annotators agree: percent agreement, Fleiss' kappa, Krippendorff's alpha."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from nlgbench.analysis.people.votes import Floats, correct_votes, jackknife, judged, rows_of
from nlgbench.names import known

METRICS = ("nominal", "ordinal", "interval")
COEFFICIENTS = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")
_MOST_VALUES = 30
_ALIKE = 1e-12


def counts_of(ratings: ArrayLike) -> tuple[Floats, Floats]:
    """Count how often each output was given each value.

    Parameters
    ----------
    ratings : array-like of shape (n outputs, n annotators)
        Numbers; NaN where an annotator did not judge.

    Returns
    -------
    counts : ndarray of shape (n outputs, n values)
        As `fleiss_kappa` and `krippendorff_alpha` take them.
    values : ndarray of shape (n values,)
        The values, ascending.

    Examples
    --------
    >>> counts, values = counts_of([[1, 1, 0], [1, float("nan"), 1]])
    >>> counts.tolist(), values.tolist()
    ([[1.0, 2.0], [0.0, 2.0]], [0.0, 1.0])
    """
    ratings = np.asarray(ratings, dtype=np.float64)
    values = np.unique(ratings[~np.isnan(ratings)])
    return (ratings[:, :, None] == values).sum(axis=1).astype(np.float64), values


def percent_agreement(counts: ArrayLike) -> float:
    """Give the share of pairs of annotators of one output that agree.

    Parameters
    ----------
    counts : array-like of shape (n outputs, n values)
        From `counts_of`.

    Returns
    -------
    float
        0 to 1, higher is better: the mean over outputs of the share of agreeing pairs; NaN where
        no output has two judgments. A proportion, whatever its name says.

    Examples
    --------
    >>> percent_agreement([[2, 0], [1, 1]])
    0.5
    """
    return float(_agreement(_pair_parts(_pairable(counts)).sum(axis=0)))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Compute Fleiss' kappa, also where outputs have unequally many judgments.

    Parameters
    ----------
    counts : array-like of shape (n outputs, n values)
        From `counts_of`.

    Returns
    -------
    float
        At most 1, higher is better, 0 as by chance; NaN where no output has two judgments, or all
        judgments are the same.

    Notes
    -----
    ``(P - P_e) / (1 - P_e)``: P is the mean over outputs of the share of agreeing pairs, P_e the
    sum of squares of the values' mean shares (Fleiss 1971, doi:10.1037/h0031619). Outputs weigh
    alike, whatever the number of their judgments, as in Gwet's generalization (2014, *Handbook of
    Inter-Rater Reliability*, 4th ed., chapter 2), but those with fewer than two are left out.

    Examples
    --------
    >>> round(fleiss_kappa([[5, 0], [1, 4], [3, 2]]), 3)
    0.306
    """
    return float(_kappa(_pair_parts(_pairable(counts)).sum(axis=0)))


def krippendorff_alpha(
    counts: ArrayLike,
    values: ArrayLike,
    *,
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> float:
    """Compute Krippendorff's alpha; judgments may be missing.

    Parameters
    ----------
    counts : array-like of shape (n outputs, n values)
        From `counts_of`.
    values : array-like of shape (n values,)
        What the columns stand for, ascending.
    metric : {"nominal", "ordinal", "interval"}
        How values differ: or not; by ranks; by differences.

    Returns
    -------
    float
        At most 1, higher is better, 0 as by chance; NaN where no output has two judgments, or all
        judgments that can be paired are the same.

    Raises
    ------
    ValueError
        When the metric is unknown, or values and counts disagree.

    Notes
    -----
    ``1 - D_o / D_e`` on the matrix of coincidences: each ordered pair of judgments of an output
    with m of them weighs ``1 / (m - 1)``; the difference is squared, of middle ranks if ordinal
    (Krippendorff 2004, *Content Analysis*, 2nd ed., chapter 11; Hayes and Krippendorff 2007,
    doi:10.1080/19312450709336664). Judgments weigh alike, not outputs.

    Examples
    --------
    >>> counts, values = counts_of([[1, 1], [2, 3], [3, 3]])
    >>> round(krippendorff_alpha(counts, values, metric="interval"), 3)
    0.828
    """
    known(metric, METRICS, "metric")
    paired, scale = _pairable(counts), np.asarray(values, dtype=np.float64)
    if paired.shape[1] != len(scale) or (np.diff(scale) <= 0).any():
        raise ValueError(
            f"values must be ascending, one for each column of counts. Got {len(scale)} values for "
            f"{paired.shape[1]} columns: take both from counts_of."
        )
    sums = _coincidences(paired).sum(axis=0).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(_alpha(sums, scale, metric))


def reliability(
    outputs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    coded: Literal["value", "correct"] = "value",
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
    dimension: str = "real_or_fake",
    level: float = 0.95,
) -> pd.DataFrame:
    """Say how much annotators agree: in all, on real and fake outputs, and by system.

    Parameters
    ----------
    outputs, judgments : DataFrame
        Tables of one dataset.
    coded : {"value", "correct"}
        What is compared: the judgment (real or fake), or whether the vote was right. Within a class
        both are the same; over all outputs they differ, as chance agreement does.
    metric : {"nominal", "ordinal", "interval"}
        Of Krippendorff's alpha.
    dimension : str
        Which judgments.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For each row (``all``, ``real``, ``fake``, then systems) three coefficients: dataset, row,
        coded, coefficient (percent_agreement, fleiss_kappa, krippendorff_alpha), metric (of alpha,
        else empty), estimate, se, ci_low, ci_high (not clipped), level, n_clusters, reason, method,
        n_judgments, n_outputs (both: that can be paired), n_left_out (outputs with one judgment).

    Raises
    ------
    ValueError
        As `accuracy`, or when there are more than 30 different values.

    Notes
    -----
    Intervals are those of `votes.jackknife`. A low kappa within one class can
    come with high agreement: where nearly all votes are the same, chance agreement is high, too.
    In 286 crowds of 12 systems (`worlds.crowd`) 95% intervals held the true kappa in .92 to .95
    of cases for single systems, .88 for one with nine of ten votes "fake".

    Examples
    --------
    >>> from nlgbench.worlds.crowd import review_crowd
    >>> study = review_crowd(systems=["corrupted_0.5"], n_outputs=50, n_truth=0, seed=0).study
    >>> table = reliability(study.outputs, study.judgments)
    >>> table.loc[table["row"] == "all", ["coefficient", "estimate"]].round(2).to_numpy().tolist()
    [['percent_agreement', 0.73], ['fleiss_kappa', 0.44], ['krippendorff_alpha', 0.44]]
    """
    known(coded, ["value", "correct"], "coded")
    known(metric, METRICS, "metric")
    frame = judged(outputs, judgments, dimension=dimension)
    rated = correct_votes(frame) if coded == "correct" else frame["value"]
    scale = np.unique(rated)
    if len(scale) > _MOST_VALUES:
        raise ValueError(
            f"there are {len(scale)} different values of {dimension!r}, and coefficients are for "
            f"at most {_MOST_VALUES}: round them."
        )
    whole = frame.drop_duplicates("output_id").reset_index(drop=True)
    place = pd.Index(whole["output_id"]).get_indexer(frame["output_id"])
    counts = np.zeros((len(whole), len(scale)))
    np.add.at(counts, (place, np.searchsorted(scale, rated)), 1)
    table = []
    for name, chosen in rows_of(whole).items():
        own = counts[chosen.to_numpy()]
        paired = own[own.sum(axis=1) > 1]
        clusters = whole.loc[chosen, "cluster"][own.sum(axis=1) > 1]
        pairs = _pair_parts(paired)
        found = [
            jackknife(pairs, clusters, _agreement, level=level),
            jackknife(pairs, clusters, _kappa, level=level),
            jackknife(
                _coincidences(paired).reshape(len(paired), len(scale) ** 2),
                clusters,
                lambda sums: _alpha(sums, scale, metric),
                level=level,
            ),
        ]
        for coefficient, one in zip(COEFFICIENTS, found, strict=True):
            names = {"dataset": whole["dataset"].iloc[0], "row": name, "coded": coded}
            names |= {
                "coefficient": coefficient,
                "metric": metric if "alpha" in coefficient else "",
            }
            counted = {"n_judgments": int(paired.sum()), "n_outputs": len(paired)}
            table.append(names | one | counted | {"n_left_out": len(own) - len(paired)})
    return pd.DataFrame(table)


def _pairable(counts: ArrayLike) -> Floats:
    """Return the outputs with at least two judgments."""
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or not (np.isfinite(table) & (table >= 0)).all():
        raise ValueError(
            "counts must be a table of outputs by values, none negative or missing: take it from "
            f"counts_of. Got shape {table.shape}."
        )
    return table[table.sum(axis=1) > 1]


def _pair_parts(counts: Floats) -> Floats:
    """Give each output's 1, share of agreeing pairs, and share of each value."""
    size = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (size * (size - 1))
    return np.column_stack([np.ones(len(counts)), agreeing, counts / size[:, None]])


def _agreement(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(sums[..., 1] / sums[..., 0])


def _kappa(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        by_chance = ((sums[..., 2:] / sums[..., :1]) ** 2).sum(axis=-1)
        possible = 1 - by_chance
        possible = np.where(possible > _ALIKE, possible, np.nan)
        return np.asarray((_agreement(sums) - by_chance) / possible)


def _coincidences(counts: Floats) -> Floats:
    """Give each output's ordered pairs of values, each weighing 1 / (m - 1)."""
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    return pairs / (counts.sum(axis=1) - 1)[:, None, None]


def _alpha(sums: Floats, values: Floats, metric: str) -> Floats:
    """Compute alpha of flattened matrices of coincidences, shape (..., n values squared)."""
    observed = sums.reshape(*sums.shape[:-1], len(values), len(values))
    each = observed.sum(axis=-1)
    n = each.sum(axis=-1)
    # The ordinal difference of Krippendorff is that of middle ranks.
    place = np.cumsum(each, axis=-1) - each / 2 if metric == "ordinal" else values
    difference = (place[..., :, None] - place[..., None, :]) ** 2
    if metric == "nominal":
        difference = 1 - np.eye(len(values))
    disagreement = (observed * difference).sum(axis=(-2, -1))
    by_chance = (each[..., :, None] * each[..., None, :] * difference).sum(axis=(-2, -1)) / (n - 1)
    # Sums less one cluster's can leave a rounding error where nothing is.
    least = _ALIKE * n * np.maximum(difference.max(axis=(-2, -1)), _ALIKE)
    return np.asarray(1 - disagreement / np.where(by_chance > least, by_chance, np.nan))
