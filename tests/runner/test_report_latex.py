"""What the report writes for LaTeX compiles and fits; macros are one number each."""

import os
import re
import shutil
import subprocess

import pytest

from nlgbench.runner import latex, report, run_folder

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
\clearpage
\input{../out/report/figures}
\end{document}
"""


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="no pdflatex: Debian's texlive-latex-base and -recommended have all that is needed",
)
def test_all_numbers_tables_and_figures_are_printed_and_fit(reported, tmp_path):
    found = run_folder.read(reported)
    shutil.copytree(reported, tmp_path / "out")
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
    assert all(f"/{figure.name}.pdf" in log for figure in found.figures)


def test_macros_have_valid_names_that_are_one_number_each(reported):
    numbers = latex.numbers(run_folder.read(reported))
    assert len(numbers) > 50
    assert numbers["macro"].is_unique
    assert numbers["macro"].str.fullmatch("nlg[A-Za-z]+").all()
    text = (reported / report.PLACE / "numbers.tex").read_text(encoding="utf-8")
    assert re.findall(r"^\\newcommand\{\\(\w+)\}", text, re.MULTILINE) == numbers["macro"].tolist()


@pytest.mark.parametrize(
    ("alt", "caption"),
    [
        (
            "Scores of Acme Inc. large and gpt. Best first: gpt.",
            "Scores of Acme Inc. large and gpt.",
        ),
        ("Two titles (a and b). bleu: 0.5.", "Two titles (a and b)."),
        ("One sentence", "One sentence"),
    ],
)
def test_a_caption_is_the_first_sentence_and_not_cut_within_a_name(tmp_path, alt, caption):
    alt = f"{alt} Source: simulated."
    figure = run_folder.Figure("run", "scores", tmp_path / "scores.pdf", alt, "simulated")
    assert figure.caption == f"{caption} Source: simulated."
