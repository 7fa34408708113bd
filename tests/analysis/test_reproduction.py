"""Degrees of reproduction: published examples, properties, and what is undefined."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.analysis.reproduction import by_paper, cv_star
from nlgbench.datasets.published import load_claims

# Belz, Popovic and Mille (2022), Table 4: BLEU and SARI of repeats of one system, and their CV*.
PRINTED = {
    1.562: [84.51, 84.50, 87.46, 85.60, 84.20, 86.61, 86.20],
    2.487: [30.65, 30.65, 29.13, 30.65, 29.96],
    4.176: [87.50, 80.75, 89.36, 88.10, 89.64, 88.80],
    3.572: [31.11, 30.28, 31.11, 29.12],
}
POSITIVE = st.lists(st.floats(0.5, 100), min_size=2, max_size=8)


def ledger(pairs, *, place="huse/table1/row{}/huse", verdict="differs", **columns):
    rows = [
        {"claim_id": place.format(n), "published": a, "recomputed": b}
        for n, (a, b) in enumerate(pairs)
    ]
    known = {"variant": "", "source": "released", "verdict": verdict}
    return pd.DataFrame(rows).assign(**known | columns)


@pytest.mark.parametrize("printed", PRINTED)
def test_cv_star_is_the_published_one(printed):
    assert round(float(cv_star(PRINTED[printed])), 3) == printed


def test_cv_star_to_all_digits_of_the_authors_readme():
    assert cv_star(PRINTED[1.562]) == pytest.approx(1.5616560359100269, rel=1e-12)


@given(POSITIVE, st.floats(0.01, 1000))
def test_cv_star_does_not_depend_on_the_unit_or_the_order(values, factor):
    scaled = cv_star(np.array(values[::-1]) * factor)
    np.testing.assert_allclose(cv_star(values), scaled, rtol=1e-6, atol=1e-6)


def test_what_has_no_cv_star_is_nan():
    sets = [[1.0, np.nan], [0.0, 1.0], [-1.0, 2.0], [3.0, 3.0], [0.1, 5.0]]
    assert np.isnan(cv_star(sets)).tolist() == [True, True, True, False, False]
    assert cv_star(sets)[3] == 0
    with pytest.raises(ValueError, match="at least two measurements"):
        cv_star([1.0])


@pytest.mark.parametrize(
    ("unit", "start"),
    [
        ("percent", 0.0),
        ("correlation", -1.0),
        ("correlation, magnitude", 0.0),
        ("correlation in absolute value, 0 to 1", 0.0),
        ("kappa", -1.0),
        ("mean rating", 1.0),
        ("mean human score, 1 to 5", 1.0),
    ],
)
def test_scales_begin_where_their_unit_says(unit, start):
    known = load_claims()
    ids = known.loc[known["unit"] == unit, "claim_id"]
    (one,) = nb.reproduction(ledger([(2.0, 2.2)], place=ids.iloc[0])).to_dict("records")
    assert one["scale_start"] == start
    assert one["cv_star"] == pytest.approx(cv_star([2.0 - start, 2.2 - start]))


def test_what_is_no_number_has_no_cv_star_and_says_why():
    known = load_claims().drop_duplicates("unit").set_index("unit")["claim_id"]
    units = [
        next(unit for unit in known.index if words in unit)
        for words in ("nats", "printed with a star", "bound")
    ]
    frame = ledger([(-2.0, -2.1), (1.0, 1.0), (0.001, 0.0002)])
    frame["claim_id"] = known[units].tolist()
    found = nb.reproduction(frame)
    assert found["kind"].tolist() == ["number", "label", "bound"]
    assert found["cv_star"].isna().all()
    words = ["log-probabilities have no zero point", "a label has no CV*", "a bound has no CV*"]
    assert found["reason"].tolist() == words
    below = nb.reproduction(ledger([(1.0, -0.1)]))
    assert below["cv_star"].isna().all() and "not above the start" in below["reason"].item()


def test_verdicts_are_counted_and_other_conditions_are_not_in_the_median():
    same, other = ledger([(1.0, 1.0)] * 3, verdict="matches"), ledger([(1.0, 3.0)] * 3)
    other = other.assign(verdict="new", variant="trained here", reason="another training")
    finding = ledger([(1.0, 0.5)], place="huse/direction/f{}", verdict="same direction")
    (one,) = by_paper(nb.reproduction(pd.concat([same, other, finding]))).to_dict("records")
    assert (one["claims"], one["rows"]) == (4, 7)
    assert (one["matches"], one["new"], one["same direction"], one["differs"]) == (3, 3, 1, 0)
    assert (one["median_cv_star"], one["n_cv_star"]) == (0, 3)


def test_ones_own_claims_have_degrees_too():
    study = nb.Study(
        pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]}), name="pilot"
    )
    claims = pd.DataFrame(
        {"claim_id": ["table2/bleu", "table2/chrf"], "published": ["0.40", "0.50"]}
    )
    claims = claims.assign(analysis="correlate", where=["evaluator=bleu", "evaluator=chrf"])
    table = pd.DataFrame({"evaluator": ["bleu", "chrf"], "estimate": [0.404, 0.55]})
    found = nb.reproduction(nb.check_claims(study, claims, {"correlate": table}))
    counts = by_paper(found)[["paper", "matches", "differs"]]
    assert counts.to_numpy().tolist() == [["study/pilot", 1, 1]]
    assert found["where"].tolist() == ["table2", "table2"]
    assert found["reason"].str.contains("assumed to start at 0").all()


def test_an_empty_ledger_and_wrong_ones():
    frame = ledger([(1.0, 1.0)])
    assert nb.reproduction(frame.assign(published=np.nan)).empty
    with pytest.raises(ValueError, match=r"not repeat a key.*claim_id='huse/table1/row0/huse'"):
        nb.reproduction(pd.concat([frame, frame]))
    with pytest.raises(ValueError, match="'verdict' must be one of"):
        nb.reproduction(frame.assign(verdict="fine"))
    for wrong in (frame.drop(columns="source"), frame.assign(source="hearsay")):
        with pytest.raises(ValueError, match="'source' must be"):
            nb.reproduction(wrong)
