"""
Ratings as games accumulate
===========================

Glicko-2 ratings as votes are drawn one by one; open marks use all votes, each once.
"""

import nlgbench as nb

study = nb.simulate("votes", n_items=40, seed=1)
quality = study.truth["systems"].set_index("system")["ability"]
settled = nb.convergence(study, quality=quality, seed=0)
drawing = nb.plot_convergence(settled.history, ratings=nb.rate(study, method="glicko2").systems)
