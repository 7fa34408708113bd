"""Correlations over systems that are left when a third score is held constant."""

import numpy as np
import pandas as pd

from nlgbench.analysis.coefficients.unweighted import coefficients
from nlgbench.analysis.correlation.system_scores import fisher_interval, wide_scores
from nlgbench.inference import check_coverage
from nlgbench.names import known


def partial_correlations(
    system_scores: pd.DataFrame,
    human_scores: pd.DataFrame,
    *,
    given: str,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Correlate evaluators with humans over systems, with another evaluator held constant.

    Parameters
    ----------
    system_scores, human_scores : DataFrame
        Tables ``system_scores`` of one dataset; the second with one "evaluator", the human scores.
    given : str
        The evaluator that is held constant.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per other evaluator, over the systems that have all three scores: dataset, evaluator,
        given, with_human, with_given, given_with_human (Pearson's r), estimate (partial), ci_low,
        ci_high, confidence, n (systems), n_missing (systems without one of the three), reason (why
        there is no estimate or no interval, or "").

    Raises
    ------
    ValueError
        When a table breaks a rule, there are several human scores, `given` is unknown or alone,
        or `confidence` is not between 0 and 1.

    Notes
    -----
    ``(r_xy - r_xg r_yg) / sqrt((1 - r_xg^2) (1 - r_yg^2))``. Its interval is that of a
    correlation over one system less: ``tanh(atanh(r) -+ z / sqrt(n - 4))`` (Fisher 1924, *Metron*
    3, 329-332). It takes systems as a normal sample of systems, and their scores as exact. Scores
    whose signature says ``direction:lower`` are turned first.

    Examples
    --------
    >>> human = pd.DataFrame({"dataset": "d", "system": list("abcdef"), "evaluator": "votes",
    ...     "score": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "signature": ""})
    >>> scores = pd.concat([human.assign(evaluator="e", score=[2.0, 1.0, 3.0, 5.0, 4.0, 6.0]),
    ...     human.assign(evaluator="diversity", score=[1.0, 3.0, 2.0, 4.0, 6.0, 5.0])])
    >>> found = partial_correlations(scores, human, given="diversity")
    >>> found[["evaluator", "with_human", "estimate", "n"]].round(3).values.tolist()
    [['e', 0.886, 0.868, 6]]
    """
    check_coverage(confidence, "confidence")
    dataset, scores, human = wide_scores(system_scores, human_scores)
    if human.shape[1] != 1 or scores.shape[1] < 2:
        raise ValueError(
            "partial_correlations needs one human score, `given` and another evaluator. Got "
            f"{human.shape[1]} ({', '.join(human.columns)}) and {scores.shape[1]}: filter by "
            "evaluator."
        )
    known(given, list(scores.columns), "given")
    rows = []
    for evaluator in scores.columns.drop(given):
        three = np.stack([scores[evaluator], human.iloc[:, 0], scores[given]]).astype(np.float64)
        some = np.isfinite(three).any(axis=0).sum()
        three = three[:, np.isfinite(three).all(axis=0)]
        n = three.shape[1]
        xy = xg = yg = estimate = float("nan")
        if n > 1:
            pairs = three[[0, 0, 1]], three[[1, 2, 2]]
            xy, xg, yg = map(float, coefficients(*pairs, statistics=["pearson"])["pearson"])
        left = (1 - xg**2) * (1 - yg**2)
        if n > 3 and left > 1e-12:
            # Beyond 1 is rounding only.
            estimate = float(np.clip((xy - xg * yg) / np.sqrt(left), -1, 1))
        rows.append(
            {
                "dataset": dataset,
                "evaluator": evaluator,
                "given": given,
                "with_human": xy,
                "with_given": xg,
                "given_with_human": yg,
                "estimate": estimate,
                **fisher_interval("pearson", estimate, n, confidence, n_given=1),
                "confidence": confidence,
                "n": n,
                "n_missing": int(some) - n,
            }
        )
    return pd.DataFrame(rows)
