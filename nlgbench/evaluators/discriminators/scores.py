"""Discriminators: classifiers that tell human from machine texts, and what they say of each.

Every score is out of fold: the discriminator that gives it was not trained on the text.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import sklearn
from joblib import Parallel, delayed
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from nlgbench import tables
from nlgbench.evaluators.discriminators.out_of_fold import DEEP, deal, score_fold
from nlgbench.evaluators.discriminators.shallow import SHALLOW, boosted, describe
from nlgbench.names import did_you_mean

Floats = NDArray[np.float64]


def score_discriminators(
    outputs: pd.DataFrame,
    labels: pd.Series | None = None,
    *,
    models: Sequence[str] = SHALLOW,
    labels_trained: str = "natural",
    scope: Literal["meta", "individual"] = "meta",
    n_folds: int = 10,
    search: int = 0,
    n_jobs: int = 1,
    seed: int | np.random.Generator,
    progress: Callable[[int, int], object] | None = None,
) -> pd.DataFrame:
    """Score every output by discriminators that were trained on the other folds.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset, with human and machine texts.
    labels : Series, optional
        What to train on: 1 (human) or 0 (machine), by ``output_id``. Outputs without one are
        scored, not trained on. Default: ``is_human``.
    models : sequence of str
        Shallow ones: svm (linear), naive_bayes (multinomial), random_forest, xgboost (extra
        ``boosting``), logistic_regression. Deep ones (extra ``neural``): lstm, cnn, cnn_lstm.
    labels_trained : str
        A name for `labels`, such as ``majority``; ``natural`` where it is left out.
    scope : {"meta", "individual"}
        ``"meta"``: one discriminator for all. ``"individual"``: one per system, trained on its
        texts and as many human ones, drawn anew in each fold.
    n_folds : int
        Folds, 2 or more. They depend on `outputs` and `seed` alone, so all models, labels and
        scopes are compared on the same ones.
    search : int
        Draws of a random search of hyper-parameters in each training fold; 0: the libraries'
        defaults. Deep models are not searched.
    n_jobs : int
        Folds that run at once, as in joblib.
    seed : int or Generator
        Where the random numbers come from.
    progress : callable, optional
        Called after each fold with how many are done, and of how many.

    Returns
    -------
    DataFrame
        A ``scores`` table; a row per output and model. ``evaluator`` reads
        ``svm_meta@natural``: what follows @ names the labels trained on. ``score`` lies between 0
        and 1, higher meaning more human; NaN where the training fold had texts of one class only,
        no n-gram twice, or for a deep model, only one distinct text of a class.

    Raises
    ------
    ValueError
        When a name is unknown, a number out of range, labels are no 0 or 1, or a class has fewer
        distinct texts than there are folds.
    ImportError
        When a model's extra is missing; it names it.

    Notes
    -----
    After Garbacea et al. (2019, section 3.3.2, doi:10.18653/v1/D19-1409): unigrams, bigrams and
    trigrams, random search, balanced classes. Their training set was not released.

    Equal texts share a fold; folds are stratified by system, human texts being one. Features are
    the presence of an n-gram of words and punctuation marks, in lower case; the 20,000 in the
    most training texts of the fold, and in two at least. The SVM and logistic regression weigh
    them by TF-IDF. Searches split the training fold by three, again grouped by text, for the
    greatest balanced accuracy; where a class has fewer than six distinct texts there, defaults
    are used.

    Texts are weighed so that both classes weigh the same. Scores are probabilities by the
    model's own account, not calibrated; the SVM's is the logistic function of its margin. An
    individual score of a human text is the mean over the systems' discriminators.

    Examples
    --------
    >>> texts = [f"good {n}" for n in range(20)] + [f"bad {n}" for n in range(20)]
    >>> outputs = pd.DataFrame({"output_id": [str(n) for n in range(40)], "text": texts})
    >>> outputs["is_human"] = outputs["text"].str.startswith("good")
    >>> outputs["system"] = outputs["is_human"].map({True: "human", False: "m"})
    >>> outputs = outputs.assign(dataset="d", item_id="i", context="")
    >>> scores = score_discriminators(outputs, models=["svm"], n_folds=5, seed=0)
    >>> scores["evaluator"].iloc[0], bool(scores["score"][0] > 0.5)
    ('svm_meta@natural', True)
    """
    outputs = _one_dataset(outputs)
    _check(models, labels, labels_trained, scope, n_folds, search)
    label = _labels_of(outputs, labels)
    base = int(np.random.default_rng(seed).integers(2**31))
    texts = deal(outputs, label, n_folds, base)
    tasks = (
        delayed(score_fold)(texts, fold, tuple(models), scope, search, base)
        for fold in range(n_folds)
    )
    scores = np.full((len(models), len(outputs)), np.nan)
    for fold, found in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(tasks)):
        scores[:, texts.fold == fold] = found
        if progress is not None:
            progress(fold + 1, n_folds)
    settings = f"{scope}, trained on {labels_trained} labels; {n_folds} folds, equal texts in one"
    settings += f"; seed {seed if isinstance(seed, int) else base}; scikit-learn "
    settings += sklearn.__version__
    frames = [
        outputs[["dataset", "output_id"]].assign(
            evaluator=f"{model}_{scope}@{labels_trained}",
            score=row,
            signature=f"{settings}; {_signature(model, search)}",
        )
        for model, row in zip(models, scores, strict=True)
    ]
    return tables.check(pd.concat(frames), "scores")


def discriminator_accuracy(
    outputs: pd.DataFrame,
    scores: pd.DataFrame,
    labels: pd.Series | None = None,
    *,
    labels_scored: str = "natural",
    threshold: float = 0.5,
    level: float = 0.95,
) -> pd.DataFrame:
    """Say how often discriminators are right about each system's texts.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset. Rows are grouped by its ``system``: for all machine
        texts together, give them one name.
    scores : DataFrame
        A ``scores`` table, as `score_discriminators` returns it.
    labels : Series, optional
        What is right: 1 (human) or 0 (machine), by ``output_id``; outputs without one are left
        out, and counted. Default: ``is_human``.
    labels_scored : str
        A name for `labels`; ``natural`` where it is left out.
    threshold : float
        A higher score says human, a lower one machine; one equal to it counts half.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per evaluator and system: dataset, evaluator, labels_trained (after the @ of its
        name), labels_scored, system, is_human (of all its texts), accuracy (0 to 1; for a
        system, lower means that it is taken for human more often, where labels are natural),
        ci_low, ci_high, level, n (outputs), n_effective, n_unlabeled, n_undefined (outputs with a
        label, without a score), threshold, reason (why there is no accuracy, or "").

    Raises
    ------
    ValueError
        When labels are no 0 or 1, an evaluator's name has no @, or scores are of other outputs.

    Notes
    -----
    The interval is Wilson's, for the discriminators as they were trained: how they would differ
    after training on other texts is left out. Equal texts get equal scores, so they count as
    one: ``n_effective = n**2 / sum(m**2)`` over distinct texts that occur m times (Kish 1965,
    *Survey Sampling*), as if their labels were equal too.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["1", "2", "3"], "system": ["h", "m", "m"]})
    >>> outputs["is_human"] = outputs["system"] == "h"
    >>> outputs = outputs.assign(dataset="d", item_id="i", context="", text=["a", "b", "c"])
    >>> scores = outputs[["dataset", "output_id"]].assign(evaluator="svm_meta@natural")
    >>> scores = scores.assign(score=[0.9, 0.2, 0.5], signature="")
    >>> discriminator_accuracy(outputs, scores)[["system", "accuracy", "n"]].values.tolist()
    [['h', 1.0, 1], ['m', 0.75, 2]]
    """
    outputs = _one_dataset(outputs)
    scores = tables.check(scores, "scores")
    _check_named(labels, labels_scored, "labels_scored")
    known = scores["output_id"].isin(outputs["output_id"])
    known &= scores["dataset"].isin(outputs["dataset"])
    if not known.all() or not scores["evaluator"].str.contains("@", regex=False).all():
        raise ValueError(
            "scores must be of these outputs, and each evaluator's name tell the labels that it "
            f"was trained on, as svm_meta@natural. {int((~known).sum())} scores are of other "
            f"outputs; evaluators: {', '.join(scores['evaluator'].unique())}."
        )
    rows = outputs[["dataset", "output_id", "system", "is_human", "text"]].assign(
        label=_labels_of(outputs, labels)
    )
    rows = scores[["evaluator"]].drop_duplicates().merge(rows, how="cross")
    rows = rows.merge(
        scores.drop(columns="signature"),
        on=["dataset", "output_id", "evaluator"],
        how="left",
        validate="one_to_one",
    )
    says = np.where(rows["score"] == threshold, 0.5, rows["score"] > threshold)
    rows["right"] = np.where(rows["score"].isna(), np.nan, 1 - abs(says - rows["label"]))
    found = [
        {
            "dataset": outputs["dataset"].iloc[0],
            "evaluator": evaluator,
            "labels_trained": str(evaluator).rpartition("@")[2],
            "labels_scored": labels_scored,
            "system": system,
            "is_human": bool(own["is_human"].all()),
            **_accuracy(own, level),
            "threshold": threshold,
        }
        for (evaluator, system), own in rows.groupby(["evaluator", "system"], sort=False)
    ]
    reason = {True: "no output has both a label and a score", False: ""}
    table = pd.DataFrame(found)
    return table.assign(reason=table["n"].eq(0).map(reason))


def _accuracy(rows: pd.DataFrame, level: float) -> dict[str, float]:
    used = rows.dropna(subset="right")
    n, accuracy = len(used), used["right"].mean()
    n_effective, low, high = 0.0, np.nan, np.nan
    if n:
        n_effective = n**2 / float((used["text"].value_counts() ** 2).sum())
        low, high = proportion_confint(
            accuracy * n_effective, n_effective, alpha=1 - level, method="wilson"
        )
    return {
        "accuracy": accuracy,
        "ci_low": low,
        "ci_high": high,
        "level": level,
        "n": n,
        "n_effective": n_effective,
        "n_unlabeled": int(rows["label"].isna().sum()),
        "n_undefined": int((rows["score"].isna() & rows["label"].notna()).sum()),
    }


def _one_dataset(outputs: pd.DataFrame) -> pd.DataFrame:
    outputs = tables.check(outputs, "outputs")
    datasets = outputs["dataset"].unique()
    if len(datasets) != 1:
        raise ValueError(
            f"outputs must hold one dataset. Got {len(datasets)}: filter, as in "
            "outputs[outputs['dataset'] == ...]."
        )
    return outputs


def _check(
    models: Sequence[str],
    labels: pd.Series | None,
    labels_trained: str,
    scope: str,
    n_folds: int,
    search: int,
) -> None:
    models_there, scopes = (*SHALLOW, *DEEP), ("meta", "individual")
    for name, choices in [*((model, models_there) for model in models), (scope, scopes)]:
        if name not in choices:
            hint = did_you_mean(name, choices)
            raise ValueError(f"{name!r} is unknown.{hint} There are: {', '.join(choices)}.")
    if not models or len(set(models)) != len(models):
        raise ValueError(f"models must name one at least, and each once. Got {list(models)}.")
    if n_folds < 2 or search < 0:
        raise ValueError(f"n_folds must be 2 or more, search 0 or more. Got {n_folds}, {search}.")
    _check_named(labels, labels_trained, "labels_trained")
    if "xgboost" in models:
        boosted(0)
    if set(models) & set(DEEP):
        import nlgbench.training  # noqa: F401  (its message, before anything is trained)


def _check_named(labels: pd.Series | None, name: str, what: str) -> None:
    if (labels is None) != (name == "natural"):
        raise ValueError(
            f"{what} = {name!r} names the labels: give both it and labels, or neither (then they "
            "are is_human, and named 'natural')."
        )


def _labels_of(outputs: pd.DataFrame, labels: pd.Series | None) -> Floats:
    """Return 1, 0, or NaN where an output has no label."""
    if labels is None:
        labels = outputs.set_index("output_id")["is_human"]
    given = labels.dropna().astype(np.float64)
    wrong = given.index[given.index.duplicated() | ~given.isin([0.0, 1.0])]
    if len(wrong):
        raise ValueError(f"labels must be 0 or 1, one for an output_id. Mend {list(wrong[:5])}.")
    found = np.asarray(outputs["output_id"].map(given), dtype=np.float64)
    if set(found[~np.isnan(found)]) != {0.0, 1.0}:
        raise ValueError(
            "labels must hold both 0 and 1 for these outputs: their index must be output_id, as "
            f"{outputs['output_id'].iloc[0]!r}; or human or machine outputs are missing."
        )
    return found


def _signature(model: str, search: int) -> str:
    if model in SHALLOW:
        return describe(model, search=search)
    from nlgbench.evaluators.discriminators.neural import SETTINGS

    return SETTINGS
