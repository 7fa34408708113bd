"""Tables and numbers for LaTeX are rounded, compile, and print whatever a label holds."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgbench.runner import latex, run_folder
from nlgbench.runner.latex import to_latex

COLUMNS = pd.MultiIndex.from_product([["H1", "H2"], ["τ-b", "Pearson"]])
WIDE = pd.DataFrame(
    [[0.5344, "−0.72†", np.nan, -0.001], [1.0, "0.25", 0.5, -1.0]],
    index=["SVM & <RNN>", "BLEU_4 100%"],
    columns=COLUMNS,
)


def body(latex):
    """Cells of the rows between the rules, as a reader of LaTeX parts them."""
    inner = latex.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))]
        for line in inner.strip().splitlines()
    ]


def test_latex_groups_columns_and_aligns_numbers():
    latex = to_latex(WIDE, caption="Agreement", label="tab:a", note="* p < .05.")
    assert r"\begin{tabular}{lrrrr}" in latex
    assert r" & \multicolumn{2}{c}{H1} & \multicolumn{2}{c}{H2} \\" in latex
    assert r"& $\tau$-b & Pearson & $\tau$-b & Pearson \\" in latex
    assert body(latex) == [
        [r"SVM \& <RNN>", "0.53", "$-$0.72†", "--", "0.00"],
        [r"BLEU\_4 100\%", "1.00", "0.25", "0.50", "$-$1.00"],
    ]
    assert r"\footnotesize {}* p < .05." in latex
    assert latex.index(r"\caption") < latex.index(r"\label") < latex.index(r"\begin{tabular}")


@given(st.text(alphabet="ab \\{}~^&%$#_<>−τ|*[`", min_size=1, max_size=12))
def test_whatever_a_label_holds_it_stays_one_cell(label):
    table = pd.DataFrame({"n": [0.5]}, index=[label])
    ((name, number),) = body(to_latex(table, caption="", label="tab:a"))
    assert number == "0.50"
    # What TeX would act on is gone once known escapes are taken out.
    name = name.removeprefix("{}")
    known = r"\\text(backslash|asciitilde|asciicircum|less|greater)\{\}|\\[&%$#_{}]|\$-\$|\$\\tau\$"
    assert not set(re.sub(known, "", name)) & set("\\{}~^&%$#_−τ")


def test_every_number_has_a_macro_of_its_own_to_the_printed_digits(reported):
    found = run_folder.read_runs(reported)
    numbers = latex.numbers(found)
    assert len(numbers) > 50 and numbers["macro"].is_unique
    text = (reported / "report" / "numbers.tex").read_text(encoding="utf-8")
    assert re.findall(r"^\\newcommand\{\\(nlg[A-Za-z]+)\}", text, re.MULTILINE) == [
        *numbers["macro"]
    ]
    texts = numbers.set_index("macro")["text"]
    row = found.ledger[found.ledger["recomputed"].notna()].iloc[0]
    name = latex.macro_name("/".join(filter(None, [row["claim_id"], row["variant"], row["run"]])))
    assert float(texts[name]) == pytest.approx(row["recomputed"], abs=row["tolerance"])
    assert texts[f"{name}Published"] == f"{row['published']:.2f}"
    n = texts.index.str.endswith("Published").sum()
    assert n == len(found.ledger.dropna(subset=["published"]))
    rows = found.ledger.iloc[[0, 0]].assign(claim_id=["study/a_b/c", "study/a/b_c"])
    alike = latex.numbers(run_folder.Folder(Path(), [], [], [], rows))
    assert alike["macro"].is_unique and alike["of"].nunique() == 2
    frame = pd.DataFrame({"coefficient": ["alpha_interval", "kappa"], "estimate": 0.5})
    table = run_folder.Table("r", "agreement", Path(), "study", frame)
    run = run_folder.Run("r", "", "", {}, [], [table])
    macros = latex.numbers(run_folder.Folder(Path(), [run], [], [], rows[:0]))["macro"].tolist()
    assert macros == ["nlgAgreementAlphaIntervalValue", "nlgAgreementKappa"]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (-0.5, 2, r"\ensuremath{-}0.50"),
        (-0.001, 2, "0.00"),
        (1234.5, None, "1234"),
        (0.012345, None, "0.012"),
        (-2.5e-9, None, r"\ensuremath{-}0.0000000025"),
    ],
)
def test_numbers_are_written_without_powers_of_ten(value, decimals, text):
    assert latex.number(value, decimals) == text


#: At the widths of ACL's column and text, from another folder than the report's parent.
DOCUMENT = r"""\documentclass[11pt,twocolumn]{article}
\setlength{\textwidth}{16cm}\setlength{\columnsep}{0.6cm}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx}
\setlength{\textheight}{9in}\setlength{\topmargin}{-0.5in}
\setlength{\oddsidemargin}{0in}
\hbadness=10000 \hfuzz=0.1pt
\newcommand{\nlgpath}{../out/report/}
\input{../out/report/numbers}
\begin{document}
\sloppy
%s
\input{../out/report/tables}
\end{document}
"""


@pytest.mark.release
@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="no pdflatex: Debian's texlive-latex-base and -recommended have all that is needed",
)
def test_all_numbers_and_tables_are_printed_and_fit(reported, tmp_path):
    found = run_folder.read_runs(reported)
    shutil.copytree(reported, tmp_path / "out")
    tables = reported / "report" / "tables"
    assert r"\begin{table}" in (tables / "90-own-systems.tex").read_text(encoding="utf-8")
    wide = (tables / "01-huse-tradeoff-equation_9.tex").read_text(encoding="utf-8")
    assert r"\begin{table*}" in wide  # five columns, across both of two
    (tmp_path / "paper").mkdir()
    macros = latex.numbers(found)["macro"]
    body = "\n".join(rf"\{macro}{{}}" for macro in macros)  # of lines that TeX can hold
    (tmp_path / "paper" / "paper.tex").write_text(DOCUMENT % body, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    unbroken = os.environ | {"max_print_line": "10000"}
    ran = subprocess.run(
        command, cwd=tmp_path / "paper", capture_output=True, timeout=120, env=unbroken
    )
    assert ran.returncode == 0, ran.stdout[-3_000:].decode(errors="replace")
    log = (tmp_path / "paper" / "paper.log").read_text(encoding="utf-8", errors="replace")
    assert "Overfull" not in log, re.findall(r"Overfull.*", log)[:5]
    assert "undefined" not in log and "Missing character" not in log
