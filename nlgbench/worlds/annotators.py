"""Simulated annotators: typicality of texts, ratings, and the distribution of their sum."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import pearsonr
from scipy.stats import t as student

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.generators.reviews import review_grammar
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n

HIGHEST = 5
_SLOPE, _SHIFT = 3.0, 7.55  # -0.85 nats per token maps to 5 ("very typical"), -2.35 to 0.5
_INVALID = -1.0  # below the typicality of almost all sentences of the grammar
#: Nats per token that correspond to the typicality of an invalid text.
INVALID_NATS = (_INVALID - _SHIFT) / _SLOPE
REAL_ABOVE = 2.0
BIAS_SD, NOISE_SD, CARELESS = 0.5, 1.1, 0.1
_CONFIDENCE = 0.95  # Figure 2 has 90%


@dataclass(frozen=True, eq=False)
class Panel:
    """A sample of annotators, who all judge every output."""

    leniency: Floats  # each annotator's shift of all ratings, before rounding
    careless: NDArray[np.bool_]  # annotators who rate 0 to 5 at random


def draw_annotators(n: int, *, seed: Seed) -> Panel:
    """Draw annotators: leniency has standard deviation .5, and a tenth are careless."""
    rng = np.random.default_rng(seed)
    return Panel(rng.normal(0, BIAS_SD, size=n), rng.random(n) < CARELESS)


def typicality(logprob_per_token: Floats) -> Floats:
    """Convert log-probability per token to typicality on the scale of the ratings."""
    inside = np.isfinite(logprob_per_token)
    return np.where(inside, _SLOPE * logprob_per_token + _SHIFT, _INVALID)


def typicality_of(texts: list[str]) -> Floats:
    """Compute the typicality of reviews from their probability under the reference."""
    return typicality(review_grammar().logprob(texts) / n_tokens(texts))


def judge(panel: Panel, typical: Floats, *, dimension: str = "typicality", seed: Seed) -> Floats:
    """Simulate judgments of every text by every annotator."""
    rng = np.random.default_rng(seed)
    shape = (len(typical), len(panel.leniency))
    latent = typical[:, None] + panel.leniency + rng.normal(0, NOISE_SD, size=shape)
    if dimension == "typicality":
        careful, n_values = np.clip(np.round(latent), 0, HIGHEST), HIGHEST + 1
    else:
        careful, n_values = (latent > REAL_ABOVE).astype(np.float64), 2
    return np.where(panel.careless, rng.integers(n_values, size=shape), careful)


def sum_distribution(panel: Panel, typical: Floats) -> Floats:
    """Compute the exact distribution of the sum of a text's typicality ratings."""
    edges = np.concatenate([[-np.inf], np.arange(HIGHEST) + 0.5, [np.inf]])
    above = (edges[:, None] - typical - panel.leniency[:, None, None]) / NOISE_SD
    rated = np.diff(ndtr(above), axis=1)  # annotators, values, texts
    rated[panel.careless] = 1 / (HIGHEST + 1)
    total = np.ones((1, len(typical)))
    for chances in rated:
        wider = np.zeros((len(total) + HIGHEST, len(typical)))
        for value, chance in enumerate(chances):
            wider[value : value + len(total)] += chance * total
        total = wider
    return np.ascontiguousarray(total.T)


def n_tokens(texts: list[str]) -> Ints:
    """Count the words of texts with single spaces."""
    return np.array([text.count(" ") + 1 for text in texts], dtype=np.int64)


@checked
def typicality_table(*, n_sentences: int = 100, seed: Seed = 0) -> pd.DataFrame:
    """Simulate judgments, by 20 annotators, of sentences from the whole range of log-probability.

    A row per sentence, for `nlgbench.plot_typicality`: text, logprob (nats), n_tokens,
    logprob_per_token, judgment (mean, 0 to 5), ci_low, ci_high (95%, Student's t), confidence,
    source. See Figure 2 of Hashimoto, Zhang and Liang (2019, doi:10.18653/v1/N19-1169).
    """
    check_n(n_sentences, "n_sentences")
    rng = np.random.default_rng(seed)
    texts = list(dict.fromkeys(review_grammar().sample(20_000 + 2 * n_sentences, seed=rng)))
    logprob = review_grammar().logprob(texts)
    order = np.argsort(logprob, kind="stable")
    near = np.linspace(logprob[order[0]], logprob[order[-1]], n_sentences)
    rank = np.searchsorted(logprob[order], near)
    # Keep sentences distinct: at the sparse ends two targets may share their nearest sentence.
    step = np.arange(n_sentences)
    rank = np.maximum.accumulate(rank - step) + step
    last = len(texts) - n_sentences + step
    chosen = order[np.minimum(rank, last)]
    table = pd.DataFrame({"text": [texts[row] for row in chosen], "logprob": logprob[chosen]})
    table["n_tokens"] = n_tokens(table["text"].tolist())
    table["logprob_per_token"] = table["logprob"] / table["n_tokens"]
    typical = typicality(table["logprob_per_token"].to_numpy())
    values = judge(draw_annotators(20, seed=rng), typical, seed=rng)
    table["judgment"] = values.mean(axis=1)
    half = student.ppf(0.5 + _CONFIDENCE / 2, 19) * values.std(axis=1, ddof=1)
    table["ci_low"] = table["judgment"] - half / np.sqrt(20)
    table["ci_high"] = table["judgment"] + half / np.sqrt(20)
    return table.assign(confidence=_CONFIDENCE, source="simulated")


@checked
def typicality_correlation(table: pd.DataFrame) -> pd.DataFrame:
    """Correlate mean judgments of `typicality_table` with log-probability, per text and per token.

    A row for each: x, pearson, ci_low, ci_high (95%, Fisher's), confidence, n.
    """
    table = read_table(
        table, "logprob:number logprob_per_token:number judgment:number", "table has"
    )
    if len(table) < 4:
        raise ValueError(f"table has {len(table)} sentences. An interval needs at least four.")
    rows = []
    for x in ("logprob", "logprob_per_token"):
        correlation = pearsonr(table[x], table["judgment"])
        rows.append((x, correlation.statistic, *correlation.confidence_interval(_CONFIDENCE)))
    table = pd.DataFrame(rows, columns=["x", "pearson", "ci_low", "ci_high"])
    return table.assign(confidence=_CONFIDENCE, n=len(table))
