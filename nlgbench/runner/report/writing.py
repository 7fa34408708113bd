"""The report's files, written aside and put in their place at once."""

from __future__ import annotations

from pathlib import Path

from nlgbench.runner import runs
from nlgbench.runner.report import checklist, folder, heds, latex, page

#: The folder, beside those of the runs, and the page in it.
PLACE, PAGE = "report", "report.html"


def write(out: Path) -> Path:
    """Write the report of a folder of runs; give the path of its page."""
    found = folder.read(out)
    place = out / PLACE
    if place.exists() and not (place / PAGE).is_file():
        raise OSError(
            f"{place} was not made by nlgbench and would be replaced: move it away, or rename it."
        )
    with runs.writing(out):
        aside = runs.aside(out, PLACE)
        _write(found, aside)
        runs.promote(aside, place)
    return place / PAGE


def _write(found: folder.Folder, aside: Path) -> None:
    """Write all files of the report, the page last, as it names them."""
    tables = latex.tables(found)
    texts = {f"tables/{name}.tex": text for name, text in tables.items()}
    texts |= {
        "numbers.tex": latex.numbers_tex(found),
        "tables.tex": latex.tables_tex(tables),
        "figures.tex": latex.figures_tex(found),
    }
    rows = checklist.items(found)
    texts["checklist.md"] = checklist.as_markdown(rows)
    named = [
        ("numbers.tex", "a macro for each number, for LaTeX"),
        ("tables.tex", f"{len(tables)} tables in LaTeX, one file each in tables/"),
        ("figures.tex", f"{len(found.figures)} figures, at the widths of ACL, NeurIPS and IEEE"),
        ("checklist.md", "the ARR checklist's items on statistics and annotators"),
    ]
    sheets = heds.answers(found)
    for run, answers in sheets.items():
        end = f"-{run}" if len(sheets) > 1 else ""
        texts[f"heds{end}.json"] = heds.as_json(answers)
        texts[f"heds{end}.md"] = heds.as_markdown(answers, run)
        named.append((f"heds{end}.json", f"the datasheet of {run}, as its form reads it"))
        named.append((f"heds{end}.md", f"the datasheet of {run}, all questions"))
    texts[PAGE] = page.html(found, named)
    (aside / "tables").mkdir()
    for name, text in texts.items():
        (aside / name).write_text(text, encoding="utf-8", newline="\n")
