"""A report says what its runs say: one page that needs no network, sheets, numbers for LaTeX."""

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from nlgbench.runner import latex, report, run_folder
from nlgbench.runner.cli import main

CHROMIUM = Path("/usr/bin/chromium")


def contents(place):
    return {
        path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def test_the_same_runs_give_the_same_bytes_and_nothing_is_left_aside(reported, tmp_path):
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    before = contents(out / report.PLACE)
    said = CliRunner().invoke(main, ["report", str(out)], catch_exceptions=False)
    assert said.output.strip() == str(out / "report" / "report.html")
    assert contents(out / report.PLACE) == before
    assert not [path.name for path in out.glob(".*") if path.name != ".lock"]
    assert {path.parent.name for path in out.glob("*/manifest.json")} == {
        "90-own",
        "01-huse-tradeoff",
    }


def test_what_is_no_folder_of_runs_is_refused_with_the_way_out(tmp_path):
    said = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert said.exit_code == 2
    assert "holds no finished run" in said.output and "--out" in said.output


def test_a_folder_of_ones_own_named_report_stays(reported, tmp_path):
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    shutil.rmtree(out / "report")
    (out / "report").mkdir()
    (out / "report" / "thesis.txt").write_text("mine")
    said = CliRunner().invoke(main, ["report", str(out)])
    assert said.exit_code == 1 and "was not made by nlgbench" in said.output
    assert (out / "report" / "thesis.txt").read_text() == "mine"


def test_every_row_of_the_ledger_has_its_macros_to_the_printed_digits(reported):
    found = run_folder.read(reported)
    texts = latex.numbers(found).set_index("macro")["text"]
    row = found.ledger[found.ledger["recomputed"].notna()].iloc[0]
    name = latex.macro_name("/".join(filter(None, [row["claim_id"], row["variant"], row["run"]])))
    assert float(texts[name]) == pytest.approx(row["recomputed"], abs=row["tolerance"])
    assert texts[f"{name}Published"] == f"{row['published']:.2f}"
    n = texts.index.str.endswith("Published").sum()
    assert n == len(found.ledger.dropna(subset=["published"]))


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (-0.5, 2, r"\ensuremath{-}0.50"),
        (-0.001, 2, "0.00"),
        (1234.5, None, "1234"),
        (0.0, None, "0.00"),
        (0.012345, None, "0.0123"),
        (-2.5e-9, None, r"\ensuremath{-}0.00000000250"),
    ],
)
def test_numbers_are_written_without_powers_of_ten(value, decimals, text):
    assert latex.number(value, decimals) == text


def test_ids_that_would_share_a_macro_get_names_of_their_own(reported):
    rows = run_folder.read(reported).ledger.iloc[[0, 0, 0]]
    rows = rows.assign(claim_id=["study/a_b/c", "study/a/b_c", "study/a/b/c/again"])
    alone = latex.numbers(run_folder.Folder(Path(), [], [], [], rows))
    assert alone["macro"].is_unique and alone["of"].nunique() == 3
    assert alone["macro"].str.match("nlgStudyABC").all()


def test_ids_stay_as_they_are_written(tmp_path):
    pd.DataFrame({"system": ["001", "NA"], "estimate": [0.5, np.nan]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    frame = run_folder.frame(tmp_path / "t.csv")
    assert frame["system"].tolist() == ["001", "NA"]
    assert frame["estimate"].dtype == "float64" and np.isnan(frame["estimate"][1])


def test_the_datasheet_says_what_the_tables_say(reported):
    """Counted by hand from the simulated design: 5 systems, 12 items, 8 annotators."""
    words = (reported / "report" / "heds.md").read_text(encoding="utf-8")
    assert len(set(re.findall(r"^\| ([\d.]+) \| \w", words, re.MULTILINE))) == 62
    assert "| 5.1 | Ethics review |  | to be answered by the authors |" in words
    assert "| 3.2.1 | Number of evaluators |  | 8 (" in words
    assert "| 3.1.1 | Outputs evaluated per system |  | 12 for each of 5 systems: " in words
    assert "| 4.3.8 | Form of response | quality (votes) | relative: " in words
    checklist = (reported / "report" / "checklist.md").read_text(encoding="utf-8")
    assert "12 for each of 5 systems: 60 outputs of 12 items" in checklist


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is missing")
    if not CHROMIUM.is_file():
        pytest.skip("no chromium: Debian's package has it")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, reported):
    opened = browser.new_page(viewport={"width": 1100, "height": 900})
    opened.said = []
    opened.on("console", lambda message: opened.said.append(message.text))
    opened.on("pageerror", lambda error: opened.said.append(str(error)))
    opened.on("request", lambda request: opened.said.append(request.url))
    opened.goto((reported / "report" / "report.html").as_uri())
    yield opened
    opened.close()


def test_the_page_opens_from_its_file_and_asks_for_nothing_else(page, hostile):
    asked = [one for one in page.said if not one.startswith("data:")]
    assert asked == [page.url]
    assert page.title() == "Report of 2 runs: 01-huse-tradeoff, 90-own"
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert all(page.get_by_text(name).count() for name in hostile.values())


def test_the_filter_shows_the_rows_that_fit_and_counts_them(page, reported):
    ledger = run_folder.read(reported).ledger
    shown = "[...document.querySelectorAll('#rows tbody tr')].filter((row) => !row.hidden).length"
    assert page.evaluate(shown) == len(ledger)
    page.select_option("#verdict", "matches")
    n = int((ledger["verdict"] == "matches").sum())
    assert 0 < n < len(ledger)
    assert page.evaluate(shown) == n and page.inner_text("#count") == str(n)
    page.select_option("#verdict", "")
    page.fill("#text", "LEFT out")  # which only a reason says
    assert page.inner_text("#count") == str(ledger["reason"].str.contains("left out").sum())


def test_links_lead_to_files_that_are_there(page, reported):
    addresses = page.evaluate(
        "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))"
    )
    place = reported / "report"
    assert {"../90-own/notebook.ipynb", "numbers.tex", "heds.md"} <= set(addresses)
    for address in addresses:
        if address.startswith("#"):
            assert page.locator(f'[id="{address[1:]}"]').count() == 1, address
        elif not address.startswith("https://"):
            assert (place / address).is_file(), address


def test_whoever_cannot_see_has_words_and_a_small_screen_scrolls_tables_alone(page):
    pictures = page.evaluate("[...document.images].map((one) => [one.alt, one.naturalWidth])")
    assert pictures and all(len(alt) > 40 and width > 300 for alt, width in pictures)
    labels = (
        "[...document.querySelectorAll('input, select')].map((one) => one.labels[0]?.innerText)"
    )
    assert all(page.evaluate(labels))
    assert page.evaluate("document.documentElement.lang") == "en"
    bare = page.evaluate("[...document.querySelectorAll('th')].filter((th) => !th.scope).length")
    assert bare == 0
    page.set_viewport_size({"width": 380, "height": 900})
    page.wait_for_function("innerWidth === 380")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_it_prints_on_pages_with_its_sheets(page, tmp_path):
    pypdf = pytest.importorskip("pypdf")
    page.pdf(path=tmp_path / "print.pdf", format="A4")
    pages = [one.extract_text() for one in pypdf.PdfReader(tmp_path / "print.pdf").pages]
    text = re.sub(r"\s+", " ", " ".join(pages))
    assert len(pages) > 3 and all(len(one.strip()) > 20 for one in pages)
    assert "Agreement between evaluators: method" in text
    assert "Text, in any column" not in text  # a filter has no use on paper
