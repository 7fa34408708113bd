"""What the report writes for LaTeX: compiled, at the widths of three templates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nlgbench.runner import latex, report, run_folder

#: Widths of a column and of the text in points, as the templates' class files set them.
TEMPLATES = {
    "ACL": r"\documentclass[11pt,twocolumn]{article}"
    r"\setlength{\textwidth}{16cm}\setlength{\columnsep}{0.6cm}",
    "NeurIPS": r"\documentclass[10pt]{article}\setlength{\textwidth}{5.5in}",
    "IEEE": r"\documentclass[10pt,twocolumn]{article}"
    r"\setlength{\textwidth}{43pc}\setlength{\columnsep}{1pc}",
}
DOCUMENT = r"""%s
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx}
\setlength{\textheight}{9in}\setlength{\topmargin}{-0.5in}
\setlength{\oddsidemargin}{0in}
\hbadness=10000 \hfuzz=0.1pt
\input{report/numbers}
\begin{document}
\typeout{COLUMN \the\columnwidth}
\sloppy
%s
\input{report/tables}
\clearpage
\input{report/figures}
\end{document}
"""


def compiled(place, template, body):
    """Compile a document of all tables and figures; give the log."""
    text = DOCUMENT % (TEMPLATES[template], body)
    (place / f"{template}.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{template}.tex"]
    unbroken = os.environ | {"max_print_line": "10000"}
    ran = subprocess.run(
        command, cwd=place, capture_output=True, timeout=120, check=False, env=unbroken
    )
    assert ran.returncode == 0, ran.stdout[-3_000:].decode(errors="replace")
    return (place / f"{template}.log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="no pdflatex: Debian's texlive-latex-base and -recommended have all that is needed",
)
@pytest.mark.parametrize("template", TEMPLATES)
def test_all_tables_and_figures_fit(reported, template, tmp_path):
    found = run_folder.read(reported)
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    macros = latex.numbers(found)["macro"]
    body = "\n".join(rf"\{macro}{{}}" for macro in macros)  # of lines that TeX can hold
    log = compiled(out, template, body)
    assert "Overfull" not in log, re.findall(r"Overfull.*", log)[:5]
    assert "undefined" not in log and "Missing character" not in log
    assert all(f"/{figure.name}.pdf" in log for figure in found.figures)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_a_document_elsewhere_names_the_report_by_nlgpath(reported, tmp_path):
    text = (DOCUMENT % (TEMPLATES["ACL"], "")).replace("{report/", "{../out/report/")
    text = text.replace(
        r"\begin{document}", r"\newcommand{\nlgpath}{../out/report/}\begin{document}"
    )
    shutil.copytree(reported, tmp_path / "out")
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "paper.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    ran = subprocess.run(command, cwd=tmp_path / "paper", capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-3_000:].decode(errors="replace")


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
