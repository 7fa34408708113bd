"""Analyses of many studies: every evaluator on each study, and random-effects means.

`pool_correlations` averages correlations (from `correlate_studies`) or differences between
evaluators (from `compare_with_length`, which compares each with text length).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import chi2, norm
from scipy.stats import t as student

from nlgbench.analysis.correlation.comparing import COLUMNS, resampled_differences
from nlgbench.analysis.correlation.correlations import correlate
from nlgbench.analysis.correlation.intervals import Options
from nlgbench.analysis.correlation.samples import dimensions_of, judged_outputs
from nlgbench.arrays import Floats
from nlgbench.evaluators.references import nearest_references
from nlgbench.evaluators.score import needed_table, score
from nlgbench.evaluators.sentinels import LENGTH, SENTINELS, SYSTEM_MEAN
from nlgbench.reported import Reported
from nlgbench.status import OK, Status, estimate_columns, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked, convert_columns, read_table

#: With fewer studies, intervals of the mean, and predictions for a new study, are not useful.
FEWEST_STUDIES = 5
FEWEST_PREDICTED = 8
#: With fewer systems, correlations are excluded: over two, a rank correlation is always 1 or -1.
FEWEST_SYSTEMS = 5
#: The statistics that Fisher's z applies to.
CORRELATIONS = ("pearson", "spearman", "kendall_b")
#: Evaluators that need no training.
UNTRAINED = (
    *("bleu_1", "bleu_4", "rouge_1", "rouge_2", "rouge_l", "chrf", "cider"),
    *("minus_self_bleu_4", "perplexity"),
)
#: The number of most similar human texts used as references if items have no human text.
N_NEAREST = 10

_KEYS = ["evaluator", "statistic", "granularity"]
_KEYS_OF_PAIRS = ["evaluator_a", "evaluator_b", "statistic", "granularity"]
_NUMBERS = (
    *("estimate", "ci_low", "ci_high", "p", "prediction_low", "prediction_high"),
    *("tau", "tau_low", "tau_high", "i2", "i2_low", "i2_high", "q", "q_p"),
)


class _Mean(NamedTuple):
    """A random-effects mean on Fisher's scale."""

    mean: float
    se: float
    tau2: float
    tau2_low: float
    tau2_high: float
    typical: float  # variance of a typical study, for I^2
    q: float


@dataclass(frozen=True, eq=False, repr=False)
class PooledCorrelations(Reported):
    """Evaluators' correlations or differences, pooled over studies.

    Parameters
    ----------
    summary, studies : DataFrame
        The tables described in `pool_correlations`.
    confidence : float
        Confidence level of intervals.
    """

    summary: pd.DataFrame
    studies: pd.DataFrame
    confidence: float

    def rank_evaluators(self) -> pd.DataFrame:
        """Rank evaluators by their means over common studies, which alone are comparable.

        Ranked are evaluators, except sentinels, with effects in at least five studies. While they
        share fewer than five, those with the fewest are left out; two are needed. A row per
        evaluator, the highest mean first: evaluator (of pairs, the first), estimate, ci_low,
        ci_high (over the common studies), n_studies (without a rank, all of the evaluator's),
        status (a code; ``ok``), reason (its text), rank (1 is highest).
        """
        effects = self.studies.rename(columns={"evaluator_a": "evaluator"})
        effects = effects[~effects["evaluator"].isin(SENTINELS)]
        if effects.duplicated(["evaluator", "study"]).any():
            raise ValueError("an evaluator has several means: pool one statistic and granularity.")
        has_effect = effects.pivot(index="study", columns="evaluator", values="z").notna()
        n_studies = has_effect.sum()
        ranked = n_studies.index[n_studies >= FEWEST_STUDIES]
        while len(ranked) and has_effect[ranked].all(axis=1).sum() < FEWEST_STUDIES:
            ranked = ranked[n_studies[ranked] > n_studies[ranked].min()]
        common = has_effect.index[has_effect[ranked].all(axis=1)]
        to_estimate = np.asarray if "evaluator_a" in self.studies else np.tanh
        rows = []
        for evaluator, own_effects in effects.groupby("evaluator", sort=False):
            if len(ranked) > 1 and evaluator in ranked:
                shared = own_effects[own_effects["study"].isin(common)]
                row = _pooled(shared, self.confidence, to_estimate)
            else:
                n = int(n_studies[evaluator])
                missing = _few_studies(n, "a mean", FEWEST_STUDIES) or explain(
                    "few_common", least=FEWEST_STUDIES
                )
                row = estimate_columns(float("nan"), status=missing, n_studies=n)
            rows.append({"evaluator": evaluator, **row})
        columns = ["evaluator", "estimate", "ci_low", "ci_high", "n_studies", "status", "reason"]
        table = pd.DataFrame(rows)[columns]
        table["rank"] = table["estimate"].rank(method="min", ascending=False)
        return table.sort_values("rank", kind="stable", ignore_index=True)

    def _shown(self) -> pd.DataFrame:
        """Return the means, without what describes their heterogeneity."""
        return self.summary.drop(
            columns=["tau", "tau_low", "tau_high", "q", "q_p"], errors="ignore"
        )


@checked
def pool_correlations(
    correlations: pd.DataFrame, *, by: str | None = None, confidence: float = 0.95
) -> PooledCorrelations:
    """Pool correlations, or differences between evaluators, by a random-effects mean over studies.

    Parameters
    ----------
    correlations : DataFrame
        Correlations or differences with intervals, a row per study, dimension, and evaluator or
        pair: from `correlate_studies` or `compare_with_length`, or from `nlgbench.correlate` or
        `nlgbench.compare_evaluators` with an added column ``study``. A column ``task`` is kept.
    by : str, optional
        A column that groups studies, such as ``task``; each group of studies is pooled separately.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    PooledCorrelations
        ``summary``: a row per evaluator, statistic, granularity (and value of `by`): estimate (the
        mean over studies), ci_low, ci_high, p (of a t test of the mean against 0), prediction_low,
        prediction_high (interval for the correlation in a new study), tau (standard deviation
        of Fisher's z between studies), tau_low, tau_high, i2, i2_low, i2_high (share of variance
        between studies), q, q_p (test of homogeneity), n_studies, n_left_out (studies without an
        effect), status (a code; ``ok``), reason (its text: why the mean is undefined),
        prediction_status and prediction_reason (the same of the prediction). ``studies``: a row per
        study and the same keys: task (if given), estimate, ci_low, ci_high, z (for differences, the
        difference), se (of z), n_dimensions, n_left_out (dimensions without an effect), status,
        reason (why dimensions are excluded or doubtful; the code is the first one's), point (the
        estimate or, if it is missing, the mean correlation over dimensions).

    Raises
    ------
    ValueError
        When a column is missing, a study has two rows for one dimension, or `by` is not a column
        that groups studies.

    Notes
    -----
    **Effects.** Each study contributes one effect: the mean Fisher's z of its dimensions, with the
    mean of their standard errors (as for perfectly correlated dimensions). That of z is its
    interval's width divided by twice the normal quantile. Correlations over fewer than five systems
    are excluded, as are those whose value or interval reaches -1 or 1. Differences of correlations
    are pooled untransformed.

    **Mean.** The weight of a study is w = 1 / (se^2 + tau^2), with tau^2 after Paule and Mandel
    (1982, doi:10.6028/jres.087.022). For k studies, the standard error of the mean is ``sqrt(max(1,
    h) / sum(w))``, with h = ``sum(w (z - mean)^2) / (k - 1)``, and the interval uses Student's t
    with k - 1 degrees of freedom: Hartung and Knapp (2001, doi:10.1002/sim.1009), modified by Knapp
    and Hartung (2003, doi:10.1002/sim.1482). The mean needs five studies; tau, i2 and q need two.

    **Prediction.** The limits for a new study are quantiles of ``mean + se t + tau u``: t follows
    Student's t with k - 1 degrees of freedom, u is standard normal, and tau^2 is drawn from its
    Q-profile confidence distribution. The mean and its standard error se depend on tau^2 (after
    Nagashima, Noma and Furukawa 2019, doi:10.1177/0962280218773520). Eight studies are needed.

    **Heterogeneity.** The interval of tau is from the Q-profile (Viechtbauer 2007,
    doi:10.1002/sim.2514); it is NaN if studies agree too closely for any tau. I^2 is ``tau^2 /
    (tau^2 + s^2)``, where s^2 is the typical variance of a study's effect (Higgins and Thompson
    2002, doi:10.1002/sim.1186).

    Examples
    --------
    >>> table = pd.DataFrame({"study": list("abcde"), "estimate": [0.3, 0.4, 0.5, 0.4, 0.3]})
    >>> table = table.assign(evaluator="chrf", dimension="quality", statistic="spearman",
    ...     granularity="output", confidence=0.95)
    >>> table = table.assign(ci_low=table["estimate"] - 0.1, ci_high=table["estimate"] + 0.1)
    >>> pooled = pool_correlations(table)
    >>> pooled.summary[["estimate", "ci_low", "ci_high"]].round(2).values.tolist()
    [[0.38, 0.27, 0.48]]
    >>> pooled.summary["prediction_reason"].tolist()
    ['only 5 studies: a prediction interval needs at least 8']
    """
    pairs = "evaluator_a" in correlations
    keys_of_effect = _KEYS_OF_PAIRS if pairs else _KEYS
    table = read_table(
        correlations,
        f"study {' '.join(keys_of_effect)} dimension estimate:number ci_low:number ci_high:number "
        "confidence:float status:text? reason:text? task? n:float?",
        "correlations have",
    )
    if by is not None:
        table = convert_columns(table, {by: "name"}, [by], "correlations have")
    _check_correlations(table, keys_of_effect, by)
    keys = [*([] if by is None else [by]), *keys_of_effect]
    studies = _effects(table, keys, confidence, pairs)
    if "task" in table and "task" not in studies:
        task = table.drop_duplicates("study").set_index("study")["task"]
        studies.insert(1, "task", studies["study"].map(task))
    rows = []
    for names, effects in studies.groupby(keys, sort=False):
        turn = np.asarray if pairs else np.tanh
        rows.append(dict(zip(keys, names, strict=True)) | _pooled(effects, confidence, turn))
    return PooledCorrelations(pd.DataFrame(rows), studies, confidence)


def _check_correlations(table: pd.DataFrame, keys: Sequence[str], by: str | None) -> None:
    if by in ("study", *keys):
        raise ValueError(f"by={by!r} cannot group studies: name a column of groups, such as task.")
    groups = [] if by is None else [by]
    twice = table[table.duplicated(["study", *groups, *keys, "dimension"])]
    if len(twice):
        row = twice.iloc[0]
        who = " and ".join(repr(row[name]) for name in keys if name.startswith("evaluator"))
        raise ValueError(
            f"correlations have two rows of study {row['study']!r}, evaluator {who}, dimension "
            f"{row['dimension']!r} ({row['statistic']}, {row['granularity']}): keep one, for "
            "example the one with resample='items'."
        )


def _effects(table: pd.DataFrame, keys: list[str], confidence: float, pairs: bool) -> pd.DataFrame:
    """Combine the dimensions of each study into one effect."""
    ends = table[["estimate", "ci_low", "ci_high"]].to_numpy(dtype=np.float64)
    bound = np.inf if pairs else 1
    is_one = table["statistic"].isin(CORRELATIONS).to_numpy() | pairs
    with np.errstate(invalid="ignore"):
        inside = (np.abs(ends) < bound).all(axis=1)
        empty = ends[:, 1] >= ends[:, 2]
    n = table["n"].to_numpy() if "n" in table else np.full(len(table), np.inf)
    few = table["granularity"].eq("system").to_numpy() & (n < FEWEST_SYSTEMS)
    lacks = {
        "not_a_correlation": ~is_one,
        "undefined": np.isnan(ends[:, 0]),
        "unpooled_systems": few,
        "no_z": np.abs(ends[:, 0]) >= bound,
        "missing_interval": np.isnan(ends).any(axis=1),
        "unlimited": ~inside,
        "no_width": empty,
    }
    code = np.select(list(lacks.values()), list(lacks), "ok")
    good = code == "ok"
    # What is missing has its own reason, if the table gives one.
    statuses = [
        status
        if status and code in ("ok", "undefined", "missing_interval")
        else explain(code, name=name, least=FEWEST_SYSTEMS)
        for status, code, name in zip(_given_statuses(table), code, table["statistic"], strict=True)
    ]
    table = table.assign(point=table["estimate"].mask(few | ~is_one))
    table["status"] = pd.Series(statuses, table.index, dtype=object)
    width = 2 * norm.isf((1 - table.loc[good, "confidence"]) / 2)
    z = ends[good] if pairs else np.arctanh(ends[good])
    z = pd.DataFrame(z, table.index[good], ["estimate", "ci_low", "ci_high"])
    table["z"] = z["estimate"].reindex(table.index)
    table["se"] = ((z["ci_high"] - z["ci_low"]) / width).reindex(table.index)
    by_study = table.groupby(["study", *keys], sort=False, dropna=False)
    effects = by_study[["z", "se"]].mean()
    effects["n_dimensions"] = by_study["z"].count()
    effects["n_left_out"] = by_study["z"].size() - effects["n_dimensions"]
    effects["status"] = by_study["status"].agg(lambda dimensions: reduce(add, dimensions))
    reach = norm.isf((1 - confidence) / 2) * effects["se"]
    z = effects["z"]
    turned = {"estimate": z, "ci_low": z - reach, "ci_high": z + reach}
    if not pairs:
        turned = {name: np.tanh(values) for name, values in turned.items()}
    effects = effects.assign(**turned)
    effects["point"] = effects["estimate"].fillna(by_study["point"].mean())
    order = [*turned, "z", "se", "n_dimensions", "n_left_out", "status", "reason", "point"]
    return split_status(effects)[order].reset_index()


def _given_statuses(table: pd.DataFrame) -> list[Status]:
    """Return the statuses of correlations; a table of one's own may have only reasons, or none."""
    reason = table["reason"].fillna("") if "reason" in table else pd.Series("", table.index)
    code = reason.ne("").map({True: "undefined", False: "ok"})
    return [Status(*row) for row in zip(table.get("status", code), reason, strict=True)]


def _pooled(effects: pd.DataFrame, confidence: float, turn: Callable[[Any], Any]) -> dict[str, Any]:
    """Pool one evaluator's effects into a row of the summary, on the original scale."""
    defined = effects.dropna(subset=["z", "se"])
    k = len(defined)
    row: dict[str, Any] = dict.fromkeys(_NUMBERS, float("nan"))
    row |= {"n_studies": k, "n_left_out": len(effects) - k}
    status = _few_studies(k, "a mean", FEWEST_STUDIES)
    prediction_status = _few_studies(k, "a prediction interval", FEWEST_PREDICTED)
    z, variance = defined["z"].to_numpy(), defined["se"].to_numpy() ** 2
    if k > 1:
        pooled = random_effects(z, variance, confidence)
        tau2 = np.array([pooled.tau2, pooled.tau2_low, pooled.tau2_high])
        row |= dict(zip(("tau", "tau_low", "tau_high"), np.sqrt(tau2), strict=True))
        shares = tau2 / (tau2 + pooled.typical)
        row |= dict(zip(("i2", "i2_low", "i2_high"), shares, strict=True))
        row |= {"q": pooled.q, "q_p": float(chi2.sf(pooled.q, k - 1))}
    if not status:
        half = student.isf((1 - confidence) / 2, k - 1) * pooled.se
        ends = pooled.mean + np.array([-half, half])
        row |= dict(zip(("ci_low", "ci_high"), turn(ends), strict=True))
        row["estimate"] = float(turn(pooled.mean))
        row["p"] = 2 * float(student.sf(abs(pooled.mean) / pooled.se, k - 1))
    if not prediction_status:
        ends = interval_of_prediction(z, variance, confidence)
        row |= dict(zip(("prediction_low", "prediction_high"), turn(ends), strict=True))
    row |= {"status": status.code, "reason": status.reason}
    prediction = {"status": prediction_status.code, "reason": prediction_status.reason}
    return row | {f"prediction_{name}": text for name, text in prediction.items()}


def _few_studies(n: int, purpose: str, least: int) -> Status:
    """Explain that a mean or prediction has too few studies, if it has."""
    studies = ("no study has an effect", "only 1 study")[n] if n < 2 else f"only {n} studies"
    return explain("few_studies", n=studies, what=purpose, least=least) if n < least else OK


def random_effects(z: Floats, variance: Floats, confidence: float) -> _Mean:
    """Estimate the mean of effects with known variances, and the variance between studies."""
    k = len(z)
    weights = 1 / variance
    total = weights.sum()

    def excess(tau2: float, quantile: float) -> float:
        w = 1 / (variance + tau2)
        return float((w * (z - w @ z / w.sum()) ** 2).sum()) - quantile

    def profiled(quantile: float) -> float:
        if excess(0, quantile) <= 0:
            return 0.0
        high = float(np.var(z) + variance.max())
        while excess(high, quantile) > 0:
            high *= 2
        return float(brentq(excess, 0, high, args=(quantile,), xtol=1e-14))

    tail = (1 - confidence) / 2
    # Paule and Mandel's estimate. statsmodels' `combine_effects` returns 0 when rounding makes its
    # iteration overshoot in the last digit.
    tau2 = profiled(k - 1)
    w = 1 / (variance + tau2)
    scale = excess(tau2, 0) / (k - 1)
    least = float(chi2.ppf(tail, k - 1))
    some = excess(0, least) >= 0
    return _Mean(
        float(w @ z / w.sum()),
        float(np.sqrt(max(1.0, scale) / w.sum())),
        tau2,
        profiled(float(chi2.isf(tail, k - 1))) if some else float("nan"),
        profiled(least) if some else float("nan"),
        float((k - 1) * total / (total**2 - (weights**2).sum())),
        excess(0, 0),
    )


#: Values of tau^2, and of Student's t, over which a prediction is averaged.
_N_TAU2, _N_T = 200, 100


def interval_of_prediction(z: Floats, variance: Floats, confidence: float) -> Floats:
    """Compute an interval for the true effect of a new study.

    It averages over the confidence distribution of tau^2, and the mean's error given each tau^2.
    """
    k = len(z)
    widest = float(np.var(z) + variance.max())
    tau2 = np.append(0.0, np.geomspace(1e-4 * variance.min(), 1e3 * widest, _N_TAU2))
    w = 1 / (variance + tau2[:, None])
    mean = (w * z).sum(axis=1) / w.sum(axis=1)
    q = (w * (z - mean[:, None]) ** 2).sum(axis=1)
    share = np.diff(chi2.sf(q, k - 1), prepend=0.0)
    se = np.sqrt(np.maximum(1, q / (k - 1)) / w.sum(axis=1))
    tau2[1:] = (tau2[1:] + tau2[:-1]) / 2
    t = student.ppf((np.arange(_N_T) + 0.5) / _N_T, k - 1)
    center = mean[:, None] + se[:, None] * t
    spread = np.sqrt(tau2 + 1e-12 * widest)[:, None]

    def missing(x: float, quantile: float) -> float:
        below = ndtr((x - center) / spread).mean(axis=1)
        return float(share @ below / share.sum()) - quantile

    tail = (1 - confidence) / 2
    bounds = float((center - 40 * spread).min()), float((center + 40 * spread).max())
    return np.array([brentq(missing, *bounds, args=(quantile,)) for quantile in (tail, 1 - tail)])


# Every evaluator on every study ----------------------------------------------------------------


@checked
def correlate_studies(
    studies: Mapping[str, Study],
    *,
    evaluators: Sequence[str] = UNTRAINED,
    called: Mapping[str, str] | None = None,
    granularity: Literal["system", "output", "item"] = "output",
    statistic: Literal["pearson", "spearman", "kendall_b"] = "spearman",
    seed: int = 0,
) -> pd.DataFrame:
    """Score the outputs of many studies, and correlate evaluators with human judgments in each.

    Scores of a study are kept, and missing ones of `evaluators` (default: those that need no
    training) are added. `called` maps studies' own names of evaluators to common ones; scores by a
    study's authors take precedence over new ones. The others are those of `nlgbench.correlate`.

    Returns
    -------
    DataFrame
        The table of `nlgbench.correlate` with a column ``study``, and rows of the sentinels length,
        constant and system_mean (with the suffix ``@sentinel``). An evaluator that cannot score a
        study has a row with a ``status`` for each dimension.

    Notes
    -----
    References are the study's own, or else the human texts of the same item. If no item has both
    human texts and system outputs, each output's references are the ten most similar human texts,
    in lower case.

    Examples
    --------
    >>> import nlgbench as nb
    >>> worlds = {f"own {n}": nb.simulate("own", n_items=20, seed=n) for n in (1, 2)}
    >>> found = correlate_studies(worlds, evaluators=["rouge_l"])
    >>> found.loc[found["evaluator"] == "rouge_l", "reason"].tolist()[:1]
    ['no texts']
    """
    tables = []
    for name, scored, missing in score_each(studies, called, evaluators):
        has = set() if scored.scores is None else set(scored.scores["evaluator"])
        alone = len(scored.systems) == 1
        sentinels = [
            name for name in SENTINELS if name not in has and not (alone and name == SYSTEM_MEAN)
        ]
        if alone:
            missing = {SYSTEM_MEAN: explain("system_mean_alone"), **missing}
        for dimension in dimensions_of(scored, None):
            options = {SYSTEM_MEAN: {"dimension": dimension}} if SYSTEM_MEAN in sentinels else {}
            table = correlate(
                score(scored, sentinels, options=options),
                granularity=granularity,
                statistics=[statistic],
                dimension=dimension,
                seed=seed,
            )
            tables.append(table.assign(study=name))
            rows = {"evaluator": list(missing), "status": list(missing.values())}
            constants: dict[str, Any] = {"study": name, "dimension": dimension, "ci_method": "none"}
            constants |= table[["granularity", "statistic", "confidence", "resample"]].iloc[0]
            constants |= {"p_method": "", "estimand": ""}
            constants |= dict.fromkeys(["n", "n_clusters", "n_undefined", "n_missing"], 0)
            tables.append(split_status(pd.DataFrame(rows)).assign(**constants))
    return _gathered(tables)


@checked
def compare_with_length(
    studies: Mapping[str, Study],
    *,
    evaluators: Sequence[str] = UNTRAINED,
    called: Mapping[str, str] | None = None,
    statistic: Literal["pearson", "spearman", "kendall_b"] = "spearman",
    n_resamples: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare, in many studies, how well evaluators and text length agree with human judgments.

    Returns
    -------
    DataFrame
        The table of `nlgbench.compare_evaluators` at granularity "output", with a column ``study``
        and without adjusted p. It has a row for each study, dimension and evaluator (evaluator_b is
        the length), over outputs with both scores. Rows without a result have a ``status``.

    Notes
    -----
    The length is the number of words, or a released score that `called` maps to it. Longer counts
    as better: where annotators prefer short texts, ``estimate_b`` is negative, and an evaluator
    with a difference above 0 can still agree less than "shorter is better" would.
    """
    options = Options("output", [statistic], "items", n_resamples, 0.95)
    tables = []
    for name, scored, missing in score_each(studies, called, evaluators):
        has = [] if scored.scores is None else sorted(set(scored.scores["evaluator"]))
        groups: list[list[str]] = []
        if LENGTH in has or scored.outputs["text"].fillna("").ne("").any():
            scored = scored if LENGTH in has else score(scored, [LENGTH])
            groups = _scored_alike(scored)
        else:
            missing |= dict.fromkeys([*has, *evaluators], explain("no_length"))
        for dimension in dimensions_of(scored, None):
            constants: dict[str, Any] = {"study": name, "dimension": dimension}
            constants |= {"granularity": "output", "statistic": statistic, "confidence": 0.95}
            judged = judged_outputs(scored, dimension, None, include_human=False)
            for names in groups:
                pairs = [(evaluator, LENGTH) for evaluator in names]
                names = [*names, LENGTH]
                table = resampled_differences(scored, names, pairs, judged, options, seed)
                tables.append(table.assign(**constants))
            rows = {"evaluator_a": list(missing), "status": list(missing.values())}
            tables.append(split_status(pd.DataFrame(rows)).assign(evaluator_b=LENGTH, **constants))
    left_out = ("p_adjusted", "p_least", "adjustment")
    columns = ["study", *(name for name in COLUMNS if name not in left_out)]
    return _gathered(tables).reindex(columns=columns)


def _gathered(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of several studies, with the study as the first column."""
    table = pd.concat([table for table in tables if len(table)], ignore_index=True)
    return table[["study", *table.columns.drop("study")]]


def _scored_alike(study: Study) -> list[list[str]]:
    """Group evaluators by the set of outputs with known length that they have scored."""
    assert study.scores is not None
    has_score = study.scores.pivot(index="output_id", columns="evaluator", values="score").notna()
    has_score = has_score[has_score[LENGTH]].drop(columns=LENGTH)
    pattern = has_score.apply(lambda column: column.to_numpy().tobytes())
    return [list(names.index) for _, names in pattern.groupby(pattern, sort=False)]


def score_each(
    studies: Mapping[str, Study], called: Mapping[str, str] | None, evaluators: Sequence[str]
) -> Iterator[tuple[str, Study, dict[str, Status]]]:
    """Yield each study with common names and all possible scores, and why others are missing."""
    if not studies:
        raise ValueError("studies is empty: pass at least one study.")
    for name, study in studies.items():
        yield name, *_scored(_renamed(study, called or {}), evaluators)


def _renamed(study: Study, called: Mapping[str, str]) -> Study:
    """Rename a study's own evaluators to common names."""
    if study.scores is None or not called:
        return study
    names = study.scores["evaluator"].map(lambda name: called.get(name, name))
    twice = pd.DataFrame({"was": study.scores["evaluator"], "is": names}).drop_duplicates()
    if twice["is"].duplicated().any():
        name = twice.loc[twice["is"].duplicated(), "is"].iloc[0]
        raise ValueError(f"called= maps two evaluators of {study.name} to {name!r}: rename one.")
    return study.replace(scores=study.scores.assign(evaluator=names))


def _scored(study: Study, evaluators: Sequence[str]) -> tuple[Study, dict[str, Status]]:
    """Score with the evaluators that the study allows; return why it does not allow the others."""
    has = set() if study.scores is None else set(study.scores["evaluator"])
    missing: dict[str, Status] = {}
    texts, logprobs = study.outputs["text"].fillna("").ne(""), study.logprobs
    references = references_of(study) if texts.any() else None
    chosen = []
    for name in evaluators:
        if name in has:
            continue
        if not texts.any():
            missing[name] = explain("no_texts")
        elif references is None and needed_table(name) == "references":
            missing[name] = explain("no_references")
        elif name == "perplexity" and logprobs is None:
            missing[name] = explain("no_logprobs")
        elif name == "perplexity" and logprobs is not None and len(logprobs["model"].unique()) > 1:
            missing[name] = explain("several_models")
        else:
            chosen.append(name)
    return (score(study, chosen, references=references) if chosen else study), missing


def references_of(study: Study) -> pd.DataFrame | None:
    """Find references for outputs: the study's, human texts of the item, or similar ones."""
    if study.references is not None:
        return study.references
    outputs = study.outputs[study.outputs["text"].fillna("").ne("")]
    human = outputs[outputs["is_human"]]
    if human.empty:
        return None
    if not human["item_id"].isin(outputs.loc[~outputs["is_human"], "item_id"]).any():
        return nearest_references(study, n=N_NEAREST, lower=True)
    columns = {"item_id": "item_id", "output_id": "reference_id", "text": "text"}
    return human[list(columns)].rename(columns=columns).reset_index(drop=True)
