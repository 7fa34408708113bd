"""A regressor of human judgments, which takes the role of ADEM in Learning to Compare."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nlgbench.evaluators.comparator.comparators import Backend, Comparator, tfidf_reader
from nlgbench.status import Unsupported
from nlgbench.study import Study

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

#: Penalties from which leave-one-out validation chooses: two per power of ten.
PENALTIES = np.logspace(-2, 6, 17)


def train_regressor(
    study: Study, *, backend: Backend = "frozen", encoder: Encoder | None = None
) -> Comparator:
    """Train a regressor that predicts an output's mean judgment in the quality dimension.

    It takes the role of ADEM (Lowe et al. 2017, doi:10.18653/v1/P17-1103), whose encoder was
    trained on dialogues: unweighted ridge regression on the text's vector (of a frozen encoder,
    standardized, or TF-IDF) and its elementwise product with the context's. The penalty, from
    `PENALTIES`, minimizes the leave-one-out squared error. A name is ``regressor_frozen@quality``.
    """
    dimension = study.dimension()
    mean = study.judged(dimension).groupby("output_id")["value"].mean()
    quality = study.outputs["output_id"].map(mean)
    table, quality = study.outputs[quality.notna()], quality.dropna()
    if quality.nunique() < 2:
        raise Unsupported(
            "constant_judgments",
            f"training needs at least two different mean judgments of {dimension!r}. "
            f"Got {quality.nunique()} (judged outputs: {len(quality)}). Check the judgments' "
            "output_id.",
        )
    versions = f"scikit-learn {sklearn.__version__}"
    if backend == "tfidf":
        read = tfidf_reader(table["text"].unique())
        model = make_pipeline(RidgeCV(PENALTIES))
    else:
        from nlgbench.evaluators.comparator import encoder as neural

        loaded = encoder or neural.load_encoder()
        read = partial(neural.vectors, loaded, dtype=np.float64)
        model = make_pipeline(StandardScaler(), RidgeCV(PENALTIES))
        versions = f"{loaded.signature}; {versions}"
    model.fit(read(table), quality.to_numpy())
    name = f"regressor_{backend}@{dimension}"

    def predict(rows: pd.DataFrame) -> Any:
        return model.predict(read(rows.set_axis(["context", "text"], axis=1)))[:, None]

    return Comparator(
        name=name,
        predict=predict,
        classes=(1,),
        seen=frozenset(table["text"]),
        compares=False,
        signature=f"{name}, not ADEM itself: ridge regression of the mean judgment of "
        f"{len(table):,} outputs on text, text x context; penalty {model[-1].alpha_:.3g}, by "
        f"leave-one-out; {versions}",
    )
