"""Corrected means are those of the published formula, of loops and of closed forms."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgbench as nb
from nlgbench.clustering import THESE_ANNOTATORS
from nlgbench.datasets.support_segments import RAW_FILE
from nlgbench.study import Study
from tests.released import needs

METHODS = ["labels alone", "evaluator alone", "corrected"]


def made(score, labels, *, system=None, item=None, extra=None, **settings):
    """Make a study; `labels` are (output, annotator, value)."""
    n = len(score)
    ids = [f"o{number:04d}" for number in range(n)]
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids if item is None else item})
    outputs = outputs.assign(system="s" if system is None else system, **(extra or {}))
    judged = pd.DataFrame(
        [(ids[output], f"w{who}", value) for output, who, value in labels],
        columns=["output_id", "annotator_id", "value"],
    )
    scores = pd.DataFrame({"output_id": ids, "evaluator": "judge", "score": score})
    settings |= {"extra": list(extra)} if extra else {}
    return Study(outputs, judged, scores=scores.dropna(), settings=settings or None)


def drawn_world(n=600, n_labels=100, r=0.7, seed=0, noise=1.0):
    """Draw scores, values, and which are labelled."""
    rng = np.random.default_rng(seed)
    value = rng.normal(size=n)
    score = 3 + 2 * (r * value + np.sqrt(1 - r**2) * rng.normal(size=n) * noise)
    return score, value, np.sort(rng.permutation(n)[:n_labels])


def alone(score, value, labelled, **more):
    """Make a study where each output has its own annotator."""
    return made(score, [(n, n, value[n]) for n in labelled], **more)


def row(found, method="corrected", system="s"):
    table = found.systems.merge(found.details, on=["system", "method"])
    table = table.set_index(["system", "method"])
    return table.loc[(system, method)]


def ask(study, **asked):
    return nb.corrected_quality(study, evaluator="judge", **{"sampling": "random"} | asked)


def test_it_is_ppi_plus_plus_as_published():
    """Angelopoulos, Duchi and Zrnic 2023: the mean, lambda, and (nearly) its error."""
    score, value, labelled = drawn_world()
    rest = np.setdiff1d(np.arange(600), labelled)
    y, f, unlabelled = value[labelled], score[labelled], score[rest]
    n, n_rest = len(y), len(unlabelled)
    covariance = np.cov(y, f)
    tuned = covariance[0, 1] / ((1 + n / n_rest) * covariance[1, 1])
    found = row(ask(alone(score, value, labelled)))
    assert found["lambda"] == pytest.approx(tuned, rel=1e-12)
    expected = tuned * unlabelled.mean() + (y - tuned * f).mean()
    assert found["estimate"] == pytest.approx(expected, rel=1e-12)
    error = tuned**2 * score.var(ddof=1) / n_rest + (y - tuned * f).var(ddof=1) / n
    # Each output is left out of the slope, too, which the published error does not do.
    assert np.sqrt(error) * 0.99 < found["se"] < np.sqrt(error) * 1.06
    assert found["correlation"] == pytest.approx(np.corrcoef(y, f)[0, 1])
    assert found[["n_labels", "n_outputs", "df"]].tolist() == pytest.approx([100, 600, 99])


def test_labels_alone_are_a_t_interval_and_the_evaluator_is_named_biased():
    score, value, labelled = drawn_world()
    found = ask(alone(score, value, labelled))
    assert found.systems["method"].tolist() == METHODS
    mine, biased = row(found, "labels alone"), row(found, "evaluator alone")
    ends = stats.ttest_1samp(value[labelled], 0).confidence_interval(0.95)
    assert mine[["ci_low", "ci_high"]].tolist() == pytest.approx([*ends], rel=1e-12)
    assert biased["estimate"] == pytest.approx(score.mean()) and "biased" in biased["reason"]
    assert biased["n_labels"] == 0


def mean_of(labels, outputs):
    """Estimate one system's corrected mean from labels (y, f, w) and all scores."""
    y, f, w = (labels[name].to_numpy() for name in ("y", "f", "w"))
    middle = np.average(y, weights=w), np.average(f, weights=w)
    slope = (w * (y - middle[0]) * (f - middle[1])).sum() / (w * (f - middle[1]) ** 2).sum()
    return middle[0] + slope * (outputs["f"].mean() - middle[1])


def squares_without(labels, outputs, by, sizes):
    """Leave out each of a factor in turn: the sum of squared changes, of n effective ones."""
    whole, found = mean_of(labels, outputs), 0.0
    of_outputs = by in outputs
    for one in set(outputs[by]) if of_outputs else labels[by].unique():
        kept = outputs[outputs[by] != one] if of_outputs else outputs
        found += (mean_of(labels[labels[by] != one], kept) - whole) ** 2
    n = sizes.sum() ** 2 / (sizes**2).sum()
    return found * (n - 1) / n, n


@pytest.mark.parametrize("n_clusters", [12, 90])
def test_errors_leave_out_each_cluster(n_clusters):
    score, value, _ = drawn_world(n=180, seed=1)
    cluster = np.arange(180) % n_clusters
    chosen = np.random.default_rng(2).permutation(n_clusters)[: n_clusters // 2]
    rows = [u for u in range(180) if cluster[u] in chosen][1:]
    study = alone(score, value, rows, extra={"doc": cluster.astype(str)}, clusters="doc")
    outputs = pd.DataFrame({"f": score, "doc": cluster})
    labels = outputs.iloc[rows].assign(y=value[rows], w=1.0)
    variance, n = squares_without(labels, outputs, "doc", labels["doc"].value_counts())
    expected = mean_of(labels, outputs), np.sqrt(variance), n - 1
    found = row(ask(study))
    assert (found["estimate"], found["se"], found["df"]) == pytest.approx(expected, rel=1e-9)


def test_annotators_are_a_second_factor():
    """The largest of three sums of a loop over items, annotators, both; with few items alone."""
    rng = np.random.default_rng(0)
    n, n_people = 80, 12
    score = rng.normal(size=n)
    labels = [
        (u, w, score[u] + w / 6 + rng.normal())
        for u in np.flatnonzero(rng.random(n) < 0.8)
        for w in rng.permutation(n_people)[:2]
    ]
    outputs = pd.DataFrame({"f": score, "i": range(n)})
    table = pd.DataFrame(labels, columns=["i", "who", "y"]).assign(w=0.5)
    table = table.assign(f=score[table["i"]], both=table["i"] * n_people + table["who"])
    shares = {by: table.groupby(by)["w"].sum() for by in ("i", "who", "both")}
    parts = [squares_without(table, outputs, by, size) for by, size in shares.items()]
    items, annotators, both = (variance for variance, _ in parts)
    found = row(ask(made(score, labels)))
    assert found["estimate"] == pytest.approx(mean_of(table, outputs), rel=1e-9)
    largest = max(items, annotators, items + annotators - both)
    assert found["se"] == pytest.approx(np.sqrt(largest), rel=1e-9)
    assert found["df"] == pytest.approx(parts[1][1] - 1)
    few = row(ask(made(score, [(u, u % 5, y) for u, _, y in labels[::2]])))
    assert few[["covers", "reason"]].tolist() == [THESE_ANNOTATORS, ""]


def test_few_labels_are_refused_and_given_alone():
    found = ask(alone(*drawn_world(n_labels=19)))
    own = row(found)
    assert np.isnan(own["estimate"]) and "fewer than 20 labels in total" in own["reason"]
    assert row(found, "labels alone")["ci_low"] < row(found, "labels alone")["estimate"]
    assert np.isfinite(row(ask(alone(*drawn_world(n_labels=20))))["ci_low"])


def test_systems_with_few_labels_share_lambda():
    score, value, _ = drawn_world(n=400, seed=6)
    system = np.repeat(["a", "b"], 200)
    labelled = np.r_[0:15, 200:217]
    found = ask(alone(score, value, labelled, system=system))
    apart = pd.DataFrame({"y": value, "f": score, "s": system}).iloc[labelled]
    apart = apart[["y", "f"]] - apart.groupby("s")[["y", "f"]].transform("mean")
    common = (apart["y"] * apart["f"]).sum() / (apart["f"] ** 2).sum()
    expected = [common * (1 - 15 / 200), common * (1 - 17 / 200)]
    assert [row(found, system=s)["lambda"] for s in "ab"] == pytest.approx(expected)


def test_what_has_no_score_is_counted():
    score, value, labelled = drawn_world(n=300, n_labels=60)
    score[labelled[:5]] = np.nan
    score[np.setdiff1d(np.arange(300), labelled)[:7]] = np.nan
    found = ask(alone(score, value, labelled))
    assert row(found)[["n_labels", "n_outputs"]].tolist() == [55, 288]
    assert row(found, "labels alone")["reason"] == "outputs excluded because they have no score: 12"
    # Of several systems it is said where it is so; a system without any score is named.
    system = np.repeat(["a", "b", "c"], 100)
    score[200:] = np.nan
    n_gone = np.isnan(score[:200]).reshape(2, 100).sum(axis=1)
    found = ask(alone(score, value, labelled, system=system))
    for name, n in zip("ab", n_gone, strict=True):
        assert (f"no score: {n}" in row(found, system=name)["reason"]) == (n > 0)
    assert "they have no score: c" in row(found, system="a")["reason"]


def test_pairs_are_over_items_that_both_answered():
    rng = np.random.default_rng(8)
    item, system = np.r_[0:150, 0:100, 0:150], np.repeat(["a", "b", "c"], [150, 100, 150])
    score = rng.normal(size=400) + (item > 99)
    labels = [(u, u, score[u] + rng.normal()) for u in np.flatnonzero(rng.random(400) < 0.5)]
    whole = made(score, labels, system=system, item=[f"i{n}" for n in item])
    kept = whole.outputs.loc[item < 100, "output_id"]
    tables = {name: getattr(whole, name) for name in ("outputs", "judgments", "scores")}
    part = {name: table[table["output_id"].isin(kept)] for name, table in tables.items()}
    found, few = (
        ask(study).pairs.set_index(["method", "system", "opponent"]).loc["corrected"]
        for study in (whole, whole.replace(**part))
    )
    columns = ["estimate", "se", "ci_low", "n_items"]
    left, right = (table.loc[("a", "b"), columns].astype(float) for table in (found, few))
    np.testing.assert_allclose(left, right)
    assert found.loc[("a", "c"), "n_items"] == 150


def test_labels_saved_are_those_of_the_correlation():
    """n / (1 - r^2 (M - n) / M) in the long run."""
    n, m = 4_000, 20_000
    found = row(ask(alone(*drawn_world(n=m, n_labels=n, r=0.8))))
    expected = n / (1 - found["correlation"] ** 2 * (m - n) / m)
    assert found["labels_saved"] == pytest.approx(expected - n, rel=0.02)


def test_a_group_is_corrected_as_if_it_were_the_study():
    score, value, labelled = drawn_world(400, 200)
    topic = np.repeat(["a", "b", "rare", ""], [200, 150, 16, 34])
    layout = {"system": np.tile(["x", "y"], 200), "item": np.repeat(np.arange(200), 2).astype(str)}
    found = ask(alone(score, value, labelled, **layout, extra={"topic": topic}), by="topic")
    inside = topic == "a"
    within = {name: column[inside] for name, column in layout.items()}
    part = alone(score[inside], value[inside], labelled[labelled < 200], **within)
    keys = ["method", "system", "opponent"]
    numbers = ["estimate", "ci_low", "ci_high", "p"]
    groups = found.groups.set_index(["group", *keys])
    pairs = ask(part).pairs.set_index(keys)[numbers]
    pd.testing.assert_frame_equal(groups.loc["a"].loc[pairs.index, numbers], pairs)
    rare = groups.loc["rare"]
    assert rare["ci_low"].isna().all() and set(found.groups["group"]) == {"a", "b", "rare"}
    assert set(groups.xs("evaluator alone", level="method")["status"]) == {"biased", "few_items"}


@needs(RAW_FILE)
def test_labels_reverse_a_difference_within_a_segment():
    """truescore 0.7.4 `slices`: -.1660 [-.2283, -.1037], with another lambda."""
    found = nb.corrected_quality(
        nb.load("support-segments"), evaluator="judge", sampling="random", by="segment"
    )
    rows = found.groups.query("group == 'technical' and system == 'v4'").set_index("method")
    numbers = rows[["estimate", "ci_low", "ci_high"]]
    wanted = [-0.1660, -0.2283, -0.1037]
    assert numbers.loc["corrected"].tolist() == pytest.approx(wanted, abs=0.002)
    assert numbers.loc["evaluator alone"].tolist() == pytest.approx(
        [0.1525, 0.116, 0.189], abs=5e-4
    )
    assert rows["verdict"].to_dict() == dict(
        zip(METHODS, ["worse", "better", "worse"], strict=True)
    )
