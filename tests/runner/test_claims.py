"""A ledger has a row for every claim, and its verdicts follow from numbers and intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench.analysis.reproduction import number_outcomes
from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.papers.claim_rows import claim_rows, smaller_than
from nlgbench.papers.judges_in_print import recompute
from nlgbench.runner import claims, record
from nlgbench.study import schema

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


def test_simulated_runs_leave_the_papers_claims_open():
    own = records(("simulated/huse/t1.0/huse", "", 0.4, "simulated"))
    ledger = claims.ledger(CLAIMS, own, source="simulated")
    assert (ledger["verdict"] == "not recomputable").sum() == len(CLAIMS)
    assert ledger.iloc[-1]["verdict"] == "new"
    assert claims.OTHER_DATA["simulated"] in set(ledger["reason"])


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


@given(
    published=st.floats(-10, 10),
    off=st.floats(0, 1),
    tolerance=st.sampled_from([0.0, 0.005, 0.05]),
    low=st.floats(-20, 20),
    width=st.floats(0, 20),
)
def test_an_interval_never_turns_differs_into_matches(published, off, tolerance, low, width):
    plain = claims.verdict(published, published + off, tolerance)
    assert plain == claims.verdict(
        published, published + off, tolerance, ci_low=low, ci_high=low + width
    )
    if off > tolerance + 1e-6:
        assert plain == "differs"


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (0.2, 0.1, 0.3, "same direction"),
        (0.2, -0.1, 0.3, "undecided"),
        (0.2, 0.0, 0.3, "undecided"),
        (-0.2, -0.3, -0.1, "differs"),
        (0.05, -0.3, -0.1, "differs"),  # the interval decides, also where it misses the estimate
        (0.2, np.nan, np.nan, "undecided"),
        (np.nan, np.nan, np.nan, "undecided"),
    ],
)
def test_directional_claims_are_decided_by_their_interval(value, low, high, says):
    assert claims.verdict(1, value, 0, directional=True, ci_low=low, ci_high=high) == says


@given(
    published=st.sampled_from([-1.0, 1.0]),
    value=st.floats(-1, 1),
    low=st.floats(-1, 1),
    width=st.floats(0, 1),
)
def test_turning_everything_round_turns_no_verdict(published, value, low, width):
    high = low + width
    said = claims.verdict(published, value, 0, directional=True, ci_low=low, ci_high=high)
    turned = claims.verdict(-published, -value, 0, directional=True, ci_low=-high, ci_high=-low)
    assert said == turned
    assert (said == "undecided") == (low <= 0 <= high)


@given(
    threshold=st.floats(0.01, 1),
    value=st.floats(0, 3),
    below=st.floats(0, 1),
    above=st.floats(0, 1),
)
def test_a_threshold_of_ours_decides_nothing(threshold, value, below, above):
    found = smaller_than(threshold, value, value - below, value + above)
    said = claims.verdict(
        1, found["estimate"], 0, directional=True, ci_low=found["ci_low"], ci_high=found["ci_high"]
    )
    small = [value + above < one for one in (threshold / 2, threshold, 2 * threshold)]
    large = [value - below > one for one in (threshold / 2, threshold, 2 * threshold)]
    expected = "same direction" if all(small) else "differs" if all(large) else "undecided"
    assert said == expected


def test_what_follows_from_print_is_counted_apart():
    """As notebooks 01, 05 and 05b record it."""
    table1 = load_printed("huse/table1").reset_index()
    table1["implied"] = 1 + table1["huse"] - table1["huse_q"]
    about = {"variant": "equation 9 from print", "source": "published"}
    implied = claim_rows(table1, "huse/table1/{row}/huse_d", value="implied", **about)
    answers = pd.concat(
        [
            claim_rows(
                recompute(),
                "{claim_id}",
                variant="{variant}",
                reason="{reason}",
                source="published",
            ),
            implied,
        ]
    )
    ledgers = []
    for name, rows in answers.groupby(
        answers["claim_id"].map(load_claims().set_index("claim_id")["notebook"])
    ):
        run = record.open(str(name), source="released")
        run.claims(rows)
        run.skip("*", "Not in this test.")
        ledgers.append(run.close())
    ledger = pd.concat(ledgers, ignore_index=True)
    table = claims.summary(ledger, load_claims()).set_index("rests on")
    counted = table[["rows", "matches", "differs"]].to_dict("index")
    assert counted["coefficients from print"] == {"rows": 210, "matches": 198, "differs": 12}
    assert counted["stars"] == {"rows": 258, "matches": 246, "differs": 12}
    # Two totals, 42 averages, and equation 9 for seven systems.
    assert counted["identities"] == {"rows": 2 + 42 + 7, "matches": 2 + 34 + 6, "differs": 8 + 1}
    assert "recomputed from data" not in table.index
    assert table["rows"].sum() == len(ledger)
    assert (table[list(schema.VERDICTS)].sum(axis=1) == table["rows"]).all()


def test_numbers_from_data_and_directions_are_counted_apart():
    own = ("huse/finding/k", "", 0.4, "released")
    printed = ("huse/table1/b/huse_d", "equation 9", 0.34, "published")
    ledger = claims.ledger(CLAIMS, records(*ALL, own, printed), source="released")
    table = claims.summary(ledger, CLAIMS).set_index("rests on")
    assert list(table["rows"].items()) == [  # from the strongest evidence to none
        ("recomputed from data", 2),
        ("directions", 1),
        ("identities", 1),
        ("not recomputable", 1),
        ("our own results", 1),
    ]
    assert table.loc["recomputed from data", ["matches", "differs"]].tolist() == [1, 1]
