"""Identity, folders, and what is left after a command was killed."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench import schema
from nlgbench.hashing import canonical_json, folder_hash
from nlgbench.runner import identity, runs

AROUND = {"package": "p", "published": "q", "dependencies": "d"}


def finished(folder: Path, notebook: str, digest: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "made.txt").write_text(digest)
    runs.write_manifest(
        folder, {"notebook": notebook, "digest": digest, "source": "simulated", "made": []}
    )
    return folder


def test_the_digest_notices_every_part_and_not_the_output_folder():
    base = (["a = 1"], {"k": 16, "output_dir": "x"}, {"f": "00"}, AROUND)
    digest = identity.digest(*base)
    assert digest == identity.digest(["a = 1"], {"k": 16, "output_dir": "y"}, {"f": "00"}, AROUND)
    others = [
        (["a = 2"], *base[1:]),
        (base[0], {"k": 8}, *base[2:]),
        (*base[:2], {"f": "01"}, AROUND),
        (*base[:3], {**AROUND, "package": "changed"}),
        (*base[:3], {**AROUND, "published": "changed"}),
        (*base[:3], {**AROUND, "dependencies": "changed"}),
    ]
    assert len({digest, *(identity.digest(*other) for other in others)}) == 7


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


@pytest.mark.parametrize("survives", range(5))
def test_killed_while_replacing_leaves_a_whole_result(tmp_path, monkeypatch, survives):
    finished(tmp_path / "nb", "nb", "old")
    partial = finished(tmp_path / f".partial-{'0' * 64}-1-nb", "nb", "new")
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
            runs.promote(partial, tmp_path / "nb")
        except Killed:
            assert survives < 3
    runs.recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["nb"]
    assert (tmp_path / "nb" / "made.txt").read_text() == "new"


def test_half_runs_are_removed_and_the_former_one_put_back(tmp_path):
    finished(tmp_path / ".old-7-01-some-notebook", "01-some-notebook", "old")
    half = tmp_path / f".partial-{'0' * 64}-7-02-other"
    half.mkdir()
    (half / "manifest.json").write_text('{"digest": "ab')
    runs.recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["01-some-notebook"]


def test_what_others_made_is_left_alone(tmp_path):
    for name in (".partial-work", ".old-2023-results", ".old-backup", ".cache.csv.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".claims.csv.swp").write_text("an editor's")
    (tmp_path / ".notes.csv.12").write_text("mine")
    (tmp_path / ".ledger.csv.12").write_text("half of ours")
    before = {path for path in tmp_path.rglob("*") if path.name != ".ledger.csv.12"}
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
    assert runs.gather(tmp_path) == ["simulated/x/1"]
    whole = schema.read(tmp_path / "ledger.csv", "ledger")
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
    runs.gather(tmp_path)
    assert (tmp_path / "index.csv").read_text().startswith("notebook,source,kind,name,path,alt")
    assert (tmp_path / "ledger.csv").read_text().startswith("claim_id,variant,published")
