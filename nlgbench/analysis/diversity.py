"""How sure measures of diversity are."""

from typing import Literal

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.evaluators.diversity.scores import diversity_of_subsets, signature
from nlgbench.inference import half_samples, interval
from nlgbench.names import known

_FRACTION = 2 / 3


def diversity_intervals(
    outputs: pd.DataFrame,
    *,
    max_n: int = 3,
    bleu_n: int = 4,
    over: Literal["outputs", "items"] = "outputs",
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Put intervals around distinct-n, n-gram entropy and Self-BLEU, by subsamples.

    Parameters
    ----------
    outputs : DataFrame
        Table of outputs; humans count as one more system.
    max_n, bleu_n : int
        As in `evaluators.diversity.diversity_of_subsets`.
    over : {"outputs", "items"}
        What might have been others. ``"outputs"``: two thirds of a system's outputs.
        ``"items"``: two thirds of its items, each with all its outputs, where an item has several.
    n_resamples : int
        Subsamples.
    level : float
        Coverage asked for, between 0 and 1.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        A row per dataset, system and evaluator: estimate (of all its outputs), se, ci_low, ci_high
        (not clipped; NaN with a reason), level, center, n_resamples, n_undefined, reason as in
        `resampling.interval`, signature (with the direction: Self-BLEU is *lower* where outputs
        are more diverse, and with the number of texts), method.

    Raises
    ------
    TableError
        When the table breaks a rule.
    ValueError
        When a name is unknown or a number out of range.

    Notes
    -----
    Subsamples are drawn without replacement. A bootstrap holds copies of a text, which are a
    Self-BLEU of 1 and n-grams that are not distinct: it shows too little diversity. A subsample has
    fewer texts and so shows other values; the interval is centered on the estimate from all outputs
    and takes only its width from the subsamples (`resampling.recenter`). It is an interval for the
    expectation at this number of outputs: two systems' compare only when they have equally many
    (`evaluators.diversity.draw_equal`).

    Why two thirds, f, and not halves: rare n-grams repeat by chance between pairs of texts, and a
    pair stays in a subsample with probability f squared. The variance of their number, scaled up
    by ``f / (1 - f)``, is ``f (1 + f)`` of the true one: .75 for halves, 1.11 for two thirds. For
    texts of Zipf's words (80 and 300) and of the grammar of reviews (100), the standard error was
    .95 to 1.2 times the standard deviation over new sets of texts, but 1.45 to 1.9 times for
    distinct-1, whose intervals are therefore too wide (with halves: .84 to 1.2, and 1.5 to 2.2).
    Coverage over items was not measured.

    Examples
    --------
    >>> from nlgbench.worlds import reviews as worlds
    >>> outputs = worlds.gaussian_world(n_outputs=20, seed=0).study.outputs
    >>> found = diversity_intervals(outputs, n_resamples=50, seed=0)
    >>> found[found["ci_low"].isna()]["evaluator"].unique().tolist()  # one and the same in all
    ['distinct_3', 'self_bleu_4']
    """
    known(over, ["outputs", "items"], "over")
    checked = tables.check(outputs, "outputs")
    if checked.empty:
        raise ValueError("outputs holds no row: there is nothing to put an interval around.")
    rng = np.random.default_rng(seed)
    rows = []
    for (dataset, system), group in checked.groupby(["dataset", "system"], sort=False):
        subsamples = half_samples(
            len(group),
            clusters=group["item_id"] if over == "items" else None,
            fraction=_FRACTION,
            n_resamples=n_resamples,
            seed=rng,
        )
        members = np.vstack([np.ones(len(group), dtype=bool), subsamples])
        found = diversity_of_subsets(group["text"].tolist(), members, max_n=max_n, bleu_n=bleu_n)
        for name in found:
            estimate, replicates = float(found[name].iloc[0]), found[name].iloc[1:]
            rows.append(
                {
                    "dataset": dataset,
                    "system": system,
                    "evaluator": name,
                    **interval(replicates, estimate, fraction=_FRACTION, level=level),
                    "signature": signature(str(name), len(group)),
                }
            )
    table = pd.DataFrame(rows).assign(method=f"subsamples of 2/3 of {over}, normal")
    too_few = table["n_undefined"].astype(str) + " of " + table["n_resamples"].astype(str)
    why = too_few + " subsamples have fewer than two texts, or no text of n tokens"
    return table.assign(reason=table["reason"].where(table["n_undefined"] == 0, why))
