"""One's own tables at the door of `Study`: what is filled, checked, refused, written and read."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.study import TABLES, read_study
from nlgbench.study.csv_files import TableError


def outputs(**more):
    rows = [("a1", "i1", "a"), ("b1", "i1", "b"), ("h1", "i1", "human"), ("h2", "i2", "human")]
    return pd.DataFrame(rows, columns=["output_id", "item_id", "system"]).assign(**more)


def judgments(**more):
    rows = [("a1", "w1", 2), ("b1", "w1", 3), ("h1", "w1", 5), ("h1", "w2", 4)]
    return pd.DataFrame(rows, columns=["output_id", "annotator_id", "value"]).assign(**more)


def test_what_is_left_out_is_filled():
    study = nb.Study(outputs(), judgments())
    assert study.outputs["is_human"].tolist() == [False, False, True, True]
    assert study.outputs["text"].eq("").all() and study.judgments["group_id"].eq("").all()
    assert study.systems == ["a", "b"] and study.dimension() == "quality"
    assert study.judgments["value"].dtype == "float64"
    assert (study.name, study.source, study.pristine) == ("study", "study", False)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"judgments": judgments().replace("b1", "b2")},
            r"'output_id' is no output_id of outputs.*row 2, output_id='b2'",
        ),
        ({"judgments": judgments(value="good")}, r"column 'value' must be a number.*'good'"),
        (
            {"judgments": judgments().rename(columns={"value": "vaule"})},
            r"rename 'vaule' to 'value'",
        ),
        ({"judgments": pd.concat([judgments()] * 2)}, r"have the same key.*Found row 1, .*; row 2"),
        ({"scores": pd.DataFrame({"output_id": ["x"], "evaluator": "e", "score": 1.0})}, "'x'"),
        (
            {"system_scores": pd.DataFrame({"system": ["c"], "evaluator": "e", "score": 1.0})},
            "'system' is no system of outputs.*system='c'",
        ),
        ({"references": pd.DataFrame({"item_id": ["9"], "reference_id": "r", "text": "t"})}, "'9'"),
        ({"settings": {"qualty": "x"}}, r"'qualty' is unknown\. Did you mean 'quality'\?"),
        ({"settings": {"quality": "flow"}, "judgments": judgments()}, "'flow' is unknown"),
        ({"settings": {"extra": ["topic"]}}, r"no column 'topic', which 'extra' declares"),
        ({"source": "released!"}, r"Did you mean 'released'\?"),
        ({"judgments": [1, 2]}, "must be a DataFrame; got list"),
    ],
)
def test_what_breaks_a_rule_is_named_with_the_way_out(parts, message):
    with pytest.raises(ValueError, match=message):
        nb.Study(outputs(), **parts)


def test_a_comparison_gives_three_probabilities():
    games = {"output_a": ["a1"], "output_b": ["b1"], "comparator": "c"}
    good = pd.DataFrame({**games, "prob_a": 0.5, "prob_tie": 0.2, "prob_b": 0.3})
    made = nb.Study(outputs(), comparisons=good)
    assert list(made.comparisons) == [*games, "prob_a", "prob_tie", "prob_b"]
    with pytest.raises(TableError, match="must give 1 together"):
        nb.Study(outputs(), comparisons=good.assign(prob_b=0.4))


def test_columns_of_ones_own_are_declared():
    study = nb.Study(outputs(topic=["x", "x", "y", "y"]), settings={"extra": ["topic"]})
    assert study.outputs["topic"].tolist() == ["x", "x", "y", "y"]
    with pytest.raises(TableError, match=r"a column 'topic' that it does not know"):
        nb.Study(outputs(topic="x"))


def test_several_dimensions_need_a_choice():
    both = pd.concat([judgments(dimension="flow"), judgments(dimension="truth")])
    with pytest.raises(ValueError, match="judgments in flow, truth: say which by dimension="):
        nb.Study(outputs(), both).dimension()
    assert nb.Study(outputs(), both, settings={"quality": "truth"}).dimension() == "truth"
    assert nb.Study(outputs(), both).dimension("flow") == "flow"
    with pytest.raises(ValueError, match="has no judgments"):
        nb.Study(outputs()).dimension()


def test_only_and_replace_clear_the_mark_of_a_loader():
    world = nb.simulate("gaussian", n_outputs=5, seed=0)
    assert world.pristine and world.origin == "simulated:gaussian seed=0"
    part = world.only(systems=["t0.7"])
    assert part.systems == ["t0.7"] and not part.pristine
    assert set(part.judgments["output_id"]) == set(part.outputs["output_id"])
    assert set(part.logprobs["output_id"]) <= set(part.outputs["output_id"])
    assert part.only(is_human=True).systems == []
    assert not world.replace(name="again").pristine
    with pytest.raises(ValueError, match=r"systems: 't0.6' is unknown"):
        world.only(systems=["t0.6"])
    with pytest.raises(TableError, match="must be a log-probability in nats"):
        world.replace(logprobs=world.logprobs.assign(logprob=1.0))


def test_a_part_leaves_out_what_is_of_other_items_and_can_be_changed_again():
    references = pd.DataFrame({"item_id": ["1", "2"], "reference_id": "r", "text": "so"})
    of_items = outputs(item_id=["1", "2", "1", "2"])
    study = nb.Study(of_items, judgments(), references=references)
    first = study.only(systems=["a"])
    assert set(first.references["item_id"]) == set(first.outputs["item_id"])
    again = first.replace(references=first.references.assign(text="else"))
    assert again.references["text"].eq("else").all()
    assert first.replace(outputs=first.outputs.assign(text="new")).references is not None


def test_clusters_may_be_the_groups_of_judgments():
    grouped = judgments().assign(group_id="g")
    study = nb.Study(outputs(), grouped, settings={"clusters": "group_id"})
    assert study.settings["clusters"] == "group_id"
    with pytest.raises(ValueError, match="settings: clusters: 'group' is unknown"):
        study.replace(settings={"clusters": "group"})


def test_check_says_what_is_missing_in_words():
    table = nb.Study(outputs(), judgments()).check().set_index("analysis")
    assert table.loc["agreement", "possible"]
    assert table.loc["huse", "missing"] == "logprobs (of every output, under its system)"
    whole = nb.simulate("gaussian", n_outputs=5, seed=0).check().set_index("analysis")
    assert whole.loc["huse", "possible"] and whole.loc["huse", "missing"] == ""


@pytest.mark.parametrize("name", ["gaussian", "reviews", "crowd", "colors"])
def test_a_simulated_study_comes_back_from_a_folder(name, tmp_path):
    small = {
        "gaussian": {"n_outputs": 5},
        "reviews": {"systems": ["grammar_t0.5", "memorizer_50"], "n_outputs": 5},
        "crowd": {"systems": ["memorizer_50", "corrupted_0.5"], "n_outputs": 20},
        "colors": {"n_contexts": 6, "n_rounds": {"train": 4}},
    }[name]
    made = nb.simulate(name, seed=1, n_truth=100, **small)
    made.write(tmp_path / "study")
    again = read_study(tmp_path / "study")
    same(made, again)
    assert again.source == "study" and not again.pristine
    assert again.origin == f"simulated:{name} seed=1" and again.name == name
    made.write(tmp_path / "study")  # a former study is replaced
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def same(made, again):
    for table in TABLES:
        one, other = getattr(made, table), getattr(again, table)
        assert (one is None) == (other is None), table
        if one is not None:
            pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert (made.truth or {}).keys() == (again.truth or {}).keys()
    for key, frame in (made.truth or {}).items():
        pd.testing.assert_frame_equal(
            frame.astype({c: "str" for c in frame if frame[c].dtype == object}),
            again.truth[key].astype(
                {c: "str" for c in frame if again.truth[key][c].dtype == object}
            ),
            check_exact=True,
        )
    assert made.settings == again.settings and list(made.related) == list(again.related)
    for key in made.related:
        same(made.related[key], again.related[key])


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)


def right_id(text):
    return text and "\0" not in text


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(texts.filter(right_id), min_size=1, max_size=5, unique=True),
    said=texts,
    logprob=st.floats(min_value=-1e100, max_value=0),
)
def test_texts_and_numbers_come_back_as_they_were(ids, said, logprob, tmp_path):
    rows = pd.DataFrame({"output_id": ids, "item_id": "001", "system": "NA", "text": said})
    rows["is_human"] = False
    own = pd.DataFrame({"output_id": ids, "model": "m", "logprob": logprob, "n_tokens": 1})
    made = nb.Study(rows, logprobs=own)
    made.write(tmp_path / "one")
    same(made, read_study(tmp_path / "one"))


def test_a_foreign_folder_is_not_replaced(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("keep me")
    with pytest.raises(FileExistsError, match="is no study"):
        nb.Study(outputs()).write(tmp_path / "notes")
    assert (tmp_path / "notes" / "todo.txt").read_text() == "keep me"


def test_a_write_that_fails_leaves_the_former_study(tmp_path, monkeypatch):
    nb.Study(outputs()).write(tmp_path / "s")
    monkeypatch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        nb.Study(outputs().iloc[:1]).write(tmp_path / "s")
    assert len(read_study(tmp_path / "s").outputs) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_folders_that_are_no_study_are_named_with_the_way_out(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*Did you mean 'mine'\?"):
        (tmp_path / "mine").mkdir()
        read_study(tmp_path / "mini")
    (tmp_path / "mine" / "output.csv").write_text("output_id,item_id,system\n1,1,a\n")
    with pytest.raises(TableError, match=r"output\.csv is no table.*Did you mean 'outputs'\?"):
        read_study(tmp_path / "mine")
    (tmp_path / "mine" / "output.csv").rename(tmp_path / "mine" / "outputs.csv")
    (tmp_path / "mine" / "jugdments.csv").write_text("output_id,annotator_id,value\n1,w,1\n")
    with pytest.raises(TableError, match=r"no table of a study\. Did you mean 'judgments'\?"):
        read_study(tmp_path / "mine")
    (tmp_path / "mine" / "jugdments.csv").rename(tmp_path / "mine" / "judgments.csv")
    (tmp_path / "mine" / "judgments.csv").write_text("output_id,annotator_id,value\n1,w,x\n")
    with pytest.raises(TableError, match=r"judgments\.csv: judgments.*row 1 \(line 2\).*'x'"):
        read_study(tmp_path / "mine")
    (tmp_path / "mine" / "judgments.csv").write_text("output_id,annotator_id,value\n1,w,1\n")
    (tmp_path / "mine" / "study.json").write_text('{"setings": {}}')
    with pytest.raises(ValueError, match=r"'setings' is unknown\. Did you mean 'settings'\?"):
        read_study(tmp_path / "mine")


def test_infinite_and_missing_numbers_survive(tmp_path):
    own = pd.DataFrame(
        {"output_id": ["a1", "b1"], "model": "m", "logprob": [-math.inf, -1 / 3], "n_tokens": 3}
    )
    said = pd.DataFrame({"output_id": ["a1", "b1"], "evaluator": "e", "score": [np.nan, 0.1]})
    made = nb.Study(outputs(), logprobs=own, scores=said)
    made.write(tmp_path / "s")
    again = read_study(tmp_path / "s")
    assert again.logprobs["logprob"].tolist() == [-math.inf, -1 / 3]
    assert again.scores["score"].isna().tolist() == [True, False]


@pytest.mark.parametrize("table", ["scores", "system_scores"])
def test_directions_are_read_in_any_case_and_unknown_ones_refused(table):
    key = {"scores": {"output_id": ["a1"]}, "system_scores": {"system": ["a"]}}[table]
    own = pd.DataFrame(key).assign(evaluator="ter", score=1.0)

    def score(signature):
        study = nb.Study(outputs(), **{table: own.assign(signature=signature)})
        return study.scored(of=table)["score"].item()

    assert score("TER|Direction: LOWER is better") == score("direction:lower|x") == -1
    assert score("direction:higher|x") == score("") == 1
    with pytest.raises(TableError, match="'signature' must have the direction lower or higher"):
        score("x|Direction:down")


@pytest.mark.parametrize("table", ["outputs", "judgments"])
def test_ids_hold_no_nul(table):
    given = {"outputs": outputs(), "judgments": judgments()}
    given[table] = given[table].replace("a1", "a\x001")
    with pytest.raises(TableError, match="'output_id' must not hold the character NUL: remove it"):
        nb.Study(**given)


def test_settings_may_name_a_dimension_that_only_votes_have():
    votes = pd.DataFrame({"output_a": ["a1"], "output_b": "b1", "annotator_id": "w", "choice": "a"})
    lower = {"lower_is_better": ["errors"], "quality": "errors"}
    study = nb.Study(
        outputs(), judgments(), preferences=votes.assign(dimension="errors"), settings=lower
    )
    assert study.settings["lower_is_better"] == ["errors"] and study.dimension() == "quality"
    with pytest.raises(TableError, match="'errors' is unknown"):
        nb.Study(outputs(), judgments(), settings=lower)


def test_invalid_judgments_are_excluded_and_counted_once(tmp_path):
    settings = {
        "valid": {"quality": {"min": 0, "max": 4}},
        "scales": {"quality": {"min": 1, "max": 4}},
    }
    given = judgments(annotator_id=["w001", "w001", "w001", "w002"])
    study = nb.Study(outputs(), given, settings=settings)
    assert study.judgments["value"].tolist() == [2, 3, 4]
    assert study.settings["valid"] == {"quality": {"min": 0, "max": 4, "excluded": 1}}
    assert settings["valid"] == {"quality": {"min": 0, "max": 4}}
    study.write(tmp_path / "s")
    again = read_study(tmp_path / "s")
    same(study, again)
    assert again.settings == study.settings == study.replace(name="b").settings
    more = study.replace(judgments=judgments(value=[9, 9, 3, 4]))
    assert more.settings["valid"]["quality"]["excluded"] == 2 and len(more.judgments) == 2
    for wrong in ({"quality": {}}, {"quality": {"max": "4"}}, {"quality": {"most": 4}}):
        with pytest.raises(TableError, match="valid: quality must have min or max, each a number"):
            nb.Study(outputs(), judgments(), settings={"valid": wrong})


def test_systems_whose_names_differ_by_an_underscore_have_labels_of_their_own():
    rows = outputs().assign(system=["under_score", "under score", "a_b", "human"])
    study = nb.Study(rows)
    assert [study.label(name) for name in study.systems] == ["under_score", "under score", "a b"]


def test_open_study_takes_one_source(tmp_path):
    nb.Study(outputs()).write(tmp_path / "s")
    assert nb.open_study("huse", folder=tmp_path / "s", n_outputs=3).source == "study"
    assert nb.open_study("huse", n_outputs=3, n_truth=0).source == "simulated"
    with pytest.raises(ValueError, match="are two studies"):
        nb.open_study("huse", source="released", folder=tmp_path / "s")
    with pytest.raises(ValueError, match="source: 'relased' is unknown"):
        nb.open_study("huse", source="relased")


def test_root_names_are_there_and_load_when_used():
    for name in nb.__all__:
        assert getattr(nb, name) is not None
    assert {"Study", "load", "simulate", "Drawing"} <= set(dir(nb))
    with pytest.raises(AttributeError, match="no attribute 'hues'"):
        nb.hues  # noqa: B018
    for name in set(nb._GONE) - set(nb.__all__):
        with pytest.raises(AttributeError, match=f"no attribute '{name}': use "):
            getattr(nb, name)
