"""Each checkpoint is a system with its progress, and settings are drawn from their ranges."""

import numpy as np
import pytest

from nlgbench.evaluators.comparator.pairs import check_checkpoints
from nlgbench.generators.checkpoints import (
    LEARNING_RATES,
    random_settings,
    sample_checkpoints,
    train_and_write,
)
from nlgbench.generators.recurrent import fit_recurrent

TEXTS = ["a b c", "a c b", "c a"] * 10
MODELS, _ = fit_recurrent(TEXTS, units=4, epochs=4, n_checkpoints=4, seed=0)


def test_each_checkpoint_is_a_system_with_its_progress():
    outputs = sample_checkpoints(MODELS, [""] * 20, model="m", seed=0)
    checkpoints = check_checkpoints(outputs)
    assert outputs.groupby("system").size().to_dict() == dict.fromkeys(checkpoints["system"], 20)
    assert checkpoints["progress"].tolist() == [0.25, 0.5, 0.75, 1.0]


def test_settings_lie_in_their_ranges_and_use_them():
    settings = random_settings(2_000, seed=0)
    assert settings.equals(random_settings(2_000, seed=0))
    rates = np.log(settings["learning_rate"])
    low, high = np.log(LEARNING_RATES)
    assert rates.between(low, high).all()
    assert rates.mean() == pytest.approx((low + high) / 2, abs=0.1), "log-uniform"
    assert settings["dropout"].mean() == pytest.approx(0.25, abs=0.02)
    for name in ("units", "batch_size", "epochs"):
        shares = settings[name].value_counts(normalize=True)
        assert shares.tolist() == pytest.approx([1 / 3] * 3, abs=0.04)


def test_perplexity_is_that_of_the_held_out_texts():
    dev, setting = ["a b", "c b c"], {"units": 4, "epochs": 2, "learning_rate": 0.01}
    written = train_and_write(TEXTS, setting, dev=dev, model="m", n=1, n_checkpoints=2, seed=5)
    # By another way: the log-probabilities of the very model.
    own = np.random.default_rng(5).spawn(2)[0]
    models, _ = fit_recurrent(TEXTS, **setting, n_checkpoints=2, seed=own)
    n_words = sum(len(text.split()) + 1 for text in dev)
    by_hand = [np.exp(-models[at].logprob(dev).sum() / n_words) for at in (0.5, 1.0)]
    # A text is never empty, so the model's first word is no end; the loss does not know that.
    assert written["perplexity"].tolist() == pytest.approx(by_hand, rel=0.02)
