"""HUSE where people judged few outputs and an evaluator's predictions are there for all.

`huse_with_predictions` estimates HUSE of as many outputs as people judged, surer than these alone
say; `optimal_error_bound` says what L* does not pass. Why not to correct leave-one-out errors as if
they were labels is in docs/huse-few-judgments.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from nlgbench.analysis.huse import neighbors
from nlgbench.analysis.huse.neighbors import Bools, Floats, Ints
from nlgbench.analysis.huse.score import (
    SCORES,
    TOLERANCE,
    Compared,
    both_halves,
    chosen_systems,
    compare,
    few_outputs,
    output_replicates,
)
from nlgbench.analysis.judges.corrected import (
    CORRECTED,
    LABELS,
    Scored,
    fitted,
    laid_out,
    p_of_draw,
    scores_of,
)
from nlgbench.inference import few_clusters, half_samples, split_interval
from nlgbench.study import Study, trusted
from nlgbench.study.checks import checked
from nlgbench.text import check_n

Unit = Literal["outputs", "items"]

#: Below this p the labelled outputs do not look drawn by chance.
DOUBTFUL = 0.01


@checked
def huse_with_predictions(
    study: Study,
    *,
    evaluator: str,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    weight: float | Literal["estimated"] = "estimated",
    n_resamples: int = 1000,
    resample: Unit = "outputs",
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
    **options: Any,
) -> pd.DataFrame:
    """Score systems by HUSE where few outputs are judged and an evaluator predicts the judgments.

    Parameters
    ----------
    study : Study
        With human outputs and a system's, scores of all of them by the evaluator, log-probabilities
        of all of them under the system, and judgments of some outputs of each class: drawn by
        chance.
    evaluator : str
        Whose scores stand for judgments. It must not have learned from these judgments.
    systems, dimension
        As in `huse`.
    weight : float or "estimated"
        How far to lean on the evaluator: 0 is `huse` of the judged outputs alone. A number must be
        fixed before the judgments are seen. ``"estimated"``: for each score the one that makes the
        estimated variance least.
    n_resamples, confidence, seed
        As in `huse`. With a `weight` of 0 results are those of `huse` of the judged outputs.
    resample : {"outputs", "items"}
        What was drawn for people, and is split, and is drawn for the subsets of others: outputs
        within each class, or whole items with all their outputs.
    **options
        Of `huse`: n_neighbors, ties (one), label_ties, scaling, length.

    Returns
    -------
    DataFrame
        A row per system and score: ``system``, ``score``, ``estimate`` (of the expectation of HUSE
        at as many outputs as are judged; higher is better, not clipped), ``se``, ``ci_low``,
        ``ci_high``, ``confidence``, ``center``, ``n_resamples``, ``n_undefined``, ``reason``,
        ``weight`` (used), ``alone`` and ``se_alone`` (`huse` of the judged outputs), ``n_subsets``
        (of others), ``n_clusters``, ``method``, ``resample``, ``n_neighbors``, ``dimension``,
        ``evaluator``, ``n_labels`` (judged outputs), ``n_outputs`` (all), ``n_judgments``,
        ``label``, ``source``.

    Raises
    ------
    ValueError
        As `huse`; when an output has no score, nothing or everything is judged, fewer outputs of a
        class are left than one subset takes, or, under ``"items"``, an item is judged in part.

    Notes
    -----
    With H by people's judgments or the evaluator's, L the judged outputs and U_b disjoint subsets
    of B, each with as many outputs of each class,

        ``estimate = H_people(L) - weight (H_evaluator(L) - mean_b H_evaluator(U_b))``.

    Every H is computed as if its outputs were all there are: the same k, features divided by their
    own standard deviations. The term in brackets is a control variate: where L was drawn by chance,
    its mean is 0 however bad the evaluator is, and with a fixed weight the estimate is unbiased for
    the expectation of HUSE at this number of outputs. Control variates: Owen (2013), *Monte Carlo
    theory, methods and examples*, section 8.9. Leave-one-out errors are no labels to be corrected
    one by one, as in prediction-powered inference: each hangs on its neighbors' judgments, and
    neighborhoods among more outputs err less (docs/huse-few-judgments.md).

    ``se^2`` is the variance of splits, as in `huse`, of ``H_people - weight H_evaluator`` on L,
    plus ``weight^2 / B`` times that of ``H_evaluator``: other subsets vary as L does. The estimated
    weight makes this least, ``cov / (var (1 + 1 / B))`` over splits; it is estimated from the same
    judgments, so that the estimate is no longer exactly unbiased. HUSE-D then has a weight of its
    own, and is not exactly ``1 + huse - huse_q``. Degrees of freedom as in `huse`. Where the
    predictions of some subset are all alike, `weight` is 0.

    In worlds 95% intervals with an estimated weight held the expectation in .91 to .97 of them,
    over items of several outputs in .92 to .98: docs/huse-few-judgments.md has the cells.

    Examples
    --------
    One annotator judged all, the others a hundred items:

    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", n_outputs=500, systems={"lm": (0.5, 0.5)}, seed=0)
    >>> by_one = study.judgments["annotator_id"] == "w001"
    >>> one = study.judgments[by_one].rename(columns={"value": "score"})
    >>> scores = one[["output_id", "score"]].assign(evaluator="w001", signature="")
    >>> drawn = study.outputs["item_id"].drop_duplicates().sample(100, random_state=0)
    >>> chosen = study.outputs.query("item_id in @drawn")["output_id"]
    >>> few = study.judgments[~by_one & study.judgments["output_id"].isin(chosen)]
    >>> study = study.replace(judgments=few, scores=scores)
    >>> found = nb.huse_with_predictions(study, evaluator="w001", resample="items", seed=1)
    >>> found[["score", "estimate", "se", "alone", "se_alone", "n_subsets"]].round(2)
        score  estimate    se  alone  se_alone  n_subsets
    0    huse      0.72  0.08   0.73      0.09          4
    1  huse_q      0.74  0.11   0.74      0.11          4
    2  huse_d      0.99  0.11   0.99      0.11          4
    """
    check_n(n_resamples, "n_resamples")
    dimension = study.dimension(dimension)
    rows: list[dict[Hashable, Any]] = []
    for system in chosen_systems(study, systems):
        # Splits are those of `huse` with this seed: subsets are drawn from another stream.
        rng = np.random.default_rng(seed)
        table = _read(study, system, evaluator, dimension)
        own = np.flatnonzero(table["judged"])
        subsets = _subsets(table, resample, rng.spawn(1)[0])
        judged = _compared(study, system, table.take(own), dimension, **options)
        score = table["score"].to_numpy()
        constant = any(not np.ptp(score[part]) > 0 for part in (own, *subsets))
        predicted, others = judged, []
        if not constant:
            predicted, *others = (
                _compared(study, system, table.take(part), dimension, evaluator, **options)
                for part in (own, *subsets)
            )
        found = combined(
            judged,
            predicted,
            [other.scores for other in others],
            replicates(judged, predicted, resample=resample, n_resamples=n_resamples, seed=rng),
            weight=weight if others else 0.0,
            confidence=confidence,
        )
        doubt = f"predictions of {len(judged.rows)} outputs do not vary: of the judged alone"
        if not constant:
            p = p_of_draw(_laid_out(table, score, score))
            doubt = f"predictions of judged outputs differ from the others' (p = {p:.2g}): were "
            doubt = f"{doubt}they drawn by chance?" if p < DOUBTFUL else ""
        found["reason"] = [_joined(one, doubt) for one in found["reason"]]
        found.insert(0, "system", system)
        found = found.assign(
            resample=resample,
            n_neighbors=judged.n_neighbors,
            dimension=dimension,
            evaluator=evaluator,
            n_labels=len(judged.rows),
            n_outputs=len(table),
            n_judgments=judged.n_judgments,
            label=study.label(system),
            source=study.source,
        )
        rows += found.to_dict("records")
    return pd.DataFrame(rows)


def _joined(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


@dataclass(frozen=True, eq=False)
class Replicates:
    """Scores of both halves of each split of the judged outputs."""

    by_people: pd.DataFrame
    by_evaluator: pd.DataFrame
    resample: Unit
    n_units: int  # outputs or items of the rarer class


def replicates(
    judged: Compared,
    predicted: Compared,
    *,
    resample: Unit,
    n_resamples: int,
    seed: int | np.random.Generator,
) -> Replicates:
    """Split the judged outputs into halves; people's scores and predicted ones share the splits."""
    is_human = judged.outputs["is_human"]
    unit = judged.outputs["item_id" if resample == "items" else "output_id"]
    members = half_samples(is_human, clusters=unit, n_resamples=n_resamples, seed=seed)
    halves = both_halves(members)
    by_people = output_replicates(judged, halves)
    by_evaluator = by_people if predicted is judged else output_replicates(predicted, halves)
    return Replicates(
        by_people, by_evaluator, resample, int(unit.groupby(is_human).nunique().min())
    )


def combined(
    judged: Compared,
    predicted: Compared,
    others: Sequence[dict[str, float]],
    splits: Replicates,
    *,
    weight: float | str,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Put people's scores, predicted ones of the same outputs, and of other outputs together.

    `others` are predicted scores of subsets that are not judged, each of the judged outputs' size.
    Without any the weight must be 0.
    """
    n_units, share = splits.n_units, 1 / max(len(others), 1)
    rows = []
    for score, few in zip(SCORES, few_outputs([judged], n_units), strict=True):
        whole, part = (one[score].to_numpy() for one in (splits.by_people, splits.by_evaluator))
        d, d_predicted = (np.subtract(*np.split(values, 2)) for values in (whole, part))
        used = _least_variance(d, d_predicted, share) if isinstance(weight, str) else weight
        own, alone = predicted.scores[score], judged.scores[score]
        mean = float(np.mean([other[score] for other in others])) if others else own
        known = {"df": n_units / 2, "confidence": confidence}
        # Moved by a constant, so that their center is the estimate's.
        half, other = np.split(whole - used * (part - mean), 2)
        half_alone, other_alone = np.split(whole, 2)
        row = split_interval(
            half,
            other,
            alone - used * (own - mean),
            # Other subsets are of the judged outputs' size: their scores vary as theirs do.
            added=used**2 * share * _mean_square(d_predicted) / 4,
            **known,
        )
        rows.append(
            {
                "score": score,
                **row,
                "reason": row["reason"] or few,
                "weight": used,
                "alone": alone,
                "se_alone": split_interval(half_alone, other_alone, alone, **known)["se"],
                "n_subsets": len(others),
                "n_clusters": n_units,
                "method": f"splits of {splits.resample} into halves, k = {judged.n_neighbors}, t",
            }
        )
    return pd.DataFrame(rows)


def _least_variance(d: Floats, d_predicted: Floats, share: float) -> float:
    """Give the weight of least estimated variance; 0 where predictions do not vary."""
    there = np.isfinite(d) & np.isfinite(d_predicted)
    square = float((d_predicted[there] ** 2).sum()) * (1 + share)
    return float((d[there] * d_predicted[there]).sum()) / square if square > 0 else 0.0


def _mean_square(d: Floats) -> float:
    """Average squares over the splits that are defined; 0 where none is."""
    there = np.isfinite(d)
    return float((d[there] ** 2).sum()) / max(1, int(there.sum()))


def _read(study: Study, system: str, evaluator: str, dimension: str) -> pd.DataFrame:
    """Lay out a system's outputs and the human ones, with predictions, and which are judged."""
    scores = scores_of(study, evaluator)
    if study.judgments is None:
        raise ValueError(f"{study.name} has no judgments: have some of its outputs judged.")
    own = study.outputs["is_human"] | (study.outputs["system"] == system)
    table = study.outputs.loc[own, ["output_id", "item_id", "system", "is_human"]]
    if not (~table["is_human"]).any() or not table["is_human"].any():
        compare(study, system, dimension=dimension)  # says which class is missing
    table = table.assign(score=table["output_id"].map(scores)).reset_index(drop=True)
    missing = table.loc[~np.isfinite(table["score"]), "output_id"]
    if len(missing):
        raise ValueError(
            f"{len(missing)} of {len(table)} outputs have no score of {evaluator!r}: "
            f"{', '.join(missing[:5])}. Predictions must not depend on who was judged: score them, "
            "or drop them from outputs."
        )
    judged = study.judgments.loc[study.judgments["dimension"] == dimension, "output_id"]
    table["judged"] = table["output_id"].isin(judged)
    for is_human, who in ((True, "human outputs"), (False, f"outputs of {system!r}")):
        of = table.loc[table["is_human"] == is_human, "judged"]
        if not of.any() or of.all():
            there, way = ("all", "no other is left to predict") if of.all() else ("none", "")
            raise ValueError(
                f"{there} of {len(of)} {who} have judgments of {dimension!r}: "
                + (f"{way}; use nlgbench.huse." if way else "have some, drawn by chance, judged.")
            )
    return table


def _subsets(table: pd.DataFrame, resample: Unit, rng: np.random.Generator) -> list[Ints]:
    """Cut what is not judged into disjoint subsets of just as many units of each kind as are.

    Units are of a kind that have as many human and machine outputs: outputs by class, or items.
    """
    name = "item_id" if resample == "items" else "output_id"
    unit, names = pd.factorize(table[name])
    count = np.bincount(unit)
    n_machine = np.bincount(unit, ~table["is_human"]).astype(int)
    n_judged = np.bincount(unit, table["judged"]).astype(int)
    part = (n_judged > 0) & (n_judged < count)
    if part.any():
        first = names[int(part.argmax())]
        raise ValueError(
            f"{int(part.sum())} items, {first!r} first, have outputs with judgments and outputs "
            "without: whole items are needed, as subsets of others must be drawn as the judged "
            "were. Use resample='outputs', or leave such items out."
        )
    kind = np.unique(np.column_stack([count, n_machine]), axis=0, return_inverse=True)[1].ravel()
    wanted = np.bincount(kind, n_judged > 0).astype(int)
    free = np.bincount(kind, n_judged == 0).astype(int)
    there = wanted > 0
    n_subsets = int((free[there] // wanted[there]).min())
    if n_subsets < 1:
        least = int((free[there] / wanted[there]).argmin())
        raise ValueError(
            f"{free[there][least]} {resample} of a kind are not judged, and {wanted[there][least]} "
            "are: predictions help where there are others, at least as many as are judged. Have "
            "more predicted, or use nlgbench.huse."
        )
    subset_of = np.full(len(count), -1)
    for number in np.flatnonzero(there):
        others = rng.permutation(np.flatnonzero((kind == number) & (n_judged == 0)))
        used = others[: n_subsets * wanted[number]]
        subset_of[used] = np.arange(len(used)) // wanted[number]
    of_row = subset_of[unit]
    return [np.flatnonzero(of_row == number) for number in range(n_subsets)]


def _compared(
    study: Study,
    system: str,
    outputs: pd.DataFrame,
    dimension: str,
    evaluator: str | None = None,
    **options: Any,
) -> Compared:
    """Compare some outputs by people's judgments, or by an evaluator's predictions of them."""
    judgments = study.judgments
    if evaluator is not None:
        judgments = pd.DataFrame(
            {
                "output_id": outputs["output_id"],
                "annotator_id": evaluator,
                "dimension": dimension,
                "group_id": "",
                "value": outputs["score"],
            }
        )
    part = trusted(
        outputs=outputs[["output_id", "item_id", "system", "is_human"]],
        judgments=judgments,
        logprobs=study.logprobs,
        name=study.name,
        settings=study.settings,
    )
    return compare(part, system, dimension=dimension, **options)


def _laid_out(table: pd.DataFrame, predicted: Floats, labels: Floats) -> Scored:
    """Lay out values that are known of all outputs, and of the judged ones, by class."""
    item = pd.factorize(table["item_id"])[0]
    own = np.flatnonzero(table["judged"].to_numpy())
    return laid_out(
        ["human", "machine"],
        1 - table["is_human"].to_numpy(dtype=np.int64),
        item,
        item,
        predicted,
        table["judged"].to_numpy(dtype=np.float64),
        own,
        np.arange(len(own)),
        labels[own],
    )


@checked
def optimal_error_bound(
    study: Study,
    *,
    evaluator: str,
    training: Study | None = None,
    systems: str | Iterable[str] | None = None,
    dimension: str | None = None,
    n_neighbors: int = 16,
    confidence: float = 0.95,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Bound L*, twice the error of the best discriminator, from few judgments and predictions.

    Parameters
    ----------
    study, evaluator, systems, dimension
        As in `huse_with_predictions`.
    training : Study, optional
        Another study, with judgments of outputs of these systems, on which the classifier is
        fitted. Default: the evaluator's predictions for half of the items of which nothing is
        judged. Predictions must then be on the scale of judgments, or the bound is loose.
    n_neighbors : int
        k, of the classifier.
    confidence : float
        Chance asked for that the bound holds; it has one side.
    seed : int or Generator
        Draws the half.

    Returns
    -------
    DataFrame
        A row per system and method (``labels alone``, ``corrected``): ``system``, ``method``,
        ``estimate`` (twice the classifier's error under people's judgments: the error rate among
        human outputs plus that among the system's), ``se``, ``bound`` (what L* does not pass),
        ``confidence``, ``df``, ``reason``, ``n_labels``, ``n_outputs`` (without those the
        classifier was fitted on), ``n_training``, ``training``, ``n_neighbors``, ``dimension``,
        ``label``, ``source``.

    Raises
    ------
    ValueError
        As `huse_with_predictions`, or when an output of `training` is one of the study's.

    Notes
    -----
    ``L* = 2 inf_f P[f != z]`` over all classifiers (Hashimoto, Zhang and Liang 2019, section 3,
    doi:10.18653/v1/N19-1169), so no classifier errs less, whatever it was fitted on. One that was
    fitted on other outputs errs on each new output by itself: its errors under people's judgments
    are labels, those under predictions are scores, and each class's mean is corrected by PPI++
    (Angelopoulos, Duchi and Zrnic 2023, doi:10.48550/arXiv.2311.01453) as in `corrected_quality`,
    clustered by item. ``bound = estimate + t se``. It says nothing of HUSE, whose classifier is
    another.

    A one-sided limit of HUSE is such a bound as well, as leave-one-out errors are of classifiers
    that did not see the output. docs/huse-few-judgments.md has which of them is lower.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("gaussian", n_outputs=500, systems={"lm": (0.5, 0.5)}, seed=0)
    >>> by_one = study.judgments["annotator_id"] == "w001"
    >>> one = study.judgments[by_one].rename(columns={"value": "score"})
    >>> scores = one[["output_id", "score"]].assign(evaluator="w001", signature="")
    >>> drawn = study.outputs["item_id"].drop_duplicates().sample(100, random_state=0)
    >>> chosen = study.outputs.query("item_id in @drawn")["output_id"]
    >>> few = study.judgments[~by_one & study.judgments["output_id"].isin(chosen)]
    >>> study = study.replace(judgments=few, scores=scores)
    >>> found = nb.optimal_error_bound(study, evaluator="w001")
    >>> found[["method", "estimate", "se", "bound"]].round(2)
             method  estimate    se  bound
    0  labels alone      0.66  0.06   0.76
    1     corrected      0.66  0.06   0.75
    """
    dimension = study.dimension(dimension)
    parts = []
    for system in chosen_systems(study, systems):
        table = _read(study, system, evaluator, dimension)
        if training is None:
            rng = np.random.default_rng(seed)
            items = table.groupby("item_id")["judged"].max()
            free = items.index[~items.to_numpy(dtype=bool)]
            drawn = rng.permutation(free)[: len(free) // 2]
            chosen = table["item_id"].isin(drawn)
            model = _compared(
                study, system, table[chosen], dimension, evaluator, n_neighbors=n_neighbors
            )
            table = table[~chosen].reset_index(drop=True)
        else:
            shared = sorted(set(training.outputs["output_id"]) & set(table["output_id"]))
            if shared:
                raise ValueError(
                    f"{len(shared)} outputs of training are outputs of the study, {shared[0]!r} "
                    "first: the classifier must not have seen what it is tried on. Leave them out "
                    "of one of the two, or give other outputs other ids."
                )
            model = compare(training, system, dimension=dimension, n_neighbors=n_neighbors)
        people = _compared(study, system, table[table["judged"]], dimension)
        predicted = _compared(study, system, table, dimension, evaluator)
        found = bounded(model, table, people.raw, predicted.raw, confidence=confidence)
        found.insert(0, "system", system)
        parts.append(
            found.assign(
                n_training=len(model.rows),
                training=f"predictions by {evaluator}" if training is None else training.name,
                n_neighbors=n_neighbors,
                dimension=dimension,
                label=study.label(system),
                source=study.source,
            )
        )
    return pd.concat(parts, ignore_index=True)


def errors_of(model: Compared, features: Floats, is_machine: Bools) -> Floats:
    """Classify outputs that the model has not seen: 1 where it errs; a tied vote says human."""
    counted = neighbors.neighborhoods(
        model.points,
        model.is_machine,
        features / np.array(model.scales),
        model.n_neighbors,
        tolerance=TOLERANCE[model.ties],
    )
    for_machine, for_human = neighbors.votes(*counted, model.is_machine)
    return ((for_machine > for_human) != is_machine).astype(np.float64)


def bounded(
    model: Compared, table: pd.DataFrame, people: Floats, predicted: Floats, *, confidence: float
) -> pd.DataFrame:
    """Estimate twice the model's error among outputs it has not seen, and bound it from above.

    `people` are features of the judged rows of `table`, `predicted` those of all.
    """
    is_machine, own = (~table["is_human"]).to_numpy(), table["judged"].to_numpy()
    labels = np.zeros(len(table))
    labels[own] = errors_of(model, people, is_machine[own])
    given = _laid_out(table, errors_of(model, predicted, is_machine), labels)
    rows = []
    for method in (LABELS, CORRECTED):
        fit = fitted(given, method, False, "population")
        estimate, df = float(fit.level.sum()), float(fit.df.min())
        se = float(np.sqrt(fit.variance(np.ones((1, 2)))[0]))
        reason = few_clusters(int(fit.n_clusters.min()))
        if not se > 1e-12:
            se, reason = (
                np.nan,
                "errors do not vary: no spread to learn from",
            )
        rows.append(
            {
                "method": method,
                "estimate": estimate,
                "se": se,
                "bound": estimate + student.ppf(confidence, df) * se,
                "confidence": confidence,
                "df": df,
                "reason": reason,
                "n_labels": int(own.sum()),
                "n_outputs": len(table),
            }
        )
    return pd.DataFrame(rows)
