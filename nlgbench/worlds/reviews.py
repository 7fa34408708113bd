"""Simulated studies whose true scores are known, to judge the evaluators themselves."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.grammar import Floats
from nlgbench.generators.retrieval import Memorizer, Retrieval
from nlgbench.generators.review_systems import System, review_systems
from nlgbench.generators.reviews import CONTEXT, contexts, review_grammar
from nlgbench.study import Study, schema, trusted
from nlgbench.worlds import annotators, truth
from nlgbench.worlds.annotators import n_tokens
from nlgbench.worlds.tables import crossed_rows, logprob_rows, output_rows

#: Samples of annotators, besides the study's own, over which the truth is given.
N_CREWS = 20


def _own_logprob(system: System | Retrieval, texts: list[str], about: list[str]) -> Floats:
    if isinstance(system, Retrieval):
        return system.logprob(texts, about)
    return system.logprob(texts)


def write_reviews(
    system: System | Retrieval, about: list[str], *, seed: int | np.random.Generator
) -> list[str]:
    """Let a system write a review for each context; retrieval alone reads them."""
    if isinstance(system, Retrieval):
        return system.respond(about)
    return system.sample(len(about), seed=seed)


def review_draws(system: System | Retrieval, texts: list[str], about: list[str]) -> truth.Draws:
    """Look up the exact probabilities of reviews, under the reference and under a system.

    Texts are drawn from one of the two: probabilities of both may not be 0. Only retrieval's
    probabilities are given the context.
    """
    grammar = review_grammar()
    decisions = grammar.parse(texts)
    reference = grammar.logprob_decisions(decisions)
    own = _own_logprob(system, texts, about)
    given = reference
    if isinstance(system, Retrieval):
        inside = decisions[:, 0] >= 0
        fits = np.zeros(len(texts), dtype=bool)
        fits[inside] = np.array(contexts(decisions[inside])) == np.array(about)[inside]
        given = np.where(fits, grammar.logprob_decisions(decisions, given=CONTEXT), -np.inf)
    length = n_tokens(texts)
    return truth.Draws(reference / length, own / length, truth.probability_human(given, own))


def _exact_l_star(system: System | Retrieval) -> float | None:
    """Enumerate what a system can say, where that is little."""
    grammar = review_grammar()
    if isinstance(system, Memorizer):
        texts = list(system.distribution)
        return float(np.exp(np.minimum(grammar.logprob(texts), system.logprob(texts))).sum())
    if isinstance(system, Retrieval):
        slots = {slot.name: slot.phrases for slot in grammar.slots}
        about = [
            f"{product} {aspect.removeprefix('the ')}"
            for product in slots["product"]
            for aspect in slots["aspect"]
        ]
        texts = system.respond(about)
        fits = np.array(contexts(grammar.parse(texts))) == np.array(about)
        return float(np.exp(grammar.logprob(texts))[fits].sum())
    return None


def _entropy(system: System | Retrieval, texts: list[str], about: list[str]) -> dict[str, float]:
    """Give how many nats a system's texts hold, by themselves: enumerated, or of texts it wrote."""
    if isinstance(system, Memorizer):
        nats = np.array(list(system.distribution.values()))
        return {"entropy": float(-(np.exp(nats) * nats).sum()), "entropy_se": 0.0}
    told = -_own_logprob(system, texts, about)
    error = float(told.std(ddof=1) / np.sqrt(len(told)))
    return {"entropy": float(told.mean()), "entropy_se": error}


def review_world(
    *,
    systems: Sequence[str] | Mapping[str, System | Retrieval] | None = None,
    n_outputs: int = 100,
    n_annotators: int = 20,
    dimensions: Sequence[str] = ("typicality",),
    n_truth: int = 20_000,
    seed: int | np.random.Generator,
) -> Study:
    """Simulate a study of short product reviews in which every probability is known.

    Human outputs are drawn from the reference, the grammar of `nlgbench.generators.reviews`. An
    item is a human review and what it is about (product and aspect, the context); a system's
    output for the item is drawn independently of that. Retrieval alone reads the context; its truth
    is conditional, too (eq. 2 of Hashimoto, Zhang and Liang 2019, doi:10.18653/v1/N19-1169,
    averaged over contexts). Annotators rate the text, not whether it goes with the context.

    ``truth["systems"]`` has a row per system: l_star (1 - TV), l_star_limit, huse, huse_limit,
    huse_q, huse_d, and entropy (nats per text, given its context where the system reads it), each
    with its Monte Carlo standard error in ``*_se`` (0 where enumerated); see
    `truth.population_scores`. It is that of typicality, and of this study's annotators, of whom
    ``n_careless`` do not read. Beside it stands the truth over `N_CREWS` other samples of as many
    annotators: huse_crews (the mean), huse_crews_sd, huse_crews_min, huse_crews_max, and the same
    of huse_q and huse_d; see `truth.over_crews`.
    """
    rng = np.random.default_rng(seed)
    for_training, for_crew, for_humans, for_truth = rng.spawn(4)
    if not isinstance(systems, Mapping):
        systems = review_systems(systems, seed=for_training)
    too_few = min(n_outputs, n_annotators, len(systems)) < 1
    if too_few or n_truth < 0 or n_truth == 1 or "human" in systems:
        raise ValueError(
            "a world needs at least 1 output per class, 1 annotator and 1 system, none called "
            "'human', and no or at least 2 texts per class for the truth. Got "
            f"n_outputs={n_outputs}, n_annotators={n_annotators}, n_truth={n_truth}, "
            f"systems={list(systems)}."
        )
    grammar = review_grammar()
    crew = annotators.hire(n_annotators, seed=for_crew)
    decisions = grammar.decide(n_outputs, seed=for_humans)
    human, about = grammar.render(decisions), contexts(decisions)
    others = [annotators.hire(n_annotators, seed=one) for one in for_truth.spawn(N_CREWS)]
    true_decisions = grammar.decide(n_truth, seed=for_truth)
    true_human, true_about = grammar.render(true_decisions), contexts(true_decisions)
    parts: dict[str, list[pd.DataFrame]] = {"outputs": [], "judgments": [], "logprobs": []}
    true_rows = []
    for name, own in zip(["human", *systems], rng.spawn(len(systems) + 1), strict=True):
        system = systems.get(name, grammar)
        texts = human if name == "human" else write_reviews(system, about, seed=own)
        outputs = _outputs(name, texts, about)
        parts["outputs"].append(outputs)
        typical = annotators.typicality_of(texts)
        for dimension in dimensions:
            values = annotators.judge(crew, typical, dimension=dimension, seed=own)
            ids = outputs["output_id"].tolist()
            parts["judgments"].append(crossed_rows(ids, values, dimension))
        if name == "human":
            human_ids = outputs["output_id"].tolist()
            continue
        both = human_ids + outputs["output_id"].tolist()
        nats = _own_logprob(system, human + texts, about + about)
        parts["logprobs"].append(logprob_rows(both, name, nats, n_tokens(human + texts)))
        if n_truth:
            drawn = write_reviews(system, true_about, seed=own)
            draws = (
                review_draws(system, true_human, true_about),
                review_draws(system, drawn, true_about),
            )
            scores = truth.population_scores(*draws, crew) | truth.over_crews(*draws, others)
            scores["n_careless"] = int(crew.careless.sum())
            scores |= _entropy(system, drawn, true_about)
            exact = _exact_l_star(system)
            if exact is not None:
                scores |= {"l_star": exact, "l_star_se": 0.0}
            true_rows.append({"system": name} | scores)
    checked = {name: schema.typed(pd.concat(part), name) for name, part in parts.items()}
    labels = {one: one.replace("leaky_", "leaky grammar ") for one in systems if "leaky_" in one}
    return trusted(
        **checked,
        name="reviews",
        source="simulated",
        settings={"quality": dimensions[0], "labels": labels},
        truth={"systems": pd.DataFrame(true_rows)} if true_rows else None,
    )


def annotator_samples(truth: pd.DataFrame) -> pd.DataFrame:
    """Set the truth for a study's own annotators beside that for others.

    ``own`` is with this study's annotators, the others over `N_CREWS` samples of as many.

    >>> world = review_world(systems=["grammar_t0.5"], n_outputs=5, n_truth=2000, seed=0)
    >>> annotator_samples(world.truth["systems"]).round(2)
             system   score   own  mean    sd   min   max
    0  grammar_t0.5    huse  0.16  0.17  0.00  0.16  0.18
    1  grammar_t0.5  huse_q  0.57  0.58  0.01  0.56  0.60
    2  grammar_t0.5  huse_d  0.60  0.59  0.01  0.57  0.60
    """
    parts = [
        pd.DataFrame(
            {
                "system": truth["system"],
                "score": score,
                "own": truth[score],
                "mean": truth[f"{score}_crews"],
                **{name: truth[f"{score}_crews_{name}"] for name in ("sd", "min", "max")},
            }
        )
        for score in ("huse", "huse_q", "huse_d")
    ]
    return pd.concat(parts, ignore_index=True)


def _outputs(name: str, texts: list[str], about: list[str]) -> pd.DataFrame:
    items = [f"i{item:05d}" for item in range(1, len(texts) + 1)]
    table = output_rows([f"{name}_{item}" for item in items], items, name)
    return table.assign(text=texts, is_human=name == "human", context=about)
