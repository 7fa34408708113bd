"""With games enough, ratings come in the order of a truth that is known."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.analysis.trials import true_order
from nlgbench.evaluators.comparator.pairs import system_pairs
from nlgbench.papers import learning_to_compare as paper
from nlgbench.study import from_tables
from nlgbench.worlds.quality import true_comparisons

SKILL = {"best": 1.0, "good": 0.5, "fair": 0.0}


def outputs_of(systems, n=40):
    ids = [f"{system}{at}" for system in systems for at in range(n)]
    return pd.DataFrame({"output_id": ids, "item_id": ids, "text": ids}).assign(
        system=np.repeat([*systems], n), is_human=False, context=""
    )


@pytest.fixture(scope="module")
def world():
    """Three systems half a nat apart, whose outputs differ by as much among themselves."""
    rng = np.random.default_rng(0)
    table = outputs_of(SKILL)
    quality = table["system"].map(SKILL) + rng.normal(0, 0.5, len(table))
    truth = {"outputs": table[["output_id"]].assign(quality=quality)}
    judged = table[["output_id"]].assign(annotator_id="w", dimension="quality", value=quality)
    return from_tables(
        table,
        judged.assign(group_id=""),
        name="mine",
        source="simulated",
        truth={"systems": pd.DataFrame({"system": [*SKILL], "quality": [*SKILL.values()]})},
        related={"many": from_tables(table, name="many", source="simulated", truth=truth)},
        settings={"quality": "quality"},
    )


def test_with_games_enough_ratings_come_in_true_order(world):
    found = true_order(world)
    assert found["clear pairs"].eq(3).all()
    many = found[found["games of two systems"] == 2_000]
    assert many["in true order"].eq(1).all() and many["spearman"].eq(1).all()
    assert found["in true order"].between(0, 1).all()


def test_every_way_to_rate_agrees_where_games_are_many(world):
    many = world.related["many"]
    quality = many.truth["outputs"].set_index("output_id")["quality"]
    met = system_pairs(many.outputs, n_per_pair=300, seed=1)
    compared = world.replace(comparisons=true_comparisons(met, quality, accuracy=1.0))
    table = paper.ways_to_rate(compared, world)
    assert table["method"].nunique() == 5
    ranks = table.pivot(index="system", columns="method", values="estimate").corr("spearman")
    assert ranks.eq(1).all(axis=None)
