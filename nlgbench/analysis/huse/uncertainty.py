"""How sure HUSE is: intervals, and differences between systems."""

from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.analysis.huse.replicates import annotator_replicates, output_replicates
from nlgbench.analysis.huse.scores import SCORES, HuseResult, huse
from nlgbench.inference import Bools, half_samples, interval, split_interval
from nlgbench.names import known
from nlgbench.text import check_n

Over = Literal["outputs", "items", "annotators"]

#: Where coverage was measured, and below which a reason stands beside an interval.
LEAST_UNITS = 10  # of the rarer class: outputs, or items that have one
LEAST_SHARE = 3  # outputs of a half for each neighbor
LEAST_VALUES = 20  # of mean judgments, for HUSE-Q and so HUSE-D
#: Fewer annotators of a HIT give no interval: in their halves HUSE varies hardly more than in all.
LEAST_ANNOTATORS = 10


def huse_intervals(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    over: Over = "outputs",
    n_resamples: int = 1000,
    level: float = 0.95,
    replicate_neighbors: int | None = None,
    seed: int | np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Put intervals around HUSE, HUSE-Q and HUSE-D, by splits into halves.

    Parameters
    ----------
    outputs, logprobs, judgments, system
        As in `huse`.
    over : {"outputs", "items", "annotators"}
        What might have been others. ``"outputs"``: halves of the outputs, stratified by class.
        ``"items"``: halves of the items, each with all its outputs, stratified by which classes
        an item has. ``"annotators"``: halves of the annotators within each ``group_id`` (HIT), or
        of all where it is empty; the outputs stay, so this is the annotators' share alone.
    n_resamples : int
        Splits into two halves.
    level : float
        Coverage asked for, between 0 and 1.
    replicate_neighbors : int, optional
        k in the half-samples of outputs or items. Default: the same k as in the full sample.
    seed : int or Generator
        Where the random numbers come from.
    **options
        Handed to `huse`: dimension, n_neighbors, ties, label_ties, scaling, length.

    Returns
    -------
    DataFrame
        A row per score: score (huse, huse_q, huse_d), estimate (of the full sample; higher is
        better), se, ci_low, ci_high (not clipped; NaN with a reason), level, center (mean of the
        halves as they are: its distance from the estimate is bias, which the interval leaves
        out), n_resamples, n_undefined (splits of which a half has too few outputs for k or one
        class, or an output whose judgments are all in the other), n_clusters (outputs or items of
        the rarer class; annotators of the smallest HIT), reason (why there is no interval, or why
        not to trust it), method.

    Raises
    ------
    ValueError
        As `huse`, or when a name is unknown or a number out of range.

    Notes
    -----
    Halves are drawn without replacement: the bootstrap puts copies of a held-out output among its
    own neighbors, so its center is too low. Over outputs and items the variance is the mean of
    ``(half - other half)^2 / 4`` (`resampling.split_interval`), as votes among neighbors are no
    sum over outputs: the spread of half-samples around their mean, which counts what neighbors do
    together more than once, was 1.1 to 1.35 times too large. The interval is Student's, around
    the full estimate, with half as many degrees of freedom as there are units of the rarer class:
    2 over the squared coefficient of variation of the variance was about that (median 21 for
    50 outputs per class, 50 for 100). It is an interval for the expectation of HUSE at this
    number of outputs and annotators, not for L*, which lies below.

    k stays as it is in a half, so a neighborhood there holds twice the share of the outputs.
    Where mean judgments take few values (three whole numbers from 0 to 5 have 16 means) whole
    values change sides at a vote, and intervals of HUSE-Q and HUSE-D are a little narrow: marked.

    Over annotators the spread of half-samples is that of ``huse`` with as much noise added to the
    mean judgments as they have already. Differences of halves are no better: HUSE of half as
    many annotators varies hardly more than that of all, not twice as much. t has as many
    degrees of freedom as annotators, less one for each HIT. With fewer than ten annotators of a
    HIT there is no interval (with three to six, .85 to .92 held).

    95% intervals over outputs and items and of differences held the expectation in .92 to .98 of
    500 worlds each (standard error .01; 50 and 100 outputs per class, 50 and 150; 20 annotators, or
    3 where judgments are continuous), with .93 to 1.18 times the width of an interval that knows
    the true standard deviation; with 200 per class in .91 to .97 of 250 worlds. Whole numbers by
    three annotators take few values, which change sides as a whole: there HUSE-Q and HUSE-D were
    held in .92 to .94, and intervals had down to .81 times that width. Upper ends lay above the
    limit of the score, where it is known, in .90 to 1 (`benchmarks/coverage.py`).

    With half the annotators mean judgments are noisier, and HUSE is higher: the interval is
    recentered on the full estimate. Annotators of different HITs are drawn independently, so what
    one annotator does alike in several HITs is not accounted for. Where each HIT holds one class
    (as in the authors' release) the annotators' leniency is confounded with the class; no
    resampling takes that out.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> tables_of = (study.outputs, study.logprobs, study.judgments)
    >>> found = huse_intervals(*tables_of, system="t0.7", n_resamples=200, seed=0)
    >>> bool((found["ci_low"] < found["estimate"]).all()), found["n_undefined"].tolist()
    (True, [0, 0, 0])
    """
    known(over, ["outputs", "items", "annotators"], "over")
    full = huse(outputs, logprobs, judgments, system=system, **options)
    k = full.n_neighbors if replicate_neighbors is None else replicate_neighbors
    check_n(k, "replicate_neighbors")
    given = tables.check(judgments, "judgments")
    return result_intervals(full, given, over, k=k, n_resamples=n_resamples, level=level, seed=seed)


def result_intervals(
    full: HuseResult,
    judgments: pd.DataFrame,
    over: Over,
    *,
    k: int,
    n_resamples: int,
    level: float = 0.95,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Do what `huse_intervals` does, given the result and the checked judgments."""
    estimates = {score: getattr(full, score) for score in SCORES}
    if over == "annotators":
        k = full.n_neighbors  # no output is left out
        units: list[pd.Series] = []

        def draw(groups: np.ndarray) -> Bools:
            units.append(pd.Series(groups).value_counts())
            return half_samples(groups, n_resamples=n_resamples, seed=seed)

        replicates = annotator_replicates(full, judgments, draw)
        n_units, df = int(units[0].min()), max(1, int((units[0] - 1).sum()))
        found = [interval(replicates[s], x, df=df, level=level) for s, x in estimates.items()]
        reasons = _few_annotators(n_units)
        method = f"half-samples of annotators, k = {k}, t"
    else:
        clusters = full.features["item_id" if over == "items" else "output_id"]
        members = half_samples(
            full.features["is_human"], clusters=clusters, n_resamples=n_resamples, seed=seed
        )
        replicates = output_replicates(full, _splits(members), n_neighbors=k)
        n_units = int(clusters.groupby(full.features["is_human"]).nunique().min())
        found = _of_splits(replicates, estimates, n_units, level)
        reasons = _few_outputs([full], n_units, k)
        method = f"splits of {over} into halves, k = {k}, t"
    table = pd.DataFrame(found)
    table.insert(0, "dataset", full.dataset)
    table.insert(1, "system", full.system)
    table.insert(2, "score", list(SCORES))
    if over == "annotators" and n_units < LEAST_ANNOTATORS:
        table[["se", "ci_low", "ci_high"]] = np.nan
    stronger = table["reason"].where(table["reason"] != "", reasons)
    return table.assign(n_clusters=n_units, reason=stronger, method=method)


def huse_difference(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system_a: str,
    system_b: str,
    n_resamples: int = 1000,
    level: float = 0.95,
    seed: int | np.random.Generator,
    **options: Any,
) -> pd.DataFrame:
    """Compare two systems on the same items: the difference of their scores, with an interval.

    Parameters
    ----------
    outputs, logprobs, judgments
        As in `huse`; the human outputs serve both systems.
    system_a, system_b : str
        The two systems.
    n_resamples, level, seed, **options
        As in `huse_intervals`.

    Returns
    -------
    DataFrame
        A row per score, as `huse_intervals`, with system_a and system_b in place of system;
        ``estimate`` is the score of `system_a` minus that of `system_b`.

    Raises
    ------
    ValueError
        As `huse`, or when the two systems are one, or share no item.

    Notes
    -----
    Each half holds half of the items, with all their outputs: human ones and both systems'. The
    two scores of a half thus share human outputs and items, and so does what is common to
    their errors. Items are stratified by whose outputs they have.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> found = huse_difference(
    ...     study.outputs, study.logprobs, study.judgments,
    ...     system_a="t0.7", system_b="t0.5", n_resamples=200, seed=0,
    ... )
    >>> bool((found["estimate"] > found["ci_low"]).all())
    True
    """
    full = [
        huse(outputs, logprobs, judgments, system=system, **options)
        for system in (system_a, system_b)
    ]
    items = [set(one.features.loc[~one.features["is_human"], "item_id"]) for one in full]
    if system_a == system_b or not items[0] & items[1]:
        raise ValueError(
            f"system_a = {system_a!r} and system_b = {system_b!r} must be two systems with outputs "
            f"for the same items. They share {len(items[0] & items[1])} items: compare their "
            "intervals instead, or mend item_id."
        )
    return result_difference(full, n_resamples=n_resamples, level=level, seed=seed)


def result_difference(
    full: list[HuseResult],
    *,
    n_resamples: int,
    level: float = 0.95,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Do what `huse_difference` does, given the two results."""
    rows = pd.concat([one.features for one in full]).drop_duplicates("output_id")
    kinds = rows["system"].where(~rows["is_human"], "human of any system")
    members = _splits(
        half_samples(kinds, clusters=rows["item_id"], n_resamples=n_resamples, seed=seed)
    )
    place = pd.Index(rows["output_id"])
    a, b = (
        output_replicates(one, members[:, place.get_indexer(one.features["output_id"])])
        for one in full
    )
    estimates = {score: getattr(full[0], score) - getattr(full[1], score) for score in SCORES}
    n_units = int(rows["item_id"].groupby(kinds).nunique().min())
    table = pd.DataFrame(_of_splits(a - b, estimates, n_units, level))
    table.insert(0, "dataset", full[0].dataset)
    table.insert(1, "system_a", full[0].system)
    table.insert(2, "system_b", full[1].system)
    table.insert(3, "score", list(SCORES))
    reasons = _few_outputs(full, n_units, full[0].n_neighbors)
    method = f"splits of items into halves, k = {full[0].n_neighbors}, t"
    stronger = table["reason"].where(table["reason"] != "", reasons)
    return table.assign(n_clusters=n_units, reason=stronger, method=method)


def _splits(members: Bools) -> Bools:
    """Put below the half-samples what each of them leaves out."""
    return np.vstack([members, ~members])


def _of_splits(
    replicates: pd.DataFrame, estimates: dict[str, float], n_units: int, level: float
) -> list[dict[str, float | int | str]]:
    """Make the intervals; the variance is known to about as many degrees as half the units."""
    found = []
    for score, estimate in estimates.items():
        halves, others = np.split(replicates[score].to_numpy(), 2)
        found.append(split_interval(halves, others, estimate, df=n_units / 2, level=level))
    return found


def _few_annotators(n: int) -> list[str]:
    """Say for each score why there is no interval."""
    few = f"{n} annotators of a HIT, fewer than {LEAST_ANNOTATORS}: their halves say too little"
    return [few if n < LEAST_ANNOTATORS else ""] * len(SCORES)


def _few_outputs(full: list[HuseResult], n_units: int, k: int) -> list[str]:
    """Say for each score why not to trust its interval."""
    n_half = min(one.n_outputs for one in full) // 2
    n_values = min(one.features["scaled_judgment"].round(9).nunique() for one in full)
    few, tied = "", ""
    if n_units < LEAST_UNITS:
        few = f"{n_units} of a class, fewer than {LEAST_UNITS}: coverage is not known"
    elif n_half < LEAST_SHARE * k:
        few = f"halves of {n_half} outputs, fewer than {LEAST_SHARE} k: coverage is not known"
    elif n_values < LEAST_VALUES:
        tied = f"mean judgments take {n_values} values, fewer than {LEAST_VALUES}: a little narrow"
    return [few, few or tied, few or tied]
