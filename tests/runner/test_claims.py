"""Verdicts and the ledger that is complete by construction."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.papers.claim_rows import claim_rows, smaller_than
from nlgbench.papers.judges_in_print import not_recomputable, recompute
from nlgbench.runner import claims, record
from nlgbench.study import schema

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
    assert claims.OTHER_DATA["simulated"] in set(ledger["reason"])


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
        1, found["value"], 0, directional=True, ci_low=found["ci_low"], ci_high=found["ci_high"]
    )
    small = [value + above < one for one in (threshold / 2, threshold, 2 * threshold)]
    large = [value - below > one for one in (threshold / 2, threshold, 2 * threshold)]
    expected = "same direction" if all(small) else "differs" if all(large) else "undecided"
    assert said == expected


def printed_ledger() -> pd.DataFrame:
    """What a run of notebooks 01, 05 and 05b records from printed numbers alone."""
    cells = recompute().assign(source="published")
    beside = cells["claim_id"].str.contains("/table[78]/")
    parts = {"05-judges-in-print": cells[~beside], "05b-evaluator-correlations": cells[beside]}
    ledgers = []
    for name, rows in parts.items():
        run = record.open(name, source="released")
        run.claims(rows)
        for claim, reason in not_recomputable().items():
            run.skip(claim, reason)
        run.skip(["judge-the-judges/*"], "Not in this test.")
        ledgers.append(run.close())
    huse = record.open("01-huse-tradeoff", source="released")
    table1 = load_printed("huse/table1")
    huse.claims(
        claim_rows(
            table1.assign(implied=1 + table1["huse"] - table1["huse_q"]).reset_index(),
            "huse/table1/{row}/huse_d",
            value="implied",
            variant="equation 9 from print",
            source="published",
        )
    )
    huse.skip("huse/*", "Not in this test.")
    return pd.concat([*ledgers, huse.close()], ignore_index=True)


def test_what_follows_from_print_is_counted_apart():
    ledger = printed_ledger()
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
    assert table["rows"].to_dict() == {
        "recomputed from data": 2,
        "directions": 1,
        "identities": 1,
        "not recomputable": 1,
        "our own results": 1,
    }
    assert list(table.index) == [kind for kind in claims.KINDS if kind in table.index]
    assert table.loc["recomputed from data", ["matches", "differs"]].tolist() == [1, 1]


def test_an_empty_ledger_counts_nothing():
    empty = schema.check(pd.DataFrame(columns=schema.columns("ledger")), "ledger")
    assert claims.summary(empty, CLAIMS).empty
