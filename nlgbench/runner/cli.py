"""The command line: parses and hands over, nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import nlgbench
from nlgbench.runner.parameters import UsageError, shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Repairing(click.Group):
    """Turn errors into lines that name a way out; a traceback is there for those who ask."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, ValueError | OSError):
                wrong = click.UsageError if isinstance(error, UsageError) else click.ClickException
                raise wrong(str(error)) from None
            what = f"{type(error).__name__}: {error}"
            raise click.ClickException(
                f"{what}\nThis is a fault of nlgbench. `nlgbench --debug ...` shows where it "
                "is: please report it with that."
            ) from None


def _say(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:  # `| head` went away; the notebooks go on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_complain = partial(click.echo, err=True)


def _folder(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    """Check the name of a folder, which need not be there."""
    if value is None:
        return None
    if not value.strip() or not value.isprintable() or value.startswith("~"):
        raise click.BadParameter(
            f"{shown(value)} is empty, does not print, or begins with ~, which the shell did not "
            "replace: name a folder, as in figures/latest."
        )
    folder = Path(value)
    if os.path.lexists(folder) and not folder.is_dir():
        raise click.BadParameter(f"{shown(value)} is a file: name a folder.")
    return folder


def _given(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{shown(text)} is not NAME=VALUE, as in -p n_neighbors=8.")
        if name in given:
            raise click.BadParameter(f"{name!r} is given twice: once is enough.")
        given[name] = value
    return given


def _complete(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem] | list[str]:
    from click.shell_completion import CompletionItem

    from nlgbench.runner.notebooks import find_notebooks

    names = [path.stem for path in find_notebooks() if path.stem.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(cls=_Repairing, context_settings=_SETTINGS)
@click.version_option(nlgbench.__version__, message="%(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Say which text generator is better, and which evaluator to believe."""


@main.command(name="list")
@click.option("--json", "form", flag_value="json", help="For programs.")
def list_(form: str | None) -> None:
    """List the notebooks with their parameters, data and claims."""
    from nlgbench.runner import listing

    click.echo(listing.notebooks(form=form))


#: Flag of `new` -> our column, and what the flag names.
_COLUMNS = {
    "item": ("item_id", "the input that systems share"),
    "system": ("system", "what generated the text"),
    "text": ("text", "the output itself"),
    "annotator": ("annotator_id", "who judged"),
    "dimension": ("dimension", "what was judged, where each row says so"),
    "value": ("value", "judgments; several columns are dimensions"),
    "a": ("system_a", "the system shown first, of a pair"),
    "b": ("system_b", "the system shown second"),
    "choice": ("choice", "who won: a, b or tie, however they are called"),
    "evaluator": ("evaluator", "what scored, or which judge chose, where rows or files say so"),
    "score": ("score", "scores of automatic evaluators"),
}


def _column_flags(command: Callable) -> Callable:
    """Give a command a flag for each column that files may have."""
    for name, (our, what) in reversed(_COLUMNS.items()):
        command = click.option(f"--{name}", our, metavar="COLUMN", help=f"{what}.")(command)
    return command


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE... | DIR")
@click.option(
    "--out",
    metavar="DIR",
    callback=_folder,
    help="Where study.yml goes.  [default: beside the first file]",
)
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE",
    help="A file, or a pattern in quotes; the argument is then the folder.",
)
@click.option(
    "--as",
    "layout",
    metavar="NAME",
    help="What wrote the files, such as mturk or alpaca_eval: docs/own-study.md lists formats.  "
    "[default: guessed from their columns]",
)
@_column_flags
def new(
    paths: tuple[str, ...],
    out: Path | None,
    sources: tuple[str, ...],
    layout: str | None,
    **columns: str | None,
) -> None:
    """Begin a study: write study.yml, which says what the columns of its files are.

    COLUMN is a column of any of the files, several with commas between, a numbered family
    (rating1..3), a pattern whose braces say what differs (rating_{system}), or a text with columns
    and {file} in braces. What no flag names is guessed, with the reason beside it. FILE may be a
    pattern in quotes. Files stay where they are, and nothing is overwritten.
    """
    from nlgbench.runner import new_study

    flags = {our: named.split(",") for our, named in columns.items() if named}
    place, found = new_study.place_of(paths, sources, out)
    _folder(click.get_current_context(), click.Argument(["DIR"]), str(place))
    if (layout or flags) and not found:
        raise click.UsageError("--as and names of columns are for files: name the files, too.")
    click.echo(new_study.new(place, found, layout, flags))


@main.command()
@click.argument("directory", metavar="DIR", callback=_folder)
def check(directory: Path) -> None:
    """Check the study in DIR: what to fix, what could change a conclusion, what can be run.

    DIR is a folder, whose study.py is run if it has one, or the name of a public study. Ends with 1
    where something must be fixed.
    """
    from nlgbench.runner import check_study

    said, is_right = check_study.check(directory)
    click.echo(said)
    if not is_right:
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def fetch(names: tuple[str, ...]) -> None:
    """Get released data into the cache, each file checked by its hash.

    NAME is a data set (huse) or a file (huse/summary_clean.csv); all without a name. Where
    NLGBENCH_DATA is set, nothing is written: what is there is checked.
    """
    from nlgbench.datasets import cache, registry
    from nlgbench.runner import listing

    for name in names:
        try:
            registry.files(name)
        except ValueError as error:
            raise UsageError(str(error)) from None
    click.echo(listing.plain(cache.fetch(names)))
    click.echo(f"in {cache.cache_dir()}")


@main.command()
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...", shell_complete=_complete)
@click.option(
    "-p", "given", multiple=True, metavar="NAME=VALUE", callback=_given, help="Set a parameter."
)
@click.option(
    "--source",
    type=click.Choice(["auto", "released", "simulated"]),
    default="auto",
    help="auto: released data where they can be had.",
)
@click.option(
    "--effort", type=click.Choice(["quick", "full"]), default="quick", help="full: paper-grade."
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Notebooks at once.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run on Dask workers: local (as many as --jobs), tcp://HOST:PORT, or a scheduler file.",
)
@click.option(
    "--out", default="figures/latest", metavar="DIR", callback=_folder, help="Where results go."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 10_000_000, min_open=True),
    metavar="S",
    help="Seconds for each notebook.  [default: none]",
)
@click.option("--force", is_flag=True, help="Run again what is unchanged.")
@click.option("--dry-run", is_flag=True, help="Only say what would run, and why.")
@click.option(
    "--grid",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="YAML of parameters with lists of values: a run for each combination.",
)
@click.option("--retry-failed", is_flag=True, help="Run only what failed the last time.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Show what cells print, as it comes.")
@click.option("--json", "as_json", is_flag=True, help="How each run ended, for programs.")
def run(
    notebooks: tuple[str, ...],
    given: dict[str, str],
    jobs: int,
    cluster: str | None,
    out: Path,
    force: bool,
    dry_run: bool,
    grid: Path | None,
    retry_failed: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **handed_over: Any,
) -> None:
    """Run notebooks headlessly: figures, tables and a ledger of claims.

    NOTEBOOK is a name, its number, or a path to one of your own; all without a name. Ends with 0
    when all is done, 1 when a notebook or the machine failed, 2 when nothing was started, as it was
    asked for wrongly.
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other: leave one out.")
    if force and retry_failed:
        raise click.UsageError("--retry-failed runs what failed, --force all: leave one out.")
    if jobs > 1 and cluster not in (None, "local"):
        raise click.UsageError(
            "--jobs does not go with the address of a cluster: it runs as many notebooks at once "
            "as its workers have threads."
        )
    from nlgbench.runner import execute
    from nlgbench.runner import grid as grids

    makers = None
    if cluster is not None:
        from nlgbench.runner.cluster import workers

        makers = partial(workers, cluster, jobs)
    say: Callable[[str], None] = _complain if as_json else _say  # only JSON on stdout
    try:
        outcomes = execute.run(
            notebooks,
            given,
            out=out,
            jobs=jobs,
            force=force,
            dry_run=dry_run,
            grid=({},) if grid is None else grids.read_grid(grid),
            retry_failed=retry_failed,
            say=None if quiet else say,
            complain=_complain,
            verbose=verbose,
            makers=makers,
            **handed_over,  # source, effort, timeout
        )
    except KeyboardInterrupt:
        _say("Interrupted: finished results are whole; run the same command to go on.")
        # Kernels end when their command does; waiting for their cells could take hours.
        os._exit(130)
    if dry_run:
        return
    failed = [outcome.plan.place for outcome in outcomes if outcome.status == "failed"]
    if as_json:
        from nlgbench.runner import listing

        click.echo(listing.outcomes(outcomes, out))
    elif not quiet and len(failed) < len(outcomes):
        _say(f"results are in {out}: index.csv lists the figures, ledger.csv the claims")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}")


@main.command()
@click.argument("directory", metavar="DIR", callback=_folder)
@click.option(
    "--verdict",
    metavar="V",
    help="Only these rows: matches, differs, 'same direction', undecided, 'not recomputable', new.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json", "latex"]), default="table"
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("--all-runs", is_flag=True, help="Also runs with other parameters than the defaults.")
@click.option(
    "--degrees",
    is_flag=True,
    help="How near recomputed numbers come to the printed ones, by paper and table.",
)
def ledger(directory: Path, verdict: str | None, form: str, all_runs: bool, degrees: bool) -> None:
    """Show the ledger of the runs in DIR: printed and recomputed values side by side."""
    from nlgbench.runner import listing

    if degrees:
        if verdict is not None or all_runs:
            raise click.UsageError(
                "--degrees are of all verdicts, of the runs with default parameters: leave "
                "--verdict and --all-runs out."
            )
        click.echo(listing.degrees(directory, form=form), nl=False)
        return
    click.echo(listing.ledger(directory, verdict=verdict, form=form, all_runs=all_runs), nl=False)


@main.command()
@click.argument("directory", metavar="DIR", callback=_folder)
def report(directory: Path) -> None:
    """Write a report of the runs in DIR to DIR/report.

    report.html is one file that needs no other: systems and evaluators ranked, the ledger, figures,
    tables, parameters and hashes. Beside it are numbers and tables for LaTeX, and a filled Human
    Evaluation Datasheet.
    """
    from nlgbench.runner.report import write

    click.echo(write(directory))


@main.command()
@click.argument("study", required=False, metavar="[STUDY]", callback=_folder)
@click.option("--study", "folder", metavar="DIR", callback=_folder, help="The same as STUDY.")
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    metavar="P",
    help="On loopback.  [default: a free one]",
)
def explore(study: Path | None, folder: Path | None, port: int | None) -> None:
    """Serve the explorer of the study in folder STUDY, on this machine alone, until Ctrl-C.

    Without STUDY it shows a simulated study. The one line that is printed is the address to open;
    whoever does not have its token is refused.
    """
    from nlgbench.explorer.serve import serve

    serve(study or folder, port, _say)


@main.command(name="plot-sweep")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--x", required=True, metavar="NAME", help="A parameter.")
@click.option("--y", required=True, metavar="NAME", help="A recorded quantity.")
@click.option(
    "--hue", metavar="NAME", help="What lines are drawn for: row, variant, or a parameter."
)
def plot_sweep(directory: Path, x: str, y: str, hue: str | None) -> None:
    """Draw what the runs in DIR found against a parameter, as PDF, PNG, CSV and words."""
    from nlgbench.plots.sweep import plot_sweep as draw
    from nlgbench.runner.gathering import read_sweep

    path = directory / "-".join(["sweep", x, y.replace("/", "-"), *([hue] if hue else [])])
    draw(read_sweep(directory), x, y, hue=hue).save(path)
    click.echo(f"{path}.pdf")


@main.command()
@click.argument("directory", metavar="[DIR]", required=False, callback=_folder)
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
def clean(directory: Path | None, dry_run: bool) -> None:
    """Remove what killed commands left in DIR, and scores kept from earlier runs.

    DIR is the folder given as --out, figures/latest if left out. Results and released data stay.
    """
    from nlgbench.runner import listing, runs

    if directory is not None and not directory.is_dir():
        raise UsageError(f"no folder {directory}: name what was given as --out, or leave it out.")
    left = runs.clean(directory or Path("figures/latest"), dry_run=dry_run)
    click.echo(listing.plain(left) if len(left) else "nothing to remove")


@main.command()
def cache() -> None:
    """Say where released data and kept scores are, and how much there is."""
    from nlgbench.runner import listing

    click.echo(listing.plain(listing.cached()))
