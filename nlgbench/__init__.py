"""Evaluate text generators, and the evaluators that score them.

Analyses take a `Study` as their first argument. Names are loaded on first use: ``dir(nlgbench)``
lists them, and `__init__.pyi` shows their modules.

>>> import nlgbench as nb
>>> study = nb.simulate("gaussian", seed=0)
>>> study
<Study 'gaussian' (simulated): 400 outputs of 4 systems, judgments, logprobs>
"""

from __future__ import annotations

import ast as _ast
import importlib as _importlib
from pathlib import Path as _Path

__version__ = "0.2.0"

_WHERE = {
    alias.asname or alias.name: (node.module, alias.name)
    for node in _ast.parse(_Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, _ast.ImportFrom) and node.module
    for alias in node.names
}
# Removed names -> what to use instead.
_GONE = {
    "aggregate_judgments": "nlgbench.analysis.people.aggregate_judgments",
    "AggregatedJudgments": "nlgbench.analysis.people.AggregatedJudgments",
    "Audit": "the result of audit (nlgbench.analysis.judges)",
    "blocks_needed": "sequential",
    "choices": "choose and nlgbench.analysis.trials.judge_choices",
    "Comparator": "train_comparator (a class of nlgbench.evaluators.comparator.comparators)",
    "compare_aggregations": "nlgbench.analysis.people.aggregate_judgments, then correlate",
    "compare_with_length": "nlgbench.analysis.correlation.compare_with_length",
    "CorrectedQuality": "the result of corrected_quality (nlgbench.analysis.judges)",
    "correlate_studies": "nlgbench.analysis.correlation.correlate_studies",
    "coverage": "plan_study (measured coverage is in the documentation)",
    "cv_star": "nlgbench.analysis.reproduction.cv_star",
    "drawing": "the argument ax of plots, with one Drawing for each panel",
    "export_survey": "the form of the crowd platform; `nlgbench new --as mturk` reads its export",
    "huse_difference": "huse, and compare the intervals",
    "huse_outputs": "boundary(study, system=...).outputs",
    "huse_with_predictions": "huse",
    "import_survey": "`nlgbench new --as mturk` (or prolific) and read_study",
    "leave_one_out": "nlgbench.analysis.trials.split_studies(leave_out=True) and run_trials",
    "optimal_error_bound": "huse",
    "plan_huse": "plan_study",
    "plot_accuracy": "plot_forest",
    "plot_coverage": "plot_plan",
    "plot_evaluator_bars": "plot_forest",
    "plot_flip": "plot_forest",
    "plot_power": "DataFrame.plot",
    "plot_single_outputs": "plot_forest",
    "plot_superiority": "plot_win_rates",
    "plot_supervision": "plot_forest",
    "plot_sweep": "`nlgbench plot-sweep`",
    "PooledCorrelations": "nlgbench.analysis.correlation.PooledCorrelations",
    "prevalence": "corrected_quality",
    "rank_systems": "nlgbench.analysis.people.rank_systems (WebNLG's rule)",
    "rating_differences": "win_rates",
    "read_claims": "check_claims, which reads claims.csv",
    "Regressor": "run_trials (nlgbench.evaluators.comparator.regressor)",
    "Replacement": "the result of replaces_annotators (nlgbench.analysis.judges)",
    "Reproduction": "reproduction, which returns a DataFrame",
    "score_shards": "score, with a Dask DataFrame",
    "Sequential": "the result of sequential (nlgbench.analysis.planning)",
    "StudyPlan": "the result of plan_study (nlgbench.analysis.planning)",
    "SystemComparison": "nlgbench.analysis.people.SystemComparison",
    "tournament": "convergence",
    "train_regressor": "run_trials (nlgbench.evaluators.comparator.regressor)",
    "vote_position": "audit",
}
__all__ = [*_WHERE, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        instead = f": use {_GONE[name]}" if name in _GONE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    module, inner = _WHERE[name]
    found = getattr(_importlib.import_module(module), inner)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
