"""Splits of a study into training and test outputs that share no text."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nlgbench.names import known
from nlgbench.status import Unsupported
from nlgbench.study import Study, part_of
from nlgbench.study.checks import checked
from nlgbench.text import text_key


@checked
def split(
    study: Study,
    *,
    by: Literal["text", "context", "item"] = "text",
    test_size: float = 0.4,
    leave_out: str | None = None,
    seed: int | np.random.Generator = 0,
) -> tuple[Study, Study]:
    """Split a study into a training and a test study for evaluators.

    Parameters
    ----------
    study : Study
        The study whose outputs are split; judgments and other rows follow their outputs.
    by : {"text", "context", "item"}
        The unit that stays on one side: equal texts (case and white space are ignored), or all
        outputs of one context or item.
    test_size : float
        Share to hold out: of each system's distinct texts (rounded), or of contexts or items.
    leave_out : str, optional
        A system to exclude from training; its test outputs are unchanged.
    seed : int or Generator
        Seed of the split, which does not depend on `leave_out`.

    Returns
    -------
    tuple of (Study, Study)
        Training and test study, without shared texts. When you split by context or item, outputs
        whose texts also occur in the test study are dropped from training.

    Raises
    ------
    ValueError
        If `by` or `leave_out` is unknown, `test_size` is out of range, or a side is empty.

    Examples
    --------
    >>> import pandas as pd
    >>> outputs = pd.DataFrame({"output_id": [*"0123456789"], "text": [*"aabbccddee"]})
    >>> train, test = split(Study(outputs.assign(item_id="1", system="m")))
    >>> len(train.outputs), len(test.outputs)
    (6, 4)
    """
    table = study.outputs
    if leave_out is not None:
        known(leave_out, [str(name) for name in table["system"].unique()], "leave_out")
    rng = np.random.default_rng(seed)
    text = table["text"].map(text_key)
    unit = text if by == "text" else table["context" if by == "context" else "item_id"]
    # A text of several systems counts for the first of them; contexts or items form one stratum.
    first = ~unit.duplicated()
    stratum = table["system"] if by == "text" else table["system"].mask(first, "")
    chosen: list[str] = []
    for _, group in unit[first].groupby(stratum[first], sort=True):
        shuffled = rng.permutation(np.array(group, dtype=object))
        chosen += shuffled[: round(test_size * len(group))].tolist()
    in_test = unit.isin(chosen)
    in_train = ~in_test & ~text.isin(text[in_test]) & (table["system"] != leave_out)
    if not in_train.any() or not in_test.any():
        raise Unsupported(
            "few_outputs",
            f"The split by {by} leaves {in_train.sum()} training and {in_test.sum()} test outputs "
            f"(distinct {by}s: {unit.nunique()}). Split by another unit, or add outputs.",
        )
    return part_of(study, in_train.to_numpy()), part_of(study, in_test.to_numpy())
