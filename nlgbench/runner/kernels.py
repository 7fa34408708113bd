"""Kernels that end, with all that they started, however their run or their command ends.

A kernel leads a process group of its own, to which its workers belong. When its run has ended the
group is killed. A process beside the command, the watch, is told of each group; it reads from a
pipe that the system closes when the command is gone, even by kill -9, and kills what is left then.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgbench.files import READ_LOG

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

#: What a kernel and its workers print past the notebook.
LOG = "kernel.log"
#: What they read.
READ = ".read.jsonl"

_WATCH = """
import json, os, signal, sys
left = {}
for line in sys.stdin:
    group, file = json.loads(line)
    if file is None:
        left.pop(group, None)
    else:
        left[group] = file
for group, file in left.items():
    for undo in (lambda: os.killpg(group, signal.SIGKILL), lambda: os.unlink(file)):
        try:
            undo()
        except OSError:
            pass
"""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, unless it was told to ignore them."""
    former = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        main = threading.current_thread() is threading.main_thread()
        if number and main and signal.getsignal(number) is signal.SIG_DFL:
            former[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class Kernels:
    """The kernels of one command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, str] = {}
        self._stopped = False
        self._watch: subprocess.Popen[str] | None = None

    def __enter__(self) -> Kernels:
        """Start the watch, in a session that no terminal interrupts."""
        if hasattr(os, "killpg"):
            self._watch = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WATCH],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what is left; the watch ends with its pipe."""
        self.stop()
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):
                self._watch.stdin.close()
            self._watch.wait(timeout=10)

    def stop(self) -> None:
        """Kill every kernel, and each that is started from now on."""
        with self._lock:
            self._stopped = True
            running = dict(self._running)
        for group in running:
            self.end(group)

    @property
    def stopped(self) -> bool:
        """Whether runs are to end without a result."""
        return self._stopped

    def began(self, group: int, connection: str) -> None:
        """Take note of a kernel's process group, and of its connection file."""
        with self._lock:
            self._running[group] = connection
            self._tell(group, connection)
        if self._stopped:
            self.end(group)

    def end(self, group: int) -> None:
        """Kill a group, whether or not the kernel itself has ended."""
        with self._lock:
            connection = self._running.pop(group, None)
            if connection is None:
                return
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
            Path(connection).unlink(missing_ok=True)
            self._tell(group, None)

    def _tell(self, group: int, connection: str | None) -> None:
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):  # killed by hand: the command still ends its own
                self._watch.stdin.write(json.dumps([group, connection]) + "\n")
                self._watch.stdin.flush()

    def manager(self, folder: Path) -> tuple[type[AsyncKernelManager], list[int]]:
        """Make the class of the manager for one run in `folder`, and the list of its groups."""
        from jupyter_client.manager import AsyncKernelManager

        groups: list[int] = []
        began = self.began

        class Manager(AsyncKernelManager):
            """Starts a kernel that logs and notes what it reads in the run's folder."""

            async def _async_start_kernel(self, **options: Any) -> None:
                environment = {**os.environ, READ_LOG: str(folder / READ)}
                with (folder / LOG).open("ab") as log:
                    await super()._async_start_kernel(
                        env=environment, stdout=log, stderr=log, **options
                    )
                group = getattr(self.provisioner, "pgid", None)
                if group:
                    groups.append(group)
                    began(group, self.connection_file)

            start_kernel = _async_start_kernel

        return Manager, groups
