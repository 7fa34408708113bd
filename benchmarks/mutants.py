"""Plant faults one at a time, and count how many the tests of the faulty folder catch.

    .venv/bin/python benchmarks/mutants.py --seed 0 --faults 60

draws lines of `FOLDERS` by a seed and a fault for each, and runs the tests of its folder in a copy
of the checkout until one fails. Draws depend on the text of lines, so edits elsewhere change none.
`--tests-from COMMIT` runs that commit's tests/ on the same faults; tests that fail without a fault
are left out. `--statements` draws from the code that writes findings, alternative texts and
reasons, where it also exchanges words: columns, verdicts, operators. `--only nlgbench/...py:12:4:x`
plants a fault of the table again. Returns 1 if a fault survived that `NO_FAULT` does not excuse.
"""

import argparse
import ast
import copy
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from xml.etree import ElementTree

import psutil

FOLDERS = [f"analysis/{x}" for x in ("huse", "correlation", "people", "judges", "ratings")]
FOLDERS += ["study", "runner"]
# Besides a folder's own tests: drafts of study.yml and exports of tools are tested as commands.
TESTS = {"study": ["tests/runner/test_layouts.py", "tests/runner/test_new_study.py"]}
#: Code that writes statements -> its tests.
STATEMENTS = {
    "runner/facts.py": ["runner/test_findings.py", "runner/test_record.py"],
    "runner/findings.py": ["runner/test_findings.py", "test_relations.py"],
    "clustering.py": [
        "test_status.py",
        "analysis/people/test_comparing_systems.py",
        "analysis/people/test_agreement.py",
    ],
    "plots/audit.py": ["plots/test_alternative_texts.py", "plots/test_audit_figure.py"],
    "plots/corrected.py": ["plots/test_alternative_texts.py", "plots/test_corrected_figures.py"],
    "plots/pooled.py": ["plots/test_alternative_texts.py", "plots/test_pooled_figure.py"],
    "plots/ratings.py": ["plots/test_alternative_texts.py", "plots/test_rating_figures.py"],
    "plots/systems.py": ["plots/test_alternative_texts.py", "plots/test_judged_figures.py"],
}
#: Outside of `runner`, lines with these words make reasons and alternative texts.
MARKS = ("alt", "words", "texts", "explain", "status", "missing", "few")
_WORDS = "ci_low:ci_high better:worse highest:lowest defined:undefined found:significant >:< >=:<= "
_WORDS += "n_labels:n_outputs stopped_low:stopped_high omega:rho estimate:se"
WORDS = {"in": "not in", **dict(pair.split(":") for pair in _WORDS.split())}
WORDS |= {other: word for word, other in WORDS.items()}
# Changes of code that a user cannot notice: (file, before, after) -> why.
NO_FAULT: dict[tuple[str, str, str], str] = {
    ("nlgbench/runner/cli.py", "if TYPE_CHECKING", "if False"): (
        "The condition is False wherever the program runs; only type checkers read what it guards."
    ),
    ("nlgbench/analysis/correlation/coefficients.py", "20", "21"): (
        "It bounds how many pairs are in memory at once, and results are the same in larger parts."
    ),
    (
        "nlgbench/analysis/correlation/correlations.py",
        "pd.Series(stratum).groupby(group).first()",
        "pd.Series(stratum).groupby(group).last()",
    ): (
        "Clusters of a group are of one stratum, but for a group at the border of two, which may "
        "count in either."
    ),
}

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
SWAPPED |= {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And}
BOUNDS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITES = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}
OPPOSITES |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}
OPPOSITES |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is}
_PAIRS = (
    "min max any all minimum maximum argmin argmax idxmin idxmax floor ceil first last head tail"
)
_PAIRS += " nanmin nanmax cummin cummax mean sum startswith endswith sf cdf"
NAMES = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
NAMES |= {other: name for name, other in NAMES.items()}
DROPPED = {"dropna", "drop_duplicates", "sort_values", "sort_index", "abs", "fillna", "strip"}
UNSEEN = {"strict", "copy", "validate", "exist_ok"}  # arguments that change no valid result


@dataclass(frozen=True, order=True)
class Fault:
    """A change of one node of a file, in a function or class."""

    path: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    within: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}:{self.operator}"


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the faults of one node: an operator's name, and the replacement."""

    def other(**fields: object) -> ast.AST:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            sides = [getattr(node, x, None) for x in ("left", "right", "value")]
            texts = (ast.List, ast.JoinedStr, ast.Call) if isinstance(node, ast.AugAssign) else ()
            if not any(
                isinstance(x, (ast.JoinedStr, *texts)) or isinstance(getattr(x, "value", 0), str)
                for x in sides
            ):
                yield "sign", other(op=SWAPPED[type(op)]())
            if isinstance(node, ast.BinOp) and isinstance(op, ast.Sub):
                yield "subtrahend", node.left  # n for n - 1
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield "unary", node.operand
        case ast.Compare(ops=[op]):
            if type(op) in BOUNDS:
                yield "bound", other(ops=[BOUNDS[type(op)]()])
            if type(op) in OPPOSITES:
                yield "opposite", other(ops=[OPPOSITES[type(op)]()])
        case ast.BoolOp(op=op, values=[first, *rest]):
            yield "and-or", other(op=SWAPPED[type(op)]())
            yield "condition", rest[0] if len(rest) == 1 else other(values=rest)
            yield "last-condition", first if len(rest) == 1 else other(values=[first, *rest[:-1]])
        case ast.Constant(value=str(value)) if value in WORDS:
            yield "word", ast.Constant(WORDS[value])
        case ast.Constant(value=bool(value)):
            yield "boolean", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "off-by-one", ast.Constant(value + 1)
        case ast.keyword(arg="axis" | "ddof", value=ast.Constant(value=int(value))):
            yield "axis", other(value=ast.Constant(1 - value))
        case ast.Call(func=ast.Attribute(value=whole, attr=name) as called):
            if name in NAMES:
                yield "min-max", other(func=ast.Attribute(whole, NAMES[name], called.ctx))
            if name in DROPPED:
                yield "call", whole
        case ast.Call(func=ast.Name(id=name)):
            if name in NAMES:
                yield "min-max", other(func=ast.Name(NAMES[name], ast.Load()))
            if name in ("sorted", "abs", "reversed"):
                yield "call", node.args[0]
        case ast.Subscript(value=whole, slice=chosen, ctx=ast.Load()):
            calls = isinstance(chosen, ast.Call) and isinstance(chosen.func, ast.Attribute)
            masks = calls and chosen.func.attr in ("isin", "notna", "isna", "between", "eq", "ne")
            if masks or isinstance(chosen, ast.Compare | ast.BinOp | ast.UnaryOp):
                whole = whole.value if getattr(whole, "attr", "") == "loc" else whole
                yield "filter", whole
        case ast.comprehension(ifs=[_, *rest]):
            yield "filter", other(ifs=rest)
        case ast.If():
            yield "never", other(test=ast.Constant(False))
        case ast.IfExp(body=body):
            yield "always", body
        case ast.Continue() | ast.Break():
            yield "pass", ast.Pass()


def spoken(node: ast.AST) -> bool:
    """Whether a node is a message, a decorator, a type or has no effect."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in ("warn", "echo", "TypeVar", "cast")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = (node.left, node.right)
        types = {"int", "str", "float", "bool", "None", "Path", "type"}
        return any(ast.unparse(side).split("[")[0].split(".")[-1] in types for side in sides)
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.keyword) and node.arg in UNSEEN
    )


class _Planted(Exception):
    """The text of a file that contains a fault."""


def faults_of(path: str, text: str, planted: Fault | None = None) -> list[Fault]:
    """List all faults of a file, or raise its text with one of them planted."""
    tree, found = ast.parse(text), []
    place = path.removeprefix("nlgbench/")

    def visit(node: ast.AST, within: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            within = node.name
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "bases", "op", "ops", "ctx"):
                continue
            several = isinstance(value, list)
            for i, child in enumerate(value if several else [value]):
                if not isinstance(child, ast.AST) or spoken(child):
                    continue
                for operator, new in changes(child):
                    if operator == "word" and place not in STATEMENTS:
                        continue
                    at = child.target if isinstance(child, ast.comprehension) else child
                    short = [
                        ast.unparse(x).split("\n")[0].strip().rstrip(":") for x in (child, new)
                    ]
                    fault = Fault(path, at.lineno, at.col_offset, operator, *short, within)
                    if fault == planted:
                        put(node, field, new, i if several else None)
                        raise _Planted(ast.unparse(tree))
                    found.append(fault)
                visit(child, within)

    def put(node: ast.AST, field: str, new: object, i: int | None) -> None:
        if i is None:
            setattr(node, field, new)
        else:
            getattr(node, field)[i] = new

    visit(tree, "")
    return found


def python_files(place: Path) -> list[Path]:
    """List the Python files of a folder, or the file itself."""
    return [place] if place.is_file() else list(place.rglob("*.py"))


def draw(
    root: Path, seed: int, n: int, every: bool = False, places: Collection[str] = FOLDERS
) -> list[Fault]:
    """Draw one fault, or all, of n lines by a hash of the seed and each line's text."""

    def rank(*key: object) -> str:
        return hashlib.sha256(repr((seed, *key)).encode()).hexdigest()

    ranked = []
    for path in sorted(path for x in places for path in python_files(root / "nlgbench" / x)):
        name, text = str(path.relative_to(root)), path.read_text()
        lines: dict[int, list[Fault]] = {}
        for fault in faults_of(name, text):
            written = text.split("\n")[fault.line - 1]
            is_one = "/runner/" in name or any(mark in written for mark in MARKS)
            if places is STATEMENTS and not is_one:
                continue
            lines.setdefault(fault.line, []).append(fault)
        seen: dict[str, int] = {}
        for number, faults in sorted(lines.items()):
            line = text.split("\n")[number - 1].strip()
            seen[line] = seen.get(line, 0) + 1
            key = (name, line, seen[line])
            ordered = sorted((rank(*key, x.operator, x.column), x) for x in faults)
            ranked += [(rank(*key), x) for _, x in (ordered if every else ordered[:1])]
    return [fault for _, fault in sorted(ranked, key=lambda x: x[0])[:n]]


def files_of(folder: str, root: Path) -> list[Path]:
    """List the test files of a folder of the package."""
    found = sorted((root / "tests" / folder).glob("test_*.py"))
    if folder == "study" and not found:
        names = ("study", "reading", "schema", "checks", "csv_files", "malformed_studies")
        found = [root / "tests" / f"test_{name}.py" for name in names]
    found += [root / name for name in TESTS.get(folder, [])]
    found += [root / "tests" / name for name in STATEMENTS.get(folder, [])]
    return [path for path in found if path.exists()]


def copy_of(root: Path, tests_from: str | None, into: Path) -> Path:
    """Copy the files that git tracks, with the tests of another commit if one is named."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file() and not (tests_from and name.startswith("tests/")):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, into / name)
    if tests_from:
        parts = ["tests", "benchmarks", "pyproject.toml"]  # tests read these two
        command = ["git", "archive", tests_from, *parts]
        packed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(into, filter="data")
    return into


def pytest(root: Path, arguments: list[str], limit: float) -> tuple[str, float]:
    """Run tests; return the output, or "hang" after a timeout, and the seconds."""
    environment = os.environ | {"PYTHONPATH": str(root), "CI": "1", "MPLBACKEND": "agg"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    started = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        process = psutil.Popen(command, cwd=root, env=environment, stdout=printed, stderr=printed)
        try:
            process.wait(limit)
        except psutil.TimeoutExpired:
            for one in (*process.children(recursive=True), process):
                one.kill()
            process.wait()
            return "hang", time.monotonic() - started
        printed.seek(0)
        return printed.read().decode(errors="replace"), time.monotonic() - started


def without_faults(folder: str, root: Path) -> tuple[dict[str, float], list[str], float]:
    """Run a folder's tests without faults; return seconds by file, failures, and all seconds."""
    report = root / "report.xml"
    files = [str(path.relative_to(root)) for path in files_of(folder, root)]
    printed, seconds = pytest(root, [f"--junitxml={report}", *files], 3600)
    took: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.get("classname"):
            parts = case.get("classname", "").split(".")
            name = "/".join(parts[: 1 + [x.startswith("test_") for x in parts].index(True)]) + ".py"
            took[name] = took.get(name, 0) + float(case.get("time", 0))
    # Files that cannot be imported, and tests that fail, are left out.
    failed = [x.split(" - ")[0].split(" ", 1)[1] for x in printed.split("\n") if x[:6] == "FAILED"]
    failed += [x.split(" - ")[0].split(" ", 1)[1] for x in printed.split("\n") if x[:6] == "ERROR "]
    if failed:
        print(f"{folder}: left out, as they fail: {', '.join(failed)}", file=sys.stderr)
    return {x: took[x] for x in took if x not in failed}, failed, seconds


def caught(fault: Fault, root: Path, tests: tuple[dict[str, float], list[str], float]) -> str:
    """Run the tests of a fault's folder until one fails, and return its name."""
    took, failed, seconds = tests
    text = (root / fault.path).read_text()
    stem = Path(fault.path).stem

    def distance(name: str) -> tuple[bool, bool, float]:
        words = (root / name).read_text()
        return fault.within not in words, stem not in words, took[name]

    try:
        faults_of(fault.path, text, fault)
        raise LookupError(str(fault))
    except _Planted as planted:
        (root / fault.path).write_text(str(planted))
    try:
        left_out = [f"--deselect={x}" for x in failed]
        printed, _ = pytest(root, ["-x", *left_out, *sorted(took, key=distance)], 60 + 4 * seconds)
    finally:
        (root / fault.path).write_text(text)
    if printed == "hang":
        return printed
    ends = [x for x in printed.split("\n") if x.startswith(("FAILED ", "ERROR "))]
    if ends:
        return ends[0].split(" - ")[0].split(" ", 1)[1]
    return "" if " passed" in printed else "no test could start"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--tests-from", metavar="COMMIT")
    parser.add_argument("--only", nargs="+", metavar="FAULT", help="faults as named in the table")
    parser.add_argument("--statements", action="store_true")
    parser.add_argument("--list", action="store_true", help="only draw faults, and list them")
    given = parser.parse_args()
    places: Collection[str] = STATEMENTS if given.statements else FOLDERS
    n = 10**9 if given.only else given.faults
    faults = draw(given.root, given.seed, n, bool(given.only), places)
    if given.only:
        faults = [fault for fault in faults if str(fault) in given.only]
    if given.list:
        print(*(f"{fault}: {fault.before} -> {fault.after}" for fault in faults), sep="\n")
        return 0
    folders = {fault: next(x for x in places if f"/{x}" in fault.path) for fault in faults}
    print("| fault | before -> after | caught by | s |\n| --- | --- | --- | ---: |")
    survived = excused = 0
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(given.workers) as pool:
        copies: Queue[Path] = Queue()
        for number in range(given.workers):
            copies.put(copy_of(given.root, given.tests_from, Path(temporary) / str(number)))

        def in_a_copy(run: object, *given: object) -> object:
            root = copies.get()
            try:
                started = time.monotonic()
                return run(*given, root), time.monotonic() - started  # type: ignore[operator]
            finally:
                copies.put(root)

        used = sorted(set(folders.values()))
        whole = list(pool.map(lambda folder: in_a_copy(without_faults, folder), used))
        tests = dict(zip(used, (found for found, _ in whole), strict=True))
        run = lambda fault, root: caught(fault, root, tests[folders[fault]])  # noqa: E731
        for fault, (by, seconds) in zip(
            faults, pool.map(lambda fault: in_a_copy(run, fault), faults), strict=True
        ):
            if not by:
                reason = NO_FAULT.get((fault.path, fault.before, fault.after))
                survived, excused = survived + (reason is None), excused + (reason is not None)
                by = f"no fault: {reason}" if reason else "**survived**"
            change = f"`{fault.before}` -> `{fault.after}`".replace("|", "\\|")
            print(f"| {fault} | {change} | {by} | {seconds:.0f} |", flush=True)
    print(f"\n{len(faults) - survived - excused} of {len(faults)} caught, {excused} no faults.")
    return int(survived > 0 or excused > 6)


if __name__ == "__main__":
    sys.exit(main())
