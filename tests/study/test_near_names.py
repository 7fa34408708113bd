"""Spellings of one name are found, asked about, and unified or kept apart as settings say."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.study import read_folder, summary
from nlgbench.study.csv_files import TableError

READ = """settings: {settings}
tables:
  judgments:
    file: r.csv
    columns: {{item_id: doc, system: model, annotator_id: who, dimension: what, value: score}}
"""


def rows(n=4, **spellings):
    """Two annotators judge two systems on n documents; spellings replace names in later half."""
    cells = [
        {"doc": f"d{i}", "model": model, "who": who, "what": "flow", "score": f"{1 + i % 4}"}
        for i in range(n)
        for model in ("Plain-Net", "rules")
        for who in ("Mia", "Tom")
    ]
    for row in cells[len(cells) // 2 :]:
        for column, (old, new) in spellings.items():
            row[column] = new if row[column] == old else row[column]
    return pd.DataFrame(cells)


def read(place, frame, settings="{}"):
    """Read a folder; return the study, problems and doubts."""
    place.mkdir(exist_ok=True)
    frame.to_csv(place / "r.csv", index=False)
    (place / "study.yml").write_text(READ.format(settings=settings))
    problems, doubts = [], []
    study, _ = read_folder(place, problems, doubts)
    return study, problems, doubts


@pytest.mark.parametrize(
    ("column", "kind", "old", "new"),
    [
        ("model", "systems", "Plain-Net", "plain-net"),
        ("model", "systems", "rules", "rules "),
        ("model", "systems", "rules", "ru\u200bles"),
        ("model", "systems", "Plain-Net", "\uff30lain-Net"),
        ("who", "annotators", "Mia", "mia"),
        ("who", "annotators", "Tom", "\ufeffTom"),
        ("what", "dimensions", "flow", " Flow"),
    ],
)
def test_two_spellings_are_refused_until_settings_say_what_they_are(
    tmp_path, column, kind, old, new
):
    frame = rows(**{column: (old, new)})
    plain, _, _ = read(tmp_path / "plain", rows())
    n_old, n_new = (int((frame[column] == name).sum()) for name in (old, new))
    study, (problem,), _ = read(tmp_path / "s", frame)
    assert study is None and "r.csv: " in problem
    assert f"{kind} {old!r} ({n_old} rows) and {new!r} ({n_new} rows)" in problem
    lists = problem.partition("same: ")[2].partition("`")[0]
    one, none, _ = read(tmp_path / "s", frame, f"{{same: {lists}}}")
    assert none == []
    for table in ("outputs", "judgments"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(plain, table))
    one.write(tmp_path / "again")
    assert nb.read_study(tmp_path / "again").outputs.equals(plain.outputs)
    two, none, _ = read(tmp_path / "s", frame, f"{{distinct: {lists}}}")
    assert none == [] and not two.judgments.equals(plain.judgments)
    assert "annotators" not in two.settings["distinct"], "a person's name remains"
    two.write(tmp_path / "two")
    assert nb.read_study(tmp_path / "two").judgments.equals(two.judgments)


def test_spellings_of_evaluators_and_of_both_sides_of_votes_are_refused(tmp_path):
    files = {
        "outputs.csv": "output_id,item_id,system\n1,d,x\n2,d,y\n",
        "scores.csv": "output_id,evaluator,score\n1,Chrf,1\n2,chrF,2\n",
        "preferences.csv": "output_a,output_b,annotator_id,choice\n1,2,p1,a\n2,1,P1,b\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(
        TableError, match=r"(?s)annotators 'p1'.*scores.csv: evaluators 'Chrf'"
    ) as e:
        nb.read_study(tmp_path)
    assert len(e.value.problems) == 2
    (tmp_path / "study.yml").write_text(
        "settings: {same: {annotators: [[p1]], evaluators: [[chrf, CHRF]]}}\n"
    )
    study = nb.read_study(tmp_path)
    assert study.scores["evaluator"].tolist() == ["chrf"] * 2, "a list covers every spelling"
    assert study.preferences["annotator_id"].tolist() == ["w001"] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "{same: {systems: [[rules, ruels]]}}",
            "'ruels' occurs in no table. Did you mean 'rules'?",
        ),
        ("{same: {model: [[rules, b]]}}", "same: 'model' is unknown"),
        ("{distinct: {systems: [rules]}}", "distinct must be"),
        ("{same: {systems: [[rules, x], [Plain-Net, x]]}}", "'x' is in two lists"),
    ],
)
def test_settings_about_names_that_say_nothing_are_refused(tmp_path, settings, message):
    assert message in " ".join(read(tmp_path / "s", rows(), settings)[1])


def test_frames_warn_and_take_the_same_settings():
    outputs = pd.DataFrame({"output_id": [*"1234"], "item_id": [*"ddee"], "system": [*"AaAa"]})
    judgments = pd.DataFrame({"output_id": [*"1234"], "annotator_id": "p", "value": 1.0})
    with pytest.warns(UserWarning, match=r"systems 'A' \(2 rows\) and 'a' \(2 rows\)") as seen:
        study = nb.Study(outputs, judgments)
    assert seen[0].filename == __file__ and study.systems == ["A", "a"]
    with pytest.warns(UserWarning, match="annotators 'p'"):
        study.only(systems=["a"]).replace(
            judgments=judgments.iloc[[1, 3]].assign(annotator_id=["p", "P"])
        )
    with pytest.warns(UserWarning, match="systems"):
        nb.read_study(rows(model=("rules", "Rules")), item="doc", annotator="who", value="score")
    kept = nb.Study(outputs, judgments, settings={"distinct": {"systems": [["a", "A"]]}})
    assert kept.systems == ["A", "a"]
    one = nb.Study(outputs, judgments, settings={"same": {"systems": [["a", "A"]]}})
    assert one.systems == ["a"] and "same" not in one.settings


@pytest.mark.parametrize(
    ("column", "frequent", "rare", "n", "is_doubt"),
    [
        ("model", "Plain-Net", "Plian-Net", 1, True),
        ("model", "rules", "ruless", 1, True),
        ("who", "Mia", "Mía", 8, True),
        ("model", "Plain-Net", "Plain_Net", 8, True),
        ("what", "flow", "flw", 1, True),
        ("model", "rules", "roles", 8, True),
        ("who", "Miriam", "Mirjam", 8, True),
        ("model", "llama-7b", "llama-70b", 1, False),
        ("model", "net v1.1", "net v11", 1, False),
        ("model", "run a", "run b", 1, False),
        ("model", "gpt-4", "gpt-4o", 1, False),
        ("who", "Mia", "Tim", 1, False),
    ],
)
def test_a_rare_name_that_is_spelled_like_another_is_a_doubt(
    tmp_path, column, frequent, rare, n, is_doubt
):
    frame = rows(8)
    old = frequent if frequent in set(frame[column]) else frame[column].iloc[0]
    frame[column] = frame[column].replace(old, frequent)
    changed = frame.index[frame[column] == frequent][-n:]
    frame.loc[changed, column] = rare
    study, problems, doubts = read(tmp_path / "s", frame)
    assert study is not None and problems == [] and bool(doubts) == is_doubt
    if is_doubt:
        (doubt,) = doubts
        count = f"{n} row{'s' * (n > 1)}"
        place = f"r.csv, row {changed[0] + 1} (line {changed[0] + 2})"
        assert f"{rare!r} ({count}; " in doubt and place in doubt and f"{frequent!r} (" in doubt
        lists = doubt.partition("same: ")[2].partition("`")[0]
        for key in ("same", "distinct"):
            assert read(tmp_path / "s", frame, f"{{{key}: {lists}}}")[1:] == ([], [])


def test_spellings_of_items_and_systems_with_few_items_are_doubts(tmp_path):
    frame = rows(12, doc=("d7", "D6"))
    study, problems, (doubt,) = read(tmp_path / "s", frame)
    assert problems == [] and "items 'd6' (4 rows) and 'D6' (4 rows)" in doubt
    assert "far fewer" not in str(summary.doubts(study))
    study, _, _ = read(tmp_path / "s", pd.concat([frame, frame[:2].assign(model="extra")]))
    assert "systems with far fewer items than the others (median 12): extra (1)." in " ".join(
        summary.doubts(study)
    )
