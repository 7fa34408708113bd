"""
Published and recomputed numbers
================================

Mean judgments of five systems in a simulated study and in its replication.
"""

import pandas as pd

import nlgbench as nb

design = {"n_items": 60, "scale": "ordinal"}
printed = nb.compare_systems(nb.simulate("judgments", seed=1, **design)).systems
again = nb.simulate("judgments", seed=2, **design)

claims = pd.DataFrame({"published": printed["estimate"].round(2), "tolerance": 0.005})
claims["claim_id"] = "table1/" + printed["system"]
claims["where"] = "system=" + printed["system"]
claims["analysis"] = "means"
rows = nb.check_claims(again, claims, {"means": nb.compare_systems(again).systems})
drawing = nb.plot_reproduction(nb.reproduction(rows))
