"""Coverage of intervals of corrected means: ``python benchmarks/corrected_coverage.py``.

Worlds have known expectations. An output's latent value is the sum of a part of its item (or
document) and its own part. A judgment is that value, rounded or transformed, minus the annotator's
severity. The evaluator's score is the latent value with an error, plus a bonus for one system. Few
outputs are labeled. Counted are the coverage of intervals of means and differences (also from
labels alone) and of all ranges of ranks at once; errors of tests of differences that are 0 (p <=
.01, p <= .001, and whether Holm's tests reject any); and the coverage of labels saved, with the
ratio of the estimates' variances as truth. Fixed annotators are the same in all worlds, as is their
truth. Cells with a design draw outputs by `sample_labels`, from four unequal topics that differ in
their means and in the judge's bias; their judge gives probabilities. Compare their half-widths.
"""

import sys
from dataclasses import dataclass
from typing import Any

import cells
import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

import nlgbench as nb
from nlgbench.analysis.judges import corrected
from nlgbench.analysis.judges.corrected import CORRECTED, LABELS
from nlgbench.clustering import rank_ranges
from nlgbench.inference import adjust
from nlgbench.study.study import from_tables, with_tables

MEANS = (0.3, 0.0, 0.0)
ALIKE = (0.0,) * 5


@dataclass(frozen=True)
class Cell:
    """The design of a study."""

    name: str
    r: float = 0.7
    kind: str = "normal"
    means: tuple[float, ...] = MEANS
    n_items: int = 1000
    n_labels: int = 100
    #: Items per document, which is then the sampled unit; its share of the latent variance.
    document: int = 1
    of_item: float = 0.3
    #: Annotators of labeled outputs: "own": each has other outputs; "dealt": outputs have two.
    n_annotators: int = 0
    how: str = "own"
    severity: float = 0.4
    #: Standard deviations of a judgment's noise, and of an annotator's effect on a system.
    noise: float = 0.0
    taste: float = 0.0
    #: Whether annotators are the same in all worlds, and intervals are for these.
    fixed: bool = False
    binary_judge: bool = False
    #: How outputs are drawn; the slope of the judge's probabilities (2 is calibrated if r = .9).
    design: str = ""
    #: Outputs of all systems that were labeled at random before.
    earlier: int = 0
    sharpness: float = 2.0


CELLS = (
    Cell("100 of 1,000, good"),
    Cell("100 of 1,000, useless", r=0.0),
    Cell("100 of 1,000, skewed", kind="skewed"),
    Cell("100 of 1,000, very skewed", kind="very skewed"),
    Cell("100 of 1,000, binary", kind="binary"),
    Cell("100 of 1,000, binary judge", kind="binary", binary_judge=True),
    Cell("100 of 1,000, binary, rare", kind="rare", binary_judge=True),
    Cell("100 of 200", n_items=200),
    Cell("10 documents of 10", document=10),
    Cell("10 documents of 10, useless", document=10, r=0.0),
    Cell("10 documents of 10, skewed", document=10, kind="skewed"),
    Cell("10 documents of 10, binary", document=10, kind="binary"),
    Cell("10 annotators of 10", n_annotators=10),
    Cell("10 annotators of 10, skewed", n_annotators=10, kind="skewed"),
    Cell("10 annotators of 10, binary", n_annotators=10, kind="binary", severity=0.3),
    Cell("20 annotators, two an output", n_annotators=20, how="dealt"),
    Cell("20 labels each of 8", n_labels=20, means=(0.4, 0.3, 0.2, 0.1, 0.0, 0.0, -0.2, -0.4)),
    Cell("30 labels each of 3", n_labels=30),
    Cell("alike, 5 by 20, noise", means=ALIKE, n_annotators=20, noise=3.0, how="dealt"),
    Cell("alike, 5 by 20, tastes", means=ALIKE, n_annotators=20, noise=1.0, taste=0.3, how="dealt"),
    Cell("alike, 5 by 12, noise", means=ALIKE, n_annotators=12, noise=3.0, how="dealt"),
    Cell("alike, 8 by 20, 40 labels", means=(0.0,) * 8, n_labels=40, n_annotators=20, noise=3.0),
    Cell("fixed, 1 annotator", n_annotators=1, noise=1.0, taste=0.3, fixed=True),
    Cell("fixed, 2 annotators", n_annotators=2, noise=1.0, taste=0.3, fixed=True),
    Cell("fixed, 3 annotators", n_annotators=3, noise=1.0, taste=0.3, fixed=True),
    Cell("fixed, 5 annotators", n_annotators=5, noise=1.0, taste=0.3, fixed=True),
    *(
        Cell(f"{n} of 1,000, {judge}, {design}", n_labels=n, kind="binary", design=design, **judged)
        for judge, judged in {
            "calibrated": {"r": 0.9, "of_item": 0.5},
            "overconfident": {"r": 0.5, "of_item": 0.5, "sharpness": 6.0},
        }.items()
        for n in (100, 300)
        for design in ("random", "stratified", "uncertain")
    ),
    *(
        Cell(
            f"200 earlier, {design}", kind="binary", r=0.9, of_item=0.5, design=design, earlier=200
        )
        for design in ("random", "stratified", "uncertain")
    ),
)


def bent(latent: np.ndarray, kind: str) -> np.ndarray:
    """Make judgments from latent values with standard deviation 1."""
    if kind == "normal":
        return latent
    if kind.endswith("skewed"):
        return np.exp((0.5 if kind == "skewed" else 1.0) * latent)
    return (latent > (0.0 if kind == "binary" else 1.3)).astype(float)


def expected(mean: float, cell: Cell) -> float:
    """Return the expectation of a judgment."""
    extra = cell.severity if cell.n_annotators else 0.0
    sd = np.sqrt(1 + extra**2 + cell.taste**2)
    if cell.kind == "normal":
        return mean
    if cell.kind.endswith("skewed"):
        by = 0.5 if cell.kind == "skewed" else 1.0
        return float(np.exp(by * mean + (by * sd) ** 2 / 2))
    return float(norm.sf(((0.0 if cell.kind == "binary" else 1.3) - mean) / sd))


def world(
    cell: Cell, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, nb.Study | None]:
    """Draw outputs with scores, judgments of some, the true values, and the study of a design."""
    k, n = len(cell.means), cell.n_items
    group = np.arange(n) // cell.document
    item, own = rng.normal(size=group[-1] + 1)[group], rng.normal(size=(k, n))
    seen = rng.normal(size=group[-1] + 1)[group] * np.sqrt(cell.of_item)
    error = seen + rng.normal(size=(k, n)) * np.sqrt(1 - cell.of_item)
    part = np.sqrt(cell.of_item) * item + np.sqrt(1 - cell.of_item) * own
    latent = part + np.array(cell.means)[:, None]
    score = cell.r * part + np.sqrt(1 - cell.r**2) * error
    score[-1] += 0.8  # the evaluator favors the last system
    score = (score > 0.2).astype(float) if cell.binary_judge else score
    if cell.document > 1:
        drawn = np.isin(group, rng.permutation(group[-1] + 1)[: cell.n_labels // cell.document])
        labelled = np.tile(drawn, (k, 1))
    else:
        labelled = rng.random((k, n)).argsort(axis=1).argsort(axis=1) < cell.n_labels
    where = np.flatnonzero(labelled)
    who, felt = np.arange(len(where)), latent.ravel()[where]
    severity = 0.0
    if cell.n_annotators:
        for_annotators = np.random.default_rng(cell.n_annotators) if cell.fixed else rng
        severity = for_annotators.normal(0, cell.severity, cell.n_annotators) + np.zeros((k, 1))
        severity = severity + (
            for_annotators.normal(0, cell.taste, (k, cell.n_annotators)) if cell.taste else 0
        )
        if cell.how == "own":  # the same number for each system
            who = [rng.permutation(size) % cell.n_annotators for size in labelled.sum(axis=1)]
            who = np.concatenate(who)
        else:
            who = rng.integers(0, cell.n_annotators, len(where))
            other = (who + rng.integers(1, cell.n_annotators, len(who))) % cell.n_annotators
            where, who = np.append(where, where), np.append(who, other)
        felt = latent.ravel()[where] + cell.noise * rng.normal(size=len(where))
        felt -= severity[where // n, who]
    system, place = np.divmod(np.arange(k * n), n)
    outputs = pd.DataFrame({"output_id": np.arange(k * n), "system": system, "item_id": place})
    # Topics of .16, .22, .31 and .31 of the items.
    topic = np.digitize(item, [-1.0, -0.3, 0.5])[place]
    outputs = outputs.assign(cluster=group[place], score=score.ravel(), stratum="", topic=topic)
    truth = np.array([expected(mean, cell) for mean in cell.means])
    if cell.design:
        outputs["score"] += topic == 0
        outputs, labels, study = draw(cell, outputs, latent, rng)
        return outputs, labels, truth, study
    labels = outputs.iloc[where].reset_index(drop=True)
    labels = labels.assign(annotator=who, value=bent(felt, cell.kind))
    labels["weight"] = 1 / labels.groupby("output_id")["value"].transform("size")
    if cell.fixed:
        truth = np.array(cell.means) - severity.mean(axis=1)
    return outputs, labels, truth, None


def draw(
    cell: Cell, outputs: pd.DataFrame, latent: np.ndarray, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, nb.Study]:
    """Draw the outputs to be labeled by a design, with a judge's probabilities."""
    outputs = outputs.assign(score=norm.cdf(cell.sharpness * outputs["score"]))
    names = {name: outputs[name].astype(str) for name in ("system", "topic")}
    labels = outputs[["output_id"]].assign(value=bent(latent.ravel(), cell.kind))
    study = from_tables(  # unchecked, which is fast
        outputs.drop(columns="stratum").assign(is_human=False, **names),
        labels.assign(annotator_id=labels["output_id"], dimension="quality"),
        scores=outputs[["output_id", "score"]].assign(evaluator="judge", signature=""),
        name="world",
        settings={"extra": ["topic"]},
    )
    by = "topic" if cell.design == "stratified" else None
    options: dict[str, Any] = {"design": cell.design, "evaluator": "judge", "by": by, "seed": rng}
    if cell.earlier:
        early = rng.choice(labels["output_id"], cell.earlier, replace=False)
        first = labels[labels["output_id"].isin(early)]
        pilot = with_tables(study, judgments=study.judgments.loc[first.index])
        sample = nb.sample_labels(pilot, cell.n_labels * len(cell.means), **options)
        drawn = sample.outputs["probability"].notna().to_numpy()
        sample = with_tables(sample, judgments=study.judgments[drawn])
    else:
        n = cell.n_labels * len(cell.means)
        sample = nb.sample_labels(study, n, dimension="quality", **options)
    _, outputs, labels, _ = corrected.read_scored(sample, "judge", "quality", False, "weighted")
    return outputs, labels, sample


def as_study(outputs: pd.DataFrame, labels: pd.DataFrame) -> nb.Study:
    """Turn a world into a study."""
    text = outputs.assign(
        output_id=outputs["output_id"].astype(str),
        item_id=outputs["item_id"].astype(str),
        system=outputs["system"].map("s{:02d}".format),
        doc=outputs["cluster"].astype(str),
    )
    judgments = labels[["value"]].assign(
        output_id=labels["output_id"].astype(str), annotator_id=labels["annotator"].astype(str)
    )
    return nb.Study(
        text[["output_id", "item_id", "system", "doc"]],
        judgments,
        scores=text[["output_id", "score"]].assign(evaluator="judge"),
        settings={"extra": ["doc"], "clusters": "doc"},
    )


def measure(cell: Cell, n_worlds: int, seed: int) -> dict[str, Any]:
    """Count a cell; the public function must agree on the first world."""
    k = len(cell.means)
    one, other = np.triu_indices(k, 1)
    contrasts = np.vstack([np.eye(k), np.eye(k)[one] - np.eye(k)[other]])
    shares: dict[str, list] = {name: [] for name in _COUNTED}
    widths: dict[str, list] = {LABELS: [], CORRECTED: []}
    errors: dict[str, list] = {LABELS: [], CORRECTED: []}
    sizes = []
    for number in range(n_worlds):
        outputs, labels, truth, study = world(cell, np.random.default_rng([seed, number]))
        people = bool(labels.duplicated("annotator").any()) and not cell.fixed
        for method in widths:
            fit = corrected.fit_means(outputs, labels, method, people, k)
            level, se, n = np.array([fit.contrast(one) for one in contrasts]).T
            half = student.ppf(0.975, n - 1) * se
            held = np.abs(level - contrasts @ truth) <= half
            p = 2 * student.sf(np.abs(level / se)[k:], n[k:] - 1)
            holm = adjust(p) < 0.05
            better = np.append(holm & (level[k:] > 0), holm & (level[k:] < 0))
            both = np.append(one, other), np.append(other, one)
            ranks = rank_ranges(*both, better, k)
            # A range covers if it contains all ranks that a system and its equals may have.
            more = (truth[:, None] < truth - 1e-12).sum(axis=1) + 1
            most = k - (truth[:, None] > truth + 1e-12).sum(axis=1)
            tag = "" if method == CORRECTED else "labels: "
            shares[f"{tag}mean"].append(held[:k].mean())
            shares[f"{tag}difference"].append(held[k:].mean())
            inside = (ranks["rank_low"] <= more) & (most <= ranks["rank_high"])
            shares[f"{tag}ranks"].append(inside.all())
            alike = np.abs((contrasts @ truth)[k:]) < 1e-12
            if alike.any():
                shares[f"{tag}p <= .01"].append((p <= 0.01)[alike].mean())
                shares[f"{tag}p <= .001"].append((p <= 0.001)[alike].mean())
                shares[f"{tag}family"].append(holm[alike].any())
            widths[method].append(half[:k].mean())
            errors[method].append(level[:k] - truth)
        sizes.append(np.bincount(labels.drop_duplicates("output_id")["system"], minlength=k))
        if number == 0:
            asked = {"annotators": "fixed"} if cell.fixed else {}
            study = study or as_study(outputs, labels)
            asked["sampling"] = "weighted" if cell.design else "random"
            found = nb.corrected_quality(study, evaluator="judge", **asked)
            found = found.systems[found.systems["method"] == CORRECTED].sort_values("system")
            np.testing.assert_allclose(found["ci_high"], (level + half)[:k], atol=1e-9)
    variance = {name: np.var(value, axis=0) for name, value in errors.items()}
    ratio, n_labels = variance[CORRECTED] / variance[LABELS], np.mean(sizes, axis=0)
    true = n_labels / ratio - n_labels
    row = {"cell": cell.name, "worlds": n_worlds}
    for name in _COUNTED:
        values = np.array(shares[name], dtype=float)
        if not len(values):
            continue
        row |= {name: float(values.mean()), f"{name} se": float(values.std() / n_worlds**0.5)}
    row["half"] = float(np.mean(widths[CORRECTED]))
    row["width"] = float(np.mean(widths[CORRECTED]) / np.mean(widths[LABELS]))
    row["spread"] = float(np.sqrt(ratio.mean()))
    return row | {"n saved": float(true.mean())}


_COUNTED = tuple(
    f"{tag}{name}"
    for tag in ("", "labels: ")
    for name in ("mean", "difference", "ranks", "p <= .01", "p <= .001", "family")
)


def counted(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell."""
    return pd.DataFrame([measure(cell, n_worlds, seed)])


def beyond(table: pd.DataFrame, n_worlds: int) -> pd.Series:
    """Mark low coverage of means, differences or ranks, and high error rates of Holm's tests."""
    low = (table[["mean", "difference"]] < cells.lowest(0.91, n_worlds)).any(axis=1)
    low |= table["ranks"] < cells.lowest(0.93, n_worlds)
    return low | (table.get("family", pd.Series(0.0, table.index)) > cells.highest(0.05, n_worlds))


if __name__ == "__main__":
    by_name = {cell.name: cell for cell in CELLS}
    sys.exit(cells.count(__doc__, by_name, counted, beyond, worlds=400, full=2_000))
