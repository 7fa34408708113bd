"""One call for all evaluators: `score` finds a name's family and adds its scores to a study."""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pandas as pd

from nlgbench.evaluators.partitions import Partitioned, score_partitions
from nlgbench.evaluators.stored import stored, stored_dir
from nlgbench.names import brief, did_you_mean, known
from nlgbench.study import Study
from nlgbench.study.checks import checked, read_table


class Fitted(Protocol):
    """An evaluator that was trained before: a comparator, a listener, a regressor, or one's own."""

    name: str
    signature: str

    def score_outputs(self, study: Study) -> pd.Series:
        """Score outputs; indexed by output_id."""


class _Family(NamedTuple):
    """Evaluators that one function scores."""

    names: str  # a regular expression of a whole name
    shown: tuple[str, ...]  # names, for messages
    module: str
    function: str
    takes: tuple[str, ...]  # keywords of `score` that it is given
    needs: str | None = None  # table of the study
    costly: tuple[str, ...] = ()  # names that are stored here where `keep` is given


_BLEU = tuple(f"bleu_{n}{style}" for style in ("", "@coco") for n in range(1, 5))
OVERLAP = (*_BLEU, "bleu_2_to_4", "rouge_1", "rouge_2", "rouge_l", "cider", "cider_d", "chrf")
_JUDGES = (
    *("svm", "naive_bayes", "logistic_regression", "random_forest", "xgboost"),
    *("lstm", "cnn", "cnn_lstm"),
)

_FAMILIES = (
    _Family(
        r"bleu_[1-4](@coco)?|bleu_2_to_4|rouge_[12l]|cider|cider_d|chrf|meteor",
        (*OVERLAP, "meteor"),
        "nlgbench.evaluators.overlap",
        "score_overlap",
        ("references", "options"),
        "references",
        ("meteor",),
    ),
    _Family(
        r"corpus_(bleu_[1-4](@coco)?|chrf)",
        (*(f"corpus_{name}" for name in _BLEU), "corpus_chrf"),
        "nlgbench.evaluators.overlap",
        "score_corpus",
        ("references", "options"),
        "references",
    ),
    _Family(
        r"(self_bleu|distinct|entropy)_[1-9]",
        ("self_bleu_4", "distinct_1", "distinct_2", "distinct_3", "entropy_1"),
        "nlgbench.evaluators.diversity",
        "score_diversity",
        (),
    ),
    _Family(
        r"minus_self_bleu_[1-9]",
        ("minus_self_bleu_4",),
        "nlgbench.evaluators.diversity",
        "score_self_bleu",
        (),
    ),
    _Family(
        r"training_overlap_[1-9]",
        ("training_overlap_4",),
        "nlgbench.evaluators.diversity",
        "score_training_overlap",
        ("options",),
    ),
    _Family(
        r"perplexity(@.+)?",
        ("perplexity",),
        "nlgbench.evaluators.perplexity",
        "score_perplexity",
        (),
        "logprobs",
    ),
    _Family(
        r"(length|constant|system_mean)@sentinel",
        ("length@sentinel", "constant@sentinel", "system_mean@sentinel"),
        "nlgbench.evaluators.sentinels",
        "score_sentinels",
        ("options",),
    ),
    _Family(
        rf"({'|'.join(_JUDGES)})_(meta|individual)(@[^/]+)?(/.+)?",
        tuple(
            f"{model}_{scope}@{labels}"
            for model in _JUDGES
            for scope in ("meta", "individual")
            for labels in ("natural", "majority", "natural/majority")
        ),
        "nlgbench.evaluators.discriminators",
        "score_discriminators",
        ("options", "clusters", "n_jobs", "keep", "seed", "progress"),
    ),
    _Family(
        r"(literal|pragmatic|context|ensemble)(_listener)?([@_]\d+)?",
        ("literal", "pragmatic", "context", "ensemble"),
        "nlgbench.evaluators.listeners.neural",
        "score_listeners",
        ("n_jobs", "seed", "keep"),
        "contexts",
    ),
)

#: Words for several names at once in `options`.
_GROUPS = {
    "overlap": "nlgbench.evaluators.overlap",
    "discriminators": "nlgbench.evaluators.discriminators",
}


@checked
def score(
    study: Study | Partitioned,
    evaluators: Sequence[str | Fitted],
    *,
    references: pd.DataFrame | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    clusters: str | None = None,
    n_jobs: int = 1,
    keep: str | os.PathLike | bool | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[str, int, int], object] | None = None,
) -> Study:
    """Score the outputs of a study by evaluators, and add what they say.

    Parameters
    ----------
    study : Study or Dask DataFrame
        Whose outputs are scored. Of a Dask DataFrame of outputs each partition is scored as a study
        of its own (extra ``cluster``): what compares texts of a system (``minus_self_bleu_4``, and
        document frequencies of CIDEr) needs all of a system's texts in one partition.
    evaluators : sequence of str or fitted object
        Names:

        - overlap with references: ``bleu_1`` to ``bleu_4`` (``@coco``: by pycocoevalcap's
          definition; ``bleu_2_to_4``: the mean), ``rouge_1``, ``rouge_2``, ``rouge_l``, ``chrf``,
          ``cider``, ``cider_d``, ``meteor`` (Java and the extra ``meteor``); of all texts of a
          system together: ``corpus_bleu_4@coco``, ``corpus_chrf``;
        - of systems: ``self_bleu_4`` (*lower* is more diverse), ``distinct_2``, ``entropy_2``; of
          outputs: ``minus_self_bleu_4`` (against the others of their system),
          ``training_overlap_4`` (nearness to the study's human texts);
        - ``perplexity`` (*lower* is better; under ``logprobs``'s model, or ``perplexity@model``);
        - discriminators: ``svm``, ``naive_bayes``, ``logistic_regression``, ``random_forest``,
          ``xgboost``, ``lstm``, ``cnn``, ``cnn_lstm``, followed by ``_meta`` (one for all systems)
          or ``_individual`` (one for each) and ``@natural`` (default) or ``@majority``, the labels
          trained on: 1 is human. ``/natural`` or ``/majority`` behind it: is that call wrong;
        - listeners: ``literal``, ``pragmatic``, ``context``, ``ensemble``;
        - what knows next to nothing of a text: ``length@sentinel`` (words), ``constant@sentinel``,
          ``system_mean@sentinel`` (the mean judgment of the system's other items).

        Objects that were trained before (a comparator, a listener, a regressor, or one's own) have
        ``name``, ``signature`` and ``score_outputs(study)``, a Series by output_id.
    references : DataFrame, optional
        ``item_id, reference_id, text`` in place of the study's (`nearest_references`). A reference
        whose ``reference_id`` is the ``output_id`` is the output itself, and not compared with it.
    options : mapping of str to mapping, optional
        Evaluator's name (or ``overlap``, ``discriminators`` for all of them) -> keywords. Overlap:
        ``lower`` (False; compare in lower case), ``group`` ("system": the column of outputs within
        whose values CIDEr counts document frequencies; None pools them).
        ``training_overlap_4``: ``n_neighbors`` (10), ``lower`` (False). Discriminators: ``search``
        (0 draws of hyper-parameters), ``n_folds`` (10). ``system_mean@sentinel``: ``dimension``.
    clusters : str, optional
        A column of outputs whose equal values discriminators' folds do not part; equal texts are
        never parted.
    n_jobs : int, default 1
        Folds, or listeners, that run at once.
    keep : path or True, optional
        A folder in which costly scores (discriminators, listeners, METEOR) are stored, and read
        again when data, options, seed and code are the same. True: the user's cache.
    seed : int or Generator, default 0
        Where the random numbers come from.
    progress : callable, optional
        Called with what is running, how many of its parts are done, and of how many.

    Returns
    -------
    Study
        With rows in ``scores`` (per output: score, and a signature that says how it was made) or
        ``system_scores``. An evaluator that is there already with the same signature and scores
        changes nothing. NaN where a score is undefined. Unless said otherwise higher is better. Of
        a Dask DataFrame: another, of ``scores``.

    Raises
    ------
    ValueError
        For an unknown name or option, with the nearest; when the study lacks what an evaluator
        needs; when it has been scored under the same name in another way.
    ImportError, FileNotFoundError
        When an extra, or Java, is missing; it is named.

    Notes
    -----
    Training is out of fold: no evaluator scores a text that it learned from. Definitions and
    sources stand in the functions of `nlgbench.evaluators`.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["1", "2"], "item_id": ["i", "i"]})
    >>> outputs = outputs.assign(system=["a", "b"], text=["the lid leaks", "it broke"])
    >>> references = pd.DataFrame({"item_id": ["i"], "reference_id": "r", "text": "the lid leaks"})
    >>> study = Study(outputs, references=references)
    >>> score(study, ["rouge_l"]).scores["score"].tolist()
    [1.0, 0.0]
    """
    names = [one for one in evaluators if isinstance(one, str)]
    if len(set(names)) < len(names):
        raise ValueError(f"evaluators must be a list, each named once. Got {evaluators!r}.")
    if references is not None:
        columns = "item_id:text reference_id:text text:text"
        references = read_table(references, columns, "references have")
    if not isinstance(study, Study | Partitioned):
        raise ValueError(f"study must be a Study or a Dask DataFrame. Got {brief(study)}.")
    if not isinstance(study, Study):
        _refuse_whole(names)
        found = score_partitions(score, study, evaluators, references, options or {})
        return cast(Study, found)
    given = {
        "references": study.references if references is None else references,
        "options": _options(names, options or {}),
        "clusters": clusters,
        "n_jobs": n_jobs,
        "keep": stored_dir() if keep is True else Path(keep) if keep else None,
        "seed": seed,
        "progress": progress,
    }
    if clusters is not None:
        known(clusters, [str(one) for one in study.outputs], "clusters")
    chosen: dict[_Family, list[str]] = {}
    for name in names:
        chosen.setdefault(_family(name), []).append(name)
    for family, asked in chosen.items():
        _require(study, family, asked, given)
    frames = [_scored(study, family, asked, given) for family, asked in chosen.items()]
    frames += [_said(study, one) for one in evaluators if not isinstance(one, str)]
    made = pd.concat([frame for frame in frames if "output_id" in frame] or [pd.DataFrame()])
    of_systems = [frame for frame in frames if "system" in frame]
    changes = {
        "scores": _added(study.scores, made, "output_id", study.name),
        "system_scores": _added(
            study.system_scores,
            pd.concat(of_systems or [pd.DataFrame()]),
            "system",
            study.name,
        ),
    }
    return study.replace(**{name: table for name, table in changes.items() if table is not None})


def _refuse_whole(names: Sequence[str]) -> None:
    """Refuse what partitions cannot score: what is not of one output and its references."""
    for name in names:
        if _family(name).function not in ("score_overlap", "score_self_bleu"):
            raise ValueError(
                f"{name} is not scored in partitions: overlap with references, "
                "minus_self_bleu_4 and fitted evaluators are. Score a Study."
            )


def _family(name: str) -> _Family:
    for family in _FAMILIES:
        if re.fullmatch(family.names, name):
            return family
    shown = [one for family in _FAMILIES for one in family.shown]
    few = ", ".join(", ".join(family.shown[:5]) for family in _FAMILIES)
    raise ValueError(
        f"evaluators: {name!r} is unknown.{did_you_mean(name, shown)} There are, among others: "
        f"{few}."
    )


def _options(
    names: Sequence[str], options: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Give each name its keywords, those of its group first."""
    takers = [name for name in names if "options" in _family(name).takes]
    for key in options:
        known(key, [*takers, *_GROUPS], "options")
    found = {}
    for name in names:
        module = _family(name).module
        wide = [
            options[group] for group, of in _GROUPS.items() if of == module and group in options
        ]
        found[name] = {**(wide[0] if wide else {}), **options.get(name, {})}
    return found


def _require(study: Study, family: _Family, names: list[str], given: Mapping[str, Any]) -> None:
    """Say what an evaluator needs and the study lacks."""
    outputs, one = study.outputs, names[0]
    if family.needs and given.get(family.needs, getattr(study, family.needs)) is None:
        more = " or references=nearest_references(study)" if family.needs == "references" else ""
        raise ValueError(
            f"{one} needs {family.needs}, and {study.name} has none: give Study("
            f"{family.needs}=...){more}."
        )
    textless = family.needs == "logprobs" or family.function == "score_sentinels"
    if not textless and not (outputs["text"] != "").any():
        raise ValueError(f"{one} needs texts, and the outputs of {study.name} have none.")
    if family.function == "score_discriminators" and outputs["is_human"].nunique() < 2:
        raise ValueError(f"{one} needs human and machine outputs; {study.name} has one kind.")


def _scored(
    study: Study, family: _Family, names: list[str], given: Mapping[str, Any]
) -> pd.DataFrame:
    function = getattr(importlib.import_module(family.module), family.function)
    asked = {name: given[name] for name in family.takes}
    costly = [name for name in names if name in family.costly and given["keep"] is not None]
    plain = [name for name in names if name not in costly]
    frames = [function(study, plain, **asked)] if plain else []
    for name in costly:
        data = {"outputs": study.outputs, "references": given["references"]}
        compute = functools.partial(function, study, [name], **asked)
        settings = {"options": given["options"][name]}
        frames.append(stored(name, compute, given=data | settings, folder=given["keep"]))
    return pd.concat(frames, ignore_index=True)


def _said(study: Study, evaluator: Fitted) -> pd.DataFrame:
    for part in ("name", "signature", "score_outputs"):
        if not hasattr(evaluator, part):
            raise ValueError(
                f"{evaluator!r} is no name and no fitted evaluator: it has no {part!r}."
            )
    said = evaluator.score_outputs(study)
    ids = study.outputs["output_id"]
    strange = set(said.index) - set(ids)
    if strange or said.index.has_duplicates:
        raise ValueError(
            f"score_outputs of {evaluator.name} must give one score for an output_id; it has "
            f"{len(said):,}, {len(strange)} of them of other outputs."
        )
    return pd.DataFrame(
        {
            "output_id": ids,
            "evaluator": evaluator.name,
            "score": ids.map(said).astype("float64"),
            "signature": evaluator.signature,
        }
    )


def _added(
    former: pd.DataFrame | None, made: pd.DataFrame, key: str, study: str
) -> pd.DataFrame | None:
    """Add rows; none where they are there already, and refuse other scores of the same name."""
    if made.empty or former is None:
        return None if made.empty else made
    fresh = []
    for name, rows in made.groupby("evaluator", sort=False):
        own = former[former["evaluator"] == name]
        if own.empty:
            fresh.append(rows)
            continue
        both = own.merge(rows, on=key, how="outer", suffixes=("", "_new"))
        same = both["signature"].eq(both["signature_new"])
        same &= np.isclose(both["score"], both["score_new"], rtol=1e-9, equal_nan=True)
        if not same.all():
            at = both[~same].iloc[0]
            raise ValueError(
                f"{study} has scores of {name!r} that were made in another way: "
                f"{at['signature']!r}, {at['score']:g}, and now {at['signature_new']!r}, "
                f"{at['score_new']:g}. Leave the former out by replace("
                f"{'scores' if key == 'output_id' else 'system_scores'}=...)."
            )
    return pd.concat([former, *fresh], ignore_index=True) if fresh else None
