"""Diversity of a system's outputs, and overlap with human texts: distinct-n, entropy, Self-BLEU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.arrays import Bools, Floats, Seed
from nlgbench.evaluators.references import nearest_texts
from nlgbench.evaluators.tokenizers import split_name, tokenized
from nlgbench.status import Unsupported
from nlgbench.study import Study, from_tables
from nlgbench.text import ngram_counts, ngram_matrix, text_lengths

#: Replaces a count of 0 in the numerator of a precision.
EPSILON = 0.1

#: Maximum number of subsets times n-grams processed at once, to limit memory.
_AT_ONCE = 4_000_000


def score_diversity(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Measure how diverse each system's outputs are: a row per name and system."""
    groups: dict[str, dict[str, str]] = {}  # tokenizer -> metric -> name
    for name in names:
        metric, tokenizer = split_name(name)
        groups.setdefault(tokenizer, {})[metric] = name
    rows = []
    for system, texts_of_system in study.outputs.groupby("system", sort=False)["text"]:
        all_texts = np.ones((1, len(texts_of_system)), dtype=bool)
        for tokenizer, metrics in groups.items():
            bleu = {_order(metric) for metric in metrics if metric.startswith("self_bleu")} or {1}
            max_n = max((_order(metric) for metric in metrics if metric[:4] != "self"), default=1)
            texts = tokenized(texts_of_system, tokenizer)
            scores: dict[str, Any] = {}
            for n in bleu:
                scores |= diversity_of_subsets(texts, all_texts, max_n=max_n, bleu_n=n).iloc[0]
            rows += [
                (system, name, scores[metric], signature(name, len(texts_of_system)))
                for metric, name in metrics.items()
            ]
    return pd.DataFrame(rows, columns=["system", "evaluator", "score", "signature"])


def score_self_bleu(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Score outputs by minus BLEU against their system's other outputs; higher is more diverse."""
    frames = []
    for name in names:
        metric, tokenizer = split_name(name)
        outputs = study.outputs.assign(text=tokenized(study.outputs["text"], tokenizer))
        texts = outputs.groupby("system")["text"]
        score: pd.Series = -texts.transform(self_bleu, max_n=_order(metric))  # type: ignore[arg-type]
        how = [signature(name, size) for size in texts.transform("size")]
        scores = study.outputs[["output_id"]].assign(evaluator=name, score=score, signature=how)
        frames.append(scores)
    return pd.concat(frames, ignore_index=True)


def score_training_overlap(
    study: Study, names: Sequence[str], *, options: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Score machine outputs by BLEU against their nearest neighbors among human texts."""
    outputs, frames = study.outputs, []
    scored = ~outputs["is_human"]
    for name in names:
        n_neighbors, lower = options[name]["n_neighbors"], options[name]["lower"]
        texts, corpus = outputs.loc[scored, "text"], outputs.loc[~scored, "text"]
        if lower:
            texts, corpus = texts.str.lower(), corpus.str.lower()
        if not corpus.str.strip().any():
            raise Unsupported(
                "no_human",
                f"{name} needs human texts that the generators may have learned from. Add human "
                "outputs to the study.",
            )
        overlap = overlap_with_training(
            texts.tolist(), corpus.tolist(), n_neighbors=n_neighbors, max_n=_order(name)
        )
        how = (
            f"training_overlap|n:{_order(name)}|tok:whitespace"
            f"|case:{'lower' if lower else 'mixed'}|smooth:nltk-method1"
            f"|references:{n_neighbors} nearest of {len(corpus)} by TF-IDF"
            "|direction:higher is nearer to the corpus"
        )
        scores = outputs[["output_id"]].assign(evaluator=name, score=np.nan, signature=how)
        scores.loc[scored, "score"] = overlap
        frames.append(scores)
    return pd.concat(frames, ignore_index=True)


def signature(evaluator: str, n_texts: int) -> str:
    """Describe a diversity score; scores are comparable only for equal numbers of texts.

    >>> signature("distinct_2", 150)
    'distinct|n:2|tok:whitespace|case:mixed|texts:150|direction:higher is more diverse'
    """
    metric, tokenizer = split_name(evaluator)
    kind, _, n = metric.rpartition("_")
    is_bleu = kind.endswith("self_bleu")
    how = "|smooth:nltk-method1|references:all others of the system" if is_bleu else ""
    way = "lower" if kind == "self_bleu" else "higher"
    return (
        f"{kind}|n:{n}|tok:{tokenizer or 'whitespace'}|case:mixed{how}|texts:{n_texts}"
        f"|direction:{way} is more diverse"
    )


def _order(name: str) -> int:
    return int(name.rpartition("_")[2])


def diversity_of_subsets(
    texts: Sequence[str], members: Bools, *, max_n: int = 3, bleu_n: int = 4
) -> pd.DataFrame:
    """Measure the diversity of subsets of texts, counting n-grams once: a row per subset.

    `members`, of shape (n_subsets, n_texts), marks each subset's texts. Columns are ``distinct_1``
    to `max_n` (0 to 1, higher is more diverse), ``entropy_n`` (nats) and the mean Self-BLEU as
    ``self_bleu_4`` (*lower* is more diverse), NaN where too few texts have n tokens.

    With N n-grams and counts N_g within texts, ``distinct_n = distinct n-grams / N`` (Li et al.
    2016, doi:10.18653/v1/N16-1014, divide by tokens), and ``entropy_n = log N - sum of N_g log(N_g)
    / N`` (Zhang et al. 2018, arXiv:1809.05972). All depend on the number and length of texts.
    """
    counts = ngram_counts(texts, max_n=max(max_n, bleu_n))
    largest = max(len(order) for order in counts)
    n_parts = -(-members.size * largest // (_AT_ONCE * max(len(texts), 1)))
    subsets = [
        _diversity(counts, subset, max_n, bleu_n)
        for subset in np.array_split(members, min(max(n_parts, 1), len(members)))
    ]
    return pd.concat(subsets, ignore_index=True)


def _diversity(counts: list[pd.DataFrame], members: Bools, max_n: int, bleu_n: int) -> pd.DataFrame:
    columns = {}
    for n, order in enumerate(counts[:max_n], start=1):
        columns[f"distinct_{n}"], columns[f"entropy_{n}"] = _distinct_and_entropy(order, members)
    bleu = self_bleu_of_subsets(counts[:bleu_n], members)
    n_scored = np.isfinite(bleu).sum(axis=1)
    total = np.where(np.isfinite(bleu), bleu, 0).sum(axis=1)
    columns[f"self_bleu_{bleu_n}"] = _ratio(total, n_scored)
    return pd.DataFrame(columns)


def _distinct_and_entropy(order: pd.DataFrame, members: Bools) -> tuple[Floats, Floats]:
    if not len(order):
        return np.full(len(members), np.nan), np.full(len(members), np.nan)
    first = np.flatnonzero(np.diff(order["ngram"], prepend=-1))
    count = order["count"].to_numpy() * members[:, order["text"]]
    per_ngram = np.add.reduceat(count, first, axis=1)
    total = per_ngram.sum(axis=1)
    surprise = (per_ngram * np.log(np.maximum(per_ngram, 1))).sum(axis=1)
    distinct = _ratio((per_ngram > 0).sum(axis=1), total)
    return distinct, np.log(np.maximum(total, 1)) - _ratio(surprise, total)


def _ratio(above: NDArray, below: NDArray) -> Floats:
    return np.where(below > 0, above / np.maximum(below, 1), np.nan)


def self_bleu(texts: Sequence[str], *, max_n: int = 4) -> Floats:
    """Score every text by BLEU with all other texts as references; **higher is less diverse**.

    Zhu et al. (2018, *Texygen*, doi:10.1145/3209978.3210080) report the mean over texts. Each score
    is sentence BLEU (Papineni et al. 2002, doi:10.3115/1073083.1073135) as NLTK computes it, ``BP *
    exp(mean over n of log(p_n))``, where ``p_n = sum over n-grams of min(count, largest count in
    any other text) / max(1, n-grams in the text)``, and a numerator of 0 counts as .1 (method 1 of
    Chen and Cherry 2014, doi:10.3115/v1/W14-3346). BP is ``exp(min(0, 1 - r / c))``, where c is the
    text's length in tokens and r the closest length among the others, the shorter one in a tie. The
    score is 0 for a text that shares no token with the others, and NaN for a single text.

    The largest count in *any other* text is the overall maximum, or the second largest for the text
    that alone has the maximum. Both are found once per n-gram.
    """
    counts = ngram_counts(texts, max_n=max_n)
    return self_bleu_of_subsets(counts, np.ones((1, len(texts)), dtype=bool))[0]


def self_bleu_of_subsets(counts: list[pd.DataFrame], members: Bools) -> Floats:
    """Compute Self-BLEU within subsets of counted texts (`text.ngram_counts`); NaN outside them."""
    n_texts = members.shape[1]
    n_tokens = text_lengths(counts, n_texts)
    matches = np.stack([_matches(order, members) for order in counts])
    bleu = smoothed_bleu(matches, n_tokens, _nearest_other_length(n_tokens, members))
    return np.where(members & (members.sum(axis=1, keepdims=True) > 1), bleu, np.nan)


def smoothed_bleu(matches: Floats, n_tokens: Floats, nearest_length: Floats) -> Floats:
    """Compute BLEU from clipped counts of shape (max_n, ..., n), with smoothing method 1."""
    log_precision = np.zeros(matches.shape[1:])
    for n, matched in enumerate(matches, start=1):
        possible = np.maximum(n_tokens - n + 1, 1)
        log_precision += np.log(np.where(matched > 0, matched, EPSILON) / possible)
    log_penalty = np.minimum(0, 1 - nearest_length / np.maximum(n_tokens, 1))
    # Without a shared token NLTK returns 0, whatever the smoothing.
    return np.where(matches[0] > 0, np.exp(log_precision / len(matches) + log_penalty), 0.0)


def _matches(order: pd.DataFrame, members: Bools) -> Floats:
    """Sum min(count, largest count in any other member) over each text's n-grams of one order."""
    ngram, text = order["ngram"].to_numpy(), order["text"].to_numpy()
    if not len(order):
        return np.zeros(members.shape)
    first = np.flatnonzero(np.diff(ngram, prepend=-1))
    count = order["count"].to_numpy() * members[:, text]
    largest = count == np.maximum.reduceat(count, first, axis=1)[:, ngram]
    alone = np.add.reduceat(largest, first, axis=1, dtype=np.int64)[:, ngram] == 1
    second = np.maximum.reduceat(np.where(largest, 0, count), first, axis=1)[:, ngram]
    clipped = np.where(largest & alone, second, count)
    n_texts = members.shape[1]
    return np.stack([np.bincount(text, weights=row, minlength=n_texts) for row in clipped])


def _nearest_other_length(n_tokens: Floats, members: Bools) -> Floats:
    """Find the closest length among the other members, the shorter one in a tie."""
    length, length_codes = np.unique(n_tokens, return_inverse=True)
    n_with = np.stack([np.bincount(length_codes[row], minlength=len(length)) for row in members])
    below, above = np.full((2, *n_with.shape), [[[-np.inf]], [[np.inf]]])
    below[:, 1:] = np.maximum.accumulate(np.where(n_with > 0, length, -np.inf), axis=1)[:, :-1]
    above[:, :-1] = np.minimum.accumulate(np.where(n_with > 0, length, np.inf)[:, ::-1], axis=1)[
        :, -2::-1
    ]
    nearest = np.where(length - below <= above - length, below, above)
    return np.where(n_with > 1, length, nearest)[:, length_codes]


def overlap_with_training(
    texts: Sequence[str], corpus: Sequence[str], *, n_neighbors: int, max_n: int = 4
) -> Floats:
    """Score texts by BLEU (as in `self_bleu`) against their nearest neighbors in a training corpus.

    **Higher is closer to the corpus**; a text that occurs in it is its own neighbor. Table 14 of
    Garbacea et al. (2019, doi:10.18653/v1/D19-1409) does not define neighbors; we use
    `nearest_texts`.
    """
    counts, order = ngram_matrix([*texts, *corpus], max_n=max_n)
    of_order = (order[:, None] == np.arange(1, max_n + 1)).astype(np.float64)
    n, n_tokens = len(texts), counts @ of_order[:, 0]
    neighbors = nearest_texts(texts, corpus, n=min(n_neighbors, len(corpus)), copies=True)
    largest = counts[n + neighbors[:, 0]]
    for column in neighbors.T[1:]:
        largest = largest.maximum(counts[n + column])
    matches = (counts[:n].minimum(largest) @ of_order).T
    lengths = np.sort(n_tokens[n + neighbors], axis=1)  # so that the shorter of two comes first
    nearest = np.abs(lengths - n_tokens[:n, None]).argmin(axis=1)
    return smoothed_bleu(matches, n_tokens[:n], lengths[np.arange(n), nearest])


def draw_equal(study: Study, *, seed: Seed = 0) -> Study:
    """Draw the same number of outputs from every system, without replacement.

    The smallest system sets the number. The result has no judgments and no scores.
    """
    groups = study.outputs.groupby("system")
    outputs = groups.sample(n=int(groups.size().min()), random_state=np.random.default_rng(seed))
    outputs = outputs.sort_index().reset_index(drop=True)
    return from_tables(outputs, name=study.name, source=study.source)
