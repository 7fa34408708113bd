"""
Severe and lenient annotators
=============================

How far each annotator's judgments lie from the average annotator's, on the same outputs.
"""

import nlgbench as nb

study = nb.simulate("judgments", n_annotators=12, n_items=60, seed=1)
compared = nb.compare_systems(study)
drawing = nb.plot_severity(compared)
