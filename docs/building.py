"""What Sphinx is told of this project: its public names, its pictures, pages beside the docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nlgbench.plots.figures import Drawing

ROOT = Path(__file__).parent.parent
#: Pages of the site whose text lies beside what it tells of.
ELSEWHERE = {"published": "data/published/README.md"}


def public_names() -> dict[str, list[str]]:
    """Give the root names by the groups of `nlgbench/__init__.pyi`."""
    text = (ROOT / "nlgbench" / "__init__.pyi").read_text(encoding="utf-8")
    parts = re.split(r"^# (.+)\n(?=from )", text, flags=re.MULTILINE)[1:]
    names = [re.findall(r" as (\w+)$", part, flags=re.MULTILINE) for part in parts[1::2]]
    return dict(zip(parts[::2], names, strict=True))


def write_api(path: Path) -> None:
    """Write the page of the public names, which autosummary reads before the build."""
    lines = ["API", "===", "", ".. currentmodule:: nlgbench", ""]
    for group, names in public_names().items():
        lines += [group, "-" * len(group), "", ".. autosummary::", "   :toctree: generated"]
        lines += ["   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    text = "\n".join(lines)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def read_page(app: Any, page: str, source: list[str]) -> None:
    """Take in a page's text from elsewhere, and turn links that leave the docs."""
    if page in ELSEWHERE:
        source[0] = (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")
        source[0] = source[0].replace("](../docs/", "](").replace("](../../docs/", "](")
    if page.startswith(("auto_gallery", "generated")):
        return
    for name, place in ELSEWHERE.items():
        source[0] = source[0].replace(f"](../{place}", f"]({name}.md")
    # What else lies outside has no page here: its name stays, without a link.
    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\((?:\.\./)+[^)]*\)", r"\1", source[0])


def drawings(block: tuple, block_vars: dict, gallery_conf: dict) -> str:
    """Show the drawings that an example's block has made, each with its words."""
    shown = gallery_conf.setdefault("_shown", [])
    lines = []
    for value in block_vars["example_globals"].values():
        if isinstance(value, Drawing) and not any(value is one for one in shown):
            shown.append(value)
            path = Path(next(block_vars["image_path_iterator"]))
            path.write_bytes(value.image("png"))
            source = path.relative_to(gallery_conf["src_dir"]).as_posix()
            lines += [f".. image:: /{source}", f"   :alt: {value.alt}", ""]
    return "\n".join(lines)


def setup(app: Any) -> dict[str, bool]:
    """Register what Sphinx calls."""
    from pygments.lexers.special import TextLexer

    app.connect("source-read", read_page)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
