"""Grids: many runs that differ in their parameters, and what they found in one table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgbench import files
from nlgbench.runner import runs
from nlgbench.runner.parameters import Parameter, ParameterError, resolve

if TYPE_CHECKING:
    import pandas as pd

#: The gathered table, one row per recorded value of each run.
SWEEP = "sweep.csv"
_VALUES = {"recomputed": "estimate", "ci_low": "ci_low", "ci_high": "ci_high"}


def read_grid(path: Path) -> list[dict[str, Any]]:
    """Read sets of parameters from YAML: names with lists of values, or a list of such blocks."""
    from nlgbench.study.reading import load_yaml

    try:
        written = load_yaml(path)
    except (OSError, ValueError) as error:
        raise ParameterError(str(error)) from None
    sets = []
    for number, block in enumerate(written if isinstance(written, list) else [written], 1):
        if not isinstance(block, dict) or not block or [] in block.values():
            raise ParameterError(
                f"{path}: block {number} is {block!r}, not names with values: write "
                "`n_neighbors: [8, 16]`, or a list of such blocks."
            )
        lists = [values if isinstance(values, list) else [values] for values in block.values()]
        sets += [dict(zip(block, chosen, strict=True)) for chosen in product(*lists)]
    return sets


def spread(
    parameters: Mapping[str, Parameter], given: Mapping[str, Any], *, where: str
) -> list[dict[str, Any]]:
    """Take a text that does not fit a parameter, but whose parts between commas do, for these."""
    lists = []
    for name, value in given.items():
        values = [value]
        if isinstance(value, str) and "," in value and name in parameters:
            try:
                resolve(parameters, {name: value}, where=where)
            except ParameterError:
                values = [part.strip() for part in value.split(",")]
        lists.append(values)
    return [dict(zip(given, chosen, strict=True)) for chosen in product(*lists)]


def gather(out: Path) -> None:
    """Collect the recorded values of all runs with their parameters, where a notebook has several.

    Row and column are the last two parts of a quantity's name.
    """
    import pandas as pd

    from nlgbench.study import schema

    found = [one for one in runs.finished(out) if (one[0] / "ledger.csv").is_file()]
    names = [manifest["notebook"] for _, manifest in found]
    if len(set(names)) == len(names):
        return
    parts = []
    for folder, manifest in found:
        rows = schema.read(folder / "ledger.csv", "ledger").rename(columns=_VALUES)
        rows = rows[rows["estimate"].notna()]
        steps = rows["claim_id"].str.rsplit("/", n=2, expand=True).reindex(columns=range(3))
        about = {
            "notebook": manifest["notebook"],
            "run": runs.run_of(folder),
            "quantity": rows["claim_id"],
            "row": steps[1],
            "column": steps[2].fillna(steps[1]),
        }
        of_run = {f"param_{name}": str(one) for name, one in manifest["parameters"].items()}
        kept = rows[["variant", *_VALUES.values(), "source"]].assign(**of_run)
        parts.append(pd.concat([pd.DataFrame(about, index=rows.index), kept], axis=1))
    whole = pd.concat(parts, ignore_index=True).to_csv(index=False, lineterminator="\n")
    files.replace_bytes(out / SWEEP, whole.encode())


def read_sweep(out: Path) -> pd.DataFrame:
    """Read what the runs in a folder found."""
    import pandas as pd

    path = out / SWEEP
    if not path.is_file():
        raise FileNotFoundError(
            f"{out} holds no {SWEEP}: run a notebook with several values of a parameter first, as "
            "with `nlgbench run 01 -p n_neighbors=8,16,32`."
        )
    return pd.read_csv(path, keep_default_na=False, na_values=dict.fromkeys(_VALUES.values(), ""))
