"""Perm-Systems, Perm-Inputs and Perm-Both: as their definition written out, and their level."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from small_study import made, study, table

from nlgbench.analysis.correlation import compare_evaluators
from nlgbench.analysis.correlation.comparing import permuted_differences
from nlgbench.analysis.correlation.meta_evaluation import (
    Sample,
    judged_scores,
    judgments_of,
    samples_of,
)

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
    "kendall_b": lambda x, y: stats.kendalltau(x, y)[0],
}
UNITS = ("system", "item", "output")
METHODS = dict(zip(("perm_systems", "perm_inputs", "perm_both"), UNITS, strict=True))


def incomplete(seed=0):
    """Make a study in which a fifth of the outputs have no judgment."""
    outputs, scores, judgments = study(n_systems=5, n_items=8, n_evaluators=3, seed=seed)
    lost = np.random.default_rng(seed).choice(outputs["output_id"], 8, replace=False)
    return made(outputs, scores, judgments[~judgments["output_id"].isin(lost)])


def sample_of(asked):
    people = judgments_of(asked, "quality", "mean", None, include_human=False)
    ((_, sample),) = samples_of(judged_scores(asked, people, ["e0", "e1", "e2"]))
    return sample


def level_of(granularity, x, rows, test):
    """Correlate scores and judgments as Deutsch, Dror and Roth do, whose matrices may have gaps."""
    rows = rows.assign(x=np.round(x, 9))
    if granularity == "output":
        return test(rows["x"], rows["y"])
    if granularity == "system":
        means = rows.groupby("system")[["x", "y"]].mean().round(9)
        return test(means["x"], means["y"])
    of_items = [
        test(part["x"], part["y"])
        for _, part in rows.groupby("item")
        if np.ptp(part["x"]) > 0 and np.ptp(part["y"]) > 0
    ]
    return np.mean(of_items)


class Swaps:
    """Deal out given swaps in place of random ones."""

    def __init__(self, seed):
        self.rng, self.given = np.random.default_rng(seed), []

    def integers(self, high, *, size, dtype):
        drawn = self.rng.integers(high, size=size, dtype=dtype)
        self.given.append(drawn.astype(bool))
        return drawn


@pytest.mark.parametrize("granularity", UNITS)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("name", list(SCIPY))
def test_differences_are_those_of_swapped_matrices(granularity, units, name):
    sample = sample_of(incomplete())
    rows = pd.DataFrame({"y": sample.y, "system": sample.system, "item": sample.item})
    unit = {"system": sample.system, "item": sample.item, "output": np.arange(len(rows))}[units]
    swaps, pairs = Swaps(3), [(0, 1), (2, 0)]
    found = permuted_differences(
        sample, granularity, name, unit, pairs, n_permutations=6, rng=swaps
    )
    (swapped,) = swaps.given
    swapped[0] = False
    z = (sample.x - sample.x.mean(axis=1, keepdims=True)) / sample.x.std(axis=1, keepdims=True)
    of_unit = np.unique(unit, return_inverse=True)[1]
    for (a, b), gaps in zip(pairs, found, strict=True):
        for which, gap in zip(swapped[:, of_unit], gaps, strict=True):
            first, second = np.where(which, z[b], z[a]), np.where(which, z[a], z[b])
            expected = level_of(granularity, first, rows, SCIPY[name])
            expected -= level_of(granularity, second, rows, SCIPY[name])
            assert gap == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("method", list(METHODS))
def test_p_counts_the_data_and_what_is_at_least_as_far(method):
    asked, sample = incomplete(), sample_of(incomplete())
    unit = {"perm_systems": sample.system, "perm_inputs": sample.cluster}
    of = unit.get(method, np.arange(len(sample.y)))
    options = {"method": method, "granularity": "output", "n_resamples": 39}
    both = compare_evaluators(asked, pairs=[("e0", "e2")], seed=5, **options).iloc[0]
    gaps = permuted_differences(
        sample, "output", "pearson", of, [(0, 2)], n_permutations=39, rng=np.random.default_rng(5)
    )[0]
    assert both["difference"] == pytest.approx(gaps[0])
    assert both["p"] == (np.abs(gaps) >= abs(gaps[0]) - 1e-12).sum() / 40
    greater, less = (
        compare_evaluators(asked, pairs=[("e0", "e2")], seed=5, alternative=way, **options).iloc[0]
        for way in ("greater", "less")
    )
    assert greater["p"] == (gaps >= gaps[0] - 1e-12).sum() / 40
    assert less["p"] == (gaps <= gaps[0] + 1e-12).sum() / 40
    name = {"perm_systems": "Perm-Systems", "perm_inputs": "Perm-Inputs"}.get(method, "Perm-Both")
    assert both["p_method"] == f"{name}, 39 drawn, two-sided"
    assert np.isnan(both["ci_low"])


def test_units_of_scores_do_not_matter_and_the_spread_of_systems_does():
    outputs, scores, judgments = study(n_systems=8, n_items=10, n_evaluators=2)
    moved = scores.assign(
        score=scores["score"].where(scores["evaluator"] == "e0", 100 * scores["score"] + 7)
    )
    for method in METHODS:
        options = {"method": method, "n_resamples": 99, "seed": 1}
        plain, other = (
            compare_evaluators(made(outputs, one, judgments), **options)["p"].iloc[0]
            for one in (scores, moved)
        )
        assert plain == other


def test_what_few_units_and_few_permutations_cannot_answer_is_said():
    asked = incomplete()
    options = {"granularity": "item", "n_resamples": 999}
    few = compare_evaluators(asked, method="perm_systems", **options)
    assert few["p_least"].tolist() == pytest.approx([3 * 2 / 2**5] * 3)
    assert few["reason"].str.startswith("cannot be answered with 5 systems").all()
    one_sided = compare_evaluators(asked, method="perm_systems", alternative="less", **options)
    assert one_sided["p_least"].tolist() == pytest.approx([3 / 2**5] * 3)
    drawn = compare_evaluators(asked, method="perm_both", n_resamples=19)
    assert drawn["reason"].str.startswith("cannot be answered with n_resamples=19").all()
    enough = compare_evaluators(asked, method="perm_inputs", n_resamples=999)
    assert enough["reason"].eq("").all()
    assert enough["adjustment"].eq("Holm over 3 pairs").all()


def test_clusters_are_swapped_whole_and_constants_are_undefined():
    outputs, scores, judgments = study(n_systems=4, n_items=9)
    flat = scores.assign(score=scores["score"].where(scores["evaluator"] == "e0", 1.0))
    found = compare_evaluators(
        made(outputs, flat, judgments), method="perm_inputs", clusters="context", n_resamples=9
    ).iloc[0]
    assert np.isnan(found["p"])
    assert found["reason"].startswith("undefined")
    assert found["n_clusters"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alternative": "less"}, "alternative is for method='perm_systems' or"),
        ({"method": "perm_both", "statistic": "soft_pairwise"}, "statistic: 'soft_pairwise'"),
        ({"method": "perm_inputs", "against": table("h", [1.0, 2.0])}, "needs judgments of outp"),
        ({"method": "perm_system"}, "method: 'perm_system' is unknown"),
    ],
)
def test_what_cannot_be_permuted_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare_evaluators(made(*study()), **options)


@pytest.mark.parametrize("granularity", UNITS)
@pytest.mark.parametrize("units", UNITS)
def test_exchangeable_evaluators_are_told_apart_as_often_as_they_should(granularity, units):
    """Errors of .1 occur in .1 of worlds, to three standard errors."""
    rng, n_worlds, rejected = np.random.default_rng(0), 300, 0
    system, item = np.divmod(np.arange(48), 6)
    unit = {"system": system, "item": item, "output": np.arange(48)}[units]
    for _ in range(n_worlds):
        quality = rng.normal(size=48) + rng.normal(size=8)[system]
        x, y = quality + rng.normal(size=(2, 48)), quality + rng.normal(size=48)
        gaps = permuted_differences(
            Sample(x, y, item, system, item, 8, 6),
            granularity,
            "pearson",
            unit,
            [(0, 1)],
            n_permutations=39,
            rng=rng,
        )
        rejected += (np.abs(gaps) >= np.abs(gaps[0, 0])).mean() <= 0.1
    assert abs(rejected / n_worlds - 0.1) < 3 * np.sqrt(0.1 * 0.9 / n_worlds)
