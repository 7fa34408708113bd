"""Headless runs of notebooks with papermill, each in its own kernel."""

from __future__ import annotations

import importlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nlgbench.datasets import cache
from nlgbench.runner import grid as grid_of_runs
from nlgbench.runner import identity, runs
from nlgbench.runner.kernels import LOG, Kernels, interruptible
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.runner.parameters import ParameterError, UsageError
from nlgbench.runner.plan import Outcome, Plan, SourceWish, check, check_names, plan
from nlgbench.runner.progress import Lines, Progress

if TYPE_CHECKING:
    from nlgbench.study import Study

#: Seconds that runs have to notice that their kernel was killed.
_PATIENCE = 8.0


class Makers(NamedTuple):
    """What runs are made by: `make` takes a plan and `execute`'s options, and waits for its end."""

    n_at_once: int  # for the time that is left
    n_threads: int  # that may call `make` at once
    make: Callable[..., Outcome]
    stop: Callable[[], None]  # what runs ends without a result, and nothing is begun


def execute(
    plan: Plan,
    out: Path,
    *,
    timeout: float | None,
    kernels: Kernels,
    on_start: Callable[[], None],
    on_cell: Callable[[], None],
    say_printed: Callable[[str], None] | None,
) -> Outcome:
    """Run one notebook in its own kernel, and put the result in its place."""
    on_start()
    import papermill
    from jupyter_core.utils import ensure_event_loop

    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    # It does not know `int | None`, and logs deaths of kernels that we explain.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    options: dict[str, Any] = {
        # Papermill tells of texts, too.
        "on_cell_start": lambda cell, cell_index: on_cell() if cell.cell_type == "code" else None
    }
    if timeout is not None:
        deadline = began + timeout
        options["timeout_func"] = lambda cell: max(0.1, deadline - time.monotonic())
    printed = [] if say_printed is None else [Lines(plan.name, say_printed) for _ in range(2)]
    if printed:
        options["stdout_file"], options["stderr_file"] = printed
    failed = out / f"{plan.place}.failed"
    partial = runs.partial_dir(out, plan.place, plan.digest)
    options["kernel_manager_class"], options["config"], groups = kernels.manager(partial)
    try:
        papermill.execute_notebook(
            _verbatim(plan.path),
            _verbatim(partial / "notebook.ipynb"),
            parameters={**plan.parameters, "output_dir": str(partial)},
            kernel_name="python3",
            language="python",  # which a notebook need not name
            progress_bar=False,
            cwd=_verbatim(plan.path.parent),  # as in Jupyter
            **options,
        )
        for group in groups:
            kernels.end(group)
        _release(partial / "notebook.ipynb")
        (partial / LOG).unlink(missing_ok=True)
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
                "parts": plan.parts,
                "prose": plan.prose,
                "read": runs.take_read(partial),
                "seed": plan.parameters.get("seed"),
                "started": started,
                "seconds": round(time.monotonic() - began, 2),
                **runs.take_record(partial, plan.name),
            },
        )
        runs.promote(partial, out / plan.place)
        runs.remove(failed)
    except Exception as error:
        if kernels.stopped:
            runs.remove(partial)
            return Outcome(plan, "failed", time.monotonic() - began, "interrupted")
        kept = (partial / "notebook.ipynb").is_file()  # not where it could not be begun
        look = f"\nUp to there it is in {failed / 'notebook.ipynb'}." if kept else ""
        message = _explain(error, timeout) + look
        runs.keep_failed(partial, failed)
        return Outcome(plan, "failed", time.monotonic() - began, message)
    finally:
        for group in groups:
            kernels.end(group)
        for lines in printed:
            lines.close()
        ensure_event_loop().close()  # nbclient opens one for each thread and leaves it
    return Outcome(plan, "done", time.monotonic() - began)


@contextmanager
def here(jobs: int) -> Iterator[Makers]:
    """Make runs on this machine."""
    if jobs > 1:
        import_ahead()
    with Kernels() as kernels:
        yield Makers(jobs, jobs, partial(execute, kernels=kernels), kernels.stop)


def import_ahead() -> None:
    """Import what runs need: two threads that begin with it can lock each other out of it."""
    for package in ("papermill", "pandas"):
        importlib.import_module(package)


def settle_data_folder() -> None:
    """Make NLGBENCH_DATA absolute: kernels work in their notebook's folder."""
    if cache.read_only():
        os.environ["NLGBENCH_DATA"] = str(cache.cache_dir().absolute())


def _to_make(out: Path, plans: Sequence[Plan], *, force: bool) -> dict[str, float]:
    """Give the runs there are to make, and how long those of the same notebooks took, or NaN.

    Runs on the same source with the same effort count before others of the notebook.
    """
    # Whether results are whole is looked at when it is their turn.
    there = {folder.name: manifest for folder, manifest in runs.finished(out)}
    took: dict[tuple[str, ...], list[float]] = {}
    for manifest in there.values():
        if "seconds" in manifest:
            effort = str(manifest.get("parameters", {}).get("effort"))
            alike = manifest["notebook"], str(manifest.get("source")), effort
            for key in (alike, alike[:1]):
                took.setdefault(key, []).append(manifest["seconds"])
    found = {}
    for one in plans:
        if not force and there.get(one.place, {}).get("parts") == one.parts:
            continue
        alike = one.name, str(one.source), str(one.parameters.get("effort"))
        seconds = took.get(alike) or took.get(alike[:1]) or [float("nan")]
        found[one.place] = sum(seconds) / len(seconds)
    return found


def _estimate(to_make: Mapping[str, float], n_plans: int, jobs: int) -> str:
    """Say how many runs there are to make, and how long they take as earlier ones took."""
    text = f"{n_plans} runs, {n_plans - len(to_make)} of them there already"
    seconds = sum(to_make.values()) / jobs
    if to_make and seconds == seconds:
        text += f"; about {seconds / 60:.1f} min, as earlier runs took"
    return text


def _of_prose(out: Path, plan: Plan) -> str:
    """Say of a result that is there if the text beside the code has changed since."""
    former = runs.read_manifest(out / plan.place) or {}
    if former.get("prose", plan.prose) == plan.prose:
        return ""
    return "its text was changed, which the stored notebook does not show"


def _verbatim(path: Path) -> str:
    # Papermill puts parameters into its paths, between braces.
    return str(path).replace("{", "{{").replace("}", "}}")


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


def _explain(error: Exception, timeout: float | None) -> str:
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    if isinstance(error, PapermillExecutionError):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
        # The arrow of the cell's own frame; those of the libraries that it called come later.
        own = plain[max(plain.find("Cell In["), 0) :]
        arrow = re.search(r"^-+> *(\d+) (.*)$", own, flags=re.MULTILINE)
        line = f", line {arrow[1]}:\n    {arrow[2].strip()}" if arrow else ""
        what = error.evalue
        if len(what) > 1_000:
            what = f"{what[:600]} [... {len(what) - 900:,} characters ...] {what[-300:]}"
        return f"in cell [{error.exec_count}]{line}\n{error.ename}: {what}"
    if isinstance(error, CellTimeoutError):
        return f"took longer than {timeout:g} s: raise --timeout."
    if isinstance(error, DeadKernelError):
        return "its kernel died (killed, or out of memory?): run it again."
    return f"{type(error).__name__}: {error}"


def _gather(out: Path) -> list[str]:
    from nlgbench.runner import degrees

    try:
        doubled = runs.gather(out)
        grid_of_runs.gather(out)
        degrees.gather(out)
        return doubled
    except OSError as error:
        raise OSError(
            f"ledger.csv and index.csv could not be written in {out} ({error.strerror or error}); "
            "finished runs are whole: free some space, or mend the folder, and run the same "
            "command again, which skips them."
        ) from None


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
    dry_run: bool = False,
    grid: Sequence[Mapping[str, Any]] = ({},),
    retry_failed: bool = False,
    say: Callable[[str], None] | None = print,
    complain: Callable[[str], None] = print,
    verbose: bool = False,
    makers: Callable[[], AbstractContextManager[Makers]] | None = None,
) -> list[Outcome]:
    """Run notebooks; skip those whose result is there; let none stop the others.

    Each is run with every set of parameters in `grid`, over those in `given`. With `dry_run`, only
    say what would run, and why; with `retry_failed`, run only what failed. `say` is told what
    happens, `complain` what failed; `verbose` says what cells print, too. Runs are made by `makers`
    instead of on this machine, `jobs` at once.
    """
    shown_out, out = out, out.absolute()
    settle_data_folder()
    # Matrices here are small: threads of one product wait for each other, forty times as long where
    # the cores are busy; and with one thread results do not depend on how many cores there are.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    notebooks = [read_notebook(path) for path in find_notebooks(names)]
    if twice := [name for part in grid for name in part if name in given]:
        raise ParameterError(f"-p and --grid both set {twice[0]!r}: leave one out.")
    asked = [
        (notebook, one)
        for notebook in notebooks
        for part in grid
        for one in grid_of_runs.spread(notebook.parameters, {**given, **part}, where=notebook.name)
    ]
    for notebook, one in asked:  # the cheap checks of all, before any data are fetched
        check(notebook, one, source=source, effort=effort)
    around = identity.surroundings()
    plans = [
        plan(notebook, one, source=source, effort=effort, around=around) for notebook, one in asked
    ]
    opened: dict[tuple[str, str], Study] = {}
    by_place: dict[str, Plan] = {}
    for (notebook, one), each in zip(asked, plans, strict=True):
        check_names(notebook, one, each, opened)
        if each.source == "study":
            runs.refuse_other_study(out / each.place, each.parameters["study"], each.data)
        if by_place.setdefault(each.place, each).data != each.data:
            raise UsageError(
                f"{by_place[each.place].parameters['study']} and {each.parameters['study']} are "
                "two studies of one name, by which results go: run them with different --out."
            )
    plans = list(by_place.values())
    if retry_failed:
        plans = [one for one in plans if (out / f"{one.place}.failed").is_dir()]
        if not plans:
            (say or complain)(f"none of these runs failed the last time in {shown_out}")
            return []

    def why_run(plan: Plan) -> str:
        if force or retry_failed:
            return "--force" if force else "it failed the last time"
        return runs.why_anew(out / plan.place, plan.parts, plan.parameters.get("study"))

    if dry_run:
        for each in plans:
            why = why_run(each)
            would = f"would run ({why})" if why else "unchanged, would be skipped"
            (say or complain)(f"{each.place}: {would}")
        return []
    # Whatever makes runs is there before anything is written.
    with interruptible(), (makers or partial(here, jobs))() as by, runs.writing(out):
        runs.recover(out)
        runs.check_place(out, [plan.place for plan in plans])
        is_grid = len(plans) > len(notebooks)
        to_make = _to_make(out, plans, force=force)
        if is_grid and say is not None:
            say(_estimate(to_make, len(plans), by.n_at_once))
        n_runs = len(plans) * is_grid
        stopped = threading.Event()
        with Progress(say, complain, n_runs, by.n_at_once, to_make) as progress:

            def made(plan: Plan) -> Outcome:
                why = why_run(plan)
                if not why:
                    runs.remove(out / f"{plan.place}.failed")  # of a run that was forced
                    outcome = Outcome(plan, "skipped", 0.0, _of_prose(out, plan))
                else:
                    outcome = by.make(
                        plan,
                        out,
                        timeout=timeout,
                        on_start=lambda: progress.start(plan, why),
                        on_cell=lambda: progress.cell(plan),
                        say_printed=say if verbose else None,
                    )
                if not stopped.is_set():
                    progress.end(outcome)
                return outcome

            pool = ThreadPoolExecutor(by.n_threads)
            futures = [pool.submit(made, one) for one in plans]
            try:
                outcomes = [future.result() for future in futures]
            finally:  # when interrupted, kernels end at once, and what is finished is gathered
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                by.stop()
                wait(futures, timeout=_PATIENCE)
                for claim_id in _gather(out):
                    complain(f"two notebooks record {claim_id!r}; the first one's value is kept")
    return outcomes
