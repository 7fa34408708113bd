"""The overhead of the runner over plain papermill, and the gain from two workers.

    python benchmarks/runs.py

A notebook outside the project computes HUSE of a simulated study; its 24 runs differ in one
parameter. `papermill`: a plain loop over papermill's function; `one`: `nlgbench run`, one run at a
time; `two`: with `--jobs 2`; `dask`: with `--cluster` and two running workers. The four alternate,
and their gathered tables are equal. Then `--tiny` runs of a notebook that does nothing, two at a
time, are counted with the files, processes and temporary folders that they leave, and the peak
memory of the command. Cores should be idle. Returns 1 if two workers take more than .6 of the time
of one, the runner takes 5% more than papermill, or anything is left.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import pandas as pd
import papermill
import psutil
from click.testing import CliRunner
from distributed import LocalCluster

from nlgbench.runner.cli import main

CELLS = (
    "n_neighbors: int = 16\noutput_dir: str | None = None",
    "import nlgbench as nb\n"
    "from nlgbench.runner import record\n"
    "run = record.open('mine', source='simulated', output_dir=output_dir)\n"
    "study = nb.simulate('gaussian', n_outputs=200, seed=0)",
    "scores = nb.huse(study, n_neighbors=n_neighbors, n_resamples=500, seed=0)",
    "found = scores[scores['score'] == 'huse'].rename(columns={'estimate': 'value'})\n"
    "run.claims(found.assign(claim_id='simulated/mine/' + found['label'] + '/huse'))\n"
    "run.close();",
)
TINY = ("k: int = 0\noutput_dir: str | None = None", "k + 1")
NEIGHBORS = range(4, 28)


def notebook(folder: Path, name: str, cells: tuple[str, ...]) -> Path:
    node = nbformat.v4.new_notebook()
    node.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    node.cells[0].metadata["tags"] = ["parameters"]
    node.metadata["kernelspec"] = {"name": "python3", "display_name": "3", "language": "python"}
    path = folder / f"{name}.ipynb"
    nbformat.write(node, path)
    return path


def with_papermill(path: Path, out: Path) -> None:
    """Run every set of parameters in a plain loop, as a user would."""
    for k in NEIGHBORS:
        own = out / str(k)
        own.mkdir(parents=True)
        papermill.execute_notebook(
            str(path),
            str(own / "notebook.ipynb"),
            parameters={"n_neighbors": k, "output_dir": str(own)},
            progress_bar=False,
        )


def with_runner(path: Path, out: Path, *options: str) -> None:
    """Run them with one command."""
    values = ",".join(map(str, NEIGHBORS))
    arguments = ["run", str(path), "-p", f"n_neighbors={values}", "--out", str(out), *options]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output


def found(out: Path) -> pd.DataFrame:
    """Read what the runs in a folder recorded, in the order of their parameter."""
    if (out / "sweep.csv").is_file():
        sweep = pd.read_csv(out / "sweep.csv").sort_values("param_n_neighbors", kind="stable")
        return sweep[["estimate", "ci_low", "ci_high"]].reset_index(drop=True)
    ledgers = [pd.read_csv(out / str(k) / "ledger.csv") for k in NEIGHBORS]
    whole = pd.concat(ledgers, ignore_index=True).rename(columns={"recomputed": "estimate"})
    return whole[["estimate", "ci_low", "ci_high"]]


def compare(folder: Path, repeats: int, cluster: LocalCluster) -> bool:
    path = notebook(folder, "mine", CELLS)
    address = cluster.scheduler_address
    ways = {
        "papermill": lambda out: with_papermill(path, out),
        "one": lambda out: with_runner(path, out),
        "two": lambda out: with_runner(path, out, "--jobs", "2"),
        "dask": lambda out: with_runner(path, out, "--cluster", address),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repeats):
        for name, way in ways.items():
            out = folder / f"{name}-{number}"
            began = time.perf_counter()
            way(out)
            took[name].append(time.perf_counter() - began)
            pd.testing.assert_frame_equal(found(out), found(folder / "papermill-0"))
            print(f"{name}: {took[name][-1]:.1f} s", file=sys.stderr, flush=True)
    middle = {name: statistics.median(seconds) for name, seconds in took.items()}
    fine = True
    for name, base, most in (("one", "papermill", 1.05), ("two", "one", 0.6), ("dask", "one", 0.6)):
        ratio = middle[name] / middle[base]
        fine &= ratio <= most
        print(
            f"{name}: {middle[name]:.1f} s, {ratio:.3f} of {base} ({middle[base]:.1f} s); "
            f"{most} is allowed"
        )
    return fine


def many(folder: Path, n: int) -> bool:
    """Run a notebook that does nothing n times, and check what is left."""
    path = notebook(folder, "tiny", TINY)
    temporary = folder / "temporary"
    temporary.mkdir()
    os.environ["JUPYTER_RUNTIME_DIR"] = tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    me = psutil.Process()
    values = ",".join(map(str, range(n)))
    # A cluster that ran before leaves Python's own resource tracker.
    files, processes = me.num_fds(), len(me.children(recursive=True))
    began = time.perf_counter()
    done = CliRunner().invoke(
        main, ["run", str(path), "-p", f"k={values}", "--jobs", "2", "--out", str(folder / "out")]
    )
    assert done.exit_code == 0, done.output
    seconds = time.perf_counter() - began
    left = {
        "files open": me.num_fds() - files,
        "processes": len(me.children(recursive=True)) - processes,
        "temporary": len(list(temporary.rglob("*"))),
        "partial": len(list((folder / "out").glob(".[!l]*"))),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    runs = sum(1 for one in (folder / "out").glob("tiny*/manifest.json"))
    print(f"{runs} tiny runs in {seconds:.0f} s; left: {left}; {peak:.0f} MiB in the command")
    return runs == n and not any(left.values()) and peak < 500


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tiny", type=int, default=500)
    args = parser.parse_args()
    fine = True
    if args.repeats:
        near = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        near["worker_dashboard_address"] = "127.0.0.1:0"
        with (
            tempfile.TemporaryDirectory() as name,
            LocalCluster(n_workers=2, threads_per_worker=1, **near) as cluster,
        ):
            fine &= compare(Path(name), args.repeats, cluster)
    with tempfile.TemporaryDirectory() as name:
        if args.tiny:
            fine &= many(Path(name), args.tiny)
    sys.exit(not fine)
