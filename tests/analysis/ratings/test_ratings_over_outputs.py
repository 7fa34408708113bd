"""Intervals of ratings and win rates hold for other outputs of the same systems."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from nlgbench.analysis.ratings import rate
from nlgbench.analysis.ratings.bradley_terry import OUTPUTS, rate_intervals
from nlgbench.analysis.ratings.games import join_outputs
from nlgbench.analysis.ratings.glicko import POINTS
from nlgbench.study import Study


def written(n_systems=3, n_outputs=4, *, n_items=None):
    """Outputs x0_0, x0_1, ...; each its own item, or numbered through n_items."""
    of = [(f"x{one}", number) for one in range(n_systems) for number in range(n_outputs)]
    rows = [
        (name, f"{name}_{number}", f"{number % n_items}" if n_items else f"{name}_{number}")
        for name, number in of
    ]
    table = pd.DataFrame(rows, columns=["system", "output_id", "item_id"])
    return table.assign(text="t", is_human=False)


def compared(outputs, a, b, outcome):
    """Comparisons of the outputs in rows a and b; outcome: 0 a wins, 1 a tie, 2 b wins."""
    table = pd.DataFrame(np.eye(3)[outcome], columns=["prob_a", "prob_tie", "prob_b"])
    ids = outputs["output_id"].to_numpy()
    table = table.assign(comparator="c", output_a=ids[a], output_b=ids[b])
    return Study(outputs, comparisons=table)


def without(study, columns):
    """Its comparisons as a table of games that knows of less."""
    table = join_outputs(study, study.comparisons, "comparisons")
    return table.loc[:, ~table.columns.str.contains(columns)]


def test_with_items_on_both_sides_it_is_the_cluster_variance_of_statsmodels():
    outputs = written(4, 20, n_items=20)
    rng = np.random.default_rng(1)
    pairs = np.array(np.triu_indices(4, 1))[:, np.repeat(np.arange(6), 20)]
    item = np.tile(np.arange(20), 6)
    a, b = pairs * 20 + item
    won = rng.random(120) < 0.5 + 0.1 * (pairs[1] - pairs[0])
    found = rate(compared(outputs, a, b, np.where(won, 0, 2))).systems
    design = np.zeros((120, 4))
    design[np.arange(120), pairs[0]], design[np.arange(120), pairs[1]] = 1, -1
    model = sm.GLM(won, design[:, 1:], family=sm.families.Binomial())
    robust = model.fit(
        tol=1e-14, cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}
    )
    centering = (np.eye(4) - 0.25)[:, 1:]
    theirs = np.sqrt(np.diag(centering @ robust.cov_params() @ centering.T))
    # Each item holds a twentieth of all information, but for the games' different variances.
    np.testing.assert_allclose(found["se"] / POINTS, theirs / (1 - 1 / 20), rtol=0.02)
    half = t.ppf(0.975, 19) * found["se"]
    np.testing.assert_allclose(found["ci_high"] - found["estimate"], half)


def test_an_output_that_is_a_in_one_game_and_b_in_another_is_one_cluster():
    # Three outputs of x0 win all their games, now as a and now as b, and three lose them.
    outputs = written(2, 6)
    pairs = np.array([(a, b) for a in range(6) for b in range(6, 12)])
    outcome = np.where(pairs[:, 0] < 3, 0, 2)
    sides = np.where(np.arange(36)[:, None] % 2, pairs[:, ::-1], pairs)
    turned = np.where(np.arange(36) % 2, 2 - outcome, outcome)
    straight = rate(compared(outputs, *pairs.T, outcome)).systems
    mixed = rate(compared(outputs, *sides.T, turned)).systems
    np.testing.assert_allclose(mixed["se"], straight["se"], rtol=1e-12)
    # Scores of 6 (1 - .5), with a sixth of the information; of .5 for each of 36 pairs; 36 / 4.
    by_hand = np.sqrt(6 * (3 * 6 / 5) ** 2 - 36 * (0.5 * 36 / 35) ** 2) / 9 / 2
    by_game = rate(without(compared(outputs, *pairs.T, outcome), "item_|output_")).systems
    assert straight["se"][0] / POINTS == pytest.approx(by_hand)
    assert by_game["se"][0] / POINTS == pytest.approx(1 / np.sqrt(36 * 0.25) / 2)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=2))
@settings(max_examples=60)
def test_a_rate_lies_in_its_interval_and_the_other_side_mirrors_it(rows):
    one, other, kind = np.array(rows).T
    score, group = kind / 2, np.zeros(len(rows), dtype=int)
    found = rate_intervals(group, score, one, other, OUTPUTS, confidence=0.9).iloc[0]
    mirrored = rate_intervals(group, 1 - score, other, one, OUTPUTS, confidence=0.9).iloc[0]
    if found["status"].code == "one_unit":
        assert np.isnan([found["ci_low"], mirrored["ci_high"]]).all()
    else:
        assert 0 <= found["ci_low"] <= found["estimate"] <= found["ci_high"] <= 1
        assert mirrored["ci_high"] == pytest.approx(1 - found["ci_low"], abs=1e-9)
