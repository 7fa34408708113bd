"""Tokens and n-grams, counted once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from numbers import Integral

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

_ENDS = (".", "!", "?")
_CLOSING = "\"')]}\u2019\u201d"


def tokenize(text: str) -> list[str]:
    """Cut a text where there is white space.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Its tokens; none is empty. Case and punctuation stay.

    Examples
    --------
    >>> tokenize(" it leaks .")
    ['it', 'leaks', '.']
    """
    return text.split()


def text_key(text: str) -> str:
    """Reduce a text to what it shares with its copies: case and white space do not count.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The same for two texts that learning would not tell apart.

    Examples
    --------
    >>> text_key(" It  leaks .") == text_key("it leaks .")
    True
    """
    return " ".join(text.split()).casefold()


def cut_at_sentence(text: str, *, n_words: int = 250) -> str:
    """Cut a long text at the end of the sentence nearest to a number of words.

    Parameters
    ----------
    text : str
        Any text.
    n_words : int
        Texts of so many words (what `tokenize` gives) or fewer stay as they are.

    Returns
    -------
    str
        The text up to that end. Of two ends equally near, the earlier. Where no sentence ends, the
        first `n_words` words.

    Raises
    ------
    ValueError
        When `n_words` is below 1.

    Notes
    -----
    As Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521) shorten stories of more than
    250 words. A sentence ends with a word whose last sign is . ! or ?, quotation marks and brackets
    aside; so an abbreviation is taken for an end, too.

    Examples
    --------
    >>> cut_at_sentence("It leaks. It broke! I sent it back. Never again.", n_words=5)
    'It leaks. It broke!'
    """
    check_n(n_words, "n_words")
    words = list(re.finditer(r"\S+", text))
    if len(words) <= n_words:
        return text
    ends = [at for at, word in enumerate(words, 1) if word.group().rstrip(_CLOSING)[-1:] in _ENDS]
    length = min(ends, key=lambda at: (abs(at - n_words), at)) if ends else n_words
    return text[: words[length - 1].end()]


def ngram_counts(texts: Sequence[str], *, max_n: int) -> list[pd.DataFrame]:
    """Count every n-gram in every text, for n from 1 to `max_n`.

    Parameters
    ----------
    texts : sequence of str
        Tokens are what `tokenize` gives.
    max_n : int
        Highest order.

    Returns
    -------
    list of DataFrame
        For each n a frame with a row per n-gram and text that holds it, sorted by both: ngram (0,
        1, ... without gaps), text (position in `texts`) and count, at least 1; int64. A number
        stands for one n-gram in all texts, and for another in the frame of another order.

    Raises
    ------
    ValueError
        When `texts` is one string or holds what is no string, or `max_n` is not at least 1.

    Notes
    -----
    An n-gram is the pair of its first n - 1 tokens, numbered already, and its last token, so that
    two whole numbers are compared however large n is. Time grows as m log m with m tokens.

    Examples
    --------
    >>> one, two = ngram_counts(["a b a b", "b a"], max_n=2)
    >>> two.to_numpy().tolist()  # "a b" twice in the first text; "b a" once in each
    [[0, 0, 2], [1, 0, 1], [1, 1, 1]]
    """
    n_texts = len(texts)
    return [_count_pairs(ngram, text, n_texts) for ngram, text in _occurrences(texts, max_n)]


def _occurrences(
    texts: Sequence[str], max_n: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Give the number and the text of each n-gram that occurs, text by text, for each n in turn."""
    check_n(max_n, "max_n")
    tokens: list[str] = []
    ends = [0]
    for one in check_texts(texts):
        tokens += tokenize(one)
        ends.append(len(tokens))
    text = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    ngram = token = pd.factorize(np.array(tokens, dtype=object))[0]
    for n in range(1, max_n + 1):
        if n > 1:
            inside = text[n - 1 :] == text[: 1 - n]
            # Beyond the end of a text the n-gram is -1, and so is all that begins there.
            longer = ngram[:-1] * (token.max(initial=0) + 1) + token[n - 1 :]
            ngram = np.full(len(longer), -1)
            ngram[inside] = pd.factorize(longer[inside])[0]
        begins = ngram >= 0
        yield ngram[begins], text[: len(ngram)][begins]


def _count_pairs(ngram: NDArray[np.int64], text: NDArray[np.int64], n_texts: int) -> pd.DataFrame:
    pairs = np.sort(ngram * n_texts + text)  # one number per pair sorts faster than two
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    ngram, text = np.divmod(pairs[first], max(n_texts, 1))
    return pd.DataFrame({"ngram": ngram, "text": text, "count": np.diff(first, append=len(pairs))})


def ngram_matrix(texts: Sequence[str], *, max_n: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Count every n-gram in every text, as one sparse matrix.

    Parameters
    ----------
    texts, max_n
        As in `ngram_counts`.

    Returns
    -------
    counts : csr_array of float64, shape (n texts, n distinct n-grams)
        How often each occurs in each text; shorter n-grams come first.
    order : ndarray of int64, shape (n distinct n-grams,)
        How many tokens each has.

    Raises
    ------
    ValueError
        As `ngram_counts`.

    Examples
    --------
    >>> counts, order = ngram_matrix(["a b a", "b"], max_n=2)
    >>> counts.toarray().tolist(), order.tolist()
    ([[2.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]], [1, 1, 2, 2])
    """
    rows, columns = [], []
    n_distinct: list[int] = []
    for ngram, text in _occurrences(texts, max_n):
        rows.append(text)
        columns.append(ngram + sum(n_distinct))
        n_distinct.append(int(ngram.max(initial=-1)) + 1)
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.repeat(np.arange(1, max_n + 1), n_distinct)
    shape = (len(texts), len(order))
    return csr_array((np.ones(len(row)), (row, column)), shape=shape), order


def text_lengths(counts: list[pd.DataFrame], n_texts: int) -> NDArray[np.float64]:
    """Count the tokens of each text.

    Parameters
    ----------
    counts : list of DataFrame
        From `ngram_counts`.
    n_texts : int
        How many texts were counted.

    Returns
    -------
    ndarray of shape (n_texts,)
        Whole numbers; 0 for an empty text.

    Examples
    --------
    >>> text_lengths(ngram_counts(["a a b", ""], max_n=1), 2)
    array([3., 0.])
    """
    one = counts[0]
    return np.bincount(one["text"], weights=one["count"], minlength=n_texts).astype(np.float64)


def check_texts(texts: Sequence[str], name: str = "texts") -> list[str]:
    """Refuse what is no sequence of strings.

    Parameters
    ----------
    texts : sequence of str
        Or something else.
    name : str
        For the message.

    Returns
    -------
    list of str
        The texts.

    Raises
    ------
    ValueError
        With the position and value of the first that is no string.

    Examples
    --------
    >>> check_texts(["a", None])
    Traceback (most recent call last):
    ValueError: texts[1] is None; every text must be a string: drop it, or put '' for an empty one.
    """
    if isinstance(texts, str):
        raise ValueError(f"{name} is one string; pass a sequence of them, such as [{name}].")
    listed = list(texts)
    for position, text in enumerate(listed):
        if not isinstance(text, str):
            raise ValueError(
                f"{name}[{position}] is {text!r}; every text must be a string: drop it, or put '' "
                "for an empty one."
            )
    return listed


def check_n(n: int, name: str) -> None:
    """Refuse what is no whole number of at least 1.

    Parameters
    ----------
    n : int
        What was asked for.
    name : str
        For the message.

    Raises
    ------
    ValueError
        With the number.

    Examples
    --------
    >>> check_n(0, "max_n")
    Traceback (most recent call last):
    ValueError: max_n must be a whole number, at least 1. Got 0.
    """
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"{name} must be a whole number, at least 1. Got {n!r}.")
