"""Outputs of checkpoints: one system each, and pairs that put the later one first."""

from nlgbench.evaluators.comparator.pairs import check_checkpoints, weak_pairs
from nlgbench.generators.checkpoints import sample_checkpoints
from nlgbench.generators.recurrent import fit_recurrent

TEXTS = ["a b c", "a c b", "c a"] * 10
MODELS, _ = fit_recurrent(TEXTS, units=4, epochs=4, n_checkpoints=4, seed=0)


def test_each_checkpoint_is_a_system_that_weak_pairs_understands():
    outputs = sample_checkpoints(MODELS, [""] * 20, model="m", seed=0)
    checkpoints = check_checkpoints(outputs)
    assert outputs.groupby("system").size().to_dict() == dict.fromkeys(checkpoints["system"], 20)
    assert checkpoints["progress"].tolist() == [0.25, 0.5, 0.75, 1.0]
    pairs = weak_pairs(outputs, checkpoints, n=40, seed=0)
    later = pairs["output_a"].str.split("_").str[0].str.split("@").str[1].astype(float)
    earlier = pairs["output_b"].str.split("_").str[0].str.split("@").str[1].astype(float)
    assert (later > earlier).all() and (later - earlier == pairs["margin"]).all()
    again = sample_checkpoints(MODELS, [""] * 20, model="m", seed=0)
    assert again.equals(outputs)


def test_each_checkpoint_answers_each_context():
    contexts = ["x", "y"]
    models, _ = fit_recurrent(
        TEXTS, contexts * 15, units=4, epochs=2, n_checkpoints=2, min_count=1, seed=0
    )
    outputs = sample_checkpoints(models, contexts, model="m", seed=0)
    assert outputs["context"].tolist() == contexts * 2
    assert outputs["item_id"].tolist() == ["i00001", "i00002"] * 2
    assert set(weak_pairs(outputs, check_checkpoints(outputs), n=9, seed=0)["item_id"]) <= {
        "i00001",
        "i00002",
    }
