"""Error rates of audits and of the annotator test: ``python benchmarks/judges_coverage.py``.

Judges and annotators come from `nlgbench.worlds.judges`. Cells without bias count small p and
false verdicts (adjusted p below .05, with any margin) for judges with sharp, LLM-like or weak
perception of quality, for one that copies an annotator's vote, and with annotators who also prefer
long texts. Cells with planted biases count how often each is significant, at a size with a power of
.95. Two cells show each pair in one random order. Intervals should cover 0 if there is no bias, and
otherwise the result of four worlds with 6,000 items and 300 annotators.

Cells of votes have an unbiased judge in a world of their own (ordinal grades with a ceiling, skewed
loads, items of unequal size), with one noisy vote on each pair, three, or a gold label.

Panels are studies of annotators with labels or numbers, and evaluators at the border of the
alternative annotator test: how often each annotator is rejected, before and after the correction of
Benjamini and Yekutieli, how often omega is at least one half, for how many studies any evaluator
passes alone, or after Holm's correction over evaluators (``any replaces``), and how often intervals
of rho cover its expectation. If annotators differ in skill, the border is that of their mean, and
only the intervals are checked. In studies of votes and of several evaluators, any false verdict
fails a cell if its share is above .05 at the 1% level.

Cells of labels count the coverage of `judge_agreement`, and that of t intervals (`t`).
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import cells
import numpy as np
import pandas as pd
from scipy.stats import binom, norm
from scipy.stats import t as student

import nlgbench as nb
from nlgbench import clustering
from nlgbench.analysis.judges import Audit, auditing, pass_fail
from nlgbench.analysis.judges.verdicts import Verdicts
from nlgbench.inference import adjust

SEEING = {
    "usual": {},
    "sharp": {"error": 0.0, "noise": 0.0},
    "dull": {"error": 2.0, "noise": 2.0},
}
HASTY = {"hasty": {"first": 0.13}, "certain": {"stretch": 3.0}}
WORDY = {"wordy": {"length": 0.3}}
VAIN = {"vain": {"own": 0.4}}
BIASES = ("position", "length", "own")
PLANTED = {("hasty", "position"), ("wordy", "length"), ("vain", "own")}
VALUES = ("overconfidence", "agreement_less_annotators", "length_in_ratings")


@dataclass(frozen=True)
class Cell:
    """A world, and what is measured there."""

    name: str
    world: dict[str, Any] = field(default_factory=dict)
    copied: bool = False  # one judge, who repeats an annotator's vote
    one_order: bool = False  # show each pair in one random order


CELLS = (
    Cell("fair, 300 pairs", {"judges": SEEING}),
    Cell("position planted", {"judges": HASTY, "n_items": 152}),
    Cell("length planted", {"judges": WORDY, "n_items": 358}),
    Cell("own planted", {"judges": VAIN, "n_items": 420}),
    Cell("people like length, 300 pairs", {"judges": SEEING, "people_length": 1.2}),
    Cell("copied, people like length", {"people_length": 1.2, "n_votes": 4}, copied=True),
    Cell("fair, 5 annotators", {"judges": SEEING, "n_annotators": 5}),
    Cell("fair, 12 annotators", {"judges": SEEING, "n_annotators": 12}),
    Cell("fair, 120 pairs", {"judges": SEEING, "n_items": 40}),
    *(
        Cell(f"one order, {n} prompts", {"judges": SEEING | HASTY, "n_items": n}, one_order=True)
        for n in (60, 805)
    ),
)


def study_of(cell: Cell, seed: Any, **size: Any) -> nb.Study:
    """Simulate a cell's world, and the judge that copies."""
    if not cell.copied:
        return nb.simulate("judges", judged=0.01, seed=seed, **cell.world | size)
    study = nb.simulate("judges", judged=0.01, judges={}, seed=seed, **cell.world | size)
    votes = study.preferences
    copied = votes.groupby(["output_a", "output_b"], sort=False).head(1)
    said = [(copied["choice"] == kind).to_numpy(dtype=float) for kind in ("a", "tie", "b")]
    rows = copied[["output_a", "output_b"]].assign(comparator="copy")
    rows = rows.assign(prob_a=said[0], prob_tie=said[1], prob_b=said[2])
    turned = rows.set_axis([*rows.columns[[1, 0, 2, 5, 4, 3]]], axis=1)
    both = pd.concat([rows, turned[rows.columns]])
    return study.replace(preferences=votes.drop(copied.index), comparisons=both)


def audited(cell: Cell, seed: Any, **size: Any) -> Audit:
    """Audit one world; the first judge wrote the first system, and so on."""
    study = study_of(cell, seed, **size)
    if cell.one_order and not size:
        both = study.comparisons.sample(frac=1, random_state=np.random.default_rng(seed))
        sides = np.sort(both[["output_a", "output_b"]].astype(object), axis=1)
        again = both[["comparator"]].assign(one=sides[:, 0], other=sides[:, 1]).duplicated()
        study = study.replace(comparisons=both[~again])
    systems = study.truth["systems"]["system"]
    wrote = dict(zip(study.comparisons["comparator"].unique(), systems, strict=False))
    return nb.audit(study, authors=wrote)


def tested(found: Audit) -> pd.DataFrame:
    """Return one row per judge and test."""
    table = found.findings.merge(found.details, on=["evaluator", "test"])
    kept = ~table["is_sentinel"] & table["test"].isin([*BIASES, *VALUES])
    return table[kept].set_index(["evaluator", "test"])


def measure(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell: one row per judge and test, and one per judge for any false verdict."""
    large = [tested(audited(cell, n, n_items=6_000, n_annotators=300)) for n in range(90, 94)]
    true = pd.concat([each["estimate"] for each in large], axis=1).mean(axis=1)
    tables = [tested(audited(cell, np.random.default_rng([seed, n]))) for n in range(n_worlds)]
    whole = pd.concat(tables, keys=range(n_worlds), names=["world"])
    rows = []
    for (judge, test), part in whole.groupby(level=[1, 2], sort=False):
        known = (judge, test) in PLANTED or test in VALUES
        target = float(true[judge, test]) if known else 0.0
        held = (part["ci_low"] <= target) & (target <= part["ci_high"])
        there = part["ci_low"].notna()
        rows.append(
            {
                "judge": judge,
                "test": test,
                "true": target,
                "mean": part["estimate"].mean(),
                "sd": part["estimate"].std(),
                "se": np.sqrt((part["se"] ** 2).mean()),
                "p<.05": (part["p"] < 0.05).mean(),
                "p<=.01": (part["p"] <= 0.01).mean(),
                "p<=.001": (part["p"] <= 0.001).mean(),
                "significant": (part["p_adjusted"] < 0.05).mean(),
                "found": (part["verdict"] == "found").mean(),
                "ruled out": (part["verdict"] == "ruled out").mean(),
                "coverage": held[there].mean(),
                "none": 1 - there.mean(),
            }
        )
    whole = whole.assign(significant=whole["p_adjusted"] < 0.05, found=whole["verdict"] == "found")
    for judge, part in whole.reset_index().groupby("evaluator", sort=False):
        wrong = part[[(judge, test) not in PLANTED for test in part["test"]]]
        share = wrong.groupby("world")[["significant", "found"]].any().mean()
        rows.append({"judge": judge, "test": "any false verdict", **share})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Votes:
    """Pairs judged by an unbiased judge, with the number of noisy votes on each, or gold labels."""

    n_pairs: int
    n_votes: int = 1
    gold: bool = False


VOTES = {
    f"votes: {name}, {n} pairs": Votes(n, *options)
    for name, options in {
        "1": (1,),
        "3": (3,),
        "gold": (1, True),
    }.items()
    for n in (150, 400)
}


def graded(latent, severity, rng):
    """Draw grades of both outputs from five, the best the most frequent; return the preference."""
    noisy = latent + severity + rng.normal(0, 0.7, latent.shape)
    grade = np.searchsorted([-2.0, -1.0, -0.2, 0.5], noisy)
    return np.sign(grade[:, 0] - grade[:, 1]) / 2


def vote_pairs(cell: Votes, rng: np.random.Generator) -> Verdicts:
    """Simulate pairs: better systems and better texts are longer, and the judge likes quality."""
    n, k, n_people = cell.n_pairs, 4, 30
    item = np.repeat(np.arange(n), rng.geometric(0.4, n))[:n]
    system = np.argsort(rng.random((n, k)), axis=1)[:, :2]
    length = np.floor(150 * np.exp(rng.gamma(2, 0.35, (n, 2)) + 0.15 * system))
    quality = 0.35 * system + 0.6 * np.log2(length) + 0.6 * rng.standard_t(5, (n, 2))
    quality += rng.normal(0, 0.5, n)[item][:, None] - quality.mean()
    weight = np.log(1 / np.arange(1, n_people + 1) ** 0.7) + rng.gumbel(size=(n, n_people))
    who = np.argsort(weight, axis=1)[:, -cell.n_votes :]
    taste = rng.normal(0, 0.3, (n_people, k))[who[:, None, :], system[:, :, None]]
    severity = rng.normal(0, 0.5, n_people)[who][:, None]
    vote = graded(quality[:, :, None] + taste, severity, rng)
    stranger = quality + rng.normal(0, 0.3, (n, 2))
    verdict = graded(stranger, rng.normal(0, 0.5, (n, 1)), rng)  # as of another annotator
    if cell.gold:
        vote = np.sign(quality[:, :1] - quality[:, 1:]) / 2
        verdict = np.where(rng.random(n) < 0.2, -1, 1) * vote[:, 0]
    flips = rng.random((n, 2)) < 0.15
    orders = np.where(flips, rng.choice([-0.5, 0.5], (n, 2)), verdict[:, None])
    annotator = np.zeros(n, int) if cell.gold else pd.factorize(who.ravel())[0]
    return Verdicts(
        item=np.column_stack([item, item]),
        doublings=-np.diff(np.log2(length), axis=1)[:, 0],
        system=system.astype(object),
        pair=np.repeat(np.arange(n), cell.n_votes),
        annotator=annotator,
        vote=vote.ravel(),
        verdicts={"judge": orders},
        chance={},
        covers=clustering.choose_annotators(None, clustering.effective_size(annotator))[0],
        gold=cell.gold,
    )


def misjudge(cell: Votes, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count false verdicts on an unbiased judge, who wrote the best system."""
    tables = []
    for world in range(n_worlds):
        data = vote_pairs(cell, np.random.default_rng([seed, world]))
        view = auditing._SharedData(data, 0.95)  # a whole audit takes ten times as long
        tests = auditing._test_orders(view, data.verdicts["judge"])[0]
        tests |= auditing._test_slopes(view, data.verdicts["judge"].mean(axis=1), data.system == 3)
        p = [tests[test]["p"] for test in BIASES]
        for test, one, adjusted in zip(BIASES, p, adjust(p), strict=True):
            verdict = auditing._decide(tests[test], adjusted, 0.05, 0.95)
            tables.append((world, test, one, adjusted < 0.05, verdict == "found"))
    table = pd.DataFrame(tables, columns=["world", "test", "p", "significant", "found"])
    rows = table.groupby("test", sort=False)[["significant", "found"]].mean().reset_index()
    by_test = table["p"].groupby(table["test"])
    rows["p<.05"] = rows["test"].map(by_test.apply(lambda p: (p.dropna() < 0.05).mean()))
    rows["none"] = rows["test"].map(by_test.apply(lambda p: p.isna().mean()))
    share = table.groupby("world")[["significant", "found"]].any().mean()
    any_bias = pd.DataFrame([{"test": "any false verdict", **share}])
    return pd.concat([rows, any_bias]).assign(unbiased_votes=True)


#: Panel -> agreement, annotators, outputs, outputs per text, annotators per output (0: all), and
#: how much annotators differ in skill, evaluators.
PANELS = {
    "labels, 4 annotators, 60 outputs": ("accuracy", 4, 60, 1, 0, 0.0, 1),
    "labels, 12 annotators, 25 texts of 4": ("accuracy", 12, 100, 4, 0, 0.0, 1),
    "numbers, 4 annotators, 60 outputs": ("rmse", 4, 60, 1, 0, 0.0, 1),
    "numbers, 12 annotators, 25 texts of 4": ("rmse", 12, 100, 4, 0, 0.0, 1),
    "labels, 4 annotators, 60 outputs, 6 evaluators": ("accuracy", 4, 60, 1, 0, 0.0, 6),
    "numbers, 12 annotators, 100 outputs, 6 evaluators": ("rmse", 12, 100, 1, 0, 0.0, 6),
    "labels, 12 who differ, 100 outputs": ("accuracy", 12, 100, 1, 0, 0.4, 1),
    "numbers, 20 who differ, 100 outputs": ("rmse", 20, 100, 1, 0, 0.4, 1),
    "numbers, 3 of 20 who differ, 300 outputs": ("rmse", 20, 300, 1, 3, 0.4, 1),
}


def panel(kind, n_people, n_outputs, size, per_output, differ, n_evaluators, error, rng):
    """Simulate a study: annotators with different error rates, and evaluators with error `error`.

    Annotators and evaluators make more errors on difficult texts.
    """
    text = np.arange(n_outputs) // size
    hard = rng.normal(0, 0.6, text.max() + 1)[text]
    skill = np.append(rng.normal(0, differ, n_people), [error] * n_evaluators)[:, None]
    shape = len(skill), n_outputs
    if kind == "accuracy":
        true = rng.integers(0, 4, n_outputs)
        wrong = rng.random(shape) < norm.cdf(-0.7 + skill + hard)
        given = np.where(wrong, rng.integers(0, 4, shape), true)
    else:
        true = rng.normal(3, 0.8, n_outputs)
        spread = 0.8 * np.exp(skill + 0.3 * hard)
        given = true + spread * rng.normal(size=shape)
        given = np.clip(np.round(given), 1, 5)
    ids = np.array([f"o{n}" for n in range(n_outputs)], dtype=object)
    who, what = np.divmod(np.arange(n_people * n_outputs), n_outputs)
    if per_output:
        order = np.argsort(rng.random((n_people, n_outputs)), axis=0)
        kept = (order < per_output).ravel()
        who, what = who[kept], what[kept]
    outputs = pd.DataFrame({"output_id": ids, "item_id": text.astype(str), "system": "annotated"})
    judgments = pd.DataFrame({"output_id": ids[what], "annotator_id": [f"w{n:02d}" for n in who]})
    judgments = judgments.assign(value=given[who, what].astype(float))
    names = [f"judge {n}" for n in range(n_evaluators)]
    scores = pd.DataFrame(given[n_people:].T.astype(float), index=ids, columns=names).stack()
    scores = scores.rename_axis(["output_id", "evaluator"]).rename("score").reset_index()
    return nb.Study(outputs, judgments, scores=scores)


def border(layout, epsilon):
    """Find the evaluator's error at which annotators are better by epsilon on average."""
    kind, n_people, _, *rest = layout
    low, high = -2.0, 3.0
    for _ in range(12):
        error, found = (low + high) / 2, []
        for n in range(4 if rest[2] == 0 else 16):
            study = panel(kind, n_people, 2_000, *rest, error, np.random.default_rng(n))
            compared = nb.replaces_annotators(study, epsilon=epsilon, agreement=kind)
            found.append(compared.annotators["difference"].mean())
        low, high = (error, high) if np.mean(found) < epsilon else (low, error)
    return (low + high) / 2


def replaced(layout: tuple, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a panel's rejections, omegas and intervals of rho at the border, mean d = epsilon."""
    epsilon = 0.15
    error = border(layout, epsilon)
    people, rows = [], []
    for world in range(n_worlds):
        study = panel(*layout, error, np.random.default_rng([seed, world]))
        found = nb.replaces_annotators(study, epsilon=epsilon, agreement=layout[0])
        people.append(found.annotators.assign(world=world))
        rows.append(found.evaluators.merge(found.details, on="evaluator").assign(world=world))
    whole, omegas = pd.concat(people), pd.concat(rows)
    rho = omegas["estimate"].mean()
    held = (omegas["ci_low"] <= rho) & (rho <= omegas["ci_high"])
    rejected = (whole["p"] <= 0.05).groupby(whole["world"]).mean()
    counted = {
        "differ": layout[-2],
        "mean d": whole["difference"].mean(),
        "p<.05": rejected.mean(),
        "se": rejected.std() / np.sqrt(n_worlds),
        "after BY": whole["rejected"].mean(),
        "omega >= .5": (omegas["omega"] >= 0.5).mean(),
        "any passes alone": (omegas["omega"] >= 0.5).groupby(omegas["world"]).any().mean(),
        "any replaces": (omegas["verdict"] == "replaces").groupby(omegas["world"]).any().mean(),
        "rho held": held.mean(),
    }
    return pd.DataFrame([counted])


@dataclass(frozen=True)
class Labels:
    """A judge's passes of 400 outputs, some of them labeled: pass rate, labels, cluster size."""

    rate: float
    n_labels: int
    size: int


LABELS = {
    f"labels: {n} of 400, rate {rate:g}, clusters of {size}": Labels(rate, n, size)
    for size in (1, 5)
    for n in (50, 200)
    for rate in (0.7, 0.9, 0.98)
}
TRUE_POSITIVE, TRUE_NEGATIVE = 0.9, 0.7


def passed(cell: Labels, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate labels and scores that are correlated within clusters."""
    cluster = np.arange(400) // cell.size
    shared = np.sqrt(0.5 * (cell.size > 1))
    latent = shared * rng.normal(size=(2, 400))[:, cluster]
    latent += np.sqrt(1 - shared**2) * rng.normal(size=(2, 400))
    label = latent[0] < norm.ppf(cell.rate)
    agrees = latent[1] < np.where(label, norm.ppf(TRUE_POSITIVE), norm.ppf(TRUE_NEGATIVE))
    drawn = rng.permutation(400 // cell.size)[: cell.n_labels // cell.size]
    outputs = pd.DataFrame({"output_id": np.arange(400), "system": 0, "cluster": cluster})
    labeled = np.where(np.isin(cluster, drawn), label, np.nan)
    return outputs.assign(score=np.where(agrees, label, ~label) * 1.0, label=labeled)


def relabeled(cell: Labels, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count how often intervals cover, and how often a t interval from the same error does."""
    judged = cell.rate * TRUE_POSITIVE + (1 - cell.rate) * (1 - TRUE_NEGATIVE)
    accuracy = cell.rate * TRUE_POSITIVE + (1 - cell.rate) * TRUE_NEGATIVE
    middle = (cell.rate + judged) / 2
    by_chance = cell.rate * judged + (1 - cell.rate) * (1 - judged)
    true = {
        "true_positive_rate": TRUE_POSITIVE,
        "true_negative_rate": TRUE_NEGATIVE,
        "accuracy": accuracy,
        "base_rate": cell.rate,
        "cohen_kappa": (accuracy - by_chance) / (1 - by_chance),
        "gwet_ac1": (accuracy - 2 * middle * (1 - middle)) / (1 - 2 * middle * (1 - middle)),
        "corrected_pass_rate": cell.rate,
        "by error rates": cell.rate,
    }
    tables = []
    for world in range(n_worlds):
        outputs = passed(cell, np.random.default_rng([seed, world]))
        table = pass_fail._measure_systems(outputs, True, "random", 0.95)
        (by_rates,) = pass_fail._correct_by_rates(outputs, 0.95)
        tables += [table, pd.DataFrame([by_rates | {"quantity": "by error rates"}])]
    table = pd.concat(tables, ignore_index=True)
    table = table[table["quantity"].isin(true)].assign(true=table["quantity"].map(true))
    half = student.ppf(0.975, np.maximum(table["n"] / cell.size - 1, 1)) * table["se"]
    table["coverage"] = table["true"].between(table["ci_low"], table["ci_high"]).astype(float)
    table["t"] = ((table["estimate"] - table["true"]).abs() <= half).astype(float)
    table["none"] = table["ci_low"].isna()
    table.loc[table["none"], ["coverage", "t"]] = np.nan
    table["width"] = table["ci_high"] - table["ci_low"]
    rows = table.groupby("quantity", sort=False)[["coverage", "t", "none", "width"]].mean()
    return rows.reset_index()


def counted(cell: Cell | Votes | Labels | tuple, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell of an audit, of votes, of labels, or a panel."""
    if isinstance(cell, Votes):
        return misjudge(cell, n_worlds, seed)
    if isinstance(cell, Labels):
        return relabeled(cell, n_worlds, seed)
    return (
        replaced(cell, n_worlds, seed) if isinstance(cell, tuple) else measure(cell, n_worlds, seed)
    )


def beyond(table: pd.DataFrame, n_worlds: int) -> pd.Series:
    """Mark judges with too many false verdicts, and panels that reject too often."""
    if "quantity" in table:
        is_share = ~table["quantity"].isin(["cohen_kappa", "gwet_ac1"])
        return is_share & (table["coverage"] < cells.lowest(0.93, n_worlds))
    if "rho held" in table:  # if annotators differ, some are beyond the border
        over = (table["p<.05"] > 0.05 + 3 * table["se"]) & (table["differ"] == 0)
        over |= (table["any replaces"] > binom.isf(0.01, n_worlds, 0.05) / n_worlds) & (
            table["differ"] == 0
        )
        return over | (table["rho held"] < cells.lowest(0.9, n_worlds))
    false = table["test"] == "any false verdict"
    if "unbiased_votes" in table:
        return false & (table["significant"] > binom.isf(0.01, n_worlds, 0.05) / n_worlds)
    return false & (table["significant"] > cells.highest(0.05, n_worlds))


BY_NAME = {
    **{f"audit: {cell.name}": cell for cell in CELLS},
    **VOTES,
    **LABELS,
    **{f"replaces: {name}": layout for name, layout in PANELS.items()},
}


if __name__ == "__main__":
    sys.exit(cells.count(__doc__, BY_NAME, counted, beyond, worlds=40, full=500))
