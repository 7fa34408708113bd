"""Inputs of listeners: token ids of captions, Fourier features of colors, arrays of contexts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench.arrays import Floats
from nlgbench.status import Unsupported

# Captions

PADDING, UNKNOWN, START, END = range(4)
#: The first entries of a vocabulary, at the positions above.
SPECIAL = ("<padding>", "<unknown>", "<start>", "<end>")
#: Maximum tokens per caption, without the end; 7 of Monroe's 15,665 training captions have more.
LONGEST = 40

_PIECE = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")
_ENDING = "er|est|ish"
_ENDED = re.compile(rf"(.{{3,}}?|.{{1,2}})((?:{_ENDING})*)")


def caption_tokens(caption: str) -> list[str]:
    """Tokenize a caption into lower-case words, word endings and punctuation marks.

    -er, -est and -ish are split off if at least three letters precede them, after Monroe, Hawkins,
    Goodman and Potts (2017, doi:10.1162/tacl_a_00064). There is no dictionary, so *other* becomes
    ``oth +er``.
    """
    tokens: list[str] = []
    for piece in _PIECE.findall(caption.lower()):
        ended = _ENDED.fullmatch(piece)
        assert ended is not None  # the pattern matches any piece
        tokens += [ended[1], *(f"+{ending}" for ending in re.findall(_ENDING, ended[2]))]
    return tokens


def vocabulary(captions: Sequence[str]) -> list[str]:
    """List `SPECIAL`, then the tokens that occur at least twice, in alphabetical order."""
    counts = Counter(token for caption in captions for token in caption_tokens(caption))
    return [*SPECIAL, *sorted(token for token, n in counts.items() if n >= 2)]


def encode(captions: Sequence[str], vocabulary: Sequence[str]) -> NDArray[np.int64]:
    """Encode captions as positions in `vocabulary`, followed by the end token and padding."""
    index = {word: position for position, word in enumerate(vocabulary)}
    rows = [
        [*(index.get(token, UNKNOWN) for token in caption_tokens(caption)[:LONGEST]), END]
        for caption in captions
    ]
    ids = np.full((len(rows), max(map(len, rows), default=1)), PADDING)
    for row, numbers in zip(ids, rows, strict=True):
        row[: len(numbers)] = numbers
    return ids


# Colors

#: Color columns of a ``contexts`` table, and their maximum values.
COLOR = ("hue", "saturation", "lightness")
LIMITS = (360.0, 100.0, 100.0)

_FREQUENCIES = np.array(list(product(range(3), repeat=3)), dtype=np.float64)


def fourier_features(colors: ArrayLike) -> Floats:
    """Represent HSL colors, (..., 3), by Fourier features of HSV.

    They make hue circular. Grays that differ only in hue look alike, but have different features.
    """
    return fourier(hsl_to_hsv(colors))


def fourier(coordinates: Floats) -> Floats:
    """Represent points, (..., 3), by 54 Fourier features: cosines, then sines.

    Real and imaginary parts of ``exp(-2 pi i (j x + k y + l z))`` for j, k, l in 0, 1, 2, as in
    Monroe, Hawkins, Goodman and Potts (2017, doi:10.1162/tacl_a_00064).
    """
    phase = -2 * np.pi * coordinates @ _FREQUENCIES.T
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=-1)


def hsl_to_hsv(colors: ArrayLike) -> Floats:
    """Convert HSL colors in degrees and percent, (..., 3), to HSV from 0 to 1."""
    hsl = np.asarray(colors, dtype=np.float64) / LIMITS
    if not ((hsl >= 0) & (hsl <= 1)).all():
        raise ValueError(
            "hue must be from 0 to 360, saturation and lightness from 0 to 100. Scale fractions to "
            "these ranges, and convert RGB to HSL (colorsys.rgb_to_hls)."
        )
    hue, saturation, lightness = np.moveaxis(hsl, -1, 0)
    value = lightness + saturation * np.minimum(lightness, 1 - lightness)
    bright = np.where(value > 0, value, 1.0)
    return np.stack([hue, 2 * (1 - lightness / bright) * (value > 0), value], axis=-1)


# Contexts


def feature_columns(contexts: pd.DataFrame) -> list[str]:
    """Return the feature columns of contexts: those of a color, or else all features."""
    if set(COLOR) <= set(contexts):
        return list(COLOR)
    keys = ("item_id", "state", "is_target")
    return [str(name) for name in contexts if name not in keys]


def count_states(contexts: pd.DataFrame, item_ids: pd.Series) -> pd.Series:
    """Count the states of each item; every item must have some."""
    n_states = item_ids.map(contexts["item_id"].value_counts())
    lost = n_states.isna()
    if lost.any():
        raise Unsupported(
            "no_contexts",
            f"contexts has no item {item_ids[lost].iloc[0]!r} (outputs without a context: "
            f"{lost.sum()}). Add the missing states, or remove these outputs.",
        )
    return n_states.astype(np.int64)


def state_rows(contexts: pd.DataFrame, item_ids: pd.Series) -> NDArray[np.int64]:
    """Find the rows of each item's states, (n, n_states); all items must have the same number."""
    places = contexts.groupby("item_id").indices
    rows = np.array([places[item] for item in item_ids], dtype=np.int64)
    return rows.reshape(len(item_ids), -1)


def keys_of_items(contexts: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the items, and a key of each item's context."""
    by_item = contexts.groupby("item_id")[feature_columns(contexts)]
    items = [str(item) for item in by_item.groups]
    return items, context_keys(rows.to_numpy() for _, rows in by_item)


def context_keys(contexts: Iterable[Floats]) -> list[str]:
    """Hash each context, (n_states, n_features), regardless of the order of its states."""
    keys = []
    for context in contexts:
        states = sorted(map(tuple, np.asarray(context, dtype=np.float64).tolist()))
        keys.append(hashlib.blake2b(repr(tuple(states)).encode(), digest_size=8).hexdigest())
    return keys
