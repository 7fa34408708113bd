"""Run notebooks on the workers of a Dask scheduler.

The command plans, skips, gathers and reports as usual. A worker whose nlgbench, packages or data
differ from those of the command refuses a run, and another worker gets it. Dask restarts the runs
of a lost worker. Workers return the files of a result, which the command puts into place.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgbench.names import UsageError, require_extra
from nlgbench.runner import runs
from nlgbench.runner.execute import INTERRUPTED, Listener, Makers, execute, settle_data_folder
from nlgbench.runner.kernels import Kernels
from nlgbench.runner.parameters import shown
from nlgbench.runner.runs import Outcome, Plan

if TYPE_CHECKING:
    from distributed import Client

#: Seconds to wait for the scheduler, for a worker, and between two checks of a run.
_ANSWER, _WORKERLESS, _LOOK = 10.0, 60.0, 2.0
#: How many runs are submitted at once, each by a thread of the command.
_WAITING = 256
#: Imports and environment variables belong to a process, which may have several worker threads.
_PREPARING = threading.Lock()


@contextmanager
def workers(address: str, jobs: int) -> Iterator[Makers]:
    """Run on the workers of the scheduler at an address; ``local`` starts `jobs` workers."""
    if address != "local" and "://" not in address and not Path(address).is_file():
        raise UsageError(
            f"{shown(address)} is not an address: use local, tcp://HOST:PORT, tls://HOST:PORT, or "
            "an existing scheduler file."
        )
    require_extra("--cluster", "cluster", "distributed")
    import distributed

    # We report errors ourselves, once.
    for name in ("distributed", "distributed.client", "distributed.nanny", "distributed.worker"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    threads = runs.threads()
    with ExitStack() as stack:
        if address == "local":
            local_cluster = distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                # By default, these ports are open to other machines.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
            stack.enter_context(local_cluster)
            runs.set_threads(threads)  # Dask changes them, also in this process
            address = local_cluster.scheduler_address
        try:
            if "://" not in address:
                address = json.loads(Path(address).read_text(encoding="utf-8"))["address"]
            client = distributed.Client(address, timeout=_ANSWER, set_as_default=False)
            stack.callback(_let_go, client)
            client.wait_for_workers(1, timeout=_WORKERLESS)
        # tls:// without certificates raises a TypeError.
        except (OSError, TypeError, ValueError, KeyError) as error:
            raise ConnectionError(
                f"no scheduler answers at {address}, or it has no workers ({error}): start them, "
                "correct the address, or omit --cluster."
            ) from None
        stopped = threading.Event()
        stack.callback(stopped.set)
        yield Makers(_WAITING, partial(_make, client, stopped), stopped.set)


def _let_go(client: Client) -> None:
    with suppress(Exception):  # the scheduler may be gone
        client.close(timeout=_ANSWER)


def _make(
    client: Client,
    stopped: threading.Event,
    plan: Plan,
    out: Path,
    timeout: float | None,
    listener: Listener,
) -> Outcome:
    """Let a suitable worker make a run, and put the result into its place."""
    topic = f"nlgbench-{uuid.uuid4().hex}"
    client.subscribe_topic(topic, lambda event: listener(event[1]))
    content = plan.notebook.path.read_bytes()
    job = (plan, content, str(out), timeout, runs.threads(), topic)
    refused: dict[str, str] = {}
    began, why = time.monotonic(), ""
    while not stopped.is_set():
        right = [worker for worker in _alive(client) if worker not in refused]
        if refused and not right:
            why = "no worker can run it:\n" + "\n".join(refused.values())
            break
        where = {"workers": right, "allow_other_workers": True} if refused else {}
        future = client.submit(_make_there, *job, pure=False, **where)
        answer = None
        try:
            while answer is None and not stopped.is_set():
                with suppress(TimeoutError):
                    answer = future.result(timeout=_LOOK)
        except Exception as error:  # such as workers that die, or lack the package
            _alive(client)  # raises an error if the scheduler is gone
            defect = f"{type(error).__name__}: {error}"
            why = f"no worker completed it ({defect}): see the workers' logs."
            break
        if answer is not None:
            worker, why, outcome, files = answer
            if outcome is not None and not (why := _put(outcome, files, plan, out)):
                return replace(outcome, plan=plan)
            refused[worker] = f"{worker}: {why}"
    if stopped.is_set():
        why = INTERRUPTED
    else:
        runs.keep_failed(runs.aside(out, plan.folder), out / f"{plan.folder}.failed")
    return Outcome(plan, "failed", time.monotonic() - began, why)


def _alive(client: Client) -> list[str]:
    """List the workers; raise an error if the scheduler is gone."""
    try:
        return list(client.nthreads())
    except (OSError, ValueError, RuntimeError, AttributeError):
        raise ConnectionError(
            "the scheduler is gone. Finished runs are complete; run the same command to resume."
        ) from None


def _put(outcome: Outcome, files: Mapping[str, bytes], plan: Plan, out: Path) -> str:
    """Put a result into its place, or explain why it is not valid here."""
    new, failed = runs.aside(out, plan.folder), out / f"{plan.folder}.failed"
    for name in sorted(files, key=lambda name: name == runs.MANIFEST):  # the manifest is last
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_bytes(files[name])
    if outcome.status == "failed":
        runs.keep_failed(new, failed)
        return ""
    if why := runs.why_rerun(new, plan.hashes, plan.parameters.get("study")):
        return f"its result is not valid where the command runs: {why}."
    runs.remove(failed)
    runs.promote(new, out / plan.folder)
    return ""


def refusal(plan: Plan) -> str:
    """Explain why this machine must not make a run; empty if its result would be the same."""
    data = runs.hash_data(plan.notebook, plan.parameters, plan.source)
    environment = runs.surroundings()
    here = {**environment, **json.loads(environment["installed packages"]), **data}
    there = {**plan.hashes, **json.loads(plan.hashes["installed packages"]), **plan.data}
    names = {*here, *there} - {"code", "parameters", "data", "installed packages"}
    for name in sorted(names, key=lambda name: (name not in environment, name)):
        if here.get(name) != there.get(name):
            return (
                f"its {name} is {here.get(name, 'none')}, but {there.get(name, 'none')} where "
                "the command runs. Both need the same nlgbench, package versions "
                "(lock/development.txt) and platform, and the same data under the same path. To "
                "provide released data, run `nlgbench fetch` on the worker, or set NLGBENCH_DATA "
                "before the worker starts."
            )
    return ""


def _make_there(
    plan: Plan, content: bytes, out: str, timeout: float | None, threads: dict[str, str], topic: str
) -> tuple[str, str, Outcome | None, dict[str, bytes]]:
    """Make a run on the current worker, or explain why it must not run there."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    with _PREPARING:
        require_extra("a worker", "run", "papermill", "pandas")
        runs.set_threads(threads)
        settle_data_folder()
        if refused := refusal(plan):
            return worker.address, refused, None, {}
    with (
        tempfile.TemporaryDirectory(
            dir=worker.local_directory, ignore_cleanup_errors=True
        ) as folder,
        Kernels() as kernels,
        _while_wanted(worker, kernels.stop),
    ):
        path = plan.notebook.path  # next to its own modules, if it exists here
        if not path.is_file() or path.read_bytes() != content:
            path = Path(folder, path.name)
            path.write_bytes(content)
        here = replace(plan, notebook=replace(plan.notebook, path=path))
        listener = partial(worker.log_event, topic)
        outcome = execute(here, Path(folder), timeout, listener, kernels=kernels)
        if kernels.stopped:  # the command is gone, or this worker closes
            raise Reschedule
        result = Path(folder, plan.folder + ".failed" * (outcome.status == "failed"))
        below = [file for file in result.rglob("*") if file.is_file()]
        files = {file.relative_to(result).as_posix(): file.read_bytes() for file in below}
        outcome = replace(outcome, message=outcome.message.replace(folder, out))
        return worker.address, "", outcome, files


@contextmanager
def _while_wanted(worker: Any, stop: Callable[[], None]) -> Iterator[None]:
    """Stop a run when its command releases the task, or when the worker closes."""
    from distributed.core import Status

    at_work = (Status.running, Status.paused, Status.closing_gracefully)
    key, ended = worker.get_current_task(), threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            task = worker.state.tasks.get(key)
            if worker.status not in at_work or task is None or task.state != "executing":
                stop()
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
