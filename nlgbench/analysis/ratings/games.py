"""Comparisons and preferences as games between systems, with items and results."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.evaluators.comparator.comparators import decided
from nlgbench.inference import linked
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import read_table

Of = Literal["comparisons", "preferences"]
Orders = Literal["each", "tie"]
Outcome = Literal["argmax", "sampled", "expected"]

PROBABILITIES = ["prob_a", "prob_tie", "prob_b"]
#: The name of annotators among comparators.
PEOPLE = "people"


def read_games(
    study: Study | pd.DataFrame,
    *,
    of: Of | None = None,
    outcome: Outcome = "argmax",
    dimension: str | None = None,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Read games from a study's comparisons or preferences, or from a table."""
    if isinstance(study, pd.DataFrame):
        return games(_check_table(study), outcome=outcome, seed=seed)
    compared, voted = (
        table is not None and not table.empty for table in (study.comparisons, study.preferences)
    )
    if of is None and compared and voted:
        raise ValueError(
            f"{study.name} has comparisons (a comparator's verdicts) and preferences "
            "(annotators' votes). Choose the games: of='comparisons' or of='preferences'."
        )
    if of == "preferences" or (of is None and voted):
        votes = read_votes(study, dimension)
        table = _with_probabilities(votes, "choice").assign(comparator=PEOPLE)
    else:
        table = join_outputs(study, study.comparisons, "comparisons")
    return games(table, outcome=outcome, seed=seed)


def games_of_one(
    study: Study | pd.DataFrame, *, of: Of | None = None, dimension: str | None = None
) -> pd.DataFrame:
    """Read the games of a single comparator."""
    played = read_games(study, of=of, dimension=dimension)
    n = played["comparator"].nunique()
    if n > 1:
        raise ValueError(f"there are {n} comparators: select the comparisons of one.")
    return played


def games(table: pd.DataFrame, *, outcome: Outcome = "argmax", seed: Seed = 0) -> pd.DataFrame:
    """Convert probabilities to win, tie and loss of system_a, for games between two systems.

    ``"argmax"``: the most probable result, or a tie if two are equally probable, so that swapping a
    and b mirrors it. ``"sampled"``: a random result. ``"expected"``: probabilities as shares.
    """
    chances = table[PROBABILITIES].to_numpy(dtype=np.float64)
    if outcome == "argmax":
        chances = decided(chances)
    elif outcome == "sampled":
        uniform = np.random.default_rng(seed).random(len(table))
        won, not_lost = uniform < chances[:, 0], uniform < chances[:, :2].sum(axis=1)
        chances = np.column_stack([won, not_lost & ~won, ~not_lost]).astype(np.float64)
    played = table.drop(columns=PROBABILITIES)
    played[["win", "tie", "loss"]] = chances
    played = played[played["system_a"] != played["system_b"]].reset_index(drop=True)
    if played.empty:
        raise Unsupported(
            "one_system",
            f"there are no games: all comparisons ({len(table)}) are between two outputs of one "
            "system. Compare outputs of different systems.",
        )
    return played


def merge_orders(played: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts on a pair of outputs in both orders as one game: a tie if they differ."""
    if not {"output_a", "output_b"} <= {*played} or (played["comparator"] == PEOPLE).any():
        raise ValueError(
            "orders='tie' needs a judge's verdicts on pairs of outputs: use of='comparisons', or "
            "orders='each'."
        )
    turned = played["output_a"] > played["output_b"]
    sides = np.sort(played[["output_a", "output_b"]].to_numpy(dtype=object), axis=1)
    keys = played[["comparator"]].assign(first=sides[:, 0], second=sides[:, 1])
    pair = keys.groupby([*keys]).ngroup()
    verdict = (played["win"] - played["loss"]).where(~turned, played["loss"] - played["win"])
    differ = verdict.groupby(pair).transform("nunique") > 1
    merged = played.astype(dict.fromkeys(["win", "tie", "loss"], float))
    merged.loc[differ, ["win", "tie", "loss"]] = 0.0, 1.0, 0.0
    return merged[~pair.duplicated()].reset_index(drop=True)


def single_outputs(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Treat each output as a system of its own."""
    names = {"output_a": "system_a", "output_b": "system_b"}
    return games(comparisons.rename(columns=names))


def as_arrays(played: pd.DataFrame) -> tuple[list[str], Ints, Ints, Floats]:
    """Enumerate systems in the order of their names; return names, indices of a and b, results."""
    index = pd.Index(sorted(pd.concat([played["system_a"], played["system_b"]]).unique()))
    places = (index.get_indexer(played[name]) for name in ("system_a", "system_b"))
    return list(index), *places, played[["win", "tie", "loss"]].to_numpy()


def join_outputs(study: Study, table: pd.DataFrame | None, name: str) -> pd.DataFrame:
    """Add the item and system of both outputs, and their clusters where the study names them.

    Clusters are numbered in ``cluster_a`` and ``cluster_b``, and merged if they share items;
    ``grouped_by`` is the name of their column.
    """
    if table is None or table.empty:
        hint = " Create them with nlgbench.compare_texts." if name == "comparisons" else ""
        message = f"{study.name} has no {name}: add a table of {name} to the study.{hint}"
        raise Unsupported(f"no_{name}", message)
    labels = study.outputs.set_index("output_id")[["item_id", "system"]]
    joined = table.copy()
    for side in ("a", "b"):
        rows = labels.loc[table[f"output_{side}"]]
        joined[[f"item_{side}", f"system_{side}"]] = rows.to_numpy()
    column = study.clusters
    if column == "item_id" or not (column in study.outputs or column in joined):
        return joined
    item = pd.concat([joined["item_a"], joined["item_b"]], ignore_index=True)
    if column in study.outputs:
        named = study.outputs.set_index("output_id")[column]
        clusters = [named.loc[table[f"output_{side}"]] for side in "ab"]
    else:  # group_id of preferences
        clusters = [joined[column], joined[column]]
    cluster = pd.concat(clusters, ignore_index=True)
    # An output without a cluster is its own cluster.
    alone = cluster.isna() | (cluster == "")
    number = linked(item, cluster.astype(str).mask(alone, "item " + item))
    if len(np.unique(number)) == item.nunique():
        return joined
    joined[["cluster_a", "cluster_b"]] = number.reshape(2, -1).T
    return joined.assign(grouped_by=column)


def read_votes(study: Study, dimension: str | None) -> pd.DataFrame:
    """Return preferences of one dimension, with items and systems of both outputs."""
    chosen = study.dimension(dimension, of="preferences")
    table = join_outputs(study, study.preferences, "preferences")
    return table[table["dimension"] == chosen].reset_index(drop=True)


def _with_probabilities(table: pd.DataFrame, column: str) -> pd.DataFrame:
    chosen = np.column_stack([table[column] == kind for kind in ("a", "tie", "b")]).astype(float)
    return table.drop(columns=column).assign(**dict(zip(PROBABILITIES, chosen.T, strict=True)))


def _check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Check a table of games without a study."""
    result = next((name for name in ("outcome", "choice", "prob_a") if name in table), "outcome")
    results = "prob_a:float prob_tie:float prob_b:float" if result == "prob_a" else result
    columns = f"system_a:key system_b:key {results}"
    table = read_table(table, columns, "a table of games has").reset_index(drop=True)
    sides = table[["system_a", "system_b"]]
    if len({pd.api.types.is_numeric_dtype(sides[name]) for name in sides}) > 1:
        raise ValueError(
            "one of system_a and system_b contains numbers, the other strings: use the same type "
            "in both."
        )
    if result != "prob_a":
        wrong = ~table[result].isin(["a", "b", "tie"])
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise ValueError(
                f"row {row + 1}: {result} must be a, b or tie. Got {table[result].iloc[row]!r}."
            )
        table = _with_probabilities(table, result)
    chances = table[PROBABILITIES].to_numpy(dtype=np.float64)
    wrong = ~((chances >= 0).all(axis=1) & (abs(chances.sum(axis=1) - 1) < 1e-6))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row + 1}: prob_a, prob_tie and prob_b must be at least 0 and sum to 1. Got "
            f"{', '.join(f'{chance:g}' for chance in chances[row])}."
        )
    if "comparator" not in table:
        table = table.assign(comparator=PEOPLE if "annotator_id" in table else "comparator")
    return table
