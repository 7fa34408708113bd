"""Accuracy with calibrated ties is that of its authors' rule, and of loops over pairs."""

from itertools import combinations, permutations

import numpy as np
import pytest
from small_study import made, study

from nlgbench.analysis.correlation import correlate
from nlgbench.analysis.correlation.ties import calibrated_accuracy

NAN = np.nan


@pytest.mark.parametrize(
    ("scores", "judgments", "threshold", "accuracy"),
    [
        ([[0, 2, 6, 8]], [[1, 1, 1, 4]], 4, 4 / 6),
        (
            [
                [1, 4, 2, 2, 6],
                [7, 3, NAN, 5, 3],
                [2, 2, 9, 8, 1],
                [5, 1, 4, NAN, NAN],
                [6, 3, 3, 7, 2],
            ],
            [
                [1, 3, 3, 2, 3],
                [5, 4, NAN, 4, 2],
                [1, 2, 5, 5, 1],
                [3, 3, 3, NAN, NAN],
                [4, 4, 2, 4, 2],
            ],
            3,
            0.5933333333333333,
        ),
    ],
)
def test_thresholds_are_those_of_mt_metrics_eval(scores, judgments, threshold, accuracy):
    """The rule of google-research/mt-metrics-eval, commit 0b82d96: tau_optimization, acc_23."""
    x, y = np.array([scores, judgments], dtype=float)
    result = calibrated_accuracy(x[None], y, np.arange(len(y)), cross_fitted=False)
    assert result["accuracy"].mean() == pytest.approx(accuracy, abs=1e-9)
    assert result["tie_threshold"][0, 0] == threshold


def accuracies(x, y, threshold, items):
    """Compute each item's accuracy, pair by pair."""

    def order(a, b, limit):
        return 0 if abs(a - b) <= limit else np.sign(a - b)

    pairs = [*combinations(range(x.shape[1]), 2)]
    return [
        np.mean([order(*x[n, [*p]], threshold) == order(*y[n, [*p]], 0) for p in pairs])
        for n in items
    ]


def test_thresholds_come_from_other_clusters():
    """With a cluster per fold, each item's threshold is the best of all other clusters."""
    rng = np.random.default_rng(0)
    y = rng.integers(1, 4, size=(12, 4)).astype(float)
    x, cluster = y + rng.normal(size=y.shape), np.arange(12) // 2
    gaps = np.unique([abs(row[a] - row[b]) for row in x for a, b in combinations(range(4), 2)])
    expected = []
    for item in range(12):
        others = np.flatnonzero(cluster != cluster[item])
        by_threshold = [np.mean(accuracies(x, y, t, others)) for t in [0, *gaps]]
        expected += accuracies(x, y, [0, *gaps][np.argmax(by_threshold)] + 1e-12, [item])
    result = calibrated_accuracy(x[None], y, cluster, cross_fitted=True, n_permutations=0)
    np.testing.assert_allclose(result["accuracy"][0], expected)


def test_chance_is_the_mean_of_calibrated_permutations():
    x, y = np.array([[0.0, 1.0, 5.0, 6.0]]), np.array([[1.0, 1.0, 2.0, 3.0]])
    best = [
        max(accuracies(x, y[:, [*order]], t, [0])[0] for t in range(7))
        for order in permutations(range(4))
    ]
    options = {"cross_fitted": False, "n_permutations": 2000}
    chance = calibrated_accuracy(x[None], y, np.zeros(1), **options)["chance"]
    assert chance[0, 0] == pytest.approx(np.mean(best), abs=0.01)


def test_correlate_reports_chance_and_ties_beside_accuracy():
    statistics = ["pairwise_accuracy", "pairwise_calibrated", "pairwise_calibrated_same"]
    tables = outputs, scores, judgments = study(n_systems=5)
    table = correlate(made(*tables), granularity="item", statistics=statistics)
    plain, other, same = (table[table["statistic"] == name] for name in statistics)
    assert (same["estimate"].to_numpy() >= plain["estimate"].to_numpy()).all()
    assert table["estimate"].between(table["ci_low"], table["ci_high"]).all()
    assert (other["always_tie"] < other["chance"]).all()
    assert plain["chance"].isna().all()
    # Scores without information are no better than chance.
    rng = np.random.default_rng(0)
    noise = scores.assign(score=rng.normal(size=len(scores)))
    table = correlate(made(outputs, noise, judgments), granularity="item", statistics=statistics)
    assert table["p"].gt(0.05).all()
    first = outputs["item_id"] == "i0"
    alone = made(
        outputs[first],
        *(
            one[one["output_id"].isin(outputs.loc[first, "output_id"])]
            for one in (scores, judgments)
        ),
    )
    table = correlate(alone, granularity="item", statistics=statistics).iloc[:3]
    assert table["status"].tolist() == ["one_cluster", "no_other_items", "one_cluster"]
