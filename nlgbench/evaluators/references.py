"""References for outputs: those of the study, or similar human texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked

_CELLS = 5_000_000  # limits each dense block of cosines to 40 MB


@checked
def nearest_references(study: Study, *, n: int = 10, lower: bool = False) -> pd.DataFrame:
    """Use the most similar human texts as references, for a study without references.

    Parameters
    ----------
    study : Study
        A study with one machine output per item.
    n : int, default 10
        Number of references for each output; human texts that equal the output are excluded.
    lower : bool, default False
        Convert texts to lower case first; the references are then in lower case, too.

    Returns
    -------
    DataFrame
        A ``references`` table for `score`: ``item_id``, ``reference_id`` (``r01`` is the most
        similar), ``text``.

    Raises
    ------
    ValueError
        If an item has several machine outputs, or the human texts have no words or are too few.

    Notes
    -----
    Similarity is the cosine of TF-IDF vectors of words, fitted on the human texts by scikit-learn.

    Examples
    --------
    >>> texts = {"a1": "my lid leaks", "h1": "the lid leaks", "h2": "the zipper broke"}
    >>> outputs = pd.DataFrame({"output_id": list(texts), "text": list(texts.values())})
    >>> outputs = outputs.assign(item_id=list("123"), system=["a", "human", "human"])
    >>> nearest_references(Study(outputs), n=1)["text"].tolist()
    ['the lid leaks']
    """
    is_human = study.outputs["is_human"]
    outputs, human = study.outputs[~is_human], study.outputs.loc[is_human, "text"]
    shared = outputs.loc[outputs["item_id"].duplicated(), "item_id"]
    if len(shared):
        raise Unsupported(
            "several_outputs",
            f"References belong to an item, but item {shared.iloc[0]!r} has several outputs, with "
            "different nearest texts. Add a table of references to the study.",
        )
    texts = outputs["text"]
    if lower:
        texts, human = texts.str.lower(), human.str.lower()
    near = similar_references(texts.tolist(), human.tolist(), n=n)
    table = pd.DataFrame({"item_id": np.repeat(outputs["item_id"].array, n)})
    table["reference_id"] = [f"r{rank:02d}" for rank in range(1, n + 1)] * len(near)
    return table.assign(text=[text for listed in near for text in listed])


def similar_references(
    texts: Sequence[str], pool: Sequence[str], *, n: int = 10, copies: bool = False
) -> list[list[str]]:
    """Return the `n` texts of the pool nearest to each text (`nearest_texts`)."""
    nearest = nearest_texts(texts, pool, n=n, copies=copies)
    return [[pool[position] for position in row] for row in nearest]


def nearest_texts(
    texts: Sequence[str], pool: Sequence[str], *, n: int, copies: bool
) -> NDArray[np.int64]:
    """Find the positions, (texts, n), of the `n` pool texts with the highest TF-IDF cosine.

    With `copies`, a text that is in the pool may be its own neighbor. Ties (cosines equal to 12
    decimals) keep the order of the pool.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    tokens = [tuple(text.split()) for text in pool]
    if not any(tokens):
        raise Unsupported(
            "no_human",
            "There are no human texts with words to use as references. Add human outputs.",
        )
    same: dict[tuple[str, ...], list[int]] = {}
    for position, key in enumerate(tokens):
        same.setdefault(key, []).append(position)

    tfidf = TfidfVectorizer(token_pattern=r"\S+", lowercase=False)
    by_word = tfidf.fit_transform(pool).T.tocsr()
    rows = tfidf.transform(texts) if len(texts) else by_word.T
    nearest = np.empty((len(texts), n), dtype=np.int64)
    step = max(1, _CELLS // len(pool))
    for start in range(0, len(texts), step):
        # Rounding restores ties between equal cosines that were summed in different orders.
        cosine = (rows[start : start + step] @ by_word).toarray().round(12)
        for number, row in enumerate(cosine, start):
            left_out = [] if copies else same.get(tuple(texts[number].split()), [])
            n_left = len(pool) - len(left_out)
            if not 1 <= n <= n_left:
                raise Unsupported(
                    "few_texts",
                    f"n must be at least 1, and at most the number of human texts that differ from "
                    f"text {number} ({n_left} of {len(pool)}). Got {n}. Reduce n, or add texts.",
                )
            row[left_out] = -1.0
            nearest[number] = np.argsort(-row, kind="stable")[:n]
    return nearest


def usable(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Remove references without words; a text left without references is scored NaN."""
    return [[text for text in texts if text.strip()] for texts in references]


def reference_lists(outputs: pd.DataFrame, references: pd.DataFrame) -> list[list[str]]:
    """List the references of each output's item, except the output itself (by its id)."""
    items: dict[str, list[tuple[str, str]]] = {}
    for item, *reference in references[["item_id", "reference_id", "text"]].to_numpy():
        items.setdefault(item, []).append(tuple(reference))
    return [
        [text for name, text in items.get(item, []) if name != output]
        for item, output in zip(outputs["item_id"], outputs["output_id"], strict=True)
    ]
