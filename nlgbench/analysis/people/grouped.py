"""Compare systems within groups of items, such as categories, and test whether groups differ."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import t as student
from statsmodels.stats.oneway import anova_generic

from nlgbench.analysis.correlation.pooling import random_effects
from nlgbench.analysis.people.binary import COUNTS
from nlgbench.clustering import FEWEST, few_clusters
from nlgbench.inference import adjust
from nlgbench.status import Unsupported, explain, first_status, split_status

_PAIR = ["dimension", "system", "opponent"]
COLUMNS = (
    *("dimension", "group", "system", "opponent", "estimate", "ci_low", "ci_high", "se", "df"),
    *("covers", "confidence", "n_items", "shrunk", "shrunk_low", "shrunk_high", "p", "p_adjusted"),
    *("p_equivalent", "p_not_inferior"),
    *("p_interaction", "verdict", "status", "reason"),
)
#: From this many groups on, their differences are shrunk towards their mean.
_FEWEST_SHRUNK = 3


def compare_within(
    frame: pd.DataFrame, group_of: pd.Series[str], compare: Callable[[pd.DataFrame], pd.DataFrame]
) -> pd.DataFrame:
    """Compare the systems of a dimension's judgments within each group of items.

    A group with few items has no interval and no test.
    """
    first, second = zip(*combinations(frame["system"].unique(), 2), strict=True)
    # Both directions of a pair are neighbors, as the adjustment of p assumes.
    ends = pd.DataFrame({"system": first, "opponent": second})
    mirrored = ends.set_axis(["opponent", "system"], axis=1)
    ends = pd.concat([ends, mirrored]).sort_index(kind="stable")
    ends = ends.assign(dimension=frame["dimension"].iloc[0])
    tables = []
    for group, rows in frame.groupby(frame["item_id"].map(group_of), sort=False):
        try:
            pairs = compare(rows.reset_index(drop=True))
        except Unsupported:
            pairs = pd.DataFrame(columns=[*COLUMNS])
        table = ends.merge(pairs[pairs.columns.difference(["dimension"])], how="left")
        n_items = rows.groupby("system")["item_id"].nunique()
        counts = pd.DataFrame({end: table[end].map(n_items) for end in ("system", "opponent")})
        tables.append(table.assign(group=group, n_items=counts.fillna(0).min(axis=1).astype(int)))
    table = pd.concat(tables, ignore_index=True)
    few = table["n_items"] < FEWEST
    table.loc[few, ["ci_low", "ci_high", "se", "df", "p"]] = np.nan
    status = first_status(
        len(table),
        (table["estimate"].isna(), explain("not_in_group")),
        (few, [few_clusters(n, "items") for n in table["n_items"]]),
        (True, table["status"]),
    )
    return split_status(table.assign(status=status))


def compare_groups(table: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Add shrunken differences, and a test by pair of whether they are the same in all groups."""
    table[["shrunk", "shrunk_low", "shrunk_high", "p_interaction"]] = np.nan
    tests: dict[tuple[str, frozenset[str]], float] = {}
    for names, groups in table.groupby(_PAIR, sort=False):
        dimension, *pair = map(str, names)
        rows = groups[groups["se"] > 0]
        estimate, variance = rows["estimate"].to_numpy(), rows["se"].to_numpy() ** 2
        if len(rows) >= _FEWEST_SHRUNK:
            pooled = random_effects(estimate, variance, confidence)
            weight = pooled.tau2 / (pooled.tau2 + variance)
            shrunk = pooled.mean + weight * (estimate - pooled.mean)
            se = np.sqrt(weight * variance + (1 - weight) ** 2 * pooled.se**2)
            half = student.ppf(0.5 + confidence / 2, len(rows) - 1) * se
            ends = np.column_stack([shrunk, shrunk - half, shrunk + half])
            table.loc[rows.index, ["shrunk", "shrunk_low", "shrunk_high"]] = ends
        p = np.nan
        if len(rows) > 1:
            n = rows["df"].to_numpy() + 1
            p = anova_generic(estimate, variance * n, n, use_var="unequal").pvalue
        tests[dimension, frozenset(pair)] = float(p)  # both directions have the same
    adjusted = dict(zip(tests, adjust([*tests.values()]), strict=True))
    keys = [(name, frozenset(pair)) for name, *pair in table[_PAIR].to_numpy()]
    p_interaction = [adjusted[key] for key in keys]
    table = table.assign(p_interaction=p_interaction, confidence=confidence)
    return table[[*COLUMNS, *(name for name in COUNTS if name in table)]]
