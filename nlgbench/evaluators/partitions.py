"""Scores of more texts than memory holds: a Dask DataFrame, one partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from nlgbench.study import Study

_COLUMNS = {"output_id": str, "evaluator": str, "score": float, "signature": str}


@runtime_checkable
class Partitioned(Protocol):
    """What is worked on in partitions: a Dask DataFrame."""

    def map_partitions(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function on each partition."""


def score_partitions(
    score: Callable[..., Study],
    outputs: Partitioned,
    evaluators: Sequence[Any],
    references: pd.DataFrame | None,
    options: Mapping[str, Mapping[str, Any]],
) -> Any:
    """Score each partition of outputs as a study of its own; nothing runs before it is asked."""
    empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _COLUMNS.items()})
    return outputs.map_partitions(
        _scores, score, list(evaluators), references, dict(options), empty, meta=empty
    )


def _scores(
    rows: pd.DataFrame,
    score: Callable[..., Study],
    evaluators: Sequence[Any],
    references: pd.DataFrame | None,
    options: Mapping[str, Mapping[str, Any]],
    empty: pd.DataFrame,
) -> pd.DataFrame:
    if rows.empty:
        return empty
    if references is not None:
        references = references[references["item_id"].isin(rows["item_id"])]
    study = Study(rows.reset_index(drop=True), references=references)
    found = score(study, evaluators, options=options).scores
    assert found is not None
    return found[list(_COLUMNS)]
