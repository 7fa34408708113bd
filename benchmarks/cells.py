"""What the coverage programs share: cells of simulated studies, how many of each, and a verdict."""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed


def lowest(share: float, worlds: int) -> float:
    """Give what a share of so many worlds may fall to by chance: three standard errors."""
    return share - 3 * float(np.sqrt(share * (1 - share) / worlds))


def highest(share: float, worlds: int) -> float:
    """Give what a share of so many worlds may rise to by chance."""
    return share + 3 * float(np.sqrt(share * (1 - share) / worlds))


def timed(measure: Callable, cell: Any, worlds: int, seed: int) -> tuple[pd.DataFrame, float]:
    """Measure a cell; give its table and the seconds of its processor."""
    start = time.process_time()
    return measure(cell, worlds, seed), time.process_time() - start


def count(
    about: str | None,
    cells: Mapping[str, Any],
    measure: Callable[[Any, int, int], pd.DataFrame],
    beyond: Callable[[pd.DataFrame, int], pd.Series],
    *,
    worlds: int,
    full: int,
) -> int:
    """Measure cells by name, print each, and return 1 where a row is beyond its limit.

    `worlds` is how many of each cell take five minutes, `full` what a changed method needs.
    `measure` takes a cell, the number of its worlds and a seed; `beyond` says which rows of its
    table, of so many worlds, are worse than chance explains.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, help=f"of each cell: {worlds}")
    parser.add_argument("--full", action="store_true", help=f"{full} of each cell")
    parser.add_argument("--only", nargs="*", default=[""], help="how names of cells begin")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    n = asked.worlds or (full if asked.full else worlds)
    names = [name for name in cells if name.startswith(tuple(asked.only))]
    jobs = (delayed(timed)(measure, cells[name], n, asked.seed) for name in names)
    bad = 0
    made = Parallel(n_jobs=asked.jobs, return_as="generator")(jobs)
    for name, (table, seconds) in zip(names, made, strict=True):
        wrong = beyond(table, n)
        bad += int(wrong.sum())
        print(f"{name}: {n} worlds, {seconds:.0f} s")
        print(
            table.round(3).assign(beyond=wrong.map({True: "x", False: ""})).to_string(index=False)
        )
    print(f"{bad} rows are beyond their limits by more than three standard errors")
    return int(bad > 0)
