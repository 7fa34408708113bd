"""Decoding, one word at a time: truncated distributions, sampling, beam search."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nlgbench.generators.grammar import Floats, Ints, sharpened
from nlgbench.text import check_n

#: ``step(state, words, n_written)``: after the last `words` (one per text; the end's index before
#: the first word) of texts of `n_written` words, log-probabilities (nats) of each next word and,
#: last, of the end, a row per text, and the new state; a state is indexed by text.
Step = Callable[[Any, Ints, int], tuple[Floats, Any]]

_TIE = 1e-9  # nats; a tie must survive rounding, or a text could leave its own support


def truncated(
    logprobs: Floats, *, top_k: int | None = None, nucleus: float | None = None
) -> Floats:
    """Keep the most probable words, and normalize over them.

    Top-k: Fan, Lewis and Dauphin 2018, doi:10.18653/v1/P18-1082. Nucleus: Holtzman et al. 2020,
    arXiv:1904.09751, eq. 2. Words that tie with the last one kept, within 1e-9 nats, are kept too,
    so the set depends neither on the order of words nor on rounding.
    """
    if top_k is not None:
        check_n(top_k, "top_k")
        if top_k < logprobs.shape[-1]:
            last = np.partition(logprobs, -top_k, axis=-1)[..., [-top_k]]
            logprobs = _kept(logprobs, last)
    if nucleus is not None and not 0 < nucleus <= 1:
        raise ValueError(f"nucleus must be above 0 and at most 1. Got {nucleus}.")
    if nucleus is not None and nucleus < 1:
        ordered = -np.sort(-logprobs, axis=-1)
        upto = np.cumsum(np.exp(ordered), axis=-1)
        # The first word with which the share is reached is the last one kept.
        n_before = (upto < nucleus - _TIE).sum(axis=-1, keepdims=True)
        last = np.take_along_axis(ordered, np.minimum(n_before, ordered.shape[-1] - 1), axis=-1)
        logprobs = _kept(logprobs, last)
    return logprobs


def _kept(logprobs: Floats, last: Floats) -> Floats:
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


def beam_search(
    step: Step, state: Any, *, end: int, width: int
) -> list[tuple[tuple[int, ...], float]]:
    """Search for the most probable texts.

    At each step all continuations of the texts followed are ranked by log-probability, not by its
    mean per word; those that end are set aside and take no place among the `width` followed. The
    search is over when `width` texts ended and none followed is more probable than the last of
    these: a text's probability never rises. Only when every unfinished text is followed are the
    most probable texts sure to be found.
    """
    check_n(width, "width")
    finished: list[tuple[tuple[int, ...], float]] = []
    texts: list[tuple[int, ...]] = [()]
    total, words, n_written = np.zeros(1), np.array([end]), 0
    while texts:
        logprobs, state = step(state, words, n_written)
        joint = total[:, None] + logprobs
        ended = joint[:, end].tolist()
        finished += [(text, p) for text, p in zip(texts, ended, strict=True) if p > -np.inf]
        finished = sorted(finished, key=lambda found: -found[1])[:width]
        joint[:, end] = -np.inf
        worth = finished[-1][1] if len(finished) == width else -np.inf
        best = np.argsort(-joint, axis=None, kind="stable")[:width]
        best = best[joint.flat[best] > worth]
        rows, words = np.divmod(best, joint.shape[1])
        total, state, n_written = joint.flat[best], state[rows], n_written + 1
        texts = [(*texts[row], word) for row, word in zip(rows, words.tolist(), strict=True)]
    return finished
