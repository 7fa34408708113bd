"""Votes on pairs of outputs: agreement among annotators, and between evaluators and annotators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench import clustering
from nlgbench.analysis.people import coefficients
from nlgbench.analysis.people.coefficients import Sums, added, of_pairs, one_hot
from nlgbench.analysis.people.reliability import COEFFICIENTS
from nlgbench.analysis.ratings.bradley_terry import cluster_sides
from nlgbench.analysis.ratings.games import PEOPLE, PROBABILITIES, join_outputs, read_votes
from nlgbench.arrays import Floats, Ints
from nlgbench.evaluators.comparator.comparators import decided, exceeds
from nlgbench.inference import ratio
from nlgbench.study import Study
from nlgbench.study.checks import checked

CHOICES = ("a", "tie", "b")
#: The three choices as numbers.
_SCALE = np.arange(3.0)


#: A function that computes an interval from some votes and from sums over their pairs.
_Interval = Callable[[pd.DataFrame, Sums], dict[str, Any]]


@checked
def vote_agreement(
    study: Study,
    *,
    dimension: str | None = None,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Measure how much annotators agree in their votes on pairs of outputs.

    Parameters
    ----------
    study : Study
        A study with preferences.
    dimension : str, optional
        A dimension of the preferences. Default: the quality dimension, or the only one.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to, as in `nlgbench.rate`.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        Three coefficients for ``all`` and for the pairs of each system: row, coefficient
        (percent_agreement, 0 to 1; nominal fleiss_kappa and krippendorff_alpha, at most 1, with 0
        for chance), estimate, se, ci_low, ci_high (at most 1), confidence, n_clusters (effective
        number of items, or of annotators if these are random and there are fewer of them), status
        (a code; ``ok``), reason (its text), covers, n_votes, n_pairs (with at least two votes),
        n_left_out (pairs with one vote), n_repeated (further votes of an annotator on a pair, such
        as in another ``group_id``, which also count).

    Raises
    ------
    ValueError
        When there are no preferences, the dimension is unknown, or a system is named ``all``.

    Notes
    -----
    A pair shown in both orders is one pair. Which of its outputs is a is arbitrary, so agreement by
    chance uses the mean of the shares of a and b. Coefficients and intervals are otherwise as in
    `agreement`, over the items (or their clusters) of both outputs. docs/validation.md reports the
    measured coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = vote_agreement(nb.simulate("votes", of_taste=0.1, of_items=2.0, seed=0))
    >>> table.loc[table["row"] == "all", ["coefficient", "estimate"]].round(2).values.tolist()
    [['percent_agreement', 0.56], ['fleiss_kappa', 0.3], ['krippendorff_alpha', 0.3]]
    """
    votes = _order_sides(read_votes(study, dimension))
    interval = _interval_of(study, votes, annotators, confidence)
    systems = sorted({*votes["system_a"], *votes["system_b"]})
    if "all" in systems:
        raise ValueError("a system is named 'all', like the row for all pairs: rename the system.")
    rows = []
    for name in ["all", *systems]:
        inside = (votes["system_a"] == name) | (votes["system_b"] == name) | (name == "all")
        row_votes = votes[inside]
        n_of = row_votes.groupby("pair")["choice"].transform("size")
        used = row_votes[n_of > 1]
        choices = used["code"].to_numpy()
        counts = {
            "n_votes": len(used),
            "n_pairs": used["pair"].nunique(),
            "n_left_out": int((n_of == 1).sum()),
            "n_repeated": int(used.duplicated(["pair", "annotator_id"]).sum()),
        }
        for coefficient in COEFFICIENTS:
            sums = coefficients.sums_of(coefficient, "nominal", choices, _SCALE, _unit(used))
            sums = sums._replace(statistic=partial(_ignore_order, sums.statistic))
            estimate = interval(used, sums)
            rows.append({"row": name, "coefficient": coefficient} | estimate | counts)
    return pd.DataFrame(rows)


@checked
def vote_accuracy(
    study: Study,
    *,
    dimension: str | None = None,
    annotators: Literal["fixed", "random"] | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compare verdicts of evaluators, and of each annotator, with annotators' votes on pairs.

    Parameters
    ----------
    study : Study
        A study with preferences, and scores of outputs, comparisons, or both.
    dimension : str, optional
        A dimension of the preferences. Default: the quality dimension, or the only one.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to, as in `nlgbench.rate`.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        Three measures for each evaluator (scores, comparators, then ``people``: each annotator
        against the others), against ``votes`` (each vote) and ``majority`` (of a pair's votes):
        evaluator, against, measure (accuracy, with ties as a class; accuracy_decided, without tied
        votes or verdicts; cohen_kappa), estimate, se, ci_low, ci_high (at most 1), confidence,
        n_clusters (as in `vote_agreement`), status, reason, covers, n (votes or pairs), n_ties (of
        these), n_said_tie (ties among the evaluator's verdicts; each order of a judge counts half),
        n_left_out (votes or pairs without a verdict, a majority, or another vote).

    Raises
    ------
    ValueError
        When there are no preferences, the dimension is unknown, or an evaluator is named ``people``
        or has the name of another one.

    Notes
    -----
    An evaluator's verdict is a, tie or b: the output with the higher score, or a comparator's most
    probable outcome. Scores tie if they differ by at most 1e-9. If a comparator judged both orders,
    each verdict counts half. A choice has a majority if it has more votes than either of the other
    two. Kappa is that of Cohen (1960, doi:10.1177/001316446002000104), with each pair in both
    orders.

    ``people`` is the human benchmark: it compares each vote with those of the other annotators, or
    with their majority, which lacks one annotator, so that the benchmark is slightly low. It
    excludes an annotator's repeated votes on a pair.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = vote_accuracy(nb.simulate("votes", of_items=2.0, seed=0))
    >>> own = table[(table["measure"] == "accuracy_decided") & (table["against"] == "votes")]
    >>> own[["evaluator", "estimate"]].round(2).values.tolist()
    [['quality', 0.83], ['noisy', 0.7], ['people', 0.77]]
    """
    votes = _order_sides(read_votes(study, dimension))
    interval = _interval_of(study, votes, annotators, confidence)
    pairs = votes.drop_duplicates("pair").sort_values("pair", ignore_index=True)
    rows = []
    for name, verdicts in _collect_verdicts(study, pairs).items():
        has = verdicts.sum(axis=1) > 0
        used, verdicts = votes[has[votes["pair"]]], verdicts[has]
        choices, equal = one_hot(used["code"].to_numpy(), _SCALE), np.ones(len(verdicts))
        n, n_votes = len(used), len(votes)
        make_sums = partial(Sums, choices, lambda counts: counts, weight=equal, verdicts=verdicts)
        rows += _measure(name, "votes", used, make_sums, n, n_votes - n, interval)
        n = int(_mark_majority(added(_unit(used), choices, len(verdicts))).sum())
        make_sums = partial(Sums, choices, _mark_majority, weight=equal, verdicts=verdicts)
        rows += _measure(name, "majority", used, make_sums, n, len(pairs) - n, interval)
    once = votes.drop_duplicates(["pair", "annotator_id"])
    used = once[once.groupby("pair")["pair"].transform("size") > 1]
    unit, m = _unit(used), np.bincount(_unit(used))
    choices = one_hot(used["code"].to_numpy(), _SCALE)
    make_sums = partial(Sums, choices, of_pairs, weight=1 / (m - 1))
    n = len(used)
    rows += _measure(PEOPLE, "votes", used, make_sums, n, len(votes) - n, interval)
    most = _mark_majority(added(unit, choices, len(m))[unit] - choices)
    defined = most.any(axis=1)
    choices = (choices[:, :, None] * most[:, None, :]).reshape(len(used), 9)[defined]
    used, weight = used.iloc[np.flatnonzero(defined)], 1 / m[np.unique(unit[defined])]
    make_sums, n = partial(Sums, choices, lambda counts: counts, weight=weight), len(weight)
    rows += _measure(PEOPLE, "majority", used, make_sums, n, len(pairs) - n, interval)
    return pd.DataFrame(rows)


def _unit(votes: pd.DataFrame) -> Ints:
    """Enumerate the pairs that occur, in order."""
    return np.unique(votes["pair"], return_inverse=True)[1]


def _interval_of(
    study: Study, votes: pd.DataFrame, annotators: Any, confidence: float
) -> _Interval:
    """Choose what intervals generalize to, and return the function that computes them, by item."""
    effective = clustering.effective_size(pd.factorize(votes["annotator_id"])[0])
    covers, missing = clustering.choose_annotators(annotators, effective, persons=study.persons)
    random = covers == clustering.OTHER_ANNOTATORS

    def interval(votes: pd.DataFrame, sums: Sums) -> dict[str, Any]:
        unit, annotator = _unit(votes), pd.factorize(votes["annotator_id"])[0]
        item = np.column_stack(cluster_sides(votes))
        units = f"clusters ({votes['grouped_by'].iloc[0]})" if "cluster_a" in votes else "items"
        n = clustering.effective_size(item.ravel())
        if random and clustering.effective_size(annotator) < n:
            n, units = clustering.effective_size(annotator), "annotators"
        judged = coefficients.UnitJudgments(
            unit, annotator, item[np.unique(unit, return_index=True)[1]]
        )
        return coefficients.interval_over(
            judged,
            sums,
            n,
            over_annotators=random,
            units=f"effective {units}",
            missing=missing,
            confidence=confidence,
        ) | {"covers": covers}

    return interval


def _measure(
    name: str,
    against: str,
    votes: pd.DataFrame,
    make_sums: Callable[..., Sums],
    n: int,
    n_left_out: int,
    interval: _Interval,
) -> list[dict[str, Any]]:
    """Return a row for each measure of agreement between an evaluator's verdicts and votes."""
    rows = []
    for measure, statistic in _MEASURES.items():
        sums = make_sums(statistic=statistic)
        unit = np.arange(len(sums.weight))
        total = sums.of(added(_unit(votes), sums.rows, len(unit)), unit).sum(axis=0).reshape(3, 3)
        counts = {"n": n, "n_ties": float(total[:, 1].sum()), "n_said_tie": float(total[1].sum())}
        row = {"evaluator": name, "against": against, "measure": measure}
        row |= interval(votes, sums) | counts | {"n_left_out": n_left_out}
        rows.append(row)
    return rows


def _collect_verdicts(study: Study, pairs: pd.DataFrame) -> dict[str, Floats]:
    """Return each evaluator's verdict by pair: shares of a, tie, b; all 0 if missing."""
    verdicts_of: dict[str, Floats] = {}
    if study.scores is not None and len(study.scores):
        for name, scores in study.scored().groupby("evaluator", sort=False):
            by_output = scores.set_index("output_id")["score"]
            # Tiny scores, such as probabilities of texts, must not all tie.
            by_output = by_output / min(1.0, by_output.abs().max() or 1.0)
            a, b = (by_output.reindex(pairs[f"output_{side}"]).to_numpy() for side in "ab")
            won, lost = exceeds(a, b), exceeds(b, a)
            shares = np.column_stack([won, ~(won | lost), lost]).astype(np.float64)
            verdicts_of[str(name)] = np.where(np.isnan(a + b)[:, None], 0, shares)
    pair_index = pd.MultiIndex.from_frame(pairs[["output_a", "output_b"]])
    for name, comparisons in _read_comparisons(study).groupby("comparator", sort=False):
        rows = _order_sides(comparisons)
        pair = pair_index.get_indexer(pd.MultiIndex.from_frame(rows[["output_a", "output_b"]]))
        shares = added(
            pair[pair >= 0], one_hot(rows["code"].to_numpy(), _SCALE)[pair >= 0], len(pairs)
        )
        total = shares.sum(axis=1, keepdims=True)
        if str(name) in verdicts_of:
            raise ValueError(f"scores and comparisons both have evaluator {name!r}: rename one.")
        verdicts_of[str(name)] = shares / np.where(total > 0, total, 1)
    if PEOPLE in verdicts_of:
        raise ValueError(f"an evaluator has the reserved name {PEOPLE!r}: rename it.")
    return verdicts_of


def _read_comparisons(study: Study) -> pd.DataFrame:
    """Return comparisons in the form of votes: items, systems, and a choice."""
    table = study.comparisons
    if table is None or table.empty:
        return pd.DataFrame({"comparator": []})
    choice = decided(table[PROBABILITIES].to_numpy(dtype=np.float64)).argmax(axis=1)
    joined = join_outputs(study, table, "comparisons")
    return joined.assign(choice=np.array(CHOICES)[choice])


def _order_sides(votes: pd.DataFrame) -> pd.DataFrame:
    """Reverse votes so that a is the system whose name comes first; number pairs and choices."""
    first, second = (
        pd.MultiIndex.from_frame(votes[[f"system_{side}", f"output_{side}"]]) for side in "ab"
    )
    turned = np.array([x > y for x, y in zip(first, second, strict=True)], dtype=bool)
    ordered = votes.copy()
    for kind in ("output", "item", "system"):
        a, b = votes[f"{kind}_a"], votes[f"{kind}_b"]
        ordered[f"{kind}_a"], ordered[f"{kind}_b"] = a.where(~turned, b), b.where(~turned, a)
    code = pd.Index(CHOICES).get_indexer(pd.Index(votes["choice"]))
    ordered["code"] = np.where(turned, 2 - code, code)
    pair = ordered.groupby(["output_a", "output_b"]).ngroup()
    return ordered.assign(pair=pair).reset_index(drop=True)


def _mark_majority(counts: Floats) -> Floats:
    """Mark the choice with more votes than either other; none if two are tied."""
    most = counts == counts.max(axis=-1, keepdims=True)
    alone = most.sum(axis=-1, keepdims=True) == 1
    return (most & alone & (counts > 0)).astype(np.float64)


def _ignore_order(statistic: clustering.Statistic, sums: Floats) -> Floats:
    """Average the counts of a and b, because which output of a pair is a is arbitrary."""
    counts = (sums[..., 2:] + sums[..., :1:-1]) / 2
    return statistic(np.concatenate([sums[..., :2], counts], axis=-1))


def _cohen_kappa(sums: Floats) -> Floats:
    table = sums.reshape(*sums.shape[:-1], 3, 3)
    table = (table + table[..., ::-1, ::-1]) / 2  # which output is a is arbitrary
    return coefficients.cohen_kappa(table, distance=1 - np.eye(3))


_MEASURES: dict[str, clustering.Statistic] = {
    "accuracy": lambda sums: ratio(sums[..., [0, 4, 8]].sum(axis=-1), sums.sum(axis=-1)),
    "accuracy_decided": lambda sums: ratio(
        sums[..., [0, 8]].sum(axis=-1), sums[..., [0, 2, 6, 8]].sum(axis=-1)
    ),
    "cohen_kappa": _cohen_kappa,
}
