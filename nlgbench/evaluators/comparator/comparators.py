"""Training and use of comparators, which predict the better of two texts, or a tie.

Zhou and Xu (2020), Learning to Compare, doi:10.1609/aaai.v34i05.6521. A backend is a function that
takes training rows and returns a function from rows to probabilities. Rows have columns context_a,
text_a and, for pairs, context_b, text_b.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.proportion import proportion_confint

from nlgbench.arrays import Floats, Ints
from nlgbench.evaluators.comparator.pairs import (
    SIDES,
    Predict,
    reference_pairs,
    sides,
    system_pairs,
)
from nlgbench.status import Unsupported
from nlgbench.study import Study, with_tables
from nlgbench.study.checks import checked, read_table
from nlgbench.text import check_n, text_key

if TYPE_CHECKING:
    from nlgbench.evaluators.comparator.encoder import Encoder

Backend = Literal["frozen", "cross_encoder", "tfidf"]
#: The columns of a row, with the two sides swapped.
SWAPPED = ["context_b", "text_b", "context_a", "text_a"]

#: Classes of a pair.
BETTER, TIE, WORSE = range(3)

_N_FEATURES = 20_000
_WORD = r"(?u)\w+(?:'\w+)*|[^\w\s]"
_N_REFERENCES = 50  # as in the paper


@dataclass(frozen=True, eq=False)
class Comparator:
    """A trained evaluator that compares two texts, or scores one at a time."""

    #: The backend and, after @, the training pairs, such as ``frozen@strong+human``.
    name: str
    #: A function from rows of texts to probabilities.
    predict: Predict
    #: Classes in the columns of `predict`. Pairs: 0 if a is better, 1 for a tie, 2 if a is worse.
    #: Single texts: 0 for worse, 1 for better. Regressor: 1, the predicted judgment.
    classes: tuple[int, ...]
    #: The training texts.
    seen: frozenset[str]
    #: False for the adversarial evaluator and the regressor, which read one text at a time.
    compares: bool
    #: A description of how it was trained.
    signature: str

    def score_outputs(self, study: Study) -> pd.Series:
        """Score each output; higher is better.

        The Series, indexed by output_id, depends on the kind of evaluator. Comparator: mean points
        against the same 50 machine outputs, or all if there are fewer (win 3, tie 1, loss 0).
        Adversarial evaluator: the uncalibrated probability that the text is the better or human
        one. Regressor: the predicted mean judgment, which is not clipped to the scale.
        """
        outputs = study.outputs
        index = pd.Index(outputs["output_id"], name="output_id")
        if self.compares:
            n = min(_N_REFERENCES, int((~outputs["is_human"]).sum()))
            pairs = reference_pairs(outputs, n_references=n, seed=0)
            return reference_points(compare(self, outputs, pairs)).reindex(index)
        refuse_seen(self.name, self.seen, outputs)
        rows = outputs[["context", "text"]].set_axis(SIDES[:2], axis=1)
        distinct, (text_codes,) = sides(rows)
        better = self.predict(distinct.set_axis(SIDES[:2], axis=1))[text_codes, -1]
        return pd.Series(better, index, name="score")


@checked
def train_comparator(
    pairs: pd.DataFrame,
    *,
    backend: Backend = "frozen",
    compares: bool = True,
    ties: bool = True,
    encoder: Encoder | str | None = None,
    seed: int | np.random.Generator = 0,
) -> Comparator:
    """Train a comparative evaluator on pairs.

    Parameters
    ----------
    pairs : DataFrame
        From `nlgbench.supervise`. To ablate a kind of supervision, omit it from `kinds` there.
    backend : {"frozen", "cross_encoder", "tfidf"}
        ``"frozen"``: a small network on embeddings from a frozen encoder. ``"cross_encoder"``: the
        encoder reads both texts at once and is fine-tuned, as in Zhou and Xu (2020); slow without
        a GPU. ``"tfidf"``: logistic regression; it needs no extra.
    compares : bool
        False: the ablation "without comparison", an adversarial evaluator. It learns the
        probability that a single text is the better one (with strong pairs: the human one). It
        ignores ties, and scores single texts only.
    ties : bool
        False: the ablation without the tie option. Ties are left out of training.
    encoder : Encoder or str, optional
        From `comparator.encoder.load_encoder`, or the name or folder of a Hugging Face model.
        Default: the encoder that the extra ``nlgbench[encoder]`` installs. Not for ``"tfidf"``.
    seed : int or Generator
        Seed of all random numbers.

    Returns
    -------
    Comparator
        The trained evaluator, for `nlgbench.compare_texts` and `nlgbench.score`.

    Raises
    ------
    ValueError
        If a name is unknown, a column is missing, or no pair has the outcome ``better``.
    ImportError
        If an extra that the backend needs is missing; the message names it.

    Notes
    -----
    The fit maximizes the likelihood (equation 1 of Zhou and Xu 2020) over all pairs in both orders,
    with equal weights. ``"frozen"`` and ``"cross_encoder"`` train in stages: first without weak
    pairs with small margins, then with all pairs, finally on human pairs. Without ties in training,
    no tie is ever predicted.

    Strong supervision alone can invert the order of systems (docs/learning-to-compare.md).

    Examples
    --------
    >>> from nlgbench.evaluators.comparator.pairs import supervise
    >>> texts = [f"good {n}" for n in "abcd"] + [f"bad {n}" for n in "abcd"]
    >>> outputs = pd.DataFrame({"output_id": texts, "text": texts, "item_id": "1"})
    >>> study = Study(outputs.assign(system=["human"] * 4 + ["m"] * 4))
    >>> comparator = train_comparator(supervise(study, kinds=["strong"]), backend="tfidf")
    >>> new = outputs.iloc[[0, 4]].assign(text=["good e", "bad e"], system=["n", "m"])
    >>> found = compare_texts(Study(new), comparator).comparisons.iloc[0]
    >>> found["comparator"], bool((found["prob_a"] > 0.5) == (found["output_a"] == "good a"))
    ('tfidf@strong', True)
    """
    if backend == "tfidf" and encoder is not None:
        raise ValueError("Backend 'tfidf' has no encoder. Omit encoder, or use 'frozen'.")
    texts = " ".join(f"{side}:text" for side in SIDES)
    pairs = read_table(pairs, f"{texts} supervision outcome margin:number", "pairs have")
    wrong = ~pairs["outcome"].isin(["better", "tie"])
    if wrong.any():
        value = pairs["outcome"][wrong].iloc[0]
        raise ValueError(
            f"outcome must be 'better' (a wins) or 'tie', not {value!r}. Swap the texts if b wins."
        )
    number = int(np.random.default_rng(seed).integers(2**31))
    if not ties or not compares:
        pairs = pairs[pairs["outcome"] == "better"]
    if not pairs["outcome"].eq("better").any():
        raise Unsupported(
            "no_pairs", "no pair has the outcome 'better'. Lower the tie threshold, or add pairs."
        )
    pairs = pairs.reset_index(drop=True)
    if compares:  # in both orders
        sides_in_order = [pairs[SIDES], pairs[SWAPPED].set_axis(SIDES, axis=1)]
        labels = np.where(pairs["outcome"] == "tie", TIE, BETTER)
        labels = np.concatenate([labels, WORSE - labels])
    else:  # each text alone, the better ones first
        sides_in_order = [pairs[SIDES[at : at + 2]].set_axis(SIDES[:2], axis=1) for at in (0, 2)]
        labels = np.repeat([1, 0], len(pairs))
    rows = pd.concat(sides_in_order, ignore_index=True)
    classes, codes = np.unique(labels, return_inverse=True)
    if backend == "tfidf":
        predict = fit_tfidf(rows, codes)
        origin = f"scikit-learn {sklearn.__version__}"
    else:
        from nlgbench.evaluators.comparator import encoder as neural

        loaded = encoder if isinstance(encoder, neural.Encoder) else neural.load_encoder(encoder)
        # Both orders of a pair belong to the same stage.
        stages = [np.concatenate([stage, stage + len(pairs)]) for stage in curriculum(pairs)]
        fit = neural.fit_frozen if backend == "frozen" else neural.fit_cross_encoder
        predict = fit(loaded, rows, codes, stages, seed=number)
        origin = loaded.signature
    kinds = "+".join(dict.fromkeys(pairs["supervision"]))
    name = backend + ("" if compares else "_alone") + ("" if ties else "_no_ties")
    return Comparator(
        name=f"{name}@{kinds}",
        predict=predict,
        classes=tuple(int(label) for label in classes),
        seen=frozenset(pairs["text_a"]) | frozenset(pairs["text_b"]),
        compares=compares,
        signature=f"{name} on {len(pairs):,} pairs ({kinds}){', both orders averaged' * compares}; "
        f"seed {seed if isinstance(seed, int) else number}; {origin}",
    )


@checked
def compare_texts(
    study: Study,
    comparator: Comparator,
    *,
    n_per_pair: int = 100,
    seed: int | np.random.Generator = 0,
) -> Study:
    """Compare pairs of outputs with a comparator, which predicts a win, tie or loss.

    Parameters
    ----------
    study : Study
        Outputs not used for training, such as the second study of `nlgbench.split`.
    comparator : Comparator
        From `nlgbench.train_comparator`.
    n_per_pair : int
        Number of output pairs to draw for each pair of systems, or all if there are fewer. The
        outputs of a pair have equal contexts; human texts are excluded.
    seed : int or Generator
        Seed of all random numbers.

    Returns
    -------
    Study
        The study with new rows in ``comparisons``, for `nlgbench.rate`: output_a, output_b,
        comparator, prob_a (the probability that output a is better), prob_tie, prob_b.

    Raises
    ------
    ValueError
        If a text to compare was seen in training, no pair can be drawn, or the study already has
        comparisons by a comparator of this name.

    Notes
    -----
    A pairwise classifier can change its prediction when the texts are swapped, so both orders are
    averaged: ``prob_a = (P(a > b) + P(b < a)) / 2``. Swapping a and b swaps prob_a and prob_b.

    Examples
    --------
    See `nlgbench.train_comparator`.
    """
    check_n(n_per_pair, "n_per_pair")
    before = study.comparisons
    if before is not None and before["comparator"].eq(comparator.name).any():
        raise ValueError(
            f"{study.name} already has comparisons by {comparator.name}. Remove them first: "
            "study.replace(comparisons=None)."
        )
    pairs = system_pairs(study.outputs, n_per_pair=n_per_pair, seed=seed)
    comparisons = compare(comparator, study.outputs, pairs)
    if before is not None:
        comparisons = pd.concat([before, comparisons], ignore_index=True)
    return with_tables(study, comparisons=comparisons)


def compare(comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the ``comparisons`` of pairs, in their order; see `compare_texts`."""
    if not comparator.compares:
        raise ValueError(
            f"{comparator.name} reads one text at a time, so it cannot compare two. Use it to "
            "score texts: score(study, [comparator])."
        )
    comparisons = pairs[["output_a", "output_b"]].reset_index(drop=True)
    comparisons = comparisons.assign(comparator=comparator.name)
    forward, backward = _in_both_orders(comparator, _texts_of(comparator, outputs, pairs))
    comparisons[["prob_a", "prob_tie", "prob_b"]] = (forward + backward) / 2
    return comparisons


def exceeds(value: Any, reference: Any) -> Any:
    """Return where the first value is higher by more than rounding, a share of 1e-9."""
    size = np.maximum(np.abs(value), np.abs(reference))
    return value > reference + 1e-9 * np.where(np.isfinite(size), size, 0.0)


def decided(chances: Floats) -> Floats:
    """Return the most probable of win, tie and loss, one-hot; a tie if the top two are equal."""
    won = exceeds(chances[:, 0], chances[:, 1:].max(axis=1))
    lost = exceeds(chances[:, 2], chances[:, :2].max(axis=1))
    return np.column_stack([won, ~(won | lost), lost]).astype(np.float64)


def reference_points(comparisons: pd.DataFrame) -> pd.Series:
    """Score each output_a by mean points against references: win 3, tie 1, loss 0.

    Zhou and Xu (2020), section 4.2, RQ1, sum the points; outputs that are references themselves
    have fewer. A comparator that predicts few ties gives higher scores.
    """
    result = decided(comparisons[["prob_a", "prob_tie", "prob_b"]].to_numpy())
    points = comparisons[["output_a"]].assign(score=3 * result[:, 0] + result[:, 1])
    return points.groupby("output_a")["score"].mean().rename_axis("output_id")


def order_agreement(
    comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame
) -> pd.DataFrame:
    """Measure how often a comparator's prediction is unchanged when two outputs are swapped.

    One row: estimate (a share of distinct pairs), ci_low, ci_high (Wilson's 95%), n.
    """
    rows = _texts_of(comparator, outputs, pairs)
    forward, backward = _in_both_orders(comparator, rows.drop_duplicates())
    same = (decided(forward) == decided(backward)).all(axis=1)
    low, high = proportion_confint(same.sum(), len(same), alpha=0.05, method="wilson")
    row = {"comparator": comparator.name, "estimate": same.mean(), "ci_low": low, "ci_high": high}
    return pd.DataFrame([{**row, "confidence": 0.95, "n": len(same)}])


def refuse_seen(name: str, seen: Collection[str], outputs: pd.DataFrame) -> None:
    """Raise ValueError for texts seen in training; case and white space are ignored."""
    seen_ids = outputs["output_id"][outputs["text"].map(text_key).isin({text_key(t) for t in seen})]
    if len(seen_ids):
        raise ValueError(
            f"{name} was trained on some of the texts to judge (outputs: {len(seen_ids)}, such as "
            f"{seen_ids.iloc[0]!r}). Train on the first study that split returns; judge the second."
        )


def _in_both_orders(comparator: Comparator, rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the probabilities of better, tie and worse, in given and in swapped order."""
    swapped = (rows["text_a"] > rows["text_b"]) | (
        (rows["text_a"] == rows["text_b"]) & (rows["context_a"] > rows["context_b"])
    )
    canonical = rows.copy()
    canonical.loc[swapped, SIDES] = rows.loc[swapped, SWAPPED].to_numpy()
    row_codes = canonical.groupby(SIDES, sort=True).ngroup().to_numpy()
    distinct = canonical.drop_duplicates().sort_values(SIDES, ignore_index=True)
    mirrored = distinct[SWAPPED].set_axis(SIDES, axis=1)
    chances = np.zeros((2, len(distinct), 3))
    for order, ordered in enumerate((distinct, mirrored)):
        chances[order][:, list(comparator.classes)] = comparator.predict(ordered)
    first, second = chances[0][row_codes], chances[1][row_codes][:, ::-1]
    swap = swapped.to_numpy()[:, None]
    return np.where(swap, second[:, ::-1], first), np.where(swap, first[:, ::-1], second)


def _texts_of(comparator: Comparator, outputs: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the contexts and texts of each pair, after checking them against training texts."""
    by_id = outputs.set_index("output_id")
    ids = pd.concat([pairs["output_a"], pairs["output_b"]]).unique()
    refuse_seen(comparator.name, comparator.seen, outputs[outputs["output_id"].isin(ids)])
    texts = [by_id.loc[pairs[name], ["context", "text"]] for name in ("output_a", "output_b")]
    return pd.DataFrame(np.hstack(texts), columns=SIDES)


def curriculum(pairs: pd.DataFrame) -> list[Ints]:
    """Return the rows of each training stage: large margins first, then all, then human pairs.

    Pairs without a margin are in every margin stage. If human pairs are mixed with others, a
    last stage contains human pairs only. Zhou and Xu (2020, section 3.1) specify this order, but
    not the number or length of stages.
    """
    margin = pairs["margin"].to_numpy(dtype=np.float64)
    stages = [np.arange(len(pairs))]
    if not np.isnan(margin).all():
        least = np.nanquantile(margin, np.array([2, 1, 0]) / 3)
        stages = [np.flatnonzero(np.isnan(margin) | (margin >= limit)) for limit in least]
    human = pairs["supervision"].eq("human").to_numpy()
    if human.any() and not human.all():
        stages.append(np.flatnonzero(human))
    return stages


def tfidf_reader(texts: Iterable[str]) -> Callable[[pd.DataFrame], Any]:
    """Fit TF-IDF to texts: at most 20,000 words, punctuation marks and bigrams.

    The returned function maps rows of context and text to the text's vector and its elementwise
    product with the context's.
    """
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), token_pattern=_WORD, sublinear_tf=True, max_features=_N_FEATURES
    ).fit(texts)

    def read(rows: pd.DataFrame) -> Any:
        text_vectors = vectorizer.transform(rows["text"])
        shared = text_vectors.multiply(vectorizer.transform(rows["context"]))
        return sparse.hstack([text_vectors, shared], format="csr")

    return read


def fit_tfidf(rows: pd.DataFrame, labels: Ints) -> Predict:
    """Train multinomial logistic regression on TF-IDF, with scikit-learn's default ridge penalty.

    `tfidf_reader` vectorizes texts. A pair is represented by the difference of its two texts and
    the absolute difference, which is needed to detect ties. The loss is convex, so neither the seed
    nor the order of pairs matters.
    """
    texts, _ = sides(rows)
    read = tfidf_reader(texts["text"].unique())

    def features(rows: pd.DataFrame) -> Any:
        texts, places = sides(rows)
        features_of_text = read(texts)
        if len(places) == 1:
            return features_of_text[places[0]]
        gap = features_of_text[places[0]] - features_of_text[places[1]]
        return sparse.hstack([gap, abs(gap)], format="csr")

    model = LogisticRegression(max_iter=2_000).fit(features(rows), labels)
    return lambda rows: np.asarray(model.predict_proba(features(rows)), dtype=np.float64)
