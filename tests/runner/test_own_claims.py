"""Claims of your own: refused where malformed, answered by results, shown in the ledger."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.datasets.published import load_claims
from nlgbench.runner import claims as ledgers
from nlgbench.runner import record
from nlgbench.runner.own_claims import read_claims

OUTPUTS = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
STUDY = nb.Study(OUTPUTS, name="pilot")
CORRELATE = pd.DataFrame(
    {
        "evaluator": ["bleu", "bleu", "chrf", "flat"],
        "granularity": ["system", "output", "system", "system"],
        "confidence": [0.95] * 4,
        "passed": [True, False, True, True],
        "estimate": [0.41, 0.2, -0.3, np.nan],
        "ci_low": [0.1, -0.1, -0.5, np.nan],
        "ci_high": [0.6, 0.4, -0.1, np.nan],
        "n": [5, 100, 5, 5],
        "reason": ["", "", "", "all scores are equal"],
    }
)
RESULTS = {"correlate": CORRELATE}
RIGHT = {
    "claim_id": "table2/bleu",
    "published": 0.41,
    "tolerance": 0.005,
    "analysis": "correlate",
    "where": "evaluator=bleu; granularity=system",
}


def check(study=STUDY, **changes) -> pd.Series:
    """Answer one claim."""
    rows = nb.check_claims(study, pd.DataFrame([RIGHT | changes]), RESULTS)
    assert len(rows) == 1
    return rows.iloc[0]


@settings(max_examples=30, deadline=None)
@given(
    value=st.floats(-1e6, 1e6),
    tolerance=st.sampled_from([0.0, 0.0005, 0.005, 0.5]),
    off=st.floats(1.01, 100),
    sign=st.sampled_from([-1, 1]),
)
def test_a_claim_that_is_the_result_matches_and_one_beyond_the_tolerance_differs(
    value, tolerance, off, sign
):
    results = {"x": pd.DataFrame({"estimate": [value]})}
    claim = pd.DataFrame({"claim_id": ["c"], "published": [value], "tolerance": tolerance})
    moved = value + sign * (off * tolerance + 1e-6)
    claims = pd.concat([claim, claim.assign(claim_id="moved", published=moved)])
    found = nb.check_claims(STUDY, claims.assign(analysis="x"), results)
    assert found["verdict"].tolist() == ["matches", "differs"]
    assert found["recomputed"].tolist() == [value, value]


SIGN = {"claim_id": "direction/a", "published": 1}


@pytest.mark.parametrize(
    ("changes", "verdict", "reason"),
    [
        ({}, "matches", ""),
        ({"published": 0.4149}, "matches", ""),
        ({"published": 0.42}, "differs", ""),
        # Rows are found by texts, numbers and truths; intervals belong to estimates alone.
        ({"where": "evaluator=chrf; confidence=0.950", "published": -0.3}, "matches", ""),
        ({"where": "evaluator=bleu; passed=false", "published": 0.2}, "matches", ""),
        ({"where": "n=100", "column": "n", "published": 100}, "matches", ""),
        ({"where": "evaluator=flat"}, "undecided", "all scores are equal"),
        # Signs are decided by intervals.
        (SIGN, "same direction", ""),
        (SIGN | {"published": -1}, "differs", ""),
        (SIGN | {"where": "granularity=output"}, "undecided", ""),
        # What is not there is not recomputable, and says why.
        ({"analysis": "corelate"}, "not recomputable", "Did you mean 'correlate'?"),
        ({"where": "evaluator=bleuu"}, "not recomputable", "Did you mean 'bleu'?"),
        ({"where": "evaluator=chrf; n=100"}, "not recomputable", "has no row with all of"),
        ({"analysis": "", "where": "", "unavailable": "Lost."}, "not recomputable", "Lost."),
    ],
)
def test_a_claim_has_its_verdict_and_its_reason(changes, verdict, reason):
    row = check(**changes)
    assert row["verdict"] == verdict and reason in row["reason"]
    assert bool(row["reason"]) == bool(reason)
    assert row["claim_id"] == f"study/pilot/{(RIGHT | changes)['claim_id']}"
    assert row["source"] == "study"
    assert np.isnan(row["recomputed"]) == bool(reason)
    # An interval stands beside the estimate alone.
    assert np.isnan(row["ci_low"]) == (bool(reason) or "column" in changes)
    assert changes or row[["ci_low", "ci_high"]].tolist() == [0.1, 0.6]


def test_half_a_unit_of_the_last_printed_digit_is_the_tolerance(tmp_path):
    printed = {"0.50": 0.005, "0.5": 0.05, "12": 0.5, "-3.125": 0.0005, "2e-3": 0.0005}
    lines = [f"c{n},{text}" for n, text in enumerate(printed)]
    path = tmp_path / "claims.csv"
    assert read_claims(tmp_path).empty  # a folder need not have any
    for none in (tmp_path, None):
        assert nb.check_claims(STUDY, none, RESULTS).empty
    with pytest.raises(FileNotFoundError, match="no file"):
        read_claims(path)
    path.write_text("\n".join(["claim_id,published,analysis", *(f"{one},x" for one in lines)]))
    for source in (path, tmp_path, str(tmp_path)):
        found = read_claims(source)
        np.testing.assert_allclose(found["tolerance"], list(printed.values()), rtol=1e-12)
        assert (found["column"] == "estimate").all()
    pd.testing.assert_frame_equal(read_claims(found), found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"claim_id": "Table 2/BLEU"}, "'Table 2/BLEU': write a unique id of lower-case"),
        ({"published": "0,41"}, "column 'published', '0,41': write a finite number"),
        ({"published": "inf"}, "column 'published', 'inf': write a finite number"),
        ({"tolerance": -0.1}, "column 'tolerance', -0.1: .* not negative"),
        ({"tolerance": None}, "column 'tolerance', None: .* a finite number that is not negative"),
        ({"claim_id": "direction/a"}, "column 'published', 0.41: .* for a direction 1"),
        ({"unavailable": "No."}, "column 'analysis', 'correlate': .* .not both"),
        ({"where": "n=1; n=2"}, "'n=1; n=2': write column=value; column=value, each column once"),
        ({"where": "evaluatr=bleu"}, "no column 'evaluatr'. Did you mean 'evaluator'"),
        ({"column": "estimat"}, "correlate has no column 'estimat'"),
        ({"where": "evaluator=bleu"}, "2 rows of correlate .* differ in granularity, "),
        ({"column": "evaluator"}, "'evaluator' of correlate is not a number: 'bleu'"),
        ({"tolerence": 1}, "tolerence: .* Did you mean 'tolerance'"),
    ],
)
def test_a_malformed_claim_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_all_that_is_wrong_is_said_at_once_with_rows_and_lines(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(
        'claim_id,published,analysis,quantity\na,0.5,x,"a\nline"\nb,zero,x,\na,0.5,x,\nC,0.5,,\n'
    )
    with pytest.raises(ValueError) as raised:
        read_claims(path)
    told = str(raised.value).splitlines()
    assert told[0] == "4 problems:"
    assert [line.removeprefix(f"{n}. {path}, ")[:14] for n, line in enumerate(told[1:], 1)] == [
        *("row 2 (line 4)", "row 3 (line 5)", "row 4 (line 6)", "row 4 (line 6)")
    ]


def test_claims_go_through_the_ledger_of_a_notebook(tmp_path):
    claims = pd.DataFrame([RIGHT, RIGHT | {"claim_id": "b", "published": 0.9}])
    rows = nb.check_claims(STUDY, claims, RESULTS)
    run = record.open("my-study", source="study", output_dir=str(tmp_path))
    with pytest.raises(ValueError, match="verdicts on a paper's claims are computed here"):
        run.claims(rows[:1].assign(claim_id="huse/table1/a/huse"))
    run.claims(rows)
    run.claims(pd.DataFrame([{"claim_id": "study/pilot/seen", "value": 0.3}]))
    ledger = run.close()
    assert dict(zip(ledger["claim_id"], ledger["verdict"], strict=True)) == {
        "study/pilot/seen": "new",
        "study/pilot/table2/bleu": "matches",
        "study/pilot/b": "differs",
    }
    counted = ledgers.summary(ledger, load_claims()).set_index("rests on")
    assert counted["rows"].to_dict() == {"your own claims": 2, "our own results": 1}
    assert counted.loc["your own claims", ["matches", "differs"]].tolist() == [1, 1]


def test_ids_begin_with_the_source_and_the_studys_name():
    for name, place in {"My Study 2": "my_study_2", "研究": "study"}.items():
        assert check(study=STUDY.replace(name=name))["claim_id"] == f"study/{place}/table2/bleu"
    row = check(study=nb.simulate("gaussian", n_outputs=20, seed=0))
    assert (row["claim_id"], row["source"]) == ("simulated/gaussian/table2/bleu", "simulated")


def test_an_old_name_of_a_result_is_read_with_a_warning():
    with pytest.warns(UserWarning, match="'estimate', no 'rho'"):
        row = check(column="rho")
    assert row[["verdict", "recomputed", "ci_low"]].tolist() == ["matches", 0.41, 0.1]
