"""Comparisons as games between systems: who won, win rates, and points against references."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from nlgbench import schema
from nlgbench.analysis.ratings.dyadic import (
    FEW,
    Clusters,
    check_clusters,
    n_clusters,
    rate_intervals,
    sides,
    wilson,
)
from nlgbench.inference import check_coverage
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
        A row per game, in the order of `comparisons`: dataset, comparator, output_a, output_b,
        item_a, item_b (of the two outputs; without `outputs` both the comparison's), system_a,
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
    table = schema.check(comparisons, "comparisons")
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
    found = table[["dataset", "comparator", "output_a", "output_b"]].copy()
    of = None if outputs is None else schema.check(outputs, "outputs")
    for side in ("a", "b"):
        found[[f"item_{side}", f"system_{side}"]] = _whose(table, f"output_{side}", of)
    found[["win", "tie", "loss"]] = result
    found = found[found["system_a"] != found["system_b"]].reset_index(drop=True)
    if found.empty:
        raise ValueError(
            f"no game is left: each of the {len(table)} comparisons is between two outputs of one "
            "system. Compare outputs of different systems."
        )
    return found


def _whose(table: pd.DataFrame, column: str, outputs: pd.DataFrame | None) -> pd.DataFrame:
    """Say of which item the outputs in a column are, and for whom they play."""
    if outputs is None:
        return table[["item_id", column]].set_axis(["item_id", "system"], axis=1)
    names = ["dataset", "output_id"]
    of = outputs.set_index(names)[["item_id", "system"]]
    wanted = pd.MultiIndex.from_frame(table[["dataset", column]], names=names)
    place = of.index.get_indexer(wanted)
    if (place < 0).any():
        row = int(np.flatnonzero(place < 0)[0])
        raise ValueError(
            f"comparisons, row {row + 1}: {column} = {table[column].iloc[row]!r} of dataset "
            f"{table['dataset'].iloc[row]!r} is not in outputs ({int((place < 0).sum())} such "
            "rows). Pass the outputs that were compared."
        )
    return of.iloc[place].set_axis(table.index)


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
    index = pd.Index(sorted(pd.concat([played["system_a"], played["system_b"]]).unique()))
    places = (index.get_indexer(played[name]) for name in ("system_a", "system_b"))
    return list(index), *places, played[["win", "tie", "loss"]].to_numpy()


def win_rates(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    outcome: Outcome = "argmax",
    clusters: Clusters = "items",
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Say how often each system beats each other.

    Parameters
    ----------
    comparisons, outputs, outcome, seed
        As in `games`.
    clusters : {"items", "outputs", "games"}
        What is drawn anew in other samples, as in `bradley_terry.bradley_terry`.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        Two rows for each pair that played, one from either side: dataset, comparator, system,
        opponent, n_games, win, tie, loss (shares of the games), win_rate (win + tie / 2; above .5
        is better), ci_low, ci_high (of win_rate), level, covers (`clusters`), n_clusters (of the
        side that has fewer), reason (why an interval is missing or doubtful, or "").

    Raises
    ------
    ValueError
        As `games`, when an option is unknown or out of range, or outputs are not known.

    Notes
    -----
    An output plays several games, so games tell less than their number. Intervals are for the rate
    over other items, or outputs, of the two systems: `dyadic.rate_intervals`. For games, and
    without `outputs`, they are Wilson's (1927, doi:10.1080/01621459.1927.10502953), for the number
    of games, or of the comparisons' items: other texts are not in them. Intervals are one at a
    time: among many pairs some miss.

    Examples
    --------
    >>> row = {"dataset": "d", "output_a": "x", "output_b": "y", "comparator": "c"}
    >>> table = pd.DataFrame([{**row, "item_id": n, "prob_a": 1, "prob_tie": 0, "prob_b": 0}
    ...                       for n in "1234"])
    >>> win_rates(table)[["system", "win_rate", "ci_low", "ci_high"]].round(3).values.tolist()
    [['x', 1.0, 0.51, 1.0], ['y', 0.0, 0.0, 0.49]]
    """
    check_clusters(clusters, outputs)
    check_coverage(level, "level")
    found = []
    for names, rows in by_comparator(games(comparisons, outputs, outcome=outcome, seed=seed)):
        systems, a, b, results = as_arrays(rows)
        # First from the side of the system whose name comes first, then from the other.
        turned = a > b
        results = np.where(turned[:, None], results[:, ::-1], results)
        met = np.column_stack([np.minimum(a, b), np.maximum(a, b)])
        pairs, group = np.unique(met, axis=0, return_inverse=True)
        score = results @ [1, 0.5, 0]
        if clusters == "games" or outputs is None:
            n = np.bincount(group).astype(np.float64)
            if clusters == "items":
                n = n_clusters(group, sides(rows, "items")[0]).astype(np.float64)
            rate = np.bincount(group, score) / np.bincount(group)
            low, high = wilson(rate, n, norm.ppf(0.5 + level / 2))
            reason = [f"few {clusters}: {each:.0f}" if each < FEW else "" for each in n]
            one = pd.DataFrame({"win_rate": rate, "ci_low": low, "ci_high": high})
            one = one.assign(n_clusters=n.astype(np.int64), reason=reason)
        else:
            a_of, b_of = sides(rows, clusters)
            own, others = np.where(turned, b_of, a_of), np.where(turned, a_of, b_of)
            one = rate_intervals(group, score, own, others, level=level, clusters=clusters)
        one["n_games"] = np.bincount(group)
        for kind, column in zip(("win", "tie", "loss"), results.T, strict=True):
            one[kind] = np.bincount(group, column) / one["n_games"]
        turn = {"win": "loss", "loss": "win", "ci_low": "ci_high", "ci_high": "ci_low"}
        other = one.rename(columns=turn)
        ends = ["win_rate", "ci_low", "ci_high"]
        other[ends] = 1 - other[ends]
        both = pd.concat([one, other]).assign(**names, level=level, covers=clusters)
        both["system"] = np.array(systems)[pairs.T.ravel()]
        both["opponent"] = np.array(systems)[pairs[:, ::-1].T.ravel()]
        found.append(both.sort_values(["system", "opponent"]))
    columns = ["dataset", "comparator", "system", "opponent", "n_games", "win", "tie", "loss"]
    columns += ["win_rate", "ci_low", "ci_high", "level", "covers", "n_clusters", "reason"]
    return pd.concat(found, ignore_index=True)[columns]


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
    return schema.check(scores[schema.columns("scores")], "scores")
