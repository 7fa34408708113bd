"""What a model wrote in the course of its training, as tidy tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgbench import schema
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
    """Let every checkpoint of a model write."""
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
    return schema.check(pd.concat(parts), "outputs"), pd.DataFrame(rows)
