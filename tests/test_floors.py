"""The floors of docs/design.md: imports go down or stay level, without circles."""

import ast
import graphlib
from pathlib import Path

import pytest

import nlgbench

PACKAGE = Path(nlgbench.__file__).parent
FLOORS = {
    "nlgbench": 0,
    "nlgbench.csv_files": 0,
    "nlgbench.names": 0,
    "nlgbench.table_rules": 0,
    "nlgbench.tables": 0,
    "nlgbench.text": 0,
    "nlgbench.datasets": 1,
    "nlgbench.training": 1,
    "nlgbench.evaluators": 2,
    "nlgbench.generators": 2,
    "nlgbench.analysis": 3,
    "nlgbench.claims": 3,
    "nlgbench.color_games": 3,
    "nlgbench.color_speech": 3,
    "nlgbench.crowd": 3,
    "nlgbench.annotators": 3,
    "nlgbench.bounds": 3,
    "nlgbench.gaussian": 3,
    "nlgbench.quality": 3,
    "nlgbench.truth": 3,
    "nlgbench.worlds": 3,
    "nlgbench.workbench": 4,
    "nlgbench.plots": None,
}


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }


def floor_name(module: str) -> str:
    parts = module.split(".")
    return next(
        name
        for name in (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        if name in FLOORS and (name != "nlgbench" or module == "nlgbench")
    )


def imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, inside functions too."""
    known = modules()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in inner]
        found.update(name for name in names if name.split(".")[0] == "nlgbench")
    return found


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_go_down(module):
    own = FLOORS[floor_name(module)]
    for imported in imports(modules()[module]):
        name = floor_name(imported)
        if floor_name(module) == "nlgbench.plots":
            assert name == "nlgbench.plots", f"plots/ imports nothing of ours, not {imported}"
        elif name != "nlgbench.plots":
            assert FLOORS[name] <= own, f"{module} (floor {own}) imports {imported} above it"
        else:
            assert own == 4, f"{module} draws: only notebooks and workbench/ call plots/"


def test_there_are_no_circles():
    known = modules()
    graph = {name: imports(path) & set(known) - {name} for name, path in known.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_files_are_read_in_one_sitting():
    long = {name: len(path.read_text().splitlines()) for name, path in modules().items()}
    assert {name: n for name, n in long.items() if n > 360} == {}
