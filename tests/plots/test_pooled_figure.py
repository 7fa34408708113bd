"""Correlations of many studies are drawn with their mean, sentinels last."""

import pandas as pd
import pytest
from plot_samples import effects

import nlgbench as nb


def test_a_panel_for_each_evaluator_with_sentinels_last():
    drawn = nb.plot_pooled(nb.pool_correlations(effects(("length@sentinel", "chrf", "bleu_4"))))
    titles = [ax.get_title().split("\n")[0] for ax in drawn.axes]
    assert titles == ["BLEU-4", "chrF", "Length (sentinel)"]
    plain = nb.plot_pooled(nb.pool_correlations(effects(("chrf",)), confidence=0.9))
    assert plain.axes[0].get_yticklabels()[-1].get_text() == "90% prediction\ninterval"


def test_the_effects_of_studies_and_their_mean_are_drawn():
    pooled = nb.pool_correlations(effects())
    drawn = nb.plot_pooled(pooled)
    data = drawn.data.set_index(["evaluator", "study"])
    mean = pooled.summary.set_index("evaluator").loc["chrf"]
    assert data.loc[("chrf", "Mean"), "estimate"] == mean["estimate"]
    assert data.loc[("chrf", "prediction interval"), "ci_low"] == mean["prediction_low"]
    ax = drawn.axes[0]
    words = [text.get_text() for text in ax.get_yticklabels()]
    (diamond,) = ax.patches
    assert diamond.get_xy()[:, 0].min() == mean["ci_low"]
    bar = [lines for lines in ax.collections if len(lines.get_segments()) == 1][-1]
    heights = [diamond.get_xy()[0, 1], bar.get_segments()[0][0][1]]
    assert ax.get_yticks()[-2:].tolist() == heights, "labels are beside what they name"
    assert words == ["first", *"abc", "x", *"defgh", "Mean", "95% prediction\ninterval"]


def test_few_studies_are_drawn_without_a_mean():
    drawn = nb.plot_pooled(nb.pool_correlations(effects(studies="abc")))
    assert drawn.axes[0].get_title() == "chrF"
    assert not drawn.axes[0].patches and "no mean" in drawn.alt


def test_differences_are_named_and_fit():
    """Beyond 1, too: differences of correlations reach 2."""
    pairs = effects().rename(columns={"evaluator": "evaluator_a"})
    pairs = pairs[pairs["evaluator_a"] == "chrf"].assign(evaluator_b="length@sentinel")
    for name in ("estimate", "ci_low", "ci_high"):
        pairs.loc[pairs.index[0], name] += 1
    drawn = nb.plot_pooled(nb.pool_correlations(pairs))
    (ax,) = drawn.axes
    words = drawn.figure.get_supxlabel().replace("\n", " ")
    assert words == "Spearman correlation with human judgments, minus that of length"
    assert drawn.alt.startswith(words)
    assert ax.get_xlim()[1] >= pairs["ci_high"].max() > 1
    two = pd.concat([pairs, pairs.assign(evaluator_b="bleu_4")])
    with pytest.raises(ValueError, match="several evaluators"):
        nb.plot_pooled(nb.pool_correlations(two))
