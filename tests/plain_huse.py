"""The plain loop over outputs: what the fast neighborhoods are tested and timed against."""

import numpy as np
from numpy.typing import NDArray


def plain_leave_one_out(
    features: NDArray[np.float64],
    is_machine: NDArray[np.bool_],
    n_neighbors: int,
    *,
    tolerance: float,
    label_ties: str = "human",
    sort_outputs: bool = True,
) -> tuple[float, NDArray[np.int64], NDArray[np.int64]]:
    """For each output: sort all others by distance, count up to the cut, vote.

    Returns twice the class-balanced error, and each neighborhood's size and machine count.
    `sort_outputs=False` sorts the bare distances instead, to find the cut alone: the same answer,
    and quicker where NumPy sorts plain numbers with vector instructions.
    """
    n_machine = int(is_machine.sum())
    n_human = len(is_machine) - n_machine
    size = np.empty(len(features), dtype=np.int64)
    machine = np.empty(len(features), dtype=np.int64)
    errors = {True: 0.0, False: 0.0}
    for row in range(len(features)):
        others = np.delete(np.sqrt(((features - features[row]) ** 2).sum(axis=1)), row)
        labels = np.delete(is_machine, row)
        if sort_outputs:
            order = np.argsort(others)
            others, labels = others[order], labels[order]
            inside = others <= others[n_neighbors - 1] + tolerance
        else:
            inside = others <= np.sort(others)[n_neighbors - 1] + tolerance
        size[row] = inside.sum()
        machine[row] = labels[inside].sum()
        truth = bool(is_machine[row])
        for_machine = int(machine[row]) * n_human
        for_human = int(size[row] - machine[row]) * n_machine
        if for_machine == for_human:
            errors[truth] += {"human": float(truth), "system": float(not truth), "half": 0.5}[
                label_ties
            ]
        else:
            errors[truth] += (for_machine > for_human) != truth
    missed = errors[True] * n_human + errors[False] * n_machine
    return missed / (n_human * n_machine), size, machine
