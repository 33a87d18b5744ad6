# Everything that can be done with this tree. Needs Python 3.11 or newer and make; each target sets up .venv for itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Small matrices gain nothing from BLAS's own threads, and lose much when the machine is busy or tests run side by side.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
TESTS ?= tests

.PHONY: help demo test lint docs bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a tour in the terminal: gradients, Hessians, a loop, a model fitted to handwritten digits"
	@echo "make test    lint, then the whole test suite (WORKERS=2, TESTS=tests/ops to choose)"
	@echo "make lint    ruff and pyright"
	@echo "make docs    the documentation, into site/"
	@echo "make bench   the benchmarks"
	@echo "make clean   remove .venv, caches and what was built"

demo: $(VENV)/demo.stamp
	@$(ONE_THREAD) $(BIN)/python examples/tour.py

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/docs.stamp
	$(BIN)/mkdocs build --strict --site-dir site

bench: $(VENV)/bench.stamp
	@for file in benchmarks/*.py; do echo; echo "== $$file"; $(BIN)/python $$file || exit 1; done

# One stamp for each set of packages: a target installs what it needs once, and again when pyproject.toml changes.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("adjoint needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: EXTRAS = learn,plot
# Types are checked against the packages that the tests use, so lint needs them too.
$(VENV)/test.stamp: EXTRAS = test,dev
$(VENV)/docs.stamp: EXTRAS = docs
$(VENV)/bench.stamp: EXTRAS = bench

$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing adjoint[$(EXTRAS)] into $(VENV) ..."
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@

clean:
	rm -rf $(VENV) site build dist tour.png .pytest_cache .ruff_cache .hypothesis
	find src tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
