"""How often intervals of agreement hold: ``python benchmarks/agreement_coverage.py``.

Votes "real" or "fake" as in Judge the Judges: HITs of 20 outputs, half of them human, by annotators
who do no other HIT and share what makes an output typical; and ratings of 0 to 5 without HITs, by
one crew, where outputs are the clusters and the crew is given. Annotators are those of
`nlgbench.worlds.annotators`. What intervals should hold, for these systems over other outputs (and
annotators, where there are HITs):

- accuracy (each vote, and majorities), percent agreement, Fleiss' kappa and Krippendorff's alpha:
  what one study of 20,000 outputs of each system gives;
- ordinal and interval alpha of scales with many values: those of the population. Outputs,
  annotators and the rest are normal, on a scale of 0 to 100 or cut to five points; annotators'
  severity has half the outputs' standard deviation. Where annotators are given they stay in all
  worlds of a cell, and what 20,000 outputs give is true; every judgment can be missing (10%);
- split-half correlations: their expectation at this number of outputs and annotators, the mean over
  worlds. The ceiling is also set beside what it estimates: the correlation of the panel's means
  with those of infinitely many annotators, over the same outputs.

The width is set beside an oracle's: 1.96 standard deviations of the estimate over worlds.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from nlgbench.analysis.people import accuracy, agreement, split_half
from nlgbench.analysis.people.coefficients import Judged, interval_over, sums_of
from nlgbench.analysis.people.reliability import COEFFICIENTS
from nlgbench.study import Study
from nlgbench.worlds import annotators

LOW, HIGH = 0.93, 0.97
HUMAN = 2.6  # mean typicality of human texts; an output is real to an annotator above 2
SPREAD = 0.8


@dataclass(frozen=True)
class Cell:
    """A layout: systems by their mean typicality."""

    name: str
    systems: tuple[float, ...]
    n_outputs: int
    n_votes: int
    per_hit: int = 20
    whole_numbers: bool = False
    splits: bool = False


CELLS = (
    Cell("60 HITs", (2.5, 1.2, 0.3), 200, 5),
    Cell("15 HITs", (2.5, 1.2, 0.3), 50, 5),
    Cell("60 HITs, 3 votes", (2.5, 1.2, 0.3), 200, 3),
    Cell("100 outputs, ratings", (2.5, 1.2, 0.3), 100, 3, whole_numbers=True),
    Cell("30 outputs, ratings", (2.5, 1.2, 0.3), 30, 3, whole_numbers=True),
    Cell("12 systems, 120 HITs", tuple(np.linspace(0.5, 2.7, 12)), 100, 5, splits=True),
    Cell("12 systems, 36 HITs", tuple(np.linspace(0.5, 2.7, 12)), 30, 5, splits=True),
    Cell("12 alike, 120 HITs", tuple(np.linspace(1.5, 2.0, 12)), 100, 5, splits=True),
    Cell(
        "12 systems, ratings by 20",
        tuple(np.linspace(0.5, 2.7, 12)),
        100,
        20,
        whole_numbers=True,
        splits=True,
    ),
)


@dataclass(frozen=True)
class Scale:
    """A layout of annotators who all judge every output, but for what is missing."""

    name: str
    n_outputs: int
    n_annotators: int
    n_points: int
    missing: float = 0.0
    given: bool = True  # annotators are the same in all worlds


SCALES = (
    Scale("100 outputs by 3, 0 to 100", 100, 3, 101, missing=0.1),
    Scale("30 outputs by 3, 0 to 100", 30, 3, 101, missing=0.1),
    Scale("100 outputs by 3, 5 points", 100, 3, 5, missing=0.1),
    Scale("30 outputs by 3, 5 points", 30, 3, 5, missing=0.1),
    Scale("60 outputs by 2, 5 points", 60, 2, 5, missing=0.1),
    Scale("60 outputs by 5, 5 points", 60, 5, 5, missing=0.1),
    Scale("100 outputs by 20, 0 to 100", 100, 20, 101, missing=0.1),
    Scale("30 outputs by 20, 0 to 100", 30, 20, 101, missing=0.1),
    Scale("100 outputs by 20, 5 points", 100, 20, 5, missing=0.1),
    Scale("30 outputs by 20, 5 points", 30, 20, 5, missing=0.1),
    Scale("100 outputs by 20, others, 0 to 100", 100, 20, 101, given=False),
    Scale("100 outputs by 12, others, 5 points", 100, 12, 5, given=False),
)
SEVERITY, REST = 0.5, 1.0  # standard deviations, those of outputs being 1


def rated(cell: Scale, severity: np.ndarray, rng: np.random.Generator) -> Study:
    """Draw outputs and what annotators of a severity say of them."""
    shape = cell.n_outputs, len(severity)
    felt = rng.normal(size=(shape[0], 1)) + severity + REST * rng.normal(size=shape)
    points = np.clip(np.round((felt / 3 + 1) / 2 * (cell.n_points - 1)), 0, cell.n_points - 1)
    ids = np.array([f"o{n:05d}" for n in range(shape[0])])
    # Of one row of results less than any other system.
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids, "system": "human"})
    judgments = pd.DataFrame(
        {
            "output_id": np.repeat(ids, shape[1]),
            "annotator_id": np.tile([f"w{n}" for n in range(shape[1])], shape[0]),
            "value": points.ravel(),
        }
    )
    return Study(outputs, judgments[rng.random(points.size) >= cell.missing])


def agreement_on(cell: Scale, study: Study) -> pd.DataFrame:
    """Make all coefficients of a world that its cell is about."""
    metrics = ("interval",) if cell.n_points > 30 else ("ordinal", "interval")
    fixed = cell.given or len(study.judgments) > 100_000
    tables = []
    for metric in metrics:
        table = agreement(study, metric=metric, annotators="fixed" if fixed else "random")
        alpha = table["coefficient"] == "krippendorff_alpha"
        tables.append(table[alpha].assign(of=f"alpha, {metric}"))
    others = table[~alpha & table["estimate"].notna()]
    whole = pd.concat([*tables, others.assign(of=others["coefficient"])], ignore_index=True)
    return whole[whole["row"] == "all"]


def measure_scale(cell: Scale, n_worlds: int, seed: int) -> pd.DataFrame:
    """Make the intervals of a cell of `SCALES`, with what they should hold."""
    rng = np.random.default_rng([seed, cell.n_outputs, cell.n_annotators, cell.n_points])
    crew = SEVERITY * rng.normal(size=cell.n_annotators)
    found = []
    for number in range(n_worlds):
        own = crew if cell.given else SEVERITY * rng.normal(size=cell.n_annotators)
        found.append(agreement_on(cell, rated(cell, own, rng)).assign(world=number))
    whole = pd.concat(found, ignore_index=True)
    many = replace(cell, n_outputs=20_000 if cell.given else 2_000)
    if not cell.given:  # annotators without end
        many = replace(many, n_annotators=400)
        crew = SEVERITY * rng.normal(size=many.n_annotators)
        crew = (crew - crew.mean()) / crew.std() * SEVERITY
    true = agreement_on(many, rated(many, crew, rng)).set_index("of")["estimate"].to_dict()
    return whole.assign(true=whole["of"].map(true), row="")


def drawn(
    cell: Cell, one: annotators.Crew, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Draw outputs, judgments, all values as (outputs, annotators), and how typical outputs are."""
    names = [f"s{n:02d}" for n in range(len(cell.systems))]
    n_fake = len(names) * cell.n_outputs
    mean = np.concatenate([np.full(n_fake, HUMAN), np.repeat(cell.systems, cell.n_outputs)])
    system = np.concatenate([np.full(n_fake, "human"), np.repeat(names, cell.n_outputs)])
    half, n_hits = cell.per_hit // 2, 2 * n_fake // cell.per_hit
    rows = [rng.permutation(n_fake) + start for start in (0, n_fake)]
    order = np.hstack([own.reshape(n_hits, half) for own in rows]).ravel()
    system, typical = system[order], mean[order] + SPREAD * rng.normal(size=2 * n_fake)
    hit = np.repeat(np.arange(n_hits), cell.per_hit)
    if cell.whole_numbers:  # one crew judges everything
        values = annotators.judge(one, typical, seed=rng)
    else:
        crew = annotators.hire(n_hits * cell.n_votes, seed=rng)
        leniency = crew.leniency.reshape(n_hits, -1)[hit]
        felt = typical[:, None] + leniency
        felt += rng.normal(0, annotators.NOISE_SD, size=felt.shape)
        careless = crew.careless.reshape(n_hits, -1)[hit]
        values = np.where(careless, rng.integers(2, size=felt.shape), felt > annotators.REAL_ABOVE)
    ids = np.array([f"o{n:05d}" for n in range(len(order))])
    outputs = pd.DataFrame(
        {
            "output_id": ids,
            "item_id": ids,
            "system": system,
            "text": "",
            "is_human": system == "human",
            "context": "",
        }
    )
    who = np.arange(cell.n_votes)[None] + (0 if cell.whole_numbers else cell.n_votes * hit[:, None])
    judgments = pd.DataFrame(
        {
            "output_id": np.repeat(ids, cell.n_votes),
            "annotator_id": np.broadcast_to(who, values.shape).ravel().astype(str),
            "dimension": "quality",
            "value": values.ravel().astype(float),
            "group_id": "" if cell.whole_numbers else np.repeat(hit, cell.n_votes).astype(str),
        }
    )
    return outputs, judgments, values, typical


def expectation(cell: Cell, typical: np.ndarray, seed: int = 1) -> np.ndarray:
    """Average what 4,000 annotators say of outputs."""
    grid = np.linspace(-4, 7, 221)
    dimension = "typicality" if cell.whole_numbers else "real_or_fake"
    crew = annotators.hire(4_000, seed=seed)
    mean = annotators.judge(crew, grid, dimension=dimension, seed=seed).mean(axis=1)
    return np.interp(typical, grid, mean)


def truth(
    cell: Cell, crew: annotators.Crew, rng: np.random.Generator
) -> dict[tuple[str, str], float]:
    """Compute every coefficient on many outputs, by row of the results."""
    outputs, _, values, _ = drawn(replace(cell, n_outputs=20_000), crew, rng)
    kind, human = outputs["system"].to_numpy(), outputs["is_human"].to_numpy()
    chosen = {"all": kind != "", "real": human, "fake": ~human}
    chosen |= {name: kind == name for name in np.unique(kind[~human])}
    right = values == human[:, None]
    metric = "interval" if cell.whole_numbers else "nominal"
    found = {}
    for name, rows in chosen.items():
        found[name, "accuracy, votes"] = right[rows].mean()
        found[name, "accuracy, majority"] = (right[rows].mean(axis=1) > 0.5).mean()
        part = values[rows]
        unit = np.repeat(np.arange(len(part)), part.shape[1])
        for coefficient in COEFFICIENTS:
            values = part.ravel().astype(float)
            sums = sums_of(coefficient, metric, values, np.unique(values), unit)
            judged = Judged(unit, 0 * unit, np.unique(unit)[:, None])
            one = interval_over(judged, sums, len(part), over_annotators=False)
            found[name, coefficient] = one["estimate"]
    return found


def measure(cell: Cell, n_worlds: int, seed: int) -> pd.DataFrame:
    """Make the intervals of a cell: a row per world and estimate, with what they should hold."""
    rng = np.random.default_rng([seed, len(cell.systems), cell.n_outputs, cell.n_votes])
    crew = annotators.hire(cell.n_votes, seed=rng)
    found = []
    for number in range(n_worlds):
        outputs, judgments, values, typical = drawn(cell, crew, rng)
        given = Study(outputs, judgments)
        if cell.splits:
            tables = [splits_of(cell, given, values, typical, rng)]
        else:
            metric = "interval" if cell.whole_numbers else "nominal"
            table = agreement(given, metric=metric, dimension="quality")
            tables = [table.assign(of=table["coefficient"])]
            for rule in ("votes", "majority") if not cell.whole_numbers else ():
                table = accuracy(given, rule=rule, dimension="quality")
                tables.append(table.assign(of="accuracy, " + rule))
        found += [table.assign(world=number) for table in tables]
    whole = pd.concat(found, ignore_index=True)
    if cell.splits:
        return whole.assign(true=whole.groupby("of")["estimate"].transform("mean"), row="")
    true = truth(cell, crew, rng)
    return whole.assign(true=[true[key] for key in zip(whole["row"], whole["of"], strict=True)])


def splits_of(
    cell: Cell,
    given: Study,
    values: np.ndarray,
    typical: np.ndarray,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Correlate halves, and panels with what infinitely many annotators would say."""
    outputs = given.outputs
    table = split_half(given, dimension="quality", n_splits=50, n_resamples=100, seed=rng)
    table["of"] = table["unit"] + " " + table["quantity"]
    means = pd.DataFrame({"panel": values.mean(axis=1), "all": expectation(cell, typical)})
    means = means[~outputs["is_human"]]
    system = outputs.loc[~outputs["is_human"], "system"]
    for unit, rows in (("system", means.groupby(system).mean()), ("output", means)):
        of = table["of"] == f"{unit} ceiling"
        table.loc[of, "ideal"] = rows["panel"].corr(rows["all"])
    return table


def report(found: pd.DataFrame) -> pd.DataFrame:
    found = found.assign(
        marked=found["reason"] != "",
        held=(found["ci_low"] <= found["true"]) & (found["true"] <= found["ci_high"]),
        half=(found["ci_high"] - found["ci_low"]) / 2,
    )
    clear = ~found["marked"]
    found[["held", "half"]] = found[["held", "half"]].where(clear).astype(float)
    if "ideal" not in found:
        found["ideal"] = np.nan
    table = found.groupby(["of", "row"], sort=False).agg(
        true=("true", "mean"),
        ideal=("ideal", "mean"),
        mean=("estimate", "mean"),
        sd=("estimate", "std"),
        coverage=("held", "mean"),
        n=("held", "count"),
        marked=("marked", "mean"),
        width=("half", "median"),
    )
    table["width"] /= 1.959964 * table["sd"]
    table.insert(5, "se", np.sqrt(table["coverage"] * (1 - table["coverage"]) / table.pop("n")))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--cell", help="those whose name starts so")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    off = []
    for cell in (*CELLS, *SCALES):
        if args.cell and not cell.name.startswith(args.cell):
            continue
        start = time.process_time()
        measured = measure_scale if isinstance(cell, Scale) else measure
        table = report(measured(cell, args.worlds, args.seed))
        seconds = time.process_time() - start
        print(f"{cell.name}\n{table.round(3).to_string()}\n{seconds:.0f} s\n", flush=True)
        outside = table[~table["coverage"].between(LOW, HIGH) & table["coverage"].notna()]
        off.append(outside.assign(cell=cell.name))
    outside = pd.concat(off)
    print(f"Outside {LOW} to {HIGH}:\n{outside.round(3).to_string()}")
    return int((outside["coverage"] < LOW - 0.03).any())


if __name__ == "__main__":
    sys.exit(main())
