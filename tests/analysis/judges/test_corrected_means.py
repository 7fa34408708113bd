"""Corrected means: against the published formula, loops, closed forms, and released labels."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nlgbench as nb
from nlgbench.analysis.judges import beside_all, corrected, draw_labels
from nlgbench.crossed import OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.datasets import cache
from nlgbench.study import Study

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
    # Residuals are from slopes without their output, which the published error leaves out.
    assert np.sqrt(error) * 0.99 < found["se"] < np.sqrt(error) * 1.06
    assert found["correlation"] == pytest.approx(np.corrcoef(y, f)[0, 1])
    assert found[["n_labels", "n_outputs", "df"]].tolist() == pytest.approx([100, 600, 99])


def test_labels_alone_are_a_t_interval_and_the_evaluator_is_named_biased():
    score, value, labelled = drawn_world()
    found = ask(alone(score, value, labelled))
    assert found.systems["method"].tolist() == METHODS
    mine, test = row(found, "labels alone"), stats.ttest_1samp(value[labelled], 0)
    ends = test.confidence_interval(0.95)
    assert (mine["ci_low"], mine["ci_high"]) == pytest.approx((ends.low, ends.high), rel=1e-12)
    biased = row(found, "evaluator alone")
    assert biased["estimate"] == pytest.approx(score.mean()) and "biased" in biased["reason"]
    assert biased["n_labels"] == 0


def loop(score, value, labels, cluster):
    """Estimate one system's mean and its error, an output at a time."""
    n, m = len(labels), len(score)

    def slope(kept):
        kept = np.array(kept)
        return np.cov(value[kept], score[kept])[0, 1] / score[kept].var(ddof=1)

    apart = score - score.mean()
    b = slope(labels)
    without = {
        g: slope([u for u in labels if cluster[u] != g]) for g in {cluster[u] for u in labels}
    }
    sizes = pd.Series([cluster[u] for u in labels]).value_counts()
    g = sizes.sum() ** 2 / (sizes**2).sum()
    few = g < 30
    used = {u: without[cluster[u]] if few else b for u in labels}
    estimate = np.mean([value[u] - used[u] * apart[u] for u in labels])
    left = {u: value[u] - without[cluster[u]] * apart[u] for u in labels}
    middle = np.mean(list(left.values()))
    sizes = pd.Series(cluster).value_counts()
    g_all = sizes.sum() ** 2 / (sizes**2).sum()
    added = dict.fromkeys(cluster, 0.0)
    for u in labels:
        added[cluster[u]] += np.sqrt(g / (g - 1)) * (left[u] - middle) / n
    for u in range(m):
        added[cluster[u]] += np.sqrt(g_all / (g_all - 1)) * b * apart[u] / m
    return estimate, np.sqrt(sum(one**2 for one in added.values())), g - 1


@pytest.mark.parametrize("n_clusters", [12, 90])
def test_clusters_errors_and_cross_fitting_are_those_of_a_loop(n_clusters):
    """Lambda of few clusters is fitted without each; the error always is."""
    score, value, _ = drawn_world(n=180, seed=1)
    cluster = np.arange(180) % n_clusters
    chosen = np.random.default_rng(2).permutation(n_clusters)[: n_clusters // 2]
    labels = [u for u in range(180) if cluster[u] in chosen][1:]
    study = alone(score, value, labels, extra={"doc": cluster.astype(str)}, clusters="doc")
    found = row(ask(study))
    expected = loop(score, value, labels, cluster)
    assert (found["estimate"], found["se"], found["df"]) == pytest.approx(expected, rel=1e-9)


def test_annotators_are_a_second_way():
    """V_I + V_A - V_IA by sums in a loop, of a difference, too; with few annotators V_I alone."""
    rng = np.random.default_rng(0)
    k, n, n_people = 2, 80, 12
    score = rng.normal(size=k * n)
    item, system = np.tile(np.arange(n), k), np.repeat(["a", "b"], n)
    chosen = np.flatnonzero(rng.random(k * n) < 0.8)
    labels = [
        (u, w, score[u] + w / 6 + rng.normal())
        for u in chosen
        for w in rng.permutation(n_people)[:2]
    ]
    asked = {"system": system, "item": [f"i{one}" for one in item]}
    found = ask(made(score, labels, **asked))
    table = pd.DataFrame(labels, columns=["u", "w", "y"]).assign(i=item[[u for u, *_ in labels]])
    table["s"] = system[table["u"]]
    parts, means = [], {}
    for name, own in table.groupby("s"):
        here = system == name
        apart = pd.Series(np.where(here, score - score[here].mean(), 0))
        label = own.groupby("u")["y"].mean()

        def slope(label, apart=apart):
            f = apart[label.index]
            return np.cov(label, f)[0, 1] / f.var()

        without = {u: slope(label.drop(u)) for u in label.index}
        left = label - pd.Series(without) * apart[label.index]
        means[name] = (label - slope(label) * apart[label.index]).mean()
        added = own["y"] - own["u"].map(without) * apart[own["u"]].to_numpy() - left.mean()
        added = added / own.groupby("u")["y"].transform("size") / len(label)
        lean = slope(label) * apart[here] / n * np.sqrt(n / (n - 1))
        parts.append(own.assign(q=added * (1 if name == "a" else -1), lean=0.0))
        sign = 1 if name == "a" else -1
        parts.append(pd.DataFrame({"i": item[here], "lean": sign * lean, "s": name, "q": 0.0}))
    whole = pd.concat(parts)
    variances, sizes = [], []
    for keys, sign in (["i"], 1), (["w"], 1), (["i", "w"], -1):
        judged = whole[whole["w"].notna()]
        judged = judged.assign(share=1 / judged.groupby("u")["y"].transform("size"))
        scaled = {}
        for name, own in judged.groupby("s"):
            size = own.groupby(keys)["share"].sum()
            g = size.sum() ** 2 / (size**2).sum()
            scaled[name] = np.sqrt(g / (g - 1))
            sizes.append(g)
        total = judged.assign(q=judged["q"] * judged["s"].map(scaled)).groupby(keys)["q"].sum()
        if keys == ["i"]:
            total = total.add(whole.groupby("i")["lean"].sum(), fill_value=0)
        variances.append(sign * (total**2).sum())
    variance = max(variances[0], variances[1], sum(variances))
    pair = found.pairs[found.pairs["method"] == "corrected"].iloc[0]
    sign = 1 if pair["system"] == "a" else -1
    assert pair["difference"] == pytest.approx(sign * (means["a"] - means["b"]), rel=1e-9)
    assert pair["se"] == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert pair["df"] == pytest.approx(min(sizes[:4]) - 1)
    assert row(found, system="a")["saved_reason"].startswith("annotators are a sample")
    few = ask(made(score, [(u, u % 5, y) for u, _, y in labels[::2]], **asked))
    assert row(few, system="a")[["covers", "reason"]].tolist() == [THESE_ANNOTATORS, ""]


def test_what_intervals_cover_can_be_asked_for():
    """Ten annotators and more are a sample, fewer are fixed; few cannot be a sample."""
    score, value, labelled = drawn_world(n=400, n_labels=120)
    labels = [(u, place % 12, value[u]) for place, u in enumerate(labelled)]
    system = np.repeat(["a", "b"], 200)
    study = made(score, labels, system=system)
    random, fixed = ask(study), ask(study, annotators="fixed")
    assert set(random.pairs["covers"]) == {OTHER_ANNOTATORS}
    assert set(fixed.pairs["covers"]) == {THESE_ANNOTATORS}
    assert (random.pairs["df"].round() == 11).all() and (fixed.pairs["df"] > 40).all()
    three = made(score, [(u, who % 3, y) for u, who, y in labels], system=system)
    pd.testing.assert_frame_equal(ask(three).pairs, ask(three, annotators="fixed").pairs)
    assert np.isfinite(ask(three).pairs["ci_low"]).all()
    none = ask(three, annotators="random")
    assert none.pairs[["ci_low", "se", "p"]].isna().all(axis=None)
    assert none.pairs["reason"].str.contains("3.0 effective annotators").all()
    assert np.isnan(row(none, system="a")["ci_low"]) and np.isfinite(row(none, system="a")["rank"])
    # Who judged a single output is part of it.
    alone_ = alone(score, value, labelled)
    assert row(ask(alone_))["covers"] == OTHER_ANNOTATORS


def test_shares_of_positives_are_the_predictive_values():
    """P(judge 1) PPV + P(judge 0) (1 - NPV): post-stratification by the verdict."""
    rng = np.random.default_rng(3)
    positive = rng.random(800) < 0.4
    verdict = np.where(rng.random(800) < 0.85, positive, ~positive).astype(float)
    labelled = np.sort(rng.permutation(800)[:120])
    found = ask(alone(verdict, positive.astype(float), labelled))
    y, f = positive[labelled], verdict[labelled]
    ppv, npv = y[f == 1].mean(), 1 - y[f == 0].mean()
    share = verdict.mean()
    expected = share * ppv + (1 - share) * (1 - npv)
    assert row(found)["estimate"] == pytest.approx(expected, rel=1e-12)
    # And as if each stratum's share were a binomial one, plus that of the verdicts.
    strata = share**2 * ppv * (1 - ppv) / f.sum()
    strata += (1 - share) ** 2 * npv * (1 - npv) / (1 - f).sum()
    strata += (ppv + npv - 1) ** 2 * share * (1 - share) / 800
    assert row(found)["se"] == pytest.approx(np.sqrt(strata), rel=0.03)


def test_stated_chances_weigh_as_hajek():
    score, value, _ = drawn_world(n=500)
    chance = np.where(score > 3, 0.4, 0.1)
    labelled = np.flatnonzero(np.random.default_rng(4).random(500) < chance)
    found = row(ask(alone(score, value, labelled, extra={"p": chance}), sampling="p"))
    w = 1 / chance[labelled]
    y, f = value[labelled], score[labelled]
    means = np.average(y, weights=w), np.average(f, weights=w)
    slope = (w * (y - means[0]) * (f - means[1])).sum() / (w * (f - means[1]) ** 2).sum()
    expected = means[0] + slope * (score.mean() - means[1])
    assert found["estimate"] == pytest.approx(expected, rel=1e-10)
    assert found["n_clusters"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert "not alike" in found["saved_reason"]


def test_equal_chances_are_random():
    score, value, labelled = drawn_world(n=500)
    study = alone(score, value, labelled, extra={"p": ["0.2"] * 500})
    one, other = ask(study), ask(study, sampling="p")
    columns = ["estimate", "ci_low", "ci_high"]
    np.testing.assert_allclose(one.systems[columns], other.systems[columns], rtol=1e-9)
    few = ask(study.replace(judgments=study.judgments.head(40)), sampling="p")
    assert "chances sum to 100.0, too far from 40 labels" in row(few)["reason"]


@pytest.mark.parametrize(
    ("sampling", "chance", "words"),
    [
        (None, 0.2, "sampling must be said"),
        ("chance", 0.2, r"settings\['extra'\] declares \(p\). Got 'chance'"),
        ("p", 0.0, r"output 'o0000': p must be an inclusion probability.*Got 0.0"),
        ("p", 1.5, "Got 1.5"),
        ("p", "often", "Got 'often'"),
        ("p", np.nan, "Got nan"),
    ],
)
def test_how_labels_were_drawn_must_be_said(sampling, chance, words):
    score, value, labelled = drawn_world(n=50, n_labels=30)
    study = alone(score, value, labelled, extra={"p": [chance] + [0.2] * 49})
    with pytest.raises(ValueError, match=words):
        ask(study, sampling=sampling)
    with pytest.raises(ValueError, match="sampling must be said"):
        nb.corrected_quality(study, evaluator="judge")


def test_labels_that_were_chosen_by_score_raise_a_doubt():
    score, value, labelled = drawn_world(seed=5)
    said = [
        row(ask(alone(score, value, rows)))["reason"]
        for rows in (labelled, np.argsort(score)[-100:], np.argsort(abs(score - 3))[:100])
    ]
    assert said[0] == ""
    assert all(one.endswith("were outputs chosen by what they are like?") for one in said[1:])


def test_few_labels_are_refused_and_given_alone():
    score, value, labelled = drawn_world(n_labels=19)
    found = ask(alone(score, value, labelled))
    assert np.isnan(row(found)["estimate"]) and "19 labels in all" in row(found)["reason"]
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


def test_signs_are_turned_where_lower_is_better():
    score, value, labelled = drawn_world(seed=7)
    plain = alone(score, value, labelled)
    turned = plain.replace(
        judgments=plain.judgments.assign(value=-plain.judgments["value"]),
        scores=plain.scores.assign(score=-plain.scores["score"], signature="x|direction:lower"),
        settings={"lower_is_better": ["quality"]},
    )
    columns = ["estimate", "ci_low", "ci_high"]
    one, other = ask(plain), ask(turned)
    np.testing.assert_allclose(one.systems[columns], other.systems[columns], rtol=1e-12)
    np.testing.assert_allclose(one.details["lambda"], other.details["lambda"], rtol=1e-12)
    assert set(other.details["better"]) == {"lower, signs are turned"}


def test_what_has_no_score_is_counted():
    score, value, labelled = drawn_world(n=300, n_labels=60)
    score[labelled[:5]] = np.nan
    score[np.setdiff1d(np.arange(300), labelled)[:7]] = np.nan
    found = ask(alone(score, value, labelled))
    assert row(found)[["n_labels", "n_outputs"]].tolist() == [55, 288]
    words = "12 outputs without a score are left out (5 of them judged)"
    assert row(found, "labels alone")["reason"] == row(found)["reason"] == words
    # Of two systems it is said where it is so; a system without any score is named.
    system = np.repeat(["a", "b", "c"], 100)
    score[200:] = np.nan
    both = ask(alone(score, value, labelled, system=system))
    left = [(n, int((labelled[:5] // 100 == n).sum())) for n in range(2)]
    for name, (n, n_judged) in zip("ab", left, strict=True):
        n_gone = int(np.isnan(score[n * 100 : n * 100 + 100]).sum())
        words = f"{n_gone} outputs without a score are left out ({n_judged} of them judged)"
        assert (words in row(both, system=name)["reason"]) == (n_gone > 0)
    n_gone = int(np.isnan(score[:200]).sum())
    assert both.pairs["reason"].str.contains(f"{n_gone} outputs without a score").all()
    assert "no output has a score: c" in row(both, system="a")["reason"]


def test_pairs_are_over_items_that_both_answered():
    rng = np.random.default_rng(8)
    item = np.r_[0:150, 0:100, 0:150]
    system = np.repeat(["a", "b", "c"], [150, 100, 150])
    score = rng.normal(size=400) + (item > 99)
    labelled = np.flatnonzero(rng.random(400) < 0.5)
    whole = made(
        score,
        [(u, u, score[u] + rng.normal()) for u in labelled],
        system=system,
        item=[f"i{n}" for n in item],
    )
    part = whole.replace(
        outputs=whole.outputs[item < 100],
        judgments=whole.judgments[np.isin(labelled, np.flatnonzero(item < 100))],
        scores=whole.scores[item < 100],
    )
    found = [
        ask(study).pairs.set_index(["method", "system", "opponent"]) for study in (whole, part)
    ]
    columns = ["difference", "se", "ci_low", "n_items"]
    key = ("corrected", "a", "b")
    np.testing.assert_allclose(*(table.loc[key, columns].astype(float) for table in found))
    assert found[0].loc[("corrected", "a", "c"), "n_items"] == 150


def test_verdicts_and_ranks_follow_from_pairs():
    rng = np.random.default_rng(9)
    system = np.repeat(["low", "high", "mid"], 200)
    mean = np.repeat([0, 4, 3.99], 200)
    value = mean + rng.normal(size=600)
    labelled = np.flatnonzero(rng.random(600) < 0.4)
    found = ask(alone(value + rng.normal(size=600), value, labelled, system=system))
    assert found.systems["system"].unique()[-1] == "low"
    low = row(found, system="low")
    assert (low["rank_low"], low["rank_high"]) == (3, 3)
    assert (row(found, system="mid")["rank_low"], row(found, system="mid")["rank_high"]) == (1, 2)
    pairs = found.pairs[found.pairs["method"] == "corrected"].set_index(["system", "opponent"])
    assert pairs.loc[("high", "low"), "verdict"] == "better"
    assert pairs.loc[("low", "mid"), "verdict"] == "worse"
    assert pairs.loc[("mid", "high"), "verdict"] == "undecided"
    # Ranges count the pairs that were rejected, of labels alone, too.
    for method in ("corrected", "labels alone"):
        table = found.pairs[found.pairs["method"] == method]
        worse = table.groupby("system")["verdict"].agg(lambda one: (one == "worse").sum())
        for name in ("low", "mid", "high"):
            assert row(found, method, name)["rank_low"] == 1 + worse[name]
    half = pairs.iloc[[0, 1, 3]]
    assert half["p_adjusted"].ge(half["p"]).all()
    assert len(found.systems.columns) == 10


def test_what_cannot_be_known_says_why():
    """No label, one label, alike labels, alike scores."""
    system = np.repeat(["a", "b", "c", "d"], 50)
    rng = np.random.default_rng(10)
    score = np.where(system == "d", 1.0, rng.normal(size=200))
    labels = [(u, u, 1.0) for u in range(25)] + [(60, 60, 2.0)]
    labels += [(u, u, rng.normal()) for u in range(150, 190)]
    found = ask(made(score, labels, system=system))
    assert "labels are all alike" in row(found, "labels alone", "a")["reason"]
    assert "one cluster" in row(found, "corrected", "b")["reason"]
    assert row(found, "corrected", "c")["reason"] == "no label of this system"
    # Scores that say nothing change nothing.
    columns = ["estimate", "ci_low", "ci_high"]
    assert row(found, "corrected", "d")[columns].tolist() == pytest.approx(
        row(found, "labels alone", "d")[columns].tolist()
    )
    assert found.systems["rank_low"].isna().all()
    # Only pairs with what is not known are not.
    pairs = found.pairs[found.pairs["method"] == "corrected"].set_index(["system", "opponent"])
    assert np.isfinite(pairs.loc[("a", "d"), "ci_low"]) and np.isnan(pairs.loc[("c", "d"), "p"])


def test_labels_saved_are_those_of_the_correlation():
    """n / (1 - r^2 (M - n) / M) in the long run."""
    score, value, labelled = drawn_world(n=20_000, n_labels=4_000, r=0.8)
    n, m = 4_000, 20_000
    found = row(ask(alone(score, value, labelled)))
    expected = n / (1 - found["correlation"] ** 2 * (m - n) / m)
    assert found["effective_labels"] == pytest.approx(expected, rel=0.01)
    assert found["saved_low"] < expected - n < found["saved_high"]


@pytest.mark.skipif(not cache.available(["alttest"]), reason="AltTest was not fetched")
def test_labels_of_summeval_are_covered():
    """1,600 expert means, 100 of them drawn: .95 hold, as wide as the correlation says.

    Measured before by other code: coverage .946 to .955, widths .84 (r = .55) and .98 (r = .19).
    """
    study = nb.load("alttest-summeval")
    mean = study.judgments.groupby("output_id")["value"].mean().filter(like="__coherence")
    assert len(mean) == 1600
    scores = study.scores.pivot(index="output_id", columns="evaluator", values="score")
    rng, draws = np.random.default_rng(0), 300
    shown = {}
    for name in ("gpt-4o", "mistral-v03"):
        both = pd.concat([mean, scores[name]], axis=1, keys=["y", "f"]).dropna()
        y, f, m = both["y"].to_numpy(), both["f"].to_numpy(), len(both)
        held, widths, biased = 0, np.zeros(2), abs(y.mean() - f.mean())
        for _ in range(draws):
            rows = rng.permutation(m)[:100]
            weight = np.zeros(m)
            weight[rows] = 1
            place = np.arange(m)
            given = corrected.laid_out(
                *(["s"], place * 0, place, place, f, weight, rows, np.arange(100), y[rows])
            )
            for side, method in enumerate(("labels alone", "corrected")):
                fit = corrected.fitted(given, method, False)
                half = stats.t.ppf(0.975, fit.df[0]) * np.sqrt(fit.variance(np.eye(1))[0])
                widths[side] += half / draws
            held += abs(fit.level[0] - y.mean()) <= half
        assert 0.91 <= held / draws <= 0.985
        assert biased > widths[1]  # the judge's own mean never holds
        r = np.corrcoef(y, f)[0, 1]
        assert widths[1] / widths[0] == pytest.approx(np.sqrt(1 - r**2 * (m - 100) / m), abs=0.012)
        shown[round(float(r), 2)] = round(widths[1] / widths[0], 2)
    assert shown[0.55] == pytest.approx(0.84, abs=0.011)
    assert shown[0.19] == pytest.approx(0.98, abs=0.011)


@pytest.mark.parametrize("lower", [False, True])
def test_labels_drawn_by_chance_stand_beside_all_judgments(lower):
    study = nb.simulate("own", n_items=60, seed=3)
    name = study.dimension()
    if lower:
        study = study.replace(settings=(study.settings or {}) | {"lower_is_better": [name]})
    part = draw_labels(study, 40, seed=5)
    drawn = set(part.judgments["output_id"])
    assert len(drawn) == 40 and drawn != set(draw_labels(study, 40, seed=6).judgments["output_id"])
    whole = study.judgments[study.judgments["output_id"].isin(drawn)]
    assert len(part.judgments) == len(whole)
    assert set(part.scores["output_id"]) == set(study.judgments["output_id"])
    everything = draw_labels(study, 10**6)
    assert len(everything.judgments) == len(study.judgments)

    def found(of):
        return nb.corrected_quality(of, evaluator="close", sampling="random")

    # Where all are labelled the labels alone are what all judgments are; a part misses by chance.
    both = beside_all(found(everything), study)
    np.testing.assert_allclose(both["labels alone"], both["all judgments"], rtol=1e-12)
    apart = beside_all(found(part), study)
    np.testing.assert_array_equal(apart["all judgments"], both["all judgments"])
    assert np.all(apart["labels alone"] != apart["all judgments"])


def test_labels_of_outputs_without_scores_are_drawn_too():
    study = nb.simulate("reviews", n_outputs=5, n_truth=0, seed=0)
    assert study.scores is None and draw_labels(study, 3).scores is None
    with pytest.raises(ValueError, match="n must be"):
        draw_labels(study, 0)
