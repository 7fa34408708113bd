"""Comparators and regressors learn the true order from the paper's pairs, on unseen texts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.preprocessing import StandardScaler

from nlgbench.evaluators.comparator.comparators import (
    compare,
    compare_texts,
    order_agreement,
    reference_points,
    train_comparator,
)
from nlgbench.evaluators.comparator.pairs import human_pairs, supervise, system_pairs, weak_pairs
from nlgbench.evaluators.comparator.regressor import PENALTIES, train_regressor
from nlgbench.evaluators.comparator.splits import split
from nlgbench.study import Study, part_of, with_tables
from nlgbench.text import text_key

SQUARED = "neg_mean_squared_error"
PROBABILITIES = ["prob_a", "prob_tie", "prob_b"]
ACTS = ["rain", "train", "bread", "music", "chess", "paint", "river", "cloud"]


def world(n_contexts=40, *, seed=0):
    """A human, and systems that answer nonsense in 1, 3 or 5 words of 6, on each context."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(n_contexts):
        for system, n_bad in [("human", 0), ("m1", 1), ("m3", 3), ("m5", 5)]:
            words = rng.choice(ACTS, 6) + np.where(np.arange(6) < n_bad, "zz", "")
            text = " ".join(rng.permutation(words)) + f" {item}{system}"
            context = f"what of {item}"
            rows.append((f"c{item}", system, text, system == "human", context, 5 - n_bad))
    columns = ["item_id", "system", "text", "is_human", "context", "quality"]
    outputs = pd.DataFrame(rows, columns=columns)
    outputs["output_id"] = [f"o{n}" for n in range(len(outputs))]
    judgments = outputs[["output_id"]].assign(annotator_id="w", dimension="overall")
    judgments = judgments.assign(value=outputs.pop("quality").astype(float))
    return Study(outputs, judgments)


STUDY = world()
OUTPUTS, JUDGMENTS = STUDY.outputs, STUDY.judgments
LEARN, HELD_OUT = split(STUDY, by="context", seed=0)
TRAIN, TEST = LEARN.outputs, HELD_OUT.outputs
QUALITY = JUDGMENTS.set_index("output_id")["value"]
FLAT = with_tables(LEARN, judgments=LEARN.judgments.assign(value=3.0))


def taught(*kinds, study=LEARN, n=4_000, seed=0, **options):
    return supervise(study, kinds=kinds, n=n, seed=seed, **options)


def meet(outputs, *, human=False, n_per_pair=50, seed=0):
    outputs = outputs.assign(is_human=False) if human else outputs
    return system_pairs(outputs, n_per_pair=n_per_pair, seed=seed)


HUMAN = human_pairs(TRAIN, JUDGMENTS, dimension="overall", threshold=1.0, n=8_000, seed=0)
STEPS = pd.DataFrame({"system": ["m5", "m3", "m1"], "model": "m", "progress": [0.1, 0.5, 1.0]})
WRITTEN = STEPS.assign(output_id=["x", "y", "z"], item_id="i", text="t")
SYSTEM_OF = OUTPUTS.set_index("output_id")["system"]
ORDER = ["m5", "m3", "m1", "human"]


def train(pairs=HUMAN, **options):
    return train_comparator(pairs, **{"backend": "tfidf", **options})


COMPARATOR, NO_TIES = train(), train(ties=False)


@pytest.mark.parametrize("options", [{}, {"ties": False}])
@pytest.mark.parametrize("kind", ["human", "strong", "weak"])
def test_systems_come_out_in_their_true_order(kind, options):
    pairs = {"human": HUMAN, "strong": taught("strong")}
    pairs["weak"] = weak_pairs(TRAIN, STEPS, n=4_000, seed=0)
    comparator = train(pairs[kind], **options)
    assert comparator.name.endswith(f"@{kind}")
    found = compare(comparator, TEST, meet(TEST, human=True))
    assert len(found) == 6 * 16
    # Here human texts lack what machines share, so even strong supervision orders the machines.
    place = SYSTEM_OF.map(ORDER.index)
    first = found["output_a"].map(place) > found["output_b"].map(place)
    gap = (found["prob_a"] - found["prob_b"]) * np.where(first, 1, -1)
    assert (gap.groupby([found["output_a"].map(place), first]).mean() > 0).all()
    # On one context each source has one text, so no strong pair ties, nor does a weak one.
    learned = options.get("ties", True) and kind == "human"
    assert (found["prob_tie"] > 0).all() == learned
    assert found["prob_tie"].gt(0).any() == learned


@pytest.mark.parametrize("comparator", [COMPARATOR, NO_TIES])
@settings(max_examples=8)
@given(data=st.data())
def test_swapping_swaps_to_the_last_bit(comparator, data):
    pairs = meet(TEST, human=True, seed=data.draw(st.integers(0, 9)))
    swap = np.array(data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))))
    order = np.random.default_rng(data.draw(st.integers(0, 9))).permutation(len(pairs))
    ids = pairs.to_numpy()
    swapped = pd.DataFrame(np.where(swap[:, None], ids[:, ::-1], ids), columns=list(pairs))
    before = compare(comparator, TEST, pairs)[PROBABILITIES].to_numpy()
    after = compare(comparator, TEST, swapped.iloc[order])[PROBABILITIES].to_numpy()
    assert np.array_equal(after, np.where(swap[:, None], before[:, ::-1], before)[order])


@pytest.mark.parametrize("rewritten", [str, str.upper, lambda text: f"  {text}\n"])
def test_a_text_that_was_trained_on_is_refused_however_it_is_spaced_or_cased(rewritten):
    again = TEST.copy()
    again.loc[3, ["text", "output_id"]] = rewritten(TRAIN["text"][0]), "copied"
    with pytest.raises(ValueError, match=r"trained on .*: 1, such as 'copied'.*split returns"):
        compare(COMPARATOR, again, meet(again, human=True))
    study = HELD_OUT.replace(outputs=again.assign(output_id=TEST["output_id"]))
    for evaluator in (train(compares=False), train_regressor(LEARN, backend="tfidf")):
        with pytest.raises(ValueError, match=r"some of the texts to judge \(outputs: 1,"):
            evaluator.score_outputs(study)


def test_equal_texts_are_even_and_orders_agree():
    m1, m3 = (TEST[TEST["system"] == name] for name in ("m1", "m3"))
    twins = pd.concat([m1.assign(text=m3["text"].to_numpy()), m3])
    pairs = pd.DataFrame({"output_a": [*m1["output_id"]], "output_b": [*m3["output_id"]]})
    found = compare(COMPARATOR, twins, pairs)
    assert (found["prob_a"] == found["prob_b"]).all()
    agreement = order_agreement(COMPARATOR, TEST, meet(TEST)).iloc[0]
    assert agreement["n"] == 48 and agreement["estimate"] > 0.9
    interval = stats.binomtest(round(48 * agreement["estimate"]), 48).proportion_ci(0.95, "wilson")
    assert agreement[["ci_low", "ci_high"]].tolist() == pytest.approx([*interval])


def test_outputs_are_scored_by_points_or_alone_in_the_true_order():
    alone = train(taught("strong"), compares=False)
    assert alone.name == "tfidf_alone@strong"
    for comparator, highest in ((COMPARATOR, 3), (alone, 1)):
        score = comparator.score_outputs(HELD_OUT)
        assert score.index.tolist() == TEST["output_id"].tolist()
        assert score.between(0, highest).all()
        assert score.groupby(SYSTEM_OF).mean().sort_values().index.tolist() == ORDER
    with pytest.raises(ValueError, match="reads one text at a time, so it cannot compare two"):
        compare_texts(HELD_OUT, alone)


def test_strong_pairs_follow_the_paper():
    pooled = LEARN.replace(outputs=TRAIN.assign(context=""))
    pairs = taught("strong", study=pooled, n=400, seed=1)
    system = pairs[["output_a", "output_b"]].apply(lambda ids: ids.map(SYSTEM_OF))
    better = pairs["outcome"] == "better"
    assert better.sum() == 200 and (~better).sum() == 200
    assert (system["output_a"][better] == "human").all()
    assert (system["output_b"][better] != "human").all()
    assert (system["output_a"][~better] == system["output_b"][~better]).all()
    assert (system["output_a"][~better] == "human").sum() == 100
    assert not pairs[["output_a", "output_b"]].apply(frozenset, axis=1).duplicated().any()
    # One output per system and context: no two texts of one source can meet.
    assert taught("strong")["outcome"].eq("better").all()
    with pytest.raises(ValueError, match="no human text has the context"):
        taught("strong", study=LEARN.only(is_human=False))


def test_weak_pairs_keep_the_margin_and_leave_out_the_converged():
    names = [f"s{n}" for n in range(1, 11)]
    rows = [(name, f"{name} {k}") for name in names for k in range(5)]
    outputs = pd.DataFrame(rows, columns=["system", "text"]).assign(item_id="i")
    outputs = outputs.assign(output_id=outputs["text"], is_human=False, context="")
    steps = pd.DataFrame({"system": names, "model": "m", "progress": np.arange(1, 11) / 10})
    pairs = weak_pairs(outputs, steps, n=10_000, seed=0)
    # 45 pairs of checkpoints, less the three among .8, .9 and 1; 25 pairs of texts each.
    assert len(pairs) == (45 - 3) * 25
    assert pairs["margin"].min() == 0.1 and pairs["margin"].max() == 0.9
    later, earlier = (
        pairs[f"output_{side}"].str.extract(r"s(\d+)")[0].astype(int) for side in "ab"
    )
    np.testing.assert_allclose((later - earlier) / 10, pairs["margin"])
    other = steps.assign(model=names)
    with pytest.raises(ValueError, match=r"no two of the checkpoints \(10\)"):
        weak_pairs(outputs, other, n=9, seed=0)


def test_human_pairs_tie_within_the_threshold():
    gap = QUALITY[HUMAN["output_a"]].to_numpy() - QUALITY[HUMAN["output_b"]].to_numpy()
    assert (HUMAN["context_a"] == HUMAN["context_b"]).all()
    assert len(HUMAN) == 24 * 6  # every two of four systems, on each training context
    assert ((HUMAN["outcome"] == "better") == (gap > 1)).all()
    assert (gap >= 0).all() and (gap[HUMAN["outcome"] == "tie"] == 1).all()


@settings(max_examples=12)
@given(
    st.integers(0, 99), st.sampled_from(["text", "context", "item"]), st.sampled_from([None, "m3"])
)
def test_splits_share_no_text(seed, by, left_out):
    repeated = OUTPUTS.copy()
    repeated["text"] = repeated["text"].str[:10]
    repeated.loc[::3, "text"] = " " + repeated["text"].str.upper()  # still the same texts
    study = STUDY.replace(outputs=repeated)
    train, test = split(study, by=by, leave_out=left_out, seed=seed)
    assert not set(train.outputs["text"].map(text_key)) & set(test.outputs["text"].map(text_key))
    assert left_out not in set(train.outputs["system"])
    assert set(train.judgments["output_id"]) == set(train.outputs["output_id"])
    pd.testing.assert_frame_equal(test.outputs, split(study, by=by, seed=seed)[1].outputs)
    if by != "text":
        unit = {"context": "context", "item": "item_id"}[by]
        assert not set(train.outputs[unit]) & set(test.outputs[unit])
        assert test.outputs[unit].nunique() == 16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train(encoder="x"), "has no encoder"),
        (lambda: train(HUMAN[["text_a"]]), "have no column"),
        (lambda: train(HUMAN.assign(outcome="tie")), "no pair has the outcome 'better'"),
        (lambda: taught("human", threshold=-1), "0 or more"),
        (lambda: taught("weak"), "needs checkpoints="),
        (lambda: taught("weak", checkpoints=WRITTEN.assign(progress=50)), "from 0 to 1"),
        (lambda: meet(TEST[TEST["system"] == "m1"]), "no two systems"),
        (lambda: split(STUDY, leave_out="m7"), "leave_out: 'm7' is unknown"),
        (lambda: split(STUDY, test_size=1.0), "between 0 and 1"),
        (lambda: train_regressor(FLAT, backend="tfidf"), "Got 1 .judged outputs"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_comparisons_are_added_to_the_study():
    found = compare_texts(HELD_OUT, COMPARATOR, n_per_pair=50, seed=0)
    pd.testing.assert_frame_equal(found.comparisons, compare(COMPARATOR, TEST, meet(TEST)))
    with pytest.raises(ValueError, match="already has comparisons by tfidf@human"):
        compare_texts(found, COMPARATOR)
    both = compare_texts(found, train(taught("strong")), n_per_pair=20)
    assert both.comparisons["comparator"].unique().tolist() == ["tfidf@human", "tfidf@strong"]


def test_points_against_references():
    rows = [("x", "r1", 1, 0, 0), ("x", "r2", 0, 1, 0), ("x", "r3", 0, 0, 1), ("r1", "r2", 1, 0, 0)]
    columns = ["output_a", "output_b", *PROBABILITIES]
    points = reference_points(pd.DataFrame(rows, columns=columns))
    assert points.to_dict() == {"r1": 3.0, "x": 4 / 3}


# Regressors


def test_a_regressor_is_ridge_regression_with_the_penalty_of_leave_one_out():
    neural = pytest.importorskip("nlgbench.evaluators.comparator.encoder")
    rng = np.random.default_rng(1)
    texts = [*OUTPUTS["text"], *OUTPUTS["context"].unique()]
    counts = [[text.count(word) for word in (*ACTS, "zz", "wh")] for text in texts]
    vectors = np.hstack([counts, rng.normal(size=(len(texts), 3))]).astype(np.float32)
    read = pd.DataFrame(vectors, index=texts)
    encoder = neural.Encoder("counts", True, 0, None, None, "counts of words", read)

    def features(outputs):
        own, context = (read.loc[outputs[name]].to_numpy() for name in ("text", "context"))
        return np.hstack([own, own.astype(float) * context])

    few = part_of(LEARN, LEARN.outputs.index < 20)
    found = train_regressor(few, encoder=encoder)
    scaler = StandardScaler().fit(features(few.outputs))
    x, y = scaler.transform(features(few.outputs)), QUALITY[few.outputs["output_id"]]
    search = GridSearchCV(Ridge(), {"alpha": PENALTIES}, cv=LeaveOneOut(), scoring=SQUARED)
    search.fit(x, y)
    assert f"penalty {search.best_params_['alpha']:.3g}, by leave-one-out" in found.signature
    expected = search.predict(scaler.transform(features(TEST)))
    np.testing.assert_allclose(found.score_outputs(HELD_OUT), expected, rtol=1e-6)
    assert "counts of words" in found.signature and "not ADEM itself" in found.signature


def test_a_regressor_finds_quality_in_unseen_texts_whatever_its_unit():
    score = train_regressor(LEARN, backend="tfidf").score_outputs(HELD_OUT)
    assert stats.spearmanr(score, QUALITY[TEST["output_id"]]).statistic > 0.9
    rescaled = LEARN.judgments.assign(value=3 * LEARN.judgments["value"] - 2)
    shuffled = with_tables(LEARN, outputs=TRAIN[::-1], judgments=rescaled[::-1])
    after = train_regressor(shuffled, backend="tfidf").score_outputs(HELD_OUT)
    np.testing.assert_allclose(after, 3 * score - 2, rtol=1e-6, atol=1e-6)
