"""AltTest: ten sets of things that people and language models annotated.

Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge,
doi:10.48550/arXiv.2501.10970.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgbench.study import Study, schema, trusted

#: Set -> who annotated it, in the paper's words, and what.
SETS = {
    "summeval": "experts: summaries in four dimensions, 1 to 5",
    "mtbench": "experts: which of two answers is better",
    "lgbteen": "experts: ten questions on answers to teenagers",
    "framing": "skilled: questions on how articles frame their subject",
    "10k_prompts": "skilled: quality of prompts, 1 to 5",
    "lesion": "skilled: five features of pictures of lesions, 0 to 6",
    "kilogram": "descriptions of shapes in free words, each a label of its own",
    "cebab_aspects": "crowd: what reviews say of an aspect",
    "cebab_stars": "crowd: stars that reviews give, 1 to 5",
    "wax": "crowd: how two words are related",
}


def files(name: str) -> list[str]:
    """Name the files of a set: people's annotations and models'."""
    return [f"alttest/{name}/{who}_annotations.json" for who in ("human", "llm")]


def read_alttest(people: Path, models: Path) -> Study:
    """Read a set of AltTest as tidy tables.

    What was annotated is an output of the one system ``annotated``, without a text. ``text_id``, by
    which outputs are clustered, is what the item's name begins with, up to "__": the article, post,
    picture, review or cue. Judgments are people's, dimension ``label``; scores are the models', of
    the same outputs. Labels that are numbers are these numbers; others are their places, from 0, in
    alphabetical order, so that only their equality means something.
    """
    given, scored = (json.loads(path.read_text(encoding="utf-8")) for path in (people, models))
    found = {one for own in (*given.values(), *scored.values()) for one in own.values()}
    names = sorted(one for one in found if isinstance(one, str))
    code = {label: n for n, label in enumerate(names)}
    items = list(dict.fromkeys(item for own in given.values() for item in own))
    outputs = [(item, item, "annotated", "", False, "") for item in items]
    judgments = [
        (item, f"w{n:03d}", "label", code.get(label, label), "")
        for n, own in enumerate(given.values(), 1)
        for item, label in own.items()
    ]
    scores = [
        (item, model, code.get(label, label), "label of a language model")
        for model, own in scored.items()
        for item, label in own.items()
    ]
    texts = [item.partition("__")[0] for item in items]
    return trusted(
        outputs=schema.typed(outputs, "outputs").assign(text_id=texts),
        judgments=schema.typed(judgments, "judgments"),
        scores=schema.typed(scores, "scores"),
        settings={"clusters": "text_id", "extra": ["text_id"]},
    )
