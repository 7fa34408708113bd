"""A system that errs now and then, in a way whose exact probability is known."""

from dataclasses import dataclass

import numpy as np

from nlgbench.generators.grammar import Floats, Grammar


@dataclass(frozen=True, eq=False)
class Corrupted:
    """A grammar whose sentences stutter: with probability q, one word, drawn evenly, is repeated.

    The probability of a text is (1 - q) p(text) + q times the sum, over the sentences from which
    it can come, of p(sentence) x ways / length. So it is exact even where words repeat anyway.
    """

    grammar: Grammar
    q: float

    def sample(self, n: int, *, seed: int | np.random.Generator) -> list[str]:
        """Draw sentences, as `Grammar.sample`."""
        rng = np.random.default_rng(seed)
        texts = []
        for text in self.grammar.sample(n, seed=rng):
            words = text.split(" ")
            if rng.random() < self.q:
                at = int(rng.integers(len(words)))
                words.insert(at, words[at])
            texts.append(" ".join(words))
        return texts

    def logprob(self, texts: list[str]) -> Floats:
        """Give the exact log-probability of texts, as `Grammar.logprob`."""
        rows, shares, candidates = [], [], []
        for row, text in enumerate(texts):
            words = text.split(" ")
            start = 0
            for end in range(1, len(words) + 1):
                if end == len(words) or words[end] != words[start]:
                    if end - start > 1:
                        candidates.append(" ".join(words[:start] + words[start + 1 :]))
                        shares.append((end - start - 1) / (len(words) - 1))
                        rows.append(row)
                    start = end
        stuttered = np.zeros(len(texts))
        np.add.at(stuttered, rows, np.exp(self.grammar.logprob(candidates)) * np.array(shares))
        with np.errstate(divide="ignore"):
            plain = np.log1p(-self.q) + self.grammar.logprob(texts)
            return np.logaddexp(plain, np.log(self.q * stuttered))
