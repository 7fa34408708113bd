"""How much annotators agree, and so how far evaluators can agree with them."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f as fisher
from scipy.stats import rankdata
from scipy.stats import t as student

from nlgbench.analysis.people.real_or_fake import correct_votes, judged, rows_of
from nlgbench.crossed import (
    FEWEST,
    OTHER_ANNOTATORS,
    choose_annotators,
    cluster_jackknife,
    effective_size,
    few_clusters,
    jackknife_variance,
    largest_variance,
    t_interval,
)
from nlgbench.inference import Floats, half_samples, interval
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Ints = NDArray[np.int64]
Coefficient = Literal[
    "percent_agreement",
    "fleiss_kappa",
    "krippendorff_alpha",
    "cohen_kappa",
    "pearson",
    "spearman",
    "icc_1",
    "icc_2",
    "icc_2k",
]

COEFFICIENTS: tuple[Coefficient, ...] = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")
_PAIRWISE = ("cohen_kappa", "pearson", "spearman")
_MOST_VALUES = 30
_ALIKE = 1e-12
_METHOD = "delete-one-cluster jackknife, t"


@checked
def agreement(
    study: Study,
    *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    coded: Literal["value", "correct"] = "value",
    metric: Literal["nominal", "ordinal", "interval"] | None = None,
    dimension: str | None = None,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how much annotators agree: in all, on real and fake outputs, and by system.

    Parameters
    ----------
    study : Study
        With judgments.
    coefficients : sequence of str
        Which: ``percent_agreement``, ``fleiss_kappa``, ``krippendorff_alpha``; ``cohen_kappa``,
        ``pearson``, ``spearman`` (means over pairs of annotators); ``icc_1``, ``icc_2``,
        ``icc_2k`` (intraclass correlations: of single judgments by annotators of any output's own;
        of single judgments, and of means, by annotators who all judged every output).
    coded : {"value", "correct"}
        What is compared: the judgment (real or fake), or whether the vote was right. Within a class
        both are the same; over all outputs they differ, as chance agreement does.
    metric : {"nominal", "ordinal", "interval"}, optional
        Of Krippendorff's alpha. Default: interval, or nominal where there are at most two different
        values. Set it for labels that are coded as more than two numbers.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to: other items judged by these annotators, or other items and
        annotators. Default: annotators are a random sample if there are ten or more effective ones,
        else fixed. Where each annotator judged a single cluster (HIT), intervals over clusters
        cover annotators, too.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A line for each row (``all``, ``real``: human outputs, ``fake``: others, then systems; one
        that is called ``all`` is ``all (system)``) and coefficient: row, coded, coefficient
        (percent_agreement, 0 to 1; others at most 1, 0 as by chance), metric (of alpha, else
        empty), estimate, se, ci_low, ci_high (not clipped), confidence, n_clusters, reason (why
        there is no estimate or interval, or why to doubt it), method, covers (what the interval
        generalizes to), n_judgments, n_outputs (both: that can be paired), n_left_out (outputs with
        one judgment); where pairs of annotators are asked for, n_pairs and n_pairs_left_out.

    Raises
    ------
    ValueError
        As `accuracy`.

    Notes
    -----
    Kappa is Fleiss' (1971, doi:10.1037/h0031619), where outputs weigh alike, whatever the number of
    their judgments; alpha Krippendorff's (2004, *Content Analysis*, 2nd ed., chapter 11), where
    judgments do. Both kappas, percent agreement and nominal alpha count equal values alone: of
    more than 30 different values (a scale of 0 to 100, means) they say so and have no estimate.
    Ordinal and interval alpha take any number.

    Cohen's kappa (1960, doi:10.1177/001316446002000104), Pearson's r and Spearman's rho are of two
    annotators on the outputs that both judged, averaged over pairs with at least ten such outputs;
    other pairs, and those where it is undefined, are left out and counted. Annotators are who
    `annotator_id` says: papers that average over places in a file (first, second, third rating)
    compare other pairs.

    Intraclass correlations are those of Shrout and Fleiss (1979,
    doi:10.1037/0033-2909.86.2.420): ``icc_1`` their ICC(1,1), for unequal numbers of judgments
    with the mean number ``(N - sum m^2 / N) / (n - 1)``; ``icc_2`` and ``icc_2k`` ICC(2,1) and
    ICC(2,k), of crossed designs alone, else there is a reason.

    Intervals are delete-one-cluster jackknives, with t. Where annotators are random, each annotator
    and each annotator's judgments of a cluster are left out, too: the variance is the largest of
    ``V_I``, ``V_A`` and ``V_I + V_A - V_IA``, and t has one degree of freedom less than clusters or
    effective annotators, whichever are fewer. Those of ``icc_2`` and ``icc_2k`` are by F (Shrout
    and Fleiss), always for other outputs and annotators, and take normal values for granted. A low
    kappa within one class can come with high agreement: where nearly all votes are the same, chance
    agreement is high, too. In 500 simulated crowds of each of five layouts (docs/agreement.md) 95%
    intervals held the true value in .89 to .96 of cases; least for single systems whose votes are
    nearly alike.
    In seven others those of pairs, intraclass correlations and alphas of ratings held .93 to .97.

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
    chosen_metric = metric or ("nominal" if len(scale) < 3 else "interval")
    whole = frame.drop_duplicates("output_id").reset_index(drop=True)
    place = pd.Index(whole["output_id"]).get_indexer(frame["output_id"])
    again = np.bincount(place, minlength=len(whole)) > 1
    annotator = pd.factorize(frame["annotator_id"])[0]
    crossed = frame.groupby("annotator_id")["cluster"].nunique().gt(1).any()
    nested = not crossed and annotators != "fixed"
    covers, missing = choose_annotators(
        annotators, effective_size(annotator[again[place]]), persons=study.persons
    )
    if nested:  # other clusters have other annotators
        covers, missing = OTHER_ANNOTATORS, ""
    two_way = covers == OTHER_ANNOTATORS and not nested and not missing
    table = []
    for name, chosen in rows_of(whole).items():
        inside = chosen.to_numpy()
        paired = np.flatnonzero(inside & again)
        kept = (inside & again)[place]
        part = _Part(
            rated.to_numpy(dtype=np.float64)[kept],
            np.searchsorted(paired, place[kept]),
            annotator[kept],
            pd.factorize(whole["cluster"].to_numpy()[paired])[0],
            int(inside.sum()) - len(paired),
        )
        for coefficient in coefficients:
            found = _compute(part, coefficient, chosen_metric, scale, two_way, confidence)
            of_all = coefficient in ("icc_2", "icc_2k")
            if missing and not of_all:
                found |= dict.fromkeys(("se", "ci_low", "ci_high"), np.nan) | {"reason": missing}
            found["covers"] = OTHER_ANNOTATORS if of_all else covers
            row: dict[str, Any] = {"row": name, "coded": coded, "coefficient": coefficient}
            pairs = {key: found.pop(key, 0) for key in ("n_pairs", "n_pairs_left_out")}
            row |= {"metric": chosen_metric if "alpha" in coefficient else ""} | found
            row |= {"n_judgments": len(part.value), "n_outputs": len(paired)}
            row["n_left_out"] = part.n_left_out
            table.append(row | (pairs if set(coefficients) & set(_PAIRWISE) else {}))
    return pd.DataFrame(table)


class _Part(NamedTuple):
    """Judgments of a row's outputs that have at least two."""

    value: Floats
    output: Ints  # of each judgment, from 0
    annotator: Ints
    cluster: Ints  # of each output, from 0
    n_left_out: int

    def of_outputs(self, values: Floats) -> Floats:
        """Add what belongs to judgments up, by output."""
        return _added(self.output, values, len(self.cluster))


def _compute(
    part: _Part, coefficient: str, metric: str, scale: Floats, two_way: bool, confidence: float
) -> dict[str, Any]:
    """Compute one coefficient with its interval, over clusters or over annotators as well."""
    if coefficient in ("icc_2", "icc_2k"):
        return _crossed_icc(part, coefficient, confidence)
    if coefficient == "krippendorff_alpha" and metric == "ordinal":
        return _ordinal_alpha(part, two_way, confidence)
    alike = coefficient in ("percent_agreement", "fleiss_kappa", "cohen_kappa")
    alike |= coefficient == "krippendorff_alpha" and metric == "nominal"
    if alike and len(scale) > _MOST_VALUES:
        other = ", or ask for metric='ordinal' or 'interval'" * ("alpha" in coefficient)
        return _none(
            f"{len(scale)} different values, of which it counts equal ones alone: put them in at "
            f"most {_MOST_VALUES} bins{other}",
            part,
            confidence,
        )
    if coefficient in _PAIRWISE:
        return _over_pairs(part, coefficient, two_way, confidence)
    statistic: Callable[[Floats], Floats]
    parts_of: Callable[[Floats], Floats]
    if coefficient == "icc_1" or (metric == "interval" and coefficient == "krippendorff_alpha"):
        value = _scaled(part.value)
        each, parts_of = np.column_stack([value**0, value, value**2]), _moment_parts
        parts = _variance_parts(part)
        statistic = _icc_1 if coefficient == "icc_1" else _interval_alpha
    else:
        each = (part.value[:, None] == scale).astype(np.float64)
        counts = np.zeros((len(part.cluster), len(scale)))
        np.add.at(counts, part.output, each)
        if coefficient == "krippendorff_alpha":
            parts_of, statistic = _flat_coincidences, lambda sums: _alpha(sums, scale, metric)
        else:
            statistic = _agreement if coefficient == "percent_agreement" else _kappa
            parts_of = _pair_parts
        parts = parts_of(counts)
    found = cluster_jackknife(parts, part.cluster, statistic, confidence=confidence)
    found["method"] = _METHOD
    if not two_way or np.isnan(found["se"]):
        return found
    with np.errstate(invalid="ignore", divide="ignore"):
        without = _without_annotators(part, each, parts_of, statistic, parts.sum(axis=0))
    return _over_both(found, part, *without, confidence)


def _jackknife(estimate: float, without: Floats, confidence: float) -> dict[str, Any]:
    error = np.sqrt(jackknife_variance(without))
    return t_interval(estimate, error, len(without), confidence=confidence) | {"method": _METHOD}


def _over_both(
    found: dict[str, Any], part: _Part, people: Floats, cells: Floats, confidence: float
) -> dict[str, Any]:
    """Widen an interval over clusters to other annotators.

    From the values without each annotator, and without each one's judgments of each cluster.
    """
    n = effective_size(part.annotator)
    why = choose_annotators("random", n)[1]
    if not why and np.isnan(np.append(people, cells)).any():
        why = "undefined without one of the annotators"
    if why:
        return found | dict.fromkeys(("se", "ci_low", "ci_high"), np.nan) | {"reason": why}
    of_people, of_cells = jackknife_variance(people), jackknife_variance(cells)
    se = float(np.sqrt(largest_variance(found["se"] ** 2, of_people, of_cells)))
    half = float(student.ppf(0.5 + confidence / 2, min(found["n_clusters"], n) - 1)) * se
    ends = {"ci_low": found["estimate"] - half, "ci_high": found["estimate"] + half}
    return found | {"se": se, **ends, "method": "delete-one jackknife over both, t"}


def _without_annotators(
    part: _Part,
    each: Floats,
    parts_of: Callable[[Floats], Floats],
    statistic: Callable[[Floats], Floats],
    total: Floats,
) -> tuple[Floats, Floats]:
    """Compute a statistic of sums without each annotator, and without each cell.

    A cell holds one annotator's judgments of one cluster. `each` is what a judgment adds to its
    output's row, which `parts_of` makes parts of: 0 of an output with fewer than two judgments.
    """
    who, names = pd.factorize(part.annotator)
    pair, place = np.unique(part.output * len(names) + who, return_inverse=True)
    output, who = np.divmod(pair, len(names))
    own = np.zeros((len(pair), each.shape[1]))
    np.add.at(own, place, each)
    table = np.zeros((len(part.cluster), each.shape[1]))
    np.add.at(table, part.output, each)
    cell = np.unique(part.cluster[output] * len(names) + who, return_inverse=True)[1]
    lost = parts_of(table[output]) - parts_of(table[output] - own)
    without = []
    for label in (who, cell):
        sums = np.zeros((int(label.max()) + 1, len(total)))
        np.add.at(sums, label, lost)
        without.append(np.asarray(statistic(total - sums)))
    return without[0], without[1]


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
    there = size > 1.5  # of fewer than two nothing can be paired: 0
    size = np.where(there, size, np.inf)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (size * (size - 1))
    return np.column_stack([there, np.where(there, agreeing, 0), counts / size[:, None]])


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
    size = counts.sum(axis=1)
    return pairs / np.where(size > 1.5, size - 1, np.inf)[:, None, None]


def _flat_coincidences(counts: Floats) -> Floats:
    return _coincidences(counts).reshape(len(counts), counts.shape[1] ** 2)


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


def _none(reason: str, part: _Part, confidence: float) -> dict[str, Any]:
    """Give no estimate, and say why."""
    n_clusters = len(np.unique(part.cluster))
    ends = dict.fromkeys(("estimate", "se", "ci_low", "ci_high"), np.nan)
    about = {"confidence": confidence, "n_clusters": n_clusters, "reason": reason, "method": ""}
    return ends | about


def _variance_parts(part: _Part) -> Floats:
    """Give each output's 1, m, m^2, sum, squares, squares within it, and these m / (m - 1)."""
    value = _scaled(part.value)
    m, total = part.of_outputs(np.ones(len(value))), part.of_outputs(value)
    within = part.of_outputs((value - (total / m)[part.output]) ** 2)
    squares = part.of_outputs(value**2)
    return np.column_stack([m > 0, m, m**2, total, squares, within, within * m / (m - 1)])


def _moment_parts(moments: Floats) -> Floats:
    """Give `_variance_parts` of outputs' m, sum, and squares; 0 of fewer than two judgments."""
    m, total, squares = moments.T
    there = m > 1.5
    m = np.where(there, m, np.inf)
    within = np.maximum(squares - total**2 / m, 0)
    parts = [m**0, m, m**2, total, squares, within, within / (1 - 1 / m)]
    return np.where(there[:, None], np.column_stack(parts), 0)


def _added(place: Ints, values: Floats, n: int) -> Floats:
    return np.bincount(place, values, minlength=n).astype(np.float64)


def _scaled(values: Floats) -> Floats:
    """Put values between -1 and 1, around 0, where their squares keep most digits."""
    if not len(values):
        return values
    moved = values - values.mean()
    size = np.abs(moved).max()
    # The mean of equal values can be off by a rounding error.
    return moved / size if size > _ALIKE * np.abs(values).max() else np.zeros(len(values))


def _icc_1(sums: Floats) -> Floats:
    """Compute ICC(1,1) of sums of `_variance_parts`."""
    n, size, sizes, total, squares, within, _ = np.moveaxis(sums, -1, 0)
    between = squares - within - total**2 / size
    of_outputs, error = between / (n - 1), within / (size - n)
    mean_size = (size - sizes / size) / (n - 1)
    possible = of_outputs + (mean_size - 1) * error
    # Sums less one cluster's can leave a rounding error where nothing is.
    return np.asarray((of_outputs - error) / np.where(possible > _ALIKE, possible, np.nan))


def _interval_alpha(sums: Floats) -> Floats:
    """Compute alpha of sums of `_variance_parts`: differences of all pairs follow from squares."""
    _, size, _, total, squares, _, weighted = np.moveaxis(sums, -1, 0)
    by_chance = (size * squares - total**2) / (size - 1)
    least = _ALIKE * np.maximum(size, 1)
    return np.asarray(1 - weighted / np.where(by_chance > least, by_chance, np.nan))


def _alpha_of_ranks(value: Floats, output: Ints) -> float:
    """Compute ordinal alpha: the interval alpha of middle ranks."""
    output = np.unique(output, return_inverse=True)[1]
    paired = np.bincount(output)[output] > 1
    rank, output = _scaled(rankdata(value[paired])), output[paired]
    n = int(output.max(initial=-1)) + 1
    moments = np.column_stack([_added(output, one, n) for one in (rank**0, rank, rank**2)])
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(_interval_alpha(_moment_parts(moments).sum(axis=0)))


def _ordinal_alpha(part: _Part, two_way: bool, confidence: float) -> dict[str, Any]:
    """Compute ordinal alpha anew without each cluster, annotator, and what both share."""

    def without(label: Ints) -> Floats:
        kept = (label != one for one in np.unique(label))
        return np.array([_alpha_of_ranks(part.value[one], part.output[one]) for one in kept])

    cluster = part.cluster[part.output]
    estimate = _alpha_of_ranks(part.value, part.output)
    found = _jackknife(estimate, without(cluster), confidence)
    if not two_way or np.isnan(found["se"]):
        return found
    cells = without(cluster * (part.annotator.max() + 1) + part.annotator)
    return _over_both(found, part, without(part.annotator), cells, confidence)


def _crossed_icc(part: _Part, coefficient: str, confidence: float) -> dict[str, Any]:
    """Compute ICC(2,1) or ICC(2,k) with Shrout and Fleiss' intervals, of crossed designs."""
    n, annotator = len(part.cluster), pd.factorize(part.annotator)[0]
    k = int(annotator.max(initial=-1)) + 1
    lacking = n * k - len(annotator) + k * part.n_left_out
    if n < 2 or k < 2:
        why = f"{k} annotators judged {n} outputs: two of each are needed"
        return _none(why, part, confidence)
    if lacking:
        why = f"not crossed: {lacking} of {k * (n + part.n_left_out)} judgments are missing, that "
        return _none(why + "of every annotator on every output", part, confidence)
    values = np.empty((n, k))
    values[part.output, annotator] = _scaled(part.value)
    outputs, annotators = values.mean(axis=1), values.mean(axis=0)
    rest = values - outputs[:, None] - annotators
    of_outputs = k * (outputs**2).sum() / (n - 1)
    of_annotators = n * (annotators**2).sum() / (k - 1)
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    more = (k * of_annotators + (k * n - k - n) * error) / n
    possible = of_outputs + more
    if possible < _ALIKE:
        return _none("undefined: nothing to compare, or no variation", part, confidence)
    single = (of_outputs - error) / possible
    # Satterthwaite's degrees of freedom of the annotators' and the residual mean square together.
    times = n * (1 + (k - 1) * single) - k * single
    shares = np.array([k * single * of_annotators, times * error])
    df = shares.sum() ** 2 / (shares**2 / [k - 1, (n - 1) * (k - 1)]).sum()
    tail = (1 - confidence) / 2
    high, low = fisher.isf(tail, n - 1, df), fisher.isf(tail, df, n - 1)
    ends = [
        single,
        (of_outputs - high * error) / (high * more + of_outputs),
        (low * of_outputs - error) / (more + low * of_outputs),
    ]
    if coefficient == "icc_2k":
        ends = [k * end / (1 + (k - 1) * end) for end in ends]
    named = dict(zip(("estimate", "ci_low", "ci_high"), map(float, ends), strict=True))
    found = _none(few_clusters(n), part, confidence) | named
    return found | {"method": "F, Satterthwaite's degrees of freedom (Shrout and Fleiss 1979)"}


def _over_pairs(part: _Part, coefficient: str, two_way: bool, confidence: float) -> dict[str, Any]:
    """Average a coefficient of two annotators over pairs that judged ten outputs in common."""
    given = pd.DataFrame({"output": part.output, "annotator": part.annotator, "value": part.value})
    both = given.merge(given, on="output", suffixes=("", "_other"))
    both = both[both["annotator"] < both["annotator_other"]]
    n_clusters = int(part.cluster.max(initial=-1)) + 1
    n_pairs, estimates = 0, []
    met, changed, lost = np.zeros((3, n_clusters))
    n_people = int(part.annotator.max(initial=-1)) + 1
    of_people, of_cells = np.zeros((2, n_people)), np.zeros((n_people, n_clusters))
    for _, own in both.groupby(["annotator", "annotator_other"], sort=False):
        n_pairs += 1
        if len(own) < FEWEST:
            continue
        x, y = (own[name].to_numpy(dtype=np.float64) for name in ("value", "value_other"))
        place, clusters = pd.factorize(part.cluster[own["output"]])
        estimate = _OF_TWO[coefficient](x, y)
        if np.isnan(estimate):
            continue
        kept = [place != one for one in range(len(clusters))] if len(clusters) > 1 else []
        without = np.array([_OF_TWO[coefficient](x[one], y[one]) for one in kept] or [np.nan])
        undefined = np.isnan(without)
        estimates.append(estimate)
        for one in own[["annotator", "annotator_other"]].iloc[0].to_numpy():
            of_people[:, one] += estimate, 1
            # Undefined without a cell, the pair is as undefined without its cluster.
            of_cells[one, clusters] += without - estimate
        met[clusters] = 1
        changed[clusters] += np.where(undefined, 0, without) - estimate
        lost[clusters] += undefined
    used = len(estimates)
    counts = {"n_pairs": used, "n_pairs_left_out": n_pairs - used}
    if not used:
        why = f"no two annotators have {FEWEST} outputs in common on which both vary"
        return _none(why, part, confidence) | counts
    with np.errstate(invalid="ignore", divide="ignore"):
        without = ((sum(estimates) + changed) / (used - lost))[met > 0]
        people = ((sum(estimates) - of_people[0]) / (used - of_people[1]))[of_people[1] > 0]
    without[np.isinf(without)] = np.nan
    found = _jackknife(float(np.mean(estimates)), without, confidence)
    if two_way and not np.isnan(found["se"]):
        met_cells = np.zeros((n_people, n_clusters), dtype=bool)
        met_cells[part.annotator, part.cluster[part.output]] = True
        cells = (sum(estimates) + of_cells[met_cells & (of_people[1] > 0)[:, None]]) / used
        found = _over_both(found, part, people, cells, confidence)
    return found | counts


def _cohen(x: Floats, y: Floats) -> float:
    scale, code = np.unique([x, y], return_inverse=True)
    one, other = (np.bincount(row, minlength=len(scale)) / len(x) for row in code.reshape(2, -1))
    possible = 1 - one @ other
    return float((np.mean(x == y) - one @ other) / possible) if possible > _ALIKE else np.nan


def _product_moment(x: Floats, y: Floats) -> float:
    x, y = (one - one.mean() for one in (_scaled(x), _scaled(y)))
    square = (x @ x) * (y @ y)
    return float(x @ y / np.sqrt(square)) if square > _ALIKE else np.nan


_OF_TWO: dict[str, Callable[[Floats, Floats], float]] = {
    "cohen_kappa": _cohen,
    "pearson": _product_moment,
    "spearman": lambda x, y: _product_moment(rankdata(x), rankdata(y)),
}


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
