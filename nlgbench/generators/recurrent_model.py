"""A recurrent language model, with or without a context, and its exact log-probabilities."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from nlgbench.generators import sampling
from nlgbench.generators.grammar import Floats, Ints, sharpened
from nlgbench.text import tokenize
from nlgbench.training import seeded, torch

NONE = -1  # no target: past the end, or a word outside the vocabulary
_ROWS, _DRAWN = 32, 1000  # texts scored, drawn at a time: each word's distribution takes memory


class Network(torch.nn.Module):
    """Give the logits of each next word, then of the end, from the words before.

    Input indexes: the words, then the end (which is also the start), then any unknown word.
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
        """Return the states before the first word: zero, or what is left of reading the context."""
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
        self, state: torch.Tensor, words: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `weigh` turns into logits, after each of the words, and the last states."""
        hidden, cell = state.transpose(0, 1)[:, None].contiguous()
        steps, (hidden, cell) = self.recur(self.drop(self.embed(words)), (hidden, cell))
        return self.drop(steps), torch.stack([hidden[0], cell[0]], dim=1)

    def forced(
        self, source: torch.Tensor, tokens: torch.Tensor, places: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits at some places, row by row, of texts that are given."""
        before = torch.cat([torch.full_like(tokens[:, :1], self.end), tokens[:, :-1]], dim=1)
        steps, _ = self(self.start(source), before)
        logits = self.weigh(steps[places])
        logits[places.nonzero()[:, 1] == 0, self.end] = -torch.inf  # no text is empty
        return logits


def text_indexes(
    texts: Sequence[Sequence[str]], index: dict[str, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn words into indexes."""
    end = len(index)
    tokens = torch.full((len(texts), max(map(len, texts)) + 1), end)
    targets = torch.full_like(tokens, NONE)
    for row, words in enumerate(texts):
        known = torch.tensor([index.get(word, end + 1) for word in words])
        tokens[row, : len(words)] = known
        targets[row, : len(words)] = torch.where(known > end, NONE, known)
        targets[row, len(words)] = end
    return tokens, targets


def context_indexes(contexts: Sequence[str], words: Sequence[str] | None) -> torch.Tensor:
    """Turn contexts into indexes."""
    index = {word: at for at, word in enumerate(words or ())}
    split = [[index.get(word, len(index) + 1) for word in tokenize(text)] for text in contexts]
    tokens = torch.full((len(split), max(map(len, split), default=0) + 1), NONE)
    for row, known in enumerate(split):
        tokens[row, : len(known) + 1] = torch.tensor([*known, len(index)])
    return tokens


@dataclass(frozen=True, eq=False)
class RecurrentModel:
    """A trained model, and how it is decoded; `fit_recurrent` makes one."""

    #: The closed vocabularies. A text with a word outside `words` has probability 0; contexts may
    #: hold any word. `context_words` is None where the model takes no context.
    words: tuple[str, ...] = field(repr=False)
    context_words: tuple[str, ...] | None = field(repr=False)
    #: In double precision, so that a word on the edge of a truncated distribution is on the same
    #: side whatever the batch.
    network: Network = field(repr=False)
    max_length: int  # words after which the end is certain
    #: What is done to each step's distribution, in this order whatever the order of the calls.
    temperature: float = 1.0
    nucleus: float = 1.0

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: at for at, word in enumerate(self.words)}

    def _decided(self, logits: Floats, n_written: Ints) -> Floats:
        """Return the log-probabilities in force: the one place for sampling and for scoring."""
        logits = logits.copy()
        logits[n_written == 0, -1] = -np.inf
        logits[n_written >= self.max_length, :-1] = -np.inf
        return sampling.truncated(sharpened(logits, self.temperature), self.nucleus)

    def _step(self, state: Any, words: Ints, n_written: int) -> tuple[Floats, Any]:
        with seeded(0), torch.no_grad():
            steps, state = self.network(state, torch.from_numpy(words)[:, None])
            logits = self.network.weigh(steps[:, 0]).numpy()
        return self._decided(logits, np.full(len(words), n_written)), state

    def _start(self, contexts: Sequence[str] | None, n: int) -> torch.Tensor:
        with seeded(0), torch.no_grad():
            return self.network.start(self._sources(contexts, n))

    def _sources(self, contexts: Sequence[str] | None, n: int) -> torch.Tensor:
        return context_indexes([""] * n if contexts is None else contexts, self.context_words)

    def sample(self, n: int, *, seed: int | np.random.Generator) -> list[str]:
        """Draw texts from a model without context."""
        return self._drawn(self._start(None, n), n, seed)

    def respond(self, contexts: Sequence[str], *, seed: int | np.random.Generator) -> list[str]:
        """Draw a text for each context."""
        return self._drawn(self._start(contexts, len(contexts)), len(contexts), seed)

    def _drawn(self, state: torch.Tensor, n: int, seed: int | np.random.Generator) -> list[str]:
        rng = np.random.default_rng(seed)
        drawn = []
        for part in state.split(_DRAWN) if n else ():
            drawn += sampling.draw(self._step, part, n=len(part), end=len(self.words), seed=rng)
        return [" ".join(self.words[word] for word in text) for text in drawn]

    def logprob(self, texts: Sequence[str], contexts: Sequence[str] | None = None) -> Floats:
        """Give the exact log-probability of texts under the decoding in force."""
        split = [text.split(" ") for text in texts]
        known = [row for row, words in enumerate(split) if self._index.keys() >= set(words)]
        return self._forced(split, self._sources(contexts, len(split)), known)

    def logprob_known(
        self, texts: Sequence[str], contexts: Sequence[str] | None = None
    ) -> tuple[Floats, Ints]:
        """Give the log-probability of texts' known words, each after all words before it.

        As in training: an unknown word is read, never predicted. So this is no probability of the
        text, and one of many unknown words may look likely: say what share of words was known,
        and compare only within one vocabulary.
        """
        split = [tokenize(text) for text in texts]
        nats = self._forced(split, self._sources(contexts, len(split)), range(len(split)))
        n_known = [1 + sum(word in self._index for word in words) for words in split]
        return nats, np.array(n_known, dtype=np.int64)

    def _forced(
        self, split: Sequence[Sequence[str]], source: torch.Tensor, rows: Iterable[int]
    ) -> Floats:
        """Return the nats of known words and ends in some rows; minus infinity in others."""
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
            found = self._decided(logits, n_written)[np.arange(len(row)), targets[places].numpy()]
            total[batch] = np.bincount(row, weights=found)
        return total

    def annealed(self, temperature: float) -> "RecurrentModel":
        """Sharpen each step: p to the power of 1/t, normalized. Temperatures multiply."""
        return replace(self, temperature=self.temperature * temperature)

    def truncated(self, nucleus: float) -> "RecurrentModel":
        """Keep each step's most probable words, as `sampling.truncated`; replaces a former cut."""
        return replace(self, nucleus=nucleus)
