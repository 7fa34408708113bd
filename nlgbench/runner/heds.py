"""The Human Evaluation Datasheet (HEDS), as far as a study's tables answer it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from nlgbench.analysis.people.reliability import agreement
from nlgbench.analysis.people.votes import vote_agreement
from nlgbench.status import Unsupported
from nlgbench.study import Study
from nlgbench.study.checks import checked
from nlgbench.study.summary import range_of
from nlgbench.text import counted

#: The most values of a scale that are listed; for longer scales, only the ends are given.
_MOST_OPTIONS = 11

#: Question, answer, and a comment on the answer.
_Answers = Iterator[tuple[str, str, str]]


@checked
def datasheet(study: Study, *, confidence: float = 0.95) -> pd.DataFrame:
    """Answer the questions of the Human Evaluation Datasheet (HEDS) from a study's tables.

    Parameters
    ----------
    study : Study
        A study with judgments or preferences. Each dimension of either table is a criterion.
    confidence : float
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        One row per answer: question (HEDS' number), criterion (a dimension, followed by
        ``(votes)`` for preferences; empty for questions about the whole study), answer, reason (a
        comment on the answer, or why it is empty).

    Raises
    ------
    ValueError
        If the study has neither judgments nor preferences.

    Notes
    -----
    Questions are those of HEDS 3.0 (Belz and Thomson 2025, https://aclanthology.org/2025.gem-1.6),
    numbered as in its form, https://nlp-heds.github.io. Agreement (4.3.11) is Krippendorff's alpha,
    with squared differences if there are more than two values.

    Examples
    --------
    >>> import nlgbench as nb
    >>> study = nb.simulate("judgments", means=[0.5, 0.0], n_items=20, seed=1)
    >>> table = datasheet(study).set_index("question")
    >>> table.loc["3.1.1", "answer"]
    '20 for each of 2 systems: 40 outputs of 20 items'
    """
    if study.judgments is None and study.preferences is None:
        message = f"{study.name} has neither judgments nor preferences."
        raise Unsupported("no_judgments", message)
    criteria = {"": _once(study)}
    criteria |= {name: _judged(study, name, confidence) for name in study.dimensions}
    if study.preferences is not None:
        for dimension in map(str, study.preferences["dimension"].unique()):
            criteria[f"{dimension} (votes)"] = _voted(study, dimension, confidence)
    columns = ["question", "answer", "reason"]
    frames = [pd.DataFrame(answers, columns=columns) for answers in criteria.values()]
    table = pd.concat(frames, keys=list(criteria), names=["criterion"]).reset_index("criterion")
    table = table[["question", "criterion", "answer", "reason"]].reset_index(drop=True)
    order = table["question"].str.split(".").map(lambda numbers: [*map(int, numbers)])
    return table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)


def _once(study: Study) -> _Answers:
    """Answer the questions about the whole study: outputs, items and annotators."""
    tables = [table for table in (study.judgments, study.preferences) if table is not None]
    ids = [table[name] for table in tables for name in table if str(name).startswith("output_")]
    outputs = study.outputs[study.outputs["output_id"].isin(pd.concat(ids))]
    answer = (
        f"{range_of(outputs['system'].value_counts())} for each of "
        f"{counted(outputs['system'].nunique(), 'system')}: {counted(len(outputs), 'output')} of "
        f"{counted(outputs['item_id'].nunique(), 'item')}"
    )
    human = outputs.loc[outputs["is_human"], "system"].unique()
    if len(human):
        answer += f" (human systems: {', '.join(map(str, human))})"
    yield "3.1.1", answer, ""
    yield "3.1.3.1", "", "nlgbench.plan_study computes the power of a design from a pilot"
    people = pd.concat([table["annotator_id"] for table in tables])
    comment = f"{counted(len(people), 'response')}, {range_of(people.value_counts())} per annotator"
    yield "3.2.1", str(people.nunique()), comment


def _judged(study: Study, dimension: str, confidence: float) -> _Answers:
    """Answer for one dimension of the judgments."""
    assert study.judgments is not None
    judgments = study.judgments[study.judgments["dimension"] == dimension]
    values = judgments["value"].dropna()
    yield "4.2.2", "absolute", ""
    yield from _scale(sorted(values.unique()), study.scale(dimension))
    yield from _compared(study.outputs.set_index("output_id")["system"][judgments["output_id"]])
    if judgments.duplicated("output_id").any():
        options: Any = {"coefficients": ["krippendorff_alpha"], "confidence": confidence}
        table = agreement(study, dimension=dimension, **options)
        alpha = table[table["row"] == "all"].iloc[0]
        distance = "differences squared" if alpha["metric"] == "interval" else "equal or not"
        basis = f"{alpha['n_judgments']} judgments of {alpha['n_outputs']} outputs"
        yield from _agreed(alpha, basis, distance)
    else:
        yield from _not_assessed("4.3.11", "no output has two judgments")
    yield from _again(judgments, ["output_id"])


def _scale(observed: list[float], scale: tuple[float, float] | None) -> _Answers:
    """Report the size and values of a scale: as declared, or else as observed."""
    is_whole = all(value % 1 == 0 for value in observed)
    if scale is None:
        unstated = "observed; the study declares no scale"
        yield "4.3.3", f"{counted(len(observed), 'different value')} {unstated}", ""
        listed, (low, high), end = observed, (observed[0], observed[-1]), f" ({unstated})"
    else:
        low, high = scale
        yield "4.3.3", f"{high - low + 1:g}" if is_whole else "continuous", ""
        listed = [low + n for n in range(int(high - low) + 1)] if is_whole else []
        end = ""
    values = f"{low:g} to {high:g}"
    if 0 < len(listed) <= _MOST_OPTIONS:
        values = ", ".join(f"{value:g}" for value in listed)
    yield "4.3.4", values + end, ""


def _voted(study: Study, dimension: str, confidence: float) -> _Answers:
    """Answer for one dimension of the votes on pairs."""
    assert study.preferences is not None
    votes = study.preferences[study.preferences["dimension"] == dimension]
    choices = [choice for choice in ("a", "b", "tie") if (votes["choice"] == choice).any()]
    relative = "relative: which of two is better"
    yield "4.2.2", relative, ""
    yield "4.3.3", str(len(choices)), ""
    yield "4.3.4", f"{', '.join(choices)} (a was shown first)", ""
    yield "4.3.8", relative, ""
    table = vote_agreement(study, dimension=dimension, confidence=confidence)
    alpha = table[(table["row"] == "all") & (table["coefficient"] == "krippendorff_alpha")].iloc[0]
    if alpha["n_votes"]:
        basis = f"{alpha['n_votes']} votes on {alpha['n_pairs']} pairs"
        yield from _agreed(alpha, basis, "equal or not")
    else:
        yield from _not_assessed("4.3.11", "no pair has two votes")
    ends = votes[["output_a", "output_b"]]
    pairs = votes.assign(first=ends.min(axis=1), second=ends.max(axis=1))
    yield from _again(pairs, ["first", "second"])


def _compared(systems: pd.Series) -> _Answers:
    """Report how judgments become means, and how these are tested."""
    for question, answer in {
        "4.3.9": "systems' means, adjusted by a linear model as if each annotator had judged each "
        "system on each item (removes annotator severity and item difficulty)",
        "4.3.10": "differences of means, with intervals over other items and other annotators, "
        "p-values adjusted over all pairs; probability of superiority",
    }.items():
        if systems.nunique() < 2:
            yield question, "", "only one system was judged"
        else:
            yield question, f"nlgbench.compare_systems: {answer}", ""


def _agreed(alpha: pd.Series, basis: str, distance: str) -> _Answers:
    """Report how well annotators agreed."""
    answer = ""
    if pd.notna(alpha["estimate"]):
        answer = f"{alpha['estimate']:.2f}"
        if pd.notna(alpha["ci_low"]):
            answer += f", {alpha['confidence']:.0%} interval "
            answer += f"[{alpha['ci_low']:.2f}, {alpha['ci_high']:.2f}]"
        answer += f"; {basis}"
    yield "4.3.11.1", f"nlgbench: Krippendorff's alpha ({distance})", ""
    yield "4.3.11.2", answer, str(alpha["reason"])


def _not_assessed(question: str, reason: str) -> _Answers:
    """State in the form's words that agreement between or within annotators was not measured."""
    answer = f"{'Inter' if question == '4.3.11' else 'Intra'}AA not assessed"
    yield f"{question}.1", answer, reason
    yield f"{question}.2", answer, ""


def _again(responses: pd.DataFrame, keys: list[str]) -> _Answers:
    """Report whether an annotator judged the same output or pair twice."""
    n = int(responses.duplicated([*keys, "annotator_id"]).sum())
    if n:
        repeat = "responses that repeat an earlier one by the same annotator"
        yield "4.3.12.1", "", f"{repeat}: {n} of {len(responses)}"
    else:
        yield from _not_assessed("4.3.12", "no annotator judged the same output or pair twice")
