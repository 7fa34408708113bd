"""Ratings of systems, from comparisons or preferences taken as games.

`games` reads them, `bradley_terry` rates in no order and `glicko` in one, `rating` is what users
call: `rate`, and how far an order may be trusted.
"""

from nlgbench.analysis.ratings.bradley_terry import win_rates as win_rates
from nlgbench.analysis.ratings.rating import order_stability as order_stability
from nlgbench.analysis.ratings.rating import rate as rate
