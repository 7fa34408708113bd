"""HUSE of subsamples is HUSE of their outputs alone, as a plain loop computes it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_huse import plain_leave_one_out

from nlgbench.analysis.huse.neighbors import EXACT_TOLERANCE, sample_errors
from nlgbench.inference import half_samples


def tied_features(rng, n, dimensions):
    return rng.integers(0, 8, size=(n, dimensions)) / 3.7


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(4, 40),
    st.integers(1, 2),
    st.integers(1, 12),
    st.sampled_from(["human", "system", "half"]),
    st.sampled_from([0.0, EXACT_TOLERANCE]),
)
def test_every_replicate_is_the_plain_loop_on_its_outputs(seed, n, d, k, label_ties, tolerance):
    rng = np.random.default_rng(seed)
    features, label = tied_features(rng, n, d), rng.random(n) < 0.5
    members = rng.random((15, n)) < rng.uniform(0.2, 1)
    found = sample_errors(features, members, label, k, tolerance=tolerance, label_ties=label_ties)
    for member, value in zip(members, found, strict=True):
        own = label[member]
        if member.sum() <= k or own.all() or not own.any():
            assert math.isnan(value)
            continue
        rule = {"tolerance": tolerance, "label_ties": label_ties}
        assert value == plain_leave_one_out(features[member], own, k, **rule)[0]


@pytest.mark.parametrize("dimensions", [1, 2])
def test_large_samples_sort_part_of_the_list_and_answer_the_same(dimensions):
    rng = np.random.default_rng(dimensions)
    n = 2_300
    # In one dimension hundreds are equal, so that a part of the list is too short and is redone.
    features = tied_features(rng, n, 1) if dimensions == 1 else rng.normal(size=(n, 2))
    label = np.arange(n) % 2 == 0
    members = half_samples(label, fraction=0.3, n_resamples=4, seed=rng)
    found = sample_errors(features, members, label, 16)
    for member, value in zip(members, found, strict=True):
        assert value == sample_errors(features[member], True, label[member], 16)[0]
