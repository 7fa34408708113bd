"""Sequential ratings of games: Glicko-2 and Elo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.analysis.ratings.games import as_arrays
from nlgbench.arrays import Floats, Ints, Seed

#: Points of rating per nat of log-odds: 400 / ln 10.
POINTS = 400 / math.log(10)
START = 1500.0
#: mu (change from the start, nats) and phi (deviation, nats) of every system; volatility is 0.
State = tuple[list[float], list[float]]
DEVIATION = 350.0  # points, at the start
_STEP = 32.0  # Elo's K, points


def glicko2(
    played: pd.DataFrame, *, tie_ratio: float | None = None, seed: Seed | None = None
) -> pd.DataFrame:
    """Rate the systems of one comparator's games: system, estimate, deviation, volatility, n_games.

    See Glickman (2012), http://www.glicko.net/glicko/glicko2.pdf. With mu and phi in nats, ``g = 1
    / sqrt(1 + 3 phi_j^2 / pi^2)``, ``E = 1 / (1 + exp(-g (mu - mu_j)))`` and the information ``I =
    sum g^2 E (1 - E)``, the update is ``phi'^2 = 1 / (1 / phi^2 + I)`` and ``mu' = mu + phi'^2 sum
    g (s - E)``. Each game is a rating period. Systems do not change, so volatility is 0, and
    deviations do not grow. Without a seed, games follow the table's order.
    """
    if tie_ratio is not None and not 0 <= tie_ratio <= 1:
        raise ValueError(
            f"tie_ratio must be between 0 and 1. Got {tie_ratio}. Zhou and Xu (2020) use 0.1; "
            "None counts a tie as half a win."
        )
    systems, a, b, results = _in_order(played, seed)
    state = start(len(systems))
    for first, second, result in zip(a.tolist(), b.tolist(), results.tolist(), strict=True):
        play(first, second, result, state, tie_ratio=tie_ratio)
    return as_table(systems, state, np.bincount(np.append(a, b)))


def _in_order(played: pd.DataFrame, seed: Seed | None) -> tuple[list[str], Ints, Ints, Floats]:
    """Return games as arrays, in a random order if there is a seed."""
    systems, a, b, results = as_arrays(played)
    if seed is None:
        return systems, a, b, results
    order = np.random.default_rng(seed).permutation(len(a))
    return systems, a[order], b[order], results[order]


def elo(played: pd.DataFrame, *, seed: Seed | None = None) -> pd.DataFrame:
    """Rate by Elo, with the columns of `glicko2`; deviation and volatility are NaN.

    As in Elo (1978, *The Rating of Chessplayers, Past and Present*), ``R' = R + K (s - E)`` with
    ``E = 1 / (1 + 10 ** ((R_j - R) / 400))``. K is constant (32), so late games count most.
    """
    systems, a, b, results = _in_order(played, seed)
    mu = [0.0] * len(systems)
    scores = (results @ [1, 0.5, 0]).tolist()
    for first, second, score in zip(a.tolist(), b.tolist(), scores, strict=True):
        change = _STEP / POINTS * (score - expected_score(mu[first] - mu[second]))
        mu[first] += change
        mu[second] -= change
    n_games = np.bincount(np.append(a, b))
    table = as_table(systems, (mu, [math.nan] * len(systems)), n_games)
    return table.assign(volatility=np.nan)


def with_intervals(ratings: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Center ratings at 1500, and add intervals of plus or minus z deviations.

    It covers the value to which ratings from more games of the same outputs converge.
    """
    rating = ratings["estimate"] + (START - ratings["estimate"].mean())
    half = norm.ppf(0.5 + confidence / 2) * ratings["deviation"]
    return ratings.assign(
        estimate=rating,
        ci_low=rating - half,
        ci_high=rating + half,
        confidence=confidence,
        covers="games",
    )


def as_table(systems: list[str], state: State, n_games: Ints) -> pd.DataFrame:
    """Convert a state to a table of ratings."""
    mu, phi = (np.array(column) for column in state)
    table = pd.DataFrame({"system": systems, "estimate": START + POINTS * mu})
    return table.assign(deviation=POINTS * phi, volatility=0.0, n_games=n_games)


def weight(phi: Any) -> Any:
    """Compute Glickman's g, which discounts a game by the uncertainty of the opponent's skill."""
    return (1 + 3 / math.pi**2 * phi * phi) ** -0.5


def expected_score(gap: float) -> float:
    """Compute the probability of a win."""
    # Exponentials overflow beyond 700 nats.
    return 1 / (1 + math.exp(min(-gap, 700.0)))


def after(mu: float, phi: float, information: float, surprise: float) -> tuple[float, float]:
    """Update one system, in nats, from the sums of ``g^2 E (1 - E)`` and ``g (s - E)``."""
    variance = 1 / (1 / phi**2 + information)
    return mu + variance * surprise, math.sqrt(variance)


def start(n: int) -> State:
    """Return the initial state of n systems."""
    return [0.0] * n, [DEVIATION / POINTS] * n


def play(a: int, b: int, result: Sequence[float], state: State, *, tie_ratio: float | None) -> None:
    """Update two systems in place after one game (win, tie and loss of a)."""
    mu, phi = state
    gap = mu[a] - mu[b]
    updates = []
    for system, opponent, lead, own_result in (
        (a, b, gap, result),
        (b, a, -gap, (result[2], result[1], result[0])),
    ):
        g = weight(phi[opponent])
        expected = expected_score(g * lead)
        surprise = surprise_of(own_result, lead, expected, tie_ratio)
        updates.append((system, g * g * expected * (1 - expected), g * surprise))
    for system, information, surprise in updates:
        mu[system], phi[system] = after(mu[system], phi[system], information, surprise)


def surprise_of(
    result: Sequence[float], lead: float, expected: float, tie_ratio: float | None
) -> float:
    """Compute result minus expectation; Zhou and Xu's rule for ties uses the sign of the gap."""
    win, tie, loss = result
    if tie_ratio is None:
        of_a_tie = 0.5 - expected
    elif lead == 0:
        of_a_tie = 0.0
    else:
        of_a_tie = tie_ratio * (1 - expected if lead < 0 else -expected)
    return win - (win + loss) * expected + tie * of_a_tie
