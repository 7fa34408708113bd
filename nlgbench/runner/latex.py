r"""Results as LaTeX: a macro for each number, booktabs tables that fit their column, and figures.

Both need `pdflatex` with `booktabs`, `graphicx` and `\usepackage[T1]{fontenc}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from nlgbench.reported import digits, readable, write_number
from nlgbench.runner.facts import drop_mirrored, legible, write_scope
from nlgbench.runner.run_folder import Folder, Table

#: The most columns of a table that fits in one of two text columns.
_NARROW = 4
#: The most pixels of a figure that fits in one of two text columns.
_COLUMN_PIXELS = 1_000
#: The most rows of a table that a paper would print.
_MOST_ROWS = 30
#: Columns that a paper would print, beside those that identify the rows.
_PRINTED = ("estimate", "ci_low", "ci_high", "rank_low", "rank_high", "p_adjusted", "verdict")
#: What the estimates of a table are, in the names of macros.
_WORDS = {"systems": "mean", "pairs": "difference", "rating_pairs": "rating_difference"}
_DIGITS = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]

SETUP = r"""% Packages: booktabs, graphicx. \nlgpath is the path from your document to the report.
\providecommand{\nlgpath}{report/}
\makeatletter
\@ifundefined{nlgbox}{\newsavebox{\nlgbox}}{}
\makeatother
% Tables wider than the column are scaled down; others stay unchanged.
\providecommand{\nlgfit}[1]{\sbox{\nlgbox}{#1}%
  \ifdim\wd\nlgbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\nlgbox}}\else\usebox{\nlgbox}\fi}
"""

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        **{"τ": r"$\tau$", "ρ": r"$\rho$", "κ": r"$\kappa$", "α": r"$\alpha$"},
        **{sign: f"\\{sign}" for sign in "&%$#_"},
    }
)
#: Unicode characters that pdflatex prints without further packages.
_PRINTABLE = frozenset("†‡–—‘’“”…•" + "".join(map(chr, range(0xA1, 0x100)))) - frozenset("\xad")


def escape(text: object) -> str:
    """Escape a text so that LaTeX prints it unchanged, even at the start of a table's row."""
    escaped = re.sub(r"^[\[*]", r"{}\g<0>", _one_line(text).translate(_LATEX))
    # pdflatex stops at a character that it cannot print.
    return "".join(
        sign if "\x20" <= sign < "\x7f" or sign in _PRINTABLE else f"U+{ord(sign):04X}"
        for sign in escaped
    )


def _one_line(text: object) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", str(text)).split())


def to_latex(
    table: pd.DataFrame,
    *,
    caption: str,
    label: str,
    note: str = "",
) -> str:
    """Write a table and a note, without rows and columns of NaN."""
    table = table.dropna(how="all").dropna(how="all", axis=1)
    texts = table.astype(str)
    numeric = [
        texts.iloc[:, n].str.match(r"$|[<−-]?\d", na=True).all() for n in range(table.shape[1])
    ]
    cells = table.astype(object).map(lambda value: "--" if pd.isna(value) else _cell(value))
    n_names = table.index.nlevels
    names = [escape(name or "") for name in table.index.names]
    laid_out = cells.rename(index=escape, columns=escape).rename_axis(columns=lambda _: None)
    laid_out = laid_out.reset_index(names=names, allow_duplicates=True)
    text = laid_out.to_latex(
        index=False,
        escape=False,
        caption=escape(caption),
        label=label,
        column_format="l" * n_names + "".join("lr"[int(is_numeric)] for is_numeric in numeric),
        multicolumn_format="c",
    ).replace(r"\begin{table}", "\\begin{table}\n\\centering")
    note = f"\\par\\smallskip{{\\footnotesize {escape(note)}}}\n" if note else ""
    return text.replace(r"\end{table}", note + r"\end{table}")


def _cell(value: object) -> str:
    return escape(write_number(value, 2) if isinstance(value, float) else value)


def macro_name(text: str) -> str:
    r"""Turn an id into a macro's name: only letters, with a capital at the start of each word.

    >>> macro_name("huse/table1/summarization_t1.0/huse_q")
    'nlgHuseTableOneSummarizationTOneDotZeroHuseQ'
    """
    plain = re.sub(r"[^A-Za-z0-9.]+", " ", text)
    plain = re.sub(r"[0-9]", lambda digit: f" {_DIGITS[int(digit[0])]} ", plain)
    plain = plain.replace(".", " dot ")
    return "nlg" + "".join(word[0].upper() + word[1:] for word in plain.split())


def numbers(folder: Folder) -> pd.DataFrame:
    """List the numbers of the ledger and the estimates of the tables: of (the id), macro, text.

    If two ids would have the same name, the second gets the suffix ``Again``. An id that ends like
    a suffix, such as ``alpha_interval``, gets ``Value``, so that it is not mistaken for one.
    """
    rows: list[tuple[str, str, str]] = []
    used: set[str] = set()
    for quantity, texts in dict(_quantities(folder)).items():
        name = re.sub("(?:Low|High|Published|Interval)$", r"\g<0>Value", macro_name(quantity))
        while any(name + end in used for end in texts):
            name += "Again"
        used.update(name + end for end in texts)
        rows += [(quantity, name + end, text) for end, text in texts.items()]
    return pd.DataFrame(rows, columns=["of", "macro", "text"])


def numbers_tex(folder: Folder) -> str:
    """Write a macro for each number, below a comment with its id."""
    lines = [
        "% Suffixes: Low and High for the interval, Published for the printed number.",
        r"% Write \input{report/numbers} in the preamble, and \nlg...{} where a number belongs.",
    ]
    for quantity, group in numbers(folder).groupby("of", sort=False):
        lines.append(f"% {_one_line(quantity)}")
        pairs = zip(group["macro"], group["text"], strict=True)
        lines += [rf"\newcommand{{\{macro}}}{{{text}}}" for macro, text in pairs]
    return "\n".join([*lines, ""])


def _quantities(folder: Folder) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each id with its numbers, by the suffix of the macro's name."""
    for row in folder.ledger.to_dict("records"):
        quantity = "/".join(filter(None, [row["claim_id"], row["variant"], row["run"]]))
        # The tolerance is half a unit of the last printed digit.
        size = row["tolerance"]
        decimals = max(0, round(-np.log10(2 * size))) if size > 0 else None
        ends = {"": "recomputed", "Low": "ci_low", "High": "ci_high", "Published": "published"}
        yield quantity, _texts({end: row[column] for end, column in ends.items()}, decimals)
    for table in [table for table in folder.tables if table.is_keyed]:
        # Among several runs, a macro names the notebook, without its number, and the study.
        notebook = re.sub(r"^\d+\w?-", "", table.run).replace("@study=", "/")
        run_name = [notebook] * (len(folder.runs) > 1)
        varied = [key for key in table.keys if len(set(table.frame[key])) > 1] or table.keys
        for row in drop_mirrored(table.frame).to_dict("records"):
            names = (str(row[key]) for key in varied if row[key] != "")
            quantity = "/".join([*run_name, _WORDS.get(table.name, table.name), *names])
            ends = {"": "estimate", "Low": "ci_low", "High": "ci_high"}
            yield quantity, _texts({end: row.get(column) for end, column in ends.items()}, None)


def _texts(values: dict[str, object], decimals: int | None) -> dict[str, str]:
    numbers = {end: value for end, value in values.items() if isinstance(value, int | float)}
    if decimals is None and numbers:  # as in the tables
        decimals = digits(np.array([*numbers.values()], dtype=np.float64))
    return {end: number(value, decimals) for end, value in numbers.items() if np.isfinite(value)}


def number(value: float, decimals: int | None) -> str:
    """Write a number for LaTeX text or formulas; by default, with two or three digits."""
    decimals = digits(np.array([value])) if decimals is None else decimals
    text = f"{value:z.{decimals}f}"
    return rf"\ensuremath{{-}}{text[1:]}" if text.startswith("-") else text


def tables(folder: Folder) -> dict[str, str]:
    """Return the LaTeX of tables that notebooks laid out, and of short ones, by file name."""
    texts: dict[str, str] = {}
    for table in folder.tables:
        name = f"{table.run}-{table.name}"
        laid_out = table.path.with_suffix(".tex")
        if laid_out.is_file():
            texts[name] = _fitted(laid_out.read_text(encoding="utf-8"))
        elif table.is_keyed:
            columns = {*table.frame} - {"metric"}  # which a coefficient determines
            printed = [name for name in (*table.keys, *_PRINTED) if name in columns]
            rows = _widen(readable(legible(table.frame[printed])))
            if 1 < len(rows) <= _MOST_ROWS and rows.attrs["numbers"]:
                texts[name] = _fitted(_layout(table, rows))
    return texts


def _widen(rows: pd.DataFrame) -> pd.DataFrame:
    """Give each value of the last key a column of estimates, if few and without empty cells."""
    *keys, last = [*rows]
    if len(keys) < 2 or last != "estimate" or rows.duplicated(keys).any():
        return rows
    wide = rows.set_index(keys)[last].unstack(sort=False)
    if len(wide) < 2 or wide.shape[1] > _NARROW or wide.isna().any(axis=None):
        return rows
    spread = wide.rename_axis(columns=None).reset_index()
    spread.attrs |= rows.attrs | {"numbers": [*wide]}
    return spread


def _layout(table: Table, rows: pd.DataFrame) -> str:
    """Lay out a table of estimates with their intervals."""
    levels, scope = table.frame.get("confidence", pd.Series([0.95])), table.frame.get("covers", ())
    level = f"{levels.iloc[0]:.0%} intervals" if len({*levels}) == 1 else "Intervals"
    level += f" generalize to {write_scope(scope)}." if any(scope) else " in brackets."
    notes = [level] * ("ci_low" in table.frame) + rows.attrs["notes"]
    laid_out = rows.rename(columns=lambda name: name[:1].upper() + name[1:])
    return to_latex(
        laid_out.set_index(laid_out.columns[0]).rename(index=lambda text: text[:40]),
        caption=" ".join([f"{table.title}.", *notes, f"Source: {table.source}."]),
        label="tab:" + re.sub("[^A-Za-z0-9-]+", "-", f"{table.run}-{table.name}"),
    )


def _fitted(text: str) -> str:
    """Set a table in small print, across both columns if it is wide, and scaled to fit."""
    columns = text.partition(r"\begin{tabular}{")[2].partition("}")[0]
    text = text.replace(r"\begin{tabular}", r"\smallskip\small\nlgfit{\begin{tabular}")
    text = text.replace(r"\end{tabular}", r"\end{tabular}}")
    return text.replace("{table}", "{table*}") if len(columns) > _NARROW else text


def tables_tex(names: dict[str, str]) -> str:
    """Write one file that includes all tables."""
    lines = [rf"\input{{\nlgpath tables/{name}}}" for name in names]
    # LaTeX can hold at most 52 floats that are not placed yet.
    paged = [line + r"\clearpage" * (n % 10 == 0) for n, line in enumerate(lines, 1)]
    return SETUP + "\n".join([*paged, ""])


def figures_tex(folder: Folder) -> str:
    """Write one file that includes all figures at print size, with their captions."""
    floats = []
    for n, figure in enumerate(folder.figures, 1):
        is_wide = int.from_bytes(figure.png[16:20], "big") > _COLUMN_PIXELS
        path = rf"\nlgpath ../{figure.path.relative_to(folder.path).as_posix()}"
        text = rf"\centering\includegraphics{{{path}}}\caption{{{escape(figure.caption)}}}"
        name = "figure*" if is_wide else "figure"
        text = rf"\begin{{{name}}}{text}\label{{fig:{figure.run}-{figure.name}}}\end{{{name}}}"
        floats.append(text + r"\clearpage" * (n % 10 == 0))
    return SETUP + "\n".join([*floats, ""])
