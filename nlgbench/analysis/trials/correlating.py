"""Correlation of evaluators with human judgments over trials, and comparison of evaluators."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench.analysis.correlation import compare_evaluators, correlate
from nlgbench.analysis.correlation.coefficients import weighted_coefficients
from nlgbench.analysis.trials.running import BASELINES, COMPARED, Trials
from nlgbench.arrays import Floats
from nlgbench.clustering import FEWEST, jackknife_covariance
from nlgbench.names import known
from nlgbench.status import OK, Status, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table

#: With fewer systems, the interval is undefined.
LEAST = 5
METHOD = "delete-one-system jackknife of z, and the variance over splits, t"


@checked
def system_quality(study: Study) -> pd.Series:
    """Average human judgments of each system's outputs, in the quality dimension.

    Parameters
    ----------
    study : Study
        A study with judgments.

    Returns
    -------
    Series
        The mean over outputs of each output's mean judgment, by system, without human texts.

    Raises
    ------
    ValueError
        When the study has no judgments, or has several dimensions but declares none as quality.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": [*"123"], "item_id": "1", "system": [*"aab"]})
    >>> judged = pd.DataFrame({"output_id": [*"123"], "annotator_id": "w", "value": [1, 2, 5]})
    >>> system_quality(Study(outputs, judged)).to_dict()
    {'a': 1.5, 'b': 5.0}
    """
    rows = study.judged()
    means = rows[~rows["is_human"]].groupby(["system", "output_id"])["value"].mean()
    return means.groupby("system").mean()


@checked
def correlate_outputs(trials: Trials, *, n_resamples: int = 1_000, seed: int = 0) -> pd.DataFrame:
    """Correlate evaluators' scores of single held-out outputs with human judgments.

    The table of `nlgbench.correlate` for the first split, with Spearman's and Pearson's
    correlations, plus data, split, supervision, and the mean, min and max over splits. Splits
    share texts, so the range from min to max is not a confidence interval.
    """
    rows = []
    for (name, number), test in trials.tests.items():
        table = correlate(
            test,
            granularity="output",
            statistics=("spearman", "pearson"),
            resample="items" if number == 0 else None,
            dimension=test.dimension(),
            n_resamples=n_resamples,
            seed=seed,
        )
        rows.append(table.assign(data=name, split=number))
    every = pd.concat(rows, ignore_index=True)
    keys = ["data", "evaluator", "statistic"]
    spread = every.groupby(keys)["estimate"].agg(["mean", "min", "max"]).reset_index()
    table = every[every["split"] == 0].merge(spread, on=keys, validate="one_to_one")
    return table.assign(supervision=table["evaluator"].map(trials.supervision))


@checked
def compare_outputs(trials: Trials, *, n_resamples: int = 1_000, seed: int = 0) -> pd.DataFrame:
    """Compare the comparator with skill rating to each baseline, on the first split of each study.

    Columns: data, evaluator_a (the comparator), evaluator_b (a baseline), estimate (the difference
    of Spearman's correlations, positive where the comparator agrees better with human
    judgments), ci_low, ci_high, over (the split and the resampled units), status, reason.
    """
    rows = []
    for name in trials.studies:
        test = trials.tests[name, 0]
        baselines = sorted({*test.scored()["evaluator"]} & {*BASELINES})
        table = compare_evaluators(
            test,
            evaluators=[(COMPARED[0], baseline) for baseline in baselines],
            granularity="output",
            statistic="spearman",
            dimension=test.dimension(),
            n_resamples=n_resamples,
            seed=seed,
        )
        unit = "items" if test.clusters == "item_id" else test.clusters
        rows.append(table.assign(data=name, over=f"first split, {unit} resampled"))
    columns = ["data", "evaluator_a", "evaluator_b", "estimate", "ci_low", "ci_high", "over"]
    return pd.concat(rows, ignore_index=True)[[*columns, "status", "reason"]]


@checked
def correlate_systems(trials: Trials) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate systems' scores with human judgments, over the splits of each data set.

    The tables of `correlate_trials`, with a column data; the first also has supervision.
    """
    levels_of, between = [], []
    for name, statistic in product(trials.studies, ("spearman", "pearson")):
        rows = trials.systems[trials.systems["data"] == name].drop(columns="data")
        quality = system_quality(trials.studies[name])
        levels, gaps = correlate_trials(rows, quality, statistic=statistic)
        levels_of.append(levels.assign(data=name))
        between.append(gaps.assign(data=name))
    levels = pd.concat(levels_of, ignore_index=True)
    levels["supervision"] = levels["evaluator"].map(trials.supervision)
    return levels, pd.concat(between, ignore_index=True)


@checked
def correlate_trials(
    scores: pd.DataFrame, human: pd.Series, *, statistic: str = "spearman", confidence: float = 0.95
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate systems' scores with human quality, averaged over trials.

    Parameters
    ----------
    scores : DataFrame
        Columns evaluator, trial, system, score (higher is better). A trial is a split of the
        outputs, with the evaluators trained on it.
    human : Series
        The human quality of each system, indexed by system.
    statistic : {"spearman", "pearson"}
        The correlation over the systems of one trial.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        First, a row per evaluator: evaluator, statistic, estimate (the mean over trials), ci_low,
        ci_high, lowest, highest (over trials), confidence, n (systems), n_trials, n_undefined
        (trials without a coefficient, which are excluded), method, status (a code; ``ok``), reason
        (its text). Second, a row per pair of evaluators: evaluator_a,
        evaluator_b, statistic, estimate (a minus b, over the trials with coefficients of both),
        ci_low, ci_high, confidence, method, status, reason.

    Raises
    ------
    ValueError
        When a column or a system's quality is missing, a system is repeated in a trial, a name is
        unknown, or a number is out of range.

    Notes
    -----
    The interval generalizes to other systems and other splits. Its variance, on the scale of ``z =
    atanh`` of the mean correlation, is a delete-one-system jackknife variance, plus 1 / n_trials of
    the variance of correlations between trials. Student's t has n - 2 degrees of freedom. For a
    difference, the intervals of both evaluators are combined (Zou 2007,
    doi:10.1037/1082-989X.12.4.399), with the correlation of the two estimates computed likewise.
    Trials share texts, and this dependence is ignored.

    docs/validation.md reports coverage. The interval is undefined for fewer than five systems, or
    if the mean correlation over all (or all but one) of them is 1, -1 or undefined. ``status``
    warns of under ten systems or one trial.

    Examples
    --------
    >>> rows = [(e, t, s, float(q * (1 if e == "good" else -1)))
    ...         for e in ("good", "bad") for t in range(3) for q, s in enumerate("abcdef")]
    >>> scores = pd.DataFrame(rows, columns=["evaluator", "trial", "system", "score"])
    >>> human = pd.Series(range(6), index=list("abcdef"))
    >>> each, between = correlate_trials(scores, human)
    >>> each["estimate"].round(6).tolist(), between["estimate"].round(6).tolist()
    ([1.0, -1.0], [2.0])
    >>> each["status"].iloc[0]
    'perfect'
    """
    known(statistic, ["spearman", "pearson"], "statistic")
    evaluators, correlations = _correlations(scores, human, statistic)
    used = np.isfinite(correlations[0])
    common = {"statistic": statistic, "confidence": confidence, "method": METHOD}
    rows, between = [], []
    for column, name in enumerate(evaluators):
        defined = correlations[:, [column]][:, :, used[column]]
        over = pd.Series(defined[0, 0])
        row = {"evaluator": name, "lowest": over.min(), "highest": over.max()}
        row |= {"n": len(correlations) - 1, "n_trials": len(over)}
        row["n_undefined"] = correlations.shape[2] - len(over)
        rows.append(row | common | _mean(defined, confidence))
    for a, b in combinations(range(len(evaluators)), 2):
        row = {"evaluator_a": evaluators[a], "evaluator_b": evaluators[b]}
        shared = correlations[:, [a, b]][:, :, used[a] & used[b]]
        between.append(row | common | _mean(shared, confidence))
    columns = ["evaluator", "statistic", "estimate", "ci_low", "ci_high", "lowest", "highest"]
    columns += ["confidence", "n", "n_trials", "n_undefined", "method", "status"]
    of_pairs = ["evaluator_a", "evaluator_b", "statistic", "estimate", "ci_low", "ci_high"]
    of_pairs += ["confidence", "method", "status"]
    levels = pd.DataFrame(rows, columns=columns)
    return split_status(levels), split_status(pd.DataFrame(between, columns=of_pairs))


def _mean(correlations: Floats, confidence: float) -> dict[str, float | Status]:
    """Average one evaluator's correlation, or the difference of two, over trials."""
    n, two, n_trials = len(correlations) - 1, correlations.shape[1] == 2, correlations.shape[2]
    unknown = {"estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan}
    if not n_trials:
        return {**unknown, "status": explain("nothing_to_compare")}
    means = correlations.mean(axis=2)
    estimate = float(means[0, 0] - means[0, 1] if two else means[0, 0])
    unknown["estimate"] = estimate
    if n < LEAST:
        return {**unknown, "status": explain("too_few_systems", n=n, least=LEAST)}
    if np.isnan(means).any():
        return {**unknown, "status": explain("undefined_without_one")}
    if two and (means[:, 0] == means[:, 1]).all():
        return {**unknown, "status": explain("no_variation")}
    if (np.abs(means) > 1 - 1e-9).any():
        return {**unknown, "status": explain("perfect")}
    z = np.arctanh(means)
    covariance = jackknife_covariance(z[1:], z[1:].mean(axis=0))
    if n_trials > 1:
        moved = (correlations[0] - means[0][:, None]) / (1 - means[0] ** 2)[:, None]
        covariance += moved @ moved.T / (n_trials - 1) / n_trials
    half = student.ppf(0.5 + confidence / 2, n - 2) * np.sqrt(np.diag(covariance))
    below, above = means[0] - np.tanh(z[0] - half), np.tanh(z[0] + half) - means[0]
    low, high = below[0], above[0]
    if two:
        size = np.sqrt(np.prod(np.diag(covariance)))
        shared = covariance[0, 1] / size if size > 0 else 0.0
        low, high = (
            np.sqrt(max(0.0, own_arm**2 + other_arm**2 - 2 * shared * own_arm * other_arm))
            for own_arm, other_arm in ((below[0], above[1]), (above[0], below[1]))
        )
    ends = {"ci_low": float(estimate - low), "ci_high": float(estimate + high)}
    status = explain("one_trial") if n_trials == 1 else OK
    if n < FEWEST:
        status = explain("few_systems", n=f"{n} systems", least=FEWEST)
    return {"estimate": estimate, **ends, "status": status}


def _correlations(
    scores: pd.DataFrame, human: pd.Series, statistic: str
) -> tuple[list[str], Floats]:
    """Return evaluators, and correlations by trial with all systems and without each of them."""
    needed = "evaluator:key trial:key system:key score:number"
    scores = read_table(scores, needed, "scores have")
    doubled = scores.duplicated(["evaluator", "trial", "system"])
    if doubled.any():
        row = scores[doubled].iloc[0]
        raise ValueError(
            f"system {row['system']!r} is repeated in trial {row['trial']} of evaluator "
            f"{row['evaluator']!r}: give each trial its own number."
        )
    human = read_table(human.rename("human").to_frame(), "human:number", "human has")["human"]
    unknown = sorted({*scores["system"]} - {*human.index})
    if unknown:
        raise ValueError(f"human has no quality of {unknown}: add it, or drop these systems.")
    evaluators, trials = list(scores["evaluator"].unique()), sorted(scores["trial"].unique())
    wide = scores.pivot(index=["evaluator", "trial"], columns="system", values="score")
    wide = wide.reindex(pd.MultiIndex.from_product([evaluators, trials]))
    rows = wide.to_numpy(dtype=np.float64)
    missing = np.isnan(rows) if statistic == "spearman" else ~np.isfinite(rows)
    # Replace infinite scores by the largest numbers, which have the same ranks.
    filled = np.nan_to_num(np.where(missing, 0.0, rows))
    quality = human.loc[wide.columns].to_numpy(dtype=np.float64)
    n = len(quality)
    chosen = np.vstack([np.ones(n), 1 - np.eye(n)])
    r = weighted_coefficients(filled, quality, chosen, statistics=[statistic])[statistic].T
    r[chosen @ missing.T > 0] = np.nan
    return evaluators, r.reshape(-1, len(evaluators), len(trials))
