"""What a comparator says of pairs of outputs, in both orders; and an adversarial one of each."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from nlgbench import schema
from nlgbench.evaluators.comparator.backends import SIDES, SWAPPED, TIE, Floats, sides
from nlgbench.evaluators.comparator.splits import one_dataset
from nlgbench.evaluators.comparator.training import Comparator
from nlgbench.text import text_key


def compare(comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Say of pairs of outputs which is better, or whether they tie.

    Parameters
    ----------
    comparator : Comparator
        From `comparator.train_comparator`.
    outputs : DataFrame
        The ``outputs`` table of one dataset.
    pairs : DataFrame
        Columns dataset, item_id, output_a, output_b: from `draws.system_pairs`, or
        `analysis.ratings.pairing`.

    Returns
    -------
    DataFrame
        A ``comparisons`` table in the order of `pairs`. ``prob_a`` is the probability that output a
        is better.

    Raises
    ------
    ValueError
        When a text to compare was seen in training, an output is unknown, or a column is missing.

    Notes
    -----
    A classifier of pairs answers differently when the two are swapped, so both orders are averaged:
    ``prob_a = (P(a > b) + P(b < a)) / 2``. Each pair is computed once, in an order that depends on
    its texts alone: swapping a and b in any rows swaps the probabilities to the last bit.

    Without comparison the two texts have probabilities p and q alone, and a tie is what it is in
    strong supervision, two texts of one source: ``p (1 - q)``, ``p q + (1 - p) (1 - q)``, ``(1 - p)
    q``, the tie left out and the rest scaled where there is no tie option.

    Examples
    --------
    As in `comparator.train_comparator`.
    """
    rows, pairs = _rows_of(comparator, outputs, pairs)
    if comparator.compares:
        forward, backward = _in_both_orders(comparator, rows)
        chances = (forward + backward) / 2
    else:
        texts, (a, b) = sides(rows)
        chance = _chance_alone(comparator, texts)
        p, q = chance[a], chance[b]
        chances = np.column_stack([p * (1 - q), p * q + (1 - p) * (1 - q), q * (1 - p)])
        if not comparator.ties:
            chances[:, TIE] = 0.0
            total = chances.sum(axis=1, keepdims=True)
            even = np.array([[0.5, 0.0, 0.5]])  # both are surely human, or surely not
            chances = np.divide(chances, total, out=np.tile(even, (len(p), 1)), where=total > 0)
    found = pairs[["dataset", "item_id", "output_a", "output_b"]].assign(comparator=comparator.name)
    found[["prob_a", "prob_tie", "prob_b"]] = chances
    return schema.check(found, "comparisons")


def order_agreement(
    comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame, *, level: float = 0.95
) -> pd.DataFrame:
    """Say how often a comparator gives the same answer when two outputs are swapped.

    Parameters
    ----------
    comparator : Comparator
        One that compares.
    outputs, pairs : DataFrame
        As in `compare`.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        One row: comparator, agreement (share of distinct pairs whose likeliest outcome is the same
        in both orders, before these are averaged), ci_low, ci_high (Wilson's, pairs taken as
        independent), level, n.

    Raises
    ------
    ValueError
        As `compare`, or when the comparator does not compare.

    Examples
    --------
    >>> order_agreement(Comparator("x", None, (), frozenset(), False, True, ""), None, None)
    Traceback (most recent call last):
    ValueError: x sees one text at a time, so there is no order to swap.
    """
    if not comparator.compares:
        raise ValueError(
            f"{comparator.name} sees one text at a time, so there is no order to swap."
        )
    rows, _ = _rows_of(comparator, outputs, pairs)
    forward, backward = _in_both_orders(comparator, rows.drop_duplicates())
    same = forward.argmax(axis=1) == backward.argmax(axis=1)
    low, high = proportion_confint(same.sum(), len(same), alpha=1 - level, method="wilson")
    row = {"comparator": comparator.name, "agreement": same.mean(), "ci_low": low, "ci_high": high}
    return pd.DataFrame([{**row, "level": level, "n": len(same)}])


def score_alone(comparator: Comparator, outputs: pd.DataFrame) -> pd.DataFrame:
    """Score each output by an adversarial evaluator.

    Parameters
    ----------
    comparator : Comparator
        Trained with ``compares=False``.
    outputs : DataFrame
        The ``outputs`` table of one dataset.

    Returns
    -------
    DataFrame
        A ``scores`` table: the probability that the output is the better, or human, one; not
        calibrated.

    Raises
    ------
    ValueError
        When the comparator compares, or has seen a text in training.

    Examples
    --------
    >>> score_alone(Comparator("x", None, (), frozenset(), True, True, ""), None)
    Traceback (most recent call last):
    ValueError: x compares: use compare, or train with compares=False.
    """
    if comparator.compares:
        raise ValueError(f"{comparator.name} compares: use compare, or train with compares=False.")
    outputs = one_dataset(outputs)
    refuse_seen(comparator.name, comparator.seen, outputs)
    texts, (at,) = sides(outputs.rename(columns={"context": "context_a", "text": "text_a"}))
    scores = outputs[["dataset", "output_id"]].assign(evaluator=comparator.name)
    scores["score"] = _chance_alone(comparator, texts)[at]
    return schema.check(scores.assign(signature=comparator.signature), "scores")


def _in_both_orders(comparator: Comparator, rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return better, tie, worse of each row: asked as it stands, and asked swapped."""
    turned = (rows["text_a"] > rows["text_b"]) | (
        (rows["text_a"] == rows["text_b"]) & (rows["context_a"] > rows["context_b"])
    )
    canonical = rows.copy()
    canonical.loc[turned, SIDES] = rows.loc[turned, SWAPPED].to_numpy()
    place = canonical.groupby(SIDES, sort=True).ngroup().to_numpy()
    distinct = canonical.drop_duplicates().sort_values(SIDES, ignore_index=True)
    mirrored = distinct[SWAPPED].set_axis(SIDES, axis=1)
    chances = np.zeros((2, len(distinct), 3))
    for asked, each in enumerate((distinct, mirrored)):
        chances[asked][:, list(comparator.classes)] = comparator.predict(each)
    first, second = chances[0][place], chances[1][place][:, ::-1]
    swap = turned.to_numpy()[:, None]
    return np.where(swap, second[:, ::-1], first), np.where(swap, first[:, ::-1], second)


def _chance_alone(comparator: Comparator, texts: pd.DataFrame) -> Floats:
    rows = texts.rename(columns={"context": "context_a", "text": "text_a"})
    return comparator.predict(rows)[:, 1]


def _rows_of(
    comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the texts of each pair, and the pairs, after checking both."""
    outputs = one_dataset(outputs)
    missing = {"dataset", "item_id", "output_a", "output_b"} - set(pairs.columns)
    if missing or pairs.empty:
        raise ValueError(
            "pairs must have columns dataset, item_id, output_a, output_b, and a row at least. "
            f"Missing: {sorted(missing)}; rows: {len(pairs)}. Draw them with system_pairs."
        )
    known = outputs.set_index("output_id")
    rows = {}
    for side in ("a", "b"):
        ids = pairs[f"output_{side}"]
        unknown = ~ids.isin(known.index) | ~pairs["dataset"].isin(outputs["dataset"])
        if unknown.any():
            row = int(unknown.to_numpy().argmax())
            raise ValueError(
                f"pairs, row {row + 1}: output_{side} {ids.iloc[row]!r} of dataset "
                f"{pairs['dataset'].iloc[row]!r} is not in outputs. Draw pairs from these outputs."
            )
        refuse_seen(comparator.name, comparator.seen, outputs[outputs["output_id"].isin(ids)])
        for name in ("context", "text"):
            rows[f"{name}_{side}"] = known.loc[ids, name].to_numpy()
    return pd.DataFrame(rows)[SIDES], pairs.reset_index(drop=True)


def refuse_seen(name: str, seen: Collection[str], outputs: pd.DataFrame) -> None:
    """Refuse to judge texts that an evaluator was trained on.

    Parameters
    ----------
    name : str
        The evaluator's.
    seen : collection of str
        The texts that it was trained on.
    outputs : DataFrame
        The ``outputs`` table to judge.

    Raises
    ------
    ValueError
        When one of its texts is among them; case and white space do not count.
    """
    found = outputs["output_id"][outputs["text"].map(text_key).isin({text_key(t) for t in seen})]
    if len(found):
        raise ValueError(
            f"{name} was trained on the text of {len(found)} of the outputs to judge, such as "
            f"{found.iloc[0]!r}. Train on the first, and judge the second, of what "
            "split_outputs returns: they share no text."
        )
