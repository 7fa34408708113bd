"""Variance components: how far judgments differ by items, annotators, and what is left."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from scipy.stats import chi2
from scipy.stats import f as fisher

from nlgbench.analysis.people.comparing import judged_systems
from nlgbench.analysis.ratings.games import votes_of
from nlgbench.crossed import cluster_jackknife
from nlgbench.inference import Floats, ratio
from nlgbench.study import Study
from nlgbench.study.checks import checked

Ints = NDArray[np.int64]

#: The random effects but the rest, which comes last.
FACTORS = ("item", "annotator", "system x item", "system x annotator")
#: Intervals are claimed for factors of so many levels, and of such a share of the variance.
FEWEST_LEVELS, LEAST_SHARE = 20, 0.1
#: Likelihood takes half a minute for so many levels of all factors; more are left to moments.
_MOST_LEVELS = 500


@checked
def variance_components(
    study: Study,
    *,
    dimension: str | None = None,
    include_human: bool = False,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how much of the variance of judgments lies in items, annotators and what is left.

    Parameters
    ----------
    study : Study
        With judgments of at least two systems.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    include_human : bool
        Whether human outputs are systems here. Default: they are left out.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row for each component: component (``item``, ``annotator``, ``system x item``, ``system x
        annotator``, ``rest``), variance (squared points), ci_low, ci_high, share (of their sum),
        n_levels (of the rest: judgments), reason (why there is no variance or interval, what the
        component holds besides, or that it is 0 at the border), method.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or for an unknown dimension.

    Notes
    -----
    Systems are fixed, all else is normal: ``y = system + item + annotator + system x item + system
    x annotator + rest``. Where every annotator judged every output equally often, variances are
    those of an analysis of variance, 0 or more. Else they are of restricted maximum likelihood
    (statsmodels' MixedLM), or, where the factors have over 500 levels, of moments: sums of squares
    set equal to their expectations (Rao 1971, doi:10.1016/0047-259X(71)90001-7). What a design
    cannot tell apart is counted once, and named in `reason`.

    Intervals are modified large sample ones (Ting, Burdick, Graybill, Jeyaratnam and Lu 1990,
    doi:10.1080/00949659008811240), for balanced judgments, and components of at least 20 levels
    that hold a tenth of the variance. docs/variance-components.md has their coverage.

    Examples
    --------
    >>> import nlgbench as nb
    >>> table = variance_components(nb.simulate("judgments", n_annotators=40, seed=1))
    >>> table[["component", "variance", "ci_low", "ci_high", "share", "n_levels"]].round(2)
                component  variance  ci_low  ci_high  share  n_levels
    0                item      0.22     NaN      NaN   0.08       100
    1           annotator      0.23     NaN      NaN   0.09        40
    2       system x item      1.07    0.93     1.24   0.42       500
    3  system x annotator      0.05     NaN      NaN   0.02       200
    4                rest      0.99    0.97     1.01   0.39     20000
    """
    frame = judged_systems(study, study.dimension(dimension), include_human)
    system, item, annotator = (
        pd.factorize(frame[name])[0].astype(np.int64)
        for name in ("system", "item_id", "annotator_id")
    )
    return components_of(
        frame["value"].to_numpy(dtype=np.float64), system, item, annotator, confidence
    )


def components_of(
    y: Floats, system: Ints, item: Ints, annotator: Ints, confidence: float = 0.95
) -> pd.DataFrame:
    """Estimate components of judgments in numbers, as `variance_components` does of a study."""
    size = np.bincount(system)
    y = y - (np.bincount(system, y) / size)[system]
    unit = float(np.sqrt((y @ y) / len(y)))
    numbers = levels(system, item, annotator)
    gram = _gram(numbers, system)
    kept, why = _identified(gram, len(y))
    names = [*FACTORS, "rest"]
    counts = [int(one.max()) + 1 for one in numbers[:4]]
    table = pd.DataFrame({"component": names, "variance": np.nan, "ci_low": np.nan})
    table = table.assign(ci_high=np.nan, share=np.nan, n_levels=[*counts, len(y)])
    reason = [why.get(number, "") for number in range(5)]
    if unit < 1e-12 or len(y) - len(size) < 2:
        nothing = "judgments do not vary within systems"
        return table.assign(reason=[one or nothing for one in reason], method="none")
    chosen = [*kept, 4]
    low, high = np.full((2, len(chosen)), np.nan)
    squares = _mean_squares(y / unit, system, item, annotator) if len(kept) == 4 else None
    fitted, converged = None, True
    if squares is None and kept and sum(counts[k] for k in kept) <= _MOST_LEVELS:
        fitted = _likelihood(y / unit, system, [numbers[k] for k in kept])
    if squares is not None:
        variances, low, high = _balanced(*squares, confidence)
        method = "mean squares; modified large sample"
    elif fitted is not None:
        variances, converged = fitted
        method = "restricted maximum likelihood"
    else:
        variances, method = _moments(y / unit, numbers, gram, chosen), "moments"
    share = variances / variances.sum()
    for number, k in enumerate(chosen):
        held = [names[one] for one, words in why.items() if f"with {names[k]}," in words + ","]
        few = table["n_levels"][k] < FEWEST_LEVELS
        said = [f"holds {' and '.join(held)}, too"] if held else []
        if variances[number] < 1e-7:
            said.append("0: at the border, no interval")
        elif few:
            said.append(f"{table['n_levels'][k]} levels: no interval below {FEWEST_LEVELS}")
        elif share[number] < LEAST_SHARE:
            said.append("less than a tenth of the variance: no interval")
        elif squares is None:
            said.append("not balanced: no interval")
        if not converged:
            said.append("the search for the greatest likelihood did not converge")
        claimed = not few and share[number] >= LEAST_SHARE
        ends = (low[number], high[number]) if claimed else (np.nan, np.nan)
        reason[k] = "; ".join(said)
        found = np.array([variances[number], *ends]) * unit**2
        table.loc[k, ["variance", "ci_low", "ci_high"]] = found
        table.loc[k, "share"] = share[number]
    return table.assign(reason=reason, method=method)


def _mean_squares(
    y: Floats, system: Ints, item: Ints, annotator: Ints
) -> tuple[Floats, Floats, Floats] | None:
    """Give mean squares, degrees of freedom and multipliers; None of a design not balanced.

    In the order of `FACTORS` and rest.
    """
    k, n, m = (int(one.max()) + 1 for one in (system, item, annotator))
    cell = (system * n + item) * m + annotator
    count = np.bincount(cell, minlength=k * n * m)
    r = int(count[0])
    if (count != r).any() or min(n, m, k) < 2:
        return None
    mean = (np.bincount(cell, y, k * n * m) / r).reshape(k, n, m)
    whole = mean.mean()
    i, a = mean.mean(axis=(0, 2)) - whole, mean.mean(axis=(0, 1)) - whole
    s = mean.mean(axis=(1, 2), keepdims=True) - whole
    si = mean.mean(axis=2) - s[..., 0] - i - whole
    sa = mean.mean(axis=1) - s[:, 0] - a - whole
    sums = np.array([k * m * i @ i, k * n * a @ a, m * (si**2).sum(), n * (sa**2).sum()]) * r
    df = np.array([n - 1, m - 1, (k - 1) * (n - 1), (k - 1) * (m - 1)], dtype=np.float64)
    rest = y @ y - sums.sum() - r * n * m * (s**2).sum()
    df = np.append(df, len(y) - k - df.sum())
    return np.append(sums, rest) / df, df, np.array([k * m, k * n, m, n, 1.0 / r]) * r


#: Below which expected mean square each one lies: item above system x item, and so on.
_UNDER = (2, 3, 4, 4)


def _balanced(
    squares: Floats, df: Floats, times: Floats, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Estimate from mean squares, with intervals that are exact where one of two is known.

    Restricted likelihood with variances of 0 or more pools mean squares that are out of order
    (Thompson 1962, doi:10.1214/aoms/1177704731).
    """
    pooled = _pooled(squares, df)
    variances = pooled[:4] - pooled[list(_UNDER)]
    variances = np.append(variances, pooled[4]) / times
    tail = (1 - confidence) / 2
    low, high = np.empty(5), np.empty(5)
    for k, under in enumerate(_UNDER):
        low[k], high[k] = _modified_large_sample(squares[k], squares[under], df[k], df[under], tail)
    sums = df[4] * squares[4]
    low[4], high[4] = sums / chi2.isf(tail, df[4]), sums / chi2.ppf(tail, df[4])
    return variances, np.maximum(low / times, 0), np.maximum(high / times, 0)


def _pooled(squares: Floats, df: Floats) -> Floats:
    """Pool the mean square that is farthest below its lower neighbor with it, until none is."""
    block = [[k] for k in range(5)]
    under = list(_UNDER)
    of = list(range(5))
    level, weight = squares.copy(), df.copy()
    while True:
        # Smallest first, as Thompson does: of several children the one that is least.
        out = [k for k in range(4) if of[k] == k and level[k] < level[of[under[k]]]]
        if not out:
            return np.array([level[of[k]] for k in range(5)])
        k = min(out, key=lambda one: level[one])
        into = of[under[k]]
        both = weight[k] + weight[into]
        level[into] = (weight[k] * level[k] + weight[into] * level[into]) / both
        weight[into] = both
        block[into] += block[k]
        for one in block[k]:
            of[one] = into


def _modified_large_sample(
    one: float, other: float, df: float, other_df: float, tail: float
) -> tuple[float, float]:
    """Put an interval around the difference of two expected mean squares (Ting and others 1990)."""
    upper, lower = fisher.isf(tail, df, other_df), fisher.ppf(tail, df, other_df)
    g_one, g_other = (1 - n / chi2.isf(tail, n) for n in (df, other_df))
    h_one, h_other = (n / chi2.ppf(tail, n) - 1 for n in (df, other_df))
    g_both = ((upper - 1) ** 2 - g_one**2 * upper**2 - h_other**2) / upper
    h_both = ((1 - lower) ** 2 - h_one**2 * lower**2 - g_other**2) / lower
    below = (g_one * one) ** 2 + (h_other * other) ** 2 + g_both * one * other
    above = (h_one * one) ** 2 + (g_other * other) ** 2 + h_both * one * other
    return one - other - np.sqrt(max(below, 0)), one - other + np.sqrt(max(above, 0))


def levels(system: Ints, item: Ints, annotator: Ints) -> list[Ints]:
    """Count off the levels of each factor, in the order of `FACTORS`, and of the rest."""
    cells = [item, annotator, system * (item.max() + 1) + item]
    cells.append(system * (annotator.max() + 1) + annotator)
    found = [np.unique(one, return_inverse=True)[1].astype(np.int64) for one in cells]
    return [*found, np.arange(len(system))]


def _gram(numbers: list[Ints], system: Ints) -> Floats:
    """Give tr(P V_k P V_l), where P takes off systems' means: what sums of squares expect."""
    size = np.bincount(system)
    shares = [
        np.bincount(one * len(size) + system, minlength=(one.max() + 1) * len(size))
        .reshape(-1, len(size))
        .astype(np.float64)
        for one in numbers
    ]
    squares = [one.T @ one / np.sqrt(np.outer(size, size)) for one in shares]
    gram = np.empty((5, 5))
    for k in range(5):
        for other in range(k + 1):
            flat = numbers[k] * (numbers[other].max() + 1) + numbers[other]
            cell, count = np.unique(flat, return_counts=True)
            one, two = np.divmod(cell, numbers[other].max() + 1)
            mean = (shares[k][one] / size * shares[other][two]).sum(axis=1)
            inner = (count * (count - 2 * mean)).sum()
            gram[k, other] = gram[other, k] = inner + (squares[k] * squares[other]).sum()
    return gram


def _identified(gram: Floats, n: int) -> tuple[tuple[int, ...], dict[int, str]]:
    """Say which factors the design tells from the others, and what each of the rest is mixed with.

    A factor is told apart where its covariance, less the systems' means, is no sum of others'.
    """
    names = [*FACTORS, "rest"]
    kept, why = [4], {}
    for k in (2, 3, 0, 1):
        if gram[k, k] <= 1e-9 * n:
            why[k] = "one level, or one for each system: nothing to compare"
            continue
        weight = np.linalg.solve(gram[np.ix_(kept, kept)], gram[kept, k])
        if gram[k, k] - weight @ gram[kept, k] > 1e-9 * gram[k, k]:
            kept.append(k)
            continue
        mixed = [names[one] for one, w in zip(kept, weight, strict=True) if abs(w) > 1e-6]
        why[k] = f"confounded with {' and '.join(mixed)}, where it is counted"
    return tuple(sorted(kept[1:])), why


def _moments(y: Floats, numbers: list[Ints], gram: Floats, chosen: list[int]) -> Floats:
    """Set the sums of squares of the levels' sums equal to their expectations; 0 or more."""
    sums = [(np.bincount(numbers[k], y) ** 2).sum() for k in chosen]
    return np.maximum(np.linalg.solve(gram[np.ix_(chosen, chosen)], sums), 0)


def _likelihood(y: Floats, system: Ints, numbers: list[Ints]) -> tuple[Floats, bool] | None:
    """Fit by statsmodels: variances, and whether its search converged; None where it cannot."""
    names = [f"f{k}" for k in range(len(numbers))]
    frame = pd.DataFrame(dict(zip(names, numbers, strict=True))).assign(y=y, system=system, all=1)
    parts = {name: f"0 + C({name})" for name in names}
    model = smf.mixedlm("y ~ 0 + C(system)", frame, groups="all", vc_formula=parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = model.fit(reml=True, method="powell", ftol=1e-9)
        except np.linalg.LinAlgError:
            return None
    of = dict(zip(model.exog_vc.names, found.vcomp, strict=True))
    return np.array([*(of[name] for name in names), found.scale]), bool(found.converged)


def vote_components(study: Study, *, dimension: str | None = None) -> pd.DataFrame:
    """Measure variances of votes (win 1, tie 0, loss -1) over items and annotators, and ties.

    Within two systems' votes, less their mean: the mean product of two annotators' votes on one
    item is the variance over items, that of one annotator's votes on two items the variance over
    annotators. Intervals are jackknives over items, or annotators, and cut off at 0.
    """
    votes = votes_of(study, dimension)
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

    def of(sums: Floats) -> Floats:
        return np.asarray(ratio(sums[..., 0], sums[..., 1]))

    tie = (frame["score"] == 0).to_numpy(dtype=np.float64)
    frame["score"] -= frame.groupby("pair")["score"].transform("mean")
    rows: list[dict[str, Any]] = []
    for name in ("item", "annotator"):
        by = frame.groupby(["pair", name], sort=False)["score"]
        n, total = by.size().to_numpy(), by.sum().to_numpy()
        squares = (frame["score"] ** 2).groupby([frame["pair"], frame[name]], sort=False).sum()
        parts = np.column_stack([total**2 - squares.to_numpy(), n * (n - 1.0)])
        clusters = by.size().index.get_level_values(1)
        rows.append({"component": name, **cluster_jackknife(parts, clusters, of)})
    parts = np.column_stack([tie, np.ones(len(tie))])
    rows.append({"component": "ties", **cluster_jackknife(parts, frame["item"], of)})
    table = pd.DataFrame(rows).rename(columns={"estimate": "variance"})
    ends = ["variance", "ci_low", "ci_high"]
    table[ends] = table[ends].clip(lower=0)
    return table[["component", *ends, "reason"]]
