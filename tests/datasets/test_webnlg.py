"""WebNLG 2020: tidy tables, and the means and kappas that its authors' notebook prints."""

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.datasets.webnlg import DIMENSIONS, HUMAN
from tests.released import needs

RELEASED = needs("webnlg-2020")
#: What the authors' notebook prints for its 17 systems, in the order of `DIMENSIONS`:
#: evaluation/human-evaluation/eval-scripts/en/english.ipynb of their repository.
MEANS = {
    HUMAN: (94.231, 95.470, 90.025, 94.509, 92.213),
    "bt5": (93.595, 93.771, 88.632, 95.166, 91.785),
    "Amazon_AI_(Shanghai)": (93.502, 94.546, 90.264, 95.329, 92.948),
    "OSU_Neural_NLG": (93.290, 94.947, 89.710, 94.527, 92.167),
    "FBConvAI": (92.675, 93.329, 90.681, 94.040, 92.904),
    "DANGNT-SGU": (92.432, 95.229, 78.179, 94.771, 83.133),
    "Baseline-FORGE2020": (92.316, 93.124, 83.045, 94.062, 87.977),
    "RALI": (92.192, 95.206, 78.098, 94.867, 82.039),
    "NUIG-DSI": (92.103, 92.136, 89.014, 94.057, 91.686),
    "cuni-ufal": (91.473, 93.206, 87.576, 94.518, 90.582),
    "Baseline-FORGE2017": (90.686, 92.628, 81.378, 93.083, 85.987),
    "CycleGT": (89.903, 91.287, 84.764, 93.529, 87.824),
    "TGen": (88.315, 87.594, 85.758, 92.491, 88.857),
    "Huawei_Noahs_Ark_Lab": (81.407, 85.661, 75.171, 86.126, 80.176),
    "NILC": (76.868, 81.974, 75.226, 83.972, 80.696),
    "ORANGE-NLG": (75.113, 80.233, 75.848, 80.126, 80.683),
    "UPC-POE": (74.455, 76.035, 72.364, 82.179, 78.603),
}
#: Fleiss' kappas, from the same.
KAPPAS = (0.166, 0.185, 0.113, 0.129, 0.107)


@pytest.fixture(scope="module")
def released():
    return nb.load("webnlg-2020")


@RELEASED
def test_the_release(released):
    outputs, judgments = released.outputs, released.judgments
    assert len(outputs) == 17 * 178 and outputs["item_id"].nunique() == 178
    assert len(released.systems) == 16 and len(judgments) == 5 * 8453
    assert judgments["annotator_id"].nunique() == 88
    assert judgments["annotator_id"].str.fullmatch(r"w\d{3}").all()
    assert judgments["value"].between(0, 100).all()
    unjudged = outputs[~outputs["output_id"].isin(judgments["output_id"])]
    assert unjudged["system"].tolist() == ["Baseline-FORGE2020"]
    assert (outputs.loc[~outputs["is_human"], "text"] != "").mean() > 0.999
    assert released.dimensions == list(DIMENSIONS.values())
    # Systems state the same facts: texts of one item share half of their words, others a tenth.
    texts = outputs[~outputs["is_human"]].pivot(index="item_id", columns="system", values="text")
    words = texts.map(lambda text: {*text.lower().split()})
    for system in words:
        shared = words[system].combine(words["bt5"], lambda a, b: len(a & b) / len(a | b))
        assert shared.mean() > 0.4, system


@RELEASED
def test_the_printed_means_of_five_dimensions_follow(released):
    """A mean is over a system's judgments; what is missing counts nowhere, and not as 0."""
    judged = released.judgments.merge(released.outputs[["output_id", "system"]])
    means = judged.pivot_table(index="system", columns="dimension", values="value")
    means = means[list(DIMENSIONS.values())].loc[list(MEANS)]
    assert np.abs(means.to_numpy() - np.array(list(MEANS.values()))).max() < 5.1e-4


@RELEASED
@pytest.mark.parametrize(
    ("closed", "printed"), [("right", KAPPAS), ("left", (0.160, 0.175, 0.112, 0.125, 0.100))]
)
def test_five_fleiss_kappas_follow_from_bins_of_20(released, closed, printed):
    """Bins closed on the right give the printed kappas; those closed on the left give others."""
    judgments = released.judgments
    value = judgments["value"]
    bins = np.ceil(value / 20) if closed == "right" else np.floor(value / 20) + 1
    binned = judgments.assign(value=bins.clip(1, 5))
    n = binned.groupby(["output_id", "dimension"])["value"].transform("size")
    study = released.replace(judgments=binned[n == 3])
    for dimension, kappa in zip(DIMENSIONS.values(), printed, strict=True):
        table = nb.agreement(study, dimension=dimension).set_index(["row", "coefficient"])
        found = table.loc[("all", "fleiss_kappa")]
        assert round(found["estimate"], 3) == kappa
        assert found["n_outputs"] == 2448 and found["ci_low"] < kappa < found["ci_high"]
