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
    """Read sets of parameters from YAML: a mapping of names to lists, or a list of such mappings.

    A list stands for each of its values; what stands in one mapping is combined with everything
    else in it. A parameter that is itself a list is written as a list of lists.
    """
    import yaml  # type: ignore[import-untyped]

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = [key.value for key, _ in node.value]
            if twice := [name for name in names if names.count(name) > 1]:
                raise ParameterError(
                    f"{path}, line {node.start_mark.line + 1}: {twice[0]!r} is there twice: give "
                    "its values in one list."
                )
            return super().construct_mapping(node, deep=deep)

    try:
        written = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    except OSError as error:
        raise ParameterError(f"{path} cannot be read ({error.strerror}): name the grid.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ParameterError(f"{path}{line} is no YAML: {error}".splitlines()[0]) from None
    blocks = written if isinstance(written, list) else [written]
    sets = []
    for number, block in enumerate(blocks, 1):
        if not isinstance(block, dict) or not block:
            raise ParameterError(
                f"{path}: block {number} is {block!r}, not names with values: write "
                "`n_neighbors: [8, 16]`, or a list of such blocks."
            )
        if empty := [name for name, values in block.items() if values == []]:
            raise ParameterError(f"{path}: {empty[0]!r} has no value: give one, or leave it out.")
        lists = [values if isinstance(values, list) else [values] for values in block.values()]
        sets += [dict(zip(map(str, block), chosen, strict=True)) for chosen in product(*lists)]
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

    notebook, run, quantity (the claim or result), row and column (the last two parts of its name),
    variant, estimate, ci_low, ci_high, source, and param_NAME for every parameter.
    """
    import pandas as pd

    from nlgbench.study import schema

    parts = []
    found = runs.finished(out)
    names = [manifest["notebook"] for _, manifest in found]
    if len(set(names)) == len(names):  # no ledger is read where there is no grid
        return
    for folder, manifest in found:
        if not (folder / "ledger.csv").is_file():
            continue
        rows = schema.read(folder / "ledger.csv", "ledger")
        rows = rows[rows["recomputed"].notna()].rename(columns=_VALUES)
        steps = rows["claim_id"].str.rsplit("/", n=2, expand=True).reindex(columns=range(3))
        about = {
            "notebook": manifest["notebook"],
            "run": runs.run_of(folder),
            "quantity": rows["claim_id"],
            "row": steps[1],
            "column": steps[2].fillna(steps[1]),
        }
        parameters = manifest.get("parameters", {})
        kept = rows[["variant", *_VALUES.values(), "source"]]
        kept = kept.assign(**{f"param_{name}": str(value) for name, value in parameters.items()})
        parts.append(pd.concat([pd.DataFrame(about, index=rows.index), kept], axis=1))
    if not parts:
        return
    whole = pd.concat(parts, ignore_index=True)
    if whole.groupby("notebook")["run"].nunique().max() > 1:
        made = whole.to_csv(index=False, lineterminator="\n")
        files.replace_bytes(out / SWEEP, made.encode())


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
