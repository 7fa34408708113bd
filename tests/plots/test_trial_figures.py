"""Evaluators of Learning to Compare beside people: what is drawn of their correlations."""

import pandas as pd
import pytest

from nlgbench.plots.trials import plot_single_outputs, plot_supervision

NAMES = ["with skill rating", "averaged by references", "BLEU", "human alone"]
TABLE = pd.DataFrame(
    [
        {"evaluator": name, "statistic": statistic, "data": data, "estimate": 0.1 * n}
        for n, name in enumerate(NAMES)
        for statistic in ("spearman", "pearson")
        for data in ("reviews", "topical_chat", "third")
    ]
).assign(ci_low=-0.2, ci_high=0.6)
TAUGHT = dict(zip(NAMES, ["strong, human", "strong, human", "references", "human"], strict=True))


def test_single_outputs_have_a_panel_per_data_set():
    drawn = plot_single_outputs(TABLE)
    assert [ax.get_title(loc="left") for ax in drawn.axes] == ["reviews", "topical chat", "third"]
    assert drawn.data["statistic"].eq("spearman").all() and len(drawn.data) == 12
    assert len(drawn.figure.axes) == 3, "a place without a panel stays empty"
    assert "topical_chat, BLEU 0.20" in drawn.alt
    alone = plot_single_outputs(TABLE[TABLE["data"] == "reviews"]).figure
    assert len(alone.axes) == 1, "one data set has the whole width"


def test_supervision_marks_what_an_evaluator_learned_from():
    table = TABLE[TABLE["data"] == "reviews"]
    table = table.assign(supervision=table["evaluator"].map(TAUGHT))
    drawn = plot_supervision(table)
    kinds = drawn.data.set_index("evaluator")["kind"].to_dict()
    assert kinds == {
        "full model, rated": "several kinds",
        "BLEU": "references, texts",
        "human alone": "human",
    }
    assert "human alone 0.30" in drawn.alt


@pytest.mark.parametrize("draw", [plot_single_outputs, plot_supervision])
def test_a_missing_column_is_named(draw):
    with pytest.raises(ValueError, match="estimate"):
        draw(TABLE.assign(supervision="human").drop(columns="estimate"))
