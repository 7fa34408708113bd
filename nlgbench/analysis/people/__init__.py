"""Analyses of human judgments and votes: agreement, comparison of systems, aggregation."""

from nlgbench.analysis.people.annotator_models import AggregatedJudgments as AggregatedJudgments
from nlgbench.analysis.people.annotator_models import aggregate_judgments as aggregate_judgments
from nlgbench.analysis.people.comparing import SystemComparison as SystemComparison
from nlgbench.analysis.people.comparing import compare_systems as compare_systems
from nlgbench.analysis.people.real_or_fake import accuracy as accuracy
from nlgbench.analysis.people.reliability import agreement as agreement
from nlgbench.analysis.people.reliability import split_half as split_half
from nlgbench.analysis.people.shared_tasks import rank_systems as rank_systems
