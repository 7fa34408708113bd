"""Run every benchmark, one after another, and write docs/performance.md.

    python benchmarks/performance.py [NAME]...

Those of speed assert equal results before they time anything, and print ratios against a named
peer; what they print stands in the page, with the machine and the peers' versions. Those of
coverage, level and power run with few worlds, to see that they do: a row of a table each, and what
they print is printed. With names, only those are run anew, and the others' sections and rows stay.
An hour; cores should be idle. Returns 1 when one of them says that something it requires does not
hold.
"""

import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nlgbench import files

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
#: Benchmark of speed -> what it is given.
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
#: Every other benchmark -> its section of benchmarks/README.md, and what its short run is given.
OTHERS = {
    "huse_coverage": ("Coverage of HUSE", ["--worlds", "20"]),
    "known_world": ("The known world", ["2000"]),
    "correlation_coverage": (
        "Evaluators against people",
        ["--worlds", "10", "--levels", "system", "--jobs", "1"],
    ),
    "comparing_level": ("Evaluators against people", ["--worlds", "40"]),
    "pooled_coverage": ("Many studies pooled", ["--worlds", "500"]),
    "trials_coverage": ("Trials", ["--worlds", "20"]),
    "agreement_coverage": ("Agreement", ["--worlds", "20", "--cell", "15 HITs"]),
    "annotator_models": ("Models of annotators", ["--worlds", "3", "--resamples", "20"]),
    "systems_coverage": ("Which system is better", ["--studies", "20"]),
    "votes_coverage": ("Votes", ["--worlds", "20", "--only", "20 annotators"]),
    "ratings": ("Ratings", ["--worlds", "10", "--tournaments", "1", "--layouts", "5"]),
    "components_coverage": (
        "Variance components",
        ["--worlds", "200", "--cell", "balanced, 20 x 100"],
    ),
    "plan_check": ("Plans", ["--worlds", "400"]),
    "sequential_level": ("Stopping early", ["--worlds", "50"]),
    "corrected_coverage": ("Corrected means", ["--worlds", "200"]),
    "replacing_level": (
        "May an evaluator replace an annotator",
        ["--worlds", "200", "--panels", "10", "--only", "labels, 4"],
    ),
    "audit_power": ("Audits of judges", ["--worlds", "10", "--only", "fair, 300"]),
    "distributions_coverage": (
        "Distributions of texts",
        ["--worlds", "10", "--level-worlds", "20", "--sizes", "50"],
    ),
    "distribution_power": (
        "Which measure sees what, from how many texts",
        ["--worlds", "20", "--sizes", "50"],
    ),
    "scaling": ("Scale", ["texts", "10000"]),
    "kills": ("Runs", ["--notebooks", "02", "--kills", "2"]),
    "cluster_kills": ("Runs", ["--killed", "worker"]),
}
PEERS = (
    *("numpy", "scipy", "pandas", "scikit-learn", "statsmodels", "torch", "papermill"),
    *("distributed", "pycocoevalcap", "nltk", "fast-bleu", "sacrebleu", "prdc", "vendi-score"),
    *("voila", "playwright"),
)
HEAD = """\
# Performance

What `benchmarks/performance.py` printed: ratios against a named peer, in one run that first asserts
equal results. [Last](#the-other-benchmarks) come the benchmarks that count how often intervals
hold and tests reject. How cost grows with a study's size is in [scaling.md](scaling.md).

Each section is of the run that wrote it, on a machine that may have had other work.

Machine: {machine}
"""
TABLE = """\
## The other benchmarks

Runs with few worlds, which only say that these benchmarks run: a link leads to what the large runs
found. Some return 1 where a limit for many worlds is passed by chance.

| benchmark | what | arguments | processor, s | ran |
| --- | --- | --- | ---: | --- |
"""


def machine() -> str:
    """Name the machine and the versions of what stands beside us."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        cpu = re.search(r"model name\s*: (.*)", info.read_text()).group(1).strip()
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


def about(name: str) -> str:
    """Say what a benchmark measures: the first line of its docstring."""
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    return text.split('"""')[1].split("\n")[0].split(": ``")[0].rstrip(".")


def section(name: str) -> tuple[str, int]:
    """Run one benchmark of speed, and lay out what it printed."""
    path, options = HERE / f"{name}.py", SPEED[name]
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
    # What papermill and its kernels log is no result.
    lines = [one for one in ran.stderr.splitlines() if not re.match(r"\[IPKernel|Passed", one)]
    said = "\n".join([ran.stdout.strip(), *(["", *lines] if ran.returncode else [])])
    how = "all that it requires holds" if ran.returncode == 0 else "not all that it requires holds"
    command = " ".join(["benchmarks/" + path.name, *options])
    text = f"## {name}\n\n{about(name)}.\n`{command}`: {seconds:.0f} s, {how}.\n"
    return text + f"\n```text\n{said}\n```\n", ran.returncode


def row(name: str, seconds: str = "", ran: str = "not yet") -> str:
    """Lay out what is known of another benchmark."""
    heading, options = OTHERS[name]
    link = re.sub(r"[^a-z -]", "", heading.lower()).replace(" ", "-")
    cells = [f"[`{name}`](../benchmarks/README.md#{link})", about(name)]
    cells += [f"`{shlex.join(options)}`", seconds, ran]
    return f"| {' | '.join(cells)} |"


def short_run(name: str) -> tuple[str, int]:
    """Run another benchmark with few worlds, in a folder of its own, and make its row."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py"), *OTHERS[name][1]],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime - began.ru_utime + ended.ru_stime - began.ru_stime
    print(ran.stdout, ran.stderr, sep="\n", flush=True)
    code = ran.returncode
    if code not in (0, 1) or "Traceback" in ran.stderr:
        code = 2
    return row(name, f"{seconds:.0f}", ("yes", "yes, and returned 1", "no")[code]), code


def main(names: list[str]) -> int:
    """Write the page anew, or the sections and rows that are named."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.is_file() and names else ""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    sections = {part.split("\n")[0].removeprefix("## "): part.rstrip() + "\n" for part in parts}
    ran = re.finditer(r"^\| \[`(\w+)`\].*(?<!not yet) \|$", text, re.MULTILINE)
    rows = {found[1]: found[0] for found in ran}
    if unknown := set(names) - {*SPEED, *OTHERS}:
        raise SystemExit(f"no benchmarks: {', '.join(sorted(unknown))}")
    ended = 0
    for known, run in ((SPEED, section), (OTHERS, short_run)):
        written = sections if known is SPEED else rows
        for name in names or known:
            if name in known:
                print(name, flush=True)
                written[name], code = run(name)
                ended = max(ended, code)
    page = [HEAD.format(machine=machine()), *(sections[name] for name in SPEED if name in sections)]
    page += [TABLE + "\n".join([rows.get(name) or row(name) for name in OTHERS]) + "\n"]
    files.replace_bytes(PAGE, "\n".join(page).encode())
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
