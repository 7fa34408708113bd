"""Systems that repeat what they have read: a memorizer, and BM25 retrieval on a context."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nlgbench.generators.grammar import Floats

_K1, _B = 1.2, 0.75  # of BM25, as Lucene and Solr have them


@dataclass(frozen=True, eq=False)
class Memorizer:
    """Repeats training sentences: uniform over them, each as often as it occurs."""

    training: tuple[str, ...]

    @cached_property
    def distribution(self) -> dict[str, float]:
        """Log-probability (nats) of each distinct sentence."""
        size = len(self.training)
        return {text: float(np.log(n / size)) for text, n in Counter(self.training).items()}

    def sample(self, n: int, *, seed: int | np.random.Generator) -> list[str]:
        """Draw `n` training sentences, with replacement."""
        rng = np.random.default_rng(seed)
        return [self.training[at] for at in rng.integers(len(self.training), size=n)]

    def logprob(self, texts: list[str]) -> Floats:
        """Give the exact log-probability of texts (nats); minus infinity if not in training."""
        return np.array([self.distribution.get(text, -np.inf) for text in texts])


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Answers a context with the training response whose own context is nearest by BM25.

    BM25 with k1 = 1.2, b = .75 and ``idf = ln(1 + (N - df + 1/2) / (df + 1/2))`` (Robertson and
    Zaragoza 2009, doi:10.1561/1500000019, in Lucene's form, which is never negative). Of equally
    relevant ones the first is taken, so the answer is a function of the context, and its
    log-probability given the context is 0; that of any other text is minus infinity.
    """

    contexts: tuple[str, ...]
    responses: tuple[str, ...]

    @cached_property
    def _weights(self) -> tuple[dict[str, int], Floats]:
        """What each word (row) of a query adds to the score of each context (column)."""
        documents = [context.split(" ") for context in self.contexts]
        index = {word: at for at, word in enumerate(sorted({w for d in documents for w in d}))}
        count = np.zeros((len(index), len(documents)))
        for column, document in enumerate(documents):
            for word in document:
                count[index[word], column] += 1
        df = (count > 0).sum(axis=1, keepdims=True)
        idf = np.log1p((len(documents) - df + 0.5) / (df + 0.5))
        length = count.sum(axis=0)
        norm = _K1 * (1 - _B + _B * length / length.mean())
        return index, idf * count * (_K1 + 1) / (count + norm)

    def respond(self, contexts: Sequence[str]) -> list[str]:
        """Answer contexts."""
        index, weights = self._weights
        answer = {}
        for context in dict.fromkeys(contexts):
            rows = [index[word] for word in context.split(" ") if word in index]
            answer[context] = self.responses[int(weights[rows].sum(axis=0).argmax())]
        return [answer[context] for context in contexts]

    def logprob(self, texts: Sequence[str], contexts: Sequence[str]) -> Floats:
        """Give the log-probability of texts given their contexts."""
        same = [text == told for text, told in zip(texts, self.respond(contexts), strict=True)]
        return np.where(same, 0.0, -np.inf)
