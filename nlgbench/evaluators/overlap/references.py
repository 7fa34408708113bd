"""What outputs are compared with: references that are given, or similar human texts."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from nlgbench.names import did_you_mean

_CELLS = 5_000_000  # of the dense block of cosines that is held at once: 40 MB


def usable(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Check hypotheses with their references, and leave out references without words.

    Parameters
    ----------
    hypotheses : sequence of str
        Texts to score; they may be empty.
    references : sequence of sequences of str
        For each hypothesis its references, any number.

    Returns
    -------
    list of list of str
        For each hypothesis the references that have a word; an empty list where none has.

    Raises
    ------
    ValueError
        Where lengths differ, or something is not a text, with its position.

    Notes
    -----
    The rule of all overlap metrics here: what has no usable reference is scored NaN; an empty
    hypothesis that has one is scored 0.

    Examples
    --------
    >>> usable(["it leaks", "it works"], [["it drips", " "], []])
    [['it drips'], []]
    """
    if isinstance(hypotheses, str) or len(hypotheses) != len(references):
        raise ValueError(
            "references must hold a list of texts for each hypothesis. Got "
            f"{len(references):,} lists for {len(hypotheses):,} hypotheses."
        )
    found = []
    for at, (hypothesis, texts) in enumerate(zip(hypotheses, references, strict=True)):
        if not isinstance(hypothesis, str):
            raise ValueError(f"hypothesis {at} must be a text. Got {hypothesis!r}.")
        if isinstance(texts, str):
            raise ValueError(f"references of hypothesis {at} must be a list: put {texts!r} in one.")
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(f"a reference of hypothesis {at} must be a text. Got {text!r}.")
        found.append([text for text in texts if text.strip()])
    return found


def similar_references(
    texts: Sequence[str],
    pool: Sequence[str],
    *,
    n: int = 10,
    exclude_self: Literal["text", "position", "no"] = "text",
) -> list[list[str]]:
    """Take the most similar human texts as references, where no others are.

    Parameters
    ----------
    texts : sequence of str
        What is to be scored. Words are what whitespace separates: lower-case and tokenize before.
    pool : sequence of str
        Human texts. A text that stands in it twice can be returned twice.
    n : int
        References for each text.
    exclude_self : {"text", "position", "no"}
        What of the pool is not a reference. ``"text"``: every text with the same words in the
        same order, so that nobody's text is its own reference, nor is its repetition by another
        person; but a system that copies a human text loses that match, too. ``"position"``: `texts`
        are the pool, and each leaves out only itself: repetitions stay. ``"no"``: nothing; right
        for systems whose copies shall count.

    Returns
    -------
    list of list of str
        `n` texts of the pool for each, the most similar first. Equally similar ones (cosines that
        agree to 12 decimals) come in the order of the pool; so do those that share no word.

    Raises
    ------
    ValueError
        If the pool has no words or too few texts, or, by position, is not `texts`.

    Notes
    -----
    Cosine of TF-IDF vectors of words: count times ``ln((1 + N) / (1 + df)) + 1``, N and df
    counted in the pool (scikit-learn's TfidfVectorizer); words that the pool lacks count nothing.

    Examples
    --------
    >>> pool = ["the lid leaks", "the zipper broke", "the lid broke"]
    >>> similar_references(["my lid leaks", "the zipper broke"], pool, n=1)
    [['the lid leaks'], ['the lid broke']]
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    ways = ("text", "position", "no")
    if exclude_self not in ways:
        raise ValueError(
            f"exclude_self: {exclude_self!r} is unknown.{did_you_mean(exclude_self, ways)} "
            f"There are: {', '.join(ways)}."
        )
    if exclude_self == "position" and list(texts) != list(pool):
        raise ValueError(
            "exclude_self='position' needs texts and pool to be the same texts in the same order: "
            "score other texts apart, with 'text' or 'no'."
        )
    words = [tuple(text.split()) for text in pool]
    if not any(words):
        raise ValueError("similar_references needs a pool with words. Got none.")
    same: dict[tuple[str, ...], list[int]] = {}
    for position, key in enumerate(words):
        same.setdefault(key, []).append(position)

    tfidf = TfidfVectorizer(token_pattern=r"\S+", lowercase=False)
    by_word = tfidf.fit_transform(pool).T.tocsr()
    rows = tfidf.transform(texts)
    found = []
    step = max(1, _CELLS // len(pool))
    for start in range(0, len(texts), step):
        # Rounding makes ties of equal cosines whose sums were added up in another order.
        cosine = (rows[start : start + step] @ by_word).toarray().round(12)
        for at, row in enumerate(cosine, start):
            own = {"text": same.get(tuple(texts[at].split()), []), "position": [at], "no": []}
            left_out = own[exclude_self]
            if not 1 <= n <= len(pool) - len(left_out):
                raise ValueError(
                    f"n must be between 1 and the number of pool texts left for each text. Got n="
                    f"{n}; text {at} has {len(pool) - len(left_out)} of {len(pool)} left."
                )
            row[left_out] = -1.0
            nearest = np.argsort(-row, kind="stable")[:n]
            found.append([pool[position] for position in nearest])
    return found
