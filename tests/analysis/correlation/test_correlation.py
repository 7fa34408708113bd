"""`correlate` is SciPy on means, outputs and items, and says what it left out."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import SCIPY, made, study

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.correlations import statistics_of, strata_of
from nlgbench.analysis.correlation.samples import judged_outputs, output_scores, samples_of
from nlgbench.evaluators.score import score
from nlgbench.inference import adjust, bootstrap_counts


def values(outputs, scores, judgments, evaluator="e0"):
    rows = outputs.merge(judgments.groupby("output_id", as_index=False)["value"].mean())
    return rows.merge(scores[scores["evaluator"] == evaluator], on="output_id")


def one(table, statistic, evaluator="e0"):
    return table.set_index(["statistic", "evaluator"]).loc[(statistic, evaluator)]


@pytest.mark.parametrize("name", SCIPY)
def test_granularities_are_those_written_out(name):
    tables_of, test = study(), SCIPY[name]
    rows = values(*tables_of)
    means = rows.groupby("system")[["value", "score"]].mean()
    by_item = [test(part["value"], part["score"])[0] for _, part in rows.groupby("item_id")]
    for granularity, n, expected in (
        ("system", 6, test(means["value"], means["score"])[0]),
        ("output", 180, test(rows["value"], rows["score"])[0]),
        ("item", 30, np.mean(by_item)),
    ):
        options = {"granularity": granularity, "statistics": [name], "resample": None}
        found = one(correlate(made(*tables_of), **options), name)
        assert found["estimate"] == pytest.approx(expected)
        assert (found["n"], found["n_undefined"]) == (n, 0)


@pytest.mark.parametrize("granularity", ["output", "item"])
@pytest.mark.parametrize("clusters", [None, "context"])
def test_every_resample_is_that_of_rows_written_out(granularity, clusters):
    asked = made(*study(n_items=12, n_evaluators=1))
    judged = judged_outputs(asked, "quality", clusters, include_human=False)
    scores = output_scores(asked, judged, ["e0"])
    ((_, sample),) = samples_of(judged, scores)
    rows = judged.rows.assign(score=scores["e0"], is_all=True)
    cluster, system = (pd.factorize(rows[name])[0] for name in ("cluster", "system"))
    counts = bootstrap_counts(strata_of(cluster, system), 6, np.random.default_rng(5))
    found = statistics_of(sample, granularity, list(SCIPY), counts)
    for at, times in enumerate(counts):
        copies = [rows[times[cluster] > n].assign(copy=n) for n in range(int(times.max()))]
        by = pd.concat(copies).groupby(["item_id", "copy"] if granularity == "item" else "is_all")
        for name, test in SCIPY.items():
            each = [
                test(part["score"], part["judgment"])[0]
                for _, part in by
                if part[["score", "judgment"]].nunique().min() > 1
            ]
            assert found[name][0, at] == pytest.approx(np.mean(each), abs=1e-10)


def test_groups_are_clusters():
    options = {"clusters": "group_id", "n_resamples": 50}
    found = correlate(made(*study()), granularity="output", **options)
    assert found["resample"].unique().tolist() == ["clusters of group_id"]
    of_annotators = study()[2]["annotator_id"]
    for granularity, groups, said in (
        ("item", {}, "some items belong to several clusters"),
        ("system", {"group_id": of_annotators}, "'o0' was judged in 3 groups"),
        ("system", {"group_id": ""}, "cluster column 'group_id' is empty for some"),
    ):
        outputs, scores, judgments = study()
        asked = made(outputs, scores, judgments.assign(**groups))
        with pytest.raises(ValueError, match=said):
            correlate(asked, granularity=granularity, **options)


def test_permutations_of_systems_are_all_orders_up_to_eight():
    tables_of = study(n_systems=5)
    means = values(*tables_of).groupby("system", sort=False)[["score", "value"]].mean().to_numpy()
    found = correlate(made(*tables_of), statistics=["pearson", "kendall_b"], resample=None)
    null = [stats.pearsonr(order, means[:, 1])[0] for order in permutations(means[:, 0])]
    pearson = one(found, "pearson")
    # SciPy doubles the smaller tail; here values as far from 0 count.
    assert pearson["p"] == (np.abs(null) >= abs(pearson["estimate"]) - 1e-12).mean()
    assert pearson["p_method"] == "permutation, all"
    assert one(found, "kendall_b")["p"] == pytest.approx(stats.kendalltau(*means.T).pvalue)
    many = correlate(made(*study(n_systems=9)), resample=None, n_resamples=200)
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
    first = scores["output_id"].isin([f"o{n}" for n in range(20)]) & (scores["evaluator"] == "e1")
    fewer = scores.assign(score=scores["score"].mask(scores["output_id"] == "o40"))[~first]
    unjudged = judgments[judgments["output_id"] != "o41"]
    options = {"statistics": ["pearson"], "n_resamples": 20}
    found = correlate(made(outputs, fewer, unjudged), **options)
    assert found["evaluator"].tolist() == ["e0", "e1"]
    assert found["n_missing"].tolist() == [2, 22]
    kept = outputs[~outputs["output_id"].isin([f"o{n}" for n in [*range(20), 40, 41]])]
    rows = values(kept, scores, judgments, "e1").groupby("system")[["value", "score"]].mean()
    expected = stats.pearsonr(rows["value"], rows["score"]).statistic
    assert one(found, "pearson", "e1")["estimate"] == pytest.approx(expected)


@pytest.mark.parametrize("granularity", ["system", "output"])
def test_p_is_adjusted_over_the_evaluators_of_a_statistic_without_sentinels(granularity):
    scored = score(made(*study(n_evaluators=4)), ["length@sentinel", "system_mean@sentinel"])
    found = correlate(scored, granularity=granularity, statistics=["pearson", "spearman"])
    sentinel = found["evaluator"].str.endswith("@sentinel")
    assert sentinel.sum() == 4 and found.loc[sentinel, "p_adjusted"].isna().all()
    for _, family in found[~sentinel].groupby("statistic"):
        assert family["p_adjusted"].tolist() == pytest.approx(adjust(family["p"]).tolist())


def test_equal_means_are_tied_whatever_their_last_bits():
    outputs, scores, judgments = study(n_systems=3, n_items=10, n_annotators=1, n_evaluators=1)
    # The same ten values in three orders: the sums differ in their last bits.
    rng = np.random.default_rng(0)
    score = rng.permuted(np.tile(rng.random(10), (3, 1)), axis=1)
    found = correlate(made(outputs, scores.assign(score=score.ravel()), judgments))
    assert found["estimate"].isna().all()


def test_all_dimensions_are_asked_about_unless_one_is_named():
    outputs, scores, judgments = study()
    again = judgments.assign(dimension="badness", value=-judgments["value"])
    tables_of, options = (outputs, scores, pd.concat([judgments, again])), {"n_resamples": 30}
    found = correlate(made(*tables_of), **options)
    assert found["dimension"].unique().tolist() == ["quality", "badness"]
    own = correlate(made(*tables_of), dimension="badness", **options)
    second = found[found["dimension"] == "badness"].reset_index(drop=True)
    pd.testing.assert_frame_equal(second, own)
    # A dimension in which lower is better is turned: the two are the same question.
    turned = correlate(made(*tables_of, settings={"lower_is_better": ["badness"]}), **options)
    first, second = (turned[turned["dimension"] == one] for one in ("quality", "badness"))
    pd.testing.assert_frame_equal(first, second.assign(dimension="quality").set_axis(first.index))


def test_clusters_are_the_settings_unless_others_are_named():
    tables_of = study()
    by_setting = made(*tables_of, settings={"clusters": "context"})
    options = {"granularity": "output", "n_resamples": 30}
    found = correlate(by_setting, **options)
    assert found["resample"].eq("clusters of context").all()
    pd.testing.assert_frame_equal(found, correlate(made(*tables_of), clusters="context", **options))
    assert correlate(by_setting, clusters="item_id", **options)["n_clusters"].eq(30).all()


@pytest.mark.parametrize("granularity", ["system", "output", "item"])
def test_a_group_of_items_is_a_study_of_its_own_in_one_family_of_tests(granularity):
    outputs, scores, judgments = study(n_items=40)
    number = outputs["item_id"].str[1:].astype(int)
    topic = pd.cut(number, [-1, 19, 35, 39], labels=["a", "b", "few"]).astype(str)
    options = {"granularity": granularity, "statistics": ["spearman"], "seed": 3}
    grouped = made(outputs.assign(topic=topic), scores, judgments, settings={"extra": ["topic"]})
    found = correlate(grouped, by="topic", **options)
    assert found["group"].tolist() == ["a", "a", "b", "b", "few", "few"]
    few = found["group"] == "few"
    for group in ("a", "b"):
        kept = outputs["output_id"][topic == group]
        tables = (table[table["output_id"].isin(kept)] for table in (outputs, scores, judgments))
        alone = correlate(made(*tables), **options).drop(columns="p_adjusted")
        rows = found[found["group"] == group].reset_index(drop=True)
        pd.testing.assert_frame_equal(rows[alone.columns], alone)
    np.testing.assert_allclose(found.loc[~few, "p_adjusted"], adjust(found.loc[~few, "p"]))
    assert found.loc[few, "estimate"].notna().all()
    assert found.loc[few, ["ci_low", "p", "p_adjusted"]].isna().all(axis=None)
    assert set(found.loc[few, "status"]) == {"few_items"}
