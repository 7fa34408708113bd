"""Training and test outputs of a study that share no text."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nlgbench.names import known
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
    """Split a study into one to train evaluators on and one to test them on.

    Parameters
    ----------
    study : Study
        Its outputs are split; what is said of an output goes with it.
    by : {"text", "context", "item"}
        What is dealt out whole: equal texts (case and white space do not count), or all outputs of
        one context or item.
    test_size : float
        Share of the distinct texts of each system (rounded), or of the contexts or items.
    leave_out : str, optional
        A system none of whose outputs is trained on; its test outputs stay as they are.
    seed : int or Generator
        Where the random numbers come from; the split is the same whatever is left out.

    Returns
    -------
    tuple of (Study, Study)
        Training and test. No text of the second stands in the first: by context or item, training
        outputs whose text is also a test text are in neither.

    Raises
    ------
    ValueError
        When `by` or `leave_out` is unknown, `test_size` out of range, or a side is left empty.

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
    # A text that several systems wrote counts with the first of them; contexts are one stratum.
    first = ~unit.duplicated()
    stratum = table["system"] if by == "text" else table["system"].mask(first, "")
    chosen: list[str] = []
    for _, group in unit[first].groupby(stratum[first], sort=True):
        drawn = rng.permutation(np.array(group, dtype=object))
        chosen += drawn[: round(test_size * len(group))].tolist()
    in_test = unit.isin(chosen)
    in_train = ~in_test & ~text.isin(text[in_test]) & (table["system"] != leave_out)
    if not in_train.any() or not in_test.any():
        raise ValueError(
            f"the split by {by} leaves {in_train.sum()} outputs to train on and {in_test.sum()} to "
            f"test on: there are {unit.nunique()} distinct {by}s. Split by another, or give more."
        )
    return part_of(study, in_train.to_numpy()), part_of(study, in_test.to_numpy())
