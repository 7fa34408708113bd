"""How often the alternative annotator test rejects: ``python benchmarks/replacing_level.py``.

Level: an annotator's differences d (1: the annotator agrees better with the others, -1: the
evaluator, 0: both alike) are drawn at the border, mean d = epsilon, where at most .05 may reject.
Outputs are independent, or in clusters of even or uneven size that share a latent normal
(correlation .4). Three tests: the score test that `nlgbench.replaces_annotators` rejects by, the
paper's t test over outputs, and t with the same design effect of clusters.

Power: what the formula says of outputs as often decided as these, beside how often the test
rejects where mean d is 0.

Panels: whole studies of annotators who know a label, or a number, with an evaluator at the border:
how often each annotator is rejected, before and after Benjamini and Yekutieli, how often omega is
one half or more, and how often intervals of rho hold its expectation. Where annotators differ in
skill, the border is that of their mean, some lie beyond it, and only the intervals are looked at.
"""

import argparse
import sys
import time

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

import nlgbench as nb
from nlgbench.analysis.judges import replacing

ICC = 0.4
#: Agreement -> share of outputs where annotator and evaluator are not alike, by epsilon.
DECIDED = {
    "never tied": lambda epsilon: 1.0,
    "often tied": lambda epsilon: epsilon + 0.3,
    "mostly tied": lambda epsilon: epsilon + 0.05,
    "skewed": lambda epsilon: epsilon,
}
#: Layout -> outputs, and the size of a cluster; uneven ones are geometric with that mean.
LAYOUTS = {
    "30 outputs": (30, 1, False),
    "100 outputs": (100, 1, False),
    "400 outputs": (400, 1, False),
    "15 clusters of 4": (60, 4, False),
    "10 clusters of 10": (100, 10, False),
    "40 clusters of 10": (400, 10, False),
    "100 clusters of 4": (400, 4, False),
    "some 25 uneven clusters": (100, 4, True),
}


def drawn(layout, decided, mean, n_worlds, rng):
    """Draw d of `n_worlds` annotators, with their places and clusters."""
    n, size, uneven = LAYOUTS[layout]
    if uneven:
        starts = rng.random((n_worlds, n)) < 1 / size
        cluster = np.cumsum(starts, axis=1) + 1
    else:
        cluster = np.broadcast_to(np.arange(n) // size, (n_worlds, n))
    cluster = cluster + (np.arange(n_worlds) * (n + 2))[:, None]
    shared = rng.normal(size=n_worlds * (n + 2))[cluster]
    icc = ICC if size > 1 else 0.0
    latent = norm.cdf(np.sqrt(icc) * shared + np.sqrt(1 - icc) * rng.normal(size=cluster.shape))
    better, worse = (decided + mean) / 2, (decided - mean) / 2
    d = (latent > 1 - better).astype(np.int8) - (latent < worse).astype(np.int8)
    who = np.repeat(np.arange(n_worlds), n)
    return d.ravel(), who, cluster.ravel()


def levels(n_worlds, seed):
    """Count rejections at the border, and power at mean 0 beside its formula."""
    rows = []
    for layout in LAYOUTS:
        for agreement, of in DECIDED.items():
            for epsilon in (0.1, 0.2):
                rng = np.random.default_rng([seed, len(rows)])
                decided = of(epsilon)
                counts = replacing.count(*drawn(layout, decided, epsilon, n_worlds, rng))
                row = {"layout": layout, "agreement": agreement, "epsilon": epsilon}
                for name, p in tests(counts, epsilon).items():
                    row[name] = np.mean(p <= 0.05)
                again = replacing.count(*drawn(layout, decided, 0.0, n_worlds, rng))
                row["power"] = np.mean(tests(again, epsilon)["score"] <= 0.05)
                row["formula"] = np.nanmean(replacing.power(again, epsilon, 0.05))
                rows.append(row)
    return pd.DataFrame(rows)


def tests(counts, epsilon):
    """Give p of three tests."""
    mean = (counts.better - counts.worse) / counts.n
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = ((counts.better + counts.worse) / counts.n - mean**2) / (counts.n - 1)
        error = np.sqrt(plain * counts.design_effect)
        clustered = student.cdf((mean - epsilon) / error, counts.n_clusters - 1)
    return {
        "score": replacing.score_p(counts, np.array([epsilon]))[:, 0],
        "paper's t": replacing.t_p(counts, epsilon),
        "t, design effect": clustered,
    }


#: Panel -> agreement, annotators, outputs, outputs of a text, annotators of an output (0: all), and
#: how much annotators differ in skill.
PANELS = {
    "labels, 4 annotators, 60 outputs": ("accuracy", 4, 60, 1, 0, 0.0),
    "labels, 12 annotators, 25 texts of 4": ("accuracy", 12, 100, 4, 0, 0.0),
    "numbers, 4 annotators, 60 outputs": ("rmse", 4, 60, 1, 0, 0.0),
    "numbers, 12 annotators, 25 texts of 4": ("rmse", 12, 100, 4, 0, 0.0),
    "labels, 12 who differ, 100 outputs": ("accuracy", 12, 100, 1, 0, 0.4),
    "numbers, 20 who differ, 100 outputs": ("rmse", 20, 100, 1, 0, 0.4),
    "numbers, 3 of 20 who differ, 300 outputs": ("rmse", 20, 300, 1, 3, 0.4),
}


def panel(kind, n_people, n_outputs, size, per_output, differ, error, rng):
    """Simulate a study: annotators who err more or less, and an evaluator who errs by `error`.

    What an annotator or the evaluator gives is wrong more often on texts that are hard.
    """
    text = np.arange(n_outputs) // size
    hard = rng.normal(0, 0.6, text.max() + 1)[text]
    skill = np.append(rng.normal(0, differ, n_people), error)[:, None]
    if kind == "accuracy":
        true = rng.integers(0, 4, n_outputs)
        wrong = rng.random((n_people + 1, n_outputs)) < norm.cdf(-0.7 + skill + hard)
        given = np.where(wrong, rng.integers(0, 4, (n_people + 1, n_outputs)), true)
    else:
        true = rng.normal(3, 0.8, n_outputs)
        spread = 0.8 * np.exp(skill + 0.3 * hard)
        given = true + spread * rng.normal(size=(n_people + 1, n_outputs))
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
    scores = pd.DataFrame(
        {"output_id": ids, "evaluator": "judge", "score": given[-1].astype(float)}
    )
    return nb.Study(outputs, judgments, scores=scores)


def border(layout, epsilon):
    """Find by how much an evaluator errs so that annotators are better by epsilon on average."""
    kind, n_people, _, *rest = layout
    low, high = -2.0, 3.0
    for _ in range(12):
        error, found = (low + high) / 2, []
        for n in range(4 if rest[-1] == 0 else 16):
            study = panel(kind, n_people, 2_000, *rest, error, np.random.default_rng(n))
            compared = nb.replaces_annotators(study, epsilon=epsilon, agreement=kind)
            found.append(compared.annotators["difference"].mean())
        low, high = (error, high) if np.mean(found) < epsilon else (low, error)
    return (low + high) / 2


def panels(n_worlds, seed, only):
    """Count a panel's rejections, omegas and intervals of rho."""
    for number, (name, layout) in enumerate(PANELS.items()):
        if only and not name.startswith(tuple(only)):
            continue
        start, epsilon = time.perf_counter(), 0.15
        error = border(layout, epsilon)
        people, rows = [], []
        for world in range(n_worlds):
            rng = np.random.default_rng([seed, number, world])
            study = panel(*layout, error, rng)
            found = nb.replaces_annotators(study, epsilon=epsilon, agreement=layout[0])
            people.append(found.annotators.assign(world=world))
            rows.append(found.evaluators.merge(found.details, on="evaluator"))
        people, rows = pd.concat(people), pd.concat(rows)
        rho = rows["rho"].mean()
        held = ((rows["ci_low"] <= rho) & (rho <= rows["ci_high"])).mean()
        rejected = (people["p"] <= 0.05).groupby(people["world"]).mean()
        counted = {
            "mean d": people["difference"].mean(),
            "p <= .05": rejected.mean(),
            "se": rejected.std() / np.sqrt(n_worlds),
            "after BY": people["rejected"].mean(),
            "paper, p <= .05": (people["p_paper"] <= 0.05).mean(),
            "omega >= .5": (rows["omega"] >= 0.5).mean(),
            "paper, omega >= .5": (rows["omega_paper"] >= 0.5).mean(),
            "rho held": held,
            "width / oracle's": (rows["ci_high"] - rows["ci_low"]).mean()
            / 3.92
            / rows["rho"].std(),
        }
        print(f"{name} (epsilon {epsilon}, {n_worlds} worlds, {time.perf_counter() - start:.0f} s)")
        print("   ", "  ".join(f"{key}: {value:.3f}" for key, value in counted.items()), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2_000)
    parser.add_argument("--panels", type=int, default=500, help="worlds of whole studies; 0: none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="how names of panels begin")
    options = parser.parse_args()
    table = levels(options.worlds, options.seed)
    print(table.round(3).to_string(index=False), flush=True)
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / options.worlds)
    over = int((table["score"] > most).sum())
    print(f"{over} of {len(table)} cells reject more often than .05 and three standard errors")
    if options.panels:
        panels(options.panels, options.seed, options.only)
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
