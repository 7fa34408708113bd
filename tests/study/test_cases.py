"""Small files of usual dirt: the numbers computed by hand, by flags, and by guesses where clear."""

import json

import pytest
from click.testing import CliRunner

import nlgbench as nb
from nlgbench.runner.cli import main

VOTES = {"item": "round", "annotator": "player", "choice": "best"}
PAIRS = VOTES | {"a": "model_a", "b": "model_b"}
RATED = {"item": "round", "system": "model", "annotator": "player", "value": "wit"}


def lines(*rows):
    return "\n".join(rows) + "\n"


def games(first, second):
    """Write eight games in both orders: the first system wins six, ties one and loses one."""
    winners = [first] * 6 + ["tie", second]
    rows = [
        (f"r{n},{first},{second}" if n % 2 else f"r{n},{second},{first}", winner)
        for n, winner in enumerate(winners)
    ]
    return lines(
        "round,model_a,model_b,player,best", *(f"{pair},ava,{best}" for pair, best in rows)
    )


FIXED = lines(
    "round,player,rival,best",
    *("r1,ava,wren,robin", "r1,ben,wren,similar", "r2,ava,tern,tern", "r2,ben,tern,robin"),
)
WRITTEN = [
    {"round": f"r{n}", "person_id": "p", "player": f"e{n}", "person_line": "x", "bot_line": "y"}
    | {"clearly_bot_preferred": preferred}
    for n, preferred in enumerate([False, "Same quality", True, False])
]
MARKED = lines(
    "round,model_a,model_b,model_a_won,model_b_won,both_tie",
    *("r1,owl,elk,1,0,0", "r2,elk,owl,0,1,0", "r3,owl,elk,0,0,1", "r4,elk,owl,1,0,0"),
)
VERDICTS = lines(
    "round,left,right,judge,verdict",
    *("r1,owl,elk,gpt-4,A>B", "r1,elk,owl,gpt-4,A<B", "r2,owl,elk,gpt-4,B=A"),
    *("r2,elk,owl,gpt-4,A>>B", "r3,owl,elk,gpt-4,error"),
)
WORDS = lines(
    "round,model,player,wit",
    *("r1,owl,ava,2", "r1,elk,ava,n/a", "r2,owl,ava,5", "r2,elk,ava,1"),
    *("r1,owl,ben,2", "r1,elk,ben,", "r2,owl,ben,can't tell", "r2,elk,ben,2"),
)
SPACED = "\ufeff" + lines(
    "round,model,voter,wit",
    *("r1,owl,ava,2", "r1,elk ,ava,4", "r2,Owl,ava,5", "r2,elk,ava,1"),
)
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
WIN = {("owl", "elk"): 0.8125}
#: File, its arguments, win rates or means, and what is right without arguments: the same result
#: ("same", or "confirm" if a guess is to be confirmed), or what the draft asks for.
CASES = {
    "the winner's name": (games("owl", "elk"), PAIRS, WIN, "confirm"),
    "names that may be positions": (games("B", "A"), PAIRS, {("B", "A"): 0.8125}, "confirm"),
    "other names that may be": (games("2", "1"), PAIRS, {("2", "1"): 0.8125}, "confirm"),
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
    "marks of winners": (
        MARKED,
        {"item": "round", "a": "model_a", "b": "model_b"}
        | {"choice": ["model_a_won", "model_b_won", "both_tie"]},
        {("owl", "elk"): 0.625},
        "confirm",
    ),
    "a judge's verdicts": (
        VERDICTS,
        {"item": "round", "a": "left", "b": "right", "choice": "verdict", "evaluator": "judge"},
        {("owl", "elk"): 0.625},
        "same",
    ),
    "words for missing": (WORDS, RATED, {"owl": 3, "elk": 1.5}, "confirm"),
    "blanks, capitals, a mark": (
        SPACED,
        RATED | {"annotator": "voter"},
        {"owl": 3.5, "elk": 2.5},
        "confirm",
    ),
    "records beside metadata": (
        WRAPPED,
        {"item": "round", "system": "model", "annotator": "{position}"}
        | {"value": "rated.{dimension}.each"},
        {"owl": 4, "elk": 1.5},
        "confirm",
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
def test_values_are_those_computed_by_hand(case, tmp_path):
    content, arguments, expected, without = CASES[case]
    path = tmp_path / ("r.csv" if isinstance(content, str) else "r.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    flags = [
        part
        for name, columns in arguments.items()
        for part in (f"--{name}", columns if isinstance(columns, str) else ",".join(columns))
    ]
    for folder, chosen in (("flags", flags), ("guesses", [])):
        done = CliRunner().invoke(
            main, ["new", str(path), "--out", str(tmp_path / folder), *chosen]
        )
        if folder == "guesses" and without not in ("same", "confirm"):
            assert without in done.output and "To fix" in done.output
        else:
            assert result(nb.read_study(tmp_path / folder), expected) == expected
    assert ("To confirm" in done.output) == (without == "confirm")


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][0] is not SPACED])
@pytest.mark.filterwarnings("ignore:Read .* with guesses")
def test_a_file_is_read_by_the_same_arguments(case, tmp_path):
    content, arguments, expected, _ = CASES[case]
    path = tmp_path / ("r.csv" if isinstance(content, str) else "r.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert result(nb.read_study(path, **arguments), expected) == expected


def test_spellings_in_a_file_are_asked_about(tmp_path):
    (tmp_path / "r.csv").write_text(SPACED)
    with pytest.raises(
        ValueError, match=r"r.csv, outputs .*'elk ' .*`nlgbench new .*r.csv` writes"
    ):
        nb.read_study(tmp_path / "r.csv")
