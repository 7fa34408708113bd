"""The Human Evaluation Datasheet says what the tables say, and why where they say nothing."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.status import Unsupported


def study_of(values, **settings):
    """Make a study of values[system][item][annotator]."""
    rows = [
        {"output_id": f"{system}{item}", "annotator_id": f"w{who}", "value": value}
        for system, items in values.items()
        for item, by_all in enumerate(items)
        for who, value in enumerate(by_all)
    ]
    outputs = pd.DataFrame(
        [
            {"output_id": f"{system}{item}", "item_id": str(item), "system": system}
            for system, items in values.items()
            for item in range(len(items))
        ]
    )
    return nb.Study(outputs, pd.DataFrame(rows), name="small", settings=settings)


def answer(table, question):
    """What a question that has one answer is answered by."""
    return table.set_index("question").loc[question, "answer"]


def test_a_scale_that_is_stated_is_told_from_what_was_seen():
    values = {"a": [[2, 3], [4, 4]], "b": [[3, 3], [2, 4]]}
    seen = nb.datasheet(study_of(values))
    assert answer(seen, "4.3.3") == "3 different values observed; the study declares no scale"
    assert answer(seen, "4.3.4") == "2, 3, 4 (observed; the study declares no scale)"
    stated = nb.datasheet(study_of(values, scales={"quality": {"min": 1, "max": 5}}))
    assert answer(stated, "4.3.3") == "5"
    assert answer(stated, "4.3.4") == "1, 2, 3, 4, 5"


def test_agreement_is_that_of_agreement_and_nobody_alone_agrees():
    study = nb.simulate("judgments", means=[0.4, 0.0], n_items=15, seed=4)
    alpha = nb.agreement(study, coefficients=["krippendorff_alpha"], metric="interval")
    estimate = alpha.loc[alpha["row"] == "all", "estimate"].item()
    table = nb.datasheet(study)
    assert answer(table, "4.3.11.1") == "nlgbench: Krippendorff's alpha (differences squared)"
    assert answer(table, "4.3.11.2").startswith(f"{estimate:.2f}, 95% interval")
    alone = nb.datasheet(study_of({"a": [[1], [2], [3]], "b": [[2], [3], [1]]}))
    row = alone.set_index("question").loc["4.3.11.1"]
    assert (row["answer"], row["reason"]) == ("InterAA not assessed", "no output has two judgments")


def test_votes_are_a_criterion_of_their_own():
    table = nb.datasheet(nb.simulate("votes", of_taste=0.1, of_items=2.0, seed=0))
    own = table[table["criterion"].str.endswith("(votes)")].set_index("question")
    assert own.loc[["4.2.2", "4.3.8"], "answer"].str.startswith("relative").all()
    assert own.loc["4.3.11.1", "answer"] == "nlgbench: Krippendorff's alpha (equal or not)"
    assert own.loc["4.3.11.2", "answer"].startswith("0.30, 95% interval")


def test_a_study_that_nobody_judged_is_refused():
    with pytest.raises(Unsupported, match="neither judgments nor preferences"):
        nb.datasheet(nb.Study(study_of({"a": [[1, 2]]}).outputs, name="bare"))
