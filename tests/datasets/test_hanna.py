"""HANNA becomes tidy tables, and its authors' system-level complexity differs by rounding."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import nlgbench as nb
from nlgbench.datasets.hanna import DIMENSIONS, RAW_FILE, read_hanna
from nlgbench.datasets.published import load_printed
from tests.released import needs

RELEASED = needs(RAW_FILE)
CRITERIA = [name.lower() for name in DIMENSIONS]


def release():
    """Two systems and two prompts; every column that a name can come from."""
    rows = []
    for n, model in enumerate(["Human", "GPT-2 (tag)"]):
        row = {"Model": model} | {name: [2.0, n + 2.0] for name in DIMENSIONS}
        row |= {"BaryScore-SD-0.5 \u039e\u03b5": [0.5, n], "Novelty-1 \u00a4\u00a7": [1, 2]}
        for letters in DIMENSIONS.values():
            row |= {f"Human {rater} {letters}": [rater, rater + n] for rater in (1, 2, 3)}
            row |= {f"Human Avg 1 {letters}": [2.5, 2.5], f"Mistral-7B {letters} 2": [4, 5]}
        rows.append({name: json.dumps(cell).strip('"') for name, cell in row.items()})
    return pd.DataFrame(rows)


def test_a_release_becomes_tidy_tables(tmp_path):
    path = tmp_path / "hanna.csv"
    release().to_csv(path, index=False, encoding="utf-8")
    study = read_hanna(path)
    assert study.outputs[["output_id", "item_id", "is_human"]].to_numpy().tolist() == [
        ["p01-human", "p01", True],
        ["p02-human", "p02", True],
        ["p01-gpt_2_tag", "p01", False],
        ["p02-gpt_2_tag", "p02", False],
    ]
    assert study.dimensions == CRITERIA
    assert study.judgments["annotator_id"].unique().tolist() == ["mean"]
    assert study.judgments["value"].tolist() == [2, 2, 2, 3] * 6
    assert study.scores[["evaluator", "score"]].to_numpy().tolist() == [
        *(["baryscore_sd_0.5", score] for score in (0.5, 0, 0.5, 1)),
        *(["novelty_1", score] for score in (1, 2, 1, 2)),
    ]


def test_single_ratings_are_of_unknown_people_and_average_to_the_means(tmp_path):
    path = tmp_path / "hanna.csv"
    release().to_csv(path, index=False, encoding="utf-8")
    study, means = read_hanna(path, ratings=True), read_hanna(path)
    keys = ["output_id", "dimension"]
    found = study.judgments.groupby(keys)["value"].mean()
    pd.testing.assert_series_equal(found, means.judgments.groupby(keys)["value"].mean())
    own = study.judgments.groupby("annotator_id")["output_id"].nunique()
    assert len(own) == 12 and (own == 1).all()
    assert study.scores["evaluator"].nunique() == 2


@pytest.fixture(scope="module")
def released():
    return nb.load("hanna")


@RELEASED
def test_the_release(released):
    assert len(released.outputs) == 11 * 96 and len(released.systems) == 10
    assert released.scores["evaluator"].nunique() == 72
    assert released.scores["score"].notna().all()
    whole = nb.load("hanna", ratings=True)
    assert len(whole.judgments) == 3 * len(released.judgments) == 3 * 6 * 1056
    refused = nb.agreement(released, dimension="relevance")
    assert refused["estimate"].isna().all() and (refused["n_left_out"] > 0).any()


@RELEASED
def test_rounding_unties_two_systems_in_the_authors_complexity(released):
    """Twice two systems' ratings have one sum; means of thirds keep only one pair together."""
    table = released.judgments.merge(released.outputs[~released.outputs["is_human"]])
    ratings = table[table["dimension"] == "complexity"].groupby("system")["value"]
    means = ratings.apply(lambda one: np.mean(one.to_list()))
    sums = (3 * ratings.sum()).round()
    assert sums[sums.duplicated(keep=False)].to_dict() == {
        **dict.fromkeys(["bertgeneration", "roberta"], 694),
        **dict.fromkeys(["gpt", "td_vae"], 718),
    }
    assert means["bertgeneration"] == means["roberta"] and means["gpt"] != means["td_vae"]
    scores = released.scores.merge(released.outputs[["output_id", "system"]])
    scores = scores.pivot_table(index="system", columns="evaluator", values="score")
    printed = load_printed("hanna/system_kendall")["complexity"]
    options = {"statistics": ["kendall_b"], "resample": None, "n_resamples": 1}
    found = nb.correlate(released, dimension="complexity", **options).set_index("evaluator")
    for evaluator, value in printed.items():
        own = scores.loc[means.index, evaluator]
        assert abs(kendalltau(own, means).statistic) == pytest.approx(value, abs=6e-7)
    for evaluator in ("bleu", "chrf", "supert_ps"):
        expected = kendalltau(scores.loc[means.index, evaluator], sums).statistic
        assert found.loc[evaluator, "estimate"] == pytest.approx(expected)
        assert abs(expected) != pytest.approx(printed[evaluator], abs=1e-3)
