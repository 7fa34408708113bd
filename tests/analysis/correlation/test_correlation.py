"""`correlate` is SciPy on means, outputs and items, and says what it left out."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import made, study

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.correlations import (
    judged_outputs,
    output_scores,
    samples_of,
    statistics_of,
    strata_of,
)
from nlgbench.inference import bootstrap_counts

ALL = ["pearson", "spearman", "kendall_b", "pairwise_accuracy"]


def values(outputs, scores, judgments, evaluator="e0"):
    rows = outputs.merge(judgments.groupby("output_id", as_index=False)["value"].mean())
    return rows.merge(scores[scores["evaluator"] == evaluator], on="output_id")


def one(table, statistic, evaluator="e0"):
    found = table[(table["statistic"] == statistic) & (table["evaluator"] == evaluator)]
    assert len(found) == 1
    return found.iloc[0]


SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall_b": stats.kendalltau}


def test_granularities_are_those_written_out():
    tables_of = study()
    rows = values(*tables_of)
    means = rows.groupby("system")[["value", "score"]].mean()
    for name, test in SCIPY.items():
        options = {"statistics": [name], "resample": None, "seed": 0}
        of_systems = one(correlate(made(*tables_of), granularity="system", **options), name)
        assert of_systems["estimate"] == pytest.approx(test(means["value"], means["score"])[0])
        of_outputs = one(correlate(made(*tables_of), granularity="output", **options), name)
        assert of_outputs["estimate"] == pytest.approx(test(rows["value"], rows["score"])[0])
        by_item = [test(part["value"], part["score"])[0] for _, part in rows.groupby("item_id")]
        of_items = one(correlate(made(*tables_of), granularity="item", **options), name)
        assert of_items["estimate"] == pytest.approx(np.mean(by_item))
        assert [of_systems["n"], of_outputs["n"], of_items["n"]] == [6, 180, 30]
        assert of_items["n_undefined"] == 0


@pytest.mark.parametrize("granularity", ["output", "item"])
@pytest.mark.parametrize("clusters", [None, "context"])
def test_every_resample_is_that_of_rows_written_out(granularity, clusters):
    asked = made(*study(n_items=12, n_evaluators=1))
    judged = judged_outputs(asked, "quality", clusters, include_human=False)
    scores = output_scores(asked, judged, ["e0"])
    ((_, sample),) = samples_of(judged, scores)
    rows = judged.rows.assign(score=scores["e0"])
    cluster = pd.factorize(rows["cluster"])[0]
    strata = strata_of(cluster, pd.factorize(rows["system"])[0])
    counts = bootstrap_counts(strata, 12, np.random.default_rng(5))
    found = statistics_of(sample, granularity, list(SCIPY), counts)
    for at, times in enumerate(counts):
        for name, test in SCIPY.items():
            if granularity == "output":
                part = rows.loc[rows.index.repeat(times[cluster].astype(int))]
                expected = test(part["score"], part["judgment"])[0]
            else:
                by_item, weight = [], []
                for item in rows["item_id"].drop_duplicates():
                    here = rows["item_id"] == item
                    part = rows[here]
                    varies = min(part["score"].nunique(), part["judgment"].nunique()) > 1
                    by_item.append(test(part["score"], part["judgment"])[0] if varies else np.nan)
                    weight.append(times[cluster[here.argmax()]])
                ok = np.isfinite(by_item)
                expected = np.average(np.array(by_item)[ok], weights=np.array(weight)[ok])
            assert found[name][0, at] == pytest.approx(expected, abs=1e-10)


def test_every_statistic_has_an_interval_around_it_and_is_repeatable():
    tables_of = study(n_systems=12, n_items=40)
    kinds = [("system", one) for one in ("items", "systems", "both")]
    for granularity, resample in [*kinds, ("output", "items"), ("item", "items")]:
        options = {"granularity": granularity, "statistics": ALL, "resample": resample}
        table = correlate(made(*tables_of), n_resamples=40, seed=3, **options)
        again = correlate(made(*tables_of), n_resamples=40, seed=3, **options)
        pd.testing.assert_frame_equal(table, again)
        assert len(table) == 2 * len(ALL)
        assert table["estimate"].notna().all()
        assert (table["ci_low"] <= table["ci_high"]).all()
        assert table["ci_low"].lt(table["estimate"] + 0.1).all()
        assert table["reason"].str.fullmatch("|one-sided.*|extended to.*").all()
        assert table["p"].between(0, 1).all()
        about = {"items": "these systems, other items", "systems": "other systems, these items"}
        words = about.get(resample, "other systems, other items")
        if granularity == "system" and resample != "systems":
            words += ": expectations"
        assert table.loc[table["ci_low"].notna(), "estimand"].eq(words).all()


def test_items_of_one_system_are_drawn_within_it():
    outputs, scores, judgments = study(shared=False)
    judged = judged_outputs(made(outputs, scores, judgments), "quality", None, False)
    cluster, system = (pd.factorize(judged.rows[name])[0] for name in ("cluster", "system"))
    drawn = bootstrap_counts(strata_of(cluster, system), 50, np.random.default_rng(0))
    totals = drawn[:, cluster] @ (system[:, None] == np.arange(6))
    assert (totals == 30).all()
    found = correlate(made(outputs, scores, judgments), statistics=["soft_pairwise"], seed=0)
    assert found["estimate"].between(0.5, 1).all()
    assert found["reason"].eq("no interval of soft accuracy was measured").all()


def test_groups_are_clusters():
    outputs, scores, judgments = study()
    found = correlate(
        made(outputs, scores, judgments),
        granularity="output",
        clusters="group_id",
        n_resamples=50,
        seed=0,
    )
    assert found["resample"].unique().tolist() == ["clusters of group_id"]
    with pytest.raises(ValueError, match="some items lie in several clusters"):
        correlate(made(outputs, scores, judgments), granularity="item", clusters="group_id", seed=0)
    twice = judgments.assign(group_id=judgments["annotator_id"])
    with pytest.raises(ValueError, match="'o0' was judged in 3 groups"):
        correlate(made(outputs, scores, twice), clusters="group_id", seed=0)
    with pytest.raises(ValueError, match="group_id' is empty for some"):
        correlate(made(outputs, scores, judgments.assign(group_id="")), clusters="group_id", seed=0)


def test_permutations_of_systems_are_all_orders_up_to_eight():
    tables_of = study(n_systems=5)
    means = values(*tables_of).groupby("system", sort=False)[["score", "value"]].mean().to_numpy()
    found = correlate(made(*tables_of), statistics=["pearson", "kendall_b"], resample=None, seed=0)
    test = stats.permutation_test(
        (means[:, 0],),
        lambda x: stats.pearsonr(x, means[:, 1]).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    pearson = one(found, "pearson")
    # SciPy doubles the smaller tail; here values as far from 0 count.
    null = np.abs(test.null_distribution)
    assert pearson["p"] == (null >= abs(pearson["estimate"]) - 1e-12).mean()
    assert pearson["p_method"] == "permutation, all"
    kendall = one(found, "kendall_b")
    assert kendall["p"] == pytest.approx(stats.kendalltau(*means.T).pvalue)
    many = correlate(made(*study(n_systems=9)), resample=None, n_resamples=200, seed=0)
    assert many["p_method"].unique().tolist() == ["permutation, 200 drawn"]


def test_soft_accuracy_is_tested_by_giving_systems_each_others_judgments():
    outputs, scores, judgments = study(n_systems=4, n_items=8, n_evaluators=1, seed=2)
    options = {"statistics": ["soft_pairwise"], "resample": None}
    found = correlate(made(outputs, scores, judgments), **options).iloc[0]
    null = []
    for order in permutations(range(4)):
        ids = [f"o{8 * system + n}" for system in order for n in range(8)]
        dealt = dict(zip(ids, outputs["output_id"], strict=True))
        moved = judgments.assign(output_id=judgments["output_id"].map(dealt))
        null.append(correlate(made(outputs, scores, moved), **options)["estimate"].iloc[0])
    assert found["p"] == np.mean(np.array(null) >= found["estimate"] - 1e-12)


def test_missing_scores_and_judgments_are_left_out_and_counted():
    outputs, scores, judgments = study()
    first = scores["output_id"].isin([f"o{n}" for n in range(20)])
    fewer = scores[~(first & (scores["evaluator"] == "e1"))]
    fewer = fewer.assign(score=fewer["score"].mask(fewer["output_id"] == "o40"))
    unjudged = judgments[judgments["output_id"] != "o41"]
    found = correlate(
        made(outputs, fewer, unjudged), statistics=["pearson"], n_resamples=20, seed=0
    )
    assert one(found, "pearson")["n_missing"] == 2
    assert one(found, "pearson", "e1")["n_missing"] == 22
    assert found["evaluator"].tolist() == ["e0", "e1"]
    kept = outputs[~outputs["output_id"].isin([f"o{n}" for n in [*range(20), 40, 41]])]
    rows = values(kept, scores, judgments, "e1").groupby("system")[["value", "score"]].mean()
    expected = stats.pearsonr(rows["value"], rows["score"]).statistic
    assert one(found, "pearson", "e1")["estimate"] == pytest.approx(expected)


def test_constants_are_undefined_and_counted():
    outputs, scores, judgments = study()
    constant = scores.assign(score=np.where(scores["evaluator"] == "e1", 0.1, scores["score"]))
    for granularity in ("system", "output", "item"):
        found = correlate(
            made(outputs, constant, judgments),
            granularity=granularity,
            statistics=ALL[:3],
            n_resamples=20,
            seed=0,
        )
        flat = found[found["evaluator"] == "e1"]
        assert flat[["estimate", "ci_low", "ci_high", "p"]].isna().all(axis=None)
        assert flat["n_undefined"].eq(30 if granularity == "item" else 1).all()
        assert flat["reason"].str.startswith("undefined").all()
        assert found[found["evaluator"] == "e0"]["estimate"].notna().all()
    # All of an item's judgments alike: that item is undefined, the others count.
    first = outputs.loc[outputs["item_id"] == "i0", "output_id"]
    alike = judgments.assign(value=judgments["value"].mask(judgments["output_id"].isin(first), 3))
    found = correlate(
        made(outputs, scores, alike), granularity="item", statistics=["spearman"], seed=0
    )
    assert found["n_undefined"].tolist() == [1, 1]
    assert found["estimate"].notna().all()


def test_equal_means_are_tied_whatever_their_last_bits():
    outputs, scores, judgments = study(n_systems=3, n_items=10, n_annotators=1, n_evaluators=1)
    # The same ten values in three orders: the sums differ in their last bits.
    rng = np.random.default_rng(0)
    base = rng.random(10)
    score = np.concatenate([rng.permutation(base) for _ in range(3)])
    found = correlate(
        made(outputs, scores.assign(score=score), judgments), statistics=["kendall_b"], seed=0
    )
    assert found["estimate"].isna().all()


def test_two_systems_one_item_and_one_system():
    two = correlate(
        made(*study(n_systems=2)), statistics=["pearson", "kendall_b"], n_resamples=20, seed=0
    )
    assert two["estimate"].abs().eq(1).all()
    assert two["p"].eq(1).all()
    lone = correlate(
        made(*study(n_items=1)), granularity="item", statistics=["spearman"], n_resamples=20, seed=0
    )
    assert lone["n"].eq(1).all()
    assert lone["ci_low"].isna().all()
    assert lone["reason"].str.startswith("undefined without one of the clusters").all()
    single = correlate(made(*study(n_systems=1)), statistics=ALL, n_resamples=20, seed=0)
    assert single[["estimate", "ci_low", "p"]].isna().all(axis=None)
    assert single["n_undefined"].eq(1).all()


def test_annotators_are_averaged_before_outputs():
    outputs, scores, judgments = study(n_annotators=1)
    again = judgments.assign(annotator_id="w9")
    more = pd.concat([judgments, again[again["output_id"].isin(["o0", "o1"])]])
    options = {"statistics": ["pearson"], "resample": None, "seed": 0}
    once = correlate(made(outputs, scores, judgments), **options)
    pd.testing.assert_frame_equal(once, correlate(made(outputs, scores, more), **options))


def test_human_outputs_are_a_system_only_when_asked_for():
    outputs, scores, judgments = study()
    outputs = outputs.assign(is_human=outputs["system"] == "s5")
    options = {"statistics": ["pearson"], "resample": None, "seed": 0}
    assert correlate(made(outputs, scores, judgments), **options)["n"].tolist() == [5, 5]
    both = correlate(made(outputs, scores, judgments), include_human=True, **options)
    assert both["n"].tolist() == [6, 6]


def test_all_dimensions_are_asked_about_unless_one_is_named():
    outputs, scores, judgments = study()
    again = judgments.assign(dimension="badness", value=-judgments["value"])
    both = pd.concat([judgments, again])
    found = correlate(made(outputs, scores, both), n_resamples=30)
    assert found["dimension"].unique().tolist() == ["quality", "badness"]
    one = correlate(made(outputs, scores, both), n_resamples=30, dimension="badness")
    second = found[found["dimension"] == "badness"].reset_index(drop=True)
    pd.testing.assert_frame_equal(second, one)
    # A dimension in which lower is better is turned: the two are the same question.
    settings = {"lower_is_better": ["badness"]}
    turned = correlate(made(outputs, scores, both, settings=settings), n_resamples=30)
    parts = [turned[turned["dimension"] == name] for name in ("quality", "badness")]
    parts = [part.drop(columns="dimension").reset_index(drop=True) for part in parts]
    pd.testing.assert_frame_equal(*parts)


def test_clusters_are_the_settings_unless_others_are_named():
    tables_of = study()
    by_setting = made(*tables_of, settings={"clusters": "context"})
    options = {"granularity": "output", "n_resamples": 30}
    found = correlate(by_setting, **options)
    assert found["resample"].eq("clusters of context").all()
    pd.testing.assert_frame_equal(found, correlate(made(*tables_of), clusters="context", **options))
    assert correlate(by_setting, clusters="item_id", **options)["n_clusters"].eq(30).all()
