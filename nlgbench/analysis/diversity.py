"""The diversity of systems' outputs, with intervals."""

import numpy as np
import pandas as pd

from nlgbench.evaluators.diversity import diversity_of_subsets, signature
from nlgbench.inference import half_samples, interval
from nlgbench.status import Unsupported, explain
from nlgbench.study import Study
from nlgbench.study.checks import checked

_FRACTION = 2 / 3


@checked
def diversity(
    study: Study,
    *,
    include_human: bool = False,
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Measure systems' distinct-n, n-gram entropy (n = 1 to 3) and Self-BLEU-4, with intervals.

    Parameters
    ----------
    study : Study
        A study with texts.
    include_human : bool
        Whether human texts count as a system.
    n_resamples : int
        Number of subsamples, each of two thirds of a system's outputs.
    confidence : float
        Confidence level of intervals, between 0 and 1.
    seed : int or Generator
        Seed of the random numbers.

    Returns
    -------
    DataFrame
        A row per system and evaluator: system, evaluator, estimate (from all its outputs), se,
        ci_low, ci_high (not clipped; NaN with a reason), confidence, center (mean of subsamples),
        n_resamples, n_undefined, status (a code; ``ok``), reason (its text), signature (with the
        number of texts and the direction: *lower* Self-BLEU means more diversity), method.

    Raises
    ------
    ValueError
        When the study has no system outputs, or a number is out of range.

    Notes
    -----
    Subsamples are drawn without replacement, because a bootstrap repeats texts, which lowers
    diversity. Intervals are for the expected value at this number of outputs, so compare systems
    only at equal numbers. Those of distinct-1 are too wide. docs/diversity.md has the formulas.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("reviews", systems=["grammar_t0.5"], n_outputs=20, n_truth=0)
    >>> found = diversity(study, n_resamples=50).set_index("evaluator")
    >>> found.loc[["distinct_1", "self_bleu_4"], "estimate"].round(2).tolist()
    [0.2, 0.76]
    """
    outputs = study.outputs if include_human else study.outputs[~study.outputs["is_human"]]
    if outputs.empty:
        raise Unsupported(
            "no_outputs",
            f"{study.name} has no system outputs. Use include_human=True to measure human texts.",
        )
    rng = np.random.default_rng(seed)
    rows = []
    for system, group in outputs.groupby("system", sort=False):
        subsamples = half_samples(len(group), fraction=_FRACTION, n_resamples=n_resamples, seed=rng)
        members = np.vstack([np.ones(len(group), dtype=bool), subsamples])
        values = diversity_of_subsets(group["text"].tolist(), members)
        for name in values:
            estimate, replicates = float(values[name].iloc[0]), values[name].iloc[1:]
            row = interval(replicates, estimate, fraction=_FRACTION, confidence=confidence)
            if n_undefined := row["n_undefined"]:
                status = explain("undefined_subsamples", n=n_undefined, total=len(replicates))
                row |= {"status": status.code, "reason": status.reason}
            row["signature"] = signature(str(name), len(group))
            rows.append({"system": system, "evaluator": name, **row})
    return pd.DataFrame(rows).assign(method="subsamples of 2/3 of outputs, normal")
