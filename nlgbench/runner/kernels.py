"""Run kernels that end with their run or command, together with all processes they started.

Each kernel leads a process group, which is killed after its run. A separate process, the watch, is
informed of each group. It reads from a pipe that the system closes when the command ends, even by
kill -9, and then kills what is left. Kernels communicate through sockets in a private folder,
because another process could take a port between its choice and its use.
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

#: What a kernel and its workers print outside the notebook.
LOG = "kernel.log"
#: Which files they read.
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
#: The longest path of a folder for sockets; systems allow at least 104 bytes for a socket's path.
_LONGEST = 70


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as Ctrl-C does, unless they are ignored."""
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
        self.stopped = False  # whether runs must end without a result
        self._watch: subprocess.Popen[str] | None = None
        self._numbers = count()

    def __enter__(self) -> Kernels:
        """Start the watch, in a session that the terminal does not interrupt."""
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
        """Kill what is left; the watch ends when its pipe closes."""
        self.stop()
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):
                self._watch.stdin.close()
            self._watch.wait(timeout=10)
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Kill every kernel, including those that start later."""
        with self._lock:
            self.stopped = True
            running = set(self._running)
        for group in running:
            self.end(group)

    def began(self, group: int) -> None:
        """Register a kernel's process group."""
        with self._lock:
            self._running.add(group)
            self._tell(group)
        if self.stopped:
            self.end(group)

    def end(self, group: int) -> None:
        """Kill a group, even if the kernel itself has ended."""
        with self._lock:
            if group in self._running:
                self._running.remove(group)
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
                self._tell(group)

    def _tell(self, group: int) -> None:
        """Send a group to the watch: once when it starts, once when it has ended."""
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):  # without a watch, the command ends its kernels
                self._watch.stdin.write(f"{group}\n")
                self._watch.stdin.flush()

    @contextmanager
    def kernel(self, folder: Path) -> Iterator[dict[str, Any]]:
        """Return papermill's options for a kernel that logs in `folder` and ends with the block."""
        from jupyter_client.manager import AsyncKernelManager
        from traitlets.config import Config

        groups: list[int] = []
        began = self.began
        kernel_folder = self._folder / str(next(self._numbers))
        kernel_folder.mkdir()
        settings = {"connection_file": str(kernel_folder / "kernel.json")}
        if hasattr(os, "killpg"):
            settings |= {"transport": "ipc", "ip": str(kernel_folder / "s")}
        else:  # on loopback, where other users of the machine could also connect
            settings["transport_encryption"] = "auto"

        class Manager(AsyncKernelManager):
            """Start a kernel that logs its output and the files it reads in the run's folder."""

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
                # The manager interrupts a kernel before a shutdown. A kernel that still handles its
                # last message would then log an error.
                if not self.shutting_down:
                    await super()._async_interrupt_kernel()

            interrupt_kernel = _async_interrupt_kernel

        try:
            yield {"kernel_manager_class": Manager, "config": Config({"KernelManager": settings})}
        finally:
            for group in groups:
                self.end(group)
            shutil.rmtree(kernel_folder, ignore_errors=True)
