"""Judge HUSE where the truth is known: ``python benchmarks/known_world.py [N] [SEED]``.

N outputs of each class (default 10,000) for every system of the world of reviews, 20 annotators.
Prints each estimate beside its true value, then, in the population (10,000 and 20,000 texts per
class), HUSE as 1, 20 and 500 annotators give it, and HUSE and both bounds of Theorem 1 over 20
crews. Says what does not hold; returns 1 if anything does not.
"""

import itertools
import sys

import numpy as np
import pandas as pd

import nlgbench as nb
from nlgbench.analysis.huse import SCORES, neighbors
from nlgbench.generators.reviews import review_grammar
from nlgbench.worlds import annotators, truth
from nlgbench.worlds import reviews as worlds

CREWS = (1, 20, 500)


def estimates(study: nb.Study) -> pd.DataFrame:
    """Estimate every system's scores, in HUSE's features and in the optimal ones."""
    rows = []
    for system in study.systems:
        found = nb.huse(study, systems=system, n_resamples=0).set_index("score")["estimate"]
        row = {"system": system, **found}
        row |= optimal(study, nb.boundary(study, system=system, n_grid=2).outputs, system)
        rows.append(row)
    return pd.DataFrame(rows)


def optimal(study: nb.Study, features: pd.DataFrame, system: str) -> dict[str, float]:
    """Score with (log p_ref, log p_model), infinities floored at one nat below the least."""
    under = study.logprobs[study.logprobs["model"] == system].set_index("output_id")["logprob"]
    texts = study.outputs.set_index("output_id").loc[features["output_id"], "text"].tolist()
    columns = []
    for logprob in (review_grammar().logprob(texts), under.loc[features["output_id"]].to_numpy()):
        finite = np.isfinite(logprob)
        floored = np.where(finite, logprob, logprob[finite].min() - 1)
        columns.append(floored / floored.std())
    points, is_machine = np.column_stack(columns), ~features["is_human"].to_numpy()
    k = round(np.sqrt(len(points)))
    return {"optimal": neighbors.sample_errors(points, True, is_machine, k)[0]}


def violations(table: pd.DataFrame, n: int) -> list[str]:
    """Say what does not hold."""
    wrong = []
    se = np.sqrt(2 * table["huse"].clip(0.02, 1) * (1 - table["huse"].clip(0.02, 0.98) / 2) / n)
    for system in table.loc[table["huse"] < table["l_star"] - 3 * se, "system"]:
        wrong.append(f"{system}: HUSE is below L* by more than 3 standard errors")
    for name, true, allowed in [
        ("optimal", "l_star", 0.05),
        ("huse_q", "huse_q_true", 0.12),
    ]:
        off = (table[name] - table[true]).abs()
        wrong += [
            f"{table.loc[at, 'system']}: {name} is {off[at]:.3f} from {true}"
            for at in off.index[off > allowed]
        ]
    for score in SCORES:
        for a in table.itertuples():
            for b in table.itertuples():
                gap = getattr(a, f"{score}_true") - getattr(b, f"{score}_true")
                if gap >= 0.15 and getattr(a, score) <= getattr(b, score):
                    wrong.append(f"{score} puts {b.system} above {a.system}")
    by = table.set_index("system")
    for name in by.index[by.index.str.startswith("memorizer")]:
        if by.loc[name, "huse_q"] < 0.85 or by.loc[name, "huse_d"] > 0.2:
            wrong.append(f"{name}: HUSE-Q or HUSE-D is not a memorizer's")
    if by.loc["corrupted_0.5", "huse_q"] > 0.65 or by.loc["corrupted_0.5", "huse_d"] < 0.95:
        wrong.append("corrupted_0.5: HUSE-Q or HUSE-D is not a corrupted grammar's")
    for kind in ("leaky", "trigram"):
        for lower in ("0.7", "0.5"):
            q, d = (by.loc[f"{kind}_t{lower}", s] - by.loc[f"{kind}_t1.0", s] for s in SCORES[1:])
            if q <= 0 or d >= 0:
                wrong.append(f"{kind}: from t = 1.0 to {lower} HUSE-Q changes {q:+.3f}, D {d:+.3f}")
    return wrong


def by_crew(n_texts: int, seed: int) -> pd.DataFrame:
    """Compute HUSE for crews of growing size, each with the smaller one in it, on the same texts.

    Nobody in the smallest is careless: of a crew of one who does not read, HUSE needs no judgment.
    """
    rng = np.random.default_rng([seed, 1])
    everyone = annotators.hire(max(CREWS), seed=rng)
    first = np.argsort(everyone.careless, kind="stable")[: CREWS[0]]
    order = np.append(first, np.delete(np.arange(max(CREWS)), first))
    human = review_grammar().sample(n_texts, seed=rng)
    rows = []
    for name, system in worlds.review_systems(seed=rng).items():
        drawn = system.sample(n_texts, seed=rng)
        draws = [worlds.review_draws(system, texts) for texts in (human, drawn)]
        row: dict[str, str | float] = {"system": name}
        for n in CREWS:
            crew = annotators.Crew(everyone.leniency[order[:n]], everyone.careless[order[:n]])
            scores = truth.population_scores(*draws, crew)
            row |= {f"huse_{n}": scores["huse"], f"se_{n}": scores["huse_se"]}
        rows.append(row | {"l_star": scores["l_star"]})
    return pd.DataFrame(rows)


def rises(table: pd.DataFrame) -> list[str]:
    """Say where more annotators raise HUSE by more than 3 standard errors."""
    wrong = []
    for few, many in itertools.pairwise(CREWS):
        rise = table[f"huse_{many}"] - table[f"huse_{few}"]
        # As if the errors of the two were independent: they share texts, so this is generous.
        allowed = 3 * np.hypot(table[f"se_{many}"], table[f"se_{few}"])
        wrong += [
            f"{table.loc[at, 'system']}: {many} annotators raise HUSE by {rise[at]:.4f} over {few}"
            for at in rise.index[rise > allowed + 1e-9]
        ]
    return wrong


def bounds_by_crew(n_texts: int, seed: int) -> pd.DataFrame:
    """Compute both bounds of Theorem 1 for crews of 20, on the same texts; the last is the world's.

    The world's crew of a seed is the one that `bounds.theorem_1` and `review_world` draw.
    """
    for_training, for_crew, for_humans, for_others = np.random.default_rng(seed).spawn(4)
    seeds = [*for_others.spawn(worlds.N_CREWS), for_crew]
    crews = [annotators.hire(20, seed=one) for one in seeds]
    human = review_grammar().sample(n_texts, seed=for_humans)
    rows = []
    for name, system in worlds.review_systems(seed=for_training).items():
        drawn = system.sample(n_texts, seed=for_others)
        draws = [worlds.review_draws(system, texts) for texts in (human, drawn)]
        for number, crew in enumerate(crews):
            of_crew = {"system": name, "crew": number, "n_careless": crew.careless.sum()}
            rows.append(of_crew | truth.theorem1_bound(*draws, crew))
    return pd.DataFrame(rows)


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    study = nb.simulate("reviews", n_outputs=n, n_truth=max(n, 20_000), seed=seed)
    true = study.truth["systems"].rename(columns={score: f"{score}_true" for score in SCORES})
    table = estimates(study).merge(true, on="system", validate="one_to_one")
    shown = ["system", "l_star", "optimal"]
    shown += [name for score in SCORES for name in (score, f"{score}_true")]
    print(f"{n:,} outputs per class, 20 annotators, seed {seed}\n")
    print(table[shown].round(3).to_string(index=False), "\n")
    wrong = violations(table, n)
    crews = by_crew(10_000, seed)
    print("HUSE in the population, by number of annotators")
    print(crews.round(4).to_string(index=False), "\n")
    bound = bounds_by_crew(20_000, seed)
    others = bound[bound["crew"] < worlds.N_CREWS]
    own = bound[bound["crew"] == worlds.N_CREWS].set_index("system")
    numbers = ["huse", "disagreement", "information", "upper", "slack"]
    spread = others.groupby("system", sort=False)[numbers].agg(["mean", "std", "min", "max"])
    print(f"Theorem 1 (I in bits), over {worlds.N_CREWS} crews")
    print(spread.round(3).to_string(), "\n")
    print(f"and for the crew of seed {seed}, {own['n_careless'].iloc[0]} of 20 careless")
    shown = ["l_star", "huse", "information", "information_se", "upper", "upper_se", "holds"]
    print(own[shown].round(4).to_string(), "\n")
    wrong += rises(crews)
    for row in bound[~bound["holds"].astype(bool)].itertuples():
        wrong.append(f"{row.system}: HUSE of crew {row.crew} breaks Theorem 1")
    print("\n".join(wrong) if wrong else "All that must hold does.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
