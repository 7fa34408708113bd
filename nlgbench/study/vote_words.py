"""Interpret the words of votes: positions, verdicts, ties, and the names of a row's systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from nlgbench.study.column_names import CALLED, plain_name

#: Keys in a map of choices that stand for the row's own systems.
NAMES = {"{system_a}": "a", "{system_b}": "b"}
#: What a judge's verdict says if it failed; such rows are no votes.
FAILED = "error"

_SIDES = dict.fromkeys(("a", "1", "x", "left", "first"), "a")
_SIDES |= dict.fromkeys(("b", "2", "y", "right", "second"), "b")
#: Position -> the number of the pair of words that it belongs to.
_PAIR = {word: number % (len(_SIDES) // 2) for number, word in enumerate(_SIDES)}
#: The least share of votes by name in a column of names.
_MOSTLY = 0.95
_POSITION = re.compile(
    r"(?:(?:i|prefer|the|model|system|output|response|assistant|candidate|option|text|summary|"
    rf"answer|story|version)_)*({'|'.join(_SIDES)})"
    r"(?:_(?:one|is|much|slightly|significantly|clearly|better|best|wins?|won|preferred))*"
)
_TIE = re.compile(
    r"(?:^|_)(?:tie|draw|equal|same|both|neither|similar|comparable|no_(?:preference|difference))"
)
_BETTER = re.compile(r"(?:^|_)(?:better|best|preferred|wins?|won|winner|chosen)(?:_|$)")


def meaning(word: str) -> str:
    """Return what a word says: a, b, tie or error; empty if it is unclear."""
    text = word.strip().strip("[]").strip().lower()
    if verdict := re.fullmatch(r"([ab])\s*(?:(>+)|(<+)|[=~≈]+)\s*([ab])", text):
        first, more, less, right = verdict.groups()
        return "" if first == right else first if more else right if less else "tie"
    if position := _position(text):
        return _SIDES[position]
    plain = plain_name(text)
    if word.strip() == "[[C]]" or (_TIE.search(plain) and len(word) < 30):
        return "tie"
    return FAILED if plain in ("error", "invalid", "failed", "parse_error") else ""


def _position(word: str) -> str:
    fit = _POSITION.fullmatch(plain_name(word))
    return fit[1] if fit and not word.startswith("-") else ""


def choices(cells: Iterable[str]) -> dict[str, str]:
    """Map the words of votes to their meaning, if it is clear.

    1 and 2 are unclear beside 0 or 3, and so is a position whose opposite does not occur, beside
    others with both, such as 1 beside left and right, or beside A>B and B>A.
    """
    clear = {word: meaning(word) for word in dict.fromkeys(cells)}
    pairs = {word: _PAIR.get(_position(word.strip(" []"))) for word in clear}
    sides: dict[int | None, set[str]] = {}
    for word, pair in pairs.items():
        sides.setdefault(pair, set()).add(clear[word])
    has_both = any({"a", "b"} <= meanings for meanings in sides.values())
    numbers = {word for word in clear if re.fullmatch(r"-?\d+(?:\.0)?", word.strip())}
    unclear = numbers if {word.strip() for word in numbers} - {"1", "2"} else set()
    if has_both:
        single = {pair for pair in sides if pair is not None and len(sides[pair]) < 2}
        unclear |= {word for word, pair in pairs.items() if pair in single}
    return {word: side for word, side in clear.items() if side and word not in unclear}


def _by_word(cells: pd.Series) -> pd.Series:
    meanings = choices(cells)
    return cells.map(lambda word: meanings.get(word, ""))


def named(cells: pd.Series, systems: pd.DataFrame) -> pd.Series:
    """Return a or b where a cell is the name of the row's system_a or system_b; empty otherwise."""
    votes, sides = cells.str.strip(), pd.Series("", index=cells.index)
    for side in "ab":
        names = systems[f"system_{side}"].str.strip()
        is_near = votes.str.casefold() == names.str.casefold()
        is_near &= ~votes.map(meaning).isin(("a", "b"))
        sides[((votes == names) | is_near) & (votes != "")] = side
    return sides


def may_be_names(cells: pd.Series, systems: pd.DataFrame) -> bool:
    """Check whether nearly all votes but ties name one of the row's two systems."""
    by_name, meanings = named(cells, systems), cells.map(meaning)
    is_vote = (cells.str.strip() != "") & ((by_name != "") | ~meanings.isin(("tie", FAILED)))
    return bool(is_vote.any() and (by_name[is_vote] != "").mean() >= _MOSTLY)


def are_ambiguous(cells: pd.Series, systems: pd.DataFrame) -> bool:
    """Check whether words are positions and names of systems, with different winners."""
    by_name, by_word = named(cells, systems), _by_word(cells)
    is_name_only = (by_name != "") & ~by_word.isin(("a", "b"))
    differ = (by_name != "") & by_word.isin(("a", "b")) & (by_name != by_word)
    return bool(differ.any() and not is_name_only.any())


def read_votes(
    cells: pd.Series, mapped: pd.Series, changed: Mapping[str, str], systems: pd.DataFrame
) -> tuple[pd.Series, pd.Series, str]:
    """Return votes as a, b, tie or error, which cells are refused, and the rule that they break.

    `mapped` are the cells after the replacements in `changed`. Unknown words stay as they are.
    """
    is_mapped = (mapped != cells) | cells.isin(list(changed))
    by_name, by_word = named(cells, systems), _by_word(cells)
    is_position = by_word.isin(("a", "b"))
    is_wrong = is_mapped & (by_name != "") & ~is_position & mapped.isin(("a", "b"))
    if (is_wrong := is_wrong & (by_name != mapped)).any():
        rule = "is the name of a system, which `values` maps to the other side: remove it from "
        rule += "`values: {choice: ...}`, because names are compared with the systems of their row"
        return mapped, is_wrong, rule
    open_cells = ~is_mapped
    by_names = bool(NAMES.keys() & changed.keys())
    by_names |= bool((open_cells & (by_name != "") & ~is_position).any())
    if not by_names and are_ambiguous(cells[open_cells], systems[open_cells]):
        rule = (
            "may be a position or the name of a system: write `values: {choice: {'{system_a}': a, "
            "'{system_b}': b}}` if it is a name, or `values: {choice: {A: a, B: b}}`, with your "
            "words, if it is a position"
        )
        return mapped, open_cells & (by_name != "") & (by_name != by_word), rule
    if not by_names:
        votes = by_word.where(by_word != "", cells)
        return mapped.where(is_mapped, votes), open_cells & False, ""
    votes = by_name.where(by_name != "", by_word.where(~is_position, ""))
    refused = open_cells & (votes == "") & (cells.str.strip() != "")
    rule = "must be one of the two systems of its row, or a tie: correct the name"
    return mapped.where(is_mapped, votes), refused, rule


def _ends(name: str) -> list[str]:
    """Return what a column's name says from each of its words on."""
    tokens = plain_name(name).split("_")
    return [meaning("_".join(tokens[start:])) for start in range(len(tokens))]


def one_hot(cells: pd.DataFrame) -> tuple[str, dict[str, str], bool]:
    """Read columns that mark the winner with 1 as a template of their cells and its meanings.

    Also return whether a row without a mark is a guess; the template is empty if they do not fit.
    """
    of_side: dict[str, str] = {}
    for name in map(str, cells):
        side = next((end for end in _ends(name) if end in ("a", "b", "tie")), "")
        marks = set(cells[name].str.strip().str.lower())
        if side and marks <= {"0", "1", "0.0", "1.0", "true", "false"}:
            of_side[name] = side
    sides = [side for side in of_side.values() if side != "tie"]
    marked = cells[list(of_side)].apply(lambda column: column.str.strip().str.lower())
    marked = marked.isin(("1", "1.0", "true"))
    if sorted(sides) != ["a", "b"] or (marked.sum(axis=1) > 1).any():
        return "", {}, False
    texts = cells[list(of_side)].agg(" ".join, axis=1)
    winner = marked.idxmax(axis=1).map(of_side).where(marked.any(axis=1), "tie")
    is_guess = not marked.any(axis=1).all()
    template = " ".join(f"{{{name}}}" for name in of_side)
    return template, dict(zip(texts, winner, strict=True)), is_guess


def pair_flags(frame: pd.DataFrame) -> dict[str, str]:
    """Return the flags for a column that may hold votes, if no columns name both systems.

    A system that wins, but is in no other column, is one side of all pairs.
    """
    for name in map(str, frame):
        plain = plain_name(name)
        if plain not in CALLED["choice"].split() and not _BETTER.search(plain):
            continue
        winners = [word for word in frame[name].unique() if word.strip() and not meaning(word)]
        rivals = frame.drop(columns=name)
        rivals = rivals.loc[:, rivals.isin(winners).any()]
        fixed = [word for word in winners if not rivals.eq(word).any(axis=None)]
        is_clear = len(rivals.columns) == len(fixed) == 1
        sides = (fixed[0], str(rivals.columns[0])) if is_clear else ("...", "...")
        return {"a": sides[0], "b": sides[1], "choice": name}
    return {}


def of_boolean(name: str, cells: Iterable[str], systems: Mapping[str, str]) -> dict[str, str]:
    """Map true and false of a column such as writer_better, by the system or side in its name."""
    plain = plain_name(name)
    truth = {word: word.strip().lower() for word in cells}
    if not _BETTER.search(plain) or not {"true", "false"} <= {*truth.values()}:
        return {}
    sides = [side for side, system in systems.items() if f"_{plain_name(system)}_" in f"_{plain}_"]
    sides = [side for side in sides or _ends(name) if side in ("a", "b")]
    if not sides:
        return {}
    of_truth = {"true": sides[0], "false": "ba"["ab".index(sides[0])]}
    ties = {word: "tie" for word in truth if meaning(word) == "tie"}
    return {word: of_truth[plain] for word, plain in truth.items() if plain in of_truth} | ties
