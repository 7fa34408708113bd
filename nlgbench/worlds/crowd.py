"""Simulated crowd votes "real" or "fake" on reviews, with known true shares of "real" votes."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.arrays import Floats, Seed
from nlgbench.generators.review_systems import Memorizer, System, review_systems
from nlgbench.generators.reviews import review_grammar
from nlgbench.study import Study, from_rows
from nlgbench.worlds import annotators
from nlgbench.worlds.annotators import BIAS_SD, CARELESS, NOISE_SD, REAL_ABOVE
from nlgbench.worlds.tables import check_classes, judgment_rows, numbered

#: Twelve systems of the simulated reviews, from perfect to poor.
CROWD_SYSTEMS = (
    *("grammar_t1.0", "grammar_t0.7", "leaky_t1.0", "leaky_t0.7", "memorizer_50"),
    *("memorizer_5000", "corrupted_0.1", "corrupted_0.3", "corrupted_0.5"),
    *("bigram_t1.0", "trigram_t1.0", "trigram_t0.5"),
)


def review_crowd(
    *,
    systems: Sequence[str] | Mapping[str, System] = CROWD_SYSTEMS,
    n_outputs: int = 150,
    n_votes: int = 5,
    per_hit: int = 20,
    n_truth: int = 20_000,
    seed: Seed,
) -> Study:
    """Simulate a study like Judge the Judges: votes "real" or "fake" on short reviews.

    The design follows Garbacea et al. (2019), section 3.3.1, doi:10.18653/v1/D19-1409. Half of the
    outputs are human, in total and in each HIT (``group_id``), which has `n_votes` annotators of
    its own. Each output is an item. `vote_truth` computes ``truth["systems"]``.
    """
    for_training, for_texts, for_hits, for_votes, for_truth = np.random.default_rng(seed).spawn(5)
    if not isinstance(systems, Mapping):
        systems = review_systems(systems, seed=for_training)
    n_fake = n_outputs * len(systems)
    check_classes(systems, n_outputs=n_outputs, n_votes=n_votes)
    if per_hit < 2 or per_hit % 2 or 2 * n_fake % per_hit:
        raise ValueError(
            f"per_hit must be even and divide {2 * n_fake}, the number of outputs ({n_fake} of "
            f"systems, {n_fake} human). Got {per_hit}."
        )
    texts = {"human": review_grammar().sample(n_fake, seed=for_texts)}
    texts |= {name: system.sample(n_outputs, seed=for_texts) for name, system in systems.items()}
    pool = pd.Series(texts, name="text").explode().rename_axis("system").reset_index()
    n_hits, half = 2 * n_fake // per_hit, per_hit // 2
    classes = (np.arange(n_fake), n_fake + np.arange(n_fake))
    order = np.hstack([for_hits.permutation(rows).reshape(n_hits, half) for rows in classes])
    order = for_hits.permuted(order, axis=1).ravel()
    ids = numbered("o", len(order), 4)
    outputs = pool.iloc[order].assign(output_id=ids, item_id=ids)
    outputs = outputs.assign(is_human=outputs["system"] == "human")
    votes = []
    for typical in annotators.typicality_of(outputs["text"].tolist()).reshape(n_hits, per_hit):
        voters = annotators.draw_annotators(n_votes, seed=for_votes)
        votes.append(
            annotators.judge(voters, typical, dimension="real_or_fake", seed=for_votes).T.ravel()
        )
    judgments = judgment_rows(
        np.tile(ids.reshape(n_hits, 1, per_hit), (1, n_votes, 1)).ravel(),
        np.repeat(numbered("w", n_hits * n_votes), per_hit),
        np.concatenate(votes),
        "real_or_fake",
        np.repeat(numbered("hit", n_hits), n_votes * per_hit),
    )
    truth = vote_truth(systems, n_truth=n_truth, seed=for_truth) if n_truth else None
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        name="crowd",
        source="simulated",
        settings={"quality": "real_or_fake"},
        truth=None if truth is None else {"systems": truth},
    )


def vote_truth(systems: Mapping[str, System], *, n_truth: int = 20_000, seed: Seed) -> pd.DataFrame:
    """Compute the share of votes "real" in the population of outputs and annotators.

    A row for ``human`` and for each system: ``quality``, exact over annotators by
    `probability_real`, and ``quality_se``, its Monte Carlo standard error over texts (0 if all
    texts are enumerated).
    """
    rng = np.random.default_rng(seed)
    rows = []
    for name, system in {"human": review_grammar(), **systems}.items():
        if isinstance(system, Memorizer):
            texts = list(system.distribution)
            real = probability_real(annotators.typicality_of(texts))
            quality, se = np.average(real, weights=np.exp(system.logprob(texts))), 0.0
        else:
            texts = system.sample(n_truth, seed=rng)
            real = probability_real(annotators.typicality_of(texts))
            quality, se = real.mean(), real.std(ddof=1) / np.sqrt(n_truth)
        row = {"system": name, "is_human": name == "human", "quality": float(quality)}
        rows.append(row | {"quality_se": float(se)})
    return pd.DataFrame(rows)


def probability_real(typical: Floats) -> Floats:
    """Compute the probability that a randomly drawn annotator votes "real".

    For typicality T it is ``c / 2 + (1 - c) Phi((T - 2) / sqrt(s_b^2 + s_e^2))``, where c is the
    share of careless annotators and s_b, s_e the standard deviations of leniency and noise.
    """
    careful = norm.cdf((typical - REAL_ABOVE) / np.hypot(BIAS_SD, NOISE_SD))
    return np.asarray(CARELESS / 2 + (1 - CARELESS) * careful)
