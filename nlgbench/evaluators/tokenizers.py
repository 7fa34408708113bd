"""Tokenizers of sacrebleu, for texts in which blanks do not separate words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

#: Those that need neither a download nor a further package.
TOKENIZERS = ("13a", "intl", "zh", "char")
#: The end of an evaluator's name, as a regular expression.
SUFFIX = rf"(@tokenize:({'|'.join(TOKENIZERS)}))?"


def split_name(name: str) -> tuple[str, str]:
    """Separate an evaluator's name from its tokenizer, which is empty for white space."""
    metric, _, tokenizer = name.partition("@tokenize:")
    return metric, tokenizer


def tokenized(texts: Iterable[str], tokenizer: str) -> list[str]:
    """Put blanks between the tokens of texts; without a tokenizer, they are unchanged."""
    return [_tokenizer(tokenizer)(text) for text in texts] if tokenizer else list(texts)


@functools.cache
def _tokenizer(name: str) -> Callable[[str], str]:
    from sacrebleu.metrics import BLEU

    tokenizer: Callable[[str], str] = BLEU(tokenize=name).tokenizer
    return tokenizer
