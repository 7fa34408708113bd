"""Tournaments that stop by e-values: when they do, and how often falsely."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.analysis.ratings import tournament


def pool(abilities, tie=0.2):
    """Give a comparison of each two systems, with the chances of abilities in nats."""
    rows = []
    for i, (one, mine) in enumerate(abilities.items()):
        for other, theirs in list(abilities.items())[i + 1 :]:
            win = (1 - tie) / (1 + np.exp(theirs - mine))
            rows.append((one, other, win, tie, 1 - tie - win))
    return pd.DataFrame(rows, columns=["system_a", "system_b", "prob_a", "prob_tie", "prob_b"])


OPTIONS = {"outcome": "sampled", "stopping": "e_values", "tie_ratio": None}


@pytest.mark.parametrize("pairing", ["random", "adaptive"])
def test_it_stops_when_neighbors_are_told_apart(pairing):
    table = pool({"b": 1.2, "d": -1.2, "a": 2.4, "c": 0.0})
    found = tournament(table, pairing=pairing, seed=1, **OPTIONS)
    rated = found.ratings.sort_values("rating", ascending=False)["system"]
    assert found.converged and rated.tolist() == ["a", "b", "c", "d"]


def test_two_systems_stop_as_soon_as_the_e_value_allows():
    """8 wins in a row are the fewest: 2^8 / 9 is above 20, 2^7 / 8 is not; of six pairs 12."""
    wins = pd.DataFrame({"system_a": ["x"], "system_b": ["y"], "outcome": ["a"]})
    for pairing in ("random", "adaptive"):
        found = tournament(wins, pairing=pairing, stopping="e_values")
        assert (found.n_games, found.converged) == (8, True)
    ties = wins.assign(outcome="tie")
    assert not tournament(ties, stopping="e_values", max_games=50).converged


def test_adaptive_pairing_leaves_alone_what_is_told_apart():
    table = pool({"a": 3.0, "b": 0.0, "c": 0.0})
    found = tournament(table, pairing="adaptive", max_games=400, seed=2, **OPTIONS)
    games = found.history.pivot(index="game", columns="system", values="rating").notna()
    late = games.iloc[200:]
    assert not found.converged and (late["b"] & late["c"]).mean() > 0.9


def test_equal_systems_are_seldom_told_apart_though_pairing_looks_at_the_games():
    table = pool({"a": 4.0, "b": 0.0, "c": 0.0}, tie=0.0)
    stops = [
        tournament(table, pairing="adaptive", max_games=100, seed=seed, **OPTIONS).converged
        for seed in range(25)
    ]
    assert np.mean(stops) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 25)
