"""Files that are no tables, damaged or huge are refused in a sentence of their own, or read."""

import gzip
import os
import shutil

import pytest
from click.testing import CliRunner

from nlgbench.runner import runs
from nlgbench.runner.cli import main
from nlgbench.study import csv_files, read_folder

ROWS = "item,system,rater,flow\n1,a,x,3\n1,b,x,4\n2,a,x,5\n2,b,x,2\n"


def said(*args):
    outcome = CliRunner().invoke(main, [str(arg) for arg in args])
    return " ".join(outcome.output.split()), outcome.exit_code


def bomb(place):
    (place / "r.csv.gz").write_bytes(gzip.compress(ROWS.encode() + b"0" * 3_000_000))


ODD = {
    "a pipe": ("p.csv", lambda place: os.mkfifo(place / "p.csv"), "p.csv is a pipe or a device"),
    "a folder": (
        "d.csv",
        lambda place: (place / "d.csv").mkdir(),
        "d.csv is a folder: name a file",
    ),
    "a device": ("p.csv", lambda to: (to / "p.csv").symlink_to("/dev/null"), "is a pipe or a dev"),
    "JSON": ("j.csv", '{"item": 1,\n"system": 2}', "begins with '{', as JSON does: rename it"),
    "a name in braces": ("j.csv", "[item],b\n1,2\n", "rename its first column, '[item]'"),
    "a title": ("t.csv", "Ratings of May\n" + ROWS, "If the first line is a title, remove it"),
    "a bomb": ("r.csv.gz", bomb, "unpacks to more than 1,000,000 bytes"),
    "a long name": ("n.csv", ROWS.replace("flow", "f" * 200_000), "more than 100,000 characters"),
    "a long id": (
        "i.csv",
        ROWS.replace(",a,", f",{'a' * 200_000},"),
        "must have at most 100,000 charac",
    ),
    "a long text": ("t.csv", ROWS.replace(",a,", f",{'a ' * 300_000},"), "a text is too long: fix"),
    "a long line": ("l.jsonl", f'{{"text": "{"a " * 300_000}"}}', "line 1 has more than 500,000"),
    "the whole disk": ("/**/*.csv", "", "searches the whole disk: begin it with a folder"),
    "no UTF-8": (b"r\xff.csv", ROWS, r"r\udcff.csv' is not UTF-8: rename the file"),
}


@pytest.mark.parametrize("case", ODD)
def test_an_odd_file_gets_its_own_sentence(tmp_path, monkeypatch, case):
    monkeypatch.setattr(csv_files, "_UNPACKED", (1_000_000, 1))
    monkeypatch.setattr(csv_files, "LONGEST_TEXT", 500_000)
    name, content, message = ODD[case]
    path = tmp_path / os.fsdecode(name)
    if callable(content):
        content(tmp_path)
    elif content:
        path.write_text(content)
    text, code = said("new", path, "--out", tmp_path / "s")
    if code == 0:
        text, code = said("check", tmp_path / "s")
    assert message in text and code == 1


def test_files_outside_the_folder_are_listed(tmp_path):
    (tmp_path / "in").mkdir()
    for place in (tmp_path, tmp_path / "in"):
        (place / "r.csv").write_text(ROWS)
    assert said("new", tmp_path / "s", "--from", tmp_path / "r.csv")[1] == 0
    assert f"outside the folder {tmp_path}/s are read (1): {tmp_path}/r.csv" in said(
        "check", tmp_path / "s"
    )[0].replace("/ ", "/")
    said("new", tmp_path / "in" / "r.csv")
    assert not any("outside" in note for note in read_folder(tmp_path / "in", [])[1])


def test_an_error_of_the_system_names_the_file_and_what_to_check(tmp_path, monkeypatch):
    (tmp_path / "r.csv").write_text(ROWS)

    def refuse(*args):
        raise OSError(30, "Read-only file system", str(tmp_path / "study.yml"))

    monkeypatch.setattr("nlgbench.files.replace", refuse)
    text, code = said("new", tmp_path / "r.csv")
    assert f"cannot use {tmp_path}/study.yml: read-only file system. Check" in text
    assert code == 1 and "Errno" not in text


def test_an_out_folder_that_is_removed_during_a_run_is_named(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(OSError, match="out was removed or moved during the run"), runs.writing(out):
        new = runs.aside(out, "01")
        shutil.rmtree(out)
        runs.promote(new, out / "01")
