"""Logs of evaluation harnesses, which run systems on items and score the outputs."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from nlgbench.study import file_types
from nlgbench.study.formats.records import Log, Row, number, plain_text

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def inspect(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read one sample from a log of one model on one task; scorers become evaluators."""
    choices = record["output"].get("choices")
    if record.get("error") or not choices:
        log.notes["no output, so the sample is left out"] += 1
        return
    if (status := log.head.get("status", "started")) != "success":
        log.notes[f"the log's status is {status}, not success"] += 1
    head, epoch = log.head["eval"], record["epoch"]
    epochs = (head.get("config") or {}).get("epochs") or 1
    item = {"item_id": f"{head['task']}/{record['id']}"}
    output = {**item, "system": head["model"], "{repeat}": epoch if epochs > 1 else ""}
    question = record["input"]
    if isinstance(question, list):
        question = "\n\n".join(plain_text(message["content"]) for message in question)
    text = plain_text(choices[0]["message"]["content"])
    yield "outputs", {**output, "text": text, "context": question, "extra": record.get("metadata")}
    targets = [record["target"]] if isinstance(record["target"], str) else record["target"]
    for n, target in enumerate(targets, 1):
        if target.strip():
            yield "references", {**item, "reference_id": n, "text": target}
    for scorer, score in (record.get("scores") or {}).items():
        value = score["value"]
        for name, message in value.items() if isinstance(value, dict) else [("", value)]:
            evaluator = f"{scorer}/{name}" if name else scorer
            grade = _GRADES.get(message) if isinstance(message, str) else number(message)
            if grade is None and message is not None:
                log.notes[f"{evaluator} left out (neither a number nor C, I, P or N)"] += 1
                continue
            yield "scores", {**output, "evaluator": evaluator, "score": grade}


def lm_eval(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read samples_TASK_DATE.jsonl, one file per task, in a folder named after the model."""
    stem = file_types.stem(log.path)
    task = re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", stem.removeprefix("samples_"))
    item = f"{task}/{record['doc_id']}"
    output = {"item_id": item, "system": log.path.resolve().parent.name}
    # Each request has the prompt and one possible continuation.
    requests = [list(arguments.values()) for arguments in record["arguments"].values()]
    output_row = {"text": _answer(record["resps"], requests), "context": requests[0][0]}
    # The task's own columns, such as the subject of a question.
    fields = (record.get("doc") or {}).items()
    columns = {name: value for name, value in fields if isinstance(value, str | int | float)}
    yield "outputs", {**output, **output_row, "extra": columns}
    yield "references", {"item_id": item, "reference_id": 1, "text": record["target"]}
    rule = record.get("filter") or "none"
    for metric in record["metrics"]:
        score = number(record[metric])
        if score is None and record[metric] is not None:
            log.notes[f"{metric} left out (the harness computes it from all samples)"] += 1
            continue
        evaluator = metric if rule == "none" else f"{metric}@{rule}"
        yield "scores", {**output, "evaluator": evaluator, "score": score}


def _answer(responses: list[list[Any]], requests: list[list[Any]]) -> str:
    """Return the generated text, or the most likely of several choices."""
    first = responses[0][0]
    if not isinstance(first, list):
        return str(first)
    likely = max(range(len(requests)), key=lambda n: float(responses[n][0][0]))
    return str(requests[likely][1]).strip() if len(requests) > 1 else ""


def promptfoo(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read results.json or .jsonl. Systems are providers with a prompt; items are tests' vars."""
    response = record.get("response") or {}
    if response.get("output") is None:
        log.notes["no output, so the test is left out"] += 1
        return
    provider, prompt = record["provider"], record["prompt"]
    if isinstance(provider, dict):
        provider = provider.get("label") or provider["id"]
    variables = json.dumps(record["vars"], ensure_ascii=False, sort_keys=True)
    template = prompt.get("label") or prompt["raw"]
    prompt_number = log.number("prompt", template)
    system = provider if prompt_number == "1" else f"{provider} (prompt {prompt_number})"
    item = log.number("item", variables)
    repeat = log.number(f"{item} {system}", len(log.numbers[f"{item} {system}"]))
    output = {"item_id": item, "system": system, "{repeat}": repeat if repeat != "1" else ""}
    text = file_types.as_text(response["output"])
    yield "outputs", {**output, "text": text, "context": prompt["raw"], "extra": record["vars"]}
    scores: dict[str, list[Any]] = defaultdict(list)
    scores["score"].append(record["score"])
    for name, value in (record.get("namedScores") or {}).items():
        scores[name].append(value)
    # Unnamed assertions are named after their type.
    for component in (record.get("gradingResult") or {}).get("componentResults") or []:
        asserted = (component or {}).get("assertion") or {}
        if "type" in asserted and not asserted.get("metric"):
            scores[asserted["type"]].append(component["score"])
    for evaluator, values in scores.items():
        mean = sum(map(float, values)) / len(values)
        yield "scores", {**output, "evaluator": evaluator, "score": mean}
