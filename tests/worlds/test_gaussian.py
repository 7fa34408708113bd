"""Two Gaussian classes: the closed form of HUSE, and HUSE of a large study that comes near it."""

import numpy as np
import pytest
from scipy.stats import norm

import nlgbench as nb
from nlgbench.worlds import gaussian


def test_truth_of_uncorrelated_shifts_in_closed_form(monkeypatch):
    # Standard result for two Gaussians: error Phi(-Delta / 2), Delta squared the sum of squares.
    monkeypatch.setattr(gaussian, "_CORRELATION", 0.0)
    truth = gaussian.gaussian_world(
        n_outputs=1, n_annotators=10**4, systems={"s": (0.6, 0.5)}, seed=0
    )
    row = truth.truth["systems"].iloc[0]
    assert row["huse"] == pytest.approx(2 * norm.cdf(-np.sqrt(2) / 2), abs=1e-3)
    assert row["huse_q"] == pytest.approx(2 * norm.cdf(-0.5), abs=1e-3)
    assert row["huse_d"] == 1 + row["huse"] - row["huse_q"]


def test_huse_finds_the_truth_in_a_large_world():
    # k = 100, near sqrt(n): k must grow for k-NN to reach the optimal error. At 8,000 outputs the
    # standard error of twice an error rate is at most .011; three of them, and what bias is left.
    study = nb.simulate("gaussian", n_outputs=4_000, n_annotators=2, seed=11)
    assert (study.judgments.groupby("output_id").size() == 2).all()
    found = nb.huse(study, n_neighbors=100, n_resamples=0)
    found = found.pivot(index="system", columns="score", values="estimate")
    truth = study.truth["systems"].set_index("system")
    assert (found - truth[found.columns]).abs().max(axis=None) < 0.04
