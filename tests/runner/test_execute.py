"""Real kernels: done, skipped, failed, killed, timed out."""

import os
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
from nlgbench.runner import execute, runs
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import ParameterError, UsageError
from nlgbench.runner.runs import plan

PARAMETERS = "k: int = 1\noutput_dir: str | None = None"
WRITE = """\
from pathlib import Path
Path(output_dir, "made.txt").write_text(str(k))
"""


def run(*paths, out, **keywords):
    said = []
    given = keywords.pop("given", {})
    outcomes = execute.run(
        [str(path) for path in paths],
        given,
        out=out,
        say=said.append,
        complain=said.append,
        **keywords,
    )
    return [outcome.status for outcome in outcomes], "\n".join(said)


def test_done_then_skipped_then_noticed(make_notebook, tmp_path):
    out = tmp_path / "out"
    path = make_notebook("mine", PARAMETERS, WRITE)
    assert run(path, out=out)[0] == ["done"]
    manifest = runs.read_manifest(out / "mine")
    assert manifest["parameters"] == {"k": 1}
    assert manifest["status"] == "done"
    assert manifest["dependencies"]["papermill"]
    executed = nbformat.read(out / "mine" / "notebook.ipynb", as_version=4)
    assert runs.HALF not in nbformat.writes(executed)

    status, said = run(path, out=out)
    assert status == ["skipped"]
    assert "unchanged since its last run" in said
    assert run(path, out=out, given={"k": "2"})[0] == ["done"]
    assert (out / "mine" / "made.txt").read_text() == "1", "other parameters stand beside"
    assert (out / "mine@k=2" / "made.txt").read_text() == "2"
    made = sorted(path.name for path in out.iterdir())
    assert made == [".lock", "index.csv", "ledger.csv", "mine", "mine@k=2"]

    (out / "mine" / "made.txt").write_text("3")
    assert (
        "mine: would run (made.txt of its result was changed)"
        in run(path, out=out, dry_run=True)[1]
    )
    make_notebook("mine", PARAMETERS, WRITE + "# another cell text\n")
    status, said = run(path, out=out)
    assert status == ["done"] and "changed since: code" in said
    assert (out / "mine" / "made.txt").read_text() == "1"
    node = nbformat.read(path, as_version=4)
    node.cells.append(nbformat.v4.new_markdown_cell("More to read."))
    nbformat.write(node, path)
    assert run(path, out=out)[0] == ["skipped"]


def test_what_a_notebook_reads_is_noticed(make_notebook, tmp_path):
    nb.simulate("gaussian", n_outputs=5).write(tmp_path / "mine")
    (tmp_path / "words.txt").write_text("a")
    cells = (
        f"words: str = {str(tmp_path / 'words.txt')!r}\noutput_dir: str | None = None",
        f"import nlgbench as nb\nnb.read_study({str(tmp_path / 'mine')!r})",
    )
    path, out = make_notebook("reads", *cells), tmp_path / "out"
    assert run(path, out=out)[0] == ["done"]
    assert run(path, out=out)[0] == ["skipped"]
    (tmp_path / "words.txt").write_text("b")
    assert "changed since: data" in run(path, out=out, dry_run=True)[1]
    (tmp_path / "words.txt").write_text("a")
    shutil.rmtree(tmp_path / "mine")
    nb.simulate("gaussian", n_outputs=5, seed=1).write(tmp_path / "mine")
    status, said = run(path, out=out)
    assert status == ["done"] and f"it read {tmp_path / 'mine'}, which was changed" in said


def test_a_failure_shows_its_cell_and_does_not_stop_the_others(make_notebook, tmp_path):
    out = tmp_path / "out"
    good = make_notebook("good", PARAMETERS, WRITE)
    bad = make_notebook("bad", PARAMETERS, WRITE)
    run(bad, out=out)
    bad = make_notebook("bad", PARAMETERS, "rows = [1]", "print(rows[3])")
    status, said = run(bad, good, out=out, jobs=2)
    assert status == ["failed", "done"]
    assert "print(rows[3])" in said
    assert "IndexError: list index out of range" in said
    assert (out / "bad" / "made.txt").read_text() == "1", "the former result is whole"
    assert (out / "bad.failed" / "notebook.ipynb").is_file()


def test_a_notebook_need_not_name_its_language(make_notebook, tmp_path):
    path = make_notebook("mine", PARAMETERS, WRITE)
    node = nbformat.read(path, as_version=4)
    del node.metadata["kernelspec"]
    nbformat.write(node, path)
    assert run(path, out=tmp_path / "out")[0] == ["done"]
    assert (tmp_path / "out" / "mine" / "made.txt").read_text() == "1"


def test_a_run_that_could_not_begin_names_no_notebook(make_notebook, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no room")

    monkeypatch.setattr("papermill.execute_notebook", refuse)
    status, said = run(make_notebook("mine", PARAMETERS, WRITE), out=tmp_path / "out")
    assert status == ["failed"] and "OSError: no room" in said and "Up to there" not in said


def test_a_forced_run_that_failed_is_made_again_by_a_retry(make_notebook, tmp_path, monkeypatch):
    look = "import os\nassert 'FAIL_NOW' not in os.environ"
    path, out = make_notebook("mine", PARAMETERS, WRITE, look), tmp_path / "out"
    assert run(path, out=out)[0] == ["done"]
    monkeypatch.setenv("FAIL_NOW", "1")
    assert run(path, out=out, force=True)[0] == ["failed"]
    assert (out / "mine.failed").is_dir() and (out / "mine" / "made.txt").is_file()
    assert run(path, out=out, retry_failed=True)[0] == ["failed"]
    monkeypatch.delenv("FAIL_NOW")
    assert run(path, out=out, retry_failed=True)[0] == ["done"]
    assert not (out / "mine.failed").exists()


def test_a_dead_kernel_and_a_time_out_are_named(make_notebook, tmp_path):
    dead = make_notebook("dead", PARAMETERS, "import os, signal; os.kill(os.getpid(), 9)")
    slow = make_notebook("slow", PARAMETERS, "import time; time.sleep(60)")
    began = time.monotonic()
    status, said = run(dead, slow, out=tmp_path / "out", jobs=2, timeout=8)
    assert status == ["failed", "failed"]
    assert "its kernel died" in said
    assert "took longer than 8 s: raise --timeout" in said
    assert time.monotonic() - began < 40


WORK = """\
import os, subprocess, sys
worker = "import sys, time; print('alive', flush=True); time.sleep(300)"
worker = subprocess.Popen([sys.executable, "-c", worker], stdout=subprocess.PIPE)
worker.stdout.readline()
Path(output_dir, "pids.new").write_text(f"{os.getpid()} {worker.pid}")
os.rename(Path(output_dir, "pids.new"), Path(output_dir, "pids"))
"""
SLEEP = "import time; time.sleep(60)"


def ended(*processes):
    """Wait until processes are gone."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = [pid for pid in processes if Path(f"/proc/{pid}").exists() and not is_zombie(pid)]
        if not left:
            return True
        time.sleep(0.1)
    return False


def emptied(folder):
    """Wait until a folder is empty, and remove it."""
    deadline = time.monotonic() + 10
    while list(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    folder.rmdir()
    return True


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("ending", ["done", "error", "time-out", "dead kernel"])
def test_what_a_kernel_started_ends_with_its_run(make_notebook, tmp_path, ending):
    last = {
        "done": "",
        "error": "1 / 0",
        "time-out": SLEEP,
        "dead kernel": "os.kill(os.getpid(), 9)",
    }[ending]
    path, out = make_notebook("mine", PARAMETERS, WRITE, WORK, last), tmp_path / "out"
    status, _ = run(path, out=out, timeout=8 if ending == "time-out" else None)
    assert status == ["done" if ending == "done" else "failed"]
    place = out / ("mine" if ending == "done" else "mine.failed")
    assert ended(*map(int, (place / "pids").read_text().split()))


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
@pytest.mark.parametrize("ending", ["INT", "TERM", "HUP"])
def test_an_interrupted_command_cleans_up(make_notebook, tmp_path, ending):
    path, out = make_notebook("mine", PARAMETERS, WRITE, WORK, SLEEP), tmp_path / "out"
    process, pids, temporary = started(path, out)
    process.send_signal(getattr(signal, f"SIG{ending}"))
    said = process.communicate(timeout=20)[0]
    assert process.returncode == 130
    assert [line for line in said.splitlines() if line] == [  # rich before 15 ends in an empty one
        "mine",
        "Interrupted: finished results are whole; run the same command to go on.",
    ]
    assert ended(*pids)
    assert sorted(path.name for path in out.iterdir()) == [".lock", "index.csv", "ledger.csv"]
    assert emptied(temporary)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_kill_9_leaves_the_former_result_and_no_process_and_is_done_again(make_notebook, tmp_path):
    path, out = make_notebook("mine", PARAMETERS, WRITE), tmp_path / "out"
    run(path, out=out)
    make_notebook("mine", PARAMETERS, WRITE, WORK, SLEEP)
    process, pids, temporary = started(path, out)
    process.kill()
    process.communicate()
    assert ended(*pids)
    assert emptied(temporary)
    assert (out / "mine" / "made.txt").read_text() == "1"
    assert runs.why_anew(out / "mine", runs.read_manifest(out / "mine")["parts"]) == ""

    make_notebook("mine", PARAMETERS, WRITE, "print('quick now')")
    assert run(path, out=out)[0] == ["done"]
    assert not (out / runs.HALF).exists()


def test_everything_is_checked_before_anything_starts(make_notebook, tmp_path):
    out = tmp_path / "out"
    good = make_notebook("good", PARAMETERS, WRITE)
    other = make_notebook("other", "j: int = 1\noutput_dir: str | None = None")
    with pytest.raises(ParameterError, match="other has no parameter 'k'"):
        run(good, other, out=out, given={"k": "3"})
    assert not out.exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output_dir": "x"}, "use --out"),
        ({"source": "released"}, "use --source"),
        ({"effort": "full"}, "use --effort"),
        ({"k": "two"}, "'k' is declared 'int'; got 'two'"),
    ],
)
def test_parameters_of_the_runner_and_of_the_wrong_type(make_notebook, tmp_path, given, message):
    path = make_notebook("mine", PARAMETERS)
    with pytest.raises(ParameterError, match=message):
        run(path, out=tmp_path / "out", given=given)


OPEN = "from nlgbench.runner import record\nrun = record.open({name!r}, source='study', "
CASES = {
    "unclosed": (OPEN.format(name="unclosed") + "output_dir=output_dir)", "never closed it"),
    "renamed": (
        OPEN.format(name="another") + "output_dir=output_dir)\nrun.close()",
        "opened as 'another', and the file is called 'renamed'",
    ),
    "badledger": ("open(output_dir + '/ledger.csv', 'w').write('a,b\\n1,2')", "no column"),
}


def test_a_record_that_is_not_whole_is_a_failure_of_its_notebook(make_notebook, tmp_path):
    out = tmp_path / "out"
    paths = [make_notebook(name, PARAMETERS, cell) for name, (cell, _) in CASES.items()]
    same = [make_notebook(name, PARAMETERS, WRITE) for name in ("twin_a", "twin_b")]
    status, said = run(*paths, *same, out=out, jobs=2)
    assert status == ["failed"] * 3 + ["done"] * 2
    for _, message in CASES.values():
        assert message in said
    assert (out / "index.csv").is_file()


def test_two_notebooks_of_one_name_are_refused(make_notebook, tmp_path):
    path = make_notebook("mine", PARAMETERS)
    (tmp_path / "other").mkdir()
    copy = tmp_path / "other" / "mine.ipynb"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match="have one name, and results go by it"):
        run(path, copy, out=tmp_path / "out")
    again = str(tmp_path / "other" / ".." / "mine.ipynb")
    assert len(find_notebooks([str(path), again])) == 1


def test_unknown_notebooks_get_the_nearest():
    with pytest.raises(ValueError, match="Did you mean '01-huse-tradeoff'"):
        find_notebooks(["01-huse-tradeof"])
    assert find_notebooks(["02"]) == find_notebooks(["02-huse-boundary"])


def test_files_that_are_no_notebook(make_notebook, tmp_path):
    broken = tmp_path / "broken.ipynb"
    broken.write_text('{"cells": [')
    with pytest.raises(ValueError, match="cannot be read as a notebook"):
        read_notebook(broken)
    untagged = make_notebook("untagged")
    with pytest.raises(ValueError, match="has 0 code cells tagged 'parameters'"):
        read_notebook(untagged)


def test_auto_takes_simulated_where_released_data_are_missing(make_notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path / "nothing"))
    cell = 'source: str = "simulated"\noutput_dir: str | None = None'
    notebook = read_notebook(make_notebook("mine", cell, datasets=["huse"]))
    decided = plan(notebook, {}, source="auto", effort="quick", around={})
    assert decided.source == "simulated"
    assert "NLGBENCH_DATA" in decided.note
    with pytest.raises((OSError, ValueError), match=r"huse/summarization_raw_outputs\.csv"):
        plan(notebook, {}, source="released", effort="quick", around={})


def test_a_relative_data_folder_and_out_mean_the_callers(make_notebook, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("NLGBENCH_DATA", "../data")
    look = "import os\nassert os.environ['NLGBENCH_DATA'].endswith('here/../data')\n"
    look += "assert os.path.isabs(os.environ['NLGBENCH_DATA'])\n"
    path = make_notebook("mine", PARAMETERS, look + WRITE)
    assert run(path, out=Path("results"))[0] == ["done"]
    assert (tmp_path / "here" / "results" / "mine" / "made.txt").is_file()


def test_threads_find_their_packages_imported(make_notebook, tmp_path):
    look = """
import sys
from pathlib import Path
from nlgbench.runner import execute
def stand_in(*_, **__):
    print(*("papermill" in sys.modules, "pandas" in sys.modules))
    sys.stdout.flush()
    raise SystemExit
execute.execute = stand_in
execute.run([sys.argv[1]], {}, out=Path(sys.argv[2]), source="simulated", jobs=2)
"""
    command = [sys.executable, "-c", look, str(make_notebook("mine", PARAMETERS, WRITE))]
    command.append(str(tmp_path / "out"))
    said = subprocess.run(command, capture_output=True, text=True)
    assert "True True" in said.stdout, said


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("3", "3")])
def test_kernels_use_one_thread_unless_told(make_notebook, tmp_path, monkeypatch, given, found):
    monkeypatch.setenv("OMP_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    look = f"import os\nassert os.environ['OMP_NUM_THREADS'] == '{found}'\n"
    assert run(make_notebook("mine", PARAMETERS, look + WRITE), out=tmp_path)[0] == ["done"]


def test_a_changed_datum_is_noticed(make_notebook, tmp_path, monkeypatch):
    from nlgbench.datasets import registry

    monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path / "data"))
    for file in registry.files("huse"):
        place = tmp_path / "data" / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("stands for the file")
    cell = 'source: str = "simulated"\noutput_dir: str | None = None'
    notebook = read_notebook(make_notebook("mine", cell, datasets=["huse"]))
    first = plan(notebook, {}, source="auto", effort="quick", around={})
    assert first.source == "released"
    place.write_text("another content")
    assert plan(notebook, {}, source="auto", effort="quick", around={}).digest != (first.digest)


def test_an_encoder_that_is_not_used_is_said(make_notebook, tmp_path, monkeypatch):
    cells = "source: str = 'simulated'\nbackend: str = 'auto'\nencoder: str | None = None"
    notebook = read_notebook(make_notebook("mine", cells))

    def decided(**given):
        return plan(notebook, given, source="simulated", effort="quick", around={})

    assert decided().note == decided(encoder="bert-large-uncased", backend="frozen").note == ""
    for backend in ("auto", "tfidf"):
        note = decided(encoder="org/model", backend=backend).note
        assert note == f"encoder is not used, as backend={backend} compares by TF-IDF here"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.json").write_text("{}")
    assert decided(encoder="own").parameters["encoder"] == str(tmp_path / "own")


def test_a_study_of_ones_own_stands_beside_the_other_runs(make_notebook, tmp_path):
    cells = (
        "source: str = 'simulated'\nstudy: str | None = None\noutput_dir: str | None = None",
        "from pathlib import Path\nPath(output_dir, 'made.txt').write_text(f'{source} {study}')",
    )
    path, out = make_notebook("mine", *cells), tmp_path / "out"
    home = tmp_path / "my study"
    home.mkdir()
    (home / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n")
    assert run(path, out=out)[0] == ["done"]
    assert run(path, out=out, given={"study": str(home)})[0] == ["done"]
    place = out / "mine@study=my_study"
    assert (place / "made.txt").read_text() == f"simulated {home}"
    manifest = runs.read_manifest(place)
    assert manifest["source"] == "study" and list(manifest["data"]) == ["outputs.csv"]
    assert run(path, out=out, given={"study": str(home)})[0] == ["skipped"]
    (home / "outputs.csv").write_text("output_id,item_id,system\n2,1,a\n")
    assert run(path, out=out, given={"study": str(home)})[0] == ["done"]
    assert (out / "mine" / "made.txt").read_text() == "simulated None"
    other = shutil.copytree(home, tmp_path / "elsewhere" / "my study")
    assert run(path, out=out, given={"study": str(other)})[0] == ["skipped"]
    (other / "outputs.csv").write_text("output_id,item_id,system\n3,1,a\n")
    for wish in ({}, {"force": True}, {"dry_run": True}):
        with pytest.raises(UsageError, match=r"same name and other content: choose another --out"):
            run(path, out=out, given={"study": str(other)}, **wish)
    both = [{"study": str(home)}, {"study": str(other)}]
    with pytest.raises(UsageError, match="two studies of one name, by which results go"):
        run(path, out=tmp_path / "new", grid=both)
    (other / "study.json").write_text('{"name": "another"}')
    assert run(path, out=out, given={"study": str(other)})[0] == ["done"]
    assert (out / "mine@study=another" / "made.txt").is_file()
    with pytest.raises(ParameterError, match="are two studies: leave one out"):
        run(path, out=out, given={"study": str(home)}, source="released")
    with pytest.raises(ParameterError, match=r"is no folder\. Did you mean 'my study'\?"):
        run(path, out=out, given={"study": str(tmp_path / "my studi")})


def test_a_changed_cell_or_line_of_a_study_makes_its_run_new(make_notebook, tmp_path):
    """Whatever file of the folder it is in, and where study.yml names one outside of it."""
    cells = (
        "study: str | None = None\noutput_dir: str | None = None",
        "from pathlib import Path\nimport nlgbench as nb\njudged = nb.read_study(study).judgments",
        "Path(output_dir, 'made.txt').write_text(str(judged['value'].mean()))",
    )
    path, out, home = make_notebook("mine", *cells), tmp_path / "out", tmp_path / "own"
    home.mkdir()
    ratings = "item,model,who,flow\n1,a,me,3\n1,b,me,5\n"
    columns = "{item_id: item, system: model, annotator_id: who, value: [flow]}"
    about = f"tables:\n  judgments:\n    file: FILE\n    columns: {columns}\n"
    for place in (home / "r.csv", tmp_path / "outside.csv"):
        place.write_text(ratings)
        named = about.replace("FILE", os.path.relpath(place, home))
        (home / "study.yml").write_text(named)
        given = {"study": str(home)}
        assert run(path, out=out, given=given)[0] == ["done"]
        assert run(path, out=out, given=given)[0] == ["skipped"]
        place.write_text(ratings.replace("me,5", "me,4"))
        assert run(path, out=out, given=given)[0] == ["done"]
        made = out / "mine@study=own" / "made.txt"
        assert made.read_text() == "3.5"
        (home / "study.yml").write_text(named + "    values: {value: {3: 1}}\n")
        assert run(path, out=out, given=given)[0] == ["done"]
        assert made.read_text() == "2.5"
    moved = tmp_path / "moved"
    shutil.copytree(home, moved / "own")
    shutil.copy(tmp_path / "outside.csv", moved)
    given = {"study": str(moved / "own")}
    assert run(path, out=out, given=given)[0] == ["skipped"]
    (moved / "outside.csv").write_text(ratings)
    with pytest.raises(UsageError, match="same name and other content"):
        run(path, out=out, given=given)


def test_a_number_stands_for_all_notebooks_that_share_it(tmp_path, monkeypatch, make_notebook):
    for name in ("05-print", "05b-people", "06-other"):
        make_notebook(name, PARAMETERS)
    monkeypatch.setattr("nlgbench.runner.notebooks.notebooks_dir", lambda: tmp_path)
    assert [one.stem for one in find_notebooks(["05"])] == ["05-print", "05b-people"]
    assert [one.stem for one in find_notebooks(["05b"])] == ["05b-people"]
    assert [one.stem for one in find_notebooks(["5"])] == ["05-print", "05b-people"]
    assert [one.stem for one in find_notebooks(["5b", "6"])] == ["05b-people", "06-other"]
    make_notebook("006-third", PARAMETERS)
    assert [one.stem for one in find_notebooks(["006"])] == ["006-third"]
    for wrong in ("6", "0", "5c"):  # 6 could be 06 and 006
        with pytest.raises(ValueError, match=f"no notebook '{wrong}'"):
            find_notebooks([wrong])


SLOW = """
import inspect, logging, time
kernel = get_ipython().kernel
said = logging.FileHandler(output_dir + "/kernel-says.txt")
said.setLevel(logging.ERROR)
kernel.log.addHandler(said)
answer = kernel.shell_handlers["kernel_info_request"]
async def slowly(*message):
    answered = answer(*message)
    if inspect.isawaitable(answered):
        await answered
    time.sleep(2)
kernel.shell_handlers["kernel_info_request"] = slowly
"""


def test_a_kernel_that_has_answered_is_not_interrupted(make_notebook, tmp_path):
    """It is asked to shut down while the handler of its last message may still run."""
    path = make_notebook("mine", "output_dir: str | None = None", SLOW)
    (outcome,) = execute.run([str(path)], {}, out=tmp_path / "out", say=None)
    assert outcome.status == "done", outcome.message
    assert (tmp_path / "out" / "mine" / "kernel-says.txt").read_text() == ""
