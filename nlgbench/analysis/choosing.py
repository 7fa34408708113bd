"""How good the models are that an evaluator chooses: Table 3 of Learning to Compare, with a truth.

Zhou and Xu (2020), doi:10.1609/aaai.v34i05.6521. What is chosen between comes in groups: the
settings of one search, or the checkpoints of one training, for which see `stopping`.
"""

import numpy as np
import pandas as pd
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from nlgbench.inference import check_coverage

#: What `choices` calls the baseline that picks any of the group's systems alike.
RANDOM = "random choice"


def choose_best(scores: pd.DataFrame) -> pd.DataFrame:
    """Let each evaluator choose the system it scores highest in each group.

    Parameters
    ----------
    scores : DataFrame
        evaluator, group, system, score (higher is better: negate perplexity); a skill rating is
        such a score.

    Returns
    -------
    DataFrame
        A row per evaluator and group: evaluator, group, system, and n_undefined, how many of the
        group's systems have no score and could not be chosen. system is missing where none has.

    Raises
    ------
    ValueError
        When a column is missing, or a system is scored twice.

    Notes
    -----
    Of equal scores the first in the table's order is chosen.

    Examples
    --------
    >>> scores = pd.DataFrame({"evaluator": "e", "group": "g", "system": [*"abc"]})
    >>> choose_best(scores.assign(score=[0.1, 0.3, float("nan")])).values.tolist()
    [['e', 'g', 'b', 1]]
    """
    _check(scores, ["evaluator", "group", "system"], "score", "scores have")
    found = []
    for (evaluator, group), rows in scores.groupby(["evaluator", "group"], sort=False):
        defined = rows.dropna(subset="score")
        system = None if defined.empty else defined["system"].iloc[int(defined["score"].argmax())]
        row = {"evaluator": evaluator, "group": group, "system": system}
        found.append(row | {"n_undefined": len(rows) - len(defined)})
    return pd.DataFrame(found)


def choices(
    chosen: pd.DataFrame,
    quality: pd.DataFrame,
    *,
    tolerance: float = 0.0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Say how good the systems are that evaluators choose.

    Parameters
    ----------
    chosen : DataFrame
        A row per evaluator and group: evaluator, group, system (missing where it could not
        choose), as from `choose_best`, `stopping.stop_on_losses` and `stopping.stop_on_scores`.
    quality : DataFrame
        A row per group and system that can be chosen: group, system, quality (the true one, higher
        is better).
    tolerance : float
        Systems whose quality is within this of the group's best are equally the best; so much as
        cannot be told apart where quality is itself measured.
    level : float
        Coverage asked for, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per evaluator and measure, those of `RANDOM` last: evaluator, measure, estimate,
        ci_low, ci_high, level, n (groups with a choice), n_undefined (groups without: left out,
        never 0), reason (why there is no interval, or ""). Measures: ``win_times`` (groups in which
        its choice is the best of all systems), ``wins_among_choices`` (the best of what the
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
    check_coverage(level, "level")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be 0 or more, in units of quality. Got {tolerance}.")
    _check(chosen, ["evaluator", "group"], "system", "chosen has")
    _check(quality, ["group", "system"], "quality", "quality has")
    if quality["quality"].isna().any():
        row = quality[quality["quality"].isna()].iloc[0]
        raise ValueError(f"quality of {row['system']!r} in {row['group']!r} is missing.")
    of = quality.groupby("group")["quality"]
    about = pd.DataFrame({"best": of.max(), "average": of.mean()})
    is_best = quality["quality"] >= quality["group"].map(about["best"]) - tolerance
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
    picked["wins_among_choices"] = picked["quality"] >= top - tolerance
    picked["win_times"] = picked["quality"] >= picked["best"] - tolerance
    picked["regret"] = picked["best"] - picked["quality"]
    picked["gain"] = picked["quality"] - picked["average"]

    found = []
    for evaluator, rows in picked.groupby("evaluator", sort=False):
        defined = rows.dropna(subset="quality")
        common = {"evaluator": evaluator, "level": level, "n": len(defined)}
        common["n_undefined"] = len(rows) - len(defined)
        for measure in ("win_times", "wins_among_choices"):
            found.append(common | {"measure": measure} | _count(defined[measure], level))
        for measure in ("quality", "regret", "gain"):
            found.append(common | {"measure": measure} | _mean(defined[measure], level))
    groups = about.loc[picked["group"].unique()]
    common = {"evaluator": RANDOM, "level": level, "n": len(groups), "n_undefined": 0}
    exact = {"ci_low": np.nan, "ci_high": np.nan, "reason": "exact, given the groups"}
    found += [
        common | {"measure": "win_times", "estimate": groups["share_best"].sum()} | exact,
        common | {"measure": "quality"} | _mean(groups["average"], level),
        common | {"measure": "regret"} | _mean(groups["best"] - groups["average"], level),
        common | {"measure": "gain", "estimate": 0.0} | exact,
    ]
    columns = ["evaluator", "measure", "estimate", "ci_low", "ci_high", "level", "n"]
    return pd.DataFrame(found)[[*columns, "n_undefined", "reason"]]


def _count(won: pd.Series, level: float) -> dict[str, object]:
    """Count successes, with Wilson's interval for their expected number."""
    if won.empty:
        return _undefined()
    low, high = proportion_confint(int(won.sum()), len(won), alpha=1 - level, method="wilson")
    ends = {"ci_low": low * len(won), "ci_high": high * len(won), "reason": ""}
    return {"estimate": float(won.sum()), **ends}


def _mean(values: pd.Series, level: float) -> dict[str, object]:
    """Average over groups, with Student's interval."""
    if len(values) < 2:
        only = float(values.iloc[0]) if len(values) else np.nan
        return _undefined() | {"estimate": only}
    half = student.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    mean = float(values.mean())
    return {"estimate": mean, "ci_low": mean - half, "ci_high": mean + half, "reason": ""}


def _undefined() -> dict[str, object]:
    reason = "fewer than two groups with a choice"
    return {"estimate": np.nan, "ci_low": np.nan, "ci_high": np.nan, "reason": reason}


def _check(table: pd.DataFrame, keys: list[str], value: str, subject: str) -> None:
    missing = [name for name in (*keys, value) if name not in table]
    if missing:
        wanted = ", ".join((*keys, value))
        raise ValueError(f"{subject} no column {missing[0]!r}: there must be {wanted}.")
    twice = table[table.duplicated(keys)]
    if len(twice):
        found = ", ".join(f"{name} {twice.iloc[0][name]!r}" for name in keys)
        raise ValueError(f"{subject} two rows for {found}: keep one.")
