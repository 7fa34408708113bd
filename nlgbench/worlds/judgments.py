"""Simulated judgments of systems by annotators who differ, laid out as studies lay them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from nlgbench.study import Study, trusted

Floats = NDArray[np.float64]
Design = Literal["crossed", "scattered", "distinct"]
Scale = Literal["continuous", "ordinal"]

#: Standard deviations, in units of that of an output's own quality.
OUTPUT_SD, ITEM_SD, SEVERITY_SD, SYSTEM_BY_ANNOTATOR_SD, NOISE_SD = 1.0, 0.5, 0.5, 0.25, 1.0
#: Between which of five values a latent judgment falls.
THRESHOLDS = (-1.8, -0.6, 0.6, 1.8)


def judgment_world(
    *,
    means: Sequence[float] = (0.6, 0.3, 0.3, 0.0, -0.3),
    n_items: int = 100,
    n_annotators: int = 20,
    n_votes: int = 3,
    design: Design = "crossed",
    scale: Scale = "continuous",
    missing: float = 0.0,
    seed: int | np.random.Generator,
) -> Study:
    """Simulate judgments of systems whose expectations over items and annotators are known.

    A judgment is the system's mean, less the item's difficulty, plus the output's own quality (the
    unit: standard deviation 1), less the annotator's severity (.5), plus what the annotator makes
    of the system (.25), plus noise (1); ``"ordinal"`` cuts it into 1 to 5. ``"crossed"``: every
    annotator judges every output. ``"scattered"``: `n_votes` annotators judge an output, drawn for
    each, and some do far more than others, as in WebNLG 2020. ``"distinct"``: each item has
    `n_votes` annotators of its own, who judge all its outputs. A share `missing` of judgments is
    left out at random.

    ``truth["systems"]``: system and value, the expectation of a judgment over items and
    annotators. ``truth["annotators"]``: annotator_id and severity, how much lower than their
    population's mean they judge the average system before values are cut.
    """
    known_designs, known_scales = get_args(Design), get_args(Scale)
    fewest = min(n_items, n_annotators, n_votes, len(means))
    too_many = design == "scattered" and n_votes > n_annotators
    if design not in known_designs or scale not in known_scales or not 0 <= missing < 1:
        raise ValueError(
            f"design must be one of {known_designs}, scale one of {known_scales}, and missing a "
            f"share below 1. Got {design!r}, {scale!r}, {missing}."
        )
    if fewest < 1 or len(means) < 2 or too_many:
        raise ValueError(
            "a world needs two systems, an item, an annotator and a vote, and no more votes of an "
            f"output than annotators. Got {len(means)} means, n_items={n_items}, "
            f"n_annotators={n_annotators}, n_votes={n_votes}."
        )
    rng = np.random.default_rng(seed)
    k = len(means)
    output, annotator = _dealt(design, k * n_items, n_items, n_annotators, n_votes, rng)
    system, item = np.divmod(np.arange(k * n_items), n_items)
    n_judges = int(annotator.max()) + 1 if design == "distinct" else n_annotators
    severity = rng.normal(0, SEVERITY_SD, n_judges)
    taste = rng.normal(0, SYSTEM_BY_ANNOTATOR_SD, (k, n_judges))
    quality = np.asarray(means, dtype=np.float64)[system] + rng.normal(0, OUTPUT_SD, k * n_items)
    quality += rng.normal(0, ITEM_SD, n_items)[item]
    kept = rng.random(len(output)) >= missing
    output, annotator = output[kept], annotator[kept]
    felt = quality[output] - severity[annotator] + taste[system[output], annotator]
    felt += rng.normal(0, NOISE_SD, len(output))
    value = 1.0 + np.searchsorted(THRESHOLDS, felt) if scale == "ordinal" else felt
    names = np.array([f"s{n:02d}" for n in range(1, k + 1)], dtype=object)
    people = np.array([f"w{n:03d}" for n in range(1, n_judges + 1)], dtype=object)
    items = np.array([f"i{n:04d}" for n in range(1, n_items + 1)], dtype=object)
    ids = items[item] + "-" + names[system]
    outputs = pd.DataFrame({"output_id": ids, "item_id": items[item], "system": names[system]})
    judgments = pd.DataFrame({"output_id": ids[output], "annotator_id": people[annotator]})
    judgments = judgments.assign(dimension="quality", group_id="", value=value)
    shown = severity - taste.mean(axis=0)
    true = expectation(np.asarray(means, dtype=np.float64), scale)
    return trusted(
        outputs=outputs.assign(text="", is_human=False, context=""),
        judgments=judgments,
        name="judgments",
        source="simulated",
        settings={"quality": "quality"},
        truth={
            "systems": pd.DataFrame({"system": names, "value": true}),
            "annotators": pd.DataFrame({"annotator_id": people, "severity": shown}),
            "outputs": pd.DataFrame({"output_id": ids, "value": quality}),
        },
    )


def expectation(means: Floats, scale: Scale) -> Floats:
    """Give the expectation of a judgment of each system: of cut values by the normal law."""
    if scale == "continuous":
        return means
    spread = (OUTPUT_SD, ITEM_SD, SEVERITY_SD, SYSTEM_BY_ANNOTATOR_SD, NOISE_SD)
    total = np.sqrt(np.sum(np.square(spread)))
    return np.asarray(1 + norm.sf((np.array(THRESHOLDS) - means[:, None]) / total).sum(axis=1))


def _dealt(
    design: Design,
    n_outputs: int,
    n_items: int,
    n_annotators: int,
    n_votes: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Say who judges which output."""
    if design == "crossed":
        output, annotator = np.divmod(np.arange(n_outputs * n_annotators), n_annotators)
        return output, annotator
    output = np.repeat(np.arange(n_outputs), n_votes)
    if design == "distinct":
        return output, output % n_items * n_votes + np.tile(np.arange(n_votes), n_outputs)
    # The most diligent annotators first to finish a race: draws without replacement, by weight.
    diligence = rng.lognormal(0, 0.5, n_annotators)
    race = rng.exponential(size=(n_outputs, n_annotators)) / diligence
    return output, np.argpartition(race, n_votes - 1, axis=1)[:, :n_votes].ravel()
