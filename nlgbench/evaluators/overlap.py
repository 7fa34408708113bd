"""Word-overlap metrics, such as BLEU, ROUGE, chrF and CIDEr, which compare outputs with references.

Metrics take a list of texts, and a list of references for each. Words are separated by white space.
A text without usable references is scored NaN, and an empty text with references 0. Higher is
better, from 0 to 1 (CIDEr and CIDEr-D: 0 to 10). `score_overlap` and `score_corpus` score a study.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import chain, zip_longest
from operator import truediv
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nlgbench.arrays import Floats
from nlgbench.evaluators.meteor import meteor
from nlgbench.evaluators.references import reference_lists, usable
from nlgbench.evaluators.stored import stored
from nlgbench.evaluators.tokenizers import split_name, tokenized
from nlgbench.names import known
from nlgbench.study import Study
from nlgbench.text import ngram_matrix

Style = Literal["sacrebleu", "coco"]

#: The highest order of BLEU.
_MOST = 4


def bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, style: Style = "sacrebleu"
) -> Floats:
    """Score texts by sentence BLEU-1 to BLEU-4: an array of shape (n, 4).

    Papineni et al. (2002, doi:10.3115/1073083.1073135); the brevity penalty uses the closest
    reference length, the shorter one in a tie. Both styles use sacrebleu's counts (Post 2018,
    doi:10.18653/v1/W18-6319). ``sacrebleu``: missing n-grams are smoothed exponentially, and orders
    longer than the text are left out. ``coco``: the definition of pycocoevalcap (and nlg-eval),
    which adds 1e-15 to matches and 1e-9 to totals.
    """
    usable_lists = usable(references)
    scores = np.full((len(usable_lists), _MOST), np.nan)
    for row, text, listed in zip(scores, hypotheses, usable_lists, strict=True):
        if listed:
            row[:] = _bleu(_bleu_counts(text, listed), style, effective_order=True)
    return scores


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, style: Style = "sacrebleu"
) -> Floats:
    """Compute corpus BLEU from summed counts and lengths; both styles use all orders."""
    pairs = zip(hypotheses, usable(references), strict=True)
    counts = [_bleu_counts(text, listed) for text, listed in pairs if listed]
    if not counts:
        return np.full(_MOST, np.nan)
    return np.array(_bleu(np.sum(counts, axis=0), style, effective_order=False))


@functools.cache
def _counter() -> Any:
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize="none", max_ngram_order=_MOST, effective_order=True)


def _bleu_counts(hypothesis: str, references: list[str]) -> NDArray[np.int64]:
    """Return counts of matches and n-grams (four each), then text and reference lengths."""
    score = _counter().sentence_score(hypothesis, references)
    return np.array([*score.counts, *score.totals, score.sys_len, score.ref_len])


def _bleu(counts: NDArray[np.int64], style: str, *, effective_order: bool) -> list[float]:
    from sacrebleu.metrics import BLEU

    correct, total, (length, closest) = np.split(counts, [_MOST, 2 * _MOST])
    if style == "coco":
        tiny, small = 1e-15, 1e-9
        ratio = (length + tiny) / (closest + small)
        product = np.cumprod((correct + tiny) / (total + small))
        penalty = np.exp(min(0, 1 - 1 / ratio))
        return list(product ** (1 / np.arange(1, _MOST + 1)) * penalty)
    return [
        BLEU.compute_bleu(
            correct=correct[:n].tolist(),
            total=total[:n].tolist(),
            sys_len=int(length),
            ref_len=int(closest),
            smooth_method="exp",
            effective_order=effective_order,
            max_ngram_order=n,
        ).score
        / 100
        for n in range(1, _MOST + 1)
    ]


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Floats:
    """Score texts by chrF against the best-matching reference.

    Popovic (2015, doi:10.18653/v1/W15-3049), by sacrebleu: character n-grams of order 1 to 6, no
    word n-grams, beta 2. White space is ignored.
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    return np.array(
        [
            metric.sentence_score(hypothesis, texts).score / 100 if texts else np.nan
            for hypothesis, texts in zip(hypotheses, usable(references), strict=True)
        ]
    )


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Compute corpus chrF from summed counts."""
    from sacrebleu.metrics import CHRF

    usable_lists = usable(references)
    texts = [text for text, listed in zip(hypotheses, usable_lists, strict=True) if listed]
    if not texts:
        return np.nan
    streams = list(zip_longest(*(listed for listed in usable_lists if listed)))
    return float(CHRF().corpus_score(texts, streams).score / 100)


def rouge_n(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, n: int) -> Floats:
    """Score texts by ROUGE-N against the best-matching reference.

    Lin (2004, section 2, ACL Anthology W04-1013), with the maximum over references as in section
    2.1. The score is F1, as is common today; Lin defines recall. Words are not stemmed. NaN also
    where no reference has `n` words.
    """
    usable_lists = usable(references)
    counts, order = ngram_matrix([*hypotheses, *chain.from_iterable(usable_lists)], max_n=n)
    counts = counts[:, order == n]
    owner = np.repeat(np.arange(len(usable_lists)), [len(texts) for texts in usable_lists])
    hypothesis, reference = counts[: len(usable_lists)][owner], counts[len(usable_lists) :]
    common = hypothesis.minimum(reference).sum(axis=1)
    size = reference.sum(axis=1)
    score = 2 * common / np.where(size > 0, hypothesis.sum(axis=1) + size, np.nan)
    best = np.full(len(usable_lists), np.nan)
    np.fmax.at(best, owner, score)
    return best


def rouge_l(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, beta: float = 1.2
) -> Floats:
    """Score texts by ROUGE-L, the longest common subsequence.

    Lin (2004, section 3, ACL Anthology W04-1013): ``(1 + beta^2) P R / (R + beta^2 P)``; the
    default `beta` is pycocoevalcap's. As there, a text is one sentence, and precision P and recall
    R are maximized separately.
    """
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    # Texts with the same references, such as several systems' outputs for an item, share a call.
    sharing: dict[tuple[str, ...], list[int]] = {}
    for index, listed in enumerate(usable(references)):
        sharing.setdefault(tuple(listed), []).append(index)
    sharing.pop((), None)
    scores = np.full(len(hypotheses), np.nan)
    for shared, indexes in sharing.items():
        texts = [hypotheses[index].split() for index in indexes]
        against = [reference.split() for reference in shared]
        sizes = [len(reference) for reference in against]
        # rapidfuzz compares words by their 64-bit hashes.
        common = cdist(texts, against, scorer=LCSseq.similarity, dtype=np.int64).tolist()
        for index, tokens, lengths in zip(indexes, texts, common, strict=True):
            p, r = max(lengths) / max(1, len(tokens)), max(map(truediv, lengths, sizes))
            scores[index] = (1 + beta**2) * p * r / (r + beta**2 * p) if r > 0 else 0.0
    return scores


def cider(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    variant: Literal["cider_d", "cider"] = "cider_d",
    group: Sequence[Hashable] | None = None,
) -> Floats:
    """Score texts by CIDEr-D or CIDEr; document frequencies are counted within each `group`.

    Vedantam, Zitnick and Parikh (2015, section 4 and the paragraph on CIDEr-D,
    doi:10.1109/CVPR.2015.7299087). A hypothesis's references form one document. The weight of an
    n-gram is its count times ``ln N - ln max(1, df)``, with N documents in the group. For one
    reference, CIDEr-D is ``10 exp(-(difference in words)^2 / (2 * 6^2)) * sum(min(h, r) * r) / (|h|
    |r|)``, and CIDEr is ``10 sum(h * r) / (|h| |r|)``, averaged over n-gram orders 1 to 4, then
    over references. The factor 10 and raw counts as weights are from its authors' code (and
    pycocoevalcap), not from the paper. NaN where only one hypothesis of a group has references,
    because all weights are then 0.
    """
    usable_lists = usable(references)
    labels = [0] * len(usable_lists) if group is None else list(group)
    scores = np.full(len(usable_lists), np.nan)
    members: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        if usable_lists[row]:
            members.setdefault(label, []).append(row)
    for rows in members.values():
        if len(rows) > 1:
            listed = [hypotheses[row] for row in rows], [usable_lists[row] for row in rows]
            scores[rows] = _cider_of_group(*listed, variant)
    return scores


def _cider_of_group(hypotheses: list[str], references: list[list[str]], variant: str) -> Floats:
    n = len(hypotheses)
    n_references = np.array([len(texts) for texts in references])
    counts, order = ngram_matrix([*hypotheses, *chain.from_iterable(references)], max_n=4)
    # A pair is a hypothesis with one of its references, in the order of the references.
    owner = np.repeat(np.arange(n), n_references)
    pairs = np.arange(len(owner))
    document = csr_array((np.ones(len(owner)), (owner, pairs)), shape=(n, len(owner))) @ counts[n:]
    df = np.bincount(document.indices, minlength=len(order))
    idf = np.log(n) - np.log(np.maximum(1, df))
    n_words = counts @ (order == 1)
    weight = counts.copy()
    weight.data *= idf[weight.indices]

    of_order = (order[:, None] == np.arange(1, 5)).astype(np.float64)
    norm = np.sqrt(weight.multiply(weight) @ of_order)
    hypothesis, reference = weight[:n][owner], weight[n:]
    matched = hypothesis.minimum(reference) if variant == "cider_d" else hypothesis
    dot = matched.multiply(reference) @ of_order
    norms = norm[:n][owner] * norm[n:]
    similar = np.divide(dot, norms, out=np.zeros_like(dot), where=norms > 0)
    if variant == "cider_d":
        difference = n_words[:n][owner] - n_words[n:]
        similar *= np.exp(-(difference**2) / (2 * 6.0**2))[:, None]
    total = np.bincount(owner, weights=similar.mean(axis=1), minlength=n)
    return 10 * total / n_references


#: Metrics of a text and its references: their functions and definitions. BLEU, CIDEr and METEOR
#: are not among them: they share counts of several orders, texts of a system, or a Java process.
_METRICS: dict[str, tuple[Callable[..., Floats], str]] = {
    "rouge_1": (partial(rouge_n, n=1), "ROUGE-1 (Lin 2004)|{common}|F1 of the best|stem:no"),
    "rouge_2": (partial(rouge_n, n=2), "ROUGE-2 (Lin 2004)|{common}|F1 of the best|stem:no"),
    "rouge_l": (rouge_l, "pycocoevalcap's ROUGE-L|{common}|beta:1.2"),
    "chrf": (chrf, "chrF2|refs:all|case:{case}|nc:6|nw:0|sacrebleu:{sacrebleu}"),
}


def score_overlap(
    study: Study,
    names: Sequence[str],
    *,
    references: pd.DataFrame,
    options: Mapping[str, Mapping[str, Any]],
    keep: Path | None,
) -> pd.DataFrame:
    """Score outputs against the references of their items: a row per metric and output."""
    texts = functools.cache(partial(_lay_out_texts, study, references))
    all_bleu = functools.cache(lambda style, *how: bleu(*texts(*how), style=style))

    def by_meteor(lower: bool) -> pd.DataFrame:
        return study.outputs[["output_id"]].assign(score=meteor(*texts(lower)))

    frames = []
    for full_name in names:
        name, tokenizer = split_name(full_name)
        lower, group = options[full_name]["lower"], options[full_name]["group"]
        if name.startswith("bleu_"):
            orders, style = _bleu_kind(name)
            score = all_bleu(style, lower, tokenizer)[:, orders].mean(axis=1)
        elif name.startswith("cider"):
            labels = None
            if group is not None:
                known(group, [str(column) for column in study.outputs], f"options of {name}: group")
                labels = study.outputs[group].tolist()
            score = cider(*texts(lower), variant=name, group=labels)  # type: ignore[arg-type]
        elif name == "meteor":
            data = {"outputs": study.outputs, "references": references, "options": options[name]}
            meteor_scores = stored(name, partial(by_meteor, lower), inputs=data, folder=keep)
            score = meteor_scores["score"].to_numpy()
        else:
            score = _METRICS[name][0](*texts(lower, tokenizer))
        how = signature(full_name, lower=lower, group=group)
        frames.append(
            study.outputs[["output_id"]].assign(evaluator=full_name, score=score, signature=how)
        )
    return pd.concat(frames, ignore_index=True)


def score_corpus(
    study: Study,
    names: Sequence[str],
    *,
    references: pd.DataFrame,
    options: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Compute corpus metrics of each system from summed counts: a row per metric and system."""
    texts_of = functools.cache(partial(_lay_out_texts, study, references))
    rows = []
    for name in names:
        metric, tokenizer = split_name(name.removeprefix("corpus_"))
        lower = options[name]["lower"]
        all_texts, all_lists = texts_of(lower, tokenizer)
        for system, positions in study.outputs.groupby("system", sort=False).indices.items():
            texts, lists = [all_texts[n] for n in positions], [all_lists[n] for n in positions]
            if metric == "chrf":
                score = corpus_chrf(texts, lists)
            else:
                orders, style = _bleu_kind(metric)
                score = corpus_bleu(texts, lists, style=style)[orders].item()
            how = signature(name.removeprefix("corpus_"), lower=lower, level="corpus")
            how += f"|outputs:{sum(map(bool, usable(lists)))}/{len(positions)}"
            rows.append((system, name, score, how))
    return pd.DataFrame(rows, columns=["system", "evaluator", "score", "signature"])


def _lay_out_texts(
    study: Study, references: pd.DataFrame, lower: bool, tokenizer: str = ""
) -> tuple[list[str], list[list[str]]]:
    outputs = study.outputs
    if lower:
        outputs = outputs.assign(text=outputs["text"].str.lower())
        references = references.assign(text=references["text"].str.lower())
    if tokenizer:
        outputs = outputs.assign(text=tokenized(outputs["text"], tokenizer))
        references = references.assign(text=tokenized(references["text"], tokenizer))
    return outputs["text"].tolist(), reference_lists(outputs, references)


def _bleu_kind(metric: str) -> tuple[slice, Style]:
    """Return the slice of BLEU orders that a metric averages, and its style."""
    name, _, style = metric.partition("@")
    n = int(name[-1])
    return slice(1 if name == "bleu_2_to_4" else n - 1, n), "coco" if style else "sacrebleu"


def signature(metric: str, *, lower: bool, group: str | None = None, level: str = "output") -> str:
    """Describe how a score is defined, in the form of sacrebleu's signatures."""
    case = "lower" if lower else "as given"
    metric, tokenizer = split_name(metric)
    common = f"refs:all|case:{case}|tok:{tokenizer or 'whitespace'}"
    name, _, style = metric.partition("@")
    order = "2 to 4, mean" if metric == "bleu_2_to_4" else name[-1]
    if metric == "meteor":
        definition = f"METEOR 1.5, -l en -norm|refs:all|pycocoevalcap:{version('pycocoevalcap')}"
    elif metric in _METRICS:
        definition = _METRICS[metric][1].format(
            common=common, case=case, sacrebleu=version("sacrebleu")
        )
    elif style:
        definition = f"pycocoevalcap's BLEU-{order}|{common}|closest length|noise:1e-15/1e-9"
    elif metric.startswith("bleu_"):
        effective = "yes" if level == "output" else "no"
        definition = f"BLEU-{order}|{common}|eff:{effective}|smooth:exp"
        definition += f"|sacrebleu:{version('sacrebleu')}"
    else:
        name = {"cider": "CIDEr", "cider_d": "CIDEr-D (pycocoevalcap's CIDEr)"}[metric]
        definition = f"{name}|{common}|n:1-4|df per:{group or 'study'}|stem:no"
        definition += "|sigma:6" if metric == "cider_d" else ""
    scale = "0-10" if metric.startswith("cider") else "0-1"
    return f"{definition}|scale:{scale}|level:{level}"
