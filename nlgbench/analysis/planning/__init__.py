"""Planning: how many judgments a question needs, and when enough have been bought."""

from nlgbench.analysis.planning.plans import StudyPlan as StudyPlan
from nlgbench.analysis.planning.stopping import Sequential as Sequential
