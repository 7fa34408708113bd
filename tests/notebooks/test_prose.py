"""What notebooks say: prose holds whatever the parameters, or is computed from the run's tables."""

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import joblib
import nbformat
import pandas as pd
import pytest
from IPython.display import Markdown

import nlgbench as nb
from nlgbench.analysis.huse import moved_votes
from nlgbench.generators import review_systems
from nlgbench.papers.huse import ties_sentence
from nlgbench.runner.notebooks import find_notebooks, read_notebook
from nlgbench.text import listed, same_for_all, span
from nlgbench.worlds import annotators, crowd, sweep

NOTEBOOKS = find_notebooks()
#: What a notebook may say of numbers, and why that stays true: it is printed in a paper, counted in
#: a release (fixed by its hash), a definition, or fixed in the notebook's code, of which a part is
#: given.
ALLOWED = {
    "01": {
        "HUSE-D = 1 + HUSE": "definition",
        "less than 1e-9 of a standard deviation": "definition",
        "the sum of three may be off by .015": "definition",
        "HUSE-D may pass 1 where": "print",
        "Two things part them": "definition",
        "carelessly with probability .1": "definition",
        "misspells a phrase with probability .08": "definition",
        "learned from 2,000 sentences": "definition",
        "words that hold .95 of": "definition",
        "they have probability 0": "definition",
    },
    "02": {
        "a classifier over two features": "definition",
        "(1 - HUSE)": "definition",
        "in the three kinds of": "definition",
        "The three examples that the paper prints": "print",
        "4.25 is printed as 4.3": "print",
        "judges on 1-6 here although its text says 0-5": "print",
        "prints two of the six": "print",
    },
    "03": {
        "in three ways": 'code: ("outputs", "items", "annotators")',
        "eight HITs allow only 70 labelings": "release",
        "With 50 outputs, 90% of estimates": "code: n_outputs=[25]",
        "careless with probability .1": "definition",
        "L* = 1 - TV": "definition",
    },
    "04": {
        "sees three colors": "definition",
        "in three qualities": "definition",
        "the first two cannot see it, the third averages": "definition",
        "Quality is 1 (misleading), 2 (ambiguous), 3 (descriptive)": "definition",
        "of two correlations that share": "definition",
        "Beyond the three qualities": "definition",
        "in two heaps": "print",
    },
    "05": {
        "rank twelve generators": "print",
        "100 minus accuracy": "definition",
        "p m + (1 - p)(1 - m)": "definition",
    },
    "05b": {
        "rank twelve generators": "print",
        "3,600 reviews, 17,920 votes": "release",
        "on reviews of twelve systems": "definition",
        "(five in the paper)": "print",
        "all reviews the two differ": "definition",
        "Ten references or all": "print",
        "1- to 4-grams": "definition",
        "6,500 reviews of each generator and 1,336 of Google LM": "print",
        "in ten folds": "definition",
        "all four are shown": "definition",
        "The scores of two evaluators": "definition",
    },
    "06": {
        "which of two texts is better": "definition",
        "reads two texts": "definition",
        "three kinds of supervision": "definition",
        "Two rows of": "print",
        "any two can be compared": "definition",
        "last sixty words": "definition",
        "the three dialogue sets": "release",
        "a thousand more human reviews": "definition",
        "single outputs (10,000), and 3, 1 or 0 points against 50 common": "definition",
        "BLEU-2, 3 and 4": "definition",
        "the ten most similar": "definition",
        "DailyDialog's four; the two human responses": "release",
        "when its two texts are swapped": "definition",
        "outputs of two systems": "definition",
    },
    "06b": {
        "Every two systems play": "definition",
        "plays 50 more games": "print",
        "is held with .95": "definition",
        "further apart than .15 nats": "definition",
    },
    "07": {
        "count -2.85 nats": "definition",
        "trained on 1,000 of the human reviews": "definition",
        "300 others": "definition",
        "the other 499": "release",
        "BLEU-2, 3 and 4": "definition",
        "the ten most similar": "definition",
        "the twelve systems of Judge the Judges": "release",
        "best (0 is none)": "definition",
        "within two standard errors": "definition",
        "meets the two before it": "definition",
        "(the paper's is five)": "print",
        "against the two checkpoints before": "definition",
        "of the paper's ten groups": "print",
        "mean score (1 to 5)": "print",
        "The two scales": "definition",
    },
    "08": {
        "differences squared: 1 is full agreement, 0 what chance gives": "definition",
    },
    "09": {
        "which of the two agrees better": "definition",
    },
    "10": {
        "how many systems tell two apart": "definition",
    },
    "11": {},
    "12": {
        "one plane for all": "definition",
        "leave people's grammar in three ways": "definition",
        "both sides are one distribution": "definition",
        "L* is one minus the": "definition",
    },
}
WORDS = "two three four five six seven eight nine ten eleven twelve twenty fifty sixty hundred"
WORDS += " thousand dozen third quarter eighth tenth"
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w])|\b(?:"
    + "|".join(WORDS.split())
    + r")s?\b",
    flags=re.IGNORECASE,
)
#: Places and labels, which are not counts or values of a run.
TIMELESS = [
    r"`[^`]*`",
    r"\]\([^)]*\)",  # addresses
    r"\b(?:doi|arXiv):\S+",
    r"\b(?:BLEU|Glicko|[Dd]istinct)-\d\b(?!, \d)",
    r"\b(?:19|20)\d\d\b",  # years
    r"\b(?:Tables?|Figures?|[Ss]ections?|[Ee]quation|notebook|Theorem) [\d.]*\d"
    r"(?:(?:, | and |, and )\d+)*",
    r"\b[tp] = [\d.]*\d",  # names of systems
    r"\b9[05]% (?:\w+ )?intervals?|[Ii]ntervals(?: are|:) 95%",
    r"^\(\d\) |(?<= )\(\d\) ",
]


def stated(text: str, allowed: dict[str, str]) -> list[str]:
    """Find the numbers that a text states, but for timeless ones."""
    text = " ".join(text.split())
    for phrase in sorted(allowed, key=len, reverse=True):
        text = text.replace(phrase, " ")
    for pattern in TIMELESS:
        text = re.sub(pattern, " ", text)
    return [match[0] for match in NUMBER.finditer(text)]


def sentences(path: Path, *, alt_only: bool = False) -> list[tuple[str, str]]:
    """List what a notebook says as it is written: its prose, and the fixed parts of what it prints.

    Those are alternative texts, and what is given to Markdown.
    """
    said = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            if not alt_only:
                said.append((cell.id, cell.source))
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if not isinstance(node, ast.Call):
                continue
            parts = [keyword.value for keyword in node.keywords if keyword.arg == "alt"]
            if isinstance(node.func, ast.Name) and node.func.id == "Markdown" and not alt_only:
                parts += node.args
            for part in parts:
                # What stands between braces is computed, and so is what is called.
                computed = {
                    id(inner)
                    for value in ast.walk(part)
                    if isinstance(value, (ast.FormattedValue, ast.Call, ast.GeneratorExp))
                    for inner in ast.walk(value)
                }
                fixed = [
                    node.value
                    for node in ast.walk(part)
                    if isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and id(node) not in computed
                ]
                said.append((cell.id, "".join(fixed)))
    return said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_prose_states_no_number_that_a_parameter_could_change(path: Path):
    allowed = ALLOWED[path.stem.partition("-")[0]]
    said = sentences(path)
    found = {cell: numbers for cell, text in said if (numbers := stated(text, allowed))}
    assert not found, "compute it, leave it out, or say in ALLOWED why it stays true"
    everything = " ".join(" ".join(text.split()) for _, text in said)
    code = "\n".join(read_notebook(path).code)
    for phrase, why in allowed.items():
        assert phrase in everything, "not said any more"
        assert why in ("print", "release", "definition") or why.removeprefix("code: ") in code


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_alternative_texts_say_what_is_drawn_and_leave_what_came_out_to_numbers(path: Path):
    # Of the numbers that are in print one may say more.
    printed = ["In the printed scores, lower temperature gives more quality and less diversity"]
    for cell, text in sentences(path, alt_only=True):
        for phrase in printed:
            text = text.replace(phrase, "")
        found = re.findall(
            r"\b(?:above|below|more|less|fewer|higher|lower|better|worse|rise|fall|mixed|part)s?\b",
            text,
        )
        assert not found, f"{cell}: compute it, or leave it out"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Six of the seven follow.", ["Six", "seven"]),
        ("a vote of 16 neighbors among 800 outputs", ["16", "800"]),
        ("its true HUSE is about .53 at t = 1 and .38 at t = 0.7", [".53", ".38"]),
        ("all 4,096 ways, in an eighth to a quarter", ["4,096", "eighth", "quarter"]),
        ("in .935 to .995 of them (Table 2, section 5.1, 2019), 95% intervals", [".935", ".995"]),
        ("Equation 9 from Tables 3, 4 and 12; `k=16`, [doi:10.1/2](https://x/3) too", []),
    ],
)
def test_numbers_are_found(text: str, numbers: list[str]):
    assert stated(text, {}) == numbers


def test_what_is_called_a_definition_is_one():
    assert annotators.CARELESS == 0.1
    assert round(annotators.INVALID_NATS, 9) == -2.85
    assert len(crowd.CROWD_SYSTEMS) == 12
    assert review_systems._LEAK == 0.08
    assert (sweep.N_LEARNED, sweep.NUCLEUS) == (2_000, 0.95)


@dataclass
class Run:
    """What a notebook said and saved when it was run."""

    names: dict[str, object]
    folder: Path
    said: list[str] = field(default_factory=list)
    printed: str = ""

    def sentence(self, start: str) -> str:
        """Find the one computed sentence that begins so."""
        (found,) = (text for text in self.said if text.startswith(start))
        return found

    def table(self, name: str) -> pd.DataFrame:
        """Read a table that was saved."""
        return pd.read_csv(self.folder / "tables" / f"{name}.csv")

    def figure(self, name: str) -> tuple[str, pd.DataFrame]:
        """Read a figure's alternative text and data."""
        at = self.folder / "figures" / name
        return at.with_suffix(".txt").read_text(encoding="utf-8"), pd.read_csv(f"{at}.csv")


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return a function that runs a notebook's cells here: a kernel takes seconds to start."""

    def go(number: str, **parameters: object) -> Run:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (path,) = find_notebooks([number])
        notebook = read_notebook(path)
        assert parameters.keys() <= notebook.parameters.keys()
        assert all(notebook.parameters[p].default != v for p, v in parameters.items())
        done = Run({}, tmp_path / "out")
        monkeypatch.setattr(
            "IPython.display.display",
            lambda *shown, **_: done.said.extend(
                each.data for each in shown if isinstance(each, Markdown)
            ),
        )
        with joblib.parallel_config(backend="sequential"):
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, cell.id, "exec"), done.names)
                if "parameters" in cell.metadata.get("tags", []):
                    done.names |= parameters | {"output_dir": str(done.folder)}
        done.printed = capsys.readouterr().out
        return done

    return go


def digits(text: str) -> list[float]:
    """Read the numbers of a sentence in which names have none."""
    return [float(one.replace(",", "")) for one in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def test_01_says_what_its_tables_say(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "nlgbench.generators.recurrent", None)  # as without torch
    done = run("01", n_outputs=40, n_neighbors=4, seed=7)
    said = done.sentence("At k = 4 the rule moves the vote of ")
    table = done.table("scores").query("score == 'huse_q'")
    moves = table.pivot(index="system", columns="ties", values="estimate")
    moves = moves[(moves["exact"] - moves["released"]).abs() > 1e-9]
    assert f"HUSE-Q of {len(moves)} of {table['system'].nunique()} systems" in said
    assert all(
        f"{r.Index} {r.exact:.3f} (released {r.released:.3f})" in said for r in moves.itertuples()
    )

    equation = done.table("equation_9")
    (stray,) = equation[equation["off"].abs() > 0.015].itertuples()
    count, of = digits(done.sentence(f"{len(equation) - 1} of"))[:2]
    assert (count, of) == (len(equation) - 1, len(equation))
    found = done.sentence(f"{len(equation) - 1} of").split("Not so: ")[1]
    given = f"{stray.huse:.2f} and {stray.huse_q:.2f} give {stray.implied:.2f}"
    assert found == f"{stray.row} ({given}; printed is {stray.huse_d:.2f})."

    share = done.table("impossible_reviews").set_index("model")["share"]
    assert set(share.index) == set(table["system"])
    assert share.max() == 0  # these models can write all that people do
    assert done.sentence("Human reviews").endswith("probability 0: none.")

    for name in ("sweep", "tradeoff"):
        alt, drawn = done.figure(name)
        for quantity in ("huse_q", "huse_d"):
            written = quantity.upper().replace("_", "-")
            found = [float(one) for one in re.findall(written + r" (-?\d\.\d+)", alt)]
            assert found == pytest.approx(drawn[quantity].round(2).tolist(), abs=0.0051)


def test_02_says_what_its_scores_are(run):
    done = run("02", n_outputs=30, n_neighbors=5, seed=3, ties="released")
    data = done.names["data"]
    said, (alt, _) = done.sentence("How far"), done.figure("boundary")
    assert "30 human references" in alt and "5-nearest-neighbor" in alt
    scores = nb.huse(data, n_neighbors=5, ties="released", n_resamples=0)
    for system, rows in scores.groupby("system"):
        found = rows.set_index("score")["estimate"]
        told = f"{system} {1 - found['huse']:.2f}, by judgment alone {1 - found['huse_q']:.2f}"
        assert told in said
        label = data.label(system)
        assert f"{label}: HUSE {found['huse']:.2f}, HUSE-Q {found['huse_q']:.2f}" in alt


def test_05_says_what_its_tables_say(run):
    done = run("05b", n_outputs=20, n_references=3, seed=5)
    n_systems = len(crowd.CROWD_SYSTEMS)
    assert digits(done.sentence("Self-BLEU here").replace("Self-BLEU", "")) == [20, 20 * n_systems]

    alt, drawn = done.figure("overlap")
    for row in drawn.itertuples():
        assert f"{row.data}, {row.evaluator} {row.estimate:.2f}" in alt

    alt, drawn = done.figure("diversity")
    (rank,) = re.findall(r"is (-?\d\.\d+)", alt)
    expected = drawn["distinct"].corr(drawn["self_bleu"], method="spearman")
    assert float(rank) == pytest.approx(expected, abs=0.0051)


def test_05_says_what_its_flip_shows(run):
    done = run("05-judges-in-print")
    alt, drawn = done.figure("flip")
    for row in drawn.itertuples():
        assert f"{row.evaluator} {row.kind} {row.estimate:.2f}" in alt


def test_07_says_what_it_did(run):
    pytest.importorskip("torch", reason="the extra neural is not installed")
    done = run("07", n_groups=2, n_choices=2, n_sentences=50, n_checkpoints=4, patience=2, seed=3)
    made, models = done.names["models"], done.table("models")
    (judged,) = re.findall(r"evaluators see (\d+) texts of each model", done.printed)
    assert (made.to_judge.groupby("system").size() == int(judged)).all()
    texts, rated = re.findall(r"([\d,]+) texts to learn from; (\d+) of them rated", done.printed)[0]
    assert int(texts.replace(",", "")) == len(made.training.outputs)
    assert int(rated) == made.training.judgments["output_id"].nunique()
    assert models.query("kind == 'stopping'").groupby("group").size().tolist() == [4, 4]
    assert models.query("kind == 'search'").groupby("group").size().tolist() == [2, 2]
    moves = done.table("truth").query("kind == 'stopping'").groupby("model")["quality"]
    assert f"The training of {(moves.max() - moves.min()).idxmax()}." in done.printed


def test_what_the_tie_rule_moves_is_counted():
    study = nb.simulate("reviews", systems=["leaky_t1.0", "leaky_t0.7"], n_truth=0, seed=4)
    scores = nb.huse(study, ties=("exact", "released"), n_resamples=0)
    said = ties_sentence(scores, moved_votes(study))
    assert said.startswith(f"At k = 16 the rule moves the vote of {len(moved_votes(study))} out")
    assert " of 2 systems: " in said


def test_lists_and_spans():
    assert listed("ab") == "a and b" and listed([]) == "none"
    assert span([1.0, float("nan"), 2.0], ".0f") == "1 to 2" and span([0.501, 0.502]) == "0.50"
    assert same_for_all([20, 20]) == "The same for all." and "19 to 20" in same_for_all([19, 20])
