"""Each printed number counts once, by its best row; numbers of unused data are left out."""

import pandas as pd
import pytest
from gray import assert_readable

import nlgbench as nb
from nlgbench.datasets.published import load_claims

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
    known = table["verdict"] != "not recomputable"
    table["recomputed"] = known.map({True: 0.5, False: None})
    return table.assign(published=(~table["claim_id"].str.contains("finding")).map({True: 0.5}))


def test_a_number_counts_once_by_its_best_row():
    drawn = nb.plot_recomputed(ledger())
    derived, missing = "derived from other published numbers", "not recomputable"
    found = ["recomputed and equal", "differs", derived, missing, missing]
    assert drawn.data["outcome"].tolist() == found
    assert drawn.data["reason"].tolist()[-1].startswith("Only values from other data")
    assert drawn.alt.startswith("Published numbers (5) by outcome: recomputed and equal 1, ")
    assert "1 (Hashimoto et al. 2019): Nothing was released." in drawn.alt
    assert drawn.alt.endswith("Omitted, because this run did not use their data: 1.")


def test_bars_are_shares_with_their_counts():
    drawn = nb.plot_recomputed(ledger())
    (ax,) = drawn.axes
    assert [bar.get_width() for bar in ax.patches] == [25, 0, 25, 0, 25, 0, 25, 100]
    assert [text.get_text() for text in ax.texts].count("1") == 5
    assert_readable(drawn)


def test_unreleased_inputs_are_the_reason_of_a_value_from_other_data():
    claims = load_claims("judge-the-judges")
    claim = claims[claims["unavailable"] != ""].iloc[0]
    rows = [(claim["claim_id"], "", "released", "new", "another training")]
    assert nb.plot_recomputed(ledger(rows)).data["reason"].tolist() == [claim["unavailable"]]


def test_a_simulated_run_has_nothing_to_draw():
    with pytest.raises(ValueError, match="no published number that this run recomputes"):
        nb.plot_recomputed(ledger(ROWS[-1:]))
