"""What a model wrote in the course of its training, as tidy tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.generators.recurrent import fit_recurrent
from nlgbench.generators.recurrent_model import RecurrentModel
from nlgbench.text import check_n


def sample_checkpoints(
    models: Mapping[float, RecurrentModel],
    *,
    model: str,
    dataset: str,
    n: int | None = None,
    contexts: Sequence[str] | None = None,
    seed: int | np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Let every checkpoint of a model write.

    Parameters
    ----------
    models : mapping of float to RecurrentModel
        By the share of training done, as from `recurrent.fit_recurrent`.
    model : str
        What the model is called.
    dataset : str
        What the outputs are filed under.
    n : int, optional
        Texts of each checkpoint, where the model takes no contexts.
    contexts : sequence of str, optional
        Where it takes them: each checkpoint answers each of them once.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        The ``outputs`` table, a system per checkpoint (``MODEL@PROGRESS``); and a row per
        checkpoint for `comparison_pairs.weak_pairs`: system, model, progress.

    Raises
    ------
    ValueError
        When there are no checkpoints, or not one of `n` and `contexts`.

    Examples
    --------
    >>> from nlgbench.generators.recurrent import fit_recurrent
    >>> texts = ["a b", "a c"] * 10
    >>> models, _ = fit_recurrent(texts, units=4, epochs=2, n_checkpoints=2, seed=0)
    >>> outputs, checkpoints = sample_checkpoints(models, model="m", dataset="d", n=3, seed=0)
    >>> checkpoints["system"].tolist(), len(outputs)
    (['m@0.5', 'm@1'], 6)
    """
    if not models:
        raise ValueError("models holds no checkpoint: pass what fit_recurrent returned first.")
    if (n is None) == (contexts is None):
        raise ValueError(
            "give n, how many texts each checkpoint writes, or contexts, which each answers; not "
            "both."
        )
    if n is not None:
        check_n(n, "n")
    about = [""] * n if n is not None else list(contexts or ())
    items = [f"i{number:05d}" for number in range(1, len(about) + 1)]
    parts, rows = [], []
    seeds = np.random.default_rng(seed).spawn(len(models))
    for (progress, at), own in zip(sorted(models.items()), seeds, strict=True):
        system = f"{model}@{progress:g}"
        texts = at.sample(n, seed=own) if n is not None else at.respond(about, seed=own)
        ids = [f"{system}_{item}" for item in items]
        part = pd.DataFrame({"dataset": dataset, "output_id": ids, "item_id": items})
        parts.append(part.assign(system=system, text=texts, is_human=False, context=about))
        rows.append({"system": system, "model": model, "progress": float(progress)})
    return tables.check(pd.concat(parts), "outputs"), pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Workshop:
    """A model that was trained to write, and what comes of it.

    Attributes
    ----------
    written, checkpoints : DataFrame
        As from `sample_checkpoints`.
    logprobs : DataFrame
        The ``logprobs`` table of the outputs that were to be read, under the trained model: of
        their known words and ends, which ``n_tokens`` counts.
    history : DataFrame
        As from `recurrent.fit_recurrent`.
    """

    written: pd.DataFrame
    checkpoints: pd.DataFrame
    logprobs: pd.DataFrame
    history: pd.DataFrame


def train_and_write(
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
    >>> row = {"dataset": "d", "item_id": "1", "system": "human", "is_human": True, "context": ""}
    >>> human = pd.DataFrame([{**row, "output_id": str(n), "text": t}
    ...                       for n, t in enumerate(["a b", "a c"] * 10)])
    >>> found = train_and_write(human, human[:1].assign(text="a z"), model="m", n=2, units=4,
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
    if conditional:
        distinct = sorted(human["context"].unique())
        if n > len(distinct):
            raise ValueError(
                f"n = {n} contexts to answer, but human outputs have {len(distinct)}: lower n."
            )
        chosen = for_contexts.choice(len(distinct), n, replace=False)
        contexts = [distinct[at] for at in sorted(chosen)]
        written, checkpoints = sample_checkpoints(
            models,
            model=model,
            dataset=human["dataset"].iloc[0],
            contexts=contexts,
            seed=for_texts,
        )
    else:
        written, checkpoints = sample_checkpoints(
            models, model=model, dataset=human["dataset"].iloc[0], n=n, seed=for_texts
        )
    nats, n_known = models[1.0].logprob_known(
        to_read["text"].tolist(), to_read["context"].tolist() if conditional else None
    )
    logprobs = to_read[["dataset", "output_id"]].assign(model=model, logprob=nats, n_tokens=n_known)
    return Workshop(written, checkpoints, tables.check(logprobs, "logprobs"), history)
