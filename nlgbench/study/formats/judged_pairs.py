"""Pairwise comparisons: AlpacaEval's annotations, MT-Bench's judgments, arenas' battles."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from nlgbench.study.formats.records import Log, Row, number, plain_text

_CHOICES = {"model_a": "a", "model_b": "b", "tie": "tie", "tie (bothbad)": "tie", "both_bad": "tie"}


def alpaca_eval(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read annotations.json: each record compares a system with the reference, output_1."""
    item = {"item_id": log.number("item", record["instruction"])}
    further = {"context": record["instruction"], "extra": {"dataset": record.get("dataset", "")}}
    reference, system = record["generator_1"], record["generator_2"]
    yield "outputs", {**item, "system": reference, "text": record["output_1"], **further}
    yield "outputs", {**item, "system": system, "text": record["output_2"], **further}
    preference = number(record["preference"])
    if preference is None or math.isnan(preference):
        log.notes["no preference, so the record is left out"] += 1
        return
    wins = (preference or 1.5) - 1  # 0 is also a tie
    is_first = _shown_first(record, wins)
    is_tie = is_first is None and wins == 0.5
    if is_first is None:
        noun = "ties" if is_tie else "verdicts"
        log.notes[
            f"{noun} whose order of presentation is unknown; they are stored with the reference "
            "first, so tests of position bias cannot use them"
        ] += 1
    a, b = (system, reference) if is_first else (reference, system)
    pair = {**item, "system_a": a, "system_b": b, "comparator": record["annotator"]}
    prob_a, prob_b = (wins, 1 - wins) if is_first else (1 - wins, wins)
    chances = {"prob_a": prob_a, "prob_tie": 0.0, "prob_b": prob_b}
    yield "comparisons", {**pair, **(_certain("tie") if is_tie else chances)}


def _shown_first(record: dict[str, Any], wins: float) -> bool | None:
    """Return whether the system was shown first; None if the record does not say.

    The judge's first token is m to choose the text shown first, and M to choose the second.
    The probability that the second wins is therefore P(M) / (P(m) + P(M)).
    """
    try:
        tokens = record["raw_completion"]["logprobs"]["content"][0]["top_logprobs"]
        chance = {token["token"]: math.exp(token["logprob"]) for token in tokens}
        second = chance.get("M", 0) / (chance.get("m", 0) + chance.get("M", 0))
    except (ArithmeticError, LookupError, TypeError):
        return None
    is_first, is_second = abs(second - (1 - wins)) < 1e-6, abs(second - wins) < 1e-6
    return is_first if is_first != is_second else None


def _certain(choice: str) -> dict[str, float]:
    return {f"prob_{outcome}": float(outcome == choice) for outcome in ("a", "tie", "b")}


def mt_bench(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read judgments in MODEL_single.jsonl and MODEL_pair.jsonl, and answers in other files."""
    question = record["question_id"]
    further = {"extra": {"question": question}}
    if "choices" in record:
        for turn, text in enumerate(record["choices"][0]["turns"], 1):
            output = {"item_id": f"{question}/{turn}", "system": record["model_id"]}
            yield "outputs", {**output, "text": text, **further}
        return
    item = {"item_id": f"{question}/{record.get('turn', 1)}"}
    judge = record["judge"] if isinstance(record["judge"], str) else record["judge"][0]
    for system in (record[key] for key in ("model", "model_1", "model_2") if key in record):
        yield "outputs", {**item, "system": system, **further}
    if "score" in record:
        score = number(record["score"])
        if score is None or score < 0:
            log.notes["no score, so the judgment is left out"] += 1
        else:
            yield "scores", {**item, "system": record["model"], "evaluator": judge, "score": score}
        return
    # Each pair is judged in both orders.
    for a, b, winner in (("model_1", "model_2", "g1_winner"), ("model_2", "model_1", "g2_winner")):
        choice = {a: "a", b: "b", "tie": "tie"}.get(record[winner])
        if choice is None:
            log.notes[f"{winner} is not a verdict, so it is left out"] += 1
            continue
        pair = {**item, "system_a": record[a], "system_b": record[b], "comparator": judge}
        yield "comparisons", {**pair, **_certain(choice)}


def arena(record: dict[str, Any], log: Log) -> Iterator[Row]:
    """Read battles: model_a, model_b, winner, and optionally the judge and the conversation."""
    winner = record.get("winner") or record["win"]
    if winner not in _CHOICES:
        raise ValueError(f"winner must be one of {', '.join(_CHOICES)}, not {winner!r}")
    identifier = record.get("question_id") or record.get("id")
    question = identifier or log.number("battle", len(log.numbers["battle"]))
    turn = int(record.get("turn") or 0)
    item = {"item_id": f"{question}/{turn}" if turn else question}
    pair = {**item, "system_a": record["model_a"], "system_b": record["model_b"]}
    for side in "ab":
        messages = record.get(f"conversation_{side}") or []
        messages = json.loads(messages) if isinstance(messages, str) else messages
        of_role: dict[str, list[str]] = {"assistant": [], "user": []}
        for message in messages:
            of_role.setdefault(message["role"], []).append(plain_text(message["content"]))
        text, context = ("\n\n".join(texts[: turn or None]) for texts in of_role.values())
        output = {**item, "system": pair[f"system_{side}"], "text": text, "context": context}
        yield "outputs", {**output, "extra": {"language": record.get("language")}}
    judge, choice = record.get("judge") or "all", _CHOICES[winner]
    if isinstance(judge, list) or judge == "gpt4_pair":
        judge = judge if isinstance(judge, str) else judge[0]
        yield "comparisons", {**pair, "comparator": judge, **_certain(choice)}
    else:
        yield "preferences", {**pair, "annotator_id": judge, "choice": choice}
