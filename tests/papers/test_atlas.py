"""The atlas pools its studies, and recomputes the printed correlations of HANNA and USR."""

import pandas as pd
import pytest
from scipy.stats import kendalltau

import nlgbench as nb
from nlgbench.analysis.correlation import PooledCorrelations
from nlgbench.datasets.published import load_claims
from nlgbench.papers import atlas as paper
from tests.released import needs

RELEASED = needs("hanna/hanna_metric_scores_llm.csv", "usr")


def test_every_public_study_has_a_task_and_is_in_or_out():
    table = paper.members()
    assert table["task"].ne("").all()
    assert set(paper.LEFT_OUT) <= set(table["name"])
    assert (table["left_out"].ne("") == table["name"].isin(list(paper.LEFT_OUT))).all()


def test_simulated_studies_are_pooled_and_recorded():
    opened = paper.open_studies(n_items=20, seed=3)
    asked = {"statistic": "spearman", "seed": 0}
    found = paper.correlations(opened, granularity="output", **asked)
    assert set(found["task"]) == {"judgments", "reviews"}
    pooled = nb.pool_correlations(found)
    rows = paper.answers(opened, pooled)
    assert rows["claim_id"].str.startswith("simulated/11-atlas/finding/").all()
    means = pooled.summary.dropna(subset=["estimate"])
    assert rows["value"].tolist() == means["estimate"].tolist() and len(rows) >= 3
    own = means.set_index("evaluator")
    assert own.loc["close", "estimate"] > own.loc["coarse", "ci_high"]
    beyond = paper.differences_from_length(opened, **asked)
    counts = paper.summarize(found)["n_estimates"]
    assert counts.sum() == found["estimate"].notna().sum() and len(counts) == len(opened)
    board = paper.leaderboard(
        pooled, nb.pool_correlations(found, by="task"), excess := (nb.pool_correlations(beyond))
    )
    first = board.iloc[0]
    assert board["evaluator"].head(2).tolist() == ["close", "coarse"]
    assert (first["rank"], first["n_studies"], first["estimate"]) == (
        1,
        8,
        own["estimate"]["close"],
    )
    gap = excess.summary.set_index("evaluator_a").loc["close", "estimate"]
    assert first["beyond_length_estimate"] == gap
    effects = pooled.studies.query("evaluator == 'close'")["estimate"]
    assert first["judgments"] == pytest.approx(effects.mean())


@pytest.mark.release
@RELEASED
def test_what_hanna_and_usr_printed():
    """All follow but HANNA's of systems with complexity, and of scores that are next to equal."""
    names = ["hanna", "usr-topical-chat", "usr-persona-chat"]
    opened = {name: nb.load(name) for name in names}
    columns = ["evaluator", "granularity", "statistic", "estimate", "n_studies"]
    empty = pd.DataFrame(columns=[*columns, "prediction_status", "prediction_reason"], dtype=str)
    rows = paper.answers(opened, PooledCorrelations(empty, empty, 0.95))
    claims = load_claims().set_index("claim_id")
    printed = rows[rows["comparable"]].set_index("claim_id")
    assert printed.index.is_unique
    recomputable = claims["paper"].isin(["hanna", "usr"]) & claims["unavailable"].eq("")
    assert set(printed.index) == set(claims.index[recomputable]) and len(printed) == 868
    gap = (printed["value"] - claims.loc[printed.index, "published"]).abs()
    off = gap > claims.loc[printed.index, "tolerance"] + 1e-9
    ties = printed.index.str.fullmatch("hanna/system_kendall/.*/complexity")
    tiny = printed.index.str.match(r"hanna/(.*/baryscore_sd_0\.001|story_kendall/cider)/") & ~ties
    assert (off == (ties | tiny)).all() and [ties.sum(), tiny.sum()] == [72, 17]
    assert printed.loc[ties, "reason"].eq(paper._TIES).all()
    assert printed.loc[tiny, "reason"].eq(paper._EQUAL).all()
    over_stories = printed.index.str.startswith("hanna/story_kendall/")
    assert printed.loc[over_stories, ["ci_low", "ci_high"]].notna().all(axis=None)
    # Scores that are told apart have the printed correlation.
    study = opened["hanna"]
    of_outputs = study.outputs[~study.outputs["is_human"]].set_index("output_id")[["system"]]
    of_outputs["relevance"] = study.judgments.query("dimension == 'relevance'").set_index(
        "output_id"
    )["value"]
    for name in ("cider", "baryscore_sd_0.001"):
        own = study.scores[study.scores["evaluator"] == name].set_index("output_id")["score"]
        found = kendalltau(own[of_outputs.index], of_outputs["relevance"]).statistic
        claim = claims.loc[f"hanna/story_kendall/{name}/relevance", "published"]
        assert abs(found) == pytest.approx(claim, abs=5e-7)
