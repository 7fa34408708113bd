"""Agreement of an evaluator's scores with labels: rates of pass or fail, kappa, and pass rates."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench.analysis.judges.corrected import CORRECTED, FEWEST_LABELS, fit_means, read_scored
from nlgbench.analysis.judges.verdicts import share_interval
from nlgbench.analysis.people.coefficients import MOST_VALUES, cohen_kappa, gwet_ac1, one_hot
from nlgbench.arrays import Floats, Ints
from nlgbench.clustering import OTHER_ITEMS, THESE_ANNOTATORS, clusters_of, t_interval
from nlgbench.inference import ratio
from nlgbench.status import OK, Status, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.study.study import is_reversed

#: The row of a table that is about the outputs of all systems.
ALL_SYSTEMS = "all systems"
_Row = dict[str, Any]


@checked
def judge_agreement(
    study: Study,
    *,
    threshold: float | None = None,
    sampling: Literal["random", "other"] | None = None,
    evaluator: str | None = None,
    dimension: str | None = None,
    include_human: bool = False,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compare a judge's scores with labels: which outputs pass, and which fail.

    Parameters
    ----------
    study : Study
        A study with scores of outputs, and judgments of some of them. An output's label is the mean
        of its judgments.
    threshold : float, optional
        The worst label, and the worst score, that pass. Default: .5 if judgments and scores are 0
        or 1. Otherwise, scores and labels are compared as ordered values, without rates; if some
        are fractions, which are rarely equal, without accuracy and AC1.
    sampling : {"random", "other"}, optional
        How outputs were chosen for labels; adds ``corrected_pass_rate``. ``random``: as in
        `nlgbench.corrected_quality`. ``other``: in any other way, but the judge errs as often on
        outputs without a label (Rogan and Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510).
    evaluator : str, optional
        The judge. Default: each evaluator with scores.
    dimension, include_human, confidence
        As in `nlgbench.corrected_quality`.

    Returns
    -------
    DataFrame
        evaluator, system (``all systems``, then each if there are several), quantity, estimate,
        ci_low, ci_high, se, n (outputs), covers (what the interval generalizes to), confidence,
        status (a code; ``ok``), reason (its text). Quantities: true_positive_rate and
        true_negative_rate (shares of passing and of failing labels that the judge agrees with),
        accuracy, base_rate (share of labels that pass), constant_accuracy (of always giving the
        most frequent label), cohen_kappa (for ordered values weighted_kappa, with quadratic
        weights), gwet_ac1 (Gwet 2008, doi:10.1348/000711006X126600), judged_pass_rate (of all
        outputs; biased), corrected_pass_rate.

    Raises
    ------
    ValueError
        When no output has a label and a score, or when `sampling` is set without pass and fail.

    Notes
    -----
    Standard errors leave out one item (or one of ``settings["clusters"]``) at a time. Intervals of
    shares are Wilson's, with Student's t and the effective number of outputs ``r (1 - r) / se^2``;
    others are t intervals. By Rogan and Gladen, the pass rate is ``(judged_pass_rate + TNR - 1) /
    (TPR + TNR - 1)``, with the rates of the system's labels or, if it has none, of all labels. It
    is undefined (``near_chance``) unless the interval of the denominator is above 0.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judges", n_items=100, seed=1)
    >>> table = judge_agreement(study, threshold=3, evaluator="fair@score")
    >>> rows = table[table["quantity"].isin(["accuracy", "constant_accuracy"])].head(2)
    >>> rows[["quantity", "estimate", "ci_low", "ci_high"]].round(2).values.tolist()
    [['accuracy', 0.76, 0.72, 0.8], ['constant_accuracy', 0.52, 0.48, 0.57]]
    """
    dimension = study.dimension(dimension)
    judges = [evaluator] if evaluator else list(study.scored()["evaluator"].unique())
    tables = []
    for judge in judges:
        names, outputs, labels, _ = read_scored(study, judge, dimension, include_human)
        label = labels.groupby("output_id")["value"].mean()
        outputs = outputs.assign(label=outputs["output_id"].map(label))
        cuts = _find_thresholds(study, judge, dimension, threshold)
        if sampling and not cuts:
            raise Unsupported(
                "no_threshold",
                f"labels ({dimension}) or scores ({judge}) of {study.name} are not all 0 or 1, so "
                "no output passes or fails: set threshold, or omit sampling.",
            )
        for column, cut in cuts.items():
            values = outputs[column]
            outputs[column] = (values >= cut).astype(float).where(values.notna())
        for by_system in (False, True)[: len(names)]:
            frame = outputs if by_system else outputs.assign(system=0)
            table = _measure_systems(frame, bool(cuts), sampling, confidence)
            table["system"] = names[table["system"]] if by_system else ALL_SYSTEMS
            tables.append(table.assign(evaluator=judge, confidence=confidence))
    table = split_status(pd.concat(tables, ignore_index=True))
    return table[[*_COLUMNS]]


_COLUMNS = (
    *("evaluator", "system", "quantity", "estimate", "ci_low", "ci_high", "se", "n", "covers"),
    *("confidence", "status", "reason"),
)


def _find_thresholds(
    study: Study, evaluator: str, dimension: str, threshold: float | None
) -> dict[str, float]:
    """Return the least label and score that pass, with their signs; none if values are ordered."""
    assert study.judgments is not None and study.scores is not None
    judged = study.judgments.loc[study.judgments["dimension"] == dimension, "value"]
    scores = study.scores[study.scores["evaluator"] == evaluator]
    if threshold is None:
        if not (judged.isin([0, 1]).all() and scores["score"].isin([0, 1]).all()):
            return {}
        threshold = 0.5
    sign = -1 if is_reversed(scores).any() else 1
    return {"label": study.sign(dimension) * threshold, "score": sign * threshold}


def _measure_systems(
    outputs: pd.DataFrame, is_binary: bool, sampling: str | None, confidence: float
) -> pd.DataFrame:
    """Compute all quantities of each system."""
    corrected: list[_Row] = []
    if sampling == "random":
        corrected = _correct_by_regression(outputs, confidence)
    elif sampling == "other":
        corrected = _correct_by_rates(outputs, confidence)
    rows = []
    for system in range(outputs["system"].max() + 1):
        block = outputs[outputs["system"] == system]
        score, label = (block[name].to_numpy() for name in ("score", "label"))
        cluster = block["cluster"].to_numpy()
        share = partial(_estimate_share, cluster, confidence=confidence)
        is_labeled = ~np.isnan(label)
        rare = OK
        if not is_binary and not (_are_whole(score) and _are_whole(label)):
            rare = explain("fractions")
        quantities = {"accuracy": share(score == label, is_labeled, missing=rare)}
        if is_binary:
            quantities = {
                "true_positive_rate": share(score == 1, label == 1),
                "true_negative_rate": share(score == 0, label == 0),
                **quantities,
                "base_rate": share(label == 1, is_labeled),
            }
        labels = label[is_labeled]
        values, counts = np.unique(labels, return_counts=True)
        most_frequent = values[counts.argmax()] if len(values) else np.nan
        quantities["constant_accuracy"] = share(label == most_frequent, is_labeled, missing=rare)
        paired = score[is_labeled], labels, cluster[is_labeled]
        quantities |= _estimate_coefficients(*paired, is_binary, confidence, rare)
        if is_binary:
            judged = share(score == 1, np.ones(len(score), dtype=bool))
            judged |= {"covers": OTHER_ITEMS, "status": explain("biased_rate") + judged["status"]}
            quantities["judged_pass_rate"] = judged
        if corrected:
            quantities["corrected_pass_rate"] = corrected[system]
        rows += [{"system": system, "quantity": name} | row for name, row in quantities.items()]
    return pd.DataFrame(rows)


def _are_whole(values: Floats) -> bool:
    return bool((values[~np.isnan(values)] % 1 == 0).all())


def _estimate_share(
    cluster: Ints, hit: Any, used: Any, confidence: float, missing: Status = OK
) -> _Row:
    """Estimate the share of hits among the outputs used."""
    clusters = clusters_of(cluster[used][:, None])
    addends = np.column_stack([hit[used], used[used]]).astype(np.float64)
    estimate, se = clusters.jackknife(addends, lambda sums: ratio(sums[..., 0], sums[..., 1]))
    interval = share_interval(estimate, se, clusters, int(used.sum()), confidence)
    return _describe(interval, used, missing)


def _describe(interval: _Row, used: Any, missing: Status = OK) -> _Row:
    """Add the number of outputs, and what the interval generalizes to."""
    status = missing or Status(interval["status"], interval["reason"])
    if missing:
        interval = interval | dict.fromkeys(("estimate", "ci_low", "ci_high", "se"), np.nan)
    return interval | {"n": int(used.sum()), "covers": THESE_ANNOTATORS, "status": status}


def _estimate_coefficients(
    score: Floats,
    label: Floats,
    cluster: Ints,
    is_binary: bool,
    confidence: float,
    rare: Status,
) -> dict[str, _Row]:
    """Estimate Cohen's kappa (weighted for ordered values) and, unless `rare` says why not, AC1."""
    scale = np.unique([0.0, 1.0] if is_binary else np.append(score, label))
    missing = OK
    if len(scale) > MOST_VALUES:
        hint = ", or set threshold"
        missing = explain("many_values", n=len(scale), most=MOST_VALUES, other=hint)
    elif not np.isin(score, label).any() and not is_binary:
        missing = explain("other_labels")
    if missing:
        scale = scale[:2]
    cells = one_hot(score, scale)[:, :, None] * one_hot(label, scale)[:, None, :]
    clusters, k = clusters_of(cluster[:, None]), len(scale)
    addends = cells.reshape(len(cells), k**2)
    weighted = partial(cohen_kappa, distance=(scale[:, None] - scale) ** 2)
    rows = {}
    for name, coefficient, no_value in (
        ("cohen_kappa" if is_binary else "weighted_kappa", weighted, missing),
        ("gwet_ac1", gwet_ac1, rare or missing),
    ):

        def statistic(sums: Floats, coefficient: Any = coefficient) -> Floats:
            return np.asarray(coefficient(sums.reshape(*sums.shape[:-1], k, k)))

        estimate, se = clusters.jackknife(addends, statistic)
        row: _Row = t_interval(
            estimate, se, clusters.n, units=clusters.units, confidence=confidence
        )
        row |= {"ci_low": max(-1.0, row["ci_low"]), "ci_high": min(1.0, row["ci_high"])}
        rows[name] = _describe(row, label == label, no_value)
    return rows


def _correct_by_regression(outputs: pd.DataFrame, confidence: float) -> list[_Row]:
    """Correct each system's pass rate by its labels, which are a random sample."""
    labels = outputs[outputs["label"].notna()].rename(columns={"label": "value"})
    labels = labels.assign(weight=1.0)
    k = outputs["system"].max() + 1
    fit = fit_means(outputs, labels, CORRECTED, over_annotators=False, k=k)
    rows = []
    for system, weights in enumerate(np.eye(k)):
        estimate, se, _ = fit.contrast(weights)
        labeled = labels.loc[labels["system"] == system, "cluster"].to_numpy()
        n_outputs = int((outputs["system"] == system).sum())
        missing = OK if len(labeled) else explain("no_labels")
        if len(labels) < FEWEST_LABELS:
            missing = explain("few_labels", least=FEWEST_LABELS)
        row = share_interval(estimate, se, clusters_of(labeled[:, None]), n_outputs, confidence)
        rows.append(_describe(row, labeled == labeled, missing))
    return rows


def _correct_by_rates(outputs: pd.DataFrame, confidence: float) -> list[_Row]:
    """Correct each system's pass rate by the judge's error rates (Rogan and Gladen 1978)."""
    rows = []
    for system in range(outputs["system"].max() + 1):
        inside = outputs["system"] == system
        labeled = outputs["label"].notna()
        labeled &= inside if (labeled & inside).any() else True
        label, passes = outputs["label"].where(labeled), outputs["score"] == 1
        addends = [inside, inside & passes, label == 1, (label == 1) & passes]
        addends += [label == 0, (label == 0) & ~passes]
        sums = np.column_stack(addends).astype(np.float64)[labeled | inside]
        cluster = outputs.loc[labeled | inside, "cluster"].to_numpy()

        def statistic(sums: Floats) -> Floats:
            judged, positive, negative = np.moveaxis(ratio(sums[..., 1::2], sums[..., ::2]), -1, 0)
            above_chance = positive + negative - 1
            return np.stack([ratio(judged + negative - 1, above_chance), above_chance], axis=-1)

        (estimate, above), (se, above_se) = clusters_of(cluster[:, None]).jackknife(sums, statistic)
        clusters = clusters_of(outputs.loc[labeled, ["cluster"]].to_numpy())
        quantile = student.ppf(0.5 + confidence / 2, clusters.n - 1) if clusters.n > 1 else np.nan
        missing = OK
        if not above - quantile * above_se > 0:
            missing = explain("near_chance", value=above)
        row: _Row = t_interval(
            np.clip(estimate, 0, 1), se, clusters.n, units=clusters.units, confidence=confidence
        )
        half = quantile * se
        row |= {"ci_low": max(0.0, estimate - half), "ci_high": min(1.0, estimate + half)}
        rows.append(_describe(row, labeled, missing))
    return rows
