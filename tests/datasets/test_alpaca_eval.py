"""AlpacaEval: its three systems as released, and the leaderboard's numbers that follow."""

import os
from pathlib import Path

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.datasets.alpaca_eval import RAW_FILES
from nlgbench.datasets.published import load_claims
from nlgbench.papers import alpaca_eval as paper
from nlgbench.runner import record
from nlgbench.study import summary
from tests.released import needs

RELEASED = needs(*RAW_FILES)
# Mean probability and prompts of each system where it was shown first, and where second.
SHOWN = {
    "claude-2": (0.091, 405, 0.253, 399),
    "vicuna-7b": (0.008, 405, 0.073, 398),
    "NullModel": (0.682, 406, 0.857, 399),
}


@RELEASED
def test_the_release_is_three_systems_and_the_reference_with_the_order_shown():
    study = nb.load("alpaca-eval")
    assert study.outputs["system"].value_counts().to_dict() == dict.fromkeys(
        [*SHOWN, paper.REFERENCE], 805
    )
    assert len(study.comparisons) == 2415 and (study.comparisons["prob_tie"] == 1).sum() == 3
    assert study.outputs["dataset"].nunique() == 5
    rates = paper.by_order(study).set_index(["evaluator", "kind"])
    for system, shown in SHOWN.items():
        rows = rates.loc[system].loc[[paper.FIRST, paper.SECOND]]
        found = rows[["estimate", "n_clusters"]].round(3).to_numpy().ravel()
        assert found.tolist() == list(shown), system
    *_, doubt = summary.doubts(study)
    assert doubt.startswith("NullModel: 805 of 805 outputs are the same text.")


@RELEASED
def test_every_number_of_the_leaderboard_matches_but_those_of_all_models():
    run = record.open("09-judges-and-people", source="released")
    run.claims(paper.answers(nb.load("alpaca-eval")))
    ledger = run.close().set_index("claim_id")
    printed = ledger[ledger["published"].notna()]
    controlled = printed.index.str.endswith("length_controlled_winrate")
    assert set(printed["verdict"][~controlled]) == {"matches"} and (~controlled).sum() == 21
    assert set(printed["verdict"][controlled]) == {"not recomputable"}
    rates = printed[printed.index.str.endswith("win_rate")]
    assert (rates["ci_low"] < rates["recomputed"]).all()
    assert (rates["recomputed"] < rates["ci_high"]).all()
    gained = ledger.loc["alpaca-eval/finding/shown_first_less_second/claude_2"]
    assert gained["recomputed"] == pytest.approx(100 * (0.0914097 - 0.2527429), abs=1e-4)


def test_claims_are_transcribed_from_the_leaderboard():
    file = Path(os.environ.get("NLGBENCH_DATA", ""), "judge-logs/alpaca_eval/leaderboard.csv")
    if not file.is_file():
        pytest.skip("NLGBENCH_DATA has no leaderboard")
    board = pd.read_csv(file, index_col=0)
    board.index = board.index.str.lower().str.replace("-", "_")
    for claim in load_claims("alpaca-eval").itertuples():
        _, _, system, column = claim.claim_id.split("/")
        assert abs(board.loc[system, column] - claim.published) <= 5e-7, claim.claim_id


def test_another_study_has_no_reference():
    with pytest.raises(ValueError, match="no outputs of gpt4_1106_preview"):
        paper.by_order(nb.simulate("judges", n_items=12, seed=1))
