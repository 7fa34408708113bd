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

from nlgbench.evaluators.comparator.comparators import Floats, fit_vectorizer, refuse_seen
from nlgbench.study import Study
from nlgbench.study.checks import checked

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

#: Among these leave-one-out chooses the penalty: two per power of ten.
PENALTIES = np.logspace(-2, 6, 17)


@dataclass(frozen=True, eq=False)
class Regressor:
    """A trained regressor.

    Parameters
    ----------
    name : str
        Such as ``regressor_frozen@quality``: the backend, and after @ the dimension it predicts.
    predict : callable
        From outputs and references (or None) to a prediction of each output; NaN where it needs a
        reference and there is none.
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

    def score_outputs(self, study: Study) -> pd.Series:
        """Predict the mean judgment of each output.

        Parameters
        ----------
        study : Study
            Texts that were not trained on; with references where the regressor uses them.

        Returns
        -------
        Series
            By output_id, in the judgments' unit; higher is better where it is so for these. It is
            not cut at the ends of their scale. NaN where the regressor needs references and the
            item has none with words.

        Raises
        ------
        ValueError
            When a text was seen in training, or references lack.
        """
        refuse_seen(self.name, self.seen, study.outputs)
        if self.uses_references and study.references is None:
            raise ValueError(
                f"{self.name} was trained with references, and {study.name} has none: give "
                "Study(references=...)."
            )
        score = self.predict(study.outputs, study.references if self.uses_references else None)
        index = pd.Index(study.outputs["output_id"], name="output_id")
        return pd.Series(score, index=index, name="score")


@checked
def train_regressor(
    study: Study,
    *,
    dimension: str | None = None,
    references: bool = False,
    backend: Literal["frozen", "tfidf"] = "frozen",
    encoder: Encoder | str | None = None,
) -> Regressor:
    """Train a regressor of outputs' mean judgments.

    Parameters
    ----------
    study : Study
        Training outputs only, as `nlgbench.split` gives them. Outputs without judgments of the
        dimension teach nothing.
    dimension : str, optional
        Which dimension of judgments is predicted. Default: the quality dimension.
    references : bool
        Make it a feature how near an output is to its item's references; outputs whose item has
        none with words then teach nothing. A reference whose ``reference_id`` is the ``output_id``
        is the output itself, and is not among its references.
    backend : {"frozen", "tfidf"}
        ``"frozen"``: embeddings from a frozen encoder. ``"tfidf"``: TF-IDF; it needs no extra.
    encoder : Encoder or str, optional
        As in `nlgbench.train_comparator`. Not for ``"tfidf"``.

    Returns
    -------
    Regressor
        For `nlgbench.score`; nothing is drawn, so it needs no seed.

    Raises
    ------
    ValueError
        When a name is unknown, or there is nothing to learn from.
    ImportError
        Without an extra that the backend needs; it names it.

    Notes
    -----
    ADEM (Lowe et al. 2017, doi:10.18653/v1/P17-1103) scores a response r^, given a context c and a
    reference r, by ``(c' M r^ + r' N r^ - alpha) / beta``, with M and N learned on the vectors of
    an encoder that was trained on dialogues before. Neither its code nor its weights are used
    here: this is a plain regressor in its place.

    Ridge regression of each output's mean judgment, every output with the same weight, on the
    text's vector, its elementwise product with the context's and, where references are used, with
    the mean vector of the references: so M and N are diagonal, and a linear term in the text is
    added, for texts that answer to nothing. Embeddings are features standardized on the training
    texts; TF-IDF is not standardized.

    The penalty, of `PENALTIES`, is the one with the least squared error when each training output
    in turn is left out. Texts that repeat, or share a context, are not left out together, so it
    may be too small. On TF-IDF the products are small beside the vector itself, and the penalty
    all but silences them: on multi-reference DailyDialog references changed nothing there, while
    with embeddings the Spearman correlation with ratings of held-out outputs rose from .43 to .48
    (means of five splits).

    Examples
    --------
    >>> texts = [f"good {n}" for n in "abcd"] + [f"bad {n}" for n in "abcd"]
    >>> outputs = pd.DataFrame({"output_id": texts, "text": texts, "item_id": "1", "system": "m"})
    >>> judged = outputs[["output_id"]].assign(annotator_id="w")
    >>> judged["value"] = outputs["text"].str.startswith("good") * 4.0
    >>> regressor = train_regressor(Study(outputs, judged), backend="tfidf")
    >>> new = outputs.iloc[[0, 4]].assign(text=["good e", "bad e"])
    >>> regressor.name, regressor.score_outputs(Study(new)).round(1).tolist()
    ('regressor_tfidf@quality', [4.8, -0.8])
    """
    dimension = study.dimension(dimension)
    if backend == "tfidf" and encoder is not None:
        raise ValueError("backend 'tfidf' has no encoder: leave it out, or take 'frozen'.")
    if references and study.references is None:
        raise ValueError(f"{study.name} has no references: give Study(references=...).")
    assert study.judgments is not None
    chosen = study.judgments[study.judgments["dimension"] == dimension]
    mean = study.outputs["output_id"].map(chosen.groupby("output_id")["value"].mean())
    table = study.outputs[mean.notna()]
    if references:
        assert study.references is not None
        weights, _ = _mean_of_references(table, study.references)
        table = table[np.diff(weights.indptr) > 0]
    quality = mean[table.index].to_numpy()
    if len(np.unique(quality)) < 2:
        raise ValueError(
            f"{len(quality)} outputs have judgments of {dimension!r}"
            f"{' and references' if references else ''}, with {len(np.unique(quality))} different "
            "means: there is nothing to learn from. Check that judgments and references are of "
            "these outputs."
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
    features, _ = _features(vectors, table, study.references if references else None)
    model.fit(features, quality)

    def predict(outputs: pd.DataFrame, given: pd.DataFrame | None) -> Floats:
        features, defined = _features(vectors, outputs, given)
        return np.where(defined, model.predict(features), np.nan)

    name = f"regressor_{backend}{'_references' if references else ''}@{dimension}"
    on = "text, text x context" + (", text x mean reference" if references else "")
    return Regressor(
        name=name,
        predict=predict,
        seen=frozenset(table["text"]),
        uses_references=references,
        signature=f"{name}, not ADEM itself: ridge regression of the mean judgment of "
        f"{len(table):,} outputs on {on}; penalty {model[-1].alpha_:.3g}, by leave-one-out; {made}",
    )


def _mean_of_references(
    outputs: pd.DataFrame, references: pd.DataFrame
) -> tuple[sparse.csr_array, list[str]]:
    """Return the matrix that averages references' vectors for each output, and their texts.

    The row of an output without references is empty.
    """
    references = references[references["text"].str.strip() != ""]
    joined = (
        outputs[["item_id", "output_id"]]
        .assign(row=np.arange(len(outputs)))
        .merge(references, on="item_id", validate="many_to_many")
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
