"""
Printed and recomputed
======================

One simulated study in the place of a printed table, another in that of its repetition.
"""

import pandas as pd

import nlgbench as nb

study = nb.simulate("own", n_items=60, seed=1)
means = nb.compare_systems(study).systems.set_index("system")["estimate"]
again = nb.compare_systems(nb.simulate("own", n_items=60, seed=2)).systems.set_index("system")
ledger = pd.DataFrame(
    {"published": means.round(2), "recomputed": again["estimate"].reindex(means.index)}
)
ledger["claim_id"] = [f"study/pilot/table1/{name}" for name in ledger.index]
near = (ledger["published"] - ledger["recomputed"]).abs() <= 0.005
ledger["verdict"] = near.map({True: "matches", False: "differs"})
ledger = ledger.reset_index(drop=True).assign(source="study")
drawing = nb.plot_reproduction(nb.reproduction(ledger))
