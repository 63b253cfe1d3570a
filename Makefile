# Everything a newcomer needs is `make demo` and `make test`; each works alone in a fresh clone, and is quick the second time.

PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint nodes bench docs clean

demo: $(VENV)/.installed  ## install, then show the findings of the bundled log
	$(BIN)/detector demo

test: $(VENV)/.installed-dev  ## install what tests need, then run them all
	$(BIN)/pytest -n 2 --dist loadfile

lint: $(VENV)/.installed-dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

nodes: $(VENV)/.installed-dev  ## fetch and unpack the Elasticsearch and OpenSearch nodes that tests start
	$(BIN)/python tests/nodes/nodes.py fetch

docs: $(VENV)/.installed  ## the pages that are made from code: one per rule
	$(BIN)/detector rules docs --output docs/rules

clean:  ## remove what make made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find detector -name '*.nbi' -delete -o -name '*.nbc' -delete

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "detector needs Python 3.11 or newer with the venv module (Debian: apt-get install python3 python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/.installed $@
