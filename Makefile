# Every target sets up what it needs, and skips what already exists.

PYTHON ?= python3
# The environment; conda users: make VENV=$CONDA_PREFIX SETUP= figures
VENV ?= .venv
BIN = $(VENV)/bin
OUT ?= figures/latest
# Notebooks at once at full effort: while one uses a single core, the other core is free.
JOBS ?= 2
# Options for installing torch with pip, such as the address of its CPU builds.
TORCH_OPTIONS ?=
LOCK ?= lock/requirements.txt
# NEURAL=0 omits torch.
NEURAL ?= 1
SETUP = $(VENV)/.ready-$(NEURAL)
# What only tests, the site and releases need.
DEVELOPMENT = $(VENV)/.ready-development

# Plain, predictable runs: no version notices, no color codes in log files.
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# One thread for each matrix product, as in `nlgbench run`.
export OMP_NUM_THREADS ?= 1

.PHONY: help setup figures paper pictures leaderboard docs test release test-lowest lab lint lock clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(SETUP) ## create the environment in .venv

$(VENV)/.ready-%: $(LOCK) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "nlgbench needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv is missing. On Debian and Ubuntu: sudo apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV): the packages of $(LOCK), torch, nlgbench (once, about two minutes)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@lock/install.sh $(BIN)/python $(LOCK)
	@if [ "$*" != 0 ]; then echo "  torch, 750 MB"; lock/install-torch.sh $(BIN)/python $(TORCH_OPTIONS); fi
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.ready-* && touch $@

$(DEVELOPMENT): lock/development.txt $(SETUP)
	@echo "Adding the packages for tests and the site (once)"
	@lock/install.sh $(BIN)/python $<
	@touch $@

figures: $(SETUP) ## run every notebook headlessly: figures, tables and ledger in figures/latest
	@$(BIN)/nlgbench run --out $(OUT)

paper: $(SETUP) ## run every notebook at full effort, in figures/paper
	@$(BIN)/nlgbench run --effort full --jobs $(JOBS) --out figures/paper

pictures: $(SETUP) ## make the pictures of README and the site from figures/latest, a run on released data
	@$(BIN)/python .ci/pictures figures/latest

leaderboard: $(SETUP) ## make docs/leaderboard.csv from a run of the atlas on released data
	@$(BIN)/nlgbench run 11 --source released --out $(OUT)
	@$(BIN)/python -c 'import pandas as pd; \
	  table = pd.read_csv("$(OUT)/11-atlas/tables/leaderboard.csv", dtype={"rank": "Int64"}); \
	  table.drop(columns="source").round(2).to_csv("docs/leaderboard.csv", index=False)'

docs: $(DEVELOPMENT) ## build the site in docs/_build/html, with its gallery; warnings are errors
	@MPLBACKEND=agg $(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

# Tests that run notebooks in kernels, or a browser; all others are unit tests.
RUNNING = tests/notebooks tests/explorer/test_browser.py $(patsubst %,tests/runner/test_%.py,cluster execute grid)
# Notebooks that take under 20 s on simulated studies.
QUICK = $(foreach number,02 03 04 05-judges 08 09 10 11,$(wildcard notebooks/$(number)*.ipynb))
PYTEST = $(BIN)/python -m pytest -q -n 2 --dist worksteal
export MPLBACKEND = agg

test: $(DEVELOPMENT) ## run lint, types, tests, the documentation's examples, and quick notebooks with nbval
	@.ci/part "lint and types" $(MAKE) --no-print-directory lint
	@.ci/part "unit tests" $(PYTEST) tests $(RUNNING:%=--ignore %)
	@.ci/part "examples of the documentation" $(PYTEST) nlgbench docs
	@.ci/part "kernels, runs, browser" $(PYTEST) $(RUNNING)
	@PYTHONWARNINGS=error .ci/part "notebooks under 20 s, by nbval" $(BIN)/python -m pytest -q -n 2 \
	  --dist loadfile -p no:cacheprovider --override-ini addopts= --override-ini testpaths= \
	  --nbval-lax $(QUICK)

release: $(DEVELOPMENT) ## run the checks of a release, besides .ci/run: slow tests, simulated runs, lowest versions, packages, coverage
	@.ci/release

# Omitted: slow statistics (simulated worlds, whole trials, resampling), and the docs' examples,
# whose last digits depend on the locked versions.
test-lowest: ## run unit tests on the lowest versions that pyproject.toml allows, in .venv-lowest
	@$(MAKE) --no-print-directory setup VENV=.venv-lowest LOCK=lock/lowest.txt
	@.venv-lowest/bin/python -m pytest -q -n 2 --dist worksteal tests \
	  --ignore tests/notebooks --ignore tests/worlds --ignore tests/analysis/trials \
	  --ignore tests/analysis/huse/test_stability.py --ignore tests/analysis/huse/test_uncertainty.py

lint: $(DEVELOPMENT) ## run ruff and mypy
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy --no-error-summary

# Copies, so that a run leaves the notebooks under version control as they are.
lab: $(SETUP) ## open copies of the notebooks in JupyterLab (figures/lab), on this machine only
	@mkdir -p figures/lab && cp -n notebooks/*.ipynb figures/lab
	@if [ "$$(id -u)" = 0 ]; then \
	  echo "Running as root, as in a container: anyone with the address below has root access. To open" >&2; \
	  echo "it from outside, use the host's network (docker run --network host), or log in" >&2; \
	  echo "with ssh -L 8888:127.0.0.1:8888. Outside a container, run this as a normal user." >&2; \
	  set -- --allow-root --no-browser; fi; \
	$(BIN)/jupyter lab --ip=127.0.0.1 --notebook-dir=figures/lab "$$@"

COMPILE = uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --no-annotate \
	  --override lock/torch-elsewhere.txt --no-emit-package torch \
	  --no-emit-index-url --no-emit-find-links --upgrade --quiet \
	  pyproject.toml lock/torch-dependencies.in --extra all --extra boosting --extra excel --extra meteor
ALL = --extra dev --extra cluster

lock: ## update the lock files (needs uv)
	$(COMPILE) $(ALL) --extra browser --extra docs --extra encoder --extra oracles -o lock/development.txt
	$(COMPILE) --extra encoder lock/build-backend.in -c lock/development.txt -o lock/requirements.txt
	$(COMPILE) $(ALL) --resolution lowest-direct -o lock/lowest.txt

clean: ## remove the environments and the latest figures
	rm -rf $(VENV) .venv-lowest figures/latest docs/_build docs/auto_gallery docs/generated docs/api.rst
