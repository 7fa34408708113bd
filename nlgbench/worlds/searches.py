"""Small language models for model selection: hyperparameter searches, and training checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.random import Generator

from nlgbench.arrays import Seed
from nlgbench.generators.reviews import review_grammar
from nlgbench.study import Study, from_rows
from nlgbench.text import text_key
from nlgbench.worlds.annotators import draw_annotators, judge, typicality_of
from nlgbench.worlds.quality import true_quality
from nlgbench.worlds.tables import crossed_rows


@dataclass(frozen=True, eq=False)
class Searches:
    """Candidate models, and training data for evaluators."""

    #: A row per checkpoint: system, model, progress (share of training completed), perplexity (on
    #: held-out human texts), group (of candidates), kind (search, stopping, development), and its
    #: settings.
    models: pd.DataFrame
    #: ``outputs`` of the candidate models, with group.
    to_judge: pd.DataFrame
    #: Human texts, and machine texts with judgments; it shares no text with the candidate models.
    #: ``related["human"]`` has all human texts, as references.
    training: Study
    #: Texts of development models' checkpoints, for weak supervision.
    checkpoints: pd.DataFrame | None
    #: `models` with quality (mean, nats per token), se, copied (share of texts found in training).
    truth: pd.DataFrame | None
    #: Number of texts left out of training.
    n_left_out: int


def simulate_searches(
    *,
    n_groups: int = 10,
    n_choices: int = 5,
    n_sentences: int = 200,
    n_checkpoints: int = 20,
    n_judged: int = 60,
    n_truth: int = 240,
    n_jobs: int = 2,
    seed: Seed = 0,
) -> Searches:
    """Train small recurrent models on simulated reviews, with known true quality.

    There are `n_groups` searches over `n_choices` random settings, and two kinds of training runs
    with a checkpoint per epoch, `n_groups` of each: ``stopping``, and ``overfitting``, whose
    quality rises and then falls. The latter learn half as many texts without dropout, and two words
    of each text are exchanged; at temperature 0.5, their early checkpoints write what the texts
    share, later ones the errors that they have memorized. Evaluators are trained on 400 texts of
    four development models, rated by 20 annotators. The truth is the mean of `n_truth` further
    texts' log-probability per token under the grammar; texts outside the grammar count as -2.85.
    """
    from nlgbench.generators.checkpoints import UNITS, random_settings

    rng = np.random.default_rng(seed)
    grammar = review_grammar()
    dev, human = grammar.sample(300, seed=rng), grammar.sample(600, seed=rng)
    jobs: list[dict[str, Any]] = []
    for kind, n_models, last in (
        ("search", n_choices, 1),
        ("stopping", 1, n_checkpoints),
        ("overfitting", 1, n_checkpoints),
    ):
        for group in range(1, n_groups + 1):
            texts = grammar.sample(n_sentences, seed=rng)
            settings, temperature = random_settings(n_models, seed=rng), 1.0
            if kind != "search":
                settings["epochs"] = n_checkpoints
            if kind == "overfitting":
                texts = [_exchange_words(text, rng) for text in texts[: n_sentences // 2]]
                settings, temperature = settings.assign(units=max(UNITS), dropout=0.0), 0.5
            for number, setting in enumerate(settings.to_dict("records"), start=1):
                name = f"{kind}{group:02d}"
                names = {"group": name, "model": f"{name}.{number}", "n_checkpoints": last}
                job = {"texts": texts, "settings": setting, "temperature": temperature}
                jobs.append(job | names)
    for number in range(1, 5):
        setting = random_settings(1, seed=rng).assign(epochs=20).to_dict("records")[0]
        names = {"group": "development", "model": f"development{number}", "n_checkpoints": 10}
        jobs.append({"texts": grammar.sample(n_sentences, seed=rng), "settings": setting, **names})
    of_training = {job["group"]: {*job["texts"]} for job in jobs}
    written, models = _train(jobs, dev, n_judged + n_truth, n_jobs, rng)
    nth = written["item_id"].str[1:].astype("int64")
    judged, others_texts = written[nth <= n_judged], written[nth > n_judged]
    truth = _truth(models, others_texts, of_training)
    is_development = judged["group"] == "development"
    to_judge = judged[~is_development].reset_index(drop=True)
    steps = _unseen(judged[is_development].drop(columns=["group"]), to_judge)
    panel = draw_annotators(20, seed=rng)
    rated = steps.iloc[rng.permutation(len(steps))[:400]]
    ratings = judge(panel, typicality_of(rated["text"].tolist()), seed=rng)
    judgments = crossed_rows(rated["output_id"], ratings, "typicality")
    training = _training(steps, judgments, human, to_judge)
    n_left_out = int(is_development.sum()) - len(steps) + _n_lost(human, training)
    return Searches(models, to_judge, training, steps, truth, n_left_out)


def _exchange_words(text: str, rng: Generator) -> str:
    """Exchange two words at random places, which almost always violates the grammar."""
    tokens = text.split()
    first, second = rng.choice(len(tokens), 2, replace=False)
    tokens[first], tokens[second] = tokens[second], tokens[first]
    return " ".join(tokens)


def count_falls(truth: pd.DataFrame, kind: str) -> tuple[int, int]:
    """Count the training runs that end two standard errors or more below their best checkpoint.

    The second number is that of all runs of the kind; the standard error is that of the difference.
    """
    runs = truth[truth["kind"] == kind].sort_values("progress").groupby("model")
    last = runs[["quality", "se"]].last()
    best = truth.loc[runs["quality"].idxmax()].set_index("model").loc[last.index]
    falls = best["quality"] - last["quality"] >= 2 * np.hypot(best["se"], last["se"])
    return int((falls & (best["progress"] < 1)).sum()), len(last)


def stop_one_model(
    study: Study, *, n_checkpoints: int = 20, n_judged: int = 60, seed: Seed = 0
) -> Searches:
    """Train one language model on the human texts of a study, with checkpoints for early stopping.

    The study's texts must not depend on contexts. Training uses a thousand human texts (three
    fifths if there are few), perplexity uses 300 (one fifth), and evaluators train on the rest.
    """
    rng = np.random.default_rng(seed)
    written = study.outputs[study.outputs["is_human"]].drop_duplicates("text")
    order = rng.permutation(len(written))
    texts = [" ".join(text.split()) for text in written["text"].iloc[order]]
    n, n_dev = min(1_000, 3 * len(texts) // 5), min(300, len(texts) // 5)
    sentences, dev, human = texts[:n], texts[n : n + n_dev], texts[n + n_dev :]
    # Conventional sizes, not tuned; words that occur in only one text are outside the vocabulary.
    setting = {"units": 128, "learning_rate": 0.005, "epochs": n_checkpoints, "min_count": 2}
    names = {"group": "stopping", "model": "lstm", "n_checkpoints": n_checkpoints}
    jobs = [{"texts": sentences, "settings": setting, **names}]
    to_judge, models = _train(jobs, dev, n_judged, 1, rng)
    machine = study.outputs[~study.outputs["is_human"]]
    new = _unseen(machine, to_judge)
    assert study.judgments is not None
    judgments = study.judgments[study.judgments["output_id"].isin(new["output_id"])]
    training = _training(new, judgments, human, to_judge)
    n_left_out = len(machine) - len(new) + _n_lost(human, training)
    return Searches(models, to_judge, training, None, None, n_left_out)


def _train(
    jobs: list[dict[str, Any]], dev: list[str], n: int, n_jobs: int, rng: Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train models, longest first; return checkpoints' texts, and a row per checkpoint."""
    from nlgbench.generators.checkpoints import train_and_write

    jobs.sort(key=lambda job: -job["n_checkpoints"])
    groups = [job.pop("group") for job in jobs]
    written = Parallel(n_jobs=min(n_jobs, len(jobs)))(
        delayed(train_and_write)(**job, dev=dev, n=n, seed=model_seed)
        for job, model_seed in zip(jobs, rng.spawn(len(jobs)), strict=True)
    )
    tables = [table.assign(group=group) for group, table in zip(groups, written, strict=True)]
    columns = ["system", "model", "progress", "perplexity", "group"]
    models = pd.concat(
        table[columns].drop_duplicates(ignore_index=True).assign(**job["settings"])
        for job, table in zip(jobs, tables, strict=True)
    )
    kind = models["group"].str.rstrip("0123456789")
    return pd.concat(tables, ignore_index=True), models.assign(kind=kind)


def _truth(
    models: pd.DataFrame, texts: pd.DataFrame, of_training: Mapping[str, set[str]]
) -> pd.DataFrame:
    values = texts.assign(quality=true_quality(texts["text"].tolist()))
    of_system = values.groupby("system", sort=False)["quality"].agg(quality="mean", se="sem")
    truth = models.merge(of_system.reset_index(), on="system", validate="one_to_one")
    pairs = zip(texts["text"], texts["group"], strict=True)
    is_copy = pd.Series([text in of_training[group] for text, group in pairs], texts["system"])
    return truth.assign(copied=truth["system"].map(is_copy.groupby(level=0).mean()))


def _unseen(outputs: pd.DataFrame, to_judge: pd.DataFrame) -> pd.DataFrame:
    """Remove texts that a candidate model also wrote."""
    candidates = set(to_judge["text"].map(text_key))
    return outputs[~outputs["text"].map(text_key).isin(candidates)]


def _training(
    machine: pd.DataFrame, judgments: pd.DataFrame, human: list[str], to_judge: pd.DataFrame
) -> Study:
    written = pd.DataFrame({"text": human, "system": "human", "is_human": True, "context": ""})
    new = _unseen(written.drop_duplicates("text", ignore_index=True), to_judge)
    outputs = pd.concat([_numbered(new), machine], ignore_index=True).assign(context="")
    return from_rows(
        outputs=outputs,
        judgments=judgments,
        name="training",
        settings={"quality": str(judgments["dimension"].iloc[0])},
        related={"human": from_rows(outputs=_numbered(written), name="human")},
    )


def _numbered(written: pd.DataFrame) -> pd.DataFrame:
    ids = [f"human_{n:04d}" for n in range(len(written))]
    return written.assign(output_id=ids, item_id=ids)


def _n_lost(human: list[str], training: Study) -> int:
    return len(set(human)) - int(training.outputs["is_human"].sum())
