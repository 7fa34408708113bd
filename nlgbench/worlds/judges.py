"""Machine judges whose biases are known, beside people: votes, judgments, verdicts and scores.

People feel an output's quality: its system's mean, the output's own, and what its length adds. Of a
pair, a person prefers the first with Davidson's chances (1970) of the difference in quality, in
nats. A judge sees that difference with an error, and says what chances people have, given what it
sees and the spread of such differences: so a judge without bias is calibrated, and what it says
depends on texts' lengths as people do, and no further. Biases are added to its nats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

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
    Floats,
    chances,
    check_numbers,
    draw_pairs,
    draw_votes,
    drawn,
    judgment_rows,
    numbered,
    output_rows,
    score_rows,
)

#: What a judge is unless it says otherwise: standard deviations of its error on an output and of
#: each answer, in units of an output's own quality; nats for what is shown first, for a text twice
#: as long, for its own system's; and by how much its log odds are stretched when it reports them.
FAIR = {"error": 0.7, "noise": 1.0, "first": 0.0, "length": 0.0, "own": 0.0, "stretch": 1.0}
JUDGES: dict[str, dict[str, float]] = {
    "fair": {},
    "hasty": {"first": 0.13},  # of a hundred flips 70 go to the first
    "wordy": {"length": 0.6},
    "vain": {"own": 0.8},
    "certain": {"stretch": 3.0},
}
#: Doublings by which texts' lengths differ within a system, and between systems.
LENGTH_SD, WORDINESS = 0.6, 0.2
#: Words of a text of middling length.
WORDS = 30
_SYLLABLES = [one + two for one in "bdfgklmnprstv" for two in "aeiou"]
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
    seed: int | np.random.Generator,
) -> Study:
    """Simulate people and judges who answer for the same outputs.

    Of each item `n_pairs` pairs of systems are drawn; `n_votes` annotators vote on each, and each
    judge compares it in both orders. Of all outputs a share `judged` is drawn at random, and
    `n_judgments` annotators judge each of them from 1 to 5; each judge scores all outputs so
    (evaluators ``JUDGE@score``). The first judge wrote the first system, and so on. To people a
    text twice as long is better by `people_length` nats. A judge takes what `FAIR` names.

    ``truth["judges"]``: judge, system (which it wrote, or ""), and what was planted, in the units
    of `FAIR`. ``truth["systems"]``: system, value (expectation of a judgment), ability (mean
    quality in nats), doublings (of the middling length, on average). ``truth["outputs"]``:
    output_id, value (its quality, in nats), doublings.
    """
    k = len(means)
    check_numbers(n_items=n_items, n_annotators=n_annotators, n_votes=(n_votes, n_annotators))
    check_numbers(n_judgments=(n_judgments, n_annotators))
    if not 0 <= judged <= 1:
        raise ValueError(f"judged must be a share of the outputs, 0 to 1. Got {judged}.")
    for one in judges.values():
        for name in one:
            known(name, list(FAIR), "of a judge")
    rng = np.random.default_rng(seed)
    names, people = numbered("s", k, 2), numbered("w", n_annotators)
    items = numbered("i", n_items, 4)
    item, system = np.divmod(np.arange(n_items * k), k)
    # The middle systems write most, so that length and quality of systems do not go together.
    wordy = np.round(WORDINESS * np.cos(np.linspace(-np.pi, np.pi, k)), 6)
    texts, doublings = _texts(wordy[system] + rng.normal(0, LENGTH_SD, len(item)), rng)
    quality = np.asarray(means, dtype=np.float64)[system] + rng.normal(0, OUTPUT_SD, len(item))
    quality += people_length * doublings
    ids = items[item] + "-" + names[system]
    taste = rng.normal(0, SYSTEM_BY_ANNOTATOR_SD, (n_annotators, k))

    a, b = draw_pairs(n_items, k, n_pairs, rng)
    voter = drawn(len(a), n_annotators, n_votes, rng)
    gap = (quality[a] - quality[b])[:, None]
    gap = gap + taste[voter, system[a][:, None]] - taste[voter, system[b][:, None]]
    sides = np.repeat(ids[a], n_votes), np.repeat(ids[b], n_votes)
    preferences = draw_votes(*sides, people[voter.ravel()], chances(gap.ravel(), NU), rng)

    hardness = rng.normal(0, ITEM_SD, n_items)[item]
    output = np.sort(rng.permutation(len(item))[: round(judged * len(item))])
    who = drawn(len(output), n_annotators, n_judgments, rng)
    felt = (quality - hardness)[output][:, None] + taste[who, system[output][:, None]]
    felt = felt - rng.normal(0, SEVERITY_SD, n_annotators)[who] + rng.normal(0, NOISE_SD, who.shape)
    said = 1.0 + np.searchsorted(THRESHOLDS, felt.ravel())
    by = np.repeat(ids[output], n_judgments), people[who.ravel()]
    judgments = judgment_rows(*by, said, "quality")

    lead = np.asarray(means) + people_length * wordy
    spread = 2 * (OUTPUT_SD**2 + (people_length * LENGTH_SD) ** 2)
    upper, lower = np.triu_indices(k, 1)
    spread += np.square(lead[upper] - lead[lower]).mean()
    first, second = np.append(a, b), np.append(b, a)
    comparisons, rows = [], []
    scores: dict[str, Floats] = {}
    for number, (name, given) in enumerate(judges.items()):
        planted = FAIR | dict(given)
        error = planted["error"] * rng.normal(0, 1, len(item))
        author = number if wrote is None else wrote
        bias = planted["length"] * doublings + planted["own"] * (system == author)
        gap = (quality + error)[first] - (quality + error)[second]
        gap += planted["noise"] * rng.normal(0, 1, len(gap))
        kept = spread / (spread + 2 * planted["error"] ** 2 + planted["noise"] ** 2)
        nats = kept * gap + bias[first] - bias[second] + planted["first"]
        unseen = np.sqrt(spread * (1 - kept) + 2 * SYSTEM_BY_ANNOTATOR_SD**2)
        verdicts = pd.DataFrame(_mean_chances(planted["stretch"] * nats, unseen), columns=_CHANCES)
        shown = {"output_a": ids[first], "output_b": ids[second], "comparator": name}
        comparisons.append(verdicts.assign(**shown))
        liked = np.searchsorted(THRESHOLDS, quality - hardness + error + bias)
        scores[f"{name}@score"] = 1.0 + liked
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


def _texts(doublings: Floats, rng: np.random.Generator) -> tuple[list[str], Floats]:
    """Write invented words, and say by how many doublings each text is longer than is middling."""
    syllable = np.array(_SYLLABLES, dtype=object)
    made = rng.integers(len(syllable), size=(300, 3))
    words = syllable[made[:, 0]] + syllable[made[:, 1]]
    words[::2] += syllable[made[::2, 2]]
    n_words = np.maximum(2, np.rint(WORDS * 2.0**doublings)).astype(np.int64)
    picked = words[rng.integers(len(words), size=n_words.sum())].tolist()
    ends = np.cumsum(n_words).tolist()
    texts = [
        " ".join(picked[start:end]).capitalize() + "."
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    # A word of five letters and a half on average, with a blank.
    return texts, np.log2([len(text) / (6 * WORDS) for text in texts])


def _mean_chances(nats: Floats, spread: float) -> Floats:
    """Average Davidson's chances over a normal spread of the gap, by a fine grid of gaps."""
    grid = np.linspace(-25, 25, 1001)
    each = chances((grid[:, None] + spread * _NODES).ravel(), NU).reshape(len(grid), -1, 3)
    whole = np.einsum("gnc,n->gc", each, _WEIGHTS / _WEIGHTS.sum())
    said = np.column_stack([np.interp(nats, grid, column) for column in whole.T])
    return np.asarray(said / said.sum(axis=1, keepdims=True))
