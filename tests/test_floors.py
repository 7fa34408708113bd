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


def named(path: Path) -> set[str]:
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


def imports(path: Path) -> set[str]:
    """What a file names, and the doors it goes through: Python runs those of other folders too."""
    own = {".".join(folder.parts) for folder in path.relative_to(PACKAGE.parent).parents}
    found = named(path)
    doors = {name.rsplit(".", n)[0] for name in found for n in range(1, name.count(".") + 1)}
    return found | (doors - own)


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


def test_folders_stand_in_an_order():
    """Whoever reads one folder needs those below it, and never the one above."""
    graph: dict[str, set[str]] = {}
    for name, path in modules().items():
        graph.setdefault(folder_of(name), set()).update(map(folder_of, named(path)))
    for name, below in graph.items():
        below.discard(name)
    list(graphlib.TopologicalSorter(graph).static_order())


def folder_of(module: str) -> str:
    """Name the folder within a floor's folder that a module is in; else the module itself."""
    folder = module.split(".")[1:3]
    return ".".join(["nlgbench", *folder]) if PACKAGE.joinpath(*folder).is_dir() else module


DOORS = sorted(name for name, path in modules().items() if path.name == "__init__.py")


@pytest.mark.parametrize("door", [name for name in DOORS if name != "nlgbench"])
def test_a_door_only_hands_out(door):
    path = modules()[door]
    docstring, *rest = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr) and isinstance(docstring.value.value, str)
    handed_out = []
    for node in rest[:-1]:
        assert isinstance(node, ast.ImportFrom) and node.module.startswith(f"{door}."), node.lineno
        handed_out += [alias.name for alias in node.names]
    if rest:
        assert sorted(ast.literal_eval(rest[-1].value)) == sorted(handed_out)  # __all__
    # Else `import folder.room` would find the function, or `from folder import name` the room.
    assert not set(handed_out) & {room.stem for room in path.parent.glob("*.py")}


@pytest.mark.parametrize("module", sorted(set(modules()) - set(DOORS)))
def test_rooms_are_imported_by_their_own_names(module):
    through = named(modules()[module]) & set(DOORS) - {"nlgbench"}
    assert not through, f"{module} goes through a door: name the room inside"
