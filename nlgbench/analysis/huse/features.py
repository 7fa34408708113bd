"""The two features of HUSE, put together from tables; what is missing is named."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from nlgbench.analysis.huse.neighbors import Floats
from nlgbench.names import known

#: What a feature is divided by, and what the log-probability is divided by; the paper's first.
SCALINGS = ("unit variance", "none", "rank")
LENGTHS = ("per token", "whole text")


def _only(name: str | None, choices: Sequence[str], what: str) -> str:
    """Return the choice named, or the only one there is."""
    if name is not None:
        return known(name, choices, what)
    if len(choices) != 1:
        raise ValueError(
            f"{len(choices)} {what}s are there ({', '.join(choices)}): name one, {what}=..."
        )
    return choices[0]


def compared(outputs: pd.DataFrame, system: str | None) -> tuple[pd.DataFrame, str]:
    """Choose the outputs that are compared: the human ones and one system's.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset.
    system : str, optional
        Which; may be omitted where there is one.

    Returns
    -------
    DataFrame
        ``dataset``, ``output_id``, ``item_id``, ``system``, ``is_human``.
    str
        The system.

    Raises
    ------
    ValueError
        When there are several datasets, one class only, or the system is unknown or not named.
    """
    datasets = outputs["dataset"].unique()
    if len(datasets) > 1:
        raise ValueError(
            f"outputs must hold one dataset. Got {len(datasets)} ({', '.join(datasets)}): "
            "filter, as in outputs[outputs['dataset'] == ...]."
        )
    human = outputs["is_human"]
    machines = sorted(outputs.loc[~human, "system"].unique())
    if not human.any() or not machines:
        absent = "human" if not human.any() else "machine"
        raise ValueError(
            f"outputs must hold both classes. Found {int(human.sum())} human and "
            f"{int((~human).sum())} machine outputs: add {absent} ones, or mend is_human."
        )
    system = _only(system, machines, "system")
    names = ["dataset", "output_id", "item_id", "system", "is_human"]
    rows = outputs.loc[human | (outputs["system"] == system), names]
    return rows.reset_index(drop=True), system


def none_missing(rows: pd.DataFrame, missing: pd.Series, what: str, way_out: str) -> None:
    """Refuse rows that lack something, naming the first five.

    Parameters
    ----------
    rows : DataFrame
        Outputs, with ``output_id``.
    missing : Series of bool
        Which of them lack it.
    what, way_out : str
        What is wrong, and what to do.

    Raises
    ------
    ValueError
        When any is missing.
    """
    ids = rows.loc[missing, "output_id"]
    if len(ids):
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        raise ValueError(
            f"{len(ids)} of {len(rows)} outputs {what}: {', '.join(ids[:5])}{more}. Every output "
            f"compared needs both features: {way_out}."
        )


def logprob_per_token(
    rows: pd.DataFrame, logprobs: pd.DataFrame, system: str, *, length: str = "per token"
) -> tuple[Floats, int]:
    """Divide each output's log-probability by its length, in nats.

    Parameters
    ----------
    rows : DataFrame
        The outputs compared.
    logprobs : DataFrame
        The ``logprobs`` table.
    system : str
        Whose model.
    length : {"per token", "whole text"}
        ``"whole text"`` does not divide.

    Returns
    -------
    ndarray of shape (n,)
        In the order of `rows`; minus infinity is floored at the least finite value minus one.
    int
        How many were floored.

    Raises
    ------
    ValueError
        When an output has none, or none is finite.
    """
    logprobs = logprobs[logprobs["dataset"] == rows["dataset"].iloc[0]]
    known(system, sorted(logprobs["model"].unique()), "model in logprobs")
    under = logprobs.loc[logprobs["model"] == system, ["output_id", "logprob", "n_tokens"]]
    joined = rows.merge(under, on="output_id", how="left", validate="one_to_one")
    way_out = "score them with the system's model, or drop them from `outputs`"
    missing = joined["logprob"].isna()
    none_missing(rows, missing, f"have no log-probability under model {system!r}", way_out)
    divisor = joined["n_tokens"] if known(length, LENGTHS, "length") == "per token" else 1
    per_token = (joined["logprob"] / divisor).to_numpy(dtype=np.float64)
    finite = np.isfinite(per_token)
    if not finite.any():
        raise ValueError(
            f"every log-probability under model {system!r} is infinite, so there is nothing to "
            "floor them at: check how logprobs were computed."
        )
    return np.where(finite, per_token, per_token[finite].min() - 1), int((~finite).sum())


def mean_judgment(
    rows: pd.DataFrame, judgments: pd.DataFrame, dimension: str | None
) -> tuple[Floats, str, int]:
    """Average each output's judgments.

    Parameters
    ----------
    rows : DataFrame
        The outputs compared.
    judgments : DataFrame
        The ``judgments`` table.
    dimension : str, optional
        Which; may be omitted where there is one.

    Returns
    -------
    ndarray of shape (n,)
        In the order of `rows`.
    str
        The dimension.
    int
        How many judgments were averaged.

    Raises
    ------
    ValueError
        When an output has none, or the dimension is unknown or not named.
    """
    same = judgments["dataset"] == rows["dataset"].iloc[0]
    judged = judgments[same & judgments["output_id"].isin(rows["output_id"])]
    if judged.empty:
        raise ValueError("no judgment is of an output compared: check dataset and output_id.")
    dimension = _only(dimension, sorted(judged["dimension"].unique()), "dimension")
    judged = judged[judged["dimension"] == dimension]
    mean = rows["output_id"].map(judged.groupby("output_id")["value"].mean())
    way_out = "have them judged, or drop them from `outputs`"
    none_missing(rows, mean.isna(), f"have no judgment of {dimension!r}", way_out)
    return mean.to_numpy(dtype=np.float64), dimension, len(judged)


def scale_of(feature: Floats, name: str) -> float:
    """Take the standard deviation (ddof = 0) that gives a feature unit variance.

    Parameters
    ----------
    feature : ndarray of shape (n,)
        Its values.
    name : str
        For the message.

    Returns
    -------
    float
        Above 0.

    Raises
    ------
    ValueError
        When the feature is constant.
    """
    scale = float(np.std(feature))
    # Means of equal judgments may differ in the last bit: that is constant, too.
    if not scale > 1e-12 * float(np.abs(feature).max()):
        raise ValueError(
            f"the {name} feature is constant ({feature[0]:g} for all {len(feature)} outputs): it "
            "cannot be scaled to unit variance and tells nothing apart. Check the column."
        )
    return scale


def scaled(feature: Floats, scaling: str, name: str) -> tuple[Floats, float]:
    """Bring a feature to the scale in which distances are measured.

    Parameters
    ----------
    feature : ndarray of shape (n,)
        Its values.
    scaling : {"unit variance", "none", "rank"}
        ``"rank"`` takes average ranks, divided by their standard deviation.
    name : str
        For the message.

    Returns
    -------
    ndarray of shape (n,)
        Scaled.
    float
        What it was divided by; NaN under ``"rank"``, which is not a division.

    Raises
    ------
    ValueError
        When the feature is constant, or the scaling unknown.

    Examples
    --------
    >>> scaled(np.array([1.0, 3.0]), "unit variance", "judgment")
    (array([1., 3.]), 1.0)
    """
    known(scaling, SCALINGS, "scaling")
    scale = scale_of(feature, name)
    if scaling == "rank":
        # Means of equal judgments may differ in the last bit: they are of one rank.
        ranks = rankdata(np.round(feature / scale, 9))
        return ranks / np.std(ranks), float("nan")
    scale = scale if scaling == "unit variance" else 1.0
    return feature / scale, scale
