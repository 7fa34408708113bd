"""Plant faults in the package, one at a time, and see whether the tests of its folder notice.

    python benchmarks/mutants.py --seed 1 --faults 60 --workers 2

Faults are drawn by a seed from all lines of seven folders that an operator fits: a sign, a bound,
an off-by-one, a wrong axis, a dropped filter. `--tests-from COMMIT` runs the tests of another
commit against the same faults. Returns 1 where fewer than nine in ten are caught.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ANALYSES = ("huse", "correlation", "people", "judges", "ratings")
#: Folder of the package -> folders or files of tests that hold it.
FOLDERS = {
    **{f"nlgbench/analysis/{name}": [f"tests/analysis/{name}"] for name in ANALYSES},
    "nlgbench/study": ["tests/study"] if (ROOT / "tests/study").is_dir() else ["tests"],
    "nlgbench/runner": ["tests/runner"],
}
#: Its tests are left out too: it is written anew.
UNTESTED = "nlgbench/runner/new_study.py"
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
SWAPPED = {"min": "max", "any": "all", "minimum": "maximum", "nanmin": "nanmax", "first": "last"}
SWAPPED |= {after: before for before, after in SWAPPED.items()}
DROPPED = {"dropna", "sort_values", "sort_index", "drop_duplicates", "abs", "fillna", "clip"}


class Fault(NamedTuple):
    """A fault: where, what stands there and what is written instead."""

    file: str
    line: int
    start: int
    end: int
    operator: str
    before: str
    after: str


#: Faults that change nothing a user could see, by file, text and replacement, each with the reason.
NO_FAULT: dict[tuple[str, str, str], str] = {}


def changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Give each fault that fits an expression: its operator, and the expression with it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        yield "bound", ast.unparse(ast.Compare(node.left, ops, node.comparators))
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        if isinstance(node.right, ast.Constant) and node.right.value == 1:
            yield "off by one", ast.unparse(node.left)
        yield "sign", ast.unparse(ast.BinOp(node.left, SIGNS[type(node.op)](), node.right))
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and, or", ast.unparse(ast.BoolOp(other, node.values))
        yield "condition dropped", ast.unparse(node.values[0])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield "negation dropped", ast.unparse(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "true, false", str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "off by one", str(node.value + 1)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Compare | ast.BoolOp):
        yield "filter dropped", ast.unparse(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in SWAPPED:
            yield from swapped(node.func, node)
        elif node.func.attr in DROPPED:
            yield f"{node.func.attr} dropped", ast.unparse(node.func.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        call = ast.Call(ast.Name(SWAPPED[node.func.id]), node.args, node.keywords)
        yield "other end", ast.unparse(call)
    elif isinstance(node, ast.IfExp):
        yield "condition dropped", ast.unparse(node.body)


def swapped(function: ast.Attribute, call: ast.Call) -> Iterator[tuple[str, str]]:
    """Take the other end: the greatest for the least, all for any."""
    other = ast.Attribute(function.value, SWAPPED[function.attr])
    yield "other end", ast.unparse(ast.Call(other, call.args, call.keywords))


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Go through what is computed: no annotation, docstring, message or decorator."""
    skipped = ("annotation", "returns", "decorator_list", "type_comment", "exc", "msg")
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.expr):
                yield child
            if isinstance(child, ast.AST):
                yield from expressions(child)


def sites(file: str) -> Iterator[Fault]:
    """List the faults that fit a file."""
    source = (ROOT / file).read_text(encoding="utf-8")
    starts = [0]
    for line in source.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in expressions(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        for operator, after in changes(node):
            yield Fault(file, node.lineno, start, end, operator, before, f"({after})")


def drawn(seed: int, number: int) -> list[Fault]:
    """Draw lines that a fault fits, and one fault in each."""
    lines: dict[tuple[str, int], list[Fault]] = {}
    for folder in FOLDERS:
        for path in sorted(set((ROOT / folder).glob("*.py")) - {ROOT / UNTESTED}):
            for fault in sites(path.relative_to(ROOT).as_posix()):
                lines.setdefault((fault.file, fault.line), []).append(fault)
    chance = random.Random(seed)
    return [chance.choice(lines[line]) for line in chance.sample(sorted(lines), number)]


def copied(to: Path, tests_from: str) -> Path:
    """Copy the commit that is checked out, and the tests of another one, to a folder."""
    for commit, parts in (("HEAD", []), (tests_from, ["tests", "benchmarks"])):
        if parts and tests_from == "HEAD":
            continue
        for part in parts:
            subprocess.run(["rm", "-rf", str(to / part)], check=True)
        packed = subprocess.run(
            ["git", "archive", commit, *parts], cwd=ROOT, check=True, capture_output=True
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(to, filter="data")
    return to


def ordered(copy: Path, folder: str, module: str) -> list[str]:
    """List a folder's files of tests, those that name the module first."""
    found = [path for one in FOLDERS[folder] for path in sorted((copy / one).rglob("test_*.py"))]
    names = re.compile(rf"\b{module}\b")
    late = {path: not names.search(path.read_text(encoding="utf-8")) for path in found}
    return [str(path.relative_to(copy)) for path in sorted(found, key=lambda one: late[one])]


def tests(copy: Path, files: list[str], *options: str, limit: float) -> tuple[int, str, float]:
    """Run tests in a copy: how pytest ended, what it printed, and the seconds it took."""
    begun = time.perf_counter()
    paths = os.pathsep.join(str(copy / one) for one in ("", "benchmarks", "tests"))
    env = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no", "-rf"]
    try:
        run = subprocess.run(
            [*command, *options, *files], cwd=copy, env=env, capture_output=True, timeout=limit
        )
        return run.returncode, run.stdout.decode(errors="replace"), time.perf_counter() - begun
    except subprocess.TimeoutExpired:
        return -1, "FAILED did not end", time.perf_counter() - begun


def main() -> int:
    """Draw faults, plant each, and say which were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tests-from", default="HEAD", help="the commit whose tests are run")
    asked = parser.parse_args()
    faults = drawn(asked.seed, asked.faults)
    with tempfile.TemporaryDirectory() as place:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.workers):
            free.put(copied(Path(place) / str(number), asked.tests_from))

        def unharmed(folder: str) -> tuple[list[str], float]:
            """Find the tests of a folder that fail without a fault, and its seconds."""
            copy = free.get()
            _, said, seconds = tests(copy, ordered(copy, folder, "nlgbench"), limit=1800)
            free.put(copy)
            return re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE), seconds

        def planted(fault: Fault) -> tuple[str, float]:
            """Plant a fault, and name the test that caught it."""
            copy = free.get()
            folder = str(Path(fault.file).parent)
            failing, seconds = known[folder]
            whole = (copy / fault.file).read_bytes()
            faulty = whole[: fault.start] + fault.after.encode() + whole[fault.end :]
            (copy / fault.file).write_bytes(faulty)
            without = [option for one in failing for option in ("--deselect", one)]
            files = ordered(copy, folder, Path(fault.file).stem)
            ended, said, took = tests(copy, files, "-x", *without, limit=3 * seconds + 60)
            (copy / fault.file).write_bytes(whole)
            free.put(copy)
            caught = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.MULTILINE)
            return ("" if ended == 0 else caught[1] if caught else f"pytest ended {ended}"), took

        with ThreadPoolExecutor(asked.workers) as pool:
            touched = sorted({str(Path(fault.file).parent) for fault in faults})
            known = dict(zip(touched, pool.map(unharmed, touched), strict=True))
            for folder, (failing, seconds) in known.items():
                print(f"{folder}: {seconds:.0f} s without a fault; left out: {failing or 'none'}")
            results = []
            for fault, (caught, took) in zip(faults, pool.map(planted, faults), strict=True):
                reason = NO_FAULT.get((fault.file, fault.before, fault.after), "")
                verdict = caught or (f"no fault: {reason}" if reason else "SURVIVED")
                change = " ".join(f"{fault.before} -> {fault.after}".split())
                place = f"{fault.file}:{fault.line}, {fault.operator}"
                print(f"{place}: {change}: {verdict}, {took:.0f} s", flush=True)
                results.append(bool(caught))
    excused = sum(
        (fault.file, fault.before, fault.after) in NO_FAULT and not caught
        for fault, caught in zip(faults, results, strict=True)
    )
    print(f"{sum(results)} of {len(faults)} faults caught; {excused} are no faults.")
    return int(sum(results) < 0.9 * len(faults))


if __name__ == "__main__":
    sys.exit(main())
