"""How much annotators agree, and so how far evaluators can agree with them."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from nlgbench.analysis.people.real_or_fake import correct_votes, judged, rows_of
from nlgbench.checks import checked
from nlgbench.inference import (
    Floats,
    cluster_jackknife,
    few_clusters,
    half_samples,
    interval,
)
from nlgbench.study import Study
from nlgbench.text import check_n

COEFFICIENTS = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")
_MOST_VALUES = 30
_ALIKE = 1e-12


@checked
def agreement(
    study: Study,
    *,
    coded: Literal["value", "correct"] = "value",
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
    dimension: str | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how much annotators agree: in all, on real and fake outputs, and by system.

    Parameters
    ----------
    study : Study
        With judgments.
    coded : {"value", "correct"}
        What is compared: the judgment (real or fake), or whether the vote was right. Within a class
        both are the same; over all outputs they differ, as chance agreement does.
    metric : {"nominal", "ordinal", "interval"}
        Of Krippendorff's alpha.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For each row (``all``, ``real``: human outputs, ``fake``: others, then systems) three
        coefficients: row, coded, coefficient (percent_agreement, 0 to 1; fleiss_kappa and
        krippendorff_alpha, at most 1, 0 as by chance), metric (of alpha, else empty), estimate, se,
        ci_low, ci_high (not clipped), confidence, n_clusters, reason, method, n_judgments,
        n_outputs (both: that can be paired), n_left_out (outputs with one judgment).

    Raises
    ------
    ValueError
        As `accuracy`, or when there are more than 30 different values.

    Notes
    -----
    Kappa is Fleiss' (1971, doi:10.1037/h0031619), where outputs weigh alike, whatever the number of
    their judgments; alpha Krippendorff's (2004, *Content Analysis*, 2nd ed., chapter 11), where
    judgments do. Intervals are those of `accuracy`. A low kappa within one class can
    come with high agreement: where nearly all votes are the same, chance agreement is high, too.
    In 500 simulated crowds of each of five layouts (docs/meta-evaluation.md) 95% intervals held
    the true value in .89 to .96 of cases; least for single systems whose votes are nearly alike.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=50, n_truth=0)
    >>> table = agreement(study)
    >>> table.loc[table["row"] == "all", ["coefficient", "estimate"]].round(2).to_numpy().tolist()
    [['percent_agreement', 0.73], ['fleiss_kappa', 0.44], ['krippendorff_alpha', 0.44]]
    """
    frame = judged(study, dimension)
    rated = correct_votes(frame) if coded == "correct" else frame["value"]
    scale = np.unique(rated)
    if len(scale) > _MOST_VALUES:
        raise ValueError(
            f"there are {len(scale)} different values of {study.dimension(dimension)!r}, and "
            f"coefficients are for at most {_MOST_VALUES}: round them."
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
            cluster_jackknife(pairs, clusters, _agreement, confidence=confidence),
            cluster_jackknife(pairs, clusters, _kappa, confidence=confidence),
            cluster_jackknife(
                _coincidences(paired).reshape(len(paired), len(scale) ** 2),
                clusters,
                lambda sums: _alpha(sums, scale, metric),
                confidence=confidence,
            ),
        ]
        for coefficient, one in zip(COEFFICIENTS, found, strict=True):
            row: dict[str, Any] = {"row": name, "coded": coded, "coefficient": coefficient}
            row |= {"metric": metric if "alpha" in coefficient else ""} | one
            row |= {"n_judgments": int(paired.sum()), "n_outputs": len(paired)}
            table.append(row | {"n_left_out": len(own) - len(paired)})
    return pd.DataFrame(table)


@checked
def split_half(
    study: Study,
    *,
    dimension: str | None = None,
    n_splits: int = 100,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Correlate halves of the annotators: the ceiling for evaluators that are held against them.

    Parameters
    ----------
    study : Study
        With judgments; human outputs are left out, as evaluators are compared over systems.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    n_splits : int
        Random halvings of the annotators of each ``group_id`` (HIT), or of all where it is empty;
        of an odd number one is left out.
    n_resamples : int
        Half-samples of clusters for the intervals.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        unit (``system``: mean judgments of systems; ``output``: of outputs), correlation
        (pearson, spearman, kendall; for outputs pearson alone), quantity, estimate, se, ci_low,
        ci_high (not clipped), confidence, center, n_resamples, n_undefined, reason (why there is no
        ceiling or no interval, or why not to trust it, as with fewer than 10 clusters), method,
        n_units, n_clusters, n_left_out (outputs with one judgment), n_splits, votes_full,
        votes_half (mean judgments of an output, in all and in a half).
        Quantities: ``half``, the mean correlation over splits; ``full``, stepped up to two whole
        panels (reliability); ``ceiling``, its square root, for pearson: the expected correlation
        with the panel of an evaluator that knows what infinitely many annotators would say.

    Raises
    ------
    ValueError
        As `accuracy`, or when there are fewer than 3 systems.

    Notes
    -----
    Spearman-Brown: ``full = f r / (1 + (f - 1) r)``, f = votes_full / votes_half (Spearman 1910,
    Brown 1910, doi:10.1111/j.2044-8295.1910.tb00206.x and .tb00207.x). It holds for Pearson's r of
    interchangeable annotators; for ranks it is a rule of thumb. In each split only the outputs
    that both halves judged count, for systems as for outputs: halves of different outputs would
    differ by these as well. So the ceiling is that for these outputs, not for others of the same
    systems, and where no output has two judgments there is none. Intervals are from
    half-samples of clusters (HITs) around the full estimate; the number of systems stays. Where
    the correlation is undefined (a half gives all units the same) the split is left out; where
    every split is, the half-sample counts as undefined.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", n_outputs=20, n_truth=0)
    >>> table = split_half(study, n_splits=20, n_resamples=20, seed=0)
    >>> table.loc[table["correlation"] == "pearson", "quantity"].tolist()
    ['half', 'full', 'ceiling', 'half', 'full', 'ceiling']
    """
    check_n(n_splits, "n_splits")
    rng = np.random.default_rng(seed)
    frame = judged(study, dimension)
    frame = frame[~frame["is_human"]]
    again = frame.duplicated("output_id", keep=False)
    n_left_out = int((~again).sum())
    if again.any():  # else nothing can be compared, and every row says so
        frame = frame[again]
    whole = frame.drop_duplicates("output_id").reset_index(drop=True)
    system, names = pd.factorize(whole["system"])
    if len(names) < 3:
        raise ValueError(f"a correlation over systems needs at least 3. Found {len(names)}.")
    n_clusters = whole["cluster"].nunique()
    place = pd.Index(whole["output_id"]).get_indexer(frame["output_id"])
    sums, sizes = _halves(frame, place, n_splits, rng)
    both = np.asarray((sizes > 0).all(axis=1))
    sums, sizes = sums * both[:, None], sizes * both[:, None]
    drawn = half_samples(len(whole), clusters=whole["cluster"], n_resamples=n_resamples, seed=rng)
    weights = np.vstack([np.ones(len(whole)), drawn])  # the first row is the full sample
    votes_full = len(frame) / len(whole)
    votes_half = float(sizes.sum() / (2 * both.sum())) if both.any() else float("nan")
    factor = votes_full / votes_half
    found = {
        ("system", name): r
        for name, r in _over_systems(_system_means(weights, sums, sizes, system)).items()
    }
    found["output", "pearson"] = _over_outputs(weights, sums, sizes)
    methods = ("half-samples of clusters, normal", "half-samples of clusters, z with t")
    rows = []
    for (unit, correlation), values in found.items():
        defined = np.isfinite(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            half = np.where(defined, values, 0).sum(axis=1) / defined.sum(axis=1)
            z = np.arctanh(np.where(np.abs(half) < 1 - 1e-9, half, np.nan))
        # Ranks of few systems agree perfectly in many half-samples, where z is infinite.
        on_z = correlation == "pearson"
        # 1 - r is a sum of as many squares as systems, less one.
        df = max(1, (len(names) if unit == "system" else n_clusters) - 1.0) if on_z else np.inf
        scale = z if on_z else half
        found_ends = interval(scale[1:], float(scale[0]), df=df, confidence=confidence)
        found_ends["confidence"] = found_ends.pop("confidence")  # the last of these columns
        both_ends = np.array([found_ends["ci_low"], found_ends["ci_high"]])
        ends = [half[0], *(np.tanh(both_ends) if on_z else both_ends)]
        for quantity in ("half", "full", "ceiling") if on_z else ("half", "full"):
            estimate, low, high = (_stepped(end, quantity, factor) for end in ends)
            if quantity == "ceiling" and half[0] >= 0 and np.isnan(low):
                low = 0.0  # an end where halves correlate below 0
            one = found_ends | {"estimate": estimate, "se": np.nan, "ci_low": low, "ci_high": high}
            one["center"] = float(np.nanmean(half[1:])) if np.isfinite(half[1:]).any() else np.nan
            if not both.any():
                one["reason"] = "no output has two judgments: halves have nothing in common"
            elif np.isnan(half[0]):
                one["reason"] = "undefined: in every split a half gives all units the same"
            elif np.isnan(estimate):
                one["reason"] = "the halves correlate below 0: there is no ceiling"
            elif one["n_undefined"]:
                one["reason"] = (
                    f"undefined or 1 in {one['n_undefined']} of {one['n_resamples']} half-samples"
                )
            elif np.isnan(low):
                one["reason"] = "the lower end lies where the halves correlate below 0"
            else:
                one["reason"] = few_clusters(n_clusters)
            row: dict[str, Any] = {"unit": unit, "correlation": correlation}
            row |= {"quantity": quantity} | one | {"method": methods[on_z]}
            row |= {"n_units": len(names) if unit == "system" else len(whole)}
            row |= {"n_clusters": n_clusters, "n_left_out": n_left_out}
            counted = {"n_splits": n_splits, "votes_full": votes_full, "votes_half": votes_half}
            rows.append(row | counted)
    return pd.DataFrame(rows)


def percent_agreement(counts: ArrayLike) -> float:
    """Give the mean over outputs of the share of pairs that agree: a proportion."""
    return float(_agreement(_pair_parts(_pairable(counts)).sum(axis=0)))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Compute Fleiss' kappa of counts (outputs, values); NaN where all judgments are the same.

    ``(P - P_e) / (1 - P_e)``: P is the mean over outputs of the share of agreeing pairs, P_e the
    sum of squares of the values' mean shares (Fleiss 1971, doi:10.1037/h0031619). Outputs weigh
    alike, whatever the number of their judgments, as in Gwet's generalization (2014, *Handbook of
    Inter-Rater Reliability*, 4th ed., chapter 2), but those with fewer than two are left out.
    """
    return float(_kappa(_pair_parts(_pairable(counts)).sum(axis=0)))


def krippendorff_alpha(
    counts: ArrayLike,
    values: ArrayLike,
    *,
    metric: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> float:
    """Compute Krippendorff's alpha of counts (outputs, values); judgments may be missing.

    ``1 - D_o / D_e`` on the matrix of coincidences: each ordered pair of judgments of an output
    with m of them weighs ``1 / (m - 1)``; the difference is squared, of middle ranks if ordinal
    (Krippendorff 2004, *Content Analysis*, 2nd ed., chapter 11; Hayes and Krippendorff 2007,
    doi:10.1080/19312450709336664). Judgments weigh alike, not outputs.
    """
    paired, scale = _pairable(counts), np.asarray(values, dtype=np.float64)
    sums = _coincidences(paired).sum(axis=0).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(_alpha(sums, scale, metric))


def _pairable(counts: ArrayLike) -> Floats:
    """Return the outputs with at least two judgments."""
    table = np.asarray(counts, dtype=np.float64)
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


def _stepped(half: float, quantity: str, factor: float) -> float:
    """Step a correlation of halves up to whole panels, or on to the ceiling."""
    if quantity == "half" or np.isnan(half):
        return float(half)
    below = 1 + (factor - 1) * half
    full = factor * half / below if below > 0 else np.nan
    if quantity == "full":
        return float(full)
    return float(np.sqrt(full)) if full >= 0 else float("nan")


def _halves(
    frame: pd.DataFrame, place: NDArray[np.int64], n_splits: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Split annotators; return sums and numbers of judgments, shape (n_splits, 2, n outputs)."""
    annotator, _ = pd.factorize(pd.MultiIndex.from_frame(frame[["group_id", "annotator_id"]]))
    first = np.unique(annotator, return_index=True)[1]
    group, _ = pd.factorize(frame["group_id"].to_numpy()[first])
    size = np.bincount(group)
    start = np.cumsum(size) - size
    order = np.argsort(group + rng.random((n_splits, len(group))), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(group))[None], axis=1)
    rank -= start[group]  # place within the group
    half = np.where(rank < size[group] // 2, 0, np.where(rank < size[group] // 2 * 2, 1, 2))
    n_outputs = int(place.max()) + 1
    value = frame["value"].to_numpy()
    shape = (n_splits, 2, n_outputs)
    sums, sizes = np.empty(shape), np.empty(shape)
    for split in range(n_splits):
        for side in (0, 1):
            mine = half[split, annotator] == side
            sums[split, side] = np.bincount(place[mine], value[mine], minlength=n_outputs)
            sizes[split, side] = np.bincount(place[mine], minlength=n_outputs)
    return sums, sizes


def _system_means(
    weights: Floats, sums: Floats, sizes: Floats, system: NDArray[np.int64]
) -> Floats:
    """Average judgments: shape (2 halves, n half-samples, n_splits, n systems)."""
    means = []
    for number in range(int(system.max()) + 1):
        own = weights[:, system == number]
        total, size = (own @ x[:, :, system == number].transpose(1, 2, 0) for x in (sums, sizes))
        means.append(total / np.where(size > 0, size, np.nan))
    return np.stack(means, axis=-1)


def _over_systems(means: Floats) -> dict[str, Floats]:
    """Correlate the two halves' means over systems (last axis), NaN where undefined."""
    left, right = means
    missing = np.isnan(means).any(axis=(0, -1))
    found = {
        "pearson": _pearson(left, right),
        "spearman": _pearson(rankdata(left, axis=-1), rankdata(right, axis=-1)),
    }
    one, other = np.triu_indices(means.shape[-1], 1)
    signs = np.sign(np.round(means[..., one] - means[..., other], 12))
    # tau-b is the correlation of the signs of differences, as their mean over ordered pairs is 0.
    square = (signs**2).sum(axis=-1)
    size = np.sqrt(square[0] * square[1])
    found["kendall"] = (signs[0] * signs[1]).sum(axis=-1) / np.where(size > 0, size, np.nan)
    return {name: np.where(missing, np.nan, values) for name, values in found.items()}


def _pearson(x: Floats, y: Floats) -> Floats:
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    size = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return np.asarray((x * y).sum(axis=-1) / np.where(size > 1e-12, size, np.nan))


def _over_outputs(weights: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Correlate the two halves' means over outputs that both judged: (half-samples, n_splits)."""
    both = np.asarray((sizes > 0).all(axis=1))
    left, right = (sums / np.maximum(sizes, 1) * both[:, None]).transpose(1, 0, 2)
    n, x, y, xx, yy, xy = (
        weights @ part.T for part in (both * 1.0, left, right, left**2, right**2, left * right)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.sqrt((xx - x**2 / n) * (yy - y**2 / n))
        return np.asarray((xy - x * y / n) / np.where(size > 1e-9, size, np.nan))
