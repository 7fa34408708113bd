"""Grids: sets of parameters, with one run for each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from nlgbench.runner.parameters import Parameter, ParameterError, resolve


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
    declared: Mapping[str, Parameter], values: Mapping[str, Any], *, where: str
) -> list[dict[str, Any]]:
    """Split values at commas where the whole text does not fit; return all combinations."""
    lists = []
    for name, value in values.items():
        choices = [value]
        if isinstance(value, str) and "," in value and name in declared:
            try:
                resolve(declared, {name: value}, where=where)
            except ParameterError:
                choices = [text.strip() for text in value.split(",")]
        lists.append(choices)
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*lists)]
