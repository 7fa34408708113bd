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


def test_studies_are_joined_and_means_need_five():
    table = correlations()
    hollow = table["study"].eq("b") & table["granularity"].eq("system")
    table.loc[hollow, ["ci_low", "ci_high"]] = np.nan
    drawn = nb.plot_granularity(nb.pool_correlations(table))
    chrf, length = drawn.axes
    assert [chrf.get_title(), length.get_title()] == ["chrF", "Length (sentinel)"]
    words = [tick.get_text() for tick in chrf.get_xticklabels()]
    assert words == ["output\nn = 8", "item\nn = 5", "system\nn = 1"]
    known = table[table["evaluator"] == "chrf"].set_index(["study", "granularity"])["estimate"]
    lines = [line.get_xydata() for line in chrf.lines if line.get_marker() in ("None", "")]
    joined = known["b"][["output", "item", "system"]]
    assert any(len(line) == 3 and np.allclose(line[:, 1], joined) for line in lines)
    assert "] (n = 5), system no mean (n = 1)" in drawn.alt
    assert_readable(drawn)
