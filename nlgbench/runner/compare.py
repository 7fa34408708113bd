"""What `nlgbench compare` prints: which of several runs is better, by the scores in their files."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgbench import files
from nlgbench.analysis.people.comparing import add_verdicts, compare_systems
from nlgbench.inference import adjust
from nlgbench.names import UsageError, brief, known
from nlgbench.plots.forest import plot_forest
from nlgbench.plots.groups import ALL, draw_groups
from nlgbench.reported import digits
from nlgbench.runner import listing
from nlgbench.study import Study
from nlgbench.study.column_names import has_word
from nlgbench.study.run_scores import read_runs
from nlgbench.study.study import is_reversed, with_tables
from nlgbench.text import counted, listed

_CONFIDENCE = 0.95
#: Words in the names of metrics of which lower values are usually better.
_LOWER = (
    "loss|latency|errors?|perplexity|ppl|ter|wer|cer|costs?|time|seconds|duration|mqm|"
    "hallucinat(?:ions?|ed)|toxic(?:ity)?|disfluency|edits|contradictions?|omissions?"
)
#: The most values of a column that is suggested as groups of items.
_MOST_GROUPS = 10
#: Statuses of an estimate that is not shown.
_OF_SUPERIORITY = ("always_higher", "few_common_items", "no_common_items", "superiority_constant")
_COLUMNS = (
    *("metric", "better", "run", "baseline", "group", "n_items", "mean_baseline", "mean"),
    *("estimate", "ci_low", "ci_high", "se", "df", "p", "p_adjusted", "p_equivalent"),
    *("p_not_inferior", "p_interaction", "repeats_needed", "items_needed"),
    *("verdict", "status", "reason"),
)


@dataclass(frozen=True)
class Report:
    """The comparisons of runs with a baseline, and what to say of them."""

    baseline: str
    #: By run: the items in common, and those of only one of the two.
    matched: pd.DataFrame
    #: By metric and run; differences are the run's mean minus the baseline's.
    pairs: pd.DataFrame
    #: Whether each metric was compared for each run.
    is_complete: bool
    margin: float | None
    #: What was not read, was not compared, or cannot be told.
    notes: list[str]
    commands: list[str]

    @property
    def exit_code(self) -> int:
        """Return 1 if a run is worse; 3 if a margin was given and a run is undecided; else 0."""
        verdicts = self.pairs["verdict"][self.pairs["group"] == ""]
        if (verdicts == "worse").any():
            return 1
        is_decided = self.is_complete and not verdicts.isin(["undecided", ""]).any()
        return 0 if self.margin is None or is_decided else 3


def compare_runs(
    paths: Sequence[Path],
    *,
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    margin: float | None = None,
    by: str | None = None,
    baseline: str | None = None,
) -> Report:
    """Compare runs with a baseline, by each metric, on the items that both have.

    With `by`, also within each group of items.
    """
    study, notes = read_runs(paths)
    assert study.scores is not None
    scores = study.scores.dropna(subset="score")
    names = [str(name) for name in scores["evaluator"].unique()]
    chosen = [_known(name, names, "--metric") for name in metrics]
    chosen = [name for name in chosen or names if name != by]
    if not chosen:
        raise UsageError(f"{by} is the only metric, so --by needs another column.")
    flipped = scores["evaluator"].isin([_known(name, names, "--lower") for name in lower])
    signature = scores["signature"].mask(flipped, "direction:lower")
    scores = scores[scores["evaluator"].isin(chosen)].assign(signature=signature)
    study = with_tables(study, scores=scores, outputs=_complete_groups(study, by))
    first = study.systems[0] if baseline is None else _known(baseline, study.systems, "--baseline")
    outputs = study.outputs[["output_id", "item_id", "system", *([by] if by else [])]]
    cells = scores.merge(outputs, on="output_id", validate="m:1")
    matched = _match(cells, first, study.systems)
    options = {"by": by, "margin": margin, "confidence": _CONFIDENCE}
    rows = []
    for metric in chosen:
        of_metric = cells[cells["evaluator"] == metric]
        rows += [_compare_pair(study, of_metric, (run, first), options) for run in matched["run"]]
    if all(row is None for row in rows):
        metrics_of = cells.groupby("system", sort=False)["evaluator"].unique()
        lists = "; ".join(f"{run} has {listed(names)}" for run, names in metrics_of.items())
        raise UsageError(f"no metric is in {first} and another run: {lists}.")
    pairs = pd.concat(rows, ignore_index=True)
    # Runs with the same score on every item, as of a property of items, need no test.
    pairs["p"] = pairs["p"].mask(pairs["is_identical"])
    pairs["p_interaction"] = _adjust_interactions(pairs)
    # All items are one family of tests, and groups of items another.
    families = [rows for _, rows in pairs.groupby(pairs["group"] != "", sort=False)]
    adjusted = [add_verdicts(rows, margin, _CONFIDENCE, mirrored=False) for rows in families]
    pairs = pd.concat(adjusted).sort_index()
    pairs = pairs.astype({"n_items": int})
    pairs["verdict"] = pairs["verdict"].mask(pairs["is_identical"], "identical")
    lower_names = {*scores["evaluator"][is_reversed(scores)]}
    is_lower = pairs["metric"].isin(lower_names)
    pairs["better"] = is_lower.map({True: "lower", False: "higher"})
    turned = 0.0 - pairs[["estimate", "ci_high", "ci_low"]].to_numpy()
    pairs.loc[is_lower, ["estimate", "ci_low", "ci_high"]] = turned[is_lower]
    notes += _find_notes(cells, pairs, margin, lower_names)
    is_complete = all(row is not None for row in rows)
    notes += _count_unscored(outputs, cells)
    commands = _next_commands(study, paths, margin, by)
    return Report(first, matched, pairs[list(_COLUMNS)], is_complete, margin, notes, commands)


def _known(name: str, names: Sequence[str], flag: str) -> str:
    """Return a name if it is in the files, or raise a usage error."""
    try:
        return known(name, names, flag)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _match(cells: pd.DataFrame, first: str, runs: Sequence[str]) -> pd.DataFrame:
    """Count the items that each run shares with the baseline; without any, refuse."""
    items = {run: {*cells["item_id"][cells["system"] == run]} for run in runs}
    rows = []
    for run in runs:
        if run == first:
            continue
        shared = items[run] & items[first]
        if not shared:
            raise UsageError(
                f"{run} and {first} share no items: {first} has {_examples(items[first])}; "
                f"{run} has {_examples(items[run])}. Give the same item the same id in all files."
            )
        alone = len(items[first] - shared), len(items[run] - shared)
        rows.append((run, len(shared), *alone))
    return pd.DataFrame(rows, columns=["run", "in_common", "only_in_baseline", "only_in_run"])


def _examples(items: set[str]) -> str:
    return ", ".join(map(brief, sorted(items)[:3])) or "none with a score"


def _complete_groups(study: Study, by: str | None) -> pd.DataFrame:
    """Fill in the group of an item in runs whose files do not have it."""
    if by is None:
        return study.outputs
    _known(by, study.settings["extra"], "--by")
    groups = study.outputs[by].replace("", None)
    known_groups = groups.groupby(study.outputs["item_id"]).transform("first")
    return study.outputs.assign(**{by: groups.fillna(known_groups).fillna("(empty)")})


def _compare_pair(
    study: Study, cells: pd.DataFrame, runs: tuple[str, str], options: dict[str, Any]
) -> pd.DataFrame | None:
    """Compare a run with the baseline by the metric of `cells`; None if one of them lacks it."""
    (run, first), by = runs, options["by"]
    cells = cells[cells["system"].isin(runs)]
    cells = cells[cells.groupby("item_id")["system"].transform("nunique") == 2]
    if cells.empty:
        return None
    metric = cells["evaluator"].iloc[0]
    pair_study = with_tables(
        study,
        scores=cells[["output_id", "evaluator", "score", "signature"]],
        outputs=study.outputs[study.outputs["output_id"].isin(cells["output_id"])],
    )
    compared = compare_systems(pair_study, evaluator=metric, **options)
    needed = compared.details.set_index("system").loc[run, ["repeats_needed", "items_needed"]]
    tables = [compared.pairs.assign(group="", p_interaction=np.nan, **needed), compared.groups]
    rows = pd.concat(tables[: 2 if by else 1], ignore_index=True)
    of_group = [cells.assign(group=""), *([cells.assign(group=cells[by])] if by else [])]
    means = pd.concat(of_group).groupby(["group", "item_id", "system"])["score"].mean().unstack()
    summary = means.groupby("group").agg(["mean", "size"])
    rows = rows[rows["system"] == run].set_index("group", drop=False)
    is_identical = (means[run] == means[first]).groupby("group").all()
    return rows.assign(
        metric=metric,
        run=run,
        baseline=first,
        is_identical=is_identical,
        n_items=summary[run, "size"],
        mean_baseline=summary[first, "mean"],
        mean=summary[run, "mean"],
    )


def _adjust_interactions(pairs: pd.DataFrame) -> pd.Series:
    """Adjust Welch's tests of equal differences over metrics and runs (Holm)."""
    tests = pairs.groupby(["metric", "run"], sort=False)["p_interaction"].first()
    adjusted = pd.Series(adjust(tests.to_numpy()), tests.index)
    of_row = adjusted.reindex(pd.MultiIndex.from_frame(pairs[["metric", "run"]])).to_numpy()
    return pairs["p_interaction"].where(pairs["p_interaction"].isna(), of_row)


def _count_unscored(outputs: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """Count each run's items without a score, by metric where metrics differ."""
    n_items = outputs.groupby("system", sort=False)["item_id"].nunique()
    scored = cells.groupby(["system", "evaluator"], sort=False)["item_id"].nunique().unstack()
    notes = []
    for run, row in scored.rsub(n_items, axis=0).iterrows():
        n_missing = {name: n for name, n in row.dropna().items() if n > 0}
        alike = len({*row.dropna()}) == 1
        for metric, n in [*n_missing.items()][: 1 if alike else None]:
            name = f"{run}" if alike else f"{metric}, {run}"
            left_out = f"{name}: items without a score are left out ({n:,.0f})."
            notes.append(f"{left_out} If they failed, it looks too good.")
    return notes


def _find_notes(
    cells: pd.DataFrame, pairs: pd.DataFrame, margin: float | None, lower: set[str]
) -> list[str]:
    """Say what was not compared, what may be the wrong way round, and what cannot be told."""
    notes = []
    for metric in cells["evaluator"].unique():
        rows = cells[cells["evaluator"] == metric]
        runs = rows["system"].unique()
        if metric not in set(pairs["metric"]):
            notes.append(f"{metric}: not compared, since only {listed(runs)} has it.")
        elif len(runs) < cells["system"].nunique():
            notes.append(f"{metric}: compared only for {listed(runs)}.")
        highest = rows.groupby("system")["score"].max().sort_values()
        if rows["score"].min() >= 0 and highest.iloc[0] <= 1 and highest.iloc[-1] >= 10:
            lowest, largest = (f"{highest.iloc[n]:g} in {highest.index[n]}" for n in (0, -1))
            notes.append(f"{metric}: the highest score is {lowest} and {largest}: is it one scale?")
    for metric in pairs["metric"].unique():
        if metric not in lower and has_word(metric, _LOWER):
            notes.append(f"{metric}: higher counts as better. If lower is, add --lower {metric}.")
    outputs = cells.groupby(["system", "evaluator", "item_id"]).size().groupby("system").max()
    if len(several := outputs[outputs > 1]):
        most = listed(f"{run} (up to {n})" for run, n in several.items())
        notes.append(f"Items with several outputs count once, by their mean score: {most}.")
    doubtful = pairs[~(pairs["status"].isin(["ok", *_OF_SUPERIORITY]) | pairs["is_identical"])]
    same = "the difference is the same on every item, so there is no interval"
    reasons = doubtful["reason"].mask(doubtful["status"] == "no_variation", same)
    places = doubtful[["metric", "run", "group"]].to_numpy()
    where = [", ".join(filter(None, names)) for names in places]
    notes += [f"{name}: {reason}." for name, reason in zip(where, reasons, strict=True)]
    varying = pairs[pairs["p_interaction"] < 1 - _CONFIDENCE].drop_duplicates(["metric", "run"])
    notes += [
        f"{metric}, {run}: the difference varies among groups (Welch's test, Holm-adjusted over "
        f"metrics and runs, p = {p:.2g})."
        for metric, run, p in varying[["metric", "run", "p_interaction"]].to_numpy()
    ]
    is_undecided = (pairs["verdict"] == "undecided") & (pairs["group"] == "")
    undecided = pairs["metric"][is_undecided].unique()
    if margin is not None:
        notes += [_what_to_add(row, margin) for row in pairs[is_undecided].to_dict("records")]
    elif len(undecided):
        notes.append(
            f"{listed(undecided)}: undecided does not mean equal, and without --margin nothing "
            "shows that a run is not worse."
        )
    return notes


def _what_to_add(row: Mapping[Any, Any], margin: float) -> str:
    """Say how many items, or outputs of an item, would make a difference precise enough."""
    lead = f"{row['metric']}, {row['run']}: undecided."
    if math.isnan(row["items_needed"]) or row["items_needed"] <= row["n_items"]:
        return lead  # its interval is short enough, but near the margin
    ways = [f"{row['items_needed']:,.0f} items"]
    if not math.isnan(row["repeats_needed"]):
        ways.append(f"{row['repeats_needed']:,.0f} outputs of each item")
    return f"{lead} An interval of ± {margin:g} needs about {' or '.join(ways)}."


def _next_commands(
    study: Study, paths: Sequence[Path], margin: float | None, by: str | None
) -> list[str]:
    """Suggest a margin, a column that groups items, and a folder for figures."""
    command = shlex.join(["nlgbench", "compare", *map(str, paths)])
    items = study.outputs.drop_duplicates("item_id")
    scored = {*study.scores["evaluator"]} if study.scores is not None else set()
    properties = [name for name in study.settings["extra"] if name not in scored]
    sizes = {name: items[name].value_counts() for name in properties}
    grouping = [name for name, n in sizes.items() if 2 <= len(n) <= _MOST_GROUPS and n.min() >= 10]
    options = ["--margin DIFFERENCE"] * (margin is None)
    options += [f"--by {shlex.quote(name)}" for name in grouping[:1] if by is None]
    return [f"{command} {option}" for option in [*options, "--out FOLDER"]]


def as_json(report: Report) -> str:
    """Write the report as JSON, with null for undefined numbers."""
    pairs = json.loads(report.pairs.to_json(orient="records", double_precision=15))
    content = {
        "baseline": report.baseline,
        "margin": report.margin,
        "confidence": _CONFIDENCE,
        "exit_code": report.exit_code,
        "items": report.matched.to_dict("records"),
        "pairs": pairs,
        "notes": report.notes,
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(report: Report) -> str:
    """Write the report for a terminal."""
    tables = [
        f"{metric} ({pairs['better'].iloc[0]} is better)\n{listing.fitted(_table(pairs))}"
        for metric, pairs in report.pairs.groupby("metric", sort=False)
    ]
    further = []
    for title, lines in {"What to mind": report.notes, "Next": report.commands}.items():
        further += ["\n".join([title, *map(listing.wrapped, lines)])] if lines else []
    matched = "\n".join(listing.wrapped(line, "", "") for line in _matched(report))
    return "\n\n".join([matched, *tables, listing.wrapped(_read_as(report), "", ""), *further])


def as_markdown(report: Report) -> str:
    """Write the report as Markdown, such as for the summary of a workflow."""
    lines = [*_matched(report), ""]
    for metric, pairs in report.pairs.groupby("metric", sort=False):
        table = _table(pairs)
        rows = [table.columns.tolist(), ["---"] * len(table.columns), *table.to_numpy().tolist()]
        cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
        lines += [f"**{metric}** ({pairs['better'].iloc[0]} is better)", ""]
        lines += [*(f"| {' | '.join(row)} |" for row in cells), ""]
    lines += [_read_as(report), "", *(f"- {note}" for note in report.notes)]
    return "\n".join(map(listing.visible, lines)).rstrip()


def save_report(report: Report, folder: Path) -> str:
    """Save the table, the report and a figure per metric in a folder; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    table = report.pairs.to_csv(index=False, lineterminator="\n")
    files.replace_bytes(folder / "compared.csv", table.encode())
    files.replace_bytes(folder / "compared.json", f"{as_json(report)}\n".encode())
    paths = [folder / "compared.csv", folder / "compared.json"]
    for metric, pairs in report.pairs.groupby("metric", sort=False):
        better = pairs["better"].iloc[0]
        xlabel = f"{metric}: difference from {report.baseline} ({better} is better)"
        rows = pairs[["run", "group", "estimate", "ci_low", "ci_high"]]
        rows = rows.assign(confidence=_CONFIDENCE)
        if (rows["group"] != "").any():
            rows = rows.assign(row=rows["group"].replace("", ALL), panel=rows["run"])
            drawing = draw_groups(rows, xlabel)
        else:
            rows = rows.rename(columns={"run": "evaluator"})
            drawing = plot_forest(rows, xlabel=xlabel, xlim=(0, 0))
        name = re.sub(r"[^\w.-]+", "_", f"difference_{metric}")
        while folder / f"{name}.pdf" in paths:
            name += "_"
        paths += drawing.save(folder / f"{name}.pdf")
    return f"Wrote {listed(path.name for path in paths)} in {folder}."


def _matched(report: Report) -> list[str]:
    """Say how many items of each run were matched with the baseline's."""
    first = report.baseline
    return [
        f"{run} against {first}: {counted(shared, 'item')} in common, {n_first:,} only in {first}, "
        f"{n_run:,} only in {run}."
        for run, shared, n_first, n_run in report.matched.to_numpy().tolist()
    ]


def _read_as(report: Report) -> str:
    """Explain the differences, intervals, p and verdicts."""
    tests = report.pairs.dropna(subset="p")
    n_tests = int((tests["group"] == "").sum())
    n_within = len(tests) - n_tests
    numbers = counted(n_tests, "comparison") + f", and {n_within} within groups" * bool(n_within)
    adjusted = f"p is adjusted for {numbers} (Holm); " * (max(n_tests, n_within) > 1)
    text = (
        f"A difference is the run's mean minus that of {report.baseline}, on the items in common. "
        f"{_CONFIDENCE:.0%} intervals cover other items like these, and are not adjusted; "
        f"{adjusted}better and worse mean p below {1 - _CONFIDENCE:.2g}."
    )
    if report.margin is not None:
        text += (
            f" Equivalent: the difference is within {report.margin:g}. Not inferior: the run is "
            f"worse by less than {report.margin:g}, if at all; both are one-sided tests."
        )
    return text


def _table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Write the comparisons by one metric as the cells of a table."""
    ends = ["estimate", "ci_low", "ci_high"]
    form = f"{{:.{digits(pairs.loc[pairs['group'] == '', ends].to_numpy())}f}}".format
    estimate, low, high = (pairs[end].map(form) for end in ends)
    interval = (" [" + low + ", " + high + "]").where(np.isfinite(pairs["ci_low"]), "")
    table = pd.DataFrame(
        {
            "run": pairs["run"],
            "group": pairs["group"],
            "items": pairs["n_items"].map("{:,}".format),
            "baseline": pairs["mean_baseline"].map(form),
            "mean": pairs["mean"].map(form),
            "difference": estimate + interval,
            "p": pairs["p_adjusted"].map("{:.2g}".format).replace("nan", ""),
            "verdict": pairs["verdict"].replace("", "no test"),
        }
    )
    return table if table["group"].any() else table.drop(columns="group")
