"""
Ratings of systems from votes
=============================

Bradley-Terry ratings from people's votes on pairs, with intervals for other items and annotators.
"""

import nlgbench as nb

study = nb.simulate("votes", seed=1)
ratings = nb.rate(study, annotators="random")
drawing = nb.plot_ratings(ratings)
