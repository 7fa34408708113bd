"""The atlas: public studies for comparing evaluators, and their published correlations.

HANNA (Chhun et al. 2022, 2024): Kendall's correlations of 72 metrics, from their repository
(dig-team/hanna-benchmark-asg, rankings/system_kendall.csv and story_kendall.csv).
USR (Mehri and Eskenazi 2020, doi:10.18653/v1/2020.acl-main.64): the agreement in Table 1, and the
correlations in the abstract, which require USR's models.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from nlgbench.analysis.correlation import (
    PooledCorrelations,
    compare_with_length,
    correlate,
    correlate_studies,
)
from nlgbench.analysis.correlation.pooling import UNTRAINED, score_each
from nlgbench.clustering import FEWEST, jackknife_variance, t_interval
from nlgbench.datasets.public import load, studies
from nlgbench.datasets.published import load_claims
from nlgbench.evaluators.sentinels import SYSTEM_MEAN
from nlgbench.papers.claim_rows import claim_prefix, claim_rows, is_release
from nlgbench.study import Study
from nlgbench.worlds.simulated import open_study, simulate

Statistic = Literal["pearson", "spearman", "kendall_b"]
Granularity = Literal["output", "item", "system"]
#: An evaluator's name in a study -> the name of the same metric in `nlgbench.score`.
#: Tokenization, smoothing and references are the authors' and differ between studies.
CALLED = {
    **{f"Bleu_{n}": f"bleu_{n}" for n in range(1, 5)},
    **{"ROUGE_L": "rouge_l", "CIDEr": "cider", "METEOR": "meteor"},
    **{"bleu": "bleu_4", "text_length": "length@sentinel"},
    **{f"rouge_{n}_f_score": f"rouge_{n}" for n in ("1", "2", "l")},
}

#: Prediction intervals of docs/atlas.md: correlations over the outputs of a further study.
PREDICTED = {
    "bleu_1": (-0.05, 0.41),
    "bleu_4": (-0.17, 0.58),
    "cider": (-0.15, 0.47),
    "rouge_l": (-0.10, 0.50),
    "minus_self_bleu_4": (-0.56, 0.42),
    "length@sentinel": (-0.44, 0.32),
}

_VOTES = "it has preferences between outputs, but no judgments of single outputs"
_NAMES = "its labels are categories without an order, so they cannot be correlated"
#: Public studies that are not in the atlas -> reason.
LEFT_OUT = {
    "comm-eval": "all captions are human-written, so there is no system to judge",
    "llmfao": _VOTES,
    "support-segments": "its data are invented",
    "alpaca-eval": "a judge compares its outputs, but no annotators do",
    **{f"llmbar-{name}": _VOTES for name in ("natural", "neighbor", "gptinst", "gptout", "manual")},
    **{
        f"alttest-{name}": _NAMES
        for name in ("mtbench", "lgbteen", "framing", "kilogram", "cebab_aspects", "wax")
    },
}

#: HANNA's tables -> granularity.
_TABLES: dict[str, Literal["system", "output"]] = {
    "system_kendall": "system",
    "story_kendall": "output",
}
_TIES = (
    "Two pairs of systems have equal rating sums; in the authors' means, rounding breaks one tie."
)
_EQUAL = (
    "Many of this metric's scores differ by less than 1e-9 standard deviations, which `correlate` "
    "treats as ties. Without this rule, the printed value is reproduced."
)
#: HANNA's metrics and tables with such scores.
_TINY = [("cider", "story_kendall")]
_TINY += [("baryscore_sd_0.001", where) for where in _TABLES]
#: Number of simulated studies with scores only, and with texts.
_N_OWN, _N_REVIEWS = 8, 2


def open_studies(
    *,
    source: Literal["simulated", "released"] = "simulated",
    folder: str | os.PathLike | None = None,
    n_items: int = 60,
    seed: int = 0,
) -> dict[str, Study]:
    """Open the studies of the atlas: simulated, public, or the one in `folder`.

    Simulated studies without texts have n_items / 3 to 3 n_items items, evenly spaced on a log
    scale, and evaluators with different errors. Instead of text length, they have an evaluator that
    hardly correlates with quality.
    """
    if folder is not None:
        study = open_study("hanna", source=source, folder=folder)
        return {study.name: study}
    if source == "released":
        names = studies().query("available")["name"]
        return {name: load(name) for name in names if name not in LEFT_OUT}
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(n_items / 3, 3 * n_items, _N_OWN).astype(int)
    opened = {}
    for number, size in enumerate(sizes, 1):
        scale = float(np.exp(rng.normal(0, 0.4)))
        errors = {"close": 0.5 * scale, "coarse": 1.5 * scale, "text_length": 8.0}
        world = simulate("own", n_items=max(12, int(size)), errors=errors, seed=rng)
        opened[f"judgments {number}"] = world
    systems = ["leaky_t1.0", "leaky_t0.7", "leaky_t0.5"]
    for number in range(1, _N_REVIEWS + 1):
        world = simulate("reviews", systems=systems, n_outputs=n_items, n_truth=0, seed=rng)
        opened[f"reviews {number}"] = world
    return opened


def correlations(
    opened: Mapping[str, Study], *, statistic: Statistic, granularity: Granularity, seed: int
) -> pd.DataFrame:
    """Run `correlate_studies` and add the studies' tasks; undefined rows come last."""
    options: dict[str, Any] = {"granularity": granularity, "statistic": statistic, "seed": seed}
    scored = {name: _scored(study) for name, study in opened.items()}
    return _add_task(correlate_studies(scored, called=CALLED, **options))


def differences_from_length(
    opened: Mapping[str, Study], *, statistic: Statistic, seed: int
) -> pd.DataFrame:
    """Run `compare_with_length` and add the studies' tasks; undefined rows come last."""
    scored = {name: _scored(study) for name, study in opened.items()}
    return _add_task(compare_with_length(scored, called=CALLED, statistic=statistic, seed=seed))


@functools.cache
def _scored(study: Study) -> Study:
    """Add all possible scores, once for all granularities and for the comparison with length."""
    ((_, scored, _),) = score_each({study.name: study}, CALLED, UNTRAINED)
    return scored


def _add_task(results: pd.DataFrame) -> pd.DataFrame:
    """Add each study's task; by default, the study's name without its number."""
    public = studies().set_index("name")["task"].to_dict()
    fallback = results["study"].str.replace(r" \d+$", "", regex=True)
    results = results.assign(task=results["study"].map(public).fillna(fallback))
    return results.sort_values("estimate", key=pd.isna, kind="stable", ignore_index=True)


def summarize(correlations: pd.DataFrame) -> pd.DataFrame:
    """Count each study's correlations, and give their range."""
    estimates = correlations.groupby("study", sort=False)["estimate"]
    table = estimates.agg(["count", "min", "median", "max"]).reset_index()
    return table.set_axis(["study", "n_estimates", "lowest", "median", "highest"], axis=1)


def leaderboard(
    outputs: PooledCorrelations, by_task: PooledCorrelations, beyond_length: PooledCorrelations
) -> pd.DataFrame:
    """Assemble a row per evaluator that has a mean over studies, in the order of ranks.

    Ranks are over common studies. The difference from the sentinel system_mean is one of means, and
    columns of tasks are means of the effects of their studies.
    """
    numbers = ["estimate", "ci_low", "ci_high"]
    means = outputs.summary.dropna(subset=["estimate"]).set_index("evaluator")
    table = means[["n_studies", *numbers, "prediction_low", "prediction_high"]]
    ranks = outputs.rank_evaluators().set_index("evaluator")["rank"]
    gaps = beyond_length.summary.set_index("evaluator_a")[numbers]
    table = table.join(ranks).join(gaps.add_prefix("beyond_length_"))
    of_system = table["estimate"].get(SYSTEM_MEAN, float("nan"))
    table["beyond_system_mean"] = table["estimate"] - of_system
    effects = by_task.studies.pivot_table("estimate", "evaluator", "task", aggfunc="mean")
    table = table.join(effects.reindex(table.index).dropna(axis=1, how="all"))
    table = table.sort_values(["rank", "estimate"], ascending=[True, False]).reset_index()
    return table.assign(rank=table["rank"].astype("Int64"))


def members() -> pd.DataFrame:
    """List all public studies with their task, and why some are not in the atlas."""
    table = studies()[["name", "task", "available"]]
    return table.assign(left_out=table["name"].map(LEFT_OUT).fillna(""))


def answers(opened: Mapping[str, Study], pooled: PooledCorrelations) -> pd.DataFrame:
    """Make rows of the ledger: means over studies, and published correlations."""
    means = pooled.summary[pooled.summary["estimate"].notna()]
    first = next(iter(opened.values()))
    prefix = "atlas" if first.source == "released" else claim_prefix(first, "11-atlas")
    ids = prefix + "/finding/mean_over_studies/{granularity}/{slug}"
    why = means["prediction_reason"]
    why = why.where(why.ne(""), means["n_studies"].astype(str) + " studies")
    tables = [claim_rows(means.assign(why=why), ids, variant="{statistic}", reason="{why}")]
    released = {name: study for name, study in opened.items() if is_release(study)}
    if "hanna" in released:
        tables += _recompute_hanna(released["hanna"])
    for usr in ("topical", "persona"):
        if f"usr-{usr}-chat" in released:
            tables += _recompute_usr(released[f"usr-{usr}-chat"], f"{usr}_chat")
    return pd.concat(tables, ignore_index=True)


def _recompute_hanna(study: Study) -> list[pd.DataFrame]:
    """Recompute HANNA's tables: absolute values of Kendall's tau-b, without human stories."""
    ids = load_claims("hanna")["claim_id"].str.split("/", expand=True)
    tables = []
    for where, granularity in _TABLES.items():
        table = correlate(
            study,
            evaluators=list(dict.fromkeys(ids.loc[ids[1] == where, 2])),
            granularity=granularity,
            statistics=["kendall_b"],
        )
        negative = table["estimate"] < 0
        tiny = table["evaluator"].isin([name for name, table_ in _TINY if table_ == where])
        columns = {
            "estimate": table["estimate"].abs(),
            "ci_low": table["ci_low"].mask(negative, -table["ci_high"]),
            "ci_high": table["ci_high"].mask(negative, -table["ci_low"]),
            "reason": table["reason"]
            .mask(tiny, _EQUAL)
            .mask(table["dimension"].eq("complexity") & (granularity == "system"), _TIES),
        }
        table = table.assign(where=where, **columns)
        claim = "hanna/{where}/{evaluator}/{dimension}"
        tables.append(claim_rows(table, claim, variant="absolute value", reason="{reason}"))
    return tables


def _recompute_usr(study: Study, name: str) -> list[pd.DataFrame]:
    """Recompute USR's Table 1, which correlates columns of ratings, not annotators."""
    judgments = study.judgments
    assert judgments is not None
    judgments = judgments[judgments["dimension"] == study.dimension()]
    column = judgments.groupby("output_id").cumcount().astype(str)
    tables = []
    for ratings, variant, comparable in (
        (judgments.assign(annotator_id="place " + column), "between places of ratings", True),
        (judgments, "between people", False),
    ):
        wide = ratings.pivot(index="output_id", columns="annotator_id", values="value")
        rows = [_average_correlation(wide, how) for how in ("spearman", "pearson")]
        claim = f"usr/table1/{name}/{{coefficient}}"
        tables.append(
            claim_rows(
                pd.DataFrame(rows), claim, variant=variant, reason="{reason}", comparable=comparable
            )
        )
    return tables


def _average_correlation(wide: pd.DataFrame, how: Literal["spearman", "pearson"]) -> dict[str, Any]:
    """Average the correlation of two columns over pairs that share at least ten outputs."""
    shared = [pair for two in combinations(wide, 2) if len(pair := wide[[*two]].dropna()) >= FEWEST]

    def mean(left_out: str = "") -> float:
        values = [pair[pair.index != left_out].corr(how).to_numpy()[0, 1] for pair in shared]
        return float(np.mean(values))

    outputs = pd.concat(shared).index.unique()
    se = np.sqrt(jackknife_variance(np.array([mean(output) for output in outputs])))
    return {"coefficient": how, **t_interval(mean(), float(se), len(outputs))}
