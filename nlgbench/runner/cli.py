"""The command line: parses and hands over, nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

import nlgbench


class _Repairing(click.Group):
    """Turn the errors that name a way out into one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            raise click.ClickException(str(error)) from None


def _say(text: str) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:  # `| head` went away; the notebooks go on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Repairing, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Say which text generator is better, and which evaluator to believe."""


@main.command(name="list")
def list_() -> None:
    """List the notebooks with their parameters, data and claims."""
    from nlgbench.runner import listing

    click.echo(listing.notebooks())


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def fetch(names: tuple[str, ...]) -> None:
    """Get released data into the cache, each file checked by its hash.

    NAME is a data set (huse) or a file (huse/summary_clean.csv); all without a name. Where
    NLGBENCH_DATA is set, nothing is written: what is there is checked.
    """
    from nlgbench.datasets import cache
    from nlgbench.runner import listing

    click.echo(listing.plain(cache.fetch(names)))
    click.echo(f"in {cache.cache_dir()}")


@main.command()
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...")
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Set a parameter.")
@click.option(
    "--source",
    type=click.Choice(["auto", "released", "simulated"]),
    default="auto",
    show_default=True,
    help="auto: released data where they can be had.",
)
@click.option(
    "--effort",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="full: paper-grade.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Notebooks at once.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("figures/latest"),
    show_default=True,
    help="Where results go.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
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
def run(
    notebooks: tuple[str, ...],
    parameters: tuple[str, ...],
    source: str,
    effort: str,
    jobs: int,
    out: Path,
    timeout: float | None,
    force: bool,
    dry_run: bool,
    grid: Path | None,
    retry_failed: bool,
) -> None:
    """Run notebooks headlessly: figures, tables and a ledger of claims.

    NOTEBOOK is a name, its number, or a path to one of your own; all without a name.
    """
    from nlgbench.runner import execute
    from nlgbench.runner import grid as grids

    given = {}
    for text in parameters:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, as in -p n_neighbors=8.")
        if name in given:
            raise click.BadParameter(f"{name!r} is given twice: once is enough.")
        given[name] = value
    try:
        outcomes = execute.run(
            notebooks,
            given,
            out=out,
            source=source,  # type: ignore[arg-type]
            effort=effort,
            jobs=jobs,
            timeout=timeout,
            force=force,
            dry_run=dry_run,
            grid=({},) if grid is None else grids.read_grid(grid),
            retry_failed=retry_failed,
            say=_say,
        )
    except KeyboardInterrupt:
        _say("Interrupted: finished results are whole; run the same command to go on.")
        # Kernels end when their command does; waiting for their cells could take hours.
        os._exit(130)
    if dry_run:
        return
    failed = [outcome.plan.place for outcome in outcomes if outcome.status == "failed"]
    click.echo(f"results are in {out}: index.csv lists the figures, ledger.csv the claims")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(outcomes)} failed: {', '.join(failed)}")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--verdict",
    metavar="V",
    help="Only these rows: matches, differs, 'same direction', undecided, 'not recomputable', new.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "latex"]),
    default="table",
    show_default=True,
)
@click.option("--all-runs", is_flag=True, help="Also runs with other parameters than the defaults.")
def ledger(directory: Path, verdict: str | None, form: str, all_runs: bool) -> None:
    """Show the ledger of the runs in DIR: printed and recomputed values side by side."""
    from nlgbench.runner import listing

    click.echo(listing.ledger(directory, verdict=verdict, form=form, all_runs=all_runs), nl=False)


@main.command(name="plot-sweep")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--x", required=True, metavar="NAME", help="A parameter.")
@click.option("--y", required=True, metavar="NAME", help="A recorded quantity.")
@click.option("--hue", metavar="NAME", help="What lines are drawn for: row, or a parameter.")
def plot_sweep(directory: Path, x: str, y: str, hue: str | None) -> None:
    """Draw what the runs in DIR found against a parameter, as PDF, PNG, CSV and words."""
    from nlgbench.plots.sweep import plot_sweep as draw
    from nlgbench.runner.grid import read_sweep

    path = directory / "-".join(["sweep", x, y.replace("/", "-"), *([hue] if hue else [])])
    draw(read_sweep(directory), x, y, hue=hue).save(path)
    click.echo(f"{path}.pdf")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="[DIR]", required=False)
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
def clean(directory: Path | None, dry_run: bool) -> None:
    """Remove what killed commands left in DIR, and scores kept from earlier runs.

    DIR is the folder given as --out, figures/latest if left out. Results and released data stay.
    """
    from nlgbench.runner import listing, runs

    left = runs.clean(directory or Path("figures/latest"), dry_run=dry_run)
    click.echo(listing.plain(left) if len(left) else "nothing to remove")


@main.command()
def cache() -> None:
    """Say where released data and kept scores are, and how much there is."""
    from nlgbench.runner import listing

    click.echo(listing.plain(listing.cached()))


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(nlgbench.__version__)
