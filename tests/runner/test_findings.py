"""Sentences say what the tables say: with known answers, and inconclusive where that is so."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.runner import record
from nlgbench.runner.findings import findings


def judged(means, **options):
    study = nb.simulate("judgments", means=means, n_items=40, seed=1, **options)
    compared = nb.compare_systems(study)
    return study, {"compare_systems": compared.systems, "pairs": compared.pairs}


def said(study, results):
    return findings(study, results)


def test_a_clear_winner_is_named_and_equal_systems_are_inconclusive():
    clear = said(*judged([3.0, 0.0, 0.0], n_annotators=30))
    assert "s01 ranks first of 3 systems" in clear["systems"]
    assert "distinguishable from all others; 2 of 3 pairs" in clear["systems"]
    assert "annotators other than these" not in clear["limits"]
    equal = said(*judged([0.0, 0.0, 0.0], n_annotators=3))
    assert "do not show which system is best" in equal["systems"]
    assert "; 0 of 3 pairs of systems differ" in equal["systems"]
    assert "how annotators other than these 3 would judge" in equal["limits"]
    assert "are not significantly worse than any other system" in equal["systems"]
    assert equal["evaluators"].startswith("The study has no evaluator scores, so agreement")


def rows(table):
    columns = ["evaluator", "estimate", "ci_low", "ci_high"]
    table = pd.DataFrame(table, columns=columns).astype(dict.fromkeys(columns[1:], float))
    return table.assign(granularity="output", statistic="spearman", reason="too few")


@pytest.mark.parametrize(
    "length, words",
    [
        ((0.1, 0.0, 0.2), "Text length (0.10 [0.00, 0.20]) is beaten by metric 1."),
        # The length predicts as well with its sign changed.
        ((-0.6, -0.7, -0.5), "[−0.70, −0.50]) may do as well, because the intervals overlap."),
        ((None, None, None), "Text length cannot be compared, because its estimate has no"),
    ],
)
def test_evaluators_agree_by_their_interval_and_beat_the_length_by_both(length, words):
    table = [("metric_1", 0.6, 0.5, 0.7), ("metric_2", 0.2, 0.1, 0.3), ("metric_3", 0.0, -0.1, 0.1)]
    study, results = judged([1.0, 0.0])
    results["correlate"] = rows([*table, ("length@sentinel", *length)])
    found = said(study, results)["evaluators"]
    assert found.startswith("Of 3 evaluators, 2 correlate positively with human judgments")
    assert "metric 1 0.60 [0.50, 0.70] and metric 2 0.20 [0.10, 0.30]." in found and words in found
    results["correlate"] = rows([("metric_1", 0.2, None, None)])
    found = said(study, results)["evaluators"]
    assert found.startswith("No evaluator is shown to") and "too few. The highest" in found


def test_intervals_of_ratings_that_overlap_are_inconclusive_and_missing_ones_give_the_reason():
    study = nb.simulate("votes", n_items=20, seed=0)
    table = pd.DataFrame({"system": ["a", "b", "c"], "rating": [1500.0, 1700.0, 1650.0]})
    ends = {"ci_low": table["rating"] - 40, "ci_high": table["rating"] + 40}
    found = said(study, {"rate": table.assign(**ends, reason="")})["systems"]
    assert "no interval lies entirely above those of b and c; 2 of 3 pairs" in found
    few = "only 3 effective items: an interval from fewer than 10 is unreliable"
    found = said(study, {"rate": table.assign(**ends, reason=["", few, ""])})["systems"]
    assert "b ranks first of 3 systems" in found
    assert "Unreliable intervals: 1 of 3 (fewer than 10 effective items: most data" in found
    assert found.endswith("The reliable interval of c lies entirely above the other.")
    missing = table.assign(ci_low=float("nan"), ci_high=float("nan"), reason="one item alone")
    found = said(study, {"rate": missing})["systems"]
    assert "do not show whether systems differ: one item alone." in found


def test_a_rest_after_a_semicolon_is_its_own_clause():
    table = pd.DataFrame({"system": [*"abcde"], "estimate": 0.5, "ci_low": 0.4, "ci_high": 0.6})
    found = record.say("They are", table, "{system}", rest="; the table has {n} more")
    assert found == "They are a, b, and c; the table has 2 more."
    assert record.say("They are", table, "{system}", rest="{n} more").endswith("c, and 2 more.")


def test_conclude_leaves_out_skipped_sentences_and_names_study_and_source(tmp_path):
    run = record.open("90-own", source="simulated", output_dir=str(tmp_path))
    table = pd.DataFrame({"system": ["a_1"], "estimate": -0.123, "ci_low": -0.2, "ci_high": -0.1})
    run.conclude(judged([0, 1])[0], record.say("It is", table, null=0), record.say("No", None))
    first, source = pd.read_csv(tmp_path / "tables" / "findings.csv")["finding"]
    assert first == "It is −0.12 [−0.20, −0.10] (judgments, simulated)."
    assert source == "Source: simulated world 'judgments', whose truth is known."
    assert (tmp_path / "ledger.csv").is_file(), "the record is closed"
