"""What one needs to know to read a file: imports go down, without circles, names are one thing."""

import ast
import graphlib
import importlib
import random
from pathlib import Path

import pytest

import nlgbench

PACKAGE = Path(nlgbench.__file__).parent
LAYERS = {
    name: layer
    for layer, names in enumerate(
        [
            "names hashing files reported text inference crossed",
            "study",
            "datasets training",
            "evaluators generators",
            "analysis worlds",
            "papers",
            "plots",
            "explorer runner",
        ]
    )
    for name in names.split()
}


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }


def imported(path: Path) -> set[str]:
    """Modules of ours that a file names in its imports, inside functions too."""
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


@pytest.mark.parametrize("module", sorted(set(modules()) - {"nlgbench"}))
def test_imports_go_down(module):
    own = LAYERS[module.split(".")[1]]
    for name in imported(modules()[module]) - {"nlgbench"}:
        assert LAYERS[name.split(".")[1]] <= own, f"{module} imports {name}, which is above it"


def test_there_are_no_circles():
    known = modules()
    graph = {name: imported(path) & set(known) - {name} for name, path in known.items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_folders_stand_in_an_order():
    """Whoever reads one folder needs those below it, and never the one above."""
    graph: dict[str, set[str]] = {}
    for name, path in modules().items():
        graph.setdefault(folder_of(name), set()).update(map(folder_of, imported(path)))
    for name, below in graph.items():
        below.discard(name)
    list(graphlib.TopologicalSorter(graph).static_order())


def folder_of(module: str) -> str:
    """Name the folder within a layer's folder that a module is in; else the module itself."""
    folder = module.split(".")[1:3]
    return ".".join(["nlgbench", *folder]) if PACKAGE.joinpath(*folder).is_dir() else module


def test_a_name_is_a_function_or_a_module():
    """Importing a submodule sets its name on the package, over what `__init__` hands out."""
    names = sorted(modules())
    random.Random(0).shuffle(names)
    for name in names:
        importlib.import_module(name)
    for name, path in modules().items():
        if path.name == "__init__.py":
            package = importlib.import_module(name)
            below = {one.stem for one in path.parent.glob("*.py")} | {
                one.name for one in path.parent.iterdir() if one.is_dir()
            }
            assert not set(getattr(package, "__all__", ())) & below, name
