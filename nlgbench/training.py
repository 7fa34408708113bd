"""The training loop of all torch models: seeded, single-threaded, with early stopping."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files

try:
    import safetensors.torch
    import torch
except ImportError as error:
    raise ImportError(
        f"Neural models need torch and safetensors, but {error.name} is not installed: "
        "pip install 'nlgbench[neural]'"
    ) from error

Batch = tuple[torch.Tensor, ...]
Loss = Callable[[Any, Batch], torch.Tensor]

_MARK = "nlgbench"


@contextmanager
def seeded(seed: int | np.random.Generator) -> Iterator[torch.Generator]:
    """Make torch's random numbers in the block depend only on `seed`; then restore its state."""
    number = int(np.random.default_rng(seed).integers(2**62))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            # `torch.manual_seed` formats the call stack for each absent kind of device.
            torch.default_generator.manual_seed(number)
            yield torch.Generator().manual_seed(number)
    finally:
        torch.set_num_threads(before)


def fit(
    model: torch.nn.Module,
    data: Sequence[torch.Tensor],
    *,
    loss: Loss,
    dev: Sequence[torch.Tensor] | None = None,
    epochs: int,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.0,
    one_cycle: bool = False,
    max_norm: float | None = None,
    patience: int | None = None,
    seed: int | np.random.Generator,
    progress: Callable[[dict[str, float]], object] | None = None,
) -> pd.DataFrame:
    """Train a model in place, with Adam."""
    n = len(data[0])
    if epochs < 1 or not learning_rate > 0:
        raise ValueError(
            f"epochs must be at least 1, and learning_rate above 0. Got {epochs}, {learning_rate}."
        )
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    cycle = None
    if one_cycle:
        steps = epochs * -(-n // batch_size)
        cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    rows: list[dict[str, float]] = []
    best, at_best = float("inf"), 0
    weights: dict[str, torch.Tensor] = {}
    with seeded(seed) as order:
        for epoch in range(1, epochs + 1):
            model.train()
            total = 0.0
            for chosen in torch.randperm(n, generator=order).split(batch_size):
                optimizer.zero_grad()
                value = loss(model, tuple(tensor[chosen] for tensor in data))
                value.backward()
                if max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                optimizer.step()
                if cycle is not None:
                    cycle.step()
                total += value.item() * len(chosen)
            row = {"epoch": epoch, "train_loss": total / n, "dev_loss": float("nan")}
            if dev is not None:
                row["dev_loss"] = _mean_loss(model, dev, loss, batch_size)
            if not np.isfinite(row["train_loss"]) or (dev and not np.isfinite(row["dev_loss"])):
                raise FloatingPointError(
                    f"the loss is not finite in epoch {epoch} ({row}): lower learning_rate "
                    f"(now {learning_rate}), or set max_norm."
                )
            rows.append(row)
            if progress is not None:
                progress(dict(row))
            if dev is None:
                at_best = epoch
            elif row["dev_loss"] < best:
                best, at_best, weights = row["dev_loss"], epoch, _state(model)
            elif patience is not None and epoch - at_best >= patience:
                break
    if dev is not None:
        model.load_state_dict(weights)
    model.eval()
    history = pd.DataFrame(rows)
    return history.assign(is_kept=history["epoch"] == at_best)


def predict(
    model: torch.nn.Module,
    data: Sequence[torch.Tensor],
    *,
    batch_size: int = 256,
) -> torch.Tensor:
    """Call a model on batches, without dropout or gradients."""
    model.eval()
    with seeded(0), torch.no_grad():
        batches = torch.arange(len(data[0])).split(batch_size)
        return torch.cat([model(*(tensor[rows] for tensor in data)) for rows in batches])


def _mean_loss(
    model: torch.nn.Module, data: Sequence[torch.Tensor], loss: Loss, batch_size: int
) -> float:
    model.eval()
    n = len(data[0])
    with torch.no_grad():
        return sum(
            loss(model, tuple(tensor[rows] for tensor in data)).item() * len(rows) / n
            for rows in torch.arange(n).split(batch_size)
        )


def _state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Copy the weights, because safetensors rejects tensors that share memory."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def digest(tensors: dict[str, torch.Tensor]) -> str:
    """Hash tensors."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().contiguous()
        total.update(json.dumps([name, str(values.dtype), list(values.shape)]).encode())
        total.update(values.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def save(model: torch.nn.Module, path: str | os.PathLike, settings: dict[str, Any]) -> None:
    """Save weights as safetensors, and replace an existing file atomically.

    To reuse a trained model, store in `settings` all that training depends on (options, seed, and
    the `digest` of the data and of initial weights). Train again if `load` returns other settings.
    """
    state = _state(model)
    written = {_MARK: json.dumps(settings, sort_keys=True), "digest": digest(state)}
    files.replace(
        Path(path), lambda aside: safetensors.torch.save_file(state, aside, metadata=written)
    )


def load(path: str | os.PathLike) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read weights, for ``model.load_state_dict``, and the settings that `save` wrote."""
    fix = "delete it, and train again"
    try:
        with safetensors.safe_open(path, framework="pt") as opened:
            written = opened.metadata() or {}
            state = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is not a complete safetensors file ({error}): {fix}.") from error
    if _MARK not in written:
        raise ValueError(f"{path} was not saved by nlgbench: pass another path.")
    files.note_read(Path(path))
    if written.get("digest") != digest(state):
        raise ValueError(f"{path} has changed since it was saved: {fix}.")
    return state, json.loads(written[_MARK])
