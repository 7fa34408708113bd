"""A table in LaTeX shows its numbers rounded, and whatever a label holds stays one cell."""

import re

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from nlgbench.runner.latex import to_latex

COLUMNS = pd.MultiIndex.from_product([["H1", "H2"], ["τ-b", "Pearson"]])
WIDE = pd.DataFrame(
    [[0.5344, -0.7180, np.nan, -0.001], [1.0, 0.25, 0.5, -1.0]],
    index=["SVM & <RNN>", "BLEU_4 100%"],
    columns=COLUMNS,
)
MARKS = pd.DataFrame(
    [["*", "†", "", ""], ["", "", "", "*"]], index=WIDE.index, columns=WIDE.columns
)


def body(latex):
    """Cells of the rows between the rules, as a reader of LaTeX parts them."""
    inner = latex.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))]
        for line in inner.strip().splitlines()
    ]


def test_latex_groups_columns_and_aligns_numbers_with_marks_that_take_no_room():
    latex = to_latex(WIDE, caption="Agreement", label="tab:a", marks=MARKS, note="* p < .05.")
    assert r"\begin{tabular}{lrrrr}" in latex
    assert r" & \multicolumn{2}{c}{H1} & \multicolumn{2}{c}{H2} \\" in latex
    assert r"& $\tau$-b & Pearson & $\tau$-b & Pearson \\" in latex
    assert body(latex) == [
        [
            r"SVM \& <RNN>",
            r"$0.53$\rlap{\textsuperscript{{}*}}",
            r"$-0.72$\rlap{\textsuperscript{†}}",
            "--",
            "$0.00$",
        ],
        [r"BLEU\_4 100\%", "$1.00$", "$0.25$", "$0.50$", r"$-1.00$\rlap{\textsuperscript{{}*}}"],
    ]
    assert r"\footnotesize {}* p < .05." in latex
    assert latex.index(r"\caption") < latex.index(r"\label") < latex.index(r"\begin{tabular}")


def test_intervals_stand_below():
    bounds = (WIDE - 0.125, WIDE + 0.125)
    latex = to_latex(WIDE, caption="", label="tab:a", intervals=bounds, decimals=3)
    below = (
        r"{\scriptsize$[0.409, 0.659]$}",
        r"{\scriptsize$[-0.843, -0.593]$}",
        "",
    )
    assert body(latex)[1][:4] == ["", *below]


def test_integers_are_whole_and_text_is_left_and_escaped():
    table = pd.DataFrame({"n": [12], "note": ["a_b -- c"]}, index=pd.Index(["x"], name="system"))
    latex = to_latex(table, caption="", label="tab:a")
    assert r"\begin{tabular}{lrl}" in latex
    assert r"system & n & note" in latex
    assert body(latex) == [["x", "$12$", r"a\_b -- c"]]


def test_rows_of_two_levels_have_a_column_each():
    index = pd.MultiIndex.from_tuples([("natural", "SVM"), ("majority", "SVM")])
    table = pd.DataFrame([[0.1] * 4, [0.2] * 4], index=index, columns=COLUMNS)
    latex = to_latex(table, caption="", label="tab:a")
    assert r"\begin{tabular}{llrrrr}" in latex
    assert body(latex)[1][:3] == ["majority", "SVM", "$0.20$"]


@given(st.text(alphabet="ab \\{}~^&%$#_<>−τ|*[`", min_size=1, max_size=12))
def test_whatever_a_label_holds_it_stays_one_cell(label):
    table = pd.DataFrame({"n": [0.5]}, index=[label])
    ((name, number),) = body(to_latex(table, caption="", label="tab:a"))
    assert number == "$0.50$"
    # What TeX would act on is gone once known escapes are taken out.
    name = name.removeprefix("{}")
    known = r"\\text(backslash|asciitilde|asciicircum|less|greater)\{\}|\\[&%$#_{}]|\$-\$|\$\\tau\$"
    assert not set(re.sub(known, "", name)) & set("\\{}~^&%$#_−τ")


@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_what_is_written_rounds_the_value_and_zero_has_no_sign(value, decimals):
    table = pd.DataFrame({"n": [value]})
    written = body(to_latex(table, caption="", label="tab:a", decimals=decimals))[0][1]
    assert abs(float(written.strip("$")) - value) <= 0.5 * 10**-decimals + 1e-9
    assert not re.fullmatch(r"\$-0\.?0*\$", written)


def test_a_row_that_starts_with_a_bracket_or_a_star_is_not_the_line_breaks_argument():
    table = pd.DataFrame({"n": [1, 2, 3]}, index=["a", "[b]", "*"])
    assert [row[0] for row in body(to_latex(table, caption="", label="tab:a"))] == [
        *("a", "{}[b]", "{}*")
    ]
