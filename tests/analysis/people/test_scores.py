"""Scores are compared as judgments are, and figures say that annotators gave none."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

import nlgbench as nb
from nlgbench.plots.groups import plot_groups


def scored(signature="", **means):
    names = [(f"{s}{i}", str(i), s, f"part {i % 2}") for s in means for i in range(20)]
    outputs = pd.DataFrame(names, columns=["output_id", "item_id", "system", "part"])
    scores = outputs[["output_id"]].assign(evaluator="e_1", signature=signature)
    noise = np.random.default_rng(0).normal(size=len(outputs))
    scores["score"] = outputs["system"].map(means) + noise
    return nb.Study(outputs, scores=scores, settings={"extra": ["part"]})


@pytest.mark.parametrize(
    "signature, ranks",
    [("", {"c": 1, "a": 2, "b": 2}), ("direction: lower", {"a": 1, "b": 2, "c": 3})],
)
def test_systems_are_ranked_in_the_direction_of_scores_and_figures_name_the_evaluator(
    signature, ranks
):
    study = scored(signature, a=0, b=5 * (signature != ""), c=9)
    found = nb.compare_systems(study, evaluator="e_1", by="part")
    assert found.systems.set_index("system")["rank_low"].to_dict() == ranks
    assert found.systems["evaluator"].eq("e_1").all() and found.systems["n_judgments"].eq(20).all()
    for draw in (nb.plot_systems, nb.plot_win_rates, plot_groups):
        alt = draw(found).alt
        assert alt.startswith("By e 1, not by annotators: ") and "judg" not in alt
    assert nb.plot_systems(found).axes[0].get_title(loc="left") == "By e 1, not by annotators"
    with pytest.raises(ValueError, match=r"has no score by e_1\."):
        scores = study.scores.assign(score=np.nan)
        nb.compare_systems(study.replace(scores=scores), evaluator="e_1")


def test_scores_are_compared_as_judgments_are_and_repeated_outputs_are_averaged():
    given = scored(a=0, b=1, c=5)
    table = given.scores
    found = nb.compare_systems(given, evaluator="e_1")
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
    again = nb.compare_systems(given.replace(outputs=twice, scores=both), evaluator="e_1")
    pd.testing.assert_frame_equal(again.pairs, found.pairs)
    with pytest.raises(ValueError, match=r"dimension='q', annotators=None: leave out both"):
        nb.compare_systems(given, evaluator="e_1", dimension="q")
    with pytest.raises(ValueError, match="'e_2' is unknown"):
        nb.compare_systems(given, evaluator="e_2")
