"""Stop early: e-values by blocks, which may be looked at after each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis import betting
from nlgbench.analysis.ratings.games import as_arrays, games_of_one
from nlgbench.reported import Reported
from nlgbench.study import Study
from nlgbench.study.checks import checked

Block = Literal["annotator", "item"]
_OTHER: dict[Block, Block] = {"annotator": "item", "item": "annotator"}


@dataclass(frozen=True, eq=False)
class Sequential(Reported):
    """Which pairs of systems are distinguished, and when: what `sequential` found.

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
    confidence: float = 0.95,
) -> Sequential:
    """Compare systems by e-values, which may be looked at after each block.

    Parameters
    ----------
    study : Study or DataFrame
        With `preferences`, else judgments on a declared scale, else `comparisons` of one
        comparator. Or a table with a row per vote, as `nlgbench.rate` takes it.
    block : {"annotator", "item"}
        What is drawn anew, one after another: all judgments of one annotator, or of one item, are
        one value. Take the factor whose next one you decide about. Blocks come in the order in
        which their first rows stand in the table, which must not come from results.
    dimension : str, optional
        Default: the quality dimension, or the only one.
    confidence : float
        Of the whole: 1 - confidence is the level of all tests together.

    Returns
    -------
    Sequential
        ``stops``, a row per two systems: system, opponent, estimate (mean over blocks: P(win) -
        P(loss), or points; above 0 the system is better), ci_low, ci_high (confidence sequence:
        covers at all times at once, of one row), covers (what tests and intervals generalize to),
        p_adjusted (1 over the greatest e-value after e-Holm over all rows: at most 1), verdict
        (``better``, ``worse``, ``undecided``), stopped_at (the block, from 1, after which the
        verdict stood; NaN while undecided), reason.

        ``details``: system, opponent, n_blocks (with both), e_value (after the last), p (1 over the
        greatest e-value so far, of one row).

        ``path``, a row per two systems and block: system, opponent, block, name (of the annotator
        or item), n_blocks, log_e, log_e_adjusted, estimate (so far), lower, upper.

    Raises
    ------
    ValueError
        When the study lacks what is needed, blocks have no names, an output of one item was
        compared with one of another and blocks are items, there are several comparators, or the
        scale of the judgments is not declared in ``settings["scales"]``.

    Notes
    -----
    A block gives one value in [-1, 1]: the mean of its votes (win 1, tie 0, loss -1), or the
    difference of two systems' mean judgments over the range of the scale. Under the null, a mean of
    0 given all blocks before, an e-value ever reaches 1 / alpha with a chance of at most alpha
    (Ville's inequality). docs/stopping-early.md has formulas and sources.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("votes", systems={"x": 1.5, "y": 0.0}, n_pairs=1, seed=0)
    >>> found = sequential(study, block="item")
    >>> found.stops[["system", "opponent", "verdict", "stopped_at"]].values.tolist()
    [['x', 'y', 'better', 12.0]]
    """
    values, unit, covers = _read(study, block, dimension)
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
        verdict, reason = "undecided", ""
        if len(reached):
            # The mean so far is among the means that are not refuted, so it lies on their side.
            verdict = "better" if so_far[reached[0]] > 0 else "worse"
        n = int(counts[-1, k])
        if n < least:
            reason = f"{n} blocks cannot tell: at least {least} could"
        elif crossed:
            reason = "no mean fits all blocks: they are no draws of one kind"
        ends = (np.nan, np.nan) if crossed else (low[-1], high[-1])
        row = {"estimate": unit * so_far[-1], "ci_low": unit * ends[0], "ci_high": unit * ends[1]}
        row |= {"covers": covers, "p_adjusted": min(1.0, float(1 / adjusted[:, k].max()))}
        row |= {"verdict": verdict, "stopped_at": reached[0] + 1.0 if len(reached) else np.nan}
        stops.append(names | row | {"reason": reason})
        p = min(1.0, float(np.exp(-logs[:, k].max())))
        e_value = float(betting.e_values(logs[-1, k]))
        details.append(names | {"n_blocks": n, "e_value": e_value, "p": p})
        path = {"block": np.arange(1, len(d) + 1), "name": values.index, "n_blocks": counts[:, k]}
        path |= {"log_e": logs[:, k], "log_e_adjusted": np.log(adjusted[:, k])}
        path |= {"estimate": unit * so_far, "lower": unit * low, "upper": unit * high}
        paths.append(pd.DataFrame(names | path))
    whole = pd.concat(paths, ignore_index=True)
    return Sequential(pd.DataFrame(stops), pd.DataFrame(details), whole, confidence)


def _read(
    study: Study | pd.DataFrame, block: Block, dimension: str | None
) -> tuple[pd.DataFrame, float, str]:
    """Give blocks x pairs of systems, what a value of 1 is in points, and what results cover."""
    of: Literal["preferences", "comparisons"] | None = None
    if isinstance(study, Study):
        if study.preferences is None and study.judgments is not None:
            return _of_judgments(study, block, dimension)
        of = "comparisons" if study.preferences is None else "preferences"
    played = games_of_one(study, of=of, dimension=dimension)
    if "item_id" not in played and "item_a" in played:
        apart = (played["item_a"] != played["item_b"]).to_numpy()
        if apart.any():
            row = int(apart.argmax())
            raise ValueError(
                f"block='item' needs both outputs to be of one item. Row {row + 1} has items "
                f"{played['item_a'].iloc[row]!r} and {played['item_b'].iloc[row]!r}: leave such "
                "rows out, or take block='annotator'."
            )
        played = played.assign(item_id=played["item_a"])
    if f"{block}_id" not in played:
        raise ValueError(
            f"block={block!r} needs to know the {block} of each vote: a column {block}_id."
        )
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
        example = f"settings={{'scales': {{{dimension!r}: {{'min': 1, 'max': 5}}}}}}"
        raise ValueError(
            f"{study.name} does not say the least and the greatest value of {dimension!r}, and "
            f"bets on judgments need bounds that are known beforehand: {example}."
        )
    span = ends[1] - ends[0]
    judged = study.judged(dimension)
    judged = judged[~judged["is_human"]]
    wide = judged.groupby([f"{block}_id", "system"])["value"].mean().unstack("system")
    systems = [name for name in study.systems if name in wide]
    wide = wide.reindex(index=judged[f"{block}_id"].unique(), columns=systems)
    if len(systems) < 2:
        raise ValueError(
            f"{study.name} has judgments of {dimension!r} of {len(systems)} systems: two are "
            "needed."
        )
    pairs = combinations(systems, 2)
    table = pd.DataFrame({pair: (wide[pair[0]] - wide[pair[1]]) / span for pair in pairs})
    table = table.dropna(axis=1, how="all")
    if table.empty:
        raise ValueError(
            f"no {block} has judgments of two systems: take block={_OTHER[block]!r}, or let each "
            f"{block} meet several systems."
        )
    return table, span, _covers(judged, block)


def _covers(rows: pd.DataFrame, block: Block) -> str:
    """Say what results generalize to: the other factor is a sample where blocks do not share it."""
    other = f"{_OTHER[block]}_id"
    if other in rows and rows[[f"{block}_id", other]].drop_duplicates()[other].duplicated().any():
        return f"other {block}s, these {_OTHER[block]}s"
    return f"other {block}s"
