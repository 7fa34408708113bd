"""Small files of usual dirt: the numbers computed by hand, by flags, and by guesses where clear."""

import json

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

VOTES = {"item": "round", "annotator": "player", "choice": "best"}
RATED = {"item": "round", "system": "model", "annotator": "{position}"}


def lines(*rows):
    return "\n".join(rows) + "\n"


FIXED = lines(
    "round,player,rival,best",
    *("r1,ava,wren,robin", "r1,ben,wren,similar", "r2,ava,tern,tern", "r2,ben,tern,robin"),
)
WRITTEN = [
    {"round": f"r{n}", "person_id": "p", "player": f"e{n}", "person_line": "x", "bot_line": "y"}
    | {"clearly_bot_preferred": preferred}
    for n, preferred in enumerate([False, "Same quality", True, False])
]
WRAPPED = {
    "by": "us",
    "scales": [{"scale": "wit", "low": 1}],
    "records": [
        {"round": item, "model": system, "rated": {"wit": {"mean": sum(cells) / 2, "each": cells}}}
        for item, system, cells in [
            *(("r1", "owl", [4, 5]), ("r1", "elk", [2, 1])),
            *(("r2", "owl", [3, 4]), ("r2", "elk", [1, 2])),
        ]
    ],
}
#: File, its arguments, win rates or means, and what the draft without arguments asks for.
CASES = {
    "one side is a constant": (
        FIXED,
        VOTES | {"a": "robin", "b": "rival"},
        {("robin", "wren"): 0.75, ("robin", "tern"): 0.5},
        "--a robin --b rival --choice best",
    ),
    "both sides are constants": (
        WRITTEN,
        VOTES | {"a": "person", "b": "bot", "choice": "clearly_bot_preferred"},
        {("person", "bot"): 0.625},
        "--choice clearly_bot_preferred",
    ),
    "records beside metadata": (
        WRAPPED,
        RATED | {"value": "rated.{dimension}.each"},
        {"owl": 4, "elk": 1.5},
        "To confirm",
    ),
}


def result(study, expected):
    """Return win rates of pairs, or means of systems, as expected ones are written."""
    if isinstance(next(iter(expected)), tuple):
        rates = nb.win_rates(study).set_index(["system", "opponent"])["estimate"]
        return {pair: rates[pair] for pair in expected}
    rated = study.judgments.merge(study.outputs, on="output_id")
    return rated.groupby("system")["value"].mean().to_dict()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:Read .* with guesses")
def test_values_are_those_computed_by_hand(case, tmp_path):
    content, arguments, expected, question = CASES[case]
    path = tmp_path / ("r.csv" if isinstance(content, str) else "r.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert result(nb.read_study(path, **arguments), expected) == expected
    flags = [part for name, columns in arguments.items() for part in (f"--{name}", columns)]
    CliRunner().invoke(main, ["new", str(path), "--out", str(tmp_path / "flags"), *flags])
    assert result(nb.read_study(tmp_path / "flags"), expected) == expected
    draft = CliRunner().invoke(main, ["new", str(path), "--out", str(tmp_path / "guesses")])
    assert question in draft.output and ("To fix" in draft.output) == question.startswith("--")
