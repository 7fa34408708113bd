"""Comparisons as games between systems: who won, win rates, and points against references."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from nlgbench import tables
from nlgbench.analysis.resampling import check_coverage
from nlgbench.names import known

Floats = NDArray[np.float64]

Outcome = Literal["argmax", "sampled", "expected"]
Ints = NDArray[np.int64]


def games(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Turn a comparator's probabilities into results of games.

    Parameters
    ----------
    comparisons : DataFrame
        Table ``comparisons``. ``prob_a`` is the probability that output a is better.
    outputs : DataFrame, optional
        Table ``outputs``, which says whose each output is. Without it each output plays for
        itself: a system that always writes the same.
    outcome : {"argmax", "sampled", "expected"}
        ``"argmax"``: the likeliest of win, tie and loss, as the paper's comparator decides; where
        two are equally likely, a tie, so that swapping a and b mirrors the result. ``"sampled"``:
        one of the three drawn with their probabilities. ``"expected"``: the probabilities
        themselves, as shares of a win, a tie and a loss.
    seed : int or Generator, optional
        Where the random numbers come from: needed when sampled.

    Returns
    -------
    DataFrame
        A row per game, in the order of `comparisons`: dataset, comparator, item_id, system_a,
        system_b, and win, tie, loss of system_a, which sum to 1. Two outputs of one system tell
        nothing of systems: such rows are left out.

    Raises
    ------
    ValueError
        When an output is unknown, no game is left, or sampling has no seed.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "output_a": "x", "output_b": "y", "comparator": "c"}
    >>> found = games(pd.DataFrame([{**row, "prob_a": 0.6, "prob_tie": 0.3, "prob_b": 0.1}]))
    >>> found[["system_a", "system_b", "win", "tie", "loss"]].values.tolist()
    [['x', 'y', 1.0, 0.0, 0.0]]
    """
    known(outcome, ["argmax", "sampled", "expected"], "outcome")
    if outcome == "sampled" and seed is None:
        raise ValueError("outcome='sampled' needs a seed: pass seed=0, or another whole number.")
    table = tables.check(comparisons, "comparisons")
    chances = table[["prob_a", "prob_tie", "prob_b"]].to_numpy()
    if outcome == "argmax":
        won = chances[:, 0] > chances[:, 1:].max(axis=1)
        lost = chances[:, 2] > chances[:, :2].max(axis=1)
        result = np.column_stack([won, ~(won | lost), lost]).astype(np.float64)
    elif outcome == "sampled":
        drawn = np.random.default_rng(seed).random(len(table))
        won, not_lost = drawn < chances[:, 0], drawn < chances[:, :2].sum(axis=1)
        result = np.column_stack([won, not_lost & ~won, ~not_lost]).astype(np.float64)
    else:
        result = chances
    found = table[["dataset", "comparator", "item_id"]].copy()
    for side in ("a", "b"):
        found[f"system_{side}"] = _system_of(table, f"output_{side}", outputs)
    found[["win", "tie", "loss"]] = result
    found = found[found["system_a"] != found["system_b"]].reset_index(drop=True)
    if found.empty:
        raise ValueError(
            f"no game is left: each of the {len(table)} comparisons is between two outputs of one "
            "system. Compare outputs of different systems."
        )
    return found


def _system_of(table: pd.DataFrame, column: str, outputs: pd.DataFrame | None) -> pd.Series:
    """Say for whom the outputs in a column play."""
    if outputs is None:
        return table[column]
    names = ["dataset", "output_id"]
    of = tables.check(outputs, "outputs").set_index(names)["system"]
    wanted = pd.MultiIndex.from_frame(table[["dataset", column]], names=names)
    place = of.index.get_indexer(wanted)
    if (place < 0).any():
        row = int(np.flatnonzero(place < 0)[0])
        raise ValueError(
            f"comparisons, row {row + 1}: {column} = {table[column].iloc[row]!r} of dataset "
            f"{table['dataset'].iloc[row]!r} is not in outputs ({int((place < 0).sum())} such "
            "rows). Pass the outputs that were compared."
        )
    return pd.Series(of.to_numpy()[place], index=table.index, dtype="str")


def by_comparator(played: pd.DataFrame) -> list[tuple[dict[str, str], pd.DataFrame]]:
    """Part games by dataset and comparator.

    Parameters
    ----------
    played : DataFrame
        As `games` gives it.

    Returns
    -------
    list of (dict, DataFrame)
        The two names, and their games.
    """
    return [
        ({"dataset": str(dataset), "comparator": str(comparator)}, rows)
        for (dataset, comparator), rows in played.groupby(["dataset", "comparator"])
    ]


def as_arrays(played: pd.DataFrame) -> tuple[list[str], Ints, Ints, Floats]:
    """Give systems numbers, in the order of their names, and games as arrays.

    Parameters
    ----------
    played : DataFrame
        As `games` gives it.

    Returns
    -------
    tuple of (list of str, ndarray of int, ndarray of int, ndarray of shape (n, 3))
        The systems, the places of system_a and system_b among them, and win, tie, loss.
    """
    index = pd.Index(sorted({*played["system_a"], *played["system_b"]}))
    places = (index.get_indexer(played[name]) for name in ("system_a", "system_b"))
    return list(index), *places, played[["win", "tie", "loss"]].to_numpy()


def win_rates(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Say how often each system beats each other.

    Parameters
    ----------
    comparisons, outputs, outcome, seed
        As in `games`.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        Two rows for each pair that played, one from either side: dataset, comparator, system,
        opponent, n_games, n_items, win, tie, loss (shares of the games), win_rate (win + tie / 2;
        above .5 is better), ci_low, ci_high (of win_rate), level.

    Raises
    ------
    ValueError
        As `games`, or when `level` is out of range.

    Notes
    -----
    The interval is Wilson's (1927, doi:10.1080/01621459.1927.10502953), for the rate and the number
    of *items*, not of games: outputs for one item share what makes it easy. It is exact in its kind
    for one game per item without ties, and wider than need be with ties or several games an item.
    Intervals are one at a time: among many pairs some miss.

    Examples
    --------
    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c"}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": 1, "prob_tie": 0, "prob_b": 0}
    ...                       for n in "1234"])
    >>> win_rates(table)[["system", "win_rate", "ci_low", "ci_high"]].round(3).values.tolist()
    [['x', 1.0, 0.51, 1.0], ['y', 0.0, 0.0, 0.49]]
    """
    check_coverage(level, "level")
    played = games(comparisons, outputs, outcome=outcome, seed=seed)
    swapped = played.rename(
        columns={"system_a": "system_b", "system_b": "system_a", "win": "loss", "loss": "win"}
    )
    both = pd.concat([played, swapped]).rename(
        columns={"system_a": "system", "system_b": "opponent"}
    )
    rates = both.groupby(["dataset", "comparator", "system", "opponent"], as_index=False).agg(
        n_games=("win", "size"),
        n_items=("item_id", "nunique"),
        win=("win", "mean"),
        tie=("tie", "mean"),
        loss=("loss", "mean"),
    )
    rate = rates["win"] + rates["tie"] / 2
    low, high = proportion_confint(
        rate * rates["n_items"], rates["n_items"], alpha=1 - level, method="wilson"
    )
    return rates.assign(win_rate=rate, ci_low=low, ci_high=high, level=level)


def reference_scores(
    comparisons: pd.DataFrame,
    *,
    outcome: Outcome = "argmax",
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Score single outputs by comparing each with common references: 3, 1 or 0 points.

    Parameters
    ----------
    comparisons : DataFrame
        Table ``comparisons``: ``output_a`` is scored, ``output_b`` is the reference, as
        `pairing.reference_pairs` lays them out. An output that is a reference itself is not
        compared with itself.
    outcome, seed
        As in `games`.

    Returns
    -------
    DataFrame
        Table ``scores``: mean points per reference, 0 to 3, higher is better; the comparator is the
        evaluator.

    Raises
    ------
    ValueError
        As `games`.

    Notes
    -----
    Zhou and Xu (2020), section 4.2, RQ1, doi:10.1609/aaai.v34i05.6521: 3 points when it beats a
    reference, 1 when it draws, 0 when it loses, against 50 references sampled from machine outputs.
    The mean in place of their sum lets outputs with 49 references stand beside those with 50. A win
    is worth three ties, so a decided comparator gets higher scores than a hesitant one. The score
    of one output has no interval here: the references are common, so resample *them*, for all
    outputs at once, where a correlation of the scores needs one.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "output_a": "x", "comparator": "c", "prob_a": 0}
    >>> table = pd.DataFrame([{**row, "output_b": "r1", "prob_tie": 1, "prob_b": 0},
    ...                       {**row, "output_b": "r2", "prob_a": 1, "prob_tie": 0, "prob_b": 0}])
    >>> reference_scores(table)[["output_id", "score"]].values.tolist()
    [['x', 2.0]]
    """
    played = games(comparisons, outcome=outcome, seed=seed)
    points = played.assign(score=3 * played["win"] + played["tie"])
    points = points.rename(columns={"comparator": "evaluator", "system_a": "output_id"})
    scores = points.groupby(["dataset", "output_id", "evaluator"])["score"].mean().reset_index()
    scores["signature"] = f"points:3/1/0|outcome:{outcome}|range:0-3"
    return tables.check(scores[tables.columns("scores")], "scores")
