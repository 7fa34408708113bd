"""WebNLG 2020: means and ranks are those that the authors' released notebook prints."""

import pytest

import nlgbench as nb
from nlgbench.analysis.people import rank_systems
from tests.released import needs

RELEASED = needs("webnlg-2020")
#: Systems by their ranks, best first, in evaluation/human-evaluation/eval-scripts/en/english.ipynb.
PRINTED = """
correctness: Amazon_AI_(Shanghai) Baseline-FORGE2020 bt5 cuni-ufal DANGNT-SGU FBConvAI NUIG-DSI
    OSU_Neural_NLG RALI WebNLG-2020-reference; Baseline-FORGE2017 CycleGT TGen;
    Huawei_Noahs_Ark_Lab NILC; ORANGE-NLG UPC-POE.
data_coverage: Amazon_AI_(Shanghai) Baseline-FORGE2020 DANGNT-SGU OSU_Neural_NLG RALI
    WebNLG-2020-reference; Baseline-FORGE2017 bt5 cuni-ufal FBConvAI NUIG-DSI; CycleGT TGen;
    Huawei_Noahs_Ark_Lab NILC; ORANGE-NLG; UPC-POE.
fluency: Amazon_AI_(Shanghai) FBConvAI OSU_Neural_NLG WebNLG-2020-reference;
    bt5 cuni-ufal NUIG-DSI TGen; Baseline-FORGE2020 CycleGT; Baseline-FORGE2017 DANGNT-SGU RALI;
    Huawei_Noahs_Ark_Lab NILC ORANGE-NLG UPC-POE.
relevance: Amazon_AI_(Shanghai) Baseline-FORGE2020 bt5 cuni-ufal CycleGT DANGNT-SGU NUIG-DSI
    OSU_Neural_NLG RALI TGen WebNLG-2020-reference; Baseline-FORGE2017 FBConvAI;
    Huawei_Noahs_Ark_Lab NILC; ORANGE-NLG UPC-POE
"""
RANKS = dict(part.strip().split(": ") for part in PRINTED.split("."))
#: System -> its means there. One item of Baseline-FORGE2020 has no judgment: the notebook reads it
#: as 0 and prints 91.794 of Correctness; 91.794 * 178 / 177 is the mean of those that have one.
MEANS = {
    "correctness": {"Amazon_AI_(Shanghai)": 93.531, "bt5": 93.583, "UPC-POE": 74.374},
    "data_coverage": {"RALI": 95.204, "TGen": 88.176, "ORANGE-NLG": 79.959},
    "fluency": {"FBConvAI": 90.837, "NILC": 74.851, "WebNLG-2020-reference": 89.846},
    "relevance": {"Amazon_AI_(Shanghai)": 95.196, "CycleGT": 93.370, "NILC": 83.522},
    "text_structure": {"bt5": 91.914, "cuni-ufal": 90.752, "Huawei_Noahs_Ark_Lab": 80.219},
}


@pytest.fixture(scope="module")
def study():
    return nb.load("webnlg-2020")


@RELEASED
@pytest.mark.parametrize("dimension", RANKS)
def test_ranks_follow_by_the_authors_rule(study, dimension):
    table = rank_systems(study, dimension=dimension, include_human=True)
    groups = [names.split() for names in RANKS[dimension].split(";")]
    expected = {name: rank for rank, names in enumerate(groups, 1) for name in names}
    assert table.set_index("system")["rank"].to_dict() == expected and len(expected) == 17


@RELEASED
@pytest.mark.parametrize("dimension", MEANS)
def test_means_follow_and_the_design_is_connected(study, dimension):
    found = nb.compare_systems(study, dimension=dimension, include_human=True)
    raw = found.details.set_index("system")["raw"]
    for name, printed in MEANS[dimension].items():
        assert raw[name] == pytest.approx(printed, abs=0.0005)
    if dimension == "correctness":
        assert raw["Baseline-FORGE2020"] == pytest.approx(91.794 * 178 / 177, abs=0.001)
    assert found.details["n_missing"].sum() == 1 and found.pairs["p"].notna().all()
