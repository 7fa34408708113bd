"""Trials of comparative evaluators: supervise one, and let it score and rate held-out outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from nlgbench import schema
from nlgbench.analysis.ratings.games import reference_scores
from nlgbench.analysis.ratings.pairing import output_pairs, reference_pairs
from nlgbench.analysis.ratings.skill import glicko2
from nlgbench.evaluators.comparator.comparisons import compare, order_agreement, score_alone
from nlgbench.evaluators.comparator.draws import system_pairs
from nlgbench.evaluators.comparator.pairs import human_pairs, strong_pairs, weak_pairs
from nlgbench.evaluators.comparator.training import Comparator, train_comparator
from nlgbench.names import known
from nlgbench.text import text_key

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

SUPERVISION = ("strong", "weak", "human")

#: The rows of Table 5, then each kind of supervision alone: how they differ from the full model.
VARIANTS: dict[str, dict[str, Any]] = {
    "full model": {},
    "w/o comparison": {"supervision": ("strong",), "compares": False},
    "w/o tie option": {"ties": False},
    "w/o strong supervision": {"supervision": ("weak", "human")},
    "w/o weak supervision": {"supervision": ("strong", "human")},
    "w/o human annotation": {"supervision": ("strong", "weak")},
    "w/o BERT": {"pretrained": False},
    "strong alone": {"supervision": ("strong",)},
    "weak alone": {"supervision": ("weak",)},
    "human alone": {"supervision": ("human",)},
}

#: How outputs and systems get a score from comparisons, as Table 2 names them.
METHODS = (
    "with skill rating",
    "averaged sample-level skill rating",
    "averaged reference-based score",
)
ALONE = "averaged score"


def supervise(
    train: pd.DataFrame,
    judgments: pd.DataFrame,
    written: pd.DataFrame | None = None,
    checkpoints: pd.DataFrame | None = None,
    *,
    references: pd.DataFrame | None = None,
    held_out: pd.DataFrame | None = None,
    dimension: str,
    threshold: float,
    n: int = 4_000,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs of all three kinds of supervision from training outputs.

    Parameters
    ----------
    train : DataFrame
        The ``outputs`` table of one dataset, training outputs only.
    judgments : DataFrame
        The ``judgments`` table; those of other outputs are ignored.
    written, checkpoints : DataFrame, optional
        What the checkpoints of workshop models wrote, from `generators.checkpoints`. Without it
        there is no weak supervision.
    references : DataFrame, optional
        The ``references`` table: human texts for the items of `train`, for strong supervision.
    held_out : DataFrame, optional
        The ``outputs`` table to be judged: pairs that hold one of its texts (as `text.text_key`
        tells texts apart) are left out, as when a workshop model writes "i don't know", too.
    dimension, threshold
        As in `comparator.pairs.human_pairs`.
    n : int
        Pairs of each kind; twice as many human ones; fewer where there are not so many.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        Pairs of all kinds, one after another, for `trial`.

    Raises
    ------
    ValueError
        As the functions of `comparator.pairs`.

    Notes
    -----
    As in the paper's human evaluation (section 4.1), judgments of machine outputs alone count.

    Examples
    --------
    >>> from nlgbench.worlds.reviews import review_world
    >>> study = review_world(systems=["bigram_t1.0", "grammar_t0.5"], n_truth=0, seed=0).study
    >>> pairs = supervise(
    ...     study.outputs.assign(context=""), study.judgments, dimension="typicality",
    ...     threshold=0.5, n=100, seed=0)
    >>> pairs.groupby("supervision").size().to_dict()
    {'human': 200, 'strong': 100}
    """
    rng = np.random.default_rng(seed)
    real = train
    if references is not None:
        known_items = train.drop_duplicates("item_id").set_index("item_id")["context"]
        own = references[references["item_id"].isin(known_items.index)]
        own = own.assign(
            output_id=own["item_id"] + "-reference-" + own["reference_id"],
            system="human",
            is_human=True,
            context=own["item_id"].map(known_items),
        )
        real = schema.check(pd.concat([train, own[schema.columns("outputs")]]), "outputs")
    parts = [strong_pairs(real, n=n, seed=rng)]
    if written is not None and checkpoints is not None:
        parts.append(weak_pairs(written, checkpoints, n=n, seed=rng))
    machine = train[~train["is_human"]]
    parts.append(
        human_pairs(machine, judgments, dimension=dimension, threshold=threshold, n=2 * n, seed=rng)
    )
    pairs = pd.concat(parts, ignore_index=True)
    if held_out is not None:
        kept_back = set(held_out["text"].map(text_key))
        a, b = (pairs[side].map(text_key).isin(kept_back) for side in ("text_a", "text_b"))
        pairs = pairs[~a & ~b]
    return pairs.reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Trial:
    """What a comparator, once trained, said of held-out outputs.

    Attributes
    ----------
    comparator : str
        Its name.
    systems : DataFrame
        dataset, system, method (one of `METHODS`, or `ALONE`), score; higher is better.
    outputs : DataFrame
        dataset, output_id, method, score.
    comparisons : DataFrame
        The ``comparisons`` table between systems.
    agreement : DataFrame
        From `comparator.comparisons.order_agreement` on these comparisons; empty for an adversarial
        evaluator, and where systems alone were scored.
    """

    comparator: str
    systems: pd.DataFrame
    outputs: pd.DataFrame
    comparisons: pd.DataFrame
    agreement: pd.DataFrame


def trial(
    pairs: pd.DataFrame,
    test: pd.DataFrame,
    *,
    variant: str = "full model",
    backend: Literal["frozen", "cross_encoder", "tfidf"] = "frozen",
    encoder: Encoder | None = None,
    untrained: Encoder | None = None,
    seed: int,
    **scoring: Any,
) -> Trial:
    """Train one variant of the comparator on pairs, and score held-out outputs by it.

    Parameters
    ----------
    pairs : DataFrame
        From `supervise`.
    test : DataFrame
        The ``outputs`` table, held-out machine outputs.
    variant : str
        One of `VARIANTS`.
    backend : {"frozen", "cross_encoder", "tfidf"}
        As in `comparator.train_comparator`.
    encoder, untrained : Encoder, optional
        Pretrained, and with random weights for the variant without BERT; not for ``"tfidf"``.
    seed : int
        Where the random numbers come from.
    **scoring
        As in `score_by`.

    Returns
    -------
    Trial
        Scores of outputs and systems.

    Raises
    ------
    ValueError
        When the variant is unknown or not to be had, or a held-out text was seen in training.

    Examples
    --------
    >>> from nlgbench.worlds.reviews import review_world
    >>> study = review_world(systems=["bigram_t1.0", "grammar_t0.5"], n_truth=0, seed=0).study
    >>> outputs = study.outputs.assign(context="")
    >>> train, test = outputs[::2], outputs[1::2][lambda table: ~table["is_human"]]
    >>> test = test[~test["text"].isin(train["text"])]
    >>> pairs = supervise(train, study.judgments, dimension="typicality", threshold=0.5, seed=0)
    >>> found = trial(pairs, test, variant="human alone", backend="tfidf", seed=0, n_references=20)
    >>> found.systems["method"].unique().tolist() == list(METHODS)
    True
    """
    known(variant, list(VARIANTS), "variant")
    asked: dict[str, Any] = {"supervision": SUPERVISION, "compares": True, "ties": True}
    asked = asked | {"pretrained": True} | VARIANTS[variant]
    if not asked["pretrained"] and untrained is None:
        raise ValueError(f"variant {variant!r} needs an untrained encoder, which was not given.")
    comparator = train_comparator(
        pairs[pairs["supervision"].isin(asked["supervision"])],
        backend=backend,
        compares=asked["compares"],
        ties=asked["ties"],
        encoder=encoder if asked["pretrained"] else untrained,
        seed=seed,
    )
    return score_by(comparator, test, seed=seed, **scoring)


def score_by(
    comparator: Comparator,
    test: pd.DataFrame,
    *,
    single: bool = True,
    n_per_pair: int = 100,
    n_plays: int = 10_000,
    n_references: int = 50,
    tie_ratio: float | None = 0.1,
    seed: int,
) -> Trial:
    """Score held-out outputs and their systems by a comparator, in the paper's three ways.

    Parameters
    ----------
    comparator : Comparator
        From `comparator.train_comparator`.
    test : DataFrame
        The ``outputs`` table of one dataset, held-out machine outputs.
    single : bool
        Whether single outputs are scored, too, and both orders compared; without, systems are rated
        and that is all.
    n_per_pair : int
        Games of each two systems; fewer where there are not so many pairs of outputs.
    n_plays : int
        Games between single outputs, whatever their contexts; 10,000 in the paper.
    n_references : int
        Machine outputs against which each output is compared; 50 in the paper.
    tie_ratio : float, optional
        As in `ratings.glicko2`; .1 in the paper.
    seed : int
        Where the random numbers come from.

    Returns
    -------
    Trial
        An adversarial evaluator gives each output its probability of being human, and each system
        the mean of these, and has `ALONE` for method.

    Raises
    ------
    ValueError
        As `comparator.comparisons.compare`.

    Notes
    -----
    Zhou and Xu (2020, sections 3.2 and 4.2, doi:10.1609/aaai.v34i05.6521): Glicko-2 between
    systems on one input each game; Glicko-2 between single outputs, each a system that always
    writes the same; 3, 1 or 0 points against common references; and the means of the latter two.

    Examples
    --------
    As in `trial`.
    """
    of = test.set_index("output_id")["system"]
    met = system_pairs(test, n_per_pair=n_per_pair, seed=seed)
    comparisons = compare(comparator, test, met)
    if not comparator.compares:
        alone = score_alone(comparator, test)[["dataset", "output_id", "score"]]
        outputs = alone.assign(method=ALONE)
        systems = _means(outputs, of, {ALONE: ALONE})
        return Trial(comparator.name, systems, outputs, comparisons, pd.DataFrame())
    rated = glicko2(comparisons, test, tie_ratio=tie_ratio, seed=seed)
    rated = rated.rename(columns={"rating": "score"}).assign(method=METHODS[0])
    rated = rated[["dataset", "system", "method", "score"]]
    columns = ["dataset", "output_id", "method", "score"]
    if not single:
        nothing = pd.DataFrame(columns=columns)
        return Trial(comparator.name, rated, nothing, comparisons, pd.DataFrame())
    n = len(test)
    plays = output_pairs(test, n_pairs=min(n_plays, n * (n - 1) // 2), seed=seed)
    of_plays = glicko2(compare(comparator, test, plays), tie_ratio=tie_ratio, seed=seed)
    of_plays = of_plays.rename(columns={"system": "output_id", "rating": "score"})
    against = reference_pairs(test, n_references=n_references, seed=seed)
    points = reference_scores(compare(comparator, test, against))
    outputs = pd.concat(
        [
            of_plays.assign(method="with skill rating")[columns],
            points.assign(method="with random sampled reference")[columns],
        ],
        ignore_index=True,
    )
    averaged = {
        "with skill rating": METHODS[1],
        "with random sampled reference": METHODS[2],
    }
    systems = pd.concat([rated, _means(outputs, of, averaged)], ignore_index=True)
    agreement = order_agreement(comparator, test, met)
    return Trial(comparator.name, systems, outputs, comparisons, agreement)


def _means(outputs: pd.DataFrame, of: pd.Series, names: dict[str, str]) -> pd.DataFrame:
    table = outputs.assign(system=outputs["output_id"].map(of), method=outputs["method"].map(names))
    mean = table.groupby(["dataset", "system", "method"], sort=False)["score"].mean()
    return mean.reset_index()
