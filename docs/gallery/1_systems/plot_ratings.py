"""
Ratings of systems from votes
=============================

Bradley-Terry ratings from annotators' votes on pairs of outputs, with 95% intervals.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=1)
ratings = nb.rate(study)
drawing = nb.plot_ratings(ratings)
