# Everything that can be done with this tree. Needs Python 3.11 or newer and make; each target sets up .venv for itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Benchmarks run in an environment of their own, beside the peers they compare with; a peer that cannot be had is left out.
BENCH := .venv-bench
PEERS := jax casadi numba torch==2.13.0 asdex sparsejac
# Libraries whose values tests hold as numbers, at the versions that were recorded; heavy, and never part of `make test`.
JUDGES := .venv-judges
RECORDED := torch==2.13.0 expecttest optax jax casadi numba transformers mapie crepes netcal
# Small matrices gain nothing from BLAS's own threads, and lose much when the machine is busy or tests run side by side.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
TESTS ?= tests
# What runs after every save.
QUICK := tests/test_tiny.py tests/test_init.py tests/test_architecture.py tests/test_file_layout.py \
         tests/golden tests/tree tests/api/test_gradients.py
# Without byte code each worker, and each process that a test starts, would compile every file anew.
unexport PYTHONDONTWRITEBYTECODE
# Workers begin at the two ends of the list, so that tests of one file share what it compiles.
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest
SIDE_BY_SIDE := -n $(WORKERS) --dist worksteal
TYPES := $(BIN)/pyright --pythonpath $(BIN)/python

.PHONY: help demo test test-quick test-sweeps test-all judges lint style docs pictures bench bench-quick clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a gradient explained, then a tour: derivatives, a Hessian, a loop, a model of handwritten digits"
	@echo "make test    lint, then the test suite (WORKERS=2, TESTS=tests/ops to choose)"
	@echo "make test-quick  ruff and the tests that tell within a minute whether the library is alive"
	@echo "make test-all  make test, then the exhaustive sweeps of which it runs a part (make test-sweeps: these alone)"
	@echo "make judges  values that tests hold as numbers, computed again by PyTorch, JAX, CasADi, mpmath, MAPIE; installs them"
	@echo "make lint    ruff and pyright"
	@echo "make docs    the documentation with its pictures, into site/"
	@echo "make pictures  the pictures and tables of the documentation, drawn anew (make docs does it too)"
	@echo "make bench   the benchmarks; writes docs/benchmarks.md (make bench-quick: two minutes, writes nothing)"
	@echo "make clean   remove .venv, caches and what was built"

demo: $(VENV)/demo.stamp
	@$(ONE_THREAD) $(BIN)/adjoint demo

# Types are checked while the tests run: the checker has but one thread, and would leave the other cores idle.
test: style
	@$(TYPES) > $(VENV)/types.log 2>&1 & types=$$!; status=0; \
	echo "$(PYTEST) $(SIDE_BY_SIDE) $(TESTS)"; $(PYTEST) $(SIDE_BY_SIDE) $(TESTS) || status=$$?; \
	wait $$types || status=$$?; cat $(VENV)/types.log; exit $$status

test-quick: $(VENV)/test.stamp
	$(BIN)/ruff check
	$(PYTEST) -q -x $(QUICK)

test-sweeps: $(VENV)/test.stamp
	$(PYTEST) $(SIDE_BY_SIDE) -m sweep $(TESTS)

test-all: test test-sweeps

judges: $(JUDGES)/judges.stamp
	$(ONE_THREAD) $(JUDGES)/bin/python -m pytest $(wildcard tests/judges/judge_*.py)

lint: style
	$(TYPES)

style: $(VENV)/test.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check

docs: $(VENV)/docs.stamp pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

pictures: $(VENV)/demo.stamp
	@for file in tools/*_picture.py; do echo "$$file"; $(ONE_THREAD) $(BIN)/python $$file || exit 1; done
	@echo tools/guide.py; $(ONE_THREAD) $(BIN)/python tools/guide.py

bench: $(BENCH)/bench.stamp
	@for file in benchmarks/*.py; do echo; echo "== $$file"; PYTHONPATH=. $(BENCH)/bin/python $$file || exit 1; done
	$(BENCH)/bin/python -m benchmarks.peers --write

bench-quick: $(BENCH)/bench.stamp
	$(BENCH)/bin/python -m benchmarks.peers --quick

# One stamp for each set of packages: a target installs what it needs once, and again when pyproject.toml changes.
$(VENV)/bin/python $(BENCH)/bin/python $(JUDGES)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("adjoint needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@echo "Creating $(@:/bin/python=) ..."
	@$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/demo.stamp: EXTRAS = learn,plot
# Types are checked against the packages that the tests use, so lint needs them too.
$(VENV)/test.stamp: EXTRAS = test,dev
$(VENV)/docs.stamp: EXTRAS = docs

$(VENV)/%.stamp: pyproject.toml | $(VENV)/bin/python
	@echo "Installing adjoint[$(EXTRAS)] into $(VENV) ..."
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@

$(BENCH)/bench.stamp: PIP := $(BENCH)/bin/python -m pip --disable-pip-version-check -qq
$(BENCH)/bench.stamp: pyproject.toml | $(BENCH)/bin/python
	@echo "Installing adjoint[bench] and its peers into $(BENCH) ..."
	@$(PIP) install --editable '.[bench]'
	@for peer in $(PEERS); do $(PIP) install $$peer || echo "$$peer cannot be had, so it is left out"; done
	@touch $@

$(JUDGES)/judges.stamp: PIP := $(JUDGES)/bin/python -m pip --disable-pip-version-check -qq
$(JUDGES)/judges.stamp: pyproject.toml | $(JUDGES)/bin/python
	@echo "Installing adjoint[test] and the libraries that judge it into $(JUDGES) ..."
	@$(PIP) install --editable '.[test]' $(RECORDED)
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH) $(JUDGES) site build dist tour.png .pytest_cache .ruff_cache .hypothesis
	find src tests docs examples benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +
