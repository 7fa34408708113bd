"""What a study's tables answer of the Human Evaluation Datasheet."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nlgbench.analysis.people import agreement, compare_systems, vote_agreement
from nlgbench.analysis.planning.power import noncentrality
from nlgbench.study import Study
from nlgbench.study.checks import checked

_SAMPLE = "heds-sample_evaluators_design"
_CRITERION = "heds-criteria-criterion"
_ELICITED = f"{_CRITERION}-response_elicitation"
_AGREEMENT = {
    "inter": f"{_ELICITED}-inter_annotator-agreement",
    "intra": f"{_ELICITED}-intra_annotator-intra_annotator_agreement",
}
#: More different values than a person is given to choose from.
_MOST_OPTIONS = 11
#: With which the difference is found that question 3.1.3 is answered by.
_POWER = 0.8


@checked
def datasheet(study: Study, *, confidence: float = 0.95) -> pd.DataFrame:
    """Answer what a study's tables answer of the Human Evaluation Datasheet (HEDS).

    Parameters
    ----------
    study : Study
        With judgments or preferences. Each dimension of either is a criterion of the sheet.
    confidence : float
        Coverage of intervals, between 0 and 1; 1 less it is the level of the tests.

    Returns
    -------
    DataFrame
        A row per answer: question (HEDS' number), field (as its form calls it), option (the number
        of the option that is chosen; else empty), criterion (a dimension, with ``(votes)`` behind
        it where people voted on pairs; empty for what is asked once), answer (as the form asks for
        it), reason (what to know of the answer; or, where it is empty, why the tables give none).

    Raises
    ------
    ValueError
        When the study has neither judgments nor preferences.

    Notes
    -----
    Questions are those of HEDS 3.0 (Belz and Thomson 2025, https://aclanthology.org/2025.gem-1.6),
    which follows Shimorina and Belz (2022, https://aclanthology.org/2022.humeval-1.6), with the
    numbers and fields of its form, https://nlp-heds.github.io. Most of them only the authors can
    answer: how annotators were found, paid and instructed, what they saw.

    Power (3.1.3) is no power of what was found, which says nothing beyond p: it is the difference
    that a pair of systems with the largest standard error of this study must have to be found with
    a power of .8, by the t test of `compare_systems` at a level divided by the number of
    pairs, as in `plan_study`.

    Scales are those of the study's settings; where it has none, what was seen, and it is said so.
    Agreement (4.3.11) is Krippendorff's alpha, of differences squared where there are more than two
    values.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[0.5, 0.0], n_items=20, seed=1)
    >>> table = datasheet(study).set_index("question")
    >>> table.loc["3.1.1", "answer"]
    '20 for each of 2 systems: 40 outputs of 20 items'
    """
    if study.judgments is None and study.preferences is None:
        raise ValueError(
            f"{study.name} has neither judgments nor preferences: the sheet is of what people said."
        )
    rows = [*_sample(study), *_evaluators(study)]
    for dimension in study.dimensions:
        rows += _judged(study, dimension, confidence)
    if study.preferences is not None:
        for dimension in map(str, study.preferences["dimension"].unique()):
            rows += _voted(study, dimension, confidence)
    columns = ["question", "field", "option", "criterion", "answer", "reason"]
    table = pd.DataFrame(rows, columns=columns).fillna("")
    parts = table["question"].str.split(".").map(lambda numbers: [int(one) for one in numbers])
    return table.iloc[sorted(range(len(table)), key=lambda n: parts[n])].reset_index(drop=True)


def _row(question: str, field: str, answer: str, **more: str) -> dict[str, Any]:
    return {"question": question, "field": field, "answer": answer, **more}


def _counted(n: int, thing: str) -> str:
    return f"{n} {thing}" + "s" * (n != 1)


def _range(counts: pd.Series) -> str:
    least, most = int(counts.min()), int(counts.max())
    return str(least) if least == most else f"{least} to {most} (median {counts.median():g})"


def _seen(study: Study) -> pd.DataFrame:
    """Find the outputs that a person judged or voted on."""
    ids: set[str] = set()
    if study.judgments is not None:
        ids |= set(study.judgments["output_id"])
    if study.preferences is not None:
        ids |= set(study.preferences["output_a"]) | set(study.preferences["output_b"])
    return study.outputs[study.outputs["output_id"].isin(ids)]


def _sample(study: Study) -> list[dict[str, Any]]:
    seen = _seen(study)
    systems, n_items = seen["system"].nunique(), seen["item_id"].nunique()
    answer = (
        f"{_range(seen['system'].value_counts())} for each of {_counted(systems, 'system')}: "
        f"{_counted(len(seen), 'output')} of {_counted(n_items, 'item')}"
    )
    human = seen.loc[seen["is_human"], "system"].unique()
    if len(human):
        answer += f" (systems that are people: {', '.join(map(str, human))})"
    return [_row("3.1.1", f"{_SAMPLE}-sample-number_of_system_outputs", answer)]


def _evaluators(study: Study) -> list[dict[str, Any]]:
    tables = [one for one in (study.judgments, study.preferences) if one is not None]
    people = pd.concat([one["annotator_id"] for one in tables])
    given = f"{_counted(len(people), 'response')}, {_range(people.value_counts())} by each"
    field = f"{_SAMPLE}-evaluators-number_of_evaluators"
    return [_row("3.2.1", field, str(people.nunique()), reason=given)]


def _judged(study: Study, dimension: str, confidence: float) -> list[dict[str, Any]]:
    """Answer for a dimension of the judgments."""
    assert study.judgments is not None
    own = study.judgments[study.judgments["dimension"] == dimension]
    rows = [
        _row("4.2.2", f"{_CRITERION}-evaluation_mode-absolute_or_relative", "absolute", option="1")
    ]
    values = own["value"].dropna()
    scale = study.scale(dimension)
    whole = bool((values % 1 == 0).all())
    if scale is not None:
        low, high = scale
        size = f"{high - low + 1:g}" if whole else "continuous"
        listed = ", ".join(f"{low + n:g}" for n in range(int(high - low) + 1))
        if not whole or high - low >= _MOST_OPTIONS:
            listed = f"{low:g} to {high:g}"
    else:
        found = sorted(values.unique())
        size = f"{_counted(len(found), 'different value')} seen; the study states no scale"
        listed = ", ".join(f"{one:g}" for one in found)
        if len(found) > _MOST_OPTIONS:
            listed = f"{found[0]:g} to {found[-1]:g}"
        listed += " (seen; the study states no scale)"
    rows += [
        _row("4.3.3", f"{_ELICITED}-size_of_scale", size),
        _row("4.3.4", f"{_ELICITED}-list_or_range", listed),
    ]
    rows += _compared(study, dimension, confidence)
    again = bool(own.duplicated("output_id").any())
    if again:
        metric = "interval" if values.nunique() > 2 else "nominal"
        table = agreement(
            study,
            dimension=dimension,
            coefficients=["krippendorff_alpha"],
            metric=metric,  # type: ignore[arg-type]
            confidence=confidence,
        )
        one = table[table["row"] == "all"].iloc[0]
        count = f"{one['n_judgments']} judgments of {one['n_outputs']} outputs"
        rows += _agreed(one, count, metric)
    else:
        rows += _not_assessed("inter", "no output has two judgments")
    rows += _again(own, ["output_id"])
    return [{"criterion": dimension, **row} for row in rows]


def _voted(study: Study, dimension: str, confidence: float) -> list[dict[str, Any]]:
    """Answer for a dimension of the votes on pairs."""
    assert study.preferences is not None
    own = study.preferences[study.preferences["dimension"] == dimension]
    choices = ", ".join(one for one in ("a", "b", "tie") if (own["choice"] == one).any())
    n_choices = own["choice"].nunique()
    relative = "relative: which of two is better"
    rows = [
        _row("4.2.2", f"{_CRITERION}-evaluation_mode-absolute_or_relative", relative, option="2"),
        _row("4.3.3", f"{_ELICITED}-size_of_scale", str(n_choices)),
        _row("4.3.4", f"{_ELICITED}-list_or_range", f"{choices} (a was shown first)"),
        _row("4.3.8", f"{_ELICITED}-form_of_response", relative, option="3"),
    ]
    table = vote_agreement(study, dimension=dimension, confidence=confidence)
    one = table[(table["row"] == "all") & (table["coefficient"] == "krippendorff_alpha")].iloc[0]
    if one["n_votes"]:
        count = f"{one['n_votes']} votes on {one['n_pairs']} pairs"
        rows += _agreed(one, count, "nominal")
    else:
        rows += _not_assessed("inter", "no pair has two votes")
    ends = own[["output_a", "output_b"]]
    pairs = own.assign(first=ends.min(axis=1), second=ends.max(axis=1))
    rows += _again(pairs, ["first", "second"])
    return [{"criterion": f"{dimension} (votes)", **row} for row in rows]


def _compared(study: Study, dimension: str, confidence: float) -> list[dict[str, Any]]:
    """Say how judgments became means, how these are tested, and what difference would be found."""
    fields = [
        ("3.1.3.1", f"{_SAMPLE}-sample-statistical_power-method"),
        ("3.1.3.2", f"{_SAMPLE}-sample-statistical_power-value"),
        ("3.1.3.3", f"{_SAMPLE}-sample-statistical_power-script"),
        ("4.3.9", f"{_ELICITED}-response_aggregation"),
        ("4.3.10", f"{_ELICITED}-effect_size_method"),
    ]
    try:
        pairs = compare_systems(study, dimension=dimension, confidence=confidence).pairs
    except ValueError as error:
        return [_row(*field, "", reason=str(error)) for field in fields]
    n_pairs = len(pairs) // 2
    known = pairs.dropna(subset=["se", "df"])
    known = known[(known["se"] > 0) & (known["df"] > 0)]
    reason, found = "", ""
    if known.empty:
        reason = str(pairs["reason"].iloc[0]) or "no pair of systems has a standard error"
    else:
        worst = known.sort_values("se", kind="stable").iloc[-1]
        alpha = (1 - confidence) / n_pairs
        least = noncentrality(_POWER, float(worst["df"]), alpha) * float(worst["se"])
        found = (
            f"a difference of {least:.3g} points between the means of the pair with the largest "
            f"standard error ({worst['se']:.3g}) is found with a probability of {_POWER:g}"
        )
    level = f"level {1 - confidence:.3g}" + f" divided by {n_pairs} pairs" * (n_pairs > 1)
    answers = [
        f"after the fact, not to choose the sample: smallest difference that a two-sided t test "
        f"finds, {level}, from this study's own standard errors over {pairs['covers'].iloc[0]}",
        found,
        "nlgbench.datasheet, nlgbench.plan_study",
        "nlgbench.compare_systems: means of the systems as if each had been judged in every "
        "judgment's place (severity of annotators and difficulty of items taken out by a linear "
        "model)",
        "nlgbench.compare_systems: differences of means, with intervals over other items and other "
        "annotators, p adjusted over all pairs; probability of superiority",
    ]
    return [
        _row(*field, answer, reason="" if answer else reason)
        for field, answer in zip(fields, answers, strict=True)
    ]


def _agreed(one: pd.Series, count: str, metric: str) -> list[dict[str, Any]]:
    """Say how far people agreed."""
    distance = {"interval": "differences squared", "nominal": "equal or not"}[metric]
    interval = ""
    if pd.notna(one["ci_low"]):
        low, high = one["ci_low"], one["ci_high"]
        interval = f", {one['confidence']:.0%} interval [{low:.2f}, {high:.2f}]"
    answer = f"{one['estimate']:.2f}{interval}; {count}" if pd.notna(one["estimate"]) else ""
    method = f"nlgbench: Krippendorff's alpha ({distance})"
    return [
        _row("4.3.11.1", _AGREEMENT["inter"], method),
        _row("4.3.11.2", f"{_AGREEMENT['inter']}_score", answer, reason=str(one["reason"])),
    ]


def _not_assessed(which: str, reason: str) -> list[dict[str, Any]]:
    """Say in the form's words that agreement between or within evaluators was not measured."""
    number, field = {"inter": "4.3.11", "intra": "4.3.12"}[which], _AGREEMENT[which]
    answer = f"{which.capitalize()}AA not assessed"
    return [
        _row(f"{number}.1", field, answer, reason=reason),
        _row(f"{number}.2", f"{field}_score", answer),
    ]


def _again(own: pd.DataFrame, what: list[str]) -> list[dict[str, Any]]:
    """Say whether anybody said twice of the same what they think of it."""
    n = int(own.duplicated([*what, "annotator_id"]).sum())
    if n:
        reason = f"of {len(own)} responses, {n} on what their evaluator had been asked before"
        return [_row("4.3.12.1", _AGREEMENT["intra"], "", reason=reason)]
    return _not_assessed("intra", "nobody was asked the same twice")
