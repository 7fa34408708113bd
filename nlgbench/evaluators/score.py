"""One function for all evaluators: `score` adds their scores to a study."""

from __future__ import annotations

import inspect
import os
import pkgutil
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from nlgbench.evaluators.names import DISCRIMINATOR, MODELS
from nlgbench.evaluators.sentinels import SENTINELS
from nlgbench.evaluators.stored import stored_dir
from nlgbench.evaluators.tokenizers import SUFFIX
from nlgbench.names import brief, did_you_mean, known
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_first, read_table
from nlgbench.text import tokenizer_for

_COLUMNS = {"output_id": str, "evaluator": str, "score": float, "signature": str}


@runtime_checkable
class Partitioned(Protocol):
    """A table that is processed in partitions, such as a Dask DataFrame."""

    def map_partitions(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function on each partition."""


class Fitted(Protocol):
    """A trained evaluator: a comparator, a listener, a regressor, or your own."""

    name: str
    signature: str

    def score_outputs(self, study: Study) -> pd.Series:
        """Return scores indexed by output_id."""


@dataclass(frozen=True, eq=False)
class _Family:
    """A group of evaluators that share a scoring function."""

    names: str  # a regular expression for the whole name
    function: str  # module:name, below nlgbench.evaluators
    examples: tuple[str, ...]  # for messages
    needs: str = ""  # a table that the study must have
    options: Mapping[str, object] = field(default_factory=dict)  # names and defaults


_BLEU = tuple(f"bleu_{n}{style}" for style in ("", "@coco") for n in range(1, 5))
_BY_WORDS = (*(f"bleu_{n}" for n in range(1, 5)), "bleu_2_to_4", "rouge_1", "rouge_2", "rouge_l")
_OVERLAP = (*_BLEU, *_BY_WORDS[4:], "cider", "cider_d", "chrf", "meteor")
_METRICS = "|".join(name + (SUFFIX if name in _BY_WORDS else "") for name in _OVERLAP)
_WORDING = {"lower": False, "group": "system"}
_LISTENERS = ("literal", "pragmatic", "context", "ensemble")

_FAMILIES = (
    _Family(_METRICS, "overlap:score_overlap", _OVERLAP, "references", _WORDING),
    _Family(
        rf"corpus_(bleu_[1-4](@coco|{SUFFIX})|chrf)",
        "overlap:score_corpus",
        tuple(f"corpus_{name}" for name in (*_BLEU, "chrf")),
        "references",
        _WORDING,
    ),
    _Family(
        r"(self_bleu|distinct|entropy)_[1-9]" + SUFFIX,
        "diversity:score_diversity",
        ("self_bleu_4", "distinct_1", "distinct_2", "distinct_3", "entropy_1"),
    ),
    _Family(r"minus_self_bleu_[1-9]" + SUFFIX, "diversity:score_self_bleu", ("minus_self_bleu_4",)),
    _Family(
        r"training_overlap_[1-9]",
        "diversity:score_training_overlap",
        ("training_overlap_4",),
        options={"n_neighbors": 10, "lower": False},
    ),
    _Family(r"perplexity(@.+)?", "perplexity:score_perplexity", ("perplexity",), "logprobs"),
    _Family(
        "|".join(SENTINELS), "sentinels:score_sentinels", SENTINELS, options={"dimension": None}
    ),
    _Family(
        DISCRIMINATOR,
        "discriminators:score_discriminators",
        tuple(f"{model}_{scope}@natural" for model in MODELS for scope in ("meta", "individual")),
        options={"search": 0, "n_folds": 10},
    ),
    _Family(
        rf"({'|'.join(_LISTENERS)})(_listener)?([@_]\d+)?",
        "listeners.neural:score_listeners",
        _LISTENERS,
        "contexts",
    ),
    _Family(
        "(literal|pragmatic)@released",
        "listeners.released:score_released",
        ("literal@released", "pragmatic@released"),
        "contexts",
    ),
)


@checked
def score(
    study: Study | Partitioned,
    evaluators: Sequence[str | Fitted],
    *,
    references: pd.DataFrame | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    n_jobs: int = 1,
    keep: str | os.PathLike | bool | None = None,
    seed: int | np.random.Generator = 0,
) -> Study:
    """Score the outputs of a study with evaluators, and add the scores to the study.

    Parameters
    ----------
    study : Study or Dask DataFrame
        Outputs to score. Partitions of a Dask DataFrame (needs the extra ``cluster``) are scored
        separately; ``minus_self_bleu_4`` and CIDEr need all texts of a system in one partition.
    evaluators : sequence of str or fitted object
        Names:

        - overlap with references: ``bleu_1`` to ``bleu_4`` (``@coco``: pycocoevalcap's definition;
          ``bleu_2_to_4``: the mean), ``rouge_1``, ``rouge_2``, ``rouge_l``, ``chrf``, ``cider``,
          ``cider_d``, ``meteor`` (needs Java and the extra ``meteor``); corpus metrics of each
          system: ``corpus_bleu_4@coco``, ``corpus_chrf``;
        - diversity of systems: ``self_bleu_4`` (*lower* is more diverse), ``distinct_2``,
          ``entropy_2``; of outputs: ``minus_self_bleu_4`` (against the system's other outputs),
          ``training_overlap_4`` (overlap with the study's human texts: higher is closer to them);
        - BLEU, ROUGE and diversity with a tokenizer of sacrebleu (``13a``, ``intl``, ``zh``,
          ``char``) instead of white space, for languages without blanks between words:
          ``bleu_4@tokenize:zh``, ``rouge_l@tokenize:char``;
        - ``perplexity`` (*lower* is better; under the model of ``logprobs``, or
          ``perplexity@model``);
        - discriminators: ``svm``, ``naive_bayes``, ``logistic_regression``, ``random_forest``,
          ``xgboost``, ``lstm``, ``cnn``, ``cnn_lstm``, followed by ``_meta`` (one for all systems)
          or ``_individual`` (one per system), then ``@natural`` (default) or ``@majority``, the
          training labels (1 is human). With ``/natural`` or ``/majority`` appended, the score is
          1 where the classification is wrong by these labels, else 0;
        - listeners: ``literal``, ``pragmatic``, ``context``, ``ensemble``; ``literal@released`` and
          ``pragmatic@released`` are those of Newman et al. (2020), for the comm-eval release;
        - sentinels, which ignore content: ``length@sentinel`` (words), ``constant@sentinel``,
          ``system_mean@sentinel`` (the mean judgment of the system's other items).

        Trained objects (a comparator, a listener, a regressor, or your own) have ``name``,
        ``signature`` and ``score_outputs(study)``, which returns a Series by output_id.
    references : DataFrame, optional
        ``item_id, reference_id, text``, to replace the study's (see `nearest_references`). A
        reference whose ``reference_id`` is an ``output_id`` is not compared with that output.
    options : mapping of str to mapping, optional
        Keyword arguments by evaluator name (or ``overlap``, ``discriminators`` for the whole
        group); defaults in parentheses. Overlap: ``lower`` (False; lowercase all texts), ``group``
        ("system"; CIDEr counts document frequencies within groups of this column; None: over all).
        ``training_overlap_4``: ``n_neighbors`` (10), ``lower`` (False). Discriminators: ``search``
        (0; draws of a random search), ``n_folds`` (10). ``system_mean@sentinel``: ``dimension``.
    n_jobs : int, default 1
        Number of folds or listeners to train in parallel.
    keep : path or True, optional
        A folder that stores costly scores (discriminators, listeners, METEOR). They are reused
        while data, options, seed and code are unchanged. True: the user's cache.
    seed : int or Generator, default 0
        Seed of all random numbers.

    Returns
    -------
    Study
        The study with new rows in ``scores`` (a score per output, and a signature that describes
        its computation) or ``system_scores``. Identical existing scores are kept. Undefined scores
        are NaN. Higher is better unless noted above. Dask input gives a Dask DataFrame of scores.

    Raises
    ------
    ValueError
        If a name or option is unknown (the message suggests the nearest one), the study lacks data
        that an evaluator needs, or it has different scores under the same name.
    ImportError, FileNotFoundError
        If an extra or Java is missing; the message names it.

    Notes
    -----
    Scores are out of fold: no evaluator scores a text that it was trained on. The functions of
    `nlgbench.evaluators` document definitions and sources.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["1", "2"], "item_id": ["i", "i"]})
    >>> outputs = outputs.assign(system=["a", "b"], text=["the lid leaks", "it broke"])
    >>> references = pd.DataFrame({"item_id": ["i"], "reference_id": "r", "text": "the lid leaks"})
    >>> study = Study(outputs, references=references)
    >>> score(study, ["rouge_l"]).scores["score"].tolist()
    [1.0, 0.0]
    """
    names = [name for name in evaluators if isinstance(name, str)]
    if len(set(names)) < len(names):
        raise ValueError(f"each evaluator must be named once. Got {evaluators!r}.")
    if references is not None:
        columns = "item_id:text reference_id:text text:text"
        references = read_table(references, columns, "references have")
    if not isinstance(study, Study | Partitioned):
        got = f"Got {brief(study)}.{read_first(study)}"
        raise ValueError(f"study must be a Study or a Dask DataFrame. {got}")
    if not isinstance(study, Study):
        return _score_partitions(study, evaluators, references, options)
    if references is None:
        references = study.references
    arguments = {
        "references": references,
        "options": _options(names, options or {}),
        "n_jobs": n_jobs,
        "keep": stored_dir() if keep is True else Path(keep) if keep else None,
        "seed": seed,
    }
    names_of: dict[_Family, list[str]] = {}
    for name in names:
        names_of.setdefault(_family(name), []).append(name)
    for family, (name, *_) in names_of.items():
        _require(study, family, name, references)
    _warn_of_texts_without_blanks(study, names)
    frames = []
    for family, family_names in names_of.items():
        function = pkgutil.resolve_name(f"nlgbench.evaluators.{family.function}")
        keywords = [*inspect.signature(function).parameters][2:]
        frames.append(function(study, family_names, **{key: arguments[key] for key in keywords}))
    frames += [_score_fitted(study, model) for model in evaluators if not isinstance(model, str)]
    for key, table in (("output_id", "scores"), ("system", "system_scores")):
        new_scores = [frame for frame in frames if key in frame]
        if new_scores:
            study = _add_scores(study, table, pd.concat(new_scores), key)
    return study


def _score_partitions(
    table: Partitioned,
    evaluators: Sequence[str | Fitted],
    references: pd.DataFrame | None,
    options: Mapping[str, Mapping[str, Any]] | None,
) -> Any:
    """Return a Dask DataFrame of scores, computed for each partition alone."""
    for name in evaluators:
        splittable = ("score_overlap", "score_self_bleu")
        if isinstance(name, str) and not _family(name).function.endswith(splittable):
            raise ValueError(
                f"{name} needs a Study. Only overlap with references, minus_self_bleu_4 and "
                "fitted evaluators can be scored in partitions."
            )
    empty = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _COLUMNS.items()})
    arguments = (list(evaluators), references, options, empty)
    return table.map_partitions(_score_partition, *arguments, meta=empty)


def _score_partition(
    rows: pd.DataFrame,
    evaluators: Sequence[Any],
    references: pd.DataFrame | None,
    options: Mapping[str, Mapping[str, Any]] | None,
    empty: pd.DataFrame,
) -> pd.DataFrame:
    """Score a partition of outputs as a study of its own."""
    if rows.empty:
        return empty
    if references is not None:
        references = references[references["item_id"].isin(rows["item_id"])]
    study = Study(rows.reset_index(drop=True), references=references)
    scores = score(study, evaluators, options=options).scores
    assert scores is not None
    return scores[list(_COLUMNS)]


def _family(name: str) -> _Family:
    for family in _FAMILIES:
        if re.fullmatch(family.names, name):
            return family
    known_names = [example for family in _FAMILIES for example in family.examples]
    few = ", ".join(", ".join(family.examples[:5]) for family in _FAMILIES)
    raise ValueError(
        f"evaluators: {name!r} is unknown.{did_you_mean(name, known_names)} Examples: {few}."
    )


def needed_table(name: str) -> str:
    """Return the table that an evaluator needs besides outputs, or an empty text."""
    return _family(name).needs


def _options(
    names: Sequence[str], options: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Collect each name's options: its own, else its group's, else the defaults."""
    families = {name: _family(name) for name in names}
    takers = [name for name, family in families.items() if family.options]
    for key in options:
        known(key, [*takers, "overlap", "discriminators"], "options")
    options_of = {}
    for name, family in families.items():
        group = family.function.partition(":")[0]
        changes = {**options.get(group, {}), **options.get(name, {})}
        for keyword in changes:
            known(keyword, list(family.options), f"options of {name}")
        options_of[name] = {**family.options, **changes}
    return options_of


def _require(study: Study, family: _Family, name: str, references: pd.DataFrame | None) -> None:
    """Raise ValueError if the study lacks what an evaluator needs."""
    outputs, needs = study.outputs, family.needs
    if needs and (references if needs == "references" else getattr(study, needs)) is None:
        more = ", or pass references=nearest_references(study)" if needs == "references" else ""
        raise Unsupported(
            f"no_{needs}",
            f"{name} needs {needs}, but {study.name} has none. Add a table of {needs} to the "
            f"study{more}.",
        )
    textless = ("perplexity", "sentinels")
    if not family.function.startswith(textless) and not (outputs["text"] != "").any():
        raise Unsupported(
            "no_texts", f"{name} needs texts, but the outputs of {study.name} have none: add them."
        )
    if family.function.startswith("discriminators") and outputs["is_human"].nunique() < 2:
        raise Unsupported(
            "one_class",
            f"{name} needs human and machine outputs. Add the kind that {study.name} lacks.",
        )


def _warn_of_texts_without_blanks(study: Study, names: Sequence[str]) -> None:
    """Warn where evaluators would compare whole texts, because blanks do not separate words."""
    by_words = ("overlap:", "diversity:")
    splitting = [name for name in names if _family(name).function.startswith(by_words)]
    splitting = [name for name in splitting if not re.search("@tokenize|chrf$", name)]
    if splitting and (tokenizer := tokenizer_for(study.outputs["text"])):
        warnings.warn(
            f"the texts of {study.name} have few blanks, so {', '.join(splitting)} would compare "
            f"whole texts instead of words: append @tokenize:{tokenizer} to BLEU, ROUGE and "
            "diversity, or use chrf.",
            stacklevel=4,
        )


def _score_fitted(study: Study, evaluator: Fitted) -> pd.DataFrame:
    for attribute in ("name", "signature", "score_outputs"):
        if not hasattr(evaluator, attribute):
            raise ValueError(
                f"{evaluator!r} is neither a name nor a fitted evaluator: it lacks {attribute!r}."
            )
    scores = evaluator.score_outputs(study)
    ids = study.outputs[["output_id"]]
    strange = set(scores.index) - set(ids["output_id"])
    if strange or scores.index.has_duplicates:
        raise ValueError(
            f"score_outputs of {evaluator.name} must return one score per output_id. Its scores "
            f"({len(scores):,}) include duplicates or scores for unknown outputs ({len(strange)})."
        )
    score = ids["output_id"].map(scores).astype("float64")
    return ids.assign(evaluator=evaluator.name, score=score, signature=evaluator.signature)


def _add_scores(study: Study, table: str, new: pd.DataFrame, key: str) -> Study:
    """Add new rows; raise ValueError if the evaluator has different scores already."""
    former = getattr(study, table)
    if former is None:
        return study.replace(**{table: new})
    again = new["evaluator"].isin(former["evaluator"].unique())
    repeated = former[former["evaluator"].isin(new["evaluator"].unique())].merge(
        new[again], on=[key, "evaluator"], how="outer", suffixes=("", "_new")
    )
    same = repeated["signature"].eq(repeated["signature_new"])
    same &= np.isclose(repeated["score"], repeated["score_new"], rtol=1e-9, equal_nan=True)
    if not same.all():
        row = repeated[~same].iloc[0]
        raise ValueError(
            f"{study.name} already has different scores of {row['evaluator']!r}: {row['score']:g} "
            f"({row['signature']}), but now {row['score_new']:g} ({row['signature_new']}). "
            f"Remove the old ones first: study.replace({table}=...)."
        )
    if again.all():
        return study
    return study.replace(**{table: pd.concat([former, new[~again]], ignore_index=True)})


def add_sentinels(study: Study, *, dimension: str | None = None) -> Study:
    """Add sentinel scores: length, a constant and, with several systems, each system's mean."""
    if study.scores is None:
        return study
    names = ["length@sentinel", "constant@sentinel"]
    if len(study.systems) < 2:
        return score(study, names)
    options = {"system_mean@sentinel": {"dimension": dimension}}
    return score(study, [*names, *options], options=options)
