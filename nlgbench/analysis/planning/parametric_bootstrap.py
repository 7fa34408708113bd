"""Studies like a given one whose truth is known: its systems and who judged what, values drawn.

A judgment's latent value is ``system + item + annotator + system x item + system x annotator +
rest``, normal with variance 1 within a system, and is cut to the study's own values where its
mixture over systems has their cumulative shares. Latent means and correlations are such that the
means and covariances of the values are those that were estimated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.polynomial import hermite_e
from scipy.stats import norm

from nlgbench.analysis.people import additive
from nlgbench.analysis.people.comparing import judged_systems
from nlgbench.analysis.planning.components import components_of
from nlgbench.analysis.planning.reml import Ints, levels
from nlgbench.inference import Floats
from nlgbench.study import Study, with_tables

_STEP = 0.01
_NODES = np.arange(-6, 6 + _STEP / 2, _STEP)
_WEIGHTS = norm.pdf(_NODES) * _STEP
#: Hermite polynomials that covariances are made of.
_MOST_TERMS = 20


@dataclass(frozen=True, eq=False)
class Scale:
    """How latent values are cut: `values` above `cuts`, or between `grid` and `curve`."""

    #: Latent means of systems, and their expectations after cutting.
    latent: Floats
    expected: Floats
    values: Floats
    cuts: Floats
    is_cut: bool

    def cut(self, latent: Floats) -> Floats:
        """Give the values at latent ones."""
        if self.is_cut:
            return self.values[np.searchsorted(self.cuts, latent)]
        return np.interp(latent, self.cuts, self.values)

    def terms(self) -> Floats:
        """Give the values' Hermite coefficients (system, term), over the root of k factorial."""
        each = self.cut(self.latent[:, None] + _NODES)
        basis = hermite_e.hermevander(_NODES, _MOST_TERMS)
        root = np.sqrt([float(math.factorial(k)) for k in range(_MOST_TERMS + 1)])
        return np.asarray((each * _WEIGHTS) @ basis / root)


def scale_of(value: Floats, system: Ints, means: Floats) -> Scale:
    """Find latent means and cuts that give the values' shares, and systems these means."""
    values, count = np.unique(value, return_counts=True)
    is_cut = len(values) <= len(value) / 2
    share = np.bincount(system) / len(system)
    within = value - (np.bincount(system, value) / np.bincount(system))[system]
    sd = max(float(np.sqrt((within**2).mean())), 1e-12)
    latent = (means - means.mean()) / sd
    grid = np.arange(latent.min() - 8, latent.max() + 8, _STEP)
    if is_cut:
        upto = np.cumsum(count)[:-1] / len(value)
        reached = values
    else:
        upto = (np.arange(512) + 0.5) / 512
        reached = np.quantile(value, upto)
    for _ in range(20):
        mixture = norm.cdf(grid[:, None] - latent) @ share
        made = Scale(latent, means, reached, np.interp(upto, mixture, grid), is_cut)
        expected = made.cut(latent[:, None] + _NODES) @ _WEIGHTS
        off = (means - expected) / sd
        if np.abs(off).max() < 1e-4:
            break
        # Where a mean lies at the end of the scale, no latent one reaches it.
        latent = np.clip(latent + off, grid[0] + 4, grid[-1] - 4)
    return Scale(made.latent, expected, reached, made.cuts, is_cut)


@dataclass(frozen=True, eq=False)
class Scores:
    """An evaluator: of which outputs it has scores, and what they share with judgments."""

    name: str
    rows: Ints
    scale: Scale
    signature: str
    #: Weights of an item's and an output's latent quality, and of what else items and outputs have.
    loads: tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """What is needed to simulate studies like one."""

    study: Study
    frame: pd.DataFrame
    names: list[str]
    system: Ints
    numbers: list[Ints]
    #: Of each output its system, its item and its place among systems' items.
    output_system: Ints
    output_item: Ints
    output_own: Ints
    scale: Scale
    #: Latent standard deviations, in the order of components.
    spread: Floats
    components: pd.DataFrame
    scores: list[Scores]

    def draw(self, rng: np.random.Generator) -> Study:
        """Simulate one study."""
        effects = [rng.normal(size=int(one.max()) + 1) for one in self.numbers]
        latent = self.scale.latent[self.system] + self.spread[4] * rng.normal(size=len(self.system))
        for sd, effect, number in zip(self.spread[:4], effects, self.numbers, strict=True):
            latent += sd * effect[number]
        judgments = self.frame.assign(value=self.scale.cut(latent))
        scores = self.study.scores
        if self.scores:
            scores = pd.concat(
                [self._scored(one, effects[0], effects[2], rng) for one in self.scores],
                ignore_index=True,
            )
        return with_tables(self.study, judgments=judgments, scores=scores)

    def _scored(
        self, one: Scores, item: Floats, own: Floats, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Let an evaluator score its outputs; those that nobody judged have a quality, too."""
        rows = one.rows
        items, outputs = self.output_item, self.output_own
        more = rng.normal(size=max(int(items.max()) + 1 - len(item), 0))
        item = np.append(item, more)
        own = np.append(own, rng.normal(size=max(int(outputs.max()) + 1 - len(own), 0)))
        other = rng.normal(size=len(item))
        loads = one.loads
        latent = one.scale.latent[self.output_system[rows]]
        latent = latent + loads[0] * item[items[rows]] + loads[1] * own[outputs[rows]]
        latent += loads[2] * other[items[rows]] + loads[3] * rng.normal(size=len(rows))
        ids = self.study.outputs["output_id"].to_numpy()[rows]
        return pd.DataFrame(
            {
                "output_id": ids,
                "evaluator": one.name,
                "score": one.scale.cut(latent),
                "signature": one.signature,
            }
        )


def fit_model(study: Study, dimension: str, evaluators: bool) -> FittedModel:
    """Learn from a study what is needed to simulate others like it; higher is better in them."""
    frame = judged_systems(study, dimension, False)
    system, names = pd.factorize(frame["system"])
    item, items = pd.factorize(frame["item_id"])
    annotator = pd.factorize(frame["annotator_id"])[0]
    value = frame["value"].to_numpy(dtype=np.float64)
    components = components_of(value, system, item, annotator)
    numbers = levels(system, item, annotator)
    level = _levels(value, system, item, annotator)
    scale = scale_of(value, system, level)
    variances = components["variance"].fillna(0).to_numpy()
    spread = np.sqrt(_latent(scale, variances / variances.sum()))
    mine = study.outputs["system"].isin(names) & ~study.outputs["is_human"]
    outputs = study.outputs[mine].reset_index(drop=True)
    judged = study.judgments
    assert judged is not None
    groups = judged.loc[judged["dimension"] == dimension, ["output_id", "annotator_id", "group_id"]]
    groups = groups[groups["output_id"].isin(outputs["output_id"])].reset_index(drop=True)
    judgments = frame[["output_id", "annotator_id"]].assign(
        dimension=dimension, group_id=groups["group_id"], value=value
    )
    settings = {
        name: one
        for name, one in (study.settings or {}).items()
        if name in ("clusters", "labels", "extra")
    }
    bare = with_tables(
        study,
        outputs=outputs,
        judgments=judgments,
        preferences=None,
        comparisons=None,
        logprobs=None,
        system_scores=None,
        scores=None,
        source="simulated",
        truth=None,
        settings={**settings, "quality": dimension},
    )
    output_system = pd.Index(names).get_indexer(outputs["system"])
    output_item = pd.Index(
        [*items, *pd.unique(outputs.loc[~outputs["item_id"].isin(items), "item_id"])]
    ).get_indexer(outputs["item_id"])
    # Several outputs of one system and item share what the system makes of the item.
    cell = pd.MultiIndex.from_arrays([frame["system"], frame["item_id"]])
    first = np.unique(numbers[2], return_index=True)[1]
    cells = pd.MultiIndex.from_arrays([outputs["system"], outputs["item_id"]])
    there = cell[first]
    output_own = there.append(cells[~cells.isin(there)].unique()).get_indexer(cells)
    found = FittedModel(
        study=bare,
        frame=judgments,
        names=list(names),
        system=system.astype(np.int64),
        numbers=numbers,
        output_system=output_system,
        output_item=output_item,
        output_own=output_own,
        scale=scale,
        spread=spread,
        components=components,
        scores=[],
    )
    if evaluators and study.scores is not None:
        found.scores.extend(_evaluators(found, study.scores))
    return found


def _levels(value: Floats, system: Ints, item: Ints, annotator: Ints) -> Floats:
    """Give systems' adjusted means; plain ones where nothing connects all."""
    for effects in ((item, annotator), (np.zeros_like(item), annotator)):
        whole = additive.fit(additive.tabulate(value, system, *effects)[0])
        if whole is not None:
            return whole.level
    return np.asarray(np.bincount(system, value) / np.bincount(system))


def _latent(scale: Scale, share: Floats) -> Floats:
    """Give latent variances whose judgments have these shares of the variance.

    Judgments that share what has the latent correlation r covary by ``sum_k c_k^2 r^k``, of one
    system or of two.
    """
    terms = scale.terms()[:, 1:]
    grid = np.linspace(0, 1, 401)
    powers = grid[:, None] ** np.arange(1, terms.shape[1] + 1)
    k = len(terms)
    same = (terms**2).mean(axis=0)
    across = (terms.sum(axis=0) ** 2 - k * same) / (k * (k - 1))
    total = _variance(scale)
    found = np.zeros(5)
    for alone, both in ((0, 2), (1, 3)):
        curve = np.maximum.accumulate(powers @ across)
        found[alone] = np.interp(share[alone] * total, curve, grid)
        curve = np.maximum.accumulate(powers @ same)
        found[both] = np.interp((share[alone] + share[both]) * total, curve, grid)
        found[both] = max(found[both] - found[alone], 0)
    found /= max(found.sum(), 1)
    found[4] = max(1 - found.sum(), 0)
    return found


def _variance(scale: Scale) -> float:
    """Give the mean variance of values within systems."""
    each = scale.cut(scale.latent[:, None] + _NODES)
    return float((each**2 @ _WEIGHTS - (each @ _WEIGHTS) ** 2).mean())


def _evaluators(made: FittedModel, scores: pd.DataFrame) -> list[Scores]:
    """Learn how each evaluator's scores go with judgments: of an item, and of an output."""
    place = pd.Index(made.study.outputs["output_id"])
    value = made.frame.groupby("output_id")["value"].mean().reindex(place).to_numpy()
    judged = np.isfinite(value)
    size = np.bincount(made.output_system[judged], minlength=len(made.names))
    centered = np.where(judged, value, 0)
    centered -= (np.bincount(made.output_system, centered) / size)[made.output_system]
    slope = made.scale.terms()[:, 1].mean()
    found = []
    for name, part in scores.dropna(subset="score").groupby("evaluator", sort=False):
        rows = place.get_indexer(part["output_id"])
        part, rows = part[rows >= 0], rows[rows >= 0]
        system = made.output_system[rows]
        count = np.bincount(system, minlength=len(made.names))
        if not count.all():
            continue
        x = part["score"].to_numpy(dtype=np.float64)
        means = np.bincount(system, x) / count
        scale = scale_of(x, system, means)
        own_slope = scale.terms()[:, 1].mean()
        x = x - means[system]
        has = judged[rows]
        y, item = centered[rows], made.output_item[rows]
        unit = max(own_slope * slope, 1e-12)
        own = (x * y)[has].mean() / unit
        shared = _across(x[has], y[has], item[has]) / unit
        alone = _across(x, x, item) / max(own_slope**2, 1e-12)
        found.append(
            Scores(
                str(name),
                rows,
                scale,
                str(part["signature"].iloc[0]),
                _loads(own, shared, alone, made.spread),
            )
        )
    return found


def _across(x: Floats, y: Floats, item: Ints) -> float:
    """Give the mean product over pairs of outputs of one item; 0 where there are none."""
    sums = [np.bincount(item, one) for one in (x, y)]
    count = np.bincount(item)
    pairs = float((count * (count - 1)).sum())
    return float(sums[0] @ sums[1] - x @ y) / pairs if pairs else 0.0


def _loads(
    own: float, shared: float, alone: float, spread: Floats
) -> tuple[float, float, float, float]:
    """Split a score's latent variance of 1: by quality of item and output, and by neither."""
    alone = float(np.clip(alone, 0, 0.99))
    item = shared / spread[0] if spread[0] > 0 else 0.0
    item = float(np.clip(item, -np.sqrt(alone), np.sqrt(alone)))
    left = 1 - alone
    output = (own - item * spread[0]) / spread[2] if spread[2] > 0 else 0.0
    output = float(np.clip(output, -np.sqrt(left), np.sqrt(left)))
    rest = np.sqrt(np.maximum([alone - item**2, left - output**2], 0))
    return item, output, float(rest[0]), float(rest[1])
