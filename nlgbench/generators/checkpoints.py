"""What a model wrote in the course of its training, as tidy tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.recurrent_model import RecurrentModel
from nlgbench.text import check_n


def sample_checkpoints(
    models: Mapping[float, RecurrentModel],
    *,
    model: str,
    n: int | None = None,
    contexts: Sequence[str] | None = None,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Let every checkpoint of a model write.

    Parameters
    ----------
    models : mapping of float to RecurrentModel
        By the share of training done, as from `recurrent.fit_recurrent`.
    model : str
        What the model is called.
    n : int, optional
        Texts of each checkpoint, where the model takes no contexts.
    contexts : sequence of str, optional
        Where it takes them: each checkpoint answers each of them once.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per text: the columns of ``outputs``, a system per checkpoint (``MODEL@PROGRESS``),
        and model and progress, as `nlgbench.supervise` takes them.

    Raises
    ------
    ValueError
        When there are no checkpoints, or not one of `n` and `contexts`.

    Examples
    --------
    >>> from nlgbench.generators.recurrent import fit_recurrent
    >>> texts = ["a b", "a c"] * 10
    >>> models, _ = fit_recurrent(texts, units=4, epochs=2, n_checkpoints=2, seed=0)
    >>> written = sample_checkpoints(models, model="m", n=3, seed=0)
    >>> written["system"].unique().tolist(), len(written)
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
    parts = []
    seeds = np.random.default_rng(seed).spawn(len(models))
    for (progress, at), own in zip(sorted(models.items()), seeds, strict=True):
        system = f"{model}@{progress:g}"
        texts = at.sample(n, seed=own) if n is not None else at.respond(about, seed=own)
        ids = [f"{system}_{item}" for item in items]
        part = pd.DataFrame({"output_id": ids, "item_id": items, "system": system, "text": texts})
        part = part.assign(is_human=False, context=about)
        parts.append(part.assign(model=model, progress=float(progress)))
    return pd.concat(parts, ignore_index=True)
