"""
Agreement among annotators
==========================

Krippendorff's alpha of "real" or "fake" votes: overall, for human and machine texts, and by system.
"""

import nlgbench as nb

systems = ["trigram_t0.5", "corrupted_0.5", "memorizer_50"]
study = nb.simulate("crowd", systems=systems, n_outputs=50, n_truth=0)
found = nb.agreement(study, coefficients=["krippendorff_alpha"])
rows = found.rename(columns={"row": "evaluator"})
drawing = nb.plot_forest(rows, xlabel="Krippendorff's alpha", xlim=(-0.5, 1))
