"""Skill ratings of systems from comparisons: Glicko-2, Elo beside it, and how far to trust them."""

import math
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from nlgbench import schema
from nlgbench.analysis.ratings.games import Outcome, as_arrays, by_comparator, games
from nlgbench.analysis.ratings.glicko import (
    POINTS,
    START,
    State,
    after,
    check_start,
    expected_score,
    play,
    start,
    weight,
)
from nlgbench.inference import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


def glicko2(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    period: Literal["game", "all"] = "game",
    tie_ratio: float | None = None,
    volatility: float = 0.0,
    deviation: float = 350.0,
    tau: float = 0.5,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Rate systems, or single outputs, by Glicko-2.

    Parameters
    ----------
    comparisons, outputs, outcome
        As in `games.games`. Without `outputs`, each output is rated.
    period : {"game", "all"}
        ``"game"``: each game is a period, one after the other, as the paper plays. ``"all"``: all
        games are one period, from equal ratings; the order does not matter, but every opponent
        counts as unknown, so with many games distances are half as large again as they should be.
    tie_ratio : float, optional
        The paper's rule: a tie with a higher (lower) rated opponent changes the rating by this
        share of what a win (loss) would; 0.1 in the paper; between equals by nothing. Default: a
        tie is half a win, as Glicko-2 itself has it.
    volatility, deviation, tau : float
        As in `glicko2_update`; every system starts at 1500 with this deviation. The volatility of
        frozen systems is 0, so deviations do not grow while a system does not play.
    seed : int or Generator, optional
        Shuffles the games, and draws them where `outcome` is ``"sampled"``. Default: the table's
        order, which is no random one where comparisons stand system by system.

    Returns
    -------
    DataFrame
        Table ``ratings`` for each dataset and comparator; higher is better. Systems without a game
        are not in it. `rating_intervals` adds intervals.

    Raises
    ------
    ValueError
        As `games.games`, or when a number is out of range.

    Notes
    -----
    Zhou and Xu (2020), section 3.2, doi:10.1609/aaai.v34i05.6521, and `glicko2_update`. Both
    systems of a game are updated from what held before it. The deviation does not depend on the
    outcome, so a tie narrows it as a win does, by either rule. It takes games for independent:
    those of one output are not, and expected outcomes vary less than games do. So it covers games,
    and no other texts. `order_stability` shows how much the order of the games matters.

    Examples
    --------
    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c"}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": 1, "prob_tie": 0, "prob_b": 0}
    ...                       for n in "1234"])
    >>> glicko2(table)[["system", "rating", "deviation", "n_games"]].round(1).values.tolist()
    [['x', 1775.0, 231.8, 4], ['y', 1225.0, 231.8, 4]]
    """
    known(period, ["game", "all"], "period")
    check_start(START, deviation, volatility, tau, tie_ratio)
    rng = None if seed is None else np.random.default_rng(seed)
    found = []
    for names, rows in by_comparator(games(comparisons, outputs, outcome=outcome, seed=rng)):
        systems, a, b, results = as_arrays(rows)
        n_games = np.bincount(np.append(a, b))
        state = start(len(systems), deviation, volatility)
        if period == "all":
            state = _one_period(a, b, results, state, tau)
        else:
            order = np.arange(len(a)) if rng is None else rng.permutation(len(a))
            _play_all(a[order], b[order], results[order], state, tie_ratio, tau)
        found.append(ratings_table(names, systems, state, n_games))
    return pd.concat(found, ignore_index=True)


def _play_all(
    a: np.ndarray,
    b: np.ndarray,
    results: np.ndarray,
    state: State,
    tie_ratio: float | None,
    tau: float,
) -> None:
    """Play games one after the other, each a period of its own."""
    for one, other, result in zip(a.tolist(), b.tolist(), results.tolist(), strict=True):
        play(one, other, result, state, tie_ratio=tie_ratio, tau=tau)


def _one_period(
    a: np.ndarray, b: np.ndarray, results: np.ndarray, state: State, tau: float
) -> State:
    """Play all games in one period: from equal ratings a tie changes none, by either rule."""
    g = weight(state[1][0])
    half = (results[:, 0] - results[:, 2]) / 2
    n = len(state[0])
    surprise = g * (np.bincount(a, half, n) - np.bincount(b, half, n))
    information = g * g / 4 * np.bincount(np.append(a, b))
    rows = [
        after(mu, phi, sigma, own, total, tau)
        for mu, phi, sigma, own, total in zip(*state, information, surprise, strict=True)
    ]
    mus, phis, sigmas = (list(column) for column in zip(*rows, strict=True))
    return mus, phis, sigmas


def ratings_table(
    names: dict[str, str], systems: list[str], state: State, n_games: np.ndarray
) -> pd.DataFrame:
    """Turn what `glicko.play` keeps into a table of ratings.

    Parameters
    ----------
    names : dict
        dataset and comparator.
    systems : list of str
        In the order of `state`.
    state : tuple of lists
        As in `glicko.play`.
    n_games : ndarray of int
        Games of each system.

    Returns
    -------
    DataFrame
        Table ``ratings``.
    """
    mu, phi, sigma = (np.array(column) for column in state)
    table = pd.DataFrame({"system": systems, "rating": START + POINTS * mu})
    table = table.assign(**names, deviation=POINTS * phi, volatility=sigma, n_games=n_games)
    return schema.check(table[schema.columns("ratings")], "ratings")


def rating_intervals(ratings: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Put intervals around ratings against their mean: -+ z deviations.

    Parameters
    ----------
    ratings : DataFrame
        Table ``ratings``.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        The table with ratings moved so that their mean is 1500 for each dataset and comparator, and
        ci_low, ci_high (NaN where there is no deviation, as with Elo), level, and covers:
        ``"games"``, as deviations know of no other texts (see Notes).

    Raises
    ------
    ValueError
        When the table breaks a rule, or `level` is out of range.

    Notes
    -----
    They say where the rating would settle with more games of the same outputs. Where an output
    plays several games, that is far less than what other outputs of these systems would change: in
    notebook 06's reviews (60 outputs of each of 12 systems, 100 or 200 games of each two) 95%
    intervals held the rating over all outputs in .51 and .37 of 100 simulations. For that, use
    `bradley_terry.bradley_terry`, whose intervals are over items or outputs.

    Games tell differences only. Glicko-2 leaves out that ratings drift together, so the interval is
    for the rating against the mean of the rated systems, and no prediction of a rating on a
    scale of its own. In 200 simulations of six systems over 300 points without ties, played one by
    one, 95% intervals held the truth in .98 after 300 games and .97 after 3,000; without
    moving the mean, in .92 and .50; of one period, in .81 and .30 (`benchmarks/ratings.py`). With
    ties, ratings lie closer together than Davidson's abilities, the more so the more ties.

    Examples
    --------
    >>> row = {"dataset": "d", "comparator": "c", "deviation": 50, "volatility": 0, "n_games": 9}
    >>> table = pd.DataFrame([{**row, "system": "x", "rating": 1700},
    ...                       {**row, "system": "y", "rating": 1500}])
    >>> rating_intervals(table)[["rating", "ci_low", "ci_high"]].round(1).values.tolist()
    [[1600.0, 1502.0, 1698.0], [1400.0, 1302.0, 1498.0]]
    """
    check_coverage(level, "level")
    checked = schema.check(ratings, "ratings")
    mean = checked.groupby(["dataset", "comparator"])["rating"].transform("mean")
    checked["rating"] += START - mean
    half_width = norm.ppf(0.5 + level / 2) * checked["deviation"]
    return checked.assign(
        ci_low=checked["rating"] - half_width,
        ci_high=checked["rating"] + half_width,
        level=level,
        covers="games",
    )


def elo(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    step: float = 32.0,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Rate systems by Elo, for comparison.

    Parameters
    ----------
    comparisons, outputs, outcome, seed
        As in `glicko2`.
    step : float
        K: points that a certain win would move if it were lost. It never shrinks, so ratings keep
        moving, and late games count most.

    Returns
    -------
    DataFrame
        Table ``ratings``, starting at 1500; a tie is half a win. deviation and volatility are NaN:
        Elo has none, hence no interval.

    Raises
    ------
    ValueError
        As `games.games`, or when `step` is not positive.

    Notes
    -----
    Elo (1978), *The Rating of Chessplayers, Past and Present*: ``R' = R + K (s - E)``, ``E = 1 / (1
    + 10 ** ((R_j - R) / 400))``.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "output_a": "x", "output_b": "y", "comparator": "c"}
    >>> table = pd.DataFrame([{**row, "prob_a": 1, "prob_tie": 0, "prob_b": 0}])
    >>> elo(table)[["system", "rating"]].values.tolist()
    [['x', 1516.0], ['y', 1484.0]]
    """
    if not 0 < step < math.inf:
        raise ValueError(f"step must be positive. Got {step}: 32 is usual.")
    rng = None if seed is None else np.random.default_rng(seed)
    played = games(comparisons, outputs, outcome=outcome, seed=rng)
    found = []
    for names, rows in by_comparator(played):
        systems, a, b, results = as_arrays(rows)
        n_games = np.bincount(np.append(a, b))
        if rng is not None:
            order = rng.permutation(len(a))
            a, b, results = a[order], b[order], results[order]
        mu = [0.0] * len(systems)
        scores = (results @ [1, 0.5, 0]).tolist()
        for one, other, score in zip(a.tolist(), b.tolist(), scores, strict=True):
            change = step / POINTS * (score - expected_score(mu[one] - mu[other]))
            mu[one] += change
            mu[other] -= change
        missing = [math.nan] * len(systems)
        found.append(ratings_table(names, systems, (mu, missing, missing), n_games))
    return pd.concat(found, ignore_index=True)


def order_stability(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    n_shuffles: int = 100,
    outcome: Outcome = "argmax",
    tie_ratio: float | None = None,
    volatility: float = 0.0,
    deviation: float = 350.0,
    tau: float = 0.5,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Rate the same games in many orders: how much of a rating is the order's.

    Parameters
    ----------
    comparisons, outputs, outcome, tie_ratio, volatility, deviation, tau
        As in `glicko2`.
    n_shuffles : int
        Orders.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per shuffle and system: dataset, comparator, shuffle, system, rating, rank (1 is best;
        equal ratings share the mean rank). Its spread is not the sampling error: the games stay.

    Raises
    ------
    ValueError
        As `glicko2`.

    Examples
    --------
    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c", "prob_tie": 0}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": int(n < "6"), "prob_b": int(n > "5")}
    ...                       for n in "012345678"])
    >>> spread = order_stability(table, n_shuffles=20, seed=0)
    >>> spread.groupby("system")["rank"].max().to_dict()
    {'x': 1.0, 'y': 2.0}
    """
    check_n(n_shuffles, "n_shuffles")
    check_start(START, deviation, volatility, tau, tie_ratio)
    rng = np.random.default_rng(seed)
    found = []
    for names, rows in by_comparator(games(comparisons, outputs, outcome=outcome, seed=rng)):
        systems, a, b, results = as_arrays(rows)
        for shuffle in range(n_shuffles):
            order = rng.permutation(len(a))
            state = start(len(systems), deviation, volatility)
            _play_all(a[order], b[order], results[order], state, tie_ratio, tau)
            rating = START + POINTS * np.array(state[0])
            columns = {"system": systems, "rating": rating, "rank": rankdata(-rating)}
            found.append(pd.DataFrame(columns).assign(**names, shuffle=shuffle))
    wanted = ["dataset", "comparator", "shuffle", "system", "rating", "rank"]
    return pd.concat(found, ignore_index=True)[wanted]
