"""Summarize a study by dimension and evaluator, and report the limits of its design."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
from scipy.stats import chi2_contingency

from nlgbench.clustering import FEWEST, effective_size
from nlgbench.inference import linked
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.near_names import sort_pairs
from nlgbench.study.overview import PLACEHOLDER
from nlgbench.study.ranges import (
    EXTREME,
    contrary,
    extremes,
    is_negative,
    other_items,
    other_scale,
)
from nlgbench.study.reading import grouped
from nlgbench.text import listed, tokenizer_for

#: With fewer decisive comparisons, a sign test of two systems cannot reject at the 5% level: five
#: that all agree have p = 2 * .5**5 = .0625, six have .031.
_DECISIVE = 6
#: The most rows of paired outputs to compare; more would not fit in memory.
_LARGEST = 5_000_000

#: Differences below `_GAP` in systems' shares of unjudged outputs are not reported: they move a
#: mean by at most 5% of its scale. `_RARE` is a strict level, because the test runs on every study.
_GAP, _RARE = 0.05, 0.001

#: The least share of judged items with judgments of several systems that is usual.
_SHARED = 0.5

#: The least share of a system's scores above all others, if they are on another scale.
_ABOVE = 0.75

#: The least share of cells of a design that have the usual number of answers, if it is complete
#: but for errors, and the fewest cells that show this.
_COMPLETE, _CELLS = 0.9, 12

#: Kendall's tau between two orders of systems, below which they count as different.
_OTHER_ORDER = 0.5

#: What reports properties of a study that some of its rows show.
_Rule = Callable[[Study, pd.DataFrame], list[str]]


def _scores(study: Study) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the id column (output or system) and the oriented scores of each evaluator."""
    item = study.outputs.set_index("output_id")["item_id"]
    for table, key in (("scores", "output_id"), ("system_scores", "system")):
        if getattr(study, table) is None:
            continue
        frame = study.scored(of=table)
        frame = frame.assign(item_id=frame[key].map(item) if key == "output_id" else "")
        for _, scores in frame.groupby("evaluator", sort=False):
            yield key, scores


def _judged(study: Study) -> pd.DataFrame:
    if study.judgments is None:
        return pd.DataFrame(columns=["dimension"])
    outputs = study.outputs[["output_id", "item_id", "system", "is_human"]]
    return study.judgments.merge(outputs, on="output_id", validate="m:1")


def range_of(counts: pd.Series) -> str:
    """Write the range of some counts, with their median if they differ."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high} (median {counts.median():g})"


def unused_clusters(study: Study) -> list[str]:
    """List columns that group items, such as documents, if the study uses none of them."""
    if study.clusters != "item_id":
        return []
    usual = {"output_id", "item_id", "system", "is_human", "text", "probability", "stratum"}
    tables = {name: study.outputs for name in map(str, study.outputs) if name not in usual}
    if study.judgments is not None:
        tables["group_id"] = _judged(study)
    lines = []
    for name, table in tables.items():
        if grouping := grouped(table["item_id"], table[name]):
            remedy = f"Set `settings: clusters: {name}`."
            if (n := table[name].nunique()) < FEWEST:
                remedy = f"{n} clusters are too few to correct this (fewer than {FEWEST}): compare "
                remedy += f"systems within each {name} instead."
            lines.append(
                f"{grouping}. If items with the same {name} are similar, intervals that treat them "
                f"as independent are too narrow. {remedy}"
            )
    return lines


def doubts(study: Study, unread: Iterable[str] = ()) -> list[str]:
    """List properties of the design that could change a conclusion.

    `unread` are further findings, about columns that group items and were not read.
    """
    answers = {dimension: study.judged(dimension) for dimension in study.dimensions}
    if study.preferences is not None:
        places = study.outputs.set_index("output_id")[["item_id", "system"]]
        votes = study.preferences.join(places, on="output_a")
        votes = votes.join(places.add_suffix("_b"), on="output_b")
        for name, rows in votes.groupby("dimension", sort=False):
            answers[f"votes on {name}"] = rows
    all_dimensions = study.dimensions if len(study.dimensions) > 1 else []

    def each(rule: _Rule) -> list[str]:
        """Apply a rule to the judgments or votes of each dimension."""
        return [
            f"{'every dimension' if names == all_dimensions else ', '.join(names)}: {line}"
            for line, names in _by_line(rule, study, answers.items()).items()
        ]

    limits = [
        *each(_disconnected),
        *single_opponents(study),
        *_outliers(study),
        *_other_scales(study),
        *_odd_scores(study),
    ]
    if not study.persons:
        limits.append(
            "annotators are positions in a file, not necessarily persons: intervals generalize to "
            "these annotators only. If each position is one person, set `settings: annotators: "
            "persons`."
        )
    limits += [
        *_rarely_shown(study),
        *unused_clusters(study),
        *unread,
        *each(_few),
        *each(_undecided),
        *each(_incomplete),
        *each(_contrary),
        *each(_missing),
        *each(_incomparable),
    ]
    if len(study.dimensions) > 1 and "quality" not in study.settings:
        limits.append(
            f"several dimensions ({', '.join(study.dimensions)}), none of which is declared as "
            f"quality: notebooks use {study.main_dimension}, and by others systems may rank "
            "differently. Set `settings: quality`, or pass dimension= to each analysis."
        )
    if tokenizer := tokenizer_for(study.outputs["text"]):
        limits.append(
            "texts have few blanks, which separate words: BLEU, ROUGE and Self-BLEU need a "
            f"tokenizer, as in bleu_4@tokenize:{tokenizer}, and lengths in words are those of "
            "whole texts."
        )
    return limits + repeated_texts(study) + reversed_evaluators(study)


def _by_line(
    rule: _Rule, study: Study, groups: Iterable[tuple[Any, pd.DataFrame]]
) -> dict[str, list[str]]:
    """Apply a rule to groups of rows; return each line that it reports, with the groups' names."""
    names: dict[str, list[str]] = {}
    for name, rows in groups:
        for line in rule(study, rows):
            names.setdefault(line, []).append(str(name))
    return names


def _outliers(study: Study) -> list[str]:
    """Report extreme values, and the orders of systems by means and by ranks if they differ."""
    lines = []
    for dimension, ratings in _judged(study).groupby("dimension", sort=False):
        values, rule = extremes(ratings["value"], declared=study.scale(str(dimension)) is not None)
        if values.empty:
            continue
        greatest = ratings.loc[values.index].sort_values("value", key=abs).iloc[-1]
        lines.append(
            f"{dimension}: values {rule}: {len(values):,}; the greatest is "
            f"{greatest['value']:,g}, for output {greatest['output_id']}, by "
            f"{greatest['annotator_id']}. If they are errors, exclude them with `settings: valid: "
            f"{{{dimension}: {{{'max' if greatest['value'] > 0 else 'min'}: ...}}}}`."
        )
        # Dividing ranks by the annotator's number of judgments weights all annotators equally.
        values_by_annotator = ratings.groupby("annotator_id")["value"]
        ranks = (values_by_annotator.rank() - 0.5) / values_by_annotator.transform("size")
        machines = ratings.assign(rank=ranks)[~ratings["is_human"].to_numpy(dtype=bool)]
        means = machines.groupby("system")[["value", "rank"]].mean() * study.sign(str(dimension))
        tau = float(means["value"].corr(means["rank"], method="kendall"))
        if tau < _OTHER_ORDER:
            best_first = means.apply(
                lambda column: ", ".join(column.sort_values(ascending=False, kind="stable").index)
            )
            lines.append(
                f"{dimension}: extreme values change the order of systems (Kendall's tau "
                f"{tau:.2f}). By means, best first: {best_first['value']}. By mean ranks within "
                f"annotators: {best_first['rank']}."
            )
    return lines


def _other_scales(study: Study) -> list[str]:
    """Report annotators who seem to use another scale than the others."""
    doubt_lines = []
    for dimension, ratings in _judged(study).groupby("dimension", sort=False):
        is_declared = study.scale(str(dimension)) is not None
        if lines := other_scale(ratings["value"], ratings["annotator_id"], declared=is_declared):
            more = f" and {len(lines) - 3:,} more" if len(lines) > 3 else ""
            doubt_lines.append(
                f"{dimension}: annotators seem to use different scales: {'; '.join(lines[:3])}"
                f"{more}. If so, put the judgments on one scale, or set scale=z in analyses."
            )
        if line := other_items(ratings["value"], ratings["item_id"]):
            doubt_lines.append(
                f"{dimension}: items seem to be judged on different scales: {line}. If so, put the "
                "judgments on one scale."
            )
    return doubt_lines


def _odd_scores(study: Study) -> list[str]:
    """Report evaluators with extreme or missing scores, or a system on another scale."""
    if study.scores is None:
        return []
    places = study.outputs.set_index("output_id")[["item_id", "system", "is_human"]]
    scores = study.scores.join(places, on="output_id")
    by_evaluator = list(scores[~scores["is_human"]].groupby("evaluator", sort=False))
    return [
        f"{', '.join(names[:3])}{f' and {len(names) - 3} more' if names[3:] else ''}: {line}"
        for line, names in _by_line(_odd_scores_of_one, study, by_evaluator).items()
    ]


def _odd_scores_of_one(study: Study, scores: pd.DataFrame) -> list[str]:
    lines = _incomplete(study, scores)
    scores = scores.dropna(subset="score")
    values, rule = extremes(scores["score"], of_program=True)
    # Scores below 1, such as products of probabilities, may differ by orders of magnitude.
    if values.abs().max() >= 1:
        row = scores.loc[values.index].sort_values("score", key=abs).iloc[-1]
        lines.append(
            f"scores {rule}: {len(values):,}; the greatest is {row['score']:,g}, for output "
            f"{row['output_id']}. If they are errors, correct the file."
        )
    for system, inside in scores.groupby("system", sort=False)["score"]:
        outside = scores.loc[scores["system"] != system, "score"]
        is_larger = inside.median() > EXTREME * outside.median() > 0
        is_above = (inside > outside.max()).mean() >= _ABOVE
        if len(inside) >= FEWEST and is_larger and is_above:
            lines.append(
                f"the scores of {system} seem to be on another scale: their median is "
                f"{inside.median():,g}, that of the others {outside.median():,g}. If so, put "
                "them on one scale."
            )
    return lines


def _rarely_shown(study: Study) -> list[str]:
    """Report systems with less than a quarter of the items that the median system has."""
    machines = study.outputs[~study.outputs["is_human"]]
    counts = machines.groupby("system", sort=False)["item_id"].nunique()
    usual = counts.median()
    few = [f"{system} ({n})" for system, n in counts[counts < usual / 4].items()]
    more = f" and {len(few) - 5} more" if len(few) > 5 else ""
    return [
        f"systems with far fewer items than the others (median {usual:g}): {', '.join(few[:5])}"
        f"{more}. If a name is misspelled, correct it; if not, their means rest on other items."
    ] * bool(few)


def _few(study: Study, answers: pd.DataFrame) -> list[str]:
    """Report too few annotators, items or clusters for intervals, counted as in analyses."""
    lines = []
    who, n = answers["annotator_id"], answers["annotator_id"].nunique()
    effective = effective_size(pd.factorize(who)[0])
    if set(who) == {PLACEHOLDER}:
        lines.append(
            "annotators are unknown: intervals generalize to other items only. If a column names "
            "them, map it to annotator_id."
        )
    elif study.persons and round(effective) < FEWEST:
        more = f", effectively {effective:.1f}" if effective < n - 0.5 else ""
        lines.append(
            f"few annotators ({n}{more}): with fewer than {FEWEST}, intervals generalize to other "
            "items, but not to other annotators, who may order systems differently."
        )
    counted = {"items": answers["item_id"]}
    if study.clusters != "item_id" and "cluster" in answers:
        counted[f"clusters by {study.clusters}"] = answers["cluster"]
    few = {kind: n for kind, ids in counted.items() if (n := ids.nunique()) < FEWEST}
    why = f"with fewer than {FEWEST}, intervals are unreliable."
    return lines + [f"few {kind} ({n}): {why}" for kind, n in few.items()]


def _undecided(study: Study, answers: pd.DataFrame) -> list[str]:
    """Report pairs of systems that a sign test cannot order because most comparisons are ties.

    A comparison is a vote, or the systems' mean judgments on one item. An analysis can order such a
    pair nevertheless, by the sizes of differences or by comparisons with other systems.
    """
    if "choice" in answers:
        compared = sort_pairs(answers, "system", "system_b")
        compared = compared.assign(tie=answers["choice"] == "tie")
    else:
        means = answers.groupby(["item_id", "system"])["value"].mean().reset_index()
        if (means.groupby("item_id").size() ** 2).sum() > _LARGEST:
            return []
        compared = means.merge(means, on="item_id", suffixes=("", "_b"))
        # Means of the same judgments in another order may differ in the last digit.
        compared["tie"] = (compared["value"] - compared["value_b"]).abs() < 1e-9
    compared = compared[compared["system"] < compared["system_b"]]
    pairs = compared.groupby(["system", "system_b"])["tie"].agg(n="size", ties="sum").reset_index()
    pairs = pairs[pairs["n"] >= _DECISIVE]
    decisive = pairs["n"] - pairs["ties"]
    tied = pairs[(decisive < _DECISIVE) & (decisive < pairs["ties"])]
    if tied.empty:
        return []
    unit = "votes" if "choice" in answers else "items"
    example = "{0.system} and {0.system_b} (equal in {0.ties} of {0.n} {1})"
    examples = [example.format(pair, unit) for pair in tied.head(3).itertuples()]
    more = f" and {len(tied) - 3:,} more" if len(tied) > 3 else ""
    return [
        f"ties leave fewer than {_DECISIVE} decisive {unit} in {len(tied):,} of {len(pairs):,} "
        f"pairs of systems: {', '.join(examples)}{more}. A sign test cannot order such a pair; an "
        "analysis that does relies on the sizes of differences or on other systems."
    ]


def _missing(study: Study, answers: pd.DataFrame) -> list[str]:
    """Report systems that lack judgments or votes more often than others.

    An output lacks some if it has fewer than the most common number. Systems are reported if their
    shares of such outputs differ by at least `_GAP`, and if a chi-squared test with expected counts
    of at least 1 (Cochran's rule) has a p-value below `_RARE`.
    """
    machines = study.outputs[~study.outputs["is_human"]]
    counts = answers.filter(regex="^output_").stack().value_counts()
    usual = int(counts.mode().min())
    judged = machines.loc[machines["output_id"].isin(counts.index), "system"]
    machines = machines[machines["system"].isin(judged)]
    lacks = machines["output_id"].map(counts).fillna(0) < usual
    table = pd.crosstab(machines["system"], lacks)
    if min(table.shape) < 2:
        return []
    test = chi2_contingency(table.to_numpy())
    share = (table[True] / table.sum(axis=1)).sort_values(kind="stable")
    fewest, most = share.index[[0, -1]]
    if share[most] - share[fewest] < _GAP or test.expected_freq.min() < 1 or test.pvalue >= _RARE:
        return []
    return [
        f"missing {'votes' if 'choice' in answers else 'judgments'} depend on the system: "
        f"{share[fewest]:.0%} of the outputs of {fewest} have fewer than {usual}, compared with "
        f"{share[most]:.0%} for {most} (chi-squared test of all systems: p = {test.pvalue:.1g}). "
        f"If bad outputs were skipped, {most} looks better than it is."
    ]


def _incomplete(study: Study, answers: pd.DataFrame) -> list[str]:
    """Report missing and repeated answers of a design that is complete but for these."""
    named = {"item_id": "item", "system": "system", "annotator_id": "annotator"}
    answers = _as_judgments(answers)
    keys = [key for key in named if key in answers]
    levels = [answers[key].unique() for key in keys]
    size = math.prod(map(len, levels))
    # A system may have several outputs for an item.
    cells = answers.groupby(keys, sort=False)["output_id"]
    counts = cells.size() // cells.nunique()
    usual = counts.mode().iloc[0]
    n_usual = int((counts == usual).sum())
    if not max(_COMPLETE * size, _CELLS) <= n_usual < size <= _LARGEST:
        return []
    counts = counts.reindex(pd.MultiIndex.from_product(levels, names=keys), fill_value=0)
    noun = "votes" if "choice" in answers else "judgments" if "value" in answers else "scores"
    errors = []
    for rule, odd in (("missing", counts[counts < usual]), ("repeated", counts[counts > usual])):
        names = odd.index.to_frame(index=False)
        tops = {named[key]: names[key].value_counts() for key in keys if len(names)}
        most = [f"{kind} {top.index[0]} ({top.iloc[0]:,})" for kind, top in tops.items()]
        errors += [f"{noun} are {rule} in {len(odd):,}, most of {', '.join(most)}"] * bool(most)
    cell = listed(named[key] for key in keys)
    return [
        f"the design is nearly complete, with {usual} for each {cell}, but of {size:,} such cells "
        f"{'; '.join(errors)}. Check whether rows were lost, repeated or misspelled."
    ]


def _as_judgments(answers: pd.DataFrame) -> pd.DataFrame:
    """Write votes as judgments of a pair, whichever output was shown first."""
    if "choice" not in answers:
        return answers
    pairs = sort_pairs(answers, "output_a", "output_b")
    systems = sort_pairs(answers, "system", "system_b")
    value = answers["choice"].astype(str).map({"a": 1.0, "tie": 0.0, "b": -1.0})
    is_turned = pairs["output_a"] != answers["output_a"].astype(str)
    return answers.assign(
        system=systems["system"] + " and " + systems["system_b"],
        output_id=pairs["output_a"] + " and " + pairs["output_b"],
        value=value.where(~is_turned, -value),
    )


def _contrary(_: Study, answers: pd.DataFrame) -> list[str]:
    """Report annotators who disagree with the others more often than by chance."""
    return [
        f"annotator {line} correlates negatively with the mean of the others. If the scale or the "
        "sides were reversed, correct the answers."
        for line in contrary(_as_judgments(answers))
    ]


def _incomparable(study: Study, answers: pd.DataFrame) -> list[str]:
    """Report systems or outputs that were not judged under equal conditions."""
    if "choice" in answers:
        across = int((answers["item_id"] != answers["item_id_b"]).sum())
        lead = f"{across:,} of {len(answers):,} compare outputs for different items: "
        return [f"{lead}easier items make systems look better."] if across else []
    lines = []
    if answers.groupby("output_id").size().max() == 1:
        lines.append(
            "one judgment per output: agreement between annotators, which limits an evaluator's "
            "agreement with them, cannot be estimated."
        )
    machines = study.outputs.loc[~study.outputs["is_human"], "output_id"]
    lacking = int((~machines.isin(answers["output_id"])).sum())
    if lacking:
        lines.append(f"{lacking:,} of {len(machines):,} outputs of systems are not judged.")
        of_systems = answers.loc[answers["output_id"].isin(machines), ["item_id", "system"]]
        shared = of_systems.drop_duplicates().groupby("item_id").size() > 1
        if 0 < shared.mean() < _SHARED:
            lines.append(
                f"only {shared.sum():,} of {len(shared):,} judged items have judgments of several "
                "systems, and differences in means rest on these."
            )
    return lines


def _disconnected(_: Study, answers: pd.DataFrame) -> list[str]:
    """Report systems that share no items or annotators, which no analysis can compare."""
    lines: list[str] = []
    if "choice" in answers:
        return lines
    for column, noun, means in (
        ("annotator_id", "annotators", "stricter annotators make systems look worse"),
        ("item_id", "items", "harder items make systems look worse"),
    ):
        links = answers[["system", column]].drop_duplicates()
        links["group"] = linked(links["system"], links[column])
        by_group = links.drop_duplicates("system").groupby("group")["system"]
        groups = sorted(sorted(map(str, systems)) for _, systems in by_group)
        if len(groups) > 1:
            few = [", ".join(systems[:4]) + ", ..." * (len(systems) > 4) for systems in groups]
            lines.append(
                f"systems fall into {len(groups)} groups that share no {noun} ({'; '.join(few)}). "
                f"Systems in different groups cannot be compared: {means}."
            )
    return lines


def single_opponents(study: Study) -> list[str]:
    """Report votes or comparisons that are all with the same system, of three or more."""
    lines = []
    system = study.outputs.set_index("output_id")["system"]
    for noun, table in (("votes", study.preferences), ("comparisons", study.comparisons)):
        if table is not None and len(study.systems) > 2:
            sides = table[["output_a", "output_b"]].apply(lambda ids: ids.map(system))
            common = [name for name in {*sides.iloc[0]} if sides.eq(name).any(axis=1).all()]
            text = "other systems were not compared with each other, so their order is indirect."
            lines += [f"All {noun} are with {name}: {text}" for name in common if len(common) == 1]
    return lines


def repeated_texts(study: Study) -> list[str]:
    """List systems with the same text for most outputs, on ten items or more."""
    lines = []
    machines = study.outputs[~study.outputs["is_human"]]
    for system, outputs in machines.groupby("system", sort=False):
        text = outputs["text"].mode().iloc[0]
        same = outputs[outputs["text"] == text]
        if text and 2 * len(same) > len(outputs) and same["item_id"].nunique() >= FEWEST:
            lines.append(
                f"{system}: {len(same):,} of {len(outputs):,} outputs are the same text. A judge "
                "or evaluator that prefers this text ignores the items."
            )
    return lines


def reversed_evaluators(study: Study) -> list[str]:
    """List evaluators that clearly correlate negatively with the judgments of quality."""
    try:
        judged = study.judged()
    except Unsupported:
        return []
    lines = []
    for key, scores in _scores(study):
        means = judged.groupby(key)["value"].mean()
        paired = scores.assign(mean=scores[key].map(means)).dropna(subset=["score", "mean"])
        # Outputs on one item are not independent samples.
        n = paired["item_id"].nunique() if key == "output_id" else len(paired)
        if n < FEWEST or paired["mean"].nunique() < 2 or paired["score"].nunique() < 2:
            continue
        r = float(paired["mean"].corr(paired["score"], method="spearman"))
        if is_negative(r, n):
            lines.append(
                f"{scores['evaluator'].iloc[0]} correlates negatively with {study.dimension()} "
                f"(Spearman {r:.2f}, {n:,} {'items' if key == 'output_id' else 'systems'}): if "
                "lower is better, add it to `settings: lower_is_better`; if not, check its scores."
            )
    return lines
