"""What models of annotators are worth: ``python benchmarks/annotator_models.py --worlds 100``.

In worlds whose true classes and annotators are known (`nlgbench.worlds.labels`): the share of
outputs rightly labelled by each way, beside the majority's. Then the time of both models beside a
plain loop over judgments, after the two gave equal results.
"""

import argparse
import math
import time
from typing import Any

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.people import aggregate_judgments
from nlgbench.analysis.people import annotator_models as models

METHODS = ("majority", "dawid_skene", "mace")
SKEWED = {"sys_a": (0.95, 0.05), "sys_b": (0.9, 0.1)}
THREE = {"sys_a": (0.6, 0.3, 0.1), "sys_b": (0.3, 0.4, 0.3)}
CELLS: dict[str, dict[str, Any]] = {
    "30 annotators, 67 votes each": {},
    "the same, no spammers": {"spammers": 0.0},
    "the same, half are spammers": {"spammers": 0.5},
    "skewed classes": {"systems": SKEWED, "n_items": 200},
    "three classes": {"systems": THREE, "n_items": 200},
    "20 votes each, any outputs": {"n_annotators": 100},
    "5 votes each, any outputs": {"n_annotators": 400},
    "HITs of 20, five each": {"per_hit": 20},
    "three votes on an output": {"n_votes": 3},
    "15% of outputs mislead everybody": {"misleading": 0.15},
}


def measured(world: dict[str, Any], seed: int) -> list[dict]:
    """Aggregate one world in each way: share right (ties half), and biases."""
    study = nb.simulate("labels", seed=seed, **world)
    truth = dict(study.truth or {})
    true_label = truth["outputs"].set_index("output_id")["label"]
    shares = (
        truth["systems"]
        .set_index("system")
        .melt(ignore_index=False, var_name="value", value_name="true")
    )
    shares = shares.reset_index().assign(value=lambda rows: rows["value"].astype(float))
    rows = []
    for method in METHODS:
        found = aggregate_judgments(study, method=method, seed=seed)
        labels = found.outputs["label"]
        right = (labels == found.outputs["output_id"].map(true_label)) + 0.5 * labels.isna()
        row = {"method": method, "right": right.mean()}
        systems = found.systems.merge(shares, on=["system", "value"])
        systems = systems[systems["value"] > 0]
        row["bias"] = (systems["estimate"] - systems["true"]).mean()
        people = found.annotators.merge(
            truth["annotators"], on="annotator_id", suffixes=("", "_true")
        )
        row["people_bias"] = (people["accuracy"] - people["accuracy_true"]).mean()
        rows.append(row)
    return rows


def told(values: pd.Series) -> str:
    """Write a mean with its standard error over worlds."""
    if values.isna().all():
        return ""
    return f"{values.mean():.3f} ({values.std() / math.sqrt(len(values)):.3f})"


def plain_loop(rows: pd.DataFrame, n_iterations: int) -> pd.DataFrame:
    """Fit Dawid and Skene's model judgment by judgment, from the shares of votes."""
    votes = list(rows[["output_id", "annotator_id", "value"]].itertuples(index=False, name=None))
    values = sorted({value for _, _, value in votes})
    posterior: dict[str, dict[float, float]] = {}
    for output, _, value in votes:
        posterior.setdefault(output, dict.fromkeys(values, 0.0))[value] += 1
    for of in posterior.values():
        total = sum(of.values())
        of.update({value: share / total for value, share in of.items()})
    for _ in range(n_iterations):
        sums: dict[tuple, float] = {}
        for output, annotator, said in votes:
            for value in values:
                key = (annotator, value, said)
                sums[key] = sums.get(key, 0.0) + posterior[output][value]
        people = {annotator for _, annotator, _ in votes}
        chance = {}
        for annotator in people:
            for value in values:
                cells = [max(sums.get((annotator, value, said), 0), 1e-10) for said in values]
                for said, cell in zip(values, cells, strict=True):
                    chance[annotator, value, said] = math.log(cell / sum(cells))
        prior = {
            value: sum(of[value] for of in posterior.values()) / len(posterior) for value in values
        }
        joint = {
            output: {value: math.log(max(prior[value], 1e-10)) for value in values}
            for output in posterior
        }
        for output, annotator, said in votes:
            for value in values:
                joint[output][value] += chance[annotator, value, said]
        for output, of in joint.items():
            most = max(of.values())
            total = sum(math.exp(one - most) for one in of.values())
            posterior[output] = {value: math.exp(one - most) / total for value, one in of.items()}
    return pd.DataFrame(posterior).T


def speed() -> None:
    """Time one fit beside the plain loop, with equal results first."""
    for n_items in (100, 1_000, 10_000):
        study = nb.simulate("labels", n_items=n_items, n_annotators=30, seed=1)
        aggregate_judgments(study, method="majority")  # what is imported at the first call
        start = time.perf_counter()
        found = aggregate_judgments(study, method="dawid_skene")
        ours = time.perf_counter() - start
        votes = models._votes(study, study.dimension())
        counts = votes.by_value()
        n_iterations = models.converge(
            votes.said, counts / counts.sum(axis=1, keepdims=True)
        ).n_steps
        line = f"{len(study.judgments):,} judgments: {ours:.3f} s, {n_iterations} iterations"
        if n_items <= 1_000:
            start = time.perf_counter()
            loop = plain_loop(study.judgments, n_iterations)
            theirs = time.perf_counter() - start
            both = found.outputs.set_index("output_id")[["p_0", "p_1"]]
            gap = np.abs(both.to_numpy() - loop.loc[both.index].to_numpy()).max()
            assert gap < 1e-9, gap
            line += f"; plain loop {theirs:.2f} s, {theirs / ours:.0f} times; gap {gap:.0e}"
        print(line, flush=True)


def main() -> None:
    """Print a line per layout and method, then times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100, help="0: times alone")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name, world in CELLS.items() if asked.worlds else ():
        rows = [
            row for one in range(asked.worlds) for row in measured(world, 1000 * asked.seed + one)
        ]
        table = pd.DataFrame(rows)
        table["world"] = np.arange(len(table)) // len(METHODS)
        wide = table.pivot(index="world", columns="method", values="right")
        for method in METHODS:
            part = table[table["method"] == method]
            cells = [told(part["right"]), told(wide[method] - wide["majority"])]
            cells += [told(part["bias"]), told(part["people_bias"])]
            print(f"| {name} | {method} | " + " | ".join(cells) + " |", flush=True)
    speed()


if __name__ == "__main__":
    main()
