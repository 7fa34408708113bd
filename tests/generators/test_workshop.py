"""Settings that are drawn, and models that are trained by them."""

import numpy as np
import pytest

from nlgbench.generators.checkpoints import LEARNING_RATES, random_settings, train_and_write
from nlgbench.generators.recurrent import fit_recurrent

TEXTS = ["a b c", "a c b", "c a"] * 10


def test_settings_lie_in_their_ranges_and_use_them():
    settings = random_settings(2_000, seed=0)
    assert settings.equals(random_settings(2_000, seed=0))
    rates = np.log(settings["learning_rate"])
    low, high = np.log(LEARNING_RATES)
    assert rates.between(low, high).all()
    assert rates.mean() == pytest.approx((low + high) / 2, abs=0.1), "log-uniform"
    assert settings["dropout"].mean() == pytest.approx(0.25, abs=0.02)
    for name, values in {"units": 3, "batch_size": 3, "epochs": 3}.items():
        shares = settings[name].value_counts(normalize=True)
        assert len(shares) == values
        assert shares.to_numpy() == pytest.approx(np.full(values, 1 / values), abs=0.04)


def test_a_setting_is_trained_and_its_checkpoints_write():
    setting = random_settings(1, seed=0).assign(units=4, epochs=4).to_dict("records")[0]
    asked = {"dev": ["a b", "c b"], "model": "m", "n": 5, "n_checkpoints": 2}
    outputs = train_and_write(TEXTS, setting, **asked, seed=3)
    assert outputs.groupby("system").size().to_dict() == {"m@0.5": 5, "m@1": 5}
    assert outputs.groupby("system")["perplexity"].nunique().eq(1).all()
    again = train_and_write(TEXTS, setting, **asked, seed=3)
    assert again.equals(outputs)


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
