"""A learned regressor of human judgments: the part that ADEM plays in Learning to Compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nlgbench.evaluators.comparator.comparators import Backend, refuse_seen, tfidf_reader
from nlgbench.study import Study

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

#: Among these leave-one-out chooses the penalty: two per power of ten.
PENALTIES = np.logspace(-2, 6, 17)


@dataclass(frozen=True, eq=False)
class Regressor:
    """A trained regressor."""

    #: Such as ``regressor_frozen@quality``: the backend, and after @ the dimension it predicts.
    name: str
    #: From outputs to predictions.
    predict: Callable[[pd.DataFrame], Any]
    #: The texts that it was trained on.
    seen: frozenset[str]
    #: How it was made.
    signature: str

    def score_outputs(self, study: Study) -> pd.Series:
        """Predict each output's mean judgment; it is not cut at the ends of the scale."""
        refuse_seen(self.name, self.seen, study.outputs)
        index = pd.Index(study.outputs["output_id"], name="output_id")
        return pd.Series(self.predict(study.outputs), index=index, name="score")


def train_regressor(
    study: Study, *, backend: Backend = "frozen", encoder: Encoder | None = None
) -> Regressor:
    """Train a regressor of outputs' mean judgments in the quality dimension.

    ADEM (Lowe et al. 2017, doi:10.18653/v1/P17-1103) scores a response from an encoder that was
    trained on dialogues. Neither its code nor its weights are used here. This is ridge regression,
    every output with the same weight, on the text's vector and its elementwise product with the
    context's: embeddings of a frozen encoder, standardized on the training texts, or TF-IDF. The
    penalty, of `PENALTIES`, is the one with the least squared error when each output is left out.
    """
    dimension = study.dimension()
    mean = study.judged(dimension).groupby("output_id")["value"].mean()
    quality = study.outputs["output_id"].map(mean)
    table, quality = study.outputs[quality.notna()], quality.dropna()
    if quality.nunique() < 2:
        raise ValueError(
            f"{len(quality)} outputs have judgments of {dimension!r}, with {quality.nunique()} "
            "different means: there is nothing to learn from. Check that judgments are of these "
            "outputs."
        )
    made = f"scikit-learn {sklearn.__version__}"
    if backend == "tfidf":
        read = tfidf_reader(table["text"].unique())
        model = make_pipeline(RidgeCV(PENALTIES))
    else:
        from nlgbench.evaluators.comparator import encoder as neural

        loaded = encoder or neural.load_encoder()
        read = partial(neural.vectors, loaded, dtype=np.float64)
        model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
        made = f"{loaded.signature}; {made}"
    model.fit(read(table), quality.to_numpy())
    name = f"regressor_{backend}@{dimension}"
    return Regressor(
        name=name,
        predict=lambda outputs: model.predict(read(outputs)),
        seen=frozenset(table["text"]),
        signature=f"{name}, not ADEM itself: ridge regression of the mean judgment of "
        f"{len(table):,} outputs on text, text x context; penalty {model[-1].alpha_:.3g}, by "
        f"leave-one-out; {made}",
    )
