"""N-gram language models with exact log-probabilities."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.generators.grammar import sharpened
from nlgbench.generators.sampling import draw_texts

_START = -1


@dataclass(frozen=True, eq=False)
class NgramModel:
    """A smoothed n-gram model, fitted by `fit_ngram`."""

    order: int  # 2 for a bigram model, 3 for a trigram model
    vocabulary: tuple[str, ...]  # closed vocabulary; a text with another word has probability 0
    #: Row of `logprobs` for each history seen in training (word indexes, -1 for the start). A
    #: history's state is its longest known suffix; the empty suffix is always known.
    states: dict[tuple[int, ...], int]
    logprobs: Floats  # of each next word; the last column is the end

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.vocabulary)}

    def _state(self, history: tuple[int, ...]) -> tuple[int, ...]:
        while history not in self.states:
            history = history[1:]
        return history

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample sentences."""
        histories = np.empty(n, dtype=object)
        histories[:] = [(_START,) * (self.order - 1)] * n

        def step(state: Any, tokens: Ints, n_written: int) -> tuple[Floats, Any]:
            if n_written:
                for text, word in enumerate(tokens.tolist()):
                    state[text] = self._state((*state[text], word)[-(self.order - 1) :])
            return self.logprobs[[self.states[history] for history in state]], state

        written = draw_texts(step, histories, n=n, end=len(self.vocabulary), seed=seed)
        return [" ".join(self.vocabulary[word] for word in text) for text in written]

    def logprob(self, texts: list[str]) -> Floats:
        """Compute the exact log-probability of texts."""
        end = len(self.vocabulary)
        text_at, rows, columns = [], [], []
        unknown = np.zeros(len(texts), dtype=bool)
        for number, text in enumerate(texts):
            tokens = [self._index.get(word, -1) for word in text.split(" ")]
            unknown[number] = -1 in tokens
            state = (_START,) * (self.order - 1)
            for word in () if unknown[number] else (*tokens, end):
                text_at.append(number)
                rows.append(self.states[state])
                columns.append(word)
                state = self._state((*state, word)[-(self.order - 1) :])
        total = np.bincount(
            np.array(text_at, dtype=np.int64),
            weights=self.logprobs[np.array(rows, dtype=np.int64), columns],
            minlength=len(texts),
        )
        return np.where(unknown, -np.inf, total)

    def annealed(self, temperature: float) -> "NgramModel":
        """Anneal each step: p to the power of 1/t, normalized over the vocabulary."""
        return replace(self, logprobs=sharpened(self.logprobs, temperature))


def fit_ngram(texts: list[str], order: int) -> NgramModel:
    """Fit an n-gram model with Witten-Bell smoothing.

    For a history h with c occurrences, followed by t different words, ``p(w | h) = (c(h, w) + t p(w
    | h')) / (c + t)``, where h' is h without its first word; unigrams are smoothed with the uniform
    distribution over vocabulary and end (Chen and Goodman 1999, section 2.5,
    doi:10.1006/csla.1999.0128). No sentence is empty: at the start, the end has probability 0.
    """
    vocabulary = tuple(sorted({word for text in texts for word in text.split(" ")}))
    index = {word: number for number, word in enumerate(vocabulary)}
    end = len(vocabulary)
    counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    start = (_START,) * (order - 1)
    for text in texts:
        tokens = (*start, *(index[word] for word in text.split(" ")), end)
        for position in range(order - 1, len(tokens)):
            for length in range(order):
                counts[tokens[position - length : position]][tokens[position]] += 1
    states = {history: row for row, history in enumerate(sorted(counts, key=len))}
    probs = np.empty((len(states), len(vocabulary) + 1))
    for history, row in states.items():
        lower = probs[states[history[1:]]] if history else np.full(end + 1, 1 / (end + 1))
        followers = counts[history]
        probs[row] = len(followers) * lower
        probs[row, list(followers)] += list(followers.values())
        probs[row] /= sum(followers.values()) + len(followers)
    logprobs = np.log(probs)
    logprobs[states[start], end] = -np.inf
    return NgramModel(order, vocabulary, states, sharpened(logprobs, 1.0))
