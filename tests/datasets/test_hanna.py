"""HANNA: tidy tables, and the Kendall correlations of its authors' repository."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

import nlgbench as nb
from nlgbench.datasets.hanna import DIMENSIONS, RAW_FILE, read_hanna
from tests.released import needs

RELEASED = needs(RAW_FILE)
CRITERIA = [name.lower() for name in DIMENSIONS]
#: Kendall's correlations in absolute value, by criterion, as the authors' repository has them:
#: its rankings/system_kendall.csv and rankings/story_kendall.csv.
KENDALL = {
    "system": {
        "bleu": (0.555556, 0.333333, 0.422222, 0.422222, 0.333333, 0.539360),
        "rouge_1_f_score": (0.511111, 0.377778, 0.555556, 0.377778, 0.377778, 0.494413),
        "meteor": (0.555556, 0.422222, 0.422222, 0.511111, 0.422222, 0.629253),
        "chrf": (0.6, 0.466667, 0.466667, 0.555556, 0.466667, 0.674200),
        "bertscore_f1": (0.511111, 0.555556, 0.733333, 0.555556, 0.555556, 0.494413),
        "moverscore": (0.6, 0.555556, 0.733333, 0.466667, 0.555556, 0.404520),
        "baryscore_w": (0.555556, 0.511111, 0.688889, 0.511111, 0.511111, 0.449467),
        "bartscore_sh": (0.511111, 0.555556, 0.555556, 0.555556, 0.555556, 0.674200),
        "repetition_3": (0.377778, 0.333333, 0.244444, 0.333333, 0.333333, 0.314627),
        "supert_ps": (0.111111, 0.2, 0.022222, 0.2, 0.2, 0.179787),
    },
    "output": {
        "bleu": (0.073779, 0.109830, 0.133306, 0.105941, 0.138524, 0.189139),
        "rouge_1_f_score": (0.119607, 0.159466, 0.170323, 0.151479, 0.204187, 0.268507),
        "meteor": (0.090941, 0.146330, 0.180573, 0.156030, 0.190086, 0.277228),
        "chrf": (0.096211, 0.166428, 0.173901, 0.171027, 0.201724, 0.289997),
        "bertscore_f1": (0.131924, 0.139199, 0.168952, 0.123239, 0.191840, 0.241152),
        "moverscore": (0.160309, 0.160706, 0.149044, 0.126425, 0.198226, 0.249612),
        "baryscore_w": (0.115790, 0.154343, 0.173389, 0.126102, 0.194820, 0.240473),
        "bartscore_sh": (0.034852, 0.034181, 0.107205, 0.038594, 0.077563, 0.078199),
        "repetition_3": (0.048914, 0.195069, 0.107135, 0.189015, 0.204065, 0.260243),
        "supert_ps": (0.263665, 0.029279, 0.016184, 0.025587, 0.051958, 0.063254),
    },
}


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
    keys = ["output_id", "dimension"]
    pd.testing.assert_series_equal(
        whole.judgments.groupby(keys)["value"].mean(),
        released.judgments.groupby(keys)["value"].mean(),
    )
    refused = nb.agreement(released, dimension="relevance")
    assert refused["estimate"].isna().all() and (refused["n_left_out"] > 0).any()


def correlations(study, granularity):
    found = nb.correlate(
        study,
        evaluators=list(KENDALL[granularity]),
        statistics=["kendall_b"],
        granularity=granularity,
        resample=None,
        n_resamples=1,
    )
    assert found["n"].eq(10 if granularity == "system" else 960).all()
    return found.set_index(["evaluator", "dimension"])["estimate"].abs()


@RELEASED
@pytest.mark.parametrize("granularity", ["system", "output"])
def test_the_authors_correlations_follow_without_human_stories(released, granularity):
    """Their "system" is over ten systems' means, their "story" over all 960 stories at once."""
    by, n_compared = correlations(released, granularity), 0
    for evaluator, values in KENDALL[granularity].items():
        for criterion, value in zip(CRITERIA, values, strict=True):
            if (granularity, criterion) != ("system", "complexity"):
                assert by[evaluator, criterion] == pytest.approx(value, abs=6e-7)
                n_compared += 1
    assert n_compared == (50 if granularity == "system" else 60)


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
    by = correlations(released, "system")
    for evaluator, values in KENDALL["system"].items():
        own = scores.loc[means.index, evaluator]
        assert abs(kendalltau(own, means).statistic) == pytest.approx(values[-1], abs=6e-7)
        expected = abs(kendalltau(own, sums).statistic)
        assert by[evaluator, "complexity"] == pytest.approx(expected)
        assert expected != pytest.approx(values[-1], abs=1e-3)
