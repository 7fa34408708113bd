"""The findings of notebooks 08 to 12, which are about any study: written from a run's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from nlgbench.analysis.judges.pass_fail import ALL_SYSTEMS
from nlgbench.analysis.judges.verdicts import SENTINELS as VERDICT_SENTINELS
from nlgbench.clustering import FEWEST, OTHER_ANNOTATORS, THESE_ANNOTATORS
from nlgbench.datasets.published import cite
from nlgbench.evaluators.names import label
from nlgbench.evaluators.sentinels import LENGTH, SENTINELS
from nlgbench.runner.facts import Facts, Finding, Where
from nlgbench.study import Study
from nlgbench.text import counted, listed


def describe_source(studies: Study | Mapping[str, Study] | str, source: str) -> dict[str, str]:
    """Describe the study (name), its source (in full) and, for a single study, its size."""
    if isinstance(studies, str):
        return {"study": "", "source": studies, "data": ""}
    opened = [studies] if isinstance(studies, Study) else list(studies.values())
    released = source == "released"
    study_names = ((released and study.origin.partition(":")[2]) or study.name for study in opened)
    names = list(dict.fromkeys(study_names))
    name = names[0] if len(names) == 1 else f"{len(opened)} studies"
    if released:
        description = f"released data of {listed(dict.fromkeys(map(cite, names)))}"
    elif source == "simulated":
        worlds = listed(map(repr, names))
        description = f"simulated world{'s' * (len(names) > 1)} {worlds}, whose truth is known"
    else:
        description = f"your study {name}"
    outputs = opened[0].outputs
    n_systems, n_human = len(opened[0].systems), int(outputs["is_human"].sum())
    by_system = f"{counted(len(outputs) - n_human, 'output')} of {counted(n_systems, 'system')}"
    kinds = [by_system] * bool(n_systems) + [counted(n_human, "human output")] * bool(n_human)
    size = f"{listed(kinds)} on {counted(outputs['item_id'].nunique(), 'item')}"
    return {"study": name, "source": description, "data": size if len(names) == 1 else ""}


def findings(study: Study, facts: Facts) -> list[Finding]:
    """Write the findings of notebook 08 on systems, evaluators, and limits of the study's design.

    `facts` has the run's tables, without those of analyses that the study does not support.
    """
    groups = [_groups(facts)] if "groups" in facts.tables else []
    return [_systems(study, facts), *groups, _evaluators(study, facts), _limits(study, facts)]


def _systems(study: Study, facts: Facts) -> Finding:
    """Report which systems are distinguishable, by the best evidence that the study has."""
    if "evaluator" in facts.rows("systems"):
        evaluator = facts.names("systems", column="evaluator")
        sentence = _by_tests(facts, "systems", {}, "adjusted mean score")
        return facts.sentence(f"By {evaluator}, not by annotators, {sentence}.")
    if "pairs" in facts.tables:
        dimension = facts.names("pairs", column="dimension")
        basis = f"By judgments of {dimension}"
        if "annotators" in facts.tables:
            basis += f" ({facts.count('annotators')} annotators)"
        text = f"{basis}, {_by_tests(facts, 'systems', {}, 'adjusted mean')}."
        judged = study.judged(facts.tables["pairs"]["dimension"].iloc[0])
        if not judged[["item_id", "system"]].drop_duplicates()["item_id"].duplicated().any():
            text += " No two systems were judged on the same items, so that differences may be "
            text += "those of the items."
        return facts.sentence(text)
    if "ratings" in facts.tables:
        first: Where = {"comparator": facts.tables["ratings"]["comparator"].iloc[0]}
        basis = "By annotators' votes"
        if first["comparator"] != "people":
            comparator = facts.names("ratings", first, column="comparator")
            basis = f"By comparisons of {comparator}, not by annotators"
        sentence = _by_tests(facts, "ratings", first, "Bradley-Terry rating", "rating_pairs")
        return facts.sentence(f"{basis}, {sentence}.")
    if study.system_scores is not None:
        text = "The study has scores of whole systems: only scores of outputs can show whether "
        return facts.sentence(f"{text}systems differ.")
    return facts.sentence("The study has no data to rank systems by.")


def _groups(facts: Facts) -> Finding:
    """Report in how many groups of items systems differ, and whether differences vary."""
    tested: Where = {"p_adjusted": ("defined", None)}
    if facts.rows("groups", tested).empty:
        return facts.sentence("No group has enough items to compare systems within it.")
    n_differ = facts.count("groups", {"p_adjusted": ("<", 0.05)}, of="differences", each=2)
    n_tested = facts.count("groups", tested, of="differences", each=2)
    text = f"Within groups of items, {n_differ} of {n_tested} differences are significant (Holm)"
    if not facts.rows("groups", {"p_adjusted": ("<", 0.05)}).empty:
        text += f", in {facts.names('groups', {'p_adjusted': ('<', 0.05)}, column='group')}"
    vary: Where = {"p_interaction": ("<", 0.05)}
    if facts.rows("groups", vary).empty:
        return facts.sentence(f"{text}. No test shows that differences vary among groups.")
    pairs = facts.names("groups", vary, column="system")
    return facts.sentence(
        f"{text}. Differences vary among groups (Welch's test, Holm) for pairs of {pairs}."
    )


def _by_tests(facts: Facts, table: str, where: Where, value: str, tests: str = "pairs") -> str:
    """Report the best systems by adjusted tests, which the ranges of ranks count."""
    if facts.rows(table, {**where, "estimate": ("defined", None)}).empty:
        return f"the order of systems is undefined: {_why(facts, table, where)}"
    text = _first(facts, table, where, value)
    with_interval = facts.rows(table, {**where, "ci_low": ("defined", None)})
    if "covers" in with_interval and len(with_interval):
        text = (
            f"{text[:-1]}; {facts.names(table, {**where, 'ci_low': ('defined', None)}, 'covers')})"
        )
    ranked = {**where, "rank_low": ("defined", None)}
    n = len(facts.rows(table, ranked))
    if n < 2:
        why = _why(facts, table, {**where, "rank_low": ("undefined", None)})
        return f"{text}. The data do not show whether systems differ: {why}"
    text += f" of {facts.count(table, ranked, of='systems')} systems"
    best = {**where, "rank_low": 1}
    # Ratings are sorted by name, other tables by estimate.
    names = facts.names(table, best, by="estimate" if table == "ratings" else "")
    if len(facts.rows(table, best)) == 1:
        text += f". It is distinguishable from {'all others' if n > 2 else 'the other'}"
    else:
        text += f". The data do not show which system is best: it may be any of {names}"
    if tests in facts.tables and n > 2:
        pairs = {**where, "p_adjusted": ("defined", None)}
        differ = {**where, "p_adjusted": ("<", 0.05)}
        n_differ = facts.count(tests, differ, of="pairs", each=2)
        text += f". Pairs of systems that differ significantly (Holm-adjusted): {n_differ} of "
        text += facts.count(tests, pairs, of="pairs", each=2)
    return text + _doubts(facts, table, where)


def _first(facts: Facts, table: str, where: Where, value: str) -> str:
    """Report which systems rank first, and their estimate."""
    rows = facts.rows(table, where)
    highest = {"estimate": rows["estimate"].max()}
    best: Where = {**where, **({"rank": 1} if "rank" in rows else highest)}
    names, systems = facts.names(table, best), facts.rows(table, best)["system"]
    leader = {**best, "system": systems.iloc[0]}
    number = facts.number(table, leader, quantity=value)
    if "n_judgments" in rows:
        n = facts.number(table, leader, "n_judgments", interval=False)
        number += f" from {n} {'items' if 'evaluator' in rows else 'judgments'}"
    return f"{names} {'ranks' if len(systems) == 1 else 'rank'} first ({value} {number})"


def _doubts(facts: Facts, table: str, where: Where) -> str:
    """Count the systems whose intervals are missing or unreliable, with the first reason."""
    text = ""
    for name, interval in (
        ("undefined", "without an interval"),
        ("defined", "with an unreliable interval"),
    ):
        doubtful = {**where, "status": ("not in", ["ok"]), "ci_low": (name, None)}
        if len(facts.rows(table, doubtful)):
            n = facts.count(table, doubtful, of="systems")
            text += f". Systems {interval}: {n} ({facts.reason(table, doubtful)})"
    return text


def _why(facts: Facts, table: str, where: Where) -> str:
    """Return the first reason why an interval is missing or unreliable."""
    doubtful = {**where, "status": ("not in", ["ok"])}
    if facts.rows(table, doubtful).empty:
        return "only one system has an estimate"
    return facts.reason(table, doubtful)


def _evaluators(study: Study, facts: Facts) -> Finding:
    """Report which evaluators agree with annotators, and which of them beat text length."""
    table, value = "correlations", 0.0
    where: dict[str, Any] = {"granularity": "output", "statistic": "spearman"}
    agree: Where = {"p_adjusted": ("<", 0.05), "estimate": (">", 0)}
    is_judged = table in facts.tables
    if not is_judged:
        table, where = "vote_accuracy", {"measure": "accuracy_decided", "against": "votes"}
        value, agree = 0.5, {"ci_low": (">", 0.5)}
    where |= {"evaluator": ("not in", [*SENTINELS, "people"])}
    if facts.rows(table, where).empty:
        return facts.sentence(_untested(study))
    with_interval: Where = {**where, "ci_low": ("defined", None)}
    covers = (
        facts.names(table, with_interval, "estimand" if is_judged else "covers") or "no intervals"
    )
    relation = f"agree with more than half of annotators' votes (without ties; {covers}; not "
    relation += "adjusted for the number of evaluators)"
    if is_judged:
        dimension = facts.names(table, where, "dimension")
        relation = f"correlate positively with judgments of {dimension} over outputs "
        relation += f"(Spearman; {covers}; p Holm-adjusted over evaluators)"
    n = facts.count(table, where, of="evaluators")
    n_agree = facts.count(table, {**where, **agree}, of="evaluators")
    options: Any = {"template": "{evaluator} {number}", "order": "highest", "rest": "{n} others"}
    if facts.rows(table, {**where, **agree}).empty:
        highest = facts.listing(table, where=where, **options)
        text = f"Evaluators shown to {relation}: {n_agree} of {n}"
        if not highest:
            return facts.sentence(f"{text}: {_why(facts, table, where)}.")
        return facts.sentence(f"{text}. The highest estimates: {highest}.")
    agreeing = facts.listing(table, where={**where, **agree}, **options)
    text = f"Evaluators that {relation}: {n_agree} of {n}: {agreeing}."
    length = {**where, "evaluator": LENGTH}
    row = facts.rows(table, {**length, "ci_low": ("defined", None)})
    if row.empty:
        return facts.sentence(text)
    # If length correlates negatively with judgments, its negative predicts them equally well.
    least = max(row["ci_high"].iloc[0], 2 * value - row["ci_low"].iloc[0])
    number = facts.number(table, length, subject=label(LENGTH))
    better = {**where, **agree, "ci_low": (">", least)}
    if facts.rows(table, better).empty:
        text += f" Text length ({number}) may do as well, because the intervals overlap."
    else:
        names = facts.names(table, better, column="evaluator")
        text += f" The intervals above that of text length ({number}) are those of {names}."
    return facts.sentence(text, adjusted="Holm" if is_judged else "")


def _untested(study: Study) -> str:
    human = study.judgments is not None or study.preferences is not None
    if human and (study.scores is not None or study.system_scores is not None):
        return "The study's scores could not be compared with its judgments or votes."
    lacking = "no evaluator scores" if human else "no judgments or votes"
    return f"The study has {lacking}, so agreement of evaluators with annotators is untested."


def _limits(study: Study, facts: Facts) -> Finding:
    """Report what the design cannot show."""
    limits = []
    tables = facts.tables
    covers = [table["covers"] for table in tables.values() if "covers" in table]
    if covers and pd.concat(covers).eq(THESE_ANNOTATORS).any():
        limits.append("how other annotators would judge the outputs")
    if study.judgments is None and study.preferences is None:
        limits.append("how annotators would judge the outputs")
    if "agreement" in tables and tables["agreement"]["estimate"].isna().all():
        limits.append("how far annotators agree (no output has two judgments)")
    if "correlations" in tables and len(study.systems) < FEWEST:
        limits.append("how well evaluators would rank other systems")
    limits.append("how systems perform on other kinds of input")
    return facts.sentence(f"This design cannot show {', or '.join(limits)}.")


def judge_findings(
    facts: Facts,
    judged: str,
    compared: str,
    *,
    dimension: str,
    evaluator: str,
    is_drawn: bool,
    threshold: float | None = None,
    grouped: str = "",
) -> list[Finding | None]:
    """Write the findings of notebook 09 on the studies with these names.

    Judgments are of `dimension`, and pass from `threshold` on. Means are corrected by the scores of
    `evaluator`; `is_drawn` is whether the notebook itself drew the labels.
    """
    details = facts.rows("corrected_details")
    is_flipped = len(details) and details["better"].str.startswith("lower").all()
    flipped = " (sign-flipped, because lower is better)" * bool(is_flipped)
    origin = "; the notebook drew the labels at random from all judged outputs" * is_drawn
    means = facts.listing(
        "corrected_systems",
        '{number} for "{system}" ({n_labels} of {n_outputs} outputs labeled; {covers})',
        {"method": "corrected"},
        order="highest",
        rest="lower for {n} others",
    )
    corrected = None
    if means:
        text = f"In the study `{judged}`, the mean judgment (dimension: {facts.name(dimension)})"
        text += f"{flipped}, estimated from labels and the scores of "
        text += f"{facts.name(label(evaluator))}, is {means}{origin}{_corrected_pair(facts)}."
        corrected = facts.sentence(text, study=judged)
    replaced = _replacement(facts, judged, dimension)
    agreed = _agreement(facts, judged, dimension, threshold)
    orders = [agreed, _orders(facts, compared), corrected, _reversal(facts, grouped), replaced]
    return [*orders, _audit(facts, compared), _constant(facts)]


def _corrected_pair(facts: Facts) -> str:
    """Write the difference between the best two corrected means."""
    ranked = facts.rows("corrected_systems", {"method": "corrected"})["system"]
    if len(ranked) < 2:
        return ""
    best, second = ranked.iloc[:2]
    where: Where = {"method": "corrected", "system": best, "opponent": second}
    pair = facts.rows("corrected_pairs", where)
    if pair.empty:
        return ""
    difference = facts.number("corrected_pairs", where)
    verdict = pair["verdict"].iloc[0] or "not tested"
    return f"; {facts.name(best)} minus {facts.name(second)} is {difference} ({verdict})"


def _agreement(facts: Facts, study: str, dimension: str, threshold: float | None) -> Finding | None:
    """Compare judges' accuracy with that of a constant judge."""
    where: Where = {"system": ALL_SYSTEMS, "quantity": "accuracy"}
    accuracies = facts.listing(
        "agreement",
        '{number} for "{evaluator}"',
        where,
        order="highest",
        rest="lower for {n} others",
    )
    if not accuracies:
        return None
    judge = facts.rows("agreement", where)["evaluator"].iloc[0]
    constant = {**where, "quantity": "constant_accuracy", "evaluator": judge}
    passing = (
        "" if threshold is None else f"; they pass from {facts.name(f'threshold {threshold:g}')} on"
    )
    text = f"In the study `{study}`, the share of labels (dimension: {facts.name(dimension)}"
    text += f"{passing}) with which a judge agrees is {accuracies}; for a judge that always gives "
    text += f"the most frequent label, it is {facts.number('agreement', constant)}."
    return facts.sentence(text, study=study)


def _orders(facts: Facts, study: str) -> Finding | None:
    """Report how often a judge's verdict is the same in both orders."""
    where: Where = {"test": "consistency", "evaluator": ("not in", [*VERDICT_SENTINELS])}
    shares = facts.listing(
        "audit_findings",
        "{number} for {evaluator}",
        where,
        order="lowest",
        rest="higher for {n} others",
    )
    if not shares:
        return None
    text = f"In the study `{study}`, the share of pairs with the same verdict in both orders is "
    return facts.sentence(f"{text}{shares}.", study=study)


def _reversal(facts: Facts, study: str) -> Finding | None:
    """Report groups in which the judge prefers a system that labels show to be worse."""
    rows = facts.rows("within_groups")
    if rows.empty:
        return None
    keys = ["group", "system", "opponent"]
    verdicts = rows.pivot(index=keys, columns="method", values="verdict")
    is_reversed = verdicts["evaluator alone"].eq("better") & verdicts["corrected"].eq("worse")
    if not is_reversed.any():
        return facts.sentence(f"In the study `{study}`, labels reverse no difference in a group.")
    reversals = []
    for group, system, opponent in verdicts.index[is_reversed]:
        where = {"group": group, "system": system, "opponent": opponent}
        judged, corrected = (
            facts.number("within_groups", {**where, "method": method})
            for method in ("evaluator alone", "corrected")
        )
        text = f'{judged} in "{facts.name(group)}" by the judge ({facts.name(system)} minus '
        reversals.append(f"{text}{facts.name(opponent)}), but {corrected} if corrected by labels")
    text = f"In the study `{study}`, the difference between means is {listed(reversals)}."
    return facts.sentence(text, study=study, adjusted="Holm")


def _replacement(facts: Facts, study: str, dimension: str) -> Finding | None:
    """Report which evaluators may replace an annotator, and by which rule."""
    table = "replaced_evaluators"
    template = '{number} for "{evaluator}" (omega {omega:.2f}, {n_annotators} annotators: '
    template += "{verdict}; {covers})"
    with_p: Where = {"p": ("defined", None)}
    if facts.rows(table, with_p).empty:
        return None
    n = facts.count(table, {"verdict": "replaces"}, among=with_p, of="evaluators")
    first = {"evaluator": facts.rows(table, with_p)["evaluator"].iloc[0]}
    epsilon = facts.number(table, first, "epsilon", interval=False)
    measure = facts.names("replaced_details", column="agreement")
    rule = "for at least half of annotators, a test shows that the evaluator agrees with the other "
    rule += f"annotators (measure: {measure}) at least as well as this annotator does, up to "
    rule += f"epsilon {epsilon}; omega is the share of such annotators, tests are adjusted over "
    rule += "annotators, and verdicts by Holm over evaluators"
    listing = facts.listing(table, template, order="highest", rest="lower for {n} others")
    text = f"In the study `{study}`, {n} are shown to be able to replace an annotator (dimension: "
    text += f"{facts.name(dimension)}): {rule}. The probability that the evaluator agrees at least "
    text += f"as well as an annotator does, averaged over annotators, is {listing}."
    return facts.sentence(text, study=study, conditions=rule, adjusted="Holm")


#: An audit's verdict -> in words.
_VERDICTS = {
    "found": "found (interval beyond the margin)",
    "significant": "significant but perhaps within the margin",
    "ruled out": "ruled out ({inner} interval within the margin)",
    "not shown": "inconclusive",
}


def _audit(facts: Facts, study: str) -> Finding | None:
    """Count the verdicts of an audit, and list the biases that it found."""
    table, with_p = "audit_findings", {"p_adjusted": ("defined", None)}
    if facts.rows(table, with_p).empty:
        return None
    row = facts.rows(table, with_p).iloc[0]
    first = {"evaluator": row["evaluator"], "test": row["test"]}
    margin = facts.number(table, first, "margin", interval=False)
    # Whether a bias is ruled out is a test at the same level, but on each side of the interval.
    inner = facts.name(f"{2 * row['confidence'] - 1:.0%}")
    counts = ", ".join(
        f"{description.format(inner=inner)} {facts.count(table, {**with_p, 'verdict': verdict})}"
        for verdict, description in _VERDICTS.items()
    )
    biases = facts.listing(table, "{evaluator} ({test}: {number})", {**with_p, "verdict": "found"})
    text = f"In the study `{study}`, judges were tested for biases (number of tests: "
    text += f"{facts.count(table, with_p, of='tests')}, Holm-adjusted within judges; margin: "
    text += f"{margin} of verdicts): {counts}"
    if biases:
        text += ". Found, as the gain in the share of verdicts of a text shown first (position), "
        text += f"twice as long (length), or by the judge's own system (own): {biases}"
    for status in facts.rows(table, {**with_p, "status": ("not in", ["ok"])})["status"].unique():
        doubtful = {**with_p, "status": status}
        text += f". Tests with a reservation: {facts.count(table, doubtful, of='tests')} "
        text += f"({facts.reason(table, doubtful)})"
    return facts.sentence(f"{text}.", study=study, adjusted="Holm")


def _constant(facts: Facts) -> Finding | None:
    """Report how often AlpacaEval's constant text wins."""
    where = {"evaluator": "NullModel", "kind": "all prompts"}
    if facts.rows("alpaca_eval", where).empty:
        return None
    number = facts.number("alpaca_eval", where, form=".0%")
    n = facts.number("alpaca_eval", where, "n_clusters", interval=False)
    text = "In AlpacaEval, according to its judge, GPT-4 Turbo, a constant text (NullModel) has a "
    text += f"win rate of {number} in {n} comparisons with texts of GPT-4 Turbo."
    return facts.sentence(text, study="alpaca-eval")


def planning_findings(
    facts: Facts,
    dimension: str | None,
    *,
    of_votes: bool,
    evaluator: str | None = None,
    sample: str,
    block: str,
    default: bool,
) -> list[Finding | None]:
    """Write the findings of notebook 10: the cheapest designs, and pairs decided early.

    Judgments are of `dimension`. Sequential tests are of the scores of `evaluator` if it is given,
    of votes if `of_votes`, else of judgments, after each `block` (an item or annotator). In planned
    tests, annotators are a `sample` (``fixed`` or ``random``); `default` is whether the notebook
    chose the difference.
    """
    judgments, shares = f"judgments of {dimension}", "between the shares of wins and losses"
    tested = "votes" if of_votes else judgments
    if evaluator is not None:
        tested, of_votes = f"scores by {evaluator}, not by annotators", False
    covers = THESE_ANNOTATORS if sample == "fixed" else OTHER_ANNOTATORS
    fifth = " (the notebook's default: a fifth of the standard deviation within systems)"
    points = f"points{fifth * default}"
    means = _cheapest(facts, "means_designs", f"{judgments} ({covers})", "output", points)
    designs = [means, _cheapest(facts, "votes_designs", f"votes ({covers})", "pair", shares)]
    decided: Where = {"verdict": ("in", ["better", "worse"])}
    if facts.rows("stops").empty:
        return designs
    text = f"Sequential tests of {tested} (Holm-adjusted; "
    text += f"{facts.names('stops', column='covers')}) decide "
    text += facts.count("stops", decided, among={}, of="pairs of systems")
    template = "{system} is {verdict} than {opponent} ({number} after {stopped_at:.0f} "
    template += f"{block}s)"
    more = "; the table has {n} more"
    listing = facts.listing("stops", template, decided, value="stopped_estimate", rest=more)
    unit = f"differences {shares}" if of_votes else "differences in points"
    unit += " when the test stopped, with confidence sequences not adjusted over pairs"
    text += f" ({unit}): {listing}" * bool(listing)
    return [*designs, facts.sentence(f"{text}.", adjusted="Holm")]


def _cheapest(facts: Facts, table: str, data: str, per: str, unit: str) -> Finding | None:
    """Report the cheapest design with the target power, or else the most powerful."""
    designs = facts.rows(table, {"power": ("defined", None)})
    if designs.empty:
        return None
    status, data_kind = designs["status"].iloc[0], data.partition(" ")[0]
    template = "the cheapest design searched whose power is at least {target} has "
    if status == "no_power":
        template = "no design searched has a power of {target}; the most powerful has "
    template += "{n_items} items and {n_annotators} annotators ({design} design), {n_votes} "
    template += (
        f"annotators per {per}, {{n_judgments}} {data_kind} in total, for a price of {{price:.0f}} "
    )
    template += "({price_judgment} each, {price_item} per item, {price_annotator} per annotator); "
    template += (
        f"its power is {{power:.2f}} for a difference of {{difference}} {unit} at level {{level}}"
    )
    text = facts.listing(table, template, value="power", most=1)
    conditions = "the variances of the pilot study are taken as known"
    if status not in ("ok", "no_power"):
        conditions += f"; {facts.reason(table)}"
    text = f"For comparing two systems by {data}, {text} ({conditions})."
    return facts.sentence(text, conditions=conditions)


def atlas_findings(facts: Facts, statistic: str) -> list[Finding | None]:
    """Write the findings of notebook 11: means over studies, and correlations in a further one."""
    name = statistic.partition("_")[0].capitalize()
    template = (
        '[{prediction_low:.2f}, {prediction_high:.2f}] for "{evaluator}" (mean {number} over '
    )
    template += "{n_studies} studies)"
    predicted = {"prediction_low": ("defined", None), "evaluator": ("not in", list(SENTINELS))}
    further = f"In a further study, the {name} correlation over outputs is predicted to be in"
    more = "; the table has {n} more"
    return [
        _ranked(facts, "ranking", f"the mean {name} correlation with judgments of outputs is"),
        facts.say(further, "pooled_summary", template, predicted, order="highest", rest=more),
        _ranked(facts, "ranking_beyond_length", f"the mean {name} correlation exceeds that of"),
    ]


def _ranked(facts: Facts, table: str, start: str) -> Finding | None:
    """Rank evaluators by their means over the studies that they share."""
    ranked: Where = {"rank": ("defined", None)}
    rows = facts.rows(table, ranked)
    if rows.empty:
        return None
    options: Any = {"order": "highest", "rest": "lower for {n} others"}
    null: float | None = None
    if table == "ranking_beyond_length":
        # Its own correlation explains part of the differences from it.
        template = ", whose mean is {number} (studies: {n_studies}),"
        length = facts.listing("pooled_summary", template, {"evaluator": LENGTH})
        start += " text length (longer is better; studies without texts have noise instead)"
        start, null = f"{start}{length} by", 0.0
    listing = facts.listing(table, '{number} for "{evaluator}"', ranked, null=null, **options)
    first = {"evaluator": rows["evaluator"].iloc[0]}
    n_studies = facts.number(table, first, "n_studies", interval=False)
    text = f"Over the {n_studies} studies that {facts.count(table, ranked, of='evaluators')} "
    text += f"evaluators share, {start} {listing}"
    return facts.sentence(f"{text} (differences between evaluators are not tested).")


def series_findings(facts: Facts, changes: Iterable[str]) -> list[Finding]:
    """Write the findings of notebook 12: which measures follow the truth in each series."""
    return [_followed(facts, change, f"trends_{change.replace(' ', '_')}") for change in changes]


def _followed(facts: Facts, change: str, table: str) -> Finding:
    """Report which measures follow the truth if systems change in one way."""
    every: Where = {"truth": "l_star"}
    follow: Where = {**every, "verdict": "detects"}
    n = facts.count(table, follow, among=every, of="measures")
    text = f"In the series {change}, {n} follow L*, one minus the total variation distance between "
    text += "human and machine texts (slope significantly positive; tests are not adjusted)"
    if len(facts.rows(table, follow)):
        text += f": {facts.names(table, follow, 'measure')}"
    for group, where in (
        ("of these, measured without some systems", {**follow, "status": "excluded"}),
        ("without a verdict", {**every, "ci_low": ("undefined", None)}),
    ):
        if len(facts.rows(table, where)):
            text += f"; {group}: {facts.count(table, where, of='measures')}"
    return facts.sentence(f"{text}.")
