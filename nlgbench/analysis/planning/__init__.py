"""Planning: how many judgments a question needs, and when to stop collecting them."""

from nlgbench.analysis.planning.plans import StudyPlan as StudyPlan
from nlgbench.analysis.planning.stopping import Sequential as Sequential
