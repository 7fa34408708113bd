"""Runs on the workers of a Dask scheduler: checked there, made there, sent back as files.

The command plans, skips, gathers and says what it always does. What it hands to a worker is a plan
with the bytes of its notebook; a worker that has another package, other installed versions or other
data refuses it, and another worker is asked. The result travels back as bytes and is renamed into
its place here, so that a lost worker, scheduler or command leaves nothing half.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nlgbench.datasets import cache
from nlgbench.datasets.published import published_dir
from nlgbench.hashing import installed_versions
from nlgbench.runner import identity, runs
from nlgbench.runner.execute import Makers, execute, import_ahead, settle_data_folder
from nlgbench.runner.kernels import Kernels
from nlgbench.runner.notebooks import read_notebook
from nlgbench.runner.parameters import shown
from nlgbench.runner.plan import Outcome, Plan, hash_data, study_name

if TYPE_CHECKING:
    from distributed import Client, Future, Worker

#: Seconds for a scheduler to answer, for a worker to come, and between two looks at a run.
_ANSWER, _WORKERLESS, _LOOK = 10.0, 60.0, 2.0
#: Runs that wait at the scheduler at once, each in a thread of the command.
_WAITING = 256
_GO_ON = "finished runs are whole; run the same command to go on"
#: Imports and environment variables are a process's, and a worker may have several threads.
_PREPARING = threading.Lock()


@dataclass(frozen=True)
class _Job:
    """A plan as it travels to a worker."""

    plan: Plan
    content: bytes  # of the notebook
    out: str  # where the command puts its result, for messages
    timeout: float | None
    threads: dict[str, str]  # variables that say how many threads kernels use
    versions: dict[str, str]  # of what is installed where the command runs
    topic: str  # of what the worker tells meanwhile
    verbose: bool


@dataclass(frozen=True)
class _Answer:
    """A run as it travels back."""

    worker: str
    refused: str  # why this worker did not make it; empty where it did
    done: bool = False
    seconds: float = 0.0
    message: str = ""
    files: Mapping[str, bytes] | None = None
    homes: tuple[str, ...] = ()  # where the worker has what every machine has somewhere


def read_address(text: str) -> str:
    """Tell which scheduler is meant: ``local``, an address, or the path of a scheduler file."""
    if text == "local":
        return text
    given = text
    if os.path.isfile(text):  # noqa: PTH113, pathlib may raise
        try:
            given = json.loads(Path(text).read_text(encoding="utf-8"))["address"]
        except (OSError, ValueError, TypeError, KeyError):
            given = ""
        if not isinstance(given, str) or not given:
            raise ValueError(
                f"{shown(text)} is no scheduler file, JSON that names an `address`: let "
                "`dask scheduler --scheduler-file FILE` write one."
            )
    with suppress(ValueError):
        parts = urlsplit(given)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return given
    raise ValueError(
        f"{shown(given)} is no address: give local, tcp://HOST:PORT, tls://HOST:PORT, or a "
        "scheduler file that is there."
    )


@contextmanager
def workers(address: str, jobs: int) -> Iterator[Makers]:
    """Make runs on the workers of the scheduler at an address; ``local`` starts its own `jobs`."""
    try:
        import distributed
    except ImportError as error:
        raise OSError(
            f"--cluster needs {error.name}, which is not installed: pip install "
            "'nlgbench[cluster]', or leave --cluster out and use --jobs."
        ) from None
    # What goes wrong is said once, and by us.
    for name in ("distributed", "distributed.client", "distributed.nanny", "distributed.worker"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    threads = identity.threads()
    with ExitStack() as stack:
        if address == "local":
            own = distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                # Left out, these ports are open to other machines.
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
            stack.callback(own.close)
            identity.set_threads(threads)  # Dask sets more for its workers, here as well
            address = own.scheduler_address
        client = _connect(address)
        stack.callback(_close, client)
        theirs = _Workers(client, address)
        stack.callback(theirs.stop)
        n_at_once = sum(client.nthreads().values())
        yield Makers(n_at_once, _WAITING, theirs.make, theirs.stop)


def _connect(address: str) -> Client:
    import distributed

    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname, place.port), timeout=_ANSWER).close()
        client = distributed.Client(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:  # TypeError: tls:// without certificates
        raise ConnectionError(
            f"no scheduler answers at {address} ({error}): start it, mend the address, or leave "
            "--cluster out."
        ) from None
    try:
        client.wait_for_workers(1, timeout=_WORKERLESS)
    except BaseException as error:
        _close(client)
        if not isinstance(error, OSError):
            raise
        raise ConnectionError(
            f"the scheduler at {address} has had no worker for {_WORKERLESS:g} s: start some with "
            f"`dask worker {address} --nthreads 1`."
        ) from None
    return client


def _close(client: Client) -> None:
    with suppress(Exception):  # its scheduler may be gone
        client.close(timeout=_ANSWER)


class _Workers:
    """The workers of one command."""

    def __init__(self, client: Client, address: str) -> None:
        self._client, self._address = client, address
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._stopped = False
        self._futures: dict[str, Future] = {}
        self._listeners: dict[str, dict[str, Callable[..., None]]] = {}
        self._topic = f"nlgbench-{uuid.uuid4().hex}"
        self._alive: list[str] = []
        self._looked = self._last_alive = time.monotonic()
        client.subscribe_topic(self._topic, self._heard)

    def stop(self) -> None:
        """Have the scheduler forget what waits; workers end what they are at."""
        with self._lock:
            self._stopped = True
            futures = list(self._futures.values())
        if futures:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel(futures, force=True)

    def make(
        self,
        plan: Plan,
        out: Path,
        *,
        timeout: float | None,
        on_start: Callable[[], None],
        on_cell: Callable[[], None],
        say_printed: Callable[[str], None] | None,
    ) -> Outcome:
        """Have a plan made by a worker that has what it takes, and put the result in its place."""
        from distributed import KilledWorker

        job = _Job(
            replace(plan, path=plan.path.absolute()),
            plan.path.read_bytes(),
            str(out),
            timeout,
            identity.threads(),
            installed_versions(),
            self._topic,
            say_printed is not None,
        )
        listener: dict[str, Callable[..., None]] = {"start": on_start, "cell": on_cell}
        if say_printed is not None:
            listener["printed"] = say_printed
        refused: dict[str, str] = {}
        began = time.monotonic()

        def fail(message: str) -> Outcome:
            partial = runs.partial_dir(out, plan.place, plan.digest)
            runs.keep_failed(partial, out / f"{plan.place}.failed")
            return Outcome(plan, "failed", time.monotonic() - began, message)

        while not self._stopped:
            right = [worker for worker in self._workers() if worker not in refused]
            if refused and not right:
                return fail("no worker can make it:\n" + "\n".join(dict.fromkeys(refused.values())))
            try:
                answer = self._ask(job, right if refused else None, listener)
            except KilledWorker as error:
                where = error.last_worker.address if error.last_worker else "unknown"
                return fail(
                    f"{error.allowed_failures + 1} workers died over it, the last one {where} "
                    "(killed, or out of memory?): look into their logs, and run it again."
                )
            if answer is None:
                continue
            if not answer.refused:
                answer = replace(answer, refused=_put(answer, plan, out))
            if not answer.refused:
                status = "done" if answer.done else "failed"
                return Outcome(plan, status, answer.seconds, answer.message)  # type: ignore[arg-type]
            refused[answer.worker] = f"{answer.worker}: {answer.refused}"
        return Outcome(plan, "failed", time.monotonic() - began, "interrupted")

    def _ask(
        self, job: _Job, right: list[str] | None, listener: dict[str, Callable[..., None]]
    ) -> _Answer | None:
        """Wait for a worker's answer; none where we stop, or where all that may answer are gone."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        key = f"nlgbench-{uuid.uuid4().hex}"
        with self._lock:
            if self._stopped:
                return None
            self._listeners[key] = listener
            future = self._client.submit(_make_there, job, key=key, pure=False, workers=right)
            self._futures[key] = future
        try:
            while True:
                try:
                    return future.result(timeout=_LOOK)
                except TimeoutError:
                    if right and not set(right) & set(self._workers()):
                        return None
                    self._workers()
        except CancelledError:
            if self._stopped:
                return None
            raise self._lost() from None
        except KilledWorker:
            raise
        except OSError:
            raise
        except Exception as error:  # such as a worker that lacks the package
            message = f"its task failed before a kernel started ({type(error).__name__}: {error})"
            return _Answer(
                "a worker", f"{message}: install nlgbench alike on scheduler and workers."
            )
        finally:
            with self._lock:
                self._listeners.pop(key, None)
                self._futures.pop(key, None)
            with suppress(Exception):
                future.release()

    def _lost(self) -> ConnectionError:
        return ConnectionError(f"the scheduler at {self._address} is gone: {_GO_ON}.")

    def _workers(self) -> list[str]:
        """List the workers, as they were a moment ago; an error if there has been none for long."""
        with self._looking:
            now = time.monotonic()
            if now - self._looked > _LOOK or not self._alive:
                try:
                    self._alive = list(self._client.nthreads())
                except (OSError, ValueError, RuntimeError, AttributeError):
                    if not self._stopped:
                        raise self._lost() from None
                self._looked = now
            if self._alive:
                self._last_alive = now
            if now - self._last_alive > _WORKERLESS and not self._stopped:
                raise ConnectionError(
                    f"the scheduler at {self._address} has had no worker for {_WORKERLESS:g} s: "
                    f"{_GO_ON}."
                )
            return list(self._alive)

    def _heard(self, event: tuple[float, Any]) -> None:
        key, kind, *text = event[1]
        listener = self._listeners.get(key, {})
        if kind in listener:
            listener[kind](*text)


def _put(answer: _Answer, plan: Plan, out: Path) -> str:
    """Put a result in its place; where it is not what would have come out here, say why."""
    partial = runs.partial_dir(out, plan.place, plan.digest)
    written = dict(answer.files or {})
    manifest = written.pop(runs.MANIFEST, b"")
    for name, content in written.items():
        (partial / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).write_bytes(content)
    failed = out / f"{plan.place}.failed"
    if not answer.done:
        runs.keep_failed(partial, failed)
        return ""
    whole = json.loads(manifest)
    whole["read"] = {_at_home(path, answer.homes): one for path, one in whole["read"].items()}
    text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
    (partial / runs.MANIFEST).write_text(text, encoding="utf-8")
    if why := runs.why_anew(partial, plan.parts):
        runs.remove(partial)
        return f"its result does not hold where the command runs, as {why}."
    runs.promote(partial, out / plan.place)
    runs.remove(failed)
    return ""


def _homes() -> tuple[str, ...]:
    """Name the folders that every machine has somewhere: of released data, and of claims."""
    return str(cache.cache_dir().absolute()), str(published_dir().absolute())


def _at_home(path: str, homes: tuple[str, ...]) -> str:
    for there, here in zip(homes, _homes(), strict=True):
        if path.startswith(there + os.sep):
            return here + path[len(there) :]
    return path


def refusal(plan: Plan, content: bytes, versions: Mapping[str, str]) -> str:
    """Say why this machine must not make a run; nothing where it would make the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{plan.name}.ipynb")
        path.write_bytes(content)
        notebook = replace(read_notebook(path), path=plan.path)
    around = identity.surroundings()
    try:
        data = hash_data(notebook, plan.parameters, plan.source)
    except OSError as error:
        data, missing = {}, f" ({error})"
    else:
        missing = ""
    parameters = dict(plan.parameters)
    if parameters.get("study"):
        parameters["study"] = study_name(parameters["study"])
    own = identity.parts(notebook.code, parameters, data, around)
    part = next((name for name in plan.parts if plan.parts[name] != own[name]), None)
    if part is None:
        return ""
    if part == "data":
        names = sorted({*data, *plan.data})
        name = next((one for one in names if data.get(one) != plan.data.get(one)), "")
        return (
            f"its data differ: {name} is not what it is where the command runs{missing}. Put the "
            "same file there, under the same path; released data by `nlgbench fetch`, or name "
            "their folder in NLGBENCH_DATA when the worker starts."
        )
    if part == "installed packages":
        here = installed_versions()
        name = next(one for one in sorted({*here, *versions}) if here.get(one) != versions.get(one))
        theirs, ours = here.get(name, "none"), versions.get(name, "none")
        return (
            f"its installed packages differ: {name} is {theirs} there and {ours} where the command "
            "runs. Install the same versions, as from lock/requirements.txt."
        )
    if part == "platform":
        return (
            f"its platform differs: {own[part]} there, {plan.parts[part]} where the command runs. "
            "Run the command on a machine like the workers, with the same Python and Java."
        )
    differ = "differ" if part.endswith("s") else "differs"
    return f"its {part} {differ}: install the same nlgbench there, and start the worker anew."


def _make_there(job: _Job) -> _Answer:
    """Make a run on the worker that this is called on."""
    from distributed import Reschedule, get_worker

    worker, plan = get_worker(), job.plan
    key = str(worker.get_current_task())

    def tell(kind: str, *text: str) -> None:
        worker.log_event(job.topic, [key, kind, *text])

    with _PREPARING:
        import_ahead()
        identity.set_threads(job.threads)
        settle_data_folder()
        refused = refusal(plan, job.content, job.versions)
    if refused:
        return _Answer(worker.address, refused)
    with (
        tempfile.TemporaryDirectory(
            dir=worker.local_directory, ignore_cleanup_errors=True
        ) as scratch,
        Kernels() as kernels,
        _while_wanted(worker, key, kernels.stop),
    ):
        path, out = Path(scratch, f"{plan.name}.ipynb"), Path(scratch, "out")
        with suppress(OSError):  # beside its own modules, if they are here as well
            path = plan.path if plan.path.read_bytes() == job.content else path
        if path != plan.path:
            path.write_bytes(job.content)
        outcome = execute(
            replace(plan, path=path),
            out,
            timeout=job.timeout,
            kernels=kernels,
            on_start=lambda: tell("start"),
            on_cell=lambda: tell("cell"),
            say_printed=(lambda text: tell("printed", text)) if job.verbose else None,
        )
        if kernels.stopped:  # whoever asked is gone, or this worker closes
            raise Reschedule
        place = out / (plan.place if outcome.status == "done" else f"{plan.place}.failed")
        return _Answer(
            worker.address,
            "",
            outcome.status == "done",
            outcome.seconds,
            outcome.message.replace(str(out), job.out),
            {
                one.relative_to(place).as_posix(): one.read_bytes()
                for one in place.rglob("*")
                if one.is_file()
            },
            _homes(),
        )


@contextmanager
def _while_wanted(worker: Worker, key: str, stop: Callable[[], None]) -> Iterator[None]:
    """Stop a run when its command is gone, which lets go of its key, or when the worker closes."""
    from distributed.core import Status

    at_work = (Status.running, Status.paused, Status.closing_gracefully)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            task = worker.state.tasks.get(key)
            if worker.status not in at_work or task is None or task.state != "executing":
                stop()
                return

    watcher = threading.Thread(target=watch, name="nlgbench-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
