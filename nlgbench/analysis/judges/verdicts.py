"""Judges' verdicts on pairs in both orders and annotators' votes on the same pairs, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import t as student

from nlgbench import clustering
from nlgbench.analysis.ratings.bradley_terry import wilson
from nlgbench.analysis.ratings.games import PEOPLE, PROBABILITIES, read_votes
from nlgbench.arrays import Floats, Ints
from nlgbench.clustering import OTHER_ANNOTATORS, Clusters, t_interval
from nlgbench.evaluators.comparator.comparators import decided
from nlgbench.status import OK, Status, Unsupported
from nlgbench.study import Study

#: Evaluators of pairs that need no model.
SENTINELS = ("longest", "first", "constant", "random")
#: Verdicts and votes closer to 0 count as ties.
_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Pairs, annotators' votes on them, and each judge's verdicts in both orders.

    A verdict or vote for a pair's first output is .5, for its second -.5, and for a tie 0. The
    order is 0 if the first output was shown first, and 1 otherwise.
    """

    item: Ints  # (pairs, 2)
    doublings: Floats  # log2 ratio of lengths; NaN where a text is missing
    system: NDArray[np.object_]  # (pairs, 2)
    pair: Ints  # of each vote, sorted
    annotator: Ints
    vote: Floats  # an annotator's mean over votes on the pair
    verdicts: dict[str, Floats]  # evaluator -> (pairs, order)
    chance: dict[str, Floats]  # likewise, expected verdict from probabilities
    covers: str  # what intervals of votes generalize to
    gold: bool  # whether votes are the truth, one on each pair

    def clusters(self, pair: Ints, annotator: Ints) -> Clusters:
        """Build clusters of rows with these pairs and annotators (rows, k)."""
        who = annotator if self.covers == OTHER_ANNOTATORS else None
        return clustering.clusters_of(self.item[pair], who, self.covers)


def sign(values: Floats, near: float = _ALIKE) -> Floats:
    """Return 1, 0 or -1, with values within rounding errors of 0 as ties."""
    return np.sign(np.where(np.abs(values) <= near, 0.0, values))


def rounding_error(values: Floats) -> float:
    """Return a bound of differences between equal values of which some are means."""
    return float(1e-9 * np.ptp(values) + 1e-14 * np.abs(values).max()) if len(values) else 0.0


def summarize(
    estimate: float, se: float, clusters: Clusters, confidence: float, missing: Status = OK
) -> dict[str, Any]:
    """Compute two t intervals: at the given confidence, and for comparison with the margin."""
    options: dict[str, Any] = {"units": clusters.units, "missing": missing}
    row: dict[str, Any] = t_interval(estimate, se, clusters.n, confidence=confidence, **options)
    inner = t_interval(estimate, se, clusters.n, confidence=2 * confidence - 1, **options)
    row |= {"inner_low": inner["ci_low"], "inner_high": inner["ci_high"], "covers": clusters.covers}
    row["p"] = float("nan")
    if np.isfinite(row["ci_low"]):
        row["p"] = float(2 * student.sf(abs(estimate) / se, clusters.n - 1))
    return row | {"status": Status(row["status"], row["reason"])}


def share_interval(
    share: Any, se: Any, clusters: Clusters, n: int, confidence: float
) -> dict[str, Any]:
    """Compute Wilson's interval of a share of n rows with Student's t and the effective number."""
    # Without variation, clusters count as the rows of a binomial share.
    least = 1e-9 * max(1.0, abs(share))
    row: dict[str, Any] = t_interval(
        share, np.maximum(se, least), clusters.n, units=clusters.units, confidence=confidence
    )
    if np.isfinite(row["ci_low"]):
        spread = share * (1 - share)
        size = min(spread / se**2, n) if se > 1e-12 and spread > 0 else min(n, clusters.n)
        quantile = student.ppf(0.5 + confidence / 2, clusters.n - 1)
        row["ci_low"], row["ci_high"] = wilson(np.asarray(share), np.asarray(size), quantile)
    return row | {"se": float(se)}


def read_verdicts(study: Study, dimension: str | None, rng: Generator) -> Verdicts:
    """Read a study's comparisons and votes, and add the sentinels."""
    table = study.comparisons
    if table is None or table.empty:
        raise Unsupported(
            "no_comparisons",
            f"{study.name} has no comparisons, so there is no judge to audit: add a table "
            "of comparisons to the study, with rows (a, b) and (b, a) of each pair.",
        )
    judges = [str(name) for name in table["comparator"].unique()]
    reserved = [name for name in judges if name in (*SENTINELS, PEOPLE)]
    if reserved:
        raise ValueError(f"a comparator has the reserved name {reserved[0]!r}: rename it.")
    outputs = study.outputs.reset_index(drop=True)
    index = pd.Index(outputs["output_id"])
    table = table.assign(**{side: index.get_indexer(table[f"output_{side}"]) for side in "ab"})
    votes = _read_votes(study, dimension, table[["a", "b"]])
    # The first output of a pair is the one shown first to annotators, or else to a judge.
    order_shown = pd.concat([votes[["a", "b"]], table[["a", "b"]]], ignore_index=True)
    key = order_shown.min(axis=1) * len(outputs) + order_shown.max(axis=1)
    judged, row_pair = np.unique(key[len(votes) :], return_inverse=True)
    first, second = order_shown.groupby(key).first().loc[judged].to_numpy().T
    number = pd.Index(judged).get_indexer(key[: len(votes)])
    votes = votes.assign(pair=number).query("pair >= 0")
    turned = votes["a"].to_numpy() != first[votes["pair"]]
    votes["vote"] *= np.where(turned, -1.0, 1.0)
    if gold := study.settings.get("votes") == "gold":
        votes["annotator_id"] = "gold"
    votes = votes.groupby(["pair", "annotator_id"])[["vote"]].mean().reset_index()
    who = pd.factorize(votes["annotator_id"])[0]

    length = outputs["text"].str.len().to_numpy(dtype=np.float64)
    doublings = np.log2(np.where(length > 0, length, np.nan))
    doublings = doublings[first] - doublings[second]
    order = (table["a"].to_numpy() != first[row_pair]).astype(int)
    chances = table[PROBABILITIES].to_numpy(dtype=np.float64)
    verdicts: dict[str, Any] = {}
    chance: dict[str, Any] = {}
    for name in judges:
        of_judge = (table["comparator"] == name).to_numpy()
        for table_of, shares in ((verdicts, decided(chances)), (chance, chances)):
            table_of[name] = np.full((len(first), 2), np.nan)
            lead = (shares[of_judge, 0] - shares[of_judge, 2]) / 2
            lead = np.where(order[of_judge] == 0, lead, -lead)
            table_of[name][row_pair[of_judge], order[of_judge]] = lead
    longer = np.sign(doublings) / 2
    verdicts["longest"] = np.column_stack([longer, longer])
    verdicts["first"] = np.tile([0.5, -0.5], (len(first), 1))
    verdicts["constant"] = np.zeros((len(first), 2))
    verdicts["random"] = rng.integers(2, size=(len(first), 2)) - 0.5
    items = pd.factorize(outputs["item_id"])[0]
    systems = outputs["system"].to_numpy(dtype=object)
    n = clustering.effective_size(who)
    covers, _ = clustering.choose_annotators(None, n, persons=study.persons)
    return Verdicts(
        item=np.column_stack([items[first], items[second]]),
        doublings=doublings,
        system=np.column_stack([systems[first], systems[second]]),
        pair=votes["pair"].to_numpy(),
        annotator=who,
        vote=votes["vote"].to_numpy(),
        verdicts=verdicts,
        chance=chance,
        covers=covers,
        gold=gold,
    )


def _read_votes(study: Study, dimension: str | None, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return votes (a, b, annotator_id, vote), or derive them from judgments of both outputs."""
    index = pd.Index(study.outputs["output_id"])
    if study.preferences is not None and len(study.preferences):
        votes = read_votes(study, dimension)
        sides = {side: index.get_indexer(votes[f"output_{side}"]) for side in "ab"}
        vote = votes["choice"].map({"a": 0.5, "tie": 0.0, "b": -0.5})
        return pd.DataFrame({**sides, "annotator_id": votes["annotator_id"], "vote": vote})
    if study.judgments is None:
        return pairs[:0].assign(annotator_id="", vote=0.0)
    judged = study.judged(dimension).groupby(["output_id", "annotator_id"])[["value"]].mean()
    judged = judged.reset_index()
    judged["a"] = judged["b"] = index.get_indexer(judged["output_id"])
    distinct = pd.DataFrame({"a": pairs.min(axis=1), "b": pairs.max(axis=1)}).drop_duplicates()
    joined = distinct.merge(judged[["a", "annotator_id", "value"]], on="a")
    joined = joined.merge(judged[["b", "annotator_id", "value"]], on=["b", "annotator_id"])
    near = rounding_error(judged["value"].to_numpy())
    lead = sign((joined["value_x"] - joined["value_y"]).to_numpy(), near) / 2
    return joined[["a", "b", "annotator_id"]].assign(vote=lead)
