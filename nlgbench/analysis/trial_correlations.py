"""Do evaluators rank systems as people do, over many trials, and which one does it better."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.analysis.coefficients.weighted import weighted_coefficients
from nlgbench.analysis.resampling import check_coverage
from nlgbench.names import known
from nlgbench.text import check_n

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Fewer systems than this are not resampled.
LEAST = 5


def correlate_trials(
    scores: pd.DataFrame,
    human: pd.Series,
    *,
    statistic: str = "spearman",
    n_resamples: int = 2_000,
    confidence: float = 0.95,
    seed: int | np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlate systems' scores with human quality, averaged over trials.

    Parameters
    ----------
    scores : DataFrame
        Columns evaluator, trial, system, score (higher is better): a trial is a split of the
        outputs, with all that was trained on it.
    human : Series
        The quality of each system, indexed by system.
    statistic : {"spearman", "pearson"}
        Of the systems of one trial.
    n_resamples : int
        Resamples.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        A row per evaluator: evaluator, statistic, estimate (the mean over trials), ci_low, ci_high,
        lowest, highest (of a trial), confidence, n (systems), n_trials, n_undefined (trials
        without a coefficient; they are left out), n_undefined_resamples, reason (why there is no
        estimate or interval). And a row per two evaluators: evaluator_a, evaluator_b, statistic,
        difference (a minus b, over the trials and systems of both), ci_low, ci_high, confidence,
        reason.

    Raises
    ------
    ValueError
        When a column or a system's quality is missing, a system stands twice in a trial, or a
        name or number is out of range.

    Notes
    -----
    Each resample draws systems and trials, both with replacement, the same for all evaluators, so
    that what is common to two falls out of their difference. The interval (percentiles) so speaks
    of other systems and other splits; trials share their texts, which it cannot undo. With fewer
    than five systems there is none. Resampled systems tie with themselves: ranks are mean ranks.

    Examples
    --------
    >>> rows = [(e, t, s, float(q * (1 if e == "good" else -1)))
    ...         for e in ("good", "bad") for t in range(3) for q, s in enumerate("abcdef")]
    >>> scores = pd.DataFrame(rows, columns=["evaluator", "trial", "system", "score"])
    >>> human = pd.Series(range(6), index=list("abcdef"))
    >>> each, between = correlate_trials(scores, human, n_resamples=50, seed=0)
    >>> each["estimate"].round(6).tolist(), between["difference"].round(6).tolist()
    ([1.0, -1.0], [2.0])
    """
    known(statistic, ["spearman", "pearson"], "statistic")
    check_n(n_resamples, "n_resamples")
    check_coverage(confidence, "confidence")
    evaluators, cube, quality = _cube(scores, human)
    n_trials, n_systems = cube.shape[1:]
    rng = np.random.default_rng(seed)
    reason = f"{n_systems} systems: resampling them says nothing." if n_systems < LEAST else ""
    drawn = np.ones((1, n_systems), dtype=np.int64)  # all of them, as they are, come first
    weights = np.zeros((0, n_trials))
    if not reason:
        counts = [(_draw(n_systems, rng), _draw(n_trials, rng)) for _ in range(n_resamples)]
        drawn = np.stack([drawn[0], *(systems for systems, _ in counts)])
        weights = np.stack([trials for _, trials in counts])
    found = _coefficients(cube, quality, drawn, statistic)
    full, replicates = found[0], found[1:]
    means = _means(replicates, weights)
    rows = []
    for at, name in enumerate(evaluators):
        trials = full[at][np.isfinite(full[at])]
        rows.append(
            {
                "evaluator": name,
                "statistic": statistic,
                "estimate": trials.mean() if len(trials) else np.nan,
                **_interval(means[:, at], confidence),
                "lowest": trials.min() if len(trials) else np.nan,
                "highest": trials.max() if len(trials) else np.nan,
                "confidence": confidence,
                "n": n_systems,
                "n_trials": len(trials),
                "n_undefined": n_trials - len(trials),
                "n_undefined_resamples": int(np.isnan(means[:, at]).sum()),
                "reason": reason if len(trials) else "its scores are constant, or missing.",
            }
        )
    between = []
    for a in range(len(evaluators)):
        for b in range(a + 1, len(evaluators)):
            gap = full[a] - full[b]
            both = np.isfinite(gap)
            values = _means(replicates[:, [a]] - replicates[:, [b]], weights)[:, 0]
            between.append(
                {
                    "evaluator_a": evaluators[a],
                    "evaluator_b": evaluators[b],
                    "statistic": statistic,
                    "difference": gap[both].mean() if both.any() else np.nan,
                    **_interval(values, confidence),
                    "confidence": confidence,
                    "reason": reason if both.any() else "no trial has both.",
                }
            )
    return pd.DataFrame(rows), pd.DataFrame(between)


def _cube(scores: pd.DataFrame, human: pd.Series) -> tuple[list[str], Floats, Floats]:
    missing = {"evaluator", "trial", "system", "score"} - set(scores.columns)
    if missing:
        raise ValueError(f"scores must have columns evaluator, trial, system, score: {missing}.")
    doubled = scores.duplicated(["evaluator", "trial", "system"])
    if doubled.any():
        row = scores[doubled].iloc[0]
        raise ValueError(
            f"system {row['system']!r} stands twice in trial {row['trial']} of evaluator "
            f"{row['evaluator']!r}: give each trial a number of its own."
        )
    systems = sorted(scores["system"].unique())
    unknown = [system for system in systems if system not in human.index]
    if unknown:
        raise ValueError(f"human has no quality of {unknown}: add it, or leave the system out.")
    evaluators = list(scores["evaluator"].unique())
    wide = scores.set_index(["evaluator", "trial", "system"])["score"].unstack("system")
    trials = sorted(scores["trial"].unique())
    index = pd.MultiIndex.from_product([evaluators, trials])
    cube = wide.reindex(index)[systems].to_numpy(dtype=np.float64)
    quality = human.loc[systems].to_numpy(dtype=np.float64)
    return evaluators, cube.reshape(len(evaluators), len(trials), len(systems)), quality


def _draw(n: int, rng: np.random.Generator) -> Ints:
    """Draw n of n with replacement; return how often each came."""
    return np.bincount(rng.integers(n, size=n), minlength=n)


def _coefficients(cube: Floats, quality: Floats, drawn: Ints, statistic: str) -> Floats:
    """Correlate each evaluator and trial with quality; NaN where a score is missing and drawn."""
    rows = cube.reshape(-1, cube.shape[-1])
    missing = np.isnan(rows) if statistic == "spearman" else ~np.isfinite(rows)
    # Infinite scores have ranks: the largest numbers stand for them.
    filled = np.nan_to_num(np.where(missing, 0.0, rows))
    found = weighted_coefficients(filled, quality, drawn, statistics=[statistic])[statistic].T
    found[drawn @ missing.T > 0] = np.nan
    return found.reshape(-1, *cube.shape[:2])


def _means(replicates: Floats, weights: Floats) -> Floats:
    """Average over drawn trials; NaN where one that was drawn has no coefficient."""
    used = np.where(weights[:, None, :] > 0, replicates * weights[:, None, :], 0.0)
    return used.sum(axis=2) / weights.sum(axis=1)[:, None]


def _interval(values: Floats, confidence: float) -> dict[str, float]:
    values = values[np.isfinite(values)]
    bounds = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(values, bounds) if len(values) else (np.nan, np.nan)
    return {"ci_low": float(low), "ci_high": float(high)}
