"""AltTest: labels as numbers or places in the alphabet, and its sizes as printed."""

import json

import pytest

import nlgbench as nb
from nlgbench.datasets import cache
from nlgbench.datasets.alttest import SETS, files
from tests.released import needs

RELEASED = needs("alttest")


#: People, items, texts, annotations, models.
SIZES = {
    "summeval": (3, 6400, 100, 19200, 6),
    "mtbench": (3, 120, 42, 246, 6),
    "lgbteen": (4, 880, 22, 2560, 6),
    "framing": (4, 2552, 116, 7656, 6),
    "10k_prompts": (13, 1698, 1698, 3844, 6),
    "lesion": (6, 500, 100, 2980, 4),
    "kilogram": (50, 993, 993, 7215, 4),
    "cebab_aspects": (10, 1008, 940, 4032, 6),
    "cebab_stars": (10, 711, 711, 2193, 6),
    "wax": (8, 246, 159, 1380, 6),
}


@RELEASED
@pytest.mark.parametrize("name", SETS)
def test_the_release(name):
    study = nb.load(f"alttest-{name}")
    judgments, scores = study.judgments, study.scores
    assert study.settings["clusters"] == "text_id"
    assert SIZES[name] == (
        judgments["annotator_id"].nunique(),
        len(study.outputs),
        study.outputs["text_id"].nunique(),
        len(judgments),
        scores["evaluator"].nunique(),
    )
    assert judgments["annotator_id"].str.fullmatch(r"w\d{3}").all()
    assert scores.groupby("evaluator")["output_id"].nunique().eq(len(study.outputs)).all()
    # Whatever is annotated, a code and its label are one thing: as often equal among people.
    given, scored = (
        json.loads(cache.path(file).read_text(encoding="utf-8")) for file in files(name)
    )
    raw = [label for own in given.values() for label in own.values()]
    if isinstance(raw[0], str):
        places = sorted(
            {one for own in [*given.values(), *scored.values()] for one in own.values()}
        )
        assert [places[int(code)] for code in judgments["value"]] == raw
    else:
        assert judgments["value"].tolist() == raw
