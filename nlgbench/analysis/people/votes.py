"""Votes of people on pairs of outputs: agreement, being shown first, and evaluators against votes.

Every estimate is a function of sums over votes, or over two votes of one pair. Its variance leaves
out each item and, where annotators are a sample, each annotator and what shares both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest
from scipy.stats import t as student

from nlgbench.analysis.ratings.bradley_terry import (
    Annotators,
    Sample,
    sample_of,
    sides,
)
from nlgbench.analysis.ratings.games import PEOPLE, PROBABILITIES, of_outputs, votes_of
from nlgbench.crossed import effective_size, factors, incidence, jackknife, t_interval
from nlgbench.evaluators.comparator.comparators import decided, exceeds
from nlgbench.inference import Floats, ratio
from nlgbench.study import Study
from nlgbench.study.checks import checked

Ints = NDArray[np.int64]
#: Each takes clusters' sums (..., m) to values (...), NaN where undefined.
Statistics = dict[str, Callable[[Floats], Floats]]
CHOICES = ("a", "tie", "b")


@checked
def vote_agreement(
    study: Study,
    *,
    dimension: str | None = None,
    annotators: Annotators | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how much people agree in their votes on pairs of outputs.

    Parameters
    ----------
    study : Study
        With preferences.
    dimension : str, optional
        Which preferences. Default: the quality dimension, or the only one.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to, as in `nlgbench.rate`.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For ``all`` and each system (the pairs that it is in) three coefficients: row, coefficient
        (percent_agreement, 0 to 1; fleiss_kappa and krippendorff_alpha, nominal, at most 1, 0 as by
        chance), estimate, se, ci_low, ci_high (not clipped), confidence, covers, n_clusters
        (effective number of items, or of annotators where these are random and fewer), reason,
        n_votes, n_pairs (both: with two votes or more), n_left_out (pairs with one vote),
        n_repeated (votes of an annotator who had voted on the pair before, as in another
        ``group_id``; they count).

    Raises
    ------
    ValueError
        When there are no preferences, the dimension is unknown, or a system is called ``all``.

    Notes
    -----
    A pair that was shown in both orders is one pair, whose votes are turned: a is the output of the
    system whose name comes first. For the same two systems everywhere, kappa and alpha are so those
    of "which system is better". Kappa is Fleiss' (1971, doi:10.1037/h0031619), where pairs weigh
    alike; alpha Krippendorff's (2004, *Content Analysis*, 2nd ed., chapter 11), where votes do.
    docs/preferences.md has the variance; clusters of items (``settings["clusters"]``) take their
    place.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = vote_agreement(nb.simulate("votes", of_taste=0.1, of_items=2.0, seed=0))
    >>> table.loc[table["row"] == "all", ["coefficient", "estimate"]].round(2).values.tolist()
    [['percent_agreement', 0.56], ['fleiss_kappa', 0.28], ['krippendorff_alpha', 0.28]]
    """
    votes = _turned(votes_of(study, dimension))
    sample = sample_of(study, votes, annotators)
    systems = sorted({*votes["system_a"], *votes["system_b"]})
    if "all" in systems:
        raise ValueError("system 'all' is called as a row of the results is: rename it.")
    rows = []
    for name in ["all", *systems]:
        own = votes
        if name != "all":
            own = votes[(votes["system_a"] == name) | (votes["system_b"] == name)]
        n_of = own.groupby("pair")["choice"].transform("size")
        used = own[n_of > 1]
        counts = {
            "n_votes": len(used),
            "n_pairs": used["pair"].nunique(),
            "n_left_out": int((n_of == 1).sum()),
            "n_repeated": int(used.duplicated(["pair", "annotator_id"]).sum()),
        }
        one, other, weight = _two_votes(used)
        choice = _one_hot(used)
        # Of a pair with m votes each two weigh 2 / (m (m - 1)) for kappa, 2 / (m - 1) for alpha.
        agree = (choice[one] * choice[other]).sum(axis=1)
        share = (choice[one] + choice[other]) / 2
        for_kappa = np.column_stack([np.ones(len(one)), agree, share]) * weight[:, None]
        size = n_of[n_of > 1].to_numpy()[one]
        each = choice[one][:, :, None] * choice[other][:, None, :]
        both = (each + each.transpose(0, 2, 1)) / (size - 1)[:, None, None]
        parts = np.column_stack([for_kappa, both.reshape(len(one), 9)])
        found = _intervals_of(parts, used, _COEFFICIENTS, sample, confidence, (one, other))
        rows += [{"row": name, "coefficient": key} | row | counts for key, row in found.items()]
    return pd.DataFrame(rows)


@checked
def vote_position(
    study: Study, *, dimension: str | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """Say whether people, and comparators, prefer the output that is shown first.

    Parameters
    ----------
    study : Study
        With preferences, comparisons, or both.
    dimension : str, optional
        Which preferences. Default: the quality dimension, or the only one.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For ``people`` and each comparator two rows: voter, quantity (``first``: the share of all
        that are no ties which went to the output shown first; ``changed``: of the pairs that one
        voter saw in both orders and that went to the first shown in both, or to the second in both,
        the share of the former), estimate, ci_low, ci_high, confidence, covers (what the interval
        is over), p_value (of one half), n_first, n_second, n_ties (a tie, or with
        ``changed`` one in either order), n_same (the same output in both orders), reason.

    Raises
    ------
    ValueError
        When there are neither preferences nor comparisons, or the dimension is unknown.

    Notes
    -----
    ``first`` speaks of position only where who is first was drawn at random. Its interval and its
    p_value (t) are over items, and from ten effective annotators on over annotators, too
    (docs/preferences.md): the exact binomial test takes votes for independent, and so finds too
    much. ``changed`` compares a pair with
    itself: its p_value is the exact McNemar test (1947, doi:10.1007/BF02295996), its interval
    Clopper and Pearson's (1934, doi:10.1093/biomet/26.4.404).

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = vote_position(nb.simulate("votes", of_first=1.0, seed=0))
    >>> table[["voter", "quantity", "n_first", "n_second"]].values.tolist()
    [['people', 'first', 451, 231], ['people', 'changed', 0, 0]]
    """
    if study.preferences is None and study.comparisons is None:
        raise ValueError(
            f"{study.name} has neither preferences nor comparisons: give Study(preferences=...)."
        )
    tables = {}
    if study.preferences is not None:
        tables[PEOPLE] = _turned(votes_of(study, dimension))
    for name, rows in _comparisons(study).groupby("comparator", sort=False):
        tables[str(name)] = _turned(rows.assign(annotator_id=str(name)))
    found = []
    for name, votes in tables.items():
        shown = np.where(votes["turned"], votes["choice"].map(_TURN), votes["choice"])
        first, second = shown == "a", shown == "b"
        parts = np.column_stack([first, first | second]).astype(np.float64)
        share: Statistics = {"first": lambda sums: ratio(sums[..., 0], sums[..., 1])}
        sample = sample_of(study, votes if name == PEOPLE else votes.drop(columns="annotator_id"))
        one = _intervals_of(parts, votes, share, sample, confidence)["first"]
        kept = ["estimate", "ci_low", "ci_high", "confidence", "covers", "reason"]
        row: dict[str, Any] = {"voter": name, "quantity": "first"}
        away = abs(one["estimate"] - 0.5) / one["se"]
        row |= {key: one[key] for key in kept} | _counted(first.sum(), second.sum())
        row["p_value"] = float(2 * student.sf(away, one["n_clusters"] - 1))
        found.append(row | {"n_ties": int((shown == "tie").sum()), "n_same": 0})
        found.append({"voter": name} | _changed(votes.assign(shown=shown), confidence))
    order = ["voter", "quantity", "estimate", "ci_low", "ci_high", "confidence", "covers"]
    order += ["p_value", "n_first", "n_second", "n_ties", "n_same", "reason"]
    return pd.DataFrame(found)[order]


@checked
def vote_accuracy(
    study: Study,
    *,
    dimension: str | None = None,
    annotators: Annotators | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Hold evaluators, and people themselves, against people's votes on pairs.

    Parameters
    ----------
    study : Study
        With preferences, and scores of outputs, comparisons, or both.
    dimension : str, optional
        Which preferences. Default: the quality dimension, or the only one.
    annotators : {"fixed", "random"}, optional
        What intervals generalize to, as in `nlgbench.rate`.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For each evaluator (those of scores, comparators, then ``people``: each annotator against
        the others), against ``votes`` (each vote) and ``majority`` (of a pair), nine measures:
        evaluator, against, measure (accuracy, ties being a class of their own; accuracy_decided,
        where neither says tie; cohen_kappa; precision_a, recall_a, ..., of the classes a, tie, b),
        estimate, se, ci_low, ci_high (not clipped), confidence, covers, n_clusters (as in
        `vote_agreement`), reason, n (votes or pairs), n_ties (of these that are ties), n_said_tie
        (of the evaluator's; a judge that was asked in both orders counts half for each),
        n_left_out (votes or pairs without a verdict, without a majority, or without another vote).

    Raises
    ------
    ValueError
        When there are no preferences, the dimension is unknown, or an evaluator is called
        ``people`` or as another one.

    Notes
    -----
    An evaluator says a, tie or b: which output it scores higher (scores within 1e-9 tie, or within
    1e-9 of the largest where that is below 1; scores whose signature says ``direction:lower`` are
    turned), or the likeliest of a comparator's three. A
    comparator that saw both orders has both verdicts, half each. a is the output of the system
    whose name comes first. A majority has more votes than either other answer. Cohen (1960),
    doi:10.1177/001316446002000104.

    No evaluator can be held to more than people reach: ``people`` is that ceiling. There each vote
    is set against those of the other annotators, or against their majority, which is of one
    annotator fewer, so that this ceiling is a little low, and votes whose others have no majority
    are left out. Votes of the same annotator are never set against each other. Compare
    evaluators by their intervals with care, as their errors are not independent.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = vote_accuracy(nb.simulate("votes", of_items=2.0, seed=0))
    >>> own = table[(table["measure"] == "accuracy_decided") & (table["against"] == "votes")]
    >>> own[["evaluator", "estimate"]].round(2).values.tolist()
    [['quality', 0.83], ['noisy', 0.7], ['people', 0.77]]
    """
    votes = _turned(votes_of(study, dimension))
    sample = sample_of(study, votes, annotators)
    pairs = votes.drop_duplicates("pair").sort_values("pair", ignore_index=True)
    rows = []
    for name, said in _verdicts(study, pairs).items():
        rows += _against_votes(name, said[votes["pair"]], votes, sample, confidence)
        rows += _against_majority(name, said, votes, pairs, sample, confidence)
    return pd.DataFrame(rows + _people(votes, sample, confidence))


def _against_votes(
    name: str, said: Floats, votes: pd.DataFrame, sample: Sample, confidence: float
) -> list[dict]:
    """Set verdicts, a row per vote, beside the votes."""
    has = said.sum(axis=1) > 0
    used, chosen = votes[has], _one_hot(votes)[has]
    parts = _confusion(said[has], chosen)
    found = _intervals_of(parts, used, _MEASURES, sample, confidence)
    return _rows(name, "votes", found, parts, len(used), int((~has).sum()))


def _against_majority(
    name: str,
    said: Floats,
    votes: pd.DataFrame,
    pairs: pd.DataFrame,
    sample: Sample,
    confidence: float,
) -> list[dict]:
    """Set verdicts, a row per pair, beside the majority, which changes without an annotator."""
    counts = np.zeros((len(pairs), 3))
    np.add.at(counts, votes["pair"], _one_hot(votes))
    parts = _confusion(said, _majority(counts))
    n = int((parts.sum(axis=1) > 0).sum())
    # What an annotator's votes make of each pair: parts with them less parts without.
    by = votes.assign(at=np.arange(len(votes))).groupby(["pair", "annotator_id"], sort=False)
    first, which = by["at"].first().to_numpy(), by.ngroup().to_numpy()
    own = np.zeros((len(first), 3))
    np.add.at(own, which, _one_hot(votes))
    each = votes.iloc[first]
    pair = each["pair"].to_numpy()
    changed = parts[pair] - _confusion(said[pair], _majority(counts[pair] - own))
    item = _items(pairs)
    annotator = pd.factorize(each["annotator_id"])[0][:, None]
    both = factors(item[pair], annotator)[2]
    lost = [_lost(parts, item), _lost(changed, annotator), _lost(changed, both)]
    total, effective = parts.sum(axis=0), _effective(votes)
    found = _intervals(total, lost, effective, _MEASURES, sample, confidence)
    return _rows(name, "majority", found, parts, n, len(pairs) - n)


def _people(votes: pd.DataFrame, sample: Sample, confidence: float) -> list[dict]:
    """Set each vote beside those of the other annotators, and beside their majority."""
    one, other, _ = _two_votes(votes)
    different = (votes["annotator_id"].to_numpy()[one]) != (votes["annotator_id"].to_numpy()[other])
    one, other = one[different], other[different]
    one, other = np.append(one, other), np.append(other, one)  # verdict, vote
    chosen = _one_hot(votes)
    n_others = np.bincount(other, minlength=len(votes))
    parts = _confusion(chosen[one], chosen[other]) / n_others[other][:, None]
    found = _intervals_of(parts, votes, _MEASURES, sample, confidence, (one, other))
    left_out = int((n_others == 0).sum())
    rows = _rows(PEOPLE, "votes", found, parts, len(votes) - left_out, left_out)

    counts = np.zeros((int(votes["pair"].max()) + 1, 3))
    np.add.at(counts, votes["pair"], chosen)
    own = votes.groupby(["pair", "annotator_id"], sort=False).ngroup().to_numpy()
    by_own = np.zeros((own.max() + 1, 3))
    np.add.at(by_own, own, chosen)
    others = _majority(counts[votes["pair"]] - by_own[own])
    has = others.sum(axis=1) > 0
    # A pair weighs by its votes that others' majority answers: of 2 to 1 that is the one alone.
    size = votes.groupby("pair")["pair"].transform("size")[has].to_numpy()
    parts = _confusion(chosen[has], others[has]) / size[:, None]
    found = _intervals_of(parts, votes[has], _MEASURES, sample, confidence)
    n = votes.loc[has, "pair"].nunique()
    return rows + _rows(PEOPLE, "majority", found, parts, n, votes["pair"].nunique() - n)


def _rows(
    name: str, against: str, found: dict[str, dict], parts: Floats, n: int, n_left_out: int
) -> list[dict]:
    of = parts.sum(axis=0).reshape(3, 3)
    counts = {"n": n, "n_ties": float(of[:, 1].sum()), "n_said_tie": float(of[1].sum())}
    head = {"evaluator": name, "against": against}
    tail = counts | {"n_left_out": n_left_out}
    return [head | {"measure": key} | row | tail for key, row in found.items()]


def _verdicts(study: Study, pairs: pd.DataFrame) -> dict[str, Floats]:
    """Say what each evaluator says of each pair: shares of a, tie, b; none where it is silent."""
    found: dict[str, Floats] = {}
    if study.scores is not None:
        for name, own in study.scored().groupby("evaluator", sort=False):
            by_output = own.set_index("output_id")["score"]
            # Scores that are all tiny, as probabilities of texts, are no ties.
            by_output = by_output / min(1.0, by_output.abs().max() or 1.0)
            a, b = (by_output.reindex(pairs[f"output_{side}"]).to_numpy() for side in "ab")
            won, lost = exceeds(a, b), exceeds(b, a)
            said = np.column_stack([won, ~(won | lost), lost]).astype(np.float64)
            found[str(name)] = np.where(np.isnan(a + b)[:, None], 0, said)
    place = pd.MultiIndex.from_frame(pairs[["output_a", "output_b"]])
    for name, own in _comparisons(study).groupby("comparator", sort=False):
        rows = _turned(own)
        at = place.get_indexer(pd.MultiIndex.from_frame(rows[["output_a", "output_b"]]))
        said = np.zeros((len(pairs), 3))
        np.add.at(said, at[at >= 0], _one_hot(rows)[at >= 0])
        total = said.sum(axis=1, keepdims=True)
        if str(name) in found:
            raise ValueError(f"{name!r} is in scores and in comparisons: rename one.")
        found[str(name)] = said / np.where(total > 0, total, 1)
    if PEOPLE in found:
        raise ValueError(f"an evaluator is called {PEOPLE!r}, as annotators are here: rename it.")
    return found


def _comparisons(study: Study) -> pd.DataFrame:
    """Give comparisons as votes are: items, systems, and a choice."""
    table = study.comparisons
    if table is None:
        return pd.DataFrame({"comparator": []})
    said = decided(table[PROBABILITIES].to_numpy(dtype=np.float64)).argmax(axis=1)
    found = of_outputs(study, table, "comparisons")
    return found.assign(choice=np.array(CHOICES)[said])


_TURN = {"a": "b", "b": "a", "tie": "tie"}


def _turned(votes: pd.DataFrame) -> pd.DataFrame:
    """Turn votes so that the system whose name comes first is a; number pairs from 0."""
    one, other = (
        pd.MultiIndex.from_frame(votes[[f"system_{side}", f"output_{side}"]]) for side in "ab"
    )
    turned = np.array([x > y for x, y in zip(one, other, strict=True)], dtype=bool)
    made = votes.copy()
    for kind in ("output", "item", "system"):
        a, b = votes[f"{kind}_a"], votes[f"{kind}_b"]
        made[f"{kind}_a"], made[f"{kind}_b"] = a.where(~turned, b), b.where(~turned, a)
    made["choice"] = votes["choice"].where(~turned, votes["choice"].map(_TURN))
    pair = made.groupby(["output_a", "output_b"], sort=False).ngroup()
    return made.assign(turned=turned, pair=pair).reset_index(drop=True)


def _changed(votes: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """Compare what one voter said of a pair in either order."""
    by = votes.drop_duplicates(["pair", "annotator_id", "turned"], keep="first")
    wide = by.pivot(index=["pair", "annotator_id"], columns="turned", values="shown")
    wide = wide.reindex(columns=[False, True]).dropna()
    straight, other = wide[False], wide[True]
    ties = (straight == "tie") | (other == "tie")
    n_first = int(((straight == "a") & (other == "a")).sum())
    n_second = int(((straight == "b") & (other == "b")).sum())
    row: dict[str, Any] = {"quantity": "changed", "confidence": confidence, "covers": "pairs"}
    row |= _counted(n_first, n_second)
    row |= {"n_ties": int(ties.sum()), "n_same": int((~ties & (straight != other)).sum())}
    ends, reason = (np.nan, np.nan), ""
    if not len(wide):
        reason = "no pair was shown to one voter in both orders"
    elif not n_first + n_second:
        reason = "no pair went to the first shown, or to the second, in both orders"
    else:
        ends = binomtest(n_first, n_first + n_second).proportion_ci(confidence)
    estimate = float(ratio(np.float64(n_first), np.float64(n_first + n_second)))
    return row | {"estimate": estimate, "ci_low": ends[0], "ci_high": ends[1], "reason": reason}


def _counted(n_first: int, n_second: int) -> dict[str, Any]:
    n = int(n_first + n_second)
    p = binomtest(int(n_first), n).pvalue if n else np.nan
    return {"n_first": int(n_first), "n_second": int(n_second), "p_value": p}


def _two_votes(votes: pd.DataFrame) -> tuple[Ints, Ints, Floats]:
    """List each two votes of each pair, and their share of those of the pair."""
    place = pd.Series(np.arange(len(votes))).groupby(votes["pair"].to_numpy())
    found = [np.empty((0, 3))]
    places: dict[int, tuple[Ints, Ints]] = {}  # for each number of votes
    for rows in place.indices.values():
        if len(rows) not in places:
            places[len(rows)] = np.triu_indices(len(rows), 1)
        one, other = places[len(rows)]
        weight = np.full(len(one), 1 / max(1, len(one)))
        found.append(np.column_stack([rows[one], rows[other], weight]))
    table = np.concatenate(found)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def _one_hot(votes: pd.DataFrame) -> Floats:
    return np.column_stack([votes["choice"] == kind for kind in CHOICES]).astype(np.float64)


def _majority(counts: Floats) -> Floats:
    """Mark the answer with more votes than either other; none where two have as many."""
    most = counts == counts.max(axis=1, keepdims=True)
    return (most & (most.sum(axis=1, keepdims=True) == 1) & (counts > 0)).astype(np.float64)


def _confusion(said: Floats, chosen: Floats) -> Floats:
    """Cross verdicts with votes: rows of nine, the verdict's class first."""
    return (said[:, :, None] * chosen[:, None, :]).reshape(len(said), 9)


def _items(votes: pd.DataFrame) -> Ints:
    """Give numbers to the items, or clusters, of both outputs."""
    return np.column_stack(sides(votes))


def _effective(votes: pd.DataFrame) -> tuple[float, float]:
    """Give the effective numbers of items and of annotators."""
    item, annotator = _items(votes).ravel(), pd.factorize(votes["annotator_id"])[0]
    return effective_size(item), effective_size(annotator)


def _lost(parts: Floats, label: Ints) -> Floats:
    """Sum the parts of each cluster."""
    return np.asarray(incidence(label) @ parts)


def _intervals_of(
    parts: Floats,
    votes: pd.DataFrame,
    statistics: Statistics,
    sample: Sample,
    confidence: float,
    rows: tuple[Ints, ...] | None = None,
) -> dict[str, dict[str, Any]]:
    """Put intervals around functions of sums; `rows`: the votes that each part is of."""
    item, annotator = _items(votes), pd.factorize(votes["annotator_id"])[0]
    rows = rows or (np.arange(len(votes)),)
    item, annotator = item[rows[0]], np.column_stack([annotator[one] for one in rows])
    lost = [_lost(parts, label) for label in factors(item, annotator)]
    return _intervals(parts.sum(axis=0), lost, _effective(votes), statistics, sample, confidence)


def _intervals(
    total: Floats,
    lost: list[Floats],
    effective: tuple[float, float],
    statistics: Statistics,
    sample: Sample,
    confidence: float,
) -> dict[str, dict[str, Any]]:
    """Leave out each item; if annotators are a sample, each of them, and what shares both, too."""
    items, annotators = effective
    least, of = items, sample.units
    if sample.annotators and annotators < items:
        least, of = annotators, "annotators"
    found = {}
    for name, statistic in statistics.items():
        estimate, se = jackknife(statistic, total, lost if sample.annotators else lost[:1])
        units, missing = f"effective {of}", sample.missing
        row = t_interval(estimate, se, least, units=units, missing=missing, confidence=confidence)
        found[name] = row | {"covers": sample.covers}
    return found


def _kappa(sums: Floats) -> Floats:
    by_chance = (ratio(sums[..., 2:5], sums[..., :1]) ** 2).sum(axis=-1)
    return np.asarray(ratio(ratio(sums[..., 1], sums[..., 0]) - by_chance, 1 - by_chance))


def _alpha(sums: Floats) -> Floats:
    both = sums[..., 5:].reshape(*sums.shape[:-1], 3, 3)
    of = both.sum(axis=-1)
    n = of.sum(axis=-1)
    apart = n - np.trace(both, axis1=-2, axis2=-1)
    return np.asarray(1 - ratio((n - 1) * apart, n**2 - (of**2).sum(axis=-1)))


def _cohen(sums: Floats) -> Floats:
    table = sums.reshape(*sums.shape[:-1], 3, 3)
    n = table.sum(axis=(-2, -1))
    same = ratio(np.trace(table, axis1=-2, axis2=-1), n)
    by_chance = ratio((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), n**2)
    return np.asarray(ratio(same - by_chance, 1 - by_chance))


def _of_class(place: int, axis: int) -> Callable[[Floats], Floats]:
    """Give the share of a class that is right, of verdicts (axis -1) or of votes (axis -2)."""

    def share(sums: Floats) -> Floats:
        table = sums.reshape(*sums.shape[:-1], 3, 3)
        return np.asarray(ratio(table[..., place, place], table.sum(axis=axis)[..., place]))

    return share


_COEFFICIENTS: Statistics = {
    "percent_agreement": lambda sums: ratio(sums[..., 1], sums[..., 0]),
    "fleiss_kappa": _kappa,
    "krippendorff_alpha": _alpha,
}
_MEASURES: Statistics = {
    "accuracy": lambda sums: ratio(sums[..., [0, 4, 8]].sum(axis=-1), sums.sum(axis=-1)),
    "accuracy_decided": lambda sums: ratio(
        sums[..., [0, 8]].sum(axis=-1), sums[..., [0, 2, 6, 8]].sum(axis=-1)
    ),
    "cohen_kappa": _cohen,
}
for _place, _name in enumerate(CHOICES):
    _MEASURES[f"precision_{_name}"] = _of_class(_place, -1)
    _MEASURES[f"recall_{_name}"] = _of_class(_place, -2)
