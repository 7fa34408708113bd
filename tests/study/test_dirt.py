"""Dirt that changes a result: the reader refuses it or `check` names it, in every layout.

Left out is what no rule can tell from honest answers: a valid answer instead of another one (A
for B>A, both for tie, a score of 0), and items that are reversed or one point lower, which may be
hard or suit another system.
"""

import itertools
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from nlgbench.names import UsageError
from nlgbench.runner.new_study import new, unconfirmed
from nlgbench.study import read_folder, summary

DRAW = np.random.default_rng(11)
SYSTEMS, WHO = ["Heron", "Tern XL", "Bi-gram", "Rulebook"], ["Ana", "Benno", "Chloe", "Deva"]
ITEMS = "kettle ladder violin harbor meadow copper saddle walnut pepper candle ribbon goblet"
ITEMS, PLACE, BOTH = ITEMS.split(), ["item", "system"], ["flow", "truth"]
J = pd.DataFrame(itertools.product(ITEMS, SYSTEMS, WHO), columns=[*PLACE, "who"])
LEVEL = J["system"].map(dict(zip(SYSTEMS, [4, 3.4, 2.8, 2.2], strict=True)))
LEVEL += J["item"].map(dict(zip(ITEMS, DRAW.normal(0, 0.8, len(ITEMS)), strict=True)))
for aspect in BOTH:
    J[aspect] = (LEVEL + DRAW.normal(0, 0.5, len(J))).round().clip(1, 5).astype(int).astype(str)
J["text"] = "The " + J["item"] + ", as it is described by " + J["system"]
S = J.drop_duplicates(PLACE)[[*PLACE, "text"]].reset_index(drop=True)
S[["overlap", "fit"]] = (DRAW.random((len(S), 2)) + 0.01).round(3).astype(str)
V = J.merge(J, on=["item", "who"], suffixes=("", "_b")).query("system < system_b")
V = V[["item", "who", "system", "system_b", "flow", "flow_b"]].reset_index(drop=True)
V.loc[::2, V.columns[2:]] = V.loc[::2, ["system_b", "system", "flow_b", "flow"]].to_numpy()
V = V.rename(columns={"system": "a", "system_b": "b"})
FIRST, SECOND = V["flow"] > V["flow_b"], V["flow"] < V["flow_b"]
V["choice"] = np.select([FIRST, SECOND], ["left", "right"], "tie")
V["winner"] = np.select([FIRST, SECOND], [V["a"], V["b"]], "tie")
V["verdict"] = np.select([FIRST, SECOND], ["A>B", "B>A"], "A=B")
TABLES = {"J": J, "V": V, "S": S}


def table(columns, name="r.csv", sep=","):
    return lambda frame: {name: frame[columns.split()].to_csv(index=False, sep=sep)}


def wide(index, over, frame):
    copy = frame.groupby([*index, over]).cumcount()  # repeated rows stay
    cells = frame.assign(copy=copy).pivot(index=[*index, "copy"], columns=over, values="flow")
    return {"r.csv": cells.reset_index().drop(columns="copy").to_csv(index=False)}


def long(index, over, by, value, frame):
    return {"r.csv": frame.melt(index, over, by, value).to_csv(index=False)}


def linked(frame):
    keyed = frame.assign(id=frame["item"] + "/" + frame["system"])
    outputs = keyed.drop_duplicates("id")
    return table("id who flow truth")(keyed) | table("id item system text", "t.csv")(outputs)


def nested(frame):
    levels = {}
    for row in frame.to_dict("records"):
        rated = levels.setdefault(row["item"], {}).setdefault(row["system"], {})
        rated[row["who"]] = {"flow": row["flow"]}
    return {"r.json": json.dumps(levels)}


RATED = "item system who flow truth"
AS_RATED = {"item_id": ["item"], "system": ["system"], "annotator_id": ["who"], "value": BOTH}
AS_FLOW = AS_RATED | {"value": ["flow"]}
AS_VOTED = {"item_id": ["item"], "system_a": ["a"], "system_b": ["b"], "annotator_id": ["who"]}
AS_SCORED = {"item_id": ["item"], "system": ["system"]}
#: Layout -> its table, how it is written, the flags of `nlgbench new`.
LAYOUTS = {
    "long": ("J", table(RATED), AS_RATED),
    "with texts": ("J", table(f"{RATED} text"), AS_RATED | {"text": ["text"]}),
    "semicolons": ("J", table(RATED, sep=";"), AS_RATED),
    "nested": ("J", nested, {}),
    "two files": ("J", linked, {}),
    "aspects in rows": (
        "J",
        partial(long, [*PLACE, "who"], BOTH, "aspect", "points"),
        AS_RATED | {"value": ["points"], "dimension": ["aspect"]},
    ),
    "annotators in columns": (
        "J",
        partial(wide, PLACE, "who"),
        AS_SCORED | {"value": ["{annotator}"]},
    ),
    "systems in columns": (
        "J",
        partial(wide, ["item", "who"], "system"),
        {"item_id": ["item"], "annotator_id": ["who"], "value": ["{system}"]},
    ),
    "files of annotators": (
        "J",
        lambda frame: {
            f"{who}.csv": rows[[*PLACE, "flow"]].to_csv(index=False)
            for who, rows in frame.groupby("who")
        },
        AS_FLOW | {"annotator_id": ["{file}"]},
    ),
    "sides": ("V", table("item a b who choice"), AS_VOTED | {"choice": ["choice"]}),
    "winners": ("V", table("item a b who winner"), AS_VOTED | {"choice": ["winner"]}),
    "verdicts": ("V", table("item a b who verdict"), AS_VOTED | {"choice": ["verdict"]}),
    "metrics": ("S", table("item system overlap fit"), AS_SCORED | {"score": ["overlap", "fit"]}),
    "metrics in rows": (
        "S",
        partial(long, PLACE, ["overlap", "fit"], "metric", "points"),
        AS_SCORED | {"evaluator": ["metric"], "score": ["points"]},
    ),
}

#: How a name is written differently.
NAMES = {
    "case": str.swapcase,
    "blank": lambda name: f"{name} ",
    "no-break": lambda name: f"\N{NO-BREAK SPACE}{name}",
    "invisible": lambda name: f"{name[:2]}\N{ZERO WIDTH SPACE}{name[2:]}",
    "full width": lambda name: chr(ord(name[0]) + 0xFEE0) + name[1:],
    "swapped": lambda name: f"{name[0]}{name[2]}{name[1]}{name[3:]}",
    "doubled": lambda name: f"{name[:3]}{name[2]}{name[3:]}",
    "lost letter": lambda name: f"{name[:2]}{name[3:]}",
}
MISSING = ["N/A", "NA", "n/a", "null", "-", ".", "none", "?", "Don't know", "no answer", "nan"]
CODES = ["-1", "99", "999", "-99", "0", "5000"]
WRITTEN = ["4,5", "4 - good", "4/5", "four", "Good", "4;5", "[4]", "3-4", "~4"]

#: Kind of table -> the answer of a second judgment, by the first.
OTHER_ANSWER = {
    "J": lambda answer: "1" if answer == "5" else "5",
    "S": lambda _: "0.5",
    "V": lambda answer: {"left": "right", "A>B": "B>A"}.get(answer, answer),
}


def set_cells(frame, rows, column, value):
    changed = frame.copy()
    changed.loc[rows, column] = value
    return changed


def rename(frame, columns, name, written, several):
    """Write a name differently: once, or in half of its rows; winners are written alike."""
    changed = frame.copy()
    for column in [*columns, *(["winner"] if "a" in columns else [])]:
        rows = np.flatnonzero(frame[column] == name)
        changed.loc[rows[: len(rows) // 2 if several else 1], column] = written
        if not several and len(rows):
            break
    return changed


def dirty_tables(kind, frame):
    """Yield a kind of dirt, the changed table, and the words of which a report has at least one."""
    columns = {
        "J": {"system": ["system"], "who": ["who"], "item": ["item"]},
        "S": {"system": ["system"], "item": ["item"]},
    }
    columns["V"] = {"system": ["a", "b"], "who": ["who"], "item": ["item"]}
    for what, of in columns[kind].items():
        name = {
            "system": "Tern XL" if kind != "S" else "Rulebook",
            "who": "Benno",
            "item": "violin",
        }[what]
        for (how, write), several in itertools.product(NAMES.items(), (False, True)):
            words = [write(name), repr(write(name))[1:-1], *(["w00"] if what == "who" else [])]
            yield (
                f"name of {what}: {how}, {'half' if several else 'once'}",
                rename(frame, of, name, write(name), several),
                words,
            )
    again, fewer = ["repeat", "duplicate", "twice"], ["missing", "fewer", "lack", "not judged"]
    measures = {"J": ["flow"], "V": ["choice", "winner", "verdict"], "S": ["overlap"]}[kind]
    row = 7 if kind != "V" else int(np.flatnonzero(V["choice"] != "tie")[3])
    for cell in [*MISSING, *(CODES + WRITTEN if kind != "V" else ["1", "0", "Heron", "x"])]:
        if kind == "S" and cell == "0":
            continue
        found = [f"'{cell}'", f" {cell}, ", "missing", "empty cells", "decimal"]
        found += ["undefined", "not read", "5,000"]
        found += [cell] * (len(cell) > 2)
        yield f"cell: {cell}", set_cells(frame, [row], measures, cell), found
        if cell in ("N/A", "-", "99"):
            yield f"cells: {cell}", set_cells(frame, frame.index % 9 == 2, measures, cell), found
    yield "rows doubled", pd.concat([frame, frame[::2]]), again
    yield "one row doubled", pd.concat([frame, frame[5:6]]), again
    other = frame[5:6].copy()
    for measure in measures:
        other[measure] = other[measure].map(OTHER_ANSWER[kind])
    yield "one row judged again", pd.concat([frame, other]), again
    yield "one row dropped", frame.drop(index=row), fewer
    of = "system" if kind != "V" else "a"
    low = frame[frame[of] == "Tern XL"].sort_values(measures[0], kind="stable").index
    kept = frame.drop(index=low[: len(low) // 3])
    yield "lowest rows of a system dropped", kept, ["Tern XL", "missing"]
    yield "last rows lost", frame.iloc[: int(len(frame) * 0.8)], fewer
    if kind == "J":
        own = frame["who"] == "Chloe"
        number = frame["flow"].astype(int)
        for how, values in {
            "0 to 100": number * 20,
            "0 to 4": number - 1,
            "0 to 1": number / 5,
            "1 to 10": number * 2,
            "reversed": 6 - number,
        }.items():
            scaled = set_cells(frame, own, "flow", values[own].astype(str))
            yield f"scale of an annotator: {how}", scaled, ["scale", "w00", "Chloe", "annotator"]
            if how in ("0 to 4", "reversed"):
                continue
            rows = frame["item"].isin(ITEMS[:5])
            scaled = set_cells(frame, rows, "flow", values[rows].astype(str))
            yield f"scale of items: {how}", scaled, ["scale", "item"]
        twice = frame["flow"][7] * 2
        yield "typed twice", set_cells(frame, [7], "flow", twice), [twice]
    if kind == "V":
        own = frame["who"] == "Chloe"
        swapped = frame[own].replace({"left": "right", "right": "left", "A>B": "B>A", "B>A": "A>B"})
        wins = [swapped.winner == swapped.a, swapped.winner == swapped.b]
        swapped["winner"] = np.select(wins, [swapped.b, swapped.a], "tie")
        changed = pd.concat([frame[~own], swapped])
        yield "an annotator's sides swapped", changed, ["w00", "annotator"]
        itself = set_cells(frame, [row], "b", frame["a"][row])
        yield "a compared with itself", itself, ["itself", "same"]
        lettered = frame.replace({"Heron": "left", "Rulebook": "right"})
        lettered["verdict"] = lettered["choice"]
        yield "systems named as sides", lettered, ["confirm", "left"]
    if kind == "S":
        rows = frame["system"] == "Tern XL"
        percent = (frame["overlap"].astype(float) * 100).astype(str)[rows]
        changed = set_cells(frame, rows, "overlap", percent)
        yield "scores in percent", changed, ["overlap", "scale"]
        yield "infinite", set_cells(frame, [7], "overlap", "inf"), ["inf"]


def dirty_files(files):
    """Yield a kind of dirt, the changed files, and words of the report."""
    name, text = next(iter(files.items()))
    rows = text.splitlines()
    start, end = rows[:9], rows[10:]

    def changed(*lines):
        return files | {name: "\n".join(lines)}

    cut = files | {name: text[: len(text) * 7 // 10]}
    if not name.endswith("sv"):
        yield "cut off", cut, [name]
        return
    sep = "\t" if name.endswith("tsv") else ";" if ";" in rows[0] else ","
    blanks = sep.join(["Mean", *[""] * (rows[0].count(sep) - 1), "3.5"])
    yield "mean below", changed(*rows, blanks, ""), [name, "Mean"]
    yield "cut off", cut, [name, "missing", "fewer", "lack", "not judged"]
    yield "no header", changed(*rows[1:]), [name]
    yield "cells shifted", changed(*start, rows[9].replace(sep, sep + sep, 1), *end), [name]
    header = sep.join([*rows[0].split(sep)[:-1], rows[0].split(sep)[-2]])
    yield "header doubled", changed(header, *rows[1:]), [name]
    if len(files) > 2:
        yield "a file lost", {k: v for k, v in files.items() if k != name}, [name, "missing"]
        yield "a file twice", files | {f"copy of {name}": text}, [name, "same"]


def result(study):
    """Return what conclusions rest on: counts, means, win rates."""
    outputs = study.outputs.set_index("output_id")
    found = {"items": outputs["item_id"].nunique(), "systems": outputs["system"].nunique()}
    for table, column in (("judgments", "value"), ("scores", "score")):
        frame = getattr(study, table)
        if frame is not None:
            by = "dimension" if table == "judgments" else "evaluator"
            keys = [frame[by], frame["output_id"].map(outputs["system"])]
            found |= frame.groupby(keys)[column].mean().to_dict()
            found[table] = len(frame.dropna())
    for frame in (study.judgments, study.preferences):
        if frame is not None:
            found["annotators"] = frame["annotator_id"].nunique()
    if (votes := study.preferences) is not None:
        points = votes["choice"].map({"a": 1.0, "tie": 0.5, "b": 0.0})
        sides = [votes[side].map(outputs["system"]) for side in ("output_a", "output_b")]
        found |= pd.concat([points, 1 - points]).groupby(pd.concat(sides)).mean().to_dict()
        found["votes"] = len(votes)
    if (compared := study.comparisons) is not None:
        found["compared"] = (
            compared[["prob_a", "prob_tie", "prob_b"]].to_numpy().mean(axis=0).tolist()
        )
    return found


def write(files, folder):
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def report(folder):
    """Return a study's result, if it is valid, and every line of `check` but those of counts."""
    problems, doubts = [], []
    try:
        study, notes = read_folder(folder, problems, doubts)
    except ValueError as error:
        return None, [*problems, str(error)]
    if study is None:
        return None, problems
    undefined = 0 if study.scores is None else int(study.scores["score"].isna().sum())
    counts = [f"{undefined} scores are undefined"] if undefined else []
    doubted = summary.doubts(study, doubts)
    return result(study), [*doubted, *notes, *unconfirmed(folder), *counts]


def outcome(layout, dirty, words, folder, clean, *, drafted):
    """Read dirty files by the study.yml of clean ones, or by a new draft."""
    write(dirty, folder)
    base, lines, text = clean
    drawn = []
    try:
        if drafted:
            drawn = new(folder, sorted(folder.iterdir()), None, LAYOUTS[layout][2]).splitlines()
        else:
            (folder / "study.yml").write_text(text)
        values, found = report(folder)
        found += [line for line in drawn if "not read" in line]
    except (ValueError, OSError, UsageError) as error:
        return "refused", str(error)
    if values is None:
        return "refused", "; ".join(found)
    if values.keys() == base.keys() and all(np.allclose(values[k], base[k]) for k in base):
        return "same", ""
    fresh = [line.replace(str(folder), "") for line in found]
    fresh = [line for line in fresh if line not in lines]
    is_named = any(word.casefold() in line.casefold() for word in words for line in fresh)
    return ("named" if is_named else "other" if fresh else "silent"), "; ".join(fresh)


def mutations(layout):
    """Yield each kind of dirt, how it is written into files, and the words of a report."""
    kind, as_files, _ = LAYOUTS[layout]
    for dirt, frame, words in dirty_tables(kind, TABLES[kind]):
        yield dirt, partial(as_files, frame), words
    for dirt, files, words in dirty_files(as_files(TABLES[kind])):
        yield dirt, partial(dict, files), words


def measured(folder, layouts, step):
    """Apply every step-th mutation of layouts; list what comes of each."""
    rows, number = [], itertools.count()
    for layout in layouts:
        kind, as_files, flags = LAYOUTS[layout]
        clean, files = folder / layout / "clean", as_files(TABLES[kind])
        write(files, clean)
        new(clean, sorted(clean.iterdir()), None, flags)
        base, said = report(clean)
        if base is None:
            rows.append((layout, "clean", "", "invalid", "; ".join(said)))
            continue
        text = (clean / "study.yml").read_text()
        before = base, [line.replace(str(clean), "") for line in said], text
        for dirt, dirty, words in mutations(layout):
            for drafted in (False, True):
                at = next(number)
                if at % step == 0 and dirty() != files:
                    place = folder / layout / str(at)
                    found = outcome(layout, dirty(), words, place, before, drafted=drafted)
                    rows.append((layout, dirt, drafted, *found))
    return pd.DataFrame(rows, columns=["layout", "dirt", "drafted", "outcome", "report"])


#: Kinds of dirt that may pass, as patterns -> why.
PASSING = {
    "a file lost in files of annotators": "a new draft cannot know that it was there",
    "a file twice in files of annotators": "two annotators may agree throughout",
    "no header in files of annotators": "the draft lists the file among those that it cannot read",
    "cell: 4,5 in semicolons": "it is read as 4.5, which is what it says",
    "one row judged again in nested": "a repeated key replaces the cell, as in every JSON file",
    "lowest rows of a system dropped in": "votes need not be complete: who voted is not known",
    "systems named as sides in winners": "a study.yml that reads names is right with any names",
}
#: The layouts that are tried at each change of the software.
COMMON = ["with texts", "two files", "annotators in columns", "winners", "metrics in rows"]


@pytest.mark.parametrize(
    ("layouts", "step"), [(COMMON, 41), pytest.param(LAYOUTS, 5, marks=pytest.mark.release)]
)
def test_dirt_that_changes_a_result_is_refused_or_named(layouts, step, tmp_path):
    outcomes = measured(tmp_path, layouts, step)
    changed = outcomes[outcomes["outcome"] != "same"]
    silent = changed[changed["outcome"].isin(["silent", "other"])]
    unknown = silent[~(silent["dirt"] + " in " + silent["layout"]).str.match("|".join(PASSING))]
    assert unknown.empty, unknown.to_string()
    assert step > 10 or len(silent) <= 0.02 * len(changed)
