"""Trials of comparative evaluators: supervise one, and let it score and rate held-out outputs."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from nlgbench.analysis.ratings.games import games, single_outputs
from nlgbench.analysis.ratings.glicko import glicko2
from nlgbench.evaluators.comparator.comparators import (
    Comparator,
    compare,
    order_agreement,
    reference_points,
    score_alone,
    train_comparator,
)
from nlgbench.evaluators.comparator.pairs import (
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

Backend = Literal["frozen", "cross_encoder", "tfidf"]

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

#: How single outputs get one, as Table 1 does, and what stands beside the comparator there.
BY_RATING, BY_REFERENCES = "with skill rating", "with random sampled reference"
ADVERSARIAL, REGRESSOR = "adversarial evaluator", "ADEM's role (regressor)"
BASELINES = (REGRESSOR, ADVERSARIAL, "BLEU", "perplexity")

_TEXTS = ("text_a", "text_b", "context_a", "context_b")


@dataclass(frozen=True, eq=False)
class Trial:
    """What a comparator, once trained, said of held-out outputs.

    `systems` has system, method (one of `METHODS`, or `ALONE`), score; `outputs` output_id, method,
    score; `comparisons` those between systems; `agreement` is empty for an adversarial evaluator,
    and where systems alone were scored.
    """

    comparator: str
    systems: pd.DataFrame
    outputs: pd.DataFrame
    comparisons: pd.DataFrame
    agreement: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Trials:
    """What `run_trials` found.

    Parameters
    ----------
    studies : dict of str to Study
        As they were given.
    tests : dict of (str, int) to Study
        By data set and split: held-out machine outputs, with all evaluators' ``scores`` of them.
    systems : DataFrame
        data, trial (the split), evaluator, system, score; higher is better.
    comparisons : DataFrame
        data, split, and the full model's ``comparisons``.
    agreement : DataFrame
        data, split, comparator, agreement (share of pairs with the same answer in both orders),
        ci_low, ci_high, confidence, n.
    pairs : DataFrame
        data, split, supervision, outcome, n: what there was to learn from.
    losses : DataFrame
        data, split, first, last: training loss in nats per word of the models whose checkpoints
        wrote.
    supervision : dict of str to str
        What each evaluator learned from.
    encoder : Encoder or None
        The embeddings of all texts, without the network, for `leave_one_out`.
    """

    studies: dict[str, Study]
    tests: dict[tuple[str, int], Study]
    systems: pd.DataFrame
    comparisons: pd.DataFrame
    agreement: pd.DataFrame
    pairs: pd.DataFrame
    losses: pd.DataFrame
    supervision: dict[str, str]
    encoder: Encoder | None = field(repr=False)

    @property
    def evaluators(self) -> list[str]:
        """Evaluators of systems, in the order of the paper's tables and then of `VARIANTS`."""
        there = set(self.systems["evaluator"])
        return [name for name in (*METHODS, *BASELINES, *VARIANTS) if name in there]


@dataclass(frozen=True, eq=False)
class _Split:
    """What a trial starts from."""

    train: Study
    test: Study
    #: Human outputs that are held out.
    people: pd.DataFrame
    pairs: pd.DataFrame
    logprobs: pd.DataFrame | None


@checked
def run_trials(
    studies: Mapping[str, Study],
    *,
    backend: Backend = "tfidf",
    variants: Mapping[str, Sequence[str]] | None = None,
    n_splits: Mapping[str, int] | int = 5,
    test_size: float = 0.4,
    ties_within: Mapping[str, float] | None = None,
    n_pairs: int = 1_500,
    n_games: int = 100,
    tie_ratio: float = 0.1,
    workshop: Mapping[str, int] | None = None,
    encoder: str | None = None,
    n_jobs: int = 2,
    seed: int = 0,
) -> Trials:
    """Train evaluators on several splits of several studies, and let them score what is held out.

    Parameters
    ----------
    studies : mapping of str to Study
        With judgments of machine outputs, and human texts. Where outputs have contexts, whole
        contexts are held out, else texts. ``related["human"]`` is what a small language model
        learns to write from, whose checkpoints are weak supervision and which gives perplexity;
        studies with the very same share a model. Without it the human texts of each training split
        are read. Without torch there is neither.
    backend : {"tfidf", "frozen", "cross_encoder"}
        As in `nlgbench.train_comparator`.
    variants : mapping of str to sequence of str, optional
        Which of `VARIANTS` are tried on each study, the full model and that without comparison at
        least. Default: all that the backend and what is installed allow.
    n_splits : int or mapping of str to int
        Splits of each study; everything is trained anew on each.
    test_size : float
        As in `nlgbench.split`.
    ties_within : mapping of str to float, optional
        Mean judgments that differ by so much or less tie. Default: .5.
    n_pairs : int
        Of each kind of supervision, and twice as many human ones.
    n_games : int
        Of each two systems.
    tie_ratio : float
        As in `nlgbench.rate`.
    workshop : mapping of str to int, optional
        ``n`` (texts that each checkpoint writes, 40) and ``units`` (64) of the small language
        models. They go through the texts ten times, those that answer contexts five times.
    encoder : str, optional
        Name or folder of a Hugging Face model.
    n_jobs : int
        Processes.
    seed : int
        Of the first split and all that follows from it; the next ones count up.

    Returns
    -------
    Trials
        Scores of single outputs and of systems, for `correlate_outputs` and `correlate_systems`.

    Raises
    ------
    ValueError
        When a variant is unknown, a study has too little to split or to learn from.

    Notes
    -----
    Beside the comparator stand the paper's baselines: a ridge regression of judgments in ADEM's
    role, the adversarial evaluator, BLEU (mean of BLEU-2, 3 and 4, sentence level, smoothed) and
    minus the perplexity of known words, NaN for texts over twice as long as any that its model saw.
    References are the study's own; else the other human outputs of the item, or, where texts answer
    to nothing, the ten most similar human texts of the training split.

    Examples
    --------
    >>> from nlgbench.worlds.simulated import simulate
    >>> world = {"systems": ["grammar_t1.0", "bigram_t1.0"], "n_outputs": 60, "n_truth": 0}
    >>> study = simulate("reviews", **world)
    >>> study = study.replace(outputs=study.outputs.assign(context=""))
    >>> only = {"reviews": ["full model", "w/o comparison"]}
    >>> found = run_trials({"reviews": study}, variants=only, n_splits=1, n_jobs=1, n_games=20,
    ...                    workshop={"n": 5, "units": 4})
    >>> found.systems.groupby("evaluator").size().loc["with skill rating"].item()
    2
    """
    if variants is None:
        variants = dict.fromkeys(studies, possible_variants(backend))
    for variant in {one for listed in variants.values() for one in listed}:
        known(variant, list(VARIANTS), "variant")
    splits, losses = _split_all(
        studies,
        n_splits=n_splits,
        test_size=test_size,
        ties_within=ties_within or {},
        n_pairs=n_pairs,
        workshop=workshop or {},
        n_jobs=n_jobs,
        seed=seed,
    )
    encoders = _encoders(studies, splits, backend, encoder, n_jobs, seed)
    asked = [(key, variant) for key in splits for variant in variants[key[0]]]
    light = {key: _light(encoders, studies, one, key, backend) for key, one in splits.items()}
    tried = Parallel(n_jobs=n_jobs)(
        delayed(trial)(
            splits[key].pairs,
            splits[key].test,
            variant=variant,
            backend=backend,
            single=variant == "full model",
            n_per_pair=n_games,
            tie_ratio=tie_ratio,
            seed=seed + key[1],
            encoder=light[key].get("encoder"),
            untrained=light[key].get("untrained") if variant == "w/o BERT" else None,
        )
        for key, variant in asked
    )
    said = dict(zip(asked, tried, strict=True))
    tests = {}
    for key, one in splits.items():
        full, alone = said[key, "full model"], said[key, "w/o comparison"]
        scores = _scores_of_outputs(one, full, alone, backend, light[key].get("encoder"))
        tests[key] = with_tables(one.test, scores=scores)
    first = next(iter(splits))
    return Trials(
        studies=dict(studies),
        tests=tests,
        systems=_scores_of_systems(tests, said),
        comparisons=_gather(said, "comparisons"),
        agreement=_gather(said, "agreement"),
        pairs=_count_pairs(splits),
        losses=losses,
        supervision=_supervision(
            {variant: found.comparator for (key, variant), found in said.items() if key == first}
        ),
        encoder=encoders.get("encoder"),
    )


def possible_variants(backend: str) -> list[str]:
    """List the variants that a backend allows, and torch where there is none."""
    has_torch = importlib.util.find_spec("torch") is not None
    return [
        variant
        for variant, changes in VARIANTS.items()
        if (backend == "frozen" or changes.get("pretrained", True))
        and (has_torch or "weak" not in (*changes.get("supervision", ()), variant.split()[1]))
    ]


@checked
def split_by(study: Study) -> Literal["context", "text"]:
    """Say what is held out: contexts where outputs answer to something, else texts.

    Parameters
    ----------
    study : Study
        To be split.

    Returns
    -------
    str
        For `nlgbench.split`.
    """
    return "context" if study.outputs["context"].ne("").any() else "text"


@checked
def checkpoints(
    study: Study, train: Study, *, n: int = 40, units: int = 64, seed: int = 0
) -> pd.DataFrame | None:
    """Let the checkpoints of a small language model write, for weak supervision.

    Parameters
    ----------
    study : Study
        Whose ``related["human"]`` the model learns from.
    train : Study
        Its training part, whose human texts it learns from otherwise.
    n : int
        Texts of each checkpoint.
    units : int
        Of the model.
    seed : int
        Where the random numbers come from.

    Returns
    -------
    DataFrame or None
        For `nlgbench.supervise`; None without torch.
    """
    if importlib.util.find_spec("torch") is None:
        return None
    if study.related and "human" in study.related:
        human = study.related["human"].outputs
    else:
        human = train.outputs[train.outputs["is_human"]]
    return _train(human, human[:1], n, units, seed).written


def _train(human: pd.DataFrame, read: pd.DataFrame, n: int, units: int, seed: int) -> Any:
    from nlgbench.generators.workshop import train_workshop

    times = 5 if human["context"].ne("").any() else 10
    return train_workshop(
        human, read, model="lstm", n=n, epochs=times, n_checkpoints=times, units=units, seed=seed
    )


def _split_all(
    studies: Mapping[str, Study],
    *,
    n_splits: Mapping[str, int] | int,
    test_size: float,
    ties_within: Mapping[str, float],
    n_pairs: int,
    workshop: Mapping[str, int],
    n_jobs: int,
    seed: int,
) -> tuple[dict[tuple[str, int], _Split], pd.DataFrame]:
    """Split each study, train the models whose checkpoints write, and draw pairs to learn from."""
    parts = {}
    for name, study in studies.items():
        number = n_splits if isinstance(n_splits, int) else n_splits[name]
        for at in range(number):
            train, test = split(study, by=split_by(study), test_size=test_size, seed=seed + at)
            people = test.outputs[test.outputs["is_human"]]
            parts[name, at] = train, test.only(is_human=False), people
    written, logprobs, losses = _workshops(studies, parts, workshop, n_jobs, seed)
    splits = {}
    for key, (train, test, people) in parts.items():
        pairs = supervise(
            train,
            kinds=("strong", "weak", "human") if key in written else ("strong", "human"),
            checkpoints=written.get(key),
            held_out=test,
            threshold=ties_within.get(key[0], 0.5),
            n=n_pairs,
            seed=seed + key[1],
        )
        splits[key] = _Split(train, test, people, pairs, logprobs.get(key))
    return splits, losses


def _workshops(
    studies: Mapping[str, Study],
    parts: Mapping[tuple[str, int], tuple[Study, Study, pd.DataFrame]],
    options: Mapping[str, int],
    n_jobs: int,
    seed: int,
) -> tuple[dict[Any, pd.DataFrame], dict[Any, pd.DataFrame], pd.DataFrame]:
    """Train small language models: what checkpoints wrote and how likely outputs are, by split."""
    columns = ["data", "split", "first", "last"]
    if importlib.util.find_spec("torch") is None:
        return {}, {}, pd.DataFrame(columns=columns)
    # What is shared first: it takes longest.
    sharing: dict[int, list[str]] = {}
    for name, study in studies.items():
        if study.related and "human" in study.related:
            sharing.setdefault(id(study.related["human"].outputs), []).append(name)
    jobs: list[tuple[str, int, list[str], pd.DataFrame, pd.DataFrame]] = []
    for names in sharing.values():
        human = studies[names[0]].related["human"].outputs  # type: ignore[index]
        read = [studies[name].only(is_human=False).outputs.assign(data=name) for name in names]
        jobs.append(("shared", 0, names, human, pd.concat(read, ignore_index=True)))
    alone = [name for name in studies if all(name not in names for names in sharing.values())]
    for (name, at), (train, test, _) in parts.items():
        if name in alone:
            human = train.outputs[train.outputs["is_human"]]
            jobs.append((name, at, [name], human, test.outputs.assign(data=name)))
    size = options.get("n", 40), options.get("units", 64)
    made = Parallel(n_jobs=n_jobs)(
        delayed(_train)(human, read, *size, seed + at) for _, at, _, human, read in jobs
    )
    written, logprobs, rows = {}, {}, []
    for (called, at, names, _, seen), shop in zip(jobs, made, strict=True):
        loss = shop.history["train_loss"]
        rows.append((called, at, loss.iloc[0], loss.iloc[-1]))
        for key in parts:
            if key[0] in names and (called == "shared" or key[1] == at):
                written[key] = shop.written
                logprobs[key] = shop.logprobs[(seen["data"] == key[0]).to_numpy()]
    return written, logprobs, pd.DataFrame(rows, columns=columns)


def _encoders(
    studies: Mapping[str, Study],
    splits: Mapping[tuple[str, int], _Split],
    backend: str,
    name: str | None,
    n_jobs: int,
    seed: int,
) -> dict[str, Encoder]:
    """Load the encoders; a frozen one reads all texts once, and its network stays behind."""
    if backend == "tfidf":
        return {}
    from nlgbench.evaluators.comparator.encoder import known_only, load_encoder

    loaded = {"encoder": load_encoder(name)}
    loaded["untrained"] = load_encoder(name, pretrained=False, seed=seed)
    if backend != "frozen":
        return loaded
    texts = {""}
    for study in studies.values():
        texts |= {*study.outputs["text"], *study.outputs["context"]}
    for one in splits.values():
        for column in _TEXTS:
            texts |= {*one.pairs[column]}
    encoded = Parallel(n_jobs=n_jobs)(
        delayed(known_only)(each, sorted(texts)) for each in loaded.values()
    )
    return dict(zip(loaded, encoded, strict=True))


def _light(
    encoders: Mapping[str, Encoder],
    studies: Mapping[str, Study],
    one: _Split,
    key: tuple[str, int],
    backend: str,
) -> dict[str, Encoder]:
    """Take along only the embeddings that a trial needs, as it may go to another process."""
    if backend != "frozen":
        return dict(encoders)
    from nlgbench.evaluators.comparator.encoder import known_only

    outputs = studies[key[0]].outputs
    needed = [*outputs["text"], *outputs["context"]]
    for column in _TEXTS:
        needed += [*one.pairs[column]]
    return {role: known_only(each, needed) for role, each in encoders.items()}


def trial(
    pairs: pd.DataFrame,
    test: Study,
    *,
    variant: str = "full model",
    backend: Backend = "frozen",
    encoder: Encoder | None = None,
    untrained: Encoder | None = None,
    seed: int,
    **scoring: Any,
) -> Trial:
    """Train one of `VARIANTS` on pairs, and score held-out outputs by it as `score_by` does."""
    asked: dict[str, Any] = {"supervision": ("strong", "weak", "human"), "pretrained": True}
    asked = asked | {"compares": True, "ties": True} | VARIANTS[variant]
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
    test: Study,
    *,
    single: bool = True,
    n_per_pair: int = 100,
    n_plays: int = 10_000,
    n_references: int = 50,
    tie_ratio: float | None = 0.1,
    seed: int,
) -> Trial:
    """Score held-out machine outputs and their systems by a comparator, in the paper's three ways.

    Zhou and Xu (2020, sections 3.2 and 4.2, doi:10.1609/aaai.v34i05.6521): Glicko-2 between
    systems on one input each game; Glicko-2 between single outputs, whatever their contexts, each a
    system that always writes the same; 3, 1 or 0 points against common references; and the means of
    the latter two. Without `single`, systems are rated and that is all. An adversarial evaluator
    gives each output its probability of being human, and each system the mean of these.
    """
    table = test.outputs
    of = table.set_index("output_id")["system"]
    met = system_pairs(table, n_per_pair=n_per_pair, seed=seed)
    comparisons = compare(comparator, table, met)
    if not comparator.compares:
        outputs = score_alone(comparator, table).reset_index().assign(method=ALONE)
        systems = _means(outputs, of, {ALONE: ALONE})
        return Trial(comparator.name, systems, outputs, comparisons, pd.DataFrame())
    sides = {f"system_{side}": comparisons[f"output_{side}"].map(of) for side in ("a", "b")}
    rated = glicko2(games(comparisons.assign(**sides)), tie_ratio=tie_ratio, seed=seed)
    rated = rated.rename(columns={"rating": "score"}).assign(method=METHODS[0])
    rated = rated[["system", "method", "score"]]
    columns = ["output_id", "method", "score"]
    if not single:
        nothing = pd.DataFrame(columns=columns)
        return Trial(comparator.name, rated, nothing, comparisons, pd.DataFrame())
    n = len(table)
    plays = output_pairs(table, n_pairs=min(n_plays, n * (n - 1) // 2), seed=seed)
    played = single_outputs(compare(comparator, table, plays))
    of_plays = glicko2(played, tie_ratio=tie_ratio, seed=seed)
    of_plays = of_plays.rename(columns={"system": "output_id", "rating": "score"})
    against = reference_pairs(table, n_references=min(n_references, n), seed=seed)
    points = reference_points(compare(comparator, table, against)).reset_index()
    outputs = pd.concat(
        [
            of_plays.assign(method=BY_RATING)[columns],
            points.assign(method=BY_REFERENCES)[columns],
        ],
        ignore_index=True,
    )
    averaged = {BY_RATING: METHODS[1], BY_REFERENCES: METHODS[2]}
    systems = pd.concat([rated, _means(outputs, of, averaged)], ignore_index=True)
    agreement = order_agreement(comparator, table, met)
    return Trial(comparator.name, systems, outputs, comparisons, agreement)


def _means(outputs: pd.DataFrame, of: pd.Series, names: dict[str, str]) -> pd.DataFrame:
    table = outputs.assign(system=outputs["output_id"].map(of), method=outputs["method"].map(names))
    return table.groupby(["system", "method"], sort=False)["score"].mean().reset_index()


def _scores_of_outputs(
    one: _Split, full: Trial, alone: Trial, backend: str, encoder: Encoder | None
) -> pd.DataFrame:
    """Score held-out outputs by the baselines and the full model: a ``scores`` table."""
    table = one.test.outputs
    ids = table["output_id"]
    regressor = train_regressor(
        one.train.only(is_human=False),
        backend="tfidf" if backend == "tfidf" else "frozen",
        encoder=encoder,
    )
    found = {"BLEU": _bleu(one), REGRESSOR: regressor.score_outputs(one.test)}
    if one.logprobs is not None:
        likely = one.logprobs.set_index("output_id").loc[ids]
        with np.errstate(over="ignore"):  # infinite where the model cannot write so long a text
            perplexity = np.exp(-(likely["logprob"] / likely["n_tokens"]).to_numpy())
        known_words = np.where(np.isinf(perplexity), np.nan, perplexity)
        found["perplexity"] = pd.Series(-known_words, likely.index)
    parts = [
        pd.DataFrame({"output_id": ids.to_numpy(), "score": score.loc[ids].to_numpy()}).assign(
            evaluator=name
        )
        for name, score in found.items()
    ]
    parts.append(alone.outputs.assign(evaluator=ADVERSARIAL))
    parts.append(full.outputs.assign(evaluator="comparator, " + full.outputs["method"]))
    scores = pd.concat(parts, ignore_index=True).assign(signature="")
    return scores[["output_id", "evaluator", "score", "signature"]]


def _bleu(one: _Split) -> pd.Series:
    """Average BLEU-2, 3 and 4 of each output against its item's references."""
    table = one.test.outputs
    if one.test.references is not None:
        by_item = one.test.references.groupby("item_id", sort=False)["text"].agg(list)
    elif table["context"].ne("").any():
        by_item = one.people.groupby("item_id", sort=False)["text"].agg(list)
    else:
        pool = one.train.outputs.loc[one.train.outputs["is_human"], "text"].tolist()
        nearest = similar_references(table["text"].tolist(), pool, n=10)
        # Where several systems write for one item, the first one's text chooses.
        by_item = pd.Series(nearest, index=table["item_id"])[
            ~table["item_id"].duplicated().to_numpy()
        ]
    references = [by_item.get(item, []) for item in table["item_id"]]
    score = bleu(table["text"].tolist(), references)[:, 1:].mean(axis=1)
    return pd.Series(score, index=pd.Index(table["output_id"]))


def _scores_of_systems(
    tests: Mapping[tuple[str, int], Study], said: Mapping[Any, Trial]
) -> pd.DataFrame:
    """Average scores of outputs, and gather ratings: data, trial, evaluator, system, score."""
    rows = []
    for (name, number), test in tests.items():
        assert test.scores is not None
        baselines = test.scores[test.scores["evaluator"].isin(BASELINES)]
        of = baselines["output_id"].map(test.outputs.set_index("output_id")["system"])
        means = baselines.groupby(["evaluator", of.rename("system")])["score"].mean().reset_index()
        rows.append(means.assign(data=name, trial=number))
        for (key, variant), one in said.items():
            if key != (name, number):
                continue
            found = one.systems[one.systems["method"] != ALONE]
            found = found.rename(columns={"method": "evaluator"})
            if variant != "full model":
                found = found[found["evaluator"] == METHODS[0]].assign(evaluator=variant)
            rows.append(found.assign(data=name, trial=number))
    systems = pd.concat(rows, ignore_index=True)
    order = [*METHODS, *BASELINES, *VARIANTS]
    place = systems["evaluator"].map(order.index)
    systems = systems.assign(place=place).sort_values(["data", "place", "trial", "system"])
    return systems[["data", "trial", "evaluator", "system", "score"]].reset_index(drop=True)


def _gather(said: Mapping[Any, Trial], name: str) -> pd.DataFrame:
    rows = [
        getattr(found, name).assign(data=key[0], split=key[1])
        for (key, variant), found in said.items()
        if variant == "full model"
    ]
    return pd.concat(rows, ignore_index=True)


def _count_pairs(splits: Mapping[tuple[str, int], _Split]) -> pd.DataFrame:
    rows = [
        one.pairs.groupby(["supervision", "outcome"])
        .size()
        .rename("n")
        .reset_index()
        .assign(data=name, split=number)
        for (name, number), one in splits.items()
    ]
    return pd.concat(rows, ignore_index=True)


def _supervision(comparators: Mapping[str, str]) -> dict[str, str]:
    """Say in words what each evaluator learned from; a comparator's name has it after @."""
    found = {
        variant: name.split("@")[1].replace("+", ", ") for variant, name in comparators.items()
    }
    full = found["full model"]
    ours = (*METHODS, *(f"comparator, {way}" for way in (BY_RATING, BY_REFERENCES)))
    found |= dict.fromkeys(ours, full)
    found |= {REGRESSOR: "human", ADVERSARIAL: "strong", "BLEU": "references"}
    return found | {"perplexity": "human texts"}


@checked
def leave_one_out(
    study: Study,
    *,
    n_splits: int = 1,
    test_size: float = 0.4,
    ties_within: float = 0.5,
    n_pairs: int = 1_500,
    n_games: int = 100,
    tie_ratio: float = 0.1,
    backend: Backend = "tfidf",
    encoder: Encoder | None = None,
    n_jobs: int = 2,
    seed: int = 0,
) -> pd.DataFrame:
    """Rate each system by a comparator that learned from people's judgments of all the others.

    Parameters
    ----------
    study, n_splits, test_size, n_pairs, n_games, tie_ratio, backend, n_jobs, seed
        As in `run_trials`; texts are held out.
    ties_within : float
        Mean judgments that differ by so much or less tie.
    encoder : Encoder, optional
        That of `run_trials`, as the texts are the same.

    Returns
    -------
    DataFrame
        evaluator, trial (the split), system, score: the rating that a system gets among the others,
        for `correlate_trials`.

    Raises
    ------
    ValueError
        As `nlgbench.supervise`.

    Examples
    --------
    >>> from nlgbench.worlds.simulated import simulate
    >>> world = {"systems": ["grammar_t1.0", "bigram_t1.0", "trigram_t1.0"], "n_truth": 0}
    >>> study = simulate("reviews", **world)
    >>> study = study.replace(outputs=study.outputs.assign(context=""))
    >>> len(leave_one_out(study, n_jobs=1, n_pairs=200, n_games=20))
    3
    """
    jobs = []
    if encoder is not None:
        from nlgbench.evaluators.comparator.encoder import known_only

        encoder = known_only(encoder, [*study.outputs["text"], *study.outputs["context"]])
    for number, system in product(range(n_splits), sorted(study.systems)):
        train, test = split(study, test_size=test_size, leave_out=system, seed=seed + number)
        test = test.only(is_human=False)
        # Strong pairs are drawn first, as in `run_trials`, and not learned from.
        pairs = supervise(
            train,
            kinds=("strong", "human"),
            held_out=test,
            threshold=ties_within,
            n=n_pairs,
            seed=seed + number,
        )
        jobs.append((number, system, pairs, test))
    tried = Parallel(n_jobs=n_jobs)(
        delayed(trial)(
            pairs,
            test,
            variant="human alone",
            backend=backend,
            single=False,
            n_per_pair=n_games,
            tie_ratio=tie_ratio,
            seed=seed + number,
            encoder=encoder,
        )
        for number, _, pairs, test in jobs
    )
    rows = [
        (METHODS[0], number, system, found.systems.set_index("system")["score"][system])
        for (number, system, _, _), found in zip(jobs, tried, strict=True)
    ]
    return pd.DataFrame(rows, columns=["evaluator", "trial", "system", "score"])
