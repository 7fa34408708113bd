"""Judge the Judges becomes tidy tables with its printed counts and without identifiers."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.judge_the_judges import RAW_FILE, SYSTEMS, read_judge_the_judges
from tests.datasets.test_huse_loader import saved
from tests.released import needs

RELEASED = needs(RAW_FILE)
#: HIT, worker, status, slot of the gotcha, answer to it.
ASSIGNMENTS = [
    ("hitB", "R7", "Rejected", 20, ""),
    ("hitB", "Z9", "Submitted", 20, "fake"),
    ("hitA", "F3", "Submitted", 0, "real"),
    ("hitA", "Z9", "Submitted", 0, "fake"),
    ("hitA", "A1", "Submitted", 0, "fake"),
]


def export():
    """Five assignments in two HITs, as the platform exports them."""
    models = ["RankGAN", *["Real", "SS"] * 10]
    rows = []
    for hit, worker, status, slot, gotcha in ASSIGNMENTS:
        row = {"HITId": hit, "WorkerId": worker, "AssignmentStatus": status}
        row |= {"Input.gotcha_locs": str(slot), "Answer.age": "15to24"}
        row["Answer.comment"] = "{}" if worker == "Z9" else f'odd, "wrong"\nwords {worker}'
        for n in range(21):
            row[f"Input.review_{n}_text"] = f"{hit} review {n}, told\nNA"
            row[f"Input.review_{n}_student_model"] = models[(n - slot) % 21]
            vote = "real" if (n + len(rows)) % 3 else "fake"
            row[f"Answer.review_{n}_judgment"] = "" if status == "Rejected" else vote
        row[f"Answer.review_{slot}_judgment"] = gotcha
        rows.append(row | {"Approve": "", "Reject": ""})
    return rows


def test_an_export_becomes_tidy_tables(tmp_path):
    study = read_judge_the_judges(saved(export(), tmp_path / "raw.csv"))
    outputs, judgments = study.outputs, study.judgments
    assert outputs["output_id"].tolist() == [f"o{n:04d}" for n in range(1, 41)]
    # hitB comes first in the file and its gotcha is slot 20; that of hitA is slot 0.
    assert outputs["text"].tolist() == [
        *(f"hitB review {n}, told\nNA" for n in range(20)),
        *(f"hitA review {n}, told\nNA" for n in range(1, 21)),
    ]
    assert outputs["system"].tolist() == ["human", "scheduled_sampling"] * 20
    by_hit = judgments.groupby("group_id")["annotator_id"].unique().map(list)
    assert by_hit.to_dict() == {"hit001": ["w001"], "hit002": ["w001", "w002"]}
    votes = judgments.set_index(["output_id", "annotator_id"])["value"]
    assert votes.size == 60
    for slot in range(20):  # row 1 of the file
        assert votes[f"o{slot + 1:04d}", "w001"] == ((slot + 1) % 3 > 0)
    for slot in range(1, 21):  # row 4
        assert votes[f"o{slot + 20:04d}", "w002"] == ((slot + 4) % 3 > 0)
    for table in (outputs, judgments):
        assert not table.isin(["Z9", "A1", "F3", "R7", "hitA", "hitB"]).to_numpy().any()


@pytest.fixture(scope="module")
def released():
    return nb.load("judge-the-judges")


@RELEASED
def test_the_release_has_its_counts(released):
    outputs, judgments = released.outputs, released.judgments
    sizes = outputs["system"].value_counts().to_dict()
    assert sizes == {name: 1800 if name == "human" else 150 for name in SYSTEMS.values()}
    assert outputs.groupby("system")["text"].nunique()["contexts_to_sequences"] == 111
    assert len(judgments) == 17920
    per_output = judgments.groupby("output_id").size()
    assert per_output.value_counts().to_dict() == {5: 3540, 4: 40, 3: 20}
    assert judgments.groupby(["group_id", "annotator_id"]).size().tolist() == [20] * 896
    assert judgments["annotator_id"].nunique() == 896
    hit = judgments.drop_duplicates("output_id").set_index("output_id")["group_id"]
    real = outputs.set_index("output_id")["is_human"].groupby(hit).agg(["size", "sum"])
    assert len(real) == 180 and set(map(tuple, real.to_numpy())) == {(20, 10)}
    assert not outputs["text"].str.contains("This text is fake", regex=False).any()


@RELEASED
def test_no_identifier_and_no_answer_about_a_person_leaves_the_loader(released):
    raw = pd.read_csv(cache.path(RAW_FILE), dtype=str, keep_default_na=False)
    people = {cell for name in ("WorkerId", "HITId", "AssignmentId") for cell in raw[name]}
    assert len(people) == 1075 + 180 + 1094
    for table in (released.outputs, released.judgments):
        cells = {cell for name in table for cell in table[name].astype(str).unique()}
        written = " ".join(cells)
        assert not [identifier for identifier in people if identifier in written]
        assert not set(table) & {"Answer.age", "Answer.gender", "Answer.language"}
