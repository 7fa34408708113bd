"""A learned regressor of human judgments: the part that ADEM plays in Learning to Compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nlgbench import schema
from nlgbench.evaluators.comparator.backends import Floats, fit_vectorizer
from nlgbench.evaluators.comparator.comparisons import refuse_seen
from nlgbench.evaluators.comparator.splits import one_dataset
from nlgbench.names import did_you_mean

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

BACKENDS = ("frozen", "tfidf")

#: Among these leave-one-out chooses the penalty: two per power of ten.
PENALTIES = np.logspace(-2, 6, 17)


@dataclass(frozen=True, eq=False)
class Regressor:
    """A trained regressor.

    Attributes
    ----------
    name : str
        Such as ``regressor_frozen@quality``: the backend, and after @ the dimension it predicts.
    predict : callable
        From an ``outputs`` table and the ``references`` table (or None) to a prediction of each
        output; NaN where it needs a reference and there is none.
    seen : frozenset of str
        The texts that it was trained on.
    uses_references : bool
        Whether it needs references.
    signature : str
        How it was made.
    """

    name: str
    predict: Callable[[pd.DataFrame, pd.DataFrame | None], Floats]
    seen: frozenset[str]
    uses_references: bool
    signature: str


def train_regressor(
    outputs: pd.DataFrame,
    judgments: pd.DataFrame,
    references: pd.DataFrame | None = None,
    *,
    dimension: str,
    backend: Literal["frozen", "tfidf"] = "frozen",
    encoder: Encoder | str | None = None,
    seed: int | np.random.Generator,
) -> Regressor:
    """Train a regressor of outputs' mean judgments.

    Parameters
    ----------
    outputs : DataFrame
        The ``outputs`` table of one dataset; training texts only.
    judgments : DataFrame
        The ``judgments`` table. Outputs without judgments of the dimension are left out.
    references : DataFrame, optional
        The ``references`` table: how near an output is to its item's references is then a feature,
        and outputs whose item has none with words are left out. A reference whose ``reference_id``
        is the ``output_id`` is the output itself, and is not among its references.
    dimension : str
        Which dimension of judgments is predicted.
    backend : {"frozen", "tfidf"}
        ``"frozen"``: embeddings from a frozen encoder. ``"tfidf"``: TF-IDF; it needs no extra.
    encoder : Encoder or str, optional
        As in `comparator.train_comparator`. Not for ``"tfidf"``.
    seed : int or Generator
        Of no effect, because nothing is drawn: it is here so that all evaluators are trained by one
        call.

    Returns
    -------
    Regressor
        For `score_regressor`.

    Raises
    ------
    ValueError
        When a name is unknown, or there is nothing to learn from.
    TableError
        When a table breaks its rules.
    ImportError
        Without an extra that the backend needs; it names it.

    Notes
    -----
    ADEM (Lowe et al. 2017, doi:10.18653/v1/P17-1103) scores a response r^, given a context c and a
    reference r, by ``(c' M r^ + r' N r^ - alpha) / beta``, with M and N learned on the vectors of
    an encoder that was trained on dialogues before. Neither its code nor its weights are used
    here: this is a plain regressor in its place.

    Ridge regression of each output's mean judgment, every output with the same weight, on the
    text's vector, its elementwise product with the context's and, where references are given, with
    the mean vector of the references: so M and N are diagonal, and a linear term in the text is
    added, for texts that answer to nothing. Embeddings are cut and normalized as in
    `encoder.embed`, and features standardized on the training texts; TF-IDF is as in
    `backends.fit_tfidf`, not standardized.

    The penalty, of `PENALTIES`, is the one with the least squared error when each training output
    in turn is left out. Texts that repeat, or share a context, are not left out together, so it
    may be too small. On TF-IDF the products are small beside the vector itself, and the penalty
    all but silences them: on multi-reference DailyDialog references changed nothing there, while
    with embeddings the Spearman correlation with ratings of held-out outputs rose from .43 to .48
    (means of five splits).

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False, "system": "m"}
    >>> texts = [f"good {n}" for n in "abcd"] + [f"bad {n}" for n in "abcd"]
    >>> outputs = pd.DataFrame([{**row, "output_id": text, "text": text} for text in texts])
    >>> judged = outputs[["dataset", "output_id"]].assign(annotator_id="w", dimension="quality")
    >>> judged = judged.assign(value=outputs["text"].str.startswith("good") * 4.0, group_id="")
    >>> regressor = train_regressor(outputs, judged, dimension="quality", backend="tfidf", seed=0)
    >>> new = outputs.iloc[[0, 4]].assign(text=["good e", "bad e"])
    >>> score_regressor(regressor, new)[["evaluator", "score"]].round(1).to_numpy().tolist()
    [['regressor_tfidf@quality', 4.8], ['regressor_tfidf@quality', -0.8]]
    """
    table = _judged(outputs, judgments, dimension)
    if backend not in BACKENDS:
        hint = did_you_mean(backend, BACKENDS)
        raise ValueError(f"no backend {backend!r}.{hint} There are: {', '.join(BACKENDS)}.")
    if backend == "tfidf" and encoder is not None:
        raise ValueError("backend 'tfidf' has no encoder: leave it out, or take 'frozen'.")
    if references is not None:
        weights, _ = _mean_of_references(table, references)
        table = table[np.diff(weights.indptr) > 0].reset_index(drop=True)
    quality = table.pop("mean").to_numpy()
    if len(np.unique(quality)) < 2:
        raise ValueError(
            f"{len(quality)} outputs have judgments of {dimension!r}"
            f"{' and references' if references is not None else ''}, with "
            f"{len(np.unique(quality))} different means: there is nothing to learn from. Check "
            "that judgments and references are of these outputs."
        )
    vectors: Callable[[list[str]], Any]
    if backend == "tfidf":
        vectorizer = fit_vectorizer(table["text"].unique())
        model = make_pipeline(RidgeCV(PENALTIES))

        def vectors(texts: list[str]) -> Any:
            return sparse.csr_array(vectorizer.transform(texts))

        made = f"scikit-learn {sklearn.__version__}"
    else:
        from nlgbench.evaluators.comparator import encoder as neural

        loaded = encoder if isinstance(encoder, neural.Encoder) else neural.load_encoder(encoder)
        model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))

        def vectors(texts: list[str]) -> Any:
            return neural.embed(loaded, texts).astype(np.float64)

        made = f"{loaded.signature}; scikit-learn {sklearn.__version__}"
    features, _ = _features(vectors, table, references)
    model.fit(features, quality)

    def predict(outputs: pd.DataFrame, references: pd.DataFrame | None) -> Floats:
        features, defined = _features(vectors, outputs, references)
        return np.where(defined, model.predict(features), np.nan)

    name = f"regressor_{backend}{'' if references is None else '_references'}@{dimension}"
    on = "text, text x context" + ("" if references is None else ", text x mean reference")
    return Regressor(
        name=name,
        predict=predict,
        seen=frozenset(table["text"]),
        uses_references=references is not None,
        signature=f"{name}, not ADEM itself: ridge regression of the mean judgment of "
        f"{len(table):,} outputs on {on}; penalty {model[-1].alpha_:.3g}, by leave-one-out; {made}",
    )


def score_regressor(
    regressor: Regressor, outputs: pd.DataFrame, references: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Score each output by a regressor.

    Parameters
    ----------
    regressor : Regressor
        From `train_regressor`.
    outputs : DataFrame
        The ``outputs`` table of one dataset.
    references : DataFrame, optional
        The ``references`` table, where the regressor was trained with references.

    Returns
    -------
    DataFrame
        A ``scores`` table: the predicted mean judgment, in the judgments' unit; higher is better
        where it is so for these. It is not cut at the ends of their scale.
        NaN where the regressor needs references and the item has none with words.

    Raises
    ------
    ValueError
        When a text was seen in training, or references lack or are of no use.
    TableError
        When a table breaks its rules.

    Examples
    --------
    As in `train_regressor`.
    """
    outputs = one_dataset(outputs)
    refuse_seen(regressor.name, regressor.seen, outputs)
    if regressor.uses_references and references is None:
        raise ValueError(f"{regressor.name} was trained with references: give them here, too.")
    if not regressor.uses_references and references is not None:
        raise ValueError(f"{regressor.name} was trained without references: leave them out.")
    scores = outputs[["dataset", "output_id"]].assign(evaluator=regressor.name)
    scores["score"] = regressor.predict(outputs, references)
    return schema.check(scores.assign(signature=regressor.signature), "scores")


def _judged(outputs: pd.DataFrame, judgments: pd.DataFrame, dimension: str) -> pd.DataFrame:
    """Return the outputs that have judgments of a dimension, with their means."""
    table, judgments = one_dataset(outputs), schema.check(judgments, "judgments")
    dimensions = list(judgments["dimension"].unique())
    if dimension not in dimensions:
        hint = did_you_mean(dimension, dimensions)
        raise ValueError(f"no dimension {dimension!r}.{hint} There are: {', '.join(dimensions)}.")
    chosen = judgments[judgments["dimension"] == dimension]
    mean = chosen.groupby(["dataset", "output_id"])["value"].mean().rename("mean")
    return table.join(mean, on=["dataset", "output_id"], how="inner").reset_index(drop=True)


def _mean_of_references(
    outputs: pd.DataFrame, references: pd.DataFrame
) -> tuple[sparse.csr_array, list[str]]:
    """Return the matrix that averages the vectors of references for each output, and their texts.

    The row of an output without references is empty.
    """
    references = schema.check(references, "references")
    references = references[references["text"].str.strip() != ""]
    keys = ["dataset", "item_id"]
    joined = (
        outputs[[*keys, "output_id"]]
        .assign(row=np.arange(len(outputs)))
        .merge(references, on=keys, validate="many_to_many")
    )
    joined = joined[joined["reference_id"] != joined["output_id"]]
    place, texts = pd.factorize(joined["text"])
    share = 1 / joined.groupby("row")["row"].transform("size").to_numpy(dtype=np.float64)
    shape = (len(outputs), len(texts))
    return sparse.csr_array((share, (joined["row"].to_numpy(), place)), shape=shape), list(texts)


def _features(
    vectors: Callable[[list[str]], Any], outputs: pd.DataFrame, references: pd.DataFrame | None
) -> tuple[Any, np.ndarray]:
    """Return the features of each output, and whether they are defined."""
    own = vectors(outputs["text"].tolist())
    parts = [own, own * vectors(outputs["context"].tolist())]
    defined = np.ones(len(outputs), dtype=bool)
    if references is not None:
        weights, texts = _mean_of_references(outputs, references)
        defined = np.diff(weights.indptr) > 0
        # Where no output has a reference there is no text to make a vector of.
        parts.append(own * (weights @ vectors(texts)) if texts else own * 0.0)
    stack = sparse.hstack if sparse.issparse(own) else np.hstack
    return stack(parts), defined
