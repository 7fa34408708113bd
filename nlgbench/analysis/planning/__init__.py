"""Planning: how many judgments a question needs, and when enough have been bought."""

from nlgbench.analysis.planning.components import variance_components
from nlgbench.analysis.planning.own_design import coverage
from nlgbench.analysis.planning.plans import StudyPlan, plan_study
from nlgbench.analysis.planning.plans_of_scores import plan_correlations, plan_huse
from nlgbench.analysis.planning.stopping import Sequential, blocks_needed, sequential

__all__ = [
    "Sequential",
    "StudyPlan",
    "blocks_needed",
    "coverage",
    "plan_correlations",
    "plan_huse",
    "plan_study",
    "sequential",
    "variance_components",
]
