"""The site leaves nothing out: each page, public name and figure has its place."""

import importlib.util
import re
from pathlib import Path

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


WRITTEN = [*(f"docs/{page}.md" for page in sorted(pages())), *building.ELSEWHERE.values()]


def test_each_row_stands_in_a_table_with_a_head():
    broken = []
    for path in WRITTEN:
        text = (DOCS.parent / path).read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for table in re.findall(r"(?:^ *\|.*\|$\n)+", text, flags=re.MULTILINE):
            rows = [re.sub(r"`[^`]*`", "", row.strip()) for row in table.splitlines()]
            sizes = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
            if len(sizes) > 1 or not re.fullmatch(r"[|: -]+", rows[min(1, len(rows) - 1)]):
                broken.append((path, rows[0]))
    assert not broken


def test_links_of_pages_lead_somewhere():
    broken = []
    for page in pages():
        path = DOCS / f"{page}.md"
        text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
        links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
        broken += [(page, link) for link in links if not (path.parent / link).exists()]
    assert not broken


def test_a_link_out_of_the_docs_becomes_a_page_or_a_name():
    text = [
        "[a](../data/published/README.md#speed), [b](../nlgbench/text.py), ![c](../figures/c.png)"
    ]
    building.read_page(None, "huse", text)
    assert text == ["[a](published.md#speed), b, ![c](../figures/c.png)"]
