# Everything runs in a virtual environment of its own; nothing is installed elsewhere.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.installed
TOOLS   = $(VENV)/.tools
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-full lint bench bench-small bench-postgres bench-a2a bench-maka rehearse-long mutants browser-tools docs clean bench-witness
help:
	@echo "make demo       sample stores, audited and reported; prints where to look"
	@echo "make test       the whole suite"
	@echo "make test-full  the suite over every generation"
	@echo "make lint       ruff, mypy, import contract"
	@echo "make bench      speed and memory, as ratios against a plain loop"
	@echo "make bench-small   one audit of a small store"
	@echo "make bench-postgres  on PostgreSQL, against COPY of the same tables"
	@echo "make bench-a2a  A2A payloads and stores, against COPY of the same tables"
	@echo "make bench-maka  transcript readers over a million events, against json.loads of each"
	@echo "make bench-witness  a witness of a million chains, read, compared and advanced"
	@echo "make rehearse-long  a conversion of 20,000 rows cut at 20 points, and what conversions cost"
	@echo "make mutants    breaks the verifiers on purpose; every mutant must turn a test red"
	@echo "make browser-tools  axe-core for the tests in a browser, which BUSBAR_AUDIT_BROWSER=auto turns on"
	@echo "make docs       regenerates the check catalogue"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
# The pip that comes with an older Python takes twice as long to choose what to install.
	$(PIP) --upgrade pip
	$(PIP) --no-compile -e '.[test]'
# On all cores, which pip does not; what cannot be compiled is a template of some package's and is not run.
	-$(BIN)/python -m compileall -j 0 -qq $(VENV)/lib
	@touch $(STAMP)

$(TOOLS): $(STAMP)
	$(PIP) -e '.[lint]'
	@touch $(TOOLS)

demo: $(STAMP)
	$(BIN)/busbar-audit demo --out demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal -q

test-full: $(STAMP)
	BUSBAR_AUDIT_FULL=1 $(BIN)/python -m pytest -n auto --dist worksteal -q

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m benchmarks

bench-small: $(STAMP)
	$(BIN)/python -m benchmarks.small

bench-postgres: $(STAMP)
	$(BIN)/python -m benchmarks.postgres

bench-maka: $(STAMP)
	$(BIN)/python -m benchmarks.maka

bench-witness: $(STAMP)
	$(BIN)/python -m benchmarks.witness

bench-a2a: $(STAMP)
	$(BIN)/python -m benchmarks.a2a

rehearse-long: $(STAMP)
	$(BIN)/python -m benchmarks.conversion

mutants: $(STAMP)
	$(BIN)/python tests/mutants.py

browser-tools: $(STAMP)
	npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4

docs: $(STAMP)
	$(BIN)/busbar-audit checks --markdown > docs/checks.md

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
