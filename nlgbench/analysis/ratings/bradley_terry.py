"""Bradley-Terry with ties (Davidson), and win rates, with intervals over other outputs.

One output is a in one game and b in another, so games depend on each other through either: the
variances here are dyadic. Where people choose, games of one annotator depend on each other, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array, hstack
from scipy.sparse.csgraph import (
    NegativeCycleError,
    bellman_ford,
    connected_components,
    csgraph_from_dense,
)
from scipy.special import softmax, xlogy
from scipy.stats import norm, t

from nlgbench.analysis.ratings.games import Floats, Ints, Of, Outcome, as_arrays, read_games
from nlgbench.analysis.ratings.glicko import POINTS, START
from nlgbench.checks import checked
from nlgbench.inference import FEWEST
from nlgbench.names import known
from nlgbench.study import Study

Clusters = Literal["items", "outputs", "annotators", "games", "items and annotators"]
Ties = Literal["davidson", "half"]
BOTH: Clusters = "items and annotators"
#: With fewer clusters than this, intervals carry a reason; over items and annotators there is none.
FEW = 6


def which_clusters(played: pd.DataFrame, clusters: Clusters | None, outcome: Outcome) -> Clusters:
    """Choose clusters where none are named, and refuse those that the games do not know."""
    annotators, items = "annotator_id" in played, "item_a" in played or "item_id" in played
    there: dict[Clusters, bool] = {
        BOTH: annotators and items,
        "annotators": annotators,
        "items": items,
        "outputs": "output_a" in played,
        "games": True,
    }
    if clusters is None:
        if there[BOTH] and len(played["annotator_id"].unique()) == 1:
            return "items"  # what one annotator alone would say
        return next(name for name, known_here in there.items() if known_here)
    known(clusters, list(there), "clusters")
    if not there[clusters]:
        raise ValueError(
            f"clusters={clusters!r} needs to know whose they are: give a study, or a table with "
            "output_a and output_b, item_a and item_b, or annotator_id; or take clusters='games'."
        )
    if clusters == "games" and outcome == "expected":
        raise ValueError(
            "expected outcomes vary less than games, so clusters='games' would be wrong: use "
            "clusters='items', or outcome='sampled'."
        )
    return clusters


def sides(played: pd.DataFrame, clusters: Clusters) -> tuple[Ints, Ints]:
    """Give numbers to the clusters of both sides of each game."""
    if clusters == "games":
        return np.arange(len(played)), np.arange(len(played))
    name = {"items": "item", "outputs": "output"}.get(clusters, "")
    if f"{name}_a" in played:
        both = pd.concat([played[f"{name}_a"], played[f"{name}_b"]])
        one, other = pd.factorize(both)[0].reshape(2, -1)
        return one, other
    one = pd.factorize(played["annotator_id" if clusters == "annotators" else "item_id"])[0]
    return one, one


def bradley_terry(
    played: pd.DataFrame,
    *,
    clusters: Clusters = "items",
    ties: Ties = "davidson",
    confidence: float = 0.95,
    differences: bool = False,
) -> pd.DataFrame:
    """Fit abilities of the systems in one comparator's games by maximum likelihood.

    A row per system, or, where `differences` are asked for, per two systems.

    Davidson (1970), doi:10.1080/01621459.1970.10481082: win, tie and loss of i against j have
    probabilities in proportion to ``p_i``, ``nu sqrt(p_i p_j)`` and ``p_j``; without ties it is
    Bradley and Terry (1952), doi:10.2307/2334029. The covariance is ``H^- M H^-``, H the
    information, M that of the scores by `covariance`; the interval takes Student's t with one
    degree of freedom less than the system with the fewest clusters has; over items and annotators
    as `in_two_ways`, one less than a system's effective number of whichever is fewer.
    """
    systems, a, b, results = as_arrays(played)
    if ties == "half":
        results = results @ [[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]]
    n = len(systems)
    system = np.append(a, b)
    left, right = np.triu_indices(n, 1) if differences else (np.arange(n), np.arange(n))
    n_games = np.bincount(system)
    number: Floats | Ints = n_games
    quantile = norm.ppf(0.5 + confidence / 2)
    one, other = sides(played, "items" if clusters == BOTH else clusters)
    annotator = sides(played, "annotators")[0] if clusters == BOTH else None
    if annotator is not None:
        items = effective_number(system, np.append(one, other))
        annotators = effective_number(system, np.append(annotator, annotator))
        number, few = fewest(
            np.minimum(items[left], items[right]), np.minimum(annotators[left], annotators[right])
        )
        with np.errstate(invalid="ignore"):
            quantile = t.ppf(0.5 + confidence / 2, number - 1)
    else:
        if clusters != "games":
            number = n_clusters(system, np.append(one, other))
            quantile = t.ppf(0.5 + confidence / 2, number.min() - 1)
        least, number = number.min(), np.minimum(number[left], number[right])
        few = np.full(len(left), f"few {clusters}: a system has {least}" if least < FEW else "")
    ability, variance, tie = np.full(n, np.nan), np.full(len(left), np.nan), float("nan")
    reason = np.full(len(left), _why_infinite(a, b, results, n), dtype=object)
    if not reason[0]:
        ability, log_tie = _fit(a, b, results, n)
        tie = float(np.exp(log_tie))
        bread = _bread(a, b, ability, log_tie)

        def of_each(whole: Floats) -> Floats:
            own = np.diag(whole)
            return own[left] + own[right] - 2 * whole[left, right] if differences else own[left]

        # Halves of games vary less than games: the model does not say by how much.
        if clusters == "games" and ties == "davidson":
            variance = of_each(bread)
        else:
            design = _design(a, b, n)
            scores = _slopes(design, results - _probabilities(design, ability, log_tie), log_tie)
            shares = _shares(design, ability, log_tie)

            def of(one: Ints, other: Ints) -> Floats:
                return of_each(bread @ covariance(scores, shares, one, other) @ bread)

            if annotator is None:
                variance = of(one, other)
            else:
                variance = in_two_ways(of, one, other, annotator)
        named = clusters.replace("s and ", " or ").removesuffix("s")
        reason = np.select(
            [np.isnan(variance), variance <= 0],
            [
                f"one {named} is in all games of some system, so there is no interval",
                "the variance comes out negative, so there is no interval: play more games",
            ],
            few,
        )
        if annotator is not None:
            variance = np.where(number < FEW, np.nan, variance)
    se = POINTS * np.sqrt(np.where(variance > 0, variance, np.nan))
    if differences:
        names = np.array(systems, dtype=object)
        table = pd.DataFrame({"system": names[left], "other": names[right]})
        value = POINTS * (ability[left] - ability[right])
        table["difference"] = value
    else:
        value = START + POINTS * ability
        table = pd.DataFrame({"system": systems, "rating": value})
    table = table.assign(ci_low=value - quantile * se, ci_high=value + quantile * se)
    table = table.assign(confidence=confidence, covers=clusters)
    if not differences:
        table = table.assign(n_games=n_games)
    return table.assign(se=se, n_clusters=number, tie=tie, reason=reason)


@checked
def win_rates(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    outcome: Outcome = "argmax",
    clusters: Clusters | None = None,
    dimension: str | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Say how often each system beats each other.

    Parameters
    ----------
    study, of, outcome, clusters, dimension, confidence, seed
        As in `nlgbench.rate`.

    Returns
    -------
    DataFrame
        Two rows for each pair that played, one from either side: comparator, system, opponent,
        n_games, win, tie, loss (shares of the games), win_rate (win + tie / 2; above .5 is better),
        ci_low, ci_high (of win_rate), confidence, covers (the clusters), n_clusters (of the side
        that has fewer; over items and annotators as in `rate`), reason (why an interval is missing
        or doubtful, or "").

    Raises
    ------
    ValueError
        As `nlgbench.rate`.

    Notes
    -----
    An output plays several games, so games tell less than their number. Intervals are Wilson's
    (1927, doi:10.1080/01621459.1927.10502953) with the effective number of games ``n* = r (1 - r) /
    V`` in place of their number (Franco, Little, Louis and Slud 2019, doi:10.1093/jssam/smy019), r
    the rate and V its variance, and Student's t. Where only the item of a whole game is known, or
    nothing, the number of items, or of games, counts. Intervals are one at a time: among many pairs
    some miss.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaa"]})
    >>> win_rates(table)[["system", "win_rate", "ci_low", "ci_high"]].round(3).values.tolist()
    [['x', 1.0, 0.51, 1.0], ['y', 0.0, 0.0, 0.49]]
    """
    all_played = read_games(study, of=of, outcome=outcome, dimension=dimension, seed=seed)
    over = which_clusters(all_played, clusters, "argmax")
    found = []
    for comparator, played in all_played.groupby("comparator"):
        systems, a, b, results = as_arrays(played)
        # First from the side of the system whose name comes first, then from the other.
        turned = a > b
        results = np.where(turned[:, None], results[:, ::-1], results)
        met = np.column_stack([np.minimum(a, b), np.maximum(a, b)])
        pairs, group = np.unique(met, axis=0, return_inverse=True)
        score = results @ [1, 0.5, 0]
        if over == "games" or (over == "items" and "item_a" not in played):
            n = np.bincount(group).astype(np.float64)
            if over == "items":
                n = n_clusters(group, sides(played, "items")[0]).astype(np.float64)
            rate = np.bincount(group, score) / np.bincount(group)
            low, high = wilson(rate, n, norm.ppf(0.5 + confidence / 2))
            reason = [f"few {over}: {each:.0f}" if each < FEW else "" for each in n]
            one = pd.DataFrame({"win_rate": rate, "ci_low": low, "ci_high": high})
            one = one.assign(n_clusters=n.astype(np.int64), reason=reason)
        else:
            a_of, b_of = sides(played, "items" if over == BOTH else over)
            own, others = np.where(turned, b_of, a_of), np.where(turned, a_of, b_of)
            annotator = sides(played, "annotators")[0] if over == BOTH else None
            options = {"confidence": confidence, "clusters": over, "annotator": annotator}
            one = rate_intervals(group, score, own, others, **options)  # type: ignore[arg-type]
        one["n_games"] = np.bincount(group)
        for kind, column in zip(("win", "tie", "loss"), results.T, strict=True):
            one[kind] = np.bincount(group, column) / one["n_games"]
        turn = {"win": "loss", "loss": "win", "ci_low": "ci_high", "ci_high": "ci_low"}
        other = one.rename(columns=turn)
        ends = ["win_rate", "ci_low", "ci_high"]
        other[ends] = 1 - other[ends]
        both = pd.concat([one, other]).assign(confidence=confidence, covers=over)
        both = both.assign(comparator=comparator)
        both["system"] = np.array(systems)[pairs.T.ravel()]
        both["opponent"] = np.array(systems)[pairs[:, ::-1].T.ravel()]
        found.append(both.sort_values(["system", "opponent"]))
    columns = ["comparator", "system", "opponent", "n_games", "win", "tie", "loss", "win_rate"]
    columns += ["ci_low", "ci_high", "confidence", "covers", "n_clusters", "reason"]
    return pd.concat(found, ignore_index=True)[columns]


def covariance(scores: csr_array, shares: csr_array, one: Ints, other: Ints) -> Floats:
    """Estimate the covariance of the sums of `scores`, over games that share outputs.

    Aronow, Samii and Assenova (2015, section 3, doi:10.1093/pan/mpv018): ``sum_c u_c u_c' -
    sum_{c < d} u_cd u_cd'``, u_c the sum of the scores of all games that cluster c is in, u_cd of
    those between c and d, which stand in both. Where every game is within one cluster it is the
    usual cluster variance; where no cluster is on both sides, that clustered in two ways (Cameron,
    Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136). Scores must not depend on who is called
    a. As a difference of two sums of squares its diagonal can be negative; it is NaN for a
    parameter on which one cluster has all the information.

    The fit has moved toward each cluster, the more so the more it holds of the information. So each
    entry of u is divided by one minus the share that its games hold of that parameter's (`shares`):
    to first order what changes when they are left out, as with the jackknife (Bell and McCaffrey
    2002, *Survey Methodology* 28(2), for clusters of one kind). A factor n / (n - 1) knows nothing
    of items that stand on both sides: with 10 and 20 of them coverage of 95% intervals was .91 and
    .92, and is .95 with shares (six systems, 500 and more simulations).
    """
    own, shared = _sums(scores, shares, one, other)
    return (own.T @ own - shared.T @ shared).toarray()


def _sums(
    scores: csr_array, shares: csr_array, one: Ints, other: Ints
) -> tuple[csr_array, csr_array]:
    """Sum adjusted scores by cluster, and by pair of different clusters."""
    n = len(one)
    game, between = np.arange(n), np.flatnonzero(one != other)
    low, high = np.minimum(one, other)[between], np.maximum(one, other)[between]
    code = low.astype(np.int64) * (high.max(initial=0) + 1) + high
    pair = np.unique(code, return_inverse=True)[1]

    def adjusted(label: Ints, of: Ints) -> csr_array:
        shape = (int(label.max(initial=-1)) + 1, n)
        to_sums = csr_array((np.ones(len(of)), (label, of)), shape=shape)
        total, share = to_sums @ scores, csr_array(to_sums @ shares)
        left = 1 - share.data
        share.data = share.data / np.where(left > 1e-9, left, np.nan)
        return csr_array(total + total.multiply(share))

    own = adjusted(np.append(one, other[between]), np.append(game, between))
    return own, adjusted(pair, between)


def in_two_ways(
    of: Callable[[Ints, Ints], Floats], one: Ints, other: Ints, annotator: Ints
) -> Floats:
    """Add variances over items and annotators, less that over what shares both.

    Cameron, Gelbach and Miller (2011, doi:10.1198/jbes.2010.07136): what shares an item and what
    shares an annotator may depend on each other, and what shares both is in both sums. Where the
    difference is not positive, nothing is taken off.
    """
    n = annotator.max() + 1
    total = of(one, other) + of(annotator, annotator)
    less = total - of(one * n + annotator, other * n + annotator)
    return np.where(less > 0, less, total)


def effective_number(group: Ints, cluster: Ints) -> Floats:
    """Say of each group how many clusters of equal size would be as good: (sum n)^2 / sum n^2."""
    size = cluster.max() + 1
    found, n = np.unique(group.astype(np.int64) * size + cluster, return_counts=True)
    return np.bincount(group) ** 2 / np.bincount(found // size, n**2.0)


def fewest(items: Floats, annotators: Floats) -> tuple[Floats, NDArray[np.object_]]:
    """Take the smaller of two effective numbers, and say where it is too small, and of what."""
    least = np.minimum(items, annotators)
    words = []
    for number, of_items in zip(least, items <= annotators, strict=True):
        what = f"{number:.1f} effective {'items' if of_items else 'annotators'}"
        if number < FEW:
            words.append(f"{what}: no interval over fewer than {FEW}")
        else:
            words.append(f"{what}: few to trust an interval" if number < FEWEST else "")
    return least, np.array(words, dtype=object)


def n_clusters(group: Ints, cluster: Ints) -> Ints:
    """Count the different clusters of each group 0, 1, ..."""
    size = cluster.max() + 1
    return np.bincount(np.unique(group * size + cluster) // size)


def rate_intervals(
    group: Ints,
    score: Floats,
    one: Ints,
    other: Ints,
    *,
    confidence: float,
    clusters: str,
    annotator: Ints | None = None,
) -> pd.DataFrame:
    """Put intervals around each group's mean score, as `win_rates` says: a row per group.

    `one` and `other` are the clusters of the first side's output and of the other's. Where all
    games end alike there is no variance, and as many games as clusters count; `reason` says so.
    """
    n_games = np.bincount(group)
    rate = np.bincount(group, score) / n_games
    at = (np.arange(len(group)), group)
    rest = csr_array(((score - rate[group]) / n_games[group], at))
    share = csr_array((1 / n_games[group], at))

    def of(one: Ints, other: Ints) -> Floats:
        own, shared = _sums(rest, share, one, other)
        return np.asarray(own.power(2).sum(axis=0) - shared.power(2).sum(axis=0))

    if annotator is None:
        least = np.minimum(n_clusters(group, one), n_clusters(group, other))
        few = np.array([f"few {clusters}: {n}" if n < FEW else "" for n in least], dtype=object)
        variance = of(one, other)
    else:
        items = np.minimum(effective_number(group, one), effective_number(group, other))
        least, few = fewest(items, effective_number(group, annotator))
        variance = np.where(least < FEW, np.nan, in_two_ways(of, one, other, annotator))
    spread = rate * (1 - rate)
    flat = ~np.isnan(variance) & ((variance <= 0) | (spread <= 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(flat, least, spread / variance)
        q = t.ppf(0.5 + confidence / 2, least - 1)
    low, high = wilson(rate, effective, q)
    name = clusters.replace("s and ", " or ").removesuffix("s")
    reason = np.select(
        [np.isnan(low) & ((annotator is None) | (least >= FEW)), few != "", flat],
        [
            f"one {name} is in all games, so there is no interval",
            few,
            [
                f"games do not differ enough: the interval is that of {round(n, 1)} games"
                for n in least
            ],
        ],
        "",
    )
    return pd.DataFrame(
        {"win_rate": rate, "ci_low": low, "ci_high": high, "n_clusters": least, "reason": reason}
    )


def wilson(rate: Floats, n: Floats, quantile: Floats | float) -> tuple[Floats, Floats]:
    """Put Wilson's interval around rates of n games, or of so many effective ones."""
    weight = quantile**2 / n
    middle = (rate + weight / 2) / (1 + weight)
    half = np.sqrt(weight * (rate * (1 - rate) + weight / 4)) / (1 + weight)
    return np.clip(middle - half, 0, rate), np.clip(middle + half, rate, 1)


def _probabilities(design: csr_array, ability: Floats, log_tie: float) -> Floats:
    """Win, tie and loss of a in each row of the design."""
    half_gap = design @ ability / 2
    return softmax(np.column_stack([half_gap, np.full(len(half_gap), log_tie), -half_gap]), axis=1)


def _design(a: Ints, b: Ints, n: int) -> csr_array:
    """Lay out who plays: 1 for a, -1 for b."""
    row = np.arange(len(a))
    value = np.repeat([1.0, -1.0], len(a))
    return csr_array((value, (np.append(row, row), np.append(a, b))), shape=(len(a), n))


def _information(design: csr_array, weight: Floats, ability: Floats, log_tie: float) -> Floats:
    """Minus the second derivative of the log-likelihood; singular along equal abilities."""
    win, tie, loss = _probabilities(design, ability, log_tie).T
    lead = (win - loss) / 2
    block = (design.T @ (design * (weight * ((win + loss) / 4 - lead**2))[:, None])).toarray()
    if np.isneginf(log_tie):
        return block
    cross = design.T @ (-weight * lead * tie)
    corner = (weight * tie * (1 - tie)).sum()
    return np.block([[block, cross[:, None]], [cross[None], corner]])


def _slopes(design: csr_array, excess: Floats, log_tie: float) -> csr_array:
    """First derivatives of each row's log-likelihood; `excess`: results minus probabilities."""
    lead = csr_array(design * ((excess[:, 0] - excess[:, 2]) / 2)[:, None])
    return lead if np.isneginf(log_tie) else hstack([lead, excess[:, [1]]], format="csr")


def _fit(a: Ints, b: Ints, results: Floats, n: int) -> tuple[Floats, float]:
    """Maximize the likelihood over abilities of mean 0 and the logarithm of nu (-inf: no ties)."""
    # Who is called a must not matter, to the last bit.
    results = np.where((a > b)[:, None], results[:, ::-1], results)
    met = np.column_stack([np.minimum(a, b), np.maximum(a, b)])
    pairs, of = np.unique(met, axis=0, return_inverse=True)
    share = np.column_stack([np.bincount(of, column) for column in results.T]) / len(a)
    weight = share.sum(axis=1)
    design = _design(pairs[:, 0], pairs[:, 1], n)
    ties = share[:, 1].any()

    def split(x: Floats) -> tuple[Floats, float]:
        return x[:n], float(x[n]) if ties else -np.inf

    # The sum's square fixes the abilities' mean, which the likelihood leaves free, at 0.
    def cost(x: Floats) -> float:
        chance = _probabilities(design, *split(x))
        return float(x[:n].sum() ** 2 / 2 - xlogy(share, chance).sum())

    def slope(x: Floats) -> Floats:
        ability, log_tie = split(x)
        excess = share - weight[:, None] * _probabilities(design, ability, log_tie)
        total = -_slopes(design, excess, log_tie).sum(axis=0)
        total[:n] += ability.sum()
        return total

    def curve(x: Floats) -> Floats:
        return _fix_mean(_information(design, weight, *split(x)), n)

    x = np.zeros(n + int(ties))
    options = {"gtol": 1e-12}
    return split(minimize(cost, x, jac=slope, hess=curve, method="trust-exact", options=options).x)


def _fix_mean(information: Floats, n: int) -> Floats:
    """Add what holds the abilities' mean at 0."""
    fixed = information.copy()
    fixed[:n, :n] += 1
    return fixed


def _bread(a: Ints, b: Ints, ability: Floats, log_tie: float) -> Floats:
    """Invert the information, for abilities against their mean."""
    n = len(ability)
    information = _information(_design(a, b, n), np.ones(len(a)), ability, log_tie)
    scale = len(a)  # that the term which fixes the mean is of the same size
    inverse = np.linalg.inv(_fix_mean(information / scale, n))
    inverse[:n, :n] -= 1 / n**2  # the part along equal abilities, which is no uncertainty
    return inverse / scale


def _shares(design: csr_array, ability: Floats, log_tie: float) -> csr_array:
    """Say what share of the information on each parameter a game has, other parameters known."""
    win, tie, loss = _probabilities(design, ability, log_tie).T
    weight = (win + loss) / 4 - ((win - loss) / 2) ** 2
    own = csr_array(abs(design) * weight[:, None])
    if not np.isneginf(log_tie):
        own = hstack([own, (tie * (1 - tie))[:, None]], format="csr")
    return csr_array(own / own.sum(axis=0))


def _why_infinite(a: Ints, b: Ints, results: Floats, n: int) -> str:
    """Say why the likelihood has no maximum, or ""."""
    win, tie, loss = (results[:, column] > 0 for column in range(3))
    lower = np.concatenate([b[win], a[loss]])
    upper = np.concatenate([a[win], b[loss]])
    # A tie is a way up and a way down.
    ends = np.concatenate([lower, a[tie], b[tie]]), np.concatenate([upper, b[tie], a[tie]])
    ways = coo_array((np.ones(len(ends[0])), ends), shape=(n, n))
    if connected_components(ways, connection="strong")[0] > 1:
        return "some systems never lose to, or never play, some others: play more games"
    if not tie.any():
        return ""
    # A ladder needs y_loser <= y_winner - 1 and |y_i - y_j| <= 1 at ties. There is none just where
    # these bounds, as lengths of ways, close a circle of negative length.
    rung = np.full((n, n), np.inf)
    rung[np.concatenate([a[tie], b[tie]]), np.concatenate([b[tie], a[tie]])] = 1
    rung[upper, lower] = -1
    graph = csgraph_from_dense(rung, null_value=np.inf)
    try:
        bellman_ford(graph, indices=0)
    except NegativeCycleError:
        return ""
    return "wins and ties fit a ladder without exception: play more games, or sample outcomes"
