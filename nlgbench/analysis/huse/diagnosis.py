"""What the classifier behind HUSE sees: its decision over the plane, and its failures."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.features import none_missing
from nlgbench.analysis.huse.scores import SCALED, TOLERANCE, HuseResult


@dataclass(frozen=True, eq=False)
class DecisionGrid:
    """The classifier behind a HUSE, evaluated on a grid of new points.

    Attributes
    ----------
    logprob_per_token, judgment : ndarray of shape (g,)
        Where the grid stands, in nats and in the scale of the judgments.
    machine_share : ndarray of shape (g, g)
        Class-weighted share of the neighborhood that is machine, 0 to 1; rows are judgments,
        columns log-probabilities. One half is the decision boundary.
    """

    logprob_per_token: neighbors.Floats
    judgment: neighbors.Floats
    machine_share: neighbors.Floats


def decision_grid(result: HuseResult, *, n_grid: int = 200, pad: float = 0.05) -> DecisionGrid:
    """Evaluate the classifier behind a result on a grid, for shading.

    Parameters
    ----------
    result : HuseResult
        What `huse` returned.
    n_grid : int
        Points along each axis, at least 2.
    pad : float
        How far the grid reaches beyond the outputs, as a share of their range; at least 0.

    Returns
    -------
    DecisionGrid
        Both axes, and the machine share, 0 to 1, at each of their crossings.

    Raises
    ------
    ValueError
        When `n_grid` or `pad` is out of range, or features were scaled to ranks.

    Notes
    -----
    Same neighbors, ties, scales and class weights as the number; but a point of the grid is new,
    so all outputs can be its neighbors. At an output's own place the share may therefore differ
    from its leave-one-out confidence in ``result.features``.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> from nlgbench.analysis.huse import huse
    >>> study = worlds.gaussian_world(seed=0).study
    >>> result = huse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> decision_grid(result, n_grid=50).machine_share.shape
    (50, 50)
    """
    if n_grid < 2 or not pad >= 0:
        raise ValueError(
            f"n_grid must be at least 2 and pad at least 0. Got n_grid={n_grid}, pad={pad}."
        )
    if result.scaling == "rank":
        raise ValueError(
            "a grid point has no rank among the outputs: draw the result of another scaling."
        )
    features = result.features
    axes = []
    for name in ("logprob_per_token", "judgment"):
        low, high = features[name].min(), features[name].max()
        margin = pad * (high - low)
        axes.append(np.linspace(low - margin, high + margin, n_grid))
    columns, rows = np.meshgrid(axes[0] / result.scale_logprob, axes[1] / result.scale_judgment)
    is_machine = ~features["is_human"].to_numpy()
    size, machine = neighbors.neighborhoods(
        features[SCALED],
        is_machine,
        np.column_stack([columns.ravel(), rows.ravel()]),
        result.n_neighbors,
        tolerance=TOLERANCE[result.ties],
    )
    for_machine, for_human = neighbors.votes(size, machine, is_machine)
    share = for_machine / (for_machine + for_human)
    return DecisionGrid(axes[0], axes[1], share.reshape(n_grid, n_grid))


def failures(result: HuseResult, outputs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Sort outputs by what gives them away: the failure browser.

    Parameters
    ----------
    result : HuseResult
        What `huse` returned.
    outputs : DataFrame, optional
        The outputs table it was made from, to show texts and contexts.

    Returns
    -------
    DataFrame
        A row per output, by item_id, the system's before the human ones: dataset, item_id, kind,
        output_id, system, is_human, [context, text,] logprob_per_token (nats), judgment,
        machine_share_huse, machine_share_huse_q (leave-one-out, 0 to 1). ``kind`` is "quality
        failure" (told apart by the judgment alone, and by both features), "diversity failure"
        (by both features only), or "indistinguishable" (not told apart by both features; a vote
        tied under ``label_ties="half"`` tells nothing apart).

    Raises
    ------
    ValueError
        When an output of the result is missing from `outputs`, or a table breaks its rules.

    Notes
    -----
    The three kinds of table 2 of Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169.
    A human output is a failure in the same sense: the classifier knows it from the system's.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> from nlgbench.analysis.huse import huse
    >>> study = worlds.gaussian_world(seed=0).study
    >>> result = huse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> sorted(failures(result, study.outputs)["kind"].unique())
    ['diversity failure', 'indistinguishable', 'quality failure']
    """
    table = result.features
    both = table["correct_huse"].fillna(False).to_numpy(dtype=bool)
    alone = table["correct_huse_q"].fillna(False).to_numpy(dtype=bool)
    kind = np.where(both, np.where(alone, "quality failure", "diversity failure"), "")
    table = table.assign(kind=np.where(both, kind, "indistinguishable"))
    shown: list[str] = []
    if outputs is not None:
        shown = ["context", "text"]
        keys = tables.keys("outputs")
        known = tables.check(outputs, "outputs")[keys + shown]
        table = table.merge(known, on=keys, how="left", validate="one_to_one")
        none_missing(table, table["text"].isna(), "are not in `outputs`", "pass the same table")
    names = ["dataset", "item_id", "kind", "output_id", "system", "is_human", *shown]
    names += ["logprob_per_token", "judgment", "machine_share_huse", "machine_share_huse_q"]
    by = ["item_id", "is_human", "output_id"]
    return table.sort_values(by, kind="stable", ignore_index=True)[names]
