"""Every command line that a page writes is one that the program takes, of notebooks as they are."""

import re
import shlex
from pathlib import Path

import click
import pytest

from nlgbench.runner.cli import main
from nlgbench.runner.notebooks import find_notebooks, read_notebook

ROOT = Path(__file__).parent.parent
BUILT = {"_build", "auto_gallery", "generated"}
PATHS = [
    *(path for path in ROOT.glob("docs/**/*.md") if not BUILT & set(path.parts)),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("data/**/*.md"),
]
#: Words that stand for what the reader fills in.
FILLED = {
    "$(hostname)": "node1",
    "--margin DIFFERENCE": "--margin 0.1",
    "[NOTEBOOK...]": "01",
    "--as NAME": "--as mqm",
}


def commands(text):
    """Give the words of the command lines in blocks, and of those within sentences."""
    lines = re.findall(r"^ *(?:\$ )?nlgbench (?!.*[a-z] nlgbench )(.+)$", text, flags=re.MULTILINE)
    # Prose may begin a line with the name, too: a command has its first word.
    lines = [line for line in lines if line.split()[0].strip("`") in {*main.commands, "--version"}]
    spoken = re.findall(r"`nlgbench ([^`]+)`", text.replace("\n", " "))
    for line in [re.split(r"  +#?|\s#|\s>", line)[0] for line in lines] + spoken:
        for placeholder, filled in FILLED.items():
            line = line.replace(placeholder, filled)
        if "`" not in line:
            yield [word for word in shlex.split(line) if word != "..."]


FOUND = [
    (path.relative_to(ROOT).as_posix(), words)
    for path in PATHS
    for words in commands(path.read_text(encoding="utf-8"))
]


def parsed(group, words):
    """Parse words as the program does, but look for no files; give the command and its values."""
    name, *rest = words
    command = group.commands[name]
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        return parsed(command, rest)
    found, left, _ = command.make_parser(context).parse_args(rest)
    assert left == []
    # What is not given is no text and no list of such.
    values = {name: value for name, value in found.items() if isinstance(value, str | list | tuple)}
    for parameter in command.params:
        if values.get(parameter.name) and not isinstance(parameter.type, click.Path):
            parameter.type_cast_value(context, values[parameter.name])
    missing = [one.name for one in command.params if one.required and not found.get(one.name)]
    return command, values, missing


@pytest.mark.parametrize(("page", "words"), FOUND, ids=lambda value: str(value)[:60])
def test_a_command_is_one_that_the_program_takes(page, words):
    if words[0].startswith("--"):
        main.make_parser(click.Context(main)).parse_args(list(words))
    else:
        command, values, missing = parsed(main, words)
        # A sentence may name a command alone.
        assert not missing or len(words) == 1 or "--help" in words
        if command.name == "run":
            check_run(values)


def check_run(values):
    """Look for the notebooks of the workbench that a command names, and for their parameters."""
    named = [name for name in values.get("notebooks", ()) if not name.endswith(".ipynb")]
    given = {one.partition("=")[0] for one in values.get("given", ())}
    for notebook in map(read_notebook, find_notebooks(named) if named else []):
        assert given <= set(notebook.parameters)


def test_commands_are_found():
    assert {words[0] for _, words in FOUND} >= set(main.commands)
