"""EMNLP-17: tidy tables, and the authors' correlations by another way."""

import pandas as pd
import pytest
from scipy.stats import spearmanr

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.emnlp17 import DATA, RAW_FILE, SYSTEMS
from tests.released import needs

RELEASED = needs(RAW_FILE)


@RELEASED
@pytest.mark.parametrize(
    ("data", "n"),
    [
        ("bagel", {"tgen": 202, "lols": 202}),
        ("sfhotel", {"lols": 398, "rnnlg": 477}),
        ("sfrest", {"lols": 581, "rnnlg": 600}),
    ],
)
def test_spearman_of_each_system_data_set_and_metric(data, n):
    """As `analysis_emnlp.R` of the release does it: within a system's outputs on a data set."""
    study = nb.load(f"emnlp17-{data}")
    assert study.outputs["system"].value_counts().to_dict() == n
    raw = pd.read_csv(cache.path(RAW_FILE))
    raw = raw[raw["dataset"] == DATA[data]]
    for system, size in n.items():
        found = nb.correlate(
            study.only(systems=[system]),
            granularity="output",
            statistics=["spearman"],
            resample=None,
            n_resamples=1,
        )
        assert len(found) == 23 * 3 and found["n"].eq(size).all()
        own = raw[raw["system"].map(SYSTEMS) == system]
        for row in found.itertuples():
            expected = spearmanr(own[row.evaluator], own[row.dimension]).statistic
            # Smoothed BLEU goes down to 1e-15, where `correlate` takes values for equal.
            close = 8e-3 if row.evaluator in ("Bleu_2", "Bleu_3", "Bleu_4") else 1e-12
            assert row.estimate == pytest.approx(expected, abs=close)
