"""Unambiguous probabilistic grammars, which give the exact probability of each sentence."""

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from nlgbench.arrays import Floats, Ints, Seed


@dataclass(frozen=True, eq=False)
class Slot:
    """One decision of a grammar: the choice of the next phrase."""

    name: str
    phrases: tuple[str, ...]  # words are separated by single spaces; one phrase may be empty
    logprobs: Floats  # finite, of shape (n of first parent, ..., n of phrases)
    parents: tuple[str, ...] = ()  # earlier slots on which the probabilities depend


@dataclass(frozen=True, eq=False)
class Grammar:
    """A chain of slots; a sentence is the sequence of chosen phrases.

    Each sentence must have exactly one derivation: (1) in each slot, no phrase begins with another
    one, and (2) no phrase of a slot that may be empty begins with a word that could follow the
    empty phrase. Then at most one phrase matches at each step, and `parse` inverts `render`.
    Parents must come earlier, and probabilities must sum to 1. These conditions are not checked.

    Examples
    --------
    >>> first = Slot("who", ("cats", "dogs"), np.log([0.25, 0.75]))
    >>> then = Slot("what", ("", "bark"), np.log([[0.9, 0.1], [0.2, 0.8]]), ("who",))
    >>> grammar = Grammar((first, then))
    >>> np.exp(grammar.logprob(["dogs bark", "cats", "bark"])).round(3).tolist()
    [0.6, 0.225, 0.0]
    """

    slots: tuple[Slot, ...]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        groups = []
        for slot in self.slots:
            fits = "|".join(re.escape(f"{phrase} ") for phrase in slot.phrases if phrase)
            groups.append(f"((?:{fits}){'?' if '' in slot.phrases else ''})")
        return re.compile("".join(groups))

    @cached_property
    def _index(self) -> list[dict[str, int]]:
        return [
            {f"{phrase} " if phrase else "": index for index, phrase in enumerate(slot.phrases)}
            for slot in self.slots
        ]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {slot.name: index for index, slot in enumerate(self.slots)}

    def _rows(self, slot: Slot, decisions: Ints) -> Floats:
        return slot.logprobs[tuple(decisions[:, self._place[name]] for name in slot.parents)]

    def decide(self, n: int, *, seed: Seed) -> Ints:
        """Draw decisions at random."""
        rng = np.random.default_rng(seed)
        decisions = np.zeros((n, len(self.slots)), dtype=np.int64)
        for column, slot in enumerate(self.slots):
            below = np.cumsum(np.exp(self._rows(slot, decisions)), axis=-1)
            below = np.broadcast_to(below, (n, len(slot.phrases)))
            draw = rng.random(n) * below[:, -1]
            decisions[:, column] = (draw[:, None] >= below[:, :-1]).sum(axis=1)
        return decisions

    def render(self, decisions: Ints) -> list[str]:
        """Render decisions as sentences."""
        texts = []
        for row in decisions.tolist():
            phrases = [slot.phrases[n] for slot, n in zip(self.slots, row, strict=True)]
            texts.append(" ".join(filter(None, phrases)))
        return texts

    def parse(self, texts: list[str]) -> Ints:
        """Recover the decisions that generate texts; -1 for a text outside the grammar."""
        outside = [-1] * len(self.slots)
        rows = []
        for text in texts:
            match = self._pattern.fullmatch(f"{text} ")
            rows.append(
                [index[phrase] for index, phrase in zip(self._index, match.groups(), strict=True)]
                if match
                else outside
            )
        return np.array(rows, dtype=np.int64).reshape(len(texts), len(self.slots))

    def logprob_decisions(self, decisions: Ints) -> Floats:
        """Sum the log-probabilities of decisions."""
        inside = decisions[:, 0] >= 0
        parsed = decisions[inside]
        total = np.zeros(len(parsed))
        for column, slot in enumerate(self.slots):
            rows = np.broadcast_to(self._rows(slot, parsed), (len(parsed), len(slot.phrases)))
            total += rows[np.arange(len(parsed)), parsed[:, column]]
        result = np.full(len(decisions), -np.inf)
        result[inside] = total
        return result

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample sentences."""
        return self.render(self.decide(n, seed=seed))

    def logprob(self, texts: list[str]) -> Floats:
        """Compute the exact log-probability of texts."""
        return self.logprob_decisions(self.parse(texts))

    def annealed(self, temperature: float) -> "Grammar":
        """Anneal each decision: p to the power of 1/t, normalized."""
        return Grammar(
            tuple(
                replace(slot, logprobs=sharpened(slot.logprobs, temperature)) for slot in self.slots
            )
        )

    def leaky(self, p: float) -> "Grammar":
        """Misspell each phrase with a small probability."""
        right: dict[str, list[int]] = {}
        slots = []
        for slot in self.slots:
            nonempty = [choice for choice, phrase in enumerate(slot.phrases) if phrase]
            intended = [*range(len(slot.phrases)), *nonempty]
            wrong = tuple(_misspelled(slot.phrases[choice]) for choice in nonempty)
            cost = np.full(len(intended), np.log(p))
            cost[: len(slot.phrases)] = np.where([bool(x) for x in slot.phrases], np.log1p(-p), 0)
            table = slot.logprobs[np.ix_(*(right[name] for name in slot.parents), intended)] + cost
            slots.append(replace(slot, phrases=slot.phrases + wrong, logprobs=table))
            right[slot.name] = intended
        return Grammar(tuple(slots))


def sharpened(logprobs: Floats, temperature: float) -> Floats:
    """Anneal distributions: p to the power of 1/t, normalized along the last axis."""
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0. Got {temperature}.")
    scaled = logprobs / temperature
    return np.asarray(scaled - logsumexp(scaled, axis=-1, keepdims=True))


def _misspelled(phrase: str) -> str:
    longest = max(phrase.split(" "), key=len)
    tokens = phrase.split(" ")
    tokens[tokens.index(longest)] = longest + longest[-1]
    return " ".join(tokens)


@dataclass(frozen=True, eq=False)
class Corrupted:
    """A grammar that, with probability q, repeats one word of a sentence, drawn uniformly.

    The probability of a text is (1 - q) p(text) + q times the sum of p(sentence) k / length over
    sentences, k of whose words give the text if repeated. This is exact in any grammar.
    """

    grammar: Grammar
    q: float

    def sample(self, n: int, *, seed: Seed) -> list[str]:
        """Sample sentences, as `Grammar.sample`."""
        rng = np.random.default_rng(seed)
        texts = []
        for text in self.grammar.sample(n, seed=rng):
            tokens = text.split(" ")
            if rng.random() < self.q:
                position = int(rng.integers(len(tokens)))
                tokens.insert(position, tokens[position])
            texts.append(" ".join(tokens))
        return texts

    def logprob(self, texts: list[str]) -> Floats:
        """Compute the exact log-probability of texts, as `Grammar.logprob`."""
        rows, shares, candidates = [], [], []
        for row, text in enumerate(texts):
            tokens = text.split(" ")
            start = 0
            for end in range(1, len(tokens) + 1):
                if end == len(tokens) or tokens[end] != tokens[start]:
                    if end - start > 1:
                        candidates.append(" ".join(tokens[:start] + tokens[start + 1 :]))
                        shares.append((end - start - 1) / (len(tokens) - 1))
                        rows.append(row)
                    start = end
        repeated = np.zeros(len(texts))
        np.add.at(repeated, rows, np.exp(self.grammar.logprob(candidates)) * np.array(shares))
        with np.errstate(divide="ignore"):
            plain = np.log1p(-self.q) + self.grammar.logprob(texts)
            return np.logaddexp(plain, np.log(self.q * repeated))
