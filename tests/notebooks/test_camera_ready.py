"""What a publisher asks of every figure that the notebooks make."""

import csv
import json
import os
from pathlib import Path

import pypdf
import pytest

from nlgbench.plots.style import ONE_COLUMN, TWO_COLUMN
from nlgbench.runner import execute


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run, where one is named; else one of two quick notebooks."""
    if finished := os.environ.get("NLGBENCH_FIGURES"):
        return Path(finished).resolve()
    return run(tmp_path_factory.mktemp("made"), "01", "02")


def run(out, *names):
    done = execute.run(names, {}, out=out, source="simulated", jobs=2, timeout=600, say=str)
    assert {outcome.status for outcome in done} == {"done"}
    return out


def figures(out):
    found = sorted(out.glob("*/figures/*.pdf"))
    assert found
    return found


def fonts(path):
    for page in pypdf.PdfReader(path).pages:
        resources = [page["/Resources"]]
        while resources:
            one = resources.pop().get_object()
            for font in one.get("/Font", {}).values():
                font = font.get_object()
                yield font["/Subtype"]
                for inner in font.get("/DescendantFonts", []):
                    yield inner.get_object()["/Subtype"]
            for inner in one.get("/XObject", {}).values():
                if "/Resources" in inner.get_object():
                    resources.append(inner.get_object()["/Resources"])


def test_no_figure_holds_a_type_3_font(made):
    for path in figures(made):
        kinds = set(fonts(path))
        assert kinds, f"{path} has no text at all"
        assert "/Type3" not in kinds, path


def test_every_figure_has_the_width_of_a_column_or_of_the_text_block(made):
    for path in figures(made):
        box = pypdf.PdfReader(path).pages[0].mediabox
        width, height = float(box.width) / 72, float(box.height) / 72
        assert round(width, 2) in (ONE_COLUMN, TWO_COLUMN) and height <= 9.7, path


def test_every_figure_has_its_words_and_its_numbers(made):
    with (made / "index.csv").open(encoding="utf-8") as stream:
        index = [row for row in csv.DictReader(stream) if row["kind"] == "figure"]
    assert {row["path"] for row in index} == {
        path.relative_to(made).as_posix() for path in figures(made)
    }
    for path in figures(made):
        assert path.with_suffix(".png").is_file()
        words = path.with_suffix(".txt").read_text()
        assert len(words) > 60
        assert "Source: " in words
        with path.with_suffix(".csv").open(encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert rows
        manifest = json.loads((path.parent.parent / "manifest.json").read_text())
        assert {row["source"] for row in rows} <= {"published", "simulated", manifest["source"]}


def test_figures_are_the_same_bytes_from_run_to_run(tmp_path):
    one, two = (run(tmp_path / name, "02") for name in ("one", "two"))
    found = [path for path in one.glob("*/figures/**/*") if path.is_file()]
    assert {path.suffix for path in found} == {".csv", ".pdf", ".png", ".txt"}
    for path in found:
        assert path.read_bytes() == (two / path.relative_to(one)).read_bytes()


def test_every_manifest_says_where_its_numbers_come_from(made):
    for path in made.glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        assert manifest["source"] in ("released", "simulated", "")
        assert manifest["seconds"] > 0
        assert manifest["peak_memory_bytes"] > 1e6
        assert all(made["source"] for made in manifest["made"])
