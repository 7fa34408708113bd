"""Captions, votes and listeners answer the claims of Newman et al. (2020) on the release."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import DescrStatsW

import nlgbench as nb
from nlgbench.datasets.published import load_claims
from nlgbench.evaluators.listeners.listeners import Calibration, Listener
from nlgbench.inference import bootstrap_mean
from nlgbench.papers import comm_eval as paper
from nlgbench.study import Study
from tests.released import needs

RELEASED = needs("comm-eval")


def few():
    """Two descriptive captions of twin contexts, as misleading ones too, and what was picked."""
    outputs = pd.DataFrame(
        [
            ("ci0.0-00", "ci0.0", "descriptive", 'The "Red"'),
            ("ci0.1-00", "ci0.1", "descriptive", "pink"),
            ("ci0.1-01", "ci0.1", "ambiguous", "color"),
            ("ci0.0-00-twin", "ci0.1", "misleading", 'The "Red"'),
        ],
        columns=["output_id", "item_id", "system", "text"],
    ).assign(is_human=True)
    outputs["context"] = outputs["item_id"]
    picks = {
        "ci0.0-00": [(1, 0), (1, 0), (0, 0)],  # the third picked the second distractor
        "ci0.1-00": [(1, 0), (0, 1), (1, 0)],
        "ci0.1-01": [(0, 1), (1, 0), (0, 0)],
    }
    rows = [
        (name, f"l{n}", dimension, float(value), "ci0")
        for name, three in picks.items()
        for n, both in enumerate(three, 1)
        for dimension, value in zip(("listener_success", "twin_picked"), both, strict=True)
    ]
    columns = ["output_id", "annotator_id", "dimension", "value", "group_id"]
    judgments = pd.DataFrame(rows, columns=columns)
    references = pd.DataFrame({"item_id": ["ci0.0"], "reference_id": "r", "text": 'a "red" '})
    return Study(outputs, judgments, references=references)


def test_human_votes_turn_the_same_clicks_round():
    negated, picked = (
        paper.human_votes(few(), misleading=rule).scores.set_index("output_id")["score"]
        for rule in ("negated", "twin_picked")
    )
    own, twin = ([f"{name}/l{n}" for n in (1, 2, 3)] for name in ("ci0.0-00", "ci0.0-00-twin"))
    assert negated[own].tolist() == [1, 1, 0]
    assert negated[twin].tolist() == [0, 0, 1]
    assert picked[twin].tolist() == [0, 0, 0]
    assert picked["ci0.1-00-twin/l2"] == 1
    quality = paper.human_votes(few()).judgments.set_index("output_id")["value"]
    assert quality[[own[0], twin[0], "ci0.1-01/l1"]].tolist() == [3, 1, 2]
    means = paper.human_votes(few(), per="caption").scores.set_index("output_id")["score"]
    assert means["ci0.0-00"] == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="no judgments of listener_success"):
        paper.human_votes(few().replace(judgments=None))


def test_the_design_is_a_judgment():
    study = paper.designed(few())
    assert study.dimension() == "quality"
    design = study.judgments[study.judgments["dimension"] == "quality"]
    assert design["value"].tolist() == [3, 3, 2, 1]
    assert paper.best_first(study) == ["descriptive", "ambiguous", "misleading"]
    assert not paper.as_systems(study).outputs["is_human"].any()


def test_captions_are_compared_in_lower_case_without_quotation_marks():
    study = paper.wording(few())
    assert study.outputs["text"].tolist() == ["the red", "pink", "color", "the red"]
    assert study.references["text"].tolist() == ["a red"]
    scored = paper.score_wording(few())
    assert set(scored.scores["evaluator"]) == set(paper.OVERLAP)
    first = scored.scores.set_index(["output_id", "evaluator"])["score"]
    assert first["ci0.0-00", "bleu_1@coco"] == pytest.approx(0.5)


class Cautious(Listener):
    """Sure of the target or of nothing, and whether words stand in order."""

    def __init__(self, name, study, sure):
        self.name = name
        self.sure, self.texts = sure, set(study.outputs["text"])

    def predict_proba(self, contexts, captions):
        known = np.array([caption in self.texts for caption in captions])
        proba = np.full(contexts.shape[:2], 1 / contexts.shape[1])
        proba[known] = (1 - self.sure) / (contexts.shape[1] - 1)
        proba[known, 0] = self.sure
        return proba


#: Tests of ours and of the paper's fifteen pairs, with invented p-values of .001 to .045.
WILLIAMS = pd.DataFrame(
    [
        *itertools.combinations(
            ["bleu_1@coco", "rouge_l", "cider_d", "meteor", *paper.RELEASED], 2
        ),
        ("literal_0", "meteor"),
    ],
    columns=["evaluator_a", "evaluator_b"],
)
WILLIAMS["p"] = [*np.linspace(0.003, 0.04, 12), 0.001, 0.045, 0.002, 0.9]


@pytest.fixture(scope="module")
def world():
    data = nb.simulate("colors", n_contexts=40, n_rounds={"train": 2}, seed=1)
    scored = paper.score_wording(paper.designed(data))
    listeners = {
        f"{kind}_0": Cautious(f"{kind}_0", scored, sure)
        for kind, sure in (("literal", 0.9), ("pragmatic", 0.5), ("context", 0.7))
    }
    listeners["ensemble"] = Cautious("ensemble", scored, 0.8)
    return data, nb.score(scored, list(listeners.values())), listeners


def test_directions_have_the_sign_of_what_is_said(world):
    _, captions, listeners = world
    said = paper.directions(captions, listeners, n_resamples=200, seed=0).set_index("slug")
    entropy = {p: -p * np.log(p) - (1 - p) * np.log((1 - p) / 2) for p in (0.5, 0.9)}
    # Every text is known, so beliefs differ by listener alone.
    more = said.loc["pragmatic_entropy_exceeds_literal"]
    assert more["estimate"] == pytest.approx(entropy[0.5] - entropy[0.9])
    assert more["ci_low"] == pytest.approx(more["estimate"])
    # Scores are .9 or .05, none in the middle third.
    score = captions.scored(["literal_0"]).merge(captions.outputs, on="output_id")
    high = (score.loc[score["system"] == "ambiguous", "score"] > 2 / 3).mean()
    bimodal = said.loc["ambiguous_scores_are_bimodal", "estimate"]
    assert bimodal == pytest.approx(min(high, 1 - high)) and 0 < high < 1
    changed = 0.1 - said.loc["word_order_literal", "estimate"]
    assert 0 < changed < 0.9 - 1 / 3
    assert said.loc["bleu_1_is_the_best_bleu", "estimate"] > 0
    r = paper.table1(captions).query("statistic == 'pearson'").set_index("evaluator")["estimate"]
    lead = r[["literal_0", "pragmatic_0"]].min() - r[[*paper.OVERLAP]].max()
    assert said.loc["listeners_beat_overlap", "estimate"] == pytest.approx(lead)
    assert paper.directions(captions, {}).empty


def test_results_become_rows_of_the_ledger(world, tmp_path):
    data, captions, listeners = world
    table = paper.table1(captions, n_resamples=50, seed=3)
    within = paper.with_success(captions, n_resamples=50, seed=3)
    measures = pd.DataFrame({"measure": ["accuracy"], "estimate": 0.8, "listener": "literal"})
    calibrated = Calibration(measures.assign(seed=3, stage="after"), pd.DataFrame())
    said = paper.directions(captions, listeners, n_resamples=50, seed=3)
    results = {"calibrated": calibrated, "table": table, "within": within, "said": said}
    results["tests"] = WILLIAMS
    results["counted"] = paper.counts(data)
    rows = paper.answers(data, **results, seed=3).set_index("claim_id")
    place = "simulated/listener-violins"
    assert rows.index.is_unique
    assert all(name.startswith(f"{place}/") for name in rows.index)
    assert rows.loc[f"{place}/literal/test_accuracy", "variant"] == "seed 3"
    pearson = table.set_index(["evaluator", "statistic"])["estimate"]
    assert rows.loc[f"{place}/bleu_1_coco/pearson", "value"] == pearson["bleu_1@coco", "pearson"]
    assert f"{place}/with_success_all/ensemble_spearman" in rows.index
    assert f"{place}/direction/word_order_context" in rows.index
    # One's own folder answers under its name, with the same values.
    data.write(tmp_path / "mine")
    own = paper.answers(nb.read_study(tmp_path / "mine", name="mine"), **results, seed=3)
    assert own["claim_id"].str.replace("study/mine", place).tolist() == rows.index.tolist()
    assert own["value"].tolist() == rows["value"].tolist()


def test_disagreements_on_a_simulated_study(world):
    _, captions, _ = world
    found = nb.disagreements(captions, "literal_0", "bleu_1@coco", n=3)
    assert len(found) == 6
    assert found["gap"].is_monotonic_increasing
    assert captions.outputs.set_index("output_id")["item_id"][found["output_id"]].is_unique
    turned = nb.disagreements(captions, "bleu_1@coco", "literal_0", n=3)
    np.testing.assert_allclose(turned["gap"], -found["gap"][::-1])
    with pytest.raises(ValueError, match=r"'bleu_1' is unknown. Did you mean 'bleu_1@coco'"):
        nb.disagreements(captions, "bleu_1", "literal_0")


def test_intervals_of_means_resample_whole_clusters():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(400), 4)
    values = rng.normal(size=400)[clusters] + 0.1 * rng.normal(size=1600)
    found = bootstrap_mean(values, clusters, n_resamples=2000, seed=rng)
    low, high = DescrStatsW(pd.Series(values).groupby(clusters).mean()).tconfint_mean()
    assert found["estimate"] == pytest.approx(values.mean())
    assert [found["ci_low"], found["ci_high"]] == pytest.approx([low, high], abs=0.01)


@pytest.fixture(scope="module")
def released():
    return nb.load("comm-eval")


@RELEASED
def test_every_count_of_the_paper_follows(released):
    """Sections 5.1 and 5.3 of Newman et al. (2020), arXiv:1909.07290."""
    table = paper.counts(released)
    claims = load_claims().set_index("claim_id")
    plain = table[table["variant"] == ""].set_index("claim_id")["estimate"]
    wanted = claims.index[
        claims.index.str.startswith("comm-eval/section5.1/")
        | claims.index.str.fullmatch(r"comm-eval/section5\.3/.*/human_scores")
    ]
    assert set(plain.index) == set(wanted)
    off = (plain - claims["published"][plain.index]).abs()
    assert (off <= claims["tolerance"][plain.index]).all(), off


@RELEASED
def test_the_human_row_is_the_printed_one_and_circular(released):
    claims = load_claims().set_index("claim_id")["published"]
    found = paper.human_row(released, n_resamples=1, seed=0).set_index("statistic")["estimate"]
    for name in ("pearson", "spearman", "kendall_b"):
        short = name.removesuffix("_b")
        assert abs(found[name] - claims[f"comm-eval/table1/human/{short}"]) < 0.001
    votes = paper.human_votes(nb.load("comm-eval", filtered=False), misleading="twin_picked")
    assert np.corrcoef(votes.scores["score"], votes.judgments["value"])[0, 1] < 0.54


@RELEASED
def test_overlap_equals_the_printed_table_by_the_paper_s_conventions(released):
    """Table 1 of Newman et al. (2020); two of 15 cells are .0006 and .0007 off."""
    table = paper.by_their_conventions(released)
    found = table.set_index(["evaluator", "statistic"])["estimate"]
    claims = load_claims().set_index("claim_id")["published"]
    rows = {"bleu_1@coco": "bleu_1", "rouge_l": "rouge_l", "cider_d": "cider"}
    rows |= {name: name.replace("@released", "_listener") for name in paper.RELEASED}
    for evaluator, row in rows.items():
        for statistic in ("pearson", "spearman", "kendall"):
            printed = claims[f"comm-eval/table1/{row}/{statistic}"]
            assert found[evaluator, statistic] == pytest.approx(printed, abs=0.00075)
    believed = paper._released_beliefs(released)
    literal = believed.query("evaluator == 'literal_0' and is_target").set_index("output_id")
    ambiguous = released.outputs.query("system == 'ambiguous'")["output_id"]
    middle = literal.loc[ambiguous, "probability"].between(1 / 3, 2 / 3).mean()
    assert middle == pytest.approx(0.097, abs=0.0005), "section 6.2: polarized, not uniform (1/3)"


@RELEASED
def test_the_release_answers_the_paper_s_claims(released):
    scored = paper.score_wording(paper.designed(released))
    table = paper.table1(scored, n_resamples=5)
    nothing = {"calibrated": None, "counted": paper.counts(released)}
    nothing |= {"within": paper.with_success(released), "said": paper.directions(scored, {})}
    nothing["tests"] = WILLIAMS
    rows = paper.answers(released, table=table, **nothing, n_resamples=5).set_index("claim_id")
    rows = rows[rows["variant"] == ""]
    claims = load_claims().set_index("claim_id")["published"]
    for row in ("bleu_1", "rouge_l", "human"):
        claim = f"comm-eval/table1/{row}/pearson"
        assert abs(rows.loc[claim, "value"] - claims[claim]) < 0.03
    assert "comm-eval/finding/human_caption_mean/kendall_b" in rows.index
    claim = "comm-eval/section5.3/all_pearson_correlations_different/p"
    assert rows.loc[claim, "value"] == 0.045 and "meteor against pragm" in rows.loc[claim, "reason"]
    nine = nothing | {"tests": WILLIAMS[1:]}
    assert claim not in set(paper.answers(released, table=table, **nine)["claim_id"])
    assert "published" in paper.forest(scored, table)
    assert list(paper.excuses(released, table)) == [
        "comm-eval/table1/meteor/*",
        "comm-eval/section5.3/all_pearson*",
    ]
    # A study that was changed is no longer the release.
    mine = released.replace(name="mine")
    changed = paper.answers(mine, table=table, **nothing | {"counted": paper.counts(mine)})
    assert changed["claim_id"].str.startswith("study/mine/").all()
