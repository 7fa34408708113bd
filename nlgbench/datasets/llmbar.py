"""LLMBar: pairs of outputs with a known better one, compared by five judges in both orders.

Zeng, Yu, Gao, Meng, Goyal and Chen (2024), Evaluating Large Language Models at Evaluating
Instruction Following, arXiv:2310.07641.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgbench.study import Study, from_rows

#: Study -> folder. All but the first are adversarial: the worse output looks better.
SETS = {
    "llmbar-natural": "Natural",
    "llmbar-neighbor": "Neighbor",
    "llmbar-gptinst": "GPTInst",
    "llmbar-gptout": "GPTOut",
    "llmbar-manual": "Manual",
}
JUDGES = ("ChatGPT", "GPT-4", "Falcon", "LLaMA2", "PaLM2")
RAW_FILES = {
    study: [f"llmbar/{folder}/{name}.json" for name in ("dataset", *JUDGES)]
    for study, folder in SETS.items()
}


def read_llmbar(*paths: Path) -> Study:
    """Read one of LLMBar's five sets: preferences name the better outputs; judges give comparisons.

    The authors' agreed label is the preference of one annotator, ``gold``. Unparsable answers of
    judges (with the vanilla prompt), which the release counts as wrong, have no row. ``system`` is
    the position in the release, which does not name systems.
    """
    pairs, *answers = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    ids = [(f"{number:03d}-1", f"{number:03d}-2") for number in range(1, len(pairs) + 1)]
    outputs = [
        (pair_ids[position], pair_ids[0][:3], f"output_{position + 1}", text, False, pair["input"])
        for pair_ids, pair in zip(ids, pairs, strict=True)
        for position, text in enumerate((pair["output_1"], pair["output_2"]))
    ]
    preferences = [
        (*pair_ids, "gold", "quality", "", "a" if int(pair["label"]) == 1 else "b")
        for pair_ids, pair in zip(ids, pairs, strict=True)
    ]
    comparisons = []
    for path, results in zip(paths[1:], answers, strict=True):
        for (a, b), result in zip(ids, results, strict=True):
            verdict = result["results"][0]
            for order, sides in (("False", (a, b)), ("True", (b, a))):
                winner = verdict[f"swap = {order}"]["winner"]
                if winner is not None:  # the position in the release, in both orders
                    first = float(sides[0].endswith(f"-{winner}"))
                    comparisons.append((*sides, path.stem, first, 0.0, 1 - first))
    tables = {"outputs": outputs, "preferences": preferences, "comparisons": comparisons}
    return from_rows(**tables, settings={"votes": "gold"})
