"""Corrected means: an evaluator scored all outputs, people judged a random part of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata
from scipy.stats import t as student

from nlgbench.crossed import (
    FEWEST,
    OTHER_ANNOTATORS,
    choose_annotators,
    contrast_variance,
    few_clusters,
    rank_ranges,
)
from nlgbench.inference import Floats, adjust, linked
from nlgbench.names import brief
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Ints = NDArray[np.int64]
RANDOM = "random"
LABELS, EVALUATOR, CORRECTED = "labels alone", "evaluator alone", "corrected"

#: Fewer labels than these in all do not say how far to lean on an evaluator.
FEWEST_LABELS = 20
#: Systems with fewer labels than these share one lambda.
FEWEST_OWN = 30
#: With fewer effective clusters than these, lambda of each is fitted on the others.
FEWEST_FOLDS = 30
_FLAT = 1e-12
BIASED = "biased: the evaluator's own mean, and an interval of that, not of people's"


@dataclass(frozen=True, eq=False)
class CorrectedQuality(Reported):
    """What people would say of systems, by few labels and an evaluator's scores, as tables.

    Parameters
    ----------
    systems, pairs, details : DataFrame
        As `corrected_quality` says.

    Examples
    --------
    >>> import nlgbench as nb
    >>> found = corrected_quality(nb.simulate("own", seed=1), evaluator="close", sampling="random")
    >>> isinstance(found, CorrectedQuality), len(found.systems)
    (True, 15)
    """

    systems: pd.DataFrame
    pairs: pd.DataFrame
    details: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.systems.round(3)


@checked
def corrected_quality(
    study: Study,
    *,
    evaluator: str,
    sampling: str | None = None,
    dimension: str | None = None,
    include_human: bool = False,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> CorrectedQuality:
    """Say how good systems are from an evaluator's scores of all and people's word on a part.

    Parameters
    ----------
    study : Study
        With scores of outputs, and judgments of some of them. An output's label is the mean of its
        judgments.
    evaluator : str
        Whose scores. Those whose signature says ``direction:lower`` are turned.
    sampling : str
        How outputs were chosen for people, which must be said. ``"random"``: each system's with
        equal chances. Or the name of a column of outputs (``settings["extra"]``) with each output's
        inclusion probability, above 0 and at most 1, where chances were not equal.
    dimension : str, optional
        Which judgments. Default: the quality dimension. One in which lower is better has its signs
        turned, and ``details`` say so.
    include_human : bool
        Whether human outputs are a system here. Default: they are left out.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to: other items judged by these annotators, or other items and
        annotators. Default: annotators are a random sample if ten or more effective ones judged
        (each counts by their share of the labels), else fixed. Where each annotator judged a single
        cluster of items, intervals over clusters cover annotators, too.
    confidence : float
        Coverage asked for, between 0 and 1; 1 - confidence is the level of tests.

    Returns
    -------
    CorrectedQuality
        ``systems``, three rows for each, the best first: system, method (``labels alone``,
        ``evaluator alone``, ``corrected``), estimate, ci_low, ci_high, covers (what the interval
        generalizes to), rank_low, rank_high (simultaneous), labels_saved (labels alone that would
        be as sure, less those that there are), reason (why there is no interval or why to doubt it,
        and how many outputs are left out, having no score).

        ``details``, by system and method: label, se, df, rank, n_labels (labelled outputs),
        n_outputs, n_clusters (effective clusters of labels), lambda (PPI++'s), correlation (of
        labels and scores), effective_labels, saved_low, saved_high, saved_reason, p_of_draw (that
        labelled outputs' scores are as those of all), better.

        ``pairs``, two rows for each two systems and of ``labels alone`` and ``corrected``: method,
        system, opponent, difference (above 0: system is better), ci_low, ci_high (one at a time),
        se, df, p, p_adjusted (Holm over all pairs), verdict (``better``, ``worse``,
        ``undecided``), n_items (that both answered), covers, reason.

    Raises
    ------
    ValueError
        When `sampling` is not said or is no column, an inclusion probability is not above 0 and at
        most 1, the study has no such scores or judgments, or no output has both.

    Notes
    -----
    ``estimate = mean label + beta (mean score of all - mean score of the labelled)``, which with
    ``beta = lambda (1 + n / N)``, N without a label, is PPI++ (Angelopoulos, Duchi and Zrnic 2023,
    doi:10.48550/arXiv.2311.01453), and the regression estimator of survey sampling. beta is the
    slope of labels on scores over labelled outputs; systems with fewer than 30 labels share one.
    With fewer than 30 effective clusters each cluster is corrected by the slope of the others. With
    unequal chances means of labelled outputs are weighted by 1 / chance (Hajek).

    Clusters are items (or ``settings["clusters"]``, a column of outputs) and, where annotators are
    random, annotators: the largest of ``V_I``, ``V_A`` and ``V_I + V_A - V_IA``, as in
    `compare_systems`; residuals are from slopes without their cluster. t has ``G - 1`` degrees of
    freedom, G the smaller effective number. Rank ranges count the pairs that Holm's tests reject.
    docs/corrected-means.md has the coverage that was measured.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", n_items=200, design="scattered", n_annotators=40, seed=1)
    >>> drawn = study.outputs["output_id"].sample(300, random_state=1)
    >>> judged = study.replace(judgments=study.judgments.query("output_id in @drawn"))
    >>> found = corrected_quality(judged, evaluator="close", sampling="random")
    >>> best = found.systems.query("system == 's01'")
    >>> best[["method", "estimate", "ci_low", "ci_high", "labels_saved"]].round(2)
                method  estimate  ci_low  ci_high  labels_saved
    0     labels alone      0.41    0.01     0.80          0.00
    1  evaluator alone      0.55    0.38     0.71           NaN
    2        corrected      0.46    0.11     0.82         15.38
    """
    if sampling is None:
        raise ValueError(
            "sampling must be said: a correction holds only for outputs that were drawn for people "
            "by chance, and the tables do not show it. sampling='random' says that each system's "
            "outputs had equal chances; sampling=COLUMN names a column of outputs (declared in "
            "settings['extra']) with their inclusion probabilities, as in stratified or active "
            "designs. Outputs that people chose cannot be corrected: draw some at random."
        )
    dimension = study.dimension(dimension)
    given, counts = _read(study, evaluator, sampling, dimension, include_human)
    n_labels = int((given.weight > 0).sum())
    covers, unknown, over_annotators = _covered(study, given, annotators, counts)
    fits = {
        method: fitted(given, method, over_annotators) for method in (LABELS, EVALUATOR, CORRECTED)
    }
    missing = ""
    if n_labels < FEWEST_LABELS:
        missing = (
            f"{n_labels} labels in all: fewer than {FEWEST_LABELS} do not say how far to lean on "
            "an evaluator"
        )
        fits[CORRECTED] = replace(fits[CORRECTED], level=np.full(len(given.names), np.nan))
    if unknown:
        none = np.full(len(given.names), np.nan)
        for method in (LABELS, CORRECTED):
            fits[method] = replace(fits[method], df=none)
    shown, paired = [], []
    for method, fit in fits.items():
        why = {EVALUATOR: BIASED, CORRECTED: missing or unknown, LABELS: unknown}[method]
        of = "other items" if method == EVALUATOR else covers
        table = _systems(study, given, fit, method, why, confidence)
        ranks = dict.fromkeys(("rank_low", "rank_high"), np.full(len(table), np.nan))
        if method != EVALUATOR and len(table) > 1:
            pairs = _pairs(given, fit, method, why, over_annotators, confidence)
            pairs["reason"] = _joined(
                pairs["reason"], _left_out(counts["unscored"], pairs["system"], pairs["opponent"])
            )
            paired.append(pairs.assign(covers=of))
            if pairs["p_adjusted"].notna().all():
                one, other = (pairs[name].to_numpy() for name in ("system", "opponent"))
                better = (pairs["verdict"] == "better").to_numpy()
                ranks = rank_ranges(one, other, better, len(table))
        table["reason"] = _joined(table["reason"], _left_out(counts["unscored"], table["number"]))
        shown.append(table.assign(covers=of, **ranks))
    saved = labels_saved(given, fits[LABELS], fits[CORRECTED], over_annotators, confidence)
    systems = [shown[0].assign(effective_labels=shown[0]["n_labels"], labels_saved=0.0)]
    systems += [shown[1], shown[2].assign(**saved)]
    first = fits[LABELS if missing else CORRECTED].level
    place = np.argsort(np.argsort(-np.nan_to_num(first, nan=-np.inf), kind="stable"))
    whole = pd.concat(systems, ignore_index=True)
    whole = whole.iloc[np.argsort(place[whole["number"]], kind="stable")].reset_index(drop=True)
    names = np.array(given.names, dtype=object)
    if paired:
        both = pd.concat(paired, ignore_index=True)
        order = np.lexsort([place[both["opponent"]], place[both["system"]]])
        both = both.iloc[order].sort_values("method", kind="stable").reset_index(drop=True)
        both = both.assign(system=names[both["system"]], opponent=names[both["opponent"]])
    else:
        both = pd.DataFrame(columns=list(_PAIRS))
    whole["p_of_draw"] = counts["p"]
    whole["better"] = "lower, signs are turned" if study.sign(dimension) < 0 else "higher"
    doubts = _doubts(counts, n_labels)
    of_labels = whole["method"] != EVALUATOR
    whole.loc[of_labels, "reason"] = _joined(
        whole.loc[of_labels, "reason"], ["; ".join(doubts)] * int(of_labels.sum())
    )
    details = whole.reindex(columns=list(_DETAILS)).fillna({"saved_reason": ""})
    return CorrectedQuality(whole[list(_SYSTEMS)], both[list(_PAIRS)], details)


@checked
def draw_labels(
    study: Study, n: int, *, dimension: str | None = None, seed: int | np.random.Generator = 0
) -> Study:
    """Keep people's word on a random part of the outputs they judged, as if on no others.

    Parameters
    ----------
    study : Study
        With judgments.
    n : int
        How many outputs, at least 1; all that were judged, where these are fewer.
    dimension : str, optional
        The judgments that an output must have to be drawn. Default: the quality dimension.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    Study
        With the judgments of these outputs, and the scores of all that could have been drawn: so
        each had the same chance, as ``sampling="random"`` of `corrected_quality` says.

    Raises
    ------
    ValueError
        When `n` is not 1 or more, there are no judgments, or the dimension is unknown.

    Examples
    --------
    >>> import nlgbench as nb
    >>> part = draw_labels(nb.simulate("own", seed=0), 30, seed=1)
    >>> part.judgments["output_id"].nunique()
    30
    """
    check_n(n, "n")
    dimension = study.dimension(dimension)
    assert study.judgments is not None
    judged = study.judgments.loc[study.judgments["dimension"] == dimension, "output_id"].unique()
    drawn = pd.Series(judged).sample(min(n, len(judged)), random_state=seed)
    part = study.replace(judgments=study.judgments[study.judgments["output_id"].isin(drawn)])
    if study.scores is None:
        return part
    return part.replace(scores=study.scores[study.scores["output_id"].isin(judged)])


@checked
def beside_all(
    found: CorrectedQuality, study: Study, *, dimension: str | None = None
) -> pd.DataFrame:
    """Set corrected means from a part of the judgments beside the means of all of them.

    Parameters
    ----------
    found : CorrectedQuality
        Of what `draw_labels` left of the study.
    study : Study
        With all its judgments.
    dimension : str, optional
        The one that `found` is of. Default: the quality dimension.

    Returns
    -------
    DataFrame
        A row per system, its index, in the order of names: the estimate of each method, ci_low and
        ci_high (of the corrected mean), and ``all judgments``: the mean over outputs of their mean
        judgment, its sign turned as theirs are where lower is better.

    Raises
    ------
    ValueError
        When there are no judgments, or the dimension is unknown.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("own", seed=0)
    >>> found = corrected_quality(draw_labels(study, 60), evaluator="close", sampling="random")
    >>> list(beside_all(found, study))
    ['corrected', 'evaluator alone', 'labels alone', 'ci_low', 'ci_high', 'all judgments']
    """
    judged = study.judged(dimension)
    outputs = judged.groupby("output_id").agg(system=("system", "first"), value=("value", "mean"))
    table = found.systems.set_index(["system", "method"])["estimate"].unstack()
    corrected = found.systems[found.systems["method"] == CORRECTED].set_index("system")
    table = table.join(corrected[["ci_low", "ci_high"]])
    return table.join(outputs.groupby("system")["value"].mean().rename("all judgments"))


_SYSTEMS = (
    *("system", "method", "estimate", "ci_low", "ci_high", "covers", "rank_low", "rank_high"),
    *("labels_saved", "reason"),
)
_DETAILS = (
    *("system", "method", "label", "se", "df", "rank", "n_labels", "n_outputs", "n_clusters"),
    *("lambda", "correlation", "effective_labels", "saved_low", "saved_high", "saved_reason"),
    *("p_of_draw", "better"),
)
_PAIRS = (
    *("method", "system", "opponent", "difference", "ci_low", "ci_high", "se", "df", "p"),
    *("p_adjusted", "verdict", "n_items", "covers", "reason"),
)


@dataclass(frozen=True, eq=False)
class Scored:
    """Outputs that have a score, in numbers, and the judgments of those that are labelled."""

    names: list[str]
    system: Ints
    item: Ints
    cluster: Ints
    #: What lambda is fitted without.
    fold: Ints
    score: Floats
    #: 1 / chance of being labelled; 0 of what is not.
    weight: Floats
    #: The output of each judgment, its annotator, and its value.
    output: Ints
    annotator: Ints
    value: Floats

    def only(self, kept: NDArray[np.bool_], systems: list[int]) -> Scored:
        """Keep some outputs of some systems, which are numbered anew."""
        place = np.cumsum(kept) - 1
        judged = kept[self.output]
        columns = ("item", "cluster", "fold", "score", "weight")
        changed = {name: getattr(self, name)[kept] for name in columns}
        changed |= {name: getattr(self, name)[judged] for name in ("annotator", "value")}
        return replace(
            self,
            names=[self.names[system] for system in systems],
            system=np.searchsorted(systems, self.system[kept]),
            output=place[self.output[judged]],
            **changed,
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """Levels of systems by one method, and what each cluster adds to them."""

    level: Floats
    #: The slope of labels on scores, over all labels of a system.
    slope: Floats
    #: What items, annotators, and pairs of both add: each of shape (clusters, systems).
    ways: list[csr_array]
    df: Floats
    n_clusters: Floats

    def variance(self, contrasts: Floats) -> Floats:
        """Give the variance of each contrast, over items alone or over items and annotators."""
        unknown = np.isnan(np.diag(self._grams[0]))
        found = contrast_variance(contrasts, [*map(np.nan_to_num, self._grams)])
        return np.where((contrasts[:, unknown] != 0).any(axis=1), np.nan, found)

    @cached_property
    def _grams(self) -> list[Floats]:
        return [np.asarray((way.T @ way).toarray()) for way in self.ways]


def _read(
    study: Study,
    evaluator: str,
    sampling: str,
    dimension: str,
    include_human: bool,
) -> tuple[Scored, dict[str, Any]]:
    """Lay scores, labels and chances beside each other, and count what is left out."""
    outputs = study.outputs
    scores = scores_of(study, evaluator)
    used = outputs if include_human else outputs[~outputs["is_human"]]
    chance = None if sampling == RANDOM else _chances(study, used, sampling)
    score = used["output_id"].map(scores).to_numpy(dtype=np.float64)
    there = np.isfinite(score)
    judged = study.judged(dimension)
    place = pd.Index(used["output_id"][there]).get_indexer(judged["output_id"])
    unscored_ids = judged.loc[place < 0, "output_id"]
    judged, place = judged[place >= 0], place[place >= 0]
    if judged.empty:
        raise ValueError(
            f"{study.name} has no output with a score of {evaluator!r} and a judgment of "
            f"{dimension!r}: score the outputs that people judged, or have some judged."
        )
    all_used, used, score = used, used[there], score[there]
    system, names = pd.factorize(used["system"])
    cluster = pd.factorize(used[study.clusters if study.clusters in used else "item_id"])[0]
    labelled = np.zeros(len(used), dtype=bool)
    labelled[place] = True
    weight = np.where(labelled, 1.0 if chance is None else 1 / chance[there], 0.0)
    annotator = pd.factorize(judged["annotator_id"])[0]
    dropped = all_used[~there]
    unscored = pd.DataFrame(
        {
            "system": pd.Index(names).get_indexer(dropped["system"]),
            "name": dropped["system"].to_numpy(),
            "judged": dropped["output_id"].isin(unscored_ids).to_numpy(),
        }
    )
    given = laid_out(
        *(list(map(str, names)), system, pd.factorize(used["item_id"])[0], cluster, score, weight),
        *(place, annotator, judged["value"].to_numpy(dtype=np.float64)),
    )
    counts = {
        "n_annotators": float(_effective(annotator, annotator * 0, _share(given), 1)[0]),
        "unscored": unscored,
        "p": p_of_draw(given),
        "expected": np.nan if chance is None else float(chance[there].sum()),
        "expected_sd": np.nan
        if chance is None
        else float(np.sqrt((chance[there] * (1 - chance[there])).sum())),
    }
    return given, counts


def _covered(
    study: Study,
    given: Scored,
    annotators: Literal["fixed", "random"] | None,
    counts: dict[str, Any],
) -> tuple[str, str, bool]:
    """Say what intervals cover, why there are none, and whether annotators are a factor."""
    if not is_crossed(given) and annotators != "fixed":
        return OTHER_ANNOTATORS, "", False
    covers, unknown = choose_annotators(annotators, counts["n_annotators"], persons=study.persons)
    return covers, unknown, covers == OTHER_ANNOTATORS and not unknown


def _left_out(unscored: pd.DataFrame, *sides: pd.Series) -> list[str]:
    """Say how many outputs of some systems have no score."""
    found = []
    for systems in zip(*sides, strict=True):
        own = unscored[unscored["system"].isin(systems)]
        n_judged = int(own["judged"].sum())
        words = f"{len(own)} outputs without a score are left out ({n_judged} of them judged)"
        found.append(words if len(own) else "")
    return found


def _joined(reasons: pd.Series, more: list[str]) -> list[str]:
    return ["; ".join(filter(None, both)) for both in zip(reasons, more, strict=True)]


def laid_out(
    names: list[str],
    system: Ints,
    item: Ints,
    cluster: Ints,
    score: Floats,
    weight: Floats,
    output: Ints,
    annotator: Ints,
    value: Floats,
) -> Scored:
    """Say of outputs and judgments what lambda is fitted without."""
    fold = _folds(cluster, output, annotator)
    return Scored(names, system, item, cluster, fold, score, weight, output, annotator, value)


def is_crossed(given: Scored) -> bool:
    """Say whether annotators met several clusters; else they are in those clusters' part."""
    n_people = int(given.annotator.max()) + 1
    cells = given.cluster[given.output] * n_people + given.annotator
    return len(np.unique(cells)) > len(np.unique(given.annotator))


def scores_of(study: Study, evaluator: str) -> pd.Series:
    """Give an evaluator's scores by output, the better the higher."""
    own = study.scored([evaluator])
    return own["score"].set_axis(own["output_id"])


def _chances(study: Study, used: pd.DataFrame, sampling: str) -> Floats:
    """Read inclusion probabilities from a further column of outputs."""
    if sampling not in study.extra:
        raise ValueError(
            f"sampling must be 'random', or a column of outputs with inclusion probabilities that "
            f"settings['extra'] declares ({', '.join(study.extra) or 'none is declared'}). "
            f"Got {sampling!r}."
        )
    chance = pd.to_numeric(used[sampling], errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(bad):
        row = used.iloc[bad[0]]
        raise ValueError(
            f"Study(outputs=...), output {row['output_id']!r}: {sampling} must be an inclusion "
            f"probability, above 0 and at most 1, of every output that could have been drawn "
            f"({len(bad):,} are not). Got {brief(row[sampling])}. Of outputs that could not be "
            "drawn nothing is known: leave them out."
        )
    return chance


def _folds(cluster: Ints, output: Ints, annotator: Ints) -> Ints:
    """Put together what shares annotators, where that leaves ten parts; else clusters alone."""
    part = linked(cluster[output], annotator)
    if part.max() + 1 < FEWEST:
        return cluster
    fold = part.max() + 1 + cluster
    of_cluster = np.full(cluster.max() + 1, -1)
    of_cluster[cluster[output]] = part
    return np.where(of_cluster[cluster] >= 0, of_cluster[cluster], fold)


def _share(given: Scored) -> Floats:
    """Give each judgment's share of its output's label, times the output's weight."""
    n = np.bincount(given.output, minlength=len(given.system))
    return given.weight[given.output] / n[given.output]


def _sums(label: Ints, system: Ints, value: Floats, k: int) -> csr_array:
    """Sum by cluster and system."""
    n = int(label.max(initial=-1)) + 1
    return csr_array(csr_array((value, (label, system)), shape=(n, k)))


def _effective(label: Ints, system: Ints, weight: Floats, k: int) -> Floats:
    """Count clusters of each system as if they were of one size: ``(sum n)^2 / sum n^2``."""
    n = int(label.max(initial=-1)) + 1
    sums = np.bincount(label * k + system, weight, n * k).reshape(n, k)
    squares = (sums**2).sum(axis=0)
    return np.asarray(sums.sum(axis=0) ** 2 / np.where(squares > 0, squares, np.nan))


def _scaled(n: Floats) -> Floats:
    """Give the root of G / (G - 1); NaN of one cluster."""
    return np.sqrt(n / np.where(n > 1 + 1e-9, n - 1, np.nan))


def fitted(given: Scored, method: str, over_annotators: bool) -> Fit:
    """Estimate each system's level, and say what each cluster adds to it."""
    k, system = len(given.names), given.system
    n_outputs = np.bincount(system, minlength=k)
    mean: Floats = np.bincount(system, given.score, k) / n_outputs
    apart: Floats = given.score - mean[system]
    clusters = given.cluster
    leaning = (
        apart
        / n_outputs[system]
        * _scaled(_effective(clusters, system, np.ones(len(system)), k))[system]
    )
    if method == EVALUATOR:
        n = _effective(clusters, system, np.ones(len(system)), k)
        ways = [_sums(clusters, system, leaning, k)]
        return Fit(mean, np.full(k, np.nan), ways, n - 1, n)
    rows = np.flatnonzero(given.weight > 0)
    of, f = system[rows], apart[rows]
    total = np.bincount(of, given.weight[rows], k)
    part = given.weight[rows] / total[of]
    added_up = np.bincount(given.output, _share(given) * given.value, len(system))
    label: Floats = added_up[rows] / given.weight[rows]
    slope, without = np.zeros(k), np.zeros(len(rows))
    used = without
    if method == CORRECTED:
        slope, without, n_folds = _slopes(given, rows, label, f)
        used = np.where(n_folds < FEWEST_FOLDS, without, slope[of])
    level = np.where(total > 0, np.bincount(of, part * (label - used * f), k), np.nan)
    rest = np.bincount(of, part * (label - without * f), k)
    # What each judgment adds: its share of the label, less the score's, less the mean of these.
    back = np.zeros(len(system), dtype=np.int64)
    back[rows] = np.arange(len(rows))
    row = back[given.output]
    share = _share(given) / total[of[row]]
    added = share * (given.value - (without * f)[row] - rest[of[row]])
    whose = of[row]
    shares = [(clusters[given.output], added)]
    if over_annotators:
        cell = np.unique(
            clusters[given.output] * (given.annotator.max() + 1) + given.annotator,
            return_inverse=True,
        )[1]
        shares += [(given.annotator, added), (cell, added)]
    ways, sizes = [], []
    for number, (of_way, value) in enumerate(shares):
        n = _effective(of_way, whose, share, k)
        sizes.append(n)
        value = value * _scaled(n)[whose]
        if number == 0:
            of_way = np.concatenate([of_way, clusters])
            value = np.concatenate([value, slope[system] * leaning])
            ways.append(_sums(of_way, np.concatenate([whose, system]), value, k))
        else:
            ways.append(_sums(of_way, whose, value, k))
    n = np.minimum(*sizes[:2]) if over_annotators else sizes[0]
    return Fit(level, slope, ways, n - 1, n)


def _slopes(given: Scored, rows: Ints, label: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """Give slopes of labels on scores: by system, and for each output without its fold.

    And the effective number of folds that each output's slope was fitted on.
    """
    k, of, weight = len(given.names), given.system[rows], given.weight[rows]
    _, fold = np.unique(given.fold[rows], return_inverse=True)
    total = np.bincount(of, weight, k)
    own = np.bincount(of, minlength=k) >= FEWEST_OWN
    # Moments around the system's mean of labels, so that their differences keep their digits.
    mean = np.bincount(of, weight * label, k) / np.where(total > 0, total, 1)
    y = label - mean[of]
    flat, n = fold * k + of, (int(fold.max()) + 1) * k
    parts = np.array(
        [np.bincount(flat, weight * one, n) for one in (np.ones(len(y)), y, f, y * f, f * f)]
    ).reshape(5, -1, k)
    whole = parts.sum(axis=1)
    slope, without = _slope(whole), _slope(whole[:, of] - parts[:, fold, of])
    if not own.all():
        slope = np.where(own, slope, _common(whole))
        without = np.where(own[of], without, _common(whole[:, None] - parts)[fold])
    n_own = _effective(fold, of, weight, k)
    n_all = _effective(fold, of * 0, weight, 1)
    return slope, without, np.where(own, n_own, n_all)[of]


def _moments(sums: Floats) -> tuple[Floats, Floats]:
    """Give sums of products around the means, of labels with scores, and of scores."""
    weight, y, f, yf, ff = sums
    # What is left without a system's only fold is rounding.
    size = np.where(weight > 1e-9, weight, np.inf)
    alone = ff - f**2 / size
    return yf - y * f / size, np.where(alone > 1e-12 * np.abs(ff), alone, 0)


def _slope(sums: Floats) -> Floats:
    """Give slopes; 0 where scores do not vary."""
    both, alone = _moments(sums)
    return np.asarray(both / np.where(alone > 0, alone, np.inf))


def _common(sums: Floats) -> Floats:
    """Give the slope that all systems, in the last axis, have in common."""
    both, alone = (one.sum(axis=-1) for one in _moments(sums))
    return np.asarray(both / np.where(alone > 0, alone, np.inf))


def _systems(
    study: Study, given: Scored, fit: Fit, method: str, why: str, confidence: float
) -> pd.DataFrame:
    """Give a row per system, by number."""
    k = len(given.names)
    labelled = given.weight > 0
    n_labels = np.bincount(given.system, labelled, k).astype(int)
    n_outputs = np.bincount(given.system, minlength=k)
    se, reason = _errors(fit.variance(np.eye(k)), fit.level, fit.n_clusters)
    if method == EVALUATOR:
        reason = np.where(reason == "", why, f"{why}; these outputs' scores are all known")
    else:
        reason = np.where(reason == "", _doubted(why, fit.n_clusters), reason)
        reason = np.where(n_labels == 0, "no label of this system", reason)
    unknown = np.isnan(fit.level)
    if unknown.all():
        reason, se = np.full(k, why), np.full(k, np.nan)
    se = np.where(np.isnan(fit.df), np.nan, se)
    half = student.ppf(0.5 + confidence / 2, fit.df) * se
    rank = np.full(k, np.nan)
    rank[~unknown] = rankdata(-fit.level[~unknown], method="min")
    slope = fit.slope * (1 - n_labels / n_outputs)  # beta = lambda (1 + n / N)
    return pd.DataFrame(
        {
            "number": np.arange(k),
            "system": given.names,
            "label": [*map(study.label, given.names)],
            "method": method,
            "estimate": fit.level,
            "ci_low": fit.level - half,
            "ci_high": fit.level + half,
            "se": se,
            "df": np.where(np.isnan(se), np.nan, fit.df),
            "rank": rank,
            "n_labels": 0 if method == EVALUATOR else n_labels,
            "n_outputs": n_outputs,
            "n_clusters": fit.n_clusters,
            "lambda": np.where(unknown, np.nan, slope),
            "correlation": _correlation(given) if method == CORRECTED else np.nan,
            "reason": reason,
        }
    )


def _errors(variance: Floats, level: Floats, n: Floats) -> tuple[Floats, NDArray]:
    """Give standard errors, and why there are none."""
    se = np.sqrt(np.where(variance > 0, variance, 0))
    flat = ~(se > _FLAT * np.maximum(1, np.abs(np.nan_to_num(level))))
    reason = np.where(flat, "no spread to learn from: labels are all alike, or are the scores", "")
    reason = np.where(~(n > 1 + 1e-9), "one cluster of labels: its spread is unknown", reason)
    return np.where(reason != "", np.nan, se), reason.astype(object)


def _doubted(why: str, n_clusters: Floats) -> list[str]:
    """Add to a doubt that effective clusters are few."""
    few = [few_clusters(int(n + 1e-9)) if n == n else "" for n in n_clusters]
    few = [one.replace("clusters", "effective clusters", 1) for one in few]
    return ["; ".join(filter(None, [why, one])) for one in few]


def _correlation(given: Scored) -> Floats:
    """Correlate labels and scores within each system, weighted."""
    k = len(given.names)
    label = np.bincount(given.output, _share(given) * given.value, len(given.system))
    found = np.full(k, np.nan)
    for number in range(k):
        rows = np.flatnonzero((given.system == number) & (given.weight > 0))
        if len(rows) < 3:
            continue
        weight = given.weight[rows]
        both = np.cov(label[rows] / weight, given.score[rows], aweights=weight, ddof=0)
        product = both[0, 0] * both[1, 1]
        if product > _FLAT * np.abs(given.score[rows]).max() ** 2:
            found[number] = both[0, 1] / np.sqrt(product)
    return found


def _pairs(
    given: Scored,
    fit: Fit,
    method: str,
    why: str,
    over_annotators: bool,
    confidence: float,
) -> pd.DataFrame:
    """Compare each two systems, from either side; systems by number."""
    k = len(given.names)
    one, other = np.triu_indices(k, 1)
    contrasts = np.eye(k)[one] - np.eye(k)[other]
    difference, variance = fit.level[one] - fit.level[other], fit.variance(contrasts)
    n = np.minimum(fit.n_clusters[one], fit.n_clusters[other])
    present = np.zeros((given.item.max() + 1, k), dtype=np.float64)
    present[given.item, given.system] = 1
    shared = (present.T @ present).astype(int)
    n_items, most = shared[one, other], np.maximum(np.diag(shared)[one], np.diag(shared)[other])
    # Systems that answered other items, too, are compared over those that both did.
    for pair in np.flatnonzero((n_items > 0) & (n_items < most) & np.isfinite(difference)):
        sides = [int(one[pair]), int(other[pair])]
        answered = present[:, sides[0]] * present[:, sides[1]] > 0
        both = answered[given.item] & np.isin(given.system, sides)
        if len(np.unique(given.system[both & (given.weight > 0)])) < 2:
            difference[pair] = variance[pair] = n[pair] = np.nan
            continue
        part, apart = (
            fitted(given.only(both, sides), method, over_annotators),
            np.array([[1.0, -1.0]]),
        )
        difference[pair] = (apart @ part.level)[0]
        variance[pair], n[pair] = part.variance(apart)[0], part.n_clusters.min()
    se, reason = _errors(variance, difference, n)
    reason = np.where(reason == "", _doubted(why, n), reason)
    if np.isnan(fit.level).all():
        reason, se = np.full(len(one), why), np.full(len(one), np.nan)
    se = np.where(np.isnan(fit.df[one]), np.nan, se)
    half = student.ppf(0.5 + confidence / 2, n - 1) * se
    p = 2 * student.sf(np.abs(difference) / se, n - 1)
    adjusted = adjust(p)
    shown = np.where(np.isnan(adjusted), "", "undecided").astype(object)
    better = (adjusted < 1 - confidence) & (difference > 0)
    worse = (adjusted < 1 - confidence) & (difference < 0)
    table = pd.DataFrame({"method": method, "system": one, "opponent": other})
    table = table.assign(difference=difference, ci_low=difference - half, ci_high=difference + half)
    table = table.assign(se=se, df=np.where(np.isnan(se), np.nan, n - 1), p=p, p_adjusted=adjusted)
    table = table.assign(n_items=n_items, reason=reason)
    turned = table.rename(columns={"system": "opponent", "opponent": "system"})[list(table)]
    turned = turned.assign(
        difference=-difference, ci_low=-table["ci_high"], ci_high=-table["ci_low"]
    )
    verdicts = [np.where(better, "better", np.where(worse, "worse", shown))]
    verdicts += [np.where(better, "worse", np.where(worse, "better", shown))]
    whole = pd.concat([table, turned], ignore_index=True)
    return whole.assign(verdict=np.concatenate(verdicts))


def labels_saved(
    given: Scored,
    alone: Fit,
    corrected: Fit,
    over_annotators: bool,
    confidence: float,
) -> dict[str, Floats | NDArray]:
    """Say how many labels alone would be as sure as the corrected mean.

    The ratio of variances is one of two sums of squares over clusters; its log has the error of
    that (delta method). lambda makes the variance least, so that its own error does not count.
    """
    k = len(given.names)
    n_labels = np.bincount(given.system, given.weight > 0, k)
    unknown = np.isnan(corrected.level)
    squares = [np.asarray(fit.ways[0].power(2).toarray()) for fit in (corrected, alone)]
    variances = [fit.variance(np.eye(k)) for fit in (corrected, alone)]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = variances[0] / variances[1]
        parts = [one / one.sum(axis=0) for one in squares]
        error = np.sqrt(((parts[0] - parts[1]) ** 2).sum(axis=0)) * _scaled(corrected.n_clusters)
        step = np.exp(student.ppf(0.5 + confidence / 2, corrected.df) * error)
        none = unknown | ~np.isfinite(ratio) | (ratio <= 0)
        ratio = np.where(none, np.nan, ratio)
        effective = n_labels / ratio
        ends = [n_labels / (ratio * step) - n_labels, n_labels / (ratio / step) - n_labels]
    few = corrected.n_clusters < FEWEST_FOLDS
    even = len(np.unique(given.weight[given.weight > 0])) == 1
    reason = np.where(few, f"fewer than {FEWEST_FOLDS} effective clusters: such intervals fail", "")
    reason = np.where(even, reason, "chances were not alike: such intervals fail")
    reason = np.where(
        over_annotators, "annotators are a sample, too: no interval of the ratio is known", reason
    )
    reason = np.where(none, "undefined", reason)
    ends = [np.where(reason == "", end, np.nan) for end in ends]
    return {
        "effective_labels": effective,
        "labels_saved": effective - n_labels,
        "saved_low": ends[0],
        "saved_high": ends[1],
        "saved_reason": reason,
    }


def p_of_draw(given: Scored) -> float:
    """Test that labelled outputs' scores are as those of all, in mean and in spread.

    Within systems, by clusters; two t tests, Bonferroni.
    """
    k, system = len(given.names), given.system
    n_outputs = np.bincount(system, minlength=k)
    apart = given.score - (np.bincount(system, given.score, k) / n_outputs)[system]
    spread = np.sqrt(np.bincount(system, apart**2, k) / n_outputs)
    z = apart / np.where(spread > 0, spread, np.inf)[system]
    labelled = given.weight > 0
    share = np.bincount(system, labelled, k) / labelled.sum()
    total = np.bincount(system, given.weight, k)
    weight = given.weight / np.where(total > 0, total, 1)[system] - (1 / n_outputs)[system]
    weight *= share[system]
    n = _effective(given.cluster[labelled], system[labelled] * 0, given.weight[labelled], 1)[0]
    found = []
    for value in (z, z**2 - 1):
        sums = np.bincount(given.cluster, weight * value)
        error = np.sqrt((sums**2).sum()) * _scaled(np.array(n))
        if error > _FLAT:
            found.append(2 * student.sf(abs(sums.sum()) / error, n - 1))
    return float(min(1, 2 * min(found))) if found else np.nan


def _doubts(counts: dict[str, Any], n_labels: int) -> list[str]:
    """Say where the labelled outputs do not look like those that were to be drawn."""
    found = []
    if counts["p"] < 0.05:
        found.append(
            f"scores of labelled outputs differ from those of all (p = {counts['p']:.2g}): were "
            "outputs chosen by what they are like?"
        )
    away = n_labels - counts["expected"]
    if abs(away) > 3 * counts["expected_sd"] > 0:
        found.append(f"chances sum to {counts['expected']:.1f}, too far from {n_labels} labels")
    lost = counts["unscored"].loc[counts["unscored"]["system"] < 0, "name"].unique()
    if len(lost):
        found.append(f"left out, as no output has a score: {', '.join(map(str, lost))}")
    return found
