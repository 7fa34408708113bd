"""Words that mean missing, decimal commas and labeled numbers are read, or asked about."""

import json

import pytest

import nlgbench as nb
from nlgbench.runner import new_study
from nlgbench.study import read_folder
from nlgbench.study.csv_files import TableError

HEAD = "item,system,rater,flow\n"
LONG = HEAD + "1,a,x,{}\n1,b,x,{}\n2,a,x,{}\n2,b,x,{}\n"
SEMI = LONG.replace(",", ";").replace("flow", "flow;wit").replace("{}", "{};{}")
LISTS = [
    {"item": 1, "system": "a", "fluency": [3, "n/a"]},
    {"item": 1, "system": "b", "fluency": [2, 5]},
    {"item": 2, "system": "a", "fluency": ["unsure", "NA"]},
    {"item": 2, "system": "b", "fluency": [1, 4]},
]
BY_HAND = """settings: {{{}}}
tables:
  judgments:
    file: r.csv
    columns: {{item_id: item, system: system, annotator_id: rater, value: flow}}
    constants: {{dimension: flow}}
    {}
"""
#: File, content -> the values that `new` makes of it, in order; words that study.yml lists.
GUESSED = {
    "numbers": ("r.csv", LONG.format(3, "N/A", "No answer", 4), [3, 4], ["N/A", "No answer"]),
    "a dash": ("r.csv", LONG.format(3, "-", ".", "?"), [3], ["-", ".", "?"]),
    "apostrophes": ("r.csv", LONG.format("Don't know", "don\u2019t know", 2, ""), [2], None),
    "a scale": ("r.csv", LONG.format("Agree", "Disagree", "#N/A", "agree"), [2, 4, 4], ["#N/A"]),
    "yes and no": ("r.csv", LONG.format("Yes", "no", "can't tell", "no"), [0, 0, 1], None),
    "wide": ("r.csv", "item,system,r1,r2\n1,a,3,null\n1,b,nan,2\n2,a,1,4\n", [1, 2, 3, 4], None),
    "lists": ("r.json", json.dumps(LISTS), [1, 2, 3, 4, 5], ["n/a", "unsure", "NA"]),
    "labels": ("r.csv", LONG.format("4 - good", "1 (poor)", "5 \u2013 great", 2), [1, 2, 4, 5], []),
    "labels before": ("r.csv", LONG.format("good (4)", "Poor: 1", "n/a", "4"), [1, 4, 4], ["n/a"]),
    "two words": ("r.csv", LONG.format("Good", "Bad", "good", "bad"), [0, 0, 1, 1], []),
    "commas": (
        *("r.csv", SEMI.format("3,5", 2, "4,0", 1, "1,5", 3, "5", 4)),
        *([1, 1.5, 2, 3, 3.5, 4, 4, 5], []),
    ),
    "quoted commas": ("r.csv", LONG.format('"3,5"', '"4,25"', 2, "N/A"), [2, 3.5, 4.25], ["N/A"]),
}


def guessed(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    new_study.new(tmp_path, [tmp_path / name])
    return (tmp_path / "study.yml").read_text()


@pytest.mark.parametrize("case", GUESSED)
def test_what_annotators_write_beside_numbers_is_understood(tmp_path, case):
    name, content, values, words = GUESSED[case]
    text = guessed(tmp_path, name, content)
    study = nb.read_study(tmp_path)
    assert sorted(study.judgments["value"]) == values
    assert words is None or study.settings.get("missing", []) == words
    assert ("missing: [" in text) == bool(study.settings.get("missing"))


def test_a_vote_of_none_is_never_missing(tmp_path):
    votes = "item,system_a,system_b,who,winner\n1,a,b,x,none\n2,a,b,x,a\n3,a,b,x,b\n"
    assert "missing" not in guessed(tmp_path, "v.csv", votes)


@pytest.mark.parametrize("number", ["1,250", "2,000"])
def test_a_comma_that_may_separate_thousands_is_asked_about(tmp_path, number):
    (tmp_path / "r.csv").write_text(LONG.replace(",", "\t").format(number, 3, 4, 5))
    about = tmp_path / "study.yml"
    about.write_text(BY_HAND.format("", 'delimiter: "\\t"'))
    with pytest.raises(TableError, match=f"decimal point: if.*thousands.*'{number}'"):
        nb.read_study(tmp_path)
    about.write_text(BY_HAND.format("", 'delimiter: "\\t"\n    decimal: ","'))
    assert nb.read_study(tmp_path).judgments["value"].iloc[0] == float(number.replace(",", "."))


#: Settings, a further line of the table -> values, or what the error says.
DECLARED = {
    "all columns": ("missing: [no idea, 9]", "", [3, 4]),
    "their column": ("missing: {flow: [no idea, 9]}", "", [3, 4]),
    "our column": ('missing: {value: [" no idea", "9"]}', "", [3, 4]),
    "another column": ("missing: {rater: [no idea, 9]}", "", "number.*missing.*no idea"),
    "a word that is not listed": ("missing: [9]", "", "`settings: {missing: .*no idea"),
    "null in values": ("", "values: {value: {no idea: null, 9: }}", [3, 4]),
    "null and a number": ("", "values: {value: {no idea: ~, 9: 5}}", [3, 5, 4]),
    "an unknown column": ("missing: {flaw: [9]}", "", "missing: 'flaw' is unknown.*'flow'"),
    "no list": ("missing: 9", "", "missing must be a non-empty list"),
}


@pytest.mark.parametrize("case", DECLARED)
def test_missing_words_are_declared_for_all_columns_or_one(tmp_path, case):
    settings, more, result = DECLARED[case]
    (tmp_path / "r.csv").write_text(LONG.format(3, "no idea", 9, 4))
    (tmp_path / "study.yml").write_text(BY_HAND.format(settings, more))
    if isinstance(result, str):
        with pytest.raises(TableError, match=result):
            nb.read_study(tmp_path)
        return
    problems: list[str] = []
    study, notes = read_folder(tmp_path, problems)
    assert study.judgments["value"].tolist() == result
    assert f"empty cells of judgments skipped: {4 - len(result)}." in notes[0]
