"""Systems of one item, few items that differ, values that never vary, and very small units."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import nlgbench as nb
from nlgbench.analysis.people.decisive import flip_signs
from nlgbench.study import Study

INTERVALS = ["estimate", "ci_low", "ci_high", "rank_low", "rank_high"]
BY_PAIR = ["estimate", "ci_low", "ci_high", "p", "p_adjusted", "superiority"]


def build_study(rows):
    table = pd.DataFrame(rows, columns=["system", "item_id", "annotator_id", "value"])
    table["output_id"] = table["system"] + "/" + table["item_id"]
    outputs = table.drop_duplicates("output_id")[["output_id", "item_id", "system"]]
    return Study(outputs, table[["output_id", "annotator_id", "value"]])


def score_systems(**values):
    """Judge each system by one annotator; a value per item."""
    cells = itertools.chain(*([(s, n, v) for n, v in enumerate(x)] for s, x in values.items()))
    return build_study([(s, f"i{n:03d}", "w", float(v)) for s, n, v in cells])


@pytest.mark.parametrize("n_annotators", [3, 20])
def test_a_system_of_one_item_changes_nothing_for_the_others(n_annotators):
    study = nb.simulate("judgments", n_items=40, n_annotators=n_annotators, seed=1)
    wrong = (study.outputs["system"] == "s02") & (study.outputs["item_id"] == "i0007")
    system = study.outputs["system"].mask(wrong, "s2")
    misspelled = nb.compare_systems(study.replace(outputs=study.outputs.assign(system=system)))
    absent = study.judgments["output_id"].isin(study.outputs.loc[wrong, "output_id"])
    without = nb.compare_systems(study.replace(judgments=study.judgments[~absent]))
    typo = misspelled.systems[misspelled.systems["system"] == "s2"].iloc[0]
    assert typo["status"] == "few_items" and np.isfinite(typo["estimate"])
    assert typo[["ci_low", "rank", "rank_low"]].isna().all()
    others = misspelled.systems[misspelled.systems["system"] != "s2"]
    pd.testing.assert_frame_equal(others[INTERVALS], without.systems[INTERVALS])
    pairs = misspelled.pairs
    with_typo = (pairs[["system", "opponent"]] == "s2").any(axis=1)
    assert with_typo.sum() == 10 and set(pairs.loc[with_typo, "status"]) == {"few_items"}
    assert pairs.loc[with_typo, ["ci_low", "p", "p_adjusted"]].isna().all(axis=None)
    estimates = misspelled.systems.set_index("system")["estimate"]
    expected = pairs["system"].map(estimates) - pairs["opponent"].map(estimates)
    np.testing.assert_allclose(pairs["estimate"], expected, atol=1e-9)
    kept = pairs[~with_typo].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept[BY_PAIR], without.pairs[BY_PAIR])
    assert set(misspelled.annotators["status"]) == {"ok"}


@pytest.mark.parametrize("n_items", [2, 3])
def test_a_system_of_few_items_has_their_degrees_of_freedom_and_a_warning(n_items):
    values = np.random.default_rng(0).normal(size=(3, 40))
    study = score_systems(a=values[0], b=values[1], c=values[2][:n_items])
    pairs = nb.compare_systems(study).pairs.set_index(["system", "opponent"])
    assert pairs.loc[("a", "c"), "df"] == n_items - 1
    assert pairs.loc[("a", "c"), "status"] == "few_items"
    assert pairs.loc[("a", "b"), "df"] > 38 and pairs.loc[("a", "b"), "status"] == "ok"


def score_counts(won, lost, tied, low=0):
    """Score two systems `low` or one more; the first wins, loses and ties so many items."""
    sizes = [won, lost, tied // 2, tied - tied // 2]
    return score_systems(
        A=np.repeat([1, 0, 0, 1], sizes) + low, B=np.repeat([0, 1, 0, 1], sizes) + low
    )


@pytest.mark.parametrize("low", [0, 3])
@pytest.mark.parametrize("counts", [(5, 0), (6, 0), (4, 2), (20, 7), (29, 0), (0, 0)])
def test_few_items_that_differ_have_mcnemars_exact_test(counts, low):
    pair = nb.compare_systems(score_counts(*counts, 200 - sum(counts), low)).pairs.iloc[0]
    expected = mcnemar([[0, counts[0]], [counts[1], 0]], exact=True).pvalue
    assert pair["p"] == pytest.approx(expected)
    assert pair["verdict"] == ("better" if expected < 0.05 else "undecided")
    assert np.isnan(pair["ci_low"]) or (pair["ci_low"] > 0) == (expected < 0.05)
    if low == 0:
        assert pair["status"] == "ok" and not pair[["ci_low", "superiority_low"]].isna().any()
    elif counts == (5, 0):
        assert pair["status"] == "few_decisive" and np.isnan(pair["ci_low"])


#: Items won, lost and tied, confidence and Tango's limits: Tango (1998), Agresti and Min (2005) and
#: Fagerland et al. (2014) as in the tests of R's ratesci; the last two by R's PropCIs 0.3-0.
PUBLISHED = [
    (0, 1, 43, 0.9, -0.096, 0.037),
    (9, 3, 20, 0.95, -0.027, 0.390),
    (16, 8, 62, 0.95, -0.020, 0.207),
    (1, 7, 13, 0.95, -0.517, 0),  # published: -0.026, but the exact test does not reject 0
    (60, 20, 920, 0.95, 0.0231, 0.0584),
    (25, 28, 565, 0.9, -0.0247, 0.0148),
]


@pytest.mark.parametrize(("won", "lost", "tied", "confidence", "low", "high"), PUBLISHED)
def test_intervals_of_binary_scores_are_tangos(won, lost, tied, confidence, low, high):
    study = score_counts(won, lost, tied)
    pairs = nb.compare_systems(study, confidence=confidence).pairs.set_index("system")
    limits = pairs.loc["A", ["ci_low", "ci_high"]].astype(float)
    assert limits.round(4 if tied > 100 else 3).tolist() == [low, high]
    assert pairs.loc["B", ["ci_high", "ci_low"]].tolist() == (-limits).tolist()
    counts = pairs.loc[["A", "B"], ["won", "lost", "tied"]].to_numpy().tolist()
    assert counts == [[won, lost, tied], [lost, won, tied]]
    p = mcnemar([[0, won], [lost, 0]], exact=True).pvalue
    np.testing.assert_allclose(pairs["p"], p)
    # Two one-sided score tests at the farther limit of a 90% interval.
    if confidence == 0.9:
        p = nb.compare_systems(study, margin=limits.abs().max()).pairs["p_equivalent"]
        np.testing.assert_allclose(p, 0.05)


def test_other_scores_and_clusters_keep_t():
    scores = (np.random.default_rng(0).random((3, 90)) < 0.6) * 1.0
    scores[2, 0] = 0.5  # such as the mean of two runs
    study = score_systems(a=scores[0], b=scores[1], c=scores[2])
    pairs = nb.compare_systems(study).pairs.set_index(["system", "opponent"])
    assert pairs["won"].notna().sum() == 2 and np.isfinite(pairs.loc[("a", "b"), "won"])
    document = study.outputs["item_id"].str[1:].astype(int) // 3
    outputs = study.outputs.assign(document=document.astype(str))
    settings = {"extra": ["document"], "clusters": "document"}
    assert "won" not in nb.compare_systems(study.replace(outputs=outputs, settings=settings)).pairs
    missing = study.replace(judgments=study.judgments.drop(index=0))
    assert "won" not in nb.compare_systems(missing).pairs


@pytest.mark.parametrize("seed", range(5))
def test_flips_of_signs_are_those_of_enumeration_and_permutation(seed):
    difference = np.random.default_rng(seed).integers(-3, 5, size=11).astype(float)
    flips = np.array(list(itertools.product([-1, 1], repeat=11))) @ difference
    assert flip_signs(difference) == (np.abs(flips) >= abs(difference.sum())).mean()


def test_documents_flip_as_a_whole_and_unequal_annotators_leave_t():
    wins = np.repeat([*[1.0] * 6, -1.0, *[0.0] * 13], 4)
    study = score_systems(a=wins + 3, b=np.full(80, 3.0))
    document = study.outputs["item_id"].str[1:].astype(int) // 4
    settings = {"extra": ["document"], "clusters": "document"}
    outputs = study.outputs.assign(document=document.astype(str))
    pair = nb.compare_systems(study.replace(outputs=outputs, settings=settings)).pairs.iloc[0]
    assert pair["p"] == pytest.approx(stats.binomtest(6, 7).pvalue)
    missing = study.judgments["output_id"] == "a/i000"
    pair = nb.compare_systems(study.replace(judgments=study.judgments[~missing])).pairs.iloc[0]
    t_test = stats.t.sf(abs(pair["estimate"] / pair["se"]), pair["df"]) * 2
    assert pair["p"] == pytest.approx(t_test) and pair["status"] == "few_decisive"


def test_systems_without_variation_have_no_interval_and_an_exact_test():
    noisy = np.random.default_rng(0).normal(size=12)
    comparison = nb.compare_systems(score_systems(a=[5.1] * 12, b=[0.3] * 12, c=noisy))
    systems = comparison.systems.set_index("system")
    assert systems.loc[["a", "b"], ["ci_low", "ci_high"]].isna().all(axis=None)
    assert systems["status"].to_dict() == {"a": "no_variation", "b": "no_variation", "c": "ok"}
    pair = comparison.pairs.set_index(["system", "opponent"]).loc[("a", "b")]
    assert pair["p"] == pytest.approx(2 / 2**12) and pair["verdict"] == "better"
    assert pair["status"] == "no_variation" and np.isnan(pair["ci_low"])


def test_skewed_means_have_a_status_and_ratings_have_none():
    normal = stats.norm.ppf((np.arange(60) + 0.5) / 60)
    ratings = np.clip(np.round(4.4 + 0.9 * normal), 1, 5)
    incomes = np.exp(1.5 * normal)
    study = score_systems(ratings=ratings, incomes=incomes, zeros=np.arange(60) < 4)
    statuses = nb.compare_systems(study).systems.set_index("system")["status"]
    assert statuses.to_dict() == {"ratings": "ok", "incomes": "skewed", "zeros": "skewed"}
