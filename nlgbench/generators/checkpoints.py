"""Small language models with training checkpoints, and texts sampled from them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.arrays import Seed
from nlgbench.generators.recurrent import RecurrentModel, fit_recurrent

#: `random_settings` draws units from these values, and learning rates log-uniformly from this
#: range.
UNITS = (32, 48, 64)
LEARNING_RATES = (8e-3, 5e-2)


def random_settings(n: int, *, seed: Seed) -> pd.DataFrame:
    """Draw hyperparameters, the options of `fit_recurrent`, independently at random.

    The ranges include models that hardly learn, and models that overfit.
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
    temperature: float = 1.0,
    seed: Seed,
) -> pd.DataFrame:
    """Train one model, and sample texts from its checkpoints at a temperature.

    The table is that of `sample_checkpoints`, with an additional column perplexity: the
    checkpoint's perplexity on the held-out texts, over known words; lower is better. Models trained
    on the same `texts` share a vocabulary, so their perplexities are comparable.
    """
    for_training, for_writing = np.random.default_rng(seed).spawn(2)
    models, history = fit_recurrent(
        texts, dev=dev, n_checkpoints=n_checkpoints, **settings, seed=for_training
    )
    writers = {step: checkpoint.annealed(temperature) for step, checkpoint in models.items()}
    written = sample_checkpoints(writers, [""] * n, model=model, seed=for_writing)
    loss = history.dropna(subset="checkpoint").set_index("checkpoint")["dev_loss"]
    return written.assign(perplexity=np.exp(loss.loc[written["progress"]].to_numpy()))


def sample_checkpoints(
    models: Mapping[float, RecurrentModel], contexts: Sequence[str], *, model: str, seed: Seed
) -> pd.DataFrame:
    """Sample an output from every checkpoint of a model for each context.

    For a model without contexts, pass empty strings. The table has the columns of ``outputs``, with
    one system per checkpoint (``MODEL@PROGRESS``), and model and progress, for
    `nlgbench.supervise`.
    """
    items = [f"i{number:05d}" for number in range(1, len(contexts) + 1)]
    tables = []
    seeds = np.random.default_rng(seed).spawn(len(models))
    for (progress, checkpoint), text_seed in zip(sorted(models.items()), seeds, strict=True):
        system = f"{model}@{progress:g}"
        table = pd.DataFrame({"output_id": [f"{system}_{item}" for item in items]})
        texts = checkpoint.respond(contexts, seed=text_seed)
        table = table.assign(item_id=items, system=system, text=texts)
        table = table.assign(is_human=False, context=list(contexts))
        tables.append(table.assign(model=model, progress=float(progress)))
    return pd.concat(tables, ignore_index=True)


def train_checkpoints(
    human: pd.DataFrame,
    to_score: pd.DataFrame,
    *,
    model: str,
    n: int = 150,
    epochs: int = 10,
    n_checkpoints: int = 10,
    units: int = 128,
    seed: Seed,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train a small language model on human texts, sample its checkpoints, and score outputs.

    `human` is an ``outputs`` table of training texts; if any has a context, the model is
    conditional, and `n` contexts are drawn. The first result is the table of `sample_checkpoints`;
    the second has the ``logprobs`` of `to_score` under the trained model, in the same order: sums
    over known words and the end of the text, which ``n_tokens`` counts.
    """
    for_model, for_contexts, for_texts = np.random.default_rng(seed).spawn(3)
    conditional = bool(human["context"].ne("").any())
    models, _ = fit_recurrent(
        [" ".join(text.split()) for text in human["text"]],
        human["context"].tolist() if conditional else None,
        epochs=epochs,
        n_checkpoints=n_checkpoints,
        units=units,
        min_count=2,  # words that occur in only one text are outside the vocabulary
        seed=for_model,
    )
    chosen = [""] * n
    if conditional:
        distinct = sorted(human["context"].unique())
        if n > len(distinct):
            raise ValueError(
                f"n = {n} contexts, but human outputs have only {len(distinct)}. Lower n."
            )
        rows = for_contexts.choice(len(distinct), n, replace=False)
        chosen = [distinct[row] for row in sorted(rows)]
    written = sample_checkpoints(models, chosen, model=model, seed=for_texts)
    nats, n_known = models[1.0].logprob_known(
        to_score["text"].tolist(), to_score["context"].tolist() if conditional else None
    )
    logprobs = to_score[["output_id"]].reset_index(drop=True)
    return written, logprobs.assign(model=model, logprob=nats, n_tokens=n_known)
