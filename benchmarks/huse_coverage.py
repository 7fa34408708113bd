"""Coverage of intervals of HUSE: ``python benchmarks/huse_coverage.py``.

What each 95% interval should cover, in worlds with expectations known from simulation:

- over outputs and items: the expected score at this number of outputs and annotators, over other
  outputs. It is the mean over the worlds of the cell (in the world of reviews, over those with the
  same annotators). HUSE with a fixed k is biased against its limit, and resampling one study cannot
  remove the bias. For the limit, twice the error of the best classifier, the table therefore shows
  only how often the *upper* end is above it, where it is known in closed form.
- over annotators: the expected score with this study's outputs and other groups of annotators of
  this size, computed as a mean over other groups, separately for each study.

Worlds: two Gaussian classes (`nlgbench.worlds.gaussian`: two systems, and one that writes like
humans), also with half of the variance of quality shared by item, and with three times as many
machine as human outputs; and reviews (`nlgbench.worlds.reviews`), rated with whole numbers, 0 to
5, so that judgments tie, mostly by three annotators. Features are drawn as arrays, because worlds
of tables are ten times as slow; `huse` is measured from the features on.

Widths are compared with an oracle's: 1.96 standard deviations of the score over worlds (groups).
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import cells
import numpy as np
import pandas as pd

from nlgbench.analysis.huse.neighbors import sample_errors
from nlgbench.analysis.huse.score import Compared, intervals
from nlgbench.generators.reviews import review_grammar
from nlgbench.study import from_tables
from nlgbench.worlds import annotators, gaussian
from nlgbench.worlds import reviews as worlds

LOW = 0.93
N_RESAMPLES = 50
N_OTHERS = 25  # other groups of annotators, for the expectation over them
K = 16
SYSTEMS = {name: gaussian.ANNEALED[name] for name in ("t1.0", "t0.5")} | {"twin": (0.0, 0.0)}
REVIEWS = ["leaky_t1.0", "leaky_t0.7", "trigram_t0.7"]
N_PANELS = 10
TRAINING_SEED = 7  # the trained systems are the same in all studies


@dataclass(frozen=True)
class Cell:
    """The design of a study, and what is measured there."""

    name: str
    world: Callable[..., Iterator["Drawn"]]
    n: tuple[int, int]  # human and machine outputs
    n_annotators: int
    intervals: tuple[str, ...] = ("outputs",)
    shared: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """One study as arrays: by system, log-probabilities and quality of human and its outputs."""

    panel: int
    systems: dict[str, tuple[np.ndarray, np.ndarray]]
    judge: Callable[[np.ndarray], np.ndarray]  # quality to judgments, shape (n, annotators)
    others: Callable[[np.ndarray], np.ndarray]  # the same by other annotators at each call
    limits: dict[str, dict[str, float]]


def compared(
    logprob: np.ndarray,
    judgment: np.ndarray,
    n_human: int,
    system: str,
    judgments: np.ndarray | None = None,
) -> Compared:
    """Combine features as `huse` does with tables; `judgments` has a column for each annotator."""
    n = len(judgment)
    is_human = np.arange(n) < n_human
    item = np.where(is_human, np.arange(n), np.arange(n) - n_human)
    owner = np.where(is_human, "human", system)
    ids = [f"{who}_{number}" for who, number in zip(owner, item, strict=True)]
    outputs = pd.DataFrame(
        {"output_id": ids, "item_id": item.astype(str), "system": owner, "is_human": is_human}
    )
    tables_of = {} if judgments is None else {"judgments": judgments_of(ids, judgments)}
    raw = np.column_stack([logprob, judgment])
    scales = raw.std(axis=0)
    return Compared(
        study=from_tables(outputs, **tables_of),
        system=system,
        dimension="typicality",
        rows=np.arange(n),
        is_machine=~is_human,
        raw=raw,
        points=raw / scales,
        scales=(scales[0], scales[1]),
        n_neighbors=K,
        ties="exact",
        label_ties="human",
        scaling="unit variance",
        n_floored=0,
    )


def scores_of(logprob: np.ndarray, judgments: np.ndarray, n_human: int) -> list[dict[str, float]]:
    """Score one column of log-probabilities with each of several mean judgments."""
    is_machine = np.arange(len(logprob)) >= n_human
    found = []
    for judgment in judgments:
        both = np.column_stack([logprob, judgment / judgment.std()])
        one, other = (
            sample_errors(columns, True, is_machine, K)[0] for columns in (both, both[:, 1:])
        )
        found.append({"huse": one, "huse_q": other, "huse_d": 1 + one - other})
    return found


def gaussian_studies(cell: Cell, rng: np.random.Generator) -> Iterator[Drawn]:
    n_human, n_machine = cell.n
    sd, noise, r = gaussian._JUDGMENT_SD, gaussian._NOISE_SD, gaussian._CORRELATION
    limits = {name: gaussian.true_scores(*by, cell.n_annotators) for name, by in SYSTEMS.items()}

    def qualities(n: int, item: np.ndarray) -> np.ndarray:
        return np.sqrt(1 - cell.shared) * rng.normal(size=n) + np.sqrt(cell.shared) * item[:n]

    def likelihoods(quality: np.ndarray) -> np.ndarray:
        own = rng.normal(size=len(quality))
        return gaussian._LOGPROB_SD * (r * quality + np.sqrt(1 - r**2) * own)

    def judge(quality: np.ndarray) -> np.ndarray:
        # Every annotator judges every output, so leniency shifts all means equally.
        return quality[:, None] + rng.normal(0, noise, size=(len(quality), cell.n_annotators))

    while True:
        item = rng.normal(size=max(cell.n))
        human = qualities(n_human, item)
        systems = {}
        for name, (below, above) in SYSTEMS.items():
            own = qualities(n_machine, item)
            logprob = np.concatenate([likelihoods(human), likelihoods(own) + above])
            systems[name] = logprob, np.concatenate([sd * human, sd * own - below])
        yield Drawn(0, systems, judge, judge, limits)


def review_studies(cell: Cell, rng: np.random.Generator) -> Iterator[Drawn]:
    """Draw from pools of texts, judged by one of ten groups of annotators in turn."""
    chosen = worlds.review_systems(REVIEWS, seed=TRAINING_SEED)
    texts = {"human": review_grammar().sample(20_000, seed=rng)}
    texts |= {name: one.sample(20_000, seed=rng) for name, one in chosen.items()}
    length = {name: annotators.n_tokens(own) for name, own in texts.items()}
    typical = {
        name: annotators.typicality(review_grammar().logprob(own) / length[name])
        for name, own in texts.items()
    }
    logprobs = {
        name: {who: one.logprob(texts[who]) / length[who] for who in ("human", name)}
        for name, one in chosen.items()
    }
    panels = [annotators.draw_annotators(cell.n_annotators, seed=rng) for _ in range(N_PANELS)]
    n_human, n_machine = cell.n

    def others(quality: np.ndarray) -> np.ndarray:
        return annotators.judge(
            annotators.draw_annotators(cell.n_annotators, seed=rng), quality, seed=rng
        )

    n_human, n_machine = cell.n
    while True:
        for number, panel in enumerate(panels):
            human = rng.choice(20_000, n_human, replace=False)
            systems = {}
            for name in chosen:
                own = rng.choice(20_000, n_machine, replace=False)
                logprob = np.append(logprobs[name]["human"][human], logprobs[name][name][own])
                inside = np.isfinite(logprob)
                quality = np.append(typical["human"][human], typical[name][own])
                systems[name] = np.where(inside, logprob, logprob[inside].min() - 1), quality
            yield Drawn(number, systems, partial(annotators.judge, panel, seed=rng), others, {})


def measure(cell: Cell, n_worlds: int, *, seed: int) -> pd.DataFrame:
    """Compute the intervals of a cell: one row per world, interval, system and score."""
    rng = np.random.default_rng([seed, *cell.n, cell.n_annotators, int(100 * cell.shared)])
    options = {"n_resamples": N_RESAMPLES, "seed": rng}
    found = []
    for number, study in zip(range(n_worlds), cell.world(cell, rng), strict=False):
        # Human outputs are judged once for all systems.
        n_human = cell.n[0]
        parts: dict[str, Compared] = {}
        human: np.ndarray | None = None
        for name, (logprob, quality) in study.systems.items():
            judgments = study.judge(quality)
            if human is not None:
                judgments[:n_human] = human
            human = judgments[:n_human]
            all_of = judgments if "annotators" in cell.intervals else None
            parts[name] = compared(logprob, judgments.mean(axis=1), n_human, name, all_of)
        names = list(parts)
        for over in cell.intervals:
            tables_of = []
            if over == "annotators":
                for name in names[:2]:
                    table = intervals(parts[name], resample="annotators", **options)
                    logprob, quality = study.systems[name]
                    means = [study.others(quality).mean(axis=1) for _ in range(N_OTHERS)]
                    rows = scores_of(logprob / logprob.std(), np.array(means), n_human)
                    again = pd.DataFrame(rows)[table["score"]]
                    target = {"target": again.mean().array, "sd": again.std().array}
                    tables_of.append(table.assign(system=name, **target))
            else:
                for name, one in parts.items():
                    table = intervals(one, resample=over, **options)
                    limits = study.limits.get(name, {})
                    tables_of.append(table.assign(system=name, limit=table["score"].map(limits)))
            found += [
                table.assign(world=number, panel=study.panel, interval=over) for table in tables_of
            ]
    return pd.concat(found, ignore_index=True).assign(cell=cell.name)


def judgments_of(ids: list[str], values: np.ndarray) -> pd.DataFrame:
    n_outputs, n = values.shape
    return pd.DataFrame(
        {
            "output_id": np.repeat(ids, n),
            "annotator_id": np.tile(np.arange(n).astype(str), n_outputs),
            "dimension": "typicality",
            "value": values.ravel(),
            "group_id": "",
        }
    )


def report(found: pd.DataFrame) -> pd.DataFrame:
    """Summarize each cell, interval, system and score."""
    keys = ["cell", "interval", "system", "score"]
    found = found.copy()
    for column in ("target", "sd", "limit"):
        if column not in found:
            found[column] = np.nan
    own = found.groupby([*keys, "panel"], sort=False)["estimate"]
    # The mean of n worlds is closer to each of them than the expectation is; useless for one world.
    nearer = np.sqrt(1 - 1 / own.transform("size")).where(found["target"].isna(), 1.0)
    found["target"] = found["target"].fillna(own.transform("mean"))
    # The target over groups is a mean of few: its own error is not the interval's.
    blur = np.where(found["sd"].notna(), np.sqrt(1 + 1 / N_OTHERS), 1.0)
    centered = (found["estimate"] - found["target"]) / nearer.where(nearer > 0)
    over_worlds = centered.groupby([found[key] for key in keys], sort=False).transform("std")
    found["sd"] = found["sd"].fillna(over_worlds)
    half = (found["ci_high"] - found["ci_low"]) / 2
    found["marked"] = found["reason"] != ""
    clear = ~found["marked"] & centered.notna()
    found["holds"] = (centered.abs() <= half * blur).where(clear)
    found["width"] = (half / (1.959964 * found["sd"])).where(clear)
    found["above"] = (found["ci_high"] >= found["limit"]).where(clear & found["limit"].notna())
    table = found.groupby(keys, sort=False).agg(
        worlds=("world", "nunique"),
        expectation=("target", "mean"),
        sd=("sd", "mean"),
        coverage=("holds", "mean"),
        marked=("marked", "mean"),
        width=("width", "median"),
        above_limit=("above", "mean"),
    )
    table = table.astype(float)
    error = np.sqrt(table["coverage"] * (1 - table["coverage"]) / table["worlds"])
    table.insert(4, "se", error)
    return table


CELLS = (
    Cell("Gaussian 100", gaussian_studies, (100, 100), 20),
    Cell("Gaussian 50", gaussian_studies, (50, 50), 20),
    Cell("Gaussian 200", gaussian_studies, (200, 200), 20),
    Cell("Gaussian 50 + 150", gaussian_studies, (50, 150), 20),
    Cell("Gaussian 30", gaussian_studies, (30, 30), 20),
    Cell("Gaussian 100, 3 annotators", gaussian_studies, (100, 100), 3),
    Cell("by item 100", gaussian_studies, (100, 100), 20, ("items",), 0.5),
    Cell("reviews 100", review_studies, (100, 100), 20),
    Cell("reviews 100, 3 annotators", review_studies, (100, 100), 3),
    Cell("reviews 50", review_studies, (50, 50), 20),
    Cell("panels, Gaussian 100", gaussian_studies, (100, 100), 20, ("annotators",)),
    Cell("panels of 10, Gaussian 100", gaussian_studies, (100, 100), 10, ("annotators",)),
    Cell("panels, reviews 100", review_studies, (100, 100), 20, ("annotators",)),
    Cell("panels of 10, reviews 100", review_studies, (100, 100), 10, ("annotators",)),
)


def counted(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Count a cell."""
    return report(measure(cell, n_worlds, seed=seed)).reset_index()


def beyond(table: pd.DataFrame, n_worlds: int) -> pd.Series:
    """Mark intervals with low coverage, without those that have a reason."""
    return table["coverage"] < cells.lowest(LOW, n_worlds)


if __name__ == "__main__":
    by_name = {cell.name: cell for cell in CELLS}
    sys.exit(cells.count(__doc__, by_name, counted, beyond, worlds=60, full=1_000))
