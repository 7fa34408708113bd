"""Sentences say what the tables say: with known answers, and inconclusive where that is so."""

import pandas as pd
import pytest

import nlgbench as nb
from nlgbench.runner import record
from nlgbench.runner.facts import Facts
from nlgbench.runner.findings import (
    findings,
    judge_findings,
    planning_findings,
)
from tests import recomputed_findings


def judged(means, **options):
    study = nb.simulate("judgments", means=means, n_items=40, seed=1, **options)
    comparison = nb.compare_systems(study)
    tables = {name: getattr(comparison, name) for name in ("systems", "pairs", "annotators")}
    return study, tables


def sentences(study, tables):
    systems, evaluators, *_ = (one.sentence for one in findings(study, Facts(tables)) if one)
    return {"systems": systems, "evaluators": evaluators}


def test_a_clear_winner_is_named_and_equal_systems_are_inconclusive():
    study, tables = judged([3.0, 0.0, 0.0], n_annotators=30)
    clear = sentences(study, tables)
    best = tables["systems"]["system"].iloc[0]
    assert clear["systems"].startswith(
        f"By 30 annotators' judgments of quality, {best} has the highest adjusted mean ("
    )
    assert clear["systems"].endswith(
        " from 1,200 judgments) of 3 systems and differs significantly from all others. Pairs that "
        "differ significantly (Holm-adjusted): 2 of 3. Intervals generalize to other items and "
        "other annotators."
    )
    turned = study.replace(settings={**study.settings, "lower_is_better": ["quality"]})
    compared = nb.compare_systems(turned)
    lower = sentences(turned, {"systems": compared.systems, "pairs": compared.pairs})["systems"]
    worst = compared.systems["system"].iloc[0]
    assert worst != best and f", {worst} has the lowest adjusted mean (" in lower
    assert "; lower is better) of 3 systems" in lower
    equal = sentences(*judged([0.0, 0.0, 0.0], n_annotators=3))
    assert "do not show which is best: none can be ruled out. Pairs" in equal["systems"]
    assert "(Holm-adjusted): 0 of 3. Intervals generalize to other items with" in equal["systems"]
    assert equal["evaluators"].startswith("The study has no evaluator scores, so agreement")


def correlations(rows):
    columns = ["evaluator", "estimate", "ci_low", "ci_high", "p_adjusted"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], float))
    missing = table["ci_low"].isna()
    table["status"] = missing.map({True: "few_items", False: "ok"})
    table["reason"] = missing.map({True: "too few", False: ""})
    covers = {"dimension": "clarity", "estimand": "these systems, other items"}
    return table.assign(granularity="output", statistic="spearman", **covers)


@pytest.mark.parametrize(
    "length, words",
    [
        ((0.1, 0.0, 0.2, 0.1), "above that of text length (0.10 [0.00, 0.20]) are those of metric"),
        # The length predicts as well with its sign changed.
        ((-0.6, -0.7, -0.5, 0), "[−0.70, −0.50]) may do as well, because the intervals overlap."),
        ((None, None, None, None), "to other items with these systems."),
    ],
)
def test_evaluators_agree_by_their_adjusted_test_and_beat_the_length_by_both(length, words):
    rows = [
        ("metric_1", 0.6, 0.5, 0.7, 0.001),
        ("metric_2", 0.2, 0.1, 0.3, 0.01),
        # Its own interval excludes zero; not so among three evaluators.
        ("metric_3", 0.1, 0.01, 0.2, 0.06),
    ]
    study, tables = judged([1.0, 0.0])
    tables["correlations"] = correlations([*rows, ("length@sentinel", *length)])
    sentence = sentences(study, tables)["evaluators"]
    assert sentence.startswith(
        "2 of 3 evaluators have a significant positive correlation with judgments of clarity over "
        "outputs (Spearman; Holm-adjusted over evaluators): metric 1 0.60 [0.50, 0.70] and "
        "metric 2 0.20 [0.10, 0.30]. Intervals generalize to other items with these systems."
    )
    assert words in sentence
    tables["correlations"] = correlations([("metric_1", 0.2, None, None, None)])
    sentence = sentences(study, tables)["evaluators"]
    assert sentence.startswith("0 of 1 evaluators have a significant positive correlation with")
    assert sentence.endswith("The highest estimates: metric 1 0.20 (no interval).")


def test_votes_rank_systems_by_tests_and_missing_ones_give_the_reason():
    study = nb.simulate("votes", systems={"a": 0.0, "b": 1.2, "c": 1.1}, n_items=60, seed=0)
    rated = nb.rate(study, of="preferences")
    tables = {"ratings": rated.systems, "rating_pairs": rated.pairs}
    assert rated.systems["rank_high"].tolist() == [3, 2, 2]
    sentence = sentences(study, tables)["systems"]
    assert ") of 3 systems, but 2 of them may be the best: c and b. Pairs that differ" in sentence
    assert "(Holm-adjusted): 2 of 3. Intervals generalize" in sentence
    doubtful = rated.systems.assign(status=["ok", "few_items", "ok"], reason=["", "only 3", ""])
    sentence = sentences(study, {"ratings": doubtful})["systems"]
    assert "Intervals that are missing or unreliable: 1 (only 3)." in sentence
    ends = dict.fromkeys(("ci_low", "ci_high", "rank_low", "rank_high"))
    missing = rated.systems.assign(**ends, status="few_items", reason="one item alone")
    sentence = sentences(study, {"ratings": missing})["systems"]
    assert "do not show whether systems differ: one item alone." in sentence


def test_without_annotators_the_evaluator_or_the_first_judge_is_named():
    own = nb.simulate("own", means=[0, 9, 0], n_items=20, seed=0)
    study = nb.Study(own.outputs, scores=own.scores)
    comparison = nb.compare_systems(study, evaluator="close")
    tables = {"systems": comparison.systems, "pairs": comparison.pairs}
    sentence = sentences(study, tables)["systems"]
    best = comparison.systems["system"].iloc[0]
    start = (
        f"By the scores of close, not by annotators, {best} has the highest adjusted mean score ("
    )
    assert sentence.startswith(start) and " from 20 items) of 3 systems and differs" in sentence
    games = {"system_a": [*"aab"] * 2, "system_b": [*"bcc"] * 2, "outcome": [*"aab", *"bbb"]}
    votes = [pd.DataFrame(games).assign(comparator=name) for name in ("judge_1", "judge_2")]
    rated = nb.rate(pd.concat(votes * 9, ignore_index=True))
    tables = {"ratings": rated.systems, "rating_pairs": rated.pairs}
    sentence = sentences(study, tables)["systems"]
    assert sentence.startswith("By the comparisons of judge 1, not by annotators, c has the")
    assert " of 3 systems" in sentence and " of 3." in sentence
    rows = {"system": study.systems, "evaluator": "bleu", "score": range(3)}
    system_scores = pd.DataFrame(rows)
    whole = study.replace(scores=None, system_scores=system_scores)
    assert "only scores of outputs can show" in sentences(whole, {})["systems"]


def test_conclude_writes_facts_that_a_second_program_recomputes(tmp_path):
    run = record.open("90-own", source="simulated", output_dir=str(tmp_path))
    table = pd.DataFrame({"system": ["a_1", "b"], "estimate": [-0.123, 2]})
    run.table(table.assign(ci_low=[-0.2, 1], ci_high=[-0.1, 3]), "scores")
    finding = run.facts.say("It is", "scores", where={"system": "a_1"}, null=0)
    run.conclude(judged([0, 1])[0], finding, run.facts.say("No", "missing"))
    written = pd.read_csv(tmp_path / "tables" / "findings.csv")["finding"]
    assert written.tolist() == [
        "It is −0.12 [−0.20, −0.10] (judgments, simulated).",
        "Source: simulated world 'judgments', whose truth is known. Brackets contain 95% "
        "intervals.",
    ]
    assert (tmp_path / "ledger.csv").is_file(), "the record is closed"
    assert recomputed_findings.problems(tmp_path) == []
    csv = tmp_path / "tables" / "scores.csv"
    csv.write_text(csv.read_text().replace("-0.123", "-0.124"))
    with pytest.raises(AssertionError):
        recomputed_findings.problems(tmp_path)


def test_a_section_that_fails_is_a_finding_and_the_others_go_on(tmp_path, capsys):
    run = record.open("90-own", source="simulated", output_dir=str(tmp_path))
    assert run.section("broken", lambda: 1 / 0) is None
    run.conclude("made up")
    failed = pd.read_csv(tmp_path / "tables" / "findings.csv").query("status == 'failed'")
    assert (
        failed["finding"].item() == "The section broken failed: ZeroDivisionError: division by zero"
    )
    assert "Failed: broken" in capsys.readouterr().out


def test_pairs_decided_for_either_system_are_counted_with_the_estimate_at_the_stop():
    stops = pd.DataFrame(
        {
            "system": ["a", "a", "b", "c"],
            "opponent": ["b", "c", "c", "d"],
            "verdict": ["better", "worse", "undecided", "worse"],
            "estimate": 9.0,  # from all blocks, after the decision
            "stopped_estimate": [1.5, -2.5, float("nan"), -3.5],
            "stopped_low": [1.0, -3.0, float("nan"), -4.0],
            "stopped_high": [2.0, -2.0, float("nan"), -3.0],
            "stopped_at": [10.0, 20.0, float("nan"), 30.0],
            "covers": "other items, these annotators",
        }
    )
    *_, finding = planned({"stops": stops}, of_votes=False)
    assert finding.sentence == (
        "Sequential tests of judgments of quality (Holm-adjusted; they generalize to other items "
        "with these annotators) decide 3 of 4 pairs of systems (differences in points when the "
        "test stopped, with confidence sequences not adjusted over pairs): a is better than b ("
        "1.50 [1.00, 2.00] after 10 items), a is worse than c (−2.50 [−3.00, −2.00] after 20 "
        "items), and c is worse than d (−3.50 [−4.00, −3.00] after 30 items)."
    )


def planned(tables, **options):
    asked = {"of_votes": True, "sample": "random", "block": "item", "default": True}
    return planning_findings(Facts(tables), "quality", **{**asked, **options})


def test_a_design_is_stated_with_its_difference_prices_and_assumption():
    plan = nb.plan_study(
        {"system x item": 0.5, "system x annotator": 0.05, "rest": 1.0},
        difference=0.3,
        prices={"judgment": 0.1, "item": 1.0, "annotator": 5.0},
    )
    finding, *_ = planned({"means_designs": plan.designs})
    for words in (
        "two systems by judgments of quality, the cheapest design searched whose power is at least",
        f"annotators (crossed design), and {plan.designs['n_votes'][0]} annotators per output: ",
        f"{plan.designs['n_judgments'][0]:,} judgments for a price of ",
        "0.1 each, 1 per item, 5 per annotator). Its power",
        "for a difference of 0.3 points (the notebook's default: a fifth of the SD within systems)",
        "at level 0.05 (tests generalize to other items and other annotators; the variances of the",
    ):
        assert words in finding.sentence
    chosen, *_ = planned({"means_designs": plan.designs}, sample="fixed", default=False)
    assert "(tests generalize to other items with these annotators; " in chosen.sentence
    assert "0.3 points at level" in chosen.sentence


def test_biases_of_judges_are_stated_with_their_margins_and_families():
    audit = pd.DataFrame(
        {
            "evaluator": ["j", "j", "longest"],
            "test": ["position", "length", "position"],
            "estimate": 0.01,
            "ci_low": -0.2,
            "ci_high": 0.2,
            "p_adjusted": [0.5, float("nan"), float("nan")],  # one vote a pair; a sentinel
            "verdict": ["not shown", "not shown", ""],
            "margin": 0.05,
            "confidence": 0.95,
            "status": "gold_votes",
            "reason": "votes count as the truth",
        }
    )
    tables = {"audit_findings": audit}
    options = {"dimension": "clarity", "evaluator": "e", "is_drawn": True}
    *_, biases, _ = judge_findings(Facts(tables), "s", "p", **options)
    assert biases.sentence == (
        "In the study `p`, 0 of 1 tests of judges find a bias beyond the margin of 0.05 of "
        "verdicts (Holm-adjusted within judges). Biases ruled out (90% interval within the "
        "margin): 0. Tests with a reservation: 1 (votes count as the truth)."
    )
    tables["audit_findings"] = audit.assign(verdict="found", status="ok")
    *_, biases, _ = judge_findings(Facts(tables), "s", "p", **options)
    assert biases.sentence.endswith(
        "): j (position: 0.01 [−0.20, 0.20]). These are gains in the share of verdicts of a text "
        "shown first (position), twice as long (length), or by the judge's own system (own). "
        "Biases ruled out (90% interval within the margin): 0."
    )


def test_the_notebook_on_judges_reports_agreement_order_and_reversals():
    share = {
        "ci_low": 0.5,
        "ci_high": 0.9,
        "status": "ok",
        "system": "all systems",
        "evaluator": "j",
    }
    agreement = pd.DataFrame({"quantity": ["accuracy", "constant_accuracy"], **share})
    audit = pd.DataFrame({"evaluator": ["j", "first"], "test": "consistency", "estimate": [0.8, 0]})
    groups = pd.DataFrame({"method": ["evaluator alone", "corrected"], "group": "g", "system": "a"})
    groups = groups.assign(opponent="b", estimate=[0.2, -0.3], ci_low=[0.1, -0.4])
    groups = groups.assign(ci_high=[0.3, -0.2], verdict=["better", "worse"])
    tables = {
        "agreement": agreement.assign(estimate=[0.8, 0.6]),
        "audit_findings": audit.assign(ci_low=[0.7, 0], ci_high=[0.9, 0], p_adjusted=float("nan")),
        "within_groups": groups,
    }
    options = {"dimension": "clarity", "evaluator": "e", "is_drawn": True, "threshold": 4.0}
    found = judge_findings(Facts(tables), "s", "p", grouped="q", **options)
    assert [finding.sentence for finding in found if finding] == [
        "In the study `s`, the share of labels with which a judge agrees is 0.80 [0.50, 0.90] for "
        '"j", compared with 0.60 [0.50, 0.90] for a judge that always gives the most frequent '
        "label (dimension: clarity; pass: from 4 on).",
        "In the study `p`, the share of pairs with the same verdict in both orders is 0.80 [0.70, "
        "0.90] for j.",
        'In the study `q`, the difference between means is 0.20 [0.10, 0.30] in "g" by the judge '
        "(a minus b), but −0.30 [−0.40, −0.20] if corrected by labels.",
    ]


def test_cautions_come_before_a_ranking_and_positions_are_not_ranked():
    study = nb.simulate("judgments", n_items=20, seed=1)
    apart = study.replace(outputs=study.outputs.assign(item_id=study.outputs["output_id"]))
    for chosen, is_said in ((study, False), (apart, True)):
        compared = nb.compare_systems(chosen)
        facts = Facts({"systems": compared.systems, "pairs": compared.pairs})
        sentence = findings(chosen, facts)[0].sentence
        assert sentence.startswith("No two systems were judged on the same items") == is_said
    votes = nb.simulate("votes", systems={"a": 0.0, "b": 1.2, "c": 1.1}, n_items=20, seed=0)
    system = votes.outputs.set_index("output_id")["system"]
    is_star = (
        votes.preferences[["output_a", "output_b"]].isin(system.index[system == "a"]).any(axis=1)
    )
    star = votes.replace(preferences=votes.preferences[is_star])
    rated = nb.rate(star, of="preferences")
    sentence = sentences(star, {"ratings": rated.systems, "rating_pairs": rated.pairs})["systems"]
    assert sentence.startswith("All votes are with a: other systems were not compared with each ")
    names = {"a": "output_1", "b": "output_2", "c": "Answer B"}
    renamed = votes.outputs.assign(system=votes.outputs["system"].map(names))
    agreement = nb.vote_agreement(votes.replace(settings={"votes": "gold"})).iloc[:3]
    agreement = agreement.assign(estimate=float("nan"), status="few", reason="undefined: no pairs")
    _, positions, agreed = findings(
        votes.replace(outputs=renamed), Facts({"vote_agreement": agreement})
    )
    assert positions.sentence.endswith("not systems, so they are not ranked.")
    assert agreed.sentence.endswith("as by chance) is undefined (no pairs).")
