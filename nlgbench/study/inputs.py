"""Find the columns with texts: what systems respond to, and the outputs of a pair's two sides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pandas as pd

from nlgbench.study.column_names import CALLED, has_word, plain_name

#: Words in names of columns that contain what systems respond to, the likeliest first.
_INPUT = "source article document passage dialogue dialog conversation context instruction prompt "
_INPUT += "question query input"
_OUTPUT = {*CALLED["text"].split(), "answer", "completion", "continuation", "ending"}


def input_of(frame: pd.DataFrame, names: Sequence[str], places: pd.DataFrame) -> str:
    """Return the column with the text that systems respond to; empty if there is none."""
    for word in _INPUT.split() if len(places.columns) else ():
        for name in names:
            is_named = has_word(re.sub("^input[.:]", "", name, flags=re.I), word)
            if is_named and _are_texts(frame[name]) and is_of(places, frame[name]):
                return name
    return ""


def _are_texts(cells: pd.Series) -> bool:
    filled = cells[cells.str.strip() != ""]
    n_words = filled.str.count(r"\S\s+\S") + filled.str.count("[\u3040-\u9fff]") / 4
    return len(filled) > 0 and bool(n_words.mean() >= 1)


def is_of(places: pd.DataFrame, cells: pd.Series) -> bool:
    """Check whether each place has a single cell."""
    rows = places.assign(**{"{cell}": cells}).drop_duplicates()
    return not rows.duplicated(list(places)).any()


def sided(names: Sequence[str], pair: tuple[str, str]) -> Iterator[tuple[str, str, str]]:
    """Iterate over columns that differ as a pair's two columns do: their pattern, and both.

    With the pair model_a and model_b, these are answer_a and answer_b; the pair is the first.
    """
    words_a, words_b = (re.findall(r"[^\W_]+", name) for name in pair)
    differ = [couple for couple in zip(words_a, words_b, strict=False) if len({*couple}) > 1]
    if len(words_a) != len(words_b) or len(differ) != 1 or len(words_a) == 1:
        return  # a pattern for left and right would match every column
    first, second = differ[0]
    for name in [pair[0], *names]:
        for fit in re.finditer(rf"(?<![^\W_]){re.escape(first)}(?![^\W_])", name):
            before, after = name[: fit.start()], name[fit.end() :]
            if (counterpart := f"{before}{second}{after}") in {*names, pair[1]}:
                yield f"{before}{{side}}{after}", name, counterpart


def is_output(name: str) -> bool:
    """Check whether a column is named after outputs."""
    return bool({*plain_name(name).split("_")} & _OUTPUT)
