# Two commands matter: `make run` and `make test`. Both set everything up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests that need the real data sets look here; they skip with a reason when it is absent.
export ANSGT_DATA ?= $(abspath ../shared/data)
# Threads that wait by spinning make everything slow when two processes share the cores.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: run test lint format docs results clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt "torch==2.13.0"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	-$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[kernels]"  # without it their tests skip
	touch $@

run: $(STAMP)
	$(BIN)/ansgt train newman --run-dir runs/newman --overwrite
	$(BIN)/ansgt report runs/newman

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict

results: $(STAMP)
	$(BIN)/python benchmarks/write_results.py

clean:
	rm -rf $(VENV) build site *.egg-info runs
