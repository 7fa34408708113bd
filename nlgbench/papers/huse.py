"""Hashimoto, Zhang and Liang (2019), doi:10.18653/v1/N19-1169: answers to its claims.

The release contains only summarization at t = 1.0. Claims about other temperatures and tasks, beam
search and the Reddit sentences of Figure 2 are marked as unavailable in
``data/published/claims.csv``; simulated studies test some of them instead.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from nlgbench.analysis.huse import SCORES
from nlgbench.datasets.huse import TABLE2_OUTPUTS
from nlgbench.datasets.published import load_printed
from nlgbench.papers.claim_rows import claim_prefix, claim_rows, is_release, smaller_than
from nlgbench.study import Study

#: Largest half-width of an interval at which we call an estimate accurate.
ACCURATE = 0.1
#: Rounding error of three printed numbers, half a unit of the last digit each.
ROUNDING = 0.015
#: The paper's k: only scores with it are comparable with printed ones.
N_NEIGHBORS = 16

_TASKS = {"lm": "LM", "chit chat dialogue": "chit-chat dialogue"}


def printed_scores() -> pd.DataFrame:
    """Convert Table 1 to the format of `nlgbench.huse`, for `plot_tradeoff`."""
    printed = load_printed("huse/table1")
    long = printed.rename_axis("system").reset_index().melt("system", list(SCORES), "score")
    long = long.rename(columns={"value": "estimate"})
    names = long["system"].str.rsplit("_", n=1, expand=True)
    task = names[0].str.replace("_", " ")
    long["task"] = task.replace(_TASKS)
    long["label"] = names[1].str.replace(r"^t(?=\d)", "t = ", regex=True)
    return long.assign(source="published")


def figure3(study: Study, scores: pd.DataFrame) -> pd.DataFrame:
    """Combine the scores of Figure 3: printed ones and, for the release, recomputed ones."""
    tables = [printed_scores()]
    if _released(study):
        tables.append(scores[scores["ties"] == "released"])
    return pd.concat(tables, ignore_index=True)


def table1(study: Study, scores: pd.DataFrame) -> pd.DataFrame:
    """Write scores beside those of Table 1, or beside the truth if it is known.

    A row per system, in the paper's order. For the release, columns are the printed and the
    "(recomputed)" scores, by the authors' tie rule; otherwise, the computed scores (first rule) and
    those of ``study.truth``, "(true)".
    """
    rule = "released" if _released(study) else scores["ties"].iloc[0]
    chosen = scores[scores["ties"] == rule]
    ends = chosen[["estimate", "ci_low", "ci_high"]].to_numpy()
    texts = [
        f"{estimate:.2f}" if np.isnan(low) else f"{estimate:.2f} [{low:.2f}, {high:.2f}]"
        for estimate, low, high in ends
    ]
    written = chosen.assign(text=texts).pivot(index="system", columns="score", values="text")
    written = written.reindex(index=chosen["system"].unique(), columns=list(SCORES))
    if _released(study):
        printed = load_printed("huse/table1")
        return printed.join(written.add_suffix(" (recomputed)")).fillna("")
    if study.truth is None:
        return written
    truth = study.truth["systems"].set_index("system")[["huse", "huse_q", "huse_d"]].round(2)
    return written.join(truth.add_suffix(" (true)"))


def temperatures(study: Study) -> dict[str, list[str]]:
    """List the systems of each temperature, for a menu; ``all`` lists every system."""
    names = pd.Series(study.systems, dtype=object)
    heat = names.str.extract(r"_t([\d.]+)$")[0]
    return {"all": study.systems} | {
        f"t = {value}": names[heat == value].tolist() for value in heat.dropna().unique()
    }


def equation_9() -> pd.DataFrame:
    """Compute HUSE-D from the printed HUSE and HUSE-Q (equation 9): a row per row of Table 1.

    ``implied`` is ``1 + huse - huse_q``, and ``off`` is ``implied`` minus the printed HUSE-D;
    ``follows`` is whether the rounding error of three numbers, at most .015, explains ``off``.
    """
    printed = load_printed("huse/table1")
    table = printed.assign(implied=1 + printed["huse"] - printed["huse_q"]).reset_index()
    table["off"] = table["implied"] - table["huse_d"]
    return table.assign(follows=table["off"].abs() <= ROUNDING)


def table2(study: Study, outputs: pd.DataFrame) -> pd.DataFrame:
    """Find the outputs of Table 2 and its rows in ``Boundary.outputs``; empty for other studies."""
    rows = pd.DataFrame({"row": TABLE2_OUTPUTS.keys(), "output_id": TABLE2_OUTPUTS.values()})
    if not _released(study):
        rows = rows.iloc[:0]
    return rows.merge(outputs, on="output_id", how="left", validate="one_to_one")


def answers_from_print() -> pd.DataFrame:
    """Make rows of the ledger from the printed table alone: the results of `equation_9`."""
    caption = " The caption says HUSE-D exceeds 1 if HUSE-Q > HUSE; equation 9 says the reverse."
    implied = equation_9()
    implied["caption"] = implied["follows"].map({True: "", False: caption})
    return claim_rows(
        implied,
        "huse/table1/{row}/huse_d",
        value="implied",
        variant="equation 9 from print",
        reason="Equation 9, from the printed HUSE and HUSE-Q.{caption}",
        source="published",
    )


def answers(
    study: Study,
    *,
    scores: pd.DataFrame | None = None,
    moved: pd.DataFrame | None = None,
    outputs: pd.DataFrame | None = None,
    directed: pd.DataFrame | None = None,
    intervals: pd.DataFrame | None = None,
    frequency: pd.DataFrame | None = None,
    bounds: pd.DataFrame | None = None,
    greedy: pd.DataFrame | None = None,
    settled: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Convert results to rows of the ledger.

    The unmodified release answers the paper's claims; other studies get ids of their own. `scores`
    (Table 1) and `intervals` (of studies other than the release) are from `nlgbench.huse`,
    `outputs` (Table 2) from `nlgbench.boundary`, `directed` from `directions`. `moved` is from
    `outputs_changed_by_ties` and needs `scores`; `settled` is from `stability` for an easy task,
    with ten and all annotators. Simulations answer what the release cannot: `frequency` is from
    `nlgbench.worlds.typicality_correlation` (Figure 2), `bounds` from `nlgbench.worlds.theorem_1`,
    and `greedy` from `nlgbench.huse` of a greedy system.
    """
    released, prefix = _released(study), claim_prefix(study, "huse-stability")
    theirs = "huse" if released else f"{prefix}/{{system}}"
    if directed is not None:
        kind = directed["slug"].eq("ten_annotators_are_too_few") & released
        directed = directed.assign(kind=kind.map({True: "finding/direction", False: "direction"}))
    tables = [
        claim_rows(directed, theirs + "/{kind}/{slug}", reason="{note}"),
        _answer_table1(study, scores, moved),
        *_answer_table2(study, outputs),
    ]
    if released:
        return pd.concat(tables, ignore_index=True)
    tables += [
        claim_rows(intervals, prefix + "/{system}/{score}", reason="95% interval: {method}."),
        claim_rows(frequency, prefix + "/figure2/{x}", value="pearson", source="simulated"),
    ]
    if bounds is not None:
        for side, more, less in (("lower", "huse", "l_star"), ("upper", "upper", "huse")):
            gaps = bounds.assign(gap=bounds[more] - bounds[less])
            ids = f"{prefix}/{{system}}/theorem_1_{side}"
            note = f"{more} - {less} in the population; by the theorem, it is at least 0."
            tables.append(claim_rows(gaps, ids, value="gap", reason=note, source="simulated"))
    if greedy is not None:
        ids = prefix + "/{system}/direction/beam_search_near_zero"
        note = "HUSE of the grammar at t = .1, which produces only likely texts, like beam search."
        rows = greedy[greedy["score"] == "huse"]
        tables.append(claim_rows(rows, ids, reason=note, source="simulated"))
    if settled is not None:
        curve = settled[settled["score"] == "huse"].rename(columns={"mean": "estimate"})
        ends = ["estimate", "ci_low", "ci_high"]
        settled = curve[ends].sub(curve["estimate"].iloc[-1]).join(curve["system"]).head(1)
    ids = prefix + "/{system}/direction/easy_tasks_need_ten_annotators"
    note = "HUSE with ten annotators minus HUSE with all twenty, for the same system."
    tables.append(claim_rows(settled, ids, reason=note, source="simulated"))
    return pd.concat(tables, ignore_index=True)


def _released(study: Study) -> bool:
    """Return whether a study is the paper's unmodified release."""
    return is_release(study) and study.name == "huse"


def _answer_table1(
    study: Study, scores: pd.DataFrame | None, moved: pd.DataFrame | None
) -> pd.DataFrame:
    if scores is None:
        return claim_rows(None, "")
    reason = pd.Series("95% interval: half-samples of outputs, stratified by class.", scores.index)
    for system, outputs in () if moved is None else moved.groupby("compared"):
        hinges = (scores["system"] == system) & (scores["score"] != "huse")
        means = ", ".join(f"{value:g}" for value in outputs["judgment"].unique())
        reason[hinges] += (
            f" Exact ties and raw floats disagree where the mean judgment is {means} (outputs: "
            f"{len(outputs)}), because equal distances differ in the last bit."
        )
    base = "huse/table1" if _released(study) else claim_prefix(study, "huse-tradeoff")
    return claim_rows(
        scores.assign(why=reason),
        base + "/{system}/{score}",
        variant="ties={ties}",
        reason="{why}",
        comparable=scores["n_neighbors"] == N_NEIGHBORS,
    )


def _answer_table2(study: Study, outputs: pd.DataFrame | None) -> list[pd.DataFrame]:
    if outputs is None:
        return []
    examples = table2(study, outputs)
    two = examples[examples["row"].isin(["quality_failure_model", "indistinguishable_reference"])]
    note = "Mean of 20 judgments, or log-probability, of one text; it has no interval."
    per_token = f"{note} Divided by the number of tokens."
    ids = "huse/table2/{row}/log_p_model"
    return [
        claim_rows(examples, "huse/table2/{row}/hj", value="judgment", reason=note),
        claim_rows(two, ids, value="logprob_per_token", reason=per_token),
    ]


def directions(length: pd.DataFrame, fifty: pd.DataFrame, fewer: pd.DataFrame) -> pd.DataFrame:
    """Express the paper's qualitative claims as numbers that should be above 0.

    Columns: ``slug`` (of the claim), ``estimate``, ``ci_low``, ``ci_high``, ``note``, ``system``.
    The arguments come from functions of `nlgbench.analysis.huse`: `length` from
    `length_difference`, `fifty` from `interval_widths` (50 outputs per class), `fewer` from
    `annotator_difference`.
    """
    tighter = length[length["score"] == "huse"].iloc[0]
    half, low, high = (
        fifty[fifty["score"] == "huse"].iloc[0][["width", "width_low", "width_high"]] / 2
    )
    with_ten = fewer.iloc[0]
    rows: Iterable[tuple] = [
        (
            "length_normalization_tightens",
            *(tighter[["estimate", "ci_low", "ci_high"]]),
            f"HUSE {tighter['whole_text']:.2f} without and {tighter['per_token']:.2f} with "
            "normalization; 95% interval of the difference, from shared half-samples of outputs.",
        ),
        (
            "fifty_outputs_suffice",
            *smaller_than(ACCURATE, half, low, high).values(),
            f"With 50 texts of each class, the half-width of a 90% interval is {half:.2f}; we take "
            "'accurate' to mean .1. The interval of the simulated width allows for .05 to .2.",
        ),
        (
            "ten_annotators_are_too_few",
            *(with_ten[["estimate", "ci_low", "ci_high"]]),
            "HUSE with ten annotators minus HUSE with all; if positive, HUSE still falls. 95% "
            "interval over outputs, for these annotators.",
        ),
    ]
    table = pd.DataFrame(rows, columns=["slug", "estimate", "ci_low", "ci_high", "note"])
    return table.assign(system=with_ten["system"])
