"""Studies are drawn at each of their levels, and means where there are five studies or more."""

import numpy as np
import pandas as pd
from gray import assert_readable
from plot_samples import effects

import nlgbench as nb


def correlations(n=12):
    levels = {"output": "abcdefgh", "item": "abcde", "system": "ab"}
    return pd.concat(
        [effects(studies=studies, level=level, n=n) for level, studies in levels.items()],
        ignore_index=True,
    )


def test_studies_are_drawn_and_means_need_five():
    table = correlations()
    drawn = nb.plot_granularity(nb.pool_correlations(table))
    titles = [ax.get_title(loc="left") for ax in drawn.axes]
    assert titles == ["Over outputs", "Within items", "Over systems"]
    rows = [tick.get_text() for tick in drawn.axes[0].get_yticklabels()]
    assert rows == ["chrF", "Length (sentinel)"]
    studies = [ax.lines[0].get_xydata() for ax in drawn.axes]
    assert [np.sum(points[:, 1] == 0) for points in studies] == [8, 5, 2]
    assert "] (n = 5), system no mean (n = 2)" in drawn.alt
    assert_readable(drawn)
