# Targets for people and for CI. Needs python3 (3.11 or newer) with venv, git and make; everything else comes from PyPI and npm,
# without root. `make demo` and `make test` do all the set-up; a stamp per step makes the second run quick.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
INTEROP := .venv-interop
INTEROP_STAMPS := $(INTEROP)/.stamps
FUZZ := .venv-fuzz
FUZZ_S ?= 600
FUZZ_TARGETS ?= lines sse websocket inbound config
NODE_TOOLS := $(INTEROP)/node/tools
NODE_MODULES := tests/interop/node_modules
WORKERS ?= 2
UNIT := not interop and not conformance and not slow

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The tests start interpreters by the hundred: without byte code each of them compiles the whole program.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo quick check test bench soak conformance mutants interop fuzz dev lock clean

help:
	@echo 'make demo          the main job on bundled servers (make demo ARGS=--yes: agree to what it asks)'
	@echo 'make quick         lint and fast tests in the environment there is: no network, no installs'
	@echo 'make check         lint, format, types, architecture, documentation'
	@echo 'make test          install what the tests need, then every test and the official conformance scenarios'
	@echo 'make conformance   the official conformance scenarios alone'
	@echo 'make fuzz          what strangers send, made up by atheris (FUZZ_S=600 seconds for each of FUZZ_TARGETS)'
	@echo 'make mutants       break what the specification wants, a behaviour at a time: do the tests notice?'
	@echo 'make bench         side by side with other clients'
	@echo 'make soak          fifty bad servers and 64 callers for ten minutes (SOAK_S=600)'
	@echo 'make dev | interop the environments of `check` | of the tests against foreign servers'
	@echo 'make lock          resolve requirements/*.lock and the npm lock file anew'
	@echo 'make clean         back to a fresh clone'

demo: $(STAMPS)/base
	@$(BIN)/dragoman demo $(ARGS)

quick:
	@test -x $(BIN)/pytest || { echo 'no test environment in $(VENV); run `make dev` once (it installs from PyPI)' >&2; exit 2; }
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m '$(UNIT)' --hypothesis-profile quick $(ARGS)

check: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_architecture.py tests/test_docs.py

test: dev interop
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m 'not conformance' $(ARGS)
	@$(MAKE) --no-print-directory conformance

conformance: dev interop
	@$(BIN)/python tests/conformance/run.py

soak: dev
	@$(BIN)/python -m tests.soak.run --seconds $${SOAK_S:-600}

bench: dev interop
	@$(BIN)/python -m bench $(ARGS)

fuzz: $(FUZZ)/.stamp
	@PYTHONPATH=src $(FUZZ)/bin/python -m tests.fuzz.run $(FUZZ_S) $(FUZZ_TARGETS)

# No part of `make test`: it takes minutes, and says something of the tests rather than of the program.
mutants: dev
	@$(BIN)/python scripts/break_it.py $(ARGS)

dev: $(STAMPS)/dev
interop: $(addprefix $(INTEROP_STAMPS)/,node mcp1 mcp2 fastmcp) $(NODE_MODULES)/.stamp

lock: $(INTEROP_STAMPS)/node
	$(PYTHON) scripts/lock.py
	cd tests/interop && PATH="$(CURDIR)/$(NODE_TOOLS):$$PATH" npm install --package-lock-only --ignore-scripts --no-audit --no-fund
	$(PYTHON) scripts/lock.py --strip-npm

clean:
	rm -rf $(VENV) $(INTEROP) $(FUZZ) $(NODE_MODULES) bench/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The package itself is installed in place and without build isolation, so its build tools are pinned too.
$(STAMPS)/base: requirements/base.lock requirements/build.lock pyproject.toml src/dragoman/_version.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -r requirements/base.lock -r requirements/build.lock
	$(BIN)/python -m pip install -q --no-build-isolation --no-deps -e .
	@mkdir -p $(@D) && touch $@

$(STAMPS)/dev: requirements/dev.lock $(STAMPS)/base
	$(BIN)/python -m pip install -q -r requirements/dev.lock
	@mkdir -p $(@D) && touch $@

# Atheris instruments what it imports, and is wanted nowhere else.
$(FUZZ)/.stamp: requirements/fuzz.lock
	@test -x $(FUZZ)/bin/python || $(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install -q -r $<
	@touch $@

# One environment per foreign world, so that their requirements never meet ours or each other's.
$(INTEROP_STAMPS)/%: requirements/interop-%.lock
	@test -x $(INTEROP)/$*/bin/python || $(PYTHON) -m venv $(INTEROP)/$*
	$(INTEROP)/$*/bin/python -m pip install -q -r $<
	@if [ $* = node ]; then $(INTEROP)/node/bin/python scripts/link_node.py $(NODE_TOOLS); fi
	@mkdir -p $(@D) && touch $@

$(NODE_MODULES)/.stamp: tests/interop/package.json tests/interop/package-lock.json $(INTEROP_STAMPS)/node
	cd tests/interop && PATH="$(CURDIR)/$(NODE_TOOLS):$$PATH" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
