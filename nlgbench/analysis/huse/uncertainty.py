"""How sure HUSE is: intervals, and differences between systems."""

from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.analysis.huse.replicates import annotator_replicates, output_replicates
from nlgbench.analysis.huse.scores import SCORES, huse
from nlgbench.analysis.resampling import half_samples, interval
from nlgbench.names import known
from nlgbench.text import check_n

Over = Literal["outputs", "items", "annotators"]


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
    """Put intervals around HUSE, HUSE-Q and HUSE-D, by half-samples.

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
        Half-samples.
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
        half-samples as they are: its distance from the estimate is bias, which the interval
        leaves out), n_resamples, n_undefined (half-samples of too few outputs for k or of one
        class, or with an output whose judgments are all left out), reason, method.

    Raises
    ------
    ValueError
        As `huse`, or when a name is unknown or a number out of range.

    Notes
    -----
    Half-samples are drawn without replacement: the bootstrap puts copies of a held-out output among
    its own neighbors, so its center is too low. The standard error is the half-samples' standard
    deviation times ``sqrt(f / (1 - f))``, 1 for halves; the interval is normal, around the
    full estimate (`resampling.interval`). It is an interval for the expectation of HUSE at this
    number of outputs and annotators, not for L*, which lies below.

    k stays as it is in a half-sample, so a neighborhood there holds twice the share of the outputs.
    Scaled to keep the share (``replicate_neighbors=8``), votes are noisier, and HUSE's center was
    further off.

    In 200 studies of each of three worlds (two Gaussian, and reviews rated 0 to 5; 100 outputs per
    class, 20 annotators) 95% intervals held the expectation, per score and system, in .935 to .995
    over outputs, in .94 to 1 over items and, for differences (`huse_difference`), in .945 to .99.
    These are wide: standard errors are 1.0 to 1.4 times the score's standard deviation, most where
    it is near 1. Over annotators, in two of the worlds, it was .88 to .975: two of nine Gaussian
    entries were below .90 (HUSE-Q at t = .7 .880, HUSE at t = .5 .895); larger runs at t = .7 gave
    .916 to .950 (`benchmarks/coverage.py`; all of it is in `benchmarks/README.md`).

    With half the annotators mean judgments are noisier, and HUSE is higher: the interval is
    recentered on the full estimate. Annotators of different HITs are drawn independently, so what
    one annotator does alike in several HITs is not accounted for. Where each HIT holds one class
    (as in the authors' release) the annotators' leniency is confounded with the class; no
    resampling takes that out.

    Examples
    --------
    >>> from nlgbench import worlds
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
    if over == "annotators":
        k = full.n_neighbors  # no output is left out
        replicates = annotator_replicates(
            full,
            tables.check(judgments, "judgments"),
            lambda groups: half_samples(groups, n_resamples=n_resamples, seed=seed),
        )
    else:
        replicates = output_replicates(
            full,
            half_samples(
                full.features["is_human"],
                clusters=full.features["item_id"] if over == "items" else None,
                n_resamples=n_resamples,
                seed=seed,
            ),
            n_neighbors=k,
        )
    method = f"half-samples of {over}, k = {k}, normal"
    estimates = {score: getattr(full, score) for score in SCORES}
    names = {"dataset": full.dataset, "system": full.system}
    return _interval_table(names, estimates, replicates, level, method)


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
    Each replicate is a half of the items, with all their outputs: human ones and both systems'. The
    two scores of a replicate thus share human outputs and items, and so does what is common to
    their errors. Items are stratified by whose outputs they have.

    Examples
    --------
    >>> from nlgbench import worlds
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
    rows = pd.concat([one.features for one in full]).drop_duplicates("output_id")
    members = half_samples(
        rows["system"].where(~rows["is_human"], "human of any system"),
        clusters=rows["item_id"],
        n_resamples=n_resamples,
        seed=seed,
    )
    place = pd.Index(rows["output_id"])
    a, b = (
        output_replicates(one, members[:, place.get_indexer(one.features["output_id"])])
        for one in full
    )
    estimates = {score: getattr(full[0], score) - getattr(full[1], score) for score in SCORES}
    method = f"half-samples of items, k = {full[0].n_neighbors}, normal"
    names = {"dataset": full[0].dataset, "system_a": system_a, "system_b": system_b}
    return _interval_table(names, estimates, a - b, level, method)


def _interval_table(
    names: dict[str, str],
    estimates: dict[str, float],
    replicates: pd.DataFrame,
    level: float,
    method: str,
) -> pd.DataFrame:
    rows = [
        {**names, "score": score, **interval(replicates[score], estimate, level=level)}
        for score, estimate in estimates.items()
    ]
    return pd.DataFrame(rows).assign(method=method)
