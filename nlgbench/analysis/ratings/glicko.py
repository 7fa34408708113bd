"""Ratings of games played one after the other: Glicko-2, and Elo beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from nlgbench.analysis.ratings.games import as_arrays
from nlgbench.checks import checked, read_table

#: Points of rating per nat of log-odds: 400 / ln 10.
POINTS = 400 / math.log(10)
START = 1500.0
#: mu (nats from the start) and phi (deviation, nats) of every system; volatility is 0.
State = tuple[list[float], list[float]]
_DEVIATION = 350.0  # points, where nothing is known
_TAU = 0.5  # how much the volatility may change; Glickman advises 0.3 to 1.2
_STEP = 32.0  # Elo's K, points
_SOLVED = 1e-9  # of the volatility's logarithm, squared: Glickman asks for 1e-6


@checked
def glicko2_update(
    rating: float,
    deviation: float,
    volatility: float,
    results: pd.DataFrame,
) -> tuple[float, float, float]:
    """Update one system after one period of games: Glickman's Glicko-2.

    Parameters
    ----------
    rating, deviation : float
        Before the period, in points (1500 and 350 where nothing is known).
    volatility : float
        Expected change of the skill between periods, in nats; 0 for a system that does not change,
        which skips the volatility step and keeps the deviation where no game is played.
    results : DataFrame
        A row per game: ``opponent_rating``, ``opponent_deviation`` (before the period), ``score``
        (1 win, 0.5 draw, 0 loss, or an expectation between). May have no row.

    Returns
    -------
    tuple of (float, float, float)
        Rating, deviation and volatility after it.

    Raises
    ------
    ValueError
        When a column is missing or a number is out of range.

    Notes
    -----
    Glickman (2012), *Example of the Glicko-2 system*, http://www.glicko.net/glicko/glicko2.pdf:
    with mu and phi in nats, ``g = 1 / sqrt(1 + 3 phi_j^2 / pi^2)``, ``E = 1 / (1 + exp(-g (mu -
    mu_j)))``, information ``I = sum g^2 E (1 - E)``, phi* = sqrt(phi^2 + sigma'^2): ``phi'^2 = 1 /
    (1 / phi*^2 + I)`` and ``mu' = mu + phi'^2 sum g (s - E)``. His tau is .5.

    Examples
    --------
    Glickman's own.

    >>> results = pd.DataFrame({"opponent_rating": [1400, 1550, 1700],
    ...                         "opponent_deviation": [30, 100, 300], "score": [1, 0, 0]})
    >>> [round(number, 5) for number in glicko2_update(1500, 200, 0.06, results)]
    [1464.05067, 151.51652, 0.06]
    """
    wanted = ["opponent_rating", "opponent_deviation", "score"]
    if len(results):
        kinds = " ".join(f"{name}:number" for name in wanted)
        results = read_table(results, kinds, "results have")
    else:
        results = results.reindex(columns=wanted)
    if not (math.isfinite(rating) and 0 < deviation < math.inf and 0 <= volatility < math.inf):
        raise ValueError(
            "rating must be finite, deviation positive and volatility at least 0. Got "
            f"{rating}, {deviation} and {volatility}: 1500, 350 and 0.06 are usual, and 0 is for "
            "frozen systems."
        )
    opponent, spread, score = results[wanted].to_numpy(dtype=np.float64).T
    bad = ~(np.isfinite(opponent) & (spread >= 0) & (score >= 0) & (score <= 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"results, row {row + 1}: opponent_rating must be finite, opponent_deviation at least "
            f"0 and score between 0 and 1. Got {opponent[row]}, {spread[row]} and {score[row]}."
        )
    g = weight(spread / POINTS)
    expected = expit(g * (rating - opponent) / POINTS)
    information = float((g**2 * expected * (1 - expected)).sum())
    surprise = float((g * (score - expected)).sum())
    phi = deviation / POINTS
    if volatility > 0:
        if information > 0:
            volatility = _volatility(phi, volatility, information, surprise)
        phi = math.hypot(phi, volatility)
    mu, phi = after((rating - START) / POINTS, phi, information, surprise)
    return START + POINTS * mu, POINTS * phi, volatility


def check_tie_ratio(tie_ratio: float | None) -> None:
    """Refuse a share outside 0 to 1."""
    if tie_ratio is not None and not 0 <= tie_ratio <= 1:
        raise ValueError(
            f"tie_ratio must be between 0 and 1. Got {tie_ratio}: 0.1 is the paper's, None counts "
            "a tie as half a win."
        )


def glicko2(
    played: pd.DataFrame,
    *,
    period: Literal["game", "all"] = "game",
    tie_ratio: float | None = None,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Rate the systems of one comparator's games: system, rating, deviation, volatility, n_games.

    Both systems of a game are updated from what held before it. Frozen systems have volatility 0,
    so that deviations do not grow while a system does not play. The deviation does not depend on
    the outcome, so a tie narrows it as a win does. Without a seed games come in the table's order.
    In one period (``"all"``) the order does not matter, but every opponent counts as unknown, so
    that with many games distances are half as large again as they should be.
    """
    systems, a, b, results = as_arrays(played)
    state = start(len(systems))
    if period == "all":
        state = _one_period(a, b, results, state)
    else:
        order = np.arange(len(a))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(len(a))
        play_all(a[order], b[order], results[order], state, tie_ratio=tie_ratio)
    return as_table(systems, state, np.bincount(np.append(a, b)))


def elo(played: pd.DataFrame, *, seed: int | np.random.Generator | None = None) -> pd.DataFrame:
    """Rate by Elo, as `glicko2` does; deviation and volatility are NaN, as it has none.

    Elo (1978), *The Rating of Chessplayers, Past and Present*: ``R' = R + K (s - E)``, ``E = 1 / (1
    + 10 ** ((R_j - R) / 400))``; K, 32, never shrinks, so late games count most.
    """
    systems, a, b, results = as_arrays(played)
    n_games = np.bincount(np.append(a, b))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(a))
        a, b, results = a[order], b[order], results[order]
    mu = [0.0] * len(systems)
    scores = (results @ [1, 0.5, 0]).tolist()
    for one, other, score in zip(a.tolist(), b.tolist(), scores, strict=True):
        change = _STEP / POINTS * (score - expected_score(mu[one] - mu[other]))
        mu[one] += change
        mu[other] -= change
    table = as_table(systems, (mu, [math.nan] * len(systems)), n_games)
    return table.assign(volatility=np.nan)


def with_intervals(ratings: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Move ratings to a mean of 1500, and put -+ z deviations around them.

    Games tell differences only. Glicko-2 leaves out that ratings drift together, so the interval is
    for the rating against the mean of the rated systems. It says where that would settle with more
    games of the same outputs, and takes games for independent: those of one output are not.
    """
    rating = ratings["rating"] + (START - ratings["rating"].mean())
    half = norm.ppf(0.5 + confidence / 2) * ratings["deviation"]
    return ratings.assign(
        rating=rating,
        ci_low=rating - half,
        ci_high=rating + half,
        confidence=confidence,
        covers="games",
    )


def as_table(systems: list[str], state: State, n_games: NDArray[np.int64]) -> pd.DataFrame:
    """Turn a state into a table of ratings."""
    mu, phi = (np.array(column) for column in state)
    table = pd.DataFrame({"system": systems, "rating": START + POINTS * mu})
    return table.assign(deviation=POINTS * phi, volatility=0.0, n_games=n_games)


def weight(phi: Any) -> Any:
    """Say how much less a game tells when the opponent's skill is uncertain: Glickman's g."""
    return (1 + 3 / math.pi**2 * phi * phi) ** -0.5


def expected_score(gap: float) -> float:
    """Say how likely a win is."""
    # Beyond 700 nats an exponential overflows.
    return 1 / (1 + math.exp(min(-gap, 700.0)))


def after(mu: float, phi: float, information: float, surprise: float) -> tuple[float, float]:
    """Update one system, in nats, from the sums of ``g^2 E (1 - E)`` and ``g (s - E)``."""
    variance = 1 / (1 / phi**2 + information)
    return mu + variance * surprise, math.sqrt(variance)


def _volatility(phi: float, sigma: float, information: float, surprise: float) -> float:
    """Solve Glickman's step 5 for the new volatility, by the Illinois method as he does."""
    variance = 1 / max(information, 1e-60)  # gaps beyond 138 nats, whose squares would overflow
    squared = (variance * surprise) ** 2
    before = 2 * math.log(sigma)  # the square of a tiny volatility would be 0

    def excess(x: float) -> float:
        total = phi**2 + variance + math.exp(x)
        return math.exp(x) * (squared - total) / (2 * total**2) - (x - before) / _TAU**2

    low = before
    if squared > phi**2 + variance:
        high = math.log(squared - phi**2 - variance)
    else:
        steps = 1
        while excess(before - steps * _TAU) < 0:
            steps += 1
        high = before - steps * _TAU
    at_low, at_high = excess(low), excess(high)
    while abs(high - low) > _SOLVED:
        x = low + (low - high) * at_low / (at_high - at_low)
        at_x = excess(x)
        if at_x * at_high <= 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = x, at_x
    return math.exp(low / 2)


def start(n: int) -> State:
    """Start systems of which nothing is known."""
    return [0.0] * n, [_DEVIATION / POINTS] * n


def play_all(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    results: NDArray[np.float64],
    state: State,
    *,
    tie_ratio: float | None,
) -> None:
    """Play games one after the other, each a period of its own."""
    for one, other, result in zip(a.tolist(), b.tolist(), results.tolist(), strict=True):
        play(one, other, result, state, tie_ratio=tie_ratio)


def play(a: int, b: int, result: Sequence[float], state: State, *, tie_ratio: float | None) -> None:
    """Let two systems play one game (win, tie and loss of a), and update both in place."""
    mu, phi = state
    gap = mu[a] - mu[b]
    updates = []
    for own, other, lead, own_result in (
        (a, b, gap, result),
        (b, a, -gap, (result[2], result[1], result[0])),
    ):
        g = weight(phi[other])
        expected = expected_score(g * lead)
        surprise = surprise_of(own_result, lead, expected, tie_ratio)
        updates.append((own, g * g * expected * (1 - expected), g * surprise))
    for own, information, surprise in updates:
        mu[own], phi[own] = after(mu[own], phi[own], information, surprise)


def surprise_of(
    result: Sequence[float], lead: float, expected: float, tie_ratio: float | None
) -> float:
    """Say how much better a game went than expected; the paper's ties ask for the lead's sign."""
    win, tie, loss = result
    if tie_ratio is None:
        of_a_tie = 0.5 - expected
    elif lead == 0:
        of_a_tie = 0.0
    else:
        of_a_tie = tie_ratio * (1 - expected if lead < 0 else -expected)
    return win - (win + loss) * expected + tie * of_a_tie


def _one_period(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    results: NDArray[np.float64],
    state: State,
) -> State:
    """Play all games in one period: from equal ratings a tie changes none, by either rule."""
    g = weight(state[1][0])
    half = (results[:, 0] - results[:, 2]) / 2
    n = len(state[0])
    surprise = g * (np.bincount(a, half, n) - np.bincount(b, half, n))
    information = g * g / 4 * np.bincount(np.append(a, b))
    rows = [
        after(mu, phi, own, total)
        for mu, phi, own, total in zip(*state, information, surprise, strict=True)
    ]
    mus, phis = (list(column) for column in zip(*rows, strict=True))
    return mus, phis
