"""What the printed numbers of Judge the Judges say beyond their own claims."""

import numpy as np
import pandas as pd
import pytest

from nlgbench.datasets.published import load_printed
from nlgbench.papers.judges_in_print import (
    agreement_beyond_independence,
    detector_differences,
    findings,
    flip_under_independence,
)
from nlgbench.runner.claims import is_own


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return findings()


def test_findings_are_ours_and_have_intervals_or_reasons(table):
    assert table["claim_id"].map(is_own).all()
    assert table["claim_id"].is_unique
    assert table["value"].notna().all()
    bare = table[table["ci_low"].isna()]
    assert set(bare["reason"]) == {"A p-value has no interval."}
    held = table.drop(bare.index)
    assert ((held["ci_low"] < held["value"]) & (held["value"] < held["ci_high"])).all()


def test_self_bleu_goes_against_lexical_diversity(table):
    value = table.set_index("claim_id")["value"]
    found = {s: value[f"judge-the-judges/finding/table12/{s}"] for s in ("kendall", "spearman")}
    assert found == pytest.approx({"kendall": -46 / 66, "spearman": -0.8462}, abs=5e-5)
    assert value["judge-the-judges/finding/table12/pearson"] == pytest.approx(-0.9879, abs=5e-5)


def test_ten_references_rank_much_like_all(table):
    value = table.set_index("claim_id")["value"].filter(like="/ten_against_all")
    assert len(value) == 6
    assert (value > 0.7).all()


def test_independence_alone_turns_the_sign():
    found = flip_under_independence()
    assert len(found) == 42
    printed = load_printed("judge-the-judges/table9").stack()
    found["printed"] = printed.loc[list(zip(found["row"], found["column"], strict=True))].to_numpy()
    assert (np.sign(found["estimate"]) == np.sign(found["printed"])).all()
    strong = found[found["row"] != "nb_meta_discriminator"]
    assert (strong["estimate"] > 0.45).all()
    assert (strong["estimate"] - strong["printed"]).abs().max() < 0.13


def test_no_detector_agrees_beyond_independence():
    found = agreement_beyond_independence()
    assert ((found["ci_low"] < 0) & (found["ci_high"] > 0)).all()
    assert found["estimate"].abs().max() < 1.2
    assert found.set_index("detector")["n"].drop("svm").eq(12).all()


def test_detectors_differ_on_individual_reviews(table):
    found = detector_differences()
    clear = (found["ci_low"] > 0) | (found["ci_high"] < 0)
    assert clear.groupby(found["reviews"]).sum().to_dict() == {"annotated": 14, "d_test": 20}
    # Over twelve generators with equal weight and without pairing, nothing is significant; paired
    # by generator, it is.
    p = table.set_index("claim_id")["value"].filter(like="/detectors_over_generators/")
    assert (p.filter(like="anova") > 0.4).all()
    assert (p.filter(like="friedman") < 0.01).all()


def test_the_interval_is_the_widest_where_no_review_is_misjudged_twice():
    found = detector_differences().query("reviews == 'annotated' and a == 'svm' and b == 'nb'")
    n, half = 3600, (found["ci_high"] - found["ci_low"]).iloc[0] / 2
    svm, nb = (round(n * (1 - accuracy / 100)) for accuracy in (75.53, 71.33))  # misjudged
    differs = np.repeat([1, -1, 0], [nb, svm, n - nb - svm])  # where none is misjudged by both
    assert half == pytest.approx(100 * 1.959964 * differs.std() / np.sqrt(n), rel=1e-3)
