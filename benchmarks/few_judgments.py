"""HUSE with few human judgments: ``python benchmarks/few_judgments.py --checkpoint FILE``.

World of reviews: N outputs of each class, L of each judged by the same twenty annotators, and an
evaluator's predictions of all whose correlation with mean judgments is r. What is measured is what
`huse_with_predictions` and `optimal_error_bound` do, from the features on:

- bias and coverage for the expectation of HUSE at L outputs of each class (from studies of their
  own), of people's judgments alone and of the control variate with weights fixed and estimated;
  and how many judgments alone would be as sure (the ratio of variances over worlds);
- the same of prediction-powered inference on leave-one-out errors, as if these were labels;
- with predictors that lean to the system, or that learned from the judgments they predict;
- how often bounds of the optimal error lie above it, and above their own classifier's error.

``--items`` measures instead what holds where several outputs share an item and whole items were
drawn for people (``resample="items"``), beside splits of single outputs, which take no notice.

Worlds that are done stand in the checkpoint, a CSV file; a second start goes on from there. The
texts, systems and annotators are the same in all worlds.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from huse_coverage import compared as together
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from nlgbench.analysis.huse import few_judgments as few
from nlgbench.analysis.huse.neighbors import leave_one_out, twice_error, votes
from nlgbench.analysis.huse.score import Compared
from nlgbench.generators.reviews import contexts, review_grammar
from nlgbench.plots.figures import Drawing, canvas, drawn_on, in_paper_style
from nlgbench.plots.style import GROUPS, TWO_COLUMN
from nlgbench.study import trusted
from nlgbench.worlds import annotators, truth
from nlgbench.worlds import reviews as worlds

K = 16
#: System -> correlations of predictions with judgments; judged outputs -> outputs, of each class.
LAYOUTS: dict[str, tuple[tuple[float, ...], dict[int, tuple[int, ...]]]] = {
    "leaky_t0.7": ((0.3, 0.6, 0.9), {50: (1000,), 100: (1000, 4000), 200: (1000,)}),
    "trigram_t0.7": ((0.6, 0.9), {100: (1000,)}),
}
SIZES, TOTALS = (50, 100, 200), (1000, 4000)
#: Of an item, in each class; judged outputs are whole items.
PER_ITEM = 4
ITEM_SYSTEM, ITEM_SIZES = "leaky_t0.7", (48, 100, 200)
WEIGHTS: tuple[float | str, ...] = (0.0, 0.5, 1.0, "estimated")
N_POOL = 40_000
N_RESAMPLES = 50
KEYS = ["what", "system", "n_labels", "n_total", "r", "method", "score"]


class Pool:
    """Texts of both classes of a system, as the features that everything else is made of."""

    def __init__(self, name: str, seed: int) -> None:
        rng = np.random.default_rng([2019, seed])
        system = worlds.review_systems([name], seed=7)[name]
        grammar = review_grammar()
        decisions = grammar.decide(N_POOL, seed=rng)
        about = contexts(decisions)
        texts = grammar.render(decisions), worlds.write_reviews(system, about, seed=rng)
        draws = [worlds.review_draws(system, own, about) for own in texts]
        self.crew = annotators.hire(20, seed=rng)
        self.of_product = [_by_product(own) for own in texts]
        self.truth = truth.population_scores(draws[0], draws[1], self.crew)
        logprob = np.array([one.system for one in draws])
        floor = logprob[np.isfinite(logprob)].min() - 1
        self.logprob = np.where(np.isfinite(logprob), logprob, floor)
        self.typical = np.array([annotators.typicality(one.reference) for one in draws])
        judged = self.judge(self.typical.ravel()[::4], rng)
        self.spread = self.typical.std()
        self.reliability = np.corrcoef(judged, self.typical.ravel()[::4])[0, 1]

    def judge(self, typical: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Average the annotators' judgments."""
        return annotators.judge(self.crew, typical.ravel(), seed=rng).mean(axis=1)

    def predict(self, typical: np.ndarray, r: float, rng: np.random.Generator) -> np.ndarray:
        """Predict judgments so that the correlation with them is r, over both classes."""
        noise = self.spread * np.sqrt((self.reliability / r) ** 2 - 1)
        return typical + rng.normal(0, noise, typical.shape)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n texts of each class: log-probabilities and typicality, of shape (2, n)."""
        at = rng.integers(N_POOL, size=(2, n))
        rows = np.arange(2)[:, None]
        return self.logprob[rows, at], self.typical[rows, at]

    def draw_items(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw as `draw`, an item's texts one after the other: half of what judges feel is its own.

        They are of one product, as often as people write of it.
        """
        n_items = n // PER_ITEM
        human, machine = self.of_product
        names = sorted(set(human) & set(machine))
        share = np.array([len(human[name]) for name in names], dtype=float)
        drawn = rng.choice(names, n_items, p=share / share.sum())
        at = np.array(
            [
                np.concatenate([rng.choice(one[name], PER_ITEM) for name in drawn])
                for one in (human, machine)
            ]
        )
        rows = np.arange(2)[:, None]
        mean = self.typical.mean()
        felt = self.typical[rows, at] - mean
        item = np.repeat(rng.normal(0, self.spread, n_items), PER_ITEM)
        return self.logprob[rows, at], mean + np.sqrt(0.5) * (felt + item)


def _by_product(texts: list[str]) -> dict[str, np.ndarray]:
    """List the texts that name a product, misspelled or not, by the first that they name."""
    slot = next(one for one in review_grammar().slots if one.name == "product")
    named = {word: word for word in slot.phrases} | {word + word[-1]: word for word in slot.phrases}
    first = [next((named[w] for w in text.split(" ") if w in named), "") for text in texts]
    found = pd.Series(range(len(texts))).groupby(first)
    return {str(name): rows.to_numpy() for name, rows in found if name}


def compared(logprob: np.ndarray, judgment: np.ndarray, per_item: int = 1) -> Compared:
    """Put features of shape (2, n), human and machine, together; so many of each are of an item."""
    n = logprob.shape[1]
    found = together(logprob.ravel(), judgment.ravel(), n, "system")
    item = np.tile(np.arange(n) // per_item, 2).astype(str)
    return replace(found, study=trusted(found.study.outputs.assign(item_id=item)))


def scores_of(logprob: np.ndarray, judgment: np.ndarray) -> dict[str, float]:
    """Score features of shape (2, n)."""
    is_machine = np.repeat([False, True], logprob.shape[1])
    points = np.column_stack([logprob.ravel() / logprob.std(), judgment.ravel() / judgment.std()])
    one, other = (
        twice_error(*leave_one_out(columns, is_machine, K), is_machine)
        for columns in (points, points[:, 1:])
    )
    return {"huse": one, "huse_q": other, "huse_d": 1 + one - other}


def errors_of(logprob: np.ndarray, judgment: np.ndarray) -> dict[str, np.ndarray]:
    """Give leave-one-out errors of shape (2, n): what the trap takes for labels."""
    is_machine = np.repeat([False, True], logprob.shape[1])
    points = np.column_stack([logprob.ravel() / logprob.std(), judgment.ravel() / judgment.std()])
    found = {}
    for score, columns in (("huse", points), ("huse_q", points[:, 1:])):
        for_machine, for_human = votes(*leave_one_out(columns, is_machine, K), is_machine)
        wrong = (for_machine > for_human) != is_machine
        found[score] = wrong.astype(float).reshape(logprob.shape)
    return found


def naive(people: np.ndarray, own: np.ndarray, others: np.ndarray, weight: float | None) -> dict:
    """Take leave-one-out errors for labels: PPI, or PPI++ without a weight; of shape (2, n)."""
    n, n_others = people.shape[1], others.shape[1]
    if weight is None:
        both = np.array([np.cov(a, b) for a, b in zip(people, own, strict=True)]).sum(axis=0)
        weight = both[0, 1] / both[1, 1] / (1 + n / n_others) if both[1, 1] > 0 else 0.0
    estimate = (people - weight * own).mean(axis=1).sum() + weight * others.mean(axis=1).sum()
    variance = (people - weight * own).var(axis=1, ddof=1).sum() / n
    variance += weight**2 * others.var(axis=1, ddof=1).sum() / n_others
    se = np.sqrt(variance)
    half = norm.ppf(0.975) * se
    found = {"estimate": estimate, "se": se, "weight": weight}
    return {**found, "ci_low": estimate - half, "ci_high": estimate + half}


def control_variates(
    judged: Compared,
    logprob: np.ndarray,
    predicted: np.ndarray,
    size: int,
    totals: tuple[int, ...],
    weights: tuple[float | str, ...],
    rng: np.random.Generator,
    resample: few.Unit = "outputs",
    per_item: int = 1,
) -> list[dict]:
    """Estimate HUSE with each weight and number of outputs; the first `size` are judged."""
    own = compared(logprob[:, :size], predicted[:, :size], per_item)
    splits = few.replicates(judged, own, resample=resample, n_resamples=N_RESAMPLES, seed=rng)
    subsets = [
        scores_of(logprob[:, at : at + size], predicted[:, at : at + size])
        for at in range(size, max(totals) - size + 1, size)
    ]
    rows = []
    for total in totals:
        others = subsets[: total // size - 1]
        for weight in weights:
            table = few.combined(judged, own, others, splits, weight=weight)
            table = table.assign(method=f"weight {weight}", n_total=total)
            rows += table[[*SHOWN, "score", "method", "n_total"]].to_dict("records")
    return rows


SHOWN = ["estimate", "se", "ci_low", "ci_high", "weight"]


def bounds(
    pool: Pool,
    logprob: np.ndarray,
    judgment: np.ndarray,
    predicted: np.ndarray,
    size: int,
    rng: np.random.Generator,
    pilot: tuple[np.ndarray, np.ndarray] | None,
) -> list[dict]:
    """Bound the optimal error by a classifier learned from predictions, or from a pilot study."""
    total = logprob.shape[1]
    half = size + (total - size) // 2
    if pilot is None:
        model = compared(logprob[:, half:], predicted[:, half:])
        rest = slice(0, half)
    else:
        model, rest = compared(*pilot), slice(0, total)
    log, of = logprob[:, rest], predicted[:, rest]
    n = log.shape[1]
    table = pd.DataFrame(
        {
            "item_id": np.arange(2 * n),
            "is_human": np.arange(2 * n) < n,
            "judged": np.tile(np.arange(n) < size, 2),
        }
    )
    people = np.column_stack([log[:, :size].ravel(), judgment[:, :size].ravel()])
    found = few.bounded(
        model, table, people, np.column_stack([log.ravel(), of.ravel()]), confidence=0.95
    )
    new_log, new_typical = pool.draw(2000, rng)
    new = np.column_stack([new_log.ravel(), pool.judge(new_typical, rng)])
    own = 2 * few.errors_of(model, new, np.repeat([False, True], 2000)).mean()
    found = found.assign(own=own, score="l_star", n_total=total, ci_high=found["bound"])
    return found[["estimate", "se", "ci_high", "own", "score", "method", "n_total"]].to_dict(
        "records"
    )


def one_world(pools: dict[str, Pool], seed: int, world: int) -> pd.DataFrame:
    """Measure everything once."""
    rng = np.random.default_rng([seed, world])
    rows: list[dict] = []

    def add(found: list[dict], **about: object) -> None:
        rows.extend({**about, **one} for one in found)

    for name, pool in pools.items():
        largest = max(max(totals) for totals in LAYOUTS[name][1].values())
        logprob, typical = pool.draw(largest, rng)
        n_judged = max(SIZES)
        judgment = pool.judge(typical[:, :n_judged], rng).reshape(2, n_judged)
        pilot_log, pilot_typical = pool.draw(100, rng)
        pilot = pilot_log, pool.judge(pilot_typical, rng).reshape(2, 100)
        qualities, layout = LAYOUTS[name]
        for r in qualities:
            predicted = pool.predict(typical, r, rng)
            for size, totals in layout.items():
                about = {"system": name, "n_labels": size, "r": r}
                judged = compared(logprob[:, :size], judgment[:, :size])
                found = control_variates(judged, logprob, predicted, size, totals, WEIGHTS, rng)
                add(found, what="control", **about)
                people = errors_of(logprob[:, :size], judgment[:, :size])
                small = errors_of(logprob[:, :size], predicted[:, :size])
                for total in totals:
                    among = errors_of(logprob[:, :total], predicted[:, :total])
                    about["n_total"] = total
                    for score in ("huse", "huse_q"):
                        own, rest = among[score][:, :size], among[score][:, size:]
                        one = naive(people[score], own, rest, None)
                        add([one], what="naive", method="PPI++, among all", score=score, **about)
                        two = naive(people[score], small[score], rest, 1.0)
                        add([two], what="naive", method="PPI, own size", score=score, **about)
                about.pop("n_total")
                first = slice(0, TOTALS[0])
                for what, other in (("bound", None), ("bound, pilot", pilot)):
                    features = (logprob[:, first], judgment, predicted[:, first])
                    add(bounds(pool, *features, size, rng, other), what=what, **about)
        if name == "leaky_t0.7":
            add(trained(pool, name, logprob, typical, judgment, rng))
    return pd.DataFrame(rows).assign(world=world)


def items_world(pools: dict[str, Pool], seed: int, world: int) -> pd.DataFrame:
    """Measure once where outputs share items, with splits of items and of outputs."""
    pool, rng, rows = pools[ITEM_SYSTEM], np.random.default_rng([seed, world, 4]), []
    logprob, typical = pool.draw_items(TOTALS[0], rng)
    n_judged = max(ITEM_SIZES)
    judgment = pool.judge(typical[:, :n_judged], rng).reshape(2, n_judged)
    for r in LAYOUTS[ITEM_SYSTEM][0]:
        predicted = pool.predict(typical, r, rng)
        for size in ITEM_SIZES:
            judged = compared(logprob[:, :size], judgment[:, :size], PER_ITEM)
            for unit in ("items", "outputs"):
                found = control_variates(
                    judged,
                    logprob,
                    predicted,
                    size,
                    TOTALS[:1],
                    (0.0, 0.5, "estimated"),
                    rng,
                    unit,
                    PER_ITEM,
                )
                about = {"what": unit, "system": ITEM_SYSTEM, "n_labels": size, "r": r}
                rows += [{**one, **about} for one in found]
    return pd.DataFrame(rows).assign(world=world)


def trained(
    pool: Pool,
    name: str,
    logprob: np.ndarray,
    typical: np.ndarray,
    judgment: np.ndarray,
    rng: np.random.Generator,
) -> list[dict]:
    """Predict with a lean to the system, and with what learned from these judgments."""
    size, total = 100, TOTALS[0]
    log, seen = logprob[:, :total], pool.predict(typical[:, :total], 0.6, rng)
    judged = compared(log[:, :size], judgment[:, :size])
    features = np.stack([log / log.std(), 2 * seen / seen.std()], axis=-1)
    x, y = features[:, :size].reshape(-1, 2), judgment[:, :size].ravel()
    near = KNeighborsRegressor(n_neighbors=3).fit(x, y)
    learned = near.predict(features.reshape(-1, 2)).reshape(2, total)
    held_out = learned.copy()
    order = rng.permutation(2 * size)
    folds = np.empty(2 * size)
    folds[order] = cross_val_predict(near, x[order], y[order], cv=10)
    held_out[:, :size] = folds.reshape(2, size)
    leaning = seen + 0.5 * pool.spread * np.array([[0.0], [1.0]])
    kinds = {"leans": leaning, "learned from them": learned, "learned, held out": held_out}
    rows = []
    for what, predicted in kinds.items():
        weights = (0.5, "estimated")
        found = control_variates(judged, log, predicted, size, (total,), weights, rng)
        rows += [{**one, "what": what, "system": name, "n_labels": size, "r": 0.6} for one in found]
    return rows


def targets(pools: dict[str, Pool], seed: int, n_sets: int, items: bool) -> pd.DataFrame:
    """Give the expectation of HUSE at each size, from studies of their own."""
    rows = []
    sizes, totals = (ITEM_SIZES, TOTALS[:1]) if items else (SIZES, TOTALS)
    for name, pool in pools.items():
        draw = pool.draw_items if items else pool.draw
        for n in (*sizes, *totals):
            rng = np.random.default_rng([seed, n, 99])
            n_each = n_sets if n in sizes else max(20, n_sets // 50)
            found = []
            for _ in range(n_each):
                logprob, typical = draw(n, rng)
                found.append(scores_of(logprob, pool.judge(typical, rng).reshape(2, n)))
            table = pd.DataFrame(found)
            rows += [
                {
                    "system": name,
                    "n": n,
                    "score": score,
                    "target": table[score].mean(),
                    "sd": table[score].std(),
                    "target_se": table[score].std() / np.sqrt(n_each),
                }
                for score in table
            ]
    return pd.DataFrame(rows)


def report(found: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    """Summarize each kind of estimate over worlds, with standard errors."""
    found = found[found["score"] != "l_star"]
    at = target.drop(columns="sd").rename(columns={"n": "n_labels"})
    found = found.merge(at, on=["system", "n_labels", "score"], validate="many_to_one")
    later = target.rename(columns={"n": "n_total", "target": "target_n"})
    later = later[["system", "n_total", "score", "target_n"]]
    found = found.merge(later, on=["system", "n_total", "score"], validate="many_to_one")
    for name, of in (("holds", "target"), ("holds_n", "target_n")):
        found[name] = found[of].between(found["ci_low"], found["ci_high"])
    found["off"] = found["estimate"] - found["target"]
    found["width"] = found["ci_high"] - found["ci_low"]
    table = found.groupby(KEYS, sort=False).agg(
        worlds=("off", "size"),
        bias=("off", "mean"),
        sd=("off", "std"),
        se=("se", lambda values: np.sqrt((values**2).mean())),
        coverage=("holds", "mean"),
        coverage_n=("holds_n", "mean"),
        width=("width", "median"),
        weight=("weight", "mean"),
        target=("target", "mean"),
    )
    table["bias_se"] = table["sd"] / np.sqrt(table["worlds"])
    table["coverage_se"] = np.sqrt(table["coverage"] * (1 - table["coverage"]) / table["worlds"])
    return table.reset_index().merge(gains(found), on=KEYS, how="left", validate="one_to_one")


def gains(found: pd.DataFrame) -> pd.DataFrame:
    """Say how many times as many judgments alone would be as sure, from the same worlds.

    The error of the log ratio of variances is that of normal values: 4 (1 - r^2) / n.
    """
    place = ["system", "n_labels", "r", "score", "run", "world"]
    plain = found[(found["method"] == "weight 0.0") & (found["n_total"] == TOTALS[0])]
    # The estimate is the same whatever is split.
    plain = plain[[*place, "estimate"]].drop_duplicates(place).rename(columns={"estimate": "plain"})
    both = found.merge(plain, on=place, validate="many_to_one")
    rows = []
    for key, part in both.groupby(KEYS, sort=False):
        ratio = part["plain"].var() / part["estimate"].var()
        r = part["plain"].corr(part["estimate"])
        error = ratio * np.sqrt(4 * max(1 - r**2, 0) / len(part))
        rows.append(dict(zip(KEYS, key, strict=True)) | {"gain": ratio, "gain_se": error, "rho": r})
    return pd.DataFrame(rows)


def report_bounds(found: pd.DataFrame, limits: pd.DataFrame) -> pd.DataFrame:
    """Count how often bounds lie above the optimal error, HUSE's limit and their own error.

    Beside them one-sided limits of HUSE at L outputs, with and without predictions.
    """
    is_huse = (found["score"] == "huse") & (found["n_total"] == TOTALS[0])
    limit = found[is_huse & found["method"].isin(["weight 0.0", "weight estimated"])]
    step = student.ppf(0.95, limit["n_labels"] / 2) * limit["se"]
    limit = limit[limit["what"] == "control"].assign(ci_high=limit["estimate"] + step)
    found = pd.concat([found[found["score"] == "l_star"], limit])
    found = found.merge(limits, on="system", validate="many_to_one")
    for name in ("l_star", "huse", "own"):
        found[f"above_{name}"] = (found["ci_high"] >= found[name]).where(found[name].notna())
    found["off"] = found["estimate"] - found["own"]
    table = found.groupby(["what", "system", "n_labels", "r", "method"], sort=False).agg(
        worlds=("off", "size"),
        l_star=("l_star", "mean"),
        huse=("huse", "mean"),
        own=("own", "mean"),
        bound=("ci_high", "mean"),
        above_l_star=("above_l_star", "mean"),
        above_huse=("above_huse", "mean"),
        above_own=("above_own", "mean"),
        sd=("off", "std"),
        undefined=("ci_high", lambda values: values.isna().sum()),
    )
    return table.reset_index()


@in_paper_style
def draw(table: pd.DataFrame) -> Drawing:
    """Draw how many judgments are saved, and how often intervals hold, at 100 judged of 1,000."""
    at = (table["system"] == "leaky_t0.7") & (table["n_labels"] == 100)
    table = table[at & (table["n_total"] == 1000) & table["what"].isin(["control", "naive"])]
    looks = {
        "weight estimated": ("control variate, weight estimated", *GROUPS[0]),
        "weight 1.0": ("control variate, weight 1", *GROUPS[2]),
        "PPI++, among all": ("errors as labels, among all", *GROUPS[1]),
        "PPI, own size": ("errors as labels, own size", *GROUPS[4]),
    }
    figure, axes = canvas(TWO_COLUMN, 2.9, columns=2)
    shown = table[table["method"].isin(looks) & table["score"].isin(["huse", "huse_q"])]
    for ax, (value, error), name, line in zip(
        axes,
        (("gain", "gain_se"), ("coverage", "coverage_se")),
        ("Judgments alone that are as sure (times)", "Share of 95% intervals that hold"),
        (1.0, 0.95),
        strict=True,
    ):
        ax.axhline(line, color="#555555", linewidth=0.6)
        for place, (method, (words, marker, color)) in enumerate(looks.items()):
            for score, face in (("huse", color), ("huse_q", "white")):
                part = shown[(shown["method"] == method) & (shown["score"] == score)]
                x = part["r"] + 0.018 * (place - 1.5) + 0.006 * (score == "huse_q")
                look = {"color": color, "marker": marker, "markersize": 4, "linewidth": 0.8}
                look |= {"markerfacecolor": face, "linestyle": "-" if score == "huse" else ":"}
                label = words if score == "huse" else None
                ax.errorbar(x, part[value], yerr=part[error], elinewidth=0.6, label=label, **look)
        ax.set_xlabel("Correlation of predictions with judgments")
        ax.set_ylabel(name)
        ax.set_xticks([0.3, 0.6, 0.9])
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(handles, words, loc="outside upper center", ncols=2)
    alt = "HUSE (filled) and HUSE-Q (open) from 100 judged of 1,000 outputs of each class: "
    alt += "; ".join(
        f"{looks[row.method][0]}, {row.score}, r = {row.r}: {row.gain:.2f}, {row.coverage:.2f}"
        for row in shown.itertuples()
    )
    return drawn_on(axes, shown, alt + ".")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("--sets", type=int, default=3000, help="for the expectations")
    parser.add_argument("--seed", type=int, default=2019)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument(
        "--checkpoint", type=Path, required=True, nargs="+", help="CSV; the first is written"
    )
    parser.add_argument("--figure", type=Path, help="PNG of what is saved and what holds")
    parser.add_argument("--items", action="store_true", help="where outputs share items")
    args = parser.parse_args()
    pools = {
        name: Pool(name, number)
        for number, name in enumerate(LAYOUTS)
        if name == ITEM_SYSTEM or not args.items
    }
    measured = items_world if args.items else one_world
    path = args.checkpoint[0]
    done = set(pd.read_csv(path)["world"]) if path.exists() else set()
    start = time.process_time()
    for world in range(args.first, args.first + args.worlds):
        if world not in done:
            rows = measured(pools, args.seed, world)
            rows.to_csv(path, mode="a", header=not path.exists(), index=False)
    print(f"{time.process_time() - start:.0f} s")
    found = pd.concat([pd.read_csv(one).assign(run=str(one)) for one in args.checkpoint])
    limits = pd.DataFrame([{"system": name, **pool.truth} for name, pool in pools.items()])
    print(limits[["system", "l_star", "huse", "huse_q", "huse_d"]].round(3).to_string())
    target = targets(pools, args.seed, args.sets, args.items)
    print(target.round(4).to_string())
    table = report(found, target)
    print(table.round(3).to_string())
    table.to_csv(path.with_suffix(".report.csv"), index=False)
    if args.items:
        return 0
    bounded = report_bounds(found, limits)
    print(bounded.round(3).to_string())
    bounded.to_csv(path.with_suffix(".bounds.csv"), index=False)
    if args.figure:
        args.figure.parent.mkdir(parents=True, exist_ok=True)
        args.figure.write_bytes(draw(table).image("png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
