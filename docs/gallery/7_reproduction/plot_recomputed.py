"""
What can be recomputed
======================

Outcomes of recomputing one paper's printed numbers; this example uses no released data.
"""

import nlgbench as nb
from nlgbench.papers import judges_in_print
from nlgbench.runner import record

run = record.open("05-judges-in-print", source="published")
run.claims(judges_in_print.answers_from_print())
for claims, reason in judges_in_print.not_recomputable().items():
    run.skip(claims, reason)
drawing = nb.plot_recomputed(run.close())
