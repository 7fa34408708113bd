"""Counts, sums and identities that the printed numbers must satisfy, by themselves."""

from math import sqrt

import numpy as np
import pandas as pd
import pytest

from nlgbench.datasets.published import load_claims, load_printed, published_dir
from nlgbench.study import schema

JTJ = "judge-the-judges"
TABLES_WITH_STARS = ("table6", "table9", "table10", "table11", "table13", "table15")

# Printed rows x printed columns (x 2 where each cell has a star), plus what stands beside them.
COUNTS = {
    "huse/table1": 7 * 3,
    "huse/table2": 6 + 2,  # six judgments, two log-probabilities
    "huse/figure2": 1,
    "huse/direction": 5,
    "comm-eval/table1": 7 * 3,
    "comm-eval/section5.1": 8,
    "comm-eval/section5.2": 4,  # training utterances, two listeners and chance
    "comm-eval/section5.3": 3 + 1,  # three counts and the bound of Williams' test
    "comm-eval/direction": 5,
    f"{JTJ}/table2": 2 * 4,
    f"{JTJ}/table3": 12 * 2,
    f"{JTJ}/table4": 12 * 7 + 3 * 7,  # generators, then averages
    f"{JTJ}/table5": 12 * 1,
    f"{JTJ}/table6": 12 * 6 * 2,
    f"{JTJ}/table7": 12 * 7 + 3 * 7,
    f"{JTJ}/table8": 12 * 7 + 3 * 7,
    f"{JTJ}/table9": 7 * 6 * 2,
    f"{JTJ}/table10": 7 * 6 * 2,
    f"{JTJ}/table11": 4 * 6 * 2,
    f"{JTJ}/table12": 12 * 2,
    f"{JTJ}/table13": 13 * 3 * 2,
    f"{JTJ}/table14": 12 * 1,
    f"{JTJ}/table15": 13 * 3 * 2,
    f"{JTJ}/figure2": 2 * 3,
    f"{JTJ}/section3.3.1": 11,
    f"{JTJ}/section5.1": 2,
    f"{JTJ}/direction": 4 + 2 * 4 + 1,  # metrics, discriminators under both labels, Self-BLEU
    "learning-to-compare/table1": 6 * 4 + 2 * 4,  # cells, then p-values of two rows
    "learning-to-compare/table2": 7 * 4 + 1 * 4,
    "learning-to-compare/table3": 5 * 4,
    "learning-to-compare/table5": 7 * 2,
    "learning-to-compare/section4.1": 2,
    "learning-to-compare/direction": 4 + 6 + 5,  # sample level, model level, ablations
    "power/figure6": 2 * 3 * 2 * 4,  # settings, items, workers, differences
    "hanna/system_kendall": 72 * 6,  # metrics, criteria
    "hanna/story_kendall": 72 * 6,
    "usr/table1": 2 * 2,  # data sets, coefficients
    "usr/abstract": 2 * 2,  # data sets, levels
}


@pytest.fixture(scope="module")
def claims() -> pd.DataFrame:
    return load_claims()


def printed(number: int) -> pd.DataFrame:
    return load_printed(f"{JTJ}/table{number}")


def off(difference: pd.Series, allowed: float) -> set[str]:
    return set(difference.index[difference.abs() > allowed + 1e-9])


def test_counts_per_paper_and_place_in_printed_order(claims):
    place = claims["paper"] + "/" + claims["where"]
    assert place.value_counts(sort=False).to_dict() == COUNTS
    assert list(place.unique()) == list(COUNTS)
    assert len(claims) == sum(COUNTS.values()) == 2055


def test_258_stars_two_for_each_row_and_statistic(claims):
    stars = claims[claims["claim_id"].str.endswith("_star")]
    assert set(stars["where"]) == set(TABLES_WITH_STARS)
    assert len(stars) == (12 + 7 + 7 + 4) * 6 + (13 + 13) * 3 == 258
    cells = stars["claim_id"].str.removesuffix("_star")
    assert cells.isin(claims["claim_id"]).all()
    assert stars["published"].isin([0, 1]).all()
    assert (stars["tolerance"] == 0).all()
    availability = claims.set_index("claim_id")["unavailable"]
    assert (availability[cells].to_numpy() == stars["unavailable"].to_numpy()).all()


def test_tolerances_follow_one_policy():
    """The policy of data/published/README.md, from the digits as they are transcribed."""
    claims = schema.read(published_dir() / "claims.csv", "claims")
    text = pd.read_csv(published_dir() / "claims.csv", dtype=str)["published"]
    place, unit = claims["paper"] + "/" + claims["where"], claims["unit"]
    last = 10.0 ** -text.str.partition(".")[2].str.len()
    number = claims["published"]
    last_not_zero = 10.0 ** text.map(lambda digits: len(digits) - len(digits.rstrip("0")))
    average = claims["claim_id"].str.contains("/test_set_reviews_|/d_test_")
    # A whole unit: cells that are cut off, and what is computed from rounded cells.
    whole = place.isin([f"{JTJ}/table3"]) | average
    whole |= place.isin([f"{JTJ}/{name}" for name in TABLES_WITH_STARS])
    expected = last / 2
    expected = expected.mask(whole, last)
    count = unit.str.match("count|best choices") & ~unit.str.contains("approximately")
    expected = expected.mask(count, 0).mask(unit.str.startswith("1 if printed with a star"), 0)
    expected = expected.mask(claims["where"] == "direction", 0)
    hedged = unit.str.contains("printed as (?:around|approximately)")
    expected = expected.mask(hedged, last_not_zero / 2)
    expected = expected.mask(unit.str.contains("a printed upper bound"), number)
    # Simulated shares: 1.96 standard errors, moved away from 0 and 1 (Agresti and Coull 1998).
    moved = (200 * number + 2) / 204
    simulated = (1.96 * (moved * (1 - moved) / 204) ** 0.5).round(3)
    expected = expected.mask(unit.str.startswith("share of 200 simulated"), simulated)
    wrong = claims[(claims["tolerance"] - expected).abs() > 1e-12]
    assert wrong.empty, wrong[["claim_id", "tolerance"]].head().to_string()


def test_huse_d_follows_from_equation_9_but_for_the_language_model():
    table = load_printed("huse/table1")
    difference = table["huse_d"] - (table["huse"] + 1 - table["huse_q"])
    assert off(difference, 1e-9) == {"lm_t1.0"}
    assert difference["lm_t1.0"] == pytest.approx(1.02 - 0.98)


def test_counts_of_the_color_games():
    data, scores = load_printed("comm-eval/section5.1"), load_printed("comm-eval/section5.3")
    count, human = data["count"], scores["human_scores"]
    assert count["contexts"] == 2 * count["context_pairs"]
    assert human["ambiguous"] == 3 * count["ambiguous"]
    # 1,451 crowd captions; the other 461 of 1,912 are Monroe's, heard by one listener each.
    assert human["descriptive"] == human["misleading"] == 3 * 1451
    assert count["descriptive"] - 1451 == 461


def test_counts_of_the_reviews():
    table = printed(2)
    assert (table["total"] == table[["d_train", "d_valid", "d_test"]].sum(axis=1)).all()
    text = load_printed(f"{JTJ}/section3.3.1")
    reviews, page = text.loc["annotated_reviews"], text.loc["page"]
    assert (
        reviews["machine_generated"] == reviews["per_generator"] * text.loc["generators", "count"]
    )
    assert reviews["total"] == reviews["machine_generated"] + reviews["human_written"]
    assert page["reviews"] == page["real"] + page["fake"]
    pages = reviews["total"] / page["reviews"]
    assert pages * page["annotators"] == text.loc["workers", "distinct"]


def test_human_accuracy_is_the_mean_of_the_two_rates():
    table = load_printed(f"{JTJ}/figure2")
    rates = table[["true_positive_rate", "true_negative_rate"]].mean(axis=1)
    assert off(table["accuracy"] - rates, 0.01) == set()
    # Votes per generator differ a little, so the mean of Table 3 is near, not equal.
    machine = printed(3).mean()
    assert off(machine - table["true_negative_rate"], 0.05) == set()


@pytest.mark.parametrize("number", [4, 7, 8])
def test_averages_of_the_detectors(number):
    table = printed(number)
    generators, (everything, human, machine) = (
        table.iloc[:12],
        (table.iloc[i] for i in (12, 13, 14)),
    )
    assert off(everything - (human + machine) / 2, 0.01) == set()
    weights = pd.Series(150.0, generators.index)
    if number == 4:  # the parts of D-test in Table 2
        rest, google = printed(2)["d_test"]
        weights = weights.mask(weights.index == "google_lm", google).replace(150.0, rest)
    implied = generators.mul(weights, axis=0).sum() / weights.sum()
    known = {4: set(), 7: {"lstm"}, 8: set(table.columns)}
    assert off(machine - implied, 0.01) == known[number]


def test_accuracies_on_annotated_reviews_are_counts():
    wrong = set()
    for number in (7, 8):
        table = printed(number)
        size = np.array([150.0] * 12 + [3600.0, 1800.0, 1800.0])[:, None]
        away = (table - (table * size / 100).round() * 100 / size).abs()
        wrong |= {(number, table.index[i], table.columns[k]) for i, k in np.argwhere(away > 0.0051)}
    assert wrong == {
        (7, "scheduled_sampling", "rf"),
        (7, "test_set_reviews_all", "lstm"),
        (8, "gated_contexts_to_sequences", "lstm"),
        (8, "mle_seqgan", "cnn"),
    }


def test_table8_repeats_four_svm_cells_of_table7():
    same = printed(7).iloc[:12] == printed(8).iloc[:12]
    repeated = {name: list(same.index[same[name]]) for name in same}
    names = ["scheduled_sampling", "seqgan", "rankgan", "leakgan"]
    assert repeated == {name: names if name == "svm" else [] for name in same}


@pytest.mark.parametrize("number", [6, 9, 10, 11, 13, 15])
def test_kendall_lies_on_its_lattice(number):
    # Twelve generators make 66 pairs: without ties tau-b is a multiple of 2/66. One tied pair on
    # one side makes it a multiple of 1/sqrt(66 * 65), two pairs of ties and one of three (RF in
    # Table 8: 3 + 1 tied pairs) 1/sqrt(66 * 62). Cells are rounded or cut off at four decimals.
    table = printed(number)
    tied = {
        6: {},
        9: dict.fromkeys(
            (f"{d}_meta_discriminator" for d in ("lstm", "cnn_lstm", "nb", "xgboost")), 1
        )
        | {"rf_meta_discriminator": 4},
        10: dict.fromkeys((f"{d}_meta_discriminator" for d in ("lstm", "cnn", "cnn_lstm")), 1),
        11: {},
        13: {},
        15: dict.fromkeys(table.index, 1),  # Table 14 prints .1707 twice
    }[number]
    away = set()
    for column in table.filter(regex="kendall").columns:
        for row, value in table[column].items():
            ties = tied.get(row, 0)
            unit = 2 / 66 if ties == 0 else 1 / sqrt(66 * (66 - ties))
            nearest = round(value / unit) * unit
            if abs(value - nearest) >= 1e-4:
                away.add((row, column))
    assert away == ({("meteor_evaluator", "kendall")} if number == 13 else set())


def quality(number: int) -> pd.DataFrame:
    return 100 - printed(number).iloc[:12]


def follows(row: pd.Series, score: pd.Series) -> int:
    """Count the cells of a row that are correlations of the score with human quality."""
    human = quality(3)
    computed = [score.corr(human[name[:2]], method=name[3:]) for name in row.index]
    return int((abs(row - computed) <= 1e-4).sum())


@pytest.mark.parametrize(
    ("number", "scores", "wrong"), [(6, 4, None), (9, 8, "svm"), (10, 7, None)]
)
def test_correlations_with_humans_follow_from_printed_accuracies(number, scores, wrong):
    table = printed(number)
    cells = {
        name: follows(table.loc[f"{name}_meta_discriminator"], score)
        for name, score in quality(scores).items()
    }
    assert cells == {name: 0 if name == wrong else 6 for name in cells}


def test_individual_detectors_row_of_table6_does_not_follow_from_table5():
    assert follows(printed(6).iloc[0], quality(5).iloc[:, 0]) == 0


@pytest.mark.parametrize(("number", "other", "sign"), [(13, 12, -1), (15, 14, 1)])
def test_correlations_with_diversity_and_overlap_follow(number, other, sign):
    table, target = printed(number), sign * printed(other).iloc[:, 0]
    rows = {f"{name}_meta_discriminator": score for name, score in quality(4).items()}
    rows |= {f"{name}_evaluator": score for name, score in quality(3).items()}
    for row, score in rows.items():
        for statistic, value in table.loc[row].items():
            assert score.corr(target, method=statistic) == pytest.approx(value, abs=1e-4)


def test_learning_to_compare_table5_repeats_table2():
    ablation, models = (load_printed(f"learning-to-compare/table{n}") for n in (5, 2))
    dialogue = models[["dialogue_spearman", "dialogue_pearson"]].set_axis(ablation.columns, axis=1)
    assert ablation.loc["full_model"].equals(dialogue.loc["with_skill_rating"])
    assert ablation.loc["w_o_comparison"].equals(dialogue.loc["adversarial_evaluator"])
