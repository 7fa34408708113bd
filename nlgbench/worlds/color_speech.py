"""Speakers of color captions: the possible captions, their meanings, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from nlgbench.arrays import Seed
from nlgbench.datasets.color_contexts import NEAR, color_difference, hsl_to_lab, rgb_to_lab

#: Color words: names from the XKCD color survey, as listed in Matplotlib.
WORDS = (
    *("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "grey", "black"),
    *("white", "teal", "olive", "navy", "maroon", "lavender", "turquoise", "tan", "lime"),
    *("magenta", "gold", "salmon"),
)

#: Comparative -> column (CIELAB lightness or chroma) and sign.
COMPARATIVES = {"darker": (0, -1), "lighter": (0, 1), "duller": (1, -1), "brighter": (1, 1)}

#: Scales, in CIELAB units: of a word's distance from its color, and of a comparative's difference
#: from the context's mean.
WORD_SPREAD = 15.0
COMPARATIVE_SPREAD = 4.0

#: Fit of any caption to "none of these", which makes captions that barely apply improbable.
NONE_FITS = 0.05

#: Speakers choose in proportion to exp(RATIONALITY * utility). Each word costs WORD_COST nats, so
#: that adding an uninformative "not ..." does not pay.
RATIONALITY = 6.0
WORD_COST = 0.5

_LEAST_APART = 5.0
_CHUNK = 200


@dataclass(frozen=True)
class Palette:
    """Colors sorted by hue, so that sorting a context's color numbers gives its states."""

    hsl: np.ndarray  # n x 3: hue, saturation, lightness
    lab: np.ndarray
    apart: np.ndarray  # n x n, CIEDE2000


@cache
def palette() -> Palette:
    """Return the colors of contexts: Matplotlib's 949 of the XKCD survey."""
    from colorsys import rgb_to_hls

    from matplotlib.colors import XKCD_COLORS, to_rgb

    hls = [rgb_to_hls(*to_rgb(code)) for code in sorted(set(XKCD_COLORS.values()))]
    hsl = np.array(sorted((360 * h, min(100 * s, 100), 100 * light) for h, light, s in hls))
    colors = hsl_to_lab(hsl)
    return Palette(hsl, colors, color_difference(colors[:, None], colors[None]))


@cache
def _vocabulary() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """List all captions and the parts of each: head, comparative, negated word (0 for none)."""
    choices = np.indices((len(WORDS) + 1, len(COMPARATIVES) + 1, len(WORDS) + 1)).reshape(3, -1)
    head, comparative, negated = choices[:, (choices[0] != choices[2]) | (choices[0] == 0)]
    heads = np.array(["color", *WORDS], dtype=object)[head]
    before = np.array(["", *(f"{word} " for word in COMPARATIVES)], dtype=object)[comparative]
    after = np.array(["", *(f" not {word}" for word in WORDS)], dtype=object)[negated]
    return before + heads + after, head, comparative, negated


def _fits(triples: np.ndarray) -> np.ndarray:
    """Compute the log fit of every caption to every color: contexts x 3 x captions."""
    from matplotlib.colors import XKCD_COLORS, to_rgb

    colors = palette().lab
    word_colors = rgb_to_lab(np.array([to_rgb(XKCD_COLORS[f"xkcd:{word}"]) for word in WORDS]))
    distance = color_difference(colors[:, None], word_colors[None])[triples]
    none = np.zeros((*triples.shape, 1))
    word = -((distance / WORD_SPREAD) ** 2) / 2
    # A word's own color still fits "not" that word slightly, so no caption is impossible.
    without = np.log1p(-(1 - NONE_FITS) * np.exp(word))
    lightness, *chroma = np.moveaxis(colors[triples], -1, 0)
    scales = np.stack([lightness, np.hypot(*chroma)], axis=-1)
    above = scales - scales.mean(axis=1, keepdims=True)
    compared = [
        -np.logaddexp(0, -sign * above[..., column] / COMPARATIVE_SPREAD)
        for column, sign in COMPARATIVES.values()
    ]
    _, head, comparative, negated = _vocabulary()
    return (
        np.concatenate([none, word], axis=-1)[..., head]
        + np.concatenate([none, np.stack(compared, axis=-1)], axis=-1)[..., comparative]
        + np.concatenate([none, without], axis=-1)[..., negated]
    )


def _speak(log_listener: np.ndarray, beliefs: np.ndarray) -> np.ndarray:
    """Compute the log-probability of every caption: contexts x speakers x captions.

    Utility is the negative divergence of the listener's belief from the speaker's, less word costs.
    """
    from scipy.special import log_softmax

    n_words = np.array([len(text.split()) for text in _vocabulary()[0]])
    utility = np.einsum("nbc,ncu->nbu", beliefs, log_listener) - WORD_COST * n_words
    return log_softmax(RATIONALITY * utility, axis=2)


def speak(
    color_numbers: np.ndarray, beliefs: np.ndarray, *, n_captions: int, seed: Seed
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw captions of speakers, and compute listeners' probabilities of the three colors.

    Contexts are three numbers of colors in `palette`; beliefs are contexts x speakers x colors.
    """
    from scipy.special import log_softmax, softmax

    rng = np.random.default_rng(seed)
    numbers, literal, ideal = [], [], []
    for start in range(0, len(color_numbers), _CHUNK):  # limits memory
        chunk = slice(start, start + _CHUNK)
        fits = _fits(color_numbers[chunk])
        log_none = np.full((len(fits), 1, fits.shape[2]), np.log(NONE_FITS))
        log_listener = log_softmax(np.concatenate([fits, log_none], axis=1), axis=1)[:, :3]
        log_speaker = _speak(log_listener, beliefs[chunk])
        steps = np.exp(log_speaker).cumsum(axis=2)
        threshold = rng.random((*log_speaker.shape[:2], n_captions)) * steps[..., -1:]
        chosen = (steps[:, :, None, :] <= threshold[..., None]).sum(axis=-1)
        log_informed = _speak(log_listener, np.broadcast_to(np.eye(3), (len(fits), 3, 3)))
        rows = np.arange(len(fits))[:, None, None]
        numbers.append(chosen)
        literal.append(softmax(np.moveaxis(fits, 1, 2)[rows, chosen], axis=-1))
        ideal.append(softmax(np.moveaxis(log_informed, 1, 2)[rows, chosen], axis=-1))
    captions = _vocabulary()[0][np.concatenate(numbers)].astype(str)
    return captions, np.concatenate(literal), np.concatenate(ideal)


def draw_contexts(n: int, *, used: set[frozenset[int]], seed: Seed) -> np.ndarray:
    """Draw contexts that are close, split and far in turn."""
    rng = np.random.default_rng(seed)
    apart = palette().apart
    distinct = apart >= _LEAST_APART
    near, far = distinct & (apart <= NEAR), apart > NEAR
    contexts: list[tuple[int, int, int]] = []
    while len(contexts) < n:
        target = int(rng.integers(len(apart)))
        with_first, with_second = [(near, near), (near, far), (far, far)][len(contexts) % 3]
        first = np.flatnonzero(with_first[target])
        if not len(first):
            continue
        distractor = int(rng.choice(first))
        second = np.flatnonzero(with_second[target] & with_second[distractor])
        if not len(second):
            continue
        three = (target, distractor, int(rng.choice(second)))
        if frozenset(three) not in used:
            used.add(frozenset(three))
            contexts.append(three)
    return np.array(contexts)
