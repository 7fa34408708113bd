r"""What a paper in LaTeX takes: a macro for each number, booktabs tables, figures that fit.

Everything is for `pdflatex` with `booktabs` and `graphicx`. Widths are TeX's own: the same files go
into a paper of one column and of two.
"""

from __future__ import annotations

import glob
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from nlgbench.plots.figures import COLUMN
from nlgbench.runner import exports
from nlgbench.runner.report.folder import Figure, Folder, Table, rankings

#: Templates whose columns the figures go into, in inches: a column, the text block.
WIDTHS = {"ACL": (3.03, 6.30), "NeurIPS": (5.50, 5.50), "IEEE": (3.50, 7.16)}
#: Points below which text of a printed figure is hard to read.
SMALLEST = 5.0
#: A table up to this wide stands in one column of two, in letters.
_LETTERS = 44

_DIGITS = ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
_ENDS = {"value": "", "ci_low": "Low", "ci_high": "High", "published": "Published"}

SETUP = r"""% Commands that the tables use. Packages: booktabs, graphicx.
\makeatletter
\@ifundefined{nlgbox}{\newsavebox{\nlgbox}}{}
\makeatother
% A table that is wider than its column is made smaller; one that fits stays as it is.
\providecommand{\nlgfit}[1]{\sbox{\nlgbox}{#1}%
  \ifdim\wd\nlgbox>\linewidth\resizebox{\linewidth}{!}{\usebox{\nlgbox}}\else\usebox{\nlgbox}\fi}
"""


def macro_name(words: str) -> str:
    r"""Turn an id into the name of a macro: letters alone, a capital where a word begins.

    >>> macro_name("huse/table1/summarization_t1.0/huse_q")
    'nlgHuseTableOneSummarizationTOneDotZeroHuseQ'
    """
    plain = re.sub(r"[^A-Za-z0-9.]+", " ", words)
    plain = re.sub(r"[0-9]", lambda found: f" {_DIGITS[int(found[0])]} ", plain)
    plain = plain.replace(".", " dot ")
    return "nlg" + "".join(word[0].upper() + word[1:] for word in plain.split())


def numbers(folder: Folder) -> pd.DataFrame:
    """List every number of the ledger and every estimate of the tables, with its macro.

    Columns: macro, text (as it is printed), of (the row it stands in), part (value, ci_low,
    ci_high, published). Ids that would share a name get letters of their own hash behind it, both.
    """
    rows = [*_of_ledger(folder.ledger)]
    for table in folder.tables:
        rows += _of_table(table)
    found = pd.DataFrame(rows, columns=["of", "part", "text"]).drop_duplicates()
    plain = [
        macro_name(of) + _ENDS[part] for of, part in found[["of", "part"]].itertuples(index=False)
    ]
    often = Counter(plain)
    names = [
        name if often[name] == 1 else name + _letters(f"{of}\0{part}")
        for name, of, part in zip(plain, found["of"], found["part"], strict=True)
    ]
    assert len(set(names)) == len(names), "two numbers have one macro"
    return found.assign(macro=names)[["macro", "text", "of", "part"]]


def numbers_tex(folder: Folder) -> str:
    """Write a macro for each number, below a comment with the id of what it is."""
    lines = [
        "% A macro for each number of the ledger, and for each estimate of the tables:",
        "% the value; with Low and High behind it, its interval; with Published, what was printed.",
        r"% \input{numbers} in the preamble, and write \nlg...{} where the number belongs.",
    ]
    for of, group in numbers(folder).groupby("of", sort=False):
        lines.append(f"% {_one_line(of)}")
        lines += [
            f"\\newcommand{{\\{macro}}}{{{text}}}"
            for macro, text in group[["macro", "text"]].to_numpy()
        ]
    return "\n".join([*lines, ""])


def _letters(text: str) -> str:
    """Write six letters that only this text has."""
    digest = hashlib.sha256(text.encode()).digest()
    return "X" + "".join(chr(ord("a") + byte % 26) for byte in digest[:6])


def _one_line(text: object) -> str:
    """Write a text so that it stays in its comment."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+", " ", str(text)).split())


def _number(value: float, decimals: int | None) -> str:
    """Write a number as LaTeX prints it in text and in formulas."""
    if decimals is None:  # three digits that count, and no power of ten
        size = 0 if value == 0 else int(np.floor(np.log10(abs(value))))
        decimals = min(max(2 - size, 0), 12)
    text = f"{value:z.{decimals}f}"
    return rf"\ensuremath{{-}}{text[1:]}" if text.startswith("-") else text


def _decimals(tolerance: float) -> int | None:
    """Give the digits that were printed: the tolerance is half a unit of the last."""
    if not tolerance > 0:
        return None
    return max(0, round(-np.log10(2 * tolerance)))


def _of_ledger(ledger: pd.DataFrame) -> Iterable[tuple[str, str, str]]:
    for row in ledger.to_dict("records"):
        of = "/".join(filter(None, [row["claim_id"], row["variant"], row["run"]]))
        decimals = _decimals(row["tolerance"])
        given = {"value": row["recomputed"]} | {
            part: row[part] for part in ("ci_low", "ci_high", "published")
        }
        yield from (
            (of, part, _number(value, decimals))
            for part, value in given.items()
            if np.isfinite(value)
        )


def _of_table(table: Table) -> Iterable[tuple[str, str, str]]:
    """Give the estimates of a table whose rows are told apart by what they are of."""
    if not table.keys or table.frame.duplicated(table.keys).any():
        return
    varied = [key for key in table.keys if len(table.frame[key].unique()) > 1]
    parts = {"value": table.value, "ci_low": "ci_low", "ci_high": "ci_high"}
    for row in table.frame.to_dict("records"):
        words = [str(row[key]) for key in varied or table.keys if row[key] != ""]
        of = "/".join([table.run, table.name, *words])
        for part, column in parts.items():
            value = row.get(column)
            if isinstance(value, int | float) and np.isfinite(value):
                yield of, part, _number(float(value), None)


def tables(folder: Folder) -> dict[str, str]:
    """Lay out the tables: those that notebooks laid out themselves, and all rankings.

    Name of the file, without ending -> LaTeX.
    """
    made: dict[str, str] = {}
    for table in folder.tables:
        name = f"{table.run}-{table.name}"
        laid_out = table.path.with_suffix(".tex")
        if laid_out.is_file():
            text = laid_out.read_text(encoding="utf-8")
            made[name] = _fitted(exports.printable(text))
            continue
        for n, (subject, words, rows) in enumerate(rankings(table), 1):
            end = f"-{n}" if words else ""
            made[name + end] = _ranking(table, name + end, subject, words, rows)
    return made


def _ranking(table: Table, name: str, subject: str, words: str, rows: pd.DataFrame) -> str:
    """Lay out a ranking with its intervals."""
    title = table.value.capitalize()
    interval = [
        "--" if pd.isna(low) or pd.isna(high) else f"[{low:z.2f}, {high:z.2f}]"
        for low, high in _floats(rows[["ci_low", "ci_high"]])
    ]
    shown = pd.DataFrame(
        {title: _floats(rows[[table.value]])[:, 0], "Interval": interval},
        index=pd.Index(rows[subject].map(_cut), name=subject.capitalize()),
    )
    levels = [*rows["confidence"].dropna().unique()] if "confidence" in rows else []
    level = f" {levels[0]:.0%} intervals." if len(levels) == 1 else ""
    caption = f"{table.name.replace('_', ' ').capitalize()}"
    caption += f" ({words})" * bool(words) + f".{level} Source: {table.source}."
    label = f"tab:{re.sub('[^A-Za-z0-9-]+', '-', name)}"
    return _fitted(exports.to_latex(shown, caption=caption, label=label))


def _floats(columns: pd.DataFrame) -> np.ndarray:
    """Give numbers, NaN where a cell is empty."""
    return columns.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)


def _cut(name: object) -> str:
    """Cut a name that no column has room for."""
    text = _one_line(name)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _fitted(text: str) -> str:
    """Set a table small, across both columns where one is too narrow, and never beyond its own."""
    start, end = r"\begin{tabular}", r"\end{tabular}"
    text = text.replace(start, rf"\small\nlgfit{{{start}", 1).replace(end, f"{end}}}", 1)
    cells = re.sub(
        r"\\(textsuperscript|rlap|scriptsize|multicolumn\{\d+\}\{\w\})|[\\${}&]", "", text
    )
    widest = max((len(line) for line in cells.splitlines() if "caption" not in line), default=0)
    if widest > _LETTERS:
        text = text.replace(r"\begin{table}", r"\begin{table*}")
        text = text.replace(r"\end{table}", r"\end{table*}")
    return text


def tables_tex(made: dict[str, str]) -> str:
    """Write one file that takes in all tables."""
    lines = [f"\\input{{tables/{name}}}" for name in made]
    # LaTeX holds 52 floats that have no place yet.
    paged = [line + r"\clearpage" * (n % 10 == 0) for n, line in enumerate(lines, 1)]
    return SETUP + "\n".join([*paged, ""])


def drawn(figure: Figure) -> dict[float, Path]:
    """Find a figure's PDFs by their width in inches, the widest first: its own, those redrawn."""
    name = figure.path.name
    found = [figure.path, *figure.path.parent.glob(f"*in/{glob.escape(name)}")]
    return dict(sorted(((natural_width(pdf), pdf) for pdf in found), reverse=True))


def smallest_printed(figure: Figure, column: float, block: float) -> float:
    """Give the points of a figure's smallest text in a paper with these widths in inches."""
    there = drawn(figure)
    room = column if max(there) <= COLUMN else block
    width, pdf = next(
        ((width, pdf) for width, pdf in there.items() if width <= room), list(there.items())[-1]
    )
    return smallest_text(pdf) * min(1, room / width)


def natural_width(pdf: Path) -> float:
    """Read the width of a figure's page, in inches, from its PDF."""
    box = re.search(rb"/MediaBox \[ *([-\d. ]+)\]", pdf.read_bytes())
    if box is None:
        raise ValueError(f"{pdf} has no MediaBox: it is no figure of ours. Make its run again.")
    left, _, right, _ = map(float, box[1].split())
    return (right - left) / 72


def smallest_text(pdf: Path) -> float:
    """Read the smallest size of text that a figure's PDF sets, in points; NaN where it has none."""
    sizes: list[float] = []
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf.read_bytes(), re.DOTALL):
        try:
            content = zlib.decompress(stream)
        except zlib.error:  # a font, an image
            continue
        sizes += [float(size) for size in re.findall(rb"/\S+ ([\d.]+) Tf", content)]
    return min(sizes, default=float("nan"))


def figures_tex(folder: Folder) -> str:
    r"""Write one file that takes in all figures, by the widest PDF for which there is room.

    They are never scaled up, and down only where none was drawn as narrow as the column.
    """
    widths = "; ".join(f"{name} {a:g} and {b:g} in" for name, (a, b) in WIDTHS.items())
    lines = [f"% Widths of a column and of the text: {widths}.", "% Package: graphicx."]
    for figure in folder.figures:
        there = drawn(figure)
        one = max(there) <= COLUMN
        kind, room = ("figure", r"\columnwidth") if one else ("figure*", r"\textwidth")
        paths = {
            width: f"../{figure.run}/{pdf.relative_to(folder.path / figure.run).as_posix()}"
            for width, pdf in there.items()
        }
        words = caption(figure)
        lines += [
            "",
            f"% {_one_line(sizes(figure))}",
            rf"\begin{{{kind}}}",
            r"\centering",
            *(rf"\ifdim{width:.3f}in>{room}" for width in paths),
            rf"\includegraphics[width={room}]{{{paths[min(paths)]}}}",
            *(rf"\else\includegraphics{{{paths[width]}}}\fi" for width in sorted(paths)),
            rf"\caption{{{exports.printable(exports.escape(words))}}}",
            rf"\label{{fig:{re.sub('[^A-Za-z0-9-]+', '-', figure.run + '-' + figure.name)}}}",
            rf"\end{{{kind}}}",
        ]
    return "\n".join([*lines, ""])


#: Columns of a figure's data that hold names, which its words repeat.
_OF_NAMES = ["system", "opponent", "label", "evaluator", "comparator", "dimension", "study"]


def caption(figure: Figure) -> str:
    """Give a figure's first sentence, and its source, with which all its words end."""
    source = f" Source: {figure.source}."
    words = _one_line(figure.alt).removesuffix(source)
    for name in _names_with_periods(figure):
        words = words.replace(name, name.replace(".", "\0"))
    first = re.split(r"(?<=[a-z)\]])\.(?: |$)", words)[0].replace("\0", ".")
    return f"{first.removesuffix('.')}.{source}"


def _names_with_periods(figure: Figure) -> list[str]:
    """List the names in a figure's data in which a period ends no sentence, the longest first."""
    path = figure.path.with_suffix(".csv")
    if not path.is_file():
        return []
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    cells = cells[cells.columns.intersection(_OF_NAMES)]
    found = {one for name in cells for one in cells[name].unique() if re.search(r"\.(?: |$)", one)}
    return sorted(found | {one.replace("_", " ") for one in found}, key=len, reverse=True)


def sizes(figure: Figure) -> str:
    """Say how small a figure's text becomes in print."""
    there = drawn(figure)
    printed = {name: smallest_printed(figure, *width) for name, width in WIDTHS.items()}
    natural = f"{max(there):.2f} in wide"
    if np.isnan(list(printed.values())).any():
        return f"{natural}, without text"
    said = ", ".join(f"{name} {size:.1f}" for name, size in printed.items())
    small = [name for name, size in printed.items() if size < SMALLEST]
    warning = f"; hard to read in {', '.join(small)}: draw it anew for that width" if small else ""
    anew = ", ".join(f"{width:.2f}" for width in sorted(there, reverse=True)[1:])
    anew = f", and drawn anew for {anew}" * bool(anew)
    return f"{natural} as drawn{anew}; its smallest text in points: {said}{warning}"
