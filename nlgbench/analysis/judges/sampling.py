"""Which outputs to label: samples with known inclusion probabilities."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import brentq

from nlgbench.analysis.judges.corrected import Sampling
from nlgbench.arrays import Seed
from nlgbench.names import known
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.study.study import part_of, with_tables
from nlgbench.text import check_n

Design = Literal["random", "stratified", "uncertain"]
#: The least inclusion probability of uncertain designs, which bounds the weights.
LEAST_PROBABILITY = 0.02


@checked
def sample_labels(
    study: Study,
    n: int,
    *,
    design: Design = "random",
    evaluator: str | None = None,
    by: str | None = None,
    dimension: str | None = None,
    seed: Seed = 0,
) -> Study:
    """Draw the outputs that annotators should label, with known inclusion probabilities.

    Parameters
    ----------
    study : Study
        A study with outputs of systems. Human texts are not drawn.
    n : int
        How many outputs to draw; all, if there are fewer.
    design : {"random", "stratified", "uncertain"}
        ``random``: all outputs are equally likely. ``stratified``: each stratum gets its share of
        the sample, but at least two outputs. ``uncertain``: in proportion to the root of p (1 - p)
        for scores p from 0 to 1, with a probability of at least .02.
    evaluator : str, optional
        Only outputs that it scored are drawn. ``uncertain`` uses its scores.
    by : str, optional
        A column of outputs whose values, within each system, are strata. Default: each system is a
        stratum.
    dimension : str, optional
        If labels are known: draw from the outputs with judgments of this dimension, as if no others
        had been judged. Default: draw outputs without judgments, and keep the judgments, as those
        of a random sample. If all outputs are judged, or were drawn before, drop judgments instead.
    seed : int or Generator
        Seed of the sample.

    Returns
    -------
    Study
        Outputs have the columns ``probability`` (missing unless drawn or judged) and ``stratum``,
        for `corrected_quality` with ``sampling="weighted"``.

    Raises
    ------
    ValueError
        When `n` is too small for the design, or scores are not between 0 and 1.

    Notes
    -----
    The sample is systematic in random order, so its size is fixed and probabilities are exact
    (Särndal, Swensson and Wretman 1992, section 3.6). For ``uncertain``, see Zrnic and Candès
    (2024), doi:10.48550/arXiv.2403.03208. If a share f was judged before, and an output is drawn
    from the others with probability p, its probability is f + (1 - f) p.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = sample_labels(nb.simulate("own", seed=0), 30, design="stratified", seed=1)
    >>> study.outputs.query("probability > 0")["system"].value_counts().unique().tolist()
    [6]
    """
    check_n(n, "n")
    if (by is not None and design != "stratified") or (evaluator is None and design == "uncertain"):
        raise ValueError(
            "strata by a column need the design stratified, and the design uncertain needs an "
            f"evaluator. Got {design}."
        )
    rng = np.random.default_rng(seed)
    if dimension is not None:
        is_judged = study.outputs["output_id"].isin(study.judged(dimension)["output_id"])
        study = part_of(study, is_judged.to_numpy())
    outputs = study.outputs[~study.outputs["is_human"]].set_index("output_id")
    if evaluator is not None:
        study.scored([evaluator])  # refuses unknown names, and may negate scores
        assert study.scores is not None
        scores = study.scores[study.scores["evaluator"] == evaluator].set_index("output_id")
        outputs = outputs.assign(score=scores["score"]).dropna(subset="score")
    if outputs.empty:
        raise Unsupported("no_outputs", f"{study.name} has no outputs of systems to draw.")
    outputs = outputs.sample(frac=1, random_state=rng).assign(stratum="")
    if design == "stratified":
        column = known(by or "system", ["system", *study.settings.get("extra", ())], "by")
        outputs["stratum"] = outputs["system"] + ("" if by is None else ", " + outputs[column])
        outputs = outputs.sort_values("stratum", kind="stable")
    judgments, is_labeled = study.judgments, np.zeros(len(outputs), dtype=bool)
    if dimension is None and judgments is not None:
        is_labeled = outputs.index.isin(judgments["output_id"])
        if is_labeled.all() or "probability" in study.outputs:
            judgments, is_labeled = None, np.zeros(len(outputs), dtype=bool)
    probabilities = _draw(outputs, is_labeled, n, design, rng)
    ids = study.outputs["output_id"]
    columns = {
        "probability": ids.map(probabilities),
        "stratum": ids.map(outputs["stratum"]).fillna(""),
    }
    if judgments is not None:
        judgments = judgments[judgments["output_id"].isin(probabilities.index)]
    extra = list(dict.fromkeys([*study.settings.get("extra", ()), *columns]))
    settings = {**study.settings, "extra": extra}
    outputs = study.outputs.assign(**columns)
    return with_tables(study, outputs=outputs, judgments=judgments, settings=settings)


def _draw(
    outputs: pd.DataFrame, is_labeled: NDArray[np.bool_], n: int, design: Design, rng: Generator
) -> pd.Series:
    """Draw n outputs of those without a label; return the probabilities of these and the others."""
    unlabeled = outputs[~is_labeled]
    n = min(n, len(unlabeled))
    if design == "uncertain" and n < len(unlabeled):
        probability = _favor_uncertain(outputs["score"], unlabeled["score"], n)
    else:
        probability = _allocate(outputs["stratum"], unlabeled["stratum"], n)
    # Of the running sum of probabilities, each whole number passed is a draw.
    passed = np.floor(probability[~is_labeled].cumsum() + rng.random())
    is_known = is_labeled.copy()
    is_known[~is_labeled] = np.diff(passed, prepend=0) > 0
    share = is_labeled.mean()
    return (share + (1 - share) * probability)[is_known]


def labels_of(
    study: Study, sampling: str | None, n: int, *, dimension: str, seed: Seed
) -> tuple[Study, Sampling]:
    """Return the study whose labels correct a judge, and how their outputs were chosen.

    If nothing is left to label, n judged outputs are sampled, as if no others had been judged.
    """
    judged = study.judged(dimension)["output_id"]
    is_open = ~study.scored()["output_id"].isin(judged)
    if sampling is None and "probability" in study.outputs:
        sampling = "weighted"
    if sampling in ("random", "weighted"):
        return study, cast(Sampling, sampling)
    if is_open.any():
        raise Unsupported(
            "unknown_sample",
            f"{judged.nunique():,} outputs of {study.name} have labels, and others have only "
            "scores: means of all outputs can be corrected only if the labeled ones were drawn at "
            "random. Then set sampling=random, or weighted for a sheet of nlgbench sample.",
        )
    return sample_labels(study, n, dimension=dimension, seed=seed), "weighted"


def _allocate(strata: pd.Series, unlabeled: pd.Series, n: int) -> pd.Series:
    """Give each stratum its share of n, but at least two; return the probabilities of all."""
    sizes = unlabeled.value_counts()
    least = sizes.clip(upper=2 if len(sizes) > 1 else 1)
    if n < least.sum():
        raise ValueError(
            f"{len(sizes)} strata with at least two outputs each need n >= {least.sum()}. Got {n}: "
            "increase it, or omit by=."
        )
    shares = n * sizes / sizes.sum()
    counts = np.maximum(np.floor(shares), least)
    while gap := np.sign(n - counts.sum()):
        can_change = counts < sizes if gap > 0 else counts > least
        counts[(gap * (shares - counts)).where(can_change).idxmax()] += gap
    return strata.map(pd.Series(counts / sizes)).fillna(1.0)


def _favor_uncertain(scores: pd.Series, unlabeled: pd.Series, n: int) -> pd.Series:
    """Return probabilities in proportion to the root of p (1 - p), with sum n over `unlabeled`."""
    way = "Use design='random' or 'stratified'."
    if scores.isin([0, 1]).all():
        raise ValueError(f"design='uncertain' needs probabilities, not only 0 and 1. {way}")
    if not scores.between(0, 1).all():
        raise ValueError(
            "design='uncertain' needs scores between 0 and 1. Got "
            f"{scores.min():g} to {scores.max():g}: divide percentages by 100. {way}"
        )
    if n <= (least := LEAST_PROBABILITY * len(unlabeled)):
        raise ValueError(
            f"design='uncertain' needs n above {least:g}, because each output has a probability of "
            f"at least {LEAST_PROBABILITY:g}. Got {n}. {way}"
        )

    def scaled(scale: float, scores: pd.Series) -> pd.Series:
        spread = np.maximum(np.sqrt((scores * (1 - scores)).to_numpy()), 1e-6)
        return pd.Series(np.clip(scale * spread, LEAST_PROBABILITY, 1), scores.index)

    scale = brentq(lambda scale: scaled(scale, unlabeled).sum() - n, 0, 1e6)
    return scaled(scale, scores)
