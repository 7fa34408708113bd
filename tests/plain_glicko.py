"""Glickman's Glicko-2 as he writes it: what ratings game by game are tested and timed against."""

import math

import pandas as pd
from scipy.special import expit

from nlgbench.analysis.ratings.glicko import POINTS, START, after, weight

_TAU = 0.5  # how much the volatility may change; Glickman advises 0.3 to 1.2
_SOLVED = 1e-9  # of the volatility's logarithm, squared: Glickman asks for 1e-6


def glicko2_update(
    rating: float, deviation: float, volatility: float, results: pd.DataFrame
) -> tuple[float, float, float]:
    """Update one system after a period of games: a row each, opponent_rating, ..., score.

    Glickman (2012), *Example of the Glicko-2 system*, http://www.glicko.net/glicko/glicko2.pdf.
    Volatility 0 is for a system that does not change: it skips the volatility step.
    """
    wanted = ["opponent_rating", "opponent_deviation", "score"]
    opponent, spread, score = results[wanted].to_numpy(dtype=float).T
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
