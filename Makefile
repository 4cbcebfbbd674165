# 'make test' and 'make demo' work on a fresh clone: they make .venv and install Saddle into it first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed

.DEFAULT_GOAL := help
.PHONY: help install browser test demo format clean

help: ## Show these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-9s %s\n", $$1, $$2}'

install: $(STAMP) ## Make .venv and install Saddle with the tools to develop it

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $@

browser: ## Install Chromium for the report's tests, if it is missing and this may
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
		{ test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } || \
		echo "no Chromium here, and it cannot be installed: the tests of the report are skipped"

# The checker would otherwise ask the network whether a newer one exists.
test: export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
test: $(STAMP) browser ## Lint, check the format and the types, run the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	@# Files in their order, not by their number of tests: those that take longest have few.
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

demo: $(STAMP) ## Train the quickstart study, analyse it, write report, figures and pictures to demo/
	$(BIN)/saddle study run quickstart --out demo/quickstart --resume
	$(BIN)/saddle play SafetyPointCircle1-v0 --policy demo/quickstart/policies/PointCircle1-fixed-1-s0 --out demo/episode.png
	$(BIN)/saddle figures demo/quickstart --out demo/figures
	$(BIN)/saddle report demo/quickstart --out demo/report.html
	$(BIN)/saddle analyze demo/quickstart
	@echo "The report: demo/report.html (open it in a browser)"

format: $(STAMP) ## Format the code and fix what the linter can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, caches and what the demo wrote
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
