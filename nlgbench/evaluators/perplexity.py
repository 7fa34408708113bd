"""Perplexity of outputs under a language model that gives log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.names import known
from nlgbench.study import Study


def score_perplexity(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Score each output by its perplexity under one model; at least 1, and **lower is better**.

    ``perplexity@m`` is ``exp(-logprob / n_tokens)`` under the model m of ``logprobs``
    (``perplexity`` alone: under its only model): of an output, not of all texts of a system
    together, which is ``exp`` of minus the sum of log-probabilities over the sum of tokens. What
    counts as a token, and whether the end is one, is as in ``logprobs``, so perplexities of models
    that count otherwise, or know other words, are not comparable.

    NaN where the model gives no log-probability, or gives the text probability 0 (its perplexity is
    infinite); the signature counts both. Where most texts have unknown words, as those of other
    systems have under a small model, take log-probabilities of known words
    (`RecurrentModel.logprob_known`). Which model Zhou and Xu (2020, section 4.1,
    doi:10.1609/aaai.v34i05.6521) computed perplexity under is not said.
    """
    logprobs = study.logprobs
    assert logprobs is not None  # as the registry of `score` says
    models = [str(model) for model in logprobs["model"].unique()]
    frames = []
    for name in names:
        model = name.partition("@")[2] or (models[0] if len(models) == 1 else "")
        if not model:
            raise ValueError(
                f"{study.name} has log-probabilities under {', '.join(models)}: say which, as in "
                f"perplexity@{models[0]}."
            )
        known(model, models, "log-probabilities under the model")
        joined = study.outputs[["output_id"]].merge(
            logprobs[logprobs["model"] == model], on="output_id", how="left", validate="one_to_one"
        )
        with np.errstate(over="ignore"):  # past 1.8e308 it is infinite
            score = np.exp(-(joined["logprob"] / joined["n_tokens"]).to_numpy())
        how = f"exp(-logprob / n_tokens) under {model}|outputs:{len(score)}"
        how += f"|undefined:{np.isnan(score).sum()}|infinite:{np.isposinf(score).sum()}"
        how += "|direction:lower is better"
        evaluator = f"perplexity@{model}"
        score = np.where(np.isinf(score), np.nan, score)
        frames.append(joined[["output_id"]].assign(evaluator=evaluator, score=score, signature=how))
    return pd.concat(frames, ignore_index=True)
