"""How many judgments a question needs: power, the least difference that is found, the price.

A planned study is a layout and the variances of what its judgments say of a difference. Its power
follows from a formula; beside it stands how often the test finds the difference in simulated
studies of that layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from nlgbench.analysis.planning import simulating
from nlgbench.analysis.planning.components import variance_components, vote_components
from nlgbench.analysis.planning.power import (
    Design,
    Spread,
    degrees_of_freedom,
    noncentrality,
    power_of,
    standard_error,
)
from nlgbench.analysis.planning.simulating import Layout
from nlgbench.inference import FEWEST, few_clusters
from nlgbench.names import known
from nlgbench.reported import Reported, in_words
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n

Question = Literal["means", "preferences"]

_PARTS = {
    "means": ("system x item", "system x annotator", "rest"),
    "preferences": ("item", "annotator", "ties"),
}
_IDLE = {"means": ("item", "annotator"), "preferences": ("rest",)}
_PRICES = ("judgment", "item", "annotator")
#: What `designs` are looked for among.
_ITEMS = np.unique(np.geomspace(FEWEST, 2000, 80).round())
_PEOPLE = np.array([10, 12, 15, 20, 25, 30, 40, 50, 75, 100])
_FIXED_PEOPLE = np.array([1, 2, 3, 4, 5, 7, 10])
_VOTES = np.array([1, 2, 3, 4, 5, 7, 10])
CURVE = (
    *("n_systems", "n_items", "n_annotators", "n_votes", "se", "df", "power", "power_low"),
    *("power_high", "simulated", "simulated_low", "simulated_high", "n_simulations", "mdd"),
    "reason",
)


@dataclass(frozen=True, eq=False)
class StudyPlan(Reported):
    """How many judgments a question needs: what `plan_study` and its like found, as tables.

    Parameters
    ----------
    curve, designs, components : DataFrame
        As `plan_study` says.
    report : DataFrame
        ``what`` and ``value``: what was asked, what is stated, what measured, and how, in words.

    Examples
    --------
    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50], n_annotators=[20], n_simulations=9)
    >>> isinstance(plan, StudyPlan), len(plan.curve)
    (True, 1)
    """

    curve: pd.DataFrame
    designs: pd.DataFrame
    components: pd.DataFrame
    report: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.designs.round(3)


@checked
def plan_study(
    pilot: Study | pd.DataFrame | Mapping[str, float],
    *,
    difference: float,
    question: Question = "means",
    dimension: str | None = None,
    annotators: Literal["fixed", "random"] = "random",
    design: Design = "crossed",
    n_systems: int = 2,
    n_items: Sequence[int] = (25, 50, 100, 200),
    n_annotators: Sequence[int] = (10, 20, 40),
    n_votes: int = 3,
    n_repetitions: int = 1,
    prices: Mapping[str, float] | None = None,
    budget: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    n_simulations: int = 500,
    seed: int | np.random.Generator = 0,
) -> StudyPlan:
    """Say how many items and annotators a comparison of systems needs, and what they cost.

    Parameters
    ----------
    pilot : Study, DataFrame or mapping of str to float
        A pilot, whose variances are measured; a table of `variance_components`; or variances that
        are stated. Of means, in squared points: ``system x item``, ``system x annotator``,
        ``rest``. Of preferences, where a win is 1, a tie 0 and a loss -1: ``item`` and
        ``annotator`` (what the score of a pair of systems varies by over items, over annotators),
        and ``ties``, their share.
    difference : float
        The smallest difference that matters, above 0: of two systems' means in points, or of the
        shares of wins and of losses.
    question : {"means", "preferences"}
        Whether annotators judge outputs or vote on pairs of them.
    dimension : str, optional
        Of a pilot's judgments or votes. Default: the study's quality dimension.
    annotators : {"random", "fixed"}
        What the planned test generalizes to: other items and annotators, or other items and these
        annotators, as with fewer than ten.
    design : {"crossed", "blocked", "scattered", "distinct"}
        ``"crossed"``: every annotator judges every output. ``"blocked"``: `n_votes` annotators,
        drawn for each item, judge all its outputs. ``"scattered"``: they are drawn for each output
        (of votes, for each pair: as ``"blocked"``). ``"distinct"``: each item has `n_votes`
        annotators of its own, who judge all its outputs and no other.
    n_systems : int
        Systems that are compared, each two; more divide the level of the test among the pairs.
    n_items, n_annotators : sequence of int
        What the curve is of; ``"distinct"`` hires `n_votes` annotators for each item instead.
    n_votes : int
        Annotators of one output or pair; ``"crossed"`` has all.
    n_repetitions : int
        How often an annotator judges the same output, as if anew.
    prices : mapping of str to float, optional
        Of a ``judgment`` (or vote), an ``item``, an ``annotator``. Default: 1 for a judgment.
    budget : float, optional
        What `designs` may cost.
    power : float
        The power that `designs` must have, and that the minimum detectable difference is found
        with.
    confidence : float
        1 - confidence is the level of the test.
    n_simulations : int
        Simulated studies for each point of the curve; 0 for the formula alone.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    StudyPlan
        ``curve``, a row per number of items and annotators: n_systems, n_items, n_annotators,
        n_votes, se (of the difference), df, power (by the formula), power_low, power_high (at the
        ends of the components' intervals; NaN where they have none), simulated, simulated_low,
        simulated_high (share of simulated studies whose test is significant, Wilson's 95%),
        n_simulations, mdd (the minimum detectable difference), reason (why to doubt it, or "").

        ``designs``, the cheapest first, one for each number of annotators (``"distinct"``: of an
        item's): design, n_systems, n_items, n_annotators, n_votes, n_repetitions, n_judgments,
        price, power, mdd, reason. Where the budget allows none of that power, the most powerful
        that it allows.

        ``components``: component, variance, ci_low, ci_high, reason, source (``stated`` or
        ``measured``).

        ``report``: what, value.

    Raises
    ------
    ValueError
        For a component that is unknown, missing or negative, a difference that is not above 0,
        more votes than annotators, or prices of other things.

    Notes
    -----
    With I items, A annotators, v of them for an output and R repetitions, the difference of two
    means has the variance ``2 s_SI / I + 2 s_SA k + 2 s_rest / (I v R)``, where k is ``1 / A`` for
    crossed designs (v = A), ``1 / A + (1 - v / A) / (I v)`` for blocked and scattered ones, and
    ``1 / (I v)`` for distinct ones. Scattered annotators meet systems unequally often, and
    estimating severities costs ``1 / (1 - (A - 1)(1 - v / A) / (I (2 v - 1 - v / A)))`` of the
    rest. Of votes it is ``s_I / I + s_A k + s_rest / (I v)``, and s_rest is what is left of ``1 -
    ties - difference^2``. Power is that of t with ``min(I, A) - 1`` degrees of freedom (distinct: I
    - 1), which `compare_systems` has, at the level divided by the number of pairs.

    Simulated studies are normal for means, and Davidson's chances with normal gaps for votes; the
    test takes the jackknife's variance over items and annotators. docs/planning.md says how far the
    formula is off.

    Examples
    --------
    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50, 200], n_annotators=[20])
    >>> plan.curve[["n_items", "power", "simulated", "mdd"]].round(2).values.tolist()
    [[50.0, 0.41, 0.42, 0.49], [200.0, 0.79, 0.81, 0.3]]
    """
    if difference <= 0:
        raise ValueError(
            f"difference must be above 0, the smallest that matters. Got {difference:g}."
        )
    for name, numbers in (("n_items", n_items), ("n_annotators", n_annotators)):
        for number in numbers:
            if number < 2:
                raise ValueError(f"{name} must each be at least 2. Got {number}.")
    for name, number in (("n_votes", n_votes), ("n_repetitions", n_repetitions)):
        check_n(number, name)
    if n_systems < 2:
        raise ValueError(f"n_systems must be at least 2. Got {n_systems}.")
    if design in ("blocked", "scattered") and n_votes > min(n_annotators):
        raise ValueError(
            f"n_votes must be at most n_annotators, as no more can judge an output. Got "
            f"n_votes={n_votes} and n_annotators={list(n_annotators)}."
        )
    prices = _priced(prices)
    if question == "preferences" and design == "scattered":
        design = "blocked"
    components = _components(pilot, question, dimension)
    rng = np.random.default_rng(seed)
    alpha = (1 - confidence) / (n_systems * (n_systems - 1) // 2)
    spreads = [_spread(components, question, difference, end) for end in ("variance", *_ENDS)]
    people = [0] if design == "distinct" else n_annotators
    layouts = pd.DataFrame(
        [
            (items, items * n_votes, n_votes)
            if design == "distinct"
            # A crossed design's votes are all annotators'.
            else (items, n, n if design == "crossed" else n_votes)
            for n in people
            for items in n_items
        ],
        columns=["n_items", "n_annotators", "n_votes"],
    )
    asked: dict[str, Any] = {"difference": difference, "alpha": alpha, "power": power}
    asked |= {"n_repetitions": n_repetitions, "question": question, "fixed": annotators == "fixed"}
    curve = _by_formula(layouts, design, spreads, asked)
    rejected = _simulated(curve, design, spreads[0], components, asked, n_simulations, rng)
    curve = with_simulated(curve, rejected, n_simulations).assign(n_systems=n_systems)
    designs = _designs(design, spreads, asked, n_systems, prices, budget)
    report = _report(components, asked, design, n_systems, prices, budget, n_simulations)
    return StudyPlan(curve[list(CURVE)], designs, components, report)


_ENDS = ("ci_high", "ci_low")


def _priced(prices: Mapping[str, float] | None) -> dict[str, float]:
    given = {"judgment": 1.0} if prices is None else dict(prices)
    for name, price in given.items():
        known(name, _PRICES, "prices")
        if price < 0:
            raise ValueError(f"prices must be 0 or more. Got {price:g} for {name!r}.")
    return {name: float(given.get(name, 0.0)) for name in _PRICES}


# Components ------------------------------------------------------------------------------------


def _components(
    pilot: Study | pd.DataFrame | Mapping[str, float], question: Question, dimension: str | None
) -> pd.DataFrame:
    """Read or measure the variances that a plan rests on."""
    source = "stated"
    if isinstance(pilot, Study):
        measure = variance_components if question == "means" else vote_components
        pilot, source = measure(pilot, dimension=dimension), "measured"
    elif isinstance(pilot, pd.DataFrame):
        source = "measured"
    else:
        pilot = pd.DataFrame({"component": pilot.keys(), "variance": pilot.values()})
    columns = "component variance:float? ci_low:float? ci_high:float? reason:text?"
    table = read_table(pilot, columns, "pilot has")
    if "variance" not in table:
        raise ValueError("pilot has no column 'variance': give a table of variance_components.")
    wanted, idle = _PARTS[question], _IDLE[question]
    for name in table["component"]:
        known(name, (*wanted, *idle), "pilot")
    missing = [name for name in wanted if name not in set(table["component"])]
    if missing:
        raise ValueError(
            f"pilot lacks {', '.join(map(repr, missing))}, which a plan for {question} rests on: "
            f"state {', '.join(wanted)}, 0 where there is none."
        )
    bad = table[table["variance"] < 0]
    if len(bad):
        raise ValueError(
            f"pilot: {bad['component'].iloc[0]!r} must be 0 or more. Got "
            f"{bad['variance'].iloc[0]:g}."
        )
    for name in _ENDS:
        table[name] = table.get(name, np.nan)
    table = table.assign(reason=table.get("reason", ""), source=source)
    table["reason"] = table["reason"].fillna("")
    kept = ["component", "variance", "ci_low", "ci_high", "reason", "source"]
    return table[kept].reset_index(drop=True)


def _spread(
    components: pd.DataFrame, question: Question, difference: float, end: str
) -> Spread | None:
    """Sum up what the difference of two systems varies by; at an end of the intervals, if any."""
    table = components.set_index("component")
    value = table["variance"]
    if end != "variance":
        if table[end].isna().all():
            return None
        value = table[end].fillna(value)
    # What the pilot's layout cannot tell apart is held by another component.
    value = value.fillna(0)
    if question == "means":
        of_item, of_annotator, rest = (2 * float(value[name]) for name in _PARTS["means"])
        return Spread(of_item, of_annotator, rest)
    item, annotator, ties = (float(value[name]) for name in _PARTS["preferences"])
    rest = 1 - ties - difference**2 - item - annotator
    if rest < 0 and end == "variance":
        raise ValueError(
            f"votes vary by 1 - ties - difference^2 = {1 - ties - difference**2:.3g} in all, and "
            f"item and annotator are {item + annotator:.3g} of it: state less of them."
        )
    return Spread(item, annotator, max(rest, 0.0))


# Formula ---------------------------------------------------------------------------------------


def _by_formula(
    layouts: pd.DataFrame, design: Design, spreads: list[Spread | None], asked: dict[str, Any]
) -> pd.DataFrame:
    """Add se, df, power, power at the intervals' ends, mdd and reason to layouts."""
    items, people = layouts["n_items"], layouts["n_annotators"]
    fixed = asked["fixed"]
    df = pd.Series(degrees_of_freedom(design, items, people, fixed), layouts.index)
    made = layouts.assign(df=df)
    numbers = items, people, layouts["n_votes"], asked["n_repetitions"], fixed
    for name, spread in zip(("power", "power_low", "power_high"), spreads, strict=True):
        made[name] = np.nan
        if spread is not None:
            se = standard_error(design, spread, *numbers)
            made[name] = power_of(asked["difference"], se, df, asked["alpha"])
    assert spreads[0] is not None
    made["se"] = standard_error(design, spreads[0], *numbers)
    away = {one: noncentrality(asked["power"], one, asked["alpha"]) for one in df.unique()}
    made["mdd"] = made["se"] * df.map(away)
    rows = zip(items, people, made["se"], strict=True)
    return made.assign(reason=[_doubt(*row, fixed) for row in rows])


def _doubt(n_items: int, n_annotators: int, se: float, fixed: bool) -> str:
    if np.isnan(se):
        return "annotators share too few items with each other: take more votes"
    if n_annotators < FEWEST and not fixed:
        return f"{n_annotators} annotators: fewer than {FEWEST} do not speak for others"
    return few_clusters(n_items).replace("clusters", "items", 1)


def _simulated(
    curve: pd.DataFrame,
    design: Design,
    spread: Spread | None,
    components: pd.DataFrame,
    asked: dict[str, Any],
    n: int,
    rng: np.random.Generator,
) -> list[float]:
    """Count the simulated studies of each layout that find the difference."""
    assert spread is not None
    if not n:
        return [0] * len(curve)
    difference, alpha = asked["difference"], asked["alpha"]
    found: list[float] = []
    votes = None
    if asked["question"] == "preferences":
        ties = float(components.set_index("component")["variance"]["ties"])
        votes = simulating.latent_votes(difference, ties, spread)
    columns = curve[["n_items", "n_annotators", "n_votes"]].astype(int).to_numpy().tolist()
    for (items, people, n_votes), known_ in zip(columns, curve["se"].notna(), strict=True):
        layout = Layout(design, items, people, n_votes, asked["n_repetitions"], asked["fixed"])
        if not known_:
            found.append(np.nan)
        elif votes is not None:
            found.append(simulating.rejections_of_votes(layout, *votes, alpha, n, rng))
        else:
            found.append(simulating.rejections_of_means(layout, difference, spread, alpha, n, rng))
    return found


def with_simulated(curve: pd.DataFrame, rejected: Sequence[float], n: int) -> pd.DataFrame:
    """Add shares of simulated studies, with Wilson's intervals."""
    count = np.asarray(rejected, dtype=np.float64)
    if not n:
        return curve.assign(
            simulated=np.nan, simulated_low=np.nan, simulated_high=np.nan, n_simulations=0
        )
    low, high = proportion_confint(count, n, method="wilson")
    return curve.assign(
        simulated=count / n, simulated_low=low, simulated_high=high, n_simulations=n
    )


# Prices ----------------------------------------------------------------------------------------


def _designs(
    design: Design,
    spreads: list[Spread | None],
    asked: dict[str, Any],
    n_systems: int,
    prices: dict[str, float],
    budget: float | None,
) -> pd.DataFrame:
    """Look for the cheapest design with each number of annotators."""
    people = _FIXED_PEOPLE if asked["fixed"] else _PEOPLE
    grid = pd.MultiIndex.from_product(
        [_ITEMS, people, _VOTES], names=["n_items", "n_annotators", "n_votes"]
    ).to_frame(index=False)
    if design == "crossed":
        grid["n_votes"] = grid["n_annotators"]
    elif design == "distinct":
        grid["n_annotators"] = grid["n_items"] * grid["n_votes"]
    grid = grid[grid["n_votes"] <= grid["n_annotators"]].drop_duplicates(ignore_index=True)
    grid = grid.astype(int)
    pairs = n_systems * (n_systems - 1) // 2
    per_item = n_systems if asked["question"] == "means" else pairs
    judgments = grid["n_items"] * grid["n_votes"] * per_item * asked["n_repetitions"]
    price = (
        judgments * prices["judgment"]
        + grid["n_items"] * prices["item"]
        + grid["n_annotators"] * prices["annotator"]
    )
    grid = grid.assign(n_judgments=judgments, price=price)
    if budget is not None:
        grid = grid[price <= budget]
    if grid.empty:
        raise ValueError(
            f"budget buys no design of {FEWEST} items and {people[0]} annotators: the cheapest "
            f"costs {price.min():g}. Got {budget:g}."
        )
    # At equal price the difference that is found is what counts.
    assert spreads[0] is not None
    se = standard_error(
        *(design, spreads[0], grid["n_items"], grid["n_annotators"], grid["n_votes"]),
        *(asked["n_repetitions"], asked["fixed"]),
    )
    df = degrees_of_freedom(design, grid["n_items"], grid["n_annotators"], asked["fixed"])
    grid = grid.assign(power=power_of(asked["difference"], se, df, asked["alpha"]))
    enough = grid[grid["power"] >= asked["power"]]
    by = "n_votes" if design == "distinct" else "n_annotators"
    if enough.empty:
        order = grid.sort_values(["power", "price"], ascending=[False, True], kind="stable")
    else:
        order = enough.sort_values(["price", "power"], ascending=[True, False], kind="stable")
    best = order.drop_duplicates(by)
    table = _by_formula(best[["n_items", "n_annotators", "n_votes"]], design, spreads, asked)
    table = table.assign(n_judgments=best["n_judgments"], price=best["price"], design=design)
    if enough.empty:
        why = f"no design within the budget has a power of {asked['power']:g}"
        if budget is None:
            why = f"none of up to {_ITEMS.max():g} items has a power of {asked['power']:g}"
        table["reason"] = why
    table = table.assign(n_systems=n_systems, n_repetitions=asked["n_repetitions"])
    kept = ["design", "n_systems", "n_items", "n_annotators", "n_votes", "n_repetitions"]
    kept += ["n_judgments", "price", "power", "mdd", "reason"]
    return table[kept].reset_index(drop=True)


def _report(
    components: pd.DataFrame,
    asked: dict[str, Any],
    design: Design,
    n_systems: int,
    prices: dict[str, float],
    budget: float | None,
    n_simulations: int,
) -> pd.DataFrame:
    """Say in words what was asked, what is stated, what measured, and how."""
    means = asked["question"] == "means"
    people = _FIXED_PEOPLE if asked["fixed"] else _PEOPLE
    measured = (components["source"] == "measured").any()
    parts = components.dropna(subset="variance").set_index("component")["variance"]
    held = components.loc[components["variance"].isna(), "component"].tolist()
    ends = components.loc[components["ci_high"].notna(), "component"].tolist()
    pairs = n_systems * (n_systems - 1) // 2
    unsure = "stated, taken as known: vary them"
    if measured:
        unsure = "a pilot's variances are uncertain, and these have no intervals: vary them"
    if ends:
        unsure = (
            f"power_low and power_high are at the ends of the intervals of {', '.join(ends)}, all "
            "at once; the others are taken as known"
        )
    of_design = {
        "crossed": "every annotator judges every output",
        "blocked": "annotators drawn for each item judge all its outputs",
        "scattered": "annotators are drawn for each output",
        "distinct": "each item has annotators of its own, who judge all its outputs",
    }
    what = "two means, in points" if means else "the shares of wins and of losses"
    paid = ", ".join(f"{price:g} for each {name}" for name, price in prices.items() if price)
    entries = {
        "question": f"a difference of {asked['difference']:.3g} between {what}",
        "components": f"{'measured' if measured else 'stated'}: "
        + ", ".join(f"{name} {value:.3g}" for name, value in parts.items()),
        "not told apart": f"{', '.join(held)}: held by other components, as their reasons say; "
        "more of the same may help less than the plan says"
        if held
        else "nothing",
        "uncertain": unsure,
        "design": f"{design}: {of_design[design]}; {asked['n_repetitions']} repetition"
        + "s" * (asked["n_repetitions"] > 1),
        "test": f"t over items{' alone' if asked['fixed'] else ' and annotators'}, two-sided, at "
        f"{asked['alpha']:.2g}"
        + (f", as {pairs} pairs of {n_systems} systems share the level" if pairs > 1 else ""),
        "simulated": "nothing"
        if not n_simulations
        else f"{n_simulations} studies for each point, "
        + ("normal" if means else "votes by Davidson's chances"),
        "prices": f"{paid or 'nothing'}; "
        + ("no budget" if budget is None else f"a budget of {budget:g}"),
        "designs": f"{_ITEMS.min():g} to {_ITEMS.max():g} items, a power of {asked['power']:g}; "
        + (
            f"{_VOTES.min()} to {_VOTES.max()} annotators of an item's own"
            if design == "distinct"
            else f"{people.min()} to {people.max()} annotators"
        ),
    }
    return in_words(entries.items())
