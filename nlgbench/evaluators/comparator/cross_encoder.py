"""A comparator that is a pretrained encoder fine-tuned whole: it reads both texts at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.evaluators.comparator.backends import Ints, Predict, sides
from nlgbench.evaluators.comparator.encoder import LONGEST, Encoder, build_model, import_extra
from nlgbench.training import Batch, fit, predict, seeded, torch

_RATE = 5e-5


def fit_cross_encoder(
    encoder: Encoder,
    rows: pd.DataFrame,
    labels: Ints,
    stages: Sequence[Ints],
    *,
    seed: int,
    progress: Callable[[dict[str, float]], object] | None = None,
) -> Predict:
    """Fine-tune the whole encoder as a classifier of a text, or of two.

    Parameters
    ----------
    encoder, rows, labels, stages, seed, progress
        As in `encoder.fit_frozen`; each stage is one epoch.

    Returns
    -------
    callable
        As `encoder.fit_frozen`.

    Notes
    -----
    Zhou and Xu (2020, section 3.1): the encoder's classifier of sentence pairs reads context and
    text of the one side, and those of the other. Adam with rate 5e-5, batches of 32, each side cut
    to its last 128 tokens, so that a long context gives way to the text.
    """
    transformers = import_extra("transformers")
    kind = transformers.AutoModelForSequenceClassification
    with seeded(seed if encoder.pretrained else encoder.seed):
        model = build_model(
            kind, encoder.folder, encoder.pretrained, num_labels=int(labels.max()) + 1
        )

    def tokens(rows: pd.DataFrame) -> list[torch.Tensor]:
        return _tokens(encoder.tokenizer, rows)

    network = _Classifier(model)

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        *inputs, label = batch
        return torch.nn.functional.cross_entropy(model(*inputs), label)

    data = [*tokens(rows), torch.tensor(labels)]
    for number, stage in enumerate(stages):
        fit(
            network,
            [tensor[torch.tensor(stage)] for tensor in data],
            loss=loss,
            epochs=1,
            batch_size=32,
            learning_rate=_RATE,
            max_norm=1.0,
            seed=seed + number,
            progress=progress,
        )
    return lambda rows: (
        predict(network, tokens(rows), batch_size=64).double().softmax(dim=1).numpy()
    )


class _Classifier(torch.nn.Module):
    """Call a model of transformers with tensors in a fixed order, cut to the longest row."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
        longest = int(mask.sum(dim=1).max())
        ids, mask, segment = (each[:, :longest] for each in (ids, mask, segment))
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=segment).logits


def _tokens(tokenizer: Any, rows: pd.DataFrame) -> list[torch.Tensor]:
    """Return token ids, mask and segments: [CLS] context text [SEP] context text [SEP]."""
    start, end, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    texts, places = sides(rows)
    joined = (texts["context"] + " " + texts["text"]).tolist()
    found = tokenizer(joined, add_special_tokens=False, verbose=False)["input_ids"]
    cut = [each[-LONGEST:] for each in found]
    shape = (len(rows), 1 + (LONGEST + 1) * len(places))
    ids, segment = np.full(shape, padding, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    for row, sides_of_row in enumerate(zip(*places, strict=True)):
        line, part = [start], [0]
        for number, at in enumerate(sides_of_row):
            line += [*cut[at], end]
            part += [number] * (len(cut[at]) + 1)
        ids[row, : len(line)], segment[row, : len(line)], mask[row, : len(line)] = line, part, 1
    return [torch.from_numpy(each) for each in (ids, mask, segment)]
