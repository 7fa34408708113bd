"""Counts, sums and identities that the printed numbers must satisfy, by themselves."""

import numpy as np
import pandas as pd

from nlgbench.datasets.published import load_claims, load_printed, published_dir
from nlgbench.study import schema

JTJ = "judge-the-judges"
TABLES_WITH_STARS = ("table6", "table9", "table10", "table11", "table13", "table15")

# Printed rows x printed columns (x 2 where each cell has a star), plus what stands beside them.
COUNTS = {
    "huse": 7 * 3 + (6 + 2) + 1 + 5,  # Tables 1 and 2, Figure 2, directions
    "comm-eval": 7 * 3 + 8 + 3 + (3 + 1) + 4,  # Table 1, sections 5.1 to 5.3, directions
    JTJ: sum(
        [
            *(2 * 4, 12 * 2, 3 * (12 * 7 + 3 * 7), 12),  # Tables 2, 3, 4 with 7 and 8, 5
            *(12 * 6 * 2, 2 * 7 * 6 * 2, 4 * 6 * 2),  # Tables 6, 9 with 10, 11
            *(12 * 2, 2 * 13 * 3 * 2, 12),  # Tables 12, 13 with 15, 14
            *(2 * 3, 11, 2, 4 + 2 * 4 + 1),  # Figure 2, sections 3.3.1 and 5.1, directions
        ]
    ),
    # Tables 1, 2, 3 and 5, section 4.1, directions
    "learning-to-compare": (6 + 2) * 4 + (7 + 1) * 4 + 5 * 4 + 7 * 2 + 2 + (4 + 6 + 5),
    "power": 2 * 3 * 2 * 4,  # settings, items, workers, differences
    "hanna": 2 * 72 * 6,  # levels, metrics, criteria
    "usr": 2 * 2 + 2 * 2,  # data sets x coefficients, data sets x levels
    "alpaca-eval": 3 * 8,  # systems, columns
}


def test_no_printed_number_was_lost():
    counts = load_claims()["paper"].value_counts(sort=False)
    assert counts.to_dict() == COUNTS and counts.sum() == 2077


def printed(number: int) -> pd.DataFrame:
    return load_printed(f"{JTJ}/table{number}")


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
    whole |= claims["claim_id"].str.endswith("/avg_length")
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
