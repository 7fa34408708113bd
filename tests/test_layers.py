"""Imports go down, without circles, so that a file is read with those below it alone."""

import ast
import graphlib
import importlib
import random
from pathlib import Path

import pytest

import nlgbench

PACKAGE = Path(nlgbench.__file__).parent
LAYERS = [
    "arrays names hashing files reported status text inference clustering",
    "study",
    "datasets training",
    "evaluators generators",
    "analysis worlds",
    "papers",
    "plots",
    "explorer runner",
]
LAYER = {name: layer for layer, names in enumerate(LAYERS) for name in names.split()}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


# __main__ runs the command as soon as it is imported.
MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py") if path.stem != "__main__"}


def imported(path: Path) -> set[str]:
    """Modules of ours that a file names in its imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in MODULES else node.module for name in inner)
    return {name for name in found if name.split(".")[0] == "nlgbench"}


@pytest.fixture(scope="module")
def imports():
    return {name: imported(path) - {name} for name, path in MODULES.items()}


def test_imports_go_down(imports):
    above = [
        f"{module} imports {name}"
        for module in set(MODULES) - {"nlgbench"}
        for name in imports[module] - {"nlgbench"}
        if LAYER[name.split(".")[1]] > LAYER[module.split(".")[1]]
    ]
    assert not above


def test_neither_modules_nor_folders_import_in_circles(imports):
    """Whoever reads one folder needs those below it, and never the one above."""
    folders: dict[str, set[str]] = {}
    for name, below in imports.items():
        folders.setdefault(folder_of(name), set()).update(map(folder_of, below))
    for graph in (imports, {name: below - {name} for name, below in folders.items()}):
        list(graphlib.TopologicalSorter(graph).static_order())


def folder_of(module: str) -> str:
    """Name the folder within a layer's folder that a module is in; else the module itself."""
    folder = module.split(".")[1:3]
    return ".".join(["nlgbench", *folder]) if PACKAGE.joinpath(*folder).is_dir() else module


def test_a_name_is_a_function_or_a_module():
    """Importing a submodule sets its name on the package, over what `__init__` hands out."""
    names = sorted(MODULES)
    random.Random(0).shuffle(names)
    for name in names:
        importlib.import_module(name)
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            below = {one.stem for one in path.parent.iterdir()}
            assert not set(getattr(importlib.import_module(name), "__all__", ())) & below, name
