# Two commands are enough: `make run` and `make test`. Each sets up what it needs, once. `make help` lists the others.

PYTHON ?= python3
UV := $(shell command -v uv || echo target/tools/bin/uv)
UV_VERSION := 0.13.9
BIN := .venv/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
READY_ALL := .venv/.ready-all

# What the installed package is made of.
SOURCES := Cargo.toml Cargo.lock pyproject.toml uv.lock $(filter-out crates/quic/%,$(wildcard crates/*/Cargo.toml crates/*/profiles/*.toml crates/*/presets/*.toml) $(shell find crates/*/src -name '*.rs'))

# Side by side, make's job server is not for cargo to join.
ALONE := env -u MAKEFLAGS -u MFLAGS

export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON := $(PYTHON)
# Once here rather than in the first run of every command.
export UV_COMPILE_BYTECODE := 1

.PHONY: help run docs gallery setup setup-dev setup-all oracle browser nginx apt vendor test test-rust test-python test-all quic test-quic test-quic-rust lint lint-prose lint-quic lint-web bench-smoke clean
.DEFAULT_GOAL := run

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A cell that is missed (exit code 1) is a finding, printed with its reason, not a failure of the set-up.
run: setup ## set up, then reproduce a published table
	$(BIN)/fullpipe reproduce microsoft || test $$? -eq 1

setup: $(READY) ## install the command into .venv
setup-dev: $(READY_DEV) ## ... and what tests and lints need
setup-all: $(READY_ALL) ## ... and Ray and DuckDB

docs: $(READY) ## target/site: the documentation as a site, with the gallery; open index.html
	$(ALONE) $(UV) sync --locked --inexact --group docs
	$(BIN)/python tools/site.py

gallery: setup ## target/gallery.html: all scenarios with their pictures, half a minute
	$(BIN)/python -m fullpipe.gallery scenarios target/gallery.html

# The Python part is installed in place: a change of it needs no new build. --inexact leaves what other targets installed.
$(READY): $(SOURCES) $(UV)
	$(ALONE) $(UV) sync --locked --inexact --no-dev
	@touch $@

$(READY_DEV): $(READY)
	$(ALONE) $(UV) sync --locked --inexact
	@touch $@

$(READY_ALL): $(READY_DEV)
	$(ALONE) $(UV) sync --locked --inexact --extra ray --group others
	@touch $@

target/tools/bin/uv:
	$(PYTHON) -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# The tests' build and the extension's, side by side: linking keeps only one core busy.
test: ## all tests that need nothing beyond this set-up
	$(MAKE) --jobs=2 test-rust setup-dev
	$(MAKE) test-python

# The extension is tested from Python.
test-rust: ## the tests of the crates
	$(ALONE) cargo test --quiet
	$(ALONE) cargo run --quiet --package custom-controller

test-python: setup-dev ## the tests in tests/python
	$(BIN)/pytest

# A skip that tests/python/skips.txt does not name is a failure.
test-all: ## all tests: installs Chromium, nginx, Ray and DuckDB, builds real QUIC and user-mode Linux
	$(MAKE) apt browser nginx
	$(MAKE) --jobs=2 test-rust setup-all
	$(MAKE) oracle
	$(MAKE) test-quic-rust QUIC_PROFILE=dev
	FULLPIPE_NO_SKIP=1 $(MAKE) test-python

oracle: ## Linux's own TCP in simulated time (--on uml): builds user-mode Linux, 6 minutes, outside of this folder
	oracle/build

# One build for the program and its tests: QUIC_PROFILE=dev has assertions, and is built faster.
QUIC_PROFILE ?= release
QUIC := --manifest-path crates/quic/Cargo.toml --target-dir target/quic --locked

quic: setup ## real QUIC (--on quic): builds the program beside the command, some minutes
	$(ALONE) cargo build $(QUIC) --profile $(QUIC_PROFILE)
	install target/quic/$(if $(filter dev,$(QUIC_PROFILE)),debug,$(QUIC_PROFILE))/fullpipe-quic $(BIN)/

test-quic: test-quic-rust setup-dev ## the tests of real QUIC
	$(BIN)/pytest tests/python/test_quic.py

test-quic-rust: quic
	$(ALONE) cargo test --quiet $(QUIC) --profile $(QUIC_PROFILE)

# What `make oracle` builds with, and what tests of namespaces call.
APT := flex:flex bison:bison bc:bc xz:xz-utils ip:iproute2 tc:iproute2 unshare:util-linux setpriv:util-linux

apt:
	@missing=$$(for pair in $(APT); do command -v $${pair%:*} > /dev/null || echo $${pair#*:}; done | sort -u); \
	if test -n "$$missing" || ! apt-cache show linux-source-6.1 > /dev/null 2>&1; then apt-get update -qq; fi; \
	test -z "$$missing" || apt-get install -qq --no-install-recommends $$missing

browser: web/node_modules/.ready ## Chromium and npm's packages, for the tests of a report's page
	command -v chromium || (apt-get update -qq && apt-get install -qq --no-install-recommends chromium)

nginx: ## nginx, for the test of a fleet that reads its log
	command -v nginx || test -x /usr/sbin/nginx || (apt-get update -qq && apt-get install -qq --no-install-recommends nginx-light)

# Not `npm ci`: it wants every platform's build of Biome in the lock, and not every registry has them.
web/node_modules/.ready: web/package-lock.json
	npm install --prefix web --no-save --silent --no-audit --no-fund
	@touch $@

# uPlot comes with the package, as npm has it (its hash is in package-lock.json); another version: web/package.json.
vendor: web/node_modules/.ready
	cp web/node_modules/uplot/dist/uPlot.iife.min.js web/node_modules/uplot/dist/uPlot.min.css python/fullpipe/report/assets/
	cp web/node_modules/uplot/LICENSE python/fullpipe/report/assets/uPlot.LICENSE

lint: setup-dev lint-prose lint-web ## rustfmt, clippy, rustdoc, ruff, mypy, the extension's type stubs, spelling, prose
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --no-deps --workspace
	cargo update --quiet --workspace --locked --manifest-path crates/quic/Cargo.toml  # its lock knows the workspace's crates
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest fullpipe._core

lint-quic: ## the same for real QUIC
	cd crates/quic && cargo fmt --check
	cargo clippy $(QUIC) --all-targets -- --deny warnings

lint-prose: setup-dev ## spelling, and patterns that make a text hard to read
	$(BIN)/typos
	$(BIN)/python tools/prose.py lint

lint-web:
	@if test -e web/node_modules/.ready; then web/node_modules/.bin/biome check --error-on-warnings && node web/workflows.mjs; \
	else echo "web: not linted; make browser installs what that needs"; fi

bench-smoke: ## that the benchmarks run, not how fast
	cargo bench --package fullpipe-benches -- --test

clean: ## remove all that was built or installed here
	rm -rf target .venv python/fullpipe/*.so web/node_modules
