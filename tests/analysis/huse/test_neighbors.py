"""Neighborhoods and errors are those of the plain loop over outputs, whatever ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_huse import plain_leave_one_out

from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.neighbors import leave_one_out, sample_errors

TOLERANCES = [0.0, neighbors.EXACT_TOLERANCE]


@st.composite
def tied_tables(draw, max_outputs=24):
    """Features on a small lattice, so that duplicates and ties are everywhere, and two classes."""
    n = draw(st.integers(3, max_outputs))
    n_features = draw(st.integers(1, 3))
    row = st.lists(
        st.integers(0, draw(st.integers(1, 6))), min_size=n_features, max_size=n_features
    )
    lattice = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)
    # Thirds and tenths are no binary fractions: equal distances come out unequal in the last bit.
    features = lattice / draw(st.sampled_from([1.0, 3.0, 0.1, 0.7])) + draw(
        st.sampled_from([0, 0.1])
    )
    n_human = draw(st.integers(1, n - 1))
    is_machine = np.array(draw(st.permutations([False] * n_human + [True] * (n - n_human))))
    return features, is_machine, draw(st.integers(1, n - 1))


def random_table(seed):
    """A larger table: enough points for a tree of several leaves, from few levels to none tied."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 260))
    levels = rng.integers(2, 40, size=2)
    features = rng.integers(0, levels, size=(n, 2)) / rng.choice([1.0, 3.0, 0.7], size=2)
    if rng.random() < 0.5:
        features[:, 0] = rng.normal(size=n)
    if rng.random() < 0.2:
        features[rng.integers(n)] = 1e3
    is_machine = rng.random(n) < rng.uniform(0.1, 0.9)
    is_machine[:2] = [True, False]
    return features, is_machine, int(rng.integers(1, n))


def assert_equal_to_plain(features, is_machine, n_neighbors):
    for tolerance in TOLERANCES:
        size, machine = leave_one_out(features, is_machine, n_neighbors, tolerance=tolerance)
        for label_ties in ("human", "system", "half"):
            score, plain_size, plain_machine = plain_leave_one_out(
                features, is_machine, n_neighbors, tolerance=tolerance, label_ties=label_ties
            )
            np.testing.assert_array_equal(size, plain_size)
            np.testing.assert_array_equal(machine, plain_machine)
            rule = {"tolerance": tolerance, "label_ties": label_ties}
            assert sample_errors(features, True, is_machine, n_neighbors, **rule)[0] == score


@settings(max_examples=70)
@given(tied_tables())
def test_equal_to_the_plain_loop_on_tied_tables(table):
    assert_equal_to_plain(*table)


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_plain_loop_on_larger_tables(seed):
    features, is_machine, n_neighbors = random_table(seed)
    assert_equal_to_plain(features, is_machine, n_neighbors)
    assert_equal_to_plain(features[:, 1:], is_machine, min(16, n_neighbors))


def test_a_ring_of_equal_distances_is_counted_whole():
    # All 400 outputs on a circle are at one distance, up to rounding, from the one in the middle.
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    features = np.vstack([[0.0, 0.0], np.column_stack([np.cos(angle), np.sin(angle)])])
    is_machine = np.arange(401) % 2 == 1
    size, machine = leave_one_out(features, is_machine, 5)
    assert (size[0], machine[0]) == (400, 200)
    assert_equal_to_plain(features, is_machine, 5)
