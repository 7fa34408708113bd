"""Ratings of games played one after the other: Glicko-2, and Elo beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from nlgbench.analysis.ratings.games import as_arrays

#: Points of rating per nat of log-odds: 400 / ln 10.
POINTS = 400 / math.log(10)
START = 1500.0
#: mu (nats from the start) and phi (deviation, nats) of every system; volatility is 0.
State = tuple[list[float], list[float]]
_DEVIATION = 350.0  # points, where nothing is known
_STEP = 32.0  # Elo's K, points


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

    Glickman (2012), *Example of the Glicko-2 system*, http://www.glicko.net/glicko/glicko2.pdf:
    with mu and phi in nats, ``g = 1 / sqrt(1 + 3 phi_j^2 / pi^2)``, ``E = 1 / (1 + exp(-g (mu -
    mu_j)))``, information ``I = sum g^2 E (1 - E)``: ``phi'^2 = 1 / (1 / phi^2 + I)`` and ``mu' =
    mu + phi'^2 sum g (s - E)``.

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
