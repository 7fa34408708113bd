"""What answers the claims of With Little Power: as they count, and what that does at no effect."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

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


def test_the_power_of_known_variances_is_that_of_the_crossed_design(table):
    row = table.query("setting == 'high_variance' and n_items == 100 and n_workers == 10").iloc[0]
    se = np.sqrt(0.14**2 / 100 + 0.11**2 / 10 + 0.26**2 / (2 * 100 * 10))
    assert row["known"] == pytest.approx(norm.sf(1.96 - row["difference"] / se))


@pytest.mark.parametrize(("n_workers", "n_items"), [(3, 50), (10, 100)])
def test_the_likelihood_is_at_its_greatest(n_workers, n_items):
    rng = np.random.default_rng(2)
    degrees = np.array([n_workers - 1, n_items - 1, 2 * (n_workers - 1) * (n_items - 1)])
    sums = np.array([0.5, 0.2, 0.03])[:, None] * rng.chisquare(degrees[:, None], (3, 20))
    sums[0, :3] = 0.001  # workers alike: their variance is 0
    found = paper._maximize_likelihood(sums, degrees)

    for k in range(20):

        def off(logs, k=k):
            worker, item, rest = np.exp(logs)
            squares = np.array([rest + worker, rest + item, rest])
            mean = rest + worker + item
            return np.log(mean) + (degrees * np.log(squares) + sums[:, k] / squares).sum()

        starts = ([0.5, 0.2, 0.03], [1e-6, 0.2, 0.03])
        options = {"method": "Nelder-Mead", "options": {"maxiter": 4000}}
        tried = [minimize(off, np.log(start), **options) for start in starts]
        best = min(tried, key=lambda one: one.fun)
        assert found[k] == pytest.approx(np.exp(best.x).sum(), rel=0.02)


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
