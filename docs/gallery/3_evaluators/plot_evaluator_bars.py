"""
Systems by each evaluator
=========================

Each evaluator's mean scores of systems, systems from best to worst for people.
"""

import pandas as pd

import nlgbench as nb

study = nb.simulate("own", n_items=60, seed=1)
by_system = study.outputs.set_index("output_id")["system"]
scores = study.scores.assign(system=study.scores["output_id"].map(by_system))
bars = scores.groupby(["evaluator", "system"])["score"].agg(["mean", "sem"]).reset_index()
bars = bars.rename(columns={"evaluator": "panel", "mean": "score"})
bars["ci_low"] = bars["score"] - 1.96 * bars["sem"]
bars["ci_high"] = bars["score"] + 1.96 * bars["sem"]
quality: pd.Series = nb.system_quality(study)
drawing = nb.plot_evaluator_bars(bars.assign(human_quality=bars["system"].map(quality)))
