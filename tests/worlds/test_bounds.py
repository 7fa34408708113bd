"""Theorem 1: its quantities in closed form, and every step of its proof in any sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

import nlgbench as nb
from nlgbench.worlds import annotators, theorem_1, truth

CAREFUL = annotators.Panel(np.array([0.3]), np.array([False]))
STUDY = nb.simulate("gaussian", n_outputs=1)  # whose systems write no reviews
CARELESS = annotators.Panel(np.zeros(2), np.array([True, True]))


def per_token(typical: np.ndarray) -> np.ndarray:
    """Undo `annotators.typicality`."""
    return (typical - 7.55) / 3


def gaussian_draws(shift: list[float], n: int, seed: int) -> tuple[truth.Draws, truth.Draws]:
    """Draw texts whose likelihood and typicality are Gaussian in both classes."""
    rng = np.random.default_rng(seed)
    classes = [multivariate_normal(np.add(MEAN, d), COVARIANCE) for d in ([0, 0], shift)]
    draws = []
    for one in classes:
        at = one.rvs(n, random_state=rng)
        human = expit(np.subtract(*(other.logpdf(at) for other in classes)))
        draws.append(truth.Draws(per_token(at[:, 1]), at[:, 0], human))
    return draws[0], draws[1]


MEAN = [-2.0, 2.5]
COVARIANCE = [[0.25, 0.15], [0.15, 1.0]]


@pytest.mark.parametrize("shift", [[0.6, 0.0], [0.0, -1.2], [0.4, 0.9], [0.9, -0.6]])
def test_gaussian_classes_are_within_the_bounds_of_the_closed_form(shift):
    found = truth.theorem1_bound(*gaussian_draws(shift, 20_000, seed=3), CAREFUL)
    distance = np.sqrt(shift @ np.linalg.solve(COVARIANCE, shift))
    l_star = 2 * norm.cdf(-distance / 2)
    assert found["l_star"] == pytest.approx(l_star, abs=4 * found["l_star_se"] + 0.002)
    upper = l_star + 2 * (1 - 2 ** -found["information"])
    assert l_star <= found["huse"] + 4 * found["huse_se"]
    assert found["upper"] == pytest.approx(upper, abs=4 * found["upper_se"])
    assert found["holds"]


def test_features_that_say_nothing_leave_all_of_the_optimal_answer_open():
    # Nobody reads and all likelihoods are equal. The optimal rule says human for all of the human
    # class and a fifth of the other's, so I is the entropy of .6, and HUSE is chance.
    rng = np.random.default_rng(0)
    n = 5000
    human = truth.Draws(rng.normal(-2, 0.3, n), np.full(n, -1.0), np.full(n, 0.9))
    posterior = np.where(np.arange(n) % 5 == 0, 0.9, 0.1)
    machine = truth.Draws(rng.normal(-2, 0.3, n), np.full(n, -1.0), posterior)
    found = truth.theorem1_bound(human, machine, CARELESS)
    entropy = -0.6 * np.log2(0.6) - 0.4 * np.log2(0.4)
    assert found["l_star"] == pytest.approx(0.2)
    assert found["information"] == pytest.approx(entropy)
    assert found["disagreement"] == pytest.approx(0.4)


@given(posterior=st.lists(st.floats(0, 1), min_size=4, max_size=60), seed=st.integers(0, 2**16))
def test_every_step_of_the_proof_holds_in_any_sample(posterior, seed):
    # Disagreement <= I / 2 (Hellman and Raviv) <= 1 - 2^-I (the theorem's step), for two values.
    n = len(posterior) // 2
    rng = np.random.default_rng(seed)
    draws = [
        truth.Draws(rng.normal(-2, 0.5, n), rng.normal(size=n), np.array(part))
        for part in (posterior[:n], posterior[n : 2 * n])
    ]
    found = truth.theorem1_bound(*draws, CAREFUL)
    assert -1e-12 <= found["information"] <= 1 + 1e-12
    assert found["disagreement"] <= found["information"] / 2 + 1e-9
    assert found["l_star"] + found["information"] <= found["upper"] + 1e-9
    assert found["slack"] == pytest.approx(found["upper"] - found["huse"])


def test_reviews_are_within_both_bounds():
    names = ["grammar_t1.0", "grammar_t0.9", "leaky_t1.0", "trigram_t0.5", "corrupted_0.3"]
    found = theorem_1(STUDY, systems=names, n_texts=5000, seed=4)
    row = found.set_index("system")
    assert found["holds"].all()
    # One system is the reference: every text is a tie, and no rounding may say otherwise.
    assert row.loc["grammar_t1.0", ["l_star", "huse", "upper"]].tolist() == pytest.approx([1] * 3)
    assert row.loc["grammar_t1.0", "information"] == 0
    # No L(phi) is above 1, so there the bound says nothing.
    assert row.loc["grammar_t0.9", "upper"] > 1
    assert (row.loc[["leaky_t1.0", "corrupted_0.3"], "slack"] < 0.05).all()
