"""A report says what its runs say: one page that needs no network, sheets, files as they are."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from markupsafe import escape

from nlgbench.runner import report, run_folder
from nlgbench.runner.cli import main

CHROMIUM = Path("/usr/bin/chromium")


def contents(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_the_same_runs_give_the_same_bytes_and_nothing_is_left_aside(reported):
    before = contents(reported)
    said = CliRunner().invoke(main, ["report", str(reported)], catch_exceptions=False)
    assert said.output.strip() == str(reported / "report" / "report.html")
    assert contents(reported) == before


def test_what_is_no_folder_of_runs_and_a_report_of_ones_own_are_refused(reported, tmp_path):
    said = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert said.exit_code == 2
    assert "has no finished run" in said.output and "--out" in said.output
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    (out / "report" / "report.html").unlink()
    said = CliRunner().invoke(main, ["report", str(out)])
    assert said.exit_code == 1 and "was not made by nlgbench" in said.output
    assert (out / "report" / "numbers.tex").is_file()


def test_the_newest_run_on_each_named_study_is_shown_and_other_runs_are_named(reported, tmp_path):
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    for folder, study, hour in (("study=a", "a", 1), ("k=2,study=a", "a", 2), ("study=b", "b", 0)):
        run = Path(shutil.copytree(out / "90-own", out / f"90-own@{folder}"))
        about = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        about["parameters"]["study"] = study
        about["started"] = f"2026-01-01T0{hour}:00:00+00:00"
        (run / "manifest.json").write_text(json.dumps(about), encoding="utf-8")
    (out / "91-bad.failed").mkdir()
    (out / "91-bad.failed" / ".failed").touch()
    assert CliRunner().invoke(main, ["report", str(out)]).exit_code == 0
    sheets = {path.name for path in (out / "report").glob("*.md")}
    assert sheets == {"checklist.md", "heds-90-own@k=2,study=a.md", "heds-90-own@study=b.md"}
    page = (out / "report" / "report.html").read_text(encoding="utf-8")
    assert "Failed runs: 91-bad.failed." in page
    assert "not shown: 01-huse-tradeoff, 90-own, 90-own@study=a." in page


def test_a_run_that_cannot_be_read_is_listed_and_the_others_are_shown(reported, tmp_path):
    out = Path(shutil.copytree(reported, tmp_path / "out"))
    for name in ("91-no-picture", "92-no-estimates"):
        shutil.copytree(out / "90-own", out / name)
    (out / "91-no-picture" / "figures" / "systems.png").unlink()
    (out / "92-no-estimates" / "tables" / "systems.csv").write_bytes(b"")
    about = json.loads((out / "90-own" / "manifest.json").read_text(encoding="utf-8"))
    about["failed"] = [{"section": "ratings", "error": "KeyError: 'x'"}]
    (out / "90-own" / "manifest.json").write_text(json.dumps(about), encoding="utf-8")
    page = report.write(out).read_text(encoding="utf-8")
    assert re.search("Failed section ratings of Which .*: KeyError: &#39;x&#39;</strong>", page)
    assert "The run 91-no-picture could not be read, and is not shown: " in page
    assert "systems.png is missing from its run: repeat" in page
    assert "The run 92-no-estimates could not be read, and is not shown: EmptyDataError" in page
    assert page.count("Executed notebook") == 2


def test_the_datasheet_says_what_the_tables_say(reported):
    """Counted by hand from the simulated design: 5 systems, 12 items, 8 annotators."""
    words = (reported / "report" / "heds.md").read_text(encoding="utf-8")
    assert len(set(re.findall(r"^\| ([\d.]+) \| \w", words, re.MULTILINE))) == 62
    assert "| 5.1 | Ethics review |  | to be answered by the authors |" in words
    assert "| 3.2.1 | Number of evaluators |  | 8 (" in words
    assert "| 3.1.1 | Outputs evaluated per system |  | 12 for each of 5 systems: " in words
    assert "| 4.3.8 | Form of response | quality (votes) | relative: " in words


def test_a_study_is_called_by_its_name_and_its_findings_come_first(reported, tmp_path):
    out, run = tmp_path / "out", tmp_path / "out" / "90-own@study=mine"
    shutil.copytree(reported / "90-own", run)
    about = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    about["parameters"] |= {"source": "simulated", "study": "/secret/mine"}
    (run / "manifest.json").write_text(json.dumps(about), encoding="utf-8")
    shutil.copy(reported / "ledger.csv", out)
    page = report.write(out).read_text(encoding="utf-8")
    assert "<h1>&lt;b&gt;own&lt;/b&gt;</h1>" in page
    headings = re.findall(r"<h\d.*?</h\d>", page)
    assert not any("90-own" in one or "@study" in one for one in headings)
    saved = pd.read_csv(run / "tables" / "findings.csv")["finding"].unique()[:2]
    first = [one.removesuffix(" (<b>own</b>, study).") + "." for one in saved]
    at = [page.index(str(escape(one))) for one in first]
    assert len(at) == 2 and at == sorted(at) and at[-1] < page.index("<img")
    doubts = page[at[-1] : page.index("<img")]
    assert "<li>few votes.</li>" in doubts and "settings" not in doubts
    assert "source = study" in page and "study = mine" in page and "/secret" not in page


def test_formulas_in_tables_are_quoted_in_the_copies_that_the_page_links(reported, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(reported / "90-own", out / "90-own")
    shutil.copy(reported / "ledger.csv", out)
    path = out / "90-own" / "tables" / "systems.csv"
    rows = pd.DataFrame({"system": ["=1+1", "@SUM(A1)", "b"], "estimate": [-1.5, 2e-9, -np.inf]})
    rows.to_csv(path, index=False)
    page = report.write(out).read_text(encoding="utf-8")
    copy = out / "report" / "tables" / f"90-own-{path.name}"
    assert f'href="tables/{copy.name}"' in page
    assert copy.read_text() == "system,estimate\n'=1+1,-1.5\n'@SUM(A1),2e-09\nb,-inf\n"


@pytest.fixture
def page(reported):
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is missing")
    if not CHROMIUM.is_file():
        pytest.skip("no chromium: Debian's package has it")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 380, "height": 900})
        opened.said = []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.on("request", lambda request: opened.said.append(request.url))
        opened.goto((reported / "report" / "report.html").as_uri())
        yield opened
        browser.close()


def test_the_page_works_from_its_file_for_whoever_reads_it(page, reported, hostile, tmp_path):
    # It asks for nothing else, and runs nothing that data say.
    assert [one for one in page.said if not one.startswith("data:")] == [page.url]
    assert page.title() == "Report of 2 runs" and page.locator("script").count() == 1
    assert all(page.get_by_text(name).count() for name in hostile.values())
    # The filter shows the rows that fit, and counts them.
    ledger = run_folder.read_runs(reported).ledger
    page.click("#ledger summary")
    page.select_option("#verdict", "matches")
    n = int((ledger["verdict"] == "matches").sum())
    assert page.locator("#rows tbody tr:not([hidden])").count() == n and 0 < n < len(ledger)
    page.select_option("#verdict", "")
    page.fill("#text", "LEFT out")
    assert page.inner_text("#count") == str(ledger["reason"].str.contains("left out").sum())
    # Links lead to files that are there.
    addresses = page.eval_on_selector_all("a", "all => all.map((a) => a.getAttribute('href'))")
    assert {"../90-own/notebook.ipynb", "numbers.tex", "heds.md"} <= set(addresses)
    for address in addresses:
        if address.startswith("#"):
            assert page.locator(f'[id="{address[1:]}"]').count() == 1, address
        elif not address.startswith("https://"):
            assert (reported / "report" / address).is_file(), address
    # Pictures and fields have words; on a small screen tables alone scroll.
    pictures = page.evaluate("[...document.images].map((one) => [one.alt, one.naturalWidth])")
    assert pictures and all(len(alt) > 40 and width > 300 for alt, width in pictures)
    words = "all => all.map((one) => one.labels[0]?.innerText)"
    assert all(page.eval_on_selector_all("input, select", words))
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    # It prints on pages with its sheets, without the filter.
    pypdf = pytest.importorskip("pypdf")
    page.pdf(path=tmp_path / "print.pdf", format="A4")
    pages = [one.extract_text() for one in pypdf.PdfReader(tmp_path / "print.pdf").pages]
    text = re.sub(r"\s+", " ", " ".join(pages))
    assert len(pages) > 3 and "Agreement between evaluators: method" in text
    assert "Text, in any column" not in text
