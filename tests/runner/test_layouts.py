"""`nlgbench new` on layouts of one small study: drafts are right, or `check` says where not."""

import itertools
import json
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main
from nlgbench.runner.new_study import unconfirmed

DRAW = np.random.default_rng(7)
ITEMS, SYSTEMS, WHO = (
    [f"i{n}" for n in range(1, 7)],
    ["lstm", "gpt", "rules"],
    ["ann", "bob", "cyd"],
)
BOTH, PLACE = ["flow", "adequacy"], ["item", "system"]
T = pd.DataFrame(itertools.product(ITEMS, SYSTEMS, WHO), columns=[*PLACE, "who"])
T[BOTH] = DRAW.integers(1, 6, (len(T), 2))
T["text"] = "The " + T.system + " system wrote this long sentence on " + T["item"]
T["n"], T["seg"], T["doc"] = T.who.map(dict(zip(WHO, "123", strict=True))), T["item"].str[1], "d"
T["at"] = (T.system.map(SYSTEMS.index) + T.seg.astype(int)).mod(3).add(1).astype(str)
T["words"] = T.flow.map(dict(enumerate(["Very poor", "Poor", "Fair", "Good", "Excellent"], 1)))
T["led"], T["z"] = T.flow.astype(str) + " - " + T.words, ((T.flow - 3) / 1.37).round(4)
T["error"] = T.flow.map({1: "No-error", 2: "Minor", 3: "Minor", 4: "Major", 5: "Major"})
T["HITId"], T["WorkerId"] = "H" + T["item"], T["who"]
TEXTS = T.drop_duplicates(PLACE)[[*PLACE, "text"]].reset_index(drop=True)
TEXTS[["bleu", "chrf"]] = DRAW.random((len(TEXTS), 2)).round(3)
TEXTS["mean"] = T.groupby(PLACE, sort=False).flow.mean().round(3).to_numpy()
TEXTS["uid"], T["uid"] = ((one["item"] + "-" + one.system) for one in (TEXTS, T))
V = T[["item", "system", "who", "n"]].rename(columns={"system": "a"})
V["b"] = V.a.map(dict(zip(SYSTEMS, SYSTEMS[1:] + SYSTEMS[:1], strict=True)))
V["choice"] = DRAW.choice(["A", "B", "Tie"], len(V))
V["winner"] = V.choice.map({"A": "model_a", "B": "model_b", "Tie": "tie (bothbad)"})
V["name"] = V.b.where(V.choice == "B", V.a).where(V.choice != "Tie", "tie")


def csv(columns, to="", frame=T, sep=","):
    """Write columns of a table, under other names."""
    named = frame[columns.split()].set_axis((to or columns).split(), axis=1)
    return named.to_csv(index=False, sep=sep)


def wide(index, over, frame=T, **names):
    """Write a column for each key and value; names of values have the key in braces."""
    made = frame.pivot(index=index.split(), columns=over, values=list(names))
    made.columns = [names[value].format(key) for value, key in made.columns]
    return made.reset_index().to_csv(index=False)


def files(by, columns, to="", frame=T):
    return {f"{one}.csv": csv(columns, to, own) for one, own in frame.groupby(by, sort=False)}


def jsonl(build, frame=T, by=("item", "system")):
    """Write a line of JSON for each group of rows."""
    found = [build(*key, own) for key, own in frame.groupby([*by], sort=False)]
    return "\n".join(map(json.dumps, found))


def keyed(build):
    """Give an object of items, each an object of systems."""
    return {i: {s: build(own) for s, own in of.groupby("system")} for i, of in T.groupby("item")}


def ratings(own):
    return own.set_index("who")[["flow"]].to_dict("index")


def text_and_lists(own):
    return {"text": own.text.iloc[0], **own[BOTH].to_dict("list")}


def tagged(item, system, own):
    tags = own[["who", "flow"]].rename(columns={"who": "annotator"}).to_dict("records")
    return {"content": own.text.iloc[0], "meta": {"item": item, "system": system}, "tags": tags}


def labeled(item, system, own):
    return {"label": [str(own.flow.iloc[0])], "meta": {"item": item, "system": system}}


def by_experts(item, system, own):
    rated = own[BOTH].to_dict("records")
    return {"id": item, "model_id": system, "decoded": own.text.iloc[0], "experts": rated}


def task(item, system, who, own):
    rated = {one: [{"rating": int(own[one].iloc[0])}] for one in BOTH}
    return {"item": item, "system": system, "annotator": who, **rated, "lead_time": 2.5}


def survey():
    """Write columns i1_lstm_flow, ... below the three headers that Qualtrics writes."""
    made = T.pivot(index="who", columns=PLACE, values=BOTH)
    made.columns = [f"{item}_{system}_{value}" for value, item, system in made.columns]
    made = made.astype("str").reset_index(names="ResponseId").assign(Finished="True")
    asked = pd.DataFrame([[f"asked {one}" for one in made]] * 2, columns=made.columns)
    return pd.concat([asked, made]).to_csv(index=False)


def lists():
    """Write a row for each system, and in its cells lists over items."""
    made = T.groupby(["system", "n"])[BOTH].agg(lambda own: json.dumps(own.tolist())).unstack()
    made.columns = [f"Human {n} {value}" for value, n in made.columns]
    made["Flow"] = made["Human 1 flow"]  # a mean, and so no evaluator
    return made.rename_axis("Model").reset_index().to_csv(index=False)


LONG, KEYS = "item system who flow adequacy", "item system who"
PAIR, SCORE = "item system_a system_b winner", "id model worker score"
PAGE = {"item": "Input.item_{}", "system": "Input.system_{}", "text": "Input.output_{}"}
PAGE["flow"] = "Answer.rating_{}"
TEXTS_BY_ID = csv("uid item system text", "id item system text", TEXTS)
BEST = pd.DataFrame({"item": ITEMS, "best": "lstm", "worst": ["gpt", "rules"] * 3})
SLOTS = {"system": "sys{}", "text": "ref{}", "flow": "natur{}"}
PAIRS = wide("item a b", "n", V, choice="ann{}").replace("a,b", "system_a,system_b")
JUDGED = {"gpt-4": "ann", "claude-3": "bob", "llama-3": "cyd"}
JUDGES = V.assign(judge=V.who.map({who: judge for judge, who in JUDGED.items()}))
SCORED = TEXTS.melt(PLACE, ["bleu", "chrf"], "metric", "score")
SCORED["judge"] = SCORED.metric.map({"bleu": "gpt-4", "chrf": "claude-3"})
MARKS = V.assign(
    **{f"won_{one}": (V.choice == one.title()).astype(int) for one in ("a", "b", "tie")}
)
BOTH_KINDS = pd.concat([V, JUDGES.drop_duplicates(["item", "a"]).assign(who="gpt-4-judge")])
COLUMNS = ["output_id", "annotator_id", "dimension", "value"]
GIVEN = ["item", "system", "annotator", "value", "text", "dimension", "evaluator", "score"]
VOTED = ["item", "a", "b", "annotator", "choice", "evaluator"]
FILES = {
    "long": csv(LONG, "item_id model worker flow adequacy"),
    "dimensions in rows": T.melt(KEYS.split(), BOTH, "criterion", "score").to_csv(index=False),
    "unknown names": csv(LONG, "nr engine by flow adequacy"),
    "texts": csv(f"{LONG} text", "source generator coder flow adequacy output"),
    "semicolons": csv(LONG, "Item System Rater flow adequacy", sep=";"),
    "mturk": csv(f"{KEYS} flow", "Input.item Input.model WorkerId Answer.flow"),
    "mturk slots": wide("HITId WorkerId", "at", **PAGE),
    "prolific": csv(LONG, "item model PROLIFIC_PID flow adequacy"),
    "qualtrics": survey(),
    "label studio": {"r.jsonl": jsonl(task, by=KEYS.split())},
    "potato": {"a.csv": csv("uid who flow", "id user_id flow"), "o.csv": TEXTS_BY_ID},
    "lighttag": {"r.jsonl": jsonl(tagged)},
    "doccano": {f"{who}.jsonl": jsonl(labeled, own) for who, own in T.groupby("who")},
    "arena": csv("item a b who winner", "question_id model_a model_b judge winner", V),
    "mqm": csv(f"{KEYS} error error", "doc_id system rater severity category"),
    "experts in lists": {"r.jsonl": jsonl(by_experts)},
    "pairs of three": PAIRS,
    "pairs and judges": {"v.csv": PAIRS} | files("judge", "item a b choice", PAIR, JUDGES),
    "systems as columns": wide("item WorkerId", "system", flow="{}"),
    "texts of systems": wide("item who", "system", flow="rating_{}", text="output_{}"),
    "words": csv(f"{KEYS} words", "item system rater rating"),
    "numbers and words": csv(f"{KEYS} led", "item system rater rating"),
    "z scores": csv("system doc seg who flow z", "sys doc seg rater raw z"),
    "files of annotators": files("who", "item system flow adequacy"),
    "files of systems": files("system", "item who flow text", "item rater flow output"),
    "files of dimensions": {f"{one}.csv": csv(f"{KEYS} {one}", SCORE) for one in BOTH},
    "a dimension a file": {
        f"{one}.csv": csv(f"{KEYS} {one}", f"id model worker {one}") for one in BOTH
    },
    "annotators as columns": wide("item system", "n", flow="A{}"),
    "annotators, dimensions": wide("item system", "n", **{one: one + "_rater{}" for one in BOTH}),
    "slots": wide("item who", "at", **SLOTS),
    "by system": {
        "r.jsonl": "\n".join(
            json.dumps({"id": i, "outputs": one}) for i, one in keyed(text_and_lists).items()
        )
    },
    "by item, system, annotator": {"r.json": json.dumps(keyed(ratings))},
    "lists": lists(),
    "three files": {
        "r.csv": csv(LONG),
        "t.csv": csv("item system text", "", TEXTS),
        "m.csv": csv("item system bleu chrf", "", TEXTS),
    },
    "means": csv("item system text bleu chrf mean", "item system text bleu chrf quality", TEXTS),
    "judges in files": files("judge", "item system score", "item model score", SCORED),
    "winners by name": csv("item a b who name", "item model_a model_b voter winner", V),
    "best and worst": csv("item best worst", "", BEST),
    "toloka": {
        "r.tsv": csv(
            "item system text who flow adequacy",
            "INPUT:item INPUT:system INPUT:text ASSIGNMENT:worker_id OUTPUT:flow OUTPUT:adequacy",
            sep="\t",
        )
    },
    "crowd and judge": csv("item a b who name", "item left right rater winner", BOTH_KINDS),
    "winners in capitals": {
        "r.jsonl": V.assign(name=V.name.str.upper()).to_json(orient="records", lines=True)
    },
    "winners in columns": csv(
        "item a b who won_a won_b won_tie", "item model_a model_b voter won_a won_b won_tie", MARKS
    ),
}
#: Layout | what it holds | flags, by position: item, system, ... or item, a, b, ...; - for none.
FLAGS = """\
long | flow adequacy | item_id model worker flow,adequacy
dimensions in rows | flow adequacy | item system who score - criterion
unknown names | flow adequacy | nr engine by flow,adequacy
texts | flow adequacy text | source generator coder flow,adequacy output
semicolons | flow adequacy | Item System Rater flow,adequacy
mturk | flow | --as mturk
mturk slots | flow text | --as mturk
prolific | flow adequacy | --as prolific
qualtrics | flow adequacy | - - ResponseId {item_id}_{system}_{dimension}
label studio | flow adequacy | --as label_studio
potato | flow text | item system user_id flow text
lighttag | flow text | meta.item meta.system annotator flow content
doccano | flow | meta.item meta.system {file} label
arena | votes | --as pairwise
mqm | mqm | --as mqm
experts in lists | flow adequacy text | id model_id {position} flow,adequacy decoded
pairs of three | votes | item system_a system_b - ann1..3
pairs and judges | votes judges | item system_a system_b - ann1..3,winner {file}
systems as columns | flow | item - WorkerId {system}
texts of systems | flow text | item - who rating_{system} output_{system}
words | flow | item system rater rating
numbers and words | flow | item system rater rating
z scores | z | {doc}/{seg} sys rater z
files of annotators | flow adequacy | item system {file} flow,adequacy
files of systems | flow text | item {file} rater flow output
files of dimensions | flow adequacy | id model worker score - {file}
a dimension a file | flow adequacy | id model worker flow,adequacy
annotators as columns | flow | item system - A1..3
annotators, dimensions | flow adequacy | item system - {dimension}_rater{annotator_id}
slots | flow text | item sys1..3 who natur1..3 ref1..3
by system | flow adequacy text | id - {position} outputs.{system}.{dimension} outputs.{system}.text
by item, system, annotator | flow | item_id system annotator_id flow
lists | flow adequacy | {position} Model - 'Human {annotator_id} {dimension}'
three files | flow adequacy text bleu chrf | item system who flow,adequacy text - - bleu,chrf
means | mean text bleu chrf | item system - quality text - - bleu,chrf
judges in files | bleu chrf | item model - - - - {file} score
winners by name | votes | item model_a model_b voter winner
best and worst | flow | item - - best
toloka | flow adequacy text | --as toloka
crowd and judge | votes judges | item left right rater winner
winners in capitals | votes | item a b who name
winners in columns | votes | item model_a model_b voter won_a,won_b,won_tie
"""


def drafted(name, flags, folder):
    """Draft a layout's study; give what it reads, or nothing, and the lines to be confirmed."""
    texts = FILES[name] if isinstance(FILES[name], dict) else {"r.csv": FILES[name]}
    folder.mkdir()
    for file, text in texts.items():
        (folder / file).write_text(text)
    done = CliRunner().invoke(main, ["new", *(str(folder / one) for one in texts), *flags])
    assert done.exit_code == 0, done.output
    try:
        return nb.read_study(folder), unconfirmed(folder)
    except ValueError:
        return None, unconfirmed(folder)


def by_annotator(who, rows):
    """Gather rows of each annotator, whatever annotators are called."""
    return sorted(sorted(own) for _, own in rows.groupby(list(who)))


def wrong(study, holds):
    """Name what a study does not hold as meant, or holds beside it."""
    made = study.outputs.set_index("output_id")
    place = made["item_id"].str[-1] + made["system"]
    there = T["item"].str[-1] + T["system"]
    pairs = [(there, place)] if "votes" not in holds else []
    if "text" in holds:
        pairs += [(there + T["text"], place + made["text"])]
    found = {"places or texts": [sorted({*meant}) == sorted(own) for meant, own in pairs]}
    judged = study.judgments
    judged = pd.DataFrame(columns=COLUMNS) if judged is None else judged
    dimensions = [one for one in holds if one in T and one != "text"]
    single = len(dimensions) == 1 and len(set(judged["dimension"])) == 1
    for one in dimensions:
        own = judged if single else judged[judged["dimension"] == one]
        rows = own["output_id"].map(place) + own["value"].astype("str")
        meant = by_annotator(T["who"], there + T[one].astype("float").astype("str"))
        found[one] = [len(own) > 0 and by_annotator(own["annotator_id"], rows) == meant]
    n_judged = len(T) * max(len(dimensions), "mqm" in holds) or len(TEXTS) * ("mean" in holds)
    found["judgments"] = [len(judged) == n_judged]
    scored = pd.DataFrame({"score": []}) if study.scores is None else study.scores
    meant = sorted(n for one in ("bleu", "chrf") if one in holds for n in TEXTS[one])
    found["scores"] = [sorted(scored["score"]) == meant]
    if "votes" in holds and (votes := study.preferences) is not None:
        a, b = votes["output_a"].map(place), votes["output_b"].map(place)
        rows = by_annotator(votes["annotator_id"], a + b + votes["choice"])
        shown = V["item"].str[-1] + V["a"] + V["item"].str[-1] + V["b"]
        found["votes"] = [rows == by_annotator(V["who"], shown + V["choice"].str.lower())]
    found["judges"] = [("judges" in holds) == (study.comparisons is not None)]
    return [what for what, right in found.items() if not all(right)]


def flags_of(holds, flags):
    """Name the flags that a line of `FLAGS` lists by position."""
    if flags.startswith("--as"):
        return flags.split()
    values = zip(VOTED if "votes" in holds else GIVEN, shlex.split(flags), strict=False)
    return [word for name, value in values if value != "-" for word in (f"--{name}", value)]


@pytest.mark.parametrize(
    ("with_flags", "n_right"), [(False, 38), pytest.param(True, 41, marks=pytest.mark.release)]
)
def test_most_drafts_are_right_with_one_doubt_at_most_and_the_others_skeletons(
    with_flags, n_right, tmp_path
):
    rows = []
    for number, line in enumerate(FLAGS.splitlines()):
        name, holds, flags = (cell.strip() for cell in line.split("|"))
        chosen, folder = flags_of(holds, flags) if with_flags else [], tmp_path / f"draft{number}"
        study, doubts = drafted(name, chosen, folder)
        faults = wrong(study, holds.split()) if study else ["skeleton"]
        rows.append((name, folder, ", ".join(faults) or "right", len(doubts)))
    outcomes = pd.DataFrame(rows, columns=["layout", "folder", "outcome", "doubts"])
    right = outcomes[outcomes["outcome"] == "right"]
    assert len(right) == n_right
    assert right["doubts"].max() <= 1
    for doubtful in right["folder"][right["doubts"] == 1][:1]:
        checked = CliRunner().invoke(main, ["check", str(doubtful)])
        assert unconfirmed(doubtful)[0].partition(", line")[0] in checked.stdout
    others = outcomes.drop(right.index)
    assert set(others["outcome"]) == {"skeleton"}
    assert not with_flags or list(others["layout"]) == ["best and worst"]
