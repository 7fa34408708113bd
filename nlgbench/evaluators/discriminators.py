"""Discriminators: classifiers that distinguish human from machine texts.

Every score is out of fold: the discriminator was not trained on the text that it scores.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import sklearn
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit
from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, StratifiedGroupKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight
from statsmodels.stats.proportion import proportion_confint

from nlgbench.arrays import Floats, Ints, Seed
from nlgbench.evaluators.names import DISCRIMINATOR
from nlgbench.evaluators.stored import stored
from nlgbench.names import known
from nlgbench.status import OK, Unsupported, explain, split_status
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.text import check_n

# A model's position here enters its seed, so don't reorder.
SHALLOW = ("svm", "naive_bayes", "random_forest", "xgboost", "logistic_regression")
DEEP = ("lstm", "cnn", "cnn_lstm")

_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_HUMAN = ""  # the stratum of human texts, whatever their system is called
_N_FEATURES = 20_000
_INNER_FOLDS = 3


def score_discriminators(
    study: Study,
    names: Sequence[str],
    *,
    options: Mapping[str, Mapping[str, Any]],
    n_jobs: int,
    keep: Path | None,
    seed: Seed,
) -> pd.DataFrame:
    """Score outputs with discriminators such as ``svm_meta@natural``: a row per name and output.

    A score is between 0 and 1; higher means more human. ``individual`` discriminators learn one
    system's texts and as many human ones, drawn in each fold; a human text's score is their mean.

    The method follows Garbacea et al. (2019, section 3.3.2, doi:10.18653/v1/D19-1409). Equal texts
    share a fold; folds are stratified by system and depend only on outputs and seed. Features mark
    n-grams (1 to 3) of lower-case words and punctuation marks: the 20,000 that occur in the most
    training texts, and in at least two. The SVM and logistic regression weight them by TF-IDF. A
    search maximizes balanced accuracy in three inner folds, if each class has six distinct texts.
    NaN where training texts have one class, no n-gram in two of them or, for a deep model, only one
    distinct text of a class.
    """
    base = int(np.random.default_rng(seed).integers(2**31))
    requests = {name: _parse_name(name, **options[name]) for name in names}
    kinds = {r.trained: "" for r in requests.values()} | {r.scored: "" for r in requests.values()}
    labels = {kind: _labels(study, kind) for kind in kinds if kind}
    texts_in = functools.cache(lambda n_folds: assign_folds(study.outputs, n_folds, base))

    def train(request: _Wanted) -> pd.DataFrame:
        """Score each fold's outputs with a model trained on the other folds."""
        texts = texts_in(request.n_folds)
        label = labels[request.trained].reindex(texts.output_id).to_numpy(np.float64)
        options = request.model, request.scope, request.search, base
        tasks = (
            delayed(score_fold)(texts, label, fold, *options) for fold in range(request.n_folds)
        )
        scores = np.full(len(label), np.nan)
        for fold, fold_scores in enumerate(Parallel(n_jobs=n_jobs)(tasks)):
            scores[texts.fold == fold] = fold_scores
        return pd.DataFrame({"output_id": texts.output_id, "score": scores})

    @functools.cache
    def out_of_fold(request: _Wanted) -> pd.DataFrame:
        label = labels[request.trained].reset_index()
        inputs = {"outputs": study.outputs, "labels": label, "seed": base, **request._asdict()}
        name = f"{request.model}-{request.scope}-{request.trained}"
        return stored(name, partial(train, request), inputs=inputs, folder=keep)

    frames = []
    for request in requests.values():
        score = study.outputs["output_id"].map(
            out_of_fold(request._replace(scored=None)).set_index("output_id")["score"]
        )
        if request.scored is not None:  # 1 where the classification is wrong
            label = study.outputs["output_id"].map(labels[request.scored])
            wrong = (score > 0.5).astype("float64").ne(label).astype("float64")
            score = wrong.where(label.notna() & score.notna())
        how = (
            f"{request.scope}, trained on {request.trained} labels; {request.n_folds} folds, equal "
            f"texts in one; seed {seed if isinstance(seed, int) else base}; scikit-learn "
            f"{sklearn.__version__}; {_describe_model(request.model, request.search)}"
        )
        evaluator = f"{request.model}_{request.scope}@{request.trained}"
        evaluator += f"/{request.scored}" if request.scored else ""
        frames.append(
            study.outputs[["output_id"]].assign(evaluator=evaluator, score=score, signature=how)
        )
    return pd.concat(frames, ignore_index=True)


class _Wanted(NamedTuple):
    """A requested discriminator: the parts of its name, and its options."""

    model: str
    scope: str
    trained: str
    scored: str | None
    search: int
    n_folds: int


def _parse_name(name: str, search: int, n_folds: int) -> _Wanted:
    """Parse a name and its options; raise ImportError if the model's packages are missing."""
    match = re.fullmatch(DISCRIMINATOR, name)
    assert match is not None  # the registry of `score` guarantees this
    model, scope, trained, scored = match.groups()
    if model == "xgboost":
        _boosted(0)
    elif model in DEEP:
        import nlgbench.training  # noqa: F401
    check_n(n_folds, "n_folds", 2)
    check_n(search, "search", 0)
    return _Wanted(model, scope, trained or "natural", scored, search, n_folds)


def _labels(study: Study, kind: str) -> pd.Series:
    """Return the labels of labeled outputs: 1 (human) or 0 (machine)."""
    known(kind, ["natural", "majority"], "labels")
    natural = study.outputs.set_index("output_id")["is_human"].astype("float64")
    labels = natural if kind == "natural" else majority_labels(study)
    if labels.nunique() < 2:
        raise Unsupported(
            "one_class",
            f"{kind} labels of {study.name} must include both 0 (machine) and 1 (human). Add "
            "outputs with the missing label.",
        )
    return labels


def majority_labels(study: Study) -> pd.Series:
    """Label outputs by the majority of their votes (1: human).

    As in H2 of Garbacea et al. (2019), ties are left out, and so are outputs whose number of votes
    is not the most common one.
    """
    dimension = study.dimension()
    votes = study.judgments
    assert votes is not None  # without judgments, there is no dimension
    votes = votes[votes["dimension"] == dimension]
    if not votes["value"].isin([0, 1]).all():
        raise Unsupported(
            "no_votes",
            f"majority labels need votes of 0 (machine) and 1 (human), but {dimension!r} of "
            f"{study.name} has other values. Use natural labels instead.",
        )
    vote_shares = votes.groupby("output_id")["value"].agg(["mean", "size"])
    share = vote_shares.loc[vote_shares["size"] == vote_shares["size"].mode().iloc[0], "mean"]
    share = share[share != 0.5]
    return (share > 0.5).astype("float64")


@checked
def discriminator_accuracy(
    study: Study,
    *,
    labels: Literal["natural", "majority"] = "natural",
    by: Literal["system", "class", "all"] = "system",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Measure how often discriminators classify texts correctly.

    Parameters
    ----------
    study : Study
        Your study, with scores of discriminators such as ``svm_meta@natural`` (from `score`).
    labels : {"natural", "majority"}
        The correct answers: human or machine (``natural``), or the majority of an output's votes
        (``majority``). Outputs without a label are excluded; their number is reported.
    by : {"system", "class", "all"}
        A row per ``system``, per ``class`` (human or machine texts), or for ``all`` texts.
    confidence : float
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per evaluator and system (``human``, ``machine`` or ``all`` where systems are pooled):
        evaluator, labels_trained (after the evaluator's @), labels_scored, system, is_human,
        estimate (the accuracy, 0 to 1; a score of exactly .5 counts as half), ci_low, ci_high,
        confidence, n (outputs), n_effective, n_unlabeled, n_undefined (labeled outputs without a
        score), status (a code; ``ok``), reason (its text: why accuracy is undefined).

    Raises
    ------
    ValueError
        If the study has no discriminator scores, votes are not 0 or 1, or all labels are equal.

    Notes
    -----
    Wilson's interval generalizes to other texts, for the discriminators as trained. Copies reduce
    the sample size to ``n_effective = n**2 / sum(m**2)``, where a distinct text occurs m times.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": ["1", "2", "3"], "system": ["human", "m", "m"]})
    >>> outputs = outputs.assign(item_id="i", text=["a", "b", "c"])
    >>> scores = outputs[["output_id"]].assign(evaluator="svm_meta@natural", score=[0.9, 0.2, 0.5])
    >>> found = discriminator_accuracy(Study(outputs, scores=scores))
    >>> found[["system", "estimate", "n"]].values.tolist()
    [['human', 1.0, 1], ['m', 0.75, 2]]
    """
    scores = study.scores
    if scores is not None and len(scores):
        is_one = scores["evaluator"].map(lambda name: "@" in name and "/" not in name)
        scores = scores[is_one & scores["evaluator"].str.fullmatch(DISCRIMINATOR)]
    if scores is None or scores.empty:
        raise Unsupported(
            "no_scores",
            f"{study.name} has no scores of discriminators. Run score(study, "
            "['svm_meta@natural']).",
        )
    outputs = study.outputs
    if by == "class":
        outputs = outputs.assign(system=np.where(outputs["is_human"], "human", "machine"))
    elif by == "all":
        outputs = outputs.assign(system="all")
    rows = outputs[["output_id", "system", "is_human", "text"]].assign(
        label=outputs["output_id"].map(_labels(study, labels)).astype("float64")
    )
    rows = scores[["evaluator"]].drop_duplicates().merge(rows, how="cross")
    values = scores.drop(columns="signature")
    rows = rows.merge(values, on=["output_id", "evaluator"], how="left", validate="one_to_one")
    verdict = np.where(rows["score"] == 0.5, 0.5, rows["score"] > 0.5)
    rows["right"] = np.where(rows["score"].isna(), np.nan, 1 - abs(verdict - rows["label"]))
    rows["unlabeled"] = rows["label"].isna()
    rows["undefined"] = rows["right"].isna() & ~rows["unlabeled"]
    keys = ["evaluator", "system"]
    copies = rows.dropna(subset="right").groupby([*keys, "text"]).size() ** 2
    table = rows.groupby(keys, sort=False).agg(
        is_human=("is_human", "all"),
        estimate=("right", "mean"),
        n=("right", "count"),
        n_unlabeled=("unlabeled", "sum"),
        n_undefined=("undefined", "sum"),
    )
    table["n_effective"] = table["n"] ** 2 / copies.groupby(keys).sum()
    table = table.fillna({"n_effective": 0.0}).reset_index()
    n = table["n_effective"].where(table["n"] > 0)
    low, high = proportion_confint(table["estimate"] * n, n, alpha=1 - confidence, method="wilson")
    trained = table["evaluator"].str.rpartition("@")[2]
    statuses = [OK if n > 0 else explain("unlabeled") for n in table["n"]]
    table = split_status(table.assign(status=pd.Series(statuses, dtype=object)))
    table = table.assign(labels_trained=trained, labels_scored=labels, ci_low=low, ci_high=high)
    columns = "evaluator labels_trained labels_scored system is_human estimate ci_low ci_high "
    columns += "confidence n n_effective n_unlabeled n_undefined status reason"
    return table.assign(confidence=confidence)[columns.split()]


class Texts(NamedTuple):
    """The outputs' ids, tokens, features, groups and folds, in the outputs' order."""

    output_id: pd.Series
    words: list[list[str]]
    presence: csr_matrix
    group: Ints  # equal for equal texts
    stratum: NDArray[Any]  # the system, "" for every human text
    fold: Ints


def assign_folds(outputs: pd.DataFrame, n_folds: int, seed: int) -> Texts:
    """Tokenize texts, extract n-grams, and assign folds."""
    group = pd.factorize(outputs["text"])[0]
    n_distinct = outputs.groupby("is_human")["text"].nunique().min()
    if n_distinct < n_folds:
        raise Unsupported(
            "few_texts",
            f"n_folds = {n_folds} exceeds the number of distinct texts in the smaller class (human "
            f"or machine): {n_distinct}. Reduce n_folds, or add outputs.",
        )
    tokens = [_WORD.findall(text.lower()) for text in outputs["text"]]
    stratum = np.where(outputs["is_human"], _HUMAN, outputs["system"])
    fold = np.empty(len(group), dtype=np.int64)
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A system may have fewer texts than folds; some folds then lack it, which is harmless.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for number, (_, held_out) in enumerate(splitter.split(group, stratum, group)):
            fold[held_out] = number
    return Texts(outputs["output_id"], tokens, ngram_presence(tokens), group, stratum, fold)


def score_fold(
    texts: Texts, label: Floats, fold: int, model: str, scope: str, search: int, base: int
) -> Floats:
    """Train on texts of other folds (1: human, 0: machine, NaN: unlabeled); score this fold's."""
    train, test = (texts.fold != fold) & ~np.isnan(label), texts.fold == fold
    systems = [_HUMAN] if scope == "meta" else sorted({*texts.stratum} - {_HUMAN})
    scores = np.full((len(systems), len(test)), np.nan)
    for number, system in enumerate(systems):
        rows, scored = np.flatnonzero(train), np.flatnonzero(test)
        if scope == "individual":
            of_system, human = texts.stratum == system, texts.stratum == _HUMAN
            # Draw as many human texts as the system has, or all if there are fewer.
            rows, human_rows = np.flatnonzero(train & of_system), np.flatnonzero(train & human)
            rng = np.random.default_rng([base, fold, number])
            sampled = rng.choice(human_rows, min(len(rows), len(human_rows)), replace=False)
            rows = np.sort(np.concatenate([rows, sampled]))
            scored = np.flatnonzero(test & (of_system | human))
        # One seed per model, so that its scores do not depend on which other models run.
        key = [base, fold, number, (*SHALLOW, *DEEP).index(model)]
        seed = int(np.random.default_rng(key).integers(2**31))
        if len(set(label[rows])) < 2:
            continue
        if model in DEEP:
            from nlgbench.evaluators.neural_discriminators import score_neural

            training, unseen = ([texts.words[n] for n in subset] for subset in (rows, scored))
            scores[number, scored] = score_neural(model, training, label[rows], unseen, seed=seed)
        else:
            learned = texts.presence[rows], label[rows], texts.presence[scored]
            scores[number, scored] = score_shallow(
                model, *learned, groups=texts.group[rows], search=search, seed=seed
            )
    return pd.DataFrame(scores).mean().to_numpy()[test]


def ngram_presence(texts: Sequence[Sequence[str]]) -> csr_matrix:
    """Mark which unigrams, bigrams and trigrams each text has; columns are sorted."""
    counter = CountVectorizer(
        tokenizer=list,
        preprocessor=list,
        token_pattern=None,
        ngram_range=(1, 3),
        binary=True,
        dtype=np.float64,
    )
    return counter.fit_transform(texts).tocsr()


def score_shallow(
    model: str,
    presence: csr_matrix,
    is_human: ArrayLike,
    unseen: csr_matrix,
    *,
    groups: ArrayLike,
    search: int = 0,
    seed: int,
) -> Floats:
    """Train a shallow discriminator on the presence of n-grams, and score unseen texts.

    `groups` are equal for equal texts, which stay in one fold of the search. Features come from the
    training texts alone. NaN where no n-gram occurs in two training texts.
    """
    human, group = np.asarray(is_human, dtype=np.int64), np.asarray(groups)
    n_texts_with = np.asarray(presence.sum(axis=0)).ravel()
    frequent = np.argsort(-n_texts_with, kind="stable")[:_N_FEATURES]
    chosen = np.sort(frequent[n_texts_with[frequent] >= 2])
    if not len(chosen):
        return np.full(unseen.shape[0], np.nan)
    estimator, distributions = _estimator(model, seed)
    last_step = estimator.steps[-1][0]
    if search and min(len(set(group[human == value])) for value in (0, 1)) >= 2 * _INNER_FOLDS:
        splitter = StratifiedGroupKFold(_INNER_FOLDS, shuffle=True, random_state=seed)
        estimator = RandomizedSearchCV(
            estimator,
            {f"{last_step}__{name}": values for name, values in distributions.items()},
            n_iter=search,
            scoring="balanced_accuracy",
            cv=list(splitter.split(human, human, group)),
            random_state=seed,
            error_score="raise",
        )
    weight = {f"{last_step}__sample_weight": compute_sample_weight("balanced", human)}
    estimator.fit(presence[:, chosen], human, **weight)
    if model == "svm":
        return np.asarray(expit(estimator.decision_function(unseen[:, chosen])), dtype=np.float64)
    return np.asarray(estimator.predict_proba(unseen[:, chosen])[:, 1], dtype=np.float64)


def _estimator(model: str, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return a pipeline, and the distributions that a search draws its settings from."""
    if model == "svm":
        svm = LinearSVC(max_iter=10_000, random_state=seed)
        return make_pipeline(TfidfTransformer(), svm), {"C": loguniform(0.01, 10)}
    if model == "logistic_regression":
        logistic = LogisticRegression(max_iter=1000)
        return make_pipeline(TfidfTransformer(), logistic), {"C": loguniform(0.01, 100)}
    if model == "naive_bayes":
        return make_pipeline(MultinomialNB()), {"alpha": loguniform(0.01, 10)}
    if model == "random_forest":
        distributions = {"min_samples_leaf": randint(1, 6), "max_features": loguniform(0.002, 0.05)}
        return make_pipeline(RandomForestClassifier(random_state=seed)), distributions
    distributions = {
        "n_estimators": randint(50, 201),
        "learning_rate": loguniform(0.03, 0.5),
        "max_depth": randint(2, 9),
        "subsample": uniform(0.5, 0.5),
        "colsample_bytree": uniform(0.2, 0.8),
    }
    return make_pipeline(_boosted(seed)), distributions


def _boosted(seed: int) -> Any:
    """Make a single-threaded XGBoost classifier, or name the missing extra."""
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise ImportError(
            "The model xgboost needs a package that is not installed. Run "
            "pip install 'nlgbench[boosting]', or remove xgboost from the evaluators."
        ) from error
    # Features are binary, so a few bins suffice.
    return XGBClassifier(n_jobs=1, max_bin=4, random_state=seed)


def _describe_model(model: str, search: int) -> str:
    """Describe how a discriminator is made, for signatures."""
    if model in DEEP:
        from nlgbench.evaluators.neural_discriminators import SETTINGS

        return SETTINGS
    features = "TF-IDF of presence" if model in ("svm", "logistic_regression") else "presence"
    score = "logistic function of the margin" if model == "svm" else "probability of human"
    return (
        f"{features} of 1-3-grams, at most {_N_FEATURES} by document frequency; random search of "
        f"{search} draws; balanced by weights; {score}, not calibrated"
    )
