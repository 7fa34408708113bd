import few_judgments as benchmark
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

import nlgbench as nb
from nlgbench.analysis.huse.few_judgments import _subsets, combined, replicates

SAME = ["estimate", "se", "ci_low", "ci_high", "center", "n_resamples", "n_undefined", "n_clusters"]


def with_few(study, n_items, *, of="w001"):
    """Let one annotator be the evaluator, and the others judge the first items alone."""
    by_one = study.judgments["annotator_id"] == of
    one = study.judgments[by_one].rename(columns={"value": "score"})
    scores = one[["output_id", "score"]].assign(evaluator=of, signature="")
    items = study.outputs["item_id"].drop_duplicates()[:n_items]
    chosen = study.outputs.loc[study.outputs["item_id"].isin(items), "output_id"]
    judgments = study.judgments[~by_one & study.judgments["output_id"].isin(chosen)]
    return study.replace(judgments=judgments, scores=scores), judged_by(study, chosen, judgments)


def judged_by(study, chosen, judgments):
    """Keep some outputs, with judgments of these."""
    return study.replace(
        outputs=study.outputs[study.outputs["output_id"].isin(chosen)],
        judgments=judgments[judgments["output_id"].isin(chosen)],
        logprobs=study.logprobs[study.logprobs["output_id"].isin(chosen)],
        scores=None,
    )


@pytest.fixture(scope="module")
def world():
    return nb.simulate("gaussian", n_outputs=80, systems={"lm": (0.5, 0.5)}, seed=4)


@pytest.fixture(scope="module")
def half(world):
    """As many judged as not, so that there is one subset, and it is all of the others."""
    return with_few(world, 40)


OPTIONS = {"evaluator": "w001", "n_neighbors": 7, "n_resamples": 30}


def scored(study, **options):
    return nb.huse_with_predictions(study, **OPTIONS, **options).set_index("score")


@pytest.mark.parametrize("resample", ["outputs", "items"])
def test_a_weight_of_0_is_huse_of_the_judged(half, resample):
    few, judged = half
    alone = nb.huse(judged, n_neighbors=7, n_resamples=30, resample=resample, seed=3)
    found = scored(few, weight=0.0, resample=resample, seed=3)
    pd.testing.assert_frame_equal(found[SAME], alone.set_index("score")[SAME])
    again = scored(few, weight=0.5, resample=resample, seed=3)
    assert again["alone"].tolist() == found["estimate"].tolist()
    assert again["se_alone"].tolist() == found["se"].tolist()


def test_the_estimate_is_put_together_from_three_scores(world, half):
    """With one subset, which is all that is not judged: huse itself says all three."""
    few, judged = half
    rest = few.outputs.loc[~few.outputs["output_id"].isin(judged.outputs["output_id"])]
    by_one = few.scores.rename(columns={"evaluator": "annotator_id", "score": "value"})
    by_one = by_one.drop(columns="signature").assign(dimension="typicality", group_id="")
    options = {"n_neighbors": 7, "n_resamples": 30, "seed": 0}
    tables = [
        nb.huse(one, **options).set_index("score")
        for one in (
            judged,
            judged_by(world, judged.outputs["output_id"], by_one),
            judged_by(world, rest["output_id"], by_one),
        )
    ]
    people, own, others = (table["estimate"] for table in tables)
    variances = [table["se"] ** 2 for table in tables]
    found = {weight: scored(few, weight=weight) for weight in (-1.0, 0.3, 1.0)}
    for weight, table in found.items():
        assert table["n_subsets"].eq(1).all()
        wanted = people - weight * (own - others)
        np.testing.assert_allclose(table["estimate"], wanted, rtol=0, atol=1e-12)
    # V(people) + V(own) -+ 2 Cov + V(own of others), which is taken for V(own).
    both = found[1.0]["se"] ** 2 + found[-1.0]["se"] ** 2
    np.testing.assert_allclose(both, 2 * variances[0] + 4 * variances[1], rtol=1e-9)


def test_the_estimated_weight_has_the_least_variance(half):
    few, _ = half
    found = scored(few)
    assert found["weight"].nunique() == 3
    for weight in np.linspace(-0.5, 1.5, 9):
        assert (scored(few, weight=float(weight))["se"] >= found["se"] - 1e-12).all()
    assert (found["se"] < found["se_alone"]).all()


@settings(max_examples=3, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_says_nothing(half, random):
    few, _ = half
    changed = {}
    for name in ("outputs", "judgments", "logprobs", "scores"):
        table = getattr(few, name)
        changed[name] = table.sample(frac=1, random_state=random.randrange(10**6))
    found = scored(few.replace(**changed), weight=0.4)["estimate"]
    np.testing.assert_allclose(found, scored(few, weight=0.4)["estimate"], atol=1e-12)


def test_predictions_that_do_not_vary_are_of_no_weight(half):
    few, _ = half
    flat = few.replace(scores=few.scores.assign(score=2.0))
    found = scored(flat, weight=0.7)
    pd.testing.assert_frame_equal(found[SAME], scored(few, weight=0.0)[SAME])
    assert found["weight"].eq(0).all() and found["n_subsets"].eq(0).all()
    assert found["reason"].str.contains("predictions of 80 outputs do not vary").all()


def test_outputs_that_were_not_drawn_by_chance_are_doubted(world, half):
    assert not half[0].outputs.empty
    assert not scored(half[0])["reason"].str.contains("by chance").any()
    one = world.judgments[world.judgments["annotator_id"] == "w001"]
    # The best of each class by the evaluator.
    best = one.sort_values("value").merge(world.outputs[["output_id", "is_human"]])
    best = best.groupby("is_human").tail(40)["output_id"]
    judgments = world.judgments[world.judgments["output_id"].isin(best)]
    chosen = half[0].replace(judgments=judgments)
    assert scored(chosen)["reason"].str.contains("were they drawn by chance").all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12), st.data()
)
def test_subsets_are_of_the_judged_items_kinds(kinds, data):
    """Disjoint, none judged, and with as many items of each kind, whatever items hold."""
    kinds = [kind for kind in kinds if sum(kind)] * 5
    if not kinds:
        return
    judged = np.array(data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds))))
    rows = [
        {"item_id": f"i{item}", "is_human": place < human, "judged": judged[item]}
        for item, (human, machine) in enumerate(kinds)
        for place in range(human + machine)
    ]
    table = pd.DataFrame(rows).assign(output_id=range(len(rows)))

    def of_kinds(part):
        return pd.Series([kinds[int(item[1:])] for item in part.item_id.unique()]).value_counts()

    own = of_kinds(table[table["judged"]]) if judged.any() else pd.Series(dtype=int)
    free = of_kinds(table[~table["judged"]]).reindex(own.index).fillna(0)
    if not judged.any():
        return
    if (free < own).any():
        with pytest.raises(ValueError, match="predictions help where there are others"):
            _subsets(table, "items", np.random.default_rng(0))
        return
    found = _subsets(table, "items", np.random.default_rng(0))
    assert len(found) == int((free // own).min())
    assert len(np.unique(np.concatenate(found))) == sum(map(len, found))
    for rows_of in found:
        part = table.take(rows_of)
        assert not part["judged"].any()
        assert table[table.item_id.isin(part.item_id)].shape[0] == len(part)
        pd.testing.assert_series_equal(of_kinds(part).sort_index(), own.sort_index())


def test_it_is_unbiased_and_the_trap_is_not():
    """A real, small version of the benchmark: k of 16, 30 of 600 judged, a leaning evaluator."""
    rng = np.random.default_rng(5)
    n, n_worlds = 30, 80
    moved, trap = [], []
    for _ in range(n_worlds):
        # The system varies less than people do: neighborhoods of few outputs are too wide.
        spread = np.array([[1.0], [0.3]])
        logprob = spread * rng.normal(size=(2, 20 * n)) + np.array([[0.0], [0.4]])
        quality = spread * rng.normal(size=logprob.shape) - np.array([[0.0], [0.3]])
        predicted = quality + 0.2 * rng.normal(size=quality.shape) + np.array([[0.0], [0.5]])
        people = quality[:, :n] + 0.2 * rng.normal(size=(2, n))
        judged = benchmark.compared(logprob[:, :n], people)
        own = benchmark.compared(logprob[:, :n], predicted[:, :n])
        others = [
            benchmark.scores_of(logprob[:, at : at + n], predicted[:, at : at + n])
            for at in range(n, 6 * n, n)
        ]
        splits = replicates(judged, own, resample="outputs", n_resamples=2, seed=rng)
        row = combined(judged, own, others, splits, weight=0.5).iloc[0]
        moved.append(row["estimate"] - row["alone"])
        errors = benchmark.errors_of(logprob[:, :n], people)["huse"]
        small = benchmark.errors_of(logprob[:, :n], predicted[:, :n])["huse"]
        among = benchmark.errors_of(logprob, predicted)["huse"][:, n:]
        trap.append(benchmark.naive(errors, small, among, 1.0)["estimate"] - row["alone"])
        assert errors.mean() * 2 == pytest.approx(row["alone"])

    def z(values):
        return np.mean(values) / (np.std(values, ddof=1) / np.sqrt(n_worlds))

    assert abs(z(moved)) < 3
    assert z(trap) < -3  # neighborhoods among more outputs err less


def test_the_benchmarks_items_share_a_product_and_half_of_what_is_felt(monkeypatch):
    monkeypatch.setattr(benchmark, "N_POOL", 1500)
    pool = benchmark.Pool(benchmark.ITEM_SYSTEM, 0)
    human, machine = pool.of_product
    assert {len(np.unique(np.concatenate([*one.values()]))) for one in (human, machine)} == {1500}
    monkeypatch.setattr(benchmark, "ITEM_SIZES", (24,))
    monkeypatch.setattr(benchmark, "TOTALS", (96,))
    _, felt = pool.draw_items(4000, np.random.default_rng(1))
    by_item = felt.reshape(2, -1, benchmark.PER_ITEM)
    within = by_item.var(axis=2, ddof=1).mean()
    between = np.cov(by_item[0].mean(axis=1), by_item[1].mean(axis=1))[0, 1]
    assert 0.45 < between / (between + within) < 0.6  # texts of a product differ less, too
    found = benchmark.items_world({benchmark.ITEM_SYSTEM: pool}, 0, 0)
    both = found.pivot_table(index=["method", "score", "r"], columns="what", values="estimate")
    fixed = both.drop(index="weight estimated")
    np.testing.assert_allclose(fixed["items"], fixed["outputs"])  # the split moves the error alone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evaluator": "w01"}, r"evaluator: 'w01' is unknown\. Did you mean 'w001'"),
        ({"judged": 80}, "all of 80 human outputs have judgments .*use nlgbench.huse"),
        ({"judged": 80, "of": "lm"}, "none of 80 human outputs have judgments .*drawn by chance"),
        ({"judged": 0}, "gaussian has no judgments"),
        ({"judged": 50}, "30 outputs of a kind are not judged, and 50 are"),
        ({"drop": "scores"}, "1 of 160 outputs have no score of 'w001': human_i00001"),
        ({"drop": "judgments"}, "1 items, 'i00001' first, have outputs with judgments and outputs"),
        ({"drop": "logprobs"}, "have no log-probability under model 'lm'"),
        ({"is_human": False}, "both classes. Found 0 human"),
    ],
)
def test_what_is_wrong_is_said(world, half, change, message):
    few, options = half[0], {"evaluator": "w001"}
    if "judged" in change:
        items = world.outputs["item_id"].drop_duplicates()[: change["judged"]]
        own = world.outputs["system"] == change.get("of", world.outputs["system"])
        ids = world.outputs.loc[own & world.outputs["item_id"].isin(items), "output_id"]
        few = few.replace(judgments=world.judgments[world.judgments["output_id"].isin(ids)])
    if "drop" in change:
        table = getattr(few, change["drop"])
        few = few.replace(**{change["drop"]: table[table["output_id"] != "human_i00001"]})
        options["resample"] = "items"
    if "is_human" in change:
        few = few.only(is_human=False)
    options |= {name: value for name, value in change.items() if name == "evaluator"}
    with pytest.raises(ValueError, match=message):
        nb.huse_with_predictions(few, **options)


def elsewhere(n_outputs=60):
    """Another study of the same system, whose outputs have other names."""
    study = nb.simulate("gaussian", n_outputs=n_outputs, systems={"lm": (0.5, 0.5)}, seed=9)
    renamed = {
        name: getattr(study, name).assign(output_id="pilot_" + getattr(study, name)["output_id"])
        for name in ("outputs", "judgments", "logprobs")
    }
    return study.replace(**renamed, name="pilot")


def features(study):
    table = study.outputs[["output_id", "item_id", "is_human"]]
    mean = study.judgments.groupby("output_id")["value"].mean().rename("judgment")
    logprob = study.logprobs.assign(x=study.logprobs["logprob"] / study.logprobs["n_tokens"])
    return table.join(mean, on="output_id").merge(logprob[["output_id", "x"]], on="output_id")


def test_the_bound_is_of_the_errors_of_a_classifier_that_saw_nothing_of_them(half):
    """sklearn's classifier errs on the same outputs; no distance is tied, and k is odd."""
    few, judged = half
    pilot = features(elsewhere())
    scale = pilot[["x", "judgment"]].std(ddof=0)
    model = KNeighborsClassifier(15).fit(pilot[["x", "judgment"]] / scale, pilot["is_human"])
    new = features(judged)
    new["wrong"] = model.predict(new[["x", "judgment"]] / scale) != new["is_human"]
    found = nb.optimal_error_bound(few, evaluator="w001", training=elsewhere(), n_neighbors=15)
    alone, corrected = found.iloc[0], found.iloc[1]
    assert alone["estimate"] == pytest.approx(new.groupby("is_human")["wrong"].mean().sum())
    # Items are clusters: of sums over both classes.
    by_item = new.groupby("item_id")["wrong"].sum()
    assert alone["se"] == pytest.approx(by_item.std() / np.sqrt(len(by_item)))
    assert found["training"].eq("pilot").all() and found["n_training"].eq(120).all()
    assert corrected["bound"] > corrected["estimate"]


def test_a_bound_learns_from_half_of_the_items_that_nobody_judged(half):
    few, _ = half
    found = nb.optimal_error_bound(few, evaluator="w001", seed=1)
    assert found["n_training"].tolist() == [40, 40] and found["n_outputs"].tolist() == [120, 120]
    assert found["n_labels"].tolist() == [80, 80] and found["reason"].eq("").all()
    with pytest.raises(ValueError, match=r"outputs of training are outputs of the study, 'human_"):
        nb.optimal_error_bound(few, evaluator="w001", training=half[1])


def test_errors_that_do_not_vary_bound_nothing(half):
    """A system that nobody takes for human: no error, so no spread, and a reason."""
    apart = nb.simulate("gaussian", n_outputs=60, systems={"lm": (9.0, 3.0)}, seed=2)
    found = nb.optimal_error_bound(with_few(apart, 20)[0], evaluator="w001", n_neighbors=5)
    assert found["estimate"].eq(0).all() and found["bound"].isna().all()
    assert found["reason"].str.contains("no spread to learn from").all()
