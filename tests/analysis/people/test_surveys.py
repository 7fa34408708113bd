"""Surveys: balance of the layout, what workers see, and answers read back as judgments."""

import html
import json
from collections import Counter
from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import nlgbench as nb
from nlgbench.analysis.people import surveys
from nlgbench.runner.cli import main
from nlgbench.study import csv_files

KINDS = ("likert", "pairwise", "real-or-fake", "typicality")
FORMS = ("mturk", "flattened", "json", "wide", "long")
ODD = "a <b>\"$x\"</b> & 'y'\n${page} שלום 😀"


def world(n_items=6, systems=("alpha", "beta", "human"), text="Text"):
    """A study of which each output's text is its own."""
    rows = [
        (f"{system}-{item}", f"i{item}", system, f"{text} {item}.{number}")
        for item in range(n_items)
        for number, system in enumerate(systems)
    ]
    return nb.Study(pd.DataFrame(rows, columns=["output_id", "item_id", "system", "text"]))


def answered(key, n_workers, seed=0, right=True):
    """Simulate workers: a row for each question of each submission."""
    rng = np.random.default_rng(seed)
    rows = []
    for page, fields in key.groupby("page", sort=False):
        for number in range(n_workers):
            made = fields.assign(worker=f"WORKER-{number}", status="Approved", page=page)
            drawn = [rng.choice(one.split("|")) for one in fields["choices"]]
            rows.append(made.assign(value=drawn))
    table = pd.concat(rows, ignore_index=True)
    check = table["expected"] != ""
    return table.assign(value=table["value"].mask(check & right, table["expected"]))


def written(table, form, path):
    """Write answers as a platform gives them."""
    if form == "long":
        table[["page", "worker", "status", "answer", "value"]].to_csv(path, index=False)
        return path
    wide = table.pivot(index=["page", "worker", "status"], columns="answer", values="value")
    about = ["page", "worker"] if form == "wide" else ["Input.page", "WorkerId"]
    fields = list(wide)
    wide = wide.reset_index().rename(columns=dict(zip(["page", "worker"], about, strict=True)))
    choices = table["choices"].iloc[0].split("|")
    if form == "mturk":
        wide = wide.rename(columns={name: f"Answer.{name}" for name in fields})
    elif form == "flattened":
        ticks = {
            f"Answer.{name}.{one}": (wide[name] == one).map({True: "true", False: "false"})
            for name in fields
            for one in choices
        }
        wide = pd.concat([wide.drop(columns=fields), pd.DataFrame(ticks)], axis=1)
    elif form == "json":
        sent = [
            json.dumps([{name: {one: row[name] == one for one in choices} for name in fields}])
            for row in wide.to_dict("records")
        ]
        wide = wide.drop(columns=fields).assign(**{"Answer.taskAnswers": sent})
    if form != "wide":
        wide = wide.rename(columns={"status": "AssignmentStatus"})
        wide = wide.assign(HITId="H", City="Rome", IPAddress="10.0.0.1", Approve="")
    wide.to_csv(path, index=False)
    return path


def meant(table):
    """Say as a set what the simulated workers said of which output."""
    real = table[table["expected"] == ""]
    columns = ["output_a", "output_b", "dimension", "page", "worker", "value"]
    return Counter(real[columns].itertuples(index=False, name=None))


def found(answers):
    """Say the same of what was read back; workers are numbered as they appear."""
    if answers.preferences is not None:
        rows = answers.preferences.rename(columns={"choice": "value"})
    else:
        rows = answers.judgments.rename(columns={"output_id": "output_a"}).assign(output_b="")
        rows["value"] = rows["value"].map("{:g}".format)
    workers = rows["annotator_id"].map(lambda name: f"WORKER-{int(name[1:]) - 1}")
    rows = rows.assign(worker=workers, page=rows["group_id"])
    columns = ["output_a", "output_b", "dimension", "page", "worker", "value"]
    return Counter(rows[columns].itertuples(index=False, name=None))


def spread(counts):
    """Give the difference of the greatest and the least."""
    return max(counts) - min(counts)


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    n_pages=st.integers(1, 12),
    seed=st.integers(0, 5),
)
def test_pages_hold_systems_as_evenly_as_can_be(sizes, n_pages, seed):
    # The first half of the systems is one class, as human texts are.
    labels = np.repeat([f"{k >= len(sizes) // 2:d} {k}" for k in range(len(sizes))], sizes)
    pages = surveys.deal(labels, n_pages, np.random.default_rng(seed))
    assert spread(np.bincount(pages, minlength=n_pages)) <= 1
    for part in (labels, np.array([label[0] for label in labels])):
        for label in np.unique(part):
            assert spread(np.bincount(pages[part == label], minlength=n_pages)) <= 1


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 9), n_items=st.integers(1, 15), data=st.data(), seed=st.integers(0, 5))
def test_pairs_are_balanced_over_outputs_systems_and_positions(n, n_items, data, seed):
    possible = [m for m in range(1, n) if n * m % 2 == 0]
    n_opponents = data.draw(st.sampled_from(possible))
    systems = [f"s{k}" for k in range(n)]
    outputs = world(n_items, systems).outputs
    pairs = surveys.pair_up(outputs, n_opponents, np.random.default_rng(seed))
    shown = Counter(pairs["output_a"]) + Counter(pairs["output_b"])
    assert set(shown) == set(outputs["output_id"]) and set(shown.values()) == {n_opponents}
    assert len({frozenset(pair) for pair in pairs.itertuples(index=False)}) == len(pairs)
    named = outputs.set_index("output_id")
    assert (
        named.loc[pairs["output_a"], "item_id"].to_numpy()
        == named.loc[pairs["output_b"], "item_id"].to_numpy()
    ).all()
    a, b = (named.loc[pairs[side], "system"].to_numpy() for side in ("output_a", "output_b"))
    first = Counter(zip(a, b, strict=True))
    met = [first[one, two] + first[two, one] for one, two in combinations(systems, 2)]
    assert spread(met) <= 1
    for one, two in combinations(systems, 2):
        assert abs(first[one, two] - first[two, one]) <= 1


@pytest.mark.parametrize(
    ("n_systems", "per_page", "most"),
    [(4, 4, 0), (4, 10, 0), (4, 5, 2), (6, 15, 0), (6, 9, 2), (5, 10, 0)],
)
def test_pages_of_pairs_hold_systems_evenly(tmp_path, n_systems, per_page, most):
    study = world(20, [f"s{k}" for k in range(n_systems)])
    nb.export_survey(
        study, tmp_path / "s", kind="pairwise", per_output=2 * (n_systems - 1), per_page=per_page
    )
    key = pd.read_csv(tmp_path / "s" / "survey-key.csv", keep_default_na=False)
    real = key[key["expected"] == ""]
    for _, page in real.groupby("page"):
        shown = [*page["output_a"], *page["output_b"]]
        counts = Counter(one.split("-")[0] for one in shown)
        assert spread([counts[system] for system in study.systems]) <= most


@pytest.mark.parametrize(
    ("per_output", "sizes", "expected"),
    [
        (1, [2], (1, 1)),
        (3, [4], (3, 1)),
        (6, [4], (2, 3)),
        (6, [3], (3, 2)),
        (6, [17], (3, 2)),
        (8, [17, 4], (4, 2)),
        (1, [3], "take 2"),
        (3, [3, 5], "take 4"),
        (5, [2], (5, 1)),
    ],
)
def test_votes_on_pairs_are_two_at_least_where_that_is_possible(per_output, sizes, expected):
    parts = [
        world(1, [f"s{k}" for k in range(size)]).outputs.assign(item_id=f"i{size}")
        for size in sizes
    ]
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            surveys.votes_and_opponents(pd.concat(parts), per_output)
    else:
        assert surveys.votes_and_opponents(pd.concat(parts), per_output) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_output_gets_its_number_of_judgments_and_no_more(tmp_path, kind):
    study = world(7, ("alpha", "beta", "gamma", "human"))
    key = nb.export_survey(study, tmp_path / "s", kind=kind, per_output=4, per_page=5)
    assert spread(key.groupby("page").size()) == 0, "pages have the same slots"
    checks = key[key["expected"] != ""]
    assert (checks["output_a"] == "").all() and set(checks["page"]) == set(key["page"])
    first = (tmp_path / "s" / "survey.html").read_text().splitlines()[0]
    n_workers = int(first.split(": ")[1].split(".")[0])
    answers = answered(key, n_workers)
    real = answers[answers["expected"] == ""]
    shown = Counter(real["output_a"]) + Counter(real["output_b"])
    shown.pop("", None)
    assert set(shown.values()) == {4} and len(shown) == len(study.outputs)
    if kind != "pairwise":
        real = key[key["expected"] == ""]
        human = real["output_a"].str.startswith("human").groupby(real["page"]).sum()
        assert spread(human) <= 1


@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    form=st.sampled_from(FORMS),
    n_workers=st.integers(1, 3),
    n_gotchas=st.integers(0, 2),
    several=st.booleans(),
    seed=st.integers(0, 99),
)
def test_answers_come_back_as_they_were_given(
    tmp_path_factory, kind, form, n_workers, n_gotchas, several, seed
):
    home = tmp_path_factory.mktemp("survey")
    asked = ["fluency", "fact: <b>"] if several and kind in ("likert", "pairwise") else None
    key = nb.export_survey(
        world(4, ("alpha", "human")),
        home / "s",
        kind=kind,
        dimensions=asked,
        per_page=3,
        n_gotchas=n_gotchas,
        seed=seed,
    )
    given_ = answered(key, n_workers, seed)
    answers = nb.import_survey(home / "s", written(given_, form, home / "results.csv"))
    assert found(answers) == meant(given_)
    n_real = int((given_["expected"] == "").sum())
    n_submissions = n_workers * key["page"].nunique()
    assert answers.counts.to_numpy().tolist() == [["kept", n_submissions, n_real]]


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_used_is_set_aside_and_counted(tmp_path, form):
    study = world(6, ("alpha", "human"))
    key = nb.export_survey(study, tmp_path / "s", kind="real-or-fake", per_page=4)
    n = 4  # real answers of a submission
    table = answered(key, 4)
    worker, page = table["worker"], table["page"]
    pages = page.unique()
    table.loc[(worker == "WORKER-0") & (page == pages[0]), "status"] = "Rejected"
    wrong = (worker == "WORKER-1") & (page == pages[1]) & (table["expected"] != "")
    table.loc[wrong, "value"] = table.loc[wrong, "expected"].map({"0": "1", "1": "0"})
    missed = (worker == "WORKER-1") & (page == pages[2]) & (table["expected"] != "")
    table.loc[missed, "value"] = ""
    real = (worker == "WORKER-2") & (page == pages[2]) & (table["expected"] == "")
    table.loc[real & real.cumsum().eq(1), "value"] = ""
    answers = nb.import_survey(tmp_path / "s", written(table, form, tmp_path / "results.csv"))
    assert answers.counts.set_index("what").to_dict("index") == {
        "kept": {"submissions": 9, "answers": 9 * n - 1},
        "failed an attention check": {"submissions": 2, "answers": 2 * n},
        "left blank": {"submissions": 1, "answers": 1},
        "status rejected": {"submissions": 1, "answers": n},
    }
    # The same file twice: all that was kept was there before.
    twice = nb.import_survey(tmp_path / "s", [tmp_path / "results.csv"] * 2)
    again = "a second submission of a page by one worker"
    assert twice.counts.set_index("what").loc[again, "submissions"] == 11
    pd.testing.assert_frame_equal(twice.judgments, answers.judgments)


def test_who_answers_rightly_is_right_and_who_always_says_program_half_the_time(tmp_path):
    study = world(10, ("alpha", "human"))
    key = nb.export_survey(study, tmp_path / "s", kind="real-or-fake", per_page=4)
    truth = key["output_a"].str.startswith("human").map({True: "1", False: "0"})
    for said, expected in ((truth, 1.0), ("0", 0.5)):
        rows = [key.assign(worker=name, status="", value=said) for name in "xyz"]
        table = pd.concat(rows, ignore_index=True)
        table["value"] = table["value"].mask(table["expected"] != "", table["expected"])
        answers = nb.import_survey(tmp_path / "s", written(table, "long", tmp_path / "r.csv"))
        right = nb.accuracy(study.replace(judgments=answers.judgments)).set_index("row")
        assert right.loc["all", ["estimate", "n_votes"]].tolist() == [expected, 60]


def test_no_person_is_carried_over(tmp_path):
    key = nb.export_survey(world(), tmp_path / "s", kind="likert")
    table = answered(key, 2)
    answers = nb.import_survey(tmp_path / "s", written(table, "mturk", tmp_path / "r.csv"))
    assert list(answers.judgments) == [
        *("output_id", "annotator_id", "dimension", "value", "group_id")
    ]
    assert set(answers.judgments["annotator_id"]) == {"w001", "w002"}
    told = answers.judgments.to_csv() + answers.counts.to_csv()
    assert not any(word in told for word in ("WORKER", "Rome", "10.0.0.1"))


@pytest.mark.parametrize("kind", KINDS)
def test_workers_see_texts_and_no_system(tmp_path, kind):
    study = world(5, ("alpha", "beta", "human"))
    nb.export_survey(study, tmp_path / "s", kind=kind, per_output=4, per_page=4)
    shown = [tmp_path / "s" / name for name in ("survey-mturk.csv", "survey-plain.csv")]
    for path in (*shown, tmp_path / "s" / "survey.html"):
        told = path.read_text()
        assert not any(name in told for name in ("alpha", "beta", "human", "i3"))
    for path in shown:
        assert all(text in path.read_text() for text in study.outputs["text"])


def test_a_layout_follows_from_its_seed(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        nb.export_survey(world(), tmp_path / name, kind="likert", seed=seed)
    read = {
        name: {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in "abc"
    }
    assert read["a"] == read["b"] and read["a"] != read["c"]
    slots = pd.read_csv(tmp_path / "a" / "survey-key.csv", keep_default_na=False)
    order = slots.loc[slots["expected"] == "", "output_a"].str.split("-").str[0].tolist()
    assert order != sorted(order), "systems are mixed on a page"


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_any_text_is_ascii_that_shows_it_and_nothing_else(text):
    written = surveys.entities(text)
    assert written.isascii() and written.isprintable()
    assert not any(mark in written for mark in "<>\"'$\n\t")
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    legible = [
        one if one in "\n\t" or one.isprintable() or one > "\u009f" else "\ufffd" for one in plain
    ]
    assert html.unescape(written) == "".join(legible)


class Page(HTMLParser):
    """What a page has: its tags, and where its placeholders stand."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.open, self.placed, self.fields, self.bare, self.attributes = [], [], [], 0, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes += [value or "" for _, value in attrs]
        if tag == "input":
            values = dict(attrs)
            self.fields.append((values["name"], values["value"]))
            self.bare += "label" not in self.open or "fieldset" not in self.open
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "tags are nested"

    def handle_data(self, data):
        self.placed += [part.split("}")[0] for part in data.split("${")[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_a_place_for_every_column_and_a_field_for_every_answer(tmp_path, kind):
    study = world()
    study = study.replace(outputs=study.outputs.assign(context="Who?"))
    asked = ["flow", "<i>${page}"] if kind in ("likert", "pairwise") else None
    key = nb.export_survey(study, tmp_path / "s", kind=kind, dimensions=asked, per_output=4)
    page = Page((tmp_path / "s" / "survey.html").read_text())
    assert not page.open and not page.bare, "every field has a label, in a fieldset"
    assert not any("${" in value for value in page.attributes)
    batch = pd.read_csv(tmp_path / "s" / "survey-mturk.csv", dtype=str)
    assert sorted(page.placed) == sorted(batch.columns)
    fields = {
        (name, value)
        for name, choices in zip(key["answer"], key["choices"], strict=True)
        for value in choices.split("|")
    }
    assert len(page.fields) == len(fields) and set(page.fields) == fields


def test_markup_in_a_text_stays_text_in_the_batch(tmp_path):
    nb.export_survey(world(text=ODD), tmp_path / "s", kind="likert")
    batch = (tmp_path / "s" / "survey-mturk.csv").read_text(encoding="ascii")
    assert "<b>" not in batch and "${" not in batch and "&lt;b&gt;" in batch
    plain = pd.read_csv(tmp_path / "s" / "survey-plain.csv")
    assert plain["text"].str.startswith(ODD).sum() == 18


WRONG_LAYOUTS = [
    ({"kind": "likret"}, {}, "Did you mean 'likert'"),
    ({"per_output": 0}, {}, "per_output must be at least 1"),
    ({"per_page": 0}, {}, "per_page must be at least 1"),
    ({"n_gotchas": -1}, {}, "n_gotchas must be a whole number, not negative"),
    ({"dimensions": ["fluency", " "]}, {}, "dimensions must have names"),
    ({"kind": "typicality", "dimensions": ["x"]}, {}, "typicality asks one thing"),
    ({}, {"text": ""}, "output 'alpha-0' has no text to show .*18"),
    ({"kind": "real-or-fake"}, {"is_human": False}, "0 of 18 outputs are human"),
    ({"kind": "pairwise", "per_output": 3}, {}, "per_output = 3 .* take 4"),
    ({"kind": "pairwise"}, {"system": "a"}, "item 'i0' has outputs of one system alone"),
    ({"kind": "pairwise"}, {"item_id": "1"}, "two outputs of system 'alpha'"),
]


@pytest.mark.parametrize(("options", "changed", "message"), WRONG_LAYOUTS)
def test_what_cannot_be_laid_out_is_refused_and_leaves_nothing(tmp_path, options, changed, message):
    study = world()
    study = study.replace(outputs=study.outputs.assign(**changed))
    with pytest.raises(ValueError, match=message):
        nb.export_survey(study, tmp_path / "s", **{"kind": "likert"} | options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mark", ["\r", "\r\n", '"', ",", "\u2028", "\x85"])
def test_any_text_is_whole_in_the_plain_file(tmp_path, mark):
    study = world(text=f"a{mark}b")
    nb.export_survey(study, tmp_path / "s", kind="likert", n_gotchas=0)
    plain, _ = csv_files.parse(tmp_path / "s" / "survey-plain.csv")
    assert set(study.outputs["text"]) <= set(plain["text"])


def test_a_survey_that_is_out_is_not_replaced(tmp_path):
    nb.export_survey(world(), tmp_path / "s", kind="likert")
    before = (tmp_path / "s" / "survey-key.csv").read_bytes()
    with pytest.raises(FileExistsError, match="must not change while workers answer"):
        nb.export_survey(world(), tmp_path / "s", kind="likert", seed=1)
    assert (tmp_path / "s" / "survey-key.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "Input.page",
            "likert-009",
            "row 3 .line 4., column 'page': 'likert-009' is no page .*Did you mean 'likert-00",
        ),
        ("WorkerId", "", "row 3 .line 4., column 'worker': '' must not be empty"),
        ("Answer.answer_2", "6", "column 'Answer.answer_2': '6' is no answer .* 1, 2, 3, 4, 5"),
        ("Answer.answer_2", "good", "'good' is no answer"),
    ],
)
def test_answers_of_another_survey_are_named(tmp_path, column, value, message):
    key = nb.export_survey(world(), tmp_path / "s", kind="likert")
    path = written(answered(key, 2), "mturk", tmp_path / "r.csv")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[2, column] = value
    table.to_csv(path, index=False)
    with pytest.raises(ValueError, match=message):
        nb.import_survey(tmp_path / "s", path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("page,answer,value\nlikert-001,answer_1,4\n", "no column for the worker: name it 'Worker"),
        ("worker,answer_1\nA,4\n", "no column for the page"),
        ("worker,page\nA,likert-001\n", "has no answers: no column Answer.answer_1"),
        (
            "worker,page,answer,value\n" + "A,likert-001,answer_1,4\n" * 2,
            "row 2 .line 3., column 'answer': 'answer_1' has two values",
        ),
        ("worker,page,answer,value\nA,likert-001,answer_99,4\n", "'answer_99' is no field"),
        ("worker,page,Answer.taskAnswers\nA,likert-001,{\n", "row 1 .line 2., .* is no JSON"),
    ],
)
def test_a_file_that_holds_no_answers_is_named(tmp_path, content, message):
    nb.export_survey(world(), tmp_path / "s", kind="likert")
    (tmp_path / "r.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        nb.import_survey(tmp_path / "s", tmp_path / "r.csv")
    with pytest.raises(FileNotFoundError, match=r"has no survey-key\.csv"):
        nb.import_survey(tmp_path, tmp_path / "r.csv")


@pytest.mark.parametrize(("kind", "table"), [("likert", "judgments"), ("pairwise", "preferences")])
def test_the_command_line_lays_out_and_reads_back(tmp_path, kind, table):
    home = tmp_path / "mine"
    home.mkdir()
    world().outputs.to_csv(home / "outputs.csv", index=False)

    def call(line, code=0):
        done = CliRunner().invoke(main, line.split())
        assert done.exit_code == code, done.output
        return done.output

    told = call(f"survey export {home} --kind {kind} --per-output 4 --page 6 --gotchas 2 --seed 1")
    assert "18 texts on 3 pages" in told or "18 pairs on 3 pages" in told
    key = pd.read_csv(home / "survey" / "survey-key.csv", dtype=str, keep_default_na=False)
    results = written(answered(key, 4), "mturk", tmp_path / "results.csv")
    told = call(f"survey import {home} {results}")
    assert "kept  12           72" in told and f"{table}.csv" in told
    # Pairs are laid out for two votes each by two people; here are four people.
    n_votes = {"likert": 4, "pairwise": 8}[kind]
    assert f"judgments of an output (outputs): {n_votes} (18)" in told
    first = (home / f"{table}.csv").read_bytes()
    study = nb.read_study(home)
    assert len(getattr(study, table)) == 72
    # A table that is there stays, unless it is to be replaced; then it is kept.
    assert "--force" in call(f"survey import {home} {results}", 1)
    others = written(answered(key, 4, seed=9), "mturk", tmp_path / "others.csv")
    for _ in range(2):
        call(f"survey import {home} {others} --force")
    assert (home / f"{table}.csv").read_bytes() != first
    assert (home / f"{table}.csv.former").read_bytes() == first
    assert (home / f"{table}.csv.former-2").is_file()
    assert len(getattr(nb.read_study(home), table)) == 72
    assert not list(home.glob(".*"))


def test_answers_that_do_not_fit_the_study_leave_its_table_as_it_was(tmp_path):
    nb.export_survey(world(), tmp_path / "s", kind="likert")
    key = pd.read_csv(tmp_path / "s" / "survey-key.csv", dtype=str, keep_default_na=False)
    path = written(answered(key, 2), "long", tmp_path / "r.csv")
    answers = nb.import_survey(tmp_path / "s", path)
    (tmp_path / "judgments.csv").write_text("mine")
    with pytest.raises(ValueError, match="output_id 'beta-"):
        surveys.place_answers(tmp_path, world(systems=("alpha",)), answers, force=True)
    rejected = answered(key, 2).assign(status="Rejected")
    none = nb.import_survey(tmp_path / "s", written(rejected, "long", tmp_path / "none.csv"))
    with pytest.raises(ValueError, match=r"no answer is left .status rejected: 4."):
        surveys.place_answers(tmp_path, world(), none, force=True)
    assert (tmp_path / "judgments.csv").read_text() == "mine"
