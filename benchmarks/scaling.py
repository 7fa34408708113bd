"""Measure how far one core goes: ``python benchmarks/scaling.py texts`` or ``analyses``.

Everything runs in child processes, so that the peak of memory is theirs. Seconds are processor time
(user and system) of the call alone, for the machine may have other work; making the data is in the
peak, not in the seconds. See docs/scaling.md.
"""

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.generators.reviews import review_grammar

SECONDS, GIB = 600, 8  # the limits that sizes are given for
N_SYSTEMS = 12


class Case(NamedTuple):
    """What is measured, at which size first, on what data."""

    name: str
    unit: str
    start: int
    make: Callable[[int], Any]
    call: Callable[[Any], object]


def reviews(n: int, *, first: int = 0, references: bool = True) -> nb.Study:
    """Draw reviews of two systems, each with two references."""
    texts = review_grammar().sample(n, seed=first)
    ids = [f"{at:09d}" for at in range(first, first + n)]
    systems = np.where(np.arange(n) % 2, "a", "b")
    outputs = pd.DataFrame({"output_id": ids, "item_id": ids, "system": systems, "text": texts})
    if not references:
        return nb.Study(outputs)
    others = review_grammar().sample(2 * n, seed=first + 1)
    named = {"item_id": ids * 2, "reference_id": np.repeat(["r1", "r2"], n), "text": others}
    return nb.Study(outputs, references=pd.DataFrame(named))


def judged(n: int, *, n_evaluators: int = 5, n_votes: int = 1) -> nb.Study:
    """Draw n judged outputs of twelve systems, and scores that go with the judgments."""
    rng = np.random.default_rng(0)
    ids = np.array([f"{at}" for at in range(n)])
    system = np.arange(n) % N_SYSTEMS
    outputs = pd.DataFrame({"output_id": ids, "item_id": (np.arange(n) // N_SYSTEMS).astype(str)})
    outputs["system"] = [f"s{one:02d}" for one in system]
    quality = rng.normal(size=n) + system / N_SYSTEMS
    scores = [
        pd.DataFrame(
            {"output_id": ids, "evaluator": f"e{at}", "score": quality + rng.normal(size=n)}
        )
        for at in range(n_evaluators)
    ]
    votes = [
        pd.DataFrame({"output_id": ids, "annotator_id": f"w{at}", "value": drawn})
        for at, drawn in enumerate((quality + rng.normal(size=(n_votes, n)) > 0).astype(float))
    ]
    return nb.Study(outputs, pd.concat(votes), scores=pd.concat(scores))


def games(n: int) -> nb.Study:
    """Draw n comparisons of outputs of twelve systems."""
    rng = np.random.default_rng(0)
    study = judged(max(n // 5, 24))
    a = rng.integers(len(study.outputs), size=2 * n)
    b = rng.integers(len(study.outputs), size=2 * n)
    played = pd.DataFrame({"a": a, "b": b})[a % N_SYSTEMS != b % N_SYSTEMS].drop_duplicates()[:n]
    ids = study.outputs["output_id"].to_numpy()
    better = rng.uniform(size=len(played))
    comparisons = pd.DataFrame({"output_a": ids[played["a"]], "output_b": ids[played["b"]]})
    rest = {"comparator": "c", "prob_a": better, "prob_tie": 0.0, "prob_b": 1 - better}
    return study.replace(comparisons=comparisons.assign(**rest))


def colors(n: int) -> tuple[nb.Study, object]:
    rounds = {"train": 300, "dev": 100, "test": 10}
    study = nb.simulate("colors", seed=0, n_contexts=n, n_rounds=rounds)
    (listener,) = nb.train_listeners(study, ["literal"], epochs=1, units=100).values()
    return study, listener


def texts_to_compare(n: int) -> pd.DataFrame:
    study = nb.simulate("crowd", seed=0, n_truth=0, n_outputs=500)
    return nb.supervise(study, kinds=["strong"], n=n, seed=0)


def correlated(n_resamples: int) -> object:
    return nb.correlate(judged(1_200), n_resamples=n_resamples)


def in_system(n: int) -> nb.Study:
    return nb.simulate("gaussian", seed=0, systems={"a": (0.5, 0.5)}, n_outputs=n, n_annotators=2)


ANALYSES = (
    Case("`huse`, 1,000 resamples", "outputs of each class", 200, in_system, nb.huse),
    Case("`correlate`, systems", "outputs", 30_000, judged, nb.correlate),
    Case(
        "`correlate`, outputs",
        "outputs",
        9_000,
        judged,
        lambda study: nb.correlate(study, granularity="output"),
    ),
    Case(
        "`correlate`, items",
        "outputs",
        12_000,
        judged,
        lambda study: nb.correlate(study, granularity="item"),
    ),
    Case("`correlate`, 1,200 outputs", "resamples", 20_000, int, correlated),
    Case(
        "`compare_evaluators`, 600 outputs",
        "evaluators",
        15,
        lambda n: judged(600, n_evaluators=n),
        nb.compare_evaluators,
    ),
    Case("`rate`, Bradley-Terry", "games", 60_000, games, nb.rate),
    Case(
        "`rate`, Glicko-2", "games", 60_000, games, lambda study: nb.rate(study, method="glicko2")
    ),
    Case(
        "`agreement`, 5 votes",
        "outputs",
        30_000,
        lambda n: judged(n, n_votes=5),
        nb.agreement,
    ),
    Case(
        "`diversity`, 200 resamples",
        "outputs",
        1_000,
        lambda n: reviews(n, references=False),
        nb.diversity,
    ),
    Case(
        "`score`, a literal listener",
        "outputs",
        500,
        colors,
        lambda data: nb.score(data[0], data[1:]),
    ),
    Case(
        "`train_comparator`, TF-IDF",
        "pairs",
        1_000,
        texts_to_compare,
        lambda pairs: nb.train_comparator(pairs, backend="tfidf"),
    ),
)  # fmt: skip

#: What texts are scored by, and whether it needs references.
SCORED = {
    "Self-BLEU-4": (["minus_self_bleu_4"], False),
    "ROUGE-L and CIDEr-D": (["rouge_l", "cider_d"], True),
    "BLEU-4 and chrF": (["bleu_4", "chrf"], True),
}


def scored(name: str) -> Case:
    names, references = SCORED[name]
    return Case(
        name,
        "texts",
        0,
        lambda n: reviews(n, references=references),
        lambda study: nb.score(study, names),
    )


CASES = {case.name: case for case in (*ANALYSES, *map(scored, SCORED))}


def run(name: str, n: int) -> None:
    """Run a case in this process, and print what it took as JSON."""
    case = CASES[name]
    data = case.make(n)
    begin = time.process_time()
    case.call(data)
    seconds = time.process_time() - begin
    unit = 2 ** (30 if sys.platform == "darwin" else 20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "gib": peak / unit}))


def measure(name: str, n: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--run", name, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def growing(case: Case, seconds: float) -> Iterator[tuple[int, dict[str, float]]]:
    """Measure three sizes and more, each three times the last, until one takes long enough."""
    n, done = case.start, 0
    while True:
        found = measure(case.name, n)
        yield n, found
        done += 1
        if done >= 3 and found["seconds"] > seconds:
            return
        n *= 3


def reached(sizes: list[int], values: list[float], limit: float) -> tuple[float, float]:
    """Fit the power of the last two sizes; give it, and the size at which the limit is reached."""
    power = math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])
    return power, sizes[-1] * (limit / values[-1]) ** (1 / power) if power > 0.05 else math.inf


def analyses(seconds: float) -> None:
    print("| analysis | size | measured | power | 10 minutes at | 8 GiB at |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for case in ANALYSES:
        found = dict(growing(case, seconds))
        sizes = list(found)
        power, at_time = reached(sizes, [one["seconds"] for one in found.values()], SECONDS)
        _, at_memory = reached(sizes, [one["gib"] for one in found.values()], GIB)
        shown = "; ".join(
            f"{n:,}: {one['seconds']:.1f} s, {one['gib']:.2f} GiB" for n, one in found.items()
        )
        limits = [f"{at:.1e}" if at < math.inf else "" for at in (at_time, at_memory)]
        print(f"| {case.name} | {case.unit} | {shown} | {power:.2f} | {' | '.join(limits)} |")
        sys.stdout.flush()


def texts(largest: int) -> None:
    print("| what | texts | s | GiB |")
    print("| --- | ---: | ---: | ---: |")
    for name in SCORED:
        for n in (n for n in (10_000, 100_000) if n <= largest):
            found = measure(name, n)
            print(f"| {name} | {n:,} | {found['seconds']:.2f} | {found['gib']:.2f} |")
            sys.stdout.flush()


def main() -> None:
    match sys.argv[1:]:
        case ["--run", name, n]:
            run(name, int(n))
        case ["texts", *largest]:
            texts(int(largest[0]) if largest else 100_000)
        case ["analyses", *seconds]:
            analyses(float(seconds[0]) if seconds else 20)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
