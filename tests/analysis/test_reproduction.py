"""Degrees of reproduction: published examples, properties, and what is undefined."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

import nlgbench as nb
from nlgbench.analysis.reproduction import _alpha as alpha_of_pairs

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


def units(frame, unit):
    return frame[["claim_id"]].assign(unit=unit)


@pytest.mark.parametrize("printed", PRINTED)
def test_cv_star_is_the_published_one(printed):
    assert round(nb.cv_star(PRINTED[printed])["estimate"][0], 3) == printed


def test_cv_star_to_all_digits_of_the_authors_readme():
    assert nb.cv_star(PRINTED[1.562])["estimate"][0] == pytest.approx(1.5616560359100269, rel=1e-12)


@given(POSITIVE, st.floats(0.01, 1000))
def test_cv_star_does_not_depend_on_the_unit_or_the_order(values, factor):
    one, scaled = nb.cv_star(values), nb.cv_star(np.array(values[::-1]) * factor)
    for name in ("estimate", "ci_low", "ci_high"):
        np.testing.assert_allclose(one[name], scaled[name], rtol=1e-6, atol=1e-6)
    low, estimate, high = one.loc[0, ["ci_low", "estimate", "ci_high"]]
    assert np.isnan(low) or 0 < low < estimate
    assert np.isnan(high) or estimate < high
    assert bool(one["reason"][0]) or (low < estimate < high)


@given(POSITIVE, st.floats(-50, 50))
def test_a_scale_is_moved_to_its_start(values, start):
    moved = nb.cv_star(np.array(values) + start, scale_start=start)
    np.testing.assert_allclose(nb.cv_star(values)["estimate"], moved["estimate"], atol=1e-5)


def test_of_two_values_it_is_their_difference_in_percent_of_the_mean():
    found = nb.cv_star([[98.0, 102.0], [49.0, 51.0]])
    factor = 1.125 / np.sqrt(2 / np.pi) / np.sqrt(2)
    assert found["estimate"].tolist() == pytest.approx([4 * factor, 4 * factor])
    assert found["reason"].str.contains("a factor of 72 apart").all()


def test_what_has_no_cv_star_is_nan_and_says_why():
    sets = [[1.0, np.nan], [0.0, 1.0], [-1.0, 2.0], [3.0, 3.0], [0.1, 5.0]]
    found = nb.cv_star(sets)
    assert np.isnan(found["estimate"]).tolist() == [True, True, True, False, False]
    assert found["estimate"][3] == 0
    words = ["fewer than two", "not above", "not above", "equal values", "two values"]
    assert [one in why for one, why in zip(words, found["reason"], strict=True)] == [True] * 5
    wide = nb.cv_star([0.1, 0.1, 0.1, 0.1, 0.1, 9.0])
    assert np.isnan(wide["ci_high"][0]) and "no upper end" in wide["reason"][0]
    for wrong in ("abc", [[[1.0]]], ["a"], [1.0, np.inf, 2.0]):
        with pytest.raises(ValueError, match="values must be"):
            nb.cv_star(wrong)


def test_the_degrees_of_a_set_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=15).round(2)
    y = x + rng.normal(size=15)
    frame = ledger(zip(x, y, strict=True))
    (one,) = nb.reproduction(frame, claims=units(frame, "correlation")).sets.to_dict("records")
    assert one["pearson"] == pytest.approx(pearsonr(x, y).statistic)
    assert one["spearman"] == pytest.approx(spearmanr(x, y).statistic)
    # Without ties Kendall's tau is twice the share of orders upheld, less 1.
    assert 2 * one["orders_upheld"] - 1 == pytest.approx(kendalltau(x, y).statistic, abs=0.02)
    assert one["pearson_low"] < one["pearson"] < one["pearson_high"]
    assert one["n"] == one["n_rows"] == 15


def test_alpha_is_that_of_krippendorffs_worked_example():
    # Krippendorff (2011, Computing Krippendorff's Alpha-Reliability), section A: two observers.
    first = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], dtype=float)
    second = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0], dtype=float)
    assert alpha_of_pairs(first, second, nominal=True) == pytest.approx(0.095, abs=5e-4)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12))
def test_interval_alpha_follows_from_its_definition(pairs):
    x, y = np.array(pairs, dtype=float).T
    both = np.concatenate([x, y])
    by_chance = ((both[:, None] - both) ** 2).sum() / (len(both) * (len(both) - 1))
    found = alpha_of_pairs(x, y, nominal=False)
    if by_chance == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(1 - ((x - y) ** 2).mean() / by_chance)


def test_a_shift_is_seen_by_alpha_and_cv_star_alone():
    frame = ledger([(n, n + 5.0) for n in range(1, 13)])
    (one,) = nb.reproduction(frame, claims=units(frame, "percent")).sets.to_dict("records")
    assert one["pearson"] == pytest.approx(1) and one["orders_upheld"] == 1
    assert one["alpha"] < 0.6 and one["median_cv_star"] > 30


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
    frame = ledger([(2.0, 2.2)])
    (one,) = nb.reproduction(frame, claims=units(frame, unit)).claims.to_dict("records")
    assert one["scale_start"] == start
    assert one["cv_star"] == pytest.approx(nb.cv_star([2.0, 2.2], scale_start=start)["estimate"][0])


def test_what_is_no_number_has_no_cv_star_and_is_counted():
    names = ["nats per token", "1 if printed with a star, else 0", "p-value, a printed upper bound"]
    frame = ledger([(-2.0, -2.1), (1.0, 1.0), (0.001, 0.0002)])
    found = nb.reproduction(frame, claims=frame[["claim_id"]].assign(unit=names))
    assert found.claims["kind"].tolist() == ["number", "label", "bound"]
    assert found.claims["cv_star"].isna().all() and found.claims["reason"].ne("").all()
    assert found.papers["n_cv_undefined"].tolist() == [1]
    assert "CV* undefined: 1 of 1 numbers" in str(found)


def test_findings_are_counted_and_undecided_ones_bound_their_share():
    verdicts = ["same direction"] * 3 + ["differs"] + ["undecided"] * 2
    frame = ledger([(1.0, 0.5)] * 6, place="comm-eval/direction/f{}", verdict=verdicts)
    (one,) = nb.reproduction(frame).papers.to_dict("records")
    assert (one["n_findings"], one["n_upheld"], one["n_not_upheld"]) == (6, 3, 1)
    assert (one["n_undecided"], one["n_differs"]) == (2, 0)
    assert one["findings_upheld"] == 0.75
    assert (one["upheld_low"], one["upheld_high"]) == (0.5, pytest.approx(5 / 6))
    assert "no interval" in one["reason"]


def test_a_finding_under_several_variants_is_one_finding():
    """Upheld under all of them, or not where any differs: not as often as it was looked at."""
    every = [["same direction"] * 2, ["same direction", "undecided"], ["same direction", "differs"]]
    frames = [
        ledger(
            [(1.0, 0.5)], place=f"comm-eval/direction/f{n}", verdict=verdict, variant=f"v{place}"
        )
        for n, verdicts in enumerate(every)
        for place, verdict in enumerate(verdicts)
    ]
    (one,) = nb.reproduction(pd.concat(frames)).papers.to_dict("records")
    assert (one["n_claims"], one["n_rows"], one["n_findings"]) == (3, 6, 3)
    assert (one["n_upheld"], one["n_not_upheld"], one["n_undecided"]) == (1, 1, 1)
    assert one["findings_upheld"] == 0.5 and one["n_differs"] == 0


def test_other_conditions_stand_apart_from_the_papers():
    same, other = ledger([(1.0, 1.0)] * 3, verdict="matches"), ledger([(1.0, 3.0)] * 3)
    other = other.assign(verdict="new", variant="trained here", reason="another training")
    found = nb.reproduction(pd.concat([same, other]))
    assert found.sets["alike"].tolist() == [True, False]
    (one,) = found.papers.to_dict("records")
    assert (one["n_matches"], one["n_not_alike"], one["median_cv_star"]) == (3, 3, 0)


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
    assert found.papers[["paper", "n_matches", "n_differs"]].to_numpy().tolist() == [
        ["study/pilot", 1, 1]
    ]
    assert found.claims["where"].tolist() == ["table2", "table2"]
    assert found.claims["reason"].str.contains("taken to begin at 0").all()


def test_an_empty_ledger_and_wrong_ones():
    frame = ledger([(1.0, 1.0)])
    assert nb.reproduction(frame.assign(published=np.nan)).claims.empty
    with pytest.raises(ValueError, match="two rows for 'huse/table1/row0/huse'"):
        nb.reproduction(pd.concat([frame, frame]))
    with pytest.raises(ValueError, match="a verdict 'fine'"):
        nb.reproduction(frame.assign(verdict="fine"))
    for wrong in (frame.drop(columns="source"), frame.drop(columns="source")[:0]):
        with pytest.raises(ValueError, match="no column 'source'"):
            nb.reproduction(wrong)
