"""How many systems tell evaluators apart, and how many outputs tell two HUSE scores apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from nlgbench.analysis.correlation.comparing import williams
from nlgbench.analysis.planning import simulating
from nlgbench.analysis.planning.plans import (
    CURVE,
    StudyPlan,
    with_simulated,
)
from nlgbench.analysis.planning.power import noncentrality, power_of
from nlgbench.reported import in_words
from nlgbench.study.checks import checked
from nlgbench.text import check_n

#: More systems, or outputs, than these are not looked for.
_MOST = 10_000


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
    """Say how many systems it takes to tell two evaluators apart by their correlation with people.

    Parameters
    ----------
    correlations : (float, float, float)
        Over systems: of the better evaluator with people, of the other, and of the two with each
        other.
    n_systems : sequence of int
        What the curve is of.
    power, confidence, n_simulations, seed
        As in `plan_study`.

    Returns
    -------
    StudyPlan
        As `plan_study` gives it. ``mdd`` is the difference that would be found, were the better
        evaluator better than stated. ``designs`` has one row: the fewest systems of that power.

    Raises
    ------
    ValueError
        When no three variables have these correlations, the first is not above the second, or
        there are fewer than five systems.

    Notes
    -----
    The formula is Williams' t (1959; Steiger 1980, doi:10.1037/0033-2909.87.2.245) at the stated
    correlations, as the noncentrality of a t with n - 3 degrees of freedom. Simulated are systems
    whose three scores are normal, and what is asked of them is `compare_evaluators`' test, which
    swaps the two evaluators' scores of systems. So many systems are needed that a study of a dozen
    tells few evaluators apart (Deutsch, Dror and Roth 2021, doi:10.1162/tacl_a_00417; 2022,
    doi:10.18653/v1/2022.naacl-main.442).

    Examples
    --------
    >>> plan = plan_correlations((0.9, 0.6, 0.6), n_systems=[10, 40], n_simulations=200)
    >>> plan.curve[["n_systems", "power", "simulated"]].round(2).values.tolist()
    [[10.0, 0.39, 0.28], [40.0, 0.99, 0.98]]
    """
    a, b, both = correlations
    for number in n_systems:
        if number < 5:
            raise ValueError(f"n_systems must each be at least 5. Got {number}.")
    if not a > b:
        raise ValueError(
            f"correlations: the first must be above the second, which it is told from. Got {a:g} "
            f"and {b:g}."
        )
    if not all(abs(r) < 1 for r in correlations):
        raise ValueError(f"correlations must lie between -1 and 1. Got {a:g}, {b:g} and {both:g}.")
    alpha, rng = 1 - confidence, np.random.default_rng(seed)

    def found(better: float, n: float) -> float:
        # A sign that turns at the edge of what three variables can have is not reached.
        t, _ = williams(better, b, both, int(n))
        return float(power_of(t, 1.0, n - 3, alpha)) if np.isfinite(t) else 1.0

    # The largest correlation that goes with the other two.
    most = b * both + np.sqrt((1 - b**2) * (1 - both**2))
    if a >= most:
        raise ValueError(
            f"no three variables correlate {a:g}, {b:g} and {both:g}: with the other two, the "
            f"first is below {most:.3f}."
        )
    curve = pd.DataFrame({"n_systems": list(n_systems)})
    curve["df"] = curve["n_systems"] - 3.0
    t = np.array([williams(a, b, both, n)[0] for n in curve["n_systems"]])
    curve["se"], curve["power"] = (a - b) / t, [found(a, n) for n in curve["n_systems"]]
    top = most - 1e-6
    curve["mdd"] = [
        brentq(lambda r, n=n: found(r, n) - power, b, top) - b if found(top, n) > power else np.nan
        for n in curve["n_systems"]
    ]
    rejected = [
        simulating.rejections_of_correlations(np.array(correlations), n, alpha, n_simulations, rng)
        for n in curve["n_systems"]
    ]
    curve = with_simulated(curve, rejected, n_simulations).assign(reason="")
    least = next((n for n in range(5, _MOST) if found(a, n) >= power), None)
    designs = pd.DataFrame({"n_systems": [np.nan if least is None else least]})
    designs["power"] = np.nan if least is None else found(a, least)
    why = f"not even {_MOST:,} systems have a power of {power:g}"
    designs["reason"] = "" if least else why
    components = pd.DataFrame(
        {
            "component": ["better with people", "other with people", "with each other"],
            "correlation": correlations,
            "source": "stated",
        }
    )
    entries = {
        "question": f"is an evaluator that correlates {a:g} with people told from one of {b:g}",
        "correlations": "over systems, stated; those of a pilot are uncertain by its few systems",
        "formula": "Williams' t at these correlations, noncentral, n - 3 degrees of freedom",
        "test": f"swaps of systems' scores, as compare_evaluators, at {alpha:.2g}",
        "simulated": f"{n_simulations} studies of normal scores for each number of systems",
        "assumed": "systems are a sample, and their scores have no error of their own",
    }
    return StudyPlan(_in_full(curve), designs, components, in_words(entries.items()))


@checked
def plan_huse(
    scores: tuple[float, float],
    *,
    n_outputs: Sequence[int] = (50, 100, 200),
    n_annotators: int = 20,
    power: float = 0.8,
    confidence: float = 0.95,
    n_simulations: int = 40,
    seed: int | np.random.Generator = 0,
) -> StudyPlan:
    """Say how many outputs it takes to tell two systems apart by their HUSE.

    Parameters
    ----------
    scores : (float, float)
        The two systems' HUSE, 0 to 1.
    n_outputs : sequence of int
        Of each system, and of people: what the curve is of.
    n_annotators : int
        Who judge every output.
    power, confidence, seed
        As in `plan_study`.
    n_simulations : int
        Simulated studies for each number of outputs, at least 10.

    Returns
    -------
    StudyPlan
        As `plan_study` gives it; items are outputs of each class. ``designs`` has one row: the
        fewest outputs of that power.

    Raises
    ------
    ValueError
        For equal scores, or such as the simulated world does not reach.

    Notes
    -----
    Simulated are two systems of the world ``gaussian``, that differ in quality so that their true
    HUSE is as stated; what is asked is whether `huse_difference`'s interval (k = 16) holds 0. The
    formula takes the gap for t, with half as many degrees of freedom as outputs; its standard error
    is that of the simulated gaps, in proportion to ``1 / sqrt(n)``: no formula is known that needs
    no simulation.

    Examples
    --------
    >>> plan = plan_huse((0.8, 0.4), n_outputs=[50], n_simulations=10)
    >>> plan.curve[["n_items", "n_simulations"]].values.tolist()
    [[50, 10]]
    """
    check_n(n_annotators, "n_annotators")
    gap = abs(scores[0] - scores[1])
    if not gap > 0:
        raise ValueError(f"scores must be two that differ. Got {scores[0]:g} twice.")
    if n_simulations < 10 or min(n_outputs) < 20:
        raise ValueError(
            "n_simulations must be at least 10, and n_outputs each at least 20. Got "
            f"n_simulations={n_simulations} and n_outputs={list(n_outputs)}."
        )
    alpha, rng = 1 - confidence, np.random.default_rng(seed)
    rejected, unit = [], []
    for n in n_outputs:
        gaps, found = simulating.huse_gaps(scores, n, n_annotators, confidence, n_simulations, rng)
        rejected.append(found)
        unit.append(gaps.var(ddof=1) * n)
    of_one = float(np.sqrt(np.mean(unit)))
    curve = pd.DataFrame({"n_items": list(n_outputs), "n_annotators": n_annotators})
    curve = curve.assign(n_systems=2, n_votes=n_annotators, df=curve["n_items"] / 2)
    curve["se"] = of_one / np.sqrt(curve["n_items"])
    curve["power"] = power_of(gap, curve["se"], curve["df"], alpha)
    away = np.array([noncentrality(power, df, alpha) for df in curve["df"]])
    curve["mdd"] = away * curve["se"]
    curve = with_simulated(curve, rejected, n_simulations).assign(reason="")
    numbers = np.arange(20, _MOST)
    enough = power_of(gap, of_one / np.sqrt(numbers), numbers / 2, alpha) >= power
    least = float(numbers[enough.argmax()]) if enough.any() else np.nan
    designs = pd.DataFrame({"n_items": [least], "n_annotators": n_annotators})
    designs["n_judgments"] = 3 * least * n_annotators
    why = f"not even {_MOST:,} outputs have a power of {power:g}"
    designs["reason"] = "" if enough.any() else why
    shifts = [simulating.shift_of(score, n_annotators) for score in scores]
    components = pd.DataFrame({"component": ["system a", "system b"], "huse": scores})
    components = components.assign(quality_shift=shifts, source="stated")
    error = of_one / np.sqrt(2 * (n_simulations - 1) * len(unit)) / of_one
    entries = {
        "question": f"are a HUSE of {scores[0]:g} and one of {scores[1]:g} told apart",
        "world": "gaussian: judgments and log-probabilities of two normal classes; real judgments "
        "are coarser",
        "annotators": f"{n_annotators}, each judges every output; others would see another HUSE",
        "formula": f"t of the gap, n / 2 degrees of freedom; its standard error is simulated, and "
        f"known to {100 * error:.0f}%",
        "test": f"huse_difference, {100 * confidence:g}% interval, k = 16",
        "simulated": f"{n_simulations} studies for each number of outputs",
    }
    return StudyPlan(_in_full(curve), designs, components, in_words(entries.items()))


def _in_full(curve: pd.DataFrame) -> pd.DataFrame:
    return curve.reindex(columns=list(CURVE))
