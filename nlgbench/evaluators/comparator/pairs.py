"""Pairs of outputs to train a comparator on, by three kinds of supervision.

Two outputs make a pair where their contexts are equal. Where texts answer to nothing, so that
every context is empty, any two do.
"""

from itertools import permutations

import numpy as np
import pandas as pd

from nlgbench import schema
from nlgbench.evaluators.comparator.draws import check_n, draw_between, draw_within, paired
from nlgbench.evaluators.comparator.splits import one_dataset
from nlgbench.names import did_you_mean

_COLUMNS = ["supervision", "dataset", "item_id", "output_a", "output_b"]
_COLUMNS += ["context_a", "text_a", "context_b", "text_b", "outcome", "margin"]


def strong_pairs(
    outputs: pd.DataFrame, *, n: int = 4_000, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Draw pairs in which a human text beats a machine's, and two of one source tie.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset; training texts only. Human references may be added to
        it as outputs of a system ``human``.
    n : int
        Pairs: half human against machine, a quarter human against human, a quarter of one machine
        system; fewer of a kind where there are not so many.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per pair: supervision (``strong``), dataset, item_id (output a's), output_a,
        output_b, context_a, text_a, context_b, text_b, outcome (``better``: a is; ``tie``), margin
        (NaN).

    Raises
    ------
    ValueError
        When no human text shares a context with a machine's.

    Notes
    -----
    Zhou and Xu (2020, section 3.1, doi:10.1609/aaai.v34i05.6521). All pairs of as many human and
    machine texts are half ties, about; so is this draw. They draw a machine's ties from one
    checkpoint of one model, so here they come from one system: where each has one output per
    context there are none. Pairs of a kind are drawn alike, without replacement; equal texts are
    left out. Which text stands first teaches nothing: training shows both orders.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": ""}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n} for n in "abcd"])
    >>> outputs["is_human"] = [True, True, False, False]
    >>> outputs["system"] = outputs["is_human"].map({True: "human", False: "m"})
    >>> strong_pairs(outputs, n=8, seed=0)["outcome"].value_counts().to_dict()
    {'better': 4, 'tie': 2}
    """
    table = one_dataset(outputs)
    check_n(n, "n")
    rng = np.random.default_rng(seed)
    source = np.where(table["is_human"], "", "m" + table["system"])
    human = table["is_human"].to_numpy()
    parts = [
        paired(table, *draw_between(table, human, ~human, n // 2, rng), "better"),
        paired(table, *draw_within(table, human, source, n // 4, rng), "tie"),
        paired(table, *draw_within(table, ~human, source, n // 4, rng), "tie"),
    ]
    if parts[0].empty:
        raise ValueError(
            "no human text has the context of a machine text, so none is known to be better. Add "
            "human outputs (such as references) for the contexts of the machines' outputs."
        )
    return pd.concat(parts, ignore_index=True).assign(supervision="strong")[_COLUMNS]


def weak_pairs(
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    n: int = 4_000,
    least_margin: float = 0.1,
    converged_from: float = 0.8,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs in which a later checkpoint of a model beats an earlier one.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset, a system per checkpoint; training texts only.
    checkpoints : DataFrame
        A row per checkpoint: system, model (checkpoints of different models are not compared),
        progress (the share of training done, 0 to 1).
    n : int
        Pairs, spread evenly over the pairs of checkpoints; fewer where there are not so many.
    least_margin : float
        Least difference of progress; .1 in the paper.
    converged_from : float
        Two checkpoints that have both come so far are not compared: they are almost converged. The
        paper gives no number; this one is a convention.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        As `strong_pairs`: supervision is ``weak``, every outcome ``better``, and margin the
        difference of progress, by which training goes from wide to narrow.

    Raises
    ------
    ValueError
        When columns are missing, progress is out of range, or no two checkpoints can be compared.

    Notes
    -----
    Zhou and Xu (2020, section 3.1). Supervision is weak: a model may get worse with training.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n, "system": n} for n in "abc"])
    >>> steps = pd.DataFrame({"system": [*"abc"], "model": "m", "progress": [0.1, 0.85, 1.0]})
    >>> weak_pairs(outputs, steps, seed=0)[["output_a", "output_b", "margin"]].values.tolist()
    [['b', 'a', 0.75], ['c', 'a', 0.9]]
    """
    table = one_dataset(outputs)
    check_n(n, "n")
    rng = np.random.default_rng(seed)
    steps = _check_checkpoints(checkpoints)
    chosen = [
        (system, before, round(progress - earlier, 9))
        for (system, model, progress), (before, same, earlier) in permutations(steps, 2)
        # Progress is a decimal fraction: .8 - .7 must count as .1.
        if model == same
        and progress > earlier
        and round(progress - earlier, 9) >= least_margin
        and earlier < converged_from
    ]
    parts = []
    for system, before, margin in sorted(chosen):
        later, earlier = table["system"].eq(system), table["system"].eq(before)
        rows = draw_between(table, later, earlier, -(-n // len(chosen)), rng)
        parts.append(paired(table, *rows, "better").assign(margin=margin))
    if sum(map(len, parts)) == 0:
        raise ValueError(
            f"no two of the {len(steps)} checkpoints can be compared: of one model, "
            f"{least_margin} apart, not both past {converged_from}, with outputs of equal "
            "context. Save more checkpoints, earlier in training, and sample from each."
        )
    return pd.concat(parts, ignore_index=True).assign(supervision="weak")[_COLUMNS]


def human_pairs(
    outputs: pd.DataFrame,
    judgments: pd.DataFrame,
    *,
    dimension: str,
    threshold: float,
    n: int = 8_000,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs in which the output that annotators judged higher is better.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset; training texts only.
    judgments : DataFrame
        The ``judgments`` table. An output counts by its mean; those without judgments are left out.
    dimension : str
        Which dimension counts; higher must be better.
    threshold : float
        Means that differ by this or less tie; in units of the judgments.
    n : int
        Pairs; fewer where there are not so many.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        As `strong_pairs`: supervision is ``human``, outcome ``better`` or ``tie``.

    Raises
    ------
    ValueError
        For an unknown dimension, a negative threshold, or when no two judged outputs have one
        context.

    Notes
    -----
    Zhou and Xu (2020, section 4.1): with n scored texts, up to n (n - 1) / 2 pairs. Leniency of
    annotators who judged different outputs is not taken out.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False, "system": "m"}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n} for n in "abc"])
    >>> judged = outputs[["dataset", "output_id"]].assign(annotator_id="w", dimension="q")
    >>> judged = judged.assign(value=[1.0, 1.5, 4.0], group_id="")
    >>> pairs = human_pairs(outputs, judged, dimension="q", threshold=0.5, seed=0)
    >>> sorted(pairs["outcome"])
    ['better', 'better', 'tie']
    """
    table, judgments = one_dataset(outputs), schema.check(judgments, "judgments")
    check_n(n, "n")
    rng = np.random.default_rng(seed)
    dimensions = list(judgments["dimension"].unique())
    if dimension not in dimensions:
        hint = did_you_mean(dimension, dimensions)
        raise ValueError(f"no dimension {dimension!r}.{hint} There are: {', '.join(dimensions)}.")
    if not threshold >= 0:
        raise ValueError(f"threshold must be 0 or more, in units of judgments. Got {threshold}.")
    judgments = judgments[judgments["dimension"] == dimension]
    mean = judgments.groupby(["dataset", "output_id"])["value"].mean().rename("mean")
    table = table.join(mean, on=["dataset", "output_id"])
    quality = table.pop("mean").to_numpy()
    one, other = draw_within(table, ~np.isnan(quality), np.zeros(len(table)), n, rng)
    if not len(one):
        raise ValueError(
            "no two judged outputs have equal contexts: check that judgments are of these outputs, "
            f"as {table['output_id'].iloc[0]!r}."
        )
    gap = quality[one] - quality[other]
    better, worse = np.where(gap >= 0, one, other), np.where(gap >= 0, other, one)
    pairs = paired(table, better, worse, "better")
    pairs["outcome"] = np.where(abs(gap) <= threshold + 1e-9, "tie", "better")
    return pairs.assign(supervision="human")[_COLUMNS]


def _check_checkpoints(checkpoints: pd.DataFrame) -> list[tuple[str, str, float]]:
    missing = {"system", "model", "progress"} - set(checkpoints.columns)
    if missing:
        raise ValueError(
            f"checkpoints must have columns system, model, progress. Missing: {sorted(missing)}."
        )
    doubled = checkpoints["system"].duplicated()
    wrong = doubled | ~checkpoints["progress"].between(0, 1)
    if wrong.any():
        row = checkpoints[wrong].iloc[0]
        raise ValueError(
            "each checkpoint must stand once, with the share of training done, from 0 to 1. Got "
            f"system {row['system']!r} with progress {row['progress']}."
        )
    names = (checkpoints[name].astype(str) for name in ("system", "model"))
    return list(zip(*names, checkpoints["progress"].astype(float), strict=True))
