# Two commands are enough: `make run` and `make test`. Each sets up what it needs, once.

PYTHON ?= python3
UV := $(shell command -v uv || echo target/tools/bin/uv)
UV_VERSION := 0.13.9
BIN := .venv/bin
READY := .venv/.ready

# What the installed package is made of.
SOURCES := Cargo.toml Cargo.lock pyproject.toml uv.lock $(filter-out crates/quic/%,$(wildcard crates/*/Cargo.toml crates/*/profiles/*.toml crates/*/presets/*.toml) $(shell find crates/*/src -name '*.rs'))

# Side by side, make's job server is not for cargo to join.
ALONE := env -u MAKEFLAGS -u MFLAGS

export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON := $(PYTHON)
# Once here rather than in the first run of every command.
export UV_COMPILE_BYTECODE := 1

.PHONY: run gallery setup oracle browser nginx vendor test test-rust test-example test-python test-ray quic lint lint-quic lint-web bench-smoke clean
.DEFAULT_GOAL := run

# A cell that is missed (exit code 1) is a finding, printed with its reason, not a failure of the set-up.
run: setup
	$(BIN)/fullpipe reproduce microsoft || test $$? -eq 1

setup: $(READY)

# One page of all scenarios, with their pictures: half a minute on two cores.
gallery: setup
	$(BIN)/python -m fullpipe.gallery scenarios target/gallery.html

# The Python part is installed in place: a change of it needs no new build.
$(READY): $(SOURCES) $(UV)
	$(ALONE) $(UV) sync --locked
	@touch $@

target/tools/bin/uv:
	$(PYTHON) -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# The tests' build and the extension's, side by side: linking keeps only one core busy.
test:
	$(MAKE) --jobs=2 test-example setup
	$(MAKE) test-python

# Linux's own TCP in simulated time, for `--on uml` and `fullpipe validate --record`: user-mode Linux from Debian's source,
# some 6 minutes on two cores. It lies outside of this folder (~/.cache/fullpipe), and nothing else needs it.
oracle:
	oracle/build

# The extension is tested from Python.
test-rust:
	$(ALONE) cargo test

# A crate outside the workspace, as a user's own; what the tests have compiled is used again.
test-example: test-rust
	$(ALONE) cargo test --manifest-path examples/custom-controller/Cargo.toml --target-dir target
	$(ALONE) cargo run --quiet --manifest-path examples/custom-controller/Cargo.toml --target-dir target

test-python: setup
	$(BIN)/pytest

# Ray is large, and an extra: what `make setup` installs does without.
test-ray: setup
	$(ALONE) $(UV) sync --locked --inexact --extra ray
	$(BIN)/pytest tests/python/test_ray.py

# Real QUIC, an extra: built for some minutes, put beside the command, and tested.
QUIC := --manifest-path crates/quic/Cargo.toml --target-dir target/quic --locked

quic: setup
	$(ALONE) cargo build $(QUIC) --release
	install target/quic/release/fullpipe-quic $(BIN)/
	$(ALONE) cargo test $(QUIC)
	$(BIN)/pytest tests/python/test_quic.py

# What the page of a report is linted and tested with, not in the set-up: npm's packages as locked, and a Chromium.
browser: web/node_modules/.ready
	command -v chromium || (apt-get update -qq && apt-get install -qq --no-install-recommends chromium)

# Whose log the tests of fleets read, under real transfers.
nginx:
	command -v nginx || test -x /usr/sbin/nginx || (apt-get update -qq && apt-get install -qq --no-install-recommends nginx-light)

# Not `npm ci`: it wants every platform's build of Biome in the lock, and not every registry has them.
web/node_modules/.ready: web/package-lock.json
	npm install --prefix web --no-save --silent --no-audit --no-fund
	@touch $@

# uPlot comes with the package, as npm has it (its hash is in package-lock.json); another version: web/package.json.
vendor: web/node_modules/.ready
	cp web/node_modules/uplot/dist/uPlot.iife.min.js web/node_modules/uplot/dist/uPlot.min.css python/fullpipe/report/assets/
	cp web/node_modules/uplot/LICENSE python/fullpipe/report/assets/uPlot.LICENSE

lint: setup lint-web
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	cargo update --quiet --workspace --locked --manifest-path crates/quic/Cargo.toml  # its lock knows the workspace's crates
	cd examples/custom-controller && cargo fmt --check && cargo clippy --all-targets --target-dir ../../target -- --deny warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest fullpipe._core

lint-quic:
	cd crates/quic && cargo fmt --check
	cargo clippy $(QUIC) --all-targets -- --deny warnings

lint-web:
	@if test -e web/node_modules/.ready; then web/node_modules/.bin/biome check --error-on-warnings; \
	else echo "web: not linted; make browser installs what that needs"; fi

bench-smoke:
	cargo bench --package fullpipe-benches -- --test

clean:
	rm -rf target .venv python/fullpipe/*.so
