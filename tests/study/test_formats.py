"""Logs of tools, invented in the shapes that the tools write, become tables by one line."""

import json
import math
import os
import re
import zipfile
from pathlib import Path

import pytest

from nlgbench.study import read_folder
from nlgbench.study.csv_files import TableError
from nlgbench.study.formats import FORMATS, draft, records

LOGS = Path(os.environ.get("NLGBENCH_DATA", ""), "judge-logs")
HOSTILE = '<script>alert(1)</script> =1+1 \u202egnp\u202c, "x"\r\n\'--'


def read(place, text, files):
    """Write a folder's files, and read it: a study, what is noted, and what is wrong."""
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list) and path.suffix == ".jsonl":
            content = "\n".join(map(json.dumps, content))
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    (place / "study.yml").write_text(text)
    problems: list[str] = []
    return (*read_folder(place, problems), problems)


def shown(frame, *columns):
    """Write columns of a table's rows, in order."""
    found = frame[list(columns)].round(12).itertuples(index=False, name=None)
    return "; ".join(sorted(" ".join(map(str, row)) for row in found))


def annotation(n, preference, second=None, **more):
    """One of AlpacaEval's; `second` is the chance that the text shown second wins."""
    tokens = {"m": 1 - second, "M": second} if second is not None else {}
    top = [{"token": one, "logprob": math.log(chance)} for one, chance in tokens.items()]
    systems = {"generator_1": "gold", "generator_2": "example", "annotator": "judge"}
    texts = {"instruction": f"ask {n}", "output_1": "ref", "output_2": f"{HOSTILE}{n}"}
    token = {"logprobs": {"content": [{"top_logprobs": top}]}} if top else None
    made = {**systems, **texts, "preference": preference, "raw_completion": token}
    return made | {"dataset": "koala"} | more


VOTES = """rename: {system: {example: Null}}
tables:
  preferences:
    file: v.csv
    columns: {item_id: item, system_a: left, system_b: right, annotator_id: who, choice: vote}
"""


def test_the_order_of_alpaca_eval_follows_from_its_log_probabilities(tmp_path):
    made = [annotation(1, 1.9, 0.9), annotation(2, 1.9, 0.1), annotation(3, 1.5)]
    made += [annotation(4, 2.0), annotation(5, None)]
    files = {"a.json": made, "v.csv": "item,left,right,who,vote\n1,gold,example,x,a\n"}
    study, notes, problems = read(tmp_path, draft("alpaca-eval", ["a.json"]) + VOTES, files)
    assert not problems
    found = shown(study.comparisons, "output_a", "output_b", "prob_a", "prob_tie", "prob_b")
    wanted = "1/gold 1/Null 0.1 0.0 0.9; 2/Null 2/gold 0.9 0.0 0.1; 3/gold 3/Null 0.0 1.0 0.0; "
    assert found == wanted + "4/gold 4/Null 0.0 0.0 1.0"
    for note, what in zip(notes, ("ties whose", "verdicts whose", "no preference"), strict=True):
        assert note.startswith(f"1 of 5 records: {what}")
    own = study.outputs.set_index("output_id").loc["2/Null"]
    assert (own["text"], own["context"], own["dataset"]) == (f"{HOSTILE}2", "ask 2", "koala")
    assert shown(study.preferences, "output_a", "output_b") == "1/gold 1/Null"


@pytest.mark.skipif(not LOGS.is_dir(), reason="NLGBENCH_DATA has no judge-logs")
def test_released_annotations_and_logs(tmp_path):
    files = {path.name: path.read_bytes() for path in LOGS.glob("alpaca_eval/*.json")}
    study, _, _ = read(tmp_path / "a", "format: alpaca_eval\n", files)
    sided = study.comparisons[study.comparisons["prob_tie"] == 0]
    first, second = (sided[sided[f"output_{side}"].str.endswith("claude-2")] for side in "ab")
    assert (round(first["prob_a"].mean(), 3), round(second["prob_b"].mean(), 3)) == (0.091, 0.253)
    files = {path.name: path.read_bytes() for path in LOGS.glob("inspect/*")}
    study, notes, _ = read(tmp_path / "i", "format: inspect\n", files)
    assert len(study.outputs) == 13 and study.scores["score"].sum() == 5
    assert "3 of 16 records: the log's status is cancelled, not success." in notes


def sample(n, epoch, **more):
    said = {"choices": [{"message": {"content": [{"type": "text", "text": f"say {n}{epoch}"}]}}]}
    asked = [{"role": "user", "content": "ask"}, {"role": "user", "content": "more"}]
    scores = {"exact": {"value": "P"}, "rubric": {"value": {"tone": 3, "ok": True, "why": "so"}}}
    made = {"id": n, "epoch": epoch, "input": asked, "target": ["x", "y"], "output": said}
    return {**made, "scores": scores, "metadata": {"topic": "t", "Email": "e@x"}} | more


def log(model, epochs=1):
    return {
        "status": "success",
        "eval": {"task": "t", "model": model, "config": {"epochs": epochs}},
    }


def archive(path, head, samples, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("header.json", json.dumps(head))
        for one in samples:
            made.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))


def test_logs_of_inspect_are_a_study_of_their_models(tmp_path):
    archive(tmp_path / "a.eval", log("lab/a", 2), [sample(10, 1), sample(2, 1), sample(2, 2)])
    failed = sample(3, 1, error={"message": "no"})
    logs = {"b.json": log("b") | {"samples": [sample(2, 1, scores=None), failed]}}
    study, notes, problems = read(tmp_path, "format: inspect\nsettings: {extra: [topic]}\n", logs)
    assert not problems and shown(study.outputs, "output_id", "text", "topic") == (
        "t/10/lab/a/1 say 101 t; t/2/b say 21 t; t/2/lab/a/1 say 21 t; t/2/lab/a/2 say 22 t"
    )
    assert study.outputs["item_id"].tolist() == ["t/2", "t/2", "t/10", "t/2"]
    assert set(study.outputs["context"]) == {"ask\n\nmore"} and len(study.references) == 4
    scores = study.scores[study.scores["output_id"] == "t/2/lab/a/2"]
    assert shown(scores, "evaluator", "score") == "exact 0.5; rubric/ok 1.0; rubric/tone 3.0"
    assert notes == [
        "3 of 5 records: rubric/why left out (neither a number nor C, I, P or N).",
        "1 of 5 records: no output, so the sample is left out.",
        "columns not read: Email. `settings: extra` can keep them.",
    ]


def harness(responses, asked, **more):
    arguments = {f"gen_args_{at}": {"arg_0": "ask", "arg_1": one} for at, one in enumerate(asked)}
    return {"doc_id": 0, "target": "x", "arguments": arguments, "resps": responses, **more}


STRICT = harness([["so"]], [{}], filter="strict", metrics=["match"], match=1.0)
LOOSE = STRICT | {"filter": "loose", "metrics": ["match", "f1"], "match": 0, "f1": [1, 0]}
LIKELY = harness([[["-2", "False"]], [["-1", "False"]]], [" no", " yes"], metrics=["acc"], acc=True)
JUDGED = {"question_id": 81, "judge": ["gpt-4", "v1"], "turn": 2}
PAIR = JUDGED | {"model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie"}
ANSWER = {"question_id": 81, "model_id": "a", "choices": [{"turns": ["first", "then"]}]}
SINGLE = [JUDGED | {"model": "a", "score": 7}, JUDGED | {"model": "b", "score": -1}]
TALK = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "say"}]
BATTLE = {"model_a": "a", "model_b": "b", "conversation_a": TALK, "conversation_b": TALK}
VOTED = [BATTLE | {"winner": "tie (bothbad)", "judge": "u7"}, BATTLE | {"win": "model_b"}]
MACHINE = BATTLE | {"winner": "model_a", "judge": "gpt4_pair", "question_id": 5, "turn": 1}
GRADES = [{"score": score, "assertion": {"type": "contains"}} for score in (1, 0)]
RESPONSE = {"response": {"output": [1]}, "prompt": {"raw": "Do x"}, "provider": {"id": "p"}}
TESTED = {**RESPONSE, "vars": {"x": 1}, "score": 0.5, "namedScores": {"tone": 1}}
GRADED = TESTED | {"gradingResult": {"componentResults": [*GRADES, None]}}
OTHER = TESTED | {"prompt": {"raw": "Do y"}, "namedScores": None}
FILES = {
    "lm_eval": {
        "m/samples_a_b_2026-01-01T10-00-00.123.jsonl": [STRICT, LOOSE],
        "n/samples_c_2026-01-01T10-00-00.123.jsonl": [LIKELY],
    },
    "mt_bench": {
        "j.jsonl": [*SINGLE, PAIR, PAIR | {"turn": 1, "g2_winner": "error"}],
        "t.jsonl": [ANSWER],
    },
    "arena": {"b.json": [*VOTED, MACHINE]},
    "promptfoo": {"r.json": {"results": {"results": [GRADED, OTHER, OTHER, {"response": None}]}}},
}
READ = [
    "lm_eval outputs output_id text context: a_b/0/m so ask; c/0/n yes ask",
    "lm_eval scores evaluator score: acc 1.0; match@loose 0.0; match@strict 1.0",
    "lm_eval references item_id text: a_b/0 x; c/0 x",
    "mt_bench outputs output_id text: 81/1/a first; 81/1/b ; 81/2/a then; 81/2/b ",
    "mt_bench scores output_id evaluator score: 81/2/a gpt-4 7.0",
    "mt_bench comparisons output_a prob_a prob_tie: 81/1/a 1.0 0.0; 81/2/a 1.0 0.0; 81/2/b 0.0 1.0",
    "arena outputs output_id text: 1/a say; 1/b say; 2/a say; 2/b say; 5/1/a say; 5/1/b say",
    "arena preferences output_a annotator_id choice: 1/a w001 tie; 2/a w002 b",
    "arena comparisons output_a output_b prob_a: 5/1/a 5/1/b 1.0",
    "promptfoo outputs output_id text: 1/p (prompt 2) [1]; 1/p (prompt 2)/2 [1]; 1/p [1]",
    "promptfoo scores evaluator score: contains 0.5; score 0.5; score 0.5; score 0.5; tone 1.0",
]


@pytest.mark.parametrize("what", READ)
def test_records_become_rows(what, tmp_path):
    name, table, *columns = what.partition(":")[0].split()
    study, notes, problems = read(tmp_path, f"format: {name}\n", FILES[name])
    assert not problems and shown(getattr(study, table), *columns) == what.partition(": ")[2]
    left_out = {"lm_eval": "f1 left out", "mt_bench": "no score", "promptfoo": "no output"}
    assert left_out.get(name, "") in "".join(notes)


def test_the_columns_of_a_harness_task_can_be_kept(tmp_path):
    files = {"m/samples_a.jsonl": [STRICT | {"doc": {"subject": "law", "choices": [1]}}]}
    study, notes, _ = read(tmp_path, "format: lm_eval\nsettings: {extra: [subject]}\n", files)
    assert study.outputs["subject"].tolist() == ["law"] and not notes


def test_columns_of_a_format_need_no_line(tmp_path):
    errors = "system\tdoc\tseg_id\trater\tcategory\tseverity\nA\td\t1\tr\tFluency/x\tMajor\n"
    study, _, problems = read(tmp_path, "format: mqm\n", {"m.tsv": errors})
    assert not problems and study.judgments["value"].tolist() == [5]
    assert study.settings["lower_is_better"] == ["mqm"] and study.settings["quality"] == "mqm"


ALPACA = "format: alpaca_eval\n"
RIGHT = {"a.json": [annotation(1, 1.9, 0.9)]}
TWO = RIGHT | {"b.json": [annotation(1, 1.9, output_1="other")]}
#: study.yml, files, and what is said, in parts.
REFUSED = [
    ("format: alpaca\n", {}, ["mean 'alpaca_eval'?", "goes under `tables`"]),
    (ALPACA, {}, ["no file", "*.json. Correct `files`"]),
    (f"{ALPACA}files: a.jsn\n", RIGHT, ["mean 'a.json'?"]),
    ("files: a.json\n", {}, ["`files` needs a `format`"]),
    (
        f"{ALPACA}rename: {{system: {{exmple: x}}}}\n",
        RIGHT,
        ["rename: system: 'exmple' is unknown"],
    ),
    (f"{ALPACA}tables: {{outputs: {{file: o}}}}\n", RIGHT, ["outputs also comes from `format`"]),
    (
        ALPACA,
        {"a.json": [{"k": 1}] * 2},
        ["no key 'instruction'. Found k. Invalid records in all: 2"],
    ),
    (ALPACA, {"a.json": {"id": 1}}, ["a.json has no list of records"]),
    (ALPACA, {"a.json": [annotation(1, 1, output_2="\ud800")]}, ["record 1: a text contains an"]),
    (ALPACA, {"a.json": [annotation(2, 2.9)]}, ["'prob_a' must be", "(a.json, record 1)"]),
    (ALPACA, TWO, ["several rows for system 'gold' on item '1'", "row 3 (b.json, record 1)"]),
    ("format: mt_bench\n", {"j.jsonl": '{"question_id": 1'}, ["j.jsonl, line 1 is not valid"]),
    ("format: prolific\n", {"p.csv": "x,y\n1,2\n"}, ["lacks the columns", "Found columns x, y"]),
    ("format: inspect\n", {"a.eval": b"PK\x03\x04"}, ["a.eval is not a complete archive"]),
]


@pytest.mark.parametrize(("text", "files", "wanted"), REFUSED)
def test_what_a_format_cannot_be_is_refused(text, files, wanted, tmp_path):
    try:
        study, _, problems = read(tmp_path, text, files)
    except TableError as error:
        study, problems = None, [str(error)]
    assert study is None and all(part in "\n".join(problems) for part in wanted), problems


@pytest.mark.parametrize(
    ("method", "said"),
    [(zipfile.ZIP_DEFLATED, "one member to 3,"), (93, "compressed by Zstandard, or not by")],
)
def test_archives_are_unpacked_up_to_a_limit(method, said, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MEMBER", 2000)
    path = tmp_path / "a.eval"
    archive(path, log("a"), [sample(1, 1, target="0" * 3000)], method if method < 93 else 0)
    if method == 93:  # which Python can write from version 3.14 on: name it in both headers
        content = path.read_bytes()
        for header in (rb"(PK\x03\x04.{4})\0\0", rb"(PK\x01\x02.{6})\0\0"):
            content = re.sub(header, b"\\1]\0", content, flags=re.DOTALL)  # ] is 93
        path.write_bytes(content)
    _, _, problems = read(tmp_path, "format: inspect\n", {})
    assert said in problems[0] and f"`inspect log convert {path} --to json" in problems[0]


def test_each_format_is_documented():
    docs = (Path(__file__).parents[2] / "docs" / "own-study.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in docs for name in FORMATS)
