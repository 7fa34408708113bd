"""
Can this judge be trusted?
==========================

Biases of position, length and own system, and calibration: an audit of five simulated judges.
"""

import nlgbench as nb

study = nb.simulate("judges", n_items=400, seed=1)
authors = study.truth["judges"].set_index("judge")["system"].to_dict()
drawing = nb.plot_audit(nb.audit(study, authors=authors, margin=0.05))
