"""Choosing models by an evaluator, among settings or checkpoints: Table 3 of Learning to Compare.

Zhou and Xu (2020), doi:10.1609/aaai.v34i05.6521. What is chosen between comes in groups: the
settings of one search, or the checkpoints of one training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from nlgbench.analysis.ratings.bradley_terry import OUTPUTS, rate_intervals
from nlgbench.analysis.ratings.games import games, single_outputs
from nlgbench.analysis.ratings.glicko import glicko2
from nlgbench.evaluators.comparator.comparators import (
    Comparator,
    compare,
    exceeds,
    train_comparator,
)
from nlgbench.evaluators.comparator.pairs import (
    draw_between,
    human_pairs,
    strong_pairs,
    system_pairs,
    weak_pairs,
)
from nlgbench.evaluators.comparator.regressor import Regressor, train_regressor
from nlgbench.evaluators.overlap import bleu
from nlgbench.evaluators.references import similar_references
from nlgbench.study import Study, trusted
from nlgbench.study.checks import checked, read_table
from nlgbench.worlds.searches import Searches

#: What `choices` calls the baseline that picks any of the group's systems alike.
RANDOM = "random choice"
#: The baseline that never stops.
LAST = "last_checkpoint"


@checked
def choose(scores: pd.DataFrame, *, patience: int | None = None) -> pd.DataFrame:
    """Let each evaluator choose a system in each group, or the checkpoint at which to stop.

    Parameters
    ----------
    scores : DataFrame
        A row per evaluator, group and system: evaluator, group, system, score (higher is better:
        negate perplexity; a skill rating is such a score; NaN is never chosen). To stop also
        progress, from 0 to 1; or, in place of the score, win and loss against the checkpoints
        before, as from `win_and_loss`.
    patience : int, optional
        Stop training after so many checkpoints one after another that lose more often than they
        win, or without a higher score; 5 in the paper. Default: choose the highest score of all.

    Returns
    -------
    DataFrame
        A row per evaluator and group: evaluator, group, system (missing where no score is defined),
        and n_undefined, how many systems have no score; to stop progress (of the checkpoint that is
        kept) and stopped_at (progress at which training stops; NaN where it goes to the end).

    Raises
    ------
    ValueError
        When a column is missing, a system or checkpoint stands twice, or `patience` is below 1.

    Notes
    -----
    Of scores that are equal (within 1e-9) the first is chosen. Zhou and Xu (2020, section 4.1) stop
    once the newest checkpoint has lost more often than it won five times running. Which checkpoint
    is then used they do not say: here it is the last one before the losing streak, or the last of
    all where training never stops. Equal rates end a streak, as do undefined ones. For evaluators
    that score one checkpoint at a time the best is kept once it is `patience` checkpoints old; the
    paper does not say what it did for these.

    Examples
    --------
    >>> scores = pd.DataFrame({"evaluator": "e", "group": "g", "system": [*"abcd"]})
    >>> scores = scores.assign(score=[0.1, 0.3, 0.2, 0.9], progress=[0.25, 0.5, 0.75, 1])
    >>> choose(scores)["system"].item(), choose(scores, patience=1)["system"].item()
    ('d', 'b')
    """
    if patience is None:
        return _choose_best(scores)
    if patience < 1:
        raise ValueError(f"patience must be at least 1. Got {patience}.")
    if {"win", "loss"} <= set(scores.columns):
        return _stop_on_losses(scores, patience)
    return _stop_on_scores(scores, patience)


def _choose_best(scores: pd.DataFrame) -> pd.DataFrame:
    scores = _checked(scores, ["evaluator", "group", "system"], "score:number", "scores have")
    found = []
    for (evaluator, group), rows in scores.groupby(["evaluator", "group"], sort=False):
        defined = rows.dropna(subset="score")
        score = defined["score"].to_numpy()
        # The first that none exceeds.
        system = (
            None
            if defined.empty
            else defined["system"].iloc[(~exceeds(score.max(), score)).argmax()]
        )
        row = {"evaluator": evaluator, "group": group, "system": system}
        found.append(row | {"n_undefined": len(rows) - len(defined)})
    return pd.DataFrame(found)


def _stop_on_losses(rates: pd.DataFrame, patience: int) -> pd.DataFrame:
    found = []
    for names, rows in _runs(rates, ("win", "loss")):
        chosen, stopped, streak = len(rows) - 1, float("nan"), 0
        for at, lost in enumerate(exceeds(rows["loss"], rows["win"]).tolist()):
            streak = streak + 1 if lost else 0
            if streak == patience:
                chosen, stopped = max(at - patience, 0), rows["progress"].iloc[at]
                break
        found.append({**names, **_checkpoint(rows, chosen), "stopped_at": stopped})
    return pd.DataFrame(found)


def _stop_on_scores(scores: pd.DataFrame, patience: int) -> pd.DataFrame:
    found = []
    for names, rows in _runs(scores, ("score",)):
        best, chosen, stopped = -np.inf, -1, float("nan")
        for at, score in enumerate(rows["score"].tolist()):
            if exceeds(score, best):
                best, chosen = score, at
            elif at - chosen == patience:
                stopped = rows["progress"].iloc[at]
                break
        found.append({**names, **_checkpoint(rows, chosen), "stopped_at": stopped})
    return pd.DataFrame(found)


def _runs(
    table: pd.DataFrame, values: tuple[str, ...]
) -> list[tuple[dict[str, str], pd.DataFrame]]:
    """Part a table by evaluator and group, each in the order of training."""
    columns = " ".join(["system:key", *(f"{value}:number" for value in values)])
    table = _checked(table, ["evaluator", "group", "progress"], columns, "scores have")
    return [
        ({"evaluator": str(evaluator), "group": str(group)}, rows.sort_values("progress"))
        for (evaluator, group), rows in table.groupby(["evaluator", "group"], sort=False)
    ]


def _checkpoint(rows: pd.DataFrame, at: int) -> dict[str, object]:
    if at < 0:
        return {"system": None, "progress": float("nan")}
    return {"system": rows["system"].iloc[at], "progress": rows["progress"].iloc[at]}


def checkpoint_pairs(
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    n: int,
    k: int = 2,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw pairs in which each checkpoint of a model (output_a) meets the k before it.

    Zhou and Xu (2020, section 4.1): n "e.g. 1000", k "e.g. 2". How the k share the n they do not
    say: here evenly; where that does not come out even, the later ones have one more. Outputs meet
    where their contexts are equal; no two meet twice, though with fewer than n outputs one of them
    stands in several pairs. Equal texts are left out.
    """
    rng = np.random.default_rng(seed)
    ids = outputs["output_id"].to_numpy()
    parts = []
    for _, steps in _in_order(checkpoints).groupby("model", sort=False):
        systems = steps["system"].tolist()
        for at in range(1, len(systems)):
            before = systems[max(0, at - k) : at][::-1]
            for place, earlier in enumerate(before):
                share = n // len(before) + (place < n % len(before))
                newer = outputs["system"].eq(systems[at])
                rows = draw_between(outputs, newer, outputs["system"].eq(earlier), share, rng)
                parts.append(pd.DataFrame({"output_a": ids[rows[0]], "output_b": ids[rows[1]]}))
    if sum(map(len, parts)) == 0:
        raise ValueError(
            "no model has two checkpoints with outputs of equal context and different text: give "
            "the outputs of the checkpoints."
        )
    return pd.concat(parts, ignore_index=True)


@checked
def win_and_loss(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how often each checkpoint wins and loses against those just before it.

    Parameters
    ----------
    comparisons : DataFrame
        Of the pairs of `checkpoint_pairs`, by any comparators.
    outputs : DataFrame
        ``outputs``, a system per checkpoint.
    checkpoints : DataFrame
        system, model, progress; checkpoints of several models may follow each other.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per comparator and checkpoint, in the order of training: evaluator (the comparator),
        model, group (the model), system (the checkpoint), progress, win, tie, loss (shares of the
        comparisons in which it was the newer one), difference (win - loss, -1 to 1), ci_low,
        ci_high (of the difference, not clipped), n_clusters, reason, n (comparisons), confidence. A
        checkpoint that met no earlier one, such as a model's first, has n = 0 and the rest NaN.

    Raises
    ------
    ValueError
        When an output is no checkpoint's, or compared with another model's.

    Notes
    -----
    The likeliest of win, tie and loss counts. The difference is twice the win rate (a tie half)
    less one, and so is its interval: for other samples of the same checkpoints, and this
    comparator. One output stands in several pairs. In 2,000 simulations of 300 pairs of 30 outputs
    each, 95% intervals held the truth in .95; with pairs taken as independent, in .50 of 300.

    Examples
    --------
    >>> outputs = pd.DataFrame({"output_id": [*"ab"], "system": [*"ab"]})
    >>> steps = pd.DataFrame({"system": [*"ab"], "model": "m", "progress": [0.5, 1.0]})
    >>> said = pd.DataFrame({"output_a": ["b"], "output_b": ["a"], "comparator": "c"})
    >>> said = said.assign(prob_a=0.2, prob_tie=0.1, prob_b=0.7)
    >>> win_and_loss(said, outputs, steps)[["system", "win", "loss", "n"]].values.tolist()
    [['a', nan, nan, 0], ['b', 0.0, 1.0, 1]]
    """
    played = single_outputs(comparisons)  # so that it is known which output is newer
    steps = _in_order(checkpoints)
    of = outputs[["output_id", "system"]].merge(steps, on="system").set_index("output_id")
    for side in ("a", "b"):
        ids = played[f"system_{side}"]
        if not ids.isin(of.index).all():
            lost = ids[~ids.isin(of.index)].iloc[0]
            raise ValueError(f"output {lost!r} is no checkpoint's: pass those that were compared.")
        for name in ("model", "progress", "system"):
            played[f"{name}_of_{side}"] = of.loc[ids, name].to_numpy()
    foreign = played["model_of_a"] != played["model_of_b"]
    if foreign.any():
        row = played[foreign].iloc[0]
        raise ValueError(
            f"outputs {row['system_a']!r} and {row['system_b']!r} are of different models: draw "
            "pairs with checkpoint_pairs."
        )
    a_is_newer = (played["progress_of_a"] > played["progress_of_b"]).to_numpy()
    played = pd.DataFrame(
        {
            "comparator": played["comparator"],
            "system": np.where(a_is_newer, played["system_of_a"], played["system_of_b"]),
            "newer": np.where(a_is_newer, played["system_a"], played["system_b"]),
            "older": np.where(a_is_newer, played["system_b"], played["system_a"]),
            "win": np.where(a_is_newer, played["win"], played["loss"]),
            "tie": played["tie"],
            "loss": np.where(a_is_newer, played["loss"], played["win"]),
        }
    )
    found = []
    for comparator, rows in played.groupby("comparator", sort=False):
        group, systems = pd.factorize(rows["system"])
        newer, older = (pd.factorize(rows[side])[0] for side in ("newer", "older"))
        # No output is on both sides: a checkpoint's own are new, all others' old.
        older += newer.max() + 1
        score = (rows["win"] + rows["tie"] / 2).to_numpy()
        rates = rate_intervals(group, score, newer, older, OUTPUTS, confidence=confidence)
        table = pd.DataFrame({"evaluator": comparator, "system": systems})
        for kind in ("win", "tie", "loss"):
            table[kind] = np.bincount(group, rows[kind]) / np.bincount(group)
        table["difference"] = table["win"] - table["loss"]
        table[["ci_low", "ci_high"]] = 2 * rates[["ci_low", "ci_high"]] - 1
        found.append(table.join(rates[["n_clusters", "reason"]]).assign(n=np.bincount(group)))
    every = steps.merge(played["comparator"].drop_duplicates().rename("evaluator"), how="cross")
    every = every[["evaluator", "model", "system", "progress"]]
    table = every.merge(pd.concat(found), how="left", validate="one_to_one")
    for name in ("n", "n_clusters"):
        table[name] = table[name].fillna(0).astype("int64")
    table["reason"] = table["reason"].fillna("")
    table["confidence"] = confidence
    table["group"] = table["model"]
    return table.sort_values(["evaluator", "model", "progress"], ignore_index=True)


@checked
def choices(
    chosen: pd.DataFrame,
    quality: pd.DataFrame,
    *,
    tolerance: float = 0.0,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Say how good the systems are that evaluators choose.

    Parameters
    ----------
    chosen : DataFrame
        A row per evaluator and group: evaluator, group, system (missing where it could not
        choose), as from `choose`.
    quality : DataFrame
        A row per group and system that can be chosen: group, system, quality (the true one, higher
        is better).
    tolerance : float
        Systems whose quality is within this of the group's best are equally the best; so much as
        cannot be told apart where quality is itself measured.
    confidence : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per evaluator and measure, those of `RANDOM` last: evaluator, measure, estimate,
        ci_low, ci_high, confidence, n (groups with a choice), n_undefined (groups without: left
        out, never 0), reason (why there is no interval, or ""). Measures: ``win_times`` (groups in
        which its choice is the best of all systems), ``wins_among_choices`` (the best of what the
        evaluators of `chosen` chose), ``quality`` (mean over groups), ``regret`` (mean distance
        from the group's best, 0 is none), ``gain`` (mean distance from the group's average system,
        which is what a random choice gets).

    Raises
    ------
    ValueError
        When a column is missing, an evaluator chose twice in a group or a system that cannot be
        chosen, a quality is missing, or a number is out of range.

    Notes
    -----
    Win times and mean quality are Table 3 of the paper, where people tell the best. It is not
    clear whether of all five models of a group, or of those that were chosen: hence both; equal
    best all count. Intervals are over groups: Wilson's for counts, Student's t for means, so that
    regret and gain are paired within groups. Regret is skewed, and with ten groups its interval
    holds the mean in .90 rather than .95 of samples where regrets are exponential (a percentile
    bootstrap: .87). A random choice's win times are exact given the groups: the sum of the shares
    of systems that are the best. Where all groups agree, a mean's interval has no width.

    Where quality is a mean over sampled texts, the best is in part the luckiest: regret is too high
    by about what the sampling error makes of it, for all evaluators alike.

    Examples
    --------
    >>> quality = pd.DataFrame({"group": ["g", "g", "h", "h"], "system": [*"abcd"]})
    >>> quality["quality"] = [1.0, 3.0, 2.0, 5.0]
    >>> chosen = pd.DataFrame({"evaluator": "e", "group": ["g", "h"], "system": ["b", "c"]})
    >>> table = choices(chosen, quality).set_index(["evaluator", "measure"])["estimate"]
    >>> table["e"].to_dict()
    {'win_times': 1.0, 'wins_among_choices': 2.0, 'quality': 2.5, 'regret': 1.5, 'gain': -0.25}
    >>> float(table[RANDOM, "win_times"])
    1.0
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be 0 or more, in units of quality. Got {tolerance}.")
    chosen = _checked(chosen, ["evaluator", "group"], "system?", "chosen has")
    quality = _checked(quality, ["group", "system"], "quality:float", "quality has")
    if quality["quality"].isna().any():
        row = quality[quality["quality"].isna()].iloc[0]
        raise ValueError(f"quality of {row['system']!r} in {row['group']!r} is missing.")
    of = quality.groupby("group")["quality"]
    about = pd.DataFrame({"best": of.max(), "average": of.mean()})
    is_best = ~exceeds(quality["group"].map(about["best"]) - tolerance, quality["quality"])
    about["share_best"] = is_best.groupby(quality["group"]).mean()

    picked = chosen[["evaluator", "group", "system"]].merge(
        quality[["group", "system", "quality"]], how="left", validate="many_to_one"
    )
    strange = picked["system"].notna() & picked["quality"].isna()
    if strange.any():
        row = picked[strange].iloc[0]
        raise ValueError(
            f"{row['evaluator']!r} chose {row['system']!r} in {row['group']!r}, which quality does "
            "not have: give the quality of all that can be chosen."
        )
    picked = picked.join(about, on="group")
    top = picked.groupby("group")["quality"].transform("max")
    picked["wins_among_choices"] = ~exceeds(top - tolerance, picked["quality"])
    picked["win_times"] = ~exceeds(picked["best"] - tolerance, picked["quality"])
    picked["regret"] = picked["best"] - picked["quality"]
    picked["gain"] = picked["quality"] - picked["average"]

    found = []
    for evaluator, rows in picked.groupby("evaluator", sort=False):
        defined = rows.dropna(subset="quality")
        common = {"evaluator": evaluator, "confidence": confidence, "n": len(defined)}
        common["n_undefined"] = len(rows) - len(defined)
        for measure in ("win_times", "wins_among_choices"):
            found.append(common | {"measure": measure} | _count(defined[measure], confidence))
        for measure in ("quality", "regret", "gain"):
            found.append(common | {"measure": measure} | _mean(defined[measure], confidence))
    groups = about.loc[picked["group"].unique()]
    common = {"evaluator": RANDOM, "confidence": confidence, "n": len(groups), "n_undefined": 0}
    exact = {"ci_low": np.nan, "ci_high": np.nan, "reason": "exact, given the groups"}
    found += [
        common | {"measure": "win_times", "estimate": groups["share_best"].sum()} | exact,
        common | {"measure": "quality"} | _mean(groups["average"], confidence),
        common | {"measure": "regret"} | _mean(groups["best"] - groups["average"], confidence),
        common | {"measure": "gain", "estimate": 0.0} | exact,
    ]
    columns = ["evaluator", "measure", "estimate", "ci_low", "ci_high", "confidence", "n"]
    return pd.DataFrame(found)[[*columns, "n_undefined", "reason"]]


def _count(won: pd.Series, confidence: float) -> dict[str, object]:
    """Count successes, with Wilson's interval for their expected number."""
    if won.empty:
        return _undefined()
    low, high = proportion_confint(int(won.sum()), len(won), alpha=1 - confidence, method="wilson")
    ends = {"ci_low": low * len(won), "ci_high": high * len(won), "reason": ""}
    return {"estimate": float(won.sum()), **ends}


def _mean(values: pd.Series, confidence: float) -> dict[str, object]:
    """Average over groups, with Student's interval."""
    if len(values) < 2:
        only = float(values.iloc[0]) if len(values) else np.nan
        return _undefined() | {"estimate": only}
    half = (
        student.ppf(0.5 + confidence / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    )
    mean = float(values.mean())
    return {"estimate": mean, "ci_low": mean - half, "ci_high": mean + half, "reason": ""}


def _undefined() -> dict[str, object]:
    reason = "fewer than two groups with a choice"
    return {"estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan, "reason": reason}


def _checked(table: pd.DataFrame, keys: list[str], values: str, subject: str) -> pd.DataFrame:
    kinds = " ".join(f"{key}:{'float' if key == 'progress' else 'key'}" for key in keys)
    table = read_table(table, f"{kinds} {values}", subject)
    twice = table[table.duplicated(keys)]
    if len(twice):
        found = ", ".join(f"{name} {twice.iloc[0][name]!r}" for name in keys)
        raise ValueError(f"{subject} two rows for {found}: keep one.")
    return table


def training_curves(scores: pd.DataFrame) -> pd.DataFrame:
    """Turn the scores of checkpoints into curves to draw: value, ci_low, ci_high (normal, 95%).

    Perplexity, whose score is minus the perplexity, is drawn as its logarithm (nats per word, lower
    is better), without an interval.
    """
    value = scores["score"].astype("float64")
    of_perplexity = scores["evaluator"] == "perplexity"
    wrong = of_perplexity & (value >= 0)
    if wrong.any():
        raise ValueError(
            "the score of perplexity must be minus the perplexity, below 0. Got "
            f"{value[wrong].iloc[0]}: turn its sign."
        )
    half = norm.ppf(0.975) * scores["se"].mask(of_perplexity)
    value[of_perplexity] = np.log(-value[of_perplexity])
    return scores.assign(value=value, ci_low=value - half, ci_high=value + half)


def _in_order(checkpoints: pd.DataFrame) -> pd.DataFrame:
    """Check a table of checkpoints, and sort it."""
    missing = {"system", "model", "progress"} - set(checkpoints.columns)
    if missing:
        raise ValueError(
            f"checkpoints must have columns system, model, progress. Missing: {sorted(missing)}."
        )
    for columns in (["system"], ["model", "progress"]):
        twice = checkpoints[checkpoints.duplicated(columns)]
        if len(twice):
            found = ", ".join(f"{name} {twice.iloc[0][name]!r}" for name in columns)
            raise ValueError(f"checkpoints have two rows for {found}: keep one.")
    return checkpoints[["system", "model", "progress"]].sort_values(["model", "progress"])


@dataclass(frozen=True, eq=False)
class Choosers:
    """Evaluators that choose models: comparators by name, an adversarial one, a regressor."""

    comparators: dict[str, Comparator]
    adversary: Comparator
    regressor: Regressor
    #: Evaluator -> what it learned from, in words.
    learned_from: dict[str, str]


@checked
def train_choosers(
    searches: Searches,
    *,
    threshold: float,
    n_pairs: int = 2_000,
    backend: Literal["tfidf", "frozen"] = "tfidf",
    seed: int = 0,
    pair_seed: int | np.random.Generator = 0,
) -> Choosers:
    """Train the evaluators of Table 3 on what `searches` has to learn from.

    Parameters
    ----------
    searches : Searches
        Models to choose between.
    threshold : float
        Mean judgments that differ by so much or less tie.
    n_pairs : int
        Of each kind of supervision.
    backend, seed
        As in `nlgbench.train_comparator`.
    pair_seed : int or Generator
        Of the pairs.

    Returns
    -------
    Choosers
        ``comparator`` learned from all kinds of pairs, ``comparator_human`` from people's judgments
        alone, ``comparator_self`` from all but these.
    """
    rng, training = np.random.default_rng(pair_seed), searches.training
    dimension = training.dimension()
    assert training.judgments is not None
    strong = strong_pairs(training.outputs, n=n_pairs, seed=rng)
    machine = training.outputs
    options = {"dimension": dimension, "threshold": threshold, "n": n_pairs}
    rated = human_pairs(machine, training.judgments, **options, seed=rng)  # type: ignore[arg-type]
    others = [strong]
    if searches.checkpoints is not None:
        steps = searches.models[searches.models["kind"] == "development"]
        others.append(weak_pairs(training.outputs, steps, n=n_pairs, seed=rng))
    supervision = {
        "comparator_human": [rated],
        "comparator": [*others, rated],
        "comparator_self": others,
    }
    learned_from = {
        name: " + ".join(dict.fromkeys(pd.concat(pairs)["supervision"])) + " pairs"
        for name, pairs in supervision.items()
    }
    learned_from |= {"regressor": "human ratings", "adversarial": "human or machine"}
    learned_from |= {"bleu": "nothing; human references", "perplexity": "nothing; held-out texts"}
    encoder = None
    if backend == "frozen":
        from nlgbench.evaluators.comparator.encoder import load_encoder

        encoder = load_encoder()  # one for all, as it remembers what it read
    made: dict[str, Any] = {"backend": backend, "encoder": encoder}
    return Choosers(
        comparators={
            name: train_comparator(pd.concat(pairs), **made, seed=seed)
            for name, pairs in supervision.items()
        },
        adversary=train_comparator(strong, compares=False, **made, seed=seed),
        regressor=train_regressor(training, **made),
        learned_from=learned_from,
    )


@checked
def score_models(searches: Searches, choosers: Choosers) -> pd.DataFrame:
    """Score models by evaluators that see one text, or one model, at a time.

    Parameters
    ----------
    searches : Searches
        Models to choose between.
    choosers : Choosers
        From `train_choosers`.

    Returns
    -------
    DataFrame
        evaluator (bleu: mean of BLEU-2, 3 and 4 against the ten most similar human texts;
        adversarial, regressor; perplexity, with a minus), system, score (mean over texts), se,
        kind, group, model, progress.
    """
    table, related = searches.to_judge, searches.training.related
    assert related is not None
    people = related["human"].outputs["text"].tolist()
    texts = table["text"].tolist()
    references = similar_references(texts, people, n=10, copies=True)
    of_text = table[["output_id", "system"]].assign(
        bleu=bleu(texts, references)[:, 1:].mean(axis=1)
    )
    study = trusted(table, name="models")
    for name, evaluator in (("adversarial", choosers.adversary), ("regressor", choosers.regressor)):
        of_text[name] = of_text["output_id"].map(evaluator.score_outputs(study))
    of_text = of_text.melt(["output_id", "system"], var_name="evaluator", value_name="score")
    of_model = of_text.groupby(["evaluator", "system"], sort=False)["score"]
    scores = of_model.agg(score="mean", se="sem").reset_index()
    own = searches.models[searches.models["kind"] != "development"]
    likely = own[["system"]].assign(evaluator="perplexity", score=-own["perplexity"], se=np.nan)
    about = own[["system", "kind", "group", "model", "progress"]]
    return pd.concat([scores, likely]).merge(about, on="system", validate="many_to_one")


@checked
def rate_searches(
    searches: Searches,
    choosers: Choosers,
    *,
    n_comparisons: int = 200,
    seed: int = 0,
    pair_seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Let the models of each search meet, as comparators choose by skill rating.

    Parameters
    ----------
    searches, choosers
        As in `score_models`.
    n_comparisons : int
        Of each model, about.
    seed : int
        Of the order of games.
    pair_seed : int or Generator
        Of the pairs.

    Returns
    -------
    DataFrame
        group, evaluator, system, score (Glicko-2), deviation, volatility, n_games.
    """
    rng = np.random.default_rng(pair_seed)
    group_of = searches.models.set_index("system")["group"]
    kind = searches.to_judge["system"].map(searches.models.set_index("system")["kind"])
    searched = searches.to_judge[kind == "search"].reset_index(drop=True)
    of = searched.set_index("output_id")["system"]
    pairs = pd.concat(
        system_pairs(rows, n_per_pair=n_comparisons // 4, seed=rng)
        for _, rows in searched.groupby(searched["system"].map(group_of))
    )
    found = []
    for name, comparator in choosers.comparators.items():
        said = compare(comparator, searched, pairs)
        sides = {f"system_{side}": said[f"output_{side}"].map(of) for side in ("a", "b")}
        played = games(said.assign(**sides))
        order = np.random.default_rng(seed)
        for group, rows in played.groupby(played["system_a"].map(group_of)):
            rated = glicko2(rows, seed=order).assign(group=group, evaluator=name)
            found.append(rated.rename(columns={"rating": "score"}))
    whole = pd.concat(found, ignore_index=True)
    return whole[["group", "evaluator", "system", "score", "deviation", "volatility", "n_games"]]


@checked
def stop_training(
    searches: Searches,
    choosers: Choosers,
    scores: pd.DataFrame,
    *,
    patience: int = 5,
    reverse: bool = False,
    n_comparisons: int = 200,
    seed: int | np.random.Generator = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Let evaluators stop trainings, and say what they saw.

    Parameters
    ----------
    searches, choosers
        As in `score_models`.
    scores : DataFrame
        From `score_models`.
    patience : int
        As in `nlgbench.choose`.
    reverse : bool
        Take checkpoints in reverse order, so that quality falls from the first one on.
    n_comparisons : int
        Of each checkpoint.
    seed : int or Generator
        Of the pairs.

    Returns
    -------
    tuple of (DataFrame, DataFrame)
        What each keeps, as from `nlgbench.choose`, with `LAST`, which never stops; and comparators'
        rates, from `win_and_loss`.
    """
    steps = searches.models[searches.models["kind"] == "stopping"]
    if reverse:
        # One checkpoint per epoch: the last one's place is the first one's.
        least = steps.groupby("model")["progress"].transform("min")
        steps = steps.assign(progress=(1 + least - steps["progress"]).round(9))
    outputs = searches.to_judge[searches.to_judge["system"].isin(steps["system"])]
    outputs = outputs.reset_index(drop=True)
    pairs = checkpoint_pairs(outputs, steps, n=n_comparisons, k=2, seed=seed)
    rates = pd.concat(
        win_and_loss(compare(comparator, outputs, pairs), outputs, steps).assign(evaluator=name)
        for name, comparator in choosers.comparators.items()
    )
    own = scores.loc[scores["kind"] == "stopping", ["evaluator", "system", "score"]]
    own = own.merge(steps[["system", "model", "progress"]], on="system")
    own = own.assign(group=own["model"])
    last = steps.loc[steps["progress"] == 1, ["model", "system", "progress"]]
    last = last.rename(columns={"model": "group"}).assign(evaluator=LAST)
    kept = [choose(rates, patience=patience), choose(own, patience=patience), last]
    return pd.concat(kept), rates


@checked
def count_stops(kept: pd.DataFrame) -> pd.DataFrame:
    """Count the trainings that were stopped before their end.

    Parameters
    ----------
    kept : DataFrame
        From `stop_training`, with experiment.

    Returns
    -------
    DataFrame
        experiment, evaluator, stopped, n, ci_low, ci_high (Wilson's, as counts).
    """
    both = kept.assign(stopped=kept["stopped_at"].notna())
    stops = both.groupby(["experiment", "evaluator"])["stopped"].agg(stopped="sum", n="size")
    low, high = proportion_confint(stops["stopped"], stops["n"], method="wilson")
    return stops.assign(ci_low=low * stops["n"], ci_high=high * stops["n"]).reset_index()


@checked
def one_training(
    searches: Searches, scores: pd.DataFrame, rates: pd.DataFrame, kept: pd.DataFrame
) -> tuple[str, pd.DataFrame, pd.DataFrame]:
    """Choose a training to draw: that whose true quality moves most, or the first.

    Parameters
    ----------
    searches, scores, rates, kept
        As in, and from, `stop_training`.

    Returns
    -------
    tuple of (str, DataFrame, DataFrame)
        The model, its curves and what is kept, for `nlgbench.plot_training`; ``quality`` is the
        truth, where it is known, with 95% intervals over texts.
    """
    model, parts, marks = str(kept["group"].iloc[0]), [], []
    if searches.truth is not None:
        truth = searches.truth[searches.truth["kind"] == "stopping"]
        model = str(truth.groupby("model")["quality"].agg(np.ptp).idxmax())
        rows = truth[truth["model"] == model]
        ends = rows["quality"] - 1.96 * rows["se"], rows["quality"] + 1.96 * rows["se"]
        named = rows.assign(evaluator="quality", value=rows["quality"])
        parts.append(named.assign(ci_low=ends[0], ci_high=ends[1]))
        best = rows["progress"].iloc[int(rows["quality"].to_numpy().argmax())]
        marks.append(pd.DataFrame([{"evaluator": "quality", "progress": best}]))
    parts.append(training_curves(scores[scores["model"] == model]))
    said = rates[rates["model"] == model]
    parts.append(said.rename(columns={"difference": "value"}))
    columns = ["evaluator", "progress", "value", "ci_low", "ci_high"]
    curves = pd.concat([table[columns] for table in parts], ignore_index=True)
    marks.append(kept.loc[kept["group"] == model, ["evaluator", "progress"]])
    chosen = pd.concat(marks, ignore_index=True)
    return model, curves, chosen[chosen["evaluator"].isin(curves["evaluator"])]


@checked
def judge_choices(searches: Searches, chosen: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Set choices beside the truth, with and without a tolerance for how it is measured.

    Parameters
    ----------
    searches : Searches
        With a truth.
    chosen : mapping of str to DataFrame
        By experiment, from `nlgbench.choose` or `stop_training`: ``hyperparameter_search`` is
        within settings of a group, others within checkpoints of a model.

    Returns
    -------
    DataFrame
        As `choices`, with experiment and variant: ``tolerance=2 se``, where models within two
        standard errors (of a difference of measured truths) of the best are the best, too; and
        ``tolerance=0``.
    """
    assert searches.truth is not None
    truth = searches.truth
    se = np.sqrt(2) * truth.loc[truth["kind"] != "development", "se"].median()
    settings = truth.loc[truth["kind"] == "search", ["group", "system", "quality"]]
    steps = truth.loc[truth["kind"] == "stopping", ["model", "system", "quality"]]
    steps = steps.rename(columns={"model": "group"})
    results = []
    for experiment, table in chosen.items():
        quality = settings if experiment == "hyperparameter_search" else steps
        for variant, tolerance in (("tolerance=2 se", 2 * float(se)), ("tolerance=0", 0.0)):
            found = choices(table, quality, tolerance=tolerance)
            results.append(found.assign(experiment=experiment, variant=variant))
    return pd.concat(results, ignore_index=True)


@checked
def finalists(searches: Searches, kept: pd.DataFrame) -> Study:
    """Give the outputs of the checkpoints that evaluators keep, to let these meet.

    Parameters
    ----------
    searches : Searches
        Models to choose between.
    kept : DataFrame
        From `stop_training`.

    Returns
    -------
    Study
        For `nlgbench.compare_texts`.
    """
    outputs = searches.to_judge[searches.to_judge["system"].isin(kept["system"])]
    return trusted(outputs.reset_index(drop=True), name="finalists")
