"""The release answers the claims of Judge the Judges; other studies get ids of their own."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.datasets.judge_the_judges import RAW_FILE
from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.evaluators.names import label
from nlgbench.papers import judge_the_judges as paper
from tests.released import needs

NAMES = ["rouge_l", "bleu_4@coco", "minus_self_bleu_4", "training_overlap_4"]
JUDGES = ["svm_meta@natural", "svm_meta@majority", "svm_individual@natural"]
SYSTEMS = ["memorizer_50", "corrupted_0.5", "grammar_t0.7", "grammar_t1.0"]


@pytest.fixture(scope="module")
def data():
    return nb.simulate("crowd", systems=SYSTEMS, n_outputs=20, n_truth=50, seed=1)


@pytest.fixture(scope="module")
def scored(data):
    references = nb.nearest_references(data, n=3, lower=True)
    corpus = [f"corpus_bleu_{n}@coco" for n in range(1, 5)]
    names = [*NAMES, *corpus, *JUDGES, *paper.errors_of(JUDGES)]
    options = {"discriminators": {"n_folds": 3}}
    return nb.score(data, names, references=references, options=options)


@pytest.fixture(scope="module")
def people(data):
    return paper.people(*(nb.accuracy(data, rule=rule) for rule in ("votes", "majority")))


@pytest.fixture(scope="module")
def results(data, scored, people):
    """What notebook 05b answers claims with, small."""
    quality = paper.quality(data, people)
    h1 = quality[quality["evaluator"] == "h1"]
    return {
        "people": people,
        "agreement": nb.agreement(data),
        "corpus": paper.table11(scored, NAMES, quality, seed=0)[0],
        "diversity": nb.diversity(data, n_resamples=5),
        "scored": scored,
        "partial": paper.explained_by_diversity(scored, NAMES, people=h1),
        "truth": paper.with_truth(scored, NAMES, people=h1, seed=0),
    }


def test_a_simulated_study_answers_under_its_own_ids(data, results):
    found = paper.answers(data, **results)
    own = found[found["source"] == ""]
    start = "simulated/evaluator-correlations"
    assert own["claim_id"].str.startswith(start).all()
    sizes = [2 * len(SYSTEMS) + 6, *(len(results[name]) for name in ("agreement", "partial"))]
    assert len(own) == sum(sizes) + len(results["truth"])
    by_id = own.set_index("claim_id")["value"]
    h1 = nb.accuracy(data).set_index("row")["estimate"]
    assert by_id[f"{start}/table3/memorizer_50/h1"] == pytest.approx(100 * h1["memorizer_50"])
    assert by_id[f"{start}/figure2/h1/true_positive_rate"] == pytest.approx(100 * h1["real"])
    assert f"{start}/truth/bleu_4_coco/kendall_b" in by_id
    assert by_id.index.str.contains("/partial_given_self_bleu/").sum() == len(NAMES) - 1
    assert (found["source"] == "published").sum() == 28


def test_ones_own_study_answers_under_its_name(data, results, tmp_path):
    data.write(tmp_path / "mine")
    mine = nb.read_study(tmp_path / "mine", name="mine")
    own, theirs = (paper.answers(one, **results) for one in (mine, data))
    ids = theirs["claim_id"].str.replace("simulated/evaluator-correlations", "study/mine")
    assert own["claim_id"].tolist() == ids.tolist()
    pd.testing.assert_series_equal(own["value"], theirs["value"])
    assert list(paper.excuses(mine))[-1] == "judge-the-judges/*"


def test_the_atlas_has_the_correlations_of_each_criterion(scored):
    names = [*NAMES, *paper.errors_of(JUDGES)]
    table = paper.atlas(scored, names, n_resamples=20, seed=0)
    assert len(table) == 2 * 3 * len(names)
    h1 = nb.correlate(scored, evaluators=["rouge_l"], clusters="group_id", n_resamples=20)
    ours = table[(table["criterion"] == "H1") & (table["evaluator"] == "rouge_l")]
    np.testing.assert_allclose(ours["estimate"], h1["estimate"][::-1])
    assert (ours["p_adjusted"] >= ours["p"]).all()
    _, layout = paper.atlas_layout(table, "Atlas")
    assert layout["table"].index.tolist() == list(map(label, names))
    statistics = ["τ-b", "Spearman", "Pearson"]
    assert layout["table"].columns.tolist() == list(product(["H1", "H2"], statistics))


def test_figure_3_has_the_papers_panels_and_generators_in_its_order(data, scored):
    texts = data.outputs[["output_id"]].iloc[::-1].assign(score=0.5, signature="")
    names = ["cider_d", "meteor", "chrf", "bleu_4@coco", "rouge_l"]
    scores = pd.concat(texts.assign(evaluator=name) for name in names)
    bars = paper.figure3(scored.replace(scores=scores), data)
    rows = product(["BLEU-4", "ROUGE-L", "METEOR", "CIDEr-D"], map(data.label, data.systems))
    assert list(zip(bars["data"], bars["evaluator"], strict=True)) == list(rows)


def test_the_released_batch_answers_the_papers_claims(scored, people):
    """Its counterparts' ids are those of the claims, whatever the texts."""
    claims = set(load_claims(paper.PAPER)["claim_id"])
    names = dict(zip(SYSTEMS, load_printed("judge-the-judges/table12").index, strict=False))
    own = scored.replace(outputs=scored.outputs.replace({"system": names}), system_scores=None)
    found = pd.concat(paper._answer_detection(own))
    assert set(found["claim_id"]) <= claims
    assert found["comparable"].eq(False).all()
    tables = found["claim_id"].str.split("/").str[1].value_counts()
    assert tables.to_dict() == {"table14": 4, "table7": 7, "table8": 7, "table5": 4}


@needs(RAW_FILE)
def test_counts_of_the_released_batch_are_of_the_release():
    study = nb.load("judge-the-judges")
    people = paper.people(*(nb.accuracy(study, rule=rule) for rule in ("votes", "majority")))
    rows, _ = paper.table3(study, people)
    assert list(rows["row"].unique()) == list(load_printed("judge-the-judges/table3").index)
    found = pd.concat(paper._answer_batch(study, people)).set_index("claim_id")
    claims = load_claims(paper.PAPER).set_index("claim_id").loc[found.index]
    off = (found["value"] - claims["published"]).abs() > claims["tolerance"] + 1e-9
    (only,) = off[off].index
    assert only.endswith("/workers/distinct")
