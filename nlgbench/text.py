"""Counts of tokens and n-grams, checks of arguments, and phrases for messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array


def tokenize(text: str) -> list[str]:
    """Split a text at white space."""
    return text.split()


#: Letters of scripts without blanks between words: Chinese; Japanese; Thai, Lao, Burmese, Khmer.
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_KANA, _OTHER = (
    re.compile("[\u3040-\u30ff]"),
    re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"),
)


def tokenizer_for(texts: Iterable[str]) -> str:
    """Return the tokenizer that texts need because blanks do not separate their words.

    Empty if they do, as in texts that were tokenized.

    >>> tokenizer_for(["今天下雨了"]), tokenizer_for(["今天 下雨 了"]), tokenizer_for(["It rains."])
    ('zh', '', '')
    """
    tokens = [token for text in islice(texts, 2000) for token in tokenize(text)]
    joined = "".join(tokens)
    han, kana, other = (len(script.findall(joined)) for script in (_HAN, _KANA, _OTHER))
    # Longer than the words of any language, of these scripts, and of Chinese and Japanese.
    is_script = 2 * (han + kana + other) > len(joined)
    longest = 30 if not is_script else 8 if other > han + kana else 3
    if len(joined) <= longest * len(tokens):
        return ""
    return "zh" if han > len(joined) / 2 and not kana else "char"


def count_tokens(texts: Iterable[str]) -> NDArray[np.int64]:
    """Count each text's tokens."""
    return np.array([len(tokenize(text)) for text in texts], dtype=np.int64)


def text_key(text: str) -> str:
    """Normalize case and white space, so that copies of a text have equal keys."""
    return " ".join(text.split()).casefold()


def ngram_counts(texts: Sequence[str], *, max_n: int) -> list[pd.DataFrame]:
    """Count every n-gram in every text, for n from 1 to `max_n`.

    An n-gram is stored as two ids, one for its first n - 1 tokens and one for its last token, so
    comparing n-grams costs the same for any n. For m tokens, time grows as m log m.
    """
    n_texts = len(texts)
    return [count_pairs(ngram, text, n_texts) for ngram, text in _occurrences(texts, max_n)]


def _occurrences(
    texts: Sequence[str], max_n: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each n, the ids of the n-gram and of the text at each occurrence, text by text."""
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
            # -1 marks n-grams that extend beyond their text, and all longer ones that start there.
            longer = ngram[:-1] * (token.max(initial=0) + 1) + token[n - 1 :]
            ngram = np.full(len(longer), -1)
            ngram[inside] = pd.factorize(longer[inside])[0]
        begins = ngram >= 0
        yield ngram[begins], text[: len(ngram)][begins]


def count_pairs(ngram: NDArray[np.int64], text: NDArray[np.int64], n_texts: int) -> pd.DataFrame:
    """Count how often each n-gram occurs in each text, from both ids of each occurrence."""
    pairs = np.sort(ngram * n_texts + text)  # faster to sort than two numbers
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    ngram, text = np.divmod(pairs[first], max(n_texts, 1))
    return pd.DataFrame({"ngram": ngram, "text": text, "count": np.diff(first, append=len(pairs))})


def ngram_matrix(texts: Sequence[str], *, max_n: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Count every n-gram in every text, as one sparse matrix."""
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
    """Count the tokens of each text."""
    one = counts[0]
    return np.bincount(one["text"], weights=one["count"], minlength=n_texts).astype(np.float64)


def check_texts(texts: Sequence[str], name: str = "texts") -> list[str]:
    """Return texts as a list, or raise an error unless they are a sequence of strings."""
    if isinstance(texts, str):
        raise ValueError(f"{name} is a single string. Pass a sequence, such as [{name}].")
    listed = list(texts)
    for position, text in enumerate(listed):
        if not isinstance(text, str):
            raise ValueError(
                f"{name}[{position}] is {text!r}, not a string. Remove it, or use '' for an "
                "empty text."
            )
    return listed


def check_n(n: int, name: str, least: int = 1) -> None:
    """Raise an error unless a number is a whole number of at least `least`."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < least:
        raise ValueError(f"{name} must be a whole number, at least {least}. Got {n!r}.")


def span(values: Iterable[float], form: str = ".2f") -> str:
    """Format the range of some numbers, ignoring missing ones.

    >>> span([0.25, 0.12, 0.2]), span([150, 150], ",.0f"), span([float("nan")])
    ('0.12 to 0.25', '150', 'none')
    """
    numbers = np.asarray(list(values), dtype=np.float64)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return "none"
    low, high = format(numbers.min(), form), format(numbers.max(), form)
    return low if low == high else f"{low} to {high}"


def same_for_all(values: Iterable[float]) -> str:
    """Describe whether a count, shown as one number, is the same everywhere.

    >>> same_for_all([150, 150]), same_for_all([150, 149])
    ('The same for all.', 'Median of 149 to 150.')
    """
    bounds = span(values, ",.0f")
    return f"Median of {bounds}." if " to " in bounds else "The same for all."


def counted(n: int, thing: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "output"), counted(1200, "output")
    ('1 output', '1,200 outputs')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def listed(names: Iterable[object]) -> str:
    """Join names in a sentence.

    >>> listed(["BLEU", "ROUGE", "CIDEr"]), listed([]), listed([1])
    ('BLEU, ROUGE and CIDEr', 'none', '1')
    """
    texts = [*map(str, names)]
    if not texts:
        return "none"
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if texts[1:] else texts[0]


def as_yaml(value: Any) -> str:
    """Write texts, or lists and mappings of them, so that YAML reads back the same texts.

    >>> as_yaml({"systems": [["GPT-4", "gpt-4 "]]})
    '{systems: [[GPT-4, "gpt-4 "]]}'
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{as_yaml(key)}: {as_yaml(v)}' for key, v in value.items())}}}"
    if not isinstance(value, str):
        return f"[{', '.join(map(as_yaml, value))}]"
    is_plain = re.fullmatch(r"[A-Za-z0-9_./][\w ./()+-]*", value) and value == value.strip()
    return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
