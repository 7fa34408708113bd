"""Agreement on any scale, and over other annotators, is that of plain loops."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from plain_coefficients import of_ratings
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.people import agreement, reliability
from nlgbench.clustering import OTHER_ANNOTATORS

NAN = float("nan")


def study_of(values, per_hit=0):
    """A study of one system whose outputs (rows) annotators (columns) judged; NaN: not."""
    outputs = pd.DataFrame({"output_id": [f"o{at:03d}" for at in range(len(values))]})
    rows = [
        (f"o{at:03d}", f"w{who}", f"hit{at // per_hit}" if per_hit else "", value)
        for (at, who), value in np.ndenumerate(values)
    ]
    judgments = pd.DataFrame(rows, columns=["output_id", "annotator_id", "group_id", "value"])
    return nb.Study(outputs.assign(item_id=outputs["output_id"], system="a"), judgments.dropna())


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
    found = only(agreement(study_of(values, per_hit), metric=metric))

    def alpha(values):
        return of_ratings("krippendorff_alpha", values, metric)

    assert found["estimate"] == pytest.approx(alpha(values), abs=1e-12)
    # Outputs with one judgment are no clusters, and change nothing.
    paired = values[(~np.isnan(values)).sum(axis=1) > 1] if not per_hit else values
    se = jackknifed(paired, alpha, per_hit or 1)
    assert found["se"] == pytest.approx(se, rel=1e-9)


def test_equal_values_of_a_fine_scale_are_no_agreement():
    """More than 30 values: those that count equal ones say so, and the others go on."""
    table = agreement(study_of(ratings(3)), metric="ordinal").set_index(["row", "coefficient"])
    for name in reliability.COEFFICIENTS:
        found = table.loc[("a", name)]
        assert np.isnan(found["estimate"]) and np.isnan(found["ci_low"])
        assert found["status"] == "many_values"
    assert "metric='interval'" in table.loc[("a", "krippendorff_alpha"), "reason"]
    assert (agreement(study_of(ratings(3)), metric="interval")["metric"] == "interval").sum() == 4


def test_alpha_is_of_the_kind_of_scale():
    """Two values: nominal, which is then interval; more: interval, and the result says so."""
    five = study_of(ratings(9, step=20))
    higher = (five.judgments["value"] > 50) * 1.0
    two = five.replace(judgments=five.judgments.assign(value=higher))
    for study, metric in ((two, "nominal"), (five, "interval")):
        assert only(agreement(study))["metric"] == metric
        assert agreement(study).equals(agreement(study, metric=metric))
    of_two, of_five = (
        [only(agreement(one, metric=metric))["estimate"] for metric in ("nominal", "interval")]
        for one in (two, five)
    )
    assert of_two[0] == pytest.approx(of_two[1]) and of_five[0] < of_five[1]


@pytest.mark.parametrize("name", ["fleiss_kappa", "ordinal", "interval"])
def test_other_annotators_are_left_out_one_by_one(name, per_hit=3):
    """Clusters, annotators, and each annotator's judgments of each cluster, by a plain loop.

    What is left out takes its pairs of judgments along; the others keep their weights.
    """
    values = ratings(4, n=9, k=12, step=25.0, missing=0.1)
    values[3] = NAN
    values[3, [1, 2]] = 25.0, 50.0  # an output that goes with either of two annotators
    alpha = name != "fleiss_kappa"
    found = agreement(study_of(values, per_hit), metric=name if alpha else None)
    found = only(found, "krippendorff_alpha" if alpha else name, "all")
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
        if not alpha:
            by_chance = ((each / size) ** 2).sum()
            return (np.trace(table) / size - by_chance) / (1 - by_chance)
        place = np.cumsum(each) - each / 2 if name == "ordinal" else scale
        apart = (place[:, None] - place) ** 2
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
    assert found["ci_high"] == pytest.approx(min(found["estimate"] + half, 1))
    assert found["ci_low"] == pytest.approx(found["estimate"] - half)


@pytest.mark.parametrize("n_items", [5, 12, 40])
def test_intervals_of_agreement_stay_in_their_range(n_items):
    values = np.full((n_items, 3), 3.0)
    values[-1, 2] = 1.0
    table = agreement(study_of(values)).query("row == 'all'").set_index("coefficient")
    percent = table.loc["percent_agreement"]
    assert 0 < percent["ci_low"] < percent["estimate"] < percent["ci_high"] < 1
    odds = np.log(percent[["ci_low", "ci_high"]].astype(float)).sub(
        np.log1p(-percent[["ci_low", "ci_high"]].astype(float))
    )
    half = stats.t.ppf(0.975, n_items - 1) * percent["se"]
    width = 2 * half / (percent["estimate"] * (1 - percent["estimate"]))
    assert odds["ci_high"] - odds["ci_low"] == pytest.approx(width)
    assert (table["ci_high"].dropna() <= 1).all() and table["estimate"].notna().all()


def test_who_judged_one_hit_alone_is_part_of_it():
    """Other HITs have other annotators: intervals over HITs cover these, too."""
    values = np.full((40, 20), NAN)
    rng = np.random.default_rng(6)
    for hit in range(10):
        values[4 * hit : 4 * hit + 4, 2 * hit : 2 * hit + 2] = rng.integers(1, 6, (4, 2))
    found = only(agreement(study_of(values, 4)))
    assert found["covers"] == OTHER_ANNOTATORS and found["n_clusters"] == 10
