"""Scores beside judgments: joined output by output, and resampled."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from nlgbench import tables
from nlgbench.analysis.coefficients.pair_statistics import Floats, equalized
from nlgbench.names import known


@dataclass(frozen=True)
class Judged:
    """Outputs with their judgments and scores.

    Attributes
    ----------
    dataset : str
        Which.
    rows : DataFrame
        A row per output that has a judgment: output_id, item_id, system, cluster, judgment (mean
        over annotators).
    scores : DataFrame
        The same rows, a column per evaluator; NaN where an output has no score.
    n_outputs : int
        Outputs that should have both.
    turned : tuple of str
        Evaluators of which lower was better: their scores are negated.
    """

    dataset: str
    rows: pd.DataFrame
    scores: pd.DataFrame
    n_outputs: int
    turned: tuple[str, ...] = ()


def judged_scores(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    dimension: str | None = None,
    clusters: str | None = None,
    include_human: bool = False,
) -> Judged:
    """Join scores and judgments of the same outputs.

    Parameters
    ----------
    outputs, scores, judgments : DataFrame
        The tables, of one dataset.
    dimension : str, optional
        Of the judgments; may be omitted where there is one.
    clusters : str, optional
        ``"group_id"`` (HIT, of the judgments) or a column of `outputs`, such as ``"context"``.
        Default: ``item_id``.
    include_human : bool
        Whether humans are systems, too.

    Returns
    -------
    Judged
        Each output's judgments are averaged first, so that every output weighs the same
        whatever the number of its annotators. Scores whose signature says ``direction:lower`` are
        negated, so that higher is better everywhere. Values that differ by at most 1e-9 standard
        deviations are made equal.

    Raises
    ------
    ValueError
        When a table breaks a rule, there are several datasets, a score or a judgment is of an
        output that `outputs` does not have, a dimension or column is unknown, or nothing is left.

    Examples
    --------
    >>> outputs = pd.DataFrame({"dataset": "d", "output_id": ["a", "b"], "item_id": ["1", "1"],
    ...     "system": ["s", "t"], "text": "", "is_human": False, "context": ""})
    >>> scores = pd.DataFrame({"dataset": "d", "output_id": ["a", "b"], "evaluator": "e",
    ...     "score": [1.0, 2.0], "signature": ""})
    >>> judgments = pd.DataFrame({"dataset": "d", "output_id": ["a", "a", "b"],
    ...     "annotator_id": ["v", "w", "v"], "dimension": "q", "value": [1.0, 2.0, 3.0],
    ...     "group_id": ""})
    >>> judged_scores(outputs, scores, judgments).rows["judgment"].tolist()
    [1.5, 3.0]
    """
    outputs = tables.check(outputs, "outputs")
    scores, judgments = tables.check(scores, "scores"), tables.check(judgments, "judgments")
    datasets = sorted({*outputs["dataset"], *scores["dataset"], *judgments["dataset"]})
    if len(datasets) != 1:
        raise ValueError(
            f"outputs, scores and judgments must be of one dataset. Got {len(datasets)} "
            f"({', '.join(datasets)}): filter, as in scores[scores['dataset'] == ...]."
        )
    for name, table in (("scores", scores), ("judgments", judgments)):
        unknown = table.loc[~table["output_id"].isin(outputs["output_id"]), "output_id"].unique()
        if len(unknown):
            raise ValueError(
                f"{name} has {len(unknown)} outputs that `outputs` does not have, such as "
                f"{unknown[0]!r}: drop them, or add them to `outputs`."
            )
    dimensions = sorted(judgments["dimension"].unique())
    if dimension is None and len(dimensions) > 1:
        raise ValueError(
            f"judgments have {len(dimensions)} dimensions ({', '.join(dimensions)}): name one, "
            "dimension=..."
        )
    if dimension is not None:
        known(dimension, dimensions, "dimension")
        judgments = judgments[judgments["dimension"] == dimension]
    rows = outputs if include_human else outputs[~outputs["is_human"]]
    turned = scores["signature"].str.contains("direction:lower", regex=False)
    scores = scores.assign(score=scores["score"].where(~turned, -scores["score"]))
    wide = scores.pivot(index="output_id", columns="evaluator", values="score")
    rows = rows[["output_id", "item_id", "system"]].assign(
        cluster=_clusters(rows, judgments, clusters),
        judgment=equalized(
            rows["output_id"]
            .map(judgments.groupby("output_id")["value"].mean())
            .to_numpy(dtype=np.float64)
        ),
    )
    n_outputs = len(rows)
    rows = rows[rows["judgment"].notna()].reset_index(drop=True)
    if rows.empty or wide.empty:
        raise ValueError(
            f"{n_outputs} outputs{'' if include_human else ' that are not human'} have no "
            "judgment, or no evaluator has a score: check the output_id of the three tables."
        )
    if (rows["cluster"].isna() | (rows["cluster"] == "")).any():
        raise ValueError(
            f"clusters={clusters!r} is empty for some judged outputs: fill it in, or choose "
            "another column."
        )
    aligned = wide.reindex(rows["output_id"]).reset_index(drop=True)
    aligned = aligned.apply(lambda one: equalized(one.to_numpy(dtype=np.float64)), raw=False)
    names = tuple(str(name) for name in scores.loc[turned, "evaluator"].unique())
    return Judged(datasets[0], rows, aligned, n_outputs, names)


def _clusters(rows: pd.DataFrame, judgments: pd.DataFrame, column: str | None) -> pd.Series:
    """Give each output its cluster."""
    if column is None:
        return rows["item_id"]
    if column != "group_id":
        return rows[known(column, [*rows.columns, "group_id"], "clusters")]
    of = judgments.groupby("output_id")["group_id"]
    several = of.nunique()[lambda n: n > 1]
    if len(several):
        raise ValueError(
            f"output {several.index[0]!r} was judged in {several.iloc[0]} groups, so it lies in no "
            "one cluster: drop the judgments of one group, or resample items."
        )
    return rows["output_id"].map(of.first())


def bootstrap_counts(
    strata: ArrayLike, n_resamples: int, seed: int | np.random.Generator
) -> Floats:
    """Draw units with replacement, within strata: how often each is in each resample.

    Parameters
    ----------
    strata : array-like of shape (n,)
        A label for each unit; as many are drawn from a stratum as it has.
    n_resamples : int
        Resamples.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    ndarray of shape (n_resamples, n)
        Whole numbers.

    Examples
    --------
    >>> bootstrap_counts(["a", "a", "b"], 2, seed=0).sum(axis=1)
    array([3., 3.])
    """
    rng = np.random.default_rng(seed)
    label = pd.factorize(np.asarray(strata))[0]
    counts = np.zeros((n_resamples, len(label)))
    for stratum in range(label.max() + 1):
        members = np.flatnonzero(label == stratum)
        drawn = rng.integers(len(members), size=(n_resamples, len(members)))
        drawn += len(members) * np.arange(n_resamples)[:, None]
        found = np.bincount(drawn.reshape(-1), minlength=n_resamples * len(members))
        counts[:, members] = found.reshape(n_resamples, -1)
    return counts


def draws(
    cluster: NDArray[np.int64],
    system: NDArray[np.int64],
    *,
    resample: str | None,
    n_resamples: int,
    seed: int | np.random.Generator,
) -> Iterator[tuple[Floats, Floats]]:
    """Draw clusters of outputs, systems or both, some resamples at a time.

    Parameters
    ----------
    cluster, system : ndarray of int of shape (n,)
        Numbers of each output's cluster and system, from 0 without gaps.
    resample : {"items", "systems", "both"}
        What is drawn; the other counts once in every resample. Where every cluster is of one
        system, clusters are drawn within systems.
    n_resamples : int
        In all.
    seed : int or Generator
        Where the random numbers come from.

    Yields
    ------
    tuple of ndarray
        Counts of the clusters (r, clusters) and of the systems (r, systems).

    Examples
    --------
    >>> one = next(draws(np.array([0, 1]), np.array([0, 0]), resample="items", n_resamples=3,
    ...                  seed=0))
    >>> one[0].sum(axis=1), one[1].tolist()
    (array([2., 2., 2.]), [[1.0], [1.0], [1.0]])
    """
    rng = np.random.default_rng(seed)
    n_clusters, n_systems = cluster.max() + 1, system.max() + 1
    pairs = np.unique(np.stack([cluster, system]), axis=1)
    apart = pairs.shape[1] == n_clusters
    strata = pairs[1] if apart else np.zeros(n_clusters)
    step = max(1, (1 << 23) // len(cluster))
    for start in range(0, n_resamples, step):
        r = min(step, n_resamples - start)
        of_clusters, of_systems = np.ones((r, n_clusters)), np.ones((r, n_systems))
        if resample in ("items", "both"):
            of_clusters = bootstrap_counts(strata, r, rng)
        if resample in ("systems", "both"):
            of_systems = bootstrap_counts(np.zeros(n_systems), r, rng)
        yield of_clusters, of_systems
