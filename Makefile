# Two commands matter: `make run` and `make test`. Both set everything up by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests that need the real data sets look here; they skip with a reason when it is absent.
export ANSGT_DATA ?= $(abspath ../shared/data)
# Threads that wait by spinning make everything slow when two processes share the cores.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: run test fuzz faults mutants lint format docs results clean

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

faults: $(STAMP)  # every file operation of three runs fails once, and is where a kill arrives once (some minutes)
	ANSGT_FAULTS=0 $(BIN)/python -m pytest -n 2 tests/trust/test_faults.py

CASES ?= 10000
SEED ?= 0
fuzz: $(STAMP)
	$(BIN)/python tests/trust/fuzz.py --cases $(CASES) --seed $(SEED) --record

MUTANTS ?= 100
mutants: $(STAMP)  # small changes of the source, each of which the mirrored tests must notice (half an hour on two cores)
	$(BIN)/python tests/trust/mutants.py --mutants $(MUTANTS) --seed $(SEED) --record

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	$(BIN)/python docs/run_notebooks.py docs/gallery
	@echo "Open build/docs/index.html"

results: $(STAMP)
	$(BIN)/python -m study.scripts.write_page

clean:
	rm -rf $(VENV) build docs/api docs/gallery *.egg-info runs
