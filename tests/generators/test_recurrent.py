"""The recurrent model learns a known grammar and has exact probabilities in every decoding."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="the extra neural is not installed")

from nlgbench.generators.grammar import Grammar, Slot  # noqa: E402
from nlgbench.generators.recurrent import fit_recurrent  # noqa: E402

WHO = Slot("who", ("cats", "dogs"), np.log([0.3, 0.7]))
HOW = Slot("how", ("", "never", "often"), np.log([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]), ("who",))
ACTS = ("bark", "meow", "chase mice")
WHAT = Slot("what", ACTS, np.log([[0.1, 0.5, 0.4], [0.8, 0.1, 0.1]]), ("who",))
GRAMMAR = Grammar((WHO, HOW, WHAT))
PHRASES = itertools.product(*(slot.phrases for slot in GRAMMAR.slots))
SENTENCES = [" ".join(filter(None, words)) for words in PHRASES]
WORDS = ("a", "b", "c")
ALL = [" ".join(words) for n in range(1, 5) for words in itertools.product(WORDS, repeat=n)]


@pytest.fixture(scope="module")
def trained():
    """Trained on 1,500 sentences of a grammar whose probabilities are known."""
    texts = GRAMMAR.sample(1500, seed=0)
    size = {"units": 24, "epochs": 6, "n_checkpoints": 3, "batch_size": 64}
    return fit_recurrent(texts, dev=texts[:300], learning_rate=0.02, seed=1, **size)


@pytest.fixture(scope="module")
def small():
    """Three words, at most four to a text, hardly trained: all its texts can be listed."""
    texts = ["a b", "b", "c c a", "a b c"]
    models, _ = fit_recurrent(texts, units=6, epochs=2, learning_rate=0.1, seed=0)
    return replace(models[1.0], max_length=4)


DECODINGS = {
    "plain": lambda model: model,
    "annealed": lambda model: model.annealed(0.5),
    "nucleus": lambda model: model.truncated(0.6),
    "both": lambda model: model.annealed(1.5).truncated(0.7),
}


def test_the_grammar_is_learned(trained):
    """Mean log p - log q under the grammar: the Kullback-Leibler divergence, by enumeration."""
    models, _ = trained
    true = GRAMMAR.logprob(SENTENCES)
    p = np.exp(true)
    assert p.sum() == pytest.approx(1)
    divergence = {at: float(p @ (true - model.logprob(SENTENCES))) for at, model in models.items()}
    assert list(divergence) == pytest.approx([1 / 3, 2 / 3, 1])
    assert 0 < divergence[1.0] < 0.05
    assert divergence[1.0] < divergence[1 / 3]
    assert 0.95 < np.exp(models[1.0].logprob(SENTENCES)).sum() <= 1


@pytest.mark.parametrize("name", DECODINGS)
def test_probabilities_sum_to_one_and_samples_are_as_frequent(small, name):
    model, n = DECODINGS[name](small), 4000
    p = np.exp(model.logprob(ALL))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p == 0).any() == (name not in ("plain", "annealed"))
    texts, counts = np.unique(model.sample(n, seed=1), return_counts=True)
    expected = np.exp(model.logprob(texts.tolist()))
    assert (expected > 0).all()
    often = expected > 0.01
    assert often.sum() > 5
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(counts / n - expected)[often] < 4.5 * error[often]).all()


@pytest.mark.parametrize("name", DECODINGS)
def test_a_score_does_not_depend_on_the_batch_and_samples_have_one(trained, name):
    model = DECODINGS[name](trained[0][1.0])
    alone = [model.logprob([text])[0] for text in SENTENCES]
    np.testing.assert_allclose(model.logprob(SENTENCES), alone, atol=1e-10)
    # A word on the edge of a nucleus would turn up as minus infinity.
    assert np.isfinite(model.logprob(model.sample(500, seed=2))).all()


def test_temperatures_multiply_and_sharpen_each_step(small):
    np.testing.assert_allclose(
        small.annealed(2.0).annealed(0.25).logprob(ALL), small.annealed(0.5).logprob(ALL)
    )
    # Where one step alone is free (the end is forced after it), p ** 2 normalized.
    one = fit_recurrent(["a", "b", "b"], units=4, epochs=2, seed=0)[0][1.0]
    one = replace(one, max_length=1)
    p = np.exp(one.logprob(["a", "b"]))
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.exp(one.annealed(0.5).logprob(["a", "b"])), p**2 / (p**2).sum())
    greedy = one.truncated(1e-6).logprob(["a", "b"])
    assert greedy.tolist() == np.where(p == p.max(), 0, -np.inf).tolist()


def test_outside_the_support_is_minus_infinity(small):
    outside = ["z", "a z", "", "a  b", " a", "a a a a a"]
    assert (small.logprob(outside) == -np.inf).all()
    assert np.isfinite(small.logprob(["a a a a"])).all()
    assert small.logprob([]).shape == (0,)
    assert small.sample(0, seed=0) == []


def test_known_words_are_scored_as_the_training_loss_scores_them():
    texts = ["a b", "a rare b", "a b b"] * 5 + ["a odd b"]
    dev = ["never a", "b a", "a odd odd b", "c"]
    models, history = fit_recurrent(texts, dev=dev, min_count=2, units=8, epochs=3, seed=0)
    model = models[1.0]
    nats, n_known = model.logprob_known(dev)
    assert n_known.tolist() == [2, 3, 3, 1]
    assert -nats.sum() / n_known.sum() == pytest.approx(history["dev_loss"].iloc[-1], rel=1e-5)
    # Without unknown words it is the log-probability; with them, it is not.
    same = ["b a", "a rare b", "b"]
    assert np.array_equal(model.logprob_known(same)[0], model.logprob(same))
    assert model.logprob(dev)[[0, 2, 3]].tolist() == [-np.inf] * 3
    assert model.logprob_known([" b\na "])[0][0] == model.logprob(["b a"])[0]


def test_a_text_answers_its_context():
    """Each context has answers of its own; an unseen context is still answered."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"context": rng.choice(["up", "down"], 300)})
    likely = rng.random(300) < 0.8
    table["text"] = np.where((table["context"] == "up") == likely, "it rises", "it falls fast")
    size = {"units": 12, "epochs": 8, "learning_rate": 0.01}
    model = fit_recurrent(table["text"], table["context"], seed=0, **size)[0][1.0]
    p = np.exp(model.logprob(["it rises"] * 3, ["up", "down", "unseen words here"]))
    share = table["text"].eq("it rises").groupby(table["context"]).mean()
    np.testing.assert_allclose(p[:2], share[["up", "down"]], atol=0.1)
    assert 0 < p[2] < 1
    drawn = model.respond(["up", "down"] * 1000, seed=0)
    rises = np.array([text == "it rises" for text in drawn]).reshape(-1, 2).mean(axis=0)
    np.testing.assert_allclose(rises, p[:2], atol=0.06)
    part, n_known = model.logprob_known(["it suddenly rises"] * 2, ["up", "down"])
    assert part[0] > part[1] and n_known.tolist() == [3, 3]


def test_checkpoints_do_not_change_the_training():
    models = [
        fit_recurrent(["a b", "b"], units=4, epochs=4, n_checkpoints=n, seed=0)[0] for n in (1, 4)
    ]
    assert list(models[1]) == [0.25, 0.5, 0.75, 1.0]
    scores = [each.logprob(["a b"])[0] for each in models[1].values()]
    assert len(set(scores)) == 4
    assert models[0][1.0].logprob(["a b"])[0] == scores[-1]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a", ""],), {}, r"texts\[1\] has no word"),
        ((["a", None],), {}, r"texts\[1\] is None"),
        ((["a"],), {"min_count": 2}, "Lower min_count"),
    ],
)
def test_what_cannot_be_trained_is_refused(small, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        fit_recurrent(*arguments, **{"epochs": 1, "units": 2, "seed": 0, **options})
    with pytest.raises(ValueError, match="temperature must be above 0"):
        small.annealed(0).logprob(["a"])
