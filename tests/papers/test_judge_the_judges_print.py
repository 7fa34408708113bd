"""Which printed numbers of Judge the Judges follow from its other tables, and which do not."""

from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr

from nlgbench.datasets.published import load_claims, load_printed
from nlgbench.papers.judge_the_judges import DIRECTIONS
from nlgbench.papers.judges_in_print import (
    PAPER,
    _p_of_coefficient,
    correlation,
    flips,
    followed,
    inputs,
    not_recomputable,
    printed_cells,
    printed_table,
)


@pytest.fixture(scope="module")
def claims() -> pd.DataFrame:
    return load_claims(PAPER).set_index("claim_id")


@pytest.fixture(scope="module")
def beside() -> pd.DataFrame:
    """Recomputed values beside the printed ones."""
    cells = printed_cells()
    return cells.assign(is_star=cells["kind"] == "stars")


def test_how_many_cells_follow(beside):
    counts = beside[~beside["is_star"]].groupby("table")["follows"].agg(["sum", "size"])
    assert counts.apply(tuple, axis=1).to_dict() == {
        "table2": (2, 2),
        "table4": (14, 14),
        "table6": (54, 60),  # all but the individual detectors' row
        "table7": (13, 14),
        "table8": (7, 14),
        "table9": (36, 42),  # all but SVM's row
        "table10": (42, 42),
        "table13": (33, 33),
        "table15": (33, 33),
    }
    wrong = beside[~beside["follows"] & ~beside["is_star"]]
    assert set(wrong["claim_id"].str.split("/").str[1:3].str.join("/")) == {
        "table6/svm_individual_discriminators",
        "table7/test_set_reviews_machine_generated",
        "table8/test_set_reviews_machine_generated",
        "table9/svm_meta_discriminator",
    }
    assert wrong["reason"].ne("").all()


def test_twelve_stars_of_258_are_wrong_ten_of_them_missing(beside):
    stars = beside[beside["is_star"]]
    wrong = stars[~stars["follows"]]
    assert (len(stars), len(wrong), int((wrong["published"] == 0).sum())) == (258, 12, 10)
    spurious = wrong[wrong["published"] == 1]
    row = f"{PAPER}/table9/nb_meta_discriminator"
    assert list(spurious["claim_id"]) == [f"{row}/h1_pearson_star", f"{row}/h2_pearson_star"]


def test_every_cell_is_recomputed_or_excused_not_both(claims, beside):
    patterns = list(not_recomputable())
    recomputed = set(beside["claim_id"])
    assert beside["claim_id"].is_unique
    tables = [f"table{number}" for number in (6, 9, 10, 11, 13, 15)]
    for claim_id in claims.index[claims["where"].isin(tables)]:
        excused = any(fnmatchcase(claim_id, pattern) for pattern in patterns)
        excused &= not claim_id.endswith("_star")
        assert excused != (claim_id in recomputed), claim_id


def test_pearson_interval_is_scipys_and_all_take_few_ties():
    rows, against = inputs()[9]
    for score in rows.values():
        for other in against.values():
            ours = correlation("pearson", score, other)
            theirs = pearsonr(score, other).confidence_interval(0.95)
            assert (ours["ci_low"], ours["ci_high"]) == pytest.approx(tuple(theirs))
            assert -1 < correlation("kendall", score, other)["ci_low"] < 1
    x = pd.Series([1.0, 2, 3, 4, 5])
    assert np.isnan(correlation("pearson", x, 2 * x)["ci_low"])
    assert correlation("kendall", x, 2 * x)["ci_high"] == 1


@given(st.permutations(list(range(12))))
def test_p_of_a_printed_coefficient_is_scipys(ranking):
    first = list(range(12))
    for name, test in (("kendall", kendalltau), ("spearman", spearmanr)):
        found = test(first, ranking)
        if abs(found.statistic) < 1:
            p = _p_of_coefficient(name, round(float(found.statistic), 4))
            assert p == pytest.approx(found.pvalue, rel=0.01)


def test_every_claimed_direction_has_one_evaluator_in_a_fixed_order(claims):
    claimed = claims.index[claims["where"] == "direction"].str.rpartition("/").get_level_values(2)
    assert set(DIRECTIONS.values()) == set(claimed) - {"self_bleu_order"}
    assert len(set(DIRECTIONS.values())) == len(DIRECTIONS)
    assert DIRECTIONS["svm_meta@natural/natural"] == "svm_reverses_people_on_natural_labels"


def test_a_printed_table_marks_the_cells_that_do_not_follow():
    cells, layout = printed_table(6)
    marked = layout["table"].map(lambda text: text.endswith("†"))
    assert marked.shape == (10, 6) and marked.to_numpy().sum() == (~cells["follows"]).sum() == 6
    assert cells["statistic"].unique().tolist() == ["τ-b", "Spearman", "Pearson"]
    assert followed().loc["table10"].tolist() == [38, 42, 42, 42]


def test_the_flip_is_that_of_tables_9_and_10():
    by_source, by_majority = (
        f"scored on the {labels}"
        for labels in ("true source (Table 10)", "majority vote (Table 9)")
    )
    table = flips().pivot(index="evaluator", columns="kind", values="estimate")
    for number, kind in ((10, by_source), (9, by_majority)):
        printed = load_printed(f"{PAPER}/table{number}")["h2_spearman"]
        for name, row in (("SVM", "svm"), ("random forest", "rf"), ("CNN & LSTM", "cnn_lstm")):
            assert table.loc[name, kind] == printed[f"{row}_meta_discriminator"]
    assert (table[by_source] < 0).all() and (table[by_majority] > 0).all()
