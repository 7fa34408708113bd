"""Systems without annotators: their order, intervals over items, and what cannot be said."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

import nlgbench as nb
from nlgbench.analysis.standings import standings


def study(**tables):
    names = [(f"{s}{i}", str(i), s) for s in "abc" for i in range(20)]
    return nb.Study(pd.DataFrame(names, columns=["output_id", "item_id", "system"]), **tables)


def scores(study, **by_system):
    noise = np.random.default_rng(0).normal(size=len(study.outputs))
    score = study.outputs["system"].map(by_system) + noise
    return study.outputs[["output_id"]].assign(evaluator="e_1", score=score)


def test_win_rates_against_one_system_are_those_of_the_pairs_and_the_judge_is_named():
    won = np.array([1.0] * 15 + [0.0] * 5)
    games = pd.DataFrame({"output_b": [f"c{i}" for i in range(20)], "prob_tie": 0.0})
    both = [
        games.assign(output_a=[f"{s}{i}" for i in range(20)], prob_a=p)
        for s, p in (("a", won), ("b", 1 - won))
    ]
    table = pd.concat(both).assign(comparator="judge_1")
    given = study(comparisons=table.assign(prob_b=1 - table["prob_a"]))
    found = standings(given).set_index("system")
    assert found["estimate"].to_dict() == {"a": 0.75, "c": 0.5, "b": 0.25}
    pairs = nb.win_rates(given).query("opponent == 'c'").set_index("system")
    ends = ["ci_low", "ci_high"]
    np.testing.assert_allclose(found.loc[["a", "b"], ends], pairs.loc[["a", "b"], ends])
    drawn = nb.plot_systems(found.reset_index())
    assert drawn.axes[0].get_title(loc="left") == "By judge 1, not by annotators"
    assert "judgment" not in drawn.alt


@pytest.mark.parametrize("signature, best", [("", "c"), ("direction: lower", "a")])
def test_means_of_scores_are_ranked_in_their_direction(signature, best):
    given = study()
    table = scores(given, a=0, b=5 * (signature != ""), c=9).assign(signature=signature)
    found = standings(given.replace(scores=table))
    assert found["system"].iloc[0] == best
    low = dict(zip(found["system"], found["rank_low"], strict=True))
    assert low == ({"a": 1, "b": 2, "c": 3} if signature else {"c": 1, "a": 2, "b": 2})
    means = table.groupby(table["output_id"].str[0])["score"].mean()
    np.testing.assert_allclose(found.set_index("system")["estimate"], means[found["system"]])


def test_scores_of_whole_systems_are_ranked_without_intervals():
    rows = [(s, e, n) for s, n in zip("abc", (1.0, 3.0, 2.0), strict=True) for e in ("ter", "bleu")]
    table = pd.DataFrame(rows, columns=["system", "evaluator", "score"])
    lower = {"ter": "direction: lower", "bleu": ""}
    found = standings(study(system_scores=table.assign(signature=table["evaluator"].map(lower))))
    assert "".join(found["evaluator"].str[0] + found["system"]) == "bbbcbatatctb"
    assert (
        found["ci_low"].isna().all()
        and found["reason"].str.contains("each system has one score").all()
    )
    assert "Best first: a 1.00, c 2.00, b 3.00" in nb.plot_systems(found[3:]).alt


def test_scores_are_compared_as_judgments_are_and_repeated_outputs_are_averaged():
    given = study()
    table = scores(given, a=0, b=1, c=5)
    found = nb.compare_systems(given.replace(scores=table), evaluator="e_1")
    assert found.systems["covers"].eq("other items").all() and found.annotators.empty
    wide = table["score"].to_numpy().reshape(3, 20)
    test = ttest_rel(wide[2], wide[0])
    pair = found.pairs.set_index(["system", "opponent"]).loc[("c", "a")]
    assert [pair["estimate"], pair["p"]] == pytest.approx([(wide[2] - wide[0]).mean(), test.pvalue])
    ends = test.confidence_interval()
    assert [pair["ci_low"], pair["ci_high"]] == pytest.approx([ends.low, ends.high])
    # Each output twice, half a point above and below: the means, and all else, are the same.
    twice = pd.concat(
        [given.outputs.assign(output_id=given.outputs["output_id"] + mark) for mark in "+-"]
    )
    shifted = table["score"] + 0.5, table["score"] - 0.5
    both = pd.concat(
        [
            table.assign(output_id=table["output_id"] + mark, score=score)
            for mark, score in zip("+-", shifted, strict=True)
        ]
    )
    again = nb.compare_systems(nb.Study(twice, scores=both), evaluator="e_1")
    pd.testing.assert_frame_equal(again.pairs, found.pairs)
    with pytest.raises(ValueError, match=r"dimension='q', annotators=None: leave out both"):
        nb.compare_systems(given.replace(scores=table), evaluator="e_1", dimension="q")
    with pytest.raises(ValueError, match="'e_2' is unknown"):
        nb.compare_systems(given.replace(scores=table), evaluator="e_2")
