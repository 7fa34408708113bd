"""HUSE on many subsamples at once, which share the neighborhoods of the full sample."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.features import scaled
from nlgbench.analysis.huse.neighbors import Floats
from nlgbench.analysis.huse.scores import SCALED, TOLERANCE, HuseResult
from nlgbench.inference import Bools

Counts = NDArray[np.integer]

#: The columns of both feature maps, HUSE's and HUSE-Q's.
MAPS = {"huse": SCALED, "huse_q": SCALED[1:]}
# Outputs x subsamples that are walked at once, so that counts stay in the cache.
_BLOCK = 200_000
# Neighbors that are sorted at first in large samples, beyond those expected to be walked.
_SPARE = 64
_SORT_ALL = 2_000


def subsample_errors(
    features: ArrayLike,
    is_machine: ArrayLike,
    members: ArrayLike,
    n_neighbors: int,
    *,
    tolerance: float = neighbors.EXACT_TOLERANCE,
    label_ties: neighbors.LabelTies = "human",
) -> Floats:
    """Twice the leave-one-out error on each of many subsamples.

    Parameters
    ----------
    features, is_machine, n_neighbors, tolerance, label_ties
        As in `neighbors.leave_one_out` and `neighbors.twice_error`; of the full sample.
    members : array-like of bool, shape (n_resamples, n)
        Which outputs each subsample holds.

    Returns
    -------
    ndarray of shape (n_resamples,)
        What `twice_error` gives for ``features[member]``, bit for bit; higher is better. NaN for a
        subsample of fewer than ``n_neighbors + 1`` outputs or of one class.

    Raises
    ------
    ValueError
        When shapes disagree.

    Notes
    -----
    All others of an output are sorted by distance once. In each subsample the neighbors of that
    output are the first members met on the way along this list: up to the k-th, and then all
    at its distance. The walk takes a step for all outputs and subsamples together.

    Examples
    --------
    >>> features, is_machine = [[0.0], [0.1], [1.0], [1.1]], [False, True, True, True]
    >>> subsample_errors(features, is_machine, [[True] * 4, [True, True, False, False]], 1)
    array([1.33333333, 2.        ])
    """
    array, label = neighbors._arrays(features, is_machine)
    inside = np.asarray(members, dtype=bool)
    if inside.ndim != 2 or inside.shape[1] != len(array):
        raise ValueError(
            f"members must have shape (n_resamples, {len(array)}), a column for each output. "
            f"Got {inside.shape}."
        )
    # 16 bits hold the counts of all but the largest samples, and are added quicker.
    counts = np.int16 if len(array) < 2**15 else np.int32
    member: Counts = np.ascontiguousarray(inside.T).astype(counts)
    machine_member: Counts = member * label[:, None].astype(counts)
    n_machine = machine_member.sum(axis=0, dtype=np.int64)
    n_human = member.sum(axis=0, dtype=np.int64) - n_machine
    fewest = max(1.0, float((n_machine + n_human).min())) / len(array)
    n_sorted = len(array) - 1
    if n_sorted > _SORT_ALL:
        n_sorted = min(n_sorted, int(2 * n_neighbors / fewest) + _SPARE)
    missed = np.zeros((2, len(inside)))
    step = max(1, _BLOCK // max(1, len(inside)))
    for rows in np.split(np.arange(len(array)), range(step, len(array), step)):
        walked = _walk(array, rows, n_sorted, member, machine_member, n_neighbors, tolerance)
        if walked is None:
            n_all = len(array) - 1
            walked = _walk(array, rows, n_all, member, machine_member, n_neighbors, tolerance)
        assert walked is not None  # the whole list always suffices
        size, machine = walked
        for_machine, for_human = machine * n_human, (size - machine) * n_machine
        truth = label[rows, None]
        wrong = np.where(truth, for_machine < for_human, for_machine > for_human).astype(float)
        if label_ties == "half":
            wrong[for_machine == for_human] = 0.5
        else:
            wrong += (for_machine == for_human) & (truth == (label_ties == "human"))
        wrong *= member[rows]
        for number in (0, 1):
            missed[number] += wrong[label[rows] == bool(number)].sum(axis=0)
    undefined = (n_machine + n_human <= n_neighbors) | (n_machine == 0) | (n_human == 0)
    found = np.full(len(inside), np.nan)
    # The sums and the one division of `twice_error`, so that not a bit differs.
    above = missed[1] * n_human + missed[0] * n_machine
    return np.divide(above, n_human * n_machine, out=found, where=~undefined)


def _walk(
    array: Floats,
    rows: NDArray[np.int64],
    n_sorted: int,
    member: Counts,
    machine_member: Counts,
    n_neighbors: int,
    tolerance: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Count the neighborhoods of some outputs in all subsamples; None if the lists are short."""
    order, distance = _nearest(array, rows, n_sorted)
    # How far the neighborhood reaches along the list when its k-th member stands at a place.
    reach = np.empty(order.shape, dtype=member.dtype)
    for row, values in enumerate(distance):
        reach[row] = np.searchsorted(values, values + tolerance, side="right")
    size = np.zeros((len(rows), member.shape[1]), dtype=member.dtype)
    machine = np.zeros_like(size)
    never = np.iinfo(member.dtype).max
    stop = np.full_like(size, never)
    for place in range(n_sorted):
        alive: Counts = (stop > place).astype(member.dtype)
        if place % 8 == 0 and not alive.any():
            break
        near = order[:, place]
        size += member[near] * alive
        machine += machine_member[near] * alive
        # Reach never decreases along the list, so the minimum keeps its first value.
        np.minimum(stop, np.where(size >= n_neighbors, reach[:, [place]], never), out=stop)
    if n_sorted < len(array) - 1 and (stop >= n_sorted)[member[rows] > 0].any():
        return None
    return size.astype(np.int64), machine.astype(np.int64)


def _nearest(
    array: Floats, rows: NDArray[np.int64], n_sorted: int
) -> tuple[NDArray[np.int64], Floats]:
    """Sort the nearest others of some outputs by distance."""
    # The arithmetic of the plain loop, to the last bit.
    square = sum((array[:, axis] - array[rows, axis, None]) ** 2 for axis in range(array.shape[1]))
    distance = np.sqrt(square)
    distance[np.arange(len(rows)), rows] = np.inf
    if n_sorted < len(array) - 1:
        near = np.argpartition(distance, n_sorted - 1, axis=1)[:, :n_sorted]
        by = np.argsort(np.take_along_axis(distance, near, axis=1), axis=1)
        order = np.take_along_axis(near, by, axis=1)
    else:
        order = np.argsort(distance, axis=1)[:, :n_sorted]
    return order, np.take_along_axis(distance, order, axis=1)


def output_replicates(
    result: HuseResult, members: ArrayLike, *, n_neighbors: int | None = None
) -> pd.DataFrame:
    """Score subsamples of the outputs behind a result.

    Parameters
    ----------
    result : HuseResult
        What `huse` returned for all outputs.
    members : array-like of bool, shape (n_resamples, n)
        Which rows of ``result.features`` each subsample holds.
    n_neighbors : int, optional
        k in the subsamples. Default: as in the result.

    Returns
    -------
    DataFrame
        A row per subsample: huse, huse_q, huse_d; NaN where undefined.

    Notes
    -----
    Features stay divided by the full sample's standard deviations, so that neighborhoods can be
    shared. All other conventions are the result's.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> from nlgbench.analysis.huse import huse
    >>> study = worlds.gaussian_world(seed=0).study
    >>> result = huse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> bool(output_replicates(result, np.ones((1, 200)))["huse"].iloc[0] == result.huse)
    True
    """
    is_machine = ~result.features["is_human"].to_numpy()
    found = {
        name: subsample_errors(
            result.features[columns],
            is_machine,
            members,
            n_neighbors or result.n_neighbors,
            tolerance=TOLERANCE[result.ties],
            label_ties=result.label_ties,
        )
        for name, columns in MAPS.items()
    }
    return pd.DataFrame(found).assign(huse_d=1 + found["huse"] - found["huse_q"])


def annotator_replicates(
    result: HuseResult,
    judgments: pd.DataFrame,
    draw: Callable[[NDArray[np.str_]], Bools],
) -> pd.DataFrame:
    """Score the outputs behind a result as fewer annotators would have judged them.

    Parameters
    ----------
    result : HuseResult
        What `huse` returned for all judgments.
    judgments : DataFrame
        The checked table that it was made from.
    draw : callable
        From the ``group_id`` of each annotator within a group, shape (u,), to which of them each
        replicate keeps, boolean of shape (n_resamples, u).

    Returns
    -------
    DataFrame
        A row per replicate: huse, huse_q, huse_d; NaN where an output has no judgment left or the
        judgments are constant.

    Notes
    -----
    What is drawn is an annotator within a group (HIT), with all judgments given there; groups are
    the strata. Judgments are scaled anew in each replicate, as `huse` would.
    """
    features = result.features
    same = judgments["dataset"].eq(result.dataset) & judgments["dimension"].eq(result.dimension)
    judged = judgments[same & judgments["output_id"].isin(features["output_id"])]
    units = judged[["group_id", "annotator_id"]].drop_duplicates(ignore_index=True)
    unit = pd.MultiIndex.from_frame(units).get_indexer(
        pd.MultiIndex.from_frame(judged[["group_id", "annotator_id"]])
    )
    row = pd.Index(features["output_id"]).get_indexer(judged["output_id"])
    shape = (len(features), len(units))
    kept = draw(units["group_id"].to_numpy(dtype=str)).T.astype(np.float64)
    total = csr_array((judged["value"].to_numpy(), (row, unit)), shape=shape) @ kept
    count = csr_array((np.ones(len(judged)), (row, unit)), shape=shape) @ kept
    is_machine = ~features["is_human"].to_numpy()
    found = np.full((kept.shape[1], len(MAPS)), np.nan)
    for replicate in np.flatnonzero((count > 0).all(axis=0)):
        mean = total[:, replicate] / count[:, replicate]
        try:
            judgment = scaled(mean, result.scaling, "judgment")[0]
        except ValueError:  # constant: undefined, and counted by whoever asked
            continue
        both = np.column_stack([features["scaled_logprob"], judgment])
        for number, columns in enumerate((both, both[:, 1:])):
            counted = neighbors.leave_one_out(
                columns, is_machine, result.n_neighbors, tolerance=TOLERANCE[result.ties]
            )
            found[replicate, number] = neighbors.twice_error(
                *counted, is_machine, label_ties=result.label_ties
            )
    table = pd.DataFrame(found, columns=list(MAPS))
    return table.assign(huse_d=1 + table["huse"] - table["huse_q"])
