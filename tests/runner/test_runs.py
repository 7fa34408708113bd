"""A run is known by its parts, replaced in one step, and no file of others is lost to it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench import hashing
from nlgbench.evaluators.stored import stored_dir
from nlgbench.hashing import canonical_json, folder_hash
from nlgbench.runner import gathering, listing, runs
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
        notebook = read_notebook(make_notebook("mine", cell, code))
        words.write_text(text)
        made = {"around": AROUND | around, "source": "auto", "effort": "quick"}
        return runs.plan(notebook, {"k": k}, **made).digest

    others = [{"code": "a = 2"}, {"k": 8}, {"text": "b"}, *({part: "changed"} for part in AROUND)]
    assert digest_of() == digest_of()
    assert len({digest_of(), *(digest_of(**other) for other in others)}) == 7


def test_what_is_installed_and_where_names_a_run(monkeypatch):
    before = runs.surroundings()
    versions = hashing.installed_versions()
    assert {"numpy", "scipy", "papermill"} <= set(versions) and "pytest" not in versions
    for changed in (
        {**versions, "numpy": "999"},
        {name: version for name, version in versions.items() if name != "numpy"},
    ):
        with monkeypatch.context() as patch:
            patch.setattr(hashing, "installed_versions", lambda changed=changed: changed)
            now = runs.surroundings()
        assert {name for name in now if now[name] != before[name]} == {"installed packages"}
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    now = runs.surroundings()
    assert {name for name in now if now[name] != before[name]} == {"platform"}


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
def test_canonical_json_ignores_the_order_of_keys(values):
    backwards = dict(reversed(values.items()))
    assert canonical_json(values) == canonical_json(backwards)
    assert json.loads(canonical_json(values)) == values


def test_the_package_hash_notices_a_changed_file(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    before = folder_hash(tmp_path, "**/*.py")
    (tmp_path / "a.py").write_text("x = 2\n")
    changed = folder_hash(tmp_path, "**/*.py")
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, changed, folder_hash(tmp_path, "**/*.py")}) == 3


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


def test_half_runs_are_removed_and_the_former_one_put_back(tmp_path):
    finished(tmp_path / HALF / "old" / "01-some-notebook", "01-some-notebook", "old")
    half = tmp_path / HALF / "new" / "02-other"
    half.mkdir(parents=True)
    (half / "manifest.json").write_text('{"digest": "ab')
    runs.recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["01-some-notebook"]


def failure(folder: Path) -> Path:
    folder.mkdir()
    (folder / "notebook.ipynb").write_text('{"metadata": {"papermill": {}}}')
    (folder / ".failed").touch()
    return folder


def test_what_a_killed_cleaning_up_leaves_never_blocks(tmp_path):
    failure(tmp_path / "a.failed")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_text("")
    finished(tmp_path / "c", "c", "new")
    rubbish = tmp_path / HALF / "tmp123" / "d"
    rubbish.mkdir(parents=True)
    (rubbish / "notebook.ipynb").write_text('{"metadata": {"papermill": {}}}')
    runs.recover(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.failed", "b", "c"]
    runs.check_place(tmp_path, ["a", "b", "c", "d"])


def test_a_result_is_made_anew_when_it_is_not_whole_or_what_it_read_was_changed(tmp_path):
    place, mine = tmp_path / "nb", tmp_path / "mine"
    mine.mkdir()
    (mine / "outputs.csv").write_text("a")
    place.mkdir()
    (place / "made.txt").write_text("1")
    about = {"notebook": "nb", "digest": "d", "parts": {"code": "c"}, "made": []}
    read = {str(mine): hashing.content_hash(mine)}
    runs.write_manifest(place, {**about, "read": read})
    assert runs.why_anew(place, {"code": "c"}) == ""
    assert runs.why_anew(tmp_path / "other", {"code": "c"}) == "not run so far"
    assert runs.why_anew(place, {"code": "x"}) == "changed since: code"
    (mine / "outputs.csv").write_text("b")
    assert runs.why_anew(place, {"code": "c"}) == f"it read {mine}, which was changed"
    (mine / "outputs.csv").write_text("a")
    (place / "made.txt").write_text("2")
    assert runs.why_anew(place, {"code": "c"}) == "made.txt of its result was changed"
    (place / "made.txt").unlink()
    assert runs.why_anew(place, {"code": "c"}) == "made.txt is missing from its result"
    (place / "made.txt").write_text("1")
    (mine / "outputs.csv").unlink()
    mine.rmdir()
    assert runs.why_anew(place, {"code": "c"}) == f"it read {mine}, which is gone"


def test_what_others_made_is_left_alone(tmp_path):
    for name in (".partial-work", ".old-2023-results", ".cache.csv.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".claims.csv.swp").write_text("an editor's")
    (tmp_path / ".notes.csv.12").write_text("mine")
    before = set(tmp_path.rglob("*"))
    runs.recover(tmp_path)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("place", ["study/thesis.txt", "study", "study.failed/my.txt"])
def test_a_foreign_folder_is_never_replaced(tmp_path, place):
    mine = tmp_path / place
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("years of work")
    with pytest.raises(OSError, match=r"study.* was not made by nlgbench and would be replaced"):
        runs.check_place(tmp_path, ["study"])
    runs.check_place(tmp_path, ["other"])


@pytest.mark.parametrize("table", ["ledger.csv", "index.csv"])
def test_foreign_tables_are_never_replaced(tmp_path, table):
    (tmp_path / table).write_text("a,b\n1,2\n")
    with pytest.raises(OSError, match=f"{table} was not made by nlgbench"):
        runs.check_place(tmp_path, ["study"])


def test_two_ledgers_become_one(tmp_path):
    for name, ids in {"a": ["simulated/x/1"], "b": ["simulated/x/1", "simulated/x/2"]}.items():
        finished(tmp_path / name, name, name)
        rows = pd.DataFrame({"claim_id": ids, "variant": "", "verdict": "new", "reason": name})
        numbers = ["published", "recomputed", "ci_low", "ci_high", "tolerance"]
        rows[numbers] = np.nan
        schema.write(rows.assign(source="simulated"), "ledger", tmp_path / name / "ledger.csv")
    assert gathering.gather(tmp_path) == ["simulated/x/1"]
    whole = schema.read(tmp_path / "ledger.csv", "ledgers")
    assert whole["reason"].tolist() == ["a", "b"]
    runs.check_place(tmp_path, ["a", "b"])


def test_one_command_at_a_time(tmp_path):
    with (
        runs.writing(tmp_path / "out"),
        pytest.raises(OSError, match="another nlgbench run is writing"),
        runs.writing(tmp_path / "out"),
    ):
        pass
    with runs.writing(tmp_path / "out"):
        pass


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(OSError, match=r"cannot write to .*file.* choose another folder"),
        runs.writing(tmp_path / "file"),
    ):
        pass


def test_gather_lists_every_figure_and_claim(tmp_path):
    finished(tmp_path / "a", "a", "1")
    (tmp_path / "b.failed").mkdir()
    gathering.gather(tmp_path)
    assert (tmp_path / "index.csv").read_text().startswith("notebook,source,kind,name,path,alt")
    assert (tmp_path / "ledger.csv").read_text().startswith("claim_id,variant,published")


def test_cleaning_removes_what_is_left_over_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NLGBENCH_DATA", raising=False)
    kept = runs.clean(tmp_path / "out", dry_run=True)
    assert kept.empty
    out = tmp_path / "out"
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
    with runs.writing(out), pytest.raises(OSError, match="another nlgbench run is writing"):
        runs.clean(out, dry_run=False)


def test_the_ledger_shows_default_runs_unless_asked(tmp_path):
    for name in ("nb", "nb@k=2", "nb@study=mine-0a1b2c", "nb@k=2,study=mine-0a1b2c"):
        finished(tmp_path / name, "nb", name)
        rows = pd.DataFrame({"claim_id": ["simulated/x/1"], "variant": "", "verdict": "new"})
        numbers = ["published", "recomputed", "ci_low", "ci_high", "tolerance"]
        rows = rows.assign(reason=name, source="simulated", **dict.fromkeys(numbers, np.nan))
        schema.write(rows, "ledger", tmp_path / name / "ledger.csv")
    assert gathering.gather(tmp_path) == []
    shown = json.loads(listing.ledger(tmp_path, form="json"))
    assert [row["run"] for row in shown] == ["", "study=mine-0a1b2c"]
    assert len(json.loads(listing.ledger(tmp_path, form="json", all_runs=True))) == 4


def test_degrees_are_gathered_and_go_with_their_numbers(tmp_path):
    row = {"claim_id": "study/pilot/table1/bleu", "variant": "", "verdict": "differs"}
    row |= {"published": 0.4, "recomputed": 0.5, "ci_low": np.nan, "ci_high": np.nan}
    frame = pd.DataFrame([row | {"tolerance": 0.005, "reason": "", "source": "study"}])
    place = finished(tmp_path / "nb@study=pilot", "nb", "1")
    schema.write(frame, "ledger", place / "ledger.csv")
    gathering.gather(tmp_path)
    table = pd.read_csv(tmp_path / "reproduction.csv")
    assert table["cv_star"].round(1).tolist() == [22.2]
    runs.check_place(tmp_path, ["mine"])
    both = [frame.assign(run=f"study=pilot-{n}", recomputed=n / 10) for n in (4, 5)]
    named = gathering.degrees(pd.concat(both))["variant"].tolist()
    assert named == ["study=pilot-4", "study=pilot-5"]  # two studies of one name
    schema.write(frame.assign(recomputed=np.nan), "ledger", place / "ledger.csv")
    gathering.gather(tmp_path)
    assert not (tmp_path / "reproduction.csv").exists()
