"""Perplexity of outputs under a language model that gives log-probabilities."""

import numpy as np
import pandas as pd

from nlgbench import tables
from nlgbench.names import did_you_mean


def perplexity(outputs: pd.DataFrame, logprobs: pd.DataFrame, *, model: str) -> pd.DataFrame:
    """Score each output by its perplexity under one language model.

    Parameters
    ----------
    outputs, logprobs : DataFrame
        Tables of these names.
    model : str
        Whose log-probabilities are taken.

    Returns
    -------
    DataFrame
        A ``scores`` table in the order of the outputs, evaluator ``perplexity@`` and the model; at
        least 1, and **lower is better**: the signature says so. NaN where the model gives no
        log-probability, and infinity where it gives the text probability 0; the signature counts
        both.

    Raises
    ------
    TableError
        When a table breaks its rules.
    ValueError
        When the model gives no log-probabilities at all.

    Notes
    -----
    ``exp(-logprob / n_tokens)``: of an output, not of all texts of a system together, which is
    ``exp`` of minus the sum of log-probabilities over the sum of tokens. What counts as a token,
    and whether the end is one, is as in ``logprobs``, so perplexities of models that count
    otherwise, or know other words, are not comparable.

    An infinite perplexity is a fact about the text, not a gap: it ranks last, and makes its
    system's mean infinite. Where most texts have unknown words, as those of other systems have
    under a small model, take log-probabilities of known words (`RecurrentModel.logprob_known`).

    Which model Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521) computed perplexity
    under is not said.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "i", "system": "s", "is_human": False, "context": ""}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n} for n in "abc"])
    >>> found = pd.DataFrame({"dataset": "d", "output_id": ["a", "b"], "model": "m"})
    >>> found = found.assign(logprob=[-2 * np.log(8), -np.inf], n_tokens=2)
    >>> scores = perplexity(outputs, found, model="m")
    >>> scores["score"].round(9).tolist()
    [8.0, inf, nan]
    >>> scores["signature"][0]
    'exp(-logprob / n_tokens) under m|outputs:3|undefined:1|infinite:1|direction:lower is better'
    """
    outputs, logprobs = tables.check(outputs, "outputs"), tables.check(logprobs, "logprobs")
    models = list(logprobs["model"].unique())
    if model not in models:
        hint = did_you_mean(model, models)
        raise ValueError(
            f"no log-probabilities under {model!r}.{hint} There are: {', '.join(models) or 'none'}."
        )
    keys = ["dataset", "output_id"]
    joined = outputs[keys].merge(
        logprobs[logprobs["model"] == model], on=keys, how="left", validate="one_to_one"
    )
    with np.errstate(over="ignore"):  # past 1.8e308 it is infinite
        scores = joined[keys].assign(score=np.exp(-joined["logprob"] / joined["n_tokens"]))
    how = f"exp(-logprob / n_tokens) under {model}|outputs:{len(scores)}"
    how += (
        f"|undefined:{scores['score'].isna().sum()}|infinite:{np.isposinf(scores['score']).sum()}"
    )
    how += "|direction:lower is better"
    return tables.check(scores.assign(evaluator=f"perplexity@{model}", signature=how), "scores")
