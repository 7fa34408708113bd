"""What a publisher asks of every figure that the notebooks make."""

import csv
import json
import os
from pathlib import Path

import pypdf
import pytest

from nlgbench.runner import execute


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The figures of a finished run, where one is named; else those of two quick notebooks."""
    out = tmp_path_factory.mktemp("made")
    again = execute.run(["02"], {}, out=out / "second", source="simulated", timeout=300, say=str)
    if finished := os.environ.get("NLGBENCH_FIGURES"):
        (out / "first").symlink_to(Path(finished).resolve())
    else:
        again += execute.run(
            ["01", "02"], {}, out=out / "first", source="simulated", jobs=2, timeout=300, say=str
        )
    assert {outcome.status for outcome in again} == {"done"}
    return out


def figures(out):
    found = sorted((out / "first").glob("*/figures/*.pdf"))
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


def test_every_figure_has_its_words_and_its_numbers(made):
    with (made / "first" / "index.csv").open(encoding="utf-8") as stream:
        index = [row for row in csv.DictReader(stream) if row["kind"] == "figure"]
    assert {row["path"] for row in index} == {
        path.relative_to(made / "first").as_posix() for path in figures(made)
    }
    for path in figures(made):
        assert path.with_suffix(".png").is_file()
        words = path.with_suffix(".txt").read_text()
        assert len(words) > 60
        assert "Source: " in words
        with path.with_suffix(".csv").open(encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert rows
        assert {row["source"] for row in rows} <= {"published", "simulated"}


def test_figures_are_the_same_bytes_from_run_to_run(made):
    for path in (made / "second").glob("*/figures/*"):
        assert (
            path.read_bytes() == (made / "first" / path.relative_to(made / "second")).read_bytes()
        )


def test_every_manifest_says_where_its_numbers_come_from(made):
    for path in (made / "first").glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        assert manifest["source"] == "simulated"
        assert manifest["seconds"] > 0
        assert manifest["peak_memory_bytes"] > 1e6
        assert all(made["source"] for made in manifest["made"])
