"""Run notebooks headlessly with papermill, each in its own kernel."""

from __future__ import annotations

import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgbench.datasets import cache
from nlgbench.names import UsageError, require_extra
from nlgbench.runner import grid as grids
from nlgbench.runner import runs
from nlgbench.runner.kernels import LOG, Kernels, interruptible
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import ParameterError
from nlgbench.runner.runs import Outcome, Plan, SourceWish

if TYPE_CHECKING:
    from nlgbench.study import Study

#: Seconds within which runs must notice that their kernel was killed.
_PATIENCE = 8.0


#: Called with None when a run starts, then with each line that it prints.
Listener = Callable[[str | None], object]
INTERRUPTED = "interrupted"
_IN_MANIFEST = ("folder", "digest", "source", "parameters", "data", "hashes")


class Makers(NamedTuple):
    """How runs are made."""

    n_threads: int  # how many threads may call `make` at once
    # Makes a plan in a folder, within a time limit, and waits for its end.
    make: Callable[[Plan, Path, float | None, Listener], Outcome]
    stop: Callable[[], None]  # ends runs without a result, and prevents new ones


def run(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    out: Path,
    source: SourceWish = "auto",
    effort: str = "quick",
    jobs: int = 1,
    timeout: float | None = None,
    force: bool = False,
    dry_run: bool = False,
    grid: Sequence[Mapping[str, Any]] = ({},),
    say: Callable[[str], None] | None = print,
    complain: Callable[[str], None] = print,
    verbose: bool = False,
    makers: Callable[[], AbstractContextManager[Makers]] | None = None,
) -> list[Outcome]:
    """Run notebooks, except those with an up-to-date result; a failure does not stop the others.

    Each notebook runs with every set of parameters in `grid`, added to `parameters`. `say` receives
    progress messages, and `complain` failures. Runs are made here, or else by `makers`.
    """
    out = out.absolute()
    tell = say or (lambda text: None)
    settle_data_folder()
    # Products of small matrices can take forty times as long with several threads, which wait for
    # each other on busy cores. With one thread, results do not depend on the number of cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    plans = _plans(names, parameters, grid, out, source=source, effort=effort)

    def why_run(plan: Plan) -> str:
        if force:
            return "--force"
        why = runs.why_rerun(out / plan.folder, plan.hashes, plan.parameters.get("study"))
        return why or "a section failed last time" * bool(runs.describe_failures(out / plan.folder))

    if dry_run:
        for plan in plans:
            why = why_run(plan)
            notes = "; ".join(filter(None, [why, plan.note]))
            would = f"would run ({notes})" if why else "unchanged, would be skipped"
            (say or complain)(f"{plan.folder}: {would}")
        return []
    # Import these in advance, because two threads that import them at once can deadlock.
    require_extra("nlgbench run", "run", "papermill", "pandas")
    # Kernels or workers must be available before anything is written.
    with interruptible(), (makers or partial(here, jobs))() as maker, runs.writing(out):
        runs.check_place(out, [plan.folder for plan in plans])

        def made(plan: Plan) -> Outcome:
            why = why_run(plan)

            def listener(line: str | None) -> None:
                if line is None:
                    tell(_started(plan, why))
                elif verbose:
                    tell(f"{plan.name} | {line}")

            if why:
                outcome = maker.make(plan, out, timeout, listener)
            else:
                runs.remove(out / f"{plan.folder}.failed")  # left by a run that was forced
                outcome = Outcome(plan, "skipped", 0.0)
            if outcome.message != INTERRUPTED:
                has_failed = outcome.status in ("failed", "incomplete")
                (complain if has_failed else tell)(_ended(outcome))
            return outcome

        pool = ThreadPoolExecutor(maker.n_threads)
        futures = [pool.submit(made, plan) for plan in plans]
        try:
            outcomes = [future.result() for future in futures]
        finally:  # if interrupted, kernels end at once, and finished results are gathered
            pool.shutdown(wait=False, cancel_futures=True)
            maker.stop()
            wait(futures, timeout=_PATIENCE)
            from nlgbench.runner.gathering import gather

            try:
                problems = gather(out)
            except OSError as error:
                raise OSError(
                    f"the tables could not be written in {out} ({error.strerror or error}). "
                    "Finished runs are complete: free some space, or fix the folder's permissions, "
                    "and run the same command again, which skips them."
                ) from None
            for problem in problems:
                complain(problem)
    return outcomes


def settle_data_folder() -> None:
    """Make NLGBENCH_DATA absolute, because kernels run in their notebook's folder."""
    if cache.read_only():
        os.environ["NLGBENCH_DATA"] = str(cache.cache_dir().absolute())


def _plans(
    names: Sequence[str],
    parameters: Mapping[str, Any],
    grid: Sequence[Mapping[str, Any]],
    out: Path,
    **how: Any,
) -> list[Plan]:
    """Plan all runs, one per folder of results; report usage errors before any run starts."""
    notebooks = [read_notebook(path) for path in find_notebooks(names)]
    if twice := [name for cell in grid for name in cell if name in parameters]:
        raise ParameterError(f"-p and --grid both set {twice[0]!r}: omit one.")
    wanted_runs = []
    for notebook, cell in product(notebooks, grid):
        values_of = grids.spread(notebook.parameters, {**parameters, **cell}, where=notebook.name)
        wanted_runs += [(notebook, values) for values in values_of]
    for notebook, values in wanted_runs:  # cheap checks of all runs, before data are fetched
        runs.check(notebook, values, **how)
    environment = runs.surroundings()
    opened: dict[str, Study] = {}
    by_folder: dict[str, Plan] = {}
    for notebook, values in wanted_runs:
        plan = runs.plan(notebook, values, opened, environment=environment, **how)
        runs.check_names(plan, values, opened)
        if plan.parameters.get("study"):
            runs.refuse_other_study(out / plan.folder, plan.parameters["study"], plan.data)
        if (namesake := by_folder.setdefault(plan.folder, plan)).data != plan.data:
            raise UsageError(
                f"{namesake.parameters['study']} and {plan.parameters['study']} are two studies "
                "with the same name, so their results would share a folder: use a "
                "different --out for each."
            )
    return list(by_folder.values())


@contextmanager
def here(jobs: int) -> Iterator[Makers]:
    """Make runs on this machine."""
    with Kernels() as kernels:
        yield Makers(jobs, partial(execute, kernels=kernels), kernels.stop)


def execute(
    plan: Plan, out: Path, timeout: float | None, listener: Listener, *, kernels: Kernels
) -> Outcome:
    """Run one notebook in its own kernel, and put the result into its place."""
    listener(None)
    import papermill
    from jupyter_core.utils import ensure_event_loop

    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    # Papermill does not know `int | None`, and logs deaths of kernels, which we explain.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    printed = [_Lines(listener) for _ in range(2)]
    options: dict[str, Any] = {"stdout_file": printed[0], "stderr_file": printed[1]}
    if timeout is not None:
        deadline = began + timeout
        options["timeout_func"] = lambda cell: max(0.1, deadline - time.monotonic())
    new, failed = runs.aside(out, plan.folder), out / f"{plan.folder}.failed"
    path = plan.notebook.path
    try:
        with kernels.kernel(new) as its_own:
            papermill.execute_notebook(
                _verbatim(path),
                _verbatim(new / "notebook.ipynb"),
                parameters={**plan.parameters, "output_dir": str(new)},
                kernel_name="python3",
                language="python",  # notebooks need not name it
                progress_bar=False,
                # The kernel starts beside the notebook, as in Jupyter. Papermill's `cwd` would
                # change the folder of the whole process, which other runs share.
                resources={"metadata": {"path": str(path.parent)}},
                **options,
                **its_own,
            )
        _release(new / "notebook.ipynb")
        (new / LOG).unlink(missing_ok=True)
        manifest = {
            "notebook": plan.name,
            "status": "done",
            **{name: getattr(plan, name) for name in _IN_MANIFEST},
            "read": runs.take_read(new, plan.parameters.get("study")),
            "seed": plan.parameters.get("seed"),
            "started": started,
            "seconds": round(time.monotonic() - began, 2),
            **runs.take_record(new, plan.name),
        }
        runs.remove(failed)
        runs.write_manifest(new, manifest)
        runs.promote(new, out / plan.folder)
    except Exception as error:
        if kernels.stopped:
            return Outcome(plan, "failed", time.monotonic() - began, INTERRUPTED)
        if not new.is_dir():
            message = f"{out} was removed or renamed during the run: run it again, and leave it."
            return Outcome(plan, "failed", time.monotonic() - began, message)
        has_output = (new / "notebook.ipynb").is_file()  # missing if the run could not start
        hint = f"\nIts output until then is in {failed / 'notebook.ipynb'}." if has_output else ""
        message = _explain(error, timeout) + hint
        runs.keep_failed(new, failed)
        return Outcome(plan, "failed", time.monotonic() - began, message)
    finally:
        for lines in printed:
            lines.close()
        ensure_event_loop().close()  # nbclient opens one per thread and does not close it
    failures = runs.describe_failures(out / plan.folder)
    seconds = time.monotonic() - began
    return Outcome(plan, "incomplete" if failures else "done", seconds, failures)


def _verbatim(path: Path) -> str:
    # Papermill replaces parameters in braces within its paths.
    return str(path).replace("{", "{{").replace("}", "}}")


def _release(path: Path) -> None:
    # The output folder is renamed. Opened in Jupyter, the notebook shows results but writes none.
    import nbformat

    node = nbformat.read(path, as_version=4)
    node.metadata.pop("papermill", None)
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub("^output_dir = .*$", "output_dir = None", cell.source, flags=re.M)
    nbformat.write(node, path)


def _explain(error: Exception, timeout: float | None) -> str:
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if isinstance(error, PapermillExecutionError):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
        # Use the arrow in the cell's own frame; those of called libraries come later.
        frame = plain[max(plain.find("Cell In["), 0) :]
        arrow = re.search(r"^-+> *(\d+) (.*)$", frame, flags=re.MULTILINE)
        line = f", line {arrow[1]}:\n    {arrow[2].strip()}" if arrow else ""
        message = error.evalue
        if (n_left := len(message) - 900) > 100:
            message = f"{message[:600]} [... {n_left:,} characters ...] {message[-300:]}"
        return f"in cell [{error.exec_count}]{line}\n{error.ename}: {message}"
    if isinstance(error, CellTimeoutError):
        return f"it took longer than {timeout:g} s. Raise --timeout."
    if isinstance(error, DeadKernelError):
        return "its kernel died (killed, or out of memory?). Run the notebook again."
    return f"{type(error).__name__}: {error}"


def _started(plan: Plan, why: str) -> str:
    """Report the start of a run, with its source and the reasons for it."""
    data_source = f" ({plan.source})" if plan.source else ""
    notes = "; ".join(note for note in (plan.note, why) if note not in ("", runs.FIRST))
    return f"{plan.folder}{data_source}{': ' if notes else ''}{notes}"


def _ended(outcome: Outcome) -> str:
    """Report how a run ended."""
    note = f"; {outcome.plan.note}" * bool(outcome.plan.note)
    how = {
        "skipped": f"unchanged since the last run, skipped (--force reruns it){note}",
        "done": f"done in {outcome.seconds:.0f} s",
        "failed": f"FAILED after {outcome.seconds:.0f} s: {outcome.message}",
        "incomplete": f"FAILED in part, after {outcome.seconds:.0f} s; other results are kept:\n"
        f"{outcome.message}",
    }
    return f"{outcome.plan.folder}: {how[outcome.status]}"


class _Lines(io.TextIOBase):
    """A file that passes on whole lines."""

    def __init__(self, listener: Listener) -> None:
        self._listener, self._rest = listener, ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._listener(line)
        return len(text)

    def close(self) -> None:
        if self._rest and not self.closed:
            self.write("\n")
        super().close()
