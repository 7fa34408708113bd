"""A run is made, skipped, failed or killed as documented, in real kernels; nothing outlives it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import pytest

import nlgbench as nb
from nlgbench.datasets import cache, registry
from nlgbench.names import UsageError
from nlgbench.runner import execute, runs
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import ParameterError
from nlgbench.runner.runs import plan

PARAMETERS = "k: int = 1\noutput_dir: str | None = None"
WRITE = """\
from pathlib import Path
Path(output_dir, "made.txt").write_text(str(k))
"""
#: Starts a worker that outlives the kernel, and says who both are.
WORK = """\
import os, subprocess, sys
from pathlib import Path
worker = "import sys, time; print('alive', flush=True); time.sleep(300)"
worker = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE)
worker.stdout.readline()
Path(output_dir, "pids.new").write_text(f"{os.getpid()} {worker.pid}")
os.rename(Path(output_dir, "pids.new"), Path(output_dir, "pids"))
"""
SLEEP = "import time; time.sleep(60)"
OPEN = "from nlgbench.runner import record\nrun = record.open({name!r}, source='study', "
#: What notebooks do, and what is said of those that fail.
ENDINGS = {
    "good": ((WORK, WRITE, "import nlgbench as nb\nnb.read_study({study!r})"), "done in"),
    "bad": ((WORK, "rows = [1]", "print(rows[3])"), "print(rows[3])\nIndexError: list index out"),
    "dead": ((WORK, "os.kill(os.getpid(), 9)"), "its kernel died"),
    "slow": ((WORK, SLEEP), "took longer than 15 s. Raise --timeout"),
    "unclosed": ((OPEN.format(name="unclosed") + "output_dir=output_dir)",), "did not close it"),
    "renamed": (
        (OPEN.format(name="another") + "output_dir=output_dir)\nrun.close()",),
        "opened as 'another', but the file is named 'renamed'",
    ),
    "partly": (
        (
            OPEN.format(name="partly") + "output_dir=output_dir)",
            "import pandas as pd\nrun.section('ratio', lambda: pd.DataFrame({'x': [1 / 0]}))",
            "run.table(pd.DataFrame({'x': [1]}), 'kept')\nrun.close()",
        ),
        "partly: FAILED in part, after 0 s; other results are kept:\n"
        "section ratio: ZeroDivisionError: division by zero",
    ),
    "badledger": (("open(output_dir + '/ledger.csv', 'w').write('a,b\\n1,2')",), "no column"),
}
LOOK = """\
import os
assert os.environ["OMP_NUM_THREADS"] == "1"
assert os.path.isabs(os.environ["NLGBENCH_DATA"])
assert os.path.samefile(os.getcwd(), os.path.dirname(os.environ["NLGBENCH_DATA"]))
"""


def run(*paths, out, given=(), **keywords):
    said = []
    options = {"out": out, "say": said.append, "complain": said.append, **keywords}
    outcomes = execute.run([str(path) for path in paths], dict(given), **options)
    return [outcome.status for outcome in outcomes], "\n".join(said)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Run a notebook of each ending at once: their folder, how each ended, what was said."""
    home = tmp_path_factory.mktemp("ended")
    nb.simulate("gaussian", n_outputs=5).write(home / "mine")
    (home / "out" / "bad").mkdir(parents=True)
    (home / "out" / "bad" / "made.txt").write_text("former")
    about = {"digest": "", "notebook": "bad", "made": [], "parameters": {}}
    runs.write_manifest(home / "out" / "bad", about)
    for name, (cells, _) in ENDINGS.items():
        cells = [
            PARAMETERS,
            LOOK,
            *(one.replace("{study!r}", repr(str(home / "mine"))) for one in cells),
        ]
        node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
        node.cells[0].metadata["tags"] = ["parameters"]  # and no word of the language
        nbformat.write(node, home / f"{name}.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("NLGBENCH_DATA", "data")
        patch.delenv("OMP_NUM_THREADS", raising=False)
        names = [f"{name}.ipynb" for name in ENDINGS]
        status, said = run(*names, out=Path("out"), jobs=3, timeout=15)
    return home, dict(zip(ENDINGS, status, strict=True)), said


def test_each_run_ends_as_it_must_and_stops_no_other(ended):
    home, status, said = ended
    done = {name for name, one in status.items() if one in ("done", "incomplete")}
    assert done == {"good", "partly"} and status["partly"] == "incomplete", said
    said = re.sub(r"after \d+ s", "after 0 s", said)
    for name, (_, words) in ENDINGS.items():
        assert words in said, name
        place = home / "out" / (name if name in done else f"{name}.failed")
        assert runs.HALF not in (place / "notebook.ipynb").read_text() or name not in done
    assert "in cell [6], line 1:" in said
    assert (home / "out" / "bad" / "made.txt").read_text() == "former"
    there = {path.name for path in (home / "out").iterdir() if not path.name.endswith(".failed")}
    assert there == {".lock", "index.csv", "ledger.csv", "bad", *done}


def test_a_failed_section_is_listed_and_run_again(ended):
    home, _, _ = ended
    assert (home / "out" / "partly" / "tables" / "kept.csv").is_file()
    index = (home / "out" / "index.csv").read_text()
    assert "partly,,failed section,ratio,,ZeroDivisionError: division by zero," in index
    _, said = run(str(home / "partly.ipynb"), out=home / "out", dry_run=True)
    assert "would run (a section failed last time)" in said


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("name", ["good", "bad", "slow", "dead"])
def test_what_a_kernel_started_ends_with_its_run(ended, name):
    place = ended[0] / "out" / (name if name == "good" else f"{name}.failed")
    assert gone(*map(int, (place / "pids").read_text().split()))


def test_a_manifest_names_what_the_run_was_made_of(ended, monkeypatch):
    home, _, _ = ended
    manifest = runs.read_manifest(home / "out" / "good")
    assert (manifest["parameters"], manifest["status"]) == ({"k": 1}, "done")
    assert manifest["dependencies"]["papermill"] and set(manifest["read"]) == {str(home / "mine")}
    assert {"made.txt", "notebook.ipynb"} <= set(manifest["files"])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    again = {"out": home / "out", "dry_run": True}
    assert "good: unchanged, would be skipped" in run(home / "good.ipynb", **again)[1]
    nb.simulate("gaussian", n_outputs=5, seed=1).write(home / "mine")
    said = run(home / "good.ipynb", **again)[1]
    assert said == f"good: would run (it read {home / 'mine'}, which was changed)"


def in_time(true):
    """Wait until something is so, for ten seconds at most."""
    deadline = time.monotonic() + 10
    while not (found := true()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def gone(*processes):
    return in_time(lambda: all(is_zombie(pid) for pid in processes))


def emptied(folder):
    return in_time(lambda: not list(folder.iterdir()))


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def started(path, out):
    """Start the command, and wait until its notebook's worker computes."""
    temporary = Path(tempfile.mkdtemp(prefix="t"))  # pytest's own is too long a name for sockets
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from nlgbench.runner.cli import main; main()"),
            *("run", str(path), "--out", str(out)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        # A job in the background of a shell, or of nohup, is born deaf to some signals.
        preexec_fn=lambda: [
            signal.signal(number, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ],
    )
    deadline = time.monotonic() + 40
    while not (found := list(out.glob(f"{runs.HALF}/new/*/pids"))):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    assert list(temporary.glob("nlgbench-*/0/kernel.json")), "the kernel's connection file"
    return process, list(map(int, found[0].read_text().split())), temporary


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    "ending", ["INT", *(pytest.param(name, marks=pytest.mark.release) for name in ("TERM", "HUP"))]
)
def test_an_interrupted_command_cleans_up(make_notebook, tmp_path, ending):
    path, out = make_notebook("mine", PARAMETERS, WORK, SLEEP), tmp_path / "out"
    process, pids, temporary = started(path, out)
    process.send_signal(getattr(signal, f"SIG{ending}"))
    said = process.communicate(timeout=20)[0]
    assert process.returncode == 130
    assert said.splitlines() == [
        "mine",
        "Interrupted. Finished results are complete; run the same command to resume.",
    ]
    assert gone(*pids)
    assert sorted(path.name for path in out.iterdir()) == [".lock", "index.csv", "ledger.csv"]
    assert emptied(temporary)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_kill_9_leaves_the_former_result_and_no_process(make_notebook, tmp_path, in_process):
    path, out = make_notebook("mine", PARAMETERS, WRITE), tmp_path / "out"
    run(path, out=out, makers=in_process)
    make_notebook("mine", PARAMETERS, WRITE, WORK, SLEEP)
    process, pids, temporary = started(path, out)
    process.kill()
    process.communicate()
    assert gone(*pids)
    assert emptied(temporary)
    assert (out / "mine" / "made.txt").read_text() == "1"
    assert runs.why_rerun(out / "mine", runs.read_manifest(out / "mine")["hashes"]) == ""
    make_notebook("mine", PARAMETERS, WRITE, "print('quick now')")
    assert run(path, out=out, makers=in_process)[0] == ["done"]
    assert not (out / runs.HALF).exists()


# What needs no kernel: the cells run in this process.


def test_done_then_skipped_then_noticed(make_notebook, tmp_path, in_process):
    path, out = make_notebook("mine", PARAMETERS, WRITE), tmp_path / "out"
    by = {"out": out, "makers": in_process}
    assert run(path, **by)[0] == ["done"]
    status, said = run(path, **by)
    assert status == ["skipped"] and "unchanged since the last run" in said
    assert run(path, given={"k": "2"}, **by)[0] == ["done"]
    assert (out / "mine" / "made.txt").read_text() == "1", "other parameters stand beside"
    assert (out / "mine@k=2" / "made.txt").read_text() == "2"
    node = nbformat.read(path, as_version=4)
    node.cells.append(nbformat.v4.new_markdown_cell("More to read."))
    nbformat.write(node, path)
    assert run(path, **by)[0] == ["skipped"]
    (out / "mine" / "made.txt").write_text("3")
    said = run(path, dry_run=True, **by)[1]
    assert said == "mine: would run (made.txt in its result was changed)"
    make_notebook("mine", PARAMETERS, WRITE + "# another cell text\n")
    status, said = run(path, **by)
    assert status == ["done"] and "changed: code" in said
    assert (out / "mine" / "made.txt").read_text() == "1"


def test_one_notebook_is_found_once_and_a_number_stands_for_all_that_share_it(
    tmp_path, monkeypatch, make_notebook
):
    paths = [make_notebook(name, PARAMETERS) for name in ("05-print", "05b-people", "06-other")]
    twice = tmp_path / ".." / tmp_path.name / "05-print.ipynb"
    assert len(find_notebooks([str(paths[0]), str(twice)])) == 1
    monkeypatch.setattr("nlgbench.runner.notebooks.notebooks_dir", lambda: tmp_path)
    for number in ("05", "5"):
        assert [one.stem for one in find_notebooks([number])] == ["05-print", "05b-people"]
    assert [one.stem for one in find_notebooks(["5b", "6"])] == ["05b-people", "06-other"]
    with pytest.raises(UsageError, match="no notebook '7'"):
        find_notebooks(["7"])


def test_released_data_are_taken_where_they_are_and_a_changed_one_is_noticed(
    make_notebook, tmp_path, monkeypatch
):
    monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path))
    cell = 'source: str = "simulated"\noutput_dir: str | None = None'
    notebook = read_notebook(make_notebook("mine", cell, datasets=["huse"]))

    def decided(source="auto"):
        return plan(notebook, {}, source=source, effort="quick", environment={})

    assert decided().source == "simulated" and "NLGBENCH_DATA" in decided().note
    with pytest.raises((OSError, ValueError), match=r"huse/summarization_raw_outputs\.csv"):
        decided("released")
    for file in registry.files("huse"):
        place = tmp_path / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("stands for the file")
    first = decided()
    assert (first.source, decided("simulated").source) == ("released", "simulated")
    place.write_text("another content")
    assert decided().digest != first.digest

    def refuse(names):
        raise OSError("no room")

    monkeypatch.delenv("NLGBENCH_DATA")
    monkeypatch.setattr(cache, "cache_dir", lambda: tmp_path / "empty")
    monkeypatch.setattr(cache, "reachable", lambda: True)
    monkeypatch.setattr(cache, "fetch", refuse)
    note = decided().note
    assert note.startswith("results are of SIMULATED data, because released data could not be")
    assert note.endswith("(no room). For released data, run `nlgbench fetch huse`")
    with pytest.raises(OSError, match="no room"):
        decided("released")


def test_a_study_goes_by_its_name_and_another_of_that_name_is_refused(
    make_notebook, tmp_path, in_process
):
    cells = (
        "source: str = 'simulated'\nstudy: str | None = None\noutput_dir: str | None = None",
        "from pathlib import Path\nPath(output_dir, 'made.txt').write_text(f'{source} {study}')",
    )
    path, out, home = make_notebook("mine", *cells), tmp_path / "out", tmp_path / "my study"
    home.mkdir()
    (home / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n")

    def made(study, **more):
        return run(
            path, **{"out": out, "given": {"study": str(study)}, "makers": in_process, **more}
        )

    assert run(path, out=out, makers=in_process)[0] == ["done"]
    assert made(home)[0] == ["done"]
    place = out / "mine@study=my_study"
    assert (place / "made.txt").read_text() == f"simulated {home}"
    manifest = runs.read_manifest(place)
    assert manifest["source"] == "study" and list(manifest["data"]) == ["outputs.csv"]
    assert made(home)[0] == ["skipped"]
    assert (out / "mine" / "made.txt").read_text() == "simulated None"
    other = shutil.copytree(home, tmp_path / "elsewhere" / "my study")
    assert made(other)[0] == ["skipped"]
    (other / "outputs.csv").write_text("output_id,item_id,system\n3,1,a\n")
    for wish in ({}, {"force": True}, {"dry_run": True}):
        with pytest.raises(UsageError, match=r"same name but different content: choose another"):
            made(other, **wish)
    both = [{"study": str(home)}, {"study": str(other)}]
    with pytest.raises(UsageError, match="two studies with the same name, so their results"):
        run(path, out=tmp_path / "new", grid=both)
    (other / "study.json").write_text('{"name": "another"}')
    assert made(other)[0] == ["done"]
    assert (out / "mine@study=another" / "made.txt").is_file()
    with pytest.raises(ParameterError, match="name two studies: omit one"):
        made(home, source="released")
