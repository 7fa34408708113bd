"""
Can this judge be trusted?
==========================

An audit of five simulated judges: position, length and own-system bias, and calibration.
"""

import nlgbench as nb

study = nb.simulate("judges", n_items=400, seed=1)
authors = study.truth["judges"].set_index("judge")["system"].to_dict()
drawing = nb.plot_audit(nb.audit(study, authors=authors, margin=0.05))
