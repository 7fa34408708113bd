"""What a person sees while notebooks run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from nlgbench.runner.runs import FIRST

if TYPE_CHECKING:
    from rich.progress import TaskID

    from nlgbench.runner.plan import Outcome, Plan


class Progress:
    """A bar for each running notebook, and a line for each that ended; `say` is None for quiet."""

    def __init__(
        self,
        say: Callable[[str], None] | None,
        complain: Callable[[str], None],
        n_runs: int,
        jobs: int,
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        columns = (
            TextColumn("  {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("cells"),
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
        self._say = say or (lambda text: None)
        self._complain = complain
        self._n_runs, self._jobs = n_runs, jobs
        self._ended: list[Outcome] = []

    def __enter__(self) -> Progress:
        """Show the bars."""
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
        self._tasks[plan.place] = self._bars.add_task(plan.place, total=plan.n_cells)

    def cell(self, plan: Plan) -> None:
        """Move a notebook's bar by one cell."""
        if plan.place in self._tasks:
            self._bars.advance(self._tasks[plan.place])

    def _forget(self, place: str) -> None:
        if place in self._tasks:
            self._bars.remove_task(self._tasks.pop(place))

    def end(self, outcome: Outcome) -> None:
        """Say how a notebook ended."""
        name = outcome.plan.place
        self._forget(name)
        if outcome.status == "skipped":
            but = f"; {outcome.message}" if outcome.message else ""
            self._say(f"{name}: unchanged since its last run, skipped (--force runs it again){but}")
        elif outcome.status == "done":
            self._say(f"{name}: done in {outcome.seconds:.0f} s")
        else:
            self._complain(f"{name}: FAILED after {outcome.seconds:.0f} s {outcome.message}")
        self._ended.append(outcome)
        if self._n_runs > 1 and outcome.status != "skipped":
            self._say(self._so_far())

    def _so_far(self) -> str:
        """Say how many runs have ended, and how long the others will take at this pace."""
        left = self._n_runs - len(self._ended)
        failed = sum(one.status == "failed" for one in self._ended)
        took = [one.seconds for one in self._ended if one.status == "done"]
        text = f"({len(self._ended)} of {self._n_runs} runs"
        for n, what in ((len(self._tasks), "running"), (failed, "failed")):
            text += f", {n} {what}" if n else ""
        if left and took:
            text += f"; about {left * sum(took) / len(took) / self._jobs / 60:.1f} min left"
        return text + ")"


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
