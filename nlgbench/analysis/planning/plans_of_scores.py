"""How many systems are needed to distinguish two evaluators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from statsmodels.stats.proportion import proportion_confint

from nlgbench.analysis.correlation import comparing
from nlgbench.analysis.planning.plans import StudyPlan
from nlgbench.analysis.planning.power import power_of
from nlgbench.status import OK, explain, split_status
from nlgbench.study.checks import checked

#: The largest number of systems to search.
_MOST = 10_000
#: For at most `_ALL_SWAPS` systems, the test uses all ways to swap two evaluators' scores. For more
#: systems, it draws `_N_SWAPS` ways.
_ALL_SWAPS, _N_SWAPS = 12, 999


@checked
def plan_correlations(
    correlations: tuple[float, float, float],
    *,
    n_systems: Sequence[int] = (8, 12, 20, 40, 80),
    power: float = 0.8,
    confidence: float = 0.95,
    n_simulations: int = 500,
    seed: int | np.random.Generator = 0,
) -> StudyPlan:
    """Plan how many systems are needed to distinguish two evaluators' correlations.

    Parameters
    ----------
    correlations : (float, float, float)
        Correlations over systems: of the better evaluator with human judgments, of the other with
        human judgments, and of the two evaluators with each other.
    n_systems : sequence of int
        Numbers of systems for the curve.
    power : float
        Target power of `designs`, and of the minimum detectable difference.
    confidence : float
        1 - confidence is the level of the test.
    n_simulations : int
        Number of simulated studies for each number of systems.
    seed : int or Generator
        Seed of the simulations.

    Returns
    -------
    StudyPlan
        ``curve``, by number of systems: n_systems, df, se, power (of Williams' t at these
        correlations, with n - 3 degrees of freedom; Steiger 1980, doi:10.1037/0033-2909.87.2.245),
        mdd (minimum detectable difference), simulated, simulated_low, simulated_high (share of
        simulated studies where the test of `compare_evaluators` is significant, and Wilson's 95%
        interval), n_simulations, status, reason. ``designs``: the fewest systems with the target
        power.

    Raises
    ------
    ValueError
        When no data can have these three correlations, the first is not above the second, or a
        number of systems is below five.

    Examples
    --------
    >>> plan = plan_correlations((0.9, 0.6, 0.6), n_systems=[10, 40], n_simulations=200)
    >>> plan.curve[["n_systems", "power", "simulated"]].round(2).values.tolist()
    [[10.0, 0.39, 0.28], [40.0, 0.99, 0.98]]
    """
    a, b, both = correlations
    for number in n_systems:
        if number < 5:
            raise ValueError(f"each of n_systems must be at least 5. Got {number}.")
    if not a > b:
        raise ValueError(f"correlations: the first must be above the second. Got {a:g} and {b:g}.")
    if not all(abs(r) < 1 for r in correlations):
        raise ValueError(f"correlations must lie between -1 and 1. Got {a:g}, {b:g} and {both:g}.")
    alpha, rng = 1 - confidence, np.random.default_rng(seed)

    def found(better: float, n: float) -> float:
        # Williams' t is NaN where its variance is 0; there, the power is 1.
        t, _ = comparing.williams(better, b, both, int(n))
        return float(power_of(t, 1.0, n - 3, alpha)) if np.isfinite(t) else 1.0

    # The largest correlation that is possible with the other two.
    most = b * both + np.sqrt((1 - b**2) * (1 - both**2))
    if a >= most:
        raise ValueError(
            f"correlations {a:g}, {b:g} and {both:g} are impossible together: given the other two, "
            f"the first must be below {most:.3f}."
        )
    curve = pd.DataFrame({"n_systems": list(n_systems)})
    curve["df"] = curve["n_systems"] - 3.0
    curve["se"] = [(a - b) / comparing.williams(a, b, both, n)[0] for n in n_systems]
    curve["power"] = [found(a, n) for n in n_systems]
    top = most - 1e-6
    curve["mdd"] = [
        brentq(lambda r, n=n: found(r, n) - power, b, top) - b if found(top, n) > power else np.nan
        for n in curve["n_systems"]
    ]
    n = n_simulations
    rejected = np.array([rejections(correlations, k, alpha, n, rng) for k in n_systems])
    low, high = proportion_confint(rejected, n, method="wilson")
    curve = curve.assign(simulated=rejected / n, simulated_low=low, simulated_high=high)
    out_of_reach = explain("no_power", power=power, most=f"a correlation of {top:.3f}")
    status = [out_of_reach if np.isnan(mdd) else OK for mdd in curve["mdd"]]
    curve = split_status(curve.assign(n_simulations=n, status=status))
    least = next((n for n in range(5, _MOST) if found(a, n) >= power), None)
    designs = pd.DataFrame({"n_systems": [np.nan if least is None else least]})
    designs["power"] = np.nan if least is None else found(a, least)
    out_of_reach = explain("no_power", power=power, most=f"{_MOST:,} systems")
    designs = split_status(designs.assign(status=OK if least else out_of_reach))
    components = pd.DataFrame(
        {
            "component": ["better and human", "other and human", "better and other"],
            "correlation": correlations,
            "source": "stated",
        }
    )
    question = f"a difference between correlations of {a:g} and {b:g} with human judgments"
    return StudyPlan(curve, designs, components, question)


def rejections(
    correlations: Sequence[float], n_systems: int, alpha: float, n: int, rng: np.random.Generator
) -> int:
    """Count simulations in which `compare_evaluators` distinguishes two evaluators.

    `correlations` are as in `plan_correlations`, and `n` is the number of simulations.
    """
    a, b, both = correlations
    whole = np.array([[1, both, a], [both, 1, b], [a, b, 1]])
    root = np.linalg.cholesky(whole)
    swaps = comparing.ways_to_swap(n_systems, 0, rng)[0] if n_systems <= _ALL_SWAPS else None
    found = 0
    for _ in range(n):
        scores = root @ rng.normal(size=(3, n_systems))
        drawn = swaps if swaps is not None else rng.random((_N_SWAPS + 1, n_systems)) < 0.5
        if swaps is None:
            drawn[0] = False
        _, statistics = comparing.swapped_statistics(scores[:2, None], scores[2], "pearson", drawn)
        found += int(comparing.swap_p(statistics, named=True)[0][0] <= alpha)
    return found
