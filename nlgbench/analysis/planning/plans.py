"""How many judgments a question needs: power, minimum detectable difference, and price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
from nlgbench.clustering import FEWEST, few_clusters
from nlgbench.names import known
from nlgbench.reported import Reported
from nlgbench.status import Unsupported, explain, first_status, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n

Question = Literal["means", "preferences"]

#: The level of the planned test.
LEVEL = 0.05
_PARTS = {
    "means": ("system x item", "system x annotator", "rest"),
    "preferences": ("item", "annotator", "ties"),
}
_IDLE = {"means": ("item", "annotator"), "preferences": ("rest",)}
_PRICES = ("judgment", "item", "annotator")
#: The numbers of items and annotators that are searched for `designs`.
_ITEMS = np.unique(np.geomspace(FEWEST, 2000, 80).round())
_PEOPLE = np.array([10, 12, 15, 20, 25, 30, 40, 50, 75, 100])
_FEW = np.array([1, 2, 3, 4, 5, 7, 10])


@dataclass(frozen=True, eq=False, repr=False)
class StudyPlan(Reported):
    """How many judgments a question needs, from `plan_study`.

    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50], n_annotators=[20])
    >>> isinstance(plan, StudyPlan), len(plan.curve)
    (True, 2)
    """

    curve: pd.DataFrame
    designs: pd.DataFrame
    components: pd.DataFrame
    question: str

    def _shown(self) -> pd.DataFrame:
        return self.designs


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
    n_votes: int | None = None,
    prices: Mapping[str, float] | None = None,
    power: float = 0.8,
) -> StudyPlan:
    """Plan how many items and annotators a comparison of two systems needs, and what it costs.

    Parameters
    ----------
    pilot : Study, DataFrame or mapping of str to float
        A pilot study, whose variances are estimated (in its quality dimension); a table of
        `variance_components`; or assumed variances. For means, in squared points: ``system x
        item``, ``system x annotator``, ``rest``. For preferences (win 1, tie 0, loss -1): ``item``
        and ``annotator`` (the variance of votes due to each), and ``ties``, the share of ties.
    difference : float
        The smallest difference that matters, above 0: between two systems' means in points, or
        between the shares of wins and losses.
    question : {"means", "preferences"}
        Whether annotators judge outputs or vote on pairs of them.
    annotators : {"random", "fixed"}
        What the planned test generalizes to: other items and annotators, or other items and these
        annotators.
    design : {"crossed", "blocked", "scattered", "distinct"}
        ``"crossed"``: every annotator judges every output. ``"blocked"``: `n_votes` annotators,
        drawn for each item, judge all its outputs. ``"scattered"``: annotators are drawn for each
        output (for votes: as ``"blocked"``). ``"distinct"``: as blocked, but each annotator has
        only one item.
    n_items, n_annotators : sequence of int
        Numbers for the curve; it also has the n_annotators of the first of `designs`.
        ``"distinct"`` ignores `n_annotators`: each item has its own.
    n_votes : int, optional
        Annotators per output or pair; ``"crossed"`` uses all. Default: `designs` may have up to
        ten, and the curve has as many as the first of `designs`, or all annotators if fewer.
    prices : mapping of str to float, optional
        Prices of a ``judgment`` (or vote), ``item``, ``annotator``. Default: 1 per judgment.
    power : float
        Target power of `designs`, and of the minimum detectable difference.

    Returns
    -------
    StudyPlan
        ``curve``, by number of items and annotators: n_items, n_annotators, n_votes, se (of the
        difference), df, power, mdd (minimum detectable difference), status, reason. ``designs``,
        the cheapest with the target power, else the most powerful, by n_annotators (distinct:
        n_votes): design, n_items, n_annotators, n_votes, n_judgments, price, power, mdd, status,
        reason, difference, level (of the test), target (`power`), price_judgment, price_item,
        price_annotator, variances (``as estimated`` or ``as stated``; taken as known).
        ``components``: component, estimate, status, reason, source. ``question``: the question in
        words.

    Raises
    ------
    ValueError
        When a component is unknown, missing or negative, the difference is not above 0, there are
        more votes than annotators, or a price is negative or has an unknown name.

    Notes
    -----
    docs/planning.md gives the variance by design. Power is that of a t test at the level .05, with
    ``min(n_items, n_annotators) - 1`` degrees of freedom (fixed or distinct: n_items - 1).

    Examples
    --------
    >>> stated = {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0}
    >>> plan = plan_study(stated, difference=0.3, n_items=[50, 200], n_annotators=[20])
    >>> plan.curve[["n_items", "power", "mdd"]].head(2).round(2).values.tolist()
    [[50.0, 0.41, 0.49], [200.0, 0.79, 0.3]]
    """
    if difference <= 0:
        raise ValueError(
            f"difference must be above 0. Got {difference:g}: set it to the smallest that matters."
        )
    for name, numbers in (("n_items", n_items), ("n_annotators", n_annotators)):
        for number in numbers:
            check_n(number, f"each of {name}", 2)
    if n_votes is not None:
        check_n(n_votes, "n_votes")
    if design in ("blocked", "scattered") and (n_votes or 0) > min(n_annotators):
        raise ValueError(
            f"n_votes must be at most n_annotators. Got "
            f"n_votes={n_votes} and n_annotators={list(n_annotators)}."
        )
    paid = _priced(prices)
    if question == "preferences" and design == "scattered":
        design = "blocked"
    components, fixed = _components(pilot, question), annotators == "fixed"
    spread = _spread(components, question, difference)

    def with_power(layouts: pd.DataFrame) -> pd.DataFrame:
        numbers = layouts["n_items"], layouts["n_annotators"], layouts["n_votes"]
        se = standard_error(design, spread, *numbers, fixed)
        df = degrees_of_freedom(design, *numbers[:2], fixed)
        layouts = layouts.assign(se=se, df=df, power=power_of(difference, se, df, LEVEL))
        away = {n: noncentrality(power, n, LEVEL) for n in np.unique(df)}
        mdd = layouts["se"] * layouts["df"].map(away)
        return layouts.assign(mdd=mdd, status=_doubts(layouts, fixed))

    votes = _FEW if n_votes is None else [n_votes]
    searched = with_power(_layouts(design, _ITEMS, _FEW if fixed else _PEOPLE, votes))
    designs = split_status(_cheapest(searched, design, question, paid, power))
    conditions: dict[str, Any] = {f"price_{name}": price for name, price in paid.items()}
    conditions["variances"] = "as stated" if isinstance(pilot, Mapping) else "as estimated"
    designs = designs.assign(difference=difference, level=LEVEL, target=power, **conditions)
    # Figures show the cheapest design on a curve, which needs its annotators and votes.
    n_annotators = [*n_annotators, *designs["n_annotators"].iloc[:1]]
    curve = with_power(_layouts(design, n_items, n_annotators, designs["n_votes"].iloc[:1]))
    unit = "two means, in points" if question == "means" else "the shares of wins and of losses"
    goal = f"a difference of {difference:.3g} between {unit}"
    return StudyPlan(split_status(curve), designs, components, goal)


def _priced(prices: Mapping[str, float] | None) -> dict[str, float]:
    stated = {"judgment": 1.0} if prices is None else dict(prices)
    for name, price in stated.items():
        known(name, _PRICES, "prices")
        if price < 0:
            raise ValueError(f"prices must be 0 or more. Got {price:g} for {name!r}.")
    return {name: float(stated.get(name, 0.0)) for name in _PRICES}


def _components(
    pilot: Study | pd.DataFrame | Mapping[str, float], question: Question
) -> pd.DataFrame:
    """Read or estimate the variances that a plan needs."""
    source = "stated" if isinstance(pilot, Mapping) else "measured"
    if isinstance(pilot, Study):
        pilot = variance_components(pilot) if question == "means" else vote_components(pilot)
    elif isinstance(pilot, Mapping):
        pilot = pd.DataFrame({"component": pilot.keys(), "estimate": pilot.values()})
    table = read_table(pilot, "component estimate:float? status:text? reason:text?", "pilot has")
    if "estimate" not in table:
        raise ValueError("pilot has no column 'estimate': pass the result of variance_components.")
    needed, idle = _PARTS[question], _IDLE[question]
    for name in table["component"]:
        known(name, (*needed, *idle), "pilot")
    missing = [name for name in needed if name not in set(table["component"])]
    if missing:
        raise ValueError(
            f"pilot lacks {', '.join(map(repr, missing))}. A plan for {question} needs "
            f"{', '.join(needed)}: add the missing ones, with 0 where there is no variance."
        )
    bad = table[table["estimate"] < 0]
    if len(bad):
        raise ValueError(
            f"pilot: {bad['component'].iloc[0]!r} must be 0 or more. Got "
            f"{bad['estimate'].iloc[0]:g}."
        )
    known_status = {"status": table.get("status", "ok"), "reason": table.get("reason", "")}
    table = table.assign(**known_status, source=source).fillna({"status": "ok", "reason": ""})
    return table[["component", "estimate", "status", "reason", "source"]].reset_index(drop=True)


def _spread(components: pd.DataFrame, question: Question, difference: float) -> Spread:
    """Combine components into the variances of the difference of two systems."""
    # Components that the pilot cannot identify are included in others.
    value = components.set_index("component")["estimate"].fillna(0)
    if question == "means":
        of_item, of_annotator, residual = (2 * float(value[name]) for name in _PARTS["means"])
        return Spread(of_item, of_annotator, residual)
    item, annotator, ties = (float(value[name]) for name in _PARTS["preferences"])
    residual = 1 - ties - difference**2 - item - annotator
    if residual < 0:
        message = (
            f"item and annotator sum to {item + annotator:.3g}, but the variance of votes is only "
            f"1 - ties - difference^2 = {1 - ties - difference**2:.3g}: "
        )
        if components["source"].eq("stated").any():
            raise ValueError(f"{message}reduce item or annotator.")
        raise Unsupported("many_ties", f"{message}plan a smaller difference, or use another pilot.")
    return Spread(item, annotator, residual)


def _doubts(layouts: pd.DataFrame, fixed: bool) -> Any:
    """Return the `Status` of each layout's power."""
    return first_status(
        len(layouts),
        (layouts["se"].isna(), explain("few_shared_items")),
        (not fixed, [few_clusters(n, "annotators") for n in layouts["n_annotators"]]),
        (True, [few_clusters(n, "items") for n in layouts["n_items"]]),
    )


def _layouts(design: Design, n_items: Any, n_annotators: Any, n_votes: Any) -> pd.DataFrame:
    """List the layouts with these numbers; crossed designs use all annotators' votes."""
    numbers = {"n_annotators": n_annotators, "n_items": n_items, "n_votes": n_votes}
    grid = pd.MultiIndex.from_product([*numbers.values()], names=[*numbers]).to_frame(index=False)
    if design == "crossed":
        grid["n_votes"] = grid["n_annotators"]
    elif design == "distinct":
        grid["n_annotators"] = grid["n_items"] * grid["n_votes"]
    grid["n_votes"] = np.minimum(grid["n_votes"], grid["n_annotators"])
    grid = grid.astype(int).drop_duplicates()
    return grid[["n_items", "n_annotators", "n_votes"]].reset_index(drop=True)


def _cheapest(
    grid: pd.DataFrame, design: Design, question: Question, prices: dict[str, float], power: float
) -> pd.DataFrame:
    """Find the cheapest layout with the target power for each number of annotators."""
    # For means, both systems' outputs are judged; for preferences, their pair.
    n_judgments = grid["n_items"] * grid["n_votes"] * (2 if question == "means" else 1)
    counts = {"judgment": n_judgments, "item": grid["n_items"], "annotator": grid["n_annotators"]}
    price = sum(n * prices[name] for name, n in counts.items())
    grid = grid.assign(design=design, n_judgments=n_judgments, price=price)
    enough = grid[grid["power"] >= power]
    # Among equal prices, the highest power decides.
    if enough.empty:
        order = grid.sort_values(["power", "price"], ascending=[False, True], kind="stable")
        no_power: Any = explain("no_power", power=power, most=f"{_ITEMS.max():g} items")
        order["status"] = no_power
    else:
        order = enough.sort_values(["price", "power"], ascending=[True, False], kind="stable")
    varied = "n_votes" if design == "distinct" else "n_annotators"
    columns = ["design", "n_items", "n_annotators", "n_votes", "n_judgments", "price", "power"]
    return order.drop_duplicates(varied, ignore_index=True)[[*columns, "mdd", "status"]]
