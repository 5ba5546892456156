# Two commands matter: `make demo` and `make test`. Each makes its own environment first.
# Written for GNU make 3.81 and later. Only `setup` and `lock` use the network, and only through pip and uv.

PYTHON ?= python3
UV     ?= uv
VENV   ?= .venv
ARGS   ?=
SEED   ?= $(shell date +%s)

PY    := $(VENV)/bin/python
STAMP := $(VENV)/.remit-installed
FIT   := import sys, pip; sys.exit(sys.version_info < (3, 11))
CODE  := graphs nodes tools state store service tests benchmarks examples

.DEFAULT_GOAL := help
.PHONY: help setup environment demo test test-long test-all sweep schedules mutation soak coverage lint format types layers
.PHONY: bench dev lock clean

help:
	@echo "make demo       see a run ask, act once and account for it"
	@echo "make test       the tests, in a few minutes"
	@echo
	@echo "make setup      the environment in $(VENV), from requirements.lock (the others do this by themselves)"
	@echo "make test-long  the tests with real processes and servers"
	@echo "make test-all   test, then test-long"
	@echo "make sweep      every scenario, killed at each of its boundaries; ARGS='C3 --engine loop --at 17' replays one"
	@echo "make schedules  thousands of simulated schedules; SEED=... repeats one"
	@echo "make mutation   what the tests do not notice; ARGS='--only store/guard.py' or '--sample 300'"
	@echo "make soak       all of the sweep, schedules and mutation, for hours; writes docs/proof/soak.md"
	@echo "make coverage   the tests, with the branches that they leave out of store, tools and nodes"
	@echo "make lint       ruff: rules and format"
	@echo "make format     ruff: mend what can be mended, and format"
	@echo "make types      pyright, strict"
	@echo "make layers     import-linter: service -> graphs -> nodes -> tools -> store -> state"
	@echo "make bench      the benchmarks"
	@echo "make dev        LangGraph's development server, for Studio"
	@echo "make lock       write requirements.lock anew from pyproject.toml (needs uv)"
	@echo "make clean      remove $(VENV), caches and build output; the data in .remit stays"
	@echo
	@echo "ARGS=... goes to pytest, the demo, the benchmarks or the server; PYTHON=... names another interpreter."

setup: $(STAMP)

# -qq keeps pip to errors: else it warns of every package that one of a machine's own indexes lacks.
$(STAMP): requirements.lock pyproject.toml
	@"$(PY)" -c '$(FIT)' 2>/dev/null || $(MAKE) --no-print-directory environment
	@echo "Installing what requirements.lock pins (a minute or two the first time)"
	@"$(PY)" -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock || { \
	  echo "pip could not install requirements.lock; it says why above. make setup tries again." >&2; exit 1; }
	@"$(PY)" -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch "$(STAMP)"
	@echo "Ready: $(VENV)"

# Only called when $(VENV) is absent, broken or of an older Python.
environment:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "Remit needs Python 3.11 or newer, and '$(PYTHON)' was not found." >&2; \
	  echo "Install Python, or name the one you have: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Remit needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)." >&2; \
	  echo "Install a newer one, or name the one you have: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make environments: its module venv or ensurepip is missing." >&2; \
	  echo "On Debian and Ubuntu: apt-get install python3-venv. Elsewhere: make setup PYTHON=..." >&2; exit 1; }
	@echo "Making $(VENV) with $$("$(PYTHON)" -V 2>&1)"
	@"$(PYTHON)" -m venv --clear "$(VENV)" || { \
	  echo "Python could not make $(VENV); it says why above." >&2; exit 1; }

demo: setup
	@"$(PY)" examples/demo.py $(ARGS)

test: setup
	@"$(PY)" -m pytest -n 2 --dist worksteal $(ARGS)

# One after another: a long test starts processes and servers of its own. pytest's 5 means that there was none.
test-long: setup
	@"$(PY)" -m pytest -m long $(ARGS) || { code=$$?; test $$code -eq 5 && echo "No long test to run."; }

test-all:
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-long

sweep: setup
	@"$(PY)" -m tests.chaos.sweep $(ARGS)

schedules: setup
	@echo "SEED=$(SEED)"
	@"$(PY)" -m pytest -m soak -o faulthandler_timeout=0 --hypothesis-seed=$(SEED) $(ARGS)

mutation: setup
	@"$(PY)" -m tests.mutation $(ARGS)

soak: setup
	@"$(PY)" -m tests.chaos.soak --seed $(SEED) $(ARGS)

coverage: setup
	@"$(PY)" -m pytest -n 2 --cov --cov-report=term $(ARGS)

lint: setup
	@"$(PY)" -m ruff check .
	@"$(PY)" -m ruff format --check .

format: setup
	@"$(PY)" -m ruff check --fix .
	@"$(PY)" -m ruff format .

types: setup
	@"$(PY)" -m pyright --pythonpath "$(PY)" $(wildcard $(CODE))

layers: setup
	@"$(VENV)/bin/lint-imports" --no-logo

bench: setup
	@"$(PY)" -m benchmarks $(ARGS)

# Without reload: a run may write files below this folder. As a module: it puts this folder first among the imports.
dev: setup
	@"$(PY)" -m langgraph_cli dev --no-reload $(ARGS)

lock:
	@command -v "$(UV)" >/dev/null 2>&1 || { \
	  echo "'$(UV)' was not found. Install uv, or name it: make lock UV=/path/to/uv" >&2; exit 1; }
	@"$(UV)" --no-config pip compile pyproject.toml --quiet --universal --generate-hashes --python-version 3.11 \
	  --all-extras --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	  --output-file requirements.lock

clean:
	@rm -rf "$(VENV)" build dist htmlcov .coverage .coverage.* .hypothesis .pytest_cache .ruff_cache .import_linter_cache .grimp_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
