"""How diverse a system's outputs are: distinct-n, n-gram entropy, Self-BLEU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench import tables
from nlgbench.evaluators.diversity.self_bleu import self_bleu, self_bleu_of_subsets
from nlgbench.text import check_n, ngram_counts

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Subsets times n-grams that are held at once.
_AT_ONCE = 4_000_000


def diversity_of_subsets(
    texts: Sequence[str], members: Bools, *, max_n: int = 3, bleu_n: int = 4
) -> pd.DataFrame:
    """Measure the diversity of subsets of texts, which are counted once.

    Parameters
    ----------
    texts : sequence of str
        Tokens are what white space separates, case and punctuation kept.
    members : ndarray of bool, shape (n_subsets, n_texts)
        Which texts each subset holds.
    max_n : int
        Highest order of distinct-n and of the entropy.
    bleu_n : int
        Highest order of n-grams in Self-BLEU.

    Returns
    -------
    DataFrame
        A row per subset. For n from 1 to `max_n`: distinct_n (0 to 1, higher is more diverse) and
        entropy_n (nats, higher is more diverse), NaN where no text has n tokens; and the mean
        Self-BLEU as self_bleu_4 (0 to 1, *lower* is more diverse), NaN with fewer than two texts.

    Raises
    ------
    ValueError
        When texts are no sequence of strings, shapes disagree, or a number is not at least 1.

    Notes
    -----
    Over all texts of a subset together, with N n-grams of which the kind g occurs N_g times:
    ``distinct_n = kinds / N`` (Li et al. 2016, doi:10.18653/v1/N16-1014, divide by tokens instead
    of N, which is the same for n = 1) and ``entropy_n = log N - sum of N_g log(N_g) / N``, the
    plug-in estimate (Zhang et al. 2018, arXiv:1809.05972), which is too low for few texts. No
    n-gram runs over from one text into the next. Distinct-n falls, entropy and Self-BLEU rise with
    the number of texts, for one and the same generator: compare equal numbers only (`draw_equal`).
    Longer texts, too, lower distinct-n.

    "Lexical diversity" in Table 12 of Garbacea et al. (2019, doi:10.18653/v1/D19-1409) is the
    "ratio of unique tokens to the total number of tokens", computed "for unigrams, bigrams and
    trigrams"; which of them the table shows is not said.

    Examples
    --------
    >>> both = np.array([[True, True]])
    >>> found = diversity_of_subsets(["it leaks .", "it works ."], both, max_n=1)
    >>> found.round(3).to_dict("list")
    {'distinct_1': [0.667], 'entropy_1': [1.33], 'self_bleu_4': [0.135]}
    """
    check_n(max_n, "max_n")
    check_n(bleu_n, "bleu_n")
    counts = ngram_counts(texts, max_n=max(max_n, bleu_n))
    if members.dtype != bool or members.shape[1:] != (len(texts),) or not len(members):
        raise ValueError(
            "members must be true or false, with a row for each subset and a column for each of "
            f"{len(texts):,} texts. Got {members.dtype}, shape {members.shape}."
        )
    largest = max(len(order) for order in counts)
    n_parts = -(-members.size * largest // (_AT_ONCE * max(len(texts), 1)))
    parts = [
        _diversity(counts, part, max_n, bleu_n)
        for part in np.array_split(members, min(max(n_parts, 1), len(members)))
    ]
    return pd.concat(parts, ignore_index=True)


def _diversity(counts: list[pd.DataFrame], members: Bools, max_n: int, bleu_n: int) -> pd.DataFrame:
    columns = {}
    for n, order in enumerate(counts[:max_n], start=1):
        columns[f"distinct_{n}"], columns[f"entropy_{n}"] = _distinct_and_entropy(order, members)
    bleu = self_bleu_of_subsets(counts[:bleu_n], members)
    n_scored = np.isfinite(bleu).sum(axis=1)
    total = np.where(np.isfinite(bleu), bleu, 0).sum(axis=1)
    columns[f"self_bleu_{bleu_n}"] = _ratio(total, n_scored)
    return pd.DataFrame(columns)


def _distinct_and_entropy(order: pd.DataFrame, members: Bools) -> tuple[Floats, Floats]:
    if not len(order):
        return np.full(len(members), np.nan), np.full(len(members), np.nan)
    first = np.flatnonzero(np.diff(order["ngram"], prepend=-1))
    count = order["count"].to_numpy() * members[:, order["text"]]
    per_ngram = np.add.reduceat(count, first, axis=1)
    total = per_ngram.sum(axis=1)
    surprise = (per_ngram * np.log(np.maximum(per_ngram, 1))).sum(axis=1)
    distinct = _ratio((per_ngram > 0).sum(axis=1), total)
    return distinct, np.log(np.maximum(total, 1)) - _ratio(surprise, total)


def _ratio(above: NDArray, below: NDArray) -> Floats:
    return np.where(below > 0, above / np.maximum(below, 1), np.nan)


def score_diversity(outputs: pd.DataFrame, *, max_n: int = 3, bleu_n: int = 4) -> pd.DataFrame:
    """Measure how diverse each system's outputs are.

    Parameters
    ----------
    outputs : DataFrame
        Table of outputs; humans count as one more system.
    max_n, bleu_n : int
        As in `diversity_of_subsets`.

    Returns
    -------
    DataFrame
        A checked table of system_scores: distinct_1, ..., entropy_1, ... and self_bleu_4 for each
        dataset and system. The signature says how, of how many texts (only equal numbers compare:
        `draw_equal`), and which direction is more diverse: for Self-BLEU, *lower*.

    Raises
    ------
    TableError
        When the table breaks a rule.
    ValueError
        When a number is not at least 1.

    Notes
    -----
    As `diversity_of_subsets`. Intervals are in `analysis.diversity`.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> outputs = worlds.gaussian_world(n_outputs=5, seed=0).study.outputs
    >>> score_diversity(outputs, max_n=1)["evaluator"].unique().tolist()
    ['distinct_1', 'entropy_1', 'self_bleu_4']
    """
    rows = []
    groups = tables.check(outputs, "outputs").groupby(["dataset", "system"], sort=False)
    for (dataset, system), group in groups:
        all_of_them = np.ones((1, len(group)), dtype=bool)
        texts = group["text"].tolist()
        found = diversity_of_subsets(texts, all_of_them, max_n=max_n, bleu_n=bleu_n)
        rows += [
            (dataset, system, name, found[name].iloc[0], signature(str(name), len(group)))
            for name in found
        ]
    frame = pd.DataFrame(rows, columns=tables.columns("system_scores"))
    return tables.check(frame, "system_scores")


def signature(evaluator: str, n_texts: int) -> str:
    """Say how a score of diversity is made.

    Parameters
    ----------
    evaluator : str
        Such as ``distinct_2``.
    n_texts : int
        How many texts it was made of.

    Returns
    -------
    str
        Parts between bars, in the way of sacrebleu.

    Examples
    --------
    >>> signature("distinct_2", 150)
    'distinct|n:2|tok:whitespace|case:mixed|texts:150|direction:higher is more diverse'
    """
    kind, _, n = evaluator.rpartition("_")
    how = "|smooth:nltk-method1|references:all others of the system" if kind == "self_bleu" else ""
    way = "lower" if kind == "self_bleu" else "higher"
    return (
        f"{kind}|n:{n}|tok:whitespace|case:mixed{how}|texts:{n_texts}"
        f"|direction:{way} is more diverse"
    )


def score_self_bleu(outputs: pd.DataFrame, *, max_n: int = 4) -> pd.DataFrame:
    """Score every output with all others of its system as references.

    Parameters
    ----------
    outputs : DataFrame
        Table of outputs; humans count as one more system.
    max_n : int
        Highest order of n-grams.

    Returns
    -------
    DataFrame
        A checked table of scores in the order of the outputs, evaluator self_bleu_4 (where
        `max_n` is 4). **Lower is more diverse**, as the signature says; NaN for the only output of
        a system.

    Raises
    ------
    TableError
        When the table breaks a rule.
    ValueError
        When `max_n` is not at least 1.

    Notes
    -----
    As `self_bleu.self_bleu`.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> outputs = worlds.gaussian_world(n_outputs=5, seed=0).study.outputs
    >>> len(score_self_bleu(outputs)) == len(outputs)
    True
    """
    checked = tables.check(outputs, "outputs")
    name = f"self_bleu_{max_n}"
    scores = checked[["dataset", "output_id"]].assign(evaluator=name, score=np.nan, signature="")
    for rows in checked.groupby(["dataset", "system"]).indices.values():
        bleu = self_bleu(checked["text"].iloc[rows].tolist(), max_n=max_n)
        scores.loc[rows, "score"] = bleu
        scores.loc[rows, "signature"] = signature(name, len(rows))
    return tables.check(scores, "scores")


def draw_equal(
    outputs: pd.DataFrame, *, n_texts: int | None = None, seed: int | np.random.Generator
) -> pd.DataFrame:
    """Draw equally many outputs of every system, without replacement.

    Parameters
    ----------
    outputs : DataFrame
        Table of outputs.
    n_texts : int, optional
        How many of each. Default: as many as the smallest system has.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A checked table of outputs in their former order.

    Raises
    ------
    TableError
        When the table breaks a rule.
    ValueError
        When a system has fewer, or `n_texts` is not at least 1.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> outputs = worlds.gaussian_world(n_outputs=5, seed=0).study.outputs
    >>> draw_equal(outputs, n_texts=3, seed=0).value_counts("system").unique().tolist()
    [3]
    """
    checked = tables.check(outputs, "outputs")
    groups = checked.groupby(["dataset", "system"])
    sizes = groups.size()
    wanted = int(sizes.min()) if n_texts is None else n_texts
    if not 1 <= wanted <= sizes.min():
        raise ValueError(
            f"n_texts must be between 1 and {sizes.min():,}, the smallest system's number. "
            f"Got {wanted:,}."
        )
    drawn = groups.sample(n=wanted, random_state=np.random.default_rng(seed))
    return drawn.sort_index().reset_index(drop=True)
