"""Diagnosis of HUSE: decision boundary, predictions for outputs, and effects of conventions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd

from nlgbench.analysis.huse import neighbors, score
from nlgbench.analysis.huse.neighbors import LabelTies
from nlgbench.analysis.huse.score import Length, Scaling, Ties
from nlgbench.arrays import Floats
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

#: The conventions of Hashimoto, Zhang and Liang (2019) and of their released code.
PAPER = {
    "n_neighbors": 16,
    "ties": "released",
    "label_ties": "human",
    "scaling": "unit variance",
    "length": "per token",
}
#: Pairs in each of the authors' lists of failures, and judgments that are alike in one of them.
N_LISTED, JUDGED_ALIKE = 15, 0.5


@dataclass(frozen=True, eq=False)
class Boundary:
    """The classifier of one system's HUSE, evaluated over the plane of its two features.

    Attributes
    ----------
    system, label, source : str
        The system, its name in figures, and the source of the data.
    n_neighbors : int
        k of the classifier.
    scores : dict of str to float
        huse, huse_q, huse_d.
    outputs : DataFrame
        A row per output: its features and, for both features (``_huse``) and for the judgment alone
        (``_huse_q``), the number of neighbors, machine share, prediction and whether it is correct.
    grid : DataFrame
        The class-weighted machine share of the neighborhood, 0 to 1, at points of a grid: rows are
        judgments, columns log-probabilities per token (nats). The boundary is where it is one half.
    """

    system: str
    label: str
    source: str
    n_neighbors: int
    scores: dict[str, float]
    outputs: pd.DataFrame
    grid: pd.DataFrame


@checked
def boundary(
    study: Study,
    *,
    system: str | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    ties: Ties = "exact",
    label_ties: LabelTies = "human",
    n_grid: int = 200,
) -> Boundary:
    """Evaluate the classifier of HUSE over the plane of its features, for `plot_boundary`.

    Parameters
    ----------
    study, dimension, n_neighbors, label_ties
        As in `huse`.
    system : str, optional
        The system. Optional if the study has only one.
    ties : {"exact", "released"}
        As in `huse`, but a single rule.
    n_grid : int, default 200
        Number of points per axis, at least 2. Axes extend beyond the outputs by .05 of their range.

    Returns
    -------
    Boundary
        Scores, outputs and grid. Neighbors, ties, scales and class weights are those of the score.
        All outputs can be neighbors of a grid point, because it is not an output itself.

    Raises
    ------
    ValueError
        Under the same conditions as `huse`, or when `n_grid` is below 2.

    Examples
    --------
    >>> import nlgbench as nb
    >>> found = nb.boundary(nb.simulate("gaussian", seed=0), system="t0.7", n_grid=50)
    >>> found.grid.shape
    (50, 50)
    """
    check_n(n_grid, "n_grid", 2)
    compared = score.compare(
        study,
        score.the_system(study, system),
        dimension=dimension,
        n_neighbors=n_neighbors,
        ties=ties,
        label_ties=label_ties,
    )
    judged = study.judgments
    assert judged is not None  # `compare` has checked this
    judged = judged[judged["dimension"] == compared.dimension]
    # Use all systems, so that panels share their axes.
    means = judged.groupby("output_id")["value"].mean().to_numpy()
    axes = []
    of_study = (_finite_logprobs(study), means)
    for feature in map(np.append, compared.raw.T, of_study):
        low, high = feature.min(), feature.max()
        margin = 0.05 * (high - low)
        axes.append(np.linspace(low - margin, high + margin, n_grid))
    columns, rows = np.meshgrid(axes[0] / compared.scales[0], axes[1] / compared.scales[1])
    size, machine = neighbors.neighborhoods(
        compared.points,
        compared.is_machine,
        np.column_stack([columns.ravel(), rows.ravel()]),
        compared.n_neighbors,
        tolerance=score.TOLERANCE[compared.ties],
    )
    for_machine, for_human = neighbors.votes(size, machine, *np.bincount(compared.is_machine))
    share = (for_machine / (for_machine + for_human)).reshape(n_grid, n_grid)
    return Boundary(
        system=compared.system,
        label=study.label(compared.system),
        source=study.source,
        n_neighbors=compared.n_neighbors,
        scores=compared.scores,
        outputs=score.outputs_of(compared),
        grid=pd.DataFrame(
            share,
            index=pd.Index(axes[1], name="judgment"),
            columns=pd.Index(axes[0], name="logprob_per_token"),
        ),
    )


def _finite_logprobs(study: Study) -> Floats:
    """Compute log-probabilities per token of human texts, and of each model's own texts."""
    logprobs = study.logprobs
    assert logprobs is not None  # `compare` has checked this
    outputs = study.outputs[["output_id", "system", "is_human"]]
    table = logprobs.merge(outputs, on="output_id", validate="many_to_one")
    table = table[table["is_human"] | (table["model"] == table["system"])]
    per_token = (table["logprob"] / table["n_tokens"]).to_numpy(dtype=float)
    return per_token[np.isfinite(per_token)]


@checked
def failures(
    study: Study,
    *,
    system: str | None = None,
    dimension: str | None = None,
    n_neighbors: int = 15,
    ties: Ties = "exact",
) -> pd.DataFrame:
    """Rank pairs of a human and a machine text for the same item by how HUSE classifies them.

    Parameters
    ----------
    study, system, dimension, ties
        As in `boundary`.
    n_neighbors : int, default 15
        k of the classifier, as in the authors' lists.

    Returns
    -------
    DataFrame
        A row per ranked pair, the first of each list first: ``kind``, ``rank``, ``system``,
        ``item_id``, ``context``; for the machine text ``output_id``, ``text``,
        ``logprob_per_token`` (nats), ``judgment``, ``margin`` (-1 to 1, above 0 if classified
        correctly); and the same for the human text, ``human_*``.

    Raises
    ------
    ValueError
        Under the same conditions as `huse`, or when no item has texts of both kinds.

    Notes
    -----
    A margin is twice the share of neighbors in the text's own class, minus one (leave-one-out). If
    an item has several texts of a kind, the first is taken. Each list has 15 pairs, and more if
    margins are equal. "quality failure": the largest sums of margins. "diversity failure": the
    same, among pairs whose judgments differ by less than .5. "indistinguishable": the smallest sums
    of absolute margins. "misclassified": the smallest sums of margins. A pair can be in several.
    The lists are those of the code of Hashimoto, Zhang and Liang (2019, doi:10.18653/v1/N19-1169).

    Examples
    --------
    >>> import nlgbench as nb
    >>> pairs = nb.failures(nb.simulate("gaussian", seed=0), system="t0.7")
    >>> pairs["kind"].unique().tolist()
    ['quality failure', 'diversity failure', 'indistinguishable', 'misclassified']
    """
    system = score.the_system(study, system)
    outputs = score.outputs_of(
        score.compare(study, system, dimension=dimension, n_neighbors=n_neighbors, ties=ties)
    )
    in_class = outputs["machine_share_huse"].mask(
        outputs["is_human"], 1 - outputs["machine_share_huse"]
    )
    texts = study.outputs[["output_id", "context", "text"]]
    outputs = outputs.assign(margin=2 * in_class - 1).merge(texts, on="output_id")
    first = outputs.drop_duplicates(["item_id", "is_human"])
    machine, human = (first[first["is_human"] == is_human] for is_human in (False, True))
    columns = ["output_id", "text", "logprob_per_token", "judgment", "margin"]
    pairs = machine[["system", "item_id", "context", *columns]].merge(
        human[["item_id", *columns]].rename(columns={name: f"human_{name}" for name in columns}),
        on="item_id",
        validate="one_to_one",
    )
    if pairs.empty:
        message = f"no item of {study.name} has both a human text and one of {system}."
        raise Unsupported("no_shared_items", message)
    margins = pairs[["margin", "human_margin"]]
    alike = (pairs["judgment"] - pairs["human_judgment"]).abs() < JUDGED_ALIKE
    orders = {
        "quality failure": -margins.sum(axis=1),
        "diversity failure": -margins.sum(axis=1)[alike],
        "indistinguishable": margins.abs().sum(axis=1),
        "misclassified": margins.sum(axis=1),
    }
    lists = []
    for kind, order in orders.items():
        # Equal sums of shares may differ by rounding.
        listed = pairs.loc[order.round(9).nsmallest(N_LISTED, keep="all").index]
        listed.insert(0, "rank", np.arange(1, len(listed) + 1))
        listed.insert(0, "kind", kind)
        lists.append(listed)
    return pd.concat(lists).sort_values("rank", kind="stable", ignore_index=True)


@checked
def outputs_changed_by_ties(study: Study, *, n_neighbors: int = 16) -> pd.DataFrame:
    """List the outputs whose prediction from the judgment alone depends on the rule for ties.

    These are the rows of `Boundary.outputs` under ``ties="exact"`` whose ``predicted_human_huse_q``
    differs under ``ties="released"``.

    >>> import nlgbench as nb
    >>> len(outputs_changed_by_ties(nb.simulate("gaussian", seed=0)))  # there are no ties
    0
    """
    tables = []
    for system in score.chosen_systems(study, None):
        compared = score.compare(study, system, n_neighbors=n_neighbors)
        exact = score.outputs_of(compared)
        released = score.outputs_of(replace(compared, ties="released"))
        column = "predicted_human_huse_q"
        tables.append(exact[exact[column] != released[column]])
    return pd.concat(tables, ignore_index=True)


@checked
def impossible_outputs(study: Study) -> pd.DataFrame:
    """Compute the share of human outputs to which each model assigns probability 0.

    >>> import nlgbench as nb
    >>> impossible_outputs(nb.simulate("gaussian", seed=0))["share"].tolist()
    [0.0, 0.0, 0.0]
    """
    if study.logprobs is None:
        message = f"{study.name} has no logprobs: add a table of logprobs to the study."
        raise Unsupported("no_logprobs", message)
    human = study.outputs.loc[study.outputs["is_human"], "output_id"]
    of_people = study.logprobs[study.logprobs["output_id"].isin(human)]
    never = (of_people["logprob"] == -np.inf).groupby(of_people["model"]).mean()
    return never.rename("share").reset_index()


@checked
def multiverse(
    study: Study,
    *,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    n_neighbors: Sequence[int] = (5, 10, 15, 16, 20, 30),
) -> pd.DataFrame:
    """Compute HUSE of one study under every combination of conventions.

    Parameters
    ----------
    study, systems, dimension
        As in `huse`.
    n_neighbors : sequence of int
        The values of k. All options of `huse` for ties, label_ties, scaling and length are used.

    Returns
    -------
    DataFrame
        A row per system, combination and score: ``system``, ``n_neighbors``, ``ties``,
        ``label_ties``, ``scaling``, ``length``, ``score`` (huse, huse_q, huse_d), ``estimate``
        (higher is better), ``paper`` (True for the conventions of the paper and its code),
        ``status``, ``reason``.

    Raises
    ------
    ValueError
        Under the same conditions as `huse`.

    Notes
    -----
    HUSE-Q uses only the judgment: length has no effect on it, and of the scalings only "rank" has.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = nb.multiverse(nb.simulate("gaussian", seed=0), systems="t0.7")
    >>> len(table), int(table["paper"].sum())
    (648, 3)
    """
    for k in n_neighbors:
        check_n(k, "n_neighbors")
    rows, chosen = [], score.chosen_systems(study, systems)
    for system, scaling, length in product(chosen, get_args(Scaling), get_args(Length)):
        compared = score.compare(
            study,
            system,
            dimension=dimension,
            n_neighbors=max(n_neighbors),
            scaling=scaling,
            length=length,
        )
        for k, tie, rule in product(n_neighbors, score.TOLERANCE, get_args(LabelTies)):
            variant = replace(compared, n_neighbors=k, ties=tie, label_ties=rule)
            choices: dict[str, object] = {"n_neighbors": k, "ties": tie, "label_ties": rule}
            choices |= {"scaling": scaling, "length": length}
            rows += [
                {"system": system, **choices, "score": name, "estimate": value}
                for name, value in variant.scores.items()
            ]
    table = pd.DataFrame(rows)
    paper = (table[list(PAPER)] == pd.Series(PAPER)).all(axis=1)
    return table.assign(paper=paper, status="ok", reason="")
