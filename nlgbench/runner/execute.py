"""Headless runs of notebooks with papermill, each in its own kernel."""

from __future__ import annotations

import importlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nlgbench.datasets import cache
from nlgbench.runner import identity, runs
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.plan import Outcome, Plan, SourceWish, plan
from nlgbench.runner.progress import Progress


def execute(
    plan: Plan, out: Path, *, timeout: float | None, on_cell: Callable[[], None] = lambda: None
) -> Outcome:
    """Run one notebook in its own kernel, and put the result in its place."""
    import papermill
    from jupyter_core.utils import ensure_event_loop
    from traitlets.config import Config

    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    # Its own inspection of parameters does not know `int | None`; ours has checked them.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    options: dict[str, Any] = {"on_cell_start": lambda cell, cell_index: on_cell()}
    # The kernel listens on loopback, where other users of the machine could listen too.
    options["config"] = Config({"KernelManager": {"transport_encryption": "auto"}})
    if timeout is not None:
        deadline = began + timeout
        options["timeout_func"] = lambda cell: max(0.1, deadline - time.monotonic())
    failed = out / f"{plan.place}.failed"
    partial = runs.partial_dir(out, plan.place, plan.digest)
    try:
        papermill.execute_notebook(
            str(plan.path),
            str(partial / "notebook.ipynb"),
            parameters={**plan.parameters, "output_dir": str(partial)},
            kernel_name="python3",
            progress_bar=False,
            cwd=str(plan.path.parent),  # as in Jupyter
            **options,
        )
        _release(partial / "notebook.ipynb")
        runs.write_manifest(
            partial,
            {
                "notebook": plan.name,
                "place": plan.place,
                "digest": plan.digest,
                "status": "done",
                "source": plan.source,
                "parameters": plan.parameters,
                "data": plan.data,
                "seed": plan.parameters.get("seed"),
                "started": started,
                "seconds": round(time.monotonic() - began, 2),
                **runs.take_record(partial, plan.name),
            },
        )
        runs.promote(partial, out / plan.place)
        shutil.rmtree(failed, ignore_errors=True)
    except Exception as error:
        message = _explain(error, timeout, failed)
        shutil.rmtree(failed, ignore_errors=True)
        (partial / runs.FAILED).touch()
        partial.rename(failed)
        return Outcome(plan, "failed", time.monotonic() - began, message)
    finally:
        ensure_event_loop().close()  # nbclient opens one for each thread and leaves it
    return Outcome(plan, "done", time.monotonic() - began)


def _release(path: Path) -> None:
    # The folder that the notebook wrote to is renamed; opened by hand, it shows and writes nothing.
    import nbformat

    node = nbformat.read(path, as_version=4)
    node.metadata.pop("papermill", None)
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            lines = cell.source.splitlines()
            cell.source = "\n".join(
                "output_dir = None" if line.startswith("output_dir = ") else line for line in lines
            )
    nbformat.write(node, path)


def _explain(error: Exception, timeout: float | None, failed: Path) -> str:
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    look = f"Up to there it is in {failed / 'notebook.ipynb'}."
    if isinstance(error, PapermillExecutionError):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
        # The arrow of the cell's own frame; those of the libraries that it called come later.
        own = plain[max(plain.find("Cell In["), 0) :]
        arrow = re.search(r"^-+> *(\d+) (.*)$", own, flags=re.MULTILINE)
        line = f", line {arrow[1]}:\n    {arrow[2].strip()}" if arrow else ""
        return f"in cell [{error.exec_count}]{line}\n{error.ename}: {error.evalue}\n{look}"
    if isinstance(error, CellTimeoutError):
        return f"took longer than {timeout:g} s: raise --timeout. {look}"
    if isinstance(error, DeadKernelError):
        return f"its kernel died (killed, or out of memory?): run it again. {look}"
    return f"{type(error).__name__}: {error} {look}"


def run(
    names: Sequence[str],
    given: Mapping[str, Any],
    *,
    out: Path,
    source: SourceWish = "auto",
    effort: str = "quick",
    jobs: int = 1,
    timeout: float | None = None,
    force: bool = False,
    say: Callable[[str], None] = print,
) -> list[Outcome]:
    """Run notebooks; skip those whose result is there; let none stop the others."""
    out = out.absolute()
    if cache.read_only():  # kernels work in their notebook's folder, and a path may be relative
        os.environ["NLGBENCH_DATA"] = str(cache.cache_dir().absolute())
    # Matrices here are small: threads of one product wait for each other, forty times as long where
    # the cores are busy; and with one thread results do not depend on how many cores there are.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    around = identity.surroundings()
    notebooks = [read_notebook(path) for path in find_notebooks(names)]
    for notebook in notebooks:  # the cheap checks of all, before any data are fetched
        cheap: SourceWish = "auto" if "study" in given else "simulated"
        plan(notebook, given, source=cheap, effort=effort, around=around)
    plans = [
        plan(notebook, given, source=source, effort=effort, around=around) for notebook in notebooks
    ]
    # Two threads that import one package for the first time can lock each other out of it.
    for package in ("papermill", "pandera.pandas") if jobs > 1 else ():
        importlib.import_module(package)
    with runs.writing(out):
        runs.recover(out)
        runs.check_place(out, [plan.place for plan in plans])
        with Progress(say) as progress:

            def one(plan: Plan) -> Outcome:
                finished = runs.read_manifest(out / plan.place)
                if not force and finished is not None and finished["digest"] == plan.digest:
                    outcome = Outcome(plan, "skipped", 0.0)
                else:
                    progress.start(plan)
                    outcome = execute(
                        plan, out, timeout=timeout, on_cell=lambda: progress.cell(plan)
                    )
                progress.end(outcome)
                return outcome

            pool = ThreadPoolExecutor(max(1, jobs))
            try:
                outcomes = list(pool.map(one, plans))
            finally:  # when interrupted, what is finished is gathered and nothing is waited for
                pool.shutdown(wait=False, cancel_futures=True)
                for claim_id in runs.gather(out):
                    say(f"two notebooks record {claim_id!r}; the first one's value is kept")
    return outcomes
