"""Machine judges audited: position, length, their own systems, ties, calibration, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bdtr
from scipy.stats import binomtest
from scipy.stats import t as student

from nlgbench.analysis.judges.equal_length import rate_at_equal_length
from nlgbench.analysis.judges.slopes import candidates, inverted, power_of_slope, scores
from nlgbench.analysis.judges.verdicts import (
    SENTINELS,
    Clusters,
    Floats,
    Ints,
    Verdicts,
    around,
    clusters_of,
    jackknifed,
    read_verdicts,
    sign,
)
from nlgbench.analysis.ratings.bradley_terry import wilson
from nlgbench.analysis.ratings.games import PEOPLE
from nlgbench.inference import adjust, ratio
from nlgbench.names import known
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked

#: The three tests of bias, over which p-values are adjusted.
BIASES = ("position", "length", "own")
#: Biases that power is stated for: the share of flips that go to the first shown; what a text twice
#: as long, or one's own system's, gains, as a share of verdicts.
STATED = {"position": 0.7, "length": 0.1, "own": 0.1}
#: Bins of as many answers each, where there are enough.
N_BINS = 10
_NO_VOTES = "people did not vote on pairs that were judged"
_SIZES = (0.25, 0.5, 1, 2, 4, 8)


@dataclass(frozen=True, eq=False)
class Audit(Reported):
    """What `audit` found of judges, as tables.

    Parameters
    ----------
    findings, details, orders, calibration, ratings, power : DataFrame
        As `audit` says.
    margin : float
        What may be overlooked, as a share of verdicts.

    Examples
    --------
    >>> import nlgbench as nb
    >>> found = audit(nb.simulate("judges", n_items=30, seed=1))
    >>> isinstance(found, Audit), found.orders.shape[0]
    (True, 9)
    """

    findings: pd.DataFrame
    details: pd.DataFrame
    orders: pd.DataFrame
    calibration: pd.DataFrame
    ratings: pd.DataFrame
    power: pd.DataFrame
    margin: float

    def _shown(self) -> pd.DataFrame:
        """Shorten the findings for reading: the tests of bias."""
        table = self.findings
        tested = table["test"].isin(BIASES) & ~table["evaluator"].isin(SENTINELS)
        return table[tested].round(3)


@checked
def audit(
    study: Study,
    *,
    authors: Mapping[str, str] | None = None,
    dimension: str | None = None,
    margin: float = 0.05,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Audit:
    """Audit judges that compare pairs: what their verdicts hang on besides the texts' quality.

    Parameters
    ----------
    study : Study
        With ``comparisons``, best of each pair in both orders, texts, and people's votes on some of
        the pairs (``preferences``; without any, annotators who judged both outputs count as having
        voted).
    authors : mapping of str to str, optional
        Judge -> the system that it wrote, or that is of its family.
    dimension : str, optional
        Which preferences or judgments. Default: the study's quality dimension.
    margin : float
        The largest bias that does not matter, as a share of verdicts, chosen before looking at the
        data: a bias is found only if its interval lies beyond the margin, and a judge is acquitted
        only if the 90% interval lies within it.
    confidence : float
        Coverage asked for, between 0 and 1; 1 - confidence is the level of tests.
    seed : int or Generator
        Where the random sentinel's verdicts come from.

    Returns
    -------
    Audit
        ``findings``, for each judge, then each sentinel (``longest``: the longer text is better;
        ``first``: what is shown first is; ``constant``: always a tie; ``random``; sentinels are
        not tested), rows by test: evaluator, test, estimate, ci_low, ci_high, covers (what the
        interval generalizes to), p_adjusted (Holm, over the judge's tests of position, length and
        own), verdict (``found``: p_adjusted is significant, and the
        interval lies beyond the margin; ``significant``: p_adjusted is, but the bias may lie within
        the margin; ``acquitted``: not significant, and the 90% interval lies within the margin;
        ``not shown``), n, reason. ``details``, by evaluator and test: is_sentinel, confidence, se,
        inner_low, inner_high (the 90% interval that the margin is held against), p. The tests:

        ======================  ===================================================================
        consistency             share of pairs with the same verdict in both orders
        flips                   of the pairs that went to the first shown in both orders, or to the
                                second in both: the share of the former
        position                what is shown first gains, as a share of all verdicts; p is exact
                                (McNemar), of the flips
        length                  what a text twice as long gains, as a share of verdicts, where
                                people find both alike
        own                     what the judge's own system gains, likewise
        ties                    share of the judge's verdicts that are ties, less people's
        calibration_error       debiased: 0 where people prefer what the judge prefers as often as
                                its probabilities say
        overconfidence          mean of that probability, less how often people agree
        agreement               with the side that more of the other annotators took (a tie: half)
        agreement_of_people     each annotator likewise
        agreement_less_people   the difference
        length_in_ratings       slope of Bradley and Terry's log odds (nats) for a text twice as
                                long
        ======================  ===================================================================

        ``orders``: evaluator, n_pairs (with any verdict), n_both (in both orders), n_same,
        n_first, n_second, n_tied (neither: a tie in one order), n_known (of these pairs: people
        took a side), n_right (as people saw the pair, or first judged), n_right_swapped,
        n_right_both.

        ``calibration``: evaluator, bin, low, high, said (mean probability of what is preferred),
        people (how often they do, ties half), ci_low, ci_high, n (votes, of either order).

        ``ratings``: evaluator (with ``people``), system, rating, equal_length (as if texts were of
        one length), each with its interval, reason.

        ``power``: evaluator, test, bias (position: the share of flips that go to the first
        shown, .7; else a share of verdicts, .1), n (pairs, as many times more or fewer as
        ``times``), power (at the level over three; of slopes, whose spread is then at its
        upper 80% limit), needed (pairs for a power of .95).

    Raises
    ------
    ValueError
        When there are no comparisons, a judge is called as a sentinel is, or an author or
        system is unknown.

    Notes
    -----
    Length and own: least squares of the verdict (both orders' mean) on people's expected vote, the
    difference of log2 of both texts' characters, and whose system either is. The expected vote is
    not seen, only votes of some annotators, whose noise would leave people's own taste for length
    to the judge: so the sum of squares of the expected vote is that of products of two annotators'
    votes. Tests and intervals of both are by scores, others leave clusters out. From ten effective
    annotators on they are over items and annotators, with the largest of ``V_I``, ``V_A`` and
    ``V_I + V_A - V_IA``, else over items, for these annotators. Values within 1e-9 are ties.
    docs/auditing-judges.md has the level, power and coverage that were measured.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judges", n_items=400, seed=1)
    >>> wrote = study.truth["judges"].set_index("judge")["system"].to_dict()
    >>> found = audit(study, authors=wrote).findings
    >>> found[found["verdict"] == "found"][["evaluator", "test"]].values.tolist()[:3]
    [['wordy', 'length'], ['vain', 'own']]
    """
    if margin <= 0:
        raise ValueError(
            f"margin must be above 0, a share of verdicts that may be overlooked. Got {margin}."
        )
    data = read_verdicts(study, dimension, np.random.default_rng(seed))
    judges = [name for name in data.said if name not in SENTINELS]
    systems = [str(name) for name in study.outputs["system"].unique()]
    for judge, system in (authors or {}).items():
        known(judge, judges, "authors")
        known(system, systems, "authors")
    view = _View(data, confidence)
    findings, orders, bins, ratings, power = [], [], [], [], []
    for name in data.said:
        own = (authors or {}).get(name)
        rows, table, rated, binned = _examined(view, name, own)
        if name in SENTINELS:  # what they are is known: they are drawn, not tested
            for row in rows.values():
                row["p"] = np.nan
        else:
            p = adjust([rows[test]["p"] for test in BIASES])
            for test, adjusted in zip(BIASES, p, strict=True):
                rows[test]["p_adjusted"] = adjusted
                rows[test]["verdict"] = _verdict(rows[test], adjusted, margin, confidence)
        head = {"evaluator": name, "is_sentinel": name in SENTINELS}
        findings += [head | {"test": test} | row for test, row in rows.items()]
        orders.append({"evaluator": name} | table)
        bins.append(binned.assign(evaluator=name))
        ratings.append(rated.assign(evaluator=name))
        if name in judges:
            power += [{"evaluator": name} | row for row in _power(rows, table, confidence)]
    if data.n_votes:
        ratings.append(_rate_people(view).assign(evaluator=PEOPLE))
    found = pd.DataFrame(findings).assign(confidence=confidence)
    found["verdict"] = found["verdict"].fillna("")
    return Audit(
        found.reindex(columns=list(_FINDINGS)),
        found.reindex(columns=list(_DETAILS)),
        pd.DataFrame(orders),
        _first(pd.concat(bins, ignore_index=True)),
        _first(pd.concat(ratings, ignore_index=True)),
        pd.DataFrame(power),
        margin,
    )


_FINDINGS = (
    *("evaluator", "test", "estimate", "ci_low", "ci_high", "covers", "p_adjusted", "verdict"),
    *("n", "reason"),
)
_DETAILS = (
    *("evaluator", "test", "is_sentinel", "confidence", "se", "inner_low", "inner_high", "p"),
)


def _first(table: pd.DataFrame) -> pd.DataFrame:
    return table[["evaluator", *(name for name in table if name != "evaluator")]]


class _View:
    """What does not depend on the judge: votes, two votes of a pair, and what they share."""

    def __init__(self, data: Verdicts, confidence: float) -> None:
        self.data, self.confidence = data, confidence
        n = len(data.one)
        order = np.argsort(data.pair, kind="stable")
        self.pair, self.who = data.pair[order], data.annotator[order]
        self.vote = data.vote[order]
        self.n_of = np.bincount(self.pair, minlength=n)
        self.weight = 1 / self.n_of[self.pair]
        self.by_pair = clusters_of(data.item)
        who = self.who[:, None]
        crew = partial(clusters_of, persons=data.persons)
        self.by_vote = crew(data.item[self.pair], who)
        self.by_order = crew(np.tile(data.item[self.pair], (2, 1)), np.tile(who, (2, 1)))
        self.sum = np.bincount(self.pair, self.vote, minlength=n)
        self.mean = np.divide(self.sum, self.n_of, where=self.n_of > 0, out=np.full(n, np.nan))
        # Of a pair with one vote alone, that is the truth: but only where there is no other.
        self.gold = bool(self.n_of.max(initial=0) == 1)
        self.one, self.other = _two_votes(self.n_of)
        if self.gold:
            self.one = self.other = np.arange(len(self.pair))
        both = np.column_stack([self.who[self.one], self.who[self.other]])
        self.by_two = crew(data.item[self.pair[self.one]], both)
        m = self.n_of[self.pair[self.one]]
        self.weight_of_two = np.ones(len(m)) if self.gold else 2 / (m * (m - 1.0))


def _two_votes(n_of: Ints) -> tuple[Ints, Ints]:
    """List each two votes of each pair; votes are sorted by pair."""
    ones: list[Ints] = [np.empty(0, dtype=np.int64)]
    others = list(ones)
    start = np.cumsum(n_of) - n_of
    for m in np.unique(n_of[n_of > 1]):
        left, right = np.triu_indices(m, 1)
        begin = start[n_of == m][:, None]
        ones.append((begin + left).ravel())
        others.append((begin + right).ravel())
    return np.concatenate(ones), np.concatenate(others)


def _examined(
    view: _View, name: str, own: str | None
) -> tuple[dict[str, dict[str, Any]], dict[str, int], pd.DataFrame, pd.DataFrame]:
    """Put every question to one evaluator."""
    data, confidence = view.data, view.confidence
    said = data.said[name]
    verdict = _mean_of_orders(said)
    rows, counts = _orders(view, said)
    rows |= _slopes(view, verdict, data.system == own if own else None)
    if own is None and name in SENTINELS:
        rows["own"]["reason"] = "a sentinel wrote no system"
    rows["ties"] = _ties(view, said)
    chance = data.chance.get(name, said)
    args = view.pair, view.vote, view.weight, view.by_order, confidence
    error, over, bins = _calibrate(chance, *args)
    n = int((~np.isnan(verdict[view.pair])).sum())
    rows["calibration_error"], rows["overconfidence"] = error | {"n": n}, over | {"n": n}
    rows |= _agreement(view, verdict)
    there = ~np.isnan(verdict)
    share = np.where(there, verdict, 0.0) + 0.5
    slope, ratings = rate_at_equal_length(
        share, data.system, data.doublings, there.astype(float), view.by_pair, confidence
    )
    rows["length_in_ratings"] = slope | {"n": int(there.sum())}
    return rows, counts, ratings, bins


def _calibrate(
    chance: Floats,
    pair: Ints,
    vote: Floats,
    weight: Floats,
    clusters: Clusters,
    confidence: float,
) -> tuple[dict[str, Any], dict[str, Any], pd.DataFrame]:
    """Hold probabilities (pairs, order) against votes: calibration error, overconfidence, bins.

    `clusters` are of two rows per vote, one for each order.
    """
    lead = chance[pair].T.ravel()  # of each vote, first the one order, then the other
    there = ~np.isnan(lead)
    sure = np.where(there, np.abs(lead), 0.0)
    # Of two equally likely sides either may be called favored: the one is.
    right = np.where(sign(lead) < 0, -1.0, 1.0) * np.tile(vote, 2)
    w = np.where(there, np.tile(weight, 2), 0.0)
    used = sure[w > 0]
    blank = {"estimate": np.nan, "se": np.nan, "ci_low": np.nan, "ci_high": np.nan, "p": np.nan}
    columns = ["bin", "low", "high", "said", "people", "ci_low", "ci_high", "n"]
    reason = ""
    if not len(used):
        reason = _NO_VOTES
    elif not ((used > 1e-9) & (used < 0.5 - 1e-9)).any():
        reason = "verdicts alone, no probabilities"
    if reason:
        none = blank | {"reason": reason, "covers": clusters.covers}
        return none, none, pd.DataFrame(columns=columns)
    cuts = np.unique(np.quantile(used, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    number = np.searchsorted(cuts, sure, side="right")
    in_bin = number[:, None] == np.arange(len(cuts) + 1)
    in_bin = in_bin[:, (in_bin & (w > 0)[:, None]).any(axis=0)]
    mass = w[:, None] * in_bin
    total = mass.sum(axis=0)
    said, people = sure @ mass / total, right @ mass / total
    gap = people - said
    # What each row adds to the mean of its bin, less what is expected of it there.
    rows = mass / total * ((right - sure)[:, None] - gap)
    share = total / total.sum()
    squared = float(share @ (gap**2 - clusters.unbiased(rows)))
    own = clusters.variance(rows)
    # The variance of a quadratic form of normal gaps; the true gaps' squares are estimated, too.
    known = np.where(gap**2 > own, gap * np.sqrt(np.maximum(0, 1 - own / gap**2)), 0.0)
    slope = share * known
    weights = share[:, None] * share
    variance = max(
        4 * slope @ one @ slope + 2 * (weights * one**2).sum()
        for one in candidates(np.stack(clusters.each(rows)))
    )
    error = around(squared, float(np.sqrt(variance)), clusters, confidence)
    for name in ("estimate", "ci_low", "ci_high", "inner_low", "inner_high"):
        error[name] = (
            float(np.sqrt(max(0.0, error[name]))) if error[name] == error[name] else np.nan
        )
    error |= {"p": np.nan, "se": np.nan}

    parts = np.column_stack([w * (sure - right), w])
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., 0], sums[..., 1]), clusters)
    over = around(found[0], se[0], clusters, confidence)
    half = student.ppf(0.5 + confidence / 2, clusters.df) * np.sqrt(own)
    bins = pd.DataFrame(
        {
            "bin": np.arange(1, len(total) + 1),
            "low": 0.5 + np.array([sure[one & (w > 0)].min() for one in in_bin.T]),
            "high": 0.5 + np.array([sure[one & (w > 0)].max() for one in in_bin.T]),
            "said": 0.5 + said,
            "people": 0.5 + people,
            "ci_low": 0.5 + people - half,
            "ci_high": 0.5 + people + half,
            "n": (in_bin & (w > 0)[:, None]).sum(axis=0),
        }
    )
    return error, over, bins


def _mean_of_orders(said: Floats) -> Floats:
    """Take the mean of both orders, or the one that there is."""
    there = ~np.isnan(said)
    total, n = np.where(there, said, 0).sum(axis=1), there.sum(axis=1)
    return np.divide(total, n, where=n > 0, out=np.full(len(said), np.nan))


def _orders(view: _View, said: Floats) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """Compare what was said in one order with the other."""
    straight, swapped = said.T
    both = ~np.isnan(said).any(axis=1)
    n = int(both.sum())
    same = both & (straight == swapped)
    first = both & (straight > 0) & (swapped < 0)
    second = both & (straight < 0) & (swapped > 0)
    n_first, n_second = int(first.sum()), int(second.sum())
    side = sign(np.nan_to_num(view.mean))
    known_side = side != 0
    right, right_swapped = (known_side & (np.sign(each) == side) for each in (straight, swapped))
    counts = {
        "n_pairs": int((~np.isnan(said)).any(axis=1).sum()),
        "n_both": n,
        "n_same": int(same.sum()),
        "n_first": n_first,
        "n_second": n_second,
        "n_tied": n - int(same.sum()) - n_first - n_second,
        "n_known": int(known_side.sum()),
        "n_right": int(right.sum()),
        "n_right_swapped": int(right_swapped.sum()),
        "n_right_both": int((right & right_swapped).sum()),
    }
    no_pair = "" if n else "no pair was judged in both orders"
    nothing = _nothing(no_pair)
    rows = {"consistency": nothing | {"n": n}, "flips": nothing | {"n": n_first + n_second}}
    rows["position"] = nothing | {"n": n}
    if not n:
        return rows, counts
    confidence = view.confidence
    parts = np.column_stack([same, both]).astype(np.float64)
    rows["consistency"] = _share(parts, view.by_pair, confidence) | {"n": n}

    n_flips = n_first + n_second
    if n_flips:
        test = binomtest(n_first, n_flips)
        ends = test.proportion_ci(confidence)
        flips = {"estimate": n_first / n_flips, "ci_low": ends[0], "ci_high": ends[1]}
        rows["flips"] |= flips | {"p": test.pvalue, "covers": "pairs"}
    else:
        rows["flips"]["reason"] = "no pair went to the first shown, or to the second, in both"
    lead = np.where(both, (straight - swapped) / 2, 0.0)
    parts = np.column_stack([lead, both])
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., 0], sums[..., 1]), view.by_pair)
    if se[0] < 1e-12:
        # No pair differs from the others: what n of n leave open, by the exact binomial's law.
        position = around(found[0], 1.0, view.by_pair, confidence)
        n_items = max(1.0, min(n, view.by_pair.df + 1))
        for kind, tail in (("ci", 1 - confidence), ("inner", 2 * (1 - confidence))):
            half = (1 - (tail / 2) ** (1 / n_items)) / 2
            position[f"{kind}_low"] = max(-0.5, found[0] - half)
            position[f"{kind}_high"] = min(0.5, found[0] + half)
        position["se"] = float("nan")
    else:
        position = around(found[0], se[0], view.by_pair, confidence)
    position["p"] = rows["flips"]["p"] if n_flips else 1.0
    rows["position"] = position | {"n": n}
    return rows, counts


def _nothing(reason: str, covers: str = "") -> dict[str, Any]:
    names = ("estimate", "se", "ci_low", "ci_high", "inner_low", "inner_high", "p")
    return dict.fromkeys(names, float("nan")) | {"covers": covers, "reason": reason}


def _share(parts: Floats, clusters: Clusters, confidence: float) -> dict[str, Any]:
    """Put Wilson's interval, with the effective number of pairs, around a share."""
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., 0], sums[..., 1]), clusters)
    share, total = float(found[0]), parts[:, 1].sum()
    row = _nothing(clusters.reason, clusters.covers) | {"estimate": share, "se": float(se[0])}
    if np.isnan(se[0]):
        return row
    spread = share * (1 - share)
    n = spread / se[0] ** 2 if se[0] > 1e-12 and spread > 0 else min(total, clusters.df + 1)
    for kind, level in (("ci", 0.5 + confidence / 2), ("inner", confidence)):
        low, high = wilson(np.array(share), np.array(n), student.ppf(level, clusters.df))
        row[f"{kind}_low"], row[f"{kind}_high"] = float(low), float(high)
    return row


def _slopes(view: _View, verdict: Floats, is_own: Any) -> dict[str, dict[str, Any]]:
    """Regress verdicts on people's expected votes, lengths, and whose system it is."""
    data, clusters = view.data, view.by_two
    pair = view.pair[view.one]
    w = view.weight_of_two * ~np.isnan(verdict[pair])
    has_text = ~np.isnan(data.doublings)
    if (has_text & ~np.isnan(verdict)).any():
        w = w * has_text[pair]
    voted = bool((w > 0).any())
    whose = np.zeros(len(verdict)) if is_own is None else np.subtract(*is_own.T.astype(float))
    given = {"length": np.nan_to_num(data.doublings)[pair], "own": whose[pair]}
    missing = {
        "length": "there are no texts, or they do not differ in length",
        "own": "no author is known" if is_own is None else "no pair has its own system on one side",
    }
    used = {name: one for name, one in given.items() if (one[w > 0] != 0).any()}
    if not voted:
        missing["length"] = _NO_VOTES
    rows = {
        name: _nothing(missing[name], clusters.covers) | {"n": 0} for name in given.keys() - used
    }
    if used:
        said = np.nan_to_num(verdict)[pair]
        one, other = view.vote[view.one], view.vote[view.other]
        left = np.stack([(one + other) / 2, *used.values()], axis=1)
        products = left[:, :, None] * left[:, None, :]
        products[:, 0, 0] = one * other
        slopes = scores(products, said[:, None] * left, w, clusters)
        for place, (name, column) in enumerate(used.items(), 1):
            row = inverted(slopes, place, clusters, view.confidence)
            n = len(np.unique(pair[w > 0] if name == "length" else pair[(w > 0) & (column != 0)]))
            rows[name] = row | {"n": n}
    return {name: rows[name] for name in given}


def _ties(view: _View, said: Floats) -> dict[str, Any]:
    """Set the share of ties beside people's on the same pairs."""
    there = ~np.isnan(said)
    n = there.sum(axis=1)
    tied = np.where(there, said == 0, False).sum(axis=1)
    share = np.divide(tied, n, where=n > 0, out=np.zeros(len(n)))
    if not len(view.pair):
        parts = np.column_stack([share, n > 0]).astype(np.float64)
        row = _share(parts, view.by_pair, view.confidence)
        return row | {"n": int((n > 0).sum()), "reason": "the judge's alone: people did not vote"}
    w = view.weight * (n > 0)[view.pair]
    parts = np.column_stack([w * (share[view.pair] - (view.vote == 0)), w])
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., 0], sums[..., 1]), view.by_vote)
    row = around(found[0], se[0], view.by_vote, view.confidence)
    return row | {"n": int((w > 0).sum())}


def _agreement(view: _View, verdict: Floats) -> dict[str, dict[str, Any]]:
    """Hold the judge, and each annotator, against the side that more of the others took."""
    names = ("agreement", "agreement_of_people", "agreement_less_people")
    said = verdict[view.pair]
    if np.isnan(said).all():
        return dict.fromkeys(names, _nothing(_NO_VOTES) | {"n": 0})
    side = sign(view.vote if view.gold else view.sum[view.pair] - view.vote)
    used = (side != 0) & ~np.isnan(said)
    # Where others are split one is left out, and the pair weighs less: else pairs on which people
    # disagree would be known by their dissenter alone.
    w = np.where(used, view.weight, 0.0)
    n = len(np.unique(view.pair[used]))
    judge = 0.5 + np.nan_to_num(said) * side
    person = 0.5 + view.vote * side
    parts = np.column_stack([w * judge, w * person, w * (judge - person), w])
    found, se = jackknifed(parts, lambda sums: ratio(sums[..., :3], sums[..., 3:]), view.by_vote)
    rows = {}
    for name, value, error in zip(names, found, se, strict=True):
        row = around(value, error, view.by_vote, view.confidence)
        if view.gold and name != names[0]:
            row = _nothing("no pair has votes of two annotators", view.by_vote.covers)
        if name != names[2]:
            row["p"] = float("nan")
        rows[name] = row | {"n": n}
    return rows


def _verdict(row: dict[str, Any], p: float, margin: float, confidence: float) -> str:
    if p < 1 - confidence:
        beyond = row["ci_low"] > margin or row["ci_high"] < -margin
        return "found" if beyond else "significant"
    if row["inner_low"] > -margin and row["inner_high"] < margin:
        return "acquitted"
    return "not shown" if row["estimate"] == row["estimate"] else ""


def _rate_people(view: _View) -> pd.DataFrame:
    data = view.data
    pair = view.pair
    of_votes = data.system[pair], data.doublings[pair], view.weight, view.by_vote
    return rate_at_equal_length(view.vote + 0.5, *of_votes, view.confidence)[1]


def _power(
    rows: dict[str, dict[str, Any]],
    counts: dict[str, int],
    confidence: float,
) -> list[dict[str, Any]]:
    """Say how often a stated bias would be found with more or fewer pairs like these."""
    level = (1 - confidence) / len(BIASES)
    found = []
    for test in BIASES:
        row, bias = rows[test], STATED[test]
        n = counts["n_both"] if test == "position" else row["n"]
        power_of: Callable[[float], float] | None = None
        if test == "position" and counts["n_first"] + counts["n_second"]:
            flips = (counts["n_first"] + counts["n_second"]) / n
            power_of = partial(_mcnemar, flips=flips, share=bias, level=level)
        elif "score" in row:
            power_of = partial(
                _of_slope, score=row["score"], n=n, bias=bias, df=row["df"], level=level
            )
        needed = _needed(power_of) if power_of else float("nan")
        for times in _SIZES:
            power = power_of(n * times) if power_of else float("nan")
            size = {"times": times, "n": round(n * times), "power": power, "needed": needed}
            found.append({"test": test, "bias": bias} | size)
    return found


def _mcnemar(n_pairs: float, *, flips: float, share: float, level: float) -> float:
    """Give the power of the exact two-sided test of one half, where a share of pairs flips."""
    n = round(n_pairs * flips)
    tails = bdtr(np.arange(n // 2 + 1), n, 0.5)
    most = int(np.searchsorted(tails, level / 2, side="right")) - 1
    return float(bdtr(most, n, share) + bdtr(most, n, 1 - share)) if most >= 0 else 0.0


def _of_slope(n_pairs: float, *, n: int, **tested: Any) -> float:
    """Give the power of a slope's test at another number of pairs than n."""
    return power_of_slope(times=n_pairs / n, **tested)


def _needed(power_of: Callable[[float], float]) -> float:
    """Find the fewest pairs with a power of .95, to a hundredth."""
    low, high = 1.0, 2.0
    while power_of(high) < 0.95:
        low, high = high, 2 * high
        if high > 1e8:
            return float("nan")
    while high / low > 1.01:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if power_of(middle) >= 0.95 else (middle, high)
    return float(np.ceil(high))
