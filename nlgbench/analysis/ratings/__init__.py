"""Ratings of systems from games: comparisons or preferences.

`games` reads games. `bradley_terry` rates systems independently of the order of games, and `glicko`
rates them sequentially. `rating` has the public functions, such as `rate`.
"""

from nlgbench.analysis.ratings.bradley_terry import win_rates as win_rates
from nlgbench.analysis.ratings.rating import order_stability as order_stability
from nlgbench.analysis.ratings.rating import rate as rate
