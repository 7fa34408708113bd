"""With games enough, ratings come in the order of a truth that is known."""

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.analysis.trials import true_checkpoints, true_order
from nlgbench.evaluators.comparator.pairs import system_pairs
from nlgbench.generators import checkpoints
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


def test_checkpoints_are_rated_beside_their_true_quality(monkeypatch):
    pytest.importorskip("torch")
    whole = checkpoints.train_checkpoints
    monkeypatch.setattr(
        checkpoints, "train_checkpoints", lambda *a, **k: whole(*a, **(k | {"n": 10, "units": 8}))
    )
    human = nb.simulate("reviews", systems=["grammar_t1.0"], n_outputs=60, n_truth=0, seed=5)
    human = human.replace(outputs=human.outputs.assign(context="")).only(is_human=True)
    written = [f"{word} lid {verb}" for word in ("the", "a", "my") for verb in ("leaks", "broke")]
    weak = pd.DataFrame({"text_a": written, "text_b": [text[::-1] for text in written]}).assign(
        context_a="", context_b="", outcome="better", supervision="weak", margin=1.0
    )
    world = human.replace(related={"human_again": human})
    steps = true_checkpoints(world, weak, seed=1)
    assert steps["progress"].is_unique and steps["progress"].max() == 1
    assert steps["true quality"].lt(0).all()
    assert steps["rating"].notna().all()
