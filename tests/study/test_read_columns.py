"""A DataFrame or file whose columns are named is the study that `nlgbench new` would describe."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.runner import new_study
from nlgbench.study import TABLES

RATINGS = pd.DataFrame(
    {
        "doc": [7, 7, 7, 7, 8, 8, 8, None],
        "sys": [*"xyxyxyxy"],
        "who": ["ann", "ann", "bo", "bo"] * 2,
        "fluency": [4, 2, 5, 3, 4, 1, None, 2],
        "style": [1, 1, 2, 2, 3, 3, 1, 2],
        "remark": "fine",
    }
).dropna(subset=["doc"])
VOTES = pd.DataFrame(
    {"q": [1, 1, 2], "l": "x", "r": "y", "voter": ["p", "q", "p"], "pick": ["left", "tie", "right"]}
)
JUDGED = {"item": "doc", "system": "sys", "annotator": "who"}
#: A frame, and the columns that are named.
LAYOUTS = [
    (RATINGS, JUDGED | {"value": "fluency"}),
    (RATINGS.dropna(), JUDGED | {"value": ["fluency", "style"]}),
    (
        RATINGS.dropna().melt(["doc", "sys", "who"], ["fluency", "style"], "aspect", "given"),
        JUDGED | {"dimension": "aspect", "value": "given"},
    ),
    (VOTES, {"item": "q", "a": "l", "b": "r", "annotator": "voter", "choice": "pick"}),
    (RATINGS[:2], {"item": "doc", "system": "sys", "score": "style", "text": "remark"}),
    (RATINGS.rename(columns={"doc": "item", "sys": "system", "who": "annotator"}), {}),
]


@pytest.mark.parametrize(("frame", "columns"), LAYOUTS)
@pytest.mark.filterwarnings("ignore:Read .* with guesses")
def test_a_frame_a_file_and_a_described_folder_are_the_same_study(frame, columns, tmp_path):
    path = tmp_path / "r.csv"
    frame.to_csv(path, index=False, float_format="%g")
    ours = {"a": "system_a", "b": "system_b", "item": "item_id", "annotator": "annotator_id"}
    flags = {ours.get(k, k): [v] if isinstance(v, str) else v for k, v in columns.items()}
    new_study.new(tmp_path, [path], None, flags)
    described = nb.read_study(tmp_path)
    for study in (nb.read_study(frame, **columns), nb.read_study(path, **columns)):
        assert study.settings == described.settings
        for table in TABLES:
            both = getattr(study, table), getattr(described, table)
            assert (both[0] is None) == (both[1] is None)
            if both[0] is not None:
                pd.testing.assert_frame_equal(*both)


def test_missing_values_are_left_out_and_ids_keep_their_form():
    study = nb.read_study(RATINGS, **JUDGED, value="fluency", name="mine")
    assert study.name == "mine" and study.judgments["value"].tolist() == [4, 2, 5, 3, 4, 1]
    assert set(study.outputs["item_id"]) == {"7", "8"}, "7.0, because one id is missing"
    again = nb.read_study(RATINGS.set_index(["doc", "sys"]), **JUDGED, value="fluency")
    pd.testing.assert_frame_equal(again.judgments, study.judgments)
    assert nb.compare_systems(study).systems["system"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("source", "columns", "message"),
    [
        (RATINGS, {"item": "doc", "system": "sis"}, "no file has a column 'sis'. Did you mean"),
        (RATINGS, {"value": "fluency"}, "DataFrame: judgments need system, .* pass system="),
        (RATINGS[["remark"]], {}, r"name the columns, as in nb.read_study\(\.\.\., item='id'"),
        (RATINGS[:0], {}, "DataFrame has no rows"),
        (RATINGS.assign(style="odd"), JUDGED | {"value": "style"}, r"Found row 1 \(index 0\)"),
        (pd.concat([RATINGS, RATINGS], axis=1), {}, "two columns named 'doc'"),
        (".", {"item": "doc"}, "is a folder: omit item="),
    ],
)
def test_what_a_frame_lacks_is_named_with_the_argument(source, columns, message):
    with pytest.raises(ValueError, match=message):
        nb.read_study(source, **columns)


def test_uncertain_guesses_are_warned_of_until_they_are_named():
    frame = (
        RATINGS.dropna().drop(columns=["who", "style", "remark"]).drop_duplicates(["doc", "sys"])
    )
    frame = frame.rename(columns={"doc": "item", "sys": "system"})
    with pytest.warns(UserWarning, match=r"value is a guess \(.*\): pass value="):
        nb.read_study(frame)
    nb.read_study(frame, value="fluency")  # warnings are errors


def test_analyses_of_a_frame_or_path_say_how_to_make_a_study():
    named = RATINGS.rename(columns={"sys": "model", "who": "rater"})
    for call in (nb.compare_systems, nb.huse, nb.agreement, lambda one: nb.score(one, ["chrf"])):
        way = r"nb\.read_study\(df, item='doc', annotator='rater', system='model', value='\.\.\.'"
        with pytest.raises(ValueError, match=way):
            call(named)
    with pytest.raises(ValueError, match=r"choice='winner'"):
        nb.audit(pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["a"]}))
    with pytest.raises(ValueError, match=r"Read it first: nb\.read_study\('ratings.csv'\)"):
        nb.compare_systems("ratings.csv")
    outputs = pd.DataFrame({"output_id": ["1"], "item_id": ["1"], "system": ["a"]})
    with pytest.raises(ValueError, match=r"Make a study of other columns: nb\.read_study\(df"):
        nb.Study(outputs, judgments=RATINGS)


def test_a_study_and_a_comparison_display_as_tables():
    study = nb.read_study(RATINGS, **JUDGED, value=["fluency", "style"], name="<b>")
    scores = pd.DataFrame({"output_id": study.outputs["output_id"], "evaluator": "len", "score": 1})
    study = study.replace(scores=scores, settings={"scales": {"style": {"min": 0, "max": 9}}})
    assert "13 judgments of fluency (1 to 5) and style (0 to 9) by 2 annotators" in repr(study)
    shown = study._repr_html_()
    assert "&lt;b&gt;" in shown and "<td>4 scores</td>" in shown
    comparison = nb.compare_systems(study, dimension="style")
    assert repr(comparison).split()[:2] == ["system", "estimate"]
