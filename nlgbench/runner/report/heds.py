"""The Human Evaluation Datasheet, filled as far as a study's tables fill it.

Numbers of questions and names of fields are those of the form of HEDS 3.0 (Belz and Thomson 2025,
https://aclanthology.org/2025.gem-1.6), https://nlp-heds.github.io; the words are ours.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd

from nlgbench.runner.report.folder import Folder

OPEN = "to be answered by the authors"
#: Name of the table that a notebook records what `nlgbench.datasheet` gives under.
TABLE = "datasheet"
_CRITERION = "heds-criteria-criterion"

QUESTIONS = {
    "1.1.1": "Paper that reports the experiment",
    "1.1.2": "Which experiment of the paper",
    "1.2": "Where its resources are",
    "1.3.1.1": "Who fills in the sheet: name",
    "1.3.1.2": "Who fills in the sheet: affiliation",
    "1.3.1.3": "Who fills in the sheet: e-mail",
    "1.3.2.1": "Contact author: name",
    "1.3.2.2": "Contact author: affiliation",
    "1.3.2.3": "Contact author: e-mail",
    "2.1": "What systems take in",
    "2.2": "What systems give out",
    "2.3": "Their task",
    "2.4": "Languages of the input",
    "2.5": "Languages of the output",
    "3.1.1": "Outputs evaluated per system",
    "3.1.2": "How they were selected",
    "3.1.3.1": "Power: method",
    "3.1.3.2": "Power: value",
    "3.1.3.3": "Power: script",
    "3.2.1": "Number of evaluators",
    "3.2.2.1": "Evaluators: experts or not",
    "3.2.2.2": "Evaluators: paid or not",
    "3.2.2.3": "Evaluators: known to the authors or not",
    "3.2.2.4": "Evaluators: authors among them or not",
    "3.2.3": "How they were recruited",
    "3.2.4": "Their training and practice",
    "3.2.5": "Other characteristics",
    "3.3.1": "Preregistration",
    "3.3.2": "How responses were collected",
    "3.3.3.1": "Quality assurance: methods",
    "3.3.3.2": "Quality assurance: details",
    "3.3.4.1": "What evaluators saw: link",
    "3.3.4.2": "What evaluators saw: description",
    "3.3.5": "Freedom as to when and how fast",
    "3.3.6": "Whether they could ask or comment",
    "3.3.7": "Where and under what conditions",
    "3.3.8": "How conditions varied",
    "4.1.1": "Type of quality",
    "4.1.2": "Aspect of the output",
    "4.1.3": "Frame of reference",
    "4.2.1": "Objective or subjective",
    "4.2.2": "Absolute or relative",
    "4.2.3": "Intrinsic or extrinsic",
    "4.3.1.1": "What evaluators were told the criterion is called",
    "4.3.1.2": "Its name in a standard set of criteria",
    "4.3.2": "How it was defined to them",
    "4.3.3": "Size of the scale",
    "4.3.4": "Possible responses",
    "4.3.5": "How the scale was presented",
    "4.3.6": "Task, where there is no scale",
    "4.3.7": "The question, word by word",
    "4.3.8": "Form of response",
    "4.3.9": "From responses to reported scores",
    "4.3.10": "Effect sizes and significance",
    "4.3.11.1": "Agreement between evaluators: method",
    "4.3.11.2": "Agreement between evaluators: score",
    "4.3.12.1": "Agreement of evaluators with themselves: method",
    "4.3.12.2": "Agreement of evaluators with themselves: score",
    "5.1": "Ethics review",
    "5.2": "Personal data",
    "5.3": "Special category data",
    "5.4": "Impact assessments",
}


def answers(folder: Folder) -> dict[str, pd.DataFrame]:
    """Find the answers that runs recorded, by the run's folder: one study each."""
    return {
        table.run: pd.read_csv(table.path, dtype="str", keep_default_na=False)
        for table in folder.tables
        if table.name == TABLE and {"question", "answer"} <= set(table.frame.columns)
    }


def sheet(found: pd.DataFrame) -> list[dict[str, str]]:
    """List every question with its answers: question, about, criterion, answer."""
    rows = []
    for question, about in QUESTIONS.items():
        own = found[found["question"] == question]
        for one in own.to_dict("records"):
            answer = one["answer"] or f"{OPEN}: {one['reason']}"
            if one["answer"] and one["reason"]:
                answer += f" ({one['reason']})"
            rows.append(
                {
                    "question": question,
                    "about": about,
                    "criterion": one["criterion"],
                    "answer": answer,
                }
            )
        if own.empty:
            rows.append({"question": question, "about": about, "criterion": "", "answer": OPEN})
    return rows


def as_json(found: pd.DataFrame) -> str:
    """Write the answers as the form writes its own: by field, and by criterion within it.

    Only fields that are answered are there: the form shows the others as open.
    """
    criteria = [one for one in dict.fromkeys(found["criterion"]) if one]
    fields: dict[str, Any] = {}
    if criteria:
        control = dict.fromkeys(criteria, True)
        fields[_CRITERION] = {"data": {}, "control": control, "text": {}}
    for row in found[found["answer"] != ""].to_dict("records"):
        within = row["field"].startswith(_CRITERION)
        criterion = row["criterion"] if within else ""
        name = row["field"] + f"-{row['option']}" * bool(row["option"])
        field = fields.setdefault(name, {"data": {}, "control": {}})
        if row["option"]:
            field["data"][criterion] = True
            field.setdefault("text", {})[criterion] = f"{row['option']}. {row['answer']}"
            continue
        said = row["answer"]
        if row["criterion"] and not within:  # asked once, and answered for each criterion
            before = field["data"].get(criterion)
            said = "; ".join(filter(None, [before, f"{row['criterion']}: {said}"]))
        field["data"][criterion] = said
    return json.dumps(fields, indent=1, ensure_ascii=False) + "\n"


def as_markdown(found: pd.DataFrame, title: str) -> str:
    """Write all questions, answered or open."""
    rows = sheet(found)
    n_open = len({row["question"] for row in rows if row["answer"].startswith(OPEN)})
    lines = [
        f"# Human Evaluation Datasheet: {markdown(title)}",
        "",
        "Questions of HEDS 3.0 (https://aclanthology.org/2025.gem-1.6), in our words: the form "
        f"has theirs. The study's tables leave {n_open} of {len(QUESTIONS)} to the authors.",
        "",
        "| question | about | criterion | answer |",
        "| :-- | :-- | :-- | :-- |",
    ]
    lines += ["| " + " | ".join(map(markdown, row.values())) + " |" for row in rows]
    return "\n".join([*lines, ""])


def markdown(text: str) -> str:
    """Write a text so that it stays in its cell, and marks nothing up."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))
