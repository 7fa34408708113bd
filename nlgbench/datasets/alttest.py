"""AltTest: ten sets of items labeled by human annotators and language models.

Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge,
doi:10.48550/arXiv.2501.10970.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgbench.study import Study, from_tables, schema

#: Set -> the annotators, in the paper's words, and their task.
SETS = {
    "summeval": "experts: quality of summaries in four dimensions, 1 to 5",
    "mtbench": "experts: the better of two answers",
    "lgbteen": "experts: ten questions about answers to teenagers",
    "framing": "skilled: questions about the framing of articles",
    "10k_prompts": "skilled: quality of prompts, 1 to 5",
    "lesion": "skilled: five features of images of lesions, 0 to 6",
    "kilogram": "free descriptions of shapes; each distinct description is a label",
    "cebab_aspects": "crowd: sentiment of reviews toward an aspect",
    "cebab_stars": "crowd: star ratings of reviews, 1 to 5",
    "wax": "crowd: relation between two words",
}


def files(name: str) -> list[str]:
    """Return the names of a set's files: human annotations, then those of models."""
    return [f"alttest/{name}/{who}_annotations.json" for who in ("human", "llm")]


def read_alttest(human: Path, models: Path) -> Study:
    """Read a set of AltTest as tidy tables.

    Annotated items are outputs of the one system ``annotated``, clustered by ``text_id``, the part
    of the item's name before "__". Judgments of dimension ``label`` are human; scores are the
    models' labels. Labels that are not numbers become their rank, from 0, in alphabetical order.
    """
    judged, scored = (json.loads(path.read_text(encoding="utf-8")) for path in (human, models))
    labeled = (*judged.values(), *scored.values())
    labels = {label for by_item in labeled for label in by_item.values()}
    names = sorted(label for label in labels if isinstance(label, str))
    code = {label: n for n, label in enumerate(names)}
    items = list(dict.fromkeys(item for by_item in judged.values() for item in by_item))
    outputs = [(item, item, "annotated", "", False, "") for item in items]
    judgments = [
        (item, f"w{n:03d}", "label", code.get(label, label), "")
        for n, by_item in enumerate(judged.values(), 1)
        for item, label in by_item.items()
    ]
    scores = [
        (item, model, code.get(label, label), "label of a language model")
        for model, by_item in scored.items()
        for item, label in by_item.items()
    ]
    texts = [item.partition("__")[0] for item in items]
    return from_tables(
        outputs=schema.typed(outputs, "outputs").assign(text_id=texts),
        judgments=schema.typed(judgments, "judgments"),
        scores=schema.typed(scores, "scores"),
        settings={"clusters": "text_id", "extra": ["text_id"]},
    )
