"""Audit of judges: bias by position, length and own system, ties, calibration and agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from nlgbench.analysis.judges.equal_length import rate_at_equal_length
from nlgbench.analysis.judges.verdicts import (
    SENTINELS,
    Verdicts,
    read_verdicts,
    share_interval,
    sign,
    summarize,
)
from nlgbench.analysis.ratings.games import PEOPLE
from nlgbench.arrays import Floats
from nlgbench.clustering import Clusters, clusters_of
from nlgbench.inference import adjust, ratio
from nlgbench.names import known
from nlgbench.reported import Reported
from nlgbench.status import OK, Status, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

#: The three tests of bias, over which p-values are adjusted.
BIASES = ("position", "length", "own")
_Row = dict[str, Any]
#: Bins with equal numbers of votes, if there are enough.
N_BINS = 10
#: With smaller F, votes are too weak an instrument for the expected vote (Staiger and Stock 1997).
WEAK = 10.0


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Reported):
    """The results of `audit` as tables, and the margin of its tests.

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
    margin: float

    def _shown(self) -> pd.DataFrame:
        """Return the tests of bias."""
        table = self.findings
        is_test = table["test"].isin(BIASES) & ~table["evaluator"].isin(SENTINELS)
        return table[is_test]


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
    """Audit judges that compare pairs: how verdicts depend on position, length and authorship.

    Parameters
    ----------
    study : Study
        A study with texts, ``comparisons`` (ideally of each pair in both orders), and annotators'
        votes on some of the pairs: ``preferences`` or, without any, judgments of both outputs by
        the same annotator.
    authors : mapping of str to str, optional
        Maps each judge to its own system, or to a system of the same model family.
    dimension : str, optional
        A dimension of preferences or judgments. Default: the study's quality dimension.
    margin : float
        The largest negligible bias, as a share of verdicts. Choose it before you see the data.
    confidence : float
        Confidence level of intervals, between 0 and 1; 1 - confidence is the level of tests.
    seed : int or Generator
        Seed of the random sentinel's verdicts.

    Returns
    -------
    Audit
        ``findings``, with a row per test for each judge, then each sentinel (``longest`` prefers
        the longer text, ``first`` the one shown first, ``constant`` always ties, and ``random``;
        they have no p or verdict): evaluator, test, estimate, ci_low, ci_high, confidence, covers
        (what the interval generalizes to), p_adjusted (Holm, over those of the judge's tests of
        position, length and own that have a p), n_tested (their number), margin, verdict
        (``found``: significant, with the interval beyond the margin; ``significant``: the bias may
        lie within the margin; ``ruled out``: not significant, with the inner interval within the
        margin; ``not shown``: inconclusive), n, status (a code; ``ok``), reason (its text).
        ``details``, by evaluator and test: is_sentinel, se, inner_low, inner_high (the inner
        interval, with 90% confidence by default), p. The tests:

        =========================  =================================================================
        consistency                share of pairs with the same verdict in both orders; for the
                                   others, the order decides (a tie in one order only counts as a
                                   change)
        position                   gain of the output shown first, as a share of all verdicts; p is
                                   exact (McNemar), from pairs won by one position in both orders.
                                   If no pair has both orders: half the difference between systems'
                                   win rates when shown first and when shown second (in random
                                   orders)
        length                     gain of a text twice as long, as a share of verdicts, between
                                   outputs that annotators find equally good
        own                        gain of the judge's own system, between such outputs
        ties                       share of ties among the judge's verdicts, minus that among votes
        overconfidence             mean probability of the judge's preferred output, minus how often
                                   annotators prefer it (ties count half)
        agreement                  of the judge with the majority of all annotators but one (ties
                                   count half), averaged over the annotator left out
        agreement_of_annotators    of the annotator left out, likewise
        agreement_less_annotators  agreement minus agreement_of_annotators
        length_in_ratings          gain in Bradley-Terry log odds (nats) for a text twice as long
        =========================  =================================================================

        ``orders``, with numbers of pairs: evaluator, n_pairs (with any verdict), n_both (with both
        orders), n_same, n_first, n_second (won by this position in both), n_tied (tied in one order
        only), n_known (with a majority of votes), n_right (whose verdict agrees with the majority
        in the order that annotators saw), n_right_swapped (in the other), n_right_both.

        ``calibration``: evaluator, bin, low, high (of the preferred output's probability),
        probability (its mean), estimate (how often annotators prefer that output; ties count
        half), ci_low, ci_high, n (votes, counted once per order), status, reason.

        ``ratings``: evaluator (including ``people``), system, rating and equal_length (the rating
        at equal text length) with their intervals, status, reason.

    Raises
    ------
    ValueError
        When there are no comparisons, a judge has the name of a sentinel, or `authors` contains an
        unknown judge or system.

    Notes
    -----
    Length and own are slopes in a least-squares regression of the verdict (mean of both orders) on
    the expected vote, the difference of log2 lengths in characters, and the judge's own system. The
    expected vote is not observed, so its sum of squares is estimated by products of two annotators'
    votes on a pair. If no pair has two votes, both are undefined (status ``one_vote``) unless
    settings declare votes to be the truth (``votes: gold``): as a truth, noisy votes make unbiased
    judges look biased. Jackknife intervals leave out one item at a time and, if the effective
    number of annotators is at least ten, one annotator. docs/validation.md reports level and
    coverage.

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
            f"margin, the largest negligible share of verdicts, must be above 0. Got {margin}."
        )
    data = read_verdicts(study, dimension, np.random.default_rng(seed))
    judges = [name for name in data.verdicts if name not in SENTINELS]
    systems = [str(name) for name in study.outputs["system"].unique()]
    for judge, system in (authors or {}).items():
        known(judge, judges, "authors")
        known(system, systems, "authors")
    view = _SharedData(data, confidence)
    findings, orders, bins, ratings = [], [], [], []
    for name in data.verdicts:
        author = (authors or {}).get(name)
        rows, counts, rated, binned = _run_tests(view, name, author)
        if name in judges:  # sentinels are shown, not tested
            p = adjust([rows[test]["p"] for test in BIASES])
            n_tested = int(np.isfinite(p).sum())
            for test, adjusted in zip(BIASES, p, strict=True):
                verdict = _decide(rows[test], adjusted, margin, confidence)
                rows[test] |= {"p_adjusted": adjusted, "verdict": verdict, "n_tested": n_tested}
        else:
            rows = {test: row | {"p": np.nan} for test, row in rows.items()}
        head = {"evaluator": name, "is_sentinel": name in SENTINELS}
        findings += [head | {"test": test} | row for test, row in rows.items()]
        orders.append({"evaluator": name} | counts)
        bins.append(binned.assign(evaluator=name))
        ratings.append(rated.assign(evaluator=name))
    if len(data.vote):
        of_votes = data.system[data.pair], data.doublings[data.pair], view.weight, view.by_vote
        rated = rate_at_equal_length(data.vote + 0.5, *of_votes, confidence)[1]
        ratings.append(rated.assign(evaluator=PEOPLE))
    table = pd.DataFrame(findings).assign(margin=margin, confidence=confidence)
    table["verdict"] = table["verdict"].fillna("")
    return Audit(
        split_status(table).reindex(columns=list(_FINDINGS)),
        table.reindex(columns=list(_DETAILS)),
        pd.DataFrame(orders),
        split_status(pd.concat(bins, ignore_index=True))[list(_CALIBRATION)],
        split_status(pd.concat(ratings, ignore_index=True)).set_index("evaluator").reset_index(),
        margin,
    )


_FINDINGS = (
    *("evaluator", "test", "estimate", "ci_low", "ci_high", "confidence", "covers", "p_adjusted"),
    *("n_tested", "margin", "verdict", "n", "status", "reason"),
)
_DETAILS = (*("evaluator", "test", "is_sentinel", "se", "inner_low", "inner_high", "p"),)
_CALIBRATION = (
    *("evaluator", "bin", "low", "high", "probability", "estimate", "ci_low", "ci_high", "n"),
    *("status", "reason"),
)


class _SharedData:
    """Data shared by all judges: votes by pair, pairs of votes, and clusters."""

    def __init__(self, data: Verdicts, confidence: float) -> None:
        self.data, self.confidence = data, confidence
        n, pair, who = len(data.item), data.pair, data.annotator[:, None]
        n_of = np.bincount(pair, minlength=n)
        self.weight = 1 / n_of[pair]
        self.sum: Floats = np.bincount(pair, data.vote, minlength=n).astype(np.float64)
        self.by_pair = clusters_of(data.item)
        self.by_vote = data.clusters(pair, who)
        self.by_order = data.clusters(np.tile(pair, 2), np.tile(who, (2, 1)))
        self.single = bool(n_of.max(initial=0) == 1)
        self.first = self.second = np.arange(len(pair))
        if not data.gold:
            votes = pd.DataFrame({"pair": pair, "row": np.arange(len(pair))})
            couples = votes.merge(votes, on="pair").query("row_x < row_y")
            self.first, self.second = couples["row_x"].to_numpy(), couples["row_y"].to_numpy()
        of_two = pair[self.first]
        self.weight_of_two = 1 / np.bincount(of_two, minlength=n)[of_two]
        self.by_two = data.clusters(of_two, np.hstack([who[self.first], who[self.second]]))


def _run_tests(
    view: _SharedData, name: str, author: str | None
) -> tuple[dict[str, _Row], dict[str, int], pd.DataFrame, pd.DataFrame]:
    """Run every test on one evaluator."""
    data = view.data
    verdicts = data.verdicts[name]
    given_verdict = ~np.isnan(verdicts)
    n = given_verdict.sum(axis=1)
    # The mean of both orders, or the verdict in the only one.
    verdict = np.divide(np.nansum(verdicts, axis=1), n, where=n > 0, out=np.full(len(n), np.nan))
    rows, counts = _test_orders(view, verdicts)
    rows |= _test_slopes(view, verdict, data.system == author if author else None)
    if author is None and name in SENTINELS:
        rows["own"]["status"] = explain("sentinel")
    tied = np.where(given_verdict, verdicts == 0, False).sum(axis=1) / np.maximum(n, 1)
    w = view.weight * (n > 0)[data.pair]
    rows["ties"] = _estimate_ratio(view, w * (tied[data.pair] - (data.vote == 0)), w, view.by_vote)
    rows["overconfidence"], bins = _test_calibration(view, data.chance.get(name, verdicts))
    rows |= _test_agreement(view, verdict)
    judged = n > 0
    share = np.where(judged, verdict, 0.0) + 0.5
    of_pairs = data.system, data.doublings, judged.astype(float), view.by_pair
    slope, ratings = rate_at_equal_length(share, *of_pairs, view.confidence)
    rows["length_in_ratings"] = slope | {"n": int(judged.sum())}
    if not judged.any():  # the longest of no texts
        no_length: Any = explain("no_length")
        rows = {test: row | {"status": no_length} for test, row in rows.items()}
        ratings["status"] = no_length
    return rows, counts, ratings, bins


def _estimate_ratio(view: _SharedData, top: Floats, below: Floats, clusters: Clusters) -> _Row:
    """Estimate the ratio of two sums over votes."""
    addends = np.column_stack([top, below])
    estimate, se = clusters.jackknife(addends, lambda sums: ratio(sums[..., 0], sums[..., 1]))
    n = int((below > 0).sum())
    missing = OK if n else explain("no_votes")
    se = np.where(se <= 1e-12, 0.0, se)  # rounding: votes are from -1/2 to 1/2
    return summarize(float(estimate), float(se), clusters, view.confidence, missing) | {"n": n}


def _test_orders(view: _SharedData, verdicts: Floats) -> tuple[dict[str, _Row], dict[str, int]]:
    """Compare verdicts in one order with those in the other."""
    straight, swapped = verdicts.T
    in_both = ~np.isnan(verdicts).any(axis=1)
    same = in_both & (straight == swapped)
    first = in_both & (straight > 0) & (swapped < 0)
    second = in_both & (straight < 0) & (swapped > 0)
    n, n_first, n_second = int(in_both.sum()), int(first.sum()), int(second.sum())
    side = sign(view.sum)
    right, right_swapped = ((side != 0) & (np.sign(lead) == side) for lead in (straight, swapped))
    counts = {
        "n_pairs": int((~np.isnan(verdicts)).any(axis=1).sum()),
        "n_both": n,
        "n_same": int(same.sum()),
        "n_first": n_first,
        "n_second": n_second,
        "n_tied": n - int(same.sum()) - n_first - n_second,
        "n_known": int((side != 0).sum()),
        "n_right": int(right.sum()),
        "n_right_swapped": int(right_swapped.sum()),
        "n_right_both": int((right & right_swapped).sum()),
    }
    missing = OK if n else explain("one_order")
    lead = np.where(in_both, (straight - swapped) / 2, 0.0)
    addends = np.column_stack([same, lead, in_both]).astype(np.float64)
    (share, gain), (se, gain_se) = view.by_pair.jackknife(
        addends, lambda sums: ratio(sums[..., :2], sums[..., 2:])
    )
    options = view.by_pair, view.confidence, missing
    consistency, position = (summarize(share, se, *options), summarize(gain, gain_se, *options))
    if not n:
        position = _test_single_orders(view, verdicts)
        return {"consistency": consistency | {"n": n}, "position": position}, counts
    if share == share:
        # Shares are often near 1, where a t interval is too narrow.
        wilson = share_interval(share, se, view.by_pair, n, view.confidence)
        wilson["status"] = Status(wilson["status"], wilson.pop("reason"))
        consistency |= wilson | {"p": np.nan}
        position["p"] = binomtest(n_first, n_first + n_second).pvalue if n_first + n_second else 1.0
        if gain_se < 1e-12:
            # All pairs agree: use the binomial bound for n of n.
            n_items = max(1.0, min(n, view.by_pair.n))
            for kind, tail in (("ci", 1 - view.confidence), ("inner", 2 * (1 - view.confidence))):
                half = (1 - (tail / 2) ** (1 / n_items)) / 2
                position[f"{kind}_low"] = max(-0.5, gain - half)
                position[f"{kind}_high"] = min(0.5, gain + half)
            position["status"] = OK
    return {"consistency": consistency | {"n": n}, "position": position | {"n": n}}, counts


def _test_single_orders(view: _SharedData, verdicts: Floats) -> dict[str, Any]:
    """Estimate the gain of the first position from pairs with one randomly chosen order each.

    For each pair of systems, it averages the results with either system first, so that their
    difference in quality cancels. Ties count for neither position.
    """
    has_verdict = ~np.isnan(verdicts)
    judged = has_verdict.any(axis=1)
    verdict, is_swapped = np.nansum(verdicts[judged], axis=1), has_verdict[judged, 1]
    system, item = view.data.system[judged], view.data.item[judged]
    games = pd.DataFrame({"lead": np.where(is_swapped, -verdict, verdict)})
    for name, (first, second) in {"first": (0, 1), "second": (1, 0)}.items():
        games[name] = np.where(is_swapped, system[:, second], system[:, first])
    won = games[games["lead"] != 0]
    lead = won.groupby(["first", "second"])["lead"]
    size, off = lead.transform("size"), won["lead"] - lead.transform("mean")
    turned = lead.size().reindex(pd.MultiIndex.from_frame(won[["second", "first"]])).fillna(0)
    used = np.minimum(size, turned.to_numpy()) > 1
    clusters = clusters_of(item[won.index[used]])
    weight = ((size + turned.to_numpy()) / (2 * size))[used]
    # Squared deviations from a mean of n are too small by the factor (n - 1) / n.
    rows = weight * off[used] * (size[used] / (size[used] - 1)) ** 0.5 / weight.sum()
    share = len(won) / max(1, len(games))
    gain = share * (weight * won["lead"][used]).sum() / weight.sum() if used.any() else np.nan
    se = share * float(clusters.covariances(rows.to_numpy()[:, None])[0][0, 0]) ** 0.5
    missing = OK if used.any() else explain("no_orders")
    row = summarize(gain, se, clusters, view.confidence, missing)
    if not missing:
        n_of = {"ties": len(games) - len(won), "systems rarely swapped": len(won) - used.sum()}
        excluded = "".join(f"; excluded ({why}): {n:,}" for why, n in n_of.items() if n)
        row["status"] += explain("random_order", excluded=excluded)
    return row | {"n": int(used.sum())}


def _test_slopes(view: _SharedData, verdict: Floats, is_own: Any) -> dict[str, dict[str, Any]]:
    """Regress verdicts on expected votes, lengths, and the judge's own system."""
    data, clusters = view.data, view.by_two
    pair = data.pair[view.first]
    w = view.weight_of_two * ~np.isnan(verdict[pair])
    has_text = ~np.isnan(data.doublings)
    if (has_text & ~np.isnan(verdict)).any():
        w = w * has_text[pair]
    own_side = np.zeros(len(verdict)) if is_own is None else np.subtract(*is_own.T.astype(float))
    columns = {"length": np.nan_to_num(data.doublings)[pair], "own": own_side[pair]}
    used = {name: column for name, column in columns.items() if (column[w > 0] != 0).any()}
    first, second = data.vote[view.first], data.vote[view.second]
    regressors = np.stack([(first + second) / 2, *used.values()], axis=1)
    products = regressors[:, :, None] * regressors[:, None, :]
    products[:, 0, 0] = first * second  # whose noise is independent
    q = regressors.shape[1]
    right = np.nan_to_num(verdict)[pair][:, None] * regressors
    addends = np.hstack([products.reshape(-1, q * q), right]) * w[:, None]

    def solved(sums: Floats) -> Floats:
        """Return the slopes, then the residual sum of squares of the expected vote."""
        inverse = np.linalg.pinv(sums[..., : q * q].reshape(*sums.shape[:-1], q, q))
        slopes = (inverse @ sums[..., q * q :, None])[..., 0]
        return np.concatenate([slopes, 1 / inverse[..., :1, 0]], axis=-1)

    slopes, se = clusters.jackknife(addends, solved)
    votes = "one_vote" if (~np.isnan(verdict[data.pair])).any() else "no_votes"
    lengths = "no_lengths" if (~np.isnan(verdict[pair])).any() else votes
    owner = "no_own_pairs" if (w > 0).any() else lengths
    unused = {"length": lengths, "own": "no_author" if is_own is None else owner}
    weak = not (slopes[-1] > 0 and slopes[-1] ** 2 > WEAK * se[-1] ** 2)
    rows = {}
    for name, column in columns.items():
        index = [None, *used].index(name) if name in used else -1
        estimate = slopes[index] if name in used else np.nan
        missing = OK if name in used else explain(unused[name])
        if name in used and weak and clusters.n >= 2:
            missing = explain("weak_votes")
        row = summarize(estimate, se[index], clusters, view.confidence, missing)
        if data.gold and not row["status"]:
            row["status"] = explain("gold_votes")
        counted = w > 0 if name == "length" else (w > 0) & (column != 0)
        rows[name] = row | {"n": len(np.unique(pair[counted])) if name in used else 0}
    return rows


def _test_calibration(view: _SharedData, chance: Floats) -> tuple[dict[str, Any], pd.DataFrame]:
    """Compare probabilities (pairs, order) with votes: overconfidence, and calibration bins."""
    data, clusters = view.data, view.by_order
    lead = chance[data.pair].T.ravel()  # for all votes in one order, then in the other
    defined = ~np.isnan(lead)
    sure = np.where(defined, np.abs(lead), 0.0)
    # If both sides are equally likely, the first counts as preferred.
    right = np.where(sign(lead) < 0, -1.0, 1.0) * np.tile(data.vote, 2)
    w = np.where(defined, np.tile(view.weight, 2), 0.0)
    row = _estimate_ratio(view, w * (sure - right), w, clusters) | {"n": len(data.vote)}
    used = sure[w > 0]
    if not len(used) or not ((used > 1e-9) & (used < 0.5 - 1e-9)).any():
        missing = explain("no_probabilities" if len(used) else "no_votes")
        row |= summarize(np.nan, np.nan, clusters, view.confidence, missing)
        return row, pd.DataFrame(columns=list(_CALIBRATION[:-1]))
    cuts = np.unique(np.quantile(used, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    number = np.searchsorted(cuts, sure, side="right")
    bins: list[dict[str, Any]] = []
    for bin_number in np.unique(number[w > 0]):
        bin_weight = w * (number == bin_number)
        probability = sure[bin_weight > 0]
        row_of_bin = {"bin": len(bins) + 1, "low": probability.min(), "high": probability.max()}
        row_of_bin |= {"probability": bin_weight @ sure / bin_weight.sum()}
        bins.append(row_of_bin | _estimate_ratio(view, bin_weight * right, bin_weight, clusters))
    table = pd.DataFrame(bins)[list(_CALIBRATION[1:-1])]
    table[["low", "high", "probability", "estimate", "ci_low", "ci_high"]] += 0.5
    return row, table


def _test_agreement(view: _SharedData, verdict: Floats) -> dict[str, dict[str, Any]]:
    """Compare the judge, and each annotator, with the majority of the other annotators."""
    data = view.data
    verdict_of_vote = verdict[data.pair]
    side = sign(data.vote if view.single else view.sum[data.pair] - data.vote)
    used = (side != 0) & ~np.isnan(verdict_of_vote)
    # A vote is excluded if the other votes on its pair are tied; the pair then has less weight.
    # At full weight, the dissenting vote alone would represent a pair with two votes to one.
    w = np.where(used, view.weight, 0.0)
    judge, person = 0.5 + np.nan_to_num(verdict_of_vote) * side, 0.5 + data.vote * side
    shares = {
        "agreement": judge,
        "agreement_of_annotators": person,
        "agreement_less_annotators": judge - person,
    }
    rows = {name: _estimate_ratio(view, w * s, w, view.by_vote) for name, s in shares.items()}
    n = len(np.unique(data.pair[used]))
    for name, row in rows.items():
        row["n"] = n
        if row["status"].code == "no_votes" and (~np.isnan(verdict_of_vote)).any():
            row["status"] = explain("tied_votes")
        if view.single and name != "agreement":
            missing = explain("gold_votes" if data.gold else "one_vote")
            row |= summarize(np.nan, np.nan, view.by_vote, view.confidence, missing)
        if name != "agreement_less_annotators":
            row["p"] = np.nan  # a test against 0 would be meaningless
    return rows


def _decide(row: dict[str, Any], p: float, margin: float, confidence: float) -> str:
    if p < 1 - confidence:
        beyond = row["ci_low"] > margin or row["ci_high"] < -margin
        return "found" if beyond else "significant"
    if row["inner_low"] > -margin and row["inner_high"] < margin:
        return "ruled out"
    untested = np.isnan(row["estimate"]) and row["status"].code != "one_vote"
    return "" if untested else "not shown"
