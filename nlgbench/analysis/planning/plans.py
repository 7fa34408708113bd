"""How many judgments a question needs: power, the least difference that is found, the price.

A planned study is a layout and the variances of what its judgments say of a difference; its power
follows from a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.planning.components import variance_components, vote_components
from nlgbench.analysis.planning.power import (
    Design,
    Spread,
    degrees_of_freedom,
    noncentrality,
    power_of,
    standard_error,
)
from nlgbench.crossed import FEWEST, few_clusters
from nlgbench.names import known
from nlgbench.reported import Reported, in_words
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n

Question = Literal["means", "preferences"]

#: Of the test that is planned.
LEVEL = 0.05
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
_DESIGNS = {
    "crossed": "every annotator judges every output",
    "blocked": "annotators drawn for each item judge all its outputs",
    "scattered": "annotators are drawn for each output",
    "distinct": "each item has annotators of its own, who judge all its outputs",
}


@dataclass(frozen=True, eq=False)
class StudyPlan(Reported):
    """How many judgments a question needs: what `plan_study` and its like found, as tables.

    Parameters
    ----------
    curve, designs, components : DataFrame
        As `plan_study` says.
    report : DataFrame
        ``what`` and ``value``: what was asked, stated and measured, in words.

    Examples
    --------
    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50], n_annotators=[20])
    >>> isinstance(plan, StudyPlan), len(plan.curve)
    (True, 1)
    """

    curve: pd.DataFrame
    designs: pd.DataFrame
    components: pd.DataFrame
    report: pd.DataFrame

    def _shown(self) -> pd.DataFrame:
        return self.designs.round(3)


@dataclass(frozen=True)
class _Asked:
    """What is planned, for layouts as columns n_items, n_annotators and n_votes."""

    question: Question
    difference: float
    design: Design
    fixed: bool
    power: float
    spread: Spread

    def errors(self, layouts: pd.DataFrame, spread: Spread | None = None) -> pd.Series:
        """Give the standard error of the difference."""
        se = standard_error(
            self.design,
            spread or self.spread,
            layouts["n_items"],
            layouts["n_annotators"],
            layouts["n_votes"],
            self.fixed,
        )
        return pd.Series(se, layouts.index)

    def df(self, layouts: pd.DataFrame) -> pd.Series:
        """Give its degrees of freedom."""
        numbers = layouts["n_items"], layouts["n_annotators"]
        return pd.Series(degrees_of_freedom(self.design, *numbers, self.fixed), layouts.index)

    def powers(self, layouts: pd.DataFrame, spread: Spread | None = None) -> np.ndarray:
        """Give the power of finding the difference."""
        return power_of(self.difference, self.errors(layouts, spread), self.df(layouts), LEVEL)

    def detectable(self, layouts: pd.DataFrame) -> pd.Series:
        """Give the least difference that is found with the power."""
        df = self.df(layouts)
        away = {one: noncentrality(self.power, one, LEVEL) for one in df.unique()}
        return self.errors(layouts) * df.map(away)


@checked
def plan_study(
    pilot: Study | pd.DataFrame | Mapping[str, float],
    *,
    difference: float,
    question: Question = "means",
    annotators: Literal["fixed", "random"] = "random",
    design: Design = "crossed",
    n_items: Sequence[int] = (25, 50, 100, 200),
    n_annotators: Sequence[int] = (10, 20, 40),
    n_votes: int = 3,
    prices: Mapping[str, float] | None = None,
    power: float = 0.8,
) -> StudyPlan:
    """Say how many items and annotators a comparison of two systems needs, and what they cost.

    Parameters
    ----------
    pilot : Study, DataFrame or mapping of str to float
        A pilot, whose variances are measured (of its quality dimension); a table of
        `variance_components`; or variances that are stated. Of means, in squared points: ``system x
        item``, ``system x annotator``, ``rest``. Of preferences, where a win is 1, a tie 0 and a
        loss -1: ``item`` and ``annotator`` (what the score of a pair of systems varies by over
        items, over annotators), and ``ties``, their share.
    difference : float
        The smallest difference that matters, above 0: of two systems' means in points, or of the
        shares of wins and of losses.
    question : {"means", "preferences"}
        Whether annotators judge outputs or vote on pairs of them.
    annotators : {"random", "fixed"}
        What the planned test generalizes to: other items and annotators, or other items and these
        annotators, as with fewer than ten.
    design : {"crossed", "blocked", "scattered", "distinct"}
        ``"crossed"``: every annotator judges every output. ``"blocked"``: `n_votes` annotators,
        drawn for each item, judge all its outputs. ``"scattered"``: they are drawn for each output
        (of votes, for each pair: as ``"blocked"``). ``"distinct"``: each item has `n_votes`
        annotators of its own, who judge all its outputs and no other.
    n_items, n_annotators : sequence of int
        What the curve is of; ``"distinct"`` hires `n_votes` annotators for each item instead.
    n_votes : int
        Annotators of one output or pair, in the curve; ``"crossed"`` has all.
    prices : mapping of str to float, optional
        Of a ``judgment`` (or vote), an ``item``, an ``annotator``. Default: 1 for a judgment.
    power : float
        The power that `designs` must have, and that the minimum detectable difference is found
        with.

    Returns
    -------
    StudyPlan
        ``curve``, a row per number of items and annotators: n_items, n_annotators, n_votes, se (of
        the difference), df, power, power_low, power_high (at the ends of the components' intervals;
        NaN where they have none), mdd (the minimum detectable difference), reason (why to doubt it,
        or "").

        ``designs``, the cheapest first, one for each number of annotators (``"distinct"``: of an
        item's): design, n_items, n_annotators, n_votes, n_judgments, price, power, mdd, reason.
        Where none has that power, the most powerful.

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
    With I items, A annotators and v of them for an output, the difference of two means has the
    variance ``2 s_SI / I + 2 s_SA k + 2 s_rest / (I v)``, where k is ``1 / A`` for crossed designs
    (v = A), ``1 / A + (1 - v / A) / (I v)`` for blocked and scattered ones, and ``1 / (I v)`` for
    distinct ones. Scattered annotators meet systems unequally often, and estimating severities
    costs ``1 / (1 - (A - 1)(1 - v / A) / (I (2 v - 1 - v / A)))`` of the rest. Of votes it is ``s_I
    / I + s_A k + s_rest / (I v)``, and s_rest is what is left of ``1 - ties - difference^2``. Power
    is that of t at the level .05 with ``min(I, A) - 1`` degrees of freedom (distinct: I - 1), which
    `compare_systems` has. docs/planning.md says how far simulated studies are from it.

    Examples
    --------
    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50, 200], n_annotators=[20])
    >>> plan.curve[["n_items", "power", "mdd"]].round(2).values.tolist()
    [[50.0, 0.41, 0.49], [200.0, 0.79, 0.3]]
    """
    if difference <= 0:
        raise ValueError(
            f"difference must be above 0, the smallest that matters. Got {difference:g}."
        )
    for name, numbers in (("n_items", n_items), ("n_annotators", n_annotators)):
        for number in numbers:
            if number < 2:
                raise ValueError(f"{name} must each be at least 2. Got {number}.")
    check_n(n_votes, "n_votes")
    if design in ("blocked", "scattered") and n_votes > min(n_annotators):
        raise ValueError(
            f"n_votes must be at most n_annotators, as no more can judge an output. Got "
            f"n_votes={n_votes} and n_annotators={list(n_annotators)}."
        )
    paid = _priced(prices)
    if question == "preferences" and design == "scattered":
        design = "blocked"
    components = _components(pilot, question)
    spread = _spread(components, question, difference, "variance")
    assert spread is not None
    asked = _Asked(question, difference, design, annotators == "fixed", power, spread)
    rows = [
        (items, items * n_votes, n_votes)
        if design == "distinct"
        # A crossed design's votes are all annotators'.
        else (items, n, n if design == "crossed" else n_votes)
        for n in ([0] if design == "distinct" else n_annotators)
        for items in n_items
    ]
    curve = pd.DataFrame(rows, columns=["n_items", "n_annotators", "n_votes"])
    curve = curve.assign(se=asked.errors(curve), df=asked.df(curve), power=asked.powers(curve))
    for name, end in (("power_low", "ci_high"), ("power_high", "ci_low")):
        known_end = _spread(components, question, difference, end)
        curve[name] = np.nan if known_end is None else asked.powers(curve, known_end)
    curve = curve.assign(mdd=asked.detectable(curve), reason=_doubts(curve, asked))
    designs = _designs(asked, paid)
    return StudyPlan(curve, designs, components, _report(components, asked, paid))


def _priced(prices: Mapping[str, float] | None) -> dict[str, float]:
    given = {"judgment": 1.0} if prices is None else dict(prices)
    for name, price in given.items():
        known(name, _PRICES, "prices")
        if price < 0:
            raise ValueError(f"prices must be 0 or more. Got {price:g} for {name!r}.")
    return {name: float(given.get(name, 0.0)) for name in _PRICES}


def _components(
    pilot: Study | pd.DataFrame | Mapping[str, float], question: Question
) -> pd.DataFrame:
    """Read or measure the variances that a plan rests on."""
    source = "stated"
    if isinstance(pilot, Study):
        measure = variance_components if question == "means" else vote_components
        pilot, source = measure(pilot), "measured"
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
    for name in ("ci_high", "ci_low"):
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


def _doubts(layouts: pd.DataFrame, asked: _Asked) -> list[str]:
    """Say why to doubt the power of each layout, or nothing."""
    found = []
    rows = zip(layouts["n_items"], layouts["n_annotators"], asked.errors(layouts), strict=True)
    for n_items, n_annotators, se in rows:
        if np.isnan(se):
            found.append("annotators share too few items with each other: take more votes")
        elif n_annotators < FEWEST and not asked.fixed:
            found.append(f"{n_annotators} annotators: fewer than {FEWEST} do not speak for others")
        else:
            found.append(few_clusters(n_items, "items"))
    return found


def _designs(asked: _Asked, prices: dict[str, float]) -> pd.DataFrame:
    """Look for the cheapest design with each number of annotators."""
    people = _FIXED_PEOPLE if asked.fixed else _PEOPLE
    grid = pd.MultiIndex.from_product(
        [_ITEMS, people, _VOTES], names=["n_items", "n_annotators", "n_votes"]
    ).to_frame(index=False)
    if asked.design == "crossed":
        grid["n_votes"] = grid["n_annotators"]
    elif asked.design == "distinct":
        grid["n_annotators"] = grid["n_items"] * grid["n_votes"]
    grid = grid[grid["n_votes"] <= grid["n_annotators"]].drop_duplicates(ignore_index=True)
    grid = grid.astype(int)
    # Of means both systems' outputs are judged, of preferences their pair is.
    grid["n_judgments"] = grid["n_items"] * grid["n_votes"] * (1 + (asked.question == "means"))
    grid["price"] = (
        grid["n_judgments"] * prices["judgment"]
        + grid["n_items"] * prices["item"]
        + grid["n_annotators"] * prices["annotator"]
    )
    grid["power"] = asked.powers(grid)
    enough = grid[grid["power"] >= asked.power]
    # At equal price the difference that is found is what counts.
    if enough.empty:
        order = grid.sort_values(["power", "price"], ascending=[False, True], kind="stable")
    else:
        order = enough.sort_values(["price", "power"], ascending=[True, False], kind="stable")
    by = "n_votes" if asked.design == "distinct" else "n_annotators"
    table = order.drop_duplicates(by, ignore_index=True)
    table = table.assign(mdd=asked.detectable(table), reason=_doubts(table, asked))
    if enough.empty:
        table["reason"] = f"none of up to {_ITEMS.max():g} items has a power of {asked.power:g}"
    table.insert(0, "design", asked.design)
    return table


def _report(components: pd.DataFrame, asked: _Asked, prices: dict[str, float]) -> pd.DataFrame:
    """Say in words what was asked, what is stated, what measured, and how."""
    people = _VOTES if asked.design == "distinct" else _FIXED_PEOPLE if asked.fixed else _PEOPLE
    measured = (components["source"] == "measured").any()
    parts = components.dropna(subset="variance").set_index("component")["variance"]
    held = components.loc[components["variance"].isna(), "component"].tolist()
    ends = components.loc[components["ci_high"].notna(), "component"].tolist()
    unsure = "stated, taken as known: vary them"
    if measured:
        unsure = "a pilot's variances are uncertain, and these have no intervals: vary them"
    if ends:
        unsure = (
            f"power_low and power_high are at the ends of the intervals of {', '.join(ends)}, all "
            "at once; the others are taken as known"
        )
    what = "the shares of wins and of losses"
    if asked.question == "means":
        what = "two means, in points"
    paid = ", ".join(f"{price:g} for each {name}" for name, price in prices.items() if price)
    entries = {
        "question": f"a difference of {asked.difference:.3g} between {what}",
        "components": f"{'measured' if measured else 'stated'}: "
        + ", ".join(f"{name} {value:.3g}" for name, value in parts.items()),
        "not told apart": f"{', '.join(held)}: held by other components, as their reasons say; "
        "more of the same may help less than the plan says"
        if held
        else "nothing",
        "uncertain": unsure,
        "design": f"{asked.design}: {_DESIGNS[asked.design]}",
        "test": f"t over items{' alone' if asked.fixed else ' and annotators'}, two-sided, at "
        f"{LEVEL:g}",
        "prices": paid or "nothing",
        "designs": f"{_ITEMS.min():g} to {_ITEMS.max():g} items, a power of {asked.power:g}; "
        f"{people.min()} to {people.max()} annotators"
        + " of an item's own"
        * (asked.design == "distinct"),
    }
    return in_words(entries.items())
