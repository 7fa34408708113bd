"""Perplexity of outputs, from a language model's log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nlgbench.names import known
from nlgbench.status import Unsupported
from nlgbench.study import Study


def score_perplexity(study: Study, names: Sequence[str]) -> pd.DataFrame:
    """Score each output by its perplexity under one model; at least 1, and **lower is better**.

    ``perplexity@m`` is ``exp(-logprob / n_tokens)`` of one output under model m of ``logprobs``;
    plain ``perplexity`` uses the only model. Perplexities under different vocabularies are not
    comparable. NaN where the log-probability is missing, or the text has probability 0, which the
    signature counts. If most texts have words that a small model does not know, use
    log-probabilities of known words (`RecurrentModel.logprob_known`).
    """
    logprobs = study.logprobs
    assert logprobs is not None  # the registry of `score` guarantees this
    models = [str(model) for model in logprobs["model"].unique()]
    frames = []
    for name in names:
        model = name.partition("@")[2] or (models[0] if len(models) == 1 else "")
        if not model:
            raise Unsupported(
                "several_models",
                f"{study.name} has log-probabilities of several models: {', '.join(models)}. Name "
                f"one, such as perplexity@{models[0]}.",
            )
        known(model, models, "models with log-probabilities")
        joined = study.outputs[["output_id"]].merge(
            logprobs[logprobs["model"] == model], on="output_id", how="left", validate="one_to_one"
        )
        with np.errstate(over="ignore"):  # above 1.8e308 it overflows to infinity
            score = np.exp(-(joined["logprob"] / joined["n_tokens"]).to_numpy())
        how = f"exp(-logprob / n_tokens) under {model}|outputs:{len(score)}"
        how += f"|undefined:{np.isnan(score).sum()}|infinite:{np.isposinf(score).sum()}"
        how += "|direction:lower is better"
        evaluator = f"perplexity@{model}"
        score = np.where(np.isinf(score), np.nan, score)
        frames.append(joined[["output_id"]].assign(evaluator=evaluator, score=score, signature=how))
    return pd.concat(frames, ignore_index=True)
