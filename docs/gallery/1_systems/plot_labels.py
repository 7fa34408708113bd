"""
Labels from a model of annotators
=================================

Shares of *real* among judgments (adjusted for annotators) and Dawid-Skene labels, by system.
"""

import pandas as pd

import nlgbench as nb
from nlgbench.analysis.people import aggregate_judgments

systems = ["grammar_t0.7", "trigram_t1.0", "corrupted_0.5", "bigram_t1.0"]
study = nb.simulate("crowd", systems=systems, n_outputs=100, n_truth=0)
judged = nb.compare_systems(study).systems.assign(kind="judgments")
labels = aggregate_judgments(study, method="dawid_skene").systems.query("value == 1")
labels = labels[labels["system"] != "human"].assign(kind="Dawid-Skene labels")
rows = pd.concat([judged, labels]).rename(columns={"system": "evaluator"})
drawing = nb.plot_forest(rows, xlabel='Share of "real"', xlim=(0, 1))
