# 'make test' and 'make demo' work on a fresh clone: they make .venv and install Saddle into it first.
PYTHON ?= python3
# The least 3.x that pyproject.toml allows, and the least that the newest JAX runs on.
OLDEST := $(shell sed -n 's/^requires-python = ">=3\.\([0-9]*\)"/\1/p' pyproject.toml)
NEWEST_NEEDS := 12
NEWEST_PYTHON ?= $(shell tools/newest.sh $(PYTHON) $(NEWEST_NEEDS))
# Whoever names an interpreter gets it, even where .venv has another.
SAME := $(if $(filter file,$(origin PYTHON)),,same)

BIN := .venv/bin
BASE := .venv/installed
TOOLS := .venv/tools-installed
NEWEST := .venv-newest/installed
TYPESCRIPT := 7.0.2
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
BY_FILE := -n 2 --dist loadfile --no-loadscope-reorder
EXACT := $(shell grep -rl 'mark\.exact' tests --include='test_*.py')
MARKED := $(shell grep -rl 'mark\.newest' tests --include='test_*.py')

.DEFAULT_GOAL := help
.PHONY: help install browser test lint docs slow newest newest-tests newest-missing demo format clean force

help: ## Show these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-9s %s\n", $$1, $$2}'

install: $(TOOLS) ## Make .venv and install Saddle with the tools to develop it

# Looked at each time, written only when the environment is new.
.venv/interpreter: force
	@tools/venv.sh .venv $(PYTHON) $(OLDEST) $(SAME)

.venv-newest/interpreter: force
	@tools/venv.sh .venv-newest $(NEWEST_PYTHON) $(NEWEST_NEEDS)

$(BASE): .venv/interpreter pyproject.toml constraints.txt
	@echo "installing Saddle into .venv: 1.2 GB, a minute or two"
	@$(BIN)/python $(PIP_INSTALL) -e . -c constraints.txt
	@touch $@

$(TOOLS): .venv/interpreter pyproject.toml constraints.txt
	@echo "installing Saddle and the tools to develop it into .venv: 2.5 GB, some minutes"
	@$(BIN)/python $(PIP_INSTALL) -e '.[dev]' -c constraints.txt
	@# It asks for a Gymnasium of 2023, and runs with today's.
	@$(BIN)/python $(PIP_INSTALL) --no-deps bullet-safety-gym -c constraints.txt
	@touch $(BASE) $@

# JAX and jaxlib are those of constraints-newest.txt; the rest is as in constraints.txt.
$(NEWEST): .venv-newest/interpreter pyproject.toml constraints.txt constraints-newest.txt
	@echo "installing Saddle with the newest JAX into .venv-newest: 1.1 GB, a minute or two"
	@grep -vE '^jax(lib)?==' constraints.txt | cat - constraints-newest.txt >.venv-newest/constraints.txt
	@.venv-newest/bin/python $(PIP_INSTALL) -e '.[tensorboard]' beartype hypothesis pytest pytest-xdist \
		-c .venv-newest/constraints.txt
	@touch $@

browser: ## Install Chromium for the report's tests, if it is missing and this may
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
		{ test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } || \
		echo "no Chromium here, and it cannot be installed: the tests of the report are skipped"

# The checker would otherwise ask the network whether a newer one exists.
test lint: export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
test: ## Lint, check the format and the types, build the docs, run the tests, some with the newest JAX too
	@# Two at a time: an installation, like the check of the types, is one process.
	@$(MAKE) --no-print-directory -j 2 lint docs $(if $(NEWEST_PYTHON),$(NEWEST)) browser
	@# Files in their order, not by their number of tests: those that take longest have few.
	SADDLE_TEST_CODE=cheap $(BIN)/python -m pytest $(BY_FILE) -m 'not slow and not cores and not exact'
	$(BIN)/python -m pytest $(BY_FILE) -m 'not slow and exact' $(EXACT)
	JAX_NUM_CPU_DEVICES=2 $(BIN)/python -m pytest -n 2 -m cores tests/test_cores.py
	@$(MAKE) --no-print-directory newest

lint: $(TOOLS) ## Lint, check the format and the types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	tools/typescript.sh .venv $(TYPESCRIPT)

docs: $(TOOLS) ## Build the docs' site in build/site, its links checked: 5 seconds
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

slow: $(TOOLS) ## Run the tests that take long and are not part of 'make test': trainings on Ray, MJX, environments
	$(BIN)/python -m pytest -n 2 -m slow

newest: ## Run the tests of kernels, parity and training with the newest JAX that pyproject.toml allows
	@$(MAKE) --no-print-directory $(if $(NEWEST_PYTHON),newest-tests,newest-missing)

newest-tests: $(NEWEST)
	.venv-newest/bin/python -m pytest -n 2 -m newest $(MARKED)

newest-missing:
	@echo "no Python 3.$(NEWEST_NEEDS) or newer here: the tests with the newest JAX are skipped"

demo: $(BASE) ## Train a policy with a dial and the quickstart study; reports, figures and pictures go to demo/
	$(BIN)/saddle study run quickstart --out demo/quickstart --resume
	$(BIN)/saddle figures demo/quickstart --out demo/figures
	$(BIN)/saddle report demo/quickstart --out demo/report.html
	$(BIN)/saddle analyze demo/quickstart
	$(BIN)/saddle frontier SafetyPointCircle1-v0 --limit 10 25 --out demo/dial --resume
	$(BIN)/saddle dial demo/dial --limit 10 25 50
	$(BIN)/saddle play SafetyPointCircle1-v0 --policy demo/dial/policies/PointCircle1-conditioned-dial-s0 --limit 25 --out demo/episode.png
	@echo "Open in a browser: demo/dial/report.html (one policy with a dial) and demo/report.html (rules compared)"

format: $(TOOLS) ## Format the code and fix what the linter can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, caches and what the demo wrote
	rm -rf .venv .venv-newest .pytest_cache .ruff_cache .hypothesis build dist demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
