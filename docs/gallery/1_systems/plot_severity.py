"""
Severe and lenient annotators
=============================

How much lower each annotator judges the same outputs than the average annotator does.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_annotators=12, n_items=60, seed=1)
compared = nb.compare_systems(study)
drawing = nb.plot_severity(compared)
