"""Systems of one item, few items that differ, values that never vary, and very small units."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

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


@pytest.mark.parametrize(("won", "lost"), [(5, 0), (6, 0), (4, 2), (20, 7), (29, 0), (0, 0)])
def test_few_items_that_differ_have_mcnemars_exact_test(won, lost):
    right = np.arange(200)
    study = score_systems(A=right < 100, B=(right < 100 - won) | (right >= 200 - lost))
    pair = nb.compare_systems(study).pairs.iloc[0]
    expected = stats.binomtest(won, won + lost).pvalue if won else 1.0
    assert pair["p"] == pytest.approx(expected)
    assert pair["verdict"] == ("better" if expected < 0.05 else "undecided")
    excludes = pair["ci_low"] > 0 or pair["ci_high"] < 0
    assert np.isnan(pair["ci_low"]) or excludes == (expected < 0.05)
    assert (won, lost) != (5, 0) or pair[["status", "verdict"]].tolist() == [
        "few_decisive",
        "undecided",
    ]


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
