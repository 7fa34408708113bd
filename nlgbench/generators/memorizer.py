"""A system that repeats what it has read."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nlgbench.generators.grammar import Floats


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
