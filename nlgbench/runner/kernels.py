"""Kernels that end, with all that they started, however their run or their command ends.

A kernel leads a process group of its own, which is killed when its run has ended. A process beside
the command, the watch, is told of each group; it reads from a pipe that the system closes when the
command is gone, even by kill -9, and kills what is left then. Kernels are spoken to through sockets
in a folder of the user's own: another process could take a port between its choice and its use.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from nlgbench.files import READ_LOG

#: What a kernel and its workers print past the notebook.
LOG = "kernel.log"
#: What they read.
READ = ".read.jsonl"

_WATCH = """
import os, shutil, signal, sys
left = set()
for line in sys.stdin:
    left ^= {int(line)}
for group in left:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
#: Longest path of a folder for sockets' own; systems take 104 bytes at least.
_LONGEST = 70


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, unless it was told to ignore them."""
    former = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        main = threading.current_thread() is threading.main_thread()
        if number and main and signal.getsignal(number) is signal.SIG_DFL:
            former[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


class Kernels:
    """The kernels of one command."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self.stopped = False  # whether runs are to end without a result
        self._watch: subprocess.Popen[str] | None = None
        self._numbers = count()

    def __enter__(self) -> Kernels:
        """Start the watch, in a session that no terminal interrupts."""
        is_long = len(os.fsencode(tempfile.gettempdir())) > _LONGEST
        self._folder = Path(tempfile.mkdtemp(prefix="nlgbench-", dir="/tmp" if is_long else None))
        if hasattr(os, "killpg"):
            self._watch = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WATCH, str(self._folder)],
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
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Kill every kernel, and each that is started from now on."""
        with self._lock:
            self.stopped = True
            running = set(self._running)
        for group in running:
            self.end(group)

    def began(self, group: int) -> None:
        """Take note of a kernel's process group."""
        with self._lock:
            self._running.add(group)
            self._tell(group)
        if self.stopped:
            self.end(group)

    def end(self, group: int) -> None:
        """Kill a group, whether or not the kernel itself has ended."""
        with self._lock:
            if group in self._running:
                self._running.remove(group)
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
                self._tell(group)

    def _tell(self, group: int) -> None:
        """Name a group to the watch: the first time it begins, the second time it has ended."""
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):  # killed by hand: the command still ends its own
                self._watch.stdin.write(f"{group}\n")
                self._watch.stdin.flush()

    @contextmanager
    def kernel(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Give papermill's options for a kernel that runs in `folder` and ends with this block."""
        from jupyter_client.manager import AsyncKernelManager
        from traitlets.config import Config

        groups: list[int] = []
        began = self.began
        own = self._folder / str(next(self._numbers))
        own.mkdir()
        settings = {"connection_file": str(own / "kernel.json")}
        if hasattr(os, "killpg"):
            settings |= {"transport": "ipc", "ip": str(own / "s")}
        else:  # on loopback, where other users of the machine could listen too
            settings["transport_encryption"] = "auto"

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
                    began(group)

            start_kernel = _async_start_kernel

            async def _async_interrupt_kernel(self) -> None:
                # Before it asks a kernel to shut down, the manager interrupts it. What answered its
                # last message may still be in that message's handler, and would log an error.
                if not self.shutting_down:
                    await super()._async_interrupt_kernel()

            interrupt_kernel = _async_interrupt_kernel

        try:
            yield {"kernel_manager_class": Manager, "config": Config({"KernelManager": settings})}
        finally:
            for group in groups:
                self.end(group)
            shutil.rmtree(own, ignore_errors=True)
