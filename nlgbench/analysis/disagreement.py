"""Outputs that two evaluators rank most differently."""

from __future__ import annotations

import pandas as pd

from nlgbench.study import Study
from nlgbench.study.checks import checked


@checked
def disagreements(study: Study, evaluator_a: str, evaluator_b: str, *, n: int = 5) -> pd.DataFrame:
    """Find the outputs whose ranks by two evaluators differ most, in both directions.

    Each item contributes at most one output, the one with the largest difference.

    Parameters
    ----------
    study : Study
        A study with scores by both evaluators.
    evaluator_a, evaluator_b : str
        Names of the evaluators. Scores for which lower is better are negated.
    n : int, default 5
        Number of outputs in each direction; fewer if there are not enough items.

    Returns
    -------
    DataFrame
        output_id, rank_a, rank_b (divided by the number of outputs that both scored; ties
        averaged), gap (a minus b). Rows are sorted by gap: outputs that b ranks higher come first.

    Raises
    ------
    ValueError
        When an evaluator has no scores. The message suggests the closest name.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": list("abc"), "item_id": list("ijk"), "system": "s"})
    >>> scores = pd.DataFrame({"output_id": list("abc") * 2, "evaluator": ["e"] * 3 + ["f"] * 3})
    >>> study = Study(outputs, scores=scores.assign(score=[1.0, 2.0, 3.0, 1.5, 1.0, 0.5]))
    >>> disagreements(study, "e", "f", n=1)["output_id"].tolist()
    ['a', 'c']
    """
    scores = study.scored([evaluator_a, evaluator_b])
    wide = scores.pivot(index="output_id", columns="evaluator", values="score").dropna()
    ranks = wide.rank(pct=True).rename(columns={evaluator_a: "rank_a", evaluator_b: "rank_b"})
    ranks = ranks.assign(gap=ranks["rank_a"] - ranks["rank_b"])
    item = study.outputs.set_index("output_id")["item_id"]
    ranks = ranks.loc[ranks["gap"].abs().groupby(item).idxmax().dropna()]
    ranks = ranks.sort_values("gap", kind="stable")
    first = ranks.iloc[: min(n, len(ranks) // 2)]
    last = ranks.iloc[len(ranks) - min(n, len(ranks) - len(first)) :]
    return (
        pd.concat([first, last])
        .reset_index()[["output_id", "rank_a", "rank_b", "gap"]]
        .rename_axis(columns=None)
    )
