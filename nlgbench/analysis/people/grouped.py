"""Compare systems within groups of items, such as categories, and test whether groups differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from statsmodels.stats.oneway import anova_generic

from nlgbench.analysis.correlation.pooling import random_effects
from nlgbench.analysis.people.binary import COUNTS
from nlgbench.clustering import FEWEST
from nlgbench.inference import adjust
from nlgbench.names import known
from nlgbench.status import Unsupported, explain
from nlgbench.study import Study
from nlgbench.study.study import part_of

_PAIR = ["dimension", "system", "opponent"]
COLUMNS = (
    *("dimension", "group", "system", "opponent", "estimate", "ci_low", "ci_high", "se", "df"),
    *("covers", "n_items", "shrunk", "p", "p_adjusted", "p_equivalent", "p_not_inferior"),
    *("p_interaction", "verdict", "status", "reason"),
)
#: From this many groups on, their differences are shrunk towards their mean.
_FEWEST_SHRUNK = 3


def compare_within(
    study: Study, by: str, compare: Callable[[Study], pd.DataFrame], overall: pd.DataFrame
) -> pd.DataFrame:
    """Compare the pairs of systems in `overall` within each group of items.

    A group with few items has no interval and no test.
    """
    group_of = group_items(study, by)
    tables = []
    for group in dict.fromkeys(group_of[group_of != ""]):
        part = part_of(study, (group_of == group).to_numpy())
        try:
            pairs = compare(part)
        except Unsupported:
            pairs = overall.iloc[:0]
        rows = overall[_PAIR].merge(pairs, on=_PAIR, how="left")
        items = part.outputs.groupby("system")["item_id"].agg(frozenset).to_dict()
        ends = rows[["system", "opponent"]].to_numpy()
        n_items = [len(items.get(a, frozenset()) & items.get(b, frozenset())) for a, b in ends]
        tables.append(rows.assign(group=group, n_items=n_items))
    table = pd.concat(tables, ignore_index=True)
    few = table["n_items"] < FEWEST
    table.loc[few, ["ci_low", "ci_high", "se", "df", "p"]] = np.nan
    for n in table["n_items"][few].unique():
        status = explain("few_items", n=f"{n} items", least=FEWEST)
        table.loc[few & (table["n_items"] == n), ["status", "reason"]] = status.code, status.reason
    missing = explain("not_in_group")
    absent = table["estimate"].isna()
    table.loc[absent, ["status", "reason"]] = missing.code, missing.reason
    # Both directions of a pair are neighbors, as the adjustment of p assumes.
    ends = np.sort(table[["system", "opponent"]].to_numpy(dtype=str), axis=1)
    return table.iloc[np.lexsort([ends[:, 1], ends[:, 0]])].reset_index(drop=True)


def group_items(study: Study, by: str) -> pd.Series[str]:
    """Return the group of each output; all outputs of an item must have the same."""
    usual = {"output_id", "item_id", "system", "text", "context", "is_human"}
    known(by, [str(name) for name in study.outputs if name not in usual], "by")
    groups = study.outputs[by].fillna("").astype(str)
    several = groups.groupby(study.outputs["item_id"]).transform("nunique") > 1
    if several.any():
        item = study.outputs["item_id"][several].iloc[0]
        values = ", ".join(map(repr, groups[study.outputs["item_id"] == item].unique()[:3]))
        raise ValueError(
            f"by={by!r} must be constant within an item, but outputs of item {item!r} have "
            f"{values}: correct the column, or choose one that describes items."
        )
    return groups


def compare_groups(table: pd.DataFrame) -> pd.DataFrame:
    """Add shrunken differences, and a test by pair of whether they are the same in all groups."""
    table = table.assign(shrunk=np.nan, p_interaction=np.nan)
    first = table["system"] < table["opponent"]
    tested = []
    for rows in _by_pair(table):
        estimate, variance = table["estimate"][rows].to_numpy(), table["se"][rows].to_numpy() ** 2
        if len(rows) >= _FEWEST_SHRUNK:
            pooled = random_effects(estimate, variance, 0.95)
            weight = pooled.tau2 / (pooled.tau2 + variance)
            table.loc[rows, "shrunk"] = pooled.mean + weight * (estimate - pooled.mean)
        if len(rows) > 1:
            n = table["df"][rows].to_numpy() + 1
            p = float(anova_generic(estimate, variance * n, n, use_var="unequal").pvalue)
            table.loc[rows, "p_interaction"] = p
            tested.append(rows[0])
    one_of_each = [row for row in tested if first[row]]
    adjusted = dict(
        zip(
            map(frozenset, table.loc[one_of_each, _PAIR].to_numpy()),
            adjust(table["p_interaction"][one_of_each]),
            strict=True,
        )
    )
    keys = map(frozenset, table[_PAIR].to_numpy())
    table = table.assign(p_interaction=[adjusted.get(key, np.nan) for key in keys])
    return table[[*COLUMNS, *(name for name in COUNTS if name in table)]]


def _by_pair(table: pd.DataFrame) -> Iterator[list[int]]:
    """Yield the rows of each pair, in one direction, in the groups that have an interval."""
    defined = table[table["se"] > 0]
    yield from (rows.index.tolist() for _, rows in defined.groupby(_PAIR, sort=False))
