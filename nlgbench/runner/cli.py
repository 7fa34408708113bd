"""The command line: parse arguments and call the functions that do the work."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

import nlgbench
from nlgbench.names import UsageError
from nlgbench.runner.parameters import shown


class _Repairing(click.Group):
    """Turn errors into short messages that say how to fix them; --debug shows tracebacks."""

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
                raise wrong(_what_failed(error)) from None
            raise click.ClickException(
                f"{type(error).__name__}: {error}\nThis is a bug in nlgbench. Please report it "
                "with the traceback that `nlgbench --debug ...` shows."
            ) from None


def _what_failed(error: Exception) -> str:
    """Return an error's message; for one of the system, what failed and what to check."""
    if not isinstance(error, OSError) or error.errno is None or error.filename is None:
        return str(error)
    return (
        f"cannot use {error.filename}: {str(error.strerror).lower()}. Check that its folder "
        "exists, that you may write there, and that the disk is not full."
    )


def _say(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:  # the output pipe was closed, as by `| head`; keep running
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_complain = partial(click.echo, err=True)
_Texts = tuple[str, ...]


class _Folder(click.ParamType):
    """The name of a folder, which need not exist."""

    name = "DIR"

    def convert(self, value: Any, param: object = None, ctx: object = None) -> Path:
        """Check a name."""
        if not value.strip() or not value.isprintable() or value.startswith("~"):
            raise click.BadParameter(
                f"{shown(value)} is empty, is not printable, or begins with ~, which the shell did "
                "not expand: name a folder, such as figures/latest."
            )
        if os.path.lexists(value) and not Path(value).is_dir():
            raise click.BadParameter(f"{shown(value)} is a file: name a folder.")
        return Path(value)


_FOLDER = _Folder()


def _given(ctx: click.Context, param: click.Parameter, texts: _Texts) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{shown(text)} is not NAME=VALUE, as in -p n_neighbors=8.")
        if name in values:
            raise click.BadParameter(f"{name!r} appears twice: omit one.")
        values[name] = value
    return values


_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


#: What the command shows without arguments.
_TASKS = """\
Which of two runs is better    nlgbench compare OLD NEW
Your study: rate its systems   nlgbench new FILE, then check, run 08 and report
Read outputs and judgments     nlgbench explore STUDY
Recompute published numbers    nlgbench run, then ledger
All commands and their help    nlgbench --help"""


@click.group(cls=_Repairing, context_settings=_SETTINGS, invoke_without_command=True)
@click.version_option(nlgbench.__version__, message="%(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(context: click.Context, debug: bool) -> None:
    """Evaluate text generators, and the evaluators that score them."""
    if context.invoked_subcommand is None:
        click.echo(_TASKS)


@main.command(name="list")
def list_() -> None:
    """List notebooks with their parameters, data and claims."""
    from nlgbench.runner import listing

    click.echo(listing.notebooks())


#: Flag of `new` -> our column, and what its column contains.
_COLUMNS = {
    "item": ("item_id", "The input that systems respond to"),
    "system": ("system", "The system that generated the output"),
    "text": ("text", "The text of the output"),
    "context": ("context", "The text that systems respond to, such as an article or prompt"),
    "annotator": ("annotator_id", "The annotator"),
    "annotator-columns": ("annotator_columns", "Columns of judgments or votes, one per annotator"),
    "dimension": ("dimension", "The dimension, if a column or file names it"),
    "value": ("value", "Judgments; several columns become dimensions"),
    "a": ("system_a", "The system shown first, in pairs"),
    "b": ("system_b", "The system shown second, in pairs"),
    "choice": ("choice", "The winner of a pair, or a tie"),
    "evaluator": ("evaluator", "The evaluator or judge, if a column or file names it"),
    "score": ("score", "Scores of automatic evaluators"),
}


def _column_flags(command: Callable) -> Callable:
    """Add a flag for each column that files may have."""
    for name, (our, content) in reversed(_COLUMNS.items()):
        command = click.option(f"--{name}", our, metavar="COLUMN", help=f"{content}.")(command)
    return command


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE... | DIR")
@click.option(
    "--out", type=_FOLDER, help="Folder for study.yml.  [default: the folder of the first file]"
)
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE",
    help="File to read, or quoted pattern; repeatable. The argument is then the study's folder.",
)
@click.option(
    "--as",
    "layout",
    metavar="NAME",
    help="Format of the files, such as mturk or alpaca_eval; docs/own-study.md lists all formats.  "
    "[default: guessed]",
)
@_column_flags
def new(
    paths: _Texts, out: Path | None, sources: _Texts, layout: str | None, **columns: str | None
) -> None:
    """Start a study: describe your files' columns in a study.yml.

    COLUMN is a column of any file, several columns separated by commas, a numbered family
    (rating1..3), a pattern with the varying part in braces (rating_{system}), or a template with
    columns or {file} in braces. If you omit a flag, its column is guessed, and study.yml gives the
    reason. FILE may be a quoted pattern. Your files stay in place, and nothing is overwritten.
    """
    from nlgbench.runner import new_study

    flags = {our: named.split(",") for our, named in columns.items() if named}
    folder, files_named = new_study.place_of(paths, sources, out)
    _FOLDER.convert(str(folder))
    if (layout or flags) and not files_named:
        raise click.UsageError("--as and flags for columns need files: name the files, too.")
    click.echo(new_study.new(folder, files_named, layout, flags))


@main.command()
@click.argument("directory", metavar="DIR", type=_FOLDER)
def check(directory: Path) -> None:
    """List a study's problems and the analyses that it supports.

    DIR is a study's folder, or the name of a public study. If the folder contains a study.py, it is
    run. The exit status is 1 if something must be fixed.
    """
    from nlgbench.runner import check_study

    report, is_right = check_study.check(directory)
    click.echo(report)
    if not is_right:
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def fetch(names: _Texts) -> None:
    """Download released data and verify each file by its hash.

    NAME is a data set (huse) or a file (huse/summary_clean.csv); the default is all data. If
    NLGBENCH_DATA names a folder, nothing is downloaded, and the files in that folder are verified.
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
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...")
@click.option(
    "-p", "values", multiple=True, metavar="NAME=VALUE", callback=_given, help="Set a parameter."
)
@click.option(
    "--source",
    type=click.Choice(["auto", "released", "simulated"]),
    default="auto",
    help="Data to use; auto prefers released data.",
)
@click.option(
    "--effort", type=click.Choice(["quick", "full"]), default="quick", help="full: more precise."
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Notebooks to run at once.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Use Dask workers: local (starts --jobs workers), tcp://HOST:PORT, or a scheduler file.",
)
@click.option("--out", type=_FOLDER, default="figures/latest", help="Folder for results.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, 10_000_000, min_open=True),
    metavar="S",
    help="Time limit for each notebook, in seconds.  [default: none]",
)
@click.option("--force", is_flag=True, help="Also rerun notebooks whose results are current.")
@click.option("--dry-run", is_flag=True, help="List what would run, and why, without running it.")
@click.option(
    "--grid",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="YAML file with lists of parameter values; all combinations are run.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.option("-v", "--verbose", is_flag=True, help="Print the output of cells as they run.")
@click.option("--json", "as_json", is_flag=True, help="Print outcomes as JSON.")
def run(
    notebooks: _Texts,
    values: dict[str, str],
    jobs: int,
    cluster: str | None,
    out: Path,
    dry_run: bool,
    grid: Path | None,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    **handed_over: Any,
) -> None:
    """Run notebooks; save figures, tables and a ledger of claims.

    NOTEBOOK is a notebook's name or number, or the path of your own; the default is all notebooks.
    Unchanged ones are skipped. The exit status is 0, or 1 if a run or a section of its notebook
    failed, or 2 for a usage error.
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other: omit one.")
    if jobs > 1 and cluster not in (None, "local"):
        raise click.UsageError(
            "omit --jobs if you give the address of a cluster, which runs one notebook per thread "
            "of its workers."
        )
    from nlgbench.runner import execute
    from nlgbench.runner import grid as grids

    makers = None
    if cluster is not None:
        from nlgbench.runner.cluster import workers

        makers = partial(workers, cluster, jobs)
    say: Callable[[str], None] = _complain if as_json else _say  # stdout gets only JSON
    try:
        outcomes = execute.run(
            notebooks,
            values,
            out=out,
            jobs=jobs,
            dry_run=dry_run,
            grid=({},) if grid is None else grids.read_grid(grid),
            say=None if quiet else say,
            complain=_complain,
            verbose=verbose,
            makers=makers,
            **handed_over,  # source, effort, timeout, force
        )
    except KeyboardInterrupt:
        _say("Interrupted. Finished results are complete; run the same command to resume.")
        # Kernels end with the command; waiting for their cells could take hours.
        os._exit(130)
    if dry_run:
        return
    failed = [ended.plan.folder for ended in outcomes if ended.status in ("failed", "incomplete")]
    if as_json:
        from nlgbench.runner import listing

        click.echo(listing.outcomes(outcomes, out))
    elif not quiet and any(outcome.status != "failed" for outcome in outcomes):
        _say(f"Results are in {out}: index.csv lists the figures, ledger.csv the claims.")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}")


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--metric", "metrics", multiple=True, metavar="M", help="Metric to compare; repeatable."
)
@click.option(
    "--lower", multiple=True, metavar="M", help="Metric of which lower is better; repeatable."
)
@click.option(
    "--margin",
    type=click.FloatRange(0, min_open=True),
    metavar="X",
    help="The smallest difference that matters; it adds tests that a run is not worse.",
)
@click.option("--by", metavar="COLUMN", help="Also compare within groups of items.")
@click.option(
    "--baseline", metavar="RUN", help="Run with which others are compared.  [default: the first]"
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Format of the report.",
)
@click.option("--out", type=_FOLDER, help="Folder for a table and figures, too.")
def compare(runs: tuple[Path, ...], form: str, out: Path | None, **chosen: Any) -> None:
    """Tell which run is better, by the scores in their files.

    RUN is a log of a harness (Inspect, lm-evaluation-harness, promptfoo), a CSV or JSON Lines file
    with a column `id` and columns of scores, or a folder of logs or of a study. Items are matched
    by their ids. The exit status is 1 if a run is worse than the baseline; 3 if --margin was given
    and a run may be worse; 2 for a usage error; otherwise 0.
    """
    from nlgbench.runner import compare as comparing

    try:
        report = comparing.compare_runs(runs, **chosen)
        saved = "" if out is None else comparing.save_report(report, out)
    except (ValueError, OSError) as error:  # 1 would say that a run is worse
        raise click.UsageError(_what_failed(error)) from None
    _say(getattr(comparing, f"as_{form}")(report))
    if saved:
        _complain(saved)
    raise click.exceptions.Exit(report.exit_code)


@main.command()
@click.argument("study", metavar="STUDY", type=_FOLDER)
@click.option(
    "--n", type=click.IntRange(2), required=True, metavar="N", help="How many outputs to draw."
)
@click.option(
    "--design",
    type=click.Choice(["random", "stratified", "uncertain"]),
    default="random",
    help="uncertain: more often where a judge's score is near .5.",
)
@click.option("--by", metavar="COLUMN", help="Column that defines strata.  [default: system]")
@click.option("--evaluator", metavar="NAME", help="Judge.  [default: the only one with scores]")
@click.option("--seed", type=click.IntRange(0), default=0, metavar="S", help="Seed of the draw.")
@click.option("--out", type=_FOLDER, help="Folder to write.  [default: STUDY-labels]")
def sample(study: Path, n: int, **chosen: Any) -> None:
    """Draw the outputs to be labeled, and say what their labels would buy.

    STUDY is a study's folder, or the name of a public study. DIR becomes a study: labels.csv, the
    sheet to be filled, names no system; outputs.csv has the probabilities and strata of the draw.
    A sheet with labels is never overwritten.
    """
    from nlgbench.runner import label_sheet

    click.echo(label_sheet.draw_sheet(study, n, **chosen))


@main.command()
@click.argument("directory", metavar="DIR", type=_FOLDER)
@click.option(
    "--verdict",
    metavar="V",
    help="Verdict to show: matches, differs, 'same direction', undecided, 'not recomputable', new.",
)
@click.option(
    "--degrees",
    is_flag=True,
    help="Show how close recomputed numbers are to published ones, by paper and table.",
)
def ledger(directory: Path, verdict: str | None, degrees: bool) -> None:
    """Compare published and recomputed numbers of the runs in DIR.

    DIR/ledger.csv has all columns, and also runs with non-default parameters.
    """
    from nlgbench.runner import listing

    if degrees:
        if verdict is not None:
            raise click.UsageError("--degrees covers all verdicts: omit --verdict.")
        click.echo(listing.degrees(directory), nl=False)
        return
    click.echo(listing.ledger(directory, verdict=verdict), nl=False)


@main.command()
@click.argument("directory", metavar="DIR", type=_FOLDER)
def report(directory: Path) -> None:
    """Write a report on the runs in DIR to DIR/report.

    report.html is a self-contained page with rankings of systems and evaluators, the ledger,
    figures, tables, parameters and hashes. Other files contain numbers and tables for LaTeX, and a
    Human Evaluation Datasheet, filled in as far as possible.
    """
    from nlgbench.runner.report import write

    click.echo(write(directory))


@main.command()
@click.argument("study", required=False, metavar="[STUDY]", type=_FOLDER)
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    metavar="P",
    help="Local port.  [default: any free port]",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default="figures/latest",
    metavar="DIR",
    help="Folder of runs; one of notebook 08 is used again.  [default: figures/latest]",
)
def explore(study: Path | None, port: int | None, runs: Path) -> None:
    """Explore a study in your browser, until you press Ctrl-C.

    STUDY is a study's folder, or the name of a public study; the default is a simulated study. The
    command prints one line: the address to open. The address works only on this machine and
    contains a secret token.
    """
    from nlgbench.explorer.serve import serve

    serve(study, port, runs, _say)


@main.command()
@click.argument("directory", metavar="[DIR]", required=False, type=_FOLDER)
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
def clean(directory: Path | None, dry_run: bool) -> None:
    """Remove cached scores and temporary files of killed commands.

    DIR is the folder passed as --out (default: figures/latest). Results and released data are kept.
    """
    from nlgbench.runner import listing, runs

    if directory is not None and not directory.is_dir():
        raise UsageError(f"there is no folder {directory}: name a folder passed as --out.")
    table = runs.clean(directory or Path("figures/latest"), dry_run=dry_run)
    click.echo(listing.plain(table) if len(table) else "nothing to remove")
