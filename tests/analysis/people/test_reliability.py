"""Agreement of pairs, of crossed annotators, and of judgments with any number of values."""

import os
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import nlgbench as nb
from nlgbench.analysis.people import agreement, reliability
from nlgbench.analysis.people.reliability import krippendorff_alpha
from nlgbench.crossed import OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.datasets import cache
from nlgbench.datasets.usr import RAW_FILES

RELEASED = pytest.mark.skipif(
    not os.environ.get("NLGBENCH_DATA") or not cache.available(list(RAW_FILES.values())),
    reason="NLGBENCH_DATA names no folder with the USR release",
)
NAN = float("nan")
#: Shrout and Fleiss (1979), doi:10.1037/0033-2909.86.2.420, Table 2: six targets, four judges.
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]
SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "cohen_kappa": lambda x, y: cohen_kappa_score(x, y),
}


def study_of(values, per_hit=0):
    """A study of one system whose outputs (rows) annotators (columns) judged; NaN: not."""
    values = np.asarray(values, dtype=float)
    n, k = values.shape
    ids = np.array([f"o{at:03d}" for at in range(n)])
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids, "system": "a"})
    hit = [f"hit{at // per_hit}" if per_hit else "" for at in range(n)]
    judgments = pd.DataFrame(
        {
            "output_id": np.repeat(ids, k),
            "annotator_id": np.tile([f"w{at}" for at in range(k)], n),
            "group_id": np.repeat(hit, k),
            "value": values.ravel(),
        }
    )
    return nb.Study(outputs, judgments.dropna())


def only(table, coefficient="krippendorff_alpha", row="a"):
    found = table[(table["row"] == row) & (table["coefficient"] == coefficient)]
    assert len(found) == 1
    return found.iloc[0]


def ratings(seed, n=40, k=4, *, missing=0.2, step=1.0):
    """Ratings that agree in part; with a `step` of 0 hardly two are the same."""
    rng = np.random.default_rng(seed)
    values = 50 + 20 * (rng.normal(size=(n, 1)) + rng.normal(size=(n, k)))
    values = np.round(values / step) * step if step else values
    values[rng.random((n, k)) < missing] = NAN
    values[: n // 2, 0] = np.where(np.isnan(values[: n // 2, 0]), 50.0, values[: n // 2, 0])
    return values


def plain_alpha(values, metric):
    scale = np.unique(values[~np.isnan(values)])
    return krippendorff_alpha((values[:, :, None] == scale).sum(axis=1), scale, metric=metric)


def jackknifed(values, statistic, per_hit=1):
    """Standard error by a plain loop that leaves out one cluster after another."""
    clusters = np.arange(len(values)) // per_hit
    without = [statistic(values[clusters != one]) for one in np.unique(clusters)]
    return np.sqrt((len(without) - 1) * np.var(without))


@pytest.mark.parametrize("metric", ["ordinal", "interval"])
@pytest.mark.parametrize("step", [0, 1, 25])
@pytest.mark.parametrize("per_hit", [0, 4])
def test_alpha_takes_any_number_of_values(metric, step, per_hit):
    values = ratings(1, step=step)
    table = agreement(study_of(values, per_hit), metric=metric)
    found = only(table)
    assert found["estimate"] == pytest.approx(plain_alpha(values, metric), abs=1e-12)
    # Outputs with one judgment are no clusters, and change nothing.
    paired = values[(~np.isnan(values)).sum(axis=1) > 1] if not per_hit else values
    se = jackknifed(paired, lambda one: plain_alpha(one, metric), per_hit or 1)
    assert found["se"] == pytest.approx(se, rel=1e-9)


def test_alpha_does_not_mind_where_a_scale_lies():
    values = ratings(2, step=0)
    for metric in ("ordinal", "interval"):
        found = [
            only(agreement(study_of(moved), metric=metric))
            for moved in (values, 1e6 + 1e-3 * values)
        ]
        assert found[0]["estimate"] == pytest.approx(found[1]["estimate"], abs=1e-6)
        assert found[0]["se"] == pytest.approx(found[1]["se"], rel=1e-4)


def test_equal_values_of_a_fine_scale_are_no_agreement():
    """More than 30 values: those that count equal ones say so, and the others go on."""
    names = ["percent_agreement", "fleiss_kappa", "krippendorff_alpha", "cohen_kappa", "pearson"]
    table = agreement(study_of(ratings(3)), coefficients=names, metric="nominal")
    table = table.set_index(["row", "coefficient"])
    for name in names[:-1]:
        found = table.loc[("a", name)]
        assert np.isnan(found["estimate"]) and np.isnan(found["ci_low"])
        assert "different values, of which it counts equal ones alone: put them" in found["reason"]
    assert "metric='ordinal'" in table.loc[("a", "krippendorff_alpha"), "reason"]
    assert table.loc[("a", "pearson"), "reason"] == ""
    assert (agreement(study_of(ratings(3)), metric="interval")["metric"] == "interval").sum() == 4


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize("per_hit", [0, 4])
def test_pairs_are_those_of_scipy_and_sklearn(name, per_hit):
    values = ratings(4, n=48, step=15)
    values[:, 3] = np.where(np.arange(48) < 9, values[:, 3], NAN)  # meets nobody ten times

    def mean_over_pairs(part):
        found = []
        for one, other in combinations(part[:, :3].T, 2):
            both = ~np.isnan(one) & ~np.isnan(other)
            assert both.sum() >= 10
            found.append(SCIPY[name](one[both], other[both]))
        return np.mean(found)

    found = only(agreement(study_of(values, per_hit), coefficients=[name]), name)
    assert found["estimate"] == pytest.approx(mean_over_pairs(values))
    assert found["n_pairs"] == 3 and found["n_pairs_left_out"] == 3
    met = values[(~np.isnan(values[:, :3])).sum(axis=1) > 1] if not per_hit else values
    assert found["se"] == pytest.approx(jackknifed(met, mean_over_pairs, per_hit or 1))


def test_two_who_never_vary_have_no_kappa_and_are_counted():
    values = np.column_stack([np.ones(20), np.ones(20), np.arange(20) % 2])
    table = agreement(study_of(values), coefficients=["cohen_kappa", "spearman", "pearson"])
    kappa = only(table, "cohen_kappa")
    assert kappa["estimate"] == 0 and (kappa["n_pairs"], kappa["n_pairs_left_out"]) == (2, 1)
    for name in ("spearman", "pearson"):
        found = only(table, name)
        assert np.isnan(found["estimate"]) and found["n_pairs_left_out"] == 3
        assert found["reason"] == "no two annotators have 10 outputs in common on which both vary"


def test_equal_values_do_not_vary_by_rounding():
    """The mean of 21 times 0.1 is not 0.1."""
    values = np.column_stack([np.full(21, 0.1), np.full(21, 0.1), np.full(21, 0.1)])
    names = ["krippendorff_alpha", "pearson", "spearman", "icc_1", "icc_2"]
    for metric in ("ordinal", "interval"):
        table = agreement(study_of(values), coefficients=names, metric=metric)
        assert table["estimate"].isna().all() and (table["reason"] != "").all()


def test_intraclass_correlations_are_those_of_shrout_and_fleiss():
    """Their Table 4; intervals as the manual of R's psych (Revelle) prints them for it."""
    names = ["icc_1", "icc_2", "icc_2k"]
    table = agreement(study_of(SHROUT_FLEISS), coefficients=names)
    found = {name: only(table, name) for name in names}
    printed = {"icc_1": 0.17, "icc_2": 0.29, "icc_2k": 0.62}
    assert {name: round(one["estimate"], 2) for name, one in found.items()} == printed
    ends = found["icc_2"][["ci_low", "ci_high"]].tolist()
    assert ends == pytest.approx([0.019, 0.76], abs=5e-3)
    ends = found["icc_2k"][["ci_low", "ci_high"]].tolist()
    assert ends == pytest.approx([0.071, 0.93], abs=5e-3)
    assert all("6 clusters" in one["reason"] for one in found.values())
    assert "n_pairs" not in table


def test_icc_1_follows_from_the_analysis_of_variance():
    values = ratings(5, n=30, missing=0)
    f = stats.f_oneway(*values).statistic
    found = only(agreement(study_of(values), coefficients=["icc_1"]), "icc_1")
    assert found["estimate"] == pytest.approx((f - 1) / (f + 3))

    def plain(part):
        rows = [row[~np.isnan(row)] for row in part]
        rows = [row for row in rows if len(row) > 1]
        m, f = np.array([len(row) for row in rows]), stats.f_oneway(*rows).statistic
        mean_size = (m.sum() - (m**2).sum() / m.sum()) / (len(m) - 1)
        return (f - 1) / (f + mean_size - 1)

    values = ratings(6, n=30, missing=0.3)
    values = values[(~np.isnan(values)).sum(axis=1) > 1]
    found = only(agreement(study_of(values), coefficients=["icc_1"]), "icc_1")
    assert found["estimate"] == pytest.approx(plain(values))
    assert found["se"] == pytest.approx(jackknifed(values, plain))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (ratings(7, missing=0.1), "not crossed: "),
        (np.ones((12, 3)), "undefined"),
        ([[1, NAN], [2, NAN], [NAN, 3]], "0 annotators judged 0 outputs: two of each are needed"),
    ],
)
def test_crossed_designs_alone_have_icc_2(values, reason):
    table = agreement(study_of(values), coefficients=["icc_2", "icc_2k"])
    assert table["estimate"].isna().all() and table["ci_low"].isna().all()
    assert table.loc[table["row"] == "a", "reason"].str.startswith(reason).all()


def test_coefficients_find_the_shares_of_variance_that_a_world_has():
    """Outputs' variance 4, annotators' 1, the rest's 3: ICC(1) is 4 / 8, and so is ICC(2,1)."""
    rng = np.random.default_rng(8)
    n, k = 4000, 40
    values = 2 * rng.normal(size=(n, 1)) + rng.normal(size=(1, k))
    values = values - values.mean(axis=0) + stats.norm.ppf((np.arange(k) + 0.5) / k)
    values += np.sqrt(3) * rng.normal(size=(n, k))
    table = agreement(study_of(values), coefficients=["icc_1", "icc_2", "icc_2k"])
    for name, true in {"icc_1": 0.5, "icc_2": 0.5, "icc_2k": 4 / (4 + 4 / k)}.items():
        found = only(table, name)
        assert found["estimate"] == pytest.approx(true, abs=0.02)
        assert found["ci_low"] < found["estimate"] < found["ci_high"]


def test_what_was_there_before_is_the_same():
    """The default asks for three coefficients, in columns without pairs."""
    table = agreement(study_of(ratings(9, step=20)))
    assert table["coefficient"].unique().tolist() == list(reliability.COEFFICIENTS)
    before = "row coded coefficient metric estimate se ci_low ci_high confidence n_clusters reason"
    before += " method covers n_judgments n_outputs n_left_out"
    assert " ".join(table) == before
    with pytest.raises(ValueError, match=r"coefficients: 'cohens_kappa' is unknown\. Did you mean"):
        agreement(study_of(ratings(9)), coefficients=["cohens_kappa"])


@RELEASED
@pytest.mark.parametrize(
    ("name", "spearman", "pearson"),
    [("usr-topical-chat", 0.7183, 0.7096), ("usr-persona-chat", 0.6577, 0.6603)],
)
def test_usrs_agreement_is_over_places_in_its_file(name, spearman, pearson):
    """Mehri and Eskenazi (2020), Table 1: the first, second and third rating, whoever gave it."""
    study = nb.load(name)
    place = study.judgments.groupby(["output_id", "dimension"]).cumcount()
    judgments = study.judgments.assign(annotator_id="place " + place.astype(str))
    names = ["spearman", "pearson"]
    printed = agreement(study.replace(judgments=judgments), coefficients=names)
    for coefficient, value in zip(names, (spearman, pearson), strict=True):
        found = only(printed, coefficient, "all")
        assert round(found["estimate"], 4) == value and found["n_pairs"] == 3
    # The five and four people who took turns at these places agree a little otherwise.
    people = agreement(study, coefficients=names)
    for coefficient, value in zip(names, (spearman, pearson), strict=True):
        found = only(people, coefficient, "all")
        assert found["n_pairs"] == (10 if "topical" in name else 6)
        assert 0.002 < abs(found["estimate"] - value) < 0.03


def test_alpha_is_of_the_kind_of_scale():
    """Two values: nominal, which is then interval; more: interval, and the result says so."""
    five = study_of(ratings(9, step=20))
    judgments = five.judgments
    two = five.replace(judgments=judgments.assign(value=(judgments["value"] > 50) * 1.0))
    for study, metric in ((two, "nominal"), (five, "interval")):
        table = agreement(study)
        assert set(table.loc[table["coefficient"] == "krippendorff_alpha", "metric"]) == {metric}
        pd.testing.assert_frame_equal(table, agreement(study, metric=metric))
    nominal, interval = (only(agreement(two, metric=one)) for one in ("nominal", "interval"))
    assert nominal["estimate"] == pytest.approx(interval["estimate"])
    labels = only(agreement(five, metric="nominal"))
    assert labels["estimate"] < only(agreement(five))["estimate"]


def test_a_system_may_be_called_as_a_row_is():
    study = study_of(ratings(9, step=20))
    outputs = study.outputs.assign(system=np.resize(["all", "fake", "b"], len(study.outputs)))
    found = agreement(study.replace(outputs=outputs))
    assert list(dict.fromkeys(found["row"])) == [
        *("all", "real", "fake", "all (system)", "fake (system)", "b")
    ]
    plain = study.replace(outputs=outputs.replace({"system": {"all": "x", "fake": "y"}}))
    columns = ["estimate", "ci_low"]
    np.testing.assert_array_equal(found[columns], agreement(plain)[columns])


@pytest.mark.parametrize(
    "name",
    [
        "percent_agreement",
        "fleiss_kappa",
        "nominal",
        "ordinal",
        "interval",
        "icc_1",
    ],
)
def test_other_annotators_are_left_out_one_by_one(name, per_hit=3):
    """Clusters, annotators, and each annotator's judgments of each cluster, by a plain loop."""
    values = ratings(4, n=9, k=12, step=25.0, missing=0.1)
    values[3] = NAN
    values[3, [1, 2]] = 25.0, 50.0  # an output that goes with either of two annotators
    alpha = name in ("nominal", "ordinal", "interval")
    asked = {"coefficients": ["krippendorff_alpha" if alpha else name]}
    asked |= {"metric": name if alpha else None}

    def found(kept):
        table = agreement(study_of(np.where(kept, values, NAN), per_hit), **asked)
        return table[table["row"] == "all"].iloc[0]

    n, k = values.shape
    start, whole = found(np.ones((n, k), dtype=bool)), np.isfinite(values)
    of, who = np.meshgrid(np.arange(n) // per_hit, np.arange(k), indexing="ij")
    ways = [[of == one for one in np.unique(of)], [who == one for one in range(k)]]
    ways += [[one & other for one in ways[0] for other in ways[1] if (one & other & whole).any()]]
    items, people, both = (
        (len(way) - 1) * np.var([found(~one)["estimate"] for one in way]) for way in ways
    )
    largest = max(items, people, items + people - both)
    assert start["se"] == pytest.approx(np.sqrt(largest), rel=1e-6)
    assert start["covers"] == OTHER_ANNOTATORS
    judged = np.bincount(np.nonzero(whole)[1])
    df = min(n // per_hit, judged.sum() ** 2 / (judged**2).sum()) - 1
    half = stats.t.ppf(0.975, df) * start["se"]
    assert start["ci_high"] == pytest.approx(start["estimate"] + half)


def test_other_annotators_are_left_out_of_pairs():
    """The mean r of pairs without an annotator, and without one's judgment of an output."""
    values = ratings(4, n=14, k=10, step=0.0, missing=0.0)
    n, k = values.shape

    def r(one, other, left_out=-1):
        kept = np.arange(n) != left_out
        return np.corrcoef(values[kept, one], values[kept, other])[0, 1]

    pairs = list(combinations(range(k), 2))
    items = [np.mean([r(*pair, at) for pair in pairs]) for at in range(n)]
    people = [np.mean([r(*pair) for pair in pairs if who not in pair]) for who in range(k)]
    both = [
        np.mean([r(*pair, at if who in pair else -1) for pair in pairs])
        for at in range(n)
        for who in range(k)
    ]
    v_items, v_people, v_both = ((len(one) - 1) * np.var(one) for one in (items, people, both))
    found = only(agreement(study_of(values), coefficients=["pearson"]), "pearson")
    largest = max(v_items, v_people, v_items + v_people - v_both)
    assert found["se"] == pytest.approx(np.sqrt(largest), rel=1e-6)


def test_few_annotators_are_fixed_and_many_can_be():
    names = ["fleiss_kappa", "pearson", "icc_2"]
    many, few = ratings(5, n=60, k=12, step=25.0), ratings(5, n=60, k=4, step=25.0)
    fixed = agreement(study_of(many), coefficients=names, annotators="fixed")
    assert fixed["covers"].tolist()[:3] == [THESE_ANNOTATORS] * 2 + [OTHER_ANNOTATORS]
    random = agreement(study_of(many), coefficients=names)
    width = random["ci_high"] - random["ci_low"], fixed["ci_high"] - fixed["ci_low"]
    assert (width[0] > width[1])[:2].all()
    default = agreement(study_of(few), coefficients=names)
    pd.testing.assert_frame_equal(
        default, agreement(study_of(few), coefficients=names, annotators="fixed")
    )
    assert default["ci_low"].notna()[:2].all() and (default["reason"] == "")[:2].all()
    none = agreement(study_of(few), coefficients=names, annotators="random")
    assert none["ci_low"][:2].isna().all() and none["estimate"][:2].notna().all()
    assert none["reason"][0].startswith("3.9 effective annotators")


def test_who_judged_one_hit_alone_is_part_of_it():
    """Other HITs have other annotators: intervals over HITs cover these, too."""
    values = np.full((40, 20), NAN)
    rng = np.random.default_rng(6)
    for hit in range(10):
        values[4 * hit : 4 * hit + 4, 2 * hit : 2 * hit + 2] = rng.integers(1, 6, (4, 2))
    found = only(agreement(study_of(values, 4)))
    assert found["covers"] == OTHER_ANNOTATORS and found["method"].startswith("delete-one-cluster")
