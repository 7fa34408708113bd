"""Which system is better: as other people's least squares and closed forms have it."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.people import additive, comparing
from nlgbench.inference import adjust
from nlgbench.study import Study, from_tables

DESIGNS = {
    "crossed": {"design": "crossed", "n_items": 12, "n_annotators": 11},
    "scattered": {"design": "scattered", "n_items": 20, "n_annotators": 14},
    "distinct": {"design": "distinct", "n_items": 15, "n_votes": 2},
    "many annotators": {"design": "scattered", "n_items": 12, "n_annotators": 30},
    "missing": {"design": "scattered", "n_items": 30, "n_annotators": 12, "missing": 0.2},
}


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
    found = nb.compare_systems(study).systems.set_index("system")["estimate"]
    for name in found.index:
        expected = model.predict(frame.assign(system=name)).mean()
        assert found[name] == pytest.approx(expected, abs=1e-9)


def brute_force(study, cluster):
    """Refit without each cluster by the pseudoinverse, and give each system's level."""
    levels, frame = [], rows_of(study)
    names = list(dict.fromkeys(frame["system"]))
    for one in np.unique(cluster):
        part = frame[cluster != one]
        dummies = [pd.get_dummies(part[name]) for name in ("system", "item_id", "annotator_id")]
        x = np.hstack([table.to_numpy(float) for table in dummies])
        beta = np.linalg.pinv(x, rcond=1e-9) @ part["value"].to_numpy()
        effect = pd.Series(beta[: len(names)], dummies[0].columns)
        rest = (part["value"] - part["system"].map(effect)).mean()
        levels.append([rest + effect[name] for name in names])
    return np.array(levels)


def test_the_jackknife_is_that_of_refits(study):
    judged = comparing._fit_dimension(study, "quality", False, "raw")
    for cluster in (judged.cell, judged.item % 4 * len(judged.people) + judged.annotator):
        few = np.unique(cluster, return_inverse=True)[1]
        block = judged.item if cluster is judged.cell else judged.annotator
        found = additive.without_few(judged.data, judged.fit, few, block)
        np.testing.assert_allclose(found, brute_force(study, few), atol=1e-9, rtol=0)


@pytest.mark.parametrize("seed", range(12))
def test_in_random_designs_levels_without_a_cluster_are_those_of_refits_or_missing(seed):
    """Wide and narrow supports, levels that vanish, systems that are not connected; scores."""
    rng = np.random.default_rng(seed)
    sizes = (4, *rng.integers(3, 25, 2)) if seed < 8 else (4, 20, 1)
    n = rng.integers(sum(sizes), 3 * sum(sizes))
    labels = [np.unique(rng.integers(0, size, n), return_inverse=True)[1] for size in sizes]
    value = rng.normal(size=n)
    data, _ = additive.normal_equations(value, *labels)
    if data.fit() is None:
        pytest.skip("systems are not connected")
    for cluster in labels[1:] if seed < 8 else (labels[1], labels[1] // 3):
        levels = additive.without_clusters(data, cluster)[0]
        for number, level in enumerate(levels):
            kept = cluster != number
            design = np.hstack([np.eye(label.max() + 1)[label[kept]] for label in labels])
            effects = np.linalg.pinv(design, rcond=1e-10) @ value[kept]
            null = np.eye(design.shape[1]) - np.linalg.pinv(design, rcond=1e-10) @ design
            contrasts = np.eye(4) - 0.25
            if np.abs(contrasts @ null[:4]).max() > 1e-6:
                assert np.isnan(level).all()
                continue
            expected = effects[:4] + (value[kept] - effects[labels[0][kept]]).mean()
            np.testing.assert_allclose(level, expected, atol=1e-9, rtol=0)


def test_thousands_of_items_and_of_annotators_are_refused():
    n = np.arange(6_000)
    with pytest.raises(ValueError, match="6,000 items and 6,000 annotators") as caught:
        additive.normal_equations(n * 1.0, n % 2, n, n)
    assert caught.value.status == "too_many_levels"


@pytest.mark.parametrize("of", ["item_id", "document"])
def test_a_crossed_design_has_a_closed_form(of):
    """V_I and V_A are variances of mean differences of items (or documents) and of annotators."""
    study = nb.simulate("judgments", n_items=30, n_annotators=20, means=[0.5, 0.0], seed=1)
    document = study.outputs["item_id"].str[1:].astype(int) % 15
    if of == "document":
        study = study.replace(
            outputs=study.outputs.assign(document="d" + document.astype(str)),
            settings={"extra": ["document"], "clusters": "document"},
        )
    frame = rows_of(study)
    frame["document"] = frame["item_id"].str[1:].astype(int) % 15
    cube = frame.pivot_table(index=[of, "annotator_id"], columns="system", values="value")
    better, worse = study.truth["systems"]["system"]
    gap = (cube[better] - cube[worse]).unstack()
    n = len(gap)
    of_items, of_annotators = gap.mean(axis=1).var() / n, gap.mean(axis=0).var() / 20
    summed = of_items + of_annotators - gap.stack().var() / (20 * n)
    for annotators, variance, df in (
        ("random", max(of_items, of_annotators, summed), min(n, 20) - 1),
        ("fixed", of_items, n - 1),
    ):
        found = nb.compare_systems(study, annotators=annotators)
        pair = found.pairs.iloc[0]
        assert found.details["effective_items"].tolist() == [n, n]
        assert pair["estimate"] == pytest.approx(gap.to_numpy().mean())
        assert [pair["se"], pair["df"]] == pytest.approx([np.sqrt(variance), df])
        half = stats.t.ppf(0.975, df) * np.sqrt(variance)
        assert pair["ci_high"] - pair["estimate"] == pytest.approx(half)
        assert pair["p"] == pytest.approx(2 * stats.t.sf(pair["estimate"] / pair["se"], df))


def test_one_annotator_leaves_the_paired_t_test_over_items():
    values = np.random.default_rng(0).normal([[0.5], [0]], size=(2, 25))
    rows = [(f"s{s}", f"i{i:02d}", "w", one) for (s, i), one in np.ndenumerate(values)]
    pair, expected = nb.compare_systems(made(rows)).pairs.iloc[0], stats.ttest_rel(*values)
    found = pair[["p", "ci_low", "ci_high"]].tolist()
    assert found == pytest.approx([expected.pvalue, *expected.confidence_interval()])
    assert pair["covers"] == "other items, these annotators"


def test_an_item_of_each_system_is_a_sample_and_no_effect():
    """Items of one system each: Welch's variance, up to the jackknife's n / (n - 1)."""
    values = np.random.default_rng(0).normal(size=(2, 20))
    rows = [(f"s{s}", f"s{s}-i{i}", "w", one) for (s, i), one in np.ndenumerate(values)]
    found = nb.compare_systems(made(rows))
    off = [np.delete(v, i).mean() - v.mean() for v in values for i in range(20)]
    expected = [abs(np.diff(values.mean(axis=1))[0]), np.sqrt(39 / 40 * np.square(off).sum())]
    assert found.pairs.loc[0, ["estimate", "se"]].tolist() == pytest.approx(expected)
    assert found.details["n_missing"].tolist() == [0, 0]


UNKNOWN = ["ci_low", "p", "p_adjusted", "p_equivalent", "superiority_low"]


def test_few_annotators_as_a_sample_have_no_interval_and_the_reason_says_why():
    study = nb.simulate("judgments", n_annotators=5, n_items=40, seed=0)
    found = nb.compare_systems(study, annotators="random", margin=0.5)
    assert found.pairs[UNKNOWN].isna().all().all() and (found.pairs["verdict"] == "").all()
    assert found.systems[["ci_low", "rank_low"]].isna().all().all()
    assert set(found.systems["status"]) == {"too_few_annotators"}
    assert found.systems["rank"].is_monotonic_increasing


def test_ten_annotators_of_nearly_equal_loads_are_a_sample_and_positions_never_are():
    study = nb.simulate("judgments", n_annotators=10, n_items=40, missing=0.1, seed=0)
    found = nb.compare_systems(study)
    assert found.details["effective_annotators"][0] == pytest.approx(10, abs=0.05)
    assert set(found.systems["covers"]) == {"other items and annotators"}
    study = from_tables(study.outputs, study.judgments, settings={"annotators": "positions"})
    assert set(nb.compare_systems(study).systems["covers"]) == {"other items, these annotators"}
    refused = nb.compare_systems(study, annotators="random").systems
    assert refused["ci_low"].isna().all() and set(refused["status"]) == {"positions"}


def test_rank_ranges_count_the_pairs_that_are_rejected(study):
    found = nb.compare_systems(study, annotators="fixed", confidence=0.8)
    better = found.pairs[found.pairs["p_adjusted"] < 0.2]
    won = better[better["estimate"] > 0]["system"].value_counts()
    lost = better[better["estimate"] < 0]["system"].value_counts()
    table = found.systems.set_index("system")
    for name, row in table.iterrows():
        assert row["rank_low"] == 1 + lost.get(name, 0)
        assert row["rank_high"] == len(table) - won.get(name, 0)


def test_superiority_counts_pairs_of_judgments_on_an_item():
    given = ["a1w3", "a1v1", "b1w2", "b1v1", "a2w5", "b2v4", "a3w1", "b3v1", "a4v9"]
    pairs = nb.compare_systems(made([(s, i, who, int(n)) for s, i, who, n in given])).pairs
    # Item 1: 3 beats both, 1 loses to 2 and ties with 1; item 2: won; item 3: tied.
    expected = np.mean([(1 + 1 + 0 + 0.5) / 4, 1, 0.5])
    assert pairs.set_index("system").loc["a", "superiority"] == pytest.approx(expected)
    assert pairs["superiority"].sum() == pytest.approx(1)


def test_superiority_is_mann_whitneys_where_items_are_of_one_system():
    values = np.random.default_rng(0).integers(1, 6, size=(2, 30))
    rows = [(f"s{s}", f"s{s}-i{i}", "w", one) for (s, i), one in np.ndenumerate(values)]
    pairs = nb.compare_systems(made(rows)).pairs.set_index("system")
    u = stats.mannwhitneyu(*values).statistic
    assert pairs.loc["s0", "superiority"] == pytest.approx(u / 900)


def test_a_margin_shows_equivalence_and_nothing_else_does():
    study = nb.simulate("judgments", means=[0.0, 0.0], n_items=80, n_annotators=20, seed=5)
    pairs = nb.compare_systems(study).pairs
    assert pairs["verdict"].tolist() == ["undecided"] * 2 and pairs["p_equivalent"].isna().all()
    wide = nb.compare_systems(study, margin=1.0).pairs
    assert wide["verdict"].tolist() == ["equivalent"] * 2
    assert wide[["p_equivalent", "p_not_inferior"]].lt(0.05).all(axis=None)
    # Two one-sided tests at .05 are the 90% interval within the margin.
    ninety = nb.compare_systems(study, confidence=0.9).pairs.iloc[0]
    edge = float(ninety[["ci_low", "ci_high"]].abs().max())
    at_edge = nb.compare_systems(study, margin=edge).pairs
    assert at_edge["p_equivalent"].iloc[0] == pytest.approx(0.05)


def test_disconnected_systems_are_refused_with_who_is_where():
    rows = [(s, f"i{i}", f"{s}-{w}", i + w) for s in "abc" for i in range(4) for w in range(5)]
    rows += [("b", "i0", "c-0", 1.0), ("c", "i0", "b-0", 2.0)]
    with pytest.raises(ValueError, match=r"study\.only\(systems=") as caught:
        nb.compare_systems(made(rows))
    assert "a (items: 4; annotators: a-0, a-1, a-2 and 2 more)" in str(caught.value)
    assert "b, c (items: 4; annotators: b-0, b-1, b-2 and 7 more)" in str(caught.value)
    assert nb.compare_systems(made(rows).only(systems=["b", "c"])).pairs.shape[0]


def test_a_cluster_that_holds_the_design_together_is_named():
    rows = [("a", f"i{i}", f"w{i}", float(i % 3)) for i in range(12)]
    rows += [("b", f"i{i}", f"v{i}", float(i % 4)) for i in range(12)]
    rows += [("b", "i0", "w0", 2.0)]
    found = nb.compare_systems(made(rows))
    assert found.pairs["ci_low"].isna().all()
    assert set(found.systems["status"]) == {"one_connection"}
    assert "without item 'i0', systems cannot be compared" in found.systems["reason"][0]


def test_z_and_rank_are_within_annotator():
    study = nb.simulate("judgments", n_items=40, n_annotators=12, means=[1.5, 0.7, 0.0], seed=1)
    by = study.judgments.groupby("annotator_id")["value"]
    z = (study.judgments["value"] - by.transform("mean")) / by.transform("std")
    rank = (by.rank() - 0.5) / by.transform("size")
    for scale, value in (("z", z), ("rank", rank)):
        given = from_tables(study.outputs, study.judgments.assign(value=value))
        left, right = nb.compare_systems(study, scale=scale), nb.compare_systems(given)
        pd.testing.assert_series_equal(left.systems["estimate"], right.systems["estimate"])
        assert left.details["scale"].str.startswith(scale).all()
        rescaled = comparing.rescale_judgments(study, scale).judgments
        np.testing.assert_allclose(rescaled["value"], value)
    told = study.replace(settings={"scales": {"quality": {"min": -10, "max": 10}}})
    assert set(nb.compare_systems(told).details["scale"]) == {"-10 to 10"}


def test_who_judges_alike_is_severe_by_what_they_take_off():
    rng = np.random.default_rng(0)
    rows = [
        (system, f"i{i}", who, level + i % 5 - off + rng.normal(0, 0.01))
        for system, level in (("a", 1.0), ("b", 0.0))
        for i in range(20)
        for who, off in (("mild", 0.0), ("fair", 1.0), ("hard", 2.0))
    ]
    table = nb.compare_systems(made(rows)).annotators
    assert table["annotator_id"].tolist() == ["hard", "fair", "mild"]
    np.testing.assert_allclose(table["estimate"], [1, 0, -1], atol=0.01)
    assert ((table["ci_low"] < table["estimate"]) & (table["estimate"] < table["ci_high"])).all()
    apart = nb.simulate("judgments", design="distinct", n_items=12, seed=0)
    table = nb.compare_systems(apart).annotators
    assert table["estimate"].isna().all() and set(table["status"]) == {"separate_annotators"}


def test_people_who_judged_once_are_noise():
    """Then it is the mean of items' means, compared by a t test over items."""
    value = np.random.default_rng(4).normal([[[0.6]], [[0]]], size=(2, 20, 3))
    rows = [("ab"[s], f"i{i}", f"{s}-{i}-{n}", one) for (s, i, n), one in np.ndenumerate(value)]
    found = nb.compare_systems(made(rows))
    usual, pair = stats.ttest_rel(*value.mean(axis=2)), found.pairs.iloc[0]
    assert pair["estimate"] == pytest.approx(abs(value[0].mean() - value[1].mean()))
    assert pair["p"] == pytest.approx(usual.pvalue) and pair["status"] == "ok"
    assert found.annotators["estimate"].isna().all()
    assert set(found.annotators["status"]) == {"one_judgment"}


@pytest.fixture(scope="module")
def three():
    """Judgments of three dimensions, the third of few annotators."""
    study = nb.simulate("judgments", n_items=20, n_annotators=12, means=[0.9, 0.2, 0.0], seed=2)
    table = study.judgments
    noise = np.random.default_rng(0).normal(size=len(table))
    fluency = table.assign(dimension="fluency", value=table["value"] / 2 + noise)
    few = table[table["annotator_id"].isin(["w001", "w002", "w003"])].assign(dimension="charm")
    return study.replace(judgments=pd.concat([table, fluency, few], ignore_index=True))


def test_dimensions_are_one_family_of_tests_for_one_kind_of_annotators(three):
    names, asked = ["quality", "fluency", "charm"], {"margin": 0.5, "annotators": "fixed"}
    found = nb.compare_systems(three, dimension=names, margin=0.5)
    # Of the third there are three annotators.
    assert set(found.pairs["covers"]) == {"other items, these annotators"}
    for table in (found.systems, found.pairs):
        assert table["dimension"].drop_duplicates().tolist() == names
    alone = [nb.compare_systems(three, dimension=name, **asked) for name in names]
    assert len(alone[0].systems.columns) == 11
    whole = pd.concat([one.pairs for one in alone], ignore_index=True)
    same = ["estimate", "ci_low", "ci_high", "p", "superiority_low", "standardized"]
    pd.testing.assert_frame_equal(found.pairs[same], whole[same])
    for left in (whole["system"] < whole["opponent"], whole["system"] > whole["opponent"]):
        adjusted = found.pairs[left].sort_values("p")["p_adjusted"]
        np.testing.assert_allclose(adjusted, adjust(np.sort(whole.loc[left, "p"])))
    assert found.pairs.groupby("p_equivalent").size().mod(2).eq(0).all()
    pair = nb.compare_systems(three, dimension=["quality", "fluency"])
    assert set(pair.pairs["covers"]) == {"other items and annotators"}
