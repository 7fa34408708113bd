"""The ranking method of the shared task WebNLG 2020."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from scipy.stats import ranksums

from nlgbench.analysis.people.comparing import judged_systems
from nlgbench.study import Study
from nlgbench.study.checks import checked

_LEVEL = 0.05


@checked
def rank_systems(
    study: Study, *, dimension: str | None = None, include_human: bool = False
) -> pd.DataFrame:
    """Rank systems by the method of WebNLG 2020, for comparison with its tables.

    Parameters
    ----------
    study : Study
        A study with judgments of at least two systems.
    dimension, include_human
        As in `compare_systems`.

    Returns
    -------
    DataFrame
        A row per system, the best first: system, label, score (mean z-score of its outputs), rank.

    Raises
    ------
    ValueError
        When fewer than two systems are judged, or the dimension is unknown.

    Notes
    -----
    Systems are sorted by mean z-score (within annotator). A system that is significantly worse than
    an earlier one (two-sided rank-sum test, p < .05) is ranked one below it (Castro Ferreira et al.
    2020, aclanthology.org/2020.webnlg-1.7). Unlike `compare_systems`, this rule treats annotators
    as fixed and does not adjust for multiple testing.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[2.0, 0.0, 0.1], seed=0)
    >>> rank_systems(study)[["system", "rank"]].values.tolist()
    [['s01', 1], ['s03', 2], ['s02', 2]]
    """
    frame = judged_systems(study, study.dimension(dimension), include_human)
    by = frame.groupby("annotator_id")["value"]
    spread = by.transform("std", ddof=0)
    frame["z"] = ((frame["value"] - by.transform("mean")) / spread.where(spread > 0)).fillna(0.0)
    outputs = frame.groupby(["item_id", "system"], sort=False)["z"].mean()
    table = outputs.unstack("system")[list(dict.fromkeys(frame["system"]))]
    score = table.mean().sort_values(ascending=False, kind="stable")
    of = {name: table[name].dropna() for name in score.index}
    rank = dict.fromkeys(score.index, 1)
    for place, one in enumerate(score.index):
        for before, other in pairwise(score.index[place:]):
            if ranksums(of[one], of[other]).pvalue < _LEVEL:
                rank[other] = rank[one] + 1
            else:
                rank[other] = max(rank[other], rank[before])
    found = pd.DataFrame({"system": score.index, "label": [*map(study.label, score.index)]})
    return found.assign(score=score.to_numpy(), rank=np.array(list(rank.values())))
