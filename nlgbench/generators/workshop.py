"""A workshop of small language models: settings drawn at random, trained, and what they write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.generators.checkpoints import sample_checkpoints
from nlgbench.generators.recurrent import fit_recurrent
from nlgbench.text import check_n

#: What `random_settings` draws from; the learning rate log-uniformly, dropout uniformly.
UNITS = (32, 48, 64)
LEARNING_RATES = (8e-3, 5e-2)
DROPOUTS = (0.0, 0.5)
BATCH_SIZES = (8, 16, 32)
EPOCHS = (5, 10, 20)


def random_settings(n: int, *, seed: int | np.random.Generator) -> pd.DataFrame:
    """Draw hyper-parameters to choose from.

    Parameters
    ----------
    n : int
        Settings.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per setting: units (32, 48 or 64), learning_rate (log-uniform from .008 to .05),
        dropout (uniform from 0 to .5), batch_size (8, 16 or 32), epochs (5, 10 or 20); all drawn
        independently. Columns are options of `recurrent.fit_recurrent`.

    Raises
    ------
    ValueError
        When `n` is below 1.

    Notes
    -----
    Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521) draw five settings for each model,
    from ranges that they do not publish. These ranges are a convention, for a
    few hundred short sentences: they hold models that hardly learn to write, and models whose
    held-out perplexity rises again long before training ends.

    Examples
    --------
    >>> settings = random_settings(5, seed=0)
    >>> settings.shape, bool(settings["dropout"].between(0, 0.5).all())
    ((5, 5), True)
    """
    check_n(n, "n")
    rng = np.random.default_rng(seed)
    low, high = LEARNING_RATES
    return pd.DataFrame(
        {
            "units": rng.choice(UNITS, n),
            "learning_rate": np.exp(rng.uniform(np.log(low), np.log(high), n)),
            "dropout": rng.uniform(*DROPOUTS, n),
            "batch_size": rng.choice(BATCH_SIZES, n),
            "epochs": rng.choice(EPOCHS, n),
        }
    )


def train_and_write(
    texts: Sequence[str],
    settings: Mapping[str, Any],
    *,
    dev: Sequence[str],
    model: str,
    n: int,
    n_checkpoints: int = 1,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Train one model, and let its checkpoints write.

    Parameters
    ----------
    texts, dev : sequence of str
        Training and held-out texts, as in `recurrent.fit_recurrent`.
    settings : mapping of str to number
        Options of `recurrent.fit_recurrent`, such as a row of `random_settings`.
    model, n
        As in `checkpoints.sample_checkpoints`.
    n_checkpoints : int
        As in `recurrent.fit_recurrent`.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        As `checkpoints.sample_checkpoints`, with a column perplexity: that of the held-out texts
        under the checkpoint, over known words, lower is better. Models of the same `texts` share a
        vocabulary, so that theirs can be compared.

    Raises
    ------
    ValueError, FloatingPointError
        As the two functions say.

    Examples
    --------
    >>> setting = {"units": 4, "epochs": 2}
    >>> texts = ["a b", "a c"] * 10
    >>> written = train_and_write(texts, setting, dev=["a b"], model="m", n=3, seed=0)
    >>> len(written), written["system"].unique().tolist(), bool(written["perplexity"].min() > 1)
    (3, ['m@1'], True)
    """
    for_training, for_writing = np.random.default_rng(seed).spawn(2)
    models, history = fit_recurrent(
        texts, dev=dev, n_checkpoints=n_checkpoints, **settings, seed=for_training
    )
    written = sample_checkpoints(models, model=model, n=n, seed=for_writing)
    loss = history.dropna(subset="checkpoint").set_index("checkpoint")["dev_loss"]
    return written.assign(perplexity=np.exp(loss.loc[written["progress"]].to_numpy()))


@dataclass(frozen=True, eq=False)
class Workshop:
    """A model that was trained to write, and what comes of it.

    Attributes
    ----------
    written : DataFrame
        As from `checkpoints.sample_checkpoints`.
    logprobs : DataFrame
        The ``logprobs`` of the outputs that were to be read, in their order, under the trained
        model: of their known words and ends, which ``n_tokens`` counts.
    history : DataFrame
        As from `recurrent.fit_recurrent`.
    """

    written: pd.DataFrame
    logprobs: pd.DataFrame
    history: pd.DataFrame


def train_workshop(
    human: pd.DataFrame,
    to_read: pd.DataFrame,
    *,
    model: str,
    n: int = 150,
    epochs: int = 10,
    n_checkpoints: int = 10,
    units: int = 128,
    min_count: int = 2,
    seed: int | np.random.Generator,
) -> Workshop:
    """Train a small language model on human texts; let its checkpoints write, and it read outputs.

    Parameters
    ----------
    human : DataFrame
        An ``outputs`` table, training texts of people. Where any has a context, the model answers
        contexts.
    to_read : DataFrame
        The ``outputs`` table whose perplexity is wanted.
    model : str
        What the model is called.
    n : int
        Texts of each checkpoint; with contexts, on `n` of those of `human`, drawn alike.
    epochs, n_checkpoints, units, min_count
        As in `recurrent.fit_recurrent`.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    Workshop
        Tables for weak supervision, and for `perplexity.perplexity`.

    Raises
    ------
    ValueError
        As `fit_recurrent`, or when there are fewer contexts than `n`.

    Examples
    --------
    >>> human = pd.DataFrame({"text": ["a b", "a c"] * 10, "context": ""})
    >>> human["output_id"] = [str(n) for n in range(20)]
    >>> found = train_workshop(human, human[:1].assign(text="a z"), model="m", n=2, units=4,
    ...                         epochs=2, n_checkpoints=2, seed=0)
    >>> len(found.written), found.logprobs["n_tokens"].item()
    (4, 2)
    """
    for_model, for_contexts, for_texts = np.random.default_rng(seed).spawn(3)
    texts = [" ".join(text.split()) for text in human["text"]]
    conditional = bool(human["context"].ne("").any())
    models, history = fit_recurrent(
        texts,
        human["context"].tolist() if conditional else None,
        epochs=epochs,
        n_checkpoints=n_checkpoints,
        units=units,
        min_count=min_count,
        seed=for_model,
    )
    contexts = None
    if conditional:
        distinct = sorted(human["context"].unique())
        if n > len(distinct):
            raise ValueError(
                f"n = {n} contexts to answer, but human outputs have {len(distinct)}: lower n."
            )
        chosen = for_contexts.choice(len(distinct), n, replace=False)
        contexts = [distinct[at] for at in sorted(chosen)]
    written = sample_checkpoints(
        models,
        model=model,
        n=None if conditional else n,
        contexts=contexts,
        seed=for_texts,
    )
    nats, n_known = models[1.0].logprob_known(
        to_read["text"].tolist(), to_read["context"].tolist() if conditional else None
    )
    logprobs = to_read[["output_id"]].reset_index(drop=True)
    logprobs = logprobs.assign(model=model, logprob=nats, n_tokens=n_known)
    return Workshop(written, logprobs, history)
