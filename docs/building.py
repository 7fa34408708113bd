"""Sphinx extension: the API page, gallery pictures, examples within pages, formulas as SVG."""

from __future__ import annotations

import html
import io
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from nlgbench.plots.figures import Drawing

DOCS = Path(__file__).parent
ROOT = DOCS.parent
#: Pages whose text is kept next to the data that it describes.
ELSEWHERE = {"published": "data/published/README.md"}
#: A figure's inch on a page, which shows text of about the same size in all figures.
PIXELS = 112
#: Pixels of a picture that its thumbnail shows, at 300 per inch.
PART = (900, 630)


def public_names() -> dict[str, list[str]]:
    """List the root names in the groups of `nlgbench/__init__.pyi`."""
    text = (ROOT / "nlgbench" / "__init__.pyi").read_text(encoding="utf-8")
    parts = re.split(r"^# (.+)\n(?=from )", text, flags=re.MULTILINE)[1:]
    names = [re.findall(r" as (\w+)$", part, flags=re.MULTILINE) for part in parts[1::2]]
    return dict(zip(parts[::2], names, strict=True))


def write_api(path: Path) -> None:
    """Write the page of public names, which autosummary reads before the build."""
    lines = ["API", "===", "", ".. currentmodule:: nlgbench", ""]
    for group, names in public_names().items():
        lines += [group, "-" * len(group), "", ".. autosummary::", "   :toctree: generated"]
        lines += ["   :nosignatures:", "", *(f"   {name}" for name in names), ""]
    text = "\n".join(lines)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def read_page(app: Any, page: str, source: list[str]) -> None:
    """Insert text and examples from elsewhere, and drop links that leave the docs."""
    if page in ELSEWHERE:
        source[0] = (ROOT / ELSEWHERE[page]).read_text(encoding="utf-8")
        source[0] = source[0].replace("](../docs/", "](").replace("](../../docs/", "](")
    if page.startswith(("auto_gallery", "generated")):
        return
    for name, place in ELSEWHERE.items():
        source[0] = source[0].replace(f"](../{place}", f"]({name}.md")
    source[0] = re.sub(r"^```\{example\} (\S+)\n```$", example, source[0], flags=re.MULTILINE)
    # Other files outside docs/ have no page here: the link text stays, without the link.
    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\((?:\.\./)+[^)]*\)", r"\1", source[0])


def example(found: re.Match[str]) -> str:
    """Show a gallery script's code, and the picture that it made in this build."""
    code = (DOCS / "gallery" / f"{found[1]}.py").read_text(encoding="utf-8")
    made = (DOCS / "auto_gallery" / f"{found[1]}.rst").read_text(encoding="utf-8")
    pictures = re.findall(
        r"^ *\.\. image:: (/\S+)\n +:alt: (.+)\n +:width: (\S+)$", made, re.MULTILINE
    )
    shown = "\n\n".join(
        f"```{{image}} {path}\n:alt: {json.dumps(alt, ensure_ascii=False)}\n:width: {width}\n```"
        for path, alt, width in pictures
    )
    code = code.split('"""', 2)[2].strip()
    return f"```python\n{code}\n```\n\n{shown}\n\n[Gallery](/auto_gallery/{found[1]}.rst)"


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
            width = f"   :width: {round(PIXELS * value.figure.get_figwidth())}px"
            lines += [f".. image:: /{source}", f"   :alt: {value.alt}", width, ""]
            lines += [re.sub(r"([*|`_\\])", r"\\\1", value.notes), ""]
    return "\n".join(lines)


def crop_thumbnails(*_: Any) -> None:
    """Show the part of each picture that has most ink: text of whole ones is too small to read."""
    from PIL import Image

    for path in (DOCS / "auto_gallery").glob("*/images/sphx_glr_*_001.png"):
        picture = Image.open(path).convert("L")
        wide, high = (max(0, size - most) for size, most in zip(picture.size, PART, strict=True))
        corners = [(x, y) for y in {0, high // 2, high} for x in {0, wide // 2, wide}]
        parts = [picture.crop((x, y, x + PART[0], y + PART[1])) for x, y in sorted(corners)]
        darkest = max(range(len(parts)), key=lambda n: sum(parts[n].histogram()[:160]))
        x, y = sorted(corners)[darkest]
        part = Image.new("RGB", PART, "white")
        part.paste(Image.open(path).convert("RGB").crop((x, y, *picture.size)))
        thumbnail = path.parent / "thumb" / path.name.replace("_001.png", "_thumb.png")
        part.resize((400, 280), Image.Resampling.LANCZOS).save(thumbnail)


@cache
def formula(tex: str, size: float = 13) -> str:
    """Draw a formula as SVG by matplotlib, so that pages need no script from elsewhere."""
    from matplotlib import mathtext
    from matplotlib.font_manager import FontProperties

    drawn = io.BytesIO()
    font = FontProperties(size=size, math_fontfamily="stix")
    depth = mathtext.math_to_image(f"${tex}$", drawn, prop=font, dpi=72, format="svg")
    about = f'role="img" aria-label="{html.escape(tex)}" style="vertical-align:{-depth}pt"'
    return "<svg " + about + drawn.getvalue().decode().partition("<svg")[2].strip()


def inline_formula(self: Any, node: Any) -> None:
    """Write a formula within a line."""
    from docutils.nodes import SkipNode

    self.body.append(f'<span class="math">{formula(node.astext())}</span>')
    raise SkipNode


def block_formula(self: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    from docutils.nodes import SkipNode

    self.body.append(f'<div class="math">{formula(node.astext(), 15)}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register what Sphinx calls."""
    from pygments.lexers.special import TextLexer

    app.connect("source-read", read_page)
    app.connect("env-before-read-docs", crop_thumbnails)
    app.add_html_math_renderer("svg", (inline_formula, None), (block_formula, None))
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
