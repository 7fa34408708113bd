"""`nlgbench check` names what to repair, counts what there is, and says what the design lacks."""

from click.testing import CliRunner

from nlgbench.runner import check_study
from nlgbench.runner.cli import main


def call(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_check_ends_with_1_where_something_must_be_repaired(tmp_path, crowd):
    judgments = crowd.judgments
    crowd.write(tmp_path / "s")
    (tmp_path / "s" / "study.json").unlink(missing_ok=True)
    (tmp_path / "s" / "study.yml").write_text('name: "\\e[31mred"\n')
    right = call("check", tmp_path / "s")
    assert right.exit_code == 0 and "agreement: ready" in right.stdout
    assert "huse: lacks human outputs; logprobs" in right.stdout
    assert "\x1b" not in right.stdout, "a name steers the terminal"
    judgments.assign(value="x").to_csv(tmp_path / "s" / "judgments.csv", index=False)
    wrong = call("check", tmp_path / "s")
    assert wrong.exit_code == 1 and "To be repaired\n  1. " in wrong.stdout
    assert "judgments.csv: judgments, column 'value' must be a number" in wrong.stdout
    nothing = call("check", tmp_path / "t")
    assert nothing.exit_code == 1 and "no folder" in nothing.stderr


def test_a_traceback_is_shown_to_those_who_ask(tmp_path, monkeypatch):
    monkeypatch.setattr(check_study, "check", lambda place: 1 / 0)
    plain = call("check", tmp_path)
    assert plain.exit_code == 1 and "ZeroDivisionError: division by zero" in plain.stderr
    assert "nlgbench --debug" in plain.stderr and "Traceback" not in plain.stderr
    asked = call("--debug", "check", tmp_path)
    assert isinstance(asked.exception, ZeroDivisionError)
