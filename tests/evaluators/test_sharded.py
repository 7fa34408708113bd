"""What is scored in shards is what `score` says of all texts together, to the bit."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.evaluators import sharded
from nlgbench.evaluators.score import OVERLAP
from nlgbench.study import schema

NAMES = [
    *("minus_self_bleu_6", "cider_d", "bleu_4", "bleu_2@coco", "cider", "rouge_2", "rouge_l"),
    *("chrf", "minus_self_bleu_1"),
]
# Few words, so that n-grams are shared, repeated and tied; empty and equal texts come up.
TEXT = st.lists(st.sampled_from(["a", "b", "c", "é"]), max_size=9).map(" ".join)
OUTPUT = st.tuples(st.integers(0, 2), st.sampled_from(["1", "2", "3"]), st.sampled_from("xy"), TEXT)
ROWS = st.lists(OUTPUT, min_size=1, max_size=9)


def study_of(rows, references):
    """Make a study of (shard, item, system, text), in the order of the shards."""
    rows = sorted(rows, key=lambda row: row[0])
    outputs = pd.DataFrame(rows, columns=["shard", "item_id", "system", "text"])
    outputs.insert(0, "output_id", [f"o{at}" for at in range(len(rows))])
    shard = outputs.pop("shard").to_numpy()
    named = [(f"{at % 3 + 1}", f"r{at}", text) for at, text in enumerate(references)]
    # The first output is a reference of its item, but not of itself.
    named.append((outputs["item_id"][0], "o0", outputs["text"][0]))
    found = pd.DataFrame(named, columns=["item_id", "reference_id", "text"])
    found = found[found["item_id"].isin(outputs["item_id"])]
    return nb.Study(outputs, references=found), shard


def write_shards(study, shard, home):
    folders = []
    for at in range(shard.max() + 1):
        outputs = study.outputs[shard == at]
        references = study.references[study.references["item_id"].isin(outputs["item_id"])]
        folders.append(home / f"shard-{at}")
        nb.Study(outputs, references=references).write(folders[-1])
    return folders


def drawn_study(n=120, n_shards=4):
    rng = np.random.default_rng(0)
    words = np.array([f"w{at}" for at in range(30)])
    texts = [" ".join(words[rng.zipf(1.5, size) % 30]) for size in rng.integers(0, 15, n)]
    rows = [
        (at * n_shards // n, f"{at % 3 + 1}", "xyz"[rng.integers(3)], texts[at]) for at in range(n)
    ]
    return study_of(rows, texts[::7])


def read(paths):
    return pd.concat([schema.read(path, "scores") for path in paths])


def assert_equal(found, study, names):
    wanted = nb.score(study, names).scores
    both = wanted.merge(found, on=["output_id", "evaluator"], how="outer", validate="1:1")
    np.testing.assert_array_equal(both["score_y"], both["score_x"])
    assert both["signature_y"].tolist() == both["signature_x"].tolist()


@settings(max_examples=15)
@given(ROWS, st.lists(TEXT, max_size=6), st.sampled_from([100, 2**24]))
@example([(0, "1", "x", "a")], ["a b", "", "c"], 100)  # a text alone, in one shard
@example([(0, "1", "x", "a b"), (2, "1", "x", "a b")], [], 100)  # equal texts, a shard between
@example([(at, "1", "x", "a b a b a"[:n]) for at, n in enumerate((9, 3, 5))], ["a"], 2**24)
@example([(0, "1", "x", ""), (1, "2", "x", "a b c"), (1, "3", "x", "a b c d")], ["b"] * 3, 100)
def test_shards_give_what_all_together_give(rows, references, partition):
    if not any(text for *_, text in rows):
        rows = [*rows, (0, "1", "x", "a")]
    study, shard = study_of(rows, references)
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharded, "_PARTITION", partition)
        folders = write_shards(study, shard, Path(home))
        assert_equal(read(nb.score_shards(folders, NAMES, Path(home, "scores"))), study, NAMES)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as found:
        yield found


def test_workers_give_the_same_files(client, tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "_PARTITION", 2_000)
    study, shard = drawn_study()
    folders = write_shards(study, shard, tmp_path)
    here = nb.score_shards(folders, NAMES, tmp_path / "here")
    there = nb.score_shards(folders, NAMES, tmp_path / "there", client=client)
    assert_equal(read(there), study, NAMES)
    assert [path.read_bytes() for path in here] == [path.read_bytes() for path in there]


def test_an_error_on_a_worker_is_the_callers_and_leaves_nothing(client, tmp_path):
    folders = write_shards(*drawn_study(), tmp_path)
    (folders[2] / "outputs.csv").write_text("output_id,item_id,system,text\n1,,x,a\n")
    with pytest.raises(schema.TableError, match=r"shard-2.outputs.csv.*'item_id'.*row 1"):
        nb.score_shards(folders, NAMES, tmp_path / "scores", client=client)
    assert {path.name for path in (tmp_path / "scores").iterdir()} <= {".lock", "shards.json"}


def test_a_second_call_makes_what_is_missing(tmp_path, monkeypatch):
    names = ["minus_self_bleu_2", "rouge_l"]
    study, shard = drawn_study()
    folders = write_shards(study, shard, tmp_path)
    finish = sharded._finish

    def finish_two(job, at, *arguments):
        if at == 2:
            raise OSError("No space left on device")
        finish(job, at, *arguments)

    monkeypatch.setattr(sharded, "_finish", finish_two)
    with pytest.raises(OSError, match="No space left"):
        nb.score_shards(folders, names, tmp_path / "scores")
    monkeypatch.undo()
    there = {path.name for path in (tmp_path / "scores").iterdir()} - {".lock"}
    assert there == {"shards.json", "shard-0.csv", "shard-1.csv"}
    (tmp_path / "scores" / ".work").mkdir()  # as kill -9 leaves it
    (tmp_path / "scores" / ".work" / "half").touch()
    before = (tmp_path / "scores" / "shard-0.csv").stat()
    made = nb.score_shards(folders, names, tmp_path / "scores")
    assert_equal(read(made), study, names)
    assert made[0].stat().st_ino == before.st_ino
    assert {path.name for path in (tmp_path / "scores").iterdir()} - {".lock"} == {
        "shards.json",
        *(f"shard-{at}.csv" for at in range(4)),
    }

    def read_none(*_):
        raise AssertionError("a shard was read again")

    monkeypatch.setattr(sharded, "_read", read_none)
    assert nb.score_shards(folders, names, tmp_path / "scores") == made


def test_every_name_of_overlap_is_scored_in_shards():
    assert set(OVERLAP) < set(sharded.NAMES)


def edit(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def wrong_inputs(folders, home):
    """Wrong calls: what is done before, what is asked for, and words of the error."""
    scores = {"shards": folders, "evaluators": ["minus_self_bleu_2"], "folder": home / "scores"}
    other = home / "scores" / "notes.txt"
    return {
        "no list": ({}, {"shards": folders[0]}, "shards must be a list of at least one"),
        "none": ({}, {"shards": []}, "at least"),
        "two of a name": ({}, {"shards": [*folders, folders[0]]}, "two folders are called 'shard-"),
        "no folder": ({}, {"shards": [home / "shard-9"]}, "sees no .*shard-9"),
        "unknown": ({}, {"evaluators": ["self_bleu_4"]}, "Did you mean 'minus_self_bleu_4'"),
        "twice": ({}, {"evaluators": ["rouge_l", "rouge_l"]}, "each named once"),
        "same id": (
            {folders[1] / "outputs.csv": ("o40,", "o3,")},
            {},
            r"shard-1.outputs.csv, row 11 \(line 12\).*'o3' .*shard-0.outputs.csv, row 4 ",
        ),
        "no column": ({folders[1] / "outputs.csv": ("item_id", "item")}, {}, "no column 'item_id'"),
        "no references": ({folders[1] / "references.csv": None}, {"evaluators": ["rouge_l"]},
                          "shard-1 has no references.csv, which rouge_l needs"),
        "strange folder": ({other: "x"}, {}, "holds 'notes.txt', and no scores of shards"),
        "other evaluators": (scores, {"evaluators": ["cider"]}, r"evaluators \(minus_self_bleu_2"),
        "fewer shards": (scores, {"shards": folders[:-1]}, "'shard-3' was one, too"),
        "more shards": (scores | {"shards": folders[:-1]}, {}, "'shard-3' was not one"),
        "another order": (scores, {"shards": folders[::-1]}, "in another order"),
    }  # fmt: skip


@pytest.mark.parametrize("case", wrong_inputs([Path(f"{at}") for at in range(4)], Path()))
def test_what_is_wrong_is_said(case, tmp_path):
    folders = write_shards(*drawn_study(), tmp_path)
    before, changes, words = wrong_inputs(folders, tmp_path)[case]
    if "shards" in before:
        nb.score_shards(**before)
    else:
        for path, change in before.items():
            path.parent.mkdir(exist_ok=True)
            if change is None:
                path.unlink()
            elif isinstance(change, str):
                path.write_text(change)
            else:
                edit(path, *change)
    asked = {"shards": folders, "evaluators": ["minus_self_bleu_2"], "folder": tmp_path / "scores"}
    with pytest.raises((ValueError, OSError), match=words):
        nb.score_shards(**asked | changes)
    assert not (tmp_path / "scores" / ".work").exists()


def test_a_shard_that_changed_is_refused(tmp_path):
    folders = write_shards(*drawn_study(), tmp_path)
    names = ["minus_self_bleu_1"]
    nb.score_shards(folders, names, tmp_path / "scores")
    edit(folders[1] / "outputs.csv", "w1", "w2")
    with pytest.raises(FileExistsError, match=r"shards .'shard-1' has changed since.*delete this"):
        nb.score_shards(folders, names, tmp_path / "scores")


def test_no_text_at_all_is_refused_as_by_score(tmp_path):
    study, shard = study_of([(0, "1", "x", ""), (1, "1", "x", "")], [])
    with pytest.raises(ValueError, match="needs texts"):
        nb.score_shards(write_shards(study, shard, tmp_path), ["rouge_l"], tmp_path / "scores")


def test_two_calls_on_a_folder_exclude_each_other(tmp_path):
    folders = write_shards(*drawn_study(), tmp_path)
    with (
        sharded._writing(tmp_path / "scores"),
        pytest.raises(OSError, match="another process scores into"),
    ):
        nb.score_shards(folders, ["rouge_l"], tmp_path / "scores")


def test_a_worker_with_other_code_is_refused(tmp_path):
    (folder,) = write_shards(*drawn_study(n_shards=1), tmp_path)
    with pytest.raises(RuntimeError, match=r"other code or packages.*install the same"):
        sharded._hashes(folder, {"code": ["0"], "dependencies": "0"})
