"""Early stopping by e-values, which remain valid if checked after each block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis import betting
from nlgbench.analysis.people.scores import scores_as_judgments
from nlgbench.analysis.ratings.games import as_arrays, games_of_one
from nlgbench.clustering import OTHER_ITEMS
from nlgbench.reported import Reported
from nlgbench.status import OK, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

Block = Literal["annotator", "item"]
_OTHER: dict[Block, Block] = {"annotator": "item", "item": "annotator"}


@dataclass(frozen=True, eq=False, repr=False)
class Sequential(Reported):
    """Which pairs of systems are distinguished, and after which block: see `sequential`.

    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaaaaaaab"]})
    >>> found = sequential(table.assign(annotator_id=range(10)), block="annotator")
    >>> isinstance(found, Sequential), len(found.path)
    (True, 10)
    """

    stops: pd.DataFrame
    details: pd.DataFrame
    path: pd.DataFrame
    confidence: float


@checked
def sequential(
    study: Study | pd.DataFrame,
    *,
    block: Block,
    dimension: str | None = None,
    evaluator: str | None = None,
    confidence: float = 0.95,
) -> Sequential:
    """Compare systems by e-values, with results that you may check after each block.

    Parameters
    ----------
    study : Study or DataFrame
        A study: its preferences are used if present, else judgments on a declared scale, else
        comparisons by one comparator. Or a table with a row per vote, as in `nlgbench.rate`.
    block : {"annotator", "item"}
        The unit that you add one by one: all judgments of one annotator, or of one item, form one
        value. Blocks are in the order of their first rows in the table, which must not depend on
        results.
    dimension : str, optional
        A dimension of the judgments or preferences. Default: quality, or the only one.
    evaluator : str, optional
        An evaluator whose scores, 0/1 or on a declared scale, are used instead; blocks are items.
    confidence : float
        1 - confidence is the level of all tests together.

    Returns
    -------
    Sequential
        ``stops``, a row per pair of systems: system, opponent, estimate (mean over blocks of P(win)
        - P(loss), or of the difference in points; above 0, the system is better), ci_low, ci_high
        (a confidence sequence, simultaneous over time but not over pairs), covers (what tests and
        intervals generalize to), p_adjusted (1 over the largest e-value, adjusted over all pairs by
        e-Holm; at most 1), verdict (``better``, ``worse``, ``undecided``), stopped_at (the block,
        from 1, after which the verdict was reached; NaN while undecided), stopped_estimate,
        stopped_low, stopped_high (the same after that block), status, reason.

        ``details``: system, opponent, n_blocks (with both systems), e_value (after the last block),
        p (1 over the largest e-value, not adjusted).

        ``path``, a row per pair of systems and block: system, opponent, block, name (of the
        annotator or item), n_blocks, log_e, log_e_adjusted, estimate, lower, upper (so far).

    Raises
    ------
    ValueError
        When data or the names of blocks are missing, when blocks are items but the outputs of a
        vote are for two items, when there are several comparators, or when ``settings["scales"]``
        does not declare the scale of the judgments or scores.

    Notes
    -----
    For two systems, a block has one value in [-1, 1]: its mean vote (win 1, tie 0, loss -1), or the
    difference between their mean judgments, divided by the range of the scale. Under the null
    hypothesis (mean 0, given all earlier blocks), the probability that an e-value ever reaches
    1 / alpha is at most alpha (Ville's inequality). docs/stopping-early.md has the formulas.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("votes", systems={"x": 1.5, "y": 0.0}, n_pairs=1, seed=0)
    >>> found = sequential(study, block="item")
    >>> found.stops[["system", "opponent", "verdict", "stopped_at"]].values.tolist()
    [['x', 'y', 'better', 12.0]]
    """
    if evaluator is not None:
        if not isinstance(study, Study) or dimension is not None or block != "item":
            raise ValueError(
                f"evaluator={evaluator!r} compares a study's scores item by item. Got "
                f"block={block!r}, dimension={dimension!r}: use block='item' without dimension."
            )
        study, dimension = scores_as_judgments(study, evaluator)[0], evaluator
    values, unit, covers = _read(study, block, dimension)
    covers = covers if evaluator is None else OTHER_ITEMS
    d = values.to_numpy(dtype=np.float64)
    logs = betting.log_e_values(d.T).T
    adjusted = betting.e_holm(betting.e_values(logs))
    threshold = 1 / (1 - confidence)
    least = betting.least_n(np.log(threshold))
    counts = np.cumsum(np.isfinite(d), axis=0)
    stops, details, paths = [], [], []
    for k, pair in enumerate(values.columns):
        names = dict(zip(("system", "opponent"), pair, strict=True))
        low, high = betting.confidence_sequence(d[:, k], confidence)
        crossed = low[-1] > high[-1]
        with np.errstate(invalid="ignore"):
            so_far = np.nancumsum(d[:, k]) / counts[:, k]
        reached = np.flatnonzero(adjusted[:, k] >= threshold)
        verdict, status = "undecided", OK
        if len(reached):
            # The mean so far has not been rejected, so it has the sign of the verdict.
            verdict = "better" if so_far[reached[0]] > 0 else "worse"
        n = int(counts[-1, k])
        if n < least:
            status = explain("few_blocks", n=n, least=least)
        elif crossed:
            status = explain("all_rejected")
        ends = (np.nan, np.nan) if crossed else (low[-1], high[-1])
        row = {"estimate": unit * so_far[-1], "ci_low": unit * ends[0], "ci_high": unit * ends[1]}
        row |= {"covers": covers, "p_adjusted": min(1.0, float(1 / adjusted[:, k].max()))}
        row |= {"verdict": verdict, "stopped_at": reached[0] + 1.0 if len(reached) else np.nan}
        for name, path in (("estimate", so_far), ("low", low), ("high", high)):
            row[f"stopped_{name}"] = unit * path[reached[0]] if len(reached) else np.nan
        stops.append(names | row | {"status": status})
        p = min(1.0, float(np.exp(-logs[:, k].max())))
        e_value = float(betting.e_values(logs[-1, k]))
        details.append(names | {"n_blocks": n, "e_value": e_value, "p": p})
        rows = {"block": np.arange(1, len(d) + 1), "name": values.index, "n_blocks": counts[:, k]}
        rows |= {"log_e": logs[:, k], "log_e_adjusted": np.log(adjusted[:, k])}
        rows |= {"estimate": unit * so_far, "lower": unit * low, "upper": unit * high}
        paths.append(pd.DataFrame(names | rows))
    decisions, joined = split_status(pd.DataFrame(stops)), pd.concat(paths, ignore_index=True)
    return Sequential(decisions, pd.DataFrame(details), joined, confidence)


def _read(
    study: Study | pd.DataFrame, block: Block, dimension: str | None
) -> tuple[pd.DataFrame, float, str]:
    """Return values (blocks, pairs of systems), their unit in points, and what they cover."""
    table: Literal["preferences", "comparisons"] | None = None
    if isinstance(study, Study):
        if study.preferences is None and study.judgments is not None:
            return _of_judgments(study, block, dimension)
        table = "comparisons" if study.preferences is None else "preferences"
    played = games_of_one(study, of=table, dimension=dimension)
    if "item_id" not in played and "item_a" in played:
        apart = (played["item_a"] != played["item_b"]).to_numpy()
        if apart.any():
            row = int(apart.argmax())
            raise ValueError(
                f"block='item' needs both outputs to belong to one item. Row {row + 1} has items "
                f"{played['item_a'].iloc[row]!r} and {played['item_b'].iloc[row]!r}: remove such "
                "rows, or use block='annotator'."
            )
        played = played.assign(item_id=played["item_a"])
    if f"{block}_id" not in played:
        message = f"block={block!r} needs the {block} of each vote: add a column {block}_id."
        raise Unsupported(f"no_{block}s", message)
    systems, a, b, results = as_arrays(played)
    frame = pd.DataFrame({"block": played[f"{block}_id"]})
    frame["d"] = np.where(a < b, 1.0, -1.0) * (results @ [1.0, 0.0, -1.0])
    frame["pair"] = np.minimum(a, b) * len(systems) + np.maximum(a, b)
    wide = frame.groupby(["block", "pair"], sort=False)["d"].mean().unstack("pair")
    codes = np.unique(frame["pair"])
    wide = wide.reindex(index=frame["block"].unique(), columns=codes)
    sides = np.array(systems, dtype=object)[np.column_stack(np.divmod(codes, len(systems)))]
    wide.columns = pd.Index([tuple(pair) for pair in sides], tupleize_cols=False)
    return wide, 1.0, _covers(played, block)


def _of_judgments(
    study: Study, block: Block, dimension: str | None
) -> tuple[pd.DataFrame, float, str]:
    dimension = study.dimension(dimension)
    ends = study.scale(dimension)
    if ends is None:
        raise Unsupported(
            "no_scale",
            f"{study.name} does not declare the minimum and maximum of {dimension!r}, which "
            f"e-values need: set `settings: scales: {{{dimension}: {{min: 1, max: 5}}}}`.",
        )
    span = ends[1] - ends[0]
    judged = study.judged(dimension)
    judged = judged[~judged["is_human"]]
    wide = judged.groupby([f"{block}_id", "system"])["value"].mean().unstack("system")
    systems = [name for name in study.systems if name in wide]
    wide = wide.reindex(index=judged[f"{block}_id"].unique(), columns=systems)
    if len(systems) < 2:
        raise Unsupported(
            "one_system",
            f"a comparison needs judgments of at least two systems. Found {len(systems)} in "
            f"{dimension!r} of {study.name}.",
        )
    pairs = combinations(systems, 2)
    table = pd.DataFrame({pair: (wide[pair[0]] - wide[pair[1]]) / span for pair in pairs})
    table = table.dropna(axis=1, how="all")
    if table.empty:
        raise Unsupported(
            "disconnected",
            f"no {block} has judgments of two systems: use block={_OTHER[block]!r}, or collect "
            f"judgments of several systems per {block}.",
        )
    return table, span, _covers(judged, block)


def _covers(rows: pd.DataFrame, block: Block) -> str:
    """Return what results generalize to; the other factor is fixed if blocks share its levels."""
    crossed = f"{_OTHER[block]}_id"
    if crossed not in rows:
        return f"other {block}s"
    if rows[[f"{block}_id", crossed]].drop_duplicates()[crossed].duplicated().any():
        return f"other {block}s, these {_OTHER[block]}s"
    return f"other {block}s"
