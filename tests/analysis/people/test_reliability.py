"""Agreement of pairs, of crossed annotators, and of judgments with any number of values."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from plain_coefficients import coefficient_of
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.people import agreement, reliability
from nlgbench.crossed import OTHER_ANNOTATORS

NAN = float("nan")


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
    unit = np.nonzero(~np.isnan(values))[0]
    return coefficient_of("krippendorff_alpha", values[~np.isnan(values)], unit, metric)


def jackknifed(values, statistic, per_hit=1):
    """Standard error by a plain loop that leaves out one cluster after another."""
    clusters = np.arange(len(values)) // per_hit
    without = [statistic(values[clusters != one]) for one in np.unique(clusters)]
    return np.sqrt((len(without) - 1) * np.var(without))


@pytest.mark.parametrize(
    ("metric", "step"), [("ordinal", 25), ("interval", 0), ("interval", 1), ("interval", 25)]
)
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


def test_equal_values_of_a_fine_scale_are_no_agreement():
    """More than 30 values: those that count equal ones say so, and the others go on."""
    table = agreement(study_of(ratings(3)), metric="ordinal").set_index(["row", "coefficient"])
    for name in reliability.COEFFICIENTS:
        found = table.loc[("a", name)]
        assert np.isnan(found["estimate"]) and np.isnan(found["ci_low"])
        assert "different values: put them in at most 30 bins" in found["reason"]
    assert "metric='interval'" in table.loc[("a", "krippendorff_alpha"), "reason"]
    assert (agreement(study_of(ratings(3)), metric="interval")["metric"] == "interval").sum() == 4


def test_equal_values_do_not_vary_by_rounding():
    """The mean of 21 times 0.1 is not 0.1."""
    values = np.column_stack([np.full(21, 0.1), np.full(21, 0.1), np.full(21, 0.1)])
    for metric in ("ordinal", "interval"):
        table = agreement(study_of(values), coefficients=["krippendorff_alpha"], metric=metric)
        assert table["estimate"].isna().all() and (table["reason"] != "").all()


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


@pytest.mark.parametrize(
    "name",
    [
        "fleiss_kappa",
        "ordinal",
        "interval",
    ],
)
def test_other_annotators_are_left_out_one_by_one(name, per_hit=3):
    """Clusters, annotators, and each annotator's judgments of each cluster, by a plain loop.

    What is left out takes its pairs of judgments along; the others keep their weights.
    """
    values = ratings(4, n=9, k=12, step=25.0, missing=0.1)
    values[3] = NAN
    values[3, [1, 2]] = 25.0, 50.0  # an output that goes with either of two annotators
    alpha = name in ("nominal", "ordinal", "interval")
    asked = {"coefficients": ["krippendorff_alpha" if alpha else name]}
    found = agreement(study_of(values, per_hit), metric=name if alpha else None, **asked)
    found = found[found["row"] == "all"].iloc[0]
    n, k = values.shape
    whole = np.isfinite(values)
    pairs = [
        (unit, one, other, 1 / (m - 1) if alpha else 1 / (m * (m - 1)))
        for unit, m in enumerate(whole.sum(axis=1))
        for one, other in permutations(np.flatnonzero(whole[unit]), 2)
    ]
    scale = np.unique(values[whole])

    def statistic(kept):
        table = np.zeros((len(scale), len(scale)))
        for unit, *both, weight in pairs:
            if kept[unit, both].all():
                table[tuple(np.searchsorted(scale, values[unit, both]))] += weight
        each, size = table.sum(axis=0), table.sum()
        equal = np.trace(table) / size
        by_chance = ((each / size) ** 2).sum()
        if not alpha:
            return equal if name == "percent_agreement" else (equal - by_chance) / (1 - by_chance)
        place = np.cumsum(each) - each / 2 if name == "ordinal" else scale
        apart = (place[:, None] - place) ** 2
        if name == "nominal":
            apart = (apart > 0) * 1.0
        return 1 - (size - 1) * (table * apart).sum() / (np.outer(each, each) * apart).sum()

    of, who = np.meshgrid(np.arange(n) // per_hit, np.arange(k), indexing="ij")
    ways = [[of == one for one in np.unique(of)], [who == one for one in range(k)]]
    ways += [[one & other for one in ways[0] for other in ways[1] if (one & other & whole).any()]]
    items, people, both = (
        (len(way) - 1) * np.var([statistic(~one) for one in way]) for way in ways
    )
    assert found["estimate"] == pytest.approx(statistic(whole))
    largest = max(items, people, items + people - both)
    assert found["se"] == pytest.approx(np.sqrt(largest), rel=1e-6)
    assert found["covers"] == OTHER_ANNOTATORS
    judged = np.bincount(np.nonzero(whole)[1])
    df = min(n // per_hit, judged.sum() ** 2 / (judged**2).sum()) - 1
    half = stats.t.ppf(0.975, df) * found["se"]
    assert found["ci_high"] == pytest.approx(found["estimate"] + half)


def test_who_judged_one_hit_alone_is_part_of_it():
    """Other HITs have other annotators: intervals over HITs cover these, too."""
    values = np.full((40, 20), NAN)
    rng = np.random.default_rng(6)
    for hit in range(10):
        values[4 * hit : 4 * hit + 4, 2 * hit : 2 * hit + 2] = rng.integers(1, 6, (4, 2))
    found = only(agreement(study_of(values, 4)))
    assert found["covers"] == OTHER_ANNOTATORS and found["n_clusters"] == 10
