"""Variance components: the variance of judgments due to items, annotators and the residual."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from scipy.stats import chi2
from scipy.stats import f as fisher

from nlgbench.analysis.people.comparing import judged_systems
from nlgbench.analysis.ratings.games import read_votes
from nlgbench.arrays import Floats, Ints
from nlgbench.clustering import incidence
from nlgbench.inference import ratio
from nlgbench.status import OK, explain, first_status, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

#: The random effects, without the residual ('rest'), which comes last.
FACTORS = ("item", "annotator", "system x item", "system x annotator")
#: The fewest levels, and the smallest share of the variance, of components with intervals.
FEWEST_LEVELS, LEAST_SHARE = 20, 0.1
#: Maximum likelihood takes half a minute for this many levels; for more, moments are used.
_MOST_LEVELS = 500


@checked
def variance_components(
    study: Study,
    *,
    dimension: str | None = None,
    include_human: bool = False,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Estimate judgment variance due to items, annotators, and their interactions with systems.

    Parameters
    ----------
    study : Study
        A study with judgments of at least two systems.
    dimension : str, optional
        A dimension of the judgments. Default: the study's quality dimension.
    include_human : bool
        Whether human texts count as a system. Default: they are left out.
    confidence : float
        Confidence level of intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per component: component (``item``, ``annotator``, ``system x item``, ``system x
        annotator``, or ``rest``, the residual), estimate (the variance in squared points), ci_low,
        ci_high, share (of the sum), n_levels (for ``rest``, the number of judgments), status (a
        code; ``ok``), reason (its text), method, confidence.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or the dimension is unknown.

    Notes
    -----
    In ``y = system + item + annotator + system x item + system x annotator + rest``, systems are
    fixed. If every annotator judged every output equally often, variances come from an analysis of
    variance, truncated at 0, with modified large-sample intervals (Ting et al. 1990,
    doi:10.1080/00949659008811240) for components with 20 or more levels and at least a tenth of the
    variance. Otherwise they come from restricted maximum likelihood (statsmodels' MixedLM) or, with
    over 500 levels in total, from the method of moments (Rao 1971,
    doi:10.1016/0047-259X(71)90001-7). docs/validation.md reports coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = variance_components(nb.simulate("judgments", n_annotators=40, seed=1))
    >>> table[["component", "estimate", "ci_low", "ci_high"]].round(2).values.tolist()[2]
    ['system x item', 1.07, 0.93, 1.24]
    """
    frame = judged_systems(study, study.dimension(dimension), include_human)
    system, item, annotator = (
        pd.factorize(frame[name])[0].astype(np.int64)
        for name in ("system", "item_id", "annotator_id")
    )
    values = frame["value"].to_numpy(dtype=np.float64)
    table = components_of(values, system, item, annotator, confidence)
    return table.assign(confidence=confidence)


def components_of(
    y: Floats, system: Ints, item: Ints, annotator: Ints, confidence: float = 0.95
) -> pd.DataFrame:
    """Estimate variance components from arrays of judgments."""
    size, scale = np.bincount(system), np.abs(y).max()
    y = y - (np.bincount(system, y) / size)[system]
    unit = float(np.sqrt((y @ y) / len(y)))
    numbers = levels(system, item, annotator)
    gram = _gram(numbers, system)
    identified, mixed = _identified(gram, len(y))
    names = [*FACTORS, "rest"]
    counts = [int(codes.max()) + 1 for codes in numbers[:4]]
    table = pd.DataFrame({"component": names, "estimate": np.nan, "ci_low": np.nan})
    table = table.assign(ci_high=np.nan, share=np.nan, n_levels=[*counts, len(y)])
    status: Any = [explain("constant_systems")] * 5
    for k, confounders in mixed.items():
        also = " and ".join(names[factor] for factor in confounders)
        status[k] = explain("confounded", others=also) if also else explain("one_level")
    if unit <= 1e-12 * scale or len(y) - len(size) < 2:
        return split_status(table.assign(status=status)).assign(method="none")
    chosen, doubt, fit = [*identified, 4], OK, None
    balanced = _mean_squares(y / unit, system, item, annotator) if len(identified) == 4 else None
    if balanced is None and identified and sum(counts[k] for k in identified) <= _MOST_LEVELS:
        fit = _likelihood(y / unit, system, [numbers[k] for k in identified])
    low, high = np.full((2, len(chosen)), np.nan)
    if balanced is not None:
        method = "mean squares; modified large sample"
        variances, low, high = _balanced(*balanced, confidence)
    elif fit is not None:
        method, (variances, converged) = "restricted maximum likelihood", fit
        doubt = OK if converged else explain("not_converged")
    else:
        method, variances = "moments", _moments(y / unit, numbers, gram, chosen)
    share = variances / variances.sum()
    for number, k in enumerate(chosen):
        included = " and ".join(names[factor] for factor in mixed if k in mixed[factor])
        n, missing = table["n_levels"][k], OK
        if variances[number] < 1e-7:
            missing = explain("zero_variance")
        elif n < FEWEST_LEVELS:
            missing = explain("few_levels", n=n, least=FEWEST_LEVELS)
        elif share[number] < LEAST_SHARE:
            missing = explain("small_share")
        elif balanced is None:
            missing = explain("unbalanced")
        includes = explain("includes", others=included) if included else OK
        status[k] = missing + includes + doubt
        table.loc[k, ["estimate", "share"]] = variances[number] * unit**2, share[number]
        if not missing:
            table.loc[k, ["ci_low", "ci_high"]] = low[number] * unit**2, high[number] * unit**2
    return split_status(table.assign(status=status)).assign(method=method)


def _mean_squares(
    y: Floats, system: Ints, item: Ints, annotator: Ints
) -> tuple[Floats, Floats, Floats] | None:
    """Compute mean squares, degrees of freedom and multipliers; None for unbalanced designs."""
    k, n, m = (int(codes.max()) + 1 for codes in (system, item, annotator))
    cell = (system * n + item) * m + annotator
    count = np.bincount(cell, minlength=k * n * m)
    r = int(count[0])
    if (count != r).any() or min(n, m, k) < 2:
        return None
    mean = (np.bincount(cell, y, k * n * m) / r).reshape(k, n, m)
    grand_mean = mean.mean()
    i, a = mean.mean(axis=(0, 2)) - grand_mean, mean.mean(axis=(0, 1)) - grand_mean
    s = mean.mean(axis=(1, 2), keepdims=True) - grand_mean
    si = mean.mean(axis=2) - s[..., 0] - i - grand_mean
    sa = mean.mean(axis=1) - s[:, 0] - a - grand_mean
    sums = np.array([k * m * i @ i, k * n * a @ a, m * (si**2).sum(), n * (sa**2).sum()]) * r
    df = np.array([n - 1, m - 1, (k - 1) * (n - 1), (k - 1) * (m - 1)], dtype=np.float64)
    residual = y @ y - sums.sum() - r * n * m * (s**2).sum()
    df = np.append(df, len(y) - k - df.sum())
    return np.append(sums, residual) / df, df, np.array([k * m, k * n, m, n, 1.0 / r]) * r


#: The mean square to subtract from each: for item that of system x item, and so on.
_UNDER = (2, 3, 4, 4)


def _balanced(
    squares: Floats, df: Floats, times: Floats, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Estimate variances from mean squares, truncated at 0, with intervals."""
    variances = np.append(np.maximum(squares[:4] - squares[list(_UNDER)], 0), squares[4])
    tail = (1 - confidence) / 2
    low, high = np.empty(5), np.empty(5)
    for k, under in enumerate(_UNDER):
        low[k], high[k] = _modified_large_sample(squares[k], squares[under], df[k], df[under], tail)
    sums = df[4] * squares[4]
    low[4], high[4] = sums / chi2.isf(tail, df[4]), sums / chi2.ppf(tail, df[4])
    return variances / times, np.maximum(low / times, 0), np.maximum(high / times, 0)


def _modified_large_sample(
    square: float, subtracted: float, df: float, subtracted_df: float, tail: float
) -> tuple[float, float]:
    """Compute an interval of the difference of two expected mean squares (Ting and others 1990)."""
    upper, lower = fisher.isf(tail, df, subtracted_df), fisher.ppf(tail, df, subtracted_df)
    g_one, g_other = (1 - n / chi2.isf(tail, n) for n in (df, subtracted_df))
    h_one, h_other = (n / chi2.ppf(tail, n) - 1 for n in (df, subtracted_df))
    g_both = ((upper - 1) ** 2 - g_one**2 * upper**2 - h_other**2) / upper
    h_both = ((1 - lower) ** 2 - h_one**2 * lower**2 - g_other**2) / lower
    below = (g_one * square) ** 2 + (h_other * subtracted) ** 2 + g_both * square * subtracted
    above = (h_one * square) ** 2 + (g_other * subtracted) ** 2 + h_both * square * subtracted
    difference = square - subtracted
    return difference - np.sqrt(max(below, 0)), difference + np.sqrt(max(above, 0))


def levels(system: Ints, item: Ints, annotator: Ints) -> list[Ints]:
    """Enumerate the levels of each factor, in the order of `FACTORS`, and of the rest."""
    cells = [item, annotator, system * (item.max() + 1) + item]
    cells.append(system * (annotator.max() + 1) + annotator)
    factors = [np.unique(cell, return_inverse=True)[1].astype(np.int64) for cell in cells]
    return [*factors, np.arange(len(system))]


def _gram(numbers: list[Ints], system: Ints) -> Floats:
    """Compute the expectations of sums of squares, tr(P V_k P V_l); P subtracts systems' means."""
    size = np.bincount(system)
    rows_of = [incidence(codes[:, None]) for codes in numbers]
    shares = [(codes @ incidence(system[:, None]).T).toarray() for codes in rows_of]
    squares = [codes.T @ codes / np.sqrt(np.outer(size, size)) for codes in shares]
    gram = np.empty((5, 5))
    for k in range(5):
        for m in range(k + 1):
            met = (rows_of[k] @ rows_of[m].T).tocoo()
            mean = (shares[k][met.row] / size * shares[m][met.col]).sum(axis=1)
            inner = (met.data * (met.data - 2 * mean)).sum()
            gram[k, m] = gram[m, k] = inner + (squares[k] * squares[m]).sum()
    return gram


def _identified(gram: Floats, n: int) -> tuple[tuple[int, ...], dict[int, list[int]]]:
    """List the factors that the design identifies, and those that each of the others is mixed with.

    A factor is identified if its covariance, without systems' means, is not a linear combination of
    the others'. It is mixed with none if it has one level, or one level per system.
    """
    identified, mixed = [4], dict[int, list[int]]()
    for k in (2, 3, 0, 1):
        if gram[k, k] <= 1e-9 * n:
            mixed[k] = []
            continue
        weight = np.linalg.solve(gram[np.ix_(identified, identified)], gram[identified, k])
        if gram[k, k] - weight @ gram[identified, k] > 1e-9 * gram[k, k]:
            identified.append(k)
            continue
        mixed[k] = [factor for factor, w in zip(identified, weight, strict=True) if abs(w) > 1e-6]
    return tuple(sorted(identified[1:])), mixed


def _moments(y: Floats, numbers: list[Ints], gram: Floats, chosen: list[int]) -> Floats:
    """Equate sums of squares of the levels' sums with their expectations, truncated at 0."""
    sums = [(np.bincount(numbers[k], y) ** 2).sum() for k in chosen]
    return np.maximum(np.linalg.solve(gram[np.ix_(chosen, chosen)], sums), 0)


def _likelihood(y: Floats, system: Ints, numbers: list[Ints]) -> tuple[Floats, bool] | None:
    """Fit by statsmodels; return variances and convergence, or None if the fit fails."""
    names = [f"f{k}" for k in range(len(numbers))]
    # Adding a constant to judgments changes the last digits, from which the search could end
    # elsewhere.
    y = y.round(12)
    frame = pd.DataFrame(dict(zip(names, numbers, strict=True))).assign(y=y, system=system, all=1)
    formulas = {name: f"0 + C({name})" for name in names}
    model = smf.mixedlm("y ~ 0 + C(system)", frame, groups="all", vc_formula=formulas)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = model.fit(reml=True, method="powell", ftol=1e-9)
        except np.linalg.LinAlgError:
            return None
    variance_of = dict(zip(model.exog_vc.names, fit.vcomp, strict=True))
    return np.array([*(variance_of[name] for name in names), fit.scale]), bool(fit.converged)


def vote_components(study: Study) -> pd.DataFrame:
    """Estimate the variances of votes over items and over annotators, and the share of ties.

    Votes (win 1, tie 0, loss -1) are centered by pair of systems. The variance over items is the
    mean product of two annotators' votes on an item. The variance over annotators is the mean
    product of an annotator's votes on two items.
    """
    votes = read_votes(study, None)
    turned = (votes["system_a"] > votes["system_b"]).to_numpy()
    score = votes["choice"].map({"a": 1.0, "tie": 0.0, "b": -1.0}).to_numpy()
    a, b = votes["system_a"].astype(str), votes["system_b"].astype(str)
    frame = pd.DataFrame(
        {
            "pair": a.where(~turned, b) + "\0" + b.where(~turned, a),
            "item": votes["item_a"].astype(str),
            "annotator": votes["annotator_id"].astype(str),
            "score": np.where(turned, -score, score),
        }
    ).drop_duplicates(["pair", "item", "annotator"])
    ties, variances = float((frame["score"] == 0).mean()), []
    frame["score"] -= frame.groupby("pair")["score"].transform("mean")
    frame["square"] = frame["score"] ** 2
    for name in ("item", "annotator"):
        cells = frame.groupby(["pair", name], sort=False)
        n, sums = cells.size(), cells[["score", "square"]].sum()
        products = (sums["score"] ** 2 - sums["square"]).sum()
        variances.append(np.maximum(0.0, ratio(products, (n * (n - 1)).sum())))
    names = ["item", "annotator", "ties"]
    table = pd.DataFrame({"component": names, "estimate": [*variances, ties]})
    status = first_status(3, (table["estimate"].isna(), explain("one_vote_each")))
    return split_status(table.assign(status=status))
