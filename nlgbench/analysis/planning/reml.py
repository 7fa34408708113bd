"""Restricted maximum likelihood of judgments: systems are fixed, all else is a sample.

``y = system + item + annotator + system x item + system x annotator + rest``, every effect but the
first drawn from a normal law. Some effects are local to a group of judgments (those of one system,
or one item, or one annotator) and are eliminated group by group; what is left, the global effects,
is one small dense system. Variances may be 0: nothing is divided by them but that of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import nnls

from nlgbench.inference import Floats

Ints = NDArray[np.int64]

#: The random effects but the rest, which comes last.
FACTORS = ("item", "annotator", "system x item", "system x annotator")
#: What is eliminated with groups of each kind.
_LOCAL = {"system": (2, 3), "item": (0, 2), "annotator": (1, 3)}
_STEPS = 100


@dataclass(frozen=True, eq=False)
class _Group:
    """Judgments of one group: crossproducts of its columns, local ones first."""

    local: Floats
    across: Floats
    local_y: Floats
    kind: Ints
    at: Ints
    n: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Judgments as crossproducts; `kept` are the factors in the model."""

    groups: list[_Group]
    kept: tuple[int, ...]
    #: Of each global column its factor; -1 of a system.
    kind: Ints
    gram: Floats
    total: Floats
    squares: float
    n: int
    n_systems: int


@dataclass(frozen=True, eq=False)
class Point:
    """The likelihood and its quadratic forms at some variances (of the kept factors, and rest)."""

    loglik: float
    #: y'P V_k P y, tr(P V_k) and tr(P V_k P V_l).
    forms: Floats
    traces: Floats
    information: Floats


def levels(system: Ints, item: Ints, annotator: Ints) -> list[Ints]:
    """Count off the levels of each factor, in the order of `FACTORS`."""
    found = [
        item,
        annotator,
        system * (item.max() + 1) + item,
        system * (annotator.max() + 1) + annotator,
    ]
    return [np.unique(one, return_inverse=True)[1].astype(np.int64) for one in found]


def layout(y: Floats, system: Ints, item: Ints, annotator: Ints, kept: tuple[int, ...]) -> Layout:
    """Lay judgments out by the grouping that leaves least to be solved."""
    numbers = levels(system, item, annotator)
    of = {"system": system, "item": item, "annotator": annotator}
    size = [int(one.max()) + 1 for one in numbers]
    n_systems = int(system.max()) + 1

    def cost(name: str) -> float:
        left = n_systems + sum(size[k] for k in kept if k not in _LOCAL[name])
        inner = [numbers[k] for k in kept if k in _LOCAL[name]]
        each = np.zeros(int(of[name].max()) + 1)
        for one in inner:
            first = np.unique(one, return_index=True)[1]
            each += np.bincount(of[name][first], minlength=len(each))
        return float(left**3 + (each**3).sum() + (each * left**2).sum())

    by = min(_LOCAL, key=cost)
    inside = [k for k in kept if k in _LOCAL[by]]
    outside = [k for k in kept if k not in _LOCAL[by]]
    start = np.cumsum([n_systems, *(size[k] for k in outside)])
    columns = [system, *(start[n] + numbers[k] for n, k in enumerate(outside))]
    u = int(start[-1])
    kind = np.repeat([-1, *outside], [n_systems, *(size[k] for k in outside)])
    gram, total = np.zeros((u, u)), np.zeros(u)
    for one in columns:
        total += np.bincount(one, y, u)
        for other in columns:
            gram += np.bincount(one * u + other, minlength=u * u).reshape(u, u)
    groups = []
    order = np.argsort(of[by], kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(of[by]))[:-1]):
        if not inside:
            break
        at = np.unique(np.concatenate([one[rows] for one in columns]))
        places = [np.unique(numbers[k][rows], return_inverse=True)[1] for k in inside]
        sizes = [int(one.max()) + 1 for one in places]
        m = sum(sizes)
        inner = np.zeros((len(rows), m))
        first = 0
        for place, n in zip(places, sizes, strict=True):
            inner[np.arange(len(rows)), first + place] = 1
            first += n
        outer = np.zeros((len(rows), len(at)))
        for one in columns:
            outer[np.arange(len(rows)), np.searchsorted(at, one[rows])] = 1
        groups.append(
            _Group(
                *(inner.T @ inner, inner.T @ outer, inner.T @ y[rows]),
                *(np.repeat(inside, sizes), at, len(rows)),
            )
        )
    return Layout(groups, kept, kind, gram, total, float(y @ y), len(y), n_systems)


def evaluate(data: Layout, variances: Floats) -> Point:
    """Compute the restricted likelihood, its quadratic forms and its information."""
    kept, rest = data.kept, variances[-1]
    value = np.zeros(len(FACTORS))
    value[list(kept)] = variances[:-1]
    u = len(data.total)
    # T = U'V_local^-1 U of the global columns, t = U'V_local^-1 y, both group by group.
    whole, right, square = data.gram / rest, data.total / rest, data.squares / rest
    logdet = data.n * np.log(rest)
    inner = []
    for group in data.groups:
        scale = np.sqrt(value[group.kind] / rest)
        lower = np.linalg.cholesky(np.eye(len(scale)) + scale[:, None] * group.local * scale)
        both = np.column_stack([group.local, group.across, group.local_y]) * scale[:, None]
        half = solve_triangular(lower, both, lower=True, check_finite=False)
        m = len(scale)
        one, other, own = half[:, :m], half[:, m:-1], half[:, -1]
        logdet += 2 * np.log(np.diag(lower)).sum()
        whole[np.ix_(group.at, group.at)] -= other.T @ other / rest
        right[group.at] -= other.T @ own / rest
        square -= own @ own / rest
        inner.append(
            (
                (group.local - one.T @ one) / rest,
                (group.across - one.T @ other) / rest,
                (group.local_y - one.T @ own) / rest,
            )
        )
    # Scaled by their standard deviations, global effects have variance 1, those of systems any.
    scale = np.where(data.kind < 0, 1.0, np.sqrt(value[data.kind]))
    factor = cho_factor(
        np.diag((data.kind >= 0).astype(np.float64)) + scale[:, None] * whole * scale, lower=True
    )
    logdet += 2 * np.log(np.diag(factor[0])).sum()
    solved = cho_solve(factor, scale[:, None] * whole)  # K^-1 S T
    effect = cho_solve(factor, scale * right)
    inverse = cho_solve(factor, np.eye(u))
    yPy = square - scale * right @ effect
    n = len(kept)
    forms, traces, information = np.zeros(n + 1), np.zeros(n + 1), np.zeros((n + 1, n + 1))
    position = {k: number for number, k in enumerate(kept)}
    outer = whole - (whole * scale) @ solved
    outer_y = right - (whole * scale) @ effect
    outside = [k for k in kept if (data.kind == k).any()]
    inside = [k for k in kept if k not in outside]
    for k in outside:
        rows = data.kind == k
        forms[position[k]] = (outer_y[rows] ** 2).sum()
        traces[position[k]] = np.diag(outer)[rows].sum()
        for other_k in outside:
            part = outer[np.ix_(rows, data.kind == other_k)]
            information[position[k], position[other_k]] = (part**2).sum()
    spread = {k: np.zeros((u, u)) for k in inside}
    for group, (own, across, own_y) in zip(data.groups, inner, strict=True):
        lead = across * scale[group.at]
        for k in inside:
            rows = group.kind == k
            spread[k][np.ix_(group.at, group.at)] += lead[rows].T @ lead[rows]
        back = lead @ inverse[np.ix_(group.at, group.at)] @ lead.T
        left_y = own_y - lead @ effect[group.at]
        to_outer = -lead @ solved[group.at]
        to_outer[:, group.at] += across
        for k in inside:
            rows = group.kind == k
            forms[position[k]] += (left_y[rows] ** 2).sum()
            traces[position[k]] += np.diag(own - back)[rows].sum()
            for other_k in inside:
                pair = np.ix_(rows, group.kind == other_k)
                information[position[k], position[other_k]] += (
                    own[pair] * (own[pair] - 2 * back[pair])
                ).sum()
            for other_k in outside:
                both_ways = (to_outer[np.ix_(rows, data.kind == other_k)] ** 2).sum()
                information[position[k], position[other_k]] += both_ways
                information[position[other_k], position[k]] += both_ways
    turned = {k: inverse @ spread[k] for k in inside}
    for k in inside:
        for other_k in inside:
            information[position[k], position[other_k]] += (turned[k] * turned[other_k].T).sum()
    # Of the rest by V P V = V: P's forms add up to those of the whole.
    known = variances[:-1]
    forms[-1] = (yPy - known @ forms[:-1]) / rest
    traces[-1] = (data.n - data.n_systems - known @ traces[:-1]) / rest
    information[-1, :-1] = information[:-1, -1] = (
        traces[:-1] - information[:-1, :-1] @ known
    ) / rest
    information[-1, -1] = (traces[-1] - information[-1, :-1] @ known) / rest
    return Point(-0.5 * (logdet + yPy), forms, traces, information)


def fit(data: Layout) -> tuple[Floats, Point]:
    """Maximize by Fisher scoring, kept at or above 0: each step is a least-squares problem.

    Without the bound a step is the estimate of minimum variance whose weights are the last one's
    (Harville 1977, doi:10.1080/01621459.1977.10480998); in a balanced design one is enough.
    """
    total = data.squares / data.n
    now = np.full(len(data.kept) + 1, total / (len(data.kept) + 1))
    point = evaluate(data, now)
    for _ in range(_STEPS):
        root = np.linalg.cholesky(point.information)
        goal = nnls(root.T, solve_triangular(root, point.forms, lower=True))[0]
        goal[-1] = max(goal[-1], 1e-8 * total)
        step = 1.0
        while True:
            tried = now + step * (goal - now)
            found = evaluate(data, tried)
            if found.loglik >= point.loglik - 1e-9 * abs(point.loglik) or step < 1e-3:
                break
            step /= 2
        moved = np.abs(tried - now).max()
        now, point = tried, found
        if moved < 1e-9 * total:
            break
    return now, point


def identified(system: Ints, item: Ints, annotator: Ints) -> tuple[tuple[int, ...], dict[int, str]]:
    """Say which factors the design tells from the others, and of the rest what each is mixed with.

    A factor is told apart where its covariance, less the systems' means, is no sum of others'.
    """
    n = len(system)
    numbers = [*levels(system, item, annotator), np.arange(n)]
    size = np.bincount(system)
    share = []
    for one in numbers:
        flat = np.bincount(
            one * (system.max() + 1) + system, minlength=(one.max() + 1) * (system.max() + 1)
        )
        share.append(flat.reshape(-1, int(system.max()) + 1).astype(np.float64))
    gram = np.empty((5, 5))
    squares = [one.T @ one / np.sqrt(np.outer(size, size)) for one in share]
    for k in range(5):
        for other in range(k + 1):
            flat = numbers[k] * (numbers[other].max() + 1) + numbers[other]
            cell, count = np.unique(flat, return_counts=True)
            one, two = np.divmod(cell, numbers[other].max() + 1)
            mean = (share[k][one] / size * share[other][two]).sum(axis=1)
            inner = (count * (count - 2 * mean)).sum()
            gram[k, other] = gram[other, k] = inner + (squares[k] * squares[other]).sum()
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
