"""Wrong command lines: what each is told, and that nothing is started or written."""

import json
import os

import pytest
from click.testing import CliRunner

from nlgbench.runner import execute
from nlgbench.runner.cli import main

PARAMETERS = "k: int = 1\noutput_dir: str | None = None"
NAMING = "source: str = 'simulated'\nstudy: str | None = None\nevaluators: str | None = None"
LONG = "x" * 20_000


def cell(source=PARAMETERS, **more):
    metadata = {"tags": ["parameters"]}
    about = {"cell_type": "code", "metadata": metadata, "outputs": [], "execution_count": None}
    return {**about, "source": source, **more}


def node(*cells, **more):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*cells], **more}


#: Notebooks that are wrong in one thing, by name: their content as JSON, text or bytes.
WRONG_NOTEBOOKS = {
    "empty": b"",
    "words": b"print('hello')",
    "cut": b'{"cells": [',
    "latin": '{"cells": "\xe9"}'.encode("latin-1"),
    "marked": b"\xef\xbb\xbf" + json.dumps(node(cell())).encode(),
    "deep": b"[" * 100_000,
    "half": json.dumps(node(cell(PARAMETERS + "  # \ud800"))).encode(),
    "array": [node(cell())],
    "number": 5,
    "formatless": {"cells": []},
    "format3": {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []},
    "format5": node(cell(), nbformat=5),
    "cellless": {"nbformat": 4, "metadata": {}},
    "cells_object": node(cells={}),
    "cells_numbers": node(1, 2),
    "sourceless": node(cell(None)),
    "metadata_list": node(cell(), metadata=[]),
    "metadata_text": node(cell(), metadata="python3"),
    "kernel_list": node(cell(), metadata={"kernelspec": ["python3"]}),
    "kernel_text": node(cell(), metadata={"kernelspec": "python3"}),
    "in_r": node(cell(), metadata={"kernelspec": {"name": "ir", "language": "R"}}),
    "in_julia": node(cell(), metadata={"language_info": {"name": "julia"}}),
    "ours_list": node(cell(), metadata={"nlgbench": ["huse"]}),
    "ours_text": node(cell(), metadata={"nlgbench": "huse"}),
    "data_text": node(cell(), metadata={"nlgbench": {"datasets": "huse"}}),
    "data_numbers": node(cell(), metadata={"nlgbench": {"datasets": [1]}}),
    "untagged": node(cell(metadata={})),
    "tagged_twice": node(cell(), cell()),
    "no_python": node(cell("k = ")),
    "computing": node(cell("k = range(3)")),
    "infinite": node(cell("k: float = 1e999")),
    "strange_type": node(cell("k: Path = 'x'")),
    "strange_bound": node(cell("k: Annotated[int, Near(5)] = 5")),
    "strange_limit": node(cell("k: Annotated[int, Ge('a')] = 5")),
    "x" * 200: node(cell()),
    "two\nlines": node(cell()),
    ".hidden": node(cell()),
    "good": node(cell()),
    "naming": node(cell(NAMING)),
    "other/good": node(cell()),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make a folder of what one may name by mistake."""
    home = tmp_path_factory.mktemp("place")
    for name in ("folder.ipynb", "other", "empty_study", "broken_run", "data", "judged"):
        (home / name).mkdir()
    for name, content in WRONG_NOTEBOOKS.items():
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        (home / f"{name}.ipynb").write_bytes(raw)
    (home / "file").write_text("a file")
    (home / "judged" / "outputs.csv").write_text("output_id,item_id,system\n1,1,a\n2,1,b\n")
    judgments = "output_id,annotator_id,dimension,value\n1,me,fluency,3\n2,me,fluency,2\n"
    (home / "judged" / "judgments.csv").write_text(judgments)
    scores = "output_id,evaluator,score\n1,bleu,.3\n2,bleu,.2\n1,chrf,.3\n2,chrf,.2\n"
    (home / "judged" / "scores.csv").write_text(scores)
    comparisons = "output_a,output_b,comparator,prob_a,prob_tie,prob_b\n1,2,judge,.5,0,.5\n"
    (home / "judged" / "comparisons.csv").write_text(comparisons)
    (home / "twice.yml").write_text("- k: [1, 2]\n  k: [3]\n")
    (home / "grid.yml").write_text("k: [1, 2]\n")
    (home / "plain.csv").write_text("item,model,fluency\n1,a,3\n")
    (home / "broken_run" / "ledger.csv").write_text("claim_id,variant\n1,2\n")
    for ending in ("", ".ipynb"):
        (home / f"dangling{ending}").symlink_to("nothing")
        (home / f"loop{ending}").symlink_to(f"loop{ending}")
    os.mkfifo(home / "pipe.ipynb")
    return home


WRONG = [
    # What is no command or no option.
    ("frobnicate", 2, "No such command 'frobnicate'"),
    ("version", 2, "No such command 'version'"),
    ("--verison", 2, "No such option"),
    ("list 01", 2, "unexpected extra argument"),
    ("list --format json", 2, "No such option"),
    ("run --fore", 2, "No such option"),
    ("run -p", 2, "requires an argument"),
    ("run --out", 2, "requires an argument"),
    ("ledger", 2, "Missing argument 'DIR'"),
    ("ledger broken_run other", 2, "unexpected extra argument"),
    # Options of run.
    ("run --jobs 0", 2, "0 is not in the range"),
    ("run --jobs -1", 2, "-1 is not in the range"),
    ("run --jobs two", 2, "'two' is not a valid integer"),
    ("run --jobs 1.5", 2, "'1.5' is not a valid integer"),
    ("run --jobs=", 2, "'' is not a valid integer"),
    ("run --timeout 0", 2, "0.0 is no number of seconds above 0"),
    ("run --timeout -5", 2, "-5.0 is no number of seconds above 0"),
    ("run --timeout nan", 2, "nan is no number of seconds above 0"),
    ("run --timeout inf", 2, "leave --timeout out for no limit"),
    ("run --timeout 1e308", 2, "leave --timeout out for no limit"),
    ("run --timeout soon", 2, "'soon' is not a valid float"),
    ("run --source releesed", 2, "is not one of 'auto', 'released', 'simulated'"),
    ("run --source=", 2, "is not one of 'auto', 'released', 'simulated'"),
    ("run --effort fast", 2, "is not one of 'quick', 'full'"),
    ("run --cluster", 2, "requires an argument"),
    ("run good.ipynb --cluster=", 2, "'' is no address: give local, tcp://HOST:PORT"),
    ("run good.ipynb --cluster lokal", 2, "'lokal' is no address"),
    ("run good.ipynb --cluster http://node7:8786", 1, "no scheduler answers at http://node7"),
    ("run good.ipynb --cluster file", 1, "no scheduler answers at file"),
    ("run --cluster tcp://127.0.0.1:1 --jobs 2", 2, "--jobs does not go with the address"),
    ("run good.ipynb --cluster tcp://127.0.0.1:1", 1, "no scheduler answers at tcp://127.0.0.1:1"),
    ("run good.ipynb -p k=x --cluster tcp://127.0.0.1:1", 2, "'k' is declared 'int'; got 'x'"),
    ("run -q -v", 2, "-q and -v contradict each other"),
    ("run --out=", 2, "is empty: name a folder"),
    (["run", "--out", " "], 2, "is empty: name a folder"),
    (["run", "--out", "a\nb"], 2, r"'a\nb' holds characters that do not print"),
    (["run", "--out", "a\udce9"], 2, r"'a\udce9' holds characters that do not print"),
    ("run --out=~/figures", 2, "begins with ~, which the shell did not replace"),
    ("run --out file", 2, "'file' is a file: name a folder"),
    ("run --out dangling", 2, "'dangling' is a file: name a folder"),
    ("run --out loop", 2, "'loop' is a file: name a folder"),
    ("run good.ipynb --out file/below", 1, "cannot write to"),
    # Notebooks that are not there.
    ("run 01-huse-tradeof", 2, "Did you mean '01-huse-tradeoff'"),
    ("run 99", 2, "no notebook '99'"),
    ("run 0", 2, "no notebook '0'"),
    ("run 01b", 2, "no notebook '01b'"),
    (["run", ""], 2, "no notebook ''"),
    (["run", "01\n"], 2, r"no notebook '01\n'"),
    (["run", LONG], 2, "(20,002 characters)"),
    (["run", LONG + ".ipynb"], 2, "there is no such file"),
    ("run other", 2, "That is a folder: name the notebooks in it"),
    ("run good", 2, "a notebook of your own goes by its path, ending in .ipynb"),
    ("run god.ipynb", 2, "there is no such file. Did you mean 'good.ipynb'?"),
    ("run 01-huse-tradeof.ipynb", 2, "Did you mean '01-huse-tradeoff'"),
    ("run nowhere/good.ipynb", 2, "'nowhere/good.ipynb': there is no such file"),
    ("run folder.ipynb", 2, "it is a folder: name the notebooks in it"),
    ("run dangling.ipynb", 2, "it is no regular file"),
    ("run loop.ipynb", 2, "it is no regular file"),
    ("run pipe.ipynb", 2, "it is no regular file"),
    ("run good.ipynb other/good.ipynb", 2, "have one name, and results go by it"),
    ("run good.ipynb nowhere.ipynb", 2, "no notebook 'nowhere.ipynb'"),
    # Notebooks that cannot be run.
    ("run empty.ipynb", 2, "cannot be read as a notebook"),
    ("run words.ipynb", 2, "cannot be read as a notebook"),
    ("run cut.ipynb", 2, "restore it from version control"),
    ("run latin.ipynb", 2, "UnicodeDecodeError"),
    ("run marked.ipynb", 2, "BOM"),
    ("run deep.ipynb", 2, "RecursionError"),
    ("run half.ipynb", 2, "UnicodeEncodeError"),
    ("run array.ipynb", 2, "cannot be read as a notebook"),
    ("run number.ipynb", 2, "cannot be read as a notebook"),
    ("run formatless.ipynb", 2, "cannot be read as a notebook"),
    ("run format3.ipynb", 2, "is of notebook format 3, and format 4 is read: convert it"),
    ("run format5.ipynb", 2, "is of notebook format 5"),
    ("run cellless.ipynb", 2, "cannot be read as a notebook"),
    ("run cells_object.ipynb", 2, "has 0 code cells tagged"),
    ("run cells_numbers.ipynb", 2, "cannot be read as a notebook"),
    ("run sourceless.ipynb", 2, "cannot be read as a notebook"),
    ("run metadata_list.ipynb", 2, "cannot be read as a notebook"),
    ("run metadata_text.ipynb", 2, "cannot be read as a notebook"),
    ("run kernel_list.ipynb", 2, "cannot be read as a notebook"),
    ("run kernel_text.ipynb", 2, "cannot be read as a notebook"),
    ("run in_r.ipynb", 2, "is written in R, and notebooks run in a Python kernel"),
    ("run in_julia.ipynb", 2, "is written in julia"),
    ("run ours_list.ipynb", 2, "cannot be read as a notebook"),
    ("run ours_text.ipynb", 2, "cannot be read as a notebook"),
    ("run data_text.ipynb", 2, "cannot be read as a notebook"),
    ("run data_numbers.ipynb", 2, "the data sets [1]: texts are needed"),
    ("run untagged.ipynb", 2, "has 0 code cells tagged 'parameters'"),
    ("run tagged_twice.ipynb", 2, "has 2 code cells tagged 'parameters'"),
    ("run no_python.ipynb", 2, "the parameters cell is not Python"),
    ("run computing.ipynb", 2, "is 'range(3)', which is not a literal"),
    ("run infinite.ipynb", 2, "is '1e309', which is not a literal"),
    ("run strange_type.ipynb -p k=1", 2, "'Path', which is not understood"),
    ("run strange_bound.ipynb -p k=1", 2, "Near(5)]', which is not understood"),
    ("run strange_limit.ipynb -p k=1", 2, "which is not understood"),
    (["run", "x" * 200 + ".ipynb"], 2, "has at most 150 bytes"),
    (["run", "two\nlines.ipynb"], 2, "it is printable"),
    ("run .hidden.ipynb", 2, "begins with no dot"),
    # Parameters that are none.
    ("run -p k", 2, "'k' is not NAME=VALUE"),
    ("run -p =5", 2, "'=5' is not NAME=VALUE"),
    (["run", "-p", ""], 2, "'' is not NAME=VALUE"),
    ("run -p n-neighbors=5", 2, "'n-neighbors=5' is not NAME=VALUE"),
    (["run", "-p", LONG], 2, "(20,002 characters) is not NAME=VALUE"),
    ("run 01 -p seed=1 -p seed=2", 2, "'seed' is given twice"),
    ("run 01 -p n_neighbours=5", 2, "Did you mean 'n_neighbors'"),
    (["run", "01", "-p", f"{LONG}=5"], 2, "has no parameter 'xxx"),
    ("run 05-judges-in-print -p seed=1", 2, "has no parameter 'seed'. It has: output_dir"),
    ("run 07 01 -p n_groups=2", 2, "01-huse-tradeoff has no parameter 'n_groups'"),
    ("run 01 -p output_dir=x", 2, "use --out"),
    ("run 01 -p source=released", 2, "use --source"),
    ("run 01 -p effort=full", 2, "use --effort"),
    # Values of the wrong type.
    ("run 01 -p n_neighbors=five", 2, "is declared 'int, at least 1'; got 'five'"),
    ("run 01 -p n_neighbors=", 2, "got ''"),
    ("run 01 -p n_neighbors=1.5", 2, "got '1.5'"),
    ("run 01 -p n_neighbors=true", 2, "got 'true'"),
    ("run 01 -p n_neighbors=none", 2, "got 'none'"),
    ("run 01 -p n_neighbors=nan", 2, "got 'nan'"),
    ("run 01 -p n_neighbors=[8]", 2, "got '[8]'"),
    ("run 01 -p n_neighbors={[]:1}", 2, "got '{[]:1}'"),
    (["run", "01", "-p", "n_neighbors=" + "(" * 5_000], 2, "5,002 characters"),
    (["run", "01", "-p", "n_neighbors=" + "-" * 20_000 + "1"], 2, "20,003 characters"),
    (["run", "01", "-p", "n_neighbors=" + "1" * 5_000], 2, "5,002 characters"),
    (["run", "02", "-p", "system=a\udce9"], 2, r"got 'a\udce9'"),
    (
        "run 02 -p ties=exakt",
        2,
        "\"one of 'exact', 'released'\"; got 'exakt'. Did you mean 'exact'",
    ),
    ("run 05b -p reasons=perhaps", 2, "is declared 'bool'; got 'perhaps'"),
    ("run 05b -p reasons=1", 2, "is declared 'bool'; got '1'"),
    ("run 06 -p backend=tdidf", 2, "Did you mean 'tfidf'"),
    ("run 07 -p backend=cross_encoder", 2, "one of 'auto', 'tfidf', 'frozen'"),
    # Values out of range.
    ("run 01 -p n_neighbors=0", 2, "'int, at least 1'; got '0'. Its default is 16"),
    ("run 01 -p n_outputs=-3", 2, "'int, at least 1'; got '-3'"),
    ("run 01 -p seed=-1", 2, "'int, at least 0'; got '-1'"),
    ("run 02 -p n_neighbors=0", 2, "'int, at least 1'; got '0'"),
    ("run 03 -p n_outputs=25", 2, "'int, at least 26'; got '25'"),
    ("run 04 -p epochs=0", 2, "'int, at least 1'; got '0'"),
    ("run 04 -p n_contexts=5", 2, "'int, at least 4, a multiple of 2'; got '5'"),
    ("run 05b -p n_references=0", 2, "'int, at least 1'; got '0'"),
    ("run 05b -p n_outputs=7", 2, "'int, at least 5, a multiple of 5'; got '7'"),
    ("run 06 -p n_splits=0", 2, "'int, at least 1'; got '0'"),
    ("run 06 -p test_size=0", 2, "'float, above 0, below 1'; got '0'"),
    ("run 06 -p test_size=1", 2, "'float, above 0, below 1'; got '1'"),
    ("run 06 -p test_size=nan", 2, "got 'nan'"),
    ("run 06 -p tie_ratio=-0.1", 2, "'float, at least 0, at most 1'; got '-0.1'"),
    ("run 06 -p tie_ratio=1e999", 2, "got '1e999'"),
    ("run 06 -p seed=4294967296", 2, "below 4294967296'; got '4294967296'"),
    ("run 06 -p n_outputs=1", 2, "'int, at least 2'; got '1'"),
    ("run 06b -p n_outputs=1", 2, "'int, at least 2'; got '1'"),
    ("run 06b -p test_size=1.5", 2, "'float, above 0, below 1'; got '1.5'"),
    ("run 06b -p tie_ratio=2", 2, "'float, at least 0, at most 1'; got '2'"),
    ("run 07 -p n_groups=0", 2, "'int, at least 1'; got '0'"),
    ("run 07 -p n_choices=0", 2, "'int, at least 1'; got '0'"),
    ("run 07 -p n_sentences=1", 2, "'int, at least 2'; got '1'"),
    ("run 07 -p n_checkpoints=1", 2, "'int, at least 2'; got '1'"),
    ("run 07 -p patience=-1", 2, "'int, at least 1'; got '-1'. Its default is 5"),
    # Folders that parameters name.
    ("run 01 -p study=", 2, "study='' is no folder"),
    ("run 01 -p study=empty_studi", 2, "is no folder. Did you mean 'empty_study'?"),
    ("run 01 -p study=empty_study", 2, "study='empty_study' holds no outputs.csv"),
    ("run 01 -p study=file", 2, "study='file' is no folder"),
    ("run 01 -p study=loop", 2, "study='loop' is no folder"),
    ("run 01 -p study=~nobody/x", 2, "study='~nobody/x' is no folder"),
    (["run", "01", "-p", f"study={LONG}"], 2, "is no folder"),
    ("run 01 -p study=other --source simulated", 2, "are two studies: leave one out"),
    ("run 06 -p encoder=/nope", 2, "encoder='/nope' is no folder"),
    ("run 06 -p encoder=./nope", 2, "encoder='./nope' is no folder"),
    ("run 06 -p encoder=~/nope", 2, "encoder='~/nope' is no folder"),
    ("run 06 -p encoder=a/b/c", 2, "Give the folder that holds config.json"),
    ("run 06b -p encoder=./other", 2, "encoder='./other' holds no config.json"),
    ("run 06b -p encoder=", 2, "encoder='' is no folder"),
    # What parameters name in a study.
    (
        "run 08 -p study=judged -p dimension=fluancy",
        2,
        "has no 'fluancy'. Did you mean 'fluency'? There are: fluency.",
    ),
    ("run 08 -p study=judged -p dimension= --dry-run", 2, "has no ''. There are: fluency."),
    ("run 10 --source simulated -p dimension=fluency", 2, "There are: quality."),
    ("run 09 -p study=judged -p evaluator=bleau", 2, "Did you mean 'bleu'? There are: bleu, chrf"),
    (
        "run 09 -p study=judged -p sampling=zufall --dry-run",
        2,
        "'zufall'. There are: random",
    ),
    ("run 09 -p study=judged -p authors=xx", 2, "has no 'xx'. There are: judge=a, judge=b."),
    ("run 09 -p study=judged -p authors=juge=a", 2, "Did you mean 'judge=a'?"),
    ("run 09 -p study=judged -p authors=judge=a,judge=c", 2, "has no 'judge=c'"),
    ("run 09 --source simulated -p authors=xx=yy --dry-run", 2, "the study has no 'xx=yy'"),
    ("run naming.ipynb -p study=judged -p evaluators=bleu,chfr", 2, "Did you mean 'chrf'?"),
    # Grids, retries.
    ("run good.ipynb --grid twice.yml", 2, "'k' stands twice"),
    ("run good.ipynb --grid grid.yml -p k=3", 2, "-p and --grid both set 'k': leave one out"),
    ("run good.ipynb --retry-failed --force", 2, "leave one out"),
    # What is cleaned, and begun.
    ("clean nope", 2, "no folder nope"),
    ("clean --dry-run good.ipynb", 2, "'good.ipynb' is a file: name a folder"),
    ("new begun --from plain.csv --as mturk", 1, "plain.csv has no column `Answer.*`"),
    # Released data.
    ("run 01 --source released", 1, "NLGBENCH_DATA names that folder"),
    ("fetch hues", 2, "Did you mean 'huse'"),
    ("fetch huse/nope.csv", 2, "no released data go by 'huse/nope.csv'"),
    (["fetch", ""], 2, "no released data go by ''"),
    ("fetch huse", 1, "2 of 2 files failed"),
    # Ledgers.
    ("ledger nowhere", 2, "holds no ledger.csv: run `nlgbench run --out nowhere`"),
    ("ledger other", 2, "other holds no ledger.csv"),
    (["ledger", ""], 2, "is empty: name a folder"),
    ("ledger file", 2, "'file' is a file: name a folder"),
    ("ledger dangling", 2, "'dangling' is a file: name a folder"),
    ("ledger broken_run", 1, "no column"),
    ("ledger broken_run --verdict difers", 2, "Did you mean 'differs'"),
    ("ledger broken_run --format xml", 2, "is not one of 'table', 'csv', 'json', 'latex'"),
]


def named(case):
    return (
        (case if isinstance(case, str) else " ".join(case))[:40].encode("unicode_escape").decode()
    )


@pytest.mark.parametrize(("line", "code", "message"), WRONG, ids=lambda part: named(str(part)))
def test_a_wrong_command_names_what_is_wrong(place, monkeypatch, line, code, message):
    monkeypatch.chdir(place)
    monkeypatch.setenv("NLGBENCH_DATA", str(place / "data"))
    monkeypatch.setattr(execute, "execute", lambda *_, **__: pytest.fail("a kernel was started"))
    before = sorted(place.rglob("*"))
    result = CliRunner().invoke(main, line.split() if isinstance(line, str) else line)
    assert message in result.stderr
    assert result.exit_code == code
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit), "no traceback"
    assert len(result.stderr) < 5_000
    assert sorted(place.rglob("*")) == before, "something was written"


def test_an_empty_value_has_no_nearest(place, monkeypatch):
    monkeypatch.chdir(place / "judged")
    told = CliRunner().invoke(main, ["run", "01", "-p", "study="]).stderr
    assert "study='' is no folder" in told and "Did you mean" not in told


def test_the_table_is_long_enough():
    assert len(WRONG) >= 120
    assert len({str(line) for line, *_ in WRONG}) == len(WRONG)
