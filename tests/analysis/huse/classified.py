"""What HUSE's classifier says of each output, for all systems of a study."""

import pandas as pd

from nlgbench.analysis.huse.score import chosen_systems, compare, outputs_of


def classified(study, systems=None, **options):
    parts = [outputs_of(compare(study, one, **options)) for one in chosen_systems(study, systems)]
    return pd.concat(parts, ignore_index=True)
