"""AlpacaEval 2's leaderboard (arXiv:2404.04475): its numbers for three systems, and order effects.

The numbers are in the authors' repository (tatsu-lab/alpaca_eval), in the leaderboard file
data_AlpacaEval_2/weighted_alpaca_eval_gpt4_turbo_leaderboard.csv.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from nlgbench.analysis.ratings.bradley_terry import win_rates
from nlgbench.analysis.ratings.games import read_games
from nlgbench.clustering import t_interval
from nlgbench.papers.claim_rows import claim_rows
from nlgbench.status import Unsupported
from nlgbench.study import Study

REFERENCE = "gpt4_1106_preview"
ALL, FIRST, SECOND = "all prompts", "shown first", "shown second"
_ENDS = ["estimate", "se", "ci_low", "ci_high"]


def by_order(study: Study) -> pd.DataFrame:
    """Estimate each system's win rate against AlpacaEval's reference, overall and by position.

    A row per ``evaluator`` (the system) and ``kind``: ``estimate`` (the judge's mean probability
    that the system wins), ``se``, its t interval over prompts, ``n_clusters`` (prompts). Ties
    count only in the overall rate, because their order is unknown.
    """
    if REFERENCE not in set(study.outputs["system"]):
        message = f"{study.name} has no outputs of {REFERENCE}, AlpacaEval's reference."
        raise Unsupported("no_reference", message)
    games = read_games(study, of="comparisons", outcome="expected")
    is_first, is_tie = games["system_b"] == REFERENCE, games["tie"] == 1
    won = games["win"].where(is_first, games["loss"]) + games["tie"] / 2
    system = games["system_a"].where(is_first, games["system_b"])
    rows = []
    for name in system.unique():
        kinds = {ALL: True, FIRST: is_first & ~is_tie, SECOND: ~is_first & ~is_tie}
        for kind, is_kind in kinds.items():
            shares = won[(system == name) & is_kind]
            interval = t_interval(shares.mean(), float(shares.sem()), len(shares), units="items")
            rows.append({"evaluator": name, "kind": kind, **interval})
    return pd.DataFrame(rows)


def answers(study: Study) -> pd.DataFrame:
    """Make rows of the ledger: the leaderboard's numbers, and the effect of being shown first."""
    rates = by_order(study)
    overall, first, second = (
        rates[rates["kind"] == kind].set_index("evaluator") for kind in (ALL, FIRST, SECOND)
    )
    percent = overall.assign(**100 * overall[_ENDS])
    decided = win_rates(study, of="comparisons").query("opponent == @REFERENCE").set_index("system")
    discrete = 100 * decided[["estimate", "ci_low", "ci_high"]]
    counts = decided[["win", "loss", "tie"]].mul(decided["n_games"], axis=0).round()
    counts["length"] = study.outputs["text"].str.len().groupby(study.outputs["system"]).mean()
    se = (first["se"] ** 2 + second["se"] ** 2) ** 0.5
    # Each prompt is in one part only, so the two means are independent.
    n = first["n_clusters"].clip(upper=second["n_clusters"])
    intervals = [
        {"evaluator": name, **t_interval(*row)}
        for name, *row in zip(
            first.index, first["estimate"] - second["estimate"], se, n, strict=True
        )
    ]
    gains = pd.DataFrame(intervals).set_index("evaluator")
    gains = gains.assign(**100 * gains[_ENDS])
    plain = "Counts and standard errors have no interval."
    cells: list[tuple[str, pd.DataFrame, str, str]] = [
        ("win_rate", percent, "estimate", ""),
        ("standard_error", percent.drop(columns=["ci_low", "ci_high"]), "se", plain),
        ("n_wins", counts, "win", plain),
        ("n_wins_base", counts, "loss", plain),
        ("n_draws", counts, "tie", plain),
        ("discrete_win_rate", discrete, "estimate", ""),
        ("avg_length", counts, "length", "The leaderboard truncates lengths to integers."),
    ]
    shared: dict[str, Any] = {"source": "released"}
    rows = [
        claim_rows(
            table.reset_index(names="evaluator"),
            f"alpaca-eval/leaderboard/{{slug}}/{name}",
            value=value,
            reason=reason,
            **shared,
        )
        for name, table, value, reason in cells
    ]
    why = "Percentage points; each prompt was judged in one order, chosen at random."
    claim = "alpaca-eval/finding/shown_first_less_second/{slug}"
    rows.append(claim_rows(gains.reset_index(), claim, reason=why, **shared))
    return pd.concat(rows, ignore_index=True)
