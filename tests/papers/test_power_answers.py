"""The numbers of With Little Power follow as its authors count, which errs at no effect."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.datasets.published import load_claims
from nlgbench.papers import power as paper
from nlgbench.runner.claims import kinds


@pytest.fixture(scope="module")
def table():
    return paper.figure6(n_worlds=4000)


def test_with_ten_workers_the_formula_gives_what_is_printed_and_with_three_it_does_not(table):
    tolerance = load_claims("power")["tolerance"].to_numpy()
    known = (table["known"] - table["published"]).abs() <= tolerance
    assert known.groupby(table["n_workers"]).sum().to_dict() == {3: 9, 10: 22}
    assert (table["published"] - table["known"])[table["n_workers"] == 3].max() > 0.2
    # Of 48 shares of 200 simulations about 2 are missed by chance.
    counted = (table["counted"] - table["published"]).abs() <= tolerance
    assert counted[table["n_workers"] == 3].sum() >= 23 and counted.sum() >= 44


def test_counting_t_beyond_1_96_errs_often_with_few_workers(table):
    level = table.groupby("n_workers")["level"]
    assert level.min()[3] > 0.09 and level.max()[3] < 0.27
    assert level.max()[10] < 0.11
    assert (table["planned"] <= table["known"] + 1e-9).all()


def test_every_claim_is_answered_in_three_ways(table):
    rows = paper.answers(table)
    ids = set(load_claims("power")["claim_id"])
    for variant, comparable in ((paper.COUNTED, True), (paper.KNOWN, True), (paper.PLANNED, False)):
        own = rows[(rows["variant"] == variant) & rows["claim_id"].isin(ids)]
        assert len(own) == 48 and set(own["comparable"]) == {comparable}
    assert set(rows["source"]) == {"published"}
    findings = rows[~rows["claim_id"].isin(ids)]
    assert findings["claim_id"].str.startswith("power/finding/level/").all() and len(findings) == 12


def test_they_are_counted_apart_from_identities():
    published = load_claims()
    ids = published.loc[published["paper"].isin(["power", "huse"]), "claim_id"]
    ledger = pd.DataFrame({"claim_id": ids, "source": "published", "ci_low": np.nan})
    found = kinds(ledger.assign(verdict="matches"), published)
    power = ids.str.startswith("power/")
    assert set(found[power]) == {"power from stated variances"}
    assert "identities" in set(found[~power])
