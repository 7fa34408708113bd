"""Stop early: e-values by blocks, which may be looked at after each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis import betting
from nlgbench.analysis.ratings.games import as_arrays, read_games
from nlgbench.inference import Floats
from nlgbench.reported import Reported, in_words
from nlgbench.study import Study
from nlgbench.study.checks import checked

Block = Literal["annotator", "item"]
_OTHER = {"annotator": "item", "item": "annotator"}


@dataclass(frozen=True, eq=False)
class Sequential(Reported):
    """Which pairs of systems are told apart, and when: what `sequential` found, as tables.

    Parameters
    ----------
    stops, path : DataFrame
        As `sequential` says.
    report : DataFrame
        ``what`` and ``value``: what was tested of what, and what it speaks of, in words.

    Examples
    --------
    >>> table = pd.DataFrame({"system_a": "x", "system_b": "y", "outcome": [*"aaaaaaaaab"]})
    >>> found = sequential(table.assign(annotator_id=range(10)), block="annotator")
    >>> isinstance(found, Sequential), len(found.path)
    (True, 10)
    """

    stops: pd.DataFrame
    path: pd.DataFrame
    report: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.stops.round(3)


@checked
def sequential(
    study: Study | pd.DataFrame,
    *,
    block: Block,
    dimension: str | None = None,
    confidence: float = 0.95,
) -> Sequential:
    """Tell systems apart by e-values, which may be looked at after each block.

    Parameters
    ----------
    study : Study or DataFrame
        With `preferences`, else judgments on a declared scale, else `comparisons` of one
        comparator. Or a table with a row per vote, as `nlgbench.rate` takes it.
    block : {"annotator", "item"}
        What is drawn anew, one after another: all that one annotator said, or all that was said of
        one item, is one value. Take the factor whose next one you decide about. Blocks come in
        the order in which their first rows stand in the table, which must not come from results.
    dimension : str, optional
        Default: the quality dimension, or the only one.
    confidence : float
        Of the whole: 1 - confidence is the level of all tests together.

    Returns
    -------
    Sequential
        ``stops``, a row per two systems: system, opponent, n_blocks (with both), e_value (after the
        last), p (1 over the greatest e-value so far: at most 1), p_adjusted (the same after e-Holm
        over all rows), verdict (``better``, ``worse``, ``undecided``), stopped_at (the block, from
        1, after which the verdict stood; NaN while undecided), estimate (mean over blocks: P(win) -
        P(loss), or points; above 0 the system is better), ci_low, ci_high (confidence sequence:
        holds at all times at once, of one row), confidence, reason.

        ``path``, a row per two systems and block: system, opponent, block, name (of the annotator
        or item), n_blocks, log_e, log_e_adjusted, estimate (so far), lower, upper.

        ``report``: what, value.

    Raises
    ------
    ValueError
        When what is asked of is not there, blocks have no names, an output of one item was compared
        with one of another and blocks are items, there are several comparators, or the scale of the
        judgments is not declared in ``settings["scales"]``.

    Notes
    -----
    A block b gives one value d_b in [-1, 1]: the mean of its votes (win 1, tie 0, loss -1), or the
    difference of two systems' mean judgments over the range of the scale. The null is that d_b has
    the mean 0, given all blocks before: for votes P(win) = P(loss), blocks weighing alike. The
    e-value is the mean of ``prod(1 + c d_b)`` over c uniform in (-1, 1); under the null it ever
    reaches 1 / alpha with a chance of at most alpha (Ville's inequality), whatever hangs together
    within blocks. Confidence sequences: Waudby-Smith and Ramdas (2024),
    doi:10.1093/jrsssb/qkad009; their ends are rounded outward to .005 (of the range). e-Holm is the
    closure of the arithmetic mean (Vovk and Wang 2021, doi:10.1214/20-AOS2020; Hartog and Lei 2025,
    arXiv:2501.09015), of all rows at one block.

    Blocks must be independent draws. Where blocks share items (or annotators), what is said holds
    for *these*: others would share what they have in common, and the report says so.
    docs/stopping-early.md has the rates of false stops that were measured.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("votes", systems={"x": 1.5, "y": 0.0}, n_pairs=1, seed=0)
    >>> found = sequential(study, block="item")
    >>> found.stops[["system", "opponent", "verdict", "stopped_at"]].values.tolist()
    [['x', 'y', 'better', 12.0]]
    """
    values, about = _read(study, block, dimension)
    d = values.to_numpy(dtype=np.float64)
    logs = betting.log_e_values(d.T).T
    adjusted = betting.e_holm(betting.e_values(logs))
    threshold = 1 / (1 - confidence)
    counts = np.cumsum(np.isfinite(d), axis=0)
    rows, paths = [], []
    for k, (system, opponent) in enumerate(about.rows):
        own = np.isfinite(d[:, k])
        low, high = _sequence(d[:, k], confidence)
        crossed = low[-1] > high[-1]
        low, high = about.unit * low, about.unit * high
        with np.errstate(invalid="ignore"):
            so_far = about.unit * np.nancumsum(d[:, k]) / own.cumsum()
        reached = adjusted[:, k] >= threshold
        stop = int(reached.argmax()) if reached.any() else None
        verdict, reason = "undecided", ""
        if stop is not None:
            # The mean so far is among the means that are not refuted, so it lies on their side.
            verdict = "better" if np.nanmean(d[: stop + 1, k]) > 0 else "worse"
        greatest = betting.greatest_log_e_value(int(own.sum()))
        if greatest < np.log(threshold):
            reason = (
                f"{own.sum()} blocks cannot tell: their e-value is at most {np.exp(greatest):.3g}, "
                f"below {threshold:.4g}; {betting.least_n(np.log(threshold))} could"
            )
        elif crossed:
            reason = "no mean fits all blocks: they are no draws of one kind"
        names = {"system": system, "opponent": opponent}
        rows.append(
            names
            | {
                "n_blocks": int(own.sum()),
                "e_value": float(betting.e_values(logs[-1, k])),
                "p": min(1.0, float(np.exp(-logs[:, k].max()))),
                "p_adjusted": min(1.0, float(1 / adjusted[:, k].max())),
                "verdict": verdict,
                "stopped_at": float("nan") if stop is None else float(stop + 1),
                "estimate": float(so_far[-1]),
                "ci_low": float("nan") if crossed else float(low[-1]),
                "ci_high": float("nan") if crossed else float(high[-1]),
                "confidence": confidence,
                "reason": reason,
            }
        )
        path = {"block": np.arange(1, len(d) + 1), "name": values.index, "n_blocks": counts[:, k]}
        path |= {"log_e": logs[:, k], "log_e_adjusted": np.log(adjusted[:, k])}
        path |= {"estimate": so_far, "lower": low, "upper": high}
        paths.append(pd.DataFrame(names | path))
    stops = pd.DataFrame(rows)
    report = _report(about, block, len(d), stops, confidence)
    return Sequential(stops, pd.concat(paths, ignore_index=True), report)


@dataclass(frozen=True, eq=False)
class _About:
    """What is tested: rows, words, and what a value of 1 is in the units of the estimate."""

    rows: list[tuple[str, str]]
    what: str
    null: str
    shared: str
    unit: float = 1.0


def _sequence(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Carry the confidence sequence over blocks in which there is no value."""
    there = np.isfinite(values)
    low, high = betting.confidence_sequence(values[there], confidence)
    upto = there.cumsum()
    return np.append(-1.0, low)[upto], np.append(1.0, high)[upto]


def _read(
    study: Study | pd.DataFrame,
    block: Block,
    dimension: str | None,
) -> tuple[pd.DataFrame, _About]:
    """Give a row per block, in order of appearance, and a column per row of the results."""
    of: Literal["preferences", "comparisons"] | None = None
    if isinstance(study, Study):
        if study.preferences is None and study.judgments is not None:
            return _of_judgments(study, block, dimension)
        of = "comparisons" if study.preferences is None else "preferences"
    played = read_games(study, of=of, dimension=dimension)
    comparators = played["comparator"].unique()
    if len(comparators) > 1:
        raise ValueError(
            f"{len(comparators)} comparators are there: a test needs one. Select its comparisons."
        )
    blocks, other = _names(played, block), None
    if _known(played, _OTHER[block]):
        other = _names(played, _OTHER[block])  # type: ignore[arg-type]
    systems, a, b, results = as_arrays(played)
    sign = np.where(a < b, 1.0, -1.0)
    pairs = list(combinations(range(len(systems)), 2))
    place = np.minimum(a, b) * len(systems) + np.maximum(a, b)
    frame = pd.DataFrame({"block": blocks, "pair": place, "d": sign * (results @ [1.0, 0.0, -1.0])})
    wide = frame.groupby(["block", "pair"], sort=False)["d"].mean().unstack("pair")
    codes = [i * len(systems) + j for i, j in pairs]
    met = [code in wide.columns for code in codes]
    rows = [
        (str(systems[i]), str(systems[j])) for (i, j), one in zip(pairs, met, strict=True) if one
    ]
    wide = wide.reindex(index=frame["block"].unique(), columns=np.array(codes)[met])
    what = f"{len(played)} {of or 'votes'} on {len(systems)} systems"
    null = f"P(win) = P(loss) of each two; ties count 0, {block}s weigh alike"
    return wide, _About(rows, what, null, _shared(blocks, other, block))


def _of_judgments(study: Study, block: Block, dimension: str | None) -> tuple[pd.DataFrame, _About]:
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
    blocks = judged[f"{block}_id"].to_numpy()
    wide = judged.groupby([f"{block}_id", "system"])["value"].mean().unstack("system")
    systems = [name for name in study.systems if name in wide]
    wide = wide.reindex(index=pd.unique(blocks), columns=systems)
    if len(systems) < 2:
        raise ValueError(
            f"{study.name} has judgments of {dimension!r} of {len(systems)} systems: two are "
            "needed."
        )
    pairs = list(combinations(systems, 2))
    table = pd.DataFrame({pair: (wide[pair[0]] - wide[pair[1]]) / span for pair in pairs})
    table = table.loc[:, table.notna().any()]
    if table.empty:
        raise ValueError(
            f"no {block} has judgments of two systems: take block={_OTHER[block]!r}, or let each "
            f"{block} meet several systems."
        )
    null = f"both systems' means are equal, {block}s weighing alike"
    if study.sign(dimension) < 0:
        null += "; lower is better, so signs are turned"
    what = f"{len(judged)} judgments of {dimension!r} of {len(systems)} systems"
    shared = _shared(blocks, judged[f"{_OTHER[block]}_id"].to_numpy(), block)
    return table, _About([pair for pair in pairs if pair in table], what, null, shared, span)


def _known(played: pd.DataFrame, factor: str) -> bool:
    names = ["annotator_id"] if factor == "annotator" else ["item_id", "item_a"]
    return any(name in played for name in names)


def _names(played: pd.DataFrame, factor: Block) -> np.ndarray:
    """Name the annotator, or the item, of each vote."""
    if not _known(played, factor):
        raise ValueError(
            f"block={factor!r} needs to know the {factor} of each vote: a column "
            f"{'annotator_id' if factor == 'annotator' else 'item_id'}."
        )
    if factor == "annotator":
        return played["annotator_id"].to_numpy()
    if "item_id" in played:
        return played["item_id"].to_numpy()
    apart = (played["item_a"] != played["item_b"]).to_numpy()
    if apart.any():
        row = int(apart.argmax())
        raise ValueError(
            f"block='item' needs both outputs to be of one item. Row {row + 1} has items "
            f"{played['item_a'].iloc[row]!r} and {played['item_b'].iloc[row]!r}: leave such rows "
            "out, or take block='annotator'."
        )
    return played["item_a"].to_numpy()


def _shared(blocks: np.ndarray, other: np.ndarray | None, block: Block) -> str:
    """Say what blocks have in common, or nothing."""
    if other is None:
        return ""
    of = pd.DataFrame({"block": blocks, "other": other}).drop_duplicates()["other"].value_counts()
    n = int((of > 1).sum())
    if not n:
        return ""
    name = _OTHER[block]
    return (
        f"{n} of {len(of)} {name}s are in several blocks: all that is said holds for these. "
        f"Of other {name}s it is said wrongly more often than {{level:.2g}} "
        "(docs/stopping-early.md)"
    )


def _report(
    about: _About, block: Block, n: int, stops: pd.DataFrame, confidence: float
) -> pd.DataFrame:
    level = 1 - confidence
    least = [betting.least_n(np.log(m / level)) for m in (1, len(stops))]
    told = stops["stopped_at"].dropna()
    shared = about.shared.format(level=level) or (
        f"other {block}s, as far as these are independent draws"
    )
    rows = [
        ("tested", f"{about.what}, in {n} blocks, each of one {block}"),
        ("null", about.null),
        ("order of blocks", "as they first stand in the table"),
        ("level", f"{level:.2g} for all {len(stops)} rows at all times together (e-Holm)"),
        ("intervals", f"{confidence:g} at all times together, of one row at a time"),
        ("speaks of", shared),
        ("told apart", f"{len(told)} of {len(stops)}"),
        ("fewest blocks", f"{least[0]} can tell one row alone, {least[1]} the first of all"),
    ]
    if len(told):
        rows.insert(7, ("last verdict", f"after block {told.max():.0f}"))
    return in_words(rows)
