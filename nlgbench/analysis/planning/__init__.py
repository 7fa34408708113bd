"""Planning: how many judgments a question needs, and when enough have been bought."""

from nlgbench.analysis.planning.components import variance_components
from nlgbench.analysis.planning.plans import StudyPlan, plan_study
from nlgbench.analysis.planning.plans_of_scores import plan_correlations
from nlgbench.analysis.planning.stopping import Sequential, sequential

__all__ = [
    "Sequential",
    "StudyPlan",
    "plan_correlations",
    "plan_study",
    "sequential",
    "variance_components",
]
