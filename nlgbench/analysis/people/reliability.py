"""Agreement of annotators, and the ceiling that it sets for evaluators."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator

from nlgbench import clustering
from nlgbench.analysis.people.coefficients import (
    MOST_VALUES,
    Metric,
    UnitJudgments,
    interval_over,
    sums_of,
)
from nlgbench.analysis.people.real_or_fake import assign_hits, correct_votes, rows_of
from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.inference import half_samples, interval
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Coefficient = Literal["percent_agreement", "fleiss_kappa", "krippendorff_alpha"]
COEFFICIENTS: tuple[Coefficient, ...] = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha")


@checked
def agreement(
    study: Study,
    *,
    coefficients: Sequence[Coefficient] = COEFFICIENTS,
    coded: Literal["value", "correct"] = "value",
    metric: Metric | None = None,
    dimension: str | None = None,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Measure how much annotators agree: overall, on real and fake outputs, and by system.

    Parameters
    ----------
    study : Study
        A study with judgments.
    coefficients : sequence of str
        One or more of ``percent_agreement``, ``fleiss_kappa``, ``krippendorff_alpha``.
    coded : {"value", "correct"}
        Whether to compare the judgments (such as real or fake), or the correctness of votes. Within
        a class (real or fake), the two are equivalent. Over all outputs, chance agreement differs.
    metric : {"nominal", "ordinal", "interval"}, optional
        Metric of Krippendorff's alpha. Default: interval, or nominal for at most two distinct
        values. Set it to nominal for labels that are coded as more than two numbers.
    dimension : str, optional
        A dimension of the judgments. Default: the study's quality dimension.
    annotators : {"fixed", "random"}, optional
        Whether intervals generalize to other annotators, in addition to other items. Default:
        random if the effective number of annotators is at least ten, else fixed. If each annotator
        judged a single cluster (HIT), intervals over clusters also generalize to other annotators.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per coefficient for ``all`` outputs, ``real`` ones (human), ``fake`` ones (others) and
        each system (a system named ``all`` becomes ``all (system)``). Columns: row, coded,
        coefficient (percent_agreement: 0 to 1; others: at most 1, with 0 for chance), metric (of
        alpha, else empty), estimate, se, ci_low, ci_high (at most 1), confidence, n_clusters
        (or the effective number of annotators, if they are random and fewer than the clusters),
        status (a code; ``ok``), reason (its text), covers (what the interval generalizes to),
        n_judgments, n_outputs (with two or more judgments), n_left_out (outputs with one).

    Raises
    ------
    ValueError
        When there are no judgments or the dimension is unknown.

    Notes
    -----
    Kappa is that of Fleiss (1971, doi:10.1037/h0031619), with equal weight for outputs, whatever
    their number of judgments. Alpha is that of Krippendorff (2004, *Content Analysis*, 2nd ed.,
    chapter 11), with equal weight for judgments. All coefficients except interval alpha treat
    values as categories. With over 30 distinct values they are undefined, as ``reason`` reports.

    Intervals come from a delete-one-cluster jackknife, with Student's t and one degree of freedom
    fewer than there are clusters; that of percent_agreement is on the logit scale. If annotators
    are random, see `nlgbench.clustering.largest_variance`.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=50, n_truth=0)
    >>> table = agreement(study)
    >>> table.loc[table["row"] == "all", ["coefficient", "estimate"]].round(2).to_numpy().tolist()
    [['percent_agreement', 0.73], ['fleiss_kappa', 0.44], ['krippendorff_alpha', 0.44]]
    """
    frame = assign_hits(study, dimension)
    value = frame["value"] if coded == "value" else correct_votes(frame)
    scale = np.unique(value)
    metric = metric or ("nominal" if len(scale) < 3 else "interval")
    n_of = frame.groupby("output_id")["value"].transform("size")
    frame = frame.assign(value=value, who=pd.factorize(frame["annotator_id"])[0], again=n_of > 1)
    nested = annotators != "fixed" and frame.groupby("who")["cluster"].nunique().max() == 1
    effective = clustering.effective_size(frame.loc[frame["again"], "who"].to_numpy())
    covers, missing = clustering.choose_annotators(annotators, effective, persons=study.persons)
    if nested:  # clusters have distinct annotators
        covers, missing = clustering.OTHER_ANNOTATORS, OK
    over_annotators = covers == clustering.OTHER_ANNOTATORS and not nested and not missing
    table = []
    for name, chosen in rows_of(frame).items():
        judgments = frame[chosen & frame["again"]]
        unit, outputs = pd.factorize(judgments["output_id"])
        cluster, clusters = pd.factorize(judgments.drop_duplicates("output_id")["cluster"])
        n, units = float(len(clusters)), "clusters"
        effective = clustering.effective_size(judgments["who"].to_numpy())
        if over_annotators and effective < n:
            n, units = effective, "effective annotators"
        counts = {"n_judgments": len(judgments), "n_outputs": len(outputs)}
        counts["n_left_out"] = frame.loc[chosen & ~frame["again"], "output_id"].nunique()
        for coefficient in coefficients:
            alpha = coefficient == "krippendorff_alpha"
            if len(scale) > MOST_VALUES and not (alpha and metric == "interval"):
                hint = ", or use metric='interval'" * alpha
                many = explain("many_values", n=len(scale), most=MOST_VALUES, other=hint)
                interval = clustering.t_interval(
                    np.nan, np.nan, n, missing=many, confidence=confidence
                )
            else:
                values = judgments["value"].to_numpy()
                interval = interval_over(
                    UnitJudgments(unit, judgments["who"].to_numpy(), cluster[:, None]),
                    sums_of(coefficient, metric, values, scale, unit),
                    n,
                    over_annotators=over_annotators,
                    units=units,
                    missing=missing,
                    confidence=confidence,
                )
            row: dict[str, Any] = {"row": name, "coded": coded, "coefficient": coefficient}
            row["metric"] = metric if alpha else ""
            table.append(row | interval | {"covers": covers} | counts)
    return pd.DataFrame(table)


@checked
def split_half(
    study: Study, *, n_splits: int = 100, n_resamples: int = 200, seed: Seed = 0
) -> pd.DataFrame:
    """Correlate two halves of the annotators, to estimate the ceiling for evaluators' correlations.

    Judgments are those in the quality dimension, without human texts. Each of `n_splits` random
    splits halves the annotators of each ``group_id`` (HIT), or all annotators where it is
    empty; if their number is odd, one is left out. 95% intervals use `n_resamples` half-samples of
    clusters.

    Returns
    -------
    DataFrame
        unit (whether mean judgments of each ``system`` or ``output`` are correlated), quantity,
        estimate, ci_low, ci_high (not clipped), confidence, n_undefined (half-samples without a
        correlation), status (a code; ``ok``), reason (its text), n_units, n_clusters, n_left_out
        (outputs with one judgment), votes_full, votes_half (mean number of judgments of an output,
        in total and in a half).
        Quantities: ``half``, the mean of Pearson's correlation over splits; ``full``, the
        correlation of two full panels (reliability); ``ceiling``, its square root: the correlation
        expected of an evaluator that knows the mean judgment of infinitely many annotators.

    Notes
    -----
    By Spearman-Brown, ``full = f r / (1 + (f - 1) r)`` with f = votes_full / votes_half (Spearman
    1910, Brown 1910, doi:10.1111/j.2044-8295.1910.tb00206.x and .tb00207.x). Only outputs that both
    halves judged count. Intervals come from half-samples of clusters (HITs) on the scale of
    Fisher's z, with Student's t and one degree of freedom fewer than there are systems (for
    outputs: clusters). The systems are fixed. Splits in which a half has equal means are excluded.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", n_outputs=20, n_truth=0)
    >>> table = split_half(study, n_splits=20, n_resamples=20, seed=0)
    >>> table["quantity"].tolist()
    ['half', 'full', 'ceiling', 'half', 'full', 'ceiling']
    """
    check_n(n_splits, "n_splits")
    rng = np.random.default_rng(seed)
    frame = assign_hits(study, None)
    frame = frame[~frame["is_human"]]
    largest = frame["value"].abs().max()  # correlations do not depend on the unit
    frame = frame.assign(value=frame["value"] / largest if largest > 0 else 0.0)
    again = frame.duplicated("output_id", keep=False)
    n_left_out = int((~again).sum())
    if again.any():  # otherwise nothing is comparable, as `reason` reports
        frame = frame[again]
    outputs = frame.drop_duplicates("output_id").reset_index(drop=True)
    system, names = pd.factorize(outputs["system"])
    if len(names) < 3:
        raise Unsupported(
            "few_systems", f"a correlation over systems needs at least 3 systems. Got {len(names)}."
        )
    n_clusters = outputs["cluster"].nunique()
    output = pd.Index(outputs["output_id"]).get_indexer(frame["output_id"])
    sums, sizes = _halves(frame, output, n_splits, rng)
    shared = np.asarray((sizes > 0).all(axis=1))
    sums, sizes = sums * shared[:, None], sizes * shared[:, None]
    n, clusters = len(outputs), outputs["cluster"]
    halves = half_samples(n, clusters=clusters, n_resamples=n_resamples, seed=rng)
    weights = np.vstack([np.ones(n), halves])  # the first row is the full sample
    votes_full = len(frame) / n
    votes_half = float(sizes.sum() / (2 * shared.sum())) if shared.any() else float("nan")
    common: dict[str, float] = {"n_clusters": n_clusters, "n_left_out": n_left_out}
    common |= {"votes_full": votes_full, "votes_half": votes_half}
    rows = []
    for unit, values, n_units, df in (
        ("system", _over_systems(weights, sums, sizes, system), len(names), len(names) - 1),
        ("output", _over_outputs(weights, sums, sizes), len(outputs), n_clusters - 1),
    ):
        defined = np.isfinite(values)
        with np.errstate(invalid="ignore", divide="ignore"):
            half = np.where(defined, values, 0).sum(axis=1) / defined.sum(axis=1)
            z = np.arctanh(np.where(np.abs(half) < 1 - 1e-9, half, np.nan))
        # 1 - r is a sum of squares with one degree of freedom fewer than systems.
        interval_of_z = interval(z[1:], float(z[0]), df=max(1, df))
        ends = half[0], np.tanh(interval_of_z["ci_low"]), np.tanh(interval_of_z["ci_high"])
        n_undefined = interval_of_z["n_undefined"]
        for quantity in ("half", "full", "ceiling"):
            estimate, low, high = (_stepped(r, quantity, votes_full / votes_half) for r in ends)
            if quantity == "ceiling" and half[0] >= 0 and np.isnan(low):
                low = 0.0  # the halves correlate below 0 at this end
            if np.isnan(half[0]):
                status = explain("no_halves")
            elif np.isnan(estimate):
                status = explain("negative_halves")
            elif np.isnan(interval_of_z["ci_low"]) and not n_undefined:
                status = Status(str(interval_of_z["status"]), str(interval_of_z["reason"]))
            elif n_undefined:
                status = explain("undefined_half_samples", n=n_undefined, total=n_resamples)
            elif np.isnan(low):
                status = explain("negative_lower_end")
            else:
                status = clustering.few_clusters(n_clusters)
            row: dict[str, Any] = {"unit": unit, "quantity": quantity, "estimate": estimate}
            row |= {"ci_low": low, "ci_high": high, "confidence": 0.95}
            row |= {"n_undefined": n_undefined, "status": status, "reason": "", "n_units": n_units}
            rows.append(row | common)
    return split_status(pd.DataFrame(rows))


def _stepped(half: float, quantity: str, factor: float) -> float:
    """Convert a correlation of halves to that of full panels, or to the ceiling."""
    if quantity == "half" or np.isnan(half):
        return float(half)
    below = 1 + (factor - 1) * half
    reliability = factor * half / below if below > 0 else np.nan
    if quantity == "full":
        return float(reliability)
    return float(np.sqrt(reliability)) if reliability >= 0 else float("nan")


def _halves(frame: pd.DataFrame, row: Ints, n_splits: int, rng: Generator) -> tuple[Floats, Floats]:
    """Split annotators; return sums and numbers of judgments (n_splits, 2, n_outputs)."""
    annotator, _ = pd.factorize(pd.MultiIndex.from_frame(frame[["group_id", "annotator_id"]]))
    first = np.unique(annotator, return_index=True)[1]
    group, _ = pd.factorize(frame["group_id"].to_numpy()[first])
    size = np.bincount(group)
    start = np.cumsum(size) - size
    order = np.argsort(group + rng.random((n_splits, len(group))), axis=1)
    rank = order.argsort(axis=1) - start[group]  # place within the group
    half = np.where(rank < size[group] // 2, 0, np.where(rank < size[group] // 2 * 2, 1, 2))
    n_outputs = int(row.max()) + 1
    value = frame["value"].to_numpy()
    sums, sizes = np.empty((2, n_splits, 2, n_outputs))
    for split, side in np.ndindex(n_splits, 2):
        mine = half[split, annotator] == side
        sums[split, side] = np.bincount(row[mine], value[mine], minlength=n_outputs)
        sizes[split, side] = np.bincount(row[mine], minlength=n_outputs)
    return sums, sizes


def _over_systems(weights: Floats, sums: Floats, sizes: Floats, system: Ints) -> Floats:
    """Correlate the halves' means over systems: (half-samples, n_splits); NaN if undefined."""
    means = []
    for number in range(int(system.max()) + 1):
        mine, w = system == number, weights[:, system == number]
        total, size = (w @ x[:, :, mine].transpose(1, 2, 0) for x in (sums, sizes))
        means.append(total / np.where(size > 0, size, np.nan))
    a, b = np.stack(means, axis=-1)
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (a, b))
    size = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return np.asarray((x * y).sum(axis=-1) / np.where(size > 1e-12, size, np.nan))


def _over_outputs(weights: Floats, sums: Floats, sizes: Floats) -> Floats:
    """Correlate the two halves' means over outputs that both judged: (half-samples, n_splits)."""
    shared = np.asarray((sizes > 0).all(axis=1))
    a, b = (sums / np.maximum(sizes, 1) * shared[:, None]).transpose(1, 0, 2)
    n, x, y, xx, yy, xy = (weights @ values.T for values in (shared * 1.0, a, b, a**2, b**2, a * b))
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.sqrt((xx - x**2 / n) * (yy - y**2 / n))
        return np.asarray((xy - x * y / n) / np.where(size > 1e-9, size, np.nan))
