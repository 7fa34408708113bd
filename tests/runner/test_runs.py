"""A run is known by its parts, replaced in one step, and no file of others is lost to it."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nlgbench import hashing
from nlgbench.evaluators.stored import stored_dir
from nlgbench.runner import gathering, runs
from nlgbench.runner.notebooks import read_notebook
from nlgbench.study import schema

HALF = runs.HALF
AROUND = {"package": "p", "platform": "q", "installed": "d"}


def finished(folder: Path, notebook: str, digest: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "made.txt").write_text(digest)
    runs.write_manifest(
        folder, {"notebook": notebook, "digest": digest, "made": [], "parameters": {}}
    )
    return folder


def test_the_digest_notices_every_part_and_not_the_output_folder(make_notebook, tmp_path):
    words = tmp_path / "words.txt"

    def digest_of(code="a = 1", k=1, text="a", **around):
        cell = f"k: int = 1\nwords: str = {str(words)!r}\noutput_dir: str | None = None"
        limits = 'limits = {"words": "path"}'
        notebook = read_notebook(make_notebook("mine", cell, f"{limits}\n{code}"))
        words.write_text(text)
        made = {"environment": AROUND | around, "source": "auto", "effort": "quick"}
        return runs.plan(notebook, {"k": k}, **made).digest

    others = [{"code": "a = 2"}, {"k": 8}, {"text": "b"}, *({part: "changed"} for part in AROUND)]
    assert digest_of() == digest_of()
    assert len({digest_of(), *(digest_of(**other) for other in others)}) == 7


class Killed(BaseException):
    """Stands for the end of the process at one step."""


@pytest.mark.parametrize("survives", range(6))
def test_killed_while_replacing_leaves_a_whole_result(tmp_path, monkeypatch, survives):
    finished(tmp_path / "nb", "nb", "old")
    new = finished(tmp_path / HALF / "new" / "nb", "nb", "new")
    steps = 0

    def step(original):
        def run(*args, **keywords):
            nonlocal steps
            if steps == survives:
                raise Killed
            steps += 1
            return original(*args, **keywords)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", step(Path.rename))
        patch.setattr(runs.shutil, "rmtree", step(runs.shutil.rmtree))
        try:
            runs.promote(new, tmp_path / "nb")
        except Killed:
            assert survives < 3
    runs.recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["nb"]
    assert (tmp_path / "nb" / "made.txt").read_text() == "new"


def test_a_killed_command_leaves_nothing_half_and_nothing_that_blocks(tmp_path):
    finished(tmp_path / HALF / "old" / "01-some-notebook", "01-some-notebook", "old")
    half = tmp_path / HALF / "new" / "02-other"
    half.mkdir(parents=True)
    (half / "manifest.json").write_text('{"digest": "ab')
    (tmp_path / HALF / "tmp123" / "d").mkdir(parents=True)  # of a folder that was being deleted
    for name, mark in {"a.failed": ".failed", "b": "manifest.json"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / mark).touch()
    (tmp_path / ".old-2023-results").mkdir()
    (tmp_path / ".notes.csv.12").write_text("mine")
    runs.recover(tmp_path)
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {"01-some-notebook", "a.failed", "b", ".old-2023-results", ".notes.csv.12"}
    runs.check_place(tmp_path, ["a", "b", "d"])


def test_a_result_is_made_anew_when_it_is_not_whole_or_what_it_read_was_changed(tmp_path):
    place, mine = tmp_path / "nb", tmp_path / "mine"
    mine.mkdir()
    (mine / "outputs.csv").write_text("a")
    place.mkdir()
    (place / "made.txt").write_text("1")
    about = {"notebook": "nb", "digest": "d", "hashes": {"code": "c"}, "made": []}
    runs.write_manifest(place, {**about, "read": {str(mine): hashing.content_hash(mine)}})

    def why(code="c"):
        return runs.why_rerun(place, {"code": code})

    assert runs.why_rerun(tmp_path / "other", {"code": "c"}) == "not run yet"
    assert (why(), why("x")) == ("", "changed: code")
    (mine / "outputs.csv").write_text("b")
    assert why() == f"it read {mine}, which was changed"
    shutil.rmtree(mine)
    assert why() == f"it read {mine}, which no longer exists"
    (place / "made.txt").write_text("2")
    assert why() == "made.txt in its result was changed"
    (place / "made.txt").unlink()
    assert why() == "made.txt is missing from its result"


@pytest.mark.parametrize(
    "place", ["study/thesis.txt", "study", "study.failed/my.txt", "ledger.csv", "index.csv"]
)
def test_what_others_made_is_never_replaced(tmp_path, place):
    mine = tmp_path / place
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("a,b\n1,2\n")
    name = place.split("/")[0]
    with pytest.raises(OSError, match=f"{name} was not made by nlgbench and would be replaced"):
        runs.check_place(tmp_path, ["study"])


def recorded(place: Path, *ids: str, **changes):
    """Leave a finished run with a ledger of our own results."""
    finished(place, place.name.partition("@")[0], place.name)
    rows = pd.DataFrame({"claim_id": ids, "variant": "", "verdict": "new", "reason": place.name})
    numbers = ["published", "recomputed", "ci_low", "ci_high", "tolerance"]
    rows = rows.assign(**{"source": "simulated", **dict.fromkeys(numbers, np.nan), **changes})
    schema.write(rows, "ledger", place / "ledger.csv")
    return rows


def test_two_ledgers_become_one(tmp_path):
    recorded(tmp_path / "a", "simulated/x/1")
    recorded(tmp_path / "b", "simulated/x/1", "simulated/x/2")
    (tmp_path / "c.failed").mkdir()
    kept = "two notebooks record 'simulated/x/1'; the first one's value is kept"
    assert gathering.gather(tmp_path) == [kept]
    assert schema.read(tmp_path / "ledger.csv", "ledgers")["reason"].tolist() == ["a", "b"]
    assert (tmp_path / "index.csv").read_text() == "notebook,source,kind,name,path,alt,run\n"
    runs.check_place(tmp_path, ["a", "b"])


@pytest.mark.parametrize("damage", [b"claim_id\nx\n", b"\xff\x00", b"", b'a,"b\n'])
def test_a_run_with_a_damaged_ledger_is_named_and_made_again(tmp_path, damage):
    for name in "ab":
        recorded(tmp_path / name, f"simulated/{name}/1")
        manifest = runs.read_manifest(tmp_path / name)
        (tmp_path / name / runs.MANIFEST).unlink()
        runs.write_manifest(tmp_path / name, manifest)
    (tmp_path / "a" / "ledger.csv").write_bytes(damage)
    (problem,) = gathering.gather(tmp_path)
    assert problem.startswith("a is damaged, and left out of ") and "ledger.csv" in problem
    assert schema.read(tmp_path / "ledger.csv", "ledgers")["reason"].tolist() == ["b"]
    parts = manifest.get("hashes", {})
    assert runs.why_rerun(tmp_path / "a", parts) == "ledger.csv in its result was changed"
    assert runs.why_rerun(tmp_path / "b", parts) == ""


def test_one_command_at_a_time_writes_where_it_can(tmp_path):
    with (
        runs.writing(tmp_path / "out"),
        pytest.raises(OSError, match="another nlgbench run is writing"),
        runs.writing(tmp_path / "out"),
    ):
        pass
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(OSError, match=r"cannot write to .*file.* choose another folder"),
        runs.writing(tmp_path / "file"),
    ):
        pass


def test_cleaning_removes_what_is_left_over_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NLGBENCH_DATA", raising=False)
    out = tmp_path / "out"
    assert runs.clean(out, dry_run=False).empty and not out.exists()
    finished(out / "nb", "nb", "1")
    (out / HALF / "new" / "nb").mkdir(parents=True)
    (out / ".notes").mkdir()
    stored_dir().mkdir(parents=True)
    (stored_dir() / "scores.csv").write_text("score\n1\n")
    found = runs.clean(out, dry_run=True)
    assert len(found) == 2 and found["files"].sum() == 1
    assert stored_dir().exists()
    pd.testing.assert_frame_equal(runs.clean(out, dry_run=False), found)
    assert sorted(path.name for path in out.iterdir()) == [".lock", ".notes", "nb"]
    assert not stored_dir().exists()
