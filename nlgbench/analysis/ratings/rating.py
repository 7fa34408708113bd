"""Ratings of systems by comparisons or preferences, and their dependence on the order of games."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from nlgbench.analysis.ratings import glicko
from nlgbench.analysis.ratings.bradley_terry import Annotators, Ties, bradley_terry, choose_sampling
from nlgbench.analysis.ratings.games import Of, Outcome, as_arrays, games_of_one, read_games
from nlgbench.arrays import Floats, Seed
from nlgbench.reported import Reported
from nlgbench.status import OK, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

Pairing = Literal["random", "adaptive"]
#: A tournament stops after this many games of each system without a change in the order.
UNCHANGED = 50
#: The number of orders of games in `order_stability`.
N_ORDERS = 100
_FIRST = ["comparator", "system", "estimate", "ci_low", "ci_high", "confidence", "method", "covers"]
_PAIRS = [
    *("comparator", "system", "opponent", "estimate", "ci_low", "ci_high", "se", "df", "covers"),
    *("p", "p_adjusted", "verdict", "status", "reason"),
]


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(Reported):
    """The tables of `rate`: systems and pairs."""

    systems: pd.DataFrame
    pairs: pd.DataFrame


@checked
def rate(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    method: Literal["bradley_terry", "glicko2", "elo"] = "bradley_terry",
    ties: Ties = "davidson",
    tie_ratio: float | None = 0.1,
    outcome: Outcome = "argmax",
    annotators: Annotators | None = None,
    dimension: str | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Ratings:
    """Rate systems by games against each other: comparisons or preferences.

    Parameters
    ----------
    study : Study or DataFrame
        A study with `comparisons` (see `nlgbench.compare_texts`) or `preferences`, or a table with
        a row per game: ``system_a``, ``system_b``, and ``outcome`` (a, b or tie) or ``prob_a,
        prob_tie, prob_b``; optionally ``output_a, output_b, item_a, item_b`` (or ``item_id``),
        ``annotator_id`` and ``comparator``.
    of : {"comparisons", "preferences"}, optional
        The table of the study with the games. Required if the study has both.
    method : {"bradley_terry", "glicko2", "elo"}
        Bradley-Terry, by maximum likelihood; or sequential updates in a random order of games, by
        Glicko-2 as in Zhou and Xu (2020) or by Elo with K = 32.
    ties : {"davidson", "half"}
        For Bradley-Terry: ties are a third outcome, as in Davidson's model; or each tie is half a
        win for both sides, as in the package evalica.
    tie_ratio : float or None
        For Glicko-2: a tie with a higher (lower) rated opponent counts as this share of a win
        (loss), by the rule of Zhou and Xu. None: a tie is half a win.
    outcome : {"argmax", "sampled", "expected"}
        How to convert probabilities to results: the most probable of win, tie and loss (a tie if
        two are equally probable), a random one, or all three as shares of a game.
    annotators : {"fixed", "random"}, optional
        What intervals of Bradley-Terry ratings from annotators' choices generalize to: other items
        and these annotators, or other items and annotators. Default: random if the effective number
        of annotators, ``(sum n)^2 / sum n^2`` for n choices of an annotator, is at least ten.
    dimension : str, optional
        A dimension of the preferences. Default: quality, or the only one.
    confidence : float
        Confidence level of intervals, between 0 and 1.
    seed : int or Generator
        Seed of the random numbers.

    Returns
    -------
    Ratings
        ``systems``, by comparator (``people`` for annotators): comparator, system, estimate (in
        points, higher is better, with mean 1500; 173.7 per nat of log-odds), ci_low, ci_high
        (relative to the mean of all rated systems), confidence, method, covers (what the interval
        generalizes to), n_games, status (a code; ``ok``), reason (its text). Bradley-Terry: also
        rank_low, rank_high (simultaneous), se, n_clusters (for comparators: clusters among the
        system's outputs; for annotators' choices: the effective number of items, or of annotators
        if these are random and fewer), tie (Davidson's nu: 0 without ties; 2 if equal systems tie
        half the time). Glicko-2 and Elo: also deviation, volatility.

        ``pairs``, two rows per pair (none for Glicko-2 and Elo), as in `nlgbench.compare_systems`:
        comparator, system, opponent, estimate (the difference in points), ci_low, ci_high, se, df,
        covers, p, p_adjusted (Holm over a comparator's pairs), verdict, status, reason.

    Raises
    ------
    ValueError
        When the selected table is missing or invalid, there is no game, or an option is unknown or
        out of range.

    Notes
    -----
    Bradley-Terry follows Davidson (1970, doi:10.1080/01621459.1970.10481082); docs/preferences.md
    has the formulas. If systems never lose to the rest, or never win, ratings are infinite (Ford
    1957, doi:10.2307/2308513). All are then from a bias-reduced fit (Firth 1993,
    doi:10.1093/biomet/80.1.27), without intervals, with status ``separated``. Only the largest
    group of systems that games link is rated; the others have status ``disconnected``. If items or
    outputs are known, the interval covers ratings over all outputs that these systems could
    produce, even if the model is wrong. Student's t has `n_clusters` - 1 degrees of freedom (of a
    pair: the smaller); for comparators, the smallest `n_clusters` of all systems is used.

    Glicko-2 follows Glickman (2012) with the ties of Zhou and Xu (2020, section 3.2,
    doi:10.1609/aaai.v34i05.6521). Volatility is 0, because systems do not change. Intervals of
    Glicko-2 cover the value to which ratings would converge with more games of the *same* outputs.

    Examples
    --------
    With three wins and one loss, the log-odds are ln 3, half on each side of the mean.

    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaab"]})
    >>> rate(table).systems[["system", "estimate"]].round(2).values.tolist()
    [['x', 1595.42], ['y', 1404.58]]
    """
    if method != "bradley_terry" and (ties == "half" or annotators is not None):
        raise ValueError(
            f"ties='half' and annotators= need method='bradley_terry'. For {method!r}, use "
            "tie_ratio=None to count a tie as half a win."
        )
    rng = np.random.default_rng(seed)
    played = read_games(study, of=of, outcome=outcome, dimension=dimension, seed=rng)
    tables, tested = [], list[pd.DataFrame]()
    fine: Any = OK
    no_interval: Any = explain("no_interval", method="Elo")
    if method == "bradley_terry":
        sample = choose_sampling(study, played, annotators, outcome)
    for comparator, rows in played.groupby("comparator"):
        if method == "bradley_terry":
            table, pairs = bradley_terry(rows, sample, ties=ties, confidence=confidence)
            tested.append(pairs.assign(comparator=comparator))
        elif method == "glicko2":
            rated = glicko.glicko2(rows, tie_ratio=tie_ratio, seed=rng)
            table = glicko.with_intervals(rated, confidence).assign(status=fine)
        else:
            table = glicko.with_intervals(glicko.elo(rows, seed=rng), confidence)
            table = table.assign(covers="", status=no_interval)
        tables.append(table.assign(comparator=comparator, method=method))
    systems = split_status(pd.concat(tables, ignore_index=True))
    systems = systems[[*_FIRST, *(name for name in systems if name not in _FIRST)]]
    # Sequential ratings depend on each other in an unknown way: their pairs are not tested.
    pairs = pd.concat(tested or [pd.DataFrame(columns=_PAIRS)], ignore_index=True)
    return Ratings(systems, split_status(pairs)[_PAIRS])


@checked
def order_stability(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    tie_ratio: float | None = 0.1,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Measure how much Glicko-2 ratings depend on the order of games, from 100 random orders.

    Parameters
    ----------
    study, of, tie_ratio, seed
        As in `nlgbench.rate`.

    Returns
    -------
    DataFrame
        A row per comparator and system: comparator, system, rating_sd (standard deviation over
        orders, in points; not a sampling error), worst_rank, best_rank (1 is best; equal ratings
        share the mean rank), deviation (Glicko-2's own, after the games in one order).

    Raises
    ------
    ValueError
        Under the same conditions as `nlgbench.rate`.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaaaaab"]})
    >>> order_stability(table).set_index("system")["worst_rank"].to_dict()
    {'x': 1.0, 'y': 2.0}
    """
    rng = np.random.default_rng(seed)
    tables = []
    for comparator, rows in read_games(study, of=of).groupby("comparator"):
        orders = [glicko.glicko2(rows, tie_ratio=tie_ratio, seed=rng) for _ in range(N_ORDERS)]
        many = pd.concat(orders, keys=range(N_ORDERS), names=["order", None])
        many["rank"] = many.groupby("order")["estimate"].rank(ascending=False)
        spread = {"rating_sd": ("estimate", "std"), "worst_rank": ("rank", "max")}
        table = many.groupby("system").agg(**spread, best_rank=("rank", "min"))
        rated = glicko.glicko2(rows, tie_ratio=tie_ratio, seed=seed).set_index("system")
        table = table.assign(deviation=rated["deviation"]).reset_index()
        table.insert(0, "comparator", comparator)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True, eq=False)
class Tournament:
    """The games of a tournament, and the ratings after them."""

    #: system, estimate (the rating), deviation, volatility, n_games after the last game.
    ratings: pd.DataFrame
    #: Two rows per game, one per system: game (from 1), system, rating, deviation after it.
    history: pd.DataFrame
    n_games: int
    #: Whether the stopping rule ended the tournament, rather than `max_games`.
    converged: bool


def tournament(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    pairing: Pairing = "random",
    tie_ratio: float | None = 0.1,
    confidence: float = 0.95,
    max_games: int = 20_000,
    seed: Seed = 0,
) -> Tournament:
    """Play games between systems, one at a time, until a stopping rule settles their order.

    Each game is a comparison of two systems, drawn with replacement. With ``"random"`` pairing, any
    two systems play, and games stop when every system has played 50 games since the order of
    ratings last changed (Zhou and Xu 2020, section 3.2, doi:10.1609/aaai.v34i05.6521).

    With ``"adaptive"`` pairing, the two systems with the least certain order play. Ratings have a
    joint covariance C. Each game is a Gaussian update, ``mu += u (s - E) / (1 + I v)`` and ``C -= u
    u' I / (1 + I v)``, where s is the result, E its expectation, ``I = E (1 - E)``, u the
    difference of the systems' columns of C, and v the variance of their distance d. Games stop
    when, for each of the m pairs, the Bayes factor against equal skill, ``sqrt(v / v_0) exp(d^2 /
    (2 v))``, reaches ``m / (1 - confidence)``: of equal systems, it ever reaches a bound with
    probability at most 1 / bound (Robbins 1970, doi:10.1214/aoms/1177696786).
    """
    rng = np.random.default_rng(seed)
    systems, a, b, results = as_arrays(games_of_one(study, of=of))
    n = len(systems)
    first, second = np.triu_indices(n, 1)
    met = np.minimum(a, b) * n + np.maximum(a, b)
    rows_of = [np.flatnonzero(met == code) for code in first * n + second]
    for i, j, rows in zip(first, second, rows_of, strict=True):
        if not len(rows):
            raise Unsupported(
                "disconnected",
                f"systems {systems[i]!r} and {systems[j]!r} were never compared, but a tournament "
                "needs all pairs. Compare them, or use rate.",
            )
    state = glicko.start(n)
    n_games = np.zeros(n, dtype=np.int64)
    since = np.zeros(n, dtype=np.int64)  # games of each system since the order last changed
    order: list[int] = []
    mu, covariance = np.zeros(n), np.eye(n) * (glicko.DEVIATION / glicko.POINTS) ** 2
    apart, at_start = np.zeros(len(first)), math.sqrt(2) * glicko.DEVIATION / glicko.POINTS
    history: list[tuple[int, str, float, float]] = []
    converged = False
    while not converged and len(history) < 2 * max_games:
        adaptive = pairing == "adaptive"
        pair = int(np.argmin(apart)) if adaptive else int(rng.integers(len(rows_of)))
        row = rows_of[pair][int(rng.integers(len(rows_of[pair])))]
        players, result = [int(a[row]), int(b[row])], results[row].tolist()
        n_games[players] += 1
        since[players] += 1
        if adaptive:
            _play_jointly(players[0], players[1], result, (mu, covariance), tie_ratio)
            centered = covariance - covariance.mean(axis=0)
            centered -= centered.mean(axis=1, keepdims=True)
            state = mu.tolist(), np.sqrt(np.diag(centered)).tolist()
            variance = np.diag(covariance)
            spread = np.sqrt(variance[first] + variance[second] - 2 * covariance[first, second])
            apart = np.abs(mu[first] - mu[second]) / spread
            evidence = np.log(spread / at_start) + apart**2 / 2
            converged = bool(evidence.min() >= math.log(len(first) / (1 - confidence)))
        else:
            glicko.play(players[0], players[1], result, state, tie_ratio=tie_ratio)
            before, order = order, sorted(range(n), key=state[0].__getitem__)
            if order != before:
                since[:] = 0
            converged = bool(since.min() >= UNCHANGED)
        for player in players:
            rating, deviation = state[0][player], state[1][player]
            history.append((len(history) // 2 + 1, systems[player], rating, deviation))
    steps = pd.DataFrame(history, columns=["game", "system", "rating", "deviation"])
    steps["rating"] = glicko.START + glicko.POINTS * steps["rating"]
    steps["deviation"] = glicko.POINTS * steps["deviation"]
    return Tournament(glicko.as_table(systems, state, n_games), steps, len(history) // 2, converged)


def _play_jointly(
    a: int, b: int, result: list[float], state: tuple[Floats, Floats], tie_ratio: float | None
) -> None:
    """Update means and covariance of all systems in place after one game of two systems."""
    mu, covariance = state
    gap = mu[a] - mu[b]
    expected = float(expit(gap))
    information = expected * (1 - expected)
    column = covariance[a] - covariance[b]
    shrink = 1 + information * (column[a] - column[b])
    mu += column * glicko.surprise_of(result, gap, expected, tie_ratio) / shrink
    covariance -= np.outer(column, column) * information / shrink


@dataclass(frozen=True, eq=False)
class Convergence:
    """Tournaments from several seeds.

    ``table`` has a row per tournament: pairing, seed, games, settled (whether the stopping rule
    ended it), and Spearman's correlations of its ratings with ratings from all games and with
    `quality`. ``history`` has the first tournament with random pairing: game, system, rating,
    deviation.
    """

    table: pd.DataFrame
    history: pd.DataFrame


@checked
def convergence(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    tie_ratio: float | None = 0.1,
    quality: pd.Series | None = None,
    seed: int = 0,
) -> Convergence:
    """Play tournaments with five seeds, to test how soon and how consistently the order settles.

    With random pairing, games stop by the rule of Zhou and Xu (2020); with adaptive pairing, when
    the whole order has confidence .95. Games (up to 20,000) are drawn with replacement.

    Parameters
    ----------
    study, of, tie_ratio
        As in `nlgbench.rate`, for one comparator.
    quality : Series, optional
        Quality of each system, to correlate with its rating: mean judgments, or true values.
    seed : int
        Seed of the first tournament; each later one uses the next integer.

    Returns
    -------
    Convergence
        The table of all tournaments, and the history of the first one.

    Raises
    ------
    ValueError
        Under the same conditions as `nlgbench.rate`, or when there are several comparators, or a
        pair of systems was never compared.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": [*"xyx"], "system_b": [*"yzz"], "outcome": [*"aaa"]})
    >>> convergence(table).table["pairing"].unique().tolist()
    ['random', 'adaptive']
    """
    rated = glicko.glicko2(read_games(study, of=of), tie_ratio=tie_ratio, seed=seed).set_index(
        "system"
    )
    pairings: list[Pairing] = ["random", "adaptive"]
    rows, histories = [], []
    for pairing, number in product(pairings, range(seed, seed + 5)):
        played = tournament(study, of=of, pairing=pairing, tie_ratio=tie_ratio, seed=number)
        histories.append(played.history)
        final = played.ratings.set_index("system")["estimate"]
        row: dict[str, object] = {"pairing": pairing, "seed": number, "games": played.n_games}
        row["settled"] = played.converged
        row["spearman with all games"] = _spearman(final, rated["estimate"])
        if quality is not None:
            row["spearman with people"] = _spearman(final, quality)
        rows.append(row)
    return Convergence(pd.DataFrame(rows), histories[0])


def _spearman(ratings: pd.Series, quality: pd.Series) -> float:
    """Correlate ratings with other numbers of the systems; NaN if either does not vary."""
    ranks = pd.concat([ratings, quality], axis=1, join="inner").dropna().rank()
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(ranks.iloc[:, 0].corr(ranks.iloc[:, 1]))
