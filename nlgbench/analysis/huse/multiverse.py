"""What HUSE's conventions do to it: one study under all their combinations."""

from collections.abc import Sequence
from itertools import product

import pandas as pd

from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.replicates import MAPS
from nlgbench.analysis.huse.scores import TOLERANCE, Length, Scaling, Ties, huse
from nlgbench.names import known
from nlgbench.text import check_n

#: The choices of Hashimoto, Zhang and Liang (2019) and of their released code.
PAPER = {
    "n_neighbors": 16,
    "ties": "released",
    "label_ties": "human",
    "scaling": "unit variance",
    "length": "per token",
}


def multiverse(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    dimension: str | None = None,
    n_neighbors: Sequence[int] = (5, 10, 15, 16, 20, 30),
    ties: Sequence[Ties] = ("exact", "released"),
    label_ties: Sequence[neighbors.LabelTies] = ("human", "system", "half"),
    scaling: Sequence[Scaling] = ("unit variance", "none", "rank"),
    length: Sequence[Length] = ("per token", "whole text"),
) -> pd.DataFrame:
    """Score one study under every combination of conventions.

    Parameters
    ----------
    outputs, logprobs, judgments, system, dimension
        As in `huse`.
    n_neighbors, ties, label_ties, scaling, length : sequence
        The choices for each of `huse`'s keywords.

    Returns
    -------
    DataFrame
        A row per combination and score: dataset, system, n_neighbors, ties, label_ties, scaling,
        length, score (huse, huse_q, huse_d), estimate (higher is better), paper (true for the
        choice of the paper and its code: `PAPER`).

    Raises
    ------
    ValueError
        As `huse`.

    Notes
    -----
    HUSE-Q has one feature, so neither length nor, but for ranks, scaling changes it.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> table = multiverse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> len(table), int(table["paper"].sum())
    (648, 3)
    """
    for tie in ties:
        known(tie, list(TOLERANCE), "ties")
    rows = []
    for scale, divided in product(scaling, length):
        full = huse(
            outputs,
            logprobs,
            judgments,
            system=system,
            dimension=dimension,
            n_neighbors=max(n_neighbors),
            scaling=scale,
            length=divided,
        )
        is_machine = ~full.features["is_human"].to_numpy()
        for k, tie in product(n_neighbors, ties):
            check_n(k, "n_neighbors")
            counted = {
                name: neighbors.leave_one_out(
                    full.features[columns], is_machine, k, tolerance=TOLERANCE[tie]
                )
                for name, columns in MAPS.items()
            }
            for rule in label_ties:
                choice: dict[str, int | str] = {"n_neighbors": k, "ties": tie, "label_ties": rule}
                choice |= {"scaling": scale, "length": divided}
                found = {
                    name: neighbors.twice_error(*counts, is_machine, label_ties=rule)
                    for name, counts in counted.items()
                }
                found["huse_d"] = 1 + found["huse"] - found["huse_q"]
                names = {"dataset": full.dataset, "system": full.system, **choice}
                rows += [
                    {**names, "score": score, "estimate": value, "paper": choice == PAPER}
                    for score, value in found.items()
                ]
    return pd.DataFrame(rows)
