"""The findings of notebooks 08 to 12, which are about any study: written from a run's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nlgbench.analysis.judges.pass_fail import ALL_SYSTEMS
from nlgbench.analysis.judges.verdicts import SENTINELS as VERDICT_SENTINELS
from nlgbench.clustering import OTHER_ANNOTATORS, THESE_ANNOTATORS, write_scope
from nlgbench.datasets.published import cite
from nlgbench.evaluators.names import label
from nlgbench.evaluators.sentinels import LENGTH, SENTINELS
from nlgbench.runner.facts import Facts, Finding, Where
from nlgbench.study import Study
from nlgbench.study.summary import repeated_texts, single_opponents
from nlgbench.text import counted, listed

#: Names of an output's position in a pair, where files do not name systems.
_POSITION = re.compile("(output|response|answer|text|candidate)[ _-]?[12ab]", re.IGNORECASE)


def _has_positions(study: Study) -> bool:
    return bool(study.systems) and all(map(_POSITION.fullmatch, study.systems))


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
    noun = "position" if _has_positions(opened[0]) else "system"
    by_system = f"{counted(len(outputs) - n_human, 'output')} of {counted(n_systems, noun)}"
    kinds = [by_system] * bool(n_systems) + [counted(n_human, "human output")] * bool(n_human)
    size = f"{listed(kinds)} on {counted(outputs['item_id'].nunique(), 'item')}"
    return {"study": name, "source": description, "data": size if len(names) == 1 else ""}


def findings(study: Study, facts: Facts) -> list[Finding | None]:
    """Write the findings of notebook 08 on systems, evaluators, and annotators' agreement."""
    if _has_positions(study):
        text = f"The study names positions of outputs ({facts.name(listed(study.systems))}), not "
        positions = facts.sentence(f"{text}systems, so they are not ranked.")
        return [_evaluators(study, facts), positions, _annotators(facts)]
    groups = [_groups(facts)] if "groups" in facts.tables else []
    return [_systems(study, facts), *groups, _evaluators(study, facts), _annotators(facts)]


def _systems(study: Study, facts: Facts) -> Finding:
    """Report which systems are distinguishable, by the best evidence that the study has."""
    cautions = repeated_texts(study)
    first: Where = {}
    table, value, tests, basis = "systems", "adjusted mean", "pairs", ""
    if "evaluator" in facts.rows("systems"):
        basis = f"the scores of {facts.names('systems', column='evaluator')}, not by annotators"
        value = "adjusted mean score"
    elif "pairs" in facts.tables:
        basis = f"judgments of {facts.names('pairs', column='dimension')}"
        if "annotators" in facts.tables:
            basis = f"{facts.count('annotators')} annotators' {basis}"
        judged = study.judged(facts.tables["pairs"]["dimension"].iloc[0])
        if not judged[["item_id", "system"]].drop_duplicates()["item_id"].duplicated().any():
            text = "No two systems were judged on the same items, so items may explain differences."
            cautions.append(text)
    elif "ratings" in facts.tables:
        cautions += single_opponents(study)
        table, value, tests = "ratings", "Bradley-Terry rating", "rating_pairs"
        first = {"comparator": facts.tables["ratings"]["comparator"].iloc[0]}
        basis = "annotators' votes"
        if first["comparator"] != "people":
            comparator = facts.names("ratings", first, column="comparator")
            basis = f"the comparisons of {comparator}, not by annotators"
    else:
        text = "The study has scores of whole systems: only scores of outputs can show differences."
        has_scores = study.system_scores is not None
        return facts.sentence(text if has_scores else "The study has no data to rank systems by.")
    # A caution comes before the ranking that it limits.
    ranking = f"By {basis}, {_by_tests(facts, table, first, value, tests)}"
    return facts.sentence(" ".join([*map(facts.name, cautions), ranking]))


def _groups(facts: Facts) -> Finding:
    """Report in how many groups of items systems differ, and whether differences vary."""
    tested: Where = {"p_adjusted": ("defined", None)}
    if facts.rows("groups", tested).empty:
        return facts.sentence("No group has enough items to compare systems within it.")
    differ: Where = {"p_adjusted": ("<", 0.05)}
    n_differ = facts.count("groups", differ, among=tested, of="differences", each=2)
    text = f"Within groups of items, {n_differ} are significant (Holm-adjusted)"
    if len(facts.rows("groups", differ)):
        text += f", in {facts.names('groups', differ, column='group')}"
    vary: Where = {"p_interaction": ("<", 0.05)}
    if facts.rows("groups", vary).empty:
        return facts.sentence(f"{text}. No test shows that differences vary among groups.")
    text += ". Differences vary among groups (Welch's test, Holm-adjusted) for pairs of "
    return facts.sentence(f"{text}{facts.names('groups', vary, column='system')}.")


def _by_tests(facts: Facts, table: str, where: Where, value: str, tests: str) -> str:
    """Report the best systems by adjusted tests, which the ranges of ranks count."""
    if facts.rows(table, {**where, "estimate": ("defined", None)}).empty:
        return f"the order of systems is undefined: {_why(facts, table, where)}."
    text = _first(facts, table, where, value)
    ranked = {**where, "rank_low": ("defined", None)}
    n = len(facts.rows(table, ranked))
    if n < 2:
        why = _why(facts, table, {**where, "rank_low": ("undefined", None)})
        return f"{text}. The data do not show whether systems differ: {why}."
    text += f" of {facts.count(table, ranked, of='systems')} systems"
    best = {**where, "rank_low": 1}
    n_best = len(facts.rows(table, best))
    if n_best == 1:
        text += f" and differs significantly from {'all others' if n > 2 else 'the other'}"
    elif n_best == n:
        text += ", but the data do not show which is best: none can be ruled out"
    else:
        # Ratings are sorted by name, other tables by estimate.
        names = facts.names(table, best, by="estimate" if table == "ratings" else "")
        text += f", but {facts.count(table, best, of='systems')} of them may be the best: {names}"
    if tests in facts.tables and n > 2:
        n_differ = facts.count(tests, {**where, "p_adjusted": ("<", 0.05)}, of="pairs", each=2)
        pairs = {**where, "p_adjusted": ("defined", None)}
        n_pairs = facts.count(tests, pairs, of="pairs", each=2)
        text += f". Pairs that differ significantly (Holm-adjusted): {n_differ} of {n_pairs}"
    with_interval = facts.rows(table, {**where, "ci_low": ("defined", None)})
    scope = write_scope(with_interval.get("covers", ()))
    text += f". Intervals generalize to {scope}" * bool(scope)
    return f"{text}.{_doubts(facts, table, where)}"


def _first(facts: Facts, table: str, where: Where, value: str) -> str:
    """Report which systems have the highest estimate, and the estimate."""
    rows = facts.rows(table, where)
    highest = rows["estimate"].max()
    best: Where = {**where, **({"rank": 1} if "rank" in rows else {"estimate": highest})}
    names, leaders = facts.names(table, best), facts.rows(table, best)
    leader = {**best, "system": leaders["system"].iloc[0]}
    number = facts.number(table, leader, quantity=value)
    if "n_judgments" in rows:
        n = facts.number(table, leader, "n_judgments", interval=False)
        number += f" from {n} {'items' if 'evaluator' in rows else 'judgments'}"
    verb = "has" if len(leaders) == 1 else "have"
    if leaders["estimate"].iloc[0] < highest:
        return f"{names} {verb} the lowest {value} ({number}; lower is better)"
    return f"{names} {verb} the highest {value} ({number})"


def _doubts(facts: Facts, table: str, where: Where) -> str:
    """Count the systems whose intervals are missing or unreliable, with the first reason."""
    doubtful = {**where, "status": ("not in", ["ok"])}
    if facts.rows(table, doubtful).empty:
        return ""
    n = facts.count(table, doubtful, of="systems")
    return f" Intervals that are missing or unreliable: {n} ({facts.reason(table, doubtful)})."


def _why(facts: Facts, table: str, where: Where) -> str:
    """Return the first reason why an interval is missing or unreliable."""
    doubtful = {**where, "status": ("not in", ["ok"])}
    is_clear = facts.rows(table, doubtful).empty
    return "only one system has an estimate" if is_clear else facts.reason(table, doubtful)


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
        human = study.judgments is not None or study.preferences is not None
        text = f"The study has no {'evaluator scores' if human else 'judgments or votes'}, so "
        text += "agreement of evaluators with annotators is untested."
        if human and (study.scores is not None or study.system_scores is not None):
            text = "The study's scores could not be compared with its judgments or votes."
        return facts.sentence(text)
    relation = "agree with significantly more than half of annotators' votes (ties excluded; not "
    relation += "adjusted for the number of evaluators)"
    if is_judged:
        dimension = facts.names(table, where, "dimension")
        relation = f"have a significant positive correlation with judgments of {dimension} over "
        turned = {study.sign(name) for name in facts.rows(table, where)["dimension"]} == {-1}
        relation += "outputs (Spearman; Holm-adjusted over evaluators"
        relation += "; sign-flipped, because lower is better)" if turned else ")"
    text = f"{facts.count(table, agree, among=where, of='evaluators')} {relation}"
    options: Any = {"template": "{evaluator} {number}", "order": "highest", "rest": "{n} others"}
    shown = where if facts.rows(table, {**where, **agree}).empty else {**where, **agree}
    listing = facts.listing(table, where=shown, **options)
    if not listing:
        return facts.sentence(f"{text}: {_why(facts, table, where)}.")
    intervals = facts.rows(table, {**where, "ci_low": ("defined", None)})
    scope = write_scope(intervals["estimand" if is_judged else "covers"])
    text += ". The highest estimates" * (shown is where) + f": {listing}."
    text += f" Intervals generalize to {scope}." * bool(scope)
    length = {**where, "evaluator": LENGTH}
    row = facts.rows(table, {**length, "ci_low": ("defined", None)})
    if row.empty or shown is where:
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


def _annotators(facts: Facts) -> Finding | None:
    """Report how well annotators agree."""
    table = "agreement" if "agreement" in facts.tables else "vote_agreement"
    where: Where = {"row": "all", "coefficient": "krippendorff_alpha"}
    rows = facts.rows(table, where)
    if rows.empty:
        return None
    text = "undefined" if rows["estimate"].isna().any() else facts.number(table, where)
    if rows["status"].ne("ok").any():
        text += f" ({facts.reason(table, where).removeprefix('undefined: ')})"
    start = "Annotators' agreement (Krippendorff's alpha; one: perfect, zero: as by chance) is"
    return facts.sentence(f"{start} {text}.")


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
    start = f"In the study `{judged}`, the mean judgment (dimension: {dimension})"
    start += " (sign-flipped, because lower is better)" * bool(is_flipped)
    start += f", estimated from labels and the scores of {label(evaluator)}"
    start += " (the notebook drew the labels at random from all judged outputs)" * is_drawn
    template = '{number} for "{system}" ({n_labels} of {n_outputs} outputs labeled; for {covers})'
    options: Any = {"where": {"method": "corrected"}, "order": "highest"}
    options["rest"] = "lower for {n} others"
    corrected = facts.say(f"{start} is", "corrected_systems", template, **options)
    same = f"In the study `{compared}`, the share of pairs with the same verdict in both orders is"
    where = {"test": "consistency", "evaluator": ("not in", [*VERDICT_SENTINELS])}
    options |= {"where": where, "order": "lowest", "rest": "higher for {n} others"}
    orders = facts.say(same, "audit_findings", "{number} for {evaluator}", **options)
    return [
        _agreement(facts, judged, dimension, threshold),
        orders and orders.about(study=compared),
        corrected and corrected.about(study=judged),
        _reversal(facts, grouped),
        _replacement(facts, judged, dimension),
        _audit(facts, compared),
        _constant(facts),
    ]


def _constant(facts: Facts) -> Finding | None:
    """Report how often AlpacaEval's constant text wins."""
    where = {"evaluator": "NullModel", "kind": "all prompts"}
    if facts.rows("alpaca_eval", where).empty:
        return None
    number = facts.number("alpaca_eval", where, form=".0%")
    n = facts.number("alpaca_eval", where, "n_clusters", interval=False)
    text = "In AlpacaEval, according to its judge, GPT-4 Turbo, a constant text (NullModel) has a "
    return facts.sentence(
        f"{text}win rate of {number} in {n} comparisons with GPT-4 Turbo's texts."
    )


def _agreement(facts: Facts, study: str, dimension: str, threshold: float | None) -> Finding | None:
    """Compare judges' accuracy with that of a constant judge."""
    where: Where = {"system": ALL_SYSTEMS, "quantity": "accuracy", "estimate": ("defined", None)}
    options: Any = {"order": "highest", "rest": "lower for {n} others"}
    accuracies = facts.listing("agreement", '{number} for "{evaluator}"', where, **options)
    if not accuracies:
        return None
    judge = facts.rows("agreement", where)["evaluator"].iloc[0]
    constant = {**where, "quantity": "constant_accuracy", "evaluator": judge}
    passing = "" if threshold is None else f"; pass: {facts.name(f'from {threshold:g} on')}"
    text = f"In the study `{study}`, the share of labels with which a judge agrees is {accuracies}"
    text += f", compared with {facts.number('agreement', constant)} for a judge that always gives "
    text += f"the most frequent label (dimension: {facts.name(dimension)}{passing})."
    return facts.sentence(text, study=study)


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
        judged = facts.number("within_groups", {**where, "method": "evaluator alone"})
        corrected = facts.number("within_groups", {**where, "method": "corrected"})
        text = f'{judged} in "{facts.name(group)}" by the judge ({facts.name(system)} minus '
        reversals.append(f"{text}{facts.name(opponent)}), but {corrected} if corrected by labels")
    text = f"In the study `{study}`, the difference between means is {listed(reversals)}."
    return facts.sentence(text, study=study, adjusted="Holm")


def _replacement(facts: Facts, study: str, dimension: str) -> Finding | None:
    """Report which evaluators may replace an annotator, and by which rule."""
    table = "replaced_evaluators"
    template = '{number} for "{evaluator}" (omega {omega:.2f}, {n_annotators} annotators: '
    template += "{verdict}; for {covers})"
    with_p: Where = {"p": ("defined", None)}
    if facts.rows(table, with_p).empty:
        return None
    n = facts.count(table, {"verdict": "replaces"}, among=with_p, of="evaluators")
    first = {"evaluator": facts.rows(table, with_p)["evaluator"].iloc[0]}
    epsilon = facts.number(table, first, "epsilon", interval=False)
    measure = facts.names("replaced_details", column="agreement")
    rule = f"it agrees with the other annotators (measure: {measure}) at least as well as half of "
    rule += (
        f"annotators do, up to epsilon {epsilon}, by Holm-adjusted tests; omega is the share of "
    )
    rule += "annotators for whom a test shows this"
    listing = facts.listing(table, template, order="highest", rest="lower for {n} others")
    text = f"In the study `{study}`, {n} may replace an annotator (dimension: "
    text += (
        f"{facts.name(dimension)}; rule: {rule}). The mean probability that an evaluator agrees "
    )
    text += f"at least as well as an annotator does is {listing}."
    return facts.sentence(text, study=study, conditions=rule, adjusted="Holm")


def _audit(facts: Facts, study: str) -> Finding | None:
    """Count the verdicts of an audit, and list the biases that it found."""
    table, with_p = "audit_findings", {"p_adjusted": ("defined", None)}
    if facts.rows(table, with_p).empty:
        return None
    row = facts.rows(table, with_p).iloc[0]
    first = {"evaluator": row["evaluator"], "test": row["test"]}
    margin = facts.number(table, first, "margin", interval=False)
    biased: Where = {**with_p, "verdict": "found"}
    n_found = facts.count(table, biased, among=with_p, of="tests")
    biases = facts.listing(table, "{evaluator} ({test}: {number})", biased)
    text = f"In the study `{study}`, {n_found} of judges find a bias beyond the margin of {margin} "
    text += "of verdicts (Holm-adjusted within judges)"
    if biases:
        text += f": {biases}. These are gains in the share of verdicts of a text shown first "
        text += "(position), twice as long (length), or by the judge's own system (own)"
    # Whether a bias is ruled out is a test at the same level, but on each side of the interval.
    inner = facts.name(f"{2 * row['confidence'] - 1:.0%}")
    n_out = facts.count(table, {**with_p, "verdict": "ruled out"}, of="tests")
    text += f". Biases ruled out ({inner} interval within the margin): {n_out}"
    for status in facts.rows(table, {**with_p, "status": ("not in", ["ok"])})["status"].unique():
        doubtful = {**with_p, "status": status}
        text += f". Tests with a reservation: {facts.count(table, doubtful, of='tests')} "
        text += f"({facts.reason(table, doubtful)})"
    return facts.sentence(f"{text}.", study=study, adjusted="Holm")


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
    points = "points"
    points += " (the notebook's default: a fifth of the SD within systems)" * default
    scope = write_scope([THESE_ANNOTATORS if sample == "fixed" else OTHER_ANNOTATORS])
    means = _cheapest(facts, "means_designs", judgments, scope, "output", points)
    designs = [means, _cheapest(facts, "votes_designs", "votes", scope, "pair", shares)]
    decided: Where = {"verdict": ("in", ["better", "worse"])}
    if facts.rows("stops").empty:
        return designs
    scope = write_scope(facts.tables["stops"]["covers"])
    text = f"Sequential tests of {tested} (Holm-adjusted; they generalize to {scope}) decide "
    text += facts.count("stops", decided, among={}, of="pairs of systems")
    template = "{system} is {verdict} than {opponent} ({number} after {stopped_at:.0f} " + block
    options: Any = {"value": "stopped_estimate", "rest": "; the table has {n} more"}
    listing = facts.listing("stops", template + "s)", decided, **options)
    unit = f"differences {shares}" if of_votes else "differences in points"
    unit += " when the test stopped, with confidence sequences not adjusted over pairs"
    text += f" ({unit}): {listing}" * bool(listing)
    return [*designs, facts.sentence(f"{text}.", adjusted="Holm")]


def _cheapest(
    facts: Facts, table: str, data: str, scope: str, per: str, unit: str
) -> Finding | None:
    """Report the cheapest design with the target power, or else the most powerful."""
    designs = facts.rows(table, {"power": ("defined", None)})
    if designs.empty:
        return None
    status = designs["status"].iloc[0]
    template = "the cheapest design searched whose power is at least {target} has "
    if status == "no_power":
        template = "no design searched has a power of {target}; the most powerful has "
    template += "{n_items} items, {n_annotators} annotators ({design} design), and {n_votes} "
    template += f"annotators per {per}: {{n_judgments}} {data.partition(' ')[0]} for a price of "
    template += "{price:.0f} ({price_judgment} each, {price_item} per item, {price_annotator} per "
    template += f"annotator). Its power is {{power:.2f}} for a difference of {{difference}} {unit} "
    text = facts.listing(table, template + "at level {level}", value="power", most=1)
    conditions = f"tests generalize to {scope}; the variances of the pilot study are taken as known"
    if status not in ("ok", "no_power"):
        conditions += f"; {facts.reason(table)}"
    text = f"For comparing two systems by {data}, {text} ({conditions})."
    return facts.sentence(text, conditions=conditions)


def atlas_findings(facts: Facts, statistic: str) -> list[Finding | None]:
    """Write the findings of notebook 11: means over studies, and correlations in a further one."""
    name = statistic.partition("_")[0].capitalize()
    template = '[{prediction_low:.2f}, {prediction_high:.2f}] for "{evaluator}" (mean {number} '
    template += "over {n_studies} studies)"
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
    if table == "ranking_beyond_length":
        start += " text length (longer is better; studies without texts have noise instead) by"
        options["null"] = 0.0
    listing = facts.listing(table, '{number} for "{evaluator}"', ranked, **options)
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
