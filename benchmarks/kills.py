"""Kill runs of notebooks 04, 05 and 06 at random moments: ``python benchmarks/kills.py``.

A command, its kernel or one of the kernel's workers is sent KILL, TERM, INT or HUP after a random
time. The command is left to end by itself; ten seconds later there should be no process of its, no
connection file, no lock, and no partial folder but the one that a command killed by KILL leaves for
the next to remove. Each next command goes on in the same folder, and the last one, undisturbed,
should give the tables of a folder that nothing disturbed. About 25 minutes. Returns 1 when
something is left, or differs.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from nlgbench.hashing import file_hash
from nlgbench.runner.runs import writing

NOTEBOOKS = ("04", "05", "06")
#: What is killed, and how: ten of each notebook.
KILLS = [
    *(("command", name) for name in ("KILL", "TERM", "INT", "HUP")),
    *(("kernel", name) for name in ("KILL", "TERM", "INT", "HUP")),
    *(("worker", name) for name in ("KILL", "TERM")),
]
PATIENCE = 10.0
MARK = "NLGBENCH_KILLED_BENCHMARK"


def start(notebook: str, out: Path, runtime: Path, *options: str) -> subprocess.Popen:
    """Start a command whose processes can all be told by a variable that they inherit."""
    code = "from nlgbench.runner.cli import main; main()"
    arguments = ["run", notebook, "--source", "simulated", "--out", str(out), *options]
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, MARK: str(out), "JUPYTER_RUNTIME_DIR": str(runtime)},
        stdout=(out.parent / f"{out.name}.log").open("ab"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def alive(out: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(out) and process.status() != "zombie":
                found.append(process)
        except psutil.Error:
            continue
    return found


def target(command: subprocess.Popen, what: str) -> tuple[int, str]:
    """Find whom to send a signal: a kernel where there is no worker, a command without kernels."""
    if what != "command":
        kernels = [
            one
            for one in psutil.Process(command.pid).children()
            if "ipykernel_launcher" in " ".join(one.cmdline())
        ]
        workers = [one for kernel in kernels for one in kernel.children(recursive=True)]
        if what == "worker" and workers:
            return workers[-1].pid, "worker"
        if kernels:
            return kernels[0].pid, "kernel"
    return command.pid, "command"


def kill(notebook: str, what: str, name: str, after: float, out: Path, runtime: Path) -> dict:
    """Start, wait, send, wait for the end, and count what is left ten seconds later."""
    command = start(notebook, out, runtime, "--force")
    began = time.monotonic()
    while command.poll() is None and time.monotonic() - began < after:
        time.sleep(0.02)
    hit, until = "", began + 3 * after + 20
    while command.poll() is None and not hit:
        try:
            pid, found = target(command, what)
            if found == what or time.monotonic() > until:
                os.kill(pid, getattr(signal, f"SIG{name}"))
                hit = found
        except (psutil.Error, ProcessLookupError):
            pass
        time.sleep(0.02)
    sent = time.monotonic()
    command.wait(timeout=600)
    ended = time.monotonic() - sent
    time.sleep(PATIENCE)
    left = alive(out)
    try:
        with writing(out):
            locked = False
    except OSError:
        locked = True
    return {
        "notebook": notebook,
        "asked": what,
        "hit": hit or "ended before",
        "signal": name,
        "after": round(sent - began, 1),
        "code": command.returncode,
        "seconds to the end": round(ended, 1),
        "processes": len(left),
        "connections": len(list(runtime.glob("*"))),
        "locked": locked,
        "partial": len(list(out.glob(".nlgbench/new/*"))),
        "other": len(list(out.glob(".[!ln]*"))),
    }


def result(out: Path) -> dict[str, str]:
    """Hash the tables and ledgers in a folder."""
    return {
        path.relative_to(out).as_posix(): file_hash(path)
        for path in sorted(out.rglob("*.csv"))
        if not any(part.startswith(".") for part in path.relative_to(out).parts)
    }


def study(notebooks: list[str], n_kills: int, seed: int, folder: Path) -> tuple[pd.DataFrame, bool]:
    rng = np.random.default_rng(seed)
    rows, fine = [], True
    runtime = folder / "runtime"
    runtime.mkdir()
    for notebook in notebooks:
        began = time.monotonic()
        assert start(notebook, folder / f"{notebook}-whole", runtime).wait() == 0
        whole = time.monotonic() - began
        out = folder / f"{notebook}-killed"
        out.mkdir()
        for at in rng.permutation(len(KILLS))[:n_kills]:
            what, name = KILLS[at]
            row = kill(notebook, what, name, float(rng.uniform(0.5, 0.6 * whole)), out, runtime)
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
        ended = start(notebook, out, runtime).wait()
        same = ended == 0 and result(out) == result(folder / f"{notebook}-whole")
        left = [one.name for one in out.glob("*") if one.name.startswith(".n")]
        left += [one.name for one in out.glob("*.failed")]
        print(f"{notebook}: then undisturbed, code {ended}, equal: {same}, left: {left}")
        fine &= same and not left
    return pd.DataFrame(rows), fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notebooks", nargs="*", default=NOTEBOOKS)
    parser.add_argument("--kills", type=int, default=len(KILLS), help="of each notebook")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored by what a shell runs in the background
        signal.signal(number, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as name:
        table, fine = study(args.notebooks, args.kills, args.seed, Path(name))
    print(table.to_string(index=False))
    by_kill = (table["hit"] == "command") & (table["signal"] == "KILL")
    fine &= not table[["processes", "connections", "locked", "other"]].to_numpy().any()
    fine &= bool((table["partial"] <= by_kill).all())
    sys.exit(not fine)
