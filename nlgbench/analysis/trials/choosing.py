"""Choice of models by evaluators, as in Table 3 of Learning to Compare.

See Zhou and Xu (2020, doi:10.1609/aaai.v34i05.6521). Candidates form groups: the settings of one
search, or the checkpoints of one training run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from nlgbench.analysis.ratings.bradley_terry import OUTPUTS, rate_intervals
from nlgbench.analysis.ratings.games import read_games, single_outputs
from nlgbench.analysis.ratings.glicko import glicko2
from nlgbench.arrays import Seed
from nlgbench.evaluators.comparator import comparators
from nlgbench.evaluators.comparator.comparators import Comparator, compare, exceeds
from nlgbench.evaluators.comparator.pairs import (
    draw_between,
    human_pairs,
    strong_pairs,
    system_pairs,
    weak_pairs,
)
from nlgbench.evaluators.comparator.regressor import train_regressor
from nlgbench.evaluators.overlap import bleu
from nlgbench.evaluators.references import similar_references
from nlgbench.status import OK, explain, split_status
from nlgbench.study import from_tables
from nlgbench.study.checks import checked, read_table
from nlgbench.worlds.searches import Searches

#: The baseline that chooses a system of the group at random.
RANDOM = "random choice"
#: The baseline that never stops training.
LAST = "last_checkpoint"
#: The stopping rule applied to true quality.
ORACLE = "oracle"


@checked
def choose(scores: pd.DataFrame) -> pd.DataFrame:
    """Let each evaluator choose the system with the highest score in each group.

    Parameters
    ----------
    scores : DataFrame
        A row per evaluator, group and system: evaluator, group, system, score (higher is better, so
        negate perplexity; NaN is never chosen). Skill ratings can serve as scores.

    Returns
    -------
    DataFrame
        A row per evaluator and group: evaluator, group, system (the first if scores are equal
        within a share of 1e-9; missing if no score is defined), n_undefined (systems without one).

    Raises
    ------
    ValueError
        When a column is missing, or a system is repeated in a group.

    Examples
    --------
    >>> scores = pd.DataFrame({"evaluator": "e", "group": "g", "system": [*"abcd"]})
    >>> choose(scores.assign(score=[0.1, 0.3, 0.2, 0.9]))["system"].item()
    'd'
    """
    needed = "evaluator:key group:key system:key score:number"
    scores = read_table(scores, needed, "scores have")
    twice = scores[scores.duplicated(["evaluator", "group", "system"])]
    if len(twice):
        raise ValueError(f"scores have two rows with {dict(twice.iloc[0, :3])}: keep one.")
    choices = []
    for (evaluator, group), rows in scores.groupby(["evaluator", "group"], sort=False):
        defined = rows.dropna(subset="score")
        best = defined[~exceeds(defined["score"].max(), defined["score"])]
        row = {"evaluator": evaluator, "group": group}
        row["system"] = None if best.empty else best["system"].iloc[0]
        choices.append(row | {"n_undefined": len(rows) - len(defined)})
    return pd.DataFrame(choices)


def stop(table: pd.DataFrame, patience: int) -> pd.DataFrame:
    """Apply early stopping by each evaluator; return the checkpoint to keep, and stopped_at.

    The table has evaluator, group, system, progress, and either score, or win and loss against the
    preceding checkpoints. Zhou and Xu (2020, section 4.1) stop when five consecutive checkpoints
    have lost more often than they won; here, the last one before the streak is kept. With scores,
    training stops when the best checkpoint is `patience` checkpoints old.
    """
    rule = _stop_on_losses if "win" in table else _stop_on_scores
    stops = []
    for (evaluator, group), rows in table.groupby(["evaluator", "group"], sort=False):
        rows = rows.sort_values("progress")
        keep, stopped = rule(rows, patience)
        progress = [*rows["progress"], np.nan]  # place -1 means none
        row = {"evaluator": evaluator, "group": group, "system": [*rows["system"], None][keep]}
        stops.append(row | {"progress": progress[keep], "stopped_at": progress[stopped]})
    return pd.DataFrame(stops)


def _stop_on_losses(rows: pd.DataFrame, patience: int) -> tuple[int, int]:
    """Return the places of the checkpoint to keep and of the one where training stops, or -1."""
    streak = 0
    for step, lost in enumerate(exceeds(rows["loss"], rows["win"]).tolist()):
        streak = streak + 1 if lost else 0
        if streak == patience:
            return max(step - patience, 0), step
    return len(rows) - 1, -1


def _stop_on_scores(rows: pd.DataFrame, patience: int) -> tuple[int, int]:
    best, keep = -np.inf, -1
    for step, score in enumerate(rows["score"].tolist()):
        if exceeds(score, best):
            best, keep = score, step
        elif step - keep == patience:
            return keep, step
    return keep, -1


def checkpoint_pairs(
    outputs: pd.DataFrame, steps: pd.DataFrame, *, n: int, seed: Seed
) -> pd.DataFrame:
    """Draw n pairs that compare each checkpoint of a model (output_a) with the two before it.

    Zhou and Xu (2020, section 4.1) do not specify how n is divided between the two; here, evenly,
    with one more for the later if n is odd. Pairs are distinct, and their outputs share a context.
    """
    rng = np.random.default_rng(seed)
    ids = outputs["output_id"].to_numpy()
    tables = []
    for _, rows in steps.sort_values(["model", "progress"]).groupby("model", sort=False):
        systems = rows["system"].tolist()
        for step in range(1, len(systems)):
            before = systems[max(0, step - 2) : step][::-1]
            for nth, earlier in enumerate(before):
                share = n // len(before) + (nth < n % len(before))
                newer = outputs["system"].eq(systems[step])
                a, b = draw_between(outputs, newer, outputs["system"].eq(earlier), share, rng)
                tables.append(pd.DataFrame({"output_a": ids[a], "output_b": ids[b]}))
    return pd.concat(tables, ignore_index=True)


def win_and_loss(
    comparisons: pd.DataFrame, outputs: pd.DataFrame, steps: pd.DataFrame
) -> pd.DataFrame:
    """Compute how often each checkpoint wins and loses against the two before it.

    A row per checkpoint, in the order of training: model, group (the model), system, progress, win,
    tie, loss (shares of the `checkpoint_pairs` in which it is the newer one), estimate (win - loss,
    -1 to 1), its interval over other samples of the same checkpoints, n_clusters, status, reason, n
    (0 for a model's first checkpoint), confidence.
    """
    played = single_outputs(comparisons)
    system = played["system_a"].map(outputs.set_index("output_id")["system"]).rename("system")
    by_system = played.groupby(system, sort=False)
    newer, older = (
        pd.factorize(played[side])[0].astype(np.int64) for side in ("system_a", "system_b")
    )
    # Number both sides separately, because no output is on both.
    older += newer.max() + 1
    score = (played["win"] + played["tie"] / 2).to_numpy()
    group = np.asarray(by_system.ngroup(), dtype=np.int64)
    rates = rate_intervals(group, score, newer, older, OUTPUTS, confidence=0.95)
    table = by_system[["win", "tie", "loss"]].mean().assign(n=by_system.size()).reset_index()
    table["estimate"] = table["win"] - table["loss"]
    table[["ci_low", "ci_high"]] = 2 * rates[["ci_low", "ci_high"]] - 1
    table = table.join(split_status(rates)[["n_clusters", "status", "reason"]])
    every = steps[["model", "system", "progress"]].sort_values(["model", "progress"])
    table = every.merge(table, on="system", how="left", validate="one_to_one")
    first = explain("nothing_to_compare")
    missing = {"n": 0, "n_clusters": 0, "status": first.code, "reason": first.reason}
    table = table.fillna(missing)
    table = table.astype({"n": "int64", "n_clusters": "int64"})
    return table.assign(confidence=0.95, group=table["model"])


@dataclass(frozen=True, eq=False)
class Choosers:
    """Evaluators that choose models: comparators, an adversarial evaluator and a regressor."""

    comparators: dict[str, Comparator]
    adversary: Comparator
    regressor: Comparator
    #: Evaluator -> description of its training data.
    learned_from: dict[str, str]


@checked
def train_choosers(
    searches: Searches,
    *,
    threshold: float,
    n_pairs: int = 2_000,
    backend: Literal["tfidf", "frozen"] = "tfidf",
    seed: int = 0,
    pair_seed: Seed = 0,
) -> Choosers:
    """Train the evaluators of Table 3 of Zhou and Xu (2020) on the training data of `searches`.

    Mean judgments that differ by at most `threshold` count as tied; `n_pairs` are for each kind of
    supervision. `backend` and `seed` are as in `nlgbench.train_comparator`.

    Of the comparators, ``comparator`` is trained on all kinds of pairs, ``comparator_human`` only
    on human judgments, and ``comparator_self`` on the other kinds.
    """
    rng, training = np.random.default_rng(pair_seed), searches.training
    assert training.judgments is not None
    strong = strong_pairs(training.outputs, n=n_pairs, seed=rng)
    rated = human_pairs(
        training.outputs,
        training.judgments,
        dimension=training.dimension(),
        threshold=threshold,
        n=n_pairs,
        seed=rng,
    )
    unrated = [strong]
    if searches.checkpoints is not None:
        steps = searches.models[searches.models["kind"] == "development"]
        unrated.append(weak_pairs(training.outputs, steps, n=n_pairs, seed=rng))
    supervision = {
        "comparator_human": rated,
        "comparator": pd.concat([*unrated, rated]),
        "comparator_self": pd.concat(unrated),
    }
    learned_from = {
        name: " + ".join(pairs["supervision"].unique()) + " pairs"
        for name, pairs in supervision.items()
    }
    learned_from |= {"regressor": "human ratings", "adversarial": "human or machine"}
    learned_from |= {"bleu": "nothing; human references", "perplexity": "nothing; held-out texts"}
    encoder = None
    if backend == "frozen":
        from nlgbench.evaluators.comparator.encoder import load_encoder

        encoder = load_encoder()  # shared, because it caches embeddings
    options: dict[str, Any] = {"backend": backend, "encoder": encoder}
    return Choosers(
        comparators={
            name: comparators.train_comparator(pairs, **options, seed=seed)
            for name, pairs in supervision.items()
        },
        adversary=comparators.train_comparator(strong, compares=False, **options, seed=seed),
        regressor=train_regressor(training, **options),
        learned_from=learned_from,
    )


@checked
def score_models(searches: Searches, choosers: Choosers) -> pd.DataFrame:
    """Score models with evaluators that score single texts or whole models.

    A row per evaluator and model: evaluator (``bleu``: mean of BLEU-2, 3 and 4 against the ten
    most similar human texts; ``adversarial``; ``regressor``; ``perplexity``, negated), system,
    score (mean over texts), se, kind, group, model, progress.
    """
    table, related = searches.to_judge, searches.training.related
    assert related is not None
    people = related["human"].outputs["text"].tolist()
    texts = table["text"].tolist()
    references = similar_references(texts, people, n=10, copies=True)
    of_text = table[["output_id", "system"]].assign(
        bleu=bleu(texts, references)[:, 1:].mean(axis=1)
    )
    study = from_tables(table, name="models")
    for name, evaluator in (("adversarial", choosers.adversary), ("regressor", choosers.regressor)):
        of_text[name] = of_text["output_id"].map(evaluator.score_outputs(study))
    of_text = of_text.melt(["output_id", "system"], var_name="evaluator", value_name="score")
    of_model = of_text.groupby(["evaluator", "system"], sort=False)["score"]
    scores = of_model.agg(score="mean", se="sem").reset_index()
    models = searches.models[searches.models["kind"] != "development"]
    likely = models[["system"]].assign(evaluator="perplexity", score=-models["perplexity"])
    columns = models[["system", "kind", "group", "model", "progress"]]
    return pd.concat([scores, likely]).merge(columns, on="system", validate="many_to_one")


@checked
def rate_searches(
    searches: Searches,
    choosers: Choosers,
    *,
    n_comparisons: int = 200,
    seed: int = 0,
    pair_seed: Seed = 0,
) -> pd.DataFrame:
    """Rate the models of each search by each comparator's verdicts, as scores for `choose`."""
    rng = np.random.default_rng(pair_seed)
    models = searches.models.set_index("system")
    kind = searches.to_judge["system"].map(models["kind"])
    searched = searches.to_judge[kind == "search"].reset_index(drop=True)
    pairs = pd.concat(
        system_pairs(rows, n_per_pair=n_comparisons // 4, seed=rng)
        for _, rows in searched.groupby(searched["system"].map(models["group"]))
    )
    ratings = []
    for name, comparator in choosers.comparators.items():
        verdicts = compare(comparator, searched, pairs)
        played = read_games(from_tables(searched, comparisons=verdicts, name="searches"))
        order = np.random.default_rng(seed)
        for group, rows in played.groupby(played["system_a"].map(models["group"])):
            rated = glicko2(rows, seed=order).assign(group=group, evaluator=name)
            ratings.append(rated.rename(columns={"estimate": "score"}))
    table = pd.concat(ratings, ignore_index=True)
    return table[["group", "evaluator", "system", "score", "deviation", "volatility", "n_games"]]


@checked
def stop_training(
    searches: Searches,
    choosers: Choosers,
    scores: pd.DataFrame,
    *,
    patience: int = 5,
    kind: Literal["stopping", "overfitting"] = "stopping",
    n_comparisons: int = 200,
    seed: Seed = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stop each training run of a kind early, based on each evaluator in turn.

    A run stops after `patience` consecutive checkpoints that lose more often than they win in
    `n_comparisons`, or whose scores do not exceed the best so far (5 in Zhou and Xu 2020). `scores`
    are from `score_models`. If the truth is known, ``oracle`` applies the rule to true quality.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        First, the checkpoint that each evaluator keeps: evaluator (``last_checkpoint`` never
        stops), group, system, progress, stopped_at (NaN if training runs to the end). Second,
        comparators' rates: evaluator, model, system, progress, win, tie, loss (against the two
        preceding checkpoints), estimate with its 95% interval.
    """
    steps = searches.models[searches.models["kind"] == kind]
    outputs = searches.to_judge[searches.to_judge["system"].isin(steps["system"])]
    outputs = outputs.reset_index(drop=True)
    pairs = checkpoint_pairs(outputs, steps, n=n_comparisons, seed=seed)
    rates = pd.concat(
        win_and_loss(compare(comparator, outputs, pairs), outputs, steps).assign(evaluator=name)
        for name, comparator in choosers.comparators.items()
    )
    run_scores = scores.loc[scores["kind"] == kind, ["evaluator", "system", "score"]]
    if searches.truth is not None:
        truth = searches.truth.loc[searches.truth["kind"] == kind, ["system", "quality"]]
        truth = truth.rename(columns={"quality": "score"}).assign(evaluator=ORACLE)
        run_scores = pd.concat([run_scores, truth])
    run_scores = run_scores.merge(steps[["system", "model", "progress"]], on="system")
    run_scores = run_scores.assign(group=run_scores["model"])
    last = steps.loc[steps["progress"] == 1, ["model", "system", "progress"]]
    last = last.rename(columns={"model": "group"}).assign(evaluator=LAST)
    return pd.concat([stop(rates, patience), stop(run_scores, patience), last]), rates


@checked
def count_stops(stops: pd.DataFrame) -> pd.DataFrame:
    """Count the runs stopped before their end (Wilson's interval), by experiment and evaluator.

    `stops` is the first result of `stop_training`, with an added column experiment.
    """
    counted = stops.assign(stopped=stops["stopped_at"].notna())
    counts = counted.groupby(["experiment", "evaluator"])["stopped"].agg(stopped="sum", n="size")
    low, high = proportion_confint(counts["stopped"], counts["n"], method="wilson")
    return counts.assign(ci_low=low * counts["n"], ci_high=high * counts["n"]).reset_index()


@checked
def one_training(
    searches: Searches, scores: pd.DataFrame, rates: pd.DataFrame, stops: pd.DataFrame
) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """Choose a training run to plot: where true quality varies most (if unknown, the first).

    Returns the model, its curves and the kept checkpoints, for `nlgbench.plot_training`. Intervals
    have 95% confidence and are over texts. ``quality`` is the truth, if known. Perplexity is on the
    log scale (nats per word, lower is better), without an interval.
    """
    model, tables, marks = str(stops["group"].iloc[0]), [], []
    if searches.truth is not None:
        truth = searches.truth[searches.truth["model"].isin(stops["group"])]
        model = str(truth.groupby("model")["quality"].agg(np.ptp).idxmax())
        rows = truth[truth["model"] == model].assign(evaluator="quality")
        tables.append(_curve(rows, rows["quality"], 1.96 * rows["se"]))
        marks.append(rows.loc[[rows["quality"].idxmax()], ["evaluator", "progress"]])
    run_scores = scores[scores["model"] == model]
    perplexity = run_scores["evaluator"] == "perplexity"
    value = run_scores["score"].mask(perplexity, np.log(-run_scores["score"].where(perplexity)))
    tables.append(_curve(run_scores, value, norm.ppf(0.975) * run_scores["se"].mask(perplexity)))
    tables.append(rates[rates["model"] == model])
    columns = ["evaluator", "progress", "estimate", "ci_low", "ci_high"]
    curves = pd.concat([table[columns] for table in tables], ignore_index=True)
    curves = curves.assign(confidence=0.95)
    marks.append(stops.loc[stops["group"] == model, ["evaluator", "progress"]])
    chosen = pd.concat(marks, ignore_index=True)
    return model, curves, chosen[chosen["evaluator"].isin(curves["evaluator"])]


def _curve(rows: pd.DataFrame, value: pd.Series, half: pd.Series) -> pd.DataFrame:
    return rows.assign(estimate=value, ci_low=value - half, ci_high=value + half)


@checked
def judge_choices(searches: Searches, chosen: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare the chosen models with the truly best ones, with and without a tolerance.

    `chosen` are results of `choose` or `stop_training` by experiment. In ``hyperparameter_search``,
    the choice is among the settings of a group, in all others among the checkpoints of a model.

    evaluator (``random choice`` last), measure, estimate, ci_low, ci_high, confidence, n
    (groups with a choice), n_undefined (groups without one), status (a code; ``ok``), reason
    (its text), experiment, variant (``tolerance=0`` or ``tolerance=2 se``). With the latter,
    models within two standard errors of a difference from the best count as best. Measures:
    ``win_times`` (number of groups where the choice is the best model), ``wins_among_choices``
    (where it is the best of all choices), and means over groups: ``quality``, ``regret`` (the
    group's best quality minus the choice's), ``gain`` (the choice's minus the group's mean).

    Notes
    -----
    Win times and mean quality are those of Table 3 of Zhou and Xu (2020), which does not specify
    whether wins are among all five models of a group or among the chosen ones. Both are reported,
    and tied best models all count. Intervals are over groups: Wilson's for counts, Student's t for
    means (of few, skewed regrets slightly too narrow). The expected win times of a random choice
    are exact, given the groups.
    """
    assert searches.truth is not None
    truth = searches.truth
    candidates = truth.assign(group=truth["group"].where(truth["kind"] == "search", truth["model"]))
    results = []
    for experiment, table in chosen.items():
        quality = candidates[candidates["group"].isin(table["group"])]
        se = np.sqrt(2) * quality["se"].median()
        for variant, tolerance in (("tolerance=2 se", 2 * float(se)), ("tolerance=0", 0.0)):
            measures = measure_choices(table, quality, tolerance)
            results.append(measures.assign(experiment=experiment, variant=variant))
    return pd.concat(results, ignore_index=True)


def measure_choices(
    chosen: pd.DataFrame, quality: pd.DataFrame, tolerance: float = 0.0
) -> pd.DataFrame:
    """Compute the measures of `judge_choices`; `quality` has group, system, quality."""
    qualities = quality.groupby("group")["quality"]
    group_table = pd.DataFrame({"best": qualities.max(), "average": qualities.mean()})
    is_best = ~exceeds(quality["group"].map(group_table["best"]) - tolerance, quality["quality"])
    group_table["share_best"] = is_best.groupby(quality["group"]).mean()
    picked = chosen[["evaluator", "group", "system"]].merge(
        quality, how="left", validate="many_to_one"
    )
    picked = picked.join(group_table, on="group")
    top = picked.groupby("group")["quality"].transform("max")
    picked["wins_among_choices"] = ~exceeds(top - tolerance, picked["quality"])
    picked["win_times"] = ~exceeds(picked["best"] - tolerance, picked["quality"])
    picked["regret"] = picked["best"] - picked["quality"]
    picked["gain"] = picked["quality"] - picked["average"]
    rows = []
    measures = ["win_times", "wins_among_choices", "quality", "regret", "gain"]
    for evaluator, choices in picked.groupby("evaluator", sort=False):
        defined = choices.dropna(subset="quality")
        n = {"evaluator": evaluator, "n": len(defined), "n_undefined": len(choices) - len(defined)}
        rows += [n | {"measure": name} | _over_groups(defined[name]) for name in measures]
    groups = group_table.loc[picked["group"].unique()]
    exact = {"ci_low": np.nan, "ci_high": np.nan, "status": explain("exact")}
    of_random = {
        "win_times": exact | {"estimate": groups["share_best"].sum()},
        "quality": _over_groups(groups["average"]),
        "regret": _over_groups(groups["best"] - groups["average"]),
        "gain": exact | {"estimate": 0.0},
    }
    n = {"evaluator": RANDOM, "n": len(groups), "n_undefined": 0}
    rows += [n | {"measure": name} | values for name, values in of_random.items()]
    columns = ["evaluator", "measure", "estimate", "ci_low", "ci_high", "confidence", "n"]
    table = split_status(pd.DataFrame(rows).assign(confidence=0.95))
    return table[[*columns, "n_undefined", "status", "reason"]]


def _over_groups(values: pd.Series) -> dict[str, object]:
    """Count successes (Wilson's interval), or average numbers (Student's t)."""
    n, is_binary = len(values), values.dtype == bool
    too_few = n < (1 if is_binary else 2)
    if too_few or (not is_binary and np.ptp(values) <= 1e-12 * values.abs().max()):
        only = float(values.iloc[0]) if n else np.nan
        status = explain("few_groups" if too_few else "no_variation")
        return {"estimate": only, "ci_low": np.nan, "ci_high": np.nan, "status": status}
    if is_binary:
        low, high = proportion_confint(int(values.sum()), n, method="wilson")
        estimate, low, high = float(values.sum()), low * n, high * n
    else:
        estimate, (low, high) = float(values.mean()), DescrStatsW(values).tconfint_mean()
    return {"estimate": estimate, "ci_low": low, "ci_high": high, "status": OK}
