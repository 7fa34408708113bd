"""Simulated studies of product reviews with known true scores, for testing evaluators."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import expit

from nlgbench.arrays import Seed
from nlgbench.generators.review_systems import REVIEW_SYSTEMS, Memorizer, System, review_systems
from nlgbench.generators.reviews import contexts, review_grammar
from nlgbench.study import Study, from_rows
from nlgbench.study.checks import checked
from nlgbench.worlds import annotators, truth
from nlgbench.worlds.annotators import n_tokens
from nlgbench.worlds.tables import check_classes, crossed_rows, output_rows

#: Samples of annotators, besides the study's own, for which truth is computed.
N_PANELS = 20


def review_draws(system: System, texts: list[str]) -> truth.Draws:
    """Compute the exact probabilities of reviews, under the reference and under a system."""
    reference, own_nats = review_grammar().logprob(texts), system.logprob(texts)
    length = n_tokens(texts)
    return truth.Draws(reference / length, own_nats / length, expit(reference - own_nats))


def _enumerated(system: Memorizer) -> dict[str, float]:
    """Compute the exact L* and entropy of a system with few possible texts."""
    texts = list(system.distribution)
    nats = np.array(list(system.distribution.values()))
    l_star = np.exp(np.minimum(review_grammar().logprob(texts), nats)).sum()
    exact = {"l_star": float(l_star), "entropy": float(-(np.exp(nats) * nats).sum())}
    return exact | {"l_star_se": 0.0, "entropy_se": 0.0}


def review_world(
    *,
    systems: Sequence[str] | Mapping[str, System] | None = None,
    n_outputs: int = 100,
    n_annotators: int = 20,
    n_truth: int = 20_000,
    seed: Seed,
) -> Study:
    """Simulate a study of short product reviews with known probabilities.

    Human outputs are drawn from the grammar of `nlgbench.generators.reviews`. An item is a human
    review with its context (product and aspect). A system's output is drawn independently of the
    context, and annotators rate the text alone.

    ``truth["systems"]``: l_star (1 - TV), huse, huse_q, huse_d, and entropy (nats per text), each
    with its Monte Carlo standard error in ``*_se``; see `truth.population_scores`. Scores use this
    study's annotators, of whom ``n_careless`` rate at random. ``huse_others`` (mean),
    ``huse_others_sd``, ``_min``, ``_max`` and the same for huse_q and huse_d describe `N_PANELS`
    other samples.
    """
    rng = np.random.default_rng(seed)
    for_training, for_panel, for_humans, for_truth = rng.spawn(4)
    if not isinstance(systems, Mapping):
        systems = review_systems(systems, seed=for_training)
    check_classes(systems, n_outputs=n_outputs, n_annotators=n_annotators)
    if n_truth == 1:
        raise ValueError("n_truth must be 0, or at least 2 texts of each class. Got 1.")
    grammar = review_grammar()
    panel = annotators.draw_annotators(n_annotators, seed=for_panel)
    decisions = grammar.decide(n_outputs, seed=for_humans)
    human, item_contexts = grammar.render(decisions), contexts(decisions)
    panels = [annotators.draw_annotators(n_annotators, seed=s) for s in for_truth.spawn(N_PANELS)]
    true_human = grammar.sample(n_truth, seed=for_truth)
    tables: dict[str, list[pd.DataFrame]] = {"outputs": [], "judgments": [], "logprobs": []}
    true_rows = []
    for name, system_seed in zip(["human", *systems], rng.spawn(len(systems) + 1), strict=True):
        system = systems.get(name, grammar)
        texts = human if name == "human" else system.sample(n_outputs, seed=system_seed)
        outputs = _outputs(name, texts, item_contexts)
        tables["outputs"].append(outputs)
        ids = outputs["output_id"].tolist()
        values = annotators.judge(panel, annotators.typicality_of(texts), seed=system_seed)
        tables["judgments"].append(crossed_rows(ids, values, "typicality"))
        if name == "human":
            human_ids = ids
            continue
        of_system = pd.DataFrame({"output_id": human_ids + ids, "model": name})
        of_system["logprob"] = system.logprob(human + texts)
        tables["logprobs"].append(of_system.assign(n_tokens=n_tokens(human + texts)))
        if n_truth:
            sample = system.sample(n_truth, seed=system_seed)
            draws = review_draws(system, true_human), review_draws(system, sample)
            scores = truth.population_scores(*draws, panel) | truth.over_panels(*draws, panels)
            scores["n_careless"] = int(panel.careless.sum())
            nats = -system.logprob(sample)
            scores["entropy"] = float(nats.mean())
            scores["entropy_se"] = float(nats.std(ddof=1) / np.sqrt(n_truth))
            if isinstance(system, Memorizer):
                scores |= _enumerated(system)
            true_rows.append({"system": name} | scores)
    return from_rows(
        **{name: pd.concat(frames) for name, frames in tables.items()},
        name="reviews",
        source="simulated",
        settings={"quality": "typicality"},
        truth={"systems": pd.DataFrame(true_rows)} if true_rows else None,
    )


@checked
def annotator_samples(truth: pd.DataFrame) -> pd.DataFrame:
    """Compare the truth for a study's own annotators with that for `N_PANELS` other panels."""
    endings = ["", "_others", "_others_sd", "_others_min", "_others_max"]
    columns = ["system", "own", "mean", "sd", "min", "max"]
    tables = []
    for score in ("huse", "huse_q", "huse_d"):
        values = truth[["system", *(f"{score}{ending}" for ending in endings)]]
        tables.append(values.set_axis(columns, axis=1).assign(score=score))
    return pd.concat(tables, ignore_index=True)[["system", "score", *columns[1:]]]


@checked
def theorem_1(
    study: Study,
    *,
    systems: Sequence[str] = ("grammar_t0.7", "leaky_t1.0", "memorizer_500"),
    n_texts: int = 4_000,
    seed: Seed,
) -> pd.DataFrame:
    """Compute both bounds of Theorem 1 for a simulated study's systems and some others.

    The theorem is in appendix A.2 of Hashimoto, Zhang and Liang (2019, doi:10.18653/v1/N19-1169).
    The table covers the study's systems that are in `REVIEW_SYSTEMS`, then `systems`, with 20
    annotators; `truth.theorem1_bound` describes its columns. All systems use the same human texts.
    L* is estimated from the drawn texts, so that it shares their sampling error with HUSE.
    """
    simulated = [name for name in study.systems if name in REVIEW_SYSTEMS]
    rng = np.random.default_rng(seed)
    for_training, for_annotators, for_humans = rng.spawn(3)
    chosen = review_systems(list(dict.fromkeys([*simulated, *systems])), seed=for_training)
    panel = annotators.draw_annotators(20, seed=for_annotators)
    human = review_grammar().sample(n_texts, seed=for_humans)
    rows = []
    for (name, system), system_seed in zip(chosen.items(), rng.spawn(len(chosen)), strict=True):
        sample = system.sample(n_texts, seed=system_seed)
        draws = review_draws(system, human), review_draws(system, sample)
        rows.append({"system": name} | truth.theorem1_bound(*draws, panel))
    return pd.DataFrame(rows)


def _outputs(name: str, texts: list[str], item_contexts: list[str]) -> pd.DataFrame:
    items = [f"i{item:05d}" for item in range(1, len(texts) + 1)]
    table = output_rows([f"{name}_{item}" for item in items], items, name)
    return table.assign(text=texts, is_human=name == "human", context=item_contexts)
