"""Listeners give calibrated probabilities of states, on contexts that they never saw."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgbench.evaluators.listeners import probabilities
from nlgbench.evaluators.listeners.features import fourier_features
from nlgbench.evaluators.listeners.listeners import Listener, beliefs, calibration
from nlgbench.evaluators.listeners.probabilities import fit_temperature, temper
from nlgbench.study import Study

STATES = ["item_id", "state", "is_target", "hue", "saturation", "lightness"]
NAMES = {"red": 0, "orange": 30, "green": 120, "blue": 220, "purple": 280}


def rounds(n, *, seed, n_states=3):
    """Colors of distinct names, of which the target is named; pale ones are called paler."""
    rng = np.random.default_rng(seed)
    named = np.array([rng.permutation(len(NAMES))[:n_states] for _ in range(n)])
    hue = (np.array(list(NAMES.values()))[named] + rng.uniform(-8, 8, named.shape)) % 360
    saturation = rng.choice([30.0, 90.0], named.shape)
    contexts = np.stack([hue, saturation, np.full(named.shape, 50.0)], axis=2)
    targets = rng.integers(n_states, size=n)
    words = np.array(list(NAMES))[named[np.arange(n), targets]]
    pale = saturation[np.arange(n), targets] < 50
    captions = [
        f"paler {word}" if is_pale else word for word, is_pale in zip(words, pale, strict=True)
    ]
    return contexts, captions, targets


# Tables


def study(*, sizes=(3, 2, 3)):
    outputs = pd.DataFrame({"item_id": [f"i{n}" for n in range(len(sizes))]})
    outputs = outputs.assign(output_id=[f"o{n}" for n in range(len(sizes))], system="s", text="red")
    contexts = [
        (f"i{item}", f"c{state}", state == 1, 10.0 * state, 90.0, 50.0)
        for item, n in enumerate(sizes)
        for state in range(n)
    ]
    return Study(outputs, contexts=pd.DataFrame(contexts, columns=STATES))


class Asked(Listener):
    """Whatever a function answers."""

    def __init__(self, function):
        self.predict_proba = function


def rising(contexts, captions):
    """Believe the more in a state the further its hue."""
    hue = contexts[:, :, 0] + 1
    return hue / hue.sum(axis=1, keepdims=True)


def test_outputs_are_scored_whatever_the_sizes_of_their_contexts():
    asked = study()
    scores = Asked(rising).score_outputs(asked)
    assert scores.index.tolist() == ["o0", "o1", "o2"]
    np.testing.assert_allclose(scores, [11 / 33, 11 / 12, 11 / 33])
    long = beliefs(asked, {"rising": Asked(rising)})
    np.testing.assert_allclose(long.groupby("output_id")["probability"].sum(), 1)
    np.testing.assert_allclose(long[long["is_target"]]["probability"], scores)
    assert (long["output_id"] + long["state"]).tolist()[2:5] == ["o0c2", "o1c0", "o1c1"]
    # Rows of both tables may stand in any order.
    mixed = asked.replace(
        outputs=asked.outputs[::-1], contexts=asked.contexts.sample(frac=1, random_state=0)
    )
    again = Asked(rising).score_outputs(mixed)
    assert again.index.tolist() == ["o2", "o1", "o0"]
    np.testing.assert_allclose(again[::-1], scores)
    # Two of three states and one of two have the highest belief at the last state, not the target.
    measured = calibration(asked, Asked(rising)).measures.set_index("measure")
    assert measured.loc["accuracy", "estimate"] == pytest.approx(1 / 3)
    assert measured.loc["nll", "estimate"] == pytest.approx(-np.log(scores).mean())


# Calibration


def measured(proba, targets):
    return probabilities.measure_calibration(proba, targets, confidence=0.95)[0]


def test_a_temperature_is_recovered():
    """Targets are drawn from probabilities; an overconfident listener is corrected."""
    true = np.random.default_rng(0).dirichlet(np.ones(3), size=20_000)
    targets = (np.random.default_rng(1).random((20_000, 1)) > true.cumsum(axis=1)).sum(axis=1)
    sure = temper(true, 0.5)
    temperature = fit_temperature(sure, targets)
    assert temperature == pytest.approx(2, rel=0.05)
    np.testing.assert_allclose(temper(temper(true, 0.5), 2), true, atol=1e-12)
    before, after = (
        measured(proba, targets).set_index("measure")["estimate"]
        for proba in (sure, temper(sure, temperature))
    )
    assert before["accuracy"] == after["accuracy"]
    right = int((sure.argmax(axis=1) == targets).sum())
    interval = stats.binomtest(right, 20_000).proportion_ci(0.95, "wilson")
    found = measured(sure, targets).loc[0, ["estimate", "ci_low", "ci_high"]].tolist()
    assert found == pytest.approx([right / 20_000, *interval])
    assert after["nll"] < before["nll"]
    assert after["ece"] < 0.02 < before["ece"]


def test_measures_by_hand(monkeypatch):
    """Two bins: .9 and .8 (right once), .5 and .45 (right once; ties are split)."""
    monkeypatch.setattr(probabilities, "_N_BINS", 2)
    proba = [[0.9, 0.1, 0], [0.8, 0.2, 0], [0.5, 0.5, 0], [0.45, 0.35, 0.2]]
    found = measured(proba, [0, 1, 1, 0]).set_index("measure")
    assert found.loc["accuracy", "estimate"] == (1 + 0 + 0.5 + 1) / 4
    losses = -np.log([0.9, 0.2, 0.5, 0.45])
    interval = stats.norm.interval(0.95, losses.mean(), stats.sem(losses))
    expected = pytest.approx([losses.mean(), *interval])
    assert found.loc["nll", ["estimate", "ci_low", "ci_high"]].tolist() == expected
    # .5 belongs to the lower bin, whose upper end it is.
    ece = 0.5 * abs(0.85 - 0.5) + 0.5 * abs(0.475 - 0.75)
    assert found.loc["ece", "estimate"] == pytest.approx(ece)
    _, bins = probabilities.measure_calibration(proba, [0, 1, 1, 0], confidence=0.95)
    np.testing.assert_allclose(bins["estimate"], [0.75, 0.5])
    np.testing.assert_allclose(bins["ece"], ece)


def test_rows_without_an_opinion_are_counted():
    table = measured([[0.5, 0.5], [np.nan, np.nan]], [0, 0])
    assert table[["n", "n_undefined"]].eq(1).all(axis=None)
    with pytest.raises(ValueError, match="probabilities are NaN"):
        measured([[np.nan, np.nan]], [0])
    certain = measured([[0.0, 1.0]] * 2, [0, 1]).set_index("measure")
    assert certain.loc["nll", "estimate"] == np.inf
    assert np.isnan(certain.loc["nll", "ci_low"]) and certain.loc["nll", "status"] == "impossible"


# Listeners in torch

torch = pytest.importorskip("torch", reason="the extra neural is not installed")

from nlgbench.evaluators.listeners.neural import (  # noqa: E402
    ContextListener,
    LiteralListener,
    PragmaticListener,
    train_listeners,
)
from nlgbench.evaluators.score import score  # noqa: E402

KINDS = (LiteralListener, ContextListener, PragmaticListener)
TRAIN, DEV, TEST = (rounds(n, seed=seed) for n, seed in ((900, 0), (200, 1), (300, 2)))


@pytest.fixture(scope="module")
def trained():
    return {
        kind: kind(seed=0, epochs=6, units=40, learning_rate=0.01).fit(*TRAIN, dev=DEV)
        for kind in KINDS
    }


def accuracy(listener, contexts, captions, targets):
    return measured(listener.predict_proba(contexts, captions), targets)["estimate"].iloc[0]


@pytest.mark.parametrize("kind", KINDS)
def test_listeners_learn_names_they_can_be_asked_about(trained, kind):
    listener = trained[kind]
    proba = listener.predict_proba(*TEST[:2])
    assert proba.shape == (300, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    assert accuracy(listener, *TEST) > 0.95


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_states", [2, 4])
def test_permuting_the_colors_permutes_the_probabilities(trained, kind, n_states):
    contexts, captions, _ = rounds(20, seed=3, n_states=n_states)
    found = trained[kind].predict_proba(contexts, captions)
    for order in permutations(range(n_states)):
        turned = trained[kind].predict_proba(contexts[:, list(order)], captions)
        np.testing.assert_allclose(turned, found[:, list(order)], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_listener_that_hears_nothing_is_at_chance(trained, kind):
    contexts, _, targets = rounds(1_000, seed=4)
    np.testing.assert_array_equal(trained[kind].predict_proba(contexts, [" \n"] * 1_000), 1 / 3)
    # The same words for all, or one that was never heard, carry no information, either.
    for words in ("red", "zyzzyva"):
        right = accuracy(trained[kind], contexts, [words] * 1_000, targets)
        assert right == pytest.approx(1 / 3, abs=4 * math.sqrt(2 / 9 / 1_000))


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides_everything_and_a_checkpoint_is_reused_until_it_changes(tmp_path, kind):
    few = [part[:150] for part in TRAIN]

    def fit(data=few, *, seed=0, epochs=1, folder=tmp_path):
        return kind(seed=seed, epochs=epochs, units=8).fit(*data, dev=DEV, folder=folder)

    first = fit()
    answer = first.predict_proba(*TEST[:2])
    (path,) = tmp_path.iterdir()
    written = path.stat().st_mtime_ns
    for again in (fit(), fit(folder=None)):
        assert path.stat().st_mtime_ns == written
        np.testing.assert_array_equal(again.predict_proba(*TEST[:2]), answer)
        assert (again.seen, again.signature) == (first.seen, first.signature)
    assert not np.array_equal(fit(seed=1, folder=None).predict_proba(*TEST[:2]), answer)
    renamed = [caption.replace("red", "rot") for caption in few[1]]
    others = ({"seed": 1}, {"epochs": 2}, {"data": [few[0], renamed, few[2]]})
    for n, changed in enumerate(others, start=2):
        fit(**changed)
        assert len(list(tmp_path.iterdir())) == n


def test_states_need_not_be_colors():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(600, 4, 5))
    targets = rng.integers(4, size=600)
    high = states[np.arange(600), targets, 0] > 0
    captions = np.where(high, "high", "low").tolist()
    listener = LiteralListener(seed=0, features="raw", epochs=8, units=20, learning_rate=0.01)
    listener.fit(states, captions, targets)
    # Half of the states fit a caption: with 4 states the best accuracy is the mean of 1 / matches.
    matches = ((states[:, :, 0] > 0) == high[:, None]).sum(axis=1)
    assert accuracy(listener, states, captions, targets) > 0.85 * (1 / matches).mean()
    with pytest.raises(ValueError, match="must have 5 features"):
        listener.predict_proba(states[:, :, :3], captions)


# Listeners of a study


def games(n=80, *, seed=0, name="games", contexts=None):
    """Rounds as a study; the colors of `contexts`, where given, are among them."""
    colors, captions, targets = rounds(n, seed=seed)
    if contexts is not None:
        colors[: len(contexts)] = contexts
    ids = [f"{name}{at}" for at in range(n)]
    rows = [
        (item, f"c{state}", state == target, *color)
        for item, states, target in zip(ids, colors, targets, strict=True)
        for state, color in enumerate(states)
    ]
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids, "system": "human", "text": captions})
    return Study(outputs, contexts=pd.DataFrame(rows, columns=STATES), name=name), colors


@pytest.fixture(scope="module")
def played():
    scored, colors = games(40, seed=5)
    # The first ten rounds of dev, and of train, have the colors that are scored.
    train, dev = (
        games(n, seed=seed, name=name, contexts=colors[:10, ::-1])[0]
        for name, n, seed in (("train", 400, 6), ("dev", 100, 7))
    )
    return scored.replace(related={"train": train, "dev": dev})


SMALL = {"epochs": 6, "units": 40}


def test_listeners_learn_from_the_rounds_of_a_study_but_not_from_what_is_scored(played):
    names = ["literal_0", "context_0", "literal_1", "ensemble"]
    listeners = train_listeners(played, names, seed=3, **SMALL)
    assert list(listeners) == names
    assert [listeners[name].seed for name in names[:3]] == [3, 3, 4]
    assert len(listeners["literal_0"].seen) == 390 + 90
    scores = {name: one.score_outputs(played) for name, one in listeners.items()}
    np.testing.assert_allclose(
        scores["ensemble"], sum(scores[name] for name in names[:3]) / 3, atol=1e-12
    )
    assert scores["literal_0"].mean() > 0.6
    said = beliefs(played, listeners)
    right = said[said["is_target"]].set_index(["evaluator", "output_id"])["probability"]
    np.testing.assert_array_equal(right["ensemble"], scores["ensemble"])
    for name, rounds_of in (("literal_1", "train"), ("literal_1", "dev"), ("ensemble", "dev")):
        with pytest.raises(ValueError, match="learned from contexts of this study"):
            listeners[name].score_outputs(played.related[rounds_of])


def test_scores_by_name_are_those_of_the_trained_listeners(played, tmp_path):
    named = score(played, ["literal", "literal_1"], seed=3, keep=tmp_path)
    assert len(list(tmp_path.glob("listener-literal-*.safetensors"))) == 2
    listeners = train_listeners(played, ["literal_0", "literal"], seed=3, keep=tmp_path)
    own = named.scores[named.scores["evaluator"] == "literal"]
    for fitted in listeners.values():
        np.testing.assert_array_equal(own["score"], fitted.score_outputs(played))
    fitted = listeners["literal"]
    assert own["signature"].unique().tolist() == [fitted.signature]
    assert len(score(named, [fitted]).scores) == 80  # the same name and signature again
    with pytest.raises(ValueError, match="options: 'literal' is unknown"):
        score(played, ["literal"], options={"literal": {"epochs": 1}})


def score_answer(answer):
    return Asked(lambda *_: answer).score_outputs(study())


def score_without(item):
    contexts = study().contexts.query("item_id != @item")
    return Asked(rising).score_outputs(study().replace(contexts=contexts if item else None))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_answer([[0.5, 0.3, 0.3]] * 2), "row 0 .* divide each row"),
        (lambda: score_answer([[-0.5, 0.5, 1.0]] * 2), "numbers from 0 to 1"),
        (lambda: score_answer([[0.5, 0.5]]), r"shape \(2, 3\)"),
        (lambda: score_without("i1"), r"no item 'i1' .outputs without a context: 1"),
        (lambda: score_without(None), "has no contexts, so the possible states are unknown"),
        (lambda: fourier_features([[[361, 0, 0]]]), "hue must be from 0 to 360"),
        (lambda: fourier_features([[[0, -1, 0]]]), "hue must be from 0 to 360"),
        (lambda: fourier_features([[[0, 0, np.nan]]]), "hue must be from 0 to 360"),
        (lambda: train_listeners(games()[0]), "no rounds to learn from"),
        (lambda: train_listeners(games()[0], ["litteral"]), "Did you mean 'literal'"),
    ],
)
def test_what_cannot_be_scored_or_trained_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
