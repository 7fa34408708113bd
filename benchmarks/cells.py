"""Shared by the coverage programs: cells of simulated studies, their numbers, and a verdict."""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed


def lowest(share: float, worlds: int) -> float:
    """Return the lowest share that chance explains in a number of worlds: three standard errors."""
    return share - 3 * float(np.sqrt(share * (1 - share) / worlds))


def highest(share: float, worlds: int) -> float:
    """Return the highest share that chance explains in a number of worlds."""
    return share + 3 * float(np.sqrt(share * (1 - share) / worlds))


def timed(measure: Callable, cell: Any, worlds: int, seed: int) -> tuple[pd.DataFrame, float]:
    """Measure a cell; return its table and the seconds of processor time."""
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
    """Measure cells by name, print each, and return 1 if a row exceeds its limit.

    `worlds` is the number per cell that takes five minutes, `full` the number to use after a method
    changed. `measure` takes a cell, the number of worlds and a seed; `beyond` marks rows of a table
    that are worse than chance explains.
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, help=f"worlds per cell; default: {worlds}")
    parser.add_argument("--full", action="store_true", help=f"use {full} worlds per cell")
    parser.add_argument("--only", nargs="*", default=[""], help="first letters of cells to run")
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
    print(f"{bad} rows exceed their limits by more than three standard errors")
    return int(bad > 0)
