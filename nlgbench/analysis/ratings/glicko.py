"""Glicko-2: how a rating changes after a period of games."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

#: Points of rating per nat of log-odds: 400 / ln 10.
POINTS = 400 / math.log(10)
START = 1500.0
#: mu (nats from the start), phi (deviation, nats) and sigma (volatility) of every system.
State = tuple[list[float], list[float], list[float]]
_SOLVED = 1e-9  # of the volatility's logarithm, squared: Glickman asks for 1e-6


def glicko2_update(
    rating: float,
    deviation: float,
    volatility: float,
    results: pd.DataFrame,
    *,
    tau: float = 0.5,
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
    tau : float
        How much the volatility may change; Glickman advises 0.3 to 1.2.

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
    (1 / phi*^2 + I)`` and ``mu' = mu + phi'^2 sum g (s - E)``.

    Examples
    --------
    Glickman's own.

    >>> results = pd.DataFrame({"opponent_rating": [1400, 1550, 1700],
    ...                         "opponent_deviation": [30, 100, 300], "score": [1, 0, 0]})
    >>> [round(number, 5) for number in glicko2_update(1500, 200, 0.06, results)]
    [1464.05067, 151.51652, 0.06]
    """
    wanted = ["opponent_rating", "opponent_deviation", "score"]
    missing = [name for name in wanted if name not in results]
    if missing:
        raise ValueError(
            f"results have no column {missing[0]!r}: they need {', '.join(wanted)}; found "
            f"{', '.join(map(str, results.columns))}."
        )
    check_start(rating, deviation, volatility, tau, None)
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
    before = (rating - START) / POINTS, deviation / POINTS, volatility
    mu, phi, sigma = after(*before, information, surprise, tau)
    return START + POINTS * mu, POINTS * phi, sigma


def check_start(
    rating: float, deviation: float, volatility: float, tau: float, tie_ratio: float | None
) -> None:
    """Refuse numbers that no rating can start from.

    Parameters
    ----------
    rating, deviation, volatility, tau : float
        As in `glicko2_update`.
    tie_ratio : float or None
        As in `ratings.glicko2`.

    Raises
    ------
    ValueError
        With the numbers.
    """
    if not (math.isfinite(rating) and 0 < deviation < math.inf and tau > 0):
        raise ValueError(
            "rating must be finite, deviation and tau positive. Got "
            f"{rating}, {deviation} and {tau}: 1500, 350 and 0.5 are usual."
        )
    if not 0 <= volatility < math.inf:
        raise ValueError(
            f"volatility must be at least 0. Got {volatility}: 0 is for frozen systems, 0.06 usual "
            "for players who learn."
        )
    if tie_ratio is not None and not 0 <= tie_ratio <= 1:
        raise ValueError(
            f"tie_ratio must be between 0 and 1. Got {tie_ratio}: 0.1 is the paper's, None counts "
            "a tie as half a win."
        )


def weight(phi: Any) -> Any:
    """Say how much less a game tells when the opponent's skill is uncertain: Glickman's g.

    Parameters
    ----------
    phi : float or ndarray
        The opponent's deviation, nats.

    Returns
    -------
    float or ndarray
        Between 0 and 1.
    """
    return (1 + 3 / math.pi**2 * phi * phi) ** -0.5


def expected_score(gap: float) -> float:
    """Say how likely a win is.

    Parameters
    ----------
    gap : float
        Own skill minus the opponent's, nats.

    Returns
    -------
    float
        Between 0 and 1; gaps beyond 700 nats count as 700, where an exponential would overflow.
    """
    return 1 / (1 + math.exp(min(-gap, 700.0)))


def after(
    mu: float, phi: float, sigma: float, information: float, surprise: float, tau: float
) -> tuple[float, float, float]:
    """Update one system, in nats, from sums over its games.

    Parameters
    ----------
    mu, phi, sigma : float
        Rating (from the start), deviation and volatility.
    information : float
        Sum of ``g^2 E (1 - E)``.
    surprise : float
        Sum of ``g (s - E)``.
    tau : float
        As in `glicko2_update`.

    Returns
    -------
    tuple of (float, float, float)
        The three after the period.
    """
    if sigma > 0:
        if information > 0:
            sigma = _volatility(phi, sigma, information, surprise, tau)
        phi = math.hypot(phi, sigma)
    variance = 1 / (1 / phi**2 + information)
    return mu + variance * surprise, math.sqrt(variance), sigma


def _volatility(phi: float, sigma: float, information: float, surprise: float, tau: float) -> float:
    """Solve Glickman's step 5 for the new volatility, by the Illinois method as he does."""
    variance = 1 / max(information, 1e-60)  # gaps beyond 138 nats, whose squares would overflow
    squared = (variance * surprise) ** 2
    before = 2 * math.log(sigma)  # the square of a tiny volatility would be 0

    def excess(x: float) -> float:
        total = phi**2 + variance + math.exp(x)
        return math.exp(x) * (squared - total) / (2 * total**2) - (x - before) / tau**2

    low = before
    if squared > phi**2 + variance:
        high = math.log(squared - phi**2 - variance)
    else:
        steps = 1
        while excess(before - steps * tau) < 0:
            steps += 1
        high = before - steps * tau
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


def start(n: int, deviation: float, volatility: float) -> State:
    """Start systems of which nothing is known.

    Parameters
    ----------
    n : int
        How many.
    deviation, volatility : float
        In points, and in nats.

    Returns
    -------
    tuple of lists
        mu, phi and sigma of each.
    """
    return [0.0] * n, [deviation / POINTS] * n, [volatility] * n


def play(
    a: int,
    b: int,
    result: Sequence[float],
    state: State,
    *,
    tie_ratio: float | None,
    tau: float,
) -> None:
    """Let two systems play one game, a period of its own, and update both in place.

    Parameters
    ----------
    a, b : int
        Places of the two in the lists of `state`.
    result : sequence of float
        Win, tie and loss of a; they sum to 1.
    state : tuple of lists
        What `start` gives; the three of both systems are replaced.
    tie_ratio, tau
        As in `ratings.glicko2`.

    Examples
    --------
    >>> state = start(2, 350, 0)
    >>> play(0, 1, (1, 0, 0), state, tie_ratio=None, tau=0.5)
    >>> state[0][0] == -state[0][1] > 0
    True
    """
    mu, phi, sigma = state
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
        mu[own], phi[own], sigma[own] = after(
            mu[own], phi[own], sigma[own], information, surprise, tau
        )


def surprise_of(
    result: Sequence[float], lead: float, expected: float, tie_ratio: float | None
) -> float:
    """Say how much better a game went than expected: score minus expectation.

    Parameters
    ----------
    result : sequence of float
        Win, tie and loss; they sum to 1.
    lead : float
        Rating minus the opponent's: the paper's rule for ties asks for its sign.
    expected : float
        Expected score.
    tie_ratio
        As in `ratings.glicko2`.

    Returns
    -------
    float
        Between -1 and 1.

    Examples
    --------
    >>> surprise_of((0, 1, 0), -1.0, 0.25, None), surprise_of((0, 1, 0), -1.0, 0.5, 0.5)
    (0.25, 0.25)
    """
    win, tie, loss = result
    if tie_ratio is None:
        of_a_tie = 0.5 - expected
    elif lead == 0:
        of_a_tie = 0.0
    else:
        of_a_tie = tie_ratio * (1 - expected if lead < 0 else -expected)
    return win - (win + loss) * expected + tie * of_a_tie
