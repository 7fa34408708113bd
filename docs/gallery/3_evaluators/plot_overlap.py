"""
Overlap and votes
=================

Corpus BLEU-4 of each system, and the share of votes that call its outputs real.
"""

import pandas as pd

import nlgbench as nb

study = nb.simulate("crowd", n_outputs=50, n_truth=0)
near = nb.nearest_references(study, n=10)
scores = nb.score(study, ["corpus_bleu_4"], references=near).system_scores
scores = scores.dropna(subset="score").sort_values("score", ascending=False)
real = scores["system"].map(nb.system_quality(study))
panels = {"Corpus BLEU-4": scores["score"], 'Share of votes "real"': real}
tables = [scores.assign(data=name, estimate=column) for name, column in panels.items()]
rows = pd.concat(tables).assign(ci_low=None, ci_high=None, evaluator=lambda table: table["system"])
drawing = nb.plot_forest(rows, xlabel="Share or score, 0 to 1", xlim=None)
