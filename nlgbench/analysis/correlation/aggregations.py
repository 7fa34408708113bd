"""Does it matter who votes? Evaluators against people whose judgments are aggregated otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation.comparing import compare_evaluators
from nlgbench.analysis.correlation.meta_evaluation import chosen_evaluators, gathered
from nlgbench.analysis.people.annotator_models import Method, aggregate_judgments
from nlgbench.inference import adjust
from nlgbench.study import Study
from nlgbench.study.checks import checked

_MEAN: Method = "mean"
_COLUMNS = {
    "dimension": "evaluator",
    "evaluator_a": "method",
    "estimate_a": "estimate",
    "estimate_b": "with_mean",
}


@checked
def compare_aggregations(
    study: Study | Mapping[str, Study],
    *,
    evaluators: Sequence[str] | None = None,
    methods: Sequence[Literal["majority", "dawid_skene", "mace"]] = (
        "majority",
        "dawid_skene",
        "mace",
    ),
    statistic: Literal["pearson", "spearman", "kendall_b"] = "pearson",
    dimension: str | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Say how much evaluators' correlations with people depend on how judgments become one.

    Parameters
    ----------
    study : Study or mapping of str to Study
        With judgments, and scores of outputs. Several: each by itself, by name.
    evaluators : sequence of str, optional
        Which. Default: all that scored outputs.
    methods : sequence of {"majority", "dawid_skene", "mace"}
        As in `nlgbench.aggregate_judgments`; each is set beside the mean.
    statistic : {"pearson", "spearman", "kendall_b"}
        Correlation over the systems' means, of an evaluator's scores and people's labels.
    dimension : str, optional
        Which judgments. Default: the study's quality dimension.
    n_resamples : int
        Bootstrap samples of clusters, from which the two correlations' own is taken.
    confidence : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per evaluator and method: study (where there are several), evaluator, method,
        statistic, estimate (with the labels of this method), with_mean (with mean judgments),
        difference (above 0: the evaluator agrees better with this method's labels), ci_low,
        ci_high, confidence, reason, p, p_adjusted (Holm over all rows of a study), n (systems),
        n_clusters, n_missing (outputs without a label or score).

    Raises
    ------
    ValueError
        As `nlgbench.aggregate_judgments` and `nlgbench.compare_evaluators`.

    Notes
    -----
    A correlation has no sides: the labels stand as evaluators, the evaluator's scores as judgments,
    and the difference is that of `nlgbench.compare_evaluators` by resampling HITs (``group_id``,
    where every output has one), the study's clusters, or items. Its interval is for the systems'
    expectations, as there. Labels are taken as given: the models are not fitted to each resample,
    so that what is unsure about annotators is left out. Outputs without a label (ties) count for
    no method.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", n_outputs=10, n_truth=0, seed=1)
    >>> study = nb.score(study, ["minus_self_bleu_4"])
    >>> found = compare_aggregations(study, methods=["majority"], n_resamples=50)
    >>> found[["evaluator", "method", "n", "n_clusters"]].values.tolist()
    [['minus_self_bleu_4', 'majority', 12, 12]]
    """
    if isinstance(study, Mapping):
        options = {key: value for key, value in locals().items() if key != "study"}
        return gathered({name: compare_aggregations(one, **options) for name, one in study.items()})
    seed = np.random.default_rng(seed)
    dimension = study.dimension(dimension)
    every: dict[Method, None] = dict.fromkeys([_MEAN, *methods])
    names = list(chosen_evaluators(study, evaluators, "system", needs_outputs=True))
    labels = [
        aggregate_judgments(
            study, method=method, dimension=dimension, n_resamples=0, seed=seed
        ).judgments
        for method in every
    ]
    swapped = _swapped(study, names, dimension, pd.concat(labels))
    assert swapped.judgments is not None
    hits = (swapped.judgments["group_id"] != "").all()
    found = compare_evaluators(
        swapped,
        pairs=[(method, _MEAN) for method in dict.fromkeys(methods)],
        statistic=statistic,
        method="resampling",
        clusters="group_id" if hits else None,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=seed,
    )
    found = found.rename(columns=_COLUMNS).assign(p_adjusted=adjust(found["p"]))
    kept = ["evaluator", "method", "statistic", "estimate", "with_mean", "difference", "ci_low"]
    kept += ["ci_high", "confidence", "reason", "p", "p_adjusted", "n", "n_clusters", "n_missing"]
    return found[kept]


def _swapped(study: Study, names: list[str], dimension: str, labels: pd.DataFrame) -> Study:
    """Let labels stand as scores, and evaluators' scores as judgments."""
    settings = dict(study.settings or {})
    lower = dimension in settings.get("lower_is_better", ())
    scores = labels.rename(columns={"annotator_id": "evaluator", "value": "score"})
    scores = scores.assign(signature="direction:lower" if lower else "")
    page = labels.drop_duplicates("output_id").set_index("output_id")["group_id"]
    assert study.scores is not None
    said = study.scores[study.scores["evaluator"].isin(names)]
    said = said[said["output_id"].isin(page.index) & said["score"].notna()]
    turned = said["signature"].str.contains("direction:lower", regex=False)
    judgments = pd.DataFrame(
        {
            "output_id": said["output_id"],
            "annotator_id": "evaluator",
            "dimension": said["evaluator"],
            "group_id": said["output_id"].map(page),
            "value": said["score"].mask(turned, -said["score"]),
        }
    )
    return Study(
        study.outputs,
        judgments,
        name=study.name,
        scores=scores[["output_id", "evaluator", "score", "signature"]],
        settings={key: settings[key] for key in ("clusters", "extra", "labels") if key in settings},
    )
