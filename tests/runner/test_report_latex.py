"""What the report writes for LaTeX: compiled, at the widths of three templates."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from nlgbench.runner.report import folder, latex, writing

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
\input{numbers}
\begin{document}
\typeout{COLUMN \the\columnwidth}
\sloppy
%s
\input{tables}
\clearpage
\input{figures}
\end{document}
"""


def compiled(report, template, body):
    """Compile a document of all tables and figures; give the log."""
    text = DOCUMENT % (TEMPLATES[template], body)
    (report / f"{template}.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{template}.tex"]
    unbroken = os.environ | {"max_print_line": "10000"}
    ran = subprocess.run(
        command, cwd=report, capture_output=True, timeout=120, check=False, env=unbroken
    )
    assert ran.returncode == 0, ran.stdout[-3_000:].decode(errors="replace")
    return (report / f"{template}.log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="no pdflatex: Debian's texlive-latex-base and -recommended have all that is needed",
)
@pytest.mark.parametrize("template", TEMPLATES)
def test_all_tables_and_figures_fit(reported, template, tmp_path):
    found = folder.read(reported)
    report = Path(shutil.copytree(reported, tmp_path / "out")) / writing.PLACE
    macros = latex.numbers(found)["macro"]
    body = "\n".join(rf"\{macro}{{}}" for macro in macros)  # of lines that TeX can hold
    log = compiled(report, template, body)
    assert "Overfull" not in log, re.findall(r"Overfull.*", log)[:5]
    assert "undefined" not in log and "Missing character" not in log
    assert set(re.findall(r"<use \S*/(\S+)/atlas\.pdf", log)) == {"figures"}
    # What is laid out here has the width that the report counts with.
    column = float(re.search(r"COLUMN ([\d.]+)pt", log)[1]) / 72.27
    assert column == pytest.approx(latex.WIDTHS[template][0], abs=0.02)


def test_macros_have_valid_names_that_are_one_number_each(reported):
    numbers = latex.numbers(folder.read(reported))
    assert len(numbers) > 50
    assert numbers["macro"].is_unique
    assert numbers["macro"].str.fullmatch("nlg[A-Za-z]+").all()
    text = (reported / writing.PLACE / "numbers.tex").read_text(encoding="utf-8")
    assert re.findall(r"^\\newcommand\{\\(\w+)\}", text, re.MULTILINE) == numbers["macro"].tolist()


def test_a_caption_is_not_cut_within_a_name(tmp_path):
    alt = "Scores of Acme Inc. large and gpt. Best first: gpt. Source: simulated."
    figure = folder.Figure("run", "scores", tmp_path / "scores.pdf", alt, "simulated")
    pd.DataFrame({"system": ["Acme_Inc. large", "gpt"], "reason": "none."}).to_csv(
        tmp_path / "scores.csv", index=False
    )
    assert latex.caption(figure) == "Scores of Acme Inc. large and gpt. Source: simulated."
