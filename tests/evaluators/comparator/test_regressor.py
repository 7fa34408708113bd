import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from nlgbench.evaluators.comparator import split
from nlgbench.evaluators.comparator.regressor import PENALTIES, train_regressor
from nlgbench.study import Study, with_tables

GOOD, BAD = ["rain", "train", "bread", "music"], ["zz", "yy", "xx", "ww"]


def world(n_items=50, *, seed=0):
    """Texts of eight words; an output's quality is how many of them are good."""
    rng = np.random.default_rng(seed)
    rows, references = [], []
    for item in range(n_items):
        for system in ("m1", "m2", "m3"):
            n_good = int(rng.integers(9))
            words = [*rng.choice(GOOD, n_good), *rng.choice(BAD, 8 - n_good), f"{item}{system}"]
            context = " ".join(rng.choice(GOOD + BAD, 3))
            rows.append((f"c{item}", system, " ".join(rng.permutation(words)), context, n_good))
        for number in range(2):
            text = " ".join(rng.choice(GOOD, 3))
            references.append((f"c{item}", f"r{number}", text))
    columns = ["item_id", "system", "text", "context", "quality"]
    outputs = pd.DataFrame(rows, columns=columns)
    outputs["output_id"] = [f"o{n}" for n in range(len(outputs))]
    judged = outputs[["output_id"]].assign(dimension="q")
    quality = outputs.pop("quality")
    judgments = [
        judged.assign(annotator_id=w, value=quality + bias)
        for w, bias in zip("vw", (0, 1.0), strict=True)
    ]
    given = pd.DataFrame(references, columns=["item_id", "reference_id", "text"])
    return Study(outputs, pd.concat(judgments, ignore_index=True), references=given)


STUDY = world()
OUTPUTS, JUDGMENTS, REFERENCES = STUDY.outputs, STUDY.judgments, STUDY.references
LEARN, HELD_OUT = split(STUDY, seed=0)
TRAIN, TEST = LEARN.outputs, HELD_OUT.outputs
QUALITY = JUDGMENTS.groupby("output_id")["value"].mean()


def counting_encoder():
    """An encoder that has read every text: which words it has, with noise beside them."""
    neural = pytest.importorskip("nlgbench.evaluators.comparator.encoder")
    rng = np.random.default_rng(1)
    texts = pd.concat([OUTPUTS["text"], OUTPUTS["context"], REFERENCES["text"]]).unique()
    known = {
        text: np.array([*(text.split().count(word) for word in GOOD + BAD), *rng.normal(size=3)])
        for text in texts
    }
    places = {text: n for n, text in enumerate(known)}
    vectors = np.array([*known.values()], dtype=np.float32)
    return neural.Encoder("counts", True, 0, None, None, "counts of words", places, vectors)


def features_by_hand(encoder, outputs):
    own, of_context = (
        encoder.vectors[[encoder.places[text] for text in outputs[name]]].astype(float)
        for name in ("text", "context")
    )
    return np.hstack([own, own * of_context])


def ridge(features, quality, new, penalty):
    """Ridge regression by its normal equations; the intercept is not penalized."""
    mean = features.mean(axis=0)
    x = features - mean
    gram = x.T @ x + penalty * np.eye(x.shape[1])
    slope = np.linalg.solve(gram, x.T @ (quality - quality.mean()))
    return quality.mean() + (new - mean) @ slope


def test_it_is_ridge_regression_with_the_penalty_of_leave_one_out():
    encoder = counting_encoder()
    train = TRAIN.head(20)
    study = with_tables(LEARN, outputs=train, judgments=judgments_of(train))
    found = train_regressor(study, encoder=encoder)
    x = features_by_hand(encoder, train)
    center, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1
    x = (x - center) / scale
    y = QUALITY[train["output_id"]].to_numpy()
    errors = []
    for penalty in PENALTIES:
        keep = ~np.eye(len(x), dtype=bool)
        left_out = [ridge(x[k], y[k], x[~k], penalty).item() - y[~k].item() for k in keep]
        errors.append(np.mean(np.square(left_out)))
    best = PENALTIES[int(np.argmin(errors))]
    assert f"penalty {best:.3g}, by leave-one-out" in found.signature
    new = (features_by_hand(encoder, TEST) - center) / scale
    scores = found.score_outputs(HELD_OUT)
    np.testing.assert_allclose(scores, ridge(x, y, new, best), rtol=1e-6)
    assert scores.index.tolist() == TEST["output_id"].tolist()
    assert found.name == "regressor_frozen@q"
    assert "counts of words" in found.signature and "not ADEM itself" in found.signature


def test_quality_is_found_in_unseen_texts():
    found = train_regressor(LEARN, backend="tfidf")
    score = found.score_outputs(HELD_OUT)
    assert stats.spearmanr(score, QUALITY[TEST["output_id"]]).statistic > 0.9
    value = np.random.default_rng(0).permutation(LEARN.judgments["value"])
    nonsense = with_tables(LEARN, judgments=LEARN.judgments.assign(value=value))
    found = train_regressor(nonsense, backend="tfidf")
    assert found.score_outputs(HELD_OUT).std() < score.std() / 5


def judgments_of(outputs):
    return JUDGMENTS[JUDGMENTS["output_id"].isin(outputs["output_id"])]


@settings(max_examples=6)
@given(slope=st.floats(0.1, 10), shift=st.floats(-5, 5), seed=st.integers(0, 9))
def test_units_and_order_of_rows_do_not_matter(slope, shift, seed):
    before = train_regressor(LEARN, backend="tfidf").score_outputs(HELD_OUT)
    rescaled = LEARN.judgments.assign(value=slope * LEARN.judgments["value"] + shift)
    shuffled = with_tables(
        LEARN,
        outputs=TRAIN.sample(frac=1, random_state=seed),
        judgments=rescaled.sample(frac=1, random_state=seed),
    )
    after = train_regressor(shuffled, backend="tfidf").score_outputs(HELD_OUT)
    np.testing.assert_allclose(after, slope * before + shift, rtol=1e-6, atol=1e-6)


def test_outputs_without_judgments_teach_nothing():
    first = TRAIN[:40]
    fewer = with_tables(LEARN, judgments=judgments_of(first))
    only = with_tables(LEARN, outputs=first, judgments=judgments_of(first))
    of_all, of_some = (
        train_regressor(study, backend="tfidf").score_outputs(HELD_OUT) for study in (fewer, only)
    )
    pd.testing.assert_series_equal(of_all, of_some, check_exact=True)


def test_texts_seen_in_training_are_refused():
    found = train_regressor(LEARN, backend="tfidf")
    again = TEST.copy()
    again.loc[3, "text"] = TRAIN["text"][0]
    with pytest.raises(ValueError, match=r"regressor_tfidf@q was trained on the text of 1 of"):
        found.score_outputs(with_tables(HELD_OUT, outputs=again))


def test_what_cannot_be_learned_from_is_named():
    alike = with_tables(LEARN, judgments=LEARN.judgments.assign(value=3.0))
    with pytest.raises(ValueError, match="with 1 different means"):
        train_regressor(alike, backend="tfidf")


def test_a_missing_extra_is_named(monkeypatch):
    neural = pytest.importorskip("nlgbench.evaluators.comparator.encoder")

    def gone(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(neural.importlib, "import_module", gone)
    with pytest.raises(ImportError, match=r"needs transformers.*nlgbench\[neural,encoder\].*tfidf"):
        train_regressor(LEARN)
