"""The site leaves no public name and no figure out; its build warns of pages and links."""

import importlib.util
import re
from pathlib import Path

import nlgbench as nb

DOCS = Path(__file__).parent.parent / "docs"
SPEC = importlib.util.spec_from_file_location("building", DOCS / "building.py")
building = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(building)


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
