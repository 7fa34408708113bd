"""Captions as numbered tokens: comparative endings split off, rare words one word, and back."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nlgbench.text import check_texts

PADDING, UNKNOWN, START, END = range(4)
#: What stands before the words in a vocabulary, at the positions above.
SPECIAL = ("<padding>", "<unknown>", "<start>", "<end>")
ENDINGS = ("+er", "+est", "+ish")
#: Tokens that are read of one caption, without the end; 7 of 15,665 in Monroe train have more.
LONGEST = 40

_PIECE = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")
_STEM = 3


def caption_tokens(caption: str) -> list[str]:
    """Cut a caption into tokens.

    Parameters
    ----------
    caption : str
        Any text.

    Returns
    -------
    list of str
        In lower case: words, each with its endings -er, -est and -ish as tokens of their own where
        at least three letters stand before them, and punctuation marks.

    Notes
    -----
    After Monroe, Hawkins, Goodman and Potts (2017, doi:10.1162/tacl_a_00064), who split the same
    endings. No dictionary is asked: *other* is ``oth +er``, always. That costs nothing, as no two
    words have the same tokens, except that a vocabulary's text is in lower case.

    Examples
    --------
    >>> caption_tokens("The Brightest greenish-blue")
    ['the', 'bright', '+est', 'green', '+ish', '-', 'blue']
    """
    tokens: list[str] = []
    for piece in _PIECE.findall(caption.lower()):
        endings: list[str] = []
        while ending := next(
            (e for e in ENDINGS if piece.endswith(e[1:]) and len(piece) >= _STEM + len(e) - 1), None
        ):
            endings.insert(0, ending)
            piece = piece[: 1 - len(ending)]
        tokens += [piece, *endings]
    return tokens


def caption_text(tokens: Sequence[str]) -> str:
    """Put tokens together again.

    Parameters
    ----------
    tokens : sequence of str
        As `caption_tokens` gives them.

    Returns
    -------
    str
        A text whose tokens they are, where `may_follow` allows each step.

    Examples
    --------
    >>> caption_text(["the", "dark", "+er", "one"])
    'the darker one'
    """
    return " ".join(tokens).replace(" +", "")


def may_follow(words: Sequence[str]) -> NDArray[np.bool_]:
    """Say which tokens can stand after which, so that every sequence is one text's tokens.

    Parameters
    ----------
    words : sequence of str
        A vocabulary.

    Returns
    -------
    ndarray of bool, shape (n_words, n_words)
        From the one before (row) to the next (column): an ending follows words of three letters or
        other endings, the end does not follow the start, and what has no text never follows.

    Examples
    --------
    >>> allowed = may_follow([*SPECIAL, "red", "+ish"])
    >>> allowed[[START, 4, 5]].astype(int).tolist()
    [[0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    """
    allowed = np.ones((len(words), len(words)), dtype=bool)
    is_ending = np.array([word in ENDINGS for word in words])
    is_word = np.array([len(w) >= _STEM and _PIECE.fullmatch(w) is not None for w in words])
    allowed[np.ix_(~(is_ending | is_word), is_ending)] = False
    allowed[:, [PADDING, UNKNOWN, START]] = False
    allowed[START, END] = False
    return allowed


def vocabulary(captions: Sequence[str], *, at_least: int = 2) -> list[str]:
    """List the tokens of captions.

    Parameters
    ----------
    captions : sequence of str
        Those that a network is trained on.
    at_least : int
        Tokens that occur less often are the unknown word, which so is learned, too.

    Returns
    -------
    list of str
        `SPECIAL`, then tokens in alphabetical order.

    Examples
    --------
    >>> vocabulary(["red", "reddish", "red ."])[4:]
    ['red']
    """
    counts = Counter(token for caption in captions for token in caption_tokens(caption))
    return [*SPECIAL, *sorted(token for token, n in counts.items() if n >= at_least)]


def encode(captions: Sequence[str], words: Sequence[str]) -> NDArray[np.int64]:
    """Turn the tokens of captions into numbers.

    Parameters
    ----------
    captions : sequence of str
        Texts; of each, the first `LONGEST` tokens are read.
    words : sequence of str
        From `vocabulary`.

    Returns
    -------
    ndarray of int64, shape (n, at most LONGEST + 1)
        Positions in `words`, the end, and padding; a token not in `words` is the unknown word.

    Raises
    ------
    ValueError
        When a caption is no string.

    Examples
    --------
    >>> encode(["red one", ""], [*SPECIAL, "red"]).tolist()
    [[4, 1, 3], [3, 0, 0]]
    """
    index = {word: at for at, word in enumerate(words)}
    rows = [
        [*(index.get(token, UNKNOWN) for token in caption_tokens(caption)[:LONGEST]), END]
        for caption in check_texts(captions, "captions")
    ]
    found = np.full((len(rows), max(map(len, rows), default=1)), PADDING)
    for row, numbers in zip(found, rows, strict=True):
        row[: len(numbers)] = numbers
    return found


def read_word_vectors(
    path: str | os.PathLike, words: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    r"""Read the vectors of some words from a text file, as GloVe's are.

    Parameters
    ----------
    path : path
        UTF-8, a line per word: the word and its numbers, separated by single spaces.
    words : sequence of str
        Whose vectors are wanted.

    Returns
    -------
    dict of str to ndarray
        Vectors of one length, of the words that the file has.

    Raises
    ------
    FileNotFoundError
        When there is none.
    ValueError
        When a line has another length or is no numbers, or no word is found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.txt")
    ...     _ = path.write_text("red 0.5 1\nblue 0 1\n")
    ...     read_word_vectors(path, ["red", "mauve"])
    {'red': array([0.5, 1. ], dtype=float32)}
    """
    wanted, found, length = set(words), {}, None
    with Path(path).open(encoding="utf-8") as lines:
        for at, line in enumerate(lines, 1):
            word, *numbers = line.rstrip("\n").split(" ")
            length = len(numbers) if length is None else length
            if len(numbers) != length or not length:
                raise ValueError(
                    f"{path}, line {at} has {len(numbers)} numbers, not {length}, after its word: "
                    "it must be a text file of word vectors, as GloVe's are, without a header."
                )
            if word in wanted:
                try:
                    vector = np.array(numbers, dtype=np.float32)
                except ValueError as error:
                    raise ValueError(f"{path}, line {at}: {error}. Get the file anew.") from error
                if not np.isfinite(vector).all():
                    raise ValueError(f"{path}, line {at} is not finite. Get the file anew.")
                found[word] = vector
    if not found:
        raise ValueError(f"{path} has none of the {len(wanted)} words: is it the right language?")
    return found
