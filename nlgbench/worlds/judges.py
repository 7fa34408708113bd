"""Simulated judges with known biases, and annotators: votes, judgments, verdicts and scores.

The quality of an output is its system's mean, plus the output's own deviation, plus an effect of
its length. An annotator's vote on a pair follows Davidson's probabilities (1970) for the difference
in quality, in nats. A judge observes that difference with an error. It reports the annotators'
probabilities given its observation and the spread of such differences. An unbiased judge is
therefore calibrated, and depends on length only as much as annotators do. Biases shift its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.random import Generator

from nlgbench.arrays import Floats, Seed
from nlgbench.names import known
from nlgbench.study import Study, from_rows
from nlgbench.worlds.judgments import (
    ITEM_SD,
    NOISE_SD,
    NU,
    OUTPUT_SD,
    SEVERITY_SD,
    SYSTEM_BY_ANNOTATOR_SD,
    THRESHOLDS,
    expectation,
)
from nlgbench.worlds.tables import (
    chances,
    check_numbers,
    draw_distinct,
    draw_pairs,
    draw_votes,
    judgment_rows,
    name_systems,
    numbered,
    output_rows,
    score_rows,
)

#: Defaults of a judge: standard deviations of its error per output and per answer, relative to that
#: of an output's own quality; nats in favor of the first output shown, of a text twice as long, and
#: of its own system's output; and the factor by which its reported log odds are stretched.
FAIR = {"error": 0.7, "noise": 1.0, "first": 0.0, "length": 0.0, "own": 0.0, "stretch": 1.0}
JUDGES: dict[str, dict[str, float]] = {
    "fair": {},
    "hasty": {"first": 0.13},  # 70 of 100 flips favor the first
    "wordy": {"length": 0.6},
    "vain": {"own": 0.8},
    "certain": {"stretch": 3.0},
}
#: Spread of text lengths, in doublings, within a system and between systems.
LENGTH_SD, WORDINESS = 0.6, 0.2
#: Words of a text of medium length.
WORDS = 30
_SYLLABLES = [consonant + two for consonant in "bdfgklmnprstv" for two in "aeiou"]
_CHANCES = ["prob_a", "prob_tie", "prob_b"]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)


def judge_world(
    *,
    means: Sequence[float] = (0.5, 0.25, 0.0, -0.25, -0.5),
    n_items: int = 100,
    n_annotators: int = 20,
    n_pairs: int = 3,
    n_votes: int = 3,
    n_judgments: int = 3,
    judged: float = 1.0,
    people_length: float = 0.4,
    judges: Mapping[str, Mapping[str, float]] = JUDGES,
    wrote: int | None = None,
    seed: Seed,
) -> Study:
    """Simulate annotators and judges of the same outputs.

    For each item, `n_pairs` pairs of systems are drawn; `n_votes` annotators vote on each pair, and
    each judge compares it in both orders. A share `judged` of outputs is judged by `n_judgments`
    annotators from 1 to 5. Each judge scores all outputs on that scale (evaluators
    ``JUDGE@score``). The first judge wrote the outputs of the first system, and so on; with
    `wrote`, all judges wrote those of the system at that position. Annotators prefer a text twice
    as long by `people_length` nats. `FAIR` lists a judge's options.

    ``truth``: ``judges`` (own system, parameters in the units of `FAIR`), ``systems`` (value:
    expected judgment; ability in nats; doublings: mean length relative to medium), ``outputs``
    (value in nats, doublings).
    """
    k = len(means)
    check_numbers(n_items=n_items, n_annotators=n_annotators, n_votes=(n_votes, n_annotators))
    check_numbers(n_judgments=(n_judgments, n_annotators))
    if not 0 <= judged <= 1:
        raise ValueError(f"judged must be a share of outputs, from 0 to 1. Got {judged}.")
    for options in judges.values():
        for name in options:
            known(name, list(FAIR), "options of a judge")
    rng = np.random.default_rng(seed)
    names = name_systems(numbered("s", k, 2), rng)
    annotators = numbered("w", n_annotators)
    items = numbered("i", n_items, 4)
    item, system = np.divmod(np.arange(n_items * k), k)
    # The middle systems write the longest texts, so that length and quality are uncorrelated.
    wordy = np.round(WORDINESS * np.cos(np.linspace(-np.pi, np.pi, k)), 6)
    texts, doublings = _write_texts(wordy[system] + rng.normal(0, LENGTH_SD, len(item)), rng)
    quality = np.asarray(means, dtype=np.float64)[system] + rng.normal(0, OUTPUT_SD, len(item))
    quality += people_length * doublings
    ids = items[item] + "-" + names[system]
    taste = rng.normal(0, SYSTEM_BY_ANNOTATOR_SD, (n_annotators, k))

    a, b = draw_pairs(n_items, k, n_pairs, rng)
    voter = draw_distinct(len(a), n_annotators, n_votes, rng)
    gap = (quality[a] - quality[b])[:, None]
    gap = gap + taste[voter, system[a][:, None]] - taste[voter, system[b][:, None]]
    sides = np.repeat(ids[a], n_votes), np.repeat(ids[b], n_votes)
    preferences = draw_votes(*sides, annotators[voter.ravel()], chances(gap.ravel(), NU), rng)

    difficulty = rng.normal(0, ITEM_SD, n_items)[item]
    output = np.sort(rng.permutation(len(item))[: round(judged * len(item))])
    who = draw_distinct(len(output), n_annotators, n_judgments, rng)
    latent = (quality - difficulty)[output][:, None] + taste[who, system[output][:, None]]
    latent -= rng.normal(0, SEVERITY_SD, n_annotators)[who]
    latent += rng.normal(0, NOISE_SD, who.shape)
    values = 1.0 + np.searchsorted(THRESHOLDS, latent.ravel())
    keys = np.repeat(ids[output], n_judgments), annotators[who.ravel()]
    judgments = judgment_rows(*keys, values, "quality")

    lead = np.asarray(means) + people_length * wordy
    spread = 2 * (OUTPUT_SD**2 + (people_length * LENGTH_SD) ** 2)
    upper, lower = np.triu_indices(k, 1)
    spread += np.square(lead[upper] - lead[lower]).mean()
    first, second = np.append(a, b), np.append(b, a)
    comparisons, rows = [], []
    scores: dict[str, Floats] = {}
    for number, (name, options) in enumerate(judges.items()):
        planted = FAIR | dict(options)
        error = planted["error"] * rng.normal(0, 1, len(item))
        author = number if wrote is None else wrote
        bias = planted["length"] * doublings + planted["own"] * (system == author)
        gap = (quality + error)[first] - (quality + error)[second]
        gap += planted["noise"] * rng.normal(0, 1, len(gap))
        weight = spread / (spread + 2 * planted["error"] ** 2 + planted["noise"] ** 2)
        nats = weight * gap + bias[first] - bias[second] + planted["first"]
        uncertainty = np.sqrt(spread * (1 - weight) + 2 * SYSTEM_BY_ANNOTATOR_SD**2)
        shares = _mean_chances(planted["stretch"] * nats, uncertainty)
        verdicts = pd.DataFrame(shares, columns=_CHANCES)
        pair = {"output_a": ids[first], "output_b": ids[second], "comparator": name}
        comparisons.append(verdicts.assign(**pair))
        level = np.searchsorted(THRESHOLDS, quality - difficulty + error + bias)
        scores[f"{name}@score"] = 1.0 + level
        rows.append({"judge": name, "system": names[author] if author < k else ""} | planted)

    answers = {}
    if judges:
        answers = {"comparisons": pd.concat(comparisons), "scores": score_rows(ids, scores)}
    value = expectation(lead, "ordinal", people_length * LENGTH_SD)
    by_system = {"system": names, "value": value, "ability": lead, "doublings": wordy}
    return from_rows(
        outputs=output_rows(ids, items[item], names[system]).assign(text=texts),
        judgments=judgments,
        preferences=preferences,
        **answers,
        name="judges",
        source="simulated",
        settings={"quality": "quality"},
        truth={
            "judges": pd.DataFrame(rows),
            "systems": pd.DataFrame(by_system),
            "outputs": pd.DataFrame({"output_id": ids, "value": quality, "doublings": doublings}),
        },
    )


def _write_texts(doublings: Floats, rng: Generator) -> tuple[list[str], Floats]:
    """Generate texts of invented words, and return their lengths in doublings of the medium."""
    syllable = np.array(_SYLLABLES, dtype=object)
    letters = rng.integers(len(syllable), size=(300, 3))
    vocabulary = syllable[letters[:, 0]] + syllable[letters[:, 1]]
    vocabulary[::2] += syllable[letters[::2, 2]]
    n_words = np.maximum(2, np.rint(WORDS * 2.0**doublings)).astype(np.int64)
    picked = vocabulary[rng.integers(len(vocabulary), size=n_words.sum())].tolist()
    ends = np.cumsum(n_words).tolist()
    texts = [
        " ".join(picked[start:end]).capitalize() + "."
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    # Words take 6 characters on average, with the space.
    return texts, np.log2([len(text) / (6 * WORDS) for text in texts])


def _mean_chances(nats: Floats, spread: float) -> Floats:
    """Average Davidson's probabilities over a normal spread of the gap, on a fine grid."""
    grid = np.linspace(-25, 25, 1001)
    probabilities = chances((grid[:, None] + spread * _NODES).ravel(), NU).reshape(len(grid), -1, 3)
    means = np.einsum("gnc,n->gc", probabilities, _WEIGHTS / _WEIGHTS.sum())
    averaged = np.column_stack([np.interp(nats, grid, column) for column in means.T])
    return np.asarray(averaged / averaged.sum(axis=1, keepdims=True))
