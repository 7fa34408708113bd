"""Trials of comparative evaluators: train them, then score and rate held-out outputs."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from nlgbench.analysis.ratings.games import read_games, single_outputs
from nlgbench.analysis.ratings.glicko import glicko2
from nlgbench.evaluators.comparator import comparators
from nlgbench.evaluators.comparator.comparators import Backend, compare
from nlgbench.evaluators.comparator.pairs import (
    SIDES,
    Kind,
    output_pairs,
    reference_pairs,
    supervise,
    system_pairs,
)
from nlgbench.evaluators.comparator.regressor import train_regressor
from nlgbench.evaluators.comparator.splits import split
from nlgbench.evaluators.overlap import bleu
from nlgbench.evaluators.references import similar_references
from nlgbench.names import known
from nlgbench.study import Study, with_tables
from nlgbench.study.checks import checked

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

KINDS = ("strong", "weak", "human")
#: Differences from the full model: the rows of Table 5, then each kind of supervision alone.
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

#: Ways to score outputs and systems from comparisons, as named in Table 2.
METHODS = (
    "with skill rating",
    "averaged sample-level skill rating",
    "averaged reference-based score",
)

#: Ways to score single outputs, and the baselines, as named in Table 1.
COMPARED = ("comparator, with skill rating", "comparator, with random sampled reference")
ADVERSARIAL, REGRESSOR = "adversarial evaluator", "ADEM's role (regressor)"
BASELINES = (REGRESSOR, ADVERSARIAL, "BLEU", "perplexity")

#: Games between single outputs, and references per output, as in the paper.
N_PLAYS, N_REFERENCES = 10_000, 50
# Checkpoints write fewer texts of more words.
_LONG = 150
#: Number of parallel processes.
N_JOBS = 2


@dataclass(frozen=True, eq=False)
class TrialSplit:
    """A split of a study into training and test data for evaluators."""

    study: Study
    data: str  # the study's name
    number: int
    #: The system that is left out of training, or None.
    left_out: str | None
    seed: int
    train: Study
    #: Held-out outputs, including human ones.
    test: Study
    #: From `nlgbench.supervise`.
    pairs: pd.DataFrame = field(default_factory=pd.DataFrame)
    #: Log-probabilities of held-out outputs under a small language model, or None.
    logprobs: pd.DataFrame | None = None

    @property
    def machine(self) -> Study:
        """The held-out machine outputs, which evaluators score."""
        return self.test.only(is_human=False)


@dataclass(frozen=True, eq=False)
class Trial:
    """A trained evaluator's results on held-out outputs.

    Columns of `systems` are evaluator, system, score; those of `outputs` are output_id, evaluator,
    score. `comparisons` are between systems.
    """

    systems: pd.DataFrame = field(default_factory=pd.DataFrame)
    outputs: pd.DataFrame = field(default_factory=pd.DataFrame)
    comparisons: pd.DataFrame = field(default_factory=pd.DataFrame)
    agreement: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, eq=False)
class Trials:
    """The results of `run_trials`."""

    #: Studies by data set.
    studies: dict[str, Study]
    #: Held-out machine outputs with all evaluators' ``scores``, by data set and split.
    tests: dict[tuple[str, int], Study]
    #: data, trial (the split), evaluator, system, score; higher is better.
    systems: pd.DataFrame
    #: data, split, and the full model's ``comparisons``.
    comparisons: pd.DataFrame
    #: data, split, comparator, agreement (share of pairs with the same verdict in both orders),
    #: ci_low, ci_high, confidence, n.
    agreement: pd.DataFrame
    #: The supervision of each evaluator.
    supervision: dict[str, str]
    #: An encoder with the embeddings of all texts but without the network, for further trials.
    encoder: Encoder | None = field(default=None, repr=False)


@checked
def split_studies(
    studies: Mapping[str, Study],
    *,
    n_splits: Mapping[str, int] | int = 5,
    test_size: float = 0.4,
    leave_out: bool = False,
    ties_within: Mapping[str, float] | None = None,
    n_pairs: int = 1_500,
    n_written: int = 40,
    units: int = 64,
    seed: int = 0,
) -> list[TrialSplit]:
    """Split studies into training and test data for `run_trials`, and draw training pairs.

    `studies` have judgments of machine outputs, and human texts. Whole contexts are held out if
    outputs have contexts, else texts. ``related["human"]`` trains a small language model, which
    computes perplexity and whose checkpoints provide weak supervision (not without torch); by
    default it is trained on the human texts of each training split. Strong pairs come from
    ``related["strong"]`` if it exists, whose items are split too, and human pairs from votes in
    ``related["votes"]``. With `leave_out`, each split is repeated with each system left out of
    training. `ties_within` is, for each study, the largest difference of mean judgments that counts
    as a tie (default .5). `n_pairs` are drawn for each kind of supervision, twice as many for human
    judgments; each checkpoint generates `n_written` texts, or a quarter if texts are long.
    """
    splits = []
    for name, study in studies.items():
        has_contexts = study.outputs["context"].ne("").any()
        unit: Literal["context", "text"] = "context" if has_contexts else "text"
        for number in range(n_splits if isinstance(n_splits, int) else n_splits[name]):
            for left_out in sorted(study.systems) if leave_out else [None]:
                fold_seed = seed + number
                halves = split(
                    study, by=unit, test_size=test_size, leave_out=left_out, seed=fold_seed
                )
                splits.append(TrialSplit(study, name, number, left_out, fold_seed, *halves))
    models = {}
    if not leave_out and importlib.util.find_spec("torch") is not None:
        models = _language_models(splits, n_written, units)
    prepared = []
    for fold in splits:
        written, logprobs = models.get((fold.data, fold.number), (None, None))
        kinds: list[Kind] = ["strong", "human"] if written is None else ["strong", "weak", "human"]
        rng, sources = np.random.default_rng(fold.seed), _sources(fold, test_size)
        tables = [
            supervise(
                sources[kind],
                kinds=[kind],
                checkpoints=written,
                held_out=fold.machine,
                threshold=(ties_within or {}).get(fold.data, 0.5),
                n=n_pairs,
                seed=rng,
            )
            for kind in kinds
        ]
        pairs = pd.concat(tables, ignore_index=True)
        prepared.append(replace(fold, pairs=pairs, logprobs=logprobs))
    return prepared


def _sources(fold: TrialSplit, test_size: float) -> dict[str, Study]:
    """Return the study from which each kind of training pairs is drawn."""
    related = fold.study.related or {}
    sources = {"strong": fold.train, "weak": fold.train, "human": related.get("votes", fold.train)}
    if "strong" in related:
        sources["strong"], _ = split(
            related["strong"], by="item", test_size=test_size, seed=fold.seed
        )
    return sources


def run_parallel(jobs: Iterable[Any]) -> list[Any]:
    """Run jobs in parallel processes."""
    with warnings.catch_warnings():
        # joblib replaces workers that use much memory; no results are lost.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        results: list[Any] = Parallel(n_jobs=N_JOBS)(jobs)
    return results


def _language_models(
    splits: Sequence[TrialSplit], n: int, units: int
) -> dict[tuple[str, int], tuple[pd.DataFrame, pd.DataFrame]]:
    """Train small language models; return checkpoints' texts and log-probabilities by split."""
    groups: dict[Any, list[TrialSplit]] = {}
    for fold in splits:
        shared = (fold.study.related or {}).get("human")
        key = (fold.data, fold.number) if shared is None else id(shared.outputs)
        groups.setdefault(key, []).append(fold)
    # Start with the model that most splits share, because it takes longest.
    ordered = sorted(groups.values(), key=len, reverse=True)
    models = run_parallel(delayed(_train)(group, n, units) for group in ordered)
    return {
        (fold.data, fold.number): (written, logprobs[logprobs["data"] == fold.data])
        for group, (written, logprobs) in zip(ordered, models, strict=True)
        for fold in group
    }


def _train(group: Sequence[TrialSplit], n: int, units: int) -> Any:
    from nlgbench.generators.checkpoints import train_checkpoints

    first, shared = group[0], (group[0].study.related or {}).get("human")
    human = (first.train.only(is_human=True) if shared is None else shared).outputs
    read = {first.data: first.machine.outputs}
    if shared is not None:
        read = {fold.data: fold.study.only(is_human=False).outputs for fold in group}
    texts = pd.concat([table.assign(data=name) for name, table in read.items()])
    times = 5 if human["context"].ne("").any() else 10
    # Long texts, such as stories, take long to write and to embed.
    is_long = human["text"].str.count(r"\S+").median() > _LONG
    size = {"n": n // 4 if is_long else n, "epochs": times, "n_checkpoints": times, "units": units}
    written, logprobs = train_checkpoints(human, texts, model="lstm", **size, seed=first.seed)
    return written, logprobs.assign(data=texts["data"].to_numpy())


@checked
def run_trials(
    splits: Sequence[TrialSplit],
    *,
    variants: Mapping[str, Sequence[str]] | None = None,
    backend: Backend = "tfidf",
    encoder: Encoder | str | None = None,
    n_games: int = 100,
    n_plays: int | None = None,
    tie_ratio: float = 0.1,
) -> Trials:
    """Train evaluators on each split, and score the held-out outputs.

    Parameters
    ----------
    splits : sequence of TrialSplit
        Splits from `nlgbench.analysis.trials.split_studies`. If a split leaves out a system, a
        comparator trained only on human judgments rates this system among the others.
    variants : mapping of str to sequence of str, optional
        The `VARIANTS` to train on each study, including "full model" and "w/o comparison".
        Default: all that the backend and installed packages allow.
    backend : {"tfidf", "frozen", "cross_encoder"}
        As in `nlgbench.train_comparator`.
    encoder : Encoder or str, optional
        Name or folder of a Hugging Face model, or the encoder of earlier trials with these texts.
    n_games : int
        Number of games for each pair of systems.
    n_plays : int, optional
        Number of games between single outputs, and about that of comparisons with references.
        Default: 10,000, and 50 references for each output.
    tie_ratio : float
        As in `nlgbench.rate`.

    Returns
    -------
    Trials
        Scores of single outputs and of systems, for `correlate_outputs` and `correlate_systems`.

    Raises
    ------
    ValueError
        When a variant is unknown, or there is too little training data.

    Notes
    -----
    The baselines follow Zhou and Xu (2020): a ridge regression of judgments instead of ADEM, the
    adversarial evaluator, BLEU (mean of smoothed sentence-level BLEU-2, 3 and 4) and the negative
    perplexity of known words (NaN for texts over twice as long as any training text).
    References are the study's own, if any. Otherwise, they are the human outputs of the item or,
    for texts without context, the ten most similar human texts of the training split.

    Examples
    --------
    >>> from nlgbench.analysis.trials import split_studies
    >>> from nlgbench.worlds.simulated import simulate
    >>> world = {"systems": ["grammar_t1.0", "bigram_t1.0"], "n_outputs": 60, "n_truth": 0}
    >>> study = simulate("reviews", **world)
    >>> study = study.replace(outputs=study.outputs.assign(context=""))
    >>> splits = split_studies({"reviews": study}, n_splits=1, n_written=5, units=4)
    >>> found = run_trials(splits, variants={"reviews": ["full model", "w/o comparison"]})
    >>> found.systems.groupby("evaluator").size().loc["with skill rating"].item()
    2
    """
    for variant in {variant for listed in (variants or {}).values() for variant in listed}:
        known(variant, list(VARIANTS), "variant")
    requests = []
    for fold in splits:
        listed = possible_variants(backend) if variants is None else variants[fold.data]
        requests += [(fold, variant) for variant in (["human alone"] if fold.left_out else listed)]
    encoders = _encoders(requests, backend, encoder)
    options = {"backend": backend, "n_games": n_games, "n_plays": n_plays, "tie_ratio": tie_ratio}
    tried = run_parallel(
        delayed(trial)(fold.pairs, fold.machine, variant, encoder=loaded, seed=fold.seed, **options)
        for fold, variant in requests
        for loaded in [encoders[VARIANTS[variant].get("pretrained", True)]]
    )
    tests, systems, comparisons, agreement = {}, [], [], []
    for fold in splits:
        requested = zip(requests, tried, strict=True)
        results = [result for request, result in requested if request[0] is fold]
        rows = pd.concat([result.systems for result in results if len(result.systems)])
        if fold.left_out:
            rows = rows[rows["system"] == fold.left_out]
        else:
            scores = _scores_of_outputs(fold, results, backend, encoders[True])
            tests[fold.data, fold.number] = with_tables(fold.machine, scores=scores)
            rows = pd.concat(
                [rows, _means(scores[scores["evaluator"].isin(BASELINES)], fold.machine)]
            )
        systems.append(rows.assign(data=fold.data, trial=fold.number))
        of_split = {"data": fold.data, "split": fold.number}
        for result in results:
            if len(result.comparisons):  # only the full model has these
                comparisons.append(result.comparisons.assign(**of_split))
                agreement.append(result.agreement.assign(**of_split))
    rows = pd.concat(systems, ignore_index=True)
    order = rows["evaluator"].map([*METHODS, *BASELINES, *VARIANTS].index)
    rows = rows.assign(place=order).sort_values(["data", "place", "trial", "system"])
    columns = ["data", "trial", "evaluator", "system", "score"]
    return Trials(
        studies={fold.data: fold.study for fold in splits},
        tests=tests,
        systems=rows[columns].reset_index(drop=True),
        comparisons=pd.concat([pd.DataFrame(), *comparisons], ignore_index=True),
        agreement=pd.concat([pd.DataFrame(), *agreement], ignore_index=True),
        supervision=_supervision(splits[0].pairs),
        encoder=encoders[True],
    )


def possible_variants(backend: str) -> list[str]:
    """List the variants that the backend and installed packages allow."""
    has_torch = importlib.util.find_spec("torch") is not None
    return [
        variant
        for variant, changes in VARIANTS.items()
        if (backend == "frozen" or changes.get("pretrained", True))
        and (has_torch or "weak" not in (*changes.get("supervision", ()), variant.split()[1]))
    ]


def _encoders(
    requests: Sequence[tuple[TrialSplit, str]], backend: str, encoder: Encoder | str | None
) -> dict[bool, Encoder | None]:
    """Load pretrained and untrained encoders; a frozen one embeds all texts once, in advance."""
    if backend == "tfidf":
        return {True: None, False: None}
    from nlgbench.evaluators.comparator.encoder import Encoder, known_only, load_encoder

    if isinstance(encoder, Encoder):
        return {True: encoder}
    loaded = {True: load_encoder(encoder)}
    loaded[False] = load_encoder(encoder, pretrained=False, seed=requests[0][0].seed)
    if backend == "cross_encoder":
        return {**loaded}
    texts = {True: {""}, False: {""}}
    for fold, variant in requests:
        columns = [fold.study.outputs["text"], fold.study.outputs["context"]]
        columns += [fold.pairs[side] for side in SIDES]
        texts[VARIANTS[variant].get("pretrained", True)].update(*columns)
    jobs = [(key, sorted(texts[key])[n::N_JOBS]) for key in loaded for n in range(N_JOBS)]
    read = run_parallel(delayed(known_only)(loaded[key], share) for key, share in jobs)
    for (pretrained, _), embedded in zip(jobs, read, strict=True):
        merged = pd.concat([loaded[pretrained].vectors, embedded.vectors])
        loaded[pretrained] = replace(embedded, vectors=merged)
    return {**loaded}


def trial(
    pairs: pd.DataFrame,
    test: Study,
    variant: str,
    *,
    backend: Backend = "tfidf",
    encoder: Encoder | str | None = None,
    n_games: int = 100,
    n_plays: int | None = None,
    tie_ratio: float = 0.1,
    seed: int,
) -> Trial:
    """Train one of `VARIANTS` on pairs, and score held-out machine outputs and their systems.

    As in Zhou and Xu (2020, sections 3.2 and 4.2, doi:10.1609/aaai.v34i05.6521), systems are rated
    by Glicko-2, with one context per game. The full model also rates single outputs, gives them 3,
    1 or 0 points against common references, and averages both by system.
    """
    changes = VARIANTS[variant]
    comparator = comparators.train_comparator(
        pairs[pairs["supervision"].isin(changes.get("supervision", KINDS))],
        backend=backend,
        compares=changes.get("compares", True),
        ties=changes.get("ties", True),
        encoder=encoder,
        seed=seed,
    )
    table = test.outputs
    if not comparator.compares:
        alone = comparator.score_outputs(test).reset_index()
        return Trial(outputs=alone.assign(evaluator=ADVERSARIAL))
    met = system_pairs(table, n_per_pair=n_games, seed=seed)
    comparisons = compare(comparator, table, met)
    played = read_games(with_tables(test, comparisons=comparisons), of="comparisons")
    rated = glicko2(played, tie_ratio=tie_ratio, seed=seed).rename(columns={"estimate": "score"})
    name = METHODS[0] if variant == "full model" else variant
    systems = rated[["system", "score"]].assign(evaluator=name)
    if variant != "full model":
        return Trial(systems)
    n = len(table)
    plays = output_pairs(table, n_pairs=min(n_plays or N_PLAYS, n * (n - 1) // 2), seed=seed)
    played = single_outputs(compare(comparator, table, plays))
    of_plays = glicko2(played, tie_ratio=tie_ratio, seed=seed)
    of_plays = of_plays.rename(columns={"system": "output_id", "estimate": "score"})
    n_references = max(1, n_plays // n) if n_plays else N_REFERENCES
    against = reference_pairs(table, n_references=min(n_references, n), seed=seed)
    points = comparators.reference_points(compare(comparator, table, against)).reset_index()
    scores = [of_plays.assign(evaluator=COMPARED[0]), points.assign(evaluator=COMPARED[1])]
    outputs = pd.concat(scores)[["output_id", "evaluator", "score"]]
    means = _means(
        outputs.replace({"evaluator": dict(zip(COMPARED, METHODS[1:], strict=True))}), test
    )
    agreement = comparators.order_agreement(comparator, table, met)
    return Trial(pd.concat([systems, means]), outputs, comparisons, agreement)


def _means(scores: pd.DataFrame, test: Study) -> pd.DataFrame:
    """Average the scores of each system's outputs."""
    system = scores["output_id"].map(test.outputs.set_index("output_id")["system"])
    means = scores.groupby([scores["evaluator"], system.rename("system")], sort=False)["score"]
    return means.mean().reset_index()


def _scores_of_outputs(
    fold: TrialSplit, results: Sequence[Trial], backend: str, encoder: Encoder | None
) -> pd.DataFrame:
    """Score held-out outputs by the baselines and the full model: a ``scores`` table."""
    test = fold.machine
    ids = test.outputs["output_id"]
    regressor = train_regressor(
        fold.train.only(is_human=False),
        backend="tfidf" if backend == "tfidf" else "frozen",
        encoder=encoder,
    )
    score_of = {"BLEU": _bleu(fold), REGRESSOR: regressor.score_outputs(test)}
    if fold.logprobs is not None:
        likely = fold.logprobs.set_index("output_id").loc[ids]
        with np.errstate(over="ignore"):  # infinite for texts that are too long for the model
            perplexity = np.exp((-likely["logprob"] / likely["n_tokens"]).to_numpy())
        known_words = np.where(np.isinf(perplexity), np.nan, perplexity)
        score_of["perplexity"] = pd.Series(-known_words, likely.index)
    tables = [
        pd.DataFrame({"output_id": ids, "evaluator": name, "score": score.loc[ids].to_numpy()})
        for name, score in score_of.items()
    ]
    # List the adversarial evaluator before the comparator, as in the paper's tables.
    scores = pd.concat(
        [*tables, *(result.outputs for result in reversed(results))], ignore_index=True
    )
    return scores.assign(signature="")[["output_id", "evaluator", "score", "signature"]]


def _bleu(fold: TrialSplit) -> pd.Series:
    """Average BLEU-2, 3 and 4 of each output against its item's references."""
    table = fold.machine.outputs
    if fold.test.references is not None:
        by_item = fold.test.references.groupby("item_id", sort=False)["text"].agg(list)
    elif table["context"].ne("").any():
        human = fold.test.outputs[fold.test.outputs["is_human"]]
        by_item = human.groupby("item_id", sort=False)["text"].agg(list)
    else:
        # If several systems have outputs for an item, the first one selects the references.
        pool = fold.train.outputs.loc[fold.train.outputs["is_human"], "text"].tolist()
        pool = pool or (fold.study.related or {})["human"].outputs["text"].tolist()
        nearest = similar_references(table["text"].tolist(), pool, n=10)
        by_item = pd.Series(nearest, index=table["item_id"])
        by_item = by_item[~by_item.index.duplicated()]
    references = [by_item.get(item, []) for item in table["item_id"]]
    score = bleu(table["text"].tolist(), references)[:, 1:].mean(axis=1)
    return pd.Series(score, index=pd.Index(table["output_id"]))


def _supervision(pairs: pd.DataFrame) -> dict[str, str]:
    """Describe the supervision of each evaluator."""
    kinds = pairs["supervision"].unique()
    kinds_of = {
        variant: ", ".join(kind for kind in kinds if kind in changes.get("supervision", KINDS))
        for variant, changes in VARIANTS.items()
    }
    kinds_of |= dict.fromkeys([*METHODS, *COMPARED], kinds_of["full model"])
    kinds_of |= {REGRESSOR: "human", ADVERSARIAL: "strong", "BLEU": "references"}
    return kinds_of | {"perplexity": "human texts"}
