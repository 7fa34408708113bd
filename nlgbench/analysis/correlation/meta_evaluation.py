"""How well evaluators agree with people, and how sure that is: `correlate`, from top to bottom.

People's judgments are gathered (`judgments_of`) and set beside scores (`judged_scores`); evaluators
that scored the same outputs become a `Sample` of arrays, whose statistics are computed on all data
and on resamples (`statistics_at`), with intervals from `intervals` and coefficients from
`coefficients`. Where only systems' scores are known, `systems_alone` does it all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nlgbench.analysis.correlation.coefficients import (
    CROSSED,
    Floats,
    accuracy_at,
    best_epsilon,
    calibrated_accuracies,
    coefficients,
    crossed_coefficients,
    divide,
    equalized,
    pair_confidences,
    tie_calibration,
    weighted_accuracy_at,
    weighted_coefficients,
)
from nlgbench.analysis.correlation.intervals import (
    ACCURACIES,
    Interval,
    OverSystems,
    doubts,
    expectations,
    interval_of_systems,
    jackknife_intervals,
    over_systems,
    p_value,
    system_intervals,
)
from nlgbench.analysis.people import split_half
from nlgbench.inference import bootstrap_counts, orders_of, permutation_p
from nlgbench.names import known
from nlgbench.study import Study, is_reversed, oriented
from nlgbench.study.checks import checked
from nlgbench.text import check_n, count_tokens

Granularity = Literal["system", "output", "item"]
Resample = Literal["items", "systems", "both"]

PLAIN = ("pearson", "spearman", "kendall_b", "pairwise_accuracy")
#: All statistics, and where there is one the only granularity that has it.
STATISTICS = {
    **dict.fromkeys((*PLAIN, "tie_calibrated")),
    "soft_pairwise": "system",
}
#: What `coefficients` computes.
_OF_ARRAYS = (*PLAIN, "chance_accuracy")
#: Most groups of clusters that are deleted one by one.
_MOST_GROUPS = 1000
#: Counts of clusters and outputs in resamples that are held in memory at once.
_AT_ONCE = 1 << 23


@checked
def correlate(
    study: Study | Mapping[str, Study],
    *,
    evaluators: Sequence[str] | None = None,
    against: pd.DataFrame | None = None,
    granularity: Granularity = "system",
    statistics: Sequence[str] = ("pearson", "spearman", "kendall_b"),
    resample: Resample | Sequence[Resample] | None = "items",
    dimension: str | None = None,
    aggregate: Literal["mean", "majority"] = "mean",
    clusters: str | None = None,
    include_human: bool = False,
    unjudged: bool = False,
    sentinels: bool = False,
    ceiling: bool = False,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Correlate evaluators' scores with human judgments.

    Parameters
    ----------
    study : Study or mapping of str to Study
        With judgments, and with scores (of outputs) or system_scores. Higher scores should be
        better; those whose signature says ``direction:lower`` are turned, and so are judgments of
        dimensions that ``settings["lower_is_better"]`` names. Several studies are gathered.
    evaluators : sequence of str, optional
        Which. Default: all of scores, and at granularity "system" those of system_scores that have
        no scores of outputs.
    against : DataFrame, optional
        A table ``system_scores`` in people's place, such as the truth of a world, printed numbers
        or shares of votes: each of its "evaluators" is a dimension. Granularity is then "system".
    granularity : {"system", "output", "item"}
        ``"system"``: over systems' means. ``"output"``: over all outputs at once. ``"item"``: over
        the systems of an item, averaged over the items where it is defined.
    statistics : sequence of str
        ``pearson``, ``spearman``, ``kendall_b`` (-1 to 1); ``pairwise_accuracy``,
        ``tie_calibrated`` (epsilon chosen in sample), ``soft_pairwise`` (granularity ``"system"``)
        (0 to 1).
    resample : {"items", "systems", "both"}, a sequence of these, or None
        What the interval is about: other items, systems, or both that there might have been.
        Where only systems' scores are known, these are what it is over. Of several, rows stand side
        by side.
    dimension : str, optional
        Of the judgments. Default: all of them, one after another.
    aggregate : {"mean", "majority"}
        How an output's judgments become one. ``"majority"``: what most annotators said (votes, 0 or
        1), of outputs that have the commonest number of votes; others are left out.
    clusters : str, optional
        ``"group_id"`` (HIT) or a column of outputs: drawn in place of items. Default:
        ``settings["clusters"]``, or items.
    include_human : bool
        Whether humans are systems, too.
    unjudged : bool
        At granularity "system", whether scores of outputs that nobody judged count in systems'
        means.
    sentinels : bool
        Whether to add rows of three evaluators that know next to nothing: ``length@sentinel`` (of
        the text, in words), ``constant@sentinel`` (undefined) and ``system_mean@sentinel`` (the
        mean judgment of the output's system on the other items).
    ceiling : bool
        Whether to add columns with the ceiling of Pearson's correlation that annotators' halves
        give (`nlgbench.analysis.people.split_half`).
    n_resamples : int
        Bootstrap samples, where an interval is made of them, and random permutations.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from; an int is used anew for each dimension and study.

    Returns
    -------
    DataFrame
        A row per dimension, evaluator and statistic: study (where there are several), evaluator,
        dimension, granularity, statistic, estimate, ci_low, ci_high, confidence, ci_method,
        estimand (what the interval is about), reason (why there is no estimate or no interval, or
        why to doubt it; or ""), n_resamples (bootstrap samples; 0 where none are needed),
        n_undefined_resamples (left aside), p, p_method, n (systems, outputs or items), n_clusters
        (0 where only systems' scores are known), n_undefined (items without a value; 1 where the
        estimate is), n_missing (outputs left out for want of a score or a judgment; systems, where
        only their scores are known), epsilon (threshold of tie calibration), turned (whether scores
        were negated), disattenuated (Pearson's r of the systems' expectations), reliability_scores
        and reliability_judgments (share of the variance of systems' means that is not noise),
        resample. With `ceiling` also ceiling (what an evaluator
        can expect that knows what infinitely many annotators would say), ceiling_low, ceiling_high,
        ceiling_reason (why there is none, or why to doubt it).

    Raises
    ------
    ValueError
        When the study lacks what is asked for; when a name is unknown or a number out of range;
        when an evaluator has scored no judged output; when items lie in several clusters.

    Notes
    -----
    An output's judgments are averaged over annotators first, so that every output weighs the same;
    a system's mean is over its outputs. An output without a score or judgment is left out for that
    evaluator alone, on both sides. Undefined (a constant variable, a single system) is NaN and
    counted, never 0. Two systems give correlations of -1 or 1. Values that differ by at most 1e-9
    standard deviations are equal, as in HUSE.

    **Systems' means.** Means of few items are noisy, and noise lowers correlations. ``"items"``
    and ``"both"`` are therefore about the systems' *expectations*, while the estimate is that of
    the means. Let C be the covariance of the means over systems, and N the part that is noise, from
    how clusters differ (``MS_int / n`` where every cluster has every system)::

        r_d = (C_xy - N_xy) / sqrt((C_xx - N_xx) (C_yy - N_yy))

    - ``"items"``, Pearson: r_d, taken as 1 where it is above, plus or minus Student's t times its
      delete-one-cluster jackknife standard error, cut at -1 and 1; clusters are deleted within
      systems where each is of one.
      Ranks: quantiles of the statistic of expectations drawn from their posterior, for systems
      that are a sample of a bivariate normal population with nothing known of it.
    - ``"systems"``, Pearson: jackknife over systems of Fisher's z, t with n - 2 degrees of freedom.
      Ranks and pairwise accuracy: the bivariate normal populations (or monotone functions of such)
      in which samples of so many systems give the estimate, or more, or less, often enough; half of
      those that give the very same count. The shares are simulated, with a fixed seed.
    - ``"both"``: the interval over systems, its ends taken off the noise as r_d is (ranks by way of
      the r that a normal population with theirs has).
    - Tie calibration and soft accuracy: plain percentiles of a bootstrap.

    An interval that misses the estimate of the means is extended to it, and `reason` says so. No
    interval where the reliability of the mean scores or judgments is below .5.

    **Systems' scores alone** (`against`, or an evaluator that scores systems). Intervals take the
    systems as a sample, which they seldom are, and their scores as exact: Pearson's by Fisher's z,
    of standard error ``1 / sqrt(n - 3)``; ranks as above; other statistics have none. p is SciPy's,
    as papers print it: t for Pearson and Spearman; for Kendall exact up to 33 systems without ties,
    otherwise normal.

    With `unjudged`, too, systems' means are taken as exact: a system's scores and judgments are
    then means of different outputs.

    **Sentinels** say what chance looks like: an evaluator that does not beat the length, or at
    granularity "output" the mean of the system, has shown little.

    **Outputs, items.** Delete-one jackknife over clusters (in at most 1,000 random groups), over
    systems, or the sum of both variances, with Student's t; over outputs on Fisher's z.

    Fewer than ten clusters, or systems where these are drawn or at granularity "system", are marked
    in `reason`. How often intervals hold is in docs/meta-evaluation.md. A threshold of tie
    calibration stays as it is in resamples: the interval is given epsilon, and leaves out that it
    was chosen.

    p: at the level of systems, of a permutation test in which the systems' judgments are dealt out
    anew (all ways up to 65,536, that is up to eight systems), two-sided for correlations, and of
    accuracies at least as high; epsilon is chosen anew. At the other levels, Student's t of the
    jackknife against 0, or against the accuracy that is expected by chance with these ties, so that
    it follows `resample` and `clusters`. None (NaN) for tie calibration there, as epsilon was
    chosen on the same judgments.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": list("123456"), "item_id": list("121212"),
    ...     "system": list("aabbcc")})
    >>> keys = outputs[["output_id"]]
    >>> study = Study(outputs, keys.assign(annotator_id="w", value=[1, 2, 4, 4, 9, 8]),
    ...     scores=keys.assign(evaluator="e", score=[0.1, 0.1, 0.2, 0.3, 0.2, 0.4]))
    >>> found = correlate(study, statistics=["spearman"], seed=0)
    >>> found[["evaluator", "dimension", "estimate", "n"]].values.tolist()
    [['e', 'quality', 1.0, 3]]
    """
    if isinstance(study, Mapping):
        options = {key: value for key, value in locals().items() if key != "study"}
        return gathered({name: correlate(one, **options) for name, one in study.items()})
    if resample is not None and not isinstance(resample, str):
        options = {
            key: value for key, value in locals().items() if key not in ("study", "resample")
        }
        several = [correlate(study, resample=one, **options) for one in dict.fromkeys(resample)]
        return pd.concat(several).sort_index(kind="stable").reset_index(drop=True)
    asked = asked_for(granularity, statistics, resample, n_resamples, confidence)
    if granularity != "system" and (against is not None or unjudged):
        what = "unjudged=True counts" if against is None else "against= has"
        raise ValueError(f"{what} systems' scores; got granularity={granularity!r}.")
    if against is not None and (sentinels or ceiling):
        what = "sentinels" if sentinels else "ceiling"
        raise ValueError(f"{what}=True needs judgments of outputs, not systems' scores.")
    names = chosen_evaluators(study, evaluators, granularity)
    if against is not None:
        x = systems_scores(study, names, include_human=include_human)
        y = without_humans(study, check_against(against), include_human)
        return systems_alone(x, y, asked, np.random.default_rng(seed))
    tables = []
    for one in dimensions_of(study, dimension):
        rng = np.random.default_rng(seed)
        people = judgments_of(study, one, aggregate, clusters, include_human)
        of_outputs = [] if unjudged else [name for name in names if names[name] == "scores"]
        parts = []
        if of_outputs:
            judged = judged_scores(study, people, of_outputs)
            parts = [correlated(judged, *sample, asked, rng) for sample in samples_of(judged)]
            table = pd.concat(parts).sort_values("evaluator", kind="stable")
            parts = [table.assign(resample=what_is_drawn(asked, people))]
        of_systems = {name: where for name, where in names.items() if name not in of_outputs}
        if of_systems:
            x = systems_scores(study, of_systems, include_human=include_human)
            found = systems_alone(x, people.of_systems(one), asked, rng)
            if unjudged and resample in ("items", "both"):
                found["reason"] = found["reason"].where(found["reason"] != "", _NOT_RESAMPLED)
            parts.append(found)
        if sentinels:
            judged = sentinel_scores(study, people)
            own = np.random.default_rng(0)  # what others draw does not depend on these
            for sample in samples_of(judged):
                found = correlated(judged, *sample, asked, own)
                made = found["evaluator"].eq("system_mean@sentinel") & found["reason"].eq("")
                found["reason"] = found["reason"].mask(made & (asked.resample is not None), _MADE)
                parts.append(found.assign(resample=what_is_drawn(asked, people)))
        table = pd.concat(parts, ignore_index=True).assign(dimension=one)
        if ceiling:
            table = with_ceiling(table, study, one, asked, aggregate, include_human)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)[list(tables[0])]


_NOT_RESAMPLED = (
    "over systems, whose means are taken as exact: scores of unjudged outputs are not resampled"
)
_MADE = "made of the judgments, which the interval takes as given"


class Asked(NamedTuple):
    """What `correlate` was asked for."""

    granularity: str
    statistics: list[str]
    resample: str | None
    n_resamples: int
    confidence: float


def asked_for(
    granularity: str,
    statistics: Sequence[str],
    resample: str | None,
    n: int,
    confidence: float,
) -> Asked:
    """Check what was asked for; the right names are looked up only when one is wrong."""
    for name in statistics:
        if name not in STATISTICS:
            known(name, list(STATISTICS), "statistics")
        if STATISTICS[name] not in (None, granularity):
            raise ValueError(
                f"{name!r} is a statistic of granularity={STATISTICS[name]!r}. Got "
                f"granularity={granularity!r}: change it, or leave the statistic out."
            )
    if n < 1 or n != int(n):
        check_n(n, "n_resamples")
    return Asked(granularity, list(dict.fromkeys(statistics)), resample, n, confidence)


def gathered(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the tables of several studies together, with a column for the study."""
    if not tables:
        raise ValueError("a mapping of studies must name at least one.")
    table = pd.concat([one.assign(study=name) for name, one in tables.items()], ignore_index=True)
    return table[["study", *table.columns.drop("study")]]


# Who says what -------------------------------------------------------------------------------


def chosen_evaluators(
    study: Study,
    evaluators: Sequence[str] | None,
    granularity: str,
    *,
    needs_outputs: bool = False,
) -> dict[str, str]:
    """Name evaluators and the table that has them: scores of outputs before those of systems."""
    there: dict[str, str] = {}
    for table in ("system_scores", "scores"):
        frame = getattr(study, table)
        if frame is not None:
            there |= dict.fromkeys(map(str, frame["evaluator"].unique()), table)
    if not there:
        raise ValueError(
            f"{study.name} has no scores: nb.score(study, [...]) adds them, or Study(scores=...)."
        )
    for name in evaluators or ():
        if name not in there:
            known(name, list(there), "evaluators")
    chosen = {name: there[name] for name in (there if evaluators is None else evaluators)}
    of_systems = [name for name, table in chosen.items() if table == "system_scores"]
    if of_systems and (needs_outputs or granularity != "system"):
        if evaluators is not None or len(of_systems) == len(chosen):
            what = "resampling" if granularity == "system" else f"granularity={granularity!r}"
            raise ValueError(
                f"{of_systems[0]!r} scored whole systems, and {what} needs scores of outputs."
            )
        return {name: table for name, table in chosen.items() if table == "scores"}
    return chosen


def dimensions_of(study: Study, dimension: str | None) -> list[str]:
    """Name the dimensions of the judgments, or check the one that was asked for."""
    if study.judgments is None or study.judgments.empty:
        raise ValueError(
            f"{study.name} has no judgments: give Study(judgments=...), or a table of systems' "
            "scores in their place, against=..."
        )
    there = list(map(str, study.judgments["dimension"].unique()))
    if dimension is not None and dimension not in there:
        known(dimension, there, "dimension")
    return there if dimension is None else [dimension]


class People(NamedTuple):
    """Judged outputs (output_id, item_id, system, cluster, judgment), and how many there should be.

    `clusters` is what clusters are, None where they are items.
    """

    rows: pd.DataFrame
    n_outputs: int
    clusters: str | None

    def of_systems(self, name: str) -> pd.DataFrame:
        """Average judgments by system, as a table of system_scores."""
        means = self.rows.groupby("system", sort=False)["judgment"].mean()
        return means.rename("score").reset_index().assign(evaluator=name, signature="")


def judgments_of(
    study: Study, dimension: str, aggregate: str, clusters: str | None, include_human: bool
) -> People:
    """Make one judgment of each output's, and name its cluster."""
    if aggregate not in ("mean", "majority"):
        known(aggregate, ("mean", "majority"), "aggregate")
    declared = study.clusters if study.clusters != "item_id" else None
    clusters = clusters or declared
    judgments = study.judgments
    assert judgments is not None
    judgments = judgments[judgments["dimension"] == dimension]
    outputs = study.outputs if include_human else study.outputs[~study.outputs["is_human"]]
    votes = judgments.groupby("output_id")["value"]
    values = votes.mean() if aggregate == "mean" else _majority(votes, dimension)
    values = study.sign(dimension) * values
    rows = outputs[["output_id", "item_id", "system"]].assign(
        cluster=_clusters(outputs, judgments, clusters),
        judgment=equalized(outputs["output_id"].map(values).to_numpy(dtype=np.float64)),
    )
    rows = rows[rows["judgment"].notna()].reset_index(drop=True)
    if rows.empty:
        raise ValueError(
            f"none of the {len(outputs)} outputs{'' if include_human else ' that are not human'} "
            f"has a judgment of {dimension!r}."
        )
    if (rows["cluster"].isna() | (rows["cluster"] == "")).any():
        raise ValueError(
            f"clusters={clusters!r} is empty for some judged outputs: fill it in, or choose "
            "another column."
        )
    return People(rows, len(outputs), clusters)


def _majority(votes: Any, dimension: str) -> pd.Series:
    """Give what most annotators said of outputs with the commonest number of votes; NaN: a tie."""
    found = votes.agg(["mean", "size", "min", "max"])
    said = votes.obj
    if not said.isin([0, 1]).all():
        raise ValueError(
            f"aggregate='majority' needs votes, 0 or 1. {dimension!r} has "
            f"{said[~said.isin([0, 1])].iloc[0]:g}: name the dimension that holds votes."
        )
    found = found[found["size"] == found["size"].mode().iloc[0]]
    return (found["mean"] > 0.5).astype("float64").where(found["mean"] != 0.5)


def _clusters(outputs: pd.DataFrame, judgments: pd.DataFrame, column: str | None) -> pd.Series:
    if column is None:
        return outputs["item_id"]
    if column != "group_id":
        if column not in outputs:
            known(column, [*map(str, outputs.columns), "group_id"], "clusters")
        return outputs[column]
    of = judgments.groupby("output_id")["group_id"]
    several = of.nunique()[lambda n: n > 1]
    if len(several):
        raise ValueError(
            f"output {several.index[0]!r} was judged in {several.iloc[0]} groups, so it lies in no "
            "one cluster: drop the judgments of one group, or resample items."
        )
    return outputs["output_id"].map(of.first())


@dataclass(frozen=True)
class Judged:
    """Judged outputs (as in `People`) with a column of scores per evaluator; NaN without a score.

    `turned` names evaluators of which lower was better: their scores are negated.
    """

    rows: pd.DataFrame
    scores: pd.DataFrame
    n_outputs: int
    turned: frozenset[str]


def judged_scores(study: Study, people: People, evaluators: Sequence[str]) -> Judged:
    """Set evaluators' scores beside people's judgments of the same outputs."""
    scores = study.scored(evaluators)
    wide = scores.pivot(index="output_id", columns="evaluator", values="score")
    aligned = wide.reindex(people.rows["output_id"]).reset_index(drop=True)
    aligned = aligned.apply(lambda one: equalized(one.to_numpy(dtype=np.float64)), raw=False)
    for name in aligned:
        if aligned[name].isna().all():
            raise ValueError(
                f"evaluator {name!r} has no score for any judged output: check its output_id, or "
                "leave it out."
            )
    turned = frozenset(map(str, scores.loc[is_reversed(scores), "evaluator"].unique()))
    return Judged(people.rows, aligned, people.n_outputs, turned)


def sentinel_scores(study: Study, people: People) -> Judged:
    """Score judged outputs by what knows next to nothing of them."""
    rows = people.rows
    texts = rows["output_id"].map(study.outputs.set_index("output_id")["text"])
    of_system = rows.groupby("system")["judgment"]
    # Of one system alone, the mean of the others is the judgment itself, turned around.
    several = len(rows["system"].unique()) > 1
    of_item = rows.groupby(["system", "item_id"])["judgment"]
    above = of_system.transform("sum") - of_item.transform("sum")
    n_others = of_system.transform("size") - of_item.transform("size")
    values: dict[str, Floats] = {
        "length": count_tokens(texts).astype(np.float64),
        "constant": np.zeros(len(rows)),
        "system_mean": divide(above.to_numpy(np.float64), n_others.to_numpy(np.float64))
        if several
        else np.full(len(rows), np.nan),
    }
    scores = pd.DataFrame({f"{name}@sentinel": equalized(one) for name, one in values.items()})
    scores = scores.dropna(axis=1, how="all")
    return Judged(rows, scores, people.n_outputs, frozenset())


def with_ceiling(
    table: pd.DataFrame,
    study: Study,
    dimension: str,
    asked: Asked,
    aggregate: str,
    include_human: bool,
) -> pd.DataFrame:
    """Set the ceiling of annotators' halves beside Pearson's correlations."""
    estimate, low, high, reason = float("nan"), float("nan"), float("nan"), ""
    if asked.granularity == "item":
        reason = "there is a ceiling over systems and over outputs, none within items"
    elif aggregate != "mean" or include_human:
        reason = "the ceiling is that of mean judgments of systems that are not human"
    else:
        try:
            halves = split_half(
                study,
                dimension=dimension,
                confidence=asked.confidence,
                seed=np.random.default_rng(0),
            )
        except ValueError as error:
            reason = str(error)
        else:
            wanted = halves["unit"].eq(asked.granularity) & halves["quantity"].eq("ceiling")
            row = halves[wanted].iloc[0]
            estimate, low, high = row[["estimate", "ci_low", "ci_high"]].astype(float)
            reason = row["reason"]
    pearson = table["statistic"].eq("pearson")
    found = {"ceiling": estimate, "ceiling_low": low, "ceiling_high": high}
    other = "there is a ceiling of Pearson's correlation alone"
    return table.assign(
        **{name: np.where(pearson, value, np.nan) for name, value in found.items()},
        ceiling_reason=np.where(pearson, reason, other),
    )


@dataclass(frozen=True)
class Sample:
    """Outputs that some evaluators have all scored: scores (m, n), judgments (n,), and numbers.

    Items, systems and clusters are numbered from 0; some numbers may not occur.
    """

    x: Floats
    y: Floats
    item: NDArray[np.int64]
    system: NDArray[np.int64]
    cluster: NDArray[np.int64]
    n_systems: int
    n_clusters: int


def samples_of(judged: Judged) -> Iterator[tuple[list[str], Sample]]:
    """Group evaluators that have scored the same outputs; numbers are the same in all samples."""
    values, there = judged.scores.to_numpy(dtype=np.float64), judged.scores.notna()
    names = ("item_id", "system", "cluster")
    number = {name: pd.factorize(judged.rows[name])[0] for name in names}
    patterns: dict[bytes, list[int]] = {}
    for place, name in enumerate(there.columns):
        patterns.setdefault(there[name].to_numpy().tobytes(), []).append(place)
    for places in patterns.values():
        scored = there.iloc[:, places[0]].to_numpy()
        yield (
            [str(there.columns[place]) for place in places],
            Sample(
                values[scored][:, places].T,
                judged.rows.loc[scored, "judgment"].to_numpy(dtype=np.float64),
                item=number["item_id"][scored],
                system=number["system"][scored],
                cluster=number["cluster"][scored],
                n_systems=int(number["system"].max()) + 1,
                n_clusters=int(number["cluster"].max()) + 1,
            ),
        )


# One sample's rows ---------------------------------------------------------------------------


def correlated(
    judged: Judged, names: list[str], sample: Sample, asked: Asked, rng: np.random.Generator
) -> pd.DataFrame:
    """Correlate evaluators that have scored the same outputs."""
    granularity, statistics, resample, n_resamples, confidence = asked
    epsilons = epsilons_of(sample, granularity, statistics)
    full = full_statistics(sample, granularity, statistics, epsilons)
    tested: dict[str, tuple[Floats, str]] = {}
    beside: dict[str, Floats] = {}
    intervals: dict[tuple[int, str], Interval] = {}
    if granularity == "system":
        tested = _permutation_tests(sample, statistics, full, n_resamples, rng)
        found = expectations(*cluster_sums(sample))
        beside = {
            "disattenuated": found.r,
            "reliability_scores": found.reliability_scores,
            "reliability_judgments": found.reliability_judgments,
        }
        if resample is not None:
            bootstrapped = {}
            if percentile := [name for name in statistics if name not in PLAIN]:
                bootstrapped = resampled(
                    judged, sample, granularity, percentile, epsilons, resample, n_resamples, rng
                )
            intervals = system_intervals(
                found,
                full,
                bootstrapped,
                resample=resample,
                n_resamples=n_resamples,
                confidence=confidence,
                rng=rng,
            )
    elif resample is not None:
        intervals = of_outputs(sample, granularity, full, epsilons, resample, confidence, rng)
    by_item = item_values(sample, statistics, epsilons, None) if granularity == "item" else full
    units = {"system": sample.system, "output": np.arange(len(sample.y)), "item": sample.item}
    n_clusters, n_systems = (len(np.unique(one)) for one in (sample.cluster, sample.system))
    nothing = Interval(float("nan"), float("nan"), "none", "nothing was resampled")
    rows = []
    for at, name in enumerate(names):
        for statistic in statistics:
            estimate = float(full[statistic][at, 0])
            interval = intervals.get((at, statistic), nothing)
            if statistic in tested:
                p, p_method = float(tested[statistic][0][at]), tested[statistic][1]
            elif statistic in PLAIN:
                p, p_method = p_value(interval), "jackknife, t"
            else:
                p, p_method = float("nan"), "none: epsilon was chosen on the same judgments"
            epsilon = epsilons[statistic][at].mean() if statistic in epsilons else float("nan")
            reason = interval.reason
            if resample is not None and not reason:
                reason = doubts(interval, n_clusters, n_systems, resample, granularity)
                if statistic in epsilons and _ties_all(sample, granularity, float(epsilon)):
                    reason = "the chosen threshold ties all scores"
            rows.append(
                _row(name, asked, statistic, estimate, interval, name in judged.turned)
                | {
                    "estimand": _estimand(granularity, resample, interval.method),
                    "reason": reason,
                    "p": p if np.isfinite(estimate) else float("nan"),
                    "p_method": p_method,
                    "n": len(np.unique(units[granularity])),
                    "n_clusters": n_clusters,
                    "n_undefined": int(np.isnan(by_item[statistic][at]).sum()),
                    "n_missing": judged.n_outputs - len(sample.y),
                    "epsilon": float(epsilon),
                }
                | {
                    column: float(values[at])
                    for column, values in beside.items()
                    if statistic == "pearson"
                }
            )
    return pd.DataFrame(rows)


def _row(
    evaluator: str, asked: Asked, statistic: str, estimate: float, interval: Interval, turned: bool
) -> dict[str, Any]:
    """Lay out what every row has, in the order of columns."""
    undefined = float("nan")
    return {
        "evaluator": evaluator,
        "dimension": "",
        "granularity": asked.granularity,
        "statistic": statistic,
        "estimate": estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "confidence": asked.confidence,
        "ci_method": interval.method,
        "estimand": "",
        "reason": interval.reason,
        "n_resamples": interval.n_drawn,
        "n_undefined_resamples": interval.n_undefined,
        "p": undefined,
        "p_method": "",
        "n": 0,
        "n_clusters": 0,
        "n_undefined": int(np.isnan(estimate)),
        "n_missing": 0,
        "epsilon": undefined,
        "turned": turned,
        "disattenuated": undefined,
        "reliability_scores": undefined,
        "reliability_judgments": undefined,
    }


def _estimand(granularity: str, resample: str | None, made: str) -> str:
    """Say what an interval is about."""
    if resample is None or made == "none":
        return ""
    noiseless = granularity == "system" and made != "percentile" and resample != "systems"
    return {
        "items": "these systems, other items",
        "systems": "other systems, these items",
        "both": "other systems, other items",
    }[resample] + (": expectations" if noiseless else "")


def _ties_all(sample: Sample, granularity: str, epsilon: float) -> bool:
    x = sample.x
    if granularity == "system":
        x = system_means(sample, np.ones((1, sample.n_clusters)))[0][:, 0]
    return bool(epsilon >= np.nanmax(np.nanmax(x, axis=1) - np.nanmin(x, axis=1)))


def what_is_drawn(asked: Asked, people: People) -> str:
    """Say what is resampled: items, clusters of what, systems."""
    if asked.resample is None:
        return "none"
    if people.clusters is None or asked.resample == "systems":
        return asked.resample
    return f"clusters of {people.clusters}" + (" and systems" if asked.resample == "both" else "")


# Statistics, of all data and of resamples ----------------------------------------------------


def full_statistics(
    sample: Sample, granularity: str, statistics: Sequence[str], epsilons: dict[str, Floats]
) -> dict[str, Floats]:
    """Compute statistics of all data, of shape (m, 1)."""
    ones = np.ones((1, sample.n_clusters)), np.ones((1, sample.n_systems))
    return statistics_at(sample, granularity, statistics, epsilons, *ones)


def statistics_at(
    sample: Sample,
    granularity: str,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_clusters: Floats,
    of_systems: Floats,
) -> dict[str, Floats]:
    """Compute statistics (m, r) of r resamples, which hold each cluster and system so many times.

    Of `STATISTICS` and ``chance_accuracy``; `epsilons` are those of all data.
    """
    if granularity == "system":
        return _of_systems(sample, statistics, epsilons, of_clusters, of_systems)
    if granularity == "output":
        weights = of_clusters[:, sample.cluster] * of_systems[:, sample.system]
        plain = [name for name in statistics if name in _OF_ARRAYS]
        found = weighted_coefficients(sample.x, sample.y, weights, statistics=plain)
        if "tie_calibrated" in statistics:
            found["tie_calibrated"] = np.stack(
                [
                    weighted_accuracy_at(x, sample.y, weights, epsilon=float(epsilon))
                    for x, epsilon in zip(sample.x, epsilons["tie_calibrated"], strict=True)
                ]
            )
        return found
    times = of_clusters[:, clusters_of_items(sample)].T  # (items, r)
    if (of_systems == 1).all():
        by_item = item_values(sample, statistics, epsilons, None)
        return {
            name: divide(np.nan_to_num(values) @ times, np.isfinite(values) @ times)
            for name, values in by_item.items()
        }
    x, y = item_grids(sample)
    shape = len(x), len(of_systems)
    sums = {name: (np.zeros(shape), np.zeros(shape)) for name in statistics}
    for rows, part in crossed_coefficients(
        x, y, of_systems, statistics=[name for name in statistics if name in CROSSED]
    ):
        for name, values in part.items():
            there = np.isfinite(values)
            np.copyto(values, 0, where=~there)
            for total, each in zip(sums[name], (values, there), strict=True):
                total += np.einsum("mir,ir->mr", each, times[rows])
    if slow := [name for name in statistics if name not in CROSSED]:
        for at, counts in enumerate(of_systems):
            for name, values in item_values(sample, slow, epsilons, counts).items():
                sums[name][0][:, at] = np.nan_to_num(values) @ times[:, at]
                sums[name][1][:, at] = np.isfinite(values) @ times[:, at]
    return {name: divide(*both) for name, both in sums.items()}


def item_values(
    sample: Sample,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_systems: Floats | None,
) -> dict[str, Floats]:
    """Compute statistics over the systems of each item (m, items); NaN where nothing varies."""
    x, y = item_grids(sample)
    weights = np.isfinite(y) * (np.ones(sample.n_systems) if of_systems is None else of_systems)
    plain = [name for name in statistics if name in _OF_ARRAYS]
    found = coefficients(x, y, weights, statistics=plain) if plain else {}
    if "tie_calibrated" in statistics:
        pairs = zip(x, epsilons["tie_calibrated"], strict=True)
        found["tie_calibrated"] = np.stack(
            [accuracy_at(one, y, weights, epsilon=epsilon) for one, epsilon in pairs]
        )
    return found


def _of_systems(
    sample: Sample,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    of_clusters: Floats,
    of_systems: Floats,
) -> dict[str, Floats]:
    # Where only systems are drawn, their means are the same in every resample.
    fixed = (of_clusters == 1).all()
    x, y, there = system_means(sample, of_clusters[:1] if fixed else of_clusters)
    weights = there * of_systems
    plain = [name for name in statistics if name in _OF_ARRAYS]
    found: dict[str, Floats] = {}
    if fixed and plain and len(of_systems) > 1:
        has = there[0]
        found = weighted_coefficients(x[:, 0, has], y[0, has], of_systems[:, has], statistics=plain)
    elif plain:
        none_absent = (weights == 1).all()
        each = [
            coefficients(one, y, None if none_absent else weights, statistics=plain) for one in x
        ]
        found = {name: np.stack([one[name] for one in each]) for name in plain}
    if "tie_calibrated" in statistics:
        pairs = zip(x, epsilons["tie_calibrated"], strict=True)
        wide = (len(weights), sample.n_systems)
        found["tie_calibrated"] = np.stack(
            [
                accuracy_at(
                    np.broadcast_to(one, wide), np.broadcast_to(y, wide), weights, epsilon=e
                )
                for one, e in pairs
            ]
        )
    if "soft_pairwise" in statistics:
        grid_x, grid_y = item_grids(sample)
        of_items = (of_clusters[:1] if fixed else of_clusters)[:, clusters_of_items(sample)]
        first, second = np.triu_indices(sample.n_systems, 1)
        p_y = pair_confidences(grid_y, of_items)
        rows = []
        for one in grid_x:
            gap = np.abs(pair_confidences(one, of_items) - p_y)
            weight = np.where(np.isfinite(gap), of_systems[:, first] * of_systems[:, second], 0)
            rows.append(1 - divide((weight * np.nan_to_num(gap)).sum(axis=1), weight.sum(axis=1)))
        found["soft_pairwise"] = np.stack(rows)
    return found


def epsilons_of(sample: Sample, granularity: str, statistics: Sequence[str]) -> dict[str, Floats]:
    """Choose thresholds of tie calibration on all data (m,)."""
    if "tie_calibrated" not in statistics:
        return {}
    if granularity == "item":
        x, y = item_grids(sample)
    elif granularity == "output":
        x, y = sample.x[:, None], sample.y[None]
    else:
        x, y, _ = system_means(sample, np.ones((1, sample.n_clusters)))
    return {"tie_calibrated": np.array([best_epsilon(tie_calibration(one, y)) for one in x])}


def item_grids(sample: Sample) -> tuple[Floats, Floats]:
    """Lay scores (m, items, systems) and judgments (items, systems) out; outputs are averaged."""
    items, row = np.unique(sample.item, return_inverse=True)
    cell, n_cells = row * sample.n_systems + sample.system, len(items) * sample.n_systems
    count = np.bincount(cell, minlength=n_cells).astype(np.float64)
    grids = [
        equalized(
            divide(np.bincount(cell, weights=values, minlength=n_cells).astype(np.float64), count)
        ).reshape(len(items), -1)
        for values in (*sample.x, sample.y)
    ]
    return np.stack(grids[:-1]), grids[-1]


def system_means(sample: Sample, of_clusters: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Average each system's outputs in resamples: scores (m, r, s), judgments (r, s), any there.

    Equal means are tied, whatever their last bits.
    """
    cell = sample.cluster * sample.n_systems + sample.system
    n_cells = sample.n_clusters * sample.n_systems

    def sums(values: Floats) -> Floats:
        table = np.bincount(cell, weights=values, minlength=n_cells)
        return of_clusters @ table.reshape(sample.n_clusters, -1)

    count = sums(np.ones(len(sample.y)))
    x, y = np.stack([divide(sums(one), count) for one in sample.x]), divide(sums(sample.y), count)
    return np.stack([equalized(one) for one in x]), equalized(y), count > 0


def cluster_sums(sample: Sample) -> tuple[Floats, Floats, Floats]:
    """Count outputs, and sum scores and judgments, by cluster and system; those without leave."""
    cell = sample.cluster * sample.n_systems + sample.system
    n_cells, shape = sample.n_clusters * sample.n_systems, (sample.n_clusters, sample.n_systems)
    count, *sums = (
        np.bincount(cell, weights=one, minlength=n_cells).reshape(shape).astype(np.float64)
        for one in (np.ones(len(cell)), *sample.x, sample.y)
    )
    there = np.ix_(count.any(axis=1), count.any(axis=0))
    return count[there], np.stack([one[there] for one in sums[:-1]]), sums[-1][there]


def clusters_of_items(sample: Sample) -> NDArray[np.int64]:
    """Give each item's cluster, in the order of `item_grids`."""
    pairs = np.unique(np.stack([sample.item, sample.cluster]), axis=1)
    if pairs.shape[1] != len(np.unique(pairs[0])):
        raise ValueError(
            "some items lie in several clusters, so that items cannot be resampled by cluster: "
            "leave `clusters` out, or use granularity='output'."
        )
    return pairs[1]


# Resampling ----------------------------------------------------------------------------------


def resampled(
    judged: Judged,
    sample: Sample,
    granularity: str,
    statistics: Sequence[str],
    epsilons: dict[str, Floats],
    resample: str,
    n_resamples: int,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Compute statistics (m, n_resamples) of bootstrap samples of all judged outputs."""
    cluster, system = (pd.factorize(judged.rows[name])[0] for name in ("cluster", "system"))
    counts = bootstrap_samples(cluster, system, resample, n_resamples, rng)
    parts = [statistics_at(sample, granularity, statistics, epsilons, *one) for one in counts]
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in statistics}


def bootstrap_samples(
    cluster: NDArray[np.int64],
    system: NDArray[np.int64],
    resample: str,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Floats, Floats]]:
    """Draw clusters, systems or both, some resamples at a time: how often each is in each.

    Where every cluster is of one system, clusters are drawn within systems.
    """
    n_clusters, n_systems = cluster.max() + 1, system.max() + 1
    pairs = np.unique(np.stack([cluster, system]), axis=1)
    strata = pairs[1] if pairs.shape[1] == n_clusters else np.zeros(n_clusters)
    step = max(1, _AT_ONCE // len(cluster))
    for start in range(0, n_resamples, step):
        r = min(step, n_resamples - start)
        of_clusters, of_systems = np.ones((r, n_clusters)), np.ones((r, n_systems))
        if resample in ("items", "both"):
            of_clusters = bootstrap_counts(strata, r, rng)
        if resample in ("systems", "both"):
            of_systems = bootstrap_counts(np.zeros(n_systems), r, rng)
        yield of_clusters, of_systems


def of_outputs(
    sample: Sample,
    granularity: str,
    full: dict[str, Floats],
    epsilons: dict[str, Floats],
    resample: str,
    confidence: float,
    rng: np.random.Generator,
) -> dict[tuple[int, str], Interval]:
    """Compute statistics of outputs or items without each cluster or system: their intervals."""
    computed, chance = list(full), None
    if "pairwise_accuracy" in computed:
        by_chance = full_statistics(sample, granularity, ["chance_accuracy"], epsilons)
        chance = by_chance["chance_accuracy"]
        computed.append("chance_accuracy")
    deleted = []
    for unit in ("items", "systems"):
        if resample not in (unit, "both"):
            continue
        if unit == "items":
            n_all = sample.n_clusters
            there, group, strata = _groups_of_clusters(sample, rng)
        else:
            n_all = sample.n_systems
            there = np.unique(sample.system)
            group, strata = np.arange(len(there)), np.zeros(len(there), dtype=np.int64)
        counts = np.ones((len(strata), n_all))
        counts[group, there] = 0
        others = np.ones((len(strata), sample.n_clusters + sample.n_systems - n_all))
        each = (counts, others) if unit == "items" else (others, counts)
        without = statistics_at(sample, granularity, computed, epsilons, *each)
        deleted.append((without, strata))
    studentized: dict[str, OverSystems] = {}
    # Resamples of fewer systems are too much alike.
    if granularity == "output" and resample != "items" and len(np.unique(sample.system)) > 4:
        own = rng.spawn(1)[0]
        ranks = [name for name in full if name in PLAIN and name not in (*ACCURACIES, "pearson")]
        if "pearson" in full:
            studentized["pearson"] = over_systems(
                sample.x, sample.y, sample.system, confidence, own
            )
        if ranks:
            x, y = stats.rankdata(sample.x, axis=1), stats.rankdata(sample.y)
            found = over_systems(x, y, sample.system, confidence, own)
            studentized |= dict.fromkeys(ranks, found)
    return jackknife_intervals(
        full,
        chance,
        deleted,
        granularity=granularity,
        confidence=confidence,
        studentized=studentized,
    )


def _groups_of_clusters(
    sample: Sample, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group clusters to be deleted: one by one, or random ones where there are over a thousand.

    Gives the clusters there are, the group of each, and each group's stratum.
    """
    there = np.unique(sample.cluster)
    pairs = np.unique(np.stack([sample.cluster, sample.system]), axis=1)
    apart = pairs.shape[1] == len(there)
    stratum = pairs[1] if apart else np.zeros(len(there), dtype=np.int64)
    group = np.arange(len(there))
    if len(there) > _MOST_GROUPS:
        # Shuffled within strata, then dealt out in turn, so that groups are of one stratum.
        order = np.lexsort((rng.random(len(there)), stratum))
        group[order] = np.arange(len(there)) * _MOST_GROUPS // len(there)
    return there, group, pd.Series(stratum).groupby(group).first().to_numpy()


def _permutation_tests(
    sample: Sample,
    statistics: Sequence[str],
    full: dict[str, Floats],
    n_permutations: int,
    rng: np.random.Generator,
) -> dict[str, tuple[Floats, str]]:
    """Deal the systems' judgments out anew, and give p for each evaluator and statistic."""
    x, y, there = system_means(sample, np.ones((1, sample.n_clusters)))
    has = there[0]
    x, y = x[:, 0, has], y[0, has]
    orders, is_all = orders_of(len(y), n_permutations, rng)
    method = "permutation, " + ("all" if is_all else f"{len(orders)} drawn")
    plain = [name for name in statistics if name in PLAIN]
    each = [coefficients(one, y[orders], statistics=plain) if plain else {} for one in x]
    found = {name: np.stack([one[name] for one in each]) for name in plain}
    if "tie_calibrated" in statistics:
        found["tie_calibrated"] = np.full((len(x), len(orders)), np.nan)
        if len(y) > 1:
            found["tie_calibrated"] = np.stack([calibrated_accuracies(one, y[orders]) for one in x])
    if "soft_pairwise" in statistics:
        grid_x, grid_y = item_grids(sample)
        once = np.ones((1, len(grid_y)))
        i, j = np.triu_indices(len(y), 1)
        sure = np.zeros((len(y), len(y)))
        sure[i, j] = pair_confidences(grid_y[:, has], once)[0]
        sure[j, i] = 1 - sure[i, j]
        dealt = sure[orders[:, i], orders[:, j]]
        gaps = [np.abs(dealt - pair_confidences(one[:, has], once)) for one in grid_x]
        found["soft_pairwise"] = (
            np.stack([1 - gap.mean(axis=1) for gap in gaps])
            if len(i)
            else (np.full((len(x), len(orders)), np.nan))
        )
    return {
        name: (
            permutation_p(values, full[name], exact=is_all, two_sided=name not in ACCURACIES),
            method,
        )
        for name, values in found.items()
    }


# Systems' scores alone -----------------------------------------------------------------------


def systems_scores(
    study: Study, evaluators: Mapping[str, str], *, include_human: bool = False
) -> pd.DataFrame:
    """Gather evaluators' scores of systems: means of those of outputs, or their own."""
    parts = []
    scores, own = study.scores, study.system_scores
    if scores is not None:
        names = [name for name, where in evaluators.items() if where == "scores"]
        scores = scores[scores["evaluator"].isin(names)]
        found = scores.merge(
            study.outputs[["output_id", "system"]], on="output_id", validate="many_to_one"
        )
        means = found.groupby(["system", "evaluator"], sort=False)["score"].mean().reset_index()
        signature = scores.drop_duplicates("evaluator").set_index("evaluator")["signature"]
        parts.append(means.assign(signature=means["evaluator"].map(signature)))
    if own is not None:
        names = [name for name, where in evaluators.items() if where == "system_scores"]
        parts.append(own[own["evaluator"].isin(names)])
    table = without_humans(study, pd.concat(parts, ignore_index=True), include_human)
    if table.empty:
        raise ValueError(
            f"no evaluator has a score of a system of {study.name}"
            + ("." if include_human else " that is not human: include_human=True takes these, too.")
        )
    return table


def without_humans(study: Study, table: pd.DataFrame, include_human: bool) -> pd.DataFrame:
    """Leave human texts' scores out of a table of system_scores, unless asked for."""
    human = study.outputs.loc[study.outputs["is_human"], "system"].unique()
    return table if include_human else table[~table["system"].isin(human)]


def check_against(against: pd.DataFrame) -> pd.DataFrame:
    """Check a table of systems' scores that was passed in."""
    missing = {"system", "evaluator", "score"} - set(against)
    if missing or not len(against):
        raise ValueError(
            "against must be a table of systems' scores: system, evaluator, score (and signature). "
            f"Got {len(against)} rows of {', '.join(map(str, against)) or 'no column'}."
        )
    doubled = against.duplicated(["system", "evaluator"])
    if doubled.any():
        row = against[doubled].iloc[0]
        raise ValueError(f"against has two scores of {row['system']!r} by {row['evaluator']!r}.")
    return against if "signature" in against else against.assign(signature="")


def wide_scores(
    evaluators: pd.DataFrame, people: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay two tables of system_scores out by system, with turned scores; NaN where missing."""
    systems = pd.concat([evaluators["system"], people["system"]]).unique()
    wide = []
    for one in (evaluators, people):
        names = one["evaluator"].unique()
        table = oriented(one).pivot(index="system", columns="evaluator", values="score")
        table = table.reindex(index=systems, columns=names)
        # Equal means may differ in their last bits, and would not be tied.
        wide.append(table.apply(lambda column: equalized(column.to_numpy()), raw=False))
    return wide[0], wide[1]


def systems_alone(
    evaluators: pd.DataFrame, people: pd.DataFrame, asked: Asked, rng: np.random.Generator
) -> pd.DataFrame:
    """Correlate tables of system_scores: each evaluator with each way to sum people up."""
    scores, human = wide_scores(evaluators, people)
    turned = set(evaluators.loc[is_reversed(evaluators), "evaluator"])
    rows = []
    for evaluator in scores.columns:
        for by in human.columns:
            both = scores[evaluator].notna() & human[by].notna()
            either = scores[evaluator].notna() | human[by].notna()
            x, y = scores.loc[both, evaluator].to_numpy(), human.loc[both, by].to_numpy()
            for name in asked.statistics:
                estimate = float("nan")
                if len(x) > 1 and name in PLAIN:
                    estimate = float(coefficients(x, y, statistics=[name])[name])
                p, method = _p_of_systems(x, y, name, estimate, asked.n_resamples, rng)
                interval = interval_of_systems(name, estimate, len(x), asked.confidence)
                if name not in PLAIN:
                    interval = interval._replace(reason="needs scores and judgments of outputs")
                elif asked.resample is None:
                    interval = Interval(float("nan"), float("nan"), "none", "nothing was resampled")
                rows.append(
                    _row(evaluator, asked, name, estimate, interval, evaluator in turned)
                    | {
                        "dimension": by,
                        "estimand": "" if interval.method == "none" else "other systems",
                        "p": p,
                        "p_method": method,
                        "n": len(x),
                        "n_missing": int(either.sum() - both.sum()),
                        "resample": "none" if asked.resample is None else "systems",
                    }
                )
    return pd.DataFrame(rows)


def _p_of_systems(
    x: Floats, y: Floats, name: str, estimate: float, n: int, rng: np.random.Generator
) -> tuple[float, str]:
    """Give SciPy's p, as papers print it; of a permutation test for accuracy, which it lacks."""
    if name in ACCURACIES:
        if not np.isfinite(estimate):
            return float("nan"), "none"
        orders, is_all = orders_of(len(y), n, rng)
        values = coefficients(x, y[orders], statistics=[name])[name]
        p = permutation_p(values, np.array([estimate]), exact=is_all, two_sided=False)
        return float(p), "permutation, " + ("all" if is_all else f"{len(orders)} drawn")
    if not np.isfinite(estimate):
        return float("nan"), "scipy"
    tests = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall_b": stats.kendalltau,
    }
    return float(tests[name](x, y).pvalue), "scipy"
