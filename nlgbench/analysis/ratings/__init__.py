"""Skill ratings of systems, from comparisons taken as games.

What is handed out here is in `skill` and `glicko`. Games, win rates and points against references
are in `games`, ratings that no order of games changes in `bradley_terry`, who plays whom in
`pairing`.
"""

from nlgbench.analysis.ratings.glicko import glicko2_update
from nlgbench.analysis.ratings.skill import (
    elo,
    glicko2,
    order_stability,
    rating_intervals,
    ratings_table,
)

__all__ = [
    "elo",
    "glicko2",
    "glicko2_update",
    "order_stability",
    "rating_intervals",
    "ratings_table",
]
