"""The HUSE release: tidy tables equal to its authors' summary, and no identifier of a person."""

import csv

import numpy as np
import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.huse import RAW_FILE, TABLE2_OUTPUTS, TYPICALITY, read_huse
from nlgbench.datasets.published import load_claims
from tests.released import needs

RELEASED = needs("huse")
LABELS = list(TYPICALITY)


def export():
    """Two HITs of 25 items by three workers, as the platform exports them; `hitB` comes first."""
    rows = []
    for hit, worker in [("hitB", "Z9"), ("hitB", "A1"), ("hitA", "Z9"), ("hitA", "K5")]:
        row = {"HITId": hit, "WorkerId": worker, "Title": 'a "title", quoted'}
        for n in range(25):
            human = hit == "hitA"
            row[f"Input.CTX{n}"] = f"story {n % 20}, told"
            row[f"Input.TYPE{n}"] = "HUMAN_SUM" if human else "SUM"
            row[f"Input.OUT{n}"] = " ".join(["word"] * (n + 1)) + ("\nNA" if human else "")
            row[f"Input.LOGP{n}"] = f"-{n}.1"
            row[f"Answer.{n}"] = LABELS[(n + len(rows)) % 6]
        rows.append(row | {"Approve": "", "Reject": ""})
    return rows


def saved(rows, path):
    """Save rows without their last two cells, as the platform does where they are empty."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        writer.writerows(list(row.values())[:-2] for row in rows)
    return path


def test_an_export_becomes_tidy_tables(tmp_path):
    study = read_huse(saved(export(), tmp_path / "raw.csv"))
    outputs, logprobs, judgments = study.outputs, study.logprobs, study.judgments
    assert outputs["output_id"].tolist() == [f"o{n:03d}" for n in range(1, 51)]
    assert outputs["is_human"].tolist() == [True] * 25 + [False] * 25
    assert outputs["item_id"].tolist() == [f"c{n % 20 + 1:02d}" for n in range(25)] * 2
    assert outputs["text"][1] == "word word\nNA"
    assert outputs["context"][21] == "story 1, told"
    assert logprobs["logprob"].tolist() == [-float(f"{n}.1") for n in range(25)] * 2
    assert logprobs["n_tokens"].tolist() == [*range(1, 26), *range(1, 26)]
    # Z9 comes first in the file, then A1, then K5; hitA is first by name.
    by_hit = judgments.groupby("group_id")["annotator_id"].unique().map(list)
    assert by_hit.to_dict() == {"hit1": ["w001", "w003"], "hit2": ["w001", "w002"]}
    one = judgments.set_index(["output_id", "annotator_id"])["value"]
    scale = {"Invalid": 1, "Rare": 2, "Specific": 3, "Average": 4, "Typical": 5, "Very Typical": 6}
    assert scale == TYPICALITY
    assert (one["o026", "w001"], one["o026", "w002"]) == (1, 2)
    assert one["o005", "w003"] == TYPICALITY[LABELS[(4 + 3) % 6]]
    assert len(judgments) == 100
    for table in (outputs, logprobs, judgments):
        assert not table.isin(["Z9", "A1", "K5", "hitA", "hitB"]).to_numpy().any()


@pytest.fixture(scope="module")
def released():
    return nb.load("huse")


@RELEASED
def test_the_release_has_its_counts(released):
    assert released.outputs["is_human"].value_counts().to_dict() == {True: 100, False: 100}
    assert released.outputs["item_id"].nunique() == 99
    judgments = released.judgments
    assert len(judgments) == 4000
    assert judgments["annotator_id"].nunique() == 93
    assert judgments.groupby(["group_id", "annotator_id"]).size().tolist() == [25] * 160
    assert (judgments.groupby("output_id")["annotator_id"].nunique() == 20).all()
    whole = judgments.merge(released.outputs, on="output_id", validate="many_to_one")
    # every HIT holds one kind of text: leniency is confounded with the label
    assert whole.groupby("group_id")["is_human"].nunique().tolist() == [1] * 8


@RELEASED
def test_the_release_gives_the_authors_own_summary(released):
    """summary_clean.csv of github.com/hughbzhang/HUSE: the same 200 rows, in the same order."""
    summary = pd.read_csv(cache.path("huse/summary_clean.csv"), skipinitialspace=True)
    means = released.judgments.groupby("output_id")["value"].mean()
    assert means.index.tolist() == released.outputs["output_id"].tolist()
    assert means.tolist() == summary["HumanJudgement"].tolist()
    # the authors averaged 20 copies of one number, which can move its last bit
    logprobs = released.logprobs["logprob"]
    np.testing.assert_allclose(logprobs, summary["ModelProbability"], rtol=1e-12, atol=0)
    assert released.logprobs["n_tokens"].tolist() == summary["LengthOfUtterance"].tolist()
    assert (~released.outputs["is_human"]).tolist() == summary["Label"].tolist()


@RELEASED
def test_no_identifier_leaves_the_loader(released):
    raw = pd.read_csv(cache.path(RAW_FILE), dtype=str, keep_default_na=False, index_col=False)
    people = {cell for name in ("WorkerId", "HITId", "AssignmentId") for cell in raw[name]}
    assert len(people) == 93 + 8 + 160
    for table in (released.outputs, released.logprobs, released.judgments):
        written = table.to_csv()
        assert not [identifier for identifier in people if identifier in written]


@RELEASED
def test_table_2_shows_these_outputs(released):
    """Table 2 of Hashimoto et al. (2019), doi:10.18653/v1/N19-1169, within its rounding."""
    claims = load_claims().set_index("claim_id")
    logprobs = released.logprobs.set_index("output_id")
    found = {"log_p_model": logprobs["logprob"] / logprobs["n_tokens"]}
    found["hj"] = released.judgments.groupby("output_id")["value"].mean()
    n_compared = 0
    for row, output_id in TABLE2_OUTPUTS.items():
        for column, values in found.items():
            claim_id = f"huse/table2/{row}/{column}"
            if claim_id in claims.index:
                claim = claims.loc[claim_id]
                assert abs(values[output_id] - claim["published"]) <= claim["tolerance"] + 1e-9
                n_compared += 1
    assert n_compared == sum(claims.index.str.startswith("huse/table2/"))
