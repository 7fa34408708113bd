"""Bradley-Terry with ties (Davidson): ratings that no order of games changes, with intervals."""

import numpy as np
import pandas as pd
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

from nlgbench.analysis.ratings.dyadic import (
    FEW,
    Clusters,
    check_clusters,
    covariance,
    n_clusters,
    sides,
)
from nlgbench.analysis.ratings.games import (
    Floats,
    Ints,
    Outcome,
    as_arrays,
    by_comparator,
    games,
)
from nlgbench.analysis.ratings.glicko import POINTS, START
from nlgbench.inference import check_coverage


def bradley_terry(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    clusters: Clusters = "items",
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Fit Bradley-Terry abilities by maximum likelihood, ties by Davidson's rule.

    Parameters
    ----------
    comparisons, outputs, outcome, seed
        As in `games.games`. Expected outcomes are shares of a win, a tie and a loss.
    clusters : {"items", "outputs", "games"}
        What is drawn anew in other samples. ``"items"``: the items of *both* outputs of a game;
        without `outputs`, the comparison's. Each output is of one item, so it takes in what
        ``"outputs"`` does, and what outputs of different systems for one item share. ``"outputs"``:
        where all are of one item, or items share nothing. ``"games"``: other games of these very
        outputs, if the model holds; it knows nothing of other texts, and is not for expected
        outcomes, which vary less than games.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per system: dataset, comparator, system, rating (points, of mean 1500, 173.7 per nat
        of log-odds, so that it stands beside Glicko-2's; higher is better), se, ci_low, ci_high (of
        the rating against the mean of all systems), level, covers (`clusters`), n_clusters (of the
        system's own outputs), tie (Davidson's nu: 0 without ties; 2 where equals tie half the
        time), n_games, reason (why numbers are NaN or doubtful, or "").

    Raises
    ------
    ValueError
        As `games.games`, or when an option is unknown or out of range.

    Notes
    -----
    Davidson (1970), doi:10.1080/01621459.1970.10481082: win, tie and loss of i against j have
    probabilities in proportion to ``p_i``, ``nu sqrt(p_i p_j)`` and ``p_j``; without ties it is
    Bradley and Terry (1952), doi:10.2307/2334029. The estimate is infinite, and so all is NaN,
    where some systems never lose to the rest (Ford 1957, doi:10.2307/2308513), or where wins and
    ties fit a ladder: abilities whose distance is at least one rung where one system wins, and at
    most one where they tie.

    The interval is for the ratings over all outputs that these systems could give, as this
    comparator sees them; the model need not hold. One output is a in one game and b in another, so
    games depend on each other through either: the covariance is ``H^- M H^-``, H the information, M
    that of the scores by `dyadic.covariance`; the interval takes Student's t with one degree of
    freedom less than the system with the fewest clusters has. In the layout of notebook 06's
    reviews (60 outputs of each of 12 systems, 100 or 200 games of each two) 95% intervals held the
    truth in .953 and .951 of 500 simulations (`benchmarks/ratings.py`), with clusters of games in
    .55 and .43 of 100. Exchanging a and b, or rows, changes nothing.

    Examples
    --------
    Three wins and one loss: log-odds of ln 3, halves of it on either side of the mean.

    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c", "prob_tie": 0}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": int(n > "0"), "prob_b": int(n == "0")}
    ...                       for n in "0123"])
    >>> found = bradley_terry(table)
    >>> found["rating"].round(2).tolist(), bool(round(found["se"][0] / POINTS, 4) == 0.7698)
    ([1595.42, 1404.58], True)
    """
    check_clusters(clusters, outputs)
    check_coverage(level, "level")
    if clusters == "games" and outcome == "expected":
        raise ValueError(
            "expected outcomes vary less than games, so clusters='games' would be wrong: use "
            "clusters='items', or outcome='sampled'."
        )
    found = []
    for names, rows in by_comparator(games(comparisons, outputs, outcome=outcome, seed=seed)):
        systems, a, b, results = as_arrays(rows)
        n = len(systems)
        number = n_games = np.bincount(np.append(a, b))
        quantile = norm.ppf(0.5 + level / 2)
        if clusters != "games":
            one, other = sides(rows, clusters)
            number = n_clusters(np.append(a, b), np.append(one, other))
            quantile = t.ppf(0.5 + level / 2, number.min() - 1)
        ability, variance, tie = np.full(n, np.nan), np.full(n, np.nan), float("nan")
        reason = np.full(n, _why_infinite(a, b, results, n), dtype=object)
        if not reason[0]:
            ability, log_tie = _fit(a, b, results, n)
            tie = float(np.exp(log_tie))
            bread = _bread(a, b, ability, log_tie)
            if clusters == "games":
                variance = np.diag(bread)[:n]
            else:
                design = _design(a, b, n)
                scores = _slopes(
                    design, results - _probabilities(design, ability, log_tie), log_tie
                )
                shares = _shares(design, ability, log_tie)
                variance = np.diag(bread @ covariance(scores, shares, one, other) @ bread)[:n]
            reason = np.select(
                [np.isnan(variance), variance <= 0, np.full(n, number.min() < FEW)],
                [
                    f"one {clusters[:-1]} is in all games of some system, so there is no interval",
                    "the variance comes out negative, so there is no interval: play more games",
                    f"few {clusters}: a system has {number.min()}",
                ],
                "",
            )
        se = POINTS * np.sqrt(np.where(variance > 0, variance, np.nan))
        rating = START + POINTS * ability
        table = pd.DataFrame({"system": systems, "rating": rating, "se": se})
        low, high = rating - quantile * se, rating + quantile * se
        table = table.assign(ci_low=low, ci_high=high, level=level, covers=clusters)
        table = table.assign(n_clusters=number, tie=tie, n_games=n_games, reason=reason)
        found.append(table.assign(**names)[[*names, *table.columns]])
    return pd.concat(found, ignore_index=True)


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
