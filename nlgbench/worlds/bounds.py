"""How far HUSE can be above L*, in the world of reviews."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.review_systems import REVIEW_SYSTEMS, review_systems
from nlgbench.generators.reviews import review_grammar
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.worlds import annotators, truth
from nlgbench.worlds.reviews import review_draws


@checked
def theorem_1(
    study: Study,
    *,
    systems: Sequence[str] = ("grammar_t0.7", "leaky_t1.0", "memorizer_500"),
    n_texts: int = 4_000,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Lay out both bounds of Theorem 1 for a simulated study's systems, and after them some others.

    Of the study's systems those are taken that are `REVIEW_SYSTEMS`; 20 annotators judge. Appendix
    A.2 of Hashimoto, Zhang and Liang (2019, doi:10.18653/v1/N19-1169); columns are those of
    `truth.theorem1_bound`. The same human texts serve all systems. L* is that of the texts drawn,
    so that it shares their chance errors with HUSE; it is not enumerated.
    """
    known = [name for name in study.systems if name in REVIEW_SYSTEMS]
    rng = np.random.default_rng(seed)
    for_training, for_annotators, for_humans = rng.spawn(3)
    chosen = review_systems(list(dict.fromkeys([*known, *systems])), seed=for_training)
    crew = annotators.hire(20, seed=for_annotators)
    human = review_grammar().sample(n_texts, seed=for_humans)
    rows = []
    for (name, system), own in zip(chosen.items(), rng.spawn(len(chosen)), strict=True):
        drawn = system.sample(n_texts, seed=own)
        draws = review_draws(system, human), review_draws(system, drawn)
        rows.append({"system": name} | truth.theorem1_bound(*draws, crew))
    return pd.DataFrame(rows)
