"""Runs on Dask workers equal local ones, go on after any kill, and open no port to others."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest

from nlgbench.runner import cluster, execute, runs
from nlgbench.runner.notebooks import read_notebook
from nlgbench.runner.runs import plan

psutil = pytest.importorskip("psutil", reason="the extra cluster is not installed")
pytest.importorskip("distributed", reason="the extra cluster is not installed")

takes_minutes = pytest.mark.release

CELLS = (
    "k: int = 1\noutput_dir: str | None = None",
    """\
import time
import pandas as pd
from nlgbench.runner import record

time.sleep(0.3)
run = record.open("mine", source="simulated", output_dir=output_dir)
assert k != 3, "three is too much"
run.claims(pd.DataFrame({"claim_id": ["simulated/mine/x/huse"], "value": [k / 7]}))
run.close();
""",
)
KS = {"k": "1,2,3"}
PATIENCE = 300  # a busy machine
# Without --dashboard-address its port is open to other machines, --no-dashboard or not.
NEAR = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")


def start(what, *options, **environ):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *NEAR, *map(str, options)],
        env={**os.environ, "OMP_NUM_THREADS": "3", **environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start_worker(file, **environ):
    return start("worker", "--scheduler-file", file, "--nthreads", 1, "--no-nanny", **environ)


@pytest.fixture
def dask(tmp_path):
    """Start a scheduler and two workers; give its file and the processes."""
    file = tmp_path / "scheduler.json"
    processes = [start("scheduler", "--port", 0, "--scheduler-file", file)]
    try:
        until(file.is_file)
        processes += [start_worker(file) for _ in range(2)]
        yield file, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def until(true):
    deadline = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def makers(file):
    return partial(cluster.workers, str(file), 1)


def run(path, out, **keywords):
    said = []
    options = {"out": out, "say": said.append, "complain": said.append, **keywords}
    outcomes = execute.run([str(path)], options.pop("given", KS), **options)
    return [one.status for one in outcomes], "\n".join(said)


def done(out):
    """Say when each run that is done was begun and put in its place."""
    return {
        path.parent.name: (runs.read_manifest(path.parent)["started"], path.stat().st_mtime_ns)
        for path in out.glob("mine*/manifest.json")
    }


def kernels(*processes):
    """Find what the workers' runs have started, by the processes they were started from."""
    below = []
    for process in processes:
        try:
            below += psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            continue
    return below


def ended(below):
    return not psutil.wait_procs(below, timeout=20)[1]


def listening(process):
    found = process.net_connections(kind="inet")
    return {one.laddr.ip for one in found if one.status == psutil.CONN_LISTEN}


@takes_minutes
def test_a_sweep_on_workers_equals_a_local_one(dask, make_notebook, tmp_path, monkeypatch):
    file, processes = dask
    path, out, local = make_notebook("mine", *CELLS), tmp_path / "out", tmp_path / "local"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # the workers have another
    expected, _ = run(path, local, jobs=2)
    assert expected == ["done"] * 2 + ["failed"]

    until(lambda: all(listening(psutil.Process(one.pid)) for one in processes))
    for one in processes:
        assert listening(psutil.Process(one.pid)) == {"127.0.0.1"}

    status, said = run(path, out, makers=makers(file), verbose=True)
    assert status == expected, said
    assert (out / "sweep.csv").read_text() == (local / "sweep.csv").read_text()
    assert sorted(path.name for path in out.iterdir()) == sorted(
        path.name for path in local.iterdir()
    )
    for folder, manifest in runs.finished(out):
        assert runs.why_rerun(local / folder.name, manifest["hashes"]) == ""
    assert "AssertionError: three is too much" in said
    assert f"Its output until then is in {out / 'mine@k=3.failed' / 'notebook.ipynb'}" in said
    assert "mine@k=2: done in" in said and "mine@k=3: FAILED" in said
    assert (out / "mine@k=3.failed" / "notebook.ipynb").is_file()
    before = done(out)
    # What is finished is skipped, by either; what failed can be tried again, by either.
    assert run(path, out, jobs=2, dry_run=True)[1].count("unchanged, would be skipped") == 2
    status, said = run(path, out, makers=makers(file))
    assert status == ["skipped", "skipped", "failed"] and done(out) == before

    with runs.writing(out), pytest.raises(OSError, match="another nlgbench run is writing"):
        run(path, out, makers=makers(file))

    around = {**runs.surroundings(), "package": "another"}
    monkeypatch.setattr(runs, "surroundings", lambda: around)
    status, said = run(path, out, makers=makers(file), given={"k": "7"})
    assert status == ["failed"] and said.count("its package is ") == 2
    assert "no worker can run it:\ntcp://127.0.0.1:" in said
    assert (out / "mine@k=7.failed" / ".failed").is_file()


@takes_minutes
def test_whatever_is_killed_the_next_run_goes_on(dask, make_notebook, tmp_path, in_process):
    file, (scheduler, *workers) = dask
    path, out, local = make_notebook("mine", *CELLS), tmp_path / "out", tmp_path / "local"
    ks = "1,2,4,5"
    run(path, local, given={"k": ks}, makers=in_process)
    line = [*("run", str(path), "-p", f"k={ks}", "--out", str(out)), "--cluster", str(file)]

    def begin():
        return subprocess.Popen(
            [sys.executable, "-c", "from nlgbench.runner.cli import main; main()", *line],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(process):
        said = process.communicate(timeout=PATIENCE)[0]
        return process.returncode, said

    command = begin()
    until(lambda: len(done(out)) >= 1 and kernels(*workers))
    left, kept = kernels(*workers), done(out)
    command.kill()
    end(command)
    assert ended(left)
    assert len(done(out)) < 4
    kept |= done(out)  # what was being renamed

    command = begin()
    until(lambda: len(done(out)) >= 2 and kernels(*workers))
    assert kept.items() <= done(out).items(), "a finished run was made again"
    worker = max(workers, key=lambda one: len(kernels(one)))
    left, kept = kernels(worker), done(out)
    worker.kill()
    worker.wait()
    assert ended(left)
    until(lambda: (len(done(out)) >= 3 and kernels(*workers)) or command.poll() is not None)
    left = kernels(*workers)
    scheduler.kill()
    scheduler.wait()
    began = time.monotonic()
    code, said = end(command)
    assert code == 1, said
    assert "the scheduler is gone. Finished runs are complete; run the same command" in said
    assert time.monotonic() - began < 60
    assert ended(left)
    assert kept.items() <= done(out).items()

    kept = done(out)
    assert len(kept) == 3, said
    status, _ = run(path, out, given={"k": ks})
    assert sorted(status) == ["done"] + ["skipped"] * 3
    assert kept.items() <= done(out).items()
    assert (out / "sweep.csv").read_text() == (local / "sweep.csv").read_text()
    assert not [path for path in out.glob(".*") if path.name != ".lock"]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (None, ""),
        ("package", "its package is [0-9a-f]*, but other where the command runs"),
        ("installed packages", "its numpy is .*, but 0.0 where the command runs"),
        ("no study", "its outputs.csv is none, but"),
        ("released", "its huse/.* is none, but .*NLGBENCH_DATA before the worker"),
    ],
)
def test_a_worker_that_differs_says_in_what(make_notebook, tmp_path, monkeypatch, part, message):
    study = tmp_path / "study"
    study.mkdir()
    (study / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n")
    cell = "source: str = 'simulated'\nstudy: str | None = None\n"
    path = make_notebook("mine", cell + "output_dir: str | None = None", datasets=["huse"])
    around = runs.surroundings()
    if part == "installed packages":
        around[part] = json.dumps({**json.loads(around[part]), "numpy": "0.0"})
    elif part in around:
        around[part] = "other"
    given = {} if part == "released" else {"study": str(study)}
    wanted = plan(read_notebook(path), given, source="auto", effort="quick", environment=around)
    if part == "no study":
        (study / "outputs.csv").unlink()
    elif part == "released":
        monkeypatch.setenv("NLGBENCH_DATA", str(tmp_path / "nothing"))
        data = {"huse/summary_clean.csv": "ab"}
        wanted = replace(
            wanted, source="released", data=data, hashes={**wanted.hashes, "data": "c"}
        )
    path.unlink()  # it travels with its plan
    said = cluster.refusal(wanted)
    assert re.search(message, said) and bool(said) == bool(message), said
