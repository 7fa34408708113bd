"""HUSE: how well human outputs and a system's can be told apart, and by what."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal

import pandas as pd

from nlgbench import tables
from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.features import compared, logprob_per_token, mean_judgment, scaled
from nlgbench.names import known

Ties = Literal["exact", "released"]
Scaling = Literal["unit variance", "none", "rank"]
Length = Literal["per token", "whole text"]
#: The scores of a result, in the order of every table.
SCORES = ("huse", "huse_q", "huse_d")
#: Tie rule -> how much two distances may differ and still be equal, in unit-variance features.
TOLERANCE = {"exact": neighbors.EXACT_TOLERANCE, "released": 0.0}
#: The columns of `HuseResult.features` that the classifier sees.
SCALED = ["scaled_logprob", "scaled_judgment"]


@dataclass(frozen=True, eq=False)
class HuseResult:
    """HUSE of one system, with what was counted and how.

    Attributes
    ----------
    huse, huse_q, huse_d : float
        Both features, the judgment alone, and ``1 + huse - huse_q``. Higher is better; 0 is told
        apart always, 1 is chance. Not clipped.
    system, dataset, dimension : str
        What was compared with the human outputs, where, and which judgments.
    n_neighbors : int
        k.
    ties, label_ties, scaling, length : str
        The conventions (see `huse`).
    n_outputs, n_human, n_system : int
        Outputs compared, and of which class.
    n_judgments : int
        Judgments that the means rest on.
    n_floored : int
        Outputs whose log-probability was minus infinity.
    n_label_ties, n_label_ties_q : int
        Outputs whose vote is tied, with both features and with the judgment alone.
    n_enlarged, n_enlarged_q : int
        Neighborhoods that hold more than k outputs because of ties at the cut.
    scale_logprob, scale_judgment : float
        The standard deviations (ddof = 0) that the features were divided by; 1 under
        ``scaling="none"``, NaN under ``scaling="rank"``.
    features : DataFrame
        A row per output, in the order of the outputs: dataset, output_id, item_id, system,
        is_human, logprob_per_token (nats; the whole text's under ``length="whole text"``),
        judgment, scaled_logprob, scaled_judgment; then, for
        both features (``_huse``) and for the judgment alone (``_huse_q``): ``neighbors_*`` (int,
        at least k), ``machine_share_*`` (the class-weighted share of the neighborhood that is
        machine, 0 to 1: the leave-one-out confidence), ``predicted_human_*`` and ``correct_*``
        (nullable boolean: missing for a vote that is tied under ``label_ties="half"``).
    """

    huse: float
    huse_q: float
    huse_d: float
    system: str
    dataset: str
    dimension: str
    n_neighbors: int
    ties: Ties
    label_ties: neighbors.LabelTies
    scaling: Scaling
    length: Length
    n_outputs: int
    n_human: int
    n_system: int
    n_judgments: int
    n_floored: int
    n_label_ties: int
    n_label_ties_q: int
    n_enlarged: int
    n_enlarged_q: int
    scale_logprob: float
    scale_judgment: float
    features: pd.DataFrame = field(repr=False)


def huse(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    ties: Ties = "exact",
    label_ties: neighbors.LabelTies = "human",
    scaling: Scaling = "unit variance",
    length: Length = "per token",
) -> HuseResult:
    """Twice the leave-one-out error of telling a system's outputs from human ones.

    Parameters
    ----------
    outputs, logprobs, judgments : DataFrame
        Tables as in `nlgbench.tables`. `outputs` holds one dataset; rows of the other two that
        belong to no output compared are left aside.
    system : str, optional
        What to compare with the human outputs. May be omitted when there is one. All its outputs
        and all human ones are scored by the log-probabilities whose ``model`` has this name.
    dimension : str, optional
        Which judgments to average. May be omitted when there is one dimension.
    n_neighbors : int
        k, of the k-nearest-neighbor classifier.
    ties : {"exact", "released"}
        ``"exact"``: distances that differ by at most 1e-9 (in unit-variance features) are equal.
        ``"released"``: distances are compared as they come out in floating point, which is what
        the authors' code did; the result then hangs on rounding, and on the order of the outputs
        through the rounding of the standard deviation.
    label_ties : {"human", "system", "half"}
        What a tied vote predicts; ``"half"`` counts half an error. The authors' is ``"human"``.
    scaling : {"unit variance", "none", "rank"}
        What distances are measured in: features divided by their standard deviation (the paper's),
        features as they are, or average ranks divided by theirs.
    length : {"per token", "whole text"}
        Whether the log-probability is divided by the number of tokens, as in the paper (eq. 5).

    Returns
    -------
    HuseResult
        The three scores, higher is better, with conventions, counts and each output's features.

    Raises
    ------
    ValueError
        When a table breaks its rules (`TableError`), there are several datasets, systems or
        dimensions and none is named, a name is unknown, a class is empty, an output has no
        judgment or no log-probability under the system, all log-probabilities of a system are
        infinite, a feature is constant, or there are fewer than k + 1 outputs.

    Notes
    -----
    Features are the log-probability per token and the mean judgment, divided by their standard
    deviation (ddof = 0). HUSE is the estimate of ``L(phi) = 2 inf_f P[f(phi) != z]`` for both
    features, HUSE-Q for the judgment alone, and HUSE-D = 1 + HUSE - HUSE-Q (Hashimoto, Zhang and
    Liang 2019, sections 3 and 4, eq. 3 and 7-9, algorithm 1, doi:10.18653/v1/N19-1169).

    The neighborhood of an output holds the k nearest others and all others at the distance of
    the k-th. L gives each class a probability of one half, so where the classes are not of one
    size votes weigh the inverse of their class's size, and the score is the error rate among
    the human outputs plus that among the system's: with classes of one size, twice the error.

    A log-probability of minus infinity is replaced, after dividing by length, by the least finite
    one minus one nat per token. Scores are not clipped to [0, 1]: with no difference between
    the classes and 200 outputs they range over about .83 to 1.20. A fixed k keeps the error of the
    k-NN classifier above the optimal one however many outputs there are: with k = 16 and 20,000
    outputs per class, HUSE and HUSE-Q were .01 to .06 above the truth in simulated worlds.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> result = huse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> result.n_outputs, abs(result.huse_d - (1 + result.huse - result.huse_q)) < 1e-12
    (200, True)
    """
    return huse_of_checked(
        tables.check(outputs, "outputs"),
        tables.check(logprobs, "logprobs"),
        tables.check(judgments, "judgments"),
        system=system,
        dimension=dimension,
        n_neighbors=n_neighbors,
        ties=ties,
        label_ties=label_ties,
        scaling=scaling,
        length=length,
    )


def huse_of_checked(
    outputs: pd.DataFrame,
    logprobs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    system: str | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    ties: Ties = "exact",
    label_ties: neighbors.LabelTies = "human",
    scaling: Scaling = "unit variance",
    length: Length = "per token",
) -> HuseResult:
    """Score as `huse`, where tables were checked before: checking takes longer than scoring."""
    tolerance = TOLERANCE[known(ties, list(TOLERANCE), "ties")]
    known(label_ties, ["human", "system", "half"], "label_ties")
    rows, system = compared(outputs, system)
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, Integral) or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number, at least 1. Got {n_neighbors!r}.")
    if len(rows) < n_neighbors + 1:
        raise ValueError(
            f"n_neighbors = {n_neighbors} needs at least {n_neighbors + 1} outputs, human and "
            f"{system!r} together. Got {len(rows)}: add outputs or lower n_neighbors."
        )
    logprob, n_floored = logprob_per_token(rows, logprobs, system, length=length)
    judgment, dimension, n_judgments = mean_judgment(rows, judgments, dimension)
    scaled_logprob, scale_logprob = scaled(logprob, scaling, "logprob")
    scaled_judgment, scale_judgment = scaled(judgment, scaling, "judgment")
    features = rows.assign(
        logprob_per_token=logprob,
        judgment=judgment,
        scaled_logprob=scaled_logprob,
        scaled_judgment=scaled_judgment,
    )
    is_machine = ~features["is_human"].to_numpy()
    score, n_label_ties, n_enlarged = {}, {}, {}
    for name, columns in {"huse": SCALED, "huse_q": SCALED[1:]}.items():
        size, machine = neighbors.leave_one_out(
            features[columns], is_machine, n_neighbors, tolerance=tolerance
        )
        score[name] = neighbors.twice_error(size, machine, is_machine, label_ties=label_ties)
        for_machine, for_human = neighbors.votes(size, machine, is_machine)
        tied = for_machine == for_human
        n_label_ties[name] = int(tied.sum())
        n_enlarged[name] = int((size > n_neighbors).sum())
        human = pd.Series(for_human > for_machine, index=features.index, dtype="boolean")
        human[tied] = {"human": True, "system": False, "half": pd.NA}[label_ties]
        features[f"neighbors_{name}"] = size
        features[f"machine_share_{name}"] = for_machine / (for_machine + for_human)
        features[f"predicted_human_{name}"] = human
        features[f"correct_{name}"] = human == features["is_human"]
    return HuseResult(
        huse=score["huse"],
        huse_q=score["huse_q"],
        huse_d=1 + score["huse"] - score["huse_q"],
        system=system,
        dataset=features["dataset"].iloc[0],
        dimension=dimension,
        n_neighbors=int(n_neighbors),
        ties=ties,
        label_ties=label_ties,
        scaling=scaling,
        length=length,
        n_outputs=len(features),
        n_human=int((~is_machine).sum()),
        n_system=int(is_machine.sum()),
        n_judgments=n_judgments,
        n_floored=n_floored,
        n_label_ties=n_label_ties["huse"],
        n_label_ties_q=n_label_ties["huse_q"],
        n_enlarged=n_enlarged["huse"],
        n_enlarged_q=n_enlarged["huse_q"],
        scale_logprob=scale_logprob,
        scale_judgment=scale_judgment,
        features=features,
    )


def score_table(results: Iterable[HuseResult]) -> pd.DataFrame:
    """Lay out several results as one long table.

    Parameters
    ----------
    results : iterable of HuseResult
        From `huse`.

    Returns
    -------
    DataFrame
        Three rows per result: ``dataset``, ``system``, ``score`` (``huse``, ``huse_q``,
        ``huse_d``), ``estimate`` (higher is better), and the conventions ``n_neighbors``,
        ``ties``, ``label_ties``, ``n_outputs``.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> study = worlds.gaussian_world(seed=0).study
    >>> result = huse(study.outputs, study.logprobs, study.judgments, system="t0.7")
    >>> score_table([result])["score"].tolist()
    ['huse', 'huse_q', 'huse_d']
    """
    rows = [
        {
            "dataset": result.dataset,
            "system": result.system,
            "score": score,
            "estimate": getattr(result, score),
            "n_neighbors": result.n_neighbors,
            "ties": result.ties,
            "label_ties": result.label_ties,
            "n_outputs": result.n_outputs,
        }
        for result in results
        for score in SCORES
    ]
    return pd.DataFrame(rows)
