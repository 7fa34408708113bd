"""A sweep on a real scheduler and two workers: each of them, and the command, killed by SIGKILL.

Each is killed at five moments: when 0, 1, 2, 4 or 5 of 6 runs are done, and up to a second later.
Then the same command is run once more. Its gathered table must be that of an undisturbed sweep on
this machine, runs that were done must not be made again, and what the killed process had started
must end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runs import notebook

KILLED = ("worker", "scheduler", "command")
DONE = (0, 1, 2, 4, 5)
CELLS = (
    "k: int = 1\noutput_dir: str | None = None",
    """\
import time
import pandas as pd
from nlgbench.runner import record

time.sleep(0.5)
run = record.open("sweep", source="simulated", output_dir=output_dir)
run.claims(pd.DataFrame({"claim_id": ["simulated/sweep/x/y"], "value": [k / 7]}))
run.close();
""",
)
COMMAND = [sys.executable, "-c", "from nlgbench.runner.cli import main; main()"]
#: Seconds for what is killed to have left nothing, and for a sweep to end on a busy machine.
LIMIT, PATIENCE = 60, 900


def until(true, seconds: float) -> float:
    """Wait for something, and say how long it took."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"waited {seconds} s in vain")
        time.sleep(0.05)
    return time.monotonic() - began


@contextmanager
def a_cluster(folder: Path, environ: dict[str, str]) -> Iterator[dict[str, list]]:
    """Start a scheduler and two workers, on loopback alone."""
    file = folder / "scheduler.json"
    file.unlink(missing_ok=True)
    quiet = {"env": environ, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # Without --dashboard-address its port is open to other machines, --no-dashboard or not.
    near = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    python = [sys.executable, "-m"]
    scheduler = [*python, "distributed.cli.dask_scheduler", "--port", "0", *near]
    worker = [*python, "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *near]
    started = {"scheduler": [subprocess.Popen([*scheduler, "--scheduler-file", file], **quiet)]}
    started["worker"] = [
        subprocess.Popen([*worker, "--scheduler-file", file], **quiet) for _ in range(2)
    ]
    try:
        until(file.is_file, PATIENCE)
        yield started
    finally:
        for process in [*started["worker"], *started["scheduler"]]:
            process.kill()
            process.wait()


def below(mark: str, parent: int | None = None) -> list[int]:
    """Find the kernels, and the watches beside them, that bear a mark; those of one parent."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            about = (place / "stat").read_text().rpartition(")")[2].split()
            marked = f"NLGBENCH_KILLS={mark}".encode() in (place / "environ").read_bytes()
        except OSError:
            continue
        ours = b"ipykernel_launcher" in words or b"\0-I\0-S\0" in words
        if marked and ours and about[0] != "Z" and parent in (None, int(about[1])):
            found.append(int(place.name))
    return found


def done(out: Path) -> dict[str, str]:
    """Say when each run that is done was started."""
    found = {}
    for path in out.glob("sweep*/manifest.json"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        found[manifest["place"]] = f"{manifest['started']} {path.stat().st_mtime_ns}"
    return found


def sweep(notebook: Path, out: Path, *more: object) -> list[str]:
    ks = "k=1,2,3,4,5,6"
    return [*COMMAND, "run", str(notebook), "-p", ks, "--out", str(out), *map(str, more)]


def disturb(home: Path, notebook: Path, killed: str, n_done: int, later: float, table: str) -> str:
    """Kill one process at one moment, run the command again, and give a row of the table."""
    mark = f"{killed}-{n_done}-{os.getpid()}"
    folder = home / mark
    folder.mkdir()
    out, file = folder / "out", folder / "scheduler.json"
    environ = {**os.environ, "NLGBENCH_KILLS": mark, "TMPDIR": str(folder)}
    command = sweep(notebook, out, "--cluster", file)
    with a_cluster(folder, environ) as started:
        process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        until(lambda: below(mark) and len(done(out)) >= n_done, PATIENCE)
        time.sleep(later)
        before = done(out)
        target = process
        if killed == "scheduler":
            (target,) = started["scheduler"]
        elif killed == "worker":  # one that is at work, if there is one
            target = max(started["worker"], key=lambda one: len(below(mark, one.pid)))
        under = set(below(mark, target.pid) if killed == "worker" else below(mark))
        target.send_signal(signal.SIGKILL)
        target.wait()
        left = until(lambda: not under & set(below(mark)), LIMIT)
        began = time.monotonic()
        said = process.communicate(timeout=PATIENCE)[0]
        ended = time.monotonic() - began + left
        code, again = process.returncode, done(out)
        if killed != "scheduler":
            last = subprocess.run(command, env=environ, capture_output=True, text=True)
    if killed == "scheduler":
        gone = code == 1 and "run the same command to go on" in said
        assert gone or len(before) == 6, said  # it may have come too late
        with a_cluster(folder, environ):
            last = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert killed != "worker" or code == 0, said
    assert last.returncode == 0, last.stdout + last.stderr
    kept = all(done(out)[place] == when for place, when in {**before, **again}.items())
    equal = (out / "sweep.csv").read_text() == table
    halves = [path.name for path in out.glob(".*") if path.name != ".lock"]
    until(lambda: not below(mark), LIMIT)
    made = last.stdout.count(": done in ")
    return (
        f"| {killed} | {n_done} done + {later:.1f} s | {len(before)} | {code} in {ended:.0f} s | "
        f"{len(again)} | {made} | {'yes' if kept else 'NO'} | {'yes' if equal else 'NO'} | "
        f"{len(halves)} | {left:.1f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--killed", choices=KILLED, action="append")
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    home = Path(tempfile.mkdtemp())
    rows = []
    try:
        path = notebook(home, "sweep", CELLS)
        subprocess.run(sweep(path, home / "local"), check=True, stdout=subprocess.DEVNULL)
        table = (home / "local" / "sweep.csv").read_text()
        print("| killed | when | done by then | command ended with | done when it had ended |")
        print("made by the next | kept | equal | halves | seconds until nothing was left |")
        for killed in KILLED:
            for n_done in DONE:
                later = moments.random()
                if killed in (arguments.killed or KILLED):
                    rows.append(disturb(home, path, killed, n_done, later, table))
                    print(rows[-1], flush=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return any("NO" in row for row in rows)


if __name__ == "__main__":
    sys.exit(main())
