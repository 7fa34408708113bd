"""`nlgbench check` names what to repair, counts what there is, and says what the design lacks."""

from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner import check_study
from nlgbench.runner.cli import main


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def unwrapped(said):
    return " ".join(said.split())


def test_check_ends_with_1_where_something_must_be_repaired(tmp_path, crowd):
    judgments = crowd.judgments
    crowd.write(tmp_path / "s")
    (tmp_path / "s" / "study.json").unlink(missing_ok=True)
    (tmp_path / "s" / "study.yml").write_text('name: "\\e[31mred"\n')
    right = call("check", tmp_path / "s")
    assert right.exit_code == 0
    ready, lacking = right.stdout.split("Analyses you can run\n")[1].split(
        "Analyses that need more data, by what they need\n"
    )
    assert ready.startswith("  agreement, compare_systems,") and "human outputs: huse" in lacking
    assert lacking.count("logprobs (of") == 1, "one line for what is lacking"
    assert "\x1b" not in right.stdout, "a name steers the terminal"
    judgments.assign(value="x").to_csv(tmp_path / "s" / "judgments.csv", index=False)
    wrong = call("check", tmp_path / "s")
    assert wrong.exit_code == 1 and "To fix\n  1. " in wrong.stdout
    assert "judgments.csv: judgments, column 'value' must be a number" in unwrapped(wrong.stdout)
    nothing = call("check", tmp_path / "t")
    assert nothing.exit_code == 1 and "no folder" in nothing.stderr


def test_new_and_check_name_the_same_next_commands(tmp_path):
    folder = tmp_path / "two runs"
    folder.mkdir()
    rows = [f"{item},{system},{item / 20}" for item in range(20) for system in "ab"]
    (folder / "scores.csv").write_text("\n".join(["item_id,system,bleu", *rows]))
    said = [
        call(*arguments).stdout for arguments in (["new", folder / "scores.csv"], ["check", folder])
    ]
    drafted, checked = (
        text.partition("Analyses you can run\n")[2].partition("\n\n")[0] for text in said
    )
    assert drafted == checked and "compare_systems" in drafted
    assert f"nlgbench compare '{folder}'" in drafted


def test_a_traceback_is_shown_to_those_who_ask(tmp_path, monkeypatch):
    monkeypatch.setattr(check_study, "check", lambda place: 1 / 0)
    plain = call("check", tmp_path)
    assert plain.exit_code == 1 and "ZeroDivisionError: division by zero" in plain.stderr
    assert "nlgbench --debug" in plain.stderr and "Traceback" not in plain.stderr
    asked = call("--debug", "check", tmp_path)
    assert isinstance(asked.exception, ZeroDivisionError)


#: What `check` says of the study below, in this order.
ORDER = [
    *("120 outputs of 2 systems, 60 items", "values above 60", "are positions in a file"),
    "values of talk",
    *("few items (1)", "ties leave fewer than 6", "missing judgments depend on the system"),
    *("skipped: 15", "Analyses you can", "-p study=", "that need more"),
]


def test_what_could_change_a_conclusion_comes_in_one_order(tmp_path):
    """Two positions judged two systems on sixty items; b lacks what the second says of fifteen."""
    lines = [f"{i},{i // 2},a,3,3\n{i},{i // 2},b,3,{'' if i < 15 else 3}" for i in range(60)]
    lines[0] = "0,0,a,900,3\n0,0,b,3,"
    (tmp_path / "r.csv").write_text("\n".join(["item,talk,model,h1,h2", *lines]))
    (tmp_path / "v.csv").write_text("item_id,system_a,system_b,annotator_id,choice\n1,a,b,x,a\n")
    columns = '{item_id: item, system: model, value: "h{annotator_id}"}'
    about = f"{{judgments: {{file: r.csv, columns: {columns}}}, preferences: {{file: v.csv}}}}"
    (tmp_path / "study.yml").write_text(f"tables: {about}")
    said = unwrapped(call("check", tmp_path).stdout)
    at = [said.find(part) for part in ORDER]
    assert -1 not in at and at == sorted(at)


def test_a_study_without_rows_is_to_be_fixed_and_one_without_analyses_says_so(tmp_path):
    (tmp_path / "outputs.csv").write_text("output_id,item_id,system\n")
    empty = call("check", tmp_path)
    assert empty.exit_code == 1
    assert "outputs.csv: outputs has no rows: add one for each output." in unwrapped(empty.stdout)
    (tmp_path / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n2,1,b\n")
    (tmp_path / "judgments.csv").write_text("output_id,annotator_id,value\n")
    empty = unwrapped(call("check", tmp_path).stdout)
    assert "judgments.csv: judgments has no rows: add some, or leave this table out." in empty
    (tmp_path / "judgments.csv").unlink()
    bare = call("check", tmp_path)
    size = "2 outputs of 2 systems, 1 item, without texts"
    assert [line.strip() for line in bare.stdout.splitlines()[:2]] == [tmp_path.name, size]
    assert "Analyses you can run\n  None yet: add a table" in bare.stdout
    assert "nlgbench run 08" not in bare.stdout


def test_check_takes_a_public_study_by_its_name(monkeypatch):
    monkeypatch.setattr(check_study, "load", lambda name: nb.simulate("gaussian", seed=0))
    assert call("check", "huse").stdout.startswith("gaussian\n  400 outputs")


def test_a_placeholder_is_no_annotator(tmp_path):
    rows = "".join(
        f"{i},{system},{1 + (i + k) % 5}\n" for i in range(12) for k, system in enumerate("ab")
    )
    (tmp_path / "r.csv").write_text(f"item,system,value\n{rows}")
    columns = "columns: {item_id: item}, constants: {annotator_id: all}"
    (tmp_path / "study.yml").write_text(f"tables: {{judgments: {{file: r.csv, {columns}}}}}")
    report = unwrapped(call("check", tmp_path).stdout)
    assert "24 judgments of quality (1 to 5) by unknown annotators, 2 systems, 12 items" in report
    assert "quality: annotators are unknown" in report and "few annotators" not in report
    sections = call("check", tmp_path).stdout.split("\n\n")
    assert all("\n  " in section for section in sections), "a heading without content"
    assert nb.compare_systems(nb.read_study(tmp_path)).annotators.empty
