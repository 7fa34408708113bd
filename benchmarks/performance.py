"""Run every benchmark of speed, one after another, and write docs/performance.md.

    python benchmarks/performance.py [NAME]...

Each asserts equal results before it times anything, and prints ratios against a named peer; what it
prints stands in the page, with the machine and the peers' versions. With names, only those are run
anew, and the others' sections stay. Half an hour; cores should be idle. Returns 1 when one of them
says that a ratio is below what it requires.
"""

import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nlgbench import files

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
#: Benchmark -> what it is given. Those of coverage and level are in benchmarks/README.md.
SPEED = {
    "huse": [],
    "resampling": [],
    "self_bleu": [],
    "overlap": [],
    "correlation": [],
    "ratings": ["--worlds", "0"],
    "listeners": [],
    "distributions": [],
    "annotator_models": ["--worlds", "0"],
    "explorer": [],
    "runs": ["--repeats", "1", "--tiny", "50"],
}
PEERS = (
    *("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "torch", "papermill"),
    *("distributed", "pycocoevalcap", "nltk", "fast-bleu", "sacrebleu", "prdc", "vendi-score"),
    *("voila", "playwright"),
)
HEAD = """\
# Performance

What `benchmarks/performance.py` printed: ratios against a named peer, in one run that first asserts
equal results. How cost grows with a study's size is in [scaling.md](scaling.md); how often
intervals hold, and tests reject, in [benchmarks/README.md](../benchmarks/README.md).

Each section is of the run that wrote it, on a machine that may have had other work.

Machine: {machine}
"""


def machine() -> str:
    """Name the machine and the versions of what stands beside us."""
    cpu = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    if about.is_file():
        cpu = re.search(r"model name\s*: (.*)", about.read_text()).group(1).strip()
    found = []
    for name in PEERS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return (
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"one thread for linear algebra; {', '.join(found)}."
    )


def section(name: str) -> tuple[str, int]:
    """Run one benchmark, and lay out what it printed."""
    path, options = HERE / f"{name}.py", SPEED[name]
    what = (
        path.read_text(encoding="utf-8").split('"""')[1].split("\n")[0].split(": ``")[0].rstrip(".")
    )
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, str(path), *options],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    seconds = time.monotonic() - began
    if ran.returncode not in (0, 1) or "Traceback" in ran.stderr:
        raise RuntimeError(f"{path.name} ended with {ran.returncode}:\n{ran.stderr}")
    said = ran.stdout.strip() + (f"\n\n{ran.stderr.strip()}" if ran.returncode else "")
    how = "all that it requires holds" if ran.returncode == 0 else "not all that it requires holds"
    command = " ".join(["benchmarks/" + path.name, *options])
    text = f"## {name}\n\n{what}.\n`{command}`: {seconds:.0f} s, {how}.\n\n```text\n{said}\n```\n"
    return text, ran.returncode


def main(names: list[str]) -> int:
    """Write the page anew, or the sections that are named."""
    known = {}
    if PAGE.is_file() and names:
        parts = re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
        known = {
            part.split("\n")[0].removeprefix("## "): part.rstrip() + "\n" for part in parts[1:]
        }
    ended = 0
    for name in names or SPEED:
        print(name, flush=True)
        known[name], code = section(name)
        ended = max(ended, code)
    sections = [known[name] for name in SPEED if name in known]
    head = HEAD.format(machine=machine())
    files.replace_bytes(PAGE, "\n".join([head, *sections]).encode())
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
