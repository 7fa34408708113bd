"""The site leaves nothing out: each page, public name and figure has its place."""

import importlib.util
import re
from pathlib import Path

import pytest

import nlgbench as nb

DOCS = Path(__file__).parent.parent / "docs"
SPEC = importlib.util.spec_from_file_location("building", DOCS / "building.py")
building = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(building)
BUILT = ("_build", "auto_gallery", "generated")


def pages():
    paths = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    return {path.with_suffix("").as_posix() for path in paths if path.parts[0] not in BUILT}


def test_every_page_is_in_the_navigation_once():
    listed = []
    for page in pages():
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for tree in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE
        ):
            lines = [line for line in tree.splitlines() if line and line[0] != ":"]
            listed += [(Path(page).parent / line).as_posix() for line in lines]
    assert len(listed) == len(set(listed))
    assert set(listed) - {"api", "auto_gallery/index"} == pages() - {"index"}


#: The parts of a method's page, in their order; what else it has stands between them.
PARTS = [
    "What it estimates",
    "Formula",
    "Assumptions",
    "When it misleads",
    "What we found",
    "References",
]
#: Pages that lead to others.
LEADING = {"evaluators", "judges"}


def methods():
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+)$", text, flags=re.MULTILINE)) - LEADING


@pytest.mark.parametrize("page", sorted(methods()))
def test_a_methods_page_has_its_parts_in_order(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert [heading for heading in headings if heading in PARTS] == PARTS
    assert "\n    >>> import nlgbench as nb\n" in text
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    of = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert all(len(of[part].split()) > 10 for part in PARTS)
    assert re.search(r"^    \S|^\| .*formula|^\| measure", of["Formula"], flags=re.MULTILINE)
    assert re.findall(r"^    .{92,}$", of["Formula"], flags=re.MULTILINE) == []


@pytest.mark.parametrize("page", sorted(pages()))
def test_code_is_seen_whole(page):
    """At 1,280 pixels a block shows 91 characters."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert re.findall(r"^    (?:>>>|\.\.\.) .{90,}$", text, flags=re.MULTILINE) == []


def test_every_public_name_is_in_the_reference(tmp_path):
    building.write_api(tmp_path / "api.rst")
    listed = re.findall(r"^   ([A-Za-z_]\w*)$", (tmp_path / "api.rst").read_text(), re.MULTILINE)
    # Names of modules are reached through the root as well, once something imports them.
    public = set(nb.__all__) - {"__version__"}
    assert sorted(listed) == sorted(public) and len(public) > 50


def test_every_plot_has_an_example():
    code = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("gallery/*/plot_*.py"))
    names = [name for group in building.public_names().values() for name in group]
    plots = {name for name in names if name.startswith("plot_")}
    assert plots - set(re.findall(r"nb\.(plot_\w+)\(", code)) == set()


WRITTEN = [*(f"docs/{page}.md" for page in pages()), *building.ELSEWHERE.values()]


@pytest.mark.parametrize("path", sorted(WRITTEN))
def test_a_row_stands_in_a_table(path):
    text = (DOCS.parent / path).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    # Each run of rows begins with a head, a line of dashes, and as many cells in every row.
    for table in re.findall(r"(?:^ *\|.*\|$\n)+", text, flags=re.MULTILINE):
        rows = [row.strip() for row in table.splitlines()]
        assert len(rows) > 1 and re.fullmatch(r"[|: -]+", rows[1]), rows[0]
        counts = {len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in rows}
        assert len(counts) == 1, rows[0]


@pytest.mark.parametrize("page", sorted(pages()))
def test_links_of_a_page_lead_somewhere(page):
    path = DOCS / f"{page}.md"
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_link_out_of_the_docs_becomes_a_page_or_a_name():
    text = [
        "[a](../data/published/README.md#speed), [b](../nlgbench/text.py), ![c](../figures/c.png)"
    ]
    building.read_page(None, "huse", text)
    assert text == ["[a](published.md#speed), b, ![c](../figures/c.png)"]
