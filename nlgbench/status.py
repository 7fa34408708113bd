"""Statuses of estimates: short codes for code, and their texts for readers.

Every table with estimates has the columns ``status`` (a code) and ``reason`` (its text, empty if
the status is ``ok``). Code branches on the code, never on the text. An analysis explains a status
with its numbers (`explain`), puts it in the column ``status`` of its table, and calls
`split_status`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

_FEW = "only {n}: an interval from fewer than {least} is unreliable"
#: Code -> the text for readers, with the names of its numbers in braces.
REASONS: Mapping[str, str] = {
    "ok": "",
    "alike": "games vary too little: the interval treats them as {n} independent games",
    "all_rejected": "no interval: every possible mean is rejected, so the mean may vary by block",
    "all_ties": "no interval: all games are ties, so all ratings are equal",
    "always_higher": "superiority has no interval: one system is higher on every common item",
    "below_start": "CV* is undefined: a value is not above the start of its scale",
    "biased": "biased: estimate and interval are for the mean score, not the mean judgment",
    "biased_rate": "biased: the judge's pass rate, not that of labels",
    "biased_upward": "no interval: biased upward",
    "circular": "computed from the judgments, which the interval treats as fixed",
    "confounded": "confounded with {others}, and counted there",
    "constant": "undefined: no variation in scores or judgments{within}",
    "constant_resamples": "no interval: all subsamples give the same value",
    "constant_systems": "judgments do not vary within systems, or are too few",
    "disconnected": "undefined: no game links the system to most of the others",
    "determined": "undefined: a variable is constant, or determined by the given evaluator",
    "exact": "no interval: exact, given the groups",
    "excluded": "excluded because estimate, se or truth is missing: {systems}",
    "extended": "extended to include the estimate, which is biased by noise in the means",
    "few_annotators": _FEW,
    "few_blocks": "a verdict needs at least {least} blocks (found: {n})",
    "few_clusters": _FEW,
    "few_common": "not ranked: fewer than {least} studies in common with other evaluators",
    "few_common_items": "superiority has no interval: only one cluster has items of both systems",
    "few_complete": "fewer than {least} systems are complete ({n})",
    "few_decisive": "only {n} of {total} {units} differ between the systems; the interval "
    "is {fate}",
    "few_distinct": "only {share:.0%} of one side's texts are distinct, so subsamples do not show "
    "how much the measure varies",
    "few_games": _FEW,
    "few_groups": "fewer than two groups with a choice",
    "few_in_hit": "no interval: a HIT has fewer than {least} annotators ({n})",
    "few_items": _FEW,
    "few_labels": "undefined slope: fewer than {least} labels in total",
    "few_levels": "only {n} levels: an interval needs at least {least}",
    "few_neighbors": "undefined: n_neighbors = {k} needs {least} texts per side (found: {n})",
    "few_outputs": _FEW,
    "few_permutations": "the test cannot be significant: with {n} texts per side and "
    "{permutations} permutations, p cannot be below {least:.3g}",
    "few_scored": "no annotator has at least {least} scored outputs",
    "few_shared_items": "annotators share too few items: increase n_votes",
    "few_studies": "{n}: {what} needs at least {least}",
    "few_swaps": "cannot be significant with {n} {units}: the smallest possible adjusted p is "
    "{least:.3g}",
    "few_systems": _FEW,
    "few_tested": "only {n} outputs: the test needs at least 4",
    "few_texts": _FEW,
    "few_units": "coverage is unknown: a class has fewer than {least} sampled units ({n})",
    "few_values": "the interval is slightly too narrow: fewer than {least} distinct mean "
    "judgments ({n})",
    "gold_votes": "each pair has one vote, which counts as the truth",
    "identical": "undefined: the evaluators are identical or opposite, or their difference is "
    "proportional to the judgments",
    "impossible": "no interval: a target has probability 0",
    "includes": "includes {others}",
    "ledger": "{reason}",
    "left_out": "judged only systems that are left out, because their level cannot be estimated",
    "lone_cluster": "a system has only one cluster, so the variance of means cannot be estimated",
    "low_reliability": "the reliability of systems' mean {what} is {value:.2f}, below .5: add "
    "outputs, or systems that differ more",
    "fractions": "undefined for fractions, which are rarely equal: set threshold",
    "many_values": "undefined for {n} distinct values: use at most {most}{other}",
    "missing_interval": "no interval",
    "near_chance": "the sum of true positive and true negative rate exceeds 1 by only {value:.2f}, "
    "which is not significant: the judge may be no better than chance",
    "needs_outputs": "needs scores and judgments of outputs",
    "negative_halves": "undefined: the halves correlate negatively",
    "negative_lower_end": "the lower end is undefined: the halves correlate negatively there",
    "negative_variance": "no interval: the estimated variance is negative. Add games",
    "no_author": "no own system: set authors=",
    "no_common_items": "superiority is undefined: the systems have no common items",
    "no_cv_star": "a {kind} has no CV*",
    "no_halves": "undefined: no output has two judgments, or the means of a half are equal",
    "no_interval": "no interval is available for {method}",
    "no_items": "no interval: expected outcomes vary less than sampled ones, so an interval needs "
    "items. Add item_a and item_b, or use outcome='sampled'",
    "no_labels": "this system has no labels",
    "no_length": "no texts, so length is unknown",
    "no_lengths": "there are no texts, or they do not differ in length",
    "no_logprobs": "no log-probabilities",
    "no_orders": "no pair was judged in both orders, and no two systems have at least two verdicts "
    "in each order",
    "no_other_items": "undefined: the threshold for ties is calibrated on other items or clusters, "
    "and there are none",
    "no_own_pairs": "its own system is in no pair",
    "no_power": "the power stays below {power:g} even with {most}",
    "no_probabilities": "the judge gives verdicts, but no probabilities",
    "no_references": "no references, and no human texts",
    "no_resamples": "no interval: n_resamples = 0",
    "no_texts": "no texts",
    "no_variation": "no interval: all clusters give the same value",
    "no_votes": "no annotator voted on the pairs that the judge compared",
    "no_width": "the interval has no width",
    "no_z": "a correlation of -1 or 1 has no finite z",
    "no_zero_point": "log-probabilities have no zero point",
    "noise_without_one": "without one of the clusters, noise explains all variance between systems",
    "not_a_correlation": "{name} is not a correlation from -1 to 1",
    "not_converged": "maximum likelihood did not converge",
    "not_in_group": "undefined: the group does not connect the two systems",
    "not_recomputed": "undefined: there is no recomputed value",
    "not_requested": "no interval: resample = None",
    "not_validated": "no interval has been validated for {what}",
    "nothing_to_compare": "undefined: there is nothing to compare, or no variation",
    "one_annotator": "no interval: severity is relative to other annotators, and there is only one",
    "one_cluster": "only one cluster, so the variance cannot be estimated",
    "one_connection": "no interval: without {cluster}, systems cannot be compared{more}",
    "one_effective": "no interval: the effective number of {units} is only {n:.2f}",
    "one_item": "only one {unit}, so the variance cannot be estimated",
    "one_judgment": "severity cannot be estimated: each annotator judged one output",
    "one_level": "not identified: the factor has one level, or one level per system",
    "one_order": "no pair was judged in both orders",
    "one_output": "no interval: only one output",
    "one_shared_item": "undefined: only {n} item has human and machine texts, but two are needed. "
    "If texts have no prompt, give each its own item_id",
    "one_sided": "one-sided interval: the noise-corrected correlation, {r:.2f}, is set to "
    "{bound:g}",
    "one_subsample": "only one subsample, so the variance cannot be estimated",
    "one_system": "undefined: only one system",
    "one_text": "undefined: only {n} text per side, but two are needed",
    "one_trial": "only one trial: the variance between trials is unknown",
    "one_unit": "no interval: one {unit} is in {games}",
    "one_vote": "no pair has votes of two annotators, so the noise of votes is unknown. If votes "
    "are gold labels, set votes: gold under settings",
    "one_vote_each": "undefined: no two votes on a pair of systems share this factor's level",
    "other_labels": "no score matches a value of the judgments: the labels differ",
    "other_scale": "no score is in the range of the judgments: the scales differ",
    "perfect": "a correlation is 1 or -1, so its variance is unknown",
    "perfect_without_one": "without one of the {units}, the correlation is perfect or undefined",
    "positions": "annotator ids are positions in a file, not persons. If each position is one "
    "person, set annotators: persons under settings; otherwise use annotators='fixed'",
    "random_order": "each pair was judged in one order, which is assumed to be random{excluded}",
    "same_system": "each pair is of one system with itself",
    "sentinel": "a sentinel has no system of its own",
    "separate_annotators": "not comparable: annotators form {n} parts without common items",
    "separated": "infinite estimate: {which}",
    "several_models": "log-probabilities of several models: choose one with perplexity@model",
    "skewed": "the values are skewed, or few differ from the others: the interval of the mean is "
    "too narrow; differences are reliable",
    "small_halves": "coverage is unknown: halves have fewer than {least} k outputs ({n})",
    "small_range": "the truth differs by less than {least:g} between systems",
    "small_share": "no interval: the component is less than a tenth of the variance",
    "superiority_constant": "superiority has no interval: it does not vary between clusters",
    "swaps": "no interval: swaps only give p",
    "system_mean_alone": "only one system: the mean of its other items falls as the item's own "
    "judgment rises",
    "systems_without_scores": "undefined: the number of systems with all scores is only {n}",
    "this_item": "only one {unit}: intervals generalize to other annotators only",
    "tied_votes": "the votes on each pair are tied",
    "too_few_annotators": "only {n:.1f} effective annotators: an interval that generalizes to "
    "other annotators needs at least {least}. For these annotators only, use annotators='fixed'",
    "too_few_systems": "only {n} systems: an interval needs at least {least}",
    "too_few_texts": "only {n} texts per side: an interval needs at least {least}",
    "two_systems": "only two systems, over which a correlation is always 1 or -1",
    "unbalanced": "no interval: the design is not balanced",
    "undefined": "undefined",
    "undefined_bootstrap": "undefined in {n} of {total} resamples",
    "undefined_half_samples": "half-samples left out, because their correlation is 1, -1 or "
    "undefined: {n} of {total}",
    "undefined_resamples": "undefined in {n} of {total} {resamples}: too few outputs for "
    "n_neighbors, a missing class, or an output without judgments",
    "undefined_subsamples": "undefined in {n} of {total} subsamples: too few texts, or too few "
    "tokens",
    "undefined_without_one": "undefined if one of the clusters is left out",
    "unequal_classes": "coverage is uncertain: one class has over {most} times as many outputs as "
    "the other ({larger} and {n})",
    "unknown_unit": "the unit is unknown, so its scale is assumed to start at 0",
    "unlabeled": "no output has both a label and a score",
    "unlimited": "the interval reaches -1 or 1, which have no finite z",
    "unpooled_systems": "correlations over fewer than {least} systems are not pooled",
    "unscored_outputs": "outputs excluded because they have no score: {n}",
    "unscored_systems": "systems excluded because they have no score: {names}",
    "weak_votes": "votes vary or agree too little to estimate the expected vote",
    "zero_variance": "no interval: the estimate is 0, its lower bound",
}


@dataclass(frozen=True)
class Status:
    """Whether an estimate can be trusted: a code, and its text for readers. False if ``ok``."""

    code: str = "ok"
    reason: str = ""

    def __bool__(self) -> bool:
        return self.code != "ok"

    def __add__(self, other: Status) -> Status:
        """Join two statuses: the code of the first that is not ``ok``, and both texts."""
        if not self or not other:
            return self or other
        if other.reason in self.reason.split("; "):
            return self
        return Status(self.code, f"{self.reason}; {other.reason}")


OK = Status()


def explain(code: str, **numbers: Any) -> Status:
    """Return the status with this code, its numbers written into its text.

    >>> explain("few_clusters", n="3 effective items", least=10).reason
    'only 3 effective items: an interval from fewer than 10 is unreliable'
    """
    return Status(code, REASONS[code].format(**numbers))


def first_status(n: int, *cases: tuple[Any, Any]) -> Any:
    """Select, for each of n rows, the first status that is not ``ok`` among the cases that hold.

    A case is a condition and a status; either can be an array over rows.
    """
    statuses = np.full(n, OK, dtype=object)
    for condition, status in reversed(cases):
        chosen = np.full(n, status, dtype=object)
        statuses = np.where(condition & chosen.astype(bool), chosen, statuses)
    return statuses


def split_status(table: pd.DataFrame) -> pd.DataFrame:
    """Replace a column ``status`` of statuses by two columns of text, ``status`` and ``reason``."""
    statuses = table["status"]
    return table.assign(
        status=[status.code for status in statuses], reason=[status.reason for status in statuses]
    )


def estimate_columns(
    estimate: float,
    ci_low: float = math.nan,
    ci_high: float = math.nan,
    status: Status = OK,
    **others: Any,
) -> dict[str, Any]:
    """Return the columns of one estimate: its interval, others (se, n, covers), and its status."""
    numbers = {"estimate": float(estimate), "ci_low": float(ci_low), "ci_high": float(ci_high)}
    return numbers | others | {"status": status.code, "reason": status.reason}


class Unsupported(ValueError):
    """A study lacks what an analysis needs. `status` is the code of what is missing.

    This is the only error for which a notebook skips a section: all others are faults.
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
