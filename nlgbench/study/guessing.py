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
from nlgbench.study.column_names import Flags, fill_braces, fit_pattern, in_braces, plain_name
from nlgbench.study.overview import PLACEHOLDER

#: The text before and after a key in columns' names.
Affixes = tuple[str, str]

#: Names in braces that are not columns.
_CONTEXT = ("row", "file", "folder", "position")
#: Words in columns' names, by the kind of column that they suggest.
_WORDS = {
    kind: set(line.split())
    for kind, line in {
        "annotator": "human annotator annot ann rater worker judge expert participant coder a r j",
        "system": "sys system model output response candidate hyp hypothesis generator bot",
        "question": "q question item criterion dimension aspect",
        "quality": "fluency adequacy coherence consistency relevance naturalness quality rating "
        "rank informativeness overall understandability engagingness grammaticality correctness "
        "clarity groundedness faithfulness empathy helpfulness surprise accuracy usefulness "
        "interestingness",
        "answer": "rating score value judgment judgement answer choice vote label id text",
        "human": "human humans reference references gold ground_truth",
        "people": "human humans people crowd mos",
        "input": "source src input prompt article document",
        "rater": "annotator rater worker judge expert participant coder annot",
    }.items()
}
_QUALITIES, _ANSWERS = _WORDS["quality"], _WORDS["quality"] | _WORDS["answer"]
_MEASURES = {"value", "score", "choice"}
#: What identifies a row of ratings, beside items or outputs.
_KEYS = ("system", "annotator_id", "dimension", "evaluator")
#: Table -> our columns that are not measures.
_OURS = {
    "outputs": ("output_id", "item_id", "system", "context"),
    "judgments": (*("output_id", "item_id", "system"), "annotator_id", "dimension", "group_id"),
    "scores": ("output_id", "item_id", "system", "evaluator"),
    "system_scores": ("system", "evaluator"),
    "preferences": ("item_id", *("system_a", "system_b"), "annotator_id", "dimension", "group_id"),
    "comparisons": ("item_id", "system_a", "system_b", "comparator"),
}
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
    uncertain: set[str] = field(default_factory=set)  # our columns
    captured: dict[str, list[str]] = field(default_factory=dict)  # name in braces -> its values
    answers: dict[str, str] = field(default_factory=dict)  # column or pattern -> dimension
    only: dict[str, list[str]] = field(default_factory=dict)  # which rows are read
    tables: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)  # how files are opened
    tool: str = ""  # the format of a tool that wrote the files
    kinds: dict[str, str] = field(default_factory=dict)  # of the columns examined so far
    counts: dict[str, Counter[str]] = field(default_factory=dict)  # of cells, in these columns
    missing: dict[str, list[str]] = field(default_factory=dict)  # column -> its words for this

    @property
    def names(self) -> list[str]:
        """List the files' columns."""
        return [name for name in map(str, self.frame.columns.tolist()) if "{" not in name]

    def has(self, *ours: str) -> bool:
        """Check whether all of these columns are known."""
        return {*ours} <= {*self.columns, *self.captured}

    def set(self, our: str, their: Any, why: str, *, is_uncertain: bool = False) -> None:
        """Record which column of the file is one of ours, and why."""
        if isinstance(their, str) and (cells := _filled(their, self.frame)) is not None:
            self.frame = self.frame.assign(**{their: cells})
        self.columns[our] = their
        self.why[our] = why
        self.uncertain |= {our} if is_uncertain else set()

    def doubt(self, our: str, why: str) -> None:
        """Record why a guess needs confirmation."""
        self.why[our] = why
        self.uncertain.add(our)

    def by_row(self, *ours: str) -> pd.DataFrame:
        """Return the cells of those of our columns that have one value per row of the file."""
        theirs = {our: self.columns[our] for our in ours if isinstance(self.columns.get(our), str)}
        cells = {our: self.frame.get(their) for our, their in theirs.items()}
        return pd.DataFrame({our: column for our, column in cells.items() if column is not None})

    def lacks(self, table: str, spec: Mapping[str, Any]) -> list[str]:
        """List which of item and systems a table needs, but no column reveals."""
        ours = {*spec["columns"], *spec.get("constants", {}), *self.captured}
        if "output_id" in ours:
            return []
        sides = ["system_a", "system_b"] if "system_a" in ours else ["system"]
        needs = ["system"] if table == "system_scores" else ["item_id", *sides]
        return [our for our in needs if our not in ours]

    def are_repeated(self, *ours: str) -> bool:
        """Check whether several rows have the same cells of ours."""
        return bool(self.by_row(*ours).duplicated().any())

    def free(self, *kinds: str) -> list[str]:
        """List the columns of some kinds that are not assigned yet."""
        assigned = used(self.names, [*self.columns.values(), *self.answers, *self.only])
        free = [name for name in self.names if name not in assigned]
        skipped = {*column_names.personal(free)}
        skipped |= {name for name in free if plain_name(name) in column_names.OTHER - {"id"}}
        return [name for name in free if name not in skipped and self.kind(name) in kinds]

    def kind(self, name: str) -> str:
        """Return the kind of a column, determined once."""
        if name not in self.kinds:
            # Much faster than methods of many short columns.
            self.counts[name] = Counter(self.frame[name].tolist())
            self.kinds[name] = kind_of(self.counts[name])
        return self.kinds[name]


def used(names: Sequence[str], entries: Iterable[Any]) -> set[str]:
    """List a file's columns that entries of study.yml name directly, in a list or in braces."""
    named = set()
    for entry in entries:
        for name in [entry] if isinstance(entry, str) else entry:
            inner = in_braces(name)
            named |= {name, *inner}
            if inner and name not in names and not {*inner} <= {*_CONTEXT, *names}:
                named |= {*fit_pattern(name, names)}
    return named


def _filled(template: str, frame: pd.DataFrame) -> pd.Series | None:
    """Fill the braces of a template; None if it is a column, a pattern of columns or plain text."""
    names = in_braces(template)
    if template in frame or not names or not {*names} <= {*_CONTEXT, *frame}:
        return None
    return fill_braces(template, frame.assign(**{o: frame.get(f"{{{o}}}", "") for o in _CONTEXT}))


def kind_of(counts: Mapping[str, int]) -> str:
    """Classify a column: lists, numbers (or a scale's words), choices, texts, words or ids."""
    filled = [cell for cell in counts if cell.strip()]
    if not filled:
        return ""
    is_list = all(file_types.as_list(cell) is not None for cell in filled[:50])
    elements = answers.flat(filled[:50]) if is_list else filled
    odd = [element for element in elements if _as_number(element) is None]
    is_number = len(odd) < len(elements) and len(answers.missing_words(odd)) == len({*odd})
    if is_list:
        return "list" if is_number else ""
    if is_number or scale_of(filled):
        return "number"
    votes = vote_words.choices(filled) if all(map(vote_words.meaning, filled)) else {}
    if {"a", "b"} <= set(votes.values()) and len(votes) == len(filled):
        return "choice"
    n = sum(counts[cell] for cell in filled)
    # Few odd cells among answers are errors, which `check` lists; those among ids are ids.
    if len(filled) - len(odd) <= 11 and sum(counts[cell] for cell in odd) <= n / _ODD:
        return "number"
    length = sum(len(cell) * counts[cell] for cell in filled) / n
    blanks = sum(len(re.findall(r"\s", cell)) * counts[cell] for cell in filled) / n
    if length > 30 or blanks >= 3:
        return "text"
    return "words" if len(filled) <= max(12, n / 4) else "id"


def _as_number(text: str) -> float | None:
    """Read a number; None if a text is none or empty."""
    number = csv_files.number(text)
    return None if number is None or math.isnan(number) else number


def scale_of(cells: Iterable[str]) -> dict[str, str]:
    """Map cells to numbers if they are words of a known scale, or have a number and its label."""
    cells = dict.fromkeys(cells)
    if not _LETTER.search("".join(cells)):  # numbers without labels
        return {}
    missing = answers.missing_words(cells)
    plain = {cell: answers.plain_words(cell) for cell in cells if cell not in missing}
    plain = {cell: text for cell, text in plain.items() if text}
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
            return {cell: scale[text] for cell, text in plain.items()}
    return {}


def falls(cells: Iterable[str]) -> bool:
    """Tell whether labels of numbers, such as `1 = very good`, say that lower is better."""
    fits = filter(None, (_LABELED.fullmatch(cell.strip()) for cell in cells))
    number_of = {
        answers.plain_words(re.sub(r"-?\d+", "", fit[0])): int(fit["before"] or fit["after"])
        for fit in fits
    }
    labels = sorted(number_of, key=number_of.__getitem__)
    for scale in _SCALES:
        steps = [int(scale[label]) for label in labels if label in scale]
        if len({*steps}) > 1:
            return steps[0] > steps[-1]
    return False


def with_context(frame: pd.DataFrame, file: str = "", folder: str = "") -> pd.DataFrame:
    """Add what templates may use: the names of file and folder, and the number of each row."""
    rows = [str(n + 1) for n in range(len(frame))]
    return frame.assign(**{"{file}": file, "{folder}": folder, "{row}": rows})


def specs(frame: pd.DataFrame) -> column_names.Specs:
    """Map a file's columns to tables, if there is a column of systems or outputs."""
    source = Guess(with_context(frame))
    guess(source, {})
    is_known = any(source.has(our) for our in ("system", "system_a", "output_id"))
    return dict(source.tables) if is_known else {}


def guess(source: Guess, flags: Flags) -> None:
    """Determine what the columns of a file are.

    Flags map our columns to the files' columns; of those that a flag names, those in this file
    apply. The frame's columns `{file}` and `{row}` are the names of files and the numbers of rows.
    """
    source.only = column_names.counted(source.frame)
    for name, cells in source.only.items():
        source.frame = source.frame[source.frame[name].isin(cells)].reset_index(drop=True)
        source.kinds, source.counts = {}, {}
    columns = [name for name in flags.get("annotator_columns", ()) if name in source.frame]
    has_sides = {"system_a", "system_b"} <= {*flags}
    if columns:
        source.captured["annotator_id"] = columns
        flags = {our: names for our, names in flags.items() if our != "annotator_columns"}
        flags = {**flags, "choice" if has_sides else "value": ["{annotator_id}"]}
    for our, theirs in flags.items():
        _take_flag(source, our, theirs, flags)
    is_flagged = bool(_MEASURES & {*flags})
    _take_names(source, is_flagged)
    _find_winners(source)
    pair = _sides(source)
    systems = pd.unique(pair.to_numpy().ravel())
    if len(pair.columns) == 2 and (has_sides or len(systems) <= max(2, len(pair) / 2)):
        _map_votes(source, is_flagged)
    else:
        source.columns = {o: name for o, name in source.columns.items() if o[:-1] != "system_"}
        _find_places(source)
        _map_ratings(source, is_flagged)
    _separate_models(source)


def _take_flag(source: Guess, our: str, theirs: Sequence[str], flags: Flags) -> None:
    """Apply those names in a flag that fit this file: columns, templates or patterns."""
    fitting = []
    n_ranges = sum(any(".." in name for name in names) for names in flags.values())
    for name in theirs:
        if "annotator" not in source.frame:
            name = name.replace("{annotator}", "{annotator_id}")
        if name not in source.frame and (fit := re.fullmatch(r"(.*?)(\d+)\.\.(\d+)(.*)", name)):
            key = "system" if "annotator_id" in flags else "annotator_id"
            key = "slot" if n_ranges > 1 else key
            name = f"{fit[1]}{{{key}}}{fit[4]}"
            if fit_pattern(name, source.names):
                source.captured[key] = [str(n) for n in range(int(fit[2]), int(fit[3]) + 1)]
        is_column = name in source.frame or _filled(name, source.frame) is not None
        is_pattern = "{" in name and bool(fit_pattern(name, source.names))
        if is_pattern and not is_column:
            source.captured |= {key: source.captured.get(key, []) for key in in_braces(name)}
        is_constant = our in ("system_a", "system_b") and _is_mentioned(source, name, flags)
        fitting += [name] * (is_column or is_pattern or is_constant)
    if fitting:
        is_list = our in _MEASURES and "{" not in fitting[0]
        source.set(our, fitting if is_list else fitting[0], "")


def _is_mentioned(source: Guess, system: str, flags: Flags) -> bool:
    """Check whether votes or columns' names mention a system, which is one side of all pairs."""
    votes = {cell for name in flags.get("choice", ()) for cell in source.frame.get(name, ())}
    names = [f"_{plain_name(name)}_" for name in source.names]
    plain = plain_name(system)
    return bool(plain) and (system in votes or any(f"_{plain}_" in name for name in names))


def _take_names(source: Guess, is_flagged: bool) -> None:
    """Assign the columns that have usual names; with a flag for the answers, others are none."""
    # Votes may be in several columns that are not named after votes.
    sides = column_names.recognized([*source.names, "choice"])
    sides = {our: name for our, name in sides.items() if our[:-1] == "system_"}
    skipped = {"severity", "category"} | ({"value", "choice", "evaluator"} if is_flagged else set())
    for our, name in (sides | column_names.recognized(source.names)).items():
        is_free = our not in source.columns and name not in source.columns.values()
        if our not in skipped and name in source.frame and is_free:
            source.set(our, name, "by its name")


def _find_winners(source: Guess) -> None:
    """Read columns of the chosen and the rejected system as pairs with a winner."""
    plain = {plain_name(name): name for name in source.names}
    for end in ("", "_system", "_model"):
        won, lost = plain.get(f"chosen{end}"), plain.get(f"rejected{end}")
        if won and lost and not source.has("system_a") and not source.has("choice"):
            why = f"{won} won against {lost}; the order in which they were shown is unknown"
            for our, name in {"system_a": won, "system_b": lost, "choice": won}.items():
                source.set(our, name, why)


def _sides(source: Guess) -> pd.DataFrame:
    """Return each row's two systems, of which one may be the same in all rows."""
    named = [our for our in ("system_a", "system_b") if our in source.columns]
    sides = {our: source.frame.get(source.columns[our], source.columns[our]) for our in named}
    return pd.DataFrame(sides, source.frame.index)


def _separate_models(source: Guess) -> None:
    """Split tables whose annotators include models."""
    names = source.free("words", "choice")
    tables, source.tables = source.tables, []
    for table, spec in tables:
        separate = raters.split(table, spec, source.frame, names)
        source.tables += separate or [(table, spec)]
        if separate:
            (column, machines), *_ = separate[0][1]["skip"].items()
            why = f"models, not people, in {column}: {', '.join(machines[:3])}"
            for our in ("evaluator", "comparator"):
                source.set(our, column, why, is_uncertain=True)


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", plain_name(name)))


def _is_quality(name: str) -> bool:
    """Check whether a column is named after a quality, such as fluency."""
    return bool(_words(name) & _QUALITIES)


def is_metric(name: str) -> bool:
    """Check whether a column is named after an automatic metric."""
    return bool(_METRIC.search(plain_name(name))) and not _is_quality(name)


def _tokens(name: str) -> list[str]:
    return re.findall(r"\d+|[^\W\d_]+|[\W_]+", name)


def _splits(name: str) -> Iterator[tuple[Affixes, str]]:
    """Split a name, in every possible way, into a key and the text before and after it."""
    tokens = _tokens(name)
    positions = [position for position, token in enumerate(tokens) if token[0].isalnum()][:8]
    for start, end in itertools.combinations_with_replacement(positions, 2):
        affixes = "".join(tokens[:start]), "".join(tokens[end + 1 :])
        if any(affixes):
            yield affixes, "".join(tokens[start : end + 1])


def _adjacent(affixes: Affixes) -> set[str]:
    """Return the words directly before and after a key."""
    return {plain_name(affixes[0]).split("_")[-1], plain_name(affixes[1]).split("_")[0]}


def _family(source: Guess, *kinds: str) -> dict[Affixes, dict[str, str]]:
    """Find columns of one kind whose names differ only in a key: text around -> key -> column."""
    kind = {name: source.kind(name) for name in source.free(*kinds) if not is_metric(name)}
    fields: dict[tuple[Affixes, bool], dict[str, str]] = {}
    for name in kind:
        for affixes, key in _splits(name):
            is_mixed = re.match(r"\d+[\W_]+[^\W\d]", key)  # such as `1 fluency`
            if not is_mixed and not _words(key) & _ANSWERS:
                fields.setdefault((affixes, key.isdigit()), {})[key] = name
    groups: dict[frozenset[str], dict[Affixes, dict[str, str]]] = {}
    for (affixes, _), columns in fields.items():
        if len(columns) > 1 and len({kind[name] for name in columns.values()}) == 1:
            groups.setdefault(frozenset(columns), {})[affixes] = columns

    def likelihood(keys: frozenset[str]) -> tuple[bool, bool, int, int]:
        is_numbered = all(key.isdigit() for key in keys)
        of_annotators = any(_adjacent(affixes) & _WORDS["annotator"] for affixes in groups[keys])
        size = len(keys) * len(groups[keys])
        return is_numbered and of_annotators, is_numbered, size, -sum(map(len, keys))

    return groups[max(groups, key=likelihood)] if groups else {}


def _content(source: Guess, affixes: Affixes, columns: Mapping[str, str]) -> str:
    """Return the kind of a family's field, or "system" if its columns share their few words."""
    kind = source.kind(next(iter(columns.values())))
    sets = [set(source.frame[name]) - {""} for name in columns.values()]
    recurs = sum(map(len, sets)) >= 1.5 * len(set().union(*sets)) > 1.5
    if recurs and kind in ("words", "id"):
        return "system"
    return "" if plain_name(affixes[1]).split("_")[-1] == "id" else kind  # writer_id is no answer


def _take_family(source: Guess, fields: dict[Affixes, dict[str, str]]) -> None:
    """Decide whether a family's key is a system, an annotator or a slot, and assign its columns."""
    content = {affixes: _content(source, affixes, fields[affixes]) for affixes in fields}
    rated, texts, systems = (
        [affixes for kind in kinds for affixes in fields if content[affixes] == kind]
        for kinds in (("number", "list"), ("text",), ("system",))
    )
    adjacent = set().union(*map(_adjacent, rated))
    has_annotator, has_system = source.has("annotator_id"), source.has("system")
    examples = ", ".join([*fields[(rated or texts or list(fields))[0]].values()][:6])
    is_uncertain = False
    if systems and not has_system and (rated or texts):
        first = next(iter(fields[systems[0]].values()))
        key, why = "slot", f"{first} and similar columns have the same values"
        source.set("system", _pattern(systems[0], key), why)
    elif rated and adjacent & _WORDS["annotator"] and not has_annotator:
        rated = [affixes for affixes in rated if _adjacent(affixes) & _WORDS["annotator"]]
        keys = fields[rated[0]]
        key, why = "annotator_id", f"{', '.join(keys.values())} are named after annotators"
        is_short = all(len(name) < 3 or name.isdigit() for name in keys)
        is_uncertain = not (adjacent & _WORDS["rater"] or is_short)
        why += "; they may be dimensions" * is_uncertain
    elif not has_system and (texts or (rated and has_annotator)):
        keys = {key: name for columns in fields.values() for key, name in columns.items()}
        is_named = not any(name.isdigit() for name in keys)
        is_uncertain = not texts
        is_uncertain &= not adjacent & (_WORDS["system"] | (_ANSWERS if is_named else set()))
        key, why = "system", f"{examples} differ in one word"
        why += "; they may be dimensions" * is_uncertain
        odd = [name for name in keys if _words(name) & (_WORDS["input"] | _WORDS["human"])]
        if odd:
            is_uncertain, why = True, f"{why}; {', '.join(odd)} may be no system"
    elif rated and has_system and not has_annotator and not adjacent & _WORDS["question"]:
        key, why = "annotator_id", f"{examples} differ in one word; they may be questions"
        is_uncertain = True
    else:
        return
    source.captured[key] = list(next(iter(fields.values())))
    if texts and key != "annotator_id":
        first = next(iter(fields[texts[0]].values()))
        source.set("text", _pattern(texts[0], key), f"texts, as in {first}")
    single = {_pattern(affixes, key): _dimension(affixes) for affixes in rated}
    source.answers = _joint(source, rated, key) or single
    source.why["value"] = why
    source.uncertain |= {"value"} if is_uncertain else set()


def _pattern(affixes: Affixes, key: str) -> str:
    return f"{affixes[0]}{{{key}}}{affixes[1]}"


def _dimension(affixes: Affixes) -> str:
    """Name a family's dimension after the words in its columns' names."""
    general = _WORDS["annotator"] | _WORDS["system"] | _WORDS["answer"]
    tokens = [word for word in plain_name(" ".join(affixes)).split("_") if len(word) > 1]
    return "_".join(word for word in tokens if word not in general)


def _joint(source: Guess, rated: Sequence[Affixes], key: str) -> dict[str, str]:
    """Write several fields of a family as one pattern; empty if its braces would touch."""
    for side in (0, 1) if len(rated) > 1 else ():
        tokens = [_tokens(affixes[side]) for affixes in rated]
        start = os.path.commonprefix(tokens)  # noqa: RUF071, of words
        ends = [name_tokens[len(start) :][::-1] for name_tokens in tokens]
        end = os.path.commonprefix(ends)[::-1]  # noqa: RUF071
        names = ["".join(name_tokens[::-1][: len(name_tokens) - len(end)]) for name_tokens in ends]
        same, *more = {affixes[1 - side] for affixes in rated}
        if more or not all(names) or not [end, start][side]:
            continue
        is_system = key == "annotator_id" and not source.has("system") and not {*names} & _QUALITIES
        inner = "system" if is_system else "dimension"
        varied = f"{''.join(start)}{{{inner}}}{''.join(end)}"
        joint = _pattern((varied, same) if side == 0 else (same, varied), key)
        keys = {before + k + after: k for before, after in rated for k in source.captured[key]}
        fits = fit_pattern(joint, keys)
        if {name: captured[key] for name, captured in fits.items()} == keys:
            source.captured[inner] = names
            return {joint: ""}
    return {}


def _take_unique(
    source: Guess,
    our: str,
    names: Sequence[str],
    keys: Sequence[str],
    why: str,
    *,
    more: str = "",
    is_uncertain: bool = False,
) -> bool:
    """Assign the first column that makes rows unique, with keys (ours) and `more` (of the file)."""
    cells = source.by_row(*keys).assign(**{"more": source.frame[more]} if more else {})
    groupings: dict[tuple[int, ...], str] = {}  # of equal ones, the first column
    for name in names:
        is_unique = not cells.assign(new=source.frame[name]).duplicated().any()
        if is_unique and ("item_id" in keys or _is_shared(source, name)):
            groupings.setdefault(tuple(pd.factorize(source.frame[name])[0]), name)
    repeated = [name for name in groupings.values() if source.frame[name].duplicated().any()]
    if fits := repeated or list(groupings.values()):
        also = f"; alternatives: {', '.join(fits[1:4])}" if fits[1:] else ""
        is_uncertain = bool(also) or (is_uncertain and fits[0] != "{position}")
        source.set(our, fits[0], why + also, is_uncertain=is_uncertain)
    return bool(fits)


def _is_shared(source: Guess, item: str) -> bool:
    """Check whether items have outputs of several systems."""
    system = source.by_row("system")
    return system.empty or system.groupby(source.frame[item])["system"].nunique().mean() > 1.5


def _id_columns(source: Guess, *kinds: str) -> list[str]:
    """List the columns that may be ids of items or annotators, those with most values first."""
    names = [name for name in source.free(*kinds) if not is_metric(name) and not _is_quality(name)]
    names = [name for name in names if not column_names.has_word(name, _RECORDED)]
    cells = {name: source.frame[name] for name in names}
    n_values = {name: len(cells[name].unique()) for name in names}
    names = [name for name in names if n_values[name] > 1]
    names = [name for name in names if cells[name].str.strip().ne("").all()]
    names = [name for name in names if not cells[name].str.fullmatch(r"-?\d*\.\d+").any()]
    return sorted(names, key=lambda name: (source.kind(name) == "number", -n_values[name]))


def _find_places(source: Guess) -> None:
    """Find systems, items and annotators that columns' names do not reveal."""
    kinds = ("number", "list", "text", "words", "id")
    if fields := {} if source.has("system", "annotator_id") else _family(source, *kinds):
        _take_family(source, fields)
    # Files in several folders may have the same name.
    has_folders = not _has_several(source, "{file}") and "{folder}" in source.frame
    origin = "{folder}" if has_folders else "{file}"
    has_several = _has_several(source, origin)
    if has_several:
        _take_files(source, origin)
    context = [name for name in ("{file}", "{folder}", "{position}") if name in source.frame]
    if not source.has("output_id") and source.why.get("item_id", "by its name"):
        _find_items(source, context)
    keys = ["item_id", "output_id", *_KEYS]
    if not source.has("annotator_id") and source.are_repeated(*keys):
        names = [*context, *_id_columns(source, "words", "id")]
        names = [name for name in names if source.frame[name].duplicated().any()]
        why = "distinguishes rows of the same output"
        _take_unique(source, "annotator_id", names, keys, why, is_uncertain=True)
    elif has_several and "item_id" in source.columns and source.are_repeated(*keys):
        why = "files have the same outputs"
        _take_unique(source, "dimension", [origin], keys, why, is_uncertain=True)
    _doubt_places(source)


def _has_several(source: Guess, column: str) -> bool:
    return len(source.frame[column].unique()) > 1


def _take_files(source: Guess, origin: str) -> None:
    """Take the names of several files, or folders, as dimensions, systems or judges."""
    stems, kind = list(source.frame[origin].unique()), origin[1:-1]
    are_judges = all(map(raters.MODEL.search, stems))
    of_dimensions = all(map(_is_quality, stems)) and not any(name in source.frame for name in stems)
    if of_dimensions and not source.has("dimension"):
        source.set("dimension", origin, f"{kind}s are named after dimensions")
    elif not source.has("system") and not source.has("output_id"):
        why = "no column names systems, and there are several files"
        source.set("system", origin, why, is_uncertain=not source.has("annotator_id"))
    elif are_judges and not {"annotator_id", "evaluator"} & {*source.columns}:
        why = f"{kind}s are named after models (judges?)"
        source.set("evaluator", origin, why, is_uncertain=True)


def _find_items(source: Guess, context: Sequence[str]) -> None:
    """Find the column of items, unless the one with a usual name has several systems per item."""
    named = source.columns.pop("item_id", "")
    if not named or not _is_shared(source, named):
        names = _id_columns(source, "text", "id", "words", "choice", "number")
        # Items outnumber annotators.
        why = "identifies a row, together with system"
        for more in ["", *context, *reversed(_id_columns(source, "words"))]:
            others = [name for name in names if name != more]
            if _take_unique(source, "item_id", others, _KEYS, why, more=more):
                break
    if named:
        source.columns.setdefault("item_id", named)


def _doubt_places(source: Guess) -> None:
    """Mark guesses from names that the cells contradict."""
    if source.why.get("annotator_id") and _are_models(source):
        why = "by its name, but these are models, whose ratings are scores"
        source.doubt("annotator_id", why)
    item = source.by_row("item_id")
    for name in source.free("text") if source.why.get("item_id") and len(item) else ():
        last = re.sub("^input[.:]", "", name, flags=re.I)
        is_input = column_names.has_word(last, "source|prompt|input|question|context|article")
        if is_input and source.frame[name].groupby(item["item_id"]).nunique().max() > 1:
            source.doubt("item_id", f"one item has several values of {name}")
    systems = source.by_row("system")
    if source.why.get("system") and not systems.empty and len(systems["system"].unique()) == 1:
        source.doubt("system", "all rows have the same system")


def _are_models(source: Guess) -> bool:
    """Check whether all annotators that a column names are models."""
    who = source.by_row("annotator_id")
    return len(who) > 0 and bool(who["annotator_id"].str.contains(raters.MODEL).all())


def _map_ratings(source: Guess, is_flagged: bool) -> None:
    """Add tables of judgments, of scores and of outputs."""
    value, scores = source.columns.pop("value", None), source.columns.pop("score", [])
    if isinstance(value, str) and "{" in value:
        fits = fit_pattern(value, source.free("number", "list", "choice")).values()
        for key in in_braces(value):
            keys = list(dict.fromkeys(fit[key] for fit in fits if key in fit))
            source.captured[key] = source.captured.get(key) or keys
        source.answers, value = {value: ""}, None
    if not is_flagged:
        value, scores = _guess_measures(source, value)
    if isinstance(value, list) and len(value) == 1 and source.has("dimension"):
        value = value[0]
    if value:
        is_wide = isinstance(value, list)
        source.answers |= {name: name for name in value} if is_wide else {value: ""}
    is_list = any(source.kind(name) == "list" for name in _in_frame(source, source.answers))
    if source.answers and not source.has("annotator_id") and not is_list:
        _name_annotators(source)
    _check_text(source)
    for their, dimension in source.answers.items():
        if dimension != their:
            _add(source, "judgments", "value", their, {"dimension": dimension} if dimension else {})
    if wide := [their for their, dimension in source.answers.items() if dimension == their]:
        _add(source, "judgments", "value", wide, {})
    if scores:
        is_whole = source.has("system") and not source.are_repeated("system")
        is_whole &= not source.has("item_id") and not source.has("output_id")
        is_whole &= not any(source.kind(name) == "list" for name in _in_frame(source, [scores]))
        their = scores[0] if source.has("evaluator") else scores
        _add(source, "system_scores" if is_whole else "scores", "score", their, {})
    if source.has("item_id") or source.has("output_id"):
        _take_input(source, source.by_row("output_id", "item_id", "system"))
    if {"text", "context"} & {*source.columns} and source.has("system"):
        text = source.columns.get("text")
        _add(source, "outputs", "text" if source.has("text") else "", text, {})


def _in_frame(source: Guess, entries: Iterable[Any]) -> list[str]:
    """List the columns that entries of study.yml name, in the file's order."""
    named = used(source.names, entries)
    return [name for name in source.names if name in named]


def _guess_measures(source: Guess, value: str | None) -> tuple[Any, list[str]]:
    """Guess which columns of numbers are judgments, like `value`, and which are scores."""
    ids = {"id", *column_names.CALLED["item_id"].split()}
    free = [name for name in source.free("number", "list") if name != value]
    scores = [name for name in free if is_metric(name)]
    numbers = [name for name in free if name not in scores and plain_name(name) not in ids]
    numbers = [name for name in numbers if not column_names.has_word(name, _RECORDED)]
    places = {our for our in ("item_id", "annotator_id", "system") if source.has(our)}
    are_systems = places == {"item_id", "annotator_id"} and len(numbers) > 1
    # What numbers without a usual name are: the first rule that applies.
    rules = {
        "rated by evaluators": source.has("evaluator"),
        "unread": source.has("dimension") or bool(source.answers),
        "systems": are_systems and not any(map(_is_quality, numbers)),
        "scores": "annotator_id" not in places,
        "judgments": True,
    }
    rule = next(rule for rule, applies in rules.items() if applies)
    if rule == "rated by evaluators":
        value, scores = None, [value] if value else scores
    elif rule == "systems":
        source.captured["system"], source.answers = numbers, {"{system}": ""}
        source.doubt("value", "no column names systems; these may be dimensions")
    elif rule == "scores":
        telling = _QUALITIES | _WORDS["people"]
        judged = [name for name in numbers if _words(name) & telling or source.kind(name) == "list"]
        scores, numbers = [*scores, *(name for name in numbers if name not in judged)], judged
    if rule in ("unread", "systems"):
        numbers = []
    numbers = [name for name in numbers if source.kind(name) == "list"] or numbers
    judged = _judged(source, numbers) if numbers else []
    source.why.setdefault("value", "numbers from annotators")
    source.why["score"] = "numbers, but not from annotators"
    odd = [name for name in scores if not is_metric(name)]
    if odd and not source.has("evaluator"):
        examples = ", ".join(odd[:4])
        source.doubt("score", f"no column names annotators, but {examples} may be judgments")
    return [*([value] if value else []), *judged] if judged else value, scores


def _take_input(source: Guess, places: pd.DataFrame) -> None:
    if "context" in source.columns:
        return
    names = source.free("text", "id", "words")
    # Texts that identify items are their inputs, too.
    if (item := source.columns.get("item_id")) in source.frame:
        names = [*names, str(item)]
    if name := inputs.input_of(source.frame, names, places):
        source.set("context", name, "what systems respond to, by its name")


def _take_sides(source: Guess) -> list[tuple[str, str, str]]:
    """Find the outputs of both systems of a pair, beside the systems: patterns and columns."""
    pair = source.columns["system_a"], source.columns["system_b"]
    if not {*pair} <= {*source.frame}:
        return []
    systems, *texts = [*inputs.sided(source.free("text"), pair)] or [("", "", "")]
    outputs = [fields for fields in texts if inputs.is_output(fields[0])]
    return [systems, outputs[-1], *texts[: texts.index(outputs[-1])][-1:]] if outputs else []


def _add_sides(source: Guess, sides: Sequence[tuple[str, str, str]]) -> None:
    """Add the outputs of both sides, if each output has one text."""
    item = source.by_row("item_id")
    if not sides or item.empty:
        return
    ours = dict(zip(("system", "text", "context"), sides, strict=False))
    of_sides = (source.frame[[names[side] for names in ours.values()]] for side in (1, 2))
    cells = [item.join(frame.set_axis([*ours], axis=1)) for frame in of_sides]
    rows = pd.concat(cells, ignore_index=True)
    if not all(inputs.is_of(rows[["item_id", "system"]], rows[our]) for our in [*ours][1:]):
        return
    for our, (pattern, *_) in ours.items():
        source.set(our, pattern, "the systems and texts of both sides")
    _take_input(source, item)
    captured = fit_pattern(sides[0][0], sides[0][1:])
    source.captured["side"] = [fit["side"] for fit in captured.values()]
    _add(source, "outputs", "text", source.columns["text"], {})
    for our in ("system", "text", "context"):
        source.columns.pop(our, None)


def _numbers(cells: Iterable[str]) -> list[float]:
    """Return the numbers that occur in a column, also in lists and as words of a scale."""
    texts = dict.fromkeys(answers.flat(cells))
    scale = scale_of(texts)
    return [n for word in texts if (n := _as_number(scale.get(word, word))) is not None]


def _judged(source: Guess, names: Sequence[str]) -> list[str]:
    """Drop columns that are the same for all annotators of an output; doubt unusual numbers."""
    places = source.by_row("output_id", "item_id", "system")
    is_repeated = places.duplicated(keep=False) if len(places.columns) else pd.Series(dtype=bool)
    if is_repeated.any():
        keys = [places[our][is_repeated] for our in map(str, places)]
        n_values = source.frame[is_repeated][list(names)].groupby(keys).nunique().max()
        names = [name for name in names if n_values[name] > 1 or _is_quality(name)]
    numbers = {name: _numbers(source.counts[name]) or [0.0] for name in names}
    ends = {name: (min(cells), max(cells)) for name, cells in numbers.items()}
    clear = {name for name in names if _words(name) & _ANSWERS}
    usual = {ends[name] for name in clear}
    for name in [name for name in names if name not in clear]:
        is_odd = any(number % 0.5 for number in numbers[name]) or max(map(abs, ends[name])) > 100
        if is_odd or (usual and ends[name] not in usual):
            source.doubt("value", f"{name} may not be a judgment: its name and numbers are unusual")
    return list(names)


def _name_annotators(source: Guess) -> None:
    """Name annotators after rows, or give all the same name, if no column names them."""
    is_repeated = source.are_repeated("output_id", "item_id", "system", "dimension")
    their = "{row}" if is_repeated else PLACEHOLDER
    source.set("annotator_id", their, "no column names annotators")
    examples = ", ".join([*source.answers][:4])
    if source.why.get("value"):  # not set by a flag
        source.doubt("value", f"no column names annotators; {examples} may be scores of a program")
    elif len(source.answers) > 1 and not all(map(_is_quality, source.answers)):
        why = f"{examples} are read as dimensions; if they are annotators, use --annotator-columns"
        source.doubt("value", why)


def _check_text(source: Guess) -> None:
    """Use as text a column with one text per output that differs between systems."""
    named = source.columns.get("text", "")
    places = source.by_row("item_id", "system")
    if source.has("text") and (named not in source.frame or not source.why["text"]):
        return
    source.columns.pop("text", None)
    for name in [named] * bool(named) + source.free("text") if len(places.columns) == 2 else ():
        rows = places.assign(text=source.frame[name]).drop_duplicates()
        differ = rows.groupby("item_id")["text"].nunique().mean() > 1
        differ |= name == named and rows["item_id"].is_unique
        if differ and inputs.is_of(places, source.frame[name]):
            source.set("text", name, "by its name" if name == named else "texts differ by system")
            return
    if named and len(places.columns) < 2:
        source.columns["text"] = named


def _map_votes(source: Guess, is_flagged: bool) -> None:
    """Map votes on pairs, by annotators or by judges in separate files."""
    has_several = _has_several(source, "{file}")
    choices, template, meanings = _find_choices(source)
    sides = _take_sides(source)
    _find_keys_of_votes(source, choices, [name for fields in sides for name in fields[1:]])
    if source.why.get("annotator_id") and _are_models(source):
        why = f"{source.columns['annotator_id']} contains names of models (judges)"
        source.set("evaluator", source.columns.pop("annotator_id"), why)
    if source.why.get("evaluator") == "" and source.why.get("annotator_id"):
        del source.columns["annotator_id"]  # a flag says that judges voted
    machines = all(map(raters.MODEL.search, source.frame["{file}"].unique()))
    is_judged = not source.has("annotator_id") and (source.has("evaluator") or machines)
    table = "comparisons" if is_judged and choices else "preferences"
    if table == "comparisons":
        why = source.why.get("evaluator", "the file is named after a model (a judge?)")
        is_uncertain = bool(why) and "contains names of models" not in why
        their = source.columns.get("evaluator", "{file}")
        source.set("comparator", their, why, is_uncertain=is_uncertain)
    elif not source.has("annotator_id"):
        their, why = "{file}" if has_several else PLACEHOLDER, "no column names annotators"
        source.set("annotator_id", their, why, is_uncertain=not is_flagged)
    if choices:
        meanings = meanings if template else _words_of_votes(source, choices)
        changed = {word: vote for word, vote in meanings.items() if vote not in (word, "error")}
        their = choices[0] if len(choices) == 1 else choices
        fixed = {"choice": template} if template else {}
        _add(source, table, "" if fixed else "choice", their, fixed, choice=changed)
        _add_sides(source, sides)


def _find_choices(source: Guess) -> tuple[list[str], str, dict[str, str]]:
    """Find the columns or patterns of votes; for one-hot columns, a template and its meanings."""
    named = source.columns.pop("choice", [])
    choices = [named] if isinstance(named, str) else named or source.free("choice")
    if not choices:
        pair = _sides(source)
        names = source.free("words")
        choices = [name for name in names if vote_words.may_be_names(source.frame[name], pair)]
        choices = choices if len(choices) == 1 else []
        if choices:
            why = f"each cell of {choices[0]} is one of the two systems, or a tie"
            source.doubt("choice", why)
    marks = choices if named else source.free("number", "choice")
    marked = source.frame[source.frame.columns.intersection(marks)]
    template, meanings, is_guess = vote_words.one_hot(marked)
    if template and (len(choices) != 1 or choices[0] in marks):
        why = "one column for each winner, marked with 1"
        why += "; rows without a mark are ties" * is_guess
        source.set("choice", template, why, is_uncertain=is_guess)
        del source.columns["choice"]
        return [template], template, meanings
    of_people = not any(map(_is_quality, choices)) and not source.has("annotator_id")
    if len(choices) > 1 and of_people:
        affixes, columns = next(iter(_family(source, "choice").items()), (("", ""), {}))
        keys = [key for key, name in columns.items() if name in choices]
        source.captured["annotator_id"] = keys or choices
        source.why["choice"] = f"{', '.join(choices[:4])} contain votes, of one annotator each"
        if not all(_words(name) & _WORDS["annotator"] for name in choices):
            source.uncertain.add("choice")
        choices = [_pattern(affixes, "annotator_id")]
    return choices, "", {}


def _find_keys_of_votes(source: Guess, choices: Sequence[str], texts: Sequence[str]) -> None:
    """Find the column of items, or else of annotators."""
    if not source.has("item_id"):
        names = [name for name in _id_columns(source, "text", "id", "words") if name not in texts]
        keys = ("system_a", "system_b", "annotator_id")
        why = "identifies a row, together with systems"
        if not _take_unique(source, "item_id", names, keys, why):
            row = "{file}/{row}" if _has_several(source, "{file}") else "{row}"
            why = "no column names items: each row is an item"
            source.set("item_id", row, why, is_uncertain=True)
    elif not {"annotator_id", "evaluator"} & {*source.columns, *source.captured}:
        pair = ("item_id", "system_a", "system_b")
        names = [name for name in _id_columns(source, "words", "id") if name not in choices]
        if source.are_repeated(*pair):
            why = "distinguishes votes on a pair"
            _take_unique(source, "annotator_id", names, pair, why, is_uncertain=True)


def _words_of_votes(source: Guess, names: Sequence[str]) -> dict[str, str]:
    """Map the words of votes to a, b and tie, if their meaning is clear."""
    columns = _in_frame(source, names)
    cells = pd.concat([source.frame[name] for name in columns])
    sides = pd.concat([_sides(source)] * len(columns))
    cells, sides = cells.reset_index(drop=True), sides.reset_index(drop=True)
    fixed = {our[-1]: sides[our].iloc[0] for our in map(str, sides) if len({*sides[our]}) == 1}
    if meanings := vote_words.of_boolean(columns[0], cells.unique(), fixed):
        return meanings
    meanings = vote_words.choices(cells)
    if not vote_words.may_be_names(cells, sides):
        return meanings
    ties = {word: side for word, side in meanings.items() if side == "tie"}
    if vote_words.are_ambiguous(cells, sides):
        clear = ", ".join(f"{word}: {side}" for word, side in meanings.items() if side != "tie")
        why = "these words are names of systems; if they are positions (first, second), write "
        source.doubt("choice", f"{why}`values: {{choice: {{{clear}}}}}`")
    elif {*meanings.values()} >= {"a", "b"}:  # both readings agree
        return meanings
    return {**vote_words.NAMES, **ties}


def _add(
    source: Guess, table: str, measure: str, their: Any, constants: Mapping[str, str], **values: Any
) -> None:
    """Add a table with the known columns and a measure."""
    theirs = {our: source.columns[our] for our in _OURS[table] if our in source.columns}
    if table != "outputs" and {"output_id", "text"} <= set(source.columns):
        theirs = {our: name for our, name in theirs.items() if our not in ("item_id", "system")}
    fixed = {o: name for o, name in theirs.items() if ("{" in name) == (name in source.frame)}
    columns = {our: name for our, name in theirs.items() if our not in fixed}
    columns |= {measure: their} if measure else {}
    spec: dict[str, Any] = {"columns": columns, "constants": {**fixed, **constants}}
    patterns = [name for name in columns.values() if isinstance(name, str) and "{" in name]
    captured = {key for pattern in patterns for key in in_braces(pattern)}
    spec["values"] = values
    if measure in ("value", "score"):
        _describe_numbers(source, spec, measure, captured)
    for our in {"system", "system_a", "system_b"} & {*columns, *fixed, *captured}:
        if human := _human(source, our):
            spec["values"] |= {our: {human: "human"}}
            if _words(human) & {"human", "humans"} and len(_words(human)) > 1:
                source.doubt(our, f"{human} is read as human texts because of its name")
    spec["only"] = dict(source.only)
    for key, keys in source.captured.items():
        fits = [fit for name in patterns for fit in fit_pattern(name, source.names).values()]
        if keys and {fit[key] for fit in fits if key in fit} - {*keys}:
            spec["only"][key] = keys
    source.tables.append((table, {key: entry for key, entry in spec.items() if entry}))


def _describe_numbers(
    source: Guess, spec: dict[str, Any], measure: str, captured: set[str]
) -> None:
    """Add what the cells of a measure are: lists, words of a scale, words for a missing value."""
    columns = spec["columns"]
    names = _in_frame(source, [columns[measure]])
    names = [name for name in names if source.kind(name) in ("number", "list")]
    cells = {name: answers.flat(source.counts[name]) for name in names}
    if names and source.kind(names[0]) == "list":
        spec["lists"] = [measure]
        who = columns.get("annotator_id")
        if who in source.frame and source.frame[who].map(file_types.as_list).notna().all():
            spec["lists"].append("annotator_id")
        lacks = {"item_id", "annotator_id"} - {*columns, *spec["constants"], *captured}
        lacks -= {"item_id"} if "output_id" in columns else set()
        lacks -= {"annotator_id"} if measure == "score" else set()
        spec["constants"] |= dict.fromkeys(sorted(lacks)[-1:], "{position}")
    scale = scale_of(itertools.chain(*(source.counts[name] for name in names)))
    spec["values"] |= {measure: scale} if scale else {}
    for name, distinct in cells.items():
        if missing := answers.missing_words(distinct):
            source.missing[name] = missing


def _human(source: Guess, our: str) -> str:
    """Return the one system that seems to be human but is not called human."""
    their = source.columns.get(our, "")
    names = [*fit_pattern(their, source.names)] if "{" in their else []
    cells = source.by_row(our) if their in source.frame else source.frame[names]
    systems = source.captured.get(our) or list(pd.unique(cells.to_numpy().ravel()))
    humans = [name for name in systems if {plain_name(name), *_words(name)} & _WORDS["human"]]
    return humans[0] if len(humans) == 1 and humans[0] != "human" else ""
