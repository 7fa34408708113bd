"""What each tidy table holds: columns, kinds, keys and rules. `tables` applies them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import pandera.pandas as pa

PAPERS = ("huse", "comm-eval", "judge-the-judges", "learning-to-compare")
VERDICTS = ("matches", "differs", "same direction", "undecided", "not recomputable", "new")
SOURCES = ("published", "released", "simulated", "study")

# A star marks a key; a column is an id, a text that is not empty, unless its kind is named.
_DECLARED = {
    "outputs": "dataset* output_id* item_id system text:text is_human:bool context:text",
    "logprobs": "dataset* output_id* model* logprob:float n_tokens:int",
    "references": "dataset* item_id* reference_id* text:text",
    "judgments": "dataset* output_id* annotator_id* dimension* value:float group_id*:text",
    "preferences": "dataset* output_a* output_b* annotator_id* dimension* group_id*:text choice",
    "contexts": "dataset* item_id* state* is_target:bool",
    "scores": "dataset* output_id* evaluator* score:float signature:text",
    "system_scores": "dataset* system* evaluator* score:float signature:text",
    "comparisons": "dataset* item_id* output_a* output_b* comparator* "
    "prob_a:float prob_tie:float prob_b:float",
    "ratings": "dataset* comparator* system* "
    "rating:float deviation:float volatility:float n_games:int",
    "claims": "claim_id* paper where quantity unit "
    "published:float tolerance:float notebook unavailable:text",
    "ledger": "claim_id* variant*:text published:float recomputed:float ci_low:float ci_high:float "
    "tolerance:float verdict reason:text source",
}
KEYS: dict[str, list[str]] = {}
COLUMNS: dict[str, dict[str, str]] = {}
for _name, _line in _DECLARED.items():
    _parts = [part.partition(":") for part in _line.split()]
    KEYS[_name] = [part[0].rstrip("*") for part in _parts if part[0].endswith("*")]
    COLUMNS[_name] = {part[0].rstrip("*"): part[2] or "id" for part in _parts}

# Where a number may be NaN because it is undefined, or was not computed.
_UNDEFINED = {
    "scores": {"score"},
    "system_scores": {"score"},
    "ratings": {"rating", "deviation", "volatility"},
    "ledger": {"published", "recomputed", "ci_low", "ci_high", "tolerance"},
}


@cache
def schema(table: str) -> pa.DataFrameSchema:
    """Build the rules that one cell can break.

    Parameters
    ----------
    table : str
        Name of the table.

    Returns
    -------
    pandera.DataFrameSchema
        Checks for each column; the error of each is the rule and the way out.

    Examples
    --------
    >>> list(schema("references").columns)
    ['dataset', 'item_id', 'reference_id', 'text']
    """
    import pandera.pandas as pa

    part = "[a-z0-9._-]+"
    papers = "|".join(PAPERS)
    not_negative = pa.Check.ge(0.0, error="must not be negative: check the sign")
    probability = pa.Check.in_range(
        0.0, 1.0, error="must be a probability between 0 and 1: divide percentages by 100"
    )
    finite = pa.Check(np.isfinite, error="must be finite: leave the row out where it is missing")

    def one_of(choices: tuple[str, ...]) -> pa.Check:
        return pa.Check.isin(choices, error=f"must be one of {', '.join(choices)}")

    rules: dict[str, dict[str, list[pa.Check]]] = {
        "logprobs": {
            "logprob": [
                pa.Check.le(
                    0.0,
                    error="must be a log-probability in nats, so at most 0 (-inf is allowed): "
                    "check sign and unit",
                )
            ],
            "n_tokens": [pa.Check.ge(1, error="must be at least 1: drop empty texts")],
        },
        "judgments": {"value": [finite]},
        "preferences": {"choice": [one_of(("a", "b", "tie"))]},
        "comparisons": {name: [probability] for name in ("prob_a", "prob_tie", "prob_b")},
        "ratings": {
            "rating": [finite],
            "deviation": [finite, not_negative],
            "volatility": [finite, not_negative],
            "n_games": [not_negative],
        },
        "claims": {
            "claim_id": [
                pa.Check.str_matches(
                    rf"^(?:{papers})/(?:direction/{part}|{part}/{part}/{part})\Z",
                    error="must read paper/where/row/column or paper/direction/slug, in lower "
                    f"case (a-z 0-9 . _ -), paper one of {papers.replace('|', ', ')}",
                )
            ],
            "paper": [one_of(PAPERS)],
            "published": [finite],
            "tolerance": [finite, not_negative],
        },
        "ledger": {
            "claim_id": [
                pa.Check.str_matches(
                    rf"^{part}(?:/{part})+\Z",
                    error="must read paper/where/row/column or simulated/..., in lower case",
                )
            ],
            "tolerance": [not_negative],
            "verdict": [one_of(VERDICTS)],
            "source": [one_of(SOURCES)],
        },
    }
    not_empty = pa.Check(lambda ids: ids != "", error="must not be empty: fill it in every row")
    declared = {}
    for name, kind in COLUMNS[table].items():
        checks = [not_empty] if kind == "id" else []
        checks += rules.get(table, {}).get(name, [])
        nullable = name in _UNDEFINED.get(table, ())
        declared[name] = pa.Column(None, checks=checks, nullable=nullable)
    return pa.DataFrameSchema(declared)


def broken_rows(frame: pd.DataFrame, table: str) -> tuple[str, np.ndarray, str] | None:
    """Check the rule of a table that takes several cells to break.

    Parameters
    ----------
    frame : DataFrame
        A table with exact types, whose cells keep `schema`.
    table : str
        Its name.

    Returns
    -------
    tuple of (str, ndarray of bool, str) or None
        The column to show, which rows break the rule, and the rule with the way out; None for
        tables without such a rule.

    Examples
    --------
    >>> frame = pd.DataFrame({"prob_a": [0.5, 0.5], "prob_tie": [0.0, 0.5], "prob_b": [0.5, 0.5]})
    >>> broken_rows(frame, "comparisons")[1].tolist()
    [False, True]
    """
    if table == "comparisons":
        total = frame["prob_a"] + frame["prob_tie"] + frame["prob_b"]
        rule = "must give 1 together with prob_tie and prob_b: normalize the three"
        return "prob_a", np.asarray((total - 1).abs() > 1e-6), rule
    if table == "contexts":
        n_targets = frame.groupby(["dataset", "item_id"])["is_target"].transform("sum")
        rule = "must be true for exactly one state of each item: mark one target"
        return "is_target", np.asarray(n_targets != 1), rule
    if table == "claims":
        other = frame["claim_id"].str.split("/").str[0] != frame["paper"]
        rule = "must be the paper that claim_id begins with: correct one of the two"
        return "paper", np.asarray(other), rule
    return None
