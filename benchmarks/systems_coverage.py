"""Coverage and errors of `compare_systems` and `rate`: ``python benchmarks/systems_coverage.py``.

Simulated studies: a judgment is the system's mean, plus effects of item and annotator, of system
and item (an output's own quality), of system and annotator (taste), and noise. Layouts differ in
systems, items, annotators, votes per output, interactions (none, some, strong), missing judgments,
unequal noise, and the number of equal systems. Random annotators are drawn for each study, and the
truth is that of their population; for fixed annotators, it is the truth for those drawn.

- ``family``: share of studies in which Holm's tests reject any two equal systems (.05 at most);
- ``ranks``: share whose rank ranges cover all true ranks (.95 at least);
- ``p05``, ``p01``, ``p001``: share of equal pairs with p below;
- ``difference``, ``mean``, ``superiority``: share of 95% intervals that cover;
- ``width``, ``power5``, ``power8``: median width relative to an oracle that knows the variance of
  each difference and has the same degrees of freedom, and the power of a single pair relative to
  the oracle's, where that is .5 and .8;
- ``check``: the root mean square of errors in units of the oracle's, 1 if it is right;
- ``tail``: the .001 quantile of the standard error over the true one.

For votes, coverage of 95% intervals of `rate` and `win_rates` for all annotators' votes.

For scores that often tie (binary, or ordinal with a ceiling; few items that differ, unequal loads
of annotators, documents of unequal size), in worlds that are not the package's: the share of equal
pairs with p < .05 (``error``, or ``power``; ``t`` is that of a t test), coverage of 95% intervals
of differences where there is one (``difference``, ``given``), of means without a status (``mean``),
and the share of means with status ``skewed``.

For two systems with one 0/1 score each per item: coverage and mean width of Tango's interval, which
``compare_systems`` uses (``difference``, ``width``), and of t intervals (``t_difference``,
``t_width``) where there is one that does not contradict the exact test (``t_given``); rejections of
equality by the exact, t and asymptotic McNemar test (``exact``, ``t``, ``mcnemar``); and of a true
difference at the margin by Tango's and the t test (``margin``, ``t_margin``).

For groups of items (``by``), some of whose differences are planted: the share of studies with any
false rejection among groups without a difference (``family``) and among pairs without interaction
(``interaction``); ``power`` of the test of interaction; coverage of raw and shrunken intervals
(``difference``, ``shrunk_covers``); root mean square errors of shrunken differences relative to
those of raw ones (``shrunk``).
"""

import itertools
import sys
from dataclasses import dataclass

import cells
import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

import nlgbench as nb
from nlgbench import clustering
from nlgbench.analysis.people import binary, decisive, grouped
from nlgbench.inference import adjust
from nlgbench.study import Study, from_tables
from nlgbench.worlds.votes import ABILITIES

#: Standard deviations of system by item and of system by annotator; noise is 1.
INTERACTIONS = {"none": (0.0, 0.0), "some": (0.5, 0.25), "strong": (1.0, 0.5)}
EFFECT = 0.8  # between successive systems that are not equal


@dataclass(frozen=True)
class Layout:
    """The design of a study."""

    systems: int
    items: int
    annotators: int
    votes: int = 3
    interactions: str = "none"
    #: How many of the first systems are equal; each other one is better than the one before.
    equal: int = 0
    missing: float = 0.0
    noise: str = "equal"
    odd: bool = False  # only the last system has interactions (strong)

    @property
    def name(self) -> str:
        """Describe the layout."""
        more = [f"{self.missing:.0%} missing"] * bool(self.missing)
        more += [f"{self.noise} noise"] * (self.noise != "equal") + ["one odd system"] * self.odd
        equal = "all" if self.equal == self.systems else self.equal
        size = f"{self.systems} x {self.items}, {self.annotators} annotators, {self.votes} votes"
        return ", ".join([size, f"{self.interactions} interactions", f"{equal} equal", *more])


RANDOM = (
    Layout(6, 40, 20, equal=6),
    Layout(8, 40, 20, equal=8),
    Layout(6, 40, 20, equal=6, missing=0.3),
    Layout(8, 60, 12, equal=8),
    Layout(15, 80, 20, equal=15),
    Layout(8, 40, 20, equal=4),
    Layout(6, 40, 20, interactions="some", equal=6),
    Layout(15, 80, 20, interactions="some", equal=8),
    Layout(8, 40, 12, interactions="strong", equal=8, missing=0.3),
    Layout(8, 40, 20, interactions="strong", equal=4),
    Layout(5, 60, 30, votes=30, interactions="strong", equal=2),
    Layout(8, 40, 20, equal=8, noise="unequal"),
    Layout(6, 40, 20, interactions="some", equal=6, noise="unequal"),
    Layout(6, 40, 20, equal=6, odd=True),
)
FIXED = (
    Layout(6, 40, 1, votes=1, equal=6),
    Layout(8, 40, 1, votes=1, interactions="strong", equal=8),
    Layout(6, 40, 2, votes=2, interactions="some", equal=3),
    Layout(8, 60, 2, votes=1, interactions="strong", equal=8, missing=0.3),
    Layout(6, 40, 3, equal=6),
    Layout(8, 40, 3, interactions="some", equal=8, missing=0.3),
    Layout(15, 80, 3, interactions="strong", equal=15),
    Layout(6, 40, 3, equal=6, noise="unequal"),
    Layout(8, 60, 5, interactions="some", equal=8),
    Layout(10, 30, 5, interactions="strong", equal=5, missing=0.3),
    Layout(6, 40, 5, equal=6, odd=True),
    Layout(5, 60, 30, interactions="strong", equal=2),
    Layout(8, 40, 20, equal=8),
)


def simulate(layout: Layout, fixed: bool, seed: int) -> tuple[Study, np.ndarray, np.ndarray]:
    """Simulate a study; return its systems' means, and the true error of each difference."""
    rng = np.random.default_rng(seed)
    k, n, a = layout.systems, layout.items, layout.annotators
    means = EFFECT * np.maximum(np.arange(k) - max(layout.equal, 1) + 1, 0)
    output_sd, taste_sd = (np.full(k, one) for one in INTERACTIONS[layout.interactions])
    if layout.odd:
        output_sd[-1], taste_sd[-1] = INTERACTIONS["strong"]
    noise = np.where(np.arange(k) % 2, 0.5, 2.0) if layout.noise == "unequal" else np.ones(k)
    taste = rng.normal(0, 1, (k, a)) * taste_sd[:, None]
    severity = rng.normal(0, 0.5, a)
    value = means[:, None, None] + rng.normal(0, 0.5, n)[:, None] + severity
    value = value + (rng.normal(0, 1, (k, n)) * output_sd[:, None])[:, :, None]
    value = value + taste[:, None] + rng.normal(0, 1, (k, n, a)) * noise[:, None, None]
    judged = rng.random((k, n, a)).argsort(axis=2) < layout.votes
    judged &= rng.random((k, n, a)) >= layout.missing
    system, item, annotator = np.nonzero(judged)
    output = np.char.add(np.char.add(system.astype(str), "-"), item.astype(str)).astype(object)
    names = np.array([f"s{one:02d}" for one in range(k)], dtype=object)
    outputs = pd.DataFrame({"output_id": output, "item_id": item.astype(str).astype(object)})
    outputs["system"] = names[system]
    judgments = outputs[["output_id"]].assign(
        annotator_id=annotator.astype(str).astype(object),
        dimension="quality",
        value=value[judged],
        group_id="",
    )
    outputs = outputs.drop_duplicates("output_id", ignore_index=True)
    outputs = outputs.assign(text="", is_human=False, context="")
    true = means + (taste.mean(axis=1) + severity.mean()) * fixed
    effects = (noise, output_sd, taste_sd)
    error = known_error(system, item, annotator, effects, fixed)
    return from_tables(outputs, judgments), true, error


def known_error(
    system: np.ndarray,
    item: np.ndarray,
    annotator: np.ndarray,
    effects: tuple[np.ndarray, ...],
    fixed: bool,
) -> np.ndarray:
    """Return the standard deviation of least-squares differences, from the known variances."""
    noise, output_sd, taste_sd = effects
    k, a = system.max() + 1, annotator.max() + 1
    dummies = [np.eye(one.max() + 1)[one] for one in (system, item, annotator)]
    x = np.hstack(dummies)
    one, other = np.triu_indices(k, 1)
    contrasts = np.eye(k)[one] - np.eye(k)[other]
    weight = contrasts @ (np.linalg.pinv(x.T @ x, hermitian=True) @ x.T)[:k]
    of_output = pd.factorize(system * (item.max() + 1) + item)[0]
    by_output = np.stack([np.bincount(of_output, row * output_sd[system]) for row in weight])
    flat = system * a + annotator
    by_taste = np.stack([np.bincount(flat, row, minlength=k * a) for row in weight])
    if fixed:  # the truth weights these annotators equally
        by_taste -= np.repeat(contrasts / a, a, axis=1)
    by_taste *= np.repeat(taste_sd, a)
    own = weight * noise[system]
    return np.sqrt((own**2).sum(1) + (by_output**2).sum(1) + (by_taste**2).sum(1))


def one_study(layout: Layout, fixed: bool, seed: int) -> dict:
    """Compare the systems of one simulated study."""
    study, true, known = simulate(layout, fixed, seed)
    found = nb.compare_systems(study, annotators="fixed" if fixed else "random")
    pairs = found.pairs[found.pairs["system"] < found.pairs["opponent"]]
    pairs = pairs.sort_values(["system", "opponent"])
    one, other = np.triu_indices(layout.systems, 1)
    gap = true[one] - true[other]
    systems = found.systems.sort_values("system")
    best = (true[:, None] < true - 1e-12).sum(axis=1) + 1
    worst = (true[:, None] <= true + 1e-12).sum(axis=1)
    # Equal systems may have any order: a range covers if it overlaps their ranks.
    ranks = (systems["rank_low"] <= worst) & (systems["rank_high"] >= best)
    return {
        "error": pairs["estimate"].to_numpy() - gap,
        "se": pairs["se"].to_numpy(),
        "known": known,
        "df": float(pairs["df"].iloc[0]),
        "gap": gap,
        "p": pairs["p"].to_numpy(),
        "adjusted": pairs["p_adjusted"].to_numpy(),
        "ranks": bool(ranks.all()),
        "mean": ((systems["ci_low"] <= true) & (true <= systems["ci_high"])).to_numpy(),
        "superiority": pairs[["superiority", "superiority_low", "superiority_high"]].to_numpy(),
    }


def measure(layout: Layout, fixed: bool, n_studies: int, seed: int) -> dict[str, object]:
    """Return a layout's shares."""
    studies = [one_study(layout, fixed, seed + number) for number in range(n_studies)]
    all_of = {name: np.stack([one[name] for one in studies]) for name in studies[0]}
    error, se, df = all_of["error"], all_of["se"], all_of["df"][:, None]
    critical = student.ppf(0.975, df)
    # For fixed annotators, equal systems differ by these annotators' taste: tests are shifted.
    p = 2 * student.sf(np.abs(error) / se, df) if fixed else all_of["p"]
    means = EFFECT * np.maximum(np.arange(layout.systems) - max(layout.equal, 1) + 1, 0)
    one, other = np.triu_indices(layout.systems, 1)
    null = means[one] == means[other]
    if fixed:  # the family in which the equal systems are equal for these annotators
        p_all = np.where(null, p, 2 * student.sf(np.abs(error + all_of["gap"]) / se, df))
        adjusted = np.stack([adjust(row) for row in p_all])
    else:
        adjusted = all_of["adjusted"]
    oracle = all_of["known"]
    shares: dict[str, object] = {
        "layout": layout.name,
        "annotators": "fixed" if fixed else "random",
        "studies": n_studies,
        "family": (adjusted[:, null] < 0.05).any(axis=1).mean(),
        "ranks": all_of["ranks"].mean(),
    }
    for name, level in (("p05", 0.05), ("p01", 0.01), ("p001", 0.001)):
        shares[name] = (p[:, null] < level).mean()
    shares["difference"] = (np.abs(error) <= critical * se).mean()
    shares["mean"] = all_of["mean"].mean()
    share, shares["superiority"] = all_of["superiority"], np.nan
    if not fixed:
        true = share[:, :, 0].mean(axis=0)
        covers = (share[:, :, 1] <= true) & (true <= share[:, :, 2])
        shares["superiority"] = covers[np.isfinite(share[:, :, 1])].mean()
    shares["width"] = np.median(se / oracle)
    shares["check"] = np.sqrt(((error / oracle) ** 2).mean())
    for name, power in (("power5", 0.5), ("power8", 0.8)):
        away = oracle * (critical + student.ppf(power, 1e6))
        shares[name] = (np.abs(error + away) > critical * se).mean() / power
    shares["tail"] = np.quantile(se / oracle, 0.001)
    return shares


EQUAL = dict.fromkeys(ABILITIES, 0.0)
#: Votes on pairs, which `rate` turns into ratings; parameters other than `nb.simulate("votes")`'s.
VOTES: dict[str, dict] = {
    "20 annotators, 100 items": {},
    "20, 100, strong taste": {"of_taste": 0.8},
    "88 annotators, 178 items": {"n_annotators": 88, "n_items": 178},
    "12 annotators, 50 items": {"n_annotators": 12, "n_items": 50},
    "two systems, 20, 100": {"systems": {"x": 0.3, "y": 0.0}, "n_pairs": 1},
    "5 annotators, 100 items": {"n_annotators": 5},
    "equal, 20, 100": {"systems": EQUAL},
    "equal, 20, 100, strong taste": {"systems": EQUAL, "of_taste": 0.8},
    "equal, 12, 50": {"systems": EQUAL, "n_annotators": 12, "n_items": 50},
    "two pairs of equals, 20, 100": {"systems": {"a": 0.6, "b": 0.6, "c": 0.0, "d": 0.0}},
}


def votes(world: dict, n_studies: int, seed: int) -> pd.DataFrame:
    """Count how often intervals of `rate` and `win_rates` cover the votes of all annotators.

    Annotators are random, and the truth comes from the world's probabilities. ``family`` is the
    share of studies in which a test of `rate` rejects any two equal systems.
    """
    world = {"systems": ABILITIES, **world}  # the same names in all studies
    pairs = nb.simulate("votes", **world).truth["pairs"]
    turned = pairs.set_axis([*pairs.columns[[1, 0, 4, 3, 2]]], axis=1)
    chances = pd.concat([pairs, turned]).set_index(["system_a", "system_b"])
    rating = nb.rate(pairs, outcome="expected").systems.set_index("system")["estimate"]
    ends = pd.MultiIndex.from_product([rating.index, rating.index], names=["system", "opponent"])
    gap = pd.Series(np.subtract.outer(rating.to_numpy(), rating.to_numpy()).ravel(), ends)
    true = {"rate": rating, "pairs": gap, "win_rates": chances["prob_a"] + chances["prob_tie"] / 2}
    held: dict[str, list[float]] = {name: [] for name in true}
    rejected = []
    for number in range(n_studies):
        study = nb.simulate("votes", **world, seed=np.random.default_rng([seed, number]))
        rated = nb.rate(study, annotators="random")
        pairs = rated.pairs.set_index(["system", "opponent"])
        equal = gap.reindex(pairs.index).abs() < 1e-6
        rejected.append((pairs["p_adjusted"][equal] < 0.05).any() if equal.any() else np.nan)
        rates = nb.win_rates(study, annotators="random").set_index(["system", "opponent"])
        tables = (rated.systems.set_index("system"), pairs, rates)
        for name, table in zip(true, tables, strict=True):
            expected = true[name].reindex(table.index)
            inside = (table["ci_low"] <= expected) & (expected <= table["ci_high"])
            held[name].append(inside[table["ci_low"].notna()].mean())
    return pd.DataFrame(
        {"what": name, "coverage": np.nanmean(each), "se": np.nanstd(each) / len(each) ** 0.5}
        for name, each in held.items()
    ).assign(family=[np.nan, np.mean(rejected), np.nan])


@dataclass(frozen=True)
class Ties:
    """Two systems whose scores often tie; items of a document are alike."""

    items: int
    scores: str  # binary, ceiling, lognormal or zeros
    #: The share of documents on which the systems can differ, and the advantage of the first.
    differ: float = 1.0
    advantage: float = 0.0
    loads: tuple[float, ...] = (1.0,)  # of the fixed annotators; each judges both systems
    documents: bool = False  # of 1 to 9 items


def draw_ties(cell: Ties, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores (2, items) of n documents, and each item's document."""
    size = rng.choice([1, 2, 3, 9], p=[0.4, 0.3, 0.2, 0.1], size=n) if cell.documents else 1
    document = np.repeat(np.arange(n), size)
    normal = rng.normal(size=(2, n))
    normal[1] = np.where(rng.random(n) < cell.differ, normal[1], normal[0])
    normal[0] += cell.advantage * (normal[0] != normal[1])
    normal = normal[:, document] + 0.3 * rng.normal(size=len(document))
    scores = {
        "binary": (normal > 0.5) * 1.0,
        "ceiling": np.clip(np.round(4.5 + normal), 1, 5),
        "lognormal": np.exp(1.5 * normal),
        "zeros": np.exp(normal) * (normal > 1.5),
    }
    return scores[cell.scores], document


def estimate_ties(value: np.ndarray, document: np.ndarray, true: np.ndarray) -> dict[str, float]:
    """Estimate means and their difference in closed form, as `compare_systems` does here."""
    n, size = len(document), np.bincount(document)
    sums = np.array([np.bincount(document, row) for row in (*value, value[0] - value[1])])
    total = sums.sum(axis=1, keepdims=True)
    off = (total - sums) / (n - size) - total / n
    estimate, se = total[:, 0] / n, np.sqrt((len(size) - 1) / len(size) * (off**2).sum(axis=1))
    df = clustering.effective_size(document) - 1
    half = student.ppf(0.975, df) * se
    inside = (np.abs(estimate - [*true, true[0] - true[1]]) <= half).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = p = 2 * student.sf(abs(estimate[2]) / se[2], df)
    labels = np.repeat([0, 1], n), np.tile(document, 2), np.tile(np.arange(n), 2)
    pair = np.array([0]), np.array([1])
    units = decisive.compare_units(value.ravel(), labels, pair, np.array([se[2] == 0]))
    if np.isfinite(units.p[0]):
        p = units.p[0]
    given = se[2] > 0 and (p < 0.05) == (abs(estimate[2]) > half[2])
    skewness = pd.DataFrame(sums[:2].T / size[:, None]).skew().abs()
    skewed = ((skewness > 2) & (skewness > np.sqrt(len(size) / 10))).to_numpy()
    return {
        "p": p,
        "t": t,
        "low": estimate[2] - half[2] if given else np.nan,
        "given": float(given),
        "difference": inside[2] if given else np.nan,
        "mean": inside[:2][~skewed].mean() if not skewed.all() else np.nan,
        "any_mean": inside[:2].mean(),
        "skewed": skewed.mean(),
    }


def compare_ties(cell: Ties, value: np.ndarray, document: np.ndarray) -> pd.Series:
    """Compare the two systems by `compare_systems`; annotators differ in severity and load."""
    n = len(document)
    annotator = np.random.default_rng(n).choice(len(cell.loads), p=cell.loads, size=n)
    outputs = pd.DataFrame({"item_id": [f"i{i}" for i in range(n)] * 2})
    outputs["document"] = np.tile(document, 2).astype(str)
    outputs["system"] = np.repeat(["s1", "s2"], n)
    outputs["output_id"] = outputs["system"] + outputs["item_id"]
    judgments = outputs[["output_id"]].assign(value=(value + 0.5 * annotator).ravel())
    judgments["annotator_id"] = np.char.add("w", np.tile(annotator, 2).astype(str))
    settings = {"extra": ["document"], "clusters": "document"}
    study = Study(outputs, judgments, settings=settings)
    pairs = nb.compare_systems(study, annotators="fixed").pairs
    return pairs[pairs["system"] == "s1"].iloc[0]


def ties(cell: Ties, n_studies: int, seed: int) -> pd.DataFrame:
    """Count errors and coverage in studies of scores that often tie.

    They are computed in closed form, which is first compared with `compare_systems` in five.
    """
    true = draw_ties(cell, np.random.default_rng(0), 500_000)[0].mean(axis=1)
    rows = []
    for number in range(n_studies):
        value, document = draw_ties(cell, np.random.default_rng([seed, number]), cell.items)
        rows.append(estimate_ties(value, document, true))
        if number < 5:
            pair = compare_ties(cell, value, document)
            expected = [rows[-1]["p"], rows[-1]["low"]]
            np.testing.assert_allclose(pair[["p", "ci_low"]].astype(float), expected, rtol=1e-6)
    table = pd.DataFrame(rows)
    name = "power" if cell.advantage else "error"
    errors = {name: (table["p"] < 0.05).mean(), "t": (table["t"] < 0.05).mean()}
    return pd.DataFrame([errors | table.drop(columns=["p", "t", "low"]).mean().to_dict()])


#: Cells of power, where the first system has an advantage.
TIES = {
    "ceiling, 50 items": Ties(50, "ceiling", differ=0.4),
    "ceiling, 100 items, skewed loads": Ties(100, "ceiling", differ=0.3, loads=(0.7, 0.2, 0.1)),
    "ceiling, 60 documents": Ties(60, "ceiling", differ=0.3, documents=True),
    "binary, 60 documents": Ties(60, "binary", differ=0.3, documents=True),
    "lognormal, 50 items": Ties(50, "lognormal"),
    "zeros, 100 items": Ties(100, "zeros"),
    "advantage: ceiling, 50 items": Ties(50, "ceiling", differ=0.4, advantage=0.5),
}


@dataclass(frozen=True)
class Paired:
    """Two systems with one 0/1 score each per item."""

    items: int
    #: The first system's chance of 1, the scores' correlation, and the systems' difference.
    p: float
    correlation: float
    difference: float

    @property
    def chances(self) -> np.ndarray:
        """Of an item that the first system wins, loses and ties; negative if there are none."""
        p, q = self.p, self.p - self.difference
        both = p * q + self.correlation * np.sqrt(p * (1 - p) * q * (1 - q))
        return np.array([p - both, q - both, 1 - p - q + 2 * both])


def paired(cell: Paired, n_studies: int, seed: int) -> pd.DataFrame:
    """Count errors and coverage of 0/1 scores in 2,000 studies at least."""
    n, true = cell.items, cell.difference
    draws = np.random.default_rng(seed).multinomial(n, cell.chances, max(n_studies, 2_000))
    counts = draws.T.astype(float)
    won, lost, _ = counts
    scores = binary.compare_counts(counts, 0.95)
    estimate = (won - lost) / n
    se = np.sqrt((won + lost - n * estimate**2) / (n - 1) / n)
    half = student.ppf(0.975, n - 1) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        t = 2 * student.sf(np.abs(estimate) / se, n - 1)
        chi = (won - lost) / np.sqrt(won + lost)
        t_margin = np.where(se > 0, student.cdf((estimate - true) / se, n - 1), 1)
    few = (won + lost < decisive.FEWEST_DECISIVE) & (n >= 2 * (won + lost))
    given = (se > 0) & ~(few & ((scores.p < 0.05) != (t < 0.05)))
    shares = {
        "difference": ((scores.low <= true + 1e-9) & (true - 1e-9 <= scores.high)).mean(),
        "width": (scores.high - scores.low).mean(),
        "t_given": given.mean(),
        "t_difference": (np.abs(estimate - true) <= half + 1e-9)[given].mean(),
        "t_width": 2 * half[given].mean(),
        "exact": (scores.p < 0.05).mean(),
        "t": (t < 0.05).mean(),
        "mcnemar": (2 * norm.sf(np.abs(chi)) < 0.05).mean(),
    }
    if true > 0:
        shares["margin"] = (norm.cdf(binary.score_difference(counts, true)) < 0.05).mean()
        shares["t_margin"] = (t_margin < 0.05).mean()
    value = np.repeat([[1.0, 0, 0], [0, 1, 0]], draws[0], axis=1)
    pair = compare_ties(Ties(n, "binary"), value, np.arange(n))
    expected = scores.p[0], scores.low[0], scores.high[0]
    np.testing.assert_allclose(pair[["p", "ci_low", "ci_high"]].astype(float), expected, atol=1e-9)
    return pd.DataFrame([shares])


PAIRED = [
    Paired(*values)
    for values in itertools.product((20, 50, 200), (0.5, 0.9, 0.98), (0, 0.5, 0.9), (0, 0.05, 0.1))
]


@dataclass(frozen=True)
class Groups:
    """Systems compared within groups of items; `planted` are differences in the last group."""

    sizes: tuple[int, ...]
    #: By system, the mean in all groups, and what is added in the last one.
    means: tuple[float, ...] = (0.0, 0.0)
    planted: tuple[float, ...] = (0.0, 0.0)
    annotators: int = 0  # random, three votes per output; 0: scores
    binary: bool = False

    def true(self) -> np.ndarray:
        """Return the true mean of each group and system."""
        true = np.tile(self.means, (len(self.sizes), 1))
        true[-1] += self.planted
        return true


def draw_groups(cell: Groups, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw outputs' values (items, systems), and the group of each item; groups differ."""
    group = np.repeat(np.arange(len(cell.sizes)), cell.sizes)
    effect = rng.normal(size=len(group)) + rng.normal(size=len(cell.sizes))[group]
    noise = rng.normal(size=(len(group), len(cell.means))) * (1 + group % 2)[:, None]
    value = cell.true()[group] + effect[:, None] + noise
    return (value > 0) * 1.0 if cell.binary else value, group


def judge_groups(cell: Groups, value: np.ndarray, group: np.ndarray, seed: int) -> pd.DataFrame:
    """Compare systems within groups by `compare_systems`: by scores, or by random annotators."""
    item, system = np.divmod(np.arange(value.size), value.shape[1])
    outputs = pd.DataFrame({"item_id": item, "system": system}).astype(str)
    outputs["output_id"] = outputs["item_id"] + "/" + outputs["system"]
    outputs["kind"] = np.array([f"g{number}" for number in group], dtype=object)[item]
    settings = {"extra": ["kind"]}
    if not cell.annotators:
        scores = outputs[["output_id"]].assign(evaluator="score", score=value.ravel())
        study = Study(outputs, scores=scores, settings=settings)
        return nb.compare_systems(study, evaluator="score", by="kind").groups
    rng = np.random.default_rng(seed)
    drawn = rng.random((value.size, cell.annotators)).argsort(axis=1)[:, :3]
    severity = rng.normal(size=cell.annotators)
    taste = rng.normal(0, 0.25, (value.shape[1], cell.annotators))
    votes = value.reshape(-1, 1) + severity[drawn] + taste[system[:, None], drawn]
    judgments = pd.DataFrame({"output_id": outputs["output_id"].repeat(3).to_numpy()})
    judgments["annotator_id"] = np.char.add("w", drawn.ravel().astype(str)).astype(object)
    judgments["value"] = (votes + rng.normal(size=votes.shape)).ravel()
    return nb.compare_systems(Study(outputs, judgments, settings=settings), by="kind").groups


def estimate_groups(value: np.ndarray, group: np.ndarray) -> pd.DataFrame:
    """Compare systems' scores within groups in closed form, as `compare_systems` does."""
    rows = []
    for first, second in zip(*np.triu_indices(value.shape[1], 1), strict=True):
        for number in range(group.max() + 1):
            pair = value[group == number][:, [first, second]].T
            difference, n = pair[0] - pair[1], pair.shape[1]
            se = difference.std(ddof=1) / np.sqrt(n)
            half = student.ppf(0.975, n - 1) * se
            p = 2 * student.sf(abs(difference.mean()) / max(se, 1e-12), n - 1)
            low, high = difference.mean() - half, difference.mean() + half
            if np.isin(pair, (0, 1)).all():
                counts = np.array([[(difference == sign).sum()] for sign in (1, -1, 0)])
                p, low, high = np.ravel(binary.compare_counts(counts, 0.95)[1:])
                low, high = np.where((p < 0.05) == (low > 0 or high < 0), (low, high), np.nan)
            names = {"group": f"g{number}", "system": str(first), "opponent": str(second)}
            numbers = {"estimate": difference.mean(), "ci_low": low, "ci_high": high}
            rows.append(names | numbers | {"se": se, "df": n - 1, "p": p})
    table = pd.DataFrame(rows, columns=[*grouped.COLUMNS]).assign(dimension="score")
    table["p_adjusted"] = adjust(table["p"].to_numpy())
    return grouped.compare_groups(table, 0.95)


def compare_groups(cell: Groups, n_studies: int, seed: int) -> pd.DataFrame:
    """Count false rejections and coverage within groups of items.

    Scores are compared in closed form, which first equals `compare_systems` in three studies.
    """
    truth = cell.true()
    rows = []
    for number in range(n_studies):
        value, group = draw_groups(cell, np.random.default_rng([seed, number]))
        if cell.annotators or number < 3:
            groups = judge_groups(cell, value, group, number)
            groups = groups[groups["system"] < groups["opponent"]]
        if not cell.annotators:
            keys = ["group", "system", "opponent"]
            closed = estimate_groups(value, group)
            if number < 3:
                columns = ["ci_low", "p", "p_adjusted", "shrunk", "p_interaction"]
                pair = groups.sort_values(keys), closed.sort_values(keys)
                np.testing.assert_allclose(*(t[columns].astype(float) for t in pair), rtol=1e-6)
            groups = closed
        ends = [groups[name].astype(int).to_numpy() for name in ("system", "opponent")]
        codes = groups["group"].str[1:].astype(int).to_numpy()
        true = truth[codes, ends[0]] - truth[codes, ends[1]]
        varies = np.ptp(truth[:, ends[0]] - truth[:, ends[1]], axis=0) > 0
        inside = (groups["ci_low"] <= true) & (true <= groups["ci_high"])
        significant = groups["p_interaction"] < 0.05
        rows.append(
            {
                "family": (groups["p_adjusted"] < 0.05)[true == 0].any(),
                "interaction": significant[~varies].any(),
                "power": significant[varies].mean(),
                "difference": inside[groups["ci_low"].notna()].mean(),
                "shrunk_covers": (
                    (groups["shrunk_low"] <= true) & (true <= groups["shrunk_high"])
                ).mean(),
                "raw": ((groups["estimate"] - true) ** 2).mean(),
                "shrunk": ((groups["shrunk"] - true) ** 2).mean(),
            }
        )
    shares = pd.DataFrame(rows).astype(float).mean()
    shares["shrunk"] = (shares["shrunk"] / shares.pop("raw")) ** 0.5
    return shares.to_frame().T


#: Groups are of unequal size and noise; in two cells the last system differs in the last group.
GROUPS = {
    "scores, 5 groups of 40, no difference": Groups((40,) * 5),
    "scores, 12 to 100 items, third system planted": Groups(
        (12, 20, 40, 100), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    ),
    "binary, 20 to 100 items, no difference": Groups((20, 50, 50, 100), binary=True),
    "20 random annotators, 4 groups of 25, third system planted": Groups(
        (25,) * 4, (0.0, 0.0, 0.0), (0.0, 0.0, 1.5), annotators=20
    ),
}


def counted(
    cell: tuple[Layout, bool] | dict | Ties | Paired | Groups, n_studies: int, seed: int
) -> pd.DataFrame:
    """Count a cell of judgments, of votes, of scores, or of groups of items."""
    if isinstance(cell, Paired):
        return paired(cell, n_studies, seed)
    if isinstance(cell, Groups):
        return compare_groups(cell, n_studies, seed)
    if isinstance(cell, Ties):
        return ties(cell, n_studies, seed)
    return (
        votes(cell, n_studies, seed)
        if isinstance(cell, dict)
        else pd.DataFrame([measure(*cell, n_studies, seed)])
    )


def beyond(table: pd.DataFrame, n_studies: int) -> pd.Series:
    """Mark high error rates of tests, and low coverage of intervals and ranks."""
    if "exact" in table:
        wrong = table["difference"] < cells.lowest(0.945, max(n_studies, 2_000))
        equal = "margin" not in table
        error = table["exact" if equal else "margin"]
        wrong |= error > cells.highest(0.05 if equal else 0.06, max(n_studies, 2_000))
        return wrong
    if "given" in table:
        wrong = table.get("error", 0 * table["t"]) > cells.highest(0.05, n_studies)
        n_given = max(1, int(table["given"].iloc[0] * n_studies))
        return wrong | (table["difference"] < cells.lowest(0.93, n_given))
    if "interaction" in table:
        level = table[["family", "interaction"]].max(axis=1) > cells.highest(0.05, n_studies)
        return level | (table["difference"] < cells.lowest(0.93, n_studies))
    if "coverage" in table:
        wrong = table["family"] > cells.highest(0.05, n_studies)
        return wrong | (table["coverage"] < cells.lowest(0.93, n_studies))
    wrong = table["family"] > cells.highest(0.05, n_studies)
    return wrong | (table["ranks"] < cells.lowest(0.95, n_studies))


CELLS = {
    **{f"random: {layout.name}": (layout, False) for layout in RANDOM},
    **{f"fixed: {layout.name}": (layout, True) for layout in FIXED},
    **{f"votes: {name}": world for name, world in VOTES.items()},
    **{f"ties: {name}": cell for name, cell in TIES.items()},
    **{
        f"paired: {cell.items} items, {cell.p}, {cell.correlation}, {cell.difference}": cell
        for cell in PAIRED
        if (cell.chances > -1e-12).all()
    },
    **{f"groups: {name}": cell for name, cell in GROUPS.items()},
}


if __name__ == "__main__":
    sys.exit(cells.count(__doc__, CELLS, counted, beyond, worlds=100, full=400))
