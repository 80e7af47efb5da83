# The three commands: `make setup`, `make train`, `make test`. Everything is installed into .venv in this folder.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/laptop

.PHONY: setup train test lint

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml environments/supersession/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet -e environments/supersession -e . --group dev
	touch $@

train: setup
	$(BIN)/python training/grpo.py --out $(OUT)

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
