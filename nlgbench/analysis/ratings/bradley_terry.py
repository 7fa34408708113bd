"""Bradley-Terry with ties (Davidson): ratings that no order of games changes, with intervals."""

from typing import Literal

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
from scipy.stats import norm

from nlgbench.analysis.ratings.games import (
    Floats,
    Ints,
    Outcome,
    as_arrays,
    by_comparator,
    games,
)
from nlgbench.analysis.ratings.glicko import POINTS, START
from nlgbench.analysis.resampling import check_coverage
from nlgbench.names import known


def bradley_terry(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    clusters: Literal["items", "games"] = "items",
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Fit Bradley-Terry abilities by maximum likelihood, ties by Davidson's rule.

    Parameters
    ----------
    comparisons, outputs, outcome, seed
        As in `games.games`. Expected outcomes are shares of a win, a tie and a loss.
    clusters : {"items", "games"}
        What is independent. ``"items"``: games on one item may depend on each other (sandwich
        estimate; wants some 30 items or more, and more items than systems). ``"games"``: each game
        is, and the model holds; not for expected outcomes, which vary less than games.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per system: dataset, comparator, system, rating (points, of mean 1500, 173.7 per nat
        of log-odds, so that it stands beside Glicko-2's; higher is better), se, ci_low, ci_high (of
        the rating against the mean of all systems), level, tie (Davidson's nu: 0 without ties;
        2 where equals tie half the time), n_games, n_items, reason (why numbers are NaN, or "").

    Raises
    ------
    ValueError
        As `games.games`, or when an option is unknown or out of range.

    Notes
    -----
    Davidson (1970), doi:10.1080/01621459.1970.10481082: win, tie and loss of i against j have
    probabilities in proportion to ``p_i``, ``nu sqrt(p_i p_j)`` and ``p_j``; without ties it is
    Bradley and Terry (1952), doi:10.2307/2334029. With items as clusters, the covariance is
    ``H^- (sum_c u_c u_c') H^- C / (C - 1)``, u_c the score of item c, C their number. The
    estimate is infinite, and so all is NaN, where some systems never lose to the rest (Ford 1957,
    doi:10.2307/2308513), or where wins and ties fit a ladder: abilities whose distance is at least
    one rung where one system wins, and at most one where they tie.

    Examples
    --------
    Three wins and one loss: log-odds of ln 3, halves of it on either side of the mean.

    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c", "prob_tie": 0}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": int(n > "0"), "prob_b": int(n == "0")}
    ...                       for n in "0123"])
    >>> found = bradley_terry(table)
    >>> found["rating"].round(2).tolist(), bool(round(found["se"][0] / POINTS, 4) == 0.6667)
    ([1595.42, 1404.58], True)
    """
    known(clusters, ["items", "games"], "clusters")
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
        item = pd.factorize(rows["item_id"])[0] if clusters == "items" else None
        ability, se, tie = np.full(n, np.nan), np.full(n, np.nan), float("nan")
        reason = _why_infinite(a, b, results, n)
        if not reason:
            ability, log_tie = _fit(a, b, results, n)
            tie = float(np.exp(log_tie))
            if item is not None and item.max() == 0:
                reason = "one item: its games are one cluster, so there is no interval"
            else:
                se = _standard_errors(a, b, results, ability, log_tie, item)
        half_width = norm.ppf(0.5 + level / 2) * POINTS * se
        rating = START + POINTS * ability
        table = pd.DataFrame({"system": systems, "rating": rating, "se": POINTS * se})
        both = pd.concat([rows.assign(system=rows[name]) for name in ("system_a", "system_b")])
        n_items = both.groupby("system")["item_id"].nunique()[systems].to_numpy()
        table = table.assign(ci_low=rating - half_width, ci_high=rating + half_width, level=level)
        n_games = np.bincount(np.append(a, b))
        table = table.assign(tie=tie, n_games=n_games, n_items=n_items, reason=reason)
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
    pairs, of = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True)
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


def _standard_errors(
    a: Ints, b: Ints, results: Floats, ability: Floats, log_tie: float, item: Ints | None
) -> Floats:
    """Give standard errors of abilities against their mean: sandwich by item, or the model's."""
    n, n_games = len(ability), len(a)
    design = _design(a, b, n)
    mean_information = _information(design, np.full(n_games, 1 / n_games), ability, log_tie)
    inverse = np.linalg.inv(_fix_mean(mean_information, n))
    inverse[:n, :n] -= 1 / n**2  # the part along equal abilities, which is no uncertainty
    if item is None:
        covariance = inverse / n_games
    else:
        excess = results - _probabilities(design, ability, log_tie)
        sums = csr_array((np.ones(n_games), (item, np.arange(n_games))))
        by_item = sums @ _slopes(design, excess, log_tie)
        n_items = by_item.shape[0]
        meat = (by_item.T @ by_item).toarray() * n_items / (n_items - 1)
        covariance = inverse @ meat @ inverse / n_games**2
    return np.sqrt(np.diag(covariance)[:n])


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
