"""Judges' verdicts on pairs in both orders beside people's votes, in numbers, and their spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import t as student

from nlgbench.analysis.ratings.bradley_terry import FEW, fewest
from nlgbench.analysis.ratings.games import PEOPLE, PROBABILITIES, votes_of
from nlgbench.crossed import (
    OTHER_ANNOTATORS,
    choose_annotators,
    contrast_variance,
    effective_size,
    factors,
    incidence,
    jackknife,
)
from nlgbench.evaluators.comparator.comparators import decided
from nlgbench.inference import Floats
from nlgbench.study import Study

Ints = NDArray[np.int64]
#: Evaluators that need no model, on the same pairs.
SENTINELS = ("longest", "first", "constant", "random")
#: Values nearer to each other are equal.
_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Pairs, what people voted on them, and what each judge said in both orders.

    A verdict or vote for a pair's one output is .5, for its other -.5, a tie 0; an order is 0 where
    the one was shown first, 1 where the other was.
    """

    one: Ints  # rows of the study's outputs
    other: Ints
    item: Ints  # (pairs, 2)
    doublings: Floats  # by which the one is longer; NaN where a text is missing
    system: NDArray[np.object_]  # (pairs, 2)
    pair: Ints  # of each vote
    annotator: Ints
    vote: Floats  # an annotator's mean over votes on the pair
    n_votes: int
    said: dict[str, Floats]  # evaluator -> (pairs, order)
    chance: dict[str, Floats]  # likewise, expected verdict by its probabilities
    persons: bool  # whether annotators' ids name persons


def sign(values: Floats) -> Floats:
    """Give 1, 0 or -1; what is nearer to 0 than rounding errors are is a tie."""
    return np.sign(np.where(np.abs(values) < _ALIKE, 0.0, values))


def read_verdicts(study: Study, dimension: str | None, rng: np.random.Generator) -> Verdicts:
    """Lay out a study's comparisons and votes, and add the sentinels."""
    table = study.comparisons
    if table is None or table.empty:
        raise ValueError(
            f"{study.name} has no comparisons, so there is no judge to audit: give "
            "Study(comparisons=...), with rows (a, b) and (b, a) of each pair."
        )
    judges = [str(name) for name in table["comparator"].unique()]
    taken = [name for name in judges if name in (*SENTINELS, PEOPLE)]
    if taken:
        raise ValueError(
            f"a comparator is called {taken[0]!r}, as what is set beside judges: rename it."
        )
    outputs = study.outputs
    place = pd.Index(outputs["output_id"])
    a, b = (place.get_indexer(table[f"output_{side}"]) for side in "ab")
    kept = a != b
    table, a, b = table[kept], a[kept], b[kept]
    votes = _votes(study, dimension, a, b)
    # A pair stands as people first saw it, or else as a judge did.
    first = np.append(votes["a"].to_numpy(dtype=np.int64), a)
    second = np.append(votes["b"].to_numpy(dtype=np.int64), b)
    key = np.minimum(first, second) * len(outputs) + np.maximum(first, second)
    _, start, all_pairs = np.unique(key, return_index=True, return_inverse=True)
    asked, of_rows = np.unique(all_pairs[len(votes) :], return_inverse=True)
    one, other = first[start[asked]], second[start[asked]]
    at = np.full(len(start), -1)
    at[asked] = np.arange(len(asked))
    of_votes = at[all_pairs[: len(votes)]]
    there = of_votes >= 0
    pair = of_votes[there]
    cast = votes[there]
    sign = np.where(cast["a"].to_numpy() == one[pair], 1.0, -1.0)
    who = pd.factorize(cast["annotator_id"])[0]
    each = pd.DataFrame({"pair": pair, "who": who, "vote": sign * cast["vote"].to_numpy()})
    mean = each.groupby(["pair", "who"], as_index=False)["vote"].mean()

    length = outputs["text"].str.len().to_numpy(dtype=np.float64)
    doublings = np.log2(np.where(length > 0, length, np.nan))
    chances = table[PROBABILITIES].to_numpy(dtype=np.float64)
    order = np.where(a == one[of_rows], 0, 1)
    turn = np.where(order == 0, 0.5, -0.5)
    said: dict[str, Any] = {}
    chance: dict[str, Any] = {}
    comparator = table["comparator"].to_numpy()
    verdict = decided(chances)
    for name in judges:
        own = comparator == name
        for found, values in ((said, verdict), (chance, chances)):
            found[name] = np.full((len(one), 2), np.nan)
            found[name][of_rows[own], order[own]] = turn[own] * (values[own, 0] - values[own, 2])
    longer = np.sign(doublings[one] - doublings[other]) / 2
    said["longest"] = np.column_stack([longer, longer])
    said["first"] = np.tile([0.5, -0.5], (len(one), 1))
    said["constant"] = np.zeros((len(one), 2))
    said["random"] = rng.integers(2, size=(len(one), 2)) - 0.5
    items = pd.factorize(outputs["item_id"])[0]
    systems = outputs["system"].to_numpy(dtype=object)
    return Verdicts(
        one=one,
        other=other,
        item=np.column_stack([items[one], items[other]]),
        doublings=doublings[one] - doublings[other],
        system=np.column_stack([systems[one], systems[other]]),
        pair=mean["pair"].to_numpy(),
        annotator=mean["who"].to_numpy(),
        vote=mean["vote"].to_numpy(),
        n_votes=int(there.sum()),
        said=said,
        chance=chance,
        persons=study.persons,
    )


def _votes(study: Study, dimension: str | None, a: Ints, b: Ints) -> pd.DataFrame:
    """Give people's votes, or what annotators who judged both outputs of a pair said by that."""
    place = pd.Index(study.outputs["output_id"])
    if study.preferences is not None and len(study.preferences):
        votes = votes_of(study, dimension)
        sides = {side: place.get_indexer(votes[f"output_{side}"]) for side in "ab"}
        vote = votes["choice"].map({"a": 0.5, "tie": 0.0, "b": -0.5})
        found = pd.DataFrame({**sides, "annotator_id": votes["annotator_id"], "vote": vote})
        return found[found["a"] != found["b"]].reset_index(drop=True)
    if study.judgments is None:
        return pd.DataFrame({"a": [], "b": [], "annotator_id": [], "vote": []})
    by = study.judged(dimension).groupby(["output_id", "annotator_id"])["value"]
    judged = by.mean().reset_index()
    judged["output"] = place.get_indexer(judged["output_id"])
    pairs = pd.DataFrame({"a": np.minimum(a, b), "b": np.maximum(a, b)}).drop_duplicates()
    kept = judged[["output", "annotator_id", "value"]]
    both = pairs.merge(kept.rename(columns={"output": "a"}), on="a")
    both = both.merge(kept.rename(columns={"output": "b"}), on=["b", "annotator_id"])
    lead = sign((both["value_x"] - both["value_y"]).to_numpy()) / 2
    return both[["a", "b", "annotator_id"]].assign(vote=lead)


@dataclass(frozen=True, eq=False)
class Clusters:
    """What rows have in common: items, and annotators where these are a sample, too."""

    kinds: list[csr_array]  # items alone, or items, annotators, and what shares both
    df: float
    covers: str
    reason: str

    def variance(self, rows: Floats) -> Floats:
        """Give the variance of each sum of rows (n, m) whose expectation is 0."""
        return contrast_variance(np.eye(rows.shape[1]), self.each(rows))

    def unbiased(self, rows: Floats) -> Floats:
        """Give the variances likewise, where what is expected of them matters, not the largest."""
        items, *others = (np.diag(one) for one in self.each(rows))
        return items + others[0] - others[1] if others else items

    def each(self, rows: Floats) -> list[Floats]:
        """Give the covariance matrices (m, m) over items, annotators, and both together."""
        sums = [each @ rows for each in self.kinds]
        return [len(one) / max(1, len(one) - 1) * one.T @ one for one in sums]


def clusters_of(item: Ints, annotator: Ints | None = None, *, persons: bool = True) -> Clusters:
    """Say what rows have in common, from their items (n, 2) and annotators (n, any number)."""
    if not len(item):
        return Clusters([], float("nan"), "other items", "no pair to compare")
    items = np.array([effective_size(item.ravel())])
    kinds = [incidence(item)]
    covers, doubt = "other items", ""
    people = np.array([np.inf])
    if annotator is not None:
        who = annotator.ravel()
        people = np.array([effective_size(who)])
        covers, _ = choose_annotators(None, float(people[0]), persons=persons)
        if covers == OTHER_ANNOTATORS:
            kinds = [incidence(label) for label in factors(item, annotator)]
        else:
            if len(np.unique(who)) == 1:
                doubt = "one annotator, whose word is taken for the truth"
            people = np.array([np.inf])
    least, words = fewest(items, people)
    return Clusters(kinds, float(least[0]) - 1, covers, str(words[0]) or doubt)


def jackknifed(
    parts: Floats, statistic: Callable[[Floats], Floats], clusters: Clusters
) -> tuple[Floats, Floats]:
    """Give a function of sums of parts (n, m), and its standard error; the function may be vector.

    Each item, each annotator, and what shares both is left out in turn.
    """
    total = parts.sum(axis=0)
    estimate = np.atleast_1d(statistic(total))
    if clusters.df + 1 < FEW or not clusters.kinds:
        return estimate, np.full(len(estimate), np.nan)
    lost = [each @ parts for each in clusters.kinds]
    return estimate, np.atleast_1d(jackknife(statistic, total, lost)[1])


def around(
    estimate: float, se: float, clusters: Clusters, confidence: float, reason: str = ""
) -> dict[str, Any]:
    """Put t intervals around an estimate: that asked for, and that which its margin is held to."""
    reason = reason or clusters.reason
    if np.isnan(estimate):
        reason = reason or "undefined: nothing to compare, or no variation"
    elif np.isnan(se):
        reason = reason or "undefined without one of the clusters"
    elif se < 1e-12:
        se, reason = float("nan"), "all clusters give the same: their spread is unknown"
    df = clusters.df
    half, inner = (student.ppf(level, df) * se for level in (0.5 + confidence / 2, confidence))
    return {
        "estimate": float(estimate),
        "se": float(se),
        "ci_low": float(estimate - half),
        "ci_high": float(estimate + half),
        "inner_low": float(estimate - inner),
        "inner_high": float(estimate + inner),
        "p": float(2 * student.sf(abs(estimate) / se, df)) if se > 0 else float("nan"),
        "df": df,
        "covers": clusters.covers,
        "reason": reason,
    }
