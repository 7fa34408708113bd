"""A ledger has a row for every claim, and its verdicts follow from numbers and intervals."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.analysis.reproduction import number_outcomes
from nlgbench.datasets.published import load_claims
from nlgbench.runner import claims, record

CLAIMS = pd.DataFrame(
    [
        ("huse/table1/a/huse", "table1", "HUSE", 0.53, 0.005, ""),
        ("huse/table1/a/huse_d", "table1", "HUSE-D", 0.95, 0.005, ""),
        ("huse/table1/b/huse_d", "table1", "HUSE-D", 0.34, 0.005, "No."),
        ("huse/direction/up", "direction", "sign", 1.0, 0.0, ""),
    ],
    columns=["claim_id", "where", "quantity", "published", "tolerance", "unavailable"],
).assign(paper="huse", unit="score", notebook="01-demo")


def records(*rows: tuple[str, str, float, str]) -> pd.DataFrame:
    """Rows of (claim_id, variant, recomputed, source)."""
    frame = pd.DataFrame(rows, columns=["claim_id", "variant", "recomputed", "source"])
    return frame.assign(ci_low=np.nan, ci_high=np.nan, reason="", comparable=True)


ALL = [
    ("huse/table1/a/huse", "ties=exact", 0.53, "released"),
    ("huse/table1/a/huse_d", "ties=exact", 0.93, "released"),
    ("huse/direction/up", "", 0.2, "released"),
]


def test_every_claim_has_a_row_and_the_right_verdict():
    printed = ("huse/table1/b/huse_d", "equation 9", 0.34, "published")
    ledger = claims.ledger(CLAIMS, records(*ALL, printed), source="released")
    assert ledger[["claim_id", "verdict", "source"]].to_numpy().tolist() == [
        ["huse/table1/a/huse", "matches", "released"],
        ["huse/table1/a/huse_d", "differs", "released"],
        ["huse/table1/b/huse_d", "matches", "published"],
        ["huse/table1/b/huse_d", "not recomputable", "released"],
        ["huse/direction/up", "undecided", "released"],
    ]
    assert ledger.loc[3, "reason"] == "No." and np.isnan(ledger.loc[3, "recomputed"])


def test_a_printed_number_counts_once_whatever_its_rows():
    by_formula = ("huse/table1/b/huse_d", "equation 9", 0.34, "published")
    rows = records(*ALL, ("huse/table1/a/huse", "no ties", 0.6, "released"), by_formula)
    outcomes = number_outcomes(claims.ledger(CLAIMS, rows, source="released"))["outcome"]
    equal, derived = "recomputed and equal", "derived from other published numbers"
    assert outcomes.value_counts().to_dict() == {equal: 1, derived: 1, "differs": 1}  # of 6 rows
    own = records(("simulated/huse/x", "", 0.4, "simulated"))
    assert number_outcomes(claims.ledger(CLAIMS, own, source="simulated")).empty


def test_a_run_of_an_own_study_shows_no_papers_numbers():
    printed = load_claims("power")["claim_id"][:2]
    for source, n_printed in {"study": 0, "simulated": 48}.items():
        run = record.open("10-how-many-judgments", source=source)
        for place in ("power/finding/level", *printed):
            answer = {"claim_id": place, "value": 0.3, "variant": "t", "source": "published"}
            run.claims(pd.DataFrame([answer]))
        run.claims(pd.DataFrame([{"claim_id": f"{source}/pilot/mean", "value": 0.3}]))
        ids = run.close()["claim_id"]
        assert ids.isin(load_claims("power")["claim_id"]).sum() == n_printed
        assert n_printed or ids.tolist() == ["study/pilot/mean"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ALL[:2], r"neither recorded .*: 1 \(first: 'huse/direction/up'"),
        ([ALL[0], *ALL], r"must not repeat a key .*variant='ties=exact'"),
        ([("huse/table1/a/hus", "", 1.0, "released")], "Did you mean 'huse/table1/a/huse'"),
        ([("huse/table1/a/huse", "", 0.53, "simulated")], "that begins with 'simulated/'"),
    ],
)
def test_silence_repetition_and_what_is_no_claim_are_errors(rows, message):
    with pytest.raises(ValueError, match=message):
        claims.ledger(CLAIMS, records(*rows), source="released")


def test_what_is_skipped_says_why_and_other_parameters_than_the_papers_are_new():
    why = {"huse/direction/*": "No torch."}
    skipped = claims.ledger(CLAIMS, records(*ALL[:2]), source="released", skipped=why)
    assert skipped.iloc[-1]["reason"] == "No torch."
    rows = records(*ALL).assign(comparable=[False, True, True])
    assert claims.ledger(CLAIMS, rows, source="released").iloc[0]["verdict"] == "new"
