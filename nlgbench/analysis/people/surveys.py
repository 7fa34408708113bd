"""Surveys: outputs laid out on pages for a crowd, and the crowd's answers read back."""

from __future__ import annotations

import html
import json
import math
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nlgbench import files
from nlgbench.names import brief, did_you_mean
from nlgbench.study import Study, csv_files, schema
from nlgbench.study.checks import checked
from nlgbench.study.csv_files import TableError

Kind = Literal["likert", "pairwise", "real-or-fake", "typicality"]

#: Kind -> the dimension of its answers where none is named, the question, and what can be answered.
_ASKED: dict[str, tuple[str, str, dict[str, str]]] = {
    "likert": (
        "quality",
        "How good is it in this respect: {dimension}?",
        {"1": "very poor", "2": "poor", "3": "fair", "4": "good", "5": "very good"},
    ),
    "pairwise": (
        "quality",
        "Which is better in this respect: {dimension}?",
        {"a": "A is better", "b": "B is better", "tie": "no difference"},
    ),
    "real-or-fake": (
        "real_or_fake",
        "Who do you think wrote it?",
        {"1": "a person", "0": "a computer program"},
    ),
    "typicality": (
        "typicality",
        "How usual would it be to meet such a text here?",
        {
            "0": "impossible (wrong, or without sense)",
            "1": "very unusual",
            "2": "rather unusual",
            "3": "neither usual nor unusual",
            "4": "rather usual",
            "5": "very usual",
        },
    ),
}
_KEY = [
    *("page", "slot", "answer", "kind", "dimension"),
    *("output_a", "output_b", "choices", "expected"),
]
#: Headers under which platforms give what is read; the rest of a file is never looked at.
_PAGE = ("Input.page", "page")
_WORKER = ("WorkerId", "worker", "worker_id", "Participant id", "participant_id", "PROLIFIC_PID")
_STATUS = ("AssignmentStatus", "status", "Status")
_DONE = {"", "approved", "submitted", "awaiting review", "completed"}


@dataclass(frozen=True, eq=False)
class Answers:
    """What a crowd answered.

    Parameters
    ----------
    judgments, preferences : DataFrame or None
        As a `Study` takes them; that which the survey did not ask for is None. ``group_id`` is the
        page.
    counts : DataFrame
        ``what``, ``submissions`` and ``answers``: first those that are ``kept``, then what was set
        aside, by reason. A submission is one worker's page; a blank counts as an answer.
    """

    judgments: pd.DataFrame | None
    preferences: pd.DataFrame | None
    counts: pd.DataFrame


@checked
def export_survey(
    study: Study,
    folder: str | os.PathLike,
    *,
    kind: Kind,
    dimensions: Sequence[str] | None = None,
    per_output: int = 3,
    per_page: int = 10,
    n_gotchas: int = 1,
    seed: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Lay a study's outputs out for a crowd: a Mechanical Turk batch, a plain CSV, and their key.

    Parameters
    ----------
    study : Study
        With texts; a ``context`` is shown above them where it has any.
    folder : path
        A new folder: ``survey-mturk.csv`` and ``survey.html`` (a batch and its page),
        ``survey-plain.csv`` (the same for other platforms: a row per question) and
        ``survey-key.csv`` (which output is what; for you alone).
    kind : {"likert", "pairwise", "real-or-fake", "typicality"}
        ``likert``: 1 (very poor) to 5. ``typicality``: 0 (impossible) to 5, as HUSE asks.
        ``real-or-fake``: 1 for a person, 0 for a program. ``pairwise``: which of two texts of one
        item is better, or neither.
    dimensions : sequence of str, optional
        What is asked of each text or pair; for likert and pairwise. Default: quality.
    per_output : int
        Judgments of each output, exactly. Of pairs: votes that it takes part in.
    per_page : int
        Texts or pairs on a page, at most.
    n_gotchas : int
        Attention checks on each page, whose answer is said in their text. A page that is a text
        short of the others has one more.
    seed : int or Generator
        Of the layout.

    Returns
    -------
    DataFrame
        The key: page, slot, answer (the field's name), kind, dimension, output_a, output_b (empty
        but for pairs), choices, expected (of attention checks, which have no output).

    Raises
    ------
    FileExistsError
        When the folder is there: its key may belong to answers that are being given.
    ValueError
        When an output has no text, or outputs cannot be laid out so.

    Notes
    -----
    Every page is to be done by as many workers as the first line of ``survey.html`` says:
    `per_output`, or, for pairs, the smallest number from 2 on by which each output has the same
    number of opponents. Pages' sizes, and the number of each system's outputs on them, differ by
    one at most, and so do those of human and machine outputs. Pairs are of one item; each two
    systems meet equally often, or once more, and each is first in half of that, or once more.

    Examples
    --------
    >>> import tempfile
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=20, n_truth=0)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     key = export_survey(study, Path(home, "survey"), kind="real-or-fake")
    ...     sorted(path.name for path in Path(home, "survey").iterdir())
    ['survey-key.csv', 'survey-mturk.csv', 'survey-plain.csv', 'survey.html']
    >>> key.groupby("page").size().tolist(), (key["expected"] != "").sum().item()
    ([11, 11, 11, 11], 4)
    """
    place = Path(folder)
    if place.exists():
        raise FileExistsError(
            f"{place} is there, and a survey's key must not change while workers answer: name "
            "another folder, or move that one."
        )
    for name, least in (("per_output", per_output), ("per_page", per_page)):
        if least < 1:
            raise ValueError(f"{name} must be at least 1. Got {least}.")
    if dimensions is not None and kind not in ("likert", "pairwise"):
        raise ValueError(f"dimensions go with likert and pairwise; {kind} asks one thing.")
    asked = list(dict.fromkeys(dimensions or [_ASKED[kind][0]]))
    if not all(one.strip() for one in asked):
        raise ValueError("dimensions must have names: one of them is empty.")
    rng = np.random.default_rng(seed)
    _check_outputs(study, kind)
    if kind == "pairwise":
        n_workers, n_opponents = votes_and_opponents(study.outputs, per_output)
        units = pair_up(study.outputs, n_opponents, rng)
        pages = np.arange(len(units)) * math.ceil(len(units) / per_page) // len(units)
    else:
        n_workers = per_output
        units = study.outputs[["output_id"]].rename(columns={"output_id": "output_a"})
        units = units.assign(output_b="")
        # Human outputs stand together, so that both classes are dealt as evenly as systems are.
        labels = study.outputs["is_human"].map({True: "1 ", False: "0 "}) + study.outputs["system"]
        pages = deal(labels.to_numpy(), math.ceil(len(units) / per_page), rng)
    slots = _slots(units, pages, n_gotchas, _ASKED[kind][2], rng)
    shown = _shown(study, slots, kind)
    key = _key(slots, kind, asked)
    aside = place.with_name(f".{place.name}.{uuid.uuid4().hex[:8]}")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        aside.mkdir()
        batch = _batch(shown)
        csv_files.save(batch, aside / "survey-mturk.csv")
        page = _page(batch.columns.tolist(), kind, asked, n_workers)
        (aside / "survey.html").write_text(page, encoding="ascii", newline="\n")
        csv_files.save(_plain(shown, key), aside / "survey-plain.csv")
        csv_files.save(key, aside / "survey-key.csv")
        aside.rename(place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return key


@checked
def import_survey(
    folder: str | os.PathLike, results: str | os.PathLike | Sequence[str | os.PathLike]
) -> Answers:
    """Read what a crowd answered to a survey.

    Parameters
    ----------
    folder : path
        Where `export_survey` laid it out; its ``survey-key.csv`` is read.
    results : path or sequence of path
        CSV files: batch results of Mechanical Turk (``Input.page``, ``WorkerId``,
        ``AssignmentStatus``, ``Answer...``); or a row per submission with ``page``, ``worker`` and
        the answers by their fields' names; or a row per answer with ``page``, ``worker``,
        ``answer`` (the field's name) and ``value``; a ``status`` where there is one. Other columns
        are not read.

    Returns
    -------
    Answers
        Judgments or preferences, and what was set aside: submissions that are not approved or
        submitted, a worker's second submission of a page, and submissions that failed an attention
        check; then blanks. Workers are ``w001``, ``w002``, ... in order of appearance.

    Raises
    ------
    TableError
        For a page, a field or an answer that the survey does not have: file, row, column, value.

    Examples
    --------
    >>> import tempfile
    >>> import nlgbench as nb
    >>> study = nb.simulate("crowd", systems=["corrupted_0.5"], n_outputs=10, n_truth=0)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     key = export_survey(study, Path(home, "s"), kind="likert", n_gotchas=0)
    ...     rows = key[["page", "answer"]].assign(worker="A1B2", value="4")
    ...     rows.to_csv(Path(home, "results.csv"), index=False)
    ...     answers = import_survey(Path(home, "s"), Path(home, "results.csv"))
    >>> answers.judgments.iloc[0].drop("output_id").to_dict()
    {'annotator_id': 'w001', 'dimension': 'quality', 'value': 4.0, 'group_id': 'likert-001'}
    >>> answers.counts.values.tolist()
    [['kept', 2, 20]]
    """
    key = _read_key(Path(folder))
    paths = [results] if isinstance(results, str | os.PathLike) else list(results)
    parts = [_read_results(Path(path), key) for path in paths]
    for number, part in enumerate(parts):
        part["submission"] = f"{number} " + part["submission"]
    read = pd.concat(parts, ignore_index=True)
    # Every question of every submission: what is not in the file was left blank.
    given = read.drop_duplicates("submission")[["submission", "page", "worker", "status"]]
    given = given.merge(key.drop(columns="slot"), on="page")
    values = read[["submission", "answer", "value"]]
    read = given.merge(values, on=["submission", "answer"], how="left", validate="one_to_one")
    read["value"] = read["value"].fillna("")
    submission, of_check = read["submission"], read["expected"] != ""
    failed = of_check & (read["value"] != read["expected"])
    in_time = read[read["status"] == ""].drop_duplicates(["page", "worker"])["submission"]
    why = pd.Series("kept", read.index).mask(read["value"] == "", "left blank")
    why = why.mask(submission.isin(submission[failed]), "failed an attention check")
    why = why.mask(~submission.isin(in_time), "a second submission of a page by one worker")
    why = why.mask(read["status"] != "", read["status"])
    counted = read[~of_check].assign(what=why).groupby("what")
    counts = counted["submission"].agg(submissions="nunique", answers="size").reset_index()
    first = counts["what"] == "kept"
    none = pd.DataFrame([("kept", 0, 0)], columns=list(counts))
    counts = pd.concat([counts[first] if first.any() else none, counts[~first]], ignore_index=True)
    kept = read[(why == "kept") & ~of_check].reset_index(drop=True)
    names = {worker: f"w{n:03d}" for n, worker in enumerate(kept["worker"].unique(), 1)}
    kept = kept.assign(annotator_id=kept["worker"].map(names).astype("str"), group_id=kept["page"])
    if key["kind"].iloc[0] == "pairwise":
        made = kept.rename(columns={"value": "choice"})[schema.columns("preferences")]
        return Answers(None, schema.check(made, "preferences"), counts)
    made = kept.rename(columns={"output_a": "output_id"})[schema.columns("judgments")]
    return Answers(schema.check(made, "judgments"), None, counts)


def place_answers(folder: Path, study: Study, answers: Answers, *, force: bool) -> Path:
    """Write answers as a table of a study's folder; one that is there only by force, kept aside."""
    name = "judgments" if answers.preferences is None else "preferences"
    rows = getattr(answers, name)
    if rows.empty:
        listed = "; ".join(f"{what}: {n}" for what, n, _ in answers.counts.to_numpy()[1:])
        raise ValueError(f"no answer is left ({listed or 'the files hold none'}): nothing written.")
    study.replace(**{name: rows}, settings=study.settings)
    path = folder / f"{name}.csv"
    there = [one for one in folder.glob(f"{name}.*") if ".former" not in one.name]
    if there and not force:
        raise FileExistsError(
            f"{there[0]} is there: with --force it is kept as {there[0].name}.former and replaced."
        )
    for one in there:
        former = one.with_name(f"{one.name}.former")
        number = 2
        while former.exists():
            former = one.with_name(f"{one.name}.former-{number}")
            number += 1
        shutil.copy2(one, former)
        if one != path:
            one.unlink()
    schema.write(rows, name, path)
    return path


def deal(labels: NDArray, n_pages: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Give units pages whose sizes, and numbers of each label, differ by one at most.

    Labels that follow each other in order are dealt as evenly together.
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order].astype(str), kind="stable")]
    pages = np.empty(len(labels), dtype=np.intp)
    pages[order] = rng.permutation(n_pages)[np.arange(len(labels)) % n_pages]
    return pages


def votes_and_opponents(outputs: pd.DataFrame, per_output: int) -> tuple[int, int]:
    """Split the votes of an output into those on each of its pairs, and the number of pairs."""
    by_item = outputs.groupby("item_id")["system"]
    alone = by_item.nunique().eq(1)
    if alone.any():
        raise ValueError(
            f"item {alone.idxmax()!r} has outputs of one system alone (items like it: "
            f"{int(alone.sum()):,}): pairs are of one item; leave them out."
        )
    doubled = outputs.duplicated(["item_id", "system"])
    if doubled.any():
        one = outputs[doubled].iloc[0]
        raise ValueError(
            f"item {one['item_id']!r} has two outputs of system {one['system']!r} (outputs like "
            f"it: {int(doubled.sum()):,}): pairs take one of each; leave the others out."
        )
    sizes = by_item.size().unique().tolist()

    def split(wanted: int) -> tuple[int, int] | None:
        for n_votes in [*range(2, wanted + 1), 1]:
            n = wanted // n_votes
            if wanted % n_votes == 0 and n < min(sizes) and all(n * k % 2 == 0 for k in sizes):
                return n_votes, n
        return None

    found = split(per_output)
    if found is None:
        way = next(n for n in range(per_output + 1, 2 * per_output + 3) if split(n))
        raise ValueError(
            f"per_output = {per_output} votes cannot be exact where an item has "
            f"{' or '.join(map(str, sizes))} outputs, an odd number: take {way}."
        )
    return found


def pair_up(outputs: pd.DataFrame, n_opponents: int, rng: np.random.Generator) -> pd.DataFrame:
    """Pair the outputs of each item, so that each has as many opponents, in an order for pages.

    Over the items that have the same systems, each two systems meet equally often, or once more,
    and either is first in half of that, or once more.
    """
    columns = (outputs[name] for name in ("item_id", "system", "output_id"))
    ids = {(item, system): one for item, system, one in zip(*columns, strict=True)}
    of_item: dict[str, list[str]] = {}
    for item, system in ids:
        of_item.setdefault(item, []).append(system)
    groups: dict[tuple[str, ...], list[str]] = {}
    for item, there in of_item.items():
        groups.setdefault(tuple(sorted(there)), []).append(item)
    rows: list[tuple[str, str]] = []
    for group, items in groups.items():
        systems = [str(one) for one in rng.permutation(list(group))]
        n = len(systems)
        rounds = _rounds(n)
        layers, n_layers = rounds, n_opponents
        if n % 2:  # nobody may sit out: all pairs at one distance on a circle give two opponents
            layers = [[(i, (i + d) % n) for i in range(n)] for d in range(1, n // 2 + 1)]
            n_layers = n_opponents // 2
        meetings: dict[tuple[int, int], list[str]] = {}
        for number, item in enumerate(rng.permutation(items)):
            for layer in range(number * n_layers, (number + 1) * n_layers):
                for i, j in layers[layer % len(layers)]:
                    meetings.setdefault((min(i, j), max(i, j)), []).append(str(item))
        turns: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for (i, j), met in meetings.items():
            # Who is first where the number is odd: each system against half of the others.
            i_first = (j - i) % n <= n // 2
            turns[i, j] = []
            for item in rng.permutation(met):
                one, other = ids[item, systems[i]], ids[item, systems[j]]
                turns[i, j].append((one, other) if i_first else (other, one))
                i_first = not i_first
        # Round by round each system is shown once before any is shown again.
        order = [(min(pair), max(pair)) for pairs in rounds for pair in pairs]
        for turn in range(max(map(len, turns.values()))):
            rows += [turns[pair][turn] for pair in order if turn < len(turns.get(pair, ()))]
    return pd.DataFrame(rows, columns=["output_a", "output_b"], dtype="str")


def _rounds(n: int) -> list[list[tuple[int, int]]]:
    """Lay all pairs of n out in rounds in which each meets one other; of an odd n one sits out."""
    size = n + n % 2
    circle = list(range(size))
    found = []
    for _ in range(size - 1):
        pairs = [(circle[k], circle[size - 1 - k]) for k in range(size // 2)]
        found.append([pair for pair in pairs if max(pair) < n])
        circle.insert(1, circle.pop())
    return found


def _check_outputs(study: Study, kind: str) -> None:
    if study.outputs.empty:
        raise ValueError(f"{study.name} has no outputs to show: add them to outputs.")
    empty = study.outputs["text"].str.strip() == ""
    if empty.any():
        raise ValueError(
            f"output {study.outputs.loc[empty, 'output_id'].iloc[0]!r} has no text to show (outputs"
            f" like it: {int(empty.sum()):,}): add texts to outputs, or leave those outputs out."
        )
    humans = int(study.outputs["is_human"].sum())
    if kind == "real-or-fake" and not 0 < humans < len(study.outputs):
        raise ValueError(
            f"real-or-fake needs texts of people and of machines; {humans:,} of "
            f"{len(study.outputs):,} outputs are human: add the others to outputs."
        )


def _slots(
    units: pd.DataFrame,
    pages: NDArray[np.intp],
    n_gotchas: int,
    choices: dict[str, str],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Fill every page's slots with its units and attention checks, in random order."""
    size = np.bincount(pages).max() + n_gotchas
    rows = []
    for page in np.unique(pages):
        chosen = units[pages == page].assign(expected="")
        n_checks = size - len(chosen)
        expected = rng.choice([one for one in choices if one != "tie"], n_checks).tolist()
        blank = [""] * n_checks
        checks = pd.DataFrame({"output_a": blank, "output_b": blank, "expected": expected})
        both = pd.concat([chosen, checks], ignore_index=True)
        both = both.iloc[rng.permutation(size)]
        rows.append(both.assign(page=page, slot=np.arange(1, size + 1)))
    return pd.concat(rows, ignore_index=True).astype({"expected": "str"})


def _shown(study: Study, slots: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Say what stands in each slot: page, slot, context, text_a, and text_b for pairs."""
    by_id = study.outputs.set_index("output_id")
    labels = _ASKED[kind][2]
    check = slots["expected"] != ""
    is_pair = kind == "pairwise"
    told = (
        "This is a check that pages are read, no text to judge. Please choose {} for all that "
        "is asked here."
    )
    shown = pd.DataFrame({"page": _page_ids(slots, kind), "slot": slots["slot"]})
    if (study.outputs["context"] != "").any():
        shown["context"] = slots["output_a"].map(by_id["context"]).fillna("")
    for side in ["a", "b"] if is_pair else ["a"]:
        text = slots[f"output_{side}"].map(by_id["text"])
        chosen = slots["expected"].map(lambda one: told.format(f"“{labels.get(one, '')}”"))
        shown[f"text_{side}" if is_pair else "text"] = text.mask(check, chosen)
    return shown


def _page_ids(slots: pd.DataFrame, kind: str) -> pd.Series:
    """Name pages; the kind is in the name, as a study may have several surveys."""
    width = len(str(slots["page"].max() + 1))
    return slots["page"].map(lambda page: f"{kind}-{page + 1:0{max(width, 3)}d}").astype("str")


def _field(slot: int, number: int, n_dimensions: int) -> str:
    return f"answer_{slot}" + (f"_{number}" if n_dimensions > 1 else "")


def _key(slots: pd.DataFrame, kind: str, dimensions: list[str]) -> pd.DataFrame:
    """Link the field of each question to what was shown there."""
    slots = slots.assign(page=_page_ids(slots, kind), kind=kind, choices="|".join(_ASKED[kind][2]))
    parts = []
    for number, dimension in enumerate(dimensions, 1):
        names = [_field(slot, number, len(dimensions)) for slot in slots["slot"]]
        parts.append(slots.assign(dimension=dimension, answer=names))
    key = pd.concat(parts).sort_values(["page", "slot"], kind="stable", ignore_index=True)
    return key[_KEY]


def _plain(shown: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """Give a row per question, with its words and choices, and no system."""
    kind = key["kind"].iloc[0]
    _, question, labels = _ASKED[kind]
    rows = key[["page", "slot", "answer", "dimension"]].merge(shown, on=["page", "slot"])
    asked = [question.format(dimension=_words(one)) for one in rows["dimension"]]
    choices = " | ".join(f"{value} = {label}" for value, label in labels.items())
    return rows.assign(question=asked, choices=choices)


def _batch(shown: pd.DataFrame) -> pd.DataFrame:
    """Give a row per page, a column per text, written so that a page can take it as it is."""
    texts = [str(name) for name in shown if name not in ("page", "slot")]
    wide = shown.assign(**{name: shown[name].map(entities) for name in texts})
    wide = wide.pivot(index="page", columns="slot", values=texts)
    slots = sorted(shown["slot"].unique())
    order = [(name, slot) for slot in slots for name in texts]
    names = [f"{name}_{slot}" for name, slot in order]
    return wide[order].set_axis(names, axis=1).reset_index()


def entities(text: str) -> str:
    """Write a text as HTML in ASCII that shows it and nothing else.

    Mechanical Turk puts what stands in the CSV into the page unchanged, and refuses characters
    beyond U+FFFF: hence markup, quotes, placeholders, line ends and all that is not ASCII become
    references.
    """
    text = re.sub(r"\r\n?", "\n", text)
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", "\ufffd", text)
    text = html.escape(text, quote=True)
    for character in "$\n\t":
        text = text.replace(character, f"&#{ord(character)};")
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _words(name: str) -> str:
    return name.replace("_", " ")


_STYLE = """
.survey { max-width: 46rem; margin: 0 auto; padding: 1rem; background: #fff; color: #1a1a1a;
  font: 1rem/1.5 system-ui, sans-serif; }
.survey h2, .survey h3 { font-size: 1rem; margin: 0 0 .5rem; }
.survey section { border: 1px solid #767676; border-radius: .5rem; padding: 1rem;
  margin: 1.5rem 0; }
.survey .shown { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1rem; padding: .75rem;
  background: #f2f2f2; border-inline-start: .25rem solid #595959; }
.survey .context { background: #fff; border: 1px solid #767676; }
.survey .context:empty { display: none; }
.survey .pair { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
.survey fieldset { border: 0; margin: 0 0 .5rem; padding: 0; min-width: 0; }
.survey legend { font-weight: 600; padding: 0; }
.survey label { display: inline-flex; align-items: center; gap: .5rem; min-height: 2.75rem;
  padding: 0 .75rem 0 .25rem; cursor: pointer; }
.survey .wide label { display: flex; }
.survey input { width: 1.25rem; height: 1.25rem; margin: 0; flex: none; }
.survey label:focus-within { outline: 3px solid #0b57d0; outline-offset: 1px;
  border-radius: .25rem; }
.survey label:has(:checked) { font-weight: 600; }
"""

_TASK = {
    "likert": "You will read {n} texts. Say of each how good it is.",
    "pairwise": "You will read {n} pairs of texts. Say of each pair which text is better.",
    "real-or-fake": "You will read {n} texts. Some were written by people, some by computer "
    "programs. Say of each which you think it is.",
    "typicality": "You will read {n} texts. Say of each how usual it would be to meet such a text.",
}


def _page(columns: list[str], kind: str, dimensions: list[str], n_workers: int) -> str:
    """Write the page of a batch: placeholders stand between tags alone, never in attributes."""
    _, question, labels = _ASKED[kind]
    n_slots = max(int(name.rpartition("_")[2]) for name in columns if name != "page")
    parts = [
        f'<!-- Workers for each page ("assignments per task"): {n_workers}. -->',
        "<!-- Before the first text, say who you are, what you pay, and what becomes of the "
        "answers. -->",
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>',
        f"<style>{_STYLE}</style>",
        '<crowd-form answer-format="flatten-objects">',
        '<div class="survey" lang="en">',
        f"<p>{_TASK[kind].format(n=n_slots)} Some are checks that the page is read: they tell you "
        "what to choose. Please answer every question.</p>",
    ]
    thing = "Pair" if kind == "pairwise" else "Text"
    for slot in range(1, n_slots + 1):
        parts += [f'<section aria-labelledby="slot_{slot}">']
        parts += [f'<h2 id="slot_{slot}">{thing} {slot} of {n_slots}</h2>']
        if f"context_{slot}" in columns:
            parts += [_box(f"context_{slot}", "context shown")]
        if kind == "pairwise":
            boxes = [
                f"<div><h3>{side.upper()}</h3>{_box(f'text_{side}_{slot}')}</div>" for side in "ab"
            ]
            parts += ['<div class="pair">', *boxes, "</div>"]
        else:
            parts += [_box(f"text_{slot}")]
        for number, dimension in enumerate(dimensions, 1):
            name = _field(slot, number, len(dimensions))
            asked = question.format(dimension=entities(_words(dimension)))
            wide = ' class="wide"' if kind == "typicality" else ""
            parts += [f"<fieldset{wide}><legend>{asked}</legend>"]
            for value, label in labels.items():
                words = f"{value}: {label}" if kind in ("likert", "typicality") else label
                parts += [
                    f'<label><input type="radio" name="{name}" value="{value}" required> '
                    f"{words}</label>"
                ]
            parts += ["</fieldset>"]
        parts += ["</section>"]
    parts += ["<p>Page ${page}</p>", "</div>", "</crowd-form>"]
    return "\n".join(parts) + "\n"


def _box(name: str, kind: str = "shown") -> str:
    return f'<div class="{kind}" dir="auto" lang="">${{{name}}}</div>'


def _read_key(folder: Path) -> pd.DataFrame:
    path = folder / "survey-key.csv"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no survey-key.csv: name the folder that the survey was exported to."
        )
    key, _ = csv_files.parse(path)
    if list(key) != _KEY:
        raise TableError(
            f"{path} has the columns {', '.join(key.columns)}; a key has {', '.join(_KEY)}: "
            "restore it as it was exported."
        )
    return key


def _read_results(path: Path, key: pd.DataFrame) -> pd.DataFrame:
    """Read one file: submission, page, worker, status (why it is set aside), answer, value."""
    frame, lines = csv_files.parse(path, may_lack=("Approve", "Reject"))
    files.note_read(path)
    found = {}
    for name, headers in (("page", _PAGE), ("worker", _WORKER), ("status", _STATUS)):
        there = [one for one in headers if one in frame]
        if not there and name != "status":
            raise TableError(
                f"{path} has no column for the {name}: name it {' or '.join(map(repr, headers))}; "
                f"found {', '.join(map(brief, frame)) or 'none'}."
            )
        found[name] = frame[there[0]].str.strip() if there else ""
    about = pd.DataFrame(found, index=frame.index).assign(row=np.arange(len(frame)))
    fields = key.drop_duplicates("answer")
    asked = {
        str(name): choices.split("|")
        for name, choices in zip(fields["answer"], fields["choices"], strict=True)
    }
    if {"answer", "value"} <= set(frame):
        long = about.assign(answer=frame["answer"], value=frame["value"], column="value")
        long["submission"] = long["page"] + " " + long["worker"]
        doubled = long.duplicated(["submission", "answer"])
        if doubled.any():
            raise _wrong(path, lines, long[doubled], "answer", "has two values: keep one")
    else:
        parts = []
        for name, values in _wide(frame, asked, path, lines).items():
            parts.append(about.assign(answer=name, value=values, column=f"Answer.{name}"))
        long = pd.concat(parts, ignore_index=True).sort_values("row", kind="stable")
        long["submission"] = long["row"].astype(str)
    long["value"] = long["value"].str.strip().str.replace(r"^(\d+)\.0+$", r"\1", regex=True)
    strange = ~long["page"].isin(key["page"])
    if strange.any():
        hint = did_you_mean(long.loc[strange, "page"].iloc[0], key["page"].unique())
        rule = f"is no page of the survey: name the results of this one.{hint}"
        raise _wrong(path, lines, long[strange], "page", rule)
    nobody = long["worker"] == ""
    if nobody.any():
        raise _wrong(path, lines, long[nobody], "worker", "must not be empty")
    strange = ~long["answer"].isin(list(asked))
    if strange.any():
        raise _wrong(path, lines, long[strange], "answer", "is no field of the survey")
    right = {(name, one) for name, some in asked.items() for one in [*some, ""]}
    strange = pd.Series(
        [pair not in right for pair in zip(long["answer"], long["value"], strict=True)], long.index
    )
    if strange.any():
        field = long.loc[strange, "answer"].iloc[0]
        rule = f"is no answer to {field}: there are {', '.join(asked[field])}, or leave it blank"
        raise _wrong(path, lines, long[strange], "value", rule)
    status = long["status"].str.lower()
    long["status"] = ("status " + status).mask(status.isin(_DONE), "")
    return long[["submission", "page", "worker", "status", "answer", "value"]]


def _wrong(path: Path, lines: list[int], rows: pd.DataFrame, column: str, rule: str) -> TableError:
    one = rows.iloc[0]
    n = rows["row"].nunique()
    more = f" (rows like it: {n - 1:,})" if n > 1 else ""
    name = one["column"] if column == "value" else column
    return TableError(
        f"{path}, row {one['row'] + 1} (line {lines[one['row']]}), column {name!r}: "
        f"{brief(one[column])} {rule}{more}."
    )


def _wide(
    frame: pd.DataFrame, asked: dict[str, list[str]], path: Path, lines: list[int]
) -> dict[str, pd.Series]:
    """Find each field's answers: in a column, in one for each choice, or in a form's JSON."""
    found: dict[str, pd.Series] = {}
    for name, choices in asked.items():
        plain = [one for one in (f"Answer.{name}", name) if one in frame]
        ticked = {one: f"Answer.{name}.{one}" for one in choices if f"Answer.{name}.{one}" in frame}
        if plain:
            found[name] = frame[plain[0]]
        elif ticked:
            values = pd.Series("", frame.index, dtype="str")
            for choice, column in ticked.items():
                values = values.mask(frame[column].str.lower() == "true", choice)
            found[name] = values
    if "Answer.taskAnswers" in frame and not found:
        given = [
            _form(cell, f"{path}, row {row + 1} (line {lines[row]})")
            for row, cell in enumerate(frame["Answer.taskAnswers"])
        ]
        for name in asked:
            sent = [one.get(name, "") for one in given]
            found[name] = pd.Series(sent, frame.index, dtype="str")
    if not found:
        raise TableError(
            f"{path} has no answers: no column Answer.{next(iter(asked))}, and no columns answer "
            f"and value; found {', '.join(map(brief, frame)) or 'none'}."
        )
    return found


def _form(cell: str, where: str) -> dict[str, str]:
    """Read the fields of a form that was sent as JSON."""
    try:
        sent = json.loads(cell) if cell.strip() else {}
    except ValueError as error:
        raise TableError(
            f"{where}, column 'Answer.taskAnswers' is no JSON ({error}): get the file anew."
        ) from None
    fields: dict[str, Any] = {}
    for part in sent if isinstance(sent, list) else [sent]:
        fields |= part if isinstance(part, dict) else {}
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            value = next((one for one, chosen in value.items() if chosen is True), "")
        stem, _, choice = name.rpartition(".")
        if stem and value is True:  # flattened: answer_1.4 is true
            found[stem] = choice
        elif not stem:
            found[name] = str(value)
    return found


def coverage(study: Study, answers: Answers) -> str:
    """Say in a line how many outputs have how many judgments."""
    if answers.judgments is not None:
        one = ["output_id", "annotator_id", "group_id"]  # whatever the number of dimensions
        ids = answers.judgments.drop_duplicates(one)["output_id"]
    else:
        assert answers.preferences is not None
        ids = pd.concat([answers.preferences["output_a"], answers.preferences["output_b"]])
    of_output = ids.value_counts().reindex(study.outputs["output_id"], fill_value=0)
    sizes = of_output.value_counts().sort_index(ascending=False)
    listed = ", ".join(f"{size} ({number:,})" for size, number in sizes.items())
    return f"judgments of an output (outputs): {listed}"


def counted(key: pd.DataFrame, study: Study) -> str:
    """Say in a line what was laid out."""
    shown = key.drop_duplicates(["page", "slot"])
    units = shown[shown["expected"] == ""]
    per_page = Counter(shown["page"])
    human = study.outputs["is_human"].sum()
    what = "pairs" if key["kind"].iloc[0] == "pairwise" else "texts"
    return (
        f"{len(units):,} {what} on {len(per_page):,} pages of {max(per_page.values())} slots, "
        f"{len(shown) - len(units):,} of them attention checks; {human:,} of "
        f"{len(study.outputs):,} outputs are human"
    )
