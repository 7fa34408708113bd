"""Which system is better: against other people's least squares, closed forms, and known worlds."""

import html

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import systems_coverage
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.people import additive, comparing
from nlgbench.inference import adjust
from nlgbench.study import Study, trusted

DESIGNS = {
    "crossed": {"design": "crossed", "n_items": 12, "n_annotators": 11},
    "scattered": {"design": "scattered", "n_items": 20, "n_annotators": 14},
    "distinct": {"design": "distinct", "n_items": 15, "n_votes": 2},
    "many annotators": {"design": "scattered", "n_items": 12, "n_annotators": 30},
    "missing": {"design": "scattered", "n_items": 30, "n_annotators": 12, "missing": 0.2},
}


def in_documents(study, n_documents, sd=0.0, seed=0):
    """Let items go by document, with an effect of each document on each system."""
    item = study.outputs["item_id"].str[1:].astype(int)
    document = item % n_documents
    systems = study.outputs["system"].unique()
    effect = np.random.default_rng(seed).normal(0, sd, (n_documents, len(systems)))
    system = pd.Index(systems).get_indexer(study.outputs["system"])
    more = pd.Series(effect[document, system], study.outputs["output_id"])
    values = study.judgments["value"] + more.loc[study.judgments["output_id"]].to_numpy()
    return study.replace(
        outputs=study.outputs.assign(document="d" + document.astype(str)),
        judgments=study.judgments.assign(value=values),
        settings={"quality": "quality", "extra": ["document"], "clusters": "document"},
    )


def made(rows, **settings):
    """Make a study of (system, item, annotator, value)."""
    table = pd.DataFrame(rows, columns=["system", "item_id", "annotator_id", "value"])
    table["output_id"] = table["system"] + "/" + table["item_id"]
    outputs = table.drop_duplicates("output_id")[["output_id", "item_id", "system"]]
    return Study(outputs, table[["output_id", "annotator_id", "value"]], settings=settings or None)


def rows_of(study):
    return comparing.judged_systems(study, "quality", False)


@pytest.fixture(scope="module", params=DESIGNS)
def study(request):
    return nb.simulate("judgments", seed=3, **DESIGNS[request.param])


def test_adjusted_means_are_those_of_statsmodels(study):
    """As if each system had been judged in every judgment's place."""
    frame = rows_of(study)
    own = frame.groupby("annotator_id")["item_id"].nunique().max() == 1
    # Effects of annotators of one item each hold the item's.
    items = "" if own else " + C(item_id)"
    model = smf.ols(f"value ~ C(system) + C(annotator_id){items}", frame).fit()
    found = nb.compare_systems(study, n_resamples=10).systems.set_index("system")["estimate"]
    for name in found.index:
        expected = model.predict(frame.assign(system=name)).mean()
        assert found[name] == pytest.approx(expected, abs=1e-9)


def brute_force(study, cluster):
    """Refit without each cluster by statsmodels, and give each system's level."""
    frame = rows_of(study)
    names = list(dict.fromkeys(frame["system"]))
    levels = []
    for one in np.unique(cluster):
        part = frame[cluster != one]
        y = part["value"].to_numpy()
        dummies = [pd.get_dummies(part[name]) for name in ("system", "item_id", "annotator_id")]
        x = np.hstack([table.to_numpy(float) for table in dummies])
        beta = np.linalg.pinv(x) @ y
        effect = pd.Series(beta[: len(names)], dummies[0].columns)
        rest = (y - effect[part["system"]].to_numpy()).mean()
        levels.append([rest + effect[name] for name in names])
    return np.array(levels)


def test_the_jackknife_is_that_of_refits(study):
    judged = comparing._fitted(study, "quality", False)
    for cluster in (judged.item, judged.annotator):
        found = additive.without_clusters(judged.data, cluster)[0]
        np.testing.assert_allclose(found, brute_force(study, cluster), atol=1e-9, rtol=0)
    for cluster in (judged.cell, judged.item % 4 * len(judged.people) + judged.annotator):
        few = np.unique(cluster, return_inverse=True)[1]
        found = additive.without_few(judged.data, judged.whole, few)
        np.testing.assert_allclose(found, brute_force(study, few), atol=1e-9, rtol=0)


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "distinct"])
def test_severities_without_an_item_are_those_of_refits(design):
    study = nb.simulate("judgments", seed=3, **DESIGNS[design])
    judged = comparing._fitted(study, "quality", False)
    without = additive.without_clusters(judged.data, judged.item)[2 if judged.by_annotator else 1]
    frame = rows_of(study)
    for one in (0, 5):
        part = frame[judged.item != one]
        model = smf.ols("value ~ C(annotator_id) + C(system) + C(item_id)", part).fit()
        effects = [model.params.get(f"C(annotator_id)[T.{name}]", 0) for name in judged.people]
        there = np.isin(judged.people, part["annotator_id"])
        found = without[one][there]
        expected = np.array(effects)[there]
        np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-9)


def test_a_crossed_design_has_a_closed_form():
    """V_I and V_A are variances of mean differences of items and of annotators, V_IA of cells."""
    study = nb.simulate("judgments", n_items=30, n_annotators=20, means=[0.5, 0.0], seed=1)
    frame = rows_of(study)
    cube = frame.pivot_table(index=["item_id", "annotator_id"], columns="system", values="value")
    gap = (cube["s01"] - cube["s02"]).unstack()
    variance = gap.mean(axis=1).var() / 30 + gap.mean(axis=0).var() / 20
    variance -= gap.stack().var() / 600
    pair = nb.compare_systems(study, n_resamples=10).pairs.iloc[0]
    assert pair["difference"] == pytest.approx(gap.to_numpy().mean())
    assert pair["se"] == pytest.approx(np.sqrt(variance))
    half = stats.t.ppf(0.975, 19) * np.sqrt(variance)
    assert pair["ci_high"] - pair["difference"] == pytest.approx(half)
    assert pair["p"] == pytest.approx(2 * stats.t.sf(pair["difference"] / pair["se"], 19))


def test_one_annotator_leaves_the_paired_t_test_over_items():
    rng = np.random.default_rng(0)
    values = rng.normal([[0.5], [0]], size=(2, 25))
    rows = [(f"s{s}", f"i{i:02d}", "w", values[s, i]) for s in range(2) for i in range(25)]
    found = nb.compare_systems(made(rows), n_resamples=10)
    expected = stats.ttest_rel(*values)
    assert found.pairs["p"][0] == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert found.pairs.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx([low, high])
    assert found.pairs["reason"][0].startswith("one annotator: intervals are for other items and")


def test_an_item_of_each_system_is_a_sample_and_no_effect():
    """Items of one system each: Welch's variance, up to the jackknife's n / (n - 1)."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 20))
    rows = [(f"s{s}", f"s{s}-i{i}", "w", values[s, i]) for s in range(2) for i in range(20)]
    found = nb.compare_systems(made(rows), n_resamples=10)
    level = np.sort(values.mean(axis=1))[::-1]
    off = [(np.delete(v, i).mean() - v.mean()) for v in values for i in range(20)]
    assert found.pairs["difference"][0] == pytest.approx(level[0] - level[1])
    assert found.pairs["se"][0] == pytest.approx(np.sqrt(39 / 40 * np.square(off).sum()))
    assert "each item is of one system" in str(found)
    assert found.systems["n_missing"].tolist() == [0, 0]


@pytest.mark.parametrize("test", ["t", "permutation"])
def test_few_annotators_have_no_interval_for_others_and_the_reason_says_so(test):
    study = nb.simulate("judgments", n_annotators=5, n_items=40, seed=0)
    found = nb.compare_systems(study, test=test, margin=0.5, n_resamples=500)
    unknown = ["ci_low", "p", "p_adjusted", "p_equivalent", "superiority_low"]
    said = found.systems["reason"].unique().tolist()
    if test == "t":
        assert found.pairs[unknown].isna().all().all() and (found.pairs["verdict"] == "").all()
        assert found.systems[["ci_low", "rank_low", "cluster"]].isna().all().all()
        assert said == [
            "5.0 effective annotators: fewer than 10 do not speak for others; "
            "test='permutation' speaks of these alone"
        ]
        assert found.pairs["se"].notna().all() and found.systems["rank"].is_monotonic_increasing
    else:
        assert found.pairs[unknown].notna().all().all() and said == [""]
        assert "these annotators only" in str(found)


def test_sign_flips_are_scipys():
    rng = np.random.default_rng(0)
    values = rng.normal([[0.7], [0]], size=(2, 10))
    rows = [(f"s{s}", f"i{i}", "w", values[s, i]) for s in range(2) for i in range(10)]
    found = nb.compare_systems(made(rows), test="permutation").pairs
    one = stats.permutation_test(
        (values[0] - values[1],), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert found["p"][0] == pytest.approx(one.pvalue)


def test_rank_ranges_rest_on_the_studentized_range_where_systems_are_alike():
    """Tukey: the greatest t over all pairs of independent, equally spread means."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 400))
    rows = [(f"s{s}", f"i{i}", "w", values[s, i]) for s in range(4) for i in range(400)]
    study = made(rows)
    judged = comparing._fitted(study, "quality", False)
    alike = comparing._Spread(np.eye(4), None, np.zeros((4, 4)), 12.0, 400, 1, "", "")
    pairs = comparing._pairs(judged, alike, 0.95)
    ranks, critical = comparing._rank_ranges(
        judged.whole.level, alike, pairs, 0.95, 200_000, np.random.default_rng(0)
    )
    assert critical == pytest.approx(stats.studentized_range.ppf(0.95, 4, 12) / 2**0.5, rel=0.01)
    assert ranks["rank_low"].tolist() == [1] * 4 and ranks["rank_high"].tolist() == [4] * 4


def test_systems_far_apart_have_one_rank_and_a_cluster_each():
    study = nb.simulate("judgments", means=[4, 0, 2], n_annotators=12, n_items=30, seed=0)
    table = nb.compare_systems(study, n_resamples=500).systems
    assert table["system"].tolist() == ["s01", "s03", "s02"]
    for name in ("rank", "rank_low", "rank_high", "cluster", "rank_superiority"):
        assert table[name].tolist() == [1, 2, 3]
    assert not table["rank_changes"].any()


def test_clusters_part_where_all_before_beat_all_after():
    better = np.zeros((4, 4), dtype=bool)
    better[0, 2] = better[0, 3] = better[1, 3] = better[2, 3] = True
    order = np.arange(4)
    assert comparing.clusters_of(order, better).tolist() == [1, 1, 1, 2]
    better[1, 2] = True
    assert comparing.clusters_of(order, better).tolist() == [1, 1, 2, 3]


def test_superiority_counts_pairs_of_judgments_on_an_item():
    rows = [
        *(("a", "1", "w1", 3), ("a", "1", "w2", 1), ("b", "1", "w1", 2), ("b", "1", "w2", 1)),
        *(("a", "2", "w1", 5), ("b", "2", "w2", 4), ("a", "3", "w1", 1), ("b", "3", "w2", 1)),
        ("a", "4", "w2", 9),
    ]
    pairs = nb.compare_systems(made(rows), n_resamples=10).pairs
    # Item 1: 3 beats both, 1 loses to 2 and ties with 1; item 2: won; item 3: tied.
    expected = np.mean([(1 + 1 + 0 + 0.5) / 4, 1, 0.5])
    assert pairs.set_index("system").loc["a", "superiority"] == pytest.approx(expected)
    assert pairs["superiority"].sum() == pytest.approx(1)


def test_superiority_is_mann_whitneys_where_items_are_of_one_system():
    rng = np.random.default_rng(0)
    values = rng.integers(1, 6, size=(2, 30)) * 1.0
    rows = [(f"s{s}", f"s{s}-i{i}", "w", values[s, i]) for s in range(2) for i in range(30)]
    pairs = nb.compare_systems(made(rows), n_resamples=10).pairs.set_index("system")
    u = stats.mannwhitneyu(*values).statistic
    assert pairs.loc["s0", "superiority"] == pytest.approx(u / 900)


def test_a_margin_shows_equivalence_and_nothing_else_does():
    study = nb.simulate("judgments", means=[0.0, 0.0], n_items=200, n_annotators=40, seed=5)
    pairs = nb.compare_systems(study, n_resamples=10).pairs
    assert pairs["verdict"].tolist() == ["undecided"] * 2 and pairs["p_equivalent"].isna().all()
    wide = nb.compare_systems(study, margin=1.0, n_resamples=10).pairs
    assert wide["verdict"].tolist() == ["equivalent"] * 2
    first = wide.iloc[0]
    # Two one-sided tests at .05 are the 90% interval within the margin.
    ninety = nb.compare_systems(study, confidence=0.9, n_resamples=10).pairs.iloc[0]
    edge = max(abs(ninety["ci_low"]), abs(ninety["ci_high"]))
    at_edge = nb.compare_systems(study, margin=float(edge), n_resamples=10).pairs
    assert at_edge["p_equivalent"].iloc[0] == pytest.approx(0.05)
    assert first["p_equivalent"] < 0.05 and first["p_not_inferior"] < 0.05


def test_not_inferior_is_said_from_one_side():
    study = nb.simulate("judgments", means=[0.4, 0.0], n_items=100, n_annotators=30, seed=5)
    base = nb.compare_systems(study, n_resamples=10).pairs
    margin = float(abs(base["ci_low"].iloc[0])) + 0.01
    pairs = nb.compare_systems(study, margin=margin, n_resamples=10).pairs
    assert pairs["p_not_inferior"].iloc[0] < pairs["p_not_inferior"].iloc[1]
    assert pairs["p"].tolist() == base["p"].tolist()


def test_disconnected_systems_are_refused_with_who_is_where():
    rows = [
        (system, f"i{i}", f"{system}-{who}", i + who)
        for system in ("a", "b", "c")
        for i in range(4)
        for who in range(5)
    ]
    rows += [("b", "i0", "c-0", 1.0), ("c", "i0", "b-0", 2.0)]
    with pytest.raises(ValueError, match="systems cannot be compared") as caught:
        nb.compare_systems(made(rows))
    said = str(caught.value)
    assert "a (judged by a-0, a-1, a-2 and 2 more, on 4 items)" in said
    assert "b, c (judged by b-0, b-1, b-2 and 7 more, on 4 items)" in said
    assert "study.only(systems=[...])" in said
    assert nb.compare_systems(made(rows).only(systems=["b", "c"]), n_resamples=10).pairs.shape[0]


def test_a_cluster_that_holds_the_design_together_is_named():
    rows = [("a", f"i{i}", f"w{i}", float(i % 3)) for i in range(12)]
    rows += [("b", f"i{i}", f"v{i}", float(i % 4)) for i in range(12)]
    rows += [("b", "i0", "w0", 2.0)]
    found = nb.compare_systems(made(rows), n_resamples=10)
    assert found.pairs["ci_low"].isna().all()
    assert "without item 'i0' some systems cannot be compared" in found.systems["reason"][0]


def test_lower_is_better_turns_signs_and_says_so():
    study = nb.simulate("judgments", n_items=20, seed=1)
    turned = study.replace(settings={"lower_is_better": ["quality"]})
    one = nb.compare_systems(study, n_resamples=10)
    other = nb.compare_systems(turned, n_resamples=10)
    left = one.systems.set_index("system")["estimate"]
    np.testing.assert_allclose(other.systems.set_index("system")["estimate"].loc[left.index], -left)
    assert other.systems["system"].iloc[0] == one.systems["system"].iloc[-1]
    assert "signs are turned: a lower quality is better" in str(other)


def test_human_outputs_are_systems_only_where_asked():
    study = nb.simulate("judgments", n_items=20, seed=1)
    outputs = study.outputs.assign(is_human=study.outputs["system"] == "s01")
    study = study.replace(outputs=outputs)
    found = nb.compare_systems(study, n_resamples=10)
    assert "s01" not in set(found.systems["system"])
    assert "400 judgments of human outputs" in str(found)
    both = nb.compare_systems(study, include_human=True, n_resamples=10)
    assert len(both.systems) == 5
    with pytest.raises(ValueError, match=r"of 1 systems: .*include_human=True adds"):
        nb.compare_systems(study.only(systems=["s02"]))


def test_means_beside_the_estimate():
    rows = [("a", "1", "w1", 1), ("a", "1", "w2", 5), ("a", "2", "w1", 3), ("b", "1", "w1", 2)]
    rows += [("b", "2", "w2", 4), ("b", "2", "w3", 4)]
    table = nb.compare_systems(made(rows), n_resamples=10).systems.set_index("system")
    assert table["raw"].to_dict() == {"a": 3.0, "b": 3.0}
    w1, w2, w3 = 2.0, 4.5, 4.0
    grand = np.mean([1, 5, 3, 2, 4, 4])
    centered = np.mean([np.mean([1 - w1, 5 - w2]), 3 - w1]) + grand
    assert table.loc["a", "centered"] == pytest.approx(centered)
    z = np.mean([(2 - w1) / 1, (4 - w2) / np.std([5, 4], ddof=1)])
    assert table.loc["b", "z"] == pytest.approx(z), "who gave one value has no z"
    assert table.loc["b", "median"] == 3.0 and w3 == 4.0
    assert "1 judgments of annotators who gave one value, from z" in str(
        nb.compare_systems(made(rows), n_resamples=10)
    )


def test_missing_outputs_have_a_worst_and_a_best_case():
    study = nb.simulate("judgments", n_items=20, scale="ordinal", seed=1)
    lost = study.judgments["output_id"].isin(["i0001-s02", "i0002-s02"])
    part = study.replace(judgments=study.judgments[~lost])
    found = nb.compare_systems(part, n_resamples=10)
    table = found.systems.set_index("system")
    assert table["n_missing"].to_dict() == {"s01": 0, "s02": 2, "s03": 0, "s04": 0, "s05": 0}
    one = table.loc["s02"]
    assert one["lowest"] == pytest.approx((18 * one["estimate"] + 2 * 1) / 20)
    assert one["highest"] == pytest.approx((18 * one["estimate"] + 2 * 5) / 20)
    assert table.loc["s01", "lowest"] == table.loc["s01", "estimate"]
    assert "2 outputs; lowest and highest by the observed range, 1 to 5" in str(found)


def test_a_declared_scale_goes_before_the_observed_one():
    study = nb.simulate("judgments", n_items=5, scale="ordinal", seed=1)
    scales = {"scales": {"quality": {"min": 0, "max": 10}}}
    frame = rows_of(study)
    assert comparing.scale_of(study, "quality", frame) == (1, 5)
    for settings, ends in (({}, (0, 10)), ({"lower_is_better": ["quality"]}, (-10, 0))):
        told = trusted(study.outputs, study.judgments, settings=scales | settings)
        assert comparing.scale_of(told, "quality", frame) == ends


def test_signs_are_not_flipped_where_no_item_is_shared():
    rows = [(s, f"{s}{i}", f"w{a}", i + a) for s in "ab" for i in range(9) for a in range(3)]
    with pytest.raises(ValueError, match="each item is of one system: take test='t'"):
        nb.compare_systems(made(rows), test="permutation")


def test_who_judges_alike_is_severe_by_what_they_take_off():
    rng = np.random.default_rng(0)
    taken = {"mild": 0.0, "fair": 1.0, "hard": 2.0}
    rows = [
        (system, f"i{i}", who, level + i % 5 - off + rng.normal(0, 0.01))
        for system, level in (("a", 1.0), ("b", 0.0))
        for i in range(20)
        for who, off in taken.items()
    ]
    table = nb.compare_systems(made(rows), n_resamples=10).annotators
    assert table["annotator_id"].tolist() == ["hard", "fair", "mild"]
    np.testing.assert_allclose(table["severity"], [1, 0, -1], atol=0.01)
    assert ((table["ci_low"] < table["severity"]) & (table["severity"] < table["ci_high"])).all()
    apart = nb.simulate("judgments", design="distinct", n_items=12, seed=0)
    table = nb.compare_systems(apart, n_resamples=10).annotators
    assert table["severity"].isna().all() and "share no item" in table["reason"][0]


def test_order_of_rows_changes_nothing(study):
    mixed = study.judgments.sample(frac=1, random_state=0)
    one = nb.compare_systems(study, n_resamples=10)
    other = nb.compare_systems(study.replace(judgments=mixed), n_resamples=10)
    columns = ["estimate", "se", "raw", "z", "superiority"]
    left, right = (t.systems.set_index("system")[columns].sort_index() for t in (one, other))
    pd.testing.assert_frame_equal(left, right)


def test_judgments_without_spread_have_no_interval():
    rows = [(s, f"i{i}", f"w{a}", 1.0) for s in "ab" for i in range(12) for a in range(12)]
    found = nb.compare_systems(made(rows), n_resamples=10)
    assert found.pairs[["se", "ci_low", "p", "superiority_low"]].isna().all().all()
    assert found.pairs["reason"].str.startswith("every cluster gives the same").all()
    assert found.systems["rank"].tolist() == [1, 1] and found.systems["rank_low"].isna().all()


def test_a_judgment_given_twice_counts_twice():
    study = nb.simulate("judgments", n_items=15, seed=0)
    again = pd.concat([study.judgments, study.judgments.head(3).assign(group_id="later")])
    assert nb.compare_systems(study.replace(judgments=again), n_resamples=10).systems[
        "n_judgments"
    ].sum() == len(again)


def test_it_is_shown_with_names_escaped():
    study = nb.simulate("judgments", n_items=15, seed=0)
    named = study.replace(settings={"labels": {"s01": "<b>x</b>"}})
    shown = nb.compare_systems(named, n_resamples=10)._repr_html_()
    assert html.escape("<b>x</b>") in shown and "<b>x</b>" not in shown
    assert "<dt>estimand</dt>" in shown


@pytest.mark.parametrize("margin", [0.0, -1.0])
def test_a_margin_is_above_zero(margin):
    with pytest.raises(ValueError, match="margin must be above 0"):
        nb.compare_systems(nb.simulate("judgments", n_items=5), margin=margin)


@pytest.mark.parametrize(
    "world",
    [
        # Annotators' taste is half of the variance of a difference.
        {"design": "crossed", "n_items": 80, "n_annotators": 12},
        {"design": "scattered", "n_items": 40, "n_annotators": 20},
    ],
    ids=lambda world: world["design"],
)
def test_intervals_and_ranks_hold_as_often_as_they_say(world):
    """A small version of benchmarks/systems_coverage.py; limits are three standard errors."""
    n = 40
    made = systems_coverage.Cell("", {"means": (0.4, 0.0, 0.0), "scale": "continuous", **world})
    found = systems_coverage.measure(made, n, seed=0, n_resamples=500)
    for name in ("difference", "mean", "superiority"):
        error = 3 * np.sqrt(0.95 * 0.05 / n)  # as if pairs of a world held together
        assert 0.93 - error < found[name], name
    assert found["ranks"] > 0.95 - error and found["level"] < 0.05 + error
    assert 0.8 < found["width"] < 1.3, "half width over 1.96 standard deviations"


def test_people_who_judged_once_are_noise():
    """Then it is the mean of items' means, compared by a t test over items."""
    rng = np.random.default_rng(4)
    rows = [
        (s, f"i{i}", f"{s}{i}{n}", level + i % 4 + rng.normal())
        for s, level in (("a", 0.6), ("b", 0.0))
        for i in range(20)
        for n in range(3)
    ]
    found = nb.compare_systems(made(rows))
    frame = pd.DataFrame(rows, columns=["system", "item", "who", "value"])
    means = frame.groupby(["item", "system"])["value"].mean().unstack()
    usual = stats.ttest_rel(means["a"], means["b"])
    pair = found.pairs.iloc[0]
    assert pair["difference"] == pytest.approx((means["a"] - means["b"]).mean())
    assert pair["p"] == pytest.approx(usual.pvalue) and pair["reason"] == ""
    assert found.annotators["severity"].isna().all() and found.systems["centered"].isna().all()
    assert "judged one output" in found.annotators["reason"].iloc[0]
    model = found.report.set_index("what").loc["model", "value"]
    assert model.startswith("least squares of system + item; each annotator judged one output")
    flipped = nb.compare_systems(made(rows), test="permutation", n_resamples=2000)
    assert flipped.pairs["p"].iloc[0] == pytest.approx(pair["p"], abs=0.03)


@pytest.fixture(scope="module")
def three():
    """Judgments of three dimensions, the third of few annotators."""
    study = nb.simulate("judgments", n_items=20, n_annotators=12, means=[0.9, 0.2, 0.0], seed=2)
    table = study.judgments
    noise = np.random.default_rng(0).normal(size=len(table))
    few = table["annotator_id"].isin(["w001", "w002", "w003"])
    parts = [
        table,
        table.assign(dimension="fluency", value=table["value"] / 2 + noise),
        table[few].assign(dimension="charm"),
    ]
    return study.replace(judgments=pd.concat(parts, ignore_index=True))


def test_a_list_of_one_dimension_is_that_dimension(three):
    one = nb.compare_systems(three, n_resamples=100, margin=0.5)
    listed = nb.compare_systems(three, dimension=["quality"], n_resamples=100, margin=0.5)
    for name in ("systems", "pairs", "annotators"):
        table = getattr(listed, name)
        assert table.columns[0] == "dimension" and set(table["dimension"]) == {"quality"}
        pd.testing.assert_frame_equal(table.drop(columns="dimension"), getattr(one, name))
    pd.testing.assert_frame_equal(listed.report, one.report)
    assert "quality" in str(listed).splitlines()[1]


def test_dimensions_are_one_family_of_tests(three):
    names = ["quality", "fluency", "charm"]
    both = nb.compare_systems(three, dimension=names, n_resamples=2000, margin=0.5, seed=0)
    alone = [
        nb.compare_systems(three, dimension=name, n_resamples=10, margin=0.5) for name in names
    ]
    assert both.pairs["dimension"].drop_duplicates().tolist() == names
    same = ["difference", "ci_low", "ci_high", "p", "superiority_low", "standardized"]
    whole = pd.concat([one.pairs for one in alone], ignore_index=True)
    pd.testing.assert_frame_equal(both.pairs[same], whole[same])
    left = whole["system"] < whole["opponent"]
    expected = adjust(whole.loc[left, "p"])
    np.testing.assert_allclose(both.pairs.loc[left, "p_adjusted"], expected)
    turned = both.pairs[~left].merge(
        both.pairs[left],
        left_on=["dimension", "system", "opponent"],
        right_on=["dimension", "opponent", "system"],
    )
    for name in ("p_adjusted", "p_equivalent"):
        np.testing.assert_array_equal(turned[name + "_x"], turned[name + "_y"])
    assert both.pairs["p_not_inferior"].notna().sum() == 12, "of few annotators there is none"
    assert (both.pairs["verdict"] == "").sum() == 6
    # Rank ranges hold in all dimensions at once.
    strict = nb.compare_systems(three, n_resamples=2000, confidence=1 - 0.05 / 3, seed=0)
    ranges = ["system", "rank_low", "rank_high"]
    first = both.systems[both.systems["dimension"] == "quality"]
    pd.testing.assert_frame_equal(first[ranges], strict.systems[ranges])
    report = both.report.set_index("what")["value"]
    family = "one family of 9 pairs, all of 3 dimensions (quality, fluency, charm), Holm, at 0.05"
    assert report["tests"].startswith(family)
    assert "in all 3 dimensions (Bonferroni: 98.33% in each)" in report["ranks (quality)"]
    assert report["ranks (charm)"] == "none" and report["systems"] == "3"


def test_a_dimension_that_is_not_there_is_named(three):
    with pytest.raises(ValueError, match="Did you mean 'fluency'"):
        nb.compare_systems(three, dimension=["quality", "fluencey"])
    with pytest.raises(ValueError, match="dimension must be"):
        nb.compare_systems(three, dimension=[])


def test_items_of_a_document_are_one_cluster():
    """The closed form of a crossed design, over documents; and what is said of it."""
    study = nb.simulate("judgments", n_items=60, n_annotators=20, means=[0.5, 0.0], seed=1)
    study = in_documents(study, 15, 0.5)
    frame = rows_of(study).assign(document=lambda rows: rows["cluster"])
    cube = frame.pivot_table(
        index=["document", "annotator_id"], columns="system", values="value", aggfunc="mean"
    )
    gap = (cube["s01"] - cube["s02"]).unstack()
    variance = gap.mean(axis=1).var() / 15 + gap.mean(axis=0).var() / 20
    variance -= gap.stack().var() / 300
    found = nb.compare_systems(study, n_resamples=100)
    pair, report = found.pairs.iloc[0], found.report.set_index("what")["value"]
    assert pair["difference"] == pytest.approx(gap.to_numpy().mean())
    assert pair["se"] == pytest.approx(np.sqrt(variance)) and pair["df"] == pytest.approx(14)
    assert report["items"] == "60 in 15 clusters by document (15.0 effective)"
    assert "over other clusters of items (document) and other annotators" in report["estimand"]
    flipped = nb.compare_systems(study, test="permutation", n_resamples=40_000)
    means = gap.mean(axis=1).to_numpy()
    expected = stats.permutation_test(
        (means,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert flipped.pairs["p"].iloc[0] == pytest.approx(expected.pvalue)
    assert "sign flips over clusters of items (document)" in str(flipped)


def test_standard_errors_count_what_documents_do_to_systems():
    """The known variance: documents, outputs, tastes, and noise; items alone miss the first."""
    n_documents, n_items, n_annotators, sd = 20, 80, 12, 0.8
    world = {"n_items": n_items, "n_annotators": n_annotators, "means": [0.3, 0.0, 0.0]}
    known = 2 * (sd**2 / n_documents + 1 / n_items + 0.25**2 / n_annotators)
    known += 2 / (n_items * n_annotators)
    found = {True: [], False: []}
    for seed in range(12):
        study = in_documents(nb.simulate("judgments", seed=seed, **world), n_documents, sd, seed)
        for grouped in found:
            own = study if grouped else study.replace(settings={"extra": ["document"]})
            judged = comparing._fitted(own, "quality", False)
            spread, _ = comparing._spread(judged, "t")
            found[grouped].append(comparing._pairs(judged, spread, 0.95)["se"].mean())
    assert np.mean(np.square(found[True])) == pytest.approx(known, rel=0.2)
    assert np.mean(np.square(found[False])) < 0.6 * known


def test_documents_that_share_items_are_joined_and_an_item_without_one_is_alone():
    study = nb.simulate("judgments", n_items=30, n_annotators=12, means=[1.0, 0.0], seed=0)
    number = study.outputs["item_id"].str[1:].astype(int)
    document = ("d" + (number // 2).astype(str)).where(number > 3, "")
    # One output of item 5, of d2, stands in d3 too.
    document = document.mask(study.outputs["output_id"] == "i0005-s01", "d3")
    settings = {"extra": ["document"], "clusters": "document"}
    grouped = study.replace(outputs=study.outputs.assign(document=document), settings=settings)
    judged = comparing._fitted(grouped, "quality", False)
    size = np.bincount(judged.group) // 24
    # Items 1 to 3 alone; d2 and d3, of items 4 to 7; d4 to d14 of two each; d15 of item 30.
    assert sorted(size) == [1] * 4 + [2] * 11 + [4]
    alone = study.replace(
        outputs=study.outputs.assign(document=study.outputs["item_id"]), settings=settings
    )
    for name in ("systems", "pairs", "annotators", "report"):
        left, right = (getattr(nb.compare_systems(s, n_resamples=50), name) for s in (alone, study))
        pd.testing.assert_frame_equal(left, right)


def test_few_documents_are_doubted_and_one_that_holds_all_is_named():
    study = nb.simulate("judgments", n_items=40, n_annotators=12, means=[1.0, 0.0], seed=0)
    found = nb.compare_systems(in_documents(study, 8), n_resamples=50)
    assert found.pairs["reason"][0].startswith("8 effective clusters (document): an interval from")
    assert found.annotators["reason"][0].startswith("8 clusters (document): an interval from")
    one = nb.compare_systems(in_documents(study, 1), n_resamples=50)
    said = "one document: intervals are for other annotators and this document alone"
    assert one.pairs["reason"].tolist() == [said] * 2


def test_ranks_change_where_an_interval_supports_it():
    """A wins on most items by little, and loses the others by much."""
    rng = np.random.default_rng(0)

    def won(n_lost, n_items):
        loss = rng.permutation(np.where(np.arange(n_items) < n_lost, -9.0, 1.0))
        rows = [
            (s, f"i{i}", "w", x)
            for s, gap in (("a", loss), ("b", 0 * loss))
            for i, x in enumerate(i % 3 + gap[i] for i in range(n_items))
        ]
        return nb.compare_systems(made(rows), n_resamples=50).systems

    clear, by_chance = won(20, 100), won(1, 8)
    assert clear["rank_superiority"].tolist() == [2, 1] and clear["rank_changes"].all()
    assert by_chance["rank_superiority"].tolist() == [2, 1]
    assert not by_chance["rank_changes"].any(), "neither interval says who is better"


@pytest.mark.parametrize(
    ("difference", "share", "expected"),
    [
        ((0.5, 0.1, 0.9), (0.4, 0.3, 0.6), True),
        ((0.5, -0.1, 0.9), (0.4, 0.3, 0.49), True),
        ((0.5, -0.1, 0.9), (0.4, 0.3, 0.6), False),
        ((0.5, 0.1, 0.9), (0.6, 0.51, 0.7), False),
        ((0.5, 0.1, 0.9), (0.5, 0.4, 0.6), False),
        ((0.5, np.nan, np.nan), (0.4, np.nan, np.nan), False),
    ],
)
def test_a_rank_change_is_a_turned_pair_with_an_interval_off_no_difference(
    difference, share, expected
):
    ends = [("", "ci_low", "ci_high"), ("superiority", "superiority_low", "superiority_high")]
    row = dict(zip(("difference", *ends[0][1:], *ends[1]), difference + share, strict=True))
    pairs = pd.DataFrame([{"system": 0, "opponent": 1, **row}])
    assert comparing._rank_changes(pairs, 2).tolist() == [expected, False]
