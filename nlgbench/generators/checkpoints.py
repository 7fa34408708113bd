"""Small language models, trained and kept at checkpoints, and what these write."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.generators.recurrent import RecurrentModel, fit_recurrent

#: What `random_settings` draws units from, and, log-uniformly, the learning rate.
UNITS = (32, 48, 64)
LEARNING_RATES = (8e-3, 5e-2)


def random_settings(n: int, *, seed: int | np.random.Generator) -> pd.DataFrame:
    """Draw hyper-parameters to choose from, independently: options of `fit_recurrent`.

    Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521) do not publish their ranges; these
    hold models that hardly learn to write, and models that overfit.
    """
    rng = np.random.default_rng(seed)
    low, high = LEARNING_RATES
    return pd.DataFrame(
        {
            "units": rng.choice(UNITS, n),
            "learning_rate": np.exp(rng.uniform(np.log(low), np.log(high), n)),
            "dropout": rng.uniform(0.0, 0.5, n),
            "batch_size": rng.choice((8, 16, 32), n),
            "epochs": rng.choice((5, 10, 20), n),
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

    As `sample_checkpoints`, with a column perplexity: that of the held-out texts under the
    checkpoint, over known words, lower is better. Models of the same `texts` share a vocabulary, so
    that theirs can be compared.
    """
    for_training, for_writing = np.random.default_rng(seed).spawn(2)
    models, history = fit_recurrent(
        texts, dev=dev, n_checkpoints=n_checkpoints, **settings, seed=for_training
    )
    written = sample_checkpoints(models, [""] * n, model=model, seed=for_writing)
    loss = history.dropna(subset="checkpoint").set_index("checkpoint")["dev_loss"]
    return written.assign(perplexity=np.exp(loss.loc[written["progress"]].to_numpy()))


def sample_checkpoints(
    models: Mapping[float, RecurrentModel],
    contexts: Sequence[str],
    *,
    model: str,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Let every checkpoint of a model answer each context; empty ones where it takes none.

    The columns of ``outputs``, a system per checkpoint (``MODEL@PROGRESS``), and model and
    progress, as `nlgbench.supervise` takes them.
    """
    items = [f"i{number:05d}" for number in range(1, len(contexts) + 1)]
    parts = []
    seeds = np.random.default_rng(seed).spawn(len(models))
    for (progress, at), own in zip(sorted(models.items()), seeds, strict=True):
        system = f"{model}@{progress:g}"
        part = pd.DataFrame({"output_id": [f"{system}_{item}" for item in items]})
        part = part.assign(item_id=items, system=system, text=at.respond(contexts, seed=own))
        part = part.assign(is_human=False, context=list(contexts))
        parts.append(part.assign(model=model, progress=float(progress)))
    return pd.concat(parts, ignore_index=True)


def train_checkpoints(
    human: pd.DataFrame,
    to_read: pd.DataFrame,
    *,
    model: str,
    n: int = 150,
    epochs: int = 10,
    n_checkpoints: int = 10,
    units: int = 128,
    seed: int | np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train a small language model on human texts; let its checkpoints write, and it read outputs.

    `human` are training texts of people, an ``outputs`` table; where any has a context, the model
    answers contexts, `n` of these, drawn alike. `to_read` are the outputs whose perplexity is
    wanted. Returned are what was written, as from `sample_checkpoints`, and the ``logprobs`` of the
    outputs to read, in their order, under the trained model: of their known words and ends, which
    ``n_tokens`` counts.
    """
    for_model, for_contexts, for_texts = np.random.default_rng(seed).spawn(3)
    conditional = bool(human["context"].ne("").any())
    models, _ = fit_recurrent(
        [" ".join(text.split()) for text in human["text"]],
        human["context"].tolist() if conditional else None,
        epochs=epochs,
        n_checkpoints=n_checkpoints,
        units=units,
        min_count=2,  # words of one text alone are outside the vocabulary
        seed=for_model,
    )
    about = [""] * n
    if conditional:
        distinct = sorted(human["context"].unique())
        if n > len(distinct):
            raise ValueError(
                f"n = {n} contexts to answer, but human outputs have {len(distinct)}: lower n."
            )
        chosen = for_contexts.choice(len(distinct), n, replace=False)
        about = [distinct[at] for at in sorted(chosen)]
    written = sample_checkpoints(models, about, model=model, seed=for_texts)
    nats, n_known = models[1.0].logprob_known(
        to_read["text"].tolist(), to_read["context"].tolist() if conditional else None
    )
    logprobs = to_read[["output_id"]].reset_index(drop=True)
    return written, logprobs.assign(model=model, logprob=nats, n_tokens=n_known)
