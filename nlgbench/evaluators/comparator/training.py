"""The comparative evaluator: which of two texts is better, or is it a tie.

Zhou and Xu (2020), Learning to Compare, doi:10.1609/aaai.v34i05.6521. What it learns from is in
`pairs`, what it is made of in `backends`, and what it says in `comparisons`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import sklearn

from nlgbench.evaluators.comparator.backends import (
    BACKENDS,
    BETTER,
    SIDES,
    SWAPPED,
    TIE,
    WORSE,
    Ints,
    Predict,
    curriculum,
    fit_tfidf,
)
from nlgbench.names import did_you_mean

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder


@dataclass(frozen=True, eq=False)
class Comparator:
    """A trained comparative evaluator.

    Attributes
    ----------
    name : str
        Such as ``frozen@strong+human``: the backend, and after @ what it was trained on.
    predict : callable
        From rows of `backends` to probabilities.
    classes : tuple of int
        What its columns are: 0 a is better, 1 tie, 2 a is worse; of a text alone 0 worse, 1 better.
    seen : frozenset of str
        The texts that it was trained on.
    compares : bool
        False for the adversarial evaluator, which sees one text at a time.
    ties : bool
        Whether it may answer that two texts tie.
    signature : str
        How it was made.
    """

    name: str
    predict: Predict
    classes: tuple[int, ...]
    seen: frozenset[str]
    compares: bool
    ties: bool
    signature: str


def train_comparator(
    pairs: pd.DataFrame,
    *,
    backend: Literal["frozen", "cross_encoder", "tfidf"] = "frozen",
    compares: bool = True,
    ties: bool = True,
    encoder: Encoder | str | None = None,
    seed: int | np.random.Generator,
    progress: Callable[[dict[str, float]], object] | None = None,
) -> Comparator:
    """Train a comparative evaluator on pairs.

    Parameters
    ----------
    pairs : DataFrame
        From `strong_pairs`, `weak_pairs` and `human_pairs`, of training texts: one of them, or
        several after one another. Leaving a kind out is the paper's ablation of it.
    backend : {"frozen", "cross_encoder", "tfidf"}
        ``"frozen"``: embeddings from a frozen encoder, with a small network on top.
        ``"cross_encoder"``: the encoder reads both texts at once and is fine-tuned, as in the
        paper; slow without a GPU. ``"tfidf"``: logistic regression; it needs no extra.
    compares : bool
        False: the ablation "without comparison", an adversarial evaluator. It learns the
        probability p that a text alone is the better one (with strong pairs: the human one), and
        pairs that tie teach it nothing.
    ties : bool
        False: the ablation without the tie option. Pairs that tie are left out of training.
    encoder : Encoder or str, optional
        From `encoder.load_encoder` (it remembers embeddings, and may be untrained, which is the
        ablation without pretraining), or the name or folder of a Hugging Face model. Default: that
        of the extra ``encoder``. Not for ``"tfidf"``.
    seed : int or Generator
        Where the random numbers come from.
    progress : callable, optional
        As in `training.fit`.

    Returns
    -------
    Comparator
        For `comparisons.compare`.

    Raises
    ------
    ValueError
        When a name is unknown, a column is missing, or pairs hold nothing to learn from.
    ImportError
        Without an extra that the backend needs; it names it.

    Notes
    -----
    Maximum likelihood (the paper's equation 1) on every pair in both orders, each pair with the
    same weight. ``"frozen"`` and ``"cross_encoder"`` go through the stages of
    `backends.curriculum`; the fit of ``"tfidf"`` does not depend on the order. Where no
    pair ties, a tie is never the answer.

    Strong supervision alone can invert the order of systems: to be told from people is not to be
    judged worse. On the reviews of Judge the Judges (12 systems, held-out texts, five splits) the
    Spearman correlation of systems' mean points with the human votes was -.68 (-.74 to -.59) on
    the frozen encoder and -.78 (-.80 to -.76) on TF-IDF; with human pairs of machine texts it was
    .86 (.82 to .91) and .76 (.74 to .78).

    Examples
    --------
    >>> from nlgbench.evaluators.comparator.draws import system_pairs
    >>> from nlgbench.evaluators.comparator.pairs import strong_pairs
    >>> from nlgbench.evaluators.comparator.comparisons import compare
    >>> row = {"dataset": "d", "item_id": "1", "context": ""}
    >>> texts = [f"good {n}" for n in "abcd"] + [f"bad {n}" for n in "abcd"]
    >>> outputs = pd.DataFrame([{**row, "output_id": text, "text": text} for text in texts])
    >>> outputs["is_human"] = outputs["text"].str.startswith("good")
    >>> outputs["system"] = outputs["is_human"].map({True: "human", False: "m"})
    >>> comparator = train_comparator(strong_pairs(outputs, seed=0), backend="tfidf", seed=0)
    >>> new = outputs.iloc[[0, 4]].assign(text=["good e", "bad e"])
    >>> found = compare(comparator, new, system_pairs(new, human=True, seed=0))
    >>> found["comparator"].item(), bool((found["prob_a"] > 0.5).item())
    ('tfidf@strong', True)
    """
    _check(pairs, backend, encoder)
    number = int(np.random.default_rng(seed).integers(2**31))
    if not ties or not compares:
        pairs = pairs[pairs["outcome"] == "better"]
    if not pairs["outcome"].eq("better").any():
        raise ValueError("no pair has a better text: lower the threshold of ties, or add pairs.")
    pairs = pairs.reset_index(drop=True)
    rows, labels = _both_orders(pairs) if compares else _alone(pairs)
    classes, codes = np.unique(labels, return_inverse=True)
    if backend == "tfidf":
        predict = fit_tfidf(rows, codes, seed=number)
        made = f"scikit-learn {sklearn.__version__}"
    else:
        from nlgbench.evaluators.comparator import encoder as neural

        loaded = encoder if isinstance(encoder, neural.Encoder) else neural.load_encoder(encoder)
        # Both orders of a pair come in at the same stage.
        stages = [np.concatenate([at, at + len(pairs)]) for at in curriculum(pairs)]
        if backend == "frozen":
            fit = neural.fit_frozen
        else:
            from nlgbench.evaluators.comparator.cross_encoder import fit_cross_encoder as fit
        predict = fit(loaded, rows, codes, stages, seed=number, progress=progress)
        made = loaded.signature
    kinds = "+".join(dict.fromkeys(pairs["supervision"]))
    name = backend + ("" if compares else "_alone") + ("" if ties else "_no_ties")
    return Comparator(
        name=f"{name}@{kinds}",
        predict=predict,
        classes=tuple(int(each) for each in classes),
        seen=frozenset(pairs["text_a"]) | frozenset(pairs["text_b"]),
        compares=compares,
        ties=ties,
        signature=f"{name} on {len(pairs):,} pairs ({kinds}), both orders averaged; "
        f"seed {seed if isinstance(seed, int) else number}; {made}",
    )


def _both_orders(pairs: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
    rows = pairs[SIDES]
    labels = np.where(pairs["outcome"] == "tie", TIE, BETTER)
    mirrored = rows[SWAPPED].set_axis(SIDES, axis=1)
    both = pd.concat([rows, mirrored], ignore_index=True)
    return both, np.concatenate([labels, WORSE - labels])


def _alone(pairs: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
    better, worse = (pairs[SIDES[at : at + 2]].set_axis(SIDES[:2], axis=1) for at in (0, 2))
    both = pd.concat([better, worse], ignore_index=True)
    return both, np.repeat([1, 0], len(pairs))


def _check(pairs: pd.DataFrame, backend: str, encoder: object) -> None:
    if backend not in BACKENDS:
        hint = did_you_mean(backend, BACKENDS)
        raise ValueError(f"no backend {backend!r}.{hint} There are: {', '.join(BACKENDS)}.")
    if backend == "tfidf" and encoder is not None:
        raise ValueError("backend 'tfidf' has no encoder: leave it out, or take 'frozen'.")
    missing = {*SIDES, "supervision", "outcome", "margin"} - set(pairs.columns)
    if missing:
        raise ValueError(
            f"pairs lack columns {sorted(missing)}: make them with strong_pairs, weak_pairs or "
            "human_pairs."
        )
    wrong = ~pairs["outcome"].isin(["better", "tie"])
    if wrong.any():
        value = pairs["outcome"][wrong].iloc[0]
        raise ValueError(f"outcome must be better (a is) or tie. Got {value!r}: swap a and b.")
