"""How often corrected means hold, and their speed: ``python benchmarks/corrected_coverage.py``.

Worlds have known expectations. An output's latent value is part its item's, or document's, and part
its own; a judgment is that value, cut or bent, less the annotator's severity; the evaluator sees
the latent value with an error, and favours a system. Of all outputs few are labelled. Counted are
intervals of means and of differences (also those of labels alone), whether all ranges of ranks hold
at once, tests of differences that are 0 (p <= .01, p <= .001, and whether Holm's reject any), and
intervals of labels saved against the ratio of the estimates' variances over worlds. Where
annotators are fixed they are the same in all worlds, and the truth is what these would say.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

import nlgbench as nb
from nlgbench.analysis.judges import corrected
from nlgbench.analysis.judges.corrected import CORRECTED, LABELS, labels_saved
from nlgbench.crossed import rank_ranges
from nlgbench.inference import adjust
from nlgbench.study import trusted

LOW, HIGH = 0.93, 0.97
MEANS = (0.3, 0.0, 0.0)
ALIKE = (0.0,) * 5


@dataclass(frozen=True)
class Cell:
    """A layout."""

    name: str
    r: float = 0.7
    kind: str = "normal"
    means: tuple[float, ...] = MEANS
    n_items: int = 1000
    n_labels: int = 100
    #: Items in a document, which is what is then drawn; share of the latent value that is its own.
    document: int = 1
    of_item: float = 0.3
    #: Annotators of the labelled, and how: "own" has each their own outputs, "dealt" each two.
    n_annotators: int = 0
    how: str = "own"
    severity: float = 0.4
    #: Standard deviations of a judgment's own noise, and of what an annotator adds to a system.
    noise: float = 0.0
    taste: float = 0.0
    #: Whether annotators are the same in all worlds, and intervals for these.
    fixed: bool = False
    binary_judge: bool = False
    #: Labels by chances that rise with the evaluator's doubt, instead of alike ones.
    active: bool = False


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
    Cell("chances by doubt", active=True),
    Cell("chances by doubt, skewed", active=True, kind="skewed"),
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
)


def bent(latent: np.ndarray, kind: str) -> np.ndarray:
    """Make judgments of latent values of standard deviation 1."""
    if kind == "normal":
        return latent
    if kind.endswith("skewed"):
        return np.exp((0.5 if kind == "skewed" else 1.0) * latent)
    return (latent > (0.0 if kind == "binary" else 1.3)).astype(float)


def expected(mean: float, cell: Cell) -> float:
    """Give the expectation of a judgment."""
    extra = cell.severity if cell.n_annotators else 0.0
    sd = np.sqrt(1 + extra**2 + cell.taste**2)
    if cell.kind == "normal":
        return mean
    if cell.kind.endswith("skewed"):
        by = 0.5 if cell.kind == "skewed" else 1.0
        return float(np.exp(by * mean + (by * sd) ** 2 / 2))
    return float(norm.sf(((0.0 if cell.kind == "binary" else 1.3) - mean) / sd))


def world(cell: Cell, rng: np.random.Generator) -> tuple[corrected.Scored, np.ndarray, np.ndarray]:
    """Draw outputs with scores and labels, their chances, and what their means should hold."""
    k, n = len(cell.means), cell.n_items
    group = np.arange(n) // cell.document
    item, own = rng.normal(size=group[-1] + 1)[group], rng.normal(size=(k, n))
    seen = rng.normal(size=group[-1] + 1)[group] * np.sqrt(cell.of_item)
    error = seen + rng.normal(size=(k, n)) * np.sqrt(1 - cell.of_item)
    part = np.sqrt(cell.of_item) * item + np.sqrt(1 - cell.of_item) * own
    latent = part + np.array(cell.means)[:, None]
    score = cell.r * part + np.sqrt(1 - cell.r**2) * error
    score[-1] += 0.8  # the evaluator favours the last
    score = (score > 0.2).astype(float) if cell.binary_judge else score
    chance = np.full((k, n), cell.n_labels / n)
    if cell.document > 1:
        drawn = np.isin(group, rng.permutation(group[-1] + 1)[: cell.n_labels // cell.document])
        labelled = np.tile(drawn, (k, 1))
    elif cell.active:
        doubt = np.exp(-np.abs(score - score.mean(axis=1, keepdims=True)))
        chance = np.minimum(1, cell.n_labels * doubt / doubt.sum(axis=1, keepdims=True))
        labelled = rng.random((k, n)) < chance
    else:
        labelled = rng.random((k, n)).argsort(axis=1).argsort(axis=1) < cell.n_labels
    where = np.flatnonzero(labelled)
    who, felt = np.arange(len(where)), latent.ravel()[where]
    if cell.n_annotators:
        crew = np.random.default_rng(cell.n_annotators) if cell.fixed else rng
        severity = crew.normal(0, cell.severity, cell.n_annotators)
        taste = crew.normal(0, cell.taste, (k, cell.n_annotators)) if cell.taste else 0.0
        if cell.how == "own":  # as many of each system
            who = [rng.permutation(size) % cell.n_annotators for size in labelled.sum(axis=1)]
            who = np.concatenate(who)
        else:
            who = rng.integers(0, cell.n_annotators, len(where))
            other = (who + rng.integers(1, cell.n_annotators, len(who))) % cell.n_annotators
            where, who = np.append(where, where), np.append(who, other)
        felt = latent.ravel()[where] + cell.noise * rng.normal(size=len(where))
        felt -= (severity + np.zeros((k, 1)) + taste)[where // n, who]
    system, place = np.divmod(np.arange(k * n), n)
    weight = np.where(labelled.ravel(), 1 / chance.ravel() if cell.active else 1.0, 0.0)
    given = corrected.laid_out(
        *([*"abcdefgh"[:k]], system, place, group[place], score.ravel(), weight),
        *(where, who, bent(felt, cell.kind)),
    )
    truth = np.array([expected(mean, cell) for mean in cell.means])
    if cell.fixed:
        truth = np.array(cell.means) - (severity + np.zeros((k, 1)) + taste).mean(axis=1)
    return given, chance.ravel(), truth


def as_study(given: corrected.Scored, chance: np.ndarray) -> nb.Study:
    """Write a world as a study."""
    ids = np.arange(len(given.system)).astype(str).astype(object)
    outputs = pd.DataFrame({"output_id": ids, "item_id": given.item.astype(str)})
    outputs = outputs.assign(system=np.array(given.names)[given.system], text="", is_human=False)
    outputs = outputs.assign(context="", doc=given.cluster.astype(str), chance=chance)
    judgments = pd.DataFrame({"output_id": ids[given.output], "dimension": "quality"})
    judgments = judgments.assign(
        annotator_id=given.annotator.astype(str), group_id="", value=given.value
    )
    scores = pd.DataFrame({"output_id": ids, "evaluator": "judge", "score": given.score})
    return trusted(
        outputs=outputs,
        judgments=judgments,
        scores=scores.assign(signature=""),
        source="simulated",
        settings={"quality": "quality", "extra": ["doc", "chance"], "clusters": "doc"},
    )


def measure(cell: Cell, n_worlds: int, seed: int) -> dict[str, Any]:
    """Count a cell; the first world is asked of the public function, too, which must agree."""
    k = len(cell.means)
    one, other = np.triu_indices(k, 1)
    contrasts = np.vstack([np.eye(k), np.eye(k)[one] - np.eye(k)[other]])
    shares: dict[str, list] = {name: [] for name in _COUNTED}
    widths: dict[str, list] = {LABELS: [], CORRECTED: []}
    errors: dict[str, list] = {LABELS: [], CORRECTED: []}
    saved, sizes = [], []
    for number in range(n_worlds):
        rng = np.random.default_rng([seed, number])
        given, chance, truth = world(cell, rng)
        people = corrected.is_crossed(given) and not cell.fixed
        fits = {name: corrected.fitted(given, name, people) for name in widths}
        for method, fit in fits.items():
            level = contrasts @ fit.level
            se = np.sqrt(fit.variance(contrasts))
            df = np.concatenate([fit.df, np.minimum(fit.df[one], fit.df[other])])
            half = student.ppf(0.975, df) * se
            held = np.abs(level - contrasts @ truth) <= half
            p = 2 * student.sf(np.abs(level / se)[k:], df[k:])
            holm = adjust(p) < 0.05
            better = np.append(holm & (level[k:] > 0), holm & (level[k:] < 0))
            both = np.append(one, other), np.append(other, one)
            ranks = rank_ranges(*both, better, k)
            # A range holds where it has all ranks that a system and its equals may take.
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
            errors[method].append(fit.level - truth)
        rows = labels_saved(given, fits[LABELS], fits[CORRECTED], people, 0.95)
        saved.append([rows["saved_low"], rows["saved_high"]])
        sizes.append(np.bincount(given.system, given.weight > 0, k))
        if number == 0:
            study = as_study(given, chance)
            asked = {"sampling": "chance" if cell.active else "random"}
            found = nb.corrected_quality(study, evaluator="judge", **asked).systems
            found = found[found["method"] == CORRECTED].set_index("system").loc[given.names]
            np.testing.assert_allclose(found["ci_high"], (level + half)[:k], atol=1e-9)
    variance = {name: np.var(value, axis=0) for name, value in errors.items()}
    ratio, n_labels = variance[CORRECTED] / variance[LABELS], np.mean(sizes, axis=0)
    true = n_labels / ratio - n_labels
    ends = np.array(saved)
    inside = (ends[:, 0] <= true) & (true <= ends[:, 1])
    row = {"cell": cell.name, "worlds": n_worlds}
    for name in _COUNTED:
        values = np.array(shares[name], dtype=float)
        if not len(values):
            continue
        row |= {name: float(values.mean()), f"{name} se": float(values.std() / n_worlds**0.5)}
    row["width"] = float(np.mean(widths[CORRECTED]) / np.mean(widths[LABELS]))
    row["spread"] = float(np.sqrt(ratio.mean()))
    row["saved"] = float(inside.mean()) if np.isfinite(ends).any() else np.nan
    return row | {"n saved": float(true.mean())}


_COUNTED = tuple(
    f"{tag}{name}"
    for tag in ("", "labels: ")
    for name in ("mean", "difference", "ranks", "p <= .01", "p <= .001", "family")
)


def speed() -> bool:
    """Time 20 systems, 2,000 items and 5 evaluators."""
    rng = np.random.default_rng(0)
    k, n, n_labels, n_people = 20, 2000, 200, 40
    system, item = np.divmod(np.arange(k * n), n)
    latent = rng.normal(size=k * n) + 0.5 * rng.normal(size=n)[item] + system / k
    labelled = rng.random((k, n)).argsort(axis=1).ravel() < n_labels
    where = np.repeat(np.flatnonzero(labelled), 2)
    who = rng.integers(0, n_people, len(where))
    given = corrected.laid_out(
        *([f"s{number:02d}" for number in range(k)], system, item, item, latent, labelled * 1.0),
        *(where, who, latent[where] + rng.normal(size=len(where))),
    )
    study = as_study(given, labelled * 0.1)
    scores = [
        study.scores.assign(evaluator=f"e{m}", score=latent + rng.normal(size=k * n))
        for m in range(5)
    ]
    study = study.replace(scores=pd.concat(scores, ignore_index=True))
    start = time.perf_counter()
    for m in range(5):
        nb.corrected_quality(study, evaluator=f"e{m}", sampling="random")
    seconds = time.perf_counter() - start
    print(f"20 systems x 2,000 items x 5 evaluators: {seconds:.1f} s (10 s are allowed)")
    return seconds < 10


def beside_ppi_python() -> None:
    """Time 20 systems' means against ppi-python, which is given the same lambda, if it is there."""
    try:
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    except ImportError:
        print("ppi-python is not installed: no ratio")
        return
    rng = np.random.default_rng(0)
    k, n, n_labels = 20, 2000, 200
    system = np.arange(k * n) // n
    value = rng.normal(size=k * n)
    score = 0.7 * value + rng.normal(size=k * n)
    labelled = rng.random((k, n)).argsort(axis=1).ravel() < n_labels
    where = np.flatnonzero(labelled)
    start = time.process_time()
    given = corrected.laid_out(
        *([str(number) for number in range(k)], system, np.arange(k * n), np.arange(k * n)),
        *(score, labelled * 1.0, where, np.arange(len(where)), value[where]),
    )
    fit = corrected.fitted(given, CORRECTED, False)
    se = np.sqrt(fit.variance(np.eye(k)))
    ours = time.process_time() - start
    tuned = fit.slope * (1 - n_labels / n)
    theirs = 0.0
    for number in range(k):
        own = system == number
        y, f, rest = value[own & labelled], score[own & labelled], score[own & ~labelled]
        for timed in (False, True):  # once to compile
            start = time.process_time()
            point = ppi_mean_pointestimate(y, f, rest, lam=tuned[number])
            low, high = ppi_mean_ci(y, f, rest, alpha=0.05, lam=tuned[number])
            theirs += (time.process_time() - start) * timed
        np.testing.assert_allclose(np.ravel(point)[0], fit.level[number], rtol=1e-9, atol=1e-12)
        half = float(np.ravel(high)[0] - np.ravel(low)[0]) / 2
        # They divide by n, not n - 1, and take no slopes without an output's own label.
        assert 1 < norm.ppf(0.975) * se[number] / half < 1.03
    print(f"20 means: ours {1000 * ours:.1f} ms, ppi-python {1000 * theirs:.1f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="how names of cells begin")
    options = parser.parse_args()
    bad = 0
    for cell in CELLS:
        if options.only and not cell.name.startswith(tuple(options.only)):
            continue
        start = time.perf_counter()
        found = measure(cell, options.worlds, options.seed)
        shown = {name: round(v, 4) if isinstance(v, float) else v for name, v in found.items()}
        print(shown, f"{time.perf_counter() - start:.0f} s", flush=True)
        bad += sum(not LOW <= found[name] <= HIGH for name in ("mean", "difference"))
    quick = speed()
    beside_ppi_python()
    print(f"{bad} coverages of corrected means and differences outside {LOW} to {HIGH}")
    return 0 if quick else 1


if __name__ == "__main__":
    sys.exit(main())
