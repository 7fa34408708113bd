"""Each series of systems starts at the human grammar, and its entropy is exact where known."""

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds.sweep import SERIES, series_systems


@pytest.fixture(scope="module")
def truth():
    chosen = {
        name: one
        for name, one in series_systems(3).items()
        if name in {"grammar_t1.0", "grammar_t0.5", "memorizer_20", "corrupted_0.3"}
    }
    study = nb.simulate("reviews", systems=chosen, n_outputs=5, n_truth=2_000, seed=4)
    return study.truth["systems"].set_index("system")


def test_each_series_begins_with_peoples_grammar_and_has_all_its_systems():
    systems = series_systems(0)
    assert {name for levels in SERIES.values() for name in levels} == set(systems)
    for levels in SERIES.values():
        assert next(iter(levels)) == "grammar_t1.0"
    texts = review_grammar().sample(50, seed=1)
    own = systems["grammar_t1.0"].logprob(texts)
    np.testing.assert_allclose(own, review_grammar().logprob(texts), atol=1e-9)
    assert len(systems["memorizer_200"].training) == 200
    assert systems["corrupted_0.3"].q == 0.3


def test_entropy_of_what_is_enumerated_has_no_error(truth):
    texts = series_systems(3)["memorizer_20"].training
    share = np.unique(texts, return_counts=True)[1] / len(texts)
    row = truth.loc["memorizer_20"]
    assert row["entropy"] == pytest.approx(-(share * np.log(share)).sum(), abs=1e-9)
    assert row["entropy_se"] == 0
