"""BLEU and chrF, counted by sacrebleu: per text, and summed over texts."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nlgbench.evaluators.overlap.references import usable
from nlgbench.names import did_you_mean

Floats = NDArray[np.float64]
Style = Literal["sacrebleu", "coco"]

STYLES = ("sacrebleu", "coco")


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    max_n: int = 4,
    style: Style = "sacrebleu",
) -> Floats:
    """Score texts by sentence BLEU.

    Parameters
    ----------
    hypotheses : sequence of str
        Words are what whitespace separates: lower-case and tokenize before.
    references : sequence of sequences of str
        Those of each hypothesis, any number.
    max_n : int
        Longest n-grams.
    style : {"sacrebleu", "coco"}
        ``"sacrebleu"``: missing n-grams smoothed exponentially, and orders longer than the text
        left out. ``"coco"``: pycocoevalcap's (and nlg-eval's), which adds 1e-15 to matches and 1e-9
        to counts, so that a text without a common n-gram gets not 0 but a power of noise (BLEU-4
        of an exact match of 2 words is .001, BLEU-1 is 1 - 1e-9).

    Returns
    -------
    ndarray of shape (n, max_n)
        BLEU-1 to BLEU-`max_n`, 0 to 1, higher is better. NaN where there is no reference, 0 for an
        empty hypothesis.

    Raises
    ------
    ValueError
        Where lengths differ, something is not a text, or an option is unknown.

    Notes
    -----
    Papineni et al. (2002, doi:10.3115/1073083.1073135); the brevity penalty is that of the closest
    reference length, the shorter of two as close. sacrebleu (Post 2018, doi:10.18653/v1/W18-6319)
    counts for both styles.

    Examples
    --------
    >>> bleu(["the lid leaks"], [["the lid leaks badly"]], max_n=2).round(4).tolist()
    [[0.7165, 0.7165]]
    """
    counts, scored = _bleu_counts(hypotheses, references, max_n, style)
    scores = np.full((len(scored), max_n), np.nan)
    scores[scored] = _bleu(counts, max_n, style, effective_order=True)
    return scores


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    max_n: int = 4,
    style: Style = "sacrebleu",
) -> Floats:
    """Score all texts together by corpus BLEU.

    Parameters
    ----------
    hypotheses, references, max_n, style
        As in `bleu`; at corpus level no style leaves orders out.

    Returns
    -------
    ndarray of shape (max_n,)
        BLEU-1 to BLEU-`max_n`, 0 to 1, higher is better, from summed counts and lengths; texts
        without references do not count. NaN where none has one.

    Raises
    ------
    ValueError
        As `bleu`.

    Examples
    --------
    >>> texts, references = ["the lid leaks", "it broke"], [["the lid leaks badly"], ["it broke"]]
    >>> corpus_bleu(texts, references, max_n=2).round(4).tolist()
    [0.8187, 0.8187]
    """
    counts, scored = _bleu_counts(hypotheses, references, max_n, style)
    if not scored.any():
        return np.full(max_n, np.nan)
    return _bleu(counts.sum(axis=0, keepdims=True), max_n, style, effective_order=False)[0]


def _bleu_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], max_n: int, style: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return matches, n-grams (max_n columns each), both lengths; and who has references."""
    from sacrebleu.metrics import BLEU

    if style not in STYLES:
        hint = did_you_mean(style, STYLES)
        raise ValueError(f"style: {style!r} is unknown.{hint} There are: {', '.join(STYLES)}.")
    if max_n < 1:
        raise ValueError(f"max_n must be at least 1. Got {max_n}.")
    found = usable(hypotheses, references)
    metric = BLEU(tokenize="none", max_ngram_order=max_n, effective_order=True)
    counts = []
    for hypothesis, texts in zip(hypotheses, found, strict=True):
        if texts:
            score = metric.sentence_score(hypothesis, texts)
            counts.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    scored = np.array([bool(texts) for texts in found], dtype=bool)
    return np.array(counts, dtype=np.int64).reshape(-1, 2 * max_n + 2), scored


def _bleu(counts: NDArray[np.int64], max_n: int, style: str, *, effective_order: bool) -> Floats:
    from sacrebleu.metrics import BLEU

    correct, total = counts[:, :max_n], counts[:, max_n : 2 * max_n]
    length, closest = counts[:, -2], counts[:, -1]
    if style == "coco":
        tiny, small = 1e-15, 1e-9
        ratio = (length + tiny) / (closest + small)
        penalty = np.exp(np.minimum(0, 1 - 1 / ratio))
        product = np.cumprod((correct + tiny) / (total + small), axis=1)
        return product ** (1 / np.arange(1, max_n + 1)) * penalty[:, None]
    scores = [
        BLEU.compute_bleu(
            correct=row[:n].tolist(),
            total=row[max_n : max_n + n].tolist(),
            sys_len=int(row[-2]),
            ref_len=int(row[-1]),
            smooth_method="exp",
            effective_order=effective_order,
            max_ngram_order=n,
        ).score
        / 100
        for row in counts
        for n in range(1, max_n + 1)
    ]
    return np.array(scores, dtype=np.float64).reshape(-1, max_n)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Score texts by chrF: character n-grams, recall weighing twice as much (beta 2).

    Parameters
    ----------
    hypotheses, references
        As in `bleu`; whitespace does not matter.

    Returns
    -------
    ndarray of shape (n,)
        0 to 1, higher is better: that of the best reference. NaN where there is none, 0 for an
        empty hypothesis.

    Raises
    ------
    ValueError
        Where lengths differ, or something is not a text.

    Notes
    -----
    Popovic (2015, doi:10.18653/v1/W15-3049), by sacrebleu: characters 1 to 6, no words.

    Examples
    --------
    >>> chrf(["it leaks", "it leaks"], [["it leaks"], []]).tolist()
    [1.0, nan]
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    return np.array(
        [
            metric.sentence_score(hypothesis, texts).score / 100 if texts else np.nan
            for hypothesis, texts in zip(hypotheses, usable(hypotheses, references), strict=True)
        ]
    )


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Score all texts together by chrF, from summed counts.

    Parameters
    ----------
    hypotheses, references
        As in `bleu`.

    Returns
    -------
    float
        0 to 1, higher is better; texts without references do not count. NaN where none has one.

    Raises
    ------
    ValueError
        Where lengths differ, or something is not a text.

    Examples
    --------
    >>> corpus_chrf(["it leaks"], [["it leaks"]])
    1.0
    """
    from sacrebleu.metrics import CHRF

    found = usable(hypotheses, references)
    texts = [text for text, listed in zip(hypotheses, found, strict=True) if listed]
    if not texts:
        return np.nan
    streams = list(zip_longest(*(listed for listed in found if listed)))
    return float(CHRF().corpus_score(texts, streams).score / 100)
