"""The systems of the simulated reviews, from perfect to poor."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from nlgbench.arrays import Floats, Seed
from nlgbench.generators.grammar import Corrupted
from nlgbench.generators.language_model import fit_ngram
from nlgbench.generators.reviews import review_grammar
from nlgbench.names import known

_N_TRAINING = 5000  # shared pool; each trained system uses its first sentences
_N_MODEL = 2000
_LEAK = 0.08
_SETTINGS: dict[str, tuple[float, ...]] = {
    "grammar_t": (1.0, 0.9, 0.7, 0.5),
    "leaky_t": (1.0, 0.9, 0.7, 0.5),
    "memorizer_": (50, 500, 5000),
    "corrupted_": (0.1, 0.3, 0.5),
    "bigram_t": (1.0, 0.7, 0.5),
    "trigram_t": (1.0, 0.7, 0.5),
}
_NAMED = {f"{kind}{value}": (kind, value) for kind in _SETTINGS for value in _SETTINGS[kind]}

#: Names of the systems.
REVIEW_SYSTEMS: tuple[str, ...] = tuple(_NAMED)


class System(Protocol):
    """A generator of texts that computes the exact log-probability (nats) of any text."""

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample independent texts."""

    def logprob(self, texts: list[str]) -> Floats:
        """Return log-probabilities; minus infinity outside the support."""


@dataclass(frozen=True, eq=False)
class Memorizer:
    """A system that repeats training sentences, each in proportion to its frequency."""

    training: tuple[str, ...]

    @cached_property
    def distribution(self) -> dict[str, float]:
        """Log-probability (nats) of each distinct sentence."""
        size = len(self.training)
        return {text: float(np.log(n / size)) for text, n in Counter(self.training).items()}

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample `n` training sentences with replacement."""
        rng = np.random.default_rng(seed)
        return [self.training[row] for row in rng.integers(len(self.training), size=n)]

    def logprob(self, texts: list[str]) -> Floats:
        """Compute the exact log-probability of texts (nats); minus infinity if not in training."""
        return np.array([self.distribution.get(text, -np.inf) for text in texts])


def review_systems(names: Sequence[str] | None = None, *, seed: Seed) -> dict[str, System]:
    """Build systems that generate product reviews, with exact probabilities of any text."""
    chosen = [known(name, REVIEW_SYSTEMS, "systems") for name in names or REVIEW_SYSTEMS]
    training = tuple(review_grammar().sample(_N_TRAINING, seed=seed))
    return {name: _build(name, training) for name in chosen}


def _build(name: str, training: tuple[str, ...]) -> System:
    kind, value = _NAMED[name]
    if kind == "memorizer_":
        return Memorizer(training[: int(value)])
    if kind == "corrupted_":
        return Corrupted(review_grammar(), value)
    if kind == "grammar_t":
        return review_grammar().annealed(value)
    if kind == "leaky_t":
        return review_grammar().leaky(_LEAK).annealed(value)
    order = 2 if kind == "bigram_t" else 3
    return fit_ngram(list(training[:_N_MODEL]), order).annealed(value)
