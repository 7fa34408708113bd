"""Metrics: how much of an output's wording its references share, per output and per system."""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench import tables
from nlgbench.evaluators.overlap.bleu import Style, bleu, chrf, corpus_bleu, corpus_chrf
from nlgbench.evaluators.overlap.cider import cider
from nlgbench.evaluators.overlap.meteor import corpus_meteor, meteor
from nlgbench.evaluators.overlap.references import usable
from nlgbench.evaluators.overlap.rouge import rouge_l, rouge_n
from nlgbench.names import did_you_mean

Floats = NDArray[np.float64]

BLEUS = tuple(f"bleu_{n}" for n in range(1, 5))
#: What is scored unless others are asked for: all that needs no Java.
DEFAULT = (*BLEUS, "rouge_1", "rouge_2", "rouge_l", "cider", "cider_d", "chrf")
#: All there are; ``@coco`` marks BLEU by pycocoevalcap's definition.
METRICS = (*DEFAULT, *(f"{name}@coco" for name in BLEUS), "meteor")


def score_overlap(
    outputs: pd.DataFrame,
    references: pd.DataFrame,
    *,
    metrics: Sequence[str] = DEFAULT,
    group: str | None = "system",
) -> pd.DataFrame:
    """Score outputs against the references of their items.

    Parameters
    ----------
    outputs, references : DataFrame
        Tables of these names. Words are what whitespace separates: lower-case and tokenize both
        before (METEOR does so itself). A reference whose ``reference_id`` is the ``output_id`` is
        the output itself, and is not among its references; so human texts are scored leave-one-out
        where their ids agree.
    metrics : sequence of str
        Of `METRICS`. ``"meteor"`` needs Java and the extra ``meteor``.
    group : str, optional
        Column of `outputs` within whose values, in each dataset, CIDEr counts document
        frequencies. Default: each system for itself, as when pycocoevalcap is run per system.
        None: pooled over each dataset. What suits no column is for `cider` itself.

    Returns
    -------
    DataFrame
        A `scores` table: metrics in the order asked for, outputs in theirs. Higher is better; 0 to
        1, CIDEr and CIDEr-D 0 to 10. NaN where an output has no reference with words (or see
        `cider`, `rouge_n`); 0 for an output without words. The signature says whose definition it
        is, and with what options.

    Raises
    ------
    TableError
        If a table breaks its rules.
    ValueError
        For an unknown metric or column, or a metric named twice.
    ModuleNotFoundError, FileNotFoundError
        For METEOR without pycocoevalcap or Java.

    Notes
    -----
    Scores are of single outputs: put intervals on what is made of them, by resampling items.

    Examples
    --------
    >>> common = {"dataset": "d", "item_id": ["i"]}
    >>> output = pd.DataFrame({**common, "output_id": "o", "system": "s", "text": "the lid leaks"})
    >>> output = output.assign(is_human=False, context="")
    >>> reference = pd.DataFrame({**common, "reference_id": "r", "text": "the lid leaks badly"})
    >>> table = score_overlap(output, reference, metrics=["rouge_1", "bleu_4"])
    >>> table[["output_id", "evaluator", "score"]].round(3).to_numpy().tolist()
    [['o', 'rouge_1', 0.857], ['o', 'bleu_4', 0.717]]
    """
    _check(metrics, group)
    outputs, lists = _joined(outputs, references)
    scores = _scores(outputs, lists, metrics, group)
    rows = [
        outputs[["dataset", "output_id"]].assign(
            evaluator=metric, score=scores[metric], signature=_signature(metric, group)
        )
        for metric in metrics
    ]
    return tables.check(pd.concat(rows), "scores")


def score_systems(
    outputs: pd.DataFrame,
    references: pd.DataFrame,
    *,
    metrics: Sequence[str] = DEFAULT,
    group: str | None = "system",
) -> pd.DataFrame:
    """Score systems against the references of their outputs' items.

    Parameters
    ----------
    outputs, references, metrics, group
        As in `score_overlap`.

    Returns
    -------
    DataFrame
        A `system_scores` table: metrics in the order asked for, systems in order of appearance.
        BLEU, chrF and METEOR are those of all texts together, from summed counts (`corpus_bleu`,
        `corpus_chrf`, `corpus_meteor`); the others are means over outputs. Outputs that are scored
        NaN are left out; the signature counts the rest (``outputs:147/150``). NaN where none is.

    Raises
    ------
    TableError, ValueError, ModuleNotFoundError, FileNotFoundError
        As `score_overlap`.

    Notes
    -----
    No intervals: the table has no room for them. Resample items, and score each resample.

    Examples
    --------
    >>> common = {"dataset": "d", "item_id": ["i"]}
    >>> output = pd.DataFrame({**common, "output_id": "o", "system": "s", "text": "the lid leaks"})
    >>> output = output.assign(is_human=False, context="")
    >>> reference = pd.DataFrame({**common, "reference_id": "r", "text": "the lid leaks badly"})
    >>> score_systems(output, reference, metrics=["bleu_1@coco"])["signature"].item()[-24:]
    'level:corpus|outputs:1/1'
    """
    _check(metrics, group)
    outputs, lists = _joined(outputs, references)
    texts = outputs["text"].tolist()
    summed = [metric for metric in metrics if metric.startswith(("bleu_", "chrf", "meteor"))]
    scores = _scores(outputs, lists, [name for name in metrics if name not in summed], group)
    has_references = np.array([len(found) > 0 for found in usable(texts, lists)], dtype=bool)
    systems = list(_rows(outputs, "dataset system"))
    meteors = corpus_meteor(texts, lists, group=systems) if "meteor" in summed else {}

    rows = []
    members: dict[tuple[str, ...], list[int]] = {}
    for at, key in enumerate(systems):
        members.setdefault(key, []).append(at)
    for metric in metrics:
        for key, places in members.items():
            own = [texts[at] for at in places], [lists[at] for at in places]
            if metric == "meteor":
                score = meteors[key]
            elif metric == "chrf":
                score = corpus_chrf(*own)
            elif metric in summed:
                n, style = _bleu_kind(metric)
                score = corpus_bleu(*own, max_n=n, style=style)[-1]
            else:
                score = pd.Series(scores[metric][places]).mean()
            counted = has_references if metric in summed else ~np.isnan(scores[metric])
            signature = _signature(metric, group, level="corpus" if metric in summed else "mean")
            signature += f"|outputs:{counted[places].sum()}/{len(places)}"
            rows.append((*key, metric, score, signature))
    frame = pd.DataFrame(rows, columns=tables.columns("system_scores"))
    return tables.check(frame, "system_scores")


def mean_of(scores: pd.DataFrame, evaluators: Sequence[str], name: str) -> pd.DataFrame:
    """Average the scores of several evaluators for each output.

    Parameters
    ----------
    scores : DataFrame
        A `scores` table, such as from `score_overlap`.
    evaluators : sequence of str
        Those to average, in units that can be averaged.
    name : str
        What the mean is called.

    Returns
    -------
    DataFrame
        A `scores` table of evaluator `name`, outputs in the order in which they first appear. NaN
        where one of the scores is. The signature holds those of all of them.

    Raises
    ------
    TableError
        If the table breaks its rules.
    ValueError
        If an evaluator is unknown, or has not scored an output that another has.

    Notes
    -----
    "BLEU (average of 2-, 3-, 4-grams)" of Zhou and Xu (2020, section 4.1,
    doi:10.1609/aaai.v34i05.6521) is read here as the mean of sentence BLEU-2, BLEU-3 and BLEU-4,
    each with the smoothing that its signature names; the paper says neither.

    Examples
    --------
    >>> scores = pd.DataFrame({"dataset": "d", "output_id": ["o"] * 3, "signature": "of x"})
    >>> scores = scores.assign(evaluator=["bleu_2", "bleu_3", "bleu_4"], score=[0.6, 0.3, 0.0])
    >>> mean_of(scores, ["bleu_2", "bleu_3", "bleu_4"], "bleu_2_to_4")["score"].item()
    0.3
    """
    table = tables.check(scores, "scores")
    known = list(table["evaluator"].unique())
    for evaluator in evaluators:
        if evaluator not in known:
            hint = did_you_mean(evaluator, known)
            raise ValueError(f"no scores of {evaluator!r}.{hint} There are: {', '.join(known)}.")
    chosen = table[table["evaluator"].isin(evaluators)]
    groups = chosen.groupby(["dataset", "output_id"], sort=False)
    few = groups.size().ne(len(set(evaluators)))
    if not len(evaluators) or few.any():
        raise ValueError(
            f"mean_of averages scores of the same outputs. Of {len(few)} outputs {few.sum()} lack "
            f"some of {list(evaluators)}: score all of them by each, and name one at least."
        )
    found = groups["score"].mean(skipna=False).reset_index()
    parts = groups["signature"].agg(" + ".join).to_numpy()
    signature = f"mean of {', '.join(evaluators)}: " + pd.Series(parts, dtype="str")
    return tables.check(found.assign(evaluator=name, signature=signature), "scores")


def _check(metrics: Sequence[str], group: str | None) -> None:
    if isinstance(metrics, str) or not metrics or len(set(metrics)) < len(metrics):
        raise ValueError(f"metrics must name different metrics, at least one. Got {metrics!r}.")
    for name, known, kind in [
        *((metric, METRICS, "metrics") for metric in metrics),
        *((column, tables.columns("outputs"), "group") for column in [group] if column is not None),
    ]:
        if name not in known:
            raise ValueError(
                f"{kind}: {name!r} is unknown.{did_you_mean(name, known)} There are: "
                f"{', '.join(known)}."
            )


def _joined(
    outputs: pd.DataFrame, references: pd.DataFrame
) -> tuple[pd.DataFrame, list[list[str]]]:
    """Check the tables, and list the references of each output, itself left out."""
    outputs = tables.check(outputs, "outputs")
    references = tables.check(references, "references")
    items: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for dataset, item, *reference in _rows(references, "dataset item_id reference_id text"):
        items.setdefault((dataset, item), []).append((reference[0], reference[1]))
    lists = [
        [text for name, text in items.get((dataset, item), []) if name != output]
        for dataset, item, output in _rows(outputs, "dataset item_id output_id")
    ]
    return outputs, lists


def _rows(frame: pd.DataFrame, names: str) -> Iterator[tuple[str, ...]]:
    return zip(*(frame[name].tolist() for name in names.split()), strict=True)


def _scores(
    outputs: pd.DataFrame, lists: list[list[str]], metrics: Sequence[str], group: str | None
) -> dict[str, Floats]:
    texts = outputs["text"].tolist()
    labels = list(_rows(outputs, "dataset" if group is None else f"dataset {group}"))
    scorers: dict[str, Callable[[], Floats]] = {
        "rouge_1": lambda: rouge_n(texts, lists, n=1),
        "rouge_2": lambda: rouge_n(texts, lists, n=2),
        "rouge_l": lambda: rouge_l(texts, lists),
        "cider": lambda: cider(texts, lists, variant="cider", group=labels),
        "cider_d": lambda: cider(texts, lists, variant="cider_d", group=labels),
        "chrf": lambda: chrf(texts, lists),
        "meteor": lambda: meteor(texts, lists),
    }
    scores = {metric: scorers[metric]() for metric in metrics if metric in scorers}
    wanted = {metric: _bleu_kind(metric) for metric in metrics if metric not in scorers}
    for style in {style for _, style in wanted.values()}:
        of_order = bleu(texts, lists, style=style)
        scores |= {name: of_order[:, n - 1] for name, (n, kind) in wanted.items() if kind == style}
    return scores


def _bleu_kind(metric: str) -> tuple[int, Style]:
    name, _, style = metric.partition("@")
    return int(name[-1]), "coco" if style else "sacrebleu"


def _signature(metric: str, group: str | None, *, level: str = "output") -> str:
    """Say whose definition a score is, as sacrebleu's signatures do."""
    words = "refs:all|case:as given|tok:whitespace"
    if metric == "meteor":
        found = f"METEOR 1.5, -l en -norm|refs:all|pycocoevalcap:{version('pycocoevalcap')}"
    elif metric == "chrf":
        found = f"chrF2|refs:all|case:as given|nc:6|nw:0|sacrebleu:{version('sacrebleu')}"
    elif metric.endswith("@coco"):
        found = (
            f"pycocoevalcap's BLEU-{_bleu_kind(metric)[0]}|{words}|closest length|noise:1e-15/1e-9"
        )
    elif metric.startswith("bleu_"):
        effective = "yes" if level == "output" else "no"
        found = (
            f"BLEU-{metric[-1]}|{words}|eff:{effective}|smooth:exp|sacrebleu:{version('sacrebleu')}"
        )
    elif metric == "rouge_l":
        found = f"pycocoevalcap's ROUGE-L|{words}|beta:1.2"
    elif metric.startswith("rouge_"):
        found = f"ROUGE-{metric[-1]} (Lin 2004)|{words}|F1 of the best|stem:no"
    else:
        of = "dataset" if group is None else group
        name = {"cider": "CIDEr", "cider_d": "CIDEr-D (pycocoevalcap's CIDEr)"}[metric]
        found = f"{name}|{words}|n:1-4|df per:{of}|stem:no"
        found += "|sigma:6" if metric == "cider_d" else ""
    scale = "0-10" if metric.startswith("cider") else "0-1"
    return f"{found}|scale:{scale}|level:{level}"
