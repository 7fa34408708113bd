"""What a notebook records is kept whole, with its source, words and ledger; mistakes are named."""

import json
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from nlgbench.datasets.published import load_claims
from nlgbench.papers.claim_rows import claim_rows
from nlgbench.plots.figures import Drawing, canvas
from nlgbench.reported import to_text
from nlgbench.runner import record, runs
from nlgbench.status import Unsupported
from nlgbench.study import schema

matplotlib.use("Agg")
NOTEBOOK = "02-huse-boundary"
OWNED = load_claims().query("notebook == @NOTEBOOK")


def line(alt="A line.", data=None):
    figure, (ax,) = canvas(2, 2)
    ax.plot([0, 1])
    return Drawing(figure, (ax,), pd.DataFrame() if data is None else data, alt)


def test_a_figure_is_kept_with_its_words_and_its_numbers(tmp_path):
    run = record.open(NOTEBOOK, source="released", output_dir=str(tmp_path))
    run.figure(line(data=pd.DataFrame({"y": [0, 1]})), "line")
    kept = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert kept == ["line.csv", "line.pdf", "line.png", "line.txt"]
    assert (tmp_path / "figures" / "line.txt").read_text() == "A line. Source: released.\n"
    assert (tmp_path / "figures" / "line.csv").read_text() == "y,source\n0,released\n1,released\n"
    assert not plt.get_fignums()
    again = record.open(NOTEBOOK, source="released", output_dir=str(tmp_path / "again"))
    again.figure(line(data=pd.DataFrame({"y": [0, 1]})), "line")
    places = tmp_path / "figures", tmp_path / "again" / "figures"
    for name in kept:
        one, other = ((place / name).read_bytes() for place in places)
        assert one == other, name
    run.figure(line(data=pd.DataFrame({"y": [0, 1], "source": ["published", None]})), "of_two")
    of_two = (tmp_path / "figures" / "of_two.csv").read_text()
    assert of_two == "y,source\n0,published\n1,released\n"


def test_simulated_figures_are_marked_in_a_corner_and_in_words(tmp_path):
    run = record.open(NOTEBOOK, source="simulated", output_dir=str(tmp_path))
    part = pd.DataFrame({"source": ["simulated", None]})
    cases = {
        "all": ("simulated", None, "simulated"),
        "part": ("released", part, "partly simulated"),
    }
    for name, (source, data, mark) in cases.items():
        drawing = line(data=data)
        run.figure(drawing, name, source=source)
        (text,) = (one for one in drawing.figure.texts if one.get_gid() == "simulated")
        assert text.get_text() == mark
        assert mark in (tmp_path / "figures" / f"{name}.txt").read_text().lower()
    drawing = line()
    run.figure(drawing, "released", source="released")
    assert not drawing.figure.texts


def test_a_table_is_laid_out_for_a_paper_where_asked_and_kept_in_full_precision(tmp_path):
    run = record.open(NOTEBOOK, source="simulated", output_dir=str(tmp_path))
    long = pd.DataFrame({"evaluator": ["a_b"], "tau": [1 / 3]})
    wide = long.set_index("evaluator")
    run.table(long, "plain")
    run.table(long, "agreement", layout={"table": wide, "caption": "Who agrees."})
    folder = tmp_path / "tables"
    kept = sorted(path.name for path in folder.iterdir())
    assert kept == ["agreement.csv", "agreement.tex", "plain.csv"]
    assert (folder / "agreement.csv").read_bytes() == (folder / "plain.csv").read_bytes()
    assert "0.3333333333333333" in (folder / "agreement.csv").read_text()
    tex = (folder / "agreement.tex").read_text(encoding="utf-8")
    assert r"\caption{Who agrees. Source: simulated.}" in tex
    assert r"\label{tab:agreement}" in tex
    assert r"a\_b & 0.33 \\" in tex


def test_without_an_output_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = record.open(NOTEBOOK, source="simulated")
    run.figure(line(), "line")
    run.table(pd.DataFrame({"a": [1]}), "numbers")
    ledger = run.close()
    assert len(ledger) == len(OWNED)
    assert set(ledger["verdict"]) == {"not recomputable"}
    assert not list(tmp_path.iterdir())


def test_closing_writes_a_complete_ledger_in_full_precision(tmp_path):
    run = record.open(NOTEBOOK, source="released", output_dir=str(tmp_path))
    values = OWNED.assign(value=OWNED["published"] + 1e-13)
    run.claims(
        claim_rows(values, "{claim_id}", value="value", variant="shifted", reason="For {quantity}.")
    )
    run.close()
    ledger = schema.read(tmp_path / "ledger.csv", "ledger")
    assert np.array_equal(ledger["recomputed"], values["value"])
    assert set(ledger["verdict"]) == {"matches"}
    assert ledger["reason"].str.startswith("For ").all()
    assert not (tmp_path / runs.OPEN).exists()
    assert json.loads((tmp_path / runs.RECORD).read_text())["peak_memory_bytes"] > 1e6


def test_an_open_claim_keeps_the_record_from_closing(tmp_path):
    run = record.open(NOTEBOOK, source="released", output_dir=str(tmp_path))
    with pytest.raises(ValueError, match=r"neither recorded nor excused: \d+ .first: "):
        run.close()
    assert not (tmp_path / "ledger.csv").exists()
    run.skip("huse/table2/*", "This run left it out.")
    assert set(run.close()["reason"]) == {"This run left it out."}


PRINTED = claim_rows(OWNED, "{claim_id}", value="published", source="published")
OTHERS = PRINTED[:1].assign(claim_id="huse/table1/lm_t1.0/huse")
MISSPELT = PRINTED[:1].assign(claim_id="huse/table2/quality_failure_model/h")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda run: record.open(NOTEBOOK, source="real"), "source: .real. is unknown"),
        (lambda run: run.figure(line(alt=" "), "x"), "needs alternative text"),
        (lambda run: run.figure(line(), "../out"), "use only letters"),
        (lambda run: run.table(pd.DataFrame(), "50% of it"), "use only letters"),
        (lambda run: [run.table(PRINTED, "x") for _ in "ab"], "a table named 'x' is already"),
        (lambda run: claim_rows(PRINTED, "huse/{row}/hj"), "the table has no column 'estimate'"),
        (lambda run: run.claims(MISSPELT), "Did you mean 'huse/table2/quality_failure_model/hj'"),
        (lambda run: run.claims(OTHERS), "belongs to notebook '01-huse-tradeoff'"),
        (lambda run: run.claims(PRINTED), "need a variant that names the method"),
        (
            lambda run: run.claims(pd.DataFrame({"v": [1.0]})),
            "no column 'claim_id': add it. They have v",
        ),
        (lambda run: run.skip("huse/table2/*", ""), "needs a reason"),
        (lambda run: run.skip("huse/table9/*", "No."), "no claim has the id 'huse/table9"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(record.open(NOTEBOOK, source="released"))


def test_a_section_is_recorded_and_drawn_or_skipped_with_its_reason(tmp_path, capsys):
    run = record.open(NOTEBOOK, source="simulated", output_dir=str(tmp_path))
    long = "too few annotators for an interval over other annotators: " * 3
    table = pd.DataFrame({"x": [1.23456], "low": [np.nan], "reason": [long]})

    def fail(*_):
        raise Unsupported("no_votes", "the study has no votes.")

    assert run.section("one", lambda: table, plot=lambda _: line()) is table
    shown = to_text(table)
    assert long.strip() in shown and "1.23 " in shown and "low" not in shown
    assert run.section("two", lambda: fail()) is None
    assert run.section("three", lambda: table, plot=fail, columns=["x"]) is table
    said = capsys.readouterr().out
    assert "Skipped two because the study has no votes." in said
    assert "Skipped the figure three because the study has no votes." in said
    several = SimpleNamespace(stops=table, report=table)
    run.section("many", lambda: several, tables={"stops": "stops", "report": "stops_report"})
    kept = {"/".join(path.parts[-2:]) for path in tmp_path.rglob("*.csv")}
    tables = {f"tables/{name}.csv" for name in ("one", "three", "stops", "stops_report")}
    assert kept == {*tables, "figures/one.csv"}
