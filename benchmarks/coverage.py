"""How often intervals hold what they should: ``python benchmarks/coverage.py``, some minutes.

Studies of 100 outputs per class, three systems and 20 annotators, from three worlds: two Gaussian
classes; the same where half of the variance of quality is the item's; and reviews, rated with whole
numbers from 0 to 5.

Intervals over outputs and items, and of the difference of two systems, should hold the
expectation of the score at this size, over studies: HUSE of finitely many outputs with a fixed k is
biased against its limit, and no resampling of one study takes that out. In the world of reviews
that is also over crews, whose leniency such intervals do not see. The expectation is the mean over
studies of their own, with another seed. Intervals over annotators should hold the expectation
over crews of 20 with this study's outputs: the mean over other crews, for each study its own.

Way, in the tables: half-samples with the same k (the default), of outputs with k halved so that a
neighborhood holds the same share; and the naive bootstrap: of outputs, with replacement,
stratified by class.
"""

import argparse
import sys

import numpy as np
import pandas as pd

from nlgbench import annotators, tables, worlds
from nlgbench.analysis.huse import SCORES, HuseResult, huse
from nlgbench.analysis.huse.neighbors import leave_one_out, twice_error
from nlgbench.analysis.huse.replicates import MAPS, annotator_replicates, output_replicates
from nlgbench.analysis.huse.uncertainty import huse_difference
from nlgbench.analysis.resampling import half_samples, interval
from nlgbench.generators.reviews import review_grammar

REQUIRED = 0.90
N_ANNOTATORS = 20
TRAINING_SEED = 7  # the systems that are trained are the same in all studies
REVIEWS = worlds.review_systems(["leaky_t1.0", "leaky_t0.7", "trigram_t0.7"], seed=TRAINING_SEED)
GAUSSIAN, SHARED, DISCRETE = "Gaussian", "Gaussian, shared by item", "reviews"
SYSTEMS = {
    GAUSSIAN: list(worlds.ANNEALED),
    SHARED: list(worlds.ANNEALED),
    DISCRETE: list(REVIEWS),
}


def study_of(world: str, rng: np.random.Generator, n_annotators: int) -> tables.Study:
    if world == DISCRETE:
        return worlds.review_world(
            systems=REVIEWS, n_annotators=n_annotators, n_truth=0, seed=rng
        ).study
    shared = 0.5 if world == SHARED else 0.0
    return worlds.gaussian_world(n_annotators=n_annotators, shared_by_item=shared, seed=rng).study


def results(study: tables.Study) -> dict[str, HuseResult]:
    assert study.logprobs is not None
    names = study.logprobs["model"].unique()
    return {
        name: huse(study.outputs, study.logprobs, study.judgments, system=name) for name in names
    }


def pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(names[0], name) for name in names[1:]]


def bootstrap(result: HuseResult, n_resamples: int, rng: np.random.Generator) -> pd.DataFrame:
    """Resample outputs with replacement: copies of an output are among its own neighbors."""
    is_machine = ~result.features["is_human"].to_numpy()
    classes = [np.flatnonzero(is_machine == kind) for kind in (False, True)]
    rows = []
    for _ in range(n_resamples):
        drawn = np.concatenate([rng.choice(one, len(one)) for one in classes])
        label = is_machine[drawn]
        rows.append(
            {
                name: twice_error(
                    *leave_one_out(result.features[columns].to_numpy()[drawn], label, 16), label
                )
                for name, columns in MAPS.items()
            }
        )
    table = pd.DataFrame(rows)
    return table.assign(huse_d=1 + table["huse"] - table["huse_q"])


def expectations(world: str, n: int, seed: int) -> pd.DataFrame:
    """Score studies of their own: mean, its standard error, and spread, per system and pair."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        found = results(study_of(world, rng, N_ANNOTATORS))
        by = {name: {score: getattr(one, score) for score in SCORES} for name, one in found.items()}
        for a, b in pairs(SYSTEMS[world]):
            by[f"{a} - {b}"] = {score: by[a][score] - by[b][score] for score in SCORES}
        rows.append(pd.DataFrame(by).rename_axis("score").unstack())
    table = pd.DataFrame(rows)
    return table.agg(["mean", "sem", "std"]).T.rename_axis(["system", "score"])


def over_outputs(
    world: str, n_studies: int, n_resamples: int, n_bootstrap: int, seed: int
) -> pd.DataFrame:
    """Make intervals over outputs, items and of differences."""
    rng = np.random.default_rng([seed, 1])
    rows = []
    for _ in range(n_studies):
        study = study_of(world, rng, N_ANNOTATORS)
        for system, result in results(study).items():
            label, item = result.features["is_human"], result.features["item_id"]
            members = half_samples(label, n_resamples=n_resamples, seed=rng)
            whole = half_samples(label, clusters=item, n_resamples=n_resamples, seed=rng)
            found = {
                "outputs": output_replicates(result, members),
                "items": output_replicates(result, whole),
            }
            if world == GAUSSIAN:
                found["outputs, k = 8"] = output_replicates(result, members, n_neighbors=8)
                found["outputs, bootstrap"] = bootstrap(result, n_bootstrap, rng)
            for way, replicates in found.items():
                for score in SCORES:
                    own = dict(interval(replicates[score], getattr(result, score)))
                    if way == "outputs, bootstrap":
                        own["ci_low"], own["ci_high"] = replicates[score].quantile([0.025, 0.975])
                        own["se"] = replicates[score].std()
                    rows.append({"way": way, "system": system, "score": score} | own)
        for a, b in pairs(SYSTEMS[world]):
            table = huse_difference(
                study.outputs,
                study.logprobs,
                study.judgments,
                system_a=a,
                system_b=b,
                n_resamples=n_resamples,
                seed=rng,
            )
            rows += table.assign(way="difference, items", system=f"{a} - {b}").to_dict("records")
    return pd.DataFrame(rows)


def over_annotators(
    world: str, n_studies: int, n_resamples: int, n_crews: int, seed: int
) -> pd.DataFrame:
    """Make intervals over annotators, and find the expectation over crews for the same outputs."""
    rng = np.random.default_rng([seed, 2])
    rows = []
    for _ in range(n_studies):
        # In the Gaussian world any 20 of its annotators are a crew; texts can be judged anew.
        n_in_all = N_ANNOTATORS if world == DISCRETE else N_ANNOTATORS * (1 + n_crews)
        study = study_of(world, rng, n_in_all)
        ids = study.outputs["output_id"]
        if world == DISCRETE:
            texts = study.outputs["text"].tolist()
            per_token = review_grammar().logprob(texts) / annotators.n_tokens(texts)
            typical = annotators.typicality(per_token)
            crews = [annotators.hire(N_ANNOTATORS, seed=rng) for _ in range(n_crews)]
            means = [annotators.judge(crew, typical, seed=rng).mean(axis=1) for crew in crews]
            first = study.judgments
        else:
            order = study.judgments["output_id"].to_numpy().reshape(len(ids), n_in_all)
            assert (order == ids.to_numpy()[:, None]).all()
            values = study.judgments["value"].to_numpy().reshape(len(ids), -1, N_ANNOTATORS)
            means = list(values.mean(axis=2).T[1:])
            first = study.judgments.groupby("output_id", sort=False).head(N_ANNOTATORS)
        for system in SYSTEMS[world]:
            result = huse(study.outputs, study.logprobs, first, system=system)
            replicates = annotator_replicates(
                result,
                first,
                lambda groups: half_samples(groups, n_resamples=n_resamples, seed=rng),
            )
            found = pd.DataFrame(
                [
                    {"score": score} | interval(replicates[score], getattr(result, score))
                    for score in SCORES
                ]
            )
            others = rejudged(result, pd.DataFrame(means, columns=ids.to_numpy()))
            others = others.agg(["mean", "sem", "std"]).T.rename_axis("score").reset_index()
            rows.append(found.merge(others, on="score").assign(way="annotators", system=system))
    return pd.concat(rows, ignore_index=True)


def rejudged(result: HuseResult, means: pd.DataFrame) -> pd.DataFrame:
    """Score a study's outputs with other mean judgments, a row per crew."""
    features = result.features
    is_machine = ~features["is_human"].to_numpy()
    rows = []
    for mean in means[features["output_id"]].to_numpy():
        both = np.column_stack([features["scaled_logprob"], mean / mean.std()])
        maps = {"huse": both, "huse_q": both[:, 1:]}
        rows.append(
            {
                name: twice_error(*leave_one_out(columns, is_machine, 16), is_machine)
                for name, columns in maps.items()
            }
        )
    table = pd.DataFrame(rows)
    return table.assign(huse_d=1 + table["huse"] - table["huse_q"])


def report(table: pd.DataFrame) -> pd.DataFrame:
    table["holds"] = (table["ci_low"] <= table["mean"]) & (table["mean"] <= table["ci_high"])
    table["off"] = table["center"] - table["estimate"]
    return table.groupby(["world", "way", "system", "score"], sort=False).agg(
        expectation=("mean", "mean"),
        its_se=("sem", "mean"),
        sd=("std", "mean"),
        mean_se=("se", "mean"),
        coverage=("holds", "mean"),
        center_off=("off", "mean"),
        n_undefined=("n_undefined", "sum"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--expectation", type=int, default=400, help="studies for the expectation")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--annotator-resamples", type=int, default=50)
    parser.add_argument("--crews", type=int, default=25, help="for the expectation over them")
    parser.add_argument("--bootstrap", type=int, default=25)
    parser.add_argument("--seed", type=int, default=2019)
    args = parser.parse_args()

    made = []
    for world in SYSTEMS:
        found = over_outputs(world, args.studies, args.resamples, args.bootstrap, args.seed)
        expected = expectations(world, args.expectation, args.seed + 1)
        made.append(found.join(expected, on=["system", "score"]).assign(world=world))
    for world in (GAUSSIAN, DISCRETE):
        found = over_annotators(
            world, args.studies, args.annotator_resamples, args.crews, args.seed
        )
        made.append(found.assign(world=world))
    table = pd.concat(made, ignore_index=True)
    rates = report(table)
    print(
        f"{args.studies} studies, {args.resamples} half-samples ({args.annotator_resamples} of "
        f"annotators), {args.bootstrap} bootstraps;\nexpectations from {args.expectation} other "
        f"studies ({args.crews} other crews), seed {args.seed}.\n"
        "sd: of the score over studies (crews). center_off: mean of the replicates minus the "
        "estimate.\n"
        f"A coverage of .95 in {args.studies} studies has a standard error of "
        f"{np.sqrt(0.95 * 0.05 / args.studies):.3f}.\n"
    )
    print(rates.round(3).to_string())
    pooled = table.groupby(["world", "way", "score"], sort=False)["holds"].mean().unstack()
    print(f"\nOver systems:\n{pooled[list(SCORES)].round(3).to_string()}")
    ours = rates.drop(["outputs, k = 8", "outputs, bootstrap"], level="way")["coverage"]
    low = ours[ours < REQUIRED]
    print(f"\nLeast coverage of ours: {ours.min():.3f}, required {REQUIRED:.2f}.")
    if len(low):
        print(f"Below:\n{low.round(3).to_string()}")
    return int(len(low) > 0)


if __name__ == "__main__":
    sys.exit(main())
