"""Votes in other words: the winner's name, verdicts, marks and booleans mean the same votes."""

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main
from nlgbench.study.csv_files import TableError

PAIRS = [("owl", "elk"), ("elk", "owl"), ("owl", "elk"), ("elk", "owl")]
#: The system that wins each pair; empty for a tie.
WINNERS = ["owl", "owl", "", "elk"]
VOTES = ["a", "b", "tie", "a"]


def votes_file(cells, systems=("owl", "elk"), header="choice"):
    """Write the votes of one annotator, of systems under other names."""
    names = dict(zip(("owl", "elk"), systems, strict=True))
    rows = [f"q{n},{names[a]},{names[b]},kim,{cells[n]}" for n, (a, b) in enumerate(PAIRS)]
    return "\n".join([f"item,model_a,model_b,rater,{header}", *rows, ""])


def new(folder, text, *flags, name="votes.csv"):
    (folder / name).write_text(text)
    done = CliRunner().invoke(main, ["new", str(folder / name), *flags])
    return done, (folder / "study.yml").read_text() if done.exit_code == 0 else ""


def read_votes(folder):
    return nb.read_study(folder).preferences["choice"].tolist()


def in_words(a, b, tie):
    return [{"a": a, "b": b, "tie": tie}[vote] for vote in VOTES]


@pytest.mark.parametrize(
    "cells",
    [
        [winner or "tie" for winner in WINNERS],
        [winner.upper() or "Both bad" for winner in WINNERS],
        in_words("A>B", "B>A", "A=B"),
        in_words("[[A>>B]]", "A<B", "A~B"),
        in_words("[[A]]", "[[B]]", "[[C]]"),
        in_words("left", "right", "equally good"),
        in_words("A is much better", "Response B", "tie (bothbad)"),
        in_words("model_1", "model_2", "no preference"),
        in_words("1,0,0", "0,1,0", "0,0,1"),
        in_words("True,False", "False,True", "False,False"),
    ],
    ids=lambda cells: cells[0],
)
def test_votes_in_other_words_are_the_same_votes(cells, tmp_path):
    headers = ["winner", "won_model_a,won_model_b", "win_a,win_b,win_tie"]
    done, text = new(tmp_path, votes_file(cells, header=headers[cells[0].count(",")]))
    assert "To fix" not in done.output and read_votes(tmp_path) == VOTES
    assert ("rows without a mark are ties" in text) == (cells[0] == "True,False")


@pytest.mark.parametrize("systems", [("A", "B"), ("1", "2"), ("b", "a"), ("left", "right")])
def test_words_that_may_be_names_or_positions_are_names_to_confirm_first(systems, tmp_path):
    names = dict(zip(("owl", "elk"), systems, strict=True))
    _, text = new(tmp_path, votes_file([names.get(one, "tie") for one in WINNERS], systems))
    assert "# confirm: these words are names of systems" in text
    assert read_votes(tmp_path) == VOTES
    checked = CliRunner().invoke(main, ["check", str(tmp_path)]).output
    assert "`choice: " in checked.split("is guessed")[0]


def test_words_that_may_be_both_are_refused_without_a_map_which_decides(tmp_path):
    (tmp_path / "v.csv").write_text(votes_file(["A", "A", "tie", "B"], ("A", "B")))
    lines = "tables: {preferences: {file: v.csv, columns: {item_id: item, system_a: model_a, "
    lines += "system_b: model_b, annotator_id: rater}, values: {choice: %s}}}"
    (tmp_path / "study.yml").write_text(lines % "{}")
    with pytest.raises(TableError, match="may be a position or the name of a system"):
        nb.read_study(tmp_path)
    for changed, votes in (
        ('{"{system_a}": a, "{system_b}": b}', VOTES),
        ("{A: a, B: b}", ["a", "a", "tie", "b"]),
    ):
        (tmp_path / "study.yml").write_text(lines % changed)
        assert read_votes(tmp_path) == votes


@pytest.mark.parametrize(
    ("cells", "changed", "what"),
    [
        (["owl", "owl", "tie", "yak"], "{}", "must be one of the two systems of its row"),
        (["owl", "owl", "tie", "elk"], "{owl: a, elk: b}", "maps to the other side"),
        (["0", "1", "0", "1"], "{}", "must be one of a, b, tie"),
        (["1", "2", "3", "1"], "{}", "must be one of a, b, tie"),
        (["A>B", "B>A", "x", "1"], "{}", "must be one of a, b, tie"),
    ],
)
def test_no_advice_leads_to_the_wrong_winner(cells, changed, what, tmp_path):
    (tmp_path / "v.csv").write_text(votes_file(cells))
    columns = "{item_id: item, system_a: model_a, system_b: model_b, annotator_id: rater}"
    about = f"{{file: v.csv, columns: {columns}, values: {{choice: {changed}}}}}"
    (tmp_path / "study.yml").write_text(f"tables: {{preferences: {about}}}")
    with pytest.raises(TableError, match=what) as refused:
        nb.read_study(tmp_path)
    assert ("left: a" in str(refused.value)) == ("one of a" in what)


def test_a_judges_verdicts_are_probabilities_and_failed_ones_are_skipped(tmp_path):
    cells = ["A>B", "B>A", "A=B", "error"]
    text = votes_file(cells, header="verdict").replace("kim", "gpt-4").replace("rater", "judge")
    done, _ = new(tmp_path, text)
    rows = nb.read_study(tmp_path).comparisons
    assert rows[["prob_a", "prob_tie", "prob_b"]].to_numpy().tolist() == [
        *([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
        [0.0, 1.0, 0.0],
    ]
    assert "empty cells of comparisons skipped: 1" in " ".join(done.output.split())


def test_winners_and_losers_in_columns_are_pairs_in_unknown_order(tmp_path):
    rows = ["q1,owl,elk,kim", "q2,elk,owl,kim", "q3,elk,owl,kim", "q4,owl,elk,kim"]
    done, text = new(tmp_path, "\n".join(["item,chosen,rejected,rater", *rows]))
    study = nb.read_study(tmp_path)
    assert study.preferences["output_a"].str.endswith("elk").all()
    assert study.preferences["choice"].tolist() == ["b", "a", "a", "b"]
    assert "position bias" in " ".join(done.output.split()) and "order" in text
