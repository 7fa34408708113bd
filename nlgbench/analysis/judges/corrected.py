"""Corrected means from an evaluator's scores of all outputs and judgments of a random sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench import clustering
from nlgbench.analysis.people.comparing import add_verdicts
from nlgbench.analysis.people.grouped import COLUMNS, compare_groups, compare_within
from nlgbench.arrays import Floats, Ints
from nlgbench.inference import adjust
from nlgbench.reported import Reported
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

Sampling = Literal["random", "weighted"]
LABELS, EVALUATOR, CORRECTED = "labels alone", "evaluator alone", "corrected"
METHODS = (LABELS, EVALUATOR, CORRECTED)
#: With fewer labels in total, the slope of labels on scores is undefined.
FEWEST_LABELS = 20
#: Systems with fewer labels share a common slope.
FEWEST_OWN = 30


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedQuality(Reported):
    """Systems' means from few labels and an evaluator's scores: the result of `corrected_quality`.

    >>> import nlgbench as nb
    >>> found = corrected_quality(nb.simulate("own", seed=1), evaluator="close", sampling="random")
    >>> isinstance(found, CorrectedQuality), len(found.systems)
    (True, 15)
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    details: pd.DataFrame
    groups: pd.DataFrame


@checked
def corrected_quality(
    study: Study,
    *,
    evaluator: str,
    sampling: Sampling,
    dimension: str | None = None,
    include_human: bool = False,
    by: str | None = None,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> CorrectedQuality:
    """Estimate systems' mean judgments from scores of all outputs and judgments of a sample.

    Parameters
    ----------
    study : Study
        A study with scores of outputs, and judgments of some of them. An output's label is the mean
        of its judgments.
    evaluator : str
        The evaluator whose scores are used.
    sampling : {"random", "weighted"}
        How outputs were chosen for annotation. ``random`` states that all outputs of a system were
        equally likely to be chosen, which the tables do not show. ``weighted`` uses the columns
        ``probability`` and ``stratum`` from `sample_labels`. Other samples cannot be corrected.
    dimension : str, optional
        A dimension of the judgments. Default: quality. Signs are flipped where lower is better.
    include_human : bool
        Whether human texts count as a system. Default: they are excluded.
    by : str, optional
        A column of ``outputs`` that groups items, as in `nlgbench.compare_systems`. Systems are
        also compared within each group.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to: other items judged by these annotators, or other items and
        annotators. Default: random if the effective number of annotators is at least ten. If each
        annotator judged a single cluster of items, intervals over clusters also generalize to other
        annotators.
    confidence : float
        Confidence level of intervals, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    CorrectedQuality
        ``systems``, three rows per system, the best first: system, method (``labels alone``,
        ``evaluator alone``, ``corrected``), estimate, ci_low, ci_high, covers (what the interval
        generalizes to), rank_low, rank_high (simultaneous intervals), labels_saved (how many more
        labels would give the same precision without the evaluator), n_labels (labeled outputs),
        n_outputs, confidence, status (a code; ``ok``), reason (its text).

        ``details``, by system and method: label, se, df, lambda (of
        PPI++), correlation (of labels and scores), better (higher or lower values).

        ``pairs``, for ``labels alone`` and ``corrected``, a row for each direction of a pair of
        systems: method, system, opponent, estimate (the difference; above 0: system is better),
        ci_low, ci_high, se, df, p, p_adjusted (Holm over all pairs), verdict (``better``,
        ``worse``, ``undecided``), n_items (with outputs of both systems), covers, status, reason.

        ``groups`` (empty without `by`), for all three methods: method, and the columns of
        ``groups`` of `nlgbench.compare_systems`, adjusted within a method.

    Raises
    ------
    ValueError
        When the study lacks judgments or this evaluator's scores, or no output has both.

    Notes
    -----
    ``estimate = mean label + beta (mean score of all - mean score of labeled outputs)``, where beta
    is the slope of labels on scores. With ``beta = lambda (1 + n / N)``, for n outputs with a label
    and N without one, this is the estimator of PPI++ (Angelopoulos, Duchi and Zrnic 2023,
    doi:10.48550/arXiv.2311.01453) and the regression estimator of survey sampling. If weighted, all
    sums over labels, also in beta, have weights 1 / probability (Hájek), rescaled to each stratum's
    number of outputs (Särndal, Swensson and Wretman 1992, chapters 6 and 7). Jackknife standard
    errors leave out one cluster (an item, or ``settings["clusters"]``) at a time and, if
    annotators are random, also one annotator at a time. Student's t has ``G - 1`` degrees of
    freedom, where G is the system's effective number of clusters or, if annotators are random, that
    of annotators if it is smaller. For a pair, G is the smaller of its two systems' values.
    docs/validation.md reports the measured coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_items=200, design="scattered", n_annotators=40, seed=1)
    >>> part = nb.sample_labels(study, 300, dimension="quality", seed=1)
    >>> found = corrected_quality(part, evaluator="close", sampling="weighted")
    >>> best = found.systems.query("system == 's05'")
    >>> best[["method", "estimate", "ci_low", "ci_high", "labels_saved"]].round(2)
                method  estimate  ci_low  ci_high  labels_saved
    0     labels alone      0.42    0.05     0.78          0.00
    1  evaluator alone      0.55    0.38     0.71           NaN
    2        corrected      0.42    0.09     0.74         18.81
    """
    dimension = study.dimension(dimension)
    names, outputs, labels, left_out = read_scored(
        study, evaluator, dimension, include_human, sampling
    )
    covers, unknown, over_annotators = _choose_coverage(study, labels, annotators)
    k = len(names)
    n_labels = np.bincount(labels.drop_duplicates("output_id")["system"], minlength=k)
    n_outputs = np.bincount(outputs["system"], minlength=k)
    group_of = None if by is None else clustering.group_items(study.outputs, by)
    tables, compared_by_method, groups = [], [], []
    for method in METHODS:
        refit = partial(fit_means, method=method, over_annotators=over_annotators, k=k)
        fit = refit(outputs, labels)
        of_labels = method != EVALUATOR
        missing = unknown if of_labels else OK
        options: dict[str, Any] = {"missing": missing, "confidence": confidence}
        table = pd.DataFrame([_contrast_row(*fit.contrast(w), **options) for w in np.eye(k)])
        table["covers"] = covers if of_labels else "other items"
        table["rank_low"] = table["rank_high"] = np.nan
        if of_labels and k > 1:
            compared = _compare_pairs(refit, outputs, labels, options)
            compared_by_method.append(compared.assign(method=method, covers=covers))
            if compared["p_adjusted"].notna().all():
                better = (compared["verdict"] == "better").to_numpy()
                sides = compared["system"].to_numpy(), compared["opponent"].to_numpy()
                table = table.assign(**clustering.rank_ranges(*sides, better, k))
        if group_of is not None:
            named = (rows.assign(system=names[rows["system"]]) for rows in (outputs, labels))
            within = _compare_within(refit, *named, group_of=group_of, options=options)
            within = within.assign(covers=table["covers"].iloc[0])
            groups.append(compare_groups(within, confidence).assign(method=method))
        slope = fit.slope * (1 - n_labels / n_outputs)
        table = table.assign(number=range(k), method=method, n_outputs=n_outputs)
        tables.append(table.assign(n_labels=n_labels * of_labels, **{"lambda": slope}))
    alone, uncorrected, corrected = tables
    alone["labels_saved"] = 0.0
    corrected["labels_saved"] = n_labels * ((alone["se"] / corrected["se"]) ** 2 - 1)
    corrected["correlation"] = _correlate_labels(labels, k)
    few: Any = explain("few_labels", least=FEWEST_LABELS)
    no_labels: Any = explain("no_labels")
    uncorrected["status"] = [explain("biased") + status for status in uncorrected["status"]]
    if n_labels.sum() < FEWEST_LABELS:
        corrected["status"] = [few] * k
    for table in (alone, corrected):
        table["status"] = table["status"].where(n_labels > 0, no_labels)
    table = pd.concat(tables)
    level = corrected["estimate"].fillna(alone["estimate"])
    rank = level.rank(ascending=False, method="first", na_option="bottom").to_numpy()
    table = table.iloc[np.argsort(rank[table["number"]], kind="stable")].reset_index(drop=True)
    table["status"] = table["status"] + left_out[table["number"]]
    table = split_status(table)
    table["system"] = names[table["number"]]
    table["label"] = [study.label(name) for name in table["system"]]
    table["confidence"] = confidence
    table["better"] = "lower (signs are flipped)" if study.sign(dimension) < 0 else "higher"
    pairs = pd.DataFrame(columns=list(_PAIRS))
    if compared_by_method:
        pairs = split_status(pd.concat(compared_by_method))
        pairs = pairs.assign(a=rank[pairs["system"]], b=rank[pairs["opponent"]])
        pairs = pairs.sort_values(["method", "a", "b"], ignore_index=True)
        pairs = pairs.assign(system=names[pairs["system"]], opponent=names[pairs["opponent"]])
    within = pd.concat(groups) if groups else pd.DataFrame(columns=[*_GROUPS])
    return CorrectedQuality(
        table[list(_SYSTEMS)],
        pairs[list(_PAIRS)],
        details=table[list(_DETAILS)],
        groups=within[[*_GROUPS]].reset_index(drop=True),
    )


_SYSTEMS = (
    *("system", "method", "estimate", "ci_low", "ci_high", "covers", "rank_low", "rank_high"),
    *("labels_saved", "n_labels", "n_outputs", "confidence", "status", "reason"),
)
_DETAILS = (*("system", "method", "label", "se", "df", "lambda", "correlation", "better"),)
_PAIRS = (
    *("method", "system", "opponent", "estimate", "ci_low", "ci_high", "se", "df", "p"),
    *("p_adjusted", "verdict", "n_items", "covers", "status", "reason"),
)
_GROUPS = ("method", *(name for name in COLUMNS if name != "dimension"))


def read_scored(
    study: Study,
    evaluator: str,
    dimension: str,
    include_human: bool,
    sampling: Sampling = "random",
) -> tuple[np.ndarray, pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Return systems' names, outputs with scores, their judgments, and notes on exclusions."""
    scores = study.scored([evaluator]).set_index("output_id")["score"]
    outputs = study.outputs if include_human else study.outputs[~study.outputs["is_human"]]
    cluster = outputs[study.clusters if study.clusters in outputs else "item_id"]
    outputs = outputs.assign(score=outputs["output_id"].map(scores), cluster=cluster)
    if sampling == "random" or "stratum" not in outputs:
        outputs["stratum"] = ""
    unscored = outputs.loc[outputs["score"].isna(), "system"].value_counts()
    columns = ["output_id", "system", "item_id", "cluster", "score", "stratum"]
    outputs = outputs.loc[outputs["score"].notna(), columns]
    outputs["system"], names = pd.factorize(outputs["system"])
    outputs["cluster"] = pd.factorize(outputs["cluster"], use_na_sentinel=False)[0]
    judged = study.judged(dimension)[["output_id", "annotator_id", "value"]]
    labels = judged.merge(outputs, on="output_id", validate="m:1")
    if labels.empty:
        raise Unsupported(
            "no_scores",
            f"{study.name} has no output with a score of {evaluator!r} and a judgment of "
            f"{dimension!r}: score the judged outputs, or collect judgments of scored ones.",
        )
    labels["annotator"] = pd.factorize(labels["annotator_id"])[0]
    labels["weight"] = 1 / labels.groupby("output_id")["value"].transform("size")
    if sampling == "weighted":
        labels["weight"] /= _inclusion(study, labels["output_id"])
    gone = ", ".join(unscored.index.difference(names))
    none = explain("unscored_systems", names=gone) if gone else OK
    counts = [unscored.get(name, 0) for name in names]
    left_out = [(explain("unscored_outputs", n=n) if n else OK) + none for n in counts]
    return names.to_numpy(dtype=object), outputs, labels, np.array(left_out, dtype=object)


def _inclusion(study: Study, ids: pd.Series) -> pd.Series:
    """Read the inclusion probabilities of labeled outputs."""
    column = study.outputs.set_index("output_id").get("probability", pd.Series())
    probability = ids.map(pd.to_numeric(column, errors="coerce"))
    if (wrong := ~probability.between(0, 1, inclusive="right")).any():
        raise ValueError(
            f"output {ids[wrong].iloc[0]!r} has a judgment, but no probability above 0 and at most "
            "1. Draw outputs by sample_labels or `nlgbench sample`, and drop judgments of others; "
            "or state sampling='random'."
        )
    return probability


def _choose_coverage(
    study: Study, labels: pd.DataFrame, annotators: Literal["fixed", "random"] | None
) -> tuple[str, Status, bool]:
    """Return what intervals generalize to, why they are missing, and whether annotators vary."""
    met = labels.drop_duplicates(["cluster", "annotator"])
    if annotators != "fixed" and not met["annotator"].duplicated().any():
        return clustering.OTHER_ANNOTATORS, OK, False  # each annotator belongs to one cluster
    who = labels["annotator"].to_numpy()
    n = clustering.effective_sizes(who, 0 * who, 1, labels["weight"].to_numpy())[0]
    covers, unknown = clustering.choose_annotators(annotators, float(n), persons=study.persons)
    return covers, unknown, covers == clustering.OTHER_ANNOTATORS and not unknown


@dataclass(frozen=True, eq=False)
class SystemMeans:
    """Systems' means by one method, and their changes when a cluster is left out."""

    estimate: Floats
    slope: Floats
    #: By factor: items, or items, annotators and both; each (clusters, systems).
    changes: list[Floats]
    #: Effective number of clusters of each system.
    n: Floats

    def contrast(self, weights: Floats) -> tuple[float, float, float]:
        """Return a contrast of systems, its standard error, and its number of clusters."""
        used = weights != 0
        variances = [((change[:, used] @ weights[used]) ** 2).sum() for change in self.changes]
        se = float(np.sqrt(clustering.largest_variance(*variances)))
        # The difference of two constants may vary by rounding errors.
        se = se if se > 1e-12 * np.abs(self.estimate[used]).max() else 0.0
        return float(self.estimate[used] @ weights[used]), se, float(self.n[used].min())


def fit_means(
    outputs: pd.DataFrame, labels: pd.DataFrame, method: str, over_annotators: bool, k: int
) -> SystemMeans:
    """Estimate the means of k systems, with and without each cluster."""
    system = np.append(labels["system"], outputs["system"])
    cluster = np.append(labels["cluster"], outputs["cluster"])
    # Center values by system, so that sums of products keep their precision.
    label_mean = labels.groupby("system")["value"].mean().reindex(range(k)).to_numpy()
    score_mean = outputs.groupby("system")["score"].mean().reindex(range(k)).to_numpy()
    y = labels["value"].to_numpy() - label_mean[labels["system"]]
    f = np.append(labels["score"], outputs["score"]) - score_mean[system]
    is_label = np.arange(len(system)) < len(labels)
    w, y = (np.append(values, 0 * outputs["score"]) for values in (labels["weight"], y))
    rows = np.column_stack([w, w * y, w * f, w * y * f, w * f**2, ~is_label, ~is_label * f])
    factors = [cluster]
    if over_annotators and method != EVALUATOR:
        annotator = np.append(labels["annotator"], np.full(len(outputs), -1))
        cell = np.where(is_label, cluster * (annotator.max() + 1) + annotator, -1)
        factors += [annotator, np.unique(cell, return_inverse=True)[1] - 1]
    stratum, members = _number_strata(labels, outputs, factors[:2], k)

    def sums(label: Ints) -> Floats:
        totals = np.zeros((label.max() + 1, len(members), rows.shape[1]))
        np.add.at(totals, (label[label >= 0], stratum[label >= 0]), rows[label >= 0])
        return totals

    n_labels = np.bincount(labels.drop_duplicates("output_id")["system"], minlength=k)

    def means(sums: Floats) -> tuple[Floats, Floats]:
        sums = _add_strata(sums, members)
        n, y, f, yf, ff, n_outputs, all_f = np.moveaxis(sums, -1, 0)
        n, n_outputs = (np.where(counts > 1e-9, counts, np.nan) for counts in (n, n_outputs))
        product, square = yf - y * f / n, np.where(ff * n - f**2 > 1e-12 * ff, ff - f**2 / n, 0)
        shared = [np.nansum(sums_of, axis=-1, keepdims=True) for sums_of in (product, square)]
        product, square = np.where(n_labels >= FEWEST_OWN, [product, square], shared)
        slope = product / np.where(square > 0, square, np.inf)
        if method == EVALUATOR:
            return all_f / n_outputs + score_mean, slope * np.nan
        if method == LABELS:
            return y / n + label_mean, 0 * slope
        slope = slope if n_labels.sum() >= FEWEST_LABELS else slope * np.nan
        return y / n + label_mean + slope * (all_f / n_outputs - f / n), slope

    total = sums(0 * system)[0]
    estimate, slope = means(total)
    counted = np.where(is_label, 0.0, 1.0) if method == EVALUATOR else w
    changes, sizes = [], []
    for label in factors:
        inside = label >= 0
        n = clustering.effective_sizes(label[inside], system[inside], k, counted[inside])
        lost = sums(label)
        change = means(total - lost)[0] - estimate
        changes.append(np.sqrt(_share_left(lost[..., 0], members, n)) * change)
        sizes.append(n)
    return SystemMeans(estimate, slope, changes, np.min(sizes[:2], axis=0))


def _number_strata(
    labels: pd.DataFrame, outputs: pd.DataFrame, factors: list[Ints], k: int
) -> tuple[Ints, Floats]:
    """Return the stratum of each label and output, and which (strata, systems) belong together."""
    system, name = (np.append(labels[key], outputs[key]) for key in ("system", "stratum"))
    stratum = np.unique(system * (len(name) + 1) + pd.factorize(name)[0], return_inverse=True)[1]
    for factor in factors:
        pairs = pd.DataFrame({"stratum": stratum, "factor": factor})[: len(labels)]
        n_labeled = pairs.drop_duplicates().value_counts("stratum")
        # Without one of its clusters, each stratum must have labels; otherwise, ignore strata.
        if len(n_labeled) <= stratum.max() or n_labeled.min() < 2:
            return system, np.eye(k)
    if stratum.max() < len(np.unique(system)):
        return system, np.eye(k)
    members = np.zeros((stratum.max() + 1, k))
    members[stratum, system] = 1
    return stratum, members


def _add_strata(sums: Floats, members: Floats) -> Floats:
    """Add sums over strata to sums over systems, each stratum's labels in its share of outputs."""
    if len(members) == members.shape[1]:
        return sums
    n_labels, n_outputs = sums[..., 0], sums[..., 5]
    labels_per_output = (n_labels @ members) / np.maximum(n_outputs @ members, 1)
    scale = np.ones_like(sums)
    scale[..., :5] = (n_outputs / n_labels * (labels_per_output @ members.T))[..., None]
    added: Floats = np.einsum("...gm,gk->...km", scale * sums, members)
    return added


def _share_left(weights: Floats, members: Floats, n: Floats) -> Floats:
    """Return the jackknife's factor 1 - 1/n for each cluster, with n clusters in its stratum."""
    if len(members) == members.shape[1]:
        return (n - 1) / n
    lost, total = weights / (weights > 0).sum(axis=0), weights @ members
    share: Floats = 1 - (lost @ members) / np.where(total > 0, total, 1)
    return share


def _contrast_row(
    estimate: float, se: float, n: float, *, missing: Status, confidence: float
) -> dict[str, Any]:
    row: dict[str, Any] = clustering.t_interval(
        *(estimate, se, n), units="effective clusters", missing=missing, confidence=confidence
    )
    se = se if np.isfinite(row["ci_low"]) else np.nan
    status = Status(row["status"], row["reason"])
    return row | {"se": se, "df": n - 1 if se == se else np.nan, "status": status}


def _correlate_labels(labels: pd.DataFrame, k: int) -> list[float]:
    """Correlate labels and scores of each system's outputs."""
    means = labels.groupby(["system", "output_id"])[["value", "score"]].mean()
    correlations = means.groupby("system").corr()["score"].xs("value", level=1)
    return correlations.reindex(range(k)).tolist()


def _compare_pairs(
    refit: partial[SystemMeans],
    outputs: pd.DataFrame,
    labels: pd.DataFrame,
    options: dict[str, Any],
) -> pd.DataFrame:
    """Compare each pair of systems, in both directions."""
    items = outputs.groupby("system")["item_id"].agg(set)
    k, rows, fit = len(items), [], refit(outputs, labels)
    for first, second in combinations(range(k), 2):
        shared, used, judged = items[first] & items[second], fit, labels
        if shared and items[first] != items[second]:
            # Compare over the items with outputs of both.
            some = outputs[outputs["item_id"].isin(shared)]
            some = some[some["system"].isin([first, second])]
            judged = labels[labels["output_id"].isin(some["output_id"])]
            used = refit(some, judged)
        few = judged["output_id"].nunique() < FEWEST_LABELS and (
            refit.keywords["method"] == CORRECTED
        )
        missing = explain("few_labels", least=FEWEST_LABELS) if few else options["missing"]
        contrast = used.contrast(np.eye(k)[first] - np.eye(k)[second])
        row = _contrast_row(*contrast, **options | {"missing": missing})
        rows.append({"system": first, "opponent": second, "n_items": len(shared)} | row)
    table = pd.DataFrame(rows)
    table["p"] = 2 * student.sf(np.abs(table["estimate"]) / table["se"], table["df"])
    table["p_adjusted"] = adjust(table["p"])
    turn = {"system": "opponent", "opponent": "system", "ci_low": "ci_high", "ci_high": "ci_low"}
    turned = table.rename(columns=turn)
    turned[["estimate", "ci_low", "ci_high"]] *= -1
    table = pd.concat([table, turned])
    p, better = table["p_adjusted"], table["estimate"] > 0
    significant = p < 1 - options["confidence"]
    conditions = [p.isna(), ~significant, better]
    return table.assign(verdict=np.select(conditions, ["", "undecided", "better"], "worse"))


def _compare_within(
    refit: partial[SystemMeans],
    outputs: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    group_of: pd.Series[str],
    options: dict[str, Any],
) -> pd.DataFrame:
    """Compare systems, which are named here, within each group of items, by one method."""
    frame = outputs if refit.keywords["method"] == EVALUATOR else labels

    def compare(rows: pd.DataFrame) -> pd.DataFrame:
        items = group_of.index[group_of == group_of[rows["item_id"].iloc[0]]]
        systems = rows["system"].unique()
        if len(systems) < 2:
            raise Unsupported("one_system", "this group has labels of one system only.")
        code_of = {name: code for code, name in enumerate(systems)}
        texts, judged = (
            table[table["item_id"].isin(items) & table["system"].isin(systems)].assign(
                system=lambda rows: rows["system"].map(code_of)
            )
            for table in (outputs, labels)
        )
        pairs = _compare_pairs(partial(refit, k=len(systems)), texts, judged, options)
        if refit.keywords["method"] == EVALUATOR:
            pairs["status"] = [explain("biased") + status for status in pairs["status"]]
        return pairs.assign(system=systems[pairs["system"]], opponent=systems[pairs["opponent"]])

    within = compare_within(frame.assign(dimension=""), group_of, compare)
    return add_verdicts(within, None, options["confidence"])
