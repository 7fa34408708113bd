"""The atlas: which public studies evaluators can be held against, and what their authors printed.

HANNA (Chhun et al. 2022, 2024): Kendall's correlations of their repository's tables
(dig-team/hanna-benchmark-asg, rankings/system_kendall.csv and story_kendall.csv), for 72 metrics.
USR (Mehri and Eskenazi 2020, doi:10.18653/v1/2020.acl-main.64): the agreement of Table 1, and the
correlations of its abstract, which need its models.
"""

from __future__ import annotations

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
from nlgbench.crossed import FEWEST, jackknife_variance, t_interval
from nlgbench.datasets.public import load, studies
from nlgbench.datasets.published import load_claims
from nlgbench.papers.claim_rows import claim_rows, is_release, own_place
from nlgbench.study import Study
from nlgbench.worlds.simulated import open_study, simulate

Statistic = Literal["pearson", "spearman", "kendall_b"]
Granularity = Literal["output", "item", "system"]
#: A study's own name of an evaluator -> that of `nlgbench.score`, where both mean the same metric.
#: Tokens, smoothing and references are the authors', and differ from study to study.
CALLED = {
    **{f"Bleu_{n}": f"bleu_{n}" for n in range(1, 5)},
    **{"ROUGE_L": "rouge_l", "CIDEr": "cider", "METEOR": "meteor"},
    **{"bleu": "bleu_4", "text_length": "length@sentinel"},
    **{f"rouge_{n}_f_score": f"rouge_{n}" for n in ("1", "2", "l")},
}

_VOTES = "preferences between outputs, and no judgment of a single one"
_NAMES = "labels are names and not amounts, so that nothing rises with them"
#: Public studies that are not in the atlas, and why.
LEFT_OUT = {
    "comm-eval": "every caption is by people, so that there is no system to judge",
    "llmfao": _VOTES,
    "alpaca-eval": "a judge compares outputs, and annotators did not",
    **{f"llmbar-{one}": _VOTES for one in ("natural", "neighbor", "gptinst", "gptout", "manual")},
    **{
        f"alttest-{one}": _NAMES
        for one in ("mtbench", "lgbteen", "framing", "kilogram", "cebab_aspects", "wax")
    },
}

#: HANNA's tables -> granularity.
_TABLES: dict[str, Literal["system", "output"]] = {
    "system_kendall": "system",
    "story_kendall": "output",
}
_TIES = (
    "Two pairs of systems have the same sum of ratings; in the authors' means rounding unties one."
)
_EQUAL = (
    "`correlate` takes scores for equal that differ by less than 1e-9 standard deviations, as many "
    "of this metric's do; with them told apart the printed value follows."
)
#: HANNA's metrics and tables of which that is true.
_TINY = [("cider", "story_kendall")]
_TINY += [("baryscore_sd_0.001", where) for where in _TABLES]
#: Simulated studies of scores alone, and of texts: sizes on a log scale, as public ones have.
_N_OWN, _N_REVIEWS = 8, 2


def open_studies(
    *,
    source: Literal["simulated", "released"] = "simulated",
    folder: str | os.PathLike | None = None,
    n_items: int = 60,
    seed: int = 0,
) -> dict[str, Study]:
    """Open the atlas' studies: worlds, public ones, or the one of one's own folder.

    Worlds of scores have `n_items` items in the middle, a third of them in the smallest, three
    times as many in the largest; evaluators' errors differ from world to world. What knows next to
    nothing stands for the length of texts, which these worlds do not have.
    """
    if folder is not None:
        own = open_study("hanna", source=source, folder=folder)
        return {own.name: own}
    if source == "released":
        names = studies().query("available")["name"]
        return {name: load(name) for name in names if name not in LEFT_OUT}
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(n_items / 3, 3 * n_items, _N_OWN).astype(int)
    found = {}
    for number, size in enumerate(sizes, 1):
        scale = float(np.exp(rng.normal(0, 0.4)))
        errors = {"close": 0.5 * scale, "coarse": 1.5 * scale, "text_length": 8.0}
        world = simulate("own", n_items=max(12, int(size)), errors=errors, seed=rng)
        found[f"judgments {number}"] = world
    systems = ["leaky_t1.0", "leaky_t0.7", "leaky_t0.5"]
    for number in range(1, _N_REVIEWS + 1):
        world = simulate("reviews", systems=systems, n_outputs=n_items, n_truth=0, seed=rng)
        found[f"reviews {number}"] = world
    return found


def correlations(
    opened: Mapping[str, Study], *, statistic: Statistic, granularity: Granularity, seed: int
) -> pd.DataFrame:
    """Correlate as `correlate_studies`, with the studies' tasks; what is missing comes last."""
    asked: dict[str, Any] = {"granularity": granularity, "statistic": statistic, "seed": seed}
    return _with_task(correlate_studies(opened, called=CALLED, **asked), "estimate")


def differences_from_length(
    opened: Mapping[str, Study], *, statistic: Statistic, seed: int
) -> pd.DataFrame:
    """Compare as `compare_with_length`, with the studies' tasks; what is missing comes last."""
    found = compare_with_length(opened, called=CALLED, statistic=statistic, seed=seed)
    return _with_task(found, "difference")


def _with_task(found: pd.DataFrame, value: str) -> pd.DataFrame:
    """Name each study's task: a public one's, else the study's name without its number."""
    public = studies().set_index("name")["task"].to_dict()
    plain = found["study"].str.replace(r" \d+$", "", regex=True)
    found = found.assign(task=found["study"].map(public).fillna(plain))
    return found.sort_values(value, key=pd.isna, kind="stable", ignore_index=True)


def effects_and_means(pooled: PooledCorrelations) -> pd.DataFrame:
    """Put a group's effects and its mean, or why there is none, into one table to read.

    A row for each evaluator, a column for each study and the ``mean`` of each task; cells are the
    effect and its interval.
    """
    effects = pooled.studies[pooled.studies["z"].notna()].assign(reason="")
    means = pooled.summary[pooled.summary["n_studies"] > 0].assign(study="mean")
    both = pd.concat([effects, means])
    both["said"] = [
        str(row.reason) or f"{row.estimate:z.2f} [{row.ci_low:z.2f}, {row.ci_high:z.2f}]"
        for row in both.itertuples()
    ]
    wide = both.pivot(index="evaluator_a", columns=["task", "study"], values="said")
    tasks = dict.fromkeys(both["task"])
    return wide.reindex(columns=list(tasks), level=0).fillna("")


def members() -> pd.DataFrame:
    """List the public studies with their task, and those left out of the atlas with the reason."""
    table = studies()[["name", "task", "available"]]
    return table.assign(left_out=table["name"].map(LEFT_OUT).fillna(""))


def answers(opened: Mapping[str, Study], pooled: PooledCorrelations) -> pd.DataFrame:
    """Turn results into rows for the ledger: means over studies, and what studies printed."""
    found = pooled.summary[pooled.summary["estimate"].notna()]
    first = next(iter(opened.values()))
    place = "atlas" if first.source == "released" else own_place(first, "11-atlas")
    ids = place + "/finding/mean_over_studies/{granularity}/{slug}"
    why = found["prediction_reason"]
    why = why.where(why.ne(""), found["n_studies"].astype(str) + " studies")
    parts = [claim_rows(found.assign(why=why), ids, variant="{statistic}", reason="{why}")]
    released = {name: study for name, study in opened.items() if is_release(study)}
    if "hanna" in released:
        parts += _of_hanna(released["hanna"])
    for usr in ("topical", "persona"):
        if f"usr-{usr}-chat" in released:
            parts += _of_usr(released[f"usr-{usr}-chat"], f"{usr}_chat")
    return pd.concat(parts, ignore_index=True)


def _of_hanna(study: Study) -> list[pd.DataFrame]:
    """Answer HANNA's tables: Kendall's tau-b without human stories, in absolute value."""
    ids = load_claims("hanna")["claim_id"].str.split("/", expand=True)
    parts = []
    for where, granularity in _TABLES.items():
        table = correlate(
            study,
            evaluators=list(dict.fromkeys(ids.loc[ids[1] == where, 2])),
            granularity=granularity,
            statistics=["kendall_b"],
        )
        turned = table["estimate"] < 0
        tiny = table["evaluator"].isin([name for name, table_ in _TINY if table_ == where])
        columns = {
            "estimate": table["estimate"].abs(),
            "ci_low": table["ci_low"].mask(turned, -table["ci_high"]),
            "ci_high": table["ci_high"].mask(turned, -table["ci_low"]),
            "reason": table["reason"]
            .mask(tiny, _EQUAL)
            .mask(table["dimension"].eq("complexity") & (granularity == "system"), _TIES),
        }
        table = table.assign(where=where, **columns)
        claim = "hanna/{where}/{evaluator}/{dimension}"
        parts.append(claim_rows(table, claim, variant="absolute value", reason="{reason}"))
    return parts


def _of_usr(study: Study, name: str) -> list[pd.DataFrame]:
    """Answer USR's Table 1: correlation between places of ratings, whoever gave them."""
    judgments = study.judgments
    assert judgments is not None
    judgments = judgments[judgments["dimension"] == study.dimension()]
    place = judgments.groupby("output_id").cumcount().astype(str)
    found = []
    for given, variant, comparable in (
        (judgments.assign(annotator_id="place " + place), "between places of ratings", True),
        (judgments, "between people", False),
    ):
        wide = given.pivot(index="output_id", columns="annotator_id", values="value")
        rows = [_between_annotators(wide, how) for how in ("spearman", "pearson")]
        claim = f"usr/table1/{name}/{{coefficient}}"
        found.append(
            claim_rows(
                pd.DataFrame(rows), claim, variant=variant, reason="{reason}", comparable=comparable
            )
        )
    return found


def _between_annotators(wide: pd.DataFrame, how: Literal["spearman", "pearson"]) -> dict[str, Any]:
    """Average the correlation of two annotators (columns) over pairs with ten outputs in common."""
    pairs = [both for two in combinations(wide, 2) if len(both := wide[[*two]].dropna()) >= FEWEST]

    def mean(left_out: str = "") -> float:
        each = [both[both.index != left_out].corr(how).to_numpy()[0, 1] for both in pairs]
        return float(np.mean(each))

    outputs = pd.concat(pairs).index.unique()
    se = np.sqrt(jackknife_variance(np.array([mean(one) for one in outputs])))
    return {"coefficient": how, **t_interval(mean(), float(se), len(outputs))}
