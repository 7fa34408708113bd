"""Simulated judgments, votes and scores; annotators differ in severity and taste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.arrays import Floats, Seed
from nlgbench.names import known
from nlgbench.study import Study, from_rows
from nlgbench.worlds.tables import (
    chances,
    check_numbers,
    draw_distinct,
    draw_votes,
    judgment_rows,
    name_systems,
    numbered,
    output_rows,
    score_rows,
)

Design = Literal["crossed", "scattered", "distinct"]
Scale = Literal["continuous", "ordinal"]

#: Standard deviations, relative to that of an output's own quality.
OUTPUT_SD, ITEM_SD, SEVERITY_SD, SYSTEM_BY_ANNOTATOR_SD, NOISE_SD = 1.0, 0.5, 0.5, 0.25, 1.0
#: Thresholds that map a latent judgment to one of five values.
THRESHOLDS = (-1.8, -0.6, 0.6, 1.8)
#: Evaluator -> standard deviation of its error, relative to that of an output's own quality.
ERRORS = {"close": 0.5, "coarse": 1.5, "blind": 8.0}
#: Davidson's nu, which determines the share of ties.
NU = 0.5


def judgment_world(
    *,
    means: Sequence[float] = (0.6, 0.3, 0.3, 0.0, -0.3),
    n_items: int = 100,
    n_annotators: int = 20,
    n_votes: int = 3,
    design: Design = "crossed",
    scale: Scale = "continuous",
    missing: float = 0.0,
    seed: Seed,
) -> Study:
    """Simulate judgments of systems with known expectations over items and annotators.

    A judgment is the system's mean, minus the item's difficulty, plus the output's own quality
    (standard deviation 1), minus the annotator's severity (.5), plus the annotator's taste for the
    system (.25), plus noise (1). Scale ``"ordinal"`` maps it to 1 to 5. Designs: ``"crossed"``:
    every annotator judges every output. ``"scattered"``: `n_votes` annotators are drawn for each
    output, the diligent ones more often. ``"distinct"``: each item has `n_votes` annotators of its
    own. A share `missing` of judgments is removed at random.

    ``truth``: ``systems`` (expected judgments, in the order of `means`; names are random),
    ``annotators`` (severity), ``outputs`` (quality).
    """
    known(design, get_args(Design), "design")
    known(scale, get_args(Scale), "scale")
    if not 0 <= missing < 1:
        raise ValueError(f"missing must be at least 0 and below 1. Got {missing}.")
    if len(means) < 2:
        raise ValueError(f"means must contain at least two systems' means. Got {list(means)}.")
    most = n_annotators if design == "scattered" else n_votes
    check_numbers(n_items=n_items, n_annotators=n_annotators, n_votes=(n_votes, most))
    rng = np.random.default_rng(seed)
    k = len(means)
    n_outputs, n_judges = k * n_items, n_annotators
    system, item = np.divmod(np.arange(n_outputs), n_items)
    output = np.repeat(np.arange(n_outputs), n_annotators if design == "crossed" else n_votes)
    if design == "crossed":
        annotator = np.tile(np.arange(n_annotators), n_outputs)
    elif design == "distinct":
        n_judges = n_items * n_votes
        annotator = (item[:, None] * n_votes + np.arange(n_votes)).ravel()
    else:
        # An exponential race draws without replacement, with probabilities weighted by diligence.
        diligence = rng.lognormal(0, 0.5, n_annotators)
        race = rng.exponential(size=(n_outputs, n_annotators)) / diligence
        annotator = np.argpartition(race, n_votes - 1, axis=1)[:, :n_votes].ravel()
    severity = rng.normal(0, SEVERITY_SD, n_judges)
    taste = rng.normal(0, SYSTEM_BY_ANNOTATOR_SD, (k, n_judges))
    quality = np.asarray(means, dtype=np.float64)[system] + rng.normal(0, OUTPUT_SD, n_outputs)
    quality += rng.normal(0, ITEM_SD, n_items)[item]
    present = rng.random(len(output)) >= missing
    output, annotator = output[present], annotator[present]
    latent = quality[output] - severity[annotator] + taste[system[output], annotator]
    latent += rng.normal(0, NOISE_SD, len(output))
    value = 1.0 + np.searchsorted(THRESHOLDS, latent) if scale == "ordinal" else latent
    names = name_systems(numbered("s", k, 2), rng)
    who, items = numbered("w", n_judges), numbered("i", n_items, 4)
    ids = items[item] + "-" + names[system]
    net_severity = severity - taste.mean(axis=0)
    true = expectation(np.asarray(means, dtype=np.float64), scale)
    return from_rows(
        outputs=output_rows(ids, items[item], names[system]),
        judgments=judgment_rows(ids[output], who[annotator], value, "quality"),
        name="judgments",
        source="simulated",
        settings={"quality": "quality"},
        truth={
            "systems": pd.DataFrame({"system": names, "value": true}),
            "annotators": pd.DataFrame({"annotator_id": who, "severity": net_severity}),
            "outputs": pd.DataFrame({"output_id": ids, "value": quality}),
        },
    )


def expectation(means: Floats, scale: Scale, *more: float) -> Floats:
    """Compute each system's expected judgment; `more` are deviations of further differences."""
    if scale == "continuous":
        return means
    spread = (OUTPUT_SD, ITEM_SD, SEVERITY_SD, SYSTEM_BY_ANNOTATOR_SD, NOISE_SD, *more)
    total = np.sqrt(np.sum(np.square(spread)))
    return np.asarray(1 + norm.sf((np.array(THRESHOLDS) - means[:, None]) / total).sum(axis=1))


def own_world(
    *, n_pairs: int = 2, errors: Mapping[str, float] = ERRORS, seed: Seed, **judged: Any
) -> Study:
    """Simulate judgments (`judgment_world`), and votes and scores of the same outputs.

    For each item, `n_pairs` pairs of outputs are drawn, and three annotators vote on each, with
    Davidson's probabilities for the outputs' latent values. An evaluator's score is that value plus
    a normal error. Truth is that of `judgment_world`; outputs' values are in ``truth["outputs"]``.
    """
    rng = np.random.default_rng(seed)
    study = judgment_world(seed=rng, **judged)
    assert study.truth is not None and study.judgments is not None
    true = study.truth["outputs"]["value"].to_numpy()
    ids = study.outputs["output_id"].to_numpy()
    scores = {name: true + rng.normal(0, error, len(true)) for name, error in errors.items()}
    annotators = study.judgments["annotator_id"].unique()
    by_item = study.outputs.groupby("item_id", sort=False).indices.values()
    pairs = [rng.choice(rows, 2, replace=False) for rows in by_item for _ in range(n_pairs)]
    distinct = np.unique(pairs, axis=0)
    n_votes = min(3, len(annotators))
    who = draw_distinct(len(distinct), len(annotators), n_votes, rng).ravel()
    first, second = np.repeat(distinct, n_votes, axis=0).T
    chance = chances(true[first] - true[second], NU)
    votes = draw_votes(ids[first], ids[second], annotators[who], chance, rng)
    return study.replace(scores=score_rows(ids, scores), preferences=votes, name="own")
