"""Agreement with annotators, by the number of labels that a comparator is trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from scipy.stats import t as student

from nlgbench.analysis.people.coefficients import logit_interval
from nlgbench.analysis.trials.running import BASELINES, Trials, TrialSplit, run_parallel
from nlgbench.clustering import few_clusters
from nlgbench.evaluators.comparator.comparators import Backend, compare, train_comparator
from nlgbench.evaluators.comparator.pairs import supervise
from nlgbench.status import explain, first_status, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked

SAME, HELD_OUT = "comparator, same systems", "comparator, held-out systems"


@checked
def label_curve(
    splits: Sequence[TrialSplit],
    trials: Trials,
    *,
    ties_within: Mapping[str, float],
    n_labels: Sequence[int] = (0, 40, 400),
    n_unlabeled: int = 500,
    backend: Backend = "tfidf",
) -> pd.DataFrame:
    """Measure how often evaluators prefer the output that annotators judged better.

    A label is a judged pair of training outputs; small sets of labels are among larger ones. Test
    pairs are held-out outputs of two systems with different judgments. For held-out systems, each
    system in turn is left out of training, and the test pairs are those with this system. Without
    labels, a comparator learns from `n_unlabeled` strong and as many weak pairs.

    Columns: data, evaluator, n_labels (NaN for baselines), n_used (fewer labels if there are
    fewer), estimate, ci_low, ci_high (over splits), confidence, n (splits), status, reason.
    """
    cases, jobs, tables = [], [], []
    for fold in splits:
        systems = fold.study.outputs.set_index("output_id")["system"]
        draw = partial(supervise, kinds=["human"], threshold=ties_within[fold.data], seed=fold.seed)
        labels = draw(fold.train, held_out=fold.machine, n=2 * max(n_labels))
        tests = draw(fold.machine, n=500)
        of_two = tests["output_a"].map(systems) != tests["output_b"].map(systems)
        tests = tests[of_two & (tests["outcome"] == "better")]
        unlabeled = fold.pairs[fold.pairs["supervision"] != "human"]
        unlabeled = unlabeled.groupby("supervision").head(n_unlabeled)
        split_of = {"data": fold.data, "trial": fold.number}
        tables.append(_baselines(trials.tests[fold.data, fold.number], tests, split_of))
        for left_out in (None, *sorted(fold.machine.systems)):
            free, judged = (
                pairs[~_involves(pairs, systems, left_out)] for pairs in (unlabeled, labels)
            )
            relevant = tests[_involves(tests, systems, left_out)] if left_out else tests
            case = {**split_of, "evaluator": HELD_OUT if left_out else SAME}
            for n in n_labels if len(relevant) else ():
                cases.append({**case, "n_labels": n, "n_used": min(n, len(judged))})
                pairs = pd.concat([free, judged.head(n)], ignore_index=True)
                options = {"backend": backend, "encoder": trials.encoder, "seed": fold.seed}
                jobs.append(delayed(_agreement)(pairs, relevant, fold.machine.outputs, options))
    shares = pd.DataFrame(cases).assign(share=run_parallel(jobs))
    return _average(pd.concat([shares, *tables], ignore_index=True))


def _involves(pairs: pd.DataFrame, systems: pd.Series, name: Any) -> pd.Series:
    """Check whether an output of a system is in each pair; texts of checkpoints have none."""
    return pairs["output_a"].map(systems).eq(name) | pairs["output_b"].map(systems).eq(name)


def _agreement(
    pairs: pd.DataFrame, tests: pd.DataFrame, outputs: pd.DataFrame, options: dict[str, Any]
) -> float:
    """Train a comparator on pairs, and return the share of test pairs that it decides rightly."""
    verdicts = compare(train_comparator(pairs, **options), outputs, tests)
    return _share(verdicts["prob_a"] - verdicts["prob_b"])


def _share(lead: pd.Series) -> float:
    """Return the share of pairs in which the better output leads; equal scores count half."""
    return float(((np.sign(lead.dropna()) + 1) / 2).mean())


def _baselines(study: Study, tests: pd.DataFrame, split_of: dict) -> pd.DataFrame:
    """Return the shares of baselines, and of length in words, on the test pairs of a split."""
    scored = study.scored()
    scores = scored[scored["evaluator"].isin(BASELINES)]
    scores = scores.pivot(index="output_id", columns="evaluator", values="score")
    scores["length@sentinel"] = study.outputs.set_index("output_id")["text"].str.count(r"\S+")
    better, worse = (
        scores.loc[tests[side]].reset_index(drop=True) for side in ("output_a", "output_b")
    )
    shares = (better - worse).apply(_share).rename_axis("evaluator").rename("share")
    return shares.reset_index().assign(**split_of)


def _average(shares: pd.DataFrame) -> pd.DataFrame:
    """Average over left-out systems, then over splits, with Student's t on the logit scale."""
    keys = ["data", "evaluator", "n_labels"]
    shares = shares.groupby([*keys, "trial"], dropna=False, sort=False).mean()
    over_splits = shares.groupby(keys, dropna=False, sort=False)
    table = over_splits["n_used"].mean().reset_index()
    mean, n = over_splits["share"].mean().to_numpy(), over_splits.size().to_numpy()
    error = over_splits["share"].std().to_numpy() / np.sqrt(n)
    inner = np.where((error > 0) & (mean > 0) & (mean < 1), mean, np.nan)
    low, high = logit_interval(inner, student.ppf(0.975, np.maximum(n - 1, 1)) * error)
    status = first_status(
        len(table),
        (n == 1, explain("one_trial")),
        (np.isnan(inner), explain("no_variation")),
        (True, [few_clusters(int(size), "clusters (splits)") for size in n]),
    )
    table = table.assign(estimate=mean, ci_low=low, ci_high=high, confidence=0.95, n=n)
    return split_status(table.assign(status=status))
