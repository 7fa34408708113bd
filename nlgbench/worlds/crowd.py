"""A simulated crowd that takes reviews for real or fake, whose true votes are known."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from nlgbench.generators.retrieval import Memorizer, Retrieval
from nlgbench.generators.review_systems import System, review_systems
from nlgbench.generators.reviews import contexts, review_grammar
from nlgbench.study import Study, schema, trusted
from nlgbench.worlds import annotators
from nlgbench.worlds.annotators import BIAS_SD, CARELESS, NOISE_SD, REAL_ABOVE, Floats
from nlgbench.worlds.tables import judgment_rows, numbered

#: Twelve of the world of reviews, from what people say to what nobody says.
CROWD_SYSTEMS = (
    *("grammar_t1.0", "grammar_t0.7", "leaky_t1.0", "leaky_t0.7", "memorizer_50"),
    *("memorizer_5000", "corrupted_0.1", "corrupted_0.3", "corrupted_0.5"),
    *("bigram_t1.0", "trigram_t1.0", "trigram_t0.5"),
)


def review_crowd(
    *,
    systems: Sequence[str] | Mapping[str, System | Retrieval] = CROWD_SYSTEMS,
    n_outputs: int = 150,
    n_votes: int = 5,
    per_hit: int = 20,
    n_truth: int = 20_000,
    seed: int | np.random.Generator,
) -> Study:
    """Simulate a study laid out as Judge the Judges: votes "real" or "fake" on short reviews.

    There are as many human outputs as of all systems together, each an item of its own, in the
    order of the HITs, as the release has them; in each HIT (``group_id``) half are human. `n_votes`
    annotators judge a HIT, who do no other. ``truth["systems"]`` is that of `vote_truth`.

    The design is that of Garbacea et al. (2019), section 3.3.1, doi:10.18653/v1/D19-1409.
    Annotators are those of `nlgbench.worlds.annotators`: real is what is typical.
    """
    for_training, for_texts, for_hits, for_votes, for_truth = np.random.default_rng(seed).spawn(5)
    if not isinstance(systems, Mapping):
        systems = review_systems(systems, seed=for_training)
    n_fake = n_outputs * len(systems)
    if min(n_outputs, n_votes, len(systems)) < 1 or n_truth < 0 or "human" in systems:
        raise ValueError(
            "a crowd needs at least 1 output of each system, 1 vote and 1 system, none called "
            f"'human'. Got n_outputs={n_outputs}, n_votes={n_votes}, n_truth={n_truth}, "
            f"systems={list(systems)}."
        )
    if per_hit < 2 or per_hit % 2 or 2 * n_fake % per_hit:
        raise ValueError(
            f"HITs of per_hit={per_hit}, half of them human, must hold {n_fake} outputs of systems "
            f"and as many human ones: per_hit must be even and divide {2 * n_fake}."
        )
    texts = {"human": review_grammar().sample(n_fake, seed=for_texts)}
    texts |= {name: _write(system, n_outputs, for_texts) for name, system in systems.items()}
    pool = pd.DataFrame(
        [(name, text) for name, own in texts.items() for text in own], columns=["system", "text"]
    )
    n_hits, half = 2 * n_fake // per_hit, per_hit // 2
    classes = (np.arange(n_fake), n_fake + np.arange(n_fake))
    dealt = np.hstack([for_hits.permutation(rows).reshape(n_hits, half) for rows in classes])
    dealt = for_hits.permuted(dealt, axis=1).ravel()
    ids = numbered("o", len(dealt), 4)
    outputs = pool.iloc[dealt].assign(output_id=ids, item_id=ids, context="")
    outputs = outputs.assign(is_human=outputs["system"] == "human")
    values = np.concatenate(
        [
            annotators.judge(
                annotators.hire(n_votes, seed=for_votes),
                typical,
                dimension="real_or_fake",
                seed=for_votes,
            ).T.ravel()
            for typical in annotators.typicality_of(outputs["text"].tolist()).reshape(
                n_hits, per_hit
            )
        ]
    )
    judgments = judgment_rows(
        np.tile(ids.reshape(n_hits, 1, per_hit), (1, n_votes, 1)).ravel(),
        np.repeat(numbered("w", n_hits * n_votes), per_hit),
        values,
        "real_or_fake",
        np.repeat(numbered("hit", n_hits), n_votes * per_hit),
    )
    truth = None
    if n_truth:
        truth = {"systems": vote_truth(systems, n_votes=n_votes, n_truth=n_truth, seed=for_truth)}
    return trusted(
        outputs=schema.typed(outputs, "outputs"),
        judgments=schema.typed(judgments, "judgments"),
        name="crowd",
        source="simulated",
        settings={"quality": "real_or_fake"},
        truth=truth,
    )


def vote_truth(
    systems: Mapping[str, System | Retrieval],
    *,
    n_votes: int = 5,
    n_truth: int = 20_000,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Compute what the crowd says of systems in the population of outputs and annotators.

    Rows ``human`` and every system; four expectations over texts, each with its Monte Carlo
    standard error in ``*_se`` (0 where all texts are enumerated): ``quality``, share of votes
    "real" (H1 accuracy is this for human and 1 minus this for a system); ``majority_quality``,
    share of outputs that the majority takes for real, a tie counting as fake (likewise H2);
    ``agreement``, probability that two annotators of one output agree; ``inside``, share of texts
    that the reference can write. ``logprob_per_token`` is the mean of log p_ref over texts inside.

    Exact over annotators, by `probability_real`. An output's annotators are independent, so its
    votes are binomial.
    """
    if n_truth < 2:
        raise ValueError(f"n_truth must be at least 2. Got {n_truth}.")
    rng = np.random.default_rng(seed)
    grammar = review_grammar()
    rows = []
    for name, system in {"human": grammar, **systems}.items():
        exact = isinstance(system, Memorizer)
        if isinstance(system, Memorizer):
            texts = list(system.distribution)
            weights = np.exp(system.logprob(texts))
        else:
            texts = _write(system, n_truth, rng)
            weights = np.full(n_truth, 1 / n_truth)
        real = probability_real(annotators.typicality_of(texts))
        logprob = grammar.logprob(texts) / annotators.n_tokens(texts)
        inside = np.isfinite(logprob)
        values = {
            "quality": real,
            "majority_quality": binom.sf(n_votes // 2, n_votes, real),
            "agreement": real**2 + (1 - real) ** 2,
            "inside": inside.astype(np.float64),
        }
        row: dict[str, object] = {"system": name, "is_human": name == "human"}
        for quantity, value in values.items():
            row[quantity] = float(np.average(value, weights=weights))
            row[f"{quantity}_se"] = 0.0 if exact else float(value.std(ddof=1) / np.sqrt(n_truth))
        row["logprob_per_token"] = np.nan
        if inside.any():
            row["logprob_per_token"] = float(np.average(logprob[inside], weights=weights[inside]))
        rows.append(row)
    return pd.DataFrame(rows)


def probability_real(typical: Floats) -> Floats:
    """Give the probability that an annotator drawn at random votes "real".

    Of typicality T it is ``c / 2 + (1 - c) Phi((T - 2) / sqrt(s_b^2 + s_e^2))``, where c is the
    share of careless annotators and s_b, s_e the standard deviations of leniency and noise.
    """
    careful = norm.cdf((typical - REAL_ABOVE) / np.hypot(BIAS_SD, NOISE_SD))
    return np.asarray(CARELESS / 2 + (1 - CARELESS) * careful)


def _write(system: System | Retrieval, n: int, rng: np.random.Generator) -> list[str]:
    """Draw texts; retrieval answers to what human reviews are about."""
    if isinstance(system, Retrieval):
        return system.respond(contexts(review_grammar().decide(n, seed=rng)))
    return system.sample(n, seed=rng)
