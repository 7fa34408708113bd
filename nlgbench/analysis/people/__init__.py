"""Analyses of human judgments and votes: agreement and comparison of systems."""

from nlgbench.analysis.people.comparing import SystemComparison as SystemComparison
from nlgbench.analysis.people.comparing import compare_systems as compare_systems
from nlgbench.analysis.people.real_or_fake import accuracy as accuracy
from nlgbench.analysis.people.reliability import agreement as agreement
from nlgbench.analysis.people.reliability import split_half as split_half
