# Every target makes its own virtual environment in $(VENV), with spector installed editable.
#   make PYTHON=python3.12      another interpreter (3.11 or newer)
#   make VENV=/tmp/venv         another place for the environment
#   make test ARGS="-k recall"  more arguments, for pytest, the demo or the bench
#   make test WORKERS=0         all tests in one process

# the first interpreter on PATH that is new enough, else python3, so that the check below explains
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && exit; \
	done; echo python3)
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
RIVALS_VENV ?= $(VENV)-rivals
# a copy of the tree with its own environment, because the extension is built in place
SANITIZED ?= build/sanitized
SANITIZERS ?= address,undefined
# tests that preload their own library or are instrumented differently
NOT_SANITIZED := --ignore=tests/crash --ignore=tests/fuzz/test_guided.py --deselect=tests/store/test_check_sectors.py
RIVALS_STAMP := $(RIVALS_VENV)/.installed
# clients and suites of others for the adapters, in a folder of their own
ADAPTERS ?= build/adapters
ADAPTERS_NPM := node@22 @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 \
	@anthropic-ai/mcpb@2.1.2
ADAPTERS_PIP := claude-agent-sdk==0.2.189
ARGS ?=
# test processes: four for two cores, since two are usually waiting for a disk or a process
WORKERS ?= 4
# where tests keep their stores: in memory where there is room, because they sync thousands of times
SCRATCH ?= $(shell [ -z "$$TMPDIR" ] && [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 6000000 ] && \
	echo /dev/shm)
PYTEST := $(if $(SCRATCH),TMPDIR=$(SCRATCH) )$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# the tests start Python hundreds of times, so compiled files are kept even if the shell forbids it
unexport PYTHONDONTWRITEBYTECODE

# sources of the installed extension and entry points; Python files are used from the tree
SOURCES := pyproject.toml $(wildcard setup.py native/*.py native/*.c native/*.h)

.DEFAULT_GOAL := help
.PHONY: help install demo test ready test-slow test-adapters test-sanitize bundle bench bench-recall bench-cognition bench-rivals train-judge lint clean

help:
	@echo "make demo       install, then watch a six-week conversation being remembered and forgotten"
	@echo "make test       install, lint, and run the tests (what CI runs)"
	@echo "make test-slow  all tests, slow ones and random exploration included; counts in build/test-slow.xml"
	@echo "make test-adapters  others' suites and clients against the adapters (npm, pip; what they lack is skipped)"
	@echo "make test-sanitize  make test over a kernel with ASan and UBSan (gcc; several times as long)"
	@echo "make bundle     build/spector.mcpb, which Claude Desktop installs by a double click"
	@echo "make bench      measure on this machine (ARGS=--full: a million records)"
	@echo "make bench-recall   measure recall on public conversations (needs SPECTOR_DATA; ARGS of the protocol)"
	@echo "make bench-cognition   measure entities, dates, pronouns and changed facts (needs SPECTOR_DATA)"
	@echo "make bench-rivals   measure faiss, hnswlib, LanceDB and others beside it, in $(RIVALS_VENV) (ARGS=--full)"
	@echo "make train-judge    train a judge of pairs on bench/judge/data and print its figures (some 10 minutes)"
	@echo "make lint       ruff, mypy --strict, import contracts"
	@echo "make install    make the environment in $(VENV), nothing else"
	@echo "make clean      remove the environment, build products and caches"

install: $(STAMP)

demo: $(STAMP)
	@$(VENV)/bin/spector demo $(ARGS)

test: ready
	$(PYTEST) -m "not slow"

test-slow: ready
	HYPOTHESIS_PROFILE=explore $(PYTEST) --junit-xml=build/test-slow.xml

# What an index does not give is skipped by its test, which says so at the end.
test-adapters: $(STAMP)
	@mkdir -p $(ADAPTERS)
	@echo "installing clients and suites of others into $(ADAPTERS) (a minute the first time)"
	@test -e $(ADAPTERS)/.npm || { timeout 300 npm install --prefix $(ADAPTERS) --silent --no-audit --no-fund \
		--fetch-retries=1 --fetch-timeout=60000 $(ADAPTERS_NPM) && touch $(ADAPTERS)/.npm; } || echo "npm: not installed"
	@test -e $(ADAPTERS)/.pip || { "$(PYTHON)" -m venv $(ADAPTERS)/venv && timeout 600 $(ADAPTERS)/venv/bin/python -m pip \
		install --quiet --disable-pip-version-check $(ADAPTERS_PIP) --editable ".[mcp]" && touch $(ADAPTERS)/.pip; } || \
		{ rm -rf $(ADAPTERS)/venv; echo "pip: not installed"; }
	SPECTOR_ADAPTERS=$(ADAPTERS) $(if $(SCRATCH),TMPDIR=$(SCRATCH) )$(PY) -m pytest -rs tests/adapters/test_outside.py \
		"tests/adapters/test_servers.py::test_four_servers_of_fifty_writes_store_all" $(ARGS)

# The sanitizers' libraries must be loaded before the extension. Python allocates by malloc, so that they see it. What
# Python leaves at exit is not a leak of ours, and signals are left to the tests.
test-sanitize:
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	git ls-files -z | tar --null -T - -cf - | tar -xf - -C $(SANITIZED)
	"$(PYTHON)" -m venv $(SANITIZED)/venv
	cd $(SANITIZED) && SPECTOR_SANITIZE=$(SANITIZERS) SPECTOR_REQUIRE_NATIVE=1 \
		venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@echo "running the tests under $(SANITIZERS)"
	cd $(SANITIZED) && \
		LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
		ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:allocator_may_return_null=1 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 SPECTOR_DATA="$(or $(SPECTOR_DATA),$(CURDIR)/../shared/data)" \
		venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(NOT_SANITIZED) $(ARGS)

bundle: $(STAMP)
	rm -rf build/bundle && mkdir -p build/bundle
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/bundle .
	$(PY) -m docs.make_bundle build/bundle/*.whl build/spector.mcpb

bench: $(STAMP)
	$(PY) -m bench $(ARGS)

bench-recall: $(STAMP)
	$(PY) -m bench.recall $(or $(ARGS),quick)

bench-cognition: $(STAMP)
	$(PY) -m bench.cognition $(ARGS)

# the other engines are large and no dependency of the project, so they get their own environment
bench-rivals: $(RIVALS_STAMP)
	$(RIVALS_VENV)/bin/python -m bench.rivals $(ARGS)

# torch and the weights to begin with are large and no dependency of the project; the file is the same to the
# figures' last digit, not to the bit
train-judge: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[train]"
	$(PY) -m bench.judge.train $(ARGS)

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check --quiet .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-logo

# lint, and beside it what every test process would otherwise make for itself
ready: $(STAMP)
	@$(if $(SCRATCH),TMPDIR=$(SCRATCH) )$(PY) -m tests.warm & warm=$$!; $(MAKE) --no-print-directory lint; status=$$?; wait $$warm; exit $$status

clean:
	rm -rf $(VENV) $(RIVALS_VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache .benchmarks spector/_native.c spector/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): $(SOURCES)
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "spector: no such interpreter: $(PYTHON)"; \
		echo "  install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.12"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "spector needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1)"; \
		echo "  name a newer one: make PYTHON=python3.12"; exit 1; }
	@test -x "$(PY)" || { echo "creating $(VENV)"; "$(PYTHON)" -m venv "$(VENV)"; } || { \
		rm -rf "$(VENV)"; \
		echo "spector: $(PYTHON) cannot make a virtual environment"; \
		echo "  on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "installing spector and its tools into $(VENV) (a few minutes the first time)"
	@"$(PY)" -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@"$(PY)" -c 'from spector.kernel.dispatch import kernel_info as k; i = k(); \
		print("scan kernel:", i["name"], "-", i["why"])'
	@touch "$@"

$(RIVALS_STAMP): $(SOURCES) bench/rivals/requirements.txt
	@test -x "$(RIVALS_VENV)/bin/python" || "$(PYTHON)" -m venv "$(RIVALS_VENV)"
	@echo "installing the other engines into $(RIVALS_VENV) (some 1.5 GB)"
	@"$(RIVALS_VENV)/bin/python" -m pip install --quiet --disable-pip-version-check --editable . \
		--requirement bench/rivals/requirements.txt
	@touch "$@"
