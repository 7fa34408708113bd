"""Verdicts and the ledger that is complete by construction."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench import claims

CLAIMS = pd.DataFrame(
    [
        ("huse/table1/a/huse", "huse", "table1", "HUSE", "score", 0.53, 0.005, "01-demo", ""),
        ("huse/table1/a/huse_d", "huse", "table1", "HUSE-D", "score", 0.95, 0.005, "01-demo", ""),
        (
            "huse/table1/b/huse_d",
            "huse",
            "table1",
            "HUSE-D",
            "score",
            0.34,
            0.005,
            "01-demo",
            "No.",
        ),
        ("huse/direction/up", "huse", "direction", "sign", "sign", 1.0, 0.0, "01-demo", ""),
    ],
    columns=[
        *("claim_id", "paper", "where", "quantity", "unit", "published", "tolerance"),
        *("notebook", "unavailable"),
    ],
)


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
    ledger = claims.ledger(CLAIMS, records(*ALL), source="released").set_index("claim_id")
    assert ledger["verdict"].to_dict() == {
        "huse/table1/a/huse": "matches",
        "huse/table1/a/huse_d": "differs",
        "huse/table1/b/huse_d": "not recomputable",
        "huse/direction/up": "undecided",
    }
    assert ledger.loc["huse/table1/b/huse_d", "reason"] == "No."
    assert np.isnan(ledger.loc["huse/table1/b/huse_d", "recomputed"])


def test_what_follows_from_printed_numbers_stands_beside_not_recomputable():
    printed = ("huse/table1/b/huse_d", "equation 9", 0.34, "published")
    ledger = claims.ledger(CLAIMS, records(*ALL, printed), source="released")
    rows = ledger[ledger["claim_id"] == "huse/table1/b/huse_d"]
    assert list(rows["verdict"]) == ["matches", "not recomputable"]
    assert list(rows["source"]) == ["published", "released"]


def test_simulated_runs_leave_the_papers_claims_open():
    own = records(("simulated/huse/t1.0/huse", "", 0.4, "simulated"))
    ledger = claims.ledger(CLAIMS, own, source="simulated")
    assert (ledger["verdict"] == "not recomputable").sum() == len(CLAIMS)
    assert ledger.iloc[-1]["verdict"] == "new"
    assert claims.SIMULATED_REASON in set(ledger["reason"])


def test_a_simulated_value_is_never_shown_as_a_papers():
    with pytest.raises(ValueError, match=r"under an id that begins with 'simulated/'"):
        claims.ledger(
            CLAIMS, records(("huse/table1/a/huse", "", 0.53, "simulated")), source="simulated"
        )


def test_silence_is_an_error():
    with pytest.raises(ValueError, match=r"1 claims were neither .* 'huse/direction/up'"):
        claims.ledger(CLAIMS, records(*ALL[:2]), source="released")
    skipped = claims.ledger(
        CLAIMS, records(*ALL[:2]), source="released", skipped={"huse/direction/*": "No torch."}
    )
    assert skipped.iloc[-1]["reason"] == "No torch."


def test_unknown_ids_name_the_nearest():
    with pytest.raises(ValueError, match=r"Did you mean 'huse/table1/a/huse'"):
        claims.ledger(
            CLAIMS, records(("huse/table1/a/hus", "", 1.0, "released")), source="released"
        )


def test_a_variant_is_recorded_once():
    with pytest.raises(ValueError, match=r"recorded twice with variant='ties=exact'"):
        claims.ledger(CLAIMS, records(ALL[0], *ALL), source="released")


def test_other_parameters_than_the_papers_are_new():
    rows = records(*ALL).assign(comparable=[False, True, True])
    ledger = claims.ledger(CLAIMS, rows, source="released")
    assert ledger.iloc[0]["verdict"] == "new"


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
        (-0.2, -0.3, -0.1, "differs"),
        (0.2, np.nan, np.nan, "undecided"),
        (np.nan, np.nan, np.nan, "undecided"),
    ],
)
def test_directional_claims_are_decided_by_their_interval(value, low, high, says):
    assert claims.verdict(1, value, 0, directional=True, ci_low=low, ci_high=high) == says
