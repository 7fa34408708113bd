"""Each printed number counts once, by its best row; numbers of unused data are left out."""

import pandas as pd

import nlgbench as nb

ROWS = [
    ("huse/table1/a/huse", "", "released", "matches", ""),
    ("huse/table1/a/huse", "exact ties", "released", "differs", "ties"),
    ("huse/table1/b/huse", "equation 9", "published", "differs", "a misprint"),
    ("huse/table1/b/huse", "", "released", "not recomputable", "Nothing was released."),
    ("huse/table1/c/huse", "equation 9", "published", "matches", ""),
    ("huse/table1/c/huse", "", "released", "not recomputable", "Nothing was released."),
    ("huse/table1/d/huse", "", "released", "not recomputable", "Nothing was released."),
    ("huse/direction/length", "", "released", "same direction", ""),
    ("usr/table1/x/spearman", "other raters", "released", "new", "other raters"),
    ("hanna/finding/mean", "", "released", "new", ""),
    ("power/figure6/x", "", "simulated", "not recomputable", "simulated source"),
]


def ledger(rows=ROWS):
    table = pd.DataFrame(rows, columns=["claim_id", "variant", "source", "verdict", "reason"])
    table["recomputed"] = (table["verdict"] != "not recomputable").map({True: 0.5, False: None})
    return table.assign(published=(~table["claim_id"].str.contains("finding")).map({True: 0.5}))


def test_a_number_counts_once_by_its_best_row():
    drawn = nb.plot_recomputed(ledger())
    derived, missing = "derived from other published numbers", "not recomputable"
    found = ["recomputed and equal", "differs", derived, missing, missing]
    assert drawn.data["outcome"].tolist() == found
    assert drawn.data["reason"].tolist()[-1].startswith("Only values from other data")
    assert drawn.alt.startswith("Published numbers (5) by outcome: recomputed and equal 1, ")
    assert "1 (Hashimoto et al. 2019): Nothing was released." in drawn.alt
    assert drawn.notes.endswith("Numbers omitted because this run did not use their data: 1.")
