"""What a person sees while notebooks run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from nlgbench.runner.runs import FIRST

if TYPE_CHECKING:
    from rich.progress import TaskID

    from nlgbench.runner.plan import Outcome, Plan


#: Characters of a run's name beside its bar, which leaves room for both in 80 columns.
_NAME = 34


class Progress:
    """A bar for each running notebook, and a line for each that ended; `say` is None for quiet."""

    def __init__(
        self,
        say: Callable[[str], None] | None,
        complain: Callable[[str], None],
        n_runs: int,
        jobs: int,
        to_come: Mapping[str, float],
    ) -> None:
        """Take what is told, how many runs to count, and the seconds that runs to come may take.

        `to_come` maps places of runs to what former runs took, NaN where there is none.
        """
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        columns = (
            TextColumn("  {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
        )
        self._bars = Bars(
            *columns,
            console=console,
            disable=say is None or not console.is_terminal,  # on a pipe, a wall of lines
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # what goes to a file stays out of the terminal
        )
        self._tasks: dict[str, TaskID] = {}
        self._to_come, self._began = dict(to_come), dict[str, float]()
        self._n_all = len(to_come)
        self._whole: TaskID | None = None
        self._say = say or (lambda text: None)
        self._complain = complain
        self._n_runs, self._jobs = n_runs, jobs
        self._ended: list[Outcome] = []

    def __enter__(self) -> Progress:
        """Show the bars."""
        if self._n_all > 1:
            self._whole = self._bars.add_task("in all", total=self._n_all, unit="runs")
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bars away, and give the terminal back as it was."""
        self._bars.stop()

    def start(self, plan: Plan, why: str) -> None:
        """Say that a notebook starts, on which source and why, and why anew."""
        about = f" ({plan.source})" if plan.source else ""
        if plan.place in self._tasks:
            self._forget(plan.place)
            why = "begun again, as its worker was lost"
        notes = [plan.note, "" if why == FIRST else why]
        note = ": " + "; ".join(filter(None, notes)) if any(notes) else ""
        self._say(f"{plan.place}{about}{note}")
        self._began[plan.place] = time.monotonic()
        self._tasks[plan.place] = self._bars.add_task(
            _short(plan.place), total=plan.n_cells, unit="cells"
        )
        self._show_whole()

    def cell(self, plan: Plan) -> None:
        """Move a notebook's bar by one cell."""
        if plan.place in self._tasks:
            self._bars.advance(self._tasks[plan.place])
        self._show_whole()

    def _show_whole(self) -> None:
        """Say on the terminal how far all runs are."""
        if self._whole is not None:
            left, ended = self.left(), self._n_all - len(self._to_come)
            words = f"{ended} of {self._n_all} done"
            words += f", {_minutes(left)} left" if left == left else ""
            self._bars.update(self._whole, description=words, total=self._n_all, completed=ended)

    def left(self) -> float:
        """Estimate the seconds that all runs still take, NaN where nothing says so.

        A run takes what the former ones of its notebook took; where there is none, the mean of
        those that have ended.
        """
        took = [one.seconds for one in self._ended if one.status == "done"]
        mean = sum(took) / len(took) if took else float("nan")
        now = time.monotonic()
        each = [
            max(0.0, (known if known == known else mean) - (now - self._began.get(place, now)))
            if known == known or took
            else float("nan")
            for place, known in list(self._to_come.items())
        ]
        return max(sum(each) / self._jobs, max(each, default=0.0))

    def _forget(self, place: str) -> None:
        if place in self._tasks:
            self._bars.remove_task(self._tasks.pop(place))

    def end(self, outcome: Outcome) -> None:
        """Say how a notebook ended."""
        name = outcome.plan.place
        self._forget(name)
        self._to_come.pop(name, None)
        if outcome.status == "skipped":
            but = f"; {outcome.message}" if outcome.message else ""
            self._say(f"{name}: unchanged since its last run, skipped (--force runs it again){but}")
        elif outcome.status == "done":
            self._say(f"{name}: done in {outcome.seconds:.0f} s")
        else:
            self._complain(f"{name}: FAILED after {outcome.seconds:.0f} s {outcome.message}")
        self._ended.append(outcome)
        self._show_whole()
        if self._n_runs > 1 and outcome.status != "skipped":
            self._say(self._so_far())

    def _so_far(self) -> str:
        """Say how many runs have ended, and how long the others will take at this pace."""
        left = self._n_runs - len(self._ended)
        failed = sum(one.status == "failed" for one in self._ended)
        seconds = self.left()
        text = f"({len(self._ended)} of {self._n_runs} runs"
        for n, what in ((len(self._tasks), "running"), (failed, "failed")):
            text += f", {n} {what}" if n else ""
        if left and seconds == seconds:
            text += f"; about {seconds / 60:.1f} min left"
        return text + ")"


def _minutes(seconds: float) -> str:
    """Say about how long something takes."""
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"


def _short(place: str) -> str:
    """Cut a run's name, so that its bar fits."""
    return place if len(place) <= _NAME else place[: _NAME - 3] + "..."


class Lines:
    """A file that hands on whole lines, each behind the name of the notebook that printed it."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self._name, self._say, self._rest = name, say, ""

    def write(self, text: str) -> None:
        """Hand on what is whole, and keep the rest until it is."""
        *whole, self._rest = (self._rest + text).split("\n")
        for line in whole:
            self._say(f"{self._name} | {line}")

    def flush(self) -> None:
        """Nothing waits but what is half."""

    def close(self) -> None:
        """Hand on what never got its end."""
        if self._rest:
            self.write("\n")
