"""Tables at the door of `Study`: filled, checked, viewed, written and read back as they were."""

import json

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.status import Unsupported
from nlgbench.study import TABLES, part_of, read_study
from nlgbench.study.csv_files import TableError


def outputs(**more):
    rows = [("a1", "i1", "a"), ("b1", "i1", "b"), ("h1", "i1", "human"), ("h2", "i2", "human")]
    return pd.DataFrame(rows, columns=["output_id", "item_id", "system"]).assign(**more)


def judgments(**more):
    rows = [("a1", "w1", 2), ("b1", "w1", 3), ("h1", "w1", 5), ("h1", "w2", 4)]
    return pd.DataFrame(rows, columns=["output_id", "annotator_id", "value"]).assign(**more)


def score(table="scores", **cells):
    key = {"scores": {"output_id": ["a1"]}, "system_scores": {"system": ["a"]}}[table]
    return pd.DataFrame(key).assign(**{"evaluator": "e", "score": 1.0} | cells)


def test_what_is_left_out_is_filled():
    study = nb.Study(outputs(), judgments())
    assert study.outputs["is_human"].tolist() == [False, False, True, True]
    assert study.outputs["text"].eq("").all() and study.judgments["group_id"].eq("").all()
    assert study.systems == ["a", "b"] and study.dimension() == "quality"
    assert study.dimensions == ["quality"] and study.clusters == "item_id" and study.persons
    assert study.judgments["value"].dtype == "float64"
    assert (study.name, study.source, study.pristine) == ("study", "study", False)
    assert repr(study).startswith("Study 'study' (study)\n  4 outputs of 2 systems and human texts")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"judgments": judgments().replace("b1", "b2")},
            r"must occur in column 'output_id' of outputs.*row 2, .*b2",
        ),
        ({"judgments": judgments().rename(columns={"value": "valu"})}, "'value': rename 'valu'"),
        ({"judgments": [1, 2]}, r"Study\(judgments=...\) must be a DataFrame; got list"),
        ({"outputs": pd.concat([outputs()] * 2, axis=1)}, r"has repeated columns \('output_id'"),
        ({"outputs": outputs(topic="x")}, r"'topic': drop it, or keep it with `settings: extra"),
        ({"scores": score(output_id="x")}, "'x'"),
        ({"system_scores": score("system_scores", system="c")}, "must occur in column 'system'"),
        ({"references": pd.DataFrame({"item_id": ["9"], "reference_id": "r", "text": "t"})}, "'9'"),
        ({"settings": {"qualty": "x"}}, r"'qualty' is unknown\. Did you mean 'quality'\?"),
        ({"settings": {"valid": {"quality": {}}}}, "valid: quality must have min, max or both"),
        ({"settings": {"valid": {"quality": {"most": 4}}}}, "quality must have min, max or both"),
        ({"settings": {"valid": {"quality": {"max": "4"}}}}, "each a finite number"),
        ({"settings": {"scales": {"quality": {"min": 1}}}}, "quality must have min and max"),
        ({"settings": 3}, "settings must be a dict. Got 3"),
        ({"truth": np.zeros((2, 2))}, "truth must be a dict. Got a ndarray"),
        ({"source": "released!"}, r"Did you mean 'released'\?"),
    ],
)
def test_what_breaks_a_rule_is_named_with_the_way_out(parts, message):
    with pytest.raises(ValueError, match=message):
        nb.Study(**{"outputs": outputs()} | parts)


def test_several_dimensions_need_a_choice():
    both = pd.concat([judgments(dimension="flow"), judgments(dimension="truth")])
    study = nb.Study(outputs(), both)
    with pytest.raises(ValueError, match=r"dimensions \(flow, truth\): choose one with dimension="):
        study.dimension()
    with pytest.raises(ValueError, match=r"dimension: 'flaw' is unknown\. Did you mean 'flow'"):
        study.dimension("flaw")
    assert study.dimension("flow") == study.main_dimension == "flow"
    said = nb.Study(outputs(), both, settings={"quality": "truth"})
    assert said.dimension() == said.main_dimension == "truth"


def test_a_lack_of_data_differs_from_a_wrong_argument():
    both = pd.concat([judgments(dimension="flow"), judgments(dimension="truth")])
    votes = pd.DataFrame({"output_a": ["a1"], "output_b": "b1", "annotator_id": "w", "choice": "a"})
    rated = nb.Study(outputs(), both, preferences=votes.assign(dimension="overall"))
    lacking = {
        "no_judgments": [nb.Study(outputs()).dimension, lambda: rated.judged("overall")],
        "no_votes": [lambda: rated.dimension("flow", of="preferences")],
        "no_quality": [rated.dimension],
        "no_scores": [rated.scored],
        "no_outputs": [lambda: rated.only(is_human=True).only(is_human=False)],
    }
    for status, calls in lacking.items():
        for call in calls:
            with pytest.raises(Unsupported) as lacks:
                call()
            assert lacks.value.status == status
    with pytest.raises(ValueError, match="'flaw' is unknown") as wrong:
        rated.dimension("flaw")
    assert not isinstance(wrong.value, Unsupported)


def test_judgments_are_given_with_their_outputs_higher_is_better():
    own = outputs(topic=["x", "x", "y", "y"])
    declared = {"extra": ["topic"], "clusters": "topic", "lower_is_better": ["quality"]}
    declared["scales"] = {"quality": {"min": 1, "max": 5}}
    rows = nb.Study(own, judgments(group_id="g"), settings=declared)
    assert rows.sign("quality") == -1 and rows.scale("quality") == (1, 5)
    found = rows.judged()
    assert found["value"].tolist() == [-2, -3, -5, -4]
    assert found["system"].tolist() == ["a", "b", "human", "human"]
    assert found["is_human"].tolist() == [False, False, True, True]
    assert found["item_id"].eq("i1").all() and found["cluster"].tolist() == ["x", "x", "y", "y"]
    pages = nb.Study(outputs(), judgments(group_id=[*"ppqq"]), settings={"clusters": "group_id"})
    assert pages.judged()["cluster"].tolist() == [*"ppqq"] and pages.scale("quality") is None
    both = pd.concat([judgments(dimension="truth"), judgments(dimension="flow", value=1)])
    assert nb.Study(outputs(), both).judged("flow")["value"].tolist() == [1] * 4


@pytest.mark.parametrize("table", ["scores", "system_scores"])
def test_scores_are_given_higher_is_better_whatever_the_case_of_directions(table):
    def scored(signature):
        study = nb.Study(outputs(), **{table: score(table, signature=signature)})
        return study.scored(["e"], of=table)["score"].item()

    assert scored("TER|Direction: LOWER is better") == scored("direction:lower|x") == -1
    assert scored("direction:higher|x") == scored("") == 1
    study = nb.Study(outputs(), scores=pd.concat([score(), score(evaluator="f")]))
    assert study.scored(["f"])["evaluator"].tolist() == ["f"] and len(study.scored()) == 2
    with pytest.raises(ValueError, match="evaluator: 'g' is unknown"):
        study.scored(["g"])


def test_only_and_replace_clear_the_mark_of_a_loader():
    world = nb.simulate("gaussian", n_outputs=5, seed=0)
    assert world.pristine and world.origin == "simulated:gaussian seed=0"
    part = world.only(systems=["t0.7"])
    assert part.systems == ["t0.7"] and not part.pristine and part.origin == world.origin
    assert part.outputs["is_human"].sum() == world.outputs["is_human"].sum()
    assert set(part.judgments["output_id"]) == set(part.outputs["output_id"])
    assert set(part.logprobs["output_id"]) <= set(part.outputs["output_id"])
    assert part.only(is_human=True).systems == [] and part.only(is_human=False).systems == ["t0.7"]
    again = world.replace(name="again")
    assert not again.pristine and again.origin == world.origin and again.truth is world.truth
    with pytest.raises(ValueError, match=r"systems: 't0.6' is unknown"):
        world.only(systems=["t0.6"])
    with pytest.raises(ValueError, match="replace: 'output' is unknown"):
        world.replace(output=world.outputs)
    with pytest.raises(TableError, match="must occur in column 'output_id' of outputs"):
        world.replace(judgments=world.judgments.assign(output_id="x"))


def test_a_part_leaves_out_what_is_of_other_outputs_and_can_be_changed_again():
    references = pd.DataFrame({"item_id": ["1", "2"], "reference_id": "r", "text": "so"})
    votes = pd.DataFrame({"output_a": ["a1", "a1"], "output_b": ["b1", "h1"], "annotator_id": "w"})
    study = nb.Study(
        outputs(item_id=["1", "2", "1", "2"]),
        judgments(),
        references=references,
        preferences=votes.assign(choice="a"),
        system_scores=pd.DataFrame({"system": ["a", "b"], "evaluator": "e", "score": 1.0}),
    )
    first = part_of(study, study.outputs["output_id"].isin(["a1", "h1"]).to_numpy())
    assert first.references["item_id"].tolist() == ["1"]
    assert first.preferences["output_b"].tolist() == ["h1"]
    assert first.system_scores["system"].tolist() == ["a"] and len(first.judgments) == 3
    again = first.replace(references=first.references.assign(text="else"))
    assert again.references["text"].eq("else").all()
    assert first.replace(outputs=first.outputs.assign(text="new")).references is not None


def test_check_says_what_is_missing_in_words():
    table = nb.Study(outputs(), judgments()).check().set_index("analysis")
    assert (
        table.loc["agreement", "possible"] and table.loc["score: diversity", "missing"] == "texts"
    )
    assert table.loc["huse", "missing"] == "logprobs (of every output, under its system)"
    assert table.loc["correlate", "missing"] == "scores or system_scores; outputs of three systems"
    assert "two judgments" in nb.Study(outputs(), judgments()[:3]).check()["missing"].str.cat()
    whole = nb.simulate("gaussian", n_outputs=5, seed=0).check().set_index("analysis")
    assert whole.loc["huse", "possible"] and whole.loc["huse", "missing"] == ""
    assert whole.loc["compare_systems", "possible"] and not whole.loc["score: overlap", "possible"]


@pytest.mark.parametrize("name", ["gaussian", "colors"])
def test_a_simulated_study_comes_back_from_a_folder(name, tmp_path):
    small = {"gaussian": {"n_outputs": 5}, "colors": {"n_contexts": 6, "n_rounds": {"train": 4}}}
    made = nb.simulate(name, seed=1, n_truth=100, **small[name])
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
        texts = {name: "str" for name in frame if frame[name].dtype == object}
        one, other = frame.astype(texts), again.truth[key].astype(texts)
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert made.settings == again.settings and list(made.related) == list(again.related)
    for key in made.related:
        same(made.related[key], again.related[key])


def test_only_a_former_study_is_replaced_in_one_step(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "todo.txt").write_text("keep me")
    with pytest.raises(FileExistsError, match="is not a saved study"):
        nb.Study(outputs()).write(tmp_path / "notes")
    assert (tmp_path / "notes" / "todo.txt").read_text() == "keep me"
    nb.Study(outputs(), judgments()).write(tmp_path / "s")
    (tmp_path / "s" / "claims.csv").write_text("of one's own")
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            nb.Study(outputs().iloc[:1]).write(tmp_path / "s")
    assert len(read_study(tmp_path / "s").outputs) == 4
    nb.Study(outputs().iloc[:1]).write(tmp_path / "s")
    again = read_study(tmp_path / "s", name="other")
    assert len(again.outputs) == 1 and again.judgments is None, "tables that are gone do not stay"
    assert (tmp_path / "s" / "claims.csv").read_text() == "of one's own"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "s"]
    with pytest.raises(FileNotFoundError, match=r"no folder .*Did you mean 'notes'\?"):
        read_study(tmp_path / "note")


def test_invalid_judgments_are_excluded_and_counted_once(tmp_path):
    settings = {
        "valid": {"quality": {"min": 2, "max": 4}},
        "scales": {"quality": {"min": 1, "max": 4}},
    }
    given = judgments(annotator_id=["w001", "w001", "w001", "w002"])
    study = nb.Study(outputs(), given, settings=settings)
    assert study.judgments["value"].tolist() == [2, 3, 4]  # both ends are valid
    assert study.settings["valid"] == {"quality": {"min": 2, "max": 4, "excluded": 1}}
    assert settings["valid"] == {"quality": {"min": 2, "max": 4}}
    study.write(tmp_path / "s")
    again = read_study(tmp_path / "s")
    same(study, again)
    assert again.settings == study.settings == study.replace(name="b").settings
    more = study.replace(judgments=judgments(value=[9, 9, 3, 4]))
    assert more.settings["valid"]["quality"]["excluded"] == 2 and len(more.judgments) == 2


def test_open_study_takes_one_source(tmp_path):
    nb.Study(outputs()).write(tmp_path / "s")
    assert nb.open_study("huse", folder=tmp_path / "s", n_outputs=3).source == "study"
    assert nb.open_study("huse", n_outputs=3, n_truth=0).source == "simulated"
    with pytest.raises(ValueError, match="are two studies"):
        nb.open_study("huse", source="released", folder=tmp_path / "s")
    with pytest.raises(ValueError, match="source: 'relased' is unknown"):
        nb.open_study("huse", source="relased")
