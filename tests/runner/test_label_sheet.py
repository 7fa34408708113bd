"""`nlgbench sample` writes a blind sheet, and the study that reads it when it is filled."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

RNG = np.random.default_rng(7)
PASS = RNG.random(400) < 0.6
OUTPUTS = pd.DataFrame(
    {
        "id": np.repeat(np.arange(200), 2),
        "model": ["alpha", "beta"] * 200,
        "reply": [f"Reply {n}." for n in range(400)],
        "judge": np.where(PASS, RNG.uniform(0.3, 1, 400), RNG.uniform(0, 0.7, 400)).round(3),
    }
)


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Return a function that runs the command on a study of two systems with a judge's scores."""
    monkeypatch.chdir(tmp_path)
    OUTPUTS.to_csv("replies.csv", index=False)
    columns = {"item": "id", "system": "model", "text": "reply", "score": "judge"}
    flags = [word for name, column in columns.items() for word in (f"--{name}", column)]
    CliRunner().invoke(main, ["new", "replies.csv", "--out", "bot", *flags], catch_exceptions=False)

    def run(*arguments):
        result = CliRunner().invoke(main, ["sample", *map(str, arguments)])
        return result.exit_code, " ".join(result.output.split())

    return run


def fill(path):
    """Fill a sheet with the true labels."""
    sheet = pd.read_csv(path, dtype=str)
    number = sheet["text"].str.extract(r"(\d+)")[0].astype(int)
    sheet.assign(label=np.where(PASS[number], "pass", "fail")).to_csv(path, index=False)


@pytest.mark.parametrize("design", ["random", "stratified", "uncertain"])
def test_a_filled_sheet_gives_corrected_means(sample, design):
    code, text = sample("bot", "--n", 120, "--design", design)
    assert code == 0 and "nlgbench run 09 -p study=bot-labels -p sampling=weighted" in text
    sheet = pd.read_csv("bot-labels/labels.csv", dtype=str)
    assert [*sheet] == ["output_id", "item_id", "context", "text", "label"] and len(sheet) == 120
    assert not sheet.astype(str).stack().str.contains("alpha|beta").any()
    assert not sheet["item_id"].astype(int).is_monotonic_increasing
    fill("bot-labels/labels.csv")
    study = nb.read_study("bot-labels")
    found = nb.corrected_quality(study, evaluator="judge", sampling="weighted").systems
    rows = found[found["method"] == "corrected"].set_index("system").sort_index()
    truth = pd.Series(PASS, OUTPUTS["model"]).groupby(level=0).mean()
    assert truth.between(rows["ci_low"], rows["ci_high"]).all() and rows["n_labels"].sum() == 120


def test_filled_sheets_and_other_folders_are_kept(sample):
    assert sample("bot", "--n", 30)[0] == sample("bot", "--n", 40)[0] == 0
    fill("bot-labels/labels.csv")
    for out in ("bot-labels", "bot"):
        code, text = sample("bot", "--n", 30, "--out", out)
        assert code == 2 and f"{out} is kept" in text
    assert len(pd.read_csv("bot-labels/labels.csv")) == 40


def test_it_predicts_what_labels_buy(sample):
    # 60 labels of each system: 2.001 / sqrt(60) standard deviations.
    assert "interval of ±0.26 standard deviations" in (text := sample("bot", "--n", 120)[1])
    assert "What judge adds is unknown" in text
    fill("bot-labels/labels.csv")
    study = nb.read_study("bot-labels")
    labels = study.judged().merge(study.scores, on="output_id")
    labels = labels[["value", "score"]] - labels.groupby("system")[["value", "score"]].transform(
        "mean"
    )
    r, sd = labels.corr().iloc[0, 1], labels["value"].std()
    half = 2.001 / 60**0.5 * sd
    text = sample("bot-labels", "--n", 120, "--out", "more")[1]
    assert f"±{half:.2g}. Corrected by judge: ±{half * (1 - r**2 * 0.7) ** 0.5:.2g}" in text


def test_without_labels_it_predicts_from_other_studies(sample):
    OUTPUTS.rename(columns={"judge": "bleu"}).to_csv("replies.csv", index=False)
    description = Path("bot/study.yml")
    description.write_text(description.read_text().replace("judge", "bleu"))
    text = sample("bot", "--n", 120)[1]
    # The largest correlation is .58; since the interval includes 0, labels alone are the worst.
    assert "Corrected by bleu: ±0.23 to ±0.26 (correlation -0.17 to 0.58 in other studies)" in text
