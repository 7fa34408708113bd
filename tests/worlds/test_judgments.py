"""The world of judgments has its stated truth, designs and annotator severity."""

import numpy as np
import pytest

import nlgbench as nb
from nlgbench.worlds import judgments

MEANS = (1.0, 0.0)


@pytest.mark.parametrize("scale", ["continuous", "ordinal"])
def test_the_truth_is_what_many_judgments_average_to(scale):
    sizes = {"n_items": 400, "n_annotators": 400}
    study = nb.simulate("judgments", means=MEANS, scale=scale, seed=0, **sizes)
    table = study.judgments.assign(system=study.judgments["output_id"].str[-3:])
    found = table.groupby("system")["value"].mean()
    true = study.truth["systems"].set_index("system")["value"].sort_index()
    # Items (variance 1.25 of latent values) and annotators (.31) leave a standard error near .062.
    assert (found - true).abs().max() < 3 * 0.065
    assert abs(found.diff().iloc[-1] - true.diff().iloc[-1]) < 3 * 0.075


def test_severity_is_planted_and_part_of_the_truth():
    study = nb.simulate("judgments", n_items=300, n_annotators=60, seed=1)
    mean = study.judgments.groupby("annotator_id")["value"].mean()
    severity = study.truth["annotators"].set_index("annotator_id")["severity"]
    off = (mean - mean.mean()) + (severity - severity.mean())
    # What is left is noise, of 5 systems by 300 items.
    assert off.std() == pytest.approx(1 / np.sqrt(1500), rel=0.35)
    expected = np.hypot(judgments.SEVERITY_SD, judgments.SYSTEM_BY_ANNOTATOR_SD / np.sqrt(5))
    assert severity.std() == pytest.approx(expected, rel=0.3)


def test_designs_say_who_judges_what():
    sizes = {"n_items": 30, "n_annotators": 12, "n_votes": 3, "means": MEANS}
    for design, each, annotators in (
        ("crossed", 12, 12),
        ("scattered", 3, 12),
        ("distinct", 3, 90),
    ):
        study = nb.simulate("judgments", design=design, seed=0, **sizes)
        table = study.judgments.assign(item=study.judgments["output_id"].str[:5])
        assert (table.groupby("output_id")["annotator_id"].nunique() == each).all()
        assert table["annotator_id"].nunique() == annotators
        items = table.groupby("annotator_id")["item"].nunique()
        assert (items.max() == 1) == (design == "distinct")
        assert not table.duplicated(["output_id", "annotator_id"]).any()
    most = table.groupby("annotator_id").size()
    assert (most == 2).all(), "distinct annotators judge both systems' outputs of their item"
