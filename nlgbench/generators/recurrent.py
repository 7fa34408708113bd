"""A small recurrent language model, with or without context, with exact probabilities."""

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.generators import sampling
from nlgbench.generators.grammar import sharpened
from nlgbench.text import check_texts, tokenize
from nlgbench.training import Batch, fit, seeded, torch

NONE = -1  # no target: padding, or a word outside the vocabulary
_MAX_NORM = 5.0  # gradient norm for clipping
_ROWS, _DRAWN = 32, 1000  # batch sizes for scoring and sampling, which limit memory


class Network(torch.nn.Module):
    """Compute the logits of each next word, and of the end (last), from the previous words.

    Input indexes: the words, the end (which is also the start), and the unknown word.
    """

    def __init__(self, n_words: int, n_context_words: int | None, units: int, dropout: float):
        super().__init__()
        self.end = n_words
        self.units = units
        self.embed = torch.nn.Embedding(n_words + 2, units)
        self.recur = torch.nn.LSTM(units, units, batch_first=True)
        self.drop = torch.nn.Dropout(dropout)
        self.weigh = torch.nn.Linear(units, n_words + 1)
        self.read = None
        if n_context_words is not None:
            self.embed_context = torch.nn.Embedding(n_context_words + 2, units)
            self.read = torch.nn.LSTM(units, units, batch_first=True)

    def start(self, source: torch.Tensor) -> torch.Tensor:
        """Return the states before the first word: zero, or the last states of the context."""
        if self.read is None:
            return self.weigh.weight.new_zeros(len(source), 2, self.units)
        lengths = (source != NONE).sum(dim=1)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            self.drop(self.embed_context(source.clamp(min=0))),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        _, (hidden, cell) = self.read(packed)
        return torch.stack([hidden[0], cell[0]], dim=1)

    def forward(
        self, state: torch.Tensor, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the inputs of `weigh` after each word, and the last states."""
        hidden, cell = state.transpose(0, 1)[:, None].contiguous()
        steps, (hidden, cell) = self.recur(self.drop(self.embed(tokens)), (hidden, cell))
        return self.drop(steps), torch.stack([hidden[0], cell[0]], dim=1)

    def forced(
        self, source: torch.Tensor, tokens: torch.Tensor, places: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits of given texts at the marked positions, row by row."""
        before = torch.cat([torch.full_like(tokens[:, :1], self.end), tokens[:, :-1]], dim=1)
        steps, _ = self(self.start(source), before)
        logits = self.weigh(steps[places])
        logits[places.nonzero()[:, 1] == 0, self.end] = -torch.inf  # texts are never empty
        return logits


def text_indexes(
    texts: Sequence[Sequence[str]], index: dict[str, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return word indexes with padding, and targets (`NONE` if missing)."""
    end = len(index)
    tokens = torch.full((len(texts), max(map(len, texts)) + 1), end)
    targets = torch.full_like(tokens, NONE)
    for row, text in enumerate(texts):
        indexes = torch.tensor([index.get(word, end + 1) for word in text])
        tokens[row, : len(text)] = indexes
        targets[row, : len(text)] = torch.where(indexes > end, NONE, indexes)
        targets[row, len(text)] = end
    return tokens, targets


def context_indexes(contexts: Sequence[str], vocabulary: Sequence[str] | None) -> torch.Tensor:
    """Return the word indexes of contexts, each followed by an end, with padding."""
    index = {word: number for number, word in enumerate(vocabulary or ())}
    split = [[index.get(word, len(index) + 1) for word in tokenize(text)] for text in contexts]
    tokens = torch.full((len(split), max(map(len, split), default=0) + 1), NONE)
    for row, indexes in enumerate(split):
        tokens[row, : len(indexes) + 1] = torch.tensor([*indexes, len(index)])
    return tokens


@dataclass(frozen=True, eq=False)
class RecurrentModel:
    """A trained model and its decoding settings, fitted by `fit_recurrent`."""

    #: Closed vocabularies. A text with a word outside `vocabulary` has probability 0; contexts may
    #: have any word. `context_vocabulary` is None for a model without contexts.
    vocabulary: tuple[str, ...] = field(repr=False)
    context_vocabulary: tuple[str, ...] | None = field(repr=False)
    #: In double precision, so that truncation keeps the same words in every batch.
    network: Network = field(repr=False)
    max_length: int  # maximum number of words; then the text ends
    #: Transformations of each step's distribution, always applied in this order.
    temperature: float = 1.0
    nucleus: float = 1.0

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary)}

    def _decode(self, logits: Floats, n_written: Ints) -> Floats:
        """Return log-probabilities under the decoding settings, for sampling and scoring."""
        logits = logits.copy()
        logits[n_written == 0, -1] = -np.inf
        logits[n_written >= self.max_length, :-1] = -np.inf
        return sampling.truncated(sharpened(logits, self.temperature), self.nucleus)

    def _step(self, state: Any, last: Ints, n_written: int) -> tuple[Floats, Any]:
        with seeded(0), torch.no_grad():
            steps, state = self.network(state, torch.from_numpy(last)[:, None])
            logits = self.network.weigh(steps[:, 0]).numpy()
        return self._decode(logits, np.full(len(last), n_written)), state

    def _start(self, contexts: Sequence[str]) -> torch.Tensor:
        with seeded(0), torch.no_grad():
            return self.network.start(context_indexes(contexts, self.context_vocabulary))

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample texts from a model without contexts."""
        return self.respond([""] * n, seed=seed)

    def respond(self, contexts: Sequence[str], *, seed: Seed) -> list[str]:
        """Sample a text for each context; contexts are ignored by a model without them."""
        rng = np.random.default_rng(seed)
        written = []
        for states in self._start(contexts).split(_DRAWN):
            n, end = len(states), len(self.vocabulary)
            written += sampling.draw_texts(self._step, states, n=n, end=end, seed=rng)
        return [" ".join(self.vocabulary[word] for word in text) for text in written]

    def logprob(self, texts: Sequence[str], contexts: Sequence[str] | None = None) -> Floats:
        """Compute the exact log-probability of texts under the decoding settings."""
        split = [text.split(" ") for text in texts]
        possible = [row for row, text in enumerate(split) if self._index.keys() >= set(text)]
        return self._forced(split, contexts, possible)

    def logprob_known(
        self, texts: Sequence[str], contexts: Sequence[str] | None = None
    ) -> tuple[Floats, Ints]:
        """Sum the log-probabilities of the known words of each text, given all previous words.

        Unknown words are read but never predicted, so a text with many of them may look probable.
        Report the share of known words, and compare only models with the same vocabulary.
        """
        split = [tokenize(text) for text in texts]
        nats = self._forced(split, contexts, range(len(split)))
        n_known = [1 + sum(word in self._index for word in text) for text in split]
        return nats, np.array(n_known, dtype=np.int64)

    def _forced(
        self, split: Sequence[Sequence[str]], contexts: Sequence[str] | None, rows: Iterable[int]
    ) -> Floats:
        """Sum the nats of known words and ends in the given rows; minus infinity elsewhere."""
        source = context_indexes(contexts or [""] * len(split), self.context_vocabulary)
        total = np.full(len(split), -np.inf)
        possible = [row for row in rows if 1 <= len(split[row]) <= self.max_length]
        possible.sort(key=lambda row: len(split[row]))
        for first in range(0, len(possible), _ROWS):
            batch = possible[first : first + _ROWS]
            tokens, targets = text_indexes([split[row] for row in batch], self._index)
            places = targets != NONE
            with seeded(0), torch.no_grad():
                logits = self.network.forced(source[batch], tokens, places).numpy()
            row, n_written = places.nonzero().numpy().T
            nats = self._decode(logits, n_written)[np.arange(len(row)), targets[places].numpy()]
            total[batch] = np.bincount(row, weights=nats)
        return total

    def annealed(self, temperature: float) -> "RecurrentModel":
        """Anneal each step: p to the power of 1/t, normalized. Temperatures multiply."""
        return replace(self, temperature=self.temperature * temperature)

    def truncated(self, nucleus: float) -> "RecurrentModel":
        """Truncate each step (`sampling.truncated`); this replaces an earlier truncation."""
        return replace(self, nucleus=nucleus)


def _split_texts(texts: Sequence[str], name: str) -> list[list[str]]:
    split = [tokenize(text) for text in check_texts(texts, name)]
    if not all(split):
        raise ValueError(f"{name}[{split.index([])}] has no word. Remove empty texts.")
    return split


def _vocabulary(texts: Sequence[Sequence[str]], min_count: int) -> tuple[str, ...]:
    counts = Counter(word for text in texts for word in set(text))
    return tuple(sorted(word for word in counts if counts[word] >= min_count))


def _loss(network: Network, batch: Batch) -> torch.Tensor:
    """Return nats per target, with rows weighted by one over the mean number of targets."""
    source, tokens, targets, weight = batch
    longest = int((tokens != network.end).sum(dim=1).max()) + 1
    places = targets[:, :longest] != NONE
    logits = network.forced(source, tokens[:, :longest], places)
    nats = torch.nn.functional.cross_entropy(logits, targets[:, :longest][places], reduction="none")
    return nats @ weight[places.nonzero()[:, 0]] / len(weight)


def _data(
    texts: Sequence[Sequence[str]],
    contexts: Sequence[str] | None,
    vocabulary: Sequence[str],
    context_vocabulary: Sequence[str] | None,
) -> Batch:
    """Return the inputs of `_loss`, with equal numbers of rows."""
    tokens, targets = text_indexes(texts, {word: number for number, word in enumerate(vocabulary)})
    contexts = [""] * len(texts) if contexts is None else contexts
    source = context_indexes(contexts, context_vocabulary)
    n_targets = (targets != NONE).sum() / len(texts)
    return source, tokens, targets, torch.full((len(texts),), 1 / float(n_targets))


def fit_recurrent(
    texts: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    dev: Sequence[str] | None = None,
    epochs: int = 20,
    n_checkpoints: int = 1,
    min_count: int = 1,
    units: int = 128,
    dropout: float = 0.2,
    batch_size: int = 32,
    learning_rate: float = 2e-3,
    seed: Seed,
) -> tuple[dict[float, RecurrentModel], pd.DataFrame]:
    """Train a recurrent language model, with checkpoints at equal intervals.

    One LSTM layer generates the text; a second one reads the context and provides the initial state
    (Sutskever, Vinyals and Le 2014, arXiv:1409.3215). Training uses Adam with the gradient norm
    clipped at 5. Words outside the vocabulary are read as one unknown word, but not predicted or
    counted in the losses: ``exp(dev_loss)`` is a perplexity over known words.
    """
    split = _split_texts(texts, "texts")
    vocabulary = _vocabulary(split, min_count)
    if not vocabulary:
        raise ValueError(f"no word occurs in {min_count} of {len(split)} texts. Lower min_count.")
    context_vocabulary = None
    if contexts is not None:
        context_vocabulary = _vocabulary([tokenize(context) for context in contexts], min_count)
    data = _data(split, contexts, vocabulary, context_vocabulary)
    held_out = None if dev is None else _data(_split_texts(dev, "dev"), None, vocabulary, None)
    longest = max(map(len, split))
    number = int(np.random.default_rng(seed).integers(2**31))
    with seeded(number):
        n_context_words = None if context_vocabulary is None else len(context_vocabulary)
        network = Network(len(vocabulary), n_context_words, units, dropout)
    models: dict[float, RecurrentModel] = {}

    def save_checkpoint(row: dict[str, float]) -> None:
        passed = row["epoch"] * n_checkpoints
        if passed % epochs == 0:
            frozen = copy.deepcopy(network).double().eval()
            models[passed / epochs / n_checkpoints] = RecurrentModel(
                vocabulary, context_vocabulary, frozen, 2 * longest
            )

    history = fit(
        network,
        data,
        loss=_loss,
        dev=held_out,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        max_norm=_MAX_NORM,
        seed=number,
        progress=save_checkpoint,
    )
    epoch = history["epoch"] / epochs
    history["checkpoint"] = epoch.where(epoch.isin(models))
    return models, history.drop(columns="is_kept")
