"""DailyDialog's test dialogues with five human responses to every turn, to train a generator on.

Gupta et al. (2019), as `dailydialog`, which holds the responses that were rated; the dialogues are
those of Li et al. (2017), DailyDialog, arXiv:1710.03957.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd

from nlgbench import schema
from nlgbench.datasets import cache

TURNS_FILE = "dailydialog-multiref/multireftest.json"

_NAMES = ("original", "r1", "r2", "r3", "r4")

# In this order; what the release's own tokenizer does to most turns.
_CUTS = [
    (r"\s*['\u2019]\s*", "'"),
    (r"(n't)\b", r" \1"),
    (r"('(?:s|m|re|ve|ll|d))(?![a-z])", r" \1"),
    (r"\b(can|gon|got)(not|na|ta)\b", r"\1 \2"),
    (r"(?<=\w)(-+)(?=\w)", r" \1 "),
    (r"(\.\.+|[!?;\"()$%/]|(?<!\d)[.,:]|[.,:](?!\d))", r" \1 "),
    (r"(?<=\S)'(?!\S)", " '"),
]


def load_dailydialog_turns() -> pd.DataFrame:
    """Load the human responses to every turn of DailyDialog's 1,000 test dialogues.

    An ``outputs`` table: 33,699 responses of system ``human`` to 6,740 contexts, the turns before
    (``item_id`` is the dialogue's number and the last of these, from 0: ``73_4``; turns are lines).
    ``73_4-original`` is DailyDialog's own next turn, ``73_4-r1`` to ``-r4`` are of the release's
    annotators. White space is made single spaces, and a blank response is left out.

    The 100 contexts of `dailydialog.load_dailydialog` are all among these, with the same
    ``item_id`` and, to the letter, the same ``context``; its references are ``original`` and r1 to
    r3 here, but its rated human responses are others. What trains a generator that is judged there
    must leave them out, and by context, because some dialogues begin alike.

    All turns but a dialogue's first stand in the release as its tokenizer wrote them. The first
    ones are tokenized here, by rules which do to 99.7% of the other turns what that tokenizer did,
    and to all of the 100.
    """
    return read_dailydialog_turns(cache.path(TURNS_FILE))


def read_dailydialog_turns(path: Path) -> pd.DataFrame:
    """Read a file laid out as the release's dialogues."""
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        found = json.loads(line) if line else {"dialogue": []}
        context, last = "", ""
        for at, turn in enumerate(found["dialogue"][:-1]):
            responses = [" ".join(text.split()) for text in turn["responses"]]
            context = f"{context}\n{last}" if at else tokenized(turn["text"])
            last = responses[0]
            item = f"{found['index']}_{at}"
            rows += [
                (f"{item}-{name}", item, "human", text, True, context)
                for name, text in zip(_NAMES, responses, strict=True)
                if text
            ]
    return schema.typed(rows, "outputs")


def tokenized(text: str) -> str:
    """Write a turn as the release's tokenizer does, nearly always."""
    text = text.lower()
    for pattern, cut in _CUTS:
        text = re.sub(pattern, cut, text)
    return " ".join(text.split())
