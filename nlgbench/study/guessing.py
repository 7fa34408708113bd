"""Guess what the columns of a study's files are, from flags, names and data."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from nlgbench.study import (
    answers,
    column_names,
    csv_files,
    file_types,
    inputs,
    raters,
    vote_words,
)
from nlgbench.study.column_names import in_braces, matching, plain_name
from nlgbench.study.overview import PLACEHOLDER

#: The text before and after a key in columns' names.
Around = tuple[str, str]

#: Names in braces that are not columns.
_BESIDE = ("row", "file", "folder", "position")
#: Words in columns' names, by the kind of column that they suggest; `any` is for any answer.
_WORDS = {
    kind: set(words.split())
    for kind, words in {
        "annotator": "human annotator annot ann rater worker judge expert participant coder a r j",
        "system": "sys system model output response candidate hyp hypothesis generator bot",
        "question": "q question item criterion dimension aspect",
        "asked": "fluency adequacy coherence consistency relevance naturalness quality rating rank "
        "informativeness overall understandability engagingness grammaticality correctness clarity "
        "groundedness faithfulness empathy helpfulness surprise accuracy usefulness "
        "interestingness",
        "any": "rating score value judgment judgement answer choice vote label id text",
        "human": "human humans reference references gold ground_truth",
    }.items()
}
#: Words for annotators only, and for what systems respond to.
_CLEAR = {"annotator", "rater", "worker", "judge", "expert", "participant", "coder", "annot"}
_PEOPLE = {"human", "humans", "people", "crowd", "mos"}
_INPUTS = {"source", "src", "input", "prompt", "article", "document"}
_ASKED, _ANSWER = _WORDS["asked"], _WORDS["asked"] | _WORDS["any"]
_METRIC = re.compile(
    r"(?:^|_)(?:s?bleu|rouge|meteor|chr_?f|ter|bert|bleurt|comet|cider|spice|mover|bart|uni_?eval|"
    r"g_?eval|perplexity|ppl|nist|len|length|f1|precision|recall|similarity|nli|logprob)"
)
#: Words for what forms record besides answers.
_RECORDED = (
    "time|times|duration|seconds|secs|timestamp|date|trial|order|progress|count|n|num|year|finished"
    "|status|version|seed|temperature|start|end|page|words|tokens|number|age|std|sd|confidence|check"
)
#: A number with its label, such as `4 - good`, `4 (good)` or `good (4)`.
_LABELED = re.compile(
    r"(?P<before>-?\d+)(?:\s*[-=:.)(–—]\s*|\s+)[^\W\d].*|[^\W\d].*[^\w-](?P<after>-?\d+)\W*"
)
#: The fewest cells for each that is no number, in a column of numbers.
_ODD = 20
_LETTER = re.compile(r"[^\W\d]")
#: Verbal scales: words -> numbers, from 1 on, or 0 and 1. Synonyms have one number.
_SCALES = [
    {
        word: str(number)
        for number, synonyms in enumerate(scale.split(", "), 1 if scale.count(",") > 1 else 0)
        for word in synonyms.split("/")
    }
    for scale in (
        "bad/wrong/incorrect/fail/failed/unacceptable/inconsistent/irrelevant/invalid, "
        "good/right/correct/pass/passed/acceptable/consistent/relevant/valid",
        "strongly disagree, disagree, neutral/neither agree nor disagree/undecided, agree, "
        "strongly agree",
        "very poor/very bad/terrible, poor/bad, fair/average/ok/acceptable, good, "
        "very good/excellent",
        "never, rarely, sometimes, often, always",
        "not at all, slightly, moderately, very, extremely",
        "low, medium, high",
        "no/false, yes/true",
    )
]


@dataclass(eq=False)
class Guess:
    """The guessed content of a file, or of files with the same layout.

    Besides the file's columns, the frame has those that templates use, such as `{file}`.
    """

    frame: pd.DataFrame
    columns: dict[str, Any] = field(default_factory=dict)  # our column -> theirs
    why: dict[str, str] = field(default_factory=dict)  # our column -> reason
    doubts: set[str] = field(default_factory=set)  # our columns whose guess is uncertain
    captured: dict[str, list[str]] = field(default_factory=dict)  # name in braces -> its values
    answers: dict[str, str] = field(default_factory=dict)  # column or pattern -> dimension
    only: dict[str, list[str]] = field(default_factory=dict)  # which rows are kept
    tables: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)  # how files are opened
    tool: str = ""  # the format of a tool that wrote the files
    kinds: dict[str, str] = field(default_factory=dict)  # of the columns examined so far
    missing: dict[str, list[str]] = field(default_factory=dict)  # column -> its words for this

    @property
    def names(self) -> list[str]:
        """List the files' columns."""
        return [one for one in map(str, self.frame.columns.tolist()) if "{" not in one]

    def has(self, *ours: str) -> bool:
        """Check whether all of these columns are known."""
        return {*ours} <= {*self.columns, *self.captured}

    def set(self, our: str, their: Any, why: str, *, doubt: bool = False) -> None:
        """Record which column of the file is one of ours, and why."""
        if isinstance(their, str) and (filled := _filled(their, self.frame)) is not None:
            self.frame = self.frame.assign(**{their: filled})
        self.columns[our] = their
        self.why[our] = why
        self.doubts |= {our} if doubt else set()

    def doubt(self, our: str, why: str) -> None:
        """Record why a guess needs confirmation."""
        self.why[our] = why
        self.doubts.add(our)

    def by_row(self, *ours: str) -> pd.DataFrame:
        """Return the cells of those of our columns that have one value per row of the file."""
        found = {our: self.columns.get(our) for our in ours}
        there = {our: one for our, one in found.items() if isinstance(one, str)}
        return pd.DataFrame({o: self.frame[one] for o, one in there.items() if one in self.frame})

    def free(self, *kinds: str) -> list[str]:
        """List the columns of some kinds that are not assigned yet."""
        named = used(self.names, [*self.columns.values(), *self.answers, *self.only])
        free = [one for one in self.names if one not in named]
        free = [one for one in free if not column_names.personal([one])]
        return [
            one
            for one in free
            if plain_name(one) not in column_names.OTHER - {"id"} and self.kind(one) in kinds
        ]

    def kind(self, name: str) -> str:
        """Return the kind of a column, determined once."""
        if name not in self.kinds:
            self.kinds[name] = kind_of(self.frame[name])
        return self.kinds[name]


def used(there: Sequence[str], named: Iterable[Any]) -> set[str]:
    """List a file's columns that entries of study.yml name directly, in a list or in braces."""
    found = set()
    for their in named:
        for name in [their] if isinstance(their, str) else their:
            inner = in_braces(name)
            found |= {name, *inner}
            if inner and name not in there and not {*inner} <= {*_BESIDE, *there}:
                found |= {*matching(name, there)}
    return found


def _filled(template: str, frame: pd.DataFrame) -> pd.Series | None:
    """Fill the braces of a template; None if it is a column, a pattern of columns or plain text."""
    names = in_braces(template)
    known = {one: f"{{{one}}}" for one in _BESIDE}
    if template in frame or not names or not {*names} <= {*known, *frame}:
        return None
    made = pd.Series("", index=frame.index)
    for literal, name in re.findall(r"([^{]*)(?:\{([^{}]*)\})?", template):
        made = made + literal + (frame.get(known.get(name, name), "") if name else "")
    return made


def kind_of(cells: pd.Series) -> str:
    """Classify a column: lists, numbers (or a scale's words), choices, texts, words or ids."""
    counts = Counter(cells.tolist())  # much faster than methods of many short columns
    filled = [cell for cell in counts if cell.strip()]
    if not filled:
        return ""
    is_list = all(file_types.as_list(cell) is not None for cell in filled[:50])
    parts = answers.flat(filled[:50]) if is_list else filled
    others = [part for part in parts if not _is_number(part)]
    is_number = len(others) < len(parts) and len(answers.missing_words(others)) == len({*others})
    if is_list:
        return "list" if is_number else ""
    if is_number or scale_of(filled):
        return "number"
    found = vote_words.choices(filled) if all(map(vote_words.meaning, filled)) else {}
    if {"a", "b"} <= set(found.values()) and len(found) == len(filled):
        return "choice"
    n = sum(counts[cell] for cell in filled)
    # Few odd cells among answers are errors, which `check` lists; those among ids are ids.
    if len(filled) - len(others) <= 11 and sum(counts[cell] for cell in others) <= n / _ODD:
        return "number"
    length = sum(len(cell) * counts[cell] for cell in filled) / n
    blanks = sum(len(re.findall(r"\s", cell)) * counts[cell] for cell in filled) / n
    if length > 30 or blanks >= 3:
        return "text"
    return "words" if len(filled) <= max(12, n / 4) else "id"


def _is_number(text: str) -> bool:
    number = csv_files.number(text)
    return number is not None and not math.isnan(number)


def scale_of(cells: Iterable[str]) -> dict[str, str]:
    """Map cells to numbers if they are words of a known scale, or have a number and its label."""
    cells = dict.fromkeys(cells)
    if not _LETTER.search("".join(cells)):  # numbers without labels
        return {}
    missing = answers.missing_words(cells)
    plain = {cell: answers.plain_words(cell) for cell in cells if cell not in missing}
    plain = {cell: words for cell, words in plain.items() if words}
    fits = {cell: _LABELED.fullmatch(cell.strip()) for cell in plain}
    labeled = {cell: fit["before"] or fit["after"] for cell, fit in fits.items() if fit}
    bare = {cell: cell.strip() for cell in plain if re.fullmatch(r"-?\d+", cell.strip())}
    # The numbers of a scale have one label each, unlike those of titles, such as `1 - Intro`.
    n_labels = len({plain[cell] for cell in labeled})
    is_scale = labeled and n_labels == len({*labeled.values()}) <= 11
    if is_scale and len(labeled) + len(bare) == len(plain):
        return labeled | bare
    for scale in _SCALES:
        if len(plain) > 1 and {*plain.values()} <= {*scale}:
            return {cell: scale[words] for cell, words in plain.items()}
    return {}


def specs(frame: pd.DataFrame) -> column_names.Specs:
    """Map a file's columns to tables, if there is a column of systems or outputs."""
    rows = [str(n + 1) for n in range(len(frame))]
    made = Guess(frame.assign(**{"{file}": "", "{row}": rows}))
    guess(made, {})
    is_known = any(made.has(one) for one in ("system", "system_a", "output_id"))
    return dict(made.tables) if is_known else {}


def guess(made: Guess, flags: Mapping[str, Sequence[str]]) -> None:
    """Determine what the columns of a file are.

    Flags map our columns to the files' columns; of those that a flag names, those in this file
    apply. The frame's columns `{file}` and `{row}` are the names of files and the numbers of rows.
    """
    made.only = column_names.counted(made.frame)
    for name, kept in made.only.items():
        made.frame = made.frame[made.frame[name].isin(kept)].reset_index(drop=True)
    who = [name for name in flags.get("annotator_columns", ()) if name in made.frame]
    votes = {"system_a", "system_b"} <= {*flags}
    if who:
        made.captured["annotator_id"] = who
        made.set("choice" if votes else "value", "{annotator_id}", "")
        flags = {our: names for our, names in flags.items() if our != "annotator_columns"}
        flags = {**flags, "choice" if votes else "value": ["{annotator_id}"]}
    for our, theirs in flags.items():
        _take_flag(made, our, theirs, flags)
    asked = {"value", "score", "choice"} & set(flags)
    real = made.names
    # Votes may be in several columns that are not named after votes.
    sides = column_names.recognized([*real, "choice"])
    sides = {our: one for our, one in sides.items() if our[:-1] == "system_"}
    for our, their in (sides | column_names.recognized(real)).items():
        if our in ("severity", "category") or (asked and our in ("value", "choice", "evaluator")):
            continue
        if their in real and our not in made.columns and their not in made.columns.values():
            made.set(our, their, "by its name")
    _find_winners(made)
    pair = _sides(made)
    names = pd.unique(pair.to_numpy().ravel())
    is_asked = {"system_a", "system_b"} <= {*flags}
    if len(pair.columns) == 2 and (is_asked or len(names) <= max(2, len(pair) / 2)):
        _map_votes(made, asked)
    else:
        made.columns = {our: one for our, one in made.columns.items() if our[:-1] != "system_"}
        _find_places(made)
        _map_ratings(made, asked)
    for at, (table, spec) in reversed([*enumerate(made.tables)]):
        if parts := raters.split(table, spec, made.frame, made.free("words", "choice")):
            made.tables[at : at + 1] = [(table, parts[0]), parts[1:]]
            (column, names), *_ = parts[0]["skip"].items()
            why = f"models, not people, in {column}: {', '.join(names[:3])}"
            for our in ("evaluator", "comparator"):
                made.set(our, column, why, doubt=True)


def _find_winners(made: Guess) -> None:
    """Read columns of the chosen and the rejected system as pairs with a winner."""
    plain = {plain_name(name): name for name in made.names}
    for end in ("", "_system", "_model"):
        won, lost = plain.get(f"chosen{end}"), plain.get(f"rejected{end}")
        if won and lost and not made.has("system_a") and not made.has("choice"):
            why = f"{won} won against {lost}; the order in which they were shown is unknown"
            made.set("system_a", won, why)
            made.set("system_b", lost, why)
            made.set("choice", won, why)


def _sides(made: Guess) -> pd.DataFrame:
    """Return each row's two systems, of which one may be the same in all rows."""
    named = {our: made.columns[our] for our in ("system_a", "system_b") if our in made.columns}
    return pd.DataFrame(
        {our: made.frame.get(name, name) for our, name in named.items()}, index=made.frame.index
    )


def _take_flag(
    made: Guess, our: str, theirs: Sequence[str], flags: Mapping[str, Sequence[str]]
) -> None:
    """Apply those names in a flag that fit this file: columns, templates or patterns."""
    found = []
    families = sum(any(".." in name for name in names) for names in flags.values())
    for name in theirs:
        if "annotator" not in made.frame:
            name = name.replace("{annotator}", "{annotator_id}")
        if name not in made.frame and (fit := re.fullmatch(r"(.*?)(\d+)\.\.(\d+)(.*)", name)):
            key = "system" if "annotator_id" in flags else "annotator_id"
            key = "slot" if families > 1 else key
            name = f"{fit[1]}{{{key}}}{fit[4]}"
            if matching(name, made.names):
                made.captured[key] = [str(one) for one in range(int(fit[2]), int(fit[3]) + 1)]
        fits = name in made.frame or _filled(name, made.frame) is not None
        is_pattern = "{" in name and bool(matching(name, made.names))
        if is_pattern and not fits:
            made.captured |= {key: made.captured.get(key, []) for key in in_braces(name)}
        is_constant = our in ("system_a", "system_b") and _is_mentioned(made, name, flags)
        found += [name] * (fits or is_pattern or is_constant)
    if found:
        is_list = our in ("value", "score", "choice") and "{" not in found[0]
        made.set(our, found if is_list else found[0], "")


def _is_mentioned(made: Guess, system: str, flags: Mapping[str, Sequence[str]]) -> bool:
    """Check whether votes or columns' names mention a system, which is one side of all pairs."""
    votes = {cell for name in flags.get("choice", ()) for cell in made.frame.get(name, ())}
    plain = plain_name(system)
    return bool(plain) and (
        system in votes or any(f"_{plain}_" in f"_{plain_name(name)}_" for name in made.names)
    )


def _splits(name: str) -> Iterator[tuple[Around, str]]:
    """Split a name, in every possible way, into a key and the text around it."""
    parts = re.findall(r"\d+|[^\W\d_]+|[\W_]+", name)
    words = [at for at, part in enumerate(parts) if part[0].isalnum()][:8]
    for start in words:
        for end in words:
            around = "".join(parts[:start]), "".join(parts[end + 1 :])
            if start <= end and any(around):
                yield around, "".join(parts[start : end + 1])


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", plain_name(name)))


def is_metric(name: str) -> bool:
    """Check whether a column is named after an automatic metric."""
    return bool(_METRIC.search(plain_name(name))) and not _words(name) & _ASKED


def _beside(around: Around) -> set[str]:
    """Return the words directly before and after a key."""
    return {plain_name(around[0]).split("_")[-1], plain_name(around[1]).split("_")[0]}


def _family(made: Guess, *kinds: str) -> dict[Around, dict[str, str]]:
    """Find columns whose names differ only in a key: text around it -> key -> column.

    Columns of one family are of the same kind. Names of dimensions are not keys.
    """
    kind = {one: made.kind(one) for one in made.free(*kinds) if not is_metric(one)}
    fields: dict[tuple[Around, bool], dict[str, str]] = {}
    for name in kind:
        for around, key in _splits(name):
            is_mixed = re.match(r"\d+[\W_]+[^\W\d]", key)  # such as `1 fluency`
            if not is_mixed and not _words(key) & _ANSWER:
                fields.setdefault((around, key.isdigit()), {})[key] = name
    groups: dict[frozenset[str], dict[Around, dict[str, str]]] = {}
    for (around, _), own in fields.items():
        if len(own) > 1 and len({kind[name] for name in own.values()}) == 1:
            groups.setdefault(frozenset(own), {})[around] = own

    def likelihood(keys: frozenset[str]) -> tuple[bool, bool, int, int]:
        is_numbered = all(key.isdigit() for key in keys)
        of_annotators = any(_beside(around) & _WORDS["annotator"] for around in groups[keys])
        size = len(keys) * len(groups[keys])
        return is_numbered and of_annotators, is_numbered, size, -sum(map(len, keys))

    return groups[max(groups, key=likelihood)] if groups else {}


def _take_family(made: Guess, fields: dict[Around, dict[str, str]]) -> None:
    """Decide whether a family's key is a system, an annotator or a slot, and assign its columns."""
    first = {around: next(iter(own.values())) for around, own in fields.items()}
    of: dict[str, list[Around]] = {}
    for around, name in first.items():
        kind = made.kind(name)
        sets = [set(made.frame[one]) - {""} for one in fields[around].values()]
        recurs = sum(map(len, sets)) >= 1.5 * len(set().union(*sets)) > 1.5
        is_name = recurs and kind in ("words", "id")
        if is_name or plain_name(around[1]).split("_")[-1] != "id":  # writer_id is no answer
            of.setdefault("system" if is_name else kind, []).append(around)
    rated = of.get("number", []) + of.get("list", [])
    texts = of.get("text", [])
    shown = ", ".join([*fields[(rated or texts or list(fields))[0]].values()][:6])
    beside = set().union(*map(_beside, rated))
    doubt = False
    if "system" in of and not made.has("system") and (rated or texts):
        key, why = "slot", f"{first[of['system'][0]]} and similar columns have the same values"
        made.set("system", _pattern(of["system"][0], key), why)
    elif rated and beside & _WORDS["annotator"] and not made.has("annotator_id"):
        rated = [one for one in rated if _beside(one) & _WORDS["annotator"]]
        shown = ", ".join(fields[rated[0]].values())
        key, why = "annotator_id", f"{shown} are named after annotators"
        is_clear = beside & _CLEAR or all(
            len(name) < 3 or name.isdigit() for name in fields[rated[0]]
        )
        doubt = not is_clear
        why += "; they may be dimensions" * doubt
    elif not made.has("system") and (texts or (rated and made.has("annotator_id"))):
        is_named = not any(key.isdigit() for own in fields.values() for key in own)
        named = _WORDS["system"] | (_ANSWER if is_named else set())
        doubt = not texts and not beside & named
        key, why = "system", f"{shown} differ in one word" + "; they may be dimensions" * doubt
        keys = [name for own in fields.values() for name in own]
        if inputs := [name for name in keys if _words(name) & (_INPUTS | _WORDS["human"])]:
            doubt, why = True, f"{why}; {', '.join(dict.fromkeys(inputs))} may be no system"
    elif made.has("annotator_id") or not made.has("system") or beside & _WORDS["question"]:
        return
    elif rated:
        key, why, doubt = "annotator_id", f"{shown} differ in one word; they may be questions", True
    else:
        return
    made.captured[key] = list(next(iter(fields.values())))
    if texts and key != "annotator_id":
        made.set("text", _pattern(texts[0], key), f"texts, as in {first[texts[0]]}")
    of_each = {_pattern(one, key): _dimension(one) for one in rated}
    made.answers = _joint(made, rated, key) or of_each
    made.why["value"] = why
    made.doubts |= {"value"} if doubt else set()


def _pattern(around: Around, key: str) -> str:
    return f"{around[0]}{{{key}}}{around[1]}"


def _dimension(around: Around) -> str:
    """Name a family's dimension after the words in its columns' names."""
    words = [one for one in plain_name(" ".join(around)).split("_") if len(one) > 1]
    return "_".join(
        one for one in words if one not in _WORDS["annotator"] | _WORDS["system"] | _WORDS["any"]
    )


def _joint(made: Guess, rated: Sequence[Around], key: str) -> dict[str, str]:
    """Write several fields of a family as one pattern; empty if its braces would touch."""
    for side in (0, 1) if len(rated) > 1 else ():
        parts = [re.findall(r"\d+|[^\W\d_]+|[\W_]+", one[side]) for one in rated]
        start = os.path.commonprefix(parts)  # noqa: RUF071, of words
        rest = [part[len(start) :] for part in parts]
        end = os.path.commonprefix([part[::-1] for part in rest])[::-1]  # noqa: RUF071
        names = ["".join(part[: len(part) - len(end)]) for part in rest]
        if len({one[1 - side] for one in rated}) > 1 or not all(names) or not [end, start][side]:
            continue
        is_system = key == "annotator_id" and not made.has("system") and not {*names} & _ASKED
        inner = "system" if is_system else "dimension"
        one = f"{''.join(start)}{{{inner}}}{''.join(end)}"
        joint = _pattern((one, rated[0][1]) if side == 0 else (rated[0][0], one), key)
        own = {before + k + after: k for before, after in rated for k in made.captured[key]}
        fits = matching(joint, own)
        if {one: captured[key] for one, captured in fits.items()} == own:
            made.captured[inner] = names
            return {joint: ""}
    return {}


def _unique(made: Guess, names: Sequence[str], *ours: str, more: str = "") -> list[str]:
    """List the columns that, with ours, make rows unique; of equal groupings, the first.

    An item must have several systems.
    """
    places = made.by_row(*ours).assign(**{"more": made.frame[more]} if more else {})
    fits: dict[tuple[int, ...], str] = {}
    for name in names:
        both = places.assign(new=made.frame[name])
        if not both.duplicated().any() and ("item_id" in ours or _is_shared(made, name)):
            fits.setdefault(tuple(pd.factorize(made.frame[name])[0]), name)
    repeated = [one for one in fits.values() if made.frame[one].duplicated().any()]
    return repeated or list(fits.values())


def _is_shared(made: Guess, item: str) -> bool:
    """Check whether items have outputs of several systems."""
    system = made.by_row("system")
    return system.empty or system.groupby(made.frame[item])["system"].nunique().mean() > 1.5


def _take_likeliest(
    made: Guess, our: str, fits: Sequence[str], why: str, *, doubt: bool = False
) -> None:
    if fits:
        also = f"; alternatives: {', '.join(fits[1:4])}" if fits[1:] else ""
        made.set(our, fits[0], why + also, doubt=doubt or bool(also))


def _places(made: Guess, *kinds: str) -> list[str]:
    """List the columns that may be ids of items or annotators, those with most values first."""
    names = [one for one in made.free(*kinds) if not is_metric(one) and not _words(one) & _ASKED]
    names = [one for one in names if not column_names.has_word(one, _RECORDED)]
    full = [one for one in names if made.frame[one].str.strip().ne("").all()]
    full = [one for one in full if len(made.frame[one].unique()) > 1]
    full = [one for one in full if not made.frame[one].str.fullmatch(r"-?\d*\.\d+").any()]
    n_values = {one: len(made.frame[one].unique()) for one in full}
    full.sort(key=lambda one: -n_values[one])
    return sorted(full, key=lambda one: made.kind(one) == "number")


def _find_places(made: Guess) -> None:
    """Find systems, items and annotators that columns' names do not reveal."""
    kinds = ("number", "list", "text", "words", "id")
    if fields := {} if made.has("system", "annotator_id") else _family(made, *kinds):
        _take_family(made, fields)
    place, stems = "{file}", list(made.frame["{file}"].unique())
    if len(stems) == 1 and "{folder}" in made.frame:  # files of the same name in several folders
        place, stems = "{folder}", list(made.frame["{folder}"].unique())
    several = len(stems) > 1
    are_judges = several and all(map(raters.MODEL.search, stems))
    of_dimensions = several and all(_words(one) & _ASKED for one in stems)
    if of_dimensions and not made.has("dimension") and not any(one in made.frame for one in stems):
        made.set("dimension", place, f"{place[1:-1]}s are named after dimensions")
    elif several and not made.has("system") and not made.has("output_id"):
        why = "no column names systems, and there are several files"
        made.set("system", place, why, doubt=not made.has("annotator_id"))
    elif are_judges and not {"annotator_id", "evaluator"} & {*made.columns}:
        made.set("evaluator", place, f"{place[1:-1]}s are named after models (judges?)", doubt=True)
    by = ["system", "annotator_id", "dimension", "evaluator"]
    beside = [one for one in ("{file}", "{folder}", "{position}") if one in made.frame]
    if not made.has("output_id") and made.why.get("item_id", "by its name"):
        former = made.columns.pop("item_id", "")
        if not former or not _is_shared(made, former):
            names = _places(made, "text", "id", "words", "choice", "number")
            for more in ["", *beside, *reversed(_places(made, "words"))]:  # items outnumber raters
                if fits := _unique(made, [one for one in names if one != more], *by, more=more):
                    _take_likeliest(made, "item_id", fits, "identifies a row, together with system")
                    break
        if former and "item_id" not in made.columns:
            made.columns["item_id"] = former
    by = ["item_id", "output_id", *by]
    if not made.has("annotator_id") and made.by_row(*by).duplicated().any():
        names = [*beside, *_places(made, "words", "id")]
        names = [one for one in names if made.frame[one].duplicated().any()]
        fits = _unique(made, names, *by)
        is_position = fits[:1] == ["{position}"]
        why = "distinguishes rows of the same output"
        _take_likeliest(made, "annotator_id", fits, why, doubt=not is_position)
    elif several and "item_id" in made.columns and made.by_row(*by).duplicated().any():
        fits = _unique(made, [place], *by)
        _take_likeliest(made, "dimension", fits, "files have the same outputs", doubt=True)
    _doubt_places(made)


def _doubt_places(made: Guess) -> None:
    """Mark guesses from names that the cells contradict."""
    who = made.by_row("annotator_id")
    if (
        made.why.get("annotator_id")
        and len(who)
        and who["annotator_id"].str.contains(raters.MODEL).all()
    ):
        made.doubt("annotator_id", "by its name, but these are models, whose ratings are scores")
    item = made.by_row("item_id")
    for name in made.free("text") if made.why.get("item_id") and len(item) else ():
        last = re.sub("^input[.:]", "", name, flags=re.I)
        is_input = column_names.has_word(last, "source|prompt|input|question|context|article")
        if is_input and made.frame[name].groupby(item["item_id"]).nunique().max() > 1:
            made.doubt("item_id", f"one item has several values of {name}")
    systems = made.by_row("system")
    if made.why.get("system") and not systems.empty and len(systems["system"].unique()) == 1:
        made.doubt("system", "all rows have the same system")


def _map_ratings(made: Guess, asked: set[str]) -> None:
    """Decide which columns are judgments, and which are scores of evaluators."""
    who = made.has("annotator_id")
    value, scores = made.columns.pop("value", None), made.columns.pop("score", [])
    if isinstance(value, str) and "{" in value:
        _capture(made, value)
        made.answers, value = {value: ""}, None
    if not asked:
        ids = {"id", *column_names.CALLED["item_id"].split()}
        free = [one for one in made.free("number", "list") if one != value]
        scores = [one for one in free if is_metric(one)]
        rest = [one for one in free if one not in scores and plain_name(one) not in ids]
        rest = [one for one in rest if not column_names.has_word(one, _RECORDED)]
        if made.has("evaluator"):
            value, scores = None, [value] if value else scores
        elif made.has("dimension") or made.answers:
            rest = []
        elif made.has("item_id", "annotator_id") and not made.has("system") and len(rest) > 1:
            if not _words(" ".join(rest)) & _ASKED:
                made.captured["system"], made.answers, rest = rest, {"{system}": ""}, []
                made.doubt("value", "no column names systems; these may be dimensions")
        elif not who:
            human = [
                one for one in rest if _words(one) & (_ASKED | _PEOPLE) or made.kind(one) == "list"
            ]
            scores, rest = [*scores, *(one for one in rest if one not in human)], human
        rest = [one for one in rest if made.kind(one) == "list"] or rest
        if rest := _judged(made, rest):
            value = [*([value] if value else []), *rest]
        made.why.setdefault("value", "numbers from annotators")
        made.why["score"] = "numbers, but not from annotators"
        odd = [one for one in scores if not is_metric(one)]
        if odd and not made.has("evaluator"):
            shown = ", ".join(odd[:4])
            made.doubt("score", f"no column names annotators, but {shown} may be judgments")
    if isinstance(value, list) and len(value) == 1 and made.has("dimension"):
        value = value[0]
    if value:
        made.answers |= {one: one for one in value} if isinstance(value, list) else {value: ""}
    rated = sorted(used(made.names, made.answers) & {*made.names}, key=made.names.index)
    lists = any(made.kind(one) == "list" for one in rated)
    if made.answers and not made.has("annotator_id") and not lists:
        _name_annotators(made)
    _check_text(made)
    patterns = {one: said for one, said in made.answers.items() if said != one}
    for their, said in patterns.items():
        _add(made, "judgments", "value", their, {"dimension": said} if said else {})
    if wide := [one for one in made.answers if one not in patterns]:
        _add(made, "judgments", "value", wide, {})
    if scores:
        is_whole = not made.has("item_id") and not made.has("output_id") and made.has("system")
        is_whole = is_whole and not made.by_row("system").duplicated().any()
        is_whole = is_whole and made.kind(scores[0]) != "list"
        single = scores[0] if made.has("evaluator") else scores
        _add(made, "system_scores" if is_whole else "scores", "score", single, {})
    if made.has("item_id") or made.has("output_id"):
        _take_input(made, made.by_row("output_id", "item_id", "system"))
    if {"text", "context"} & {*made.columns} and made.has("system"):
        _add(made, "outputs", "text" if made.has("text") else "", made.columns.get("text"), {})


def _take_input(made: Guess, places: pd.DataFrame) -> None:
    if "context" in made.columns:
        return
    names = made.free("text", "id", "words")
    # Texts that identify items are their inputs, too.
    if (item := made.columns.get("item_id")) in made.frame:
        names = [*names, str(item)]
    if name := inputs.input_of(made.frame, names, places):
        made.set("context", name, "what systems respond to, by its name")


def _take_sides(made: Guess) -> list[tuple[str, str, str]]:
    """Find the outputs of both systems of a pair, beside the systems: patterns and columns."""
    pair = made.columns["system_a"], made.columns["system_b"]
    if not {*pair} <= {*made.frame}:
        return []
    systems, *texts = [*inputs.sided(made.free("text"), pair)] or [("", "", "")]
    outputs = [one for one in texts if inputs.is_output(one[0])]
    return [systems, outputs[-1], *texts[: texts.index(outputs[-1])][-1:]] if outputs else []


def _add_sides(made: Guess, sides: Sequence[tuple[str, str, str]]) -> None:
    """Add the outputs of both sides, if each output has one text."""
    item = made.by_row("item_id")
    if not sides or item.empty:
        return
    ours = dict(zip(("system", "text", "context"), sides, strict=False))
    rows = pd.concat(
        [
            item.assign(**{our: made.frame[one[side]] for our, one in ours.items()})
            for side in (1, 2)
        ],
        ignore_index=True,
    )
    places = rows[["item_id", "system"]]
    if not all(inputs.is_of(places, rows[our]) for our in [*ours][1:]):
        return
    for our, (pattern, *_) in ours.items():
        made.set(our, pattern, "the systems and texts of both sides")
    _take_input(made, item)
    captured = matching(sides[0][0], sides[0][1:])
    made.captured["side"] = [fit["side"] for fit in captured.values()]
    _add(made, "outputs", "text", made.columns["text"], {})
    for our in ("system", "text", "context"):
        made.columns.pop(our, None)


def _capture(made: Guess, pattern: str) -> None:
    """Record what the braces of a pattern match, in columns that are not assigned yet."""
    fits = matching(pattern, made.free("number", "list", "choice")).values()
    for key in in_braces(pattern):
        made.captured[key] = made.captured.get(key) or list(
            dict.fromkeys(fit[key] for fit in fits if key in fit)
        )


def _numbers(cells: Iterable[str]) -> list[float]:
    """Return the numbers that occur in a column, also in lists and as words of a scale."""
    words = dict.fromkeys(answers.flat(cells))
    scale = scale_of(words)
    numbers = [csv_files.number(scale.get(word, word)) for word in words]
    return [number for number in numbers if number is not None and not math.isnan(number)]


def _judged(made: Guess, names: Sequence[str]) -> list[str]:
    """Drop columns that are the same for all annotators of an output; doubt unusual numbers."""
    places = made.by_row("output_id", "item_id", "system")
    several = places.duplicated(keep=False) if len(places.columns) else pd.Series(dtype=bool)
    if several.any():
        of = [places[one][several] for one in map(str, places)]
        n = made.frame[several][list(names)].groupby(of).nunique().max()
        names = [one for one in names if n[one] > 1 or _words(one) & _ASKED]
    numbers = {one: _numbers(made.frame[one].unique()) for one in names}
    ends = {one: (min(own), max(own)) if own else (0.0, 0.0) for one, own in numbers.items()}
    sure = {ends[one] for one in names if _words(one) & _ANSWER}
    for one in [one for one in names if not _words(one) & _ANSWER]:
        is_odd = any(number % 0.5 for number in numbers[one]) or max(map(abs, ends[one])) > 100
        if is_odd or (sure and ends[one] not in sure):
            made.doubt("value", f"{one} may not be a judgment: its name and numbers are unusual")
    return list(names)


def _name_annotators(made: Guess) -> None:
    """Name annotators after rows, or give all the same name, if no column names them."""
    places = made.by_row("output_id", "item_id", "system", "dimension")
    several = len(places.columns) > 0 and places.duplicated().any()
    made.set("annotator_id", "{row}" if several else PLACEHOLDER, "no column names annotators")
    shown = ", ".join([*made.answers][:4])
    if made.why.get("value"):  # not set by a flag
        made.doubt("value", f"no column names annotators; {shown} may be scores of a program")
    elif len(made.answers) > 1 and not all(_words(one) & _ASKED for one in made.answers):
        why = f"{shown} are read as dimensions; if they are annotators, use --annotator-columns"
        made.doubt("value", why)


def _check_text(made: Guess) -> None:
    """Use as text a column with one text per output that differs between systems."""
    named = made.columns.get("text", "")
    places = made.by_row("item_id", "system")
    if made.has("text") and (named not in made.frame or not made.why["text"]):
        return
    made.columns.pop("text", None)
    for name in [named] * bool(named) + made.free("text") if len(places.columns) == 2 else ():
        rows = places.assign(text=made.frame[name]).drop_duplicates()
        differ = rows.groupby("item_id")["text"].nunique().mean() > 1
        differ |= name == named and rows["item_id"].is_unique
        if differ and not rows.duplicated(["item_id", "system"]).any():
            made.set("text", name, "by its name" if name == named else "texts differ by system")
            return
    if named and len(places.columns) < 2:
        made.columns["text"] = named


def _map_votes(made: Guess, asked: set[str]) -> None:
    """Map votes on pairs, by annotators or by judges in separate files."""
    several = len(set(made.frame["{file}"])) > 1
    named = made.columns.pop("choice", [])
    found = [named] if isinstance(named, str) else named or made.free("choice")
    if not found:
        pair = _sides(made)
        found = [n for n in made.free("words") if vote_words.may_be_names(made.frame[n], pair)]
        found = found if len(found) == 1 else []
        if found:
            made.doubt("choice", f"each cell of {found[0]} is one of the two systems, or a tie")
    marks = found if named else made.free("number", "choice")
    template, words, is_guess = vote_words.one_hot(
        made.frame[[*made.frame.columns.intersection(marks)]]
    )
    if template and (len(found) != 1 or found[0] in marks):
        found = [template]
        made.set("choice", template, "one column for each winner, marked with 1", doubt=is_guess)
        del made.columns["choice"]
        if is_guess:
            made.why["choice"] += "; rows without a mark are ties"
    of_people = not any(_words(one) & _ASKED for one in found) and not made.has("annotator_id")
    if len(found) > 1 and of_people:
        around, own = next(iter(_family(made, "choice").items()), (("", ""), {}))
        made.captured["annotator_id"] = [key for key in own if own[key] in found] or found
        made.why["choice"] = f"{', '.join(found[:4])} contain votes, of one annotator each"
        if not all(_words(one) & _WORDS["annotator"] for one in found):
            made.doubts.add("choice")
        found = [_pattern(around, "annotator_id")]
    by = ("system_a", "system_b", "annotator_id")
    sides = _take_sides(made)
    if not made.has("item_id"):
        texts = {name for one in sides for name in one[1:]}
        names = [name for name in _places(made, "text", "id", "words") if name not in texts]
        fits = _unique(made, names, *by)
        _take_likeliest(made, "item_id", fits, "identifies a row, together with systems")
        if not fits:
            row = "{file}/{row}" if several else "{row}"
            made.set("item_id", row, "no column names items: each row is an item", doubt=True)
    elif not {"annotator_id", "evaluator"} & {*made.columns, *made.captured}:
        places = made.by_row("item_id", "system_a", "system_b")
        names = [name for name in _places(made, "words", "id") if name not in found]
        if places.duplicated().any():
            fits = _unique(made, names, *places)
            _take_likeliest(made, "annotator_id", fits, "distinguishes votes on a pair", doubt=True)
    who = made.by_row("annotator_id")
    is_guess = bool(made.why.get("annotator_id")) and len(who) > 0
    if is_guess and who["annotator_id"].str.contains(raters.MODEL).all():
        why = f"{made.columns['annotator_id']} contains names of models (judges)"
        made.set("evaluator", made.columns.pop("annotator_id"), why)
    if made.why.get("evaluator") == "" and made.why.get("annotator_id"):
        del made.columns["annotator_id"]  # a flag says that judges voted
    machines = made.frame["{file}"].map(lambda one: bool(raters.MODEL.search(one))).all()
    is_judged = not made.has("annotator_id") and (made.has("evaluator") or machines)
    table = "comparisons" if is_judged and found else "preferences"
    if table == "comparisons":
        why = made.why.get("evaluator", "the file is named after a model (a judge?)")
        doubt = bool(why) and "contains names of models" not in why
        made.set("comparator", made.columns.get("evaluator", "{file}"), why, doubt=doubt)
    elif not made.has("annotator_id"):
        why = "no column names annotators"
        made.set("annotator_id", "{file}" if several else PLACEHOLDER, why, doubt=not asked)
    if found:
        words = words if found == [template] else _words_of_votes(made, found)
        changed = {word: vote for word, vote in words.items() if vote not in (word, "error")}
        fixed = {"choice": template} if found == [template] else {}
        their = found[0] if not found[1:] else found
        _add(made, table, "" if fixed else "choice", their, fixed, {"choice": changed})
        _add_sides(made, sides)


def _words_of_votes(made: Guess, names: Sequence[str]) -> dict[str, str]:
    """Map the words of votes to a, b and tie, if their meaning is clear."""
    columns = [name for name in made.names if name in used(made.names, names)]
    cells = pd.concat([made.frame[name] for name in columns])
    sides = pd.concat([_sides(made)] * len(columns))
    cells, sides = cells.reset_index(drop=True), sides.reset_index(drop=True)
    fixed = {our[-1]: sides[our].iloc[0] for our in map(str, sides) if len({*sides[our]}) == 1}
    if words := vote_words.of_boolean(columns[0], cells.unique(), fixed):
        return words
    words = vote_words.choices(cells)
    if not vote_words.may_be_names(cells, sides):
        return words
    ties = {word: side for word, side in words.items() if side == "tie"}
    if vote_words.are_ambiguous(cells, sides):
        positions = ", ".join(f"{word}: {side}" for word, side in words.items() if side != "tie")
        made.doubt(
            "choice",
            "these words are names of systems; if they are positions (first, second), write "
            f"`values: {{choice: {{{positions}}}}}`",
        )
    elif {*words.values()} >= {"a", "b"}:  # both readings agree
        return words
    return {**vote_words.NAMES, **ties}


_PLACES = ["output_id", "item_id", "system"]
_OURS = {
    "outputs": [*_PLACES, "context"],
    "judgments": [*_PLACES, "annotator_id", "dimension", "group_id"],
    "scores": [*_PLACES, "evaluator"],
    "system_scores": ["system", "evaluator"],
    "preferences": ["item_id", "system_a", "system_b", "annotator_id", "dimension", "group_id"],
    "comparisons": ["item_id", "system_a", "system_b", "comparator"],
}


def _add(
    made: Guess,
    table: str,
    measure: str,
    their: Any,
    constants: Mapping[str, str],
    values: Mapping[str, dict[str, str]] | None = None,
) -> None:
    """Add a table with the known columns and a measure."""
    known = {our: made.columns[our] for our in _OURS[table] if our in made.columns}
    if table != "outputs" and {"output_id", "text"} <= set(made.columns):
        known = {our: one for our, one in known.items() if our not in ("item_id", "system")}
    fixed = {o: one for o, one in known.items() if ("{" in one) == (one in made.frame)}
    columns = {our: one for our, one in known.items() if our not in fixed}
    columns |= {measure: their} if measure else {}
    spec: dict[str, Any] = {"columns": columns, "constants": {**fixed, **constants}}
    patterns = [one for one in columns.values() if isinstance(one, str) and "{" in one]
    captured = {key for one in patterns for key in in_braces(one)}
    named = used(made.names, [their or []]) if measure in ("value", "score") else set()
    kinds = {one: made.kind(one) for one in made.names if one in named}
    cells = [one for one, kind in kinds.items() if kind in ("number", "list")]
    if cells and kinds[cells[0]] == "list":
        spec["lists"] = [measure]
        who = columns.get("annotator_id")
        if who in made.frame and made.frame[who].map(file_types.as_list).notna().all():
            spec["lists"].append("annotator_id")
        lacks = {"item_id", "annotator_id"} - {*columns, *spec["constants"], *captured}
        lacks -= {"item_id"} if "output_id" in columns else set()
        lacks -= {"annotator_id"} if measure == "score" else set()
        spec["constants"] |= dict.fromkeys(sorted(lacks)[-1:], "{position}")
    distinct = {one: made.frame[one].unique() for one in cells}
    words = scale_of(itertools.chain(*distinct.values()))
    for name in cells:
        if lacking := answers.missing_words(answers.flat(distinct[name])):
            made.missing[name] = lacking
    spec["values"] = {measure: words} if words else dict(values or {})
    for our in {"system", "system_a", "system_b"} & {*columns, *fixed, *captured}:
        if human := _human(made, our):
            spec["values"] |= {our: {human: "human"}}
            if _words(human) & {"human", "humans"} and len(_words(human)) > 1:
                made.doubt(our, f"{human} is read as human texts because of its name")
    spec["only"] = dict(made.only)
    for key, kept in made.captured.items():
        fits = [fit for one in patterns for fit in matching(one, made.names).values()]
        if kept and {fit[key] for fit in fits if key in fit} - {*kept}:
            spec["only"][key] = kept
    made.tables.append((table, {key: one for key, one in spec.items() if one}))


def _human(made: Guess, our: str) -> str:
    """Return the one system that seems to be human but is not called human."""
    their = made.columns.get(our, "")
    names = [*matching(their, made.names)] if "{" in their else []
    cells = made.by_row(our) if their in made.frame else made.frame[names]
    systems = made.captured.get(our) or list(pd.unique(cells.to_numpy().ravel()))
    found = [one for one in systems if {plain_name(one), *_words(one)} & _WORDS["human"]]
    return found[0] if len(found) == 1 and found[0] != "human" else ""
