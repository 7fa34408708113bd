"""Shares of positives from a binary judge whose errors were measured elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from nlgbench.analysis.judges.corrected import scores_of
from nlgbench.inference import Floats
from nlgbench.study import Study
from nlgbench.study.checks import checked


@checked
def prevalence(
    study: Study,
    *,
    evaluator: str,
    sensitivity: tuple[int, int],
    specificity: tuple[int, int],
    include_human: bool = False,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say which share of outputs is positive from a binary judge of known sensitivity.

    Where some of these outputs were labelled at random, use `corrected_quality`, which needs no
    sensitivity from elsewhere.

    Parameters
    ----------
    study : Study
        With scores of outputs, each 0 or 1.
    evaluator : str
        Whose scores.
    sensitivity, specificity : tuple of two int
        How many of how many positives, and of how many negatives, the evaluator called so in
        *another* sample, such as ``(45, 50)``.
    include_human : bool
        Whether human outputs are a system here. Default: they are left out.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        For each system: system, n_outputs, n_positive (by the evaluator), apparent (their share),
        estimate (Rogan and Gladen's; it may leave 0 to 1), ci_low, ci_high (within 0 to 1), reason.

    Raises
    ------
    ValueError
        When scores are not 0 or 1, when there are none, or counts are impossible.

    Notes
    -----
    ``(apparent + Sp - 1) / (Se + Sp - 1)`` (Rogan and Gladen 1978,
    doi:10.1093/oxfordjournals.aje.a112510), with the interval of Lang and Reiczigel (2014,
    doi:10.1016/j.prevetmed.2013.09.015), for outputs that are independent of each other. It assumes
    that the evaluator errs here as often as there, among positives and among negatives alike:
    nothing in the study can show that. Where ``Se + Sp - 1`` may be 0, within an interval of the
    same confidence, the evaluator may know nothing, and there is no estimate.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": list("abcdefghij"), "item_id": list("abcdefghij")})
    >>> scores = outputs[["output_id"]].assign(evaluator="judge", score=[1.0] * 4 + [0.0] * 6)
    >>> study = Study(outputs.assign(system="s"), scores=scores)
    >>> asked = {"sensitivity": (45, 50), "specificity": (40, 50)}
    >>> found = prevalence(study, evaluator="judge", **asked)
    >>> found[["system", "n_positive", "apparent", "estimate", "ci_low", "ci_high"]].round(2)
      system  n_positive  apparent  estimate  ci_low  ci_high
    0      s           4       0.4      0.29     0.0     0.71
    """
    for name, (right, of) in {"sensitivity": sensitivity, "specificity": specificity}.items():
        if not 0 <= right <= of or of == 0:
            raise ValueError(
                f"{name} must be how many of how many were called right, such as (45, 50). "
                f"Got {(right, of)}."
            )
    outputs = study.outputs if include_human else study.outputs[~study.outputs["is_human"]]
    score = outputs["output_id"].map(scores_of(study, evaluator))
    bad = score.notna() & ~score.isin([0, 1])
    if bad.any():
        row = outputs["output_id"][bad].iloc[0]
        raise ValueError(
            f"scores of {evaluator!r} must be 0 or 1: output {row!r} has {score[bad].iloc[0]:g} "
            f"({int(bad.sum()):,} such outputs). Cut them at a value chosen beforehand, or use "
            "corrected_quality, which takes any scores."
        )
    by = score.dropna().groupby(outputs["system"], sort=False)
    table = pd.DataFrame({"n_outputs": by.size(), "n_positive": by.sum().astype(int)}).reset_index()
    n, positive = table["n_outputs"].to_numpy(), table["n_positive"].to_numpy()
    table["apparent"] = positive / n
    low, high, lowest = _interval(positive, n, sensitivity, specificity, confidence)
    if lowest <= 0:
        reason = f"Se + Sp - 1 may be 0 (its interval begins at {lowest:.2f}): no estimate"
        return table.assign(estimate=np.nan, ci_low=np.nan, ci_high=np.nan, reason=reason)
    se, sp = sensitivity[0] / sensitivity[1], specificity[0] / specificity[1]
    estimate = (positive / n + sp - 1) / (se + sp - 1)
    return table.assign(estimate=estimate, ci_low=low, ci_high=high, reason="")


def _interval(
    positive: NDArray, n: NDArray, sensitivity: tuple, specificity: tuple, confidence: float
) -> tuple[Floats, Floats, float]:
    """Give Lang and Reiczigel's interval, and the low end of one of Se + Sp - 1."""
    z = float(norm.ppf(0.5 + confidence / 2))
    # Two outcomes more of each sample, one of either kind, and z^2 more outputs (Agresti, Coull).
    n_se, n_sp, n_more = sensitivity[1] + 2, specificity[1] + 2, n + z**2
    se, sp = (sensitivity[0] + 1) / n_se, (specificity[0] + 1) / n_sp
    share = (positive + z**2 / 2) / n_more
    noise_se, noise_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    known = se + sp - 1
    middle = (share + sp - 1) / known if known else np.full(len(share), np.nan)
    shift = 2 * z**2 * (middle * noise_se - (1 - middle) * noise_sp)
    noise = share * (1 - share) / n_more + middle**2 * noise_se + (1 - middle) ** 2 * noise_sp
    half = z * np.sqrt(noise) / abs(known) if known else middle
    low, high = (np.clip(middle + shift + sign * half, 0, 1) for sign in (-1, 1))
    return low, high, float(known - z * np.sqrt(noise_se + noise_sp))
