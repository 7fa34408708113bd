"""`nlgbench new`: each flag is used or refused by name, and guesses that may reverse are marked."""

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

WIDE = "item,system,Ada,Bo,Cy\n1,x,3,4,2\n1,y,4,5,3\n2,x,1,2,2\n2,y,5,4,4\n"
VOTES = "item,rater,worker_id,one,other,best\n1,k,w1,owl,elk,owl\n2,k,w2,elk,owl,elk\n"
PLACES = "--item item --system system"


def new(folder, text, flags):
    (folder / "r.csv").write_text(text)
    done = CliRunner().invoke(main, ["new", str(folder / "r.csv"), *flags.split()])
    return done, (folder / "study.yml").read_text() if done.exit_code == 0 else ""


@pytest.mark.parametrize(
    ("text", "flags", "what"),
    [
        (VOTES, "--item item --choice best", "--choice best is not used: votes need the two"),
        (VOTES, "--item item --choice best --a one", "not used: votes need the two systems, too: "),
        (
            VOTES,
            "--item item --a one --b other --choice best --value rater",
            "--value rater is not",
        ),
        (VOTES, "--item item --a one --b other --choice bets", "'bets'. Did you mean 'best'"),
        (WIDE, f"{PLACES} --evaluator {{file}} --value Ada", "--evaluator {file} is not used"),
        (WIDE, f"{PLACES} --value Ada,Bob", "no file has a column 'Bob'. Did you mean 'Bo'"),
        (WIDE, f"{PLACES} --annotator Bo --value Adda", "value: no file has a column 'Adda'"),
        (WIDE, f"{PLACES} --annotator {{fill}} --value Ada", "no file has a column '{fill}'"),
        (WIDE, f"{PLACES} --value Ada --as mqm", "--as"),
        (WIDE, f"{PLACES} --as alpaca_eval", "--item, --system is not used, because --as"),
        (WIDE, f"{PLACES} --annotator-columns Ada,Bob", "no file has a column 'Bob'"),
    ],
)
def test_a_flag_that_is_not_used_is_refused_by_name(text, flags, what, tmp_path):
    done, _ = new(tmp_path, text, flags)
    assert done.exit_code and what in done.output, done.output
    assert not (tmp_path / "study.yml").exists()


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        ("--annotator worker_id", ["annotator_id: worker_id"]),
        ("--evaluator rater", ["comparisons:", "comparator: rater", "choice: best"]),
        ("--annotator rater --dimension worker_id", None),
        ("--annotator {file}", ['annotator_id: "{file}"']),
    ],
)
def test_flags_of_votes_are_used(flags, lines, tmp_path):
    done, text = new(tmp_path, VOTES, f"--item item --a one --b other --choice best {flags}")
    if lines is None:  # a dimension may not identify a person
        assert "looks personal" in " ".join(done.output.split())
        return
    assert done.exit_code == 0 and all(line in text for line in lines), text
    study = nb.read_study(tmp_path)
    assert len(study.comparisons if "comparisons:" in lines else study.preferences) == 2


def test_columns_of_annotators_are_named_by_a_flag(tmp_path):
    _, text = new(tmp_path, WIDE, f"{PLACES} --annotator-columns Ada,Bo")
    judgments = nb.read_study(tmp_path).judgments
    assert judgments.groupby("annotator_id")["value"].sum().tolist() == [13, 15]
    assert judgments["dimension"].eq("quality").all() and "# confirm" not in text


@pytest.mark.parametrize(
    ("text", "flags", "line"),
    [
        (WIDE, f"{PLACES} --value Ada,Bo,Cy", "if they are annotators, use --annotator-columns"),
        (WIDE, "", "Ada, Bo, Cy may be judgments"),
        ("item,system,human_wit,human_flair\n1,x,2,3\n1,y,3,4\n", "", "they may be dimensions"),
        ("item,rater,gpt_mark,source_mark\n1,k,2,3\n2,k,3,4\n1,j,2,2\n", "", "may be no system"),
        ("item,rater,gpt_mark,gold_mark\n1,k,2,3\n2,k,3,4\n1,j,2,2\n", "", "gold may be no system"),
        ("item,Flip_Name,Flip_Date\n1,1,0\n2,0,1\n3,1,1\n", "", "may be judgments"),
    ],
)
def test_guesses_that_may_reverse_a_result_are_to_be_confirmed(text, flags, line, tmp_path):
    _, draft = new(tmp_path, text, flags)
    assert [row for row in draft.splitlines() if "# confirm" in row and line in row], draft
