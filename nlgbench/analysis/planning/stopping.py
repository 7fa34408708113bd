"""Stop early: e-values by blocks, which may be looked at after each, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from nlgbench.analysis import betting
from nlgbench.analysis.ratings.games import as_arrays, read_games
from nlgbench.inference import Floats
from nlgbench.reported import Reported, in_words
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

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
    of: Literal["preferences", "comparisons", "judgments"] | None = None,
    dimension: str | None = None,
    mean: float | None = None,
    order: Literal["appearance", "random"] = "appearance",
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> Sequential:
    """Tell systems apart by e-values, which may be looked at after each block.

    Parameters
    ----------
    study : Study or DataFrame
        With `preferences`, judgments on a declared scale, or `comparisons` of one comparator. Or a
        table with a row per vote, as `nlgbench.rate` takes it.
    block : {"annotator", "item"}
        What is drawn anew, one after another: all that one annotator said, or all that was said of
        one item, is one value. Take the factor whose next one you decide about.
    of : {"preferences", "comparisons", "judgments"}, optional
        What of a study is tested. Default: its preferences, else its judgments.
    dimension : str, optional
        Default: the quality dimension, or the only one.
    mean : float, optional
        Of judgments: set each system against this mean, in points, and not against each other.
    order : {"appearance", "random"}
        Of the blocks: as their first rows stand in the table, or drawn from `seed`. It must not
        come from the results.
    confidence : float
        Of the whole: 1 - confidence is the level of all tests together.
    seed : int or Generator
        Where the random order comes from.

    Returns
    -------
    Sequential
        ``stops``, a row per two systems (per system with `mean`): system, opponent, n_blocks (with
        both), e_value (after the last), p (1 over the greatest e-value so far: at most 1),
        p_adjusted (the same after e-Holm over all rows), verdict (``better``, ``worse``; with
        `mean` ``above``, ``below``; else ``undecided``), stopped_at (the block, from 1, after which
        the verdict stood; NaN while undecided), estimate (mean over blocks: P(win) - P(loss), or
        points; above 0 the system is better), ci_low, ci_high (confidence sequence: holds at all
        times at once, of one row), confidence, null (0, or `mean`), reason.

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
    if mean is not None and of is None:
        of = "judgments"
    values, about = _read(study, block, of, dimension, mean)
    if order == "random":
        values = values.iloc[np.random.default_rng(seed).permutation(len(values))]
    d = values.to_numpy(dtype=np.float64)
    logs = betting.log_e_values(d.T, about.null).T
    adjusted = betting.e_holm(betting.e_values(logs))
    threshold = 1 / (1 - confidence)
    counts = np.cumsum(np.isfinite(d), axis=0)
    rows, paths = [], []
    for k, (system, opponent) in enumerate(about.rows):
        own = np.isfinite(d[:, k])
        low, high = _sequence(d[:, k], confidence)
        crossed = low[-1] > high[-1]
        low, high = (about.center + about.unit * one for one in (low, high))
        with np.errstate(invalid="ignore"):
            so_far = about.center + about.unit * np.nancumsum(d[:, k]) / own.cumsum()
        reached = adjusted[:, k] >= threshold
        stop = int(reached.argmax()) if reached.any() else None
        verdict, reason = "undecided", ""
        if stop is not None:
            # The mean so far is among the means that are not refuted, so it lies on their side.
            upward = np.nanmean(d[: stop + 1, k]) > about.null
            verdict = about.verdicts[0 if upward else 1]
        greatest = betting.greatest_log_e_value(int(own.sum()), about.null)
        if greatest < np.log(threshold):
            reason = (
                f"{own.sum()} blocks cannot tell: their e-value is at most {np.exp(greatest):.3g}, "
                f"below {threshold:.4g}; {betting.least_n(np.log(threshold), about.null)} could"
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
                "null": about.center + about.unit * about.null,
                "reason": reason,
            }
        )
        path = {"block": np.arange(1, len(d) + 1), "name": values.index, "n_blocks": counts[:, k]}
        path |= {"log_e": logs[:, k], "log_e_adjusted": np.log(adjusted[:, k])}
        path |= {"estimate": so_far, "lower": low, "upper": high}
        paths.append(pd.DataFrame(names | path))
    stops = pd.DataFrame(rows)
    report = _report(about, block, order, len(d), stops, confidence)
    return Sequential(stops, pd.concat(paths, ignore_index=True), report)


@checked
def blocks_needed(
    win: float | Sequence[float],
    *,
    tie: float = 0.0,
    n_pairs: int = 1,
    power: float = 0.8,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how many blocks `sequential` needs, beside a test of a size that is fixed beforehand.

    Parameters
    ----------
    win : float or list of float
        The share of wins among votes that are no ties; .5 is never told apart.
    tie : float
        The share of ties among all votes.
    n_pairs : int
        Pairs that are tested together: the numbers are those of the first that is told apart.
    power : float
        Of the fixed size, and of the number of blocks set beside it.
    confidence : float
        1 - confidence is the level.

    Returns
    -------
    DataFrame
        A row per share: win, tie, n_pairs, least (no fewer can tell), mean, median, n_power (by
        then it has stopped with chance `power`), n_fixed (votes of the two-sided z test with that
        power, at the level over n_pairs), mean_ratio (mean over n_fixed).

    Raises
    ------
    ValueError
        For shares out of range, or wins within .01 of .5.

    Notes
    -----
    One vote is a block. Exact, by a walk over numbers of wins (ties prolong it); no limit is set to
    the blocks, so that all stop in the end. Several votes of one annotator in a block count for
    more than one vote, and for fewer than as many as they are.

    Examples
    --------
    >>> blocks_needed([0.6, 0.7]).round(2)[["win", "mean", "n_power", "n_fixed"]].values.tolist()
    [[0.6, 241.24, 376.0, 194.0], [0.7, 54.34, 83.0, 47.0]]
    """
    check_n(n_pairs, "n_pairs")
    if not 0 <= tie < 1:
        raise ValueError(f"tie must be a share, at least 0 and below 1. Got {tie}.")
    if not 0 < power < 1:
        raise ValueError(f"power must be between 0 and 1. Got {power}: 0.8 is usual.")
    threshold = np.log(n_pairs / (1 - confidence))
    rows = []
    for share in [win] if isinstance(win, float | int) else win:
        if not (0 < share < 1 and abs(share - 0.5) > 0.01):
            raise ValueError(
                "win must be between 0 and 1, and more than .01 away from .5: equal systems are "
                f"never told apart. Got {share}."
            )
        stops, _ = betting.stopping_distribution(max(share, 1 - share), threshold)
        decided = np.arange(1, len(stops) + 1)
        gap = (1 - tie) * (2 * share - 1)
        z = norm.isf((1 - confidence) / 2 / n_pairs), norm.ppf(power)
        n_fixed = ((z[0] * np.sqrt(1 - tie) + z[1] * np.sqrt(1 - tie - gap**2)) / gap) ** 2
        row = {"win": share, "tie": tie, "n_pairs": n_pairs, "least": betting.least_n(threshold)}
        row["mean"] = float(stops @ decided) / (1 - tie)
        row["median"] = _blocks_until(0.5, stops, tie)
        row["n_power"] = _blocks_until(power, stops, tie)
        row["n_fixed"] = int(np.ceil(n_fixed))
        rows.append(row | {"mean_ratio": row["mean"] / row["n_fixed"]})
    return pd.DataFrame(rows)


def _blocks_until(chance: float, stops: Floats, tie: float) -> int:
    """Give the number of blocks, ties among them, after which so many have stopped."""
    low, high = 0, int(2 * len(stops) / (1 - tie)) + 1
    decided = np.arange(1, len(stops) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        # Stopped by then: where at least as many of these blocks as it takes are no ties.
        reached = float(stops @ binom.sf(decided - 1, middle, 1 - tie))
        low, high = (low, middle) if reached >= chance else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class _About:
    """What is tested: rows, the null in [-1, 1], and back to the units of the estimate."""

    rows: list[tuple[str, str]]
    what: str
    null_in_words: str
    verdicts: tuple[str, str]
    shared: str
    null: float = 0.0
    center: float = 0.0
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
    of: Literal["preferences", "comparisons", "judgments"] | None,
    dimension: str | None,
    mean: float | None,
) -> tuple[pd.DataFrame, _About]:
    """Give a row per block, in order of appearance, and a column per row of the results."""
    if isinstance(study, Study) and of is None:
        of = "judgments" if study.preferences is None else "preferences"
    if of == "judgments":
        if not isinstance(study, Study):
            raise ValueError("judgments are a study's: give Study(judgments=...).")
        return _of_judgments(study, block, dimension, mean)
    if mean is not None:
        raise ValueError(f"mean is of judgments, in points. Got {mean} with of={of!r}.")
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
    return wide, _About(rows, what, null, ("better", "worse"), _shared(blocks, other, block))


def _of_judgments(
    study: Study, block: Block, dimension: str | None, mean: float | None
) -> tuple[pd.DataFrame, _About]:
    dimension = study.dimension(dimension)
    ends = (study.settings or {}).get("scales", {}).get(dimension)
    if ends is None:
        example = f"settings={{'scales': {{{dimension!r}: {{'min': 1, 'max': 5}}}}}}"
        raise ValueError(
            f"{study.name} does not say the least and the greatest value of {dimension!r}, and "
            f"bets on judgments need bounds that are known beforehand: {example}."
        )
    least, span = float(ends["min"]), float(ends["max"]) - float(ends["min"])
    judged = study.judgments
    assert judged is not None
    judged = judged[judged["dimension"] == dimension]
    judged = judged.merge(
        study.outputs[["output_id", "item_id", "system", "is_human"]],
        on="output_id",
        validate="m:1",
    )
    judged = judged[~judged["is_human"]]
    blocks = judged[f"{block}_id"].to_numpy()
    wide = judged.groupby([f"{block}_id", "system"])["value"].mean().unstack("system")
    systems = [name for name in study.systems if name in wide]
    wide = wide.reindex(index=pd.unique(blocks), columns=systems)
    what = f"{len(judged)} judgments of {dimension!r} of {len(systems)} systems"
    shared = _shared(blocks, judged[f"{_OTHER[block]}_id"].to_numpy(), block)
    if mean is not None:
        if not least < mean < least + span:
            raise ValueError(
                f"mean must be inside the scale, {least:g} to {least + span:g}. Got {mean:g}."
            )
        rows = [(name, f"mean {mean:g}") for name in systems]
        unit = span / 2
        null = f"each system's mean is {mean:g}, {block}s weighing alike"
        about = _About(rows, what, null, ("above", "below"), shared)
        about = replace(about, null=(mean - least) / unit - 1, center=least + unit, unit=unit)
        return (wide - least) / unit - 1, about
    if len(systems) < 2:
        raise ValueError(
            f"{study.name} has judgments of {dimension!r} of {len(systems)} systems: two are "
            "needed, or mean= to set one against."
        )
    sign = -1.0 if dimension in (study.settings or {}).get("lower_is_better", ()) else 1.0
    each = {
        (one, other): sign * (wide[one] - wide[other]) / span
        for one, other in combinations(systems, 2)
    }
    table = pd.DataFrame(each)
    table = table.loc[:, table.notna().any()]
    if table.empty:
        raise ValueError(
            f"no {block} has judgments of two systems: take block={_OTHER[block]!r}, or let each "
            f"{block} meet several systems."
        )
    null = f"both systems' means are equal, {block}s weighing alike"
    if sign < 0:
        null += "; lower is better, so signs are turned"
    rows = [pair for pair in each if pair in table]
    return table, _About(rows, what, null, ("better", "worse"), shared, unit=span)


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
    about: _About,
    block: Block,
    order: str,
    n: int,
    stops: pd.DataFrame,
    confidence: float,
) -> pd.DataFrame:
    level = 1 - confidence
    by = {"appearance": "as they first stand in the table", "random": "drawn at random"}
    least = [betting.least_n(np.log(m / level), about.null) for m in (1, len(stops))]
    told = stops["stopped_at"].dropna()
    shared = about.shared.format(level=level) or (
        f"other {block}s, as far as these are independent draws"
    )
    rows = [
        ("tested", f"{about.what}, in {n} blocks, each of one {block}"),
        ("null", about.null_in_words),
        ("order of blocks", by[order]),
        ("level", f"{level:.2g} for all {len(stops)} rows at all times together (e-Holm)"),
        ("intervals", f"{confidence:g} at all times together, of one row at a time"),
        ("speaks of", shared),
        ("told apart", f"{len(told)} of {len(stops)}"),
        ("fewest blocks", f"{least[0]} can tell one row alone, {least[1]} the first of all"),
    ]
    if len(told):
        rows.insert(7, ("last verdict", f"after block {told.max():.0f}"))
    return in_words(rows)
