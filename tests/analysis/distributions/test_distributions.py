"""Measures of distributions equal their authors' packages, plain sums and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import beta

from nlgbench.analysis.distributions import frontier
from nlgbench.analysis.distributions.features import distances, similarities, tfidf
from nlgbench.analysis.distributions.measures import manifolds_of_subsets
from tests.analysis.distributions.texts import compare, study_of, words


@pytest.mark.parametrize(("n", "m", "k"), [(40, 40, 5), (30, 55, 3), (20, 16, 1)])
def test_manifolds_are_those_of_their_authors_package(n, m, k):
    prdc = pytest.importorskip("prdc")
    rng = np.random.default_rng(n)
    human, other = rng.normal(size=(n, 4)), rng.normal(0.3, 1.2, size=(m, 4))
    rows = np.vstack([human, other])
    is_human = np.arange(n + m) < n
    # All texts, and subsets of them, whose radii are found from the whole's order.
    members = np.vstack([np.ones((1, n + m), dtype=bool), rng.random((20, n + m)) < 0.7])
    found = manifolds_of_subsets(cdist(rows, rows), is_human, members, k)
    for row, held in enumerate(members):
        theirs = prdc.compute_prdc(rows[held & is_human], rows[held & ~is_human], nearest_k=k)
        for name, value in theirs.items():
            assert found[name][row] == pytest.approx(value, abs=1e-9), name


def test_the_public_call_gives_the_packages_values_of_texts():
    prdc = pytest.importorskip("prdc")
    package = pytest.importorskip("vendi_score.vendi")
    rng = np.random.default_rng(3)
    human, system = words(rng, 50, 3000), words(rng, 50, 3000)
    found = compare(study_of(human, system), n_resamples=0, n_permutations=0)
    rows = tfidf([*human, *system]).toarray()
    theirs = prdc.compute_prdc(rows[:50], rows[50:], nearest_k=5)
    for name, value in theirs.items():
        assert found.loc[name, "estimate"] == pytest.approx(value, abs=1e-9), name
    for column, part in (("estimate", rows[50:]), ("between_humans", rows[:50])):
        assert found.loc["vendi", column] == pytest.approx(package.score_dual(part), abs=1e-9)
    assert found["status"].eq("no_resamples").all()


def plain_mmd(kernel, is_human, item):
    """MMD^2 as it is written, pair by pair."""
    sums, counts = np.zeros(3), np.zeros(3)
    for a in range(len(item)):
        for b in range(len(item)):
            if item[a] != item[b]:
                side = int(is_human[a]) + int(is_human[b])
                sums[side] += kernel[a, b]
                counts[side] += 1
    other, between, human = sums / counts
    return human + other - 2 * between


@pytest.mark.parametrize("shared", [True, False])
def test_the_public_call_gives_the_plain_sums_of_both_kernels(shared):
    rng, n = np.random.default_rng(4), 14
    human, system = words(rng, n), words(rng, n)
    system[3:] = human[: n - 3]  # equal texts are no part of the bandwidth
    study = study_of(human, system, shared=shared)
    found = compare(study, n_resamples=0, n_permutations=0)["estimate"]
    rows = tfidf([*human, *system]).toarray()
    away = cdist(rows, rows)
    bandwidth = np.median([d for d in away[np.triu_indices(2 * n, 1)] if d > 1e-6])
    item = np.tile(np.arange(n), 2) if shared else np.arange(2 * n)
    is_human = np.arange(2 * n) < n
    by_hand = plain_mmd(np.exp(-(away**2) / (2 * bandwidth**2)), is_human, item)
    assert found["mmd_gaussian"] == pytest.approx(by_hand, abs=1e-9)
    assert found["mmd_linear"] == pytest.approx(plain_mmd(rows @ rows.T, is_human, item), abs=1e-9)


def test_the_frontier_has_its_closed_forms():
    same = np.array([0.2, 0.3, 0.5])
    assert frontier.area(same, same) == pytest.approx(1, abs=1e-12)
    # Apart: KL(q | r) = -log(1 - w), KL(p | r) = -log w: the integral of w^c d(1 - w)^c.
    apart = frontier.area(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert apart == pytest.approx(5 * beta(6, 5), rel=2e-3)
    one, two = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    assert frontier.area(one, two) == pytest.approx(frontier.area(two, one), abs=1e-9)


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(6, 25), st.booleans())
def test_what_holds_for_any_texts(seed, n, shared):
    rng = np.random.default_rng(seed)
    human, system = words(rng, n, 8, at_least=0), words(rng, n, 8, at_least=0)
    study = study_of(human, system, shared=shared)
    found = compare(study, n_permutations=19, n_resamples=3, n_neighbors=3, seed=seed)
    estimate = found["estimate"]
    assert estimate[["precision", "recall", "coverage"]].between(0, 1).all()
    assert estimate["density"] >= 0 and 0 < estimate["frontier"] <= 1 + 1e-12
    assert 1 - 1e-9 <= estimate["vendi"] <= n + 1e-9
    p = found["p_value"].dropna()
    assert list(p.index) == ["mmd_gaussian", "mmd_linear"] and p.between(1 / 20, 1).all()
    # The other way round, with people's texts in the system's place.
    turned = study_of(system, human, shared=shared)
    back = compare(turned, n_permutations=0, n_resamples=0, n_neighbors=3)["estimate"]
    for one, other in (("precision", "recall"), ("mmd_gaussian",) * 2, ("mmd_linear",) * 2):
        assert estimate[one] == pytest.approx(back[other], abs=1e-12)
    assert found.loc["vendi", "between_humans"] == pytest.approx(back["vendi"], abs=1e-9)


def test_one_and_the_same_texts_are_near_however_often_they_are_repeated():
    texts = ["a b", "c d", "e f g", ""] * 10
    found = compare(study_of(texts, texts, shared=False), n_resamples=0)["estimate"]
    assert found[["precision", "recall", "coverage", "frontier"]].eq(1).all()
    assert found["vendi"] == pytest.approx(4)  # four texts that share nothing
    assert distances(similarities(tfidf(["a", "b", "", " "])))[3].tolist() == [2**0.5] * 2 + [0, 0]
