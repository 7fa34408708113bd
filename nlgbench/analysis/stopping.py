"""When to stop training, as an evaluator sees it: checkpoints against those before them."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from nlgbench.analysis.ratings.dyadic import rate_intervals
from nlgbench.analysis.ratings.games import games
from nlgbench.evaluators.comparator.draws import draw_between, paired
from nlgbench.evaluators.comparator.splits import one_dataset
from nlgbench.inference import check_coverage
from nlgbench.text import check_n


def checkpoint_pairs(
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    n: int = 1_000,
    k: int = 2,
    seed: int | np.random.Generator,
) -> pd.DataFrame:
    """Draw the pairs in which each checkpoint of a model meets those just before it.

    Parameters
    ----------
    outputs, checkpoints : DataFrame
        As from `nlgbench.generators.checkpoints.sample_checkpoints`, of one dataset; checkpoints
        of several models may follow each other.
    n : int
        Pairs for each checkpoint but a model's first.
    k : int
        How many earlier checkpoints it meets, or as many as there are. They share the pairs
        evenly; where that does not come out even, the later ones have one more.
    seed : int or Generator
        Where the random numbers come from.

    Returns
    -------
    DataFrame
        dataset, item_id (output a's), output_a (the newer checkpoint's), output_b: for
        `nlgbench.evaluators.comparator.comparisons.compare`.

    Raises
    ------
    ValueError
        When columns are missing, a checkpoint stands twice, or no model has two with outputs.

    Notes
    -----
    Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521): n "e.g. 1000", k "e.g. 2". How
    the k share the n they do not say. Outputs meet where their contexts are equal; no two meet
    twice, though with fewer than n outputs one of them stands in several pairs. Equal texts are
    left out.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n, "system": n} for n in "abc"])
    >>> steps = pd.DataFrame({"system": [*"abc"], "model": "m", "progress": [0.2, 0.6, 1.0]})
    >>> checkpoint_pairs(outputs, steps, seed=0)[["output_a", "output_b"]].values.tolist()
    [['b', 'a'], ['c', 'b'], ['c', 'a']]
    """
    table = one_dataset(outputs)
    check_n(n, "n")
    check_n(k, "k")
    rng = np.random.default_rng(seed)
    parts = []
    for _, steps in _in_order(checkpoints).groupby("model", sort=False):
        systems = steps["system"].tolist()
        for at in range(1, len(systems)):
            before = systems[max(0, at - k) : at][::-1]
            for place, earlier in enumerate(before):
                share = n // len(before) + (place < n % len(before))
                newer = table["system"].eq(systems[at])
                rows = draw_between(table, newer, table["system"].eq(earlier), share, rng)
                parts.append(paired(table, *rows, ""))
    if sum(map(len, parts)) == 0:
        raise ValueError(
            "no model has two checkpoints with outputs of equal context and different text: give "
            "the outputs of the checkpoints, as from sample_checkpoints."
        )
    columns = ["dataset", "item_id", "output_a", "output_b"]
    return pd.concat(parts, ignore_index=True)[columns]


def win_and_loss(
    comparisons: pd.DataFrame,
    outputs: pd.DataFrame,
    checkpoints: pd.DataFrame,
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Say how often each checkpoint wins and loses against those just before it.

    Parameters
    ----------
    comparisons : DataFrame
        Table ``comparisons`` of the pairs of `checkpoint_pairs`.
    outputs, checkpoints : DataFrame
        As in `checkpoint_pairs`.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per comparator and checkpoint, in the order of training: evaluator (the comparator),
        model, system (the checkpoint), progress, win, tie, loss (shares of the comparisons in which
        it was the newer one), difference (win - loss, -1 to 1), ci_low, ci_high (of the difference,
        not clipped; of no width where all outcomes are alike), level, n (comparisons). A checkpoint
        that met no earlier one, such as a model's first, has n = 0 and the rest NaN.

    Raises
    ------
    ValueError
        When an output is unknown, no checkpoint's, or compared with another model's.

    Notes
    -----
    The likeliest of win, tie and loss counts (`ratings.games.games`). The difference is twice the
    win rate (a tie half) less one, and so is its interval, by `ratings.dyadic.rate_intervals`: for
    other samples of the same checkpoints, and this comparator. One output stands in several pairs.
    In 2,000 simulations of 300 pairs of 30 outputs each, 95% intervals held the truth in .95; with
    pairs taken as independent, in .50 of 300.

    Examples
    --------
    >>> row = {"dataset": "d", "item_id": "1", "context": "", "is_human": False}
    >>> outputs = pd.DataFrame([{**row, "output_id": n, "text": n, "system": n} for n in "ab"])
    >>> steps = pd.DataFrame({"system": [*"ab"], "model": "m", "progress": [0.5, 1.0]})
    >>> said = checkpoint_pairs(outputs, steps, seed=0)
    >>> said = said.assign(comparator="c", prob_a=0.2, prob_tie=0.1, prob_b=0.7)
    >>> win_and_loss(said, outputs, steps)[["system", "win", "loss", "n"]].values.tolist()
    [['a', nan, nan, 0], ['b', 0.0, 1.0, 1]]
    """
    check_coverage(level, "level")
    played = games(comparisons)  # outputs play for themselves, so that it is known which
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
        rates = rate_intervals(group, score, newer, older, level=level, clusters="outputs")
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
    table["level"] = level
    return table.sort_values(["evaluator", "model", "progress"], ignore_index=True)


def stop_on_losses(rates: pd.DataFrame, *, patience: int = 5) -> pd.DataFrame:
    """Stop training when the newest checkpoint keeps losing, as a comparator sees it.

    Parameters
    ----------
    rates : DataFrame
        From `win_and_loss`.
    patience : int
        Checkpoints one after another that must lose more often than they win; 5 in the paper.

    Returns
    -------
    DataFrame
        A row per evaluator and model: evaluator, group (the model), system (the checkpoint that is
        kept), progress (its), stopped_at (progress at which training stops; NaN where it goes to
        the end).

    Raises
    ------
    ValueError
        When a column is missing, a checkpoint stands twice, or `patience` is below 1.

    Notes
    -----
    Zhou and Xu (2020, section 4.1, doi:10.1609/aaai.v34i05.6521) stop once the newest checkpoint
    has lost more often than it won five times running. Which checkpoint is then used they do not
    say. Here it is the last one before the losing streak, or the last of all where training never
    stops. Equal rates end a streak, as do undefined ones.

    Examples
    --------
    >>> rates = pd.DataFrame({"evaluator": "c", "model": "m", "system": [*"abcd"]})
    >>> rates = rates.assign(progress=[0.25, 0.5, 0.75, 1], win=[np.nan, 0.5, 0.2, 0.2], loss=0.3)
    >>> stop_on_losses(rates, patience=2)[["system", "progress", "stopped_at"]].values.tolist()
    [['b', 0.5, 1.0]]
    """
    check_n(patience, "patience")
    found = []
    for names, rows in _runs(rates, ("win", "loss"), "rates have"):
        kept, stopped, streak = len(rows) - 1, float("nan"), 0
        for at, lost in enumerate((rows["win"] < rows["loss"]).tolist()):
            streak = streak + 1 if lost else 0
            if streak == patience:
                kept, stopped = max(at - patience, 0), rows["progress"].iloc[at]
                break
        found.append({**names, **_kept(rows, kept), "stopped_at": stopped})
    return pd.DataFrame(found)


def stop_on_scores(scores: pd.DataFrame, *, patience: int = 5) -> pd.DataFrame:
    """Stop training when the best score is some checkpoints old, and keep that checkpoint.

    Parameters
    ----------
    scores : DataFrame
        A row per evaluator and checkpoint: evaluator, model, system, progress, score (higher is
        better: negate perplexity). NaN is never the best.
    patience : int
        Checkpoints without a higher score after which training stops.

    Returns
    -------
    DataFrame
        As `stop_on_losses`. Where no score is defined before training stops or ends, no checkpoint
        is kept: system and progress are missing.

    Raises
    ------
    ValueError
        As `stop_on_losses`.

    Notes
    -----
    The same patience for evaluators that score one checkpoint at a time; the paper does not say
    what it did for these. Of equal scores the earliest is kept.

    Examples
    --------
    >>> scores = pd.DataFrame({"evaluator": "s", "model": "m", "system": [*"abcd"]})
    >>> scores = scores.assign(progress=[0.25, 0.5, 0.75, 1], score=[0.1, 0.3, 0.2, 0.9])
    >>> stop_on_scores(scores, patience=1)[["system", "progress", "stopped_at"]].values.tolist()
    [['b', 0.5, 0.75]]
    """
    check_n(patience, "patience")
    found = []
    for names, rows in _runs(scores, ("score",), "scores have"):
        best, kept, stopped = -np.inf, -1, float("nan")
        for at, score in enumerate(rows["score"].tolist()):
            if score > best:
                best, kept = score, at
            elif at - kept == patience:
                stopped = rows["progress"].iloc[at]
                break
        found.append({**names, **_kept(rows, kept), "stopped_at": stopped})
    return pd.DataFrame(found)


def training_curves(scores: pd.DataFrame) -> pd.DataFrame:
    """Turn the scores of checkpoints into curves to draw, perplexity as its logarithm.

    Parameters
    ----------
    scores : DataFrame
        A row per evaluator and checkpoint: evaluator, score (higher is better; perplexity's is
        minus the perplexity, as `stop_on_scores` takes it), se (NaN where there is none).

    Returns
    -------
    DataFrame
        `scores` with value, ci_low, ci_high: the score with a normal 95% interval; for perplexity
        the logarithm of the perplexity in nats per word, lower is better, without an interval.

    Raises
    ------
    ValueError
        When a perplexity is not above 0.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["regressor", "perplexity"], "score": [-0.5, -20.0]})
    >>> training_curves(table.assign(se=[0.1, np.nan]))["value"].round(2).tolist()
    [-0.5, 3.0]
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


def _runs(
    table: pd.DataFrame, values: tuple[str, ...], subject: str
) -> list[tuple[dict[str, str], pd.DataFrame]]:
    """Part a table by evaluator and model, each in the order of training."""
    wanted = ("evaluator", "model", "system", "progress", *values)
    missing = [name for name in wanted if name not in table]
    if missing:
        raise ValueError(f"{subject} no column {missing[0]!r}: there must be {', '.join(wanted)}.")
    twice = table[table.duplicated(["evaluator", "model", "progress"])]
    if len(twice):
        row = twice.iloc[0]
        raise ValueError(
            f"{subject} two rows of {row['evaluator']!r} for {row['model']!r} at progress "
            f"{row['progress']}: keep one."
        )
    return [
        ({"evaluator": str(evaluator), "group": str(model)}, rows.sort_values("progress"))
        for (evaluator, model), rows in table.groupby(["evaluator", "model"], sort=False)
    ]


def _kept(rows: pd.DataFrame, at: int) -> dict[str, object]:
    if at < 0:
        return {"system": None, "progress": float("nan")}
    return {"system": rows["system"].iloc[at], "progress": rows["progress"].iloc[at]}


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
