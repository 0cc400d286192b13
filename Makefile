# The two commands of the README are `make demo` and `make test`; each sets up .venv by itself.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench clean

demo: .venv/plot.done
	$(BIN)/python examples/demo.py

# One BLAS thread a test process: threads of several processes on the same cores only wait.
test: .venv/test.done
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(ARGS)

lint: .venv/lint.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench.done
	$(BIN)/python -m benchmarks $(ARGS)

# One stamp for every extra, renewed when pyproject.toml changes.
.venv/%.done: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
