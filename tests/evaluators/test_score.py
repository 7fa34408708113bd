"""One call scores by every evaluator, and names what is wrong or missing."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.evaluators.names import kind
from nlgbench.evaluators.score import _FAMILIES


@pytest.fixture(scope="module")
def study():
    made = nb.simulate("crowd", systems=["memorizer_50", "corrupted_0.5"], n_outputs=20, n_truth=0)
    return made.replace(references=nb.nearest_references(made, n=3))


class Length:
    name, signature = "length", "characters"

    def score_outputs(self, study):
        return study.outputs.set_index("output_id")["text"].str.len()[::-1]


def test_scores_of_outputs_and_of_systems_stand_in_their_tables(study):
    names = ["rouge_l", "self_bleu_4", "minus_self_bleu_4", "corpus_bleu_4", "training_overlap_4"]
    scored = nb.score(study, [*names, Length()])
    of_outputs = ["rouge_l", "minus_self_bleu_4", "training_overlap_4", "length"]
    assert scored.scores["evaluator"].unique().tolist() == of_outputs
    assert set(scored.system_scores["evaluator"]) == {"self_bleu_4", "corpus_bleu_4"}
    lengths = scored.scores[scored.scores["evaluator"] == "length"]
    assert lengths["score"].tolist() == study.outputs["text"].str.len().tolist()
    assert not scored.pristine and scored.origin == study.origin


def test_scoring_again_changes_nothing_and_another_way_is_refused(study):
    once = nb.score(study, ["rouge_l", "distinct_2"])
    again = nb.score(once, ["distinct_2", "rouge_l", "chrf"])
    first = again.scores[again.scores["evaluator"] == "rouge_l"].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, once.scores)
    pd.testing.assert_frame_equal(again.system_scores, once.system_scores)
    with pytest.raises(ValueError, match=r"different scores of 'rouge_l'.*case:lower"):
        nb.score(once, ["rouge_l"], options={"rouge_l": {"lower": True}})
    other = nb.nearest_references(study, n=1)
    with pytest.raises(ValueError, match="different scores of 'rouge_l'"):
        nb.score(once, ["rouge_l"], references=other)


def test_costly_scores_are_stored_and_read_again(study, tmp_path, monkeypatch):
    from nlgbench.evaluators import discriminators

    names = ["svm_meta@natural", "naive_bayes_meta@natural"]
    options = {"discriminators": {"n_folds": 2}}
    first = nb.score(study, names, options=options, keep=tmp_path, seed=3)
    assert len(list(tmp_path.iterdir())) == 2

    def never(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(discriminators, "score_fold", never)
    again = nb.score(study, names, options=options, keep=tmp_path, seed=3)
    pd.testing.assert_frame_equal(first.scores, again.scores, check_exact=True)
    with pytest.raises(AssertionError, match="computed again"):
        nb.score(study, names, options=options, keep=tmp_path, seed=4)


@pytest.mark.parametrize(
    ("asked", "how", "message"),
    [
        (["bleu4"], {}, "evaluators: 'bleu4' is unknown. Did you mean 'bleu_4'"),
        (["chrf", "chrf"], {}, "must be named once"),
        (["chrf"], {"options": {"chfr": {}}}, "options: 'chfr' is unknown. Did you mean 'chrf'"),
        (["chrf"], {"options": {"chrf": {"lowr": 1}}}, "'lowr' is unknown. Did you mean 'lower'"),
        (["cider"], {"options": {"cider": {"group": "x"}}}, "options of cider: group: 'x'"),
        (["perplexity"], {}, "perplexity needs logprobs, but crowd has none. Add a table"),
        ([3], {}, "3 is neither a name nor a fitted evaluator: it lacks 'name'"),
    ],
)
def test_what_cannot_be_scored_is_said(study, asked, how, message):
    with pytest.raises(ValueError, match=message):
        nb.score(study, asked, **how)


def test_what_an_evaluator_needs_and_a_study_lacks_is_said(study):
    bare = nb.Study(study.outputs, name="bare")
    with pytest.raises(ValueError, match="to the study, or pass references=nearest_ref"):
        nb.score(bare, ["chrf"])
    with pytest.raises(ValueError, match="needs human and machine outputs"):
        nb.score(bare.only(is_human=True), ["svm_meta"])
    silent = bare.replace(outputs=bare.outputs.assign(text=""))
    with pytest.raises(ValueError, match="needs texts, but the outputs of bare have none"):
        nb.score(silent, ["distinct_1"])
    with pytest.raises(ValueError, match="bare has no judgments"):
        nb.score(bare, ["svm_meta@majority"])

    class Stranger(Length):
        def score_outputs(self, study):
            return pd.Series([1.0], index=["nobody"])

    with pytest.raises(ValueError, match=r"for unknown outputs \(1\)"):
        nb.score(bare, [Stranger()])


def test_every_name_that_is_shown_has_a_label():
    for family in _FAMILIES:
        for name in family.examples:
            assert kind(name) != "Others", name
