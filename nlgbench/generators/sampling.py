"""Word-by-word decoding: truncated distributions, and sampling."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.generators.grammar import sharpened

#: ``step(state, words, n_written)`` takes the last word of each text (before the first word: the
#: end's index) and the number of words so far. It returns a row per text of log-probabilities
#: (nats) of each next word and, last, of the end; and the new state, indexed by text.
Step = Callable[[Any, Ints, int], tuple[Floats, Any]]

_TIE = 1e-9  # nats; without a tolerance, rounding could give a sampled text probability 0


def truncated(logprobs: Floats, nucleus: float) -> Floats:
    """Keep the most probable words until their sum reaches `nucleus`, and renormalize.

    Nucleus sampling: Holtzman et al. 2020, arXiv:1904.09751, eq. 2. Words that tie with the last
    one, within 1e-9 nats, are kept, so the order of words and rounding do not matter.
    """
    if nucleus == 1:
        return logprobs
    ordered = -np.sort(-logprobs, axis=-1)
    upto = np.cumsum(np.exp(ordered), axis=-1)
    # The word at which the sum reaches `nucleus` is the last one to keep.
    n_before = (upto < nucleus - _TIE).sum(axis=-1, keepdims=True)
    last = np.take_along_axis(ordered, np.minimum(n_before, ordered.shape[-1] - 1), axis=-1)
    return sharpened(np.where(logprobs >= last - _TIE, logprobs, -np.inf), 1.0)


def draw_texts(step: Step, state: Any, *, n: int, end: int, seed: Seed) -> list[list[int]]:
    """Sample texts word by word."""
    rng = np.random.default_rng(seed)
    written: list[list[int]] = [[] for _ in range(n)]
    active, last, n_written = np.arange(n), np.full(n, end), 0
    while len(active):
        logprobs, state = step(state, last, n_written)
        below = np.cumsum(np.exp(logprobs), axis=1)
        chosen = rng.random(len(active)) * below[:, -1]
        last = (chosen[:, None] >= below[:, :-1]).sum(axis=1)
        on = last != end
        active, last, state, n_written = active[on], last[on], state[on], n_written + 1
        for text, word in zip(active.tolist(), last.tolist(), strict=True):
            written[text].append(word)
    return written
