"""How far HUSE can be above L*, in the world of reviews."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from nlgbench.generators.retrieval import Retrieval
from nlgbench.generators.reviews import contexts, review_grammar
from nlgbench.study import Study
from nlgbench.worlds import annotators, truth
from nlgbench.worlds import reviews as worlds


def review_bounds(
    *,
    systems: Sequence[str] | Mapping[str, worlds.System | Retrieval] | None = None,
    n_texts: int = 20_000,
    n_annotators: int = 20,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Lay out both bounds of Theorem 1 for systems of the world of reviews.

    Parameters
    ----------
    systems : sequence of str, or mapping of str to system, optional
        Names of `worlds.REVIEW_SYSTEMS` (default: all), or systems of your own.
    n_texts : int
        Texts of each class; the human ones serve all systems.
    n_annotators : int
        Who judge every text; the same for all systems.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per system: dataset, system, and what `truth.theorem1_bound` gives: l_star, huse,
        disagreement, information (bits), upper, slack, each with ``*_se``, and holds.

    Raises
    ------
    ValueError
        When a number is too small or a system is unknown.

    Notes
    -----
    Appendix A.2 of Hashimoto, Zhang and Liang (2019, doi:10.18653/v1/N19-1169). L* is that of the
    texts drawn, so that it shares their chance errors with HUSE; it is not enumerated.

    Examples
    --------
    >>> found = review_bounds(systems=["grammar_t0.7", "memorizer_50"], n_texts=2000, seed=0)
    >>> found[["system", "l_star", "huse", "information", "upper", "holds"]].round(1)
             system  l_star  huse  information  upper  holds
    0  grammar_t0.7     0.5   0.5          0.5    1.0   True
    1  memorizer_50     0.0   0.0          0.0    0.0   True
    """
    rng = np.random.default_rng(seed)
    for_training, for_crew, for_humans = rng.spawn(3)
    if not isinstance(systems, Mapping):
        systems = worlds.review_systems(systems, seed=for_training)
    if n_texts < 2 or n_annotators < 1 or not systems:
        raise ValueError(
            "review_bounds needs at least 2 texts of each class, 1 annotator and 1 system. "
            f"Got n_texts={n_texts}, n_annotators={n_annotators}, systems={list(systems)}."
        )
    crew = annotators.hire(n_annotators, seed=for_crew)
    decisions = review_grammar().decide(n_texts, seed=for_humans)
    human, about = review_grammar().render(decisions), contexts(decisions)
    rows = []
    for (name, system), own in zip(systems.items(), rng.spawn(len(systems)), strict=True):
        drawn = worlds.write_reviews(system, about, seed=own)
        bound = truth.theorem1_bound(
            worlds.review_draws(system, human, about),
            worlds.review_draws(system, drawn, about),
            crew,
        )
        rows.append({"system": name} | bound)
    return pd.DataFrame(rows)


def theorem_1(
    study: Study,
    *,
    systems: Sequence[str] = ("grammar_t0.7", "leaky_t1.0", "memorizer_500"),
    n_texts: int = 4_000,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Lay out both bounds of Theorem 1 for a simulated study's systems and some others.

    Parameters
    ----------
    study : Study
        A world of reviews; of its systems those are taken that are `REVIEW_SYSTEMS`.
    systems : sequence of str
        Further names of these.
    n_texts, seed
        As in `review_bounds`.

    Returns
    -------
    DataFrame
        As `review_bounds`, without ``dataset``; the study's systems come first.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("reviews", systems=["grammar_t0.5"], n_outputs=5, n_truth=0)
    >>> theorem_1(study, systems=["memorizer_50"], n_texts=100, seed=0)["system"].tolist()
    ['grammar_t0.5', 'memorizer_50']
    """
    known = [name for name in study.systems if name in worlds.REVIEW_SYSTEMS]
    names = list(dict.fromkeys([*known, *systems]))
    return review_bounds(systems=names, n_texts=n_texts, seed=seed)
