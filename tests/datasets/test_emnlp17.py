"""EMNLP-17: tidy tables, and the authors' correlations by another way."""

import pandas as pd
import pytest
from scipy.stats import spearmanr

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.emnlp17 import DATA, DIMENSIONS, RAW_FILE, SYSTEMS, read_emnlp17
from tests.released import needs

RELEASED = needs(RAW_FILE)
ROWS = [
    ("BAGEL", "Dusek", "inform(x)", "One.", 0.5, 1, 6, 4, 5, "REST"),
    ("SFRES", "WEN", "inform(y)", "Two.", 0.25, 2, 5, 4, 3, "REST"),
    ("SFRES", "LOLS", "inform(z)", "Three.", 0, 3, 2, 1, 1.5, "REST"),
    ("SFRES", "WEN", "inform(y)", "Four, again.", 1, 4, 3, 3, 3, "REST"),
]
COLUMNS = "dataset system mr sys_ref TER lev.dist informativeness naturalness quality domain"


def test_a_release_becomes_tidy_tables(tmp_path):
    path = tmp_path / "medians.csv"
    pd.DataFrame(ROWS, columns=COLUMNS.split()).to_csv(path, index=False)
    study = read_emnlp17(path, "sfrest")
    assert study.outputs.to_numpy().tolist() == [
        ["m001-rnnlg", "m001", "rnnlg", "Two.", False, "inform(y)"],
        ["m002-lols", "m002", "lols", "Three.", False, "inform(z)"],
        ["m001-rnnlg-2", "m001", "rnnlg", "Four, again.", False, "inform(y)"],
    ]
    quality = study.judgments[study.judgments["dimension"] == "quality"]
    assert quality["value"].tolist() == [3, 1.5, 3]
    assert study.scores["evaluator"].unique().tolist() == ["TER", "lev.dist"]
    assert study.scores["score"].tolist() == [0.25, 0, 1, 2, 3, 4]
    assert read_emnlp17(path, "bagel").outputs["output_id"].tolist() == ["m001-tgen"]


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


@RELEASED
def test_the_release():
    studies = {name: nb.load(f"emnlp17-{name}") for name in DATA}
    sizes = {name: len(study.outputs) for name, study in studies.items()}
    assert sizes == {"bagel": 404, "sfhotel": 875, "sfrest": 1181} and sum(sizes.values()) == 2460
    for study in studies.values():
        assert study.dimensions == list(DIMENSIONS)
        assert study.judgments["value"].between(1, 6).all()
        assert nb.agreement(study)["estimate"].isna().all()
