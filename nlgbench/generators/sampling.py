"""Decoding, one word at a time: truncated distributions, and sampling."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nlgbench.generators.grammar import Floats, Ints, sharpened

#: ``step(state, words, n_written)``: after the last `words` (one per text; the end's index before
#: the first word) of texts of `n_written` words, log-probabilities (nats) of each next word and,
#: last, of the end, a row per text, and the new state; a state is indexed by text.
Step = Callable[[Any, Ints, int], tuple[Floats, Any]]

_TIE = 1e-9  # nats; a tie must survive rounding, or a text could leave its own support


def truncated(logprobs: Floats, nucleus: float) -> Floats:
    """Keep the most probable words that hold a share of the probability, and normalize over them.

    Nucleus: Holtzman et al. 2020, arXiv:1904.09751, eq. 2. Words that tie with the last one, within
    1e-9 nats, stay too, so the set depends neither on the order of words nor on rounding.
    """
    if nucleus == 1:
        return logprobs
    ordered = -np.sort(-logprobs, axis=-1)
    upto = np.cumsum(np.exp(ordered), axis=-1)
    # The first word with which the share is reached is the last one.
    n_before = (upto < nucleus - _TIE).sum(axis=-1, keepdims=True)
    last = np.take_along_axis(ordered, np.minimum(n_before, ordered.shape[-1] - 1), axis=-1)
    return sharpened(np.where(logprobs >= last - _TIE, logprobs, -np.inf), 1.0)


def draw(
    step: Step, state: Any, *, n: int, end: int, seed: int | np.random.Generator
) -> list[list[int]]:
    """Draw texts word by word."""
    rng = np.random.default_rng(seed)
    written: list[list[int]] = [[] for _ in range(n)]
    going, words, n_written = np.arange(n), np.full(n, end), 0
    while len(going):
        logprobs, state = step(state, words, n_written)
        below = np.cumsum(np.exp(logprobs), axis=1)
        chosen = rng.random(len(going)) * below[:, -1]
        words = (chosen[:, None] >= below[:, :-1]).sum(axis=1)
        on = words != end
        going, words, state, n_written = going[on], words[on], state[on], n_written + 1
        for text, word in zip(going.tolist(), words.tolist(), strict=True):
            written[text].append(word)
    return written
