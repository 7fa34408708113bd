"""What is installed is what pyproject.toml names: by conda, by the locks, by the wheel."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# conda-forge's names where they differ from PyPI's
CONDA = {"matplotlib": "matplotlib-base", "seaborn": "seaborn-base", "build": "python-build"}
CONDA["torch"] = "pytorch"


def required(*extras):
    """List the core's requirements and those of extras, without extras that these name."""
    listed = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][one] for one in extras)]
    return [one for each in listed for one in each if not one.startswith("nlgbench[")]


def test_environment_yml_equals_pyproject():
    lines = (ROOT / "environment.yml").read_text().splitlines()
    start = lines.index("dependencies:") + 1
    conda = {line.strip(" -") for line in lines[start:] if line.startswith("  - ")}
    wanted = {f"python{PROJECT['requires-python']}", "pip", "pip:"}
    for requirement in required("run", "lab", "app", "dev", "neural"):
        name, rest = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
        wanted.add(CONDA.get(name, name) + rest.replace("==", "="))
    assert conda == wanted and lines[-1].strip() == "- --editable ."
    install = (ROOT / "docs" / "install.md").read_text()
    for extra in PROJECT["optional-dependencies"]:
        assert f"`{extra}`" in install
        assert extra == "all" or re.search(rf"\b{extra}\b", "\n".join(lines))


def locked(name):
    """Read a lock, whose every package has hashes, and which names no host."""
    lock = (ROOT / "lock" / name).read_text()
    assert not re.search(r"https?:|index-url|find-links|file:", lock)
    blocks = re.split(r"\n(?=\S)", lock.strip())
    assert all("--hash=sha256:" in block for block in blocks)
    return [block.split()[0].split("==") for block in blocks]  # one may be there for each Python


def test_the_lock_holds_every_dependency_and_leaves_torch_to_its_installer():
    names, extras = dict(locked("development.txt")), PROJECT["optional-dependencies"]
    needed = (ROOT / "lock" / "torch-dependencies.in").read_text().splitlines()
    wanted = [*required(*extras), *(line for line in needed if not line.startswith("#"))]
    # torch itself stays out: its builds differ in hash.
    assert {re.match(r"[\w-]+", one).group() for one in wanted} - set(names) == {"torch"}
    # `make figures` installs a part of it.
    assert set(map(tuple, locked("requirements.txt"))) < set(map(tuple, locked("development.txt")))
    installer = (ROOT / "lock" / "install-torch.sh").read_text()
    assert extras["neural"][0] == "torch==2.13.0" and "torch==2.13.0" in installer


def test_the_lowest_lock_holds_the_lowest_versions():
    versions = locked("lowest.txt")
    for requirement in required("run", "lab", "app", "boosting", "cluster", "meteor", "dev"):
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
        # Of the release that the bound names: its .0 may be withdrawn, or lack a build.
        assert any(f"{own}.".startswith(f"{bound}.") for one, own in versions if one == name), name
    assert not {"torch", "transformers"} & set(dict(versions))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [*(sys.executable, "-m", "build", "--wheel", "--no-isolation"), "--outdir", out, ROOT],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    (path,) = out.glob("*.whl")
    return path


def test_an_installed_wheel_carries_notebooks_and_published_numbers(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    assert "nlgbench/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "figures", "benchmarks"))]
    code = """
import nlgbench, pathlib
from nlgbench.datasets.published import load_claims
from nlgbench.runner.notebooks import find_notebooks
home = pathlib.Path(nlgbench.__file__).parent
assert home.parts[-2] == "site", home
assert len(load_claims()) > 1000
assert all(home in path.parents for path in find_notebooks()), find_notebooks()
print(len(find_notebooks()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )
    assert int(done.stdout) == len(list((ROOT / "notebooks").glob("*.ipynb")))


@pytest.mark.parametrize(("uid", "added"), [("0", " --allow-root --no-browser"), ("1000", "")])
def test_make_lab_stays_on_this_machine_and_tells_root_what_that_means(tmp_path, uid, added):
    (tmp_path / "bin").mkdir()
    for place, line in (("bin/jupyter", 'echo "$@"'), ("id", f"echo {uid}")):
        (tmp_path / place).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / place).chmod(0o755)
    done = subprocess.run(
        ["make", "--silent", "lab", "SETUP=", f"VENV={tmp_path}"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout == f"lab --ip=127.0.0.1 --notebook-dir=figures/lab{added}\n"
    assert ("Running as root" in done.stderr) == bool(added)


def test_a_command_without_its_extra_names_it(tmp_path):
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('no', name='click')\n")
    code = "import sys; sys.path.insert(0, sys.argv[1]); from nlgbench.runner import main; main()"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "nlgbench: click is not installed: pip install 'nlgbench[run]'\n"
