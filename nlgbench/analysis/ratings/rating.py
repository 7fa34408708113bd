"""Rate systems by comparisons or preferences, and see how far their order may be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, logsumexp
from scipy.stats import rankdata

from nlgbench.analysis import betting
from nlgbench.analysis.ratings.bradley_terry import (
    Annotators,
    Ties,
    bradley_terry,
    sample_of,
)
from nlgbench.analysis.ratings.games import Floats, Ints, Of, Outcome, as_arrays, read_games
from nlgbench.analysis.ratings.glicko import (
    POINTS,
    START,
    as_table,
    check_tie_ratio,
    elo,
    glicko2,
    play,
    play_all,
    start,
    surprise_of,
    with_intervals,
)
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

#: Games of each system without a change in the order, after which a tournament stops.
UNCHANGED = 50
_FIRST = ["comparator", "system", "rating", "ci_low", "ci_high", "confidence", "method", "covers"]


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
) -> pd.DataFrame:
    """Rate systems by their games against each other.

    Parameters
    ----------
    study : Study or DataFrame
        With `comparisons` (see `nlgbench.compare_texts`) or `preferences`. Or a table with a row
        per game: ``system_a``, ``system_b``, and ``outcome`` (a, b or tie) or ``prob_a, prob_tie,
        prob_b``; ``output_a, output_b, item_a, item_b`` (or ``item_id``), ``annotator_id`` and
        ``comparator`` where they are known.
    of : {"comparisons", "preferences"}, optional
        Which of a study's tables are games: a comparator's verdicts, or annotators' choices.
        Required where the study has both.
    method : {"bradley_terry", "glicko2", "elo"}
        ``"bradley_terry"``: maximum likelihood; no order of games changes it. ``"glicko2"``: game
        after game, in an order drawn from `seed`, as in the paper. ``"elo"``: the same by Elo with
        K = 32.
    ties : {"davidson", "half"}
        For Bradley-Terry: ties are an outcome of their own, by Davidson's rule; or each is half a
        win of either side, as the package evalica has it.
    tie_ratio : float or None
        For Glicko-2, the paper's rule: a tie with a higher (lower) rated opponent changes the
        rating by this share of what a win (loss) would; between equals by nothing. None: a tie is
        half a win, as Glicko-2 itself has it.
    outcome : {"argmax", "sampled", "expected"}
        How probabilities become results. ``"argmax"``: the likeliest of win, tie and loss, and a
        tie where two are equally likely. ``"sampled"``: drawn. ``"expected"``: as shares of each.
    annotators : {"fixed", "random"}, optional
        For Bradley-Terry of annotators' choices, what intervals generalize to. ``"fixed"``: other
        items, these annotators. ``"random"``: other items and annotators. Default: random from ten
        effective annotators on, ``(sum n)^2 / sum n^2`` with n the choices of each, else fixed. A
        comparator's intervals are over items.
    dimension : str, optional
        Of the preferences; default: the quality dimension, or the only one.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per comparator (people: ``people``) and system: comparator, system, rating (points,
        higher is better, of mean 1500; 173.7 per nat of log-odds), ci_low, ci_high (against the
        mean of all systems), confidence, method, covers (what the interval is over), n_games,
        reason (why numbers are NaN, or an interval cannot be trusted, or ""); with Bradley-Terry
        se, n_clusters (of the system's own outputs; of annotators' choices the effective number of
        items, or of annotators where these are random and fewer), tie (Davidson's nu: 0 without
        ties; 2 where equals tie half the time); with Glicko-2 and Elo deviation and volatility.
        Systems without a game are not in it.

    Raises
    ------
    ValueError
        When the table that is asked for is not there or breaks a rule, no game is left, or an
        option is unknown or out of range.

    Notes
    -----
    Bradley-Terry: Davidson (1970), doi:10.1080/01621459.1970.10481082. It is infinite, and so all
    is NaN, where some systems never lose to the rest (Ford 1957, doi:10.2307/2308513), or where
    wins and ties fit a ladder: abilities whose distance is at least one rung where one system wins,
    and at most one where they tie. Its interval is for the ratings over all outputs that these
    systems could give, as this comparator sees them; the model need not hold. In the layout of
    notebook 06b's reviews (60 outputs of each of 12 systems, 100 or 200 games of each two) 95%
    intervals held the truth in .953 and .951 of 500 simulations (`benchmarks/ratings.py`),
    without knowing whose outputs games are of in .55 and .43 of 100. Exchanging a and b, or rows,
    changes nothing.

    Items are those of *both* outputs of a game, or, in their place, the clusters that
    ``settings["clusters"]`` names. For other items and annotators the variance is the largest of
    that over items, that over annotators, and their sum less that over games that share both
    (`nlgbench.crossed.largest_variance`); t has one degree of freedom less than `n_clusters`
    (docs/preferences.md has coverage). A table without items has intervals over outputs, or games;
    over games they hold for these very outputs, if the model holds.

    Glicko-2: Glickman (2012) with the ties of Zhou and Xu (2020, section 3.2,
    doi:10.1609/aaai.v34i05.6521); volatility 0, as systems are frozen. Its intervals say where the
    rating would settle with more games of the *same* outputs: in that layout they held the rating
    over all outputs in .51 and .37 of 100 simulations. In 200 simulations of six systems without
    ties they held the truth in .98 after 300 games and .97 after 3,000. With ties, ratings lie
    closer together than Davidson's abilities. `order_stability` shows how much the order of the
    games matters. Elo has no interval.

    Examples
    --------
    Three wins and one loss: log-odds of ln 3, halves of it on either side of the mean.

    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaab"]})
    >>> rate(table)[["system", "rating"]].round(2).values.tolist()
    [['x', 1595.42], ['y', 1404.58]]
    """
    check_tie_ratio(tie_ratio)
    rng = np.random.default_rng(seed)
    played = read_games(study, of=of, outcome=outcome, dimension=dimension, seed=rng)
    if method == "bradley_terry":
        sample = sample_of(study, played, annotators, outcome)
    elif ties == "half":
        raise ValueError(
            f"ties='half' is for method='bradley_terry'. For {method!r} say tie_ratio=None, which "
            "counts a tie as half a win."
        )
    elif annotators is not None:
        raise ValueError(
            f"annotators={annotators!r} is for method='bradley_terry': deviations of {method!r} "
            "cover games alone."
        )
    found = []
    for comparator, rows in played.groupby("comparator"):
        if method == "bradley_terry":
            table = bradley_terry(rows, sample, ties=ties, confidence=confidence)
        else:
            if method == "glicko2":
                rated = glicko2(rows, tie_ratio=tie_ratio, seed=rng)
            else:
                rated = elo(rows, seed=rng)
            table = with_intervals(rated, confidence).assign(reason="")
            if method == "elo":
                table = table.assign(covers="", reason="Elo has no interval")
        found.append(table.assign(comparator=comparator, method=method))
    whole = pd.concat(found, ignore_index=True)
    return whole[[*_FIRST, *(name for name in whole if name not in _FIRST)]]


@checked
def rating_differences(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    ties: Ties = "davidson",
    outcome: Outcome = "argmax",
    annotators: Annotators | None = None,
    dimension: str | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Return how far each two systems' ratings by Bradley and Terry are apart.

    Parameters
    ----------
    study, of, ties, outcome, annotators, dimension, confidence, seed
        As in `rate`.

    Returns
    -------
    DataFrame
        A row per comparator and two systems, in the order of their names: comparator, system,
        other, difference (points; above 0 the first is better), ci_low, ci_high, confidence,
        covers, se, n_clusters (of the system that has fewer), tie, reason; all as in `rate`.

    Raises
    ------
    ValueError
        As `rate`.

    Notes
    -----
    Intervals of two ratings may overlap though their difference does not hold 0: what items and
    annotators do to both falls out of it. Intervals are one at a time: among many pairs some miss.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaab"]})
    >>> rating_differences(table)[["system", "other", "difference"]].round(2).values.tolist()
    [['x', 'y', 190.85]]
    """
    played = read_games(study, of=of, outcome=outcome, dimension=dimension, seed=seed)
    sample = sample_of(study, played, annotators, outcome)
    found = []
    for comparator, rows in played.groupby("comparator"):
        table = bradley_terry(rows, sample, ties=ties, confidence=confidence, differences=True)
        found.append(table.assign(comparator=comparator))
    whole = pd.concat(found, ignore_index=True)
    return whole[["comparator", *whole.columns.drop("comparator")]]


@checked
def order_stability(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    n_shuffles: int = 100,
    tie_ratio: float | None = 0.1,
    outcome: Outcome = "argmax",
    dimension: str | None = None,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Rate the same games in many orders by Glicko-2: how much of a rating is the order's.

    Parameters
    ----------
    study, of, tie_ratio, outcome, dimension, seed
        As in `nlgbench.rate`.
    n_shuffles : int
        Orders.

    Returns
    -------
    DataFrame
        A row per comparator and system: comparator, system, rating_sd (points, over orders; not the
        sampling error, as the games stay), worst_rank, best_rank (1 is best; equal ratings share
        the mean rank), deviation (Glicko-2's own, after one order).

    Raises
    ------
    ValueError
        As `nlgbench.rate`, or when `n_shuffles` is below 1.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaaaabbb"]})
    >>> order_stability(table, n_shuffles=20).set_index("system")["worst_rank"].to_dict()
    {'x': 1.0, 'y': 2.0}
    """
    check_n(n_shuffles, "n_shuffles")
    check_tie_ratio(tie_ratio)
    rng = np.random.default_rng(seed)
    found = []
    played = read_games(study, of=of, outcome=outcome, dimension=dimension, seed=rng)
    for comparator, rows in played.groupby("comparator"):
        spread = shuffled_ratings(rows, n_shuffles=n_shuffles, tie_ratio=tie_ratio, seed=rng)
        of_system = spread.groupby("system")
        table = of_system.agg(rating_sd=("rating", "std"), worst_rank=("rank", "max"))
        table["best_rank"] = of_system["rank"].min()
        rated = glicko2(rows, tie_ratio=tie_ratio, seed=seed).set_index("system")
        table["deviation"] = rated["deviation"]
        found.append(table.reset_index().assign(comparator=comparator))
    whole = pd.concat(found, ignore_index=True)
    return whole[["comparator", *whole.columns.drop("comparator")]]


def shuffled_ratings(
    played: pd.DataFrame, *, n_shuffles: int, tie_ratio: float | None, seed: np.random.Generator
) -> pd.DataFrame:
    """Rate one comparator's games in many orders: shuffle, system, rating, rank (1 is best)."""
    systems, a, b, results = as_arrays(played)
    found = []
    for shuffle in range(n_shuffles):
        order = seed.permutation(len(a))
        state = start(len(systems))
        play_all(a[order], b[order], results[order], state, tie_ratio=tie_ratio)
        rating = START + POINTS * np.array(state[0])
        columns = {"system": systems, "rating": rating, "rank": rankdata(-rating)}
        found.append(pd.DataFrame(columns).assign(shuffle=shuffle))
    return pd.concat(found, ignore_index=True)[["shuffle", "system", "rating", "rank"]]


@dataclass(frozen=True, eq=False)
class Tournament:
    """Games that were played until a rule stopped them.

    Parameters
    ----------
    ratings : DataFrame
        system, rating, deviation, volatility, n_games after the last game.
    history : DataFrame
        Two rows per game, one per system: game (from 1), system, rating, deviation after it.
    n_games : int
        Games played.
    converged : bool
        Whether the rule stopped them; otherwise `max_games` did.
    """

    ratings: pd.DataFrame
    history: pd.DataFrame
    n_games: int
    converged: bool


@checked
def tournament(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    pairing: Literal["random", "adaptive"] = "random",
    stopping: Literal["ratings", "e_values"] = "ratings",
    confidence: float = 0.95,
    max_games: int = 50_000,
    outcome: Outcome = "argmax",
    tie_ratio: float | None = 0.1,
    dimension: str | None = None,
    seed: int | np.random.Generator = 0,
) -> Tournament:
    """Play games between systems, one at a time, until their order is settled.

    Parameters
    ----------
    study, of, outcome, tie_ratio, dimension
        As in `nlgbench.rate`, of one comparator. Each game is a comparison of the two systems drawn
        with replacement; where `outcome` is ``"sampled"`` its result is drawn anew.
    pairing : {"random", "adaptive"}
        ``"random"``: two systems at random, each pair alike; stops when every system has played
        50 games, as in the paper, since the order of ratings last changed. ``"adaptive"``: the two
        whose order is least certain; stops when the order of all is held with `confidence`.
    stopping : {"ratings", "e_values"}
        ``"ratings"``: as `pairing` says. ``"e_values"``: when in the order of ratings every two
        neighbors are told apart by their own games (see Notes); adaptive pairing then draws from
        neighbors that are not.
    confidence : float
        For adaptive pairing, and e-values: of the whole order at once, and however often one looks
        (see Notes).
    max_games : int
        When to stop in any case; two systems that are equal never settle.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    Tournament
        Ratings by Glicko-2 with volatility 0, each game a period; with adaptive pairing with their
        covariance (see Notes).

    Raises
    ------
    ValueError
        As `nlgbench.rate`, or when there are several comparators, or a pair of systems was never
        compared.

    Notes
    -----
    Zhou and Xu (2020), section 3.2, doi:10.1609/aaai.v34i05.6521, stop when the order of ratings
    has stayed the same while every model was drawn 50 times, which is read as above. It says
    nothing of certainty: repeat it with other seeds.

    Glicko-2's deviations pass over that ratings err alike: systems that mostly play each other look
    known against all. So with adaptive pairing ratings keep their joint covariance C. From the same
    start, each game is a Gaussian step, ``mu += u (s - E) / (1 + I v)`` and ``C -= u u' I / (1 + I
    v)``: u is the difference of the two columns of C, v the variance of the two systems' distance,
    ``I = E (1 - E)``. Deviations are then from the mean of all systems.

    Least certain are the two whose ``d / s`` is least, d their distance and ``s = sqrt(v)``. Who
    looks after every game and stops at ``Phi(d / s)`` is wrong more often than that says. So games
    stop when, for each of the m pairs, the Bayes factor against equal skill, ``s / t exp(d^2 / (2
    s^2))`` with t the s of the start, reaches ``m / (1 - confidence)``: between equals it ever does
    so with at most the inverse probability (Robbins 1970, doi:10.1214/aoms/1177696786), as far as
    ratings are normal.

    Six systems 60 points apart, in 50 simulations each (`benchmarks/ratings.py`): the paper's rule
    stopped after 338 to 1,104 games, with the true order in .84 of them; the adaptive one, at
    .95, after 3,036 to 11,840, with the true order in all.

    With ``stopping="e_values"`` no rating need be right. Each two systems have an e-value against
    P(win) = P(loss) in their own games, as in `nlgbench.sequential`: a game is a block, a tie
    counts 0. Two are told apart once theirs, adjusted over all pairs after every game (e-Holm),
    reaches 1 / (1 - confidence). Who plays next may depend on all games before, so that with
    adaptive pairing, too, equal systems are ever told apart with a chance of at most 1 -
    confidence. Games are drawn with replacement: all of this is said of the pool of comparisons,
    not of other outputs.

    Comparisons are a finite pool: with many more games than comparisons, ratings settle on the
    pool's own order, and deviations, which know nothing of it, become too small.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": [*"xyx"], "system_b": [*"yzz"], "prob_tie": 0.2})
    >>> table = table.assign(prob_a=[0.6, 0.6, 0.7], prob_b=[0.2, 0.2, 0.1])
    >>> options = {"outcome": "sampled", "tie_ratio": None, "seed": 0}
    >>> found = tournament(table, pairing="adaptive", **options)
    >>> found.converged, found.ratings.sort_values("rating")["system"].tolist()
    (True, ['z', 'y', 'x'])
    """
    check_n(max_games, "max_games")
    check_tie_ratio(tie_ratio)
    rng = np.random.default_rng(seed)
    sampled = outcome == "sampled"
    pool = read_games(study, of=of, outcome="expected" if sampled else outcome, dimension=dimension)
    comparators = pool["comparator"].unique()
    if len(comparators) > 1:
        raise ValueError(
            f"{len(comparators)} comparators are there: a tournament needs one. Select its "
            "comparisons."
        )
    systems, a, b, results = as_arrays(pool)
    n = len(systems)
    first, second = np.triu_indices(n, 1)
    rows_of = _rows_by_pair(a, b, systems, first, second)
    state = start(n)
    n_games = np.zeros(n, dtype=np.int64)
    since = np.zeros(n, dtype=np.int64)  # games of each since the order last changed
    order: list[int] = []
    mu, covariance = np.zeros(n), np.eye(n) * (350.0 / POINTS) ** 2
    apart, at_start = np.zeros(len(first)), math.sqrt(2) * 350.0 / POINTS
    wealth, lead = np.zeros((len(first), len(betting.SHARES))), np.zeros(len(first))
    told = np.zeros(len(first), dtype=bool)
    playing = np.arange(len(first))  # pairs that adaptive pairing draws from
    history: list[tuple[int, str, float, float]] = []
    converged = False
    while not converged and len(history) < 2 * max_games:
        if pairing == "random":
            pair = int(rng.integers(len(rows_of)))
        else:
            pair = int(playing[np.argmin(apart[playing])])
        row = rows_of[pair][int(rng.integers(len(rows_of[pair])))]
        result = results[row]
        if sampled:
            result = rng.multinomial(1, result / result.sum()).astype(np.float64)
        both = [int(a[row]), int(b[row])]
        if pairing == "random":
            play(both[0], both[1], result.tolist(), state, tie_ratio=tie_ratio)
        else:
            _play_jointly(both[0], both[1], result.tolist(), mu, covariance, tie_ratio)
            centered = covariance - covariance.mean(axis=0)
            centered -= centered.mean(axis=1, keepdims=True)
            state = mu.tolist(), np.sqrt(np.diag(centered)).tolist()
        for one in both:
            history.append((len(history) // 2 + 1, systems[one], state[0][one], state[1][one]))
        n_games[both] += 1
        since[both] += 1
        if pairing == "random":
            before, order = order, sorted(range(n), key=state[0].__getitem__)
            if order != before:
                since[:] = 0
            converged = bool(since.min() >= UNCHANGED)
        else:
            variance = np.diag(covariance)
            spread = np.sqrt(variance[first] + variance[second] - 2 * covariance[first, second])
            apart = np.abs(mu[first] - mu[second]) / spread
            evidence = np.log(spread / at_start) + apart**2 / 2
            converged = bool(evidence.min() >= math.log(len(first) / (1 - confidence)))
        if stopping == "e_values":
            won = float(result[0] - result[2]) * (1 if both[0] == first[pair] else -1)
            wealth[pair] += np.log1p(betting.SHARES * won)
            lead[pair] += won
            logs = logsumexp(wealth + betting.LOG_WEIGHTS, axis=1)
            told |= betting.e_holm(betting.e_values(logs)) >= 1 / (1 - confidence)
            neighbors, upward = _neighbors(np.array(state[0]), n)
            settled = told[neighbors] & (np.sign(lead[neighbors]) == upward)
            playing, converged = neighbors[~settled], bool(settled.all())
    steps = pd.DataFrame(history, columns=["game", "system", "rating", "deviation"])
    steps["rating"] = START + POINTS * steps["rating"]
    steps["deviation"] = POINTS * steps["deviation"]
    return Tournament(as_table(systems, state, n_games), steps, len(history) // 2, converged)


def _neighbors(rating: Floats, n: int) -> tuple[Ints, Ints]:
    """Give pairs that follow each other in the order of ratings; 1 where the first is higher."""
    order = np.argsort(-rating, kind="stable")
    low, high = np.minimum(order[:-1], order[1:]), np.maximum(order[:-1], order[1:])
    pair = low * n - low * (low + 1) // 2 + high - low - 1  # its place in triu_indices
    return pair, np.where(order[:-1] < order[1:], 1, -1)


def _rows_by_pair(a: Ints, b: Ints, systems: list[str], first: Ints, second: Ints) -> list[Ints]:
    """List the comparisons of each pair of systems, whichever stands first."""
    code = np.minimum(a, b) * len(systems) + np.maximum(a, b)
    sought = first * len(systems) + second
    by_code = pd.Series(np.arange(len(a))).groupby(code).indices
    for one, i, j in zip(sought.tolist(), first, second, strict=True):
        if one not in by_code:
            raise ValueError(
                f"systems {systems[i]!r} and {systems[j]!r} were never compared: a tournament "
                "draws from all pairs. Compare them, or rate what there is with rate."
            )
    return [np.asarray(by_code[one]) for one in sought.tolist()]


def _play_jointly(
    a: int,
    b: int,
    result: list[float],
    mu: Floats,
    covariance: Floats,
    tie_ratio: float | None,
) -> None:
    """Let two systems play one game, and update all that is known of any system in place."""
    gap = mu[a] - mu[b]
    expected = float(expit(gap))
    information = expected * (1 - expected)
    column = covariance[a] - covariance[b]
    shrink = 1 + information * (column[a] - column[b])
    mu += column * surprise_of(result, gap, expected, tie_ratio) / shrink
    covariance -= np.outer(column, column) * information / shrink


@dataclass(frozen=True, eq=False)
class Convergence:
    """Tournaments from several seeds.

    Parameters
    ----------
    table : DataFrame
        A row per pairing and seed: pairing, seed, games, settled (did the rule stop it?), then
        Spearman's correlation of its ratings with those of all games, and with `quality`.
    history : DataFrame
        That of the first tournament with random pairing: game, system, rating, deviation.
    """

    table: pd.DataFrame
    history: pd.DataFrame


@checked
def convergence(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    n_tournaments: int = 5,
    max_games: int = 20_000,
    tie_ratio: float | None = 0.1,
    quality: pd.Series | None = None,
    seed: int = 0,
) -> Convergence:
    """Play tournaments from several seeds: when is the order settled, and is it the same one.

    Parameters
    ----------
    study, of, tie_ratio
        As in `tournament`.
    n_tournaments : int
        With each pairing, random and adaptive.
    max_games : int
        When to stop in any case.
    quality : Series, optional
        By system, to set the ratings beside: people's mean judgment, or the truth.
    seed : int
        Of the first tournament; the next ones count up.

    Returns
    -------
    Convergence
        Its table, and one history to draw.

    Raises
    ------
    ValueError
        As `tournament`.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": [*"xyx"], "system_b": [*"yzz"], "outcome": [*"aaa"]})
    >>> found = convergence(table, n_tournaments=1, max_games=100)
    >>> found.table["pairing"].tolist()
    ['random', 'adaptive']
    """
    rated = glicko2(read_games(study, of=of), tie_ratio=tie_ratio, seed=seed).set_index("system")
    rows, histories = [], []
    for pairing, number in product(("random", "adaptive"), range(n_tournaments)):
        played = tournament(
            study,
            of=of,
            pairing=pairing,  # type: ignore[arg-type]
            max_games=max_games,
            tie_ratio=tie_ratio,
            seed=seed + number,
        )
        histories.append(played.history)
        final = played.ratings.set_index("system")["rating"]
        row = {"pairing": pairing, "seed": seed + number, "games": played.n_games}
        row |= {"settled": played.converged}
        row["spearman with all games"] = final.corr(rated["rating"], method="spearman")
        if quality is not None:
            row["spearman with people"] = final.corr(quality, method="spearman")
        rows.append(row)
    return Convergence(pd.DataFrame(rows), histories[0])
