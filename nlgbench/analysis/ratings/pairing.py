"""Who plays whom, and when to stop: random pairing as in the paper, and an adaptive one."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from nlgbench import schema
from nlgbench.analysis.ratings.games import Floats, Ints, Outcome, as_arrays, by_comparator, games
from nlgbench.analysis.ratings.glicko import POINTS, START, check_start, play, start, surprise_of
from nlgbench.analysis.ratings.skill import ratings_table
from nlgbench.inference import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n


@dataclass(frozen=True, eq=False)
class Tournament:
    """Games that were played until a rule stopped them.

    Attributes
    ----------
    ratings : DataFrame
        Table ``ratings`` after the last game.
    history : DataFrame
        Two rows per game, one per system: game (from 1), system, rating, deviation after it.
    n_games : int
        Games played.
    converged : bool
        Whether the rule stopped them; otherwise `max_games` did.
    """

    ratings: pd.DataFrame
    history: pd.DataFrame
    n_games: int
    converged: bool


def tournament(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame | None = None,
    *,
    pairing: Literal["random", "adaptive"] = "random",
    n_unchanged: int = 50,
    confidence: float = 0.95,
    max_games: int = 50_000,
    outcome: Outcome = "argmax",
    tie_ratio: float | None = None,
    deviation: float = 350.0,
    seed: int | np.random.Generator,
) -> Tournament:
    """Play games between systems, one at a time, until their order is settled.

    Parameters
    ----------
    comparisons, outputs, outcome, tie_ratio, deviation
        As in `ratings.glicko2`, of one dataset and comparator. Each game is a comparison of the two
        systems drawn with replacement; where `outcome` is ``"sampled"`` its result is drawn anew.
    pairing : {"random", "adaptive"}
        ``"random"``: two systems at random, each pair alike; stops when every system has played
        `n_unchanged` games since the order of ratings last changed. ``"adaptive"``: the two
        whose order is least certain; stops when the order of all is held with `confidence`.
    n_unchanged : int
        For random pairing; 50 in the paper.
    confidence : float
        For adaptive pairing: of the whole order at once, and however often one looks (see Notes).
    max_games : int
        When to stop in any case; two systems that are equal never settle.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    Tournament
        Ratings by Glicko-2 with volatility 0, each game a period; with adaptive pairing with their
        covariance (see Notes).

    Raises
    ------
    ValueError
        As `ratings.glicko2`, or when there are several datasets or comparators, or a pair of
        systems was never compared.

    Notes
    -----
    Zhou and Xu (2020), section 3.2, doi:10.1609/aaai.v34i05.6521, stop when the order of ratings
    has stayed the same while every model was drawn 50 times, which is read as above. It says
    nothing of certainty: repeat it with other seeds.

    Glicko-2's deviations pass over that ratings err alike: systems that mostly play each other look
    known against all. So with adaptive pairing ratings keep their joint covariance C. From the same
    start, each game is a Gaussian step, ``mu += u (s - E) / (1 + I v)`` and ``C -= u u' I / (1 + I
    v)``: u is the difference of the two columns of C, v the variance of the two systems' distance,
    ``I = E (1 - E)``. Deviations are then from the mean of all systems.

    Least certain are the two whose ``d / s`` is least, d their distance and ``s = sqrt(v)``. Who
    looks after every game and stops at ``Phi(d / s)`` is wrong more often than that says. So games
    stop when, for each of the m pairs, the Bayes factor against equal skill, ``s / t exp(d^2 / (2
    s^2))`` with t the s of the start, reaches ``m / (1 - confidence)``: between equals it ever does
    so with at most the inverse probability (Robbins 1970, doi:10.1214/aoms/1177696786), as far as
    ratings are normal.

    Six systems 60 points apart, in 50 simulations each (`benchmarks/ratings.py`): the paper's rule
    stopped after 338 to 1,104 games, with the true order in .84 of them; the adaptive one, at
    .95, after 3,036 to 11,840, with the true order in all.

    Comparisons are a finite pool: with many more games than comparisons, ratings settle on the
    pool's own order, and deviations, which know nothing of it, become too small.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "comparator": "c", "prob_tie": 0.2}
    >>> table = pd.DataFrame([
    ...     {**row, "output_a": "x", "output_b": "y", "prob_a": 0.6, "prob_b": 0.2},
    ...     {**row, "output_a": "y", "output_b": "z", "prob_a": 0.6, "prob_b": 0.2},
    ...     {**row, "output_a": "x", "output_b": "z", "prob_a": 0.7, "prob_b": 0.1}])
    >>> found = tournament(table, pairing="adaptive", outcome="sampled", seed=0)
    >>> found.converged, found.ratings.sort_values("rating")["system"].tolist()
    (True, ['z', 'y', 'x'])
    """
    known(pairing, ["random", "adaptive"], "pairing")
    check_n(n_unchanged, "n_unchanged")
    check_n(max_games, "max_games")
    check_start(START, deviation, 0.0, 0.5, tie_ratio)
    check_coverage(confidence, "confidence")
    rng = np.random.default_rng(seed)
    sampled = outcome == "sampled"
    pool = games(comparisons, outputs, outcome="expected" if sampled else outcome)
    groups = by_comparator(pool)
    if len(groups) > 1:
        raise ValueError(
            f"{len(groups)} combinations of dataset and comparator are there: a tournament needs "
            "one. Select its comparisons."
        )
    names, rows = groups[0]
    systems, a, b, results = as_arrays(rows)
    n = len(systems)
    first, second = np.triu_indices(n, 1)
    rows_of = _rows_by_pair(a, b, systems, first, second)
    state = start(n, deviation, 0.0)
    n_games = np.zeros(n, dtype=np.int64)
    since = np.zeros(n, dtype=np.int64)  # games of each since the order last changed
    order: list[int] = []
    mu, covariance = np.zeros(n), np.eye(n) * (deviation / POINTS) ** 2
    apart, at_start = np.zeros(len(first)), math.sqrt(2) * deviation / POINTS
    history: list[tuple[int, str, float, float]] = []
    converged = False
    while not converged and len(history) < 2 * max_games:
        pair = int(rng.integers(len(rows_of)) if pairing == "random" else np.argmin(apart))
        row = rows_of[pair][int(rng.integers(len(rows_of[pair])))]
        result = results[row]
        if sampled:
            result = rng.multinomial(1, result / result.sum()).astype(np.float64)
        both = [int(a[row]), int(b[row])]
        if pairing == "random":
            play(both[0], both[1], result.tolist(), state, tie_ratio=tie_ratio, tau=0.5)
        else:
            _play_jointly(both[0], both[1], result.tolist(), mu, covariance, tie_ratio)
            centered = covariance - covariance.mean(axis=0)
            centered -= centered.mean(axis=1, keepdims=True)
            state = mu.tolist(), np.sqrt(np.diag(centered)).tolist(), state[2]
        for one in both:
            history.append((len(history) // 2 + 1, systems[one], state[0][one], state[1][one]))
        n_games[both] += 1
        since[both] += 1
        if pairing == "random":
            before, order = order, sorted(range(n), key=state[0].__getitem__)
            if order != before:
                since[:] = 0
            converged = bool(since.min() >= n_unchanged)
        else:
            variance = np.diag(covariance)
            spread = np.sqrt(variance[first] + variance[second] - 2 * covariance[first, second])
            apart = np.abs(mu[first] - mu[second]) / spread
            evidence = np.log(spread / at_start) + apart**2 / 2
            converged = bool(evidence.min() >= math.log(len(first) / (1 - confidence)))
    steps = pd.DataFrame(history, columns=["game", "system", "rating", "deviation"])
    steps["rating"] = START + POINTS * steps["rating"]
    steps["deviation"] = POINTS * steps["deviation"]
    ratings = ratings_table(names, systems, state, n_games)
    return Tournament(ratings, steps, len(history) // 2, converged)


def _rows_by_pair(a: Ints, b: Ints, systems: list[str], first: Ints, second: Ints) -> list[Ints]:
    """List the comparisons of each pair of systems, whichever stands first."""
    code = np.minimum(a, b) * len(systems) + np.maximum(a, b)
    sought = first * len(systems) + second
    by_code = pd.Series(np.arange(len(a))).groupby(code).indices
    for one, i, j in zip(sought.tolist(), first, second, strict=True):
        if one not in by_code:
            raise ValueError(
                f"systems {systems[i]!r} and {systems[j]!r} were never compared: a tournament "
                "draws from all pairs. Compare them, or rate what there is with ratings.glicko2."
            )
    return [np.asarray(by_code[one]) for one in sought.tolist()]


def _play_jointly(
    a: int,
    b: int,
    result: list[float],
    mu: Floats,
    covariance: Floats,
    tie_ratio: float | None,
) -> None:
    """Let two systems play one game, and update all that is known of any system in place."""
    gap = mu[a] - mu[b]
    expected = float(expit(gap))
    information = expected * (1 - expected)
    column = covariance[a] - covariance[b]
    shrink = 1 + information * (column[a] - column[b])
    mu += column * surprise_of(result, gap, expected, tie_ratio) / shrink
    covariance -= np.outer(column, column) * information / shrink


def output_pairs(
    outputs: pd.DataFrame, *, n_pairs: int = 10_000, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Draw pairs of single outputs to compare, for rating each output as a system.

    Parameters
    ----------
    outputs : DataFrame
        Table ``outputs``, of one dataset; whose outputs meet, and on which item, is left to chance.
    n_pairs : int
        Pairs in all; 10,000 plays in the paper. No two outputs meet twice.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        dataset, item_id (output_a's), output_a, output_b: what a comparator needs. Which of
        the two stands first is random.

    Raises
    ------
    ValueError
        When there are fewer pairs, or several datasets.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "system": "s", "text": "t", "is_human": False}
    >>> table = pd.DataFrame([{**row, "output_id": n, "context": ""} for n in "abc"])
    >>> len(output_pairs(table, n_pairs=3, seed=0))
    3
    """
    table = _of_one_dataset(outputs)
    check_n(n_pairs, "n_pairs")
    n = len(table)
    if n_pairs > n * (n - 1) // 2:
        raise ValueError(f"n_pairs = {n_pairs}, but {n} outputs make {n * (n - 1) // 2} pairs.")
    rng = np.random.default_rng(seed)
    number = rng.choice(n * (n - 1) // 2, n_pairs, replace=False)
    # Pairs with the larger place j begin at number j (j - 1) / 2.
    later = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    sides = rng.permuted(np.column_stack([number - later * (later - 1) // 2, later]), axis=1)
    return _pairs(table, sides[:, 0], table, sides[:, 1])


def reference_pairs(
    outputs: pd.DataFrame, *, n_references: int = 50, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Pair every output with common references, for `games.reference_scores`.

    Parameters
    ----------
    outputs : DataFrame
        Table ``outputs``, of one dataset.
    n_references : int
        How many of the outputs that are not human are drawn as references; 50 in the paper.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        dataset, item_id (output_a's), output_a, output_b (the reference): every output with every
        reference, but none with itself.

    Raises
    ------
    ValueError
        When there are fewer machine outputs, or several datasets.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "system": "s", "text": "t", "is_human": False}
    >>> table = pd.DataFrame([{**row, "output_id": n, "context": ""} for n in "abc"])
    >>> len(reference_pairs(table, n_references=2, seed=0))
    4
    """
    table = _of_one_dataset(outputs)
    check_n(n_references, "n_references")
    machine = table[~table["is_human"]]
    if n_references > len(machine):
        raise ValueError(f"n_references = {n_references}, but machine outputs: {len(machine)}.")
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(len(machine), n_references, replace=False))
    scored, reference = (grid.ravel() for grid in np.indices((len(table), n_references)))
    pairs = _pairs(table, scored, machine, drawn[reference])
    return pairs[pairs["output_a"] != pairs["output_b"]].reset_index(drop=True)


def _of_one_dataset(outputs: pd.DataFrame) -> pd.DataFrame:
    table = schema.check(outputs, "outputs")
    names = table["dataset"].unique()
    if len(names) != 1:
        raise ValueError(f"outputs are of {len(names)} datasets, and must be of one: select it.")
    return table


def _pairs(table_a: pd.DataFrame, a: Ints, table_b: pd.DataFrame, b: Ints) -> pd.DataFrame:
    pairs = table_a.iloc[a].rename(columns={"output_id": "output_a"})
    pairs = pairs[["dataset", "item_id", "output_a"]].reset_index(drop=True)
    return pairs.assign(output_b=table_b["output_id"].to_numpy()[b])
