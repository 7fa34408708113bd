"""Training and test outputs that share no text."""

from typing import Literal

import numpy as np
import pandas as pd

from nlgbench import schema
from nlgbench.names import did_you_mean
from nlgbench.text import text_key


def one_dataset(outputs: pd.DataFrame) -> pd.DataFrame:
    """Check an ``outputs`` table, and that it holds one dataset.

    Parameters
    ----------
    outputs : DataFrame
        The table.

    Returns
    -------
    DataFrame
        The checked table.

    Raises
    ------
    ValueError
        When it holds several datasets, or none.
    """
    table = schema.check(outputs, "outputs")
    datasets = table["dataset"].unique()
    if len(datasets) != 1:
        raise ValueError(
            f"outputs must hold one dataset. Got {len(datasets)}: filter, as in "
            "outputs[outputs['dataset'] == ...]."
        )
    return table


def split_outputs(
    outputs: pd.DataFrame,
    *,
    by: Literal["text", "context"] = "text",
    test_size: float = 0.4,
    leave_out: str | None = None,
    seed: int | np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split outputs into those to train on and those to test on.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset.
    by : {"text", "context"}
        What is dealt out whole: equal texts (case and white space do not count, as in
        `text.text_key`), or all outputs of one context.
    test_size : float
        Share of the distinct texts of each system (rounded), or of the contexts.
    leave_out : str, optional
        A system none of whose outputs is trained on; its test outputs stay as they are.
    seed : int or Generator
        Where the random numbers come from; the split is the same whatever is left out.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        Training and test outputs. No text of the second stands in the first: with
        ``by="context"``, training outputs whose text is also a test text are in neither.

    Raises
    ------
    ValueError
        When `by` or `leave_out` is unknown, `test_size` out of range, or a side is left empty.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False, "system": "m"}
    >>> outputs = pd.DataFrame([{**row, "output_id": str(n), "text": n} for n in "aabbccddee"])
    >>> outputs["output_id"] = [str(n) for n in range(10)]
    >>> train, test = split_outputs(outputs, seed=0)
    >>> len(train), len(test)
    (6, 4)
    """
    table = one_dataset(outputs)
    if by not in ("text", "context"):
        hint = did_you_mean(by, ("text", "context"))
        raise ValueError(f"by = {by!r} is unknown.{hint} There are: text, context.")
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must lie between 0 and 1. Got {test_size}.")
    systems = list(table["system"].unique())
    if leave_out is not None and leave_out not in systems:
        hint = did_you_mean(leave_out, systems)
        raise ValueError(f"no system {leave_out!r}.{hint} There are: {', '.join(systems)}.")
    rng = np.random.default_rng(seed)
    text = table["text"].map(text_key)
    unit = text if by == "text" else table["context"]
    # A text that several systems wrote counts with the first of them; contexts are one stratum.
    first = ~unit.duplicated()
    stratum = table["system" if by == "text" else "dataset"]
    chosen: list[str] = []
    for _, group in unit[first].groupby(stratum[first], sort=True):
        chosen += rng.permutation(group)[: round(test_size * len(group))].tolist()
    in_test = unit.isin(chosen)
    test = table[in_test]
    in_train = ~in_test & ~text.isin(text[in_test]) & (table["system"] != leave_out)
    train = table[in_train]
    if train.empty or test.empty:
        raise ValueError(
            f"the split by {by} leaves {len(train)} outputs to train on and {len(test)} to test "
            f"on: there are {unit.nunique()} distinct {by}s. Split by the other, or give more."
        )
    return train.reset_index(drop=True), test.reset_index(drop=True)
